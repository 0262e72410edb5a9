/* math.c -- scalar functions that expressions call: the library's in double precision, minima and maxima. */
#include <math.h>
#include <stdbool.h>

//% part real_exp for double
static inline real real_exp(real x)
{
    return exp(x);
}

//% part real_log for double
static inline real real_log(real x)
{
    return log(x);
}

//% part real_tanh for double
static inline real real_tanh(real x)
{
    return tanh(x);
}

//% part real_erf for double
static inline real real_erf(real x)
{
    return erf(x);
}

//% part choose
/* The smaller and the larger of two; b where neither is. */
static inline real real_min(real a, real b)
{
    return a < b ? a : b;
}

static inline real real_max(real a, real b)
{
    return a > b ? a : b;
}

static inline long long_min(long a, long b)
{
    return a < b ? a : b;
}

static inline long long_max(long a, long b)
{
    return a > b ? a : b;
}
