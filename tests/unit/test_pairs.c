/* test_pairs.c -- every two methods that may meet, for some steps: the emitted program against a run computed step by step.
 *
 * Which pairs the compiler refuses is part of the test: the table below says which, and a word of the complaint. */
#include <check.h>

#include "base/text.h"
#include "program_bench.h"

typedef struct PairedMethod {
    const char *name;
    const char *on_images, *on_text;    /* its parameters there; NULL: it has no place there */
} PairedMethod;

#define BOTH(parameters) parameters, parameters

/* Parameters that make each act within four steps, of which the third is a short batch that ends the epoch. */
static const PairedMethod paired[] = {
    { "label_smoothing", BOTH("{smoothing: 0.1}") },
    { "mixup", "{alpha: 0.4}", NULL },
    { "cutmix", "{alpha: 1.0}", NULL },
    { "cutout", "{length: 0.5}", NULL },
    { "blurpool", "{min_channels: 4}", NULL },
    { "squeeze_excite", "{min_channels: 4, latent_channels: 4}", NULL },
    { "alibi", NULL, "{max_sequence_length: 8, train_sequence_length_scaling: 0.5}" },
    { "progressive_resizing", "{initial_scale: 0.5, delay_fraction: 0.3, finetune_fraction: 0.3}", NULL },
    { "seq_length_warmup", NULL, "{duration: 0.5, min_seq_length: 2, max_seq_length: 8, step_size: 6}" },
    { "layer_freezing", BOTH("{freeze_start: 0.2, freeze_level: 1.0}") },
    { "gradient_clipping", BOTH("{clipping_type: adaptive, clipping_threshold: 0.01}") },
    { "ema", BOTH("{half_life: 2ba, update_interval: 1ba}") },
    { "swa", BOTH("{swa_start: 0.3dur, update_interval: 1ba}") },
    { "sam", BOTH("{rho: 0.05, interval: 2}") },
    { "ghost_batchnorm", "{ghost_batch_size: 3}", NULL },
    { "stochastic_depth", BOTH("{drop_rate: 0.5}") },
    { "selective_backprop", "{start: 0.2, end: 1.0, keep: 0.5, interrupt: 2}", NULL },
    { "channels_last", "{}", NULL },
};

enum { METHODS = sizeof paired / sizeof *paired, PAIRS = METHODS * (METHODS - 1) / 2 };

static bool meet_on_images(const PairedMethod *a, const PairedMethod *b)
{
    return a->on_images && b->on_images;
}

static bool meet_on_text(const PairedMethod *a, const PairedMethod *b)
{
    return a->on_text && b->on_text;
}

/* The method's entry in the recipe; one that has no place on the data has its parameters from the other kind. */
static const char *entry(Arena *arena, const PairedMethod *method, bool images)
{
    const char *wanted = images ? method->on_images : method->on_text, *other = images ? method->on_text : method->on_images;
    return text_format(arena, "%s: %s", method->name, wanted ? wanted : other);
}

static ProgramCase pair_case(Arena *arena, const PairedMethod *a, const PairedMethod *b)
{
    bool images = meet_on_images(a, b) || !meet_on_text(a, b);
    return (ProgramCase){
        .name = text_format(arena, "%s_and_%s", a->name, b->name), .model = images ? "resnet_pair" : "gpt2_pair",
        .data = "drop_last: false", .run = "max_duration: 4ba\nbatch_size: 8",
        .methods = text_format(arena, "{%s, %s}", entry(arena, a, images), entry(arena, b, images)),
    };
}

/* Pairs that the compiler must refuse although both have a place in the model. */
static const struct { const char *pair, *because; } refused[] = {
    { "mixup_and_cutmix", "an image has one partner" },
    { "ema_and_swa", "both say which weights evaluation uses" },
};

/* What the complaint about the pair must say; NULL: it must train. */
static const char *refusal_of(const PairedMethod *a, const PairedMethod *b, const char *pair)
{
    if (!meet_on_images(a, b) && !meet_on_text(a, b))
        return "only text has";
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (text_equal(refused[i].pair, pair))
            return refused[i].because;
    return NULL;
}

static void judge(const ProgramCase *it, const ProgramOutcome *outcome, const char *refusal, Buffer *wrong)
{
    if (outcome->verdict != (refusal ? PROGRAM_REFUSED : PROGRAM_AGREES))
        buffer_add(wrong, "\n%s: %s %s", it->name, refusal ? "must be refused" : "", outcome->why);
    else if (refusal && !strstr(outcome->why, refusal))
        buffer_add(wrong, "\n%s: the complaint does not say '%s': %s", it->name, refusal, outcome->why);
}

START_TEST(each_pair)
{
    Arena *arena = arena_create();
    ProgramCase *cases = arena_array(arena, ProgramCase, PAIRS);
    ProgramOutcome *outcomes = arena_array(arena, ProgramOutcome, PAIRS);
    const char *refusals[PAIRS];
    Buffer wrong = { .arena = arena };
    int count = 0;
    for (int a = 0; a < METHODS; a++)
        for (int b = a + 1; b < METHODS; b++, count++) {
            cases[count] = pair_case(arena, &paired[a], &paired[b]);
            refusals[count] = refusal_of(&paired[a], &paired[b], cases[count].name);
        }
    programs_run(arena, cases, count, outcomes);
    for (int i = 0; i < count; i++)
        judge(&cases[i], &outcomes[i], refusals[i], &wrong);
    ck_assert_msg(wrong.count == 0, "%s", buffer_text(&wrong));
    arena_destroy(arena);
}
END_TEST

Suite *pairs_suite(void);
Suite *pairs_suite(void)
{
    Suite *suite = suite_create("pairs");
    TCase *pairs = tcase_create("pairs");
    tcase_set_timeout(pairs, 600);
    tcase_add_test(pairs, each_pair);
    suite_add_tcase(suite, pairs);
    return suite;
}
