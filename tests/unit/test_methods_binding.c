/* test_methods_binding.c -- what bound methods are: hooks, draws, states, programs, actions, and answers about a moment. */
#include <math.h>

#include "methods_bench.h"

static double no_scalar(void *context, const Scalar *scalar)
{
    (void)scalar;
    return *(double *)context;
}

/* Every scalar has the value `scalars`. */
static double value_of(const Expr *expr, const double *inputs, const int64_t *indices, double scalars)
{
    return expr_evaluate(expr, &(ExprPoint){ .inputs = inputs, .indices = indices, .scalar = no_scalar, .context = &scalars });
}

static const Scalar *scalar_named(const Methods *methods, const char *method, const char *name)
{
    const Scalar *found = NULL;
    for (int i = 0; i < methods->scalars.count; i++)
        if (text_equal(methods->scalars.items[i]->name, name) && text_equal(methods->scalars.items[i]->method, method)) {
            ck_assert_msg(!found, "there are two scalars %s", name);
            found = methods->scalars.items[i];
        }
    return found;
}

/* ---- hooks ---- */

START_TEST(hooks_chain_in_order)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "add", "STAGE(BATCH)\nfloat HOOK(pixel)(float v, int c, int y, int x) { return v + 1 + c; }\n"
               "int HOOK(source_row)(int y) { return y + 1; }\n");
    bench_file(&bench, "double", "STAGE(MIX)\nfloat HOOK(pixel)(float v, int c, int y, int x) { return 2 * v; }\n"
               "int HOOK(source_row)(int y) { return 2 * y; }\n");
    const Methods *methods = bench_bound(&bench, "methods: {double: {}, add: {}}");
    ck_assert_double_eq(value_of(methods->pixel, (double[]){ 3 }, (int64_t[]){ 10, 0, 0 }, 0), 2 * (3 + 1 + 10));
    ck_assert_double_eq(value_of(methods->source_row, NULL, (int64_t[]){ 5 }, 0), 2 * 5 + 1);   /* the last shows row 10 of what add showed */
    ck_assert_ptr_null(methods->source_column);
    ck_assert_ptr_null(methods->mixed_pixel);
    bench_close(&bench);
}
END_TEST

START_TEST(hooks_that_change_nothing_are_dead)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "it", "STAGE(MIX)\nPARAM(float, share, 0, true, \"share\")\nfloat HOOK(pixel)(float v, "
               "int c, int y, int x) { return (1 - share) * v; }\n"
               "float HOOK(partner_weight)(void) { return share; }\n"
               "float HOOK(mixed_pixel)(float own, float partner, int c, int y, int x) { "
               "return (1 - share) * own + share * partner; }\n"
               "float HOOK(loss_target)(float t, int n) { return t + share / n; }\n");
    bench_file(&bench, "off", "STAGE(GRADIENT)\nNEUTRAL(true)\nREQUIRE(false, \"never asked\")\nSTATE(element, "
               "float, m, 1, \"m\")\nEVALUATE_WITH(m)\n"
               "DRAW(batch, float, d) { return draw_uniform(); }\nvoid ON(gradients)(element *at) { "
               "m = at->gradient *= 2; }\n"
               "float HOOK(pixel)(float v, int c, int y, int x) { return v * d; }\n");
    Methods *methods = bench_bound(&bench, "methods: {it: {}, off: {}}");
    ck_assert(!methods->pixel && !methods->mixed_pixel && !methods->partner_weight && !methods_loss_target(methods, 4));
    ck_assert_int_eq(methods->live.count, 0);
    ck_assert(methods->draws.count == 0 && methods->states.count == 0 && methods->gradients.count == 0 && !methods->evaluate_with);
    ck_assert(methods->list.items[0]->is_neutral != methods->list.items[1]->is_neutral);
    methods = bench_bound(&bench, "methods: {it: {share: 0.5}, off: {}}");
    ck_assert(methods->pixel && methods->mixed_pixel && expr_is_number(methods->partner_weight, 0.5));
    ck_assert_double_eq(value_of(methods_loss_target(methods, 4), (double[]){ 1 }, NULL, 0), 1.125);
    ck_assert_double_eq(value_of(methods_loss_target(methods, 2), (double[]){ 1 }, NULL, 0), 1.25);
    ck_assert_ptr_eq(methods_loss_target(methods, 4), methods_loss_target(methods, 4));
    bench_close(&bench);
}
END_TEST

START_TEST(helpers_of_heads_are_tables)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "it", "STAGE(TARGET)\nstatic float slope(int head, int n) { float s = 1; for (int i = 0; "
               "i <= head; i++) s *= 0.5f; return s / n; }\n"
               "float HOOK(attention_score)(float score, int head, int n, int query, int key) { "
               "return score + slope(head, n) * (key - query); }\n");
    Methods *methods = bench_bound(&bench, "methods: {it: {}}");
    const Expr *score = methods_attention_score(methods, 4);
    ck_assert(expr_uses_op(score, EXPR_table) && score != methods_attention_score(methods, 8));
    ck_assert_double_eq(value_of(score, (double[]){ 1 }, (int64_t[]){ 2, 7, 3 }, 0), 1 + 0.125 / 4 * (3 - 7));
    bench_close(&bench);
}
END_TEST

/* ---- draws ---- */

static const char drawing[] =
    "STAGE(MIX)\nstruct box { int top; float at[2]; };\n"
    "DRAW(batch, struct box, box) { return (struct box){ .top = draw_integer(8), .at = { draw_uniform(), "
    "draw_normal() } }; }\n"
    "DRAW(micro_batch, float, lambda) { return draw_beta(0.2f, 0.2f) * box.top; }\n"
    "DRAW_SUBSET(step, rows, 6, 8)\n"
    "float HOOK(partner_weight)(void) { return lambda; }\n"
    "int HOOK(source_row)(int y) { return rows[y]; }\n"
    "float HOOK(pixel)(float v, int c, int y, int x) { return v + box.at[1] + draw_uniform(); }\n";

START_TEST(draws_are_fields)
{
    static const char *const names[] = { "box.top", "box.at[0]", "box.at[1]", "lambda" };
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "it", drawing);
    const Methods *methods = bench_bound(&bench, "methods: {it: {}}");
    ck_assert_int_eq(methods->draws.count, 2);
    const Draw *box = &methods->draws.items[0], *lambda = &methods->draws.items[1];
    ck_assert(box->scope == SCOPE_BATCH && box->fields.count == 3 && lambda->scope == SCOPE_MICRO_BATCH && lambda->fields.count == 1);
    for (int i = 0; i < 4; i++) {
        const DrawField *field = i < 3 ? &box->fields.items[i] : &lambda->fields.items[0];
        ck_assert_str_eq(field->scalar->name, names[i]);
        ck_assert(field->scalar->kind == SCALAR_DRAW && field->scalar == scalar_named(methods, "it", names[i]));
        ck_assert_int_eq(field->scalar->type, i == 0 ? TYPE_INT : TYPE_FLOAT);
    }
    ck_assert(expr_uses_op(lambda->fields.items[0].value, EXPR_beta) && expr_uses_op(box->fields.items[2].value, EXPR_normal));
    const Expr *uniform = box->fields.items[1].value;
    ck_assert(uniform->op == EXPR_uniform && uniform->slot == 1);           /* after draw_integer, in order of the calls */
    ck_assert_ptr_eq(methods->partner_weight, expr_scalar(bench.exprs, lambda->fields.items[0].scalar));
    ck_assert_int_eq(methods->subsets.count, 1);
    const SubsetDraw *rows = &methods->subsets.items[0];
    ck_assert(rows->count == 6 && rows->below == 8 && rows->scope == SCOPE_STEP && !rows->table->values && rows->table->count == 6);
    ck_assert(expr_uses_op(methods->source_row, EXPR_table) && expr_uses_op(methods->pixel, EXPR_uniform));
    bench_close(&bench);
}
END_TEST

/* ---- elements and events ---- */

static const char training[] =
    "STAGE(STEP)\n"
    "FOLD(sum, model, squares, gradient * gradient)\nFOLD(max, unit, most, fabs(parameter))\nFOLD(sum, tensor, "
    "unused, gradient)\n"
    "STATE(element, float, here, 0, \"here\")\nSTATE(element, float, average, at->parameter, \"average\")\n"
    "STATE(run, int, count, 3, \"count\")\nSTATE(run, int, other, 5, \"other\")\nEVALUATE_WITH(average)\n"
    "void ON(gradients)(element *at) { at->gradient /= squares; if (at->rank > 1) at->gradient += most; }\n"
    "static void ascend(element *at) { here = at->parameter; at->parameter += 2 * here; "
    "at->gradient = here + at->parameter; }\n"
    "static void follow(element *at) { average = 0.5f * (average + at->parameter); }\n"
    "void ON(step)(const moment *now)\n"
    "{ if (now->step % 4 != 0) return;\n"
    "  each_parameter(ascend); if (count > 7) gradient_pass_redrawn(); else gradient_pass(); }\n"
    "void ON(batch_end)(const moment *now) { each_weight(follow); int kept = count; count = other; "
    "if (now->step > 2) other = kept + 1; }\n";

START_TEST(element_programs_are_simultaneous)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "it", training);
    const Methods *methods = bench_bound(&bench, "methods: {it: {}}");
    ck_assert_int_eq(methods->folds.count, 2);                              /* the unused one is not there */
    ck_assert_int_eq(methods->gradients.count, 1);
    const ElementProgram *gradients = methods->gradients.items[0], *ascend = methods->step.items[0].program;
    ck_assert(gradients->folds.count == 2 && gradients->assignments.count == 1 && gradients->assignments.items[0].slot == SLOT_GRADIENT);
    ck_assert(methods->folds.items[1]->is_max && methods->folds.items[1]->scope == SCOPE_UNIT);
    ck_assert_str_eq(ascend->name, "ascend");
    ck_assert_int_eq(ascend->assignments.count, 3);
    const double cells[8] = { 7, 11 };
    static const double wanted[] = { 7 + 14, 7 + 21, 7 };                   /* parameter, gradient, here */
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq(value_of(ascend->assignments.items[i].value, cells, NULL, 0), wanted[i]);
    const State *here = methods->states.items[ascend->assignments.items[2].slot - SLOT_STATES];
    ck_assert_str_eq(here->name, "here");
    ck_assert(!here->covers_buffers && !here->starts_from_parameter && expr_is_number(here->initial, 0));
    ck_assert_str_eq(methods->evaluate_with->name, "average");
    ck_assert(methods->evaluate_with->covers_buffers && methods->evaluate_with->starts_from_parameter);
    bench_close(&bench);
}
END_TEST

static bool acts(const Action *action, double scalars)
{
    return !action->condition || value_of(action->condition, NULL, NULL, scalars) != 0;
}

START_TEST(actions_know_their_conditions)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "it", training);
    const Methods *methods = bench_bound(&bench, "methods: {it: {}}");
    const Action *step = methods->step.items, *end = methods->batch_end.items;
    ck_assert(methods->step.count == 3 && methods->batch_end.count == 3 && methods->epoch_end.count == 0);
    ck_assert(step[0].kind == ACTION_EACH_PARAMETER && step[1].kind == ACTION_GRADIENT_PASS && step[1].redrawn && !step[2].redrawn);
    ck_assert(acts(&step[0], 4) && !acts(&step[0], 5));                     /* the return before it is its condition */
    ck_assert(acts(&step[1], 8) && !acts(&step[1], 4) && !acts(&step[1], 9));
    ck_assert(acts(&step[2], 4) && !acts(&step[2], 8) && !acts(&step[2], 5));
    ck_assert(end[0].kind == ACTION_EACH_WEIGHT && !end[0].condition);
    ck_assert(end[1].kind == ACTION_SET_STATE && end[2].kind == ACTION_SET_STATE);
    ck_assert_ptr_eq(end[1].value, expr_scalar(bench.exprs, end[2].state->scalar));
    ck_assert_ptr_eq(end[1].state->scalar, scalar_named(methods, "it", "count"));
    ck_assert_double_eq(value_of(end[2].value, NULL, NULL, 9), 10);         /* sees count as it was */
    bench_close(&bench);
}
END_TEST

START_TEST(only_one_average_is_evaluated)
{
    static const char average[] = "STAGE(AVERAGE)\nSTATE(element, float, m, 0, \"m\")\nEVALUATE_WITH(m)\n";
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "one", average);
    bench_file(&bench, "two", average);
    ck_assert(!bench_bind(&bench, "methods: {one: {}, two: {}}", &bench_run));
    ck_assert_ptr_nonnull(strstr(bench_said(&bench), "one and two both say which weights evaluation uses"));
    bench_close(&bench);
}
END_TEST

/* Binding again gives the same expressions over the same scalars, and follows the facts. */
START_TEST(binding_again_is_the_same)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "it", training);
    bench_file(&bench, "draw", drawing);
    bench_file(&bench, "size", "STAGE(BATCH)\nfloat HOOK(pixel)(float v, int c, int y, int x) { "
               "return v + image_height; }\n");
    Methods *methods = bench_bound(&bench, "methods: {it: {}, draw: {}, size: {}}");
    const int scalars = methods->scalars.count, states = methods->states.count;
    const Expr *pixel = methods->pixel, *gradient = methods->gradients.items[0]->assignments.items[0].value;
    const Expr *top = methods->draws.items[0].fields.items[0].value, *other = methods->batch_end.items[2].value;
    ck_assert(methods_bind(methods, &bench_run));
    ck_assert(methods->scalars.count == scalars && methods->states.count == states);
    ck_assert_ptr_eq(methods->pixel, pixel);
    ck_assert_ptr_eq(methods->gradients.items[0]->assignments.items[0].value, gradient);
    ck_assert_ptr_eq(methods->draws.items[0].fields.items[0].value, top);
    ck_assert_ptr_eq(methods->batch_end.items[2].value, other);
    RunFacts larger = bench_run;
    larger.height = 64;
    ck_assert(methods_bind(methods, &larger) && methods->pixel != pixel && methods->scalars.count == scalars);
    bench_close(&bench);
}
END_TEST

/* ---- questions about a moment ---- */

static double rate_at(Methods *methods, int64_t step)
{
    double rate;
    ck_assert(methods_rate(methods, &(Moment){ .step = step, .epoch = step / 100, .batch_in_epoch = step % 100 }, &rate));
    return rate;
}

START_TEST(rates_multiply)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "schedules/fraction", "float SCHEDULE(rate)(const moment *now) { "
               "return 1 - elapsed(now); }\n");
    bench_file(&bench, "schedules/late", "PARAM(timespan, when, \"2ep\", true, \"when\")\n"
               "float SCHEDULE(rate)(const moment *now) { return now->step < batches(when) ? 1 : 0.5f; }\n");
    bench_file(&bench, "schedules/loop", "float SCHEDULE(rate)(const moment *now) { float r = 1; for (int i = 0; "
               "i < now->step; i++) r *= 0.5f; return r; }\n");
    bench_file(&bench, "optimizers/o", "PARAM(float, lr, 3, true, \"lr\")\nvoid ON(update)(element *at) { "
               "at->parameter -= lr * rate * final_rate * at->gradient; }\n");
    Methods *methods = bench_bound(&bench, "optimizer: {o: {}}\nschedule: [fraction: {}, late: {when: 0.2dur}]");
    ck_assert(methods->rate && methods->base_rate == 3);
    ck_assert_double_eq_tol(rate_at(methods, 100), 0.9, 1e-12);
    ck_assert_double_eq_tol(rate_at(methods, 250), 0.375, 1e-12);
    const double cells[] = { 1, 1 };
    ck_assert_double_eq_tol(value_of(methods->update->assignments.items[0].value, cells, NULL, 1), 1 - 3 * 0.0005, 1e-12);
    methods = bench_bound(&bench, "schedule: {loop: {}}");
    ck_assert_ptr_null(methods->rate);                                      /* no closed form; asked step by step */
    ck_assert_double_eq(rate_at(methods, 3), 0.125);
    bench_close(&bench);
}
END_TEST

/* `compat: epoch` is a staircase where the run is given in epochs, and nothing elsewhere, as in Composer. */
START_TEST(elapsed_follows_compat)
{
    static const struct { const char *keys; bool compat; double wanted; } cases[] = {
        { "max_duration: 10ep", false, 0.75 }, { "max_duration: 10ep", true, 0.8 }, { "max_duration: 1000ba",
            true, 0.75 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Bench bench;
        bench_open(&bench);
        bench_file(&bench, "schedules/fraction", "float SCHEDULE(rate)(const moment *now) { "
            "return 1 - elapsed(now); }\n");
        RunFacts facts = bench_run;
        facts.compat_epoch = cases[i].compat;
        ck_assert(bench_bind(&bench, text_format(bench.arena, "%s\nschedule: {fraction: {}}", cases[i].keys),
            &facts));
        ck_assert_double_eq_tol(rate_at(bench.methods, 250), cases[i].wanted, 1e-12);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(geometries_chain)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "half", "STAGE(GEOMETRY)\ngeometry SCHEDULE(geometry)(const moment *now, geometry full) { "
               "full.height /= 2; full.width = now->step; return full; }\n"
               "int SCHEDULE(frozen_layers)(const moment *now, int layers) { return layers - 3; }\n");
    bench_file(&bench, "keep", "STAGE(BATCH)\nPARAM(int, kept, 2, true, "
               "\"kept\")\ngeometry SCHEDULE(geometry)(const moment *now, geometry full)\n"
               "{ full.candidates = full.rows; full.rows = kept; full.height -= 1; "
               "full.resample = RESAMPLE_CROP; return full; }\n"
               "float HOOK(rank_weight)(int rank, int rows) { return (float)rank / batch_rows + rows; }\n");
    Methods *methods = bench_bound(&bench, "methods: {keep: {}, half: {}}");
    const Geometry full = { .rows = 8, .height = 32, .width = 32 };
    const Moment now = { .step = 9 };
    Geometry g;
    int64_t frozen;
    double weight;
    ck_assert(methods_geometry(methods, &now, full, &g));
    ck_assert(g.height == 15 && g.width == 9 && g.rows == 2 && g.candidates == 8 && g.crop);
    ck_assert(methods_frozen_layers(methods, &now, 10, &frozen) && frozen == 7);
    ck_assert(methods_rank_weight(methods, 4, 16, &weight) && weight == 16.5);
    Buffer out = { .arena = bench.arena };
    methods_explain(&out, methods);
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "live: keep"));
    ck_assert(!methods_geometry(methods, &(Moment){ 0 }, full, &g));
    ck_assert_ptr_nonnull(strstr(bench_said(&bench), "half leaves nothing of the batch at step 0"));
    methods = bench_bound(&bench, "methods: {keep: {kept: 9}}");
    ck_assert(!methods_geometry(methods, &now, full, &g));
    ck_assert_ptr_nonnull(strstr(bench_said(&bench), "keep wants 9 of 8 candidates"));
    bench_close(&bench);
}
END_TEST

void methods_binding_cases(Suite *suite);
void methods_binding_cases(Suite *suite)
{
    TCase *cases = tcase_create("bind");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, hooks_chain_in_order);
    tcase_add_test(cases, hooks_that_change_nothing_are_dead);
    tcase_add_test(cases, helpers_of_heads_are_tables);
    tcase_add_test(cases, draws_are_fields);
    tcase_add_test(cases, element_programs_are_simultaneous);
    tcase_add_test(cases, actions_know_their_conditions);
    tcase_add_test(cases, only_one_average_is_evaluated);
    tcase_add_test(cases, binding_again_is_the_same);
    tcase_add_test(cases, rates_multiply);
    tcase_add_test(cases, elapsed_follows_compat);
    tcase_add_test(cases, geometries_chain);
}
