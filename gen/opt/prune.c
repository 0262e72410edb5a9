/* prune.c -- takes out what no output needs. */
#include "opt/opt_inside.h"

bool *opt_needed(const Graph *graph, Arena *arena)
{
    bool *needed = arena_array(arena, bool, graph->nodes.count + 1);
    for (int i = 0; i < graph->outputs.count; i++)
        needed[graph->outputs.items[i].node->id] = true;
    for (int i = graph->nodes.count - 1; i >= 0; i--)
        for (int k = 0; needed[i] && k < graph->nodes.items[i]->input_count; k++)
            needed[graph->nodes.items[i]->inputs[k]->id] = true;
    return needed;
}

int opt_prune(Graph *graph)
{
    Arena *pass = arena_create();
    const bool *needed = opt_needed(graph, pass);
    const int before = graph->nodes.count;
    int kept = 0;
    for (int i = 0; i < before; i++) {
        if (!needed[i])
            continue;
        Node *node = graph->nodes.items[kept] = graph->nodes.items[i];
        node->id = kept++;
    }
    graph->nodes.count = kept;
    arena_destroy(pass);
    return before - kept;
}
