/* names.c -- see names.h. */
#include "emit/names.h"

#include <ctype.h>
#include <string.h>

struct Names {
    Arena *arena;
    const char **table;         /* open addressing on the text's hash */
    int count, capacity;
};

/* What C, libc and the emitted programs use themselves. */
static const char *const reserved[] = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
    "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return",
    "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void",
    "volatile", "while", "bool", "true", "false", "real", "main", "exit", "exp", "log", "log1p", "expm1",
    "pow", "sqrt", "sin", "cos", "tanh", "erf", "floor", "ceil", "rint", "gamma", "index", "y0", "y1", "yn",
    "j0", "j1", "jn", "pause", "read", "write", "open", "close", "abs", "div", "time", "clock", "signal",
    "rand", "random", "link", "pipe", "sleep", "remove", "rename", "printf", "malloc", "free", "system",
    "arena", "weights", "gradients", "now", "phase", "phases", "images", "targets", "tokens", "rows", "step",
    "asm", "typeof", "and", "or", "not", "xor", "new", "class", "this", "template", "private", "public",
};

Names *names_create(Arena *arena)
{
    Names *names = arena_new(arena, Names);
    names->arena = arena;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        names_reserve(names, reserved[i]);
    return names;
}

static const char **slot_of(const Names *names, const char *word)
{
    uint64_t at = text_hash(word) & (uint64_t)(names->capacity - 1);
    while (names->table[at] && strcmp(names->table[at], word) != 0)
        at = (at + 1) & (uint64_t)(names->capacity - 1);
    return &names->table[at];
}

static void grow(Names *names)
{
    const char **old = names->table;
    int old_capacity = names->capacity;
    names->capacity = old_capacity ? 2 * old_capacity : 512;
    names->table = arena_array(names->arena, const char *, names->capacity);
    for (int i = 0; i < old_capacity; i++)
        if (old[i])
            *slot_of(names, old[i]) = old[i];
}

static bool take(Names *names, const char *word)
{
    if (2 * names->count >= names->capacity)
        grow(names);
    const char **slot = slot_of(names, word);
    if (*slot)
        return false;
    *slot = word;
    names->count++;
    return true;
}

void names_reserve(Names *names, const char *word)
{
    take(names, word);
}

const char *names_identifier(Arena *arena, const char *wanted)
{
    Buffer out = { .arena = arena };
    if (isdigit((unsigned char)wanted[0]) || !wanted[0])
        buffer_add(&out, "_");
    for (; *wanted; wanted++)
        buffer_add(&out, "%c", isalnum((unsigned char)*wanted) ? *wanted : '_');
    return buffer_text(&out);
}

const char *names_make(Names *names, const char *wanted)
{
    const char *base = names_identifier(names->arena, wanted), *name = base;
    for (int number = 2; !take(names, name); number++)
        name = text_format(names->arena, "%s_%d", base, number);
    return name;
}
