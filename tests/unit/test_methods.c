/* test_methods.c -- methods of a recipe: loaded, checked, ordered, bound; what is refused and what it says. */
#include "methods_bench.h"

/* ---- parameters ---- */

static const char every_type[] =
    "STAGE(BATCH)\n"
    "PARAM(float, share, 0.1f, 0 <= share && share <= 1, \"a part\")\n"
    "PARAM(int, count, 3, count > 0, \"how many\")\n"
    "PARAM(bool, on, false, true, \"whether\")\n"
    "PARAM(timespan, when, \"1ep\", amount_of(when) >= 1, \"when\")\n"
    "OPTIONAL_PARAM(float, extra, extra > 0, \"more\")\n"
    "CHOICE(mode, LINEAR, \"how\", LINEAR, COSINE)\n"
    "LIST(float, betas, 3, \"two\", 0.9f, 0.99f)\n"
    "float HOOK(pixel)(float value, int channel, int y, int x)\n"
    "{ return value * share * betas_count + (given_extra ? extra : 0) + mode; }\n";

typedef struct ParameterCase { const char *given, *shown, *says; } ParameterCase;

static const ParameterCase parameter_cases[] = {
    { "", "share=0.1 count=3 on=false when=1ep extra=null mode=linear betas=[0.9, 0.99]", NULL },
    { "share: 1", "share=1 count=3 on=false when=1ep extra=null mode=linear betas=[0.9, 0.99]", NULL },
    { "share: null, when: 2, mode: Cosine, betas: [0.5]", "share=0.1 count=3 on=false when=2ep extra=null mode=cosine betas=[0.5]", NULL },
    { "extra: 2.5, on: true, when: 100ba", "share=0.1 count=3 on=true when=100ba extra=2.5 mode=linear betas=[0.9, 0.99]", NULL },
    { "share: 1.5", NULL, "test.yaml:6:26: error: share of every is 1.5; "
        "it must hold that 0 <= share && share <= 1" },
    { "share: .nan", NULL, "share of every takes a finite number" },
    { "share: [1]", NULL, "share of every takes a number, not a list" },
    { "count: 1.0", NULL, "count of every takes a whole number, not the number 1.0" },
    { "count: 3000000000", NULL, "count of every takes a whole number that fits in 32 bits" },
    { "on: 1", NULL, "on of every takes true or false" },
    { "when: 1.5ba", NULL, "when of every: " },
    { "extra: 0", NULL, "extra of every is 0; it must hold that !given_extra || (extra > 0)" },
    { "mode: cosin", NULL, "mode of every can't be 'cosin'; did you mean 'cosine'?" },
    { "mode: {a: 1}", NULL, "mode of every takes a word" },
    { "betas: [1, 2, 3, 4]", NULL, "betas of every takes at most 3 values, not 4" },
    { "betas: [x]", NULL, "betas of every takes a number, not the text 'x'" },
    { "cuont: 1", NULL, "test.yaml:6:19: error: every has no parameter 'cuont'; did you mean 'count'?" },
    { "allow_no_effect: true", NULL, "every has no parameter 'allow_no_effect'" },
};

static const char *shown(Bench *bench, const Method *method)
{
    Buffer out = { .arena = bench->arena };
    for (int i = 0; i < method->parameters.count; i++)
        buffer_add(&out, "%s%s=%s", i ? " " : "", method->parameters.items[i].name,
            method->parameters.items[i].shown);
    return buffer_text(&out);
}

START_TEST(parameters_are_checked)
{
    const ParameterCase *it = &parameter_cases[_i];
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "every", every_type);
    bool fine = bench_load(&bench, text_format(bench.arena, "methods: {every: {%s}}", it->given));
    ck_assert_msg(fine == !it->says, "{%s}: %s", it->given, bench_said(&bench));
    if (fine)
        ck_assert_str_eq(shown(&bench, bench.methods->list.items[0]), it->shown);
    else
        ck_assert_msg(strstr(bench_said(&bench), it->says) && bench.diag.errors == 1, "{%s}: %s", it->given,
            bench_said(&bench));
    bench_close(&bench);
}
END_TEST

START_TEST(all_mistakes_come_at_once)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "every", every_type);
    bench_file(&bench, "later", "STAGE(BATCH)\nUNAVAILABLE(\"nobody needs it\")\n");
    bench_file(&bench, "needy", "STAGE(BATCH)\nREQUIRED_PARAM(int, size, size > 0, \"how large\")\n");
    ck_assert(!bench_load(&bench, "optimizer: {sgdd: {}}\nschedule: {cosine_decai: {}}\n"
                          "methods: {every: {count: 0, on: 2}, later: {}, needy: {}, evry: {}}"));
    static const char *const parts[] = {
        "on of every takes true or false", "later can't be used yet: nobody needs it", "needy needs size: how large",
        "unknown method 'evry'; did you mean 'every'?", "unknown optimizer 'sgdd'",
        "unknown schedule 'cosine_decai'; did you mean 'cosine_decay'?",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(bench_said(&bench), parts[i]), "no '%s' in %s", parts[i], bench_said(&bench));
    bench_close(&bench);
}
END_TEST

/* A file of the first folder stands before one of the same name in ours. */
START_TEST(first_folder_wins)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "mixup", "STAGE(SURGERY)\n");
    ck_assert(bench_load(&bench, "methods: {mixup: {}}"));
    ck_assert_str_eq(bench.methods->list.items[0]->summary, "mixup for tests");
    const char *dirs[] = { bench.folder, "methods" };
    Buffer out = { .arena = bench.arena };
    methods_list(bench.arena, &out, dirs, 2);
    const char *list = buffer_text(&out);
    ck_assert(strstr(list, "mixup for tests") && strstr(list, "label_smoothing") && strstr(list,
        "decoupled_sgdw") && strstr(list, "smoothing"));
    bench_close(&bench);
}
END_TEST

/* ---- order ---- */

static const char *order_of(Bench *bench)
{
    Buffer out = { .arena = bench->arena };
    for (int i = 0; i < bench->methods->list.count; i++)
        buffer_add(&out, "%s%s", i ? " " : "", bench->methods->list.items[i]->name);
    return buffer_text(&out);
}

static void write_orders(Bench *bench)
{
    bench_file(bench, "a", "STAGE(MIX)\nAFTER(c, \"c cuts\")\n");
    bench_file(bench, "b", "STAGE(MIX)\n");
    bench_file(bench, "c", "STAGE(MIX)\nBEFORE(b, \"b counts\")\nAFTER(nobody, \"who is not there\")\n");
    bench_file(bench, "late", "STAGE(EPOCH)\n");
    bench_file(bench, "early", "STAGE(SURGERY)\nEXCLUDES(late, \"both sleep\")\n");
    bench_file(bench, "round", "STAGE(MIX)\nAFTER(turn, \"it turns\")\n");
    bench_file(bench, "turn", "STAGE(MIX)\nAFTER(b, \"b begins\")\nAFTER(round, \"it is round\")\n");
    bench_file(bench, "wrong", "STAGE(SURGERY)\nAFTER(a, \"a knows\")\n");
    bench_file(bench, "nowhere", "");
}

START_TEST(order_is_one)
{
    static const char *const recipes[] = { "{a: {}, b: {}, c: {}, early: {}}", "{early: {}, c: {}, b: {}, a: {}}" };
    Bench bench;
    bench_open(&bench);
    write_orders(&bench);
    for (int i = 0; i < 2; i++) {
        ck_assert(bench_load(&bench, text_format(bench.arena, "methods: %s", recipes[i])));
        ck_assert_str_eq(order_of(&bench), "early c a b");
        const Method *a = bench.methods->list.items[2];
        ck_assert_str_eq(a->reasons.items[0], "stage mix");
        ck_assert_str_eq(a->reasons.items[1], "after c: c cuts");
    }
    bench_close(&bench);
}
END_TEST

START_TEST(impossible_orders_are_refused)
{
    static const char *const cases[][3] = {
        { "{b: {}, round: {}, turn: {}}", "the methods' order is a circle: ", "round after turn after round" },
        { "{wrong: {}, a: {}}", "wrong can't stand after a (a knows): its stage, surgery, comes before mix",
            "test.yaml:6:11" },
        { "{late: {}, early: {}}", "late and early can't be used together: both sleep",
            "test.yaml:6:21: note: early is here" },
        { "{nowhere: {}}", "nowhere has no STAGE", "test.yaml:6:11" },
    };
    Bench bench;
    bench_open(&bench);
    write_orders(&bench);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert(!bench_load(&bench, text_format(bench.arena, "methods: %s", cases[i][0])));
        const char *said = bench_said(&bench);
        ck_assert_msg(strstr(said, cases[i][1]), "%s: %s", cases[i][0], said);
        ck_assert_msg(strstr(said, cases[i][2]) || strstr(said, "turn after round after turn"), "%s: %s",
            cases[i][0], said);
    }
    bench_close(&bench);
}
END_TEST

/* ---- files that say what can't be ---- */

typedef struct Refusal { const char *body, *says; } Refusal;

#define PIXEL(value) "float HOOK(pixel)(float v, int c, int y, int x) { return " value "; }\n"
#define GRADIENTS(body) "void ON(gradients)(element *at) { " body " }\n"
#define BATCH_END(body) "void ON(batch_end)(const moment *now) { " body " }\n"

static const Refusal refusals[] = {
    { "float HOOK(pixle)(float v) { return v; }\n", "a method has no HOOK 'pixle'; did you mean 'pixel'?" },
    { "float SCHEDULE(rate)(const moment *now) { return 1; }\n", "a method has no SCHEDULE 'rate'" },
    { "void ON(update)(element *at) { at->parameter = 0; }\n", "a method has no ON 'update'" },
    { "tensor REWRITE(conv3d)(tensor x) { return KEEP; }\n", "a method has no REWRITE 'conv3d'; "
        "did you mean 'conv2d'?" },
    { "static float kept;\n" GRADIENTS("kept += 1; at->gradient *= kept;"), "kept of it would not last" },
    { "PARAM(int, n, 3, n < image_height, \"n\")\n" PIXEL("v * n"),
        "image_height can't be read here: parameters are checked before" },
    { "PARAM(timespan, n, \"3sp\", batches(n) >= 0, \"n\")\n" PIXEL("v * 2"), "batches can't be called here" },
    { "PARAM(float, n, 3, final_rate < 8, \"n\")\n" PIXEL("v * n"), "final_rate can't be read here" },
    { "REQUIRE(rate > 0, \"goes\")\n", "rate can't be read here: it is known when the program runs" },
    { "REQUIRE(class_count > 10, \"there are too few classes\")\n", "it: there are too few classes" },
    { "NEUTRAL(draw_uniform() < 1)\n", "draw_uniform can be called in DRAW and HOOK only" },
    { "DRAW(batch, float, d) { return draw_uniform(); }\nREQUIRE(d > 0, \"d\")\n",
        "d can't be read here: it is drawn when the program runs" },
    { "DRAW(batch, float, d) { return d + 1; }\n", "d can't be read here: it is not drawn yet" },
    { "DRAW(epoch, float, d) { return 1; }\n", "d of it: a DRAW's scope is step, batch or micro_batch" },
    { "STATE(tensor, float, m, 0, \"m\")\n", "m of it: a STATE's scope is element or run" },
    { "FOLD(mean, model, f, gradient)\n", "f of it: a FOLD is a sum or max, of a model, tensor or unit" },
    { "DRAW_SUBSET(batch, some, 9, 8)\n", "it: some would be 9 of 8" },
    { "STATE(run, int, r, 0, \"r\")\nDRAW(batch, float, d) { r = 1; return 1; }\n", "draw_batch_d can't change r" },
    { "STATE(run, int, r, 0, \"r\")\n" GRADIENTS("r = 1; at->gradient = 0;"),
        "on_gradients can't change r: states of the run" },
    { "STATE(run, int, r, 0, \"r\")\n" BATCH_END("r++; gradient_pass();"), "r was assigned before this call" },
    { "STATE(run, float, r, at->parameter, \"r\")\n" BATCH_END("r = 1;"), "r of it must start from a constant" },
    { "STATE(element, float, m, at->rank, \"m\")\n" GRADIENTS("m = 1;"), "m of it must start from a constant, "
        "or from at->parameter as it is" },
    { "STATE(element, float, m, 2 * at->parameter, \"m\")\n" GRADIENTS("m = 1;"),
        "m of it must start from a constant, or" },
    { "STATE(element, float, m, 0, \"m\")\n" BATCH_END("m = 1;"), "m can't be read here: a STATE(element, "
        "...) belongs to a weight" },
    { "STATE(element, float, m, 0, \"m\")\n" PIXEL("v + m"), "m can't be read here: a STATE(element, ...)" },
    { "STATE(element, float, m, 0, \"m\")\nFOLD(sum, model, f, m * gradient)\n" GRADIENTS("at->gradient *= f;"),
        "m can't be read here" },
    { "FOLD(sum, model, f, gradient)\n" PIXEL("v + f"), "f can't be read here: a FOLD is made for the functions of an element" },
    { GRADIENTS("at->rank = 1;"), "on_gradients may assign parameter and gradient" },
    { GRADIENTS("gradient_pass();"), "gradient_pass can be called in ON(step), "
        "ON(batch_end) and ON(epoch_end) only" },
    { PIXEL("v + gradient_pass_twice()"), "gradient_pass_twice" },
    { "EVALUATE_WITH(m)\n", "EVALUATE_WITH names no STATE(element, ...)" },
    { "geometry SCHEDULE(geometry)(const moment *now, geometry full) { full.rows = elapsed(NULL); return full; "
        "}\n", "elapsed needs the moment" },
};

START_TEST(what_cannot_be_is_refused)
{
    const Refusal *it = &refusals[_i];
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "it", text_format(bench.arena, "STAGE(BATCH)\n%s", it->body));
    bool fine = bench_bind(&bench, "methods: {it: {}}", &bench_run);
    for (int64_t step = 0; fine && bench.methods->has_geometry && step == 0; step++) {
        Geometry full = { .rows = 8, .height = 32, .width = 32 }, made;
        fine = methods_geometry(bench.methods, &(Moment){ 0 }, full, &made);
    }
    ck_assert_msg(!fine && strstr(bench_said(&bench), it->says), "%s\nsays: %s\nnot: %s", it->body,
        bench_said(&bench), it->says);
    bench_close(&bench);
}
END_TEST

START_TEST(schedules_and_optimizers_are_checked)
{
    static const char *const files[][4] = {
        { "schedules/s", "float SCHEDULE(rate)(const moment *now) { return 1.0f / update_count; }\n",
            "schedule: {s: {}}", "update_count can't be read here" },
        { "schedules/s", "float SCHEDULE(rate)(const moment *now) { return final_rate; }\n",
            "schedule: {s: {}}", "final_rate can't be read here" },
        { "schedules/s", "", "schedule: {s: {}}", "s is no schedule: it has no SCHEDULE(rate)" },
        { "optimizers/o", "", "optimizer: {o: {}}", "o is no optimizer: it has no ON(update)" },
        { "optimizers/o", "void ON(update)(element *at) { at->parameter = 0; }\n" PIXEL("v * 2"),
            "optimizer: {o: {}}", "an optimizer has no HOOK 'pixel'" },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        Bench bench;
        bench_open(&bench);
        bench_file(&bench, files[i][0], files[i][1]);
        ck_assert(!bench_bind(&bench, files[i][2], &bench_run));
        ck_assert_msg(strstr(bench_said(&bench), files[i][3]), "%s: %s", files[i][3], bench_said(&bench));
        bench_close(&bench);
    }
}
END_TEST

/* The first binding comes before the model: only the second knows whether it has a batch norm. */
START_TEST(requirements_of_the_model_wait)
{
    Bench bench;
    bench_open(&bench);
    bench_file(&bench, "it", "STAGE(BATCH)\nREQUIRE(has_batch_norm, \"nothing to do without batch norm\")\n");
    RunFacts facts = bench_run;
    ck_assert(bench_load(&bench, "methods: {it: {}}") && methods_bind(bench.methods, &facts));
    facts.has_batch_norm = true;
    ck_assert(methods_bind(bench.methods, &facts));
    facts.has_batch_norm = false;
    ck_assert(!methods_bind(bench.methods, &facts));
    ck_assert_ptr_nonnull(strstr(bench_said(&bench), "it: nothing to do without batch norm"));
    bench_close(&bench);
}
END_TEST

Suite *methods_suite(void);
void methods_binding_cases(Suite *suite);
Suite *methods_suite(void)
{
    Suite *suite = suite_create("methods");
    TCase *cases = tcase_create("load");
    suite_add_tcase(suite, cases);
    tcase_add_loop_test(cases, parameters_are_checked, 0, sizeof parameter_cases / sizeof *parameter_cases);
    tcase_add_test(cases, all_mistakes_come_at_once);
    tcase_add_test(cases, first_folder_wins);
    tcase_add_test(cases, order_is_one);
    tcase_add_test(cases, impossible_orders_are_refused);
    tcase_add_loop_test(cases, what_cannot_be_is_refused, 0, sizeof refusals / sizeof *refusals);
    tcase_add_test(cases, schedules_and_optimizers_are_checked);
    tcase_add_test(cases, requirements_of_the_model_wait);
    methods_binding_cases(suite);
    return suite;
}
