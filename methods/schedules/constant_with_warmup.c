/** constant_with_warmup -- rises to alpha and stays there until t_max after the warmup, then 1. */
#include "decay.h"

SUMMARY("the same factor after a warmup")
REQUIRED_PARAM(timespan, t_warmup, amount_of(t_warmup) >= 0, "how long the rate rises from 0")
PARAM(float, alpha, 1, alpha >= 0, "the factor")
PARAM(timespan, t_max, "1dur", amount_of(t_max) >= 0, "until when, from the end of the warmup")
PARAM(bool, scale_warmup, false, true, "scale t_warmup with scale_schedule_ratio")
REQUIRE(warmup_batches(t_warmup, scale_warmup) <= schedule_batches("1dur"), "the warmup is longer than the run")

float SCHEDULE(rate)(const moment *now)
{
    int warm = batches(t_warmup);
    if (now->step < warm)
        return alpha * warmup_shape(now->step, t_warmup, scale_warmup);
    return now->step - warm < schedule_batches(t_max) ? alpha : 1;
}
