/* graph_read.c -- reads what graph_print writes. Scalars and tables are made as they are met. */
#include <ctype.h>
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

/* strtoll and strtod would go on to the next line for a number. */
static bool at_number(const Reader *reader)
{
    return !isspace((unsigned char)*reader->at);
}

static bool whole(Reader *reader, int64_t *value)
{
    char *end;
    blanks(reader);
    *value = strtoll(reader->at, &end, 10);
    if (end == reader->at || !at_number(reader))
        return fail(reader, "a whole number is expected");
    reader->at = end;
    return true;
}

/* One of `names`, followed by anything that is no part of a name; -1 when it is none. */
static int word(Reader *reader, const char *const *names, int count, const char *what)
{
    blanks(reader);
    size_t length = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    const char *given = text_slice(reader->arena, reader->at, length);
    for (int i = 0; i < count; i++)
        if (text_equal(names[i], given)) {
            reader->at += length;
            return i;
        }
    const char *near = text_nearest(given, names, count);
    fail(reader, near ? text_format(reader->arena, "there is no %s '%s'; did you mean '%s'?", what, given, near)
               : length ? text_format(reader->arena, "there is no %s '%s'", what, given)
                        : text_format(reader->arena, "%s is expected", what));
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

static bool number(Reader *reader, double *value)
{
    char *end;
    *value = strtod(reader->at, &end);
    if (end == reader->at || !at_number(reader))
        return fail(reader, "a number is expected");
    reader->at = end;
    return true;
}

/* A whole number from `least` to `most`. */
static bool bounded(Reader *reader, int64_t least, int64_t most, int64_t *value)
{
    const char *start = reader->at;
    if (!whole(reader, value))
        return false;
    if (*value >= least && *value <= most)
        return true;
    reader->at = start;
    return fail(reader, text_format(reader->arena, "a number from %lld to %lld is expected", (long long)least,
                                    (long long)most));
}

static void store(Reader *reader, const AttributeField *field, void *to, int i)
{
    int64_t integer = 0;
    switch (field->type) {
    case FIELD_INT:
        bounded(reader, INT32_MIN, INT32_MAX, &integer);
        ((int *)to)[i] = (int)integer;
        break;
    case FIELD_BOOL:
        bounded(reader, 0, 1, &integer);
        ((bool *)to)[i] = integer == 1;
        break;
    case FIELD_INT64:  whole(reader, &((int64_t *)to)[i]); break;
    case FIELD_DOUBLE: number(reader, &((double *)to)[i]); break;
    case FIELD_WORD:   ((int *)to)[i] = word(reader, field->words, field->word_count, field->name); break;
    }
}

static bool field(Reader *reader, const AttributeField *field, int rank, Attributes *at)
{
    int count = field->count == COUNT_IS_RANK ? rank : field->count;
    if (!expect(reader, text_format(reader->arena, "%s=", field->name)))
        return false;
    for (int i = 0; i < count && !reader->wrong; i++)
        if (!i || expect(reader, ","))
            store(reader, field, (char *)at + field->offset, i);
    return !reader->wrong;
}

/* "label=0" or 1 */
static bool flag(Reader *reader, const char *label, bool *value)
{
    int64_t integer = 0;
    bool fine = expect(reader, label) && bounded(reader, 0, 1, &integer);
    *value = integer;
    return fine;
}

static Parameter *parameter_named(Reader *reader, const char *name)
{
    for (int i = 0; i < reader->parameters.count; i++)
        if (text_equal(reader->parameters.items[i]->name, name))
            return reader->parameters.items[i];
    return NULL;
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
    *scalar = (Scalar){ .name = text_format(reader->arena, "%s", own), .method = method, .kind = SCALAR_DRAW,
                        .id = reader->scalars.count };
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

/* ---- parameters ---- */

/* A parameter that several nodes read is the same each time. */
static bool same_parameter(const Parameter *a, const Parameter *b)
{
    return shape_equal(a->shape, b->shape) && a->leaf == b->leaf && a->is_buffer == b->is_buffer
        && a->fan_in_first == b->fan_in_first && a->initial == b->initial;
}

static bool parameter(Reader *reader, Shape shape, Attributes *at)
{
    int64_t leaf;
    Parameter read = { .shape = shape, .id = reader->parameters.count };
    if (!(read.name = name(reader)) || !expect(reader, "leaf=") || !bounded(reader, 0, INT32_MAX, &leaf)
        || !flag(reader, "buffer=", &read.is_buffer) || !flag(reader, "fan_in_first=", &read.fan_in_first))
        return false;
    read.leaf = (int)leaf;
    read.initial = expression(reader, "initial:");
    Parameter *known = parameter_named(reader, read.name);
    if (!known) {
        known = arena_copy(reader->arena, &read, sizeof read);
        array_push(reader->arena, &reader->parameters, known);
    }
    at->parameter.is = known;
    return same_parameter(known, &read) || fail(reader, "a parameter of that name was different before");
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
    return (Op)word(reader, names, OP_COUNT, "op");
}

/* "%7 = conv2d %3 %5 real[2,8,4,4] rows "conv1"": what all nodes have. */
static bool node_head(Reader *reader, Node *node)
{
    int64_t id;
    NodeArray list = { 0 };
    if (!expect(reader, "%") || !whole(reader, &id) || !expect(reader, "="))
        return false;
    if (id != reader->graph->nodes.count)
        return fail(reader, "nodes are numbered in their order");
    node->id = (int)id;
    node->op = op_named(reader);
    if (reader->wrong || !inputs(reader, &list))
        return false;
    node->inputs = list.items;
    node->input_count = list.count;
    node->dtype = (DType)word(reader, dtype_names, DTYPE_NAMES, "dtype");
    if (reader->wrong || !shape(reader, &node->shape))
        return false;
    node->layout = (Layout)word(reader, layout_names, LAYOUT_NAMES, "layout");
    const char *text = reader->wrong ? NULL : name(reader);
    node->name = text && *text ? text : NULL;
    return !reader->wrong;
}

/* What it has of its own. */
static bool node_tail(Reader *reader, Node *node)
{
    AttributeFields attributes = attribute_fields(node->op);
    for (int i = 0; i < attributes.count; i++)
        if (!field(reader, &attributes.fields[i], node->shape.rank, &node->at))
            return false;
    if (node->op == OP_parameter && !parameter(reader, node->shape, &node->at))
        return false;
    node->expr = expression(reader, "expr:");
    if (!reader->wrong && op_has_share(node->op))
        node->at.loss.share = expression(reader, "share:");
    return !reader->wrong;
}

static bool node_line(Reader *reader)
{
    const char *start = reader->at;
    Node *node = arena_new(reader->arena, Node);
    if (!node_head(reader, node) || !node_tail(reader, node))
        return false;
    array_push(reader->arena, &reader->graph->nodes, node);
    const char *wrong = node_verify(reader->graph, node, reader->arena);
    if (!wrong)
        return true;
    reader->at = start;
    return fail(reader, wrong);
}

static bool output_line(Reader *reader)
{
    Output output = { .kind = (OutputKind)word(reader, output_names, OUTPUT_NAMES, "output") };
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
    Reader reader = { .arena = arena, .graph = graph_create(arena, exprs),
                      .start = text, .at = text, .end = text + source->length };
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
