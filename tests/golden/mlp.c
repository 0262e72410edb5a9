/* mlp -- trains mlp on synthetic. Written by composer-gen 0.1; change the recipe rather than this file.
 *
 *     generate     composer-gen tests/golden/mlp.yaml -o tests/golden/mlp.c
 *     build        cc -O3 -march=native -fopenmp -std=gnu11 train.c -o train -lm -ldnnl
 *     model        mlp {hidden: 32, num_classes: 10}
 *     data         synthetic {image: [1, 8, 8], num_classes: 10, samples: 256, shuffle: false}, 256 samples to train
 *                  on, 64 to test
 *     run          32 steps of 16 samples, 16 an epoch
 *     precision    fp32
 *     optimizer    sgd {lr: 0.1, momentum: 0, dampening: 0, weight_decay: 0, nesterov: false}
 *     schedule     constant {alpha: 1, t_max: 1dur}
 *     weights      2410 trained, 0 running statistics
 *     work         0.004736 MFLOP forward a sample, 0.0001618 GFLOP a step
 *     memory       0.0 MiB of tensors in a step
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

/* `batch` products y (rows, columns) = a b over `depth`; a is (rows, depth) or transposed, b (depth, columns) or transposed.
 * a_batch and b_batch lie between the matrices of one operand and the next (0: the same for all). */
static void dnnl_product(const float *a, const float *b, float *y, long batch, long rows, long columns, long depth, long a_batch,
                         long b_batch, bool transpose_a, bool transpose_b);

/* In [0, 1), a multiple of 2^-24: the same in single and double precision. */
static float random_uniform(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

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

/* ---- plan -------------------------------------------------------------------------------------- */

/* Weights: the trained ones, then the running statistics; each row-major as in its file. */
enum {
    fc1_weight = 0, /* (32, 64) */
    fc1_bias = 2048, /* (32) */
    fc2_weight = 2080, /* (10, 32) */
    fc2_bias = 2400, /* (10) */
    TRAINED = 2410,
    WEIGHTS = 2410,
    TRAINED_TENSORS = 4,
    TENSORS = 4,
};
static real *weights, *gradients;

/* Their names in files. `units`: output units, the rows of axis 0 (1 for vectors). */
static const struct tensor {
    const char *name;
    long at, count, units;
    int rank;
    long shape[6];
} tensors[4] = {
    { "fc1.weight", fc1_weight, 2048, 32, 2, { 32, 64 } },
    { "fc1.bias", fc1_bias, 32, 1, 1, { 32 } },
    { "fc2.weight", fc2_weight, 320, 10, 2, { 10, 32 } },
    { "fc2.bias", fc2_bias, 10, 1, 1, { 10 } },
};

/* train: where its tensors lie in the arena, in reals */
enum {
    fc1_product = 0, /* (16, 32) */
    fc1 = 512, /* (16, 32) */
    relu = 0, /* (16, 32) */
    fc2_product = 1024, /* (16, 10) */
    fc2 = 1536, /* (16, 10) */
    loss_cross_entropy = 1024, /* (16) */
    loss_count = 1040, /* (16) */
    loss_count_2 = 1056, /* (1) */
    loss_sum = 1040, /* (16) */
    loss_sum_2 = 1024, /* (1) */
    loss = 1856, /* () */
    d_loss = 1024, /* () */
    d_loss_sum = 1040, /* (16) */
    d_loss_cross_entropy = 1696, /* (16, 10) */
    d_fc2_product = 1024, /* (16, 32) */
    d_relu = 0, /* (16, 32) */
};
static double metrics[4]; /* sums over the test set */

/* evaluate: where its tensors lie in the arena, in reals */
enum {
    evaluate_fc1_product = 0, /* (16, 32) */
    evaluate_fc1 = 512, /* (16, 32) */
    evaluate_relu = 0, /* (16, 32) */
    evaluate_fc2_product = 512, /* (16, 10) */
    evaluate_fc2 = 0, /* (16, 10) */
    evaluate_loss_cross_entropy = 160, /* (16) */
    evaluate_metric_loss = 176, /* (16) */
    evaluate_metric_loss_2 = 160, /* (1) */
    evaluate_metric_count = 176, /* (16) */
    evaluate_metric_count_2 = 192, /* (1) */
    evaluate_metric_rank = 176, /* (16) int */
    evaluate_metric_correct = 208, /* (16) */
    evaluate_metric_correct_2 = 224, /* (1) */
    evaluate_metric_top5 = 208, /* (16) */
    evaluate_metric_top5_2 = 176, /* (1) */
};

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
} kinds[1] = {
    { 16, 16, 0, 0, 8, 8, 0, 0, -1, 0, 0, 0, 1, { { 1, 0, 16 } } },
};

/* The run: so many batches of a kind, then the next. */
static const struct stretch { long batches; int kind; } run[1] = {
    { 32, 0 },
};
enum { STEPS = 32, BATCHES_PER_EPOCH = 16, STRETCHES = 1 };

/* The micro-batch that a step reads, and what it gives back. */
static struct {
    const real *images;
    const int *targets;
    real share; /* of this micro-batch in the loss of its batch */
    bool is_first;
    long first_row;
    double loss;
} batch;
static real *batch_images;
static int *batch_targets;
static struct image_set train_set, test_set;

/* Normalisation: (byte / 255 - mean) / deviation, a table a channel. */
static real shade[1][256];

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
    .run_folder = "runs/mlp",
    .seed = 17,
    .stop_after = STEPS,
    .eval_interval = 16,
    .log_interval = 1,
    .save = true,
};
static struct metrics log_file;
static struct progress progress;
static real *arena; /* tensors of a step, at the offsets above */
enum { ARENA = 1872, RESERVED = 7744 }; /* reals */

/* Where the run is. */
static struct {
    long step;
    long key; /* of random values: the step, its complement when drawn again */
    long epoch;
    long batch_in_epoch;
    long first_trained;
    long first_tensor;
    double rate;
} now;

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
        w[i] = -0.125f + 0.25f * (real)random_uniform(site, 0, 0, i, 0);
}

static void initial_2(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = -0.17677669529663687f + 0.35355339059327373f * (real)random_uniform(site, 0, 0, i, 0);
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

/* max(in0, 0.0) */
static void relu_each(const real *x, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = real_max(x[i], 0.0f);
    }
}

/* loss = sum over classes of weight * (log of the sum of exp(x) - x) */
static void cross_entropy(const real *logits, const int *class,
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
                               const real *drow, real *dlogits, long rows, long classes,
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
        const real scale = (real)(drow[k] * total / sum);
        for (long c = 0; c < classes; c++)
            to[c] = scale * real_exp(row[c] - most);
        to[class[k]] -= drow[k] * weight;
    }
}

/* mul(in0, select(lt(0.0, in1), 1.0, 0.0)) */
static void d_relu_each(const real *x1, const real *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = x1[i] * (0.0f < x2[i] ? 1.0f : 0.0f);
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
    initial(weights + fc1_weight, 2048, 0x0fc5ab63896269edull);
    initial(weights + fc1_bias, 32, 0xf5520dd67c4e4538ull);
    initial_2(weights + fc2_weight, 320, 0xd91a87c0722174d6ull);
    initial_2(weights + fc2_bias, 10, 0x9025e524e4887e83ull);
}

static void initialize(void)
{
    initialize_1();
}

/* ---- steps ------------------------------------------------------------------------------------- */

static void forward(void)
{
    dnnl_product(batch.images, weights + fc1_weight, arena + fc1_product, 1, 16, 32, 64, 0, 0, false, true);
    fc_each(arena + fc1_product, weights + fc1_bias, arena + fc1, 16, 32);
    relu_each(arena + fc1, arena + relu, 512);
    dnnl_product(arena + relu, weights + fc2_weight, arena + fc2_product, 1, 16, 10, 32, 0, 0, false, true);
    fc_each(arena + fc2_product, weights + fc2_bias, arena + fc2, 16, 10);
    cross_entropy(arena + fc2, batch.targets, arena + loss_cross_entropy, 16, 10, -100);
    count_each(batch.targets, arena + loss_count, 16);
    reduce_sum(arena + loss_count, arena + loss_count_2, 1, 16, 1);
    sum_each(arena + loss_cross_entropy, batch.targets, arena + loss_sum, 16);
    reduce_sum(arena + loss_sum, arena + loss_sum_2, 1, 16, 1);
    loss_each(arena + loss_sum_2, arena + loss_count_2, arena + loss, 1);
}

static void backward(void)
{
    d_loss_each(&batch.share, arena + loss_count_2, arena + d_loss, 1);
    d_sum_each(arena + d_loss, batch.targets, arena + d_loss_sum, 16);
    cross_entropy_grad(arena + fc2, batch.targets, arena + d_loss_sum, arena + d_loss_cross_entropy, 16, 10, -100);
    reduce_sum(arena + d_loss_cross_entropy, gradients + fc2_bias, 1, 16, 10);
    dnnl_product(arena + d_loss_cross_entropy, weights + fc2_weight, arena + d_fc2_product, 1, 16, 32, 10, 0, 0, false,
        false);
    dnnl_product(arena + d_loss_cross_entropy, arena + relu, gradients + fc2_weight, 1, 10, 32, 16, 160, 0, true,
        false);
    d_relu_each(arena + d_fc2_product, arena + fc1, arena + d_relu, 512);
    reduce_sum(arena + d_relu, gradients + fc1_bias, 1, 16, 32);
    dnnl_product(arena + d_relu, batch.images, gradients + fc1_weight, 1, 32, 64, 16, 512, 0, true, false);
}

static void train(void)
{
    forward();
    backward();
    batch.loss += batch.share * *(arena + loss);
}

static void evaluate_2(void)
{
    dnnl_product(batch.images, weights + fc1_weight, arena + evaluate_fc1_product, 1, 16, 32, 64, 0, 0, false, true);
    fc_each(arena + evaluate_fc1_product, weights + fc1_bias, arena + evaluate_fc1, 16, 32);
    relu_each(arena + evaluate_fc1, arena + evaluate_relu, 512);
    dnnl_product(arena + evaluate_relu, weights + fc2_weight, arena + evaluate_fc2_product, 1, 16, 10, 32, 0, 0, false,
        true);
    fc_each(arena + evaluate_fc2_product, weights + fc2_bias, arena + evaluate_fc2, 16, 10);
    cross_entropy(arena + evaluate_fc2, batch.targets, arena + evaluate_loss_cross_entropy, 16, 10, -100);
    sum_each(arena + evaluate_loss_cross_entropy, batch.targets, arena + evaluate_metric_loss, 16);
    reduce_sum(arena + evaluate_metric_loss, arena + evaluate_metric_loss_2, 1, 16, 1);
    count_each(batch.targets, arena + evaluate_metric_count, 16);
    reduce_sum(arena + evaluate_metric_count, arena + evaluate_metric_count_2, 1, 16, 1);
    target_rank(arena + evaluate_fc2, batch.targets, (int *)(arena + evaluate_metric_rank), 16, 10, -100);
    correct_each((int *)(arena + evaluate_metric_rank), batch.targets, arena + evaluate_metric_correct, 16);
    reduce_sum(arena + evaluate_metric_correct, arena + evaluate_metric_correct_2, 1, 16, 1);
    top_each((int *)(arena + evaluate_metric_rank), batch.targets, arena + evaluate_metric_top5, 16);
    reduce_sum(arena + evaluate_metric_top5, arena + evaluate_metric_top5_2, 1, 16, 1);
}

static void evaluate(void)
{
    evaluate_2();
    metrics[0] += *(arena + evaluate_metric_loss_2); /* loss */
    metrics[1] += *(arena + evaluate_metric_count_2); /* count */
    metrics[2] += *(arena + evaluate_metric_correct_2); /* correct */
    metrics[3] += *(arena + evaluate_metric_top5_2); /* top5 */
}

/* ---- optimizer and methods --------------------------------------------------------------------- */

static void sgd_update(long first, long last)
{
#pragma omp parallel for simd
    for (long i = first; i < last; i++) {
        const real parameter = weights[i];
        const real gradient = gradients[i];
        weights[i] = parameter - 0.1f * (real)now.rate * gradient;
    }
}

static void update(void)
{
    sgd_update(now.first_trained, TRAINED);
}

/* ---- data -------------------------------------------------------------------------------------- */

/* The row of the data set at this place of the epoch. */
static long stored_row(long place)
{
    return place;
}

static void prepare_shades(void)
{
    static const double mean[] = { 0 }, deviation[] = { 1 };
    for (int c = 0; c < 1; c++)
        for (int byte = 0; byte < 256; byte++)
            shade[c][byte] = (real)((byte / 255.0 - mean[c]) / deviation[c]);
}

/* A stored image (channels, height, width) as it is -> (height, width, channels), normalised. */
static void load_plain_image(const unsigned char *stored, real *image)
{
    for (long at = 0; at < 64; at++)
        for (long c = 0; c < 1; c++)
            image[at * 1 + c] = shade[c][stored[c * 64 + at]];
}

static void load_batch(const struct kind *kind)
{
#pragma omp parallel for
    for (long row = 0; row < kind->stored_rows; row++) {
        const long from = stored_row(now.batch_in_epoch * 16 + row);
        load_plain_image(train_set.pixels + from * 64, batch_images + row * 64);
        batch_targets[row] = train_set.labels[from];
    }
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
            batch.images = batch_images + batch.first_row * kind->height * kind->width * 1;
            batch.targets = batch_targets + batch.first_row;
            batch.share = (real)rows / (real)kind->rows;
            train();
            batch.first_row += rows;
            batch.is_first = false;
        }
    }
}

/* One step: gradient, what methods do between, update. Returns the loss before the step. */
static double train_batch(const struct kind *kind)
{
    now.key = now.step;
    now.first_trained = kind->first_trained;
    now.first_tensor = kind->first_tensor;
    load_batch(kind);
    gradient_pass(kind);
    const double loss = batch.loss;
    update();
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
        .about = "mlp: trains mlp on synthetic",
        .rows = rows, .count = sizeof rows / sizeof *rows, .fixed = fixed, .fixed_count = sizeof fixed / sizeof *fixed,
        .command = "composer-gen tests/golden/mlp.yaml -o tests/golden/mlp.c", .batches = STEPS,
            .batches_per_epoch = BATCHES_PER_EPOCH,
    };
    settings_read(&table, count, arguments);
}

/* The data is checked against the sizes that this program was made for. */
static void open_data(void)
{
    train_set = synthetic_images(0, 256, 1, 8, 8, 10);
    test_set = synthetic_images(256, 64, 1, 8, 8, 10);
    prepare_shades();
}

static void load_test(long first, long rows)
{
#pragma omp parallel for
    for (long row = 0; row < rows; row++) {
        load_plain_image(test_set.pixels + (first + row) * 64, batch_images + row * 64);
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
    memset(metrics, 0, sizeof metrics);
    for (long first = 0; first < 64; first += 16) {
        load_test(first, 16);
        evaluate();
    }
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
}

/* The factor of the learning rate in this step. */
static double rate_now(void)
{
    return 1.0;
}

static void log_step(double loss, double seconds, long rows)
{
    const double speed = seconds > 0 ? (double)rows / seconds : 0;
    if (now.step % settings.log_interval == 0) {
        metrics_begin(&log_file);
        metrics_add(&log_file, "step", (double)now.step);
        metrics_add(&log_file, "epoch", (double)now.epoch);
        metrics_add(&log_file, "loss/train/total", loss);
        metrics_add(&log_file, "lr-sgd/group0", 0.1 * now.rate);
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
             now.step, now.epoch + 1, 0.1 * now.rate);
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
    puts("{\"name\": \"mlp\", \"model\": \"mlp\", \"dataset\": \"synthetic\", \"precision\": \"fp32\", \"parameters\": 2410, \"tensors\": 4, \"steps\": 32, \"batches_per_epoch\": 16, \"batch_size\": 16, \"optimizer\": \"sgd\", \"methods\": []}");
}

/* All the memory of the run, once. */
static void reserve(void)
{
    char *bytes = arena_map(sizeof(real) * (size_t)RESERVED);
    touch(bytes, sizeof(real) * (size_t)RESERVED);
    real *memory = (real *)bytes;
    weights = memory + 0;
    gradients = memory + 2416;
    batch_images = memory + 4832;
    batch_targets = (int *)(memory + 5856);
    arena = memory + 5872;
}

static void setup(void)
{
}

static void greet(void)
{
    char memory[32];
    table_row("model", "mlp, 2410 parameters");
    table_row("data", "synthetic, 256 to train on, 64 to test");
    table_row("run", "32 batches of 16, 16 an epoch");
    table_row("optimizer", "sgd, learning rate 0.1");
    table_row("methods", "none");
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
