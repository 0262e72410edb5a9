/* calls_rows.c -- what works on rows: softmax, embedding, products. */
#include "emit/cpu/calls.h"

/* ---- softmax: the axis as the middle of (outer, n, inner) in memory ---- */

enum { SPAN_OUTER, SPAN_COUNT, SPAN_INNER };

static int64_t softmax_span(const Node *node, int which)
{
    static const int images[] = { 0, 2, 3, 1 };
    int64_t span[3] = { 1, 1, 1 };
    int state = SPAN_OUTER;
    for (int i = 0; i < node->shape.rank; i++) {
        int axis = emit_is_image(node) ? images[i] : i;
        bool is_it = axis == node->at.softmax.axis;
        span[is_it ? SPAN_COUNT : state] *= node->shape.dim[axis];
        state = is_it ? SPAN_INNER : state;
    }
    return span[which];
}

static void softmax_call(Emit *emit, const Node *node, const char *rows, const char *strided)
{
    const char *outer = emit_size(emit, node, softmax_span, SPAN_OUTER, "rows");
    const char *count = emit_size(emit, node, softmax_span, SPAN_COUNT, "classes");
    const char *inner = emit_size(emit, node, softmax_span, SPAN_INNER, "inner");
    bool contiguous = text_equal(inner, "1");
    emit_part(emit, contiguous ? rows : strided);
    emit_line(emit, "%s(%s, %s, %s, %s%s%s);", contiguous ? rows : strided, call_operand(emit, node, 0),
              emit_tensor(emit, node), outer, count, contiguous ? "" : ", ", contiguous ? "" : inner);
}

void call_softmax(Emit *emit, const Node *node)
{
    softmax_call(emit, node, "softmax", "strided_softmax");
}

void call_log_softmax(Emit *emit, const Node *node)
{
    softmax_call(emit, node, "log_softmax", "strided_log_softmax");
}

/* ---- embedding ---- */

void call_gather(Emit *emit, const Node *node)
{
    const Node *table = node->inputs[0], *ids = node->inputs[1];
    emit_part(emit, "gather");
    emit_line(emit, "gather(%s, %s, %s, %s, %s);", emit_tensor(emit, table), emit_tensor(emit, ids), emit_tensor(emit, node),
              emit_elements(emit, ids, 0, ids->shape.rank), emit_elements(emit, table, 1, table->shape.rank));
}

void call_gather_grad(Emit *emit, const Node *node)
{
    const Node *dy = node->inputs[0], *ids = node->inputs[1];
    emit_part(emit, "gather_grad");
    emit_line(emit, "gather_grad(%s, %s, %s, %s, %s, %s, %lld);", emit_tensor(emit, dy), emit_tensor(emit, ids),
              emit_tensor(emit, node), emit_elements(emit, ids, 0, ids->shape.rank), emit_dim(emit, node, 0),
              emit_elements(emit, node, 1, node->shape.rank), (long long)node->at.gather.padding_row);
}

/* ---- products ---- */

/* An operand's matrices against those of the result. */
typedef enum Spread { SPREAD_EACH, SPREAD_ONE, SPREAD_MIXED } Spread;

static int batch_axes(const Node *node)
{
    return node->shape.rank - 2;
}

/* Extent of an operand along axis `axis` of the result's batch. */
static int64_t batch_extent(const Node *node, const Node *operand, int axis)
{
    int own = axis - (node->shape.rank - operand->shape.rank);
    return own < 0 ? 1 : operand->shape.dim[own];
}

static Spread spread_of(const Node *node, const Node *operand)
{
    bool each = true, one = true;
    for (int i = 0; i < batch_axes(node); i++) {
        each &= batch_extent(node, operand, i) == node->shape.dim[i];
        one &= batch_extent(node, operand, i) == 1;
    }
    return each ? SPREAD_EACH : one ? SPREAD_ONE : SPREAD_MIXED;
}

enum { PRODUCT_BATCH, PRODUCT_ROWS, PRODUCT_COLUMNS, PRODUCT_DEPTH, PRODUCT_A_BATCH, PRODUCT_B_BATCH };

/* Where all matrices of a meet the same b, their rows are rows of one product. */
static int64_t product_size(const Node *node, int which)
{
    const Node *a = node->inputs[0], *b = node->inputs[1];
    int64_t batch = 1, rows = node->shape.dim[node->shape.rank - 2], columns = node->shape.dim[node->shape.rank - 1];
    int64_t depth = a->shape.dim[a->shape.rank - (node->at.matmul.transpose_a ? 2 : 1)];
    for (int i = 0; i < batch_axes(node); i++)
        batch *= node->shape.dim[i];
    bool one_b = spread_of(node, b) == SPREAD_ONE || batch == 1;
    bool joined = one_b && spread_of(node, a) == SPREAD_EACH && !node->at.matmul.transpose_a;
    switch (which) {
    case PRODUCT_BATCH:   return joined ? 1 : batch;
    case PRODUCT_ROWS:    return joined ? batch * rows : rows;
    case PRODUCT_COLUMNS: return columns;
    case PRODUCT_DEPTH:   return depth;
    case PRODUCT_A_BATCH: return joined || spread_of(node, a) == SPREAD_ONE ? 0 : rows * depth;
    default:              return one_b ? 0 : depth * columns;
    }
}

static int64_t extent_of(const Node *node, int axis)
{
    return node->shape.dim[axis];
}

static int64_t operand_stride(const Node *node, const Node *operand, int axis)
{
    int64_t stride = operand->shape.dim[operand->shape.rank - 1] * operand->shape.dim[operand->shape.rank - 2];
    for (int i = axis + 1; i < batch_axes(node); i++)
        stride *= batch_extent(node, operand, i);
    return batch_extent(node, operand, axis) == 1 ? 0 : stride;
}

static int64_t a_stride(const Node *node, int axis)
{
    return operand_stride(node, node->inputs[0], axis);
}

static int64_t b_stride(const Node *node, int axis)
{
    return operand_stride(node, node->inputs[1], axis);
}

static const char *array_of(Emit *emit, const Node *node, SizeOf *of, const char *hint)
{
    Buffer out = { .arena = emit_arena(emit) };
    for (int i = 0; i < batch_axes(node); i++)
        buffer_add(&out, "%s%s", i ? ", " : "", emit_size(emit, node, of, i, hint));
    return text_format(emit_arena(emit), "(const long[]){ %s }", buffer_text(&out));
}

static void mixed_product(Emit *emit, const Node *node, const char *flags)
{
    emit_part(emit, "product_broadcast");
    emit_line(emit, "product_broadcast(%s, %s, %s, %d, %s, %s, %s, %s, %s, %s, %s);", call_operand(emit, node, 0),
              call_operand(emit, node, 1), emit_tensor(emit, node), batch_axes(node), array_of(emit, node, extent_of, "extent"),
              array_of(emit, node, a_stride, "stride"), array_of(emit, node, b_stride, "stride"),
              emit_size(emit, node, product_size, PRODUCT_ROWS, "rows"),
              emit_size(emit, node, product_size, PRODUCT_COLUMNS, "columns"),
              emit_size(emit, node, product_size, PRODUCT_DEPTH, "depth"), flags);
}

void call_matmul(Emit *emit, const Node *node)
{
    static const char *const hints[] = { "batch", "rows", "columns", "depth", "stride", "stride" };
    const char *flags = text_format(emit_arena(emit), "%s, %s", node->at.matmul.transpose_a ? "true" : "false",
                                    node->at.matmul.transpose_b ? "true" : "false");
    if (spread_of(node, node->inputs[0]) == SPREAD_MIXED || spread_of(node, node->inputs[1]) == SPREAD_MIXED) {
        mixed_product(emit, node, flags);
        return;
    }
    const char *name = emit_library(emit) ? "dnnl_product" : "product";
    Buffer sizes = { .arena = emit_arena(emit) };
    for (int i = PRODUCT_BATCH; i <= PRODUCT_B_BATCH; i++)
        buffer_add(&sizes, ", %s", emit_size(emit, node, product_size, i, hints[i]));
    emit_part(emit, name);
    emit_line(emit, "%s(%s, %s, %s%s, %s);", name, call_operand(emit, node, 0), call_operand(emit, node, 1),
              emit_tensor(emit, node), buffer_text(&sizes), flags);
}
