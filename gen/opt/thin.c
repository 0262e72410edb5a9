/* thin.c -- which axes have extent 1 by construction.
 *
 * A batch may have one row and an image may shrink to one pixel, so two shapes may be equal in one phase and
 * differ in another. But what varies is never broadcast: where an input has an axis that is not thin, a map has
 * the same extent there, in all phases. That makes "this map has the shape of its input" a fact that can be
 * known from one phase. */
#include "opt/opt_inside.h"

typedef unsigned ThinRule(const Node *node, const unsigned *thin);

static unsigned all_axes(const Node *node)
{
    return (1u << node->shape.rank) - 1;
}

static unsigned of_input(const Node *node, int index, const unsigned *thin)
{
    return thin[node->inputs[index]->id];
}

/* The axes of `input` as seen from a result of this rank: aligned at the right, those it lacks are thin. */
static unsigned aligned(const Node *input, int rank, const unsigned *thin)
{
    int lacks = rank - input->shape.rank;
    return thin[input->id] << lacks | ((1u << lacks) - 1);
}

/* Extents that a parameter or the model's text decides are the same in all phases. */
static unsigned thin_by_extent(const Node *node, const unsigned *thin)
{
    (void)thin;
    unsigned axes = 0;
    for (int i = 0; i < node->shape.rank; i++)
        axes |= (unsigned)(node->shape.dim[i] == 1) << i;
    return axes;
}

static unsigned thin_never(const Node *node, const unsigned *thin)
{
    (void)node, (void)thin;
    return 0;
}

static unsigned thin_as_first(const Node *node, const unsigned *thin)
{
    return of_input(node, 0, thin);
}

/* dy and x have the same shape. */
static unsigned thin_as_first_two(const Node *node, const unsigned *thin)
{
    return of_input(node, 0, thin) & of_input(node, 1, thin);
}

static unsigned thin_map(const Node *node, const unsigned *thin)
{
    unsigned axes = all_axes(node);
    for (int k = 0; k < node->input_count; k++)
        axes &= aligned(node->inputs[k], node->shape.rank, thin);
    return axes;
}

static unsigned thin_reduce(const Node *node, const unsigned *thin)
{
    return of_input(node, 0, thin) | node->at.reduce.axes;
}

static unsigned thin_transpose(const Node *node, const unsigned *thin)
{
    unsigned axes = 0;
    for (int i = 0; i < node->shape.rank; i++)
        axes |= (of_input(node, 0, thin) >> node->at.transpose.order[i] & 1) << i;
    return axes;
}

static unsigned thin_slice(const Node *node, const unsigned *thin)
{
    return of_input(node, 0, thin) | 1u << node->at.slice.axis;
}

static unsigned thin_concat(const Node *node, const unsigned *thin)
{
    unsigned axes = all_axes(node);
    for (int k = 0; k < node->input_count; k++)
        axes &= of_input(node, k, thin);
    return axes;
}

static unsigned thin_matmul(const Node *node, const unsigned *thin)
{
    const Node *a = node->inputs[0], *b = node->inputs[1];
    int rank = node->shape.rank;
    unsigned rows = thin[a->id] >> (a->shape.rank - (node->at.matmul.transpose_a ? 1 : 2)) & 1;
    unsigned columns = thin[b->id] >> (b->shape.rank - (node->at.matmul.transpose_b ? 2 : 1)) & 1;
    unsigned leading = aligned(a, rank, thin) & aligned(b, rank, thin) & ((1u << (rank - 2)) - 1);
    return leading | rows << (rank - 2) | columns << (rank - 1);
}

/* Rows and pixels are as thin as the first input's; channels are those of the weights. */
static unsigned thin_conv(const Node *node, const unsigned *thin)
{
    enum { CHANNELS = 1u << 1 };
    return (of_input(node, 0, thin) & ~CHANNELS) | (thin_by_extent(node, thin) & CHANNELS);
}

/* A window may be the whole image. */
static unsigned thin_window(const Node *node, const unsigned *thin)
{
    enum { PIXELS = 1u << 2 | 1u << 3 };
    return of_input(node, 0, thin) | PIXELS;
}

static unsigned thin_gather(const Node *node, const unsigned *thin)
{
    return of_input(node, 1, thin) | of_input(node, 0, thin) >> 1 << node->inputs[1]->shape.rank;
}

/* Ops without a rule: any axis may be thin. */
static ThinRule *const rules[OP_COUNT] = {
    [OP_input] = thin_never,                [OP_parameter] = thin_by_extent,
    [OP_map] = thin_map,                    [OP_reduce] = thin_reduce,
    [OP_transpose] = thin_transpose,        [OP_slice] = thin_slice,
    [OP_concat] = thin_concat,              [OP_matmul] = thin_matmul,
    [OP_gather] = thin_gather,              [OP_gather_grad] = thin_by_extent,
    [OP_conv2d] = thin_conv,                [OP_conv2d_grad_input] = thin_conv,
    [OP_conv2d_grad_weight] = thin_by_extent,
    [OP_max_pool2d] = thin_window,          [OP_max_pool2d_grad] = thin_window,
    [OP_avg_pool2d] = thin_window,          [OP_avg_pool2d_grad] = thin_window,
    [OP_resize2d] = thin_window,            [OP_resize2d_grad] = thin_window,
    [OP_blur2d] = thin_window,              [OP_blur2d_grad] = thin_window,
    [OP_normalize] = thin_as_first,         [OP_normalize_grad] = thin_as_first_two,
    [OP_softmax] = thin_as_first,           [OP_log_softmax] = thin_as_first,
    [OP_attention] = thin_as_first,         [OP_cross_entropy_grad] = thin_as_first,
};

unsigned opt_thin_axes(const Node *node, const unsigned *thin)
{
    return rules[node->op] ? rules[node->op](node, thin) : all_axes(node);
}

bool opt_may_widen(const Node *map, const unsigned *thin)
{
    return thin_map(map, thin) != 0;
}
