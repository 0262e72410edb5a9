/* rows.c -- softmax, embedding, and what is counted a row. */
#include <math.h>
#include <stdbool.h>

//% part row_softmax_parts needs real_exp
/* The largest of a row, sixteen at a time (compilers don't vectorise a lone maximum), and the sum of exp(x - largest). */
static inline real row_largest(const real *x, long n)
{
    real lane[16], most = x[0];
    long i = 0;
    for (long j = 0; j < 16; j++)
        lane[j] = x[0];
    for (; i + 16 <= n; i += 16)
#pragma omp simd
        for (long j = 0; j < 16; j++)
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (long j = 0; j < 16; j++)
        most = lane[j] > most ? lane[j] : most;
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Blocks add up in the program's precision, which vectorises, then in double. */
static inline double row_exp_sum(const real *x, long n, real most)
{
    double sum = 0;
    for (long from = 0; from < n; from += 256) {
        const long end = from + 256 < n ? from + 256 : n;
        real part = 0;
#pragma omp simd reduction(+ : part)
        for (long i = from; i < end; i++)
            part += real_exp(x[i] - most);
        sum += part;
    }
    return sum;
}

//% part softmax needs row_softmax_parts
/* y = exp(x - largest) / sum of them, x (rows, n) */
static void softmax(const real *x, real *y, long rows, long n)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = x + k * n, most = row_largest(row, n), share = (real)(1 / row_exp_sum(row, n, most));
        real *to = y + k * n;
#pragma omp simd
        for (long i = 0; i < n; i++)
            to[i] = real_exp(row[i] - most) * share;
    }
}

//% part log_softmax needs row_softmax_parts
/* y = x - largest - log of the sum of exp(x - largest), x (rows, n) */
static void log_softmax(const real *x, real *y, long rows, long n)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = x + k * n, most = row_largest(row, n), norm = (real)log(row_exp_sum(row, n, most));
        real *to = y + k * n;
#pragma omp simd
        for (long i = 0; i < n; i++)
            to[i] = row[i] - most - norm;
    }
}

//% part strided_softmax_parts needs real_exp
/* The same along the middle of (outer, n, inner): largest and sum of exp for `width` neighbours. */
enum { SOFTMAX_WIDTH = 64 };

static void strided_softmax_parts(const real *x, long n, long inner, long width, real *most, double *sum)
{
    for (long i = 0; i < width; i++)
        most[i] = x[i], sum[i] = 0;
    for (long k = 1; k < n; k++)
        for (long i = 0; i < width; i++)
            most[i] = x[k * inner + i] > most[i] ? x[k * inner + i] : most[i];
    for (long k = 0; k < n; k++) {
        real term[SOFTMAX_WIDTH];
        for (long i = 0; i < width; i++)
            term[i] = real_exp(x[k * inner + i] - most[i]);
        for (long i = 0; i < width; i++)
            sum[i] += term[i];
    }
}

//% part strided_softmax needs strided_softmax_parts
/* softmax over the middle of (outer, n, inner) */
static void strided_softmax(const real *x, real *y, long outer, long n, long inner)
{
#pragma omp parallel for collapse(2)
    for (long o = 0; o < outer; o++)
        for (long from = 0; from < inner; from += SOFTMAX_WIDTH) {
            const long start = o * n * inner + from, width = inner - from < SOFTMAX_WIDTH ? inner - from : SOFTMAX_WIDTH;
            real most[SOFTMAX_WIDTH], share[SOFTMAX_WIDTH];
            double sum[SOFTMAX_WIDTH];
            strided_softmax_parts(x + start, n, inner, width, most, sum);
            for (long i = 0; i < width; i++)
                share[i] = (real)(1 / sum[i]);
            for (long k = 0; k < n; k++)
                for (long i = 0; i < width; i++)
                    y[start + k * inner + i] = real_exp(x[start + k * inner + i] - most[i]) * share[i];
        }
}

//% part strided_log_softmax needs strided_softmax_parts
/* log softmax over the middle of (outer, n, inner) */
static void strided_log_softmax(const real *x, real *y, long outer, long n, long inner)
{
#pragma omp parallel for collapse(2)
    for (long o = 0; o < outer; o++)
        for (long from = 0; from < inner; from += SOFTMAX_WIDTH) {
            const long start = o * n * inner + from, width = inner - from < SOFTMAX_WIDTH ? inner - from : SOFTMAX_WIDTH;
            real most[SOFTMAX_WIDTH];
            double sum[SOFTMAX_WIDTH];
            strided_softmax_parts(x + start, n, inner, width, most, sum);
            for (long i = 0; i < width; i++)
                most[i] += (real)log(sum[i]);
            for (long k = 0; k < n; k++)
                for (long i = 0; i < width; i++)
                    y[start + k * inner + i] = x[start + k * inner + i] - most[i];
        }
}

//% part gather
/* y (count, width) = rows ids (count) of table (rows, width) */
static void gather(const real *table, const int *ids, real *y, long count, long width)
{
#pragma omp parallel for
    for (long k = 0; k < count; k++)
        for (long i = 0; i < width; i++)
            y[k * width + i] = table[ids[k] * width + i];
}

//% part gather_grad
/* dtable (rows, width) = dy (count, width) added up at its ids, none at padding_row (-1: no such row). A thread owns
 * columns. */
static void gather_grad(const real *dy, const int *ids, real *dtable, long count, long rows, long width, long padding_row)
{
#pragma omp parallel for
    for (long i = 0; i < rows * width; i++)
        dtable[i] = 0;
#pragma omp parallel for
    for (long from = 0; from < width; from += 16) {
        const long end = from + 16 < width ? from + 16 : width;
        for (long k = 0; k < count; k++)
            if (ids[k] != padding_row)
                for (long i = from; i < end; i++)
                    dtable[ids[k] * width + i] += dy[k * width + i];
    }
}

//% part target_rank
/* rank (rows) = how many classes score higher than the row's own (nan scores higher); an ignored row gets `classes` */
static void target_rank(const real *logits, const int *class, int *rank, long rows, long classes, int ignore)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes;
        int higher = class[k] == ignore ? (int)classes : 0;
        for (long c = 0; c < classes && class[k] != ignore; c++)
            higher += c != class[k] && !(row[c] <= row[class[k]]);
        rank[k] = higher;
    }
}

//% part confusion
/* counts (3, classes): how often a class was predicted rightly, predicted, labelled; ignored rows don't count.
 * Whole numbers add up to the same in any order. */
static void confusion(const real *logits, const int *class, real *counts, long rows, long classes, int ignore)
{
    for (long i = 0; i < 3 * classes; i++)
        counts[i] = 0;
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes;
        long best = 0;
        if (class[k] == ignore)
            continue;
        for (long c = 1; c < classes; c++)
            best = row[c] > row[best] ? c : best;
#pragma omp atomic
        counts[best] += best == class[k];
#pragma omp atomic
        counts[classes + best] += 1;
#pragma omp atomic
        counts[2 * classes + class[k]] += 1;
    }
}
