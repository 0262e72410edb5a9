/* elements.c -- what happens to every weight: optimizer, clipping, averages, and the folds they read. */
#include "emit/cpu/state.h"

#include <string.h>

typedef struct Loop {                   /* one element program as one function */
    Emit *emit;
    const ElementProgram *program;
    const Expr **values;
    int count;
    bool on_buffers, by_tensor;
} Loop;

static bool uses_scalar(const Expr *expr, const char *name)
{
    if (expr->op == EXPR_scalar)
        return expr->scalar->kind == SCALAR_FACT && text_equal(expr->scalar->name, name);
    for (int i = 0; i < expr_info[expr->op].operands; i++)
        if (uses_scalar(expr->operand[i], name))
            return true;
    return false;
}

static const Scalar *find_fact(const Expr *expr, const char *name)
{
    if (expr->op == EXPR_scalar && expr->scalar->kind == SCALAR_FACT && text_equal(expr->scalar->name, name))
        return expr->scalar;
    for (int i = 0; i < expr_info[expr->op].operands; i++) {
        const Scalar *found = find_fact(expr->operand[i], name);
        if (found)
            return found;
    }
    return NULL;
}

/* The program as it is on weights or on running statistics, which have no gradient. */
static const Expr *specialised(Emit *emit, const Expr *expr, bool on_buffers)
{
    ExprPool *pool = emit->program->exprs;
    const Scalar *fact = find_fact(expr, "is_buffer");
    if (fact)
        expr = expr_replace_scalar(pool, expr, fact, expr_truth(pool, on_buffers));
    if (!on_buffers || !expr_uses_input(expr, SLOT_GRADIENT))
        return expr;
    const Expr *inputs[SLOT_GRADIENT + 1] = { NULL, expr_number(pool, 0) };
    return expr_substitute(pool, expr, inputs, SLOT_GRADIENT + 1, NULL, 0);
}

static const char *slot_array(Emit *emit, int slot)
{
    return slot == SLOT_PARAMETER ? "weights" : slot == SLOT_GRADIENT ? "gradients" : emit->state_names[slot - SLOT_STATES];
}

static const char *slot_local(Emit *emit, int slot)
{
    return slot == SLOT_PARAMETER ? "parameter" : slot == SLOT_GRADIENT ? "gradient"
         : emit->program->methods->states.items[slot - SLOT_STATES]->name;
}

static void print_body(Loop *loop, Writer *body)
{
    Emit *emit = loop->emit;
    int slots = SLOT_STATES + emit->program->methods->states.count;
    const char **inputs = arena_array(emit->arena, const char *, slots);
    for (int slot = 0; slot < slots; slot++) {
        bool used = false;
        for (int i = 0; i < loop->count; i++)
            used |= expr_uses_input(loop->values[i], slot);
        inputs[slot] = slot_local(emit, slot);
        if (used)
            writer_line(body, "const real %s = %s[i];", inputs[slot], slot_array(emit, slot));
    }
    Spelling spelling = emit_spelling(emit, inputs, NULL);
    const char **results = arena_array(emit->arena, const char *, loop->count + 1);
    TextArray locals = { 0 };
    for (int i = 0; i < loop->count; i++)
        emit_functions_of(emit, loop->values[i]);
    expr_texts(emit->arena, loop->values, loop->count, &spelling, results, &locals);
    for (int i = 0; i < locals.count; i++)
        writer_line(body, "%s", locals.items[i]);
    for (int i = 0; i < loop->count; i++)
        writer_line(body, "%s[i] = %s;", slot_array(emit, loop->program->assignments.items[i].slot), results[i]);
}

static bool folds_by_tensor(const ElementProgram *program)
{
    for (int i = 0; i < program->folds.count; i++)
        if (program->folds.items[i]->scope != SCOPE_MODEL)
            return true;
    for (int i = 0; i < program->assignments.count; i++)
        if (uses_scalar(program->assignments.items[i].value, "rank"))
            return true;
    return false;
}

static const char *fold_element(Emit *emit, const Fold *fold)
{
    const char *const inputs[] = { "weights[i]", "gradients[i]" };
    return emit_expr(emit, fold->element, inputs, NULL);
}

/* What a fold starts from. */
static const char *nothing_folded(const Fold *fold)
{
    return fold->is_max ? "-INFINITY" : "0";
}

/* A fold of one tensor or unit, whose elements begin at `from` and are `width`: a local of the same text as its scalar. */
static void print_local_fold(Emit *emit, const Fold *fold, const char *from, const char *width, Writer *body)
{
    const char *value = fold_element(emit, fold);
    writer_line(body, "double %s = %s;", emit_field(emit, fold->scalar), nothing_folded(fold));
    writer_line(body, "for (long i = %s; i < %s + %s; i++)", from, from, width);
    if (fold->is_max)
        writer_line(body, "    %s = fmax(%s, %s);", emit_field(emit, fold->scalar), emit_field(emit, fold->scalar), value);
    else
        writer_line(body, "    %s += %s;", emit_field(emit, fold->scalar), value);
}

static void print_local_folds(Loop *loop, Scope scope, const char *from, const char *width, Writer *out)
{
    for (int i = 0; i < loop->program->folds.count; i++)
        if (loop->program->folds.items[i]->scope == scope)
            print_local_fold(loop->emit, loop->program->folds.items[i], from, width, out);
}

/* Folds of a unit are locals here, not fields: their scalars are printed as such. */
static const Expr *with_local_folds(Emit *emit, const ElementProgram *program, const Expr *expr)
{
    for (int i = 0; i < program->folds.count; i++) {
        const Fold *fold = program->folds.items[i];
        if (fold->scope == SCOPE_MODEL)
            continue;
        Scalar *local = arena_new(emit->arena, Scalar);
        *local = *fold->scalar;
        local->kind = SCALAR_FACT;
        local->method = NULL;
        local->name = emit_field(emit, fold->scalar);
        expr = expr_replace_scalar(emit->program->exprs, expr, fold->scalar, expr_scalar(emit->program->exprs, local));
    }
    return expr;
}

static bool folds_whole_tensor(const ElementProgram *program)
{
    for (int i = 0; i < program->folds.count; i++)
        if (program->folds.items[i]->scope == SCOPE_UNIT)
            return false;
    return true;
}

static void print_tensor_loops(Loop *loop, Writer *out)
{
    writer_text(out, "#pragma omp parallel for\n");
    writer_line(out, "for (int t = first; t < last; t++) {");
    writer_line(out, "const long units = %s, width = tensors[t].count / units;", folds_whole_tensor(loop->program) ? "1" : "tensors[t].units");
    bool rank = false;
    for (int i = 0; i < loop->count; i++)
        rank |= uses_scalar(loop->values[i], "rank");
    if (rank)
        writer_line(out, "const long rank = tensors[t].rank;");
    print_local_folds(loop, SCOPE_TENSOR, "tensors[t].at", "tensors[t].count", out);
    writer_line(out, "for (long from = tensors[t].at; from < tensors[t].at + tensors[t].count; from += width) {");
    print_local_folds(loop, SCOPE_UNIT, "from", "width", out);
    writer_line(out, "for (long i = from; i < from + width; i++) {");
    print_body(loop, out);
    writer_line(out, "}");
    writer_line(out, "}");
    writer_line(out, "}");
}

static void print_flat_loop(Loop *loop, Writer *out)
{
    writer_text(out, "#pragma omp parallel for simd\n");
    writer_line(out, "for (long i = first; i < last; i++) {");
    print_body(loop, out);
    writer_line(out, "}");
}

/* Prints the function and returns its name; by_tensor functions take indices of tensors, others of elements. */
static const char *print_program(Emit *emit, const ElementProgram *program, bool on_buffers, Writer *out)
{
    Loop loop = { .emit = emit, .program = program, .on_buffers = on_buffers, .by_tensor = folds_by_tensor(program) };
    loop.values = arena_array(emit->arena, const Expr *, program->assignments.count + 1);
    for (int i = 0; i < program->assignments.count; i++) {
        const Expr *value = specialised(emit, program->assignments.items[i].value, on_buffers);
        loop.values[loop.count++] = with_local_folds(emit, program, value);
    }
    const char *wanted = text_format(emit->arena, "%s_%s%s", program->method, program->name, on_buffers ? "_buffers" : "");
    const char *name = names_make(emit->names, wanted);
    writer_blank(out);
    writer_line(out, "static void %s(long first, long last)", name);
    writer_line(out, "{");
    if (loop.by_tensor)
        print_tensor_loops(&loop, out);
    else
        print_flat_loop(&loop, out);
    writer_line(out, "}");
    return name;
}

/* ---- folds over the model: fixed chunks, so the order of addition does not depend on the threads ---- */

static void print_fold(Emit *emit, const Fold *fold, Writer *out)
{
    const char *field = emit_field(emit, fold->scalar);
    writer_blank(out);
    writer_line(out, "static double fold_%s(void)", field);
    writer_line(out, "{");
    writer_line(out, "enum { CHUNKS = 64 };");
    writer_line(out, "double part[CHUNKS], whole = %s;", nothing_folded(fold));
    writer_line(out, "const long first = now.first_trained, count = TRAINED - first;");
    writer_text(out, "#pragma omp parallel for\n");
    writer_line(out, "for (long chunk = 0; chunk < CHUNKS; chunk++) {");
    writer_line(out, "double value = %s;", nothing_folded(fold));
    writer_line(out, "for (long i = first + count * chunk / CHUNKS; i < first + count * (chunk + 1) / CHUNKS; i++)");
    const char *element = fold_element(emit, fold);
    writer_line(out, fold->is_max ? "    value = fmax(value, %s);" : "    value += %s;", element);
    writer_line(out, "part[chunk] = value;");
    writer_line(out, "}");
    writer_line(out, "for (long chunk = 0; chunk < CHUNKS; chunk++)");
    writer_line(out, fold->is_max ? "    whole = fmax(whole, part[chunk]);" : "    whole += part[chunk];");
    writer_line(out, "return whole;");
    writer_line(out, "}");
}

static void print_fold_calls(Emit *emit, const ElementProgram *program, Writer *out)
{
    for (int i = 0; i < program->folds.count; i++)
        if (program->folds.items[i]->scope == SCOPE_MODEL) {
            const char *field = emit_field(emit, program->folds.items[i]->scalar);
            writer_line(out, "fold.%s = fold_%s();", field, field);
        }
}

/* ---- states ---- */

static void print_states(Emit *emit, Writer *plan)
{
    const Methods *methods = emit->program->methods;
    emit->state_names = arena_array(emit->arena, const char *, methods->states.count);
    for (int i = 0; i < methods->states.count; i++) {
        const State *state = methods->states.items[i];
        if (state->scope != SCOPE_ELEMENT)
            continue;
        emit->state_names[i] = names_make(emit->names, text_format(emit->arena, "%s_%s", state->method, state->name));
        writer_line(plan, "static real *%s; /* %s */", emit->state_names[i], state->help);
        if (state->starts_from_parameter)
            writer_line(plan, "static bool %s_exists;", emit->state_names[i]);
    }
}

/* A state that starts from the weights is made when it is first written. */
static void print_first_writes(Emit *emit, const ElementProgram *program, Writer *out)
{
    for (int i = 0; i < program->assignments.count; i++) {
        int slot = program->assignments.items[i].slot;
        if (slot < SLOT_STATES)
            continue;
        const State *state = emit->program->methods->states.items[slot - SLOT_STATES];
        const char *name = emit->state_names[slot - SLOT_STATES];
        if (!state->starts_from_parameter)
            continue;
        writer_line(out, "if (!%s_exists)", name);
        writer_line(out, "    memcpy(%s, weights, sizeof(real) * %s);", name, state->covers_buffers ? "WEIGHTS" : "TRAINED");
        writer_line(out, "%s_exists = true;", name);
    }
}

/* ---- actions ---- */

typedef struct Printed { const ElementProgram *program; const char *on_weights, *on_buffers; bool by_tensor; } Printed;
typedef Array(Printed) PrintedArray;

static bool differs_on_buffers(const ElementProgram *program)
{
    for (int i = 0; i < program->assignments.count; i++) {
        const Expr *value = program->assignments.items[i].value;
        if (uses_scalar(value, "is_buffer") || expr_uses_input(value, SLOT_GRADIENT))
            return true;
    }
    return false;
}

/* Two calls of one function of a method make two programs of the same text. */
static bool same_program(const ElementProgram *a, const ElementProgram *b)
{
    bool same = text_equal(a->method, b->method) && text_equal(a->name, b->name) && a->assignments.count == b->assignments.count
             && a->folds.count == b->folds.count;
    for (int i = 0; same && i < a->assignments.count; i++)
        same = a->assignments.items[i].slot == b->assignments.items[i].slot
            && a->assignments.items[i].value == b->assignments.items[i].value;
    for (int i = 0; same && i < a->folds.count; i++)
        same = a->folds.items[i] == b->folds.items[i];
    return same;
}

static bool fold_is_printed(const PrintedArray *done, const Fold *fold)
{
    for (int i = 0; i < done->count; i++)
        for (int k = 0; k < done->items[i].program->folds.count; k++)
            if (done->items[i].program->folds.items[k] == fold)
                return true;
    return false;
}

static const Printed *printed(Emit *emit, PrintedArray *done, const ElementProgram *program, bool covers_buffers, Writer *out)
{
    for (int i = 0; i < done->count; i++) {
        Printed *entry = &done->items[i];
        if (!same_program(entry->program, program))
            continue;
        if (covers_buffers && !entry->on_buffers)
            entry->on_buffers = differs_on_buffers(program) ? print_program(emit, program, true, out) : entry->on_weights;
        return entry;
    }
    Printed entry = { .program = program, .by_tensor = folds_by_tensor(program) };
    for (int i = 0; i < program->folds.count; i++)
        if (program->folds.items[i]->scope == SCOPE_MODEL && !fold_is_printed(done, program->folds.items[i]))
            print_fold(emit, program->folds.items[i], out);
    entry.on_weights = print_program(emit, program, false, out);
    if (covers_buffers)
        entry.on_buffers = differs_on_buffers(program) ? print_program(emit, program, true, out) : entry.on_weights;
    array_push(emit->arena, done, entry);
    return &done->items[done->count - 1];
}

static void print_run(Emit *emit, const Printed *printed, bool whole, Writer *out)
{
    print_first_writes(emit, printed->program, out);
    print_fold_calls(emit, printed->program, out);
    const char *last = printed->by_tensor ? "TRAINED_TENSORS" : "TRAINED";
    if (!whole)
        writer_line(out, "%s(%s, %s);", printed->on_weights, printed->by_tensor ? "now.first_tensor" : "now.first_trained", last);
    else if (printed->on_buffers == printed->on_weights)
        writer_line(out, "%s(0, %s);", printed->on_weights, printed->by_tensor ? "TENSORS" : "WEIGHTS");
    else {
        writer_line(out, "%s(0, %s);", printed->on_weights, last);
        writer_line(out, "%s(%s, %s);", printed->on_buffers, last, printed->by_tensor ? "TENSORS" : "WEIGHTS");
    }
}

static void print_action(Emit *emit, const Action *action, PrintedArray *done, Writer *out)
{
    switch (action->kind) {
    case ACTION_EACH_PARAMETER:
    case ACTION_EACH_WEIGHT:
        print_run(emit, printed(emit, done, action->program, false, NULL), action->kind == ACTION_EACH_WEIGHT, out);
        break;
    case ACTION_GRADIENT_PASS:
        if (action->redrawn)
            writer_line(out, "draw_again();");
        writer_line(out, "gradient_pass(kind);");
        break;
    case ACTION_SET_STATE:
        bug("states are set together");
    }
}

/* Actions in a row under one condition stand in one block: nothing that a condition reads changes within an event. */
static int print_actions(Emit *emit, const ActionArray *actions, int from, PrintedArray *done, Writer *out)
{
    const Expr *condition = actions->items[from].condition;
    int to = from;
    if (condition)
        writer_line(out, "if (%s) {", emit_host_expr(emit, condition));
    for (; to < actions->count && actions->items[to].kind != ACTION_SET_STATE && actions->items[to].condition == condition; to++)
        print_action(emit, &actions->items[to], done, out);
    if (condition)
        writer_line(out, "}");
    return to;
}

static bool reads(const Expr *expr, const Scalar *scalar)
{
    if (expr->op == EXPR_scalar)
        return expr->scalar == scalar;
    for (int i = 0; i < expr_info[expr->op].operands; i++)
        if (reads(expr->operand[i], scalar))
            return true;
    return false;
}

/* States that a method sets at the end of its event change together: where a later value reads a state set before it,
 * all values are made first. Returns the action behind them. */
static int print_states_set(Emit *emit, const ActionArray *actions, int first, Writer *out)
{
    int end = first;
    bool together = false;
    for (; end < actions->count && actions->items[end].kind == ACTION_SET_STATE
           && text_equal(actions->items[end].method, actions->items[first].method); end++)
        for (int before = first; before < end; before++)
            together |= reads(actions->items[end].value, actions->items[before].state->scalar);
    if (together)
        writer_line(out, "{");
    for (int i = first; together && i < end; i++)
        writer_line(out, "const %s %s = %s;", actions->items[i].state->type == TYPE_FLOAT ? "double" : "long",
                    emit_field(emit, actions->items[i].state->scalar), emit_host_expr(emit, actions->items[i].value));
    for (int i = first; i < end; i++) {
        const char *field = emit_field(emit, actions->items[i].state->scalar);
        emit_scalar(emit, actions->items[i].state->scalar);
        writer_line(out, "state.%s = %s;", field, together ? field : emit_host_expr(emit, actions->items[i].value));
    }
    if (together)
        writer_line(out, "}");
    return end;
}

static void print_event(Emit *emit, const char *name, const ActionArray *actions, PrintedArray *done, Writer *out)
{
    if (!actions->count)
        return;
    bool passes = false;
    for (int i = 0; i < actions->count; i++) {
        passes |= actions->items[i].kind == ACTION_GRADIENT_PASS;
        if (actions->items[i].program)
            printed(emit, done, actions->items[i].program, actions->items[i].kind == ACTION_EACH_WEIGHT, out);
    }
    writer_blank(out);
    writer_comment(out, text_format(emit->arena, "ON(%s)", name + strlen("on_")));
    writer_line(out, "static void %s(%s)", name, passes ? "const struct kind *kind" : "void");
    writer_line(out, "{");
    for (int i = 0; i < actions->count;)
        if (actions->items[i].kind == ACTION_SET_STATE)
            i = print_states_set(emit, actions, i, out);
        else
            i = print_actions(emit, actions, i, done, out);
    writer_line(out, "}");
}

/* ON(step) may ask for the gradient again. */
static void print_prototypes(const Methods *methods, Writer *body)
{
    bool passes = false, redraws = false;
    for (int i = 0; i < methods->step.count; i++) {
        passes |= methods->step.items[i].kind == ACTION_GRADIENT_PASS;
        redraws |= methods->step.items[i].kind == ACTION_GRADIENT_PASS && methods->step.items[i].redrawn;
    }
    if (passes) {
        writer_blank(body);
        writer_line(body, "static void gradient_pass(const struct kind *kind);");
    }
    if (redraws)
        writer_line(body, "static void draw_again(void);");
}

/* `on_gradients` ends every gradient pass; `on_step`, `update`, `on_batch_end`, `on_epoch_end` follow in the loop. */
void emit_element_programs(Emit *emit, Writer *plan, Writer *body)
{
    Methods *methods = emit->program->methods;
    PrintedArray done = { 0 };
    print_states(emit, plan);
    for (int i = 0; i < methods->gradients.count; i++)
        printed(emit, &done, methods->gradients.items[i], false, body);
    if (methods->gradients.count) {
        writer_blank(body);
        writer_line(body, "static void on_gradients(void)");
        writer_line(body, "{");
        for (int i = 0; i < methods->gradients.count; i++)
            print_run(emit, printed(emit, &done, methods->gradients.items[i], false, body), false, body);
        writer_line(body, "}");
    }
    printed(emit, &done, methods->update, false, body);
    writer_blank(body);
    writer_line(body, "static void update(void)");
    writer_line(body, "{");
    if (emit_uses_time(emit, "update_count"))
        writer_line(body, "now.update_count++;");
    print_run(emit, printed(emit, &done, methods->update, false, body), false, body);
    writer_line(body, "}");
    print_prototypes(methods, body);
    print_event(emit, "on_step", &methods->step, &done, body);
    print_event(emit, "on_batch_end", &methods->batch_end, &done, body);
    print_event(emit, "on_epoch_end", &methods->epoch_end, &done, body);
}
