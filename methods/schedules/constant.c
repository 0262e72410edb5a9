/** constant -- alpha until t_max, then 1. */
#include "method.h"

SUMMARY("the same factor until t_max")
PARAM(float, alpha, 1, alpha >= 0, "the factor")
PARAM(timespan, t_max, "1dur", amount_of(t_max) >= 0, "until when")

float SCHEDULE(rate)(const moment *now)
{
    return now->step < schedule_batches(t_max) ? alpha : 1;
}
