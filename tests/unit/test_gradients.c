/* test_gradients.c -- every rule of gen/grad against finite differences, on small odd shapes: here maps, sums,
 * moves, and the walk itself. */
#include "gradients_bench.h"

/* ---- maps ---- */

static Node *map_of(Trial *trial, const Expr *expr, Node **inputs, size_t count)
{
    return node_map(trial->graph, expr, inputs, (int)count);
}

static const Shape map_shapes[][2] = {
    { { 2, { 3, 5 } }, { 2, { 3, 5 } } },    { { 2, { 3, 5 } }, { 1, { 5 } } },
    { { 3, { 2, 1, 3 } }, { 2, { 4, 1 } } }, { { 0, { 0 } }, { 2, { 2, 3 } } },
    { { 2, { 2, 3 } }, { 1, { 1 } } },       { { 4, { 2, 3, 1, 1 } }, { 4, { 2, 3, 2, 5 } } },
};

static void check_map(int shapes, const Expr *(*formula)(Trial *trial, const Expr *x, const Expr *y))
{
    Trial *trial = trial_create(7 + (uint64_t)shapes);
    Shape a = map_shapes[shapes][0], b = map_shapes[shapes][1];
    Node *x = trial_parameter_of(trial, a, trial_distinct(trial, shape_elements(a)));
    Node *y = trial_parameter_of(trial, b, trial_distinct(trial, shape_elements(b)));
    check_output(trial, map_of(trial, formula(trial, trial_x(trial), trial_y(trial)), NODES(x, y)));
}

/* x / (2 + y^2) + sin x exp y */
static const Expr *mixture(Trial *trial, const Expr *x, const Expr *y)
{
    const Expr *below = plus(trial, trial_constant(trial, 2), times(trial, y, y));
    const Expr *waves = times(trial, trial_unary(trial, EXPR_sin, x), trial_unary(trial, EXPR_exp, y));
    return plus(trial, trial_binary(trial, EXPR_div, x, below), waves);
}

/* x < 0 ? tanh(x) y : cos(x) - y, a branch on one of the inputs */
static const Expr *branches(Trial *trial, const Expr *x, const Expr *y)
{
    const Expr *first = times(trial, trial_unary(trial, EXPR_tanh, x), y);
    const Expr *second = trial_binary(trial, EXPR_sub, trial_unary(trial, EXPR_cos, x), y);
    return expr_select(trial->graph->exprs, trial_binary(trial, EXPR_lt, x, trial_constant(trial, 0)), first,
                       second);
}

/* (1 + y^2)^x + sqrt(2 + x) erf(y) + log1p(y^2) + expm1(x) - log(3 + x) */
static const Expr *functions(Trial *trial, const Expr *x, const Expr *y)
{
    const Expr *square = times(trial, y, y);
    const Expr *power = trial_binary(trial, EXPR_pow, plus(trial, trial_constant(trial, 1), square), x);
    const Expr *root = trial_unary(trial, EXPR_sqrt, plus(trial, trial_constant(trial, 2), x));
    const Expr *sum = plus(trial, power, times(trial, root, trial_unary(trial, EXPR_erf, y)));
    sum = plus(trial, sum, trial_unary(trial, EXPR_log1p, square));
    sum = plus(trial, sum, trial_unary(trial, EXPR_expm1, x));
    return trial_binary(trial, EXPR_sub, sum,
                        trial_unary(trial, EXPR_log, plus(trial, trial_constant(trial, 3), x)));
}

/* max(x, 0) + min(y, 0.2 x) |y|, kinks away from the values */
static const Expr *kinks(Trial *trial, const Expr *x, const Expr *y)
{
    const Expr *up = trial_binary(trial, EXPR_max, x, trial_constant(trial, 0));
    const Expr *down = trial_binary(trial, EXPR_min, y, trial_constant(trial, 0));
    return plus(trial, up, times(trial, down, trial_unary(trial, EXPR_abs, y)));
}

/* x * index 1, plus y * a draw: coordinates and draws are constants */
static const Expr *places(Trial *trial, const Expr *x, const Expr *y)
{
    ExprPool *pool = trial->graph->exprs;
    const Expr *place = expr_convert(pool, expr_index(pool, 1), TYPE_FLOAT);
    return plus(trial, times(trial, x, place),
                times(trial, y, expr_random(pool, EXPR_uniform, 5, 0, NULL, NULL)));
}

START_TEST(map_add_and_mul)
{
    check_map(_i, plus);
    check_map(_i, times);
}
END_TEST

START_TEST(map_formulas)
{
    check_map(_i, mixture);
    check_map(_i, functions);
}
END_TEST

START_TEST(map_branches)
{
    check_map(_i, branches);
    check_map(_i, kinks);
}
END_TEST

START_TEST(map_of_coordinates_and_draws)
{
    check_map(0, places);
    check_map(1, places);
    check_map(5, places);
}
END_TEST

START_TEST(map_of_one_tensor_twice)
{
    Trial *trial = trial_create(3);
    Node *x = trial_parameter(trial, SHAPE(3, 3));
    const Expr *product = times(trial, trial_x(trial), trial_y(trial));
    Node *square = map_of(trial, product, NODES(x, x));
    Node *turned = build_transpose(trial->graph, x, (int[]){ 1, 0 });
    check_output(trial, map_of(trial, product, NODES(square, turned)));
}
END_TEST

START_TEST(map_that_broadcasts_to_a_given_shape)
{
    Trial *trial = trial_create(4);
    Node *x = trial_parameter(trial, SHAPE(3, 1));
    const Expr *square = times(trial, trial_x(trial), trial_x(trial));
    check_output(trial, node_map_shaped(trial->graph, square, &x, 1, SHAPE(2, 3, 4)));
}
END_TEST

/* ---- reduce ---- */

START_TEST(reduce_sum_and_mean)
{
    static const unsigned axes[] = { 1, 2, 4, 5, 6, 7 };
    for (int kind = REDUCE_SUM; kind <= REDUCE_MEAN; kind++) {
        Trial *trial = trial_create(11);
        Node *x = trial_parameter(trial, SHAPE(3, 2, 5));
        check_output(trial, build_reduce(trial->graph, x, (ReduceKind)kind, axes[_i]));
    }
}
END_TEST

START_TEST(reduce_max)
{
    static const unsigned axes[] = { 1, 2, 4, 5, 6, 7 };
    Trial *trial = trial_create(12);
    Node *x = trial_parameter_of(trial, SHAPE(3, 2, 5), trial_distinct(trial, 30));
    check_output(trial, build_reduce(trial->graph, x, REDUCE_MAX, axes[_i]));
}
END_TEST

/* ---- moves ---- */

START_TEST(reshape_and_transpose)
{
    Trial *trial = trial_create(13);
    Node *x = trial_parameter(trial, SHAPE(2, 3, 4));
    Node *turned = build_transpose(trial->graph, x, (int[]){ 2, 0, 1 });
    Node *flat = build_reshape(trial->graph, turned, SHAPE(8, 3));
    check_output(trial, build_transpose(trial->graph, flat, (int[]){ 1, 0 }));
}
END_TEST

START_TEST(slice)
{
    static const struct { int axis; int64_t begin, end, stride; } slices[] = {
        { 0, 0, 2, 1 }, { 1, 1, 6, 1 }, { 1, 0, 7, 3 }, { 1, 2, 7, 2 }, { 2, 1, 2, 1 }, { 1, 6, 7, 5 },
    };
    Trial *trial = trial_create(14);
    Node *x = trial_parameter(trial, SHAPE(2, 7, 3));
    check_output(trial, build_slice(trial->graph, x, slices[_i].axis, slices[_i].begin, slices[_i].end,
                                    slices[_i].stride));
}
END_TEST

START_TEST(pad)
{
    static const struct { int64_t before[3], after[3]; } pads[] = {
        { { 0, 1, 2 }, { 1, 0, 0 } }, { { 0, -1, 0 }, { 0, -2, 0 } }, { { 2, -1, 1 }, { -1, 2, 0 } },
    };
    Trial *trial = trial_create(15);
    Node *x = trial_parameter(trial, SHAPE(2, 5, 3));
    Attributes at = { .pad = { .value = 0.75 } };
    memcpy(at.pad.before, pads[_i].before, sizeof pads[_i].before);
    memcpy(at.pad.after, pads[_i].after, sizeof pads[_i].after);
    check_output(trial, add(trial, OP_pad, &at, NODES(x)));
}
END_TEST

START_TEST(concat)
{
    static const int64_t sizes[3][3] = { { 1, 3, 2 }, { 2, 2, 2 }, { 4, 1, 1 } };
    for (int axis = 0; axis < 3; axis++) {
        Trial *trial = trial_create(16);
        Node *parts[3];
        for (int i = 0; i < 3; i++) {
            Shape shape = SHAPE(2, 3, 2);
            shape.dim[axis] = sizes[axis][i];
            parts[i] = trial_parameter(trial, shape);
        }
        check_output(trial, add(trial, OP_concat, &(Attributes){ .concat = { axis } },
                                NODES(parts[0], parts[1], parts[2], parts[0])));
    }
}
END_TEST

START_TEST(gather)
{
    Trial *trial = trial_create(17);
    Node *table = trial_parameter(trial, SHAPE(5, 3));
    Node *ids = trial_input(trial, INPUT_TOKENS, SHAPE(2, 4), DTYPE_INT32, trial_integers(trial, 8, 0, 4));
    check_output(trial, add(trial, OP_gather, &(Attributes){ .gather = { -1 } }, NODES(table, ids)));
}
END_TEST

/* The padding row is read but gets no gradient. */
START_TEST(gather_with_padding_row)
{
    static const double values[] = { 1, 0, 1, 2 };
    Trial *trial = trial_create(17);
    Node *table = trial_parameter(trial, SHAPE(3, 2));
    Node *ids = trial_input(trial, INPUT_TOKENS, SHAPE(4), DTYPE_INT32, values);
    trial_differentiate(trial, add(trial, OP_gather, &(Attributes){ .gather = { 1 } }, NODES(table, ids)),
                        NULL);
    Interp *interp = trial_interp(trial);
    interp_run(interp);
    const double *gradient = interp_output(interp, OUTPUT_GRADIENT, trial->parameters.items[0], NULL);
    ck_assert(gradient[0] != 0 && gradient[1] != 0 && gradient[4] != 0 && gradient[5] != 0);
    ck_assert(gradient[2] == 0 && gradient[3] == 0);
    trial_destroy(trial);
}
END_TEST

/* ---- the walk ---- */

static int gradients_of(const Trial *trial)
{
    int count = 0;
    for (int i = 0; i < trial->graph->outputs.count; i++)
        count += trial->graph->outputs.items[i].kind == OUTPUT_GRADIENT;
    return count;
}

/* A weight used twice gets the sum, as one output. */
START_TEST(tied_weights)
{
    Trial *trial = trial_create(35);
    Node *table = trial_parameter(trial, SHAPE(5, 3));
    Node *ids = trial_input(trial, INPUT_TOKENS, SHAPE(2, 4), DTYPE_INT32, trial_integers(trial, 8, 0, 4));
    Node *x = add(trial, OP_gather, &(Attributes){ .gather = { -1 } }, NODES(table, ids));
    trial_differentiate(trial, build_matmul(trial->graph, x, table, false, true), NULL);
    ck_assert_int_eq(gradients_of(trial), 1);
    check_gradients(trial);
    trial_destroy(trial);
}
END_TEST

/* Two nodes of one parameter are one weight too. */
START_TEST(one_parameter_in_two_nodes)
{
    Trial *trial = trial_create(36);
    Node *first = trial_parameter(trial, SHAPE(3, 3));
    Node *second = node_add_shaped(trial->graph, OP_parameter, NULL, 0, &first->at, first->shape, DTYPE_REAL);
    trial_differentiate(trial, build_matmul(trial->graph, first, second, false, false), NULL);
    ck_assert_int_eq(gradients_of(trial), 1);
    check_gradients(trial);
    trial_destroy(trial);
}
END_TEST

/* Frozen layers: nothing behind the last wanted parameter is differentiated. */
START_TEST(unwanted_gradients_are_not_made)
{
    Trial *trial = trial_create(37);
    Node *x = trial_parameter(trial, SHAPE(1, 2, 4, 4)), *w = trial_parameter(trial, SHAPE(2, 2, 3, 3));
    Node *scale = trial_parameter(trial, SHAPE(2, 1, 1));
    trial->parameters.items[0]->is_buffer = trial->parameters.items[1]->is_buffer = true;
    Conv conv = { .stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1 };
    Node *y = add(trial, OP_conv2d, &(Attributes){ .conv = conv }, NODES(x, w));
    trial_differentiate(trial, build_mul(trial->graph, y, scale), NULL);
    for (int i = 0; i < trial->graph->nodes.count; i++)
        ck_assert(trial->graph->nodes.items[i]->op != OP_conv2d_grad_input
                  && trial->graph->nodes.items[i]->op != OP_conv2d_grad_weight);
    ck_assert_int_eq(gradients_of(trial), 1);
    check_gradients(trial);
    trial_destroy(trial);
}
END_TEST

/* Of a parameter that the loss doesn't depend on there is no output. */
START_TEST(parameters_without_effect_have_no_gradient)
{
    Trial *trial = trial_create(38);
    Node *x = trial_parameter(trial, SHAPE(3)), *unused = trial_parameter(trial, SHAPE(4));
    node_map(trial->graph, times(trial, trial_x(trial), trial_x(trial)), &unused, 1);
    trial_differentiate(trial, node_map(trial->graph, trial_unary(trial, EXPR_sin, trial_x(trial)), &x, 1),
                        NULL);
    ck_assert_int_eq(gradients_of(trial), 1);
    ck_assert_ptr_null(graph_verify(trial->graph, trial->arena));
    trial_destroy(trial);
}
END_TEST

/* ---- suite ---- */

static void add_element_tests(Suite *suite)
{
    TCase *tcase = group(suite, "maps");
    int shapes = sizeof map_shapes / sizeof *map_shapes;
    tcase_add_loop_test(tcase, map_add_and_mul, 0, shapes);
    tcase_add_loop_test(tcase, map_formulas, 0, shapes);
    tcase_add_loop_test(tcase, map_branches, 0, shapes);
    tcase_add_test(tcase, map_of_coordinates_and_draws);
    tcase_add_test(tcase, map_of_one_tensor_twice);
    tcase_add_test(tcase, map_that_broadcasts_to_a_given_shape);
    tcase = group(suite, "reduce");
    tcase_add_loop_test(tcase, reduce_sum_and_mean, 0, 6);
    tcase_add_loop_test(tcase, reduce_max, 0, 6);
    tcase = group(suite, "moves");
    tcase_add_test(tcase, reshape_and_transpose);
    tcase_add_loop_test(tcase, slice, 0, 6);
    tcase_add_loop_test(tcase, pad, 0, 3);
    tcase_add_test(tcase, concat);
    tcase_add_test(tcase, gather);
    tcase_add_test(tcase, gather_with_padding_row);
}

Suite *gradients_suite(void)
{
    Suite *suite = suite_create("gradients");
    add_element_tests(suite);
    add_window_gradients(suite);
    add_row_gradients(suite);
    TCase *tcase = group(suite, "walk");
    tcase_add_test(tcase, tied_weights);
    tcase_add_test(tcase, one_parameter_in_two_nodes);
    tcase_add_test(tcase, unwanted_gradients_are_not_made);
    tcase_add_test(tcase, parameters_without_effect_have_no_gradient);
    return suite;
}
