/* expr_make.c -- interior nodes of expressions: operands agree in type, constants fold, identities vanish. */
#include "ir/expr_inside.h"

#include <math.h>

/* ---- constants ---- */

/* Doubles that an int64_t can hold after truncation; not-a-number is none. */
static bool fits_integer(double value)
{
    return value >= -0x1p63 && value < 0x1p63;
}

static const Expr *constant(ExprPool *pool, ScalarType type, double value)
{
    return type == TYPE_FLOAT ? expr_number(pool, value)
         : type == TYPE_INT   ? expr_integer(pool, (int64_t)value) : expr_truth(pool, value != 0);
}

/* ---- types ---- */

static const Expr *to_int(ExprPool *pool, const Expr *a)
{
    if (a->type == TYPE_BOOL)
        return expr_select(pool, a, expr_integer(pool, 1), expr_integer(pool, 0));
    if (a->op == EXPR_to_float && a->operand[0]->type == TYPE_INT)
        return a->operand[0];
    return expr_intern(pool, &(Expr){ .op = EXPR_to_int, .type = TYPE_INT, .operand = { a } });
}

const Expr *expr_convert(ExprPool *pool, const Expr *a, ScalarType type)
{
    if (a->type == type)
        return a;
    if (expr_is_constant(a) && (type != TYPE_INT || fits_integer(expr_value(a))))
        return constant(pool, type, expr_value(a));
    if (type == TYPE_INT)
        return to_int(pool, a);
    if (type == TYPE_BOOL)
        return expr_binary(pool, EXPR_ne, a, constant(pool, a->type, 0));
    return expr_intern(pool, &(Expr){ .op = EXPR_to_float, .type = TYPE_FLOAT, .operand = { a } });
}

/* What both operands become: real when one is, else integer. Truths stay truths when compared with each other. */
static ScalarType common_type(ExprOp op, const Expr *a, const Expr *b)
{
    if (op == EXPR_and || op == EXPR_or)
        return TYPE_BOOL;
    if (op == EXPR_pow || a->type == TYPE_FLOAT || b->type == TYPE_FLOAT)
        return TYPE_FLOAT;
    if (op == EXPR_mod)
        return TYPE_INT;
    bool compares = op == EXPR_eq || op == EXPR_ne;
    return compares && a->type == TYPE_BOOL && b->type == TYPE_BOOL ? TYPE_BOOL : TYPE_INT;
}

static ScalarType result_type(ExprOp op, ScalarType operands)
{
    return expr_info[op].same_type ? operands : expr_info[op].type;
}

/* ---- folding ---- */

static bool has_constant_operands(const Expr *expr)
{
    int count = expr_info[expr->op].operands;
    for (int i = 0; i < count; i++)
        if (!expr_is_constant(expr->operand[i]))
            return false;
    return count > 0;
}

/* Exact where doubles are not. False where C has no answer: then the operation stays, for whoever made it to
 * complain about or for the program to avoid. */
static bool fold_integers(ExprOp op, int64_t a, int64_t b, int64_t *result)
{
    bool divides = b != 0 && !(a == INT64_MIN && b == -1);
    switch (op) {
    case EXPR_add: return !__builtin_add_overflow(a, b, result);
    case EXPR_sub: return !__builtin_sub_overflow(a, b, result);
    case EXPR_mul: return !__builtin_mul_overflow(a, b, result);
    case EXPR_neg: return !__builtin_sub_overflow(0, a, result);
    case EXPR_abs: return a < 0 ? !__builtin_sub_overflow(0, a, result) : (*result = a, true);
    case EXPR_div: return divides && (*result = a / b, true);
    case EXPR_mod: return divides && (*result = a % b, true);
    case EXPR_min: *result = a < b ? a : b; return true;
    case EXPR_max: *result = a > b ? a : b; return true;
    case EXPR_lt:  *result = a < b; return true;
    case EXPR_le:  *result = a <= b; return true;
    case EXPR_eq:  *result = a == b; return true;
    case EXPR_ne:  *result = a != b; return true;
    default:       return false;
    }
}

static const Expr *fold(ExprPool *pool, const Expr *key)
{
    if (!has_constant_operands(key))
        return expr_intern(pool, key);
    const Expr *a = key->operand[0], *b = key->operand[1];
    if (a->type == TYPE_INT) {
        int64_t result = 0;
        if (!fold_integers(key->op, a->integer, b ? b->integer : 0, &result))
            return expr_intern(pool, key);
        return key->type == TYPE_INT ? expr_integer(pool, result) : expr_truth(pool, result);
    }
    double values[3] = { expr_value(a), b ? expr_value(b) : 0 };
    return constant(pool, key->type, expr_arithmetic(key, values));
}

/* ---- identities: NULL where none holds ---- */

static const Expr *identity_add(ExprPool *pool, const Expr *a, const Expr *b)
{
    (void)pool;
    return expr_is_number(a, 0) ? b : expr_is_number(b, 0) ? a : NULL;
}

static const Expr *identity_sub(ExprPool *pool, const Expr *a, const Expr *b)
{
    if (expr_is_number(b, 0))
        return a;
    if (a == b)
        return constant(pool, a->type, 0);
    return expr_is_number(a, 0) ? expr_unary(pool, EXPR_neg, b) : NULL;
}

static const Expr *identity_mul(ExprPool *pool, const Expr *a, const Expr *b)
{
    if (expr_is_number(a, 0) || expr_is_number(b, 0))
        return constant(pool, a->type, 0);
    if (expr_is_number(a, 1) || expr_is_number(b, 1))
        return expr_is_number(a, 1) ? b : a;
    if (expr_is_number(a, -1) || expr_is_number(b, -1))
        return expr_unary(pool, EXPR_neg, expr_is_number(a, -1) ? b : a);
    return NULL;
}

static const Expr *identity_div(ExprPool *pool, const Expr *a, const Expr *b)
{
    if (expr_is_number(b, 1))
        return a;
    if (expr_is_number(b, -1))
        return expr_unary(pool, EXPR_neg, a);
    bool nothing = expr_is_number(a, 0) && expr_is_constant(b) && !expr_is_number(b, 0);
    return nothing ? a : NULL;
}

static const Expr *identity_pow(ExprPool *pool, const Expr *a, const Expr *b)
{
    if (expr_is_number(b, 1))
        return a;
    if (expr_is_number(b, 0))
        return expr_number(pool, 1);
    return expr_is_number(b, 2) && !expr_is_constant(a) ? expr_binary(pool, EXPR_mul, a, a) : NULL;
}

static const Expr *identity_same(ExprPool *pool, const Expr *a, const Expr *b)
{
    (void)pool;
    return a == b ? a : NULL;
}

static const Expr *identity_true_of_equals(ExprPool *pool, const Expr *a, const Expr *b)
{
    return a == b ? expr_truth(pool, true) : NULL;
}

static const Expr *identity_false_of_equals(ExprPool *pool, const Expr *a, const Expr *b)
{
    return a == b ? expr_truth(pool, false) : NULL;
}

static bool contradict(ExprPool *pool, const Expr *a, const Expr *b)
{
    return expr_unary(pool, EXPR_not, a) == b || expr_unary(pool, EXPR_not, b) == a;
}

static const Expr *identity_and(ExprPool *pool, const Expr *a, const Expr *b)
{
    if (contradict(pool, a, b))
        return expr_truth(pool, false);
    if (expr_is_constant(a) || expr_is_constant(b)) {
        const Expr *known = expr_is_constant(a) ? a : b;
        return expr_value(known) != 0 ? (known == a ? b : a) : expr_truth(pool, false);
    }
    return a == b ? a : NULL;
}

static const Expr *identity_or(ExprPool *pool, const Expr *a, const Expr *b)
{
    if (contradict(pool, a, b))
        return expr_truth(pool, true);
    if (expr_is_constant(a) || expr_is_constant(b)) {
        const Expr *known = expr_is_constant(a) ? a : b;
        return expr_value(known) == 0 ? (known == a ? b : a) : expr_truth(pool, true);
    }
    return a == b ? a : NULL;
}

typedef const Expr *Identity(ExprPool *pool, const Expr *a, const Expr *b);

static Identity *const identities[EXPR_COUNT] = {
    [EXPR_add] = identity_add, [EXPR_sub] = identity_sub, [EXPR_mul] = identity_mul, [EXPR_div] = identity_div,
    [EXPR_pow] = identity_pow, [EXPR_min] = identity_same, [EXPR_max] = identity_same, [EXPR_and] = identity_and,
    [EXPR_or] = identity_or, [EXPR_le] = identity_true_of_equals, [EXPR_eq] = identity_true_of_equals,
    [EXPR_lt] = identity_false_of_equals, [EXPR_ne] = identity_false_of_equals,
};

/* ---- constructors ---- */

const Expr *expr_binary(ExprPool *pool, ExprOp op, const Expr *a, const Expr *b)
{
    ScalarType type = common_type(op, a, b);
    a = expr_convert(pool, a, type);
    b = expr_convert(pool, b, type);
    bool folds = expr_is_constant(a) && expr_is_constant(b);
    const Expr *simpler = identities[op] && !folds ? identities[op](pool, a, b) : NULL;
    return simpler ? simpler : fold(pool, &(Expr){ .op = op, .type = result_type(op, type), .operand = { a, b } });
}

/* An operation that undoes itself, or changes nothing the second time. */
static const Expr *unary_of_same(ExprOp op, const Expr *a)
{
    if (a->op != op)
        return NULL;
    if (op == EXPR_neg || op == EXPR_not)
        return a->operand[0];
    return op == EXPR_abs || op == EXPR_floor || op == EXPR_ceil || op == EXPR_round ? a : NULL;
}

/* !(a == b) is a != b, and of whole numbers !(a < b) is b <= a; of reals it is not, when one is no number. */
static const Expr *opposite(ExprPool *pool, const Expr *a)
{
    const Expr *left = a->operand[0], *right = a->operand[1];
    if (a->op == EXPR_eq || a->op == EXPR_ne)
        return expr_binary(pool, a->op == EXPR_eq ? EXPR_ne : EXPR_eq, left, right);
    bool ordered = (a->op == EXPR_lt || a->op == EXPR_le) && left->type != TYPE_FLOAT;
    return ordered ? expr_binary(pool, a->op == EXPR_lt ? EXPR_le : EXPR_lt, right, left) : NULL;
}

static bool is_whole(ExprOp op)
{
    return op == EXPR_floor || op == EXPR_ceil || op == EXPR_round;
}

const Expr *expr_unary(ExprPool *pool, ExprOp op, const Expr *a)
{
    if (op == EXPR_to_float || op == EXPR_to_int)
        return expr_convert(pool, a, op == EXPR_to_float ? TYPE_FLOAT : TYPE_INT);
    if (op == EXPR_not)
        a = expr_convert(pool, a, TYPE_BOOL);
    else if (!expr_info[op].same_type)
        a = expr_convert(pool, a, TYPE_FLOAT);
    else if (a->type == TYPE_BOOL)
        a = expr_convert(pool, a, TYPE_INT);
    if (is_whole(op) && a->op == EXPR_to_float)
        return a;
    const Expr *simpler = unary_of_same(op, a);
    if (op == EXPR_not && !simpler)
        simpler = opposite(pool, a);
    return simpler ? simpler : fold(pool, &(Expr){ .op = op, .type = result_type(op, a->type), .operand = { a } });
}

static ScalarType branch_type(const Expr *a, const Expr *b)
{
    if (a->type == TYPE_FLOAT || b->type == TYPE_FLOAT)
        return TYPE_FLOAT;
    return a->type == TYPE_BOOL && b->type == TYPE_BOOL ? TYPE_BOOL : TYPE_INT;
}

const Expr *expr_select(ExprPool *pool, const Expr *condition, const Expr *a, const Expr *b)
{
    ScalarType type = branch_type(a, b);
    condition = expr_convert(pool, condition, TYPE_BOOL);
    a = expr_convert(pool, a, type);
    b = expr_convert(pool, b, type);
    if (expr_is_constant(condition))
        return expr_value(condition) != 0 ? a : b;
    if (a == b)
        return a;
    if (condition->op == EXPR_not)
        return expr_select(pool, condition->operand[0], b, a);
    if (type == TYPE_BOOL && expr_is_constant(a) && expr_is_constant(b))
        return expr_value(a) != 0 ? condition : expr_unary(pool, EXPR_not, condition);
    return expr_intern(pool, &(Expr){ .op = EXPR_select, .type = type, .operand = { condition, a, b } });
}

const Expr *expr_rebuild(ExprPool *pool, const Expr *expr, const Expr *const *operands)
{
    switch (expr->op) {
    case EXPR_select: return expr_select(pool, operands[0], operands[1], operands[2]);
    case EXPR_table:  return expr_table(pool, expr->table, operands[0]);
    case EXPR_beta:   return expr_random(pool, expr->op, expr->site, expr->slot, operands[0], operands[1]);
    default:          break;
    }
    int count = expr_info[expr->op].operands;
    return count == 0 ? expr
         : count == 1 ? expr_unary(pool, expr->op, operands[0])
                      : expr_binary(pool, expr->op, operands[0], operands[1]);
}
