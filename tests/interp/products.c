/* products.c -- matrix products and convolutions.
 *
 * The three products of a convolution are sums over the same triples (element of x, of w, of y); they differ
 * in which of the three is summed into. */
#include "tests/interp/inside.h"

void eval_matmul(const Work *work)
{
    const Node *node = work->node;
    Shape a = input_shape(work, 0), b = input_shape(work, 1), y = node->shape;
    bool ta = node->at.matmul.transpose_a, tb = node->at.matmul.transpose_b;
    int64_t inner = a.dim[ta ? a.rank - 2 : a.rank - 1];
    for (int64_t i = 0; i < elements_of(y); i++) {
        int64_t place[MAX_RANK], row, column;
        place_of(y, i, place);
        row = place[y.rank - 2], column = place[y.rank - 1];
        for (int64_t k = 0; k < inner; k++) {
            place[y.rank - 2] = ta ? k : row, place[y.rank - 1] = ta ? row : k;
            double left = work->in[0][broadcast_of(a, y, place)];
            place[y.rank - 2] = tb ? column : k, place[y.rank - 1] = tb ? k : column;
            work->out[0][i] += left * work->in[1][broadcast_of(b, y, place)];
        }
    }
}

/* ---- convolutions ---- */

typedef struct Triple { int64_t x, w, y; } Triple;
typedef void Sum(const Work *work, Triple at);

/* All triples of one output element: its channel group's inputs under the kernel, not its padding. */
static void each_under_kernel(const Work *work, Sum *sum, Shape x, Shape w, const int64_t *out, int64_t y)
{
    const Conv *conv = &work->node->at.conv;
    int64_t n = out[0], k = out[1], first = k / (w.dim[0] / conv->groups) * w.dim[1];
    for (int64_t c = 0; c < w.dim[1]; c++)
        for (int64_t r = 0; r < w.dim[2]; r++)
            for (int64_t s = 0; s < w.dim[3]; s++) {
                int64_t row = out[2] * conv->stride[0] - conv->before[0] + r * conv->dilation[0];
                int64_t column = out[3] * conv->stride[1] - conv->before[1] + s * conv->dilation[1];
                if (row < 0 || row >= x.dim[2] || column < 0 || column >= x.dim[3])
                    continue;
                sum(work, (Triple){ flat_of(x, (int64_t[]){ n, first + c, row, column }),
                                    flat_of(w, (int64_t[]){ k, c, r, s }), y });
            }
}

static void each_triple(const Work *work, Sum *sum, Shape x, Shape w, Shape y)
{
    for (int64_t i = 0; i < elements_of(y); i++) {
        int64_t out[MAX_RANK];
        place_of(y, i, out);
        each_under_kernel(work, sum, x, w, out, i);
    }
}

static void sum_to_y(const Work *work, Triple at)
{
    work->out[0][at.y] += work->in[0][at.x] * work->in[1][at.w];
}

static void sum_to_x(const Work *work, Triple at)
{
    work->out[0][at.x] += work->in[0][at.y] * work->in[1][at.w];
}

static void sum_to_w(const Work *work, Triple at)
{
    work->out[0][at.w] += work->in[0][at.y] * work->in[1][at.x];
}

void eval_conv2d(const Work *work)
{
    each_triple(work, sum_to_y, input_shape(work, 0), input_shape(work, 1), work->node->shape);
}

void eval_conv2d_grad_input(const Work *work)
{
    each_triple(work, sum_to_x, work->node->shape, input_shape(work, 1), input_shape(work, 0));
}

void eval_conv2d_grad_weight(const Work *work)
{
    each_triple(work, sum_to_w, input_shape(work, 1), work->node->shape, input_shape(work, 0));
}
