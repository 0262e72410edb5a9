/* time.c -- durations as batches of this run. */
#include "method/inside.h"

static double per_batch(const RunFacts *facts, TimeUnit unit)
{
    double rows = (double)facts->batch_rows;
    return unit == TIME_TOKEN ? rows * (double)(facts->length ? facts->length : 1) : rows;
}

/* Fractions of a batch are cut off, as Composer's int() does. */
int64_t duration_batches(const RunFacts *facts, Duration duration)
{
    switch (duration.unit) {
    case TIME_EPOCH:    return (int64_t)(duration.amount * (double)facts->batches_per_epoch);
    case TIME_BATCH:    return (int64_t)duration.amount;
    case TIME_DURATION: return (int64_t)(duration.amount * (double)facts->steps);
    case TIME_SAMPLE:
    case TIME_TOKEN:    return (int64_t)(duration.amount / per_batch(facts, duration.unit));
    }
    return 0;
}

/* The run's length is scaled already, so a fraction of it is too; every other unit is scaled here. */
int64_t duration_schedule_batches(const RunFacts *facts, Duration duration)
{
    if (duration.unit == TIME_DURATION)
        return duration_batches(facts, duration);
    double ratio = facts->scale_schedule_ratio, amount = duration.amount * ratio;
    if (duration.unit == TIME_EPOCH)
        return (int64_t)(amount * (double)facts->batches_per_epoch);
    duration.amount = (double)(int64_t)amount;
    return duration_batches(facts, duration);
}

bool duration_of_value(Scene *scene, const CallSite *site, const Value *value, Duration *duration)
{
    const char *wrong = value->kind == VALUE_TEXT && value->text
                      ? duration_parse(scene->methods->arena, value->text, duration) : "it was not given";
    if (wrong)
        complain(scene->methods->diag, site->place, "%s needs a time like 4ba or 0.5dur: %s", site->callee, wrong);
    return !wrong;
}
