/* expr_text.c -- see expr_text.h. */
#include "emit/expr_text.h"

#include <math.h>
#include <string.h>

typedef struct Printer {
    Arena *arena;
    const Spelling *spelling;
    const Expr **shared;                /* expressions that have a local, and its name */
    const char **names;
    int shared_count;
} Printer;

typedef struct Piece {                  /* text, and how tightly its outermost operator binds */
    const char *text;
    int binds;
} Piece;

enum { ATOM = 16, CAST = 14, MULTIPLY = 13, ADD = 12 };

const char *real_text(Arena *arena, double number, bool is_double)
{
    if (isinf(number))
        return number > 0 ? "INFINITY" : "-INFINITY";
    if (isnan(number))
        return "NAN";
    const char *digits = text_number(arena, number);
    bool whole = !strpbrk(digits, ".e");
    return text_format(arena, "%s%s%s", digits, whole ? ".0" : "", is_double ? "" : "f");
}

/* Functions whose C name depends on the precision; `own` ones are parts of the program. */
typedef struct Function { ExprOp op; const char *single, *twice; } Function;
static const Function functions[] = {
    { EXPR_pow,   "powf",      "pow" },       { EXPR_floor, "floorf",    "floor" },
    { EXPR_ceil,  "ceilf",     "ceil" },      { EXPR_round, "rintf",     "rint" },
    { EXPR_sqrt,  "sqrtf",     "sqrt" },      { EXPR_exp,   "real_exp",  "real_exp" },
    { EXPR_log,   "real_log",  "real_log" },  { EXPR_log1p, "log1pf",    "log1p" },
    { EXPR_expm1, "expm1f",    "expm1" },     { EXPR_sin,   "sinf",      "sin" },
    { EXPR_cos,   "cosf",      "cos" },       { EXPR_tanh,  "real_tanh", "real_tanh" },
    { EXPR_erf,   "real_erf",  "real_erf" },
};

static const char *function_name(ExprOp op, const Spelling *spelling)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].op != op)
            continue;
        const char *name = spelling->is_double || spelling->is_host ? functions[i].twice : functions[i].single;
        return spelling->is_host && text_starts(name, "real_") ? name + strlen("real_") : name;
    }
    return NULL;
}

static Piece print(Printer *printer, const Expr *expr);

static const char *operand(Printer *printer, const Expr *expr, int at_least)
{
    Piece piece = print(printer, expr);
    return piece.binds >= at_least ? piece.text : text_format(printer->arena, "(%s)", piece.text);
}

static Piece atom(const char *text)
{
    return (Piece){ text, text[0] == '-' ? CAST : ATOM };
}

static Piece leaf(Printer *printer, const Expr *expr)
{
    const Spelling *spelling = printer->spelling;
    switch (expr->op) {
    case EXPR_number:  return atom(real_text(printer->arena, expr->number, spelling->is_double || spelling->is_host));
    case EXPR_integer: return atom(text_format(printer->arena, "%lld", (long long)expr->integer));
    case EXPR_truth:   return atom(expr->integer ? "true" : "false");
    case EXPR_input:   return atom(spelling->inputs[expr->slot]);
    case EXPR_index:   return atom(spelling->indices[expr->slot]);
    case EXPR_scalar:  return atom(spelling->scalar(spelling->context, expr->scalar));
    default:           break;
    }
    const char *a = expr->operand[0] ? operand(printer, expr->operand[0], 0) : NULL;
    const char *b = expr->operand[1] ? operand(printer, expr->operand[1], 0) : NULL;
    return atom(spelling->random(spelling->context, expr, a, b));
}

/* min, max, abs: conditional expressions of the operands' own type, which compilers turn into one instruction. */
static Piece choose(Printer *printer, const Expr *expr)
{
    const bool is_real = expr->type == TYPE_FLOAT, host = printer->spelling->is_host;
    const bool twice = printer->spelling->is_double || host;
    const char *name = expr->op == EXPR_abs ? (is_real ? (twice ? "fabs" : "fabsf") : "labs")
                     : expr->op == EXPR_min ? (!is_real ? "long_min" : host ? "fmin" : "real_min")
                                            : (!is_real ? "long_max" : host ? "fmax" : "real_max");
    const char *a = operand(printer, expr->operand[0], 0);
    if (expr->op == EXPR_abs)
        return atom(text_format(printer->arena, "%s(%s)", name, a));
    return atom(text_format(printer->arena, "%s(%s, %s)", name, a, operand(printer, expr->operand[1], 0)));
}

static Piece from_pattern(Printer *printer, const Expr *expr)
{
    const ExprInfo *info = &expr_info[expr->op];
    Buffer out = { .arena = printer->arena };
    const bool widens = expr->op == EXPR_to_float && printer->spelling->is_host;
    for (const char *c = widens ? "(double)%0" : info->text; *c; c++) {
        if (*c != '%' || c[1] < '0' || c[1] > '2') {
            buffer_bytes(&out, c, 1);
            continue;
        }
        int which = *++c - '0';
        bool right = which > 0 || info->operands == 1;      /* the right operand of a - (b - c) needs its parentheses */
        bool commutes = expr->op == EXPR_add || expr->op == EXPR_and || expr->op == EXPR_or;
        buffer_add(&out, "%s", operand(printer, expr->operand[which], info->binds + (right && !commutes)));
    }
    return (Piece){ buffer_text(&out), info->binds };
}

static Piece print_select(Printer *printer, const Expr *expr)
{
    int binds = expr_info[EXPR_select].binds;
    return (Piece){ text_format(printer->arena, "%s ? %s : %s", operand(printer, expr->operand[0], binds + 1),
                                operand(printer, expr->operand[1], binds), operand(printer, expr->operand[2], binds)),
                    binds };
}

static Piece print_table(Printer *printer, const Expr *expr)
{
    const Spelling *spelling = printer->spelling;
    return atom(text_format(printer->arena, "%s[%s]", spelling->table(spelling->context, expr->table),
                            operand(printer, expr->operand[0], 0)));
}

static Piece print(Printer *printer, const Expr *expr)
{
    for (int i = 0; i < printer->shared_count; i++)
        if (printer->shared[i] == expr && printer->names[i])
            return atom(printer->names[i]);
    if (expr->op == EXPR_uniform || expr->op == EXPR_normal || expr->op == EXPR_beta || expr_info[expr->op].operands == 0)
        return leaf(printer, expr);
    if (expr->op == EXPR_select)
        return print_select(printer, expr);
    if (expr->op == EXPR_table)
        return print_table(printer, expr);
    if (expr->op == EXPR_min || expr->op == EXPR_max || expr->op == EXPR_abs)
        return choose(printer, expr);
    const char *name = function_name(expr->op, printer->spelling);
    if (!name)
        return from_pattern(printer, expr);
    const char *a = operand(printer, expr->operand[0], 0);
    if (expr->op == EXPR_pow)
        return atom(text_format(printer->arena, "%s(%s, %s)", name, a, operand(printer, expr->operand[1], 0)));
    return atom(text_format(printer->arena, "%s(%s)", name, a));
}

const char *expr_text(Arena *arena, const Expr *expr, const Spelling *spelling)
{
    Printer printer = { .arena = arena, .spelling = spelling };
    return print(&printer, expr).text;
}

/* ---- sharing ---- */

typedef Array(const Expr *) ExprArray;
typedef struct Census {
    Arena *arena;
    ExprArray order;                    /* operands before what uses them */
    int *uses;                          /* parallel to order */
} Census;

static int find(const ExprArray *array, const Expr *expr)
{
    for (int i = 0; i < array->count; i++)
        if (array->items[i] == expr)
            return i;
    return -1;
}

static void visit(Census *census, const Expr *expr)
{
    if (find(&census->order, expr) >= 0)
        return;
    for (int i = 0; i < expr_info[expr->op].operands; i++)
        visit(census, expr->operand[i]);
    array_push(census->arena, &census->order, expr);
}

static void count_uses(Census *census, const Expr *const *exprs, int count)
{
    census->uses = arena_array(census->arena, int, census->order.count);
    for (int i = 0; i < count; i++)
        census->uses[find(&census->order, exprs[i])]++;
    for (int i = 0; i < census->order.count; i++) {
        const Expr *expr = census->order.items[i];
        for (int k = 0; k < expr_info[expr->op].operands; k++)
            census->uses[find(&census->order, expr->operand[k])]++;
    }
}

static const char *type_word(ScalarType type, bool is_host)
{
    return type == TYPE_FLOAT ? (is_host ? "double" : "real") : type == TYPE_INT ? "long" : "bool";
}

static bool deserves_local(const Expr *expr, int uses)
{
    return uses > 1 && (expr_info[expr->op].operands > 0 || expr->op == EXPR_uniform || expr->op == EXPR_normal)
        && expr->op != EXPR_neg;
}

void expr_texts(Arena *arena, const Expr *const *exprs, int count, const Spelling *spelling,
                const char **results, TextArray *locals)
{
    Census census = { .arena = arena };
    for (int i = 0; i < count; i++)
        visit(&census, exprs[i]);
    count_uses(&census, exprs, count);
    Printer printer = { .arena = arena, .spelling = spelling };
    printer.shared = arena_array(arena, const Expr *, census.order.count);
    printer.names = arena_array(arena, const char *, census.order.count);
    for (int i = 0; i < census.order.count; i++) {
        const Expr *expr = census.order.items[i];
        if (!deserves_local(expr, census.uses[i]))
            continue;
        const char *name = text_format(arena, "t%d", locals->count + 1), *value = print(&printer, expr).text;
        array_push(arena, locals, text_format(arena, "const %s %s = %s;", type_word(expr->type, spelling->is_host), name, value));
        printer.shared[printer.shared_count] = expr;
        printer.names[printer.shared_count++] = name;
    }
    for (int i = 0; i < count; i++)
        results[i] = print(&printer, exprs[i]).text;
}
