/* loading.c -- stored rows to the batch: order, crop and flip, resizing, normalisation, pixel hooks; and selection. */
#include "emit/cpu/batches.h"

/* ---- what an image needs on its way ---- */

typedef struct Loading {
    Emit *emit;
    const Dataset *data;
    const RunFacts *facts;
    bool augments, resizes, crops, hooks;
} Loading;

static Loading loading_of(Emit *emit)
{
    const Program *program = emit->program;
    Loading loading = { .emit = emit, .data = &program->recipe->data, .facts = &program->methods->facts };
    const Methods *methods = program->methods;
    loading.augments = loading.data->pad_crop > 0 || loading.data->flip;
    loading.hooks = methods->pixel || methods->source_row || methods->source_column;
    for (int i = 0; i < program->kinds.count; i++) {
        const Geometry *g = &program->kinds.items[i].geometry;
        bool smaller = g->height != loading.facts->height || g->width != loading.facts->width;
        loading.crops |= smaller && g->crop;
        loading.resizes |= smaller && !g->crop;
    }
    return loading;
}

static void print_shades(Loading *loading, Writer *plan, Writer *out)
{
    const Dataset *data = loading->data;
    Emit *emit = loading->emit;
    int channels = (int)loading->facts->channels;
    writer_blank(plan);
    writer_comment(plan, "Normalisation: (byte / 255 - mean) / deviation, a table a channel.");
    writer_line(plan, "static real shade[%d][256];", channels);
    writer_blank(out);
    writer_line(out, "static void prepare_shades(void)");
    writer_line(out, "{");
    Buffer mean = { .arena = emit->arena }, deviation = { .arena = emit->arena };
    for (int c = 0; c < channels; c++) {
        buffer_add(&mean, "%s%s", c ? ", " : "", text_number(emit->arena, data->mean[c]));
        buffer_add(&deviation, "%s%s", c ? ", " : "", text_number(emit->arena, data->std[c]));
    }
    writer_line(out, "static const double mean[] = { %s }, deviation[] = { %s };", buffer_text(&mean), buffer_text(&deviation));
    writer_line(out, "for (int c = 0; c < %d; c++)", channels);
    writer_line(out, "    for (int byte = 0; byte < 256; byte++)");
    writer_line(out, "        shade[c][byte] = (real)((byte / 255.0 - mean[c]) / deviation[c]);");
    writer_line(out, "}");
}

/* The plain form, for evaluation and for recipes without anything on the way. */
static void print_plain_image(Loading *loading, Writer *out)
{
    long long height = loading->facts->height, width = loading->facts->width, channels = loading->facts->channels;
    writer_blank(out);
    writer_comment(out, "A stored image (channels, height, width) as it is -> (height, width, channels), normalised.");
    writer_line(out, "static void load_plain_image(const unsigned char *stored, real *image)");
    writer_line(out, "{");
    writer_line(out, "for (long at = 0; at < %lld; at++)", height * width);
    writer_line(out, "    for (long c = 0; c < %lld; c++)", channels);
    writer_line(out, "        image[at * %lld + c] = shade[c][stored[c * %lld + at]];", channels, height * width);
    writer_line(out, "}");
}

static void print_source(Loading *loading, Writer *out, const char *axis, const char *extent, long long full, const Expr *hook, const char *shift)
{
    Emit *emit = loading->emit;
    const char *const indices[] = { axis };
    const char *source = hook ? emit_expr(emit, hook, NULL, indices) : axis;
    if (loading->resizes)
        source = text_format(emit->arena, hook ? "(%s) * %lld / kind->%s" : "%s * %lld / kind->%s", source, full, extent);
    writer_line(out, "const long source_%s = %s%s;", axis, source, shift);
}

static void print_augmentation_draws(Loading *loading, Writer *out)
{
    const Dataset *data = loading->data;
    if (data->pad_crop > 0) {
        emit_part(loading->emit, "random_integer");
        writer_line(out, "const long down = random_integer(%lld, 0x%016llxull, now.key, row, 0, 0) - %lld;", (long long)(2 * data->pad_crop + 1),
                    (unsigned long long)text_hash("augment.pad_crop"), (long long)data->pad_crop);
        writer_line(out, "const long right = random_integer(%lld, 0x%016llxull, now.key, row, 0, 1) - %lld;", (long long)(2 * data->pad_crop + 1),
                    (unsigned long long)text_hash("augment.pad_crop"), (long long)data->pad_crop);
    }
    if (data->flip) {
        emit_part(loading->emit, "random_uniform");
        writer_line(out, "const bool flip = random_uniform(0x%016llxull, now.key, row, 0, 0) < 0.5f;", (unsigned long long)text_hash("augment.flip"));
    }
    if (loading->crops) {
        emit_part(loading->emit, "random_integer");
        writer_line(out, "const long top = kind->crop ? random_integer(%lld - kind->height + 1, 0x%016llxull, now.key, 0, 0, 0) : 0;",
                    (long long)loading->facts->height, (unsigned long long)text_hash("resize.crop"));
        writer_line(out, "const long left = kind->crop ? random_integer(%lld - kind->width + 1, 0x%016llxull, now.key, 0, 0, 1) : 0;",
                    (long long)loading->facts->width, (unsigned long long)text_hash("resize.crop"));
    }
}

/* Where a pixel comes from: resize, then the crop of the padded image, then the flip, undone in that order. */
static void print_image(Loading *loading, Writer *out)
{
    Emit *emit = loading->emit;
    const Methods *methods = emit->program->methods;
    long long height = loading->facts->height, width = loading->facts->width, channels = loading->facts->channels;
    static const char *const inputs[] = { "value" }, *const indices[] = { "c", "y", "x" };
    writer_blank(out);
    writer_comment(out, "A stored image -> one row of the batch.");
    writer_line(out, "static void load_image(const struct kind *kind, const unsigned char *stored, real *image%s)",
                loading->augments ? ", long row" : "");
    writer_line(out, "{");
    print_augmentation_draws(loading, out);
    writer_line(out, "for (long y = 0; y < kind->height; y++) {");
    print_source(loading, out, "y", "height", height, methods->source_row, loading->crops ? " + top" : "");
    writer_line(out, "const long sy = source_y%s;", loading->data->pad_crop > 0 ? " + down" : "");
    writer_line(out, "for (long x = 0; x < kind->width; x++) {");
    print_source(loading, out, "x", "width", width, methods->source_column, loading->crops ? " + left" : "");
    if (loading->data->flip)
        writer_line(out, "const long turned = flip ? %lld - source_x : source_x;", width - 1);
    writer_line(out, "const long sx = %s%s;", loading->data->flip ? "turned" : "source_x", loading->data->pad_crop > 0 ? " + right" : "");
    if (loading->data->pad_crop > 0)
        writer_line(out, "const bool inside = sy >= 0 && sy < %lld && sx >= 0 && sx < %lld;", height, width);
    writer_line(out, "for (long c = 0; c < %lld; c++) {", channels);
    const char *byte = text_format(emit->arena, "stored[(c * %lld + sy) * %lld + sx]", height, width);
    if (loading->data->pad_crop > 0)
        byte = text_format(emit->arena, "inside ? %s : 0", byte);
    writer_line(out, "const real value = shade[c][%s];", byte);
    writer_line(out, "image[(y * kind->width + x) * %lld + c] = %s;", channels, methods->pixel ? emit_expr(emit, methods->pixel, inputs, indices) : "value");
    writer_line(out, "}");
    writer_line(out, "}");
    writer_line(out, "}");
    writer_line(out, "}");
}

/* The row of the data set that stands at place `at` of this epoch. */
static void print_order(Loading *loading, Writer *out)
{
    writer_blank(out);
    writer_comment(out, "The row of the data set at this place of the epoch.");
    writer_line(out, "static long stored_row(long place)");
    writer_line(out, "{");
    if (loading->data->shuffle) {
        emit_part(loading->emit, "shuffle");
        writer_line(out, "return shuffle_index(settings.seed, now.epoch, place, train_set.rows);");
    } else {
        writer_line(out, "return place;");
    }
    writer_line(out, "}");
}

static void print_load_images(Loading *loading, Writer *out)
{
    bool plain = !loading->augments && !loading->resizes && !loading->crops && !loading->hooks;
    long long channels = loading->facts->channels, pixels = loading->facts->height * loading->facts->width * channels;
    if (!plain)
        print_image(loading, out);
    writer_blank(out);
    writer_line(out, "static void load_batch(const struct kind *kind)");
    writer_line(out, "{");
    writer_text(out, "#pragma omp parallel for\n");
    writer_line(out, "for (long row = 0; row < kind->stored_rows; row++) {");
    writer_line(out, "const long from = stored_row(now.batch_in_epoch * %lld + row);", (long long)loading->facts->batch_rows);
    if (plain)
        writer_line(out, "load_plain_image(train_set.pixels + from * %lld, batch_images + row * %lld);", pixels, pixels);
    else
        writer_line(out, "load_image(kind, train_set.pixels + from * %lld, batch_images + row * kind->height * kind->width * %lld%s);", pixels, channels,
                    loading->augments ? ", row" : "");
    writer_line(out, "batch_targets[row] = train_set.labels[from];");
    writer_line(out, "}");
    writer_line(out, "}");
}

/* Text: row r holds tokens r*T .. r*T+T; inputs are the first T, targets the last T. What is taken of the rows lies one
 * after another, so that a reshape of the batch only reads it with another length. */
static void print_load_tokens(Loading *loading, Writer *out)
{
    writer_blank(out);
    writer_comment(out, "Row r of the data set holds tokens r*T .. r*T+T: inputs are the first T, targets the last T.");
    writer_line(out, "static void load_tokens(const struct token_set *set, long from, long columns, int *tokens, int *targets)");
    writer_line(out, "{");
    writer_line(out, "for (long i = 0; i < columns; i++) {");
    writer_line(out, "tokens[i] = token_at(set, from * %lld + i);", (long long)loading->facts->length);
    writer_line(out, "targets[i] = token_at(set, from * %lld + i + 1);", (long long)loading->facts->length);
    writer_line(out, "}");
    writer_line(out, "}");
    writer_blank(out);
    writer_line(out, "static void load_batch(const struct kind *kind)");
    writer_line(out, "{");
    writer_line(out, "for (long row = 0; row < kind->stored_rows; row++) {");
    writer_line(out, "const long from = stored_row(now.batch_in_epoch * %lld + row);", (long long)loading->facts->batch_rows);
    writer_line(out, "load_tokens(&train_set, from, kind->columns, batch_tokens + row * kind->columns, batch_targets + row * kind->columns);");
    writer_line(out, "}");
    writer_line(out, "}");
}

void emit_loading(Emit *emit, Writer *plan, Writer *body)
{
    Loading loading = loading_of(emit);
    const char *set = loading.facts->is_text ? "token_set" : "image_set";
    writer_line(plan, "static struct %s train_set, test_set;", set);
    print_order(&loading, body);
    if (loading.facts->is_text) {
        print_load_tokens(&loading, body);
        return;
    }
    print_shades(&loading, plan, body);
    print_plain_image(&loading, body);
    print_load_images(&loading, body);
}

/* ---- selective training: score the candidates, keep some ---- */

static void print_rank_weights(Emit *emit, Writer *out)
{
    Program *program = emit->program;
    int64_t candidates = 0;
    for (int i = 0; i < program->kinds.count; i++)
        candidates = program->kinds.items[i].geometry.candidates > candidates ? program->kinds.items[i].geometry.candidates : candidates;
    writer_line(out, "static const double weight[%lld] = {", (long long)candidates);
    Buffer row = { .arena = emit->arena };
    for (int64_t i = 0; i < candidates; i++) {
        double weight = 0;
        methods_rank_weight(program->methods, i, candidates, &weight);
        buffer_add(&row, "%s%s", i == 0 ? "" : i % 8 ? ", " : ",\n        ", text_number(emit->arena, weight));
    }
    writer_line(out, "%s", buffer_text(&row));
    writer_line(out, "};");
}

void emit_selection(Emit *emit, Writer *plan, Writer *body)
{
    const Program *program = emit->program;
    if (program->score < 0)
        return;
    const Topology *score = program->topologies.items[program->score];
    long long channels = program->methods->facts.channels;
    emit_part(emit, "random_choice");
    emit_part(emit, "order_by_value");
    writer_line(plan, "static real *chosen_images;");
    writer_line(plan, "static int *chosen_targets, *chosen_rows, *loss_order;");
    writer_blank(body);
    writer_comment(body, "Candidates in order of their losses; ranks are drawn without replacement, and their rows become the batch.");
    writer_line(body, "static void select_rows(const struct kind *kind)");
    writer_line(body, "{");
    print_rank_weights(emit, body);
    writer_line(body, "const long size = kind->height * kind->width * %lld;", channels);
    writer_line(body, "batch.images = batch_images;");
    writer_line(body, "batch.targets = batch_targets;");
    writer_line(body, "batch.first_row = 0;");
    writer_line(body, score->phases.count > 1 ? "score(&score_phases[kind->score_phase]);" : "score();");
    writer_line(body, "order_by_value(arena + %s, kind->candidates, loss_order);", emit->score_losses);
    writer_line(body, "random_choice(0x%016llxull, now.key, weight, kind->candidates, kind->rows, chosen_rows);",
                (unsigned long long)text_hash("selection"));
    if (program->recipe->draws)
        writer_line(body, "recorded_list(\"ranks\", chosen_rows, kind->rows);");
    writer_line(body, "for (long row = 0; row < kind->rows; row++) {");
    writer_line(body, "const long from = loss_order[chosen_rows[row]];");
    writer_line(body, "memcpy(chosen_images + row * size, batch_images + from * size, sizeof(real) * (size_t)size);");
    writer_line(body, "chosen_targets[row] = batch_targets[from];");
    writer_line(body, "}");
    writer_line(body, "memcpy(batch_images, chosen_images, sizeof(real) * (size_t)(kind->rows * size));");
    writer_line(body, "memcpy(batch_targets, chosen_targets, sizeof(int) * (size_t)kind->rows);");
    writer_line(body, "}");
}
