/* layout.c -- one row an op: what it needs of its inputs, and how its result lies. Only tensors of four axes have a choice. */
#include "plan/layout.h"

typedef enum Rule {
    FOLLOW,                             /* takes any layout; the result is images when an input is */
    ROWS,                               /* works on rows */
    IMAGES,                             /* images in, images out; a second input that is a weight stays as in its file */
    WEIGHT_OF_IMAGES,                   /* images in, a weight out */
    NORM,                               /* of images or of rows, as its groups say */
    ALIKE,                              /* takes any layout, but the same for both inputs */
} Rule;

static const Rule rules[OP_COUNT] = {
    [OP_constant] = ROWS, [OP_parameter] = ROWS, [OP_reshape] = ROWS, [OP_transpose] = FOLLOW, [OP_gather] = ROWS,
    [OP_gather_grad] = ROWS, [OP_matmul] = ROWS, [OP_attention] = ROWS, [OP_attention_grad] = ROWS,
    [OP_conv2d] = IMAGES, [OP_conv2d_grad_input] = IMAGES, [OP_conv2d_grad_weight] = WEIGHT_OF_IMAGES,
    [OP_max_pool2d] = IMAGES, [OP_max_pool2d_grad] = IMAGES, [OP_avg_pool2d] = IMAGES, [OP_avg_pool2d_grad] = IMAGES,
    [OP_resize2d] = IMAGES, [OP_resize2d_grad] = IMAGES, [OP_blur2d] = IMAGES, [OP_blur2d_grad] = IMAGES,
    [OP_moments] = NORM, [OP_normalize] = NORM, [OP_normalize_grad_sums] = NORM, [OP_normalize_grad] = NORM,
    [OP_normalize_grad_affine] = NORM, [OP_dense_cross_entropy] = ALIKE,
};

static Rule rule_of(const Node *node)
{
    if (rules[node->op] != NORM)
        return rules[node->op];
    bool by_channel = node->at.norm.kind == NORM_BATCH || node->at.norm.kind == NORM_GROUP;
    return by_channel ? IMAGES : ROWS;
}

static bool has_choice(const Node *node)
{
    return node->shape.rank == 4;
}

static bool is_images(const Node *node)
{
    return has_choice(node) && node->layout == LAYOUT_IMAGES;
}

/* ---- copies between layouts ---- */

typedef struct Copies {
    Graph *graph;
    Node **other;                       /* by id of the nodes there were: the same tensor in the other layout */
    int count;
} Copies;

static Node *in_layout(Copies *copies, Node *node, Layout layout)
{
    Graph *graph = copies->graph;
    if (!has_choice(node) || node->layout == layout)
        return node;
    if (copies->other[node->id])
        return copies->other[node->id];
    bool whole = node->dtype == DTYPE_INT32;
    Node *copy = node_map(graph, expr_input(graph->exprs, 0, whole ? TYPE_INT : TYPE_FLOAT), &node, 1);
    copy->layout = layout;
    copy->name = text_format(graph->arena, "%s%s", node->name ? node->name : op_info[node->op].name,
                             layout == LAYOUT_IMAGES ? " as images" : " as rows");
    copy->place = node->place;
    copy->method = node->method;
    return copies->other[node->id] = copy;
}

/* ---- one node ---- */

/* The second input of a convolution, forward or backward, is its weight. */
static bool is_weight(const Node *node, int input)
{
    return input == 1 && (node->op == OP_conv2d || node->op == OP_conv2d_grad_input);
}

static void set_inputs(Copies *copies, Node *node, Rule rule)
{
    for (int i = 0; i < node->input_count; i++) {
        Layout wanted = node->inputs[i]->layout;
        if (rule == ROWS && node->op != OP_reshape)
            wanted = LAYOUT_ROWS;
        else if (rule == IMAGES || rule == WEIGHT_OF_IMAGES)
            wanted = is_weight(node, i) ? LAYOUT_ROWS : LAYOUT_IMAGES;
        else if (rule == ALIKE)
            wanted = node->inputs[0]->layout;
        node->inputs[i] = in_layout(copies, node->inputs[i], wanted);
    }
}

static Layout own_layout(const Node *node, Rule rule)
{
    if (!has_choice(node) || rule == ROWS || rule == WEIGHT_OF_IMAGES)
        return LAYOUT_ROWS;
    if (rule == IMAGES)
        return LAYOUT_IMAGES;
    if (node->op == OP_input)
        return node->at.input.kind == INPUT_IMAGES ? LAYOUT_IMAGES : LAYOUT_ROWS;
    for (int i = 0; i < node->input_count; i++)
        if (is_images(node->inputs[i]))
            return node->op == OP_transpose ? LAYOUT_ROWS : LAYOUT_IMAGES;
    return LAYOUT_ROWS;
}

/* Results beside the first lie as their producer's own. */
static Layout result_layout(const Node *node)
{
    return has_choice(node) ? node->inputs[0]->layout : LAYOUT_ROWS;
}

void plan_layout(Graph *graph)
{
    int count = graph->nodes.count;
    Copies copies = { graph, arena_array(graph->arena, Node *, count + 1), count };
    for (int i = 0; i < count; i++) {
        Node *node = graph->nodes.items[i];
        Rule rule = rule_of(node);
        set_inputs(&copies, node, rule);
        node->layout = node->op == OP_result ? result_layout(node) : own_layout(node, rule);
    }
    if (graph->nodes.count > count)
        graph_sort(graph);
}
