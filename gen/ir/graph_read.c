/* graph_read.c -- reads what graph_print writes. Scalars and tables are made as they are met. */
#include <stdlib.h>
#include <string.h>

#include "ir/expr_read.h"
#include "ir/graph_text.h"

typedef struct Reader {
    Arena *arena;
    Graph *graph;
    const char *start, *at, *end;
    ParameterArray parameters;
    Array(Scalar *) scalars;
    Array(Table *) tables;
    const char *wrong;                  /* what was expected at `at`, NULL: all is well */
} Reader;

static bool fail(Reader *reader, const char *wrong)
{
    if (!reader->wrong)
        reader->wrong = wrong;
    return false;
}

static void blanks(Reader *reader)
{
    while (*reader->at == ' ')
        reader->at++;
}

static bool literal(Reader *reader, const char *text)
{
    blanks(reader);
    if (!text_starts(reader->at, text))
        return false;
    reader->at += strlen(text);
    return true;
}

static bool expect(Reader *reader, const char *text)
{
    return literal(reader, text) || fail(reader, text_format(reader->arena, "'%s' is expected", text));
}

static bool whole(Reader *reader, int64_t *value)
{
    char *end;
    blanks(reader);
    *value = strtoll(reader->at, &end, 10);
    if (end == reader->at)
        return fail(reader, "a whole number is expected");
    reader->at = end;
    return true;
}

/* One of `names`, followed by anything that is no part of a name. */
static int word(Reader *reader, const char *const *names, int count)
{
    blanks(reader);
    size_t length = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == length && strncmp(names[i], reader->at, length) == 0) {
            reader->at += length;
            return i;
        }
    fail(reader, "a known word is expected");
    return -1;
}

static const char *name(Reader *reader)
{
    if (!expect(reader, "\""))
        return NULL;
    size_t length = strcspn(reader->at, "\"\n");
    const char *text = text_slice(reader->arena, reader->at, length);
    reader->at += length;
    return expect(reader, "\"") ? text : NULL;
}

/* ---- pieces of a node ---- */

static Node *reference(Reader *reader)
{
    int64_t id;
    if (!expect(reader, "%") || !whole(reader, &id))
        return NULL;
    if (id >= 0 && id < reader->graph->nodes.count)
        return reader->graph->nodes.items[id];
    fail(reader, "no node before this one has that number");
    return NULL;
}

static bool shape(Reader *reader, Shape *shape)
{
    *shape = (Shape){ 0 };
    if (!expect(reader, "["))
        return false;
    while (!literal(reader, "]")) {
        if (shape->rank == MAX_RANK)
            return fail(reader, "a shape has at most six axes");
        if ((shape->rank && !expect(reader, ",")) || !whole(reader, &shape->dim[shape->rank]))
            return false;
        if (shape->dim[shape->rank++] < 1)
            return fail(reader, "extents are at least 1");
    }
    return true;
}

static bool field(Reader *reader, const AttributeField *field, Attributes *at)
{
    char *to = (char *)at + field->offset;
    if (!expect(reader, text_format(reader->arena, "%s=", field->name)))
        return false;
    for (int i = 0; i < field->count; i++) {
        char *end;
        if (i && !expect(reader, ","))
            return false;
        double number = strtod(reader->at, &end);
        if (end == reader->at)
            return fail(reader, "a number is expected");
        long long integer = strtoll(reader->at, NULL, 10);
        reader->at = end;
        switch (field->type) {
        case FIELD_INT:    ((int *)(void *)to)[i] = (int)integer; break;
        case FIELD_INT64:  ((int64_t *)(void *)to)[i] = integer; break;
        case FIELD_DOUBLE: ((double *)(void *)to)[i] = number; break;
        case FIELD_BOOL:   ((bool *)(void *)to)[i] = integer != 0; break;
        }
    }
    return true;
}

static Parameter *parameter_named(Reader *reader, const char *name)
{
    for (int i = 0; i < reader->parameters.count; i++)
        if (text_equal(reader->parameters.items[i]->name, name))
            return reader->parameters.items[i];
    return NULL;
}

static bool parameter(Reader *reader, Shape shape, Attributes *at)
{
    int64_t leaf, buffer;
    const char *text = name(reader);
    if (!text || !expect(reader, "leaf=") || !whole(reader, &leaf) || !expect(reader, "buffer=") || !whole(reader, &buffer))
        return false;
    Parameter *known = parameter_named(reader, text);
    if (!known) {
        known = arena_new(reader->arena, Parameter);
        *known = (Parameter){ .name = text, .id = reader->parameters.count, .leaf = (int)leaf, .shape = shape, .is_buffer = buffer != 0 };
        array_push(reader->arena, &reader->parameters, known);
    }
    at->parameter.is = known;
    return true;
}

/* ---- expressions ---- */

static const Scalar *scalar_named(void *context, const char *name)
{
    Reader *reader = context;
    const char *colon = strchr(name, ':'), *own = colon ? colon + 1 : name;
    const char *method = colon ? text_slice(reader->arena, name, (size_t)(colon - name)) : NULL;
    for (int i = 0; i < reader->scalars.count; i++)
        if (text_equal(reader->scalars.items[i]->name, own) && text_equal(reader->scalars.items[i]->method, method))
            return reader->scalars.items[i];
    Scalar *scalar = arena_new(reader->arena, Scalar);
    *scalar = (Scalar){ .name = text_format(reader->arena, "%s", own), .method = method, .kind = SCALAR_DRAW, .id = reader->scalars.count };
    array_push(reader->arena, &reader->scalars, scalar);
    return scalar;
}

static const Table *table_named(void *context, const char *name)
{
    Reader *reader = context;
    for (int i = 0; i < reader->tables.count; i++)
        if (text_equal(reader->tables.items[i]->name, name))
            return reader->tables.items[i];
    Table *table = arena_new(reader->arena, Table);
    *table = (Table){ .name = text_format(reader->arena, "%s", name), .id = reader->tables.count };
    array_push(reader->arena, &reader->tables, table);
    return table;
}

/* NULL without a complaint where `label` does not stand. */
static const Expr *expression(Reader *reader, const char *label)
{
    ExprNames names = { reader, scalar_named, table_named };
    if (!literal(reader, label))
        return NULL;
    blanks(reader);
    const Expr *expr = expr_read(reader->graph->exprs, &reader->at, &names);
    if (!expr)
        fail(reader, "an expression is expected");
    return expr;
}

/* ---- lines ---- */

static bool inputs(Reader *reader, NodeArray *list)
{
    blanks(reader);
    while (*reader->at == '%') {
        Node *node = reference(reader);
        if (!node)
            return false;
        array_push(reader->arena, list, node);
        blanks(reader);
    }
    return true;
}

static Op op_named(Reader *reader)
{
    const char *names[OP_COUNT];
    for (Op op = 0; op < OP_COUNT; op++)
        names[op] = op_info[op].name;
    return (Op)word(reader, names, OP_COUNT);
}

static bool node_line(Reader *reader)
{
    int64_t id;
    NodeArray list = { 0 };
    if (!expect(reader, "%") || !whole(reader, &id) || !expect(reader, "="))
        return false;
    if (id != reader->graph->nodes.count)
        return fail(reader, "nodes are numbered in their order");
    Node *node = arena_new(reader->arena, Node);
    node->id = (int)id;
    node->op = op_named(reader);
    if (reader->wrong || !inputs(reader, &list))
        return false;
    node->inputs = list.items;
    node->input_count = list.count;
    node->dtype = (DType)word(reader, dtype_names, 4);
    if (reader->wrong || !shape(reader, &node->shape))
        return false;
    node->layout = (Layout)word(reader, layout_names, 2);
    const char *text = reader->wrong ? NULL : name(reader);
    node->name = text && *text ? text : NULL;
    AttributeFields attributes = attribute_fields(node->op);
    for (int i = 0; i < attributes.count && !reader->wrong; i++)
        field(reader, &attributes.fields[i], &node->at);
    if (node->op == OP_parameter && !reader->wrong)
        parameter(reader, node->shape, &node->at);
    node->expr = reader->wrong ? NULL : expression(reader, "expr:");
    const Expr *share = reader->wrong ? NULL : expression(reader, "share:");
    if (share)
        node->at.loss.share = share;
    array_push(reader->arena, &reader->graph->nodes, node);
    return !reader->wrong;
}

static bool output_line(Reader *reader)
{
    Output output = { .kind = (OutputKind)word(reader, output_names, 6) };
    if (reader->wrong || !(output.node = reference(reader)))
        return false;
    const char *text = name(reader);
    if (!text)
        return false;
    output.name = *text ? text : NULL;
    if (output.kind == OUTPUT_GRADIENT || output.kind == OUTPUT_BUFFER) {
        output.parameter = parameter_named(reader, text);
        output.name = NULL;
        if (!output.parameter)
            return fail(reader, "no parameter has that name");
    }
    graph_output(reader->graph, output);
    return true;
}

static Place place_of(const Reader *reader, const Source *source)
{
    Place place = { source, 1, 1 };
    for (const char *c = reader->start; c < reader->at; c++) {
        place.column++;
        if (*c == '\n')
            place.line++, place.column = 1;
    }
    return place;
}

Graph *graph_read(Arena *arena, ExprPool *exprs, const Source *source, Diagnostics *diag)
{
    const char *text = text_slice(arena, source->bytes, source->length);
    Reader reader = { .arena = arena, .graph = graph_create(arena, exprs), .start = text, .at = text, .end = text + source->length };
    while (reader.at < reader.end && !reader.wrong) {
        if (*reader.at == '\n' || *reader.at == '#') {
            reader.at += strcspn(reader.at, "\n");
            reader.at += *reader.at == '\n';
            continue;
        }
        bool fine = literal(&reader, "output ") ? output_line(&reader) : node_line(&reader);
        blanks(&reader);
        if (fine && *reader.at != '\n' && *reader.at)
            fail(&reader, "the line should end here");
    }
    const char *broken = reader.wrong ? NULL : graph_verify(reader.graph, arena);
    if (!reader.wrong && !broken)
        return reader.graph;
    complain(diag, place_of(&reader, source), "%s", reader.wrong ? reader.wrong : broken);
    return NULL;
}
