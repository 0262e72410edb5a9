/* windows.c -- pooling, blurring, resizing; and attention. */
#include "front/layers/call.h"

#include <math.h>

/* ---- pooling ---- */

static bool read_pool(Call *call, const Node *x, Pool *pool)
{
    const Value *options = call_options(call);
    *pool = (Pool){ .ceil_mode = option_truth(options, "ceil_mode"),
                    .count_padding = !option_truth(options, "exclude_padding") };
    option_pair(options, "kernel", pool->kernel);
    option_pair(options, "padding", pool->padding);
    option_pair(options, "dilation", pool->dilation);
    for (int i = 0; i < 2; i++)
        pool->stride[i] = option_integer(options, i ? "stride_width" : "stride");
    if (pool->stride[1] < 0)                                        /* SAME: as the height, or as the kernel */
        pool->stride[1] = pool->stride[0] < 0 ? pool->kernel[1] : pool->stride[0];
    if (pool->stride[0] < 0)
        pool->stride[0] = pool->kernel[0];
    for (int i = 0; i < 2; i++) {
        if (!call_needs_positive(call, "kernel", pool->kernel[i])
            || !call_needs_positive(call, "stride", pool->stride[i])
            || !call_needs_positive(call, "dilation", pool->dilation[i]))
            return false;
        if (pool->padding[i] < 0 || 2 * pool->padding[i] > pool->kernel[i])
            return call_error(call,
                              "%s: padding is %lld; it must be at least 0 and at most half the kernel, %lld",
                              call->word, (long long)pool->padding[i], (long long)pool->kernel[i]);
        if (!window_count(x->shape.dim[2 + i], pool->padding[i], pool->padding[i], pool->kernel[i],
                          pool->stride[i], pool->dilation[i]))
            return call_image_too_small(call, x, pool->kernel);
    }
    return true;
}

static bool pooled(Call *call, Op op)
{
    Node *x = call_tensor(call, 0);
    Pool pool;
    if (!x || !call_needs_images(call, x) || !read_pool(call, x, &pool))
        return false;
    return call_return(call, call_add(call, op, &x, 1, &(Attributes){ .pool = pool }));
}

bool make_max_pool2d(Call *call)
{
    return pooled(call, OP_max_pool2d);
}

bool make_avg_pool2d(Call *call)
{
    return pooled(call, OP_avg_pool2d);
}

bool make_global_avg_pool2d(Call *call)
{
    Node *x = call_tensor(call, 0);
    if (!x || !call_needs_images(call, x))
        return false;
    Graph *graph = call->builder->graph;
    call_part(call, "mean");
    Node *mean = build_reduce(graph, x, REDUCE_MEAN, 1u << 2 | 1u << 3);
    call_name(call);
    return call_return(call, build_reshape(graph, mean, shape_of(2, x->shape.dim[0], x->shape.dim[1])));
}

static bool read_target_size(Call *call, int64_t size[2])
{
    size[0] = call_integer(call, 1);
    size[1] = call_integer(call, 2);
    return call_needs_positive(call, "the height", size[0]) && call_needs_positive(call, "the width", size[1]);
}

bool make_adaptive_avg_pool2d(Call *call)
{
    Node *x = call_tensor(call, 0);
    Pool pool = { .adaptive = true, .stride = { 1, 1 }, .dilation = { 1, 1 } };
    if (!x || !call_needs_images(call, x) || !read_target_size(call, pool.kernel))
        return false;
    call_name(call);
    Shape shape = shape_of(4, x->shape.dim[0], x->shape.dim[1], pool.kernel[0], pool.kernel[1]);
    return call_return(call, node_add_shaped(call->builder->graph, OP_avg_pool2d, &x, 1,
                                             &(Attributes){ .pool = pool }, shape, DTYPE_REAL));
}

bool make_blur2d(Call *call)
{
    Node *x = call_tensor(call, 0);
    Attributes at = { 0 };
    option_pair(call_options(call), "stride", at.blur.stride);
    return x && call_needs_images(call, x) && call_needs_positive(call, "stride", at.blur.stride[0])
        && call_needs_positive(call, "stride_width", at.blur.stride[1])
        && call_return(call, call_add(call, OP_blur2d, &x, 1, &at));
}

bool make_resize2d(Call *call)
{
    Node *x = call_tensor(call, 0);
    const Value *options = call_options(call);
    int64_t size[2];
    if (!x || !call_needs_images(call, x) || !read_target_size(call, size))
        return false;
    double scale = option_number(options, "scale");
    if (scale < 0)
        return call_error(call, "resize2d: the scale is %g; it may not be negative", scale);
    Attributes at = { .resize = { .bilinear = option_truth(options, "bilinear"), .scale = { scale, scale },
                                  .align_corners = option_truth(options, "align_corners") } };
    call_name(call);
    Shape shape = shape_of(4, x->shape.dim[0], x->shape.dim[1], size[0], size[1]);
    return call_return(call,
                       node_add_shaped(call->builder->graph, OP_resize2d, &x, 1, &at, shape, DTYPE_REAL));
}

/* ---- attention ---- */

/* q (N,heads,T,D), k and v (N,heads,S,D), mask (N,S) */
static bool check_attention(Call *call, const Node *q, const Node *k, const Node *v, const Node *mask)
{
    static const char axes[] = "q, k and v of (rows, heads, length, size)";
    if (!call_needs_rank(call, q, 4, axes) || !call_needs_rank(call, k, 4, axes)
        || !call_needs_rank(call, v, 4, axes))
        return false;
    for (int axis = 0; axis < 4; axis++)
        if (axis != 2 && q->shape.dim[axis] != k->shape.dim[axis])
            return call_mismatch(call, q, k, "differ in axis %d; only the length may", axis);
    if (!shape_equal(k->shape, v->shape))
        return call_mismatch(call, k, v, "are keys and values of different shapes");
    if (mask && !shape_equal(mask->shape, shape_of(2, k->shape.dim[0], k->shape.dim[2])))
        return call_mismatch(call, k, mask, "do not fit: the mask must be (rows, keys)");
    return true;
}

bool make_attention(Call *call)
{
    Node *q = call_tensor(call, 0), *k = q ? call_tensor(call, 1) : NULL, *v = k ? call_tensor(call, 2) : NULL;
    Builder *builder = call->builder;
    const Value *options = call_options(call);
    Node *mask = option_tensor(options, "key_mask");
    if (!v || !check_attention(call, q, k, v, mask))
        return false;
    double scale = option_number(options, "scale");
    Attributes at = { .attention = { .causal = option_truth(options, "causal"),
                                     .scale = scale != 0 ? scale : 1 / sqrt((double)q->shape.dim[3]) } };
    Node *node = call_add(call, OP_attention, (Node *[]){ q, k, v, mask }, mask ? 4 : 3, &at);
    if (builder->attention_score)
        node->expr = builder->attention_score(builder->hooks, q->shape.dim[1]);
    return call_return(call, node);
}
