/** stochastic_depth -- residual branches are left out at random, later ones more often.
 *
 *      p_l = drop_rate (l + 1) / L (linear) or drop_rate (uniform)
 *      training: x + keep branch, keep = 1 with probability 1 - p_l, for the whole batch (block) or each row (sample)
 *      evaluation: x + (1 - p_l) branch
 *
 *  With drop_warmup the rates rise from 0 to these values over that time.
 *  paper: Huang et al. 2016, arXiv:1603.09382 */
#include "method.h"

SUMMARY("residual branches left out at random")
STAGE(SURGERY)
AFTER(squeeze_excite, "excitation belongs to the branch")
CHOICE(target_layer_name, RESNETBOTTLENECK, "which blocks: all residual ones of the model", RESNETBOTTLENECK)
CHOICE(stochastic_method, BLOCK, "one draw for the batch, or one a row", BLOCK, SAMPLE)
PARAM(float, drop_rate, 0.2f, 0 <= drop_rate && drop_rate <= 1, "probability to leave out the last branch")
CHOICE(drop_distribution, LINEAR, "rates rise with depth, or are all the same", LINEAR, UNIFORM)
PARAM(timespan, drop_warmup, "0dur", amount_of(drop_warmup) >= 0, "how long the rates rise from 0")
NEUTRAL(drop_rate == 0)
REQUIRE(stochastic_method == BLOCK || amount_of(drop_warmup) == 0, "drop_warmup must be 0 with the method sample")

static float rate_of_match(void)
{
    return drop_distribution == UNIFORM ? drop_rate : drop_rate * (match_index() + 1) / match_count();
}

tensor REWRITE(residual)(tensor x, tensor branch)
{
    float p = rate_of_match();
    if (!is_training())
        return residual(x, scale(branch, 1 - p));
    int warm = batches(drop_warmup);
    if (warm > 0)
        p *= fmin(1, (float)current_step() / warm);
    tensor luck = stochastic_method == BLOCK ? uniform_batch(branch) : uniform_rows(branch);
    return residual(x, mul(branch, less_than(luck, 1 - p)));
}
