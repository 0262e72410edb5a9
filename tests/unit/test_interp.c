/* test_interp.c -- the interpreter by hand-made values, where PyTorch's references say nothing. */
#include <math.h>

#include "gradients_bench.h"

static void check_values(Trial *trial, const Node *node, const double *want)
{
    Interp *interp = trial_interp(trial);
    interp_run(interp);
    const double *got = interp_value(interp, node);
    for (int64_t i = 0; i < shape_elements(node->shape); i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= 1e-14 * (1 + fabs(want[i])),
                      "element %lld is %.17g and not %.17g", (long long)i, got[i], want[i]);
}

#define WANT(trial, node, ...)                                                                    \
    do {                                                                                          \
        ck_assert_int_eq(shape_elements((node)->shape), sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)); \
        check_values(trial, node, (double[]){ __VA_ARGS__ });                                     \
    } while (0)

/* 0, 1, 2, ... */
static Node *counting(Trial *trial, Shape shape)
{
    double *values = arena_array(trial->arena, double, shape_elements(shape));
    for (int64_t i = 0; i < shape_elements(shape); i++)
        values[i] = (double)i;
    return trial_parameter_of(trial, shape, values);
}

START_TEST(moves)
{
    Trial *trial = trial_create(1);
    Node *x = counting(trial, SHAPE(2, 3));
    Attributes pad = { .pad = { .before = { 1, -1 }, .after = { 0, 1 }, .value = 9 } };
    Node *padded = add(trial, OP_pad, &pad, NODES(x));
    Node *turned = build_transpose(trial->graph, counting(trial, SHAPE(2, 1, 3)), (int[]){ 2, 0, 1 });
    Node *sliced = build_slice(trial->graph, x, 1, 0, 3, 2);
    Node *joined = add(trial, OP_concat, &(Attributes){ .concat = { 1 } }, NODES(x, sliced));
    WANT(trial, padded, 9, 9, 9, 1, 2, 9, 4, 5, 9);
    WANT(trial, turned, 0, 3, 1, 4, 2, 5);
    WANT(trial, sliced, 0, 2, 3, 5);
    WANT(trial, joined, 0, 1, 2, 0, 2, 3, 4, 5, 3, 5);
    trial_destroy(trial);
}
END_TEST

START_TEST(reductions)
{
    Trial *trial = trial_create(1);
    Node *x = counting(trial, SHAPE(2, 2, 2));
    Node *largest = build_reduce(trial->graph, x, REDUCE_MAX, 1u << 1);
    Node *mean = build_reduce(trial->graph, x, REDUCE_MEAN, 1u << 0 | 1u << 2);
    Node *sum = build_reduce(trial->graph, x, REDUCE_SUM, 7);
    WANT(trial, largest, 2, 3, 6, 7);
    WANT(trial, mean, 2.5, 4.5);
    WANT(trial, sum, 28);
    trial_destroy(trial);
}
END_TEST

static double key_of(void *context, const Expr *expr, int64_t row, int64_t element, double a, double b)
{
    (void)context;
    double key = 1000 * (double)expr->site + 100 * (double)row + (double)element;
    return expr->op == EXPR_beta ? key + a * b : key;
}

/* Draws are keyed by row and element; a scalar and a beta's operands arrive. */
START_TEST(draws_and_scalars)
{
    Trial *trial = trial_create(1);
    static const Scalar lambda = { "lambda", "mixup", SCALAR_DRAW, TYPE_FLOAT, 2 };
    ExprPool *pool = trial->graph->exprs;
    Node *x = counting(trial, SHAPE(2, 2, 2));
    const Expr *draw = expr_random(pool, EXPR_uniform, 3, 0, NULL, NULL);
    const Expr *beta = expr_random(pool, EXPR_beta, 0, 0, trial_x(trial), expr_scalar(pool, &lambda));
    Node *draws = node_map_shaped(trial->graph, draw, NULL, 0, SHAPE(2, 2, 2));
    Node *betas = node_map(trial->graph, beta, &x, 1);
    Interp *interp = trial_interp(trial);
    interp_set_random(interp, key_of, NULL);
    interp_run(interp);
    for (int i = 0; i < 8; i++) {
        ck_assert(interp_value(interp, draws)[i] == 3000 + 100 * (i / 4) + i % 4);
        ck_assert(interp_value(interp, betas)[i] == 100 * (i / 4) + i % 4 + i * 0.5);
    }
    trial_destroy(trial);
}
END_TEST

START_TEST(ranks_and_confusion)
{
    Trial *trial = trial_create(1);
    static double logits[] = { 1, 3, 2, /**/ 5, 5, 0, /**/ 0, 1, 2, /**/ 4, 2, 3 };
    static const double classes[] = { 2, 1, -100, 0 };
    Attributes at = { .loss = { .axis = 1, .ignore = -100 } };
    Node *x = trial_parameter_of(trial, SHAPE(4, 3), logits);
    Node *class = trial_input(trial, INPUT_TARGETS, SHAPE(4), DTYPE_INT32, classes);
    Node *rank = add(trial, OP_target_rank, &at, NODES(x, class)),
         *counts = add(trial, OP_confusion, &at, NODES(x, class));
    WANT(trial, rank, 1, 0, 3, 0);
    WANT(trial, counts, 1, 0, 0, /* predicted */ 2, 1, 0, /* labelled */ 1, 1, 1);
    trial_destroy(trial);
}
END_TEST

/* share 0.5 (scalar 2): own and partner, both the same, an ignored partner, an ignored row. */
START_TEST(mixed_targets)
{
    Trial *trial = trial_create(1);
    static const Scalar lambda = { "lambda", "mixup", SCALAR_DRAW, TYPE_FLOAT, 2 };
    static double logits[8];
    static const double own[] = { 0, 1, 0, -100 }, partner[] = { 1, 1, -100, 1 };
    Attributes at = { .loss = { 1, -100, expr_scalar(trial->graph->exprs, &lambda) } };
    Node *x = trial_parameter_of(trial, SHAPE(4, 2), logits);
    Node *loss = add(trial, OP_cross_entropy, &at,
                     NODES(x, trial_input(trial, INPUT_TARGETS, SHAPE(4), DTYPE_INT32, own),
                           trial_input(trial, INPUT_PARTNER_TARGETS, SHAPE(4), DTYPE_INT32, partner)));
    WANT(trial, loss, log(2), log(2), 0.5 * log(2), 0);
    trial_destroy(trial);
}
END_TEST

/* A query whose keys are all hidden gives 0. */
START_TEST(attention_without_keys)
{
    Trial *trial = trial_create(1);
    static const double visible[] = { 0, 1, 1 };
    Node *x = counting(trial, SHAPE(1, 1, 3, 1));
    Node *mask = trial_input(trial, INPUT_DENSE_TARGETS, SHAPE(1, 3), DTYPE_REAL, visible);
    Node *y = add(trial, OP_attention, &(Attributes){ .attention = { true, 0.0 } }, NODES(x, x, x, mask));
    WANT(trial, y, 0, 1, 1.5);
    trial_destroy(trial);
}
END_TEST

START_TEST(running_statistics)
{
    Trial *trial = trial_create(1);
    static double running[] = { 1 }, moments[] = { 2, 4, /**/ 3, 5 };
    Node *inputs[2] = { trial_parameter_of(trial, SHAPE(1), running),
                        trial_parameter_of(trial, SHAPE(2, 2), moments) };
    Attributes at = { .running = { .momentum = 0.5, .pieces = 2, .count = 3, .last_count = 1 } };
    Node *mean = add(trial, OP_running_update, &at, inputs, 2);
    at.running.which = 1;
    Node *variance = add(trial, OP_running_update, &at, inputs, 2);
    WANT(trial, mean, 2.75);                    /* 1, 1.5, 2.75 */
    WANT(trial, variance, 3.875);               /* 1, 2.75 (3 * 3/2), 3.875 (5, of a single value) */
    trial_destroy(trial);
}
END_TEST

START_TEST(outputs_by_kind_and_name)
{
    Trial *trial = trial_create(1);
    Node *x = counting(trial, SHAPE(2)), *y = build_scale(trial->graph, x, 3);
    graph_output(trial->graph, (Output){ OUTPUT_METRIC, x, NULL, "count" });
    graph_output(trial->graph, (Output){ OUTPUT_METRIC, y, NULL, "loss" });
    Interp *interp = trial_interp(trial);
    interp_run(interp);
    ck_assert(interp_output(interp, OUTPUT_METRIC, NULL, "loss")[1] == 3);
    ck_assert(interp_output(interp, OUTPUT_METRIC, NULL, NULL)[1] == 1);
    ck_assert_ptr_null(interp_output(interp, OUTPUT_LOSS, NULL, NULL));
    trial_destroy(trial);
}
END_TEST

Suite *interp_suite(void)
{
    Suite *suite = suite_create("interp");
    TCase *tcase = group(suite, "values");
    tcase_add_test(tcase, moves);
    tcase_add_test(tcase, reductions);
    tcase_add_test(tcase, draws_and_scalars);
    tcase_add_test(tcase, ranks_and_confusion);
    tcase_add_test(tcase, mixed_targets);
    tcase_add_test(tcase, attention_without_keys);
    tcase_add_test(tcase, running_statistics);
    tcase_add_test(tcase, outputs_by_kind_and_name);
    return suite;
}
