/* expr_read.h -- the text form of expressions, read back: what expr_print writes. */
#pragma once
#include "ir/expr.h"

/* Who a name belongs to: of a scalar of a method, "method:name". A function that returns NULL makes the text
 * malformed; a NULL function does so for every name. `names` itself may be NULL. */
typedef struct ExprNames {
    void *context;
    const Scalar *(*scalar)(void *context, const char *name);
    const Table *(*table)(void *context, const char *name);
} ExprNames;

/* Reads one expression at *cursor and leaves *cursor behind it. NULL when the text is malformed: *cursor then
 * stands where reading stopped. */
const Expr *expr_read(ExprPool *pool, const char **cursor, const ExprNames *names);
