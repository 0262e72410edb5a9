/* simplify.c -- local rewrites to a fixed point.
 *
 *     a = map x          mul(0.5, in0)
 *     b = map a y x      add(in0, in1)          b = map x y        add(mul(0.5, in0), in1)
 *     t = transpose b 1,0                  =>   m = matmul b b
 *     u = transpose t 1,0
 *     m = matmul b u
 *
 * A rule changes its node in place, or names the earlier node that has the same value; it never makes nodes, so
 * the order stays topological. */
#include "opt/opt_inside.h"

#include <string.h>

enum { MOST_MAP_INPUTS = 8 };

typedef struct Sweep {
    Graph *graph;
    unsigned *thin;                     /* by id */
    Node **now;                         /* by id: the node that is used instead */
    bool *is_output, *is_buffer;        /* by id; is_buffer: the value is written into a running statistic */
    int changes;
} Sweep;

/* NULL: nothing to do; the node itself: it was changed; another node: it has the same value. */
typedef Node *Rule(Sweep *sweep, Node *node);

/* ---- maps ---- */

/* The input `slot` as the expression reads it, NULL if it doesn't. */
static const Expr *reading_of(const Expr *expr, int slot)
{
    if (!expr_uses_input(expr, slot))
        return NULL;
    while (expr->op != EXPR_input || expr->slot != slot) {
        int k = 0;
        while (!expr_uses_input(expr->operand[k], slot))
            k++;
        expr = expr->operand[k];
    }
    return expr;
}

static int place_of(Node *const *inputs, int count, const Node *node)
{
    for (int k = 0; k < count; k++)
        if (inputs[k] == node)
            return k;
    return -1;
}

/* Inputs that the expression does not read go, and each is there once: what is not read need not live long. */
static Node *narrow(Sweep *sweep, Node *node)
{
    ExprPool *pool = sweep->graph->exprs;
    const Expr *slots[MOST_MAP_INPUTS] = { NULL };
    Node *kept[MOST_MAP_INPUTS];
    int count = 0;
    for (int k = 0; k < node->input_count; k++) {
        const Expr *reading = reading_of(node->expr, k);
        if (!reading)
            continue;
        int at = place_of(kept, count, node->inputs[k]);
        if (at < 0)
            kept[at = count++] = node->inputs[k];
        slots[k] = expr_input(pool, at, reading->type);
    }
    if (count == node->input_count)
        return NULL;
    node->expr = expr_substitute(pool, node->expr, slots, node->input_count, NULL, 0);
    node->input_count = count;
    memcpy(node->inputs, kept, sizeof *kept * (size_t)count);
    return node;
}

/* A map of constants alone. One constant among other inputs stays a node: its value may be a count that differs
 * between phases, and then it must not decide what becomes of an expression. */
static Node *fold_constants(Sweep *sweep, Node *node)
{
    ExprPool *pool = sweep->graph->exprs;
    const Expr *values[MOST_MAP_INPUTS] = { NULL };
    for (int k = 0; k < node->input_count; k++) {
        const Expr *reading = reading_of(node->expr, k);
        if (node->inputs[k]->op != OP_constant || !reading)
            return NULL;
        values[k] = expr_convert(pool, expr_number(pool, node->inputs[k]->at.constant), reading->type);
    }
    const Expr *value = expr_substitute(pool, node->expr, values, node->input_count, NULL, 0);
    if (value->op != EXPR_number || node->dtype != DTYPE_REAL)
        return NULL;
    node->op = OP_constant;
    node->at = (Attributes){ .constant = value->number };
    node->input_count = 0;
    node->expr = NULL;
    return node;
}

static bool is_first_input(const Expr *expr)
{
    return expr->op == EXPR_input && expr->slot == 0 && expr->type == TYPE_FLOAT;
}

/* in0, -in0, in0 * c, c * in0, in0 / c */
static bool is_scale(const Expr *expr)
{
    const Expr *a = expr->operand[0], *b = expr->operand[1];
    switch (expr->op) {
    case EXPR_neg: return is_first_input(a);
    case EXPR_div: return is_first_input(a) && b->op == EXPR_number;
    case EXPR_mul: return (is_first_input(a) && b->op == EXPR_number) || (a->op == EXPR_number && is_first_input(b));
    default:       return is_first_input(expr);
    }
}

/* Nothing but a factor and broadcasting: whoever reads it element by element may as well read its input. */
static bool is_scale_map(const Node *node)
{
    return node->op == OP_map && node->input_count == 1 && is_scale(node->expr) && node->dtype == DTYPE_REAL
        && node->inputs[0]->dtype == DTYPE_REAL && node->layout == node->inputs[0]->layout;
}

static Node *absorb_scales(Sweep *sweep, Node *node)
{
    ExprPool *pool = sweep->graph->exprs;
    const Expr *values[MOST_MAP_INPUTS] = { NULL };
    bool any = false;
    for (int k = 0; k < node->input_count; k++) {
        const Expr *reading = reading_of(node->expr, k);
        Node *scale = node->inputs[k];
        if (!reading || reading->type != TYPE_FLOAT || !is_scale_map(scale))
            continue;
        values[k] = expr_substitute(pool, scale->expr, &reading, 1, NULL, 0);
        node->inputs[k] = scale->inputs[0];
        any = true;
    }
    if (!any)
        return NULL;
    node->expr = expr_substitute(pool, node->expr, values, node->input_count, NULL, 0);
    return node;
}

/* x * a * b, in whichever order the factors stand: one factor. */
static Node *join_factors(Sweep *sweep, Node *node)
{
    ExprPool *pool = sweep->graph->exprs;
    const Expr *outer = node->expr, *inner;
    if (outer->op != EXPR_mul)
        return NULL;
    int number = outer->operand[0]->op == EXPR_number ? 0 : 1;
    inner = outer->operand[1 - number];
    if (outer->operand[number]->op != EXPR_number || !is_scale(inner) || inner->op == EXPR_input)
        return NULL;
    const Expr *one = expr_number(pool, 1), *x = expr_input(pool, 0, TYPE_FLOAT);
    const Expr *factor = expr_substitute(pool, inner, &one, 1, NULL, 0);
    node->expr = expr_binary(pool, EXPR_mul, x, expr_binary(pool, EXPR_mul, factor, outer->operand[number]));
    return node;
}

/* map x: in0, of the same shape in every phase */
static Node *drop_identity(Sweep *sweep, Node *node)
{
    if (node->input_count != 1 || !is_first_input(node->expr) || opt_may_widen(node, sweep->thin))
        return NULL;
    Node *x = node->inputs[0];
    bool same = x->dtype == node->dtype && x->layout == node->layout && shape_equal(x->shape, node->shape);
    return same ? x : NULL;
}

/* ---- moves ---- */

static Node *join_transposes(Sweep *sweep, Node *node)
{
    (void)sweep;
    const Node *inner = node->inputs[0];
    if (inner->op != OP_transpose || inner->layout != inner->inputs[0]->layout)
        return NULL;
    for (int i = 0; i < node->shape.rank; i++)
        node->at.transpose.order[i] = inner->at.transpose.order[node->at.transpose.order[i]];
    node->inputs[0] = inner->inputs[0];
    return node;
}

static Node *drop_transpose(Sweep *sweep, Node *node)
{
    (void)sweep;
    for (int i = 0; i < node->shape.rank; i++)
        if (node->at.transpose.order[i] != i)
            return NULL;
    return node->inputs[0]->layout == node->layout ? node->inputs[0] : NULL;
}

static Node *join_reshapes(Sweep *sweep, Node *node)
{
    (void)sweep;
    const Node *inner = node->inputs[0];
    if (inner->op != OP_reshape || inner->layout != inner->inputs[0]->layout)
        return NULL;
    node->inputs[0] = inner->inputs[0];
    return node;
}

/* With one axis or none the number of elements says all; with more, equal shapes may be a coincidence. */
static Node *drop_reshape(Sweep *sweep, Node *node)
{
    (void)sweep;
    return node->shape.rank <= 1 && node->inputs[0]->shape.rank == node->shape.rank ? node->inputs[0] : NULL;
}

/* Axes that have one element in every phase: those reduced already, and those of what looks like a parameter. */
static unsigned single_axes(const Node *node)
{
    bool is_fixed = node->op == OP_parameter || node->op == OP_conv2d_grad_weight || node->op == OP_gather_grad;
    unsigned axes = node->op == OP_reduce ? node->at.reduce.axes : 0;
    for (int i = 0; is_fixed && i < node->shape.rank; i++)
        axes |= (unsigned)(node->shape.dim[i] == 1) << i;
    return axes;
}

static Node *drop_reduce(Sweep *sweep, Node *node)
{
    (void)sweep;
    Node *x = node->inputs[0];
    return (node->at.reduce.axes & ~single_axes(x)) == 0 && x->layout == node->layout ? x : NULL;
}

/* ---- the walk ---- */

static const struct RuleRow { Op op; Rule *rule; } rules[] = {
    { OP_map,       absorb_scales },   { OP_map,       narrow },         { OP_map,    join_factors },
    { OP_map,       fold_constants },  { OP_map,       drop_identity },
    { OP_transpose, join_transposes }, { OP_transpose, drop_transpose },
    { OP_reshape,   join_reshapes },   { OP_reshape,   drop_reshape },   { OP_reduce, drop_reduce },
};

enum { RULES = sizeof rules / sizeof *rules };

/* What is written into a running statistic stays a node of its own, and no output may become one that is never
 * computed: computing an output is what delivers it. */
static bool may_stand_for(const Sweep *sweep, const Node *node, const Node *other)
{
    if (sweep->is_buffer[node->id] || sweep->is_buffer[other->id])
        return false;
    bool is_computed = op_info[other->op].role != ROLE_LEAF || other->op == OP_constant;
    return is_computed || !sweep->is_output[node->id];
}

/* Applies rules until none changes the node; the other node that has its value, or NULL. */
static Node *apply_rules(Sweep *sweep, Node *node)
{
    for (int i = 0; i < RULES; i++) {
        Node *other = rules[i].op == node->op ? rules[i].rule(sweep, node) : NULL;
        if (!other || (other != node && !may_stand_for(sweep, node, other)))
            continue;
        if (other != node)
            return other;
        sweep->changes++;
        i = -1;                         /* from the first rule again */
    }
    return NULL;
}

static void visit(Sweep *sweep, Twins *twins, Node *node)
{
    for (int k = 0; k < node->input_count; k++)
        node->inputs[k] = sweep->now[node->inputs[k]->id];
    Node *other = apply_rules(sweep, node);
    if (!other && !sweep->is_buffer[node->id]) {
        other = opt_twin_of(twins, node);
        other = other && may_stand_for(sweep, node, other) ? other : NULL;
    }
    sweep->now[node->id] = other ? other : node;
    sweep->thin[node->id] = opt_thin_axes(node, sweep->thin);
    sweep->changes += other != NULL;
}

static Sweep sweep_over(Graph *graph, Arena *pass)
{
    int count = graph->nodes.count + 1;
    Sweep sweep = { .graph = graph, .thin = arena_array(pass, unsigned, count),
                    .now = arena_array(pass, Node *, count), .is_output = arena_array(pass, bool, count),
                    .is_buffer = arena_array(pass, bool, count) };
    for (int i = 0; i < graph->outputs.count; i++) {
        const Output *output = &graph->outputs.items[i];
        sweep.is_output[output->node->id] = true;
        sweep.is_buffer[output->node->id] |= output->kind == OUTPUT_BUFFER;
    }
    return sweep;
}

/* Once over the nodes that matter, in order: whoever is visited finds its inputs simplified. */
static int simplify_once(Graph *graph, Arena *pass)
{
    const bool *needed = opt_needed(graph, pass);
    Sweep sweep = sweep_over(graph, pass);
    Twins twins = opt_twins(graph, sweep.thin, pass);
    for (int i = 0; i < graph->nodes.count; i++)
        if (needed[i])
            visit(&sweep, &twins, graph->nodes.items[i]);
    for (int i = 0; i < graph->outputs.count; i++)
        graph->outputs.items[i].node = sweep.now[graph->outputs.items[i].node->id];
    return sweep.changes;
}

int opt_simplify(Graph *graph)
{
    Arena *pass = arena_create();
    int changes = 0, more;
    while ((more = simplify_once(graph, pass)) > 0) {
        changes += more;
        arena_reset(pass);
    }
    arena_destroy(pass);
    return changes;
}
