/* graph_text.c -- graphs as text, a line a node:
 *
 *     %2 = parameter real[16,3,3,3] rows "conv1.weight" "conv1.weight" leaf=0 buffer=0 fan_in_first=0
 *     %3 = conv2d %0 %2 real[16,16,32,32] rows "conv1" stride=1,1 before=1,1 after=1,1 dilation=1,1 groups=1
 *     %4 = map %3 real[16,16,32,32] rows "relu" expr: max(in0, 0.0)
 *     output loss %9 "loss" */
#include "ir/graph_text.h"

#include <string.h>

const char *const dtype_names[DTYPE_NAMES] = {
    [DTYPE_REAL] = "real", [DTYPE_BF16] = "bf16", [DTYPE_INT32] = "int", [DTYPE_UINT8] = "byte",
};
const char *const layout_names[LAYOUT_NAMES] = { [LAYOUT_ROWS] = "rows", [LAYOUT_IMAGES] = "images" };
const char *const output_names[OUTPUT_NAMES] = {
    [OUTPUT_LOSS] = "loss", [OUTPUT_ROW_LOSS] = "row_loss", [OUTPUT_LOGITS] = "logits", [OUTPUT_GRADIENT] = "gradient",
    [OUTPUT_BUFFER] = "buffer", [OUTPUT_METRIC] = "metric",
};

/* ---- attributes ---- */

static const char *const input_words[] = {
    [INPUT_IMAGES] = "images", [INPUT_TOKENS] = "tokens", [INPUT_TARGETS] = "targets",
    [INPUT_PARTNER_TARGETS] = "partner_targets", [INPUT_DENSE_TARGETS] = "dense_targets",
    [INPUT_GRADIENT_SEED] = "gradient_seed",
};
static const char *const reduce_words[] = { [REDUCE_SUM] = "sum", [REDUCE_MEAN] = "mean", [REDUCE_MAX] = "max" };
static const char *const norm_words[] = {
    [NORM_BATCH] = "batch", [NORM_ROW] = "row", [NORM_GROUP] = "group", [NORM_RMS] = "rms",
};

#define LENGTH(list) ((int)(sizeof(list) / sizeof *(list)))
#define FIELD(type, member, name, count) { name, FIELD_##type, offsetof(Attributes, member), count, NULL, 0 }
#define WORD(member, name, words) { name, FIELD_WORD, offsetof(Attributes, member), 1, words, LENGTH(words) }

static const AttributeField input_fields[] = { WORD(input.kind, "kind", input_words) };
static const AttributeField constant_fields[] = { FIELD(DOUBLE, constant, "value", 1) };
static const AttributeField result_fields[] = { FIELD(INT, result.index, "index", 1) };
static const AttributeField reduce_fields[] = {
    WORD(reduce.kind, "kind", reduce_words), FIELD(INT, reduce.axes, "axes", 1),
};
static const AttributeField transpose_fields[] = { FIELD(INT, transpose.order, "order", COUNT_IS_RANK) };
static const AttributeField slice_fields[] = {
    FIELD(INT, slice.axis, "axis", 1), FIELD(INT64, slice.begin, "begin", 1), FIELD(INT64, slice.end, "end", 1),
    FIELD(INT64, slice.stride, "stride", 1),
};
static const AttributeField pad_fields[] = {
    FIELD(INT64, pad.before, "before", COUNT_IS_RANK), FIELD(INT64, pad.after, "after", COUNT_IS_RANK),
    FIELD(DOUBLE, pad.value, "value", 1),
};
static const AttributeField concat_fields[] = { FIELD(INT, concat.axis, "axis", 1) };
static const AttributeField gather_fields[] = { FIELD(INT64, gather.padding_row, "padding_row", 1) };
static const AttributeField matmul_fields[] = {
    FIELD(BOOL, matmul.transpose_a, "transpose_a", 1), FIELD(BOOL, matmul.transpose_b, "transpose_b", 1),
};
static const AttributeField conv_fields[] = {
    FIELD(INT64, conv.stride, "stride", 2), FIELD(INT64, conv.before, "before", 2), FIELD(INT64, conv.after, "after", 2),
    FIELD(INT64, conv.dilation, "dilation", 2), FIELD(INT64, conv.groups, "groups", 1),
};
static const AttributeField pool_fields[] = {
    FIELD(INT64, pool.kernel, "kernel", 2), FIELD(INT64, pool.stride, "stride", 2),
    FIELD(INT64, pool.padding, "padding", 2), FIELD(INT64, pool.dilation, "dilation", 2),
    FIELD(BOOL, pool.ceil_mode, "ceil_mode", 1), FIELD(BOOL, pool.count_padding, "count_padding", 1),
    FIELD(BOOL, pool.adaptive, "adaptive", 1),
};
static const AttributeField resize_fields[] = {
    FIELD(BOOL, resize.bilinear, "bilinear", 1), FIELD(BOOL, resize.align_corners, "align_corners", 1),
    FIELD(DOUBLE, resize.scale, "scale", 2),
};
static const AttributeField blur_fields[] = { FIELD(INT64, blur.stride, "stride", 2) };
static const AttributeField norm_fields[] = {
    WORD(norm.kind, "norm", norm_words), FIELD(DOUBLE, norm.epsilon, "epsilon", 1),
    FIELD(INT, norm.pieces, "pieces", 1), FIELD(BOOL, norm.is_cut, "is_cut", 1),
    FIELD(INT, norm.axes, "axes", 1), FIELD(INT, norm.groups, "groups", 1),
};
static const AttributeField running_fields[] = {
    FIELD(INT, running.which, "which", 1), FIELD(DOUBLE, running.momentum, "momentum", 1),
    FIELD(INT64, running.count, "count", 1), FIELD(INT, running.pieces, "pieces", 1),
    FIELD(INT64, running.last_count, "last_count", 1),
};
static const AttributeField softmax_fields[] = { FIELD(INT, softmax.axis, "axis", 1) };
static const AttributeField attention_fields[] = {
    FIELD(BOOL, attention.causal, "causal", 1), FIELD(DOUBLE, attention.scale, "scale", 1),
};
static const AttributeField loss_fields[] = {
    FIELD(INT, loss.axis, "axis", 1), FIELD(INT64, loss.ignore, "ignore", 1),
};

#define FIELDS(list) { list, LENGTH(list) }

static const AttributeFields by_op[OP_COUNT] = {
    [OP_input] = FIELDS(input_fields), [OP_constant] = FIELDS(constant_fields),
    [OP_result] = FIELDS(result_fields), [OP_reduce] = FIELDS(reduce_fields),
    [OP_transpose] = FIELDS(transpose_fields), [OP_slice] = FIELDS(slice_fields),
    [OP_pad] = FIELDS(pad_fields), [OP_concat] = FIELDS(concat_fields), [OP_gather] = FIELDS(gather_fields),
    [OP_gather_grad] = FIELDS(gather_fields), [OP_matmul] = FIELDS(matmul_fields),
    [OP_conv2d] = FIELDS(conv_fields), [OP_conv2d_grad_input] = FIELDS(conv_fields),
    [OP_conv2d_grad_weight] = FIELDS(conv_fields), [OP_max_pool2d] = FIELDS(pool_fields),
    [OP_max_pool2d_grad] = FIELDS(pool_fields), [OP_avg_pool2d] = FIELDS(pool_fields),
    [OP_avg_pool2d_grad] = FIELDS(pool_fields), [OP_resize2d] = FIELDS(resize_fields),
    [OP_resize2d_grad] = FIELDS(resize_fields), [OP_blur2d] = FIELDS(blur_fields),
    [OP_blur2d_grad] = FIELDS(blur_fields), [OP_moments] = FIELDS(norm_fields),
    [OP_normalize] = FIELDS(norm_fields), [OP_normalize_grad_sums] = FIELDS(norm_fields),
    [OP_normalize_grad] = FIELDS(norm_fields), [OP_normalize_grad_affine] = FIELDS(norm_fields),
    [OP_running_update] = FIELDS(running_fields), [OP_softmax] = FIELDS(softmax_fields),
    [OP_log_softmax] = FIELDS(softmax_fields), [OP_attention] = FIELDS(attention_fields),
    [OP_attention_grad] = FIELDS(attention_fields), [OP_cross_entropy] = FIELDS(loss_fields),
    [OP_cross_entropy_grad] = FIELDS(loss_fields), [OP_dense_cross_entropy] = FIELDS(loss_fields),
    [OP_target_rank] = FIELDS(loss_fields), [OP_confusion] = FIELDS(loss_fields),
};

AttributeFields attribute_fields(Op op)
{
    return by_op[op];
}

/* ---- printing ---- */

static void print_word(Buffer *out, const AttributeField *field, int value)
{
    bool known = value >= 0 && value < field->word_count;
    known ? buffer_add(out, "%s", field->words[value]) : buffer_add(out, "%d?", value);
}

static void print_field(Buffer *out, const AttributeField *field, const Attributes *at, int rank)
{
    const void *from = (const char *)at + field->offset;
    int count = field->count == COUNT_IS_RANK ? rank : field->count;
    buffer_add(out, " %s=", field->name);
    for (int i = 0; i < count; i++) {
        buffer_add(out, i ? "," : "");
        switch (field->type) {
        case FIELD_INT:    buffer_add(out, "%d", ((const int *)from)[i]); break;
        case FIELD_INT64:  buffer_add(out, "%lld", (long long)((const int64_t *)from)[i]); break;
        case FIELD_DOUBLE: buffer_add(out, "%s", text_number(out->arena, ((const double *)from)[i])); break;
        case FIELD_BOOL:   buffer_add(out, "%d", ((const bool *)from)[i]); break;
        case FIELD_WORD:   print_word(out, field, ((const int *)from)[i]); break;
        }
    }
}

void attributes_print(Buffer *out, Op op, const Attributes *at, int rank)
{
    AttributeFields attributes = attribute_fields(op);
    for (int i = 0; i < attributes.count; i++)
        print_field(out, &attributes.fields[i], at, rank);
}

/* Names stand in quotes on one line; what would end them, which no file format has in names, becomes an
 * apostrophe. */
static void print_name(Buffer *out, const char *name)
{
    char *text = arena_copy(out->arena, name ? name : "", name ? strlen(name) + 1 : 1);
    for (char *c = text; *c; c++)
        if (*c == '"' || *c == '\n')
            *c = '\'';
    buffer_add(out, " \"%s\"", text);
}

static void print_expr(Buffer *out, const char *label, const Expr *expr)
{
    if (!expr)
        return;
    buffer_add(out, " %s: ", label);
    expr_print(out, expr);
}

static void print_parameter(Buffer *out, const Parameter *parameter)
{
    print_name(out, parameter->name);
    buffer_add(out, " leaf=%d buffer=%d fan_in_first=%d", parameter->leaf, parameter->is_buffer,
               parameter->fan_in_first);
    print_expr(out, "initial", parameter->initial);
}

bool op_has_share(Op op)
{
    return op == OP_cross_entropy || op == OP_cross_entropy_grad || op == OP_dense_cross_entropy;
}

static void print_node(Buffer *out, const Node *node)
{
    buffer_add(out, "%%%d = %s", node->id, op_info[node->op].name);
    for (int i = 0; i < node->input_count; i++)
        buffer_add(out, " %%%d", node->inputs[i]->id);
    buffer_add(out, " %s%s %s", dtype_names[node->dtype], shape_text(out->arena, node->shape),
               layout_names[node->layout]);
    print_name(out, node->name);
    attributes_print(out, node->op, &node->at, node->shape.rank);
    if (node->op == OP_parameter)
        print_parameter(out, node->at.parameter.is);
    print_expr(out, "expr", node->expr);
    print_expr(out, "share", op_has_share(node->op) ? node->at.loss.share : NULL);
    buffer_add(out, "\n");
}

/* The name of a parameter's output is that of the parameter. */
static void print_output(Buffer *out, const Output *output)
{
    buffer_add(out, "output %s %%%d", output_names[output->kind], output->node->id);
    print_name(out, output->parameter ? output->parameter->name : output->name);
    buffer_add(out, "\n");
}

void graph_print(Buffer *out, const Graph *graph)
{
    for (int i = 0; i < graph->nodes.count; i++)
        print_node(out, graph->nodes.items[i]);
    for (int i = 0; i < graph->outputs.count; i++)
        print_output(out, &graph->outputs.items[i]);
}
