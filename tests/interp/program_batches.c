/* program_batches.c -- from stored rows to a micro-batch: draws, augmentation, resizing, hooks, selection, mixing. */
#include "tests/interp/program_inside.h"

/* ---- draws ---- */

/* The table that hooks read is the compiler's, left empty for the run. */
static void draw_subset(ProgramRun *run, const SubsetDraw *subset, int64_t row)
{
    Table *table = (Table *)subset->table;
    double *values = arena_array(run->arena, double, subset->count);
    int numbers[subset->count + 1];
    const char *site = text_format(run->arena, "%s.%s", subset->method, subset->name);
    chance_subset(site, run->key, row, subset->count, subset->below, numbers);
    for (int64_t i = 0; i < subset->count; i++)
        values[i] = numbers[i];
    table->values = values;
}

void run_draw(ProgramRun *run, bool of_micro_batch)
{
    const Methods *methods = run_methods(run);
    int64_t row = of_micro_batch ? run->first_row : 0;
    for (int i = 0; i < methods->draws.count; i++) {
        const Draw *draw = &methods->draws.items[i];
        if ((draw->scope == SCOPE_MICRO_BATCH) != of_micro_batch)
            continue;
        double values[draw->fields.count + 1];      /* fields of one draw don't see each other */
        for (int k = 0; k < draw->fields.count; k++)
            values[k] = run_value(run, draw->fields.items[k].value, row);
        for (int k = 0; k < draw->fields.count; k++)
            run_set(run, draw->fields.items[k].scalar, values[k]);
    }
    for (int i = 0; i < methods->subsets.count; i++)
        if ((methods->subsets.items[i].scope == SCOPE_MICRO_BATCH) == of_micro_batch)
            draw_subset(run, &methods->subsets.items[i], row);
}

/* ---- hooks ---- */

static double no_random(void *context, const Expr *expr, double a, double b)
{
    (void)context, (void)a, (void)b;
    bug("a hook on pixels has no %s of its own", expr_info[expr->op].name);
}

static double hooked(ProgramRun *run, const Expr *hook, const double *inputs, const int64_t *indices)
{
    return expr_evaluate(hook, &(ExprPoint){ .inputs = inputs, .indices = indices, .scalar = run_scalar,
                                             .random = no_random, .context = run });
}

/* ---- images ---- */

typedef struct Turn {                   /* how one row is augmented */
    int64_t down, right, top, left;
    bool flip;
} Turn;

static Turn draw_turn(ProgramRun *run, int64_t row)
{
    const Dataset *data = &run->program->recipe->data;
    const RunFacts *facts = &run_methods(run)->facts;
    const Geometry *g = &run->kind->geometry;
    Turn turn = { 0 };
    if (data->pad_crop) {
        turn.down = chance_integer(2 * data->pad_crop + 1, "augment.pad_crop", run->key, row, 0) - data->pad_crop;
        turn.right = chance_integer(2 * data->pad_crop + 1, "augment.pad_crop", run->key, row, 1) - data->pad_crop;
    }
    if (data->flip)
        turn.flip = chance_uniform("augment.flip", run->key, row) < 0.5;
    if (g->crop) {
        turn.top = chance_integer(facts->height - g->height + 1, "resize.crop", run->key, 0, 0);
        turn.left = chance_integer(facts->width - g->width + 1, "resize.crop", run->key, 0, 1);
    }
    return turn;
}

/* The place in the augmented image of place `at` in the batch: what hooks show there, then resizing. */
static int64_t augmented_place(ProgramRun *run, const Expr *hook, int64_t at, int64_t extent, int64_t full, int64_t cut)
{
    if (hook)
        at = (int64_t)hooked(run, hook, NULL, &at);
    return run->kind->geometry.crop ? at + cut : at * full / extent;
}

/* A byte of the stored image at a place of the augmented one; zeros lie around it. */
static int augmented_byte(const RunFacts *facts, const unsigned char *stored, const Turn *turn, int64_t channel,
                          int64_t y, int64_t x)
{
    int64_t row = y + turn->down, column = (turn->flip ? facts->width - 1 - x : x) + turn->right;
    if (row < 0 || row >= facts->height || column < 0 || column >= facts->width)
        return 0;
    return stored[(channel * facts->height + row) * facts->width + column];
}

static void load_image(ProgramRun *run, const unsigned char *stored, int64_t row)
{
    const Methods *methods = run_methods(run);
    const RunFacts *facts = &methods->facts;
    const Dataset *data = &run->program->recipe->data;
    const Geometry *g = &run->kind->geometry;
    Turn turn = draw_turn(run, row);
    double *image = run->batch.inputs + row * facts->channels * g->height * g->width;
    for (int64_t i = 0; i < facts->channels * g->height * g->width; i++) {
        int64_t at[] = { i / (g->height * g->width), i / g->width % g->height, i % g->width };      /* channel, y, x */
        int64_t y = augmented_place(run, methods->source_row, at[1], g->height, facts->height, turn.top);
        int64_t x = augmented_place(run, methods->source_column, at[2], g->width, facts->width, turn.left);
        double byte = augmented_byte(facts, stored, &turn, at[0], y, x);
        double value = (byte / 255 - data->mean[at[0]]) / data->std[at[0]];
        image[i] = methods->pixel ? hooked(run, methods->pixel, &value, at) : value;
    }
}

static void load_images(ProgramRun *run)
{
    const RunFacts *facts = &run_methods(run)->facts;
    int64_t size = facts->channels * facts->height * facts->width;
    for (int64_t row = 0; row < run->kind->stored_rows; row++) {
        int64_t from = stored_row(run->program, run->now.epoch, run->now.batch_in_epoch * facts->batch_rows + row);
        load_image(run, run->train.pixels + from * size, row);
        run->batch.targets[row] = run->train.labels[from];
    }
}

/* ---- text ---- */

/* Row r of the set holds tokens r*T .. r*T+T. What is taken of the rows lies one after another. */
static void load_tokens(ProgramRun *run)
{
    const RunFacts *facts = &run_methods(run)->facts;
    int64_t columns = run->kind->geometry.columns;
    for (int64_t i = 0; i < run->kind->stored_rows * columns; i++) {
        int64_t place = run->now.batch_in_epoch * facts->batch_rows + i / columns;
        int64_t at = stored_row(run->program, run->now.epoch, place) * facts->length + i % columns;
        run->batch.inputs[i] = run->train.tokens[at];
        run->batch.targets[i] = run->train.tokens[at + 1];
    }
}

void run_load(ProgramRun *run)
{
    if (run_methods(run)->facts.is_text)
        load_tokens(run);
    else
        load_images(run);
}

/* ---- selection ---- */

/* Candidates in order of their losses: of equal ones the first. */
static void order_losses(const double *losses, int64_t count, int *order)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t place = i;
        for (; place > 0 && losses[order[place - 1]] > losses[i]; place--)
            order[place] = order[place - 1];
        order[place] = (int)i;
    }
}

static void keep_rows(ProgramRun *run, const int *rows)
{
    const Geometry *g = &run->kind->geometry;
    int64_t size = run_methods(run)->facts.channels * g->height * g->width;
    double *inputs = arena_array(run->arena, double, g->rows * size);
    double *targets = arena_array(run->arena, double, g->rows);
    for (int64_t row = 0; row < g->rows; row++) {
        memcpy(inputs + row * size, run->batch.inputs + rows[row] * size, sizeof(double) * (size_t)size);
        targets[row] = run->batch.targets[rows[row]];
    }
    memcpy(run->batch.inputs, inputs, sizeof(double) * (size_t)(g->rows * size));
    memcpy(run->batch.targets, targets, sizeof(double) * (size_t)g->rows);
}

void run_select(ProgramRun *run)
{
    const Geometry *g = &run->kind->geometry;
    Program *program = run->program;
    double weights[g->candidates];
    int order[g->candidates], kept[g->rows];
    run->first_row = 0;
    Interp *interp = run_phase(run, program->score, run->kind->score_phase, run->batch.inputs, run->batch.targets);
    order_losses(interp_output(interp, OUTPUT_ROW_LOSS, NULL, NULL), g->candidates, order);
    for (int64_t i = 0; i < g->candidates; i++)
        if (!methods_rank_weight(program->methods, i, g->candidates, &weights[i]))
            bug("rank %lld has no weight", (long long)i);
    chance_ranks("selection", run->key, weights, g->candidates, g->rows, kept);
    for (int64_t row = 0; row < g->rows; row++)
        kept[row] = order[kept[row]];
    keep_rows(run, kept);
}

/* ---- mixing ---- */

void run_mix(ProgramRun *run, const double *images, const double *targets, int64_t rows)
{
    const Methods *methods = run_methods(run);
    const Geometry *g = &run->kind->geometry;
    int64_t size = methods->facts.channels * g->height * g->width;
    int partner[rows];
    chance_permutation("permutation", run->key, run->first_row, rows, partner);
    for (int64_t row = 0; row < rows; row++) {
        run->batch.partners[row] = targets[partner[row]];
        for (int64_t i = 0; i < size; i++) {
            int64_t at[] = { i / (g->height * g->width), i / g->width % g->height, i % g->width };
            double both[] = { images[row * size + i], images[partner[row] * size + i] };
            double *mixed = &run->batch.mixed[row * size + i];
            *mixed = methods->mixed_pixel ? hooked(run, methods->mixed_pixel, both, at) : both[0];
        }
    }
}
