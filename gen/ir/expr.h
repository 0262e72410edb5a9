/* expr.h -- scalar expressions: what one element of a tensor is, what a hook computes, what an
 * optimizer does to one weight, when a method acts. Hooks, activations, optimizers, schedules and
 * augmentations are all expressions, so there is one simplifier, one differentiator, one printer.
 *
 * Expressions are immutable and shared: a pool never holds two equal ones, so equality is pointer
 * equality. The constructors fold constants and identities (x*1, x+0, x*0, select on a constant,
 * equal branches, ...), so a hook that is neutral folds to its argument and is seen to be dead.
 * x*0 folds to 0: the compiler assumes finite operands there.
 *
 * Real constants are doubles, whatever the precision of the emitted program: 0.1f in a method is
 * the decimal 0.1. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef enum ExprOp {
#define EXPR(name, ...) EXPR_##name,
#include "ir/exprs.def"
    EXPR_COUNT
} ExprOp;

typedef enum ScalarType { TYPE_FLOAT, TYPE_INT, TYPE_BOOL } ScalarType;

/* Where a scalar's value comes from; the emitter knows how to reach each. */
typedef enum ScalarKind {
    SCALAR_TIME,        /* step, epoch, batch_in_epoch, samples, tokens: integers of `moment` */
    SCALAR_RATE,        /* learning rate and its factor in this step */
    SCALAR_DRAW,        /* a field of a DRAW of a method */
    SCALAR_FOLD,        /* the result of a FOLD over gradients or parameters */
    SCALAR_STATE,       /* a STATE of scope run */
    SCALAR_SIZE,        /* image height, width, rows, ...: differs between phases */
    SCALAR_FACT,        /* about the tensor an element program runs on: rank, is_buffer, ... */
} ScalarKind;

typedef struct Scalar {
    const char *name;           /* as the method's author wrote it: "lambda", "bbox[2]", "step" */
    const char *method;         /* owner, NULL for the compiler's own */
    ScalarKind kind;
    ScalarType type;
    int id;                     /* unique within a program */
} Scalar;

typedef struct Table {
    const char *name, *method;
    const double *values;
    int count;
    int id;
} Table;

typedef struct Expr {
    ExprOp op;
    ScalarType type;
    int id;                     /* order of creation in its pool: the tie-breaker everywhere */
    union {
        double number;          /* EXPR_number */
        int64_t integer;        /* EXPR_integer, EXPR_truth */
        const Scalar *scalar;   /* EXPR_scalar */
        const Table *table;     /* EXPR_table */
        uint64_t site;          /* EXPR_uniform, EXPR_normal, EXPR_beta: hash of scope, method, draw */
    };
    int slot;                   /* EXPR_input, EXPR_index: which; random: ordinal within its site */
    const struct Expr *operand[3];
} Expr;

typedef struct ExprPool ExprPool;

typedef struct ExprInfo {
    const char *name;
    int operands;
    ScalarType type;
    bool same_type;             /* the result has the type of its operands */
    int binds;
    const char *text, *meaning;
} ExprInfo;

extern const ExprInfo expr_info[EXPR_COUNT];

ExprPool *expr_pool(Arena *arena);

/* ---- leaves ---- */
const Expr *expr_number(ExprPool *pool, double number);
const Expr *expr_integer(ExprPool *pool, int64_t integer);
const Expr *expr_truth(ExprPool *pool, bool truth);
const Expr *expr_input(ExprPool *pool, int slot, ScalarType type);
const Expr *expr_index(ExprPool *pool, int axis);
const Expr *expr_scalar(ExprPool *pool, const Scalar *scalar);
const Expr *expr_random(ExprPool *pool, ExprOp op, uint64_t site, int ordinal, const Expr *a, const Expr *b);
const Expr *expr_table(ExprPool *pool, const Table *table, const Expr *index);

/* ---- interior: folds, converts int to float where one side is float ---- */
const Expr *expr_unary(ExprPool *pool, ExprOp op, const Expr *a);
const Expr *expr_binary(ExprPool *pool, ExprOp op, const Expr *a, const Expr *b);
const Expr *expr_select(ExprPool *pool, const Expr *condition, const Expr *a, const Expr *b);
const Expr *expr_convert(ExprPool *pool, const Expr *a, ScalarType type);

/* ---- questions ---- */
bool expr_is_constant(const Expr *expr);                    /* number, integer or truth */
double expr_value(const Expr *expr);                        /* of a constant, as a double */
bool expr_is_number(const Expr *expr, double value);        /* the constant `value`, real or integer */
bool expr_uses_input(const Expr *expr, int slot);
bool expr_uses_op(const Expr *expr, ExprOp op);
int expr_size(const Expr *expr);                            /* distinct nodes */

/* ---- transformations ---- */
/* Each EXPR_input k becomes inputs[k] (NULL entries stay), each EXPR_index k becomes indices[k]
 * (indices may be NULL). Rebuilds bottom-up, so the result is folded again. */
const Expr *expr_substitute(ExprPool *pool, const Expr *expr, const Expr *const *inputs, int input_count,
                            const Expr *const *indices, int index_count);
/* Each use of `scalar` becomes `value`. */
const Expr *expr_replace_scalar(ExprPool *pool, const Expr *expr, const Scalar *scalar, const Expr *value);

/* d expr / d input(slot). The derivative is that of the branch taken; comparisons, floor, integers
 * and draws have derivative zero. max(a, b) at a == b takes b's side, so relu'(0) = 0. */
const Expr *expr_derivative(ExprPool *pool, const Expr *expr, int slot);

/* ---- evaluation, in double (interpreter, folding, tests) ---- */
typedef struct ExprPoint {
    const double *inputs;
    const int64_t *indices;
    double (*scalar)(void *context, const Scalar *scalar);
    double (*random)(void *context, const Expr *expr, double a, double b);
    void *context;
} ExprPoint;

double expr_evaluate(const Expr *expr, const ExprPoint *point);

/* Debug and text form: "select(lt(0, in0), in0, mul(0.1, in0))"; read back by expr_read (ir/expr_read.h). */
void expr_print(Buffer *out, const Expr *expr);
