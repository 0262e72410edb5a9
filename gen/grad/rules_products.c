/* rules_products.c -- backward of matrix products, convolutions, pooling, resizing and blurring. */
#include "grad/grad_inside.h"

/* (..., rows, columns) -> (everything before the columns, columns) */
static Node *as_matrix(Graph *graph, Node *x)
{
    int64_t columns = x->shape.dim[x->shape.rank - 1];
    return build_reshape(graph, x, shape_of(2, shape_elements(x->shape) / columns, columns));
}

/* A weight that all rows share: one product over all of them. y = a w or a w^T, with a of any rank. */
static bool grad_shared_weight(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *a = node->inputs[0], *w = node->inputs[1];
    if (w->shape.rank != 2 || a->shape.rank == 2 || node->at.matmul.transpose_a)
        return false;
    bool tw = node->at.matmul.transpose_b;
    Node *dy = as_matrix(graph, grad_of(grad, node));
    if (grad_wanted(grad, a))
        grad_give(grad, a, build_reshape(graph, build_matmul(graph, dy, w, false, !tw), a->shape));
    if (grad_wanted(grad, w)) {
        Node *rows = as_matrix(graph, a);
        grad_give(grad, w, tw ? build_matmul(graph, dy, rows, true, false) : build_matmul(graph, rows, dy, true, false));
    }
    return true;
}

/* y = a b: da = dy b^T, db = a^T dy; the transposes of the operands are undone by exchanging the factors. */
void grad_matmul(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *a = node->inputs[0], *b = node->inputs[1], *dy = grad_of(grad, node);
    bool ta = node->at.matmul.transpose_a, tb = node->at.matmul.transpose_b;
    if (grad_shared_weight(grad, node))
        return;
    if (grad_wanted(grad, a))
        grad_give(grad, a, ta ? build_matmul(graph, b, dy, tb, true) : build_matmul(graph, dy, b, false, !tb));
    if (grad_wanted(grad, b))
        grad_give(grad, b, tb ? build_matmul(graph, dy, a, true, ta) : build_matmul(graph, a, dy, !ta, false));
}

void grad_conv2d(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *x = node->inputs[0], *w = node->inputs[1], *dy = grad_of(grad, node);
    if (grad_wanted(grad, x))
        grad_give(grad, x, GRAD_SHAPED(graph, OP_conv2d_grad_input, &node->at, x->shape, dy, w));
    if (grad_wanted(grad, w))
        grad_give(grad, w, GRAD_SHAPED(graph, OP_conv2d_grad_weight, &node->at, w->shape, dy, x));
}

/* As an op of a model this is a transposed convolution: linear in both inputs, so its gradients are convolutions. */
void grad_conv2d_grad_input(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *x = node->inputs[0], *w = node->inputs[1], *dy = grad_of(grad, node);
    if (grad_wanted(grad, x))
        grad_give(grad, x, GRAD_NODE(graph, OP_conv2d, &node->at, dy, w));
    if (grad_wanted(grad, w))
        grad_give(grad, w, GRAD_SHAPED(graph, OP_conv2d_grad_weight, &node->at, w->shape, x, dy));
}

void grad_max_pool2d(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *argmax = node_result(graph, node, 1);
    grad_give(grad, node->inputs[0],
              GRAD_SHAPED(graph, OP_max_pool2d_grad, &node->at, node->inputs[0]->shape, grad_of(grad, node), argmax));
}

static void give_as(Grad *grad, Node *node, Op op)
{
    grad_give(grad, node->inputs[0], GRAD_SHAPED(grad_graph(grad), op, &node->at, node->inputs[0]->shape, grad_of(grad, node)));
}

void grad_avg_pool2d(Grad *grad, Node *node)
{
    give_as(grad, node, OP_avg_pool2d_grad);
}

void grad_resize2d(Grad *grad, Node *node)
{
    give_as(grad, node, OP_resize2d_grad);
}

void grad_blur2d(Grad *grad, Node *node)
{
    give_as(grad, node, OP_blur2d_grad);
}
