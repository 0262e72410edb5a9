/* fuzz_main.h -- how a fuzzer of bytes runs: under libFuzzer (clang -fsanitize=fuzzer -DWITH_LIBFUZZER), or else
 *     fuzz_NAME SECONDS FILE...     changes the files at random for so long, and
 *     fuzz_NAME 0 FILE...           runs them as they are.
 * The file that includes it defines fuzz_one, which returns whether the input was taken, and the table
 * `pieces` of struct FuzzPiece { bytes, length }, which are put into inputs. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* One change: a byte or a bit, a piece put in or over, a stretch removed or doubled, an end cut off. */
static void mutate(Input *input, uint32_t *state)
{
    size_t reach = next_random(state) % 2 && input->length > 64 ? 64 : input->length;     /* headers matter most */
    size_t at = next_random(state) % (reach + 1), left = input->length - at;
    size_t stretch = left ? next_random(state) % (left < 40 ? left : 40) : 0;
    const struct FuzzPiece *piece = &pieces[next_random(state) % (sizeof pieces / sizeof *pieces)];
    unsigned char copy[40], byte = (unsigned char)next_random(state);
    memcpy(copy, input->bytes + at, stretch);
    switch (next_random(state) % 7) {
    case 0: replace(input, at, left ? 1 : 0, &byte, 1); break;
    case 1: replace(input, at, 0, piece->bytes, piece->length); break;
    case 2: replace(input, at, left < piece->length ? left : piece->length, piece->bytes, piece->length); break;
    case 3: replace(input, at, stretch, "", 0); break;
    case 4: replace(input, next_random(state) % (input->length + 1), 0, copy, stretch); break;
    case 5: if (left) input->bytes[at] ^= (unsigned char)(1 << byte % 8); break;
    case 6: input->length -= stretch; break;
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
            for (uint32_t changes = time(NULL) < end ? 1 + next_random(&state) % 4 : 0; changes; changes--)
                mutate(&input, &state);
            good += fuzz_one(input.bytes, input.length);
            runs++;
        }
    } while (argc > 2 && time(NULL) < end);
    printf("%ld inputs, %ld of them taken\n", runs, good);
    return 0;
}
#endif
