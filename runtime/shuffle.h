/* shuffle.h -- the order of an epoch as a function: which row stands at a place, without a list. */
#pragma once
#include <stdint.h>

//% part shuffle
/* A bijection of 0 .. count - 1, where `place` must lie, another for every seed and epoch; any place costs the same. */
static int64_t shuffle_index(uint64_t seed, int64_t epoch, int64_t place, int64_t count);
