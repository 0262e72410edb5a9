/* vector_math.c -- exp, log, tanh, erf in single precision, without branches, so that loops over them vectorise.
 * Errors are the largest found over all arguments, in units in the last place. */
#include <stdint.h>
#include <string.h>

//% part real_bits for float
static inline real real_of_bits(int32_t bits)
{
    real x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int32_t bits_of_real(real x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

//% part real_exp for float needs real_bits
/* e^x, 1.1 ulp: 2^n p(r) with n = round(x log2 e), r = x - n log 2; 2^n as two factors, so that tiny results are right. */
static inline real real_exp(real x)
{
    const real shift = 12582912.0f;             /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;
    const real shifted = x * 1.44269504f + shift, n = shifted - shift;
    const int32_t whole = bits_of_real(shifted) - bits_of_real(shift), half = whole >> 1;
    const real r = x - n * 0.693145752f - n * 1.42860677e-6f;
    real p = 1.98756912e-4f;
    p = p * r + 1.39819994e-3f;
    p = p * r + 8.33345205e-3f;
    p = p * r + 4.16657962e-2f;
    p = p * r + 1.66666657e-1f;
    p = p * r + 0.5f;
    p = p * (r * r) + r + 1;
    return p * real_of_bits((half + 127) << 23) * real_of_bits((whole - half + 127) << 23);
}

//% part real_log for float needs real_bits
/* log x, 0.9 ulp: e log 2 + log m with sqrt(1/2) <= m < sqrt(2); -infinity at 0, nan below. */
static inline real real_log(real x)
{
    const int tiny = x < 1.17549435e-38f;
    const int32_t bits = bits_of_real(tiny ? x * 8388608.0f : x), offset = bits - 0x3f3504f3;
    const real e = (real)((offset >> 23) - (tiny ? 23 : 0)), m = real_of_bits((offset & 0x007fffff) + 0x3f3504f3) - 1;
    const real z = m * m;
    real p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    const real small = m * z * p - e * 2.12194440e-4f - 0.5f * z;
    const real value = m + small + e * 0.693359375f;
    const real edge = x == 0 ? -real_of_bits(0x7f800000) : x < 0 ? real_of_bits(0x7fc00000) : x;
    return x > 0 && x < real_of_bits(0x7f800000) ? value : edge;
}

//% part real_tanh for float needs real_exp
/* tanh x, 1.4 ulp: an odd polynomial near 0, else 1 - 2 / (e^2|x| + 1). */
static inline real real_tanh(real x)
{
    const real size = x < 0 ? -x : x, z = x * x;
    real p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    const real near = p * z * x + x, far = 1 - 2 / (real_exp(2 * size) + 1);
    return size < 0.625f ? near : x < 0 ? -far : far;
}

//% part real_erf for float needs real_exp
/* erf x, 1.2 ulp: an odd polynomial below 0.93, else 1 - e^p(|x|); after N. Juffa. */
static inline real real_erf(real x)
{
    const real size = x < 0 ? -x : x, capped = size > 4 ? 4 : size, z = x * x, t = capped;
    real tail = (-1.72853470e-5f * t + 3.83197126e-4f) * (t * t) + (-3.88396438e-3f * t + 2.42546219e-2f);
    tail = tail * t - 1.06777877e-1f;
    tail = tail * t - 6.34846687e-1f;
    tail = tail * t - 1.28717512e-1f;
    tail = tail * t - t;
    real p = -5.96761703e-4f;
    p = p * z + 4.99119423e-3f;
    p = p * z - 2.67681349e-2f;
    p = p * z + 1.12819925e-1f;
    p = p * z - 3.76125336e-1f;
    p = p * z + 1.28379166e-1f;
    const real near = p * x + x, far = 1 - real_exp(tail);
    return size <= 0.927734375f ? near : x < 0 ? -far : x > 0 ? far : x;
}
