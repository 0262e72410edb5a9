/* test_front.c -- parsing of model and method files. Run from the project's folder. */
#include "front_bench.h"

static const char method_text[] =
    "/** sam -- a test. */\n"
    "#include \"method.h\"\n"
    "PARAM(float, smoothing, 0.1f, 0 <= smoothing && smoothing <= 1, \"weight \" \"moved\\n\")\n"
    "PARAM(bool, flag, true, true, \"flag\")\n"
    "PARAM(timespan, span, \"4ba\", true, \"time\")\n"
    "CHOICE(mode, CROP, \"how\", RESIZE, CROP)\n"
    "LIST(float, gammas, 8, \"list\", 0.5f, .25f)\n"
    "NEUTRAL(smoothing == 0)\n"
    "REQUIRE(class_count > 1, \"needs classes\")\n"
    "STATE(element, float, saved, at->parameter, \"weights before\")\n"
    "/** soften\n"
    " *  targets */\n"
    "float HOOK(loss_target)(float target, int class_count)\n"
    "{\n"
    "    return (1 - smoothing) * target + smoothing / class_count;\n"
    "}\n";

START_TEST(declarations)
{
    Bench *bench = bench_good(method_text);
    const CVariable *mode = cfile_find_variable(bench->file, "mode");
    ck_assert_str_eq(cvariable_type(mode), "enum mode_choice");
    ck_assert_int_eq(cvariable_choice_count(mode), 2);
    ck_assert_str_eq(cvariable_choice(mode, 1), "CROP");
    ck_assert_int_eq(cvariable_place(mode).line, 6);
    ck_assert_str_eq(cvariable_type(cfile_find_variable(bench->file, "flag")), "_Bool");
    ck_assert_str_eq(cvariable_type(cfile_find_variable(bench->file, "span")), "timespan");
    ck_assert_str_eq(cvariable_name(cfile_variable(bench->file, 0)), "smoothing");
    ck_assert(cvariable_is_const(cfile_variable(bench->file, 0)));
    ck_assert(!cvariable_is_const(cfile_find_variable(bench->file, "saved")));
    ck_assert_ptr_null(cfile_find_variable(bench->file, "rate"));
    const CFunction *hook = cfile_find_function(bench->file, "hook_loss_target");
    ck_assert_str_eq(cfunction_comment(hook), "soften\ntargets");
    ck_assert_int_eq(cfunction_place(hook).line, 13);
    ck_assert_str_eq(cfunction_parameter_name(hook, 1), "class_count");
    ck_assert_str_eq(cfunction_parameter_type(hook, 1), "int");
    ck_assert_ptr_nonnull(cfile_find_function(bench->file, "valid_smoothing"));
    ck_assert_ptr_nonnull(cfile_find_function(bench->file, "require_9"));
    ck_assert_ptr_null(cfile_find_function(bench->file, "sqrt"));
}
END_TEST

START_TEST(variables_have_values)
{
    Bench *bench = bench_good(text_format(bench_new("")->arena, "%s%s", method_text,
        "const char *help(void) { return help_smoothing; }\n"
        "float list(void) { return gammas[1] + gammas_count + mode + gammas[7]; }\n"
        "float saves(void) { saved = 3; saved += 1; return saved; }\n"));
    ck_assert_double_eq(number(bench, "valid_smoothing"), 1);
    ck_assert_double_eq(number(bench, "neutral"), 0);
    ck_assert_double_eq(number(bench, "list"), 3.25);
    Value value;
    ck_assert(!evaluator_variable(bench->evaluator, "saved", &value));
    ck_assert_double_eq(number(bench, "saves"), 4);
    ck_assert(evaluator_variable(bench->evaluator, "saved", &value));
    ck_assert_double_eq(expr_value(value.scalar), 4);
    evaluator_set_variable(bench->evaluator, "smoothing", value_scalar(expr_number(bench->exprs, 0)));
    ck_assert_double_eq(number(bench, "neutral"), 1);
    ck_assert(call(bench, "help", &value));
    ck_assert_str_eq(value.text, "weight moved\n");
    bench->input[0] = 0.5;
    bench->index[0] = 10;
    ck_assert_double_eq(number(bench, "hook_loss_target"), 0.5);
}
END_TEST

START_TEST(decimals_are_exact)
{
    ck_float("return 0.1f;", 0.1);
    ck_float("return 1e-5f;", 1e-5);
    ck_float("return .25F + 1.f;", 1.25);
    ck_float("return (batch_norm_options){ .epsilon = 0.3f }.epsilon;", 0.3);
    ck_assert_double_eq(number(bench_good("#define TENTH 0.1f\n#define TWICE(x) ((x) * 2)\n"
                                          "float f(void) { return TWICE(TENTH); }\n"), "f"), 0.2);
}
END_TEST

START_TEST(errors_of_clang_have_places)
{
    const char *text = "#include \"model.h\"\n"
                       "tensor f(tensor x)\n"
                       "{\n"
                       "    return conv2d(x, 3, .kernl = 3);\n"
                       "}\n";
    ck_fails(text, false, ".c:4:26: error: field designator 'kernl' does not refer to any field");
    ck_fails(text, false, "did you mean 'kernel'?\n        return conv2d(x, 3, .kernl = 3);\n                             ^\n");
    ck_fails("int f(void) { return x; }", false, ":1:22: error: use of undeclared identifier 'x'");
    Bench *bench = bench_new("int f(void) { int x; return x; }");
    ck_assert_ptr_nonnull(strstr(messages(bench), "warning: variable 'x' is uninitialized when used here [-Wclang]"));
    ck_assert_ptr_nonnull(bench->file);
    ck_assert_ptr_null(front_parse(bench->arena, &bench->diag, "no/such/file.c", NULL, 0));
    ck_assert_ptr_nonnull(strstr(messages(bench), "no/such/file.c: error: can't read this file: No such file"));
}
END_TEST

START_TEST(what_is_not_supported)
{
    ck_fails("int f(void) { goto end; end: return 1; }", false, "1:15: error: goto is not part of");
    ck_fails("int f(void) { __asm__(\"nop\"); return 1; }", false, "assembler is not part of");
    ck_fails("int f(int n) { int a[n]; a[0] = 1; return a[0]; }", false, "an array whose size is not a constant");
    ck_fails("int f(void) { int a[2] = { 1, 2 }; const int *p = a; return *(p + 1); }", false, "arithmetic on pointers");
    ck_fails("int f(void) { int a[2] = { 1, 2 }; const int *p = a; p++; return *p; }", false, "arithmetic on pointers");
    ck_fails("int f(void) { static int n; return n++; }", false, "a static variable inside a function");
    ck_fails("int f(void) { return ({ 1; }); }", false, "is not part of");
    ck_fails("int f(void) { return 2 ?: 1; }", false, "is not part of");
    ck_fails("union u { int a; float b; };\nint f(void) { union u x = { .a = 1 }; return x.a; }", false, "error");
    ck_fails("int f(int n) { switch (1) { case 0: if (n) { case 1: return 1; } } return 0; }", false, "a case deeper");
}
END_TEST

Suite *front_suite(void)
{
    Suite *suite = suite_create("front");
    TCase *tests = tcase_create("front");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, declarations);
    tcase_add_test(tests, variables_have_values);
    tcase_add_test(tests, decimals_are_exact);
    tcase_add_test(tests, errors_of_clang_have_places);
    tcase_add_test(tests, what_is_not_supported);
    suite_add_tcase(suite, tests);
    return suite;
}
