/* test_expr.c -- scalar expressions: sharing, folding, substitution, derivatives against finite differences, and
 * the text form both ways. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "ir/expr.h"
#include "ir/expr_read.h"

/* ---- a pool of one's own in each test ---- */

static Arena *arena;
static ExprPool *pool;
static const Expr *x, *y, *i, *j, *p, *q;       /* two reals, two integers, two truths */

static void setup(void)
{
    arena = arena_create();
    pool = expr_pool(arena);
    x = expr_input(pool, 0, TYPE_FLOAT);
    y = expr_input(pool, 1, TYPE_FLOAT);
    i = expr_input(pool, 2, TYPE_INT);
    j = expr_input(pool, 3, TYPE_INT);
    p = expr_input(pool, 4, TYPE_BOOL);
    q = expr_input(pool, 5, TYPE_BOOL);
}

static void teardown(void)
{
    arena_destroy(arena);
}

static const Scalar step = { "step", NULL, SCALAR_TIME, TYPE_INT, 1 };
static const Scalar box = { "bbox[2]", "cutmix", SCALAR_DRAW, TYPE_FLOAT, 2 };
static const Table slopes = { "slopes", "alibi", (double[]){ 0.5, 0.25, 0.125 }, 3, 1 };

static const Scalar *find_scalar(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "step") == 0 ? &step : strcmp(name, "cutmix:bbox[2]") == 0 ? &box : NULL;
}

static const Table *find_table(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "slopes") == 0 ? &slopes : NULL;
}

static const ExprNames names = { NULL, find_scalar, find_table };

static const Expr *parsed(const char *text)
{
    const char *cursor = text;
    const Expr *expr = expr_read(pool, &cursor, &names);
    return expr && *cursor == 0 ? expr : NULL;
}

static const char *printed(const Expr *expr)
{
    Buffer out = { .arena = arena };
    expr_print(&out, expr);
    return buffer_text(&out);
}

static void check_expr(const Expr *expr, const Expr *wanted, const char *what)
{
    ck_assert_msg(expr == wanted, "%s gives %s, not %s", what, printed(expr), printed(wanted));
}

#define IS(expr, wanted) check_expr(expr, wanted, #expr)
#define OP1(op, a) expr_unary(pool, EXPR_##op, a)
#define OP2(op, a, b) expr_binary(pool, EXPR_##op, a, b)
#define REAL(value) expr_number(pool, value)
#define INT(value) expr_integer(pool, value)
#define UNIFORM(site, ordinal) expr_random(pool, EXPR_uniform, site, ordinal, NULL, NULL)
#define TRUE expr_truth(pool, true)
#define FALSE expr_truth(pool, false)

/* ---- evaluation ---- */

static double scalar_value(void *context, const Scalar *scalar)
{
    (void)context;
    return 10 + scalar->id;
}

static double random_value(void *context, const Expr *expr, double a, double b)
{
    (void)context;
    return 100 * (double)expr->site + 10 * expr->slot + a + 2 * b;
}

static double value_at(const Expr *expr, double at_x, double at_y)
{
    const double inputs[] = { at_x, at_y, 7, -3, 1, 0 };
    const int64_t indices[] = { 2, 5, 1 };
    return expr_evaluate(expr, &(ExprPoint){ inputs, indices, scalar_value, random_value, NULL });
}

/* ---- sharing and types ---- */

START_TEST(equal_is_the_same)
{
    IS(OP2(add, x, y), OP2(add, x, y));
    IS(REAL(0.0), REAL(-0.0));
    IS(OP2(mul, OP1(exp, x), REAL(2)), OP2(mul, OP1(exp, expr_input(pool, 0, TYPE_FLOAT)), REAL(2)));
    ck_assert_ptr_ne(OP2(add, x, y), OP2(add, y, x));
    ck_assert_ptr_ne(REAL(1), INT(1));
    ck_assert_ptr_ne(UNIFORM(1, 0), UNIFORM(1, 1));
    ck_assert_ptr_ne(UNIFORM(1, 0), UNIFORM(2, 0));
    IS(UNIFORM(2, 0), UNIFORM(2, 0));
}
END_TEST

START_TEST(many_stay_shared)
{
    const Expr *made[3000];
    for (int k = 0; k < 3000; k++)
        made[k] = OP2(add, x, REAL(k + 1));
    for (int k = 0; k < 3000; k++)
        ck_assert_ptr_eq(made[k], OP2(add, x, REAL(k + 1)));
}
END_TEST

START_TEST(operands_agree_in_type)
{
    IS(OP2(mul, x, i), OP2(mul, x, expr_convert(pool, i, TYPE_FLOAT)));
    ck_assert_int_eq(OP2(mul, i, j)->type, TYPE_INT);
    ck_assert_int_eq(OP2(add, p, q)->type, TYPE_INT);
    ck_assert_int_eq(OP2(lt, i, x)->type, TYPE_BOOL);
    ck_assert_int_eq(OP2(eq, p, q)->operand[0]->type, TYPE_BOOL);
    ck_assert_int_eq(OP2(pow, i, INT(3))->type, TYPE_FLOAT);
    ck_assert_int_eq(OP1(sqrt, i)->type, TYPE_FLOAT);
    ck_assert_int_eq(OP1(neg, i)->type, TYPE_INT);
    ck_assert_int_eq(expr_select(pool, p, i, x)->type, TYPE_FLOAT);
    IS(OP1(to_int, OP1(to_float, i)), i);
    IS(OP1(floor, OP1(to_float, i)), OP1(to_float, i));
    IS(expr_convert(pool, REAL(-2.7), TYPE_INT), INT(-2));
    IS(expr_convert(pool, x, TYPE_BOOL), OP2(ne, x, REAL(0)));
    IS(expr_convert(pool, INT(5), TYPE_BOOL), TRUE);
    ck_assert_int_eq(expr_convert(pool, REAL(1e300), TYPE_INT)->op, EXPR_to_int);
    ck_assert_int_eq(expr_convert(pool, REAL(NAN), TYPE_INT)->op, EXPR_to_int);
}
END_TEST

/* ---- folding ---- */

START_TEST(constants_fold)
{
    IS(OP2(add, REAL(0.1), REAL(0.2)), REAL(0.1 + 0.2));
    IS(OP1(exp, INT(1)), REAL(exp(1)));
    IS(OP2(pow, INT(2), INT(10)), REAL(1024));
    IS(OP2(div, INT(-7), INT(2)), INT(-3));
    IS(OP2(mod, INT(-7), INT(2)), INT(-1));
    IS(OP2(max, INT(3), INT(5)), INT(5));
    IS(OP2(lt, INT(3), REAL(3.5)), TRUE);
    IS(OP1(not, TRUE), FALSE);
    IS(OP1(abs, INT(-4)), INT(4));
    IS(OP1(round, REAL(2.5)), REAL(2));
    IS(expr_table(pool, &slopes, INT(1)), REAL(0.25));
    ck_assert_int_eq(expr_table(pool, &slopes, INT(3))->op, EXPR_table);
}
END_TEST

/* Doubles hold integers up to 2^53 only. */
START_TEST(contradictions_fold)
{
    const Expr *less = expr_binary(pool, EXPR_lt, i, j), *not_less = expr_unary(pool, EXPR_not, less);
    const Expr *not_p = expr_unary(pool, EXPR_not, p);
    ck_assert_ptr_eq(not_less, expr_binary(pool, EXPR_le, j, i));
    ck_assert_ptr_eq(expr_binary(pool, EXPR_and, less, not_less), expr_truth(pool, false));
    ck_assert_ptr_eq(expr_binary(pool, EXPR_or, not_p, p), expr_truth(pool, true));
    /* of reals the opposite of < is not >=, where one is no number */
    const Expr *below = expr_binary(pool, EXPR_lt, x, y);
    ck_assert_int_eq(expr_unary(pool, EXPR_not, below)->op, EXPR_not);
    ck_assert_ptr_eq(expr_binary(pool, EXPR_and, below, expr_unary(pool, EXPR_not, below)), expr_truth(pool, false));
}
END_TEST

START_TEST(integers_fold_exactly)
{
    const int64_t big = INT64_C(9007199254740993);
    IS(OP2(add, INT(big), INT(1)), INT(big + 1));
    IS(OP2(sub, INT(big), INT(0)), INT(big));
    IS(OP2(mul, INT(3), INT(big)), INT(3 * big));
    IS(OP2(div, INT(INT64_MAX), INT(10)), INT(INT64_MAX / 10));
    IS(OP2(mod, INT(INT64_MAX), INT(10)), INT(7));
    IS(OP2(eq, INT(big), INT(big - 1)), FALSE);
    IS(OP2(lt, INT(big - 1), INT(big)), TRUE);
    IS(OP1(neg, INT(big)), INT(-big));
}
END_TEST

START_TEST(what_has_no_value_stays)
{
    ck_assert_int_eq(OP2(div, INT(1), INT(0))->op, EXPR_div);
    ck_assert_int_eq(OP2(mod, INT(1), INT(0))->op, EXPR_mod);
    ck_assert_int_eq(OP2(div, INT(0), INT(0))->op, EXPR_div);
    ck_assert_int_eq(OP2(div, INT(INT64_MIN), INT(-1))->op, EXPR_div);
    ck_assert_int_eq(OP2(add, INT(INT64_MAX), INT(1))->op, EXPR_add);
    IS(OP2(div, REAL(1), REAL(0)), REAL(INFINITY));
}
END_TEST

START_TEST(identities_vanish)
{
    IS(OP2(add, x, REAL(0)), x);
    IS(OP2(add, INT(0), x), x);
    IS(OP2(sub, x, REAL(0)), x);
    IS(OP2(sub, x, x), REAL(0));
    IS(OP2(sub, REAL(0), x), OP1(neg, x));
    IS(OP2(mul, x, INT(1)), x);
    IS(OP2(mul, x, REAL(0)), REAL(0));
    IS(OP2(mul, INT(0), i), INT(0));
    IS(OP2(mul, x, REAL(-1)), OP1(neg, x));
    IS(OP2(div, x, REAL(1)), x);
    IS(OP2(div, i, INT(1)), i);
    IS(OP1(neg, OP1(neg, x)), x);
    IS(OP1(not, OP1(not, p)), p);
    IS(OP1(abs, OP1(abs, x)), OP1(abs, x));
    IS(OP2(pow, x, REAL(1)), x);
    IS(OP2(pow, x, REAL(0)), REAL(1));
    IS(OP2(pow, x, INT(2)), OP2(mul, x, x));
    IS(OP2(max, x, x), x);
    IS(OP2(and, p, TRUE), p);
    IS(OP2(and, FALSE, p), FALSE);
    IS(OP2(or, p, TRUE), TRUE);
    IS(OP2(or, FALSE, p), p);
    IS(OP2(le, x, x), TRUE);
    IS(OP2(lt, x, x), FALSE);
    IS(OP2(ne, i, i), FALSE);
}
END_TEST

START_TEST(selects_fold)
{
    IS(expr_select(pool, TRUE, x, y), x);
    IS(expr_select(pool, FALSE, x, y), y);
    IS(expr_select(pool, p, x, x), x);
    IS(expr_select(pool, OP1(not, p), x, y), expr_select(pool, p, y, x));
    IS(expr_select(pool, p, TRUE, FALSE), p);
    IS(expr_select(pool, p, FALSE, TRUE), OP1(not, p));
    IS(expr_select(pool, INT(3), i, j), i);
}
END_TEST

START_TEST(order_of_operands_survives)
{
    ck_assert_ptr_eq(OP2(max, x, REAL(0))->operand[0], x);
    ck_assert_ptr_eq(OP2(max, REAL(0), x)->operand[1], x);
    const Expr *relu = OP2(max, x, REAL(0)), *in = y;
    ck_assert_ptr_eq(expr_substitute(pool, relu, &in, 1, NULL, 0)->operand[0], y);
}
END_TEST

/* ---- questions and substitution ---- */

START_TEST(questions)
{
    const Expr *e = OP2(add, OP1(exp, x), OP2(mul, OP1(exp, x), expr_index(pool, 1)));
    ck_assert(expr_uses_input(e, 0) && !expr_uses_input(e, 1));
    ck_assert(expr_uses_op(e, EXPR_index) && !expr_uses_op(e, EXPR_sub));
    ck_assert_int_eq(expr_size(e), 6);
    ck_assert(expr_is_number(INT(2), 2) && expr_is_number(REAL(2), 2) && !expr_is_number(TRUE, 1));
}
END_TEST

START_TEST(substitution_folds_again)
{
    const Expr *e = OP2(add, OP2(mul, x, y), OP2(mul, expr_index(pool, 0), i));
    const Expr *one[] = { REAL(1), NULL, NULL }, *zero[] = { NULL, NULL, INT(0) };
    IS(expr_substitute(pool, OP2(mul, x, y), one, 3, NULL, 0), y);
    IS(expr_substitute(pool, e, zero, 3, NULL, 0), OP2(mul, x, y));
    const Expr *swapped[] = { y, x }, *place[] = { expr_index(pool, 2) };
    IS(expr_substitute(pool, e, swapped, 2, place, 1), OP2(add, OP2(mul, y, x), OP2(mul, expr_index(pool, 2), i)));
    IS(expr_substitute(pool, e, NULL, 0, NULL, 0), e);
    const Expr *draw = expr_random(pool, EXPR_beta, 9, 1, x, x), *two = REAL(2);
    IS(expr_substitute(pool, draw, &two, 1, NULL, 0), expr_random(pool, EXPR_beta, 9, 1, two, two));
}
END_TEST

START_TEST(scalars_are_replaced)
{
    const Expr *e = OP2(mul, x, OP2(add, expr_scalar(pool, &step), expr_scalar(pool, &box)));
    IS(expr_replace_scalar(pool, e, &box, REAL(0)), OP2(mul, x, OP1(to_float, expr_scalar(pool, &step))));
    const Expr *early = OP2(lt, expr_scalar(pool, &step), INT(5));
    IS(expr_replace_scalar(pool, expr_select(pool, early, x, y), &step, INT(7)), y);
}
END_TEST

/* ---- evaluation ---- */

START_TEST(values)
{
    ck_assert_double_eq(value_at(OP2(sub, x, y), 5, 3), 2);
    ck_assert_double_eq(value_at(OP2(add, expr_index(pool, 1), expr_scalar(pool, &step)), 0, 0), 16);
    ck_assert_double_eq(value_at(OP2(div, i, j), 0, 0), -2);
    ck_assert_double_eq(value_at(expr_select(pool, p, x, y), 5, 3), 5);
    ck_assert_double_eq(value_at(expr_table(pool, &slopes, OP2(sub, expr_index(pool, 0), INT(1))), 0, 0), 0.25);
    ck_assert_double_eq(value_at(OP2(pow, x, y), 2, 0.5), sqrt(2));
}
END_TEST

/* Draws without operands are handed zeros, wherever they stand. */
START_TEST(draws_get_their_operands)
{
    const Expr *draw = expr_random(pool, EXPR_uniform, 3, 1, NULL, NULL);
    ck_assert_double_eq(value_at(draw, 5, 3), 310);
    ck_assert_double_eq(value_at(OP2(add, x, draw), 5, 3), 315);
    ck_assert_double_eq(value_at(OP2(add, OP2(mul, x, y), expr_random(pool, EXPR_beta, 0, 0, x, y)), 5, 3), 26);
}
END_TEST

/* ---- derivatives ---- */

static const char *const smooth[] = {
    "in0", "in1", "neg(in0)", "add(in0, in1)", "sub(in1, in0)", "mul(in0, in0)", "mul(in0, in1)", "div(in0, in1)",
    "div(in1, in0)", "div(in0, in0)", "min(in0, in1)", "max(in0, in1)", "max(in0, 0.0)", "min(0.5, in0)",
    "pow(in0, 3.0)", "pow(in0, 0.5)", "pow(in0, -2.0)", "pow(2.0, in0)", "pow(in0, in1)", "pow(in0, in0)",
    "abs(in0)", "abs(sub(in0, in1))", "sqrt(in0)", "exp(mul(in0, in1))", "log(in0)", "log1p(in0)", "expm1(in0)",
    "sin(mul(2.0, in0))", "cos(in0)", "tanh(in0)", "erf(in0)", "select(lt(in0, in1), mul(in0, in0), in1)",
    "select(lt(0.0, in0), in0, expm1(in0))", "mul(in0, to_float(in2i))", "add(floor(in0), mul(in0, round(in1)))",
    "mul(0.5, mul(in0, add(1.0, erf(mul(0.7071067811865476, in0)))))", "div(in0, add(1.0, exp(neg(in0))))",
    "mul(in0, tanh(log1p(exp(in0))))", "mul(in0, uniform(7, 0))", "mul(in0, $step)", "table(slopes, at0)",
    "sqrt(add(mul(in0, in0), mul(in1, in1)))", "log(add(exp(in0), exp(in1)))", "ceil(mul(9.0, in0))",
};

START_TEST(derivatives_are_those_of_differences)
{
    static const double places[][2] = { { 0.3, 0.7 }, { 1.25, 0.45 }, { 2.2, 2.9 } };
    const Expr *e = parsed(smooth[_i]);
    ck_assert_msg(e, "%s", smooth[_i]);
    for (int slot = 0; slot < 2; slot++) {
        const Expr *d = expr_derivative(pool, e, slot);
        for (int k = 0; k < 3; k++) {
            const double h = 1e-4, dx = slot ? 0 : h, dy = slot ? h : 0, a = places[k][0], b = places[k][1];
            double near = value_at(e, a + dx, b + dy) - value_at(e, a - dx, b - dy);
            double far = value_at(e, a + 2 * dx, b + 2 * dy) - value_at(e, a - 2 * dx, b - 2 * dy);
            double wanted = (8 * near - far) / (12 * h), got = value_at(d, a, b);
            ck_assert_msg(fabs(got - wanted) <= 1e-9 * (1 + fabs(wanted)),
                          "d %s by in%d at %g, %g is %.12g, not %.12g: %s", smooth[_i], slot, a, b, got, wanted,
                          printed(d));
        }
    }
}
END_TEST

START_TEST(equal_operands_take_the_second_side)
{
    const Expr *relu = OP2(max, x, REAL(0)), *relu6 = OP2(min, relu, REAL(6));
    ck_assert_double_eq(value_at(expr_derivative(pool, relu, 0), 0, 0), 0);
    ck_assert_double_eq(value_at(expr_derivative(pool, OP2(max, REAL(0), x), 0), 0, 0), 1);
    ck_assert_double_eq(value_at(expr_derivative(pool, relu6, 0), 6, 0), 0);
    ck_assert_double_eq(value_at(expr_derivative(pool, OP2(min, REAL(6), x), 0), 6, 0), 1);
    ck_assert_double_eq(value_at(expr_derivative(pool, OP2(max, x, y), 0), 2, 2), 0);
    ck_assert_double_eq(value_at(expr_derivative(pool, OP2(max, x, y), 1), 2, 2), 1);
    ck_assert_double_eq(value_at(expr_derivative(pool, OP1(abs, x), 0), 0, 0), 0);
}
END_TEST

START_TEST(simple_derivatives_are_simple)
{
    IS(expr_derivative(pool, OP2(add, x, y), 0), REAL(1));
    IS(expr_derivative(pool, OP2(mul, x, REAL(3)), 0), REAL(3));
    IS(expr_derivative(pool, OP2(mul, x, y), 1), x);
    IS(expr_derivative(pool, OP1(exp, x), 0), OP1(exp, x));
    IS(expr_derivative(pool, OP2(pow, x, REAL(3)), 0), OP2(mul, REAL(3), OP2(mul, x, x)));
    IS(expr_derivative(pool, OP2(max, x, REAL(0)), 0), expr_select(pool, OP2(lt, REAL(0), x), REAL(1), REAL(0)));
}
END_TEST

START_TEST(some_have_none)
{
    const Expr *draw = expr_random(pool, EXPR_beta, 1, 0, x, x), *whole = OP1(to_int, x);
    const Expr *none[] = {
        i, OP1(to_float, i), OP1(floor, x), OP1(ceil, x), OP1(round, x), OP2(lt, x, y), draw, OP1(to_float, whole),
        expr_scalar(pool, &box), expr_table(pool, &slopes, whole), expr_select(pool, OP2(lt, x, y), REAL(1), REAL(2)),
    };
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
        IS(expr_derivative(pool, none[k], 0), REAL(0));
    IS(expr_derivative(pool, i, 2), REAL(0));
}
END_TEST

/* x <- sin(x x + y), sixty times: written out it would have more than 2^60 nodes. */
static const Expr *iterated(void)
{
    const Expr *e = x;
    for (int k = 0; k < 60; k++)
        e = OP1(sin, OP2(add, OP2(mul, e, e), y));
    return e;
}

START_TEST(sharing_stays)
{
    const Expr *e = iterated(), *d = expr_derivative(pool, e, 0);
    ck_assert_int_eq(expr_size(e), 182);
    ck_assert_int_le(expr_size(d), 8 * 182);
    double h = 1e-6, slope = (value_at(e, 0.5 + h, 0.25) - value_at(e, 0.5 - h, 0.25)) / (2 * h);
    ck_assert_double_eq_tol(value_at(d, 0.5, 0.25), slope, 1e-8);
    const Expr *swapped[] = { y, x };
    ck_assert_int_eq(expr_size(expr_substitute(pool, e, swapped, 2, NULL, 0)), 182);
}
END_TEST

/* ---- text ---- */

static const struct { const char *text; double value; } texts[] = {
    { "0.5", 0.5 }, { "3.0", 3 }, { "3", 3 }, { "-4", -4 }, { "1e-05", 1e-05 }, { "true", 1 }, { "false", 0 },
    { "in0", 5 }, { "in2i", 7 }, { "in4b", 1 }, { "at1", 5 }, { "$step", 11 }, { "$cutmix:bbox[2]", 12 },
    { "select(lt(0.0, in0), in0, mul(0.1, in0))", 5 }, { "table(slopes, at2)", 0.25 },
    { "uniform(0x0000000000000003, 1)", 310 }, { "beta(in0, in1, 0x0000000000000000, 2)", 31 },
    { "mod(in2i, 4)", 3 }, { "not(in4b)", 0 }, { "select(in5b, 1.0, 0.0)", 0 }, { "to_int(in1)", 3 },
};

START_TEST(text_is_as_expected)
{
    const Expr *e = parsed(texts[_i].text);
    ck_assert_msg(e, "%s is not read", texts[_i].text);
    ck_assert_str_eq(printed(e), texts[_i].text);
    ck_assert_double_eq(value_at(e, 5, 3), texts[_i].value);
}
END_TEST

START_TEST(odd_numbers_read_back)
{
    const double numbers[] = { 0.1, 1.0 / 3, 1e300, 5e-324, 0x1.fffffffffffffp+1023, -2.5, 1e22, INFINITY,
                               -INFINITY };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        IS(parsed(printed(REAL(numbers[k]))), REAL(numbers[k]));
    ck_assert(isnan(parsed(printed(REAL(NAN)))->number));
    IS(parsed(printed(INT(INT64_MIN))), INT(INT64_MIN));
    IS(parsed(printed(INT(INT64_MAX))), INT(INT64_MAX));
}
END_TEST

START_TEST(long_text_has_labels)
{
    const Expr *e = expr_derivative(pool, iterated(), 0);
    const char *text = printed(e);
    ck_assert_uint_lt(strlen(text), 20000);
    ck_assert_ptr_nonnull(strstr(text, "#1="));
    IS(parsed(text), e);
}
END_TEST

START_TEST(spaces_are_free)
{
    IS(parsed("  add( in0 ,in1 )"), OP2(add, x, y));
    const char *text = "mul(in0, in1) rest", *cursor = text;
    IS(expr_read(pool, &cursor, NULL), OP2(mul, x, y));
    ck_assert_str_eq(cursor, " rest");
}
END_TEST

static const char *const malformed[] = {
    "", " ", "(", ")", "add", "add(", "add(in0", "add(in0,", "add(in0)", "add(in0, in1", "add(in0, in1, in1)x", "neg()",
    "in", "in-1", "in0x", "in999", "at", "at0i", "$", "$nobody", "table(nobody, 0)", "table(slopes)", "uniform(3)",
    "uniform(3, )", "beta(in0, 3, 1)", "select(in4b, in0)", "number", "number(3)", "input(0)", "#1", "#2=in0", "#0=in0",
    "#1=add(#1, in0)", "#", "-", "--3", "what(in0)", "add in0, in1", "nothing",
};

START_TEST(malformed_text_is_refused)
{
    const Expr *e = parsed(malformed[_i]);
    ck_assert_msg(!e, "'%s' is read as %s", malformed[_i], printed(e));
}
END_TEST

START_TEST(nests_have_an_end)
{
    Buffer out = { .arena = arena };
    for (int k = 0; k < 100000; k++)
        buffer_add(&out, "neg(");
    ck_assert_ptr_null(parsed(buffer_text(&out)));
}
END_TEST

#define COUNT(array) (sizeof(array) / sizeof *(array))

static TCase *group(Suite *suite, const char *name, const TTest *const *tests, size_t count)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t k = 0; k < count; k++)
        tcase_add_test(tcase, tests[k]);
    suite_add_tcase(suite, tcase);
    return tcase;
}

Suite *expr_suite(void)
{
    const TTest *const making[] = {
        equal_is_the_same, many_stay_shared, operands_agree_in_type, constants_fold, integers_fold_exactly, contradictions_fold,
        what_has_no_value_stays, identities_vanish, selects_fold, order_of_operands_survives,
    };
    const TTest *const changing[] = { questions, substitution_folds_again, scalars_are_replaced };
    const TTest *const evaluating[] = { values, draws_get_their_operands };
    const TTest *const deriving[] = {
        equal_operands_take_the_second_side, simple_derivatives_are_simple, some_have_none, sharing_stays,
    };
    const TTest *const text[] = { odd_numbers_read_back, long_text_has_labels, spaces_are_free, nests_have_an_end };
    Suite *suite = suite_create("expr");
    group(suite, "making", making, COUNT(making));
    group(suite, "changing", changing, COUNT(changing));
    group(suite, "values", evaluating, COUNT(evaluating));
    TCase *tcase = group(suite, "derivatives", deriving, COUNT(deriving));
    tcase_add_loop_test(tcase, derivatives_are_those_of_differences, 0, COUNT(smooth));
    tcase = group(suite, "text", text, COUNT(text));
    tcase_add_loop_test(tcase, text_is_as_expected, 0, COUNT(texts));
    tcase_add_loop_test(tcase, malformed_text_is_refused, 0, COUNT(malformed));
    return suite;
}
