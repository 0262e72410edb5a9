/** gradient_clipping -- keep gradients from being too large, in one of three ways.
 *
 *      norm        g <- g min(1, threshold / (|g| + 1e-6))        |g| over the whole model
 *      value       g <- clamp(g, -threshold, threshold)
 *      adaptive    g <- g min(1, threshold |w| / |g|)             of each output unit; of vectors as a whole
 *
 *  papers: Pascanu et al. 2012, arXiv:1211.5063; Brock et al. 2021, arXiv:2102.06171 (here without a floor under |w|) */
#include "method.h"

SUMMARY("gradients kept from being too large")
STAGE(GRADIENT)
REQUIRED_CHOICE(clipping_type, "how", NORM, VALUE, ADAPTIVE)
REQUIRED_PARAM(float, clipping_threshold, clipping_threshold >= 0, "the bound; of adaptive: as a part of the weights' norm")

FOLD(sum, model, squares, gradient * gradient)
FOLD(sum, unit, gradient_squares, gradient * gradient)
FOLD(sum, unit, weight_squares, parameter * parameter)

void ON(gradients)(element *at)
{
    if (clipping_type == NORM) {
        at->gradient *= fmin(1, clipping_threshold / (sqrt(squares) + 1e-6f));
    } else if (clipping_type == VALUE) {
        at->gradient = fmin(fmax(at->gradient, -clipping_threshold), clipping_threshold);
    } else {
        float size = sqrt(gradient_squares), bound = clipping_threshold * sqrt(weight_squares);
        at->gradient *= size > bound ? bound / size : 1;
    }
}
