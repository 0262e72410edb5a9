/** gyro_dropout -- dropout by a few masks that stay for a while, so that few thinned networks learn for longer.
 *
 *      sigma masks of the features, each value kept with probability 1 - p, drawn once
 *      every `interval` batches: tau of them, with replacement; each serves rows / tau rows in a row
 *      y = x mask / (1 - p); evaluation: y = x             interval = floor(batches of the run / sigma) tau
 *
 *  paper: Lee et al. 2022, "Gyro dropout: maximizing ensemble effect in neural network training", MLSys */
#include "method.h"

SUMMARY("dropout by a few masks that stay for a while")
STAGE(SURGERY)
PARAM(float, p, 0.5f, 0 <= p && p < 1, "probability to drop a value")
PARAM(int, sigma, 256, sigma >= 1, "masks in all")
PARAM(int, tau, 16, tau >= 1, "masks in use at a time")
NEUTRAL(p == 0)
REQUIRE(run_steps >= sigma, "the run has fewer batches than sigma: no mask would be used twice")
REQUIRE(batch_rows % tau == 0, "tau does not divide the rows of a batch")
UNAVAILABLE("its masks live for many batches; random tensors are new in every micro-batch")

static int interval(void)
{
    return run_steps / sigma * tau;
}

tensor REWRITE(dropout)(tensor x, dropout_options dropout)
{
    if (!is_training())
        return x;
    return mul(x, scale(less_than(uniform_rows(x), 1 - p), 1 / (1 - p)));
}
