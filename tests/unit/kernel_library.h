/* kernel_library.h -- the kernels of templates/cpu as a shared library, made of parts as programs are. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"

typedef struct Kernels {
    Arena *arena;
    void *handle;
    bool is_double;
    void (*set_threads)(int count);
} Kernels;

/* Built at the first call, with -Wall -Wextra -Werror; kept until the process ends. */
Kernels *kernels(bool is_double);
/* Each kernel with what its part says it needs, and nothing else, compiles and has no function unused. */
void kernels_compile_alone(bool is_double);
/* Runs one: kernel_adapters.h says what each takes. */
void kernel_run(Kernels *library, const char *name, void *const *tensors, const long *sizes, const double *numbers);

/* Numbers in the library's precision, beside the doubles they were made of. */
typedef struct Reals {
    long count;
    double *value;
    void *bytes;
} Reals;

Reals reals_zero(Kernels *library, long count);
/* Uniform on -1..1, rounded to float so that both precisions get the same; `seed` chooses which. */
Reals reals_random(Kernels *library, long count, unsigned seed);
void reals_read(Kernels *library, Reals *reals);            /* value = what the kernel wrote */
void reals_write(Kernels *library, Reals *reals);           /* the other way */
int *ints_random(Kernels *library, long count, int below, unsigned seed);
