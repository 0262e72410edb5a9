/** radam -- Adam that takes plain steps until its second moment can be trusted.
 *
 *      r_inf = 2 / (1 - b2) - 1       r_t = r_inf - 2 t b2^t / (1 - b2^t)
 *      r_t > 5:  w <- w - lr rate m' sqrt((r_t - 4)(r_t - 2) r_inf / ((r_inf - 4)(r_inf - 2) r_t)) sqrt(1 - b2^t) / (sqrt(v) + eps)
 *      else:     w <- w - lr rate m'              m' = m / (1 - b1^t)
 *
 *  paper: Liu et al. 2019, arXiv:1908.03265 */
#include "method.h"

SUMMARY("Adam with a rectified second moment")
PARAM(float, lr, 1e-3f, lr >= 0, "learning rate")
LIST(float, betas, 2, "decay of the two moments", 0.9f, 0.999f)
PARAM(float, eps, 1e-8f, eps >= 0, "keeps the quotient finite")
PARAM(float, weight_decay, 0, 0 <= weight_decay, "pull towards zero, added to the gradient")
REQUIRE(betas_count == 2 && 0 <= betas[0] && betas[0] < 1 && 0 <= betas[1] && betas[1] < 1, "betas are two numbers in [0, 1)")

STATE(element, float, first_moment, 0, "running mean of gradients")
STATE(element, float, second_moment, 0, "running mean of squared gradients")

void ON(update)(element *at)
{
    float g = at->gradient + weight_decay * at->parameter;
    first_moment = betas[0] * first_moment + (1 - betas[0]) * g;
    second_moment = betas[1] * second_moment + (1 - betas[1]) * g * g;
    float decayed = pow(betas[1], update_count), longest = 2 / (1 - betas[1]) - 1;
    float length = longest - 2 * update_count * decayed / (1 - decayed);
    float mean = first_moment / (1 - pow(betas[0], update_count));
    float inside = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length);
    float rectified = sqrt(fmax(inside, 0)) * sqrt(1 - decayed) / (sqrt(second_moment) + eps);
    at->parameter -= lr * rate * mean * (length > 5 ? rectified : 1);
}
