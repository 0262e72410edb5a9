/* test_gradients_windows.c -- gradients of products, convolutions, pooling, resizing, blurring. */
#include "gradients_bench.h"

/* ---- products ---- */

/* Leading axes, then rows and inner extent of a, columns of b. */
static const struct { int a_lead, b_lead; int64_t a[3], b[3]; } products[] = {
    { 0, 0, { 0 }, { 0 } }, { 1, 1, { 3 }, { 3 } }, { 1, 0, { 3 }, { 0 } }, { 0, 1, { 0 }, { 2 } },
    { 2, 2, { 2, 1 }, { 2, 3 } }, { 2, 1, { 2, 3 }, { 3 } }, { 1, 2, { 1 }, { 2, 3 } },
};

static Shape with_matrix(int lead, const int64_t *extents, int64_t rows, int64_t columns)
{
    Shape shape = { .rank = lead + 2 };
    memcpy(shape.dim, extents, sizeof *extents * (size_t)lead);
    shape.dim[lead] = rows;
    shape.dim[lead + 1] = columns;
    return shape;
}

START_TEST(matmul)
{
    for (int transposed = 0; transposed < 4; transposed++) {
        bool ta = transposed & 1, tb = transposed & 2;
        Trial *trial = trial_create(18);
        Node *a =
            trial_parameter(trial, with_matrix(products[_i].a_lead, products[_i].a, ta ? 4 : 3, ta ? 3 : 4));
        Node *b =
            trial_parameter(trial, with_matrix(products[_i].b_lead, products[_i].b, tb ? 2 : 4, tb ? 4 : 2));
        check_output(trial, build_matmul(trial->graph, a, b, ta, tb));
    }
}
END_TEST

START_TEST(matmul_with_itself)
{
    for (int transposed = 1; transposed < 3; transposed++) {
        Trial *trial = trial_create(19);
        Node *a = trial_parameter(trial, SHAPE(3, 4));
        check_output(trial, build_matmul(trial->graph, a, a, transposed == 1, transposed == 2));
    }
}
END_TEST

typedef struct Convolution { Conv conv; int64_t kernel[2], height, width; } Convolution;

static const Convolution convolutions[] = {
    { { { 1, 1 }, { 0, 0 }, { 0, 0 }, { 1, 1 }, 1 }, { 1, 1 }, 3, 4 },
    { { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 }, { 3, 3 }, 4, 3 },
    { { { 2, 2 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 1 }, { 3, 3 }, 5, 6 },
    { { { 2, 3 }, { 0, 1 }, { 1, 2 }, { 1, 1 }, 1 }, { 2, 3 }, 6, 5 },
    { { { 1, 2 }, { 2, 1 }, { 2, 1 }, { 2, 1 }, 1 }, { 3, 2 }, 5, 5 },
    { { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 2 }, { 3, 3 }, 3, 3 },
    { { { 2, 1 }, { 0, 1 }, { 1, 0 }, { 1, 2 }, 2 }, { 2, 2 }, 5, 4 },
    { { { 3, 3 }, { 0, 0 }, { 0, 0 }, { 1, 1 }, 1 }, { 2, 2 }, 7, 7 },      /* leaves the last row unread */
    { { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 4 }, { 3, 3 }, 2, 3 },      /* depthwise */
};

START_TEST(conv2d)
{
    Trial *trial = trial_create(20);
    const int64_t *kernel = convolutions[_i].kernel, groups = convolutions[_i].conv.groups;
    Node *x = trial_parameter(trial, SHAPE(2, 4, convolutions[_i].height, convolutions[_i].width));
    Node *w = trial_parameter(trial, SHAPE(groups == 4 ? 8 : 6, 4 / groups, kernel[0], kernel[1]));
    check_output(trial, add(trial, OP_conv2d, &(Attributes){ .conv = convolutions[_i].conv }, NODES(x, w)));
}
END_TEST

/* A transposed convolution of the output's shape back to the input's. */
START_TEST(conv2d_grad_input)
{
    Trial *trial = trial_create(21);
    const Conv *conv = &convolutions[_i].conv;
    const int64_t *kernel = convolutions[_i].kernel;
    Shape x = SHAPE(2, 4, convolutions[_i].height, convolutions[_i].width), y = x;
    for (int i = 0; i < 2; i++)
        y.dim[2 + i] = 1 + (x.dim[2 + i] + conv->before[i] + conv->after[i]
                            - conv->dilation[i] * (kernel[i] - 1) - 1) / conv->stride[i];
    y.dim[1] = conv->groups == 4 ? 8 : 6;
    Node *inputs[2] = { trial_parameter(trial, y) };
    inputs[1] = trial_parameter(trial, SHAPE(y.dim[1], 4 / conv->groups, kernel[0], kernel[1]));
    check_output(trial, node_add_shaped(trial->graph, OP_conv2d_grad_input, inputs, 2,
                                        &(Attributes){ .conv = *conv }, x, DTYPE_REAL));
}
END_TEST

/* ---- windows ---- */

static const Pool pools[] = {
    { .kernel = { 2, 2 }, .stride = { 2, 2 }, .dilation = { 1, 1 } },
    { .kernel = { 3, 3 }, .stride = { 2, 2 }, .padding = { 1, 1 }, .dilation = { 1, 1 } },
    { .kernel = { 3, 2 }, .stride = { 1, 3 }, .padding = { 1, 0 }, .dilation = { 1, 1 }, .count_padding = true },
    { .kernel = { 2, 3 }, .stride = { 3, 2 }, .padding = { 1, 1 }, .dilation = { 1, 1 }, .ceil_mode = true,
      .count_padding = true },
    { .kernel = { 2, 3 }, .stride = { 3, 2 }, .padding = { 1, 1 }, .dilation = { 1, 1 }, .ceil_mode = true },
};

START_TEST(max_pool2d)
{
    Trial *trial = trial_create(22);
    Node *x = trial_parameter_of(trial, SHAPE(2, 2, 6, 7), trial_distinct(trial, 168));
    Attributes at = { .pool = pools[_i] };
    check_output(trial, add(trial, OP_max_pool2d, &at, NODES(x)));
}
END_TEST

START_TEST(max_pool2d_dilated)
{
    Trial *trial = trial_create(23);
    Node *x = trial_parameter_of(trial, SHAPE(1, 2, 5, 7), trial_distinct(trial, 70));
    Pool pool = { .kernel = { 2, 3 }, .stride = { 1, 2 }, .padding = { 1, 1 }, .dilation = { 2, 2 } };
    Attributes at = { .pool = pool };
    check_output(trial, add(trial, OP_max_pool2d, &at, NODES(x)));
}
END_TEST

START_TEST(avg_pool2d)
{
    Trial *trial = trial_create(24);
    Node *x = trial_parameter(trial, SHAPE(2, 2, 5, 7));
    check_output(trial, add(trial, OP_avg_pool2d, &(Attributes){ .pool = pools[_i] }, NODES(x)));
}
END_TEST

static const int64_t sizes[][2] = { { 3, 4 }, { 1, 1 }, { 7, 9 }, { 5, 2 }, { 10, 14 } };

START_TEST(adaptive_avg_pool2d)
{
    Trial *trial = trial_create(25);
    Node *x = trial_parameter(trial, SHAPE(1, 2, 5, 7));
    Attributes at = { .pool = { .adaptive = true, .kernel = { sizes[_i][0], sizes[_i][1] }, .stride = { 1, 1 },
                                .dilation = { 1, 1 } } };
    check_output(trial, node_add_shaped(trial->graph, OP_avg_pool2d, &x, 1, &at,
                                        SHAPE(1, 2, sizes[_i][0], sizes[_i][1]), DTYPE_REAL));
}
END_TEST

START_TEST(resize2d)
{
    static const double scales[] = { 0, 0.6, 1.5 };
    for (int way = 0; way < 3; way++)
        for (int scale = 0; scale < (way == 2 ? 1 : 3); scale++) {
            Trial *trial = trial_create(26);
            Node *x = trial_parameter(trial, SHAPE(1, 2, 5, 7));
            Attributes at = { .resize = { way > 0, way == 2, { scales[scale], scales[scale] } } };
            check_output(trial, node_add_shaped(trial->graph, OP_resize2d, &x, 1, &at,
                                                SHAPE(1, 2, sizes[_i][0], sizes[_i][1]), DTYPE_REAL));
        }
}
END_TEST

START_TEST(blur2d)
{
    static const int64_t strides[][2] = { { 1, 1 }, { 2, 2 }, { 1, 3 } };
    Trial *trial = trial_create(27);
    Node *x = trial_parameter(trial, SHAPE(2, 2, 4, 5));
    Attributes at = { .blur = { { strides[_i][0], strides[_i][1] } } };
    check_output(trial, add(trial, OP_blur2d, &at, NODES(x)));
}
END_TEST

/* ---- cases ---- */

void add_window_gradients(Suite *suite)
{
    TCase *tcase = group(suite, "products");
    tcase_add_loop_test(tcase, matmul, 0, sizeof products / sizeof *products);
    tcase_add_test(tcase, matmul_with_itself);
    tcase_add_loop_test(tcase, conv2d, 0, sizeof convolutions / sizeof *convolutions);
    tcase_add_loop_test(tcase, conv2d_grad_input, 0, sizeof convolutions / sizeof *convolutions);
    tcase = group(suite, "windows");
    tcase_add_loop_test(tcase, max_pool2d, 0, sizeof pools / sizeof *pools);
    tcase_add_test(tcase, max_pool2d_dilated);
    tcase_add_loop_test(tcase, avg_pool2d, 0, sizeof pools / sizeof *pools);
    tcase_add_loop_test(tcase, adaptive_avg_pool2d, 0, sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(tcase, resize2d, 0, sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(tcase, blur2d, 0, 3);
}
