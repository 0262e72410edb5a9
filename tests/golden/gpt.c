/* gpt -- trains gpt2 on synthetic. Written by composer-gen 0.1; change the recipe rather than this file.
 *
 *     generate     composer-gen tests/golden/gpt.yaml -o tests/golden/gpt.c
 *     build        cc -O3 -march=native -fopenmp -std=gnu11 train.c -o train -lm -ldnnl
 *     model        gpt2 {vocab_size: 256, context: 32, layers: 2, heads: 4, channels: 32}
 *     data         synthetic {sequence_length: 32, vocab_size: 256, samples: 256}, 256 samples to train on, 64 to test
 *     run          20 steps of 8 samples, 32 an epoch
 *     precision    fp32
 *     optimizer    decoupled_adamw {lr: 0.001, betas: [0.9, 0.95], eps: 1e-08, weight_decay: 1e-05, amsgrad: false}
 *     schedule     linear_decay_with_warmup {t_warmup: 4ba, alpha_i: 1, alpha_f: 0, t_max: 1dur, scale_warmup: false}
 *     methods      alibi {max_sequence_length: 32, train_sequence_length_scaling: 0.5}
 *                  gradient_clipping {clipping_type: norm, clipping_threshold: 1}
 *     weights      33664 trained, 0 running statistics
 *     work         2.228 MFLOP forward a sample, 0.05217 GFLOP a step
 *     memory       1.7 MiB of tensors in a step
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

struct token_set {
    int64_t rows, count;                /* row r reads tokens r * length .. r * length + length */
    int bytes_each;                     /* 1, 2 or 4 */
    const unsigned char *bytes;
};
static int token_at(const struct token_set *set, int64_t at);

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

/* `rows` rows of text: three tokens of four follow from the one before. Stream 0 trains, stream 1 evaluates. */
static struct token_set synthetic_tokens(int stream, int64_t rows, int64_t length, int64_t vocabulary);

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

/* In (0, 1) with 52 bits, from two words. */
static double random_double(uint32_t high, uint32_t low);

/* Standard normal, rounded to single precision so that it is the same in both. */
static float random_normal(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal);

struct tensor_to_write {
    const char *name;
    int rank;
    const long *shape;
    const real *values;
};
/* To a file beside `path`, synced, then renamed: `path` is whole at any moment. Changes the order of the list. */
static bool safetensors_write(const char *path, struct tensor_to_write *tensors, int count, char *error);

/* Drawn by the softmax of logits / temperature over `count` classes; `place` numbers the draws. */
static int sample_token(const real *logits, int64_t count, double temperature, int64_t place);

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
    transformer_wte_weight = 0, /* (256, 32) */
    transformer_h_0_ln_1_weight = 8192, /* (32) */
    transformer_h_0_ln_1_bias = 8224, /* (32) */
    transformer_h_0_attn_c_attn_weight = 8256, /* (32, 96) */
    transformer_h_0_attn_c_attn_bias = 11328, /* (96) */
    transformer_h_0_attn_c_proj_weight = 11424, /* (32, 32) */
    transformer_h_0_attn_c_proj_bias = 12448, /* (32) */
    transformer_h_0_ln_2_weight = 12480, /* (32) */
    transformer_h_0_ln_2_bias = 12512, /* (32) */
    transformer_h_0_mlp_c_fc_weight = 12544, /* (32, 128) */
    transformer_h_0_mlp_c_fc_bias = 16640, /* (128) */
    transformer_h_0_mlp_c_proj_weight = 16768, /* (128, 32) */
    transformer_h_0_mlp_c_proj_bias = 20864, /* (32) */
    transformer_h_1_ln_1_weight = 20896, /* (32) */
    transformer_h_1_ln_1_bias = 20928, /* (32) */
    transformer_h_1_attn_c_attn_weight = 20960, /* (32, 96) */
    transformer_h_1_attn_c_attn_bias = 24032, /* (96) */
    transformer_h_1_attn_c_proj_weight = 24128, /* (32, 32) */
    transformer_h_1_attn_c_proj_bias = 25152, /* (32) */
    transformer_h_1_ln_2_weight = 25184, /* (32) */
    transformer_h_1_ln_2_bias = 25216, /* (32) */
    transformer_h_1_mlp_c_fc_weight = 25248, /* (32, 128) */
    transformer_h_1_mlp_c_fc_bias = 29344, /* (128) */
    transformer_h_1_mlp_c_proj_weight = 29472, /* (128, 32) */
    transformer_h_1_mlp_c_proj_bias = 33568, /* (32) */
    transformer_ln_f_weight = 33600, /* (32) */
    transformer_ln_f_bias = 33632, /* (32) */
    TRAINED = 33664,
    WEIGHTS = 33664,
    TRAINED_TENSORS = 27,
    TENSORS = 27,
};
static real *weights, *gradients;

/* Their names in files. `units`: output units, the rows of axis 0 (1 for vectors). */
static const struct tensor {
    const char *name;
    long at, count, units;
    int rank;
    long shape[6];
} tensors[27] = {
    { "transformer.wte.weight", transformer_wte_weight, 8192, 256, 2, { 256, 32 } },
    { "transformer.h.0.ln_1.weight", transformer_h_0_ln_1_weight, 32, 1, 1, { 32 } },
    { "transformer.h.0.ln_1.bias", transformer_h_0_ln_1_bias, 32, 1, 1, { 32 } },
    { "transformer.h.0.attn.c_attn.weight", transformer_h_0_attn_c_attn_weight, 3072, 32, 2, { 32, 96 } },
    { "transformer.h.0.attn.c_attn.bias", transformer_h_0_attn_c_attn_bias, 96, 1, 1, { 96 } },
    { "transformer.h.0.attn.c_proj.weight", transformer_h_0_attn_c_proj_weight, 1024, 32, 2, { 32, 32 } },
    { "transformer.h.0.attn.c_proj.bias", transformer_h_0_attn_c_proj_bias, 32, 1, 1, { 32 } },
    { "transformer.h.0.ln_2.weight", transformer_h_0_ln_2_weight, 32, 1, 1, { 32 } },
    { "transformer.h.0.ln_2.bias", transformer_h_0_ln_2_bias, 32, 1, 1, { 32 } },
    { "transformer.h.0.mlp.c_fc.weight", transformer_h_0_mlp_c_fc_weight, 4096, 32, 2, { 32, 128 } },
    { "transformer.h.0.mlp.c_fc.bias", transformer_h_0_mlp_c_fc_bias, 128, 1, 1, { 128 } },
    { "transformer.h.0.mlp.c_proj.weight", transformer_h_0_mlp_c_proj_weight, 4096, 128, 2, { 128, 32 } },
    { "transformer.h.0.mlp.c_proj.bias", transformer_h_0_mlp_c_proj_bias, 32, 1, 1, { 32 } },
    { "transformer.h.1.ln_1.weight", transformer_h_1_ln_1_weight, 32, 1, 1, { 32 } },
    { "transformer.h.1.ln_1.bias", transformer_h_1_ln_1_bias, 32, 1, 1, { 32 } },
    { "transformer.h.1.attn.c_attn.weight", transformer_h_1_attn_c_attn_weight, 3072, 32, 2, { 32, 96 } },
    { "transformer.h.1.attn.c_attn.bias", transformer_h_1_attn_c_attn_bias, 96, 1, 1, { 96 } },
    { "transformer.h.1.attn.c_proj.weight", transformer_h_1_attn_c_proj_weight, 1024, 32, 2, { 32, 32 } },
    { "transformer.h.1.attn.c_proj.bias", transformer_h_1_attn_c_proj_bias, 32, 1, 1, { 32 } },
    { "transformer.h.1.ln_2.weight", transformer_h_1_ln_2_weight, 32, 1, 1, { 32 } },
    { "transformer.h.1.ln_2.bias", transformer_h_1_ln_2_bias, 32, 1, 1, { 32 } },
    { "transformer.h.1.mlp.c_fc.weight", transformer_h_1_mlp_c_fc_weight, 4096, 32, 2, { 32, 128 } },
    { "transformer.h.1.mlp.c_fc.bias", transformer_h_1_mlp_c_fc_bias, 128, 1, 1, { 128 } },
    { "transformer.h.1.mlp.c_proj.weight", transformer_h_1_mlp_c_proj_weight, 4096, 128, 2, { 128, 32 } },
    { "transformer.h.1.mlp.c_proj.bias", transformer_h_1_mlp_c_proj_bias, 32, 1, 1, { 32 } },
    { "transformer.ln_f.weight", transformer_ln_f_weight, 32, 1, 1, { 32 } },
    { "transformer.ln_f.bias", transformer_ln_f_bias, 32, 1, 1, { 32 } },
};

/* train: where its tensors lie in the arena, in reals */
enum {
    transformer_wte = 262144, /* (16, 16, 32) */
    transformer_h_0_ln_1_moments = 444416, /* (2, 256) */
    transformer_h_0_ln_1 = 270336, /* (16, 16, 32) */
    transformer_h_0_attn_c_attn_product = 0, /* (16, 16, 96) */
    transformer_h_0_attn_c_attn = 24576, /* (16, 16, 96) */
    transformer_h_0_attn_slice = 0, /* (16, 16, 32) */
    transformer_h_0_attn_transpose = 278528, /* (16, 4, 16, 8) */
    transformer_h_0_attn_slice_2 = 0, /* (16, 16, 32) */
    transformer_h_0_attn_transpose_2 = 286720, /* (16, 4, 16, 8) */
    transformer_h_0_attn_slice_3 = 0, /* (16, 16, 32) */
    transformer_h_0_attn_transpose_3 = 294912, /* (16, 4, 16, 8) */
    transformer_h_0_attn_attention = 303104, /* (16, 4, 16, 8) */
    transformer_h_0_attn_transpose_4 = 311296, /* (16, 16, 4, 8) */
    transformer_h_0_attn_c_proj_product = 0, /* (16, 16, 32) */
    transformer_h_0_attn_c_proj = 8192, /* (16, 16, 32) */
    transformer_h_0_residual = 319488, /* (16, 16, 32) */
    transformer_h_0_ln_2_moments = 444928, /* (2, 256) */
    transformer_h_0_ln_2 = 327680, /* (16, 16, 32) */
    transformer_h_0_mlp_c_fc_product = 0, /* (16, 16, 128) */
    transformer_h_0_mlp_c_fc = 131072, /* (16, 16, 128) */
    transformer_h_0_mlp_gelu_tanh = 163840, /* (16, 16, 128) */
    transformer_h_0_mlp_c_proj_product = 0, /* (16, 16, 32) */
    transformer_h_0_mlp_c_proj = 8192, /* (16, 16, 32) */
    transformer_h_0_residual_2 = 335872, /* (16, 16, 32) */
    transformer_h_1_ln_1_moments = 445440, /* (2, 256) */
    transformer_h_1_ln_1 = 344064, /* (16, 16, 32) */
    transformer_h_1_attn_c_attn_product = 0, /* (16, 16, 96) */
    transformer_h_1_attn_c_attn = 24576, /* (16, 16, 96) */
    transformer_h_1_attn_slice = 0, /* (16, 16, 32) */
    transformer_h_1_attn_transpose = 352256, /* (16, 4, 16, 8) */
    transformer_h_1_attn_slice_2 = 0, /* (16, 16, 32) */
    transformer_h_1_attn_transpose_2 = 360448, /* (16, 4, 16, 8) */
    transformer_h_1_attn_slice_3 = 0, /* (16, 16, 32) */
    transformer_h_1_attn_transpose_3 = 368640, /* (16, 4, 16, 8) */
    transformer_h_1_attn_attention = 376832, /* (16, 4, 16, 8) */
    transformer_h_1_attn_transpose_4 = 385024, /* (16, 16, 4, 8) */
    transformer_h_1_attn_c_proj_product = 0, /* (16, 16, 32) */
    transformer_h_1_attn_c_proj = 8192, /* (16, 16, 32) */
    transformer_h_1_residual = 393216, /* (16, 16, 32) */
    transformer_h_1_ln_2_moments = 445952, /* (2, 256) */
    transformer_h_1_ln_2 = 401408, /* (16, 16, 32) */
    transformer_h_1_mlp_c_fc_product = 0, /* (16, 16, 128) */
    transformer_h_1_mlp_c_fc = 196608, /* (16, 16, 128) */
    transformer_h_1_mlp_gelu_tanh = 229376, /* (16, 16, 128) */
    transformer_h_1_mlp_c_proj_product = 0, /* (16, 16, 32) */
    transformer_h_1_mlp_c_proj = 8192, /* (16, 16, 32) */
    transformer_h_1_residual_2 = 409600, /* (16, 16, 32) */
    transformer_ln_f_moments = 446464, /* (2, 256) */
    transformer_ln_f = 417792, /* (16, 16, 32) */
    matmul_transposed = 0, /* (16, 16, 256) */
    loss_cross_entropy = 65536, /* (16, 16) */
    loss_count = 65792, /* (16, 16) */
    loss_count_2 = 66048, /* (1, 1) */
    loss_sum = 65792, /* (16, 16) */
    loss_sum_2 = 65536, /* (1, 1) */
    loss = 446976, /* () */
    d_loss = 65536, /* () */
    d_loss_sum = 425984, /* (16, 16) */
    d_loss_cross_entropy = 65536, /* (16, 16, 256) */
    d_matmul_transposed = 425984, /* (256, 32) */
    d_matmul_transposed_2 = 434176, /* (256, 32) */
    d_transformer_ln_f = 65536, /* (2, 256) */
    d_transformer_ln_f_2 = 417792, /* (16, 16, 32) */
    d_transformer_ln_f_3 = 65536, /* (2, 32) */
    d_transformer_h_1_mlp_c_proj_product = 65536, /* (256, 128) */
    d_transformer_h_1_mlp_gelu_tanh = 98304, /* (16, 16, 128) */
    d_transformer_h_1_mlp_c_fc_product = 65536, /* (256, 32) */
    d_transformer_h_1_ln_2 = 81920, /* (2, 256) */
    d_transformer_h_1_ln_2_2 = 73728, /* (16, 16, 32) */
    d_transformer_h_1_ln_2_3 = 114688, /* (16, 16, 32) */
    d_transformer_h_1_ln_2_4 = 73728, /* (2, 32) */
    d_transformer_h_1_attn_c_proj_product = 65536, /* (256, 32) */
    d_transformer_h_1_attn_transpose_4 = 73728, /* (16, 4, 16, 8) */
    d_transformer_h_1_attn_attention = 442368, /* (16, 4, 16) */
    d_transformer_h_1_attn_attention_2 = 122880, /* (16, 4, 16, 8) */
    d_transformer_h_1_attn_attention_3 = 90112, /* (16, 4, 16, 8) */
    d_transformer_h_1_attn_attention_4 = 65536, /* (16, 4, 16, 8) */
    d_transformer_h_1_attn_transpose_3 = 98304, /* (16, 16, 4, 8) */
    d_transformer_h_1_attn_slice_3 = 65536, /* (16, 16, 96) */
    d_transformer_h_1_attn_transpose_2 = 196608, /* (16, 16, 4, 8) */
    d_transformer_h_1_attn_slice_2 = 90112, /* (16, 16, 96) */
    d_transformer_h_1_attn_slice_2_2 = 196608, /* (16, 16, 96) */
    d_transformer_h_1_attn_transpose = 90112, /* (16, 16, 4, 8) */
    d_transformer_h_1_attn_slice = 65536, /* (16, 16, 96) */
    d_transformer_h_1_attn_slice_4 = 90112, /* (16, 16, 96) */
    d_transformer_h_1_attn_c_attn_product = 65536, /* (256, 32) */
    d_transformer_h_1_ln_1 = 81920, /* (2, 256) */
    d_transformer_h_1_ln_1_2 = 73728, /* (16, 16, 32) */
    d_transformer_h_1_ln_1_3 = 196608, /* (16, 16, 32) */
    d_transformer_h_1_ln_1_4 = 73728, /* (2, 32) */
    d_transformer_h_0_mlp_c_proj_product = 65536, /* (256, 128) */
    d_transformer_h_0_mlp_gelu_tanh = 98304, /* (16, 16, 128) */
    d_transformer_h_0_mlp_c_fc_product = 65536, /* (256, 32) */
    d_transformer_h_0_ln_2 = 81920, /* (2, 256) */
    d_transformer_h_0_ln_2_2 = 73728, /* (16, 16, 32) */
    d_transformer_h_0_ln_2_3 = 139264, /* (16, 16, 32) */
    d_transformer_h_0_ln_2_4 = 73728, /* (2, 32) */
    d_transformer_h_0_attn_c_proj_product = 65536, /* (256, 32) */
    d_transformer_h_0_attn_transpose_4 = 73728, /* (16, 4, 16, 8) */
    d_transformer_h_0_attn_attention = 443392, /* (16, 4, 16) */
    d_transformer_h_0_attn_attention_2 = 147456, /* (16, 4, 16, 8) */
    d_transformer_h_0_attn_attention_3 = 90112, /* (16, 4, 16, 8) */
    d_transformer_h_0_attn_attention_4 = 65536, /* (16, 4, 16, 8) */
    d_transformer_h_0_attn_transpose_3 = 98304, /* (16, 16, 4, 8) */
    d_transformer_h_0_attn_slice_3 = 65536, /* (16, 16, 96) */
    d_transformer_h_0_attn_transpose_2 = 114688, /* (16, 16, 4, 8) */
    d_transformer_h_0_attn_slice_2 = 90112, /* (16, 16, 96) */
    d_transformer_h_0_attn_slice_2_2 = 114688, /* (16, 16, 96) */
    d_transformer_h_0_attn_transpose = 90112, /* (16, 16, 4, 8) */
    d_transformer_h_0_attn_slice = 65536, /* (16, 16, 96) */
    d_transformer_h_0_attn_slice_4 = 90112, /* (16, 16, 96) */
    d_transformer_h_0_attn_c_attn_product = 65536, /* (256, 32) */
    d_transformer_h_0_ln_1 = 81920, /* (2, 256) */
    d_transformer_h_0_ln_1_2 = 73728, /* (16, 16, 32) */
    d_transformer_h_0_ln_1_3 = 81920, /* (16, 16, 32) */
    d_transformer_h_0_ln_1_4 = 73728, /* (2, 32) */
    d_transformer_wte = 65536, /* (256, 32) */
};
static const real table_slope_4[4] = {
    0.25f, 0.0625f, 0.015625f, 0.00390625f
};
static double metrics[4]; /* sums over the test set */

/* evaluate: where its tensors lie in the arena, in reals (* differs between phases) */
enum {
    evaluate_transformer_wte = 49152, /* (*, 32, 32) */
    evaluate_transformer_h_0_ln_1_moments = 0, /* (2, *) */
    evaluate_transformer_h_0_ln_1 = 24576, /* (*, 32, 32) */
    evaluate_transformer_h_0_attn_c_attn_product = 0, /* (*, 32, 96) */
    evaluate_transformer_h_0_attn_c_attn = 24576, /* (*, 32, 96) */
    evaluate_transformer_h_0_attn_slice = 0, /* (*, 32, 32) */
    evaluate_transformer_h_0_attn_transpose = 8192, /* (*, 4, 32, 8) */
    evaluate_transformer_h_0_attn_slice_2 = 0, /* (*, 32, 32) */
    evaluate_transformer_h_0_attn_transpose_2 = 16384, /* (*, 4, 32, 8) */
    evaluate_transformer_h_0_attn_slice_3 = 0, /* (*, 32, 32) */
    evaluate_transformer_h_0_attn_transpose_3 = 24576, /* (*, 4, 32, 8) */
    evaluate_transformer_h_0_attn_attention = 0, /* (*, 4, 32, 8) */
    evaluate_transformer_h_0_attn_transpose_4 = 8192, /* (*, 32, 4, 8) */
    evaluate_transformer_h_0_attn_c_proj_product = 0, /* (*, 32, 32) */
    evaluate_transformer_h_0_attn_c_proj = 8192, /* (*, 32, 32) */
    evaluate_transformer_h_0_residual = 65536, /* (*, 32, 32) */
    evaluate_transformer_h_0_ln_2_moments = 0, /* (2, *) */
    evaluate_transformer_h_0_ln_2 = 32768, /* (*, 32, 32) */
    evaluate_transformer_h_0_mlp_c_fc_product = 0, /* (*, 32, 128) */
    evaluate_transformer_h_0_mlp_c_fc = 32768, /* (*, 32, 128) */
    evaluate_transformer_h_0_mlp_gelu_tanh = 0, /* (*, 32, 128) */
    evaluate_transformer_h_0_mlp_c_proj_product = 32768, /* (*, 32, 32) */
    evaluate_transformer_h_0_mlp_c_proj = 0, /* (*, 32, 32) */
    evaluate_transformer_h_0_residual_2 = 49152, /* (*, 32, 32) */
    evaluate_transformer_h_1_ln_1_moments = 0, /* (2, *) */
    evaluate_transformer_h_1_ln_1 = 24576, /* (*, 32, 32) */
    evaluate_transformer_h_1_attn_c_attn_product = 0, /* (*, 32, 96) */
    evaluate_transformer_h_1_attn_c_attn = 24576, /* (*, 32, 96) */
    evaluate_transformer_h_1_attn_slice = 0, /* (*, 32, 32) */
    evaluate_transformer_h_1_attn_transpose = 8192, /* (*, 4, 32, 8) */
    evaluate_transformer_h_1_attn_slice_2 = 0, /* (*, 32, 32) */
    evaluate_transformer_h_1_attn_transpose_2 = 16384, /* (*, 4, 32, 8) */
    evaluate_transformer_h_1_attn_slice_3 = 0, /* (*, 32, 32) */
    evaluate_transformer_h_1_attn_transpose_3 = 24576, /* (*, 4, 32, 8) */
    evaluate_transformer_h_1_attn_attention = 0, /* (*, 4, 32, 8) */
    evaluate_transformer_h_1_attn_transpose_4 = 8192, /* (*, 32, 4, 8) */
    evaluate_transformer_h_1_attn_c_proj_product = 0, /* (*, 32, 32) */
    evaluate_transformer_h_1_attn_c_proj = 8192, /* (*, 32, 32) */
    evaluate_transformer_h_1_residual = 65536, /* (*, 32, 32) */
    evaluate_transformer_h_1_ln_2_moments = 0, /* (2, *) */
    evaluate_transformer_h_1_ln_2 = 32768, /* (*, 32, 32) */
    evaluate_transformer_h_1_mlp_c_fc_product = 0, /* (*, 32, 128) */
    evaluate_transformer_h_1_mlp_c_fc = 32768, /* (*, 32, 128) */
    evaluate_transformer_h_1_mlp_gelu_tanh = 0, /* (*, 32, 128) */
    evaluate_transformer_h_1_mlp_c_proj_product = 32768, /* (*, 32, 32) */
    evaluate_transformer_h_1_mlp_c_proj = 0, /* (*, 32, 32) */
    evaluate_transformer_h_1_residual_2 = 8192, /* (*, 32, 32) */
    evaluate_transformer_ln_f_moments = 0, /* (2, *) */
    evaluate_transformer_ln_f = 65536, /* (*, 32, 32) */
    evaluate_matmul_transposed = 0, /* (*, 32, 256) */
    evaluate_loss_cross_entropy = 65536, /* (*, 32) */
    evaluate_metric_loss = 65792, /* (*, 32) */
    evaluate_metric_loss_2 = 66048, /* (1, 1) */
    evaluate_metric_count = 65536, /* (*, 32) */
    evaluate_metric_count_2 = 66064, /* (1, 1) */
    evaluate_metric_rank = 65536, /* (*, 32) int */
    evaluate_metric_correct = 65792, /* (*, 32) */
    evaluate_metric_correct_2 = 66080, /* (1, 1) */
    evaluate_metric_top5 = 65792, /* (*, 32) */
    evaluate_metric_top5_2 = 65536, /* (1, 1) */
};

/* What differs between the 2 phases of evaluate. */
static const struct evaluate_phase {
    long phase;
    long elements;
    long extent;
    long elements_2;
    long elements_3;
} evaluate_phases[2] = {
    { 0, 256, 8, 8192, 32768 },
    { 1, 32, 1, 1024, 4096 },
};
static real *decoupled_adamw_first_moment; /* running mean of gradients */
static real *decoupled_adamw_second_moment; /* running mean of squared gradients */

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
    { 8, 16, 32, 16, 32, 32, 0, 0, -1, 0, 0, 0, 1, { { 1, 0, 16 } } },
};

/* The run: so many batches of a kind, then the next. */
static const struct stretch { long batches; int kind; } run[1] = {
    { 20, 0 },
};
enum { STEPS = 20, BATCHES_PER_EPOCH = 32, STRETCHES = 1 };

/* The micro-batch that a step reads, and what it gives back. */
static struct {
    const int *tokens;
    const int *targets;
    real share; /* of this micro-batch in the loss of its batch */
    bool is_first;
    long first_row;
    double loss;
} batch;
static int *batch_tokens, *batch_targets;
static struct token_set train_set, test_set;

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
    .run_folder = "runs/gpt",
    .seed = 17,
    .stop_after = STEPS,
    .eval_interval = 32,
    .log_interval = 1,
    .save = true,
};
static struct metrics log_file;
static struct progress progress;
static real *arena; /* tensors of a step, at the offsets above */
enum { ARENA = 446992, RESERVED = 582160 }; /* reals */

/* Where the run is. */
static struct {
    long step;
    long key; /* of random values: the step, its complement when drawn again */
    long epoch;
    long batch_in_epoch;
    long first_trained;
    long first_tensor;
    double rate;
    long update_count;
} now;

/* Sums and maxima over gradients and weights. */
static struct {
    double gradient_clipping_squares;
} fold;

/* ---- kernels ----------------------------------------------------------------------------------- */

typedef struct attention_shape {
    long rows, heads, length, keys, size;
} attention_shape;

enum { KEY_TILE = 64, QUERY_TILE = 32 };

/* x (count, size) -> y (size, KEY_TILE): a tile of keys or values on its side, zeros behind the last */
static void attention_turn(const real *x, real *y, long count, long size)
{
    for (long j = 0; j < KEY_TILE; j++)
        for (long d = 0; d < size; d++)
            y[d * KEY_TILE + j] = j < count ? x[j * size + d] : 0;
}

/* y (KEY_TILE) = a (size) times the turned tile; four terms at a time, so that y stays in registers longer */
static void attention_products(const real *a, const real *turned, real *y, long size)
{
    for (long j = 0; j < KEY_TILE; j++)
        y[j] = 0;
    long d = 0;
    for (; d + 4 <= size; d += 4) {
        const real a0 = a[d], a1 = a[d + 1], a2 = a[d + 2], a3 = a[d + 3], *t = turned + d * KEY_TILE;
#pragma omp simd
        for (long j = 0; j < KEY_TILE; j++)
            y[j] += (a0 * t[j] + a1 * t[j + KEY_TILE]) + (a2 * t[j + 2 * KEY_TILE] + a3 * t[j + 3 * KEY_TILE]);
    }
    for (; d < size; d++)
        for (long j = 0; j < KEY_TILE; j++)
            y[j] += a[d] * turned[d * KEY_TILE + j];
}

/* y (size) += sum over i < count of a[i * stride] * row i of x (count, size) */
static void attention_add(const real *a, long stride, const real *x, real *y, long count, long size)
{
    long i = 0;
    for (; i + 4 <= count; i += 4) {
        const real a0 = a[i * stride], a1 = a[(i + 1) * stride], a2 = a[(i + 2) * stride], a3 = a[(i + 3) * stride];
        const real *row = x + i * size;
#pragma omp simd
        for (long d = 0; d < size; d++)
            y[d] += (a0 * row[d] + a1 * row[d + size]) + (a2 * row[d + 2 * size] + a3 * row[d + 3 * size]);
    }
    for (; i < count; i++)
        for (long d = 0; d < size; d++)
            y[d] += a[i * stride] * x[i * size + d];
}

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

/* log x, 0.9 ulp: e log 2 + log m with sqrt(1/2) <= m < sqrt(2); -infinity at 0, nan below. */
static inline real real_log(real x)
{
    const int tiny = x < 1.17549435e-38f;
    const int32_t bits = bits_of_real(tiny ? x * 8388608.0f : x), offset = bits - 0x3f3504f3;
    const real e = (real)((offset >> 23) - (tiny ? 23 : 0)), m = real_of_bits((offset & 0x007fffff) + 0x3f3504f3) - 1;
    const real z = m * m;
    real p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    const real small = m * z * p - e * 2.12194440e-4f - 0.5f * z;
    const real value = m + small + e * 0.693359375f;
    const real edge = x == 0 ? -real_of_bits(0x7f800000) : x < 0 ? real_of_bits(0x7fc00000) : x;
    return x > 0 && x < real_of_bits(0x7f800000) ? value : edge;
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

static void row_moments(const real *x, real *moments, long rows, long n)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real *row = x + k * n;
        double sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
        for (long i = 0; i < n; i++)
            sum += row[i];
        const double mean = sum / (double)n;
#pragma omp simd reduction(+ : square)
        for (long i = 0; i < n; i++)
            square += (row[i] - mean) * (row[i] - mean);
        moments[k] = (real)mean;
        moments[rows + k] = (real)(square / (double)n);
    }
}

/* y = xhat * weight + bias; without weight and bias (NULL): 1 and 0 */
static void row_normalize(const real *x, const real *moments, const real *weight, const real *bias, real *y, long rows, long n,
                          real epsilon)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real mean = moments[k], inverse = (real)(1 / sqrt((double)moments[rows + k] + epsilon));
        const real *row = x + k * n;
        real *to = y + k * n;
#pragma omp simd
        for (long i = 0; i < n; i++) {
            const real scaled = (row[i] - mean) * inverse * (weight ? weight[i] : 1);
            to[i] = bias ? scaled + bias[i] : scaled;
        }
    }
}

/* sums = sum g and sum g xhat of each row */
static void row_normalize_grad_sums(const real *dy, const real *x, const real *moments, const real *weight, real *sums,
                                    long rows, long n, real epsilon)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const real mean = moments[k];
        double sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
        for (long i = 0; i < n; i++) {
            const double g = dy[k * n + i] * (weight ? weight[i] : 1);
            sum += g;
            product += g * (x[k * n + i] - mean);
        }
        sums[k] = (real)sum;
        sums[rows + k] = (real)(product / sqrt((double)moments[rows + k] + epsilon));
    }
}

/* dx = (g - mean of g - xhat * mean of g xhat) / deviation */
static void row_normalize_grad(const real *dy, const real *x, const real *moments, const real *sums, const real *weight,
                               real *dx, long rows, long n, real epsilon)
{
#pragma omp parallel for
    for (long k = 0; k < rows; k++) {
        const double deviation = sqrt((double)moments[rows + k] + epsilon);
        const real mean = moments[k], inverse = (real)(1 / deviation), steady = (real)(sums[k] / (double)n);
        const real slope = (real)(sums[rows + k] / (double)n / deviation);
#pragma omp simd
        for (long i = 0; i < n; i++)
            dx[k * n + i] = inverse * (dy[k * n + i] * (weight ? weight[i] : 1) - steady - (x[k * n + i] - mean) * slope);
    }
}

typedef struct row_pass {
    const real *dy, *x, *moments;
    long rows, n;
    real epsilon;
} row_pass;

static void row_affine_terms(const void *context, long first, long last, long from, long width, double *sum, double *product)
{
    const row_pass *pass = context;
    for (long k = first; k < last; k++) {
        const real *dy = pass->dy + k * pass->n + from, *x = pass->x + k * pass->n + from;
        const real mean = pass->moments[k], inverse = (real)(1 / sqrt((double)pass->moments[pass->rows + k] + pass->epsilon));
#pragma omp simd
        for (long i = 0; i < width; i++) {
            sum[i] += dy[i];
            product[i] += dy[i] * (x[i] - mean) * inverse;
        }
    }
}

/* affine (2, n) = d bias and d weight: sums over rows of dy and dy xhat */
static void row_normalize_grad_affine(const real *dy, const real *x, const real *moments, real *affine, long rows, long n,
                                      real epsilon)
{
    double sum[n], product[n];
    const row_pass pass = { dy, x, moments, rows, n, epsilon };
    column_sums(row_affine_terms, &pass, rows, n, sum, product);
    for (long i = 0; i < n; i++)
        affine[i] = (real)sum[i], affine[n + i] = (real)product[i];
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

/* y (count, width) = rows ids (count) of table (rows, width) */
static void gather(const real *table, const int *ids, real *y, long count, long width)
{
#pragma omp parallel for
    for (long k = 0; k < count; k++)
        for (long i = 0; i < width; i++)
            y[k * width + i] = table[ids[k] * width + i];
}

/* dtable (rows, width) = dy (count, width) added up at its ids, none at padding_row (-1: no such row). A thread owns
 * columns. */
static void gather_grad(const real *dy, const int *ids, real *dtable, long count, long rows, long width, long padding_row)
{
#pragma omp parallel for
    for (long i = 0; i < rows * width; i++)
        dtable[i] = 0;
#pragma omp parallel for
    for (long from = 0; from < width; from += 16) {
        const long end = from + 16 < width ? from + 16 : width;
        for (long k = 0; k < count; k++)
            if (ids[k] != padding_row)
                for (long i = from; i < end; i++)
                    dtable[ids[k] * width + i] += dy[k * width + i];
    }
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

/* tanh x, 1.4 ulp: an odd polynomial near 0, else 1 - 2 / (e^2|x| + 1). */
static inline real real_tanh(real x)
{
    const real size = x < 0 ? -x : x, z = x * x;
    real p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    const real near = p * z * x + x, far = 1 - 2 / (real_exp(2 * size) + 1);
    return size < 0.625f ? near : x < 0 ? -far : far;
}

/* ---- kernels of this model --------------------------------------------------------------------- */

static void initial(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = 0.02f * (real)random_normal(site, 0, 0, i, 1);
}

static void initial_2(real *w, long count, uint64_t site)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        w[i] = 0.02f * (real)random_normal(site, 0, 0, i, 1) * 0.5f;
}

/* add(in0, in1) */
static void c_attn_each(const real *x1, const real *x2, real *y, long AB, long C)
{
#pragma omp parallel for
    for (long ab = 0; ab < AB; ab++)
        for (long c = 0; c < C; c++) {
            const long i = ab * C + c;
            y[i] = x1[i] + x2[c];
        }
}

/* products (KEY_TILE) of query `query` with keys first, first + 1, ... become scores; -infinity where it may not look */
static inline void attention_scores(real *scores, real scale,
                                    int head,
                                    int query,
                                    int first, int last)
{
#pragma omp simd
    for (int j = 0; j < KEY_TILE; j++) {
        const int key = first + j;
        real score = scores[j] * scale;
        score = score + table_slope_4[head] * (real)(key - query) /* alibi */;
        scores[j] = key < last ? score : -INFINITY;
    }
}

/* Softmax as tiles come: what was summed before is scaled down when a larger score turns up. Scores become
 * exp(score - most). */
static inline void attention_soften(real *scores, real *most, double *sum, real *y, long size)
{
    real larger = *most, part = 0, lane[16];
    for (int i = 0; i < 16; i++)
        lane[i] = *most;
    for (int j = 0; j < KEY_TILE; j += 16)
#pragma omp simd
        for (int i = 0; i < 16; i++)
            lane[i] = scores[j + i] > lane[i] ? scores[j + i] : lane[i];
    for (int i = 0; i < 16; i++)
        larger = lane[i] > larger ? lane[i] : larger;
    const real base = larger > -INFINITY ? larger : 0, before = real_exp(*most - base);
#pragma omp simd reduction(+ : part)
    for (int j = 0; j < KEY_TILE; j++) {
        scores[j] = real_exp(scores[j] - base);
        part += scores[j];
    }
    for (long d = 0; d < size; d++)
        y[d] *= before;
    *sum = *sum * before + part;
    *most = larger;
}

/* Queries start..end-1 of one head. */
static void attention_queries(const real *q, const real *k, const real *v, real *y,
                              real *lse,
                              int head,
                              attention_shape shape, real scale, int start, int end)
{
    const long size = shape.size;
    real turned[size * KEY_TILE], most[QUERY_TILE];
    double sum[QUERY_TILE];
    int seen = (int)shape.keys;
    seen = end < seen ? end : seen;
    for (int i = start; i < end; i++)
        most[i - start] = -INFINITY, sum[i - start] = 0;
    for (long i = start * size; i < end * size; i++)
        y[i] = 0;
    for (int first = 0; first < seen; first += KEY_TILE) {
        const int count = shape.keys - first < KEY_TILE ? (int)shape.keys - first : KEY_TILE;
        attention_turn(k + first * size, turned, count, size);
        for (int query = start; query < end; query++) {
            int last = first + count;
            last = query + 1 < last ? query + 1 : last;
            real scores[KEY_TILE];
            attention_products(q + query * size, turned, scores, size);
            attention_scores(scores, scale,
                             head,
                             query,
                             first, last);
            attention_soften(scores, &most[query - start], &sum[query - start], y + query * size, size);
            attention_add(scores, 1, v + first * size, y + query * size, count, size);
        }
    }
    for (int i = start; i < end; i++) {
        const double total = sum[i - start];
        const real share = (real)(total > 0 ? 1 / total : 0);
        for (long d = 0; d < size; d++)
            y[i * size + d] *= share;
        lse[i] = total > 0 ? most[i - start] + real_log((real)total) : INFINITY;
    }
}

/* y = softmax(score(scale q k^T)) v */
static void attention(const real *q, const real *k, const real *v,
                      real *y,
                      real *lse,
                      attention_shape shape, real scale)
{
    const long length = shape.length, keys = shape.keys, size = shape.size, tiles = (length + QUERY_TILE - 1) / QUERY_TILE;
#pragma omp parallel for
    for (long task = 0; task < shape.rows * shape.heads * tiles; task++) {
        const long pair = task / tiles, start = task % tiles * QUERY_TILE;
        const long end = start + QUERY_TILE < length ? start + QUERY_TILE : length;
        attention_queries(q + pair * length * size, k + pair * keys * size, v + pair * keys * size, y + pair * length * size,
                          lse + pair * length,
                          (int)(pair % shape.heads),
                          shape, scale, (int)start, (int)end);
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

/* mul(mul(0.5, in0), add(1.0, tanh(mul(0.7978845608028654, add(in0, mul(0.044715, mul(mul(in0,
 * in0), in0))))))) */
static void gelu_tanh_each(const real *x, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        y[i] = 0.5f * x[i] * (1.0f + real_tanh(0.7978845608028654f * (x[i] + 0.044715f * (x[i] * x[i] * x[i]))));
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

/* mul(in0, add(mul(0.5, add(1.0, #1=tanh(mul(0.7978845608028654, add(in1, mul(0.044715,
 * mul(#2=mul(in1, in1), in1))))))), mul(mul(0.5, in1), mul(sub(1.0, mul(#1, #1)),
 * mul(0.7978845608028654, add(1.0, mul(0.044715, add(mul(add(in1, in1), in1), #2)))))))) */
static void d_gelu_tanh_each(const real *x1, const real *x2, real *y, long count)
{
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        const real t1 = x2[i] * x2[i];
        const real t2 = real_tanh(0.7978845608028654f * (x2[i] + 0.044715f * (t1 * x2[i])));
        y[i] = x1[i] * (0.5f * (1.0f + t2) + 0.5f * x2[i] * ((1.0f - t2 * t2) * (0.7978845608028654f * (1.0f +
            0.044715f * ((x2[i] + x2[i]) * x2[i] + t1)))));
    }
}

/* From products with keys (scores) and values (slopes) of one query: the shares p in place of the scores, and
 * p (slope - delta) d score / d raw score * scale in place of the slopes. */
static inline void attention_slopes(real *scores, real *slopes, real scale, real lse, real delta,
                                    int head,
                                    int query,
                                    int first, int last)
{
#pragma omp simd
    for (int j = 0; j < KEY_TILE; j++) {
        const int key = first + j;
        const real score = scores[j] * scale;
        real seen = score, slope = scale;
        seen = score + table_slope_4[head] * (real)(key - query) /* alibi */;
        const real share = key < last ? real_exp(seen - lse) : 0;
        scores[j] = share;
        slopes[j] = share * (slopes[j] - delta) * slope;
    }
}

typedef struct attention_head {         /* what belongs to one head of one row */
    const real *dy, *q, *k, *v, *lse, *delta;
    real *dq, *dk, *dv;
    int head;
} attention_head;

/* What the keys first .. first + count - 1 and all queries mean to each other. */
static void attention_grad_keys(const attention_head *at, attention_shape shape, real scale, int first, int count)
{
    const long size = shape.size;
    real turned_k[size * KEY_TILE], turned_v[size * KEY_TILE];
    real share[QUERY_TILE][KEY_TILE], slope[QUERY_TILE][KEY_TILE];
    int start = 0;
    start = first;
    attention_turn(at->k + first * size, turned_k, count, size);
    attention_turn(at->v + first * size, turned_v, count, size);
    for (; start < shape.length; start += QUERY_TILE) {
        const int end = start + QUERY_TILE < shape.length ? start + QUERY_TILE : (int)shape.length;
        for (int query = start; query < end; query++) {
            int last = first + count;
            last = query + 1 < last ? query + 1 : last;
            real *shares = share[query - start], *slopes = slope[query - start];
            attention_products(at->q + query * size, turned_k, shares, size);
            attention_products(at->dy + query * size, turned_v, slopes, size);
            attention_slopes(shares, slopes, scale, at->lse[query], at->delta[query],
                             at->head,
                             query,
                             first, last);
            attention_add(slopes, 1, at->k + first * size, at->dq + query * size, count, size);
        }
        for (int j = 0; j < count && at->dv; j++)
            attention_add(&share[0][j], KEY_TILE, at->dy + start * size, at->dv + (first + j) * size, end - start, size);
        for (int j = 0; j < count && at->dk; j++)
            attention_add(&slope[0][j], KEY_TILE, at->q + start * size, at->dk + (first + j) * size, end - start, size);
    }
}

/* delta of a query: dy times y */
static void attention_deltas(const real *dy, const real *y, real *delta, long length, long size)
{
    for (long i = 0; i < length; i++) {
        double sum = 0;
        for (long d = 0; d < size; d++)
            sum += dy[i * size + d] * y[i * size + d];
        delta[i] = (real)sum;
    }
}

static void attention_clear(real *x, long count)
{
    for (long i = 0; i < count && x; i++)
        x[i] = 0;
}

/* dq, dk, dv of attention (dk, dv: NULL when not wanted). A thread owns a head. */
static void attention_grad(const real *dy, const real *q, const real *k, const real *v, const real *y, const real *lse,
                           real *dq, real *dk, real *dv, attention_shape shape, real scale)
{
    const long length = shape.length, keys = shape.keys, size = shape.size;
#pragma omp parallel for
    for (long pair = 0; pair < shape.rows * shape.heads; pair++) {
        const long queries_at = pair * length * size, keys_at = pair * keys * size;
        real delta[length];
        attention_head at = { .dy = dy + queries_at, .q = q + queries_at, .k = k + keys_at, .v = v + keys_at };
        at.lse = lse + pair * length;
        at.delta = delta;
        at.dq = dq + queries_at;
        at.dk = dk ? dk + keys_at : NULL;
        at.dv = dv ? dv + keys_at : NULL;
        at.head = (int)(pair % shape.heads);
        attention_clear(at.dq, length * size);
        attention_clear(at.dk, keys * size);
        attention_clear(at.dv, keys * size);
        attention_deltas(at.dy, y + queries_at, delta, length, size);
        for (long first = 0; first < keys; first += KEY_TILE)
            attention_grad_keys(&at, shape, scale, (int)first, (int)(keys - first < KEY_TILE ? keys - first : KEY_TILE));
    }
}

/* products (KEY_TILE) of query `query` with keys first, first + 1, ... become scores; -infinity where it may not look */
static inline void attention_scores_2(real *scores, real scale,
                                    int head,
                                    int query,
                                    int first, int last)
{
#pragma omp simd
    for (int j = 0; j < KEY_TILE; j++) {
        const int key = first + j;
        real score = scores[j] * scale;
        score = score + table_slope_4[head] * (real)(key - query) /* alibi */;
        scores[j] = key < last ? score : -INFINITY;
    }
}

/* Softmax as tiles come: what was summed before is scaled down when a larger score turns up. Scores become
 * exp(score - most). */
static inline void attention_soften_2(real *scores, real *most, double *sum, real *y, long size)
{
    real larger = *most, part = 0, lane[16];
    for (int i = 0; i < 16; i++)
        lane[i] = *most;
    for (int j = 0; j < KEY_TILE; j += 16)
#pragma omp simd
        for (int i = 0; i < 16; i++)
            lane[i] = scores[j + i] > lane[i] ? scores[j + i] : lane[i];
    for (int i = 0; i < 16; i++)
        larger = lane[i] > larger ? lane[i] : larger;
    const real base = larger > -INFINITY ? larger : 0, before = real_exp(*most - base);
#pragma omp simd reduction(+ : part)
    for (int j = 0; j < KEY_TILE; j++) {
        scores[j] = real_exp(scores[j] - base);
        part += scores[j];
    }
    for (long d = 0; d < size; d++)
        y[d] *= before;
    *sum = *sum * before + part;
    *most = larger;
}

/* Queries start..end-1 of one head. */
static void attention_queries_2(const real *q, const real *k, const real *v, real *y,
                              int head,
                              attention_shape shape, real scale, int start, int end)
{
    const long size = shape.size;
    real turned[size * KEY_TILE], most[QUERY_TILE];
    double sum[QUERY_TILE];
    int seen = (int)shape.keys;
    seen = end < seen ? end : seen;
    for (int i = start; i < end; i++)
        most[i - start] = -INFINITY, sum[i - start] = 0;
    for (long i = start * size; i < end * size; i++)
        y[i] = 0;
    for (int first = 0; first < seen; first += KEY_TILE) {
        const int count = shape.keys - first < KEY_TILE ? (int)shape.keys - first : KEY_TILE;
        attention_turn(k + first * size, turned, count, size);
        for (int query = start; query < end; query++) {
            int last = first + count;
            last = query + 1 < last ? query + 1 : last;
            real scores[KEY_TILE];
            attention_products(q + query * size, turned, scores, size);
            attention_scores_2(scores, scale,
                             head,
                             query,
                             first, last);
            attention_soften_2(scores, &most[query - start], &sum[query - start], y + query * size, size);
            attention_add(scores, 1, v + first * size, y + query * size, count, size);
        }
    }
    for (int i = start; i < end; i++) {
        const double total = sum[i - start];
        const real share = (real)(total > 0 ? 1 / total : 0);
        for (long d = 0; d < size; d++)
            y[i * size + d] *= share;
    }
}

/* y = softmax(score(scale q k^T)) v */
static void attention_2(const real *q, const real *k, const real *v,
                      real *y,
                      attention_shape shape, real scale)
{
    const long length = shape.length, keys = shape.keys, size = shape.size, tiles = (length + QUERY_TILE - 1) / QUERY_TILE;
#pragma omp parallel for
    for (long task = 0; task < shape.rows * shape.heads * tiles; task++) {
        const long pair = task / tiles, start = task % tiles * QUERY_TILE;
        const long end = start + QUERY_TILE < length ? start + QUERY_TILE : length;
        attention_queries_2(q + pair * length * size, k + pair * keys * size, v + pair * keys * size, y + pair * length * size,
                          (int)(pair % shape.heads),
                          shape, scale, (int)start, (int)end);
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
    initial(weights + transformer_wte_weight, 8192, 0x1784db15dc261b4eull);
    fill(weights + transformer_h_0_ln_1_weight, 32, 1.0f);
    fill(weights + transformer_h_0_ln_1_bias, 32, 0.0f);
    initial(weights + transformer_h_0_attn_c_attn_weight, 3072, 0x4181ecc696aeb24aull);
    fill(weights + transformer_h_0_attn_c_attn_bias, 96, 0.0f);
    initial_2(weights + transformer_h_0_attn_c_proj_weight, 1024, 0xd5739fd7641bab92ull);
    fill(weights + transformer_h_0_attn_c_proj_bias, 32, 0.0f);
    fill(weights + transformer_h_0_ln_2_weight, 32, 1.0f);
    fill(weights + transformer_h_0_ln_2_bias, 32, 0.0f);
    initial(weights + transformer_h_0_mlp_c_fc_weight, 4096, 0xaad9313eb5645ebaull);
    fill(weights + transformer_h_0_mlp_c_fc_bias, 128, 0.0f);
    initial_2(weights + transformer_h_0_mlp_c_proj_weight, 4096, 0x5e54c81d4ff28dd6ull);
    fill(weights + transformer_h_0_mlp_c_proj_bias, 32, 0.0f);
    fill(weights + transformer_h_1_ln_1_weight, 32, 1.0f);
    fill(weights + transformer_h_1_ln_1_bias, 32, 0.0f);
    initial(weights + transformer_h_1_attn_c_attn_weight, 3072, 0x314b5ee514f40ddfull);
    fill(weights + transformer_h_1_attn_c_attn_bias, 96, 0.0f);
    initial_2(weights + transformer_h_1_attn_c_proj_weight, 1024, 0xb55c8b0d5dca4adbull);
    fill(weights + transformer_h_1_attn_c_proj_bias, 32, 0.0f);
    fill(weights + transformer_h_1_ln_2_weight, 32, 1.0f);
    fill(weights + transformer_h_1_ln_2_bias, 32, 0.0f);
    initial(weights + transformer_h_1_mlp_c_fc_weight, 4096, 0x8fce5accfdba2e01ull);
    fill(weights + transformer_h_1_mlp_c_fc_bias, 128, 0.0f);
    initial_2(weights + transformer_h_1_mlp_c_proj_weight, 4096, 0x2f5977579bc7249dull);
    fill(weights + transformer_h_1_mlp_c_proj_bias, 32, 0.0f);
    fill(weights + transformer_ln_f_weight, 32, 1.0f);
    fill(weights + transformer_ln_f_bias, 32, 0.0f);
}

static void initialize(void)
{
    initialize_1();
}

/* ---- steps ------------------------------------------------------------------------------------- */

static void forward(void)
{
    gather(weights + transformer_wte_weight, batch.tokens, arena + transformer_wte, 256, 32);
    row_moments(arena + transformer_wte, arena + transformer_h_0_ln_1_moments, 256, 32);
    row_normalize(arena + transformer_wte, arena + transformer_h_0_ln_1_moments, weights + transformer_h_0_ln_1_weight,
        weights + transformer_h_0_ln_1_bias, arena + transformer_h_0_ln_1, 256, 32, 1e-05f);
    dnnl_product(arena + transformer_h_0_ln_1, weights + transformer_h_0_attn_c_attn_weight,
        arena + transformer_h_0_attn_c_attn_product, 1, 256, 96, 32, 0, 0, false, false);
    c_attn_each(arena + transformer_h_0_attn_c_attn_product, weights + transformer_h_0_attn_c_attn_bias,
        arena + transformer_h_0_attn_c_attn, 256, 96);
    move(arena + transformer_h_0_attn_c_attn, arena + transformer_h_0_attn_slice, 3, (const long[]){ 16, 16, 32 },
        (const long[]){ 1536, 96, 1 }, (const long[]){ 512, 32, 1 });
    move(arena + transformer_h_0_attn_slice, arena + transformer_h_0_attn_transpose, 4, (const long[]){ 16, 4, 16, 8 },
        (const long[]){ 512, 8, 32, 1 }, (const long[]){ 512, 128, 8, 1 });
    move(arena + transformer_h_0_attn_c_attn + 32, arena + transformer_h_0_attn_slice_2, 3, (const long[]){ 16, 16,
        32 }, (const long[]){ 1536, 96, 1 }, (const long[]){ 512, 32, 1 });
}

static void forward_transformer_h_0(void)
{
    move(arena + transformer_h_0_attn_slice_2, arena + transformer_h_0_attn_transpose_2, 4, (const long[]){ 16, 4, 16,
        8 }, (const long[]){ 512, 8, 32, 1 }, (const long[]){ 512, 128, 8, 1 });
    move(arena + transformer_h_0_attn_c_attn + 64, arena + transformer_h_0_attn_slice_3, 3, (const long[]){ 16, 16,
        32 }, (const long[]){ 1536, 96, 1 }, (const long[]){ 512, 32, 1 });
    move(arena + transformer_h_0_attn_slice_3, arena + transformer_h_0_attn_transpose_3, 4, (const long[]){ 16, 4, 16,
        8 }, (const long[]){ 512, 8, 32, 1 }, (const long[]){ 512, 128, 8, 1 });
    attention(arena + transformer_h_0_attn_transpose, arena + transformer_h_0_attn_transpose_2,
        arena + transformer_h_0_attn_transpose_3, arena + transformer_h_0_attn_attention,
        arena + d_transformer_h_0_attn_attention, (attention_shape){ 16, 4, 16, 16, 8 }, 0.35355339059327373f);
    move(arena + transformer_h_0_attn_attention, arena + transformer_h_0_attn_transpose_4, 4, (const long[]){ 16, 16,
        4, 8 }, (const long[]){ 512, 8, 128, 1 }, (const long[]){ 512, 32, 8, 1 });
    dnnl_product(arena + transformer_h_0_attn_transpose_4, weights + transformer_h_0_attn_c_proj_weight,
        arena + transformer_h_0_attn_c_proj_product, 1, 256, 32, 32, 0, 0, false, false);
    c_attn_each(arena + transformer_h_0_attn_c_proj_product, weights + transformer_h_0_attn_c_proj_bias,
        arena + transformer_h_0_attn_c_proj, 256, 32);
    residual_each(arena + transformer_wte, arena + transformer_h_0_attn_c_proj, arena + transformer_h_0_residual, 8192);
    row_moments(arena + transformer_h_0_residual, arena + transformer_h_0_ln_2_moments, 256, 32);
    row_normalize(arena + transformer_h_0_residual, arena + transformer_h_0_ln_2_moments,
        weights + transformer_h_0_ln_2_weight, weights + transformer_h_0_ln_2_bias, arena + transformer_h_0_ln_2, 256,
        32, 1e-05f);
    dnnl_product(arena + transformer_h_0_ln_2, weights + transformer_h_0_mlp_c_fc_weight,
        arena + transformer_h_0_mlp_c_fc_product, 1, 256, 128, 32, 0, 0, false, false);
    c_attn_each(arena + transformer_h_0_mlp_c_fc_product, weights + transformer_h_0_mlp_c_fc_bias,
        arena + transformer_h_0_mlp_c_fc, 256, 128);
    gelu_tanh_each(arena + transformer_h_0_mlp_c_fc, arena + transformer_h_0_mlp_gelu_tanh, 32768);
    dnnl_product(arena + transformer_h_0_mlp_gelu_tanh, weights + transformer_h_0_mlp_c_proj_weight,
        arena + transformer_h_0_mlp_c_proj_product, 1, 256, 32, 128, 0, 0, false, false);
    c_attn_each(arena + transformer_h_0_mlp_c_proj_product, weights + transformer_h_0_mlp_c_proj_bias,
        arena + transformer_h_0_mlp_c_proj, 256, 32);
    residual_each(arena + transformer_h_0_residual, arena + transformer_h_0_mlp_c_proj,
        arena + transformer_h_0_residual_2, 8192);
}

static void forward_transformer_h_1(void)
{
    row_moments(arena + transformer_h_0_residual_2, arena + transformer_h_1_ln_1_moments, 256, 32);
    row_normalize(arena + transformer_h_0_residual_2, arena + transformer_h_1_ln_1_moments,
        weights + transformer_h_1_ln_1_weight, weights + transformer_h_1_ln_1_bias, arena + transformer_h_1_ln_1, 256,
        32, 1e-05f);
    dnnl_product(arena + transformer_h_1_ln_1, weights + transformer_h_1_attn_c_attn_weight,
        arena + transformer_h_1_attn_c_attn_product, 1, 256, 96, 32, 0, 0, false, false);
    c_attn_each(arena + transformer_h_1_attn_c_attn_product, weights + transformer_h_1_attn_c_attn_bias,
        arena + transformer_h_1_attn_c_attn, 256, 96);
    move(arena + transformer_h_1_attn_c_attn, arena + transformer_h_1_attn_slice, 3, (const long[]){ 16, 16, 32 },
        (const long[]){ 1536, 96, 1 }, (const long[]){ 512, 32, 1 });
    move(arena + transformer_h_1_attn_slice, arena + transformer_h_1_attn_transpose, 4, (const long[]){ 16, 4, 16, 8 },
        (const long[]){ 512, 8, 32, 1 }, (const long[]){ 512, 128, 8, 1 });
    move(arena + transformer_h_1_attn_c_attn + 32, arena + transformer_h_1_attn_slice_2, 3, (const long[]){ 16, 16,
        32 }, (const long[]){ 1536, 96, 1 }, (const long[]){ 512, 32, 1 });
    move(arena + transformer_h_1_attn_slice_2, arena + transformer_h_1_attn_transpose_2, 4, (const long[]){ 16, 4, 16,
        8 }, (const long[]){ 512, 8, 32, 1 }, (const long[]){ 512, 128, 8, 1 });
    move(arena + transformer_h_1_attn_c_attn + 64, arena + transformer_h_1_attn_slice_3, 3, (const long[]){ 16, 16,
        32 }, (const long[]){ 1536, 96, 1 }, (const long[]){ 512, 32, 1 });
    move(arena + transformer_h_1_attn_slice_3, arena + transformer_h_1_attn_transpose_3, 4, (const long[]){ 16, 4, 16,
        8 }, (const long[]){ 512, 8, 32, 1 }, (const long[]){ 512, 128, 8, 1 });
    attention(arena + transformer_h_1_attn_transpose, arena + transformer_h_1_attn_transpose_2,
        arena + transformer_h_1_attn_transpose_3, arena + transformer_h_1_attn_attention,
        arena + d_transformer_h_1_attn_attention, (attention_shape){ 16, 4, 16, 16, 8 }, 0.35355339059327373f);
    move(arena + transformer_h_1_attn_attention, arena + transformer_h_1_attn_transpose_4, 4, (const long[]){ 16, 16,
        4, 8 }, (const long[]){ 512, 8, 128, 1 }, (const long[]){ 512, 32, 8, 1 });
    dnnl_product(arena + transformer_h_1_attn_transpose_4, weights + transformer_h_1_attn_c_proj_weight,
        arena + transformer_h_1_attn_c_proj_product, 1, 256, 32, 32, 0, 0, false, false);
    c_attn_each(arena + transformer_h_1_attn_c_proj_product, weights + transformer_h_1_attn_c_proj_bias,
        arena + transformer_h_1_attn_c_proj, 256, 32);
    residual_each(arena + transformer_h_0_residual_2, arena + transformer_h_1_attn_c_proj,
        arena + transformer_h_1_residual, 8192);
    row_moments(arena + transformer_h_1_residual, arena + transformer_h_1_ln_2_moments, 256, 32);
    row_normalize(arena + transformer_h_1_residual, arena + transformer_h_1_ln_2_moments,
        weights + transformer_h_1_ln_2_weight, weights + transformer_h_1_ln_2_bias, arena + transformer_h_1_ln_2, 256,
        32, 1e-05f);
    dnnl_product(arena + transformer_h_1_ln_2, weights + transformer_h_1_mlp_c_fc_weight,
        arena + transformer_h_1_mlp_c_fc_product, 1, 256, 128, 32, 0, 0, false, false);
    c_attn_each(arena + transformer_h_1_mlp_c_fc_product, weights + transformer_h_1_mlp_c_fc_bias,
        arena + transformer_h_1_mlp_c_fc, 256, 128);
    gelu_tanh_each(arena + transformer_h_1_mlp_c_fc, arena + transformer_h_1_mlp_gelu_tanh, 32768);
    dnnl_product(arena + transformer_h_1_mlp_gelu_tanh, weights + transformer_h_1_mlp_c_proj_weight,
        arena + transformer_h_1_mlp_c_proj_product, 1, 256, 32, 128, 0, 0, false, false);
    c_attn_each(arena + transformer_h_1_mlp_c_proj_product, weights + transformer_h_1_mlp_c_proj_bias,
        arena + transformer_h_1_mlp_c_proj, 256, 32);
    residual_each(arena + transformer_h_1_residual, arena + transformer_h_1_mlp_c_proj,
        arena + transformer_h_1_residual_2, 8192);
}

static void forward_2(void)
{
    row_moments(arena + transformer_h_1_residual_2, arena + transformer_ln_f_moments, 256, 32);
    row_normalize(arena + transformer_h_1_residual_2, arena + transformer_ln_f_moments,
        weights + transformer_ln_f_weight, weights + transformer_ln_f_bias, arena + transformer_ln_f, 256, 32, 1e-05f);
    dnnl_product(arena + transformer_ln_f, weights + transformer_wte_weight, arena + matmul_transposed, 1, 256, 256,
        32, 0, 0, false, true);
    cross_entropy(arena + matmul_transposed, batch.targets, arena + loss_cross_entropy, 256, 256, -100);
    count_each(batch.targets, arena + loss_count, 256);
    reduce_sum(arena + loss_count, arena + loss_count_2, 1, 256, 1);
    sum_each(arena + loss_cross_entropy, batch.targets, arena + loss_sum, 256);
    reduce_sum(arena + loss_sum, arena + loss_sum_2, 1, 256, 1);
    loss_each(arena + loss_sum_2, arena + loss_count_2, arena + loss, 1);
}

static void backward(void)
{
    d_loss_each(&batch.share, arena + loss_count_2, arena + d_loss, 1);
    d_sum_each(arena + d_loss, batch.targets, arena + d_loss_sum, 256);
    cross_entropy_grad(arena + matmul_transposed, batch.targets, arena + d_loss_sum, arena + d_loss_cross_entropy, 256,
        256, -100);
    dnnl_product(arena + d_loss_cross_entropy, weights + transformer_wte_weight, arena + d_matmul_transposed, 1, 256,
        32, 256, 0, 0, false, false);
    dnnl_product(arena + d_loss_cross_entropy, arena + transformer_ln_f, arena + d_matmul_transposed_2, 1, 256, 32,
        256, 65536, 0, true, false);
    row_normalize_grad_sums(arena + d_matmul_transposed, arena + transformer_h_1_residual_2,
        arena + transformer_ln_f_moments, weights + transformer_ln_f_weight, arena + d_transformer_ln_f, 256, 32,
        1e-05f);
    row_normalize_grad(arena + d_matmul_transposed, arena + transformer_h_1_residual_2,
        arena + transformer_ln_f_moments, arena + d_transformer_ln_f, weights + transformer_ln_f_weight,
        arena + d_transformer_ln_f_2, 256, 32, 1e-05f);
    row_normalize_grad_affine(arena + d_matmul_transposed, arena + transformer_h_1_residual_2,
        arena + transformer_ln_f_moments, arena + d_transformer_ln_f_3, 256, 32, 1e-05f);
    move(arena + d_transformer_ln_f_3 + 32, gradients + transformer_ln_f_weight, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    move(arena + d_transformer_ln_f_3, gradients + transformer_ln_f_bias, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
}

static void backward_transformer_h_1(void)
{
    reduce_sum(arena + d_transformer_ln_f_2, gradients + transformer_h_1_mlp_c_proj_bias, 1, 256, 32);
    dnnl_product(arena + d_transformer_ln_f_2, weights + transformer_h_1_mlp_c_proj_weight,
        arena + d_transformer_h_1_mlp_c_proj_product, 1, 256, 128, 32, 0, 0, false, true);
    dnnl_product(arena + transformer_h_1_mlp_gelu_tanh, arena + d_transformer_ln_f_2,
        gradients + transformer_h_1_mlp_c_proj_weight, 1, 128, 32, 256, 32768, 0, true, false);
    d_gelu_tanh_each(arena + d_transformer_h_1_mlp_c_proj_product, arena + transformer_h_1_mlp_c_fc,
        arena + d_transformer_h_1_mlp_gelu_tanh, 32768);
    reduce_sum(arena + d_transformer_h_1_mlp_gelu_tanh, gradients + transformer_h_1_mlp_c_fc_bias, 1, 256, 128);
    dnnl_product(arena + d_transformer_h_1_mlp_gelu_tanh, weights + transformer_h_1_mlp_c_fc_weight,
        arena + d_transformer_h_1_mlp_c_fc_product, 1, 256, 32, 128, 0, 0, false, true);
    dnnl_product(arena + transformer_h_1_ln_2, arena + d_transformer_h_1_mlp_gelu_tanh,
        gradients + transformer_h_1_mlp_c_fc_weight, 1, 32, 128, 256, 8192, 0, true, false);
    row_normalize_grad_sums(arena + d_transformer_h_1_mlp_c_fc_product, arena + transformer_h_1_residual,
        arena + transformer_h_1_ln_2_moments, weights + transformer_h_1_ln_2_weight, arena + d_transformer_h_1_ln_2,
        256, 32, 1e-05f);
    row_normalize_grad(arena + d_transformer_h_1_mlp_c_fc_product, arena + transformer_h_1_residual,
        arena + transformer_h_1_ln_2_moments, arena + d_transformer_h_1_ln_2, weights + transformer_h_1_ln_2_weight,
        arena + d_transformer_h_1_ln_2_2, 256, 32, 1e-05f);
    residual_each(arena + d_transformer_ln_f_2, arena + d_transformer_h_1_ln_2_2, arena + d_transformer_h_1_ln_2_3,
        8192);
    row_normalize_grad_affine(arena + d_transformer_h_1_mlp_c_fc_product, arena + transformer_h_1_residual,
        arena + transformer_h_1_ln_2_moments, arena + d_transformer_h_1_ln_2_4, 256, 32, 1e-05f);
    move(arena + d_transformer_h_1_ln_2_4 + 32, gradients + transformer_h_1_ln_2_weight, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    move(arena + d_transformer_h_1_ln_2_4, gradients + transformer_h_1_ln_2_bias, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    reduce_sum(arena + d_transformer_h_1_ln_2_3, gradients + transformer_h_1_attn_c_proj_bias, 1, 256, 32);
    dnnl_product(arena + d_transformer_h_1_ln_2_3, weights + transformer_h_1_attn_c_proj_weight,
        arena + d_transformer_h_1_attn_c_proj_product, 1, 256, 32, 32, 0, 0, false, true);
    dnnl_product(arena + transformer_h_1_attn_transpose_4, arena + d_transformer_h_1_ln_2_3,
        gradients + transformer_h_1_attn_c_proj_weight, 1, 32, 32, 256, 8192, 0, true, false);
    move(arena + d_transformer_h_1_attn_c_proj_product, arena + d_transformer_h_1_attn_transpose_4, 4,
        (const long[]){ 16, 4, 16, 8 }, (const long[]){ 512, 8, 32, 1 }, (const long[]){ 512, 128, 8, 1 });
    attention_grad(arena + d_transformer_h_1_attn_transpose_4, arena + transformer_h_1_attn_transpose,
        arena + transformer_h_1_attn_transpose_2, arena + transformer_h_1_attn_transpose_3,
        arena + transformer_h_1_attn_attention, arena + d_transformer_h_1_attn_attention,
        arena + d_transformer_h_1_attn_attention_2, arena + d_transformer_h_1_attn_attention_3,
        arena + d_transformer_h_1_attn_attention_4, (attention_shape){ 16, 4, 16, 16, 8 }, 0.35355339059327373f);
    move(arena + d_transformer_h_1_attn_attention_4, arena + d_transformer_h_1_attn_transpose_3, 4, (const long[]){ 16,
        16, 4, 8 }, (const long[]){ 512, 8, 128, 1 }, (const long[]){ 512, 32, 8, 1 });
    fill(arena + d_transformer_h_1_attn_slice_3, 24576, 0.0f);
    move(arena + d_transformer_h_1_attn_transpose_3, arena + d_transformer_h_1_attn_slice_3 + 64, 3,
        (const long[]){ 16, 16, 32 }, (const long[]){ 512, 32, 1 }, (const long[]){ 1536, 96, 1 });
    move(arena + d_transformer_h_1_attn_attention_3, arena + d_transformer_h_1_attn_transpose_2, 4, (const long[]){ 16,
        16, 4, 8 }, (const long[]){ 512, 8, 128, 1 }, (const long[]){ 512, 32, 8, 1 });
    fill(arena + d_transformer_h_1_attn_slice_2, 24576, 0.0f);
    move(arena + d_transformer_h_1_attn_transpose_2, arena + d_transformer_h_1_attn_slice_2 + 32, 3,
        (const long[]){ 16, 16, 32 }, (const long[]){ 512, 32, 1 }, (const long[]){ 1536, 96, 1 });
}

static void backward_transformer_h_1_2(void)
{
    residual_each(arena + d_transformer_h_1_attn_slice_3, arena + d_transformer_h_1_attn_slice_2,
        arena + d_transformer_h_1_attn_slice_2_2, 24576);
    move(arena + d_transformer_h_1_attn_attention_2, arena + d_transformer_h_1_attn_transpose, 4, (const long[]){ 16,
        16, 4, 8 }, (const long[]){ 512, 8, 128, 1 }, (const long[]){ 512, 32, 8, 1 });
    fill(arena + d_transformer_h_1_attn_slice, 24576, 0.0f);
    move(arena + d_transformer_h_1_attn_transpose, arena + d_transformer_h_1_attn_slice, 3, (const long[]){ 16, 16,
        32 }, (const long[]){ 512, 32, 1 }, (const long[]){ 1536, 96, 1 });
    residual_each(arena + d_transformer_h_1_attn_slice_2_2, arena + d_transformer_h_1_attn_slice,
        arena + d_transformer_h_1_attn_slice_4, 24576);
    reduce_sum(arena + d_transformer_h_1_attn_slice_4, gradients + transformer_h_1_attn_c_attn_bias, 1, 256, 96);
    dnnl_product(arena + d_transformer_h_1_attn_slice_4, weights + transformer_h_1_attn_c_attn_weight,
        arena + d_transformer_h_1_attn_c_attn_product, 1, 256, 32, 96, 0, 0, false, true);
    dnnl_product(arena + transformer_h_1_ln_1, arena + d_transformer_h_1_attn_slice_4,
        gradients + transformer_h_1_attn_c_attn_weight, 1, 32, 96, 256, 8192, 0, true, false);
    row_normalize_grad_sums(arena + d_transformer_h_1_attn_c_attn_product, arena + transformer_h_0_residual_2,
        arena + transformer_h_1_ln_1_moments, weights + transformer_h_1_ln_1_weight, arena + d_transformer_h_1_ln_1,
        256, 32, 1e-05f);
    row_normalize_grad(arena + d_transformer_h_1_attn_c_attn_product, arena + transformer_h_0_residual_2,
        arena + transformer_h_1_ln_1_moments, arena + d_transformer_h_1_ln_1, weights + transformer_h_1_ln_1_weight,
        arena + d_transformer_h_1_ln_1_2, 256, 32, 1e-05f);
    residual_each(arena + d_transformer_h_1_ln_2_3, arena + d_transformer_h_1_ln_1_2, arena + d_transformer_h_1_ln_1_3,
        8192);
    row_normalize_grad_affine(arena + d_transformer_h_1_attn_c_attn_product, arena + transformer_h_0_residual_2,
        arena + transformer_h_1_ln_1_moments, arena + d_transformer_h_1_ln_1_4, 256, 32, 1e-05f);
    move(arena + d_transformer_h_1_ln_1_4 + 32, gradients + transformer_h_1_ln_1_weight, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    move(arena + d_transformer_h_1_ln_1_4, gradients + transformer_h_1_ln_1_bias, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
}

static void backward_transformer_h_0(void)
{
    reduce_sum(arena + d_transformer_h_1_ln_1_3, gradients + transformer_h_0_mlp_c_proj_bias, 1, 256, 32);
    dnnl_product(arena + d_transformer_h_1_ln_1_3, weights + transformer_h_0_mlp_c_proj_weight,
        arena + d_transformer_h_0_mlp_c_proj_product, 1, 256, 128, 32, 0, 0, false, true);
    dnnl_product(arena + transformer_h_0_mlp_gelu_tanh, arena + d_transformer_h_1_ln_1_3,
        gradients + transformer_h_0_mlp_c_proj_weight, 1, 128, 32, 256, 32768, 0, true, false);
    d_gelu_tanh_each(arena + d_transformer_h_0_mlp_c_proj_product, arena + transformer_h_0_mlp_c_fc,
        arena + d_transformer_h_0_mlp_gelu_tanh, 32768);
    reduce_sum(arena + d_transformer_h_0_mlp_gelu_tanh, gradients + transformer_h_0_mlp_c_fc_bias, 1, 256, 128);
    dnnl_product(arena + d_transformer_h_0_mlp_gelu_tanh, weights + transformer_h_0_mlp_c_fc_weight,
        arena + d_transformer_h_0_mlp_c_fc_product, 1, 256, 32, 128, 0, 0, false, true);
    dnnl_product(arena + transformer_h_0_ln_2, arena + d_transformer_h_0_mlp_gelu_tanh,
        gradients + transformer_h_0_mlp_c_fc_weight, 1, 32, 128, 256, 8192, 0, true, false);
    row_normalize_grad_sums(arena + d_transformer_h_0_mlp_c_fc_product, arena + transformer_h_0_residual,
        arena + transformer_h_0_ln_2_moments, weights + transformer_h_0_ln_2_weight, arena + d_transformer_h_0_ln_2,
        256, 32, 1e-05f);
    row_normalize_grad(arena + d_transformer_h_0_mlp_c_fc_product, arena + transformer_h_0_residual,
        arena + transformer_h_0_ln_2_moments, arena + d_transformer_h_0_ln_2, weights + transformer_h_0_ln_2_weight,
        arena + d_transformer_h_0_ln_2_2, 256, 32, 1e-05f);
    residual_each(arena + d_transformer_h_1_ln_1_3, arena + d_transformer_h_0_ln_2_2, arena + d_transformer_h_0_ln_2_3,
        8192);
    row_normalize_grad_affine(arena + d_transformer_h_0_mlp_c_fc_product, arena + transformer_h_0_residual,
        arena + transformer_h_0_ln_2_moments, arena + d_transformer_h_0_ln_2_4, 256, 32, 1e-05f);
    move(arena + d_transformer_h_0_ln_2_4 + 32, gradients + transformer_h_0_ln_2_weight, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    move(arena + d_transformer_h_0_ln_2_4, gradients + transformer_h_0_ln_2_bias, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    reduce_sum(arena + d_transformer_h_0_ln_2_3, gradients + transformer_h_0_attn_c_proj_bias, 1, 256, 32);
    dnnl_product(arena + d_transformer_h_0_ln_2_3, weights + transformer_h_0_attn_c_proj_weight,
        arena + d_transformer_h_0_attn_c_proj_product, 1, 256, 32, 32, 0, 0, false, true);
    dnnl_product(arena + transformer_h_0_attn_transpose_4, arena + d_transformer_h_0_ln_2_3,
        gradients + transformer_h_0_attn_c_proj_weight, 1, 32, 32, 256, 8192, 0, true, false);
    move(arena + d_transformer_h_0_attn_c_proj_product, arena + d_transformer_h_0_attn_transpose_4, 4,
        (const long[]){ 16, 4, 16, 8 }, (const long[]){ 512, 8, 32, 1 }, (const long[]){ 512, 128, 8, 1 });
    attention_grad(arena + d_transformer_h_0_attn_transpose_4, arena + transformer_h_0_attn_transpose,
        arena + transformer_h_0_attn_transpose_2, arena + transformer_h_0_attn_transpose_3,
        arena + transformer_h_0_attn_attention, arena + d_transformer_h_0_attn_attention,
        arena + d_transformer_h_0_attn_attention_2, arena + d_transformer_h_0_attn_attention_3,
        arena + d_transformer_h_0_attn_attention_4, (attention_shape){ 16, 4, 16, 16, 8 }, 0.35355339059327373f);
    move(arena + d_transformer_h_0_attn_attention_4, arena + d_transformer_h_0_attn_transpose_3, 4, (const long[]){ 16,
        16, 4, 8 }, (const long[]){ 512, 8, 128, 1 }, (const long[]){ 512, 32, 8, 1 });
    fill(arena + d_transformer_h_0_attn_slice_3, 24576, 0.0f);
    move(arena + d_transformer_h_0_attn_transpose_3, arena + d_transformer_h_0_attn_slice_3 + 64, 3,
        (const long[]){ 16, 16, 32 }, (const long[]){ 512, 32, 1 }, (const long[]){ 1536, 96, 1 });
    move(arena + d_transformer_h_0_attn_attention_3, arena + d_transformer_h_0_attn_transpose_2, 4, (const long[]){ 16,
        16, 4, 8 }, (const long[]){ 512, 8, 128, 1 }, (const long[]){ 512, 32, 8, 1 });
    fill(arena + d_transformer_h_0_attn_slice_2, 24576, 0.0f);
    move(arena + d_transformer_h_0_attn_transpose_2, arena + d_transformer_h_0_attn_slice_2 + 32, 3,
        (const long[]){ 16, 16, 32 }, (const long[]){ 512, 32, 1 }, (const long[]){ 1536, 96, 1 });
}

static void backward_transformer_h_0_2(void)
{
    residual_each(arena + d_transformer_h_0_attn_slice_3, arena + d_transformer_h_0_attn_slice_2,
        arena + d_transformer_h_0_attn_slice_2_2, 24576);
    move(arena + d_transformer_h_0_attn_attention_2, arena + d_transformer_h_0_attn_transpose, 4, (const long[]){ 16,
        16, 4, 8 }, (const long[]){ 512, 8, 128, 1 }, (const long[]){ 512, 32, 8, 1 });
    fill(arena + d_transformer_h_0_attn_slice, 24576, 0.0f);
    move(arena + d_transformer_h_0_attn_transpose, arena + d_transformer_h_0_attn_slice, 3, (const long[]){ 16, 16,
        32 }, (const long[]){ 512, 32, 1 }, (const long[]){ 1536, 96, 1 });
    residual_each(arena + d_transformer_h_0_attn_slice_2_2, arena + d_transformer_h_0_attn_slice,
        arena + d_transformer_h_0_attn_slice_4, 24576);
    reduce_sum(arena + d_transformer_h_0_attn_slice_4, gradients + transformer_h_0_attn_c_attn_bias, 1, 256, 96);
    dnnl_product(arena + d_transformer_h_0_attn_slice_4, weights + transformer_h_0_attn_c_attn_weight,
        arena + d_transformer_h_0_attn_c_attn_product, 1, 256, 32, 96, 0, 0, false, true);
    dnnl_product(arena + transformer_h_0_ln_1, arena + d_transformer_h_0_attn_slice_4,
        gradients + transformer_h_0_attn_c_attn_weight, 1, 32, 96, 256, 8192, 0, true, false);
    row_normalize_grad_sums(arena + d_transformer_h_0_attn_c_attn_product, arena + transformer_wte,
        arena + transformer_h_0_ln_1_moments, weights + transformer_h_0_ln_1_weight, arena + d_transformer_h_0_ln_1,
        256, 32, 1e-05f);
    row_normalize_grad(arena + d_transformer_h_0_attn_c_attn_product, arena + transformer_wte,
        arena + transformer_h_0_ln_1_moments, arena + d_transformer_h_0_ln_1, weights + transformer_h_0_ln_1_weight,
        arena + d_transformer_h_0_ln_1_2, 256, 32, 1e-05f);
    residual_each(arena + d_transformer_h_0_ln_2_3, arena + d_transformer_h_0_ln_1_2, arena + d_transformer_h_0_ln_1_3,
        8192);
    row_normalize_grad_affine(arena + d_transformer_h_0_attn_c_attn_product, arena + transformer_wte,
        arena + transformer_h_0_ln_1_moments, arena + d_transformer_h_0_ln_1_4, 256, 32, 1e-05f);
    move(arena + d_transformer_h_0_ln_1_4 + 32, gradients + transformer_h_0_ln_1_weight, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
    move(arena + d_transformer_h_0_ln_1_4, gradients + transformer_h_0_ln_1_bias, 2, (const long[]){ 1, 32 },
        (const long[]){ 32, 1 }, (const long[]){ 32, 1 });
}

static void backward_2(void)
{
    gather_grad(arena + d_transformer_h_0_ln_1_3, batch.tokens, arena + d_transformer_wte, 256, 256, 32, -1);
    residual_each(arena + d_matmul_transposed_2, arena + d_transformer_wte, gradients + transformer_wte_weight, 8192);
}

static void train(void)
{
    forward();
    forward_transformer_h_0();
    forward_transformer_h_1();
    forward_2();
    backward();
    backward_transformer_h_1();
    backward_transformer_h_1_2();
    backward_transformer_h_0();
    backward_transformer_h_0_2();
    backward_2();
    batch.loss += batch.share * *(arena + loss);
}

static void evaluate_2(const struct evaluate_phase *p)
{
    gather(weights + transformer_wte_weight, batch.tokens, arena + evaluate_transformer_wte, p->elements, 32);
    row_moments(arena + evaluate_transformer_wte, arena + evaluate_transformer_h_0_ln_1_moments, p->elements, 32);
    row_normalize(arena + evaluate_transformer_wte, arena + evaluate_transformer_h_0_ln_1_moments,
        weights + transformer_h_0_ln_1_weight, weights + transformer_h_0_ln_1_bias,
        arena + evaluate_transformer_h_0_ln_1, p->elements, 32, 1e-05f);
    dnnl_product(arena + evaluate_transformer_h_0_ln_1, weights + transformer_h_0_attn_c_attn_weight,
        arena + evaluate_transformer_h_0_attn_c_attn_product, 1, p->elements, 96, 32, 0, 0, false, false);
    c_attn_each(arena + evaluate_transformer_h_0_attn_c_attn_product, weights + transformer_h_0_attn_c_attn_bias,
        arena + evaluate_transformer_h_0_attn_c_attn, p->elements, 96);
    move(arena + evaluate_transformer_h_0_attn_c_attn, arena + evaluate_transformer_h_0_attn_slice, 3,
        (const long[]){ p->extent, 32, 32 }, (const long[]){ 3072, 96, 1 }, (const long[]){ 1024, 32, 1 });
    move(arena + evaluate_transformer_h_0_attn_slice, arena + evaluate_transformer_h_0_attn_transpose, 4,
        (const long[]){ p->extent, 4, 32, 8 }, (const long[]){ 1024, 8, 32, 1 }, (const long[]){ 1024, 256, 8, 1 });
    move(arena + evaluate_transformer_h_0_attn_c_attn + 32, arena + evaluate_transformer_h_0_attn_slice_2, 3,
        (const long[]){ p->extent, 32, 32 }, (const long[]){ 3072, 96, 1 }, (const long[]){ 1024, 32, 1 });
}

static void evaluate_transformer_h_0(const struct evaluate_phase *p)
{
    move(arena + evaluate_transformer_h_0_attn_slice_2, arena + evaluate_transformer_h_0_attn_transpose_2, 4,
        (const long[]){ p->extent, 4, 32, 8 }, (const long[]){ 1024, 8, 32, 1 }, (const long[]){ 1024, 256, 8, 1 });
    move(arena + evaluate_transformer_h_0_attn_c_attn + 64, arena + evaluate_transformer_h_0_attn_slice_3, 3,
        (const long[]){ p->extent, 32, 32 }, (const long[]){ 3072, 96, 1 }, (const long[]){ 1024, 32, 1 });
    move(arena + evaluate_transformer_h_0_attn_slice_3, arena + evaluate_transformer_h_0_attn_transpose_3, 4,
        (const long[]){ p->extent, 4, 32, 8 }, (const long[]){ 1024, 8, 32, 1 }, (const long[]){ 1024, 256, 8, 1 });
    attention_2(arena + evaluate_transformer_h_0_attn_transpose, arena + evaluate_transformer_h_0_attn_transpose_2,
        arena + evaluate_transformer_h_0_attn_transpose_3, arena + evaluate_transformer_h_0_attn_attention,
        (attention_shape){ p->extent, 4, 32, 32, 8 }, 0.35355339059327373f);
    move(arena + evaluate_transformer_h_0_attn_attention, arena + evaluate_transformer_h_0_attn_transpose_4, 4,
        (const long[]){ p->extent, 32, 4, 8 }, (const long[]){ 1024, 8, 256, 1 }, (const long[]){ 1024, 32, 8, 1 });
    dnnl_product(arena + evaluate_transformer_h_0_attn_transpose_4, weights + transformer_h_0_attn_c_proj_weight,
        arena + evaluate_transformer_h_0_attn_c_proj_product, 1, p->elements, 32, 32, 0, 0, false, false);
    c_attn_each(arena + evaluate_transformer_h_0_attn_c_proj_product, weights + transformer_h_0_attn_c_proj_bias,
        arena + evaluate_transformer_h_0_attn_c_proj, p->elements, 32);
    residual_each(arena + evaluate_transformer_wte, arena + evaluate_transformer_h_0_attn_c_proj,
        arena + evaluate_transformer_h_0_residual, p->elements_2);
    row_moments(arena + evaluate_transformer_h_0_residual, arena + evaluate_transformer_h_0_ln_2_moments, p->elements,
        32);
    row_normalize(arena + evaluate_transformer_h_0_residual, arena + evaluate_transformer_h_0_ln_2_moments,
        weights + transformer_h_0_ln_2_weight, weights + transformer_h_0_ln_2_bias,
        arena + evaluate_transformer_h_0_ln_2, p->elements, 32, 1e-05f);
    dnnl_product(arena + evaluate_transformer_h_0_ln_2, weights + transformer_h_0_mlp_c_fc_weight,
        arena + evaluate_transformer_h_0_mlp_c_fc_product, 1, p->elements, 128, 32, 0, 0, false, false);
    c_attn_each(arena + evaluate_transformer_h_0_mlp_c_fc_product, weights + transformer_h_0_mlp_c_fc_bias,
        arena + evaluate_transformer_h_0_mlp_c_fc, p->elements, 128);
    gelu_tanh_each(arena + evaluate_transformer_h_0_mlp_c_fc, arena + evaluate_transformer_h_0_mlp_gelu_tanh,
        p->elements_3);
    dnnl_product(arena + evaluate_transformer_h_0_mlp_gelu_tanh, weights + transformer_h_0_mlp_c_proj_weight,
        arena + evaluate_transformer_h_0_mlp_c_proj_product, 1, p->elements, 32, 128, 0, 0, false, false);
    c_attn_each(arena + evaluate_transformer_h_0_mlp_c_proj_product, weights + transformer_h_0_mlp_c_proj_bias,
        arena + evaluate_transformer_h_0_mlp_c_proj, p->elements, 32);
    residual_each(arena + evaluate_transformer_h_0_residual, arena + evaluate_transformer_h_0_mlp_c_proj,
        arena + evaluate_transformer_h_0_residual_2, p->elements_2);
}

static void evaluate_transformer_h_1(const struct evaluate_phase *p)
{
    row_moments(arena + evaluate_transformer_h_0_residual_2, arena + evaluate_transformer_h_1_ln_1_moments,
        p->elements, 32);
    row_normalize(arena + evaluate_transformer_h_0_residual_2, arena + evaluate_transformer_h_1_ln_1_moments,
        weights + transformer_h_1_ln_1_weight, weights + transformer_h_1_ln_1_bias,
        arena + evaluate_transformer_h_1_ln_1, p->elements, 32, 1e-05f);
    dnnl_product(arena + evaluate_transformer_h_1_ln_1, weights + transformer_h_1_attn_c_attn_weight,
        arena + evaluate_transformer_h_1_attn_c_attn_product, 1, p->elements, 96, 32, 0, 0, false, false);
    c_attn_each(arena + evaluate_transformer_h_1_attn_c_attn_product, weights + transformer_h_1_attn_c_attn_bias,
        arena + evaluate_transformer_h_1_attn_c_attn, p->elements, 96);
    move(arena + evaluate_transformer_h_1_attn_c_attn, arena + evaluate_transformer_h_1_attn_slice, 3,
        (const long[]){ p->extent, 32, 32 }, (const long[]){ 3072, 96, 1 }, (const long[]){ 1024, 32, 1 });
    move(arena + evaluate_transformer_h_1_attn_slice, arena + evaluate_transformer_h_1_attn_transpose, 4,
        (const long[]){ p->extent, 4, 32, 8 }, (const long[]){ 1024, 8, 32, 1 }, (const long[]){ 1024, 256, 8, 1 });
    move(arena + evaluate_transformer_h_1_attn_c_attn + 32, arena + evaluate_transformer_h_1_attn_slice_2, 3,
        (const long[]){ p->extent, 32, 32 }, (const long[]){ 3072, 96, 1 }, (const long[]){ 1024, 32, 1 });
    move(arena + evaluate_transformer_h_1_attn_slice_2, arena + evaluate_transformer_h_1_attn_transpose_2, 4,
        (const long[]){ p->extent, 4, 32, 8 }, (const long[]){ 1024, 8, 32, 1 }, (const long[]){ 1024, 256, 8, 1 });
    move(arena + evaluate_transformer_h_1_attn_c_attn + 64, arena + evaluate_transformer_h_1_attn_slice_3, 3,
        (const long[]){ p->extent, 32, 32 }, (const long[]){ 3072, 96, 1 }, (const long[]){ 1024, 32, 1 });
    move(arena + evaluate_transformer_h_1_attn_slice_3, arena + evaluate_transformer_h_1_attn_transpose_3, 4,
        (const long[]){ p->extent, 4, 32, 8 }, (const long[]){ 1024, 8, 32, 1 }, (const long[]){ 1024, 256, 8, 1 });
    attention_2(arena + evaluate_transformer_h_1_attn_transpose, arena + evaluate_transformer_h_1_attn_transpose_2,
        arena + evaluate_transformer_h_1_attn_transpose_3, arena + evaluate_transformer_h_1_attn_attention,
        (attention_shape){ p->extent, 4, 32, 32, 8 }, 0.35355339059327373f);
    move(arena + evaluate_transformer_h_1_attn_attention, arena + evaluate_transformer_h_1_attn_transpose_4, 4,
        (const long[]){ p->extent, 32, 4, 8 }, (const long[]){ 1024, 8, 256, 1 }, (const long[]){ 1024, 32, 8, 1 });
    dnnl_product(arena + evaluate_transformer_h_1_attn_transpose_4, weights + transformer_h_1_attn_c_proj_weight,
        arena + evaluate_transformer_h_1_attn_c_proj_product, 1, p->elements, 32, 32, 0, 0, false, false);
    c_attn_each(arena + evaluate_transformer_h_1_attn_c_proj_product, weights + transformer_h_1_attn_c_proj_bias,
        arena + evaluate_transformer_h_1_attn_c_proj, p->elements, 32);
    residual_each(arena + evaluate_transformer_h_0_residual_2, arena + evaluate_transformer_h_1_attn_c_proj,
        arena + evaluate_transformer_h_1_residual, p->elements_2);
    row_moments(arena + evaluate_transformer_h_1_residual, arena + evaluate_transformer_h_1_ln_2_moments, p->elements,
        32);
    row_normalize(arena + evaluate_transformer_h_1_residual, arena + evaluate_transformer_h_1_ln_2_moments,
        weights + transformer_h_1_ln_2_weight, weights + transformer_h_1_ln_2_bias,
        arena + evaluate_transformer_h_1_ln_2, p->elements, 32, 1e-05f);
    dnnl_product(arena + evaluate_transformer_h_1_ln_2, weights + transformer_h_1_mlp_c_fc_weight,
        arena + evaluate_transformer_h_1_mlp_c_fc_product, 1, p->elements, 128, 32, 0, 0, false, false);
    c_attn_each(arena + evaluate_transformer_h_1_mlp_c_fc_product, weights + transformer_h_1_mlp_c_fc_bias,
        arena + evaluate_transformer_h_1_mlp_c_fc, p->elements, 128);
    gelu_tanh_each(arena + evaluate_transformer_h_1_mlp_c_fc, arena + evaluate_transformer_h_1_mlp_gelu_tanh,
        p->elements_3);
    dnnl_product(arena + evaluate_transformer_h_1_mlp_gelu_tanh, weights + transformer_h_1_mlp_c_proj_weight,
        arena + evaluate_transformer_h_1_mlp_c_proj_product, 1, p->elements, 32, 128, 0, 0, false, false);
    c_attn_each(arena + evaluate_transformer_h_1_mlp_c_proj_product, weights + transformer_h_1_mlp_c_proj_bias,
        arena + evaluate_transformer_h_1_mlp_c_proj, p->elements, 32);
    residual_each(arena + evaluate_transformer_h_1_residual, arena + evaluate_transformer_h_1_mlp_c_proj,
        arena + evaluate_transformer_h_1_residual_2, p->elements_2);
}

static void evaluate_3(const struct evaluate_phase *p)
{
    row_moments(arena + evaluate_transformer_h_1_residual_2, arena + evaluate_transformer_ln_f_moments, p->elements,
        32);
    row_normalize(arena + evaluate_transformer_h_1_residual_2, arena + evaluate_transformer_ln_f_moments,
        weights + transformer_ln_f_weight, weights + transformer_ln_f_bias, arena + evaluate_transformer_ln_f,
        p->elements, 32, 1e-05f);
    dnnl_product(arena + evaluate_transformer_ln_f, weights + transformer_wte_weight,
        arena + evaluate_matmul_transposed, 1, p->elements, 256, 32, 0, 0, false, true);
    cross_entropy(arena + evaluate_matmul_transposed, batch.targets, arena + evaluate_loss_cross_entropy, p->elements,
        256, -100);
    sum_each(arena + evaluate_loss_cross_entropy, batch.targets, arena + evaluate_metric_loss, p->elements);
    reduce_sum(arena + evaluate_metric_loss, arena + evaluate_metric_loss_2, 1, p->elements, 1);
    count_each(batch.targets, arena + evaluate_metric_count, p->elements);
    reduce_sum(arena + evaluate_metric_count, arena + evaluate_metric_count_2, 1, p->elements, 1);
    target_rank(arena + evaluate_matmul_transposed, batch.targets, (int *)(arena + evaluate_metric_rank), p->elements,
        256, -100);
    correct_each((int *)(arena + evaluate_metric_rank), batch.targets, arena + evaluate_metric_correct, p->elements);
    reduce_sum(arena + evaluate_metric_correct, arena + evaluate_metric_correct_2, 1, p->elements, 1);
    top_each((int *)(arena + evaluate_metric_rank), batch.targets, arena + evaluate_metric_top5, p->elements);
    reduce_sum(arena + evaluate_metric_top5, arena + evaluate_metric_top5_2, 1, p->elements, 1);
}

static void evaluate(const struct evaluate_phase *p)
{
    evaluate_2(p);
    evaluate_transformer_h_0(p);
    evaluate_transformer_h_1(p);
    evaluate_3(p);
    metrics[0] += *(arena + evaluate_metric_loss_2); /* loss */
    metrics[1] += *(arena + evaluate_metric_count_2); /* count */
    metrics[2] += *(arena + evaluate_metric_correct_2); /* correct */
    metrics[3] += *(arena + evaluate_metric_top5_2); /* top5 */
}

/* ---- optimizer and methods --------------------------------------------------------------------- */

static double fold_gradient_clipping_squares(void)
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

static void gradient_clipping_gradients(long first, long last)
{
#pragma omp parallel for simd
    for (long i = first; i < last; i++) {
        const real gradient = gradients[i];
        gradients[i] = gradient * real_min(1.0f, 1.0f / (sqrtf((real)fold.gradient_clipping_squares) + 1e-06f));
    }
}

static void on_gradients(void)
{
    fold.gradient_clipping_squares = fold_gradient_clipping_squares();
    gradient_clipping_gradients(now.first_trained, TRAINED);
}

static void decoupled_adamw_update(long first, long last)
{
#pragma omp parallel for simd
    for (long i = first; i < last; i++) {
        const real parameter = weights[i];
        const real gradient = gradients[i];
        const real first_moment = decoupled_adamw_first_moment[i];
        const real second_moment = decoupled_adamw_second_moment[i];
        const real t1 = (real)now.update_count;
        const real t2 = 0.9f * first_moment + 0.09999999999999998f * gradient;
        const real t3 = 0.95f * second_moment + 0.050000000000000044f * gradient * gradient;
        weights[i] = parameter * (1.0f - (real)now.rate * 1e-05f) - 0.001f * (real)now.rate / (1.0f - powf(0.9f,
            t1)) * t2 / (sqrtf(t3) / sqrtf(1.0f - powf(0.95f, t1)) + 1e-08f);
        decoupled_adamw_first_moment[i] = t2;
        decoupled_adamw_second_moment[i] = t3;
    }
}

static void update(void)
{
    now.update_count++;
    decoupled_adamw_update(now.first_trained, TRAINED);
}

/* ---- data -------------------------------------------------------------------------------------- */

/* The row of the data set at this place of the epoch. */
static long stored_row(long place)
{
    return shuffle_index(settings.seed, now.epoch, place, train_set.rows);
}

/* Row r of the data set holds tokens r*T .. r*T+T: inputs are the first T, targets the last T. */
static void load_tokens(const struct token_set *set, long from, long columns, int *tokens, int *targets)
{
    for (long i = 0; i < columns; i++) {
        tokens[i] = token_at(set, from * 32 + i);
        targets[i] = token_at(set, from * 32 + i + 1);
    }
}

static void load_batch(const struct kind *kind)
{
    for (long row = 0; row < kind->stored_rows; row++) {
        const long from = stored_row(now.batch_in_epoch * 8 + row);
        load_tokens(&train_set, from, kind->columns, batch_tokens + row * kind->columns,
            batch_targets + row * kind->columns);
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
            batch.tokens = batch_tokens + batch.first_row * kind->length;
            batch.targets = batch_targets + batch.first_row * kind->length;
            batch.share = (real)rows / (real)kind->rows;
            train();
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
        .about = "gpt: trains gpt2 on synthetic",
        .rows = rows, .count = sizeof rows / sizeof *rows, .fixed = fixed, .fixed_count = sizeof fixed / sizeof *fixed,
        .command = "composer-gen tests/golden/gpt.yaml -o tests/golden/gpt.c", .batches = STEPS,
            .batches_per_epoch = BATCHES_PER_EPOCH,
    };
    settings_read(&table, count, arguments);
}

/* The data is checked against the sizes that this program was made for. */
static void open_data(void)
{
    train_set = synthetic_tokens(0, 256, 32, 256);
    test_set = synthetic_tokens(1, 64, 32, 256);
}

static void load_test(long first, long rows)
{
#pragma omp parallel for
    for (long row = 0; row < rows; row++) {
        load_tokens(&test_set, first + row, 32, batch_tokens + row * 32, batch_targets + row * 32);
    }
    batch.tokens = batch_tokens;
    batch.targets = batch_targets;
}

/* Every sample of the test set once, with the weights that the run would be judged by. */
static void evaluate_all(void)
{
    const double began = seconds_now();
    char passed[32];
    memset(metrics, 0, sizeof metrics);
    for (long first = 0; first < 64; first += 8) {
        load_test(first, 8);
        evaluate(&evaluate_phases[0]);
    }
    const double count = metrics[1] > 0 ? metrics[1] : 1;
    metrics_begin(&log_file);
    metrics_add(&log_file, "step", (double)now.step);
    metrics_add(&log_file, "epoch", (double)now.epoch);
    metrics_add(&log_file, "metrics/eval/CrossEntropy", metrics[0] / count);
    metrics_add(&log_file, "metrics/eval/MulticlassAccuracy", metrics[2] / count);
    metrics_add(&log_file, "metrics/eval/MulticlassTop5Accuracy", metrics[3] / count);
    metrics_add(&log_file, "metrics/eval/LanguagePerplexity", exp(metrics[0] / count));
    metrics_add(&log_file, "time/val", seconds_now() - began);
    metrics_end(&log_file);
    progress_line(&progress, "batch %ld  test  loss %.4f  accuracy %.2f %%  top five %.2f %%  perplexity %.3f  (%s)",
        now.step, metrics[0] / count, metrics[2] / count * 100, metrics[3] / count * 100, exp(metrics[0] / count),
        duration_text(passed, seconds_now() - progress.start));
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

/* The model continues a text, a token at a time: it reads the last tokens and draws the next
 * one. */
static void print_sample(void)
{
    static const char prompt[] = "The ";
    enum { WINDOW = 32, NEW = 20, CLASSES = 256 };
    int count = 0;
    for (const char *c = prompt; *c && count < WINDOW; c++)
        batch_tokens[count++] = (unsigned char)*c;
    memset(batch_tokens + count, 0, sizeof(int) * (size_t)(WINDOW - count));
    memset(batch_targets, 0, sizeof(int) * WINDOW);
    batch.tokens = batch_tokens;
    batch.targets = batch_targets;
    printf("\n%s", prompt);
    for (int i = 0; i < NEW; i++) {
        evaluate(&evaluate_phases[1]);
        const int next = sample_token(arena + evaluate_matmul_transposed + (count - 1) * CLASSES, CLASSES, 0.8, i);
        putchar(next);
        if (count == WINDOW)
            memmove(batch_tokens, batch_tokens + 1, sizeof(int) * --count);
        batch_tokens[count++] = next;
    }
    puts("\n");
}

/* The factor of the learning rate in this step. */
static double rate_now(void)
{
    return now.step < 4 ? (double)now.step / 4.0 : 1.0 + -fmin(1.0, (double)(now.step - 4) / 16.0);
}

static void log_step(double loss, double seconds, long rows)
{
    const double speed = seconds > 0 ? (double)rows / seconds : 0;
    if (now.step % settings.log_interval == 0) {
        metrics_begin(&log_file);
        metrics_add(&log_file, "step", (double)now.step);
        metrics_add(&log_file, "epoch", (double)now.epoch);
        metrics_add(&log_file, "loss/train/total", loss);
        metrics_add(&log_file, "lr-decoupled_adamw/group0", 0.001 * now.rate);
        metrics_add(&log_file, "throughput/samples_per_sec", speed);
        metrics_add(&log_file, "time/total", seconds_now() - progress.start);
        metrics_end(&log_file);
    }
    if (progress_due(&progress, now.step + 1)) {
        char text[128];
        snprintf(text, sizeof text, "epoch %ld  loss %.4f  %.0f sequences/s", now.epoch + 1, loss, speed);
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
             now.step, now.epoch + 1, 0.001 * now.rate);
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
    puts("{\"name\": \"gpt\", \"model\": \"gpt2\", \"dataset\": \"synthetic\", \"precision\": \"fp32\", \"parameters\": 33664, \"tensors\": 27, \"steps\": 20, \"batches_per_epoch\": 32, \"batch_size\": 8, \"optimizer\": \"decoupled_adamw\", \"methods\": [\"alibi\", \"gradient_clipping\"]}");
}

/* All the memory of the run, once. */
static void reserve(void)
{
    char *bytes = arena_map(sizeof(real) * (size_t)RESERVED);
    touch(bytes, sizeof(real) * (size_t)RESERVED);
    real *memory = (real *)bytes;
    weights = memory + 0;
    gradients = memory + 33664;
    decoupled_adamw_first_moment = memory + 67328;
    decoupled_adamw_second_moment = memory + 100992;
    batch_tokens = (int *)(memory + 134656);
    batch_targets = (int *)(memory + 134912);
    arena = memory + 135168;
}

static void setup(void)
{
}

static void greet(void)
{
    char memory[32];
    table_row("model", "gpt2, 33664 parameters");
    table_row("data", "synthetic, 256 to train on, 64 to test");
    table_row("run", "20 batches of 8, 32 an epoch");
    table_row("optimizer", "decoupled_adamw, learning rate 0.001");
    table_row("methods", "alibi, gradient_clipping");
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
    print_sample();
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

static int token_at(const struct token_set *set, int64_t at)
{
    const unsigned char *byte = set->bytes + at * set->bytes_each;
    if (set->bytes_each == 1)
        return *byte;
    const int low = byte[0] | byte[1] << 8;
    return set->bytes_each == 2 ? low : (int)((unsigned)low | (unsigned)byte[2] << 16 | (unsigned)byte[3] << 24);
}

enum { SYNTHETIC_TEXT = 4 };

static struct token_set synthetic_tokens(int stream, int64_t rows, int64_t length, int64_t vocabulary)
{
    const int64_t count = rows * length + 1;
    unsigned char *bytes = (unsigned char *)memory_get((size_t)count * 4, "synthetic tokens");
    uint32_t token = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct random_words words = random_at(SYNTHETIC_TEXT, 0, stream, i, RANDOM_INTEGER, 0);
        if (words.word[0] >> 30 == 0)
            token = (uint32_t)((uint64_t)words.word[1] * (uint64_t)vocabulary >> 32);
        else
            token = (uint32_t)(((int64_t)token * 7 + 3) % vocabulary);
        memcpy(bytes + 4 * i, &token, 4);
    }
    struct token_set set = { rows, count, 4, bytes };
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

static double random_double(uint32_t high, uint32_t low)
{
    const uint64_t bits = (uint64_t)high << 20 | low >> 12;
    return ((double)bits + 0.5) * (1.0 / 4503599627370496.0);
}

/* Box and Muller: sqrt(-2 log u) cos(2 pi v) */
static float random_normal(uint64_t site, int64_t step, int64_t row, int64_t element, int ordinal)
{
    const struct random_words words = random_at(site, step, row, element, RANDOM_NORMAL, (uint32_t)ordinal);
    const double u = random_double(words.word[0], words.word[1]), v = random_double(words.word[2], words.word[3]);
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586477 * v));
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

enum { SAMPLE_SITE = 5 };               /* real ones are hashes */

static int sample_token(const real *logits, int64_t count, double temperature, int64_t place)
{
    double largest = logits[0], sum = 0;
    for (int64_t i = 1; i < count; i++)
        largest = logits[i] > largest ? logits[i] : largest;
    for (int64_t i = 0; i < count; i++)
        sum += exp((logits[i] - largest) / temperature);
    double left = (double)random_uniform(SAMPLE_SITE, place, 0, 0, 0) * sum;
    for (int64_t i = 0; i < count; i++) {
        left -= exp((logits[i] - largest) / temperature);
        if (left < 0)
            return (int)i;
    }
    return (int)count - 1;
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
