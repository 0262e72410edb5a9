/* shape_rows.c -- shape rules of products, softmax, attention and losses. */
#include "ir/shape_inside.h"

#include <math.h>

const char *shape_matmul(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape a = shape_of_input(query, 0), b = shape_of_input(query, 1), shape;
    bool ta = query->at->matmul.transpose_a, tb = query->at->matmul.transpose_b;
    if (a.rank < 2 || b.rank < 2)
        return "its operands are not matrices";
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
    return shape_answer(answer, shape, DTYPE_REAL);
}

const char *shape_softmax(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape x = shape_of_input(query, 0);
    return shape_has_axis(x, query->at->softmax.axis) ? shape_answer(answer, x, DTYPE_REAL)
                                                      : "its axis is not there";
}

/* ---- attention ---- */

/* q (N,heads,T,D), k and v (N,heads,S,D) from input `first` on; mask (N,S) at `mask_at` if it is there. */
static const char *attended(const ShapeQuery *query, int first, int mask_at, Shape *y)
{
    Shape q = shape_of_input(query, first), k = shape_of_input(query, first + 1);
    Shape v = shape_of_input(query, first + 2);
    if (!isfinite(query->at->attention.scale))
        return "its scale is not finite";
    if (q.rank != 4 || k.rank != 4 || v.rank != 4)
        return "queries, keys and values have four axes";
    for (int i = 0; i < 2; i++)
        if (q.dim[i] != k.dim[i] || q.dim[i] != v.dim[i])
            return "rows or heads differ";
    if (q.dim[3] != k.dim[3] || k.dim[2] != v.dim[2])
        return "sizes or lengths differ";
    if (query->count > mask_at
        && !shape_equal(shape_of_input(query, mask_at), shape_of(2, k.dim[0], k.dim[2])))
        return "its mask is not one value a row and key";
    *y = q;
    y->dim[3] = v.dim[3];
    return NULL;
}

const char *shape_attention(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape y;
    const char *wrong = attended(query, 0, 3, &y);
    return wrong ? wrong : shape_answer(answer, y, DTYPE_REAL);
}

/* dy, q, k, v, y, lse [, mask] */
const char *shape_attention_grad(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape y;
    const char *wrong = attended(query, 1, 6, &y);
    if (wrong)
        return wrong;
    if (!shape_equal(shape_of_input(query, 0), y) || !shape_equal(shape_of_input(query, 4), y))
        return "its attention does not make the shape of dy and y";
    y.rank--;
    if (!shape_equal(shape_of_input(query, 5), y))
        return "its log-sum-exp is not one value a row, head and query";
    return shape_answer(answer, shape_of_input(query, 1), DTYPE_REAL);
}

/* ---- losses ---- */

static const char no_classes[] = "the axis of the classes is not there";

/* The shape of logits without the classes: one value a row. */
static Shape rows_of(Shape logits, int axis)
{
    Shape rows = { 0 };
    for (int i = 0; i < logits.rank; i++)
        if (i != axis)
            rows.dim[rows.rank++] = logits.dim[i];
    return rows;
}

/* Logits, then `labels` inputs that are a class for each row. */
static const char *classified(const ShapeQuery *query, int labels, Shape *rows)
{
    Shape logits = shape_of_input(query, 0);
    int axis = query->at->loss.axis;
    if (!shape_has_axis(logits, axis))
        return no_classes;
    *rows = rows_of(logits, axis);
    for (int i = 1; i <= labels; i++) {
        if (!shape_equal(shape_of_input(query, i), *rows))
            return "logits and classes don't fit";
        if (!dtype_is_whole(query->inputs[i]->dtype))
            return "its classes are not integers";
    }
    return NULL;
}

const char *shape_cross_entropy(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape rows;
    const char *wrong = classified(query, query->count - 1, &rows);
    return wrong ? wrong : shape_answer(answer, rows, DTYPE_REAL);
}

const char *shape_loss_grad(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape rows;
    const char *wrong = classified(query, query->count - 2, &rows);
    if (!wrong && !shape_equal(shape_of_input(query, query->count - 1), rows))
        wrong = "the gradient of its rows has another shape than they";
    return wrong ? wrong : shape_answer(answer, shape_of_input(query, 0), DTYPE_REAL);
}

const char *shape_dense_loss(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape logits = shape_of_input(query, 0);
    int axis = query->at->loss.axis;
    if (!shape_has_axis(logits, axis))
        return no_classes;
    if (!shape_equal(shape_of_input(query, 1), logits))
        return "logits and dense targets differ";
    return shape_answer(answer, rows_of(logits, axis), DTYPE_REAL);
}

const char *shape_target_rank(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape rows;
    const char *wrong = classified(query, 1, &rows);
    return wrong ? wrong : shape_answer(answer, rows, DTYPE_INT32);
}

const char *shape_confusion(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape rows;
    const char *wrong = classified(query, 1, &rows);
    if (wrong)
        return wrong;
    int64_t classes = shape_of_input(query, 0).dim[query->at->loss.axis];
    return shape_answer(answer, shape_of(2, (int64_t)3, classes), DTYPE_REAL);
}
