/* place.c -- live ranges, then offsets: largest first, each at the lowest place free for its whole life. */
#include "plan/plan.h"

#include <stdlib.h>

bool plan_same_bytes(const Node *a, const Node *b)
{
    if (a->layout == b->layout)
        return a->layout == LAYOUT_ROWS || shape_equal(a->shape, b->shape);
    const Node *image = a->layout == LAYOUT_IMAGES ? a : b;
    return image->shape.dim[1] == 1 || image->shape.dim[2] * image->shape.dim[3] == 1;
}

/* A reshape between equal bytes moves nothing. */
static bool is_alias(Graph *const *graphs, int count, int id)
{
    for (int g = 0; g < count; g++) {
        const Node *node = graphs[g]->nodes.items[id];
        if (node->op != OP_reshape || !plan_same_bytes(node, node->inputs[0]))
            return false;
    }
    return true;
}

static int64_t largest(Graph *const *graphs, int count, int id)
{
    int64_t reals = 0;
    for (int g = 0; g < count; g++) {
        int64_t elements = shape_elements(graphs[g]->nodes.items[id]->shape);
        reals = elements > reals ? elements : reals;
    }
    return (reals + PLAN_ALIGNMENT - 1) / PLAN_ALIGNMENT * PLAN_ALIGNMENT;
}

static void choose_storage(Plan *plan, Graph *const *graphs, int count)
{
    for (int i = 0; i < plan->count; i++) {
        const Node *node = graphs[0]->nodes.items[i];
        PlanSlot *slot = &plan->slots[i];
        *slot = (PlanSlot){ .storage = STORE_ARENA, .first = i, .last = i };
        if (node->op == OP_input) {
            slot->storage = STORE_INPUT;
        } else if (node->op == OP_parameter) {
            slot->storage = STORE_WEIGHT;
            slot->parameter = node->at.parameter.is;
        } else if (is_alias(graphs, count, i)) {
            slot->storage = STORE_ALIAS;
            slot->of = node->inputs[0];
        } else {
            slot->reals = largest(graphs, count, i);
        }
    }
}

static PlanSlot *owner(Plan *plan, const Node *node)
{
    PlanSlot *slot = &plan->slots[node->id];
    while (slot->storage == STORE_ALIAS)
        slot = &plan->slots[slot->of->id];
    return slot;
}

/* Outputs that have a home outside the arena are written there at once. */
static void pin_outputs(Plan *plan, const Graph *graph, bool write_gradients)
{
    for (int i = 0; i < graph->outputs.count; i++) {
        const Output *output = &graph->outputs.items[i];
        PlanSlot *slot = owner(plan, output->node);
        if (slot->storage != STORE_ARENA)
            continue;
        if (output->kind == OUTPUT_BUFFER)
            slot->storage = STORE_WEIGHT, slot->parameter = output->parameter;
        else if (output->kind == OUTPUT_GRADIENT && write_gradients)
            slot->storage = STORE_GRADIENT, slot->parameter = output->parameter;
    }
}

/* A result is written when its producer runs, and lives until its last use or, for an output, to the end. */
static void measure_lives(Plan *plan, const Graph *graph)
{
    for (int i = 0; i < graph->nodes.count; i++) {
        const Node *node = graph->nodes.items[i];
        if (node->op == OP_result) {
            PlanSlot *slot = &plan->slots[i];
            slot->first = node->inputs[0]->id;
            continue;
        }
        for (int k = 0; k < node->input_count; k++) {
            PlanSlot *slot = owner(plan, node->inputs[k]);
            slot->last = i > slot->last ? i : slot->last;
        }
    }
    for (int i = 0; i < graph->outputs.count; i++)
        owner(plan, graph->outputs.items[i].node)->last = graph->nodes.count;
}

static int by_size(const void *a, const void *b)
{
    const PlanSlot *x = *(PlanSlot *const *)a, *y = *(PlanSlot *const *)b;
    if (x->reals != y->reals)
        return x->reals < y->reals ? 1 : -1;
    return x < y ? -1 : x > y;
}

static int by_offset(const void *a, const void *b)
{
    const PlanSlot *x = *(PlanSlot *const *)a, *y = *(PlanSlot *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool lives_meet(const PlanSlot *a, const PlanSlot *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset at which `slot` overlaps none of the placed slots that live at the same time. */
static int64_t lowest_gap(PlanSlot **placed, int count, const PlanSlot *slot, PlanSlot **scratch)
{
    int rivals = 0;
    for (int i = 0; i < count; i++)
        if (lives_meet(placed[i], slot))
            scratch[rivals++] = placed[i];
    qsort(scratch, (size_t)rivals, sizeof *scratch, by_offset);
    int64_t offset = 0;
    for (int i = 0; i < rivals; i++) {
        if (scratch[i]->offset >= offset + slot->reals)
            break;
        int64_t end = scratch[i]->offset + scratch[i]->reals;
        offset = end > offset ? end : offset;
    }
    return offset;
}

Plan *plan_place(Arena *run, Graph *const *graphs, int count, bool write_gradients, int64_t base)
{
    Plan *plan = arena_new(run, Plan);
    plan->count = graphs[0]->nodes.count;
    plan->slots = arena_array(run, PlanSlot, plan->count);
    choose_storage(plan, graphs, count);
    pin_outputs(plan, graphs[0], write_gradients);
    measure_lives(plan, graphs[0]);
    PlanSlot **order = arena_array(run, PlanSlot *, plan->count), **scratch = arena_array(run, PlanSlot *, plan->count);
    int owners = 0;
    for (int i = 0; i < plan->count; i++)
        if (plan->slots[i].storage == STORE_ARENA)
            order[owners++] = &plan->slots[i];
    qsort(order, (size_t)owners, sizeof *order, by_size);
    for (int i = 0; i < owners; i++) {
        order[i]->offset = lowest_gap(order, i, order[i], scratch);
        int64_t end = order[i]->offset + order[i]->reals;
        plan->arena = end > plan->arena ? end : plan->arena;
        plan->unplanned += order[i]->reals;
    }
    for (int i = 0; i < owners; i++)
        order[i]->offset += base;
    return plan;
}

void plan_print(Buffer *out, const Plan *plan, const Graph *graph)
{
    int buffers = 0;
    for (int i = 0; i < plan->count; i++)
        buffers += plan->slots[i].storage == STORE_ARENA;
    buffer_add(out, "plan: %d buffers, %.1f MiB, placed in %.1f MiB\n", buffers, (double)plan->unplanned * 4 / 1048576,
               (double)plan->arena * 4 / 1048576);
    for (int i = 0; i < plan->count; i++) {
        const PlanSlot *slot = &plan->slots[i];
        if (slot->storage == STORE_ARENA)
            buffer_add(out, "  %10lld +%-9lld live %5d..%-5d %s\n", (long long)slot->offset, (long long)slot->reals,
                       slot->first, slot->last, graph->nodes.items[i]->name ? graph->nodes.items[i]->name : op_info[graph->nodes.items[i]->op].name);
    }
}
