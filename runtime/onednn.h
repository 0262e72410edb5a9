/* onednn.h -- convolutions and matrix products by oneDNN's C API, 2.6 or 3.x: activations (rows, height, width, channels),
 * weights (out channels, in channels / groups, height, width). The library picks its own layout of the weights. */
#pragma once
#include <dnnl.h>
#include <stdbool.h>

//% part dnnl_check needs fail
/* Exit 5 with the library's status. */
static void dnnl_check(dnnl_status_t status, const char *doing);

//% part dnnl_conv_plan needs dnnl_check
struct conv2d_shape {
    long rows, in_channels, height, width, out_channels, kernel[2], stride[2], before[2], after[2], dilation[2];
    long groups, out_height, out_width; /* [0] height, [1] width; padding before and after; dilation 1: none */
};
/* One direction: made at its first call. Weights are reordered on every call when the library wants them otherwise. */
struct dnnl_way {
    dnnl_primitive_t primitive, reorder;                /* NULL: not made; nothing to reorder */
    dnnl_memory_t image, result, weights, inside;       /* input side, output side, weights as we have them, as it wants them */
};
enum dnnl_direction { DNNL_FORWARD, DNNL_GRAD_INPUT, DNNL_GRAD_WEIGHT };
struct dnnl_conv {
    struct conv2d_shape shape;
    struct dnnl_way forward, grad_input, grad_weight;
};
static void dnnl_conv_setup(struct dnnl_conv *plan, struct conv2d_shape shape);
static void dnnl_conv_make(const struct dnnl_conv *plan, struct dnnl_way *way, enum dnnl_direction direction);
static void dnnl_conv_run(const struct dnnl_way *way, enum dnnl_direction direction, const float *image, const float *weights,
                          const float *result);

//% part dnnl_conv_forward needs dnnl_conv_plan
static void dnnl_conv_forward(struct dnnl_conv *plan, const float *x, const float *w, float *y);

//% part dnnl_conv_grad_input needs dnnl_conv_plan
static void dnnl_conv_grad_input(struct dnnl_conv *plan, const float *dy, const float *w, float *dx);

//% part dnnl_conv_grad_weight needs dnnl_conv_plan
static void dnnl_conv_grad_weight(struct dnnl_conv *plan, const float *dy, const float *x, float *dw);

//% part dnnl_conv needs dnnl_conv_forward dnnl_conv_grad_input dnnl_conv_grad_weight
/* Convolutions: all three directions. */

//% part dnnl_product needs dnnl_check
/* `batch` products y (rows, columns) = a b over `depth`; a is (rows, depth) or transposed, b (depth, columns) or transposed.
 * a_batch and b_batch lie between the matrices of one operand and the next (0: the same for all). */
static void dnnl_product(const float *a, const float *b, float *y, long batch, long rows, long columns, long depth, long a_batch,
                         long b_batch, bool transpose_a, bool transpose_b);
