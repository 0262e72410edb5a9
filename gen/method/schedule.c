/* schedule.c -- questions about a moment of the run: sizes, frozen layers, the learning rate. */
#include "method/inside.h"

static bool call_geometry(Methods *methods, Method *method, const Moment *now, Geometry before, Value *after)
{
    const Value arguments[] = { scene_moment(methods, now), scene_geometry(methods, &before) };
    return scene_call(scene_create(methods, method, FOR_VALUE), method_function(method, "schedule_", "geometry"), arguments, 2, after);
}

/* Reads the fields of a struct geometry; false when one of them is not known at generation. */
static bool read_geometry(const Value *record, Geometry *g)
{
    int64_t crop = 0;
    const struct { const char *name; int64_t *to; } fields[] = {
        { "rows", &g->rows }, { "length", &g->length }, { "columns", &g->columns }, { "height", &g->height },
        { "width", &g->width }, { "resample", &crop }, { "candidates", &g->candidates },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const Value *value = value_field(record, fields[i].name);
        if (!value || value->kind != VALUE_SCALAR || !expr_is_constant(value->scalar))
            return false;
        *fields[i].to = (int64_t)expr_value(value->scalar);
    }
    g->crop = crop != 0;
    return true;
}

static bool check_geometry(Methods *methods, const Method *method, const Moment *now, const Geometry *g)
{
    bool text = methods->facts.is_text;
    bool fine = g->rows >= 1 && (text ? g->length >= 1 && g->columns >= 1 : g->height >= 1 && g->width >= 1);
    if (!fine)
        complain(methods->diag, method->choice.place, "%s leaves nothing of the batch at step %lld: %lld rows of %lld x %lld", method->name,
                 (long long)now->step, (long long)g->rows, (long long)(text ? g->length : g->height),
                 (long long)(text ? g->columns : g->width));
    bool chosen = g->candidates == 0 || g->candidates >= g->rows;
    if (!chosen)
        complain(methods->diag, method->choice.place, "%s wants %lld of %lld candidates at step %lld", method->name, (long long)g->rows,
                 (long long)g->candidates, (long long)now->step);
    fine &= chosen;
    return fine;
}

bool methods_geometry(Methods *methods, const Moment *now, Geometry full, Geometry *geometry)
{
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        if (method->is_neutral || !method_function(method, "schedule_", "geometry"))
            continue;
        Value after;
        if (!call_geometry(methods, method, now, full, &after))
            return false;
        if (!read_geometry(&after, &full)) {
            complain(methods->diag, method->choice.place, "the geometry that %s gives must be known at generation", method->name);
            return false;
        }
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
        const Value arguments[] = { scene_moment(methods, now), value_scalar(expr_integer(methods->exprs, layers)) };
        const CFunction *function = method_function(method, "schedule_", "frozen_layers");
        double count;
        if (!scene_number(scene_create(methods, method, FOR_VALUE), function, arguments, 2, &count))
            return false;
        int64_t wanted = (int64_t)count;
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
        Method *schedule = methods->schedules.items[i];
        const Value argument = scene_moment(methods, now);
        const CFunction *function = method_function(schedule, "schedule_", "rate");
        double factor;
        if (!scene_number(scene_create(methods, schedule, FOR_RATE), function, &argument, 1, &factor))
            return false;
        *rate *= factor;
    }
    return true;
}
