/* words.c -- what the names of a method file stand for where they are read: parameters, facts, draws, states, folds.
 *
 * A name that has no value at a place is refused there. Without that it would read as the 0 that stands in the file. */
#include "method/inside.h"

#include <string.h>

static void refuse(const Scene *scene, const Evaluator *evaluator, const char *name, const char *why)
{
    complain(scene->methods->diag, evaluator_place(evaluator), "%s can't be read here: %s", name, why);
}

static bool at_generation(const Scene *scene)
{
    return scene->purpose == FOR_VALUE || scene->purpose == FOR_RATE;
}

bool facts_known(const Methods *methods)
{
    return methods->facts.steps > 0 && methods->facts.batches_per_epoch > 0;
}

/* ---- parameters ---- */

static bool parameter_value(Scene *scene, const char *name, Value *value)
{
    const Method *method = scene->method;
    for (int i = 0; i < method->parameters.count; i++) {
        const MethodParameter *parameter = &method->parameters.items[i];
        if (text_equal(parameter->name, name)) {
            *value = parameter->value;
            return true;
        }
        bool is_given = text_starts(name, "given_") && text_equal(name + strlen("given_"), parameter->name);
        if (is_given) {
            *value = value_scalar(expr_truth(scene->methods->exprs, parameter->given));
            return true;
        }
        size_t length = strlen(parameter->name);
        bool counts = text_starts(name, parameter->name) && text_equal(name + length, "_count") && parameter->given;
        const Doc *doc = counts && method->choice.parameters ? doc_find(method->choice.parameters, parameter->name) : NULL;
        if (doc && doc->kind == DOC_LIST) {
            *value = value_scalar(expr_integer(scene->methods->exprs, doc->count));
            return true;
        }
    }
    return false;
}

/* ---- facts about the run ---- */

/* A size that differs between batches is read when the program runs; elsewhere it is a number. */
static Value size_value(Scene *scene, const char *name, int64_t full, bool varies)
{
    ExprPool *pool = scene->methods->exprs;
    bool at_run_time = varies && (scene->purpose == FOR_HOOK || scene->purpose == FOR_DRAW);
    return value_scalar(at_run_time ? expr_scalar(pool, methods_scalar(scene->methods, name, SCALAR_SIZE, TYPE_INT))
                                    : expr_integer(pool, full));
}

static bool is_mixing(const Methods *methods)
{
    for (int i = 0; i < methods->list.count; i++) {
        const Method *method = methods->list.items[i];
        if (!method->is_neutral && (method_function(method, "hook_", "mixed_pixel") || method_function(method, "hook_", "partner_weight")))
            return true;
    }
    return methods->facts.has_mixing;
}

static bool run_fact(Scene *scene, const Evaluator *evaluator, const char *name, Value *value)
{
    Methods *methods = scene->methods;
    const RunFacts *f = &methods->facts;
    bool short_batch = !f->drop_last && f->batch_rows && f->train_samples % f->batch_rows, moves = methods->has_geometry;
    const struct { const char *name; int64_t full; bool varies; } sizes[] = {
        { "data", f->is_text, false }, { "image_height", f->height, moves }, { "image_width", f->width, moves },
        { "image_channels", f->channels, false }, { "sequence_length", f->length, moves },
        { "batch_rows", f->batch_rows, moves || short_batch }, { "class_count", f->class_count, false },
        { "micro_batches", f->micro_batches, false }, { "has_batch_norm", f->has_batch_norm, false },
        { "has_mixing", is_mixing(methods), false }, { "run_steps", f->steps, false },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!text_equal(sizes[i].name, name))
            continue;
        if (!facts_known(methods)) {
            refuse(scene, evaluator, name, "parameters are checked before the run is known; say it with REQUIRE");
            return false;
        }
        scene->asked_model |= text_equal(name, "has_batch_norm");
        *value = size_value(scene, name, sizes[i].full, sizes[i].varies);
        return true;
    }
    return false;
}

/* ---- the learning rate ---- */

static double final_rate(Methods *methods)
{
    const RunFacts *facts = &methods->facts;
    Moment last = { .step = facts->steps - 1 };
    last.epoch = last.step / facts->batches_per_epoch;
    last.batch_in_epoch = last.step % facts->batches_per_epoch;
    last.samples = last.step * facts->batch_rows;
    last.tokens = last.samples * facts->length;
    double rate = 1;
    methods_rate(methods, &last, &rate);
    return rate;
}

static bool rate_fact(Scene *scene, const Evaluator *evaluator, const char *name, Value *value)
{
    Methods *methods = scene->methods;
    bool is_rate = text_equal(name, "rate"), is_count = text_equal(name, "update_count");
    if (text_equal(name, "final_rate")) {
        if (scene->purpose == FOR_RATE)
            refuse(scene, evaluator, name, "the schedules are what it is made of");
        else if (!facts_known(methods))
            refuse(scene, evaluator, name, "parameters are checked before the run is known; say it with REQUIRE");
        else
            *value = value_scalar(expr_number(methods->exprs, final_rate(methods)));
        return value->kind == VALUE_SCALAR;
    }
    if ((is_rate || is_count) && at_generation(scene)) {
        refuse(scene, evaluator, name, "it is known when the program runs, and this must be known at generation");
        return false;
    }
    if (is_rate)
        *value = value_scalar(expr_scalar(methods->exprs, methods_scalar(methods, name, SCALAR_RATE, TYPE_FLOAT)));
    else if (is_count)
        *value = value_scalar(expr_scalar(methods->exprs, methods_scalar(methods, name, SCALAR_TIME, TYPE_INT)));
    return is_rate || is_count;
}

/* ---- draws, states, folds ---- */

static bool draw_read(Scene *scene, const Evaluator *evaluator, const char *name, Value *value)
{
    if (at_generation(scene)) {
        refuse(scene, evaluator, name, "it is drawn when the program runs, and this must be known at generation");
        return false;
    }
    *value = draw_value(scene->methods, scene->method, name);
    if (value->kind == VALUE_VOID)
        refuse(scene, evaluator, name, "it is not drawn yet");
    return value->kind != VALUE_VOID;
}

static bool state_read(Scene *scene, const Evaluator *evaluator, const char *name, Scope scope, Value *value)
{
    if (scope == SCOPE_ELEMENT && scene->purpose != FOR_ELEMENT)
        refuse(scene, evaluator, name, "a STATE(element, ...) belongs to a weight, so only functions of an element know it");
    else if (at_generation(scene))
        refuse(scene, evaluator, name, "a STATE is known when the program runs, and this must be known at generation");
    else
        return state_value(scene, name, value);
    return false;
}

static bool fold_read(Scene *scene, const Evaluator *evaluator, const char *name, Value *value)
{
    if (scene->program)
        return fold_value(scene, name, value);
    refuse(scene, evaluator, name, "a FOLD is made for the functions of an element, and only they know it");
    return false;
}

bool scene_variable(void *context, Evaluator *evaluator, const CFile *file, const char *name, Value *value)
{
    Scene *scene = context;
    Scope scope;
    (void)file;
    *value = (Value){ .kind = VALUE_VOID };
    if (parameter_value(scene, name, value) || run_fact(scene, evaluator, name, value) || rate_fact(scene, evaluator, name, value))
        return true;
    if (draw_is_declared(scene->methods, scene->method, name))
        return draw_read(scene, evaluator, name, value);
    if (state_is_declared(scene->method, name, &scope))
        return state_read(scene, evaluator, name, scope, value);
    return fold_is_declared(scene->method, name) && fold_read(scene, evaluator, name, value);
}
