/* eval.c -- the evaluator's door: created, called, stopped; frames, file-scope variables, limits. */
#include "front/eval.h"

Evaluator *evaluator_create(Arena *arena, ExprPool *exprs, Diagnostics *diag, const CFile *file,
                            const Host *host)
{
    Evaluator *ev = arena_new(arena, Evaluator);
    *ev = (Evaluator){ .arena = arena, .exprs = exprs, .diag = diag, .file = file, .host = host };
    ev->globals = arena_array(arena, Value *, file->all_variables.count);
    return ev;
}

ExprPool *evaluator_exprs(Evaluator *ev)
{
    return ev->exprs;
}

Diagnostics *evaluator_diagnostics(Evaluator *ev)
{
    return ev->diag;
}

Arena *evaluator_arena(Evaluator *ev)
{
    return ev->arena;
}

Place evaluator_place(const Evaluator *ev)
{
    return ev->place;
}

/* ---- stopping ---- */

/* The calls that led here, innermost first; of a long chain the ends. */
void eval_note_callers(Evaluator *ev)
{
    enum { SHOWN_AT_EACH_END = 4 };
    int total = 0, number = 0;
    for (const Frame *frame = ev->frame; frame; frame = frame->caller)
        total += frame->called_from.line > 0;
    for (const Frame *frame = ev->frame; frame; frame = frame->caller) {
        if (frame->called_from.line <= 0)
            continue;
        if (number < SHOWN_AT_EACH_END || number >= total - SHOWN_AT_EACH_END)
            note(ev->diag, frame->called_from, "'%s' was called here", frame->function->name);
        else if (number == SHOWN_AT_EACH_END)
            note(ev->diag, (Place){ 0 }, "... and %d calls more ...", total - 2 * SHOWN_AT_EACH_END);
        number++;
    }
}

_Noreturn void eval_stop(Evaluator *ev)
{
    if (!ev->escape)
        bug("evaluation stopped while none was running");
    longjmp(*ev->escape, 1);
}

_Noreturn void eval_fail(Evaluator *ev, Place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain(ev->diag, place, "%s", text_vformat(ev->arena, format, arguments));
    va_end(arguments);
    eval_note_callers(ev);
    eval_stop(ev);
}

void eval_step(Evaluator *ev, Place place)
{
    if (++ev->steps > MOST_STEPS)
        eval_fail(ev, place, "endless loop? more than %d steps were made in one evaluation", MOST_STEPS);
}

/* ---- file-scope variables ---- */
static Value initial_value(Evaluator *ev, const CVariable *variable)
{
    Value value;
    if (ev->host->variable && ev->host->variable(ev->host->context, ev, ev->file, variable->name, &value))
        return value_converted(ev, variable->place, value, variable->type);
    if (variable->initializer)
        return value_initialized(ev, variable->type, variable->initializer);
    return value_zero(ev, variable->type);
}

Value *eval_global(Evaluator *ev, const CVariable *variable)
{
    if (ev->globals[variable->index])
        return ev->globals[variable->index];
    Value *cell = arena_new(ev->arena, Value);
    *cell = initial_value(ev, variable);
    return ev->globals[variable->index] = cell;
}

static const CVariable *find_variable(const CFile *file, const char *name)
{
    for (int i = 0; i < file->all_variables.count; i++)
        if (text_equal(file->all_variables.items[i]->name, name))
            return file->all_variables.items[i];
    return NULL;
}

bool evaluator_variable(Evaluator *ev, const char *name, Value *value)
{
    const CVariable *variable = find_variable(ev->file, name);
    if (!variable || !ev->globals[variable->index])
        return false;
    *value = *ev->globals[variable->index];
    return true;
}

void evaluator_set_variable(Evaluator *ev, const char *name, Value value)
{
    const CVariable *variable = find_variable(ev->file, name);
    if (!variable)
        return;
    Value *cell = ev->globals[variable->index];
    if (cell) {
        value_store(ev, cell, value_copied(ev, value));
        return;
    }
    cell = arena_new(ev->arena, Value);
    *cell = value_copied(ev, value);
    ev->globals[variable->index] = cell;
}

bool evaluator_read(Evaluator *ev, const char *name, Value *value)
{
    const CVariable *variable = find_variable(ev->file, name);
    if (!variable)
        return false;
    jmp_buf escape;
    jmp_buf *const before = ev->escape;
    Evaluator *const evaluator = ev;
    evaluator->escape = &escape;
    if (setjmp(escape)) {
        evaluator->escape = before;
        return false;
    }
    *value = *eval_global(evaluator, variable);
    evaluator->escape = before;
    return true;
}

/* ---- calls of functions with a body ---- */
static Value result_of(Evaluator *ev, const CFunction *function, Outcome outcome)
{
    if (function->result->kind == CTYPE_VOID)
        return (Value){ .kind = VALUE_VOID };
    if (outcome.flow == FLOW_RETURN)
        return outcome.value;
    if (outcome.flow == FLOW_MAYBE)
        eval_fail(ev, function->place, "'%s' ends without a return where its conditions don't hold",
                  function->name);
    eval_fail(ev, function->place, "'%s' ended without returning a value", function->name);
}

Value eval_call_function(Evaluator *ev, Place place, const CFunction *function, const Value *arguments,
                         int count)
{
    if (count != function->parameters.count)
        eval_fail(ev, place, "'%s' takes %d arguments, got %d", function->name, function->parameters.count,
                  count);
    Frame frame = { .function = function, .called_from = place, .caller = ev->frame };
    frame.cells = arena_array(ev->arena, Value *, function->slots);
    for (int i = 0; i < count; i++) {
        frame.cells[i] = arena_new(ev->arena, Value);
        *frame.cells[i] = value_converted(ev, place, arguments[i], function->parameters.items[i].type);
    }
    ev->frame = &frame;
    if (++ev->depth > DEEPEST_CALL)
        eval_fail(ev, place, "endless recursion? calls are nested more than %d deep", DEEPEST_CALL);
    Place before = ev->place;
    Value result = result_of(ev, function, eval_body(ev, function));
    ev->place = before;
    ev->depth--;
    ev->frame = frame.caller;
    return result;
}

static Value call_from_host(Evaluator *ev, const CFunction *function, const Value *arguments, int count)
{
    if (!ev->frame)
        ev->steps = 0;
    Place place = ev->frame ? ev->place : (Place){ 0 };
    return eval_call_function(ev, place, function, arguments, count);
}

/* What an error leaves behind is put back, so that the evaluator can be called again. */
bool evaluate_call(Evaluator *ev, const CFunction *function, const Value *arguments, int count, Value *result)
{
    if (!function->body)
        bug("evaluate_call: '%s' has no body", function->name);
    jmp_buf escape;
    Evaluator *const evaluator = ev;
    const Evaluator before = *ev;
    evaluator->escape = &escape;
    if (setjmp(escape)) {
        while (evaluator->marks.count > before.marks.count)
            eval_branch_leave(evaluator);
        evaluator->escape = before.escape;
        evaluator->frame = before.frame;
        evaluator->place = before.place;
        evaluator->depth = before.depth;
        evaluator->nesting = before.nesting;
        return false;
    }
    Value value = call_from_host(evaluator, function, arguments, count);
    evaluator->escape = before.escape;
    if (result)
        *result = value;
    return true;
}
