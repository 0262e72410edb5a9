/* resnet_cifar.c -- residual networks for small images.
 * paper: He et al. 2015, "Deep residual learning for image recognition", arXiv:1512.03385, section 4.2 */
#include "model.h"

static const int default_width = 16;

static tensor shortcut(tensor x, int channels, int stride)
{
    if (stride == 1 && channels_of(x) == channels)
        return x;
    SCOPE("downsample") {
        x = conv2d(x, channels, .name = "0", .kernel = 1, .stride = stride);
        x = batch_norm(x, .name = "1");
    }
    return x;
}

static tensor basic_block(tensor x, int channels, int stride)
{
    tensor y = relu(batch_norm(conv2d(x, channels, .kernel = 3, .stride = stride, .padding = 1)));
    y = batch_norm(conv2d(y, channels, .kernel = 3, .padding = 1));
    return relu(residual(shortcut(x, channels, stride), y));
}

/* resnet_cifar -- three stages of (depth - 2) / 6 basic blocks: depth 20, 32, 44, 56, 110 in the paper */
tensor resnet_cifar(tensor images, int depth, int num_classes, int width)
{
    require(depth % 6 == 2, "resnet_cifar has a depth of 8, 14, 20, ... (6 n + 2), not %d", depth);
    tensor x = relu(batch_norm(conv2d(images, width, .kernel = 3, .padding = 1)));
    for (int stage = 0; stage < 3; stage++)
        SCOPE("layer%d", stage + 1)
            for (int block = 0; block < (depth - 2) / 6; block++)
                SCOPE("%d", block)
                    x = basic_block(x, width << stage, stage > 0 && block == 0 ? 2 : 1);
    return linear(global_avg_pool2d(x), num_classes, .name = "fc");
}
