/* trial.c -- see trial.h. */
#include "tests/interp/trial.h"

#include <math.h>

#include "grad/grad.h"

const double trial_seed = 0.5;

Trial *trial_create(uint64_t seed)
{
    Arena *arena = arena_create();
    Trial *trial = arena_new(arena, Trial);
    *trial = (Trial){ .arena = arena, .graph = graph_create(arena, expr_pool(arena)), .state = seed };
    return trial;
}

void trial_destroy(Trial *trial)
{
    arena_destroy(trial->arena);
}

/* ---- random numbers: splitmix64 ---- */

static uint64_t scrambled(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static uint64_t next(Trial *trial)
{
    return scrambled(trial->state += 0x9E3779B97F4A7C15u);
}

double trial_uniform(Trial *trial)
{
    return (double)(next(trial) >> 11) * 0x1p-52 - 1;
}

int64_t trial_integer(Trial *trial, int64_t from, int64_t to)
{
    return from + (int64_t)(next(trial) % (uint64_t)(to - from + 1));
}

double *trial_numbers(Trial *trial, int64_t count)
{
    double *numbers = arena_array(trial->arena, double, count);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = trial_uniform(trial);
    return numbers;
}

double *trial_distinct(Trial *trial, int64_t count)
{
    double *numbers = arena_array(trial->arena, double, count);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (2 * (double)i + 1 - (double)count + 0.25 * trial_uniform(trial)) / (double)count
                   + (count % 2 ? 0.5 / (double)count : 0);
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t other = trial_integer(trial, 0, i);
        double swap = numbers[i];
        numbers[i] = numbers[other], numbers[other] = swap;
    }
    return numbers;
}

double *trial_integers(Trial *trial, int64_t count, int64_t from, int64_t to)
{
    double *numbers = arena_array(trial->arena, double, count);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (double)trial_integer(trial, from, to);
    return numbers;
}

/* ---- leaves ---- */

Node *trial_parameter_of(Trial *trial, Shape shape, double *values)
{
    Parameter *parameter = arena_new(trial->arena, Parameter);
    *parameter = (Parameter){ .name = text_format(trial->arena, "p%d", trial->parameters.count),
                              .id = trial->parameters.count, .shape = shape };
    array_push(trial->arena, &trial->parameters, parameter);
    array_push(trial->arena, &trial->values, values);
    Attributes at = { .parameter = { parameter } };
    return node_named(node_add_shaped(trial->graph, OP_parameter, NULL, 0, &at, shape, DTYPE_REAL),
                      parameter->name);
}

Node *trial_parameter(Trial *trial, Shape shape)
{
    return trial_parameter_of(trial, shape, trial_numbers(trial, shape_elements(shape)));
}

Node *trial_input(Trial *trial, InputKind kind, Shape shape, DType dtype, const double *values)
{
    array_push(trial->arena, &trial->inputs, (TrialInput){ kind, values });
    return node_add_shaped(trial->graph, OP_input, NULL, 0, &(Attributes){ .input = { kind } }, shape, dtype);
}

/* ---- expressions ---- */

const Expr *trial_x(Trial *trial)
{
    return expr_input(trial->graph->exprs, 0, TYPE_FLOAT);
}

const Expr *trial_y(Trial *trial)
{
    return expr_input(trial->graph->exprs, 1, TYPE_FLOAT);
}

const Expr *trial_unary(Trial *trial, ExprOp op, const Expr *a)
{
    return expr_unary(trial->graph->exprs, op, a);
}

const Expr *trial_binary(Trial *trial, ExprOp op, const Expr *a, const Expr *b)
{
    return expr_binary(trial->graph->exprs, op, a, b);
}

const Expr *trial_constant(Trial *trial, double number)
{
    return expr_number(trial->graph->exprs, number);
}

/* ---- running ---- */

static double fixed_draw(void *context, const Expr *expr, int64_t row, int64_t element, double a, double b)
{
    (void)context, (void)a, (void)b;
    uint64_t key = scrambled(
        expr->site + scrambled((uint64_t)expr->slot + scrambled((uint64_t)row * 7919 + (uint64_t)element)));
    return (double)(key >> 11) * 0x1p-53;
}

static double fixed_scalar(void *context, const Scalar *scalar)
{
    (void)context;
    return 0.25 + 0.125 * (scalar->id % 5);
}

Interp *trial_interp(Trial *trial)
{
    Interp *interp = interp_create(trial->arena, trial->graph);
    for (int i = 0; i < trial->inputs.count; i++)
        interp_set_input(interp, trial->inputs.items[i].kind, trial->inputs.items[i].values);
    for (int i = 0; i < trial->parameters.count; i++)
        interp_set_parameter(interp, trial->parameters.items[i], trial->values.items[i]);
    interp_set_input(interp, INPUT_GRADIENT_SEED, &trial_seed);
    interp_set_random(interp, fixed_draw, NULL);
    interp_set_scalars(interp, fixed_scalar, NULL);
    return interp;
}

void trial_differentiate(Trial *trial, Node *output, const double *weights)
{
    Graph *graph = trial->graph;
    if (!weights)
        weights = trial_numbers(trial, shape_elements(output->shape));
    Node *weight = trial_input(trial, INPUT_IMAGES, output->shape, DTYPE_REAL, weights);
    Node *product = build_mul(graph, output, weight);
    Node *sum = product->shape.rank ? build_reduce(graph, product, REDUCE_SUM, (1u << product->shape.rank) - 1)
                                    : product;
    trial->loss = build_reshape(graph, sum, shape_of(0));
    graph_output(graph, (Output){ OUTPUT_LOSS, trial->loss, NULL, "loss" });
    Node *seed = node_add_shaped(graph, OP_input, NULL, 0, &(Attributes){ .input = { INPUT_GRADIENT_SEED } },
                                 shape_of(0), DTYPE_REAL);
    ParameterArray wanted = { 0 };
    for (int i = 0; i < trial->parameters.count; i++)
        if (!trial->parameters.items[i]->is_buffer)
            array_push(trial->arena, &wanted, trial->parameters.items[i]);
    Arena *pass = arena_create();
    grad_backward(graph, trial->loss, seed, &wanted, pass);
    arena_destroy(pass);
}

static double loss_at(Trial *trial, Interp *interp, double *value, double at)
{
    double kept = *value;
    *value = at;
    interp_run_to(interp, trial->loss);
    *value = kept;
    return *interp_value(interp, trial->loss);
}

/* (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h: wrong by h^4/30 of the fifth derivative */
static double finite_difference(Trial *trial, Interp *interp, double *value)
{
    const double h = 0x1p-13, x = *value;
    double near = loss_at(trial, interp, value, x + h) - loss_at(trial, interp, value, x - h);
    double far = loss_at(trial, interp, value, x + 2 * h) - loss_at(trial, interp, value, x - 2 * h);
    return (8 * near - far) / (12 * h);
}

static const char *check_parameter(Trial *trial, Interp *interp, int index, double tolerance)
{
    const Parameter *parameter = trial->parameters.items[index];
    const double *stored = interp_output(interp, OUTPUT_GRADIENT, parameter, NULL);
    int64_t count = shape_elements(parameter->shape);
    double *derived = arena_array(trial->arena, double, count);
    if (stored)
        memcpy(derived, stored, sizeof *stored * (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        double wanted = trial_seed * finite_difference(trial, interp, &trial->values.items[index][i]);
        if (!(fabs(derived[i] - wanted) <= tolerance * (1 + fabs(wanted))))
            return text_format(trial->arena,
                               "gradient of %s%s, element %lld, is %.12g%s; finite differences give %.12g",
                               parameter->name, shape_text(trial->arena, parameter->shape), (long long)i,
                               derived[i], stored ? "" : " (there is none)", wanted);
    }
    return NULL;
}

const char *trial_check(Trial *trial, double tolerance)
{
    const char *wrong = graph_verify(trial->graph, trial->arena);
    Interp *interp = trial_interp(trial);
    if (!wrong)
        interp_run(interp);
    for (int i = 0; i < trial->parameters.count && !wrong; i++)
        if (!trial->parameters.items[i]->is_buffer)
            wrong = check_parameter(trial, interp, i, tolerance);
    return wrong;
}
