/* cases_rows.c -- reference cases of pooling, resizing, softmax and losses. */
#include "front/layers/call.h"
#include "tests/ops/cases.h"

/* ---- pooling and resizing ---- */

static Attributes read_pool(OpCase *c)
{
    Attributes at = { .pool = { .ceil_mode = case_truth(c, "ceil_mode"),
                                .count_padding = case_truth(c, "count_include_pad") } };
    case_pair(c, "kernel", 0, at.pool.kernel);
    case_pair(c, "stride", 1, at.pool.stride);
    case_pair(c, "padding", 0, at.pool.padding);
    case_pair(c, "dilation", 1, at.pool.dilation);
    return at;
}

Node *case_max_pool2d(OpCase *c)
{
    Node *x = case_tensor(c, "x");
    Attributes at = read_pool(c);
    Node *y = node_add(c->graph, OP_max_pool2d, &x, 1, &at);
    case_extra(c, "argmax_in_plane", node_result(c->graph, y, 1));
    return y;
}

Node *case_avg_pool2d(OpCase *c)
{
    Node *x = case_tensor(c, "x");
    Attributes at = read_pool(c);
    return node_add(c->graph, OP_avg_pool2d, &x, 1, &at);
}

Node *case_global_avg_pool2d(OpCase *c)
{
    Node *x = case_tensor(c, "x"), *mean = build_reduce(c->graph, x, REDUCE_MEAN, 1u << 2 | 1u << 3);
    return build_reshape(c->graph, mean, shape_of(2, x->shape.dim[0], x->shape.dim[1]));
}

static Shape resized(const Node *x, const int64_t size[2])
{
    return shape_of(4, x->shape.dim[0], x->shape.dim[1], size[0], size[1]);
}

Node *case_adaptive_avg_pool2d(OpCase *c)
{
    Node *x = case_tensor(c, "x");
    Attributes at = { .pool = { .adaptive = true, .stride = { 1, 1 }, .dilation = { 1, 1 } } };
    case_pair(c, "size", 1, at.pool.kernel);
    return node_add_shaped(c->graph, OP_avg_pool2d, &x, 1, &at, resized(x, at.pool.kernel), DTYPE_REAL);
}

Node *case_interpolate(OpCase *c)
{
    Node *x = case_tensor(c, "x");
    double scale = case_real(c, "scale", 0);
    int64_t size[2] = { (int64_t)((double)x->shape.dim[2] * scale),
                        (int64_t)((double)x->shape.dim[3] * scale) };
    if (scale == 0)
        case_pair(c, "size", 1, size);
    bool bilinear = text_equal(json_text(c->attributes, "mode", ""), "bilinear");
    Attributes at = { .resize = { bilinear, case_truth(c, "align_corners"), { scale, scale } } };
    return node_add_shaped(c->graph, OP_resize2d, &x, 1, &at, resized(x, size), DTYPE_REAL);
}

/* ---- softmax, concat ---- */

static Node *softmax_of(OpCase *c, Op op)
{
    Node *x = case_tensor(c, "x");
    return node_add(c->graph, op, &x, 1, &(Attributes){ .softmax = { case_axis(c, "dim", x) } });
}

Node *case_softmax(OpCase *c)
{
    return softmax_of(c, OP_softmax);
}

Node *case_log_softmax(OpCase *c)
{
    return softmax_of(c, OP_log_softmax);
}

Node *case_concat(OpCase *c)
{
    static const char *const names[] = { "x0", "x1", "x2" };
    Node *inputs[3];
    int count = 0;
    while (count < 3 && (inputs[count] = case_tensor(c, names[count])))
        count++;
    return node_add(c->graph, OP_concat, inputs, count,
                    &(Attributes){ .concat = { case_axis(c, "dim", inputs[0]) } });
}

/* ---- losses ---- */

static Node *total(OpCase *c, Node *x)
{
    return build_reshape(c->graph, build_reduce(c->graph, x, REDUCE_SUM, (1u << x->shape.rank) - 1),
                         shape_of(0));
}

static Node *quotient(OpCase *c, Node *a, Node *b)
{
    const Expr *ratio = trial_binary(c->trial, EXPR_div, trial_x(c->trial), trial_y(c->trial));
    return node_map(c->graph, ratio, (Node *[]){ a, b }, 2);
}

/* 1 where the target counts */
static Node *counted(OpCase *c, Node *targets, int64_t ignore)
{
    ExprPool *pool = c->graph->exprs;
    const Expr *is_out = expr_binary(pool, EXPR_eq, expr_input(pool, 0, TYPE_INT), expr_integer(pool, ignore));
    return node_map(c->graph, expr_select(pool, is_out, expr_number(pool, 0), expr_number(pool, 1)), &targets,
                    1);
}

static bool reduces(const OpCase *c, const char *how)
{
    return text_equal(json_text(c->attributes, "reduction", "mean"), how);
}

static Node *dense_rows(OpCase *c)
{
    Node *inputs[2] = { case_tensor(c, "logits"), case_tensor(c, "target") };
    return node_add(c->graph, OP_dense_cross_entropy, inputs, 2,
                    &(Attributes){ .loss = { .axis = 1, .ignore = -100 } });
}

/* (1 - smoothing) t + smoothing / classes */
static const Expr *smoothed(OpCase *c, double smoothing, int64_t classes)
{
    Trial *trial = c->trial;
    const Expr *kept = trial_binary(trial, EXPR_mul, trial_constant(trial, 1 - smoothing), trial_x(trial));
    return trial_binary(trial, EXPR_add, kept, trial_constant(trial, smoothing / (double)classes));
}

Node *case_cross_entropy(OpCase *c)
{
    Node *logits = case_tensor(c, "logits"), *targets = case_tensor(c, "target"), *rows;
    int64_t ignore = case_integer(c, "ignore_index", -100);
    double smoothing = case_real(c, "label_smoothing", 0);
    if (targets->dtype == DTYPE_REAL)
        return build_scale(c->graph, total(c, dense_rows(c)), 1 / (double)logits->shape.dim[0]);
    rows = node_add(c->graph, OP_cross_entropy, (Node *[]){ logits, targets }, 2,
                    &(Attributes){ .loss = { .axis = 1, .ignore = ignore } });
    rows->expr = smoothing != 0 ? smoothed(c, smoothing, logits->shape.dim[1]) : NULL;
    if (reduces(c, "none"))
        return rows;
    return reduces(c, "sum") ? total(c, rows)
                             : quotient(c, total(c, rows), total(c, counted(c, targets, ignore)));
}

/* mean: the sum over rows by the sum of all targets */
Node *case_soft_cross_entropy(OpCase *c)
{
    Node *rows = dense_rows(c);
    return reduces(c, "none") ? rows : quotient(c, total(c, rows), total(c, case_tensor(c, "target")));
}

/* Targets as weights of classes: dense ones as they are, of classes 1 at their class. */
static Node *class_weights(OpCase *c, Node *logits, Node *targets)
{
    ExprPool *pool = c->graph->exprs;
    if (targets->dtype == DTYPE_REAL)
        return targets;
    Node *column = build_reshape(c->graph, targets, shape_of(2, targets->shape.dim[0], (int64_t)1));
    const Expr *hit = expr_binary(pool, EXPR_eq, expr_index(pool, 1), expr_input(pool, 0, TYPE_INT));
    return node_map_shaped(c->graph, expr_convert(pool, hit, TYPE_FLOAT), &column, 1, logits->shape);
}

/* log(1 + exp(z)) - t z, summed over classes and rows and divided by rows, or the mean of all */
Node *case_bce(OpCase *c)
{
    Trial *trial = c->trial;
    Node *inputs[2] = { case_tensor(c, "logits") };
    inputs[1] = class_weights(c, inputs[0], case_tensor(c, "target"));
    const Expr *product = trial_binary(trial, EXPR_mul, trial_y(trial), trial_x(trial));
    const Expr *soft = element_softplus(c->graph->exprs, trial_x(trial), NULL);
    Node *losses = node_map(c->graph, trial_binary(trial, EXPR_sub, soft, product), inputs, 2);
    int64_t divisor = reduces(c, "mean") ? shape_elements(losses->shape) : losses->shape.dim[0];
    return build_scale(c->graph, total(c, losses), 1 / (double)divisor);
}

Node *case_mse(OpCase *c)
{
    Trial *trial = c->trial;
    const Expr *apart = trial_binary(trial, EXPR_sub, trial_x(trial), trial_y(trial));
    Node *squares = node_map(c->graph, trial_binary(trial, EXPR_mul, apart, apart),
                             (Node *[]){ case_tensor(c, "x"), case_tensor(c, "target") }, 2);
    double factor = reduces(c, "mean") ? 1 / (double)shape_elements(squares->shape) : 1;
    return build_scale(c->graph, total(c, squares), factor);
}
