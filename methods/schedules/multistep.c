/** multistep -- gamma^k after k of the milestones. */
#include "method.h"

SUMMARY("multiplied by gamma at each milestone")
REQUIRED_LIST(timespan, milestones, 16, "when")
PARAM(float, gamma, 0.1f, gamma >= 0, "factor of a step")

float SCHEDULE(rate)(const moment *now)
{
    float factor = 1;
    for (int i = 0; i < milestones_count; i++)
        factor *= now->step >= schedule_batches(milestones[i]) ? gamma : 1;
    return factor;
}
