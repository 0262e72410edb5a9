/* random.h -- counter-based random numbers: a value is a function of its place, so nothing is stored and any order works.
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011) gives four words for a 64-bit key and a 128-bit counter:
 *     key      mixed seed XOR site: sites of one run never share a key
 *     counter  [0] element, low 32 bits   [1] row   [2] step   [3] kind (2 bits), element bits 32..39, ordinal (22 bits)
 * `site` is the 64-bit hash of what draws (scope, method, draw), `step` the batch (its complement for a second set of draws
 * in the same step), `row` the logical row in the batch, `ordinal` tells draws at one place apart. Kinds never meet. */
#pragma once
#include <stdint.h>

//% part random
static uint64_t random_key;             /* of this run; set by random_seed */
struct random_words { uint32_t word[4]; };
enum { RANDOM_UNIFORM, RANDOM_NORMAL, RANDOM_BETA, RANDOM_INTEGER };
static void random_seed(uint64_t seed);
static struct random_words philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3);
static struct random_words random_at(uint64_t site, int64_t step, int64_t row, int64_t element, uint32_t kind, uint32_t ordinal);

//% part random_uniform needs random
/* In [0, 1), a multiple of 2^-24: the same in single and double precision. */
static float random_uniform(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

//% part random_double needs random
/* In (0, 1) with 52 bits, from two words. */
static double random_double(uint32_t high, uint32_t low);

//% part random_normal needs random random_double
/* Standard normal, rounded to single precision so that it is the same in both. */
static float random_normal(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

//% part random_beta needs random random_double
/* Beta(a, b), also for a and b far below 1. */
static double random_beta(double a, double b, uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

//% part random_integer needs random
/* In 0 .. below - 1. */
static int64_t random_integer(int64_t below, uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

//% part random_permutation needs random_integer
/* 0 .. count - 1 in random order. */
static void random_permutation(uint64_t site, int64_t step, int64_t row, int64_t count, int *out);

//% part random_subset needs random_integer
/* `count` of 0 .. below - 1 in increasing order; all subsets are equally likely. */
static void random_subset(uint64_t site, int64_t step, int64_t row, int64_t count, int64_t below, int *out);

//% part ordered needs memory_get
struct ordered { double value; int index; };
static int by_ordered_value(const void *a, const void *b);

//% part random_choice needs random random_double ordered
/* `count` of 0 .. candidates - 1 without replacement, each next one with probability in proportion to its weight among
 * those left; in the order drawn. */
static void random_choice(uint64_t site, int64_t step, const double *weight, int64_t candidates, int64_t count, int *out);

//% part order_by_value needs ordered
/* Indices from the smallest value to the largest; equal values in order of index, not-a-numbers last. */
static void order_by_value(const real *value, int64_t count, int *order);
