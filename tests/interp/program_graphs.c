/* program_graphs.c -- the phases of a run through the interpreter: gradient passes and evaluation. */
#include "tests/interp/program_inside.h"

static double graph_random(void *context, const Expr *expr, int64_t row, int64_t element, double a, double b)
{
    ProgramRun *run = context;
    return chance(expr, run->key, run->first_row + row, element, a, b);
}

static Interp *interp_of(ProgramRun *run, int topology, int phase)
{
    Interp **interp = &run->interps[topology][phase];
    if (*interp)
        return *interp;
    *interp = interp_create(run->arena, run->program->topologies.items[topology]->phases.items[phase].graph);
    interp_set_scalars(*interp, run_scalar, run);
    interp_set_random(*interp, graph_random, run);
    interp_set_input(*interp, INPUT_GRADIENT_SEED, &run->share);
    interp_set_input(*interp, INPUT_PARTNER_TARGETS, run->batch.partners);
    for (int i = 0; i < run->program->parameters.count; i++)
        interp_set_parameter(*interp, run->program->parameters.items[i], run->weights[i]);
    return *interp;
}

Interp *run_phase(ProgramRun *run, int topology, int phase, const double *inputs, const double *targets)
{
    Interp *interp = interp_of(run, topology, phase);
    interp_set_input(interp, run_methods(run)->facts.is_text ? INPUT_TOKENS : INPUT_IMAGES, inputs);
    interp_set_input(interp, INPUT_TARGETS, targets);
    interp_run(interp);
    return interp;
}

/* ---- gradient passes ---- */

static void take_outputs(ProgramRun *run, const Graph *graph, const Interp *interp, double *loss)
{
    for (int i = 0; i < graph->outputs.count; i++) {
        const Output *output = &graph->outputs.items[i];
        const double *value = interp_value(interp, output->node);
        int64_t count = output->parameter ? shape_elements(output->parameter->shape) : 1;
        if (output->kind == OUTPUT_LOSS)
            *loss += run->share * *value;
        if (output->kind == OUTPUT_BUFFER)
            memcpy(run->weights[output->parameter->id], value, sizeof *value * (size_t)count);
        for (int64_t k = 0; output->kind == OUTPUT_GRADIENT && k < count; k++)
            run->gradients[output->parameter->id][k] += value[k];
    }
}

static void run_micro_batch(ProgramRun *run, const MicroBatches *part, double *loss)
{
    const Phase *phase = &run->program->topologies.items[run->kind->topology]->phases.items[part->phase];
    const Geometry *g = &run->kind->geometry;
    const RunFacts *facts = &run_methods(run)->facts;
    int64_t size = facts->is_text ? g->length : facts->channels * g->height * g->width;
    const double *inputs = run->batch.inputs + run->first_row * size;
    const double *targets = run->batch.targets + run->first_row * (facts->is_text ? g->length : 1);
    run->share = (double)phase->rows / (double)g->rows;
    run_draw(run, true);
    if (facts->has_mixing) {
        run_mix(run, inputs, targets, phase->rows);
        inputs = run->batch.mixed;
    }
    take_outputs(run, phase->graph, run_phase(run, run->kind->topology, part->phase, inputs, targets), loss);
    run->first_row += phase->rows;
}

void run_gradient_pass(ProgramRun *run, double *loss)
{
    *loss = 0;
    run->first_row = 0;
    for (int i = 0; i < run->program->parameters.count; i++) {
        const Parameter *parameter = run->program->parameters.items[i];
        if (!parameter->is_buffer)
            memset(run->gradients[i], 0, sizeof(double) * (size_t)shape_elements(parameter->shape));
    }
    for (int part = 0; part < run->kind->part_count; part++)
        for (int k = 0; k < run->kind->parts[part].count; k++)
            run_micro_batch(run, &run->kind->parts[part], loss);
    if (run->first_row != run->kind->geometry.rows)
        bug("micro-batches have %lld rows, their batch has %lld", (long long)run->first_row,
            (long long)run->kind->geometry.rows);
    for (int i = 0; i < run_methods(run)->gradients.count; i++)
        run_elements(run, run_methods(run)->gradients.items[i], false);
}

/* ---- evaluation ---- */

static void load_test(ProgramRun *run, int64_t first, int64_t rows)
{
    const RunFacts *facts = &run_methods(run)->facts;
    const Dataset *data = &run->program->recipe->data;
    int64_t pixels = facts->height * facts->width, size = facts->channels * pixels;
    for (int64_t i = 0; facts->is_text && i < rows * facts->length; i++) {
        run->batch.inputs[i] = run->test.tokens[first * facts->length + i];
        run->batch.targets[i] = run->test.tokens[first * facts->length + i + 1];
    }
    for (int64_t i = 0; !facts->is_text && i < rows * size; i++) {
        int64_t channel = i / pixels % facts->channels;
        run->batch.inputs[i] = (run->test.pixels[first * size + i] / 255.0 - data->mean[channel]) / data->std[channel];
        run->batch.targets[i / size] = run->test.labels[first + i / size];
    }
}

static int phase_of_rows(const Topology *topology, int64_t rows)
{
    for (int i = 0; i < topology->phases.count; i++)
        if (topology->phases.items[i].rows == rows)
            return i;
    bug("%s has no phase of %lld rows", topology->name, (long long)rows);
}

double program_run_evaluate(ProgramRun *run, const char *sum)
{
    const Program *program = run->program;
    const Topology *topology = program->topologies.items[program->evaluate];
    double whole = 0, count = 0;
    for (int64_t first = 0; first < program->evaluation_samples; first += program->evaluation_rows) {
        int64_t left = program->evaluation_samples - first;
        int64_t rows = left < program->evaluation_rows ? left : program->evaluation_rows;
        int phase = phase_of_rows(topology, rows);
        Interp *interp = interp_of(run, program->evaluate, phase);
        for (int i = 0; i < program->parameters.count; i++) {
            const double *averages = program_run_averages(run, program->parameters.items[i]);
            interp_set_parameter(interp, program->parameters.items[i], averages ? averages : run->weights[i]);
        }
        load_test(run, first, rows);
        run_phase(run, program->evaluate, phase, run->batch.inputs, run->batch.targets);
        whole += *interp_output(interp, OUTPUT_METRIC, NULL, sum);
        count += *interp_output(interp, OUTPUT_METRIC, NULL, "count");
    }
    return whole / count;
}
