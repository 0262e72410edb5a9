/* head.c -- what a reader wants to know first: recipe, methods, size, how it was made and how to build it. */
#include "emit/cpu/state.h"

#include <string.h>

static void add_value(Buffer *out, const Doc *doc)
{
    switch (doc->kind) {
    case DOC_LIST:
    case DOC_MAP:
        buffer_add(out, doc->kind == DOC_LIST ? "[" : "{");
        for (int i = 0; i < doc->count; i++) {
            buffer_add(out, i ? ", " : "");
            if (doc->kind == DOC_MAP)
                buffer_add(out, "%s: ", doc->items[i]->key);
            add_value(out, doc->items[i]);
        }
        buffer_add(out, doc->kind == DOC_LIST ? "]" : "}");
        break;
    default:
        buffer_add(out, "%s", doc->text ? doc->text : "null");
    }
}

static const char *choice_text(Arena *arena, const Choice *choice)
{
    Buffer out = { .arena = arena };
    buffer_add(&out, "%s", choice->name);
    if (choice->parameters && choice->parameters->count) {
        buffer_add(&out, " ");
        add_value(&out, choice->parameters);
    }
    return buffer_text(&out);
}

/* What ends or opens a comment is taken apart. */
static const char *harmless(Arena *arena, const char *text)
{
    return text_replace(arena, text_replace(arena, text, "*/", "* /"), "/*", "/ *");
}

static void row(Emit *emit, Writer *head, const char *name, const char *text)
{
    enum { WIDTH = 100 };
    const char *rest = harmless(emit->arena, text);
    for (; strlen(rest) > WIDTH; name = "") {
        int cut = WIDTH;
        while (cut > 1 && rest[cut] != ' ')
            cut--;
        if (cut == 1)
            break;
        writer_line(head, " *     %-12s %.*s", name, cut, rest);
        rest += cut + 1;
    }
    writer_line(head, " *     %-12s %s", name, rest);
}

static const char *method_text(Arena *arena, const Method *method)
{
    Buffer out = { .arena = arena };
    buffer_add(&out, "%s", method->name);
    for (int i = 0; i < method->parameters.count; i++)
        buffer_add(&out, "%s%s: %s", i ? ", " : " {", method->parameters.items[i].name,
                   method->parameters.items[i].shown ? method->parameters.items[i].shown : "");
    buffer_add(&out, method->parameters.count ? "}" : "");
    return buffer_text(&out);
}

static void print_methods(Emit *emit, Writer *head)
{
    const Methods *methods = emit->program->methods;
    row(emit, head, "optimizer", method_text(emit->arena, methods->optimizer));
    for (int i = 0; i < methods->schedules.count; i++)
        row(emit, head, i ? "" : "schedule", method_text(emit->arena, methods->schedules.items[i]));
    const char *title = "methods";
    for (int i = 0; i < methods->list.count; i++) {
        if (methods->list.items[i]->is_neutral)
            continue;
        row(emit, head, title, method_text(emit->arena, methods->list.items[i]));
        title = "";
    }
}

void emit_head(Emit *emit, Writer *head)
{
    static const char *const precisions[] = { [PRECISION_FP32] = "fp32", [PRECISION_FP64] = "fp64",
                                              [PRECISION_AMP_BF16] = "amp_bf16", [PRECISION_AMP_FP16] = "amp_fp16" };
    Arena *arena = emit->arena;
    const Program *program = emit->program;
    const Recipe *recipe = program->recipe;
    const RunFacts *facts = &program->methods->facts;
    bool library = parts_used(emit->used, "dnnl_check"), zlib = parts_used(emit->used, "idx_count");
    writer_line(head, "/* %s -- trains %s on %s. Written by %s; change the recipe rather than this file.", recipe->name, recipe->model.name,
                recipe->dataset.name, program->generator);
    writer_line(head, " *");
    row(emit, head, "generate", program->command);
    row(emit, head, "build", text_format(arena, "cc -O3 -march=native -fopenmp -std=gnu11 train.c -o train -lm%s%s", zlib ? " -lz" : "",
                                         library ? " -ldnnl" : ""));
    row(emit, head, "model", choice_text(arena, &recipe->model));
    row(emit, head, "data", text_format(arena, "%s, %lld samples to train on, %lld to test", choice_text(arena, &recipe->dataset),
                                        (long long)facts->train_samples, (long long)program->evaluation_samples));
    row(emit, head, "run", text_format(arena, "%lld steps of %lld samples%s, %lld an epoch", (long long)facts->steps, (long long)facts->batch_rows,
                                       recipe->grad_accum > 1 ? text_format(arena, " in %lld micro-batches", (long long)recipe->grad_accum) : "",
                                       (long long)facts->batches_per_epoch));
    row(emit, head, "precision", precisions[recipe->precision]);
    print_methods(emit, head);
    row(emit, head, "weights", text_format(arena, "%lld trained, %lld running statistics", (long long)program->trainable, (long long)program->buffers));
    row(emit, head, "work", text_format(arena, "%.4g MFLOP forward a sample, %.4g GFLOP a step", program->flops_forward / 1e6, program->flops_step / 1e9));
    row(emit, head, "memory", text_format(arena, "%.1f MiB of tensors in a step", (double)program->arena_reals * (emit->is_double ? 8 : 4) / 1048576));
    writer_line(head, " *");
    writer_line(head, " * Below: what the runtime offers, the plan, kernels, steps, data, the run; at the end the runtime's text. */");
}
