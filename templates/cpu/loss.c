/* loss.c -- cross-entropy of rows of logits (rows, classes), forward and backward.
 *
 * Where methods mix and smooth targets, a row's own class weighs `own`, its partner's `mixed`, each other class `rest`, and a
 * class that is both `whole`. Nothing else varies, so a row costs one pass for the sum of exponentials whatever they do. A row
 * whose class is `ignore` has loss 0 and gradient 0; a partner of class `ignore` weighs nothing. */
#include <math.h>
#include <stdbool.h>

//% part cross_entropy needs row_softmax_parts
/* loss = sum over classes of weight * (log of the sum of exp(x) - x) */
static void cross_entropy(const real *logits, const int *class,
                          const int *partner, //% if partner
                          real *loss, long rows, long classes,
                          real own, //% if own
                          real mixed, real whole, //% if partner
                          real rest, //% if rest
                          int ignore)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes;
        if (class[k] == ignore) {
            loss[k] = 0;
            continue;
        }
        const real most = row_largest(row, classes);
        const double norm = most + log(row_exp_sum(row, classes, most)), alone = norm - row[class[k]];
        double value = alone;
        value = alone * own; //% if own
        double others = (double)classes * norm - alone; //% if rest
        for (long c = 0; c < classes; c++) //% if rest
            others -= row[c]; //% if rest
        if (partner[k] == class[k]) { //% if partner
            value = alone * whole; //% if partner
        } else if (partner[k] != ignore) { //% if partner
            value += (norm - row[partner[k]]) * mixed; //% if partner
            others -= norm - row[partner[k]]; //% if partner rest
        } //% if partner
        value += others * rest; //% if rest
        loss[k] = (real)value;
    }
}

//% part cross_entropy_grad needs row_softmax_parts
/* dlogits = drow * (softmax * sum of the weights - weight) */
static void cross_entropy_grad(const real *logits, const int *class,
                               const int *partner, //% if partner
                               const real *drow, real *dlogits, long rows, long classes,
                               real own, //% if own
                               real mixed, real whole, //% if partner
                               real rest, //% if rest
                               int ignore)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes;
        real *to = dlogits + k * classes, weight = 1, total = 1;
        if (class[k] == ignore) {
            for (long c = 0; c < classes; c++)
                to[c] = 0;
            continue;
        }
        const real most = row_largest(row, classes);
        const double sum = row_exp_sum(row, classes, most);
        weight = own; //% if own
        const bool two = partner[k] != class[k] && partner[k] != ignore; //% if partner
        weight = partner[k] == class[k] ? whole : own; //% if partner
        total = weight; //% if own
        total += two ? mixed : 0; //% if partner
        total += rest * (real)(classes - 1); //% if rest unless partner
        total += rest * (real)(classes - (two ? 2 : 1)); //% if rest partner
        const real scale = (real)(drow[k] * total / sum);
        for (long c = 0; c < classes; c++)
            to[c] = scale * real_exp(row[c] - most);
        for (long c = 0; c < classes; c++) //% if rest
            to[c] -= drow[k] * rest; //% if rest
        to[class[k]] -= drow[k] * weight; //% unless rest
        to[class[k]] -= drow[k] * (weight - rest); //% if rest
        if (two) //% if partner
            to[partner[k]] -= drow[k] * mixed; //% if partner unless rest
            to[partner[k]] -= drow[k] * (mixed - rest); //% if partner rest
    }
}

//% part dense_cross_entropy needs row_softmax_parts
/* loss = -sum over classes of target * log softmax */
static void dense_cross_entropy(const real *logits, const real *target, real *loss, long rows, long classes)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes, *weight = target + k * classes, most = row_largest(row, classes);
        const double norm = most + log(row_exp_sum(row, classes, most));
        double value = 0;
        for (long c = 0; c < classes; c++)
            value += weight[c] * (norm - row[c]);
        loss[k] = (real)value;
    }
}
