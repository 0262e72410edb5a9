/* verify.c -- what every graph must keep: run after each pass. */
#include "ir/expr_inside.h"
#include "ir/graph_text.h"
#include "ir/shape.h"

/* No tensor is larger, so that counts of elements and bytes never overflow. */
static const int64_t most_elements = (int64_t)1 << 48;

/* ---- what is wrong, in words ---- */

static bool is_node_of(const Graph *graph, const Node *node)
{
    return node && node->id >= 0 && node->id < graph->nodes.count && graph->nodes.items[node->id] == node;
}

/* Describes a node of which nothing is known to be right. */
static const char *describe(const Graph *graph, const Node *node, Arena *arena, const char *wrong)
{
    Buffer out = { .arena = arena };
    bool known = (unsigned)node->op < OP_COUNT;
    bool ranked = node->shape.rank >= 0 && node->shape.rank <= MAX_RANK;
    buffer_add(&out, "node %d, %s '%s'", node->id, known ? op_info[node->op].name : "?",
               node->name ? node->name : "");
    if (ranked)
        buffer_add(&out, " %s", shape_text(arena, node->shape));
    for (int i = 0; i < node->input_count && node->inputs; i++) {
        const Node *input = is_node_of(graph, node->inputs[i]) ? node->inputs[i] : NULL;
        buffer_add(&out, i ? " " : " of ");
        input ? buffer_add(&out, "%%%d %s", input->id, shape_text(arena, input->shape)) : buffer_add(&out, "?");
    }
    if (known && ranked && attribute_fields(node->op).count) {
        buffer_add(&out, ",");
        attributes_print(&out, node->op, &node->at, node->shape.rank);
    }
    buffer_add(&out, ": %s", wrong);
    return buffer_text(&out);
}

/* ---- one node ---- */

static const char *check_inputs(const Graph *graph, const Node *node)
{
    if ((unsigned)node->op >= OP_COUNT)
        return "there is no such op";
    const OpInfo *info = &op_info[node->op];
    if (node->input_count < info->least_inputs || node->input_count > info->most_inputs)
        return "it has too few or too many inputs";
    for (int i = 0; i < node->input_count; i++) {
        const Node *input = node->inputs[i];
        if (!is_node_of(graph, input))
            return "an input is not a node of the graph";
        if (input->id >= node->id)
            return "an input comes after it";
    }
    return NULL;
}

static const char *check_extents(Shape shape)
{
    int64_t elements = 1;
    if (shape.rank < 0 || shape.rank > MAX_RANK)
        return "its rank is not between 0 and 6";
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dim[i] < 1)
            return "an extent is less than 1";
        if (shape.dim[i] > most_elements / elements)
            return "it has too many elements";
        elements *= shape.dim[i];
    }
    return NULL;
}

/* A dtype may be narrower than its rule's, but integers stay integers. */
static const char *check_rule(const Node *node)
{
    ShapeQuery query = { node->op, node->inputs, node->input_count, &node->at, &node->shape, node->dtype };
    ShapeAnswer answer = { 0 };
    const char *wrong = shape_rules[node->op](&query, &answer);
    if (wrong)
        return wrong;
    if (!shape_equal(answer.shape, node->shape))
        return "its shape is not that of its rule";
    return dtype_is_whole(answer.dtype) == dtype_is_whole(node->dtype) ? NULL : "its dtype is not that of its rule";
}

static const char *check_stored(const Node *node)
{
    if ((unsigned)node->dtype > DTYPE_UINT8)
        return "there is no such dtype";
    if (node->layout == LAYOUT_IMAGES ? node->shape.rank != 4 : node->layout != LAYOUT_ROWS)
        return "its layout is not one of its rank";
    return NULL;
}

static const char *check_leaf(const Node *node)
{
    const Parameter *parameter = node->at.parameter.is;
    if (node->op == OP_input && (unsigned)node->at.input.kind > INPUT_GRADIENT_SEED)
        return "there is no such input";
    if (node->op != OP_parameter)
        return NULL;
    if (!parameter)
        return "it belongs to no parameter";
    return shape_equal(node->shape, parameter->shape) ? NULL : "its shape is not that of its parameter";
}

/* ---- expressions ---- */

/* What an expression may read. */
typedef struct Reach {
    int slots, axes;
    Node *const *inputs;                /* NULL: what the slots hold is real */
} Reach;

static const char *check_step(const Expr *expr, const Reach *reach)
{
    if (expr->op == EXPR_index && (expr->slot < 0 || expr->slot >= reach->axes))
        return "its expression reads a coordinate that is not there";
    if (expr->op != EXPR_input)
        return NULL;
    if (expr->slot < 0 || expr->slot >= reach->slots)
        return "its expression reads an input that is not there";
    bool whole = reach->inputs && dtype_is_whole(reach->inputs[expr->slot]->dtype);
    return whole == (expr->type != TYPE_FLOAT) ? NULL : "its expression reads integers as reals or reals as integers";
}

static const char *check_reads(const Expr *expr, const Reach *reach)
{
    const ExprOrder *order = expr_order(expr);
    const char *wrong = NULL;
    for (int i = 0; i < order->count && !wrong; i++)
        wrong = check_step(order->steps[i].expr, reach);
    return wrong;
}

static const char *check_map(const Node *node)
{
    if (!node->expr)
        return "it has no expression";
    if ((node->expr->type != TYPE_FLOAT) != dtype_is_whole(node->dtype))
        return "its dtype is not that of its expression";
    return check_reads(node->expr, &(Reach){ node->input_count, node->shape.rank, node->inputs });
}

/* The score of one head, query and key; the weight of one class. */
static const char *check_hook(const Node *node)
{
    static const int axes[OP_COUNT] = { [OP_attention] = 3, [OP_attention_grad] = 3 };
    bool loss = op_has_share(node->op);
    const char *wrong = NULL;
    if (!node->expr && !(loss && node->at.loss.share))
        return NULL;
    if (!loss && !axes[node->op])
        return "it has an expression, which its op does not read";
    if (node->expr)
        wrong = check_reads(node->expr, &(Reach){ 1, axes[node->op], NULL });
    if (!wrong && loss && node->at.loss.share)
        wrong = check_reads(node->at.loss.share, &(Reach){ 0 });
    return wrong;
}

const char *node_verify(const Graph *graph, const Node *node, Arena *arena)
{
    const char *wrong = check_inputs(graph, node);
    wrong = wrong ? wrong : check_extents(node->shape);
    wrong = wrong ? wrong : check_stored(node);
    wrong = wrong ? wrong : check_rule(node);
    wrong = wrong ? wrong : check_leaf(node);
    wrong = wrong ? wrong : node->op == OP_map ? check_map(node) : check_hook(node);
    return wrong ? describe(graph, node, arena, wrong) : NULL;
}

/* ---- outputs ---- */

static bool is_of_parameter(const Output *output)
{
    return output->kind == OUTPUT_GRADIENT || output->kind == OUTPUT_BUFFER;
}

static bool is_there_before(const Graph *graph, int index)
{
    const Output *output = &graph->outputs.items[index];
    for (int i = 0; i < index; i++)
        if (graph->outputs.items[i].kind == output->kind && graph->outputs.items[i].parameter == output->parameter)
            return true;
    return false;
}

static const char *check_output(const Graph *graph, int index)
{
    const Output *output = &graph->outputs.items[index];
    const Node *node = output->node;
    if ((unsigned)output->kind > OUTPUT_METRIC)
        return "there is no such output";
    if (output->kind == OUTPUT_LOSS && shape_elements(node->shape) != 1)
        return "a loss is one value";
    if (!is_of_parameter(output))
        return NULL;
    if (!output->parameter)
        return "as an output it belongs to no parameter";
    if (!shape_equal(node->shape, output->parameter->shape))
        return "as an output its shape is not that of its parameter";
    return is_there_before(graph, index) ? "its parameter has that output already" : NULL;
}

static const char *check_numbers(const Graph *graph, Arena *arena)
{
    for (int i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.items[i]->id != i)
            return describe(graph, graph->nodes.items[i], arena, text_format(arena, "its place is %d", i));
    return NULL;
}

static const char *check_outputs(const Graph *graph, Arena *arena)
{
    for (int i = 0; i < graph->outputs.count; i++) {
        const Node *node = graph->outputs.items[i].node;
        if (!is_node_of(graph, node))
            return text_format(arena, "output %d is not a node of the graph", i);
        const char *wrong = check_output(graph, i);
        if (wrong)
            return describe(graph, node, arena, wrong);
    }
    return NULL;
}

const char *graph_verify(const Graph *graph, Arena *arena)
{
    const char *wrong = check_numbers(graph, arena);
    for (int i = 0; i < graph->nodes.count && !wrong; i++)
        wrong = node_verify(graph, graph->nodes.items[i], arena);
    return wrong ? wrong : check_outputs(graph, arena);
}
