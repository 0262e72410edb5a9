/* bind.c -- methods meet the facts of the run: what is neutral, what is required, what acts where. */
#include "method/inside.h"

#include <string.h>

/* What an earlier binding made is made anew; scalars stay, so that expressions of both agree. */
static void forget(Methods *methods)
{
    methods->live.count = methods->dead.count = methods->bound.count = 0;
    methods->draws.count = methods->subsets.count = 0;
    methods->states.count = methods->folds.count = 0;
    methods->gradients.count = methods->step.count = methods->batch_end.count = methods->epoch_end.count = 0;
    methods->evaluate_with = NULL;
    methods->update = NULL;
    methods->rate = NULL;
    methods->has_geometry = methods->has_frozen_layers = methods->channels_last = false;
}

static bool find_neutral(Methods *methods)
{
    bool fine = true;
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        const CFunction *neutral = method_function(method, "neutral", "");
        method->is_neutral = false;
        if (neutral)
            fine &= scene_truth(scene_create(methods, method, FOR_VALUE), neutral, &method->is_neutral);
        if (fine && !method->is_neutral) {
            methods->has_geometry |= method_function(method, "schedule_", "geometry") != NULL;
            methods->has_frozen_layers |= method_function(method, "schedule_", "frozen_layers") != NULL;
        }
    }
    return fine;
}

/* A first binding comes before the model was looked at: what is required of the model waits for the next. */
static bool check_requirements(Methods *methods, Method *method)
{
    bool fine = true;
    int at = 0;
    for (const CFunction *function; (function = method_next_function(method, "require_", &at));) {
        bool holds;
        Scene *scene = scene_create(methods, method, FOR_VALUE);
        if (!scene_truth(scene, function, &holds))
            return false;
        if (scene->asked_model && methods->bindings == 1)
            continue;
        const char *text = method_text(method, "require_text_", cfunction_name(function) + strlen("require_"));
        if (!holds)
            complain(methods->diag, method->choice.place, "%s: %s", method->name, text ? text : "a requirement does not hold");
        fine &= holds;
    }
    return fine;
}

static void read_layout(Methods *methods, const Method *method)
{
    Value layout;
    Evaluator *evaluator = scene_create(methods, (Method *)method, FOR_VALUE)->evaluator;
    if (evaluator_read(evaluator, "preferred_layout", &layout) && layout.kind == VALUE_SCALAR && expr_value(layout.scalar) != 0)
        methods->channels_last = true;
}

static bool bind_each(Methods *methods)
{
    bool fine = true;
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        if (method->is_neutral)
            continue;
        fine &= check_requirements(methods, method);
        read_layout(methods, method);
        fine = fine && bind_draws(methods, method);
    }
    for (int i = 0; i < methods->schedules.count; i++)
        fine &= check_requirements(methods, methods->schedules.items[i]);
    return check_requirements(methods, methods->optimizer) && fine;
}

/* The factor of the learning rate as one expression of time. A schedule whose loops depend on the time can't be said so;
 * then methods_rate answers for every step. */
static bool bind_rate(Methods *methods)
{
    Diagnostics *diag = methods->diag, scratch = { .arena = methods->arena };
    const Expr *rate = expr_number(methods->exprs, 1);
    methods->diag = &scratch;
    for (int i = 0; i < methods->schedules.count && rate; i++) {
        Method *schedule = methods->schedules.items[i];
        Value now = scene_moment(methods, NULL), value;
        bool fine = scene_call(scene_create(methods, schedule, FOR_RATE), method_function(schedule, "schedule_", "rate"), &now, 1, &value);
        rate = fine && value.kind == VALUE_SCALAR ? expr_binary(methods->exprs, EXPR_mul, rate, value.scalar) : NULL;
    }
    methods->diag = diag;
    methods->rate = rate;
    double first;
    return methods_rate(methods, &(Moment){ 0 }, &first);
}

bool methods_bind(Methods *methods, const RunFacts *facts)
{
    methods->facts = *facts;
    methods->bindings++;
    forget(methods);
    if (!find_neutral(methods) || !bind_each(methods))
        return false;
    return bind_rate(methods) && bind_hooks(methods) && bind_elements(methods) && !methods->diag->errors;
}
