/** rmsprop -- steps divided by the running size of the gradient, as PyTorch has it.
 *
 *      v <- alpha v + (1 - alpha) g^2             a <- alpha a + (1 - alpha) g   (centered)
 *      s = sqrt(v - a^2) + eps                    w <- w - lr rate g / s, or by a velocity of g / s
 *
 *  lecture: Hinton 2012, Neural Networks for Machine Learning, 6e */
#include "method.h"

SUMMARY("RMSprop, plain or centered, with momentum")
PARAM(float, lr, 1e-2f, lr >= 0, "learning rate")
PARAM(float, alpha, 0.99f, 0 <= alpha && alpha < 1, "decay of the running square")
PARAM(float, eps, 1e-8f, eps >= 0, "keeps the quotient finite")
PARAM(float, weight_decay, 0, 0 <= weight_decay, "pull towards zero, added to the gradient")
PARAM(float, momentum, 0, 0 <= momentum, "share of the last step that goes on")
PARAM(bool, centered, false, true, "divide by the deviation instead of the size")

STATE(element, float, square, 0, "running mean of squared gradients")
STATE(element, float, mean_gradient, 0, "running mean of gradients")
STATE(element, float, velocity, 0, "running sum of steps")

void ON(update)(element *at)
{
    float g = at->gradient + weight_decay * at->parameter;
    square = alpha * square + (1 - alpha) * g * g;
    float power = square;
    if (centered) {
        mean_gradient = alpha * mean_gradient + (1 - alpha) * g;
        power = square - mean_gradient * mean_gradient;
    }
    float step = g / (sqrt(power) + eps);
    if (momentum > 0)
        step = velocity = momentum * velocity + step;
    at->parameter -= lr * rate * step;
}
