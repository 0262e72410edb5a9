/** blurpool -- blur before a stride drops pixels, so that a shifted image gives a shifted result.
 *
 *      strided convolution    conv_stride(blur(x)), or blur_stride(conv(x)) without blur_first
 *      max pooling            blur_stride(max_pool_1(x))
 *
 *  blur: depthwise [1 2 1] x [1 2 1] / 16.
 *  paper: Zhang 2019, arXiv:1904.11486 */
#include "method.h"

SUMMARY("anti-aliased strides")
STAGE(SURGERY)
AFTER(factorize, "the factor that strides is blurred")
AFTER(squeeze_excite, "what is blurred is the convolution inside")
AFTER(stochastic_depth, "branches are cut before their insides change")
PARAM(bool, replace_convs, true, true, "blur strided convolutions")
PARAM(bool, replace_maxpools, true, true, "blur max pooling")
PARAM(bool, blur_first, true, true, "blur what goes into a convolution instead of what comes out")
PARAM(int, min_channels, 16, min_channels >= 0, "convolutions of fewer input channels are left alone")
REQUIRE(replace_convs || replace_maxpools, "replace_convs and replace_maxpools are both false: there is nothing to do")

static int stride_across(int stride, int stride_width)
{
    return stride_width == SAME ? stride : stride_width;
}

tensor REWRITE(conv2d)(tensor x, int channels, conv2d_options conv)
{
    int across = stride_across(conv.stride, conv.stride_width);
    if (!replace_convs || imax(conv.stride, across) < 2 || channels_of(x) < min_channels)
        return KEEP;
    if (blur_first)
        return conv2d_layer(blur2d(x), channels, conv);
    int stride = conv.stride;
    conv.stride = conv.stride_width = 1;
    return blur2d(conv2d_layer(x, channels, conv), .stride = stride, .stride_width = across);
}

tensor REWRITE(max_pool2d)(tensor x, pool2d_options pool)
{
    if (!replace_maxpools)
        return KEEP;
    int stride = pool.stride == SAME ? pool.kernel : pool.stride;
    int across = pool.stride_width == SAME ? stride : pool.stride_width;
    pool.stride = pool.stride_width = 1;
    return blur2d(max_pool2d_layer(x, pool), .stride = stride, .stride_width = across);
}
