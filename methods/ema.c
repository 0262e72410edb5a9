/** ema -- evaluate with a running mean of the weights.
 *
 *      average <- b average + (1 - b) w, every update_interval        b = smoothing, or 2^(-update_interval / half_life)
 *
 *  Running statistics are averaged too. The average starts as a copy of the weights at the first batch (or epoch) that ends
 *  after ema_start.
 *  paper: Polyak, Juditsky 1992; Tarvainen, Valpola 2017, arXiv:1703.01780 */
#include "method.h"

SUMMARY("evaluate with a running mean of the weights")
STAGE(AVERAGE)
OPTIONAL_PARAM(timespan, half_life, amount_of(half_life) > 0, "time after which a weight's share has halved, in ba or ep; 1000ba")
OPTIONAL_PARAM(float, smoothing, 0 <= smoothing && smoothing < 1, "share of the average that stays, instead of half_life")
PARAM(timespan, ema_start, "0.0dur", amount_of(ema_start) >= 0, "when the average begins")
OPTIONAL_PARAM(timespan, update_interval, amount_of(update_interval) >= 1, "time between updates, in ba or ep; 1 of half_life's unit")
static time_unit unit(void)
{
    return given_update_interval ? unit_of(update_interval) : given_half_life ? unit_of(half_life) : UNIT_BATCH;
}

EXCLUDES(swa, "both say which weights evaluation uses")
REQUIRE(!given_half_life || !given_smoothing, "half_life and smoothing say the same thing: give one")
REQUIRE(unit() == UNIT_BATCH || unit() == UNIT_EPOCH, "half_life and update_interval are given in ba or ep")
REQUIRE(!given_half_life || !given_update_interval || unit_of(half_life) == unit_of(update_interval),
        "half_life and update_interval have different units")

STATE(element, float, average, at->parameter, "running mean of the weights")
STATE(run, bool, begun, false, "the average exists")
EVALUATE_WITH(average)

static int every(void)
{
    return given_update_interval ? amount_of(update_interval) : 1;
}

static float stays(void)
{
    return given_smoothing ? smoothing : pow(2, -every() / (given_half_life ? amount_of(half_life) : 1000));
}

static void begin(element *at)
{
    average = at->parameter;
}

static void follow(element *at)
{
    average = stays() * average + (1 - stays()) * at->parameter;
}

/* The first update of an average that is made then leaves it as it is, so with an interval of 1 nothing must begin. */
static void follow_from(int done, bool started)
{
    if (!started)
        return;
    if (every() == 1) {
        each_weight(follow);
    } else {
        if (!begun)
            each_weight(begin);
        else if (done % every() == 0)
            each_weight(follow);
        begun = true;
    }
}

static bool started(const moment *now)
{
    return batches(ema_start) <= 1 || now->step + 1 >= batches(ema_start);
}

void ON(batch_end)(const moment *now)
{
    if (unit() == UNIT_BATCH)
        follow_from(now->step + 1, started(now));
}

void ON(epoch_end)(const moment *now)
{
    if (unit() == UNIT_EPOCH)
        follow_from(now->epoch + 1, started(now));
}
