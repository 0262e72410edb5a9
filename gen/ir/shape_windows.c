/* shape_windows.c -- shape rules of convolutions, pooling, resizing and blurring: images (N, C, H, W). */
#include "ir/shape.h"

/* Places of a window of `kernel` taps along `extent` padded positions; 0 when it does not fit. */
static int64_t places(int64_t extent, int64_t kernel, int64_t stride, int64_t dilation)
{
    int64_t reach = dilation * (kernel - 1) + 1;
    return extent < reach || stride < 1 ? 0 : (extent - reach) / stride + 1;
}

const char *shape_conv2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape x = query->inputs[0]->shape, w = query->inputs[1]->shape;
    const Conv *conv = &query->at->conv;
    if (x.rank != 4 || w.rank != 4)
        return "images and weights have four axes";
    if (conv->groups < 1 || x.dim[1] != w.dim[1] * conv->groups || w.dim[0] % conv->groups)
        return "channels, weights and groups don't fit";
    x.dim[1] = w.dim[0];
    for (int i = 0; i < 2; i++) {
        int64_t padded = x.dim[2 + i] + conv->before[i] + conv->after[i];
        x.dim[2 + i] = places(padded, w.dim[2 + i], conv->stride[i], conv->dilation[i]);
        if (x.dim[2 + i] < 1)
            return "the image is smaller than the kernel";
    }
    *answer = (ShapeAnswer){ x, DTYPE_REAL };
    return NULL;
}

/* With ceil_mode a last window may hang over the padding, but must begin inside the image or its padding before it. */
static int64_t pooled(int64_t extent, const Pool *pool, int i)
{
    int64_t padded = extent + 2 * pool->padding[i];
    if (!pool->ceil_mode)
        return places(padded, pool->kernel[i], pool->stride[i], pool->dilation[i]);
    int64_t count = places(padded + pool->stride[i] - 1, pool->kernel[i], pool->stride[i], pool->dilation[i]);
    return count > 0 && (count - 1) * pool->stride[i] >= extent + pool->padding[i] ? count - 1 : count;
}

static const char *pool_shape(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape x = query->inputs[0]->shape;
    const Pool *pool = &query->at->pool;
    if (x.rank != 4)
        return "images have four axes";
    for (int i = 0; i < 2; i++) {
        x.dim[2 + i] = pool->adaptive ? pool->kernel[i] : pooled(x.dim[2 + i], pool, i);
        if (x.dim[2 + i] < 1)
            return "the image is smaller than the window";
    }
    *answer = (ShapeAnswer){ x, DTYPE_REAL };
    return NULL;
}

const char *shape_max_pool2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    return pool_shape(query, answer);
}

const char *shape_avg_pool2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    return pool_shape(query, answer);
}

const char *shape_resize2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape x = query->inputs[0]->shape;
    if (!query->given)
        return "its shape must be given";
    if (x.rank != 4 || query->given->rank != 4 || x.dim[0] != query->given->dim[0] || x.dim[1] != query->given->dim[1])
        return "only height and width may change";
    *answer = (ShapeAnswer){ *query->given, DTYPE_REAL };
    return NULL;
}

const char *shape_blur2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape x = query->inputs[0]->shape;
    if (x.rank != 4)
        return "images have four axes";
    for (int i = 0; i < 2; i++)
        x.dim[2 + i] = places(x.dim[2 + i] + 2, 3, query->at->blur.stride[i], 1);
    *answer = (ShapeAnswer){ x, DTYPE_REAL };
    return x.dim[2] < 1 || x.dim[3] < 1 ? "its stride is not positive" : NULL;
}
