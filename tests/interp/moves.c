/* moves.c -- operations that only move elements, and the sum that undoes a gather. */
#include "tests/interp/inside.h"

void eval_reshape(const Work *work)
{
    memcpy(work->out[0], work->in[0], sizeof(double) * (size_t)elements_of(work->node->shape));
}

void eval_transpose(const Work *work)
{
    const Node *node = work->node;
    for (int64_t i = 0; i < elements_of(node->shape); i++) {
        int64_t place[MAX_RANK], from[MAX_RANK];
        place_of(node->shape, i, place);
        for (int axis = 0; axis < node->shape.rank; axis++)
            from[node->at.transpose.order[axis]] = place[axis];
        work->out[0][i] = work->in[0][flat_of(input_shape(work, 0), from)];
    }
}

void eval_slice(const Work *work)
{
    const Node *node = work->node;
    for (int64_t i = 0; i < elements_of(node->shape); i++) {
        int64_t place[MAX_RANK], *along = &place[node->at.slice.axis];
        place_of(node->shape, i, place);
        *along = node->at.slice.begin + *along * node->at.slice.stride;
        work->out[0][i] = work->in[0][flat_of(input_shape(work, 0), place)];
    }
}

void eval_pad(const Work *work)
{
    const Node *node = work->node;
    Shape shape = input_shape(work, 0);
    for (int64_t i = 0; i < elements_of(node->shape); i++) {
        int64_t place[MAX_RANK];
        bool inside = true;
        place_of(node->shape, i, place);
        for (int axis = 0; axis < shape.rank; axis++) {
            place[axis] -= node->at.pad.before[axis];
            inside = inside && place[axis] >= 0 && place[axis] < shape.dim[axis];
        }
        work->out[0][i] = inside ? work->in[0][flat_of(shape, place)] : node->at.pad.value;
    }
}

void eval_concat(const Work *work)
{
    const Node *node = work->node;
    int axis = node->at.concat.axis;
    for (int64_t i = 0; i < elements_of(node->shape); i++) {
        int64_t place[MAX_RANK];
        int part = 0;
        place_of(node->shape, i, place);
        for (; place[axis] >= input_shape(work, part).dim[axis]; part++)
            place[axis] -= input_shape(work, part).dim[axis];
        work->out[0][i] = work->in[part][flat_of(input_shape(work, part), place)];
    }
}

static int64_t checked_id(const Work *work, double id, int64_t rows)
{
    if (!(id >= 0 && id < (double)rows))
        bug("node %d: id %g of %lld rows", work->node->id, id, (long long)rows);
    return (int64_t)id;
}

void eval_gather(const Work *work)
{
    Shape table = input_shape(work, 0);
    int64_t width = elements_between(table, 1, table.rank);
    for (int64_t i = 0; i < elements_of(input_shape(work, 1)); i++) {
        int64_t id = checked_id(work, work->in[1][i], table.dim[0]);
        for (int64_t k = 0; k < width; k++)
            work->out[0][i * width + k] = work->in[0][id * width + k];
    }
}

void eval_gather_grad(const Work *work)
{
    Shape table = work->node->shape;
    int64_t width = elements_between(table, 1, table.rank);
    for (int64_t i = 0; i < elements_of(input_shape(work, 1)); i++) {
        int64_t id = checked_id(work, work->in[1][i], table.dim[0]);
        for (int64_t k = 0; k < width && id != work->node->at.gather.padding_row; k++)
            work->out[0][id * width + k] += work->in[0][i * width + k];
    }
}
