/* test_kernels_norm.c -- normalisations against naive ones; gradients against differences of those. */
#include <math.h>

#include "kernel_runs.h"

/* A normalisation of x (rows, pixels, channels): which group and which weight each element has. */
typedef struct Norm {
    const char *kind;                   /* prefix of the kernels */
    long size[4];                       /* what the kernels take */
    long elements, groups, affine;
    long group_of[4096], weight_of[4096];
    bool is_rms;
    double epsilon;
} Norm;

typedef struct Naive { double mean[512], variance[512], count[512]; } Naive;

static void naive_moments(const Norm *norm, const double *x, Naive *naive)
{
    *naive = (Naive){ 0 };
    for (long i = 0; i < norm->elements; i++)
        naive->mean[norm->group_of[i]] += x[i], naive->count[norm->group_of[i]]++;
    for (long g = 0; g < norm->groups; g++)
        naive->mean[g] = norm->is_rms ? 0 : naive->mean[g] / naive->count[g];
    for (long i = 0; i < norm->elements; i++)
        naive->variance[norm->group_of[i]] += pow(x[i] - naive->mean[norm->group_of[i]], 2);
    for (long g = 0; g < norm->groups; g++)
        naive->variance[g] /= naive->count[g];
}

static double normalized(const Norm *norm, const Naive *naive, const double *x, long i)
{
    long g = norm->group_of[i];
    return (x[i] - naive->mean[g]) / sqrt(naive->variance[g] + norm->epsilon);
}

/* sum of dy y */
static double weighted_sum(const Norm *norm, const double *x, const double *weight, const double *bias, const double *dy)
{
    Naive naive;
    double sum = 0;
    naive_moments(norm, x, &naive);
    for (long i = 0; i < norm->elements; i++)
        sum += dy[i] * (normalized(norm, &naive, x, i) * weight[norm->weight_of[i]] + bias[norm->weight_of[i]]);
    return sum;
}

/* The slope of weighted_sum along each element of `varied`, which is one of its arguments. */
static double *slopes(Run *run, const Norm *norm, const double *x, const double *weight, const double *bias, const double *dy,
                      double *varied, long count)
{
    double *slope = run_numbers(run, count);
    for (long i = 0; i < count; i++) {
        double before = varied[i], sum[2];
        for (int side = 0; side < 2; side++) {
            varied[i] = before + (side ? 1e-5 : -1e-5);
            sum[side] = weighted_sum(norm, x, weight, bias, dy);
        }
        varied[i] = before;
        slope[i] = (sum[1] - sum[0]) / 2e-5;
    }
    return slope;
}

static const char *kernel_of(const Norm *norm, Run *run, const char *operation)
{
    bool shared = norm->is_rms && strcmp(operation, "moments") != 0 && strcmp(operation, "normalize_grad") != 0;
    return text_format(run->arena, "%s_%s", shared ? "row" : norm->kind, operation);
}

static void check_forward(Run *run, const Norm *norm, Reals x, Reals moments, Reals y, const double *weight, const double *bias)
{
    Naive naive;
    naive_moments(norm, x.value, &naive);
    double *want = run_numbers(run, 2 * norm->groups), *want_y = run_numbers(run, norm->elements);
    for (long g = 0; g < norm->groups; g++)
        want[g] = naive.mean[g], want[norm->groups + g] = naive.variance[g];
    for (long i = 0; i < norm->elements; i++)
        want_y[i] = normalized(norm, &naive, x.value, i) * weight[norm->weight_of[i]] + bias[norm->weight_of[i]];
    run_check(run, moments, want, "moments");
    run_check(run, y, want_y, "y");
}

/* d bias is the sum of dy, d weight that of dy xhat; batch norm's sums are a group's d bias and d weight. */
static void check_norm(Run *run, const Norm *norm)
{
    const double *epsilon = &norm->epsilon;
    const long *size = norm->size;
    bool is_batch = !strcmp(norm->kind, "batch");
    Reals x = run_input(run, norm->elements, 11), dy = run_input(run, norm->elements, 12);
    Reals weight = run_input(run, norm->affine, 13), bias = run_input(run, norm->affine, 14);
    Reals moments = run_output(run, 2 * norm->groups), y = run_output(run, norm->elements), dx = run_output(run, norm->elements);
    Reals sums = run_output(run, 2 * norm->groups), affine = run_output(run, 2 * norm->affine);
    run_kernel(run, kernel_of(norm, run, "moments"), P(x.bytes, moments.bytes), size, NULL);
    run_kernel(run, kernel_of(norm, run, "normalize"), P(x.bytes, moments.bytes, weight.bytes, bias.bytes, y.bytes), size,
               epsilon);
    run_kernel(run, kernel_of(norm, run, "normalize_grad_sums"),
               is_batch ? P(dy.bytes, x.bytes, moments.bytes, sums.bytes)
                        : P(dy.bytes, x.bytes, moments.bytes, weight.bytes, sums.bytes), size, epsilon);
    run_kernel(run, kernel_of(norm, run, "normalize_grad"),
               P(dy.bytes, x.bytes, moments.bytes, sums.bytes, weight.bytes, dx.bytes), size, epsilon);
    run_kernel(run, kernel_of(norm, run, "normalize_grad_affine"), P(dy.bytes, x.bytes, moments.bytes, affine.bytes), size,
               epsilon);
    check_forward(run, norm, x, moments, y, weight.value, bias.value);
    double *want = run_numbers(run, 2 * norm->affine);
    memcpy(want, slopes(run, norm, x.value, weight.value, bias.value, dy.value, bias.value, norm->affine),
           sizeof *want * (size_t)norm->affine);
    memcpy(want + norm->affine, slopes(run, norm, x.value, weight.value, bias.value, dy.value, weight.value, norm->affine),
           sizeof *want * (size_t)norm->affine);
    run->tolerance = run->library->is_double ? 1e-8 : 1e-5;     /* of the differences */
    run_check(run, affine, want, "d affine");
    run_check(run, dx, slopes(run, norm, x.value, weight.value, bias.value, dy.value, x.value, norm->elements), "dx");
    run_kernel(run, kernel_of(norm, run, "normalize"), P(x.bytes, moments.bytes, NULL, NULL, y.bytes), size, epsilon);
    for (long i = 0; i < norm->affine; i++)
        weight.value[i] = 1, bias.value[i] = 0;
    run->tolerance = run->library->is_double ? 1e-12 : 1e-5;
    check_forward(run, norm, x, moments, y, weight.value, bias.value);
}

static void check_batch(Run *run, long rows, long pixels, long channels, long pieces)
{
    Norm *norm = arena_new(run->arena, Norm);
    *norm = (Norm){ .kind = "batch", .size = { rows, pixels, channels, pieces }, .elements = rows * pixels * channels,
                    .groups = pieces * channels, .affine = channels, .epsilon = 1e-3 };
    long each = (rows + pieces - 1) / pieces;
    for (long i = 0; i < norm->elements; i++) {
        norm->weight_of[i] = i % channels;
        norm->group_of[i] = i / (pixels * channels) / each * channels + i % channels;
    }
    check_norm(run, norm);
}

static void scenario_batch(Run *run)
{
    check_batch(run, 6, 9, 5, 1);
    check_batch(run, 7, 6, 3, 3);
    check_batch(run, 5, 1, 7, 2);
    check_batch(run, 2, 3, 260, 1);          /* wider than a block of columns */
}

static void check_rows(Run *run, const char *kind, long rows, long n)
{
    Norm *norm = arena_new(run->arena, Norm);
    *norm = (Norm){ .kind = kind, .size = { rows, n }, .elements = rows * n, .groups = rows, .affine = n, .epsilon = 1e-3,
                    .is_rms = !strcmp(kind, "rms") };
    for (long i = 0; i < norm->elements; i++)
        norm->weight_of[i] = i % n, norm->group_of[i] = i / n;
    check_norm(run, norm);
}

static void scenario_rows(Run *run)
{
    check_rows(run, "row", 13, 17);
    check_rows(run, "row", 5, 260);
    check_rows(run, "rms", 13, 17);
}

static void check_groups(Run *run, long rows, long pixels, long channels, long groups)
{
    Norm *norm = arena_new(run->arena, Norm);
    *norm = (Norm){ .kind = "group", .size = { rows, pixels, channels, groups }, .elements = rows * pixels * channels,
                    .groups = rows * groups, .affine = channels, .epsilon = 1e-3 };
    for (long i = 0; i < norm->elements; i++) {
        norm->weight_of[i] = i % channels;
        norm->group_of[i] = i / (pixels * channels) * groups + i % channels / (channels / groups);
    }
    check_norm(run, norm);
}

static void scenario_groups(Run *run)
{
    check_groups(run, 3, 10, 6, 2);
    check_groups(run, 2, 5, 6, 6);
    check_groups(run, 4, 7, 5, 1);
}

/* A mean of a hundred deviations: the variance must not drown in it. */
static void scenario_large_mean(Run *run)
{
    enum { ROWS = 4096, CHANNELS = 3 };
    Reals x = run_input(run, ROWS * CHANNELS, 15), moments = run_output(run, 2 * CHANNELS);
    for (long i = 0; i < x.count; i++)
        x.value[i] = (float)(x.value[i] + 58 * (double)(i % CHANNELS + 1));
    reals_write(run->library, &x);
    run_kernel(run, "batch_moments", P(x.bytes, moments.bytes), L(ROWS, 1, CHANNELS, 1), NULL);
    for (long c = 0; c < CHANNELS; c++) {
        double mean = 0, variance = 0, tolerance = run->library->is_double ? 1e-12 : 1e-6;
        for (long k = 0; k < ROWS; k++)
            mean += x.value[k * CHANNELS + c] / ROWS;
        for (long k = 0; k < ROWS; k++)
            variance += pow(x.value[k * CHANNELS + c] - mean, 2) / ROWS;
        ck_assert_double_eq_tol(moments.value[c] / mean, 1, tolerance);
        ck_assert_double_eq_tol(moments.value[CHANNELS + c] / variance, 1, tolerance);
    }
}

static void scenario_running(Run *run)
{
    enum { CHANNELS = 5, PIECES = 3 };
    Reals running = run_input(run, CHANNELS, 16), moments = run_input(run, 2 * PIECES * CHANNELS, 17);
    for (long is_variance = 0; is_variance < 2; is_variance++) {
        Reals updated = run_output(run, CHANNELS);
        double *want = run_numbers(run, CHANNELS);
        run_kernel(run, "running_update", P(running.bytes, moments.bytes, updated.bytes),
                   L(CHANNELS, PIECES, is_variance, 12, 7), R(0.25));
        for (long c = 0; c < CHANNELS; c++) {
            want[c] = running.value[c];
            for (long piece = 0; piece < PIECES; piece++) {
                double n = piece < PIECES - 1 ? 12 : 7, batch = moments.value[(is_variance * PIECES + piece) * CHANNELS + c];
                want[c] = 0.75 * want[c] + 0.25 * batch * (is_variance ? n / (n - 1) : 1);
            }
        }
        run_check(run, updated, want, "running");
    }
}

START_TEST(batch_norms_are_right) { run_everywhere(scenario_batch); } END_TEST
START_TEST(row_norms_are_right) { run_everywhere(scenario_rows); } END_TEST
START_TEST(group_norms_are_right) { run_everywhere(scenario_groups); } END_TEST
START_TEST(moments_stand_large_means) { run_everywhere(scenario_large_mean); } END_TEST
START_TEST(running_statistics_move_piece_by_piece) { run_everywhere(scenario_running); } END_TEST

void add_norm_kernels(Suite *suite)
{
    TCase *norms = kernels_case(suite, "norms");
    tcase_add_test(norms, batch_norms_are_right);
    tcase_add_test(norms, row_norms_are_right);
    tcase_add_test(norms, group_norms_are_right);
    tcase_add_test(norms, moments_stand_large_means);
    tcase_add_test(norms, running_statistics_move_piece_by_piece);
}
