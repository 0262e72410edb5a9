/* kernel_library.c -- see kernel_library.h. Run from the project's folder. */
#define _GNU_SOURCE
#include "kernel_library.h"

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emit/cpu/emit.h"
#include "emit/parts.h"

static const char *const plain[] = {
    "conv2d", "conv2d_grad_input", "conv2d_grad_weight", "max_pool2d_grad", "avg_pool2d", "avg_pool2d_grad",
    "adaptive_avg_pool2d", "adaptive_avg_pool2d_grad", "blur2d", "blur2d_grad", "resize2d_nearest", "resize2d_nearest_grad",
    "resize2d_bilinear", "resize2d_bilinear_grad", "batch_moments", "batch_normalize", "batch_normalize_grad_sums",
    "batch_normalize_grad", "batch_normalize_grad_affine", "running_update", "row_moments", "rms_moments", "row_normalize",
    "row_normalize_grad_sums", "row_normalize_grad", "rms_normalize_grad", "row_normalize_grad_affine", "group_moments",
    "group_normalize", "group_normalize_grad_sums", "group_normalize_grad", "group_normalize_grad_affine", "softmax",
    "log_softmax", "strided_softmax", "strided_log_softmax", "gather", "gather_grad", "target_rank", "confusion",
    "dense_cross_entropy", "product_broadcast", "real_exp", "real_log", "real_tanh", "real_erf",
};

#define LIVE "live"
static const struct { const char *part, *suffix; Slot slots[6]; } instances[] = {
    { "max_pool2d", "", { { "argmax", LIVE } } },
    { "max_pool2d", "_only", { { "argmax", NULL } } },
    { "attention", "", { { "lse", LIVE } } },
    { "attention", "_causal", { { "lse", LIVE }, { "causal", LIVE } } },
    { "attention", "_mask", { { "lse", LIVE }, { "mask", LIVE } } },
    { "attention", "_hook", { { "lse", LIVE }, { "causal", LIVE }, { "head", LIVE }, { "query", LIVE },
                              { "score", "score * score + (real)0.1 * (real)(head + key - query)" } } },
    { "attention_grad", "", { { NULL, NULL } } },
    { "attention_grad", "_causal", { { "causal", LIVE } } },
    { "attention_grad", "_mask", { { "mask", LIVE } } },
    { "attention_grad", "_hook", { { "causal", LIVE }, { "head", LIVE }, { "query", LIVE },
                                   { "score_derivative", "2 * score" },
                                   { "score", "score * score + (real)0.1 * (real)(head + key - query)" } } },
    { "cross_entropy", "", { { NULL, NULL } } },
    { "cross_entropy", "_smooth", { { "own", LIVE }, { "rest", LIVE } } },
    { "cross_entropy", "_mixed", { { "own", LIVE }, { "partner", LIVE } } },
    { "cross_entropy", "_both", { { "own", LIVE }, { "partner", LIVE }, { "rest", LIVE } } },
    { "cross_entropy_grad", "", { { NULL, NULL } } },
    { "cross_entropy_grad", "_smooth", { { "own", LIVE }, { "rest", LIVE } } },
    { "cross_entropy_grad", "_mixed", { { "own", LIVE }, { "partner", LIVE } } },
    { "cross_entropy_grad", "_both", { { "own", LIVE }, { "partner", LIVE }, { "rest", LIVE } } },
};

static Parts *load(Arena *arena)
{
    Diagnostics diag = { .arena = arena };
    Parts *parts = parts_load(arena, &diag, "templates", "runtime");
    ck_assert_msg(parts != NULL, "the tests run in the project's folder");
    return parts;
}

static void add_instance(Buffer *text, const Parts *parts, PartSet *set, size_t number)
{
    int count = 0;
    while (count < 6 && instances[number].slots[count].name)
        count++;
    parts_use_needs(set, instances[number].part);
    buffer_add(text, "%s\n", parts_instance_text(text->arena, parts, instances[number].part, instances[number].slots, count,
                                                 instances[number].suffix));
}

/* Includes, parts, instances: as a program has them. */
static const char *program_text(Arena *arena, const PartSet *set, const char *made)
{
    Buffer text = { .arena = arena };
    TextArray includes = { 0 };
    parts_includes(set, &includes);
    for (int i = 0; i < includes.count; i++)
        buffer_add(&text, "%s\n", includes.items[i]);
    buffer_add(&text, "%s\n%s", parts_kernels(set), made);
    return buffer_text(&text);
}

static const char *library_text(Arena *arena, bool is_double)
{
    Parts *parts = load(arena);
    PartSet *set = parts_set(arena, parts, is_double);
    Buffer made = { .arena = arena };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        parts_use(set, plain[i]);
    for (size_t i = 0; i < sizeof instances / sizeof *instances; i++)
        add_instance(&made, parts, set, i);
    buffer_add(&made, "#include \"kernel_adapters.h\"\n");
    return program_text(arena, set, buffer_text(&made));
}

/* A file in `folder` whose last line uses one kernel. */
static void write_alone(Arena *arena, const Parts *parts, const char *folder, size_t number, bool is_double)
{
    const size_t plains = sizeof plain / sizeof *plain;
    PartSet *set = parts_set(arena, parts, is_double);
    Buffer made = { .arena = arena };
    if (number < plains)
        parts_use(set, plain[number]);
    else
        add_instance(&made, parts, set, number - plains);
    const char *name = number < plains ? plain[number] : instances[number - plains].part;
    const char *suffix = number < plains ? "" : instances[number - plains].suffix;
    buffer_add(&made, "void *const kernel = (void *)%s%s;\n", name, suffix);
    const char *path = text_format(arena, "%s/%zu.c", folder, number), *text = program_text(arena, set, buffer_text(&made));
    ck_assert(text_write_file(path, text, strlen(text)));
}

void kernels_compile_alone(bool is_double)
{
    Arena *arena = arena_create();
    Parts *parts = load(arena);
    char folder[] = P_tmpdir "/kernels_XXXXXX";
    ck_assert(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < sizeof plain / sizeof *plain + sizeof instances / sizeof *instances; i++)
        write_alone(arena, parts, folder, i, is_double);
    const char *command = text_format(arena, "for file in %s/*.c; do gcc -c -O0 -fopenmp -std=gnu11 -Wall -Wextra "
                                      "-Werror -Dreal=%s -o /dev/null $file || exit 1; done", folder, is_double ? "double" : "float");
    ck_assert_msg(system(command) == 0, "see %s", folder);
    ck_assert_int_eq(system(text_format(arena, "rm -r %s", folder)), 0);
    arena_destroy(arena);
}

static Kernels *build(bool is_double)
{
    Arena *arena = arena_create();
    char folder[] = P_tmpdir "/kernels_XXXXXX";
    ck_assert(mkdtemp(folder) != NULL);
    const char *source = text_format(arena, "%s/kernels.c", folder), *object = text_format(arena, "%s/kernels.so", folder);
    const char *text = library_text(arena, is_double);
    ck_assert(text_write_file(source, text, strlen(text)));
    const char *command = text_format(arena, "gcc -O3 -march=native -fopenmp -std=gnu11 -Wall -Wextra -Werror -shared -fPIC "
                                      "-Itests/unit -Dreal=%s "
                                      "-o %s %s -lm", is_double ? "double" : "float", object, source);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
    Kernels *library = arena_new(arena, Kernels);
    *library = (Kernels){ .arena = arena, .handle = dlopen(object, RTLD_NOW), .is_double = is_double };
    ck_assert_msg(library->handle, "%s", dlerror());
    unlink(source), unlink(object), rmdir(folder);
    *(void **)&library->set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (!library->set_threads)
        *(void **)&library->set_threads = dlsym(library->handle, "omp_set_num_threads");
    ck_assert(library->set_threads != NULL);
    return library;
}

Kernels *kernels(bool is_double)
{
    static Kernels *built[2];
    if (!built[is_double])
        built[is_double] = build(is_double);
    return built[is_double];
}

void kernel_run(Kernels *library, const char *name, void *const *tensors, const long *sizes, const double *numbers)
{
    void (*run)(void *const *, const long *, const double *);
    *(void **)&run = dlsym(library->handle, text_format(library->arena, "test_%s", name));
    ck_assert_msg(run != NULL, "no kernel %s", name);
    run(tensors, sizes, numbers);
}

/* ---- numbers ---- */

static double number(unsigned seed, long i)
{
    uint64_t bits = (uint64_t)i * 0x9e3779b97f4a7c15u + seed * 0xd1b54a32d192ed03u;
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 32) * 0x94d049bb133111ebu;
    return (float)((double)(bits >> 11) / 4503599627370496.0 - 1);
}

Reals reals_zero(Kernels *library, long count)
{
    Reals reals = { .count = count, .value = arena_array(library->arena, double, count) };
    reals.bytes = arena_alloc(library->arena, (size_t)count * sizeof(double));
    return reals;
}

void reals_write(Kernels *library, Reals *reals)
{
    for (long i = 0; i < reals->count; i++)
        if (library->is_double)
            ((double *)reals->bytes)[i] = reals->value[i];
        else
            ((float *)reals->bytes)[i] = (float)reals->value[i];
}

void reals_read(Kernels *library, Reals *reals)
{
    for (long i = 0; i < reals->count; i++)
        reals->value[i] = library->is_double ? ((double *)reals->bytes)[i] : ((float *)reals->bytes)[i];
}

Reals reals_random(Kernels *library, long count, unsigned seed)
{
    Reals reals = reals_zero(library, count);
    for (long i = 0; i < count; i++)
        reals.value[i] = number(seed, i);
    reals_write(library, &reals);
    return reals;
}

int *ints_random(Kernels *library, long count, int below, unsigned seed)
{
    int *ints = arena_array(library->arena, int, count);
    for (long i = 0; i < count; i++)
        ints[i] = (int)((number(seed, i) + 1) / 2 * below) % below;
    return ints;
}
