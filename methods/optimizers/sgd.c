/** sgd -- gradient descent with momentum, as PyTorch has it: weight decay is part of the gradient.
 *
 *      g <- gradient + weight_decay w
 *      v <- momentum v + (1 - dampening) g        (v = g at the first update)
 *      w <- w - lr rate (nesterov ? g + momentum v : v) */
#include "method.h"

SUMMARY("stochastic gradient descent with momentum; decay in the gradient")
REQUIRED_PARAM(float, lr, lr >= 0, "learning rate")
PARAM(float, momentum, 0, 0 <= momentum, "share of the last step that goes on")
PARAM(float, dampening, 0, true, "how much less the gradient counts in the velocity")
PARAM(float, weight_decay, 0, 0 <= weight_decay, "pull towards zero, added to the gradient")
PARAM(bool, nesterov, false, !nesterov || (momentum > 0 && dampening == 0), "look ahead along the velocity")

STATE(element, float, velocity, 0, "running sum of gradients")

void ON(update)(element *at)
{
    float g = at->gradient + weight_decay * at->parameter;
    if (momentum != 0) {
        float keep = dampening != 0 && update_count == 1 ? 1 : 1 - dampening;
        velocity = momentum * velocity + keep * g;
        g = nesterov ? g + momentum * velocity : velocity;
    }
    at->parameter -= lr * rate * g;
}
