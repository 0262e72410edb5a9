/* expr_evaluate.c -- values of expressions, in double. */
#include "ir/expr_inside.h"

#include <math.h>

typedef double Arithmetic(const Expr *expr, double a, double b, double c);

#define RULE(name, formula)                                                                       \
    static double do_##name(const Expr *expr, double a, double b, double c)                       \
    {                                                                                             \
        (void)expr, (void)a, (void)b, (void)c;                                                    \
        return formula;                                                                           \
    }

/* The side of a select that is not taken is evaluated too, so nothing here may trap: an integer
 * divided by zero gives zero. */
static double quotient(const Expr *expr, double a, double b)
{
    if (expr->type != TYPE_INT)
        return a / b;
    return b == 0 ? 0 : trunc(a / b);
}

static double table_value(const Table *table, double index)
{
    return table->values && index >= 0 && index < table->count ? table->values[(int64_t)index] : NAN;
}

RULE(table, table_value(expr->table, a))
RULE(to_float, a)
RULE(to_int, trunc(a))
RULE(neg, -a)
RULE(add, a + b)
RULE(sub, a - b)
RULE(mul, a * b)
RULE(div, quotient(expr, a, b))
RULE(mod, b == 0 ? 0 : fmod(a, b))
RULE(min, a < b ? a : b)
RULE(max, a > b ? a : b)
RULE(pow, pow(a, b))
RULE(abs, fabs(a))
RULE(floor, floor(a))
RULE(ceil, ceil(a))
RULE(round, nearbyint(a))
RULE(sqrt, sqrt(a))
RULE(exp, exp(a))
RULE(log, log(a))
RULE(log1p, log1p(a))
RULE(expm1, expm1(a))
RULE(sin, sin(a))
RULE(cos, cos(a))
RULE(tanh, tanh(a))
RULE(erf, erf(a))
RULE(lt, a < b)
RULE(le, a <= b)
RULE(eq, a == b)
RULE(ne, a != b)
RULE(and, a != 0 && b != 0)
RULE(or, a != 0 || b != 0)
RULE(not, a == 0)
RULE(select, a != 0 ? b : c)

static Arithmetic *const arithmetic[EXPR_COUNT] = {
    [EXPR_table] = do_table, [EXPR_to_float] = do_to_float, [EXPR_to_int] = do_to_int, [EXPR_neg] = do_neg,
    [EXPR_add] = do_add, [EXPR_sub] = do_sub, [EXPR_mul] = do_mul, [EXPR_div] = do_div, [EXPR_mod] = do_mod,
    [EXPR_min] = do_min, [EXPR_max] = do_max, [EXPR_pow] = do_pow, [EXPR_abs] = do_abs, [EXPR_floor] = do_floor,
    [EXPR_ceil] = do_ceil, [EXPR_round] = do_round, [EXPR_sqrt] = do_sqrt, [EXPR_exp] = do_exp, [EXPR_log] = do_log,
    [EXPR_log1p] = do_log1p, [EXPR_expm1] = do_expm1, [EXPR_sin] = do_sin, [EXPR_cos] = do_cos,
    [EXPR_tanh] = do_tanh, [EXPR_erf] = do_erf, [EXPR_lt] = do_lt, [EXPR_le] = do_le, [EXPR_eq] = do_eq,
    [EXPR_ne] = do_ne, [EXPR_and] = do_and, [EXPR_or] = do_or, [EXPR_not] = do_not, [EXPR_select] = do_select,
};

double expr_arithmetic(const Expr *expr, const double *operands)
{
    return arithmetic[expr->op](expr, operands[0], operands[1], operands[2]);
}

static double leaf_value(const Expr *expr, const ExprPoint *point, double a, double b)
{
    switch (expr->op) {
    case EXPR_number: return expr->number;
    case EXPR_input:  return point->inputs[expr->slot];
    case EXPR_index:  return (double)point->indices[expr->slot];
    case EXPR_scalar: return point->scalar(point->context, expr->scalar);
    case EXPR_uniform:
    case EXPR_normal:
    case EXPR_beta:   return point->random(point->context, expr, a, b);
    default:          return (double)expr->integer;
    }
}

double expr_evaluate(const Expr *expr, const ExprPoint *point)
{
    const ExprOrder *order = expr_order(expr);
    double values[order->count];
    for (int i = 0; i < order->count; i++) {
        const ExprStep *step = &order->steps[i];
        int count = expr_info[step->expr->op].operands;
        double a = count > 0 ? values[step->operand[0]] : 0, b = count > 1 ? values[step->operand[1]] : 0;
        double c = count > 2 ? values[step->operand[2]] : 0;
        Arithmetic *rule = arithmetic[step->expr->op];
        values[i] = rule ? rule(step->expr, a, b, c) : leaf_value(step->expr, point, a, b);
    }
    return values[order->count - 1];
}
