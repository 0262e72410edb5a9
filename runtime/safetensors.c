/* safetensors.c -- see safetensors.h. */
#include "data.h"
#include "fail.h"
#include "json.h"
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

//% part safetensors
enum tensor_form { FORM_NONE, FORM_BOOL, FORM_SIGNED, FORM_UNSIGNED, FORM_HALF, FORM_BRAIN, FORM_FLOAT };
static const struct tensor_type { const char *name; int bits; enum tensor_form form; } tensor_types[] = {
    { "F64", 64, FORM_FLOAT }, { "F32", 32, FORM_FLOAT }, { "F16", 16, FORM_HALF }, { "BF16", 16, FORM_BRAIN },
    { "I64", 64, FORM_SIGNED }, { "I32", 32, FORM_SIGNED }, { "I16", 16, FORM_SIGNED }, { "I8", 8, FORM_SIGNED },
    { "U64", 64, FORM_UNSIGNED }, { "U32", 32, FORM_UNSIGNED }, { "U16", 16, FORM_UNSIGNED }, { "U8", 8, FORM_UNSIGNED },
    { "BOOL", 8, FORM_BOOL }, { "C64", 64, FORM_NONE }, { "F8_E5M2", 8, FORM_NONE }, { "F8_E4M3", 8, FORM_NONE },
    { "F8_E8M0", 8, FORM_NONE }, { "F8_E5M2FNUZ", 8, FORM_NONE }, { "F8_E4M3FNUZ", 8, FORM_NONE }, { "F4", 4, FORM_NONE },
    { "F6_E2M3", 6, FORM_NONE }, { "F6_E3M2", 6, FORM_NONE },
};
enum { TENSOR_TYPES = sizeof tensor_types / sizeof *tensor_types };

static bool tensor_shape(struct safetensor *tensor, const struct json *json, const struct json_node *shape, char *error)
{
    if (!shape || shape->kind != JSON_ARRAY || shape->count > TENSOR_RANK)
        return error_text(error, "tensor '%.200s': its shape is no list of at most %d sizes", tensor->name, TENSOR_RANK);
    tensor->count = 1;
    for (int at = shape->child; at >= 0; at = json->nodes[at].next) {
        const struct json_node *size = &json->nodes[at];
        if (size->kind != JSON_NUMBER || !size->is_whole || size->whole < 0)
            return error_text(error, "tensor '%.200s': a size is no whole number from 0", tensor->name);
        if (__builtin_mul_overflow(tensor->count, size->whole, &tensor->count))
            return error_text(error, "tensor '%.200s': its sizes are beyond counting", tensor->name);
        tensor->shape[tensor->rank++] = size->whole;
    }
    return true;
}

static bool tensor_place(struct safetensor *tensor, const struct json *json, const struct json_node *offsets, char *error)
{
    int64_t bits, place[2] = { 0, 0 };
    int at = offsets && offsets->kind == JSON_ARRAY && offsets->count == 2 ? offsets->child : -1;
    bool fine = at >= 0;
    for (int i = 0; i < 2 && fine; i++, at = json->nodes[at].next) {
        place[i] = json->nodes[at].whole;
        fine = json->nodes[at].kind == JSON_NUMBER && json->nodes[at].is_whole && place[i] >= 0;
    }
    tensor->begin = place[0];
    tensor->end = place[1];
    if (!fine)
        return error_text(error, "tensor '%.200s': data_offsets are no two whole numbers from 0", tensor->name);
    if (__builtin_mul_overflow(tensor->count, (int64_t)tensor_types[tensor->type].bits, &bits) || bits % 8)
        return error_text(error, "tensor '%.200s': %lld elements of %d bits are no whole number of bytes", tensor->name,
                          (long long)tensor->count, tensor_types[tensor->type].bits);
    if (tensor->end < tensor->begin || tensor->end - tensor->begin != bits / 8)
        return error_text(error, "tensor '%.200s': bytes %lld to %lld, but shape and type say %lld bytes", tensor->name,
                          (long long)tensor->begin, (long long)tensor->end, (long long)(bits / 8));
    return true;
}

static bool tensor_entry(struct safetensor *tensor, const struct json *json, const struct json_node *entry, char *error)
{
    const struct json_node *type = json_member(json, entry, "dtype");
    memset(tensor, 0, sizeof *tensor);
    tensor->name = entry->key;
    if (entry->kind != JSON_OBJECT || !type || type->kind != JSON_STRING || entry->count != 3)
        return error_text(error, "tensor '%.200s': expected are dtype, shape and data_offsets", tensor->name);
    while (tensor->type < TENSOR_TYPES && strcmp(tensor_types[tensor->type].name, type->text) != 0)
        tensor->type++;
    if (tensor->type == TENSOR_TYPES)
        return error_text(error, "tensor '%.200s': unknown type '%.40s'", tensor->name, type->text);
    return tensor_shape(tensor, json, json_member(json, entry, "shape"), error)
        && tensor_place(tensor, json, json_member(json, entry, "data_offsets"), error);
}

/* "__metadata__": texts only. */
static bool tensor_metadata(const struct json *json, const struct json_node *entry, char *error)
{
    bool fine = entry->kind == JSON_OBJECT;
    for (int at = entry->child; at >= 0 && fine; at = json->nodes[at].next)
        fine = json->nodes[at].kind == JSON_STRING;
    return fine || error_text(error, "__metadata__ holds something else than texts");
}

static int by_place(const void *a, const void *b)
{
    const struct safetensor *x = (const struct safetensor *)a, *y = (const struct safetensor *)b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* No holes, no overlap, nothing behind the last. */
static bool tensors_cover(const struct safetensors *file, int64_t length, char *error)
{
    int64_t at = 0;
    for (int i = 0; i < file->count; at = file->tensors[i++].end)
        if (file->tensors[i].begin != at)
            return error_text(error, "tensor '%.200s' begins at byte %lld, the one before ends at %lld", file->tensors[i].name,
                              (long long)file->tensors[i].begin, (long long)at);
    return at == length || error_text(error, "the tensors end at byte %lld of %lld", (long long)at, (long long)length);
}

static bool tensors_collect(struct safetensors *file, int64_t length, char *error)
{
    const struct json_node *root = file->json.nodes;
    if (root->kind != JSON_OBJECT)
        return error_text(error, "the header is no object");
    file->tensors = (struct safetensor *)malloc((size_t)root->count * sizeof *file->tensors + 1);
    if (!file->tensors)
        return error_text(error, "no memory for %d tensors", root->count);
    for (int at = root->child; at >= 0; at = file->json.nodes[at].next) {
        const struct json_node *entry = &file->json.nodes[at];
        if (strcmp(entry->key, "__metadata__") == 0) {
            if (!tensor_metadata(&file->json, entry, error))
                return false;
        } else if (!tensor_entry(&file->tensors[file->count++], &file->json, entry, error)) {
            return false;
        }
    }
    qsort(file->tensors, (size_t)file->count, sizeof *file->tensors, by_place);
    return tensors_cover(file, length, error);
}

static bool safetensors_parse(struct safetensors *file, const unsigned char *bytes, int64_t length, char *error)
{
    uint64_t header = 0;
    memset(file, 0, sizeof *file);
    for (int i = 0; i < 8 && length >= 8; i++)
        header |= (uint64_t)bytes[i] << 8 * i;
    if (length < 8 || header > 100000000 || (int64_t)header > length - 8)
        return error_text(error, "no safetensors file: a header of %llu bytes in a file of %lld", (unsigned long long)header,
                          (long long)length);
    if (header == 0 || bytes[8] != '{')
        return error_text(error, "the header does not begin with '{'");
    file->header = (char *)malloc((size_t)header + 1);
    if (!file->header)
        return error_text(error, "no memory for a header of %llu bytes", (unsigned long long)header);
    memcpy(file->header, bytes + 8, (size_t)header);
    file->header[header] = 0;
    file->buffer = bytes + 8 + header;
    if (json_parse(&file->json, file->header, (size_t)header, error)
        && tensors_collect(file, length - 8 - (int64_t)header, error))
        return true;
    json_free(&file->json);
    free(file->tensors);
    free(file->header);
    return false;
}

static const struct safetensor *safetensors_find(const struct safetensors *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i];
    return NULL;
}

//% part safetensors_convert
static double number_of_half(uint32_t bits)
{
    const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                      : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

static double number_of_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double number_of_bits(uint64_t bits, const struct tensor_type *type)
{
    double value;
    switch (type->form) {
    case FORM_BOOL:     return bits != 0;
    case FORM_UNSIGNED: return (double)bits;
    case FORM_SIGNED:   return (double)((int64_t)(bits << (64 - type->bits)) >> (64 - type->bits));
    case FORM_HALF:     return number_of_half((uint32_t)bits);
    case FORM_BRAIN:    return number_of_float((uint32_t)bits << 16);
    default:            break;
    }
    if (type->bits == 32)
        return number_of_float((uint32_t)bits);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool safetensors_convert(const struct safetensors *file, const struct safetensor *tensor, real *out)
{
    const struct tensor_type *type = &tensor_types[tensor->type];
    const int bytes = type->bits / 8;
    const unsigned char *at = file->buffer + tensor->begin;
    if (type->form == FORM_NONE)
        return false;
    for (int64_t i = 0; i < tensor->count; i++, at += bytes) {
        uint64_t bits = 0;
        for (int k = 0; k < bytes; k++)
            bits |= (uint64_t)at[k] << 8 * k;
        out[i] = (real)number_of_bits(bits, type);
    }
    return true;
}

//% part safetensors_read
static struct safetensors safetensors_open(const char *path)
{
    struct safetensors file;
    char error[ERROR_LENGTH];
    int64_t length;
    const unsigned char *bytes = file_map(path, &length);
    if (!safetensors_parse(&file, bytes, length, error))
        fail(EXIT_CHECKPOINT, "%s: %s", path, error);
    file.path = path;
    return file;
}

static void shape_text(char *text, size_t size, int rank, const int64_t *shape)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < rank && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? ", " : "", (long long)shape[i]);
}

static void safetensors_load(const struct safetensors *file, const char *name, int rank, const long *shape, real *out)
{
    const struct safetensor *tensor = safetensors_find(file, name);
    char there[200], needed[200];
    int64_t wanted[TENSOR_RANK];
    bool same = tensor && tensor->rank == rank;
    if (!tensor)
        fail(EXIT_CHECKPOINT, "%s has no tensor '%s'", file->path, name);
    for (int i = 0; i < rank && i < TENSOR_RANK; i++) {
        wanted[i] = shape[i];
        same = same && tensor->shape[i] == wanted[i];
    }
    if (!same) {
        shape_text(there, sizeof there, tensor->rank, tensor->shape);
        shape_text(needed, sizeof needed, rank, wanted);
        fail(EXIT_CHECKPOINT, "%s: '%s' has shape (%s), this program needs (%s)", file->path, name, there, needed);
    }
    if (!safetensors_convert(file, tensor, out))
        fail(EXIT_CHECKPOINT, "%s: '%s' has type %s, which this program can't read", file->path, name,
             tensor_types[tensor->type].name);
}

//% part safetensors_write
static int by_tensor_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor_to_write *)a)->name, ((const struct tensor_to_write *)b)->name);
}

static long tensor_elements(const struct tensor_to_write *tensor)
{
    long count = 1;
    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

static void write_text(FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20)
            fprintf(file, "\\u%04x", (unsigned char)*text);
        else
            putc(*text, file);
}

/* Length first, 0 where it is not known yet; spaces fill it up so that the tensors begin at a multiple of 8. */
static void write_header(FILE *file, const struct tensor_to_write *tensors, int count)
{
    const char *type = sizeof(real) == 4 ? "F32" : "F64";
    long long at = 0;
    unsigned char length[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
    fwrite(length, 1, 8, file);
    fputs("{\"__metadata__\":{\"format\":\"pt\"}", file);
    for (int t = 0; t < count; t++) {
        fputs(",\"", file);
        write_text(file, tensors[t].name);
        fprintf(file, "\":{\"dtype\":\"%s\",\"shape\":[", type);
        for (int i = 0; i < tensors[t].rank; i++)
            fprintf(file, "%s%ld", i ? "," : "", tensors[t].shape[i]);
        const long long end = at + (long long)tensor_elements(&tensors[t]) * (long long)sizeof(real);
        fprintf(file, "],\"data_offsets\":[%lld,%lld]}", at, end);
        at = end;
    }
    putc('}', file);
    while (ftell(file) % 8)
        putc(' ', file);
    const long end = ftell(file);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((unsigned long)(end - 8) >> 8 * i);
    fseek(file, 0, SEEK_SET);
    fwrite(length, 1, 8, file);
    fseek(file, end, SEEK_SET);
}

static void sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    const int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return;
    fsync(handle);
    close(handle);
}

static bool safetensors_write(const char *path, struct tensor_to_write *tensors, int count, char *error)
{
    char beside[4096];
    if (snprintf(beside, sizeof beside, "%s.tmp", path) >= (int)sizeof beside)
        return error_text(error, "the path is too long: %.300s...", path);
    FILE *file = fopen(beside, "wb");
    if (!file)
        return error_text(error, "can't write %s: %s", beside, strerror(errno));
    qsort(tensors, (size_t)count, sizeof *tensors, by_tensor_name);
    write_header(file, tensors, count);
    for (int t = 0; t < count; t++)
        fwrite(tensors[t].values, sizeof(real), (size_t)tensor_elements(&tensors[t]), file);
    bool fine = fflush(file) == 0 && !ferror(file) && fsync(fileno(file)) == 0;
    int why = errno;
    if (fclose(file) != 0 && fine) {
        fine = false;
        why = errno;
    }
    if (fine && rename(beside, path) != 0) {
        fine = false;
        why = errno;
    }
    if (!fine) {
        unlink(beside);
        return error_text(error, "can't write %s: %s", path, strerror(why));
    }
    sync_folder(path);
    return true;
}
