/* check.c -- what a file of each kind may say: a place that does not exist would never act, so it is an error. */
#include "method/inside.h"

#include <string.h>

static const char *const hooks[] = { "pixel", "mixed_pixel", "partner_weight", "source_row", "source_column", "rank_weight",
                                     "attention_score", "loss_target" };
static const char *const schedules[] = { "geometry", "frozen_layers" };
static const char *const events[] = { "gradients", "step", "batch_end", "epoch_end" };
static const char *const update[] = { "update" }, *const rate[] = { "rate" };
static const char *const layers[] = {
#define LAYER(kind, prefix) #kind,
#include "front/layers.def"
};

typedef struct Places {                 /* the functions of one prefix that a kind of file may have */
    const char *const *names;
    int count;
} Places;

#define PLACES(names) { names, sizeof names / sizeof *names }

static const struct { const char *prefix, *word; Places places[METHOD_KINDS]; } words[] = {
    { "hook_",     "HOOK",     { [KIND_METHOD] = PLACES(hooks) } },
    { "schedule_", "SCHEDULE", { [KIND_METHOD] = PLACES(schedules), [KIND_SCHEDULE] = PLACES(rate) } },
    { "on_",       "ON",       { [KIND_METHOD] = PLACES(events), [KIND_OPTIMIZER] = PLACES(update) } },
    { "rewrite_",  "REWRITE",  { [KIND_METHOD] = PLACES(layers) } },
};

static const char *const kind_names[METHOD_KINDS] = { "a method", "an optimizer", "a schedule" };

static bool is_among(const Places *places, const char *name)
{
    for (int i = 0; i < places->count; i++)
        if (text_equal(places->names[i], name))
            return true;
    return false;
}

static bool check_function(Methods *methods, const CFunction *function, MethodKind kind)
{
    const char *name = cfunction_name(function);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const Places *places = &words[i].places[kind];
        if (!text_starts(name, words[i].prefix) || is_among(places, name + strlen(words[i].prefix)))
            continue;
        const char *what = text_format(methods->arena, "%s has no %s", kind_names[kind], words[i].word);
        complain_unknown(methods->diag, cfunction_place(function), what, name + strlen(words[i].prefix), places->names, places->count);
        return false;
    }
    return true;
}

/* What a macro of method.h makes for a variable, whatever its scope, and the scopes that there are. */
static const struct { const char *prefix, *scopes; } makers[] = {
    { "draw_", "a DRAW's scope is step, batch or micro_batch" },
    { "initial_", "a STATE's scope is element or run" },
    { "fold_", "a FOLD is a sum or max, of a model, tensor or unit" },
};

static const char *scopes_of(const Methods *methods, const Method *method, const char *name)
{
    const char *end = text_format(methods->arena, "_%s", name);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        int at = 0;
        for (const CFunction *function; (function = method_next_function(method, makers[i].prefix, &at));)
            if (text_ends(cfunction_name(function), end))
                return makers[i].scopes;
    }
    return NULL;
}

/* Functions of a file keep nothing from one call to the next: each place is evaluated by itself. */
static bool check_variable(Methods *methods, const Method *method, const CVariable *variable)
{
    const char *name = cvariable_name(variable);
    Scope scope;
    if (cvariable_is_const(variable) || draw_is_declared(methods, method, name) || state_is_declared(method, name, &scope)
        || fold_is_declared(method, name))
        return true;
    const char *scopes = scopes_of(methods, method, name);
    if (scopes)
        complain(methods->diag, cvariable_place(variable), "%s of %s: %s", name, method->name, scopes);
    else
        complain(methods->diag, cvariable_place(variable), "%s of %s would not last: what lives across steps is a STATE", name,
                 method->name);
    return false;
}

bool method_check(Methods *methods, const Method *method, MethodKind kind)
{
    bool fine = true;
    for (int i = 0; i < cfile_function_count(method->file); i++)
        fine &= check_function(methods, cfile_function(method->file, i), kind);
    for (int i = 0; i < cfile_variable_count(method->file); i++)
        fine &= check_variable(methods, method, cfile_variable(method->file, i));
    return fine;
}
