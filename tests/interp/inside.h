/* inside.h -- what the files of the interpreter share: one node at work, and places in row-major arrays. */
#pragma once
#include <math.h>

#include "tests/interp/interp.h"

enum { MOST_INPUTS = 64, MOST_RESULTS = 3 };

typedef struct Work {
    Interp *interp;
    const Node *node;
    const double *in[MOST_INPUTS];
    double *out[MOST_RESULTS];          /* zeroed; results that no node asks for are NULL, out[0] never is */
} Work;

typedef void Evaluate(const Work *work);

#define OP(name, ...) Evaluate eval_##name;
#include "ir/ops.def"

/* ---- places ---- */
int64_t elements_of(Shape shape);
int64_t elements_between(Shape shape, int from, int to);        /* product of the extents of axes from..to-1 */
void place_of(Shape shape, int64_t flat, int64_t *place);       /* coordinates of an element */
int64_t flat_of(Shape shape, const int64_t *place);
/* The element of a tensor of shape `from` that broadcasting puts at `place` of a tensor of shape `to`. */
int64_t broadcast_of(Shape from, Shape to, const int64_t *place);

static inline Shape input_shape(const Work *work, int index)
{
    return work->node->inputs[index]->shape;
}

/* ---- expressions ---- */
ExprPool *interp_exprs(const Interp *interp);                     /* of the graph */
/* At an element of a tensor of this shape, which says how draws are keyed. */
double evaluate_at(const Work *work, const Expr *expr, const double *inputs, const int64_t *indices,
                   Shape shape, int64_t flat);

/* ---- a line along one axis: elements first, first + step, ... of which there are `count` ---- */
typedef struct Line { int64_t first, step, count; } Line;

int64_t line_count(Shape shape, int axis);
Line line_of(Shape shape, int axis, int64_t index);
double log_sum_exp(const double *x, Line line);
