/* data_made.c -- see data_made.h. */
#include "data.h"
#include "data_made.h"
#include "memory.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

//% part synthetic_images
enum { SYNTHETIC_PATTERN = 1, SYNTHETIC_NOISE = 2, SYNTHETIC_LABEL = 3 };       /* sites; real ones are hashes */

/* Sixteen random bytes at once. */
static void synthetic_bytes(uint64_t site, int64_t row, unsigned char *bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i += 16) {
        const struct random_words words = random_at(site, 0, row, i / 16, RANDOM_UNIFORM, 0);
        for (int k = 0; k < 16 && i + k < count; k++)
            bytes[i + k] = (unsigned char)(words.word[k / 4] >> k % 4 * 8);
    }
}

static struct image_set synthetic_images(int64_t first, int64_t rows, int channels, int height, int width, int classes)
{
    const int64_t size = (int64_t)channels * height * width;
    unsigned char *patterns = (unsigned char *)memory_get((size_t)(classes * size), "synthetic patterns");
    unsigned char *pixels = (unsigned char *)memory_get((size_t)(rows * size), "synthetic images");
    int *labels = (int *)memory_get((size_t)rows * sizeof *labels, "synthetic labels");
    for (int64_t c = 0; c < classes; c++)
        synthetic_bytes(SYNTHETIC_PATTERN, c, patterns + c * size, size);
    for (int64_t row = 0; row < rows; row++) {
        const struct random_words words = random_at(SYNTHETIC_LABEL, 0, first + row, 0, RANDOM_INTEGER, 0);
        unsigned char *image = pixels + row * size;
        labels[row] = (int)((uint64_t)words.word[0] * (uint64_t)classes >> 32);
        const unsigned char *pattern = patterns + labels[row] * size;
        synthetic_bytes(SYNTHETIC_NOISE, first + row, image, size);
        for (int64_t i = 0; i < size; i++)
            image[i] = (unsigned char)((image[i] + pattern[i]) / 2);
    }
    free(patterns);
    struct image_set set = { rows, channels, height, width, pixels, labels };
    return set;
}

//% part synthetic_tokens
enum { SYNTHETIC_TEXT = 4 };

static struct token_set synthetic_tokens(int stream, int64_t rows, int64_t length, int64_t vocabulary)
{
    const int64_t count = rows * length + 1;
    unsigned char *bytes = (unsigned char *)memory_get((size_t)count * 4, "synthetic tokens");
    uint32_t token = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct random_words words = random_at(SYNTHETIC_TEXT, 0, stream, i, RANDOM_INTEGER, 0);
        if (words.word[0] >> 30 == 0)
            token = (uint32_t)((uint64_t)words.word[1] * (uint64_t)vocabulary >> 32);
        else
            token = (uint32_t)(((int64_t)token * 7 + 3) % vocabulary);
        memcpy(bytes + 4 * i, &token, 4);
    }
    struct token_set set = { rows, count, 4, bytes };
    return set;
}
