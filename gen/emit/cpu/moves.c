/* moves.c -- reductions and data movement: calls of templates/cpu/{reduce,move}.c with sizes and strides. */
#include "emit/cpu/state.h"

#include <string.h>

/* Stride in memory of axis `axis`, in elements. */
static int64_t stride_of(const Node *node, int axis)
{
    int64_t stride = 1;
    if (node->layout != LAYOUT_IMAGES || node->shape.rank != 4) {
        for (int i = axis + 1; i < node->shape.rank; i++)
            stride *= node->shape.dim[i];
        return stride;
    }
    const int64_t *dim = node->shape.dim;
    const int64_t strides[4] = { dim[2] * dim[3] * dim[1], 1, dim[3] * dim[1], dim[1] };
    return strides[axis];
}

static int64_t row_major_stride(const Node *node, int axis)
{
    int64_t stride = 1;
    for (int i = axis + 1; i < node->shape.rank; i++)
        stride *= node->shape.dim[i];
    return stride;
}

/* ---- reduce: as (outer, n, inner) -> (outer, inner) where the reduced axes are neighbours in memory ---- */

typedef struct Span { int64_t outer, count, inner; } Span;

static bool reduced(const Node *node, int axis)
{
    return node->at.reduce.axes >> axis & 1;
}

static bool span_of(const Node *node, Span *span)
{
    static const int images[] = { 0, 2, 3, 1 };
    const Node *x = node->inputs[0];
    bool is_image = x->layout == LAYOUT_IMAGES && x->shape.rank == 4;
    int state = 0;                      /* 0 before, 1 inside, 2 after the reduced axes */
    *span = (Span){ 1, 1, 1 };
    for (int i = 0; i < x->shape.rank; i++) {
        int axis = is_image ? images[i] : i;
        if (x->shape.dim[axis] == 1)
            continue;
        if (reduced(node, axis)) {
            if (state == 2)
                return false;
            state = 1;
            span->count *= x->shape.dim[axis];
        } else {
            state = state == 1 ? 2 : state;
            *(state == 0 ? &span->outer : &span->inner) *= x->shape.dim[axis];
        }
    }
    return node->layout == x->layout || plan_same_bytes(node, x) || node->shape.rank != 4
        || node->shape.dim[1] == 1 || node->shape.dim[2] * node->shape.dim[3] == 1;
}

static int64_t span_size(const Node *node, int which)
{
    Span span;
    span_of(node, &span);
    return which == 0 ? span.outer : which == 1 ? span.count : span.inner;
}

static int64_t input_stride(const Node *node, int axis)
{
    return stride_of(node->inputs[0], axis);
}

static int64_t own_stride(const Node *node, int axis)
{
    return stride_of(node, axis);
}

static const char *array_of(Emit *emit, const Node *node, SizeOf *of, int count, const char *hint)
{
    Buffer out = { .arena = emit->arena };
    buffer_add(&out, "(const long[]){ ");
    for (int i = 0; i < count; i++)
        buffer_add(&out, "%s%s", i ? ", " : "", emit_size(emit, node, of, i, hint));
    buffer_add(&out, " }");
    return buffer_text(&out);
}

static int64_t kept_extent(const Node *node, int axis)
{
    return reduced(node, axis) ? 1 : node->inputs[0]->shape.dim[axis];
}

static int64_t folded_extent(const Node *node, int axis)
{
    return reduced(node, axis) ? node->inputs[0]->shape.dim[axis] : 1;
}

static void reduce_strided(Emit *emit, const Node *node, const char *kind)
{
    int rank = node->shape.rank;
    emit_part(emit, "reduce_strided");
    emit_line(emit, "reduce_strided(%s, %s, %s, %d, %s, %s, %s, %s);", emit_tensor(emit, node->inputs[0]), emit_tensor(emit, node),
              kind, rank, array_of(emit, node, kept_extent, rank, "extent"), array_of(emit, node, folded_extent, rank, "extent"),
              array_of(emit, node, input_stride, rank, "stride"), array_of(emit, node, own_stride, rank, "stride"));
}

void emit_reduce(Emit *emit, const Node *node)
{
    static const char *const parts[] = { "reduce_sum", "reduce_mean", "reduce_max" };
    static const char *const kinds[] = { "FOLD_SUM", "FOLD_MEAN", "FOLD_MAX" };
    Span span;
    if (!span_of(node, &span)) {
        reduce_strided(emit, node, kinds[node->at.reduce.kind]);
        return;
    }
    const char *part = parts[node->at.reduce.kind];
    emit_part(emit, part);
    emit_line(emit, "%s(%s, %s, %s, %s, %s);", part, emit_tensor(emit, node->inputs[0]), emit_tensor(emit, node),
              emit_size(emit, node, span_size, 0, "outer"), emit_size(emit, node, span_size, 1, "count"),
              emit_size(emit, node, span_size, 2, "inner"));
}

/* ---- moves: y[y_start + sum k*y_stride] = x[x_start + sum k*x_stride] over a box of `rank` axes ---- */

typedef struct Move { SizeOf *extent, *x_stride, *y_stride, *x_start, *y_start; } Move;

static int64_t zero(const Node *node, int detail)
{
    return (void)node, (void)detail, 0;
}

static int64_t own_extent(const Node *node, int axis)
{
    return node->shape.dim[axis];
}

static const char *offset_text(Emit *emit, const char *base, const Node *node, SizeOf *start, int detail)
{
    const char *offset = emit_size(emit, node, start, detail, "start");
    return text_equal(offset, "0") ? base : text_format(emit->arena, "%s + %s", base, offset);
}

static void emit_box(Emit *emit, const Node *node, const Node *x, const Move *move, int detail, int rank)
{
    emit_part(emit, node->dtype == DTYPE_INT32 ? "move_int" : "move");
    emit_line(emit, "%s(%s, %s, %d, %s, %s, %s);", node->dtype == DTYPE_INT32 ? "move_int" : "move",
              offset_text(emit, emit_tensor(emit, x), node, move->x_start, detail),
              offset_text(emit, emit_tensor(emit, node), node, move->y_start, detail), rank,
              array_of(emit, node, move->extent, rank, "extent"), array_of(emit, node, move->x_stride, rank, "stride"),
              array_of(emit, node, move->y_stride, rank, "stride"));
}

static int64_t transposed_stride(const Node *node, int axis)
{
    return stride_of(node->inputs[0], node->at.transpose.order[axis]);
}

static int64_t sliced_stride(const Node *node, int axis)
{
    int64_t stride = stride_of(node->inputs[0], axis);
    return axis == node->at.slice.axis ? stride * node->at.slice.stride : stride;
}

static int64_t slice_start(const Node *node, int detail)
{
    (void)detail;
    return node->at.slice.begin * stride_of(node->inputs[0], node->at.slice.axis);
}

static int64_t negative_part(int64_t amount)
{
    return amount < 0 ? -amount : 0;
}

static int64_t pad_extent(const Node *node, int axis)
{
    return node->inputs[0]->shape.dim[axis] - negative_part(node->at.pad.before[axis]) - negative_part(node->at.pad.after[axis]);
}

static int64_t pad_x_start(const Node *node, int detail)
{
    int64_t start = 0;
    (void)detail;
    for (int i = 0; i < node->shape.rank; i++)
        start += negative_part(node->at.pad.before[i]) * stride_of(node->inputs[0], i);
    return start;
}

static int64_t pad_y_start(const Node *node, int detail)
{
    int64_t start = 0;
    (void)detail;
    for (int i = 0; i < node->shape.rank; i++)
        start += negative_part(-node->at.pad.before[i]) * stride_of(node, i);
    return start;
}

/* Each input goes to its place along the axis; where that is may differ between phases. */
static void emit_concat(Emit *emit, const Node *node)
{
    int axis = node->at.concat.axis;
    int64_t *starts = arena_array(emit->arena, int64_t, emit->current->topology->phases.count);
    for (int k = 0; k < node->input_count; k++) {
        const Node *x = node->inputs[k];
        const char *start = emit_vector(emit, starts, "start"), *y = emit_tensor(emit, node);
        emit_part(emit, node->dtype == DTYPE_INT32 ? "move_int" : "move");
        emit_line(emit, "%s(%s, %s, %d, %s, %s, %s);", node->dtype == DTYPE_INT32 ? "move_int" : "move", emit_tensor(emit, x),
                  text_equal(start, "0") ? y : text_format(emit->arena, "%s + %s", y, start), node->shape.rank,
                  array_of(emit, x, own_extent, x->shape.rank, "extent"), array_of(emit, x, own_stride, x->shape.rank, "stride"),
                  array_of(emit, node, own_stride, node->shape.rank, "stride"));
        for (int p = 0; p < emit->current->topology->phases.count; p++) {
            const Node *there = emit->current->topology->graphs[p]->nodes.items[node->id];
            starts[p] += there->inputs[k]->shape.dim[axis] * stride_of(there, axis);
        }
    }
}

/* Elements keep their row-major order; only what the layouts do differently is moved. */
static void emit_reshape(Emit *emit, const Node *node)
{
    const Node *x = node->inputs[0];
    if (emit->current->topology->plan->slots[node->id].storage == STORE_ALIAS)
        return;
    if (x->layout == LAYOUT_IMAGES && x->shape.rank == 4) {
        emit_part(emit, "move");
        emit_line(emit, "move(%s, %s, 4, %s, %s, %s);", emit_tensor(emit, x), emit_tensor(emit, node),
                  array_of(emit, x, own_extent, 4, "extent"), array_of(emit, x, own_stride, 4, "stride"),
                  array_of(emit, x, row_major_stride, 4, "stride"));
        return;
    }
    Move move = { own_extent, row_major_stride, own_stride, zero, zero };
    emit_box(emit, node, x, &move, 0, node->shape.rank);
}

static int64_t constant_of(const Node *node, int detail)
{
    return (void)detail, (int64_t)node->at.constant;
}

/* Counts, which may differ between phases, are whole. */
static const char *fill_value(Emit *emit, const Node *node)
{
    if (node->op == OP_pad)
        return emit_number(emit, node->at.pad.value);
    bool whole = node->at.constant == (double)(int64_t)node->at.constant;
    return whole ? emit_size(emit, node, constant_of, 0, "count") : emit_number(emit, node->at.constant);
}

void emit_fill(Emit *emit, const Node *node)
{
    emit_part(emit, "fill");
    emit_line(emit, "fill(%s, %s, %s);", emit_tensor(emit, node), emit_elements(emit, node, 0, node->shape.rank), fill_value(emit, node));
}

void emit_move(Emit *emit, const Node *node)
{
    static const Move transpose = { own_extent, transposed_stride, own_stride, zero, zero };
    static const Move slice = { own_extent, sliced_stride, own_stride, slice_start, zero };
    static const Move pad = { pad_extent, input_stride, own_stride, pad_x_start, pad_y_start };
    switch (node->op) {
    case OP_reshape:   emit_reshape(emit, node); break;
    case OP_concat:    emit_concat(emit, node); break;
    case OP_transpose: emit_box(emit, node, node->inputs[0], &transpose, 0, node->shape.rank); break;
    case OP_slice:     emit_box(emit, node, node->inputs[0], &slice, 0, node->shape.rank); break;
    case OP_pad:
        emit_fill(emit, node);
        emit_box(emit, node, node->inputs[0], &pad, 0, node->shape.rank);
        break;
    default:
        bug("%s is no move", op_info[node->op].name);
    }
}
