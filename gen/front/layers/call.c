/* call.c -- arguments, complaints and nodes of one call. */
#include "front/layers/call.h"

#include <stdio.h>

/* ---- arguments ---- */

static double number_of(const Value *value)
{
    return value && value->kind == VALUE_SCALAR && expr_is_constant(value->scalar) ? expr_value(value->scalar)
                                                                                   : 0;
}

/* Arrays arrive as such or behind a pointer. */
static const Value *array_of(const Value *value)
{
    while (value && value->kind == VALUE_POINTER)
        value = value->target;
    return value && value->kind == VALUE_ARRAY ? value : NULL;
}

Node *call_tensor(Call *call, int index)
{
    const Value *value = &call->arguments[index];
    if (value->kind == VALUE_TENSOR && value->tensor)
        return value->tensor;
    call_error(call, "argument %d of %s is NONE; a tensor is needed", index + 1, call->word);
    return NULL;
}

int64_t call_integer(const Call *call, int index)
{
    return (int64_t)number_of(&call->arguments[index]);
}

double call_number(const Call *call, int index)
{
    return number_of(&call->arguments[index]);
}

const char *call_text(const Call *call, int index)
{
    const Value *value = &call->arguments[index];
    return value->kind == VALUE_TEXT ? value->text : NULL;
}

bool call_sizes(Call *call, int index, int64_t *sizes, int *rank)
{
    const Value *array = array_of(&call->arguments[index]);
    *rank = (int)call_integer(call, index + 1);
    if (*rank < 0 || *rank > MAX_RANK)
        return call_error(call, "%s: a tensor has at most %d axes, not %d", call->word, MAX_RANK, *rank);
    if (!array || array->array.count < *rank)
        return call_error(call, "%s: %d sizes are needed", call->word, *rank);
    for (int i = 0; i < *rank; i++)
        sizes[i] = (int64_t)number_of(&array->array.items[i]);
    return true;
}

const Value *call_options(const Call *call)
{
    return call->count ? &call->arguments[call->count - 1] : NULL;
}

static const Value *option(const Value *options, const char *name)
{
    return options && options->kind == VALUE_STRUCT ? value_field(options, name) : NULL;
}

int64_t option_integer(const Value *options, const char *name)
{
    return (int64_t)number_of(option(options, name));
}

double option_number(const Value *options, const char *name)
{
    return number_of(option(options, name));
}

bool option_truth(const Value *options, const char *name)
{
    return number_of(option(options, name)) != 0;
}

const char *option_text(const Value *options, const char *name)
{
    const Value *value = option(options, name);
    return value && value->kind == VALUE_TEXT ? value->text : NULL;
}

Node *option_tensor(const Value *options, const char *name)
{
    const Value *value = option(options, name);
    return value && value->kind == VALUE_TENSOR ? value->tensor : NULL;
}

int call_axis(Call *call, int index, const Node *x)
{
    int64_t axis = call_integer(call, index), rank = x->shape.rank;
    if (axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    call_error(call, "%s: %s has no axis %lld", call->word, call_shape(call, x), (long long)axis);
    return -1;
}

/* ---- complaints ---- */

bool call_error(Call *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *message = text_vformat(call->builder->arena, format, arguments);
    va_end(arguments);
    complain(call->builder->diag, call->site->place, "%s", message);
    return false;
}

static void note_origin(Call *call, const Node *x)
{
    if (x->place.source)
        note(call->builder->diag, x->place, "%s was made here", call_shape(call, x));
}

bool call_mismatch(Call *call, const Node *a, const Node *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *message = text_vformat(call->builder->arena, format, arguments);
    va_end(arguments);
    call_error(call, "%s: %s and %s %s", call->word, call_shape(call, a), call_shape(call, b), message);
    note_origin(call, a);
    note_origin(call, b);
    return false;
}

bool call_needs_rank(Call *call, const Node *x, int rank, const char *axes)
{
    if (x->shape.rank == rank)
        return true;
    call_error(call, "%s takes %s; this has shape %s", call->word, axes, call_shape(call, x));
    note_origin(call, x);
    return false;
}

bool call_needs_images(Call *call, const Node *x)
{
    return call_needs_rank(call, x, 4, "images (rows, channels, height, width)");
}

bool call_needs_positive(Call *call, const char *what, int64_t number)
{
    return number > 0
           || call_error(call, "%s: %s is %lld; it must be at least 1", call->word, what, (long long)number);
}

const char *call_shape(const Call *call, const Node *x)
{
    return shape_text(call->builder->arena, x->shape);
}

/* ---- nodes ---- */

const char *builder_node_name(Builder *builder, const char *base)
{
    for (int i = 0; i < builder->node_names.count; i++)
        if (text_equal(builder->node_names.items[i].name, base)) {
            const char *name = text_format(builder->arena, "%s_%d", base,
                                           ++builder->node_names.items[i].count);
            return builder_node_name(builder, name);
        }
    array_push(builder->arena, &builder->node_names, (NameCount){ base, 1 });
    return base;
}

void call_part(Call *call, const char *part)
{
    Builder *builder = call->builder;
    const char *whole = call->name ? call->name : builder_path(builder, call->word);
    builder->graph->name = builder_node_name(builder, text_format(builder->arena, "%s.%s", whole, part));
}

Node *call_add(Call *call, Op op, Node *const *inputs, int count, const Attributes *at)
{
    call_name(call);
    return node_add(call->builder->graph, op, inputs, count, at);
}

bool call_return(Call *call, Node *node)
{
    *call->result = value_tensor(node);
    return true;
}

bool call_return_integer(Call *call, int64_t integer)
{
    *call->result = value_scalar(expr_integer(call->builder->graph->exprs, integer));
    return true;
}

uint64_t call_site(Call *call)
{
    const char *method = call->builder->graph->method;
    return text_hash(text_format(call->builder->arena, "%s/%s", method ? method : "", call_name(call)));
}

/* ---- windows ---- */

void option_pair(const Value *options, const char *name, int64_t pair[2])
{
    char width[64];
    snprintf(width, sizeof width, "%s_width", name);
    pair[0] = option_integer(options, name);
    pair[1] = option_integer(options, width);
    if (pair[1] < 0)
        pair[1] = pair[0];
}

int64_t window_count(int64_t size, int64_t before, int64_t after, int64_t kernel, int64_t stride,
                     int64_t dilation)
{
    int64_t room = size + before + after - dilation * (kernel - 1) - 1;
    return room < 0 ? 0 : room / stride + 1;
}

bool call_image_too_small(Call *call, const Node *x, const int64_t kernel[2])
{
    call_error(call,
               "%s: image smaller than the network's strides: a kernel of %lldx%lld does not fit into %s",
               call->word, (long long)kernel[0], (long long)kernel[1], call_shape(call, x));
    note_origin(call, x);
    return false;
}

Node *call_add_bias(Call *call, Node *x, Node *bias)
{
    Graph *graph = call->builder->graph;
    int after = x->shape.rank - 1 - (int)channel_axis(x);
    Shape shape = { .rank = 1 + after, .dim = { bias->shape.dim[0], 1, 1, 1, 1, 1 } };
    if (after) {
        call_part(call, "bias");
        bias = build_reshape(graph, bias, shape);
    }
    call_name(call);
    return build_add(graph, x, bias);
}

/* Axis 1 of images and matrices, the last one otherwise. */
int64_t channel_axis(const Node *x)
{
    return x->shape.rank == 4 || x->shape.rank == 2 ? 1 : x->shape.rank - 1;
}
