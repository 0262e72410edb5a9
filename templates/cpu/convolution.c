/* convolution.c -- convolutions as plain loops: double precision, and the twin that the library is compared with.
 *
 * Images are (rows, height, width, channels), weights (out channels, in channels / groups, kernel height, kernel width). */

//% part image
typedef struct image {                  /* of a tensor (rows, channels, height, width), channels fastest in memory */
    long rows, channels, height, width;
} image;

//% part window
typedef struct window {                 /* [0] height, [1] width; padding is what lies before the first pixel */
    long kernel[2], stride[2], padding[2], dilation[2];
} window;

//% part conv2d_taps
/* w of one out channel (channels, taps) -> (taps, channels): channels fastest, as in the images */
static void conv2d_taps(const real *w, real *taps, long channels, long count)
{
    for (long c = 0; c < channels; c++)
        for (long t = 0; t < count; t++)
            taps[t * channels + c] = w[c * count + t];
}

//% part conv2d_source needs image window
/* Which pixel along an axis tap `tap` of output `out` reads; -1 outside. */
static inline long conv2d_source(long out, long tap, long extent, const window *w, int axis)
{
    const long at = out * w->stride[axis] - w->padding[axis] + tap * w->dilation[axis];
    return at < extent ? at : -1;
}

//% part conv2d needs conv2d_taps conv2d_source
/* One output: sum over taps and channels. x: the first channel of the group in one image. */
static real conv2d_pixel(const real *x, const real *taps, image in, long channels, long y, long column, const window *w)
{
    real sum = 0;
    for (long r = 0; r < w->kernel[0]; r++)
        for (long s = 0; s < w->kernel[1]; s++) {
            const long row = conv2d_source(y, r, in.height, w, 0), at = conv2d_source(column, s, in.width, w, 1);
            if (row < 0 || at < 0)
                continue;
            const real *pixel = x + (row * in.width + at) * in.channels, *tap = taps + (r * w->kernel[1] + s) * channels;
            real part = 0;
#pragma omp simd reduction(+ : part)
            for (long c = 0; c < channels; c++)
                part += pixel[c] * tap[c];
            sum += part;
        }
    return sum;
}

/* y(n, k, i, j) = sum over c, r, s of x(n, c, i stride - padding + r dilation, ...) w(k, c, r, s), c in the group of k */
static void conv2d(const real *x, const real *weight, real *y, image in, image out, window w, long groups)
{
    const long channels = in.channels / groups, each = out.channels / groups, count = w.kernel[0] * w.kernel[1];
#pragma omp parallel for collapse(2)
    for (long n = 0; n < in.rows; n++)
        for (long k = 0; k < out.channels; k++) {
            real taps[count * channels];
            conv2d_taps(weight + k * channels * count, taps, channels, count);
            const real *from = x + n * in.height * in.width * in.channels + k / each * channels;
            for (long i = 0; i < out.height; i++)
                for (long j = 0; j < out.width; j++)
                    y[((n * out.height + i) * out.width + j) * out.channels + k] =
                        conv2d_pixel(from, taps, in, channels, i, j, &w);
        }
}

//% part conv2d_grad_input needs conv2d_taps conv2d_source
/* dx += dy w of one output and one out channel */
static void conv2d_spread(real dy, real *dx, const real *taps, image in, long channels, long y, long column, const window *w)
{
    for (long r = 0; r < w->kernel[0]; r++)
        for (long s = 0; s < w->kernel[1]; s++) {
            const long row = conv2d_source(y, r, in.height, w, 0), at = conv2d_source(column, s, in.width, w, 1);
            if (row < 0 || at < 0)
                continue;
            real *pixel = dx + (row * in.width + at) * in.channels;
            const real *tap = taps + (r * w->kernel[1] + s) * channels;
#pragma omp simd
            for (long c = 0; c < channels; c++)
                pixel[c] += dy * tap[c];
        }
}

/* dx: what conv2d reads, dy: what it writes. Threads share images, out channels add up in order. */
static void conv2d_grad_input(const real *dy, const real *weight, real *dx, image in, image out, window w, long groups)
{
    const long channels = in.channels / groups, each = out.channels / groups, count = w.kernel[0] * w.kernel[1];
    const long size = in.height * in.width * in.channels;
#pragma omp parallel for
    for (long n = 0; n < in.rows; n++) {
        real taps[count * channels];
        for (long i = 0; i < size; i++)
            dx[n * size + i] = 0;
        for (long k = 0; k < out.channels; k++) {
            conv2d_taps(weight + k * channels * count, taps, channels, count);
            for (long i = 0; i < out.height; i++)
                for (long j = 0; j < out.width; j++)
                    conv2d_spread(dy[((n * out.height + i) * out.width + j) * out.channels + k],
                                  dx + n * size + k / each * channels, taps, in, channels, i, j, &w);
        }
    }
}

//% part conv2d_grad_weight needs conv2d_source
/* sums (taps, channels) += dy x of one output and one out channel */
static void conv2d_collect(real dy, const real *x, double *sums, image in, long channels, long y, long column, const window *w)
{
    for (long r = 0; r < w->kernel[0]; r++)
        for (long s = 0; s < w->kernel[1]; s++) {
            const long row = conv2d_source(y, r, in.height, w, 0), at = conv2d_source(column, s, in.width, w, 1);
            if (row < 0 || at < 0)
                continue;
            const real *pixel = x + (row * in.width + at) * in.channels;
            double *sum = sums + (r * w->kernel[1] + s) * channels;
#pragma omp simd
            for (long c = 0; c < channels; c++)
                sum[c] += dy * pixel[c];
        }
}

/* dw(k, c, r, s) = sum over images and pixels of dy x. Threads share out channels; sums are double. */
static void conv2d_grad_weight(const real *dy, const real *x, real *dw, image in, image out, window w, long groups)
{
    const long channels = in.channels / groups, each = out.channels / groups, count = w.kernel[0] * w.kernel[1];
#pragma omp parallel for
    for (long k = 0; k < out.channels; k++) {
        double sums[count * channels];
        for (long i = 0; i < count * channels; i++)
            sums[i] = 0;
        for (long n = 0; n < in.rows; n++)
            for (long i = 0; i < out.height; i++)
                for (long j = 0; j < out.width; j++)
                    conv2d_collect(dy[((n * out.height + i) * out.width + j) * out.channels + k],
                                   x + n * in.height * in.width * in.channels + k / each * channels, sums, in, channels,
                                   i, j, &w);
        for (long c = 0; c < channels; c++)
            for (long t = 0; t < count; t++)
                dw[(k * channels + c) * count + t] = (real)sums[t * channels + c];
    }
}
