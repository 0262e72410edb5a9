/* ir.h -- the graph: what a training step computes, as typed nodes with static shapes.
 *
 * Read this first. A program has one graph a phase (a geometry of the batch) and one for evaluation;
 * all graphs of a kind have the same nodes in the same order and differ only in sizes. For example
 *
 *     x       = input images            f32[16,3,32,32]
 *     w       = parameter conv1.weight  f32[16,3,3,3]
 *     conv1   = conv2d x w              f32[16,16,32,32]    stride=1,1 padding=1,1,1,1
 *     m       = moments conv1           f32[2,16]           norm=batch
 *     bn1     = normalize conv1 m g b   f32[16,16,32,32]    norm=batch eps=1e-05
 *     relu1   = map bn1                 f32[16,16,32,32]    max(in0, 0)
 *
 * Nodes are made in order and only refer to earlier ones, so `nodes` is a topological order; passes
 * that insert keep that true. A node never changes its shape or dtype. Backward is made of the same
 * ops, appended by grad/; element-wise derivatives come from expr_derivative.
 *
 * Parameters (weights and running statistics) belong to the program, not to a graph: every graph
 * refers to the same Parameter, which is how phases and tied weights share them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "ir/expr.h"

enum { MAX_RANK = 6 };

typedef enum Op {
#define OP(name, ...) OP_##name,
#include "ir/ops.def"
    OP_COUNT
} Op;

typedef enum Role { ROLE_LEAF, ROLE_MAP, ROLE_REDUCE, ROLE_MOVE, ROLE_ANCHOR } Role;

/* REAL is the precision of the program: float, or double for gradient checks. bf16 storage is
 * chosen a tensor at a time by the precision pass. */
typedef enum DType { DTYPE_REAL, DTYPE_BF16, DTYPE_INT32, DTYPE_UINT8 } DType;

typedef struct Shape {
    int rank;                       /* 0 = a single value */
    int64_t dim[MAX_RANK];
} Shape;

/* How elements lie in memory. ROWS: row-major in the order of the axes. IMAGES: of a tensor
 * (N, C, H, W), the channel moves fastest (N, H, W, C). */
typedef enum Layout { LAYOUT_ROWS, LAYOUT_IMAGES } Layout;

typedef enum InputKind {
    INPUT_IMAGES,                   /* (N, C, H, W), normalised, augmented, mixed */
    INPUT_TOKENS,                   /* (N, T) int */
    INPUT_TARGETS,                  /* (N) or (N, T) or (N, H, W) int classes */
    INPUT_PARTNER_TARGETS,          /* the classes of the rows mixed in */
    INPUT_DENSE_TARGETS,            /* real targets (regression) */
    INPUT_GRADIENT_SEED,            /* weight of this micro-batch in the loss of its batch */
} InputKind;

typedef enum ReduceKind { REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX } ReduceKind;

/* What shares one mean and variance. BATCH: a channel over rows and pixels, rows cut into `pieces`
 * of ceil(N/pieces) (ghost batch norm; groups are numbered piece*C + channel). ROW: the last `axes`
 * axes (layer norm; group = row). GROUP: channels/groups neighbouring channels of one image
 * (group = n*groups + g). RMS: as ROW with the mean taken as zero. */
typedef enum NormKind { NORM_BATCH, NORM_ROW, NORM_GROUP, NORM_RMS } NormKind;

typedef struct Norm {
    NormKind kind;
    double epsilon;
    int pieces;                     /* BATCH */
    int axes;                       /* ROW, RMS */
    int groups;                     /* GROUP */
    bool is_cut;                    /* BATCH: rows are cut into pieces, even where one is left */
} Norm;

typedef struct Conv {
    int64_t stride[2], before[2], after[2], dilation[2];   /* [0] height, [1] width; zero padding */
    int64_t groups;
} Conv;

typedef struct Pool {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    bool ceil_mode, count_padding, adaptive;
} Pool;

typedef struct Resize {
    bool bilinear, align_corners;
    double scale[2];                /* source = destination / scale; 0: from the ratio of the sizes */
} Resize;

struct Parameter;

typedef union Attributes {
    struct { InputKind kind; } input;
    struct { const struct Parameter *is; } parameter;
    double constant;
    struct { int index; } result;
    struct { ReduceKind kind; unsigned axes; } reduce;          /* bit i = axis i */
    struct { int order[MAX_RANK]; } transpose;
    struct { int axis; int64_t begin, end, stride; } slice;
    struct { int64_t before[MAX_RANK], after[MAX_RANK]; double value; } pad;
    struct { int axis; } concat;
    struct { int64_t padding_row; } gather;                     /* -1: none */
    struct { bool transpose_a, transpose_b; } matmul;
    Conv conv;
    Pool pool;
    Resize resize;
    struct { int64_t stride[2]; } blur;
    Norm norm;
    struct { int which; double momentum; int64_t count; int pieces; int64_t last_count; } running;
                                                                /* which 0 mean, 1 variance; values in a piece, in the last one */
    struct { int axis; } softmax;
    struct { bool causal; double scale; } attention;
    struct { int axis; int64_t ignore; const Expr *share; } loss;   /* class axis; ignored label; own share of a mixed target, NULL = 1 */
} Attributes;

typedef struct Node {
    Op op;
    int id;                         /* index in graph->nodes */
    DType dtype;
    Layout layout;
    Shape shape;
    struct Node **inputs;
    int input_count;
    Attributes at;
    const Expr *expr;               /* map: the element. attention: the score (input 0 raw score; index 0 head, 1 query,
                                     * 2 key), NULL = as is. cross_entropy: see ops.def, NULL = as is. */
    const char *name;               /* from the model: "layer1.0.conv1"; backward: "d layer1.0.conv1"; need not be unique */
    Place place;                    /* the call that made it */
    const char *method;             /* the method that made or changed it, NULL = the model */
} Node;

typedef Array(Node *) NodeArray;

/* A weight (trained) or a buffer (running statistics). */
typedef struct Parameter {
    const char *name;               /* the ecosystem's: "layer1.0.conv1.weight" */
    int id;                         /* order of definition = order in files, gradients and the optimizer */
    int leaf;                       /* ordinal of the layer that owns it, in order of definition (freezing) */
    Shape shape;
    bool is_buffer;
    bool fan_in_first;              /* stored [in, out], as GPT-2's c_attn */
    const Expr *initial;            /* value of one element; random leaves are keyed by the parameter's name */
    Place place;
    const char *method;
} Parameter;

typedef Array(Parameter *) ParameterArray;

typedef enum OutputKind {
    OUTPUT_LOSS,                    /* one value: the mean loss of the batch, what is optimised */
    OUTPUT_ROW_LOSS,                /* per row, before the mean (selective backprop, evaluation) */
    OUTPUT_LOGITS,                  /* what the model returns */
    OUTPUT_GRADIENT,                /* of .parameter */
    OUTPUT_BUFFER,                  /* the new value of .parameter (a running statistic) */
    OUTPUT_METRIC,                  /* a count or sum that .name names; added up over batches */
} OutputKind;

typedef struct Output {
    OutputKind kind;
    Node *node;
    const Parameter *parameter;
    const char *name;
} Output;

/* Axes that gradients are summed over, in order of asking. A topology's largest graph writes it, its other phases read it: an
 * extent of 1 means broadcasting in the largest graph alone. */
typedef struct SumTrace {
    Array(unsigned) axes;
    bool is_written;
} SumTrace;

typedef struct Graph {
    Arena *arena;
    ExprPool *exprs;
    NodeArray nodes;
    Array(Output) outputs;
    SumTrace *trace;                /* NULL: this graph is the only one */
    int traced;                     /* entries of the trace that were read */
    const char *method;             /* stamped on new nodes */
    Place place;                    /* stamped on new nodes */
    const char *name;               /* stamped on new nodes that are given none */
} Graph;

typedef struct OpInfo {
    const char *name;
    int least_inputs, most_inputs, results;
    Role role;
    const char *meaning;
} OpInfo;

extern const OpInfo op_info[OP_COUNT];

/* ---- shapes ---- */
Shape shape_of(int rank, ...);                      /* int64_t extents */
bool shape_equal(Shape a, Shape b);
int64_t shape_elements(Shape shape);
const char *shape_text(Arena *arena, Shape shape);  /* "[16,3,32,32]" */
/* The common shape of a and b by numpy's rules (axes aligned at the right); false if there is none. */
bool shape_broadcast(Shape a, Shape b, Shape *common);

/* ---- making nodes (build.c) ----
 * The shape is computed by the op's rule. A node that breaks its rule is the caller's bug here: what
 * users can do wrong is checked, with both shapes and both lines, before (front/layers.c). */
Graph *graph_create(Arena *arena, ExprPool *exprs);
Node *node_add(Graph *graph, Op op, Node *const *inputs, int count, const Attributes *at);
Node *node_add_shaped(Graph *graph, Op op, Node *const *inputs, int count, const Attributes *at,
                      Shape shape, DType dtype);    /* where the rule needs a shape: leaves, reshape, resize2d, gradients */
Node *node_result(Graph *graph, Node *producer, int index);     /* result 0 is the producer itself */
Node *node_map(Graph *graph, const Expr *expr, Node *const *inputs, int count);
Node *node_map_shaped(Graph *graph, const Expr *expr, Node *const *inputs, int count, Shape shape);
Node *node_named(Node *node, const char *name);     /* sets the name, returns the node */
void graph_output(Graph *graph, Output output);
/* Replaces every use of `old` (inputs and outputs) by `new`. */
void graph_replace(Graph *graph, Node *old, Node *new);
/* Makes `nodes` topological again after insertions (stable) and renumbers ids. */
void graph_sort(Graph *graph);
/* Number of uses of each node, outputs included; indexed by id. */
int *graph_uses(const Graph *graph, Arena *arena);

/* ---- small builders used by layers, gradients and rewrites ---- */
Node *build_add(Graph *graph, Node *a, Node *b);
Node *build_mul(Graph *graph, Node *a, Node *b);
Node *build_scale(Graph *graph, Node *a, double factor);
Node *build_reshape(Graph *graph, Node *x, Shape shape);
Node *build_transpose(Graph *graph, Node *x, const int *order);
Node *build_slice(Graph *graph, Node *x, int axis, int64_t begin, int64_t end, int64_t stride);
Node *build_reduce(Graph *graph, Node *x, ReduceKind kind, unsigned axes);      /* axes become 1 */
Node *build_matmul(Graph *graph, Node *a, Node *b, bool transpose_a, bool transpose_b);
/* Undoes broadcasting: sums x over the axes that `shape` has as 1 or lacks. */
Node *build_sum_to(Graph *graph, Node *x, Shape shape);

/* ---- verification (verify.c) ---- */
/* Checks arity, order, dtype, shape rule, attributes, expression slots, outputs. Returns NULL or what is wrong:
 * "node 55, slice 'cut' [5,3] of %2 [5,7], axis=1 begin=1 end=8 stride=2: its range does not lie in the axis" */
const char *graph_verify(const Graph *graph, Arena *arena);
/* The same of one node; those before it are well. */
const char *node_verify(const Graph *graph, const Node *node, Arena *arena);

/* ---- text form (graph_text.c, graph_read.c): prints and reads back ---- */
void graph_print(Buffer *out, const Graph *graph);
/* Parameters are made as they are met. NULL and a complaint when the text is malformed. */
Graph *graph_read(Arena *arena, ExprPool *exprs, const Source *source, Diagnostics *diag);
