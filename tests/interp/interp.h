/* interp.h -- the interpreter of the graph: every node in double, one plain function an operation.
 *
 * It is the oracle of the project. It is written from the meanings in ir/ops.def and ir/ir.h, and shares
 * nothing with the compiler but its headers and the evaluation of scalar expressions. Layouts and dtypes are
 * ignored: a tensor is a row-major array of double, whole numbers included.
 *
 *     Interp *interp = interp_create(arena, graph);
 *     interp_set_input(interp, INPUT_IMAGES, images);
 *     interp_set_parameter(interp, weight, values);
 *     interp_run(interp);
 *     const double *loss = interp_value(interp, loss_node);
 *
 * What is set is not copied: change the array and run again. */
#pragma once
#include "ir/ir.h"

typedef struct Interp Interp;

typedef double InterpScalar(void *context, const Scalar *scalar);
/* A draw of an element: `row` is its index along axis 0, `element` the row-major index of the rest; a and b are
 * the operands of a beta. */
typedef double InterpRandom(void *context, const Expr *expr, int64_t row, int64_t element, double a, double b);

Interp *interp_create(Arena *arena, const Graph *graph);
void interp_set_input(Interp *interp, InputKind kind, const double *values);
void interp_set_parameter(Interp *interp, const Parameter *parameter, const double *values);
void interp_set_scalars(Interp *interp, InterpScalar *scalar, void *context);
void interp_set_random(Interp *interp, InterpRandom *random, void *context);

void interp_run(Interp *interp);
/* Only the nodes up to `last`, which come first in the graph. */
void interp_run_to(Interp *interp, const Node *last);

const double *interp_value(const Interp *interp, const Node *node);
/* Of the output of this kind, and parameter or name where they are not NULL; NULL if there is none. */
const double *interp_output(const Interp *interp, OutputKind kind, const Parameter *parameter,
                            const char *name);
