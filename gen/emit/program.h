/* program.h -- a whole training program before it is text: what pipeline.c assembles and emit/ prints.
 *
 * A *topology* is one emitted step: the same nodes in all its phases, which differ in sizes alone.
 * A *phase* is one row of a topology's table: the graph of one micro-batch size at one geometry.
 * A *batch kind* says what a batch fetches and which phases its micro-batches run.
 * A *stretch* says for how many batches in a row a kind is used: the run is a list of stretches. */
#pragma once
#include "method/methods.h"
#include "plan/plan.h"

typedef struct Phase {
    Graph *graph;
    int64_t rows;                       /* of the micro-batch */
    Geometry geometry;
} Phase;

typedef enum TopologyKind { TOPOLOGY_TRAIN, TOPOLOGY_SCORE, TOPOLOGY_EVALUATE } TopologyKind;

typedef struct Topology {
    TopologyKind kind;
    const char *name;                   /* C name of its step: "train", "train_frozen_12", "score", "evaluate" */
    int64_t frozen;                     /* layers that don't learn */
    Array(Phase) phases;
    SumTrace *trace;
    Graph **graphs;                     /* of the phases, for the planner and the emitter */
    Graph *largest;                     /* no phase, but as large as any: what is 1 there is 1 in all */
    Plan *plan;
    const Parameter *first_live;        /* frozen: the first parameter that learns */
} Topology;

/* The graph to read structure from: only there does an extent of 1 mean broadcasting. */
static inline const Graph *topology_graph(const Topology *topology)
{
    return topology->phases.count > 1 ? topology->largest : topology->graphs[0];
}

typedef struct MicroBatches {           /* `count` micro-batches of phase `phase` */
    int phase, count;
} MicroBatches;

typedef struct BatchKind {
    int64_t stored_rows;                /* rows fetched from the data set */
    Geometry geometry;
    int topology;                       /* index in Program.topologies */
    MicroBatches parts[2];              /* full ones and a shorter last one */
    int part_count;
    int score_phase;                    /* -1: no scoring */
} BatchKind;

typedef struct Stretch {
    int64_t batches;
    int kind;
} Stretch;

typedef struct Program {
    Arena *arena;
    ExprPool *exprs;
    const Recipe *recipe;
    Methods *methods;
    ParameterArray parameters;          /* trainable ones and buffers, in order of definition */
    int64_t trainable, buffers;         /* elements */
    int64_t *offset;                    /* of parameter id in `weights`: trainable ones first, then buffers */
    Array(Topology *) topologies;       /* training ones first */
    Array(BatchKind) kinds;
    Array(Stretch) run;
    int evaluate, score;                /* indices in topologies; score -1 */
    int64_t evaluation_rows, evaluation_samples;
    int64_t batch_reals, batch_targets; /* the largest batch of inputs and of targets */
    int64_t mixed_reals;                /* the largest mixed micro-batch, 0 without mixing */
    int64_t arena_reals;                /* of all topologies */
    int64_t leaves;                     /* layers that own parameters */
    double flops_forward, flops_step;   /* of one sample forward; of one full step */
    const char *command;                /* the generator's command line, as typed */
    const char *generator;              /* "composer-gen 0.1" */
} Program;

/* The emitted program as text; NULL after complaints. templates_dir and runtime_dir hold the parts. */
const char *emit_cpu(Program *program, Diagnostics *diag, const char *templates_dir, const char *runtime_dir);
