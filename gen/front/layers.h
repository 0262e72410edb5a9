/* layers.h -- from the calls of a model to the nodes of a graph.
 *
 * A Builder is what one evaluation of a model function writes to: the graph of one phase, or of
 * evaluation. builder_host() is the evaluator's host: each function that recipes/models/model.h declares is a row
 * of layers.def with a small handler, which checks what a user can do wrong and makes nodes.
 *
 * Names: SCOPE and a layer's own name (`.name`, else its kind and ordinal) give the full name of a layer,
 * "layer1.0.conv1"; its parameters are "<full name>.weight" and so on, and its node carries the full name.
 * Parameters belong to the program: a second builder that asks for the name finds the same one.
 *
 * Rewrites: a layer call made at chain position p is offered to the methods p, p+1, ... in order. While
 * method k rewrites a call, calls stand at position k+1, so it never sees its own; a call of the same
 * kind without `.name` takes the matched call's full name, every other name is below it. */
#pragma once
#include "front/front.h"

/* The layers that methods can rewrite: "linear", "conv2d", ... */
typedef enum LayerKind {
    LAYER_NONE,
#define LAYER(name, ...) LAYER_##name,
#include "front/layers.def"
    LAYER_KINDS
} LayerKind;

typedef struct Builder Builder;

/* Asks method `from` to rewrite this call. False: it complained. *replaced tells whether *result stands for the call. */
typedef bool RewriteCall(void *rewriter, Builder *builder, int from, const char *layer, const CallSite *site,
                         Value *arguments, int count, Value *result, bool *replaced);

/* An entry of the recipe's list of initializers. */
typedef struct InitializerUse { const char *name; Place place; } InitializerUse;

typedef struct ScopeFrame ScopeFrame;
typedef struct NameCount { const char *name; int count; } NameCount;

struct Builder {
    /* ---- given ---- */
    Graph *graph;
    ParameterArray *parameters;         /* the program's; found by name, made when new */
    Diagnostics *diag;
    Arena *arena;
    bool training;
    Node *input;                        /* images or tokens: the model's first argument */
    Buffer *log;                        /* NULL, or where each call is written, a line each */

    const CFile *initializers;          /* recipes/models/initializers.c; NULL: layers start as PyTorch's */
    Array(InitializerUse) initializer_uses;     /* by builder_add_initializer */

    void *rewriter;
    RewriteCall *rewrite;               /* NULL: no method rewrites */
    const char *const *methods;         /* their names, in order */
    int method_count;
    const int *match_count;             /* `matches` of an earlier evaluation; NULL: not known yet */

    void *hooks;                        /* first argument of the two functions below */
    const Expr *(*loss_target)(void *hooks, int64_t class_count);       /* training only; NULL or result NULL: dead */
    const Expr *(*attention_score)(void *hooks, int64_t head_count);
    const Expr *partner_weight;         /* share of the partner's target in a mixed target; NULL: no mixing */
    Node *targets, *partner_targets;    /* made by builder_loss when NULL and needed */

    /* ---- the builder's own, zero at the start ---- */
    int chain;                          /* calls made now are offered to methods from here on */
    int *matches;                       /* [method * LAYER_KINDS + kind]: calls offered so far */
    int match_method;                   /* the method whose rewrite runs, with the kind it matched */
    LayerKind match_kind;
    ScopeFrame *scope;                  /* innermost */
    Array(NameCount) ordinals;          /* of layers, by scope and kind */
    Array(NameCount) node_names;        /* given so far */
    TextArray layers;                   /* full names of layers so far */
    NodeArray logged;                   /* tensors by number, for `log` */
};

/* In match_count() before any evaluation has counted: large, so that `index < count - n` holds. */
enum { MATCHES_UNKNOWN = 1 << 20 };

Host builder_host(Builder *builder);

/* Adds an initializer of the recipe's list; each parameter passes through all of them in order, after the layer's
 * own. Complains, once, when initializers.c has no such function. */
bool builder_add_initializer(Builder *builder, const char *name, Place place);

/* The loss of each row: LOSS(name) of losses.c on the model's output and the targets. NULL after a complaint. */
Node *builder_loss(Builder *builder, const CFile *losses, const char *name, Place place, Node *output);
/* The mean of `rows` over the rows that are not ignored, as OUTPUT_LOSS. */
Node *builder_mean_loss(Builder *builder, Node *rows);
/* Sums over a batch, as OUTPUT_METRIC: "loss", "count" (rows not ignored), and where targets are classes "correct"
 * and, of more than five classes, "top5". */
void builder_metrics(Builder *builder, Node *rows, Node *output);

/* The label that is ignored wherever it stands. */
enum { IGNORED_TARGET = -100 };
