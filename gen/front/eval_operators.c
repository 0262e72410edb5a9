/* eval_operators.c -- C's operators and the functions of scalar.h on expressions. */
#include "front/eval.h"

static bool is_zero(const Expr *expr)
{
    return expr_is_constant(expr) && expr_value(expr) == 0;
}

/* Bits exist only in constants; a shift by a constant of an expression is a product. */
static const Expr *bit_operation(Evaluator *ev, Place place, int op, const Expr *a, const Expr *b)
{
    bool shift = op == SHIFT_LEFT || op == SHIFT_RIGHT;
    if (!expr_is_constant(b) || (!expr_is_constant(a) && op != SHIFT_LEFT))
        eval_fail(ev, place, "an operator on bits needs values that are known at generation");
    int64_t count = b->integer;
    if (shift && (count < 0 || count > 62))
        eval_fail(ev, place, "a shift by %lld", (long long)count);
    if (op == SHIFT_LEFT)
        return eval_operation(ev, place, EXPR_mul, a, expr_integer(ev->exprs, (int64_t)1 << count));
    int64_t bits = a->integer;
    return expr_integer(ev->exprs, op == SHIFT_RIGHT ? bits >> count
                                   : op == BIT_AND   ? bits & count
                                   : op == BIT_OR    ? bits | count
                                                     : bits ^ count);
}

static bool overflows(int op, int64_t a, int64_t b)
{
    int64_t result;
    switch (op) {
    case EXPR_add: return __builtin_add_overflow(a, b, &result);
    case EXPR_sub: return __builtin_sub_overflow(a, b, &result);
    case EXPR_mul: return __builtin_mul_overflow(a, b, &result);
    case EXPR_div:
    case EXPR_mod: return a == INT64_MIN && b == -1;
    default: return false;
    }
}

/* Both operands become the type computed in: float if one is, else int, as in C. */
const Expr *eval_operation(Evaluator *ev, Place place, int op, const Expr *a, const Expr *b)
{
    ScalarType type = a->type == TYPE_FLOAT || b->type == TYPE_FLOAT ? TYPE_FLOAT : TYPE_INT;
    if (!(a->type == TYPE_BOOL && b->type == TYPE_BOOL && (op == EXPR_eq || op == EXPR_ne))) {
        a = expr_convert(ev->exprs, a, type);
        b = expr_convert(ev->exprs, b, type);
    }
    if (op >= BIT_AND && op <= SHIFT_RIGHT)
        return bit_operation(ev, place, op, a, b);
    if ((op == EXPR_div || op == EXPR_mod) && type == TYPE_INT && is_zero(b))
        eval_fail(ev, place, "division by zero");
    if (op == OPERATOR_GT || op == OPERATOR_GE)
        return expr_binary(ev->exprs, op == OPERATOR_GT ? EXPR_lt : EXPR_le, b, a);
    if (type == TYPE_INT && expr_is_constant(a) && expr_is_constant(b) && overflows(op, a->integer, b->integer))
        eval_fail(ev, place, "an integer became too large");
    return expr_binary(ev->exprs, (ExprOp)op, a, b);
}

const Expr *eval_unary_operation(Evaluator *ev, Place place, int op, const Expr *a)
{
    if (op == EXPR_not)
        return expr_unary(ev->exprs, EXPR_not, expr_convert(ev->exprs, a, TYPE_BOOL));
    if (a->type == TYPE_BOOL)
        a = expr_convert(ev->exprs, a, TYPE_INT);
    if (op == PLUS)
        return a;
    if (op == EXPR_neg)
        return expr_unary(ev->exprs, EXPR_neg, a);
    if (!expr_is_constant(a))
        eval_fail(ev, place, "an operator on bits needs values that are known at generation");
    return expr_integer(ev->exprs, ~a->integer);
}

/* ---- scalar.h ---- */
static const struct MathRow { const char *name; ExprOp op; int operands; } math_functions[] = {
    { "sqrt", EXPR_sqrt, 1 }, { "exp", EXPR_exp, 1 }, { "log", EXPR_log, 1 }, { "log1p", EXPR_log1p, 1 },
    { "expm1", EXPR_expm1, 1 }, { "pow", EXPR_pow, 2 }, { "sin", EXPR_sin, 1 }, { "cos", EXPR_cos, 1 },
    { "tanh", EXPR_tanh, 1 }, { "erf", EXPR_erf, 1 }, { "floor", EXPR_floor, 1 }, { "ceil", EXPR_ceil, 1 },
    { "rint", EXPR_round, 1 }, { "fabs", EXPR_abs, 1 }, { "fmin", EXPR_min, 2 }, { "fmax", EXPR_max, 2 },
    { "imin", EXPR_min, 2 }, { "imax", EXPR_max, 2 },
};

static const struct MathRow *math_row(const CFunction *function)
{
    for (size_t i = 0; !function->body && i < sizeof math_functions / sizeof *math_functions; i++)
        if (text_equal(math_functions[i].name, function->name)
            && math_functions[i].operands == function->parameters.count)
            return &math_functions[i];
    return NULL;
}

bool eval_is_math(const CFunction *function)
{
    return math_row(function) != NULL;
}

/* The arguments were converted to the parameters' types. */
const Expr *eval_math(Evaluator *ev, const CFunction *function, const Value *arguments)
{
    const struct MathRow *row = math_row(function);
    if (row->operands == 1)
        return expr_unary(ev->exprs, row->op, arguments[0].scalar);
    return expr_binary(ev->exprs, row->op, arguments[0].scalar, arguments[1].scalar);
}
