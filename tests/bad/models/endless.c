/* endless.c -- never returns. */
#include "model.h"

tensor endless(tensor images, int num_classes)
{
    while (num_classes > 0)
        num_classes += 1 - 1;
    return linear(flatten(images), num_classes);
}
