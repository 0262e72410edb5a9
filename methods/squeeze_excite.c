/** squeeze_excite -- a convolution's channels are weighed by what the whole image shows.
 *
 *      y = conv(x)       y <- y * sigmoid(W2 relu(W1 mean(y)))
 *
 *  paper: Hu et al. 2017, arXiv:1709.01507 */
#include "method.h"

SUMMARY("channels weighed by the image's mean")
STAGE(SURGERY)
AFTER(factorize, "each factor is a convolution of its own")
PARAM(float, latent_channels, 64, latent_channels > 0, "channels between the matrices; below 1: part of the convolution's")
PARAM(int, min_channels, 128, min_channels >= 0, "convolutions of fewer channels, in or out, are left alone")

tensor REWRITE(conv2d)(tensor x, int channels, conv2d_options conv)
{
    if (imin(channels_of(x), channels) < min_channels)
        return KEEP;
    int latent = latent_channels >= 1 ? latent_channels : latent_channels * channels;
    require(latent >= 1, "squeeze_excite leaves no channel of %d", channels);
    tensor y = conv2d_layer(x, channels, conv);
    tensor squeezed = relu(linear(global_avg_pool2d(y), latent, .name = "se.pool_and_mlp.2", .no_bias = true));
    tensor weight = sigmoid(linear(squeezed, channels, .name = "se.pool_and_mlp.4", .no_bias = true));
    return mul(y, reshape(weight, rows_of(y), channels, 1, 1));
}
