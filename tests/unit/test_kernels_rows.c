/* test_kernels_rows.c -- softmax, embedding, products, losses, attention and the functions of vectors against naive ones. */
#include <math.h>

#include "kernel_runs.h"

/* ---- functions ---- */

static double ulps(float got, double want)
{
    float nearest = (float)want;
    if (isnan(want) || isinf(nearest))
        return isnan(want) ? (isnan(got) ? 0 : INFINITY) : got == nearest ? 0 : INFINITY;
    float size = fabsf(nearest), above = nextafterf(size, INFINITY);
    return fabs(got - want) / (isinf(above) ? size - nextafterf(size, 0) : above - size);
}

static const struct { const char *name; double (*exact)(double), most; } functions[] = {
    { "over_real_exp", exp, 1.1 }, { "over_real_log", log, 0.9 }, { "over_real_tanh", tanh, 1.4 }, { "over_real_erf", erf, 1.2 },
};

/* Every 1021st single-precision number, signs, infinities and nans included. */
START_TEST(functions_are_as_near_as_they_say)
{
    enum { BLOCK = 4096 };
    Kernels *library = kernels(false);
    Reals x = reals_zero(library, BLOCK), y = reals_zero(library, BLOCK);
    for (uint64_t first = 0; first < 1ull << 32; first += 1021ull * BLOCK) {
        for (uint64_t i = 0; i < BLOCK; i++)
            ((uint32_t *)x.bytes)[i] = (uint32_t)(first + i * 1021);
        kernel_run(library, functions[_i].name, P(x.bytes, y.bytes), L(BLOCK), NULL);
        for (long i = 0; i < BLOCK; i++) {
            float at = ((float *)x.bytes)[i], got = ((float *)y.bytes)[i];
            double error = ulps(got, functions[_i].exact(at));
            if (!(error <= functions[_i].most))
                ck_abort_msg("%s(%a) is %a: %.3f ulp", functions[_i].name, at, got, error);
        }
    }
}
END_TEST

/* ---- softmax ---- */

static void naive_softmax(const double *x, double *y, double *log_y, long outer, long n, long inner)
{
    for (long k = 0; k < outer * inner; k++) {
        const long start = k / inner * n * inner + k % inner;
        double sum = 0;
        for (long i = 0; i < n; i++)
            sum += exp(x[start + i * inner]);
        for (long i = 0; i < n; i++) {
            y[start + i * inner] = exp(x[start + i * inner]) / sum;
            log_y[start + i * inner] = x[start + i * inner] - log(sum);
        }
    }
}

static void check_softmax(Run *run, const char *prefix, long outer, long n, long inner)
{
    long count = outer * n * inner;
    Reals x = run_input(run, count, 21), y = run_output(run, count), log_y = run_output(run, count);
    double *want = run_numbers(run, count), *want_log = run_numbers(run, count);
    run_kernel(run, text_format(run->arena, "%ssoftmax", prefix), P(x.bytes, y.bytes), L(outer, n, inner), NULL);
    run_kernel(run, text_format(run->arena, "%slog_softmax", prefix), P(x.bytes, log_y.bytes), L(outer, n, inner), NULL);
    naive_softmax(x.value, want, want_log, outer, n, inner);
    run_check(run, y, want, "softmax");
    run_check(run, log_y, want_log, "log softmax");
}

static void scenario_softmax(Run *run)
{
    check_softmax(run, "", 7, 37, 1);
    check_softmax(run, "", 3, 1, 1);
    check_softmax(run, "strided_", 3, 11, 70);
    check_softmax(run, "strided_", 5, 4, 3);
}

/* ---- embedding, counting ---- */

static void scenario_gather(Run *run)
{
    enum { ROWS = 11, WIDTH = 37, COUNT = 50 };
    Reals table = run_input(run, ROWS * WIDTH, 22), dy = run_input(run, COUNT * WIDTH, 23);
    Reals y = run_output(run, COUNT * WIDTH), dtable = run_output(run, ROWS * WIDTH);
    int *ids = ints_random(run->library, COUNT, ROWS, 24);
    double *want = run_numbers(run, y.count), *want_d = run_numbers(run, dtable.count);
    run_kernel(run, "gather", P(table.bytes, ids, y.bytes), L(COUNT, WIDTH), NULL);
    run_kernel(run, "gather_grad", P(dy.bytes, ids, dtable.bytes), L(COUNT, ROWS, WIDTH, 3), NULL);
    for (long k = 0; k < COUNT; k++)
        for (long i = 0; i < WIDTH; i++) {
            want[k * WIDTH + i] = table.value[ids[k] * WIDTH + i];
            want_d[ids[k] * WIDTH + i] += ids[k] == 3 ? 0 : dy.value[k * WIDTH + i];
        }
    run_check(run, y, want, "y");
    run_check(run, dtable, want_d, "d table");
}

static void scenario_counts(Run *run)
{
    enum { ROWS = 200, CLASSES = 7, IGNORE = 5 };
    Reals logits = run_input(run, ROWS * CLASSES, 25), counts = run_output(run, 3 * CLASSES);
    int *class = ints_random(run->library, ROWS, CLASSES, 26), *rank = run_ints(run, ROWS);
    double *want = run_numbers(run, 3 * CLASSES);
    run_kernel(run, "target_rank", P(logits.bytes, class, rank), L(ROWS, CLASSES, IGNORE), NULL);
    run_kernel(run, "confusion", P(logits.bytes, class, counts.bytes), L(ROWS, CLASSES, IGNORE), NULL);
    for (long k = 0; k < ROWS; k++) {
        const double *row = logits.value + k * CLASSES;
        long higher = 0, best = 0;
        for (long c = 0; c < CLASSES; c++) {
            higher += row[c] > row[class[k]];
            best = row[c] > row[best] ? c : best;
        }
        ck_assert_int_eq(rank[k], class[k] == IGNORE ? CLASSES : higher);
        if (class[k] == IGNORE)
            continue;
        want[best] += best == class[k];
        want[CLASSES + best]++;
        want[2 * CLASSES + class[k]]++;
    }
    run_check(run, counts, want, "counts");
}

/* ---- products ---- */

static void multiply(const double *a, const double *b, double *y, long rows, long columns, long depth, bool ta, bool tb)
{
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++)
            for (long l = 0; l < depth; l++)
                y[i * columns + j] += a[ta ? l * rows + i : i * depth + l] * b[tb ? j * depth + l : l * columns + j];
}

static void scenario_products(Run *run)
{
    enum { BATCH = 3, ROWS = 5, COLUMNS = 7, DEPTH = 9 };
    Reals a = run_input(run, BATCH * ROWS * DEPTH, 27), b = run_input(run, BATCH * COLUMNS * DEPTH, 28);
    for (long flags = 0; flags < 8; flags++) {
        bool ta = flags & 1, tb = flags & 2, one_b = flags & 4;
        Reals y = run_output(run, BATCH * ROWS * COLUMNS);
        double *want = run_numbers(run, y.count);
        run_kernel(run, "product", P(a.bytes, b.bytes, y.bytes),
                   L(BATCH, ROWS, COLUMNS, DEPTH, ROWS * DEPTH, one_b ? 0 : COLUMNS * DEPTH, ta, tb), NULL);
        for (long n = 0; n < BATCH; n++)
            multiply(a.value + n * ROWS * DEPTH, b.value + (one_b ? 0 : n * COLUMNS * DEPTH), want + n * ROWS * COLUMNS, ROWS,
                     COLUMNS, DEPTH, ta, tb);
        run_check(run, y, want, "product");
    }
}

/* a (2, 1, ...) and b (1, 3, ...) */
static void scenario_broadcast_products(Run *run)
{
    enum { ROWS = 2, COLUMNS = 3, DEPTH = 4 };
    Reals a = run_input(run, 2 * ROWS * DEPTH, 29), b = run_input(run, 3 * COLUMNS * DEPTH, 30);
    Reals y = run_output(run, 6 * ROWS * COLUMNS);
    double *want = run_numbers(run, y.count);
    run_kernel(run, "product_broadcast", P(a.bytes, b.bytes, y.bytes),
               L(2, 3, ROWS * DEPTH, 0, 0, COLUMNS * DEPTH, ROWS, COLUMNS, DEPTH, false, false), NULL);
    for (long n = 0; n < 6; n++)
        multiply(a.value + n / 3 * ROWS * DEPTH, b.value + n % 3 * COLUMNS * DEPTH, want + n * ROWS * COLUMNS, ROWS, COLUMNS,
                 DEPTH, false, false);
    run_check(run, y, want, "product");
}

/* ---- cross-entropy ---- */

enum { LOSS_ROWS = 40, CLASSES = 11, IGNORED = 2 };

static double smoothed(double weight, double rest)
{
    return weight * (1 - rest * CLASSES) + rest;
}

/* Loss and gradient of one row whose classes weigh `weight`. */
static double naive_loss(const double *x, const double *weight, double d, double *dx)
{
    double sum = 0, total = 0, loss = 0;
    for (long c = 0; c < CLASSES; c++)
        sum += exp(x[c]), total += weight[c];
    for (long c = 0; c < CLASSES; c++) {
        loss += weight[c] * (log(sum) - x[c]);
        dx[c] = d * (exp(x[c]) / sum * total - weight[c]);
    }
    return loss;
}

static void check_cross_entropy(Run *run, const char *suffix, double share, double rest)
{
    Reals logits = run_input(run, LOSS_ROWS * CLASSES, 31), drow = run_input(run, LOSS_ROWS, 32);
    Reals loss = run_output(run, LOSS_ROWS), dlogits = run_output(run, LOSS_ROWS * CLASSES);
    int *class = ints_random(run->library, LOSS_ROWS, CLASSES, 33), *partner = ints_random(run->library, LOSS_ROWS, CLASSES, 34);
    double *want = run_numbers(run, LOSS_ROWS), *want_d = run_numbers(run, dlogits.count);
    const double numbers[] = { smoothed(share, rest), smoothed(1 - share, rest), smoothed(1, rest), rest };
    partner[0] = class[0];
    class[1] = IGNORED;
    class[2] = 1, partner[2] = IGNORED;
    run_kernel(run, text_format(run->arena, "cross_entropy%s", suffix), P(logits.bytes, class, partner, loss.bytes),
               L(LOSS_ROWS, CLASSES, IGNORED), numbers);
    run_kernel(run, text_format(run->arena, "cross_entropy_grad%s", suffix),
               P(logits.bytes, class, partner, NULL, drow.bytes, dlogits.bytes), L(LOSS_ROWS, CLASSES, IGNORED), numbers);
    for (long k = 0; k < LOSS_ROWS; k++) {
        double weight[CLASSES];
        for (long c = 0; c < CLASSES; c++)
            weight[c] = smoothed((c == class[k]) * share + (c == partner[k] && c != IGNORED) * (1 - share), rest);
        if (class[k] != IGNORED)
            want[k] = naive_loss(logits.value + k * CLASSES, weight, drow.value[k], want_d + k * CLASSES);
    }
    run_check(run, loss, want, suffix);
    run_check(run, dlogits, want_d, suffix);
}

static void scenario_cross_entropy(Run *run)
{
    check_cross_entropy(run, "", 1, 0);
    check_cross_entropy(run, "_smooth", 1, 0.01);
    check_cross_entropy(run, "_mixed", 0.3, 0);
    check_cross_entropy(run, "_both", 0.3, 0.01);
}

static void scenario_dense_cross_entropy(Run *run)
{
    Reals logits = run_input(run, LOSS_ROWS * CLASSES, 35), target = run_input(run, LOSS_ROWS * CLASSES, 36);
    Reals loss = run_output(run, LOSS_ROWS);
    double *want = run_numbers(run, LOSS_ROWS), unused[CLASSES];
    run_kernel(run, "dense_cross_entropy", P(logits.bytes, target.bytes, NULL, loss.bytes), L(LOSS_ROWS, CLASSES), NULL);
    for (long k = 0; k < LOSS_ROWS; k++)
        want[k] = naive_loss(logits.value + k * CLASSES, target.value + k * CLASSES, 1, unused);
    run_check(run, loss, want, "loss");
}

/* Large logits neither overflow nor lose the small one's loss. */
static void scenario_large_logits(Run *run)
{
    Reals logits = run_input(run, CLASSES, 37), loss = run_output(run, 1);
    for (long c = 0; c < CLASSES; c++)
        logits.value[c] = c == 4 ? 1e4 : -1e4;
    reals_write(run->library, &logits);
    int class = 3;
    run_kernel(run, "cross_entropy", P(logits.bytes, &class, NULL, loss.bytes), L(1, CLASSES, -100), NULL);
    ck_assert_double_eq(loss.value[0], 2e4);
}

/* ---- attention ---- */

typedef struct Attention {
    const char *suffix;
    long rows, heads, length, keys, size;
    bool causal, masked, hooked;
} Attention;

static double naive_score(const Attention *at, const double *q, const double *k, long head, long query, long key)
{
    double score = 0;
    for (long d = 0; d < at->size; d++)
        score += 0.5 * q[d] * k[d];
    return at->hooked ? score * score + 0.1 * (double)(head + key - query) : score;
}

/* One query; returns the log of the sum of exp(score). */
static double naive_query(const Attention *at, const double *q, const double *k, const double *v, const double *mask, long head,
                          long query, double *y)
{
    double sum = 0;
    for (long d = 0; d < at->size; d++)
        y[d] = 0;
    for (long key = 0; key < at->keys; key++) {
        if ((at->causal && key > query) || (at->masked && mask[key] == 0))
            continue;
        double share = exp(naive_score(at, q, k + key * at->size, head, query, key));
        sum += share;
        for (long d = 0; d < at->size; d++)
            y[d] += share * v[key * at->size + d];
    }
    for (long d = 0; d < at->size && sum > 0; d++)
        y[d] /= sum;
    return sum > 0 ? log(sum) : INFINITY;
}

static void naive_attention(const Attention *at, const double *q, const double *k, const double *v, const double *mask, double *y,
                            double *lse)
{
    for (long pair = 0; pair < at->rows * at->heads; pair++)
        for (long query = 0; query < at->length; query++) {
            long row = pair * at->length + query, keys = pair * at->keys * at->size;
            lse[row] = naive_query(at, q + row * at->size, k + keys, v + keys, mask + pair / at->heads * at->keys,
                                   pair % at->heads, query, y + row * at->size);
        }
}

typedef struct AttentionTensors { Reals q, k, v, dy, mask, y, lse, dq, dk, dv; } AttentionTensors;

/* The slope of sum dy y along a random direction of q, k, v, by differences and by the gradients. */
static void check_attention_slope(Run *run, const Attention *at, AttentionTensors *t, unsigned seed)
{
    Reals *varied[] = { &t->q, &t->k, &t->v }, *gradient[] = { &t->dq, &t->dk, &t->dv };
    double *y = run_numbers(run, t->y.count), *lse = run_numbers(run, t->lse.count), sum[2] = { 0 }, slope = 0;
    for (int side = 0; side < 2; side++) {
        const double *moved[3];
        for (int i = 0; i < 3; i++) {
            Reals direction = reals_random(run->library, varied[i]->count, seed + (unsigned)i);
            double *at_side = run_numbers(run, varied[i]->count);
            for (long e = 0; e < varied[i]->count; e++) {
                at_side[e] = varied[i]->value[e] + (side ? 1e-5 : -1e-5) * direction.value[e];
                slope += side ? gradient[i]->value[e] * direction.value[e] : 0;
            }
            moved[i] = at_side;
        }
        naive_attention(at, moved[0], moved[1], moved[2], t->mask.value, y, lse);
        for (long e = 0; e < t->y.count; e++)
            sum[side] += t->dy.value[e] * y[e];
    }
    double want = (sum[1] - sum[0]) / 2e-5, allowed = (run->library->is_double ? 1e-7 : 1e-4) * (1 + fabs(want));
    ck_assert_msg(fabs(slope - want) < allowed, "attention%s: slope %.10g, not %.10g", at->suffix, slope, want);
}

static void check_attention(Run *run, const Attention *at)
{
    long queries = at->rows * at->heads * at->length, keys = at->rows * at->heads * at->keys;
    AttentionTensors t = {
        run_input(run, queries * at->size, 41), run_input(run, keys * at->size, 42), run_input(run, keys * at->size, 43),
        run_input(run, queries * at->size, 44), run_input(run, at->rows * at->keys, 45), run_output(run, queries * at->size),
        run_output(run, queries), run_output(run, queries * at->size), run_output(run, keys * at->size),
        run_output(run, keys * at->size),
    };
    for (long i = 0; i < t.mask.count; i++)
        t.mask.value[i] = t.mask.value[i] > -0.3 && i >= at->keys / 2;
    reals_write(run->library, &t.mask);
    const long shape[] = { at->rows, at->heads, at->length, at->keys, at->size };
    const double scale = 0.5;
    run_kernel(run, text_format(run->arena, "attention%s", at->suffix),
               P(t.q.bytes, t.k.bytes, t.v.bytes, t.y.bytes, t.lse.bytes, t.mask.bytes), shape, &scale);
    run_kernel(run, text_format(run->arena, "attention_grad%s", at->suffix),
               P(t.dy.bytes, t.q.bytes, t.k.bytes, t.v.bytes, t.y.bytes, t.lse.bytes, t.dq.bytes, t.dk.bytes, t.dv.bytes,
                 t.mask.bytes), shape, &scale);
    reals_read(run->library, &t.dq), reals_read(run->library, &t.dk), reals_read(run->library, &t.dv);
    double *y = run_numbers(run, t.y.count), *lse = run_numbers(run, t.lse.count);
    naive_attention(at, t.q.value, t.k.value, t.v.value, t.mask.value, y, lse);
    run_check(run, t.y, y, "attention");
    run_check(run, t.lse, lse, "log-sum-exp");
    for (unsigned seed = 50; seed < 60; seed += 3)
        check_attention_slope(run, at, &t, seed);
}

static const Attention attentions[] = {
    { "", 2, 2, 5, 7, 3, false, false, false },         { "", 1, 2, 70, 131, 6, false, false, false },
    { "_causal", 1, 2, 70, 70, 5, true, false, false }, { "_causal", 1, 1, 33, 64, 4, true, false, false },
    { "_mask", 2, 2, 40, 70, 4, false, true, false },   { "_hook", 2, 3, 35, 35, 4, true, false, true },
};

static void scenario_attention(Run *run)
{
    for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++)
        check_attention(run, &attentions[i]);
}

/* A row whose keys are all hidden gives 0 and passes no gradient. */
static void scenario_all_hidden(Run *run)
{
    Reals x = run_input(run, 4, 46), mask = reals_zero(run->library, 2), lse = run_output(run, 2);
    Reals y = run_output(run, 4), dq = run_output(run, 4), dk = run_output(run, 4), dv = run_output(run, 4);
    const double zeros[4] = { 0 }, scale = 1;
    run_kernel(run, "attention_mask", P(x.bytes, x.bytes, x.bytes, y.bytes, lse.bytes, mask.bytes), L(1, 1, 2, 2, 2), &scale);
    run_kernel(run, "attention_grad_mask", P(x.bytes, x.bytes, x.bytes, x.bytes, y.bytes, lse.bytes, dq.bytes, dk.bytes, dv.bytes,
                                             mask.bytes), L(1, 1, 2, 2, 2), &scale);
    Reals all[] = { y, dq, dk, dv };
    for (int i = 0; i < 4; i++)
        run_check(run, all[i], zeros, "hidden");
}

START_TEST(softmaxes_are_right) { run_everywhere(scenario_softmax); } END_TEST
START_TEST(embeddings_are_right) { run_everywhere(scenario_gather); } END_TEST
START_TEST(counts_are_right) { run_everywhere(scenario_counts); } END_TEST
START_TEST(products_are_right) { run_everywhere(scenario_products); } END_TEST
START_TEST(broadcast_products_are_right) { run_everywhere(scenario_broadcast_products); } END_TEST
START_TEST(cross_entropies_are_right) { run_everywhere(scenario_cross_entropy); } END_TEST
START_TEST(dense_cross_entropies_are_right) { run_everywhere(scenario_dense_cross_entropy); } END_TEST
START_TEST(large_logits_are_harmless) { run_everywhere(scenario_large_logits); } END_TEST
START_TEST(attentions_are_right) { run_everywhere(scenario_attention); } END_TEST
START_TEST(hidden_rows_are_zero) { run_everywhere(scenario_all_hidden); } END_TEST

void add_row_kernels(Suite *suite)
{
    TCase *rows = kernels_case(suite, "rows");
    tcase_add_loop_test(rows, functions_are_as_near_as_they_say, 0, sizeof functions / sizeof *functions);
    tcase_add_test(rows, softmaxes_are_right);
    tcase_add_test(rows, embeddings_are_right);
    tcase_add_test(rows, counts_are_right);
    tcase_add_test(rows, products_are_right);
    tcase_add_test(rows, broadcast_products_are_right);
    tcase_add_test(rows, cross_entropies_are_right);
    tcase_add_test(rows, dense_cross_entropies_are_right);
    tcase_add_test(rows, large_logits_are_harmless);
    tcase_add_test(rows, attentions_are_right);
    tcase_add_test(rows, hidden_rows_are_zero);
}
