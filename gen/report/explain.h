/* explain.h -- what was decided and why: --explain. */
#pragma once
#include "emit/program.h"

void report_explain(Buffer *out, const Program *program);
/* Multiply-adds counted twice, of the products, convolutions and attention of a graph. */
double report_flops(const Graph *graph);
