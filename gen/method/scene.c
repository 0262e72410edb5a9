/* scene.c -- the evaluator's host for method files: what they may call, and the moment that they are called at. */
#include "method/inside.h"

#include <string.h>

const Scalar *scene_scalar(Methods *methods, const char *method, const char *name, ScalarKind kind, ScalarType type)
{
    for (int i = 0; i < methods->scalars.count; i++) {
        const Scalar *known = methods->scalars.items[i];
        if (known->kind == kind && text_equal(known->method, method) && text_equal(known->name, name))
            return known;
    }
    Scalar *scalar = arena_new(methods->arena, Scalar);
    *scalar = (Scalar){ .name = name, .method = method, .kind = kind, .type = type, .id = methods->scalars.count };
    array_push(methods->arena, &methods->scalars, scalar);
    return scalar;
}

const Scalar *methods_scalar(Methods *methods, const char *name, ScalarKind kind, ScalarType type)
{
    return scene_scalar(methods, NULL, name, kind, type);
}

static Value scalar_value(Methods *methods, const char *name, ScalarKind kind, ScalarType type)
{
    return value_scalar(expr_scalar(methods->exprs, methods_scalar(methods, name, kind, type)));
}

static Value whole(Methods *methods, int64_t integer)
{
    return value_scalar(expr_integer(methods->exprs, integer));
}

/* ---- structs of method.h ---- */

typedef struct NamedValue {
    const char *name;
    Value value;
} NamedValue;

static Value record_of(Arena *arena, const char *type, const NamedValue *fields, int count)
{
    Value record = { .kind = VALUE_STRUCT };
    record.record.type = type;
    record.record.count = count;
    record.record.fields = arena_array(arena, Field, count);
    Value *cells = arena_array(arena, Value, count);
    for (int i = 0; i < count; i++) {
        cells[i] = fields[i].value;
        record.record.fields[i] = (Field){ fields[i].name, &cells[i] };
    }
    return record;
}

static Value pointer_to(Arena *arena, Value value)
{
    Value *cell = arena_new(arena, Value);
    *cell = value;
    return (Value){ .kind = VALUE_POINTER, .target = cell };
}

static Value time_of(Methods *methods, const Moment *now, const char *name, int64_t value)
{
    return now ? whole(methods, value) : scalar_value(methods, name, SCALAR_TIME, TYPE_INT);
}

Value scene_moment(Methods *methods, const Moment *now)
{
    const RunFacts *facts = &methods->facts;
    static const Moment none;
    const Moment *m = now ? now : &none;
    const NamedValue fields[] = {
        { "step", time_of(methods, now, "step", m->step) }, { "steps", whole(methods, facts->steps) },
        { "epoch", time_of(methods, now, "epoch", m->epoch) }, { "epochs", whole(methods, facts->epochs) },
        { "batch_in_epoch", time_of(methods, now, "batch_in_epoch", m->batch_in_epoch) },
        { "batches_per_epoch", whole(methods, facts->batches_per_epoch) },
        { "samples", time_of(methods, now, "samples", m->samples) }, { "tokens", time_of(methods, now, "tokens", m->tokens) },
    };
    return pointer_to(methods->arena, record_of(methods->arena, "moment", fields, sizeof fields / sizeof *fields));
}

Value scene_geometry(Methods *methods, const Geometry *g)
{
    const NamedValue fields[] = {
        { "rows", whole(methods, g->rows) }, { "length", whole(methods, g->length) }, { "columns", whole(methods, g->columns) },
        { "height", whole(methods, g->height) }, { "width", whole(methods, g->width) }, { "resample", whole(methods, g->crop) },
        { "candidates", whole(methods, g->candidates) },
    };
    return record_of(methods->arena, "geometry", fields, sizeof fields / sizeof *fields);
}

/* ---- calls ---- */

static const Expr *quotient(ExprPool *pool, const Value *a, const Value *b)
{
    return expr_binary(pool, EXPR_div, expr_convert(pool, a->scalar, TYPE_FLOAT), expr_convert(pool, b->scalar, TYPE_FLOAT));
}

static bool needs_facts(const Scene *scene, const CallSite *site)
{
    if (!facts_known(scene->methods))
        complain(scene->methods->diag, site->place, "%s can't be called here: parameters are checked before the run is known; "
                 "say it with REQUIRE", site->callee);
    return facts_known(scene->methods);
}

/* Composer's fraction moves in the unit of max_duration, so it is a staircase only where that is in epochs. */
static bool call_elapsed(Scene *scene, const CallSite *site, const Value *arguments, Value *result)
{
    const Value *now = arguments[0].kind == VALUE_POINTER ? arguments[0].target : NULL;
    const Methods *methods = scene->methods;
    bool by_epoch = methods->facts.compat_epoch && methods->recipe->max_duration.unit == TIME_EPOCH;
    if (!needs_facts(scene, site))
        return false;
    if (!now) {
        complain(methods->diag, site->place, "elapsed needs the moment that the function was given");
        return false;
    }
    *result = value_scalar(quotient(scene->methods->exprs, value_field(now, by_epoch ? "epoch" : "step"),
                                    value_field(now, by_epoch ? "epochs" : "steps")));
    return true;
}

static bool call_duration(Scene *scene, const CallSite *site, const Value *arguments, Value *result)
{
    Duration duration;
    const RunFacts *facts = &scene->methods->facts;
    if (!duration_of_value(scene, site, &arguments[0], &duration))
        return false;
    if (text_equal(site->callee, "unit_of"))
        *result = whole(scene->methods, duration.unit);
    else if (text_equal(site->callee, "amount_of"))
        *result = value_scalar(expr_number(scene->methods->exprs, duration.amount));
    else if (!needs_facts(scene, site))
        return false;
    else if (text_equal(site->callee, "batches"))
        *result = whole(scene->methods, duration_batches(facts, duration));
    else
        *result = whole(scene->methods, duration_schedule_batches(facts, duration));
    return true;
}

static bool call_random(Scene *scene, const CallSite *site, const Value *arguments, Value *result)
{
    ExprPool *pool = scene->methods->exprs;
    if (scene->purpose != FOR_DRAW && scene->purpose != FOR_HOOK) {
        complain(scene->methods->diag, site->place, "%s can be called in DRAW and HOOK only", site->callee);
        return false;
    }
    bool is_beta = text_equal(site->callee, "draw_beta"), is_normal = text_equal(site->callee, "draw_normal");
    ExprOp op = is_beta ? EXPR_beta : is_normal ? EXPR_normal : EXPR_uniform;
    const Expr *draw = expr_random(pool, op, scene->site, scene->draws++, is_beta ? arguments[0].scalar : NULL,
                                   is_beta ? arguments[1].scalar : NULL);
    if (text_equal(site->callee, "draw_integer")) {
        const Expr *below = arguments[0].scalar;
        const Expr *scaled = expr_binary(pool, EXPR_mul, draw, expr_convert(pool, below, TYPE_FLOAT));
        draw = expr_convert(pool, expr_unary(pool, EXPR_floor, scaled), TYPE_INT);
    }
    *result = value_scalar(draw);
    return true;
}

/* The batch that the running program is at: a number of the graph that changes from step to step. */
static bool call_current_step(Scene *scene, Value *result)
{
    *result = scalar_value(scene->methods, "step", SCALAR_TIME, TYPE_INT);
    return true;
}

/* A schedule that can't go on says so at the method's place in the recipe. */
static bool call_require(Scene *scene, const CallSite *site, const Value *arguments, int count)
{
    const Value *condition = &arguments[0];
    if (condition->kind != VALUE_SCALAR || !expr_is_constant(condition->scalar)) {
        complain(scene->methods->diag, site->place, "require needs a condition that is known at generation");
        return false;
    }
    if (expr_value(condition->scalar) != 0)
        return true;
    const char *text = value_format(scene->evaluator, site, arguments + 1, count - 1);
    if (text)
        complain(scene->methods->diag, scene->method->choice.place, "%s", text);
    return false;
}

static bool is_one_of(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (text_equal(name, names[i]))
            return true;
    return false;
}

static bool call(void *context, Evaluator *evaluator, const CallSite *site, Value *arguments, int count, Value *result)
{
    static const char *const durations[] = { "unit_of", "amount_of", "batches", "schedule_batches" };
    static const char *const random[] = { "draw_uniform", "draw_normal", "draw_beta", "draw_integer" };
    static const char *const events[] = { "each_parameter", "each_weight", "gradient_pass", "gradient_pass_redrawn" };
    Scene *scene = context;
    if (text_equal(site->callee, "elapsed"))
        return call_elapsed(scene, site, arguments, result);
    if (is_one_of(site->callee, durations, 4))
        return call_duration(scene, site, arguments, result);
    if (is_one_of(site->callee, random, 4) && scene->purpose != FOR_REWRITE)
        return call_random(scene, site, arguments, result);
    if (is_one_of(site->callee, events, 4))
        return event_call(scene, site, arguments, count);
    if (text_equal(site->callee, "current_step") && scene->purpose == FOR_REWRITE)
        return call_current_step(scene, result);
    if (text_equal(site->callee, "require") && scene->purpose != FOR_REWRITE)
        return call_require(scene, site, arguments, count);
    if (scene->purpose == FOR_REWRITE)
        return scene->layers.call(scene->layers.context, evaluator, site, arguments, count, result);
    complain(scene->methods->diag, site->place, "%s can't be called here", site->callee);
    return false;
}

/* ---- scenes ---- */

static void enter_branch(void *context, const Expr *condition)
{
    Scene *scene = context;
    array_push(scene->methods->arena, &scene->conditions, condition);
}

static void leave_branch(void *context)
{
    ((Scene *)context)->conditions.count--;
}

static int64_t bound(void *context, const Expr *index)
{
    const Scene *scene = context;
    return index->op == EXPR_index && index->slot == 0 ? scene->head_count : 0;
}

static Host host_of(Scene *scene)
{
    return (Host){
        .context = scene, .call = call, .variable = scene_variable, .symbolic = scene->purpose != FOR_REWRITE,
        .enter_branch = enter_branch, .leave_branch = leave_branch, .bound = bound,
    };
}

Scene *scene_create(Methods *methods, Method *method, Purpose purpose)
{
    Scene *scene = arena_new(methods->arena, Scene);
    Host *host = arena_new(methods->arena, Host);
    *scene = (Scene){ .methods = methods, .method = method, .purpose = purpose };
    *host = host_of(scene);
    scene->evaluator = evaluator_create(methods->arena, methods->exprs, methods->diag, method->file, host);
    return scene;
}

bool scene_call(Scene *scene, const CFunction *function, const Value *arguments, int count, Value *result)
{
    if (cfunction_parameter_count(function) != count) {
        complain(scene->methods->diag, cfunction_place(function), "%s takes %d parameters here; method.h shows them",
                 cfunction_name(function), count);
        return false;
    }
    int errors = scene->methods->diag->errors;
    return evaluate_call(scene->evaluator, function, arguments, count, result) && scene->methods->diag->errors == errors;
}

bool scene_number(Scene *scene, const CFunction *function, const Value *arguments, int count, double *number)
{
    Value result;
    if (!scene_call(scene, function, arguments, count, &result))
        return false;
    if (result.kind != VALUE_SCALAR || !expr_is_constant(result.scalar)) {
        complain(scene->methods->diag, cfunction_place(function), "what %s gives must be known at generation", cfunction_name(function));
        return false;
    }
    *number = expr_value(result.scalar);
    return true;
}

bool scene_truth(Scene *scene, const CFunction *function, bool *truth)
{
    double number = 0;
    bool fine = scene_number(scene, function, NULL, 0, &number);
    *truth = number != 0;
    return fine;
}

/* ---- rewrites ---- */

const CFunction *method_rewrite(const Methods *methods, int index, const char *layer)
{
    const Method *method = methods->list.items[index];
    return method->is_neutral ? NULL : method_function(method, "rewrite_", layer);
}

Host methods_rewrite_host(Methods *methods, int index, const Host *layers)
{
    Scene *scene = scene_create(methods, methods->list.items[index], FOR_REWRITE);
    scene->layers = *layers;
    return host_of(scene);
}
