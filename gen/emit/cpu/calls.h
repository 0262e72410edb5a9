/* calls.h -- one function an operation: it prints the statement that computes a node. */
#pragma once
#include "emit/cpu/emit.h"

#define OP(name, ...) EmitCall call_##name;
#include "ir/ops.def"

extern EmitCall *const call_table[OP_COUNT];

/* ---- what the files calls_*.c share ---- */
/* The tensor of input number `input`; "NULL" when the node has no such input. */
const char *call_operand(Emit *emit, const Node *node, int input);
const char *call_image(Emit *emit, const Node *node);                   /* "(image){ 16, 64, 32, 32 }" */
const char *call_pair(Emit *emit, const int64_t pair[2]);               /* "{3, 3}" */
bool call_uses_index(const Expr *expr, int axis);
/* A comment that names the methods that fill a point, with a blank before it; "" when none does. */
const char *call_owners(Emit *emit, const char *point);
