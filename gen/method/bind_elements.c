/* bind_elements.c -- STATE, FOLD and ON: what happens to every weight, and when. */
#include "method/inside.h"

#include <string.h>

/* ---- states: made when something first touches them ---- */

static const struct { const char *prefix; Scope scope; } state_scopes[] = {
    { "initial_element_", SCOPE_ELEMENT }, { "initial_run_", SCOPE_RUN },
};

static const CFunction *initial_of(const Method *method, const char *name, Scope *scope)
{
    for (size_t i = 0; i < sizeof state_scopes / sizeof *state_scopes; i++) {
        const CFunction *function = method_function(method, state_scopes[i].prefix, name);
        *scope = state_scopes[i].scope;
        if (function)
            return function;
    }
    return NULL;
}

bool state_is_declared(const Method *method, const char *name, Scope *scope)
{
    return initial_of(method, name, scope) != NULL;
}

static Value element_at(Methods *methods, Value **cells)
{
    ExprPool *pool = methods->exprs;
    Value record = { .kind = VALUE_STRUCT };
    static const char *const names[] = { "parameter", "gradient", "rank", "is_buffer" };
    *cells = arena_array(methods->arena, Value, 4);
    (*cells)[0] = value_scalar(expr_input(pool, SLOT_PARAMETER, TYPE_FLOAT));
    (*cells)[1] = value_scalar(expr_input(pool, SLOT_GRADIENT, TYPE_FLOAT));
    (*cells)[2] = value_scalar(expr_scalar(pool, methods_scalar(methods, "rank", SCALAR_FACT, TYPE_INT)));
    (*cells)[3] = value_scalar(expr_scalar(pool, methods_scalar(methods, "is_buffer", SCALAR_FACT, TYPE_BOOL)));
    record.record.type = "element";
    record.record.count = 4;
    record.record.fields = arena_array(methods->arena, Field, 4);
    for (int i = 0; i < 4; i++)
        record.record.fields[i] = (Field){ names[i], &(*cells)[i] };
    Value *target = arena_new(methods->arena, Value);
    *target = record;
    return (Value){ .kind = VALUE_POINTER, .target = target };
}

static State *make_state(Methods *methods, const Method *method, const char *name, const CFunction *initial, Scope scope)
{
    State *state = arena_new(methods->arena, State);
    Value *cells, at = element_at(methods, &cells), value;
    Scene *scene = scene_create(methods, (Method *)method, FOR_VALUE);
    if (!scene_call(scene, initial, &at, 1, &value) || value.kind != VALUE_SCALAR)
        return NULL;
    bool copies = scope == SCOPE_ELEMENT && value.scalar == expr_input(methods->exprs, SLOT_PARAMETER, TYPE_FLOAT);
    if (!copies && !expr_is_constant(value.scalar)) {
        complain(methods->diag, cfunction_place(initial), "%s of %s must start from a constant%s", name, method->name,
                 scope == SCOPE_ELEMENT ? ", or from at->parameter as it is" : "");
        return NULL;
    }
    const char *help = method_text(method, "state_help_", name);
    *state = (State){ .name = name, .method = method->name, .help = help ? help : name, .scope = scope, .type = value.scalar->type,
                      .initial = value.scalar, .starts_from_parameter = copies,
                      .index = methods->states.count };
    if (scope == SCOPE_RUN)
        state->scalar = scene_scalar(methods, method->name, name, SCALAR_STATE, state->type);
    array_push(methods->arena, &methods->states, state);
    return state;
}

State *state_named(Methods *methods, const Method *method, const char *name)
{
    Scope scope;
    for (int i = 0; i < methods->states.count; i++)
        if (text_equal(methods->states.items[i]->method, method->name) && text_equal(methods->states.items[i]->name, name))
            return methods->states.items[i];
    const CFunction *initial = initial_of(method, name, &scope);
    return initial ? make_state(methods, method, name, initial, scope) : NULL;
}

bool state_value(Scene *scene, const char *name, Value *value)
{
    State *state = state_named(scene->methods, scene->method, name);
    if (!state)
        return false;
    ExprPool *pool = scene->methods->exprs;
    bool of_element = state->scope == SCOPE_ELEMENT;
    *value = value_scalar(of_element ? expr_input(pool, SLOT_STATES + state->index, state->type) : expr_scalar(pool, state->scalar));
    return true;
}

/* ---- folds ---- */

static const struct { const char *prefix; bool is_max; Scope scope; } fold_kinds[] = {
    { "fold_sum_model_", false, SCOPE_MODEL }, { "fold_sum_tensor_", false, SCOPE_TENSOR }, { "fold_sum_unit_", false, SCOPE_UNIT },
    { "fold_max_model_", true, SCOPE_MODEL },  { "fold_max_tensor_", true, SCOPE_TENSOR },  { "fold_max_unit_", true, SCOPE_UNIT },
};

static const CFunction *fold_function(const Method *method, const char *name, size_t *kind)
{
    const CFunction *function = NULL;
    for (*kind = 0; *kind < sizeof fold_kinds / sizeof *fold_kinds; ++*kind)
        if ((function = method_function(method, fold_kinds[*kind].prefix, name)))
            return function;
    return NULL;
}

bool fold_is_declared(const Method *method, const char *name)
{
    size_t kind;
    return fold_function(method, name, &kind) != NULL;
}

static Fold *make_fold(Methods *methods, const Method *method, const char *name, const CFunction *function, size_t kind)
{
    ExprPool *pool = methods->exprs;
    const Value arguments[] = { value_scalar(expr_input(pool, SLOT_PARAMETER, TYPE_FLOAT)),
                                value_scalar(expr_input(pool, SLOT_GRADIENT, TYPE_FLOAT)) };
    Value value;
    if (!scene_call(scene_create(methods, (Method *)method, FOR_FOLD), function, arguments, 2, &value))
        return NULL;
    const Scalar *scalar = scene_scalar(methods, method->name, name, SCALAR_FOLD, TYPE_FLOAT);
    Fold *fold = arena_new(methods->arena, Fold);
    *fold = (Fold){ .name = name, .method = method->name, .is_max = fold_kinds[kind].is_max, .scope = fold_kinds[kind].scope,
                    .element = value.scalar, .scalar = scalar };
    array_push(methods->arena, &methods->folds, fold);
    return fold;
}

Fold *fold_named(Methods *methods, const Method *method, const char *name)
{
    for (int i = 0; i < methods->folds.count; i++)
        if (text_equal(methods->folds.items[i]->method, method->name) && text_equal(methods->folds.items[i]->name, name))
            return methods->folds.items[i];
    size_t kind;
    const CFunction *function = fold_function(method, name, &kind);
    return function ? make_fold(methods, method, name, function, kind) : NULL;
}

bool fold_value(Scene *scene, const char *name, Value *value)
{
    Fold *fold = scene->program ? fold_named(scene->methods, scene->method, name) : NULL;
    if (!fold)
        return false;
    bool known = false;
    for (int i = 0; i < scene->program->folds.count; i++)
        known |= scene->program->folds.items[i] == fold;
    if (!known)
        array_push(scene->methods->arena, &scene->program->folds, fold);
    *value = value_scalar(expr_scalar(scene->methods->exprs, fold->scalar));
    return true;
}

/* ---- element programs ---- */

static void assign(Methods *methods, ElementProgram *program, int slot, const Value *value)
{
    if (value->kind != VALUE_SCALAR || value->scalar == expr_input(methods->exprs, slot, value->scalar->type))
        return;
    array_push(methods->arena, &program->assignments, ((Assignment){ slot, value->scalar }));
}

/* "on_update" is called update; the function of each_parameter keeps its name. */
static const char *program_name(const CFunction *function)
{
    const char *name = cfunction_name(function);
    return text_starts(name, "on_") ? name + strlen("on_") : name;
}

static ElementProgram *bind_program(Methods *methods, Method *method, const CFunction *function)
{
    Scene *scene = scene_create(methods, method, FOR_ELEMENT);
    ElementProgram *program = arena_new(methods->arena, ElementProgram);
    *program = (ElementProgram){ .name = program_name(function), .method = method->name };
    scene->program = program;
    Value *cells, at = element_at(methods, &cells);
    const Value given[] = { cells[0], cells[1], cells[2], cells[3] };
    if (!scene_call(scene, function, &at, 1, NULL) || !states_are_untouched(scene, function))
        return NULL;
    if (cells[2].scalar != given[2].scalar || cells[3].scalar != given[3].scalar) {
        complain(methods->diag, cfunction_place(function), "%s may assign parameter and gradient, not what the element is",
                 cfunction_name(function));
        return NULL;
    }
    assign(methods, program, SLOT_PARAMETER, &cells[0]);
    assign(methods, program, SLOT_GRADIENT, &cells[1]);
    for (int i = 0; i < methods->states.count; i++) {
        const State *state = methods->states.items[i];
        Value value;
        if (state->scope == SCOPE_ELEMENT && text_equal(state->method, method->name)
            && evaluator_variable(scene->evaluator, state->name, &value))
            assign(methods, program, SLOT_STATES + i, &value);
    }
    return program;
}

/* ---- events ---- */

static const Expr *all_conditions(const Scene *scene)
{
    const Expr *all = NULL;
    for (int i = 0; i < scene->conditions.count; i++)
        all = all ? expr_binary(scene->methods->exprs, EXPR_and, all, scene->conditions.items[i]) : scene->conditions.items[i];
    return all;
}

static const State *changed_state(const Scene *scene)
{
    const Methods *methods = scene->methods;
    for (int i = 0; i < methods->states.count; i++) {
        const State *state = methods->states.items[i];
        Value value;
        if (state->scope == SCOPE_RUN && text_equal(state->method, scene->method->name)
            && evaluator_variable(scene->evaluator, state->name, &value)
            && value.scalar != expr_scalar(methods->exprs, state->scalar))
            return state;
    }
    return NULL;
}

bool states_are_untouched(const Scene *scene, const CFunction *function)
{
    const State *changed = changed_state(scene);
    if (changed)
        complain(scene->methods->diag, cfunction_place(function), "%s can't change %s: states of the run are assigned in ON(step), "
                 "ON(batch_end) and ON(epoch_end)", cfunction_name(function), changed->name);
    return !changed;
}

static void mark_buffers(Methods *methods, const ElementProgram *program)
{
    for (int i = 0; i < program->assignments.count; i++)
        if (program->assignments.items[i].slot >= SLOT_STATES)
            methods->states.items[program->assignments.items[i].slot - SLOT_STATES]->covers_buffers = true;
}

bool event_call(Scene *scene, const CallSite *site, const Value *arguments, int count)
{
    Methods *methods = scene->methods;
    if (scene->purpose != FOR_EVENT) {
        complain(methods->diag, site->place, "%s can be called in ON(step), ON(batch_end) and ON(epoch_end) only", site->callee);
        return false;
    }
    const State *changed = changed_state(scene);
    if (changed) {
        complain(methods->diag, site->place, "%s was assigned before this call: states of the run change at the end of an event",
                 changed->name);
        return false;
    }
    Action action = { .condition = all_conditions(scene), .method = scene->method->name };
    if (text_starts(site->callee, "gradient_pass")) {
        action.kind = ACTION_GRADIENT_PASS;
        action.redrawn = text_equal(site->callee, "gradient_pass_redrawn");
    } else {
        bool everything = text_equal(site->callee, "each_weight");
        action.kind = everything ? ACTION_EACH_WEIGHT : ACTION_EACH_PARAMETER;
        if (count != 1 || arguments[0].kind != VALUE_FUNCTION
            || !(action.program = bind_program(methods, scene->method, arguments[0].function)))
            return false;
        if (everything)
            mark_buffers(methods, action.program);
    }
    array_push(methods->arena, scene->actions, action);
    return true;
}

static void set_states(Scene *scene)
{
    Methods *methods = scene->methods;
    for (int i = 0; i < methods->states.count; i++) {
        State *state = methods->states.items[i];
        Value value;
        if (state->scope != SCOPE_RUN || !text_equal(state->method, scene->method->name)
            || !evaluator_variable(scene->evaluator, state->name, &value)
            || value.scalar == expr_scalar(methods->exprs, state->scalar))
            continue;
        Action action = { .kind = ACTION_SET_STATE, .state = state, .value = value.scalar, .method = scene->method->name };
        array_push(methods->arena, scene->actions, action);
    }
}

static bool bind_event(Methods *methods, Method *method, const char *event, ActionArray *actions)
{
    const CFunction *function = method_function(method, "on_", event);
    if (!function)
        return true;
    Scene *scene = scene_create(methods, method, FOR_EVENT);
    scene->actions = actions;
    Value now = scene_moment(methods, NULL);
    if (!scene_call(scene, function, &now, 1, NULL))
        return false;
    set_states(scene);
    return true;
}

static bool bind_gradients(Methods *methods, Method *method)
{
    const CFunction *function = method_function(method, "on_", "gradients");
    ElementProgram *program = function ? bind_program(methods, method, function) : NULL;
    if (program && program->assignments.count)
        array_push(methods->arena, &methods->gradients, program);
    return !function || program;
}

static bool bind_average(Methods *methods, Method *method)
{
    const char *name = method_text(method, "evaluate_with", "");
    if (!name)
        return true;
    const State *state = state_named(methods, method, name);
    if (!state || state->scope != SCOPE_ELEMENT) {
        complain(methods->diag, method->choice.place, "%s: EVALUATE_WITH names no STATE(element, ...)", method->name);
        return false;
    }
    if (methods->evaluate_with) {
        complain(methods->diag, method->choice.place, "%s and %s both say which weights evaluation uses", methods->evaluate_with->method,
                 method->name);
        return false;
    }
    methods->evaluate_with = state;
    return true;
}

bool bind_elements(Methods *methods)
{
    const CFunction *update = method_function(methods->optimizer, "on_", "update");
    methods->update = bind_program(methods, methods->optimizer, update);
    bool fine = methods->update != NULL;
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        if (method->is_neutral)
            continue;
        fine &= bind_gradients(methods, method) && bind_event(methods, method, "step", &methods->step)
             && bind_event(methods, method, "batch_end", &methods->batch_end)
             && bind_event(methods, method, "epoch_end", &methods->epoch_end) && bind_average(methods, method);
    }
    return fine;
}
