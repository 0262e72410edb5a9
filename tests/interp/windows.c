/* windows.c -- pooling, resizing and blurring of images.
 *
 * All but the largest-of-window are linear: a sum over links (element of x, weight, element of y), followed
 * forwards by the operation and backwards by its gradient. */
#include "tests/interp/inside.h"

typedef struct Link { int64_t x, y; double weight; } Link;
typedef void Follow(const Work *work, Link link);

static void forwards(const Work *work, Link link)
{
    work->out[0][link.y] += link.weight * work->in[0][link.x];
}

static void backwards(const Work *work, Link link)
{
    work->out[0][link.x] += link.weight * work->in[0][link.y];
}

/* All links of one output element; x and y are the shapes of both images, `out` the place in y. */
typedef void Links(const Work *work, Follow *follow, Shape x, Shape y, const int64_t *out);

static void each_output(const Work *work, Links *links, Follow *follow, Shape x, Shape y)
{
    for (int64_t i = 0; i < elements_of(y); i++) {
        int64_t out[MAX_RANK];
        place_of(y, i, out);
        links(work, follow, x, y, out);
    }
}

static int64_t pixel(Shape x, const int64_t *out, int64_t row, int64_t column)
{
    return flat_of(x, (int64_t[]){ out[0], out[1], row, column });
}

/* ---- windows of pooling ---- */

typedef struct Span {
    int64_t begin, step, count;
    int64_t counted;                    /* of `count`, in x or its padding */
} Span;

static Span span_of(const Pool *pool, int axis, int64_t size, int64_t result, int64_t at)
{
    if (pool->adaptive) {
        int64_t begin = at * size / result, end = ((at + 1) * size + result - 1) / result;
        return (Span){ begin, 1, end - begin, end - begin };
    }
    Span span = { at * pool->stride[axis] - pool->padding[axis], pool->dilation[axis], pool->kernel[axis], 0 };
    for (int64_t i = 0; i < span.count; i++)
        span.counted += span.begin + i * span.step < size + pool->padding[axis];
    return span;
}

static bool inside(Span span, int64_t i, int64_t size)
{
    int64_t at = span.begin + i * span.step;
    return at >= 0 && at < size;
}

static int64_t count_inside(Span span, int64_t size)
{
    int64_t count = 0;
    for (int64_t i = 0; i < span.count; i++)
        count += inside(span, i, size);
    return count;
}

static void links_of_mean(const Work *work, Follow *follow, Shape x, Shape y, const int64_t *out)
{
    const Pool *pool = &work->node->at.pool;
    Span rows = span_of(pool, 0, x.dim[2], y.dim[2], out[2]);
    Span columns = span_of(pool, 1, x.dim[3], y.dim[3], out[3]);
    int64_t divisor = pool->count_padding ? rows.counted * columns.counted
                                          : count_inside(rows, x.dim[2]) * count_inside(columns, x.dim[3]);
    for (int64_t i = 0; i < rows.count; i++)
        for (int64_t j = 0; j < columns.count; j++)
            if (inside(rows, i, x.dim[2]) && inside(columns, j, x.dim[3]))
                follow(work,
                       (Link){ pixel(x, out, rows.begin + i * rows.step, columns.begin + j * columns.step),
                               flat_of(y, out), 1 / (double)divisor });
}

void eval_avg_pool2d(const Work *work)
{
    each_output(work, links_of_mean, forwards, input_shape(work, 0), work->node->shape);
}

void eval_avg_pool2d_grad(const Work *work)
{
    each_output(work, links_of_mean, backwards, work->node->shape, input_shape(work, 0));
}

/* ---- the largest of a window ---- */

/* row * width + column of the first of the largest, -1 when the window lies in the padding alone */
static int64_t largest(const Work *work, Shape x, Span rows, Span columns, const int64_t *out)
{
    int64_t best = -1;
    double most = -INFINITY;
    for (int64_t i = 0; i < rows.count; i++)
        for (int64_t j = 0; j < columns.count; j++) {
            int64_t row = rows.begin + i * rows.step, column = columns.begin + j * columns.step;
            if (!inside(rows, i, x.dim[2]) || !inside(columns, j, x.dim[3]))
                continue;
            double value = work->in[0][pixel(x, out, row, column)];
            if (best < 0 || value > most)
                best = row * x.dim[3] + column, most = value;
        }
    return best;
}

void eval_max_pool2d(const Work *work)
{
    const Pool *pool = &work->node->at.pool;
    Shape x = input_shape(work, 0), y = work->node->shape;
    for (int64_t i = 0; i < elements_of(y); i++) {
        int64_t out[MAX_RANK];
        place_of(y, i, out);
        int64_t best = largest(work, x, span_of(pool, 0, x.dim[2], y.dim[2], out[2]),
                               span_of(pool, 1, x.dim[3], y.dim[3], out[3]), out);
        work->out[0][i] = best < 0 ? -INFINITY : work->in[0][pixel(x, out, best / x.dim[3], best % x.dim[3])];
        if (work->out[1])
            work->out[1][i] = (double)best;
    }
}

void eval_max_pool2d_grad(const Work *work)
{
    Shape x = work->node->shape, y = input_shape(work, 0);
    int64_t plane = x.dim[2] * x.dim[3], places = y.dim[2] * y.dim[3];
    for (int64_t i = 0; i < elements_of(y); i++)
        if (work->in[1][i] >= 0)
            work->out[0][i / places * plane + (int64_t)work->in[1][i]] += work->in[0][i];
}

/* ---- resizing ---- */

typedef struct Sources { int64_t from[2]; double weight[2]; } Sources;

/* Which elements of a line of `size` make element `at` of a line of `result`. */
static Sources sources_of(const Resize *resize, int axis, int64_t size, int64_t result, int64_t at)
{
    double given = resize->scale[axis], ratio = given != 0 ? 1 / given : (double)size / (double)result, source;
    if (!resize->bilinear) {
        int64_t nearest = given != 0 ? (int64_t)floor((double)at / given) : at * size / result;
        return (Sources){ { nearest < size ? nearest : size - 1, 0 }, { 1, 0 } };
    }
    if (resize->align_corners)
        source = result > 1 ? (double)(at * (size - 1)) / (double)(result - 1) : 0;
    else
        source = fmax(((double)at + 0.5) * ratio - 0.5, 0);
    int64_t below = (int64_t)source < size ? (int64_t)source : size - 1;
    double share = source - (double)below;
    return (Sources){ { below, below + 1 < size ? below + 1 : below }, { 1 - share, share } };
}

static void links_of_resize(const Work *work, Follow *follow, Shape x, Shape y, const int64_t *out)
{
    const Resize *resize = &work->node->at.resize;
    Sources rows = sources_of(resize, 0, x.dim[2], y.dim[2], out[2]);
    Sources columns = sources_of(resize, 1, x.dim[3], y.dim[3], out[3]);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            follow(work, (Link){ pixel(x, out, rows.from[i], columns.from[j]), flat_of(y, out),
                                 rows.weight[i] * columns.weight[j] });
}

void eval_resize2d(const Work *work)
{
    each_output(work, links_of_resize, forwards, input_shape(work, 0), work->node->shape);
}

void eval_resize2d_grad(const Work *work)
{
    each_output(work, links_of_resize, backwards, work->node->shape, input_shape(work, 0));
}

/* ---- blurring ---- */

static void links_of_blur(const Work *work, Follow *follow, Shape x, Shape y, const int64_t *out)
{
    static const double weight[3] = { 1, 2, 1 };
    const int64_t *stride = work->node->at.blur.stride;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int64_t row = out[2] * stride[0] + i - 1, column = out[3] * stride[1] + j - 1;
            if (row >= 0 && row < x.dim[2] && column >= 0 && column < x.dim[3])
                follow(work, (Link){ pixel(x, out, row, column), flat_of(y, out), weight[i] * weight[j] / 16 });
        }
}

void eval_blur2d(const Work *work)
{
    each_output(work, links_of_blur, forwards, input_shape(work, 0), work->node->shape);
}

void eval_blur2d_grad(const Work *work)
{
    each_output(work, links_of_blur, backwards, work->node->shape, input_shape(work, 0));
}
