/* sample.h -- choosing the next token of a text. */
#pragma once
#include <stdint.h>

//% part sample_token needs random_uniform
/* Drawn by the softmax of logits / temperature over `count` classes; `place` numbers the draws. */
static int sample_token(const real *logits, int64_t count, double temperature, int64_t place);
