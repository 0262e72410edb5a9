/* array.h -- growing arrays in an arena: the project's one generic macro.
 *
 *     typedef Array(Node *) NodeArray;
 *     NodeArray nodes = { 0 };
 *     array_push(arena, &nodes, node);
 *     for (int i = 0; i < nodes.count; i++) use(nodes.items[i]); */
#pragma once
#include <string.h>

#include "base/arena.h"

#define Array(Type) struct { Type *items; int count, capacity; }

typedef Array(const char *) TextArray;

static inline void *array_grown(Arena *arena, void *items, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity ? 2 * *capacity : 8;
    void *grown = arena_alloc(arena, (size_t)*capacity * size);
    return count ? memcpy(grown, items, (size_t)count * size) : grown;
}

#define array_push(arena, array, ...)                                                             \
    ((array)->items = array_grown((arena), (array)->items, (array)->count, &(array)->capacity,     \
                                  sizeof *(array)->items),                                        \
     (array)->items[(array)->count++] = (__VA_ARGS__))
