/** adam -- steps of about equal size in every weight; weight decay is part of the gradient.
 *
 *      m <- b1 m + (1 - b1) g      v <- b2 v + (1 - b2) g^2
 *      w <- w - lr rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
 *
 *  paper: Kingma, Ba 2014, arXiv:1412.6980 */
#include "method.h"

SUMMARY("Adam; decay in the gradient")
PARAM(float, lr, 1e-3f, lr >= 0, "learning rate")
LIST(float, betas, 2, "decay of the two moments", 0.9f, 0.999f)
PARAM(float, eps, 1e-8f, eps >= 0, "keeps the quotient finite")
PARAM(float, weight_decay, 0, 0 <= weight_decay, "pull towards zero, added to the gradient")
PARAM(bool, amsgrad, false, true, "divide by the largest second moment so far")
REQUIRE(betas_count == 2 && 0 <= betas[0] && betas[0] < 1 && 0 <= betas[1] && betas[1] < 1, "betas are two numbers in [0, 1)")

STATE(element, float, first_moment, 0, "running mean of gradients")
STATE(element, float, second_moment, 0, "running mean of squared gradients")
STATE(element, float, largest_moment, 0, "largest second moment so far")

void ON(update)(element *at)
{
    float g = at->gradient + weight_decay * at->parameter;
    first_moment = betas[0] * first_moment + (1 - betas[0]) * g;
    second_moment = betas[1] * second_moment + (1 - betas[1]) * g * g;
    float power = second_moment;
    if (amsgrad)
        power = largest_moment = fmax(largest_moment, second_moment);
    float size = sqrt(power) / sqrt(1 - pow(betas[1], update_count)) + eps;
    at->parameter -= lr * rate / (1 - pow(betas[0], update_count)) * first_moment / size;
}
