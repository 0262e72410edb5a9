/* cases_layers.c -- reference cases of products, attention, norms, and what is done element by element. */
#include <math.h>

#include "front/layers/call.h"
#include "tests/ops/cases.h"

/* x + bias of its channels (axis 1) */
static Node *plus_bias(OpCase *c, Node *x, Node *bias)
{
    if (!bias)
        return x;
    return build_add(c->graph, x,
                     build_reshape(c->graph, bias, shape_of(3, bias->shape.dim[0], (int64_t)1, (int64_t)1)));
}

/* ---- products ---- */

Node *case_linear(OpCase *c)
{
    Node *y = build_matmul(c->graph, case_tensor(c, "x"), case_tensor(c, "weight"), false, true);
    Node *bias = case_tensor(c, "bias");
    return bias ? build_add(c->graph, y, bias) : y;
}

Node *case_matmul(OpCase *c)
{
    return build_matmul(c->graph, case_tensor(c, "x"), case_tensor(c, "y"), false, false);
}

static Conv read_conv(OpCase *c)
{
    Conv conv = { .groups = case_integer(c, "groups", 1) };
    case_pair(c, "stride", 1, conv.stride);
    case_pair(c, "dilation", 1, conv.dilation);
    case_pair(c, "padding", 0, conv.before);
    case_pair(c, "padding", 0, conv.after);
    const Json *sides = json_get(c->attributes, "pad_left_right_top_bottom");
    for (int i = 0; sides && i < 2; i++) {
        conv.before[1 - i] = (int64_t)sides->items[2 * i].number;
        conv.after[1 - i] = (int64_t)sides->items[2 * i + 1].number;
    }
    return conv;
}

static Node *convolve(OpCase *c, Node *x, const Conv *conv)
{
    Node *inputs[2] = { x, case_tensor(c, "weight") };
    return plus_bias(c, node_add(c->graph, OP_conv2d, inputs, 2, &(Attributes){ .conv = *conv }),
                     case_tensor(c, "bias"));
}

Node *case_conv2d(OpCase *c)
{
    Conv conv = read_conv(c);
    return convolve(c, case_tensor(c, "x"), &conv);
}

Node *case_conv_transpose2d(OpCase *c)
{
    Conv conv = read_conv(c);
    Node *inputs[2] = { case_tensor(c, "x"), case_tensor(c, "weight") };
    int64_t extra[2];
    case_pair(c, "output_padding", 0, extra);
    Shape shape = inputs[0]->shape, kernel = inputs[1]->shape;
    shape.dim[1] = kernel.dim[1] * conv.groups;
    for (int i = 0; i < 2; i++)
        shape.dim[2 + i] = (shape.dim[2 + i] - 1) * conv.stride[i] - 2 * conv.before[i]
                         + conv.dilation[i] * (kernel.dim[2 + i] - 1) + extra[i] + 1;
    Attributes at = { .conv = conv };
    Node *y = node_add_shaped(c->graph, OP_conv2d_grad_input, inputs, 2, &at, shape, DTYPE_REAL);
    return plus_bias(c, y, case_tensor(c, "bias"));
}

static Node *blurred(OpCase *c, Node *x, const int64_t stride[2])
{
    return node_add(c->graph, OP_blur2d, &x, 1, &(Attributes){ .blur = { { stride[0], stride[1] } } });
}

Node *case_blur_conv2d(OpCase *c)
{
    static const int64_t one[2] = { 1, 1 };
    Conv conv = read_conv(c);
    if (case_truth(c, "blur_first"))
        return convolve(c, blurred(c, case_tensor(c, "x"), one), &conv);
    int64_t stride[2] = { conv.stride[0], conv.stride[1] };
    conv.stride[0] = conv.stride[1] = 1;
    return blurred(c, convolve(c, case_tensor(c, "x"), &conv), stride);
}

Node *case_blur2d(OpCase *c)
{
    int64_t stride[2];
    case_pair(c, "stride", 1, stride);
    return blurred(c, case_tensor(c, "x"), stride);
}

Node *case_blur_max_pool2d(OpCase *c)
{
    Attributes at = { .pool = { .stride = { 1, 1 }, .dilation = { 1, 1 } } };
    Node *x = case_tensor(c, "x");
    int64_t stride[2];
    case_pair(c, "kernel", 0, at.pool.kernel);
    case_pair(c, "padding", 0, at.pool.padding);
    case_pair(c, "stride", 1, stride);
    return blurred(c, node_add(c->graph, OP_max_pool2d, &x, 1, &at), stride);
}

Node *case_embedding(OpCase *c)
{
    Attributes at = { .gather = { case_integer(c, "padding_idx", -1) } };
    return node_add(c->graph, OP_gather, (Node *[]){ case_tensor(c, "weight"), case_tensor(c, "ids") }, 2, &at);
}

/* ---- attention ---- */

/* score + slope of the head * key */
static const Expr *alibi(OpCase *c, const Json *slopes)
{
    ExprPool *pool = c->graph->exprs;
    double *values = arena_array(c->trial->arena, double, slopes->count);
    Table *table = arena_new(c->trial->arena, Table);
    for (int i = 0; i < slopes->count; i++)
        values[i] = slopes->items[i].number;
    *table = (Table){ .name = "slopes", .values = values, .count = slopes->count };
    const Expr *slope = expr_table(pool, table, expr_index(pool, 0));
    const Expr *key = expr_convert(pool, expr_index(pool, 2), TYPE_FLOAT);
    return expr_binary(pool, EXPR_add, expr_input(pool, 0, TYPE_FLOAT),
                       expr_binary(pool, EXPR_mul, slope, key));
}

Node *case_attention(OpCase *c)
{
    Node *inputs[4] = { case_tensor(c, "q"), case_tensor(c, "k"), case_tensor(c, "v"),
                        case_tensor(c, "key_padding_mask") };
    Attributes at = { .attention = { case_truth(c, "causal"), 1 / sqrt((double)inputs[0]->shape.dim[3]) } };
    Node *y = node_add(c->graph, OP_attention, inputs, inputs[3] ? 4 : 3, &at);
    const Json *slopes = json_get(c->attributes, "alibi_slopes");
    y->expr = slopes ? alibi(c, slopes) : NULL;
    case_extra(c, "log_sum_exp", node_result(c->graph, y, 1));
    return y;
}

/* ---- norms ---- */

static Node *moments_of(OpCase *c, Node *x, const Norm *norm)
{
    return node_add(c->graph, OP_moments, &x, 1, &(Attributes){ .norm = *norm });
}

static Node *normalized(OpCase *c, Node *x, Node *moments, const Norm *norm)
{
    Node *inputs[4] = { x, moments, case_tensor(c, "weight"), case_tensor(c, "bias") };
    int count = inputs[3] ? 4 : inputs[2] ? 3 : 2;
    return node_add(c->graph, OP_normalize, inputs, count, &(Attributes){ .norm = *norm });
}

static void update_running(OpCase *c, const Norm *norm, Node *x, Node *moments, int which)
{
    Node *running = case_tensor(c, which ? "running_var" : "running_mean");
    int64_t rows = x->shape.dim[0], pixels = shape_elements(x->shape) / rows / x->shape.dim[1];
    int64_t piece = (rows + norm->pieces - 1) / norm->pieces;
    Attributes at = { .running = { .which = which, .momentum = case_real(c, "momentum", 0.1) / norm->pieces,
                                   .pieces = norm->pieces, .count = piece * pixels,
                                   .last_count = (rows - piece * (norm->pieces - 1)) * pixels } };
    case_extra(c, which ? "new_running_var" : "new_running_mean",
               node_add(c->graph, OP_running_update, (Node *[]){ running, moments }, 2, &at));
}

/* Row `which` of the moments, (C). */
static Node *moments_row(OpCase *c, Node *moments, int which)
{
    Node *row = build_slice(c->graph, moments, 0, which, which + 1, 1);
    return build_reshape(c->graph, row, shape_of(1, moments->shape.dim[1]));
}

static Node *train_batch_norm(OpCase *c, int pieces)
{
    Norm norm = { .kind = NORM_BATCH, .epsilon = case_real(c, "eps", 1e-5), .pieces = pieces };
    Node *x = case_tensor(c, "x"), *moments = moments_of(c, x, &norm);
    update_running(c, &norm, x, moments, 0);
    update_running(c, &norm, x, moments, 1);
    if (tensor_named(&c->tensors, "batch_mean")) {
        case_extra(c, "batch_mean", moments_row(c, moments, 0));
        case_extra(c, "batch_var_biased", moments_row(c, moments, 1));
    }
    return normalized(c, x, moments, &norm);
}

Node *case_batch_norm(OpCase *c)
{
    if (case_truth(c, "training"))
        return train_batch_norm(c, 1);
    Norm norm = { .kind = NORM_BATCH, .epsilon = case_real(c, "eps", 1e-5), .pieces = 1 };
    Node *mean = case_tensor(c, "running_mean"), *variance = case_tensor(c, "running_var");
    Shape row = shape_of(2, (int64_t)1, mean->shape.dim[0]);
    Node *rows[2] = { build_reshape(c->graph, mean, row), build_reshape(c->graph, variance, row) };
    Node *moments = node_add(c->graph, OP_concat, rows, 2, &(Attributes){ .concat = { 0 } });
    return normalized(c, case_tensor(c, "x"), moments, &norm);
}

/* torch.chunk: ceil(rows / size) pieces of equal length, the last shorter */
Node *case_ghost_batch_norm(OpCase *c)
{
    int64_t rows = case_tensor(c, "x")->shape.dim[0], size = case_integer(c, "ghost_batch_size", 1);
    int64_t each = (rows + (rows + size - 1) / size - 1) / ((rows + size - 1) / size);
    return train_batch_norm(c, (int)((rows + each - 1) / each));
}

static Node *row_norm(OpCase *c, NormKind kind)
{
    Node *weight = case_tensor(c, "weight"), *x = case_tensor(c, "x");
    Norm norm = { .kind = kind, .epsilon = case_real(c, "eps", 1e-5), .axes = weight ? weight->shape.rank : 1 };
    return normalized(c, x, moments_of(c, x, &norm), &norm);
}

Node *case_layer_norm(OpCase *c)
{
    return row_norm(c, NORM_ROW);
}

Node *case_rms_norm(OpCase *c)
{
    return row_norm(c, NORM_RMS);
}

Node *case_group_norm(OpCase *c)
{
    Norm norm = { .kind = NORM_GROUP,
                  .epsilon = case_real(c, "eps", 1e-5),
                  .groups = (int)case_integer(c, "groups", 1) };
    Node *x = case_tensor(c, "x");
    return normalized(c, x, moments_of(c, x, &norm), &norm);
}

/* ---- element by element: the formulas of gen/front/layers/elements.c ---- */

typedef const Expr *Formula(ExprPool *pool, const Expr *x, const Expr *y);

static Node *element(OpCase *c, Formula *formula)
{
    Node *x = case_tensor(c, "x");
    return node_map(c->graph, formula(c->graph->exprs, trial_x(c->trial), NULL), &x, 1);
}

#define ELEMENTWISE(name, formula) Node *case_##name(OpCase *c) { return element(c, formula); }
ELEMENTWISE(relu, element_relu)
ELEMENTWISE(silu, element_silu)
ELEMENTWISE(sigmoid, element_sigmoid)
ELEMENTWISE(tanh, element_tanh)
ELEMENTWISE(hardswish, element_hardswish)
ELEMENTWISE(hardsigmoid, element_hardsigmoid)
ELEMENTWISE(elu, element_elu)
ELEMENTWISE(exp, element_exp)

Node *case_gelu(OpCase *c)
{
    bool is_tanh = text_equal(json_text(c->attributes, "approximate", "none"), "tanh");
    return element(c, is_tanh ? element_gelu_tanh : element_gelu);
}

Node *case_leaky_relu(OpCase *c)
{
    Node *x = case_tensor(c, "x");
    const Expr *slope = trial_constant(c->trial, case_real(c, "slope", 0.01));
    return node_map(c->graph, element_leaky_relu(c->graph->exprs, trial_x(c->trial), slope), &x, 1);
}

/* softplus(beta x) / beta */
Node *case_softplus(OpCase *c)
{
    Trial *trial = c->trial;
    Node *x = case_tensor(c, "x");
    const Expr *beta = trial_constant(trial, case_real(c, "beta", 1));
    const Expr *soft =
        element_softplus(c->graph->exprs, trial_binary(trial, EXPR_mul, beta, trial_x(trial)), NULL);
    return node_map(c->graph, trial_binary(trial, EXPR_div, soft, beta), &x, 1);
}

Node *case_add(OpCase *c)
{
    return build_add(c->graph, case_tensor(c, "x"), case_tensor(c, "y"));
}

Node *case_mul(OpCase *c)
{
    return build_mul(c->graph, case_tensor(c, "x"), case_tensor(c, "y"));
}
