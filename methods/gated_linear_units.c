/** gated_linear_units -- feed-forward layers whose hidden values are weighed by a gate.
 *
 *      f(x) = W_o (act(W_g x) * (W_v x))           in place of W_o act(W x)
 *
 *  The hidden width stays, so a layer has half as many weights again, all of them new.
 *  papers: Dauphin et al. 2016, arXiv:1612.08083; Shazeer 2020, arXiv:2002.05202 */
#include "method.h"

SUMMARY("feed-forward layers with a gate")
STAGE(SURGERY)
CHOICE(act_fn, OWN, "the gate's function; own: the model's", OWN, GELU, RELU, SILU)
PARAM(bool, gated_layer_bias, false, true, "a bias in the gate")
PARAM(bool, non_gated_layer_bias, false, true, "a bias in what the gate weighs")
UNAVAILABLE("it replaces two linear layers and what lies between; a rewrite replaces one call")

static tensor gate(tensor x)
{
    return act_fn == RELU ? relu(x) : act_fn == SILU ? silu(x) : gelu(x);
}

tensor REWRITE(feed_forward)(tensor x, int hidden)
{
    tensor gated = gate(linear(x, hidden, .name = "gated_layer", .no_bias = !gated_layer_bias));
    tensor value = linear(x, hidden, .name = "non_gated_layer", .no_bias = !non_gated_layer_bias);
    return linear(mul(gated, value), channels_of(x), .name = "wo");
}
