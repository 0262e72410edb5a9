/* rules_moves.c -- backward of what only moves elements. */
#include "grad/grad_inside.h"

void grad_reshape(Grad *grad, Node *node)
{
    grad_give(grad, node->inputs[0], build_reshape(grad_graph(grad), grad_of(grad, node), node->inputs[0]->shape));
}

void grad_transpose(Grad *grad, Node *node)
{
    int back[MAX_RANK] = { 0 };
    for (int i = 0; i < node->shape.rank; i++)
        back[node->at.transpose.order[i]] = i;
    grad_give(grad, node->inputs[0], build_transpose(grad_graph(grad), grad_of(grad, node), back));
}

static int64_t product(Shape shape, int from, int to)
{
    int64_t elements = 1;
    for (int i = from; i < to; i++)
        elements *= shape.dim[i];
    return elements;
}

static Node *padded(Grad *grad, Node *x, int axis, int64_t before, int64_t after)
{
    Attributes at = { 0 };
    at.pad.before[axis] = before;
    at.pad.after[axis] = after;
    return GRAD_NODE(grad_graph(grad), OP_pad, &at, x);
}

/* Every element followed by stride - 1 zeros: (outer, n, 1, inner) is padded to (outer, n, stride, inner). */
static Node *spread(Grad *grad, Node *dy, int axis, int64_t stride)
{
    Graph *graph = grad_graph(grad);
    int64_t outer = product(dy->shape, 0, axis), n = dy->shape.dim[axis], inner = product(dy->shape, axis + 1, dy->shape.rank);
    Node *apart = padded(grad, build_reshape(graph, dy, shape_of(4, outer, n, (int64_t)1, inner)), 2, 0, stride - 1);
    Shape shape = dy->shape;
    shape.dim[axis] = n * stride;
    return build_reshape(graph, apart, shape);
}

void grad_slice(Grad *grad, Node *node)
{
    int axis = node->at.slice.axis;
    Node *x = node->inputs[0], *dy = grad_of(grad, node);
    if (node->at.slice.stride > 1)
        dy = spread(grad, dy, axis, node->at.slice.stride);
    int64_t begin = node->at.slice.begin;
    grad_give(grad, x, padded(grad, dy, axis, begin, x->shape.dim[axis] - begin - dy->shape.dim[axis]));
}

void grad_pad(Grad *grad, Node *node)
{
    Attributes at = { 0 };
    for (int i = 0; i < node->shape.rank; i++) {
        at.pad.before[i] = -node->at.pad.before[i];
        at.pad.after[i] = -node->at.pad.after[i];
    }
    grad_give(grad, node->inputs[0], GRAD_NODE(grad_graph(grad), OP_pad, &at, grad_of(grad, node)));
}

void grad_concat(Grad *grad, Node *node)
{
    int axis = node->at.concat.axis;
    int64_t begin = 0;
    for (int k = 0; k < node->input_count; k++) {
        int64_t end = begin + node->inputs[k]->shape.dim[axis];
        if (grad_wanted(grad, node->inputs[k]))
            grad_give(grad, node->inputs[k], build_slice(grad_graph(grad), grad_of(grad, node), axis, begin, end, 1));
        begin = end;
    }
}

void grad_gather(Grad *grad, Node *node)
{
    Node *table = node->inputs[0], *ids = node->inputs[1];
    if (grad_wanted(grad, table))
        grad_give(grad, table, GRAD_SHAPED(grad_graph(grad), OP_gather_grad, &node->at, table->shape, grad_of(grad, node), ids));
}
