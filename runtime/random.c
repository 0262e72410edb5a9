/* random.c -- see random.h. */
#include "memory.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>

//% part random
/* The seed's bits spread over the key (splitmix64's finaliser: a bijection). */
static void random_seed(uint64_t seed)
{
    uint64_t bits = seed + 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    random_key = bits ^ bits >> 31;
}

static struct random_words philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xd2511f53u * c0, b = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    struct random_words words = { { c0, c1, c2, c3 } };
    return words;
}

static struct random_words random_at(uint64_t site, int64_t step, int64_t row, int64_t element, uint32_t kind, uint32_t ordinal)
{
    const uint32_t beyond = (uint32_t)((uint64_t)element >> 32) & 0xff;
    return philox(random_key ^ site, (uint32_t)element, (uint32_t)row, (uint32_t)step, kind << 30 | beyond << 22 | ordinal);
}

//% part random_uniform
static float random_uniform(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal)
{
    const struct random_words words = random_at(site, step, row, element, RANDOM_UNIFORM, (uint32_t)ordinal / 4);
    return (float)(words.word[ordinal & 3] >> 8) * (1.0f / 16777216);
}

//% part random_double
static double random_double(uint32_t high, uint32_t low)
{
    const uint64_t bits = (uint64_t)high << 20 | low >> 12;
    return ((double)bits + 0.5) * (1.0 / 4503599627370496.0);
}

//% part random_normal
/* Box and Muller: sqrt(-2 log u) cos(2 pi v) */
static float random_normal(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal)
{
    const struct random_words words = random_at(site, step, row, element, RANDOM_NORMAL, (uint32_t)ordinal);
    const double u = random_double(words.word[0], words.word[1]), v = random_double(words.word[2], words.word[3]);
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586477 * v));
}

//% part random_beta
/* The logarithm of a Gamma(shape) number: Marsaglia and Tsang 2000 for shapes of at least 1, below by
 * Gamma(shape) = Gamma(shape + 1) u^(1 / shape), which underflows unless it stays a logarithm. Attempts are numbered from
 * `attempt`; the first call uses up one of them for u. */
static double log_gamma_variate(double shape, uint64_t site, int64_t step, int64_t row, int64_t element, uint32_t attempt)
{
    double boost = 0;
    if (shape < 1) {
        const struct random_words words = random_at(site, step, row, element, RANDOM_BETA, attempt++);
        boost = log(random_double(words.word[0], words.word[1])) / shape;
        shape += 1;
    }
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;; attempt++) {
        const struct random_words words = random_at(site, step, row, element, RANDOM_BETA, attempt);
        const double radius = sqrt(-2 * log(random_double(words.word[0], 0)));
        const double x = radius * cos(6.283185307179586477 * random_double(words.word[1], 0));
        const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        if (v > 0 && log(random_double(words.word[2], words.word[3])) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d * v) + boost;
    }
}

static double random_beta(double a, double b, uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal)
{
    const uint32_t first = (uint32_t)ordinal << 13;     /* 4096 attempts each: every one succeeds 19 times in 20 */
    const double x = log_gamma_variate(a, site, step, row, element, first);
    const double y = log_gamma_variate(b, site, step, row, element, first + 4096);
    return 1 / (1 + exp(y - x));
}

//% part random_integer
/* The high half of 64 random bits times `below` (Lemire 2019); the bias is less than below / 2^64. */
static int64_t random_integer(int64_t below, uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal)
{
    const struct random_words words = random_at(site, step, row, element, RANDOM_INTEGER, (uint32_t)ordinal);
    const uint64_t bits = (uint64_t)words.word[0] << 32 | words.word[1];
    return (int64_t)((unsigned __int128)bits * (uint64_t)below >> 64);
}

//% part random_permutation
/* Fisher and Yates, from the end */
static void random_permutation(uint64_t site, int64_t step, int64_t row, int64_t count, int *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (int)i;
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t other = random_integer(i + 1, site, step, row, i, 0);
        const int kept = out[i];
        out[i] = out[other];
        out[other] = kept;
    }
}

//% part random_subset
/* Knuth's selection sampling: number i stays with probability (still wanted) / (still to come) */
static void random_subset(uint64_t site, int64_t step, int64_t row, int64_t count, int64_t below, int *out)
{
    int64_t taken = 0;
    for (int64_t i = 0; i < below && taken < count; i++)
        if (random_integer(below - i, site, step, row, i, 0) < count - taken)
            out[taken++] = (int)i;
}

//% part ordered
/* Smallest first, not-a-numbers last, ties by index. */
static int by_ordered_value(const void *a, const void *b)
{
    const struct ordered *x = (const struct ordered *)a, *y = (const struct ordered *)b;
    const int x_is_nan = x->value != x->value, y_is_nan = y->value != y->value;
    if (x_is_nan != y_is_nan)
        return x_is_nan - y_is_nan;
    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

//% part random_choice
/* A race: candidate i arrives after an exponential time of rate weight i, and the first `count` to arrive are drawn
 * (Efraimidis and Spirakis 2006). Weight 0 never arrives. */
static void random_choice(uint64_t site, int64_t step, const double *weight, int64_t candidates, int64_t count, int *out)
{
    struct ordered *race = (struct ordered *)memory_get((size_t)candidates * sizeof *race, "a choice of rows");
    for (int64_t i = 0; i < candidates; i++) {
        const struct random_words words = random_at(site, step, 0, i, RANDOM_UNIFORM, 0);
        race[i].value = weight[i] > 0 ? -log(random_double(words.word[0], words.word[1])) / weight[i] : INFINITY;
        race[i].index = (int)i;
    }
    qsort(race, (size_t)candidates, sizeof *race, by_ordered_value);
    for (int64_t i = 0; i < count; i++)
        out[i] = race[i].index;
    free(race);
}

//% part order_by_value
static void order_by_value(const real *value, int64_t count, int *order)
{
    struct ordered *sorted = (struct ordered *)memory_get((size_t)count * sizeof *sorted, "an order of rows");
    for (int64_t i = 0; i < count; i++) {
        sorted[i].value = value[i];
        sorted[i].index = (int)i;
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_ordered_value);
    for (int64_t i = 0; i < count; i++)
        order[i] = sorted[i].index;
    free(sorted);
}
