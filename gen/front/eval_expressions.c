/* eval_expressions.c -- expressions of the tree to values and cells. */
#include "front/eval.h"

static Value *temporary(Evaluator *ev, Value value)
{
    Value *cell = arena_new(ev->arena, Value);
    *cell = value;
    return cell;
}

/* ---- cells ---- */
static Value *local_cell(Evaluator *ev, const Tree *tree)
{
    Value *cell = ev->frame ? ev->frame->cells[tree->index] : NULL;
    if (!cell)
        eval_fail(ev, tree->place, "the declaration of '%s' was jumped over", tree->name);
    return cell;
}

static Value *pointed_to(Evaluator *ev, const Tree *tree, const Value *pointer)
{
    if (pointer->kind != VALUE_POINTER)
        eval_fail(ev, tree->place, "expected a pointer, got %s", value_describe(*pointer));
    if (!pointer->target)
        eval_fail(ev, tree->place, "a null pointer is followed here");
    return pointer->target;
}

static Value *member_cell(Evaluator *ev, const Tree *tree)
{
    Value *base = eval_cell(ev, tree->parts[0]);
    if (base->kind == VALUE_POINTER)
        base = pointed_to(ev, tree, base);
    if (base->kind == VALUE_ARRAY && base->array.count)         /* array->field: of its first item */
        base = &base->array.items[0];
    if (base->kind != VALUE_STRUCT)
        eval_fail(ev, tree->place, "'%s' is asked of %s", tree->name, value_describe(*base));
    if (tree->index < base->record.count && text_equal(base->record.fields[tree->index].name, tree->name))
        return base->record.fields[tree->index].value;
    Value *cell = value_field(base, tree->name);
    if (!cell)
        eval_fail(ev, tree->place, "struct %s has no '%s' here", base->record.type, tree->name);
    return cell;
}

static const char *name_of(Evaluator *ev, const Tree *tree)
{
    return tree->name ? text_format(ev->arena, "'%s'", tree->name) : "this array";
}

/* At an index that is known at run time an item is computed, so there is no cell to store to. */
static Value *computed_item(Evaluator *ev, const Tree *tree, const Value *array, const Expr *index,
                            bool stored)
{
    if (stored)
        eval_fail(ev, tree->place, "an item of %s can't be assigned here: %s", name_of(ev, tree->parts[0]),
                  array->kind == VALUE_TABLE ? "it is a table" : "its index is known only at run time");
    return temporary(ev, value_scalar(eval_item_by_expression(ev, tree, array, index)));
}

static Value *subscript_cell(Evaluator *ev, const Tree *tree, bool stored)
{
    Value *base = eval_cell(ev, tree->parts[0]);
    const Expr *index = value_number(ev, tree->parts[1]->place, eval(ev, tree->parts[1]));
    index = expr_convert(ev->exprs, index, TYPE_INT);
    if (base->kind == VALUE_POINTER)
        base = pointed_to(ev, tree, base);
    if (base->kind == VALUE_TEXT)
        eval_fail(ev, tree->place, "the letters of a text can't be assigned");
    Value single = { .kind = VALUE_ARRAY, .array = { base, 1 } };       /* p[0] of a pointer to one value */
    const Value *array = base->kind == VALUE_ARRAY || base->kind == VALUE_TABLE ? base : &single;
    if (array->kind == VALUE_TABLE || !expr_is_constant(index))
        return computed_item(ev, tree, array, index, stored);
    if (index->integer < 0 || index->integer >= array->array.count)
        eval_fail(ev, tree->place, "item %lld of %s, which has %d", (long long)index->integer,
                  name_of(ev, tree->parts[0]), array->array.count);
    return &array->array.items[index->integer];
}

static Value *dereference_cell(Evaluator *ev, const Tree *tree)
{
    Value *pointer = eval_cell(ev, tree->parts[0]);
    Value *target = pointer->kind == VALUE_ARRAY ? pointer : pointed_to(ev, tree, pointer);
    if (target->kind == VALUE_ARRAY && tree->type->kind != CTYPE_ARRAY && target->array.count)
        return &target->array.items[0];
    return target;
}

static Value *find_cell(Evaluator *ev, const Tree *tree, bool stored)
{
    switch (tree->kind) {
    case TREE_LOCAL: return local_cell(ev, tree);
    case TREE_GLOBAL: return eval_global(ev, tree->variable);
    case TREE_MEMBER: return member_cell(ev, tree);
    case TREE_SUBSCRIPT: return subscript_cell(ev, tree, stored);
    case TREE_DEREFERENCE:
        if (tree->parts[0]->type->kind == CTYPE_FUNCTION)
            break;
        return dereference_cell(ev, tree);
    default: break;
    }
    return temporary(ev, eval(ev, tree));
}

Value *eval_cell(Evaluator *ev, const Tree *tree)
{
    return find_cell(ev, tree, false);
}

static Value value_in(Evaluator *ev, const Tree *tree, const Value *cell)
{
    Value value = *cell;
    if (value.kind == VALUE_VOID)
        eval_fail(ev, tree->place, "%s has no value here: it was not set, or only on one side of a condition "
                  "that is known at run time", tree->name ? name_of(ev, tree) : "this");
    return value;
}

static Value read_cell(Evaluator *ev, const Tree *tree)
{
    return value_in(ev, tree, eval_cell(ev, tree));
}

/* ---- values ---- */
static Value constant(Evaluator *ev, const Tree *tree)
{
    if (tree->kind == TREE_NUMBER)
        return value_scalar(expr_number(ev->exprs, tree->number));
    if (tree->kind == TREE_INTEGER)
        return value_scalar(expr_integer(ev->exprs, tree->integer));
    if (tree->kind == TREE_TEXT)
        return value_text(tree->text);
    return (Value){ .kind = VALUE_FUNCTION, .function = tree->function };
}

static Value unary(Evaluator *ev, const Tree *tree)
{
    Value value = eval(ev, tree->parts[0]);
    if (tree->op == EXPR_not)
        return value_scalar(expr_unary(ev->exprs, EXPR_not, value_truth(ev, tree->place, value)));
    const Expr *operand = value_number(ev, tree->parts[0]->place, value);
    return value_scalar(eval_unary_operation(ev, tree->place, tree->op, operand));
}

/* Of pointers there is == and != only; null is equal to null whatever it would point to. */
static const Expr *compare_pointers(Evaluator *ev, const Tree *tree, Value a, Value b)
{
    bool a_there = a.kind != VALUE_SCALAR && expr_value(value_truth(ev, tree->place, a)) != 0;
    bool b_there = b.kind != VALUE_SCALAR && expr_value(value_truth(ev, tree->place, b)) != 0;
    bool equal = a_there == b_there;
    if (a_there && b_there)
        equal = a.kind == b.kind && (a.kind == VALUE_TENSOR     ? a.tensor == b.tensor
                                     : a.kind == VALUE_TEXT     ? text_equal(a.text, b.text)
                                     : a.kind == VALUE_FUNCTION ? a.function == b.function
                                                                : a.target == b.target);
    return expr_truth(ev->exprs, equal == (tree->op == EXPR_eq));
}

static Value binary(Evaluator *ev, const Tree *tree)
{
    Value a = eval(ev, tree->parts[0]), b = eval(ev, tree->parts[1]);
    bool pointers = a.kind != VALUE_SCALAR || b.kind != VALUE_SCALAR;
    if (pointers && (tree->op == EXPR_eq || tree->op == EXPR_ne))
        return value_scalar(compare_pointers(ev, tree, a, b));
    const Expr *left = value_number(ev, tree->parts[0]->place, a);
    const Expr *right = value_number(ev, tree->parts[1]->place, b);
    return value_scalar(eval_operation(ev, tree->place, tree->op, left, right));
}

const Expr *eval_condition(Evaluator *ev, const Tree *tree)
{
    return value_truth(ev, tree->place, eval(ev, tree));
}

/* The right side is evaluated only where it matters; with a left side known at run time, in a branch. */
static Value logical(Evaluator *ev, const Tree *tree)
{
    const Expr *left = eval_condition(ev, tree->parts[0]);
    bool is_and = tree->op == EXPR_and;
    if (expr_is_constant(left)) {
        bool decided = (expr_value(left) != 0) != is_and;
        return value_scalar(decided ? left : eval_condition(ev, tree->parts[1]));
    }
    const Expr *reached = is_and ? left : expr_unary(ev->exprs, EXPR_not, left);
    ChangeArray none = { 0 };
    eval_branch_enter(ev, reached);
    const Expr *right = eval_condition(ev, tree->parts[1]);
    ChangeArray changes = eval_branch_leave(ev);
    eval_branches_merge(ev, reached, &changes, &none);
    return value_scalar(expr_binary(ev->exprs, (ExprOp)tree->op, left, right));
}

static Value converted_side(Evaluator *ev, const Tree *tree, int side)
{
    Value value = eval(ev, tree->parts[side]);
    if (tree->type->kind == CTYPE_VOID)
        return value;
    return value_converted(ev, tree->parts[side]->place, value, tree->type);
}

static Value conditional(Evaluator *ev, const Tree *tree)
{
    const Expr *condition = eval_condition(ev, tree->parts[0]);
    if (expr_is_constant(condition))
        return converted_side(ev, tree, expr_value(condition) != 0 ? 1 : 2);
    eval_require_symbolic(ev, tree->place);
    eval_branch_enter(ev, condition);
    Value then = converted_side(ev, tree, 1);
    ChangeArray then_changes = eval_branch_leave(ev);
    eval_branch_enter(ev, expr_unary(ev->exprs, EXPR_not, condition));
    Value other = converted_side(ev, tree, 2);
    ChangeArray other_changes = eval_branch_leave(ev);
    eval_branches_merge(ev, condition, &then_changes, &other_changes);
    Value merged = eval_merge(ev, condition, then, other);
    if (merged.kind == VALUE_VOID && tree->type->kind != CTYPE_VOID)
        eval_fail(ev, tree->place, "a condition that is known at run time can choose between numbers only, "
                  "not %s", value_describe(then));
    return merged;
}

static Value assign(Evaluator *ev, const Tree *tree)
{
    const Tree *target = tree->parts[0];
    Value value = eval(ev, tree->parts[1]);
    Value *cell = find_cell(ev, target, true);
    if (tree->op != NO_OPERATOR) {
        const Expr *before = value_number(ev, target->place, value_in(ev, target, cell));
        const Expr *operand = value_number(ev, tree->parts[1]->place, value);
        value = value_scalar(eval_operation(ev, tree->place, tree->op, before, operand));
    }
    value = value_converted(ev, tree->parts[1]->place, value, target->type);
    value_store(ev, cell, value);
    return value;
}

static Value step(Evaluator *ev, const Tree *tree)
{
    const Tree *target = tree->parts[0];
    Value *cell = find_cell(ev, target, true);
    Value before = value_in(ev, target, cell);
    const Expr *number = value_number(ev, target->place, before);
    number = eval_operation(ev, tree->place, tree->op, number, expr_integer(ev->exprs, 1));
    Value after = value_converted(ev, tree->place, value_scalar(number), target->type);
    value_store(ev, cell, after);
    return tree->index ? before : after;
}

static Value comma(Evaluator *ev, const Tree *tree)
{
    eval(ev, tree->parts[0]);
    return eval(ev, tree->parts[1]);
}

static Value address(Evaluator *ev, const Tree *tree)
{
    return (Value){ .kind = VALUE_POINTER, .target = eval_cell(ev, tree->parts[0]) };
}

/* (void)x only says that x is not used. */
static Value cast(Evaluator *ev, const Tree *tree)
{
    if (tree->type->kind == CTYPE_VOID && tree->parts[0]->kind <= TREE_GLOBAL)
        return (Value){ .kind = VALUE_VOID };
    return value_converted(ev, tree->place, eval(ev, tree->parts[0]), tree->type);
}

static Value compound(Evaluator *ev, const Tree *tree)
{
    return value_initialized(ev, tree->type, tree->parts[0]);
}

static Value dereference(Evaluator *ev, const Tree *tree)
{
    if (tree->parts[0]->type->kind == CTYPE_FUNCTION)
        return eval(ev, tree->parts[0]);
    return read_cell(ev, tree);
}

static Value text_item(Evaluator *ev, const Tree *tree)
{
    Value text = eval(ev, tree->parts[0]);
    const Expr *index = value_number(ev, tree->place, eval(ev, tree->parts[1]));
    if (text.kind != VALUE_TEXT || !text.text || !expr_is_constant(index) || expr_value(index) < 0
        || expr_value(index) > (double)strlen(text.text))
        eval_fail(ev, tree->place, "there is no such letter in this text");
    return value_scalar(expr_integer(ev->exprs, text.text[(size_t)expr_value(index)]));
}

static Value subscript(Evaluator *ev, const Tree *tree)
{
    return tree->parts[0]->type->kind == CTYPE_TEXT ? text_item(ev, tree) : read_cell(ev, tree);
}

Value eval(Evaluator *ev, const Tree *tree)
{
    static Value (*const evaluators[TREE_KINDS])(Evaluator *, const Tree *) = {
        [TREE_INTEGER] = constant, [TREE_NUMBER] = constant, [TREE_TEXT] = constant,
        [TREE_FUNCTION] = constant, [TREE_LOCAL] = read_cell, [TREE_GLOBAL] = read_cell,
        [TREE_MEMBER] = read_cell, [TREE_SUBSCRIPT] = subscript, [TREE_DEREFERENCE] = dereference,
        [TREE_CALL] = eval_call, [TREE_UNARY] = unary, [TREE_BINARY] = binary, [TREE_LOGICAL] = logical,
        [TREE_ASSIGN] = assign, [TREE_STEP] = step, [TREE_CONDITIONAL] = conditional, [TREE_COMMA] = comma,
        [TREE_ADDRESS] = address, [TREE_CAST] = cast, [TREE_COMPOUND] = compound,
    };
    eval_step(ev, tree->place);
    if (!evaluators[tree->kind])
        bug("tree of kind %d is no expression", (int)tree->kind);
    if (++ev->nesting > DEEPEST_EVALUATION)
        eval_fail(ev, tree->place, "calls and expressions are nested too deeply");
    Value value = evaluators[tree->kind](ev, tree);
    ev->nesting--;
    return value;
}
