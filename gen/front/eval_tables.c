/* eval_tables.c -- constant tables: of helpers of a bounded integer, of arrays read at a run-time index. */
#include <math.h>
#include <stdlib.h>

#include "front/eval.h"

/* A table is known by what is in it: equal ones are one, in every evaluator. */
static int content_id(const char *name, const double *values, int count)
{
    uint64_t hash = text_hash(name) ^ (uint64_t)count;
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (int)(hash >> 34);
}

static const Table *make_table(Evaluator *ev, const char *name, const double *values, int count)
{
    for (int i = 0; i < ev->tables.count; i++) {
        const Table *table = ev->tables.items[i];
        if (table->count == count && text_equal(table->name, name)
            && memcmp(table->values, values, sizeof *values * (size_t)count) == 0)
            return table;
    }
    Table *table = arena_new(ev->arena, Table);
    *table = (Table){ .name = name, .values = values, .count = count, .id = content_id(name, values, count) };
    array_push(ev->arena, &ev->tables, table);
    return table;
}

/* ---- arrays ---- */
static const Table *table_of_items(Evaluator *ev, const char *name, const Value *array)
{
    double *values = arena_array(ev->arena, double, array->array.count);
    for (int i = 0; i < array->array.count; i++) {
        Value item = array->array.items[i];
        if (item.kind != VALUE_SCALAR || !expr_is_constant(item.scalar))
            return NULL;
        values[i] = expr_value(item.scalar);
    }
    return make_table(ev, name, values, array->array.count);
}

/* i == 0 ? a[0] : i == 1 ? a[1] : ... : a[last] */
static const Expr *chosen_item(Evaluator *ev, const Tree *tree, const Value *array, const Expr *index)
{
    int last = array->array.count - 1;
    const Expr *chosen = value_number(ev, tree->place, array->array.items[last]);
    for (int i = last - 1; i >= 0; i--) {
        const Expr *here = expr_binary(ev->exprs, EXPR_eq, index, expr_integer(ev->exprs, i));
        chosen = expr_select(ev->exprs, here, value_number(ev, tree->place, array->array.items[i]), chosen);
    }
    return chosen;
}

static ScalarType item_type(const Tree *tree)
{
    CTypeKind kind = tree->type->kind;
    return kind == CTYPE_FLOAT ? TYPE_FLOAT : kind == CTYPE_BOOL ? TYPE_BOOL : TYPE_INT;
}

const Expr *eval_item_by_expression(Evaluator *ev, const Tree *tree, const Value *array, const Expr *index)
{
    if (array->kind == VALUE_TABLE)
        return expr_convert(ev->exprs, expr_table(ev->exprs, array->table, index), item_type(tree));
    eval_require_symbolic(ev, tree->place);
    const char *name = tree->parts[0]->name ? tree->parts[0]->name : "table";
    if (array->array.count < 1)
        eval_fail(ev, tree->place, "an item of an empty array");
    const Table *table = table_of_items(ev, name, array);
    if (table)
        return expr_convert(ev->exprs, expr_table(ev->exprs, table, index), item_type(tree));
    if (array->array.count > MOST_SELECTED)
        eval_fail(ev, tree->place, "an array read at an index known at run time may have %d items that are not "
                  "constants, this has %d", MOST_SELECTED, array->array.count);
    return chosen_item(ev, tree, array, index);
}

/* ---- helpers ---- */

/* The one argument that isn't a constant, if it is an integer and all others are numbers; else -1. */
static int varying_argument(const Value *arguments, int count)
{
    int varying = -1;
    for (int i = 0; i < count; i++) {
        if (arguments[i].kind != VALUE_SCALAR)
            return -1;
        if (expr_is_constant(arguments[i].scalar))
            continue;
        if (varying >= 0 || arguments[i].scalar->type != TYPE_INT)
            return -1;
        varying = i;
    }
    return varying;
}

static bool same_arguments(const Value *a, const Value *b, int count, int varying)
{
    for (int i = 0; i < count; i++)
        if (i != varying && a[i].scalar != b[i].scalar)
            return false;
    return true;
}

/* NULL when some value is no constant: the helper reads something that is known only at run time. */
static const Table *tabulate(Evaluator *ev, Place place, const CFunction *function, const Value *arguments,
                             int count, int varying, int64_t bound)
{
    double *values = arena_array(ev->arena, double, bound);
    Value *at = arena_copy(ev->arena, arguments, sizeof *arguments * (size_t)count);
    for (int64_t i = 0; i < bound; i++) {
        at[varying] = value_scalar(expr_integer(ev->exprs, i));
        Value value = eval_call_function(ev, place, function, at, count);
        if (value.kind != VALUE_SCALAR || !expr_is_constant(value.scalar))
            return NULL;
        values[i] = expr_value(value.scalar);
    }
    return make_table(ev, function->name, values, (int)bound);
}

static const Table *known_or_tabulated(Evaluator *ev, Place place, const CFunction *function,
                                       const Value *arguments, int count, int varying, int64_t bound)
{
    for (int i = 0; i < ev->tabulated.count; i++) {
        const Tabulated *known = &ev->tabulated.items[i];
        if (known->function == function && known->varying == varying && known->bound == bound
            && same_arguments(known->arguments, arguments, count, varying))
            return known->table;
    }
    const Table *table = tabulate(ev, place, function, arguments, count, varying, bound);
    const Value *kept = arena_copy(ev->arena, arguments, sizeof *arguments * (size_t)count);
    array_push(ev->arena, &ev->tabulated, (Tabulated){ function, kept, varying, bound, table });
    return table;
}

bool eval_tabulated_call(Evaluator *ev, Place place, const CFunction *function, const Value *arguments,
                         int count, Value *result)
{
    if (!ev->host->symbolic || !ev->host->bound || function->result->kind != CTYPE_FLOAT
        || count != function->parameters.count)
        return false;
    int varying = varying_argument(arguments, count);
    if (varying < 0 || function->parameters.items[varying].type->kind != CTYPE_INT
        || function->touches_state)
        return false;
    const Expr *index = arguments[varying].scalar;
    int64_t bound = ev->host->bound(ev->host->context, index);
    if (bound < 1 || bound > MOST_TABLE)
        return false;
    const Table *table = known_or_tabulated(ev, place, function, arguments, count, varying, bound);
    if (table)
        *result = value_scalar(expr_table(ev->exprs, table, index));
    return table != NULL;
}
