/* slice -- trains resnet_cifar on synthetic. Written by composer-gen 0.1; change the recipe rather than this file.
 *
 *     generate     composer-gen tests/golden/slice.yaml -o tests/golden/slice.c
 *     build        cc -O3 -march=native -fopenmp -std=gnu11 train.c -o train -lm -ldnnl
 *     model        resnet_cifar {depth: 8, width: 8, num_classes: 10}
 *     data         synthetic {image: [3, 16, 16], num_classes: 10, samples: 70, drop_last: false}, 70 samples to train
 *                  on, 17 to test
 *     run          20 steps of 16 samples in 2 micro-batches, 5 an epoch
 *     precision    fp32
 *     optimizer    decoupled_sgdw {lr: 0.05, momentum: 0.9, dampening: 0, weight_decay: 0.0005, nesterov: false}
 *     schedule     cosine_decay_with_warmup {t_warmup: 4ba, t_max: 1dur, alpha_f: 0, scale_warmup: false}
 *     methods      progressive_resizing {mode: resize, initial_scale: 0.5, finetune_fraction: 0.25, delay_fraction:
 *                  0.25, size_increment: 4, resize_targets: false}
 *                  cutmix {alpha: 1, interpolate_loss: false, uniform_sampling: false}
 *                  label_smoothing {smoothing: 0.1}
 *                  gradient_clipping {clipping_type: adaptive, clipping_threshold: 0.1}
 *                  sam {rho: 0.1, epsilon: 1e-12, interval: 3, redraw: false}
 *                  ema {half_life: 4ba, smoothing: null, ema_start: 0.0dur, update_interval: 2ba}
 *     weights      19954 trained, 336 running statistics
 *     work         1.619 MFLOP forward a sample, 0.07592 GFLOP a step
 *     memory       0.9 MiB of tensors in a step
 *
 * Below: what the runtime offers, the plan, kernels, steps, data, the run; at the end the runtime's text. */

#include <ctype.h>
#include <dnnl.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef float real;

/* ---- what the runtime offers ------------------------------------------------------------------- */

enum { ERROR_LENGTH = 600 };
/* Writes the text and returns false. */
static bool error_text(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct image_set {
    int64_t rows;
    int channels, height, width;
    const unsigned char *pixels;        /* (rows, channels, height, width) */
    const int *labels;
};

static uint64_t random_key;             /* of this run; set by random_seed */
struct random_words { uint32_t word[4]; };
enum { RANDOM_UNIFORM, RANDOM_NORMAL, RANDOM_BETA, RANDOM_INTEGER };
static void random_seed(uint64_t seed);
static struct random_words philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3);
static struct random_words random_at(uint64_t site, int64_t step, int64_t row, int64_t element, uint32_t kind, uint32_t ordinal);

enum {                                  /* exit codes */
    EXIT_USAGE = 2, EXIT_DATA = 3, EXIT_CHECKPOINT = 4, EXIT_DEVICE = 5, EXIT_MEMORY = 6, EXIT_NUMBERS = 7,
    EXIT_SAVE = 8, EXIT_PEER = 9, EXIT_PREEMPTED = 75
};
static void fail(int code, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* malloc that ends the program with exit 6 when there is none; `what` says what for. */
static void *memory_get(size_t bytes, const char *what);

/* Rows first .. first + rows - 1 of an endless set: each pixel lies half way between its class's pattern and noise. */
static struct image_set synthetic_images(int64_t first, int64_t rows, int channels, int height, int width, int classes);

/* Of a clock that nobody sets. */
static double seconds_now(void);

/* "1:02:03", "4:05", "0.3 s"; `text` has room for 32 characters and is returned. */
static const char *duration_text(char *text, double seconds);

/* The shortest decimal number that reads back equal; `text` has room for 32 characters and is returned. */
static const char *number_text(char *text, double value);

/* The folder and all above it; false with errno. */
static bool folder_make(const char *path);

/* One JSON object a line. A line is written whole or not at all; an error is said once and the run goes on. */
struct metrics {
    FILE *file;
    const char *path;
    char line[8192];
    int length;
    bool failed;
};
static void metrics_open(struct metrics *metrics, const char *path, bool append);
static void metrics_begin(struct metrics *metrics);
static void metrics_add(struct metrics *metrics, const char *name, double value);       /* null when not finite */
static void metrics_end(struct metrics *metrics);

struct progress {
    int64_t total, first;
    double start, said, interval;       /* seconds; lines of a log come at least `interval` apart */
    bool bar;
};
/* `first` batches are done already. A bar where standard output is a terminal. */
static void progress_start(struct progress *progress, int64_t first, int64_t total, double interval);
/* Is it time for progress_show? Ask before making its text. */
static bool progress_due(const struct progress *progress, int64_t done);
/* `text` says how things are ("loss 0.31, 912 images/s"). */
static void progress_show(struct progress *progress, int64_t done, const char *text);
/* A line that stays: an evaluation, a saved file. */
static void progress_line(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "  batch size            128" */
static void table_row(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "37.2 GiB"; `text` has room for 32 characters and is returned. */
static const char *bytes_text(char *text, double bytes);

/* Zeroed memory on huge pages where the system has them; exit 6 when the machine can't give that much. Never freed. */
static char *arena_map(size_t bytes);

/* Each thread writes its share first, so that pages lie near the thread that works on them. */
static void touch(char *memory, size_t bytes);

/* Exit 5 with the library's status. */
static void dnnl_check(dnnl_status_t status, const char *doing);

struct conv2d_shape {
    long rows, in_channels, height, width, out_channels, kernel[2], stride[2], before[2], after[2], dilation[2];
    long groups, out_height, out_width; /* [0] height, [1] width; padding before and after; dilation 1: none */
};
/* One direction: made at its first call. Weights are reordered on every call when the library wants them otherwise. */
struct dnnl_way {
    dnnl_primitive_t primitive, reorder;                /* NULL: not made; nothing to reorder */
    dnnl_memory_t image, result, weights, inside;       /* input side, output side, weights as we have them, as it wants them */
};
enum dnnl_direction { DNNL_FORWARD, DNNL_GRAD_INPUT, DNNL_GRAD_WEIGHT };
struct dnnl_conv {
    struct conv2d_shape shape;
    struct dnnl_way forward, grad_input, grad_weight;
};
static void dnnl_conv_setup(struct dnnl_conv *plan, struct conv2d_shape shape);
static void dnnl_conv_make(const struct dnnl_conv *plan, struct dnnl_way *way, enum dnnl_direction direction);
static void dnnl_conv_run(const struct dnnl_way *way, enum dnnl_direction direction, const float *image, const float *weights,
                          const float *result);

static void dnnl_conv_forward(struct dnnl_conv *plan, const float *x, const float *w, float *y);

static void dnnl_conv_grad_input(struct dnnl_conv *plan, const float *dy, const float *w, float *dx);

static void dnnl_conv_grad_weight(struct dnnl_conv *plan, const float *dy, const float *x, float *dw);

/* Convolutions: all three directions. */

/* `batch` products y (rows, columns) = a b over `depth`; a is (rows, depth) or transposed, b (depth, columns) or transposed.
 * a_batch and b_batch lie between the matrices of one operand and the next (0: the same for all). */
static void dnnl_product(const float *a, const float *b, float *y, long batch, long rows, long columns, long depth, long a_batch,
                         long b_batch, bool transpose_a, bool transpose_b);

/* In [0, 1), a multiple of 2^-24: the same in single and double precision. */
static float random_uniform(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

/* In (0, 1) with 52 bits, from two words. */
static double random_double(uint32_t high, uint32_t low);

/* Beta(a, b), also for a and b far below 1. */
static double random_beta(double a, double b, uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

/* In 0 .. below - 1. */
static int64_t random_integer(int64_t below, uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

/* 0 .. count - 1 in random order. */
static void random_permutation(uint64_t site, int64_t step, int64_t row, int64_t count, int *out);

struct tensor_to_write {
    const char *name;
    int rank;
    const long *shape;
    const real *values;
};
/* To a file beside `path`, synced, then renamed: `path` is whole at any moment. Changes the order of the list. */
static bool safetensors_write(const char *path, struct tensor_to_write *tensors, int count, char *error);

enum setting_kind {
    SETTING_TEXT,                       /* const char * */
    SETTING_WHOLE,                      /* int64_t, from 0 */
    SETTING_NUMBER,                     /* double */
    SETTING_TRUTH,                      /* bool: true, false, yes, no, on, off, 1, 0 */
    SETTING_BATCHES,                    /* int64_t: a time in the run as batches: 100ba, 2ep, 0.5dur */
    SETTING_FLAG                        /* bool: the word alone, like --describe */
};
struct setting {
    const char *key;
    enum setting_kind kind;
    void *value;                        /* holds the default */
    const char *help;
};
struct settings_table {
    const char *about;                  /* first line of --help */
    const struct setting *rows;
    int count;
    const char *const *fixed;           /* keys of the recipe that only the generator can change */
    int fixed_count;
    const char *command;                /* how the program was generated: "composer-gen recipe.yaml -o train.c" */
    int64_t batches, batches_per_epoch; /* of the whole run, for times */
};
/* Sets what the command line says. --help prints and ends with 0; wrong arguments, all of them, end with exit 2. */
static void settings_read(const struct settings_table *table, int count, char **arguments);

/* A bijection of 0 .. count - 1, where `place` must lie, another for every seed and epoch; any place costs the same. */
static int64_t shuffle_index(uint64_t seed, int64_t epoch, int64_t place, int64_t count);

/* ---- plan -------------------------------------------------------------------------------------- */

/* Weights: the trained ones, then the running statistics; each row-major as in its file. */
enum {
    conv1_weight = 0, /* (8, 3, 3, 3) */
    bn1_weight = 216, /* (8) */
    bn1_bias = 224, /* (8) */
    layer1_0_conv1_weight = 232, /* (8, 8, 3, 3) */
    layer1_0_bn1_weight = 808, /* (8) */
    layer1_0_bn1_bias = 816, /* (8) */
    layer1_0_conv2_weight = 824, /* (8, 8, 3, 3) */
    layer1_0_bn2_weight = 1400, /* (8) */
    layer1_0_bn2_bias = 1408, /* (8) */
    layer2_0_conv1_weight = 1416, /* (16, 8, 3, 3) */
    layer2_0_bn1_weight = 2568, /* (16) */
    layer2_0_bn1_bias = 2584, /* (16) */
    layer2_0_conv2_weight = 2600, /* (16, 16, 3, 3) */
    layer2_0_bn2_weight = 4904, /* (16) */
    layer2_0_bn2_bias = 4920, /* (16) */
    layer2_0_downsample_0_weight = 4936, /* (16, 8, 1, 1) */
    layer2_0_downsample_1_weight = 5064, /* (16) */
    layer2_0_downsample_1_bias = 5080, /* (16) */
    layer3_0_conv1_weight = 5096, /* (32, 16, 3, 3) */
    layer3_0_bn1_weight = 9704, /* (32) */
    layer3_0_bn1_bias = 9736, /* (32) */
    layer3_0_conv2_weight = 9768, /* (32, 32, 3, 3) */
    layer3_0_bn2_weight = 18984, /* (32) */
    layer3_0_bn2_bias = 19016, /* (32) */
    layer3_0_downsample_0_weight = 19048, /* (32, 16, 1, 1) */
    layer3_0_downsample_1_weight = 19560, /* (32) */
    layer3_0_downsample_1_bias = 19592, /* (32) */
    fc_weight = 19624, /* (10, 32) */
    fc_bias = 19944, /* (10) */
    bn1_running_mean = 19954, /* (8) */
    bn1_running_var = 19962, /* (8) */
    layer1_0_bn1_running_mean = 19970, /* (8) */
    layer1_0_bn1_running_var = 19978, /* (8) */
    layer1_0_bn2_running_mean = 19986, /* (8) */
    layer1_0_bn2_running_var = 19994, /* (8) */
    layer2_0_bn1_running_mean = 20002, /* (16) */
    layer2_0_bn1_running_var = 20018, /* (16) */
    layer2_0_bn2_running_mean = 20034, /* (16) */
    layer2_0_bn2_running_var = 20050, /* (16) */
    layer2_0_downsample_1_running_mean = 20066, /* (16) */
    layer2_0_downsample_1_running_var = 20082, /* (16) */
    layer3_0_bn1_running_mean = 20098, /* (32) */
    layer3_0_bn1_running_var = 20130, /* (32) */
    layer3_0_bn2_running_mean = 20162, /* (32) */
    layer3_0_bn2_running_var = 20194, /* (32) */
    layer3_0_downsample_1_running_mean = 20226, /* (32) */
    layer3_0_downsample_1_running_var = 20258, /* (32) */
    TRAINED = 19954,
    WEIGHTS = 20290,
    TRAINED_TENSORS = 29,
    TENSORS = 47,
};
static real *weights, *gradients;

/* Their names in files. `units`: output units, the rows of axis 0 (1 for vectors). */
static const struct tensor {
    const char *name;
    long at, count, units;
    int rank;
    long shape[6];
} tensors[47] = {
    { "conv1.weight", conv1_weight, 216, 8, 4, { 8, 3, 3, 3 } },
    { "bn1.weight", bn1_weight, 8, 1, 1, { 8 } },
    { "bn1.bias", bn1_bias, 8, 1, 1, { 8 } },
    { "layer1.0.conv1.weight", layer1_0_conv1_weight, 576, 8, 4, { 8, 8, 3, 3 } },
    { "layer1.0.bn1.weight", layer1_0_bn1_weight, 8, 1, 1, { 8 } },
    { "layer1.0.bn1.bias", layer1_0_bn1_bias, 8, 1, 1, { 8 } },
    { "layer1.0.conv2.weight", layer1_0_conv2_weight, 576, 8, 4, { 8, 8, 3, 3 } },
    { "layer1.0.bn2.weight", layer1_0_bn2_weight, 8, 1, 1, { 8 } },
    { "layer1.0.bn2.bias", layer1_0_bn2_bias, 8, 1, 1, { 8 } },
    { "layer2.0.conv1.weight", layer2_0_conv1_weight, 1152, 16, 4, { 16, 8, 3, 3 } },
    { "layer2.0.bn1.weight", layer2_0_bn1_weight, 16, 1, 1, { 16 } },
    { "layer2.0.bn1.bias", layer2_0_bn1_bias, 16, 1, 1, { 16 } },
    { "layer2.0.conv2.weight", layer2_0_conv2_weight, 2304, 16, 4, { 16, 16, 3, 3 } },
    { "layer2.0.bn2.weight", layer2_0_bn2_weight, 16, 1, 1, { 16 } },
    { "layer2.0.bn2.bias", layer2_0_bn2_bias, 16, 1, 1, { 16 } },
    { "layer2.0.downsample.0.weight", layer2_0_downsample_0_weight, 128, 16, 4, { 16, 8, 1, 1 } },
    { "layer2.0.downsample.1.weight", layer2_0_downsample_1_weight, 16, 1, 1, { 16 } },
    { "layer2.0.downsample.1.bias", layer2_0_downsample_1_bias, 16, 1, 1, { 16 } },
    { "layer3.0.conv1.weight", layer3_0_conv1_weight, 4608, 32, 4, { 32, 16, 3, 3 } },
    { "layer3.0.bn1.weight", layer3_0_bn1_weight, 32, 1, 1, { 32 } },
    { "layer3.0.bn1.bias", layer3_0_bn1_bias, 32, 1, 1, { 32 } },
    { "layer3.0.conv2.weight", layer3_0_conv2_weight, 9216, 32, 4, { 32, 32, 3, 3 } },
    { "layer3.0.bn2.weight", layer3_0_bn2_weight, 32, 1, 1, { 32 } },
    { "layer3.0.bn2.bias", layer3_0_bn2_bias, 32, 1, 1, { 32 } },
    { "layer3.0.downsample.0.weight", layer3_0_downsample_0_weight, 512, 32, 4, { 32, 16, 1, 1 } },
    { "layer3.0.downsample.1.weight", layer3_0_downsample_1_weight, 32, 1, 1, { 32 } },
    { "layer3.0.downsample.1.bias", layer3_0_downsample_1_bias, 32, 1, 1, { 32 } },
    { "fc.weight", fc_weight, 320, 10, 2, { 10, 32 } },
    { "fc.bias", fc_bias, 10, 1, 1, { 10 } },
    { "bn1.running_mean", bn1_running_mean, 8, 1, 1, { 8 } },
    { "bn1.running_var", bn1_running_var, 8, 1, 1, { 8 } },
    { "layer1.0.bn1.running_mean", layer1_0_bn1_running_mean, 8, 1, 1, { 8 } },
    { "layer1.0.bn1.running_var", layer1_0_bn1_running_var, 8, 1, 1, { 8 } },
    { "layer1.0.bn2.running_mean", layer1_0_bn2_running_mean, 8, 1, 1, { 8 } },
    { "layer1.0.bn2.running_var", layer1_0_bn2_running_var, 8, 1, 1, { 8 } },
    { "layer2.0.bn1.running_mean", layer2_0_bn1_running_mean, 16, 1, 1, { 16 } },
    { "layer2.0.bn1.running_var", layer2_0_bn1_running_var, 16, 1, 1, { 16 } },
    { "layer2.0.bn2.running_mean", layer2_0_bn2_running_mean, 16, 1, 1, { 16 } },
    { "layer2.0.bn2.running_var", layer2_0_bn2_running_var, 16, 1, 1, { 16 } },
    { "layer2.0.downsample.1.running_mean", layer2_0_downsample_1_running_mean, 16, 1, 1, { 16 } },
    { "layer2.0.downsample.1.running_var", layer2_0_downsample_1_running_var, 16, 1, 1, { 16 } },
    { "layer3.0.bn1.running_mean", layer3_0_bn1_running_mean, 32, 1, 1, { 32 } },
    { "layer3.0.bn1.running_var", layer3_0_bn1_running_var, 32, 1, 1, { 32 } },
    { "layer3.0.bn2.running_mean", layer3_0_bn2_running_mean, 32, 1, 1, { 32 } },
    { "layer3.0.bn2.running_var", layer3_0_bn2_running_var, 32, 1, 1, { 32 } },
    { "layer3.0.downsample.1.running_mean", layer3_0_downsample_1_running_mean, 32, 1, 1, { 32 } },
    { "layer3.0.downsample.1.running_var", layer3_0_downsample_1_running_var, 32, 1, 1, { 32 } },
};

/* train: where its tensors lie in the arena, in reals (* differs between phases) */
enum {
    conv1 = 0, /* (*, 8, *, *) channels last */
    bn1_moments = 243888, /* (2, 8) */
    bn1 = 16384, /* (*, 8, *, *) channels last */
    relu = 32768, /* (*, 8, *, *) channels last */
    layer1_0_conv1 = 49152, /* (*, 8, *, *) channels last */
    layer1_0_bn1_moments = 243904, /* (2, 8) */
    layer1_0_bn1 = 65536, /* (*, 8, *, *) channels last */
    layer1_0_relu = 81920, /* (*, 8, *, *) channels last */
    layer1_0_conv2 = 98304, /* (*, 8, *, *) channels last */
    layer1_0_bn2_moments = 243920, /* (2, 8) */
    layer1_0_bn2 = 114688, /* (*, 8, *, *) channels last */
    layer1_0_residual = 131072, /* (*, 8, *, *) channels last */
    layer1_0_relu_2 = 114688, /* (*, 8, *, *) channels last */
    layer2_0_conv1 = 163840, /* (*, 16, *, *) channels last */
    layer2_0_bn1_moments = 243664, /* (2, 16) */
    layer2_0_bn1 = 172032, /* (*, 16, *, *) channels last */
    layer2_0_relu = 180224, /* (*, 16, *, *) channels last */
    layer2_0_conv2 = 188416, /* (*, 16, *, *) channels last */
    layer2_0_bn2_moments = 243696, /* (2, 16) */
    layer2_0_bn2 = 147456, /* (*, 16, *, *) channels last */
    layer2_0_downsample_0 = 155648, /* (*, 16, *, *) channels last */
    layer2_0_downsample_1_moments = 243728, /* (2, 16) */
    layer2_0_downsample_1 = 196608, /* (*, 16, *, *) channels last */
    layer2_0_residual = 205824, /* (*, 16, *, *) channels last */
    layer2_0_relu_2 = 147456, /* (*, 16, *, *) channels last */
    layer3_0_conv1 = 222208, /* (*, 32, *, *) channels last */
    layer3_0_bn1_moments = 243600, /* (2, 32) */
    layer3_0_bn1 = 226304, /* (*, 32, *, *) channels last */
    layer3_0_relu = 230400, /* (*, 32, *, *) channels last */
    layer3_0_conv2 = 196608, /* (*, 32, *, *) channels last */
    layer3_0_bn2_moments = 205312, /* (2, 32) */
    layer3_0_bn2 = 200704, /* (*, 32, *, *) channels last */
    layer3_0_downsample_0 = 214016, /* (*, 32, *, *) channels last */
    layer3_0_downsample_1_moments = 205376, /* (2, 32) */
    layer3_0_downsample_1 = 218112, /* (*, 32, *, *) channels last */
    layer3_0_residual = 234496, /* (*, 32, *, *) channels last */
    layer3_0_relu_2 = 200704, /* (*, 32, *, *) channels last */
    global_avg_pool2d_mean = 204800, /* (*, 32, 1, 1) channels last */
    fc_product = 200704, /* (*, 10) */
    fc = 243520, /* (*, 10) */
    loss_cross_entropy = 200704, /* (*) */
    loss_count = 200720, /* (*) */
    loss_count_2 = 200736, /* (1) */
    loss_sum = 200720, /* (*) */
    loss_sum_2 = 200704, /* (1) */
    loss = 243936, /* () */
    d_loss = 200704, /* () */
    d_loss_sum = 200784, /* (*) */
    d_loss_cross_entropy = 200704, /* (*, 10) */
    d_fc = 243952, /* (1, 10) */
    d_fc_product = 205056, /* (*, 32) */
    d_fc_product_2 = 243200, /* (10, 32) */
    d_global_avg_pool2d_mean = 204800, /* () */
    d_global_avg_pool2d_mean_2 = 200704, /* (*, 32, *, *) */
    d_layer3_0_relu_2 = 238592, /* (*, 32, *, *) channels last */
    d_layer3_0_downsample_1 = 204800, /* (2, 32) */
    d_layer3_0_downsample_1_2 = 200704, /* (*, 32, *, *) channels last */
    d_layer3_0_downsample_1_3 = 243760, /* (1, 32) */
    d_layer3_0_downsample_1_4 = 243792, /* (1, 32) */
    d_layer3_0_downsample_0 = 214016, /* (*, 16, *, *) channels last */
    d_layer3_0_downsample_0_2 = 242688, /* (32, 16, 1, 1) */
    d_layer3_0_bn2 = 200704, /* (2, 32) */
    d_layer3_0_bn2_2 = 234496, /* (*, 32, *, *) channels last */
    d_layer3_0_bn2_3 = 243824, /* (1, 32) */
    d_layer3_0_bn2_4 = 243856, /* (1, 32) */
    d_layer3_0_conv2 = 238592, /* (*, 32, *, *) channels last */
    d_layer3_0_conv2_2 = 196608, /* (32, 32, 3, 3) */
    d_layer3_0_relu = 230400, /* (*, 32, *, *) channels last */
    d_layer3_0_bn1 = 226304, /* (2, 32) */
    d_layer3_0_bn1_2 = 238592, /* (*, 32, *, *) channels last */
    d_layer3_0_bn1_3 = 243600, /* (1, 32) */
    d_layer3_0_bn1_4 = 243632, /* (1, 32) */
    d_layer3_0_conv1 = 222208, /* (*, 16, *, *) channels last */
    d_layer3_0_conv1_2 = 230400, /* (*, 16, *, *) channels last */
    d_layer3_0_conv1_3 = 222208, /* (32, 16, 3, 3) */
    d_layer2_0_relu_2 = 214016, /* (*, 16, *, *) channels last */
    d_layer2_0_downsample_1 = 147456, /* (2, 16) */
    d_layer2_0_downsample_1_2 = 205824, /* (*, 16, *, *) channels last */
    d_layer2_0_downsample_1_3 = 226976, /* (1, 16) */
    d_layer2_0_downsample_1_4 = 226992, /* (1, 16) */
    d_layer2_0_downsample_0 = 147456, /* (*, 8, *, *) channels last */
    d_layer2_0_downsample_0_2 = 226816, /* (16, 8, 1, 1) */
    d_layer2_0_bn2 = 226944, /* (2, 16) */
    d_layer2_0_bn2_2 = 205824, /* (*, 16, *, *) channels last */
    d_layer2_0_bn2_3 = 216320, /* (1, 16) */
    d_layer2_0_bn2_4 = 216336, /* (1, 16) */
    d_layer2_0_conv2 = 188416, /* (*, 16, *, *) channels last */
    d_layer2_0_conv2_2 = 214016, /* (16, 16, 3, 3) */
    d_layer2_0_relu = 180224, /* (*, 16, *, *) channels last */
    d_layer2_0_bn1 = 172032, /* (2, 16) */
    d_layer2_0_bn1_2 = 205824, /* (*, 16, *, *) channels last */
    d_layer2_0_bn1_3 = 216352, /* (1, 16) */
    d_layer2_0_bn1_4 = 216368, /* (1, 16) */
    d_layer2_0_conv1 = 163840, /* (*, 8, *, *) channels last */
    d_layer2_0_conv1_2 = 180224, /* (*, 8, *, *) channels last */
    d_layer2_0_conv1_3 = 147456, /* (16, 8, 3, 3) */
    d_layer1_0_relu_2 = 114688, /* (*, 8, *, *) channels last */
    d_layer1_0_bn2 = 148608, /* (2, 8) */
    d_layer1_0_bn2_2 = 131072, /* (*, 8, *, *) channels last */
    d_layer1_0_bn2_3 = 149184, /* (1, 8) */
    d_layer1_0_bn2_4 = 149200, /* (1, 8) */
    d_layer1_0_conv2 = 98304, /* (*, 8, *, *) channels last */
    d_layer1_0_conv2_2 = 148608, /* (8, 8, 3, 3) */
    d_layer1_0_relu = 81920, /* (*, 8, *, *) channels last */
    d_layer1_0_bn1 = 98304, /* (2, 8) */
    d_layer1_0_bn1_2 = 65536, /* (*, 8, *, *) channels last */
    d_layer1_0_bn1_3 = 98320, /* (1, 8) */
    d_layer1_0_bn1_4 = 98336, /* (1, 8) */
    d_layer1_0_conv1 = 49152, /* (*, 8, *, *) channels last */
    d_layer1_0_conv1_2 = 81920, /* (*, 8, *, *) channels last */
    d_layer1_0_conv1_3 = 49152, /* (8, 8, 3, 3) */
    d_relu = 32768, /* (*, 8, *, *) channels last */
    d_bn1 = 49728, /* (2, 8) */
    d_bn1_2 = 16384, /* (*, 8, *, *) channels last */
    d_bn1_3 = 224, /* (1, 8) */
    d_bn1_4 = 240, /* (1, 8) */
    d_conv1 = 0, /* (8, 3, 3, 3) */
};
static struct dnnl_conv conv_3x3_3_8_plan[6];
static struct dnnl_conv conv_3x3_8_8_plan[6];
static struct dnnl_conv conv_3x3_8_16_plan[6];
static struct dnnl_conv conv_3x3_16_16_plan[6];
static struct dnnl_conv conv_1x1_8_16_plan[6];
static struct dnnl_conv conv_3x3_16_32_plan[6];
static struct dnnl_conv conv_3x3_32_32_plan[6];
static struct dnnl_conv conv_1x1_16_32_plan[6];

/* What differs between the 6 phases of train. */
static const struct train_phase {
    long phase;
    long rows_2;
    long height;
    long block;
    long last_count;
    long elements;
    long height_2;
    long block_2;
    long last_count_2;
    long elements_2;
    long height_3;
    long block_3;
    long last_count_3;
    long elements_3;
    long stride;
    long block_4;
} train_phases[6] = {
    { 0, 8, 8, 64, 512, 4096, 4, 16, 128, 2048, 2, 4, 32, 1024, 80, 256 },
    { 1, 3, 8, 64, 192, 1536, 4, 16, 48, 768, 2, 4, 12, 384, 30, 96 },
    { 2, 8, 12, 144, 1152, 9216, 6, 36, 288, 4608, 3, 9, 72, 2304, 80, 256 },
    { 3, 3, 12, 144, 432, 3456, 6, 36, 108, 1728, 3, 9, 27, 864, 30, 96 },
    { 4, 8, 16, 256, 2048, 16384, 8, 64, 512, 8192, 4, 16, 128, 4096, 80, 256 },
    { 5, 3, 16, 256, 768, 6144, 8, 64, 192, 3072, 4, 16, 48, 1536, 30, 96 },
};
static double metrics[4]; /* sums over the test set */

/* evaluate: where its tensors lie in the arena, in reals (* differs between phases) */
enum {
    evaluate_conv1 = 0, /* (*, 8, 16, 16) channels last */
    evaluate_bn1_moments = 65536, /* (2, 8) */
    evaluate_bn1 = 32768, /* (*, 8, 16, 16) channels last */
    evaluate_relu = 0, /* (*, 8, 16, 16) channels last */
    evaluate_layer1_0_conv1 = 32768, /* (*, 8, 16, 16) channels last */
    evaluate_layer1_0_bn1_moments = 98304, /* (2, 8) */
    evaluate_layer1_0_bn1 = 65536, /* (*, 8, 16, 16) channels last */
    evaluate_layer1_0_relu = 32768, /* (*, 8, 16, 16) channels last */
    evaluate_layer1_0_conv2 = 65536, /* (*, 8, 16, 16) channels last */
    evaluate_layer1_0_bn2_moments = 98304, /* (2, 8) */
    evaluate_layer1_0_bn2 = 32768, /* (*, 8, 16, 16) channels last */
    evaluate_layer1_0_residual = 65536, /* (*, 8, 16, 16) channels last */
    evaluate_layer1_0_relu_2 = 0, /* (*, 8, 16, 16) channels last */
    evaluate_layer2_0_conv1 = 32768, /* (*, 16, 8, 8) channels last */
    evaluate_layer2_0_bn1_moments = 65536, /* (2, 16) */
    evaluate_layer2_0_bn1 = 49152, /* (*, 16, 8, 8) channels last */
    evaluate_layer2_0_relu = 32768, /* (*, 16, 8, 8) channels last */
    evaluate_layer2_0_conv2 = 49152, /* (*, 16, 8, 8) channels last */
    evaluate_layer2_0_bn2_moments = 65536, /* (2, 16) */
    evaluate_layer2_0_bn2 = 32768, /* (*, 16, 8, 8) channels last */
    evaluate_layer2_0_downsample_0 = 49152, /* (*, 16, 8, 8) channels last */
    evaluate_layer2_0_downsample_1_moments = 16384, /* (2, 16) */
    evaluate_layer2_0_downsample_1 = 0, /* (*, 16, 8, 8) channels last */
    evaluate_layer2_0_residual = 16384, /* (*, 16, 8, 8) channels last */
    evaluate_layer2_0_relu_2 = 0, /* (*, 16, 8, 8) channels last */
    evaluate_layer3_0_conv1 = 16384, /* (*, 32, 4, 4) channels last */
    evaluate_layer3_0_bn1_moments = 32768, /* (2, 32) */
    evaluate_layer3_0_bn1 = 24576, /* (*, 32, 4, 4) channels last */
    evaluate_layer3_0_relu = 16384, /* (*, 32, 4, 4) channels last */
    evaluate_layer3_0_conv2 = 24576, /* (*, 32, 4, 4) channels last */
    evaluate_layer3_0_bn2_moments = 32768, /* (2, 32) */
    evaluate_layer3_0_bn2 = 16384, /* (*, 32, 4, 4) channels last */
    evaluate_layer3_0_downsample_0 = 24576, /* (*, 32, 4, 4) channels last */
    evaluate_layer3_0_downsample_1_moments = 8192, /* (2, 32) */
    evaluate_layer3_0_downsample_1 = 0, /* (*, 32, 4, 4) channels last */
    evaluate_layer3_0_residual = 8192, /* (*, 32, 4, 4) channels last */
    evaluate_layer3_0_relu_2 = 0, /* (*, 32, 4, 4) channels last */
    evaluate_global_avg_pool2d_mean = 8192, /* (*, 32, 1, 1) channels last */
    evaluate_fc_product = 0, /* (*, 10) */
    evaluate_fc = 160, /* (*, 10) */
    evaluate_loss_cross_entropy = 0, /* (*) */
    evaluate_metric_loss = 16, /* (*) */
    evaluate_metric_loss_2 = 0, /* (1) */
    evaluate_metric_count = 16, /* (*) */
    evaluate_metric_count_2 = 32, /* (1) */
    evaluate_metric_rank = 16, /* (*) int */
    evaluate_metric_correct = 48, /* (*) */
    evaluate_metric_correct_2 = 64, /* (1) */
    evaluate_metric_top5 = 48, /* (*) */
    evaluate_metric_top5_2 = 16, /* (1) */
};
static struct dnnl_conv conv_3x3_3_8_plan_2[2];
static struct dnnl_conv conv_3x3_8_8_plan_2[2];
static struct dnnl_conv conv_3x3_8_16_plan_2[2];
static struct dnnl_conv conv_3x3_16_16_plan_2[2];
static struct dnnl_conv conv_1x1_8_16_plan_2[2];
static struct dnnl_conv conv_3x3_16_32_plan_2[2];
static struct dnnl_conv conv_3x3_32_32_plan_2[2];
static struct dnnl_conv conv_1x1_16_32_plan_2[2];

/* What differs between the 2 phases of evaluate. */
static const struct evaluate_phase {
    long phase;
    long rows_2;
    long elements;
    long elements_2;
    long elements_3;
} evaluate_phases[2] = {
    { 0, 16, 32768, 16384, 8192 },
    { 1, 1, 2048, 1024, 512 },
};
static real *decoupled_sgdw_velocity; /* running sum of gradients */
static real *sam_here; /* the weight before the ascent */
static real *ema_average; /* running mean of the weights */
static bool ema_average_exists;

/* Kinds of batches: rows fetched and trained on, geometry, first weight and tensor that learn,
 * micro-batches. */
static const struct kind {
    long stored_rows, rows, columns, length, height, width;
    bool crop;
    long candidates;
    int score_phase, topology;
    long first_trained;
    int first_tensor, part_count;
    struct { int count, phase; long rows; } parts[2];
} kinds[6] = {
    { 16, 16, 0, 0, 8, 8, 0, 0, -1, 0, 0, 0, 1, { { 2, 0, 8 } } },
    { 6, 6, 0, 0, 8, 8, 0, 0, -1, 0, 0, 0, 1, { { 2, 1, 3 } } },
    { 16, 16, 0, 0, 12, 12, 0, 0, -1, 0, 0, 0, 1, { { 2, 2, 8 } } },
    { 6, 6, 0, 0, 12, 12, 0, 0, -1, 0, 0, 0, 1, { { 2, 3, 3 } } },
    { 16, 16, 0, 0, 16, 16, 0, 0, -1, 0, 0, 0, 1, { { 2, 4, 8 } } },
    { 6, 6, 0, 0, 16, 16, 0, 0, -1, 0, 0, 0, 1, { { 2, 5, 3 } } },
};

/* The run: so many batches of a kind, then the next. */
static const struct stretch { long batches; int kind; } run[10] = {
    { 4, 0 },
    { 1, 1 },
    { 3, 0 },
    { 1, 2 },
    { 1, 3 },
    { 3, 2 },
    { 1, 4 },
    { 1, 5 },
    { 4, 4 },
    { 1, 5 },
};
enum { STEPS = 20, BATCHES_PER_EPOCH = 5, STRETCHES = 10 };

/* The micro-batch that a step reads, and what it gives back. */
static struct {
    const real *images;
    const int *targets;
    const int *partner_targets;
    real share; /* of this micro-batch in the loss of its batch */
    bool is_first;
    long first_row;
    double loss;
} batch;
static real *batch_images;
static int *batch_targets;
static real *mixed_images;
static int *mixed_targets, *permutation;
static struct image_set train_set, test_set;

/* Normalisation: (byte / 255 - mean) / deviation, a table a channel. */
static real shade[3][256];

/* What the command line may change: key=value. Everything else is decided. */
static struct {
    const char *root;
    const char *run_folder;
    int64_t seed;
    int64_t stop_after;
    int64_t eval_interval;
    int64_t log_interval;
    bool save;
    bool describe;
} settings = {
    .root = "tests/golden",
    .run_folder = "runs/slice",
    .seed = 17,
    .stop_after = STEPS,
    .eval_interval = 5,
    .log_interval = 1,
    .save = true,
};
static struct metrics log_file;
static struct progress progress;
static real *arena; /* tensors of a step, at the offsets above */
enum { ARENA = 243968, RESERVED = 363632 }; /* reals */

/* Where the run is. */
static struct {
    long step;
    long key; /* of random values: the step, its complement when drawn again */
    long epoch;
    long batch_in_epoch;
    long first_trained;
    long first_tensor;
    double rate;
    long image_height;
    long image_width;
} now;

/* Random values of this batch or micro-batch. */
static struct {
    long cutmix_cut_bbox_2;
    long cutmix_cut_bbox_0;
    long cutmix_cut_bbox_3;
    long cutmix_cut_bbox_1;
} draw;

/* Sums and maxima over gradients and weights. */
static struct {
    double sam_squares;
} fold;

/* What methods remember between steps. */
static struct {
    long ema_begun;
} state;

/* ---- kernels ----------------------------------------------------------------------------------- */

static inline real real_of_bits(int32_t bits)
{
    real x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int32_t bits_of_real(real x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* e^x, 1.1 ulp: 2^n p(r) with n = round(x log2 e), r = x - n log 2; 2^n as two factors, so that tiny results are right. */
static inline real real_exp(real x)
{
    const real shift = 12582912.0f;             /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;
    const real shifted = x * 1.44269504f + shift, n = shifted - shift;
    const int32_t whole = bits_of_real(shifted) - bits_of_real(shift), half = whole >> 1;
    const real r = x - n * 0.693145752f - n * 1.42860677e-6f;
    real p = 1.98756912e-4f;
    p = p * r + 1.39819994e-3f;
    p = p * r + 8.33345205e-3f;
    p = p * r + 4.16657962e-2f;
    p = p * r + 1.66666657e-1f;
    p = p * r + 0.5f;
    p = p * (r * r) + r + 1;
    return p * real_of_bits((half + 127) << 23) * real_of_bits((whole - half + 127) << 23);
}

/* The largest of a row, sixteen at a time (compilers don't vectorise a lone maximum), and the sum of exp(x - largest). */
static inline real row_largest(const real *x, long n)
{
    real lane[16], most = x[0];
    long i = 0;
    for (long j = 0; j < 16; j++)
        lane[j] = x[0];
    for (; i + 16 <= n; i += 16)
#pragma omp simd
        for (long j = 0; j < 16; j++)
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (long j = 0; j < 16; j++)
        most = lane[j] > most ? lane[j] : most;
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* Blocks add up in the program's precision, which vectorises, then in double. */
static inline double row_exp_sum(const real *x, long n, real most)
{
    double sum = 0;
    for (long from = 0; from < n; from += 256) {
        const long end = from + 256 < n ? from + 256 : n;
        real part = 0;
#pragma omp simd reduction(+ : part)
        for (long i = from; i < end; i++)
            part += real_exp(x[i] - most);
        sum += part;
    }
    return sum;
}

/* The smaller and the larger of two; b where neither is. */
static inline real real_min(real a, real b)
{
    return a < b ? a : b;
}

static inline real real_max(real a, real b)
{
    return a > b ? a : b;
}

static inline long long_min(long a, long b)
{
    return a < b ? a : b;
}

static inline long long_max(long a, long b)
{
    return a > b ? a : b;
}

/* y[i] = value */
static void fill(real *y, long count, real value)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++)
        y[i] = value;
}

/* What a micro-batch adds to a gradient: the first one writes, the others add. */
static void accumulate(real *sum, const real *part, long count, bool first)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++)
        sum[i] = first ? part[i] : sum[i] + part[i];
}

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

enum { COLUMN_TASKS = 64, COLUMN_WIDTH = 256 };

/* Two sums a column over rows [first, last), columns [from, from + width), in double. */
typedef void column_terms(const void *context, long first, long last, long from, long width, double *a, double *b);

/* (rows, columns) -> a, b (columns). Blocks of columns are cut into chunks of rows so that there are about 64 tasks,
 * whatever the number of threads; chunks add up in order. */
static void column_sums(column_terms *terms, const void *context, long rows, long columns, double *a, double *b)
{
    const long blocks = (columns + COLUMN_WIDTH - 1) / COLUMN_WIDTH;
    const long chunks = blocks < COLUMN_TASKS ? COLUMN_TASKS / blocks : 1, tasks = blocks * chunks;
    for (long i = 0; i < columns; i++)
        a[i] = b[i] = 0;
    for (long start = 0; start < tasks; start += COLUMN_TASKS) {
        double part[COLUMN_TASKS][2][COLUMN_WIDTH];
        const long end = tasks - start < COLUMN_TASKS ? tasks - start : COLUMN_TASKS;
#pragma omp parallel for
        for (long task = 0; task < end; task++) {
            const long block = (start + task) / chunks, chunk = (start + task) % chunks, from = block * COLUMN_WIDTH;
            for (long i = 0; i < COLUMN_WIDTH; i++)
                part[task][0][i] = part[task][1][i] = 0;
            terms(context, rows * chunk / chunks, rows * (chunk + 1) / chunks, from,
                  columns - from < COLUMN_WIDTH ? columns - from : COLUMN_WIDTH, part[task][0], part[task][1]);
        }
        for (long task = 0; task < end; task++)
            for (long i = 0, at = (start + task) / chunks * COLUMN_WIDTH; i < COLUMN_WIDTH && at + i < columns; i++)
                a[at + i] += part[task][0][i], b[at + i] += part[task][1][i];
    }
}

/* Rows [first, last) of piece number `piece`. */
static void batch_piece(long rows, long pieces, long piece, long *first, long *last)
{
    const long each = (rows + pieces - 1) / pieces;
    *first = piece * each < rows ? piece * each : rows;
    *last = *first + each < rows ? *first + each : rows;
}

typedef struct moment_pass {
    const real *x;
    long channels;
} moment_pass;

/* Sums of x - x0 and its square, x0 the channel's first value: no cancellation where the mean is large. Four rows at a time
 * add up in the program's precision, then in double. */
static void moment_terms(const void *context, long first, long last, long from, long width, double *sum, double *square)
{
    const moment_pass *pass = context;
    const long C = pass->channels;
    const real *x0 = pass->x + from;
    long k = first;
    for (; k + 4 <= last; k += 4) {
        const real *x = pass->x + k * C + from;
#pragma omp simd
        for (long c = 0; c < width; c++) {
            const real d0 = x[c] - x0[c], d1 = x[c + C] - x0[c], d2 = x[c + 2 * C] - x0[c], d3 = x[c + 3 * C] - x0[c];
            sum[c] += (d0 + d1) + (d2 + d3);
            square[c] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
        }
    }
    for (; k < last; k++)
        for (long c = 0; c < width; c++) {
            const real d = pass->x[k * C + from + c] - x0[c];
            sum[c] += d;
            square[c] += d * d;
        }
}

static void batch_moments(const real *x, real *moments, long rows, long pixels, long channels, long pieces)
{
    double sum[channels], square[channels];
    for (long piece = 0; piece < pieces; piece++) {
        long first, last;
        batch_piece(rows, pieces, piece, &first, &last);
        const moment_pass pass = { x + first * pixels * channels, channels };
        const double count = (double)((last - first) * pixels);
        column_sums(moment_terms, &pass, (last - first) * pixels, channels, sum, square);
        for (long c = 0; c < channels; c++) {
            const double mean = sum[c] / count, variance = square[c] / count - mean * mean;
            moments[piece * channels + c] = (real)(pass.x[c] + mean);
            moments[(pieces + piece) * channels + c] = (real)(variance > 0 ? variance : 0);
        }
    }
}

/* y = xhat * weight + bias; without weight and bias (NULL): 1 and 0 */
static void batch_normalize(const real *x, const real *moments, const real *weight, const real *bias, real *y, long rows,
                            long pixels, long channels, long pieces, real epsilon)
{
    real scale[channels], shift[channels];
    for (long piece = 0; piece < pieces; piece++) {
        const real *mean = moments + piece * channels, *variance = mean + pieces * channels;
        long first, last;
        batch_piece(rows, pieces, piece, &first, &last);
        for (long c = 0; c < channels; c++) {
            scale[c] = (real)((weight ? weight[c] : 1) / sqrt((double)variance[c] + epsilon));
            shift[c] = bias ? bias[c] : 0;
        }
#pragma omp parallel for
        for (long k = first * pixels; k < last * pixels; k++)
#pragma omp simd
            for (long c = 0; c < channels; c++)
                y[k * channels + c] = (x[k * channels + c] - mean[c]) * scale[c] + shift[c];
    }
}

typedef struct gradient_rows {
    const real *dy, *x, *mean;
    long channels;
} gradient_rows;

/* Sums of dy and dy (x - mean). */
static void gradient_terms(const void *context, long first, long last, long from, long width, double *sum, double *product)
{
    const gradient_rows *pass = context;
    const long C = pass->channels;
    const real *mean = pass->mean + from;
    long k = first;
    for (; k + 4 <= last; k += 4) {
        const real *x = pass->x + k * C + from, *dy = pass->dy + k * C + from;
#pragma omp simd
        for (long c = 0; c < width; c++) {
            sum[c] += (dy[c] + dy[c + C]) + (dy[c + 2 * C] + dy[c + 3 * C]);
            product[c] += (dy[c] * (x[c] - mean[c]) + dy[c + C] * (x[c + C] - mean[c]))
                        + (dy[c + 2 * C] * (x[c + 2 * C] - mean[c]) + dy[c + 3 * C] * (x[c + 3 * C] - mean[c]));
        }
    }
    for (; k < last; k++)
        for (long c = 0; c < width; c++) {
            const real dy = pass->dy[k * C + from + c];
            sum[c] += dy;
            product[c] += dy * (pass->x[k * C + from + c] - mean[c]);
        }
}

/* Of one piece: sum dy and sum dy xhat of each channel. */
static void batch_gradient_sums(const real *dy, const real *x, const real *moments, double *sum, double *product, long rows,
                                long pixels, long channels, long pieces, long piece, real epsilon)
{
    const real *mean = moments + piece * channels, *variance = mean + pieces * channels;
    long first, last;
    batch_piece(rows, pieces, piece, &first, &last);
    const gradient_rows pass = { dy + first * pixels * channels, x + first * pixels * channels, mean, channels };
    column_sums(gradient_terms, &pass, (last - first) * pixels, channels, sum, product);
    for (long c = 0; c < channels; c++)
        product[c] /= sqrt((double)variance[c] + epsilon);
}

/* sums = sum dy and sum dy xhat of each group */
static void batch_normalize_grad_sums(const real *dy, const real *x, const real *moments, real *sums, long rows, long pixels,
                                      long channels, long pieces, real epsilon)
{
    double sum[channels], product[channels];
    for (long piece = 0; piece < pieces; piece++) {
        batch_gradient_sums(dy, x, moments, sum, product, rows, pixels, channels, pieces, piece, epsilon);
        for (long c = 0; c < channels; c++) {
            sums[piece * channels + c] = (real)sum[c];
            sums[(pieces + piece) * channels + c] = (real)product[c];
        }
    }
}

/* dx = weight / deviation * (dy - mean of dy - xhat * mean of dy xhat) */
static void batch_normalize_grad(const real *dy, const real *x, const real *moments, const real *sums, const real *weight,
                                 real *dx, long rows, long pixels, long channels, long pieces, real epsilon)
{
    real scale[channels], steady[channels], slope[channels];
    for (long piece = 0; piece < pieces; piece++) {
        const real *mean = moments + piece * channels, *variance = mean + pieces * channels;
        const real *sum = sums + piece * channels, *product = sum + pieces * channels;
        long first, last;
        batch_piece(rows, pieces, piece, &first, &last);
        const double count = (double)((last - first) * pixels);
        for (long c = 0; c < channels; c++) {
            const double inverse = 1 / sqrt((double)variance[c] + epsilon);
            scale[c] = (real)((weight ? weight[c] : 1) * inverse);
            steady[c] = (real)(sum[c] / count);
            slope[c] = (real)(inverse * product[c] / count);
        }
#pragma omp parallel for
        for (long k = first * pixels; k < last * pixels; k++)
#pragma omp simd
            for (long c = 0; c < channels; c++)
                dx[k * channels + c] = scale[c] * (dy[k * channels + c] - steady[c] - (x[k * channels + c] - mean[c]) * slope[c]);
    }
}

/* updated = running moved by `momentum` towards each piece's mean, or its unbiased variance, one after another */
static void running_update(const real *running, const real *moments, real *updated, long channels, long pieces, bool is_variance,
                           real momentum, long count, long last_count)
{
    for (long c = 0; c < channels; c++) {
        double value = running[c];
        for (long piece = 0; piece < pieces; piece++) {
            const long n = piece + 1 < pieces ? count : last_count;
            const double unbiased = is_variance && n > 1 ? (double)n / (double)(n - 1) : 1;
            value += momentum * (unbiased * moments[(is_variance * pieces + piece) * channels + c] - value);
        }
        updated[c] = (real)value;
    }
}

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

/* x (outer, count, inner) -> y (outer, inner): the mean over the middle */
static void reduce_mean(const real *x, real *y, long outer, long count, long inner)
{
    reduce_sum(x, y, outer, count, inner);
#pragma omp parallel for simd
    for (long i = 0; i < outer * inner; i++)
        y[i] /= (real)count;
}

/* rank (rows) = how many classes score higher than the row's own (nan scores higher); an ignored row gets `classes` */
static void target_rank(const real *logits, const int *class, int *rank, long rows, long classes, int ignore)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes;
        int higher = class[k] == ignore ? (int)classes : 0;
        for (long c = 0; c < classes && class[k] != ignore; c++)
            higher += c != class[k] && !(row[c] <= row[class[k]]);
        rank[k] = higher;
    }
}

/* ---- kernels of this model --------------------------------------------------------------------- */

static void initial(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = -0.19245008972987526f + 0.3849001794597505f * (real)random_uniform(site, 0, 0, i, 0);
}

static void initial_2(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = -0.11785113019775793f + 0.23570226039551587f * (real)random_uniform(site, 0, 0, i, 0);
}

static void initial_3(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = -0.08333333333333333f + 0.16666666666666666f * (real)random_uniform(site, 0, 0, i, 0);
}

static void initial_4(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = -0.35355339059327373f + 0.7071067811865475f * (real)random_uniform(site, 0, 0, i, 0);
}

static void initial_5(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = -0.05892556509887897f + 0.11785113019775793f * (real)random_uniform(site, 0, 0, i, 0);
}

static void initial_6(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = -0.25f + 0.5f * (real)random_uniform(site, 0, 0, i, 0);
}

static void initial_7(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = -0.17677669529663687f + 0.35355339059327373f * (real)random_uniform(site, 0, 0, i, 0);
}

/* max(in0, 0.0) */
static void relu_each(const real *x, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = real_max(x[i], 0.0f);
    }
}

/* add(in0, in1) */
static void residual_each(const real *x1, const real *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x1[i] + x2[i];
    }
}

/* add(in0, in1) */
static void fc_each(const real *x1, const real *x2, real *y, long A, long B)
{
#pragma omp parallel for
    for (long a = 0; a < A; a++)
        for (long b = 0; b < B; b++) {
            const long i = a * B + b;
            y[i] = x1[i] + x2[b];
        }
}

/* loss = sum over classes of weight * (log of the sum of exp(x) - x) */
static void cross_entropy(const real *logits, const int *class,
                          const int *partner,
                          real *loss, long rows, long classes,
                          real own,
                          real mixed, real whole,
                          real rest,
                          int ignore)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes;
        if (class[k] == ignore) {
            loss[k] = 0;
            continue;
        }
        const real most = row_largest(row, classes);
        const double norm = most + log(row_exp_sum(row, classes, most)), alone = norm - row[class[k]];
        double value = alone;
        value = alone * own;
        double others = (double)classes * norm - alone;
        for (long c = 0; c < classes; c++)
            others -= row[c];
        if (partner[k] == class[k]) {
            value = alone * whole;
        } else if (partner[k] != ignore) {
            value += (norm - row[partner[k]]) * mixed;
            others -= norm - row[partner[k]];
        }
        value += others * rest;
        loss[k] = (real)value;
    }
}

/* select(eq(in0i, -100), 0.0, 1.0) */
static void count_each(const int *x, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x[i] == -100 ? 0.0f : 1.0f;
    }
}

/* select(eq(in1i, -100), 0.0, in0) */
static void sum_each(const real *x1, const int *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x2[i] == -100 ? 0.0f : x1[i];
    }
}

/* div(in0, max(in1, 1.0)) */
static void loss_each(const real *x1, const real *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x1[i] / real_max(x2[i], 1.0f);
    }
}

/* mul(in0, div(1.0, max(in1, 1.0))) */
static void d_loss_each(const real *x1, const real *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x1[i] * (1.0f / real_max(x2[i], 1.0f));
    }
}

/* mul(in0, select(eq(in1i, -100), 0.0, 1.0)) */
static void d_sum_each(const real *x1, const int *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x1[0] * (x2[i] == -100 ? 0.0f : 1.0f);
    }
}

/* dlogits = drow * (softmax * sum of the weights - weight) */
static void cross_entropy_grad(const real *logits, const int *class,
                               const int *partner,
                               const real *drow, real *dlogits, long rows, long classes,
                               real own,
                               real mixed, real whole,
                               real rest,
                               int ignore)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes;
        real *to = dlogits + k * classes, weight = 1, total = 1;
        if (class[k] == ignore) {
            for (long c = 0; c < classes; c++)
                to[c] = 0;
            continue;
        }
        const real most = row_largest(row, classes);
        const double sum = row_exp_sum(row, classes, most);
        weight = own;
        const bool two = partner[k] != class[k] && partner[k] != ignore;
        weight = partner[k] == class[k] ? whole : own;
        total = weight;
        total += two ? mixed : 0;
        total += rest * (real)(classes - (two ? 2 : 1));
        const real scale = (real)(drow[k] * total / sum);
        for (long c = 0; c < classes; c++)
            to[c] = scale * real_exp(row[c] - most);
        for (long c = 0; c < classes; c++)
            to[c] -= drow[k] * rest;
        to[class[k]] -= drow[k] * (weight - rest);
        if (two)
            to[partner[k]] -= drow[k] * (mixed - rest);
    }
}

/* div(in0, in1) */
static void d_mean_each(const real *x1, const real *x2, real *y, long NC, long HW)
{
#pragma omp parallel for
    for (long nc = 0; nc < NC; nc++)
        for (long hw = 0; hw < HW; hw++) {
            const long i = nc * HW + hw;
            y[i] = x1[nc] / x2[0];
        }
}

/* mul(in0, select(lt(0.0, in1), 1.0, 0.0)) */
static void d_relu_each(const real *x1, const real *x2, real *y, long N, long HW, long C)
{
#pragma omp parallel for
    for (long n = 0; n < N; n++)
        for (long hw = 0; hw < HW; hw++)
            for (long c = 0; c < C; c++) {
                const long i = (n * HW + hw) * C + c;
                y[i] = x1[(n * C + c) * HW + hw] * (0.0f < x2[i] ? 1.0f : 0.0f);
            }
}

/* mul(in0, select(lt(0.0, in1), 1.0, 0.0)) */
static void d_relu_each_2(const real *x1, const real *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x1[i] * (0.0f < x2[i] ? 1.0f : 0.0f);
    }
}

/* loss = sum over classes of weight * (log of the sum of exp(x) - x) */
static void cross_entropy_2(const real *logits, const int *class,
                          real *loss, long rows, long classes,
                          int ignore)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = logits + k * classes;
        if (class[k] == ignore) {
            loss[k] = 0;
            continue;
        }
        const real most = row_largest(row, classes);
        const double norm = most + log(row_exp_sum(row, classes, most)), alone = norm - row[class[k]];
        double value = alone;
        loss[k] = (real)value;
    }
}

/* select(eq(in1i, -100), 0.0, to_float(lt(in0i, 1))) */
static void correct_each(const int *x1, const int *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x2[i] == -100 ? 0.0f : (real)(x1[i] < 1);
    }
}

/* select(eq(in1i, -100), 0.0, to_float(lt(in0i, 5))) */
static void top_each(const int *x1, const int *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x2[i] == -100 ? 0.0f : (real)(x1[i] < 5);
    }
}

/* ---- initial weights --------------------------------------------------------------------------- */

static void initialize_1(void)
{
    initial(weights + conv1_weight, 216, 0x69a29a2cee47d254ull);
    fill(weights + bn1_weight, 8, 1.0f);
    fill(weights + bn1_bias, 8, 0.0f);
    fill(weights + bn1_running_mean, 8, 0.0f);
    fill(weights + bn1_running_var, 8, 1.0f);
    initial_2(weights + layer1_0_conv1_weight, 576, 0x721d90ca2264c0eaull);
    fill(weights + layer1_0_bn1_weight, 8, 1.0f);
    fill(weights + layer1_0_bn1_bias, 8, 0.0f);
    fill(weights + layer1_0_bn1_running_mean, 8, 0.0f);
    fill(weights + layer1_0_bn1_running_var, 8, 1.0f);
    initial_2(weights + layer1_0_conv2_weight, 576, 0xb87a79e6c3e65e81ull);
    fill(weights + layer1_0_bn2_weight, 8, 1.0f);
    fill(weights + layer1_0_bn2_bias, 8, 0.0f);
    fill(weights + layer1_0_bn2_running_mean, 8, 0.0f);
    fill(weights + layer1_0_bn2_running_var, 8, 1.0f);
    initial_2(weights + layer2_0_conv1_weight, 1152, 0xcfa7f98f99779ea9ull);
    fill(weights + layer2_0_bn1_weight, 16, 1.0f);
    fill(weights + layer2_0_bn1_bias, 16, 0.0f);
    fill(weights + layer2_0_bn1_running_mean, 16, 0.0f);
    fill(weights + layer2_0_bn1_running_var, 16, 1.0f);
    initial_3(weights + layer2_0_conv2_weight, 2304, 0x7993424134e059d2ull);
    fill(weights + layer2_0_bn2_weight, 16, 1.0f);
    fill(weights + layer2_0_bn2_bias, 16, 0.0f);
    fill(weights + layer2_0_bn2_running_mean, 16, 0.0f);
    fill(weights + layer2_0_bn2_running_var, 16, 1.0f);
    initial_4(weights + layer2_0_downsample_0_weight, 128, 0x8beb7b1c3c35260eull);
    fill(weights + layer2_0_downsample_1_weight, 16, 1.0f);
    fill(weights + layer2_0_downsample_1_bias, 16, 0.0f);
    fill(weights + layer2_0_downsample_1_running_mean, 16, 0.0f);
    fill(weights + layer2_0_downsample_1_running_var, 16, 1.0f);
    initial_3(weights + layer3_0_conv1_weight, 4608, 0x89280d214e1a6654ull);
    fill(weights + layer3_0_bn1_weight, 32, 1.0f);
    fill(weights + layer3_0_bn1_bias, 32, 0.0f);
    fill(weights + layer3_0_bn1_running_mean, 32, 0.0f);
    fill(weights + layer3_0_bn1_running_var, 32, 1.0f);
    initial_5(weights + layer3_0_conv2_weight, 9216, 0x420c3fa6da0829cfull);
    fill(weights + layer3_0_bn2_weight, 32, 1.0f);
    fill(weights + layer3_0_bn2_bias, 32, 0.0f);
    fill(weights + layer3_0_bn2_running_mean, 32, 0.0f);
    fill(weights + layer3_0_bn2_running_var, 32, 1.0f);
    initial_6(weights + layer3_0_downsample_0_weight, 512, 0x05f80fd656e084c1ull);
    fill(weights + layer3_0_downsample_1_weight, 32, 1.0f);
    fill(weights + layer3_0_downsample_1_bias, 32, 0.0f);
    fill(weights + layer3_0_downsample_1_running_mean, 32, 0.0f);
    fill(weights + layer3_0_downsample_1_running_var, 32, 1.0f);
    initial_7(weights + fc_weight, 320, 0x79fb28a75603c7a0ull);
    initial_7(weights + fc_bias, 10, 0x145e200af8fe4b85ull);
}

static void initialize(void)
{
    initialize_1();
}

/* ---- steps ------------------------------------------------------------------------------------- */

static void forward(const struct train_phase *p)
{
    dnnl_conv_forward(&conv_3x3_3_8_plan[p->phase], batch.images, weights + conv1_weight, arena + conv1);
    batch_moments(arena + conv1, arena + bn1_moments, p->rows_2, p->block, 8, 1);
    running_update(weights + bn1_running_mean, arena + bn1_moments, weights + bn1_running_mean, 8, 1, false, 0.1f,
        p->last_count, p->last_count);
    running_update(weights + bn1_running_var, arena + bn1_moments, weights + bn1_running_var, 8, 1, true, 0.1f,
        p->last_count, p->last_count);
    batch_normalize(arena + conv1, arena + bn1_moments, weights + bn1_weight, weights + bn1_bias, arena + bn1,
        p->rows_2, p->block, 8, 1, 1e-05f);
    relu_each(arena + bn1, arena + relu, p->elements);
    dnnl_conv_forward(&conv_3x3_8_8_plan[p->phase], arena + relu, weights + layer1_0_conv1_weight,
        arena + layer1_0_conv1);
    batch_moments(arena + layer1_0_conv1, arena + layer1_0_bn1_moments, p->rows_2, p->block, 8, 1);
    running_update(weights + layer1_0_bn1_running_mean, arena + layer1_0_bn1_moments,
        weights + layer1_0_bn1_running_mean, 8, 1, false, 0.1f, p->last_count, p->last_count);
}

static void forward_layer1_0(const struct train_phase *p)
{
    running_update(weights + layer1_0_bn1_running_var, arena + layer1_0_bn1_moments,
        weights + layer1_0_bn1_running_var, 8, 1, true, 0.1f, p->last_count, p->last_count);
    batch_normalize(arena + layer1_0_conv1, arena + layer1_0_bn1_moments, weights + layer1_0_bn1_weight,
        weights + layer1_0_bn1_bias, arena + layer1_0_bn1, p->rows_2, p->block, 8, 1, 1e-05f);
    relu_each(arena + layer1_0_bn1, arena + layer1_0_relu, p->elements);
    dnnl_conv_forward(&conv_3x3_8_8_plan[p->phase], arena + layer1_0_relu, weights + layer1_0_conv2_weight,
        arena + layer1_0_conv2);
    batch_moments(arena + layer1_0_conv2, arena + layer1_0_bn2_moments, p->rows_2, p->block, 8, 1);
    running_update(weights + layer1_0_bn2_running_mean, arena + layer1_0_bn2_moments,
        weights + layer1_0_bn2_running_mean, 8, 1, false, 0.1f, p->last_count, p->last_count);
    running_update(weights + layer1_0_bn2_running_var, arena + layer1_0_bn2_moments,
        weights + layer1_0_bn2_running_var, 8, 1, true, 0.1f, p->last_count, p->last_count);
    batch_normalize(arena + layer1_0_conv2, arena + layer1_0_bn2_moments, weights + layer1_0_bn2_weight,
        weights + layer1_0_bn2_bias, arena + layer1_0_bn2, p->rows_2, p->block, 8, 1, 1e-05f);
    residual_each(arena + relu, arena + layer1_0_bn2, arena + layer1_0_residual, p->elements);
    relu_each(arena + layer1_0_residual, arena + layer1_0_relu_2, p->elements);
}

static void forward_layer2_0(const struct train_phase *p)
{
    dnnl_conv_forward(&conv_3x3_8_16_plan[p->phase], arena + layer1_0_relu_2, weights + layer2_0_conv1_weight,
        arena + layer2_0_conv1);
    batch_moments(arena + layer2_0_conv1, arena + layer2_0_bn1_moments, p->rows_2, p->block_2, 16, 1);
    running_update(weights + layer2_0_bn1_running_mean, arena + layer2_0_bn1_moments,
        weights + layer2_0_bn1_running_mean, 16, 1, false, 0.1f, p->last_count_2, p->last_count_2);
    running_update(weights + layer2_0_bn1_running_var, arena + layer2_0_bn1_moments,
        weights + layer2_0_bn1_running_var, 16, 1, true, 0.1f, p->last_count_2, p->last_count_2);
    batch_normalize(arena + layer2_0_conv1, arena + layer2_0_bn1_moments, weights + layer2_0_bn1_weight,
        weights + layer2_0_bn1_bias, arena + layer2_0_bn1, p->rows_2, p->block_2, 16, 1, 1e-05f);
    relu_each(arena + layer2_0_bn1, arena + layer2_0_relu, p->elements_2);
    dnnl_conv_forward(&conv_3x3_16_16_plan[p->phase], arena + layer2_0_relu, weights + layer2_0_conv2_weight,
        arena + layer2_0_conv2);
    batch_moments(arena + layer2_0_conv2, arena + layer2_0_bn2_moments, p->rows_2, p->block_2, 16, 1);
    running_update(weights + layer2_0_bn2_running_mean, arena + layer2_0_bn2_moments,
        weights + layer2_0_bn2_running_mean, 16, 1, false, 0.1f, p->last_count_2, p->last_count_2);
    running_update(weights + layer2_0_bn2_running_var, arena + layer2_0_bn2_moments,
        weights + layer2_0_bn2_running_var, 16, 1, true, 0.1f, p->last_count_2, p->last_count_2);
    batch_normalize(arena + layer2_0_conv2, arena + layer2_0_bn2_moments, weights + layer2_0_bn2_weight,
        weights + layer2_0_bn2_bias, arena + layer2_0_bn2, p->rows_2, p->block_2, 16, 1, 1e-05f);
    dnnl_conv_forward(&conv_1x1_8_16_plan[p->phase], arena + layer1_0_relu_2, weights + layer2_0_downsample_0_weight,
        arena + layer2_0_downsample_0);
    batch_moments(arena + layer2_0_downsample_0, arena + layer2_0_downsample_1_moments, p->rows_2, p->block_2, 16, 1);
    running_update(weights + layer2_0_downsample_1_running_mean, arena + layer2_0_downsample_1_moments,
        weights + layer2_0_downsample_1_running_mean, 16, 1, false, 0.1f, p->last_count_2, p->last_count_2);
    running_update(weights + layer2_0_downsample_1_running_var, arena + layer2_0_downsample_1_moments,
        weights + layer2_0_downsample_1_running_var, 16, 1, true, 0.1f, p->last_count_2, p->last_count_2);
    batch_normalize(arena + layer2_0_downsample_0, arena + layer2_0_downsample_1_moments,
        weights + layer2_0_downsample_1_weight, weights + layer2_0_downsample_1_bias, arena + layer2_0_downsample_1,
        p->rows_2, p->block_2, 16, 1, 1e-05f);
    residual_each(arena + layer2_0_downsample_1, arena + layer2_0_bn2, arena + layer2_0_residual, p->elements_2);
    relu_each(arena + layer2_0_residual, arena + layer2_0_relu_2, p->elements_2);
}

static void forward_layer3_0(const struct train_phase *p)
{
    dnnl_conv_forward(&conv_3x3_16_32_plan[p->phase], arena + layer2_0_relu_2, weights + layer3_0_conv1_weight,
        arena + layer3_0_conv1);
    batch_moments(arena + layer3_0_conv1, arena + layer3_0_bn1_moments, p->rows_2, p->block_3, 32, 1);
    running_update(weights + layer3_0_bn1_running_mean, arena + layer3_0_bn1_moments,
        weights + layer3_0_bn1_running_mean, 32, 1, false, 0.1f, p->last_count_3, p->last_count_3);
    running_update(weights + layer3_0_bn1_running_var, arena + layer3_0_bn1_moments,
        weights + layer3_0_bn1_running_var, 32, 1, true, 0.1f, p->last_count_3, p->last_count_3);
    batch_normalize(arena + layer3_0_conv1, arena + layer3_0_bn1_moments, weights + layer3_0_bn1_weight,
        weights + layer3_0_bn1_bias, arena + layer3_0_bn1, p->rows_2, p->block_3, 32, 1, 1e-05f);
    relu_each(arena + layer3_0_bn1, arena + layer3_0_relu, p->elements_3);
    dnnl_conv_forward(&conv_3x3_32_32_plan[p->phase], arena + layer3_0_relu, weights + layer3_0_conv2_weight,
        arena + layer3_0_conv2);
    batch_moments(arena + layer3_0_conv2, arena + layer3_0_bn2_moments, p->rows_2, p->block_3, 32, 1);
    running_update(weights + layer3_0_bn2_running_mean, arena + layer3_0_bn2_moments,
        weights + layer3_0_bn2_running_mean, 32, 1, false, 0.1f, p->last_count_3, p->last_count_3);
    running_update(weights + layer3_0_bn2_running_var, arena + layer3_0_bn2_moments,
        weights + layer3_0_bn2_running_var, 32, 1, true, 0.1f, p->last_count_3, p->last_count_3);
    batch_normalize(arena + layer3_0_conv2, arena + layer3_0_bn2_moments, weights + layer3_0_bn2_weight,
        weights + layer3_0_bn2_bias, arena + layer3_0_bn2, p->rows_2, p->block_3, 32, 1, 1e-05f);
    dnnl_conv_forward(&conv_1x1_16_32_plan[p->phase], arena + layer2_0_relu_2, weights + layer3_0_downsample_0_weight,
        arena + layer3_0_downsample_0);
    batch_moments(arena + layer3_0_downsample_0, arena + layer3_0_downsample_1_moments, p->rows_2, p->block_3, 32, 1);
    running_update(weights + layer3_0_downsample_1_running_mean, arena + layer3_0_downsample_1_moments,
        weights + layer3_0_downsample_1_running_mean, 32, 1, false, 0.1f, p->last_count_3, p->last_count_3);
    running_update(weights + layer3_0_downsample_1_running_var, arena + layer3_0_downsample_1_moments,
        weights + layer3_0_downsample_1_running_var, 32, 1, true, 0.1f, p->last_count_3, p->last_count_3);
    batch_normalize(arena + layer3_0_downsample_0, arena + layer3_0_downsample_1_moments,
        weights + layer3_0_downsample_1_weight, weights + layer3_0_downsample_1_bias, arena + layer3_0_downsample_1,
        p->rows_2, p->block_3, 32, 1, 1e-05f);
    residual_each(arena + layer3_0_downsample_1, arena + layer3_0_bn2, arena + layer3_0_residual, p->elements_3);
    relu_each(arena + layer3_0_residual, arena + layer3_0_relu_2, p->elements_3);
}

static void forward_2(const struct train_phase *p)
{
    reduce_mean(arena + layer3_0_relu_2, arena + global_avg_pool2d_mean, p->rows_2, p->block_3, 32);
    dnnl_product(arena + global_avg_pool2d_mean, weights + fc_weight, arena + fc_product, 1, p->rows_2, 10, 32, 0, 0,
        false, true);
    fc_each(arena + fc_product, weights + fc_bias, arena + fc, p->rows_2, 10);
    cross_entropy(arena + fc, batch.targets, batch.partner_targets, arena + loss_cross_entropy, p->rows_2, 10,
        0.9f * (1.0f - (real)((draw.cutmix_cut_bbox_2 - draw.cutmix_cut_bbox_0) * (draw.cutmix_cut_bbox_3 -
        draw.cutmix_cut_bbox_1)) / (real)(now.image_height * now.image_width)) + 0.01f,
        0.9f * (1.0f - (1.0f - (real)((draw.cutmix_cut_bbox_2 - draw.cutmix_cut_bbox_0) * (draw.cutmix_cut_bbox_3 -
        draw.cutmix_cut_bbox_1)) / (real)(now.image_height * now.image_width))) + 0.01f, 0.91f, 0.01f,
        -100); /* label_smoothing */
    count_each(batch.targets, arena + loss_count, p->rows_2);
    reduce_sum(arena + loss_count, arena + loss_count_2, 1, p->rows_2, 1);
    sum_each(arena + loss_cross_entropy, batch.targets, arena + loss_sum, p->rows_2);
    reduce_sum(arena + loss_sum, arena + loss_sum_2, 1, p->rows_2, 1);
    loss_each(arena + loss_sum_2, arena + loss_count_2, arena + loss, 1);
}

static void backward(const struct train_phase *p)
{
    d_loss_each(&batch.share, arena + loss_count_2, arena + d_loss, 1);
    d_sum_each(arena + d_loss, batch.targets, arena + d_loss_sum, p->rows_2);
    cross_entropy_grad(arena + fc, batch.targets, batch.partner_targets, arena + d_loss_sum,
        arena + d_loss_cross_entropy, p->rows_2, 10, 0.9f * (1.0f - (real)((draw.cutmix_cut_bbox_2 -
        draw.cutmix_cut_bbox_0) * (draw.cutmix_cut_bbox_3 - draw.cutmix_cut_bbox_1)) / (real)(now.image_height *
        now.image_width)) + 0.01f, 0.9f * (1.0f - (1.0f - (real)((draw.cutmix_cut_bbox_2 - draw.cutmix_cut_bbox_0) *
        (draw.cutmix_cut_bbox_3 - draw.cutmix_cut_bbox_1)) / (real)(now.image_height * now.image_width))) + 0.01f,
        0.91f, 0.01f, -100); /* label_smoothing */
    reduce_sum(arena + d_loss_cross_entropy, arena + d_fc, 1, p->rows_2, 10);
    accumulate(gradients + fc_bias, arena + d_fc, 10, batch.is_first);
    dnnl_product(arena + d_loss_cross_entropy, weights + fc_weight, arena + d_fc_product, 1, p->rows_2, 32, 10, 0, 0,
        false, false);
    dnnl_product(arena + d_loss_cross_entropy, arena + global_avg_pool2d_mean, arena + d_fc_product_2, 1, 10, 32,
        p->rows_2, p->stride, 0, true, false);
    accumulate(gradients + fc_weight, arena + d_fc_product_2, 320, batch.is_first);
    fill(arena + d_global_avg_pool2d_mean, 1, p->block_3);
    d_mean_each(arena + d_fc_product, arena + d_global_avg_pool2d_mean, arena + d_global_avg_pool2d_mean_2, p->block_4,
        p->block_3);
}

static void backward_layer3_0(const struct train_phase *p)
{
    d_relu_each(arena + d_global_avg_pool2d_mean_2, arena + layer3_0_residual, arena + d_layer3_0_relu_2, p->rows_2,
        p->block_3, 32);
    batch_normalize_grad_sums(arena + d_layer3_0_relu_2, arena + layer3_0_downsample_0,
        arena + layer3_0_downsample_1_moments, arena + d_layer3_0_downsample_1, p->rows_2, p->block_3, 32, 1, 1e-05f);
    batch_normalize_grad(arena + d_layer3_0_relu_2, arena + layer3_0_downsample_0,
        arena + layer3_0_downsample_1_moments, arena + d_layer3_0_downsample_1, weights + layer3_0_downsample_1_weight,
        arena + d_layer3_0_downsample_1_2, p->rows_2, p->block_3, 32, 1, 1e-05f);
    move(arena + d_layer3_0_downsample_1 + 32, arena + d_layer3_0_downsample_1_3, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    accumulate(gradients + layer3_0_downsample_1_weight, arena + d_layer3_0_downsample_1_3, 32, batch.is_first);
    move(arena + d_layer3_0_downsample_1, arena + d_layer3_0_downsample_1_4, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    accumulate(gradients + layer3_0_downsample_1_bias, arena + d_layer3_0_downsample_1_4, 32, batch.is_first);
    dnnl_conv_grad_input(&conv_1x1_16_32_plan[p->phase], arena + d_layer3_0_downsample_1_2,
        weights + layer3_0_downsample_0_weight, arena + d_layer3_0_downsample_0);
    dnnl_conv_grad_weight(&conv_1x1_16_32_plan[p->phase], arena + d_layer3_0_downsample_1_2, arena + layer2_0_relu_2,
        arena + d_layer3_0_downsample_0_2);
    accumulate(gradients + layer3_0_downsample_0_weight, arena + d_layer3_0_downsample_0_2, 512, batch.is_first);
    batch_normalize_grad_sums(arena + d_layer3_0_relu_2, arena + layer3_0_conv2, arena + layer3_0_bn2_moments,
        arena + d_layer3_0_bn2, p->rows_2, p->block_3, 32, 1, 1e-05f);
    batch_normalize_grad(arena + d_layer3_0_relu_2, arena + layer3_0_conv2, arena + layer3_0_bn2_moments,
        arena + d_layer3_0_bn2, weights + layer3_0_bn2_weight, arena + d_layer3_0_bn2_2, p->rows_2, p->block_3, 32, 1,
        1e-05f);
    move(arena + d_layer3_0_bn2 + 32, arena + d_layer3_0_bn2_3, 2, (const long[]){ 1, 32 }, (const long[]){ 32, 1 },
        (const long[]){ 32, 1 });
    accumulate(gradients + layer3_0_bn2_weight, arena + d_layer3_0_bn2_3, 32, batch.is_first);
    move(arena + d_layer3_0_bn2, arena + d_layer3_0_bn2_4, 2, (const long[]){ 1, 32 }, (const long[]){ 32, 1 },
        (const long[]){ 32, 1 });
    accumulate(gradients + layer3_0_bn2_bias, arena + d_layer3_0_bn2_4, 32, batch.is_first);
    dnnl_conv_grad_input(&conv_3x3_32_32_plan[p->phase], arena + d_layer3_0_bn2_2, weights + layer3_0_conv2_weight,
        arena + d_layer3_0_conv2);
    dnnl_conv_grad_weight(&conv_3x3_32_32_plan[p->phase], arena + d_layer3_0_bn2_2, arena + layer3_0_relu,
        arena + d_layer3_0_conv2_2);
    accumulate(gradients + layer3_0_conv2_weight, arena + d_layer3_0_conv2_2, 9216, batch.is_first);
    d_relu_each_2(arena + d_layer3_0_conv2, arena + layer3_0_bn1, arena + d_layer3_0_relu, p->elements_3);
    batch_normalize_grad_sums(arena + d_layer3_0_relu, arena + layer3_0_conv1, arena + layer3_0_bn1_moments,
        arena + d_layer3_0_bn1, p->rows_2, p->block_3, 32, 1, 1e-05f);
    batch_normalize_grad(arena + d_layer3_0_relu, arena + layer3_0_conv1, arena + layer3_0_bn1_moments,
        arena + d_layer3_0_bn1, weights + layer3_0_bn1_weight, arena + d_layer3_0_bn1_2, p->rows_2, p->block_3, 32, 1,
        1e-05f);
    move(arena + d_layer3_0_bn1 + 32, arena + d_layer3_0_bn1_3, 2, (const long[]){ 1, 32 }, (const long[]){ 32, 1 },
        (const long[]){ 32, 1 });
    accumulate(gradients + layer3_0_bn1_weight, arena + d_layer3_0_bn1_3, 32, batch.is_first);
    move(arena + d_layer3_0_bn1, arena + d_layer3_0_bn1_4, 2, (const long[]){ 1, 32 }, (const long[]){ 32, 1 },
        (const long[]){ 32, 1 });
    accumulate(gradients + layer3_0_bn1_bias, arena + d_layer3_0_bn1_4, 32, batch.is_first);
    dnnl_conv_grad_input(&conv_3x3_16_32_plan[p->phase], arena + d_layer3_0_bn1_2, weights + layer3_0_conv1_weight,
        arena + d_layer3_0_conv1);
}

static void backward_layer3_0_2(const struct train_phase *p)
{
    residual_each(arena + d_layer3_0_downsample_0, arena + d_layer3_0_conv1, arena + d_layer3_0_conv1_2, p->elements_2);
    dnnl_conv_grad_weight(&conv_3x3_16_32_plan[p->phase], arena + d_layer3_0_bn1_2, arena + layer2_0_relu_2,
        arena + d_layer3_0_conv1_3);
    accumulate(gradients + layer3_0_conv1_weight, arena + d_layer3_0_conv1_3, 4608, batch.is_first);
    d_relu_each_2(arena + d_layer3_0_conv1_2, arena + layer2_0_residual, arena + d_layer2_0_relu_2, p->elements_2);
    batch_normalize_grad_sums(arena + d_layer2_0_relu_2, arena + layer2_0_downsample_0,
        arena + layer2_0_downsample_1_moments, arena + d_layer2_0_downsample_1, p->rows_2, p->block_2, 16, 1, 1e-05f);
    batch_normalize_grad(arena + d_layer2_0_relu_2, arena + layer2_0_downsample_0,
        arena + layer2_0_downsample_1_moments, arena + d_layer2_0_downsample_1, weights + layer2_0_downsample_1_weight,
        arena + d_layer2_0_downsample_1_2, p->rows_2, p->block_2, 16, 1, 1e-05f);
    move(arena + d_layer2_0_downsample_1 + 16, arena + d_layer2_0_downsample_1_3, 2, (const long[]){ 1, 16 },
        (const long[]){ 16, 1 }, (const long[]){ 16, 1 });
    accumulate(gradients + layer2_0_downsample_1_weight, arena + d_layer2_0_downsample_1_3, 16, batch.is_first);
    move(arena + d_layer2_0_downsample_1, arena + d_layer2_0_downsample_1_4, 2, (const long[]){ 1, 16 },
        (const long[]){ 16, 1 }, (const long[]){ 16, 1 });
}

static void backward_layer2_0_downsample_1(const struct train_phase *p)
{
    accumulate(gradients + layer2_0_downsample_1_bias, arena + d_layer2_0_downsample_1_4, 16, batch.is_first);
    dnnl_conv_grad_input(&conv_1x1_8_16_plan[p->phase], arena + d_layer2_0_downsample_1_2,
        weights + layer2_0_downsample_0_weight, arena + d_layer2_0_downsample_0);
    dnnl_conv_grad_weight(&conv_1x1_8_16_plan[p->phase], arena + d_layer2_0_downsample_1_2, arena + layer1_0_relu_2,
        arena + d_layer2_0_downsample_0_2);
    accumulate(gradients + layer2_0_downsample_0_weight, arena + d_layer2_0_downsample_0_2, 128, batch.is_first);
    batch_normalize_grad_sums(arena + d_layer2_0_relu_2, arena + layer2_0_conv2, arena + layer2_0_bn2_moments,
        arena + d_layer2_0_bn2, p->rows_2, p->block_2, 16, 1, 1e-05f);
    batch_normalize_grad(arena + d_layer2_0_relu_2, arena + layer2_0_conv2, arena + layer2_0_bn2_moments,
        arena + d_layer2_0_bn2, weights + layer2_0_bn2_weight, arena + d_layer2_0_bn2_2, p->rows_2, p->block_2, 16, 1,
        1e-05f);
    move(arena + d_layer2_0_bn2 + 16, arena + d_layer2_0_bn2_3, 2, (const long[]){ 1, 16 }, (const long[]){ 16, 1 },
        (const long[]){ 16, 1 });
    accumulate(gradients + layer2_0_bn2_weight, arena + d_layer2_0_bn2_3, 16, batch.is_first);
}

static void backward_layer2_0(const struct train_phase *p)
{
    move(arena + d_layer2_0_bn2, arena + d_layer2_0_bn2_4, 2, (const long[]){ 1, 16 }, (const long[]){ 16, 1 },
        (const long[]){ 16, 1 });
    accumulate(gradients + layer2_0_bn2_bias, arena + d_layer2_0_bn2_4, 16, batch.is_first);
    dnnl_conv_grad_input(&conv_3x3_16_16_plan[p->phase], arena + d_layer2_0_bn2_2, weights + layer2_0_conv2_weight,
        arena + d_layer2_0_conv2);
    dnnl_conv_grad_weight(&conv_3x3_16_16_plan[p->phase], arena + d_layer2_0_bn2_2, arena + layer2_0_relu,
        arena + d_layer2_0_conv2_2);
    accumulate(gradients + layer2_0_conv2_weight, arena + d_layer2_0_conv2_2, 2304, batch.is_first);
    d_relu_each_2(arena + d_layer2_0_conv2, arena + layer2_0_bn1, arena + d_layer2_0_relu, p->elements_2);
    batch_normalize_grad_sums(arena + d_layer2_0_relu, arena + layer2_0_conv1, arena + layer2_0_bn1_moments,
        arena + d_layer2_0_bn1, p->rows_2, p->block_2, 16, 1, 1e-05f);
    batch_normalize_grad(arena + d_layer2_0_relu, arena + layer2_0_conv1, arena + layer2_0_bn1_moments,
        arena + d_layer2_0_bn1, weights + layer2_0_bn1_weight, arena + d_layer2_0_bn1_2, p->rows_2, p->block_2, 16, 1,
        1e-05f);
    move(arena + d_layer2_0_bn1 + 16, arena + d_layer2_0_bn1_3, 2, (const long[]){ 1, 16 }, (const long[]){ 16, 1 },
        (const long[]){ 16, 1 });
    accumulate(gradients + layer2_0_bn1_weight, arena + d_layer2_0_bn1_3, 16, batch.is_first);
    move(arena + d_layer2_0_bn1, arena + d_layer2_0_bn1_4, 2, (const long[]){ 1, 16 }, (const long[]){ 16, 1 },
        (const long[]){ 16, 1 });
    accumulate(gradients + layer2_0_bn1_bias, arena + d_layer2_0_bn1_4, 16, batch.is_first);
    dnnl_conv_grad_input(&conv_3x3_8_16_plan[p->phase], arena + d_layer2_0_bn1_2, weights + layer2_0_conv1_weight,
        arena + d_layer2_0_conv1);
    residual_each(arena + d_layer2_0_downsample_0, arena + d_layer2_0_conv1, arena + d_layer2_0_conv1_2, p->elements);
    dnnl_conv_grad_weight(&conv_3x3_8_16_plan[p->phase], arena + d_layer2_0_bn1_2, arena + layer1_0_relu_2,
        arena + d_layer2_0_conv1_3);
    accumulate(gradients + layer2_0_conv1_weight, arena + d_layer2_0_conv1_3, 1152, batch.is_first);
}

static void backward_layer1_0(const struct train_phase *p)
{
    d_relu_each_2(arena + d_layer2_0_conv1_2, arena + layer1_0_residual, arena + d_layer1_0_relu_2, p->elements);
    batch_normalize_grad_sums(arena + d_layer1_0_relu_2, arena + layer1_0_conv2, arena + layer1_0_bn2_moments,
        arena + d_layer1_0_bn2, p->rows_2, p->block, 8, 1, 1e-05f);
    batch_normalize_grad(arena + d_layer1_0_relu_2, arena + layer1_0_conv2, arena + layer1_0_bn2_moments,
        arena + d_layer1_0_bn2, weights + layer1_0_bn2_weight, arena + d_layer1_0_bn2_2, p->rows_2, p->block, 8, 1,
        1e-05f);
    move(arena + d_layer1_0_bn2 + 8, arena + d_layer1_0_bn2_3, 2, (const long[]){ 1, 8 }, (const long[]){ 8, 1 },
        (const long[]){ 8, 1 });
    accumulate(gradients + layer1_0_bn2_weight, arena + d_layer1_0_bn2_3, 8, batch.is_first);
    move(arena + d_layer1_0_bn2, arena + d_layer1_0_bn2_4, 2, (const long[]){ 1, 8 }, (const long[]){ 8, 1 },
        (const long[]){ 8, 1 });
    accumulate(gradients + layer1_0_bn2_bias, arena + d_layer1_0_bn2_4, 8, batch.is_first);
    dnnl_conv_grad_input(&conv_3x3_8_8_plan[p->phase], arena + d_layer1_0_bn2_2, weights + layer1_0_conv2_weight,
        arena + d_layer1_0_conv2);
    dnnl_conv_grad_weight(&conv_3x3_8_8_plan[p->phase], arena + d_layer1_0_bn2_2, arena + layer1_0_relu,
        arena + d_layer1_0_conv2_2);
    accumulate(gradients + layer1_0_conv2_weight, arena + d_layer1_0_conv2_2, 576, batch.is_first);
    d_relu_each_2(arena + d_layer1_0_conv2, arena + layer1_0_bn1, arena + d_layer1_0_relu, p->elements);
    batch_normalize_grad_sums(arena + d_layer1_0_relu, arena + layer1_0_conv1, arena + layer1_0_bn1_moments,
        arena + d_layer1_0_bn1, p->rows_2, p->block, 8, 1, 1e-05f);
    batch_normalize_grad(arena + d_layer1_0_relu, arena + layer1_0_conv1, arena + layer1_0_bn1_moments,
        arena + d_layer1_0_bn1, weights + layer1_0_bn1_weight, arena + d_layer1_0_bn1_2, p->rows_2, p->block, 8, 1,
        1e-05f);
    move(arena + d_layer1_0_bn1 + 8, arena + d_layer1_0_bn1_3, 2, (const long[]){ 1, 8 }, (const long[]){ 8, 1 },
        (const long[]){ 8, 1 });
    accumulate(gradients + layer1_0_bn1_weight, arena + d_layer1_0_bn1_3, 8, batch.is_first);
    move(arena + d_layer1_0_bn1, arena + d_layer1_0_bn1_4, 2, (const long[]){ 1, 8 }, (const long[]){ 8, 1 },
        (const long[]){ 8, 1 });
    accumulate(gradients + layer1_0_bn1_bias, arena + d_layer1_0_bn1_4, 8, batch.is_first);
    dnnl_conv_grad_input(&conv_3x3_8_8_plan[p->phase], arena + d_layer1_0_bn1_2, weights + layer1_0_conv1_weight,
        arena + d_layer1_0_conv1);
    residual_each(arena + d_layer1_0_relu_2, arena + d_layer1_0_conv1, arena + d_layer1_0_conv1_2, p->elements);
    dnnl_conv_grad_weight(&conv_3x3_8_8_plan[p->phase], arena + d_layer1_0_bn1_2, arena + relu,
        arena + d_layer1_0_conv1_3);
    accumulate(gradients + layer1_0_conv1_weight, arena + d_layer1_0_conv1_3, 576, batch.is_first);
}

static void backward_2(const struct train_phase *p)
{
    d_relu_each_2(arena + d_layer1_0_conv1_2, arena + bn1, arena + d_relu, p->elements);
    batch_normalize_grad_sums(arena + d_relu, arena + conv1, arena + bn1_moments, arena + d_bn1, p->rows_2, p->block,
        8, 1, 1e-05f);
    batch_normalize_grad(arena + d_relu, arena + conv1, arena + bn1_moments, arena + d_bn1, weights + bn1_weight,
        arena + d_bn1_2, p->rows_2, p->block, 8, 1, 1e-05f);
    move(arena + d_bn1 + 8, arena + d_bn1_3, 2, (const long[]){ 1, 8 }, (const long[]){ 8, 1 }, (const long[]){ 8, 1 });
    accumulate(gradients + bn1_weight, arena + d_bn1_3, 8, batch.is_first);
    move(arena + d_bn1, arena + d_bn1_4, 2, (const long[]){ 1, 8 }, (const long[]){ 8, 1 }, (const long[]){ 8, 1 });
    accumulate(gradients + bn1_bias, arena + d_bn1_4, 8, batch.is_first);
    dnnl_conv_grad_weight(&conv_3x3_3_8_plan[p->phase], arena + d_bn1_2, batch.images, arena + d_conv1);
    accumulate(gradients + conv1_weight, arena + d_conv1, 216, batch.is_first);
}

static void train(const struct train_phase *p)
{
    forward(p);
    forward_layer1_0(p);
    forward_layer2_0(p);
    forward_layer3_0(p);
    forward_2(p);
    backward(p);
    backward_layer3_0(p);
    backward_layer3_0_2(p);
    backward_layer2_0_downsample_1(p);
    backward_layer2_0(p);
    backward_layer1_0(p);
    backward_2(p);
    batch.loss += batch.share * *(arena + loss);
}

static void train_setup(void)
{
    for (const struct train_phase *p = train_phases; p < train_phases + 6; p++) {
        dnnl_conv_setup(&conv_3x3_3_8_plan[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 3,
            .height = p->height, .width = p->height, .out_channels = 8, .kernel = { 3, 3 }, .stride = { 1, 1 },
            .before = { 1, 1 }, .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = p->height,
            .out_width = p->height });
        dnnl_conv_setup(&conv_3x3_8_8_plan[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 8,
            .height = p->height, .width = p->height, .out_channels = 8, .kernel = { 3, 3 }, .stride = { 1, 1 },
            .before = { 1, 1 }, .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = p->height,
            .out_width = p->height });
        dnnl_conv_setup(&conv_3x3_8_16_plan[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 8,
            .height = p->height, .width = p->height, .out_channels = 16, .kernel = { 3, 3 }, .stride = { 2, 2 },
            .before = { 1, 1 }, .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = p->height_2,
            .out_width = p->height_2 });
        dnnl_conv_setup(&conv_3x3_16_16_plan[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 16,
            .height = p->height_2, .width = p->height_2, .out_channels = 16, .kernel = { 3, 3 }, .stride = { 1, 1 },
            .before = { 1, 1 }, .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = p->height_2,
            .out_width = p->height_2 });
        dnnl_conv_setup(&conv_1x1_8_16_plan[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 8,
            .height = p->height, .width = p->height, .out_channels = 16, .kernel = { 1, 1 }, .stride = { 2, 2 },
            .before = { 0, 0 }, .after = { 0, 0 }, .dilation = { 1, 1 }, .groups = 1, .out_height = p->height_2,
            .out_width = p->height_2 });
        dnnl_conv_setup(&conv_3x3_16_32_plan[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 16,
            .height = p->height_2, .width = p->height_2, .out_channels = 32, .kernel = { 3, 3 }, .stride = { 2, 2 },
            .before = { 1, 1 }, .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = p->height_3,
            .out_width = p->height_3 });
        dnnl_conv_setup(&conv_3x3_32_32_plan[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 32,
            .height = p->height_3, .width = p->height_3, .out_channels = 32, .kernel = { 3, 3 }, .stride = { 1, 1 },
            .before = { 1, 1 }, .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = p->height_3,
            .out_width = p->height_3 });
        dnnl_conv_setup(&conv_1x1_16_32_plan[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 16,
            .height = p->height_2, .width = p->height_2, .out_channels = 32, .kernel = { 1, 1 }, .stride = { 2, 2 },
            .before = { 0, 0 }, .after = { 0, 0 }, .dilation = { 1, 1 }, .groups = 1, .out_height = p->height_3,
            .out_width = p->height_3 });
    }
}

static void evaluate_2(const struct evaluate_phase *p)
{
    dnnl_conv_forward(&conv_3x3_3_8_plan_2[p->phase], batch.images, weights + conv1_weight, arena + evaluate_conv1);
    move(weights + bn1_running_mean, arena + evaluate_bn1_moments, 2, (const long[]){ 1, 8 }, (const long[]){ 8, 1 },
        (const long[]){ 8, 1 });
    move(weights + bn1_running_var, arena + evaluate_bn1_moments + 8, 2, (const long[]){ 1, 8 }, (const long[]){ 8,
        1 }, (const long[]){ 8, 1 });
    batch_normalize(arena + evaluate_conv1, arena + evaluate_bn1_moments, weights + bn1_weight, weights + bn1_bias,
        arena + evaluate_bn1, p->rows_2, 256, 8, 1, 1e-05f);
    relu_each(arena + evaluate_bn1, arena + evaluate_relu, p->elements);
    dnnl_conv_forward(&conv_3x3_8_8_plan_2[p->phase], arena + evaluate_relu, weights + layer1_0_conv1_weight,
        arena + evaluate_layer1_0_conv1);
    move(weights + layer1_0_bn1_running_mean, arena + evaluate_layer1_0_bn1_moments, 2, (const long[]){ 1, 8 },
        (const long[]){ 8, 1 }, (const long[]){ 8, 1 });
    move(weights + layer1_0_bn1_running_var, arena + evaluate_layer1_0_bn1_moments + 8, 2, (const long[]){ 1, 8 },
        (const long[]){ 8, 1 }, (const long[]){ 8, 1 });
}

static void evaluate_layer1_0(const struct evaluate_phase *p)
{
    batch_normalize(arena + evaluate_layer1_0_conv1, arena + evaluate_layer1_0_bn1_moments,
        weights + layer1_0_bn1_weight, weights + layer1_0_bn1_bias, arena + evaluate_layer1_0_bn1, p->rows_2, 256, 8,
        1, 1e-05f);
    relu_each(arena + evaluate_layer1_0_bn1, arena + evaluate_layer1_0_relu, p->elements);
    dnnl_conv_forward(&conv_3x3_8_8_plan_2[p->phase], arena + evaluate_layer1_0_relu, weights + layer1_0_conv2_weight,
        arena + evaluate_layer1_0_conv2);
    move(weights + layer1_0_bn2_running_mean, arena + evaluate_layer1_0_bn2_moments, 2, (const long[]){ 1, 8 },
        (const long[]){ 8, 1 }, (const long[]){ 8, 1 });
    move(weights + layer1_0_bn2_running_var, arena + evaluate_layer1_0_bn2_moments + 8, 2, (const long[]){ 1, 8 },
        (const long[]){ 8, 1 }, (const long[]){ 8, 1 });
    batch_normalize(arena + evaluate_layer1_0_conv2, arena + evaluate_layer1_0_bn2_moments,
        weights + layer1_0_bn2_weight, weights + layer1_0_bn2_bias, arena + evaluate_layer1_0_bn2, p->rows_2, 256, 8,
        1, 1e-05f);
    residual_each(arena + evaluate_relu, arena + evaluate_layer1_0_bn2, arena + evaluate_layer1_0_residual,
        p->elements);
    relu_each(arena + evaluate_layer1_0_residual, arena + evaluate_layer1_0_relu_2, p->elements);
}

static void evaluate_layer2_0(const struct evaluate_phase *p)
{
    dnnl_conv_forward(&conv_3x3_8_16_plan_2[p->phase], arena + evaluate_layer1_0_relu_2,
        weights + layer2_0_conv1_weight, arena + evaluate_layer2_0_conv1);
    move(weights + layer2_0_bn1_running_mean, arena + evaluate_layer2_0_bn1_moments, 2, (const long[]){ 1, 16 },
        (const long[]){ 16, 1 }, (const long[]){ 16, 1 });
    move(weights + layer2_0_bn1_running_var, arena + evaluate_layer2_0_bn1_moments + 16, 2, (const long[]){ 1, 16 },
        (const long[]){ 16, 1 }, (const long[]){ 16, 1 });
    batch_normalize(arena + evaluate_layer2_0_conv1, arena + evaluate_layer2_0_bn1_moments,
        weights + layer2_0_bn1_weight, weights + layer2_0_bn1_bias, arena + evaluate_layer2_0_bn1, p->rows_2, 64, 16,
        1, 1e-05f);
    relu_each(arena + evaluate_layer2_0_bn1, arena + evaluate_layer2_0_relu, p->elements_2);
    dnnl_conv_forward(&conv_3x3_16_16_plan_2[p->phase], arena + evaluate_layer2_0_relu,
        weights + layer2_0_conv2_weight, arena + evaluate_layer2_0_conv2);
    move(weights + layer2_0_bn2_running_mean, arena + evaluate_layer2_0_bn2_moments, 2, (const long[]){ 1, 16 },
        (const long[]){ 16, 1 }, (const long[]){ 16, 1 });
    move(weights + layer2_0_bn2_running_var, arena + evaluate_layer2_0_bn2_moments + 16, 2, (const long[]){ 1, 16 },
        (const long[]){ 16, 1 }, (const long[]){ 16, 1 });
    batch_normalize(arena + evaluate_layer2_0_conv2, arena + evaluate_layer2_0_bn2_moments,
        weights + layer2_0_bn2_weight, weights + layer2_0_bn2_bias, arena + evaluate_layer2_0_bn2, p->rows_2, 64, 16,
        1, 1e-05f);
    dnnl_conv_forward(&conv_1x1_8_16_plan_2[p->phase], arena + evaluate_layer1_0_relu_2,
        weights + layer2_0_downsample_0_weight, arena + evaluate_layer2_0_downsample_0);
    move(weights + layer2_0_downsample_1_running_mean, arena + evaluate_layer2_0_downsample_1_moments, 2,
        (const long[]){ 1, 16 }, (const long[]){ 16, 1 }, (const long[]){ 16, 1 });
    move(weights + layer2_0_downsample_1_running_var, arena + evaluate_layer2_0_downsample_1_moments + 16, 2,
        (const long[]){ 1, 16 }, (const long[]){ 16, 1 }, (const long[]){ 16, 1 });
    batch_normalize(arena + evaluate_layer2_0_downsample_0, arena + evaluate_layer2_0_downsample_1_moments,
        weights + layer2_0_downsample_1_weight, weights + layer2_0_downsample_1_bias,
        arena + evaluate_layer2_0_downsample_1, p->rows_2, 64, 16, 1, 1e-05f);
    residual_each(arena + evaluate_layer2_0_downsample_1, arena + evaluate_layer2_0_bn2,
        arena + evaluate_layer2_0_residual, p->elements_2);
    relu_each(arena + evaluate_layer2_0_residual, arena + evaluate_layer2_0_relu_2, p->elements_2);
}

static void evaluate_layer3_0(const struct evaluate_phase *p)
{
    dnnl_conv_forward(&conv_3x3_16_32_plan_2[p->phase], arena + evaluate_layer2_0_relu_2,
        weights + layer3_0_conv1_weight, arena + evaluate_layer3_0_conv1);
    move(weights + layer3_0_bn1_running_mean, arena + evaluate_layer3_0_bn1_moments, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    move(weights + layer3_0_bn1_running_var, arena + evaluate_layer3_0_bn1_moments + 32, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    batch_normalize(arena + evaluate_layer3_0_conv1, arena + evaluate_layer3_0_bn1_moments,
        weights + layer3_0_bn1_weight, weights + layer3_0_bn1_bias, arena + evaluate_layer3_0_bn1, p->rows_2, 16, 32,
        1, 1e-05f);
    relu_each(arena + evaluate_layer3_0_bn1, arena + evaluate_layer3_0_relu, p->elements_3);
    dnnl_conv_forward(&conv_3x3_32_32_plan_2[p->phase], arena + evaluate_layer3_0_relu,
        weights + layer3_0_conv2_weight, arena + evaluate_layer3_0_conv2);
    move(weights + layer3_0_bn2_running_mean, arena + evaluate_layer3_0_bn2_moments, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    move(weights + layer3_0_bn2_running_var, arena + evaluate_layer3_0_bn2_moments + 32, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    batch_normalize(arena + evaluate_layer3_0_conv2, arena + evaluate_layer3_0_bn2_moments,
        weights + layer3_0_bn2_weight, weights + layer3_0_bn2_bias, arena + evaluate_layer3_0_bn2, p->rows_2, 16, 32,
        1, 1e-05f);
    dnnl_conv_forward(&conv_1x1_16_32_plan_2[p->phase], arena + evaluate_layer2_0_relu_2,
        weights + layer3_0_downsample_0_weight, arena + evaluate_layer3_0_downsample_0);
    move(weights + layer3_0_downsample_1_running_mean, arena + evaluate_layer3_0_downsample_1_moments, 2,
        (const long[]){ 1, 32 }, (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    move(weights + layer3_0_downsample_1_running_var, arena + evaluate_layer3_0_downsample_1_moments + 32, 2,
        (const long[]){ 1, 32 }, (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    batch_normalize(arena + evaluate_layer3_0_downsample_0, arena + evaluate_layer3_0_downsample_1_moments,
        weights + layer3_0_downsample_1_weight, weights + layer3_0_downsample_1_bias,
        arena + evaluate_layer3_0_downsample_1, p->rows_2, 16, 32, 1, 1e-05f);
    residual_each(arena + evaluate_layer3_0_downsample_1, arena + evaluate_layer3_0_bn2,
        arena + evaluate_layer3_0_residual, p->elements_3);
    relu_each(arena + evaluate_layer3_0_residual, arena + evaluate_layer3_0_relu_2, p->elements_3);
}

static void evaluate_3(const struct evaluate_phase *p)
{
    reduce_mean(arena + evaluate_layer3_0_relu_2, arena + evaluate_global_avg_pool2d_mean, p->rows_2, 16, 32);
    dnnl_product(arena + evaluate_global_avg_pool2d_mean, weights + fc_weight, arena + evaluate_fc_product, 1,
        p->rows_2, 10, 32, 0, 0, false, true);
    fc_each(arena + evaluate_fc_product, weights + fc_bias, arena + evaluate_fc, p->rows_2, 10);
    cross_entropy_2(arena + evaluate_fc, batch.targets, arena + evaluate_loss_cross_entropy, p->rows_2, 10, -100);
    sum_each(arena + evaluate_loss_cross_entropy, batch.targets, arena + evaluate_metric_loss, p->rows_2);
    reduce_sum(arena + evaluate_metric_loss, arena + evaluate_metric_loss_2, 1, p->rows_2, 1);
    count_each(batch.targets, arena + evaluate_metric_count, p->rows_2);
    reduce_sum(arena + evaluate_metric_count, arena + evaluate_metric_count_2, 1, p->rows_2, 1);
    target_rank(arena + evaluate_fc, batch.targets, (int *)(arena + evaluate_metric_rank), p->rows_2, 10, -100);
    correct_each((int *)(arena + evaluate_metric_rank), batch.targets, arena + evaluate_metric_correct, p->rows_2);
    reduce_sum(arena + evaluate_metric_correct, arena + evaluate_metric_correct_2, 1, p->rows_2, 1);
    top_each((int *)(arena + evaluate_metric_rank), batch.targets, arena + evaluate_metric_top5, p->rows_2);
    reduce_sum(arena + evaluate_metric_top5, arena + evaluate_metric_top5_2, 1, p->rows_2, 1);
}

static void evaluate(const struct evaluate_phase *p)
{
    evaluate_2(p);
    evaluate_layer1_0(p);
    evaluate_layer2_0(p);
    evaluate_layer3_0(p);
    evaluate_3(p);
    metrics[0] += *(arena + evaluate_metric_loss_2); /* loss */
    metrics[1] += *(arena + evaluate_metric_count_2); /* count */
    metrics[2] += *(arena + evaluate_metric_correct_2); /* correct */
    metrics[3] += *(arena + evaluate_metric_top5_2); /* top5 */
}

static void evaluate_setup(void)
{
    for (const struct evaluate_phase *p = evaluate_phases; p < evaluate_phases + 2; p++) {
        dnnl_conv_setup(&conv_3x3_3_8_plan_2[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 3,
            .height = 16, .width = 16, .out_channels = 8, .kernel = { 3, 3 }, .stride = { 1, 1 }, .before = { 1, 1 },
            .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = 16, .out_width = 16 });
        dnnl_conv_setup(&conv_3x3_8_8_plan_2[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 8,
            .height = 16, .width = 16, .out_channels = 8, .kernel = { 3, 3 }, .stride = { 1, 1 }, .before = { 1, 1 },
            .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = 16, .out_width = 16 });
        dnnl_conv_setup(&conv_3x3_8_16_plan_2[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 8,
            .height = 16, .width = 16, .out_channels = 16, .kernel = { 3, 3 }, .stride = { 2, 2 }, .before = { 1, 1 },
            .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = 8, .out_width = 8 });
        dnnl_conv_setup(&conv_3x3_16_16_plan_2[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 16,
            .height = 8, .width = 8, .out_channels = 16, .kernel = { 3, 3 }, .stride = { 1, 1 }, .before = { 1, 1 },
            .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = 8, .out_width = 8 });
        dnnl_conv_setup(&conv_1x1_8_16_plan_2[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 8,
            .height = 16, .width = 16, .out_channels = 16, .kernel = { 1, 1 }, .stride = { 2, 2 }, .before = { 0, 0 },
            .after = { 0, 0 }, .dilation = { 1, 1 }, .groups = 1, .out_height = 8, .out_width = 8 });
        dnnl_conv_setup(&conv_3x3_16_32_plan_2[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 16,
            .height = 8, .width = 8, .out_channels = 32, .kernel = { 3, 3 }, .stride = { 2, 2 }, .before = { 1, 1 },
            .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = 4, .out_width = 4 });
        dnnl_conv_setup(&conv_3x3_32_32_plan_2[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 32,
            .height = 4, .width = 4, .out_channels = 32, .kernel = { 3, 3 }, .stride = { 1, 1 }, .before = { 1, 1 },
            .after = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .out_height = 4, .out_width = 4 });
        dnnl_conv_setup(&conv_1x1_16_32_plan_2[p->phase], (struct conv2d_shape){ .rows = p->rows_2, .in_channels = 16,
            .height = 8, .width = 8, .out_channels = 32, .kernel = { 1, 1 }, .stride = { 2, 2 }, .before = { 0, 0 },
            .after = { 0, 0 }, .dilation = { 1, 1 }, .groups = 1, .out_height = 4, .out_width = 4 });
    }
}

/* ---- optimizer and methods --------------------------------------------------------------------- */

static void gradient_clipping_gradients(long first, long last)
{
#pragma omp parallel for
    for (int t = first; t < last; t++) {
        const long units = tensors[t].units, width = tensors[t].count / units;
        for (long from = tensors[t].at; from < tensors[t].at + tensors[t].count; from += width) {
            double gradient_clipping_gradient_squares = 0;
            for (long i = from; i < from + width; i++)
                gradient_clipping_gradient_squares += gradients[i] * gradients[i];
            double gradient_clipping_weight_squares = 0;
            for (long i = from; i < from + width; i++)
                gradient_clipping_weight_squares += weights[i] * weights[i];
            for (long i = from; i < from + width; i++) {
                const real gradient = gradients[i];
                const real t1 = 0.1f * sqrtf(gradient_clipping_weight_squares);
                const real t2 = sqrtf(gradient_clipping_gradient_squares);
                gradients[i] = gradient * (t1 < t2 ? t1 / t2 : 1.0f);
            }
        }
    }
}

static void on_gradients(void)
{
    gradient_clipping_gradients(now.first_tensor, TRAINED_TENSORS);
}

static void decoupled_sgdw_update(long first, long last)
{
#pragma omp parallel for simd
    for (long i = first; i < last; i++) {
        const real parameter = weights[i];
        const real gradient = gradients[i];
        const real velocity = decoupled_sgdw_velocity[i];
        const real t1 = 0.9f * velocity + gradient;
        weights[i] = parameter * (1.0f - (real)now.rate * 0.0005f) - 0.05f * (real)now.rate * t1;
        decoupled_sgdw_velocity[i] = t1;
    }
}

static void update(void)
{
    decoupled_sgdw_update(now.first_trained, TRAINED);
}

static void gradient_pass(const struct kind *kind);

static double fold_sam_squares(void)
{
    enum { CHUNKS = 64 };
    double part[CHUNKS], whole = 0;
    const long first = now.first_trained, count = TRAINED - first;
#pragma omp parallel for
    for (long chunk = 0; chunk < CHUNKS; chunk++) {
        double value = 0;
        for (long i = first + count * chunk / CHUNKS; i < first + count * (chunk + 1) / CHUNKS; i++)
            value += gradients[i] * gradients[i];
        part[chunk] = value;
    }
    for (long chunk = 0; chunk < CHUNKS; chunk++)
        whole += part[chunk];
    return whole;
}

static void sam_ascend(long first, long last)
{
#pragma omp parallel for simd
    for (long i = first; i < last; i++) {
        const real parameter = weights[i];
        const real gradient = gradients[i];
        weights[i] = parameter + 0.1f / (sqrtf((real)fold.sam_squares) + 1e-12f) * gradient;
        sam_here[i] = parameter;
    }
}

static void sam_descend(long first, long last)
{
#pragma omp parallel for simd
    for (long i = first; i < last; i++) {
        const real here = sam_here[i];
        weights[i] = here;
    }
}

/* ON(step) */
static void on_step(const struct kind *kind)
{
    if ((now.step + 1) % 3 == 0) {
        fold.sam_squares = fold_sam_squares();
        sam_ascend(now.first_trained, TRAINED);
        gradient_pass(kind);
        sam_descend(now.first_trained, TRAINED);
    }
}

static void ema_begin(long first, long last)
{
#pragma omp parallel for simd
    for (long i = first; i < last; i++) {
        const real parameter = weights[i];
        ema_average[i] = parameter;
    }
}

static void ema_follow(long first, long last)
{
#pragma omp parallel for simd
    for (long i = first; i < last; i++) {
        const real parameter = weights[i];
        const real average = ema_average[i];
        ema_average[i] = 0.7071067811865476f * average + 0.2928932188134524f * parameter;
    }
}

/* ON(batch_end) */
static void on_batch_end(void)
{
    if (!state.ema_begun) {
        if (!ema_average_exists)
            memcpy(ema_average, weights, sizeof(real) * WEIGHTS);
        ema_average_exists = true;
        ema_begin(0, WEIGHTS);
    }
    if (state.ema_begun && (now.step + 1) % 2 == 0) {
        if (!ema_average_exists)
            memcpy(ema_average, weights, sizeof(real) * WEIGHTS);
        ema_average_exists = true;
        ema_follow(0, WEIGHTS);
    }
    state.ema_begun = true;
}

/* ---- data -------------------------------------------------------------------------------------- */

static void draw_micro_batch(void)
{
    /* cutmix: cut */
    {
        const double t1 = (double)now.image_height;
        const long t2 = (int)floor(random_uniform(0xcffcefd91eca24bdull, now.key, batch.first_row, 0, 1) * t1);
        const double t3 = sqrt(1.0 - random_beta(1.0, 1.0, 0xcffcefd91eca24bdull, now.key, batch.first_row, 0, 0));
        const long t4 = (int)(t1 * t3) / 2;
        const double t5 = (double)now.image_width;
        const long t6 = (int)floor(random_uniform(0xcffcefd91eca24bdull, now.key, batch.first_row, 0, 2) * t5);
        const long t7 = (int)(t5 * t3) / 2;
        draw.cutmix_cut_bbox_0 = long_max(t2 - t4, 0);
        draw.cutmix_cut_bbox_1 = long_max(t6 - t7, 0);
        draw.cutmix_cut_bbox_2 = long_min(t2 + t4, now.image_height);
        draw.cutmix_cut_bbox_3 = long_min(t6 + t7, now.image_width);
    }
}

/* The row of the data set at this place of the epoch. */
static long stored_row(long place)
{
    return shuffle_index(settings.seed, now.epoch, place, train_set.rows);
}

static void prepare_shades(void)
{
    static const double mean[] = { 0, 0, 0 }, deviation[] = { 1, 1, 1 };
    for (int c = 0; c < 3; c++)
        for (int byte = 0; byte < 256; byte++)
            shade[c][byte] = (real)((byte / 255.0 - mean[c]) / deviation[c]);
}

/* A stored image (channels, height, width) as it is -> (height, width, channels), normalised. */
static void load_plain_image(const unsigned char *stored, real *image)
{
    for (long at = 0; at < 256; at++)
        for (long c = 0; c < 3; c++)
            image[at * 3 + c] = shade[c][stored[c * 256 + at]];
}

/* A stored image -> one row of the batch. */
static void load_image(const struct kind *kind, const unsigned char *stored, real *image)
{
    for (long y = 0; y < kind->height; y++) {
        const long source_y = y * 16 / kind->height;
        const long sy = source_y;
        for (long x = 0; x < kind->width; x++) {
            const long source_x = x * 16 / kind->width;
            const long sx = source_x;
            for (long c = 0; c < 3; c++) {
                const real value = shade[c][stored[(c * 16 + sy) * 16 + sx]];
                image[(y * kind->width + x) * 3 + c] = value;
            }
        }
    }
}

static void load_batch(const struct kind *kind)
{
#pragma omp parallel for
    for (long row = 0; row < kind->stored_rows; row++) {
        const long from = stored_row(now.batch_in_epoch * 16 + row);
        load_image(kind, train_set.pixels + from * 768, batch_images + row * kind->height * kind->width * 3);
        batch_targets[row] = train_set.labels[from];
    }
}

/* Each row of the micro-batch meets the row that the permutation gives it. */
static void mix(const struct kind *kind, long rows)
{
    const long size = kind->height * kind->width * 3;
    random_permutation(0x30c0a84913fc221bull, now.key, batch.first_row, rows, permutation);
#pragma omp parallel for
    for (long row = 0; row < rows; row++) {
        const real *own = batch.images + row * size, *partner = batch.images + permutation[row] * size;
        real *mixed = mixed_images + row * size;
        for (long y = 0; y < kind->height; y++) {
            for (long x = 0; x < kind->width; x++) {
                for (long c = 0; c < 3; c++) {
                    const long i = (y * kind->width + x) * 3 + c;
                    mixed[i] = draw.cutmix_cut_bbox_0 <= y && y < draw.cutmix_cut_bbox_2 && draw.cutmix_cut_bbox_1 <=
                        x && x < draw.cutmix_cut_bbox_3 ? partner[i] : own[i];
                }
            }
        }
        mixed_targets[row] = batch.targets[permutation[row]];
    }
    batch.images = mixed_images;
    batch.partner_targets = mixed_targets;
}

/* The gradient of the batch at the weights as they are: its micro-batches, each weighted by its
 * rows. */
static void gradient_pass(const struct kind *kind)
{
    batch.first_row = 0;
    batch.is_first = true;
    batch.loss = 0;
    for (int part = 0; part < kind->part_count; part++) {
        for (int k = 0; k < kind->parts[part].count; k++) {
            const long rows = kind->parts[part].rows;
            batch.images = batch_images + batch.first_row * kind->height * kind->width * 3;
            batch.targets = batch_targets + batch.first_row;
            batch.share = (real)rows / (real)kind->rows;
            draw_micro_batch();
            mix(kind, rows);
            train(&train_phases[kind->parts[part].phase]);
            batch.first_row += rows;
            batch.is_first = false;
        }
    }
    on_gradients();
}

/* One step: gradient, what methods do between, update. Returns the loss before the step. */
static double train_batch(const struct kind *kind)
{
    now.key = now.step;
    now.first_trained = kind->first_trained;
    now.first_tensor = kind->first_tensor;
    now.image_height = kind->height;
    now.image_width = kind->width;
    load_batch(kind);
    gradient_pass(kind);
    const double loss = batch.loss;
    on_step(kind);
    update();
    on_batch_end();
    return loss;
}

/* ---- the run ----------------------------------------------------------------------------------- */

static void read_settings(int count, char **arguments)
{
    static const struct setting rows[] = {
        { "root", SETTING_TEXT, &settings.root, "folder that the recipe's relative paths start from" },
        { "run_folder", SETTING_TEXT, &settings.run_folder, "where metrics.jsonl and model.safetensors are written" },
        { "seed", SETTING_WHOLE, &settings.seed, "of all random numbers" },
        { "stop_after", SETTING_BATCHES, &settings.stop_after, "end early, after so many batches" },
        { "eval_interval", SETTING_BATCHES, &settings.eval_interval, "between evaluations; 0: only at the end" },
        { "log_interval", SETTING_WHOLE, &settings.log_interval, "batches between lines of metrics.jsonl" },
        { "save", SETTING_TRUTH, &settings.save, "write model.safetensors at the end" },
        { "--describe", SETTING_FLAG, &settings.describe, "print what this program is, as JSON" },
    };
    static const char *const fixed[] = { "model", "dataset", "max_duration", "batch_size", "eval_batch_size",
        "grad_accum",
        "optimizer", "schedule", "methods", "loss", "precision", "initializers", "scale_schedule_ratio", "compat" };
    static const struct settings_table table = {
        .about = "slice: trains resnet_cifar on synthetic",
        .rows = rows, .count = sizeof rows / sizeof *rows, .fixed = fixed, .fixed_count = sizeof fixed / sizeof *fixed,
        .command = "composer-gen tests/golden/slice.yaml -o tests/golden/slice.c", .batches = STEPS,
            .batches_per_epoch = BATCHES_PER_EPOCH,
    };
    settings_read(&table, count, arguments);
}

/* The data is checked against the sizes that this program was made for. */
static void open_data(void)
{
    train_set = synthetic_images(0, 70, 3, 16, 16, 10);
    test_set = synthetic_images(70, 17, 3, 16, 16, 10);
    prepare_shades();
}

static void load_test(long first, long rows)
{
#pragma omp parallel for
    for (long row = 0; row < rows; row++) {
        load_plain_image(test_set.pixels + (first + row) * 768, batch_images + row * 768);
        batch_targets[row] = test_set.labels[first + row];
    }
    batch.images = batch_images;
    batch.targets = batch_targets;
}

/* Every sample of the test set once, with the weights that the run would be judged by. */
static void evaluate_all(void)
{
    const double began = seconds_now();
    char passed[32];
    real *const trained = weights;
    if (ema_average_exists)
        weights = ema_average;
    memset(metrics, 0, sizeof metrics);
    for (long first = 0; first < 17; first += 16) {
        const bool whole = first + 16 <= 17;
        load_test(first, whole ? 16 : 1);
        evaluate(&evaluate_phases[!whole]);
    }
    weights = trained;
    const double count = metrics[1] > 0 ? metrics[1] : 1;
    metrics_begin(&log_file);
    metrics_add(&log_file, "step", (double)now.step);
    metrics_add(&log_file, "epoch", (double)now.epoch);
    metrics_add(&log_file, "metrics/eval/CrossEntropy", metrics[0] / count);
    metrics_add(&log_file, "metrics/eval/MulticlassAccuracy", metrics[2] / count);
    metrics_add(&log_file, "metrics/eval/MulticlassTop5Accuracy", metrics[3] / count);
    metrics_add(&log_file, "time/val", seconds_now() - began);
    metrics_end(&log_file);
    progress_line(&progress, "batch %ld  test  loss %.4f  accuracy %.2f %%  top five %.2f %%  (%s)", now.step,
        metrics[0] / count, metrics[2] / count * 100, metrics[3] / count * 100, duration_text(passed,
        seconds_now() - progress.start));
}

static void save(const char *name, const real *from)
{
    static struct tensor_to_write list[TENSORS];
    char path[4096], error[ERROR_LENGTH];
    for (int t = 0; t < TENSORS; t++)
        list[t] = (struct tensor_to_write){ tensors[t].name, tensors[t].rank, tensors[t].shape, from + tensors[t].at };
    snprintf(path, sizeof path, "%s/%s", settings.run_folder, name);
    if (!safetensors_write(path, list, TENSORS, error))
        fail(EXIT_SAVE, "%s", error);
    printf("weights in %s\n", path);
}

static void save_all(void)
{
    save("model.safetensors", weights);
    if (ema_average_exists)
        save("averaged.safetensors", ema_average);
}

/* The factor of the learning rate in this step. */
static double rate_now(void)
{
    return now.step < 4 ? (double)now.step / 4.0 : (1.0 + cos(3.141592653589793 * fmin(1.0,
        (double)(now.step - 4) / 16.0))) / 2.0;
}

static void log_step(double loss, double seconds, long rows)
{
    const double speed = seconds > 0 ? (double)rows / seconds : 0;
    if (now.step % settings.log_interval == 0) {
        metrics_begin(&log_file);
        metrics_add(&log_file, "step", (double)now.step);
        metrics_add(&log_file, "epoch", (double)now.epoch);
        metrics_add(&log_file, "loss/train/total", loss);
        metrics_add(&log_file, "lr-decoupled_sgdw/group0", 0.05 * now.rate);
        metrics_add(&log_file, "throughput/samples_per_sec", speed);
        metrics_add(&log_file, "time/total", seconds_now() - progress.start);
        metrics_end(&log_file);
    }
    if (progress_due(&progress, now.step + 1)) {
        char text[128];
        snprintf(text, sizeof text, "epoch %ld  loss %.4f  %.0f images/s", now.epoch + 1, loss, speed);
        progress_show(&progress, now.step + 1, text);
    }
}

static void step(const struct kind *kind)
{
    const double began = seconds_now();
    now.rate = rate_now();
    const double loss = train_batch(kind);
    if (!isfinite(loss))
        fail(EXIT_NUMBERS,
            "the loss is %g in step %ld of epoch %ld (learning rate %g): a smaller rate or clipping may help", loss,
             now.step, now.epoch + 1, 0.05 * now.rate);
    log_step(loss, seconds_now() - began, kind->rows);
    now.step++;
    if (++now.batch_in_epoch == BATCHES_PER_EPOCH) {
        now.batch_in_epoch = 0;
        now.epoch++;
    }
}

static void train_run(void)
{
    progress_start(&progress, 0, settings.stop_after, 5);
    long evaluated = -1;
    for (int s = 0; s < STRETCHES && now.step < settings.stop_after; s++) {
        for (long b = 0; b < run[s].batches && now.step < settings.stop_after; b++) {
            step(&kinds[run[s].kind]);
            if (settings.eval_interval && now.step % settings.eval_interval == 0) {
                evaluate_all();
                evaluated = now.step;
            }
        }
    }
    if (evaluated != now.step)
        evaluate_all();
}

static void describe(void)
{
    puts("{\"name\": \"slice\", \"model\": \"resnet_cifar\", \"dataset\": \"synthetic\", \"precision\": \"fp32\", \"parameters\": 19954, \"tensors\": 47, \"steps\": 20, \"batches_per_epoch\": 5, \"batch_size\": 16, \"optimizer\": \"decoupled_sgdw\", \"methods\": [\"progressive_resizing\", \"cutmix\", \"label_smoothing\", \"gradient_clipping\", \"sam\", \"ema\"]}");
}

/* All the memory of the run, once. */
static void reserve(void)
{
    char *bytes = arena_map(sizeof(real) * (size_t)RESERVED);
    touch(bytes, sizeof(real) * (size_t)RESERVED);
    real *memory = (real *)bytes;
    weights = memory + 0;
    gradients = memory + 20304;
    decoupled_sgdw_velocity = memory + 40272;
    sam_here = memory + 60576;
    ema_average = memory + 80880;
    batch_images = memory + 101184;
    batch_targets = (int *)(memory + 113472);
    mixed_images = memory + 113488;
    mixed_targets = (int *)(memory + 119632);
    permutation = (int *)(memory + 119648);
    arena = memory + 119664;
}

static void setup(void)
{
    train_setup();
    evaluate_setup();
}

static void greet(void)
{
    char memory[32];
    table_row("model", "resnet_cifar, 19954 parameters");
    table_row("data", "synthetic, 70 to train on, 17 to test");
    table_row("run", "20 batches of 16, 5 an epoch");
    table_row("optimizer", "decoupled_sgdw, learning rate 0.05");
    table_row("methods", "progressive_resizing, cutmix, label_smoothing, gradient_clipping, sam, ema");
    table_row("memory", "%s", bytes_text(memory, sizeof(real) * (double)RESERVED));
    table_row("log", "%s/metrics.jsonl", settings.run_folder);
}

int main(int count, char **arguments)
{
    read_settings(count, arguments);
    if (settings.describe) {
        describe();
        return 0;
    }
    if (settings.log_interval < 1)
        fail(EXIT_USAGE, "log_interval must be at least 1");
    if (settings.stop_after > STEPS)
        settings.stop_after = STEPS;
    random_seed((uint64_t)settings.seed);
    open_data();
    reserve();
    setup();
    initialize();
    if (!folder_make(settings.run_folder))
        fail(EXIT_SAVE, "can't make the folder %s", settings.run_folder);
    char path[4096];
    snprintf(path, sizeof path, "%s/metrics.jsonl", settings.run_folder);
    metrics_open(&log_file, path, false);
    greet();
    train_run();
    if (settings.save)
        save_all();
    return 0;
}

/* ---- runtime: the same in every program ---- */

static bool error_text(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, ERROR_LENGTH, format, arguments);
    va_end(arguments);
    return false;
}

enum { SYNTHETIC_PATTERN = 1, SYNTHETIC_NOISE = 2, SYNTHETIC_LABEL = 3 };       /* sites; real ones are hashes */

/* Sixteen random bytes at once. */
static void synthetic_bytes(uint64_t site, int64_t row, unsigned char *bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i += 16) {
        const struct random_words words = random_at(site, 0, row, i / 16, RANDOM_UNIFORM, 0);
        for (int k = 0; k < 16 && i + k < count; k++)
            bytes[i + k] = (unsigned char)(words.word[k / 4] >> k % 4 * 8);
    }
}

static struct image_set synthetic_images(int64_t first, int64_t rows, int channels, int height, int width, int classes)
{
    const int64_t size = (int64_t)channels * height * width;
    unsigned char *patterns = (unsigned char *)memory_get((size_t)(classes * size), "synthetic patterns");
    unsigned char *pixels = (unsigned char *)memory_get((size_t)(rows * size), "synthetic images");
    int *labels = (int *)memory_get((size_t)rows * sizeof *labels, "synthetic labels");
    for (int64_t c = 0; c < classes; c++)
        synthetic_bytes(SYNTHETIC_PATTERN, c, patterns + c * size, size);
    for (int64_t row = 0; row < rows; row++) {
        const struct random_words words = random_at(SYNTHETIC_LABEL, 0, first + row, 0, RANDOM_INTEGER, 0);
        unsigned char *image = pixels + row * size;
        labels[row] = (int)((uint64_t)words.word[0] * (uint64_t)classes >> 32);
        const unsigned char *pattern = patterns + labels[row] * size;
        synthetic_bytes(SYNTHETIC_NOISE, first + row, image, size);
        for (int64_t i = 0; i < size; i++)
            image[i] = (unsigned char)((image[i] + pattern[i]) / 2);
    }
    free(patterns);
    struct image_set set = { rows, channels, height, width, pixels, labels };
    return set;
}

static void fail(int code, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fputs("train: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(code);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static const char *duration_text(char *text, double seconds)
{
    const long long whole = seconds < 3e15 ? (long long)seconds : 0;
    if (seconds < 10)
        snprintf(text, 32, "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(text, 32, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(text, 32, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}

static const char *number_text(char *text, double value)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

static bool folder_make(const char *path)
{
    char part[4096];
    struct stat status;
    const size_t length = strlen(path);
    if (length >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1; i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return false;
    }
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    errno = ENOTDIR;
    return false;
}

static void metrics_fail(struct metrics *metrics)
{
    if (!metrics->failed)
        fprintf(stderr, "train: can't write %s: %s; the run goes on without it\n", metrics->path, strerror(errno));
    metrics->failed = true;
}

static void metrics_open(struct metrics *metrics, const char *path, bool append)
{
    metrics->path = path;
    metrics->length = 0;
    metrics->failed = false;
    metrics->file = fopen(path, append ? "a" : "w");
    if (!metrics->file)
        metrics_fail(metrics);
}

static void metrics_begin(struct metrics *metrics)
{
    metrics->length = 0;
}

/* One byte stays free for the brace, one for the line's end, one for the zero. */
static void metrics_put(struct metrics *metrics, const char *text)
{
    const int length = (int)strlen(text), room = (int)sizeof metrics->line - 3 - metrics->length;
    memcpy(metrics->line + metrics->length, text, (size_t)(length < room ? length : room));
    metrics->length += length < room ? length : room;
}

/* A text in quotes. */
static void metrics_quote(struct metrics *metrics, const char *text)
{
    char piece[8];
    metrics_put(metrics, "\"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        snprintf(piece, sizeof piece, c < 0x20 ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
        metrics_put(metrics, piece);
    }
    metrics_put(metrics, "\"");
}

static void metrics_name(struct metrics *metrics, const char *name)
{
    metrics_put(metrics, metrics->length ? ", " : "{");
    metrics_quote(metrics, name);
    metrics_put(metrics, ": ");
}

static void metrics_add(struct metrics *metrics, const char *name, double value)
{
    char text[32];
    metrics_name(metrics, name);
    metrics_put(metrics, isfinite(value) ? number_text(text, value) : "null");
}

static void metrics_end(struct metrics *metrics)
{
    if (!metrics->file || metrics->failed)
        return;
    if (metrics->length == 0)
        metrics_put(metrics, "{");
    metrics->line[metrics->length++] = '}';
    metrics->line[metrics->length++] = '\n';
    if (fwrite(metrics->line, 1, (size_t)metrics->length, metrics->file) != (size_t)metrics->length
        || fflush(metrics->file) != 0)
        metrics_fail(metrics);
}

static void progress_start(struct progress *progress, int64_t first, int64_t total, double interval)
{
    progress->first = first;
    progress->total = total;
    progress->interval = interval;
    progress->start = seconds_now();
    progress->said = progress->start - interval;
    progress->bar = isatty(STDOUT_FILENO);
}

static bool progress_due(const struct progress *progress, int64_t done)
{
    const double quiet = seconds_now() - progress->said;
    return done >= progress->total || quiet >= (progress->bar ? 0.1 : progress->interval);
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/* "[####----]  12/40  0:31 left  TEXT", cut at the terminal's edge */
static void show_bar(int64_t done, int64_t total, const char *left, const char *text)
{
    enum { CELLS = 24 };
    char line[512];
    char bar[CELLS + 1];
    const int full = total > 0 ? (int)(done * CELLS / total) : CELLS;
    memset(bar, '-', CELLS);
    memset(bar, '#', (size_t)(full < CELLS ? full : CELLS));
    bar[CELLS] = 0;
    snprintf(line, sizeof line, "[%s] %lld/%lld  %s left  %s", bar, (long long)done, (long long)total, left, text);
    printf("\r\033[K%.*s%s", terminal_width() - 1, line, done >= total ? "\n" : "");
}

static void progress_show(struct progress *progress, int64_t done, const char *text)
{
    char left[32];
    const double now = seconds_now(), done_here = done > progress->first ? (double)(done - progress->first) : 1;
    const double each = (now - progress->start) / done_here;
    duration_text(left, each * (double)(progress->total - done));
    if (progress->bar)
        show_bar(done, progress->total, left, text);
    else
        printf("%lld/%lld  %s left  %s\n", (long long)done, (long long)progress->total, left, text);
    fflush(stdout);
    progress->said = now;
}

static void progress_line(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    if (progress->bar)
        fputs("\r\033[K", stdout);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

static void table_row(const char *name, const char *format, ...)
{
    va_list arguments;
    printf("  %-24s", name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static const char *bytes_text(char *text, double bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
    int unit = 0;
    for (; bytes >= 1024 && unit < 5; unit++)
        bytes /= 1024;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

/* The number behind `key` in a file of the kernel ("" for the first), -1 when there is none. */
static double kernel_number(const char *path, const char *key)
{
    char line[256];
    double value = -1;
    FILE *file = fopen(path, "r");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%lf", &value) != 1)
            value = -1;
    if (file)
        fclose(file);
    return value;
}

/* What the machine, or the container we are in, can still give. */
static double memory_available(void)
{
    double available = kernel_number("/proc/meminfo", "MemAvailable:") * 1024;
    double limit = kernel_number("/sys/fs/cgroup/memory.max", "");
    if (limit >= 0 && (available < 0 || limit < available))
        available = limit;
    return available;
}

static char *arena_map(size_t bytes)
{
    const size_t page = (size_t)2 << 20;
    const double available = memory_available();
    char wanted[32], there[32];
    if (available >= 0 && (double)bytes > available)
        fail(EXIT_MEMORY, "the plan needs %s (%zu bytes), %s are available", bytes_text(wanted, (double)bytes), bytes,
             bytes_text(there, available));
    void *memory = bytes > SIZE_MAX - page ? MAP_FAILED
                 : mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail(EXIT_MEMORY, "the plan needs %s (%zu bytes), which the system refuses: %s", bytes_text(wanted, (double)bytes),
             bytes, strerror(bytes > SIZE_MAX - page ? ENOMEM : errno));
    char *aligned = (char *)(((uintptr_t)memory + page - 1) / page * page);
    madvise(aligned, bytes, MADV_HUGEPAGE);     /* a wish: without it everything works, slower */
    return aligned;
}

static void touch(char *memory, size_t bytes)
{
#pragma omp parallel for schedule(static)
    for (long page = 0; page < (long)((bytes + 4095) / 4096); page++)
        memory[page * 4096] = 0;
}

static void *memory_get(size_t bytes, const char *what)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        fail(EXIT_MEMORY, "no memory for %s: %zu bytes", what, bytes);
    return memory;
}

static void dnnl_check(dnnl_status_t status, const char *doing)
{
    static const char *const words[] = { "success", "no memory", "invalid arguments", "not implemented" };
    if (status != dnnl_success)
        fail(status == dnnl_out_of_memory ? EXIT_MEMORY : EXIT_DEVICE, "oneDNN: %s: status %d (%s)", doing, (int)status,
             (int)status < 4 ? words[(int)status] : "see dnnl_status_t");
}

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

static void dnnl_conv_forward(struct dnnl_conv *plan, const float *x, const float *w, float *y)
{
    if (!plan->forward.primitive)
        dnnl_conv_make(plan, &plan->forward, DNNL_FORWARD);
    dnnl_conv_run(&plan->forward, DNNL_FORWARD, x, w, y);
}

static void dnnl_conv_grad_input(struct dnnl_conv *plan, const float *dy, const float *w, float *dx)
{
    if (!plan->grad_input.primitive)
        dnnl_conv_make(plan, &plan->grad_input, DNNL_GRAD_INPUT);
    dnnl_conv_run(&plan->grad_input, DNNL_GRAD_INPUT, dx, w, dy);
}

static void dnnl_conv_grad_weight(struct dnnl_conv *plan, const float *dy, const float *x, float *dw)
{
    if (!plan->grad_weight.primitive)
        dnnl_conv_make(plan, &plan->grad_weight, DNNL_GRAD_WEIGHT);
    dnnl_conv_run(&plan->grad_weight, DNNL_GRAD_WEIGHT, x, dw, dy);
}

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

/* The seed's bits spread over the key (splitmix64's finaliser: a bijection). */
static void random_seed(uint64_t seed)
{
    uint64_t bits = seed + 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    random_key = bits ^ bits >> 31;
}

static struct random_words philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xd2511f53u * c0, b = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    struct random_words words = { { c0, c1, c2, c3 } };
    return words;
}

static struct random_words random_at(uint64_t site, int64_t step, int64_t row, int64_t element, uint32_t kind, uint32_t ordinal)
{
    const uint32_t beyond = (uint32_t)((uint64_t)element >> 32) & 0xff;
    return philox(random_key ^ site, (uint32_t)element, (uint32_t)row, (uint32_t)step, kind << 30 | beyond << 22 | ordinal);
}

static float random_uniform(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal)
{
    const struct random_words words = random_at(site, step, row, element, RANDOM_UNIFORM, (uint32_t)ordinal / 4);
    return (float)(words.word[ordinal & 3] >> 8) * (1.0f / 16777216);
}

static double random_double(uint32_t high, uint32_t low)
{
    const uint64_t bits = (uint64_t)high << 20 | low >> 12;
    return ((double)bits + 0.5) * (1.0 / 4503599627370496.0);
}

/* The logarithm of a Gamma(shape) number: Marsaglia and Tsang 2000 for shapes of at least 1, below by
 * Gamma(shape) = Gamma(shape + 1) u^(1 / shape), which underflows unless it stays a logarithm. Attempts are numbered from
 * `attempt`; the first call uses up one of them for u. */
static double log_gamma_variate(double shape, uint64_t site, int64_t step, int64_t row, int64_t element, uint32_t attempt)
{
    double boost = 0;
    if (shape < 1) {
        const struct random_words words = random_at(site, step, row, element, RANDOM_BETA, attempt++);
        boost = log(random_double(words.word[0], words.word[1])) / shape;
        shape += 1;
    }
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;; attempt++) {
        const struct random_words words = random_at(site, step, row, element, RANDOM_BETA, attempt);
        const double radius = sqrt(-2 * log(random_double(words.word[0], 0)));
        const double x = radius * cos(6.283185307179586477 * random_double(words.word[1], 0));
        const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        if (v > 0 && log(random_double(words.word[2], words.word[3])) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d * v) + boost;
    }
}

static double random_beta(double a, double b, uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal)
{
    const uint32_t first = (uint32_t)ordinal << 13;     /* 4096 attempts each: every one succeeds 19 times in 20 */
    const double x = log_gamma_variate(a, site, step, row, element, first);
    const double y = log_gamma_variate(b, site, step, row, element, first + 4096);
    return 1 / (1 + exp(y - x));
}

/* The high half of 64 random bits times `below` (Lemire 2019); the bias is less than below / 2^64. */
static int64_t random_integer(int64_t below, uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal)
{
    const struct random_words words = random_at(site, step, row, element, RANDOM_INTEGER, (uint32_t)ordinal);
    const uint64_t bits = (uint64_t)words.word[0] << 32 | words.word[1];
    return (int64_t)((unsigned __int128)bits * (uint64_t)below >> 64);
}

/* Fisher and Yates, from the end */
static void random_permutation(uint64_t site, int64_t step, int64_t row, int64_t count, int *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (int)i;
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t other = random_integer(i + 1, site, step, row, i, 0);
        const int kept = out[i];
        out[i] = out[other];
        out[other] = kept;
    }
}

static int by_tensor_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor_to_write *)a)->name, ((const struct tensor_to_write *)b)->name);
}

static long tensor_elements(const struct tensor_to_write *tensor)
{
    long count = 1;
    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static void write_text(FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20)
            fprintf(file, "\\u%04x", (unsigned char)*text);
        else
            putc(*text, file);
}

/* Length first, 0 where it is not known yet; spaces fill it up so that the tensors begin at a multiple of 8. */
static void write_header(FILE *file, const struct tensor_to_write *tensors, int count)
{
    const char *type = sizeof(real) == 4 ? "F32" : "F64";
    long long at = 0;
    unsigned char length[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    fwrite(length, 1, 8, file);
    fputs("{\"__metadata__\":{\"format\":\"pt\"}", file);
    for (int t = 0; t < count; t++) {
        fputs(",\"", file);
        write_text(file, tensors[t].name);
        fprintf(file, "\":{\"dtype\":\"%s\",\"shape\":[", type);
        for (int i = 0; i < tensors[t].rank; i++)
            fprintf(file, "%s%ld", i ? "," : "", tensors[t].shape[i]);
        const long long end = at + (long long)tensor_elements(&tensors[t]) * (long long)sizeof(real);
        fprintf(file, "],\"data_offsets\":[%lld,%lld]}", at, end);
        at = end;
    }
    putc('}', file);
    while (ftell(file) % 8)
        putc(' ', file);
    const long end = ftell(file);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((unsigned long)(end - 8) >> 8 * i);
    fseek(file, 0, SEEK_SET);
    fwrite(length, 1, 8, file);
    fseek(file, end, SEEK_SET);
}

static void sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    const int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return;
    fsync(handle);
    close(handle);
}

static bool safetensors_write(const char *path, struct tensor_to_write *tensors, int count, char *error)
{
    char beside[4096];
    if (snprintf(beside, sizeof beside, "%s.tmp", path) >= (int)sizeof beside)
        return error_text(error, "the path is too long: %.300s...", path);
    FILE *file = fopen(beside, "wb");
    if (!file)
        return error_text(error, "can't write %s: %s", beside, strerror(errno));
    qsort(tensors, (size_t)count, sizeof *tensors, by_tensor_name);
    write_header(file, tensors, count);
    for (int t = 0; t < count; t++)
        fwrite(tensors[t].values, sizeof(real), (size_t)tensor_elements(&tensors[t]), file);
    bool fine = fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
    int why = errno;
    if (fclose(file) != 0 && fine) {
        fine = false;
        why = errno;
    }
    if (fine && rename(beside, path) != 0) {
        fine = false;
        why = errno;
    }
    if (!fine) {
        unlink(beside);
        return error_text(error, "can't write %s: %s", path, strerror(why));
    }
    sync_folder(path);
    return true;
}

static void print_default(const struct setting *row)
{
    const char *text = row->kind == SETTING_TEXT ? *(const char *const *)row->value : NULL;
    if (text && *text)
        printf(" (%s)", text);
    if (row->kind == SETTING_WHOLE || (row->kind == SETTING_BATCHES && *(const int64_t *)row->value))
        printf(" (%lld%s)", (long long)*(const int64_t *)row->value, row->kind == SETTING_BATCHES ? "ba" : "");
    if (row->kind == SETTING_NUMBER)
        printf(" (%g)", *(const double *)row->value);
    if (row->kind == SETTING_TRUTH)
        printf(" (%s)", *(const bool *)row->value ? "true" : "false");
}

static void print_help(const struct settings_table *table)
{
    static const char *const kinds[] = { "TEXT", "NUMBER", "NUMBER", "true|false", "TIME", "" };
    printf("%s\n\nusage: train [key=value ...]\n\n", table->about);
    for (int i = 0; i < table->count; i++) {
        const struct setting *row = &table->rows[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", row->key, row->kind == SETTING_FLAG ? "" : "=", kinds[row->kind]);
        printf("  %-28s %s", left, row->help);
        print_default(row);
        putchar('\n');
    }
    printf("  %-28s %s\n\nTimes: 100ba (batches), 2ep (epochs), 0.5dur (a part of the run).\n", "--help", "this list");
    printf("Everything else is fixed at generation time: %s\n", table->command);
}

/* ---- names ---- */

static int smallest(int a, int b, int c)
{
    const int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance */
static int word_distance(const char *a, const char *b)
{
    enum { LONGEST = 48 };
    int row[LONGEST + 1];
    const int width = (int)strlen(b);
    if (width > LONGEST)
        return LONGEST;
    for (int j = 0; j <= width; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= width; j++) {
            const int above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1]));
            corner = above;
        }
    }
    return row[width];
}

static const char *nearest_key(const struct settings_table *table, const char *key)
{
    const char *nearest = NULL;
    int least = 3;
    for (int i = 0; i < table->count; i++) {
        const int distance = word_distance(key, table->rows[i].key);
        if (distance < least || (distance == least && !nearest)) {
            least = distance;
            nearest = table->rows[i].key;
        }
    }
    return nearest;
}

/* "optimizer.adamw.lr" belongs to "optimizer". */
static bool is_fixed(const struct settings_table *table, const char *key)
{
    for (int i = 0; i < table->fixed_count; i++) {
        const size_t length = strlen(table->fixed[i]);
        if (strncmp(key, table->fixed[i], length) == 0 && (key[length] == 0 || key[length] == '.'))
            return true;
    }
    return false;
}

static bool unknown_setting(const struct settings_table *table, const char *key, const char *argument)
{
    const char *nearest = nearest_key(table, key);
    if (is_fixed(table, key))
        fprintf(stderr, "train: %s is fixed at generation time; regenerate with: %s %s\n", key, table->command, argument);
    else if (nearest)
        fprintf(stderr, "train: there is no setting '%s'; did you mean '%s'?\n", key, nearest);
    else
        fprintf(stderr, "train: there is no setting '%s'; --help lists them\n", key);
    return false;
}

/* ---- values ---- */

static bool read_whole(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return isdigit((unsigned char)*text) && *end == 0 && errno == 0;
}

/* `end` is behind the number. */
static bool read_number(const char *text, double *value, char **end)
{
    errno = 0;
    *value = strtod(text, end);
    return *end > text && !isspace((unsigned char)*text) && errno == 0 && isfinite(*value);
}

static bool read_truth(const char *text, bool *value)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };
    for (int i = 0; i < 8; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = i % 2;
            return true;
        }
    return false;
}

static bool read_batches(const struct settings_table *table, const char *text, int64_t *value)
{
    char *unit;
    double number;
    if (!read_number(text, &number, &unit) || number < 0)
        return false;
    if (number == 0 && *unit == 0)
        *value = 0;
    else if (strcmp(unit, "ba") == 0 && number == floor(number) && number < 9e15)
        *value = (int64_t)number;
    else if (strcmp(unit, "ep") == 0 && number * (double)table->batches_per_epoch < 9e15)
        *value = (int64_t)ceil(number * (double)table->batches_per_epoch);
    else if (strcmp(unit, "dur") == 0 && number <= 1)
        *value = (int64_t)ceil(number * (double)table->batches);
    else
        return false;
    return true;
}

static bool read_value(const struct settings_table *table, const struct setting *row, const char *text)
{
    char *end;
    double number;
    switch (row->kind) {
    case SETTING_TEXT:
        *(const char **)row->value = text;
        return true;
    case SETTING_WHOLE:
        return read_whole(text, (int64_t *)row->value);
    case SETTING_NUMBER:
        if (!read_number(text, &number, &end) || *end)
            return false;
        *(double *)row->value = number;
        return true;
    case SETTING_TRUTH:
        return read_truth(text, (bool *)row->value);
    case SETTING_BATCHES:
        return read_batches(table, text, (int64_t *)row->value);
    case SETTING_FLAG:
        break;
    }
    return false;
}

/* One argument; false after a message. */
static bool read_setting(const struct settings_table *table, const char *argument)
{
    static const char *const expected[] = { "a text", "a whole number from 0", "a number", "true or false",
                                            "a time like 100ba, 2ep or 0.5dur", "nothing" };
    const char *equals = strchr(argument, '=');
    char key[256];
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].kind == SETTING_FLAG && strcmp(argument, table->rows[i].key) == 0) {
            *(bool *)table->rows[i].value = true;
            return true;
        }
    const char *start = strncmp(argument, "--", 2) == 0 && equals ? argument + 2 : argument;
    snprintf(key, sizeof key, "%.*s", equals ? (int)(equals - start) : (int)strlen(start), start);
    for (int i = 0; i < table->count; i++) {
        const struct setting *row = &table->rows[i];
        if (strcmp(key, row->key) != 0)
            continue;
        if (equals && read_value(table, row, equals + 1))
            return true;
        fprintf(stderr, "train: %s needs %s%s%s%s\n", key, expected[row->kind], equals ? ", not '" : "", equals ? equals + 1 : "",
                equals ? "'" : "");
        return false;
    }
    return unknown_setting(table, key, argument);
}

static void settings_read(const struct settings_table *table, int count, char **arguments)
{
    int wrong = 0;
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            print_help(table);
            exit(0);
        }
    for (int i = 1; i < count; i++)
        wrong += !read_setting(table, arguments[i]);
    if (wrong)
        exit(2);
}

/* splitmix64's finaliser */
static uint64_t shuffle_mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

/* A Feistel network on 2 * half bits is a bijection of 0 .. 4^half - 1 (at least 256, so that short lists are shuffled
 * well too). Going on from numbers beyond the list until one is inside makes it a bijection of the list. */
static int64_t shuffle_index(uint64_t seed, int64_t epoch, int64_t place, int64_t count)
{
    const uint64_t key = shuffle_mix(shuffle_mix(seed + 0x9e3779b97f4a7c15u) + (uint64_t)epoch);
    int half = 4;
    while (half < 31 && (int64_t)1 << 2 * half < count)
        half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t at = (uint64_t)place;
    do {
        uint64_t left = at >> half, right = at & mask;
        for (uint64_t round = 1; round <= 6; round++) {
            const uint64_t next = left ^ (shuffle_mix(key + (right << 8 | round) * 0x9e3779b97f4a7c15u) & mask);
            left = right;
            right = next;
        }
        at = left << half | right;
    } while (at >= (uint64_t)count);
    return (int64_t)at;
}
