/* program_bench.h -- recipes trained twice: by the program that the compiler emits, in fp64, and by interp/program.h. */
#pragma once
#include "base/arena.h"

/* A recipe on synthetic data. NULL leaves a key out. */
typedef struct ProgramCase {
    const char *name;                   /* also of its files */
    const char *model;                  /* "mlp", "resnet", a row of program_bench.c: "resnet", "gpt2" */
    const char *data;                   /* more keys of the data set: "drop_last: false" */
    const char *run;                    /* lines that replace "max_duration: 4ba", "batch_size: 8" */
    const char *optimizer, *schedule, *methods;     /* values in flow style: "{sgd: {lr: 0.1}}" */
} ProgramCase;

typedef enum ProgramVerdict { PROGRAM_AGREES, PROGRAM_REFUSED, PROGRAM_DIFFERS } ProgramVerdict;

typedef struct ProgramOutcome {
    ProgramVerdict verdict;
    const char *why;                    /* the complaint that refused it; where it differs */
} ProgramOutcome;

/* Compiles, builds, runs and compares each, two at a time, every one in a process of its own. Emitted programs must be
 * clean under -Wall -Wextra; losses, weights and the last evaluation must agree to 1e-9. From the project's folder. */
void programs_run(Arena *arena, const ProgramCase *cases, int count, ProgramOutcome *outcomes);
