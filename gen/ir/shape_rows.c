/* shape_rows.c -- shape rules of products, norms, attention and losses. */
#include "ir/shape.h"

const char *shape_matmul(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape a = query->inputs[0]->shape, b = query->inputs[1]->shape, shape;
    bool ta = query->at->matmul.transpose_a, tb = query->at->matmul.transpose_b;
    if (a.rank < 2 || b.rank < 2)
        return "its operands are no matrices";
    int64_t rows = a.dim[a.rank - (ta ? 1 : 2)], depth = a.dim[a.rank - (ta ? 2 : 1)];
    int64_t columns = b.dim[b.rank - (tb ? 2 : 1)];
    if (depth != b.dim[b.rank - (tb ? 1 : 2)])
        return "the extents that are summed over differ";
    a.rank -= 2;
    b.rank -= 2;
    if (!shape_broadcast(a, b, &shape))
        return "the leading axes don't broadcast";
    shape.dim[shape.rank++] = rows;
    shape.dim[shape.rank++] = columns;
    *answer = (ShapeAnswer){ shape, DTYPE_REAL };
    return NULL;
}

/* ---- norms ---- */

static int64_t leading(Shape shape, int axes)
{
    int64_t product = 1;
    for (int i = 0; i < shape.rank - axes; i++)
        product *= shape.dim[i];
    return product;
}

/* How many groups share a mean each; 0 when the norm does not fit the shape. */
static int64_t norm_groups(const Norm *norm, Shape x)
{
    switch (norm->kind) {
    case NORM_BATCH: return x.rank < 2 ? 0 : x.dim[1] * norm->pieces;
    case NORM_GROUP: return x.rank < 2 || norm->groups < 1 || x.dim[1] % norm->groups ? 0 : x.dim[0] * norm->groups;
    case NORM_ROW:
    case NORM_RMS:   return norm->axes < 1 || norm->axes > x.rank ? 0 : leading(x, norm->axes);
    }
    return 0;
}

static const char *pair_of(int64_t count, ShapeAnswer *answer)
{
    *answer = (ShapeAnswer){ shape_of(2, (int64_t)2, count), DTYPE_REAL };
    return count < 1 ? "the norm does not fit the tensor" : NULL;
}

const char *shape_moments(const ShapeQuery *query, ShapeAnswer *answer)
{
    return pair_of(norm_groups(&query->at->norm, query->inputs[0]->shape), answer);
}

const char *shape_norm_sums(const ShapeQuery *query, ShapeAnswer *answer)
{
    return pair_of(norm_groups(&query->at->norm, query->inputs[1]->shape), answer);
}

const char *shape_norm_affine(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape x = query->inputs[1]->shape;
    const Norm *norm = &query->at->norm;
    bool by_channel = norm->kind == NORM_BATCH || norm->kind == NORM_GROUP;
    return pair_of(by_channel ? x.dim[1] : shape_elements(x) / leading(x, norm->axes), answer);
}

/* ---- attention ---- */

const char *shape_attention(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape q = query->inputs[0]->shape, k = query->inputs[1]->shape, v = query->inputs[2]->shape;
    if (q.rank != 4 || k.rank != 4 || v.rank != 4)
        return "queries, keys and values have four axes";
    for (int i = 0; i < 2; i++)
        if (q.dim[i] != k.dim[i] || q.dim[i] != v.dim[i])
            return "rows or heads differ";
    if (q.dim[3] != k.dim[3] || k.dim[2] != v.dim[2])
        return "sizes or lengths differ";
    q.dim[3] = v.dim[3];
    *answer = (ShapeAnswer){ q, DTYPE_REAL };
    return NULL;
}

const char *shape_attention_grad(const ShapeQuery *query, ShapeAnswer *answer)
{
    *answer = (ShapeAnswer){ query->inputs[1]->shape, DTYPE_REAL };
    return NULL;
}

/* ---- losses ---- */

const char *shape_cross_entropy(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape logits = query->inputs[0]->shape, rows = { 0 };
    int axis = query->at->loss.axis;
    if (axis < 0 || axis >= logits.rank)
        return "the axis of the classes is not there";
    for (int i = 0; i < logits.rank; i++)
        if (i != axis)
            rows.dim[rows.rank++] = logits.dim[i];
    bool dense = query->op == OP_dense_cross_entropy;
    if (!shape_equal(query->inputs[1]->shape, dense ? logits : rows))
        return "logits and targets don't fit";
    *answer = (ShapeAnswer){ rows, query->op == OP_target_rank ? DTYPE_INT32 : DTYPE_REAL };
    return NULL;
}

const char *shape_confusion(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape logits = query->inputs[0]->shape;
    int axis = query->at->loss.axis;
    if (axis < 0 || axis >= logits.rank)
        return "the axis of the classes is not there";
    *answer = (ShapeAnswer){ shape_of(2, (int64_t)3, logits.dim[axis]), DTYPE_REAL };
    return NULL;
}
