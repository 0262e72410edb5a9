/* calls_norm.c -- normalisations: a kernel for each operation and kind of group. */
#include "emit/cpu/calls.h"

static int64_t pieces_of(const Node *node, int detail)
{
    return (void)detail, node->op == OP_running_update ? node->at.running.pieces : node->at.norm.pieces;
}

/* What the kernels of a kind take behind their tensors: "rows, pixels, channels, pieces or groups", or "rows, n". */
static const char *norm_sizes(Emit *emit, const Node *node, const Node *x)
{
    const Norm *norm = &node->at.norm;
    int rank = x->shape.rank;
    if (norm->kind == NORM_ROW || norm->kind == NORM_RMS) {
        if (emit_is_image(x))
            bug("node %d: the last axes of images do not lie together", node->id);
        return text_format(emit_arena(emit), "%s, %s", emit_elements(emit, x, 0, rank - norm->axes),
                           emit_elements(emit, x, rank - norm->axes, rank));
    }
    if (rank != 2 && !emit_is_image(x))
        bug("node %d: batch and group norm take images with channels fastest, or (rows, channels)", node->id);
    const char *last = norm->kind == NORM_GROUP ? text_format(emit_arena(emit), "%d", norm->groups)
                                                : emit_size(emit, node, pieces_of, 0, "pieces");
    return text_format(emit_arena(emit), "%s, %s, %s, %s", emit_dim(emit, x, 0), emit_elements(emit, x, 2, rank),
                       emit_dim(emit, x, 1), last);
}

typedef const char *const KernelNames[4];       /* by kind of norm */

/* kernel(inputs, padded with NULL to `inputs`, result, sizes [, epsilon]); x is input number `x`. */
static void norm_call(Emit *emit, const Node *node, KernelNames names, int inputs, int x, bool takes_epsilon)
{
    const char *name = names[node->at.norm.kind];
    Buffer operands = { .arena = emit_arena(emit) };
    for (int i = 0; i < inputs; i++)
        buffer_add(&operands, "%s, ", call_operand(emit, node, i));
    emit_part(emit, name);
    emit_line(emit, "%s(%s%s, %s%s%s);", name, buffer_text(&operands), emit_tensor(emit, node),
              norm_sizes(emit, node, node->inputs[x]), takes_epsilon ? ", " : "",
              takes_epsilon ? emit_number(emit, node->at.norm.epsilon) : "");
}

void call_moments(Emit *emit, const Node *node)
{
    static KernelNames names = { [NORM_BATCH] = "batch_moments", [NORM_ROW] = "row_moments", [NORM_GROUP] = "group_moments",
                                 [NORM_RMS] = "rms_moments" };
    norm_call(emit, node, names, 1, 0, false);
}

void call_normalize(Emit *emit, const Node *node)
{
    static KernelNames names = { [NORM_BATCH] = "batch_normalize", [NORM_ROW] = "row_normalize",
                                 [NORM_GROUP] = "group_normalize", [NORM_RMS] = "row_normalize" };
    norm_call(emit, node, names, 4, 0, true);
}

void call_normalize_grad_sums(Emit *emit, const Node *node)
{
    static KernelNames names = { [NORM_BATCH] = "batch_normalize_grad_sums", [NORM_ROW] = "row_normalize_grad_sums",
                                 [NORM_GROUP] = "group_normalize_grad_sums", [NORM_RMS] = "row_normalize_grad_sums" };
    norm_call(emit, node, names, node->at.norm.kind == NORM_BATCH ? 3 : 4, 1, true);
}

void call_normalize_grad(Emit *emit, const Node *node)
{
    static KernelNames names = { [NORM_BATCH] = "batch_normalize_grad", [NORM_ROW] = "row_normalize_grad",
                                 [NORM_GROUP] = "group_normalize_grad", [NORM_RMS] = "rms_normalize_grad" };
    norm_call(emit, node, names, 5, 1, true);
}

void call_normalize_grad_affine(Emit *emit, const Node *node)
{
    static KernelNames names = { [NORM_BATCH] = "batch_normalize_grad_affine", [NORM_ROW] = "row_normalize_grad_affine",
                                 [NORM_GROUP] = "group_normalize_grad_affine", [NORM_RMS] = "row_normalize_grad_affine" };
    norm_call(emit, node, names, 3, 1, true);
}

static int64_t running_count(const Node *node, int is_last)
{
    return is_last ? node->at.running.last_count : node->at.running.count;
}

/* Of one piece. Where the number of pieces differs between phases, so does their share. */
static const char *momentum_text(Emit *emit, const Node *node, const char *pieces)
{
    double momentum = node->at.running.momentum;
    if (!text_starts(pieces, "p->"))
        return emit_number(emit, momentum);
    return text_format(emit_arena(emit), "%s / %s", emit_number(emit, momentum * node->at.running.pieces), pieces);
}

void call_running_update(Emit *emit, const Node *node)
{
    const char *pieces = emit_size(emit, node, pieces_of, 0, "pieces");
    emit_part(emit, "running_update");
    emit_line(emit, "running_update(%s, %s, %s, %s, %s, %s, %s, %s, %s);", call_operand(emit, node, 0),
              call_operand(emit, node, 1), emit_tensor(emit, node), emit_dim(emit, node, 0), pieces,
              node->at.running.which ? "true" : "false", momentum_text(emit, node, pieces),
              emit_size(emit, node, running_count, 0, "count"), emit_size(emit, node, running_count, 1, "last_count"));
}
