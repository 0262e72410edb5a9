/* call.h -- what the handlers of layers.def share: one call, its arguments, its name, its parameters. */
#pragma once
#include "front/layers.h"

typedef struct Call {
    Builder *builder;
    Evaluator *evaluator;
    const CallSite *site;
    const char *word;               /* of the callee: "conv2d", "relu" */
    LayerKind kind;                 /* LAYER_NONE unless it can be rewritten */
    Value *arguments;
    int count;
    Value *result;
    const char *name;               /* full name; NULL until call_name() */
    const Expr *(*element)(ExprPool *pool, const Expr *x, const Expr *y);      /* of ELEMENT rows */
} Call;

typedef bool Handler(Call *call);

void layers_log(Call *call);         /* writes the call to builder->log */

#define CALL(name, arguments, handler, ...) Handler handler;
#define LAYER_CALL(name, arguments, handler, ...) Handler handler;
#include "front/layers.def"
Handler make_element;
#define ELEMENT(name, arguments, expression) \
    const Expr *expression(ExprPool *pool, const Expr *x, const Expr *y);
#include "front/layers.def"

/* ---- arguments and options; what is missing is zero ---- */
Node *call_tensor(Call *call, int index);           /* NULL after a complaint: it is NONE */
int64_t call_integer(const Call *call, int index);
double call_number(const Call *call, int index);
const char *call_text(const Call *call, int index);
/* The first `rank` integers of an array argument. False after a complaint. */
bool call_sizes(Call *call, int index, int64_t *sizes, int *rank);
const Value *call_options(const Call *call);        /* the last argument */
int64_t option_integer(const Value *options, const char *name);
double option_number(const Value *options, const char *name);
bool option_truth(const Value *options, const char *name);
const char *option_text(const Value *options, const char *name);
Node *option_tensor(const Value *options, const char *name);
/* The axis named by an argument, negative from the end; -1 after a complaint. */
int call_axis(Call *call, int index, const Node *x);

/* ---- complaints: all return false ---- */
bool call_error(Call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "add: [2,3] and [2,4] ..." with notes where both were made. */
bool call_mismatch(Call *call, const Node *a, const Node *b, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool call_needs_rank(Call *call, const Node *x, int rank, const char *axes);
bool call_needs_images(Call *call, const Node *x);
bool call_needs_positive(Call *call, const char *what, int64_t number);
const char *call_shape(const Call *call, const Node *x);        /* text */

/* ---- names and nodes ---- */
const char *builder_path(Builder *builder, const char *word);           /* below the scope open now */
const char *builder_node_name(Builder *builder, const char *base);      /* base, base_2, ... : unused yet */
void builder_open(Builder *builder, const char *path, LayerKind matched);
void builder_close(Builder *builder);
/* Full name of the call whose rewrite runs, when it is of this kind and no scope was opened since; else NULL. */
const char *builder_matched(const Builder *builder, LayerKind kind);
const char *call_name(Call *call);                  /* the next node is the call's own */
void call_part(Call *call, const char *part);       /* the next node is a step on the way: "<name>.<part>" */
Node *call_add(Call *call, Op op, Node *const *inputs, int count, const Attributes *at);
bool call_return(Call *call, Node *node);           /* true */
bool call_return_integer(Call *call, int64_t integer);
/* Where the values of a draw of this call come from. */
uint64_t call_site(Call *call);

/* ---- parameters ---- */
/* As weight_role of model.h. */
typedef enum WeightRole {
    CONV_WEIGHT, LINEAR_WEIGHT, EMBEDDING_WEIGHT, NORM_WEIGHT, BIAS, NORM_BIAS, LINEAR_BIAS,
    BATCH_NORM_WEIGHT, BATCH_NORM_BIAS,
} WeightRole;

typedef struct Weight {
    const char *layer, *part;       /* full name of the layer, "weight"; either may be NULL */
    Shape shape;
    WeightRole role;
    int64_t fan_in, fan_out;
    const Expr *initial;            /* NULL: uniform within 1/sqrt(fan_in) */
    const char *init;               /* initializer that the call names, or NULL */
    double scale;                   /* of what `init` or the default gives; 0 = 1 */
    bool is_buffer, fan_in_first;
    bool apart;                     /* the recipe's list of initializers doesn't touch it */
} Weight;

/* The node of the parameter in this graph. NULL after a complaint. */
Node *call_weight(Call *call, const Weight *weight);
/* Value of one element at the start; NULL after a complaint (initial.c). */
const Expr *call_initial(Call *call, const Weight *weight, const char *name);

/* ---- kernels over windows ---- */
/* `name` and `name_width`; a width of SAME is the height. */
void option_pair(const Value *options, const char *name, int64_t pair[2]);
/* How many places a window has, or 0 when it has none. */
int64_t window_count(int64_t size, int64_t before, int64_t after, int64_t kernel, int64_t stride, int64_t dilation);
bool call_image_too_small(Call *call, const Node *x, const int64_t kernel[2]);
/* x + bias of its channels */
Node *call_add_bias(Call *call, Node *x, Node *bias);
int64_t channel_axis(const Node *x);
