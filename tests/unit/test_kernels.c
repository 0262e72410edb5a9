/* test_kernels.c -- the kernels of templates/cpu against naive loops: images. The others are in test_kernels_*.c. */
#include <math.h>
#include <stdlib.h>

#include "kernel_runs.h"

typedef struct Layer {                  /* as kernels take it: in, out, kernel, stride, padding, dilation, groups or a flag */
    long size[17];
} Layer;

static long elements(const long *image)
{
    return image[0] * image[1] * image[2] * image[3];
}

/* Channels last: (n, c, h, w) of an image of these sizes; -1 outside. */
static long place(const long *image, long n, long c, long h, long w)
{
    if (h < 0 || w < 0 || h >= image[2] || w >= image[3])
        return -1;
    return ((n * image[2] + h) * image[3] + w) * image[1] + c;
}

/* All (n, c, i, j) of the output of a layer and its taps (r, s). */
typedef struct Visit {
    const Layer *layer;
    long n, c, i, j, r, s, row, column;
} Visit;
typedef void Visitor(void *context, const Visit *visit);

static void visit(const Layer *layer, Visitor *visitor, void *context)
{
    const long *l = layer->size, *out = l + 4, *kernel = l + 8, *stride = l + 10, *padding = l + 12, *dilation = l + 14;
    Visit v = { .layer = layer };
    for (v.n = 0; v.n < out[0]; v.n++)
        for (v.c = 0; v.c < out[1]; v.c++)
            for (v.i = 0; v.i < out[2]; v.i++)
                for (v.j = 0; v.j < out[3]; v.j++)
                    for (v.r = 0; v.r < kernel[0]; v.r++)
                        for (v.s = 0; v.s < kernel[1]; v.s++) {
                            v.row = v.i * stride[0] - padding[0] + v.r * dilation[0];
                            v.column = v.j * stride[1] - padding[1] + v.s * dilation[1];
                            visitor(context, &v);
                        }
}

/* ---- convolution ---- */

typedef struct Convolution { const double *x, *w, *dy; double *y, *dx, *dw; } Convolution;

static void convolve(void *context, const Visit *v)
{
    Convolution *conv = context;
    const long *l = v->layer->size, *in = l, *out = l + 4, groups = l[16], each = in[1] / groups;
    long group = v->c / (out[1] / groups), to = place(out, v->n, v->c, v->i, v->j);
    for (long c = 0; c < each; c++) {
        long from = place(in, v->n, group * each + c, v->row, v->column);
        long w = ((v->c * each + c) * l[8] + v->r) * l[9] + v->s;
        if (from < 0)
            continue;
        conv->y[to] += conv->x[from] * conv->w[w];
        conv->dx[from] += conv->dy[to] * conv->w[w];
        conv->dw[w] += conv->dy[to] * conv->x[from];
    }
}

static const Layer convolutions[] = {
    { { 2, 3, 7, 6, 2, 5, 7, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1 } },
    { { 3, 4, 9, 8, 3, 6, 4, 5, 3, 2, 2, 2, 0, 1, 1, 1, 2 } },
    { { 1, 6, 11, 10, 1, 6, 4, 5, 3, 3, 2, 1, 1, 0, 2, 2, 6 } },
    { { 2, 17, 5, 5, 2, 33, 3, 3, 1, 1, 2, 2, 0, 0, 1, 1, 1 } },
    { { 2, 2, 4, 4, 2, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1 } },
};

static void scenario_convolution(Run *run)
{
    for (size_t k = 0; k < sizeof convolutions / sizeof *convolutions; k++) {
        const long *l = convolutions[k].size, weights = l[5] * l[1] / l[16] * l[8] * l[9];
        Reals x = run_input(run, elements(l), 1), w = run_input(run, weights, 2), dy = run_input(run, elements(l + 4), 3);
        Reals y = run_output(run, dy.count), dx = run_output(run, x.count), dw = run_output(run, weights);
        run_kernel(run, "conv2d", P(x.bytes, w.bytes, y.bytes), l, NULL);
        run_kernel(run, "conv2d_grad_input", P(dy.bytes, w.bytes, dx.bytes), l, NULL);
        run_kernel(run, "conv2d_grad_weight", P(dy.bytes, x.bytes, dw.bytes), l, NULL);
        Convolution want = { x.value, w.value, dy.value, run_numbers(run, y.count), run_numbers(run, x.count),
                             run_numbers(run, weights) };
        visit(&convolutions[k], convolve, &want);
        run_check(run, y, want.y, "y");
        run_check(run, dx, want.dx, "dx");
        run_check(run, dw, want.dw, "dw");
    }
}

/* ---- pooling ---- */

typedef struct Pooling { const double *x, *dy; double *y, *dx, *count; long *where; bool count_padding; } Pooling;

static void find_largest(void *context, const Visit *v)
{
    Pooling *pool = context;
    const long *in = v->layer->size, *out = in + 4;
    long to = place(out, v->n, v->c, v->i, v->j), from = place(in, v->n, v->c, v->row, v->column);
    if (from < 0 || (pool->where[to] >= 0 && pool->x[from] <= pool->y[to]))
        return;
    pool->y[to] = pool->x[from];
    pool->where[to] = v->row * in[3] + v->column;
}

static const Layer pools[] = {
    { { 2, 5, 7, 8, 2, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1, 0 } },
    { { 2, 3, 6, 5, 2, 3, 3, 3, 2, 2, 2, 2, 0, 0, 1, 1, 1 } },       /* the last window of a row hangs over: ceil_mode */
    { { 1, 20, 9, 9, 1, 20, 5, 7, 3, 2, 1, 1, 0, 0, 2, 2, 0 } },
};

static void scenario_max_pool(Run *run)
{
    for (size_t k = 0; k < sizeof pools / sizeof *pools; k++) {
        const long *l = pools[k].size;
        Reals x = run_input(run, elements(l), 4), dy = run_input(run, elements(l + 4), 5);
        for (long i = 0; i < x.count; i++)
            x.value[i] = floor(x.value[i] * 4);                             /* many ties */
        reals_write(run->library, &x);
        Reals y = run_output(run, dy.count), only = run_output(run, dy.count), dx = run_output(run, x.count);
        int *argmax = run_ints(run, dy.count);
        run_kernel(run, "max_pool2d", P(x.bytes, y.bytes, argmax), l, NULL);
        run_kernel(run, "max_pool2d_only", P(x.bytes, only.bytes), l, NULL);
        run_kernel(run, "max_pool2d_grad", P(dy.bytes, argmax, dx.bytes), l, NULL);
        Pooling want = { .x = x.value, .y = run_numbers(run, y.count), .where = arena_array(run->arena, long, y.count) };
        memset(want.where, -1, sizeof *want.where * (size_t)y.count);
        visit(&pools[k], find_largest, &want);
        double *gradient = run_numbers(run, x.count);
        for (long i = 0; i < y.count; i++) {
            ck_assert_int_eq(argmax[i], want.where[i]);
            long n = i / (y.count / l[0]), c = i % l[1];
            gradient[place(l, n, c, want.where[i] / l[3], want.where[i] % l[3])] += dy.value[i];
        }
        run_check(run, y, want.y, "y");
        run_check(run, only, want.y, "y without argmax");
        run_check(run, dx, gradient, "dx");
    }
}

/* First pass: how many taps count; second: the mean. What lies beyond the padding never counts. */
static void count_taps(void *context, const Visit *v)
{
    Pooling *pool = context;
    const long *l = v->layer->size;
    bool padded = v->row < l[2] + l[12] && v->column < l[3] + l[13];
    bool inside = place(l, v->n, v->c, v->row, v->column) >= 0;
    pool->count[place(l + 4, v->n, v->c, v->i, v->j)] += pool->count_padding ? padded : inside;
}

static void average_taps(void *context, const Visit *v)
{
    Pooling *pool = context;
    const long *l = v->layer->size;
    long to = place(l + 4, v->n, v->c, v->i, v->j), from = place(l, v->n, v->c, v->row, v->column);
    if (from < 0)
        return;
    pool->y[to] += pool->x[from] / pool->count[to];
    pool->dx[from] += pool->dy[to] / pool->count[to];
}

static void scenario_avg_pool(Run *run)
{
    for (size_t k = 0; k < 4; k++) {
        Layer layer = pools[k / 2];
        layer.size[16] = k % 2;
        const long *l = layer.size;
        Reals x = run_input(run, elements(l), 6), dy = run_input(run, elements(l + 4), 7);
        Reals y = run_output(run, dy.count), dx = run_output(run, x.count);
        run_kernel(run, "avg_pool2d", P(x.bytes, y.bytes), l, NULL);
        run_kernel(run, "avg_pool2d_grad", P(dy.bytes, dx.bytes), l, NULL);
        Pooling want = { x.value, dy.value, run_numbers(run, y.count), run_numbers(run, x.count), run_numbers(run, y.count),
                         NULL, l[16] };
        visit(&layer, count_taps, &want);
        visit(&layer, average_taps, &want);
        run_check(run, y, want.y, "y");
        run_check(run, dx, want.dx, "dx");
    }
}

/* ---- linear maps given by weights along each axis: y = rows x columns^T ---- */

typedef double Weight(long out, long at, long outputs, long extent, const double *numbers);

static void check_separable(Run *run, const long *l, const char *name, const char *gradient, const long *sizes,
                            const double *numbers, Weight *weight)
{
    Reals x = run_input(run, elements(l), 8), dy = run_input(run, elements(l + 4), 9);
    Reals y = run_output(run, dy.count), dx = run_output(run, x.count);
    run_kernel(run, name, P(x.bytes, y.bytes), sizes, numbers);
    run_kernel(run, gradient, P(dy.bytes, dx.bytes), sizes, numbers);
    double *want_y = run_numbers(run, y.count), *want_dx = run_numbers(run, x.count);
    for (long i = 0; i < l[6]; i++)
        for (long j = 0; j < l[7]; j++)
            for (long row = 0; row < l[2]; row++)
                for (long column = 0; column < l[3]; column++) {
                    double tap = weight(i, row, l[6], l[2], numbers) * weight(j, column, l[7], l[3], numbers);
                    for (long nc = 0; nc < l[0] * l[1] && tap != 0; nc++) {
                        long to = place(l + 4, nc / l[1], nc % l[1], i, j), from = place(l, nc / l[1], nc % l[1], row, column);
                        want_y[to] += tap * x.value[from];
                        want_dx[from] += tap * dy.value[to];
                    }
                }
    run_check(run, y, want_y, name);
    run_check(run, dx, want_dx, gradient);
}

static double adaptive_weight(long out, long at, long outputs, long extent, const double *numbers)
{
    (void)numbers;
    long from = (long)floor((double)out * (double)extent / (double)outputs);
    long to = (long)ceil((double)(out + 1) * (double)extent / (double)outputs);
    return from <= at && at < to ? 1.0 / (double)(to - from) : 0;
}

static double blur_weight(long out, long at, long outputs, long extent, const double *numbers)
{
    (void)outputs, (void)extent;
    long distance = labs(at - out * (long)numbers[2]);
    return distance == 0 ? 0.5 : distance == 1 ? 0.25 : 0;
}

static double nearest_weight(long out, long at, long outputs, long extent, const double *numbers)
{
    double ratio = numbers[0] > 0 ? 1 / numbers[0] : (double)extent / (double)outputs;
    return at == (long)fmin(floor((double)out * ratio + 1e-9), (double)extent - 1);
}

/* A hat around the source coordinate, which is kept within the image. numbers[2]: corners on corners. */
static double bilinear_weight(long out, long at, long outputs, long extent, const double *numbers)
{
    double ratio = numbers[0] > 0 ? 1 / numbers[0] : (double)extent / (double)outputs;
    double source = ((double)out + 0.5) * ratio - 0.5;
    if (numbers[2] != 0)
        source = outputs > 1 ? (double)out * (double)(extent - 1) / (double)(outputs - 1) : 0;
    source = fmin(fmax(source, 0), (double)extent - 1);
    return fmax(0, 1 - fabs((double)at - source));
}

static void scenario_adaptive(Run *run)
{
    const long up[] = { 2, 3, 3, 4, 2, 3, 7, 6 }, down[] = { 2, 3, 7, 9, 2, 3, 3, 4 };
    check_separable(run, up, "adaptive_avg_pool2d", "adaptive_avg_pool2d_grad", up, NULL, adaptive_weight);
    check_separable(run, down, "adaptive_avg_pool2d", "adaptive_avg_pool2d_grad", down, NULL, adaptive_weight);
}

static void scenario_blur(Run *run)
{
    const long same[] = { 2, 3, 5, 6, 2, 3, 5, 6, 1, 1 }, half[] = { 2, 18, 7, 6, 2, 18, 4, 3, 2, 2 };
    check_separable(run, same, "blur2d", "blur2d_grad", same, R(0, 0, 1), blur_weight);
    check_separable(run, half, "blur2d", "blur2d_grad", half, R(0, 0, 2), blur_weight);
}

static void scenario_resize(Run *run)
{
    static const struct { long l[9]; double numbers[3]; } cases[] = {
        { { 2, 3, 8, 6, 2, 3, 5, 4, 0 }, { 0, 0, 0 } },
        { { 2, 3, 5, 4, 2, 3, 8, 9, 0 }, { 0, 0, 0 } },
        { { 2, 3, 8, 6, 2, 3, 5, 4, 1 }, { 0, 0, 1 } },
        { { 2, 3, 5, 4, 2, 3, 8, 1, 1 }, { 0, 0, 1 } },
        { { 2, 3, 9, 7, 2, 3, 6, 5, 0 }, { 0.75, 0.75, 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_separable(run, cases[i].l, "resize2d_bilinear", "resize2d_bilinear_grad", cases[i].l, cases[i].numbers,
                        bilinear_weight);
        if (!cases[i].l[8])
            check_separable(run, cases[i].l, "resize2d_nearest", "resize2d_nearest_grad", cases[i].l, cases[i].numbers,
                            nearest_weight);
    }
}

START_TEST(convolutions_are_right) { run_everywhere(scenario_convolution); } END_TEST
START_TEST(max_pools_are_right) { run_everywhere(scenario_max_pool); } END_TEST
START_TEST(average_pools_are_right) { run_everywhere(scenario_avg_pool); } END_TEST
START_TEST(adaptive_pools_are_right) { run_everywhere(scenario_adaptive); } END_TEST
START_TEST(blurs_are_right) { run_everywhere(scenario_blur); } END_TEST
START_TEST(resizes_are_right) { run_everywhere(scenario_resize); } END_TEST
START_TEST(kernels_stand_alone) { kernels_compile_alone(_i); } END_TEST

Suite *kernels_suite(void)
{
    Suite *suite = suite_create("kernels");
    TCase *images = kernels_case(suite, "images");
    tcase_add_test(images, convolutions_are_right);
    tcase_add_test(images, max_pools_are_right);
    tcase_add_test(images, average_pools_are_right);
    tcase_add_test(images, adaptive_pools_are_right);
    tcase_add_test(images, blurs_are_right);
    tcase_add_test(images, resizes_are_right);
    tcase_add_loop_test(images, kernels_stand_alone, 0, 2);
    add_norm_kernels(suite);
    add_row_kernels(suite);
    return suite;
}
