/* test_runtime_library.c -- oneDNN's convolutions and products against plain loops. */
#include "test_runtime.h"

#include <math.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "runtime/fail.c"
#include "runtime/onednn.c"

static float *numbers(long count, unsigned seed)
{
    float *value = malloc((size_t)count * sizeof *value);
    for (long i = 0; i < count; i++)
        value[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
    return value;
}

/* One multiplication of a convolution: the offsets of its three elements. */
typedef void Visit(void *context, long x, long w, long y);

static void visit_taps(const struct conv2d_shape *s, long n, long o, long i, long j, Visit *visit, void *context)
{
    const long channels = s->in_channels / s->groups, first = o / (s->out_channels / s->groups) * channels;
    for (long c = 0; c < channels; c++)
        for (long r = 0; r < s->kernel[0]; r++)
            for (long q = 0; q < s->kernel[1]; q++) {
                const long y = i * s->stride[0] - s->before[0] + r * s->dilation[0];
                const long x = j * s->stride[1] - s->before[1] + q * s->dilation[1];
                if (y >= 0 && y < s->height && x >= 0 && x < s->width)
                    visit(context, ((n * s->height + y) * s->width + x) * s->in_channels + first + c,
                          ((o * channels + c) * s->kernel[0] + r) * s->kernel[1] + q,
                          ((n * s->out_height + i) * s->out_width + j) * s->out_channels + o);
            }
}

static void visit_conv(const struct conv2d_shape *s, Visit *visit, void *context)
{
    for (long n = 0; n < s->rows; n++)
        for (long o = 0; o < s->out_channels; o++)
            for (long i = 0; i < s->out_height; i++)
                for (long j = 0; j < s->out_width; j++)
                    visit_taps(s, n, o, i, j, visit, context);
}

struct tensors { const float *x, *w, *dy; double *y, *dx, *dw; };

static void add_all(void *context, long x, long w, long y)
{
    struct tensors *t = context;
    t->y[y] += (double)t->x[x] * t->w[w];
    t->dx[x] += (double)t->dy[y] * t->w[w];
    t->dw[w] += (double)t->dy[y] * t->x[x];
}

static void check_near(const char *what, const float *ours, const double *theirs, long count)
{
    double worst = 0, largest = 0;
    for (long i = 0; i < count; i++) {
        worst = fmax(worst, fabs(ours[i] - theirs[i]));
        largest = fmax(largest, fabs(theirs[i]));
    }
    ck_assert_msg(worst <= 1e-5 * largest, "%s: off by %g of %g", what, worst, largest);
}

static void check_conv(struct conv2d_shape s)
{
    s.out_height = (s.height + s.before[0] + s.after[0] - (s.kernel[0] - 1) * s.dilation[0] - 1) / s.stride[0] + 1;
    s.out_width = (s.width + s.before[1] + s.after[1] - (s.kernel[1] - 1) * s.dilation[1] - 1) / s.stride[1] + 1;
    const long xs = s.rows * s.height * s.width * s.in_channels, ys = s.rows * s.out_height * s.out_width * s.out_channels;
    const long ws = s.out_channels * s.in_channels / s.groups * s.kernel[0] * s.kernel[1];
    const float *x = numbers(xs, 1), *w = numbers(ws, 2), *dy = numbers(ys, 3);
    float *y = numbers(ys, 4), *dx = numbers(xs, 5), *dw = numbers(ws, 6);
    struct tensors plain = { x, w, dy, calloc((size_t)ys, 8), calloc((size_t)xs, 8), calloc((size_t)ws, 8) };
    visit_conv(&s, add_all, &plain);
    static struct dnnl_conv plans[16];
    static int made;
    struct dnnl_conv *plan = &plans[made++];
    dnnl_conv_setup(plan, s);
    for (int time = 0; time < 2; time++) {          /* the second time nothing is made */
        dnnl_conv_forward(plan, x, w, y);
        dnnl_conv_grad_input(plan, dy, w, dx);
        dnnl_conv_grad_weight(plan, dy, x, dw);
        check_near("y", y, plain.y, ys);
        check_near("dx", dx, plain.dx, xs);
        check_near("dw", dw, plain.dw, ws);
    }
}

START_TEST(convolutions)
{
    static const struct conv2d_shape shapes[] = {
        { 2, 3, 9, 8, 16, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1, 0, 0 },
        { 3, 16, 8, 8, 32, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1, 0, 0 },
        { 2, 32, 7, 7, 64, { 1, 1 }, { 2, 2 }, { 0, 0 }, { 0, 0 }, { 1, 1 }, 1, 0, 0 },
        { 1, 5, 10, 11, 7, { 3, 5 }, { 1, 2 }, { 0, 2 }, { 1, 1 }, { 2, 1 }, 1, 0, 0 },
        { 2, 8, 6, 6, 12, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 4, 0, 0 },
        { 2, 16, 6, 6, 16, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 16, 0, 0 },
        { 1, 3, 23, 23, 64, { 7, 7 }, { 2, 2 }, { 3, 3 }, { 3, 3 }, { 1, 1 }, 1, 0, 0 },
        { 4, 1, 5, 5, 1, { 5, 5 }, { 1, 1 }, { 2, 2 }, { 2, 2 }, { 1, 1 }, 1, 0, 0 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_conv(shapes[i]);
}
END_TEST

static void check_product(long batch, long m, long n, long k, bool shared_b, bool transpose_a, bool transpose_b)
{
    const float *a = numbers(batch * m * k, 1), *b = numbers(batch * k * n, 2);
    float *y = numbers(batch * m * n, 3);
    double *plain = calloc((size_t)(batch * m * n), sizeof *plain);
    const long b_batch = shared_b ? 0 : k * n;
    for (long p = 0; p < batch; p++)
        for (long i = 0; i < m; i++)
            for (long j = 0; j < n; j++)
                for (long l = 0; l < k; l++)
                    plain[(p * m + i) * n + j] += (double)a[p * m * k + (transpose_a ? l * m + i : i * k + l)]
                                                * b[p * b_batch + (transpose_b ? j * k + l : l * n + j)];
    dnnl_product(a, b, y, batch, m, n, k, m * k, b_batch, transpose_a, transpose_b);
    check_near("product", y, plain, batch * m * n);
}

START_TEST(products)
{
    for (int flags = 0; flags < 8; flags++) {
        check_product(1, 33, 17, 65, flags & 4, flags & 1, flags & 2);
        check_product(3, 5, 70, 9, flags & 4, flags & 1, flags & 2);
        check_product(12, 8, 8, 16, flags & 4, flags & 1, flags & 2);
    }
    check_product(1, 1, 1, 1, false, false, false);
}
END_TEST

START_TEST(impossible_convolution)
{
    static struct dnnl_conv plan;
    float x[1] = { 0 };
    const struct conv2d_shape shape = { 1, 1, 3, 3, 1, { 5, 5 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, { 1, 1 }, 1, 3, 3 };
    dnnl_conv_setup(&plan, shape);
    dnnl_conv_forward(&plan, x, x, x);
}
END_TEST

TCase *runtime_library_tests(void)
{
    TCase *tests = tcase_create("library");
    tcase_add_test(tests, convolutions);
    tcase_add_test(tests, products);
    tcase_add_exit_test(tests, impossible_convolution, EXIT_DEVICE);
    return tests;
}
