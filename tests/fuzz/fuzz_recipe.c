/* fuzz_recipe.c -- any bytes as a recipe with overrides: the reader complains or reads, and never anything else.
 *
 * The input is the file, then after each NUL byte an override. What reads is printed and read again, and must print the
 * same. With libFuzzer (clang -fsanitize=fuzzer -DWITH_LIBFUZZER) it searches by itself; else
 *     fuzz_recipe SECONDS FILE...     changes the files at random for so long, and
 *     fuzz_recipe 0 FILE...           runs them as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "recipe/recipe.h"

int fuzz_one(const unsigned char *bytes, size_t length);

static void check_round_trip(Arena *arena, const Recipe *recipe)
{
    Buffer first = { .arena = arena }, second = { .arena = arena };
    Diagnostics diag = { .arena = arena };
    recipe_print(&first, recipe);
    Recipe *again = recipe_read_bytes(arena, &diag, "printed.yaml", buffer_text(&first), (size_t)first.count, NULL, 0);
    diagnostics_print(&diag, &second);
    if (!again)
        bug("what was printed does not read:\n%s\n%s", buffer_text(&first), buffer_text(&second));
    second.count = 0;
    recipe_print(&second, again);
    if (!text_equal(buffer_text(&first), buffer_text(&second)))
        bug("printed twice, it differs:\n%s\n%s", buffer_text(&first), buffer_text(&second));
}

int fuzz_one(const unsigned char *bytes, size_t length)
{
    enum { MOST_OVERRIDES = 8 };
    Arena *arena = arena_create();
    const char *text = text_slice(arena, (const char *)bytes, length), *overrides[MOST_OVERRIDES];
    size_t file = strlen(text);
    int count = 0;
    for (size_t at = file; at < length && count < MOST_OVERRIDES; at += strlen(text + at))
        overrides[count++] = text + ++at;
    Diagnostics diag = { .arena = arena };
    Buffer said = { .arena = arena };
    Recipe *recipe = recipe_read_bytes(arena, &diag, "fuzz.yaml", text, file, overrides, count);
    diagnostics_print(&diag, &said);
    if (!recipe != (diag.errors > 0))
        bug("%d errors, and %s recipe", diag.errors, recipe ? "a" : "no");
    if (recipe)
        check_round_trip(arena, recipe);
    arena_destroy(arena);
    return recipe != NULL;
}

#ifdef WITH_LIBFUZZER
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t length)
{
    fuzz_one(bytes, length);
    return 0;
}
#else

enum { LONGEST = 1 << 16 };

typedef struct Input { unsigned char bytes[LONGEST]; size_t length; } Input;

static const char *const pieces[] = {
    "${", "}", "${variables.a}", "${.x}", "???", "<<: *a", "&a ", "*a", "[", "]", "{", "}", ": ", "\n", "- ", "---\n", "\"", "\\",
    "'", "yes", "010", "1e-3", ".nan", "-.inf", "1:30", "\t", "#", "!!str ", "0.5dur", "2ep", "null", "~", "\xef\xbb\xbf", "\xff",
    "\xc2\x85", "\xe2\x80\xa8", "%YAML 1.1\n", "|\n  ", ">\n  ", "99999999999999999999", "variables: {a: 1, b: \"${variables.a}\"}\n",
};

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

static void replace(Input *input, size_t at, size_t removed, const void *bytes, size_t added)
{
    if (input->length - removed + added > LONGEST)
        return;
    memmove(input->bytes + at + added, input->bytes + at + removed, input->length - at - removed);
    memcpy(input->bytes + at, bytes, added);
    input->length += added - removed;
}

/* One change: a byte, a piece put in, a stretch removed or doubled, an override. */
static void mutate(Input *input, uint32_t *state)
{
    size_t at = next_random(state) % (input->length + 1), left = input->length - at;
    size_t stretch = left ? next_random(state) % (left < 40 ? left : 40) : 0;
    const char *piece = pieces[next_random(state) % (sizeof pieces / sizeof *pieces)];
    unsigned char copy[40], byte = (unsigned char)next_random(state);
    memcpy(copy, input->bytes + at, stretch);
    switch (next_random(state) % 6) {
    case 0: replace(input, at, left ? 1 : 0, &byte, 1); break;
    case 1: replace(input, at, 0, piece, strlen(piece)); break;
    case 2: replace(input, at, stretch, piece, strlen(piece)); break;
    case 3: replace(input, at, stretch, "", 0); break;
    case 4: replace(input, next_random(state) % (input->length + 1), 0, copy, stretch); break;
    case 5: replace(input, input->length, 0, "\0model.a=", 9); replace(input, input->length, 0, piece, strlen(piece)); break;
    }
}

static bool load(const char *path, Input *input)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    input->length = fread(input->bytes, 1, LONGEST, file);
    fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    static Input input;
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
    long runs = 0, good = 0;
    uint32_t state = 2463534242u;
    do {
        for (int i = 2; i < argc; i++) {
            if (!load(argv[i], &input)) {
                fprintf(stderr, "%s can't be read\n", argv[i]);
                return 2;
            }
            for (uint32_t changes = time(NULL) < end ? 1 + next_random(&state) % 5 : 0; changes; changes--)
                mutate(&input, &state);
            good += fuzz_one(input.bytes, input.length);
            runs++;
        }
    } while (argc > 2 && time(NULL) < end);
    printf("%ld inputs, %ld of them recipes\n", runs, good);
    return 0;
}
#endif
