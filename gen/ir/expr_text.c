/* expr_text.c -- expressions as text and back.
 *
 *     0.5  3  true       constants: real ones always have a point, an exponent or a name (inf, nan)
 *     in0  in1i  in2b    inputs: real, integer, truth
 *     at1                coordinates
 *     $step  table name  scalars; tables: table(name, index)
 *     uniform(site, ordinal)   normal(...)   beta(a, b, site, ordinal)   with the site in hexadecimal
 *     add(in0, 0.5)  select(lt(0.0, in0), in0, 0.0)   everything else by its name */
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

void expr_print(Buffer *out, const Expr *expr)
{
    if (print_leaf(out, expr))
        return;
    buffer_add(out, "%s(", expr_info[expr->op].name);
    if (expr->op == EXPR_table)
        buffer_add(out, "%s, ", expr->table->name);
    for (int i = 0; i < expr_info[expr->op].operands; i++) {
        buffer_add(out, i ? ", " : "");
        expr_print(out, expr->operand[i]);
    }
    if (is_random(expr->op))
        buffer_add(out, "%s0x%016llx, %d", expr->op == EXPR_beta ? ", " : "", (unsigned long long)expr->site, expr->slot);
    buffer_add(out, ")");
}

/* ---- reading ---- */

enum { LONGEST_NAME = 128, DEEPEST = 400 };

typedef struct Reader {
    ExprPool *pool;
    const char *at;
    const ExprNames *names;
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
    if (op == EXPR_beta && (!(a = read(reader)) || !skip(reader, ',') || !(b = read(reader)) || !skip(reader, ',')))
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
    const Table *table = reader->names && reader->names->table ? reader->names->table(reader->names->context, name) : NULL;
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
        return is_random(op) ? read_random(reader, op) : op == EXPR_table ? read_table(reader) : read_operation(reader, op);
    }
    return NULL;
}

static const Expr *read_inside(Reader *reader)
{
    char word[LONGEST_NAME];
    while (*reader->at == ' ')
        reader->at++;
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
    Reader reader = { .pool = pool, .at = *cursor, .names = names };
    const Expr *expr = read(&reader);
    *cursor = reader.at;
    return expr;
}
