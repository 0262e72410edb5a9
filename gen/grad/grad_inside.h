/* grad_inside.h -- what the files of rules share. */
#pragma once
#include "grad/grad.h"

/* The op whose inputs are listed, with the attributes of the node that is differentiated. */
#define GRAD_NODE(graph, op, at, ...)                                                                                \
    node_add(graph, op, (Node *[]){ __VA_ARGS__ }, (int)(sizeof((Node *[]){ __VA_ARGS__ }) / sizeof(Node *)), at)
#define GRAD_SHAPED(graph, op, at, shape, ...)                                                                       \
    node_add_shaped(graph, op, (Node *[]){ __VA_ARGS__ }, (int)(sizeof((Node *[]){ __VA_ARGS__ }) / sizeof(Node *)), \
                    at, shape, DTYPE_REAL)

const Expr *grad_input(Grad *grad, int slot);                   /* real input number `slot` of a map */
const Expr *grad_times(Grad *grad, const Expr *a, const Expr *b);
const Expr *grad_minus(Grad *grad, const Expr *a, const Expr *b);
