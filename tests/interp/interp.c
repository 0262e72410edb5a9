/* interp.c -- the run over a graph, its leaves, and what is computed element by element. */
#include "tests/interp/inside.h"

enum { INPUT_KINDS = INPUT_GRADIENT_SEED + 1 };

typedef struct Given { const Parameter *parameter; const double *values; } Given;

struct Interp {
    Arena *arena;
    const Graph *graph;
    double *(*values)[MOST_RESULTS];    /* by id of the producer, then number of the result */
    const double *inputs[INPUT_KINDS];
    Array(Given) parameters;
    InterpScalar *scalar;
    InterpRandom *random;
    void *scalar_context, *random_context;
};

static Evaluate *const rules[OP_COUNT] = {
#define OP(name, ...) [OP_##name] = eval_##name,
#include "ir/ops.def"
};

/* ---- setting up ---- */

Interp *interp_create(Arena *arena, const Graph *graph)
{
    Interp *interp = arena_new(arena, Interp);
    *interp = (Interp){ .arena = arena, .graph = graph };
    interp->values = arena_alloc(arena, sizeof *interp->values * (size_t)graph->nodes.count);
    for (int i = 0; i < graph->nodes.count; i++) {
        const Node *node = graph->nodes.items[i];
        if (node->id != i)
            bug("node %d stands at place %d", node->id, i);
        double **values = &interp->values[i][0];
        if (node->op == OP_result)
            values = &interp->values[node->inputs[0]->id][node->at.result.index];
        if (!*values)
            *values = arena_array(arena, double, elements_of(node->shape));
        interp->values[i][0] = *values;
    }
    return interp;
}

void interp_set_input(Interp *interp, InputKind kind, const double *values)
{
    interp->inputs[kind] = values;
}

void interp_set_parameter(Interp *interp, const Parameter *parameter, const double *values)
{
    for (int i = 0; i < interp->parameters.count; i++)
        if (interp->parameters.items[i].parameter == parameter) {
            interp->parameters.items[i].values = values;
            return;
        }
    array_push(interp->arena, &interp->parameters, (Given){ parameter, values });
}

void interp_set_scalars(Interp *interp, InterpScalar *scalar, void *context)
{
    interp->scalar = scalar;
    interp->scalar_context = context;
}

void interp_set_random(Interp *interp, InterpRandom *random, void *context)
{
    interp->random = random;
    interp->random_context = context;
}

/* ---- running ---- */

static void run_node(Interp *interp, const Node *node)
{
    Work work = { .interp = interp, .node = node };
    if (node->op == OP_result)                      /* its producer wrote it */
        return;
    for (int i = 0; i < node->input_count; i++)
        work.in[i] = interp->values[node->inputs[i]->id][0];
    for (int i = 0; i < MOST_RESULTS; i++)
        work.out[i] = interp->values[node->id][i];
    memset(work.out[0], 0, sizeof(double) * (size_t)elements_of(node->shape));
    rules[node->op](&work);
}

void interp_run_to(Interp *interp, const Node *last)
{
    for (int i = 0; i <= last->id; i++)
        run_node(interp, interp->graph->nodes.items[i]);
}

void interp_run(Interp *interp)
{
    interp_run_to(interp, interp->graph->nodes.items[interp->graph->nodes.count - 1]);
}

const double *interp_value(const Interp *interp, const Node *node)
{
    return interp->values[node->id][0];
}

const double *interp_output(const Interp *interp, OutputKind kind, const Parameter *parameter, const char *name)
{
    for (int i = 0; i < interp->graph->outputs.count; i++) {
        const Output *output = &interp->graph->outputs.items[i];
        if (output->kind == kind && (!parameter || output->parameter == parameter)
            && (!name || text_equal(output->name, name)))
            return interp_value(interp, output->node);
    }
    return NULL;
}

/* ---- leaves ---- */

static void copy(const Work *work, const double *from)
{
    memcpy(work->out[0], from, sizeof(double) * (size_t)elements_of(work->node->shape));
}

void eval_input(const Work *work)
{
    InputKind kind = work->node->at.input.kind;
    if (!work->interp->inputs[kind])
        bug("the interpreter was not given input %d", (int)kind);
    copy(work, work->interp->inputs[kind]);
}

void eval_parameter(const Work *work)
{
    const Parameter *parameter = work->node->at.parameter.is;
    for (int i = 0; i < work->interp->parameters.count; i++)
        if (work->interp->parameters.items[i].parameter == parameter) {
            copy(work, work->interp->parameters.items[i].values);
            return;
        }
    bug("the interpreter was not given parameter %s", parameter->name);
}

void eval_constant(const Work *work)
{
    for (int64_t i = 0; i < elements_of(work->node->shape); i++)
        work->out[0][i] = work->node->at.constant;
}

/* Never called: run_node passes over it. */
void eval_result(const Work *work)
{
    bug("node %d is a result", work->node->id);
}

/* ---- expressions ---- */

ExprPool *interp_exprs(const Interp *interp)
{
    return interp->graph->exprs;
}

typedef struct Draws { Interp *interp; int64_t row, element; } Draws;

static double scalar_value(void *context, const Scalar *scalar)
{
    Interp *interp = ((Draws *)context)->interp;
    if (!interp->scalar)
        bug("the interpreter was not given scalar %s", scalar->name);
    return interp->scalar(interp->scalar_context, scalar);
}

static double random_value(void *context, const Expr *expr, double a, double b)
{
    Draws *draws = context;
    if (!draws->interp->random)
        bug("the interpreter was not given random numbers");
    return draws->interp->random(draws->interp->random_context, expr, draws->row, draws->element, a, b);
}

double evaluate_at(const Work *work, const Expr *expr, const double *inputs, const int64_t *indices,
                   Shape shape, int64_t flat)
{
    int64_t rest = shape.rank ? elements_between(shape, 1, shape.rank) : 1;
    Draws draws = { work->interp, flat / rest, flat % rest };
    ExprPoint point = { .inputs = inputs, .indices = indices, .scalar = scalar_value, .random = random_value,
                        .context = &draws };
    return expr_evaluate(expr, &point);
}

void eval_map(const Work *work)
{
    const Node *node = work->node;
    for (int64_t i = 0; i < elements_of(node->shape); i++) {
        int64_t place[MAX_RANK] = { 0 };
        double inputs[MOST_INPUTS] = { 0 };
        place_of(node->shape, i, place);
        for (int k = 0; k < node->input_count; k++)
            inputs[k] = work->in[k][broadcast_of(input_shape(work, k), node->shape, place)];
        work->out[0][i] = evaluate_at(work, node->expr, inputs, place, node->shape, i);
    }
}

void eval_reduce(const Work *work)
{
    const Node *node = work->node;
    Shape shape = input_shape(work, 0);
    ReduceKind kind = node->at.reduce.kind;
    int64_t count = elements_of(shape), results = elements_of(node->shape);
    for (int64_t i = 0; kind == REDUCE_MAX && i < results; i++)
        work->out[0][i] = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        int64_t place[MAX_RANK];
        place_of(shape, i, place);
        double *to = &work->out[0][broadcast_of(node->shape, shape, place)], x = work->in[0][i];
        *to = kind != REDUCE_MAX ? *to + x : x > *to ? x : *to;
    }
    for (int64_t i = 0; kind == REDUCE_MEAN && i < results; i++)
        work->out[0][i] /= (double)count / (double)results;
}

/* ---- places ---- */

int64_t elements_between(Shape shape, int from, int to)
{
    int64_t count = 1;
    for (int axis = from; axis < to; axis++)
        count *= shape.dim[axis];
    return count;
}

int64_t elements_of(Shape shape)
{
    return elements_between(shape, 0, shape.rank);
}

void place_of(Shape shape, int64_t flat, int64_t *place)
{
    for (int axis = shape.rank - 1; axis >= 0; axis--) {
        place[axis] = flat % shape.dim[axis];
        flat /= shape.dim[axis];
    }
}

int64_t flat_of(Shape shape, const int64_t *place)
{
    int64_t flat = 0;
    for (int axis = 0; axis < shape.rank; axis++)
        flat = flat * shape.dim[axis] + place[axis];
    return flat;
}

int64_t broadcast_of(Shape from, Shape to, const int64_t *place)
{
    int64_t flat = 0;
    for (int axis = 0; axis < from.rank; axis++)
        flat = flat * from.dim[axis] + (from.dim[axis] == 1 ? 0 : place[axis + to.rank - from.rank]);
    return flat;
}

int64_t line_count(Shape shape, int axis)
{
    return elements_of(shape) / shape.dim[axis];
}

Line line_of(Shape shape, int axis, int64_t index)
{
    int64_t step = elements_between(shape, axis + 1, shape.rank);
    return (Line){ index / step * step * shape.dim[axis] + index % step, step, shape.dim[axis] };
}

double log_sum_exp(const double *x, Line line)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < line.count; i++)
        most = fmax(most, x[line.first + i * line.step]);
    for (int64_t i = 0; i < line.count; i++)
        sum += exp(x[line.first + i * line.step] - most);
    return most + log(sum);
}
