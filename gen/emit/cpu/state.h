/* state.h -- the emitter at work: what its files share and nobody else sees. */
#pragma once
#include "emit/cpu/emit.h"
#include "emit/expr_text.h"
#include "emit/names.h"
#include "emit/parts.h"
#include "emit/program.h"
#include "emit/writer.h"

/* A column of a topology's phase table: a number that differs between phases. */
typedef struct PhaseField {
    const char *name;
    int64_t *values;                    /* one a phase */
} PhaseField;
typedef Array(PhaseField) PhaseFieldArray;

/* A generated function; equal texts share one. */
typedef struct Kernel {
    const char *key;                    /* the text with the name left out */
    const char *name;
} Kernel;
typedef Array(Kernel) KernelArray;

/* Library objects of one topology, made at start for every phase. */
typedef struct LibraryPlan {
    const char *key, *reference;        /* what identifies it; "&conv1_plan[p->row]" */
} LibraryPlan;

typedef struct TopologyText {
    const Topology *topology;
    const char **names;                 /* C name of each node's tensor, by id; NULL = none of its own */
    PhaseFieldArray fields;
    Array(LibraryPlan) library;
    Names *field_names;
} TopologyText;

struct Emit {
    Arena *arena;
    Program *program;
    Diagnostics *diag;
    Parts *parts;
    PartSet *used;
    Names *names;                       /* file-scope identifiers */
    const char **weight_names;          /* by parameter id */
    KernelArray kernels;
    TopologyText *evaluation_text;
    TextArray setups;                   /* topologies with library objects to make at start */
    TopologyText *current;              /* the topology being printed */
    Writer *kernel_text, *plan_text, *step_text, *setup_text, *line_target;
    TextArray tables;                   /* constant tables printed so far */
    Array(const Scalar *) scalars;      /* used so far: the structs now, draw, fold, state have these fields alone */
    const char **state_names;           /* by State.index */
    const char *score_losses;           /* C name of the row losses of the scoring step */
    bool is_double;
};

/* Where a value of a step or a batch is drawn: the key and row of its random leaves. */
typedef struct HostPlace { Emit *emit; const char *row; } HostPlace;

/* ---- emit.c ---- */
const char *emit_kernel(Emit *emit, const char *hint, const char *comment, const char *parameters, const char *body);
Spelling emit_spelling(Emit *emit, const char *const *inputs, const char *const *indices);
const char *emit_scalar(Emit *emit, const Scalar *scalar);      /* C text of its value; notes that it is used */
bool emit_uses_time(const Emit *emit, const char *name);        /* does anything printed so far read now.<name>? */
const char *emit_field(Emit *emit, const Scalar *scalar);       /* the name of its field */
void emit_functions_of(Emit *emit, const Expr *expr);
/* The same once a step: in double, whatever the precision of the program. */
Spelling emit_host_spelling(const HostPlace *place);
void emit_host_functions(Emit *emit, const Expr *expr);
const char *emit_host_expr(Emit *emit, const Expr *expr);
const char *emit_random(Emit *emit, const Expr *expr, const char *a, const char *b, const char *row, const char *element);
const char *emit_vector(Emit *emit, const int64_t *values, const char *hint);
const PlanSlot *emit_slot(Emit *emit, const Node *node);        /* through aliases */
void emit_map(Emit *emit, const Node *node);
void emit_reduce(Emit *emit, const Node *node);
void emit_move(Emit *emit, const Node *node);
void emit_fill(Emit *emit, const Node *node);

/* ---- steps.c, elements.c, batches.c, weights.c, run.c: one section of the program each ---- */
void emit_weights(Emit *emit, Writer *plan, Writer *body);
void emit_topology(Emit *emit, const Topology *topology);
void emit_element_programs(Emit *emit, Writer *plan, Writer *body);
void emit_scalars(Emit *emit, Writer *plan);
void emit_batches(Emit *emit, Writer *plan, Writer *body);
void emit_run(Emit *emit, Writer *plan, Writer *body);
void emit_head(Emit *emit, Writer *head);
