/* rules_norms.c -- backward of normalisation: y = (x - mean) / dev * weight + bias.
 *
 * With g = dy * weight and xhat = (x - mean) / dev, through moments of x itself (Ioffe, Szegedy 2015):
 *     dx = (g - mean(g) - xhat mean(g xhat)) / dev
 * where means are over the group; the sums are one node, so that dx and, for batch norm, the affine gradients share them. */
#include "grad/grad_inside.h"

typedef struct NormNodes {
    Node *node, *x, *moments, *weight, *bias, *dy;
    Node *sums;                         /* made when first needed */
} NormNodes;

static Node *sums_of(Grad *grad, NormNodes *n)
{
    Graph *graph = grad_graph(grad);
    if (!n->sums)
        n->sums = n->weight ? GRAD_NODE(graph, OP_normalize_grad_sums, &n->node->at, n->dy, n->x, n->moments, n->weight)
                            : GRAD_NODE(graph, OP_normalize_grad_sums, &n->node->at, n->dy, n->x, n->moments);
    return n->sums;
}

/* Statistics that are no moments of x (running ones) let nothing through: then the sums are zero. */
static Node *sums_or_zero(Grad *grad, NormNodes *n)
{
    if (n->moments->op == OP_moments)
        return sums_of(grad, n);
    return node_add_shaped(grad_graph(grad), OP_constant, NULL, 0, &(Attributes){ .constant = 0 }, n->moments->shape, DTYPE_REAL);
}

static Node *input_gradient(Grad *grad, NormNodes *n)
{
    Graph *graph = grad_graph(grad);
    Node *sums = sums_or_zero(grad, n);
    return n->weight ? GRAD_NODE(graph, OP_normalize_grad, &n->node->at, n->dy, n->x, n->moments, sums, n->weight)
                     : GRAD_NODE(graph, OP_normalize_grad, &n->node->at, n->dy, n->x, n->moments, sums);
}

/* (2, elements): row 0 sums dy, row 1 dy * xhat. Batch norm has them in its sums, a piece at a time. */
static Node *affine_gradients(Grad *grad, NormNodes *n)
{
    Graph *graph = grad_graph(grad);
    const Norm *norm = &n->node->at.norm;
    if (norm->kind != NORM_BATCH)
        return GRAD_NODE(graph, OP_normalize_grad_affine, &n->node->at, n->dy, n->x, n->moments);
    Node *sums = sums_of(grad, n);
    if (!norm->is_cut && norm->pieces == 1)
        return sums;
    int64_t channels = n->x->shape.dim[1];
    Node *pieces = build_reshape(graph, sums, shape_of(3, (int64_t)2, sums->shape.dim[1] / channels, channels));
    return build_reshape(graph, build_reduce(graph, pieces, REDUCE_SUM, 1u << 1), shape_of(2, (int64_t)2, channels));
}

static void give_row(Grad *grad, Node *parameter, Node *rows, int row)
{
    Graph *graph = grad_graph(grad);
    if (parameter && grad_wanted(grad, parameter))
        grad_give(grad, parameter, build_reshape(graph, build_slice(graph, rows, 0, row, row + 1, 1), parameter->shape));
}

void grad_normalize(Grad *grad, Node *node)
{
    NormNodes n = { .node = node, .x = node->inputs[0], .moments = node->inputs[1], .dy = grad_of(grad, node) };
    n.weight = node->input_count > 2 ? node->inputs[2] : NULL;
    n.bias = node->input_count > 3 ? node->inputs[3] : NULL;
    if (grad_wanted(grad, n.x))
        grad_give(grad, n.x, input_gradient(grad, &n));
    bool affine = (n.weight && grad_wanted(grad, n.weight)) || (n.bias && grad_wanted(grad, n.bias));
    if (!affine)
        return;
    Node *rows = affine_gradients(grad, &n);
    give_row(grad, n.weight, rows, 1);
    give_row(grad, n.bias, rows, 0);
}
