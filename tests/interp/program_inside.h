/* program_inside.h -- what the files of the run share: its state, and the runtime's numbers. */
#pragma once
#include "tests/interp/interp.h"
#include "tests/interp/program.h"

typedef struct Known {                  /* a draw, a fold or a state of scope run */
    const Scalar *scalar;
    double value;
} Known;

typedef struct StateValues {            /* of scope element: by parameter id */
    double **values;
    bool exists;                        /* it starts from the weights, and they have been copied */
} StateValues;

typedef struct Batch {                  /* rows fetched, then rows trained on */
    double *inputs, *targets;           /* (rows, channels, height, width) or (rows, length) */
    double *mixed, *partners;           /* one micro-batch: mixed images, classes of the partner rows */
} Batch;

typedef struct Stored {
    const unsigned char *pixels;        /* (rows, channels, height, width); NULL: text */
    const int *labels;
    int *tokens;                        /* text: rows * length + 1 */
} Stored;

struct ProgramRun {
    Arena *arena;
    Program *program;
    Interp ***interps;                  /* by topology and phase; made when first used */
    double **weights, **gradients;      /* by parameter id; no gradients of buffers */
    StateValues *states;                /* by State.index */
    Stored train, test;
    Array(Known) known;

    int stretch;                        /* where the run is */
    int64_t batch_of_stretch;
    Moment now;
    int64_t key;                        /* of random values: the step, its complement when drawn again */
    int64_t update_count;
    double rate;
    const BatchKind *kind;

    Batch batch;
    int64_t first_row;                  /* of the micro-batch in its batch */
    double share;                       /* of the micro-batch in the loss of its batch */
    const Parameter *tensor;            /* that an element program is on */
};

/* ---- program.c ---- */
double run_scalar(void *context, const Scalar *scalar);
void run_set(ProgramRun *run, const Scalar *scalar, double value);
bool run_learns(const ProgramRun *run, const Parameter *parameter);     /* trained, and not frozen in this batch */
/* An expression of the step: random leaves at (key, row, element 0). */
double run_value(ProgramRun *run, const Expr *expr, int64_t row);
const Methods *run_methods(const ProgramRun *run);

/* ---- program_graphs.c: phases through interp.h ---- */
/* The phase after it ran on these inputs with the weights as they are. */
Interp *run_phase(ProgramRun *run, int topology, int phase, const double *inputs, const double *targets);
void run_gradient_pass(ProgramRun *run, double *loss);

/* ---- program_batches.c ---- */
void run_draw(ProgramRun *run, bool of_micro_batch);
void run_load(ProgramRun *run);
void run_select(ProgramRun *run);
void run_mix(ProgramRun *run, const double *images, const double *targets, int64_t rows);

/* ---- program_elements.c ---- */
void run_make_states(ProgramRun *run);
void run_elements(ProgramRun *run, const ElementProgram *program, bool on_buffers_too);
void run_actions(ProgramRun *run, const ActionArray *actions);

/* ---- program_data.c: the runtime's numbers ---- */
void chance_seed(uint64_t seed);
double chance(const Expr *expr, int64_t key, int64_t row, int64_t element, double a, double b);
double chance_uniform(const char *site, int64_t key, int64_t row);
int64_t chance_integer(int64_t below, const char *site, int64_t key, int64_t row, int ordinal);
void chance_permutation(const char *site, int64_t key, int64_t row, int64_t count, int *out);
void chance_subset(const char *site, int64_t key, int64_t row, int64_t count, int64_t below, int *out);
void chance_ranks(const char *site, int64_t key, const double *weight, int64_t candidates, int64_t count, int *out);

/* The synthetic data set of a recipe, by rows. */
Stored stored_set(const Program *program, bool train);
void stored_free(Stored *stored);
int64_t stored_row(const Program *program, int64_t epoch, int64_t place);
