/* shape_moves.c -- shape rules of leaves, maps, reductions and moves. */
#include "ir/shape_inside.h"

/* ---- leaves ---- */

const char *shape_given(const ShapeQuery *query, ShapeAnswer *answer)
{
    return query->given ? shape_answer(answer, *query->given, query->dtype) : "its shape must be given";
}

/* max_pool2d: where the largest element is. attention: the log-sum-exp of a query. attention_grad, of dy, q, k,
 * v: dk, dv. */
const char *shape_result(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Node *producer = query->inputs[0];
    int index = query->at->result.index;
    Shape shape = producer->shape;
    if (index < 1 || index >= op_info[producer->op].results)
        return "its producer has no such result";
    switch (producer->op) {
    case OP_max_pool2d:
        return shape_answer(answer, shape, DTYPE_INT32);
    case OP_attention:
        shape.rank--;
        return shape_answer(answer, shape, DTYPE_REAL);
    case OP_attention_grad:
        return shape_answer(answer, producer->inputs[1 + index]->shape, DTYPE_REAL);
    default:
        return "its producer has one result";
    }
}

/* ---- maps and reductions ---- */

const char *shape_map(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = { 0 };
    for (int i = 0; i < query->count; i++)
        if (!shape_broadcast(shape, shape_of_input(query, i), &shape))
            return "its inputs don't broadcast";
    if (query->given) {
        Shape common;
        if (!shape_broadcast(shape, *query->given, &common) || !shape_equal(common, *query->given))
            return "its inputs don't broadcast to its shape";
        shape = *query->given;
    }
    return shape_answer(answer, shape, query->dtype);
}

const char *shape_reduce(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = shape_of_input(query, 0);
    unsigned axes = query->at->reduce.axes, kind = query->at->reduce.kind;
    if (kind > REDUCE_MAX)
        return "it reduces in no known way";
    if (axes >> shape.rank)
        return "it reduces an axis that is not there";
    for (int i = 0; i < shape.rank; i++)
        if (axes >> i & 1)
            shape.dim[i] = 1;
    return shape_answer(answer, shape, query->inputs[0]->dtype);
}

/* ---- moves ---- */

const char *shape_reshape(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Node *x = query->inputs[0];
    if (!query->given)
        return "its shape must be given";
    if (shape_elements(*query->given) != shape_elements(x->shape))
        return "the number of elements changes";
    return shape_answer(answer, *query->given, x->dtype);
}

const char *shape_transpose(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Node *x = query->inputs[0];
    Shape shape = x->shape;
    unsigned seen = 0;
    for (int i = 0; i < shape.rank; i++) {
        int from = query->at->transpose.order[i];
        if (!shape_has_axis(shape, from) || seen >> from & 1)
            return "its order is no permutation of the axes";
        seen |= 1u << from;
        shape.dim[i] = x->shape.dim[from];
    }
    return shape_answer(answer, shape, x->dtype);
}

const char *shape_slice(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = shape_of_input(query, 0);
    int axis = query->at->slice.axis;
    int64_t begin = query->at->slice.begin, end = query->at->slice.end, stride = query->at->slice.stride;
    if (!shape_has_axis(shape, axis))
        return "it slices an axis that is not there";
    if (begin < 0 || end > shape.dim[axis] || begin >= end || !shape_size_is_sane(stride, 1))
        return "its range does not lie in the axis";
    shape.dim[axis] = (end - begin + stride - 1) / stride;
    return shape_answer(answer, shape, query->inputs[0]->dtype);
}

/* Either way: negative sizes crop. */
static bool pad_is_sane(int64_t size)
{
    return shape_size_is_sane(size, -(int64_t)INT32_MAX);
}

const char *shape_pad(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = shape_of_input(query, 0);
    for (int i = 0; i < shape.rank; i++) {
        int64_t before = query->at->pad.before[i], after = query->at->pad.after[i];
        if (!pad_is_sane(before) || !pad_is_sane(after))
            return "its padding makes no sense";
        shape.dim[i] += before + after;
        if (shape.dim[i] < 1)
            return "nothing is left of an axis";
    }
    return shape_answer(answer, shape, query->inputs[0]->dtype);
}

const char *shape_concat(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape shape = shape_of_input(query, 0);
    DType dtype = query->inputs[0]->dtype;
    int axis = query->at->concat.axis;
    if (!shape_has_axis(shape, axis))
        return "it joins along an axis that is not there";
    for (int i = 1; i < query->count; i++) {
        Shape other = shape_of_input(query, i);
        int64_t extent = shape.dim[axis] + other.dim[axis];
        shape.dim[axis] = other.dim[axis];
        if (!shape_equal(shape, other))
            return "its inputs differ in another axis than the one they are joined along";
        if (dtype_is_whole(dtype) != dtype_is_whole(query->inputs[i]->dtype))
            return "it joins integers and reals";
        shape.dim[axis] = extent;
    }
    return shape_answer(answer, shape, dtype);
}

/* table (V, ...), ids (...) -> (ids..., rows of the table...) */
static const char *gathered(Shape table, const Node *ids, int64_t padding_row, Shape *shape)
{
    if (!dtype_is_whole(ids->dtype))
        return "its ids are not integers";
    if (table.rank < 1 || ids->shape.rank + table.rank - 1 > MAX_RANK)
        return "its table has no rows, or the result too many axes";
    if (padding_row < -1 || padding_row >= table.dim[0])
        return "its table has no such padding row";
    *shape = ids->shape;
    for (int i = 1; i < table.rank; i++)
        shape->dim[shape->rank++] = table.dim[i];
    return NULL;
}

const char *shape_gather(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Node *table = query->inputs[0];
    Shape shape;
    const char *wrong = gathered(table->shape, query->inputs[1], query->at->gather.padding_row, &shape);
    return wrong ? wrong : shape_answer(answer, shape, table->dtype);
}

const char *shape_gather_grad(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape rows;
    if (!query->given)
        return "its shape must be given";
    const char *wrong = gathered(*query->given, query->inputs[1], query->at->gather.padding_row, &rows);
    if (!wrong && !shape_equal(rows, shape_of_input(query, 0)))
        wrong = "gathering from its shape does not make the shape of dy";
    return wrong ? wrong : shape_answer(answer, *query->given, DTYPE_REAL);
}
