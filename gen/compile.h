/* compile.h -- one compilation under way: what pipeline.c drives and compile.c answers. */
#pragma once
#include "pipeline.h"

typedef struct Compile {
    Arena *arena;
    Diagnostics *diag;
    const Options *options;
    Buffer *dump;
    const Recipe *recipe;
    Program *program;
    RunFacts facts;
    int64_t eval_samples;
    const CFile *model, *losses, *initializers;
    const CFunction *model_function;
    const char **method_names;
    int *matches;                       /* calls that each method's rewrites were offered, by method and layer */
} Compile;

/* Reads recipe, data facts, methods and model. NULL after complaints. */
Compile *compile_begin(Arena *run, Diagnostics *diag, const Options *options, Buffer *dump);
/* A first evaluation of the model at full size: finds its parameters, counts matches, learns facts that methods ask. */
bool compile_discover(Compile *compile);
/* The graph of one phase before any pass; NULL after complaints. */
Graph *compile_graph(Compile *compile, TopologyKind kind, int64_t rows, const Geometry *geometry);
Geometry compile_full_geometry(const Compile *compile, int64_t rows);
int64_t compile_rows_of_batch(const Compile *compile, int64_t batch_in_epoch);
/* Complains of methods that changed nothing. */
bool compile_check_effects(Compile *compile);
