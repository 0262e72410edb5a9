/* shape_norms.c -- shape rules of normalisation: statistics are (2, groups), whatever a group is. */
#include "ir/shape_inside.h"

#include <math.h>

/* ---- what a norm makes of a tensor ---- */

/* Rows are cut into pieces of ceil(N / pieces), so there may be fewer than were asked for. */
static int64_t pieces_of(const Norm *norm, int64_t rows)
{
    int64_t each = (rows + norm->pieces - 1) / norm->pieces;
    return (rows + each - 1) / each;
}

static bool by_channel(const Norm *norm)
{
    return norm->kind == NORM_BATCH || norm->kind == NORM_GROUP;
}

static bool norm_fits(const Norm *norm, Shape x)
{
    if (!(norm->epsilon >= 0 && isfinite(norm->epsilon)))
        return false;
    switch (norm->kind) {
    case NORM_BATCH: return x.rank >= 2 && norm->pieces >= 1;
    case NORM_GROUP: return x.rank >= 2 && norm->groups >= 1 && x.dim[1] % norm->groups == 0;
    case NORM_ROW:
    case NORM_RMS:   return norm->axes >= 1 && norm->axes <= x.rank;
    }
    return false;
}

static Shape leading(Shape x, int axes)
{
    x.rank -= axes;
    return x;
}

/* How many groups share a mean and a variance each; the norm fits. */
static int64_t norm_groups(const Norm *norm, Shape x)
{
    switch (norm->kind) {
    case NORM_BATCH: return x.dim[1] * pieces_of(norm, x.dim[0]);
    case NORM_GROUP: return x.dim[0] * norm->groups;
    default:         return shape_elements(leading(x, norm->axes));
    }
}

/* How many weights, and biases, there are. */
static int64_t norm_weights(const Norm *norm, Shape x)
{
    return by_channel(norm) ? x.dim[1] : shape_elements(x) / shape_elements(leading(x, norm->axes));
}

/* ---- rules ---- */

static const char no_fit[] = "the norm does not fit the tensor";

static Shape pair_of(int64_t count)
{
    return shape_of(2, (int64_t)2, count);
}

/* x (2, groups) and, where the node has that input, the weight. */
static const char *check_statistics(const ShapeQuery *query, int x_at, int weight_at)
{
    const Norm *norm = &query->at->norm;
    Shape x = shape_of_input(query, x_at);
    if (!norm_fits(norm, x))
        return no_fit;
    if (!shape_equal(shape_of_input(query, x_at + 1), pair_of(norm_groups(norm, x))))
        return "its moments are not those of its groups";
    for (int i = weight_at; i < query->count; i++)
        if (shape_elements(shape_of_input(query, i)) != norm_weights(norm, x))
            return "its weight or bias does not fit the norm";
    return NULL;
}

/* The same for gradients, whose first two inputs are dy and x. */
static const char *check_gradient(const ShapeQuery *query, int weight_at)
{
    if (!shape_equal(shape_of_input(query, 0), shape_of_input(query, 1)))
        return "dy and x differ";
    return check_statistics(query, 1, weight_at);
}

const char *shape_moments(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Norm *norm = &query->at->norm;
    Shape x = shape_of_input(query, 0);
    return norm_fits(norm, x) ? shape_answer(answer, pair_of(norm_groups(norm, x)), DTYPE_REAL) : no_fit;
}

const char *shape_normalize(const ShapeQuery *query, ShapeAnswer *answer)
{
    const char *wrong = check_statistics(query, 0, 2);
    return wrong ? wrong : shape_answer(answer, shape_of_input(query, 0), DTYPE_REAL);
}

const char *shape_norm_sums(const ShapeQuery *query, ShapeAnswer *answer)
{
    const char *wrong = check_gradient(query, 3);
    return wrong ? wrong : shape_answer(answer, shape_of_input(query, 2), DTYPE_REAL);
}

const char *shape_norm_grad(const ShapeQuery *query, ShapeAnswer *answer)
{
    const char *wrong = check_gradient(query, 4);
    if (!wrong && !shape_equal(shape_of_input(query, 2), shape_of_input(query, 3)))
        wrong = "its moments and sums differ";
    return wrong ? wrong : shape_answer(answer, shape_of_input(query, 1), DTYPE_REAL);
}

const char *shape_norm_affine(const ShapeQuery *query, ShapeAnswer *answer)
{
    const char *wrong = check_gradient(query, 3);
    Shape x = shape_of_input(query, 1);
    return wrong ? wrong : shape_answer(answer, pair_of(norm_weights(&query->at->norm, x)), DTYPE_REAL);
}

const char *shape_running(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape running = shape_of_input(query, 0), moments = shape_of_input(query, 1);
    int which = query->at->running.which, pieces = query->at->running.pieces;
    if (which < 0 || which > 1 || pieces < 1 || query->at->running.count < 1
        || !isfinite(query->at->running.momentum))
        return "its statistic, pieces, count or momentum make no sense";
    if (running.rank != 1 || !shape_equal(moments, pair_of(running.dim[0] * pieces)))
        return "its moments are not those of its channels and pieces";
    return shape_answer(answer, running, DTYPE_REAL);
}
