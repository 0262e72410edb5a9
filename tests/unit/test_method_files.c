/* test_method_files.c -- the files of methods/: each speaks the language, has what its kind must have, has Composer's
 * defaults, and gives Composer's numbers. */
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "method/methods.h"
#include "program_bench.h"
#include "skip.h"
#include "tests/ops/reference.h"

/* ---- what stands in the folder ---- */

typedef struct Expected {
    const char *name;
    const char *parts[3];               /* what acts; none: unavailable */
    const char *given;                  /* parameters that a recipe must give */
    const char *defaults;               /* with them: all parameters as --print-config shows them */
} Expected;

static const Expected expected[] = {
    { "alibi", { "rewrite_position_embedding", "hook_attention_score", "schedule_geometry" }, "{max_sequence_length: 64}",
      "max_sequence_length=64 train_sequence_length_scaling=0.25" },
    { "blurpool", { "rewrite_conv2d", "rewrite_max_pool2d" }, "{}",
      "replace_convs=true replace_maxpools=true blur_first=true min_channels=16" },
    { "channels_last", { "preferred_layout" }, "{}", "" },
    { "cutmix", { "hook_mixed_pixel", "hook_partner_weight" }, "{}", "alpha=1 interpolate_loss=false uniform_sampling=false" },
    { "cutout", { "hook_pixel" }, "{}", "num_holes=1 length=0.5 uniform_sampling=false" },
    { "ema", { "on_batch_end", "on_epoch_end" }, "{half_life: 1000ba}",
      "half_life=1000ba smoothing=null ema_start=0.0dur update_interval=null" },
    { "factorize", { "rewrite_conv2d", "rewrite_linear" }, "{}",
      "factorize_convs=true factorize_linears=true min_channels=256 latent_channels=0.25 min_features=256 latent_features=128" },
    { "fused_layernorm", { "rewrite_layer_norm" }, "{}", "" },
    { "ghost_batchnorm", { "rewrite_batch_norm" }, "{}", "ghost_batch_size=32" },
    { "gradient_clipping", { "on_gradients" }, "{clipping_type: norm, clipping_threshold: 1.0}",
      "clipping_type=norm clipping_threshold=1" },
    { "label_smoothing", { "hook_loss_target" }, "{}", "smoothing=0.1" },
    { "layer_freezing", { "schedule_frozen_layers" }, "{}", "freeze_start=0.5 freeze_level=1" },
    { "mixup", { "hook_mixed_pixel", "hook_partner_weight" }, "{}", "alpha=0.2 interpolate_loss=false" },
    { "progressive_resizing", { "schedule_geometry" }, "{}",
      "mode=resize initial_scale=0.5 finetune_fraction=0.2 delay_fraction=0.5 size_increment=4 resize_targets=false" },
    { "sam", { "on_step" }, "{}", "rho=0.05 epsilon=1e-12 interval=1 redraw=false" },
    { "selective_backprop", { "schedule_geometry", "hook_rank_weight" }, "{}",
      "start=0.5 end=0.9 keep=0.5 scale_factor=1 interrupt=2 update_statistics=false" },
    { "seq_length_warmup", { "schedule_geometry" }, "{}",
      "duration=0.3 min_seq_length=8 max_seq_length=1024 step_size=8 truncate=true preserve_end_of_sequence=false" },
    { "squeeze_excite", { "rewrite_conv2d" }, "{}", "latent_channels=64 min_channels=128" },
    { "stochastic_depth", { "rewrite_residual" }, "{}",
      "target_layer_name=resnetbottleneck stochastic_method=block drop_rate=0.2 drop_distribution=linear drop_warmup=0dur" },
    { "swa", { "on_batch_end", "on_epoch_end" }, "{}",
      "swa_start=0.7dur swa_end=0.97dur update_interval=1ep schedule_swa_lr=false"
      " anneal_strategy=linear anneal_steps=10 swa_lr=null" },
    { "weight_standardization", { "rewrite_conv2d" }, "{}", "n_last_layers_ignore=0" },
    /* unavailable */
    { .name = "augmix" }, { .name = "colout" }, { .name = "gated_linear_units" }, { .name = "gyro_dropout" },
    { .name = "low_precision_groupnorm" }, { .name = "low_precision_layernorm" }, { .name = "no_op_model" }, { .name = "randaugment" },
};
enum { METHODS = sizeof expected / sizeof *expected };

static const char *const folders[] = { "methods", "methods/optimizers", "methods/schedules" };
static const char *const must_have[] = { "method_stage", "on_update", "schedule_rate" };
static const char *const dirs[] = { "recipes/models", "methods" };

static const char *said(const Diagnostics *diag)
{
    Buffer out = { .arena = diag->arena };
    diagnostics_print(diag, &out);
    return buffer_text(&out);
}

static CFile *parse(Arena *arena, const char *folder, const char *name)
{
    Diagnostics diag = { .arena = arena };
    CFile *file = front_parse(arena, &diag, text_format(arena, "%s/%s.c", folder, name), dirs, 2);
    ck_assert_msg(file && !diag.errors && !diag.warnings, "%s: %s", name, said(&diag));
    return file;
}

static bool has(const CFile *file, const char *name)
{
    return cfile_find_function(file, name) || cfile_find_variable(file, name);
}

static TextArray names_in(Arena *arena, const char *folder)
{
    TextArray names = { 0 };
    DIR *dir = opendir(folder);
    ck_assert_msg(dir != NULL, "%s can't be read", folder);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (text_ends(entry->d_name, ".c"))
            array_push(arena, &names, text_slice(arena, entry->d_name, strlen(entry->d_name) - 2));
    closedir(dir);
    return names;
}

START_TEST(each_file_speaks_the_language)
{
    Arena *arena = arena_create();
    TextArray names = names_in(arena, folders[_i]);
    ck_assert_int_gt(names.count, 0);
    for (int i = 0; i < names.count; i++) {
        const char *name = names.items[i], *path = text_format(arena, "%s/%s.c", folders[_i], name);
        size_t length;
        const char *text = text_read_file(arena, path, &length);
        const CFile *file = parse(arena, folders[_i], name);
        ck_assert_msg(text_starts(text, text_format(arena, "/** %s -- ", name)), "%s does not begin with what it is", path);
        ck_assert_msg(has(file, "summary") && has(file, must_have[_i]), "%s has no SUMMARY or no %s", path, must_have[_i]);
    }
    arena_destroy(arena);
}
END_TEST

START_TEST(each_method_has_its_functions)
{
    Arena *arena = arena_create();
    ck_assert_int_eq(names_in(arena, "methods").count, METHODS);
    for (int i = 0; i < METHODS; i++) {
        const Expected *it = &expected[i];
        const CFile *file = parse(arena, "methods", it->name);
        ck_assert_msg(has(file, "unavailable") == !it->given, "%s: is it available?", it->name);
        for (int k = 0; k < 3 && it->parts[k]; k++)
            ck_assert_msg(has(file, it->parts[k]), "%s has no %s", it->name, it->parts[k]);
    }
    arena_destroy(arena);
}
END_TEST

static bool is_method(const char *name)
{
    bool known = false;
    for (int i = 0; i < METHODS; i++)
        known |= text_equal(expected[i].name, name);
    return known;
}

/* A word about another method: "after_", "before_" or "excludes_" and its name; else NULL. */
static const char *other_of(const char *variable)
{
    static const char *const words[] = { "after_", "before_", "excludes_" };
    for (int i = 0; i < 3; i++)
        if (text_starts(variable, words[i]))
            return variable + strlen(words[i]);
    return NULL;
}

/* An edge to a name that is no file would never act; an exclusion must stand in both files. */
START_TEST(words_about_others_name_methods)
{
    Arena *arena = arena_create();
    for (int i = 0; i < METHODS; i++) {
        const CFile *file = parse(arena, "methods", expected[i].name);
        for (int k = 0; k < cfile_variable_count(file); k++) {
            const char *word = cvariable_name(cfile_variable(file, k)), *other = other_of(word);
            ck_assert_msg(!other || is_method(other), "%s: no method is called %s", expected[i].name, other);
            if (other && text_starts(word, "excludes_"))
                ck_assert_msg(has(parse(arena, "methods", other), text_format(arena, "excludes_%s", expected[i].name)),
                              "%s does not exclude %s", other, expected[i].name);
        }
    }
    arena_destroy(arena);
}
END_TEST

/* ---- methods in a run ---- */

typedef struct Bench {
    Diagnostics *diag;
    Methods *methods;                   /* NULL: refused */
} Bench;

static const RunFacts thousand = {
    .batch_rows = 8, .train_samples = 800, .batches_per_epoch = 100, .steps = 1000, .epochs = 10, .channels = 3, .height = 224,
    .width = 224, .class_count = 4, .micro_batches = 1, .drop_last = true, .scale_schedule_ratio = 1,
};

static Bench open_bench(Arena *arena, const RunFacts *facts, const char *keys)
{
    Bench bench = { .diag = arena_new(arena, Diagnostics) };
    bench.diag->arena = arena;
    const char *text = text_format(arena, "model: {mlp: {hidden: 4, num_classes: 4}}\n"
                                   "dataset: {synthetic: {image: [3, 8, 8], samples: 64, num_classes: 4}}\n"
                                   "max_duration: 10ba\nbatch_size: 4\n%s\n", keys);
    Recipe *recipe = recipe_read_bytes(arena, bench.diag, "test.yaml", text, strlen(text), NULL, 0);
    ck_assert_msg(recipe != NULL, "%s", said(bench.diag));
    bench.methods = methods_load(arena, expr_pool(arena), bench.diag, recipe, &dirs[1], 1, dirs[0]);
    if (bench.methods && facts && !methods_bind(bench.methods, facts))
        bench.methods = NULL;
    return bench;
}

/* All values, whatever form the compiler writes numbers in. */
static const char *parameters_of(Arena *arena, const Method *method)
{
    Buffer out = { .arena = arena };
    for (int i = 0; i < method->parameters.count; i++) {
        const MethodParameter *parameter = &method->parameters.items[i];
        char *end;
        double number = strtod(parameter->shown, &end);
        const char *shown = *end ? parameter->shown : text_format(arena, "%.15g", number);
        buffer_add(&out, "%s%s=%s", i ? " " : "", parameter->name, shown);
    }
    return buffer_text(&out);
}

START_TEST(defaults_are_composers)
{
    Arena *arena = arena_create();
    for (int i = 0; i < METHODS; i++) {
        const Expected *it = &expected[i];
        Bench bench = open_bench(arena, NULL, text_format(arena, "optimizer: {sgd: {lr: 0.1}}\nmethods: {%s: %s}", it->name,
                                                          it->given ? it->given : "{}"));
        ck_assert_msg((bench.methods != NULL) == (it->given != NULL), "%s: %s", it->name, said(bench.diag));
        if (it->given)
            ck_assert_str_eq(parameters_of(arena, bench.methods->list.items[0]), it->defaults);
    }
    arena_destroy(arena);
}
END_TEST

/* ---- schedules ---- */

static void add_value(Buffer *out, const Json *value)
{
    if (value->kind == JSON_TEXT)
        buffer_add(out, "\"%s\"", value->text);
    else if (value->kind == JSON_TRUTH)
        buffer_add(out, "%s", value->number != 0 ? "true" : "false");
    else if (value->kind != JSON_LIST)
        buffer_add(out, "%.17g", value->number);
    for (int i = 0; value->kind == JSON_LIST && i < value->count; i++) {
        buffer_add(out, i ? ", " : "[");
        add_value(out, &value->items[i]);
    }
    if (value->kind == JSON_LIST)
        buffer_add(out, value->count ? "]" : "[]");
}

/* As a recipe has it: "{sgd: {lr: 0.1}}". */
static const char *choice_text(Arena *arena, const char *name, const Json *parameters)
{
    Buffer out = { .arena = arena };
    buffer_add(&out, "{%s: {", name);
    for (int i = 0; i < parameters->count; i++) {
        buffer_add(&out, "%s%s: ", i ? ", " : "", parameters->items[i].key);
        add_value(&out, &parameters->items[i]);
    }
    buffer_add(&out, "}}");
    return buffer_text(&out);
}

static int64_t batches_of_run(Arena *arena, const Json *row)
{
    Duration run;
    ck_assert_ptr_null(duration_parse(arena, json_text(row, "max_duration_after_scaling", ""), &run));
    return (int64_t)(run.unit == TIME_EPOCH    ? run.amount * json_number(row, "batches_per_epoch", 1)
                     : run.unit == TIME_SAMPLE ? run.amount / json_number(row, "batch_size", 1) : run.amount);
}

static Moment moment_at(const RunFacts *facts, int64_t step)
{
    return (Moment){ .step = step, .epoch = step / facts->batches_per_epoch, .batch_in_epoch = step % facts->batches_per_epoch,
                     .samples = step * facts->batch_rows };
}

/* Ours may refuse a warmup that is longer than the run; Composer's errors are all ours too. */
static void check_schedule(Arena *arena, const Json *row)
{
    RunFacts facts = { .batch_rows = (int64_t)json_number(row, "batch_size", 1), .train_samples = 1 << 20, .drop_last = true,
                       .batches_per_epoch = (int64_t)json_number(row, "batches_per_epoch", 1),
                       .scale_schedule_ratio = json_number(row, "scale_schedule_ratio", 1), .micro_batches = 1 };
    facts.steps = batches_of_run(arena, row);
    facts.epochs = (facts.steps + facts.batches_per_epoch - 1) / facts.batches_per_epoch;
    const char *choice = choice_text(arena, json_text(row, "schedule", ""), json_get(row, "parameters"));
    Bench bench = open_bench(arena, &facts, text_format(arena, "optimizer: {sgd: {lr: 0.1}}\nschedule: %s", choice));
    const Json *factors = json_get(row, "factors"), *batches = json_get(row, "batches");
    bool too_warm = !bench.methods && strstr(said(bench.diag), "the warmup is longer than the run");
    ck_assert_msg(bench.methods || too_warm || json_get(row, "error"), "%s: %s", choice, said(bench.diag));
    if (!bench.methods)
        return;
    ck_assert_msg(factors != NULL, "%s at ratio %g must be refused", choice, facts.scale_schedule_ratio);
    for (int i = 0; i < factors->count; i++) {
        Moment now = moment_at(&facts, (int64_t)batches->items[i].number);
        double rate, wanted = factors->items[i].number;
        if (now.step == facts.steps)
            continue;                   /* Composer's last call is after the run */
        ck_assert(methods_rate(bench.methods, &now, &rate));
        ck_assert_msg(fabs(rate - wanted) < 1e-12, "%s at ratio %g, batch %lld: %.15g, not %.15g", choice,
                      facts.scale_schedule_ratio, (long long)now.step, rate, wanted);
    }
}

START_TEST(schedules_give_composers_factors)
{
    Arena *arena = arena_create();
    const char *folder = reference_folder(arena, "schedules");
    const Json *rows = folder ? reference_json(arena, text_format(arena, "%s/schedules.json", folder)) : NULL;
    if (!rows)
        SKIP("schedules: there are no reference values");
    for (int i = 0; i < rows->count; i++)
        check_schedule(arena, &rows->items[i]);
    arena_destroy(arena);
}
END_TEST

/* ---- optimizers ---- */

enum { MOST_STATES = 4 };

static double rate_or_count(void *context, const Scalar *scalar)
{
    const double *update = context;
    return update[text_equal(scalar->name, "update_count")];
}

/* `cells` of one element: parameter, gradient, states. */
static void run_update(const Methods *methods, double *cells, double update[2])
{
    double made[SLOT_STATES + MOST_STATES];
    const ElementProgram *program = methods->update;
    for (int i = 0; i < program->assignments.count; i++)
        made[i] = expr_evaluate(program->assignments.items[i].value,
                                &(ExprPoint){ .inputs = cells, .scalar = rate_or_count, .context = update });
    for (int i = 0; i < program->assignments.count; i++)
        cells[program->assignments.items[i].slot] = made[i];
}

static void check_tensor(Arena *arena, const Methods *methods, const Tensors *tensors, const Json *factors, const char *name)
{
    const Tensor *start = tensor_named(tensors, text_format(arena, "start_%s", name));
    const Tensor *gradients = tensor_named(tensors, text_format(arena, "grads_%s", name));
    int64_t count = shape_elements(start->shape);
    for (int64_t at = 0; at < count; at++) {
        double cells[SLOT_STATES + MOST_STATES] = { start->values[at] };
        for (int step = 1; step <= factors->count; step++) {
            double update[] = { factors->items[step - 1].number, step };
            cells[SLOT_GRADIENT] = gradients->values[(step - 1) * count + at];
            run_update(methods, cells, update);
            const Tensor *after = tensor_named(tensors, text_format(arena, "step%d_%s", step, name));
            double wanted = after ? after->values[at] : cells[SLOT_PARAMETER];
            ck_assert_msg(fabs(cells[SLOT_PARAMETER] - wanted) < 1e-12 * fmax(1, fabs(wanted)),
                          "%s: %s after %d updates: %.15g, not %.15g", methods->optimizer->name, name, step,
                          cells[SLOT_PARAMETER], wanted);
        }
    }
}

static void check_optimizer(Arena *arena, const char *folder, const Json *row)
{
    const char *choice = choice_text(arena, json_text(row, "optimizer", ""), json_get(row, "hyperparameters"));
    const Methods *methods = open_bench(arena, &thousand, text_format(arena, "optimizer: %s", choice)).methods;
    ck_assert_msg(methods != NULL, "%s is refused", choice);
    ck_assert_msg(methods->states.count == json_get(row, "state")->count, "%s: states that it does not need", choice);
    Tensors tensors;
    ck_assert(reference_tensors(arena, text_format(arena, "%s/%s", folder, json_text(row, "file", "")), &tensors));
    for (int i = 0; i < 3; i++)
        check_tensor(arena, methods, &tensors, json_get(row, "lr_factors"), (const char *[]){ "weight", "bias", "scalar" }[i]);
}

START_TEST(optimizers_give_the_references_weights)
{
    Arena *arena = arena_create();
    const char *folder = reference_folder(arena, "optim");
    const Json *rows = folder ? reference_json(arena, text_format(arena, "%s/index.json", folder)) : NULL;
    if (!rows)
        SKIP("optimizers: there are no reference values");
    const Json *cases = rows->kind == JSON_LIST ? rows : json_get(rows, "cases");
    for (int i = 0; i < cases->count; i++)
        check_optimizer(arena, folder, &cases->items[i]);
    arena_destroy(arena);
}
END_TEST

/* ---- sizes and layers over a run ---- */

static Geometry geometry_at(Methods *methods, const RunFacts *facts, int64_t step)
{
    Moment now = moment_at(facts, step);
    Geometry full = { .rows = facts->batch_rows, .length = facts->length, .columns = facts->length, .height = facts->height,
                      .width = facts->width }, geometry;
    ck_assert(methods_geometry(methods, &now, full, &geometry));
    return geometry;
}

static Bench open_method(Arena *arena, const RunFacts *facts, const char *method)
{
    Bench bench = open_bench(arena, facts, text_format(arena, "optimizer: {sgd: {lr: 0.1}}\nmethods: {%s}", method));
    ck_assert_msg(bench.methods != NULL, "%s: %s", method, said(bench.diag));
    return bench;
}

START_TEST(sizes_and_layers_follow_the_run)
{
    static const int widths[][2] = { { 500, 112 }, { 550, 132 }, { 600, 148 }, { 700, 188 }, { 790, 220 }, { 800, 224 } };
    static const int lengths[][2] = { { 0, 8 }, { 2, 16 }, { 100, 408 }, { 253, 1016 }, { 254, 1024 }, { 999, 1024 } };
    static const int layers[][2] = { { 500, 0 }, { 600, 21 }, { 700, 42 }, { 900, 84 } };
    Arena *arena = arena_create();
    Methods *methods = open_method(arena, &thousand, "progressive_resizing: {}").methods;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        ck_assert_int_eq(geometry_at(methods, &thousand, widths[i][0]).width, widths[i][1]);
    RunFacts text = thousand;
    text.is_text = true;
    text.height = text.width = 0;
    text.length = 1024;
    methods = open_method(arena, &text, "seq_length_warmup: {}").methods;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        ck_assert_int_eq(geometry_at(methods, &text, lengths[i][0]).columns, lengths[i][1]);
    methods = open_method(arena, &thousand, "layer_freezing: {}").methods;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        int64_t frozen;
        ck_assert(methods_frozen_layers(methods, &(Moment){ .step = layers[i][0] }, 107, &frozen));
        ck_assert_int_eq(frozen, layers[i][1]);
    }
    methods = open_method(arena, &thousand, "selective_backprop: {}").methods;
    ck_assert_int_eq(geometry_at(methods, &thousand, 600).rows, 4);
    ck_assert_int_eq(geometry_at(methods, &thousand, 601).candidates, 0);
    arena_destroy(arena);
}
END_TEST

/* ---- helpers of the files ---- */

static double call_helper(Arena *arena, const char *file, const char *name, const double *arguments, int count)
{
    Diagnostics diag = { .arena = arena };
    ExprPool *pool = expr_pool(arena);
    const CFile *methods = parse(arena, "methods", file);
    const CFunction *function = cfile_find_function(methods, name);
    Value values[4], result;
    for (int i = 0; i < count; i++)
        values[i] = value_scalar(expr_number(pool, arguments[i]));
    ck_assert_msg(function != NULL, "%s has no %s", file, name);
    Evaluator *evaluator = evaluator_create(arena, pool, &diag, methods, &(Host){ 0 });
    ck_assert_msg(evaluate_call(evaluator, function, values, count, &result), "%s", said(&diag));
    return expr_value(result.scalar);
}

#define HELPER(file, name, ...)                                                                                        \
    call_helper(arena, file, name, (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

START_TEST(helpers_give_composers_numbers)
{
    Arena *arena = arena_create();
    ck_assert_double_eq_tol(HELPER("alibi", "slope", 8, 12), 0.70710678118654752, 1e-15);
    ck_assert_double_eq_tol(HELPER("alibi", "slope", 11, 12), 0.08838834764831845, 1e-15);
    ck_assert_double_eq(HELPER("factorize", "highest_rank", 64, 64), 31);
    ck_assert_double_eq(HELPER("factorize", "highest_rank", 512 * 9, 512), 460);
    ck_assert_double_eq(HELPER("factorize", "highest_rank", 2048, 1000), 671);
    ck_assert_double_eq(HELPER("factorize", "rank_between", 3, 64, 0.25), 1);
    ck_assert_double_eq(HELPER("factorize", "rank_between", 512, 512, 1.5), 1);
    arena_destroy(arena);
}
END_TEST

/* ---- programs ---- */

static const ProgramCase programs[] = {
    { "weight_standardization", "resnet", .methods = "{weight_standardization: {n_last_layers_ignore: 2}}" },
    { "weight_standardization_and_others", "resnet",
      .methods = "{weight_standardization: {}, blurpool: {min_channels: 4},"
                 " squeeze_excite: {min_channels: 4, latent_channels: 2}}" },
    { "factorize", "resnet",
      .methods = "{factorize: {min_channels: 4, latent_channels: 0.5, min_features: 4, latent_features: 2}}" },
    { "factorize_and_others", "resnet",
      .methods = "{factorize: {min_channels: 4, latent_channels: 0.5, factorize_linears: false},"
                 " squeeze_excite: {min_channels: 4, latent_channels: 2}, blurpool: {min_channels: 4}, weight_standardization: {}}" },
    { "factorize_text", "gpt2", .methods = "{factorize: {min_features: 8, latent_features: 0.25}}" },
    { "fused_layernorm", "gpt2", .methods = "{fused_layernorm: {}}" },
};

START_TEST(the_newest_methods_train)
{
    enum { COUNT = sizeof programs / sizeof *programs };
    Arena *arena = arena_create();
    ProgramOutcome outcomes[COUNT];
    programs_run(arena, programs, COUNT, outcomes);
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(outcomes[i].verdict == PROGRAM_AGREES, "%s: %s", programs[i].name, outcomes[i].why);
    arena_destroy(arena);
}
END_TEST

Suite *method_files_suite(void);
Suite *method_files_suite(void)
{
    Suite *suite = suite_create("method files");
    TCase *cases = tcase_create("files");
    tcase_set_timeout(cases, 120);
    suite_add_tcase(suite, cases);
    tcase_add_loop_test(cases, each_file_speaks_the_language, 0, 3);
    tcase_add_test(cases, each_method_has_its_functions);
    tcase_add_test(cases, words_about_others_name_methods);
    tcase_add_test(cases, defaults_are_composers);
    tcase_add_test(cases, schedules_give_composers_factors);
    tcase_add_test(cases, optimizers_give_the_references_weights);
    tcase_add_test(cases, sizes_and_layers_follow_the_run);
    tcase_add_test(cases, helpers_give_composers_numbers);
    tcase_add_test(cases, the_newest_methods_train);
    return suite;
}
