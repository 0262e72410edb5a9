/* run_files.c -- weights from a file, weights to files, and text that a language model continues. */
#include "emit/cpu/run.h"

static void print_load(Emit *emit, Writer *out)
{
    if (!emit->program->recipe->weights)
        return;
    emit_part(emit, "safetensors_read");
    writer_blank(out);
    writer_line(out, "static void load_weights(void)");
    writer_line(out, "{");
    writer_line(out, "const struct safetensors file = safetensors_open(settings.weights);");
    writer_line(out, "for (int t = 0; t < TENSORS; t++)");
    writer_line(out, "    safetensors_load(&file, tensors[t].name, tensors[t].rank, tensors[t].shape, weights + tensors[t].at);");
    writer_line(out, "}");
}

static void print_save(Emit *emit, Writer *out)
{
    const State *state = emit->program->methods->evaluate_with;
    emit_part(emit, "safetensors_write");
    emit_part(emit, "fail");
    writer_blank(out);
    writer_line(out, "static void save(const char *name, const real *from)");
    writer_line(out, "{");
    writer_line(out, "static struct tensor_to_write list[TENSORS];");
    writer_line(out, "char path[4096], error[ERROR_LENGTH];");
    writer_line(out, "for (int t = 0; t < TENSORS; t++)");
    writer_line(out, "    list[t] = (struct tensor_to_write){ tensors[t].name, tensors[t].rank, tensors[t].shape, from + tensors[t].at };");
    writer_line(out, "snprintf(path, sizeof path, \"%%s/%%s\", settings.run_folder, name);");
    writer_line(out, "if (!safetensors_write(path, list, TENSORS, error))");
    writer_line(out, "    fail(EXIT_SAVE, \"%%s\", error);");
    writer_line(out, "printf(\"weights in %%s\\n\", path);");
    writer_line(out, "}");
    writer_blank(out);
    writer_line(out, "static void save_all(void)");
    writer_line(out, "{");
    writer_line(out, "save(\"model.safetensors\", weights);");
    if (state) {
        if (state->starts_from_parameter)
            writer_line(out, "if (%s_exists)", emit->state_names[state->index]);
        writer_line(out, "%ssave(\"averaged.safetensors\", %s);", state->starts_from_parameter ? "    " : "", emit->state_names[state->index]);
    }
    writer_line(out, "}");
}

void emit_files(Emit *emit, Writer *out)
{
    print_load(emit, out);
    print_save(emit, out);
}

/* ---- a sample of text ---- */

static int sample_phase(const Topology *topology)
{
    for (int i = 0; i < topology->phases.count; i++)
        if (topology->phases.items[i].rows == 1)
            return i;
    bug("no phase of one row to sample with");
}

static const Output *logits_of(const Graph *graph)
{
    for (int i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.items[i].kind == OUTPUT_LOGITS)
            return &graph->outputs.items[i];
    bug("the evaluation graph has no logits");
}

void emit_sample(Emit *emit, Writer *out)
{
    const Program *program = emit->program;
    const Recipe *recipe = program->recipe;
    if (!recipe->sample_prompt)
        return;
    const Topology *topology = program->topologies.items[program->evaluate];
    long long length = program->methods->facts.length, classes = program->methods->facts.class_count;
    emit_part(emit, "sample_token");
    writer_blank(out);
    writer_comment(out, "The model continues a text, a token at a time: it reads the last tokens and draws the next one.");
    writer_line(out, "static void print_sample(void)");
    writer_line(out, "{");
    writer_line(out, "static const char prompt[] = %s;", emit_quoted(emit->arena, recipe->sample_prompt));
    writer_line(out, "enum { WINDOW = %lld, NEW = %lld, CLASSES = %lld };", length, (long long)recipe->sample_length, classes);
    writer_line(out, "int count = 0;");
    writer_line(out, "for (const char *c = prompt; *c && count < WINDOW; c++)");
    writer_line(out, "    batch_tokens[count++] = (unsigned char)*c;");
    writer_line(out, "memset(batch_tokens + count, 0, sizeof(int) * (size_t)(WINDOW - count));");
    writer_line(out, "memset(batch_targets, 0, sizeof(int) * WINDOW);");
    writer_line(out, "batch.tokens = batch_tokens;");
    writer_line(out, "batch.targets = batch_targets;");
    writer_line(out, "printf(\"\\n%%s\", prompt);");
    writer_line(out, "for (int i = 0; i < NEW; i++) {");
    if (topology->phases.count > 1)
        writer_line(out, "evaluate(&evaluate_phases[%d]);", sample_phase(topology));
    else
        writer_line(out, "evaluate();");
    emit->current = emit->evaluation_text;
    writer_line(out, "const int next = sample_token(%s + (count - 1) * CLASSES, CLASSES, 0.8, i);", emit_tensor(emit, logits_of(topology_graph(topology))->node));
    writer_line(out, "putchar(next);");
    writer_line(out, "if (count == WINDOW)");
    writer_line(out, "    memmove(batch_tokens, batch_tokens + 1, sizeof(int) * --count);");
    writer_line(out, "batch_tokens[count++] = next;");
    writer_line(out, "}");
    writer_line(out, "puts(\"\\n\");");
    writer_line(out, "}");
}
