/** cosine_decay_with_warmup -- rises to 1, then half a cosine to alpha_f at t_max. */
#include "decay.h"

SUMMARY("half a cosine from 1 to alpha_f, after a warmup")
REQUIRED_PARAM(timespan, t_warmup, amount_of(t_warmup) >= 0, "how long the rate rises from 0")
PARAM(timespan, t_max, "1dur", amount_of(t_max) > 0, "where the end is")
PARAM(float, alpha_f, 0, alpha_f >= 0, "factor at the end")
PARAM(bool, scale_warmup, false, true, "scale t_warmup with scale_schedule_ratio")
REQUIRE(warmup_batches(t_warmup, scale_warmup) <= schedule_batches("1dur"), "the warmup is longer than the run")
REQUIRE(reaches_end(t_max), "t_max is before the end of the run")

float SCHEDULE(rate)(const moment *now)
{
    int warm = batches(t_warmup);
    if (now->step < warm)
        return warmup_shape(now->step, t_warmup, scale_warmup);
    return cosine_shape(part_of(now->step, warm, schedule_batches(t_max)), alpha_f);
}
