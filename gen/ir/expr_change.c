/* expr_change.c -- expressions made of others: substitution and derivatives.
 *
 * Each walks the distinct nodes once, so that what is shared stays shared and costs once. */
#include "ir/expr_inside.h"

#include <math.h>

typedef struct Change {
    ExprPool *pool;
    const Expr *const *inputs, *const *indices;
    int input_count, index_count;
    const Scalar *scalar;               /* NULL: none */
    const Expr *value;
} Change;

static const Expr *changed_leaf(const Change *change, const Expr *leaf)
{
    if (leaf->op == EXPR_input && leaf->slot < change->input_count && change->inputs[leaf->slot])
        return change->inputs[leaf->slot];
    if (leaf->op == EXPR_index && leaf->slot < change->index_count && change->indices[leaf->slot])
        return change->indices[leaf->slot];
    if (leaf->op == EXPR_scalar && leaf->scalar == change->scalar)
        return change->value;
    return leaf;
}

static const Expr *apply(const Change *change, const Expr *expr)
{
    const ExprOrder *order = expr_order(expr);
    const Expr *made[order->count];
    for (int i = 0; i < order->count; i++) {
        const ExprStep *step = &order->steps[i];
        int count = expr_info[step->expr->op].operands;
        const Expr *operands[3] = { NULL };
        bool same = true;
        for (int k = 0; k < count; k++) {
            operands[k] = made[step->operand[k]];
            same &= operands[k] == step->expr->operand[k];
        }
        made[i] = count == 0 ? changed_leaf(change, step->expr)
                : same       ? step->expr : expr_rebuild(change->pool, step->expr, operands);
    }
    return made[order->count - 1];
}

const Expr *expr_substitute(ExprPool *pool, const Expr *expr, const Expr *const *inputs, int input_count,
                            const Expr *const *indices, int index_count)
{
    Change change = { .pool = pool, .inputs = inputs, .input_count = inputs ? input_count : 0,
                      .indices = indices, .index_count = indices ? index_count : 0 };
    return apply(&change, expr);
}

const Expr *expr_replace_scalar(ExprPool *pool, const Expr *expr, const Scalar *scalar, const Expr *value)
{
    return apply(&(Change){ .pool = pool, .scalar = scalar, .value = value }, expr);
}

/* ---- derivatives ---- */

/* One rule an operator: `e` the expression, a, b its operands, da, db their derivatives. */
typedef struct Chain {
    ExprPool *pool;
    const Expr *e, *a, *b, *da, *db;
} Chain;

typedef const Expr *ChainRule(const Chain *c);

static const Expr *plus(const Chain *c, const Expr *x, const Expr *y)
{
    return expr_binary(c->pool, EXPR_add, x, y);
}

static const Expr *minus(const Chain *c, const Expr *x, const Expr *y)
{
    return expr_binary(c->pool, EXPR_sub, x, y);
}

static const Expr *times(const Chain *c, const Expr *x, const Expr *y)
{
    return expr_binary(c->pool, EXPR_mul, x, y);
}

static const Expr *over(const Chain *c, const Expr *x, const Expr *y)
{
    return expr_binary(c->pool, EXPR_div, x, y);
}

static const Expr *of(const Chain *c, ExprOp op, const Expr *x)
{
    return expr_unary(c->pool, op, x);
}

static const Expr *real(const Chain *c, double x)
{
    return expr_number(c->pool, x);
}

static const Expr *if_less(const Chain *c, const Expr *x, const Expr *y, const Expr *then,
                           const Expr *otherwise)
{
    return expr_select(c->pool, expr_binary(c->pool, EXPR_lt, x, y), then, otherwise);
}

static const Expr *chain_neg(const Chain *c) { return of(c, EXPR_neg, c->da); }
static const Expr *chain_add(const Chain *c) { return plus(c, c->da, c->db); }
static const Expr *chain_sub(const Chain *c) { return minus(c, c->da, c->db); }
static const Expr *chain_mul(const Chain *c) { return plus(c, times(c, c->da, c->b), times(c, c->a, c->db)); }
static const Expr *chain_div(const Chain *c) { return over(c, minus(c, c->da, times(c, c->e, c->db)), c->b); }
/* Equal operands: b's side, as the value is taken. */
static const Expr *chain_min(const Chain *c) { return if_less(c, c->a, c->b, c->da, c->db); }
static const Expr *chain_max(const Chain *c) { return if_less(c, c->b, c->a, c->da, c->db); }
static const Expr *chain_sqrt(const Chain *c) { return over(c, c->da, times(c, real(c, 2), c->e)); }
static const Expr *chain_exp(const Chain *c) { return times(c, c->e, c->da); }
static const Expr *chain_log(const Chain *c) { return over(c, c->da, c->a); }
static const Expr *chain_log1p(const Chain *c) { return over(c, c->da, plus(c, real(c, 1), c->a)); }
static const Expr *chain_expm1(const Chain *c) { return times(c, plus(c, c->e, real(c, 1)), c->da); }
static const Expr *chain_sin(const Chain *c) { return times(c, of(c, EXPR_cos, c->a), c->da); }
static const Expr *chain_cos(const Chain *c) { return of(c, EXPR_neg, times(c, of(c, EXPR_sin, c->a), c->da)); }

static const Expr *chain_tanh(const Chain *c)
{
    return times(c, minus(c, real(c, 1), times(c, c->e, c->e)), c->da);
}

static const Expr *chain_erf(const Chain *c)
{
    const Expr *bell = of(c, EXPR_exp, of(c, EXPR_neg, times(c, c->a, c->a)));
    return times(c, times(c, real(c, 2 / sqrt(M_PI)), bell), c->da);
}

static const Expr *chain_abs(const Chain *c)
{
    const Expr *zero = real(c, 0), *sign = if_less(c, zero, c->a, real(c, 1), zero);
    return times(c, if_less(c, c->a, zero, real(c, -1), sign), c->da);
}

static const Expr *chain_pow(const Chain *c)
{
    const Expr *power = expr_binary(c->pool, EXPR_pow, c->a, minus(c, c->b, real(c, 1)));
    const Expr *by_base = times(c, times(c, c->b, power), c->da);
    if (expr_is_number(c->db, 0))
        return by_base;
    return plus(c, by_base, times(c, times(c, c->e, of(c, EXPR_log, c->a)), c->db));
}

/* Without a rule the derivative is zero: comparisons, whole numbers, draws, tables. */
static ChainRule *const chain_rules[EXPR_COUNT] = {
    [EXPR_neg] = chain_neg,     [EXPR_add] = chain_add,     [EXPR_sub] = chain_sub,   [EXPR_mul] = chain_mul,
    [EXPR_div] = chain_div,     [EXPR_min] = chain_min,     [EXPR_max] = chain_max,   [EXPR_pow] = chain_pow,
    [EXPR_abs] = chain_abs,     [EXPR_sqrt] = chain_sqrt,   [EXPR_exp] = chain_exp,   [EXPR_log] = chain_log,
    [EXPR_log1p] = chain_log1p, [EXPR_expm1] = chain_expm1, [EXPR_sin] = chain_sin,   [EXPR_cos] = chain_cos,
    [EXPR_tanh] = chain_tanh,   [EXPR_erf] = chain_erf,
};

static const Expr *derivative_of_step(ExprPool *pool, const ExprStep *step, const Expr *const *made, int slot)
{
    const Expr *e = step->expr, *zero = expr_number(pool, 0);
    if (e->type != TYPE_FLOAT)
        return zero;
    if (e->op == EXPR_input)
        return e->slot == slot ? expr_number(pool, 1) : zero;
    if (e->op == EXPR_select)
        return expr_select(pool, e->operand[0], made[step->operand[1]], made[step->operand[2]]);
    if (!chain_rules[e->op])
        return zero;
    bool two = expr_info[e->op].operands == 2;
    Chain chain = { pool, e, e->operand[0], e->operand[1], made[step->operand[0]],
                    two ? made[step->operand[1]] : zero };
    return expr_is_number(chain.da, 0) && expr_is_number(chain.db, 0) ? zero : chain_rules[e->op](&chain);
}

const Expr *expr_derivative(ExprPool *pool, const Expr *expr, int slot)
{
    const ExprOrder *order = expr_order(expr);
    const Expr *made[order->count];
    for (int i = 0; i < order->count; i++)
        made[i] = derivative_of_step(pool, &order->steps[i], made, slot);
    return made[order->count - 1];
}
