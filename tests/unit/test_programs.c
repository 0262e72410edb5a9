/* test_programs.c -- emitted programs against runs computed step by step: optimizers, schedules, batches, each method
 * alone, and many at once. test_pairs.c has every two methods together. */
#include <check.h>

#include "base/text.h"
#include "program_bench.h"

static void check_all(const ProgramCase *cases, int count)
{
    Arena *arena = arena_create();
    ProgramOutcome *outcomes = arena_array(arena, ProgramOutcome, count);
    Buffer wrong = { .arena = arena };
    programs_run(arena, cases, count, outcomes);
    for (int i = 0; i < count; i++)
        if (outcomes[i].verdict != PROGRAM_AGREES)
            buffer_add(&wrong, "\n%s: %s", cases[i].name, outcomes[i].why);
    ck_assert_msg(wrong.count == 0, "%s", buffer_text(&wrong));
    arena_destroy(arena);
}

#define CHECK_ALL(cases) check_all((cases), sizeof (cases) / sizeof *(cases))

/* ---- optimizers and schedules ---- */

static const ProgramCase optimizers[] = {
    { "sgd", "mlp", .optimizer = "{sgd: {lr: 0.1, momentum: 0.9, dampening: 0.1, weight_decay: 0.01}}" },
    { "sgd_nesterov", "mlp", .optimizer = "{sgd: {lr: 0.1, momentum: 0.9, weight_decay: 0.01, nesterov: true}}" },
    { "sgd_plain", "mlp", .optimizer = "{sgd: {lr: 0.1}}" },
    { "decoupled_sgdw", "resnet", .optimizer = "{decoupled_sgdw: {lr: 0.1, momentum: 0.9, weight_decay: 0.01}}" },
    { "adam", "mlp", .optimizer = "{adam: {lr: 0.01, weight_decay: 0.01}}" },
    { "adam_amsgrad", "mlp", .optimizer = "{adam: {lr: 0.01, amsgrad: true}}" },
    { "adamw", "mlp", .optimizer = "{adamw: {lr: 0.01, weight_decay: 0.01}}" },
    { "decoupled_adamw", "gpt2", .optimizer = "{decoupled_adamw: {lr: 0.01, betas: [0.9, 0.95], weight_decay: 0.01}}" },
    { "radam", "mlp", .run = "max_duration: 8ba\nbatch_size: 8", .optimizer = "{radam: {lr: 0.01}}" },
    { "rmsprop", "mlp", .optimizer = "{rmsprop: {lr: 0.01, momentum: 0.9}}" },
    { "rmsprop_centered", "mlp", .optimizer = "{rmsprop: {lr: 0.01, centered: true, weight_decay: 0.01}}" },
};

START_TEST(each_optimizer)
{
    CHECK_ALL(optimizers);
}
END_TEST

#define SIX "max_duration: 2ep\nbatch_size: 8"

static const ProgramCase schedules[] = {
    { "step", "mlp", .run = SIX, .schedule = "{step: {step_size: 2ba, gamma: 0.5}}" },
    { "multistep", "mlp", .run = SIX, .schedule = "{multistep: {milestones: [2ba, 1ep], gamma: 0.5}}" },
    { "constant", "mlp", .run = SIX, .schedule = "{constant: {alpha: 0.5, t_max: 0.5dur}}" },
    { "linear_decay", "mlp", .run = SIX, .schedule = "{linear_decay: {alpha_f: 0.1}}" },
    { "exponential", "mlp", .run = SIX, .schedule = "{exponential: {gamma: 0.9}}" },
    { "cosine_decay", "mlp", .run = SIX, .schedule = "{cosine_decay: {alpha_f: 0.1}}" },
    { "cosine_warmrestart", "mlp", .run = SIX, .schedule = "{cosine_warmrestart: {t_0: 2ba, t_mult: 1.5}}" },
    { "polynomial", "mlp", .run = SIX, .schedule = "{polynomial: {power: 0.9, alpha_f: 0.01}}" },
    { "multistep_with_warmup", "mlp", .run = SIX, .schedule = "{multistep_with_warmup: {t_warmup: 2ba, milestones: [4ba]}}" },
    { "constant_with_warmup", "mlp", .run = SIX, .schedule = "{constant_with_warmup: {t_warmup: 2ba}}" },
    { "linear_decay_with_warmup", "mlp", .run = SIX, .schedule = "{linear_decay_with_warmup: {t_warmup: 0.3dur}}" },
    { "cosine_decay_with_warmup", "mlp", .run = SIX, .schedule = "{cosine_decay_with_warmup: {t_warmup: 2ba}}" },
    { "polynomial_with_warmup", "mlp", .run = SIX, .schedule = "{polynomial_with_warmup: {t_warmup: 2ba}}" },
    { "two_schedules", "mlp", .run = SIX, .schedule = "[{exponential: {gamma: 0.9}}, {constant_with_warmup: {t_warmup: 2ba}}]" },
};

START_TEST(each_schedule)
{
    CHECK_ALL(schedules);
}
END_TEST

/* ---- batches ---- */

#define SHORT "max_duration: 2ep\nbatch_size: 8"

static const ProgramCase batches[] = {
    { "plain_images", .model = "resnet" },
    { "plain_text", .model = "gpt2" },
    { "unshuffled", "mlp", .data = "shuffle: false", .run = SHORT },
    { "short_last_images", "resnet", .data = "drop_last: false", .run = SHORT },
    { "short_last_text", "gpt2", .data = "drop_last: false", .run = SHORT },
    { "micro_batches", "resnet", .run = "max_duration: 3ba\nbatch_size: 8\ngrad_accum: 2" },
    { "uneven_micro_batches", "resnet", .data = "drop_last: false", .run = SHORT "\ngrad_accum: 3" },
    { "uneven_micro_batches_text", "gpt2", .data = "drop_last: false", .run = SHORT "\ngrad_accum: 3" },
    { "flip", "mlp", .data = "augment: [flip]", .run = SHORT },
    { "pad_crop", "mlp", .data = "augment: [pad_crop: 2]", .run = SHORT },
    { "flip_pad_crop", "resnet", .data = "augment: [pad_crop: 2, flip]", .run = SHORT },
    { "normalized", "resnet", .data = "normalize: {mean: [0.4, 0.5, 0.6], std: [0.2, 0.3, 0.4]}" },
    { "small_evaluation", "resnet", .run = "max_duration: 2ba\nbatch_size: 8\neval_batch_size: 3" },
    { "one_row_at_full_size", "wide", .data = "drop_last: false", .run = "max_duration: 1ep\nbatch_size: 9",
      .methods = "{progressive_resizing: {initial_scale: 0.25, delay_fraction: 0.75, finetune_fraction: 0.25}}" },
    { "one_row", "resnet", .run = "max_duration: 3ba\nbatch_size: 1" },
    { "one_row_micro_batches", "resnet", .run = "max_duration: 2ba\nbatch_size: 2\ngrad_accum: 2" },
    { "one_row_of_text", "gpt2", .data = "drop_last: false", .run = "max_duration: 1ep\nbatch_size: 9" },
    { "dropout", "gpt2_dropout", .run = "max_duration: 3ba\nbatch_size: 8\ngrad_accum: 2" },
};

START_TEST(each_kind_of_batch)
{
    CHECK_ALL(batches);
}
END_TEST

/* ---- the methods, one at a time ---- */

static const ProgramCase methods[] = {
    { "label_smoothing", "resnet", .methods = "{label_smoothing: {smoothing: 0.1}}" },
    { "label_smoothing_text", "gpt2", .methods = "{label_smoothing: {smoothing: 0.1}}" },
    { "mixup", "resnet", .methods = "{mixup: {alpha: 0.4}}" },
    { "cutmix", "resnet", .methods = "{cutmix: {alpha: 1.0}}" },
    { "cutout", "resnet", .methods = "{cutout: {length: 0.5}}" },
    { "blurpool", "resnet", .methods = "{blurpool: {min_channels: 4}}" },
    { "squeeze_excite", "resnet", .methods = "{squeeze_excite: {min_channels: 4, latent_channels: 4}}" },
    { "alibi", "gpt2", .methods = "{alibi: {max_sequence_length: 8, train_sequence_length_scaling: 1.0}}" },
    { "alibi_reshapes", "gpt2", .methods = "{alibi: {max_sequence_length: 8, train_sequence_length_scaling: 0.5}}" },
    { "progressive_resizing", "wide", .run = "max_duration: 8ba\nbatch_size: 8",
      .methods = "{progressive_resizing: {initial_scale: 0.5, delay_fraction: 0.2, finetune_fraction: 0.3}}" },
    { "progressive_cropping", "wide", .run = "max_duration: 8ba\nbatch_size: 8", .data = "augment: [flip]",
      .methods = "{progressive_resizing: {mode: crop, initial_scale: 0.5, delay_fraction: 0.2, finetune_fraction: 0.3}}" },
    { "seq_length_warmup", "gpt2", .run = "max_duration: 6ba\nbatch_size: 8",
      .methods = "{seq_length_warmup: {duration: 0.5, min_seq_length: 2, max_seq_length: 8, step_size: 2}}" },
    { "seq_length_warmup_reshape", "gpt2", .run = "max_duration: 6ba\nbatch_size: 8",
      .methods = "{seq_length_warmup: {duration: 0.5, min_seq_length: 2, max_seq_length: 8, step_size: 2, truncate: false}}" },
    { "layer_freezing", "resnet", .run = "max_duration: 3ep\nbatch_size: 8",
      .methods = "{layer_freezing: {freeze_start: 0.3, freeze_level: 1.0}}" },
    { "clipping_norm", "resnet", .methods = "{gradient_clipping: {clipping_type: norm, clipping_threshold: 0.1}}" },
    { "clipping_value", "resnet", .methods = "{gradient_clipping: {clipping_type: value, clipping_threshold: 0.01}}" },
    { "clipping_adaptive", "resnet", .methods = "{gradient_clipping: {clipping_type: adaptive, clipping_threshold: 0.01}}" },
    { "clipping_adaptive_text", "gpt2", .methods = "{gradient_clipping: {clipping_type: adaptive, clipping_threshold: 0.01}}" },
    { "ema", "resnet", .methods = "{ema: {half_life: 2ba, update_interval: 1ba}}" },
    { "ema_every_second", "resnet", .run = "max_duration: 7ba\nbatch_size: 8",
      .methods = "{ema: {half_life: 2ba, update_interval: 2ba, ema_start: 2ba}}" },
    { "ema_by_epochs", "resnet", .run = "max_duration: 3ep\nbatch_size: 8", .methods = "{ema: {half_life: 1ep}}" },
    { "ema_smoothing", "mlp", .methods = "{ema: {smoothing: 0.7}}" },
    { "swa", "resnet", .run = "max_duration: 3ep\nbatch_size: 8", .methods = "{swa: {swa_start: 0.3dur, update_interval: 1ba}}" },
    { "swa_every_second", "mlp", .run = "max_duration: 4ep\nbatch_size: 8",
      .methods = "{swa: {swa_start: 0.2dur, update_interval: 2ba}}" },
    { "swa_by_epochs", "resnet", .run = "max_duration: 4ep\nbatch_size: 8",
      .methods = "{swa: {swa_start: 1ep, swa_end: 4ep, update_interval: 1ep}}" },
    { "sam", "resnet", .methods = "{sam: {rho: 0.05}}" },
    { "sam_redrawn", "resnet", .run = "max_duration: 4ba\nbatch_size: 8\ngrad_accum: 2",
      .methods = "{sam: {rho: 0.05, redraw: true}, mixup: {alpha: 0.4}, stochastic_depth: {drop_rate: 0.5}}" },
    { "sam_interval", "resnet", .methods = "{sam: {rho: 0.05, interval: 3}}" },
    { "ghost_batchnorm", "resnet", .data = "drop_last: false", .run = SHORT, .methods = "{ghost_batchnorm: {ghost_batch_size: 3}}" },
    { "stochastic_depth", "resnet", .run = "max_duration: 4ba\nbatch_size: 8\ngrad_accum: 2",
      .methods = "{stochastic_depth: {drop_rate: 0.5}}" },
    { "stochastic_depth_warmup", "resnet", .run = "max_duration: 6ba\nbatch_size: 8",
      .methods = "{stochastic_depth: {drop_rate: 0.5, drop_distribution: uniform, drop_warmup: 0.5dur}}" },
    { "stochastic_depth_sample", "resnet", .run = "max_duration: 4ba\nbatch_size: 8\ngrad_accum: 2",
      .methods = "{stochastic_depth: {stochastic_method: sample, drop_rate: 0.5}}" },
    { "selective_backprop", "resnet", .run = "max_duration: 6ba\nbatch_size: 8",
      .methods = "{selective_backprop: {start: 0.2, end: 0.9, keep: 0.5, interrupt: 2}}" },
    { "selective_backprop_short", "resnet", .data = "drop_last: false", .run = SHORT "\ngrad_accum: 2",
      .methods = "{selective_backprop: {start: 0.0, end: 1.0, keep: 0.5, interrupt: 0}}" },
    { "channels_last", "resnet", .methods = "{channels_last: {}}" },
};

START_TEST(each_method)
{
    CHECK_ALL(methods);
}
END_TEST

/* ---- what the language can say and no shipped method does: tests/methods ---- */

static const ProgramCase language[] = {
    { "swapped_states", "mlp", .run = SIX, .methods = "{swapped_states: {}}" },
    { "many_states", "mlp", .run = SIX, .methods = "{many_states: {}}" },
    { "all_folds", "resnet", .methods = "{all_folds: {}}" },
    { "chosen_rows", "resnet", .data = "augment: [pad_crop: 1, flip]", .run = "max_duration: 4ba\nbatch_size: 8\ngrad_accum: 3",
      .methods = "{chosen_rows: {}}" },
};

START_TEST(each_word_of_the_language)
{
    CHECK_ALL(language);
}
END_TEST

/* ---- the one that decides, and as many at once as can meet ---- */

static const ProgramCase deciding[] = {
    { "deciding", "wide", .data = "drop_last: false, augment: [pad_crop: 2, flip]",
      .run = "max_duration: 2ep\nbatch_size: 8\ngrad_accum: 2",
      .schedule = "{cosine_decay_with_warmup: {t_warmup: 2ba}}",
      .methods = "{cutmix: {alpha: 1.0}, label_smoothing: {smoothing: 0.1}, sam: {rho: 0.05, interval: 3},"
                 " progressive_resizing: {initial_scale: 0.5, delay_fraction: 0.2, finetune_fraction: 0.3},"
                 " ema: {half_life: 2ba, update_interval: 1ba},"
                 " gradient_clipping: {clipping_type: adaptive, clipping_threshold: 0.01}}" },
    { "many_on_images", "wide", .data = "drop_last: false, augment: [pad_crop: 2, flip]",
      .run = "max_duration: 2ep\nbatch_size: 8\ngrad_accum: 2",
      .optimizer = "{decoupled_adamw: {lr: 0.01, weight_decay: 0.001}}",
      .methods = "{blurpool: {min_channels: 4}, squeeze_excite: {min_channels: 4, latent_channels: 4},"
                 " stochastic_depth: {drop_rate: 0.5}, ghost_batchnorm: {ghost_batch_size: 3}, channels_last: {},"
                 " progressive_resizing: {initial_scale: 0.5, delay_fraction: 0.2, finetune_fraction: 0.3},"
                 " cutout: {length: 0.3}, selective_backprop: {start: 0.3, end: 0.9, keep: 0.6, interrupt: 3},"
                 " mixup: {alpha: 0.4}, label_smoothing: {smoothing: 0.1}, sam: {rho: 0.05, interval: 2},"
                 " gradient_clipping: {clipping_type: norm, clipping_threshold: 0.5},"
                 " swa: {swa_start: 0.5dur, update_interval: 1ba}, layer_freezing: {freeze_start: 0.2}}" },
    { "many_on_text", "gpt2_dropout", .data = "drop_last: false",
      .run = "max_duration: 2ep\nbatch_size: 8\ngrad_accum: 3", .optimizer = "{adam: {lr: 0.01}}",
      .schedule = "{linear_decay_with_warmup: {t_warmup: 2ba}}",
      .methods = "{alibi: {max_sequence_length: 8, train_sequence_length_scaling: 0.5}, stochastic_depth: {drop_rate: 0.5},"
                 " seq_length_warmup: {duration: 0.5, min_seq_length: 2, max_seq_length: 8, step_size: 2},"
                 " label_smoothing: {smoothing: 0.1}, sam: {rho: 0.05, interval: 2},"
                 " gradient_clipping: {clipping_type: value, clipping_threshold: 0.01},"
                 " ema: {half_life: 2ba, update_interval: 1ba}, layer_freezing: {freeze_start: 0.2}}" },
};

START_TEST(many_methods_at_once)
{
    CHECK_ALL(deciding);
}
END_TEST

Suite *programs_suite(void);
Suite *programs_suite(void)
{
    Suite *suite = suite_create("programs");
    TCase *each = tcase_create("each");
    tcase_set_timeout(each, 300);
    tcase_add_test(each, many_methods_at_once);
    tcase_add_test(each, each_optimizer);
    tcase_add_test(each, each_schedule);
    tcase_add_test(each, each_kind_of_batch);
    tcase_add_test(each, each_method);
    tcase_add_test(each, each_word_of_the_language);
    suite_add_tcase(suite, each);
    return suite;
}
