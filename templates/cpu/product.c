/* product.c -- matrix products as plain loops: double precision, and the twin that the library is compared with. */
#include <stdbool.h>

//% part product
/* y (rows, columns) = a b over `depth`; a is (rows, depth) or transposed (depth, rows), b (depth, columns) or transposed. */
static void product_row(const real *a, long a_step, const real *b, bool transpose_b, real *y, long columns, long depth)
{
    for (long j = 0; j < columns && transpose_b; j++) {
        const real *row = b + j * depth;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (long l = 0; l < depth; l++)
            sum += a[l * a_step] * row[l];
        y[j] = sum;
    }
    for (long j = 0; j < columns && !transpose_b; j++)
        y[j] = 0;
    for (long l = 0; l < depth && !transpose_b; l++) {
        const real factor = a[l * a_step], *row = b + l * columns;
#pragma omp simd
        for (long j = 0; j < columns; j++)
            y[j] += factor * row[j];
    }
}

/* `batch` such products; a_batch and b_batch lie between the matrices of one operand and the next (0: the same for all) */
static void product(const real *a, const real *b, real *y, long batch, long rows, long columns, long depth, long a_batch,
                    long b_batch, bool transpose_a, bool transpose_b)
{
#pragma omp parallel for collapse(2)
    for (long n = 0; n < batch; n++)
        for (long i = 0; i < rows; i++)
            product_row(a + n * a_batch + (transpose_a ? i : i * depth), transpose_a ? rows : 1, b + n * b_batch, transpose_b,
                        y + (n * rows + i) * columns, columns, depth);
}

//% part product_offset
/* Where matrix number n of an operand begins: axes of the batch and how far apart it has them (0 where it is broadcast). */
static long product_offset(long n, int axes, const long *extent, const long *stride)
{
    long at = 0;
    for (int i = axes - 1; i >= 0; i--) {
        at += n % extent[i] * stride[i];
        n /= extent[i];
    }
    return at;
}

//% part product_broadcast needs product product_offset
/* Products whose operands are broadcast along different axes of the batch. */
static void product_broadcast(const real *a, const real *b, real *y, int axes, const long *extent, const long *a_stride,
                              const long *b_stride, long rows, long columns, long depth, bool transpose_a, bool transpose_b)
{
    long batch = 1;
    for (int i = 0; i < axes; i++)
        batch *= extent[i];
    for (long n = 0; n < batch; n++)
        product(a + product_offset(n, axes, extent, a_stride), b + product_offset(n, axes, extent, b_stride),
                y + n * rows * columns, 1, rows, columns, depth, 0, 0, transpose_a, transpose_b);
}
