/* program.h -- whole runs computed a second way: a compiled Program, batch by batch, in double and naively.
 *
 * What the emitted program computes in fp64 must come out here too, up to the order of additions. Only the tables
 * of the compiler are read (emit/program.h, method/methods.h); the graphs of the phases go through interp.h, and the
 * random generator, the shuffling and the synthetic data are the runtime's own.
 *
 *     ProgramRun *run = program_run_create(program);
 *     while (!program_run_ended(run))
 *         loss = program_run_step(run);
 *     weights = program_run_weights(run, parameter);
 *
 * Not for recipes that read data, weights or draws from files. One run at a time: the seed is the runtime's. */
#pragma once
#include "emit/program.h"

typedef struct ProgramRun ProgramRun;

ProgramRun *program_run_create(Program *program);
void program_run_destroy(ProgramRun *run);

bool program_run_ended(const ProgramRun *run);
double program_run_step(ProgramRun *run);                   /* the loss of the batch, before the update */
/* A quotient of sums over the test set: "loss" or "correct", by "count". */
double program_run_evaluate(ProgramRun *run, const char *sum);

const double *program_run_weights(const ProgramRun *run, const Parameter *parameter);
/* What evaluation uses in place of the weights; NULL when there is nothing of the kind, or not yet. */
const double *program_run_averages(const ProgramRun *run, const Parameter *parameter);
