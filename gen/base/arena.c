/* arena.c -- blocks of doubling size in a list; allocation moves a cursor. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 64 * 1024, ALIGNMENT = 16, EXIT_MEMORY = 6 };

typedef struct Block {
    struct Block *next;
    size_t size, used;
} Block;

struct Arena {
    Block *blocks;          /* newest first */
    size_t used;
};

static void *checked(void *memory)
{
    if (memory)
        return memory;
    fputs("composer-gen: out of memory\n", stderr);
    exit(EXIT_MEMORY);
}

static size_t header_size(void)
{
    return (sizeof(Block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

Arena *arena_create(void)
{
    return checked(calloc(1, sizeof(Arena)));
}

static void free_blocks(Block *block)
{
    while (block) {
        Block *next = block->next;
        free(block);
        block = next;
    }
}

void arena_reset(Arena *arena)
{
    Block *newest = arena->blocks;      /* the largest: later blocks are never smaller */
    arena->used = 0;
    if (!newest)
        return;
    free_blocks(newest->next);
    newest->next = NULL;
    newest->used = 0;
}

void arena_destroy(Arena *arena)
{
    if (!arena)
        return;
    free_blocks(arena->blocks);
    free(arena);
}

static Block *add_block(Arena *arena, size_t at_least)
{
    size_t size = arena->blocks ? 2 * arena->blocks->size : FIRST_BLOCK;
    while (size < at_least)
        size *= 2;
    Block *block = checked(malloc(header_size() + size));
    *block = (Block){ .next = arena->blocks, .size = size };
    arena->blocks = block;
    return block;
}

void *arena_alloc(Arena *arena, size_t bytes)
{
    if (bytes > (size_t)1 << 46)
        checked(NULL);
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    Block *block = arena->blocks;
    if (!block || block->size - block->used < bytes)
        block = add_block(arena, bytes);
    char *memory = (char *)block + header_size() + block->used;
    block->used += bytes;
    arena->used += bytes;
    return memset(memory, 0, bytes);
}

void *arena_copy(Arena *arena, const void *bytes, size_t count)
{
    void *copy = arena_alloc(arena, count);
    return count ? memcpy(copy, bytes, count) : copy;
}

size_t arena_used(const Arena *arena)
{
    return arena->used;
}
