/* graph_text.h -- what the printer and the reader of graphs share: the attributes of each op as named values. */
#pragma once
#include <stddef.h>

#include "ir/ir.h"

/* WORD: an enumeration, by the names of its values. */
typedef enum FieldType { FIELD_INT, FIELD_INT64, FIELD_DOUBLE, FIELD_BOOL, FIELD_WORD } FieldType;

enum { COUNT_IS_RANK = 0 };             /* one value for each axis of the node */

typedef struct AttributeField {
    const char *name;
    FieldType type;
    size_t offset;                      /* in Attributes */
    int count;
    const char *const *words;           /* WORD */
    int word_count;
} AttributeField;

typedef struct AttributeFields {
    const AttributeField *fields;
    int count;
} AttributeFields;

AttributeFields attribute_fields(Op op);

/* " stride=1,1 groups=1": nothing is assumed of the values. */
void attributes_print(Buffer *out, Op op, const Attributes *at, int rank);

/* Is at.loss.share read? */
bool op_has_share(Op op);

enum { DTYPE_NAMES = 4, LAYOUT_NAMES = 2, OUTPUT_NAMES = 6 };
extern const char *const dtype_names[DTYPE_NAMES];      /* by DType: "real", ... */
extern const char *const layout_names[LAYOUT_NAMES];
extern const char *const output_names[OUTPUT_NAMES];    /* by OutputKind */
