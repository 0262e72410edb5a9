/* batches.h -- the pieces of the batch section that stand in files of their own. */
#pragma once
#include "emit/cpu/state.h"

void emit_loading(Emit *emit, Writer *plan, Writer *body);      /* loading.c: stored bytes -> batch */
void emit_selection(Emit *emit, Writer *plan, Writer *body);    /* loading.c: keep some of the candidates */
