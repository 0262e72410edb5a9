/* verify.c -- what every graph must keep: run after each pass. */
#include "ir/shape.h"

typedef struct Check {
    Arena *arena;
    const Graph *graph;
} Check;

static const char *describe(const Check *check, const Node *node, const char *wrong)
{
    Buffer out = { .arena = check->arena };
    buffer_add(&out, "node %d, %s '%s' %s of", node->id, op_info[node->op].name, node->name ? node->name : "",
               shape_text(check->arena, node->shape));
    for (int i = 0; i < node->input_count; i++)
        buffer_add(&out, " %s", shape_text(check->arena, node->inputs[i]->shape));
    buffer_add(&out, ": %s", wrong);
    return buffer_text(&out);
}

static const char *check_inputs(const Check *check, const Node *node)
{
    const OpInfo *info = &op_info[node->op];
    if (node->input_count < info->least_inputs || node->input_count > info->most_inputs)
        return "it has too few or too many inputs";
    for (int i = 0; i < node->input_count; i++) {
        const Node *input = node->inputs[i];
        if (!input || input->id < 0 || input->id >= check->graph->nodes.count || check->graph->nodes.items[input->id] != input)
            return "an input is no node of the graph";
        if (input->id >= node->id)
            return "an input comes after it";
    }
    return NULL;
}

static const char *check_shape(const Node *node)
{
    ShapeQuery query = { node->op, node->inputs, node->input_count, &node->at, &node->shape };
    ShapeAnswer answer;
    for (int i = 0; i < node->shape.rank; i++)
        if (node->shape.dim[i] < 1)
            return "an extent is less than 1";
    const char *wrong = shape_rules[node->op](&query, &answer);
    if (!wrong && !shape_equal(answer.shape, node->shape))
        wrong = "its shape is not that of its rule";
    return wrong;
}

/* Slots and axes that an expression reads must be there. */
static const char *check_expr(const Node *node)
{
    if (node->op == OP_map && !node->expr)
        return "it has no expression";
    if (!node->expr || node->op != OP_map)
        return NULL;
    for (int slot = node->input_count; slot < 64; slot++)
        if (expr_uses_input(node->expr, slot))
            return "its expression reads an input that is not there";
    bool whole = node->dtype == DTYPE_INT32;
    return whole == (node->expr->type == TYPE_FLOAT) ? "its dtype is not that of its expression" : NULL;
}

static const char *check_node(const Check *check, const Node *node)
{
    const char *wrong = check_inputs(check, node);
    wrong = wrong ? wrong : check_shape(node);
    wrong = wrong ? wrong : check_expr(node);
    if (!wrong && node->op == OP_parameter && !node->at.parameter.is)
        wrong = "it belongs to no parameter";
    return wrong ? describe(check, node, wrong) : NULL;
}

static const char *check_output(const Check *check, const Output *output)
{
    const Node *node = output->node;
    if (!node || node->id >= check->graph->nodes.count || check->graph->nodes.items[node->id] != node)
        return "an output is no node of the graph";
    bool of_parameter = output->kind == OUTPUT_GRADIENT || output->kind == OUTPUT_BUFFER;
    if (of_parameter && !output->parameter)
        return describe(check, node, "as an output it belongs to no parameter");
    if (of_parameter && !shape_equal(node->shape, output->parameter->shape))
        return describe(check, node, "as an output it has not the shape of its parameter");
    if (output->kind == OUTPUT_LOSS && shape_elements(node->shape) != 1)
        return describe(check, node, "a loss is one value");
    return NULL;
}

const char *graph_verify(const Graph *graph, Arena *arena)
{
    Check check = { arena, graph };
    for (int i = 0; i < graph->nodes.count; i++) {
        if (graph->nodes.items[i]->id != i)
            return describe(&check, graph->nodes.items[i], "its number is not its place");
        const char *wrong = check_node(&check, graph->nodes.items[i]);
        if (wrong)
            return wrong;
    }
    for (int i = 0; i < graph->outputs.count; i++) {
        const char *wrong = check_output(&check, &graph->outputs.items[i]);
        if (wrong)
            return wrong;
    }
    return NULL;
}
