/* graph_text.h -- what the printer and the reader of graphs share: the attributes of each op as named numbers. */
#pragma once
#include <stddef.h>

#include "ir/ir.h"

typedef enum FieldType { FIELD_INT, FIELD_INT64, FIELD_DOUBLE, FIELD_BOOL } FieldType;

typedef struct AttributeField {
    const char *name;
    FieldType type;
    size_t offset;                      /* in Attributes */
    int count;
} AttributeField;

typedef struct AttributeFields {
    const AttributeField *fields;
    int count;
} AttributeFields;

AttributeFields attribute_fields(Op op);

extern const char *const dtype_names[4];        /* by DType: "real", ... */
extern const char *const layout_names[2];
extern const char *const output_names[6];       /* by OutputKind */
