/* model.h -- the language of models: a C function over tensors, run by composer-gen when it generates.
 *
 *     #include "model.h"
 *     tensor mlp(tensor images, int hidden, int num_classes)
 *     {
 *         tensor x = relu(linear(flatten(images), hidden));
 *         return linear(x, num_classes);
 *     }
 *
 * The recipe's parameters are the function's parameters. Loops, conditions, helpers, arrays and
 * structs are C and run at generation; a call of a function below adds to the graph. Shapes are
 * known: sizes can be asked for (`channels_of(x)`) and used in conditions.
 *
 * Layers own parameters. Their names come from SCOPE and from the layer's kind and ordinal in its
 * scope: conv1, conv2, bn1, fc1, ln_1 ...; `.name` chooses another. Names of parameters equal the
 * ecosystem's ("layer1.0.conv1.weight"), which is how weights are imported.
 *
 * Options are given by name; what is left out has the default shown:
 *     conv2d(x, 64, .kernel = 3, .stride = 2, .padding = 1)
 * `SAME` for a width means: as the height. */
#pragma once
#include "scalar.h"

typedef struct tensor_handle *tensor;
#define NONE ((tensor)0)

enum { SAME = -1 };

/* ---- sizes; images are (rows, channels, height, width), text is (rows, length, channels) ---- */
int rank_of(tensor x);
int size_of(tensor x, int axis);                /* negative axes count from the end */
int rows_of(tensor x);
int channels_of(tensor x);                      /* axis 1 of images and matrices, the last axis otherwise */
int height_of(tensor x);
int width_of(tensor x);
int length_of(tensor x);                        /* axis 1 of (rows, length, channels) or (rows, length) */
bool is_training(void);                         /* false while the evaluation graph is made */
void require(bool condition, const char *message, ...);     /* what must hold of the parameters; %d, %g and %s in the message */

/* ---- scopes: SCOPE("layer%d", i) statement; names made inside are "layer<i>.<name>" ---- */
bool scope_push(const char *format, ...);
bool scope_pop(void);
#define SCOPE(...) for (bool scope_open = scope_push(__VA_ARGS__); scope_open; scope_open = scope_pop())

/* ---- layers ---- */
typedef struct {
    const char *name;
    bool no_bias;
    bool fan_in_first;                          /* weight stored [in, out], as GPT-2's Conv1D */
    const char *weight_init, *bias_init;        /* names of initializers.c; NULL: PyTorch's default */
    float init_scale;                           /* multiplies the initializer; 0 = 1 */
} linear_options;
tensor linear_layer(tensor x, int features, linear_options options);
#define linear(x, features, ...) linear_layer((x), (features), (linear_options){ .name = NULL, ##__VA_ARGS__ })

typedef struct {
    const char *name;
    int kernel, kernel_width, stride, stride_width, padding, padding_width, dilation, dilation_width;
    int padding_after, padding_after_width;     /* bottom, right, where they differ from top, left */
    int groups;
    bool bias;                                  /* convolutions here have none by default: a norm follows */
    const char *weight_init, *bias_init;
} conv2d_options;
tensor conv2d_layer(tensor x, int channels, conv2d_options options);
#define CONV2D_DEFAULTS .kernel = 1, .kernel_width = SAME, .stride = 1, .stride_width = SAME, .padding = 0,      \
    .padding_width = SAME, .dilation = 1, .dilation_width = SAME, .padding_after = SAME,                          \
    .padding_after_width = SAME, .groups = 1
#define conv2d(x, channels, ...) conv2d_layer((x), (channels), (conv2d_options){ CONV2D_DEFAULTS, ##__VA_ARGS__ })
/* The same convolution with a weight (channels, in/groups, kernel, kernel width) and bias (or NONE) at hand. */
tensor conv2d_operation(tensor x, tensor weight, tensor bias, conv2d_options options);
#define conv2d_with(x, weight, bias, ...)                                                                          \
    conv2d_operation((x), (weight), (bias), (conv2d_options){ CONV2D_DEFAULTS, ##__VA_ARGS__ })

typedef struct {
    const char *name;
    int kernel, kernel_width, stride, stride_width, padding, padding_width, dilation, dilation_width;
    int output_padding, output_padding_width, groups;
    bool bias;
    const char *weight_init, *bias_init;
} conv_transpose2d_options;
tensor conv_transpose2d_layer(tensor x, int channels, conv_transpose2d_options options);
#define conv_transpose2d(x, channels, ...)                                                                         \
    conv_transpose2d_layer((x), (channels), (conv_transpose2d_options){ .kernel = 1, .kernel_width = SAME,         \
        .stride = 1, .stride_width = SAME, .padding = 0, .padding_width = SAME, .dilation = 1,                     \
        .dilation_width = SAME, .output_padding = 0, .output_padding_width = SAME, .groups = 1, ##__VA_ARGS__ })

typedef struct {
    const char *name;
    float epsilon, momentum;                    /* momentum: weight of the new batch in the running statistics */
    int group_size;                             /* statistics over groups of so many rows (ghost); 0 = all rows */
    bool no_affine;
    const char *weight_init;
} batch_norm_options;
tensor batch_norm_layer(tensor x, batch_norm_options options);
#define batch_norm(x, ...) batch_norm_layer((x), (batch_norm_options){ .epsilon = 1e-5f, .momentum = 0.1f, ##__VA_ARGS__ })

typedef struct {
    const char *name;
    float epsilon;
    int axes;                                   /* how many trailing axes are normalised together */
    bool no_affine, no_bias;
} layer_norm_options;
tensor layer_norm_layer(tensor x, layer_norm_options options);
#define layer_norm(x, ...) layer_norm_layer((x), (layer_norm_options){ .epsilon = 1e-5f, .axes = 1, ##__VA_ARGS__ })

typedef struct {
    const char *name;
    float epsilon;
    bool no_affine;
} group_norm_options;
tensor group_norm_layer(tensor x, int groups, group_norm_options options);
#define group_norm(x, groups, ...) group_norm_layer((x), (groups), (group_norm_options){ .epsilon = 1e-5f, ##__VA_ARGS__ })

typedef struct {
    const char *name;
    float epsilon;
} rms_norm_options;
tensor rms_norm_layer(tensor x, rms_norm_options options);
#define rms_norm(x, ...) rms_norm_layer((x), (rms_norm_options){ .epsilon = 1e-6f, ##__VA_ARGS__ })

typedef struct {
    const char *name;
    int padding_row;                            /* its row gets no gradient; -1 = none */
    const char *weight_init;
} embedding_options;
tensor embedding_layer(tensor ids, int rows, int channels, embedding_options options);
#define embedding(ids, rows, channels, ...)                                                                        \
    embedding_layer((ids), (rows), (channels), (embedding_options){ .padding_row = -1, ##__VA_ARGS__ })
/* Adds a learned vector for each position to x (rows, length, channels); `context` positions exist. */
tensor position_embedding_layer(tensor x, int context, embedding_options options);
#define position_embedding(x, context, ...)                                                                        \
    position_embedding_layer((x), (context), (embedding_options){ .padding_row = -1, ##__VA_ARGS__ })

/* A parameter by itself; asking for a name twice gives the same one (tied weights).
 *     tensor table = parameter("wte.weight", "normal_0.02", vocabulary, channels); */
tensor parameter_tensor(const char *name, const char *init, const int *sizes, int rank);
#define parameter(name, init, ...)                                                                                 \
    parameter_tensor((name), (init), (const int[]){ __VA_ARGS__ }, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* ---- named compounds, so that methods can find and change them ---- */
tensor residual(tensor x, tensor branch);       /* x + branch */

/* ---- products and pieces ---- */
tensor matmul(tensor a, tensor b);              /* the last two axes; leading axes broadcast */
tensor matmul_transposed(tensor a, tensor b);   /* a b^T */
tensor add(tensor a, tensor b);                 /* numpy's broadcasting */
tensor sub(tensor a, tensor b);
tensor mul(tensor a, tensor b);
tensor scale(tensor x, float factor);
tensor shift(tensor x, float amount);           /* x + amount */
tensor concat(tensor a, tensor b, int axis);
tensor slice(tensor x, int axis, int begin, int end);
tensor pad(tensor x, int axis, int before, int after);
tensor reshape_to(tensor x, const int *sizes, int rank);    /* one size may be -1 */
#define reshape(x, ...)                                                                                            \
    reshape_to((x), (const int[]){ __VA_ARGS__ }, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))
tensor transpose_to(tensor x, const int *order, int rank);
#define transpose(x, ...)                                                                                          \
    transpose_to((x), (const int[]){ __VA_ARGS__ }, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))
tensor flatten(tensor x);                       /* (rows, everything else) */
tensor gather(tensor table, tensor ids);        /* rows of the table */
tensor sum(tensor x, int axis);                 /* the axis becomes 1 */
tensor mean(tensor x, int axis);

/* ---- element by element ---- */
tensor relu(tensor x);
tensor leaky_relu(tensor x, float slope);
tensor elu(tensor x);
tensor gelu(tensor x);                          /* with erf */
tensor gelu_tanh(tensor x);                     /* GPT-2's form */
tensor silu(tensor x);
tensor sigmoid(tensor x);
tensor hardsigmoid(tensor x);
tensor tanh_of(tensor x);
tensor hardswish(tensor x);
tensor softplus(tensor x);
tensor exp_of(tensor x);
tensor sqrt_of(tensor x);
tensor reciprocal(tensor x);
tensor softmax(tensor x, int axis);
tensor log_softmax(tensor x, int axis);

typedef struct {
    const char *name;
    float probability;
} dropout_options;
tensor dropout_layer(tensor x, dropout_options options);    /* identity in evaluation */
#define dropout(x, p) dropout_layer((x), (dropout_options){ .probability = (p) })
/* Uniform on [0,1), new each micro-batch: one value for each row (rows,1,...), or one for all (1,...). */
tensor uniform_rows(tensor like);
tensor uniform_batch(tensor like);
tensor less_than(tensor x, float bound);        /* 1 where x < bound, else 0; no gradient */

/* ---- windows ---- */
typedef struct {
    int kernel, kernel_width, stride, stride_width, padding, padding_width, dilation, dilation_width;
    bool ceil_mode, exclude_padding;            /* exclude_padding: average pooling divides by what is inside */
} pool2d_options;
#define POOL2D_DEFAULTS .kernel_width = SAME, .stride = SAME, .stride_width = SAME, .padding_width = SAME,           \
    .dilation = 1, .dilation_width = SAME       /* stride SAME: as the kernel */
tensor max_pool2d_layer(tensor x, pool2d_options options);
tensor avg_pool2d_layer(tensor x, pool2d_options options);
#define max_pool2d(x, ...) max_pool2d_layer((x), (pool2d_options){ POOL2D_DEFAULTS, ##__VA_ARGS__ })
#define avg_pool2d(x, ...) avg_pool2d_layer((x), (pool2d_options){ POOL2D_DEFAULTS, ##__VA_ARGS__ })
tensor global_avg_pool2d(tensor x);             /* (rows, channels) */
tensor adaptive_avg_pool2d(tensor x, int height, int width);
typedef struct {
    int stride, stride_width;
} blur2d_options;
tensor blur2d_layer(tensor x, blur2d_options options);      /* depthwise [1 2 1] x [1 2 1] / 16, zero padding 1 */
#define blur2d(x, ...) blur2d_layer((x), (blur2d_options){ .stride = 1, .stride_width = SAME, ##__VA_ARGS__ })

typedef struct {
    bool bilinear, align_corners;               /* nearest without `bilinear` */
    float scale;                                /* 0: sizes decide */
} resize2d_options;
tensor resize2d_layer(tensor x, int height, int width, resize2d_options options);
#define resize2d(x, height, width, ...) resize2d_layer((x), (height), (width), (resize2d_options){ .bilinear = false, ##__VA_ARGS__ })

/* ---- attention: q (rows, heads, length, size), k and v (rows, heads, keys, size) ---- */
typedef struct {
    bool causal;
    tensor key_mask;                            /* (rows, keys), 1 = visible */
    float scale;                                /* 0: 1 / sqrt(size) */
} attention_options;
tensor attention_layer(tensor q, tensor k, tensor v, attention_options options);
#define attention(q, k, v, ...) attention_layer((q), (k), (v), (attention_options){ .causal = false, ##__VA_ARGS__ })

/* ---- losses (losses.c): a function LOSS(name) of the model's output and the targets gives the loss of each row ---- */
#define LOSS(name) loss_##name
tensor cross_entropy(tensor logits, tensor targets);        /* class axis 1 of images and matrices, the last of text; ignored: -100 */
tensor cross_entropy_dense(tensor logits, tensor targets);
tensor class_weights(tensor logits, tensor targets);        /* target weight of each class, mixed and smoothed: shape of logits */

/* ---- initializers (initializers.c): INITIALIZER(name) gives one element of a new parameter ---- */
typedef enum {
    CONV_WEIGHT, LINEAR_WEIGHT, EMBEDDING_WEIGHT, NORM_WEIGHT, BIAS, NORM_BIAS, LINEAR_BIAS,
    BATCH_NORM_WEIGHT, BATCH_NORM_BIAS,         /* NORM_...: those of the other norms */
} weight_role;
typedef struct {
    weight_role role;
    int fan_in, fan_out;
    float initial;                              /* what the layer would start with otherwise: return it to leave it so */
} weight_info;
#define INITIALIZER(name) initializer_##name
