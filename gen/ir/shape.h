/* shape.h -- shape rules: what an op makes of its inputs. One function for each name in ops.def. */
#pragma once
#include "ir/ir.h"

typedef struct ShapeQuery {
    Op op;
    Node *const *inputs;
    int count;
    const Attributes *at;
    const Shape *given;                 /* the shape asked for; NULL: the rule alone decides */
    DType dtype;                        /* the dtype asked for, with `given` */
} ShapeQuery;

typedef struct ShapeAnswer {
    Shape shape;
    DType dtype;
} ShapeAnswer;

/* NULL and the answer, or what does not fit. The inputs are right in number and in themselves; attributes and
 * `given` may be anything with extents of at least 1. */
typedef const char *ShapeRule(const ShapeQuery *query, ShapeAnswer *answer);

extern ShapeRule *const shape_rules[OP_COUNT];

/* Integers that a tensor of this dtype holds, or reals. */
bool dtype_is_whole(DType dtype);
