/* eval_statements.c -- runs statements; after a return under a run-time condition, those where it wasn't taken. */
#include "front/eval.h"

static const Outcome go_on = { .flow = FLOW_NEXT };

static const Expr *not(Evaluator *ev, const Expr *condition)
{
    return expr_unary(ev->exprs, EXPR_not, condition);
}

/* When what a statement ends with returns, as a condition. */
static const Expr *returns_when(Evaluator *ev, Outcome outcome)
{
    return outcome.flow == FLOW_MAYBE ? outcome.returned : expr_truth(ev->exprs, outcome.flow == FLOW_RETURN);
}

/* How a statement ends where it doesn't return; FLOW_RETURN: it always does. */
static Flow without_return(Outcome outcome)
{
    return outcome.flow == FLOW_MAYBE ? outcome.otherwise : outcome.flow;
}

static Flow merged_flow(Evaluator *ev, Place place, Flow a, Flow b)
{
    if (a == b || b == FLOW_RETURN)
        return a;
    if (a == FLOW_RETURN)
        return b;
    eval_fail(ev, place, "%s under a condition that is known only at run time",
              a == FLOW_BREAK || b == FLOW_BREAK ? "break" : "continue");
}

static Value merged_returns(Evaluator *ev, Place place, const Expr *condition, Value a, Value b)
{
    if (a.kind == VALUE_VOID || b.kind == VALUE_VOID)       /* one side doesn't return, or nothing is returned */
        return a.kind == VALUE_VOID ? b : a;
    Value merged = eval_merge(ev, condition, a, b);
    if (merged.kind == VALUE_VOID)
        eval_fail(ev, place, "a condition that is known at run time can choose between numbers only, "
                  "not %s", value_describe(a));
    return merged;
}

/* What two sides of a condition come to. */
static Outcome merge_outcomes(Evaluator *ev, Place place, const Expr *condition, Outcome a, Outcome b)
{
    Flow flow = merged_flow(ev, place, without_return(a), without_return(b));
    const Expr *returned = expr_select(ev->exprs, condition, returns_when(ev, a), returns_when(ev, b));
    if (expr_is_constant(returned) && expr_value(returned) == 0)
        return (Outcome){ .flow = flow };
    Value value = merged_returns(ev, place, condition, a.value, b.value);
    if (flow == FLOW_RETURN)
        return (Outcome){ .flow = FLOW_RETURN, .value = value };
    return (Outcome){ FLOW_MAYBE, flow, returned, value };
}

/* After `if (c) return x;` with a condition known at run time, everything up to the end of the function, or
 * of the side of a condition around it, runs in a branch where x was not returned. */
static Outcome go_on_elsewhere(Evaluator *ev, Outcome outcome)
{
    if (outcome.flow != FLOW_MAYBE)
        return outcome;
    array_push(ev->arena, &ev->frame->returns, (EarlyReturn){ outcome.returned, outcome.value });
    eval_branch_enter(ev, not(ev, outcome.returned));
    return (Outcome){ .flow = outcome.otherwise };
}

/* Ends the branches that returns opened since there were `open` of them. */
static Outcome close_returns(Evaluator *ev, Place place, int open, Outcome outcome)
{
    ChangeArray none = { 0 };
    while (ev->frame->returns.count > open) {
        EarlyReturn early = ev->frame->returns.items[--ev->frame->returns.count];
        ChangeArray changes = eval_branch_leave(ev);
        eval_branches_merge(ev, early.returned, &none, &changes);
        Outcome taken = { .flow = FLOW_RETURN, .value = early.value };
        outcome = merge_outcomes(ev, place, early.returned, taken, outcome);
    }
    return outcome;
}

Outcome eval_body(Evaluator *ev, const CFunction *function)
{
    return close_returns(ev, function->place, 0, eval_statement(ev, function->body));
}

/* ---- blocks ---- */
static Outcome block_from(Evaluator *ev, const Tree *tree, int from)
{
    for (int i = from; i < tree->part_count; i++) {
        Outcome outcome = eval_statement(ev, tree->parts[i]);
        if (outcome.flow != FLOW_NEXT)
            return outcome;
    }
    return go_on;
}

static Outcome block(Evaluator *ev, const Tree *tree)
{
    return block_from(ev, tree, 0);
}

static Outcome declaration(Evaluator *ev, const Tree *tree)
{
    Value *cell = arena_new(ev->arena, Value);
    *cell = tree->part_count ? value_initialized(ev, tree->type, tree->parts[0])
                             : value_unset(ev, tree->type);
    ev->frame->cells[tree->index] = cell;
    return go_on;
}

static Outcome expression(Evaluator *ev, const Tree *tree)
{
    eval(ev, tree->parts[0]);
    return go_on;
}

/* One side of an if whose condition is known at run time. */
static Outcome side_in_branch(Evaluator *ev, const Tree *tree, int part, const Expr *condition,
                              ChangeArray *changes)
{
    eval_branch_enter(ev, condition);
    int open = ev->frame->returns.count;
    Outcome outcome = part < tree->part_count ? eval_statement(ev, tree->parts[part]) : go_on;
    outcome = close_returns(ev, tree->place, open, outcome);
    *changes = eval_branch_leave(ev);
    return outcome;
}

static Outcome if_statement(Evaluator *ev, const Tree *tree)
{
    const Expr *condition = eval_condition(ev, tree->parts[0]);
    if (expr_is_constant(condition)) {
        int part = expr_value(condition) != 0 ? 1 : 2;
        return part < tree->part_count ? eval_statement(ev, tree->parts[part]) : go_on;
    }
    eval_require_symbolic(ev, tree->parts[0]->place);
    ChangeArray then_changes, other_changes;
    Outcome then = side_in_branch(ev, tree, 1, condition, &then_changes);
    Outcome other = side_in_branch(ev, tree, 2, not(ev, condition), &other_changes);
    eval_branches_merge(ev, condition, &then_changes, &other_changes);
    return go_on_elsewhere(ev, merge_outcomes(ev, tree->place, condition, then, other));
}

/* ---- loops ---- */
typedef struct Loop {
    const Tree *condition, *step, *body;        /* NULL: absent */
} Loop;

static Loop loop_of(const Tree *tree)
{
    if (tree->kind == TREE_FOR)
        return (Loop){ tree->parts[1], tree->parts[2], tree->parts[3] };
    if (tree->kind == TREE_WHILE)
        return (Loop){ tree->parts[0], NULL, tree->parts[1] };
    return (Loop){ tree->parts[1], NULL, tree->parts[0] };
}

static bool goes_on(Evaluator *ev, const Loop *loop)
{
    if (!loop->condition)
        return true;
    const Expr *condition = eval_condition(ev, loop->condition);
    if (!expr_is_constant(condition))
        eval_fail(ev, loop->condition->place, "the number of turns of a loop must be known at generation; "
                  "this condition is known only when the program runs");
    return expr_value(condition) != 0;
}

/* Turns until the condition fails; `entered`: the first turn doesn't ask. */
static Outcome loop(Evaluator *ev, const Tree *tree, bool entered)
{
    Loop parts = loop_of(tree);
    for (;; entered = false) {
        if (!entered && !goes_on(ev, &parts))
            return go_on;
        Outcome outcome = eval_statement(ev, parts.body);
        if (outcome.flow == FLOW_BREAK)
            return go_on;
        if (outcome.flow == FLOW_RETURN)
            return outcome;
        if (parts.step)
            eval_statement(ev, parts.step);
    }
}

static Outcome for_loop(Evaluator *ev, const Tree *tree)
{
    if (tree->parts[0])
        eval_statement(ev, tree->parts[0]);
    return loop(ev, tree, false);
}

static Outcome while_loop(Evaluator *ev, const Tree *tree)
{
    return loop(ev, tree, false);
}

static Outcome do_loop(Evaluator *ev, const Tree *tree)
{
    return loop(ev, tree, true);
}

/* ---- jumps ---- */
static int find_label(const Tree *block, int64_t value)
{
    int otherwise = block->part_count;
    for (int i = 0; i < block->part_count; i++) {
        if (block->parts[i]->kind == TREE_CASE && block->parts[i]->integer == value)
            return i;
        if (block->parts[i]->kind == TREE_DEFAULT)
            otherwise = i;
    }
    return otherwise;
}

static Outcome switch_statement(Evaluator *ev, const Tree *tree)
{
    const Expr *value = value_number(ev, tree->parts[0]->place, eval(ev, tree->parts[0]));
    if (!expr_is_constant(value))
        eval_fail(ev, tree->parts[0]->place, "a switch needs a value that is known at generation; use if");
    Outcome outcome = block_from(ev, tree->parts[1], find_label(tree->parts[1], (int64_t)expr_value(value)));
    return outcome.flow == FLOW_BREAK ? go_on : outcome;
}

static Outcome label(Evaluator *ev, const Tree *tree)
{
    (void)ev, (void)tree;
    return go_on;
}

static Outcome jump(Evaluator *ev, const Tree *tree)
{
    (void)ev;
    return (Outcome){ .flow = tree->kind == TREE_BREAK ? FLOW_BREAK : FLOW_CONTINUE };
}

/* The value is copied at once: what runs after a return that is only perhaps taken may change its cells. */
static Outcome return_statement(Evaluator *ev, const Tree *tree)
{
    Outcome outcome = { .flow = FLOW_RETURN };
    if (tree->part_count == 0)
        return outcome;
    Value value = eval(ev, tree->parts[0]);
    outcome.value = value_converted(ev, tree->parts[0]->place, value, ev->frame->function->result);
    return outcome;
}

Outcome eval_statement(Evaluator *ev, const Tree *tree)
{
    static Outcome (*const runners[TREE_KINDS])(Evaluator *, const Tree *) = {
        [TREE_BLOCK] = block, [TREE_DECLARATION] = declaration, [TREE_EXPRESSION] = expression,
        [TREE_IF] = if_statement, [TREE_FOR] = for_loop, [TREE_WHILE] = while_loop, [TREE_DO] = do_loop,
        [TREE_SWITCH] = switch_statement, [TREE_CASE] = label, [TREE_DEFAULT] = label, [TREE_BREAK] = jump,
        [TREE_CONTINUE] = jump, [TREE_RETURN] = return_statement,
    };
    if (!runners[tree->kind])
        bug("tree of kind %d is no statement", (int)tree->kind);
    if (tree->kind != TREE_BLOCK)
        ev->place = tree->place;
    eval_step(ev, tree->place);
    if (++ev->nesting > DEEPEST_EVALUATION)
        eval_fail(ev, tree->place, "calls and expressions are nested too deeply");
    Outcome outcome = runners[tree->kind](ev, tree);
    ev->nesting--;
    return outcome;
}
