/** mixup -- train on weighted means of two images and of their targets.
 *
 *      lambda ~ min(b, 1 - b), b ~ Beta(alpha, alpha)         one for a micro-batch
 *      x <- (1 - lambda) x + lambda x[permutation]            and so the targets
 *
 *  interpolate_loss weighs two losses instead of two targets, which is the same for losses that are linear in the target.
 *  paper: Zhang et al. 2017, arXiv:1710.09412 */
#include "method.h"

SUMMARY("weighted means of pairs of images and targets")
STAGE(MIX)
PARAM(float, alpha, 0.2f, alpha >= 0, "shape of the distribution of the weight; 0: no mixing")
PARAM(bool, interpolate_loss, false, true, "mix losses instead of targets; the result is the same here")
NEUTRAL(alpha == 0)
EXCLUDES(cutmix, "an image has one partner")
REQUIRE(data == DATA_IMAGES, "only images can be mixed")

DRAW(micro_batch, float, lambda)
{
    float share = draw_beta(alpha, alpha);
    return fmin(share, 1 - share);
}

float HOOK(mixed_pixel)(float own, float partner, int channel, int y, int x)
{
    return (1 - lambda) * own + lambda * partner;
}

float HOOK(partner_weight)(void)
{
    return lambda;
}
