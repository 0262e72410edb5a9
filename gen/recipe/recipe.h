/* recipe.h -- a recipe: YAML in, typed settings out, every value with its place.
 *
 * Reading has three steps: yaml/ makes located values (Doc) of the file, the overrides and the references;
 * recipe.c fills a Recipe by the table of fields (fields.def) and complains about what does not fit; print.c
 * writes it back (--print-config), schema.c the JSON schema (--schema) and the list of keys (--list keys).
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
    Place origin;                       /* where an alias or reference found the value; source NULL: it stands here */
    bool is_final, is_broken;           /* references resolved; complained about, so that nobody does again */
} Doc;

Doc *doc_find(const Doc *map, const char *key);      /* NULL */
bool doc_number(const Doc *doc, double *number);      /* int or float, finite or not */
const char *doc_kind_name(const Doc *doc);            /* "a number", "a list", ... for messages */
const char *doc_found(Arena *arena, const Doc *doc);  /* "the text 'many'", "the number 0.5", "a list" */

/* A time string: amount and unit. */
typedef enum TimeUnit { TIME_EPOCH, TIME_BATCH, TIME_SAMPLE, TIME_TOKEN, TIME_DURATION } TimeUnit;
typedef struct Duration {
    double amount;                      /* whole unless TIME_DURATION */
    TimeUnit unit;
} Duration;
/* "2ep", "100ba", "1_000 sp", "0.5dur", surrounding blanks allowed; int means epochs. NULL or what is wrong with it. */
const char *duration_parse(Arena *arena, const char *text, Duration *duration);
/* The same of a value: a whole number means epochs, a quoted "10" without a unit is refused. */
const char *doc_duration(Arena *arena, const Doc *doc, Duration *duration);
const char *duration_text(Arena *arena, Duration duration);

/* One choice with its parameters: `sgd: {lr: 0.1}`. */
typedef struct Choice {
    const char *name;
    Place place;
    const Doc *parameters;              /* DOC_MAP or NULL */
} Choice;
typedef Array(Choice) ChoiceArray;

typedef enum Precision { PRECISION_FP32, PRECISION_FP64, PRECISION_AMP_BF16, PRECISION_AMP_FP16 } Precision;

/* The data set's parameters; what its kind has no use for is 0. recipe_place(recipe, "dataset.image") finds places. */
enum { MOST_CHANNELS = 16 };
typedef struct Dataset {
    const char *path;                   /* as given; NULL for synthetic */
    bool shuffle, drop_last;
    bool flip;                          /* augment: [flip] */
    int64_t pad_crop;                   /* augment: [pad_crop: 4]; 0 without */
    double mean[MOST_CHANNELS], std[MOST_CHANNELS];     /* of bytes / 255, a channel; 0 and 1 leave them alone */
    int64_t samples;                    /* 0: counted from the files */
    int64_t sequence_length;            /* text; 0: images */
    int64_t num_classes, vocab_size;
    int64_t image[3];                   /* synthetic: channels, height, width */
} Dataset;

typedef struct Recipe {
    const Source *source;
    const char *path, *folder;          /* folder of the recipe as typed, "." when none: relative paths start there */
    const char *name;                   /* file name without .yaml */
    Doc *root;                          /* after overrides and references */

    Choice model;                       /* .name is the function; file: from {file: f.c, function: g, ...} */
    const char *model_file;             /* NULL: search recipes/models */
    Choice dataset;                     /* .name is the kind */
    Dataset data;                       /* its parameters, resolved */
    Choice loss;                        /* default cross_entropy */
    ChoiceArray initializers;
    Duration max_duration;
    Place max_duration_place;
    int64_t batch_size, eval_batch_size, grad_accum;
    Place batch_size_place;
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
/* The same of a file's bytes that are at hand. */
Recipe *recipe_read_bytes(Arena *run, Diagnostics *diag, const char *path, const char *bytes, size_t length,
                          const char *const *overrides, int count);
/* Of the value of "batch_size", "convolution.winograd", "dataset.image" (the kind is left out); where it is not
 * given, of the nearest thing around it. */
Place recipe_place(const Recipe *recipe, const char *key);
void recipe_print(Buffer *out, const Recipe *recipe);        /* resolved, as YAML that reads back */
void recipe_schema(Buffer *out);                             /* JSON Schema from fields.def */
void recipe_list_keys(Buffer *out);                          /* a line a key: name, type, default, range, help */
/* Complains that `key` is unknown at its place, with the nearest of the names valid there. */
void complain_unknown(Diagnostics *diag, Place place, const char *what, const char *key,
                      const char *const *valid, int count);
