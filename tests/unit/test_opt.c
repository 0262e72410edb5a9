/* test_opt.c -- simplification and pruning: what each rule does, that values stay, and that graphs which differ
 * only in sizes are simplified alike. */
#include <math.h>

#include "gradients_bench.h"
#include "opt/opt.h"

static Trial *trial_new(void)
{
    return trial_create(17);
}

/* An input that varies with the batch: a plain tensor of images' kind. */
static Node *batch_input(Trial *trial, Shape shape)
{
    return trial_input(trial, INPUT_IMAGES, shape, DTYPE_REAL, trial_numbers(trial, shape_elements(shape)));
}

static Node *mapped(Trial *trial, const Expr *expr, Node *x)
{
    return node_map(trial->graph, expr, &x, 1);
}

static Node *sine_of(Trial *trial, Node *x)
{
    return mapped(trial, trial_unary(trial, EXPR_sin, trial_x(trial)), x);
}

static Node *product_of(Trial *trial, Node *a, Node *b)
{
    return build_mul(trial->graph, a, b);
}

static void output(Trial *trial, Node *node)
{
    graph_output(trial->graph, (Output){ OUTPUT_METRIC, node, NULL, "y" });
}

static Node *output_node(const Trial *trial, int index)
{
    return trial->graph->outputs.items[index].node;
}

/* Simplifies and prunes; the values of all outputs must stay. Returns the changes of both. */
static int optimize(Trial *trial)
{
    Graph *graph = trial->graph;
    Interp *before = trial_interp(trial);
    interp_run(before);
    double *values[64];
    ck_assert_int_le(graph->outputs.count, 64);
    for (int i = 0; i < graph->outputs.count; i++)
        values[i] = arena_copy(trial->arena, interp_value(before, output_node(trial, i)),
                               sizeof(double) * (size_t)shape_elements(output_node(trial, i)->shape));
    int changes = opt_simplify(graph);
    changes += opt_prune(graph);
    const char *wrong = graph_verify(graph, trial->arena);
    ck_assert_msg(!wrong, "%s", wrong);
    Interp *after = trial_interp(trial);
    interp_run(after);
    for (int i = 0; i < graph->outputs.count; i++)
        for (int64_t k = 0; k < shape_elements(output_node(trial, i)->shape); k++)
            ck_assert_double_eq_tol(interp_value(after, output_node(trial, i))[k], values[i][k],
                                    1e-12 * (1 + fabs(values[i][k])));
    ck_assert_int_eq(opt_simplify(graph), 0);
    ck_assert_int_eq(opt_prune(graph), 0);
    return changes;
}

static void check_ops(const Trial *trial, const Op *ops, size_t count)
{
    const NodeArray *nodes = &trial->graph->nodes;
    Buffer text = { .arena = trial->arena };
    for (int i = 0; i < nodes->count; i++)
        buffer_add(&text, " %s", op_info[nodes->items[i]->op].name);
    bool same = nodes->count == (int)count;
    for (size_t i = 0; same && i < count; i++)
        same = nodes->items[i]->op == ops[i];
    ck_assert_msg(same, "left are:%s", buffer_text(&text));
}

#define CHECK_OPS(trial, ...) check_ops(trial, (Op[]){ __VA_ARGS__ }, sizeof((Op[]){ __VA_ARGS__ }) / sizeof(Op))

/* ---- maps ---- */

START_TEST(identity_map_goes)
{
    Trial *trial = trial_new();
    Node *x = batch_input(trial, SHAPE(3, 4));
    Node *sine = sine_of(trial, mapped(trial, trial_x(trial), x));
    output(trial, mapped(trial, trial_x(trial), sine));
    ck_assert_int_gt(optimize(trial), 0);
    CHECK_OPS(trial, OP_input, OP_map);
    ck_assert_ptr_eq(output_node(trial, 0), sine);
    trial_destroy(trial);
}
END_TEST

START_TEST(broadcasting_map_stays)
{
    Trial *trial = trial_new();
    Node *x = batch_input(trial, SHAPE(1, 4)), *sum = build_reduce(trial->graph, x, REDUCE_SUM, 1);
    output(trial, node_map_shaped(trial->graph, trial_x(trial), &sum, 1, x->shape));    /* one row by accident */
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_reduce, OP_map);
    trial_destroy(trial);
}
END_TEST

/* An output that is the input itself would never be delivered. */
START_TEST(output_stays_a_computed_node)
{
    Trial *trial = trial_new();
    output(trial, mapped(trial, trial_x(trial), batch_input(trial, SHAPE(3, 4))));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_map);
    trial_destroy(trial);
}
END_TEST

START_TEST(scales_join)
{
    Trial *trial = trial_new();
    const Expr *half = times(trial, trial_constant(trial, 0.5), trial_x(trial));
    const Expr *triple = times(trial, trial_x(trial), trial_constant(trial, 3));
    Node *x = batch_input(trial, SHAPE(3, 4));
    Node *scaled = mapped(trial, triple, mapped(trial, half, x));
    output(trial, mapped(trial, trial_unary(trial, EXPR_neg, trial_x(trial)), scaled));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_map);
    ck_assert_ptr_eq(output_node(trial, 0)->inputs[0], x);
    ck_assert_int_le(expr_size(output_node(trial, 0)->expr), 4);
    trial_destroy(trial);
}
END_TEST

/* What only scales and broadcasts need not be made: its readers read its input. */
START_TEST(broadcast_is_read_where_it_is)
{
    Trial *trial = trial_new();
    Node *x = batch_input(trial, SHAPE(2, 3, 4)), *mean = build_reduce(trial->graph, x, REDUCE_MEAN, 4);
    const Expr *quarter = times(trial, trial_x(trial), trial_constant(trial, 0.25));
    Node *wide = node_map_shaped(trial->graph, quarter, &mean, 1, x->shape);
    output(trial, product_of(trial, x, wide));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_reduce, OP_map);
    trial_destroy(trial);
}
END_TEST

START_TEST(unread_and_double_inputs_go)
{
    Trial *trial = trial_new();
    Node *x = batch_input(trial, SHAPE(3, 4)), *y = trial_parameter(trial, SHAPE(4));
    Node *unread = mapped(trial, trial_unary(trial, EXPR_exp, trial_x(trial)), x);
    ExprPool *pool = trial->graph->exprs;
    const Expr *two = expr_input(pool, 2, TYPE_FLOAT), *three = expr_input(pool, 3, TYPE_FLOAT);
    const Expr *twice = plus(trial, trial_y(trial), three);
    const Expr *expr = trial_binary(trial, EXPR_sub, twice, times(trial, two, two));
    output(trial, node_map(trial->graph, expr, (Node *[]){ unread, x, y, x }, 4));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_parameter, OP_map);
    ck_assert_int_eq(output_node(trial, 0)->input_count, 2);
    trial_destroy(trial);
}
END_TEST

START_TEST(constants_fold)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    Attributes three = { .constant = 3 };
    Node *constant = node_add_shaped(graph, OP_constant, NULL, 0, &three, SHAPE(3, 1), DTYPE_REAL);
    Node *nine = mapped(trial, times(trial, trial_x(trial), trial_x(trial)), constant);
    Node *x = batch_input(trial, SHAPE(3, 4));
    output(trial, build_add(graph, x, mapped(trial, plus(trial, trial_x(trial), trial_x(trial)), nine)));
    output(trial, build_reduce(graph, nine, REDUCE_SUM, 1));
    optimize(trial);
    CHECK_OPS(trial, OP_constant, OP_input, OP_constant, OP_map, OP_reduce);
    ck_assert_double_eq(output_node(trial, 1)->inputs[0]->at.constant, 9);
    ck_assert_double_eq(output_node(trial, 0)->inputs[1]->at.constant, 18);
    trial_destroy(trial);
}
END_TEST

/* ---- moves ---- */

START_TEST(transposes_join)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    Node *sine = sine_of(trial, batch_input(trial, SHAPE(2, 3, 4)));
    Node *turned = build_transpose(graph, sine, (int[]){ 2, 0, 1 });
    output(trial, build_transpose(graph, turned, (int[]){ 1, 2, 0 }));      /* back again */
    output(trial, build_transpose(graph, turned, (int[]){ 2, 1, 0 }));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_map, OP_transpose);
    ck_assert_ptr_eq(output_node(trial, 0), sine);
    trial_destroy(trial);
}
END_TEST

START_TEST(reshapes_join)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    Node *sine = sine_of(trial, batch_input(trial, SHAPE(2, 3, 4)));
    Node *flat = build_reshape(graph, build_reshape(graph, sine, SHAPE(6, 4)), SHAPE(24));
    output(trial, build_reshape(graph, build_reshape(graph, flat, SHAPE(4, 6)), SHAPE(24)));
    output(trial, build_reshape(graph, build_reshape(graph, sine, SHAPE(2, 12)), SHAPE(2, 3, 4)));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_map, OP_reshape, OP_reshape);     /* equal shapes may be an accident */
    trial_destroy(trial);
}
END_TEST

/* What is reduced already; and parameters, whose sizes are the same in all phases. One row is an accident. */
START_TEST(sums_of_one_element_go)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    Node *x = sine_of(trial, batch_input(trial, SHAPE(1, 3))), *sum = build_reduce(graph, x, REDUCE_SUM, 3);
    output(trial, build_reduce(graph, sum, REDUCE_MEAN, 2));
    output(trial, sine_of(trial, build_reduce(graph, trial_parameter(trial, SHAPE(2, 1)), REDUCE_SUM, 2)));
    output(trial, build_reduce(graph, x, REDUCE_SUM, 1));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_map, OP_reduce, OP_parameter, OP_map, OP_reduce);
    trial_destroy(trial);
}
END_TEST

START_TEST(whole_slices_stay)
{
    Trial *trial = trial_new();
    Node *x = batch_input(trial, SHAPE(3, 4));
    Attributes nothing = { .pad = { .value = 1 } };
    output(trial, add(trial, OP_pad, &nothing, NODES(build_slice(trial->graph, x, 1, 0, 4, 1))));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_slice, OP_pad);
    trial_destroy(trial);
}
END_TEST

/* ---- nodes that compute the same ---- */

START_TEST(twins_merge)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    Node *x = batch_input(trial, SHAPE(3, 4)), *w = trial_parameter(trial, SHAPE(4, 2));
    Node *a = build_matmul(graph, sine_of(trial, x), w, false, false);
    Node *b = build_matmul(graph, sine_of(trial, x), w, false, false);
    Node *c = build_matmul(graph, build_transpose(graph, x, (int[]){ 1, 0 }), w, true, false);
    Node *mean = build_reduce(graph, b, REDUCE_MEAN, 2);
    output(trial, build_add(graph, build_reduce(graph, a, REDUCE_SUM, 2), mean));
    output(trial, build_reduce(graph, c, REDUCE_SUM, 2));
    output(trial, build_reduce(graph, a, REDUCE_SUM, 2));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_parameter, OP_map, OP_matmul, OP_transpose, OP_matmul, OP_reduce, OP_reduce,
              OP_map, OP_reduce);
    trial_destroy(trial);
}
END_TEST

START_TEST(results_merge)
{
    Trial *trial = trial_new();
    Node *q = batch_input(trial, SHAPE(1, 2, 3, 4));
    Attributes at = { .attention = { true, 0.5 } };
    Node *y = add(trial, OP_attention, &at, NODES(q, q, q));
    Node *first = node_result(trial->graph, y, 1), *second = node_result(trial->graph, y, 1);
    output(trial, product_of(trial, first, second));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_attention, OP_result, OP_map);
    trial_destroy(trial);
}
END_TEST

/* Draws of one site are one draw; of two sites, two. */
START_TEST(draws_merge_by_site)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    const Expr *one = expr_random(graph->exprs, EXPR_uniform, 11, 0, NULL, NULL);
    const Expr *two = expr_random(graph->exprs, EXPR_uniform, 12, 0, NULL, NULL);
    Node *x = batch_input(trial, SHAPE(3, 4));
    const Expr *by_one = times(trial, trial_x(trial), one), *by_two = times(trial, trial_x(trial), two);
    Node *a = mapped(trial, by_one, x), *b = mapped(trial, by_one, x), *c = mapped(trial, by_two, x);
    output(trial, build_add(graph, build_add(graph, a, b), c));
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_map, OP_map, OP_map, OP_map);
    trial_destroy(trial);
}
END_TEST

/* Two running statistics with the same new value are two writes. */
START_TEST(buffers_are_left_alone)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    Node *x = batch_input(trial, SHAPE(3, 4)), *sums[3];
    Node *first = trial_parameter(trial, SHAPE(1, 4)), *second = trial_parameter(trial, SHAPE(1, 4));
    for (int i = 0; i < 3; i++)
        sums[i] = build_reduce(graph, x, REDUCE_SUM, 1);
    graph_output(graph, (Output){ OUTPUT_BUFFER, sums[0], first->at.parameter.is, "a" });
    graph_output(graph, (Output){ OUTPUT_BUFFER, sums[1], second->at.parameter.is, "b" });
    output(trial, sums[2]);
    optimize(trial);
    CHECK_OPS(trial, OP_input, OP_reduce, OP_reduce, OP_reduce);
    trial_destroy(trial);
}
END_TEST

/* ---- pruning ---- */

START_TEST(prune_keeps_order)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    Node *dead = trial_parameter(trial, SHAPE(2)), *x = batch_input(trial, SHAPE(2));
    Node *w = trial_parameter(trial, SHAPE(2));
    build_add(graph, x, dead);
    Node *y = build_mul(graph, x, w);
    build_scale(graph, y, 2);
    output(trial, y);
    ck_assert_int_eq(opt_prune(graph), 3);
    CHECK_OPS(trial, OP_input, OP_parameter, OP_map);
    for (int i = 0; i < graph->nodes.count; i++)
        ck_assert_int_eq(graph->nodes.items[i]->id, i);
    ck_assert_ptr_eq(graph->nodes.items[1], w);
    trial_destroy(trial);
}
END_TEST

/* ---- gradients, and graphs of several sizes ---- */

static Node *convolution(Trial *trial, Node *x, int64_t channels, int64_t stride)
{
    Attributes at = { .conv = { { stride, stride }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 } };
    return add(trial, OP_conv2d, &at, NODES(x, trial_parameter(trial, SHAPE(channels, x->shape.dim[1], 3, 3))));
}

static Node *normalized(Trial *trial, Node *x)
{
    Attributes at = { .norm = { .kind = NORM_BATCH, .epsilon = 0.5, .pieces = 1 } };
    int64_t channels = x->shape.dim[1];
    Node *weight = trial_parameter(trial, SHAPE(channels)), *bias = trial_parameter(trial, SHAPE(channels));
    return add(trial, OP_normalize, &at, NODES(x, add(trial, OP_moments, &at, NODES(x)), weight, bias));
}

static Node *relu(Trial *trial, Node *x)
{
    return mapped(trial, trial_binary(trial, EXPR_max, trial_x(trial), trial_constant(trial, 0)), x);
}

/* Squeeze and excite: a gate of each channel, from its mean. */
static Node *gated(Trial *trial, Node *x)
{
    Node *mean = build_reduce(trial->graph, x, REDUCE_MEAN, 12);
    Node *gate = sine_of(trial, convolution(trial, mean, x->shape.dim[1], 1));
    return product_of(trial, x, gate);
}

/* A small residual net with its backward pass, for images of this size. */
static Trial *residual_net(int64_t rows, int64_t size)
{
    Trial *trial = trial_new();
    Graph *graph = trial->graph;
    Node *x = trial_input(trial, INPUT_DENSE_TARGETS, SHAPE(rows, 1, size, size), DTYPE_REAL,
                          trial_numbers(trial, rows * size * size));
    x = relu(trial, normalized(trial, convolution(trial, x, 2, 1)));
    for (int i = 0; i < 2; i++) {
        Node *y = relu(trial, normalized(trial, convolution(trial, x, 2, 1)));
        y = normalized(trial, convolution(trial, y, 2, 1));
        x = relu(trial, build_add(graph, x, gated(trial, y)));
    }
    Node *mean = build_reshape(graph, build_reduce(graph, x, REDUCE_MEAN, 12), SHAPE(rows, 2));
    Node *scores = build_matmul(graph, mean, trial_parameter(trial, SHAPE(3, 2)), false, true);
    Attributes classes = { .softmax = { 1 } };
    Node *losses = build_reduce(graph, add(trial, OP_log_softmax, &classes, NODES(scores)), REDUCE_SUM, 2);
    Node *loss = build_reshape(graph, build_reduce(graph, losses, REDUCE_MEAN, 1), shape_of(0));
    trial_differentiate(trial, loss, NULL);
    return trial;
}

START_TEST(gradients_stay_right)
{
    Trial *trial = residual_net(2, 3);
    ck_assert_int_gt(optimize(trial), 0);
    trial_destroy(trial);
}
END_TEST

static void check_same_nodes(const Trial *a, const Trial *b)
{
    ck_assert_int_eq(a->graph->nodes.count, b->graph->nodes.count);
    for (int i = 0; i < a->graph->nodes.count; i++) {
        const Node *x = a->graph->nodes.items[i], *y = b->graph->nodes.items[i];
        ck_assert_msg(x->op == y->op && x->input_count == y->input_count, "node %d: %s with %d inputs, %s with %d",
                      i, op_info[x->op].name, x->input_count, op_info[y->op].name, y->input_count);
        for (int k = 0; k < x->input_count; k++)
            ck_assert_int_eq(x->inputs[k]->id, y->inputs[k]->id);
    }
}

static const struct { int64_t rows, size; } sizes[] = { { 1, 4 }, { 1, 2 }, { 2, 2 }, { 3, 5 }, { 2, 6 } };

START_TEST(all_sizes_keep_the_same_nodes)
{
    Trial *usual = residual_net(4, 4), *other = residual_net(sizes[_i].rows, sizes[_i].size);
    check_same_nodes(usual, other);
    optimize(usual);
    optimize(other);
    check_same_nodes(usual, other);
    trial_destroy(usual);
    trial_destroy(other);
}
END_TEST

Suite *opt_suite(void)
{
    Suite *suite = suite_create("opt");
    TCase *tcase = group(suite, "maps");
    tcase_add_test(tcase, identity_map_goes);
    tcase_add_test(tcase, broadcasting_map_stays);
    tcase_add_test(tcase, output_stays_a_computed_node);
    tcase_add_test(tcase, scales_join);
    tcase_add_test(tcase, broadcast_is_read_where_it_is);
    tcase_add_test(tcase, unread_and_double_inputs_go);
    tcase_add_test(tcase, constants_fold);
    tcase = group(suite, "moves");
    tcase_add_test(tcase, transposes_join);
    tcase_add_test(tcase, reshapes_join);
    tcase_add_test(tcase, sums_of_one_element_go);
    tcase_add_test(tcase, whole_slices_stay);
    tcase = group(suite, "twins");
    tcase_add_test(tcase, twins_merge);
    tcase_add_test(tcase, results_merge);
    tcase_add_test(tcase, draws_merge_by_site);
    tcase_add_test(tcase, buffers_are_left_alone);
    tcase = group(suite, "prune");
    tcase_add_test(tcase, prune_keeps_order);
    tcase = group(suite, "nets");
    tcase_add_test(tcase, gradients_stay_right);
    tcase_add_loop_test(tcase, all_sizes_keep_the_same_nodes, 0, sizeof sizes / sizeof *sizes);
    return suite;
}
