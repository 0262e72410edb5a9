/* model_text.c -- see model_text.h. */
#include "tests/ops/model_text.h"

typedef void WriteCall(OpCase *c, Buffer *out);

static Shape shape_in(const OpCase *c, const char *name)
{
    const Tensor *tensor = tensor_named(&c->tensors, name);
    return tensor ? tensor->shape : (Shape){ 0 };
}

static const char *truth(bool is)
{
    return is ? "true" : "false";
}

/* , .name = height, .name_width = width */
static void write_pair(OpCase *c, Buffer *out, const char *name, int64_t otherwise)
{
    int64_t pair[2];
    case_pair(c, name, otherwise, pair);
    buffer_add(out, ", .%s = %lld, .%s_width = %lld", name, (long long)pair[0], name, (long long)pair[1]);
}

static void write_kernel(Buffer *out, Shape weight)
{
    buffer_add(out, ", .kernel = %lld, .kernel_width = %lld", (long long)weight.dim[2],
               (long long)weight.dim[3]);
}

static void write_epsilon(OpCase *c, Buffer *out)
{
    buffer_add(out, ", .epsilon = %sf", text_number(out->arena, case_real(c, "eps", 1e-5)));
}

static bool has(const OpCase *c, const char *name)
{
    return tensor_named(&c->tensors, name) != NULL;
}

/* ---- products ---- */

static void write_linear(OpCase *c, Buffer *out)
{
    buffer_add(out, "linear(x, %lld, .no_bias = %s)", (long long)shape_in(c, "weight").dim[0],
               truth(!has(c, "bias")));
}

static void write_window(OpCase *c, Buffer *out)
{
    write_kernel(out, shape_in(c, "weight"));
    write_pair(c, out, "stride", 1);
    write_pair(c, out, "dilation", 1);
    buffer_add(out, ", .groups = %lld, .bias = %s", (long long)case_integer(c, "groups", 1),
               truth(has(c, "bias")));
}

static void write_conv2d(OpCase *c, Buffer *out)
{
    const Json *sides = json_get(c->attributes, "pad_left_right_top_bottom");
    buffer_add(out, "conv2d(x, %lld", (long long)shape_in(c, "weight").dim[0]);
    write_window(c, out);
    if (sides)
        buffer_add(out, ", .padding = %g, .padding_width = %g, .padding_after = %g, .padding_after_width = %g",
                   sides->items[2].number, sides->items[0].number, sides->items[3].number,
                   sides->items[1].number);
    else
        write_pair(c, out, "padding", 0);
    buffer_add(out, ")");
}

static void write_conv_transpose2d(OpCase *c, Buffer *out)
{
    buffer_add(out, "conv_transpose2d(x, %lld",
               (long long)(shape_in(c, "weight").dim[1] * case_integer(c, "groups", 1)));
    write_window(c, out);
    write_pair(c, out, "padding", 0);
    write_pair(c, out, "output_padding", 0);
    buffer_add(out, ")");
}

static void write_embedding(OpCase *c, Buffer *out)
{
    Shape table = shape_in(c, "weight");
    buffer_add(out, "embedding(x, %lld, %lld, .padding_row = %lld)", (long long)table.dim[0],
               (long long)table.dim[1], (long long)case_integer(c, "padding_idx", -1));
}

/* Keys and values are parameters of the model here; a mask or a hook can't be said in one call. */
static void write_attention(OpCase *c, Buffer *out)
{
    Shape k = shape_in(c, "k");
    const char *sizes = text_format(out->arena, "%lld, %lld, %lld, %lld", (long long)k.dim[0],
                                    (long long)k.dim[1], (long long)k.dim[2], (long long)k.dim[3]);
    if (!has(c, "key_padding_mask") && !json_get(c->attributes, "alibi_slopes"))
        buffer_add(out, "attention(x, parameter(\"k\", NULL, %s), parameter(\"v\", NULL, %s), .causal = %s)",
                   sizes, sizes, truth(case_truth(c, "causal")));
}

/* ---- norms ---- */

/* In evaluation the running statistics come as given; their gradient is nobody's. */
static void write_batch_norm(OpCase *c, Buffer *out)
{
    buffer_add(out, "batch_norm(x, .momentum = %sf, .group_size = %lld",
               text_number(out->arena, case_real(c, "momentum", 0.1)),
               (long long)case_integer(c, "ghost_batch_size", 0));
    write_epsilon(c, out);
    buffer_add(out, ")");
}

static void write_layer_norm(OpCase *c, Buffer *out)
{
    buffer_add(out, "layer_norm(x, .axes = %d, .no_affine = %s, .no_bias = %s",
               has(c, "weight") ? shape_in(c, "weight").rank : 1, truth(!has(c, "weight")),
               truth(!has(c, "bias")));
    write_epsilon(c, out);
    buffer_add(out, ")");
}

static void write_group_norm(OpCase *c, Buffer *out)
{
    buffer_add(out, "group_norm(x, %lld", (long long)case_integer(c, "groups", 1));
    write_epsilon(c, out);
    buffer_add(out, ")");
}

static void write_rms_norm(OpCase *c, Buffer *out)
{
    buffer_add(out, "rms_norm(x");
    write_epsilon(c, out);
    buffer_add(out, ")");
}

/* ---- windows ---- */

static void write_pool(OpCase *c, Buffer *out, const char *layer)
{
    buffer_add(out, "%s(x, .ceil_mode = %s", layer, truth(case_truth(c, "ceil_mode")));
    write_pair(c, out, "kernel", 1);
    write_pair(c, out, "stride", 1);
    write_pair(c, out, "padding", 0);
    write_pair(c, out, "dilation", 1);
}

static void write_max_pool2d(OpCase *c, Buffer *out)
{
    write_pool(c, out, "max_pool2d");
    buffer_add(out, ")");
}

static void write_avg_pool2d(OpCase *c, Buffer *out)
{
    write_pool(c, out, "avg_pool2d");
    buffer_add(out, ", .exclude_padding = %s)", truth(!case_truth(c, "count_include_pad")));
}

static void write_adaptive_avg_pool2d(OpCase *c, Buffer *out)
{
    int64_t size[2];
    case_pair(c, "size", 1, size);
    buffer_add(out, "adaptive_avg_pool2d(x, %lld, %lld)", (long long)size[0], (long long)size[1]);
}

static void write_blur2d(OpCase *c, Buffer *out)
{
    buffer_add(out, "blur2d(x");
    write_pair(c, out, "stride", 1);
    buffer_add(out, ")");
}

static void write_interpolate(OpCase *c, Buffer *out)
{
    Shape y = shape_in(c, "output");
    bool bilinear = text_equal(json_text(c->attributes, "mode", ""), "bilinear");
    buffer_add(out, "resize2d(x, %lld, %lld, .bilinear = %s, .align_corners = %s", (long long)y.dim[2],
               (long long)y.dim[3], truth(bilinear), truth(case_truth(c, "align_corners")));
    if (json_get(c->attributes, "scale"))
        buffer_add(out, ", .scale = %sf", text_number(out->arena, case_real(c, "scale", 0)));
    buffer_add(out, ")");
}

/* ---- softmax and activations ---- */

static void write_softmax(OpCase *c, Buffer *out)
{
    buffer_add(out, "softmax(x, %lld)", (long long)case_integer(c, "dim", 0));
}

static void write_log_softmax(OpCase *c, Buffer *out)
{
    buffer_add(out, "log_softmax(x, %lld)", (long long)case_integer(c, "dim", 0));
}

static void write_gelu(OpCase *c, Buffer *out)
{
    bool is_tanh = text_equal(json_text(c->attributes, "approximate", "none"), "tanh");
    buffer_add(out, is_tanh ? "gelu_tanh(x)" : "gelu(x)");
}

static void write_leaky_relu(OpCase *c, Buffer *out)
{
    buffer_add(out, "leaky_relu(x, %sf)", text_number(out->arena, case_real(c, "slope", 0.01)));
}

static void write_softplus(OpCase *c, Buffer *out)
{
    if (case_real(c, "beta", 1) == 1)
        buffer_add(out, "softplus(x)");
}

static const struct { const char *op; WriteCall *write; const char *plain; } calls[] = {
    { "linear", write_linear, NULL },
    { "conv2d", write_conv2d, NULL },
    { "conv_transpose2d", write_conv_transpose2d, NULL },
    { "embedding", write_embedding, NULL },
    { "attention", write_attention, NULL },
    { "batch_norm", write_batch_norm, NULL },
    { "ghost_batch_norm", write_batch_norm, NULL },
    { "layer_norm", write_layer_norm, NULL },
    { "group_norm", write_group_norm, NULL },
    { "rms_norm", write_rms_norm, NULL },
    { "max_pool2d", write_max_pool2d, NULL },
    { "avg_pool2d", write_avg_pool2d, NULL },
    { "adaptive_avg_pool2d", write_adaptive_avg_pool2d, NULL },
    { "global_avg_pool2d", NULL, "global_avg_pool2d(x)" },
    { "blur2d", write_blur2d, NULL },
    { "interpolate", write_interpolate, NULL },
    { "softmax", write_softmax, NULL },
    { "log_softmax", write_log_softmax, NULL },
    { "gelu", write_gelu, NULL },
    { "leaky_relu", write_leaky_relu, NULL },
    { "softplus", write_softplus, NULL },
    { "relu", NULL, "relu(x)" },
    { "silu", NULL, "silu(x)" },
    { "sigmoid", NULL, "sigmoid(x)" },
    { "tanh", NULL, "tanh_of(x)" },
    { "hardswish", NULL, "hardswish(x)" },
    { "hardsigmoid", NULL, "hardsigmoid(x)" },
    { "elu", NULL, "elu(x)" },
    { "exp", NULL, "exp_of(x)" },
};

const char *model_call(OpCase *c, const char *op)
{
    Buffer out = { .arena = c->trial->arena };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (text_equal(calls[i].op, op)) {
            if (calls[i].plain)
                return calls[i].plain;
            calls[i].write(c, &out);
            return out.count ? buffer_text(&out) : NULL;
        }
    return NULL;
}

const char *model_input(const OpCase *c)
{
    static const char *const names[] = { "x", "q", "ids", "logits" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has(c, names[i]))
            return names[i];
    return NULL;
}
