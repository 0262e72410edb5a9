/* grad.h -- the derived backward pass.
 *
 * grad_backward walks the graph in reverse from `loss` (one value), whose own gradient is `seed`
 * (one value: the weight of this micro-batch), and appends the nodes of the backward pass. For each
 * parameter in `wanted` that the loss depends on it adds an OUTPUT_GRADIENT; a gradient that
 * nobody needs is never made. A parameter used twice (tied weights) gets the sum.
 *
 * The rule of an op is one small function in rules_*.c, named in ops.def. It reads
 * grad_of(walk, node) and calls grad_give for each input that wants one (grad_wanted). */
#pragma once
#include "ir/ir.h"

void grad_backward(Graph *graph, Node *loss, Node *seed, const ParameterArray *wanted, Arena *pass);

typedef struct Grad Grad;
typedef void GradRule(Grad *grad, Node *node);

Graph *grad_graph(Grad *grad);
Node *grad_of(Grad *grad, const Node *node);                    /* never NULL inside a rule */
Node *grad_of_result(Grad *grad, const Node *node, int index);  /* NULL when nothing flows there */
bool grad_wanted(Grad *grad, const Node *input);                /* does a parameter in `wanted` lie behind it? */
void grad_give(Grad *grad, Node *input, Node *gradient);        /* adds; sums over broadcast axes */
