/* initial.c -- what a parameter starts with: PyTorch's default, then the initializer that the layer names,
 * then each of the recipe's list; all as one expression with random leaves keyed by the parameter's name. */
#include "front/layers/call.h"

#include <math.h>
#include <stdlib.h>

#define PREFIX "initializer_"

/* The draws of one parameter: a stream for each call of draw_... */
typedef struct Draws {
    ExprPool *exprs;
    Diagnostics *diag;
    uint64_t site;
    int next;
} Draws;

static const Expr *draw(Draws *draws, ExprOp op)
{
    return expr_random(draws->exprs, op, draws->site, draws->next++, NULL, NULL);
}

static bool host_call(void *context, Evaluator *evaluator, const CallSite *site, Value *arguments, int count,
                      Value *result)
{
    (void)evaluator, (void)arguments, (void)count;
    Draws *draws = context;
    bool uniform = text_equal(site->callee, "draw_uniform");
    if (!uniform && !text_equal(site->callee, "draw_normal")) {
        complain(draws->diag, site->place, "an initializer can call draw_uniform and draw_normal, not '%s'",
                 site->callee);
        return false;
    }
    *result = value_scalar(draw(draws, uniform ? EXPR_uniform : EXPR_normal));
    return true;
}

/* a + (b - a) u */
static const Expr *uniform_between(Draws *draws, double a, double b)
{
    ExprPool *pool = draws->exprs;
    const Expr *spread = expr_binary(pool, EXPR_mul, expr_number(pool, b - a), draw(draws, EXPR_uniform));
    return expr_binary(pool, EXPR_add, expr_number(pool, a), spread);
}

/* ---- functions of initializers.c ---- */

/* "normal_0.02" is INITIALIZER(normal) with a number after the weight_info. */
typedef struct Named {
    const CFunction *function;
    bool has_number;
    double number;
} Named;

static Named find_named(Builder *builder, const char *name)
{
    Arena *arena = builder->arena;
    Named named = { .function = cfile_find_function(builder->initializers,
                                                    text_format(arena, PREFIX "%s", name)) };
    const char *split = strrchr(name, '_');
    char *end = NULL;
    if (named.function || !split)
        return named;
    named.number = strtod(split + 1, &end);
    named.has_number = split[1] && !*end;
    if (named.has_number)
        named.function = cfile_find_function(builder->initializers,
                                             text_format(arena, PREFIX "%.*s", (int)(split - name), name));
    return named;
}

static bool complain_unknown_initializer(Builder *builder, Place place, const char *name)
{
    TextArray names = { 0 };
    for (int i = 0; builder->initializers && i < cfile_function_count(builder->initializers); i++) {
        const char *function = cfunction_name(cfile_function(builder->initializers, i));
        if (text_starts(function, PREFIX))
            array_push(builder->arena, &names, function + strlen(PREFIX));
    }
    const char *near = text_nearest(name, names.items, names.count);
    complain(builder->diag, place, "there is no initializer '%s'%s%s%s", name, near ? "; did you mean '" : "",
             near ? near : "", near ? "'?" : "");
    return false;
}

/* Finds the function and checks that it takes the number that the name gives it, or none. */
static bool check_named(Builder *builder, Place place, const char *name, Named *named)
{
    if (!builder->initializers)
        return complain_unknown_initializer(builder, place, name);
    *named = find_named(builder, name);
    if (!named->function)
        return complain_unknown_initializer(builder, place, name);
    bool takes_number = cfunction_parameter_count(named->function) > 1;
    if (takes_number == named->has_number)
        return true;
    complain(builder->diag, place, takes_number ? "initializer '%s' needs a number: '%s_0.02'"
                                                : "initializer '%s' takes no number", name, name);
    note(builder->diag, cfunction_place(named->function), "it is defined here");
    return false;
}

bool builder_add_initializer(Builder *builder, const char *name, Place place)
{
    Named named;
    if (!check_named(builder, place, name, &named))
        return false;
    array_push(builder->arena, &builder->initializer_uses, (InitializerUse){ name, place });
    return true;
}

static Value integer_value(ExprPool *pool, int64_t integer)
{
    return value_scalar(expr_integer(pool, integer));
}

/* struct weight_info of model.h */
static Value weight_info(Draws *draws, Arena *arena, const Weight *weight, const Expr *initial)
{
    static const char *const names[] = { "role", "fan_in", "fan_out", "initial" };
    const Value values[] = {
        integer_value(draws->exprs, weight->role), integer_value(draws->exprs, weight->fan_in),
        integer_value(draws->exprs, weight->fan_out), value_scalar(initial),
    };
    enum { FIELDS = sizeof names / sizeof *names };
    Field *fields = arena_array(arena, Field, FIELDS);
    for (int i = 0; i < FIELDS; i++)
        fields[i] = (Field){ names[i], arena_copy(arena, &values[i], sizeof values[i]) };
    return (Value){ .kind = VALUE_STRUCT, .record = { "weight_info", fields, FIELDS } };
}

static const Expr *apply(Builder *builder, Draws *draws, const char *name, Place place, const Weight *weight,
                         const Expr *initial)
{
    Named named;
    if (!check_named(builder, place, name, &named))
        return NULL;
    Host host = { .context = draws, .call = host_call, .symbolic = true };
    Evaluator *evaluator = evaluator_create(builder->arena, draws->exprs, builder->diag,
                                            builder->initializers, &host);
    Value arguments[2] = { weight_info(draws, builder->arena, weight, initial) }, result;
    if (named.has_number)
        arguments[1] = value_scalar(expr_number(draws->exprs, named.number));
    if (!evaluate_call(evaluator, named.function, arguments, 1 + named.has_number, &result))
        return NULL;
    return expr_convert(draws->exprs, result.scalar, TYPE_FLOAT);
}

static const Expr *default_initial(Draws *draws, const Weight *weight)
{
    if (weight->initial)
        return weight->initial;
    double bound = 1 / sqrt(weight->fan_in > 0 ? (double)weight->fan_in : 1);
    return uniform_between(draws, -bound, bound);
}

const Expr *call_initial(Call *call, const Weight *weight, const char *name)
{
    Builder *builder = call->builder;
    /* a default that the layer brings may have drawn from stream 0 */
    Draws draws = { builder->graph->exprs, builder->diag, text_hash(name), weight->initial != NULL };
    const Expr *initial = default_initial(&draws, weight);
    if (weight->init && !(initial = apply(builder, &draws, weight->init, call->site->place, weight, initial)))
        return NULL;
    if (weight->scale != 0)
        initial = expr_binary(draws.exprs, EXPR_mul, initial, expr_number(draws.exprs, weight->scale));
    if (weight->is_buffer || weight->apart)
        return initial;
    for (int i = 0; i < builder->initializer_uses.count && initial; i++) {
        InitializerUse use = builder->initializer_uses.items[i];
        initial = apply(builder, &draws, use.name, use.place, weight, initial);
    }
    return initial;
}
