/* recorder.c -- a model file as the C compiler understands it: runs MODEL_CALL and prints the calls it makes.
 *
 * Compiled with -DMODEL_FILE='"..."' and -DMODEL_CALL='...', as in
 *     cc -w -DMODEL_FILE='"recipes/models/mlp.c"' -DMODEL_CALL='mlp(images(2, 1, 28, 28), 64, 10)' recorder.c
 * Each call is a line, equal to that of the evaluator's log:
 *     conv2d_layer(t0, 16, {name=NULL kernel=3 ...}) = t1 [2,16,32,32]
 * A tensor is numbered when it is first printed. Shapes are computed here a second time. */
#include "model.h"

#include MODEL_FILE

#undef sqrt
int printf(const char *format, ...);
void *calloc(__SIZE_TYPE__ count, __SIZE_TYPE__ size);
double sqrt(double x);

struct tensor_handle { int number, rank, size[6]; };

float recorded_sqrt(float x)
{
    return (float)sqrt(x);
}

/* ---- printing ---- */

static int tensors;

static const char *first = "";

static void print_tensor(tensor x)
{
    if (!x) {
        printf("%sNONE", first);
    } else {
        if (x->number < 0)
            x->number = tensors++;
        printf("%st%d", first, x->number);
    }
    first = ", ";
}

static void print_number(double number)
{
    printf("%s%.5g", first, number);
    first = ", ";
}

static void print_text(const char *text)
{
    printf("%s%s", first, text ? text : "NULL");
    first = ", ";
}

static void print_sizes(const int *sizes, int rank)
{
    printf("%s[", first);
    for (int i = 0; i < rank; i++)
        printf("%s%d", i ? "," : "", sizes[i]);
    printf("]");
    first = ", ";
}

static tensor call(const char *callee)
{
    printf("%s(", callee);
    first = "";
    return NULL;
}

static tensor end(tensor result)
{
    first = "";
    printf(") = ");
    print_tensor(result);
    printf(" [");
    for (int i = 0; i < result->rank; i++)
        printf("%s%d", i ? "," : "", result->size[i]);
    printf("]\n");
    return result;
}

#define OPEN_OPTIONS const char *between = "{"; printf("%s", first); first = "";
#define OPTION(print, field) printf("%s" #field "=", between), print(options.field), first = "", between = " ";
#define NUMBER(field) OPTION(print_number, field)
#define TEXT(field) OPTION(print_text, field)
#define TENSOR(field) OPTION(print_tensor, field)
#define CLOSE_OPTIONS printf("}"); first = ", ";

/* ---- tensors ---- */

static tensor make(int rank, int a, int b, int c, int d)
{
    tensor x = calloc(1, sizeof *x);
    *x = (struct tensor_handle){ -1, rank, { a, b, c, d } };
    return x;
}

static tensor like(tensor x)
{
    tensor y = make(0, 0, 0, 0, 0);
    *y = *x;
    y->number = -1;
    return y;
}

static tensor images(int rows, int channels, int height, int width)
{
    return make(4, rows, channels, height, width);
}

static tensor tokens(int rows, int length)
{
    return make(2, rows, length, 0, 0);
}

int rank_of(tensor x)
{
    return x->rank;
}

int size_of(tensor x, int axis)
{
    return x->size[axis < 0 ? axis + x->rank : axis];
}

int rows_of(tensor x)
{
    return x->size[0];
}

int channels_of(tensor x)
{
    return x->size[x->rank == 4 || x->rank == 2 ? 1 : x->rank - 1];
}

int height_of(tensor x)
{
    return x->size[2];
}

int width_of(tensor x)
{
    return x->size[3];
}

int length_of(tensor x)
{
    return x->size[1];
}

bool is_training(void)
{
    return true;
}

bool scope_push(const char *format, ...)
{
    return true;
}

bool scope_pop(void)
{
    return false;
}

void require(bool condition, const char *message, ...)
{
    if (!condition)
        printf("require: %s\n", message);
}

/* ---- layers ---- */

tensor linear_layer(tensor x, int features, linear_options options)
{
    call("linear_layer");
    print_tensor(x);
    print_number(features);
    OPEN_OPTIONS
    TEXT(name) NUMBER(no_bias) NUMBER(fan_in_first) TEXT(weight_init) TEXT(bias_init) NUMBER(init_scale)
    CLOSE_OPTIONS
    tensor y = like(x);
    y->size[y->rank - 1] = features;
    return end(y);
}

static int window(int size, int kernel, int stride, int before, int after, int dilation)
{
    return (size + before + after - dilation * (kernel - 1) - 1) / stride + 1;
}

static int or_same(int width, int height)
{
    return width == SAME ? height : width;
}

tensor conv2d_layer(tensor x, int channels, conv2d_options options)
{
    call("conv2d_layer");
    print_tensor(x);
    print_number(channels);
    OPEN_OPTIONS
    TEXT(name)
    NUMBER(kernel) NUMBER(kernel_width) NUMBER(stride) NUMBER(stride_width) NUMBER(padding)
        NUMBER(padding_width) NUMBER(dilation) NUMBER(dilation_width) NUMBER(padding_after)
            NUMBER(padding_after_width) NUMBER(groups) NUMBER(bias) TEXT(weight_init) TEXT(bias_init)
                CLOSE_OPTIONS int wide
        = or_same(options.padding_width, options.padding);
    int below = or_same(options.padding_after, options.padding);
    return end(
        images(x->size[0], channels,
               window(x->size[2], options.kernel, options.stride, options.padding, below, options.dilation),
               window(x->size[3], or_same(options.kernel_width, options.kernel),
                      or_same(options.stride_width, options.stride), wide,
                      or_same(options.padding_after_width, wide),
                      or_same(options.dilation_width, options.dilation))));
}

tensor batch_norm_layer(tensor x, batch_norm_options options)
{
    call("batch_norm_layer");
    print_tensor(x);
    OPEN_OPTIONS
    TEXT(name) NUMBER(epsilon) NUMBER(momentum) NUMBER(group_size) NUMBER(no_affine) TEXT(weight_init)
    CLOSE_OPTIONS
    return end(like(x));
}

tensor layer_norm_layer(tensor x, layer_norm_options options)
{
    call("layer_norm_layer");
    print_tensor(x);
    OPEN_OPTIONS
    TEXT(name) NUMBER(epsilon) NUMBER(axes) NUMBER(no_affine) NUMBER(no_bias)
    CLOSE_OPTIONS
    return end(like(x));
}

static void print_embedding(embedding_options options)
{
    OPEN_OPTIONS
    TEXT(name) NUMBER(padding_row) TEXT(weight_init)
    CLOSE_OPTIONS
}

tensor embedding_layer(tensor ids, int rows, int channels, embedding_options options)
{
    call("embedding_layer");
    print_tensor(ids);
    print_number(rows);
    print_number(channels);
    print_embedding(options);
    return end(make(3, ids->size[0], ids->size[1], channels, 0));
}

tensor position_embedding_layer(tensor x, int context, embedding_options options)
{
    call("position_embedding_layer");
    print_tensor(x);
    print_number(context);
    print_embedding(options);
    return end(like(x));
}

tensor parameter_tensor(const char *name, const char *init, const int *sizes, int rank)
{
    call("parameter_tensor");
    print_text(name);
    print_text(init);
    print_sizes(sizes, rank);
    print_number(rank);
    return end(make(rank, sizes[0], sizes[1], 0, 0));
}

tensor residual(tensor x, tensor branch)
{
    call("residual");
    print_tensor(x);
    print_tensor(branch);
    return end(like(x));
}

tensor dropout_layer(tensor x, dropout_options options)
{
    call("dropout_layer");
    print_tensor(x);
    OPEN_OPTIONS
    TEXT(name) NUMBER(probability)
    CLOSE_OPTIONS
    return end(options.probability == 0 ? x : like(x));
}

tensor attention_layer(tensor q, tensor k, tensor v, attention_options options)
{
    call("attention_layer");
    print_tensor(q);
    print_tensor(k);
    print_tensor(v);
    OPEN_OPTIONS
    NUMBER(causal) TENSOR(key_mask) NUMBER(scale)
    CLOSE_OPTIONS
    return end(like(q));
}

tensor max_pool2d_layer(tensor x, pool2d_options options)
{
    call("max_pool2d_layer");
    print_tensor(x);
    OPEN_OPTIONS
    NUMBER(kernel)
    NUMBER(kernel_width) NUMBER(stride) NUMBER(stride_width) NUMBER(padding) NUMBER(padding_width)
        NUMBER(dilation) NUMBER(dilation_width) NUMBER(ceil_mode) NUMBER(exclude_padding)
            CLOSE_OPTIONS int stride
        = or_same(options.stride, options.kernel),
        padding = options.padding;
    return end(images(x->size[0], x->size[1], window(x->size[2], options.kernel, stride, padding, padding, 1),
                      window(x->size[3], options.kernel, stride, padding, padding, 1)));
}

/* ---- whole tensors ---- */

static tensor one(const char *callee, tensor x, tensor result)
{
    call(callee);
    print_tensor(x);
    return end(result);
}

tensor relu(tensor x)
{
    return one("relu", x, like(x));
}

tensor gelu_tanh(tensor x)
{
    return one("gelu_tanh", x, like(x));
}

tensor global_avg_pool2d(tensor x)
{
    return one("global_avg_pool2d", x, make(2, x->size[0], x->size[1], 0, 0));
}

tensor flatten(tensor x)
{
    int elements = 1;
    for (int i = 1; i < x->rank; i++)
        elements *= x->size[i];
    return one("flatten", x, make(2, x->size[0], elements, 0, 0));
}

tensor slice(tensor x, int axis, int begin, int end_of_slice)
{
    call("slice");
    print_tensor(x);
    print_number(axis);
    print_number(begin);
    print_number(end_of_slice);
    tensor y = like(x);
    y->size[axis] = end_of_slice - begin;
    return end(y);
}

tensor reshape_to(tensor x, const int *sizes, int rank)
{
    call("reshape_to");
    print_tensor(x);
    print_sizes(sizes, rank);
    print_number(rank);
    return end(make(rank, sizes[0], sizes[1], sizes[2], rank > 3 ? sizes[3] : 0));
}

tensor transpose_to(tensor x, const int *order, int rank)
{
    call("transpose_to");
    print_tensor(x);
    print_sizes(order, rank);
    print_number(rank);
    tensor y = like(x);
    for (int i = 0; i < rank; i++)
        y->size[i] = x->size[order[i]];
    return end(y);
}

tensor matmul_transposed(tensor a, tensor b)
{
    call("matmul_transposed");
    print_tensor(a);
    print_tensor(b);
    tensor y = like(a);
    y->size[a->rank - 1] = b->size[0];
    return end(y);
}

int main(void)
{
    MODEL_CALL;
    return 0;
}
