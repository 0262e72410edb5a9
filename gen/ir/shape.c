/* shape.c -- shapes as values, and the table of shape rules. */
#include "ir/shape.h"

#include <stdarg.h>

#define OP(name, least, most, results, role, shape, ...) ShapeRule shape;
#include "ir/ops.def"

ShapeRule *const shape_rules[OP_COUNT] = {
#define OP(name, least, most, results, role, shape, ...) [OP_##name] = shape,
#include "ir/ops.def"
};

const OpInfo op_info[OP_COUNT] = {
#define OP(name_, least_, most_, results_, role_, shape_, grad_, meaning_)                                          \
    [OP_##name_] = { #name_, least_, most_, results_, ROLE_##role_, meaning_ },
#include "ir/ops.def"
};

bool dtype_is_whole(DType dtype)
{
    return dtype == DTYPE_INT32 || dtype == DTYPE_UINT8;
}

Shape shape_of(int rank, ...)
{
    Shape shape = { .rank = rank };
    va_list extents;
    va_start(extents, rank);
    for (int i = 0; i < rank; i++)
        shape.dim[i] = va_arg(extents, int64_t);
    va_end(extents);
    return shape;
}

bool shape_equal(Shape a, Shape b)
{
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (a.dim[i] != b.dim[i])
            return false;
    return true;
}

int64_t shape_elements(Shape shape)
{
    int64_t elements = 1;
    for (int i = 0; i < shape.rank; i++)
        elements *= shape.dim[i];
    return elements;
}

const char *shape_text(Arena *arena, Shape shape)
{
    Buffer out = { .arena = arena };
    buffer_add(&out, "[");
    for (int i = 0; i < shape.rank; i++)
        buffer_add(&out, "%s%lld", i ? "," : "", (long long)shape.dim[i]);
    buffer_add(&out, "]");
    return buffer_text(&out);
}

bool shape_broadcast(Shape a, Shape b, Shape *common)
{
    Shape shape = { .rank = a.rank > b.rank ? a.rank : b.rank };
    for (int i = 1; i <= shape.rank; i++) {
        int64_t x = i <= a.rank ? a.dim[a.rank - i] : 1, y = i <= b.rank ? b.dim[b.rank - i] : 1;
        if (x != y && x != 1 && y != 1)
            return false;
        shape.dim[shape.rank - i] = x == 1 ? y : x;
    }
    *common = shape;
    return true;
}
