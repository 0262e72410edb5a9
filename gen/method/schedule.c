/* schedule.c -- questions about a moment of the run: sizes, frozen layers, the learning rate. */
#include "method/inside.h"

static bool call_at(Methods *methods, Method *method, const char *what, const Moment *now, const Value *second, Value *result)
{
    Value arguments[2] = { scene_moment(methods, now) };
    if (second)
        arguments[1] = *second;
    const CFunction *function = method_function(method, "schedule_", what);
    return scene_call(scene_create(methods, method, FOR_VALUE), function, arguments, second ? 2 : 1, result);
}

static int64_t field(const Value *record, const char *name)
{
    const Value *value = value_field(record, name);
    return value && value->kind == VALUE_SCALAR ? (int64_t)expr_value(value->scalar) : 0;
}

static bool check_geometry(Methods *methods, const Method *method, const Moment *now, const Geometry *g)
{
    bool text = methods->facts.is_text;
    bool fine = g->rows >= 1 && (text ? g->length >= 1 && g->columns >= 1 : g->height >= 1 && g->width >= 1);
    if (!fine)
        complain(methods->diag, method->choice.place, "%s leaves nothing of the batch at step %lld: %lld rows of %lld x %lld", method->name,
                 (long long)now->step, (long long)g->rows, (long long)(text ? g->length : g->height),
                 (long long)(text ? g->columns : g->width));
    return fine;
}

bool methods_geometry(Methods *methods, const Moment *now, Geometry full, Geometry *geometry)
{
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        if (method->is_neutral || !method_function(method, "schedule_", "geometry"))
            continue;
        Value before = scene_geometry(methods, &full), after;
        if (!call_at(methods, method, "geometry", now, &before, &after))
            return false;
        full = (Geometry){ field(&after, "rows"), field(&after, "length"), field(&after, "columns"), field(&after, "height"),
                           field(&after, "width"), field(&after, "resample") != 0, field(&after, "candidates") };
        if (!check_geometry(methods, method, now, &full))
            return false;
    }
    *geometry = full;
    return true;
}

bool methods_frozen_layers(Methods *methods, const Moment *now, int64_t layers, int64_t *frozen)
{
    *frozen = 0;
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        if (method->is_neutral || !method_function(method, "schedule_", "frozen_layers"))
            continue;
        Value count = value_scalar(expr_integer(methods->exprs, layers)), result;
        if (!call_at(methods, method, "frozen_layers", now, &count, &result))
            return false;
        int64_t wanted = (int64_t)expr_value(result.scalar);
        *frozen = wanted > *frozen ? wanted : *frozen;
    }
    return true;
}

/* ---- the rate ---- */

static double time_scalar(void *context, const Scalar *scalar)
{
    const Moment *now = context;
    const struct { const char *name; int64_t value; } known[] = {
        { "step", now->step }, { "epoch", now->epoch }, { "batch_in_epoch", now->batch_in_epoch },
        { "samples", now->samples }, { "tokens", now->tokens },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_equal(known[i].name, scalar->name))
            return (double)known[i].value;
    bug("a schedule reads '%s'", scalar->name);
}

bool methods_rate(Methods *methods, const Moment *now, double *rate)
{
    if (methods->rate) {
        ExprPoint point = { .scalar = time_scalar, .context = (void *)now };
        *rate = expr_evaluate(methods->rate, &point);
        return true;
    }
    *rate = 1;
    for (int i = 0; i < methods->schedules.count; i++) {
        Value value;
        if (!call_at(methods, methods->schedules.items[i], "rate", now, NULL, &value))
            return false;
        *rate *= expr_value(value.scalar);
    }
    return true;
}
