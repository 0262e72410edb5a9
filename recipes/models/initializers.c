/* initializers.c -- what parameters start with: each INITIALIZER gives one element of a new parameter.
 *
 * A layer names one (`.weight_init = "kaiming_normal"`), and the recipe's `initializers:` run after it on every
 * parameter, in order. What an initializer does not mean to change it returns as `initial`.
 * One with a second argument is named with its value: "normal_0.02". */
#include "model.h"

static bool is_product(weight_info at)
{
    return at.role == CONV_WEIGHT || at.role == LINEAR_WEIGHT;
}

static float uniform_within(float bound)
{
    return bound * (2 * draw_uniform() - 1);
}

/* ---- for layers that name them ---- */

float INITIALIZER(zeros)(weight_info at)
{
    return 0;
}

float INITIALIZER(ones)(weight_info at)
{
    return 1;
}

float INITIALIZER(constant)(weight_info at, float value)
{
    return value;
}

float INITIALIZER(normal)(weight_info at, float deviation)
{
    return deviation * draw_normal();
}

float INITIALIZER(uniform)(weight_info at, float bound)
{
    return uniform_within(bound);
}

/* torchvision's for the convolutions of a ResNet */
float INITIALIZER(kaiming_normal_fan_out)(weight_info at)
{
    return is_product(at) ? sqrt(2.0f / at.fan_out) * draw_normal() : at.initial;
}

/* ---- for recipes, as Composer's ---- */

/* He et al. 2015, arXiv:1502.01852: keeps the variance through ReLU. */
float INITIALIZER(kaiming_normal)(weight_info at)
{
    return is_product(at) ? sqrt(2.0f / at.fan_in) * draw_normal() : at.initial;
}

float INITIALIZER(kaiming_uniform)(weight_info at)
{
    return is_product(at) ? uniform_within(sqrt(6.0f / at.fan_in)) : at.initial;
}

/* Glorot and Bengio 2010: a compromise between forward and backward variance. */
float INITIALIZER(xavier_normal)(weight_info at)
{
    return is_product(at) ? sqrt(2.0f / (at.fan_in + at.fan_out)) * draw_normal() : at.initial;
}

float INITIALIZER(xavier_uniform)(weight_info at)
{
    return is_product(at) ? uniform_within(sqrt(6.0f / (at.fan_in + at.fan_out))) : at.initial;
}

/* Batch norm: weight uniform on [0, 1), bias 0. */
float INITIALIZER(bn_uniform)(weight_info at)
{
    return at.role == BATCH_NORM_WEIGHT ? draw_uniform() : at.role == BATCH_NORM_BIAS ? 0 : at.initial;
}

float INITIALIZER(bn_ones)(weight_info at)
{
    return at.role == BATCH_NORM_WEIGHT ? 1 : at.role == BATCH_NORM_BIAS ? 0 : at.initial;
}

/* Bias of linear layers: all classes start equally likely under a loss that takes each by itself (bce). */
float INITIALIZER(linear_log_constant_bias)(weight_info at)
{
    return at.role == LINEAR_BIAS ? -log(at.fan_out) : at.initial;
}
