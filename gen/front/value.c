/* value.c -- values of the evaluator: made, copied, converted to a type, stored. */
#include "front/eval.h"

Value value_scalar(const Expr *expr)
{
    return (Value){ .kind = VALUE_SCALAR, .scalar = expr };
}

Value value_text(const char *text)
{
    return (Value){ .kind = VALUE_TEXT, .text = text };
}

Value value_tensor(Node *tensor)
{
    return (Value){ .kind = VALUE_TENSOR, .tensor = tensor };
}

Value value_table(const Table *table)
{
    return (Value){ .kind = VALUE_TABLE, .table = table };
}

Value *value_field(const Value *record, const char *name)
{
    if (record->kind != VALUE_STRUCT)
        return NULL;
    for (int i = 0; i < record->record.count; i++)
        if (text_equal(record->record.fields[i].name, name))
            return record->record.fields[i].value;
    return NULL;
}

const char *value_describe(Value value)
{
    static const char *const names[] = {
        [VALUE_VOID] = "nothing", [VALUE_SCALAR] = "a number", [VALUE_TEXT] = "a text",
        [VALUE_TENSOR] = "a tensor", [VALUE_STRUCT] = "a struct", [VALUE_ARRAY] = "an array",
        [VALUE_FUNCTION] = "a function", [VALUE_POINTER] = "a pointer", [VALUE_TABLE] = "a table",
    };
    return names[value.kind];
}

/* ---- made from a type ---- */
static Value make_record(Evaluator *ev, const CType *type, Value (*leaf)(Evaluator *, const CType *))
{
    Value value = { .kind = VALUE_STRUCT };
    value.record.type = type->name;
    value.record.count = type->fields.count;
    value.record.fields = arena_array(ev->arena, Field, type->fields.count);
    Value *cells = arena_array(ev->arena, Value, type->fields.count);
    for (int i = 0; i < type->fields.count; i++) {
        cells[i] = leaf(ev, type->fields.items[i].type);
        value.record.fields[i] = (Field){ type->fields.items[i].name, &cells[i] };
    }
    return value;
}

static Value make_array(Evaluator *ev, const CType *type, Value (*leaf)(Evaluator *, const CType *))
{
    Value value = { .kind = VALUE_ARRAY };
    if (type->length > MOST_STEPS)
        eval_fail(ev, ev->place, "an array of %d items is too large", type->length);
    value.array.count = type->length;
    value.array.items = arena_array(ev->arena, Value, type->length);
    for (int i = 0; i < type->length; i++) {
        eval_step(ev, ev->place);
        value.array.items[i] = leaf(ev, type->element);
    }
    return value;
}

Value value_zero(Evaluator *ev, const CType *type)
{
    switch (type->kind) {
    case CTYPE_FLOAT: return value_scalar(expr_number(ev->exprs, 0));
    case CTYPE_INT: return value_scalar(expr_integer(ev->exprs, 0));
    case CTYPE_BOOL: return value_scalar(expr_truth(ev->exprs, false));
    case CTYPE_TEXT: return value_text(NULL);
    case CTYPE_TENSOR: return value_tensor(NULL);
    case CTYPE_RECORD: return make_record(ev, type, value_zero);
    case CTYPE_ARRAY: return make_array(ev, type, value_zero);
    case CTYPE_POINTER: return (Value){ .kind = VALUE_POINTER };
    case CTYPE_FUNCTION: return (Value){ .kind = VALUE_FUNCTION };
    case CTYPE_VOID:
    case CTYPE_OTHER: break;
    }
    return (Value){ .kind = VALUE_VOID };
}

Value value_unset(Evaluator *ev, const CType *type)
{
    if (type->kind == CTYPE_RECORD)
        return make_record(ev, type, value_unset);
    if (type->kind == CTYPE_ARRAY)
        return make_array(ev, type, value_unset);
    return (Value){ .kind = VALUE_VOID };
}

/* ---- copies ---- */
Value value_copied(Evaluator *ev, Value value)
{
    Value copy = value;
    if (value.kind == VALUE_STRUCT) {
        copy.record.fields = arena_array(ev->arena, Field, value.record.count);
        Value *cells = arena_array(ev->arena, Value, value.record.count);
        for (int i = 0; i < value.record.count; i++) {
            cells[i] = value_copied(ev, *value.record.fields[i].value);
            copy.record.fields[i] = (Field){ value.record.fields[i].name, &cells[i] };
        }
    } else if (value.kind == VALUE_ARRAY) {
        copy.array.items = arena_array(ev->arena, Value, value.array.count);
        for (int i = 0; i < value.array.count; i++)
            copy.array.items[i] = value_copied(ev, value.array.items[i]);
    }
    return copy;
}

void value_store(Evaluator *ev, Value *cell, Value value)
{
    if (cell->kind == VALUE_STRUCT && value.kind == VALUE_STRUCT) {
        for (int i = 0; i < cell->record.count; i++) {
            Value *from = value_field(&value, cell->record.fields[i].name);
            if (from && from != cell->record.fields[i].value)
                value_store(ev, cell->record.fields[i].value, *from);
        }
    } else if (cell->kind == VALUE_ARRAY && value.kind == VALUE_ARRAY) {
        for (int i = 0; i < cell->array.count && i < value.array.count; i++)
            if (&cell->array.items[i] != &value.array.items[i])
                value_store(ev, &cell->array.items[i], value.array.items[i]);
    } else {
        eval_log(ev, cell);
        *cell = value;
    }
}

/* ---- conversions ---- */
static bool is_null(Value value)
{
    return (value.kind == VALUE_SCALAR && expr_is_constant(value.scalar) && expr_value(value.scalar) == 0)
        || (value.kind == VALUE_POINTER && !value.target) || (value.kind == VALUE_TEXT && !value.text)
        || (value.kind == VALUE_TENSOR && !value.tensor) || (value.kind == VALUE_FUNCTION && !value.function);
}

const Expr *value_truth(Evaluator *ev, Place place, Value value)
{
    switch (value.kind) {
    case VALUE_SCALAR: return expr_convert(ev->exprs, value.scalar, TYPE_BOOL);
    case VALUE_TEXT:
    case VALUE_TENSOR:
    case VALUE_FUNCTION:
    case VALUE_POINTER: return expr_truth(ev->exprs, !is_null(value));
    case VALUE_ARRAY:
    case VALUE_TABLE: return expr_truth(ev->exprs, true);
    case VALUE_VOID:
    case VALUE_STRUCT: break;
    }
    eval_fail(ev, place, "expected a condition, got %s", value_describe(value));
}

const Expr *value_number(Evaluator *ev, Place place, Value value)
{
    if (value.kind != VALUE_SCALAR)
        eval_fail(ev, place, "expected a number, got %s", value_describe(value));
    return value.scalar;
}

static Value convert_scalar(Evaluator *ev, Place place, Value value, ScalarType type)
{
    if (type == TYPE_BOOL)
        return value_scalar(value_truth(ev, place, value));
    return value_scalar(expr_convert(ev->exprs, value_number(ev, place, value), type));
}

/* An array becomes a pointer to itself: the items are shared, not copied. */
static Value convert_pointer(Evaluator *ev, Place place, Value value, const CType *type)
{
    if (value.kind == VALUE_POINTER)
        return value;
    if (is_null(value))
        return (Value){ .kind = VALUE_POINTER };
    if (value.kind != VALUE_ARRAY && value.kind != VALUE_TABLE)
        eval_fail(ev, place, "expected %s, got %s", ctype_describe(ev->arena, type), value_describe(value));
    Value *target = arena_new(ev->arena, Value);
    *target = value;
    return (Value){ .kind = VALUE_POINTER, .target = target };
}

static Value convert_record(Evaluator *ev, Place place, Value value, const CType *type)
{
    if (value.kind != VALUE_STRUCT)
        eval_fail(ev, place, "expected %s, got %s", ctype_describe(ev->arena, type), value_describe(value));
    Value record = value_zero(ev, type);
    for (int i = 0; i < record.record.count; i++) {
        const Value *from = value_field(&value, record.record.fields[i].name);
        if (from)
            *record.record.fields[i].value = value_converted(ev, place, *from, type->fields.items[i].type);
    }
    return record;
}

/* A host may give an array of another length than the declared one (lists of parameters). */
static Value convert_array(Evaluator *ev, Place place, Value value, const CType *type)
{
    if (value.kind == VALUE_TABLE || value.kind == VALUE_POINTER)
        return value;
    if (value.kind != VALUE_ARRAY)
        eval_fail(ev, place, "expected an array, got %s", value_describe(value));
    Value array = value;
    array.array.items = arena_array(ev->arena, Value, value.array.count);
    for (int i = 0; i < value.array.count; i++)
        array.array.items[i] = value_converted(ev, place, value.array.items[i], type->element);
    return array;
}

Value value_converted(Evaluator *ev, Place place, Value value, const CType *type)
{
    if (value.kind == VALUE_VOID)
        return value;
    bool right = false;
    switch (type->kind) {
    case CTYPE_FLOAT: return convert_scalar(ev, place, value, TYPE_FLOAT);
    case CTYPE_INT: return convert_scalar(ev, place, value, TYPE_INT);
    case CTYPE_BOOL: return convert_scalar(ev, place, value, TYPE_BOOL);
    case CTYPE_RECORD: return convert_record(ev, place, value, type);
    case CTYPE_ARRAY: return convert_array(ev, place, value, type);
    case CTYPE_POINTER: return convert_pointer(ev, place, value, type);
    case CTYPE_VOID: return (Value){ .kind = VALUE_VOID };
    case CTYPE_TEXT: right = value.kind == VALUE_TEXT; break;
    case CTYPE_TENSOR: right = value.kind == VALUE_TENSOR; break;
    case CTYPE_FUNCTION: right = value.kind == VALUE_FUNCTION; break;
    case CTYPE_OTHER: right = true; break;
    }
    if (right)
        return value_copied(ev, value);
    if (is_null(value))
        return value_zero(ev, type);
    eval_fail(ev, place, "expected %s, got %s", ctype_describe(ev->arena, type), value_describe(value));
}

/* ---- initializers ---- */
static bool is_aggregate(const CType *type)
{
    return type->kind == CTYPE_RECORD || type->kind == CTYPE_ARRAY;
}

static int part_count(const Value *cell)
{
    return cell->kind == VALUE_STRUCT ? cell->record.count : cell->array.count;
}

static Value *part_cell(Value *cell, int index)
{
    return cell->kind == VALUE_STRUCT ? cell->record.fields[index].value : &cell->array.items[index];
}

static const CType *part_type(const CType *type, int index)
{
    return type->kind == CTYPE_RECORD ? type->fields.items[index].type : type->element;
}

static int designated_part(Evaluator *ev, const CType *type, const Value *cell, const Tree *tree)
{
    int index = tree->index;
    if (tree->name)
        for (index = 0; index < type->fields.count; index++)
            if (text_equal(type->fields.items[index].name, tree->name))
                break;
    if (index < 0 || index >= part_count(cell))
        eval_fail(ev, tree->place, "this designator is outside of what is initialized");
    return index;
}

static void set_part(Evaluator *ev, Value *cell, const CType *type, const Tree *tree)
{
    if (tree->kind == TREE_DESIGNATED) {        /* .a.b = x */
        int index = designated_part(ev, type, cell, tree);
        set_part(ev, part_cell(cell, index), part_type(type, index), tree->parts[0]);
    } else {
        *cell = value_initialized(ev, type, tree);
    }
}

/* Takes items of the list from *next on, as many as the cell has parts. `whole`: the list is this cell's own,
 * not that of a record or array around it whose inner braces were left out. */
static void fill(Evaluator *ev, Value *cell, const CType *type, const Tree *list, int *next, bool whole)
{
    for (int index = 0; *next < list->part_count; index++) {
        const Tree *item = list->parts[*next];
        bool named = item->kind == TREE_DESIGNATED;
        if (named && !whole)
            return;                             /* names a part of the list's own value */
        if (named) {
            index = designated_part(ev, type, cell, item);
            item = item->parts[0];
        }
        if (index >= part_count(cell))
            return;
        const CType *inner = part_type(type, index);
        bool bare = is_aggregate(inner) && item->kind != TREE_LIST && item->kind != TREE_DESIGNATED
            && !is_aggregate(item->type);
        if (bare && !named) {
            fill(ev, part_cell(cell, index), inner, list, next, false);
            continue;
        }
        set_part(ev, part_cell(cell, index), inner, item);
        (*next)++;
    }
}

Value value_initialized(Evaluator *ev, const CType *type, const Tree *initializer)
{
    if (initializer->kind != TREE_LIST)
        return value_converted(ev, initializer->place, eval(ev, initializer), type);
    if (!is_aggregate(type) && initializer->part_count)
        return value_initialized(ev, type, initializer->parts[0]);
    if (!is_aggregate(type))
        return value_zero(ev, type);
    Value value = value_zero(ev, type);
    int next = 0;
    fill(ev, &value, type, initializer, &next, true);
    return value;
}
