/* parameters.c -- a recipe's parameters of a method: types, ranges, defaults. */
#include "method/inside.h"

#include <math.h>
#include <string.h>

typedef struct Binding {
    Methods *methods;
    Method *method;
    Scene *scene;
    const CVariable *variable;
    const Doc *doc;                     /* NULL: not given */
} Binding;

static bool wrong_type(const Binding *b, const Doc *doc, const char *wanted)
{
    complain(b->methods->diag, doc->place, "%s of %s takes %s, not %s", b->variable->name, b->method->name, wanted,
             doc_found(b->methods->arena, doc));
    return false;
}

/* ---- by type ---- */

static bool read_number(const Binding *b, const Doc *doc, Value *value)
{
    double number;
    if (!doc_number(doc, &number))
        return wrong_type(b, doc, "a number");
    if (!isfinite(number))
        return wrong_type(b, doc, "a finite number");
    *value = value_scalar(expr_number(b->methods->exprs, number));
    return true;
}

static bool read_whole(const Binding *b, const Doc *doc, Value *value)
{
    if (doc->kind != DOC_INT)
        return wrong_type(b, doc, "a whole number");
    if (doc->integer < INT32_MIN || doc->integer > INT32_MAX)
        return wrong_type(b, doc, "a whole number that fits in 32 bits");
    *value = value_scalar(expr_integer(b->methods->exprs, doc->integer));
    return true;
}

static bool read_truth(const Binding *b, const Doc *doc, Value *value)
{
    if (doc->kind != DOC_BOOL)
        return wrong_type(b, doc, "true or false");
    *value = value_scalar(expr_truth(b->methods->exprs, doc->truth));
    return true;
}

static bool read_duration(const Binding *b, const Doc *doc, Value *value)
{
    Duration duration;
    const char *wrong = doc_duration(b->methods->arena, doc, &duration);
    if (wrong) {
        complain(b->methods->diag, doc->place, "%s of %s: %s", b->variable->name, b->method->name, wrong);
        return false;
    }
    *value = value_text(duration_text(b->methods->arena, duration));
    return true;
}

static const char *lower_case(Arena *arena, const char *word)
{
    Buffer out = { .arena = arena };
    for (; *word; word++)
        buffer_add(&out, "%c", *word >= 'A' && *word <= 'Z' ? *word + ('a' - 'A') : *word);
    return buffer_text(&out);
}

/* Enumerators are words in the recipe, whatever their case. */
static bool read_choice(const Binding *b, const Doc *doc, Value *value)
{
    TextArray words = { 0 };
    for (int i = 0; i < cvariable_choice_count(b->variable); i++) {
        const char *word = lower_case(b->methods->arena, cvariable_choice(b->variable, i));
        array_push(b->methods->arena, &words, word);
        if (doc->text && text_equal(lower_case(b->methods->arena, doc->text), word)) {
            *value = value_scalar(expr_integer(b->methods->exprs, i));
            return true;
        }
    }
    if (doc->kind == DOC_LIST || doc->kind == DOC_MAP)
        return wrong_type(b, doc, "a word");
    complain_unknown(b->methods->diag, doc->place, text_format(b->methods->arena, "%s of %s can't be", b->variable->name, b->method->name),
                     doc->text ? doc->text : "null", words.items, words.count);
    return false;
}

static bool read_item(const Binding *b, const CType *type, const Doc *doc, Value *value)
{
    if (cvariable_choice_count(b->variable))
        return read_choice(b, doc, value);
    switch (type->kind) {
    case CTYPE_FLOAT: return read_number(b, doc, value);
    case CTYPE_INT:   return read_whole(b, doc, value);
    case CTYPE_BOOL:  return read_truth(b, doc, value);
    case CTYPE_TEXT:  return read_duration(b, doc, value);
    default:          break;
    }
    complain(b->methods->diag, b->variable->place, "a parameter can't have the type %s", b->variable->type_name);
    return false;
}

/* A list has at most the length of its array; its count is kept beside it. */
static bool read_list(const Binding *b, Value *value)
{
    const CType *type = b->variable->type;
    if (b->doc->kind != DOC_LIST)
        return wrong_type(b, b->doc, "a list");
    if (b->doc->count > type->length) {
        complain(b->methods->diag, b->doc->place, "%s of %s takes at most %d values, not %d", b->variable->name, b->method->name,
                 type->length, b->doc->count);
        return false;
    }
    *value = (Value){ .kind = VALUE_ARRAY };
    value->array.count = type->length;
    value->array.items = arena_array(b->methods->arena, Value, type->length);
    for (int i = 0; i < type->length; i++) {
        value->array.items[i] = value_scalar(expr_convert(b->methods->exprs, expr_integer(b->methods->exprs, 0),
                                                          type->element->kind == CTYPE_FLOAT ? TYPE_FLOAT : TYPE_INT));
        if (type->element->kind == CTYPE_TEXT)
            value->array.items[i] = value_text("0ba");
        if (i < b->doc->count && !read_item(b, type->element, b->doc->items[i], &value->array.items[i]))
            return false;
    }
    return true;
}

/* ---- as text ---- */

static const char *shown_scalar(const Binding *b, const Value *value)
{
    Arena *arena = b->methods->arena;
    if (value->kind == VALUE_TEXT)
        return value->text ? value->text : "null";
    if (value->kind != VALUE_SCALAR || !expr_is_constant(value->scalar))
        return "?";
    double number = expr_value(value->scalar);
    if (cvariable_choice_count(b->variable))
        return lower_case(arena, cvariable_choice(b->variable, (int)number));
    return value->scalar->type == TYPE_BOOL ? (number != 0 ? "true" : "false") : text_number(arena, number);
}

static const char *shown_value(const Binding *b, const Value *value, int count)
{
    if (value->kind != VALUE_ARRAY)
        return shown_scalar(b, value);
    Buffer out = { .arena = b->methods->arena };
    for (int i = 0; i < count; i++)
        buffer_add(&out, "%s%s", i ? ", " : "[", shown_scalar(b, &value->array.items[i]));
    buffer_add(&out, count ? "]" : "[]");
    return buffer_text(&out);
}

/* ---- one parameter ---- */

static int list_count(const Binding *b)
{
    Value count;
    if (b->doc && b->doc->kind == DOC_LIST)
        return b->doc->count;
    const char *name = text_format(b->methods->arena, "%s_count", b->variable->name);
    bool known = evaluator_read(b->scene->evaluator, name, &count) && count.kind == VALUE_SCALAR;
    return known ? (int)expr_value(count.scalar) : 0;
}

static bool bind_one(Binding *b)
{
    Arena *arena = b->methods->arena;
    const char *name = b->variable->name;
    MethodParameter parameter = {
        .name = name, .type = cvariable_type(b->variable), .help = method_text(b->method, "help_", name),
        .condition = method_text(b->method, "condition_", name), .given = b->doc != NULL,
        .required = cfile_find_variable(b->method->file, text_format(arena, "required_%s", name)) != NULL,
    };
    if (parameter.required && !b->doc) {
        complain(b->methods->diag, b->method->choice.place, "%s needs %s: %s", b->method->name, name, parameter.help ? parameter.help : "");
        return false;
    }
    bool is_list = b->variable->type->kind == CTYPE_ARRAY;
    if (b->doc && !(is_list ? read_list(b, &parameter.value) : read_item(b, b->variable->type, b->doc, &parameter.value)))
        return false;
    if (!b->doc && !evaluator_read(b->scene->evaluator, name, &parameter.value))
        return false;
    parameter.shown = shown_value(b, &parameter.value, is_list ? list_count(b) : 0);
    bool left_out = !b->doc && cfile_find_variable(b->method->file, text_format(arena, "given_%s", name));
    if (left_out)
        parameter.shown = "null";
    array_push(arena, &b->method->parameters, parameter);
    return true;
}

/* ---- all of them ---- */

static const Doc *given(const Method *method, const char *name)
{
    const Doc *map = method->choice.parameters;
    const Doc *doc = map && map->kind == DOC_MAP ? doc_find(map, name) : NULL;
    return doc && doc->kind == DOC_NULL ? NULL : doc;       /* `null` asks for the default */
}

static bool check_unknown(Methods *methods, Method *method)
{
    const Doc *map = method->choice.parameters;
    TextArray names = { 0 };
    for (int i = 0; i < cfile_variable_count(method->file); i++)
        if (method_text(method, "help_", cfile_variable(method->file, i)->name))
            array_push(methods->arena, &names, cfile_variable(method->file, i)->name);
    if (method->has_rewrites)
        array_push(methods->arena, &names, "allow_no_effect");
    bool fine = true;
    for (int i = 0; map && map->kind == DOC_MAP && i < map->count; i++) {
        bool known = false;
        for (int k = 0; k < names.count; k++)
            known |= text_equal(names.items[k], map->items[i]->key);
        if (!known)
            complain_unknown(methods->diag, map->items[i]->key_place, text_format(methods->arena, "%s has no parameter", method->name),
                             map->items[i]->key, names.items, names.count);
        fine &= known;
    }
    return fine;
}

static bool check_conditions(Methods *methods, Method *method)
{
    bool fine = true;
    for (int i = 0; i < method->parameters.count; i++) {
        const MethodParameter *parameter = &method->parameters.items[i];
        const CFunction *valid = method_function(method, "valid_", parameter->name);
        bool holds = true;
        if (!valid)
            continue;
        if (!scene_truth(scene_create(methods, method, FOR_VALUE), valid, &holds))
            return false;
        const Doc *doc = given(method, parameter->name);
        if (!holds)
            complain(methods->diag, doc ? doc->place : method->choice.place, "%s of %s is %s; it must hold that %s", parameter->name,
                     method->name, parameter->shown, parameter->condition);
        fine &= holds;
    }
    return fine;
}

static bool read_allowance(Methods *methods, Method *method)
{
    const Doc *doc = given(method, "allow_no_effect");
    if (!doc || !method->has_rewrites)
        return true;
    if (doc->kind != DOC_BOOL) {
        complain(methods->diag, doc->place, "allow_no_effect takes true or false, not %s", doc_found(methods->arena, doc));
        return false;
    }
    method->allow_no_effect = doc->truth;
    return true;
}

bool parameters_bind(Methods *methods, Method *method)
{
    bool fine = check_unknown(methods, method);
    fine &= read_allowance(methods, method);
    Scene *scene = scene_create(methods, method, FOR_VALUE);
    for (int i = 0; i < cfile_variable_count(method->file); i++) {
        const CVariable *variable = cfile_variable(method->file, i);
        if (!method_text(method, "help_", variable->name))
            continue;
        Binding binding = { methods, method, scene, variable, given(method, variable->name) };
        fine &= bind_one(&binding);
    }
    return fine && check_conditions(methods, method);
}
