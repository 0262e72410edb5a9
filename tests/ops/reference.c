/* reference.c -- see reference.h. */
#include "tests/ops/reference.h"

#include <stdlib.h>
#include <unistd.h>

const char *reference_folder(Arena *arena, const char *name)
{
    const char *shared = getenv("COMPOSER_GEN_SHARED");
    const char *path = text_format(arena, "%s/reference/%s", shared ? shared : "../shared", name);
    return access(path, R_OK) == 0 ? path : NULL;
}

const Json *reference_json(Arena *arena, const char *path)
{
    size_t length;
    const char *bytes = text_read_file(arena, path, &length);
    return bytes ? json_parse(arena, bytes, length) : NULL;
}

/* ---- safetensors: 8 bytes of length, a JSON header, the data ---- */

typedef double Element(const char *bytes, int64_t index);

#define ELEMENT(name, Type)                                                                       \
    static double name(const char *bytes, int64_t index)                                          \
    {                                                                                             \
        Type value;                                                                               \
        memcpy(&value, bytes + index * (int64_t)sizeof value, sizeof value);                      \
        return (double)value;                                                                     \
    }
ELEMENT(element_f64, double)
ELEMENT(element_f32, float)
ELEMENT(element_i64, int64_t)
ELEMENT(element_i32, int32_t)
ELEMENT(element_u8, uint8_t)

static const struct Format { const char *name; Element *element; int64_t size; bool is_whole; } formats[] = {
    { "F64", element_f64, 8, false }, { "F32", element_f32, 4, false }, { "I64", element_i64, 8, true },
    { "I32", element_i32, 4, true },  { "U8", element_u8, 1, true },
};

static const struct Format *format_named(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (text_equal(name, formats[i].name))
            return &formats[i];
    return NULL;
}

static bool read_tensor(Arena *arena, const Json *entry, const char *data, int64_t bytes, Tensor *tensor)
{
    const struct Format *format = format_named(json_text(entry, "dtype", NULL));
    const Json *shape = json_get(entry, "shape"), *place = json_get(entry, "data_offsets");
    if (!format || !shape || shape->count > MAX_RANK || !place || place->count != 2)
        return false;
    *tensor = (Tensor){ .name = entry->key, .is_whole = format->is_whole, .shape = { .rank = shape->count } };
    for (int i = 0; i < shape->count; i++)
        tensor->shape.dim[i] = (int64_t)shape->items[i].number;
    int64_t count = shape_elements(tensor->shape), begin = (int64_t)place->items[0].number;
    if (begin < 0 || begin + count * format->size != (int64_t)place->items[1].number
        || begin + count * format->size > bytes)
        return false;
    tensor->values = arena_array(arena, double, count);
    for (int64_t i = 0; i < count; i++)
        tensor->values[i] = format->element(data + begin, i);
    return true;
}

bool reference_tensors(Arena *arena, const char *path, Tensors *tensors)
{
    size_t length;
    uint64_t header;
    const char *bytes = text_read_file(arena, path, &length);
    if (!bytes || length < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    if (header > length - sizeof header)
        return false;
    const Json *map = json_parse(arena, bytes + sizeof header, header);
    if (!map || map->kind != JSON_MAP)
        return false;
    const char *data = bytes + sizeof header + header;
    *tensors = (Tensors){ arena_array(arena, Tensor, map->count), 0 };
    for (int i = 0; i < map->count; i++)
        if (!text_equal(map->items[i].key, "__metadata__")
            && !read_tensor(arena, &map->items[i], data, (int64_t)(length - sizeof header - header),
                            &tensors->items[tensors->count++]))
            return false;
    return true;
}

const Tensor *tensor_named(const Tensors *tensors, const char *name)
{
    for (int i = 0; i < tensors->count; i++)
        if (text_equal(tensors->items[i].name, name))
            return &tensors->items[i];
    return NULL;
}
