/* test_runtime.h -- the files that test runtime/: each gives a case of the suite "runtime". */
#pragma once
#include <check.h>

#undef fail                             /* an old macro of Check's, and the name of the function that ends a program */

TCase *runtime_random_tests(void);
TCase *runtime_data_tests(void);
TCase *runtime_file_tests(void);
TCase *runtime_log_tests(void);
TCase *runtime_library_tests(void);

/* A file of the reference values, NULL when it is not at hand; and sum of (i + 1) * value i of a tensor in such a file, by the
 * tests' own reader. */
const char *runtime_reference(const char *name);
double runtime_reference_sum(const char *path, const char *tensor);
