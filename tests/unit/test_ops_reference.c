/* test_ops_reference.c -- every reference case of an operation: outputs and gradients as PyTorch's. */
#include <check.h>

#include "skip.h"
#include "tests/ops/compare.h"

static void run_case(Report *report, const char *folder, const Json *entry)
{
    Trial *trial = trial_create(1);
    OpCase c = { .trial = trial, .graph = trial->graph, .attributes = json_get(entry, "attributes") };
    const OpRow *row = op_row(json_text(entry, "op", NULL));
    const char *path = text_format(report->arena, "%s/%s", folder, report->file);
    if (row && reference_tensors(trial->arena, path, &c.tensors)) {
        Node *output = row->build(&c);
        compare_case(report, &c, output, row->tolerance != 0 ? row->tolerance : usual_tolerance);
        compare_counts(report, &c, entry);
    } else {
        buffer_add(&report->wrong, "%s: %s\n", report->file, row ? "can't be read" : "an unknown operation");
    }
    trial_destroy(trial);
}

/* All cases of one operation, so that a broken one does not take the others with it. */
static void run_cases(const char *op)
{
    Arena *arena = arena_create();
    const char *folder = reference_folder(arena, "ops");
    if (!folder) {
        arena_destroy(arena);
        SKIP("the reference values of operations are not here (COMPOSER_GEN_SHARED)");
    }
    const Json *index = reference_json(arena, text_format(arena, "%s/index.json", folder));
    ck_assert_msg(index && index->kind == JSON_LIST, "%s/index.json can't be read", folder);
    Report report = { .arena = arena, .wrong = { .arena = arena } };
    int count = 0;
    for (int i = 0; i < index->count; i++)
        if (text_equal(json_text(&index->items[i], "op", NULL), op)) {
            report.file = json_text(&index->items[i], "file", "?");
            run_case(&report, folder, &index->items[i]);
            count++;
        }
    ck_assert_msg(count > 0, "the reference has no case of %s", op);
    ck_assert_msg(!report.wrong.count, "\n%s", buffer_text(&report.wrong));
    arena_destroy(arena);
}

#define ROW(op, ...)                                                                              \
    START_TEST(op##_agrees)                                                                       \
    {                                                                                             \
        run_cases(#op);                                                                           \
    }                                                                                             \
    END_TEST
#include "tests/ops/ops_table.def"

/* A case whose operation the table lacks would otherwise pass unseen. */
START_TEST(every_case_has_a_row)
{
    Arena *arena = arena_create();
    const char *folder = reference_folder(arena, "ops");
    if (!folder) {
        arena_destroy(arena);
        SKIP("the reference values of operations are not here (COMPOSER_GEN_SHARED)");
    }
    const Json *index = reference_json(arena, text_format(arena, "%s/index.json", folder));
    ck_assert_ptr_nonnull(index);
    for (int i = 0; i < index->count; i++)
        ck_assert_msg(op_row(json_text(&index->items[i], "op", NULL)), "no row for %s",
                      json_text(&index->items[i], "op", "?"));
    arena_destroy(arena);
}
END_TEST

Suite *ops_reference_suite(void)
{
    Suite *suite = suite_create("ops_reference");
    TCase *tcase;
#define ROW(op, ...)                                                                              \
    tcase = tcase_create(#op);                                                                    \
    tcase_add_test(tcase, op##_agrees);                                                           \
    suite_add_tcase(suite, tcase);
#include "tests/ops/ops_table.def"
    tcase = tcase_create("index");
    tcase_add_test(tcase, every_case_has_a_row);
    suite_add_tcase(suite, tcase);
    return suite;
}
