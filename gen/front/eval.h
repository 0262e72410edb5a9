/* eval.h -- what the parts of the evaluator share.
 *
 * Values live in cells: a `Value` in the arena that a name, a field, an array item or a pointer refers
 * to. A record or array is a cell whose leaves are cells; its shape never changes, so every store is a
 * store to leaves. Under a condition that isn't constant, stores are logged: at the end of the branch
 * the leaves are set back, and after both branches they get select(condition, one, other).
 *
 * An error jumps back to the evaluate_call that is running; a host's calls are never jumped over,
 * because evaluate_call is the only way from a host back into the evaluator. */
#pragma once
#include <setjmp.h>

#include "front/ctree.h"

enum {
    MOST_STEPS = 1000000, DEEPEST_CALL = 200, DEEPEST_EVALUATION = 4000, DEEPEST_BRANCH = 256,
    LONGEST_TEXT = 4096, MOST_TABLE = 1024, MOST_SELECTED = 64,
};

/* A return taken under a condition known at run time; since then a branch is open in which it wasn't taken. */
typedef struct EarlyReturn {
    const Expr *returned;
    Value value;
} EarlyReturn;

typedef struct Frame {
    const CFunction *function;
    Value **cells;                  /* by slot */
    Place called_from;
    Array(EarlyReturn) returns;
    struct Frame *caller;
} Frame;

typedef struct Change {
    Value *cell;
    Value value;                    /* in the log: before the branch; in a Changes: at its end */
} Change;
typedef Array(Change) ChangeArray;

typedef struct Tabulated {
    const CFunction *function;
    const Value *arguments;         /* the constant ones; NULL at `varying` */
    int varying;
    int64_t bound;
    const Table *table;             /* NULL: can't be tabulated */
} Tabulated;

struct Evaluator {
    Arena *arena;
    ExprPool *exprs;
    Diagnostics *diag;
    const CFile *file;
    const Host *host;
    Value **globals;                /* by index in file->all_variables; NULL: not touched */
    Frame *frame;
    jmp_buf *escape;
    Place place;                    /* of the statement being run */
    int steps, depth, nesting;
    ChangeArray log;
    Array(int) marks;               /* where the log of each branch being run begins, outermost first */
    Array(Tabulated) tabulated;
    Array(const Table *) tables;
};

/* How a statement, or a side of a condition, ended. FLOW_MAYBE (sides and functions only): it returned where
 * `returned` holds, and ended as `otherwise` elsewhere. */
typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_MAYBE } Flow;

typedef struct Outcome {
    Flow flow;
    Flow otherwise;                 /* MAYBE: NEXT, BREAK or CONTINUE */
    const Expr *returned;           /* MAYBE */
    Value value;                    /* RETURN, MAYBE */
} Outcome;

/* eval.c */
_Noreturn void eval_fail(Evaluator *ev, Place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void eval_stop(Evaluator *ev);                        /* after a complaint */
void eval_note_callers(Evaluator *ev);
void eval_step(Evaluator *ev, Place place);
Value eval_call_function(Evaluator *ev, Place place, const CFunction *function, const Value *arguments,
                         int count);
Value *eval_global(Evaluator *ev, const CVariable *variable);

/* eval_expressions.c */
Value eval(Evaluator *ev, const Tree *tree);
Value *eval_cell(Evaluator *ev, const Tree *tree);      /* of an lvalue; a temporary for other values */
const Expr *eval_condition(Evaluator *ev, const Tree *tree);    /* a truth value */

/* eval_calls.c */
Value eval_call(Evaluator *ev, const Tree *tree);

/* eval_operators.c */
const Expr *eval_operation(Evaluator *ev, Place place, int op, const Expr *a, const Expr *b);
const Expr *eval_unary_operation(Evaluator *ev, Place place, int op, const Expr *a);
const Expr *eval_math(Evaluator *ev, const CFunction *function, const Value *arguments);

/* eval_statements.c */
Outcome eval_statement(Evaluator *ev, const Tree *tree);
Outcome eval_body(Evaluator *ev, const CFunction *function);

/* eval_branches.c */
void eval_branch_enter(Evaluator *ev, const Expr *condition);
ChangeArray eval_branch_leave(Evaluator *ev);                   /* what it changed, set back */
void eval_branches_merge(Evaluator *ev, const Expr *condition, const ChangeArray *then,
                         const ChangeArray *other);
Value eval_merge(Evaluator *ev, const Expr *condition, Value a, Value b);   /* VALUE_VOID where it can't be */
void eval_require_symbolic(Evaluator *ev, Place place);
void eval_log(Evaluator *ev, Value *cell);                      /* before a leaf changes */

/* eval_tables.c */
bool eval_tabulated_call(Evaluator *ev, Place place, const CFunction *function, const Value *arguments,
                         int count, Value *result);
const Expr *eval_item_by_expression(Evaluator *ev, const Tree *tree, const Value *array, const Expr *index);

/* value.c */
Value value_zero(Evaluator *ev, const CType *type);
Value value_unset(Evaluator *ev, const CType *type);            /* leaves are VALUE_VOID */
/* A copy: it shares no cells, except that an array becomes a pointer to its own. */
Value value_converted(Evaluator *ev, Place place, Value value, const CType *type);
Value value_copied(Evaluator *ev, Value value);
Value value_initialized(Evaluator *ev, const CType *type, const Tree *initializer);
void value_store(Evaluator *ev, Value *cell, Value value);      /* leaf by leaf; logged */
const Expr *value_truth(Evaluator *ev, Place place, Value value);
const Expr *value_number(Evaluator *ev, Place place, Value value);      /* the scalar, or a complaint */
const char *value_describe(Value value);
