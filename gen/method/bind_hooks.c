/* bind_hooks.c -- HOOKs as expressions: the methods' hooks at a point run one after another in their order. */
#include "method/inside.h"

typedef struct Point {
    const char *name;
    int arguments;
} Point;

static void remember(Methods *methods, const char *point, const Method *method, bool live)
{
    Hook hook = { point, method->name };
    if (live)
        array_push(methods->arena, &methods->live, hook);
    else
        array_push(methods->arena, &methods->dead, hook);
}

static bool call_hook(Methods *methods, Method *method, const char *point, const Value *arguments, int count, int64_t heads,
                      const Expr **result)
{
    const CFunction *function = method_function(method, "hook_", point);
    Scene *scene = scene_create(methods, method, FOR_HOOK);
    scene->head_count = heads;
    scene->site = text_hash(text_format(methods->arena, "%s.hook.%s", method->name, point));
    Value value;
    if (!scene_call(scene, function, arguments, count, &value) || !states_are_untouched(scene, function))
        return false;
    if (value.kind != VALUE_SCALAR) {
        complain(methods->diag, cfunction_place(function), "HOOK(%s) gives a number", point);
        return false;
    }
    *result = value.scalar;
    return true;
}

static bool has_hook(const Method *method, const char *point)
{
    return !method->is_neutral && method_function(method, "hook_", point);
}

static Value input(Methods *methods, int slot)
{
    return value_scalar(expr_input(methods->exprs, slot, TYPE_FLOAT));
}

static Value index_of(Methods *methods, int axis)
{
    return value_scalar(expr_index(methods->exprs, axis));
}

/* The hooks at `point` in order: arguments[0] of the first is input 0, of every later one what the one before gave.
 * *result stays NULL when all of them change nothing. */
static bool chain(Methods *methods, const char *point, Value *arguments, int count, int64_t heads, bool noted, const Expr **result)
{
    const Expr *first = arguments[0].scalar;
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        const Expr *made;
        if (!has_hook(method, point))
            continue;
        if (!call_hook(methods, method, point, arguments, count, heads, &made))
            return false;
        if (noted)
            remember(methods, point, method, made != arguments[0].scalar);
        arguments[0] = value_scalar(made);
    }
    *result = arguments[0].scalar == first ? NULL : arguments[0].scalar;
    return true;
}

static bool bind_pixels(Methods *methods)
{
    Value pixel[] = { input(methods, 0), index_of(methods, 0), index_of(methods, 1), index_of(methods, 2) };
    Value mixed[] = { input(methods, 0), input(methods, 1), index_of(methods, 0), index_of(methods, 1), index_of(methods, 2) };
    return chain(methods, "pixel", pixel, 4, 0, true, &methods->pixel) && chain(methods, "mixed_pixel", mixed, 5, 0, true, &methods->mixed_pixel);
}

static bool bind_partner_weight(Methods *methods)
{
    methods->partner_weight = NULL;
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        if (!has_hook(method, "partner_weight"))
            continue;
        if (methods->partner_weight) {
            complain(methods->diag, method->choice.place, "two methods mix targets; one partner a row is all there is");
            return false;
        }
        if (!call_hook(methods, method, "partner_weight", NULL, 0, 0, &methods->partner_weight))
            return false;
        bool live = !expr_is_number(methods->partner_weight, 0);
        remember(methods, "partner_weight", method, live);
        methods->partner_weight = live ? methods->partner_weight : NULL;
    }
    return true;
}

/* What the last method shows at y is what the one before it showed there: the chain runs backwards. */
static bool bind_source(Methods *methods, const char *point, const Expr **result)
{
    const Expr *place = expr_index(methods->exprs, 0);
    for (int i = methods->list.count - 1; i >= 0; i--) {
        Method *method = methods->list.items[i];
        const Expr *made;
        if (!has_hook(method, point))
            continue;
        Value argument = value_scalar(place);
        if (!call_hook(methods, method, point, &argument, 1, 0, &made))
            return false;
        remember(methods, point, method, made != place);
        place = made;
    }
    *result = place == expr_index(methods->exprs, 0) ? NULL : place;
    return true;
}

/* Points that are bound where they are used; --explain must know them too. */
static bool note_others(Methods *methods)
{
    const Expr *ignored;
    Value target[] = { input(methods, 0), value_scalar(expr_integer(methods->exprs, methods->facts.class_count > 1 ? methods->facts.class_count : 2)) };
    Value score[] = { input(methods, 0), index_of(methods, 0), value_scalar(expr_integer(methods->exprs, 8)), index_of(methods, 1),
                      index_of(methods, 2) };
    for (int i = 0; i < methods->list.count; i++)
        if (has_hook(methods->list.items[i], "rank_weight"))
            remember(methods, "rank_weight", methods->list.items[i], true);
    return chain(methods, "loss_target", target, 2, 0, true, &ignored) && chain(methods, "attention_score", score, 5, 8, true, &ignored);
}

bool bind_hooks(Methods *methods)
{
    return bind_pixels(methods) && bind_partner_weight(methods) && bind_source(methods, "source_row", &methods->source_row)
        && bind_source(methods, "source_column", &methods->source_column) && note_others(methods);
}

/* ---- bound where they are used ---- */

static const Expr *bound_hook(Methods *methods, const char *point, int64_t count, Value *arguments, int argument_count, int64_t heads)
{
    for (int i = 0; i < methods->bound.count; i++)
        if (text_equal(methods->bound.items[i].point, point) && methods->bound.items[i].count == count)
            return methods->bound.items[i].expr;
    BoundHook bound = { point, count, NULL };
    chain(methods, point, arguments, argument_count, heads, false, &bound.expr);
    array_push(methods->arena, &methods->bound, bound);
    return bound.expr;
}

const Expr *methods_loss_target(Methods *methods, int64_t class_count)
{
    Value arguments[] = { input(methods, 0), value_scalar(expr_integer(methods->exprs, class_count)) };
    return bound_hook(methods, "loss_target", class_count, arguments, 2, 0);
}

const Expr *methods_attention_score(Methods *methods, int64_t head_count)
{
    Value arguments[] = { input(methods, 0), index_of(methods, 0), value_scalar(expr_integer(methods->exprs, head_count)),
                          index_of(methods, 1), index_of(methods, 2) };
    return bound_hook(methods, "attention_score", head_count, arguments, 5, head_count);
}

bool methods_rank_weight(Methods *methods, int64_t rank, int64_t rows, double *weight)
{
    const Value arguments[] = { value_scalar(expr_integer(methods->exprs, rank)), value_scalar(expr_integer(methods->exprs, rows)) };
    *weight = 1;
    for (int i = 0; i < methods->list.count; i++) {
        Method *method = methods->list.items[i];
        const CFunction *function = method_function(method, "hook_", "rank_weight");
        double factor;
        if (!has_hook(method, "rank_weight"))
            continue;
        if (!scene_number(scene_create(methods, method, FOR_VALUE), function, arguments, 2, &factor))
            return false;
        *weight *= factor;
    }
    return true;
}
