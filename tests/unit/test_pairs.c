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
    { "seq_length_warmup", NULL, "{duration: 0.5, min_seq_length: 2, max_seq_length: 8, step_size: 3}" },
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

static bool have_a_place(const PairedMethod *a, const PairedMethod *b)
{
    return meet_on_images(a, b) || (a->on_text && b->on_text);
}

static ProgramCase pair_case(Arena *arena, const PairedMethod *a, const PairedMethod *b)
{
    bool images = meet_on_images(a, b);
    return (ProgramCase){
        .name = text_format(arena, "%s_and_%s", a->name, b->name), .model = images ? "resnet_pair" : "gpt2_pair",
        .data = "drop_last: false", .run = "max_duration: 4ba\nbatch_size: 8",
        .methods = text_format(arena, "{%s: %s, %s: %s}", a->name, images ? a->on_images : a->on_text, b->name,
                               images ? b->on_images : b->on_text),
    };
}

/* Pairs that the compiler must refuse although both have a place in the model. */
static const struct { const char *pair, *because; } refused[] = {
    { "mixup_and_cutmix", "" },
    { "ema_and_swa", "" },
};

static const char *refusal_of(const char *pair)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (text_equal(refused[i].pair, pair))
            return refused[i].because;
    return NULL;
}

START_TEST(each_pair)
{
    Arena *arena = arena_create();
    ProgramCase *cases = arena_array(arena, ProgramCase, PAIRS);
    ProgramOutcome *outcomes = arena_array(arena, ProgramOutcome, PAIRS);
    Buffer wrong = { .arena = arena };
    int count = 0;
    for (int a = 0; a < METHODS; a++)
        for (int b = a + 1; b < METHODS; b++)
            if (have_a_place(&paired[a], &paired[b]))
                cases[count++] = pair_case(arena, &paired[a], &paired[b]);
    programs_run(arena, cases, count, outcomes);
    for (int i = 0; i < count; i++) {
        const char *refusal = refusal_of(cases[i].name);
        if (outcomes[i].verdict != (refusal ? PROGRAM_REFUSED : PROGRAM_AGREES))
            buffer_add(&wrong, "\n%s: %s", cases[i].name, refusal ? "must be refused" : outcomes[i].why);
        else if (refusal && !strstr(outcomes[i].why, refusal))
            buffer_add(&wrong, "\n%s: the complaint says nothing of '%s': %s", cases[i].name, refusal, outcomes[i].why);
    }
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
