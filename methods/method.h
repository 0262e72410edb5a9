/* method.h -- the language of methods: one C file a method, read by composer-gen.
 *
 * A method is parameters, words about its place among others, and functions of four kinds:
 *
 *   REWRITE(layer)   replaces a call the model makes, at generation        (model.h's own calls)
 *   HOOK(point)      a pure expression, inlined into a kernel and differentiated where backward crosses it
 *   SCHEDULE(what)   sizes, frozen layers, rates as a function of the place in the run, evaluated at generation
 *   ON(event)        what happens at a place in the loop, inlined there
 *
 * Optimizers (ON(update)) and schedules (SCHEDULE(rate)) are methods that every program has one of.
 * `float` is a real number (scalar.h). A function may use locals, if, ?:, loops with a constant
 * number of turns (at most 64), and helpers.
 *
 * The loop, with the places that methods can be at:
 *
 *     for each step:                                          SCHEDULE(geometry), (frozen_layers), (rate)
 *         fetch the batch, crop and flip, resize              HOOK(source_row), (source_column)
 *         for each pixel, normalised                          HOOK(pixel)
 *         [score the candidates, keep some]                   HOOK(rank_weight)
 *         gradient pass:
 *             for each micro-batch:
 *                 mix with the partner row                    HOOK(mixed_pixel), (partner_weight)
 *                 forward                                     HOOK(attention_score)
 *                 loss                                        HOOK(loss_target)
 *                 backward
 *             gradients complete                              ON(gradients)
 *         between gradient and update                         ON(step)          may call gradient_pass()
 *         update                                              ON(update)
 *         end of the batch, of the epoch                      ON(batch_end), ON(epoch_end)
 *     evaluation                                              EVALUATE_WITH(state) */
#pragma once
#include "model.h"

/* ---- parameters: PARAM(type, name, default, condition on it, "meaning") ----
 * Types: float, int, bool, timespan ("4ba", "0.5dur", ...). The condition is checked at generation. */
typedef const char *timespan;
#define PARAM(type, name, initial, condition, help)                                             \
    static const type name = initial;                                                           \
    static inline bool valid_##name(void) { return condition; }                                 \
    static const char condition_##name[] = #condition;                                          \
    static const char help_##name[] = help;
#define REQUIRED_PARAM(type, name, condition, help)                                             \
    PARAM(type, name, 0, condition, help)                                                       \
    static const bool required_##name = true;
/* May be left out; then given_<name> is false. */
#define OPTIONAL_PARAM(type, name, condition, help)                                             \
    static const bool given_##name = false;                                                     \
    PARAM(type, name, 0, !given_##name || (condition), help)
/* One of some words, written in the recipe in lower case: CHOICE(mode, RESIZE, "how", RESIZE, CROP) */
#define CHOICE(name, initial, help, ...)                                                        \
    enum name##_choice { __VA_ARGS__ };                                                         \
    static const enum name##_choice name = initial;                                             \
    static const char help_##name[] = help;
#define REQUIRED_CHOICE(name, help, ...)                                                        \
    enum name##_choice { __VA_ARGS__ };                                                         \
    static const enum name##_choice name = 0;                                                   \
    static const char help_##name[] = help;                                                     \
    static const bool required_##name = true;
/* A list of at most `most` values; <name>_count of them are given. */
#define LIST(type, name, most, help, ...)                                                       \
    static const type name[most] = { __VA_ARGS__ };                                             \
    static const int name##_count = sizeof((const type[]){ __VA_ARGS__ }) / sizeof(type);       \
    static const char help_##name[] = help;
#define REQUIRED_LIST(type, name, most, help)                                                   \
    LIST(type, name, most, help, 0)                                                             \
    static const bool required_##name = true;

/* ---- words about the method ---- */
#define SUMMARY(text) static const char summary[] = text;
/* A method that the compiler can't use yet says why. */
#define UNAVAILABLE(reason) static const char unavailable[] = reason;
/* When this holds, the method is nothing: it must leave the same bytes as its absence. */
#define NEUTRAL(condition) static inline bool neutral(void) { return condition; }
/* What must hold of model, data and run; an error at the method's place in the recipe otherwise. */
#define REQUIRE(condition, text) REQUIRE_AT(__LINE__, condition, text)
#define REQUIRE_AT(line, condition, text) REQUIRE_NAMED(line, condition, text)
#define REQUIRE_NAMED(line, condition, text)                                                    \
    static inline bool require_##line(void) { return condition; }                               \
    static const char require_text_##line[] = text;
/* Place in the order: a stage, and edges inside it. Names of methods that are not there don't matter. */
typedef enum { SURGERY, LOADER, GEOMETRY, BATCH, MIX, TARGET, GRADIENT, STEP, UPDATE, AVERAGE, EPOCH } stage;
#define STAGE(which) static const stage method_stage = which;
#define AFTER(method, reason) static const char after_##method[] = reason;
#define BEFORE(method, reason) static const char before_##method[] = reason;
#define EXCLUDES(method, reason) static const char excludes_##method[] = reason;

/* ---- facts about the run ---- */
typedef struct moment {
    int step, steps, epoch, epochs, batch_in_epoch, batches_per_epoch;     /* step: index of this batch, from 0 */
    int samples, tokens;                                                    /* seen before this batch */
} moment;
float elapsed(const moment *now);       /* step / steps; with `compat: epoch`, epoch / epochs */
int batches(timespan span);             /* in batches of this run: 1ep, 100ba, 0.5dur */
int schedule_batches(timespan span);    /* the same, scaled by scale_schedule_ratio (dur is not: the run already is) */
typedef enum { UNIT_EPOCH, UNIT_BATCH, UNIT_SAMPLE, UNIT_TOKEN, UNIT_DURATION } time_unit;
time_unit unit_of(timespan span);
float amount_of(timespan span);         /* the number before the unit */
typedef enum { DATA_IMAGES, DATA_TOKENS } data_kind;
extern const data_kind data;
extern const int image_height, image_width, image_channels;     /* of this phase; 0 for text */
extern const int sequence_length, batch_rows, class_count, micro_batches;
extern const bool has_batch_norm, has_mixing;
extern const int run_steps;             /* batches of the run */
int current_step(void);                 /* in REWRITE: the batch that the program is at; known when it runs */

/* ---- REWRITE: as the layer's function in model.h, the options as their struct ----
 * A rewrite sees the calls of the model and of the methods before it, never its own. A layer that it calls again
 * in place of the one it matched keeps that one's name and parameters. KEEP leaves the call alone. */
#define KEEP NONE
#define REWRITE(layer) rewrite_##layer
tensor REWRITE(linear)(tensor x, int features, linear_options options);
tensor REWRITE(conv2d)(tensor x, int channels, conv2d_options options);
tensor REWRITE(conv_transpose2d)(tensor x, int channels, conv_transpose2d_options options);
tensor REWRITE(batch_norm)(tensor x, batch_norm_options options);
tensor REWRITE(layer_norm)(tensor x, layer_norm_options options);
tensor REWRITE(group_norm)(tensor x, int groups, group_norm_options options);
tensor REWRITE(embedding)(tensor ids, int rows, int channels, embedding_options options);
tensor REWRITE(position_embedding)(tensor x, int context, embedding_options options);
tensor REWRITE(residual)(tensor x, tensor branch);
tensor REWRITE(max_pool2d)(tensor x, pool2d_options options);
tensor REWRITE(avg_pool2d)(tensor x, pool2d_options options);
tensor REWRITE(dropout)(tensor x, dropout_options options);
tensor REWRITE(attention)(tensor q, tensor k, tensor v, attention_options options);
int match_index(void);                  /* which match of this rewrite this is, from 0, and how many there are */
int match_count(void);
/* The call again with the same name: linear_layer(x, features, options), conv2d_layer(...), ...
 * The weight that a convolution or linear layer would make, by itself: */
tensor conv2d_weight(tensor x, int channels, conv2d_options options);
tensor conv2d_bias(tensor x, int channels, conv2d_options options);     /* NONE without bias */

/* ---- HOOK ---- */
#define HOOK(point) hook_##point
float HOOK(loss_target)(float target, int class_count);
    /* weight of one class in the target of one row, in: after mixing; train only; rows whose target is ignored never come */
float HOOK(attention_score)(float score, int head, int head_count, int query, int key);
    /* scaled product of query and key, before mask and softmax; train and eval */
float HOOK(pixel)(float value, int channel, int y, int x);
    /* one pixel of the batch after resizing and normalisation; train only */
float HOOK(mixed_pixel)(float own, float partner, int channel, int y, int x);
    /* the pixel of a row and the one at the same place of its partner row in the micro-batch; train only.
     * The partner is row permutation[row]; filling this point or the next makes the permutation exist. */
float HOOK(partner_weight)(void);
    /* share of the partner's target in the mixed target, 0..1; train only */
int HOOK(source_row)(int y);
int HOOK(source_column)(int x);
    /* which row or column of the resized image is shown at y, x; train only */
float HOOK(rank_weight)(int rank, int rows);
    /* relative probability to keep the candidate whose loss is the rank-th smallest of `rows` */

/* ---- SCHEDULE ---- */
#define SCHEDULE(what) schedule_##what
enum resample { RESAMPLE_NEAREST, RESAMPLE_CROP };
typedef struct geometry {
    int rows, length;                   /* text: the batch's values, row-major, are read as (rows, length) */
    int columns;                        /* text: how many tokens of each stored row are taken */
    int height, width;                  /* images: size after resizing */
    enum resample resample;
    int candidates;                     /* rows fetched and scored, of which `rows` are kept; 0: no scoring */
} geometry;
geometry SCHEDULE(geometry)(const moment *now, geometry full);  /* full: what the methods before made of it */
int SCHEDULE(frozen_layers)(const moment *now, int layers);     /* how many of the first layers don't learn */
float SCHEDULE(rate)(const moment *now);                        /* factor of the learning rate */

/* ---- DRAW: random values of a step, a batch or a micro-batch, made on the host ----
 *     struct box { int top, left; };
 *     DRAW(batch, struct box, box) { return (struct box){ .top = draw_integer(image_height) }; }
 * Elsewhere in the file `box.top` is the value. Derivatives of draws are zero. A `draws:` file of the recipe
 * replaces fields by name. */
#define DRAW(scope, type, name)                                                                 \
    static type name;                                                                           \
    type draw_##scope##_##name(void)
/* A random choice of `count` of `below` numbers, in increasing order (subset) or in random order (permutation),
 * as a table: HOOK(source_row) may read name[y]. */
#define DRAW_SUBSET(scope, name, count, below)                                                  \
    static const int name[1];                                                                   \
    static inline int draw_subset_##scope##_##name##_count(void) { return count; }              \
    static inline int draw_subset_##scope##_##name##_below(void) { return below; }

/* ---- STATE: what lives across steps ----
 * STATE(element, ...): one value beside each parameter and, where each_weight is used, each buffer.
 * STATE(run, ...): one value. Read and assigned by name in element functions and ON bodies.
 * `initial` may use at->parameter: then the state is made from the weights when it is first written to. */
#define STATE(scope, type, name, initial, help)                                                 \
    static type name;                                                                           \
    static const char state_help_##name[] = help;                                               \
    static inline type initial_##scope##_##name(const element *at) { return (void)at, initial; }

/* ---- FOLD: a sum or maximum over gradients and parameters, made before the first statement that reads it ----
 * FOLD(sum, model, squares, gradient * gradient): over all trainable parameters; `tensor`: over each;
 * `unit`: over each output unit (axis 0) of tensors of rank 2 and more, the whole tensor below. */
#define FOLD(kind, scope, name, expression)                                                     \
    static float name;                                                                          \
    static inline float fold_##kind##_##scope##_##name(float parameter, float gradient)         \
    { return (void)parameter, (void)gradient, (expression); }

/* ---- ON ---- */
#define ON(event) on_##event
typedef struct element {
    float parameter, gradient;          /* assignable; gradient is 0 for buffers */
    int rank;                           /* of the tensor it belongs to */
    bool is_buffer;
} element;
void ON(gradients)(element *at);        /* each trainable element, when the gradients of a pass are complete */
void ON(step)(const moment *now);
void ON(update)(element *at);           /* the optimizer */
void ON(batch_end)(const moment *now);
void ON(epoch_end)(const moment *now);
void each_parameter(void (*body)(element *at));     /* runs body on every trainable element */
void each_weight(void (*body)(element *at));        /* on running statistics too */
void gradient_pass(void);               /* the gradient again, at the parameters as they are now: same batch, same draws */
void gradient_pass_redrawn(void);       /* the same with new draws */
extern const float rate;                /* factor of the learning rate in this step */
extern const int update_count;          /* of this update, from 1 */
extern const float final_rate;

/* Evaluation uses this element STATE in place of the parameters and buffers, once it exists. */
#define EVALUATE_WITH(state) static const char evaluate_with[] = #state;

/* ---- layout: a statement about the plan ---- */
typedef enum { ANY_LAYOUT, CHANNELS_LAST } layout;
#define LAYOUT(which) static const layout preferred_layout = which;
