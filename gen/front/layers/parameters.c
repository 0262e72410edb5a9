/* parameters.c -- weights and buffers: found by name in the program, made when new. */
#include "front/layers/call.h"

static Parameter *find_parameter(const Builder *builder, const char *name)
{
    for (int i = 0; i < builder->parameters->count; i++)
        if (text_equal(builder->parameters->items[i]->name, name))
            return builder->parameters->items[i];
    return NULL;
}

/* Length of the owner's name: "layer1.0.conv1" of "layer1.0.conv1.weight". */
static size_t owner_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

/* Layers are numbered as they first own a parameter; those of one layer share its number. */
static int leaf_of(const Builder *builder, const char *name)
{
    int next = 0;
    size_t length = owner_length(name);
    for (int i = 0; i < builder->parameters->count; i++) {
        const Parameter *other = builder->parameters->items[i];
        if (owner_length(other->name) == length && !strncmp(other->name, name, length))
            return other->leaf;
        next = other->leaf >= next ? other->leaf + 1 : next;
    }
    return next;
}

static Parameter *make_new(Call *call, const Weight *weight, const char *name)
{
    Builder *builder = call->builder;
    const Expr *initial = call_initial(call, weight, name);
    if (!initial)
        return NULL;
    Parameter *parameter = arena_new(builder->arena, Parameter);
    *parameter = (Parameter){
        .name = name,
        .id = builder->parameters->count,
        .leaf = leaf_of(builder, name),
        .shape = weight->shape,
        .is_buffer = weight->is_buffer,
        .fan_in_first = weight->fan_in_first,
        .initial = initial,
        .place = call->site->place,
        .method = builder->graph->method,
    };
    array_push(builder->arena, builder->parameters, parameter);
    return parameter;
}

static bool complain_shape(Call *call, const Weight *weight, const Parameter *known)
{
    Arena *arena = call->builder->arena;
    call_error(call, "parameter '%s' is %s here", known->name, shape_text(arena, weight->shape));
    note(call->builder->diag, known->place, "and %s here", shape_text(arena, known->shape));
    return false;
}

static Node *node_of(Call *call, const Parameter *parameter)
{
    Graph *graph = call->builder->graph;
    for (int i = 0; i < graph->nodes.count; i++) {
        Node *node = graph->nodes.items[i];
        if (node->op == OP_parameter && node->at.parameter.is == parameter)
            return node;
    }
    graph->name = builder_node_name(call->builder, parameter->name);
    return node_add_shaped(graph, OP_parameter, NULL, 0, &(Attributes){ .parameter = { parameter } },
                           parameter->shape, DTYPE_REAL);
}

Node *call_weight(Call *call, const Weight *weight)
{
    Arena *arena = call->builder->arena;
    const char *name = !weight->layer ? weight->part
                                      : text_format(arena, "%s.%s", weight->layer, weight->part);
    Parameter *parameter = find_parameter(call->builder, name);
    if (!parameter)
        parameter = make_new(call, weight, name);
    else if (!shape_equal(parameter->shape, weight->shape))
        return complain_shape(call, weight, parameter), NULL;
    return parameter ? node_of(call, parameter) : NULL;
}

/* parameter("wte.weight", "normal_0.02", rows, columns): fans as PyTorch counts them, of axes 1 and 0. */
bool make_parameter(Call *call)
{
    const char *name = call_text(call, 0);
    Shape shape = { 0 };
    if (!name || !*name)
        return call_error(call, "a parameter needs a name");
    if (!call_sizes(call, 2, shape.dim, &shape.rank))
        return false;
    int64_t window = 1;
    for (int i = 0; i < shape.rank; i++) {
        if (!call_needs_positive(call, "a size", shape.dim[i]))
            return false;
        window *= i > 1 ? shape.dim[i] : 1;
    }
    int64_t rows = shape.rank ? shape.dim[0] : 1, columns = shape.rank > 1 ? shape.dim[1] : rows;
    Node *node = call_weight(call, &(Weight){
        .part = builder_path(call->builder, name), .shape = shape, .role = LINEAR_WEIGHT, .apart = true,
        .fan_in = columns * window, .fan_out = rows * window, .init = call_text(call, 1),
    });
    return node && call_return(call, node);
}
