/* main.c -- runs the suites of unit tests: all of them, or those named on the command line.
 *
 * Each test runs in a process of its own with a time limit. The last line is "N passed, N failed", and
 * ", N skipped" when tests said that they could not run here. A suite that is not linked in is passed over. */
#include <check.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "skip.h"

#define SUITES(SUITE)                                                                             \
    SUITE(base) SUITE(recipe) SUITE(expr) SUITE(ir) SUITE(interp) SUITE(gradients)                \
    SUITE(random_graphs) SUITE(ops_reference) SUITE(front) SUITE(evaluator) SUITE(layers)         \
    SUITE(layers_methods) SUITE(recorded_models) SUITE(layers_reference) SUITE(methods) SUITE(method_files)           \
    SUITE(opt) SUITE(plan) SUITE(place) SUITE(parts) SUITE(emit) SUITE(kernels) SUITE(pipeline)   \
    SUITE(runtime) SUITE(programs) SUITE(pairs)

#define DECLARE(name) Suite *name##_suite(void) __attribute__((weak));
SUITES(DECLARE)

static const struct { const char *name; Suite *(*make)(void); } suites[] = {
#define ROW(name) { #name, name##_suite },
    SUITES(ROW)
};

enum { SUITE_COUNT = sizeof suites / sizeof *suites };

typedef struct Tally { int passed, failed, skipped; } Tally;

/* ---- skipped tests ---- */

static bool open_skips(char *path)
{
    int handle = mkstemp(path);
    return handle >= 0 && close(handle) == 0 && setenv(SKIPS_VARIABLE, path, 1) == 0;
}

/* Prints the reasons that were written since `from`, each once if it repeats. */
static int count_skips(const char *path, long *from)
{
    char line[512], last[512] = "";
    int count = 0;
    FILE *file = fopen(path, "r");
    if (!file || fseek(file, *from, SEEK_SET) != 0)
        return 0;
    for (; fgets(line, sizeof line, file); count++) {
        if (strcmp(line, last) != 0)
            printf("  skipped: %s", line);
        strcpy(last, line);
    }
    *from = ftell(file);
    fclose(file);
    return count;
}

/* ---- running ---- */

static void print_failures(SRunner *runner)
{
    TestResult **failures = srunner_failures(runner);
    for (int i = 0; i < srunner_ntests_failed(runner); i++)
        printf("  %s: %s:%d: %s\n", tr_tcname(failures[i]), tr_lfile(failures[i]) ? tr_lfile(failures[i]) : "?",
               tr_lno(failures[i]), tr_msg(failures[i]));
    free(failures);
}

static void run_suite(const char *name, Suite *suite, const char *skips, long *read_to, Tally *tally)
{
    SRunner *runner = srunner_create(suite);
    printf("%s\n", name);
    fflush(stdout);
    if (!getenv("CK_FORK"))
        srunner_set_fork_status(runner, CK_FORK);
    srunner_run_all(runner, CK_SILENT);
    int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    print_failures(runner);
    int skipped = count_skips(skips, read_to);
    tally->failed += failed;
    tally->skipped += skipped;
    tally->passed += run - failed - skipped;
    srunner_free(runner);
}

static bool is_chosen(const char *name, int count, char **names)
{
    for (int i = 1; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return count == 1;
}

/* Names that no linked suite has are failures: a run that tests nothing must not look like success. */
static int count_unknown(int count, char **names)
{
    int unknown = 0;
    for (int i = 1; i < count; i++) {
        bool known = false;
        for (int s = 0; s < SUITE_COUNT; s++)
            known = known || (suites[s].make && strcmp(names[i], suites[s].name) == 0);
        if (!known)
            printf("there is no suite '%s'\n", names[i]);
        unknown += !known;
    }
    return unknown;
}

int main(int count, char **names)
{
    char skips[] = P_tmpdir "/skips_XXXXXX";
    long read_to = 0;
    Tally tally = { .failed = count_unknown(count, names) };
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    if (!open_skips(skips)) {
        perror(skips);
        return 1;
    }
    for (int i = 0; i < SUITE_COUNT; i++)
        if (suites[i].make && is_chosen(suites[i].name, count, names))
            run_suite(suites[i].name, suites[i].make(), skips, &read_to, &tally);
    unlink(skips);
    printf("%d passed, %d failed", tally.passed, tally.failed);
    if (tally.skipped)
        printf(", %d skipped", tally.skipped);
    printf("\n");
    return tally.failed != 0;
}
