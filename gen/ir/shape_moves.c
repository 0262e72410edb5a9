/* shape_moves.c -- shape rules of leaves, maps, reductions and moves. */
#include "ir/shape.h"

const char *shape_given(const ShapeQuery *query, ShapeAnswer *answer)
{
    if (!query->given)
        return "its shape must be given";
    answer->shape = *query->given;
    answer->dtype = query->op == OP_reshape ? query->inputs[0]->dtype : DTYPE_REAL;
    if (query->op == OP_reshape && shape_elements(*query->given) != shape_elements(query->inputs[0]->shape))
        return "the number of elements changes";
    return NULL;
}

const char *shape_same(const ShapeQuery *query, ShapeAnswer *answer)
{
    /* of the gradients' ops the second input is the tensor that the result looks like */
    bool second = query->op == OP_normalize_grad;
    *answer = (ShapeAnswer){ query->inputs[second]->shape, DTYPE_REAL };
    return NULL;
}

const char *shape_first_input(const ShapeQuery *query, ShapeAnswer *answer)
{
    *answer = (ShapeAnswer){ query->inputs[0]->shape, DTYPE_REAL };
    return NULL;
}

static const char *pool_result(const Node *producer, ShapeAnswer *answer)
{
    *answer = (ShapeAnswer){ producer->shape, DTYPE_INT32 };
    return NULL;
}

static const char *attention_result(const Node *producer, ShapeAnswer *answer)
{
    Shape shape = producer->shape;
    shape.rank--;
    *answer = (ShapeAnswer){ shape, DTYPE_REAL };
    return NULL;
}

/* dy, q, k, v -> dq; 1: dk, 2: dv */
static const char *attention_grad_result(const Node *producer, int index, ShapeAnswer *answer)
{
    *answer = (ShapeAnswer){ producer->inputs[1 + index]->shape, DTYPE_REAL };
    return NULL;
}

const char *shape_result(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Node *producer = query->inputs[0];
    int index = query->at->result.index;
    if (index < 1 || index >= op_info[producer->op].results)
        return "its producer has no such result";
    switch (producer->op) {
    case OP_max_pool2d:     return pool_result(producer, answer);
    case OP_attention:      return attention_result(producer, answer);
    case OP_attention_grad: return attention_grad_result(producer, index, answer);
    default:                return "its producer has one result";
    }
}

const char *shape_map(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = { 0 };
    for (int i = 0; i < query->count; i++)
        if (!shape_broadcast(shape, query->inputs[i]->shape, &shape))
            return "its inputs don't broadcast";
    if (query->given) {
        Shape common;
        if (!shape_broadcast(shape, *query->given, &common) || !shape_equal(common, *query->given))
            return "its inputs don't broadcast to its shape";
        shape = *query->given;
    }
    *answer = (ShapeAnswer){ shape, DTYPE_REAL };
    return NULL;
}

const char *shape_reduce(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = query->inputs[0]->shape;
    unsigned axes = query->at->reduce.axes;
    if (axes >> shape.rank)
        return "it reduces an axis that is not there";
    for (int i = 0; i < shape.rank; i++)
        if (axes >> i & 1)
            shape.dim[i] = 1;
    *answer = (ShapeAnswer){ shape, query->inputs[0]->dtype };
    return NULL;
}

const char *shape_transpose(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Node *x = query->inputs[0];
    Shape shape = x->shape;
    unsigned seen = 0;
    for (int i = 0; i < shape.rank; i++) {
        int from = query->at->transpose.order[i];
        if (from < 0 || from >= shape.rank || seen >> from & 1)
            return "its order is no permutation of the axes";
        seen |= 1u << from;
        shape.dim[i] = x->shape.dim[from];
    }
    *answer = (ShapeAnswer){ shape, x->dtype };
    return NULL;
}

const char *shape_slice(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = query->inputs[0]->shape;
    int axis = query->at->slice.axis;
    int64_t begin = query->at->slice.begin, end = query->at->slice.end, stride = query->at->slice.stride;
    if (axis < 0 || axis >= shape.rank)
        return "it slices an axis that is not there";
    if (begin < 0 || end > shape.dim[axis] || begin >= end || stride < 1)
        return "its range does not lie in the axis";
    shape.dim[axis] = (end - begin + stride - 1) / stride;
    *answer = (ShapeAnswer){ shape, query->inputs[0]->dtype };
    return NULL;
}

const char *shape_pad(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = query->inputs[0]->shape;
    for (int i = 0; i < shape.rank; i++) {
        shape.dim[i] += query->at->pad.before[i] + query->at->pad.after[i];
        if (shape.dim[i] < 1)
            return "nothing is left of an axis";
    }
    *answer = (ShapeAnswer){ shape, query->inputs[0]->dtype };
    return NULL;
}

const char *shape_concat(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = query->inputs[0]->shape;
    int axis = query->at->concat.axis;
    if (axis < 0 || axis >= shape.rank)
        return "it joins along an axis that is not there";
    for (int i = 1; i < query->count; i++) {
        Shape other = query->inputs[i]->shape;
        if (other.rank != shape.rank)
            return "its inputs differ in rank";
        int64_t extent = shape.dim[axis] + other.dim[axis];
        shape.dim[axis] = other.dim[axis];
        if (!shape_equal(shape, other))
            return "its inputs differ in another axis than the one they are joined along";
        shape.dim[axis] = extent;
    }
    *answer = (ShapeAnswer){ shape, query->inputs[0]->dtype };
    return NULL;
}

const char *shape_gather(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Node *table = query->inputs[0], *ids = query->inputs[1];
    Shape shape = ids->shape;
    if (ids->dtype != DTYPE_INT32)
        return "its ids are no integers";
    if (table->shape.rank < 1 || shape.rank + table->shape.rank - 1 > MAX_RANK)
        return "its rank is too large";
    for (int i = 1; i < table->shape.rank; i++)
        shape.dim[shape.rank++] = table->shape.dim[i];
    *answer = (ShapeAnswer){ shape, table->dtype };
    return NULL;
}
