/* build.c -- making nodes, and the small builders that layers, gradients and rewrites share. */
#include <string.h>

#include "ir/graph_text.h"
#include "ir/shape.h"

Graph *graph_create(Arena *arena, ExprPool *exprs)
{
    Graph *graph = arena_new(arena, Graph);
    graph->arena = arena;
    graph->exprs = exprs;
    return graph;
}

/* ---- nodes ---- */

static void check_inputs(Op op, Node *const *inputs, int count)
{
    const OpInfo *info = &op_info[op];
    if (count < info->least_inputs || count > info->most_inputs)
        bug("%s takes %d to %d inputs, not %d", info->name, info->least_inputs, info->most_inputs, count);
    for (int i = 0; i < count; i++)
        if (!inputs[i])
            bug("input %d of %s is missing", i, info->name);
}

static _Noreturn void refuse(const ShapeQuery *query, const char *wrong)
{
    Arena *arena = arena_create();
    Buffer out = { .arena = arena };
    for (int i = 0; i < query->count; i++)
        buffer_add(&out, " %s", shape_text(arena, query->inputs[i]->shape));
    if (query->given)
        buffer_add(&out, " as %s", shape_text(arena, *query->given));
    attributes_print(&out, query->op, query->at, query->count ? query->inputs[0]->shape.rank : 0);
    bug("%s of%s: %s", op_info[query->op].name, buffer_text(&out), wrong);
}

static ShapeAnswer ask(const ShapeQuery *query)
{
    ShapeAnswer answer = { 0 };
    const char *wrong = shape_rules[query->op](query, &answer);
    if (!wrong && query->given && !shape_equal(answer.shape, *query->given))
        wrong = "the shape asked for is not that of its rule";
    if (wrong)
        refuse(query, wrong);
    return answer;
}

static Node *make(Graph *graph, Op op, Node *const *inputs, int count, const Attributes *at, Shape shape,
                  DType dtype)
{
    Node *node = arena_new(graph->arena, Node);
    *node = (Node){
        .op = op, .id = graph->nodes.count, .dtype = dtype, .shape = shape, .input_count = count,
        .inputs = count ? arena_copy(graph->arena, inputs, sizeof *inputs * (size_t)count) : NULL,
        .name = graph->name, .place = graph->place, .method = graph->method,
    };
    if (at)
        node->at = *at;
    array_push(graph->arena, &graph->nodes, node);
    return node;
}

static const Attributes no_attributes;

Node *node_add(Graph *graph, Op op, Node *const *inputs, int count, const Attributes *at)
{
    check_inputs(op, inputs, count);
    ShapeAnswer answer = ask(&(ShapeQuery){ op, inputs, count, at ? at : &no_attributes, NULL, DTYPE_REAL });
    return make(graph, op, inputs, count, at, answer.shape, answer.dtype);
}

Node *node_add_shaped(Graph *graph, Op op, Node *const *inputs, int count, const Attributes *at, Shape shape,
                      DType dtype)
{
    check_inputs(op, inputs, count);
    (void)ask(&(ShapeQuery){ op, inputs, count, at ? at : &no_attributes, &shape, dtype });
    return make(graph, op, inputs, count, at, shape, dtype);
}

Node *node_result(Graph *graph, Node *producer, int index)
{
    if (index == 0)
        return producer;
    return node_add(graph, OP_result, &producer, 1, &(Attributes){ .result = { index } });
}

Node *node_map_shaped(Graph *graph, const Expr *expr, Node *const *inputs, int count, Shape shape)
{
    Node *node = node_add_shaped(graph, OP_map, inputs, count, NULL, shape,
                                 expr->type == TYPE_FLOAT ? DTYPE_REAL : DTYPE_INT32);
    node->expr = expr;
    return node;
}

Node *node_map(Graph *graph, const Expr *expr, Node *const *inputs, int count)
{
    check_inputs(OP_map, inputs, count);
    ShapeAnswer answer = ask(&(ShapeQuery){ OP_map, inputs, count, &no_attributes, NULL, DTYPE_REAL });
    return node_map_shaped(graph, expr, inputs, count, answer.shape);
}

Node *node_named(Node *node, const char *name)
{
    node->name = name;
    return node;
}

/* ---- graphs ---- */

void graph_output(Graph *graph, Output output)
{
    array_push(graph->arena, &graph->outputs, output);
}

void graph_replace(Graph *graph, Node *old, Node *new)
{
    for (int i = 0; i < graph->nodes.count; i++) {
        Node *node = graph->nodes.items[i];
        for (int k = 0; k < node->input_count && node != new; k++)
            if (node->inputs[k] == old)
                node->inputs[k] = new;
    }
    for (int i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.items[i].node == old)
            graph->outputs.items[i].node = new;
}

static void place_after_inputs(Node *node, NodeArray *sorted, Arena *arena, bool *placed)
{
    if (placed[node->id])
        return;
    placed[node->id] = true;
    for (int k = 0; k < node->input_count; k++)
        place_after_inputs(node->inputs[k], sorted, arena, placed);
    array_push(arena, sorted, node);
}

/* Depth first in the present order: a node moves only when it must come before one that uses it. */
void graph_sort(Graph *graph)
{
    NodeArray sorted = { 0 };
    for (int i = 0; i < graph->nodes.count; i++)
        graph->nodes.items[i]->id = i;
    bool *placed = arena_array(graph->arena, bool, graph->nodes.count + 1);
    for (int i = 0; i < graph->nodes.count; i++)
        place_after_inputs(graph->nodes.items[i], &sorted, graph->arena, placed);
    for (int i = 0; i < sorted.count; i++)
        sorted.items[i]->id = i;
    graph->nodes = sorted;
}

int *graph_uses(const Graph *graph, Arena *arena)
{
    int *uses = arena_array(arena, int, graph->nodes.count + 1);
    for (int i = 0; i < graph->nodes.count; i++)
        for (int k = 0; k < graph->nodes.items[i]->input_count; k++)
            uses[graph->nodes.items[i]->inputs[k]->id]++;
    for (int i = 0; i < graph->outputs.count; i++)
        uses[graph->outputs.items[i].node->id]++;
    return uses;
}

/* ---- small builders ---- */

static const Expr *operand(Graph *graph, int slot, const Node *node)
{
    return expr_input(graph->exprs, slot, dtype_is_whole(node->dtype) ? TYPE_INT : TYPE_FLOAT);
}

static Node *combine(Graph *graph, ExprOp op, Node *a, Node *b)
{
    const Expr *expr = expr_binary(graph->exprs, op, operand(graph, 0, a), operand(graph, 1, b));
    return node_map(graph, expr, (Node *[]){ a, b }, 2);
}

Node *build_add(Graph *graph, Node *a, Node *b)
{
    return combine(graph, EXPR_add, a, b);
}

Node *build_mul(Graph *graph, Node *a, Node *b)
{
    return combine(graph, EXPR_mul, a, b);
}

Node *build_scale(Graph *graph, Node *a, double factor)
{
    const Expr *expr = expr_binary(graph->exprs, EXPR_mul, operand(graph, 0, a), expr_number(graph->exprs, factor));
    return node_map(graph, expr, &a, 1);
}

Node *build_reshape(Graph *graph, Node *x, Shape shape)
{
    return node_add_shaped(graph, OP_reshape, &x, 1, NULL, shape, x->dtype);
}

Node *build_transpose(Graph *graph, Node *x, const int *order)
{
    Attributes at = { 0 };
    memcpy(at.transpose.order, order, sizeof *order * (size_t)x->shape.rank);
    return node_add(graph, OP_transpose, &x, 1, &at);
}

Node *build_slice(Graph *graph, Node *x, int axis, int64_t begin, int64_t end, int64_t stride)
{
    return node_add(graph, OP_slice, &x, 1, &(Attributes){ .slice = { axis, begin, end, stride } });
}

Node *build_reduce(Graph *graph, Node *x, ReduceKind kind, unsigned axes)
{
    return node_add(graph, OP_reduce, &x, 1, &(Attributes){ .reduce = { kind, axes } });
}

Node *build_matmul(Graph *graph, Node *a, Node *b, bool transpose_a, bool transpose_b)
{
    return node_add(graph, OP_matmul, (Node *[]){ a, b }, 2, &(Attributes){ .matmul = { transpose_a, transpose_b } });
}

static unsigned broadcast_axes(Shape from, Shape to)
{
    unsigned axes = 0;
    int extra = from.rank - to.rank;
    for (int i = 0; i < from.rank; i++) {
        bool summed = i < extra || (to.dim[i - extra] == 1 && from.dim[i] != 1);
        axes |= (unsigned)summed << i;
    }
    return axes;
}

/* All phases of a topology get the same nodes: the first decides. */
static unsigned traced_axes(Graph *graph, unsigned axes)
{
    SumTrace *trace = graph->trace;
    if (!trace)
        return axes;
    if (trace->is_written) {
        if (graph->traced >= trace->axes.count)
            bug("the backward pass of a phase has more sums than that of the largest");
        return trace->axes.items[graph->traced++];
    }
    array_push(graph->arena, &trace->axes, axes);
    return axes;
}

Node *build_sum_to(Graph *graph, Node *x, Shape shape)
{
    unsigned axes = traced_axes(graph, broadcast_axes(x->shape, shape));
    int extra = x->shape.rank - shape.rank;
    if (axes)
        x = build_reduce(graph, x, REDUCE_SUM, axes);
    return extra ? build_reshape(graph, x, shape) : x;
}
