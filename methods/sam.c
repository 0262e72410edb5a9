/** sam -- the gradient is taken a little uphill, which prefers flat minima.
 *
 *      w <- w + rho g / (|g| + epsilon)        g again there        w <- as it was, then the update by the new g
 *
 *  Both passes see the same random draws unless `redraw`. Every interval-th step only, when interval > 1.
 *  paper: Foret et al. 2020, arXiv:2010.01412 */
#include "method.h"

SUMMARY("gradients taken a little uphill")
STAGE(STEP)
PARAM(float, rho, 0.05f, rho >= 0, "length of the way uphill")
PARAM(float, epsilon, 1e-12f, epsilon >= 0, "keeps the quotient finite")
PARAM(int, interval, 1, interval >= 1, "only every interval-th step")
PARAM(bool, redraw, false, true, "new random draws in the second pass")

FOLD(sum, model, squares, gradient * gradient)
STATE(element, float, here, 0, "the weight before the ascent")

static void ascend(element *at)
{
    here = at->parameter;
    at->parameter += rho / (sqrt(squares) + epsilon) * at->gradient;
}

static void descend(element *at)
{
    at->parameter = here;
}

void ON(step)(const moment *now)
{
    if ((now->step + 1) % interval != 0)
        return;
    each_parameter(ascend);
    if (redraw)
        gradient_pass_redrawn();
    else
        gradient_pass();
    each_parameter(descend);
}
