/* calls_score.c -- where methods meet kernels: attention's score, the loss's targets; and what evaluation counts. */
#include "emit/cpu/calls.h"
#include "emit/cpu/state.h"

#include <string.h>

static const char *live(bool is_live)
{
    return is_live ? "live" : NULL;
}

/* ---- attention ---- */

enum { ATTENTION_SLOTS = 7 };

static const char *score_text(Emit *emit, const Expr *expr, const char *owners)
{
    static const char *const inputs[] = { "score" }, *const indices[] = { "head", "query", "key" };
    return expr ? text_format(emit_arena(emit), "%s%s", emit_expr(emit, expr, inputs, indices), owners) : NULL;
}

/* The slots of a kernel whose score has `expr`, and in the backward pass its derivative. */
static void score_slots(Emit *emit, const Node *node, bool is_grad, const char *lse, Slot slots[ATTENTION_SLOTS])
{
    const Expr *expr = node->expr, *slope = NULL;
    if (expr && is_grad) {
        slope = expr_derivative(emit->program->exprs, expr, 0);
        slope = expr_is_number(slope, 1) ? NULL : slope;
    }
    const char *owners = call_owners(emit, "attention_score");
    bool head = (expr && call_uses_index(expr, 0)) || (slope && call_uses_index(slope, 0));
    bool query = (expr && call_uses_index(expr, 1)) || (slope && call_uses_index(slope, 1));
    const Slot all[ATTENTION_SLOTS] = {
        { "score", score_text(emit, expr, owners) }, { "score_derivative", score_text(emit, slope, "") },
        { "head", live(head) }, { "query", live(query) }, { "causal", live(node->at.attention.causal) },
        { "mask", live(node->input_count > (is_grad ? 6 : 3)) }, { "lse", live(!text_equal(lse, "NULL")) },
    };
    memcpy(slots, all, sizeof all);
}

static const char *attention_shape(Emit *emit, const Node *q, const Node *k)
{
    return text_format(emit_arena(emit), "(attention_shape){ %s, %s, %s, %s, %s }", emit_dim(emit, q, 0), emit_dim(emit, q, 1),
                       emit_dim(emit, q, 2), emit_dim(emit, k, 2), emit_dim(emit, q, 3));
}

/* "mask, " or nothing */
static const char *mask_text(Emit *emit, const Node *node, int input)
{
    if (input >= node->input_count)
        return "";
    if (node->inputs[input]->dtype != DTYPE_REAL)
        bug("node %d: a key mask is real: 0 hidden, 1 visible", node->id);
    return text_format(emit_arena(emit), "%s, ", emit_tensor(emit, node->inputs[input]));
}

void call_attention(Emit *emit, const Node *node)
{
    const char *lse = emit_result(emit, node, 1);
    Slot slots[ATTENTION_SLOTS];
    score_slots(emit, node, false, lse, slots);
    const char *name = emit_instance(emit, "attention", slots, ATTENTION_SLOTS, "");
    emit_line(emit, "%s(%s, %s, %s, %s%s, %s%s%s, %s);", name, call_operand(emit, node, 0), call_operand(emit, node, 1),
              call_operand(emit, node, 2), mask_text(emit, node, 3), emit_tensor(emit, node),
              text_equal(lse, "NULL") ? "" : lse, text_equal(lse, "NULL") ? "" : ", ",
              attention_shape(emit, node->inputs[0], node->inputs[1]), emit_number(emit, node->at.attention.scale));
}

/* dy, q, k, v, y, lse [, mask] -> dq, dk, dv */
void call_attention_grad(Emit *emit, const Node *node)
{
    Slot slots[ATTENTION_SLOTS];
    score_slots(emit, node, true, "NULL", slots);
    const char *name = emit_instance(emit, "attention_grad", slots, ATTENTION_SLOTS, "");
    Buffer operands = { .arena = emit_arena(emit) };
    for (int i = 0; i < 6; i++)
        buffer_add(&operands, "%s, ", call_operand(emit, node, i));
    emit_line(emit, "%s(%s%s%s, %s, %s, %s, %s);", name, buffer_text(&operands), mask_text(emit, node, 6),
              emit_tensor(emit, node), emit_result(emit, node, 1), emit_result(emit, node, 2),
              attention_shape(emit, node->inputs[1], node->inputs[2]), emit_number(emit, node->at.attention.scale));
}

/* ---- losses: rows of classes, which lie next to each other ---- */

static void check_classes(const Node *node, const Node *logits)
{
    int axis = node->at.loss.axis;
    bool fastest = emit_is_image(logits) ? axis == 1 : true;
    for (int i = axis + 1; i < logits->shape.rank && !emit_is_image(logits); i++)
        fastest &= logits->shape.dim[i] == 1;
    if (!fastest)
        bug("node %d (%s): classes must be the fastest axis in memory", node->id, op_info[node->op].name);
}

/* Weights of a row's classes after mixing and smoothing: see templates/cpu/loss.c. */
typedef struct RowWeights {
    const Expr *own, *mixed, *whole, *rest;
} RowWeights;

static const Expr *class_weight(Emit *emit, const Node *node, const Expr *raw)
{
    return node->expr ? expr_substitute(emit->program->exprs, node->expr, &raw, 1, NULL, 0) : raw;
}

static RowWeights row_weights(Emit *emit, const Node *node, bool has_partner)
{
    ExprPool *pool = emit->program->exprs;
    const Expr *one = expr_number(pool, 1), *share = has_partner && node->at.loss.share ? node->at.loss.share : one;
    RowWeights weights = { .own = class_weight(emit, node, share), .whole = class_weight(emit, node, one),
                           .mixed = class_weight(emit, node, expr_binary(pool, EXPR_sub, one, share)),
                           .rest = class_weight(emit, node, expr_number(pool, 0)) };
    if (node->expr && (call_uses_index(node->expr, 0) || expr_uses_op(node->expr, EXPR_uniform)))
        bug("node %d: a class's target weight depends on its raw weight alone", node->id);
    return weights;
}

enum { LOSS_SLOTS = 3 };

/* Weights as arguments, each with a comma behind it; marks in `slots` which there are. */
static const char *weight_arguments(Emit *emit, const Node *node, bool has_partner, Slot slots[LOSS_SLOTS])
{
    const RowWeights weights = row_weights(emit, node, has_partner);
    bool own = has_partner || !expr_is_number(weights.own, 1), rest = !expr_is_number(weights.rest, 0);
    const Slot all[LOSS_SLOTS] = { { "partner", live(has_partner) }, { "own", live(own) }, { "rest", live(rest) } };
    memcpy(slots, all, sizeof all);
    Buffer out = { .arena = emit->arena };
    if (own)
        buffer_add(&out, "%s, ", emit_expr(emit, weights.own, NULL, NULL));
    if (has_partner)
        buffer_add(&out, "%s, %s, ", emit_expr(emit, weights.mixed, NULL, NULL), emit_expr(emit, weights.whole, NULL, NULL));
    if (rest)
        buffer_add(&out, "%s, ", emit_expr(emit, weights.rest, NULL, NULL));
    return buffer_text(&out);
}

/* Inputs logits, class [, partner] and `more` behind them. */
static void loss_call(Emit *emit, const Node *node, const char *part, int more)
{
    const Node *logits = node->inputs[0], *class = node->inputs[1];
    bool has_partner = node->input_count == 3 + more;
    Slot slots[LOSS_SLOTS];
    check_classes(node, logits);
    const char *weights = weight_arguments(emit, node, has_partner, slots);
    const char *name = emit_instance(emit, part, slots, LOSS_SLOTS, "");
    Buffer operands = { .arena = emit->arena };
    for (int i = 0; i < node->input_count; i++)
        buffer_add(&operands, "%s, ", call_operand(emit, node, i));
    emit_line(emit, "%s(%s%s, %s, %s, %s%lld);%s", name, buffer_text(&operands), emit_tensor(emit, node),
              emit_elements(emit, class, 0, class->shape.rank), emit_dim(emit, logits, node->at.loss.axis), weights,
              (long long)node->at.loss.ignore, node->expr ? call_owners(emit, "loss_target") : "");
}

void call_cross_entropy(Emit *emit, const Node *node)
{
    loss_call(emit, node, "cross_entropy", 0);
}

void call_cross_entropy_grad(Emit *emit, const Node *node)
{
    loss_call(emit, node, "cross_entropy_grad", 1);
}

void call_dense_cross_entropy(Emit *emit, const Node *node)
{
    const Node *logits = node->inputs[0];
    check_classes(node, logits);
    emit_part(emit, "dense_cross_entropy");
    emit_line(emit, "dense_cross_entropy(%s, %s, %s, %s, %s);", call_operand(emit, node, 0), call_operand(emit, node, 1),
              emit_tensor(emit, node), emit_elements(emit, node, 0, node->shape.rank),
              emit_dim(emit, logits, node->at.loss.axis));
}

static void count_call(Emit *emit, const Node *node, const char *part)
{
    const Node *logits = node->inputs[0], *class = node->inputs[1];
    check_classes(node, logits);
    emit_part(emit, part);
    emit_line(emit, "%s(%s, %s, %s, %s, %s, %lld);", part, call_operand(emit, node, 0), call_operand(emit, node, 1),
              emit_tensor(emit, node), emit_elements(emit, class, 0, class->shape.rank),
              emit_dim(emit, logits, node->at.loss.axis), (long long)node->at.loss.ignore);
}

void call_target_rank(Emit *emit, const Node *node)
{
    count_call(emit, node, "target_rank");
}

void call_confusion(Emit *emit, const Node *node)
{
    count_call(emit, node, "confusion");
}
