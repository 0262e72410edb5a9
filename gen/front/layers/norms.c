/* norms.c -- normalisations: statistics, the normalised tensor, and running statistics. */
#include "front/layers/call.h"

typedef struct Affine { Node *weight, *bias; } Affine;

/* Weight 1 and bias 0 of this shape, as far as the layer has them. */
static bool read_affine(Call *call, Shape shape, bool has_weight, bool has_bias, Affine *affine)
{
    ExprPool *pool = call->builder->graph->exprs;
    bool batch = call->kind == LAYER_batch_norm;
    Weight weight = {
        .layer = call->name, .part = "weight", .shape = shape, .role = batch ? BATCH_NORM_WEIGHT : NORM_WEIGHT,
        .fan_in = 1, .fan_out = shape_elements(shape), .initial = expr_number(pool, 1),
        .init = option_text(call_options(call), "weight_init"),
    };
    Weight bias = {
        .layer = call->name, .part = "bias", .shape = shape, .role = batch ? BATCH_NORM_BIAS : NORM_BIAS,
        .fan_in = 1, .fan_out = shape_elements(shape), .initial = expr_number(pool, 0),
    };
    *affine = (Affine){ 0 };
    if (has_weight && !(affine->weight = call_weight(call, &weight)))
        return false;
    return !has_bias || (affine->bias = call_weight(call, &bias));
}

static bool check_epsilon(Call *call)
{
    double epsilon = option_number(call_options(call), "epsilon");
    return epsilon >= 0 || call_error(call, "%s: epsilon is %g; it may not be negative", call->word, epsilon);
}

static Node *make_moments(Call *call, Node *x, const Norm *norm)
{
    call_part(call, "moments");
    return node_add(call->builder->graph, OP_moments, &x, 1, &(Attributes){ .norm = *norm });
}

static bool normalize(Call *call, Node *x, Node *moments, const Affine *affine, const Norm *norm)
{
    Node *inputs[4] = { x, moments, affine->weight, affine->bias };
    int count = affine->bias ? 4 : affine->weight ? 3 : 2;
    return call_return(call, call_add(call, OP_normalize, inputs, count, &(Attributes){ .norm = *norm }));
}

/* ---- batch norm ---- */

typedef struct Running { Node *mean, *variance; } Running;

static bool read_running(Call *call, int64_t channels, Running *running)
{
    ExprPool *pool = call->builder->graph->exprs;
    Weight weight = {
        .layer = call->name, .part = "running_mean", .shape = shape_of(1, channels), .is_buffer = true,
        .initial = expr_number(pool, 0),
    };
    if (!(running->mean = call_weight(call, &weight)))
        return false;
    weight.part = "running_var";
    weight.initial = expr_number(pool, 1);
    return (running->variance = call_weight(call, &weight));
}

/* (2, C): running mean over running variance, as moments are. */
static Node *moments_of_running(Call *call, const Running *running)
{
    Graph *graph = call->builder->graph;
    Shape row = shape_of(2, (int64_t)1, running->mean->shape.dim[0]);
    call_part(call, "moments");
    Node *rows[2] = { build_reshape(graph, running->mean, row), build_reshape(graph, running->variance, row) };
    return node_add(graph, OP_concat, rows, 2, &(Attributes){ .concat = { .axis = 0 } });
}

static void update_running(Call *call, const Norm *norm, Node *buffer, Node *moments, int which, const Node *x)
{
    Graph *graph = call->builder->graph;
    const Parameter *parameter = buffer->at.parameter.is;
    int64_t rows = x->shape.dim[0], elements = shape_elements(x->shape) / (rows * x->shape.dim[1]);
    int64_t piece = (rows + norm->pieces - 1) / norm->pieces;
    Attributes at = { .running = {
        .which = which,
        .momentum = option_number(call_options(call), "momentum") / norm->pieces,
        .pieces = norm->pieces,
        .count = piece * elements,
        .last_count = (rows - piece * (norm->pieces - 1)) * elements,
    } };
    call_part(call, which ? "new_running_var" : "new_running_mean");
    Node *updated = node_add(graph, OP_running_update, (Node *[]){ buffer, moments }, 2, &at);
    graph_output(graph, (Output){ OUTPUT_BUFFER, updated, parameter, parameter->name });
}

/* Pieces of at most `size` rows, as torch.chunk cuts: ceil(N/size) pieces of ceil(N/pieces) rows, the last
 * shorter. */
static int ghost_pieces(int64_t rows, int64_t size)
{
    if (size <= 0 || size >= rows)
        return 1;
    int64_t pieces = (rows + size - 1) / size, each = (rows + pieces - 1) / pieces;
    return (int)((rows + each - 1) / each);
}

bool make_batch_norm(Call *call)
{
    Node *x = call_tensor(call, 0);
    const Value *options = call_options(call);
    if (!x || !check_epsilon(call))
        return false;
    if (x->shape.rank != 4 && x->shape.rank != 2)
        return call_needs_rank(call, x, 4, "images (rows, channels, height, width) or (rows, features)");
    int64_t channels = x->shape.dim[1], group = option_integer(options, "group_size");
    double momentum = option_number(options, "momentum");
    if (momentum < 0 || momentum > 1 || group < 0)
        return call_error(call, "batch_norm: momentum %g must be in 0..1 and group_size %lld at least 0",
                          momentum, (long long)group);
    Affine affine;
    Running running;
    bool has_affine = !option_truth(options, "no_affine");
    if (!read_affine(call, shape_of(1, channels), has_affine, has_affine, &affine)
        || !read_running(call, channels, &running))
        return false;
    bool training = call->builder->training;
    Norm norm = { .kind = NORM_BATCH, .epsilon = option_number(options, "epsilon"),
                  .pieces = training ? ghost_pieces(x->shape.dim[0], group) : 1, .is_cut = training && group > 0 };
    if (!training)
        return normalize(call, x, moments_of_running(call, &running), &affine, &norm);
    Node *moments = make_moments(call, x, &norm);
    update_running(call, &norm, running.mean, moments, 0, x);
    update_running(call, &norm, running.variance, moments, 1, x);
    return normalize(call, x, moments, &affine, &norm);
}

/* ---- the others: the same in training and evaluation ---- */

/* Normalises over the last `axes` axes. */
static bool norm_of_rows(Call *call, NormKind kind, int64_t axes, bool has_weight, bool has_bias)
{
    Node *x = call_tensor(call, 0);
    if (!x || !check_epsilon(call))
        return false;
    if (axes < 1 || axes >= x->shape.rank)
        return call_error(call, "%s: %lld axes of %s can't be normalised together", call->word,
                          (long long)axes, call_shape(call, x));
    Shape shape = { .rank = (int)axes };
    memcpy(shape.dim, &x->shape.dim[x->shape.rank - axes], sizeof *shape.dim * (size_t)axes);
    Affine affine;
    if (!read_affine(call, shape, has_weight, has_bias, &affine))
        return false;
    Norm norm = { .kind = kind, .epsilon = option_number(call_options(call), "epsilon"), .axes = (int)axes };
    return normalize(call, x, make_moments(call, x, &norm), &affine, &norm);
}

bool make_layer_norm(Call *call)
{
    const Value *options = call_options(call);
    bool has_weight = !option_truth(options, "no_affine");
    return norm_of_rows(call, NORM_ROW, option_integer(options, "axes"), has_weight,
                        has_weight && !option_truth(options, "no_bias"));
}

bool make_rms_norm(Call *call)
{
    return norm_of_rows(call, NORM_RMS, 1, true, false);
}

bool make_group_norm(Call *call)
{
    Node *x = call_tensor(call, 0);
    int64_t groups = call_integer(call, 1);
    if (!x || !check_epsilon(call) || !call_needs_images(call, x)
        || !call_needs_positive(call, "the number of groups", groups))
        return false;
    int64_t channels = x->shape.dim[1];
    if (channels % groups)
        return call_error(call, "group_norm: %lld channels do not divide into %lld groups",
                          (long long)channels, (long long)groups);
    Affine affine;
    bool has_affine = !option_truth(call_options(call), "no_affine");
    if (!read_affine(call, shape_of(1, channels), has_affine, has_affine, &affine))
        return false;
    Norm norm = { .kind = NORM_GROUP,
                  .epsilon = option_number(call_options(call), "epsilon"),
                  .groups = (int)groups };
    return normalize(call, x, make_moments(call, x, &norm), &affine, &norm);
}
