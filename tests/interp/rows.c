/* rows.c -- softmax, attention, and the losses and counts of rows of logits. */
#include "tests/interp/inside.h"

void eval_log_softmax(const Work *work)
{
    Shape shape = work->node->shape;
    int axis = work->node->at.softmax.axis;
    for (int64_t k = 0; k < line_count(shape, axis); k++) {
        Line line = line_of(shape, axis, k);
        double norm = log_sum_exp(work->in[0], line);
        for (int64_t i = 0; i < line.count; i++)
            work->out[0][line.first + i * line.step] = work->in[0][line.first + i * line.step] - norm;
    }
}

void eval_softmax(const Work *work)
{
    eval_log_softmax(work);
    for (int64_t i = 0; i < elements_of(work->node->shape); i++)
        work->out[0][i] = exp(work->out[0][i]);
}

/* ---- attention ---- */

typedef struct Attention {
    const double *q, *k, *v, *mask;     /* mask NULL: all keys visible */
    int64_t heads, length, keys, size;
} Attention;

static Attention attention_of(const Work *work, int first)
{
    Shape q = input_shape(work, first);
    bool has_mask = work->node->input_count > (work->node->op == OP_attention ? 3 : 6);
    return (Attention){ work->in[first], work->in[first + 1], work->in[first + 2],
                        has_mask ? work->in[work->node->input_count - 1] : NULL,
                        q.dim[1], q.dim[2], input_shape(work, first + 1).dim[2], q.dim[3] };
}

/* One query: `image` counts rows and heads together. */
typedef struct Query { int64_t image, query; } Query;

static double raw_score(const Work *work, const Attention *a, Query at, int64_t key)
{
    double sum = 0;
    for (int64_t d = 0; d < a->size; d++)
        sum += a->q[(at.image * a->length + at.query) * a->size + d]
             * a->k[(at.image * a->keys + key) * a->size + d];
    return sum * work->node->at.attention.scale;
}

static bool is_visible(const Work *work, const Attention *a, Query at, int64_t key)
{
    if (work->node->at.attention.causal && key > at.query)
        return false;
    return !a->mask || a->mask[at.image / a->heads * a->keys + key] != 0;
}

/* What the hook, or its derivative, makes of the raw score. */
static double hooked(const Work *work, const Attention *a, const Expr *expr, Query at, int64_t key)
{
    double raw = raw_score(work, a, at, key);
    int64_t indices[MAX_RANK] = { at.image % a->heads, at.query, key };
    Shape scores = { 4, { 1, a->heads, a->length, a->keys } };
    int64_t flat = (at.image * a->length + at.query) * a->keys + key;
    return expr ? evaluate_at(work, expr, &raw, indices, scores, flat) : raw;
}

static double score_of(const Work *work, const Attention *a, Query at, int64_t key)
{
    return is_visible(work, a, at, key) ? hooked(work, a, work->node->expr, at, key) : -INFINITY;
}

/* A query that sees no key gives 0. */
static void attend(const Work *work, const Attention *a, Query at)
{
    double scores[a->keys], *y = &work->out[0][(at.image * a->length + at.query) * a->size];
    bool sees = false;
    for (int64_t key = 0; key < a->keys; key++) {
        scores[key] = score_of(work, a, at, key);
        sees = sees || scores[key] > -INFINITY;
    }
    double norm = sees ? log_sum_exp(scores, (Line){ 0, 1, a->keys }) : -INFINITY;
    for (int64_t key = 0; sees && key < a->keys; key++)
        for (int64_t d = 0; d < a->size; d++)
            y[d] += exp(scores[key] - norm) * a->v[(at.image * a->keys + key) * a->size + d];
    if (work->out[1])
        work->out[1][at.image * a->length + at.query] = norm;
}

static void each_query(const Work *work, const Attention *a, int64_t rows,
                       void (*visit)(const Work *work, const Attention *a, Query at))
{
    for (int64_t image = 0; image < rows * a->heads; image++)
        for (int64_t query = 0; query < a->length; query++)
            visit(work, a, (Query){ image, query });
}

void eval_attention(const Work *work)
{
    Attention a = attention_of(work, 0);
    each_query(work, &a, input_shape(work, 0).dim[0], attend);
}

/* p = exp(score - lse), dp = dy v, dscore = p (dp - dy y); scores depend on the raw score through the hook. */
static void attend_back(const Work *work, const Attention *a, Query at)
{
    int64_t row = at.image * a->length + at.query;
    const double *dy = &work->in[0][row * a->size], *y = &work->in[4][row * a->size];
    const double lse = work->in[5][row], scale = work->node->at.attention.scale;
    const Expr *slope =
        work->node->expr ? expr_derivative(interp_exprs(work->interp), work->node->expr, 0) : NULL;
    double dy_y = 0;
    for (int64_t d = 0; d < a->size; d++)
        dy_y += dy[d] * y[d];
    for (int64_t key = 0; key < a->keys; key++) {
        if (!is_visible(work, a, at, key))
            continue;
        int64_t other = (at.image * a->keys + key) * a->size;
        double p = exp(score_of(work, a, at, key) - lse), dp = 0;
        for (int64_t d = 0; d < a->size; d++)
            dp += dy[d] * a->v[other + d];
        double draw = p * (dp - dy_y) * (slope ? hooked(work, a, slope, at, key) : 1) * scale;
        for (int64_t d = 0; d < a->size; d++) {
            work->out[0][row * a->size + d] += draw * a->k[other + d];
            if (work->out[1])
                work->out[1][other + d] += draw * a->q[row * a->size + d];
            if (work->out[2])
                work->out[2][other + d] += p * dy[d];
        }
    }
}

void eval_attention_grad(const Work *work)
{
    Attention a = attention_of(work, 1);
    int64_t rows = input_shape(work, 1).dim[0];
    for (int i = 1; i < MOST_RESULTS; i++)
        if (work->out[i])
            memset(work->out[i], 0, sizeof(double) * (size_t)(rows * a.heads * a.keys * a.size));
    each_query(work, &a, rows, attend_back);
}

/* ---- cross-entropy ---- */

static int64_t checked_class(const Work *work, double class, int64_t classes)
{
    if (!(class >= 0 && class < (double)classes))
        bug("node %d: class %g of %lld", work->node->id, class, (long long)classes);
    return (int64_t)class;
}

static bool is_ignored(const Work *work, double class)
{
    return class == (double)work->node->at.loss.ignore;
}

/* The shape of one value a row: that of the logits without the axis of classes. */
static Shape shape_of_rows(const Work *work)
{
    Shape logits = input_shape(work, 0), rows = { 0 };
    for (int axis = 0; axis < logits.rank; axis++)
        if (axis != work->node->at.loss.axis)
            rows.dim[rows.rank++] = logits.dim[axis];
    return rows;
}

/* Weight of class c in the target of a row: its own share of the class and the rest of its partner's (an
 * ignored partner weighs nothing), then what the hook makes of it. */
static double target_weight(const Work *work, const double *partner, int64_t row, int64_t c, int64_t classes)
{
    const Node *node = work->node;
    Shape rows = shape_of_rows(work);
    int64_t place[MAX_RANK] = { 0 };
    place_of(rows, row, place);
    double weight = checked_class(work, work->in[1][row], classes) == c;
    if (partner) {
        double share = node->at.loss.share ? evaluate_at(work, node->at.loss.share, NULL, place, rows, row) : 1;
        weight *= share;
        if (!is_ignored(work, partner[row]) && checked_class(work, partner[row], classes) == c)
            weight += 1 - share;
    }
    return node->expr ? evaluate_at(work, node->expr, &weight, place, rows, row) : weight;
}

void eval_cross_entropy(const Work *work)
{
    Shape logits = input_shape(work, 0);
    int axis = work->node->at.loss.axis;
    const double *partner = work->node->input_count > 2 ? work->in[2] : NULL;
    for (int64_t row = 0; row < line_count(logits, axis); row++) {
        Line line = line_of(logits, axis, row);
        double norm = log_sum_exp(work->in[0], line);
        for (int64_t c = 0; c < line.count && !is_ignored(work, work->in[1][row]); c++)
            work->out[0][row] += target_weight(work, partner, row, c, line.count)
                               * (norm - work->in[0][line.first + c * line.step]);
    }
}

/* d logits = d row (softmax * sum t - t) */
void eval_cross_entropy_grad(const Work *work)
{
    Shape logits = input_shape(work, 0);
    int axis = work->node->at.loss.axis, last = work->node->input_count - 1;
    const double *partner = last > 2 ? work->in[2] : NULL;
    for (int64_t row = 0; row < line_count(logits, axis); row++) {
        Line line = line_of(logits, axis, row);
        double norm = log_sum_exp(work->in[0], line), total = 0;
        if (is_ignored(work, work->in[1][row]))
            continue;
        for (int64_t c = 0; c < line.count; c++)
            total += target_weight(work, partner, row, c, line.count);
        for (int64_t c = 0; c < line.count; c++) {
            int64_t at = line.first + c * line.step;
            work->out[0][at] = work->in[last][row] * (exp(work->in[0][at] - norm) * total
                                                      - target_weight(work, partner, row, c, line.count));
        }
    }
}

void eval_dense_cross_entropy(const Work *work)
{
    Shape logits = input_shape(work, 0);
    int axis = work->node->at.loss.axis;
    for (int64_t row = 0; row < line_count(logits, axis); row++) {
        Line line = line_of(logits, axis, row);
        double norm = log_sum_exp(work->in[0], line);
        for (int64_t c = 0; c < line.count; c++) {
            int64_t at = line.first + c * line.step;
            work->out[0][row] += work->in[1][at] * (norm - work->in[0][at]);
        }
    }
}

/* ---- counts ---- */

void eval_target_rank(const Work *work)
{
    Shape logits = input_shape(work, 0);
    int axis = work->node->at.loss.axis;
    for (int64_t row = 0; row < line_count(logits, axis); row++) {
        Line line = line_of(logits, axis, row);
        double higher = 0;
        if (is_ignored(work, work->in[1][row])) {
            work->out[0][row] = (double)line.count;
            continue;
        }
        int64_t class = checked_class(work, work->in[1][row], line.count);
        double own = work->in[0][line.first + class * line.step];
        for (int64_t c = 0; c < line.count; c++)
            higher += work->in[0][line.first + c * line.step] > own;
        work->out[0][row] = higher;
    }
}

/* The class that a row predicts is the first of the largest. */
void eval_confusion(const Work *work)
{
    Shape logits = input_shape(work, 0);
    int axis = work->node->at.loss.axis;
    int64_t classes = logits.dim[axis];
    double *hits = work->out[0], *predicted = hits + classes, *labelled = predicted + classes;
    for (int64_t row = 0; row < line_count(logits, axis); row++) {
        Line line = line_of(logits, axis, row);
        int64_t best = 0;
        if (is_ignored(work, work->in[1][row]))
            continue;
        for (int64_t c = 1; c < classes; c++)
            if (work->in[0][line.first + c * line.step] > work->in[0][line.first + best * line.step])
                best = c;
        int64_t class = checked_class(work, work->in[1][row], classes);
        hits[class] += best == class;
        predicted[best]++;
        labelled[class]++;
    }
}
