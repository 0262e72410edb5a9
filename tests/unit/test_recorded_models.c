/* test_recorded_models.c -- the evaluator makes the calls that the system's C compiler makes of the same model files. */
#include "layers_bench.h"

/* ---- the same calls as the C compiler's ---- */

static char *output_of(Arena *arena, const char *command)
{
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    Buffer out = { .arena = arena };
    char part[4096];
    for (size_t count; (count = fread(part, 1, sizeof part, pipe)) > 0;)
        buffer_bytes(&out, part, (int)count);
    ck_assert_msg(pclose(pipe) == 0, "%s", command);
    return (char *)buffer_text(&out);
}

static const char *recorded(Arena *arena, const char *file, const char *call)
{
    char folder[] = P_tmpdir "/recorder_XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    const char *compiler = getenv("CC") ? getenv("CC") : "cc";
    const char *command = text_format(
        arena,
        "%s -std=gnu17 -w -fno-builtin -I. -Itests/models/recording -DMODEL_FILE='\"" MODELS
        "/%s\"' -DMODEL_CALL='%s' "
        "tests/models/recording/recorder.c -o %s/recorder -lm && %s/recorder && rm -r %s",
        compiler, file, call, folder, folder, folder);
    return output_of(arena, command);
}

static const struct {
    const char *file, *function, *call;
    Setting settings[6];
    int count;
    int64_t input[4];
    int rank;
} recordings[] = {
    { "mlp.c",
      "mlp",
      "mlp(images(2, 1, 28, 28), 64, 10)",
      { { "hidden", 64 }, { "num_classes", 10 } },
      2,
      { 2, 1, 28, 28 },
      4 },
    { "resnet_cifar.c",
      "resnet_cifar",
      "resnet_cifar(images(2, 3, 32, 32), 20, 10, 16)",
      { { "depth", 20 }, { "num_classes", 10 } },
      2,
      { 2, 3, 32, 32 },
      4 },
    { "resnet.c",
      "resnet",
      "resnet(images(2, 3, 97, 65), 50, 10)",
      { { "depth", 50 }, { "num_classes", 10 } },
      2,
      { 2, 3, 97, 65 },
      4 },
    { "resnet.c",
      "resnet",
      "resnet(images(2, 3, 64, 64), 18, 10)",
      { { "depth", 18 }, { "num_classes", 10 } },
      2,
      { 2, 3, 64, 64 },
      4 },
    { "gpt2.c",
      "gpt2",
      "gpt2(tokens(2, 8), 32, 16, 2, 2, 8, 0)",
      { { "vocab_size", 32 },
        { "context", 16 },
        { "layers", 2 },
        { "heads", 2 },
        { "channels", 8 },
        { "dropout", 0 } },
      6,
      { 2, 8 },
      2 },
};

START_TEST(evaluator_makes_the_calls_that_the_compiler_makes)
{
    World *world = world_new();
    Buffer log = { .arena = world->arena };
    Shape shape = { .rank = recordings[_i].rank };
    memcpy(shape.dim, recordings[_i].input, sizeof recordings[_i].input);
    Builder *builder = start(world, true, shape);
    builder->log = &log;
    builder->initializers = parse(world, MODELS "/initializers.c");
    const char *path = text_format(world->arena, MODELS "/%s", recordings[_i].file);
    ck_assert(run_file(world, path, recordings[_i].function, recordings[_i].settings, recordings[_i].count));
    ck_assert_str_eq(buffer_text(&log), recorded(world->arena, recordings[_i].file, recordings[_i].call));
    arena_destroy(world->arena);
}
END_TEST

Suite *recorded_models_suite(void)
{
    Suite *suite = suite_create("recorded models");
    TCase *cases = tcase_create("models");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_loop_test(cases, evaluator_makes_the_calls_that_the_compiler_makes, 0,
                        sizeof recordings / sizeof *recordings);
    return suite;
}
