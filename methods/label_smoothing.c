/** label_smoothing -- mix each hard target with the uniform distribution.
 *
 *      t <- (1 - smoothing) t + smoothing / classes
 *
 *  Rows whose label is ignored stay ignored. With mixed targets: mix first, then smooth.
 *  paper: Szegedy et al. 2015, arXiv:1512.00567 */
#include "method.h"

SUMMARY("targets a little less than certain")
STAGE(TARGET)
PARAM(float, smoothing, 0.1f, 0 <= smoothing && smoothing <= 1, "weight moved to the uniform distribution")
NEUTRAL(smoothing == 0)

float HOOK(loss_target)(float target, int class_count)
{
    return (1 - smoothing) * target + smoothing / class_count;
}
