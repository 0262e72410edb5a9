/* test_recipe.c -- recipes: scalars, time strings, references, overrides, defaults, printing; and tests/bad. Run from
 * the project's folder. */
#include <check.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "recipe/recipe.h"

Suite *recipe_suite(void);

typedef struct Bench {
    Arena *arena;
    Diagnostics diag;
    Recipe *recipe;
    const char *said;
} Bench;

enum { MOST_WORDS = 8 };

/* The lines of every recipe that is about something else. */
#define MODEL "model: {mlp: {hidden: 64, num_classes: 10}}\n"
#define DATA "dataset: {mnist: {path: data/mnist}}\n"
#define TIME "max_duration: 2ep\n"
#define BATCH "batch_size: 32\n"
#define SGD "optimizer: {sgd: {lr: 0.1}}\n"
#define BASE MODEL DATA TIME BATCH SGD

static Bench read_text(const char *text, const char *const *words)
{
    Bench bench = { .arena = arena_create() };
    bench.diag.arena = bench.arena;
    int count = 0;
    while (words && words[count])
        count++;
    bench.recipe = recipe_read_bytes(bench.arena, &bench.diag, "here/test.yaml", text, strlen(text), words, count);
    Buffer said = { .arena = bench.arena };
    diagnostics_print(&bench.diag, &said);
    bench.said = buffer_text(&said);
    return bench;
}

static Bench good(const char *text)
{
    Bench bench = read_text(text, NULL);
    ck_assert_msg(bench.recipe && !bench.diag.warnings, "%s", bench.said);
    return bench;
}

#define overridden(text, ...) read_text(text, (const char *const[MOST_WORDS]){ __VA_ARGS__ })

static void done(Bench *bench)
{
    arena_destroy(bench->arena);
}

static const Doc *parameter(const Bench *bench, const char *name)
{
    const Doc *doc = doc_find(bench->recipe->model.parameters, name);
    ck_assert_msg(doc != NULL, "no parameter %s", name);
    return doc;
}

static void ck_said(const Bench *bench, const char *expected)
{
    ck_assert_msg(strstr(bench->said, expected) != NULL, "expected: %s\nsaid: %s", expected, bench->said);
}

/* ---- scalars ---- */

START_TEST(scalars)
{
    static const struct { const char *text; DocKind kind; double value; bool warns; } cases[] = {
        { "1", DOC_INT, 1, 0 },        { "-12", DOC_INT, -12, 0 },      { "1_000", DOC_INT, 1000, 0 },
        { "0", DOC_INT, 0, 0 },        { "0x1f", DOC_INT, 31, 0 },      { "0b101", DOC_INT, 5, 0 },
        { "010", DOC_INT, 8, 1 },      { "08", DOC_TEXT, 0, 0 },        { "1:30", DOC_INT, 90, 1 },
        { "1e-3", DOC_FLOAT, 1e-3, 0 }, { "1E5", DOC_FLOAT, 1e5, 0 },   { "1.", DOC_FLOAT, 1, 0 },
        { ".5", DOC_FLOAT, 0.5, 0 },   { "1.0e-08", DOC_FLOAT, 1e-8, 0 }, { ".inf", DOC_FLOAT, INFINITY, 0 },
        { "true", DOC_BOOL, 1, 0 },    { "False", DOC_BOOL, 0, 0 },     { "yes", DOC_BOOL, 1, 1 },
        { "off", DOC_BOOL, 0, 1 },     { "y", DOC_TEXT, 0, 0 },         { "~", DOC_NULL, 0, 0 },
        { "2ep", DOC_TEXT, 0, 0 },     { "2022-08-26", DOC_TEXT, 0, 0 }, { "'1'", DOC_TEXT, 0, 0 },
        { "\"no\"", DOC_TEXT, 0, 0 },  { "1e", DOC_TEXT, 0, 0 },        { "e5", DOC_TEXT, 0, 0 },
        { "1.2.3", DOC_TEXT, 0, 0 },   { "99999999999999999999", DOC_FLOAT, 1e20, 0 }, { "!!str 5", DOC_TEXT, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "model: {mlp: {x: %s}}\n" DATA TIME BATCH SGD, cases[i].text);
        Bench bench = read_text(text, NULL);
        ck_assert_msg(bench.recipe != NULL, "%s: %s", cases[i].text, bench.said);
        const Doc *doc = parameter(&bench, "x");
        ck_assert_msg(doc->kind == cases[i].kind, "%s is %s", cases[i].text, doc_kind_name(doc));
        ck_assert_int_eq(bench.diag.warnings, cases[i].warns);
        double number = 0;
        if (doc_number(doc, &number) || doc->kind == DOC_BOOL)
            ck_assert_msg((doc->kind == DOC_BOOL ? doc->truth : number) == cases[i].value, "%s", cases[i].text);
        done(&bench);
    }
}
END_TEST

START_TEST(places)
{
    Bench bench = good("# first\n" MODEL "dataset:\n  cifar10:\n    path: p\n    shuffle: false\n" TIME BATCH SGD);
    Place place = recipe_place(bench.recipe, "dataset.shuffle");
    ck_assert_int_eq(place.line, 6);
    ck_assert_int_eq(place.column, 14);
    ck_assert_int_eq(recipe_place(bench.recipe, "dataset.samples").line, 4);        /* not given: the kind's */
    ck_assert_int_eq(bench.recipe->dataset.place.column, 3);
    ck_assert_int_eq(bench.recipe->batch_size_place.line, 8);
    ck_assert_int_eq(parameter(&bench, "num_classes")->key_place.column, 27);
    ck_assert_str_eq(bench.recipe->folder, "here");
    ck_assert_str_eq(bench.recipe->name, "test");
    done(&bench);
}
END_TEST

/* Columns are of bytes, whatever libyaml counts; a byte order mark is none. */
START_TEST(places_after_other_letters)
{
    Bench bench = read_text("\xef\xbb\xbf" MODEL "dataset: {mnist: {path: \"\xc3\xa9\xe2\x82\xac\", shuffle: 3}}\n" TIME BATCH SGD, NULL);
    ck_said(&bench, "here/test.yaml:2:43: error: dataset.mnist.shuffle: expected true or false, found the number 3");
    done(&bench);
}
END_TEST

/* ---- time ---- */

START_TEST(time_strings)
{
    static const struct { const char *text, *same; } cases[] = {
        { "2ep", "2ep" },         { "100ba", "100ba" },    { "10 ba", "10ba" },     { "100BA", "100ba" },
        { "1e3sp", "1000sp" },    { "0.5dur", "0.5dur" },  { "1dur", "1dur" },      { "1.0dur", "1dur" },
        { "-1ba", "-1ba" },       { "1e9tok", "1000000000tok" }, { "0ep", "0ep" },  { "1_000ba", "1000ba" },
        { "+3ep", "3ep" },        { "2.0ep", "2ep" },      { " 2ep", "2ep" },       { "2ep ", "2ep" },
        { "1e-3dur", "0.001dur" }, { "3Tok", "3tok" },     { "3iter", NULL },       { "90sec", NULL },
        { "1h", NULL },           { "1h30m", NULL },       { "1m", NULL },          { "90s", NULL },
        { "2d", NULL },           { "1.5ep", NULL },       { "0.5ba", NULL },       { "10", NULL },
        { "abc", NULL },          { "", NULL },            { " ", NULL },           { "ep", NULL },
        { "ep2", NULL },          { "2epp", NULL },        { "2 e p", NULL },       { "1e400ba", NULL },
        { "nandur", NULL },       { "infdur", NULL },      { "0x10ba", NULL },      { "1,000ba", NULL },
        { "2ep3ba", NULL },       { "1.2.3dur", NULL },    { "--1ba", NULL },       { "5%", NULL },
        { "1e3.5ba", NULL },      { "\xef\xbc\x91" "ep", NULL }, { "1__0ba", NULL }, { "_1ba", NULL },
        { "1_ba", NULL },
    };
    Arena *arena = arena_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Duration duration = { 0 };
        const char *wrong = doc_duration(arena, &(Doc){ .kind = DOC_TEXT, .text = cases[i].text }, &duration);
        ck_assert_msg(!wrong == (cases[i].same != NULL), "'%s': %s", cases[i].text, wrong ? wrong : "was read");
        if (!wrong)
            ck_assert_str_eq(duration_text(arena, duration), cases[i].same);
    }
    Duration epochs;
    ck_assert_ptr_null(doc_duration(arena, &(Doc){ .kind = DOC_INT, .integer = -3 }, &epochs));
    ck_assert(epochs.amount == -3 && epochs.unit == TIME_EPOCH);
    ck_assert_ptr_null(duration_parse(arena, "7", &epochs));
    ck_assert(epochs.amount == 7 && epochs.unit == TIME_EPOCH);
    arena_destroy(arena);
}
END_TEST

/* ---- references ---- */

START_TEST(references)
{
    Bench bench = good("variables: {n: 3, which: lr, lr: 1e-3, list: [{b: 7}, {b: 8}], map: {p: ep, q: [1, 2]}}\n"
                       "model:\n  mlp:\n    whole: ${variables.n}\n    text: a${variables.n}${variables.map.p}\n"
                       "    nested: ${variables.${variables.which}}\n    index: ${variables.list[1].b}\n"
                       "    near: ${.index}\n    up: ${..mlp.whole}\n    map: ${variables.map}\n    past: ${.map.q[1]}\n"
                       "    escaped: \\${variables.n}\n    half: \"\\\\\\\\${variables.n}\"\n"
                       DATA "max_duration: ${variables.n}ep\nbatch_size: ${variables.list[0].b}\n" SGD);
    ck_assert_int_eq(parameter(&bench, "whole")->integer, 3);
    ck_assert_str_eq(parameter(&bench, "text")->text, "a3ep");
    ck_assert(parameter(&bench, "nested")->number == 1e-3);
    ck_assert_int_eq(parameter(&bench, "near")->integer, 8);
    ck_assert_int_eq(parameter(&bench, "up")->integer, 3);
    ck_assert_int_eq(parameter(&bench, "map")->count, 2);
    ck_assert_int_eq(parameter(&bench, "past")->integer, 2);
    ck_assert_str_eq(parameter(&bench, "escaped")->text, "${variables.n}");
    ck_assert_str_eq(parameter(&bench, "half")->text, "\\3");
    ck_assert(bench.recipe->max_duration.amount == 3);
    ck_assert_int_eq(bench.recipe->batch_size, 7);
    ck_assert_int_eq(parameter(&bench, "whole")->origin.line, 1);
    done(&bench);
}
END_TEST

START_TEST(merged_maps)
{
    Bench bench = good("variables: {a: &a {x: 1, y: 2}, b: &b {y: 3, z: 4}}\n"
                       "model: {mlp: {<<: [*a, *b], x: 9}}\n" DATA TIME BATCH SGD);
    ck_assert_int_eq(parameter(&bench, "x")->integer, 9);
    ck_assert_int_eq(parameter(&bench, "y")->integer, 2);
    ck_assert_int_eq(parameter(&bench, "z")->integer, 4);
    done(&bench);
}
END_TEST

/* ---- overrides ---- */

START_TEST(overrides)
{
    Bench bench = overridden(BASE "methods: [blurpool, label_smoothing: {smoothing: 0.1}]\nschedule: [constant, cosine_decay]\n",
                             "model.mlp.hidden=1_2", "methods[1].label_smoothing.smoothing=0.25", "model.mlp.new={a: [1]}",
                             "optimizer={adamw: {lr: 1e-3}}", "model.mlp.a\\.b=yes", "schedule=");
    ck_assert_msg(bench.recipe != NULL, "%s", bench.said);
    ck_assert_int_eq(parameter(&bench, "hidden")->integer, 12);
    ck_assert_int_eq(parameter(&bench, "num_classes")->integer, 10);
    ck_assert(parameter(&bench, "a.b")->truth);
    const Doc *hidden = parameter(&bench, "hidden");
    ck_assert_str_eq(hidden->place.source->path, "command line");
    ck_assert_str_eq(hidden->place.source->bytes, "model.mlp.hidden=1_2");
    ck_assert_int_eq(hidden->place.column, 18);
    ck_assert(hidden->is_override);
    ck_assert_str_eq(bench.recipe->optimizer.name, "adamw");
    ck_assert_int_eq(bench.recipe->schedules.count, 1);
    ck_assert_str_eq(bench.recipe->schedules.items[0].name, "constant");
    ck_assert(doc_find(bench.recipe->methods.items[1].parameters, "smoothing")->number == 0.25);
    done(&bench);
}
END_TEST

START_TEST(overrides_give_what_must_be_given)
{
    Bench bench = overridden(MODEL DATA TIME "batch_size: ???\nseed: 5\n" SGD, "batch_size=16", "seed=???", "optimizer.sgd.momentum=0.9",
                             "dataset.mnist.path=other");
    ck_assert_msg(bench.recipe != NULL, "%s", bench.said);
    ck_assert_int_eq(bench.recipe->batch_size, 16);
    ck_assert_int_eq(bench.recipe->seed, 5);
    ck_assert_int_eq(bench.recipe->optimizer.parameters->count, 2);
    ck_assert_str_eq(bench.recipe->data.path, "other");
    done(&bench);
}
END_TEST

START_TEST(wrong_override_shows_its_word)
{
    Bench bench = overridden(BASE, "batch_size=many");
    ck_said(&bench, "command line:1:12: error: batch_size: expected a whole number >= 1, found the text 'many'\n"
                    "    batch_size=many\n               ^\n");
    done(&bench);
}
END_TEST

/* ---- fields ---- */

START_TEST(defaults)
{
    Bench bench = read_text(MODEL DATA TIME BATCH, NULL);
    const Recipe *recipe = bench.recipe;
    ck_assert_msg(recipe != NULL, "%s", bench.said);
    ck_said(&bench, "here/test.yaml:1:1: warning: no optimizer is given");
    ck_assert_str_eq(recipe->optimizer.name, "decoupled_sgdw");
    ck_assert(doc_find(recipe->optimizer.parameters, "lr")->number == 0.1);
    ck_assert_str_eq(recipe->loss.name, "cross_entropy");
    ck_assert_str_eq(recipe->schedules.items[0].name, "constant");
    ck_assert_int_eq(recipe->eval_batch_size, 32);
    ck_assert_int_eq(recipe->grad_accum, 1);
    ck_assert(recipe->scale_schedule_ratio == 1 && recipe->eval_interval.amount == 1);
    ck_assert(recipe->data.shuffle && recipe->data.drop_last && !recipe->data.flip && !recipe->data.pad_crop);
    ck_assert(recipe->data.mean[0] == 0 && recipe->data.std[0] == 1);
    ck_assert(!recipe->winograd && !recipe->compat_epoch && !recipe->sample_prompt && !recipe->weights);
    ck_assert_int_eq(recipe->precision, PRECISION_FP32);
    done(&bench);
}
END_TEST

START_TEST(everything_given)
{
    Bench bench = good("model: {file: nets/net.c, parameters: {a: 1}}\n"
                       "dataset: {cifar10: {path: p, augment: [pad_crop: 4, flip], normalize: {mean: [0, 1, 2]}, drop_last: false, samples: 5}}\n"
                       "max_duration: 3\nbatch_size: 8\neval_batch_size: 9\ngrad_accum: 2\nscale_schedule_ratio: 0.5\n"
                       "optimizer: sgd\nschedule: {constant: {}, cosine_decay: }\nmethods: {blurpool: , ema: {half_life: 4ba}}\n"
                       "loss: other\ninitializers: [kaiming_normal, bn_ones]\nprecision: amp_fp16\nseed: 0\neval_interval: 0\n"
                       "log_interval: 7\nweights: w\ndraws: d\nmemory: 4 GiB\ncompat: epoch\nconvolution: {winograd: true}\n"
                       "sample: {prompt: \"The \", length: 9}\n");
    const Recipe *recipe = bench.recipe;
    ck_assert_str_eq(recipe->model.name, "net");
    ck_assert_str_eq(recipe->model_file, "nets/net.c");
    ck_assert(recipe->data.pad_crop == 4 && recipe->data.flip && !recipe->data.drop_last && recipe->data.samples == 5);
    ck_assert(recipe->data.mean[2] == 2 && recipe->data.std[2] == 0.261);
    ck_assert(recipe->max_duration.amount == 3 && recipe->max_duration.unit == TIME_EPOCH);
    ck_assert(recipe->batch_size == 8 && recipe->eval_batch_size == 9 && recipe->grad_accum == 2);
    ck_assert_ptr_null(recipe->optimizer.parameters);
    ck_assert_int_eq(recipe->schedules.count, 2);
    ck_assert_int_eq(recipe->methods.count, 2);
    ck_assert_int_eq(recipe->initializers.count, 2);
    ck_assert_int_eq(recipe->precision, PRECISION_AMP_FP16);
    ck_assert(recipe->seed == 0 && recipe->eval_interval.amount == 0 && recipe->log_interval == 7);
    ck_assert_str_eq(recipe->memory, "4 GiB");
    ck_assert(recipe->compat_epoch && recipe->winograd && recipe->sample_length == 9);
    ck_assert_str_eq(recipe->sample_prompt, "The ");
    done(&bench);
}
END_TEST

/* ---- printing ---- */

static void check_reads_back(Bench *bench, const char *what)
{
    Buffer first = { .arena = bench->arena }, second = { .arena = bench->arena };
    recipe_print(&first, bench->recipe);
    Bench again = read_text(buffer_text(&first), NULL);
    ck_assert_msg(again.recipe && !again.diag.warnings, "%s: %s\n%s", what, again.said, buffer_text(&first));
    recipe_print(&second, again.recipe);
    ck_assert_str_eq(buffer_text(&first), buffer_text(&second));
    done(&again);
}

START_TEST(print_reads_back)
{
    Bench bench = read_text("model:\n  mlp: {a: \"yes\", b: '\\${x}', c: \"\\x01\\u2028\\\"\\\\\", d: [1.0, 1e30, -.inf, ~, '', '1'],"
                            " \"e: f\": {}, g: 010}\n"
                      DATA TIME BATCH SGD "sample: {prompt: \"a\\n\\\\${b}\"}\nmethods: [blurpool]\n"
                      "schedule: [constant, constant: {alpha: 0.5}]\n", NULL);
    ck_assert_msg(bench.recipe != NULL, "%s", bench.said);
    ck_assert_str_eq(bench.recipe->sample_prompt, "a\n${b}");
    check_reads_back(&bench, "the text above");
    done(&bench);
}
END_TEST

static void read_folder(const char *folder, const char *inside, int *count)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s%s", folder, entry->d_name, inside);
        if (entry->d_name[0] == '.' || !text_ends(path, ".yaml") || access(path, R_OK) != 0)
            continue;
        Bench bench = { .arena = arena_create() };
        bench.diag.arena = bench.arena;
        bench.recipe = recipe_read(bench.arena, &bench.diag, path, NULL, 0);
        ck_assert_msg(bench.recipe && !bench.diag.list.count, "%s: %s", path,
                      bench.diag.list.count ? bench.diag.list.items[0].message : "");
        check_reads_back(&bench, path);
        done(&bench);
        ++*count;
    }
    if (directory)
        closedir(directory);
}

START_TEST(shipped_recipes)
{
    int count = 0;
    read_folder("recipes", "", &count);
    ck_assert_int_gt(count, 0);
}
END_TEST

START_TEST(reference_recipes)
{
    int count = 0;
    read_folder("../shared/reference/train", "/recipe.yaml", &count);
    if (!count)
        fprintf(stderr, "test_recipe: no reference recipes beside the project; skipped\n");
}
END_TEST

START_TEST(keys_are_listed)
{
    Arena *arena = arena_create();
    Buffer keys = { .arena = arena }, schema = { .arena = arena };
    recipe_list_keys(&keys);
    recipe_schema(&schema);
    static const char *const some[] = { "batch_size", "winograd", "sequence_length", "pad_crop", "std", "prompt", "draws" };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        ck_assert_msg(strstr(buffer_text(&keys), some[i]) != NULL, "%s", some[i]);
        ck_assert_msg(strstr(buffer_text(&schema), text_format(arena, "\"%s\": {", some[i])) != NULL, "%s", some[i]);
    }
    int depth = 0;
    for (const char *c = buffer_text(&schema); *c; c++)
        depth += (*c == '[') - (*c == ']');
    ck_assert_int_eq(depth, 0);
    arena_destroy(arena);
}
END_TEST

/* ---- files ---- */

START_TEST(no_file)
{
    static const struct { const char *path, *expected; } cases[] = {
        { "tests/bad/there_is_none.yaml", "tests/bad/there_is_none.yaml: error: can't be read: No such file or directory" },
        { "tests/bad", "tests/bad: error: is a folder; a recipe is a file" },
        { "tests/bad/empty.yaml/x.yaml", "tests/bad/empty.yaml/x.yaml: error: can't be read: Not a directory" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_create();
        Diagnostics diag = { .arena = arena };
        Buffer said = { .arena = arena };
        ck_assert_ptr_null(recipe_read(arena, &diag, cases[i].path, NULL, 0));
        diagnostics_print(&diag, &said);
        ck_assert_msg(strstr(buffer_text(&said), cases[i].expected) != NULL, "%s", buffer_text(&said));
        arena_destroy(arena);
    }
}
END_TEST

START_TEST(too_long_a_file)
{
    enum { LENGTH = 2000000 };
    char *text = malloc(LENGTH + 1);
    memset(text, 'a', LENGTH);
    text[LENGTH] = 0;
    Bench bench = read_text(text, NULL);
    ck_said(&bench, "has 2000000 bytes; a recipe has at most 1048576");
    done(&bench);
    free(text);
}
END_TEST

/* ---- tests/bad: what each file of the recipe's own mistakes must say ---- */

/* Values of the comment lines `# <word>: value` at the head of a file. */
static int head_lines(Arena *arena, const char *text, const char *word, const char **values)
{
    int count = 0;
    for (const char *line = text; line && *line == '#'; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (text_starts(line + 1, word) && count < MOST_WORDS)
            values[count++] = text_slice(arena, line + 1 + strlen(word), strcspn(line + 1 + strlen(word), "\n"));
    return count;
}

/* False: the recipe itself reads; its mistake is for others to find. */
static bool check_bad(const char *path)
{
    Arena *arena = arena_create();
    Diagnostics diag = { .arena = arena };
    size_t length;
    const char *text = text_read_file(arena, path, &length), *words[MOST_WORDS], *expected[MOST_WORDS];
    ck_assert_ptr_nonnull(text);
    int word_count = head_lines(arena, text, " overrides: ", words), count = head_lines(arena, text, " expect: ", expected);
    ck_assert_msg(count > 0, "%s has no `# expect:`", path);
    Buffer said = { .arena = arena };
    bool reads = recipe_read(arena, &diag, path, words, word_count) != NULL;
    diagnostics_print(&diag, &said);
    for (int i = 0; !reads && i < count; i++)
        ck_assert_msg(strstr(buffer_text(&said), expected[i]) != NULL, "%s: expected: %s\nsaid: %s", path, expected[i],
                      buffer_text(&said));
    arena_destroy(arena);
    return !reads;
}

START_TEST(bad_recipes)
{
    char *before = getcwd(NULL, 0);
    ck_assert_int_eq(chdir("tests/bad"), 0);
    DIR *directory = opendir(".");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (text_ends(entry->d_name, ".yaml"))
            count += check_bad(entry->d_name);
    closedir(directory);
    ck_assert_int_eq(chdir(before), 0);
    free(before);
    ck_assert_int_gt(count, 80);
}
END_TEST

static void add_tests(TCase *tests)
{
    tcase_add_test(tests, scalars);
    tcase_add_test(tests, places);
    tcase_add_test(tests, places_after_other_letters);
    tcase_add_test(tests, time_strings);
    tcase_add_test(tests, references);
    tcase_add_test(tests, merged_maps);
    tcase_add_test(tests, overrides);
    tcase_add_test(tests, overrides_give_what_must_be_given);
    tcase_add_test(tests, wrong_override_shows_its_word);
    tcase_add_test(tests, defaults);
    tcase_add_test(tests, everything_given);
    tcase_add_test(tests, print_reads_back);
    tcase_add_test(tests, shipped_recipes);
    tcase_add_test(tests, reference_recipes);
    tcase_add_test(tests, keys_are_listed);
    tcase_add_test(tests, no_file);
    tcase_add_test(tests, too_long_a_file);
    tcase_add_test(tests, bad_recipes);
}

Suite *recipe_suite(void)
{
    Suite *suite = suite_create("recipe");
    TCase *tests = tcase_create("recipe");
    tcase_set_timeout(tests, 60);
    add_tests(tests);
    suite_add_tcase(suite, tests);
    return suite;
}
