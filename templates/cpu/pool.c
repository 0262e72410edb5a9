/* pool.c -- pooling and blurring of images (rows, height, width, channels). Gradients are gathered: each element of dx
 * adds up what its windows send it, in a fixed order, so threads never meet. */
#include <math.h>
#include <stdbool.h>

//% part window_over needs image window
/* The output whose tap number `tap` lies on pixel `at` along an axis; -1: none. */
static inline long window_over(long at, long tap, long outputs, const window *w, int axis)
{
    const long offset = at + w->padding[axis] - tap * w->dilation[axis], out = offset / w->stride[axis];
    return offset >= 0 && offset % w->stride[axis] == 0 && out < outputs ? out : -1;
}

//% part max_pool2d needs image window
/* y = the largest of each window, argmax = row * width + column of it (of equals the first; nan is largest) */
static void max_pool2d(const real *x, real *y,
                       int *argmax, //% if argmax
                       image in, image out, window w)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < out.rows; n++)
        for (long i = 0; i < out.height; i++)
            for (long j = 0; j < out.width; j++) {
                const long at = ((n * out.height + i) * out.width + j) * out.channels;
                real *most = y + at;
                int *where = argmax + at; //% if argmax
                for (long c = 0; c < out.channels; c++)
                    most[c] = -INFINITY;
                for (long c = 0; c < out.channels; c++) //% if argmax
                    where[c] = -1; //% if argmax
                for (long t = 0; t < w.kernel[0] * w.kernel[1]; t++) {
                    const long row = i * w.stride[0] - w.padding[0] + t / w.kernel[1] * w.dilation[0];
                    const long column = j * w.stride[1] - w.padding[1] + t % w.kernel[1] * w.dilation[1];
                    if (row < 0 || column < 0 || row >= in.height || column >= in.width)
                        continue;
                    const real *pixel = x + ((n * in.height + row) * in.width + column) * in.channels;
                    const int place = (int)(row * in.width + column); //% if argmax
#pragma omp simd
                    for (long c = 0; c < out.channels; c++) {
                        const bool larger = !(pixel[c] <= most[c]);
                        where[c] = larger ? place : where[c]; //% if argmax
                        most[c] = larger ? pixel[c] : most[c];
                    }
                }
            }
}

//% part max_pool2d_grad needs window_over
/* dx = the sum of dy over the windows whose largest element this is */
static void max_pool2d_grad(const real *dy, const int *argmax, real *dx, image in, image out, window w)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < in.rows; n++)
        for (long row = 0; row < in.height; row++)
            for (long column = 0; column < in.width; column++) {
                real *pixel = dx + ((n * in.height + row) * in.width + column) * in.channels;
                const int place = (int)(row * in.width + column);
                for (long c = 0; c < in.channels; c++)
                    pixel[c] = 0;
                for (long t = w.kernel[0] * w.kernel[1] - 1; t >= 0; t--) {
                    const long i = window_over(row, t / w.kernel[1], out.height, &w, 0);
                    const long j = window_over(column, t % w.kernel[1], out.width, &w, 1);
                    if (i < 0 || j < 0)
                        continue;
                    const long at = ((n * out.height + i) * out.width + j) * out.channels;
#pragma omp simd
                    for (long c = 0; c < in.channels; c++)
                        pixel[c] += argmax[at + c] == place ? dy[at + c] : 0;
                }
            }
}

//% part average needs image
/* y = the mean over rows top..bottom-1 and columns left..right-1 of one image, `divisor` pixels */
static void average(const real *x, real *y, image in, long top, long bottom, long left, long right, long divisor)
{
    for (long c = 0; c < in.channels; c++)
        y[c] = 0;
    for (long row = top; row < bottom; row++)
        for (long column = left; column < right; column++) {
            const real *pixel = x + (row * in.width + column) * in.channels;
#pragma omp simd
            for (long c = 0; c < in.channels; c++)
                y[c] += pixel[c];
        }
    for (long c = 0; c < in.channels; c++)
        y[c] /= (real)divisor;
}

//% part avg_window needs image window
/* Where window `out` lies along an axis, cut to the image; `padded` is its length before that, the padding counted. */
static inline void avg_window(long out, long extent, const window *w, int axis, long *from, long *to, long *padded)
{
    const long first = out * w->stride[axis] - w->padding[axis], wanted = first + w->kernel[axis];
    const long last = wanted < extent + w->padding[axis] ? wanted : extent + w->padding[axis];
    *from = first > 0 ? first : 0;
    *to = last < extent ? last : extent;
    *padded = last - first;
}

static inline long avg_divisor(long i, long j, image in, const window *w, bool count_padding)
{
    long top, bottom, left, right, height, width;
    avg_window(i, in.height, w, 0, &top, &bottom, &height);
    avg_window(j, in.width, w, 1, &left, &right, &width);
    return count_padding ? height * width : (bottom - top) * (right - left);
}

//% part avg_pool2d needs average avg_window
/* y = the mean of each window; its divisor counts the padding or not */
static void avg_pool2d(const real *x, real *y, image in, image out, window w, bool count_padding)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < out.rows; n++)
        for (long i = 0; i < out.height; i++)
            for (long j = 0; j < out.width; j++) {
                long top, bottom, left, right, padded;
                avg_window(i, in.height, &w, 0, &top, &bottom, &padded);
                avg_window(j, in.width, &w, 1, &left, &right, &padded);
                average(x + n * in.height * in.width * in.channels,
                        y + ((n * out.height + i) * out.width + j) * out.channels, in, top, bottom, left, right,
                        avg_divisor(i, j, in, &w, count_padding));
            }
}

//% part avg_pool2d_grad needs avg_window window_over
/* dx = the sum of dy / divisor over the windows that hold this pixel */
static void avg_pool2d_grad(const real *dy, real *dx, image in, image out, window w, bool count_padding)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < in.rows; n++)
        for (long row = 0; row < in.height; row++)
            for (long column = 0; column < in.width; column++) {
                real *pixel = dx + ((n * in.height + row) * in.width + column) * in.channels;
                for (long c = 0; c < in.channels; c++)
                    pixel[c] = 0;
                for (long t = w.kernel[0] * w.kernel[1] - 1; t >= 0; t--) {
                    const long i = window_over(row, t / w.kernel[1], out.height, &w, 0);
                    const long j = window_over(column, t % w.kernel[1], out.width, &w, 1);
                    if (i < 0 || j < 0)
                        continue;
                    const real *from = dy + ((n * out.height + i) * out.width + j) * out.channels;
                    const real share = 1 / (real)avg_divisor(i, j, in, &w, count_padding);
#pragma omp simd
                    for (long c = 0; c < in.channels; c++)
                        pixel[c] += share * from[c];
                }
            }
}

//% part adaptive_bounds
/* Window number i of `parts` over `extent`: floor(i extent / parts) .. ceil((i + 1) extent / parts) - 1. */
static inline long adaptive_from(long i, long extent, long parts)
{
    return i * extent / parts;
}

static inline long adaptive_to(long i, long extent, long parts)
{
    return ((i + 1) * extent + parts - 1) / parts;
}

//% part adaptive_avg_pool2d needs average adaptive_bounds
/* y = the mean of each of out.height x out.width windows that cover the image evenly */
static void adaptive_avg_pool2d(const real *x, real *y, image in, image out)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < out.rows; n++)
        for (long i = 0; i < out.height; i++)
            for (long j = 0; j < out.width; j++) {
                const long top = adaptive_from(i, in.height, out.height), bottom = adaptive_to(i, in.height, out.height);
                const long left = adaptive_from(j, in.width, out.width), right = adaptive_to(j, in.width, out.width);
                average(x + n * in.height * in.width * in.channels,
                        y + ((n * out.height + i) * out.width + j) * out.channels, in, top, bottom, left, right,
                        (bottom - top) * (right - left));
            }
}

//% part adaptive_avg_pool2d_grad needs image adaptive_bounds
/* dx = the sum of dy / size over the windows that hold this pixel: by symmetry those between the same bounds */
static void adaptive_avg_pool2d_grad(const real *dy, real *dx, image in, image out)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < in.rows; n++)
        for (long row = 0; row < in.height; row++)
            for (long column = 0; column < in.width; column++) {
                real *pixel = dx + ((n * in.height + row) * in.width + column) * in.channels;
                for (long c = 0; c < in.channels; c++)
                    pixel[c] = 0;
                for (long i = adaptive_from(row, out.height, in.height); i < adaptive_to(row, out.height, in.height); i++)
                    for (long j = adaptive_from(column, out.width, in.width); j < adaptive_to(column, out.width, in.width); j++) {
                        const real *from = dy + ((n * out.height + i) * out.width + j) * out.channels;
                        const long height = adaptive_to(i, in.height, out.height) - adaptive_from(i, in.height, out.height);
                        const long width = adaptive_to(j, in.width, out.width) - adaptive_from(j, in.width, out.width);
                        const real share = 1 / (real)(height * width);
#pragma omp simd
                        for (long c = 0; c < in.channels; c++)
                            pixel[c] += share * from[c];
                    }
            }
}

//% part blur2d needs image
/* y = each channel smoothed by [1 2 1] x [1 2 1] / 16 with zeros around, every stride-th pixel */
static void blur2d(const real *x, real *y, image in, image out, long stride_height, long stride_width)
{
    static const real taps[3] = { 0.25f, 0.5f, 0.25f };
#pragma omp parallel for collapse(2)
    for (long n = 0; n < out.rows; n++)
        for (long i = 0; i < out.height; i++)
            for (long j = 0; j < out.width; j++) {
                real *sum = y + ((n * out.height + i) * out.width + j) * out.channels;
                for (long c = 0; c < out.channels; c++)
                    sum[c] = 0;
                for (long t = 0; t < 9; t++) {
                    const long row = i * stride_height - 1 + t / 3, column = j * stride_width - 1 + t % 3;
                    if (row < 0 || column < 0 || row >= in.height || column >= in.width)
                        continue;
                    const real *pixel = x + ((n * in.height + row) * in.width + column) * in.channels;
                    const real tap = taps[t / 3] * taps[t % 3];
#pragma omp simd
                    for (long c = 0; c < out.channels; c++)
                        sum[c] += tap * pixel[c];
                }
            }
}

//% part blur2d_grad needs window_over
/* dx = the same smoothing of dy set stride apart */
static void blur2d_grad(const real *dy, real *dx, image in, image out, long stride_height, long stride_width)
{
    static const real taps[3] = { 0.25f, 0.5f, 0.25f };
    const window w = { { 3, 3 }, { stride_height, stride_width }, { 1, 1 }, { 1, 1 } };
#pragma omp parallel for collapse(2)
    for (long n = 0; n < in.rows; n++)
        for (long row = 0; row < in.height; row++)
            for (long column = 0; column < in.width; column++) {
                real *sum = dx + ((n * in.height + row) * in.width + column) * in.channels;
                for (long c = 0; c < in.channels; c++)
                    sum[c] = 0;
                for (long t = 0; t < 9; t++) {
                    const long i = window_over(row, t / 3, out.height, &w, 0), j = window_over(column, t % 3, out.width, &w, 1);
                    if (i < 0 || j < 0)
                        continue;
                    const real *from = dy + ((n * out.height + i) * out.width + j) * out.channels;
                    const real tap = taps[t / 3] * taps[t % 3];
#pragma omp simd
                    for (long c = 0; c < in.channels; c++)
                        sum[c] += tap * from[c];
                }
            }
}
