/* rules_rows.c -- backward of softmax, attention and losses. */
#include "grad/grad_inside.h"

/* y = softmax(x): dx = y (dy - sum dy y) */
void grad_softmax(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *dy = grad_of(grad, node);
    Node *sum = build_reduce(graph, build_mul(graph, dy, node), REDUCE_SUM, 1u << node->at.softmax.axis);
    const Expr *dx = grad_times(grad, grad_input(grad, 1), grad_minus(grad, grad_input(grad, 0), grad_input(grad, 2)));
    grad_give(grad, node->inputs[0], node_map(graph, dx, (Node *[]){ dy, node, sum }, 3));
}

/* y = log softmax(x): dx = dy - exp(y) sum dy */
void grad_log_softmax(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *dy = grad_of(grad, node), *sum = build_reduce(graph, dy, REDUCE_SUM, 1u << node->at.softmax.axis);
    const Expr *y = expr_unary(graph->exprs, EXPR_exp, grad_input(grad, 1));
    const Expr *dx = grad_minus(grad, grad_input(grad, 0), grad_times(grad, y, grad_input(grad, 2)));
    grad_give(grad, node->inputs[0], node_map(graph, dx, (Node *[]){ dy, node, sum }, 3));
}

void grad_attention(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *inputs[7] = { grad_of(grad, node), node->inputs[0], node->inputs[1], node->inputs[2], node, node_result(graph, node, 1) };
    int count = 6;
    if (node->input_count > 3)
        inputs[count++] = node->inputs[3];
    Node *dq = node_add(graph, OP_attention_grad, inputs, count, &node->at);
    dq->expr = node->expr;
    grad_give(grad, node->inputs[0], dq);
    for (int i = 1; i < 3; i++)
        if (grad_wanted(grad, node->inputs[i]))
            grad_give(grad, node->inputs[i], node_result(graph, dq, i));
}

void grad_cross_entropy(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    Node *inputs[4] = { node->inputs[0], node->inputs[1] };
    int count = 2;
    if (node->input_count > 2)
        inputs[count++] = node->inputs[2];
    inputs[count++] = grad_of(grad, node);
    Node *dx = node_add(graph, OP_cross_entropy_grad, inputs, count, &node->at);
    dx->expr = node->expr;
    grad_give(grad, node->inputs[0], dx);
}

/* loss = -sum t log softmax(x): dx = dloss (softmax(x) sum t - t), dt = -dloss log softmax(x) */
void grad_dense_cross_entropy(Grad *grad, Node *node)
{
    Graph *graph = grad_graph(grad);
    ExprPool *pool = graph->exprs;
    int axis = node->at.loss.axis;
    Node *x = node->inputs[0], *t = node->inputs[1];
    Shape row = x->shape;
    row.dim[axis] = 1;
    Node *d = build_reshape(graph, grad_of(grad, node), row);
    Node *log_p = GRAD_NODE(graph, OP_log_softmax, (&(Attributes){ .softmax = { axis } }), x);
    if (grad_wanted(grad, x)) {
        Node *sum = build_reduce(graph, t, REDUCE_SUM, 1u << axis);
        const Expr *p = expr_unary(pool, EXPR_exp, grad_input(grad, 1));
        const Expr *pull = grad_minus(grad, grad_times(grad, p, grad_input(grad, 3)), grad_input(grad, 2));
        grad_give(grad, x, node_map(graph, grad_times(grad, grad_input(grad, 0), pull), (Node *[]){ d, log_p, t, sum }, 4));
    }
    if (grad_wanted(grad, t)) {
        const Expr *dt = grad_times(grad, expr_unary(pool, EXPR_neg, grad_input(grad, 0)), grad_input(grad, 1));
        grad_give(grad, t, node_map(graph, dt, (Node *[]){ d, log_p }, 2));
    }
}
