/* pipeline.h -- from a recipe to a program: the passes in their order. */
#pragma once
#include "emit/program.h"

typedef struct Options {
    const char *recipe;                 /* path as typed */
    const char *const *overrides;
    int override_count;
    TextArray method_dirs;              /* --methods DIR, then ours */
    const char *home;                   /* the installation: methods/, recipes/models/, templates/, runtime/ */
    const char *command;                /* as typed, for the head of the program */
    const char *dump;                   /* -d PASS: print the graphs after this pass; NULL */
    int stop_after_pass;                /* --bisect-pass: run only so many optional passes; -1 = all */
} Options;

/* NULL after complaints. Dumps asked for go to `dump`. */
Program *compile(Arena *run, Diagnostics *diag, const Options *options, Buffer *dump);

/* Names of the passes in order, for --help and errors. */
int pass_count(void);
const char *pass_name(int index);
