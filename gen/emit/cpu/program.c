/* program.c -- the whole program: its sections in the order of a reader. */
#include "emit/cpu/state.h"

typedef struct Sections {
    Writer *head, *scalars, *plan, *kernels, *weights, *steps, *elements, *batches, *run;
} Sections;

static Sections sections_create(Arena *arena)
{
    return (Sections){
        .head = writer_create(arena), .scalars = writer_create(arena), .plan = writer_create(arena),
        .kernels = writer_create(arena), .weights = writer_create(arena), .steps = writer_create(arena),
        .elements = writer_create(arena), .batches = writer_create(arena), .run = writer_create(arena),
    };
}

static Names *reserved_names(Arena *arena, const Parts *parts)
{
    static const char *const own[] = {
        "weights", "gradients", "arena", "batch", "now", "draw", "fold", "state", "settings", "metrics", "tensors", "kinds", "run",
        "train_set", "test_set", "batch_images", "batch_tokens", "batch_targets", "mixed_images", "mixed_targets", "permutation",
        "chosen_images", "chosen_targets", "chosen_rows", "loss_order", "shade", "initialize", "update", "on_gradients", "on_step",
        "on_batch_end", "on_epoch_end", "load_batch", "gradient_pass", "train_batch", "main", "p", "kind", "real", "row", "i", "site",
        "evaluate_all", "step", "save", "describe", "greet", "draw_batch", "draw_micro_batch", "draw_again", "stored_row", "load_test",
        "train_run", "save_all", "log_file", "progress", "tensor", "stretch", "run", "recorded", "recorded_list", "load_image", "load_weights",
        "reserve", "open_data", "score", "train", "evaluate", "setup", "select_rows", "mix", "rate", "y", "x", "c",
        "TRAINED", "WEIGHTS", "TENSORS", "STEPS", "STRETCHES", "BATCHES_PER_EPOCH", "TRAINED_TENSORS", "value", "own", "partner",
    };
    Names *names = names_create(arena);
    TextArray words = { 0 };
    parts_words(arena, parts, &words);
    for (int i = 0; i < words.count; i++)
        names_reserve(names, words.items[i]);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        names_reserve(names, own[i]);
    return names;
}

static void add_section(Buffer *out, const char *title, Writer *writer, Arena *arena)
{
    if (!writer->lines)
        return;
    Writer *rule = writer_create(arena);
    writer_section(rule, title);
    const char *text = writer_result(writer);
    buffer_add(out, "%s%s", writer_result(rule), text + (*text == '\n'));
}

static void add_text(Buffer *out, const char *title, const char *text, Arena *arena)
{
    Writer *writer = writer_create(arena);
    writer_text(writer, text);
    add_section(out, title, writer, arena);
}

static void add_includes(Emit *emit, Buffer *out)
{
    TextArray lines = { 0 };
    parts_includes(emit->used, &lines);
    buffer_add(out, "\n");
    for (int i = 0; i < lines.count; i++)
        buffer_add(out, "%s\n", lines.items[i]);
    buffer_add(out, "\ntypedef %s real;\n", emit->is_double ? "double" : "float");
}

static const char *assemble(Emit *emit, const Sections *sections)
{
    Arena *arena = emit->arena;
    Buffer out = { .arena = arena };
    buffer_add(&out, "%s", writer_result(sections->head));
    add_includes(emit, &out);
    add_text(&out, "what the runtime offers", parts_declarations(emit->used), arena);
    Writer *plan = sections->plan;
    writer_text(plan, writer_result(sections->scalars));
    add_section(&out, "plan", plan, arena);
    add_text(&out, "kernels", parts_kernels(emit->used), arena);
    add_section(&out, "kernels of this model", sections->kernels, arena);
    add_section(&out, "initial weights", sections->weights, arena);
    add_section(&out, "steps", sections->steps, arena);
    add_section(&out, "optimizer and methods", sections->elements, arena);
    add_section(&out, "data", sections->batches, arena);
    add_section(&out, "the run", sections->run, arena);
    buffer_add(&out, "\n/* ---- runtime: the same in every program ---- */\n\n%s", parts_bodies(emit->used));
    return buffer_text(&out);
}

const char *emit_cpu(Program *program, Diagnostics *diag, const char *templates_dir, const char *runtime_dir)
{
    Arena *arena = program->arena;
    Parts *parts = parts_load(arena, diag, templates_dir, runtime_dir);
    if (!parts)
        return NULL;
    bool is_double = program->recipe->precision == PRECISION_FP64;
    Sections sections = sections_create(arena);
    Emit *emit = arena_new(arena, Emit);
    *emit = (Emit){ .arena = arena, .program = program, .diag = diag, .parts = parts, .used = parts_set(arena, parts, is_double),
                    .names = reserved_names(arena, parts), .is_double = is_double, .plan_text = sections.plan,
                    .kernel_text = sections.kernels, .step_text = sections.steps };
    emit_weights(emit, sections.plan, sections.weights);
    for (int i = 0; i < program->topologies.count; i++)
        emit_topology(emit, program->topologies.items[i]);
    emit_element_programs(emit, sections.plan, sections.elements);
    emit_batches(emit, sections.plan, sections.batches);
    emit_run(emit, sections.plan, sections.run);
    emit_scalars(emit, sections.scalars);
    emit_head(emit, sections.head);
    return diag->errors ? NULL : assemble(emit, &sections);
}
