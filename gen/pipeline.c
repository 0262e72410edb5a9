/* pipeline.c -- the compiler in one picture.
 *
 *     recipe.yaml - recipe --+                      +- for each phase ---------------------------+
 *     model.c ----- front ---+- graph - rewrites ---+ backward, simplify, prune, layout, place   +- program - emit
 *     methods ------- front -+          + hooks     +--------------------------------------------+
 *
 * A graph is made for every geometry of the batch, every size of micro-batch and every set of frozen
 * layers; graphs with the same nodes are one topology. */
#include "pipeline.h"

#include <string.h>

#include "compile.h"
#include "grad/grad.h"
#include "opt/opt.h"
#include "plan/layout.h"
#include "report/explain.h"

/* ---- the passes over one graph ---- */

typedef struct PassContext {
    Arena *pass;
    const Topology *topology;
    const ParameterArray *wanted;       /* parameters that learn */
} PassContext;

static const Output *output_of(const Graph *graph, OutputKind kind)
{
    for (int i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.items[i].kind == kind)
            return &graph->outputs.items[i];
    return NULL;
}

static void run_backward(Graph *graph, const PassContext *context)
{
    if (context->topology->kind != TOPOLOGY_TRAIN)
        return;
    graph->name = graph->method = NULL;
    Node *seed = node_add_shaped(graph, OP_input, NULL, 0, &(Attributes){ .input = { INPUT_GRADIENT_SEED } },
                                 shape_of(0), DTYPE_REAL);
    grad_backward(graph, output_of(graph, OUTPUT_LOSS)->node, node_named(seed, "share"), context->wanted, context->pass);
}

static void run_simplify(Graph *graph, const PassContext *context)
{
    (void)context;
    opt_simplify(graph);
}

static void run_prune(Graph *graph, const PassContext *context)
{
    (void)context;
    opt_prune(graph);
}

/* What leaves the graph is row-major: files and the optimizer know no other order. */
static void run_layout(Graph *graph, const PassContext *context)
{
    (void)context;
    plan_layout(graph);
    for (int i = 0; i < graph->outputs.count; i++) {
        Output *output = &graph->outputs.items[i];
        if (output->node->layout == LAYOUT_ROWS || output->kind == OUTPUT_LOGITS)
            continue;
        Node *rows = node_map(graph, expr_input(graph->exprs, 0, TYPE_FLOAT), &output->node, 1);
        rows->layout = LAYOUT_ROWS;
        output->node = node_named(rows, output->node->name);
    }
}

typedef struct Pass {
    const char *name;
    void (*run)(Graph *graph, const PassContext *context);
    bool optional;                      /* results are right without it */
} Pass;

static const Pass passes[] = {
    { "backward", run_backward, false },
    { "simplify", run_simplify, true },
    { "prune",    run_prune,    true },
    { "layout",   run_layout,   false },
};

enum { PASSES = sizeof passes / sizeof *passes };

int pass_count(void)
{
    return PASSES;
}

const char *pass_name(int index)
{
    return passes[index].name;
}

static void verify(const Graph *graph, const char *pass, Arena *arena)
{
    const char *wrong = graph_verify(graph, arena);
    if (wrong)
        bug("after %s: %s", pass, wrong);
}

static void run_passes(Compile *compile, Graph *graph, const PassContext *context)
{
    int optional = 0;
    verify(graph, "graph", context->pass);
    for (int i = 0; i < PASSES; i++) {
        bool skip = passes[i].optional && compile->options->stop_after_pass >= 0
                 && optional++ >= compile->options->stop_after_pass;
        if (!skip)
            passes[i].run(graph, context);
        verify(graph, passes[i].name, context->pass);
        if (compile->dump && text_equal(compile->options->dump, passes[i].name)) {
            buffer_add(compile->dump, "# %s after %s\n", context->topology->name, passes[i].name);
            graph_print(compile->dump, graph);
        }
    }
}

/* ---- topologies and phases ---- */

static ParameterArray learning(Compile *compile, int64_t frozen)
{
    ParameterArray wanted = { 0 };
    for (int i = 0; i < compile->program->parameters.count; i++) {
        Parameter *parameter = compile->program->parameters.items[i];
        if (!parameter->is_buffer && parameter->leaf >= frozen)
            array_push(compile->arena, &wanted, parameter);
    }
    return wanted;
}

static bool same_geometry(const Geometry *a, const Geometry *b)
{
    return a->rows == b->rows && a->length == b->length && a->columns == b->columns && a->height == b->height
        && a->width == b->width && a->crop == b->crop && a->candidates == b->candidates;
}

static Topology *topology_for(Compile *compile, TopologyKind kind, int64_t frozen, int *index)
{
    Program *program = compile->program;
    for (*index = 0; *index < program->topologies.count; ++*index) {
        Topology *known = program->topologies.items[*index];
        if (known->kind == kind && known->frozen == frozen)
            return known;
    }
    Topology *topology = arena_new(compile->arena, Topology);
    topology->kind = kind;
    topology->frozen = frozen;
    topology->trace = arena_new(compile->arena, SumTrace);
    topology->name = kind == TOPOLOGY_EVALUATE ? "evaluate" : kind == TOPOLOGY_SCORE ? "score"
                   : frozen ? text_format(compile->arena, "train_frozen_%lld", (long long)frozen) : "train";
    array_push(compile->arena, &program->topologies, topology);
    return topology;
}

/* A graph after all passes; NULL after complaints. */
static Graph *finished_graph(Compile *compile, Topology *topology, int64_t rows, const Geometry *geometry)
{
    Graph *graph = compile_graph(compile, topology->kind, rows, geometry);
    if (!graph)
        return NULL;
    ParameterArray wanted = learning(compile, topology->frozen);
    if (topology->frozen && wanted.count)
        topology->first_live = wanted.items[0];
    graph->trace = topology->trace;
    Arena *pass = arena_create();
    PassContext context = { pass, topology, &wanted };
    run_passes(compile, graph, &context);
    arena_destroy(pass);
    return graph;
}

/* Before its first phase, a topology's largest graph decides what broadcasts. */
static bool write_trace(Compile *compile, Topology *topology)
{
    if (topology->trace->is_written)
        return true;
    int64_t rows = compile->facts.batch_rows > 2 ? compile->facts.batch_rows : 2;      /* 1 would look like broadcasting */
    Geometry full = compile_full_geometry(compile, rows);
    topology->largest = finished_graph(compile, topology, rows, &full);
    topology->trace->is_written = true;
    return topology->largest != NULL;
}

static void check_same_nodes(const Topology *topology, const Graph *graph)
{
    const Graph *first = topology->phases.items[0].graph;
    if (graph->nodes.count != first->nodes.count)
        bug("phases of %s differ in their nodes: %d and %d", topology->name, first->nodes.count, graph->nodes.count);
    for (int i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.items[i]->op != first->nodes.items[i]->op || graph->nodes.items[i]->expr != first->nodes.items[i]->expr)
            bug("phases of %s differ in node %d, %s and %s", topology->name, i, op_info[first->nodes.items[i]->op].name,
                op_info[graph->nodes.items[i]->op].name);
}

/* The phase of this size, made when it is new; -1 after complaints. */
static int phase_for(Compile *compile, Topology *topology, int64_t rows, Geometry geometry)
{
    for (int i = 0; i < topology->phases.count; i++) {
        Geometry *known = &topology->phases.items[i].geometry;
        if (topology->phases.items[i].rows == rows && known->length == geometry.length && known->height == geometry.height
            && known->width == geometry.width)
            return i;
    }
    Graph *graph = write_trace(compile, topology) ? finished_graph(compile, topology, rows, &geometry) : NULL;
    if (!graph)
        return -1;
    if (topology->phases.count)
        check_same_nodes(topology, graph);
    Phase phase = { graph, rows, geometry };
    array_push(compile->arena, &topology->phases, phase);
    return topology->phases.count - 1;
}

/* ---- the run as stretches of batches ---- */

static bool split_micro_batches(Compile *compile, BatchKind *kind, Topology *topology)
{
    int64_t rows = kind->geometry.rows, parts = compile->recipe->grad_accum;
    int64_t size = (rows + parts - 1) / parts, rest = rows % size;
    kind->parts[0] = (MicroBatches){ phase_for(compile, topology, size, kind->geometry), (int)(rows / size) };
    kind->part_count = 1;
    if (rest)
        kind->parts[kind->part_count++] = (MicroBatches){ phase_for(compile, topology, rest, kind->geometry), 1 };
    return kind->parts[0].phase >= 0 && kind->parts[kind->part_count - 1].phase >= 0;
}

static int kind_for(Compile *compile, int64_t stored_rows, Geometry geometry, int64_t frozen)
{
    Program *program = compile->program;
    int topology_index;
    Topology *topology = topology_for(compile, TOPOLOGY_TRAIN, frozen, &topology_index);
    for (int i = 0; i < program->kinds.count; i++) {
        BatchKind *known = &program->kinds.items[i];
        if (known->stored_rows == stored_rows && known->topology == topology_index && same_geometry(&known->geometry, &geometry))
            return i;
    }
    BatchKind kind = { .stored_rows = stored_rows, .geometry = geometry, .topology = topology_index, .score_phase = -1 };
    if (!split_micro_batches(compile, &kind, topology))
        return -1;
    if (geometry.candidates) {
        Topology *score = topology_for(compile, TOPOLOGY_SCORE, 0, &program->score);
        kind.score_phase = phase_for(compile, score, geometry.candidates, geometry);
        if (kind.score_phase < 0)
            return -1;
    }
    array_push(compile->arena, &program->kinds, kind);
    return program->kinds.count - 1;
}

static bool plan_run(Compile *compile)
{
    const RunFacts *facts = &compile->facts;
    Program *program = compile->program;
    Moment now = { 0 };
    for (; now.step < facts->steps; now.step++) {
        int64_t rows = compile_rows_of_batch(compile, now.batch_in_epoch), frozen = 0;
        Geometry geometry = compile_full_geometry(compile, rows);
        if (program->methods->has_geometry && !methods_geometry(program->methods, &now, geometry, &geometry))
            return false;
        if (program->methods->has_frozen_layers && !methods_frozen_layers(program->methods, &now, program->leaves, &frozen))
            return false;
        int kind = kind_for(compile, rows, geometry, frozen);
        if (kind < 0)
            return false;
        Stretch *last = program->run.count ? &program->run.items[program->run.count - 1] : NULL;
        if (last && last->kind == kind)
            last->batches++;
        else
            array_push(compile->arena, &program->run, (Stretch){ 1, kind });
        now.samples += rows;
        now.tokens += rows * facts->length;
        if (++now.batch_in_epoch == facts->batches_per_epoch)
            now.batch_in_epoch = 0, now.epoch++;
    }
    return true;
}

static bool plan_evaluation(Compile *compile)
{
    Program *program = compile->program;
    int64_t rows = compile->recipe->eval_batch_size, samples = compile->eval_samples;
    rows = rows > samples ? samples : rows;
    Topology *topology = topology_for(compile, TOPOLOGY_EVALUATE, 0, &program->evaluate);
    program->evaluation_rows = rows;
    program->evaluation_samples = samples;
    if (phase_for(compile, topology, rows, compile_full_geometry(compile, rows)) < 0)
        return false;
    int64_t rest = samples % rows;
    if (rest && phase_for(compile, topology, rest, compile_full_geometry(compile, rest)) < 0)
        return false;
    bool sampled = compile->recipe->sample_prompt && compile->facts.is_text;
    return !sampled || phase_for(compile, topology, 1, compile_full_geometry(compile, 1)) >= 0;
}

/* ---- memory ---- */

static int64_t aligned(int64_t reals)
{
    return (reals + PLAN_ALIGNMENT - 1) / PLAN_ALIGNMENT * PLAN_ALIGNMENT;
}

static void place(Compile *compile)
{
    Program *program = compile->program;
    for (int i = 0; i < program->topologies.count; i++) {
        Topology *topology = program->topologies.items[i];
        topology->graphs = arena_array(compile->arena, Graph *, topology->phases.count);
        for (int p = 0; p < topology->phases.count; p++)
            topology->graphs[p] = topology->phases.items[p].graph;
        topology->plan = plan_place(compile->arena, topology->graphs, topology->phases.count, compile->recipe->grad_accum == 1, 0);
        if (topology->plan->arena > program->arena_reals)
            program->arena_reals = topology->plan->arena;
    }
    int64_t at = 0;
    program->offset = arena_array(compile->arena, int64_t, program->parameters.count);
    for (int buffers = 0; buffers < 2; buffers++)
        for (int i = 0; i < program->parameters.count; i++) {
            const Parameter *parameter = program->parameters.items[i];
            if (parameter->is_buffer != (buffers == 1))
                continue;
            program->offset[i] = at;
            at += shape_elements(parameter->shape);
            *(buffers ? &program->buffers : &program->trainable) += shape_elements(parameter->shape);
        }
}

static void count_work(Program *program)
{
    const Phase *whole = &program->topologies.items[program->evaluate]->phases.items[0];
    program->flops_forward = report_flops(whole->graph) / (double)whole->rows;
    for (int i = 0; i < program->kinds.count; i++) {
        const BatchKind *kind = &program->kinds.items[i];
        const Topology *topology = program->topologies.items[kind->topology];
        double flops = 0;
        for (int k = 0; k < kind->part_count; k++)
            flops += kind->parts[k].count * report_flops(topology->phases.items[kind->parts[k].phase].graph);
        program->flops_step = flops > program->flops_step ? flops : program->flops_step;
    }
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void measure_batches(Compile *compile)
{
    Program *program = compile->program;
    const RunFacts *facts = &compile->facts;
    int64_t pixels = facts->channels * facts->height * facts->width;
    program->batch_reals = facts->is_text ? 0 : program->evaluation_rows * pixels;
    program->batch_targets = program->evaluation_rows * (facts->is_text ? facts->length : 1);
    for (int i = 0; i < program->kinds.count; i++) {
        const BatchKind *kind = &program->kinds.items[i];
        const Geometry *g = &kind->geometry;
        int64_t rows = most(g->candidates, g->rows), size = facts->is_text ? 0 : facts->channels * g->height * g->width;
        program->batch_reals = most(program->batch_reals, aligned(rows * size));
        program->batch_targets = most(program->batch_targets, facts->is_text ? rows * g->length : rows);
        int64_t micro = program->topologies.items[kind->topology]->phases.items[kind->parts[0].phase].rows;
        if (facts->has_mixing)
            program->mixed_reals = most(program->mixed_reals, aligned(micro * size));
    }
}

Program *compile(Arena *run, Diagnostics *diag, const Options *options, Buffer *dump)
{
    Compile *state = compile_begin(run, diag, options, dump);
    if (!state || !compile_discover(state) || !plan_run(state) || !plan_evaluation(state) || diag->errors)
        return NULL;
    if (!compile_check_effects(state))
        return NULL;
    place(state);
    measure_batches(state);
    count_work(state->program);
    return state->program;
}
