/** all_folds -- an element program that reads sums and maxima of the model, of its tensor and of its output unit at once */
#include "method.h"

SUMMARY("divides the gradients by folds of every scope")
STAGE(GRADIENT)

FOLD(sum, model, model_squares, gradient * gradient)
FOLD(max, model, model_most, fabs(parameter))
FOLD(max, model, model_least, -1 - fabs(parameter))
FOLD(sum, tensor, tensor_squares, gradient * gradient)
FOLD(max, tensor, tensor_most, fabs(gradient))
FOLD(sum, unit, unit_squares, parameter * parameter)
FOLD(max, unit, unit_most, fabs(gradient))

void ON(gradients)(element *at)
{
    float model = sqrt(model_squares) + model_most - model_least, tensor = sqrt(tensor_squares) + tensor_most;
    float folded = model + tensor + sqrt(unit_squares) + unit_most;
    at->gradient /= at->rank > 1 ? 1 + folded : 2 + folded;
}
