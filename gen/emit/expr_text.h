/* expr_text.h -- expressions as C text. One printer for all targets; a target brings its spellings. */
#pragma once
#include "ir/expr.h"

typedef struct Spelling {
    bool is_double;                     /* constants without f, libm's double functions */
    bool is_host;                       /* once a step, not an element: all in double, libm's own functions */
    void *context;
    const char *(*scalar)(void *context, const Scalar *scalar);
    const char *(*random)(void *context, const Expr *expr, const char *a, const char *b);
    const char *(*table)(void *context, const Table *table);
    const char *const *inputs;          /* text of each EXPR_input */
    const char *const *indices;         /* text of each EXPR_index */
} Spelling;

/* The whole expression as one C expression, with the fewest parentheses that keep its meaning. */
const char *expr_text(Arena *arena, const Expr *expr, const Spelling *spelling);

/* The same for several results that share parts: what is used more than once becomes a local in `locals`
 * ("const real t1 = ...;" a line each), results[i] is the text of exprs[i] in terms of them. */
void expr_texts(Arena *arena, const Expr *const *exprs, int count, const Spelling *spelling,
                const char **results, TextArray *locals);

const char *real_text(Arena *arena, double number, bool is_double);     /* "0.1f", "2.0", "INFINITY" */
