/* kernel_runs.h -- a scenario runs kernels and checks them; each is run in both precisions under several thread counts, and
 * what the kernels wrote must have the same bits under all of them. */
#pragma once
#include <check.h>

#include "kernel_library.h"
#include "base/text.h"

#define P(...) (void *[]){ __VA_ARGS__ }
#define L(...) (const long[]){ __VA_ARGS__ }
#define R(...) (const double[]){ __VA_ARGS__ }

typedef struct Run {
    Kernels *library;
    Arena *arena;
    double tolerance;                   /* of a value of size 1 */
    Array(Reals) outputs;
} Run;

typedef void Scenario(Run *run);

void run_everywhere(Scenario *scenario);
Reals run_input(Run *run, long count, unsigned seed);
Reals run_output(Run *run, long count);
int *run_ints(Run *run, long count);                        /* an output too */
void run_kernel(Run *run, const char *name, void *const *tensors, const long *sizes, const double *numbers);
/* Every element of `got` (as the kernel left it) is near `want`. */
void run_check(Run *run, Reals got, const double *want, const char *what);
double *run_numbers(Run *run, long count);                  /* zeros for a reference */

TCase *kernels_case(Suite *suite, const char *name);        /* builds the libraries before its tests are run */
Suite *kernels_suite(void);
void add_norm_kernels(Suite *suite);
void add_row_kernels(Suite *suite);
