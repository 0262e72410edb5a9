/* arena.h -- memory by lifetime. Nobody frees: an arena is dropped or emptied whole.
 *
 * The compiler has two: `run` lives as long as the process, `pass` is emptied after each pass.
 * All memory is zeroed. Running out of memory ends the process with exit code 6. */
#pragma once
#include <stddef.h>

typedef struct Arena Arena;

Arena *arena_create(void);
void arena_reset(Arena *arena);                     /* forget everything, keep the blocks */
void arena_destroy(Arena *arena);
void *arena_alloc(Arena *arena, size_t bytes);      /* aligned to 16, zeroed, never NULL */
void *arena_copy(Arena *arena, const void *bytes, size_t count);
size_t arena_used(const Arena *arena);              /* bytes handed out since the last reset */

#define arena_new(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define arena_array(arena, Type, count) ((Type *)arena_alloc((arena), sizeof(Type) * (size_t)(count)))
