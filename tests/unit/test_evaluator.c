/* test_evaluator.c -- the evaluator: C as it is, and conditions known at run time. Run from the project's folder. */
#include "front_bench.h"

static Bench *symbolic(const char *text)
{
    Bench *bench = bench_good(text);
    bench->host.symbolic = true;
    return bench;
}

/* ---- C ---- */
START_TEST(integers_and_conversions)
{
    ck_int("return -7 / 2;", -3);
    ck_int("return -7 % 2;", -1);
    ck_int("return 16 << 2 | 1;", 65);
    ck_int("return ~5 & 0xff;", 250);
    ck_int("float y = 2.9f; int x = y; return x;", 2);
    ck_int("float x = 7; return x / 2 == 3.5f;", 1);
    ck_int("bool b = 3; return b + b;", 2);
    ck_int("return (int)3.7f + (bool)2;", 4);
    ck_int("return 'a';", 97);
    ck_int("return !0 + !3;", 1);
    ck_int("return 1 > 0 && 2 >= 2 && !(1 < 0) && 3 != 4;", 1);
    ck_int("int x = 5; x += 2; x *= 3; x -= 1; x /= 4; x %= 3; x <<= 3; return x;", 16);
    ck_int("int i = 3; int j = i++; j += ++i; j -= i--; return 10 * j + i;", 34);
    ck_int("return sizeof(int) + sizeof((const int[]){ 1, 2, 3 }) / sizeof(int);", 7);
    ck_int("enum { A = 3, B }; return A * B;", 12);
    ck_float("return 7 / 2;", 3);
    ck_float("return 7 / 2.0f;", 3.5);
    ck_float("return true ? 1 : 0.5f;", 1);
    ck_float("return sqrt(16) + fmax(1, 2) + imin(3, 4) + floor(-0.5f) + rint(2.5f) + fabs(-1);", 11);
    ck_float("return pow(2, 10) + exp(0) + log(1);", 1025);
    ck_int("int x = 0; (x = 3, x++), x; return x;", 4);
    ck_int("int x = 0; 0 && (x = 1); 1 || (x = 2); return x;", 0);
}
END_TEST

START_TEST(statements)
{
    ck_int("int s = 0; for (int i = 0; i < 5; i++) s += i; return s;", 10);
    ck_int("int s = 0, i = 0; for (; i < 5;) { s += i; i++; } return s;", 10);
    ck_int("int s = 0, i; for (i = 0; ; i++) { if (i == 5) break; s += i; } return s;", 10);
    ck_int("int s = 0; for (;;) { if (++s > 4) break; } return s;", 5);
    ck_int("int s = 0, i; for (i = 3 /* ; */; i; ) s += i--; return s;", 6);
    ck_int("int s = 0; for (int i = 0; i < 6; i++) { if (i % 2) continue; s += i; } return s;", 6);
    ck_int("int s = 0, i = 4; while (i) s += i--; return s;", 10);
    ck_int("int s = 0; do s++; while (s < 3); return s;", 3);
    ck_int("int s = 0; do { if (s == 2) break; s++; } while (1); return s;", 2);
    ck_int("switch (3) { case 1: return 1; case 2: case 3: { int x = 4; return x; } default: return 9; }", 4);
    ck_int("int s = 0; switch (1) { case 1: s = 1; case 2: s += 2; break; case 3: s = 100; } return s;", 3);
    ck_int("int s = 0; switch (8) { case 1: s = 1; break; default: s = 5; } return s;", 5);
    ck_int("int s = 0; for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) if (i == j) s++; return s;", 3);
    ck_int("; {} if (0) ; else return 3; return 1;", 3);
    ck_assert_double_eq(number(bench_good("static int fib(int n);\nint f(void) { return fib(12); }\n"
                                          "static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"), "f"),
                        144);
}
END_TEST

START_TEST(records_arrays_pointers)
{
    const char *declarations =
        "#include \"method.h\"\n"
        "struct box { int top, left; };\n"
        "typedef struct { struct box inner; float w[3]; const char *name; tensor t; } outer;\n"
        "static const int order[] = { [2] = 5, 1, [0] = 9 };\n"
        "static const int grid[2][3] = { { 1, 2, 3 }, { 4, 5 } }, flat[2][3] = { 1, 2, 3, 4, 5, 6 };\n"
        "static void bump(int *x) { *x += 1; }\n"
        "static void fill(float *x, int n) { for (int i = 0; i < n; i++) x[i] = i; }\n"
        "static struct box moved(struct box b) { b.top += 10; return b; }\n"
        "static int twice(int x) { return 2 * x; }\n"
        "static int apply(int (*g)(int), int x) { return g(x); }\n"
        "float copies(void) { struct box a = { 1, 2 }, b = a; a.top = 5; b = moved(b); return 100 * a.top + b.top; }\n"
        "float nested(void) { outer o = { .inner.left = 3, .w = { 1, [2] = 4 }, .inner.top = 2 };\n"
        "  outer p = o; o.inner.top = 0; o.w[0] = 0; return p.inner.top + p.inner.left + p.w[0] + p.w[1] + p.w[2]\n"
        "    + (p.name == NULL) + !p.t; }\n"
        "float elided(void) { outer o = { 1, 2, 3, 4, 5, \"x\" }; return o.inner.left + o.w[2] + (o.name[0] == 'x'); }\n"
        "float tables(void) { return order[0] + 10 * order[1] + 100 * order[2] + 1000 * order[3] + grid[1][1] + grid[1][2]\n"
        "    + flat[1][0]; }\n"
        "float pointers(void) { int x = 3; int *p = &x; bump(p); bump(&x); float w[3]; fill(w, 3);\n"
        "  struct box b = { .top = 1 }, *q = &b; q->left = 7; (*q).top += 1; return x + w[2] + b.left + b.top; }\n"
        "float functions(void) { return apply(twice, 4) + apply(&twice, 1); }\n"
        "float override(void) { conv2d_options o = { CONV2D_DEFAULTS, .kernel = 3, .stride = 2 };\n"
        "  return 100 * o.kernel + 10 * o.stride + o.groups + (o.kernel_width == SAME) + o.bias; }\n"
        "float temporary(void) { return moved((struct box){ .left = 4 }).top + (struct box){ 1, 2 }.left; }\n";
    Bench *bench = bench_good(declarations);
    ck_assert_double_eq(number(bench, "copies"), 511);
    ck_assert_double_eq(number(bench, "nested"), 12);
    ck_assert_double_eq(number(bench, "elided"), 8);
    ck_assert_double_eq(number(bench, "tables"), 9 + 0 + 500 + 1000 + 5 + 0 + 4);
    ck_assert_double_eq(number(bench, "pointers"), 5 + 2 + 7 + 2);
    ck_assert_double_eq(number(bench, "functions"), 10);
    ck_assert_double_eq(number(bench, "override"), 322);
    ck_assert_double_eq(number(bench, "temporary"), 12);
}
END_TEST

START_TEST(a_model_calls_the_host)
{
    Bench *bench = bench_good(
        "#include \"model.h\"\n"
        "static tensor block(tensor x, int channels, int stride)\n"
        "{\n"
        "    if (stride != 1 || channels_of(x) != channels)\n"
        "        x = max_pool2d(x, .kernel = 3, .stride = stride);\n"
        "    return reshape(x, -1, channels);\n"
        "}\n"
        "tensor f(tensor x)\n"
        "{\n"
        "    for (int stage = 0; stage < 2; stage++)\n"
        "        SCOPE(\"layer%d\", stage + 1)\n"
        "            x = block(x, 16 << stage, stage > 0 ? 2 : 1);\n"
        "    return x == NONE ? x : add(x, NONE);\n"
        "}\n");
    Value result;
    ck_assert_msg(call(bench, "f", &result), "%s", messages(bench));
    ck_assert_int_eq(result.kind, VALUE_TENSOR);
    ck_assert_str_eq(buffer_text(&bench->calls),
        "scope_push(\"layer%d\", 1)@11;channels_of(tensor)@4;reshape_to(tensor, -1,16, 2)@6;scope_pop()@11;"
        "scope_push(\"layer%d\", 2)@11;max_pool2d_layer(tensor, kernel=3 kernel_width=-1 stride=2 stride_width=-1 padding=0 "
        "padding_width=-1 dilation=1 dilation_width=-1 ceil_mode=0 exclude_padding=0)@5;"
        "reshape_to(tensor, -1,32, 2)@6;scope_pop()@11;add(tensor, NONE)@13;");
}
END_TEST

START_TEST(formats)
{
    Bench *bench = bench_good("");
    CallSite site = { .callee = "scope_push" };
    Value n = value_scalar(expr_integer(bench->exprs, 7)), x = value_scalar(expr_number(bench->exprs, 0.5));
    Value values[] = { value_text("%s.%03d %.2f %g%% %c"), value_text("a"), n, x, x, value_scalar(expr_integer(bench->exprs, 'z')) };
    ck_assert_str_eq(value_format(bench->evaluator, &site, values, 6), "a.007 0.50 0.5% z");
    ck_assert_ptr_null(value_format(bench->evaluator, &site, values, 5));
    ck_assert_ptr_null(value_format(bench->evaluator, &site, (Value[]){ value_text("%n"), n }, 2));
    ck_assert_ptr_null(value_format(bench->evaluator, &site, (Value[]){ value_text("%d"), x }, 2));
    ck_assert_ptr_null(value_format(bench->evaluator, &site, (Value[]){ value_text("%s"), n }, 2));
    ck_assert_ptr_null(value_format(bench->evaluator, &site, (Value[]){ value_text("a"), n }, 2));
    ck_assert_ptr_null(value_format(bench->evaluator, &site, (Value[]){ value_text("%"), n }, 2));
    ck_assert_ptr_null(value_format(bench->evaluator, &site, &n, 1));
    ck_assert_int_eq(bench->diag.errors, 7);
}
END_TEST

START_TEST(hostile_sizes)
{
    ck_fails("int f(void) { int a[2000000] = { 0 }; return a[0]; }", false, "is too large");
    ck_fails("int f(void) { int a[9999][9999] = { 0 }; return a[0][0]; }", false, "more than 1000000 steps");
    Arena *arena = arena_create();
    Buffer deep = { .arena = arena };
    buffer_add(&deep, "int f(void) { return ");
    for (int i = 0; i < 700; i++)
        buffer_add(&deep, "- ");
    buffer_add(&deep, "1; }");
    ck_fails(buffer_text(&deep), false, "nested this deeply");
}
END_TEST

START_TEST(an_evaluator_goes_on_after_an_error)
{
    Bench *bench = symbolic("float f(float x) { int zero = 0; if (x > 0) return 1 / zero; return 0; }\n"
                            "float g(float x) { float y = 1; if (x > 0) y = 2; return y; }\n");
    Value result;
    ck_assert(!call(bench, "f", &result));
    ck_assert_int_eq(bench->conditions.count, 0);
    bench->input[0] = 1;
    ck_assert_double_eq(number(bench, "g"), 2);
}
END_TEST

START_TEST(failures_have_places_and_callers)
{
    ck_fails("int f(void)\n{\n    int x = 0;\n    return 3 / x;\n}", false, ":4:12: error: division by zero");
    ck_fails("int f(void) { int x = 0; return 3 % x; }", false, "division by zero");
    ck_fails("int f(void) { for (;;) ; }", false, ":1:24: error: endless loop? more than 1000000 steps");
    ck_fails("static int g(int n)\n{\n    return g(n + 1);\n}\nint f(void)\n{\n    return g(0);\n}", false,
             ":3:12: error: endless recursion? calls are nested more than 200 deep");
    ck_fails("static int g(int n)\n{\n    return g(n + 1);\n}\nint f(void)\n{\n    return g(0);\n}", false,
             ":7:12: note: 'g' was called here");
    ck_fails("int f(void) { int a[3] = { 0 }; int i = 3; return a[i]; }", false, "item 3 of 'a', which has 3");
    ck_fails("int f(void) { int a[3] = { 0 }; int i = -1; a[i] = 1; return 0; }", false, "item -1 of 'a'");
    ck_fails("int f(void) { int *p = (int *)0; return *p; }", false, "a null pointer is followed");
    ck_fails("static int g(void) { int x = 0; if (x) return 1; }\nint f(void) { return g(); }", false,
             "'g' ended without returning a value");
    ck_fails("int f(void) { int a[2]; a[0] = 1; return a[1]; }", false, "has no value here");
    ck_fails("void refuse(void);\nint f(void) { refuse(); return 1; }", false, "2:15: error: refused");
    ck_fails("int f(void) { long long x = 1; for (int i = 0; i < 90; i++) x *= 3; return x > 0; }", false, "too large");
}
END_TEST

/* ---- conditions known at run time ---- */
/* f(x) for x = from..to must be what `expected` says. */
static void check_at(const char *text, int from, int to, double (*expected)(double))
{
    Bench *bench = symbolic(text);
    for (int x = from; x <= to; x++) {
        bench->input[0] = x;
        double got = number(bench, "f");
        ck_assert_msg(got == expected(x), "f(%d) = %g, not %g: %s", x, got, expected(x), text);
    }
    ck_assert_int_eq(bench->conditions.count, 0);
}

static double staircase(double x)
{
    return x > 2 ? 30 : x > 1 ? 20 : x > 0 ? 10 : x;
}

static double clamped(double x)
{
    return x < -1 ? -1 : x > 2 ? 2 : x;
}

static double first_square(double x)
{
    for (int i = 0; i < 5; i++)
        if (i * i >= x)
            return i;
    return -1;
}

static double until_three(double x)
{
    double sum = 0;
    for (int i = 0; i < 10; i++) {
        if (i * i > x + 2)
            return 100 + sum;
        if (i == 3)
            break;
        sum += i;
    }
    return sum;
}

START_TEST(both_sides_of_if)
{
    check_at("float f(float x) { float r; if (x > 2) r = 30; else if (x > 1) r = 20; else if (x > 0) r = 10; else r = x;"
             " return r; }", -1, 4, staircase);
    check_at("float f(float x) { if (x > 2) return 30; if (x > 1) return 20; if (x > 0) return 10; return x; }", -1, 4, staircase);
    check_at("float f(float x) { if (x > 0) { if (x > 1) { if (x > 2) return 30; return 20; } return 10; } return x; }",
             -1, 4, staircase);
    check_at("float f(float x) { return x > 2 ? 30 : x > 1 ? 20 : x > 0 ? 10 : x; }", -1, 4, staircase);
    check_at("float f(float x) { if (x > 1) { if (x > 2) return 30; x = 20; } else if (x > 0) return 10; return x; }",
             -1, 4, staircase);
    check_at("float f(float x) { float r = x; if (x < -1) r = -1; if (x > 2) r = 2; return r; }", -3, 4, clamped);
    check_at("float f(float x) { float r = x; x < -1 && (r = -1); x <= 2 || (r = 2); return r; }", -3, 4, clamped);
    check_at("struct p { float v[2]; int n; };\n"
             "float f(float x) { struct p p = { { x, 0 }, 0 }; if (x < -1) { p.v[0] = -1; p.n++; } struct p q = p;"
             " if (x > 2) q.v[0] = 2; return q.v[0]; }", -3, -1, clamped);
    check_at("static void cap(float *x) { if (*x > 2) { *x = 2; return; } if (*x < -1) *x = -1; }\n"
             "float f(float x) { cap(&x); return x; }", -3, 4, clamped);
    check_at("static float low(float x) { if (x < -1) return -1; return x; }\n"
             "float f(float x) { x = low(x); if (x > 2) return 2; else return x; }", -3, 4, clamped);
}
END_TEST

START_TEST(loops_and_returns)
{
    check_at("float f(float x) { for (int i = 0; i < 5; i++) if (i * i >= x) return i; return -1; }", -1, 20, first_square);
    check_at("float f(float x) { int i = 0; while (1) { if (i == 5) break; if (i * i >= x) return i; i++; } return -1; }",
             -1, 20, first_square);
    check_at("float f(float x) { int i = 0; do { if (i * i >= x) return i; } while (++i < 5); return -1; }", -1, 20, first_square);
    check_at("float f(float x) { float sum = 0; for (int i = 0; i < 10; i++) { if (i * i > x + 2) return 100 + sum;"
             " if (i == 3) break; sum += i; } return sum; }", -1, 12, until_three);
    check_at("float f(float x) { float sum = 0; for (int i = 0; i < 10; i++) { switch (i) { case 3: if (9 > x + 2) return 100 + sum; return sum;"
             " default: if (i * i > x + 2) return 100 + sum; break; } sum += i; } return sum; }", -1, 12, until_three);
}
END_TEST

START_TEST(conditions_that_may_not_be)
{
    ck_fails("float f(float x)\n{\n    if (x > 0)\n        return 1;\n    return 0;\n}", false,
             ":3:9: error: this condition is known only when the program runs");
    ck_fails("float f(float x) { while (x > 0) x -= 1; return x; }", true, "the number of turns of a loop must be known");
    ck_fails("float f(float x) { for (int i = 0; i < 3; i++) if (x > i) break; return x; }", true,
             "break under a condition that is known only at run time");
    ck_fails("float f(int n) { switch (n) { case 1: return 1; } return 0; }", true, "a switch needs a value");
    ck_fails("float f(float x) { float y; if (x > 0) y = 1; return y; }", true, "'y' has no value here");
    ck_fails("static float g(float x) { if (x > 0) return 1; }\nfloat f(float x) { return g(x); }", true,
             "'g' ends without a return where its conditions don't hold");
    ck_fails("static int g(int n) { return n == 0 ? 0 : g(n - 1); }\nfloat f(int n) { return g(n); }", true,
             "endless recursion?");
    ck_fails("float f(int n) { int a[3] = { 0 }; a[n] = 1; return a[0]; }", true, "its index is known only at run time");
    ck_fails("#include \"model.h\"\nconst char *f(float x) { return x > 0 ? \"a\" : \"b\"; }", true, "between numbers only");
    ck_fails("void refuse(void);\nfloat f(float x) { if (x > 0) refuse(); return 0; }", true, "refused");
}
END_TEST

START_TEST(the_host_knows_the_branch)
{
    Bench *bench = symbolic(
        "#include \"method.h\"\n"
        "void set(float *x);\n"
        "static const float run_time = 0;\n"
        "static void ascend(element *at) { (void)at; }\n"
        "float f(void)\n"
        "{\n"
        "    float x = 1;\n"
        "    each_parameter(ascend);\n"
        "    if (run_time > 0) {\n"
        "        each_weight(ascend);\n"
        "        set(&x);\n"
        "    }\n"
        "    return x;\n"
        "}\n"
        "void g(void)\n"
        "{\n"
        "    if (run_time > 0) return;\n"
        "    gradient_pass();\n"
        "}\n");
    bench->scalar = 1;
    ck_assert_double_eq(number(bench, "f"), 7);
    ck_assert_str_eq(buffer_text(&bench->calls), "each_parameter(ascend)@8;each_weight(ascend)@10?;set(?)@11?;");
    bench->scalar = 0;
    ck_assert_double_eq(number(bench, "f"), 1);
    bench->calls.count = 0;
    ck_assert(call(bench, "g", NULL));
    ck_assert_str_eq(buffer_text(&bench->calls), "gradient_pass()@18?;");
}
END_TEST

static const char alibi[] =
    "#include \"method.h\"\n"
    "static float slope(int head, int head_count)\n"
    "{\n"
    "    int power = 1;\n"
    "    while (power * 2 <= head_count)\n"
    "        power *= 2;\n"
    "    if (head < power)\n"
    "        return pow(2, -8.0f * (head + 1) / power);\n"
    "    return pow(2, -4.0f * (2 * (head - power) + 1) / power);\n"
    "}\n"
    "float f(float score, int head, int query, int key) { return score + slope(head, 12) * (key - query); }\n"
    "float again(float score, int head) { return slope(head, 12) + slope(head, 12); }\n"
    "static const float steps[4] = { 1, 0.5f, 0.25f, 0.1f };\n"
    "static const int order[3] = { 2, 0, 1 };\n"
    "float items(int i) { return steps[i] + order[i % 3]; }\n"
    "DRAW_SUBSET(batch, shuffled, 3, 3)\n"
    "int row(int y) { return shuffled[y] + 1; }\n"
    "float mixed(float x, int i) { float w[3] = { x, 2 * x, 3 }; return w[i]; }\n";


START_TEST(helpers_become_tables)
{
    Bench *bench = symbolic(alibi);
    const Expr *expr = result_of(bench, "f");
    ck_assert(expr_uses_op(expr, EXPR_table));
    ck_assert(!expr_uses_op(expr, EXPR_pow));
    static const double slopes[12] = { .5, .25, .125, .0625, .03125, .015625, .0078125, .00390625,
                                       .70710678118654752, .35355339059327376, .17677669529663688, .08838834764831844 };
    bench->index[2] = 1;
    for (int head = 0; head < 12; head++) {
        bench->index[0] = head;
        double got = number(bench, "f");
        ck_assert_msg(fabs(got - slopes[head]) < 1e-15, "slope of head %d is %.17g", head, got);
        ck_assert_double_eq(number(bench, "again"), 2 * got);
    }
    static const double items[4] = { 3, 0.5, 1.25, 2.1 };
    for (int i = 0; i < 4; i++) {
        bench->index[0] = i;
        ck_assert_double_eq(number(bench, "items"), items[i]);
    }
    bench->input[0] = 5;
    for (int i = 0; i < 3; i++) {
        bench->index[0] = i;
        ck_assert_double_eq(number(bench, "row"), bench->shuffled.values[i] + 1);
        ck_assert_double_eq(number(bench, "mixed"), i == 0 ? 5 : i == 1 ? 10 : 3);
    }
}
END_TEST

Suite *evaluator_suite(void)
{
    Suite *suite = suite_create("evaluator");
    TCase *tests = tcase_create("evaluator");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, integers_and_conversions);
    tcase_add_test(tests, statements);
    tcase_add_test(tests, records_arrays_pointers);
    tcase_add_test(tests, a_model_calls_the_host);
    tcase_add_test(tests, formats);
    tcase_add_test(tests, hostile_sizes);
    tcase_add_test(tests, an_evaluator_goes_on_after_an_error);
    tcase_add_test(tests, failures_have_places_and_callers);
    tcase_add_test(tests, both_sides_of_if);
    tcase_add_test(tests, loops_and_returns);
    tcase_add_test(tests, conditions_that_may_not_be);
    tcase_add_test(tests, the_host_knows_the_branch);
    tcase_add_test(tests, helpers_become_tables);
    suite_add_tcase(suite, tests);
    return suite;
}
