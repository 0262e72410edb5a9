/* program_elements.c -- element programs, the folds they read, the states they write, and the actions of events. */
#include "tests/interp/program_inside.h"

#include <math.h>

/* ---- states ---- */

static void make_state(ProgramRun *run, const State *state)
{
    StateValues *made = &run->states[state->index];
    made->values = arena_array(run->arena, double *, run->program->parameters.count);
    for (int i = 0; i < run->program->parameters.count; i++) {
        int64_t count = shape_elements(run->program->parameters.items[i]->shape);
        made->values[i] = arena_array(run->arena, double, count);
        for (int64_t k = 0; !state->starts_from_parameter && k < count; k++)
            made->values[i][k] = run_value(run, state->initial, 0);
    }
}

void run_make_states(ProgramRun *run)
{
    const Methods *methods = run_methods(run);
    run->states = arena_array(run->arena, StateValues, methods->states.count + 1);
    for (int i = 0; i < methods->states.count; i++) {
        const State *state = methods->states.items[i];
        if (state->scope == SCOPE_ELEMENT)
            make_state(run, state);
        else
            run_set(run, state->scalar, state->initial ? run_value(run, state->initial, 0) : 0);
    }
}

/* A state that starts from the weights is made when it is first written to, all of it. */
static void start_from_weights(ProgramRun *run, const State *state)
{
    StateValues *values = &run->states[state->index];
    if (!state->starts_from_parameter || values->exists)
        return;
    values->exists = true;
    for (int i = 0; i < run->program->parameters.count; i++)
        for (int64_t k = 0; k < shape_elements(run->program->parameters.items[i]->shape); k++)
            values->values[i][k] = expr_evaluate(state->initial, &(ExprPoint){
                .inputs = &run->weights[i][k], .scalar = run_scalar, .context = run });
}

static void start_states(ProgramRun *run, const ElementProgram *program)
{
    for (int i = 0; i < program->assignments.count; i++) {
        int slot = program->assignments.items[i].slot;
        if (slot >= SLOT_STATES)
            start_from_weights(run, run_methods(run)->states.items[slot - SLOT_STATES]);
    }
}

/* ---- folds ---- */

typedef struct Range { int64_t first, end; } Range;     /* of the elements of one tensor */

static double gradient_of(const ProgramRun *run, const Parameter *parameter, int64_t i)
{
    return parameter->is_buffer ? 0 : run->gradients[parameter->id][i];
}

static double folded(ProgramRun *run, const Fold *fold, const Parameter *parameter, Range range, double value)
{
    for (int64_t i = range.first; i < range.end; i++) {
        double inputs[] = { run->weights[parameter->id][i], gradient_of(run, parameter, i) };
        ExprPoint point = { .inputs = inputs, .scalar = run_scalar, .context = run };
        double element = expr_evaluate(fold->element, &point);
        value = !fold->is_max ? value + element : element > value ? element : value;
    }
    return value;
}

static Range whole_tensor(const Parameter *parameter)
{
    return (Range){ 0, shape_elements(parameter->shape) };
}

static double nothing_folded(const Fold *fold)
{
    return fold->is_max ? -INFINITY : 0;
}

static void fold_model(ProgramRun *run, const Fold *fold)
{
    double value = nothing_folded(fold);
    for (int i = 0; i < run->program->parameters.count; i++) {
        const Parameter *parameter = run->program->parameters.items[i];
        if (run_learns(run, parameter))
            value = folded(run, fold, parameter, whole_tensor(parameter), value);
    }
    run_set(run, fold->scalar, value);
}

static void fold_scope(ProgramRun *run, const ElementProgram *program, Scope scope, const Parameter *parameter,
                       Range range)
{
    for (int i = 0; i < program->folds.count; i++) {
        const Fold *fold = program->folds.items[i];
        if (fold->scope == scope)
            run_set(run, fold->scalar, folded(run, fold, parameter, range, nothing_folded(fold)));
    }
}

/* ---- one element ---- */

static double *slot_value(ProgramRun *run, int slot, const Parameter *parameter, int64_t i)
{
    if (slot == SLOT_PARAMETER)
        return &run->weights[parameter->id][i];
    if (slot == SLOT_GRADIENT)
        return parameter->is_buffer ? NULL : &run->gradients[parameter->id][i];
    const State *state = run_methods(run)->states.items[slot - SLOT_STATES];
    return state->scope == SCOPE_ELEMENT ? &run->states[state->index].values[parameter->id][i] : NULL;
}

static void run_element(ProgramRun *run, const ElementProgram *program, const Parameter *parameter, int64_t i)
{
    int slots = SLOT_STATES + run_methods(run)->states.count, count = program->assignments.count;
    double inputs[slots], results[count + 1];
    for (int slot = 0; slot < slots; slot++) {
        const double *value = slot_value(run, slot, parameter, i);
        inputs[slot] = value ? *value : 0;
    }
    for (int k = 0; k < count; k++)
        results[k] = expr_evaluate(program->assignments.items[k].value,
                                   &(ExprPoint){ .inputs = inputs, .scalar = run_scalar, .context = run });
    for (int k = 0; k < count; k++) {
        double *to = slot_value(run, program->assignments.items[k].slot, parameter, i);
        if (!to)
            bug("%s assigns to a gradient of %s, which has none", program->name, parameter->name);
        *to = results[k];
    }
}

static int64_t units_of(const ElementProgram *program, const Parameter *parameter)
{
    for (int i = 0; i < program->folds.count; i++)
        if (program->folds.items[i]->scope == SCOPE_UNIT && parameter->shape.rank >= 2)
            return parameter->shape.dim[0];
    return 1;
}

static void run_tensor(ProgramRun *run, const ElementProgram *program, const Parameter *parameter)
{
    int64_t units = units_of(program, parameter), width = shape_elements(parameter->shape) / units;
    run->tensor = parameter;
    fold_scope(run, program, SCOPE_TENSOR, parameter, whole_tensor(parameter));
    for (int64_t unit = 0; unit < units; unit++) {
        Range range = { unit * width, (unit + 1) * width };
        fold_scope(run, program, SCOPE_UNIT, parameter, range);
        for (int64_t i = range.first; i < range.end; i++)
            run_element(run, program, parameter, i);
    }
}

void run_elements(ProgramRun *run, const ElementProgram *program, bool on_buffers_too)
{
    start_states(run, program);
    for (int i = 0; i < program->folds.count; i++)
        if (program->folds.items[i]->scope == SCOPE_MODEL)
            fold_model(run, program->folds.items[i]);
    for (int i = 0; i < run->program->parameters.count; i++) {
        const Parameter *parameter = run->program->parameters.items[i];
        if (on_buffers_too || run_learns(run, parameter))
            run_tensor(run, program, parameter);
    }
}

/* ---- events ---- */

static void run_action(ProgramRun *run, const Action *action)
{
    double repeated;                    /* the loss of a step is that of its first pass */
    if (action->condition && run_value(run, action->condition, 0) == 0)
        return;
    if (action->kind != ACTION_GRADIENT_PASS) {
        run_elements(run, action->program, action->kind == ACTION_EACH_WEIGHT);
        return;
    }
    if (action->redrawn) {
        run->key = ~run->now.step;
        run_draw(run, false);
    }
    run_gradient_pass(run, &repeated);
}

/* States of a method change together, at the end of its event: no value sees what the others become. */
static int set_states(ProgramRun *run, const ActionArray *actions, int first)
{
    int end = first;
    while (end < actions->count && actions->items[end].kind == ACTION_SET_STATE
           && text_equal(actions->items[end].method, actions->items[first].method))
        end++;
    double values[end - first];
    for (int i = first; i < end; i++)
        values[i - first] = run_value(run, actions->items[i].value, 0);
    for (int i = first; i < end; i++)
        run_set(run, actions->items[i].state->scalar, values[i - first]);
    return end;
}

void run_actions(ProgramRun *run, const ActionArray *actions)
{
    for (int i = 0; i < actions->count;)
        if (actions->items[i].kind == ACTION_SET_STATE)
            i = set_states(run, actions, i);
        else
            run_action(run, &actions->items[i++]);
}
