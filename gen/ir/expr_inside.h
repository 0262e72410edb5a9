/* expr_inside.h -- what the files of expressions share and nobody else sees. */
#pragma once
#include "ir/expr.h"

/* One node of an expression in evaluation order, operands before their users. */
typedef struct ExprStep {
    const Expr *expr;
    int operand[3];                     /* places of the operands in the same order */
} ExprStep;

typedef struct ExprOrder {
    int count;
    ExprStep *steps;                    /* the last one is the expression itself */
} ExprOrder;

/* The distinct nodes under `expr`; made once for each expression that is asked for. */
const ExprOrder *expr_order(const Expr *expr);

/* The one expression of the pool equal to `key`. expr_find: NULL if there is none yet. */
const Expr *expr_intern(ExprPool *pool, const Expr *key);
const Expr *expr_find(const ExprPool *pool, const Expr *key);

/* expr with other operands, folded again. */
const Expr *expr_rebuild(ExprPool *pool, const Expr *expr, const Expr *const *operands);

/* One operation on values; integers are held exactly up to 2^53. */
double expr_arithmetic(const Expr *expr, const double *operands);
