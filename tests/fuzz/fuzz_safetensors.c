/* fuzz_safetensors.c -- any bytes as a safetensors file, and as JSON: refused with a reason, or taken and then all true.
 *
 * See fuzz_main.h for how to run it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
typedef float real;
#include "runtime/fail.c"
#include "runtime/memory.c"
#include "runtime/data.c"
#include "runtime/json.c"
#include "runtime/safetensors.c"

/* Every node but the first is the child of exactly one node, and counts are right. */
static void check_nodes(const struct json *json)
{
    int children = 0;
    for (int i = 0; i < json->count; i++) {
        int count = 0;
        for (int at = json->nodes[i].child; at >= 0; at = json->nodes[at].next, count++)
            if (at <= i || at >= json->count || !json->nodes[at].key != (json->nodes[i].kind != JSON_OBJECT))
                abort();
        if (count != json->nodes[i].count)
            abort();
        children += count;
    }
    if (children != json->count - 1)
        abort();
}

static bool takes_json(const unsigned char *bytes, size_t length)
{
    char error[ERROR_LENGTH] = "";
    struct json json;
    char *copy = malloc(length + 1);
    memcpy(copy, bytes, length);
    copy[length] = 0;
    const bool fine = json_parse(&json, copy, length, error);
    if (fine == (*error != 0))
        abort();
    if (fine)
        check_nodes(&json);
    json_free(&json);
    free(copy);
    return fine;
}

/* Tensors cover the buffer, and what can be converted is read to its last byte. */
static void check_tensors(const struct safetensors *file, const unsigned char *end)
{
    int64_t bytes = 0;
    check_nodes(&file->json);
    for (int i = 0; i < file->count; i++) {
        const struct safetensor *tensor = &file->tensors[i];
        bytes += tensor->end - tensor->begin;
        if (tensor != safetensors_find(file, tensor->name) || tensor->count > 8 * (tensor->end - tensor->begin))
            abort();
        real *values = malloc((size_t)tensor->count * sizeof *values + 1);
        (void)safetensors_convert(file, tensor, values);
        free(values);
    }
    if (file->buffer + bytes != end)
        abort();
}

static int fuzz_one(const unsigned char *bytes, size_t length)
{
    char error[ERROR_LENGTH] = "";
    struct safetensors file;
    unsigned char *exact = malloc(length ? length : 1);     /* so that a sanitizer sees a byte too far */
    memcpy(exact, bytes, length);
    takes_json(bytes, length);
    if (length > 8)
        takes_json(bytes + 8, length - 8);
    const bool fine = safetensors_parse(&file, exact, (int64_t)length, error);
    if (fine == (*error != 0))
        abort();
    if (fine) {
        check_tensors(&file, exact + length);
        json_free(&file.json);
        free(file.tensors);
        free(file.header);
    }
    free(exact);
    return fine;
}

#define PIECE(text) { text, sizeof text - 1 }

static const struct FuzzPiece { const char *bytes; size_t length; } pieces[] = {
    PIECE("{"), PIECE("}"), PIECE("["), PIECE("]"), PIECE(","), PIECE(":"), PIECE("\""), PIECE("\\u0041"), PIECE("\\ud83d\\ude00"),
    PIECE("\"a\":"), PIECE("{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"), PIECE("\"__metadata__\":{},"), PIECE("BF16"),
    PIECE("F4"), PIECE("[0,0]"), PIECE("-1"), PIECE("0"), PIECE("1e9"), PIECE("1.5"), PIECE("9223372036854775807"), PIECE(" "),
    PIECE("null"), PIECE("true"), PIECE("\xff"), PIECE("\xc3\xa9"), PIECE("\xed\xa0\x80"), PIECE("\0\0\0\0"), PIECE("[[[[[[[["),
};

#include "tests/fuzz/fuzz_main.h"
