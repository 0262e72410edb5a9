/** multistep_with_warmup -- rises to 1, then gamma^k after k of the milestones, which count from the start. */
#include "decay.h"

SUMMARY("multiplied by gamma at each milestone, after a warmup")
REQUIRED_PARAM(timespan, t_warmup, amount_of(t_warmup) >= 0, "how long the rate rises from 0")
REQUIRED_LIST(timespan, milestones, 16, "when")
PARAM(float, gamma, 0.1f, gamma >= 0, "factor of a step")
PARAM(bool, scale_warmup, false, true, "scale t_warmup with scale_schedule_ratio")
REQUIRE(warmup_batches(t_warmup, scale_warmup) <= schedule_batches("1dur"), "the warmup is longer than the run")

float SCHEDULE(rate)(const moment *now)
{
    int warm = batches(t_warmup);
    float factor = 1;
    for (int i = 0; i < milestones_count; i++)
        factor *= now->step >= schedule_batches(milestones[i]) ? gamma : 1;
    return now->step < warm ? warmup_shape(now->step, t_warmup, scale_warmup) : factor;
}
