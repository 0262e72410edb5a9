/* test_runtime_log.c -- what a run says, and its command line. */
#include "test_runtime.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/log.c"
#include "runtime/settings.c"

/* ---- capturing what is printed ---- */

static char printed[4096];
static char capture_path[64];

static void capture(FILE *stream)
{
    strcpy(capture_path, P_tmpdir "/said_XXXXXX");
    const int handle = mkstemp(capture_path);
    fflush(stream);
    ck_assert(handle >= 0 && dup2(handle, fileno(stream)) >= 0 && close(handle) == 0);
}

static const char *captured(FILE *stream)
{
    fflush(stream);
    FILE *file = fopen(capture_path, "r");
    printed[fread(printed, 1, sizeof printed - 1, file)] = 0;
    fclose(file);
    unlink(capture_path);
    return printed;
}

/* ---- the log ---- */

START_TEST(numbers_are_short_and_exact)
{
    static const double values[] = { 0.1, 1.0 / 3, 1e300, -5, 2.302585092994046, 5e-324, 123456789012.0 };
    char text[32];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        ck_assert(strtod(number_text(text, values[i]), NULL) == values[i]);
    ck_assert_str_eq(number_text(text, 0.1), "0.1");
    ck_assert_str_eq(number_text(text, 128), "128");
}
END_TEST

START_TEST(durations)
{
    char text[32];
    ck_assert_str_eq(duration_text(text, 0.31), "0.3 s");
    ck_assert_str_eq(duration_text(text, 245.9), "4:05");
    ck_assert_str_eq(duration_text(text, 3723), "1:02:03");
    ck_assert(seconds_now() > 0 && seconds_now() <= seconds_now());
}
END_TEST

START_TEST(folders_are_made_on_the_way)
{
    char root[] = P_tmpdir "/folders_XXXXXX", path[128], command[128];
    ck_assert(mkdtemp(root) != NULL);
    snprintf(path, sizeof path, "%s/a/b//c/", root);
    ck_assert(folder_make(path) && access(path, W_OK) == 0 && folder_make(path));
    snprintf(path, sizeof path, "%s/file", root);
    ck_assert(fclose(fopen(path, "w")) == 0);
    ck_assert(!folder_make(path));
    strcat(path, "/below");
    ck_assert(!folder_make(path));
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(metrics_are_lines_of_json)
{
    char path[] = P_tmpdir "/metrics_XXXXXX", line[256];
    ck_assert(close(mkstemp(path)) == 0);
    struct metrics metrics;
    for (int i = 0; i < 2; i++) {
        metrics_open(&metrics, path, i == 1);
        metrics_begin(&metrics);
        metrics_add(&metrics, "batch", i);
        metrics_add(&metrics, "loss/train/total", i ? NAN : 2.25);
        metrics_add_text(&metrics, "note", "a \"b\"\\\n\xc3\xa9");
        metrics_end(&metrics);
        fclose(metrics.file);
    }
    FILE *file = fopen(path, "r");
    ck_assert(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "{\"batch\": 0, \"loss/train/total\": 2.25, \"note\": \"a \\\"b\\\"\\\\\\u000a\xc3\xa9\"}\n");
    ck_assert(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "{\"batch\": 1, \"loss/train/total\": null, \"note\": \"a \\\"b\\\"\\\\\\u000a\xc3\xa9\"}\n");
    ck_assert(!fgets(line, sizeof line, file));
    fclose(file);
    unlink(path);
}
END_TEST

START_TEST(metrics_that_cannot_be_written)
{
    struct metrics metrics;
    capture(stderr);
    metrics_open(&metrics, "/dev/full", true);
    for (int i = 0; i < 2; i++) {
        metrics_begin(&metrics);
        metrics_add(&metrics, "batch", i);
        metrics_end(&metrics);
    }
    metrics_open(&metrics, "/nowhere/metrics", false);
    metrics_begin(&metrics);
    metrics_end(&metrics);
    captured(stderr);
    const char *once = strstr(printed, "can't write /dev/full");
    ck_assert(once && !strstr(once + 20, "/dev/full") && strstr(printed, "can't write /nowhere/metrics"));
}
END_TEST

START_TEST(progress_in_plain_lines)
{
    struct progress progress;
    capture(stdout);
    progress_start(&progress, 0, 10, 1000);
    ck_assert(!progress.bar && progress_due(&progress, 0));
    progress_show(&progress, 5, "loss 2");
    ck_assert(!progress_due(&progress, 6) && progress_due(&progress, 10));
    progress_line(&progress, "accuracy %d %%", 91);
    table_row("batch size", "%d", 128);
    captured(stdout);
    ck_assert(strncmp(printed, "5/10  ", 6) == 0 && strstr(printed, "left  loss 2\naccuracy 91 %\n  batch size              128\n"));
}
END_TEST

START_TEST(progress_in_a_bar)
{
    struct progress progress;
    capture(stdout);
    progress_start(&progress, 0, 4, 1000);
    progress.bar = true;
    progress_show(&progress, 1, "loss 2");
    progress_show(&progress, 4, "loss 1");
    captured(stdout);
    ck_assert(strstr(printed, "\r\033[K[######------------------] 1/4  "));
    ck_assert(strstr(printed, "[########################] 4/4  0.0 s left  loss 1\n"));
}
END_TEST

/* ---- the command line ---- */

static struct {
    const char *folder;
    int64_t seed, stop_after;
    double interval;
    bool shuffle, describe;
} settings;

static const struct setting rows[] = {
    { "save_folder", SETTING_TEXT, &settings.folder, "where results go" },
    { "seed", SETTING_WHOLE, &settings.seed, "of random numbers" },
    { "log_seconds", SETTING_NUMBER, &settings.interval, "seconds between lines" },
    { "shuffle", SETTING_TRUTH, &settings.shuffle, "another order every epoch" },
    { "stop_after", SETTING_BATCHES, &settings.stop_after, "stop early" },
    { "--describe", SETTING_FLAG, &settings.describe, "print this program's data as JSON" },
};
static const char *const fixed[] = { "batch_size", "optimizer" };
static const struct settings_table table = {
    "mlp on digits", rows, 6, fixed, 2, "composer-gen mlp.yaml -o train.c", 1000, 64,
};

/* Words separated by single blanks. */
static void give(const char *line)
{
    static char copy[256];
    char *words[16] = { "train" };
    int count = 1;
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    settings.folder = "out";
    settings.seed = 17;
    settings_read(&table, count, words);
}

START_TEST(settings_are_taken)
{
    give("save_folder=a=b seed=0 --log_seconds=2.5e-1 shuffle=yes stop_after=100ba --describe");
    ck_assert_str_eq(settings.folder, "a=b");
    ck_assert(settings.seed == 0 && settings.interval == 0.25 && settings.shuffle && settings.stop_after == 100 && settings.describe);
    give("stop_after=1.5ep");
    ck_assert(settings.stop_after == 96 && settings.seed == 17);
    give("stop_after=0.25dur shuffle=0");
    ck_assert(settings.stop_after == 250 && !settings.shuffle);
}
END_TEST

static const char *const refused[] = {
    "sead=1", "seed", "seed=", "seed=-1", "seed=1x", "seed=99999999999999999999", "log_seconds=nan", "log_seconds=1 x=2", "shuffle=maybe",
    "stop_after=3", "stop_after=1.5ba", "stop_after=2dur", "stop_after=-1ep", "--descibe", "batch_size=3", "optimizer.adamw.lr=1",
};

START_TEST(settings_are_refused)
{
    give(refused[_i]);
}
END_TEST

/* All that is wrong is said, each with its reason. */
START_TEST(settings_say_what_is_wrong)
{
    int status;
    capture(stderr);
    const int child = fork();
    if (child == 0)
        give("sead=1 seed=x optimizer.adamw.lr=1 zzzzzzzz=1 stop_after=3");
    ck_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 2);
    captured(stderr);
    ck_assert_str_eq(printed,
        "train: there is no setting 'sead'; did you mean 'seed'?\n"
        "train: seed needs a whole number from 0, not 'x'\n"
        "train: optimizer.adamw.lr is fixed at generation time; regenerate with: composer-gen mlp.yaml -o train.c optimizer.adamw.lr=1\n"
        "train: there is no setting 'zzzzzzzz'; --help lists them\n"
        "train: stop_after needs a time like 100ba, 2ep or 0.5dur, not '3'\n");
}
END_TEST

START_TEST(help_ends_well)
{
    capture(stdout);
    unlink(capture_path);
    give("seed=x --help");
}
END_TEST

TCase *runtime_log_tests(void)
{
    TCase *tests = tcase_create("log");
    tcase_add_test(tests, numbers_are_short_and_exact);
    tcase_add_test(tests, durations);
    tcase_add_test(tests, folders_are_made_on_the_way);
    tcase_add_test(tests, metrics_are_lines_of_json);
    tcase_add_test(tests, metrics_that_cannot_be_written);
    tcase_add_test(tests, progress_in_plain_lines);
    tcase_add_test(tests, progress_in_a_bar);
    tcase_add_test(tests, settings_are_taken);
    tcase_add_loop_exit_test(tests, settings_are_refused, 2, 0, sizeof refused / sizeof *refused);
    tcase_add_test(tests, settings_say_what_is_wrong);
    tcase_add_exit_test(tests, help_ends_well, 0);
    return tests;
}
