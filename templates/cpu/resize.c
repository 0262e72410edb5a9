/* resize.c -- images (rows, height, width, channels) at another size. A scale of 0 means: the ratio of the sizes. */
#include <math.h>
#include <stdbool.h>

//% part resize_nearest
/* The pixel that output `out` takes: floor(out / scale), in single precision as PyTorch has it. */
static inline long resize_nearest(long out, long extent, long outputs, double scale)
{
    const float ratio = scale > 0 ? (float)(1 / scale) : (float)extent / (float)outputs;
    const long at = (long)floorf((float)out * ratio);
    return at < extent ? at : extent - 1;
}

//% part resize2d_nearest needs image resize_nearest
static void resize2d_nearest(const real *x, real *y, image in, image out, double scale_height, double scale_width)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < out.rows; n++)
        for (long i = 0; i < out.height; i++)
            for (long j = 0; j < out.width; j++) {
                const long row = resize_nearest(i, in.height, out.height, scale_height);
                const long column = resize_nearest(j, in.width, out.width, scale_width);
                const real *from = x + ((n * in.height + row) * in.width + column) * in.channels;
                real *to = y + ((n * out.height + i) * out.width + j) * out.channels;
                for (long c = 0; c < in.channels; c++)
                    to[c] = from[c];
            }
}

//% part resize2d_nearest_grad needs image resize_nearest
/* dx = the sum of dy over the outputs that took this pixel. A thread owns an image. */
static void resize2d_nearest_grad(const real *dy, real *dx, image in, image out, double scale_height, double scale_width)
{
    const long size = in.height * in.width * in.channels;
#pragma omp parallel for
    for (long n = 0; n < in.rows; n++) {
        for (long i = 0; i < size; i++)
            dx[n * size + i] = 0;
        for (long i = 0; i < out.height; i++)
            for (long j = 0; j < out.width; j++) {
                const long row = resize_nearest(i, in.height, out.height, scale_height);
                const long column = resize_nearest(j, in.width, out.width, scale_width);
                const real *from = dy + ((n * out.height + i) * out.width + j) * out.channels;
                real *to = dx + ((n * in.height + row) * in.width + column) * in.channels;
#pragma omp simd
                for (long c = 0; c < in.channels; c++)
                    to[c] += from[c];
            }
    }
}

//% part resize_between
typedef struct between {                /* (1 - part) of pixel `first` and part of pixel `second` */
    long first, second;
    real part;
} between;

/* Where output `out` lies between pixels: corners on corners, or centres (out + 1/2) / scale - 1/2. */
static inline between resize_between(long out, long extent, long outputs, bool align_corners, double scale)
{
    const double ratio = align_corners ? (outputs > 1 ? (double)(extent - 1) / (double)(outputs - 1) : 0)
                       : scale > 0 ? 1 / scale : (double)extent / (double)outputs;
    double at = align_corners ? (double)out * ratio : ((double)out + 0.5) * ratio - 0.5;
    at = at > 0 ? at : 0;
    const long first = (long)at < extent - 1 ? (long)at : extent - 1;
    const double part = at - (double)first;
    return (between){ first, first + (first < extent - 1), (real)(part < 1 ? part : 1) };
}

//% part resize2d_bilinear needs image resize_between
static void resize2d_bilinear(const real *x, real *y, image in, image out, bool align_corners, double scale_height,
                              double scale_width)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < out.rows; n++)
        for (long i = 0; i < out.height; i++)
            for (long j = 0; j < out.width; j++) {
                const between row = resize_between(i, in.height, out.height, align_corners, scale_height);
                const between column = resize_between(j, in.width, out.width, align_corners, scale_width);
                const real *upper = x + (n * in.height + row.first) * in.width * in.channels;
                const real *lower = x + (n * in.height + row.second) * in.width * in.channels;
                const long left = column.first * in.channels, right = column.second * in.channels;
                real *to = y + ((n * out.height + i) * out.width + j) * out.channels;
#pragma omp simd
                for (long c = 0; c < in.channels; c++)
                    to[c] = (1 - row.part) * ((1 - column.part) * upper[left + c] + column.part * upper[right + c])
                          + row.part * ((1 - column.part) * lower[left + c] + column.part * lower[right + c]);
            }
}

//% part resize2d_bilinear_grad needs image resize_between
/* pixel += share dy */
static inline void resize_add(real *pixel, const real *dy, real share, long channels)
{
#pragma omp simd
    for (long c = 0; c < channels; c++)
        pixel[c] += share * dy[c];
}

/* Each dy goes to its four pixels. A thread owns an image. */
static void resize2d_bilinear_grad(const real *dy, real *dx, image in, image out, bool align_corners, double scale_height,
                                   double scale_width)
{
    const long size = in.height * in.width * in.channels;
#pragma omp parallel for
    for (long n = 0; n < in.rows; n++) {
        for (long i = 0; i < size; i++)
            dx[n * size + i] = 0;
        for (long i = 0; i < out.height; i++)
            for (long j = 0; j < out.width; j++) {
                const between row = resize_between(i, in.height, out.height, align_corners, scale_height);
                const between column = resize_between(j, in.width, out.width, align_corners, scale_width);
                const real *from = dy + ((n * out.height + i) * out.width + j) * out.channels;
                real *upper = dx + (n * in.height + row.first) * in.width * in.channels;
                real *lower = dx + (n * in.height + row.second) * in.width * in.channels;
                const long left = column.first * in.channels, right = column.second * in.channels;
                resize_add(upper + left, from, (1 - row.part) * (1 - column.part), in.channels);
                resize_add(upper + right, from, (1 - row.part) * column.part, in.channels);
                resize_add(lower + left, from, row.part * (1 - column.part), in.channels);
                resize_add(lower + right, from, row.part * column.part, in.channels);
            }
    }
}
