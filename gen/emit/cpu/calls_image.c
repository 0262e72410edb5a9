/* calls_image.c -- convolutions, pooling, resizing, blurring. */
#include "emit/cpu/calls.h"

/* ---- convolutions: the same sizes for all three, so that one layer has one plan ---- */

typedef enum ConvSize {
    CONV_ROWS, CONV_IN_CHANNELS, CONV_HEIGHT, CONV_WIDTH, CONV_OUT_CHANNELS, CONV_KERNEL, CONV_KERNEL_WIDTH, CONV_STRIDE,
    CONV_STRIDE_WIDTH, CONV_BEFORE, CONV_BEFORE_WIDTH, CONV_AFTER, CONV_AFTER_WIDTH, CONV_DILATION, CONV_DILATION_WIDTH,
    CONV_GROUPS, CONV_OUT_HEIGHT, CONV_OUT_WIDTH, CONV_SIZES
} ConvSize;

typedef struct ConvNodes { const Node *x, *weight, *y; } ConvNodes;     /* or their gradients */

static ConvNodes conv_nodes(const Node *node)
{
    Node **in = node->inputs;
    switch (node->op) {
    case OP_conv2d:             return (ConvNodes){ in[0], in[1], node };
    case OP_conv2d_grad_input:  return (ConvNodes){ node, in[1], in[0] };
    case OP_conv2d_grad_weight: return (ConvNodes){ in[1], node, in[0] };
    default:                    bug("%s is no convolution", op_info[node->op].name);
    }
}

static int64_t conv_size(const Node *node, int which)
{
    const ConvNodes nodes = conv_nodes(node);
    const int64_t *x = nodes.x->shape.dim, *w = nodes.weight->shape.dim, *y = nodes.y->shape.dim;
    const Conv *conv = &node->at.conv;
    const int64_t sizes[CONV_SIZES] = {
        [CONV_ROWS] = x[0], [CONV_IN_CHANNELS] = x[1], [CONV_HEIGHT] = x[2], [CONV_WIDTH] = x[3],
        [CONV_OUT_CHANNELS] = y[1], [CONV_OUT_HEIGHT] = y[2], [CONV_OUT_WIDTH] = y[3], [CONV_GROUPS] = conv->groups,
        [CONV_KERNEL] = w[2], [CONV_KERNEL_WIDTH] = w[3],
        [CONV_STRIDE] = conv->stride[0], [CONV_STRIDE_WIDTH] = conv->stride[1],
        [CONV_BEFORE] = conv->before[0], [CONV_BEFORE_WIDTH] = conv->before[1],
        [CONV_AFTER] = conv->after[0], [CONV_AFTER_WIDTH] = conv->after[1],
        [CONV_DILATION] = conv->dilation[0], [CONV_DILATION_WIDTH] = conv->dilation[1],
    };
    return sizes[which];
}

/* Plans are named by their shape: layers of the same shape share one. */
static const char *conv_plan(Emit *emit, const Node *node)
{
    static const char setup[] = "dnnl_conv_setup(%s, (struct conv2d_shape){ .rows = %s, .in_channels = %s, .height = %s, "
        ".width = %s, .out_channels = %s, .kernel = { %s, %s }, .stride = { %s, %s }, .before = { %s, %s }, "
        ".after = { %s, %s }, .dilation = { %s, %s }, .groups = %s, .out_height = %s, .out_width = %s });";
    SizeOf *sizes[CONV_SIZES];
    int details[CONV_SIZES];
    for (int i = 0; i < CONV_SIZES; i++)
        sizes[i] = conv_size, details[i] = i;
    const ConvNodes nodes = conv_nodes(node);
    for (int axis = 0; axis < 4; axis++)        /* names the columns of the phase table that differ */
        emit_dim(emit, nodes.x, axis), emit_dim(emit, nodes.y, axis);
    const int64_t *w = nodes.weight->shape.dim;
    const char *hint = text_format(emit_arena(emit), "conv_%lldx%lld_%lld_%lld", (long long)w[2], (long long)w[3],
                                   (long long)nodes.x->shape.dim[1], (long long)nodes.y->shape.dim[1]);
    emit_part(emit, "dnnl_conv");
    return emit_plan(emit, "dnnl_conv", hint, setup, node, sizes, details, CONV_SIZES);
}

/* `name` is the plain kernel, `library` what the runtime calls it. */
static void conv_call(Emit *emit, const Node *node, const char *name, const char *library)
{
    const ConvNodes nodes = conv_nodes(node);
    const char *a = call_operand(emit, node, 0), *b = call_operand(emit, node, 1), *y = emit_tensor(emit, node);
    if (emit_library(emit)) {
        emit_line(emit, "%s(%s, %s, %s, %s);", library, conv_plan(emit, node), a, b, y);
        return;
    }
    const int64_t kernel[2] = { nodes.weight->shape.dim[2], nodes.weight->shape.dim[3] };
    const Conv *conv = &node->at.conv;
    emit_part(emit, name);
    emit_line(emit, "%s(%s, %s, %s, %s, %s, (window){ %s, %s, %s, %s }, %lld);", name, a, b, y, call_image(emit, nodes.x),
              call_image(emit, nodes.y), call_pair(emit, kernel), call_pair(emit, conv->stride), call_pair(emit, conv->before),
              call_pair(emit, conv->dilation), (long long)conv->groups);
}

void call_conv2d(Emit *emit, const Node *node)
{
    conv_call(emit, node, "conv2d", "dnnl_conv_forward");
}

void call_conv2d_grad_input(Emit *emit, const Node *node)
{
    conv_call(emit, node, "conv2d_grad_input", "dnnl_conv_grad_input");
}

void call_conv2d_grad_weight(Emit *emit, const Node *node)
{
    conv_call(emit, node, "conv2d_grad_weight", "dnnl_conv_grad_weight");
}

/* ---- pooling ---- */

static const char *pool_window(Emit *emit, const Pool *pool)
{
    return text_format(emit_arena(emit), "(window){ %s, %s, %s, %s }", call_pair(emit, pool->kernel),
                       call_pair(emit, pool->stride), call_pair(emit, pool->padding), call_pair(emit, pool->dilation));
}

/* In evaluation nobody asks where the largest was. */
void call_max_pool2d(Emit *emit, const Node *node)
{
    const char *argmax = emit_result(emit, node, 1);
    bool asked = !text_equal(argmax, "NULL");
    const Slot slot = { "argmax", asked ? "live" : NULL };
    const char *name = emit_instance(emit, "max_pool2d", &slot, 1, asked ? "" : "only");
    emit_line(emit, "%s(%s, %s, %s%s%s, %s, %s);", name, call_operand(emit, node, 0), emit_tensor(emit, node),
              asked ? argmax : "", asked ? ", " : "", call_image(emit, node->inputs[0]), call_image(emit, node),
              pool_window(emit, &node->at.pool));
}

void call_max_pool2d_grad(Emit *emit, const Node *node)
{
    emit_part(emit, "max_pool2d_grad");
    emit_line(emit, "max_pool2d_grad(%s, %s, %s, %s, %s, %s);", call_operand(emit, node, 0), call_operand(emit, node, 1),
              emit_tensor(emit, node), call_image(emit, node), call_image(emit, node->inputs[0]),
              pool_window(emit, &node->at.pool));
}

/* `in` is the image whose pixels are averaged, or its gradient. */
static void avg_call(Emit *emit, const Node *node, const Node *in, const Node *out, const char *windows,
                     const char *adaptive)
{
    const Pool *pool = &node->at.pool;
    const char *x = call_operand(emit, node, 0), *y = emit_tensor(emit, node);
    emit_part(emit, pool->adaptive ? adaptive : windows);
    if (pool->adaptive)
        emit_line(emit, "%s(%s, %s, %s, %s);", adaptive, x, y, call_image(emit, in), call_image(emit, out));
    else
        emit_line(emit, "%s(%s, %s, %s, %s, (window){ %s, %s, %s, {1, 1} }, %s);", windows, x, y, call_image(emit, in),
                  call_image(emit, out), call_pair(emit, pool->kernel), call_pair(emit, pool->stride),
                  call_pair(emit, pool->padding), pool->count_padding ? "true" : "false");
}

void call_avg_pool2d(Emit *emit, const Node *node)
{
    avg_call(emit, node, node->inputs[0], node, "avg_pool2d", "adaptive_avg_pool2d");
}

void call_avg_pool2d_grad(Emit *emit, const Node *node)
{
    avg_call(emit, node, node, node->inputs[0], "avg_pool2d_grad", "adaptive_avg_pool2d_grad");
}

/* ---- resizing, blurring ---- */

static void resize_call(Emit *emit, const Node *node, const Node *in, const Node *out, const char *nearest,
                        const char *bilinear)
{
    const Resize *resize = &node->at.resize;
    const char *name = resize->bilinear ? bilinear : nearest;
    const char *corners = !resize->bilinear ? "" : resize->align_corners ? "true, " : "false, ";
    emit_part(emit, name);
    emit_line(emit, "%s(%s, %s, %s, %s, %s%s, %s);", name, call_operand(emit, node, 0), emit_tensor(emit, node),
              call_image(emit, in), call_image(emit, out), corners, text_number(emit_arena(emit), resize->scale[0]),
              text_number(emit_arena(emit), resize->scale[1]));
}

void call_resize2d(Emit *emit, const Node *node)
{
    resize_call(emit, node, node->inputs[0], node, "resize2d_nearest", "resize2d_bilinear");
}

void call_resize2d_grad(Emit *emit, const Node *node)
{
    resize_call(emit, node, node, node->inputs[0], "resize2d_nearest_grad", "resize2d_bilinear_grad");
}

static void blur_call(Emit *emit, const Node *node, const Node *in, const Node *out, const char *name)
{
    emit_part(emit, name);
    emit_line(emit, "%s(%s, %s, %s, %s, %lld, %lld);", name, call_operand(emit, node, 0), emit_tensor(emit, node),
              call_image(emit, in), call_image(emit, out), (long long)node->at.blur.stride[0], (long long)node->at.blur.stride[1]);
}

void call_blur2d(Emit *emit, const Node *node)
{
    blur_call(emit, node, node->inputs[0], node, "blur2d");
}

void call_blur2d_grad(Emit *emit, const Node *node)
{
    blur_call(emit, node, node, node->inputs[0], "blur2d_grad");
}
