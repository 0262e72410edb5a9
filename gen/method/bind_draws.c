/* bind_draws.c -- DRAW and DRAW_SUBSET: what is drawn once a step, batch or micro-batch. */
#include "method/inside.h"

#include <string.h>

static const struct { const char *prefix; Scope scope; } scopes[] = {
    { "micro_batch_", SCOPE_MICRO_BATCH }, { "batch_", SCOPE_BATCH }, { "step_", SCOPE_STEP },
};

/* "micro_batch_box" -> SCOPE_MICRO_BATCH and "box"; NULL when the scope is none that draws have. */
static const char *split_scope(const char *text, Scope *scope)
{
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if (text_starts(text, scopes[i].prefix)) {
            *scope = scopes[i].scope;
            return text + strlen(scopes[i].prefix);
        }
    return NULL;
}

/* ---- values drawn ---- */

/* Each number in `value` becomes a field of the draw; *seen is the same value with the fields in place of the numbers. */
static bool collect_fields(Methods *methods, const Method *method, Draw *draw, const char *name, const Value *value, Value *seen)
{
    *seen = *value;
    if (value->kind == VALUE_SCALAR) {
        const Scalar *scalar = scene_scalar(methods, method->name, name, SCALAR_DRAW, value->scalar->type);
        array_push(methods->arena, &draw->fields, ((DrawField){ scalar, value->scalar }));
        *seen = value_scalar(expr_scalar(methods->exprs, scalar));
        return true;
    }
    int count = value->kind == VALUE_STRUCT ? value->record.count : value->kind == VALUE_ARRAY ? value->array.count : -1;
    if (count < 0)
        return false;
    Value *cells = arena_array(methods->arena, Value, count);
    if (value->kind == VALUE_STRUCT)
        seen->record.fields = arena_array(methods->arena, Field, count);
    else
        seen->array.items = cells;
    for (int i = 0; i < count; i++) {
        const Value *item = value->kind == VALUE_STRUCT ? value->record.fields[i].value : &value->array.items[i];
        const char *part = value->kind == VALUE_STRUCT ? text_format(methods->arena, "%s.%s", name, value->record.fields[i].name)
                                                       : text_format(methods->arena, "%s[%d]", name, i);
        if (!collect_fields(methods, method, draw, part, item, &cells[i]))
            return false;
        if (value->kind == VALUE_STRUCT)
            seen->record.fields[i] = (Field){ value->record.fields[i].name, &cells[i] };
    }
    return true;
}

static bool bind_draw(Methods *methods, Method *method, const CFunction *function)
{
    Scope scope;
    const char *name = split_scope(cfunction_name(function) + strlen("draw_"), &scope);
    if (!name) {
        complain(methods->diag, cfunction_place(function), "a DRAW's scope is step, batch or micro_batch");
        return false;
    }
    Scene *scene = scene_create(methods, method, FOR_DRAW);
    scene->site = text_hash(text_format(methods->arena, "%s.%s", method->name, name));
    Value value, *seen = arena_new(methods->arena, Value);
    if (!scene_call(scene, function, NULL, 0, &value) || !states_are_untouched(scene, function))
        return false;
    Draw draw = { .name = name, .method = method->name, .scope = scope };
    if (!collect_fields(methods, method, &draw, name, &value, seen)) {
        complain(methods->diag, cfunction_place(function), "a draw is a number, or a struct or array of numbers");
        return false;
    }
    draw.value = seen;
    array_push(methods->arena, &methods->draws, draw);
    return true;
}

/* ---- subsets ---- */

static bool constant_of(Methods *methods, Method *method, const char *kind, const char *scoped, int64_t *number)
{
    const CFunction *function = method_function(method, "draw_subset_", text_format(methods->arena, "%s_%s", scoped, kind));
    Value value;
    if (!function || !scene_call(scene_create(methods, method, FOR_VALUE), function, NULL, 0, &value))
        return false;
    if (value.kind != VALUE_SCALAR || !expr_is_constant(value.scalar)) {
        complain(methods->diag, cfunction_place(function), "the sizes of a subset must be known at generation");
        return false;
    }
    *number = (int64_t)expr_value(value.scalar);
    return true;
}

static bool bind_subset(Methods *methods, Method *method, const CFunction *function)
{
    SubsetDraw subset = { .method = method->name };
    const char *full = cfunction_name(function) + strlen("draw_subset_");
    const char *scoped = text_slice(methods->arena, full, strlen(full) - strlen("_count"));
    subset.name = split_scope(scoped, &subset.scope);
    if (!subset.name || !constant_of(methods, method, "count", scoped, &subset.count)
        || !constant_of(methods, method, "below", scoped, &subset.below))
        return false;
    if (subset.count < 1 || subset.count > subset.below) {
        complain(methods->diag, method->choice.place, "%s: %s would be %lld of %lld", method->name, subset.name,
                 (long long)subset.count, (long long)subset.below);
        return false;
    }
    Table *table = arena_new(methods->arena, Table);
    *table = (Table){ .name = subset.name, .method = method->name, .count = (int)subset.count, .id = methods->subsets.count };
    subset.table = table;
    array_push(methods->arena, &methods->subsets, subset);
    return true;
}

bool bind_draws(Methods *methods, Method *method)
{
    int at = 0;
    bool fine = true;
    for (const CFunction *function; (function = method_next_function(method, "draw_", &at));) {
        const char *name = cfunction_name(function);
        if (!text_starts(name, "draw_subset_"))
            fine &= bind_draw(methods, method, function);
        else if (text_ends(name, "_count"))
            fine &= bind_subset(methods, method, function);
    }
    return fine;
}

bool draw_is_declared(const Methods *methods, const Method *method, const char *name)
{
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if (method_function(method, text_format(methods->arena, "draw_%s", scopes[i].prefix), name)
            || method_function(method, text_format(methods->arena, "draw_subset_%s", scopes[i].prefix),
                               text_format(methods->arena, "%s_count", name)))
            return true;
    return false;
}

Value draw_value(const Methods *methods, const Method *method, const char *name)
{
    for (int i = 0; i < methods->draws.count; i++)
        if (text_equal(methods->draws.items[i].method, method->name) && text_equal(methods->draws.items[i].name, name))
            return *methods->draws.items[i].value;
    for (int i = 0; i < methods->subsets.count; i++)
        if (text_equal(methods->subsets.items[i].method, method->name) && text_equal(methods->subsets.items[i].name, name))
            return value_table(methods->subsets.items[i].table);
    return (Value){ .kind = VALUE_VOID };
}
