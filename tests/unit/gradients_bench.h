/* gradients_bench.h -- what the tests of gradients share: a trial whose gradients must be those of finite
 * differences. */
#pragma once
#include <check.h>

#include "tests/interp/trial.h"

static const double gradient_tolerance = 1e-8;

#define SHAPE(...) ((Shape){ .rank = sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), .dim = { __VA_ARGS__ } })
#define NODES(...) (Node *[]){ __VA_ARGS__ }, sizeof((Node *[]){ __VA_ARGS__ }) / sizeof(Node *)

static inline Node *add(Trial *trial, Op op, const Attributes *at, Node **inputs, size_t count)
{
    return node_add(trial->graph, op, inputs, (int)count, at);
}

static inline const Expr *plus(Trial *trial, const Expr *x, const Expr *y)
{
    return trial_binary(trial, EXPR_add, x, y);
}

static inline const Expr *times(Trial *trial, const Expr *x, const Expr *y)
{
    return trial_binary(trial, EXPR_mul, x, y);
}

static inline void check_gradients(Trial *trial)
{
    const char *wrong = trial_check(trial, gradient_tolerance);
    if (!wrong)
        return;
    Buffer text = { .arena = trial->arena };
    graph_print(&text, trial->graph);
    ck_abort_msg("%s\n%s", wrong, buffer_text(&text));
}

/* Checks the gradients of all the trial's parameters and ends it. */
static inline void check_output(Trial *trial, Node *output)
{
    trial_differentiate(trial, output, NULL);
    check_gradients(trial);
    trial_destroy(trial);
}

static inline TCase *group(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    suite_add_tcase(suite, tcase);
    return tcase;
}

void add_window_gradients(Suite *suite);
void add_row_gradients(Suite *suite);
