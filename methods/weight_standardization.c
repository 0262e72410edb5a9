/** weight_standardization -- convolutions whose weights have mean 0 and variance 1 in each output channel.
 *
 *      W^ = (W - mean(W)) / sqrt(var(W) + 1e-10)       over input channels and window; the biased variance
 *
 *  What learns is W: the gradient passes through mean and variance.
 *  paper: Qiao et al. 2019, arXiv:1903.10520 */
#include "method.h"

SUMMARY("convolution weights standardised in each output channel")
STAGE(SURGERY)
AFTER(factorize, "factors are convolutions too")
AFTER(squeeze_excite, "what is standardised is the convolution inside")
AFTER(blurpool, "what is standardised is the convolution beside the blur")
PARAM(int, n_last_layers_ignore, 0, n_last_layers_ignore >= 0, "so many of the last convolutions are left alone")

static tensor standardized(tensor weight)
{
    tensor w = flatten(weight);
    w = sub(w, mean(w, 1));
    w = mul(w, reciprocal(sqrt_of(shift(mean(mul(w, w), 1), 1e-10f))));
    return reshape(w, size_of(weight, 0), size_of(weight, 1), size_of(weight, 2), size_of(weight, 3));
}

tensor REWRITE(conv2d)(tensor x, int channels, conv2d_options conv)
{
    if (match_index() >= match_count() - n_last_layers_ignore)
        return KEEP;
    return conv2d_operation(x, standardized(conv2d_weight(x, channels, conv)), conv2d_bias(x, channels, conv), conv);
}
