/* fields.h -- fields.def as a table, and what reads by it. Inside the room. */
#pragma once
#include "recipe/yaml/yaml.h"

typedef enum Section {
    SECTION_RECIPE, SECTION_MODEL, SECTION_CONVOLUTION, SECTION_SAMPLE, SECTION_DATASET, SECTION_AUGMENT, SECTION_NORMALIZE,
} Section;

typedef enum FieldType {
    FIELD_WHOLE, FIELD_NUMBER, FIELD_TRUTH, FIELD_WORD, FIELD_TEXT, FIELD_PATH, FIELD_SIZE, FIELD_TIME, FIELD_SHAPE,
    FIELD_NUMBERS, FIELD_NAMES, FIELD_CHOICE, FIELD_CHOICES, FIELD_MODEL, FIELD_DATASET, FIELD_SECTION, FIELD_FREE,
    FIELD_TYPES
} FieldType;

typedef struct FieldRow {
    Section section;
    unsigned kinds;                     /* in DATASET: bits of the kinds that know it; 0 elsewhere */
    const char *key;
    FieldType type;
    size_t offset, size;                /* of the member in Recipe */
    const char *standard;               /* the default */
    const char *range, *help;
} FieldRow;

typedef struct DataKind {
    const char *name;
    int channels;
    const char *mean, *std, *help;
} DataKind;

extern const FieldRow field_rows[];
extern const int field_row_count;
extern const DataKind data_kinds[];
extern const int data_kind_count;

typedef struct Fields {
    Arena *arena;
    Diagnostics *diag;
    Recipe *recipe;
} Fields;

/* ---- the table ---- */
/* Next row of a section that a kind of data set knows (`kind` -1: any), after `row`; NULL starts, NULL ends. */
const FieldRow *field_next(Section section, int kind, const FieldRow *row);
Section field_section(const FieldRow *row);             /* that a SECTION row opens */
void *field_member(Recipe *recipe, const FieldRow *row);
bool field_is_required(const FieldRow *row);
bool field_has_default(const FieldRow *row);            /* one that is YAML */
bool field_is_choice(const char *key);                  /* at the top: its map names one thing */
int data_kind_index(const char *name);                  /* -1 */
const char *field_type_name(FieldType type);            /* for --list keys */
TextArray field_words(Arena *arena, const FieldRow *row);

typedef struct Range { double low, high; bool low_open, high_open; bool high_is_ceiling; } Range;
Range field_range(const FieldRow *row);                 /* high_is_ceiling: so far off that only who passes it is told */

/* ---- reading: recipe_fields.c, recipe_choices.c ---- */
/* Reads all rows of a section from `map` (NULL: not given) into the recipe. `title` stands before the keys in messages:
 * "dataset.cifar10.". */
void fields_read(Fields *fields, Section section, int kind, const Doc *map, Place place, const char *title);
/* "batch_size: expected a whole number >= 1, found the text 'many'", and where a reference found it. */
void complain_expected(Fields *fields, const Doc *doc, const char *name, const char *expected);

typedef void FieldReader(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member);
FieldReader read_names, read_choice, read_choices, read_model, read_dataset;
