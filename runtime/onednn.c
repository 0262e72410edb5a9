/* onednn.c -- see onednn.h. */
#include "fail.h"
#include "onednn.h"

#include <stdlib.h>
#include <string.h>

//% part dnnl_check
static void dnnl_check(dnnl_status_t status, const char *doing)
{
    static const char *const words[] = { "success", "no memory", "invalid arguments", "not implemented" };
    if (status != dnnl_success)
        fail(status == dnnl_out_of_memory ? EXIT_MEMORY : EXIT_DEVICE, "oneDNN: %s: status %d (%s)", doing, (int)status,
             (int)status < 4 ? words[(int)status] : "see dnnl_status_t");
}

//% part dnnl_conv_plan
static dnnl_engine_t conv_engine;
static dnnl_stream_t conv_stream;

/* Version 2.6 writes behind its scratch memory in strided 1x1 convolutions whose channels are no multiple of its vectors
 * (it gathers the pixels that count, with padded channels). Its other implementations don't. */
static bool conv_is_unsafe(const struct conv2d_shape *s)
{
    const bool pointwise = s->kernel[0] == 1 && s->kernel[1] == 1, strided = s->stride[0] > 1 || s->stride[1] > 1;
    return pointwise && strided && (s->in_channels % 16 || s->out_channels % 16);
}

static bool conv_is_acceptable(const_dnnl_primitive_desc_t description, bool careful)
{
    const char *name = NULL;
    dnnl_check(dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name), "an implementation's name");
    return !careful || strncmp(name, "jit_1x1", strlen("jit_1x1")) != 0;
}

/* Where the library's second and third major version differ: how a layout and a convolution are described. */
#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t conv_layout;

static conv_layout conv_layout_make(int rank, const dnnl_dim_t *sizes, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t layout;
    dnnl_check(dnnl_memory_desc_create_with_tag(&layout, rank, sizes, dnnl_f32, tag), "a layout");
    return layout;
}

static void conv_layout_free(conv_layout layout)
{
    dnnl_memory_desc_destroy((dnnl_memory_desc_t)layout);
}

static dnnl_status_t conv_describe(dnnl_primitive_desc_t *made, enum dnnl_direction direction, conv_layout image,
                                        conv_layout weights, conv_layout result, const dnnl_dim_t *const window[4],
                                        dnnl_primitive_desc_t forward, bool careful)
{
    const dnnl_alg_kind_t direct = dnnl_convolution_direct;
    dnnl_status_t status;
    if (direction == DNNL_GRAD_INPUT)
        status = dnnl_convolution_backward_data_primitive_desc_create(made, conv_engine, direct, image, weights, result, window[0],
                                                                    window[1], window[2], window[3], forward, NULL);
    else if (direction == DNNL_GRAD_WEIGHT)
        status = dnnl_convolution_backward_weights_primitive_desc_create(made, conv_engine, direct, image, weights, NULL, result,
                                                                         window[0], window[1], window[2], window[3], forward, NULL);
    else
        status = dnnl_convolution_forward_primitive_desc_create(made, conv_engine, dnnl_forward_training, direct, image, weights,
                                                                NULL, result, window[0], window[1], window[2], window[3], NULL);
    while (status == dnnl_success && !conv_is_acceptable(*made, careful))
        status = dnnl_primitive_desc_next_impl(*made);
    return status;
}
#else
typedef const dnnl_memory_desc_t *conv_layout;

static conv_layout conv_layout_make(int rank, const dnnl_dim_t *sizes, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t *layout = (dnnl_memory_desc_t *)malloc(sizeof *layout);
    dnnl_check(layout ? dnnl_memory_desc_init_by_tag(layout, rank, sizes, dnnl_f32, tag) : dnnl_out_of_memory, "a layout");
    return layout;
}

static void conv_layout_free(conv_layout layout)
{
    free((void *)layout);
}

static dnnl_status_t conv_describe(dnnl_primitive_desc_t *made, enum dnnl_direction direction, conv_layout image,
                                        conv_layout weights, conv_layout result, const dnnl_dim_t *const window[4],
                                        dnnl_primitive_desc_t forward, bool careful)
{
    const dnnl_alg_kind_t direct = dnnl_convolution_direct;
    dnnl_convolution_desc_t conv;
    dnnl_status_t status;
    if (direction == DNNL_GRAD_INPUT)
        status = dnnl_dilated_convolution_backward_data_desc_init(&conv, direct, image, weights, result, window[0], window[1],
                                                                  window[2], window[3]);
    else if (direction == DNNL_GRAD_WEIGHT)
        status = dnnl_dilated_convolution_backward_weights_desc_init(&conv, direct, image, weights, NULL, result, window[0],
                                                                     window[1], window[2], window[3]);
    else
        status = dnnl_dilated_convolution_forward_desc_init(&conv, dnnl_forward_training, direct, image, weights, NULL, result,
                                                            window[0], window[1], window[2], window[3]);
    dnnl_primitive_desc_iterator_t choices;
    if (status == dnnl_success)
        status = dnnl_primitive_desc_iterator_create(&choices, &conv, NULL, conv_engine, forward);
    if (status != dnnl_success)
        return status;
    for (*made = dnnl_primitive_desc_iterator_fetch(choices); !conv_is_acceptable(*made, careful);) {
        dnnl_primitive_desc_destroy(*made);
        status = dnnl_primitive_desc_iterator_next(choices);
        if (status != dnnl_success)
            break;
        *made = dnnl_primitive_desc_iterator_fetch(choices);
    }
    dnnl_primitive_desc_iterator_destroy(choices);
    return status;
}
#endif

static void dnnl_conv_setup(struct dnnl_conv *plan, struct conv2d_shape shape)
{
    if (!conv_engine) {
        dnnl_check(dnnl_engine_create(&conv_engine, dnnl_cpu, 0), "an engine");
        dnnl_check(dnnl_stream_create(&conv_stream, conv_engine, dnnl_stream_default_flags), "a stream");
    }
    plan->shape = shape;
}

/* The description of one direction; backward ones ask for the forward one as a hint. */
static dnnl_primitive_desc_t conv_described(const struct conv2d_shape *s, enum dnnl_direction direction, conv_layout image,
                                                 conv_layout weights, conv_layout result)
{
    const dnnl_dims_t stride = { s->stride[0], s->stride[1] }, dilation = { s->dilation[0] - 1, s->dilation[1] - 1 };
    const dnnl_dims_t before = { s->before[0], s->before[1] }, after = { s->after[0], s->after[1] };
    const dnnl_dim_t *const window[4] = { stride, dilation, before, after };
    const bool careful = conv_is_unsafe(s);
    dnnl_primitive_desc_t forward, made;
    dnnl_check(conv_describe(&forward, DNNL_FORWARD, image, weights, result, window, NULL, careful), "a convolution");
    if (direction == DNNL_FORWARD)
        return forward;
    dnnl_check(conv_describe(&made, direction, image, weights, result, window, forward, careful), "a convolution's gradient");
    dnnl_primitive_desc_destroy(forward);
    return made;
}

static dnnl_primitive_t conv_reorder_make(conv_layout from, conv_layout to)
{
    dnnl_primitive_desc_t description;
    dnnl_primitive_t reorder;
    dnnl_check(dnnl_reorder_primitive_desc_create(&description, from, conv_engine, to, conv_engine, NULL), "a reorder");
    dnnl_check(dnnl_primitive_create(&reorder, description), "a reorder");
    dnnl_primitive_desc_destroy(description);
    return reorder;
}

/* Weights of groups have a rank more: (groups, out channels / groups, in channels / groups, height, width). */
static void dnnl_conv_make(const struct dnnl_conv *plan, struct dnnl_way *way, enum dnnl_direction direction)
{
    const struct conv2d_shape *s = &plan->shape;
    const bool groups = s->groups > 1;
    const dnnl_dims_t in = { s->rows, s->in_channels, s->height, s->width };
    const dnnl_dims_t out = { s->rows, s->out_channels, s->out_height, s->out_width };
    const dnnl_dims_t plain = { s->out_channels, s->in_channels, s->kernel[0], s->kernel[1] };
    const dnnl_dims_t grouped = { s->groups, s->out_channels / s->groups, s->in_channels / s->groups, s->kernel[0],
                                  s->kernel[1] };
    const dnnl_dim_t *sizes = groups ? grouped : plain;
    const int rank = groups ? 5 : 4;
    conv_layout image = conv_layout_make(4, in, dnnl_nhwc), result = conv_layout_make(4, out, dnnl_nhwc);
    conv_layout weights = conv_layout_make(rank, sizes, groups ? dnnl_goihw : dnnl_oihw);
    conv_layout any = conv_layout_make(rank, sizes, dnnl_format_tag_any);
    dnnl_primitive_desc_t description = conv_described(s, direction, image, any, result);
    conv_layout wanted = dnnl_primitive_desc_query_md(
        description, direction == DNNL_GRAD_WEIGHT ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    const bool same = dnnl_memory_desc_equal(wanted, weights);
    dnnl_check(dnnl_memory_create(&way->image, image, conv_engine, DNNL_MEMORY_NONE), "a tensor");
    dnnl_check(dnnl_memory_create(&way->result, result, conv_engine, DNNL_MEMORY_NONE), "a tensor");
    dnnl_check(dnnl_memory_create(&way->weights, weights, conv_engine, DNNL_MEMORY_NONE), "a tensor");
    way->inside = way->weights;
    way->reorder = NULL;
    if (!same) {
        dnnl_check(dnnl_memory_create(&way->inside, wanted, conv_engine, DNNL_MEMORY_ALLOCATE), "reordered weights");
        way->reorder = direction == DNNL_GRAD_WEIGHT ? conv_reorder_make(wanted, weights) : conv_reorder_make(weights, wanted);
    }
    dnnl_check(dnnl_primitive_create(&way->primitive, description), "a convolution");
    dnnl_primitive_desc_destroy(description);
    conv_layout_free(image);
    conv_layout_free(result);
    conv_layout_free(weights);
    conv_layout_free(any);
}

static void conv_reorder(const struct dnnl_way *way, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_exec_arg_t arguments[2] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
    dnnl_check(dnnl_primitive_execute(way->reorder, conv_stream, 2, arguments), "a reorder");
}

static void dnnl_conv_run(const struct dnnl_way *way, enum dnnl_direction direction, const float *image, const float *weights,
                          const float *result)
{
    const int names[3][3] = { { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST },
                              { DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST },
                              { DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST } };
    const int *name = names[direction];
    const dnnl_exec_arg_t arguments[3] = { { name[0], way->image }, { name[1], way->inside }, { name[2], way->result } };
    dnnl_check(dnnl_memory_set_data_handle(way->image, (void *)image), "a tensor's place");
    dnnl_check(dnnl_memory_set_data_handle(way->weights, (void *)weights), "a tensor's place");
    dnnl_check(dnnl_memory_set_data_handle(way->result, (void *)result), "a tensor's place");
    if (way->reorder && direction != DNNL_GRAD_WEIGHT)
        conv_reorder(way, way->weights, way->inside);
    dnnl_check(dnnl_primitive_execute(way->primitive, conv_stream, 3, arguments), "a convolution");
    if (way->reorder && direction == DNNL_GRAD_WEIGHT)
        conv_reorder(way, way->inside, way->weights);
    dnnl_check(dnnl_stream_wait(conv_stream), "a convolution");
}

//% part dnnl_conv_forward
static void dnnl_conv_forward(struct dnnl_conv *plan, const float *x, const float *w, float *y)
{
    if (!plan->forward.primitive)
        dnnl_conv_make(plan, &plan->forward, DNNL_FORWARD);
    dnnl_conv_run(&plan->forward, DNNL_FORWARD, x, w, y);
}

//% part dnnl_conv_grad_input
static void dnnl_conv_grad_input(struct dnnl_conv *plan, const float *dy, const float *w, float *dx)
{
    if (!plan->grad_input.primitive)
        dnnl_conv_make(plan, &plan->grad_input, DNNL_GRAD_INPUT);
    dnnl_conv_run(&plan->grad_input, DNNL_GRAD_INPUT, dx, w, dy);
}

//% part dnnl_conv_grad_weight
static void dnnl_conv_grad_weight(struct dnnl_conv *plan, const float *dy, const float *x, float *dw)
{
    if (!plan->grad_weight.primitive)
        dnnl_conv_make(plan, &plan->grad_weight, DNNL_GRAD_WEIGHT);
    dnnl_conv_run(&plan->grad_weight, DNNL_GRAD_WEIGHT, x, dw, dy);
}

//% part dnnl_product
/* Few products have all threads each; many run one a thread, each computed by that thread alone. */
static void dnnl_product(const float *a, const float *b, float *y, long batch, long rows, long columns, long depth, long a_batch,
                         long b_batch, bool transpose_a, bool transpose_b)
{
    enum { MANY = 8 };
    dnnl_status_t status = dnnl_success;
#pragma omp parallel for if (batch >= MANY)
    for (long n = 0; n < batch; n++) {
        const dnnl_status_t one = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', rows, columns, depth, 1,
                                             a + n * a_batch, transpose_a ? rows : depth, b + n * b_batch,
                                             transpose_b ? depth : columns, 0, y + n * rows * columns, columns);
        if (one != dnnl_success)
#pragma omp critical
            status = one;
    }
    dnnl_check(status, "a matrix product");
}
