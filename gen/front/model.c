/* model.c -- runs a model function: the recipe's parameters become its arguments. */
#include "front/model.h"

#include "front/ctree.h"

/* ---- one parameter ---- */

typedef struct Binding {
    Builder *builder;
    const CFile *file;
    const CFunction *function;
    const char *name, *type;
    const CVariable *standard;          /* default_<name>, or NULL */
} Binding;

static bool wrong_type(const Binding *binding, const Doc *doc, const char *wanted)
{
    complain(binding->builder->diag, doc->place, "%s of %s takes %s, not %s", binding->name,
             cfunction_name(binding->function), wanted, doc_kind_name(doc));
    note(binding->builder->diag, cfunction_place(binding->function), "it is defined here");
    return false;
}

/* Choices are written in the recipe in lower case, as those of methods. */
static bool same_choice(const char *written, const char *choice)
{
    for (; *written && *choice; written++, choice++) {
        char low = *choice >= 'A' && *choice <= 'Z' ? (char)(*choice - 'A' + 'a') : *choice;
        if (*written != *choice && *written != low)
            return false;
    }
    return *written == *choice;
}

static bool bind_choice(const Binding *binding, const Doc *doc, Value *value)
{
    ExprPool *pool = binding->builder->graph->exprs;
    int count = binding->standard ? cvariable_choice_count(binding->standard) : 0;
    TextArray names = { 0 };
    for (int i = 0; i < count; i++) {
        const char *choice = cvariable_choice(binding->standard, i);
        array_push(binding->builder->arena, &names, choice);
        if (doc->kind == DOC_TEXT && same_choice(doc->text, choice)) {
            *value = value_scalar(expr_integer(pool, i));
            return true;
        }
    }
    if (doc->kind != DOC_TEXT)
        return wrong_type(binding, doc, "a word");
    const char *near = text_nearest(doc->text, names.items, names.count);
    complain(binding->builder->diag, doc->place, "%s of %s can't be '%s'%s%s%s", binding->name,
             cfunction_name(binding->function), doc->text, near ? "; did you mean '" : "", near ? near : "",
             near ? "'?" : "");
    return false;
}

static bool bind_value(const Binding *binding, const Doc *doc, Value *value)
{
    ExprPool *pool = binding->builder->graph->exprs;
    const char *type = binding->type;
    double number;
    if (text_equal(type, "float")) {
        if (!doc_number(doc, &number))
            return wrong_type(binding, doc, "a number");
        *value = value_scalar(expr_number(pool, number));
    } else if (text_equal(type, "int")) {
        if (doc->kind != DOC_INT)
            return wrong_type(binding, doc, "a whole number");
        *value = value_scalar(expr_integer(pool, doc->integer));
    } else if (text_equal(type, "bool") || text_equal(type, "_Bool")) {
        if (doc->kind != DOC_BOOL)
            return wrong_type(binding, doc, "true or false");
        *value = value_scalar(expr_truth(pool, doc->truth));
    } else if (text_equal(type, "const char *") || text_equal(type, "char *")) {
        if (!doc->text)
            return wrong_type(binding, doc, "a text");
        *value = value_text(doc->text);
    } else {
        return bind_choice(binding, doc, value);
    }
    return true;
}

/* The initializer of default_<parameter>: a constant. */
static bool bind_default(const Binding *binding, Value *value)
{
    ExprPool *pool = binding->builder->graph->exprs;
    const Tree *tree = binding->standard->initializer;
    bool negative = tree && tree->kind == TREE_UNARY && tree->op == EXPR_neg;
    if (negative)
        tree = tree->parts[0];
    if (!tree || tree->kind == TREE_INTEGER)
        *value = value_scalar(expr_integer(pool, !tree ? 0 : negative ? -tree->integer : tree->integer));
    else if (tree->kind == TREE_NUMBER)
        *value = value_scalar(expr_number(pool, negative ? -tree->number : tree->number));
    else if (tree->kind == TREE_TEXT)
        *value = value_text(tree->text);
    else {
        complain(binding->builder->diag, cvariable_place(binding->standard), "a default is a plain constant");
        return false;
    }
    return true;
}

static bool bind_parameter(const Binding *binding, const Doc *parameters, Place place, Value *value)
{
    const Doc *doc = parameters ? doc_find(parameters, binding->name) : NULL;
    if (doc)
        return bind_value(binding, doc, value);
    if (binding->standard)
        return bind_default(binding, value);
    complain(binding->builder->diag, place, "%s needs %s", cfunction_name(binding->function), binding->name);
    note(binding->builder->diag, cfunction_place(binding->function), "it is defined here");
    return false;
}

/* ---- all of them ---- */

static bool known_parameter(const CFunction *function, const char *name)
{
    for (int i = 1; i < cfunction_parameter_count(function); i++)
        if (text_equal(cfunction_parameter_name(function, i), name))
            return true;
    return false;
}

static bool check_unknown(Builder *builder, const CFunction *function, const Doc *parameters)
{
    TextArray names = { 0 };
    for (int i = 1; i < cfunction_parameter_count(function); i++)
        array_push(builder->arena, &names, cfunction_parameter_name(function, i));
    bool ok = true;
    for (int i = 0; parameters && parameters->kind == DOC_MAP && i < parameters->count; i++) {
        const Doc *item = parameters->items[i];
        if (known_parameter(function, item->key))
            continue;
        complain_unknown(builder->diag, item->key_place, text_format(builder->arena, "%s has no parameter",
                         cfunction_name(function)), item->key, names.items, names.count);
        note(builder->diag, cfunction_place(function), "%s is defined here", cfunction_name(function));
        ok = false;
    }
    return ok;
}

static bool bind_all(Builder *builder, const CFile *file, const CFunction *function, const Doc *parameters,
                     Place place, Value *arguments)
{
    int count = cfunction_parameter_count(function);
    if (count < 1 || !text_equal(cfunction_parameter_type(function, 0), "tensor")) {
        complain(builder->diag, cfunction_place(function),
                 "the first parameter of a model is its input: tensor images");
        return false;
    }
    bool ok = check_unknown(builder, function, parameters);
    arguments[0] = value_tensor(builder->input);
    for (int i = 1; i < count; i++) {
        Binding binding = { builder, file, function, cfunction_parameter_name(function, i),
                            cfunction_parameter_type(function, i), NULL };
        binding.standard = cfile_find_variable(file, text_format(builder->arena, "default_%s", binding.name));
        ok = bind_parameter(&binding, parameters, place, &arguments[i]) && ok;
    }
    return ok;
}

bool model_run(Builder *builder, const CFile *file, const CFunction *function, const Doc *parameters,
               Place place, Node **logits)
{
    int count = cfunction_parameter_count(function);
    Value *arguments = arena_array(builder->arena, Value, count + 1), result = { 0 };
    if (!bind_all(builder, file, function, parameters, place, arguments))
        return false;
    Host host = builder_host(builder);
    Evaluator *evaluator = evaluator_create(builder->arena, builder->graph->exprs, builder->diag, file, &host);
    if (!evaluate_call(evaluator, function, arguments, count, &result))
        return false;
    if (result.kind != VALUE_TENSOR || !result.tensor) {
        complain(builder->diag, cfunction_place(function), "%s returns no tensor", cfunction_name(function));
        return false;
    }
    *logits = result.tensor;
    graph_output(builder->graph, (Output){ OUTPUT_LOGITS, result.tensor, NULL, "logits" });
    return true;
}
