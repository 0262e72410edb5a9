/* steps.c -- a topology as functions: one line an operation, cut where the scopes of the model change. */
#include "emit/cpu/calls.h"
#include "emit/cpu/state.h"

#include <string.h>

enum { LONGEST_FUNCTION = 48, SHORTEST_FUNCTION = 14 };

/* Prefix of names that are not the main training step's. */
static const char *prefix_of(const Topology *topology)
{
    return text_equal(topology->name, "train") ? "" : topology->name;
}

static const char *tensor_name(Emit *emit, const Topology *topology, const Node *node)
{
    const char *name = node->name ? node->name : op_info[node->op].name, *prefix = prefix_of(topology);
    if (text_starts(name, "d "))
        name = text_format(emit->arena, "d_%s", name + 2);
    return *prefix ? text_format(emit->arena, "%s_%s", prefix, name) : name;
}

static void name_tensors(Emit *emit, TopologyText *text)
{
    const Topology *topology = text->topology;
    const Graph *graph = topology_graph(topology);
    text->names = arena_array(emit->arena, const char *, graph->nodes.count);
    for (int i = 0; i < graph->nodes.count; i++)
        if (topology->plan->slots[i].storage == STORE_ARENA)
            text->names[i] = names_make(emit->names, tensor_name(emit, topology, graph->nodes.items[i]));
}

static const char *shape_comment(Emit *emit, const Node *node, const Topology *topology)
{
    Buffer out = { .arena = emit->arena };
    buffer_add(&out, "(");
    for (int axis = 0; axis < node->shape.rank; axis++) {
        int64_t first = node->shape.dim[axis];
        bool varies = false;
        for (int p = 1; p < topology->phases.count; p++)
            varies |= topology->graphs[p]->nodes.items[node->id]->shape.dim[axis] != first;
        buffer_add(&out, varies ? "%s*" : "%s%lld", axis ? ", " : "", (long long)first);
    }
    buffer_add(&out, ")%s%s", node->layout == LAYOUT_IMAGES ? " channels last" : "", node->dtype == DTYPE_INT32 ? " int" : "");
    return buffer_text(&out);
}

static void print_offsets(Emit *emit, TopologyText *text)
{
    const Topology *topology = text->topology;
    const Graph *graph = topology_graph(topology);
    Writer *plan = emit->plan_text;
    writer_blank(plan);
    writer_comment(plan, text_format(emit->arena, "%s: where its tensors lie in the arena, in reals%s", topology->name,
                                     topology->phases.count > 1 ? " (* differs between phases)" : ""));
    writer_line(plan, "enum {");
    for (int i = 0; i < graph->nodes.count; i++)
        if (text->names[i])
            writer_line(plan, "%s = %lld, /* %s */", text->names[i], (long long)topology->plan->slots[i].offset,
                        shape_comment(emit, graph->nodes.items[i], topology));
    writer_line(plan, "};");
}

static void print_call(Emit *emit, const Node *node)
{
    switch (op_info[node->op].role) {
    case ROLE_MAP:    emit_map(emit, node); return;
    case ROLE_REDUCE: emit_reduce(emit, node); return;
    case ROLE_LEAF:
        if (node->op == OP_constant)
            emit_fill(emit, node);
        return;
    case ROLE_MOVE:
        if (node->op != OP_gather) {
            emit_move(emit, node);
            return;
        }
        break;
    case ROLE_ANCHOR:
        break;
    }
    call_table[node->op](emit, node);
}

/* Gradients that were not written in place are added to theirs. */
static void print_gradient(Emit *emit, const Node *node)
{
    const Topology *topology = emit->current->topology;
    const Graph *graph = topology_graph(topology);
    for (int i = 0; i < graph->outputs.count; i++) {
        const Output *output = &graph->outputs.items[i];
        const PlanSlot *slot = emit_slot(emit, node);
        if (output->kind != OUTPUT_GRADIENT || output->node != node)
            continue;
        if (slot->storage == STORE_GRADIENT && slot->parameter == output->parameter)
            continue;
        emit_part(emit, "accumulate");
        emit_line(emit, "accumulate(gradients + %s, %s, %lld, batch.is_first);", emit->weight_names[output->parameter->id],
                  emit_tensor(emit, node), (long long)shape_elements(output->parameter->shape));
    }
}

typedef struct Chunk {                  /* a function being filled */
    Writer *body;
    const char *scope;
    int number;
} Chunk;

/* The numbered block of the model that a name belongs to: "layer1.0" of "d layer1.0.bn1.moments", "transformer.h.3" of
 * "transformer.h.3.attn"; "" outside of blocks. */
static const char *scope_of(Emit *emit, const Node *node)
{
    const char *name = node->name ? node->name : "", *end = NULL;
    name += text_starts(name, "d ") ? 2 : 0;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        size_t digits = strspn(dot + 1, "0123456789");
        if (digits && (dot[1 + digits] == '.' || !dot[1 + digits]))
            end = dot + 1 + digits;
    }
    return end ? text_slice(emit->arena, name, (size_t)(end - name)) : "";
}

static const char *chunk_name(Emit *emit, const Topology *topology, const char *scope, bool backward)
{
    const char *way = topology->kind == TOPOLOGY_TRAIN ? (backward ? "backward" : "forward") : "";
    Buffer out = { .arena = emit->arena };
    buffer_add(&out, "%s%s%s", prefix_of(topology), *prefix_of(topology) && *way ? "_" : "", way);
    if (*scope)
        buffer_add(&out, "_%s", scope);
    return names_make(emit->names, buffer_text(&out));
}

static bool mentions_phase(const char *text)
{
    return strstr(text, "p->") != NULL;
}

static void close_chunk(Emit *emit, Chunk *chunk, bool backward, TextArray *calls)
{
    if (!chunk->body->lines)
        return;
    const char *name = chunk_name(emit, emit->current->topology, chunk->scope, backward);
    const char *body = writer_result(chunk->body);
    bool many = emit->current->topology->phases.count > 1 && mentions_phase(body);
    Writer *out = emit->step_text;
    writer_blank(out);
    if (many)
        writer_line(out, "static void %s(const struct %s_phase *p)", name, emit->current->topology->name);
    else
        writer_line(out, "static void %s(void)", name);
    writer_line(out, "{");
    writer_text(out, body);
    writer_line(out, "}");
    array_push(emit->arena, calls, text_format(emit->arena, many ? "%s(p);" : "%s();", name));
    chunk->body = writer_create(emit->arena);
    chunk->body->depth = 1;
}

static void print_functions(Emit *emit, TextArray *calls)
{
    const Graph *graph = topology_graph(emit->current->topology);
    Chunk chunk = { writer_create(emit->arena), "", 0 };
    chunk.body->depth = 1;
    bool backward = false;
    for (int i = 0; i < graph->nodes.count; i++) {
        const Node *node = graph->nodes.items[i];
        if (op_info[node->op].role == ROLE_LEAF && node->op != OP_constant)
            continue;
        const char *scope = scope_of(emit, node);
        bool turns = !backward && node->name && text_starts(node->name, "d ");
        bool inside = *chunk.scope ? text_starts(scope, chunk.scope) : text_equal(scope, "");
        bool moves_on = !inside && chunk.body->lines >= SHORTEST_FUNCTION;
        if (turns || moves_on || chunk.body->lines >= LONGEST_FUNCTION)
            close_chunk(emit, &chunk, backward, calls);
        backward |= turns;
        if (!chunk.body->lines)
            chunk.scope = scope;
        emit->line_target = chunk.body;
        print_call(emit, node);
        print_gradient(emit, node);
    }
    close_chunk(emit, &chunk, backward, calls);
}

static void print_phase_table(Emit *emit, const TopologyText *text)
{
    const Topology *topology = text->topology;
    Writer *plan = emit->plan_text;
    if (topology->phases.count == 1)
        return;
    writer_blank(plan);
    writer_comment(plan, text_format(emit->arena, "What differs between the %d phases of %s.", topology->phases.count, topology->name));
    writer_line(plan, "static const struct %s_phase {", topology->name);
    writer_line(plan, "long phase;");
    for (int f = 0; f < text->fields.count; f++)
        writer_line(plan, "long %s;", text->fields.items[f].name);
    writer_line(plan, "} %s_phases[%d] = {", topology->name, topology->phases.count);
    for (int p = 0; p < topology->phases.count; p++) {
        Buffer row = { .arena = emit->arena };
        buffer_add(&row, "%d", p);
        for (int f = 0; f < text->fields.count; f++)
            buffer_add(&row, ", %lld", (long long)text->fields.items[f].values[p]);
        writer_line(plan, "{ %s },", buffer_text(&row));
    }
    writer_line(plan, "};");
}

/* The library's objects are made at start, once for every phase. */
static void print_setup(Emit *emit, const TopologyText *text)
{
    const char *name = text->topology->name, *body = writer_result(emit->setup_text);
    if (!text->library.count)
        return;
    Writer *out = emit->step_text;
    array_push(emit->arena, &emit->setups, name);
    writer_blank(out);
    writer_line(out, "static void %s_setup(void)", name);
    writer_line(out, "{");
    if (text->topology->phases.count > 1) {
        writer_line(out, "for (const struct %s_phase *p = %s_phases; p < %s_phases + %d; p++) {", name, name, name,
                    text->topology->phases.count);
        writer_text(out, body);
        writer_line(out, "}");
    } else {
        writer_text(out, body);
    }
    writer_line(out, "}");
}

static const Output *find_output(const Graph *graph, OutputKind kind)
{
    for (int i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.items[i].kind == kind)
            return &graph->outputs.items[i];
    return NULL;
}

static void print_metrics(Emit *emit, const Graph *graph)
{
    int metrics = 0;
    for (int i = 0; i < graph->outputs.count; i++)
        metrics += graph->outputs.items[i].kind == OUTPUT_METRIC;
    writer_line(emit->plan_text, "static double metrics[%d]; /* sums over the test set */", metrics);
}

/* What the caller wants of a step: its loss, row losses, metrics. */
static void print_results(Emit *emit, Writer *out)
{
    const Topology *topology = emit->current->topology;
    const Graph *graph = topology_graph(topology);
    const Output *loss = find_output(graph, OUTPUT_LOSS);
    if (topology->kind == TOPOLOGY_TRAIN && loss)
        writer_line(out, "batch.loss += batch.share * *(%s);", emit_tensor(emit, loss->node));
    const Output *losses = find_output(graph, OUTPUT_ROW_LOSS);
    if (topology->kind == TOPOLOGY_SCORE && losses)
        emit->score_losses = emit->current->names[losses->node->id];
    int metric = 0;
    for (int i = 0; i < graph->outputs.count && topology->kind == TOPOLOGY_EVALUATE; i++)
        if (graph->outputs.items[i].kind == OUTPUT_METRIC)
            writer_line(out, "metrics[%d] += *(%s); /* %s */", metric++, emit_tensor(emit, graph->outputs.items[i].node),
                        graph->outputs.items[i].name);
}

void emit_topology(Emit *emit, const Topology *topology)
{
    TopologyText *text = arena_new(emit->arena, TopologyText);
    text->topology = topology;
    text->field_names = names_create(emit->arena);
    emit->current = text;
    if (topology->kind == TOPOLOGY_EVALUATE)
        emit->evaluation_text = text;
    emit->setup_text = writer_create(emit->arena);
    emit->setup_text->depth = topology->phases.count > 1 ? 2 : 1;
    if (topology->kind == TOPOLOGY_EVALUATE)
        print_metrics(emit, topology_graph(topology));
    name_tensors(emit, text);
    print_offsets(emit, text);
    TextArray calls = { 0 };
    print_functions(emit, &calls);
    Writer *out = emit->step_text;
    writer_blank(out);
    bool many = topology->phases.count > 1;
    if (many)
        writer_line(out, "static void %s(const struct %s_phase *p)", topology->name, topology->name);
    else
        writer_line(out, "static void %s(void)", topology->name);
    writer_line(out, "{");
    for (int i = 0; i < calls.count; i++)
        writer_line(out, "%s", calls.items[i]);
    print_results(emit, out);
    if (many && !mentions_phase(writer_result(out) + 0))
        writer_line(out, "(void)p;");
    writer_line(out, "}");
    print_phase_table(emit, text);
    print_setup(emit, text);
}
