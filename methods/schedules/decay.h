/* decay.h -- the shapes that decays share: functions of the part x of the way, 0..1. */
#pragma once
#include "method.h"

static inline float part_of(int step, int from, int to)
{
    return to <= from ? 1 : fmin(1, (float)(step - from) / (to - from));
}

static inline float linear_shape(float x, float first, float last)
{
    return first + x * (last - first);
}

static inline float cosine_shape(float x, float last)
{
    return last + (1 - last) * (1 + cos(3.14159265358979323846 * x)) / 2;
}

static inline float polynomial_shape(float x, float power, float last)
{
    return last + (1 - last) * pow(1 - x, power);
}

/* Up to the fraction of a batch that either may have lost. */
static inline bool reaches_end(timespan t_max)
{
    return schedule_batches(t_max) >= run_steps - 1;
}

/* Batches of the warmup: not scaled with the schedule unless asked for. */
static inline int warmup_batches(timespan t_warmup, bool scale_warmup)
{
    return scale_warmup ? schedule_batches(t_warmup) : batches(t_warmup);
}

/* From 0 to 1. A scaled warmup is over sooner or later; what follows begins where it would have been over unscaled, as
 * Composer has it. */
static inline float warmup_shape(int step, timespan t_warmup, bool scale_warmup)
{
    int warm = warmup_batches(t_warmup, scale_warmup);
    return scale_warmup ? part_of(step, 0, warm) : (float)step / warm;
}
