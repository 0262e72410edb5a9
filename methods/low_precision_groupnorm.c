/** low_precision_groupnorm -- group norms that read and write what the convolutions do: 16 bits.
 *
 *      y = round16(group_norm(round16(x), round16(weight), round16(bias)))         sums in fp32
 *
 *  In a recipe of fp32 it is nothing. */
#include "method.h"

SUMMARY("group norms in 16 bits")
STAGE(SURGERY)
CHOICE(apply_at, INIT, "when layers are changed; here always at generation", INIT, BEFORE_LOAD, AFTER_LOAD)
UNAVAILABLE("a program computes in the one precision of its recipe; no layer can have another")

tensor REWRITE(group_norm)(tensor x, int groups, group_norm_options norm)
{
    return group_norm_layer(x, groups, norm);
}
