/* elements.c -- what models do element by element: the formulas, and the node that applies one. */
#include <math.h>

#include "front/layers/call.h"

/* ---- small words for formulas ---- */

static const Expr *number(ExprPool *pool, double value)
{
    return expr_number(pool, value);
}

static const Expr *plus(ExprPool *pool, const Expr *a, const Expr *b)
{
    return expr_binary(pool, EXPR_add, a, b);
}

static const Expr *times(ExprPool *pool, const Expr *a, const Expr *b)
{
    return expr_binary(pool, EXPR_mul, a, b);
}

static const Expr *over(ExprPool *pool, const Expr *a, const Expr *b)
{
    return expr_binary(pool, EXPR_div, a, b);
}

/* ---- formulas of x, and of y where there are two ---- */

const Expr *element_add(ExprPool *pool, const Expr *x, const Expr *y)
{
    return plus(pool, x, y);
}

const Expr *element_sub(ExprPool *pool, const Expr *x, const Expr *y)
{
    return expr_binary(pool, EXPR_sub, x, y);
}

const Expr *element_mul(ExprPool *pool, const Expr *x, const Expr *y)
{
    return times(pool, x, y);
}

/* max(x, 0) */
const Expr *element_relu(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    return expr_binary(pool, EXPR_max, x, number(pool, 0));
}

/* x > 0 ? x : slope x */
const Expr *element_leaky_relu(ExprPool *pool, const Expr *x, const Expr *slope)
{
    return expr_select(pool, expr_binary(pool, EXPR_lt, number(pool, 0), x), x, times(pool, slope, x));
}

/* x > 0 ? x : exp(x) - 1 */
const Expr *element_elu(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    return expr_select(pool, expr_binary(pool, EXPR_lt, number(pool, 0), x), x,
                       expr_unary(pool, EXPR_expm1, x));
}

/* x/2 (1 + erf(x / sqrt 2)) */
const Expr *element_gelu(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    const Expr *erf_of = expr_unary(pool, EXPR_erf, times(pool, number(pool, sqrt(0.5)), x));
    return times(pool, times(pool, number(pool, 0.5), x), plus(pool, number(pool, 1), erf_of));
}

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
const Expr *element_gelu_tanh(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    const Expr *cube = times(pool, times(pool, x, x), x);
    const Expr *inner = times(pool, number(pool, sqrt(2 / M_PI)),
                              plus(pool, x, times(pool, number(pool, 0.044715), cube)));
    const Expr *squashed = plus(pool, number(pool, 1), expr_unary(pool, EXPR_tanh, inner));
    return times(pool, times(pool, number(pool, 0.5), x), squashed);
}

/* 1 / (1 + exp(-x)) */
const Expr *element_sigmoid(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    const Expr *away = expr_unary(pool, EXPR_exp, expr_unary(pool, EXPR_neg, x));
    return over(pool, number(pool, 1), plus(pool, number(pool, 1), away));
}

/* x sigmoid(x) */
const Expr *element_silu(ExprPool *pool, const Expr *x, const Expr *y)
{
    return times(pool, x, element_sigmoid(pool, x, y));
}

/* min(max(x + 3, 0), 6) / 6 */
const Expr *element_hardsigmoid(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    const Expr *up = expr_binary(pool, EXPR_max, plus(pool, x, number(pool, 3)), number(pool, 0));
    return over(pool, expr_binary(pool, EXPR_min, up, number(pool, 6)), number(pool, 6));
}

/* x (x < -3 ? 0 : x <= 3 ? (x + 3) / 6 : 1): at -3 and 3 the derivative is that of the slope between, as PyTorch's */
const Expr *element_hardswish(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    const Expr *slope = over(pool, plus(pool, x, number(pool, 3)), number(pool, 6));
    const Expr *below = expr_binary(pool, EXPR_lt, x, number(pool, -3));
    const Expr *up_to = expr_binary(pool, EXPR_le, x, number(pool, 3));
    const Expr *gate = expr_select(pool, up_to, slope, number(pool, 1));
    return times(pool, x, expr_select(pool, below, number(pool, 0), gate));
}

const Expr *element_tanh(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    return expr_unary(pool, EXPR_tanh, x);
}

/* log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), written with a select so that its derivative at 0 is
 * sigmoid(0). */
const Expr *element_softplus(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    const Expr *up = expr_unary(pool, EXPR_log1p, expr_unary(pool, EXPR_exp, x));
    const Expr *down = expr_unary(pool, EXPR_log1p, expr_unary(pool, EXPR_exp, expr_unary(pool, EXPR_neg, x)));
    return expr_select(pool, expr_binary(pool, EXPR_lt, number(pool, 0), x), plus(pool, x, down), up);
}

const Expr *element_exp(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    return expr_unary(pool, EXPR_exp, x);
}

const Expr *element_sqrt(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    return expr_unary(pool, EXPR_sqrt, x);
}

const Expr *element_reciprocal(ExprPool *pool, const Expr *x, const Expr *y)
{
    (void)y;
    return over(pool, number(pool, 1), x);
}

/* 1 where x < y, else 0 */
const Expr *element_less(ExprPool *pool, const Expr *x, const Expr *y)
{
    return expr_select(pool, expr_binary(pool, EXPR_lt, x, y), number(pool, 1), number(pool, 0));
}

/* ---- the node ---- */

static ScalarType scalar_type(const Node *x)
{
    return x->dtype == DTYPE_INT32 || x->dtype == DTYPE_UINT8 ? TYPE_INT : TYPE_FLOAT;
}

/* A second operand is a tensor (add) or a constant of the model (scale). */
bool make_element(Call *call)
{
    Graph *graph = call->builder->graph;
    Node *inputs[2] = { call_tensor(call, 0) };
    int count = 1;
    const Expr *y = NULL;
    if (!inputs[0])
        return false;
    if (call->count > 1 && call->arguments[1].kind == VALUE_TENSOR) {
        if (!(inputs[1] = call_tensor(call, 1)))
            return false;
        Shape common;
        if (!shape_broadcast(inputs[0]->shape, inputs[1]->shape, &common))
            return call_mismatch(call, inputs[0], inputs[1], "do not go together, axis by axis");
        y = expr_input(graph->exprs, count++, scalar_type(inputs[1]));
    } else if (call->count > 1) {
        y = expr_number(graph->exprs, call_number(call, 1));
    }
    const Expr *x = expr_input(graph->exprs, 0, scalar_type(inputs[0]));
    call_name(call);
    return call_return(call, node_map(graph, call->element(graph->exprs, x, y), inputs, count));
}

bool make_residual(Call *call)
{
    call->element = element_add;
    return make_element(call);
}
