/* mlp.c -- a perceptron with one hidden layer. */
#include "model.h"

/* mlp -- images, flattened, through one hidden layer of `hidden` rectified units */
tensor mlp(tensor images, int hidden, int num_classes)
{
    tensor x = relu(linear(flatten(images), hidden));
    return linear(x, num_classes);
}
