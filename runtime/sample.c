/* sample.c -- see sample.h. */
#include "random.h"
#include "sample.h"

#include <math.h>

//% part sample_token
enum { SAMPLE_SITE = 5 };               /* real ones are hashes */

static int sample_token(const real *logits, int64_t count, double temperature, int64_t place)
{
    double largest = logits[0], sum = 0;
    for (int64_t i = 1; i < count; i++)
        largest = logits[i] > largest ? logits[i] : largest;
    for (int64_t i = 0; i < count; i++)
        sum += exp((logits[i] - largest) / temperature);
    double left = (double)random_uniform(SAMPLE_SITE, place, 0, 0, 0) * sum;
    for (int64_t i = 0; i < count; i++) {
        left -= exp((logits[i] - largest) / temperature);
        if (left < 0)
            return (int)i;
    }
    return (int)count - 1;
}
