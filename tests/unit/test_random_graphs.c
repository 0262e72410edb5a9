/* test_random_graphs.c -- random small graphs: they verify, their gradients are those of finite differences,
 * their text reads back, and no pass changes what they compute. */
#include <math.h>

#include "gradients_bench.h"
#include "opt/opt.h"
#include "plan/layout.h"

enum { GRAPHS = 60, STEPS = 9, MOST_ELEMENTS = 120 };

/* ---- growing: each takes tensors that are there and makes one more, or NULL where none fits ---- */

typedef struct Growth { Trial *trial; NodeArray nodes; } Growth;
typedef Node *Grow(Growth *growth);

static Node *any(Growth *growth)
{
    return growth->nodes.items[trial_integer(growth->trial, 0, growth->nodes.count - 1)];
}

/* One of this rank, or a new parameter. */
static Node *of_rank(Growth *growth, int rank)
{
    for (int tries = 0; tries < 8; tries++) {
        Node *node = any(growth);
        if (node->shape.rank == rank)
            return node;
    }
    Shape shape = { .rank = rank };
    for (int axis = 0; axis < rank; axis++)
        shape.dim[axis] = trial_integer(growth->trial, 1, rank > 3 ? 3 : 4);
    return trial_parameter(growth->trial, shape);
}

/* A new parameter that broadcasts against x: some axes 1, some leading ones missing. */
static Node *partner_of(Growth *growth, const Node *x)
{
    Trial *trial = growth->trial;
    Shape shape = { .rank = (int)trial_integer(trial, 0, x->shape.rank) };
    for (int axis = 0; axis < shape.rank; axis++)
        shape.dim[axis] = trial_integer(trial, 0, 2) ? x->shape.dim[axis + x->shape.rank - shape.rank] : 1;
    return trial_parameter(trial, shape);
}

static Node *grow_unary(Growth *growth)
{
    Trial *trial = growth->trial;
    const Expr *x = trial_x(trial), *one = trial_constant(trial, 1);
    const Expr *formulas[] = {
        trial_unary(trial, EXPR_tanh, x), trial_unary(trial, EXPR_sin, x), trial_unary(trial, EXPR_neg, x),
        times(trial, x, trial_constant(trial, 0.5)), plus(trial, x, one), times(trial, x, one),
        trial_binary(trial, EXPR_div, x, plus(trial, one, times(trial, x, x))),
        trial_unary(trial, EXPR_erf, x), x,
    };
    Node *node = any(growth);
    int which = (int)trial_integer(trial, 0, sizeof formulas / sizeof *formulas - 1);
    return node_map(trial->graph, formulas[which], &node, 1);
}

static Node *grow_binary(Growth *growth)
{
    Trial *trial = growth->trial;
    Node *inputs[2] = { any(growth), any(growth) };
    Shape common;
    if (!shape_broadcast(inputs[0]->shape, inputs[1]->shape, &common) || shape_elements(common) > MOST_ELEMENTS)
        inputs[1] = partner_of(growth, inputs[0]);
    int which = (int)trial_integer(trial, 0, 2);
    const Expr *x = trial_x(trial), *y = trial_y(trial);
    const Expr *formula = which == 0 ? plus(trial, x, y)
                        : which == 1 ? times(trial, x, y)
                                     : trial_binary(trial, EXPR_sub, x, y);
    return node_map(trial->graph, formula, inputs, 2);
}

static Node *grow_reduce(Growth *growth)
{
    Node *x = any(growth);
    unsigned axes = (unsigned)trial_integer(growth->trial, 1, (1 << x->shape.rank) - (x->shape.rank > 0));
    ReduceKind kind = trial_integer(growth->trial, 0, 1) ? REDUCE_SUM : REDUCE_MEAN;
    return x->shape.rank ? build_reduce(growth->trial->graph, x, kind, axes) : NULL;
}

static Node *grow_reshape(Growth *growth)
{
    Node *x = any(growth);
    int64_t count = shape_elements(x->shape), rows = trial_integer(growth->trial, 1, 6);
    return build_reshape(growth->trial->graph, x, count % rows ? SHAPE(count) : SHAPE(rows, count / rows));
}

static Node *grow_transpose(Growth *growth)
{
    Node *x = any(growth);
    int order[MAX_RANK];
    for (int axis = 0; axis < x->shape.rank; axis++)
        order[axis] = axis;
    for (int axis = x->shape.rank - 1; axis > 0; axis--) {
        int other = (int)trial_integer(growth->trial, 0, axis), swap = order[axis];
        order[axis] = order[other], order[other] = swap;
    }
    return x->shape.rank > 1 ? build_transpose(growth->trial->graph, x, order) : NULL;
}

static Node *grow_slice(Growth *growth)
{
    Node *x = any(growth);
    if (!x->shape.rank)
        return NULL;
    int axis = (int)trial_integer(growth->trial, 0, x->shape.rank - 1);
    int64_t begin = trial_integer(growth->trial, 0, x->shape.dim[axis] - 1);
    int64_t end = trial_integer(growth->trial, begin + 1, x->shape.dim[axis]);
    return build_slice(growth->trial->graph, x, axis, begin, end, trial_integer(growth->trial, 1, 2));
}

static Node *grow_pad(Growth *growth)
{
    Node *x = any(growth);
    Attributes at = { .pad = { .value = trial_integer(growth->trial, 0, 1) ? 0.5 : 0 } };
    for (int axis = 0; axis < x->shape.rank; axis++) {
        at.pad.before[axis] = trial_integer(growth->trial, x->shape.dim[axis] > 1 ? -1 : 0, 1);
        at.pad.after[axis] = trial_integer(growth->trial, 0, 1);
    }
    return x->shape.rank ? add(growth->trial, OP_pad, &at, NODES(x)) : NULL;
}

static Node *grow_concat(Growth *growth)
{
    Node *x = any(growth);
    if (!x->shape.rank)
        return NULL;
    int axis = (int)trial_integer(growth->trial, 0, x->shape.rank - 1);
    Shape shape = x->shape;
    shape.dim[axis] = trial_integer(growth->trial, 1, 2);
    return add(growth->trial, OP_concat, &(Attributes){ .concat = { axis } },
               NODES(x, trial_parameter(growth->trial, shape)));
}

static Node *grow_matmul(Growth *growth)
{
    Trial *trial = growth->trial;
    Node *a = of_rank(growth, (int)trial_integer(trial, 2, 3));
    bool ta = trial_integer(trial, 0, 1), tb = trial_integer(trial, 0, 1);
    int64_t inner = a->shape.dim[a->shape.rank - (ta ? 2 : 1)], columns = trial_integer(trial, 1, 3);
    Node *b = trial_parameter(trial, tb ? SHAPE(columns, inner) : SHAPE(inner, columns));
    return build_matmul(trial->graph, a, b, ta, tb);
}

static Node *grow_conv2d(Growth *growth)
{
    Trial *trial = growth->trial;
    Node *x = of_rank(growth, 4);
    Attributes at = { .conv = { .dilation = { 1, 1 }, .groups = 1 } };
    int64_t kernel[2];
    for (int i = 0; i < 2; i++) {
        kernel[i] = trial_integer(trial, 1, 2);
        at.conv.stride[i] = trial_integer(trial, 1, 2);
        at.conv.before[i] = kernel[i] - 1;
        at.conv.after[i] = trial_integer(trial, 0, 1);
    }
    Node *w = trial_parameter(trial, SHAPE(trial_integer(trial, 1, 3), x->shape.dim[1], kernel[0], kernel[1]));
    return add(trial, OP_conv2d, &at, NODES(x, w));
}

static Node *grow_window(Growth *growth)
{
    Node *x = of_rank(growth, 4);
    Pool means = { .kernel = { 2, 1 }, .stride = { 1, 1 }, .padding = { 1, 0 }, .dilation = { 1, 1 } };
    Attributes pool = { .pool = means };
    Attributes blur = { .blur = { { 1, 2 } } }, resize = { .resize = { .bilinear = true } };
    switch (trial_integer(growth->trial, 0, 2)) {
    case 0: return add(growth->trial, OP_avg_pool2d, &pool, NODES(x));
    case 1: return add(growth->trial, OP_blur2d, &blur, NODES(x));
    default:
        return node_add_shaped(growth->trial->graph, OP_resize2d, &x, 1, &resize,
                               SHAPE(x->shape.dim[0], x->shape.dim[1], 3, 2), DTYPE_REAL);
    }
}

/* epsilon is large, so that groups of near-equal values don't blow up differences */
static Node *grow_norm(Growth *growth)
{
    Trial *trial = growth->trial;
    Node *x = of_rank(growth, (int)trial_integer(trial, 0, 1) ? 4 : 2);
    bool batch = trial_integer(trial, 0, 1);
    Norm norm = { batch ? NORM_BATCH : trial_integer(trial, 0, 1) ? NORM_ROW : NORM_RMS, 0.5, 1, 1, 0, false };
    Attributes at = { .norm = norm };
    Node *weight = trial_parameter(trial, SHAPE(x->shape.dim[batch ? 1 : x->shape.rank - 1]));
    return add(trial, OP_normalize, &at, NODES(x, add(trial, OP_moments, &at, NODES(x)), weight));
}

static Node *grow_softmax(Growth *growth)
{
    Node *x = any(growth);
    if (!x->shape.rank)
        return NULL;
    Attributes at = { .softmax = { (int)trial_integer(growth->trial, 0, x->shape.rank - 1) } };
    return add(growth->trial, trial_integer(growth->trial, 0, 1) ? OP_softmax : OP_log_softmax, &at, NODES(x));
}

static Node *grow_attention(Growth *growth)
{
    Trial *trial = growth->trial;
    Node *q = of_rank(growth, 4);
    Shape shape = q->shape;
    shape.dim[2] = trial_integer(trial, 1, 4);
    Node *k = trial_parameter(trial, shape), *v = trial_parameter(trial, shape);
    Attributes at = { .attention = { trial_integer(trial, 0, 1), 0.5 } };
    return add(trial, OP_attention, &at, NODES(q, k, v));
}

static Grow *const growths[] = {
    grow_unary,     grow_unary, grow_binary,  grow_binary,    grow_reduce, grow_reshape,
    grow_transpose, grow_slice, grow_pad,     grow_concat,    grow_matmul, grow_conv2d,
    grow_window,    grow_norm,  grow_softmax, grow_attention,
};

/* The weighted sum of the last tensors, so that most of what was made matters. */
static Node *last_sums(Growth *growth)
{
    Graph *graph = growth->trial->graph;
    Node *sum = NULL;
    for (int i = growth->nodes.count - 3; i < growth->nodes.count; i++) {
        Node *node = growth->nodes.items[i];
        Node *one =
            node->shape.rank ? build_reduce(graph, node, REDUCE_SUM, (1u << node->shape.rank) - 1) : node;
        one = build_scale(graph, build_reshape(graph, one, shape_of(0)), 1 + 0.25 * i);
        sum = sum ? build_add(graph, sum, one) : one;
    }
    return sum;
}

static Trial *random_trial(int seed)
{
    Growth growth = { .trial = trial_create(1000 + (uint64_t)seed) };
    Trial *trial = growth.trial;
    array_push(trial->arena, &growth.nodes, trial_parameter(trial, SHAPE(2, 3)));
    array_push(trial->arena, &growth.nodes, trial_parameter(trial, SHAPE(2, 2, 3, 2)));
    for (int step = 0; step < STEPS;) {
        Node *node = growths[trial_integer(trial, 0, sizeof growths / sizeof *growths - 1)](&growth);
        if (!node || shape_elements(node->shape) > MOST_ELEMENTS)
            continue;
        array_push(trial->arena, &growth.nodes, node);
        step++;
    }
    trial_differentiate(trial, last_sums(&growth), NULL);
    return trial;
}

/* ---- gradients ---- */

START_TEST(gradients_of_random_graphs)
{
    Trial *trial = random_trial(_i);
    check_gradients(trial);
    trial_destroy(trial);
}
END_TEST

/* ---- passes ---- */

/* The values of all outputs, one after another. */
typedef struct Values { double *items; int64_t count; } Values;

static Values output_values(Trial *trial)
{
    Interp *interp = trial_interp(trial);
    Values values = { 0 };
    interp_run(interp);
    for (int i = 0; i < trial->graph->outputs.count; i++)
        values.count += shape_elements(trial->graph->outputs.items[i].node->shape);
    values.items = arena_array(trial->arena, double, values.count);
    double *to = values.items;
    for (int i = 0; i < trial->graph->outputs.count; i++) {
        const Node *node = trial->graph->outputs.items[i].node;
        memcpy(to, interp_value(interp, node), sizeof *to * (size_t)shape_elements(node->shape));
        to += shape_elements(node->shape);
    }
    return values;
}

static void check_same(Trial *trial, const Values *before, const char *what)
{
    const char *broken = graph_verify(trial->graph, trial->arena);
    ck_assert_msg(!broken, "after %s: %s", what, broken);
    Values after = output_values(trial);
    ck_assert_msg(after.count == before->count, "%s changes how many values there are", what);
    for (int64_t i = 0; i < after.count; i++)
        ck_assert_msg(fabs(after.items[i] - before->items[i]) <= 1e-11 * (1 + fabs(before->items[i])),
                      "%s changes value %lld from %.15g to %.15g", what, (long long)i, before->items[i],
                      after.items[i]);
}

typedef struct PassRow { const char *name; void (*run)(Graph *graph); } PassRow;

static void simplify(Graph *graph)
{
    opt_simplify(graph);
}

static void prune(Graph *graph)
{
    opt_prune(graph);
}

static void layout(Graph *graph)
{
    plan_layout(graph);
}

START_TEST(passes_keep_values)
{
    static const PassRow passes[] = {
        { "sort", graph_sort }, { "simplify", simplify }, { "prune", prune }, { "layout", layout },
    };
    Trial *trial = random_trial(_i);
    Values before = output_values(trial);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        passes[i].run(trial->graph);
        check_same(trial, &before, passes[i].name);
    }
    trial_destroy(trial);
}
END_TEST

/* Each pass alone, and simplify twice: the second time finds nothing that changes a value either. */
START_TEST(passes_in_another_order)
{
    static const PassRow passes[] = {
        { "prune", prune }, { "layout", layout }, { "simplify", simplify }, { "simplify again", simplify },
    };
    Trial *trial = random_trial(_i);
    Values before = output_values(trial);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        passes[i].run(trial->graph);
        check_same(trial, &before, passes[i].name);
    }
    trial_destroy(trial);
}
END_TEST

/* ---- text ---- */

/* The parameters of a graph that was read, by the names of those of the trial. */
static void adopt(Trial *trial, Graph *graph)
{
    for (int i = 0; i < graph->nodes.count; i++) {
        Node *node = graph->nodes.items[i];
        for (int k = 0; node->op == OP_parameter && k < trial->parameters.count; k++)
            if (text_equal(node->at.parameter.is->name, trial->parameters.items[k]->name))
                node->at.parameter.is = trial->parameters.items[k];
    }
    for (int i = 0; i < graph->outputs.count; i++)
        for (int k = 0; graph->outputs.items[i].parameter && k < trial->parameters.count; k++)
            if (text_equal(graph->outputs.items[i].parameter->name, trial->parameters.items[k]->name))
                graph->outputs.items[i].parameter = trial->parameters.items[k];
    trial->graph = graph;
}

START_TEST(text_reads_back)
{
    Trial *trial = random_trial(_i);
    Buffer first = { .arena = trial->arena }, second = { .arena = trial->arena };
    Diagnostics diag = { .arena = trial->arena };
    Values before = output_values(trial);
    graph_print(&first, trial->graph);
    const char *text = buffer_text(&first);
    Source source = { "graph", text, strlen(text) };
    Graph *graph = graph_read(trial->arena, trial->graph->exprs, &source, &diag);
    ck_assert_msg(graph, "%s\n%s", diag.list.count ? diag.list.items[0].message : "", text);
    graph_print(&second, graph);
    ck_assert_str_eq(buffer_text(&second), text);
    adopt(trial, graph);
    check_same(trial, &before, "reading");
    trial_destroy(trial);
}
END_TEST

Suite *random_graphs_suite(void)
{
    Suite *suite = suite_create("random_graphs");
    TCase *tcase = group(suite, "gradients");
    tcase_add_loop_test(tcase, gradients_of_random_graphs, 0, GRAPHS);
    tcase = group(suite, "passes");
    tcase_add_loop_test(tcase, passes_keep_values, 0, GRAPHS);
    tcase_add_loop_test(tcase, passes_in_another_order, 0, GRAPHS);
    tcase = group(suite, "text");
    tcase_add_loop_test(tcase, text_reads_back, 0, GRAPHS);
    return suite;
}
