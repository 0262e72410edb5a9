/* large_kernel.c -- a kernel larger than the image. */
#include "model.h"

tensor large_kernel(tensor images, int num_classes)
{
    tensor x = conv2d(images, 4, .kernel = 5, .stride = 2);
    x = conv2d(x, 4, .kernel = 5);
    return linear(flatten(x), num_classes);
}
