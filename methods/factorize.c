/** factorize -- a convolution or linear layer becomes two of lower rank, where that saves work.
 *
 *      conv: a k x k convolution to `rank` channels, then 1 x 1 to as many as before, with a bias
 *      linear: in -> rank, then rank -> out
 *      rank = latent, or latent min(in, out) below 1; at most f o / (f + o) - 1 of f values in and o out
 *
 *  Both factors start at random, as PyTorch's layers do.
 *  paper: Denton et al. 2014, arXiv:1404.0736 */
#include "method.h"

SUMMARY("layers as products of two of lower rank")
STAGE(SURGERY)
AFTER(gated_linear_units, "the gate's matrices are linear layers too")
PARAM(bool, factorize_convs, true, true, "split convolutions")
PARAM(bool, factorize_linears, true, true, "split linear layers")
PARAM(int, min_channels, 256, min_channels >= 0, "convolutions of fewer channels, in or out, are left alone")
PARAM(float, latent_channels, 0.25f, latent_channels > 0, "channels between the factors; below 1: part of the fewer of both sides")
PARAM(int, min_features, 256, min_features >= 0, "linear layers of fewer features, in or out, are left alone")
PARAM(float, latent_features, 128, latent_features > 0, "features between the factors; below 1: part of the fewer of both sides")
REQUIRE(factorize_convs || factorize_linears, "factorize_convs and factorize_linears are both false: there is nothing to do")

static int rank_between(int in, int out, float latent)
{
    return latent >= 1 ? (int)latent : imax(1, (int)(latent * imin(in, out)));
}

/* The highest rank of less work than the whole: rank (fan_in + out) < fan_in out. */
static int highest_rank(int fan_in, int out)
{
    return ceil((float)fan_in * out / (fan_in + out) - 1);
}

tensor REWRITE(conv2d)(tensor x, int channels, conv2d_options conv)
{
    int in = channels_of(x), across = conv.kernel_width == SAME ? conv.kernel : conv.kernel_width;
    int rank = rank_between(in, channels, latent_channels);
    if (!factorize_convs || conv.groups != 1 || imin(in, channels) < min_channels
        || rank > highest_rank(in * conv.kernel * across, channels))
        return KEEP;
    conv.name = "module0";
    conv.bias = false;
    conv.weight_init = conv.bias_init = NULL;
    return conv2d(conv2d_layer(x, rank, conv), channels, .name = "module1", .bias = true);
}

tensor REWRITE(linear)(tensor x, int features, linear_options whole)
{
    int in = size_of(x, -1), rank = rank_between(in, features, latent_features);
    if (!factorize_linears || imin(in, features) < min_features || rank > highest_rank(in, features))
        return KEEP;
    tensor y = linear(x, rank, .name = "module0", .no_bias = true, .fan_in_first = whole.fan_in_first);
    return linear(y, features, .name = "module1", .no_bias = whole.no_bias, .fan_in_first = whole.fan_in_first);
}
