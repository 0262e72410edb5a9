/* compare.h -- a case against the reference: outputs, and the gradients of all that has one. */
#pragma once
#include "tests/ops/cases.h"

static const double usual_tolerance = 1e-11;        /* times 1 + |value| */

/* What was found wrong, a line each. */
typedef struct Report {
    Arena *arena;
    const char *file;                               /* the case at hand */
    Buffer wrong;
} Report;

/* Differentiates sum(output * grad_output), runs, compares: the output, the extras, new running statistics,
 * gradients of parameters by the last part of their name. */
void compare_case(Report *report, OpCase *c, Node *output, double tolerance);
/* That the gradients and outputs compared are as many as the index lists. */
void compare_counts(Report *report, const OpCase *c, const Json *entry);
