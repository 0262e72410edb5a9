/* methods.h -- the methods of a recipe, loaded, ordered and bound: what each place in the program gets.
 *
 * load.c reads method files (front/) and their parameters from the recipe; order.c sorts them by stage and
 * edges; bind.c evaluates hooks, draws, folds, element programs and ON bodies to expressions; schedule.c
 * answers questions about a moment of the run. The optimizer and the schedules are methods here too.
 * Nothing knows a method by name. A hook that folds to the identity is dead and stays NULL. */
#pragma once
#include "front/front.h"
#include "ir/ir.h"
#include "recipe/recipe.h"

/* ---- the run, as methods see it ---- */
typedef struct RunFacts {
    bool is_text;
    int64_t train_samples;              /* rows of the data set */
    int64_t batch_rows;                 /* stored rows of a batch */
    int64_t batches_per_epoch, steps, epochs;
    int64_t channels, height, width;    /* of stored images */
    int64_t length;                     /* of stored rows of text */
    int64_t class_count;
    int64_t micro_batches;
    bool drop_last, compat_epoch;
    double scale_schedule_ratio;
    bool has_batch_norm;                /* known after a first evaluation of the model */
    bool has_mixing;                    /* a mixing hook is live */
} RunFacts;

typedef struct Moment { int64_t step, epoch, batch_in_epoch, samples, tokens; } Moment;

typedef struct Geometry {
    int64_t rows, length, columns, height, width;
    bool crop;                          /* RESAMPLE_CROP */
    int64_t candidates;
} Geometry;

/* ---- what methods bring ---- */
typedef struct Method {
    const char *name;
    Choice choice;                      /* its entry in the recipe */
    const CFile *file;
    int stage;                          /* of methods/method.h */
    const char *summary;
    bool is_neutral;                    /* NEUTRAL holds: nothing below comes from it */
    bool allow_no_effect;
    Array(struct MethodParameter) parameters;
    TextArray reasons;                  /* why it stands where it stands, for --explain */
    int matches;                        /* calls its rewrites replaced (counted while the model is evaluated) */
    bool has_rewrites;
} Method;

typedef struct MethodParameter {
    const char *name, *type, *help, *condition;
    bool required, given;
    Value value;
    const char *shown;                  /* resolved value as text, for the head of the program and --print-config */
} MethodParameter;

typedef enum Scope { SCOPE_STEP, SCOPE_BATCH, SCOPE_MICRO_BATCH, SCOPE_RUN, SCOPE_ELEMENT, SCOPE_TENSOR, SCOPE_UNIT, SCOPE_MODEL } Scope;

typedef struct DrawField {
    const Scalar *scalar;               /* "lambda", "bbox[2]" */
    const Expr *value;                  /* random leaves and arithmetic */
} DrawField;

typedef struct Draw {
    const char *name, *method;
    Scope scope;                        /* STEP, BATCH or MICRO_BATCH */
    Array(DrawField) fields;
    const Value *value;                 /* as the rest of the file sees it: its fields' scalars in the type's shape */
} Draw;

/* A random subset of 0..below-1 in increasing order, read as a table by hooks. */
typedef struct SubsetDraw {
    const char *name, *method;
    Scope scope;
    int64_t count, below;
    const Table *table;                 /* values == NULL: filled at run time */
} SubsetDraw;

typedef struct State {
    const char *name, *method, *help;
    Scope scope;                        /* ELEMENT or RUN */
    ScalarType type;
    const Expr *initial;                /* a constant, or of an ELEMENT input 0 = the parameter's value */
    bool starts_from_parameter;         /* initial is the parameter: made at the first write, at that moment's weights */
    bool covers_buffers;                /* touched by each_weight */
    const Scalar *scalar;               /* RUN: read through this */
    int index;
} State;

typedef struct Fold {
    const char *name, *method;
    bool is_max;
    Scope scope;                        /* MODEL, TENSOR, UNIT */
    const Expr *element;                /* input 0 parameter, input 1 gradient */
    const Scalar *scalar;               /* element programs read it through this */
} Fold;

/* What happens to one element. Inputs: 0 parameter, 1 gradient, 2+i element state number i of Methods.states;
 * scalars: rate, update count, folds, facts of the tensor, run states. All right sides read the values before. */
enum { SLOT_PARAMETER, SLOT_GRADIENT, SLOT_STATES };
typedef struct Assignment {
    int slot;
    const Expr *value;
} Assignment;

typedef struct ElementProgram {
    const char *name, *method;          /* the C function's name: "ascend" */
    Array(Assignment) assignments;
    Array(Fold *) folds;                /* read by it; made just before */
} ElementProgram;
typedef Array(ElementProgram *) ElementProgramArray;

typedef enum ActionKind { ACTION_EACH_PARAMETER, ACTION_EACH_WEIGHT, ACTION_GRADIENT_PASS, ACTION_SET_STATE } ActionKind;
typedef struct Action {
    ActionKind kind;
    const Expr *condition;              /* over SCALAR_TIME and run states; NULL = always */
    ElementProgram *program;
    bool redrawn;                       /* GRADIENT_PASS */
    State *state; const Expr *value;    /* SET_STATE */
    const char *method;
} Action;
typedef Array(Action) ActionArray;

typedef struct Hook {                   /* a live hook, for --explain and comments in the program */
    const char *point, *method;
} Hook;

/* A hook bound for a number of heads or classes: every phase gets the same expression. */
typedef struct BoundHook {
    const char *point;
    int64_t count;
    const Expr *expr;
} BoundHook;

typedef struct Methods {
    Arena *arena;
    ExprPool *exprs;
    Diagnostics *diag;
    const Recipe *recipe;
    RunFacts facts;
    int bindings;                       /* the first knows nothing of the model: has_batch_norm is decided by the second */
    Array(Method *) list;               /* in order, without optimizer and schedules */
    Method *optimizer;
    Array(Method *) schedules;

    Array(Scalar *) scalars;            /* all that were made; binding again finds the same */
    Array(Hook) live, dead;
    Array(BoundHook) bound;
    const Expr *pixel;                  /* in0 value; index 0 channel, 1 y, 2 x */
    const Expr *mixed_pixel;            /* in0 own, in1 partner; same indices */
    const Expr *partner_weight;         /* a scalar expression; NULL with mixed_pixel NULL: no partner */
    const Expr *source_row, *source_column;     /* index 0: y or x */

    Array(Draw) draws;
    Array(SubsetDraw) subsets;
    Array(State *) states;
    Array(Fold *) folds;
    ElementProgramArray gradients;      /* ON(gradients), in order: run after every pass */
    ElementProgram *update;             /* ON(update) of the optimizer */
    ActionArray step, batch_end, epoch_end;
    const State *evaluate_with;         /* NULL */
    const Expr *rate;                   /* factor of the learning rate as an expression of SCALAR_TIME; NULL when it can't be
                                         * said in closed form (methods_rate still answers) */
    double base_rate;                   /* the optimizer's lr, for logs */
    bool has_geometry, has_frozen_layers, channels_last;
} Methods;

/* Loads, checks and orders. Complains about unknown methods and parameters, ranges, exclusions. NULL after complaints.
 * dirs: folders searched for <name>.c, first match wins (--methods DIR before ours). */
Methods *methods_load(Arena *run, ExprPool *exprs, Diagnostics *diag, const Recipe *recipe,
                      const char *const *dirs, int dir_count, const char *model_dir);
/* Binds hooks, draws, states and programs for these facts. May be called again with other facts (has_batch_norm ...). */
bool methods_bind(Methods *methods, const RunFacts *facts);

const Expr *methods_loss_target(Methods *methods, int64_t class_count);        /* in0 target weight; NULL dead */
const Expr *methods_attention_score(Methods *methods, int64_t head_count);     /* in0 score; index 0 head 1 query 2 key */
bool methods_geometry(Methods *methods, const Moment *now, Geometry full, Geometry *geometry);
bool methods_frozen_layers(Methods *methods, const Moment *now, int64_t layers, int64_t *frozen);
bool methods_rate(Methods *methods, const Moment *now, double *rate);
bool methods_rank_weight(Methods *methods, int64_t rank, int64_t rows, double *weight);

/* The rewrites of the method at `index` in the list for a layer ("conv2d"), or NULL. */
const CFunction *method_rewrite(const Methods *methods, int index, const char *layer);
/* Host of that method for evaluating its rewrites: parameters, facts, time; layer calls go to `layers`. */
Host methods_rewrite_host(Methods *methods, int index, const Host *layers);

/* Scalars of time and rate that the emitter and interpreter must supply: "step", "epoch", "rate", ... */
const Scalar *methods_scalar(Methods *methods, const char *name, ScalarKind kind, ScalarType type);

void methods_explain(Buffer *out, const Methods *methods);      /* order with reasons, live and dead hooks */
void methods_list(Arena *arena, Buffer *out, const char *const *dirs, int dir_count);   /* --list methods: name, summary, parameters */
