/* share.c -- finds nodes that compute the same value.
 *
 *     a = transpose x 1,0        a = transpose x 1,0
 *     b = transpose x 1,0   =>   c = matmul a a
 *     c = matmul a b
 *
 * Only for ops whose shape follows from their inputs, and whose attributes are no extents: what is equal in one
 * phase is then equal in all. Of a draw, the site is in the expression. */
#include "opt/opt_inside.h"

typedef bool SameAttributes(const Node *a, const Node *b);

static bool same_always(const Node *a, const Node *b)
{
    (void)a, (void)b;
    return true;
}

static bool same_reduce(const Node *a, const Node *b)
{
    return a->at.reduce.kind == b->at.reduce.kind && a->at.reduce.axes == b->at.reduce.axes;
}

static bool same_order(const Node *a, const Node *b)
{
    for (int i = 0; i < a->shape.rank; i++)
        if (a->at.transpose.order[i] != b->at.transpose.order[i])
            return false;
    return true;
}

static bool same_concat(const Node *a, const Node *b)
{
    return a->at.concat.axis == b->at.concat.axis;
}

static bool same_gather(const Node *a, const Node *b)
{
    return a->at.gather.padding_row == b->at.gather.padding_row;
}

static bool same_matmul(const Node *a, const Node *b)
{
    return a->at.matmul.transpose_a == b->at.matmul.transpose_a
        && a->at.matmul.transpose_b == b->at.matmul.transpose_b;
}

static bool same_norm(const Node *a, const Node *b)
{
    const Norm *x = &a->at.norm, *y = &b->at.norm;
    return x->kind == y->kind && x->epsilon == y->epsilon && x->pieces == y->pieces && x->axes == y->axes
        && x->groups == y->groups;
}

static bool same_softmax(const Node *a, const Node *b)
{
    return a->at.softmax.axis == b->at.softmax.axis;
}

static bool same_result(const Node *a, const Node *b)
{
    return a->at.result.index == b->at.result.index;
}

/* Ops without a row are never merged: the shape is given, or it depends on extents, or it is not worth it. */
static SameAttributes *const same_attributes[OP_COUNT] = {
    [OP_map] = same_always,      [OP_reduce] = same_reduce,     [OP_transpose] = same_order,
    [OP_concat] = same_concat,   [OP_gather] = same_gather,     [OP_matmul] = same_matmul,
    [OP_moments] = same_norm,    [OP_normalize] = same_norm,    [OP_softmax] = same_softmax,
    [OP_result] = same_result,   [OP_log_softmax] = same_softmax,
};

static bool are_twins(const Node *a, const Node *b)
{
    if (a->op != b->op || a->dtype != b->dtype || a->layout != b->layout || a->expr != b->expr
        || a->input_count != b->input_count || !shape_equal(a->shape, b->shape))
        return false;
    for (int k = 0; k < a->input_count; k++)
        if (a->inputs[k] != b->inputs[k])
            return false;
    return same_attributes[a->op](a, b);
}

Twins opt_twins(const Graph *graph, const unsigned *thin, Arena *arena)
{
    int places = graph->nodes.count + 1;
    Twins twins = { .graph = graph, .thin = thin, .first = arena_array(arena, int, places),
                    .next = arena_array(arena, int, places) };
    for (int i = 0; i < places; i++)
        twins.first[i] = twins.next[i] = -1;
    return twins;
}

Node *opt_twin_of(Twins *twins, const Node *node)
{
    if (!same_attributes[node->op] || (node->op == OP_map && opt_may_widen(node, twins->thin)))
        return NULL;
    int *first = &twins->first[node->input_count ? node->inputs[0]->id : twins->graph->nodes.count];
    for (int i = *first; i >= 0; i = twins->next[i])
        if (are_twins(twins->graph->nodes.items[i], node))
            return twins->graph->nodes.items[i];
    twins->next[node->id] = *first;
    *first = node->id;
    return NULL;
}
