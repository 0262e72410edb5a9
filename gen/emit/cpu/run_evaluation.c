/* run_evaluation.c -- the test set through the evaluation step: every sample once. */
#include "emit/cpu/run.h"

/* What is said and logged of an evaluation: quotients of sums over the test set. */
typedef struct Measure {
    const char *sum, *logged, *said;    /* name of the metric; in metrics.jsonl; on the console (printf of one double) */
    double scale;                       /* of what is said */
} Measure;

static const Measure measures[] = {
    { "loss", "metrics/eval/CrossEntropy", "loss %.4f", 1 },
    { "correct", "metrics/eval/MulticlassAccuracy", "accuracy %.2f %%", 100 },
    { "top5", "metrics/eval/MulticlassTop5Accuracy", "top five %.2f %%", 100 },
};

static int metric_index(const Graph *graph, const char *name)
{
    int index = 0;
    for (int i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.items[i].kind == OUTPUT_METRIC) {
            if (text_equal(graph->outputs.items[i].name, name))
                return index;
            index++;
        }
    return -1;
}

static const Topology *evaluation(const Emit *emit)
{
    return emit->program->topologies.items[emit->program->evaluate];
}

static void print_load(Emit *emit, Writer *out)
{
    const RunFacts *facts = &emit->program->methods->facts;
    long long pixels = facts->channels * facts->height * facts->width, length = facts->length;
    writer_blank(out);
    writer_line(out, "static void load_test(long first, long rows)");
    writer_line(out, "{");
    writer_text(out, "#pragma omp parallel for\n");
    writer_line(out, "for (long row = 0; row < rows; row++) {");
    if (facts->is_text) {
        writer_line(out, "load_tokens(&test_set, first + row, %lld, batch_tokens + row * %lld, batch_targets + row * %lld);", length, length, length);
    } else {
        writer_line(out, "load_plain_image(test_set.pixels + (first + row) * %lld, batch_images + row * %lld);", pixels, pixels);
        writer_line(out, "batch_targets[row] = test_set.labels[first + row];");
    }
    writer_line(out, "}");
    writer_line(out, facts->is_text ? "batch.tokens = batch_tokens;" : "batch.images = batch_images;");
    writer_line(out, "batch.targets = batch_targets;");
    writer_line(out, "}");
}

/* Weights for evaluation stand in a state of the same layout; statistics that it does not cover are copied. */
static void print_swap(Emit *emit, Writer *out)
{
    const State *state = emit->program->methods->evaluate_with;
    if (!state)
        return;
    const char *name = emit->state_names[state->index];
    writer_line(out, "real *const trained = weights;");
    if (!state->covers_buffers && emit->program->buffers)
        writer_line(out, "memcpy(%s + TRAINED, weights + TRAINED, sizeof(real) * (WEIGHTS - TRAINED));", name);
    if (state->starts_from_parameter)
        writer_line(out, "if (%s_exists)", name);
    writer_line(out, "%sweights = %s;", state->starts_from_parameter ? "    " : "", name);
}

static void print_pass(Emit *emit, Writer *out)
{
    const Topology *topology = evaluation(emit);
    long long rows = emit->program->evaluation_rows, samples = emit->program->evaluation_samples;
    writer_line(out, "for (long first = 0; first < %lld; first += %lld) {", samples, rows);
    if (samples % rows) {
        writer_line(out, "const bool whole = first + %lld <= %lld;", rows, samples);
        writer_line(out, "load_test(first, whole ? %lld : %lld);", rows, samples % rows);
        writer_line(out, "evaluate(&evaluate_phases[!whole]);");
    } else {
        writer_line(out, "load_test(first, %lld);", rows);
        writer_line(out, topology->phases.count > 1 ? "evaluate(&evaluate_phases[0]);" : "evaluate();");
    }
    writer_line(out, "}");
}

static void print_report(Emit *emit, Writer *out)
{
    const Graph *graph = topology_graph(evaluation(emit));
    int count = metric_index(graph, "count");
    Buffer format = { .arena = emit->arena }, values = { .arena = emit->arena };
    writer_line(out, "const double count = metrics[%d] > 0 ? metrics[%d] : 1;", count, count);
    writer_line(out, "metrics_begin(&log_file);");
    writer_line(out, "metrics_add(&log_file, \"step\", (double)now.step);");
    writer_line(out, "metrics_add(&log_file, \"epoch\", (double)now.epoch);");
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        int index = metric_index(graph, measures[i].sum);
        if (index < 0)
            continue;
        writer_line(out, "metrics_add(&log_file, \"%s\", metrics[%d] / count);", measures[i].logged, index);
        buffer_add(&format, "  %s", measures[i].said);
        buffer_add(&values, measures[i].scale == 1 ? ", metrics[%d] / count" : ", metrics[%d] / count * 100", index);
    }
    if (emit->program->methods->facts.is_text) {
        int index = metric_index(graph, "loss");
        writer_line(out, "metrics_add(&log_file, \"metrics/eval/LanguagePerplexity\", exp(metrics[%d] / count));", index);
        buffer_add(&format, "  perplexity %%.3f");
        buffer_add(&values, ", exp(metrics[%d] / count)", index);
    }
    writer_line(out, "metrics_add(&log_file, \"time/val\", seconds_now() - began);");
    writer_line(out, "metrics_end(&log_file);");
    writer_line(out, "progress_line(&progress, \"batch %%ld  test%s  (%%s)\", now.step%s, duration_text(passed, seconds_now() - progress.start));",
                buffer_text(&format), buffer_text(&values));
}

void emit_evaluation(Emit *emit, Writer *plan, Writer *out)
{
    const Graph *graph = topology_graph(evaluation(emit));
    int metrics = 0;
    for (int i = 0; i < graph->outputs.count; i++)
        metrics += graph->outputs.items[i].kind == OUTPUT_METRIC;
    (void)plan;
    emit_part(emit, "metrics");
    emit_part(emit, "progress");
    print_load(emit, out);
    writer_blank(out);
    writer_comment(out, "Every sample of the test set once, with the weights that the run would be judged by.");
    writer_line(out, "static void evaluate_all(void)");
    writer_line(out, "{");
    writer_line(out, "const double began = seconds_now();");
    writer_line(out, "char passed[32];");
    print_swap(emit, out);
    writer_line(out, "memset(metrics, 0, sizeof metrics);");
    print_pass(emit, out);
    if (emit->program->methods->evaluate_with)
        writer_line(out, "weights = trained;");
    print_report(emit, out);
    writer_line(out, "}");
}
