/* safetensors.h -- named tensors in a file: a strict reader and a writer that never leaves half a file.
 *
 *     8 bytes: N | N bytes of JSON {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}} | the tensors' bytes */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//% part safetensors needs json_member
enum { TENSOR_RANK = 8 };
struct safetensor {
    const char *name;
    int type;                           /* row of the table of types */
    int rank;
    int64_t shape[TENSOR_RANK];
    int64_t count, begin, end;          /* elements; place in the buffer */
};
struct safetensors {
    const char *path;
    struct json json;
    struct safetensor *tensors;         /* in order of their bytes */
    int count;
    char *header;
    const unsigned char *buffer;
};
/* Reads the header of a file that lies in memory. False: `error` says what is wrong, and nothing is kept. */
static bool safetensors_parse(struct safetensors *file, const unsigned char *bytes, int64_t length, char *error);
static const struct safetensor *safetensors_find(const struct safetensors *file, const char *name);

//% part safetensors_convert needs safetensors
/* The tensor's elements as reals; false when its type has no such numbers (8-bit floats and smaller, complex). */
static bool safetensors_convert(const struct safetensors *file, const struct safetensor *tensor, real *out);

//% part safetensors_read needs safetensors_convert fail file_map
/* Exit 4 when the file breaks a rule of its format. */
static struct safetensors safetensors_open(const char *path);
/* Exit 4 when there is no such tensor, or its shape or type does not fit. */
static void safetensors_load(const struct safetensors *file, const char *name, int rank, const long *shape, real *out);

//% part safetensors_write needs error_text
struct tensor_to_write {
    const char *name;
    int rank;
    const long *shape;
    const real *values;
};
/* To a file beside `path`, synced, then renamed: `path` is whole at any moment. Changes the order of the list. */
static bool safetensors_write(const char *path, struct tensor_to_write *tensors, int count, char *error);
