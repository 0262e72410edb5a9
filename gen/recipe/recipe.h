/* recipe.h -- a recipe: YAML in, typed settings out, every value with its place.
 *
 * Reading has three steps: yaml.c makes located values (Doc) of the file and the overrides; recipe.c
 * fills a Recipe by the table of fields (fields.def) and complains about what does not fit; print.c writes
 * it back (--print-config), the JSON schema (--schema) and the list of keys (--list keys).
 * What belongs to models and methods (their parameters) stays located values here: gen/method knows their types. */
#pragma once
#include "base/diag.h"

typedef enum DocKind { DOC_NULL, DOC_BOOL, DOC_INT, DOC_FLOAT, DOC_TEXT, DOC_LIST, DOC_MAP } DocKind;

typedef struct Doc {
    DocKind kind;
    Place place;                        /* of the value */
    Place key_place;                    /* of its key, when it is a map's entry */
    const char *key;                    /* in a map */
    const char *text;                   /* the scalar as written (all scalar kinds) */
    union { bool truth; int64_t integer; double number; };
    struct Doc **items;                 /* DOC_LIST, DOC_MAP (entries in order) */
    int count;
    bool is_override;                   /* came from the command line */
} Doc;

Doc *doc_find(const Doc *map, const char *key);      /* NULL */
bool doc_number(const Doc *doc, double *number);      /* int or float, finite or not */
const char *doc_kind_name(const Doc *doc);            /* "a number", "a list", ... for messages */

/* A time string: amount and unit. */
typedef enum TimeUnit { TIME_EPOCH, TIME_BATCH, TIME_SAMPLE, TIME_TOKEN, TIME_DURATION } TimeUnit;
typedef struct Duration {
    double amount;                      /* whole unless TIME_DURATION */
    TimeUnit unit;
} Duration;
/* "2ep", "100ba", "1_000 sp", "0.5dur", surrounding blanks allowed; int means epochs. NULL or what is wrong with it. */
const char *duration_parse(Arena *arena, const char *text, Duration *duration);
const char *duration_text(Arena *arena, Duration duration);

/* One choice with its parameters: `sgd: {lr: 0.1}`. */
typedef struct Choice {
    const char *name;
    Place place;
    const Doc *parameters;              /* DOC_MAP or NULL */
} Choice;
typedef Array(Choice) ChoiceArray;

typedef enum Precision { PRECISION_FP32, PRECISION_FP64, PRECISION_AMP_BF16, PRECISION_AMP_FP16 } Precision;

typedef struct Recipe {
    const Source *source;
    const char *path, *folder;          /* folder of the recipe as typed, "." when none: relative paths start there */
    const char *name;                   /* file name without .yaml */
    Doc *root;                          /* after overrides and references */

    Choice model;                       /* .name is the function; file: from {file: f.c, function: g, ...} */
    const char *model_file;             /* NULL: search recipes/models */
    Choice dataset;                     /* idx-style and other kinds; parameters incl. path, augment, shuffle, drop_last */
    Choice loss;                        /* default cross_entropy */
    ChoiceArray initializers;
    Duration max_duration;
    Place max_duration_place;
    int64_t batch_size, eval_batch_size, grad_accum;
    double scale_schedule_ratio;
    Choice optimizer;                   /* default decoupled_sgdw {lr: 0.1} with a warning */
    ChoiceArray schedules;              /* product of all; default constant */
    ChoiceArray methods;
    Precision precision;
    int64_t seed;
    Duration eval_interval;             /* amount 0: only at the end */
    const char *weights, *draws;        /* paths as given, NULL */
    Place weights_place, draws_place;
    bool compat_epoch;                  /* compat: epoch */
    bool winograd;
    const char *memory;                 /* "4GiB"; NULL */
    int64_t log_interval;               /* in batches */
    const char *sample_prompt;          /* language models: text printed at the end; NULL */
    int64_t sample_length;
} Recipe;

/* NULL after complaints. `overrides`: "a.b=value" words, in order. All errors of the recipe are collected. */
Recipe *recipe_read(Arena *run, Diagnostics *diag, const char *path, const char *const *overrides, int count);
void recipe_print(Buffer *out, const Recipe *recipe);        /* resolved, as YAML that reads back */
void recipe_schema(Buffer *out);                             /* JSON Schema from fields.def */
void recipe_list_keys(Buffer *out);                          /* a line a key: name, type, default, range, help */
/* Complains that `key` is unknown at its place, with the nearest of the names valid there. */
void complain_unknown(Diagnostics *diag, Place place, const char *what, const char *key,
                      const char *const *valid, int count);
