/* cases.c -- what the builders of cases share, and the table that finds them. */
#include "tests/ops/cases.h"

static const OpRow rows[] = {
#define ROW(op, build, tolerance) { #op, build, tolerance },
#include "tests/ops/ops_table.def"
};

const OpRow *op_row(const char *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_equal(rows[i].op, op))
            return &rows[i];
    return NULL;
}

/* ---- tensors ---- */

/* Floats with a stored gradient are trained, others are buffers; whole numbers come with the batch. */
static Node *make_tensor(OpCase *c, const Tensor *tensor)
{
    Trial *trial = c->trial;
    if (text_equal(tensor->name, "key_padding_mask"))
        return trial_input(trial, INPUT_DENSE_TARGETS, tensor->shape, DTYPE_REAL, tensor->values);
    if (tensor->is_whole) {
        InputKind kind = text_equal(tensor->name, "ids") ? INPUT_TOKENS : INPUT_TARGETS;
        return trial_input(trial, kind, tensor->shape, DTYPE_INT32, tensor->values);
    }
    Node *node = trial_parameter_of(trial, tensor->shape, tensor->values);
    Parameter *parameter = trial->parameters.items[trial->parameters.count - 1];
    parameter->name = node->name = tensor->name;
    parameter->is_buffer = !tensor_named(&c->tensors, text_format(trial->arena, "grad_%s", tensor->name));
    return node;
}

Node *case_tensor(OpCase *c, const char *name)
{
    const Tensor *tensor = tensor_named(&c->tensors, name);
    if (!tensor)
        return NULL;
    while (c->nodes.count < c->tensors.count)
        array_push(c->trial->arena, &c->nodes, NULL);
    Node **node = &c->nodes.items[tensor - c->tensors.items];
    if (!*node)
        *node = make_tensor(c, tensor);
    return *node;
}

void case_extra(OpCase *c, const char *name, Node *node)
{
    array_push(c->trial->arena, &c->extras, node);
    array_push(c->trial->arena, &c->extra_names, name);
}

/* ---- attributes ---- */

int64_t case_integer(const OpCase *c, const char *name, int64_t otherwise)
{
    return (int64_t)json_number(c->attributes, name, (double)otherwise);
}

double case_real(const OpCase *c, const char *name, double otherwise)
{
    return json_number(c->attributes, name, otherwise);
}

bool case_truth(const OpCase *c, const char *name)
{
    return json_number(c->attributes, name, 0) != 0;
}

void case_pair(const OpCase *c, const char *name, int64_t otherwise, int64_t pair[2])
{
    const Json *list = json_get(c->attributes, name);
    for (int i = 0; i < 2; i++)
        pair[i] = !list ? otherwise : (int64_t)(list->count ? list->items[i].number : list->number);
}

int case_axis(const OpCase *c, const char *name, const Node *x)
{
    int64_t axis = case_integer(c, name, 0);
    return (int)(axis < 0 ? axis + x->shape.rank : axis);
}
