/** exponential -- gamma^(t / decay_period), moving every batch. */
#include "method.h"

SUMMARY("decays by gamma over each decay_period")
REQUIRED_PARAM(float, gamma, gamma >= 0, "factor of a period")
PARAM(timespan, decay_period, "1ep", amount_of(decay_period) > 0, "length of a period")
REQUIRE(schedule_batches(decay_period) >= 1, "decay_period is less than a batch")

float SCHEDULE(rate)(const moment *now)
{
    return pow(gamma, (float)now->step / schedule_batches(decay_period));
}
