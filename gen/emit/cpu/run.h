/* run.h -- the pieces of the section on the run that stand in files of their own. */
#pragma once
#include "emit/cpu/state.h"

const char *emit_quoted(Arena *arena, const char *text);        /* "text" as a C string */

void emit_open_data(Emit *emit, Writer *out);                   /* run_data.c */
void emit_memory(Emit *emit, Writer *plan, Writer *out);
void emit_evaluation(Emit *emit, Writer *plan, Writer *out);    /* run_evaluation.c */
void emit_files(Emit *emit, Writer *out);                       /* run_files.c: weights in, weights out */
void emit_sample(Emit *emit, Writer *out);                      /* text that the model continues */
