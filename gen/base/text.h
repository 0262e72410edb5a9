/* text.h -- strings: NUL-terminated, immutable, in an arena; and a growing buffer for output. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

const char *text_format(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *text_vformat(Arena *arena, const char *format, va_list arguments);
const char *text_slice(Arena *arena, const char *start, size_t length);
bool text_equal(const char *a, const char *b);          /* NULL equals only NULL */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
const char *text_replace(Arena *arena, const char *text, const char *old, const char *with);     /* every `old` */
uint64_t text_hash(const char *text);                   /* FNV-1a, 64 bits */

/* The candidate nearest to `word` by edit distance (transpositions count one), or NULL when none
 * is near enough to be a likely misspelling. */
const char *text_nearest(const char *word, const char *const *candidates, int count);

/* The shortest decimal text that reads back as the same double ("0.1", "1e-05", "3"). Independent
 * of the locale. */
const char *text_number(Arena *arena, double number);

/* Reads a whole file; NULL with errno set when it can't. Directories give EISDIR. */
char *text_read_file(Arena *arena, const char *path, size_t *length);

/* Writes a file whole or not at all: a temporary beside it, then a rename. False with errno set. */
bool text_write_file(const char *path, const char *bytes, size_t length);

typedef struct Buffer {
    Arena *arena;
    char *bytes;
    int count, capacity;
} Buffer;

void buffer_add(Buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vadd(Buffer *buffer, const char *format, va_list arguments);
void buffer_bytes(Buffer *buffer, const char *bytes, int count);
const char *buffer_text(Buffer *buffer);                /* NUL-terminated view of what was added */
