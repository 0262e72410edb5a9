/* kernel_runs.c -- see kernel_runs.h. */
#include "kernel_runs.h"

#include <math.h>

Reals run_input(Run *run, long count, unsigned seed)
{
    return reals_random(run->library, count, seed);
}

Reals run_output(Run *run, long count)
{
    Reals output = reals_zero(run->library, count);
    for (long i = 0; i < count; i++)
        output.value[i] = 1000;         /* what a kernel leaves out is seen */
    reals_write(run->library, &output);
    array_push(run->arena, &run->outputs, output);
    return output;
}

int *run_ints(Run *run, long count)
{
    Reals output = { .count = count, .bytes = arena_array(run->arena, double, count) };
    array_push(run->arena, &run->outputs, output);
    return output.bytes;
}

void run_kernel(Run *run, const char *name, void *const *tensors, const long *sizes, const double *numbers)
{
    kernel_run(run->library, name, tensors, sizes, numbers);
    for (int i = 0; i < run->outputs.count; i++)
        if (run->outputs.items[i].value)
            reals_read(run->library, &run->outputs.items[i]);
}

void run_check(Run *run, Reals got, const double *want, const char *what)
{
    for (long i = 0; i < got.count; i++) {
        double allowed = run->tolerance * (1 + fabs(want[i]));
        if (!(fabs(got.value[i] - want[i]) <= allowed) && got.value[i] != want[i])
            ck_abort_msg("%s[%ld] is %.12g, not %.12g (%s)", what, i, got.value[i], want[i],
                         run->library->is_double ? "double" : "float");
    }
}

double *run_numbers(Run *run, long count)
{
    return arena_array(run->arena, double, count);
}

static void compare_bits(const Run *first, const Run *other, int threads)
{
    ck_assert_int_eq(first->outputs.count, other->outputs.count);
    for (int i = 0; i < first->outputs.count; i++) {
        size_t bytes = (size_t)first->outputs.items[i].count * sizeof(double);
        ck_assert_msg(memcmp(first->outputs.items[i].bytes, other->outputs.items[i].bytes, bytes) == 0,
                      "output %d differs between 1 and %d threads", i, threads);
    }
}

void run_everywhere(Scenario *scenario)
{
    for (int is_double = 0; is_double < 2; is_double++) {
        Run runs[3];
        for (int i = 0; i < 3; i++) {
            Kernels *library = kernels(is_double);
            runs[i] = (Run){ .library = library, .arena = library->arena, .tolerance = is_double ? 1e-12 : 1e-5 };
            library->set_threads((int[]){ 1, 2, 5 }[i]);
            scenario(&runs[i]);
            compare_bits(&runs[0], &runs[i], (int[]){ 1, 2, 5 }[i]);
        }
    }
}

/* Each test runs in a process of its own: the libraries are made before, in their parent. */
static void build_libraries(void)
{
    kernels(false);
    kernels(true);
}

TCase *kernels_case(Suite *suite, const char *name)
{
    TCase *tests = tcase_create(name);
    tcase_add_unchecked_fixture(tests, build_libraries, NULL);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return tests;
}
