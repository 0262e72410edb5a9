/* program.c -- the run: its beginning, its loop, and the values of scalars. */
#include "tests/interp/program_inside.h"

/* ---- scalars ---- */

const Methods *run_methods(const ProgramRun *run)
{
    return run->program->methods;
}

static double named_time(const ProgramRun *run, const char *name)
{
    const struct { const char *name; int64_t value; } times[] = {
        { "step", run->now.step },       { "epoch", run->now.epoch },   { "batch_in_epoch", run->now.batch_in_epoch },
        { "samples", run->now.samples }, { "tokens", run->now.tokens }, { "update_count", run->update_count },
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (text_equal(times[i].name, name))
            return (double)times[i].value;
    bug("no time is called %s", name);
}

static double named_size(const ProgramRun *run, const char *name)
{
    const Geometry *g = &run->kind->geometry;
    const struct { const char *name; int64_t value; } sizes[] = {
        { "image_height", g->height }, { "image_width", g->width }, { "image_channels", run_methods(run)->facts.channels },
        { "batch_rows", g->rows },     { "sequence_length", g->length },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (text_equal(sizes[i].name, name))
            return (double)sizes[i].value;
    bug("no size is called %s", name);
}

static double named_rate(const ProgramRun *run, const char *name)
{
    if (text_equal(name, "rate"))
        return run->rate;
    bug("no rate is called %s", name);
}

static double named_fact(const ProgramRun *run, const char *name)
{
    if (text_equal(name, "rank"))
        return run->tensor->shape.rank;
    if (text_equal(name, "is_buffer"))
        return run->tensor->is_buffer;
    bug("no fact of a tensor is called %s", name);
}

double run_scalar(void *context, const Scalar *scalar)
{
    const ProgramRun *run = context;
    for (int i = 0; i < run->known.count; i++)
        if (run->known.items[i].scalar == scalar)
            return run->known.items[i].value;
    switch (scalar->kind) {
    case SCALAR_TIME: return named_time(run, scalar->name);
    case SCALAR_SIZE: return named_size(run, scalar->name);
    case SCALAR_RATE: return named_rate(run, scalar->name);
    case SCALAR_FACT: return named_fact(run, scalar->name);
    default:          bug("%s of %s is read before it has a value", scalar->name, scalar->method);
    }
}

void run_set(ProgramRun *run, const Scalar *scalar, double value)
{
    for (int i = 0; i < run->known.count; i++)
        if (run->known.items[i].scalar == scalar) {
            run->known.items[i].value = value;
            return;
        }
    array_push(run->arena, &run->known, (Known){ scalar, value });
}

/* ---- expressions of the step ---- */

typedef struct HostDraw { ProgramRun *run; int64_t row; } HostDraw;

static double host_scalar(void *context, const Scalar *scalar)
{
    return run_scalar(((HostDraw *)context)->run, scalar);
}

static double host_random(void *context, const Expr *expr, double a, double b)
{
    HostDraw *draw = context;
    return chance(expr, draw->run->key, draw->row, 0, a, b);
}

double run_value(ProgramRun *run, const Expr *expr, int64_t row)
{
    HostDraw draw = { run, row };
    ExprPoint point = { .scalar = host_scalar, .random = host_random, .context = &draw };
    return expr_evaluate(expr, &point);
}

/* ---- weights ---- */

typedef struct FirstDraw { int64_t element; } FirstDraw;

static double first_random(void *context, const Expr *expr, double a, double b)
{
    return chance(expr, 0, 0, ((FirstDraw *)context)->element, a, b);
}

static void make_weights(ProgramRun *run, const Parameter *parameter)
{
    int64_t count = shape_elements(parameter->shape);
    double *values = run->weights[parameter->id] = arena_array(run->arena, double, count);
    if (!parameter->is_buffer)
        run->gradients[parameter->id] = arena_array(run->arena, double, count);
    for (int64_t i = 0; i < count; i++) {
        FirstDraw draw = { i };
        values[i] = expr_evaluate(parameter->initial, &(ExprPoint){ .random = first_random, .context = &draw });
    }
}

bool run_learns(const ProgramRun *run, const Parameter *parameter)
{
    return !parameter->is_buffer && parameter->leaf >= run->program->topologies.items[run->kind->topology]->frozen;
}

const double *program_run_weights(const ProgramRun *run, const Parameter *parameter)
{
    return run->weights[parameter->id];
}

const double *program_run_averages(const ProgramRun *run, const Parameter *parameter)
{
    const State *state = run_methods(run)->evaluate_with;
    if (!state || (state->starts_from_parameter && !run->states[state->index].exists))
        return NULL;
    return parameter->is_buffer && !state->covers_buffers ? run->weights[parameter->id]
                                                          : run->states[state->index].values[parameter->id];
}

/* ---- the beginning ---- */

static void make_batch(ProgramRun *run)
{
    const Program *program = run->program;
    const RunFacts *facts = &program->methods->facts;
    int64_t pixels = facts->channels * facts->height * facts->width, size = facts->is_text ? facts->length : pixels;
    int64_t rows = program->evaluation_rows;
    for (int i = 0; i < program->kinds.count; i++)
        if (program->kinds.items[i].stored_rows > rows)
            rows = program->kinds.items[i].stored_rows;
    run->batch = (Batch){
        .inputs = arena_array(run->arena, double, rows * size), .targets = arena_array(run->arena, double, rows * size),
        .mixed = arena_array(run->arena, double, rows * size), .partners = arena_array(run->arena, double, rows),
    };
}

ProgramRun *program_run_create(Program *program)
{
    Arena *arena = arena_create();
    ProgramRun *run = arena_new(arena, ProgramRun);
    *run = (ProgramRun){ .arena = arena, .program = program };
    chance_seed((uint64_t)program->recipe->seed);
    run->interps = arena_array(arena, Interp **, program->topologies.count);
    for (int i = 0; i < program->topologies.count; i++)
        run->interps[i] = arena_array(arena, Interp *, program->topologies.items[i]->phases.count);
    run->weights = arena_array(arena, double *, program->parameters.count);
    run->gradients = arena_array(arena, double *, program->parameters.count);
    for (int i = 0; i < program->parameters.count; i++)
        make_weights(run, program->parameters.items[i]);
    run_make_states(run);
    run->train = stored_set(program, true);
    run->test = stored_set(program, false);
    make_batch(run);
    return run;
}

void program_run_destroy(ProgramRun *run)
{
    stored_free(&run->train);
    stored_free(&run->test);
    arena_destroy(run->arena);
}

/* ---- the loop ---- */

bool program_run_ended(const ProgramRun *run)
{
    return run->stretch == run->program->run.count;
}

static void end_step(ProgramRun *run)
{
    const Program *program = run->program;
    const RunFacts *facts = &program->methods->facts;
    if (run->now.batch_in_epoch + 1 == facts->batches_per_epoch)
        run_actions(run, &program->methods->epoch_end);
    run->now.samples += run->kind->stored_rows;
    run->now.tokens += run->kind->stored_rows * facts->length;
    run->now.step++;
    if (++run->now.batch_in_epoch == facts->batches_per_epoch) {
        run->now.batch_in_epoch = 0;
        run->now.epoch++;
    }
    if (++run->batch_of_stretch == program->run.items[run->stretch].batches) {
        run->batch_of_stretch = 0;
        run->stretch++;
    }
}

double program_run_step(ProgramRun *run)
{
    Program *program = run->program;
    const Methods *methods = program->methods;
    double loss;
    run->kind = &program->kinds.items[program->run.items[run->stretch].kind];
    run->key = run->now.step;
    run->rate = 1;
    if (!methods_rate(program->methods, &run->now, &run->rate))
        bug("no rate in step %lld", (long long)run->now.step);
    run_draw(run, false);
    run_load(run);
    if (run->kind->geometry.candidates)
        run_select(run);
    run_gradient_pass(run, &loss);
    run_actions(run, &methods->step);
    run->update_count++;
    run_elements(run, methods->update, false);
    run_actions(run, &methods->batch_end);
    end_step(run);
    return loss;
}
