/* run.c -- the section that is the run itself: settings, evaluation, the loop, main. */
#include "emit/cpu/run.h"

#include <string.h>

/* C text of a string: quotes and backslashes marked, nothing else expected. */
const char *emit_quoted(Arena *arena, const char *text)
{
    Buffer out = { .arena = arena };
    buffer_add(&out, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            buffer_add(&out, "\\%c", *c);
        else if ((unsigned char)*c < 32)
            buffer_add(&out, "\\%03o", (unsigned)(unsigned char)*c);
        else
            buffer_bytes(&out, c, 1);
    }
    buffer_add(&out, "\"");
    return buffer_text(&out);
}

/* ---- settings ---- */

typedef struct SettingRow {
    const char *key, *kind, *type, *initial, *help;
} SettingRow;
typedef Array(SettingRow) SettingRows;

static int64_t interval_in_batches(const Program *program, Duration interval)
{
    const RunFacts *facts = &program->methods->facts;
    double batches = interval.amount;
    switch (interval.unit) {
    case TIME_EPOCH:    batches *= (double)facts->batches_per_epoch; break;
    case TIME_BATCH:    break;
    case TIME_SAMPLE:   batches /= (double)facts->batch_rows; break;
    case TIME_TOKEN:    batches /= (double)(facts->batch_rows * (facts->length ? facts->length : 1)); break;
    case TIME_DURATION: batches *= (double)facts->steps; break;
    }
    int64_t whole = (int64_t)(batches + 0.999999);
    return interval.amount > 0 && whole < 1 ? 1 : whole;
}

static const char *whole_text(Emit *emit, int64_t value)
{
    return text_format(emit->arena, "%lld", (long long)value);
}

/* Paths of the recipe are texts of their own: a path that is still the recipe's is looked for under `root`. */
static void add_path(Emit *emit, SettingRows *rows, Writer *plan, const char *key, const char *path, const char *help)
{
    if (!path)
        return;
    writer_line(plan, "static const char recipe_%s[] = %s;", key, emit_quoted(emit->arena, path));
    array_push(emit->arena, rows, ((SettingRow){ key, "TEXT", "const char *", text_format(emit->arena, "recipe_%s", key), help }));
}

static SettingRows setting_rows(Emit *emit, Writer *plan)
{
    const Program *program = emit->program;
    const Recipe *recipe = program->recipe;
    Arena *arena = emit->arena;
    SettingRows rows = { 0 };
    add_path(emit, &rows, plan, "data", recipe->data.path, "where the data set lies");
    add_path(emit, &rows, plan, "weights", recipe->weights, "safetensors file to start from");
    add_path(emit, &rows, plan, "draws", recipe->draws, "recorded random draws");
    const SettingRow others[] = {
        { "root", "TEXT", "const char *", emit_quoted(arena, recipe->folder), "folder that the recipe's relative paths start from" },
        { "run_folder", "TEXT", "const char *", emit_quoted(arena, text_format(arena, "runs/%s", recipe->name)),
          "where metrics.jsonl and model.safetensors are written" },
        { "seed", "WHOLE", "int64_t ", whole_text(emit, recipe->seed), "of all random numbers" },
        { "stop_after", "BATCHES", "int64_t ", "STEPS", "end early, after so many batches" },
        { "eval_interval", "BATCHES", "int64_t ", whole_text(emit, interval_in_batches(program, recipe->eval_interval)),
          "between evaluations; 0: only at the end" },
        { "log_interval", "WHOLE", "int64_t ", whole_text(emit, recipe->log_interval), "batches between lines of metrics.jsonl" },
        { "save", "TRUTH", "bool ", "true", "write model.safetensors at the end" },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        array_push(arena, &rows, others[i]);
    return rows;
}

static void print_roots(Emit *emit, Writer *out)
{
    const Recipe *recipe = emit->program->recipe;
    const struct { const char *key, *path; } paths[] = {
        { "data", recipe->data.path }, { "weights", recipe->weights }, { "draws", recipe->draws },
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!paths[i].path)
            continue;
        emit_part(emit, "path_under");
        writer_line(out, "if (settings.%s == recipe_%s)", paths[i].key, paths[i].key);
        writer_line(out, "    settings.%s = path_under(settings.root, recipe_%s);", paths[i].key, paths[i].key);
    }
}

static void print_settings(Emit *emit, Writer *plan, Writer *out)
{
    const Program *program = emit->program;
    writer_blank(plan);
    SettingRows rows = setting_rows(emit, plan);
    writer_comment(plan, "What the command line may change: key=value. Everything else is decided.");
    writer_line(plan, "static struct {");
    for (int i = 0; i < rows.count; i++)
        writer_line(plan, "%s%s;", rows.items[i].type, rows.items[i].key);
    writer_line(plan, "bool describe;");
    writer_line(plan, "} settings = {");
    for (int i = 0; i < rows.count; i++)
        writer_line(plan, ".%s = %s,", rows.items[i].key, rows.items[i].initial);
    writer_line(plan, "};");
    writer_line(out, "static void read_settings(int count, char **arguments)");
    writer_line(out, "{");
    writer_line(out, "static const struct setting rows[] = {");
    for (int i = 0; i < rows.count; i++)
        writer_line(out, "{ \"%s\", SETTING_%s, &settings.%s, \"%s\" },", rows.items[i].key, rows.items[i].kind, rows.items[i].key,
                    rows.items[i].help);
    writer_line(out, "{ \"--describe\", SETTING_FLAG, &settings.describe, \"print what this program is, as JSON\" },");
    writer_line(out, "};");
    writer_line(out, "static const char *const fixed[] = { \"model\", \"dataset\", \"max_duration\", \"batch_size\", \"eval_batch_size\", \"grad_accum\",");
    writer_line(out, "    \"optimizer\", \"schedule\", \"methods\", \"loss\", \"precision\", \"initializers\", \"scale_schedule_ratio\", \"compat\" };");
    writer_line(out, "static const struct settings_table table = {");
    writer_line(out, ".about = %s,", emit_quoted(emit->arena, text_format(emit->arena, "%s: trains %s on %s", program->recipe->name,
                                                  program->recipe->model.name, program->recipe->dataset.name)));
    writer_line(out, ".rows = rows, .count = sizeof rows / sizeof *rows, .fixed = fixed, .fixed_count = sizeof fixed / sizeof *fixed,");
    writer_line(out, ".command = %s, .batches = STEPS, .batches_per_epoch = BATCHES_PER_EPOCH,", emit_quoted(emit->arena, program->command));
    writer_line(out, "};");
    writer_line(out, "settings_read(&table, count, arguments);");
    print_roots(emit, out);
    writer_line(out, "}");
    emit_part(emit, "settings");
}

/* ---- the learning rate ---- */

static void print_rate(Emit *emit, Writer *plan, Writer *out)
{
    const Program *program = emit->program;
    Methods *methods = program->methods;
    writer_blank(out);
    writer_comment(out, "The factor of the learning rate in this step.");
    writer_line(out, "static double rate_now(void)");
    writer_line(out, "{");
    if (methods->rate) {
        writer_line(out, "return %s;", emit_host_expr(emit, methods->rate));
    } else {
        writer_line(plan, "static const double rates[STEPS] = {");
        Moment now = { 0 };
        const RunFacts *facts = &methods->facts;
        for (; now.step < facts->steps; now.step++) {
            double rate = 1;
            methods_rate(methods, &now, &rate);
            writer_line(plan, "%s,", text_number(emit->arena, rate));
            now.samples += facts->batch_rows;
            now.tokens += facts->batch_rows * facts->length;
            if (++now.batch_in_epoch == facts->batches_per_epoch)
                now.batch_in_epoch = 0, now.epoch++;
        }
        writer_line(plan, "};");
        writer_line(out, "return rates[now.step];");
    }
    writer_line(out, "}");
}

/* ---- the log ---- */

static void print_log(Emit *emit, Writer *plan, Writer *out)
{
    const Methods *methods = emit->program->methods;
    emit_part(emit, "metrics");
    emit_part(emit, "progress");
    emit_part(emit, "folder_make");
    emit_part(emit, "table_row");
    writer_line(plan, "static struct metrics log_file;");
    writer_line(plan, "static struct progress progress;");
    writer_blank(out);
    writer_line(out, "static void log_step(double loss, double seconds, long rows)");
    writer_line(out, "{");
    writer_line(out, "const double speed = seconds > 0 ? (double)rows / seconds : 0;");
    writer_line(out, "if (now.step %% settings.log_interval == 0) {");
    writer_line(out, "metrics_begin(&log_file);");
    writer_line(out, "metrics_add(&log_file, \"step\", (double)now.step);");
    writer_line(out, "metrics_add(&log_file, \"epoch\", (double)now.epoch);");
    writer_line(out, "metrics_add(&log_file, \"loss/train/total\", loss);");
    writer_line(out, "metrics_add(&log_file, \"lr-%s/group0\", %s * now.rate);", methods->optimizer->name, text_number(emit->arena, methods->base_rate));
    writer_line(out, "metrics_add(&log_file, \"throughput/samples_per_sec\", speed);");
    writer_line(out, "metrics_add(&log_file, \"time/total\", seconds_now() - progress.start);");
    writer_line(out, "metrics_end(&log_file);");
    writer_line(out, "}");
    writer_line(out, "if (progress_due(&progress, now.step + 1)) {");
    writer_line(out, "char text[128];");
    writer_line(out, "snprintf(text, sizeof text, \"epoch %%ld  loss %%.4f  %%.0f %s/s\", now.epoch + 1, loss, speed);",
                methods->facts.is_text ? "sequences" : "images");
    writer_line(out, "progress_show(&progress, now.step + 1, text);");
    writer_line(out, "}");
    writer_line(out, "}");
}

/* ---- the loop ---- */

static void print_time_step(Emit *emit, Writer *out)
{
    const Methods *methods = emit->program->methods;
    if (methods->epoch_end.count) {
        writer_line(out, "if (now.batch_in_epoch + 1 == BATCHES_PER_EPOCH)");
        writer_line(out, "    on_epoch_end();");
    }
    if (emit_uses_time(emit, "samples"))
        writer_line(out, "now.samples += kind->stored_rows;");
    if (emit_uses_time(emit, "tokens"))
        writer_line(out, "now.tokens += kind->stored_rows * %lld;", (long long)methods->facts.length);
    writer_line(out, "now.step++;");
    writer_line(out, "if (++now.batch_in_epoch == BATCHES_PER_EPOCH) {");
    writer_line(out, "now.batch_in_epoch = 0;");
    writer_line(out, "now.epoch++;");
    writer_line(out, "}");
}

static void print_step(Emit *emit, Writer *out)
{
    writer_blank(out);
    writer_line(out, "static void step(const struct kind *kind)");
    writer_line(out, "{");
    writer_line(out, "const double began = seconds_now();");
    writer_line(out, "now.rate = rate_now();");
    writer_line(out, "const double loss = train_batch(kind);");
    writer_line(out, "if (!isfinite(loss))");
    writer_line(out, "    fail(EXIT_NUMBERS, \"the loss is %%g in step %%ld of epoch %%ld (learning rate %%g): a smaller rate or clipping may help\", loss,");
    writer_line(out, "         now.step, now.epoch + 1, %s * now.rate);", text_number(emit->arena, emit->program->methods->base_rate));
    writer_line(out, "log_step(loss, seconds_now() - began, kind->rows);");
    print_time_step(emit, out);
    writer_line(out, "}");
}

static void print_loop(Writer *out)
{
    writer_blank(out);
    writer_line(out, "static void train_run(void)");
    writer_line(out, "{");
    writer_line(out, "progress_start(&progress, 0, settings.stop_after, 5);");
    writer_line(out, "long evaluated = -1;");
    writer_line(out, "for (int s = 0; s < STRETCHES && now.step < settings.stop_after; s++) {");
    writer_line(out, "for (long b = 0; b < run[s].batches && now.step < settings.stop_after; b++) {");
    writer_line(out, "step(&kinds[run[s].kind]);");
    writer_line(out, "if (settings.eval_interval && now.step %% settings.eval_interval == 0) {");
    writer_line(out, "evaluate_all();");
    writer_line(out, "evaluated = now.step;");
    writer_line(out, "}");
    writer_line(out, "}");
    writer_line(out, "}");
    writer_line(out, "if (evaluated != now.step)");
    writer_line(out, "    evaluate_all();");
    writer_line(out, "}");
}

/* ---- main ---- */

/* Names of the methods that leave a trace, with commas between them. */
static const char *live_methods(Emit *emit, const char *quote)
{
    const Methods *methods = emit->program->methods;
    Buffer names = { .arena = emit->arena };
    for (int i = 0; i < methods->list.count; i++)
        if (!methods->list.items[i]->is_neutral)
            buffer_add(&names, "%s%s%s%s", names.count ? ", " : "", quote, methods->list.items[i]->name, quote);
    return buffer_text(&names);
}

static void print_describe(Emit *emit, Writer *out)
{
    const Program *program = emit->program;
    writer_blank(out);
    writer_line(out, "static void describe(void)");
    writer_line(out, "{");
    Buffer text = { .arena = emit->arena };
    buffer_add(&text, "{\"name\": \"%s\", \"model\": \"%s\", \"dataset\": \"%s\", \"precision\": \"%s\", ", program->recipe->name,
               program->recipe->model.name, program->recipe->dataset.name, emit->is_double ? "fp64" : "fp32");
    buffer_add(&text, "\"parameters\": %lld, \"tensors\": %d, \"steps\": %lld, \"batches_per_epoch\": %lld, ", (long long)program->trainable,
               program->parameters.count, (long long)program->methods->facts.steps, (long long)program->methods->facts.batches_per_epoch);
    buffer_add(&text, "\"batch_size\": %lld, \"optimizer\": \"%s\", \"methods\": [", (long long)program->recipe->batch_size,
               program->methods->optimizer->name);
    buffer_add(&text, "%s]}", live_methods(emit, "\""));
    writer_line(out, "puts(%s);", emit_quoted(emit->arena, buffer_text(&text)));
    writer_line(out, "}");
}

static void print_greeting(Emit *emit, Writer *out)
{
    const Program *program = emit->program;
    const Recipe *recipe = program->recipe;
    const RunFacts *facts = &program->methods->facts;
    const char *methods = live_methods(emit, "");
    emit_part(emit, "bytes_text");
    writer_blank(out);
    writer_line(out, "static void greet(void)");
    writer_line(out, "{");
    writer_line(out, "char memory[32];");
    writer_line(out, "table_row(\"model\", \"%s, %lld parameters\");", recipe->model.name, (long long)program->trainable);
    writer_line(out, "table_row(\"data\", \"%s, %lld to train on, %lld to test\");", recipe->dataset.name, (long long)facts->train_samples,
                (long long)program->evaluation_samples);
    writer_line(out, "table_row(\"run\", \"%lld batches of %lld, %lld an epoch\");", (long long)facts->steps, (long long)facts->batch_rows,
                (long long)facts->batches_per_epoch);
    writer_line(out, "table_row(\"optimizer\", \"%s, learning rate %s\");", program->methods->optimizer->name,
                text_number(emit->arena, program->methods->base_rate));
    writer_line(out, "table_row(\"methods\", \"%s\");", *methods ? methods : "none");
    writer_line(out, "table_row(\"memory\", \"%%s\", bytes_text(memory, sizeof(real) * (double)RESERVED));");
    writer_line(out, "table_row(\"log\", \"%%s/metrics.jsonl\", settings.run_folder);");
    writer_line(out, "}");
}

static void print_main(Emit *emit, Writer *out)
{
    const Recipe *recipe = emit->program->recipe;
    writer_blank(out);
    writer_line(out, "int main(int count, char **arguments)");
    writer_line(out, "{");
    writer_line(out, "read_settings(count, arguments);");
    writer_line(out, "if (settings.describe) {");
    writer_line(out, "describe();");
    writer_line(out, "return 0;");
    writer_line(out, "}");
    writer_line(out, "if (settings.log_interval < 1)");
    writer_line(out, "    fail(EXIT_USAGE, \"log_interval must be at least 1\");");
    writer_line(out, "if (settings.stop_after > STEPS)");
    writer_line(out, "    settings.stop_after = STEPS;");
    if (parts_used(emit->used, "random"))
        writer_line(out, "random_seed((uint64_t)settings.seed);");
    writer_line(out, "open_data();");
    writer_line(out, "reserve();");
    writer_line(out, "setup();");
    writer_line(out, "initialize();");
    if (recipe->weights)
        writer_line(out, "load_weights();");
    if (recipe->draws)
        writer_line(out, "recorded_draws = draws_open(settings.draws);");
    writer_line(out, "if (!folder_make(settings.run_folder))");
    writer_line(out, "    fail(EXIT_SAVE, \"can't make the folder %%s\", settings.run_folder);");
    writer_line(out, "char path[4096];");
    writer_line(out, "snprintf(path, sizeof path, \"%%s/metrics.jsonl\", settings.run_folder);");
    writer_line(out, "metrics_open(&log_file, path, false);");
    writer_line(out, "greet();");
    writer_line(out, "train_run();");
    writer_line(out, "if (settings.save)");
    writer_line(out, "    save_all();");
    if (recipe->sample_prompt)
        writer_line(out, "print_sample();");
    writer_line(out, "return 0;");
    writer_line(out, "}");
}

void emit_run(Emit *emit, Writer *plan, Writer *body)
{
    print_settings(emit, plan, body);
    emit_open_data(emit, body);
    emit_evaluation(emit, plan, body);
    emit_files(emit, body);
    emit_sample(emit, body);
    print_rate(emit, plan, body);
    print_log(emit, plan, body);
    print_step(emit, body);
    print_loop(body);
    print_describe(emit, body);
    emit_memory(emit, plan, body);
    print_greeting(emit, body);
    print_main(emit, body);
}
