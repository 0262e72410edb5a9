/* losses.c -- from the model's output to the loss of each row, their mean, and what evaluation counts.
 *
 * Targets are never dense unless the data is: a row has a class and, where rows are mixed, its partner's
 * class. */
#include "front/layers/call.h"

/* Classes are axis 1 of images and matrices, the last axis of text. */
static Shape target_shape(const Node *output)
{
    Shape shape = { 0 };
    int64_t classes = channel_axis(output);
    for (int i = 0; i < output->shape.rank; i++)
        if (i != classes)
            shape.dim[shape.rank++] = output->shape.dim[i];
    return shape;
}

static bool is_dense(const Node *targets)
{
    return targets->dtype == DTYPE_REAL;
}

static Node *make_target_input(Builder *builder, InputKind kind, const char *name, Shape shape)
{
    builder->graph->name = name;
    return node_add_shaped(builder->graph, OP_input, NULL, 0, &(Attributes){ .input = { kind } }, shape,
                           DTYPE_INT32);
}

static bool has_partner(const Builder *builder)
{
    return builder->training && builder->partner_weight;
}

static Node *partner_of(Builder *builder)
{
    if (!builder->partner_targets)
        builder->partner_targets = make_target_input(builder, INPUT_PARTNER_TARGETS, "partner_targets",
                                                     builder->targets->shape);
    return builder->partner_targets;
}

/* What the methods make of the weight of one class; NULL: nothing. */
static const Expr *target_hook(const Builder *builder, int64_t classes)
{
    return builder->training && builder->loss_target ? builder->loss_target(builder->hooks, classes) : NULL;
}

/* The row's own share of a mixed target; NULL: all of it. */
static const Expr *own_share(const Builder *builder)
{
    ExprPool *pool = builder->graph->exprs;
    return has_partner(builder) ? expr_binary(pool, EXPR_sub, expr_number(pool, 1), builder->partner_weight)
                                : NULL;
}

static bool check_targets(Call *call, const Node *logits, const Node *targets)
{
    if (logits->shape.rank < 2)
        return call_error(call, "%s: %s has no axis of classes", call->word, call_shape(call, logits));
    if (is_dense(targets) ? shape_equal(targets->shape, logits->shape)
                          : shape_equal(targets->shape, target_shape(logits)))
        return true;
    return call_mismatch(call, logits, targets, "are not logits and their targets");
}

/* Is the label in this slot the one that is ignored? */
static const Expr *is_ignored(ExprPool *pool, int slot)
{
    return expr_binary(pool, EXPR_eq, expr_input(pool, slot, TYPE_INT), expr_integer(pool, IGNORED_TARGET));
}

/* ---- calls of losses.c ---- */

bool make_cross_entropy_dense(Call *call)
{
    Node *logits = call_tensor(call, 0), *targets = logits ? call_tensor(call, 1) : NULL;
    if (!targets)
        return false;
    if (!shape_equal(logits->shape, targets->shape))
        return call_mismatch(call, logits, targets, "differ; dense targets have the shape of the logits");
    Attributes at = { .loss = { .axis = (int)channel_axis(logits), .ignore = IGNORED_TARGET } };
    return call_return(call, call_add(call, OP_dense_cross_entropy, (Node *[]){ logits, targets }, 2, &at));
}

bool make_cross_entropy(Call *call)
{
    Builder *builder = call->builder;
    Node *logits = call_tensor(call, 0), *targets = logits ? call_tensor(call, 1) : NULL;
    if (!targets || !check_targets(call, logits, targets))
        return false;
    if (is_dense(targets))
        return make_cross_entropy_dense(call);
    bool mixed = has_partner(builder) && targets == builder->targets;
    int axis = (int)channel_axis(logits);
    Attributes at = { .loss = { axis, IGNORED_TARGET, mixed ? own_share(builder) : NULL } };
    Node *inputs[3] = { logits, targets, mixed ? partner_of(builder) : NULL };
    Node *node = call_add(call, OP_cross_entropy, inputs, mixed ? 3 : 2, &at);
    node->expr = target_hook(builder, logits->shape.dim[axis]);
    return call_return(call, node);
}

/* share (class == own) + (1 - share) (class == partner), slots 0 and 1 */
static const Expr *raw_weight(const Builder *builder, int axis, bool mixed)
{
    ExprPool *pool = builder->graph->exprs;
    const Expr *class = expr_index(pool, axis);
    const Expr *is_own = expr_binary(pool, EXPR_eq, class, expr_input(pool, 0, TYPE_INT));
    const Expr *own = expr_convert(pool, is_own, TYPE_FLOAT);
    if (!mixed)
        return own;
    const Expr *is_partner = expr_binary(pool, EXPR_eq, class, expr_input(pool, 1, TYPE_INT));
    const Expr *partner = expr_convert(pool, is_partner, TYPE_FLOAT);
    return expr_binary(pool, EXPR_add, expr_binary(pool, EXPR_mul, own_share(builder), own),
                       expr_binary(pool, EXPR_mul, builder->partner_weight, partner));
}

static const Expr *hooked(const Builder *builder, const Expr *weight, int64_t classes)
{
    const Expr *hook = target_hook(builder, classes);
    return hook ? expr_substitute(builder->graph->exprs, hook, &weight, 1, NULL, 0) : weight;
}

/* Targets with an axis of one class, so that they broadcast against logits. */
static Node *with_class_axis(Call *call, Node *targets, const Node *logits, int axis)
{
    Shape shape = logits->shape;
    shape.dim[axis] = 1;
    call_part(call, "targets");
    return build_reshape(call->builder->graph, targets, shape);
}

/* 0 everywhere in a row that is ignored. */
bool make_class_weights(Call *call)
{
    Builder *builder = call->builder;
    Graph *graph = builder->graph;
    ExprPool *pool = graph->exprs;
    Node *logits = call_tensor(call, 0), *targets = logits ? call_tensor(call, 1) : NULL;
    if (!targets || !check_targets(call, logits, targets))
        return false;
    int axis = (int)channel_axis(logits);
    int64_t classes = logits->shape.dim[axis];
    if (is_dense(targets)) {
        const Expr *weight = hooked(builder, expr_input(pool, 0, TYPE_FLOAT), classes);
        call_name(call);
        return call_return(call, node_map(graph, weight, &targets, 1));
    }
    bool mixed = has_partner(builder) && targets == builder->targets;
    Node *inputs[2] = { with_class_axis(call, targets, logits, axis),
                        mixed ? with_class_axis(call, partner_of(builder), logits, axis) : NULL };
    const Expr *weight = hooked(builder, raw_weight(builder, axis, mixed), classes);
    weight = expr_select(pool, is_ignored(pool, 0), expr_number(pool, 0), weight);
    call_name(call);
    return call_return(call, node_map_shaped(graph, weight, inputs, mixed ? 2 : 1, logits->shape));
}

/* ---- the loss of a batch ---- */

static const CFunction *find_loss(Builder *builder, const CFile *losses, const char *name, Place place)
{
    static const char prefix[] = "loss_";
    const CFunction *function = cfile_find_function(losses, text_format(builder->arena, "%s%s", prefix, name));
    if (function)
        return function;
    TextArray names = { 0 };
    for (int i = 0; i < cfile_function_count(losses); i++) {
        const char *other = cfunction_name(cfile_function(losses, i));
        if (text_starts(other, prefix))
            array_push(builder->arena, &names, other + strlen(prefix));
    }
    const char *near = text_nearest(name, names.items, names.count);
    complain(builder->diag, place, "there is no loss '%s'%s%s%s", name, near ? "; did you mean '" : "",
             near ? near : "", near ? "'?" : "");
    return NULL;
}

/* Calls made by the loss are the compiler's own: methods don't rewrite them. */
static Node *run_loss(Builder *builder, const CFile *losses, const CFunction *function, Node *output)
{
    Host host = builder_host(builder);
    Evaluator *evaluator = evaluator_create(builder->arena, builder->graph->exprs, builder->diag, losses,
                                            &host);
    Value arguments[2] = { value_tensor(output), value_tensor(builder->targets) }, result = { 0 };
    RewriteCall *rewrite = builder->rewrite;
    ScopeFrame *scope = builder->scope;
    builder->rewrite = NULL;
    builder_open(builder, "loss", LAYER_NONE);
    bool ok = evaluate_call(evaluator, function, arguments, 2, &result);
    builder->scope = scope;
    builder->rewrite = rewrite;
    return ok ? result.tensor : NULL;
}

Node *builder_loss(Builder *builder, const CFile *losses, const char *name, Place place, Node *output)
{
    const CFunction *function = find_loss(builder, losses, name, place);
    if (!function)
        return NULL;
    builder->graph->place = place;
    if (!builder->targets)
        builder->targets = make_target_input(builder, INPUT_TARGETS, "targets", target_shape(output));
    Node *rows = run_loss(builder, losses, function, output);
    if (!rows)
        return NULL;
    Shape wanted = is_dense(builder->targets) ? rows->shape : builder->targets->shape;
    if (shape_equal(rows->shape, wanted) && rows->shape.rank > 0 && rows->shape.dim[0] == output->shape.dim[0])
        return rows;
    complain(builder->diag, place, "loss '%s' gives %s for an output of %s; it must give one value a row",
             name, shape_text(builder->arena, rows->shape), shape_text(builder->arena, output->shape));
    note(builder->diag, cfunction_place(function), "it is defined here");
    return NULL;
}

/* ---- sums over rows ---- */

static Node *total(Builder *builder, Node *x, ReduceKind kind)
{
    return build_reshape(builder->graph, build_reduce(builder->graph, x, kind, (1u << x->shape.rank) - 1),
                         shape_of(0));
}

/* expr(input 0: x, input 1: the target) of each row that is not ignored, else 0; dense targets are never
 * ignored. */
static Node *counted(Builder *builder, const Expr *expr, Node *x)
{
    Graph *graph = builder->graph;
    ExprPool *pool = graph->exprs;
    if (is_dense(builder->targets))
        return node_map(graph, expr, &x, 1);
    expr = expr_select(pool, is_ignored(pool, 1), expr_number(pool, 0), expr);
    return node_map(graph, expr, (Node *[]){ x, builder->targets }, 2);
}

/* How many rows count, at least 1 so that a batch of ignored rows has loss 0. */
static Node *row_count(Builder *builder, const char *name)
{
    Graph *graph = builder->graph;
    ExprPool *pool = graph->exprs;
    const Expr *one = expr_select(pool, is_ignored(pool, 0), expr_number(pool, 0), expr_number(pool, 1));
    graph->name = name;
    return total(builder, node_map(graph, one, &builder->targets, 1), REDUCE_SUM);
}

Node *builder_mean_loss(Builder *builder, Node *rows)
{
    Graph *graph = builder->graph;
    ExprPool *pool = graph->exprs;
    Node *loss;
    if (is_dense(builder->targets)) {
        graph->name = "loss";
        loss = total(builder, rows, REDUCE_MEAN);
    } else {
        Node *count = row_count(builder, "loss.count");
        graph->name = "loss.sum";
        Node *sum = total(builder, counted(builder, expr_input(pool, 0, TYPE_FLOAT), rows), REDUCE_SUM);
        const Expr *divisor = expr_binary(pool, EXPR_max, expr_input(pool, 1, TYPE_FLOAT),
                                          expr_number(pool, 1));
        graph->name = "loss";
        loss = node_map(graph, expr_binary(pool, EXPR_div, expr_input(pool, 0, TYPE_FLOAT), divisor),
                        (Node *[]){ sum, count }, 2);
    }
    graph_output(graph, (Output){ OUTPUT_LOSS, loss, NULL, "loss" });
    return loss;
}

static void add_metric(Builder *builder, const char *name, Node *node)
{
    graph_output(builder->graph, (Output){ OUTPUT_METRIC, node, NULL, name });
}

static Node *metric_of_rank(Builder *builder, Node *rank, int64_t below, const char *name)
{
    ExprPool *pool = builder->graph->exprs;
    const Expr *hit = expr_binary(pool, EXPR_lt, expr_input(pool, 0, TYPE_INT), expr_integer(pool, below));
    builder->graph->name = name;
    return total(builder, counted(builder, expr_convert(pool, hit, TYPE_FLOAT), rank), REDUCE_SUM);
}

void builder_metrics(Builder *builder, Node *rows, Node *output)
{
    Graph *graph = builder->graph;
    ExprPool *pool = graph->exprs;
    graph->name = "metric.loss";
    add_metric(builder, "loss",
               total(builder, counted(builder, expr_input(pool, 0, TYPE_FLOAT), rows), REDUCE_SUM));
    if (is_dense(builder->targets)) {
        graph->name = "metric.count";
        Attributes count = { .constant = (double)shape_elements(rows->shape) };
        add_metric(builder, "count",
                   node_add_shaped(graph, OP_constant, NULL, 0, &count, shape_of(0), DTYPE_REAL));
        return;
    }
    add_metric(builder, "count", row_count(builder, "metric.count"));
    int axis = (int)channel_axis(output);
    if (!shape_equal(target_shape(output), builder->targets->shape))
        return;
    graph->name = "metric.rank";
    Attributes at = { .loss = { .axis = axis, .ignore = IGNORED_TARGET } };
    Node *rank = node_add(graph, OP_target_rank, (Node *[]){ output, builder->targets }, 2, &at);
    add_metric(builder, "correct", metric_of_rank(builder, rank, 1, "metric.correct"));
    if (output->shape.dim[axis] > 5)
        add_metric(builder, "top5", metric_of_rank(builder, rank, 5, "metric.top5"));
}
