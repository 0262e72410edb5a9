/* cases.h -- a reference case of one operation, built as a graph from operations of ours. */
#pragma once
#include "tests/interp/trial.h"
#include "tests/ops/reference.h"

typedef struct OpCase {
    Trial *trial;
    Graph *graph;                       /* the trial's */
    const Json *attributes;
    Tensors tensors;
    Array(Node *) nodes;                /* by index in `tensors`; made when asked for */
    Array(Node *) extras;               /* outputs beside "output" ... */
    TextArray extra_names;              /* ... and what the reference calls them */
} OpCase;

typedef Node *BuildCase(OpCase *c);

typedef struct OpRow {
    const char *op;                     /* as the reference calls it */
    BuildCase *build;
    double tolerance;                   /* 0: the usual one; other values have their reason in the table */
} OpRow;

/* NULL: the table knows no such operation. */
const OpRow *op_row(const char *op);

/* ---- for builders ---- */
Node *case_tensor(OpCase *c, const char *name);         /* NULL if the case has none */
void case_extra(OpCase *c, const char *name, Node *node);
int64_t case_integer(const OpCase *c, const char *name, int64_t otherwise);
double case_real(const OpCase *c, const char *name, double otherwise);
bool case_truth(const OpCase *c, const char *name);
/* [height, width] */
void case_pair(const OpCase *c, const char *name, int64_t otherwise, int64_t pair[2]);
int case_axis(const OpCase *c, const char *name, const Node *x);

#define ROW(op, build, ...) BuildCase build;
#include "tests/ops/ops_table.def"
