/* reduce.c -- sums, means and maxima over axes, in an order that does not depend on the number of threads. */

//% part reduce_sum
enum { SUM_CHUNKS = 64 };

/* x (outer, count, inner) -> y (outer, inner): the sum over the middle. Chunks of fixed bounds add up in double. */
static void reduce_sum_few(const real *x, real *y, long outer, long count, long inner)
{
    for (long o = 0; o < outer; o++) {
        double partial[SUM_CHUNKS][64];
        for (long from = 0; from < inner; from += 64) {
            const long width = inner - from < 64 ? inner - from : 64;
#pragma omp parallel for
            for (long chunk = 0; chunk < SUM_CHUNKS; chunk++) {
                double *sum = partial[chunk];
                for (long i = 0; i < width; i++)
                    sum[i] = 0;
                for (long k = count * chunk / SUM_CHUNKS; k < count * (chunk + 1) / SUM_CHUNKS; k++)
                    for (long i = 0; i < width; i++)
                        sum[i] += x[(o * count + k) * inner + from + i];
            }
            for (long i = 0; i < width; i++) {
                double total = 0;
                for (long chunk = 0; chunk < SUM_CHUNKS; chunk++)
                    total += partial[chunk][i];
                y[o * inner + from + i] = (real)total;
            }
        }
    }
}

static void reduce_sum_many(const real *x, real *y, long outer, long count, long inner)
{
#pragma omp parallel for
    for (long o = 0; o < outer; o++)
        for (long from = 0; from < inner; from += 64) {
            const long width = inner - from < 64 ? inner - from : 64;
            double sum[64] = { 0 };
            for (long k = 0; k < count; k++)
                for (long i = 0; i < width; i++)
                    sum[i] += x[(o * count + k) * inner + from + i];
            for (long i = 0; i < width; i++)
                y[o * inner + from + i] = (real)sum[i];
        }
}

static void reduce_sum(const real *x, real *y, long outer, long count, long inner)
{
    if (outer < 32 && count >= 1024)
        reduce_sum_few(x, y, outer, count, inner);
    else
        reduce_sum_many(x, y, outer, count, inner);
}

//% part reduce_mean needs reduce_sum
/* x (outer, count, inner) -> y (outer, inner): the mean over the middle */
static void reduce_mean(const real *x, real *y, long outer, long count, long inner)
{
    reduce_sum(x, y, outer, count, inner);
#pragma omp parallel for simd
    for (long i = 0; i < outer * inner; i++)
        y[i] /= (real)count;
}

//% part reduce_max
/* x (outer, count, inner) -> y (outer, inner): the largest of the middle */
static void reduce_max(const real *x, real *y, long outer, long count, long inner)
{
#pragma omp parallel for
    for (long o = 0; o < outer; o++)
        for (long i = 0; i < inner; i++) {
            real most = x[o * count * inner + i];
            for (long k = 1; k < count; k++)
                if (x[(o * count + k) * inner + i] > most)
                    most = x[(o * count + k) * inner + i];
            y[o * inner + i] = most;
        }
}

//% part reduce_strided
enum fold { FOLD_SUM, FOLD_MEAN, FOLD_MAX };

static long strided_at(long number, int rank, const long *extent, const long *stride)
{
    long at = 0;
    for (int i = rank - 1; i >= 0; i--) {
        at += number % extent[i] * stride[i];
        number /= extent[i];
    }
    return at;
}

/* Axes to fold lie anywhere: `kept` and `folded` are the extents of each kind (1 elsewhere). */
static void reduce_strided(const real *x, real *y, enum fold kind, int rank, const long *kept, const long *folded,
                           const long *x_stride, const long *y_stride)
{
    long results = 1, count = 1;
    for (int i = 0; i < rank; i++)
        results *= kept[i], count *= folded[i];
#pragma omp parallel for
    for (long r = 0; r < results; r++) {
        const real *from = x + strided_at(r, rank, kept, x_stride);
        double sum = 0, most = from[0];
        for (long k = 0; k < count; k++) {
            const double value = from[strided_at(k, rank, folded, x_stride)];
            sum += value;
            most = value > most ? value : most;
        }
        y[strided_at(r, rank, kept, y_stride)] = (real)(kind == FOLD_MAX ? most : kind == FOLD_MEAN ? sum / (double)count : sum);
    }
}
