/** cosine_decay -- half a cosine from 1 to alpha_f until t_max.
 *  paper: Loshchilov, Hutter 2016, arXiv:1608.03983 */
#include "decay.h"

SUMMARY("half a cosine from 1 to alpha_f")
PARAM(timespan, t_max, "1dur", amount_of(t_max) > 0, "where the end is")
PARAM(float, alpha_f, 0, alpha_f >= 0, "factor at the end")

float SCHEDULE(rate)(const moment *now)
{
    return cosine_shape(part_of(now->step, 0, schedule_batches(t_max)), alpha_f);
}
