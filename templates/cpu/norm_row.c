/* norm_row.c -- layer and RMS normalisation: each row of x (rows, n) by itself.
 *
 * moments and sums (2, rows); RMS has mean 0 and the mean of squares as variance. xhat = (x - mean) / sqrt(variance + epsilon),
 * g = dy * weight. */
#include <math.h>

//% part row_moments
static void row_moments(const real *x, real *moments, long rows, long n)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = x + k * n;
        double sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
        for (long i = 0; i < n; i++)
            sum += row[i];
        const double mean = sum / (double)n;
#pragma omp simd reduction(+ : square)
        for (long i = 0; i < n; i++)
            square += (row[i] - mean) * (row[i] - mean);
        moments[k] = (real)mean;
        moments[rows + k] = (real)(square / (double)n);
    }
}

//% part rms_moments
static void rms_moments(const real *x, real *moments, long rows, long n)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        double square = 0;
#pragma omp simd reduction(+ : square)
        for (long i = 0; i < n; i++)
            square += (double)x[k * n + i] * x[k * n + i];
        moments[k] = 0;
        moments[rows + k] = (real)(square / (double)n);
    }
}

//% part row_normalize
/* y = xhat * weight + bias; without weight and bias (NULL): 1 and 0 */
static void row_normalize(const real *x, const real *moments, const real *weight, const real *bias, real *y, long rows, long n,
                          real epsilon)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real mean = moments[k], inverse = (real)(1 / sqrt((double)moments[rows + k] + epsilon));
        const real *row = x + k * n;
        real *to = y + k * n;
#pragma omp simd
        for (long i = 0; i < n; i++) {
            const real scaled = (row[i] - mean) * inverse * (weight ? weight[i] : 1);
            to[i] = bias ? scaled + bias[i] : scaled;
        }
    }
}

//% part row_normalize_grad_sums
/* sums = sum g and sum g xhat of each row */
static void row_normalize_grad_sums(const real *dy, const real *x, const real *moments, const real *weight, real *sums,
                                    long rows, long n, real epsilon)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real mean = moments[k];
        double sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
        for (long i = 0; i < n; i++) {
            const double g = dy[k * n + i] * (weight ? weight[i] : 1);
            sum += g;
            product += g * (x[k * n + i] - mean);
        }
        sums[k] = (real)sum;
        sums[rows + k] = (real)(product / sqrt((double)moments[rows + k] + epsilon));
    }
}

//% part row_normalize_grad
/* dx = (g - mean of g - xhat * mean of g xhat) / deviation */
static void row_normalize_grad(const real *dy, const real *x, const real *moments, const real *sums, const real *weight,
                               real *dx, long rows, long n, real epsilon)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const double deviation = sqrt((double)moments[rows + k] + epsilon);
        const real mean = moments[k], inverse = (real)(1 / deviation), steady = (real)(sums[k] / (double)n);
        const real slope = (real)(sums[rows + k] / (double)n / deviation);
#pragma omp simd
        for (long i = 0; i < n; i++)
            dx[k * n + i] = inverse * (dy[k * n + i] * (weight ? weight[i] : 1) - steady - (x[k * n + i] - mean) * slope);
    }
}

//% part rms_normalize_grad
/* dx = (g - xhat * mean of g xhat) / deviation: the mean is 0 whatever x is */
static void rms_normalize_grad(const real *dy, const real *x, const real *moments, const real *sums, const real *weight,
                               real *dx, long rows, long n, real epsilon)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const double deviation = sqrt((double)moments[rows + k] + epsilon);
        const real inverse = (real)(1 / deviation), slope = (real)(sums[rows + k] / (double)n / deviation);
#pragma omp simd
        for (long i = 0; i < n; i++)
            dx[k * n + i] = inverse * (dy[k * n + i] * (weight ? weight[i] : 1) - x[k * n + i] * slope);
    }
}

//% part row_normalize_grad_affine needs column_sums
typedef struct row_pass {
    const real *dy, *x, *moments;
    long rows, n;
    real epsilon;
} row_pass;

static void row_affine_terms(const void *context, long first, long last, long from, long width, double *sum, double *product)
{
    const row_pass *pass = context;
    for (long k = first; k < last; k++) {
        const real *dy = pass->dy + k * pass->n + from, *x = pass->x + k * pass->n + from;
        const real mean = pass->moments[k], inverse = (real)(1 / sqrt((double)pass->moments[pass->rows + k] + pass->epsilon));
#pragma omp simd
        for (long i = 0; i < width; i++) {
            sum[i] += dy[i];
            product[i] += dy[i] * (x[i] - mean) * inverse;
        }
    }
}

/* affine (2, n) = d bias and d weight: sums over rows of dy and dy xhat */
static void row_normalize_grad_affine(const real *dy, const real *x, const real *moments, real *affine, long rows, long n,
                                      real epsilon)
{
    double sum[n], product[n];
    const row_pass pass = { dy, x, moments, rows, n, epsilon };
    column_sums(row_affine_terms, &pass, rows, n, sum, product);
    for (long i = 0; i < n; i++)
        affine[i] = (real)sum[i], affine[n + i] = (real)product[i];
}
