/* program_bench.c -- see program_bench.h. */
#include "program_bench.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline.h"
#include "tests/interp/program.h"
#include "tests/ops/reference.h"

enum { AT_ONCE = 2 };

static const double tolerance = 1e-9;

/* ---- recipes ---- */

static const struct TinyModel { const char *name, *model, *data; } models[] = {
    { "mlp", "mlp: {hidden: 12, num_classes: 5}", "image: [1, 6, 6], samples: 28, num_classes: 5" },
    { "resnet", "resnet_cifar: {depth: 8, width: 4, num_classes: 5}", "image: [3, 8, 8], samples: 28, num_classes: 5" },
    { "wide", "resnet_cifar: {depth: 8, width: 4, num_classes: 5}", "image: [3, 16, 16], samples: 28, num_classes: 5" },
    { "gpt2", "gpt2: {vocab_size: 24, context: 8, layers: 2, heads: 2, channels: 16}",
      "sequence_length: 8, samples: 28, vocab_size: 24" },
    { "resnet_pair", "resnet_cifar: {depth: 8, width: 4, num_classes: 5}", "image: [3, 8, 8], samples: 20, num_classes: 5" },
    { "gpt2_pair", "gpt2: {vocab_size: 24, context: 8, layers: 2, heads: 2, channels: 16}",
      "sequence_length: 8, samples: 20, vocab_size: 24" },
    { "gpt2_dropout", "gpt2: {vocab_size: 24, context: 8, layers: 1, heads: 2, channels: 16, dropout: 0.2}",
      "sequence_length: 8, samples: 28, vocab_size: 24" },
};

static const struct TinyModel *model_named(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (text_equal(models[i].name, name))
            return &models[i];
    bug("no model is called %s", name);
}

static const char *recipe_text(Arena *arena, const ProgramCase *it)
{
    const struct TinyModel *model = model_named(it->model);
    Buffer out = { .arena = arena };
    buffer_add(&out, "model:\n  %s\ndataset:\n  synthetic: {%s%s%s}\n", model->model, model->data, it->data ? ", " : "",
               it->data ? it->data : "");
    buffer_add(&out, "%s\n", it->run ? it->run : "max_duration: 4ba\nbatch_size: 8");
    buffer_add(&out, "optimizer: %s\n", it->optimizer ? it->optimizer : "{decoupled_sgdw: {lr: 0.1, momentum: 0.9}}");
    if (it->schedule)
        buffer_add(&out, "schedule: %s\n", it->schedule);
    if (it->methods)
        buffer_add(&out, "methods: %s\n", it->methods);
    buffer_add(&out, "precision: fp64\neval_interval: 0\nseed: 5\n");
    return buffer_text(&out);
}

/* ---- one case ---- */

typedef struct Bench {
    Arena *arena;
    const ProgramCase *it;
    const char *folder;
    ProgramOutcome outcome;
} Bench;

static bool differs(Bench *bench, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool differs(Bench *bench, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bench->outcome = (ProgramOutcome){ PROGRAM_DIFFERS, text_vformat(bench->arena, format, arguments) };
    va_end(arguments);
    return false;
}

static const char *path_of(const Bench *bench, const char *ending)
{
    return text_format(bench->arena, "%s/%s%s", bench->folder, bench->it->name, ending);
}

static const char *file_text(Arena *arena, const char *path)
{
    size_t length;
    const char *text = text_read_file(arena, path, &length);
    return text ? text : "";
}

static Program *compile_case(Bench *bench)
{
    const char *recipe = recipe_text(bench->arena, bench->it), *path = path_of(bench, ".yaml");
    Diagnostics diag = { .arena = bench->arena };
    Buffer said = { .arena = bench->arena };
    Options options = { .recipe = path, .home = ".", .command = "composer-gen", .stop_after_pass = -1 };
    array_push(bench->arena, &options.method_dirs, "tests/methods");
    array_push(bench->arena, &options.method_dirs, "methods");
    if (!text_write_file(path, recipe, strlen(recipe)))
        bug("can't write %s", path);
    Program *program = compile(bench->arena, &diag, &options, NULL);
    const char *text = program && !diag.errors ? emit_cpu(program, &diag, "templates", "runtime") : NULL;
    if (text && text_write_file(path_of(bench, ".c"), text, strlen(text)))
        return program;
    diagnostics_print(&diag, &said);
    bench->outcome = (ProgramOutcome){ diag.errors ? PROGRAM_REFUSED : PROGRAM_DIFFERS, buffer_text(&said) };
    return NULL;
}

static bool build_and_run(Bench *bench)
{
    const char *name = path_of(bench, ""), *log = path_of(bench, ".log");
    if (system(text_format(bench->arena, "gcc -O0 -fopenmp -std=gnu11 -Wall -Wextra -Werror -o %s %s.c -lm -lz >%s 2>&1",
                           name, name, log)) != 0)
        return differs(bench, "gcc: %.2000s", file_text(bench->arena, log));
    if (system(text_format(bench->arena, "OMP_NUM_THREADS=1 %s run_folder=%s.run >%s 2>&1", name, name, log)) != 0)
        return differs(bench, "the program failed: %.2000s", file_text(bench->arena, log));
    return true;
}

/* ---- comparing ---- */

static bool near(double a, double b, double scale)
{
    return fabs(a - b) <= tolerance * fmax(scale, 1e-3);
}

static bool compare_losses(Bench *bench, ProgramRun *run)
{
    const char *line = file_text(bench->arena, path_of(bench, ".run/metrics.jsonl"));
    double evaluated = NAN;
    int64_t step = 0;
    for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
        const Json *entry = json_parse(bench->arena, line, (size_t)(end - line));
        double loss = json_number(entry, "loss/train/total", NAN);
        evaluated = json_number(entry, "metrics/eval/CrossEntropy", evaluated);
        if (isnan(loss))
            continue;
        if (program_run_ended(run))
            return differs(bench, "the program makes more than %lld steps", (long long)step);
        double computed = program_run_step(run);
        if (!near(loss, computed, fabs(computed)))
            return differs(bench, "step %lld: loss %.15g, computed %.15g", (long long)step, loss, computed);
        step++;
    }
    if (!program_run_ended(run))
        return differs(bench, "the program ends after %lld steps", (long long)step);
    double computed = program_run_evaluate(run, "loss");
    return near(evaluated, computed, fabs(computed))
        || differs(bench, "evaluation: loss %.15g, computed %.15g", evaluated, computed);
}

typedef const double *ValuesOf(const ProgramRun *run, const Parameter *parameter);

static bool compare_tensor(Bench *bench, const Tensor *tensor, const Parameter *parameter, const double *computed)
{
    int64_t count = shape_elements(parameter->shape);
    double most = 0;
    if (!tensor || !shape_equal(tensor->shape, parameter->shape))
        return differs(bench, "%s is not in the file", parameter->name);
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(computed[i]));
    for (int64_t i = 0; i < count; i++)
        if (!near(tensor->values[i], computed[i], most))
            return differs(bench, "%s[%lld]: %.15g, computed %.15g", parameter->name, (long long)i, tensor->values[i],
                           computed[i]);
    return true;
}

static bool compare_weights(Bench *bench, const Program *program, const ProgramRun *run, const char *file, ValuesOf *of)
{
    Tensors tensors;
    if (!program->parameters.count || !of(run, program->parameters.items[0]))
        return true;
    if (!reference_tensors(bench->arena, path_of(bench, file), &tensors))
        return differs(bench, "can't read %s", file);
    for (int i = 0; i < program->parameters.count; i++) {
        const Parameter *parameter = program->parameters.items[i];
        if (!compare_tensor(bench, tensor_named(&tensors, parameter->name), parameter, of(run, parameter)))
            return false;
    }
    return true;
}

static void run_case(Bench *bench)
{
    Program *program = compile_case(bench);
    if (!program || !build_and_run(bench))
        return;
    ProgramRun *run = program_run_create(program);
    if (compare_losses(bench, run)
        && compare_weights(bench, program, run, ".run/model.safetensors", program_run_weights)
        && compare_weights(bench, program, run, ".run/averaged.safetensors", program_run_averages))
        bench->outcome.verdict = PROGRAM_AGREES;
    program_run_destroy(run);
}

/* ---- many cases ---- */

/* The first byte is the verdict, the rest why. */
static void run_alone(const ProgramCase *it, const char *folder)
{
    Arena *arena = arena_create();
    Bench bench = { .arena = arena, .it = it, .folder = folder };
    if (freopen(path_of(&bench, ".said"), "w", stderr))         /* where bug() speaks */
        run_case(&bench);
    const char *why = bench.outcome.why ? bench.outcome.why : "";
    const char *text = text_format(arena, "%c%s", (char)('0' + bench.outcome.verdict), why);
    _exit(!text_write_file(path_of(&bench, ".outcome"), text, strlen(text)));
}

static ProgramOutcome read_outcome(Arena *arena, const ProgramCase *it, const char *folder)
{
    Bench bench = { .arena = arena, .it = it, .folder = folder };
    const char *text = file_text(arena, path_of(&bench, ".outcome"));
    if (!*text)
        return (ProgramOutcome){ PROGRAM_DIFFERS, text_format(arena, "died: %s", file_text(arena, path_of(&bench, ".said"))) };
    return (ProgramOutcome){ (ProgramVerdict)(*text - '0'), text + 1 };
}

void programs_run(Arena *arena, const ProgramCase *cases, int count, ProgramOutcome *outcomes)
{
    char folder[] = P_tmpdir "/programs_XXXXXX";
    int running = 0, failed = 0;
    ck_assert(mkdtemp(folder) != NULL);
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        ck_assert(child >= 0);
        if (child == 0)
            run_alone(&cases[i], folder);
        if (++running == AT_ONCE)
            wait(NULL), running--;
    }
    while (running-- > 0)
        wait(NULL);
    for (int i = 0; i < count; i++) {
        outcomes[i] = read_outcome(arena, &cases[i], folder);
        failed += outcomes[i].verdict == PROGRAM_DIFFERS;
    }
    if (!failed)
        ck_assert_int_eq(system(text_format(arena, "rm -r %s", folder)), 0);
    else
        fprintf(stderr, "programs that differ are in %s\n", folder);
}
