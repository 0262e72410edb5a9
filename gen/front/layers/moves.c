/* moves.c -- products, pieces, sums: what models do with whole tensors. */
#include "front/layers/call.h"

/* ---- products ---- */

static bool product(Call *call, bool transpose_b)
{
    Node *a = call_tensor(call, 0), *b = a ? call_tensor(call, 1) : NULL;
    if (!b)
        return false;
    int ra = a->shape.rank, rb = b->shape.rank;
    if (ra < 2 || rb < 2)
        return call_mismatch(call, a, b, "are not both matrices or stacks of matrices");
    int64_t inner_a = a->shape.dim[ra - 1], inner_b = b->shape.dim[transpose_b ? rb - 1 : rb - 2];
    if (inner_a != inner_b)
        return call_mismatch(call, a, b, "do not multiply: %lld columns meet %lld %s", (long long)inner_a,
                             (long long)inner_b, transpose_b ? "columns" : "rows");
    Shape stack_a = a->shape, stack_b = b->shape, common;
    stack_a.rank = ra - 2, stack_b.rank = rb - 2;
    if (!shape_broadcast(stack_a, stack_b, &common))
        return call_mismatch(call, a, b, "differ in their leading axes");
    call_name(call);
    return call_return(call, build_matmul(call->builder->graph, a, b, false, transpose_b));
}

bool make_matmul(Call *call)
{
    return product(call, false);
}

bool make_matmul_transposed(Call *call)
{
    return product(call, true);
}

/* ---- pieces ---- */

bool make_concat(Call *call)
{
    Node *a = call_tensor(call, 0), *b = a ? call_tensor(call, 1) : NULL;
    if (!b)
        return false;
    if (a->shape.rank != b->shape.rank)
        return call_mismatch(call, a, b, "differ in rank");
    int axis = call_axis(call, 2, a);
    if (axis < 0)
        return false;
    for (int i = 0; i < a->shape.rank; i++)
        if (i != axis && a->shape.dim[i] != b->shape.dim[i])
            return call_mismatch(call, a, b, "differ in axis %d", i);
    return call_return(call,
                       call_add(call, OP_concat, (Node *[]){ a, b }, 2, &(Attributes){ .concat = { axis } }));
}

bool make_slice(Call *call)
{
    Node *x = call_tensor(call, 0);
    int axis = x ? call_axis(call, 1, x) : -1;
    if (axis < 0)
        return false;
    int64_t begin = call_integer(call, 2), end = call_integer(call, 3), size = x->shape.dim[axis];
    if (begin < 0 || end <= begin || end > size)
        return call_error(call, "slice: %lld up to %lld is not inside axis %d of %s", (long long)begin,
                          (long long)end, axis, call_shape(call, x));
    call_name(call);
    return call_return(call, build_slice(call->builder->graph, x, axis, begin, end, 1));
}

bool make_pad(Call *call)
{
    Node *x = call_tensor(call, 0);
    int axis = x ? call_axis(call, 1, x) : -1;
    if (axis < 0)
        return false;
    int64_t before = call_integer(call, 2), after = call_integer(call, 3);
    if (before < 0 || after < 0)
        return call_error(call, "pad: %lld before and %lld after; neither may be negative", (long long)before,
                          (long long)after);
    Attributes at = { .pad = { .value = 0 } };
    at.pad.before[axis] = before;
    at.pad.after[axis] = after;
    return call_return(call, call_add(call, OP_pad, &x, 1, &at));
}

/* ---- shapes ---- */

static bool reshaped(Call *call, Node *x, Shape shape)
{
    call_name(call);
    return call_return(call, build_reshape(call->builder->graph, x, shape));
}

bool make_reshape(Call *call)
{
    Node *x = call_tensor(call, 0);
    Shape shape = { 0 };
    if (!x || !call_sizes(call, 1, shape.dim, &shape.rank))
        return false;
    int64_t elements = shape_elements(x->shape), known = 1;
    int open = -1;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dim[i] == -1 && open < 0)
            open = i;
        else if (shape.dim[i] > 0)
            known *= shape.dim[i];
        else
            return call_error(call, "reshape: size %d is %lld", i, (long long)shape.dim[i]);
    }
    if (open >= 0 && elements % known == 0)
        known *= shape.dim[open] = elements / known;
    if (known != elements)
        return call_error(call, "reshape: %s has %lld elements, which do not fill %s", call_shape(call, x),
                          (long long)elements, shape_text(call->builder->arena, shape));
    return reshaped(call, x, shape);
}

bool make_flatten(Call *call)
{
    Node *x = call_tensor(call, 0);
    if (!x)
        return false;
    if (x->shape.rank < 1)
        return call_error(call, "flatten: a single value has no rows");
    if (x->shape.rank == 2)
        return call_return(call, x);
    int64_t rows = x->shape.dim[0];
    return reshaped(call, x, shape_of(2, rows, shape_elements(x->shape) / rows));
}

bool make_transpose(Call *call)
{
    Node *x = call_tensor(call, 0);
    int64_t axes[MAX_RANK];
    int rank, order[MAX_RANK] = { 0 };
    if (!x || !call_sizes(call, 1, axes, &rank))
        return false;
    unsigned seen = 0;
    for (int i = 0; i < rank; i++)
        if (axes[i] >= 0 && axes[i] < rank)
            seen |= 1u << axes[i], order[i] = (int)axes[i];
    if (rank != x->shape.rank || seen != (1u << rank) - 1)
        return call_error(call, "transpose: the order must name each axis of %s once", call_shape(call, x));
    call_name(call);
    return call_return(call, build_transpose(call->builder->graph, x, order));
}

bool make_gather(Call *call)
{
    Node *table = call_tensor(call, 0), *ids = table ? call_tensor(call, 1) : NULL;
    if (!ids)
        return false;
    if (ids->dtype != DTYPE_INT32)
        return call_error(call, "gather: the second argument must be whole numbers (tokens)");
    if (table->shape.rank + ids->shape.rank - 1 > MAX_RANK)
        return call_mismatch(call, table, ids, "give more than %d axes", MAX_RANK);
    Attributes at = { .gather = { .padding_row = -1 } };
    return call_return(call, call_add(call, OP_gather, (Node *[]){ table, ids }, 2, &at));
}

/* ---- along an axis ---- */

static bool reduced(Call *call, ReduceKind kind)
{
    Node *x = call_tensor(call, 0);
    int axis = x ? call_axis(call, 1, x) : -1;
    if (axis < 0)
        return false;
    call_name(call);
    return call_return(call, build_reduce(call->builder->graph, x, kind, 1u << axis));
}

bool make_sum(Call *call)
{
    return reduced(call, REDUCE_SUM);
}

bool make_mean(Call *call)
{
    return reduced(call, REDUCE_MEAN);
}

static bool softmaxed(Call *call, Op op)
{
    Node *x = call_tensor(call, 0);
    int axis = x ? call_axis(call, 1, x) : -1;
    return axis >= 0 && call_return(call, call_add(call, op, &x, 1, &(Attributes){ .softmax = { axis } }));
}

bool make_softmax(Call *call)
{
    return softmaxed(call, OP_softmax);
}

bool make_log_softmax(Call *call)
{
    return softmaxed(call, OP_log_softmax);
}

/* ---- random tensors and dropout ---- */

/* Uniform on [0,1), of the rank of `like`, with `rows` rows of one value. */
static bool uniform(Call *call, bool one_a_row)
{
    Node *like = call_tensor(call, 0);
    if (!like)
        return false;
    Shape shape = { .rank = like->shape.rank, .dim = { 1, 1, 1, 1, 1, 1 } };
    if (one_a_row && shape.rank)
        shape.dim[0] = like->shape.dim[0];
    Graph *graph = call->builder->graph;
    const Expr *draw = expr_random(graph->exprs, EXPR_uniform, call_site(call), 0, NULL, NULL);
    return call_return(call, node_map_shaped(graph, draw, NULL, 0, shape));
}

bool make_uniform_rows(Call *call)
{
    return uniform(call, true);
}

bool make_uniform_batch(Call *call)
{
    return uniform(call, false);
}

/* u < p ? 0 : x / (1 - p) in training, x in evaluation */
bool make_dropout(Call *call)
{
    Node *x = call_tensor(call, 0);
    if (!x)
        return false;
    double p = option_number(call_options(call), "probability");
    if (!(p >= 0 && p < 1))
        return call_error(call, "dropout: the probability is %g; it must be at least 0 and below 1", p);
    if (p == 0 || !call->builder->training)
        return call_return(call, x);
    Graph *graph = call->builder->graph;
    ExprPool *pool = graph->exprs;
    const Expr *draw = expr_random(pool, EXPR_uniform, call_site(call), 0, NULL, NULL);
    const Expr *kept = expr_binary(pool, EXPR_mul, expr_input(pool, 0, TYPE_FLOAT),
                                   expr_number(pool, 1 / (1 - p)));
    const Expr *dropped = expr_binary(pool, EXPR_lt, draw, expr_number(pool, p));
    return call_return(call, node_map(graph, expr_select(pool, dropped, expr_number(pool, 0), kept), &x, 1));
}
