/* front.h -- C files as input: libclang parses and type-checks, a small tree is kept, an evaluator runs it.
 *
 * Nothing of libclang is seen outside parse*.c. One evaluator serves models (tensors), rewrites,
 * hooks, element programs, draws, schedules and initializers: scalars are expressions (ir/expr.h)
 * that fold when their operands are constant, so the same walk computes 3 + 4 and builds
 * `lambda * own + (1 - lambda) * partner`. */
#pragma once
#include "ir/ir.h"

/* ---- parsed files ---- */
typedef struct CFile CFile;             /* one translation unit, reduced to the tree below */
typedef struct CFunction CFunction;
typedef struct CVariable CVariable;

/* Parses `path` with the include directories given; clang's errors and warnings become complaints at their
 * places. NULL after errors. Declarations of headers are kept as signatures. */
CFile *front_parse(Arena *run, Diagnostics *diag, const char *path, const char *const *include_dirs, int dir_count);

const char *cfile_path(const CFile *file);
int cfile_function_count(const CFile *file);                    /* defined in the file itself, in order */
const CFunction *cfile_function(const CFile *file, int index);
const CFunction *cfile_find_function(const CFile *file, const char *name);     /* defined here, macro-made ones too; NULL */
int cfile_variable_count(const CFile *file);                    /* file-scope variables of the file itself, in order */
const CVariable *cfile_variable(const CFile *file, int index);
const CVariable *cfile_find_variable(const CFile *file, const char *name);

const char *cfunction_name(const CFunction *function);
Place cfunction_place(const CFunction *function);               /* of the macro use, when a macro made it */
const char *cfunction_comment(const CFunction *function);       /* doc comment before it, or NULL */
int cfunction_parameter_count(const CFunction *function);
const char *cfunction_parameter_name(const CFunction *function, int index);
const char *cfunction_parameter_type(const CFunction *function, int index);    /* as spelled: "tensor", "int", "float" */

const char *cvariable_name(const CVariable *variable);
Place cvariable_place(const CVariable *variable);
const char *cvariable_type(const CVariable *variable);          /* "float", "int", "_Bool", "duration", "enum mode_choice", ... without const */
bool cvariable_is_const(const CVariable *variable);
/* Enumerators of an enum-typed variable, in order of value; 0 when it is not one. */
int cvariable_choice_count(const CVariable *variable);
const char *cvariable_choice(const CVariable *variable, int index);

/* ---- values ---- */
typedef enum ValueKind {
    VALUE_VOID, VALUE_SCALAR, VALUE_TEXT, VALUE_TENSOR, VALUE_STRUCT, VALUE_ARRAY, VALUE_FUNCTION, VALUE_POINTER,
    VALUE_TABLE,
} ValueKind;

typedef struct Value Value;

typedef struct Field {
    const char *name;
    Value *value;
} Field;

struct Value {
    ValueKind kind;
    union {
        const Expr *scalar;             /* VALUE_SCALAR: int, float, bool, enum */
        const char *text;               /* VALUE_TEXT; NULL is a null pointer */
        Node *tensor;                   /* VALUE_TENSOR; NULL is NONE / KEEP */
        struct { const char *type; Field *fields; int count; } record;  /* VALUE_STRUCT */
        struct { Value *items; int count; } array;                      /* VALUE_ARRAY */
        const CFunction *function;      /* VALUE_FUNCTION */
        Value *target;                  /* VALUE_POINTER: &x, or an array seen as a pointer (then target is the array value) */
        const Table *table;             /* VALUE_TABLE: an array of numbers that is read by index and may be filled at run time */
    };
};

Value value_scalar(const Expr *expr);
Value value_text(const char *text);
Value value_tensor(Node *tensor);
Value value_table(const Table *table);
Value *value_field(const Value *record, const char *name);      /* NULL when there is none */

/* ---- evaluation ---- */
typedef struct Evaluator Evaluator;

typedef struct CallSite {
    Place place;                        /* of the call in the user's file */
    const char *callee;
    const CFunction *caller;
} CallSite;

/* What the evaluator can't know by itself. */
typedef struct Host {
    void *context;
    /* A call of a function without a body (declared in model.h or method.h). True: *result is set. False: the host
     * complained at site->place; evaluation stops. `arguments` may be changed through VALUE_POINTER targets. */
    bool (*call)(void *context, Evaluator *evaluator, const CallSite *site, Value *arguments, int count, Value *result);
    /* First read of a file-scope variable in this evaluation: give its value (a parameter of a method, a draw, a state,
     * `rate`). False: not known to the host; the evaluator uses the initializer in the file. */
    bool (*variable)(void *context, Evaluator *evaluator, const CFile *file, const char *name, Value *value);
    /* A condition that is not constant is met in an `if` or loop. True: allowed, both branches are evaluated and merged
     * by select (hooks, element programs, draws). False (models, rewrites): it is an error, complained by the evaluator. */
    bool symbolic;
    /* With `symbolic`: called before and after the statements of a branch whose condition is not constant, so that a host
     * whose calls have effects (each_parameter in ON bodies) knows under which condition they act. May be NULL. */
    void (*enter_branch)(void *context, const Expr *condition);
    void (*leave_branch)(void *context);
    /* Exclusive bound of an integer expression (head index, class, ...), 0 = unknown. A helper with a body that returns a
     * float and whose only non-constant argument is such an index (bound at most 1024) is evaluated for every value and
     * becomes a constant table. May be NULL. */
    int64_t (*bound)(void *context, const Expr *index);
} Host;

/* Limits: a million steps, depth 200, loops of a symbolic context at most 64 turns when their bound is symbolic
 * (that is an error), strings of 4096 bytes. Crossing one is a complaint at the place with the chain of calls. */
Evaluator *evaluator_create(Arena *arena, ExprPool *exprs, Diagnostics *diag, const CFile *file, const Host *host);
/* Calls `function`. Arguments are converted to the parameters' types. False after a complaint. */
bool evaluate_call(Evaluator *evaluator, const CFunction *function, const Value *arguments, int count, Value *result);
/* The value of a file-scope variable after calls (states that were assigned). False: never touched. */
bool evaluator_variable(Evaluator *evaluator, const char *name, Value *value);
/* Its value now, by its initializer when nothing touched it. False: there is none, or a complaint. */
bool evaluator_read(Evaluator *evaluator, const char *name, Value *value);
void evaluator_set_variable(Evaluator *evaluator, const char *name, Value value);
ExprPool *evaluator_exprs(Evaluator *evaluator);
Diagnostics *evaluator_diagnostics(Evaluator *evaluator);
Arena *evaluator_arena(Evaluator *evaluator);
Place evaluator_place(const Evaluator *evaluator);               /* of the statement being run */

/* For hosts: arguments[0] is a printf format, the others what it asks for (%d %i %u %c %s %f %e %g %%, with widths).
 * NULL after a complaint at the site. */
const char *value_format(Evaluator *evaluator, const CallSite *site, const Value *arguments, int count);
