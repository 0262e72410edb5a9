/** cosine_warmrestart -- half cosines from 1 to alpha_f, each t_mult times as long as the one before.
 *  paper: Loshchilov, Hutter 2016, arXiv:1608.03983 */
#include "decay.h"

SUMMARY("half cosines that start again and again")
REQUIRED_PARAM(timespan, t_0, amount_of(t_0) > 0, "length of the first cycle")
PARAM(float, t_mult, 1, t_mult > 0, "factor from cycle to cycle")
PARAM(float, alpha_f, 0, alpha_f >= 0, "factor at the end of a cycle")

struct cycle {
    int begin, length;
};

static struct cycle cycle_at(int step)
{
    struct cycle cycle = { 0, schedule_batches(t_0) };
    if (t_mult == 1)
        cycle.begin = step / cycle.length * cycle.length;
    else
        while (cycle.length > 0 && step >= cycle.begin + cycle.length) {
            cycle.begin += cycle.length;
            cycle.length = t_mult * cycle.length;
        }
    return cycle;
}

REQUIRE(schedule_batches(t_0) >= 1, "t_0 is less than a batch")
REQUIRE(schedule_batches(t_0) < 1 || cycle_at(run_steps - 1).length >= 1, "the cycles shrink to nothing before the run ends")

float SCHEDULE(rate)(const moment *now)
{
    struct cycle cycle = cycle_at(now->step);
    return cosine_shape(part_of(now->step, cycle.begin, cycle.begin + cycle.length), alpha_f);
}
