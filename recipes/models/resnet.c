/* resnet.c -- residual networks for ImageNet, with torchvision's names.
 * paper: He et al. 2015, "Deep residual learning for image recognition", arXiv:1512.03385
 * Version 1.5: in a bottleneck the 3x3 convolution has the stride. */
#include "model.h"

/* Convolutions start as normal(0, sqrt(2 / fan_out)). */
#define conv(x, channels, ...) conv2d(x, channels, .weight_init = "kaiming_normal_fan_out", __VA_ARGS__)

static tensor shortcut(tensor x, int channels, int stride)
{
    if (stride == 1 && channels_of(x) == channels)
        return x;
    SCOPE("downsample") {
        x = conv(x, channels, .name = "0", .kernel = 1, .stride = stride);
        x = batch_norm(x, .name = "1");
    }
    return x;
}

static tensor basic_block(tensor x, int channels, int stride)
{
    tensor y = relu(batch_norm(conv(x, channels, .kernel = 3, .stride = stride, .padding = 1)));
    y = batch_norm(conv(y, channels, .kernel = 3, .padding = 1));
    return relu(residual(shortcut(x, channels, stride), y));
}

static tensor bottleneck(tensor x, int channels, int stride)
{
    tensor y = relu(batch_norm(conv(x, channels, .kernel = 1)));
    y = relu(batch_norm(conv(y, channels, .kernel = 3, .stride = stride, .padding = 1)));
    y = batch_norm(conv(y, 4 * channels, .kernel = 1));
    return relu(residual(shortcut(x, 4 * channels, stride), y));
}

/* Blocks of each of the four stages; none: there is no network of that depth. */
typedef struct {
    int depth;
    bool has_bottlenecks;
    int blocks[4];
} layout;

static layout layout_of(int depth)
{
    const layout layouts[] = {
        {  18, false, { 2, 2,  2, 2 } },
        {  34, false, { 3, 4,  6, 3 } },
        {  50, true,  { 3, 4,  6, 3 } },
        { 101, true,  { 3, 4, 23, 3 } },
        { 152, true,  { 3, 8, 36, 3 } },
    };
    for (int i = 0; i < 5; i++)
        if (layouts[i].depth == depth)
            return layouts[i];
    require(false, "resnet has a depth of 18, 34, 50, 101 or 152, not %d", depth);
    return layouts[0];
}

/* resnet -- 18, 34, 50, 101 or 152 layers deep: four stages after a stem of stride 4 */
tensor resnet(tensor images, int depth, int num_classes)
{
    layout net = layout_of(depth);
    tensor x = relu(batch_norm(conv(images, 64, .kernel = 7, .stride = 2, .padding = 3)));
    x = max_pool2d(x, .kernel = 3, .stride = 2, .padding = 1);
    for (int stage = 0; stage < 4; stage++)
        SCOPE("layer%d", stage + 1)
            for (int block = 0; block < net.blocks[stage]; block++)
                SCOPE("%d", block) {
                    int channels = 64 << stage, stride = stage > 0 && block == 0 ? 2 : 1;
                    x = net.has_bottlenecks ? bottleneck(x, channels, stride) : basic_block(x, channels, stride);
                }
    return linear(global_avg_pool2d(x), num_classes, .name = "fc");
}
