/* trial.h -- a small graph with values for its parameters and inputs: run by the interpreter, differentiated by
 * gen/grad and by finite differences.
 *
 *     Trial *trial = trial_create(seed);
 *     Node *x = trial_parameter(trial, shape_of(2, (int64_t)3, (int64_t)5));
 *     trial_differentiate(trial, node_map(trial->graph, expr, &x, 1), NULL);
 *     const char *wrong = trial_check(trial, 1e-8); */
#pragma once
#include "tests/interp/interp.h"

typedef struct TrialInput { InputKind kind; const double *values; } TrialInput;

typedef struct Trial {
    Arena *arena;
    Graph *graph;
    ParameterArray parameters;
    Array(double *) values;             /* of each parameter, by id */
    Array(TrialInput) inputs;
    Node *loss;                         /* made by trial_differentiate */
    uint64_t state;                     /* of the random numbers */
} Trial;

Trial *trial_create(uint64_t seed);
void trial_destroy(Trial *trial);

/* ---- random numbers ---- */
double trial_uniform(Trial *trial);                             /* in [-1, 1) */
int64_t trial_integer(Trial *trial, int64_t from, int64_t to);  /* from..to, both included */
double *trial_numbers(Trial *trial, int64_t count);             /* uniform in [-1, 1) */
/* Distinct numbers at least 1/count apart, in random order: no ties, no kinks at 0. */
double *trial_distinct(Trial *trial, int64_t count);
double *trial_integers(Trial *trial, int64_t count, int64_t from, int64_t to);

/* ---- leaves ---- */
Node *trial_parameter(Trial *trial, Shape shape);
Node *trial_parameter_of(Trial *trial, Shape shape, double *values);
Node *trial_input(Trial *trial, InputKind kind, Shape shape, DType dtype, const double *values);

/* ---- expressions: x and y are inputs 0 and 1 ---- */
const Expr *trial_x(Trial *trial);
const Expr *trial_y(Trial *trial);
const Expr *trial_unary(Trial *trial, ExprOp op, const Expr *a);
const Expr *trial_binary(Trial *trial, ExprOp op, const Expr *a, const Expr *b);
const Expr *trial_constant(Trial *trial, double number);

/* ---- running ---- */
extern const double trial_seed;         /* gradients are those of the loss times this */
/* The interpreter with everything set; draws are a fixed function of their key. */
Interp *trial_interp(Trial *trial);
/* loss = sum(output * weights), and the gradients of all parameters but buffers, with a seed of trial_seed.
 * weights NULL: random. INPUT_IMAGES and INPUT_GRADIENT_SEED are taken. */
void trial_differentiate(Trial *trial, Node *output, const double *weights);
/* NULL, or what is wrong: the graph does not verify, or a gradient differs from finite differences by more than
 * tolerance * (1 + |it|); one that the graph lacks counts as zero. */
const char *trial_check(Trial *trial, double tolerance);
