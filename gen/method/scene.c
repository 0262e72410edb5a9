/* scene.c -- the evaluator's host for method files: parameters, facts about the run, time, draws, states. */
#include "method/inside.h"

#include <string.h>

const Scalar *methods_scalar(Methods *methods, const char *name, ScalarKind kind, ScalarType type)
{
    for (int i = 0; i < methods->scalars.count; i++)
        if (methods->scalars.items[i]->kind == kind && !methods->scalars.items[i]->method
            && text_equal(methods->scalars.items[i]->name, name))
            return methods->scalars.items[i];
    Scalar *scalar = arena_new(methods->arena, Scalar);
    *scalar = (Scalar){ .name = name, .kind = kind, .type = type, .id = methods->scalars.count };
    array_push(methods->arena, &methods->scalars, scalar);
    return scalar;
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

/* ---- variables ---- */

static bool parameter_value(Scene *scene, const char *name, Value *value)
{
    const Method *method = scene->method;
    for (int i = 0; i < method->parameters.count; i++) {
        const MethodParameter *parameter = &method->parameters.items[i];
        if (text_equal(parameter->name, name)) {
            *value = parameter->value;
            return true;
        }
        bool is_given = text_starts(name, "given_") && text_equal(name + strlen("given_"), parameter->name);
        if (is_given) {
            *value = value_scalar(expr_truth(scene->methods->exprs, parameter->given));
            return true;
        }
        size_t length = strlen(parameter->name);
        bool counts = text_starts(name, parameter->name) && text_equal(name + length, "_count") && parameter->given;
        const Doc *doc = counts && method->choice.parameters ? doc_find(method->choice.parameters, parameter->name) : NULL;
        if (doc && doc->kind == DOC_LIST) {
            *value = whole(scene->methods, doc->count);
            return true;
        }
    }
    return false;
}

/* A size that differs between batches is read when the program runs; elsewhere it is a number. */
static Value size_value(Scene *scene, const char *name, int64_t full, bool varies)
{
    bool at_run_time = varies && (scene->purpose == FOR_HOOK || scene->purpose == FOR_DRAW);
    return at_run_time ? scalar_value(scene->methods, name, SCALAR_SIZE, TYPE_INT) : whole(scene->methods, full);
}

static double final_rate(Methods *methods)
{
    const RunFacts *facts = &methods->facts;
    Moment last = { .step = facts->steps - 1 };
    last.epoch = last.step / facts->batches_per_epoch;
    last.batch_in_epoch = last.step % facts->batches_per_epoch;
    last.samples = last.step * facts->batch_rows;
    last.tokens = last.samples * facts->length;
    double rate = 1;
    methods_rate(methods, &last, &rate);
    return rate;
}

static bool fact_value(Scene *scene, const char *name, Value *value)
{
    Methods *methods = scene->methods;
    const RunFacts *f = &methods->facts;
    bool short_batch = !f->drop_last && f->batch_rows && f->train_samples % f->batch_rows;
    bool moves = methods->has_geometry;
    const struct { const char *name; int64_t full; bool varies; } sizes[] = {
        { "data", f->is_text, false }, { "image_height", f->height, moves }, { "image_width", f->width, moves },
        { "image_channels", f->channels, false }, { "sequence_length", f->length, moves },
        { "batch_rows", f->batch_rows, moves || short_batch }, { "class_count", f->class_count, false },
        { "micro_batches", f->micro_batches, false }, { "has_batch_norm", f->has_batch_norm, false },
        { "has_mixing", f->has_mixing, false }, { "run_steps", f->steps, false },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (text_equal(sizes[i].name, name)) {
            *value = size_value(scene, name, sizes[i].full, sizes[i].varies);
            return true;
        }
    if (text_equal(name, "rate"))
        *value = scalar_value(methods, "rate", SCALAR_RATE, TYPE_FLOAT);
    else if (text_equal(name, "update_count"))
        *value = scalar_value(methods, "update_count", SCALAR_TIME, TYPE_INT);
    else if (text_equal(name, "final_rate"))
        *value = value_scalar(expr_number(methods->exprs, final_rate(methods)));
    else
        return false;
    return true;
}

static bool variable(void *context, Evaluator *evaluator, const CFile *file, const char *name, Value *value)
{
    Scene *scene = context;
    (void)evaluator, (void)file;
    if (parameter_value(scene, name, value) || fact_value(scene, name, value))
        return true;
    *value = draw_value(scene->methods, scene->method, name);
    if (value->kind != VALUE_VOID)
        return true;
    return state_value(scene, name, value) || fold_value(scene, name, value);
}

/* ---- calls ---- */

static const Expr *quotient(ExprPool *pool, const Value *a, const Value *b)
{
    return expr_binary(pool, EXPR_div, expr_convert(pool, a->scalar, TYPE_FLOAT), expr_convert(pool, b->scalar, TYPE_FLOAT));
}

static bool call_elapsed(Scene *scene, const Value *arguments, Value *result)
{
    const Value *now = arguments[0].kind == VALUE_POINTER ? arguments[0].target : &arguments[0];
    bool by_epoch = scene->methods->facts.compat_epoch;
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
        return call_elapsed(scene, arguments, result);
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
        .context = scene, .call = call, .variable = variable, .symbolic = scene->purpose != FOR_REWRITE,
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
    return evaluate_call(scene->evaluator, function, arguments, count, result);
}

bool scene_truth(Scene *scene, const CFunction *function, bool *truth)
{
    Value result;
    if (!scene_call(scene, function, NULL, 0, &result))
        return false;
    if (result.kind != VALUE_SCALAR || !expr_is_constant(result.scalar)) {
        complain(scene->methods->diag, cfunction_place(function), "this condition must be known at generation");
        return false;
    }
    *truth = expr_value(result.scalar) != 0;
    return true;
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
