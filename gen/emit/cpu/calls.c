/* calls.c -- the table from operations to the functions that print them, and what those share. */
#include "emit/cpu/calls.h"
#include "emit/cpu/state.h"

EmitCall *const call_table[OP_COUNT] = {
#define OP(name, ...) [OP_##name] = call_##name,
#include "ir/ops.def"
};

/* ---- leaves: they are where their slot says, or results of another node ---- */

static void nothing(const Node *node)
{
    if (op_info[node->op].role != ROLE_LEAF)
        bug("%s prints nothing", op_info[node->op].name);
}

void call_input(Emit *emit, const Node *node)
{
    (void)emit, nothing(node);
}

void call_parameter(Emit *emit, const Node *node)
{
    (void)emit, nothing(node);
}

void call_result(Emit *emit, const Node *node)
{
    (void)emit, nothing(node);
}

void call_constant(Emit *emit, const Node *node)
{
    emit_fill(emit, node);
}

/* ---- generated loops: loops.c, moves.c ---- */

void call_map(Emit *emit, const Node *node)
{
    emit_map(emit, node);
}

void call_reduce(Emit *emit, const Node *node)
{
    emit_reduce(emit, node);
}

void call_reshape(Emit *emit, const Node *node)
{
    emit_move(emit, node);
}

void call_transpose(Emit *emit, const Node *node)
{
    emit_move(emit, node);
}

void call_slice(Emit *emit, const Node *node)
{
    emit_move(emit, node);
}

void call_pad(Emit *emit, const Node *node)
{
    emit_move(emit, node);
}

void call_concat(Emit *emit, const Node *node)
{
    emit_move(emit, node);
}

/* ---- shared ---- */

const char *call_operand(Emit *emit, const Node *node, int input)
{
    return input < node->input_count ? emit_tensor(emit, node->inputs[input]) : "NULL";
}

const char *call_image(Emit *emit, const Node *node)
{
    if (!emit_is_image(node))
        bug("node %d (%s): images lie with their channels fastest", node->id, op_info[node->op].name);
    return text_format(emit_arena(emit), "(image){ %s, %s, %s, %s }", emit_dim(emit, node, 0), emit_dim(emit, node, 1),
                       emit_dim(emit, node, 2), emit_dim(emit, node, 3));
}

const char *call_pair(Emit *emit, const int64_t pair[2])
{
    return text_format(emit_arena(emit), "{%lld, %lld}", (long long)pair[0], (long long)pair[1]);
}

bool call_uses_index(const Expr *expr, int axis)
{
    if (expr->op == EXPR_index)
        return expr->slot == axis;
    for (int i = 0; i < expr_info[expr->op].operands; i++)
        if (call_uses_index(expr->operand[i], axis))
            return true;
    return false;
}

const char *call_owners(Emit *emit, const char *point)
{
    const Methods *methods = emit->program->methods;
    Buffer names = { .arena = emit->arena };
    for (int i = 0; methods && i < methods->live.count; i++)
        if (text_equal(methods->live.items[i].point, point))
            buffer_add(&names, "%s%s", names.count ? ", " : "", methods->live.items[i].method);
    return names.count ? text_format(emit->arena, " /* %s */", buffer_text(&names)) : "";
}
