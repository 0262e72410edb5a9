/* inside.h -- what the files of this room share and nobody else sees. */
#pragma once
#include "front/ctree.h"
#include "method/methods.h"

/* What a function of a method file is evaluated for: that says which words of method.h it may use. */
typedef enum Purpose {
    FOR_VALUE,                          /* conditions, schedules: constants */
    FOR_RATE,                           /* the same, of SCHEDULE(rate) */
    FOR_HOOK, FOR_DRAW,
    FOR_FOLD,                           /* what a FOLD adds up */
    FOR_ELEMENT,                        /* an element program */
    FOR_EVENT,                          /* ON(step), ON(batch_end), ON(epoch_end) */
    FOR_REWRITE,
} Purpose;

typedef struct Scene {                  /* the context of a Host */
    Methods *methods;
    Method *method;
    Purpose purpose;
    bool asked_model;                   /* a fact was read that is known after the model was looked at */
    Host layers;                        /* FOR_REWRITE */
    int draws;                          /* FOR_DRAW: random leaves so far */
    uint64_t site;
    int64_t head_count;                 /* FOR_HOOK: bound of index 0; 0 = unknown */
    ElementProgram *program;            /* FOR_ELEMENT */
    ActionArray *actions;               /* FOR_EVENT */
    Array(const Expr *) conditions;     /* of the branches that are open */
    Evaluator *evaluator;
} Scene;

/* ---- names that the macros of method.h make ---- */
const char *method_text(const Method *method, const char *prefix, const char *name);    /* of a char array; NULL */
const CFunction *method_function(const Method *method, const char *prefix, const char *name);
/* The next function of the file whose name begins with `prefix`, from *at on; NULL. */
const CFunction *method_next_function(const Method *method, const char *prefix, int *at);

/* ---- words.c ---- */
bool scene_variable(void *context, Evaluator *evaluator, const CFile *file, const char *name, Value *value);
bool facts_known(const Methods *methods);       /* false while parameters are checked: no run is bound yet */

/* ---- scene.c ---- */
/* The scalar of this name, made when it is new; method NULL: the compiler's own. */
const Scalar *scene_scalar(Methods *methods, const char *method, const char *name, ScalarKind kind, ScalarType type);
Scene *scene_create(Methods *methods, Method *method, Purpose purpose);
bool scene_call(Scene *scene, const CFunction *function, const Value *arguments, int count, Value *result);
/* A function that gives a number known at generation: *number. False after a complaint. */
bool scene_number(Scene *scene, const CFunction *function, const Value *arguments, int count, double *number);
/* The same of a function without parameters that gives a truth. */
bool scene_truth(Scene *scene, const CFunction *function, bool *truth);
Value scene_moment(Methods *methods, const Moment *now);        /* pointer to struct moment; NULL: of the running program */
Value scene_geometry(Methods *methods, const Geometry *geometry);

/* ---- load.c and its helpers ---- */
enum { METHOD_STAGES = 11 };            /* of `stage` in method.h */
typedef enum MethodKind { KIND_METHOD, KIND_OPTIMIZER, KIND_SCHEDULE, METHOD_KINDS } MethodKind;
bool method_check(Methods *methods, const Method *method, MethodKind kind);     /* check.c */
bool parameters_bind(Methods *methods, Method *method);         /* parameters.c */
bool methods_order(Methods *methods);                           /* order.c */

/* ---- binding ---- */
bool bind_draws(Methods *methods, Method *method);              /* bind_draws.c */
bool draw_is_declared(const Methods *methods, const Method *method, const char *name);
Value draw_value(const Methods *methods, const Method *method, const char *name);       /* VALUE_VOID: no such draw */
bool bind_hooks(Methods *methods);                              /* bind_hooks.c */
bool bind_elements(Methods *methods);                           /* bind_elements.c */
State *state_named(Methods *methods, const Method *method, const char *name);   /* made at its first use; NULL: none declared */
Fold *fold_named(Methods *methods, const Method *method, const char *name);
bool state_is_declared(const Method *method, const char *name, Scope *scope);
bool fold_is_declared(const Method *method, const char *name);
/* Complains when a function at `place` that may not do so has assigned a state of the run. */
bool states_are_untouched(const Scene *scene, const CFunction *function);
bool state_value(Scene *scene, const char *name, Value *value);
bool fold_value(Scene *scene, const char *name, Value *value);
/* each_parameter and the others, called from an event. */
bool event_call(Scene *scene, const CallSite *site, const Value *arguments, int count);

/* ---- time ---- */
bool duration_of_value(Scene *scene, const CallSite *site, const Value *value, Duration *duration);
int64_t duration_batches(const RunFacts *facts, Duration duration);
int64_t duration_schedule_batches(const RunFacts *facts, Duration duration);
