/** swa -- near the end, the weights become their mean over the last part of the run.
 *
 *      from swa_start to swa_end, every update_interval:  average <- average + (w - average) / (n + 1)
 *      at swa_end:  w <- average
 *
 *  Running statistics become those of the last averaging.
 *  paper: Izmailov et al. 2018, arXiv:1803.05407 */
#include "method.h"

SUMMARY("weights become their mean over the last part of the run")
STAGE(AVERAGE)
PARAM(timespan, swa_start, "0.7dur", amount_of(swa_start) >= 0, "when averaging begins")
PARAM(timespan, swa_end, "0.97dur", amount_of(swa_end) > 0, "when the mean is taken")
PARAM(timespan, update_interval, "1ep", amount_of(update_interval) >= 1, "time between averagings, in ba or ep")
PARAM(bool, schedule_swa_lr, false, true, "a learning rate of its own while averaging")
CHOICE(anneal_strategy, LINEAR, "how the rate goes to swa_lr", LINEAR, COSINE)
PARAM(int, anneal_steps, 10, anneal_steps > 0, "how long it takes")
OPTIONAL_PARAM(float, swa_lr, swa_lr >= 0, "learning rate while averaging")
EXCLUDES(ema, "both say which weights evaluation uses")
REQUIRE(!schedule_swa_lr, "schedule_swa_lr does not work yet; give the schedule a constant end instead")
REQUIRE(unit_of(update_interval) == UNIT_BATCH || unit_of(update_interval) == UNIT_EPOCH, "update_interval is given in ba or ep")
REQUIRE(unit_of(swa_start) == unit_of(swa_end), "swa_start and swa_end have different units")
REQUIRE(amount_of(swa_start) < amount_of(swa_end), "swa_end is not after swa_start")

STATE(element, float, average, at->parameter, "mean of the weights since swa_start")
STATE(run, int, events, 0, "batches or epochs since swa_start")
STATE(run, int, averaged, 0, "weights in the mean")
STATE(run, bool, finished, false, "the mean was taken")

static void take_in(element *at)
{
    average = at->is_buffer ? at->parameter : average + (at->parameter - average) / (averaged + 1);
}

static void become_average(element *at)
{
    at->parameter = average;
}

static bool reached(const moment *now, timespan when)
{
    return unit_of(when) == UNIT_DURATION ? (float)(now->step + 1) / now->steps >= amount_of(when) : now->step + 1 >= batches(when);
}

static void average_at(const moment *now)
{
    bool due = events % (int)amount_of(update_interval) == 0;
    if (finished || !reached(now, swa_start))
        return;
    if (due)
        each_weight(take_in);
    if (reached(now, swa_end))
        each_weight(become_average);
    finished = reached(now, swa_end);
    averaged += due;
    events++;
}

void ON(batch_end)(const moment *now)
{
    if (unit_of(update_interval) == UNIT_BATCH)
        average_at(now);
}

void ON(epoch_end)(const moment *now)
{
    if (unit_of(update_interval) == UNIT_EPOCH)
        average_at(now);
}
