/* norm_group.c -- group normalisation of images x (rows, pixels, channels): channels / groups neighbours of one image.
 *
 * moments and sums (2, rows * groups): group number row * groups + group. xhat = (x - mean) / sqrt(variance + epsilon),
 * g = dy * weight. */
#include <math.h>

//% part group_moments
static void group_moments(const real *x, real *moments, long rows, long pixels, long channels, long groups)
{
    const long each = channels / groups;
#pragma omp parallel for
    for (long k = 0; k < rows * groups; k++) {
        const real *from = x + k / groups * pixels * channels + k % groups * each;
        double sum = 0, square = 0;
        for (long p = 0; p < pixels; p++)
#pragma omp simd reduction(+ : sum)
            for (long c = 0; c < each; c++)
                sum += from[p * channels + c];
        const double mean = sum / (double)(pixels * each);
        for (long p = 0; p < pixels; p++)
#pragma omp simd reduction(+ : square)
            for (long c = 0; c < each; c++)
                square += (from[p * channels + c] - mean) * (from[p * channels + c] - mean);
        moments[k] = (real)mean;
        moments[rows * groups + k] = (real)(square / (double)(pixels * each));
    }
}

//% part group_normalize
/* y = xhat * weight + bias; without weight and bias (NULL): 1 and 0 */
static void group_normalize(const real *x, const real *moments, const real *weight, const real *bias, real *y, long rows,
                            long pixels, long channels, long groups, real epsilon)
{
    const long each = channels / groups;
#pragma omp parallel for
    for (long n = 0; n < rows; n++) {
        real mean[channels], scale[channels], shift[channels];
        for (long c = 0; c < channels; c++) {
            const long k = n * groups + c / each;
            mean[c] = moments[k];
            scale[c] = (real)((weight ? weight[c] : 1) / sqrt((double)moments[rows * groups + k] + epsilon));
            shift[c] = bias ? bias[c] : 0;
        }
        for (long p = n * pixels; p < (n + 1) * pixels; p++)
#pragma omp simd
            for (long c = 0; c < channels; c++)
                y[p * channels + c] = (x[p * channels + c] - mean[c]) * scale[c] + shift[c];
    }
}

//% part group_normalize_grad_sums
/* sums = sum g and sum g xhat of each group */
static void group_normalize_grad_sums(const real *dy, const real *x, const real *moments, const real *weight, real *sums,
                                      long rows, long pixels, long channels, long groups, real epsilon)
{
    const long each = channels / groups;
#pragma omp parallel for
    for (long k = 0; k < rows * groups; k++) {
        const long start = k / groups * pixels * channels + k % groups * each;
        double sum = 0, product = 0;
        for (long p = 0; p < pixels; p++)
#pragma omp simd reduction(+ : sum, product)
            for (long c = 0; c < each; c++) {
                const double g = dy[start + p * channels + c] * (weight ? weight[k % groups * each + c] : 1);
                sum += g;
                product += g * (x[start + p * channels + c] - moments[k]);
            }
        sums[k] = (real)sum;
        sums[rows * groups + k] = (real)(product / sqrt((double)moments[rows * groups + k] + epsilon));
    }
}

//% part group_normalize_grad
/* dx = (g - mean of g - xhat * mean of g xhat) / deviation */
static void group_normalize_grad(const real *dy, const real *x, const real *moments, const real *sums, const real *weight,
                                 real *dx, long rows, long pixels, long channels, long groups, real epsilon)
{
    const long each = channels / groups;
#pragma omp parallel for
    for (long n = 0; n < rows; n++) {
        real mean[channels], scale[channels], steady[channels], slope[channels];
        for (long c = 0; c < channels; c++) {
            const long k = n * groups + c / each;
            const double inverse = 1 / sqrt((double)moments[rows * groups + k] + epsilon), count = (double)(pixels * each);
            mean[c] = moments[k];
            scale[c] = (real)((weight ? weight[c] : 1) * inverse);
            steady[c] = (real)(inverse * sums[k] / count);
            slope[c] = (real)(inverse * inverse * sums[rows * groups + k] / count);
        }
        for (long p = n * pixels; p < (n + 1) * pixels; p++)
#pragma omp simd
            for (long c = 0; c < channels; c++)
                dx[p * channels + c] = scale[c] * dy[p * channels + c] - steady[c] - (x[p * channels + c] - mean[c]) * slope[c];
    }
}

//% part group_normalize_grad_affine needs column_sums
typedef struct group_pass {
    const real *dy, *x, *moments;
    long rows, pixels, channels, groups;
    real epsilon;
} group_pass;

static void group_affine_terms(const void *context, long first, long last, long from, long width, double *sum, double *product)
{
    const group_pass *pass = context;
    const long each = pass->channels / pass->groups;
    real mean[width], inverse[width];
    for (long p = first; p < last; p++) {
        const real *dy = pass->dy + p * pass->channels + from, *x = pass->x + p * pass->channels + from;
        for (long i = 0; i < width && (p == first || p % pass->pixels == 0); i++) {
            const long k = p / pass->pixels * pass->groups + (from + i) / each;
            mean[i] = pass->moments[k];
            inverse[i] = (real)(1 / sqrt((double)pass->moments[pass->rows * pass->groups + k] + pass->epsilon));
        }
#pragma omp simd
        for (long i = 0; i < width; i++) {
            sum[i] += dy[i];
            product[i] += dy[i] * (x[i] - mean[i]) * inverse[i];
        }
    }
}

/* affine (2, channels) = d bias and d weight: sums over images and pixels of dy and dy xhat */
static void group_normalize_grad_affine(const real *dy, const real *x, const real *moments, real *affine, long rows, long pixels,
                                        long channels, long groups, real epsilon)
{
    double sum[channels], product[channels];
    const group_pass pass = { dy, x, moments, rows, pixels, channels, groups, epsilon };
    column_sums(group_affine_terms, &pass, rows * pixels, channels, sum, product);
    for (long c = 0; c < channels; c++)
        affine[c] = (real)sum[c], affine[channels + c] = (real)product[c];
}
