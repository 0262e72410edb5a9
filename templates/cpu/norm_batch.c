/* norm_batch.c -- batch normalisation: a channel over rows and pixels.
 *
 * x (rows, pixels, channels), rows cut into `pieces` of ceil(rows / pieces). moments and sums (2, pieces * channels): group
 * number piece * channels + channel. xhat = (x - mean) / sqrt(variance + epsilon). */
#include <math.h>
#include <stdbool.h>

//% part column_sums
enum { COLUMN_TASKS = 64, COLUMN_WIDTH = 256 };

/* Two sums a column over rows [first, last), columns [from, from + width), in double. */
typedef void column_terms(const void *context, long first, long last, long from, long width, double *a, double *b);

/* (rows, columns) -> a, b (columns). Blocks of columns are cut into chunks of rows so that there are about 64 tasks,
 * whatever the number of threads; chunks add up in order. */
static void column_sums(column_terms *terms, const void *context, long rows, long columns, double *a, double *b)
{
    const long blocks = (columns + COLUMN_WIDTH - 1) / COLUMN_WIDTH;
    const long chunks = blocks < COLUMN_TASKS ? COLUMN_TASKS / blocks : 1, tasks = blocks * chunks;
    for (long i = 0; i < columns; i++)
        a[i] = b[i] = 0;
    for (long start = 0; start < tasks; start += COLUMN_TASKS) {
        double part[COLUMN_TASKS][2][COLUMN_WIDTH];
        const long end = tasks - start < COLUMN_TASKS ? tasks - start : COLUMN_TASKS;
#pragma omp parallel for
        for (long task = 0; task < end; task++) {
            const long block = (start + task) / chunks, chunk = (start + task) % chunks, from = block * COLUMN_WIDTH;
            for (long i = 0; i < COLUMN_WIDTH; i++)
                part[task][0][i] = part[task][1][i] = 0;
            terms(context, rows * chunk / chunks, rows * (chunk + 1) / chunks, from,
                  columns - from < COLUMN_WIDTH ? columns - from : COLUMN_WIDTH, part[task][0], part[task][1]);
        }
        for (long task = 0; task < end; task++)
            for (long i = 0, at = (start + task) / chunks * COLUMN_WIDTH; i < COLUMN_WIDTH && at + i < columns; i++)
                a[at + i] += part[task][0][i], b[at + i] += part[task][1][i];
    }
}

//% part batch_piece
/* Rows [first, last) of piece number `piece`. */
static void batch_piece(long rows, long pieces, long piece, long *first, long *last)
{
    const long each = (rows + pieces - 1) / pieces;
    *first = piece * each < rows ? piece * each : rows;
    *last = *first + each < rows ? *first + each : rows;
}

//% part batch_moments needs column_sums batch_piece
typedef struct moment_pass {
    const real *x;
    long channels;
} moment_pass;

/* Sums of x - x0 and its square, x0 the channel's first value: no cancellation where the mean is large. Four rows at a time
 * add up in the program's precision, then in double. */
static void moment_terms(const void *context, long first, long last, long from, long width, double *sum, double *square)
{
    const moment_pass *pass = context;
    const long C = pass->channels;
    const real *x0 = pass->x + from;
    long k = first;
    for (; k + 4 <= last; k += 4) {
        const real *x = pass->x + k * C + from;
#pragma omp simd
        for (long c = 0; c < width; c++) {
            const real d0 = x[c] - x0[c], d1 = x[c + C] - x0[c], d2 = x[c + 2 * C] - x0[c], d3 = x[c + 3 * C] - x0[c];
            sum[c] += (d0 + d1) + (d2 + d3);
            square[c] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
        }
    }
    for (; k < last; k++)
        for (long c = 0; c < width; c++) {
            const real d = pass->x[k * C + from + c] - x0[c];
            sum[c] += d;
            square[c] += d * d;
        }
}

static void batch_moments(const real *x, real *moments, long rows, long pixels, long channels, long pieces)
{
    double sum[channels], square[channels];
    for (long piece = 0; piece < pieces; piece++) {
        long first, last;
        batch_piece(rows, pieces, piece, &first, &last);
        const moment_pass pass = { x + first * pixels * channels, channels };
        const double count = (double)((last - first) * pixels);
        column_sums(moment_terms, &pass, (last - first) * pixels, channels, sum, square);
        for (long c = 0; c < channels; c++) {
            const double mean = sum[c] / count, variance = square[c] / count - mean * mean;
            moments[piece * channels + c] = (real)(pass.x[c] + mean);
            moments[(pieces + piece) * channels + c] = (real)(variance > 0 ? variance : 0);
        }
    }
}

//% part batch_normalize needs batch_piece
/* y = xhat * weight + bias; without weight and bias (NULL): 1 and 0 */
static void batch_normalize(const real *x, const real *moments, const real *weight, const real *bias, real *y, long rows,
                            long pixels, long channels, long pieces, real epsilon)
{
    real scale[channels], shift[channels];
    for (long piece = 0; piece < pieces; piece++) {
        const real *mean = moments + piece * channels, *variance = mean + pieces * channels;
        long first, last;
        batch_piece(rows, pieces, piece, &first, &last);
        for (long c = 0; c < channels; c++) {
            scale[c] = (real)((weight ? weight[c] : 1) / sqrt((double)variance[c] + epsilon));
            shift[c] = bias ? bias[c] : 0;
        }
#pragma omp parallel for
        for (long k = first * pixels; k < last * pixels; k++)
#pragma omp simd
            for (long c = 0; c < channels; c++)
                y[k * channels + c] = (x[k * channels + c] - mean[c]) * scale[c] + shift[c];
    }
}

//% part batch_gradient_sums needs column_sums batch_piece
typedef struct gradient_rows {
    const real *dy, *x, *mean;
    long channels;
} gradient_rows;

/* Sums of dy and dy (x - mean). */
static void gradient_terms(const void *context, long first, long last, long from, long width, double *sum, double *product)
{
    const gradient_rows *pass = context;
    const long C = pass->channels;
    const real *mean = pass->mean + from;
    long k = first;
    for (; k + 4 <= last; k += 4) {
        const real *x = pass->x + k * C + from, *dy = pass->dy + k * C + from;
#pragma omp simd
        for (long c = 0; c < width; c++) {
            sum[c] += (dy[c] + dy[c + C]) + (dy[c + 2 * C] + dy[c + 3 * C]);
            product[c] += (dy[c] * (x[c] - mean[c]) + dy[c + C] * (x[c + C] - mean[c]))
                        + (dy[c + 2 * C] * (x[c + 2 * C] - mean[c]) + dy[c + 3 * C] * (x[c + 3 * C] - mean[c]));
        }
    }
    for (; k < last; k++)
        for (long c = 0; c < width; c++) {
            const real dy = pass->dy[k * C + from + c];
            sum[c] += dy;
            product[c] += dy * (pass->x[k * C + from + c] - mean[c]);
        }
}

/* Of one piece: sum dy and sum dy xhat of each channel. */
static void batch_gradient_sums(const real *dy, const real *x, const real *moments, double *sum, double *product, long rows,
                                long pixels, long channels, long pieces, long piece, real epsilon)
{
    const real *mean = moments + piece * channels, *variance = mean + pieces * channels;
    long first, last;
    batch_piece(rows, pieces, piece, &first, &last);
    const gradient_rows pass = { dy + first * pixels * channels, x + first * pixels * channels, mean, channels };
    column_sums(gradient_terms, &pass, (last - first) * pixels, channels, sum, product);
    for (long c = 0; c < channels; c++)
        product[c] /= sqrt((double)variance[c] + epsilon);
}

//% part batch_normalize_grad_sums needs batch_gradient_sums
/* sums = sum dy and sum dy xhat of each group */
static void batch_normalize_grad_sums(const real *dy, const real *x, const real *moments, real *sums, long rows, long pixels,
                                      long channels, long pieces, real epsilon)
{
    double sum[channels], product[channels];
    for (long piece = 0; piece < pieces; piece++) {
        batch_gradient_sums(dy, x, moments, sum, product, rows, pixels, channels, pieces, piece, epsilon);
        for (long c = 0; c < channels; c++) {
            sums[piece * channels + c] = (real)sum[c];
            sums[(pieces + piece) * channels + c] = (real)product[c];
        }
    }
}

//% part batch_normalize_grad_affine needs batch_gradient_sums
/* affine (2, channels) = d bias and d weight: the same sums over all pieces */
static void batch_normalize_grad_affine(const real *dy, const real *x, const real *moments, real *affine, long rows,
                                        long pixels, long channels, long pieces, real epsilon)
{
    double sum[channels], product[channels], sums[channels], products[channels];
    for (long c = 0; c < channels; c++)
        sums[c] = products[c] = 0;
    for (long piece = 0; piece < pieces; piece++) {
        batch_gradient_sums(dy, x, moments, sum, product, rows, pixels, channels, pieces, piece, epsilon);
        for (long c = 0; c < channels; c++)
            sums[c] += sum[c], products[c] += product[c];
    }
    for (long c = 0; c < channels; c++)
        affine[c] = (real)sums[c], affine[channels + c] = (real)products[c];
}

//% part batch_normalize_grad needs batch_piece
/* dx = weight / deviation * (dy - mean of dy - xhat * mean of dy xhat) */
static void batch_normalize_grad(const real *dy, const real *x, const real *moments, const real *sums, const real *weight,
                                 real *dx, long rows, long pixels, long channels, long pieces, real epsilon)
{
    real scale[channels], steady[channels], slope[channels];
    for (long piece = 0; piece < pieces; piece++) {
        const real *mean = moments + piece * channels, *variance = mean + pieces * channels;
        const real *sum = sums + piece * channels, *product = sum + pieces * channels;
        long first, last;
        batch_piece(rows, pieces, piece, &first, &last);
        const double count = (double)((last - first) * pixels);
        for (long c = 0; c < channels; c++) {
            const double inverse = 1 / sqrt((double)variance[c] + epsilon);
            scale[c] = (real)((weight ? weight[c] : 1) * inverse);
            steady[c] = (real)(sum[c] / count);
            slope[c] = (real)(inverse * product[c] / count);
        }
#pragma omp parallel for
        for (long k = first * pixels; k < last * pixels; k++)
#pragma omp simd
            for (long c = 0; c < channels; c++)
                dx[k * channels + c] = scale[c] * (dy[k * channels + c] - steady[c] - (x[k * channels + c] - mean[c]) * slope[c]);
    }
}

//% part running_update
/* updated = running moved by `momentum` towards each piece's mean, or its unbiased variance, one after another */
static void running_update(const real *running, const real *moments, real *updated, long channels, long pieces, bool is_variance,
                           real momentum, long count, long last_count)
{
    for (long c = 0; c < channels; c++) {
        double value = running[c];
        for (long piece = 0; piece < pieces; piece++) {
            const long n = piece + 1 < pieces ? count : last_count;
            const double unbiased = is_variance && n > 1 ? (double)n / (double)(n - 1) : 1;
            value += momentum * (unbiased * moments[(is_variance * pieces + piece) * channels + c] - value);
        }
        updated[c] = (real)value;
    }
}
