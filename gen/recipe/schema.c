/* schema.c -- the table of fields for others: JSON Schema for editors, a line a key for people. */
#include "recipe/fields.h"

#include <math.h>

typedef struct Schema {
    Buffer *out;
    int depth;
} Schema;

/* ---- JSON ---- */

static void new_line(Schema *schema)
{
    buffer_add(schema->out, "\n%*s", 2 * schema->depth, "");
}

static void print_json_text(Buffer *out, const char *text)
{
    buffer_add(out, "\"");
    for (; *text; text++)
        buffer_add(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    buffer_add(out, "\"");
}

static void print_json(Buffer *out, const Doc *doc)
{
    bool is_map = doc->kind == DOC_MAP;
    if (doc->kind == DOC_TEXT) {
        print_json_text(out, doc->text);
    } else if (!is_map && doc->kind != DOC_LIST) {
        doc_print(out, doc);            /* null, true, 1, 0.5 are the same in JSON */
    } else {
        buffer_add(out, is_map ? "{" : "[");
        for (int i = 0; i < doc->count; i++) {
            buffer_add(out, i ? ", " : "");
            if (is_map) {
                print_json_text(out, doc->items[i]->key);
                buffer_add(out, ": ");
            }
            print_json(out, doc->items[i]);
        }
        buffer_add(out, is_map ? "}" : "]");
    }
}

/* ---- what each type allows ---- */

typedef void TypeSchema(Schema *schema, const FieldRow *row);

static void print_limits(Schema *schema, const FieldRow *row)
{
    Range range = field_range(row);
    if (isfinite(range.low))
        buffer_add(schema->out, ", \"%s\": %.15g", range.low_open ? "exclusiveMinimum" : "minimum", range.low);
    if (isfinite(range.high))
        buffer_add(schema->out, ", \"%s\": %.15g", range.high_open ? "exclusiveMaximum" : "maximum", range.high);
}

static void schema_whole(Schema *schema, const FieldRow *row)
{
    buffer_add(schema->out, "{\"type\": \"integer\"");
    print_limits(schema, row);
    buffer_add(schema->out, "}");
}

static void schema_number(Schema *schema, const FieldRow *row)
{
    buffer_add(schema->out, "{\"type\": \"number\"");
    print_limits(schema, row);
    buffer_add(schema->out, "}");
}

static void schema_truth(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"type\": \"boolean\"}");
}

static void schema_word(Schema *schema, const FieldRow *row)
{
    TextArray words = field_words(schema->out->arena, row);
    buffer_add(schema->out, "{\"enum\": [");
    for (int i = 0; i < words.count; i++)
        buffer_add(schema->out, "%s\"%s\"", i ? ", " : "", words.items[i]);
    buffer_add(schema->out, "]}");
}

static void schema_text(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"type\": \"string\"}");
}

static void schema_path(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"type\": \"string\", \"minLength\": 1}");
}

static void schema_size(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"type\": \"string\", \"pattern\": \"^[0-9.]+ *([KMGT]iB|[kKMGT]?B)$\"}");
}

static void schema_time(Schema *schema, const FieldRow *row)
{
    buffer_add(schema->out, "{\"type\": \"string\", \"pattern\": \"^ *[+]?[0-9._eE+-]+ *([eE][pP]|[bB][aA]|[sS][pP]|"
                            "[tT][oO][kK]|[dD][uU][rR]) *$\"}, {\"type\": \"integer\"");
    print_limits(schema, row);
    buffer_add(schema->out, "}");
}

static void schema_shape(Schema *schema, const FieldRow *row)
{
    buffer_add(schema->out, "{\"type\": \"array\", \"minItems\": 3, \"maxItems\": 3, \"items\": ");
    schema_whole(schema, row);
    buffer_add(schema->out, "}");
}

static void schema_numbers(Schema *schema, const FieldRow *row)
{
    buffer_add(schema->out, "{\"type\": \"array\", \"minItems\": 1, \"maxItems\": %d, \"items\": ", MOST_CHANNELS);
    schema_number(schema, row);
    buffer_add(schema->out, "}");
}

static void schema_names(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"type\": \"string\"}, {\"type\": \"array\", \"items\": {\"type\": \"string\"}}");
}

static void schema_choice(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"$ref\": \"#/$defs/choice\"}");
}

static void schema_choices(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"type\": \"string\"}, {\"$ref\": \"#/$defs/named\"}, "
                            "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/choice\"}}");
}

static void schema_free(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"type\": \"object\"}");
}

static void print_object(Schema *schema, Section section, int kind);

static void schema_model(Schema *schema, const FieldRow *row)
{
    schema_choice(schema, row);
    buffer_add(schema->out, ", ");
    print_object(schema, SECTION_MODEL, -1);
}

static void schema_section(Schema *schema, const FieldRow *row)
{
    Section section = field_section(row);
    print_object(schema, section, -1);
    if (section == SECTION_AUGMENT)
        buffer_add(schema->out, ", {\"type\": \"array\", \"items\": {\"anyOf\": [{\"type\": \"string\"}, "
                                "{\"type\": \"object\", \"minProperties\": 1, \"maxProperties\": 1}]}}");
}

static void schema_dataset(Schema *schema, const FieldRow *row)
{
    (void)row;
    buffer_add(schema->out, "{\"type\": \"object\", \"minProperties\": 1, \"maxProperties\": 1, "
                            "\"additionalProperties\": false, \"properties\": {");
    schema->depth++;
    for (int i = 0; i < data_kind_count; i++) {
        buffer_add(schema->out, i ? "," : "");
        new_line(schema);
        buffer_add(schema->out, "\"%s\": ", data_kinds[i].name);
        print_object(schema, SECTION_DATASET, i);
    }
    schema->depth--;
    new_line(schema);
    buffer_add(schema->out, "}}");
}

static TypeSchema *const types[FIELD_TYPES] = {
    [FIELD_WHOLE] = schema_whole,     [FIELD_NUMBER] = schema_number, [FIELD_TRUTH] = schema_truth,
    [FIELD_WORD] = schema_word,       [FIELD_TEXT] = schema_text,     [FIELD_PATH] = schema_path,
    [FIELD_SIZE] = schema_size,       [FIELD_TIME] = schema_time,     [FIELD_SHAPE] = schema_shape,
    [FIELD_NUMBERS] = schema_numbers, [FIELD_NAMES] = schema_names,   [FIELD_CHOICE] = schema_choice,
    [FIELD_CHOICES] = schema_choices, [FIELD_MODEL] = schema_model,   [FIELD_DATASET] = schema_dataset,
    [FIELD_SECTION] = schema_section, [FIELD_FREE] = schema_free,
};

/* ---- rows ---- */

/* Any value may be a reference instead, and any that is not required may be null. */
static void print_property(Schema *schema, const FieldRow *row)
{
    buffer_add(schema->out, "\"%s\": {\"description\": ", row->key);
    print_json_text(schema->out, row->help);
    if (field_has_default(row)) {
        buffer_add(schema->out, ", \"default\": ");
        print_json(schema->out, yaml_constant(schema->out->arena, row->standard));
    }
    buffer_add(schema->out, ", \"anyOf\": [");
    types[row->type](schema, row);
    buffer_add(schema->out, ", {\"$ref\": \"#/$defs/reference\"}%s]}",
               field_is_required(row) ? "" : ", {\"type\": \"null\"}");
}

static void print_object(Schema *schema, Section section, int kind)
{
    buffer_add(schema->out, "{\"type\": \"object\", \"additionalProperties\": false, \"required\": [");
    int required = 0;
    for (const FieldRow *row = NULL; (row = field_next(section, kind, row));)
        if (field_is_required(row))
            buffer_add(schema->out, "%s\"%s\"", required++ ? ", " : "", row->key);
    buffer_add(schema->out, "], \"properties\": {");
    schema->depth++;
    int printed = 0;
    for (const FieldRow *row = NULL; (row = field_next(section, kind, row));) {
        buffer_add(schema->out, printed++ ? "," : "");
        new_line(schema);
        print_property(schema, row);
    }
    schema->depth--;
    new_line(schema);
    buffer_add(schema->out, "}}");
}

void recipe_schema(Buffer *out)
{
    static const char head[] =
        "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": \"composer-gen recipe\",\n"
        "  \"$defs\": {\n"
        "    \"reference\": {\"type\": \"string\", \"pattern\": \"\\\\$\\\\{\"},\n"
        "    \"named\": {\"type\": \"object\", \"additionalProperties\": {\"type\": [\"object\", \"null\", \"string\"]}},\n"
        "    \"choice\": {\"anyOf\": [{\"type\": \"string\"}, {\"$ref\": \"#/$defs/named\", \"minProperties\": 1, "
        "\"maxProperties\": 1}]}\n  },\n  \"allOf\": [";
    Schema schema = { out, 1 };
    buffer_add(out, "%s", head);
    print_object(&schema, SECTION_RECIPE, -1);
    buffer_add(out, "]\n}\n");
}

/* ---- lines ---- */

static const char *prefix_of(Section section)
{
    static const char *const prefixes[] = {
        [SECTION_RECIPE] = "",                   [SECTION_MODEL] = "model.",
        [SECTION_CONVOLUTION] = "convolution.",  [SECTION_SAMPLE] = "sample.",
        [SECTION_DATASET] = "dataset.KIND.",     [SECTION_AUGMENT] = "dataset.KIND.augment.",
        [SECTION_NORMALIZE] = "dataset.KIND.normalize.",
    };
    return prefixes[section];
}

static const char *kinds_of(Arena *arena, const FieldRow *row)
{
    Buffer names = { .arena = arena };
    int count = 0;
    for (int i = 0; i < data_kind_count; i++)
        if (row->section == SECTION_DATASET && row->kinds & 1u << i)
            buffer_add(&names, "%s%s", count++ ? " " : " (", data_kinds[i].name);
    return !count || count == data_kind_count ? "" : text_format(arena, "%s)", buffer_text(&names));
}

void recipe_list_keys(Buffer *out)
{
    buffer_add(out, "%-32s %-14s %-28s %-32s %s\n", "key", "type", "default", "range", "help");
    for (const FieldRow *row = field_rows; row < field_rows + field_row_count; row++)
        buffer_add(out, "%-32s %-14s %-28s %-32s %s%s\n",
                   text_format(out->arena, "%s%s", prefix_of(row->section), row->key), field_type_name(row->type),
                   *row->standard ? row->standard : "-", *row->range ? row->range : "-", row->help,
                   kinds_of(out->arena, row));
    buffer_add(out, "\nkinds of data sets:\n");
    for (int i = 0; i < data_kind_count; i++)
        buffer_add(out, "%-32s %s\n", data_kinds[i].name, data_kinds[i].help);
}
