/** no_op_model -- a single weight in place of the model, to see how fast the data come.
 *
 *      output = w target, w = 1.5 at the start           loss = (output - target)^2 */
#include "method.h"

SUMMARY("a single weight in place of the model")
STAGE(SURGERY)
BEFORE(factorize, "nothing is left to change")
BEFORE(squeeze_excite, "nothing is left to change")
BEFORE(blurpool, "nothing is left to change")
UNAVAILABLE("it replaces the whole model and knows its targets; a rewrite replaces one call and sees its arguments")

tensor REWRITE(model)(tensor target)
{
    return mul(parameter("weight", "constant_1.5", 1), target);
}
