/** step -- gamma^k after k times step_size. */
#include "method.h"

SUMMARY("multiplied by gamma every step_size")
REQUIRED_PARAM(timespan, step_size, amount_of(step_size) > 0, "time between the steps")
PARAM(float, gamma, 0.1f, gamma >= 0, "factor of a step")
REQUIRE(schedule_batches(step_size) >= 1, "step_size is less than a batch")

float SCHEDULE(rate)(const moment *now)
{
    return pow(gamma, now->step / schedule_batches(step_size));
}
