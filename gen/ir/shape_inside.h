/* shape_inside.h -- what the files of shape rules share and nobody else sees. */
#pragma once
#include "ir/shape.h"

static inline Shape shape_of_input(const ShapeQuery *query, int input)
{
    return query->inputs[input]->shape;
}

static inline const char *shape_answer(ShapeAnswer *answer, Shape shape, DType dtype)
{
    *answer = (ShapeAnswer){ shape, dtype };
    return NULL;
}

/* Sizes of windows and steps: at least `least`, and small enough that products of two of them are exact. */
static inline bool shape_size_is_sane(int64_t size, int64_t least)
{
    return size >= least && size <= INT32_MAX;
}

static inline bool shape_has_axis(Shape shape, int axis)
{
    return axis >= 0 && axis < shape.rank;
}
