/* linear.c -- layers that are products with a weight: linear, convolutions, embeddings. */
#include "front/layers/call.h"

bool make_linear(Call *call)
{
    Node *x = call_tensor(call, 0);
    int64_t features = call_integer(call, 1);
    const Value *options = call_options(call);
    if (!x || !call_needs_positive(call, "the number of features", features))
        return false;
    if (x->shape.rank != 2 && x->shape.rank != 3)
        return call_needs_rank(call, x, 2, x->shape.rank == 4
                               ? "(rows, features) or (rows, length, features); flatten images first"
                               : "(rows, features) or (rows, length, features)");
    int64_t inputs = x->shape.dim[x->shape.rank - 1];
    bool fan_in_first = option_truth(options, "fan_in_first");
    Weight weight = {
        .layer = call->name, .part = "weight", .role = LINEAR_WEIGHT, .fan_in = inputs, .fan_out = features,
        .shape = fan_in_first ? shape_of(2, inputs, features) : shape_of(2, features, inputs),
        .init = option_text(options, "weight_init"), .scale = option_number(options, "init_scale"),
        .fan_in_first = fan_in_first,
    };
    Weight bias = {
        .layer = call->name, .part = "bias", .role = LINEAR_BIAS, .fan_in = inputs, .fan_out = features,
        .shape = shape_of(1, features), .init = option_text(options, "bias_init"),
    };
    bool has_bias = !option_truth(options, "no_bias");
    Node *w = call_weight(call, &weight), *b = w && has_bias ? call_weight(call, &bias) : NULL;
    if (!w || (has_bias && !b))
        return false;
    has_bias ? call_part(call, "product") : (void)call_name(call);
    Node *y = build_matmul(call->builder->graph, x, w, false, !fan_in_first);
    if (has_bias) {
        call_name(call);
        y = build_add(call->builder->graph, y, b);
    }
    return call_return(call, y);
}

/* ---- convolutions ---- */

typedef struct Window {
    int64_t kernel[2], groups;
    Conv conv;
} Window;

static bool read_window(Call *call, Window *window)
{
    const Value *options = call_options(call);
    *window = (Window){ .groups = option_integer(options, "groups") };
    Conv *conv = &window->conv;
    option_pair(options, "kernel", window->kernel);
    option_pair(options, "stride", conv->stride);
    option_pair(options, "padding", conv->before);
    option_pair(options, "dilation", conv->dilation);
    int64_t after[2] = { option_integer(options, "padding_after"),
                         option_integer(options, "padding_after_width") };
    bool has_after = option_integer(options, "padding_after") >= 0 && value_field(options, "padding_after");
    conv->after[0] = has_after ? after[0] : conv->before[0];
    conv->after[1] = after[1] >= 0 && value_field(options, "padding_after_width") ? after[1]
                   : has_after ? after[0] : conv->before[1];
    conv->groups = window->groups;
    if (conv->before[0] < 0 || conv->before[1] < 0)
        return call_error(call, "%s: padding may not be negative", call->word);
    for (int i = 0; i < 2; i++)
        if (!call_needs_positive(call, "kernel", window->kernel[i])
            || !call_needs_positive(call, "stride", conv->stride[i])
            || !call_needs_positive(call, "dilation", conv->dilation[i]))
            return false;
    return call_needs_positive(call, "groups", window->groups);
}

/* Channels in and out must both divide into the groups. */
static bool check_groups(Call *call, const Node *x, int64_t channels, int64_t groups)
{
    if (!call_needs_positive(call, "the number of channels", channels))
        return false;
    if (x->shape.dim[1] % groups == 0 && channels % groups == 0)
        return true;
    return call_error(call, "%s: %lld channels in and %lld out do not both divide into %lld groups",
                      call->word, (long long)x->shape.dim[1], (long long)channels, (long long)groups);
}

/* The weight that conv2d(x, channels, options) makes; `layer` names it. */
static Node *conv2d_weight_of(Call *call, const char *layer, const Node *x, int64_t channels,
                              const Window *window)
{
    int64_t inputs = x->shape.dim[1] / window->groups, area = window->kernel[0] * window->kernel[1];
    return call_weight(call, &(Weight){
        .layer = layer, .part = "weight", .role = CONV_WEIGHT,
        .fan_in = inputs * area, .fan_out = channels * area,
        .shape = shape_of(4, channels, inputs, window->kernel[0], window->kernel[1]),
        .init = option_text(call_options(call), "weight_init"),
    });
}

static Node *conv_bias_of(Call *call, const char *layer, int64_t channels, int64_t fan_in, int64_t fan_out)
{
    return call_weight(call, &(Weight){
        .layer = layer, .part = "bias", .role = BIAS, .fan_in = fan_in, .fan_out = fan_out,
        .shape = shape_of(1, channels), .init = option_text(call_options(call), "bias_init"),
    });
}

static Node *conv2d_bias_of(Call *call, const char *layer, const Node *x, int64_t channels,
                            const Window *window)
{
    int64_t area = window->kernel[0] * window->kernel[1];
    return conv_bias_of(call, layer, channels, x->shape.dim[1] / window->groups * area, channels * area);
}

static bool convolve(Call *call, Node *x, Node *weight, Node *bias, const Window *window)
{
    const Conv *conv = &window->conv;
    for (int i = 0; i < 2; i++)
        if (!window_count(x->shape.dim[2 + i], conv->before[i], conv->after[i], window->kernel[i],
                          conv->stride[i], conv->dilation[i]))
            return call_image_too_small(call, x, window->kernel);
    bias ? call_part(call, "product") : (void)call_name(call);
    Node *y = node_add(call->builder->graph, OP_conv2d, (Node *[]){ x, weight }, 2,
                       &(Attributes){ .conv = *conv });
    return call_return(call, bias ? call_add_bias(call, y, bias) : y);
}

/* Reads and checks the arguments that conv2d, conv2d_weight and conv2d_bias share. */
static Node *read_conv2d(Call *call, Window *window)
{
    Node *x = call_tensor(call, 0);
    bool ok = x && call_needs_images(call, x) && read_window(call, window)
           && check_groups(call, x, call_integer(call, 1), window->groups);
    return ok ? x : NULL;
}

bool make_conv2d(Call *call)
{
    Window window;
    Node *x = read_conv2d(call, &window), *bias = NULL;
    if (!x)
        return false;
    int64_t channels = call_integer(call, 1);
    Node *weight = conv2d_weight_of(call, call->name, x, channels, &window);
    if (!weight)
        return false;
    if (option_truth(call_options(call), "bias")
        && !(bias = conv2d_bias_of(call, call->name, x, channels, &window)))
        return false;
    return convolve(call, x, weight, bias, &window);
}

/* The layer whose weight is asked for by itself: the matched one, or that of `.name`. */
static const char *layer_asked(Call *call)
{
    const char *given = option_text(call_options(call), "name");
    const char *matched = builder_matched(call->builder, LAYER_conv2d);
    if (!given && !matched)
        call_error(call, "%s needs `.name` outside of REWRITE(conv2d)", call->site->callee);
    return given ? builder_path(call->builder, given) : matched;
}

bool make_conv2d_weight(Call *call)
{
    Window window;
    Node *x = read_conv2d(call, &window);
    const char *layer = x ? layer_asked(call) : NULL;
    Node *weight = layer ? conv2d_weight_of(call, layer, x, call_integer(call, 1), &window) : NULL;
    return weight && call_return(call, weight);
}

bool make_conv2d_bias(Call *call)
{
    Window window;
    Node *x = read_conv2d(call, &window);
    const char *layer = x ? layer_asked(call) : NULL;
    if (!layer)
        return false;
    if (!option_truth(call_options(call), "bias"))
        return call_return(call, NULL);
    Node *bias = conv2d_bias_of(call, layer, x, call_integer(call, 1), &window);
    return bias && call_return(call, bias);
}

bool make_conv2d_operation(Call *call)
{
    Node *x = call_tensor(call, 0), *weight = x ? call_tensor(call, 1) : NULL;
    Node *bias = call->arguments[2].tensor;
    Window window;
    if (!weight || !read_window(call, &window) || !call_needs_images(call, x)
        || !call_needs_rank(call, weight, 4, "a weight (channels, channels in, height, width)"))
        return false;
    window.kernel[0] = weight->shape.dim[2];
    window.kernel[1] = weight->shape.dim[3];
    int64_t channels = weight->shape.dim[0];
    if (!check_groups(call, x, channels, window.groups))
        return false;
    if (weight->shape.dim[1] * window.groups != x->shape.dim[1])
        return call_mismatch(call, x, weight, "do not convolve: the weight is for %lld channels",
                             (long long)(weight->shape.dim[1] * window.groups));
    if (bias && (bias->shape.rank != 1 || bias->shape.dim[0] != channels))
        return call_mismatch(call, weight, bias, "are not the weight and bias of one convolution");
    return convolve(call, x, weight, bias, &window);
}

/* PyTorch's: H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + output padding + 1. It is what the
 * gradient of a convolution from (channels, H') to (x's channels, H) does to x. */
bool make_conv_transpose2d(Call *call)
{
    Window window;
    Node *x = read_conv2d(call, &window), *bias = NULL;
    if (!x)
        return false;
    const Value *options = call_options(call);
    int64_t channels = call_integer(call, 1), extra[2], size[2], area = window.kernel[0] * window.kernel[1];
    option_pair(options, "output_padding", extra);
    for (int i = 0; i < 2; i++) {
        const Conv *conv = &window.conv;
        if (extra[i] < 0 || extra[i] >= conv->stride[i])
            return call_error(
                call, "conv_transpose2d: output_padding is %lld; it must be smaller than the stride, %lld",
                (long long)extra[i], (long long)conv->stride[i]);
        size[i] = (x->shape.dim[2 + i] - 1) * conv->stride[i] - 2 * conv->before[i]
                + conv->dilation[i] * (window.kernel[i] - 1) + extra[i] + 1;
        if (!call_needs_positive(call, "the size of the result", size[i]))
            return false;
    }
    int64_t inputs = x->shape.dim[1], outputs = channels / window.groups;
    Node *weight = call_weight(call, &(Weight){
        .layer = call->name, .part = "weight", .role = CONV_WEIGHT, .apart = true,
        .fan_in = outputs * area, .fan_out = inputs * area, .init = option_text(options, "weight_init"),
        .shape = shape_of(4, inputs, outputs, window.kernel[0], window.kernel[1]),
    });
    if (!weight || (option_truth(options, "bias")
                    && !(bias = conv_bias_of(call, call->name, channels, outputs * area, inputs * area))))
        return false;
    bias ? call_part(call, "product") : (void)call_name(call);
    Node *y = node_add_shaped(call->builder->graph, OP_conv2d_grad_input, (Node *[]){ x, weight }, 2,
                              &(Attributes){ .conv = window.conv },
                              shape_of(4, x->shape.dim[0], channels, size[0], size[1]), DTYPE_REAL);
    return call_return(call, bias ? call_add_bias(call, y, bias) : y);
}

/* ---- embeddings ---- */

/* A table of vectors, normal(0, 1) as PyTorch's; the padding row starts as zero. */
static Node *embedding_table(Call *call, int64_t rows, int64_t channels, int64_t padding_row)
{
    ExprPool *pool = call->builder->graph->exprs;
    const char *name = text_format(call->builder->arena, "%s.weight", call->name);
    const Expr *initial = expr_random(pool, EXPR_normal, text_hash(name), 0, NULL, NULL);
    if (padding_row >= 0) {
        const Expr *here = expr_binary(pool, EXPR_eq, expr_index(pool, 0), expr_integer(pool, padding_row));
        initial = expr_select(pool, here, expr_number(pool, 0), initial);
    }
    return call_weight(call, &(Weight){
        .layer = call->name, .part = "weight", .shape = shape_of(2, rows, channels), .role = EMBEDDING_WEIGHT,
        .fan_in = channels, .fan_out = rows, .initial = initial,
        .init = option_text(call_options(call), "weight_init"),
    });
}

bool make_embedding(Call *call)
{
    Node *ids = call_tensor(call, 0);
    int64_t rows = call_integer(call, 1), channels = call_integer(call, 2);
    int64_t padding_row = option_integer(call_options(call), "padding_row");
    if (!ids || !call_needs_positive(call, "the number of rows", rows)
        || !call_needs_positive(call, "the number of channels", channels))
        return false;
    if (ids->dtype != DTYPE_INT32)
        return call_error(call, "embedding takes whole numbers (tokens)");
    if (padding_row >= rows)
        return call_error(call, "embedding: the padding row is %lld, but there are %lld rows",
                          (long long)padding_row, (long long)rows);
    Node *table = embedding_table(call, rows, channels, padding_row);
    if (!table)
        return false;
    Attributes at = { .gather = { .padding_row = padding_row } };
    return call_return(call, call_add(call, OP_gather, (Node *[]){ table, ids }, 2, &at));
}

bool make_position_embedding(Call *call)
{
    Node *x = call_tensor(call, 0);
    int64_t context = call_integer(call, 1);
    if (!x || !call_needs_rank(call, x, 3, "(rows, length, channels)")
        || !call_needs_positive(call, "context", context))
        return false;
    int64_t length = x->shape.dim[1];
    if (length > context)
        return call_error(call, "position_embedding: text of length %lld is longer than the %lld positions",
                          (long long)length, (long long)context);
    Node *table = embedding_table(call, context, x->shape.dim[2], -1);
    if (!table)
        return false;
    Graph *graph = call->builder->graph;
    call_part(call, "positions");               /* at any length, so that all phases have the same nodes */
    table = build_slice(graph, table, 0, 0, length, 1);
    call_name(call);
    return call_return(call, build_add(graph, x, table));
}
