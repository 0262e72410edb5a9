/* methods_bench.h -- method files written to a folder of their own, loaded and bound by a recipe of a few lines. */
#pragma once
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "method/methods.h"

typedef struct Bench {
    Arena *arena;
    ExprPool *exprs;
    Diagnostics diag;
    const char *folder;
    Methods *methods;                   /* NULL: refused */
} Bench;

static inline void bench_open(Bench *bench)
{
    const char *folder = getenv("TMPDIR");
    *bench = (Bench){ .arena = arena_create() };
    bench->diag.arena = bench->arena;
    bench->exprs = expr_pool(bench->arena);
    bench->folder = mkdtemp((char *)text_format(bench->arena, "%s/methods_XXXXXX", folder ? folder : P_tmpdir));
    ck_assert_ptr_nonnull(bench->folder);
    ck_assert_int_eq(mkdir(text_format(bench->arena, "%s/optimizers", bench->folder), 0700), 0);
    ck_assert_int_eq(mkdir(text_format(bench->arena, "%s/schedules", bench->folder), 0700), 0);
}

static inline void bench_remove(Bench *bench, const char *folder)
{
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            const char *path = text_format(bench->arena, "%s/%s", folder, entry->d_name);
            if (unlink(path) != 0)
                bench_remove(bench, path);
        }
    closedir(dir);
    rmdir(folder);
}

static inline void bench_close(Bench *bench)
{
    bench_remove(bench, bench->folder);
    arena_destroy(bench->arena);
}

/* `name` may begin with "optimizers/" or "schedules/". */
static inline void bench_file(Bench *bench, const char *name, const char *body)
{
    const char *path = text_format(bench->arena, "%s/%s.c", bench->folder, name);
    const char *text = text_format(bench->arena, "#include \"method.h\"\nSUMMARY(\"%s for tests\")\n%s\n", name, body);
    ck_assert(text_write_file(path, text, strlen(text)));
}

static inline const char *bench_said(Bench *bench)
{
    Buffer out = { .arena = bench->arena };
    diagnostics_print(&bench->diag, &out);
    return buffer_text(&out);
}

/* A run of 1000 batches of images in ten epochs. */
static const RunFacts bench_run = {
    .batch_rows = 8, .train_samples = 800, .batches_per_epoch = 100, .steps = 1000, .epochs = 10, .channels = 3, .height = 32,
    .width = 32, .class_count = 4, .micro_batches = 1, .drop_last = true, .scale_schedule_ratio = 1,
};

/* `keys` may give max_duration and optimizer; without them 10ep and sgd. */
static inline bool bench_load(Bench *bench, const char *keys)
{
    const char *dirs[] = { bench->folder, "methods" };
    bool length = strstr(keys, "max_duration:"), optimizer = strstr(keys, "optimizer:");
    const char *text = text_format(bench->arena, "model: {mlp: {hidden: 4, num_classes: 4}}\n"
                                   "dataset: {synthetic: {image: [3, 8, 8], samples: 64, num_classes: 4}}\nbatch_size: 4\n%s%s%s\n",
                                   length ? "" : "max_duration: 10ep\n", optimizer ? "" : "optimizer: {sgd: {lr: 0.1}}\n", keys);
    bench->diag.list.count = bench->diag.errors = 0;
    Recipe *recipe = recipe_read_bytes(bench->arena, &bench->diag, "test.yaml", text, strlen(text), NULL, 0);
    ck_assert_msg(recipe != NULL, "%s", bench_said(bench));
    bench->methods = methods_load(bench->arena, bench->exprs, &bench->diag, recipe, dirs, 2, "recipes/models");
    return bench->methods != NULL;
}

/* Bound twice, as the compiler does: before and after it has looked at the model. */
static inline bool bench_bind(Bench *bench, const char *keys, const RunFacts *facts)
{
    return bench_load(bench, keys) && methods_bind(bench->methods, facts) && methods_bind(bench->methods, facts);
}

static inline Methods *bench_bound(Bench *bench, const char *keys)
{
    ck_assert_msg(bench_bind(bench, keys, &bench_run), "%s", bench_said(bench));
    return bench->methods;
}

static inline const char *bench_text(Bench *bench, const Expr *expr)
{
    Buffer out = { .arena = bench->arena };
    if (!expr)
        return "dead";
    expr_print(&out, expr);
    return buffer_text(&out);
}
