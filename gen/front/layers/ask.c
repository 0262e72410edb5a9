/* ask.c -- calls that make no nodes: sizes, scopes; and the log of calls. */
#include "front/layers/call.h"

static bool ask_axis(Call *call, int axis)
{
    Node *x = call_tensor(call, 0);
    if (!x)
        return false;
    if (axis >= x->shape.rank)
        return call_error(call, "%s of a tensor of shape %s", call->site->callee, call_shape(call, x));
    return call_return_integer(call, x->shape.dim[axis]);
}

bool ask_rank(Call *call)
{
    Node *x = call_tensor(call, 0);
    return x && call_return_integer(call, x->shape.rank);
}

bool ask_size(Call *call)
{
    Node *x = call_tensor(call, 0);
    int axis = x ? call_axis(call, 1, x) : -1;
    return axis >= 0 && ask_axis(call, axis);
}

bool ask_channels(Call *call)
{
    Node *x = call_tensor(call, 0);
    return x && ask_axis(call, (int)channel_axis(x));
}

bool ask_rows(Call *call)
{
    return ask_axis(call, 0);
}

bool ask_height(Call *call)
{
    return ask_axis(call, 2);
}

bool ask_width(Call *call)
{
    return ask_axis(call, 3);
}

bool ask_length(Call *call)
{
    return ask_axis(call, 1);
}

static bool return_truth(Call *call, bool truth)
{
    *call->result = value_scalar(expr_truth(call->builder->graph->exprs, truth));
    return true;
}

bool ask_training(Call *call)
{
    return return_truth(call, call->builder->training);
}

/* ---- scopes and requirements ---- */

bool open_scope(Call *call)
{
    const char *word = value_format(call->evaluator, call->site, call->arguments, call->count);
    if (!word)
        return false;
    if (!*word)
        return call_error(call, "a scope needs a name");
    builder_open(call->builder, builder_path(call->builder, word), LAYER_NONE);
    return return_truth(call, true);
}

bool check_requirement(Call *call)
{
    *call->result = (Value){ .kind = VALUE_VOID };
    if (call_number(call, 0) != 0)
        return true;
    const char *text = value_format(call->evaluator, call->site, call->arguments + 1, call->count - 1);
    return text && call_error(call, "%s", text);
}

bool close_scope(Call *call)
{
    builder_close(call->builder);
    return return_truth(call, false);
}

/* ---- the log: "t3 = conv2d_layer(t2, 16, {name=NULL kernel=3 ...}) [2,16,32,32]" ---- */

static int tensor_number(Builder *builder, Node *x)
{
    for (int i = 0; i < builder->logged.count; i++)
        if (builder->logged.items[i] == x)
            return i;
    array_push(builder->arena, &builder->logged, x);
    return builder->logged.count - 1;
}

static void log_value(Builder *builder, const Value *value)
{
    Buffer *log = builder->log;
    while (value->kind == VALUE_POINTER)
        value = value->target;
    switch (value->kind) {
    case VALUE_SCALAR:
        buffer_add(log, "%.5g", expr_is_constant(value->scalar) ? expr_value(value->scalar) : 0.0);
        break;
    case VALUE_TEXT:
        buffer_add(log, "%s", value->text ? value->text : "NULL");
        break;
    case VALUE_TENSOR:
        if (value->tensor)
            buffer_add(log, "t%d", tensor_number(builder, value->tensor));
        else
            buffer_add(log, "NONE");
        break;
    case VALUE_STRUCT:
        buffer_add(log, "{");
        for (int i = 0; i < value->record.count; i++) {
            buffer_add(log, "%s%s=", i ? " " : "", value->record.fields[i].name);
            log_value(builder, value->record.fields[i].value);
        }
        buffer_add(log, "}");
        break;
    case VALUE_ARRAY:
        buffer_add(log, "[");
        for (int i = 0; i < value->array.count; i++) {
            buffer_add(log, "%s", i ? "," : "");
            log_value(builder, &value->array.items[i]);
        }
        buffer_add(log, "]");
        break;
    default:
        buffer_add(log, "?");
    }
}

void layers_log(Call *call)
{
    Builder *builder = call->builder;
    if (call->result->kind != VALUE_TENSOR)
        return;
    Buffer *log = builder->log;
    buffer_add(log, "%s(", call->site->callee);
    for (int i = 0; i < call->count; i++) {
        buffer_add(log, "%s", i ? ", " : "");
        log_value(builder, &call->arguments[i]);
    }
    Node *x = call->result->tensor;
    buffer_add(log, ") = t%d %s\n", tensor_number(builder, x), shape_text(builder->arena, x->shape));
}
