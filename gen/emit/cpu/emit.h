/* emit.h -- what the functions that print one operation's call may use.
 *
 * The emitted program has a function a step, one line an operation:
 *     max_pool2d(layer1_relu, layer1_pool, layer1_pool_argmax, rows, 64, 112, 112, 3, 2, 1);
 * Kernels come from templates/cpu and runtime/ as *parts* (emit/parts.h); elementwise loops are generated.
 * Graphs of all phases have the same nodes; a number that differs between phases prints as a field of
 * the phase table, one that doesn't as a literal. */
#pragma once
#include "ir/ir.h"

typedef struct Emit Emit;

/* Marks a part of templates/cpu or runtime/ as used; it is copied into the program with all it needs. */
void emit_part(Emit *emit, const char *part);

/* One statement of the step function; indentation is the writer's. */
void emit_line(Emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* C expression for the first element of a node's tensor, of type real * or int * (by dtype). */
const char *emit_tensor(Emit *emit, const Node *node);
/* The tensor of result number `index` of a node (0: its own); "NULL" when nothing reads that result. */
const char *emit_result(Emit *emit, const Node *producer, int index);

/* C text of a number computed from a node: `of` is asked for this node in every phase. `hint` names the phase
 * field when the number varies ("height"). `detail` is passed through. */
typedef int64_t SizeOf(const Node *node, int detail);
const char *emit_size(Emit *emit, const Node *node, SizeOf *of, int detail, const char *hint);
/* Axis `axis` of the node's shape, and the product of axes [from, to). */
const char *emit_dim(Emit *emit, const Node *node, int axis);
const char *emit_elements(Emit *emit, const Node *node, int from, int to);

/* A real constant ("0.1f" or "0.1"), the name of a scalar, a whole expression as C text. inputs: C text of each
 * EXPR_input slot; indices: of each EXPR_index. */
const char *emit_number(Emit *emit, double number);
const char *emit_expr(Emit *emit, const Expr *expr, const char *const *inputs, const char *const *indices);

/* Is this a part with slots (templates/README.md)? Gives the slot `slot` of the kernel instance that this node
 * needs the text `text`, and returns the instance's name: kernels with equal slots share one instance. */
typedef struct Slot { const char *name, *text; } Slot;
const char *emit_instance(Emit *emit, const char *part, const Slot *slots, int count, const char *hint);

/* Static object at file scope, initialised at start: declares `type name[phases]` and, in setup(), emits `format`
 * once a phase with %s... of emit_size values taken there. Returns "&name[phase]" text. For library plans. */
const char *emit_plan(Emit *emit, const char *type, const char *hint, const char *setup_format,
                      const Node *node, SizeOf *const *sizes, const int *details, int count);

Arena *emit_arena(Emit *emit);
bool emit_double(const Emit *emit);             /* precision fp64: no library, plain twins only */
bool emit_library(const Emit *emit);            /* may convolutions and products go to the library? */
bool emit_is_image(const Node *node);           /* rank 4 in LAYOUT_IMAGES */

/* One row an op: calls.c expands ops.def; functions call_<op> live in calls_*.c (map, reduce and moves: loops.c). */
typedef void EmitCall(Emit *emit, const Node *node);
