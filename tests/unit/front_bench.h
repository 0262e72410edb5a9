/* front_bench.h -- a snippet of C written to a file, parsed and evaluated, with a host that records its calls. */
#pragma once
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "front/front.h"

/* One snippet: written to a file, parsed, evaluated. */
typedef struct Bench {
    Arena *arena;
    Diagnostics diag;
    ExprPool *exprs;
    CFile *file;
    Host host;
    Evaluator *evaluator;
    Buffer calls;                       /* what the host was called with */
    TextArray conditions;               /* of the branches being run */
    double input[4], scalar;            /* the point at which results are evaluated */
    int64_t index[3];
    Scalar run_time;                    /* value of the file-scope variable `run_time` */
    Table shuffled;                     /* and of `shuffled`: 2 0 1 */
} Bench;

static const char *const bench_dirs[] = { "recipes/models", "methods" };

static inline CFile *parse(Arena *arena, Diagnostics *diag, const char *text)
{
    const char *folder = getenv("TMPDIR");
    char *path = (char *)text_format(arena, "%s/front_XXXXXX.c", folder ? folder : P_tmpdir);
    int handle = mkstemps(path, 2);
    ck_assert_int_ge(handle, 0);
    close(handle);
    ck_assert(text_write_file(path, text, strlen(text)));
    CFile *file = front_parse(arena, diag, path, bench_dirs, 2);
    unlink(path);
    return file;
}

static inline const char *messages(Bench *bench)
{
    Buffer out = { .arena = bench->arena };
    diagnostics_print(&bench->diag, &out);
    return buffer_text(&out);
}

static inline void show(Buffer *out, const Value *value)
{
    if (value->kind == VALUE_TEXT)
        buffer_add(out, "\"%s\"", value->text ? value->text : "");
    else if (value->kind == VALUE_TENSOR)
        buffer_add(out, value->tensor ? "tensor" : "NONE");
    else if (value->kind == VALUE_FUNCTION)
        buffer_add(out, "%s", cfunction_name(value->function));
    else if (value->kind == VALUE_SCALAR && expr_is_constant(value->scalar))
        buffer_add(out, "%g", expr_value(value->scalar));
    else if (value->kind == VALUE_STRUCT)
        for (int i = 0; i < value->record.count; i++) {
            buffer_add(out, "%s%s=", i ? " " : "", value->record.fields[i].name);
            show(out, value->record.fields[i].value);
        }
    else if (value->kind == VALUE_POINTER && value->target && value->target->kind == VALUE_ARRAY)
        for (int i = 0; i < value->target->array.count; i++) {
            buffer_add(out, "%s", i ? "," : "");
            show(out, &value->target->array.items[i]);
        }
    else
        buffer_add(out, "?");
}

static inline bool on_call(void *context, Evaluator *evaluator, const CallSite *site, Value *arguments, int count, Value *result)
{
    Bench *bench = context;
    ExprPool *pool = evaluator_exprs(evaluator);
    buffer_add(&bench->calls, "%s(", site->callee);
    for (int i = 0; i < count; i++) {
        buffer_add(&bench->calls, "%s", i ? ", " : "");
        show(&bench->calls, &arguments[i]);
    }
    buffer_add(&bench->calls, ")@%d%s;", site->place.line, bench->conditions.count ? "?" : "");
    if (text_equal(site->callee, "scope_push") && !value_format(evaluator, site, arguments, count))
        return false;
    if (text_equal(site->callee, "refuse")) {
        complain(evaluator_diagnostics(evaluator), site->place, "refused");
        return false;
    }
    if (text_equal(site->callee, "set"))
        *arguments[0].target = value_scalar(expr_number(pool, 7));
    if (text_starts(site->callee, "each_"))
        return evaluate_call(evaluator, arguments[0].function, (Value[]){ { .kind = VALUE_POINTER, .target = NULL } }, 1, NULL);
    *result = text_equal(site->callee, "scope_push") ? value_scalar(expr_truth(pool, true))
        : text_equal(site->callee, "scope_pop")      ? value_scalar(expr_truth(pool, false))
        : text_equal(site->callee, "channels_of")    ? value_scalar(expr_integer(pool, 16))
                                                     : value_tensor((Node *)bench);
    return true;
}

static inline bool on_variable(void *context, Evaluator *evaluator, const CFile *file, const char *name, Value *value)
{
    (void)file;
    Bench *bench = context;
    if (text_equal(name, "shuffled"))
        *value = value_table(&bench->shuffled);
    if (text_equal(name, "shuffled") || !text_equal(name, "run_time"))
        return text_equal(name, "shuffled");
    *value = value_scalar(expr_scalar(evaluator_exprs(evaluator), &bench->run_time));
    return true;
}

static inline void on_enter(void *context, const Expr *condition)
{
    Bench *bench = context;
    (void)condition;
    array_push(bench->arena, &bench->conditions, "");
}

static inline void on_leave(void *context)
{
    ((Bench *)context)->conditions.count--;
}

static inline int64_t twelve(void *context, const Expr *index)
{
    (void)context;
    return index->op == EXPR_index ? 12 : 0;
}

static inline Bench *bench_new(const char *text)
{
    Arena *arena = arena_create();
    Bench *bench = arena_new(arena, Bench);
    *bench = (Bench){ .arena = arena, .diag = { .arena = arena }, .exprs = expr_pool(arena), .calls = { .arena = arena } };
    bench->run_time = (Scalar){ .name = "run_time", .kind = SCALAR_STATE, .type = TYPE_FLOAT };
    static const double shuffled[] = { 2, 0, 1 };
    bench->shuffled = (Table){ .name = "shuffled", .values = shuffled, .count = 3 };
    bench->file = parse(arena, &bench->diag, text);
    bench->host = (Host){ .context = bench, .call = on_call, .variable = on_variable, .enter_branch = on_enter,
                          .leave_branch = on_leave, .bound = twelve };
    if (bench->file)
        bench->evaluator = evaluator_create(arena, bench->exprs, &bench->diag, bench->file, &bench->host);
    return bench;
}

static inline Bench *bench_good(const char *text)
{
    Bench *bench = bench_new(text);
    ck_assert_msg(bench->file != NULL, "%s", messages(bench));
    ck_assert_msg(bench->diag.list.count == 0, "%s", messages(bench));
    return bench;
}

/* Calls `name` with inputs 0.. for floats and indices 0.. for ints. */
static inline bool call(Bench *bench, const char *name, Value *result)
{
    const CFunction *function = cfile_find_function(bench->file, name);
    ck_assert_msg(function != NULL, "no function %s", name);
    Value arguments[8];
    int count = cfunction_parameter_count(function), inputs = 0, indices = 0;
    for (int i = 0; i < count; i++) {
        const char *type = cfunction_parameter_type(function, i);
        arguments[i] = text_equal(type, "tensor") ? value_tensor((Node *)bench)
            : text_equal(type, "int")             ? value_scalar(expr_index(bench->exprs, indices++))
                                                  : value_scalar(expr_input(bench->exprs, inputs++, TYPE_FLOAT));
    }
    return evaluate_call(bench->evaluator, function, arguments, count, result);
}

static inline double scalar_at(void *context, const Scalar *scalar)
{
    (void)scalar;
    return ((Bench *)context)->scalar;
}

static inline const Expr *result_of(Bench *bench, const char *name)
{
    Value result;
    bool done = call(bench, name, &result);
    ck_assert_msg(done, "%s", messages(bench));
    ck_assert_int_eq(result.kind, VALUE_SCALAR);
    return result.scalar;
}

static inline double number(Bench *bench, const char *name)
{
    const Expr *expr = result_of(bench, name);
    ExprPoint point = { .inputs = bench->input, .indices = bench->index, .scalar = scalar_at, .context = bench };
    return expr_evaluate(expr, &point);
}

/* Value of `int f(void) { body }`. */
static inline double run(const char *type, const char *body)
{
    Bench *bench = bench_new("");
    bench = bench_good(text_format(bench->arena, "#include \"method.h\"\n%s f(void) { %s }\n", type, body));
    return number(bench, "f");
}

#define ck_int(body, expected) ck_assert_double_eq(run("int", body), expected)
#define ck_float(body, expected) ck_assert_double_eq(run("float", body), expected)

/* The messages of a snippet whose f() can't be parsed or evaluated. */
static inline const char *failure(const char *text, bool symbolic)
{
    Bench *bench = bench_new(text);
    if (bench->file) {
        bench->host.symbolic = symbolic;
        Value result;
        ck_assert(!call(bench, "f", &result));
        ck_assert_int_eq(bench->conditions.count, 0);
    }
    ck_assert_int_gt(bench->diag.errors, 0);
    return messages(bench);
}

#define ck_fails(text, symbolic, part)                                                                             \
    do {                                                                                                           \
        const char *said = failure(text, symbolic);                                                                \
        ck_assert_msg(strstr(said, part) != NULL, "expected \"%s\" in:\n%s", part, said);                         \
    } while (0)
