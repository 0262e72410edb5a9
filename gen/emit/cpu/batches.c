/* batches.c -- from stored bytes to a micro-batch: kinds of batches, draws, loading, mixing, selection, gradient passes. */
#include "emit/cpu/batches.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables: kinds of batches and the stretches of the run ---- */

static int tensor_rank(const Program *program, const Parameter *parameter)
{
    int rank = 0;                       /* index in `tensors`: trained ones come in order of id */
    for (int i = 0; i < parameter->id; i++)
        rank += !program->parameters.items[i]->is_buffer;
    return rank;
}

static void print_kind(Emit *emit, const BatchKind *kind, Writer *plan)
{
    const Program *program = emit->program;
    const Topology *topology = program->topologies.items[kind->topology];
    const Geometry *g = &kind->geometry;
    Buffer parts = { .arena = emit->arena };
    for (int i = 0; i < kind->part_count; i++)
        buffer_add(&parts, "%s{ %d, %d, %lld }", i ? ", " : "", kind->parts[i].count, kind->parts[i].phase,
                   (long long)topology->phases.items[kind->parts[i].phase].rows);
    const Parameter *first = topology->first_live;
    writer_line(plan, "{ %lld, %lld, %lld, %lld, %lld, %lld, %d, %lld, %d, %d, %lld, %d, %d, { %s } },", (long long)kind->stored_rows,
                (long long)g->rows, (long long)g->columns, (long long)g->length, (long long)g->height, (long long)g->width,
                g->crop, (long long)g->candidates, kind->score_phase, kind->topology,
                first ? (long long)program->offset[first->id] : 0, first ? tensor_rank(program, first) : 0, kind->part_count,
                buffer_text(&parts));
}

static void print_tables(Emit *emit, Writer *plan)
{
    const Program *program = emit->program;
    writer_blank(plan);
    writer_comment(plan, "Kinds of batches: rows fetched and trained on, geometry, first weight and tensor that learn, micro-batches.");
    writer_line(plan, "static const struct kind {");
    writer_line(plan, "long stored_rows, rows, columns, length, height, width;");
    writer_line(plan, "bool crop;");
    writer_line(plan, "long candidates;");
    writer_line(plan, "int score_phase, topology;");
    writer_line(plan, "long first_trained;");
    writer_line(plan, "int first_tensor, part_count;");
    writer_line(plan, "struct { int count, phase; long rows; } parts[2];");
    writer_line(plan, "} kinds[%d] = {", program->kinds.count);
    for (int i = 0; i < program->kinds.count; i++)
        print_kind(emit, &program->kinds.items[i], plan);
    writer_line(plan, "};");
    writer_blank(plan);
    writer_comment(plan, "The run: so many batches of a kind, then the next.");
    writer_line(plan, "static const struct stretch { long batches; int kind; } run[%d] = {", program->run.count);
    for (int i = 0; i < program->run.count; i++)
        writer_line(plan, "{ %lld, %d },", (long long)program->run.items[i].batches, program->run.items[i].kind);
    writer_line(plan, "};");
    writer_line(plan, "enum { STEPS = %lld, BATCHES_PER_EPOCH = %lld, STRETCHES = %d };", (long long)program->methods->facts.steps,
                (long long)program->methods->facts.batches_per_epoch, program->run.count);
}

static void print_batch_struct(Emit *emit, Writer *plan)
{
    const Program *program = emit->program;
    bool text = program->methods->facts.is_text, mixing = program->methods->facts.has_mixing;
    writer_blank(plan);
    writer_comment(plan, "The micro-batch that a step reads, and what it gives back.");
    writer_line(plan, "static struct {");
    writer_line(plan, text ? "const int *tokens;" : "const real *images;");
    writer_line(plan, "const int *targets;");
    if (mixing)
        writer_line(plan, "const int *partner_targets;");
    writer_line(plan, "real share; /* of this micro-batch in the loss of its batch */");
    writer_line(plan, "bool is_first;");
    writer_line(plan, "long first_row;");
    writer_line(plan, "double loss;");
    writer_line(plan, "} batch;");
    writer_line(plan, text ? "static int *batch_tokens, *batch_targets;" : "static real *batch_images;");
    if (!text)
        writer_line(plan, "static int *batch_targets;");
    if (mixing) {
        writer_line(plan, "static real *mixed_images;");
        writer_line(plan, "static int *mixed_targets, *permutation;");
    }
}

/* ---- draws ---- */

static const char *scope_row(Scope scope)
{
    return scope == SCOPE_MICRO_BATCH ? "now.key, batch.first_row" : "now.key, 0";
}

/* "bbox[2]" -> name "bbox", index 2: how a recorded draw is looked up. */
static const char *field_key(Emit *emit, const char *name, int *index)
{
    const char *dot = strrchr(name, '.'), *start = dot ? dot + 1 : name, *bracket = strchr(start, '[');
    *index = bracket ? atoi(bracket + 1) : 0;
    return bracket ? text_slice(emit->arena, start, (size_t)(bracket - start)) : start;
}

static void print_draw(Emit *emit, const Draw *draw, Writer *out)
{
    HostPlace place = { emit, scope_row(draw->scope) };
    Spelling spelling = emit_host_spelling(&place);
    writer_comment(out, text_format(emit->arena, "%s: %s", draw->method, draw->name));
    const Expr **values = arena_array(emit->arena, const Expr *, draw->fields.count + 1);
    const char **texts = arena_array(emit->arena, const char *, draw->fields.count + 1);
    for (int i = 0; i < draw->fields.count; i++) {
        values[i] = draw->fields.items[i].value;
        emit_host_functions(emit, values[i]);
    }
    TextArray locals = { 0 };
    expr_texts(emit->arena, values, draw->fields.count, &spelling, texts, &locals);
    writer_line(out, "{");
    for (int i = 0; i < locals.count; i++)
        writer_line(out, "%s", locals.items[i]);
    for (int i = 0; i < draw->fields.count; i++) {
        const Scalar *scalar = draw->fields.items[i].scalar;
        emit_scalar(emit, scalar);
        writer_line(out, "draw.%s = %s;", emit_field(emit, scalar), texts[i]);
        if (emit->program->recipe->draws) {
            int index;
            const char *key = field_key(emit, scalar->name, &index);
            writer_line(out, "draw.%s = recorded(\"%s\", %d, draw.%s);", emit_field(emit, scalar), key, index, emit_field(emit, scalar));
        }
    }
    writer_line(out, "}");
}

static void print_subset(Emit *emit, const SubsetDraw *subset, Writer *out)
{
    const char *name = names_identifier(emit->arena, text_format(emit->arena, "%s_%s", subset->method, subset->name));
    emit_part(emit, "random_subset");
    writer_line(out, "random_subset(0x%016llxull, %s, %lld, %lld, %s);",
                (unsigned long long)text_hash(text_format(emit->arena, "%s.%s", subset->method, subset->name)), scope_row(subset->scope),
                (long long)subset->count, (long long)subset->below, name);
    if (emit->program->recipe->draws)
        writer_line(out, "recorded_list(\"%s\", %s, %lld);", subset->name, name, (long long)subset->count);
}

static bool draws_at(const Methods *methods, Scope scope)
{
    for (int i = 0; i < methods->draws.count; i++)
        if ((methods->draws.items[i].scope == SCOPE_MICRO_BATCH) == (scope == SCOPE_MICRO_BATCH))
            return true;
    for (int i = 0; i < methods->subsets.count; i++)
        if ((methods->subsets.items[i].scope == SCOPE_MICRO_BATCH) == (scope == SCOPE_MICRO_BATCH))
            return true;
    return false;
}

static void print_draws(Emit *emit, Scope scope, const char *name, Writer *plan, Writer *out)
{
    const Methods *methods = emit->program->methods;
    if (!draws_at(methods, scope))
        return;
    Writer *body = writer_create(emit->arena);
    body->depth = 1;
    for (int i = 0; i < methods->draws.count; i++)
        if ((methods->draws.items[i].scope == SCOPE_MICRO_BATCH) == (scope == SCOPE_MICRO_BATCH))
            print_draw(emit, &methods->draws.items[i], body);
    for (int i = 0; i < methods->subsets.count; i++) {
        const SubsetDraw *subset = &methods->subsets.items[i];
        if ((subset->scope == SCOPE_MICRO_BATCH) != (scope == SCOPE_MICRO_BATCH))
            continue;
        writer_line(plan, "static int %s[%lld];", names_identifier(emit->arena, text_format(emit->arena, "%s_%s", subset->method, subset->name)),
                    (long long)subset->count);
        print_subset(emit, subset, body);
    }
    writer_blank(out);
    writer_line(out, "static void %s(void)", name);
    writer_line(out, "{");
    writer_text(out, writer_result(body));
    writer_line(out, "}");
}

static void print_recorded_number(Emit *emit, Writer *out)
{
    emit_part(emit, "draws_number");
    writer_blank(out);
    writer_line(out, "static double recorded(const char *name, int index, double drawn)");
    writer_line(out, "{");
    writer_line(out, "double value;");
    writer_line(out, "return draws_number(recorded_draws, now.step, name, index, &value) ? value : drawn;");
    writer_line(out, "}");
}

static void print_recorded_list(Emit *emit, Writer *out)
{
    emit_part(emit, "draws_list");
    writer_blank(out);
    writer_line(out, "static bool recorded_list(const char *name, int *list, long count)");
    writer_line(out, "{");
    writer_line(out, "return draws_list(recorded_draws, now.step, name, list, count);");
    writer_line(out, "}");
}

static void print_recorded(Emit *emit, Writer *plan, Writer *out)
{
    const Methods *methods = emit->program->methods;
    if (!emit->program->recipe->draws)
        return;
    emit_part(emit, "draws");
    writer_line(plan, "static struct draws_file *recorded_draws; /* take the place of ours, so that runs can be compared */");
    if (methods->draws.count)
        print_recorded_number(emit, out);
    if (methods->subsets.count || methods->facts.has_mixing || emit->program->score >= 0)
        print_recorded_list(emit, out);
}

/* ---- mixing ---- */

static void print_mixing(Emit *emit, Writer *out)
{
    const Methods *methods = emit->program->methods;
    if (!methods->facts.has_mixing)
        return;
    emit_part(emit, "random_permutation");
    static const char *const inputs[] = { "own[i]", "partner[i]" }, *const indices[] = { "c", "y", "x" };
    const char *value = methods->mixed_pixel ? emit_expr(emit, methods->mixed_pixel, inputs, indices) : "own[i]";
    writer_blank(out);
    writer_comment(out, "Each row of the micro-batch meets the row that the permutation gives it.");
    writer_line(out, "static void mix(const struct kind *kind, long rows)");
    writer_line(out, "{");
    writer_line(out, "const long size = kind->height * kind->width * %lld;", (long long)methods->facts.channels);
    writer_line(out, "random_permutation(0x%016llxull, now.key, batch.first_row, rows, permutation);", (unsigned long long)text_hash("permutation"));
    if (emit->program->recipe->draws)
        writer_line(out, "recorded_list(\"permutation\", permutation, rows);");
    writer_text(out, "#pragma omp parallel for\n");
    writer_line(out, "for (long row = 0; row < rows; row++) {");
    writer_line(out, "const real *own = batch.images + row * size, *partner = batch.images + permutation[row] * size;");
    writer_line(out, "real *mixed = mixed_images + row * size;");
    writer_line(out, "for (long y = 0; y < kind->height; y++) {");
    writer_line(out, "for (long x = 0; x < kind->width; x++) {");
    writer_line(out, "for (long c = 0; c < %lld; c++) {", (long long)methods->facts.channels);
    writer_line(out, "const long i = (y * kind->width + x) * %lld + c;", (long long)methods->facts.channels);
    writer_line(out, "mixed[i] = %s;", value);
    writer_line(out, "}");
    writer_line(out, "}");
    writer_line(out, "}");
    writer_line(out, "mixed_targets[row] = batch.targets[permutation[row]];");
    writer_line(out, "}");
    writer_line(out, "batch.images = mixed_images;");
    writer_line(out, "batch.partner_targets = mixed_targets;");
    writer_line(out, "}");
}

/* ---- gradient passes ---- */

static const char *phase_argument(Emit *emit, const Topology *topology, const char *index)
{
    return topology->phases.count > 1 ? text_format(emit->arena, "&%s_phases[%s]", topology->name, index) : "";
}

static void print_dispatch(Emit *emit, Writer *out)
{
    const Program *program = emit->program;
    int trained = 0, only = 0;
    for (int i = 0; i < program->topologies.count; i++)
        if (program->topologies.items[i]->kind == TOPOLOGY_TRAIN)
            trained++, only = i;
    if (trained == 1) {
        const Topology *topology = program->topologies.items[only];
        writer_line(out, "%s(%s);", topology->name, phase_argument(emit, topology, "kind->parts[part].phase"));
        return;
    }
    writer_line(out, "switch (kind->topology) {");
    for (int i = 0; i < program->topologies.count; i++) {
        const Topology *topology = program->topologies.items[i];
        if (topology->kind == TOPOLOGY_TRAIN)
            writer_line(out, "case %d: %s(%s); break;", i, topology->name, phase_argument(emit, topology, "kind->parts[part].phase"));
    }
    writer_line(out, "}");
}

static void print_gradient_pass(Emit *emit, Writer *out)
{
    const Methods *methods = emit->program->methods;
    const RunFacts *facts = &methods->facts;
    writer_blank(out);
    writer_comment(out, "The gradient of the batch at the weights as they are: its micro-batches, each weighted by its rows.");
    writer_line(out, "static void gradient_pass(const struct kind *kind)");
    writer_line(out, "{");
    writer_line(out, "batch.first_row = 0;");
    writer_line(out, "batch.is_first = true;");
    writer_line(out, "batch.loss = 0;");
    writer_line(out, "for (int part = 0; part < kind->part_count; part++) {");
    writer_line(out, "for (int k = 0; k < kind->parts[part].count; k++) {");
    writer_line(out, "const long rows = kind->parts[part].rows;");
    if (facts->is_text) {
        writer_line(out, "batch.tokens = batch_tokens + batch.first_row * kind->length;");
        writer_line(out, "batch.targets = batch_targets + batch.first_row * kind->length;");
    } else {
        writer_line(out, "batch.images = batch_images + batch.first_row * kind->height * kind->width * %lld;", (long long)facts->channels);
        writer_line(out, "batch.targets = batch_targets + batch.first_row;");
    }
    writer_line(out, "batch.share = (real)rows / (real)kind->rows;");
    if (draws_at(methods, SCOPE_MICRO_BATCH))
        writer_line(out, "draw_micro_batch();");
    if (facts->has_mixing)
        writer_line(out, "mix(kind, rows);");
    print_dispatch(emit, out);
    writer_line(out, "batch.first_row += rows;");
    writer_line(out, "batch.is_first = false;");
    writer_line(out, "}");
    writer_line(out, "}");
    if (methods->gradients.count)
        writer_line(out, "on_gradients();");
    writer_line(out, "}");
}

static bool repeats(const Methods *methods)
{
    for (int i = 0; i < methods->step.count; i++)
        if (methods->step.items[i].kind == ACTION_GRADIENT_PASS)
            return true;
    return false;
}

static bool redraws(const Methods *methods)
{
    for (int i = 0; i < methods->step.count; i++)
        if (methods->step.items[i].kind == ACTION_GRADIENT_PASS && methods->step.items[i].redrawn)
            return true;
    return false;
}

static bool uses_size(Emit *emit, const char *name)
{
    for (int i = 0; i < emit->scalars.count; i++)
        if (emit->scalars.items[i]->kind == SCALAR_SIZE && text_equal(emit->scalars.items[i]->name, name))
            return true;
    return false;
}

static void print_train_batch(Emit *emit, Writer *out)
{
    static const struct { const char *name, *field; } sizes[] = {
        { "image_height", "height" }, { "image_width", "width" }, { "batch_rows", "rows" }, { "sequence_length", "length" },
    };
    const Methods *methods = emit->program->methods;
    writer_blank(out);
    writer_comment(out, "One step: gradient, what methods do between, update. Returns the loss before the step.");
    writer_line(out, "static double train_batch(const struct kind *kind)");
    writer_line(out, "{");
    writer_line(out, "now.key = now.step;");
    writer_line(out, "now.first_trained = kind->first_trained;");
    writer_line(out, "now.first_tensor = kind->first_tensor;");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (uses_size(emit, sizes[i].name))
            writer_line(out, "now.%s = kind->%s;", sizes[i].name, sizes[i].field);
    if (draws_at(methods, SCOPE_BATCH))
        writer_line(out, "draw_batch();");
    writer_line(out, "load_batch(kind);");
    if (emit->program->score >= 0) {
        writer_line(out, "if (kind->candidates)");
        writer_line(out, "    select_rows(kind);");
    }
    writer_line(out, "gradient_pass(kind);");
    writer_line(out, "const double loss = batch.loss;");
    if (methods->step.count)
        writer_line(out, repeats(methods) ? "on_step(kind);" : "on_step();");
    writer_line(out, "update();");
    if (methods->batch_end.count)
        writer_line(out, "on_batch_end();");
    writer_line(out, "return loss;");
    writer_line(out, "}");
}

static void print_redraw(Emit *emit, Writer *out)
{
    if (!redraws(emit->program->methods))
        return;
    writer_blank(out);
    writer_comment(out, "Random values from here to the end of the step are others than before.");
    writer_line(out, "static void draw_again(void)");
    writer_line(out, "{");
    writer_line(out, "now.key = ~now.step;");
    if (draws_at(emit->program->methods, SCOPE_BATCH))
        writer_line(out, "draw_batch();");
    writer_line(out, "}");
}

void emit_batches(Emit *emit, Writer *plan, Writer *body)
{
    print_tables(emit, plan);
    print_batch_struct(emit, plan);
    print_recorded(emit, plan, body);
    print_draws(emit, SCOPE_BATCH, "draw_batch", plan, body);
    print_draws(emit, SCOPE_MICRO_BATCH, "draw_micro_batch", plan, body);
    emit_loading(emit, plan, body);
    print_mixing(emit, body);
    emit_selection(emit, plan, body);
    print_redraw(emit, body);
    print_gradient_pass(emit, body);
    print_train_batch(emit, body);
}
