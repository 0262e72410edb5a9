/* move.c -- filling and moving boxes of elements. */
#include <stddef.h>

//% part fill
/* y[i] = value */
static void fill(real *y, long count, real value)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++)
        y[i] = value;
}

//% part accumulate
/* What a micro-batch adds to a gradient: the first one writes, the others add. */
static void accumulate(real *sum, const real *part, long count, bool first)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++)
        sum[i] = first ? part[i] : sum[i] + part[i];
}

//% part box
/* A box of at most six axes as outer * middle * inner: `outer` counts the first axes together. */
typedef struct box {
    long outer, middle, inner, x_middle, y_middle, x_inner, y_inner;
} box;

/* Where line number `line` of the axes before the last two begins. */
static void box_line(long line, int axes, const long *extent, const long *x_stride, const long *y_stride, long *x, long *y)
{
    *x = *y = 0;
    for (int i = axes - 1; i >= 0; i--) {
        long at = line % extent[i];
        line /= extent[i];
        *x += at * x_stride[i];
        *y += at * y_stride[i];
    }
}

static box box_of(int rank, const long *extent, const long *x_stride, const long *y_stride)
{
    box b = { 1, 1, 1, 0, 0, 0, 0 };
    for (int i = 0; i < rank - 2; i++)
        b.outer *= extent[i];
    if (rank > 1)
        b.middle = extent[rank - 2], b.x_middle = x_stride[rank - 2], b.y_middle = y_stride[rank - 2];
    if (rank > 0)
        b.inner = extent[rank - 1], b.x_inner = x_stride[rank - 1], b.y_inner = y_stride[rank - 1];
    return b;
}

//% part move needs box
/* y[sum k_i y_stride_i] = x[sum k_i x_stride_i] for all k in the box `extent` */
static void move(const real *x, real *y, int rank, const long *extent, const long *x_stride, const long *y_stride)
{
    const box b = box_of(rank, extent, x_stride, y_stride);
#pragma omp parallel for collapse(2)
    for (long line = 0; line < b.outer; line++)
        for (long k = 0; k < b.middle; k++) {
            long from, to;
            box_line(line, rank - 2, extent, x_stride, y_stride, &from, &to);
            from += k * b.x_middle;
            to += k * b.y_middle;
            for (long i = 0; i < b.inner; i++)
                y[to + i * b.y_inner] = x[from + i * b.x_inner];
        }
}

//% part move_int needs box
/* The same for integers. */
static void move_int(const int *x, int *y, int rank, const long *extent, const long *x_stride, const long *y_stride)
{
    const box b = box_of(rank, extent, x_stride, y_stride);
#pragma omp parallel for collapse(2)
    for (long line = 0; line < b.outer; line++)
        for (long k = 0; k < b.middle; k++) {
            long from, to;
            box_line(line, rank - 2, extent, x_stride, y_stride, &from, &to);
            from += k * b.x_middle;
            to += k * b.y_middle;
            for (long i = 0; i < b.inner; i++)
                y[to + i * b.y_inner] = x[from + i * b.x_inner];
        }
}
