/* eval_branches.c -- both sides of a condition that is known only at run time: log, set back, merge. */
#include "front/eval.h"

void eval_require_symbolic(Evaluator *ev, Place place)
{
    if (!ev->host->symbolic)
        eval_fail(ev, place, "this condition is known only when the program runs; "
                  "here it must be known at generation");
}

void eval_branch_enter(Evaluator *ev, const Expr *condition)
{
    if (ev->marks.count >= DEEPEST_BRANCH)
        eval_fail(ev, ev->place, "conditions known only at run time are nested more than %d deep",
                  DEEPEST_BRANCH);
    array_push(ev->arena, &ev->marks, ev->log.count);
    if (ev->host->enter_branch)
        ev->host->enter_branch(ev->host->context, condition);
}

/* Leaves only are logged, and each once a branch. */
void eval_log(Evaluator *ev, Value *cell)
{
    if (ev->marks.count == 0)
        return;
    int mark = ev->marks.items[ev->marks.count - 1];
    for (int i = ev->log.count - 1; i >= mark; i--)
        if (ev->log.items[i].cell == cell)
            return;
    array_push(ev->arena, &ev->log, (Change){ cell, *cell });
}

ChangeArray eval_branch_leave(Evaluator *ev)
{
    int mark = ev->marks.items[--ev->marks.count];
    ChangeArray changes = { 0 };
    for (int i = mark; i < ev->log.count; i++) {
        Change before = ev->log.items[i];
        array_push(ev->arena, &changes, (Change){ before.cell, *before.cell });
        *before.cell = before.value;
    }
    ev->log.count = mark;
    if (ev->host->leave_branch)
        ev->host->leave_branch(ev->host->context);
    return changes;
}

static const Change *change_of(const ChangeArray *changes, const Value *cell)
{
    for (int i = 0; i < changes->count; i++)
        if (changes->items[i].cell == cell)
            return &changes->items[i];
    return NULL;
}

void eval_branches_merge(Evaluator *ev, const Expr *condition, const ChangeArray *then,
                         const ChangeArray *other)
{
    for (int i = 0; i < then->count; i++) {
        Value *cell = then->items[i].cell;
        const Change *also = change_of(other, cell);
        value_store(ev, cell, eval_merge(ev, condition, then->items[i].value, also ? also->value : *cell));
    }
    for (int i = 0; i < other->count; i++) {
        Value *cell = other->items[i].cell;
        if (!change_of(then, cell))
            value_store(ev, cell, eval_merge(ev, condition, *cell, other->items[i].value));
    }
}

static const Expr *merge_scalars(Evaluator *ev, const Expr *condition, const Expr *a, const Expr *b)
{
    if (a->type != b->type) {
        ScalarType type = a->type == TYPE_FLOAT || b->type == TYPE_FLOAT ? TYPE_FLOAT : TYPE_INT;
        a = expr_convert(ev->exprs, a, type);
        b = expr_convert(ev->exprs, b, type);
    }
    return expr_select(ev->exprs, condition, a, b);
}

static Value merge_records(Evaluator *ev, const Expr *condition, Value a, Value b)
{
    Value merged = value_copied(ev, a);
    for (int i = 0; i < merged.record.count; i++) {
        const Value *other = value_field(&b, merged.record.fields[i].name);
        Value *cell = merged.record.fields[i].value;
        *cell = other ? eval_merge(ev, condition, *cell, *other) : (Value){ .kind = VALUE_VOID };
    }
    return merged;
}

static Value merge_arrays(Evaluator *ev, const Expr *condition, Value a, Value b)
{
    if (a.array.count != b.array.count)
        return (Value){ .kind = VALUE_VOID };
    Value merged = value_copied(ev, a);
    for (int i = 0; i < merged.array.count; i++)
        merged.array.items[i] = eval_merge(ev, condition, a.array.items[i], b.array.items[i]);
    return merged;
}

/* Only numbers can differ between the sides; what can't be merged has no value afterwards, and reading it is
 * the error. */
Value eval_merge(Evaluator *ev, const Expr *condition, Value a, Value b)
{
    bool same = false;
    if (a.kind == b.kind)
        switch (a.kind) {
        case VALUE_VOID: break;
        case VALUE_SCALAR: return value_scalar(merge_scalars(ev, condition, a.scalar, b.scalar));
        case VALUE_STRUCT: return merge_records(ev, condition, a, b);
        case VALUE_ARRAY: return merge_arrays(ev, condition, a, b);
        case VALUE_TEXT: same = text_equal(a.text, b.text); break;
        case VALUE_TENSOR: same = a.tensor == b.tensor; break;
        case VALUE_FUNCTION: same = a.function == b.function; break;
        case VALUE_POINTER: same = a.target == b.target; break;
        case VALUE_TABLE: same = a.table == b.table; break;
        }
    return same ? a : (Value){ .kind = VALUE_VOID };
}
