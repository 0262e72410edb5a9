/** decoupled_sgdw -- SGD whose weight decay does not pass through the velocity, nor scale with the learning rate.
 *
 *      w <- w (1 - rate weight_decay)             rate = lr now / lr at the start
 *      v <- momentum v + (1 - dampening) g        (v = g at the first update)
 *      w <- w - lr rate (nesterov ? g + momentum v : v)
 *
 *  paper: Loshchilov, Hutter 2017, arXiv:1711.05101 */
#include "method.h"

SUMMARY("SGD with momentum and decoupled weight decay")
REQUIRED_PARAM(float, lr, lr >= 0, "learning rate")
PARAM(float, momentum, 0, 0 <= momentum, "share of the last step that goes on")
PARAM(float, dampening, 0, true, "how much less the gradient counts in the velocity")
PARAM(float, weight_decay, 0, 0 <= weight_decay, "share of each weight that is lost in a step at full rate")
PARAM(bool, nesterov, false, !nesterov || (momentum > 0 && dampening == 0), "look ahead along the velocity")

STATE(element, float, velocity, 0, "running sum of gradients")

void ON(update)(element *at)
{
    float step = at->gradient;
    if (momentum != 0) {
        float keep = dampening != 0 && update_count == 1 ? 1 : 1 - dampening;
        velocity = momentum * velocity + keep * at->gradient;
        step = nesterov ? at->gradient + momentum * velocity : velocity;
    }
    at->parameter = at->parameter * (1 - rate * weight_decay) - lr * rate * step;
}
