/** cosine_warmrestart -- half cosines from 1 to alpha_f, each t_mult times as long as the one before.
 *  paper: Loshchilov, Hutter 2016, arXiv:1608.03983 */
#include "decay.h"

SUMMARY("half cosines that start again and again")
REQUIRED_PARAM(timespan, t_0, amount_of(t_0) > 0, "length of the first cycle")
PARAM(float, t_mult, 1, t_mult > 0, "factor from cycle to cycle")
PARAM(float, alpha_f, 0, alpha_f >= 0, "factor at the end of a cycle")
REQUIRE(schedule_batches(t_0) >= 1, "t_0 is less than a batch")

float SCHEDULE(rate)(const moment *now)
{
    int begin = 0, length = schedule_batches(t_0);
    if (t_mult == 1)
        begin = now->step / length * length;
    else
        while (length > 0 && now->step >= begin + length) {
            begin += length;
            length = (int)(t_mult * length);
        }
    return cosine_shape(part_of(now->step, begin, begin + length), alpha_f);
}
