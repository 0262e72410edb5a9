/* expr_text.c -- expressions as text and back.
 *
 *     0.5  3  true       constants: real ones always have a point, an exponent or a name (inf, nan)
 *     in0  in1i  in2b    inputs: real, integer, truth
 *     at1                coordinates
 *     $step  table name  scalars; tables: table(name, index)
 *     uniform(site, ordinal)   normal(...)   beta(a, b, site, ordinal)   with the site in hexadecimal
 *     add(in0, 0.5)  select(lt(0.0, in0), in0, 0.0)   everything else by its name
 *     mul(#1=exp(in0), #1)                            in long ones, what is used again has a label
 *
 * A formula whose parts share parts can be longer than any memory when it is written out. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/expr_inside.h"
#include "ir/expr_read.h"

/* ---- printing ---- */

static void print_number(Buffer *out, double number)
{
    if (!isfinite(number)) {
        buffer_add(out, "%s", isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
        return;
    }
    const char *text = text_number(out->arena, number);
    buffer_add(out, strpbrk(text, ".e") ? "%s" : "%s.0", text);
}

static void print_scalar(Buffer *out, const Scalar *scalar)
{
    buffer_add(out, scalar->method ? "$%s:%s" : "$%s%s", scalar->method ? scalar->method : "", scalar->name);
}

static bool print_leaf(Buffer *out, const Expr *expr)
{
    static const char *const suffix[] = { [TYPE_FLOAT] = "", [TYPE_INT] = "i", [TYPE_BOOL] = "b" };
    switch (expr->op) {
    case EXPR_number:  print_number(out, expr->number); return true;
    case EXPR_integer: buffer_add(out, "%lld", (long long)expr->integer); return true;
    case EXPR_truth:   buffer_add(out, expr->integer ? "true" : "false"); return true;
    case EXPR_input:   buffer_add(out, "in%d%s", expr->slot, suffix[expr->type]); return true;
    case EXPR_index:   buffer_add(out, "at%d", expr->slot); return true;
    case EXPR_scalar:  print_scalar(out, expr->scalar); return true;
    default:           return false;
    }
}

static bool is_random(ExprOp op)
{
    return op == EXPR_uniform || op == EXPR_normal || op == EXPR_beta;
}

enum { LONGEST_PLAIN = 60 };            /* nodes of an expression that is written out whatever it shares */

typedef struct Printer {
    Buffer *out;
    const ExprOrder *order;
    int *uses, *labels;                 /* by place in the order; labels: 0 = none yet */
    int label_count;
} Printer;

static double written_out(const ExprOrder *order, int *uses, Arena *arena)
{
    double *sizes = arena_array(arena, double, order->count);
    for (int i = 0; i < order->count; i++) {
        sizes[i] = 1;
        for (int k = 0; k < expr_info[order->steps[i].expr->op].operands; k++) {
            sizes[i] += sizes[order->steps[i].operand[k]];
            uses[order->steps[i].operand[k]]++;
        }
    }
    return sizes[order->count - 1];
}

static void print_step(Printer *printer, int at);

static void print_call(Printer *printer, const ExprStep *step)
{
    Buffer *out = printer->out;
    const Expr *expr = step->expr;
    buffer_add(out, "%s(", expr_info[expr->op].name);
    if (expr->op == EXPR_table)
        buffer_add(out, "%s, ", expr->table->name);
    for (int i = 0; i < expr_info[expr->op].operands; i++) {
        buffer_add(out, "%s", i ? ", " : "");
        print_step(printer, step->operand[i]);
    }
    if (is_random(expr->op))
        buffer_add(out, "%s0x%016llx, %d", expr->op == EXPR_beta ? ", " : "", (unsigned long long)expr->site,
                   expr->slot);
    buffer_add(out, ")");
}

static void print_step(Printer *printer, int at)
{
    const ExprStep *step = &printer->order->steps[at];
    if (print_leaf(printer->out, step->expr))
        return;
    if (printer->labels[at]) {
        buffer_add(printer->out, "#%d", printer->labels[at]);
        return;
    }
    if (printer->uses && printer->uses[at] > 1) {
        printer->labels[at] = ++printer->label_count;
        buffer_add(printer->out, "#%d=", printer->labels[at]);
    }
    print_call(printer, step);
}

void expr_print(Buffer *out, const Expr *expr)
{
    const ExprOrder *order = expr_order(expr);
    Printer printer = { .out = out, .order = order, .labels = arena_array(out->arena, int, order->count),
                        .uses = arena_array(out->arena, int, order->count) };
    if (written_out(order, printer.uses, out->arena) <= LONGEST_PLAIN)
        printer.uses = NULL;
    print_step(&printer, order->count - 1);
}

/* ---- reading ---- */

enum { LONGEST_NAME = 128, DEEPEST = 2000 };

typedef struct Reader {
    ExprPool *pool;
    const char *at;
    const ExprNames *names;
    Array(const Expr *) labels;         /* #1, #2, ...; NULL while its expression is being read */
    Arena *arena;
    int depth;
} Reader;

static const Expr *read(Reader *reader);

static bool skip(Reader *reader, char expected)
{
    while (*reader->at == ' ')
        reader->at++;
    if (*reader->at != expected)
        return false;
    reader->at++;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '[' || c == ']' || c == ':';
}

static bool read_word(Reader *reader, char *word)
{
    int length = 0;
    while (*reader->at == ' ')
        reader->at++;
    for (; is_word(*reader->at) && length < LONGEST_NAME - 1; reader->at++)
        word[length++] = *reader->at;
    word[length] = 0;
    return length > 0 && !is_word(*reader->at);
}

static const Expr *read_constant(Reader *reader)
{
    char *end;
    const char *start = reader->at;
    double number = strtod(start, &end);
    if (end == start)
        return NULL;
    reader->at = end;
    bool whole = strspn(start, "+-0123456789") >= (size_t)(end - start);
    return whole ? expr_integer(reader->pool, strtoll(start, NULL, 10)) : expr_number(reader->pool, number);
}

static const Expr *read_scalar(Reader *reader)
{
    char name[LONGEST_NAME];
    if (!skip(reader, '$') || !read_word(reader, name) || !reader->names || !reader->names->scalar)
        return NULL;
    const Scalar *scalar = reader->names->scalar(reader->names->context, name);
    return scalar ? expr_scalar(reader->pool, scalar) : NULL;
}

/* "in2i" or "at1"; NULL when the word is neither. */
static const Expr *read_place(Reader *reader, const char *word)
{
    char *end;
    if (!(text_starts(word, "in") || text_starts(word, "at")) || !isdigit((unsigned char)word[2]))
        return NULL;
    long slot = strtol(word + 2, &end, 10);
    if (slot > 63)
        return NULL;
    if (word[0] == 'a')
        return *end ? NULL : expr_index(reader->pool, (int)slot);
    ScalarType type = *end == 'i' ? TYPE_INT : *end == 'b' ? TYPE_BOOL : TYPE_FLOAT;
    return end[type != TYPE_FLOAT] ? NULL : expr_input(reader->pool, (int)slot, type);
}

static const Expr *read_random(Reader *reader, ExprOp op)
{
    const Expr *a = NULL, *b = NULL;
    char *end;
    bool has_operands = op == EXPR_beta;
    if (has_operands && !((a = read(reader)) && skip(reader, ',') && (b = read(reader)) && skip(reader, ',')))
        return NULL;
    uint64_t site = strtoull(reader->at, &end, 16);
    if (end == reader->at)
        return NULL;
    reader->at = end;
    if (!skip(reader, ','))
        return NULL;
    long ordinal = strtol(reader->at, &end, 10);
    if (end == reader->at)
        return NULL;
    reader->at = end;
    return skip(reader, ')') ? expr_random(reader->pool, op, site, (int)ordinal, a, b) : NULL;
}

static const Expr *read_table(Reader *reader)
{
    char name[LONGEST_NAME];
    const Expr *index;
    if (!read_word(reader, name) || !skip(reader, ',') || !(index = read(reader)) || !skip(reader, ')'))
        return NULL;
    const ExprNames *names = reader->names;
    const Table *table = names && names->table ? names->table(names->context, name) : NULL;
    return table ? expr_table(reader->pool, table, index) : NULL;
}

static const Expr *read_operation(Reader *reader, ExprOp op)
{
    const Expr *operands[3] = { NULL };
    int count = expr_info[op].operands;
    for (int i = 0; i < count; i++)
        if ((i && !skip(reader, ',')) || !(operands[i] = read(reader)))
            return NULL;
    if (count == 0 || !skip(reader, ')'))
        return NULL;
    return expr_rebuild(reader->pool, &(Expr){ .op = op }, operands);
}

static const Expr *read_call(Reader *reader, const char *word)
{
    for (ExprOp op = 0; op < EXPR_COUNT; op++) {
        if (!text_equal(expr_info[op].name, word))
            continue;
        if (!skip(reader, '('))
            return NULL;
        return is_random(op)    ? read_random(reader, op)
             : op == EXPR_table ? read_table(reader) : read_operation(reader, op);
    }
    return NULL;
}

/* "#1=exp(in0)" the first time, "#1" from then on. */
static const Expr *read_label(Reader *reader)
{
    char *end;
    if (!skip(reader, '#') || !isdigit((unsigned char)*reader->at))
        return NULL;
    long label = strtol(reader->at, &end, 10);
    reader->at = end;
    if (*end != '=')
        return label >= 1 && label <= reader->labels.count ? reader->labels.items[label - 1] : NULL;
    if (label != reader->labels.count + 1)
        return NULL;
    reader->at++;
    array_push(reader->arena, &reader->labels, NULL);
    const Expr *expr = read(reader);
    reader->labels.items[label - 1] = expr;
    return expr;
}

static const Expr *read_inside(Reader *reader)
{
    char word[LONGEST_NAME];
    while (*reader->at == ' ')
        reader->at++;
    if (*reader->at == '#')
        return read_label(reader);
    if (*reader->at == '$')
        return read_scalar(reader);
    if (*reader->at == '-' || isdigit((unsigned char)*reader->at))
        return read_constant(reader);
    if (!read_word(reader, word))
        return NULL;
    if (text_equal(word, "true") || text_equal(word, "false"))
        return expr_truth(reader->pool, word[0] == 't');
    if (text_equal(word, "inf") || text_equal(word, "nan"))
        return expr_number(reader->pool, word[0] == 'i' ? INFINITY : NAN);
    const Expr *place = read_place(reader, word);
    return place ? place : read_call(reader, word);
}

static const Expr *read(Reader *reader)
{
    if (reader->depth == DEEPEST)
        return NULL;
    reader->depth++;
    const Expr *expr = read_inside(reader);
    reader->depth--;
    return expr;
}

const Expr *expr_read(ExprPool *pool, const char **cursor, const ExprNames *names)
{
    Reader reader = { .pool = pool, .at = *cursor, .names = names, .arena = arena_create() };
    const Expr *expr = read(&reader);
    *cursor = reader.at;
    arena_destroy(reader.arena);
    return expr;
}
