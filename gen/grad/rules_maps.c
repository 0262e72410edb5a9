/* rules_maps.c -- backward of maps and reductions. */
#include "grad/grad_inside.h"

const Expr *grad_input(Grad *grad, int slot)
{
    return expr_input(grad_graph(grad)->exprs, slot, TYPE_FLOAT);
}

const Expr *grad_times(Grad *grad, const Expr *a, const Expr *b)
{
    return expr_binary(grad_graph(grad)->exprs, EXPR_mul, a, b);
}

const Expr *grad_minus(Grad *grad, const Expr *a, const Expr *b)
{
    return expr_binary(grad_graph(grad)->exprs, EXPR_sub, a, b);
}

/* ---- maps ---- */

enum { MOST_INPUTS = 8 };

typedef struct Operands {               /* the inputs that an expression reads, renumbered */
    Node *nodes[MOST_INPUTS + 1];
    int count;
} Operands;

/* `expr` with its inputs renumbered from operands->count on; inputs that it does not read are left out. */
static const Expr *gather_operands(Grad *grad, const Node *node, const Expr *expr, Operands *operands)
{
    const Expr *inputs[MOST_INPUTS] = { NULL };
    for (int k = 0; k < node->input_count; k++) {
        if (!expr_uses_input(expr, k))
            continue;
        ScalarType type = node->inputs[k]->dtype == DTYPE_INT32 ? TYPE_INT : TYPE_FLOAT;
        inputs[k] = expr_input(grad_graph(grad)->exprs, operands->count, type);
        operands->nodes[operands->count++] = node->inputs[k];
    }
    return expr_substitute(grad_graph(grad)->exprs, expr, inputs, node->input_count, NULL, 0);
}

/* dy * derivative, where the derivative reads some of the node's inputs. */
static Node *times_derivative(Grad *grad, const Node *node, Node *dy, const Expr *derivative)
{
    Graph *graph = grad_graph(grad);
    Operands operands = { .nodes = { dy }, .count = 1 };
    const Expr *factor = gather_operands(grad, node, derivative, &operands);
    if (operands.count <= MOST_INPUTS)
        return node_map_shaped(graph, grad_times(grad, grad_input(grad, 0), factor), operands.nodes, operands.count, node->shape);
    operands.count = 0;
    factor = gather_operands(grad, node, derivative, &operands);
    return build_mul(graph, dy, node_map_shaped(graph, factor, operands.nodes, operands.count, node->shape));
}

void grad_map(Grad *grad, Node *node)
{
    Node *dy = grad_of(grad, node);
    for (int k = 0; k < node->input_count; k++) {
        if (!grad_wanted(grad, node->inputs[k]))
            continue;
        const Expr *derivative = expr_derivative(grad_graph(grad)->exprs, node->expr, k);
        if (expr_is_number(derivative, 0))
            continue;
        grad_give(grad, node->inputs[k], expr_is_number(derivative, 1) ? dy : times_derivative(grad, node, dy, derivative));
    }
}

/* ---- reductions ---- */

/* The largest elements share the gradient equally: dx = dy [x == y] / how many there are. */
static Node *grad_of_max(Grad *grad, Node *node, Node *dy)
{
    Graph *graph = grad_graph(grad);
    ExprPool *pool = graph->exprs;
    const Expr *equal = expr_binary(pool, EXPR_eq, grad_input(grad, 0), grad_input(grad, 1));
    const Expr *mask = expr_select(pool, equal, expr_number(pool, 1), expr_number(pool, 0));
    Node *x = node->inputs[0], *hits = node_map(graph, mask, (Node *[]){ x, node }, 2);
    Node *count = build_reduce(graph, hits, REDUCE_SUM, node->at.reduce.axes);
    const Expr *share = expr_binary(pool, EXPR_div, grad_times(grad, grad_input(grad, 0), grad_input(grad, 1)), grad_input(grad, 2));
    return node_map(graph, share, (Node *[]){ dy, hits, count }, 3);
}

/* dy / count. The count is a node: it may differ between phases, which share their expressions. */
static Node *mean_share(Grad *grad, Node *dy, Shape shape, double count)
{
    Graph *graph = grad_graph(grad);
    Node *divisor = node_add_shaped(graph, OP_constant, NULL, 0, &(Attributes){ .constant = count }, shape_of(0), DTYPE_REAL);
    const Expr *share = expr_binary(graph->exprs, EXPR_div, grad_input(grad, 0), grad_input(grad, 1));
    return node_map_shaped(graph, share, (Node *[]){ dy, divisor }, 2, shape);
}

void grad_reduce(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *x = node->inputs[0], *dy = grad_of(grad, node);
    double count = (double)shape_elements(x->shape) / (double)shape_elements(node->shape);
    switch (node->at.reduce.kind) {
    case REDUCE_SUM:
        grad_give(grad, x, node_map_shaped(graph, grad_input(grad, 0), &dy, 1, x->shape));
        break;
    case REDUCE_MEAN:
        grad_give(grad, x, mean_share(grad, dy, x->shape, count));
        break;
    case REDUCE_MAX:
        grad_give(grad, x, grad_of_max(grad, node, dy));
        break;
    }
}
