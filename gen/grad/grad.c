/* grad.c -- the walk: from the loss back, one rule an op. */
#include "grad/grad_inside.h"

#include <string.h>

#define OP(name, least, most, results, role, shape, grad, meaning) GradRule grad;
#define none none_declared_once_is_enough
#include "ir/ops.def"
#undef none

#define none NULL
static GradRule *const rules[OP_COUNT] = {
#define OP(name, least, most, results, role, shape, grad, meaning) [OP_##name] = grad,
#include "ir/ops.def"
};
#undef none

struct Grad {
    Graph *graph;
    Node **gradients;                   /* by id of the forward nodes; NULL: nothing flows there */
    bool *wanted;
    int count;                          /* of forward nodes */
};

Graph *grad_graph(Grad *grad)
{
    return grad->graph;
}

Node *grad_of(Grad *grad, const Node *node)
{
    return grad->gradients[node->id];
}

Node *grad_of_result(Grad *grad, const Node *node, int index)
{
    if (index == 0)
        return grad_of(grad, node);
    for (int i = node->id + 1; i < grad->count; i++) {
        const Node *result = grad->graph->nodes.items[i];
        if (result->op == OP_result && result->inputs[0] == node && result->at.result.index == index)
            return grad->gradients[i];
    }
    return NULL;
}

bool grad_wanted(Grad *grad, const Node *input)
{
    return grad->wanted[input->id];
}

void grad_give(Grad *grad, Node *input, Node *gradient)
{
    if (!grad_wanted(grad, input))
        return;
    gradient = build_sum_to(grad->graph, gradient, input->shape);
    Node **sum = &grad->gradients[input->id];
    *sum = *sum ? build_add(grad->graph, *sum, gradient) : gradient;
}

/* ---- the walk ---- */

static bool is_parameter_in(const Node *node, const ParameterArray *wanted)
{
    for (int i = 0; i < wanted->count; i++)
        if (node->at.parameter.is == wanted->items[i])
            return true;
    return false;
}

static void find_wanted(Grad *grad, const ParameterArray *wanted)
{
    for (int i = 0; i < grad->count; i++) {
        const Node *node = grad->graph->nodes.items[i];
        if (node->op == OP_parameter)
            grad->wanted[i] = is_parameter_in(node, wanted);
        for (int k = 0; k < node->input_count && rules[node->op]; k++)
            grad->wanted[i] |= grad->wanted[node->inputs[k]->id];
    }
}

static void apply_rule(Grad *grad, Node *node)
{
    Graph *graph = grad->graph;
    graph->name = text_format(graph->arena, "d %s", node->name ? node->name : op_info[node->op].name);
    graph->place = node->place;
    graph->method = node->method;
    rules[node->op](grad, node);
}

/* One output for a parameter, however many nodes read it. */
static void add_outputs(Grad *grad, const ParameterArray *wanted)
{
    Graph *graph = grad->graph;
    for (int k = 0; k < wanted->count; k++) {
        Parameter *parameter = wanted->items[k];
        Node *sum = NULL;
        graph->name = text_format(graph->arena, "d %s", parameter->name);
        for (int i = 0; i < grad->count; i++) {
            const Node *node = graph->nodes.items[i];
            if (node->op == OP_parameter && node->at.parameter.is == parameter && grad->gradients[i])
                sum = sum ? build_add(graph, sum, grad->gradients[i]) : grad->gradients[i];
        }
        if (sum)
            graph_output(graph, (Output){ OUTPUT_GRADIENT, sum, parameter, parameter->name });
    }
}

void grad_backward(Graph *graph, Node *loss, Node *seed, const ParameterArray *wanted, Arena *pass)
{
    Grad grad = { .graph = graph, .count = graph->nodes.count };
    const char *name = graph->name, *method = graph->method;
    Place place = graph->place;
    grad.gradients = arena_array(pass, Node *, grad.count);
    grad.wanted = arena_array(pass, bool, grad.count);
    find_wanted(&grad, wanted);
    grad.gradients[loss->id] = seed;
    for (int i = grad.count - 1; i >= 0; i--) {
        Node *node = graph->nodes.items[i];
        if (grad.gradients[i] && grad.wanted[i] && rules[node->op])
            apply_rule(&grad, node);
    }
    add_outputs(&grad, wanted);
    graph->name = name;
    graph->method = method;
    graph->place = place;
}
