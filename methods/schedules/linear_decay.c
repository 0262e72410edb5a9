/** linear_decay -- from alpha_i to alpha_f in a straight line until t_max. */
#include "decay.h"

SUMMARY("a straight line from alpha_i to alpha_f")
PARAM(float, alpha_i, 1, alpha_i >= 0, "factor at the start")
PARAM(float, alpha_f, 0, alpha_f >= 0, "factor at the end")
PARAM(timespan, t_max, "1dur", amount_of(t_max) > 0, "where the end is")

float SCHEDULE(rate)(const moment *now)
{
    return linear_shape(part_of(now->step, 0, schedule_batches(t_max)), alpha_i, alpha_f);
}
