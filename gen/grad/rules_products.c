/* rules_products.c -- backward of matrix products, convolutions, pooling, resizing and blurring. */
#include "grad/grad_inside.h"

/* y = a b: da = dy b^T, db = a^T dy; the transposes of the operands are undone by exchanging the factors. */
void grad_matmul(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *a = node->inputs[0], *b = node->inputs[1], *dy = grad_of(grad, node);
    bool ta = node->at.matmul.transpose_a, tb = node->at.matmul.transpose_b;
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
