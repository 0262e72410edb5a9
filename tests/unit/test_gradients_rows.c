/* test_gradients_rows.c -- gradients of norms, softmax, attention, losses. */
#include "gradients_bench.h"

/* ---- norms ---- */

static const struct { Norm norm; Shape x, affine; } norms[] = {
    { { NORM_BATCH, 1e-3, 1, 0, 0, false }, { 4, { 3, 2, 2, 3 } }, { 1, { 2 } } },
    { { NORM_BATCH, 1e-5, 1, 0, 0, false }, { 2, { 5, 3 } }, { 1, { 3 } } },
    { { NORM_BATCH, 1e-3, 3, 0, 0, false }, { 4, { 7, 2, 2, 2 } }, { 1, { 2 } } },         /* pieces of 3, 3, 1 */
    { { NORM_BATCH, 1e-3, 2, 0, 0, false }, { 2, { 5, 3 } }, { 1, { 3 } } },               /* pieces of 3, 2 */
    { { NORM_ROW, 1e-3, 0, 1, 0, false }, { 3, { 2, 3, 5 } }, { 1, { 5 } } },
    { { NORM_ROW, 1e-3, 0, 2, 0, false }, { 3, { 3, 2, 4 } }, { 2, { 2, 4 } } },
    { { NORM_RMS, 1e-3, 0, 1, 0, false }, { 3, { 2, 3, 5 } }, { 1, { 5 } } },
    { { NORM_RMS, 1e-3, 0, 2, 0, false }, { 3, { 2, 3, 2 } }, { 2, { 3, 2 } } },
    { { NORM_GROUP, 1e-3, 0, 0, 2, false }, { 4, { 2, 4, 2, 3 } }, { 1, { 4 } } },
    { { NORM_GROUP, 1e-3, 0, 0, 1, false }, { 4, { 2, 3, 1, 2 } }, { 1, { 3 } } },
    { { NORM_GROUP, 1e-3, 0, 0, 3, false }, { 4, { 2, 3, 2, 3 } }, { 1, { 3 } } },
};

enum { NORMS = sizeof norms / sizeof *norms };

START_TEST(normalize)
{
    for (int affine = 0; affine < 3; affine++) {
        Trial *trial = trial_create(28);
        Attributes at = { .norm = norms[_i].norm };
        Node *inputs[4] = { trial_parameter(trial, norms[_i].x) };
        inputs[1] = add(trial, OP_moments, &at, NODES(inputs[0]));
        for (int i = 0; i < affine; i++)
            inputs[2 + i] = trial_parameter(trial, norms[_i].affine);
        check_output(trial, add(trial, OP_normalize, &at, inputs, (size_t)(2 + affine)));
    }
}
END_TEST

/* With running statistics, as in evaluation, nothing flows through the moments. */
START_TEST(normalize_with_given_moments)
{
    Trial *trial = trial_create(29);
    double moments[] = { 0.1, -0.2, 0.5, 1.5 };
    Attributes at = { .norm = { .kind = NORM_BATCH, .epsilon = 1e-3, .pieces = 1 } };
    Node *x = trial_parameter(trial, SHAPE(3, 2, 2, 2)),
         *given = trial_parameter_of(trial, SHAPE(2, 2), moments);
    trial->parameters.items[1]->is_buffer = true;
    Node *weight = trial_parameter(trial, SHAPE(2)), *bias = trial_parameter(trial, SHAPE(2));
    check_output(trial, add(trial, OP_normalize, &at, NODES(x, given, weight, bias)));
}
END_TEST

/* ---- softmax and attention ---- */

START_TEST(softmax_and_log_softmax)
{
    for (int axis = 0; axis < 4; axis++) {
        Trial *trial = trial_create(30);
        Node *x = trial_parameter(trial, SHAPE(2, 3, 4, 2));
        check_output(trial, add(trial, _i ? OP_log_softmax : OP_softmax, &(Attributes){ .softmax = { axis } },
                                NODES(x)));
    }
}
END_TEST

/* Hooks: score + 0.5^(head + 1) (key - query), and 2 tanh(score / 2), which is not linear in the score. */
static const Expr *attention_hook(Trial *trial, int which)
{
    ExprPool *pool = trial->graph->exprs;
    const Expr *score = trial_x(trial);
    if (which == 2) {
        const Expr *half = times(trial, trial_constant(trial, 0.5), score);
        return times(trial, trial_constant(trial, 2), trial_unary(trial, EXPR_tanh, half));
    }
    const Expr *head = expr_convert(pool, expr_index(pool, 0), TYPE_FLOAT);
    const Expr *slope =
        trial_binary(trial, EXPR_pow, trial_constant(trial, 0.5), plus(trial, head, trial_constant(trial, 1)));
    const Expr *apart = expr_binary(pool, EXPR_sub, expr_index(pool, 2), expr_index(pool, 1));
    return which ? plus(trial, score, times(trial, slope, expr_convert(pool, apart, TYPE_FLOAT))) : NULL;
}

static void check_attention(bool causal, bool masked, int hook, int64_t length, int64_t keys)
{
    static const double visible[] = { 1, 0, 1, 1, 1, 1, 1, 0, 0, 1 };
    Trial *trial = trial_create(31);
    Node *inputs[4] = { trial_parameter(trial, SHAPE(2, 3, length, 2)) };
    inputs[1] = trial_parameter(trial, SHAPE(2, 3, keys, 2));
    inputs[2] = trial_parameter(trial, SHAPE(2, 3, keys, 2));
    if (masked)
        inputs[3] = trial_input(trial, INPUT_DENSE_TARGETS, SHAPE(2, keys), DTYPE_REAL, visible);
    Node *y = add(trial, OP_attention, &(Attributes){ .attention = { causal, 0.7 } }, inputs, masked ? 4 : 3);
    y->expr = attention_hook(trial, hook);
    check_output(trial, y);
}

START_TEST(attention)
{
    check_attention(false, false, _i, 3, 4);
    check_attention(true, false, _i, 4, 4);
    check_attention(false, true, _i, 2, 5);
    check_attention(true, true, _i, 5, 5);
    check_attention(true, false, _i, 1, 1);
}
END_TEST

/* One tensor as queries, keys and values. */
START_TEST(attention_to_itself)
{
    Trial *trial = trial_create(32);
    Node *x = trial_parameter(trial, SHAPE(1, 2, 4, 3));
    check_output(trial, add(trial, OP_attention, &(Attributes){ .attention = { true, 0.5 } }, NODES(x, x, x)));
}
END_TEST

/* ---- losses ---- */

static const struct { Shape logits; int axis; } rows[] = {
    { { 2, { 5, 4 } }, 1 }, { { 3, { 2, 3, 4 } }, 2 }, { { 4, { 2, 3, 2, 2 } }, 1 },
};

static Node *class_input(Trial *trial, InputKind kind, int which, double ignore)
{
    Shape shape = { 0 };
    for (int i = 0; i < rows[which].logits.rank; i++)
        if (i != rows[which].axis)
            shape.dim[shape.rank++] = rows[which].logits.dim[i];
    double *classes =
        trial_integers(trial, shape_elements(shape), 0, rows[which].logits.dim[rows[which].axis] - 1);
    classes[kind == INPUT_TARGETS ? 1 : 2] = ignore;
    return trial_input(trial, kind, shape, DTYPE_INT32, classes);
}

/* Plain, smoothed (0.9 t + 0.03), and with squares, which is not linear in the weight. */
static const Expr *target_hook(Trial *trial, int which)
{
    const Expr *t = trial_x(trial);
    if (which == 2)
        return plus(trial, times(trial, t, t), times(trial, trial_constant(trial, 0.1), t));
    return which ? plus(trial, times(trial, trial_constant(trial, 0.9), t), trial_constant(trial, 0.03)) : NULL;
}

START_TEST(cross_entropy)
{
    for (int hook = 0; hook < 3; hook++)
        for (int mixed = 0; mixed < 2; mixed++) {
            Trial *trial = trial_create(33);
            static const Scalar lambda = { "lambda", "mixup", SCALAR_DRAW, TYPE_FLOAT, 1 };
            const Expr *share = mixed ? expr_scalar(trial->graph->exprs, &lambda) : NULL;
            Node *inputs[3] = { trial_parameter(trial, rows[_i].logits) };
            inputs[1] = class_input(trial, INPUT_TARGETS, _i, -100);
            if (mixed)
                inputs[2] = class_input(trial, INPUT_PARTNER_TARGETS, _i, -100);
            Node *loss = add(trial, OP_cross_entropy, &(Attributes){ .loss = { rows[_i].axis, -100, share } },
                             inputs, mixed ? 3 : 2);
            loss->expr = target_hook(trial, hook);
            check_output(trial, loss);
        }
}
END_TEST

START_TEST(dense_cross_entropy)
{
    Trial *trial = trial_create(34);
    Node *logits = trial_parameter(trial, rows[_i].logits), *target = trial_parameter(trial, rows[_i].logits);
    check_output(trial, add(trial, OP_dense_cross_entropy, &(Attributes){ .loss = { .axis = rows[_i].axis } },
                            NODES(logits, target)));
}
END_TEST

/* ---- cases ---- */

void add_row_gradients(Suite *suite)
{
    TCase *tcase = group(suite, "norms");
    tcase_add_loop_test(tcase, normalize, 0, NORMS);
    tcase_add_test(tcase, normalize_with_given_moments);
    tcase = group(suite, "rows");
    tcase_add_loop_test(tcase, softmax_and_log_softmax, 0, 2);
    tcase_add_loop_test(tcase, attention, 0, 3);
    tcase_add_test(tcase, attention_to_itself);
    tcase_add_loop_test(tcase, cross_entropy, 0, 3);
    tcase_add_loop_test(tcase, dense_cross_entropy, 0, 3);
}
