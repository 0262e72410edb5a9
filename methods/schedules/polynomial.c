/** polynomial -- (1 - x)^power from 1 to alpha_f until t_max. */
#include "decay.h"

SUMMARY("a power of the way that is left")
REQUIRED_PARAM(float, power, power >= 0, "exponent")
PARAM(timespan, t_max, "1dur", amount_of(t_max) > 0, "where the end is")
PARAM(float, alpha_f, 0, alpha_f >= 0, "factor at the end")

float SCHEDULE(rate)(const moment *now)
{
    return polynomial_shape(part_of(now->step, 0, schedule_batches(t_max)), power, alpha_f);
}
