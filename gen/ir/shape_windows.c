/* shape_windows.c -- shape rules of convolutions, pooling, resizing and blurring: images (N, C, H, W).
 *
 * Of a gradient the shape of x is given; it must be one that the op itself makes dy's shape of. */
#include "ir/shape_inside.h"

/* Places of a window of `kernel` taps along `extent` padded positions; 0 when it does not fit. */
static int64_t places(int64_t extent, int64_t kernel, int64_t stride, int64_t dilation)
{
    int64_t reach = dilation * (kernel - 1) + 1;
    return extent < reach ? 0 : (extent - reach) / stride + 1;
}

/* ---- convolutions ---- */

static bool conv_is_sane(const Conv *conv)
{
    bool sane = shape_size_is_sane(conv->groups, 1);
    for (int i = 0; i < 2; i++)
        sane = sane && shape_size_is_sane(conv->stride[i], 1) && shape_size_is_sane(conv->dilation[i], 1)
            && shape_size_is_sane(conv->before[i], 0) && shape_size_is_sane(conv->after[i], 0);
    return sane;
}

/* conv2d(x, w) -> y */
static const char *convolved(Shape x, Shape w, const Conv *conv, Shape *y)
{
    if (!conv_is_sane(conv))
        return "its strides, dilations, paddings or groups make no sense";
    if (x.rank != 4 || w.rank != 4)
        return "images and weights have four axes";
    if (x.dim[1] != w.dim[1] * conv->groups || w.dim[0] % conv->groups)
        return "channels, weights and groups don't fit";
    *y = x;
    y->dim[1] = w.dim[0];
    for (int i = 0; i < 2; i++) {
        int64_t padded = x.dim[2 + i] + conv->before[i] + conv->after[i];
        y->dim[2 + i] = places(padded, w.dim[2 + i], conv->stride[i], conv->dilation[i]);
        if (y->dim[2 + i] < 1)
            return "the image is smaller than the kernel";
    }
    return NULL;
}

const char *shape_conv2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape y;
    const char *wrong = convolved(shape_of_input(query, 0), shape_of_input(query, 1), &query->at->conv, &y);
    return wrong ? wrong : shape_answer(answer, y, DTYPE_REAL);
}

/* Both gradients: the convolution of x with w makes dy's shape. */
static const char *conv_gradient(const ShapeQuery *query, Shape x, Shape w, ShapeAnswer *answer)
{
    Shape y;
    const char *wrong = convolved(x, w, &query->at->conv, &y);
    if (!wrong && !shape_equal(y, shape_of_input(query, 0)))
        wrong = "its convolution does not make the shape of dy";
    return wrong ? wrong : shape_answer(answer, *query->given, DTYPE_REAL);
}

const char *shape_conv2d_input(const ShapeQuery *query, ShapeAnswer *answer)
{
    if (!query->given)
        return "its shape must be given";
    return conv_gradient(query, *query->given, shape_of_input(query, 1), answer);
}

const char *shape_conv2d_weight(const ShapeQuery *query, ShapeAnswer *answer)
{
    if (!query->given)
        return "its shape must be given";
    return conv_gradient(query, shape_of_input(query, 1), *query->given, answer);
}

/* ---- pooling ---- */

static bool pool_is_sane(const Pool *pool)
{
    bool sane = true;
    for (int i = 0; i < 2; i++)
        sane = sane && shape_size_is_sane(pool->kernel[i], 1) && shape_size_is_sane(pool->stride[i], 1)
            && shape_size_is_sane(pool->dilation[i], 1) && shape_size_is_sane(pool->padding[i], 0);
    return sane;
}

/* With ceil_mode a last window may hang over the padding, but must begin inside the image or its padding before
 * it. */
static int64_t windows_along(int64_t extent, const Pool *pool, int i)
{
    int64_t padded = extent + 2 * pool->padding[i];
    if (pool->adaptive)
        return pool->kernel[i];
    if (!pool->ceil_mode)
        return places(padded, pool->kernel[i], pool->stride[i], pool->dilation[i]);
    int64_t count = places(padded + pool->stride[i] - 1, pool->kernel[i], pool->stride[i], pool->dilation[i]);
    return count > 0 && (count - 1) * pool->stride[i] >= extent + pool->padding[i] ? count - 1 : count;
}

static const char *pooled(Shape x, const Pool *pool, Shape *y)
{
    if (!pool_is_sane(pool))
        return "its kernels, strides, dilations or paddings make no sense";
    if (x.rank != 4)
        return "images have four axes";
    *y = x;
    for (int i = 0; i < 2; i++) {
        y->dim[2 + i] = windows_along(x.dim[2 + i], pool, i);
        if (y->dim[2 + i] < 1)
            return "the image is smaller than the window";
    }
    return NULL;
}

static const char *pool_rule(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape y;
    const char *wrong = pooled(shape_of_input(query, 0), &query->at->pool, &y);
    return wrong ? wrong : shape_answer(answer, y, DTYPE_REAL);
}

static const char *pool_gradient(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape y;
    if (!query->given)
        return "its shape must be given";
    const char *wrong = pooled(*query->given, &query->at->pool, &y);
    if (!wrong && !shape_equal(y, shape_of_input(query, 0)))
        wrong = "its pooling does not make the shape of dy";
    return wrong ? wrong : shape_answer(answer, *query->given, DTYPE_REAL);
}

const char *shape_max_pool2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    return query->at->pool.adaptive ? "only averages are adaptive" : pool_rule(query, answer);
}

const char *shape_max_pool2d_x(const ShapeQuery *query, ShapeAnswer *answer)
{
    const Node *dy = query->inputs[0], *argmax = query->inputs[1];
    if (!shape_equal(dy->shape, argmax->shape) || !dtype_is_whole(argmax->dtype))
        return "its second input is not where the largest elements are";
    return pool_gradient(query, answer);
}

const char *shape_avg_pool2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    return pool_rule(query, answer);
}

const char *shape_avg_pool2d_x(const ShapeQuery *query, ShapeAnswer *answer)
{
    return pool_gradient(query, answer);
}

/* ---- resizing and blurring ---- */

const char *shape_resize2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape x = shape_of_input(query, 0);
    const Resize *resize = &query->at->resize;
    if (!query->given)
        return "its shape must be given";
    Shape y = *query->given;
    if (x.rank != 4 || y.rank != 4 || x.dim[0] != y.dim[0] || x.dim[1] != y.dim[1])
        return "only height and width may change";
    if (!(resize->scale[0] >= 0 && resize->scale[1] >= 0))
        return "its scale is negative";
    return shape_answer(answer, y, DTYPE_REAL);
}

const char *shape_resize2d_x(const ShapeQuery *query, ShapeAnswer *answer)
{
    return shape_resize2d(query, answer);
}

static const char *blurred(Shape x, const int64_t *stride, Shape *y)
{
    if (x.rank != 4)
        return "images have four axes";
    *y = x;
    for (int i = 0; i < 2; i++) {
        if (!shape_size_is_sane(stride[i], 1))
            return "its stride is not positive";
        y->dim[2 + i] = places(x.dim[2 + i] + 2, 3, stride[i], 1);
    }
    return NULL;
}

const char *shape_blur2d(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape y;
    const char *wrong = blurred(shape_of_input(query, 0), query->at->blur.stride, &y);
    return wrong ? wrong : shape_answer(answer, y, DTYPE_REAL);
}

const char *shape_blur2d_x(const ShapeQuery *query, ShapeAnswer *answer)
{
    Shape y;
    if (!query->given)
        return "its shape must be given";
    const char *wrong = blurred(*query->given, query->at->blur.stride, &y);
    if (!wrong && !shape_equal(y, shape_of_input(query, 0)))
        wrong = "its blurring does not make the shape of dy";
    return wrong ? wrong : shape_answer(answer, *query->given, DTYPE_REAL);
}
