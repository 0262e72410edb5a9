/** low_precision_layernorm -- layer norms that read and write what the matrix products do: 16 bits.
 *
 *      y = round16(layer_norm(round16(x), round16(weight), round16(bias)))         sums in fp32
 *
 *  In a recipe of fp32 it is nothing. */
#include "method.h"

SUMMARY("layer norms in 16 bits")
STAGE(SURGERY)
AFTER(fused_layernorm, "what is in 16 bits is the norm as it will be computed")
CHOICE(apply_at, INIT, "when layers are changed; here always at generation", INIT, BEFORE_LOAD, AFTER_LOAD)
UNAVAILABLE("a program computes in the one precision of its recipe; no layer can have another")

tensor REWRITE(layer_norm)(tensor x, layer_norm_options norm)
{
    return layer_norm_layer(x, norm);
}
