/* test_graph.c -- graphs: shape rules, dtypes, builders, order and surgery. */
#include <signal.h>

#include "graph_bench.h"

/* ---- building what was read ---- */

/* Every node made again by its rule: with a given shape only where the rule alone can't know. */
START_TEST(rules_make_the_shapes_and_dtypes_of_the_text)
{
    static const bool given[OP_COUNT] = {
        [OP_input] = true, [OP_parameter] = true, [OP_constant] = true, [OP_map] = true, [OP_reshape] = true,
        [OP_gather_grad] = true, [OP_conv2d_grad_input] = true, [OP_conv2d_grad_weight] = true, [OP_max_pool2d_grad] = true,
        [OP_avg_pool2d_grad] = true, [OP_resize2d] = true, [OP_resize2d_grad] = true, [OP_blur2d_grad] = true,
    };
    Graph *graph = graph_of_every_op();
    int count = graph->nodes.count;
    for (int i = 0; i < count; i++) {
        const Node *node = graph->nodes.items[i];
        Node *again = given[node->op]
            ? node_add_shaped(graph, node->op, node->inputs, node->input_count, &node->at, node->shape, node->dtype)
            : node_add(graph, node->op, node->inputs, node->input_count, &node->at);
        ck_assert_msg(shape_equal(again->shape, node->shape), "%s makes %s, not %s", op_info[node->op].name,
                      shape_text(graph_arena, again->shape), shape_text(graph_arena, node->shape));
        ck_assert_msg(again->dtype == node->dtype, "%s makes dtype %d, not %d", op_info[node->op].name, again->dtype, node->dtype);
        ck_assert_int_eq(again->id, count + i);
    }
}
END_TEST

/* ---- shapes ---- */

START_TEST(shapes_are_values)
{
    ck_assert(shape_equal(SHAPE(I(2), I(3)), SHAPE(I(2), I(3))));
    ck_assert(!shape_equal(SHAPE(I(2), I(3)), SHAPE(I(3), I(2))));
    ck_assert(!shape_equal(SHAPE(I(2), I(1)), SHAPE(I(2))));
    ck_assert_int_eq(shape_elements(shape_of(0)), 1);
    ck_assert_int_eq(shape_elements(SHAPE(I(2), I(3), I(5))), 30);
    ck_assert_str_eq(shape_text(graph_arena, shape_of(0)), "[]");
    ck_assert_str_eq(shape_text(graph_arena, SHAPE(I(16), I(3))), "[16,3]");
}
END_TEST

START_TEST(shapes_broadcast_from_the_right)
{
    Shape common;
    ck_assert(shape_broadcast(SHAPE(I(4), I(1), I(3)), SHAPE(I(5), I(1)), &common));
    ck_assert(shape_equal(common, SHAPE(I(4), I(5), I(3))));
    ck_assert(shape_broadcast(shape_of(0), SHAPE(I(7)), &common));
    ck_assert(shape_equal(common, SHAPE(I(7))));
    ck_assert(!shape_broadcast(SHAPE(I(2), I(3)), SHAPE(I(2)), &common));
}
END_TEST

typedef struct PieceRow { int64_t rows; int pieces; int64_t groups; } PieceRow;

/* Pieces of ceil(rows / pieces) rows: what is left over makes none of its own. */
START_TEST(batch_groups_are_the_pieces_there_are)
{
    static const PieceRow table[] = { { 5, 1, 1 }, { 5, 4, 3 }, { 8, 4, 4 }, { 9, 4, 3 }, { 1, 4, 1 }, { 16, 5, 4 } };
    Graph *graph = graph_create(graph_arena, expr_pool(graph_arena));
    Attributes at = { .norm = { NORM_BATCH, 1e-5, table[_i].pieces, 0, 0, true } };
    Node *x = node_add_shaped(graph, OP_input, NULL, 0, NULL, SHAPE(table[_i].rows, I(3)), DTYPE_REAL);
    Node *moments = node_add(graph, OP_moments, &x, 1, &at);
    ck_assert(shape_equal(moments->shape, SHAPE(I(2), 3 * table[_i].groups)));
}
END_TEST

typedef struct PoolRow { int64_t extent, kernel, stride, padding; bool ceil_mode; int64_t result; } PoolRow;

/* PyTorch's sizes; with ceil_mode no window may begin in the padding behind. */
START_TEST(pools_have_the_sizes_of_pytorch)
{
    static const PoolRow table[] = {
        { 7, 3, 2, 0, false, 3 }, { 8, 3, 2, 0, false, 3 }, { 8, 3, 2, 0, true, 4 }, { 7, 2, 2, 1, true, 4 },
        { 5, 2, 2, 1, true, 3 }, { 6, 2, 2, 1, true, 4 }, { 1, 2, 2, 1, true, 1 }, { 3, 2, 3, 1, true, 2 }, { 2, 3, 2, 0, true, 1 },
    };
    PoolRow row = table[_i];
    Graph *graph = graph_create(graph_arena, expr_pool(graph_arena));
    Node *x = node_add_shaped(graph, OP_input, NULL, 0, NULL, SHAPE(I(1), I(1), row.extent, row.extent), DTYPE_REAL);
    Attributes at = { .pool = { { row.kernel, row.kernel }, { row.stride, row.stride }, { row.padding, row.padding }, { 1, 1 },
                                row.ceil_mode, false, false } };
    Node *y = node_add(graph, OP_max_pool2d, &x, 1, &at);
    ck_assert_int_eq(y->shape.dim[2], row.result);
    ck_assert_int_eq(y->shape.dim[3], row.result);
}
END_TEST

/* ---- nodes ---- */

static Graph *new_graph(void)
{
    return graph_create(graph_arena, expr_pool(graph_arena));
}

static Node *leaf(Graph *graph, Shape shape, DType dtype)
{
    return node_add_shaped(graph, OP_input, NULL, 0, NULL, shape, dtype);
}

START_TEST(new_nodes_carry_the_stamps)
{
    Graph *graph = new_graph();
    Source source = { "model.c", "", 0 };
    graph->name = "layer1.conv1";
    graph->method = "blurpool";
    graph->place = (Place){ &source, 3, 9 };
    Node *node = leaf(graph, SHAPE(I(2)), DTYPE_REAL);
    ck_assert_str_eq(node->name, "layer1.conv1");
    ck_assert_str_eq(node->method, "blurpool");
    ck_assert_ptr_eq(node->place.source, &source);
    ck_assert_int_eq(node->place.line, 3);
    ck_assert_ptr_eq(node_named(node, "other"), node);
    ck_assert_str_eq(node->name, "other");
}
END_TEST

START_TEST(integers_stay_integers)
{
    Graph *graph = new_graph();
    Node *ids = leaf(graph, SHAPE(I(2), I(6)), DTYPE_INT32), *x = leaf(graph, SHAPE(I(2), I(6)), DTYPE_REAL);
    ck_assert_int_eq(build_reshape(graph, ids, SHAPE(I(12)))->dtype, DTYPE_INT32);
    ck_assert_int_eq(build_transpose(graph, ids, (int[]){ 1, 0 })->dtype, DTYPE_INT32);
    ck_assert_int_eq(build_slice(graph, ids, 1, 0, 6, 2)->dtype, DTYPE_INT32);
    ck_assert_int_eq(build_add(graph, ids, ids)->dtype, DTYPE_INT32);
    ck_assert_int_eq(build_mul(graph, ids, x)->dtype, DTYPE_REAL);
    ck_assert_int_eq(build_scale(graph, ids, 0.5)->dtype, DTYPE_REAL);
    const Expr *less = expr_binary(graph->exprs, EXPR_lt, expr_input(graph->exprs, 0, TYPE_FLOAT), expr_number(graph->exprs, 0));
    ck_assert_int_eq(node_map(graph, less, &x, 1)->dtype, DTYPE_INT32);
    ck_assert_ptr_null(graph_verify(graph, graph_arena));
}
END_TEST

START_TEST(maps_take_the_common_shape_or_the_given_one)
{
    Graph *graph = new_graph();
    Node *row = leaf(graph, SHAPE(I(3)), DTYPE_REAL), *column = leaf(graph, SHAPE(I(2), I(1)), DTYPE_REAL);
    const Expr *half = expr_number(graph->exprs, 0.5);
    ck_assert(shape_equal(build_add(graph, row, column)->shape, SHAPE(I(2), I(3))));
    ck_assert_int_eq(node_map(graph, half, NULL, 0)->shape.rank, 0);
    ck_assert(shape_equal(node_map_shaped(graph, half, &row, 1, SHAPE(I(4), I(2), I(3)))->shape, SHAPE(I(4), I(2), I(3))));
    ck_assert_ptr_null(graph_verify(graph, graph_arena));
}
END_TEST

START_TEST(result_0_is_the_producer)
{
    Graph *graph = graph_of_every_op();
    Node *attention = graph->nodes.items[39], *gradient = graph->nodes.items[41];
    int count = graph->nodes.count;
    ck_assert_ptr_eq(node_result(graph, attention, 0), attention);
    ck_assert_int_eq(graph->nodes.count, count);
    ck_assert(shape_equal(node_result(graph, attention, 1)->shape, SHAPE(I(5), I(2), I(7))));
    ck_assert(shape_equal(node_result(graph, gradient, 1)->shape, gradient->inputs[2]->shape));
}
END_TEST

/* Phases must get the same nodes, whatever their extents. */
START_TEST(reshape_always_makes_a_node)
{
    Graph *graph = new_graph();
    Node *x = leaf(graph, SHAPE(I(2), I(3)), DTYPE_REAL);
    Node *same = build_reshape(graph, x, x->shape);
    ck_assert_ptr_ne(same, x);
    ck_assert_int_eq(same->op, OP_reshape);
}
END_TEST

typedef struct SumRow { Shape from, to; unsigned axes; int nodes; } SumRow;

START_TEST(sums_undo_broadcasting)
{
    static const SumRow table[] = {
        { { 2, { 2, 3 } }, { 2, { 2, 3 } }, 0, 0 },         { { 2, { 2, 3 } }, { 2, { 1, 3 } }, 1, 1 },
        { { 2, { 2, 3 } }, { 1, { 3 } }, 1, 2 },            { { 2, { 2, 3 } }, { 0 }, 3, 2 },
        { { 4, { 5, 2, 3, 4 } }, { 3, { 2, 1, 1 } }, 13, 2 }, { { 1, { 1 } }, { 0 }, 1, 2 },
    };
    SumRow row = table[_i];
    Graph *graph = new_graph();
    Node *x = leaf(graph, row.from, DTYPE_REAL), *sum = build_sum_to(graph, x, row.to);
    ck_assert(shape_equal(sum->shape, row.to));
    ck_assert_int_eq(graph->nodes.count, 1 + row.nodes);
    if (row.nodes)
        ck_assert_uint_eq(graph->nodes.items[1]->at.reduce.axes, row.axes);
    else
        ck_assert_ptr_eq(sum, x);
}
END_TEST

/* The largest phase sums a row axis of 8; in a phase of one row the same node is made, though it sums nothing. */
START_TEST(sums_of_a_small_phase_are_those_of_the_largest)
{
    SumTrace trace = { 0 };
    Graph *large = new_graph(), *small = new_graph();
    large->trace = small->trace = &trace;
    build_sum_to(large, leaf(large, SHAPE(I(8), I(3)), DTYPE_REAL), SHAPE(I(1), I(3)));
    trace.is_written = true;
    build_sum_to(small, leaf(small, SHAPE(I(1), I(3)), DTYPE_REAL), SHAPE(I(1), I(3)));
    ck_assert_int_eq(small->nodes.count, large->nodes.count);
    ck_assert_uint_eq(small->nodes.items[1]->at.reduce.axes, 1);
}
END_TEST

/* ---- surgery ---- */

START_TEST(replacing_leaves_the_new_node_its_inputs)
{
    Graph *graph = new_graph();
    Node *x = leaf(graph, SHAPE(I(3)), DTYPE_REAL), *y = build_scale(graph, x, 2), *z = build_add(graph, y, y);
    graph_output(graph, (Output){ OUTPUT_METRIC, y, NULL, "y" });
    Node *half = build_scale(graph, y, 0.5);
    graph_replace(graph, y, half);
    ck_assert_ptr_eq(half->inputs[0], y);
    ck_assert_ptr_eq(z->inputs[0], half);
    ck_assert_ptr_eq(z->inputs[1], half);
    ck_assert_ptr_eq(graph->outputs.items[0].node, half);
    ck_assert_ptr_nonnull(strstr(graph_verify(graph, graph_arena), "an input comes after it"));
    graph_sort(graph);
    ck_assert_ptr_null(graph_verify(graph, graph_arena));
    Node *order[] = { x, y, half, z };
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_eq(graph->nodes.items[i], order[i]);
}
END_TEST

START_TEST(sorting_what_is_sorted_changes_nothing)
{
    Graph *graph = graph_of_every_op();
    graph_sort(graph);
    check_same_text(graph_as_text(graph), graph_every_op);
}
END_TEST

START_TEST(uses_count_inputs_and_outputs)
{
    Graph *graph = new_graph();
    Node *x = leaf(graph, SHAPE(I(3)), DTYPE_REAL), *y = build_add(graph, x, x), *z = build_mul(graph, x, y);
    graph_output(graph, (Output){ OUTPUT_METRIC, y, NULL, "y" });
    int *uses = graph_uses(graph, graph_arena);
    ck_assert_int_eq(uses[x->id], 3);
    ck_assert_int_eq(uses[y->id], 2);
    ck_assert_int_eq(uses[z->id], 0);
}
END_TEST

/* ---- callers that are wrong: a bug of ours ---- */

START_TEST(nodes_that_break_their_rule_are_refused)
{
    Graph *graph = new_graph();
    Node *a = leaf(graph, SHAPE(I(2), I(3)), DTYPE_REAL), *pair[2] = { a, NULL };
    switch (_i) {
    case 0: build_matmul(graph, a, a, false, false); break;
    case 1: build_reshape(graph, a, SHAPE(I(7))); break;
    case 2: node_add_shaped(graph, OP_reduce, &a, 1, &(Attributes){ .reduce = { REDUCE_SUM, 1 } }, SHAPE(I(2), I(1)), DTYPE_REAL); break;
    case 3: node_add(graph, OP_matmul, &a, 1, NULL); break;
    case 4: node_add(graph, OP_matmul, pair, 2, NULL); break;
    case 5: node_add(graph, OP_input, NULL, 0, NULL); break;
    case 6: node_result(graph, a, 1); break;
    case 7: build_slice(graph, a, 1, 2, 2, 1); break;
    }
}
END_TEST

/* ---- the suite ---- */

static void add_building(Suite *suite)
{
    TCase *tcase = graph_group(suite, "shapes");
    tcase_add_test(tcase, rules_make_the_shapes_and_dtypes_of_the_text);
    tcase_add_test(tcase, shapes_are_values);
    tcase_add_test(tcase, shapes_broadcast_from_the_right);
    tcase_add_loop_test(tcase, batch_groups_are_the_pieces_there_are, 0, 6);
    tcase_add_loop_test(tcase, pools_have_the_sizes_of_pytorch, 0, 9);
    tcase = graph_group(suite, "nodes");
    tcase_add_test(tcase, new_nodes_carry_the_stamps);
    tcase_add_test(tcase, integers_stay_integers);
    tcase_add_test(tcase, maps_take_the_common_shape_or_the_given_one);
    tcase_add_test(tcase, result_0_is_the_producer);
    tcase_add_test(tcase, reshape_always_makes_a_node);
    tcase_add_loop_test(tcase, sums_undo_broadcasting, 0, 6);
    tcase_add_test(tcase, sums_of_a_small_phase_are_those_of_the_largest);
    tcase_add_loop_test_raise_signal(tcase, nodes_that_break_their_rule_are_refused, SIGABRT, 0, 8);
    tcase = graph_group(suite, "surgery");
    tcase_add_test(tcase, replacing_leaves_the_new_node_its_inputs);
    tcase_add_test(tcase, sorting_what_is_sorted_changes_nothing);
    tcase_add_test(tcase, uses_count_inputs_and_outputs);
}

Suite *ir_suite(void)
{
    Suite *suite = suite_create("ir");
    add_building(suite);
    add_graph_texts(suite);
    return suite;
}
