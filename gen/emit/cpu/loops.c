/* loops.c -- element-wise nodes as generated loops. Equal loops share one function.
 *
 * The loop runs over the result in the order of its memory. Axes that no operand tells apart are one
 * loop, so a map of equal shapes is a single flat loop, and (n, c, h, w) + (c) is two. */
#include "emit/cpu/state.h"

#include <string.h>

typedef struct Axis {                   /* one loop: neighbouring axes of the result, in memory order */
    int axes[MAX_RANK], count;
    const char *variable, *extent;
} Axis;

typedef struct Nest {
    Emit *emit;
    const Node *node;
    Axis loops[MAX_RANK];
    int count;
    bool flat;                          /* one loop over everything */
} Nest;

static void memory_order(const Node *node, int *order)
{
    static const int images[] = { 0, 2, 3, 1 };
    for (int i = 0; i < node->shape.rank; i++)
        order[i] = node->layout == LAYOUT_IMAGES && node->shape.rank == 4 ? images[i] : i;
}

/* The axis of `input` that lies under axis `axis` of the result, -1 when it has none or it is broadcast. */
static int axis_under(const Node *result, const Node *input, int axis)
{
    int under = axis - (result->shape.rank - input->shape.rank);
    if (under < 0 || (input->shape.dim[under] == 1 && result->shape.dim[axis] != 1))
        return -1;
    return under;
}

static bool is_full(const Node *result, const Node *input)
{
    return shape_equal(result->shape, input->shape)
        && (input->layout == result->layout || (input->shape.rank == 4 && plan_same_bytes(input, result)));
}

/* May axes u and v (v right after u in the result's memory) be one loop as far as `input` goes? */
static bool may_merge(const Node *result, const Node *input, int u, int v)
{
    int under_u = axis_under(result, input, u), under_v = axis_under(result, input, v);
    if (under_u < 0 && under_v < 0)
        return true;
    if (under_u < 0 || under_v < 0)
        return false;
    int order[MAX_RANK];
    memory_order(input, order);
    for (int i = 0; i + 1 < input->shape.rank; i++)
        if (order[i] == under_u)
            return order[i + 1] == under_v;
    return false;
}

static bool needs_coordinates(const Expr *expr)
{
    return expr_uses_op(expr, EXPR_index) || expr_uses_op(expr, EXPR_uniform) || expr_uses_op(expr, EXPR_normal)
        || expr_uses_op(expr, EXPR_beta);
}

static void name_loop(Nest *nest, Axis *loop)
{
    static const char *const image_letters[] = { "n", "c", "h", "w" };
    static const char *const letters[] = { "a", "b", "c", "d", "e", "f" };
    Buffer name = { .arena = nest->emit->arena };
    for (int i = 0; i < loop->count; i++)
        buffer_add(&name, "%s", nest->node->shape.rank == 4 ? image_letters[loop->axes[i]] : letters[loop->axes[i]]);
    loop->variable = buffer_text(&name);
    char *extent = (char *)text_format(nest->emit->arena, "%s", loop->variable);
    for (char *c = extent; *c; c++)
        *c -= 'a' - 'A';
    loop->extent = extent;
}

static bool all_may_merge(const Node *node, int u, int v)
{
    for (int k = 0; k < node->input_count; k++)
        if (!is_full(node, node->inputs[k]) && !may_merge(node, node->inputs[k], u, v))
            return false;
    return true;
}

static void make_loops(Nest *nest)
{
    const Node *node = nest->node;
    bool separate = needs_coordinates(node->expr);
    int order[MAX_RANK];
    memory_order(node, order);
    for (int i = 0; i < node->shape.rank; i++) {
        bool join = nest->count && !separate && all_may_merge(node, order[i - 1], order[i]);
        Axis *loop = join ? &nest->loops[nest->count - 1] : &nest->loops[nest->count++];
        loop->axes[loop->count++] = order[i];
    }
    nest->flat = nest->count <= 1 && !separate;
    for (int i = 0; i < nest->count; i++)
        name_loop(nest, &nest->loops[i]);
}

/* Horner's rule over the loops that `input` has, in its own memory order. */
static const char *address(const Nest *nest, const Node *input)
{
    Arena *arena = nest->emit->arena;
    const char *text = NULL;
    int order[MAX_RANK];
    memory_order(input, order);
    for (int i = 0; i < input->shape.rank; i++) {
        int axis = order[i] + nest->node->shape.rank - input->shape.rank;
        const Axis *loop = NULL;
        for (int k = 0; k < nest->count; k++)
            if (nest->loops[k].axes[0] == axis)
                loop = &nest->loops[k];
        if (!loop || axis_under(nest->node, input, axis) < 0)
            continue;                   /* broadcast, or inside a merged loop that has been counted */
        if (!text)
            text = loop->variable;
        else if (strpbrk(text, "+* "))
            text = text_format(arena, "(%s) * %s + %s", text, loop->extent, loop->variable);
        else
            text = text_format(arena, "%s * %s + %s", text, loop->extent, loop->variable);
    }
    return text ? text : "0";
}

static const char *c_type(const Node *node)
{
    return node->dtype == DTYPE_INT32 ? "int" : "real";
}

/* x, y, z or x1, x2, ...: what a kernel calls its operands. */
static const char *operand_name(const Nest *nest, int k)
{
    return nest->node->input_count == 1 ? "x" : text_format(nest->emit->arena, "x%d", k + 1);
}

static const char *parameters(Nest *nest)
{
    Buffer out = { .arena = nest->emit->arena };
    for (int k = 0; k < nest->node->input_count; k++)
        if (expr_uses_input(nest->node->expr, k))
            buffer_add(&out, "const %s *%s, ", c_type(nest->node->inputs[k]), operand_name(nest, k));
    buffer_add(&out, "%s *y", c_type(nest->node));
    if (nest->flat)
        buffer_add(&out, ", long count");
    else
        for (int i = 0; i < nest->count; i++)
            buffer_add(&out, ", long %s", nest->loops[i].extent);
    return buffer_text(&out);
}

static const char *element_of_row(const Nest *nest)
{
    static const char *const names[2][MAX_RANK] = { { "n", "c", "h", "w" }, { "a", "b", "c", "d", "e", "f" } };
    static const char *const extents[2][MAX_RANK] = { { "N", "C", "H", "W" }, { "A", "B", "C", "D", "E", "F" } };
    int kind = nest->node->shape.rank != 4;
    const char *text = nest->node->shape.rank > 1 ? names[kind][1] : "0";
    for (int axis = 2; axis < nest->node->shape.rank; axis++)
        text = text_format(nest->emit->arena, axis == 2 ? "%s * %s + %s" : "(%s) * %s + %s", text, extents[kind][axis],
                           names[kind][axis]);
    return text;
}

typedef struct RandomPlace { Emit *emit; const char *row, *element; } RandomPlace;

static const char *random_in_loop(void *context, const Expr *expr, const char *a, const char *b)
{
    RandomPlace *place = context;
    return emit_random(place->emit, expr, a, b, place->row, place->element);
}

static const char *scalar_in_loop(void *context, const Scalar *scalar)
{
    return emit_scalar(((RandomPlace *)context)->emit, scalar);
}

static const char *table_in_loop(void *context, const Table *table)
{
    Emit *emit = ((RandomPlace *)context)->emit;
    Spelling plain = emit_spelling(emit, NULL, NULL);
    return plain.table(plain.context, table);
}

static void print_statements(Nest *nest, Writer *body)
{
    Emit *emit = nest->emit;
    const Node *node = nest->node;
    const char *inputs[MAX_RANK + 8] = { NULL }, *indices[MAX_RANK] = { NULL };
    for (int k = 0; k < node->input_count; k++) {
        const char *at = nest->flat && shape_elements(node->inputs[k]->shape) == 1 && shape_elements(node->shape) != 1 ? "0"
                       : is_full(node, node->inputs[k]) ? "i" : address(nest, node->inputs[k]);
        inputs[k] = text_format(emit->arena, "%s[%s]", operand_name(nest, k), at);
    }
    for (int i = 0; i < nest->count && !nest->flat; i++)
        indices[nest->loops[i].axes[0]] = nest->loops[i].variable;
    const char *row = node->shape.rank == 0 ? "0" : node->shape.rank == 4 ? "n" : "a";
    row = text_format(emit->arena, "now.key, batch.first_row + %s", row);
    RandomPlace place = { emit, row, element_of_row(nest) };
    Spelling spelling = { emit->is_double, false, &place, scalar_in_loop, random_in_loop, table_in_loop, inputs, indices };
    const char *value;
    TextArray locals = { 0 };
    emit_functions_of(emit, node->expr);
    expr_texts(emit->arena, &node->expr, 1, &spelling, &value, &locals);
    for (int i = 0; i < locals.count; i++)
        writer_line(body, "%s", locals.items[i]);
    writer_line(body, "y[i] = %s;", value);
}

static const char *flat_body(Nest *nest)
{
    Writer *body = writer_create(nest->emit->arena);
    writer_line(body, "{");
    writer_text(body, "#pragma omp parallel for simd\n");
    writer_line(body, "for (long i = 0; i < count; i++) {");
    print_statements(nest, body);
    writer_line(body, "}");
    writer_line(body, "}");
    return writer_result(body);
}

static const char *nested_body(Nest *nest)
{
    Writer *body = writer_create(nest->emit->arena);
    const char *index = NULL;
    writer_line(body, "{");
    writer_text(body, "#pragma omp parallel for\n");
    for (int i = 0; i < nest->count; i++) {
        const Axis *loop = &nest->loops[i];
        writer_line(body, "for (long %s = 0; %s < %s; %s++)%s", loop->variable, loop->variable, loop->extent, loop->variable,
                    i + 1 < nest->count ? "" : " {");
        body->depth += i + 1 < nest->count;
        index = !index ? loop->variable
              : text_format(nest->emit->arena, strchr(index, ' ') ? "(%s) * %s + %s" : "%s * %s + %s", index, loop->extent, loop->variable);
    }
    writer_line(body, "const long i = %s;", index);
    print_statements(nest, body);
    writer_line(body, "}");
    body->depth -= nest->count - 1;
    writer_line(body, "}");
    return writer_result(body);
}

/* "layer1.0.relu_2" -> "relu"; "d layer1.0.relu" -> "d_relu". */
static const char *kernel_hint(Emit *emit, const Node *node)
{
    const char *name = node->name ? node->name : "map", *last = strrchr(name, '.');
    const char *tail = last ? last + 1 : name;
    size_t length = strlen(tail);
    while (length > 1 && tail[length - 1] >= '0' && tail[length - 1] <= '9')
        length--;
    if (length > 1 && tail[length - 1] == '_')
        length--;
    bool backward = text_starts(name, "d ") && !text_starts(tail, "d ");
    return text_format(emit->arena, "%s%.*s_each", backward ? "d_" : "", (int)length, tail);
}

static const char *loop_extent(Nest *nest, const Axis *loop)
{
    if (loop->count == 1)
        return emit_dim(nest->emit, nest->node, loop->axes[0]);
    int least = loop->axes[0], most = loop->axes[0];
    for (int i = 1; i < loop->count; i++) {
        least = loop->axes[i] < least ? loop->axes[i] : least;
        most = loop->axes[i] > most ? loop->axes[i] : most;
    }
    if (most - least + 1 == loop->count)
        return emit_elements(nest->emit, nest->node, least, most + 1);
    const char *text = NULL;            /* n and h and w of an image: not neighbours in the shape */
    for (int i = 0; i < loop->count; i++) {
        const char *dim = emit_dim(nest->emit, nest->node, loop->axes[i]);
        text = text ? text_format(nest->emit->arena, "%s * %s", text, dim) : dim;
    }
    return text;
}

void emit_map(Emit *emit, const Node *node)
{
    Nest nest = { .emit = emit, .node = node };
    make_loops(&nest);
    const char *body = nest.flat ? flat_body(&nest) : nested_body(&nest);
    Buffer formula = { .arena = emit->arena };
    if (node->method)
        buffer_add(&formula, "%s: ", node->method);
    expr_print(&formula, node->expr);
    const char *name = emit_kernel(emit, kernel_hint(emit, node), buffer_text(&formula), parameters(&nest), body);
    Buffer call = { .arena = emit->arena };
    buffer_add(&call, "%s(", name);
    for (int k = 0; k < node->input_count; k++)
        if (expr_uses_input(node->expr, k))
            buffer_add(&call, "%s, ", emit_tensor(emit, node->inputs[k]));
    buffer_add(&call, "%s", emit_tensor(emit, node));
    if (nest.flat)
        buffer_add(&call, ", %s", emit_elements(emit, node, 0, node->shape.rank));
    else
        for (int i = 0; i < nest.count; i++)
            buffer_add(&call, ", %s", loop_extent(&nest, &nest.loops[i]));
    emit_line(emit, "%s);", buffer_text(&call));
}
