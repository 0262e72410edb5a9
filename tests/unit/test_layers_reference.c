/* test_layers_reference.c -- the model language's layers and losses against PyTorch: the same reference cases
 * as test_ops_reference.c, this time through the evaluator. Run from the project's folder. */
#include "layers_bench.h"
#include "skip.h"
#include "tests/ops/compare.h"
#include "tests/ops/model_text.h"

typedef struct Bench {
    Arena *arena;
    Diagnostics diag;
    const char *folder;
    const Json *index;
    Report report;
} Bench;

/* False, and the test is to be skipped, where the references are not. */
static bool bench_open(Bench *bench)
{
    Arena *arena = arena_create();
    *bench = (Bench){ .arena = arena,
                      .diag = { .arena = arena },
                      .report = { .arena = arena, .wrong = { .arena = arena } } };
    bench->folder = reference_folder(arena, "ops");
    if (!bench->folder)
        return false;
    bench->index = reference_json(arena, text_format(arena, "%s/index.json", bench->folder));
    ck_assert_ptr_nonnull(bench->index);
    return true;
}

static const char *bench_messages(Bench *bench)
{
    Buffer out = { .arena = bench->arena };
    diagnostics_print(&bench->diag, &out);
    return buffer_text(&out);
}

static void bench_close(Bench *bench)
{
    ck_assert_msg(!bench->report.wrong.count && !bench->diag.errors, "\n%s%s",
                  buffer_text(&bench->report.wrong), bench_messages(bench));
    arena_destroy(bench->arena);
}

static void open_case(Bench *bench, const Json *entry, OpCase *c)
{
    Trial *trial = trial_create(1);
    bench->report.file = json_text(entry, "file", "?");
    *c = (OpCase){ .trial = trial, .graph = trial->graph, .attributes = json_get(entry, "attributes") };
    const char *path = text_format(trial->arena, "%s/%s", bench->folder, bench->report.file);
    ck_assert_msg(reference_tensors(trial->arena, path, &c->tensors), "%s can't be read", path);
}

static Builder builder_for(Bench *bench, OpCase *c)
{
    return (Builder){ .graph = c->graph, .parameters = &c->trial->parameters, .diag = &bench->diag,
                      .arena = c->trial->arena, .training = json_number(c->attributes, "training", 1) != 0,
                      .input = case_tensor(c, model_input(c)) };
}

/* The parameters that layers made get the values of the case, by the last part of their name. */
static void fill_parameters(OpCase *c)
{
    Trial *trial = c->trial;
    for (int i = trial->values.count; i < trial->parameters.count; i++) {
        const char *name = trial->parameters.items[i]->name, *dot = strrchr(name, '.');
        const Tensor *tensor = tensor_named(&c->tensors, dot ? dot + 1 : name);
        ck_assert_msg(tensor && shape_equal(tensor->shape, trial->parameters.items[i]->shape),
                      "%s%s of the model is not in the case", name,
                      shape_text(trial->arena, trial->parameters.items[i]->shape));
        array_push(trial->arena, &trial->values, tensor->values);
    }
}

/* ---- layers ---- */

/* `tensor case_3(tensor x) { return ...; }` for every case of `op` that can be said; parsed at once. */
static CFile *parse_calls(Bench *bench, const char *op, int *count)
{
    Buffer text = { .arena = bench->arena };
    buffer_add(&text, "#include \"model.h\"\n");
    for (int i = 0; i < bench->index->count; i++) {
        OpCase c;
        if (!text_equal(json_text(&bench->index->items[i], "op", NULL), op))
            continue;
        open_case(bench, &bench->index->items[i], &c);
        const char *call = model_call(&c, op);
        if (call)
            buffer_add(&text, "tensor case_%d(tensor x) { return %s; }\n", i, call);
        *count += call != NULL;
        trial_destroy(c.trial);
    }
    char path[] = P_tmpdir "/cases_XXXXXX.c";
    int handle = mkstemps(path, 2);
    ck_assert(handle >= 0 && write(handle, buffer_text(&text), (size_t)text.count) == text.count
              && close(handle) == 0);
    CFile *file = front_parse(bench->arena, &bench->diag, path, (const char *[]){ MODELS }, 1);
    unlink(path);
    ck_assert_msg(file, "%s\n%s", bench_messages(bench), buffer_text(&text));
    return file;
}

static void run_case(Bench *bench, const CFile *file, int number, const char *op)
{
    const CFunction *function = cfile_find_function(file, text_format(bench->arena, "case_%d", number));
    OpCase c;
    Node *output = NULL;
    if (!function)
        return;
    open_case(bench, &bench->index->items[number], &c);
    Builder builder = builder_for(bench, &c);
    Doc nothing = { .kind = DOC_MAP };
    if (model_run(&builder, file, function, &nothing, (Place){ 0 }, &output)) {
        fill_parameters(&c);
        compare_case(&bench->report, &c, output,
                     op_row(op)->tolerance != 0 ? op_row(op)->tolerance : usual_tolerance);
    }
    trial_destroy(c.trial);
}

static const char *const layers[] = {
    "linear", "conv2d", "conv_transpose2d", "embedding", "attention", "batch_norm", "ghost_batch_norm",
    "layer_norm", "group_norm", "rms_norm", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d",
    "global_avg_pool2d", "blur2d", "interpolate", "softmax", "log_softmax", "gelu", "leaky_relu", "softplus",
    "relu", "silu", "sigmoid", "tanh", "hardswish", "hardsigmoid", "elu", "exp",
};

START_TEST(layer_agrees)
{
    Bench bench;
    int count = 0;
    if (!bench_open(&bench))
        SKIP("the reference values of operations are not here (COMPOSER_GEN_SHARED)");
    CFile *file = parse_calls(&bench, layers[_i], &count);
    ck_assert_msg(count > 0, "no case of %s can be said", layers[_i]);
    for (int i = 0; i < bench.index->count; i++)
        run_case(&bench, file, i, layers[_i]);
    bench_close(&bench);
}
END_TEST

/* ---- losses ---- */

/* By operation: the function in losses.c, and the reductions that rows and the mean over them can say. */
static const struct LossRow { const char *op, *loss; bool none, mean; const char *sum_by_rows; } losses[] = {
    { "cross_entropy", "cross_entropy", true, true, NULL },
    { "composer_soft_cross_entropy", "soft_cross_entropy", false, true, NULL },
    { "composer_bce_with_logits", "bce", false, false, "scale_by_batch_size" },
    { "mse", "mse", false, true, NULL },
};

static bool can_say(const struct LossRow *row, const OpCase *c, bool *mean)
{
    const char *reduction = json_text(c->attributes, "reduction", "");
    if (case_integer(c, "ignore_index", IGNORED_TARGET) != IGNORED_TARGET)
        return false;
    *mean = !text_equal(reduction, "none");
    if (row->sum_by_rows && text_equal(reduction, "sum"))
        return case_truth(c, row->sum_by_rows);
    return *mean ? row->mean && text_equal(reduction, "mean") : row->none;
}

/* (1 - smoothing) t + smoothing / classes, as the method label_smoothing says it */
static const Expr *smoothing_hook(void *context, int64_t classes)
{
    OpCase *c = context;
    double smoothing = case_real(c, "label_smoothing", 0);
    const Expr *kept =
        trial_binary(c->trial, EXPR_mul, trial_constant(c->trial, 1 - smoothing), trial_x(c->trial));
    if (smoothing == 0)
        return NULL;
    return trial_binary(c->trial, EXPR_add, kept, trial_constant(c->trial, smoothing / (double)classes));
}

static bool run_loss_case(Bench *bench, const CFile *file, const Json *entry, const struct LossRow *row)
{
    OpCase c;
    bool mean;
    open_case(bench, entry, &c);
    bool said = can_say(row, &c, &mean);
    if (said) {
        Builder builder = builder_for(bench, &c);
        builder.targets = case_tensor(&c, "target");
        builder.hooks = &c;
        builder.loss_target = smoothing_hook;
        Node *rows = builder_loss(&builder, file, row->loss, (Place){ 0 }, builder.input);
        if (rows)
            compare_case(&bench->report, &c, mean ? builder_mean_loss(&builder, rows) : rows, usual_tolerance);
    }
    trial_destroy(c.trial);
    return said;
}

START_TEST(loss_agrees)
{
    Bench bench;
    int count = 0;
    if (!bench_open(&bench))
        SKIP("the reference values of operations are not here (COMPOSER_GEN_SHARED)");
    CFile *file = front_parse(bench.arena, &bench.diag, MODELS "/losses.c", (const char *[]){ MODELS }, 1);
    ck_assert_msg(file, "%s", bench_messages(&bench));
    for (int i = 0; i < bench.index->count; i++)
        if (text_equal(json_text(&bench.index->items[i], "op", NULL), losses[_i].op))
            count += run_loss_case(&bench, file, &bench.index->items[i], &losses[_i]);
    ck_assert_msg(count > 0, "no case of %s can be said", losses[_i].op);
    bench_close(&bench);
}
END_TEST

Suite *layers_reference_suite(void)
{
    Suite *suite = suite_create("layers_reference");
    TCase *tcase = tcase_create("layers");
    tcase_add_loop_test(tcase, layer_agrees, 0, sizeof layers / sizeof *layers);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("losses");
    tcase_add_loop_test(tcase, loss_agrees, 0, sizeof losses / sizeof *losses);
    suite_add_tcase(suite, tcase);
    return suite;
}
