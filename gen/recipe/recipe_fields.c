/* recipe_fields.c -- fields.def as a table, and the readers of its plain types. */
#include "recipe/fields.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- the tables ---- */

enum {
#define KIND(name, ...) KIND_##name,
#include "recipe/fields.def"
};

enum {
    ALL = ~0u,
    SYNTHETIC = 1u << KIND_synthetic,
    FILES = ~SYNTHETIC,
    TEXTS = 1u << KIND_tokens | 1u << KIND_text,
    IMAGES = ~TEXTS,
    CLASSES = 1u << KIND_idx | SYNTHETIC,
};

const DataKind data_kinds[] = {
#define KIND(name, channels, mean, std, help) { #name, channels, mean, std, help },
#include "recipe/fields.def"
};
const int data_kind_count = sizeof data_kinds / sizeof *data_kinds;

const FieldRow field_rows[] = {
#define FIELD(section, kinds, key, type, member, standard, range, help)                                             \
    { SECTION_##section, kinds, #key, FIELD_##type, offsetof(Recipe, member), sizeof ((Recipe *)0)->member, standard, \
      range, help },
#include "recipe/fields.def"
};
const int field_row_count = sizeof field_rows / sizeof *field_rows;

const FieldRow *field_next(Section section, int kind, const FieldRow *row)
{
    for (row = row ? row + 1 : field_rows; row < field_rows + field_row_count; row++)
        if (row->section == section && (kind < 0 || section != SECTION_DATASET || row->kinds & 1u << kind))
            return row;
    return NULL;
}

Section field_section(const FieldRow *row)
{
    static const struct { const char *key; Section section; } opened[] = {
        { "convolution", SECTION_CONVOLUTION }, { "sample", SECTION_SAMPLE },
        { "augment", SECTION_AUGMENT },         { "normalize", SECTION_NORMALIZE },
    };
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (text_equal(opened[i].key, row->key))
            return opened[i].section;
    bug("fields.def: no section is named '%s'", row->key);
}

void *field_member(Recipe *recipe, const FieldRow *row)
{
    return (char *)recipe + row->offset;
}

bool field_is_required(const FieldRow *row)
{
    return text_equal(row->standard, "required");
}

bool field_has_default(const FieldRow *row)
{
    return *row->standard && *row->standard != '=' && !field_is_required(row);
}

bool field_is_choice(const char *key)
{
    for (const FieldRow *row = NULL; (row = field_next(SECTION_RECIPE, -1, row));)
        if (text_equal(row->key, key))
            return row->type == FIELD_CHOICE || row->type == FIELD_MODEL || row->type == FIELD_DATASET
                || text_equal(key, "schedule");
    return false;
}

int data_kind_index(const char *name)
{
    for (int i = 0; i < data_kind_count; i++)
        if (text_equal(data_kinds[i].name, name))
            return i;
    return -1;
}

TextArray field_words(Arena *arena, const FieldRow *row)
{
    TextArray words = { 0 };
    for (const char *at = row->range; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        array_push(arena, &words, text_slice(arena, at, length));
        at += length;
    }
    return words;
}

Range field_range(const FieldRow *row)
{
    enum { CEILING = 1 << 20 };
    if (!strchr("[(", *row->range) || !*row->range)
        return (Range){ -INFINITY, INFINITY, true, true, true };
    char *end;
    Range range = { .low_open = *row->range == '(' };
    range.low = strtod(row->range + 1, &end);
    range.high = strtod(end + 1, &end);
    range.high_open = *end == ')';
    range.high_is_ceiling = range.high >= CEILING;
    return range;
}

/* ---- messages ---- */

void complain_expected(Fields *fields, const Doc *doc, const char *name, const char *expected)
{
    if (doc->is_broken)
        return;
    complain(fields->diag, doc->place, "%s: expected %s, found %s", name, expected, doc_found(fields->arena, doc));
    if (doc->origin.source)
        note(fields->diag, doc->origin, "the value comes from here");
}

void complain_unknown(Diagnostics *diag, Place place, const char *what, const char *key,
                      const char *const *valid, int count)
{
    const char *near = text_nearest(key, valid, count);
    if (near) {
        complain(diag, place, "%s '%s'; did you mean '%s'?", what, key, near);
        return;
    }
    Buffer names = { .arena = diag->arena };
    enum { MOST_NAMES = 24 };
    for (int i = 0; i < count && i < MOST_NAMES; i++)
        buffer_add(&names, "%s%s", i ? ", " : "", valid[i]);
    complain(diag, place, "%s '%s'%s%s%s", what, key, count ? "; there are: " : "", buffer_text(&names),
             count > MOST_NAMES ? ", ..." : "");
}

/* "a whole number >= 1", "a number from 0 to 1"; the ceiling only for a value that passes it. */
static const char *expected_number(Arena *arena, const FieldRow *row, const char *what, double found)
{
    Range range = field_range(row);
    if (range.high_is_ceiling && found > range.high)
        return text_format(arena, "%s <= %.15g", what, range.high);
    if (isinf(range.low))
        return what;
    if (range.high_is_ceiling || range.low_open)
        return text_format(arena, "%s %s %.15g%s", what, range.low_open ? ">" : ">=", range.low,
                           range.high_is_ceiling ? "" : text_format(arena, " and <= %.15g", range.high));
    return text_format(arena, "%s from %.15g to %.15g", what, range.low, range.high);
}

static bool in_range(const FieldRow *row, double number)
{
    Range range = field_range(row);
    bool high_enough = range.low_open ? number > range.low : number >= range.low;
    bool low_enough = range.high_open ? number < range.high : number <= range.high;
    return high_enough && low_enough;
}

/* ---- plain types ---- */

static void read_whole(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    double found = 0;
    bool is_number = doc_number(doc, &found);
    if (doc->kind != DOC_INT || !in_range(row, found))
        complain_expected(fields, doc, name,
                          expected_number(fields->arena, row, "a whole number", is_number ? found : 0));
    else
        *(int64_t *)member = doc->integer;
}

static void read_number(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    double found = 0;
    if (!doc_number(doc, &found) || isnan(found) || !in_range(row, found) || isinf(found))
        complain_expected(fields, doc, name,
                          expected_number(fields->arena, row, "a finite number", isfinite(found) ? found : 0));
    else
        *(double *)member = found;
}

static void read_truth(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    (void)row;
    if (doc->kind != DOC_BOOL)
        complain_expected(fields, doc, name, "true or false");
    else
        *(bool *)member = doc->truth;
}

/* The index of the word, into a bool or an enumeration. */
static void read_word(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    TextArray words = field_words(fields->arena, row);
    for (int i = 0; i < words.count; i++)
        if (doc->kind == DOC_TEXT && text_equal(doc->text, words.items[i])) {
            if (row->size == sizeof(bool))
                *(bool *)member = i != 0;
            else
                *(unsigned *)member = (unsigned)i;
            return;
        }
    Buffer list = { .arena = fields->arena };
    for (int i = 0; i < words.count; i++)
        buffer_add(&list, "%s%s", i ? i + 1 < words.count ? ", " : " or " : "", words.items[i]);
    const char *near = doc->kind == DOC_TEXT ? text_nearest(doc->text, words.items, words.count) : NULL;
    complain(fields->diag, doc->place, "%s: expected %s, found %s%s%s%s", name, buffer_text(&list),
             doc_found(fields->arena, doc), near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static void read_text(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    (void)row;
    bool is_scalar = doc->text && doc->kind != DOC_TEXT && doc->kind != DOC_NULL;
    if (doc->kind != DOC_TEXT)
        complain_expected(fields, doc, name, is_scalar ? "a text (in quotes)" : "a text");
    else
        *(const char **)member = doc->text;
}

static void read_path(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    if (doc->kind != DOC_TEXT || !*doc->text)
        complain_expected(fields, doc, name, "a path");
    else
        read_text(fields, row, doc, name, member);
}

/* A positive number and B, KiB, MiB, GiB, TiB, kB, MB, GB or TB. */
static void read_size(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "kB", "KB", "MB", "GB", "TB" };
    char *unit = NULL;
    bool plain = doc->kind == DOC_TEXT && isdigit((unsigned char)doc->text[0]) && doc->text[1] != 'x';
    double amount = plain ? strtod(doc->text, &unit) : 0;
    for (size_t i = 0; plain && i < sizeof units / sizeof *units; i++)
        if (amount > 0 && amount < 1e15 && text_equal(unit + strspn(unit, " "), units[i])) {
            read_text(fields, row, doc, name, member);
            return;
        }
    complain_expected(fields, doc, name, "a number of bytes > 0 with its unit, like 512MiB or 4GiB");
}

static void read_time(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    Duration duration = { 0 };
    const char *wrong = doc_duration(fields->arena, doc, &duration);
    if (wrong)
        complain(fields->diag, doc->place, "%s: found %s; %s", name, doc_found(fields->arena, doc), wrong);
    else if (!in_range(row, duration.amount))
        complain_expected(fields, doc, name, expected_number(fields->arena, row, "a time", duration.amount));
    else
        *(Duration *)member = duration;
}

/* ---- lists of numbers ---- */

static void read_shape(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    enum { AXES = 3 };
    if (doc->kind != DOC_LIST || doc->count != AXES) {
        complain_expected(fields, doc, name, "three whole numbers, [channels, height, width]");
        return;
    }
    int64_t *shape = member;
    for (int i = 0; i < AXES; i++)
        read_whole(fields, row, doc->items[i], text_format(fields->arena, "%s[%d]", name, i), &shape[i]);
    if (shape[0] > MOST_CHANNELS)
        complain(fields->diag, doc->items[0]->place, "%s: at most %d channels", name, MOST_CHANNELS);
}

/* How many there must be is checked where the channels are known. */
static void read_numbers(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    if (doc->kind != DOC_LIST || doc->count < 1 || doc->count > MOST_CHANNELS) {
        complain_expected(fields, doc, name, "a list of numbers, one a channel");
        return;
    }
    for (int i = 0; i < doc->count; i++)
        read_number(fields, row, doc->items[i], text_format(fields->arena, "%s[%d]", name, i), (double *)member + i);
}

/* ---- sections ---- */

static const FieldRow *find_row(Section section, const char *key)
{
    for (const FieldRow *row = NULL; (row = field_next(section, -1, row));)
        if (text_equal(row->key, key))
            return row;
    return NULL;
}

/* The entry that an item of a list of settings stands for: `flip` is flip: true. NULL after a complaint. */
static Doc *entry_of_item(Fields *fields, Section section, const Doc *item, const char *name)
{
    if (item->kind == DOC_MAP && item->count == 1)
        return item->items[0];
    const FieldRow *row = item->kind == DOC_TEXT ? find_row(section, item->text) : NULL;
    if (item->kind != DOC_TEXT || (row && row->type != FIELD_TRUTH)) {
        complain_expected(fields, item, name, row ? text_format(fields->arena, "`%s: ` and its number", row->key)
                                                  : "a name, or a name and its number");
        return NULL;
    }
    Doc *entry = yaml_constant(fields->arena, "true");
    entry->key = item->text;
    entry->place = entry->key_place = item->place;
    return entry;
}

/* `augment: [pad_crop: 4, flip]` means {pad_crop: 4, flip: true}. */
static const Doc *map_of_list(Fields *fields, Section section, const Doc *list, const char *name)
{
    Doc *map = arena_copy(fields->arena, list, sizeof *list);
    DocArray items = { 0 };
    map->kind = DOC_MAP;
    for (int i = 0; i < list->count; i++) {
        Doc *entry = entry_of_item(fields, section, list->items[i], name);
        doc_set_items(map, &items);
        if (entry && doc_find(map, entry->key))
            complain(fields->diag, entry->key_place, "%s: '%s' is given twice", name, entry->key);
        else if (entry)
            array_push(fields->arena, &items, entry);
    }
    doc_set_items(map, &items);
    return map;
}

static void read_section(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    (void)member;
    Section section = field_section(row);
    if (doc->kind == DOC_LIST && section == SECTION_AUGMENT)
        doc = map_of_list(fields, section, doc, name);
    if (doc->kind != DOC_MAP)
        complain_expected(fields, doc, name, "a map of settings");
    else
        fields_read(fields, section, -1, doc, doc->key_place, text_format(fields->arena, "%s.", name));
}

static void read_free(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    (void)row, (void)member;
    if (doc->kind != DOC_MAP)
        complain_expected(fields, doc, name, "a map");
}

static const struct { const char *name; FieldReader *read; } types[FIELD_TYPES] = {
    [FIELD_WHOLE] = { "whole number", read_whole },   [FIELD_NUMBER] = { "number", read_number },
    [FIELD_TRUTH] = { "true or false", read_truth },  [FIELD_WORD] = { "word", read_word },
    [FIELD_TEXT] = { "text", read_text },             [FIELD_PATH] = { "path", read_path },
    [FIELD_SIZE] = { "bytes", read_size },            [FIELD_TIME] = { "time", read_time },
    [FIELD_SHAPE] = { "three numbers", read_shape },  [FIELD_NUMBERS] = { "numbers", read_numbers },
    [FIELD_NAMES] = { "names", read_names },          [FIELD_CHOICE] = { "choice", read_choice },
    [FIELD_CHOICES] = { "choices", read_choices },    [FIELD_MODEL] = { "choice", read_model },
    [FIELD_DATASET] = { "choice", read_dataset },     [FIELD_SECTION] = { "section", read_section },
    [FIELD_FREE] = { "map", read_free },
};

const char *field_type_name(FieldType type)
{
    return types[type].name;
}

/* ---- by the table ---- */

/* Names of other times and dialects, and keys that only some kinds of data set know. */
static const char *hint_for(Arena *arena, Section section, const char *key)
{
    static const struct { const char *theirs, *ours; } renamed[] = {
        { "algorithms", "methods" },    { "train_batch_size", "batch_size" },
        { "train_dataset", "dataset" }, { "global_train_batch_size", "batch_size" },
        { "optimizers", "optimizer" },  { "device_eval_batch_size", "eval_batch_size" },
        { "schedulers", "schedule" },   { "device_train_microbatch_size", "grad_accum" },
        { "scheduler", "schedule" },    { "train_microbatch_size", "grad_accum" },
    };
    for (size_t i = 0; section == SECTION_RECIPE && i < sizeof renamed / sizeof *renamed; i++)
        if (text_equal(key, renamed[i].theirs))
            return text_format(arena, "here it is '%s'", renamed[i].ours);
    Buffer kinds = { .arena = arena };
    for (const FieldRow *row = NULL; section == SECTION_DATASET && (row = field_next(section, -1, row));)
        for (int i = 0; text_equal(row->key, key) && i < data_kind_count; i++)
            if (row->kinds & 1u << i)
                buffer_add(&kinds, "%s%s", kinds.count ? ", " : "", data_kinds[i].name);
    return kinds.count ? text_format(arena, "that is for %s", buffer_text(&kinds)) : NULL;
}

static TextArray keys_of(Arena *arena, Section section, int kind)
{
    TextArray keys = { 0 };
    for (const FieldRow *row = NULL; (row = field_next(section, kind, row));)
        array_push(arena, &keys, row->key);
    return keys;
}

static bool is_among(const TextArray *keys, const char *key)
{
    for (int i = 0; i < keys->count; i++)
        if (text_equal(keys->items[i], key))
            return true;
    return false;
}

static void check_unknown(Fields *fields, Section section, const TextArray *keys, const Doc *map, const char *title)
{
    const char *whose = *title ? text_slice(fields->arena, title, strlen(title) - 1) : "a recipe";
    for (int i = 0; i < map->count && fields->diag->errors < YAML_MOST_COMPLAINTS; i++) {
        const Doc *item = map->items[i];
        bool known = is_among(keys, item->key);
        const char *hint = known ? NULL : hint_for(fields->arena, section, item->key);
        if (hint)
            complain(fields->diag, item->key_place, "%s has no key '%s'; %s", whose, item->key, hint);
        else if (!known)
            complain_unknown(fields->diag, item->key_place, text_format(fields->arena, "%s has no key", whose),
                             item->key, keys->items, keys->count);
    }
}

/* A key that stands there misspelt is not also missing. */
static bool is_misspelt(const TextArray *keys, const Doc *map, const char *key)
{
    for (int i = 0; map && i < map->count; i++)
        if (!is_among(keys, map->items[i]->key)
            && text_equal(text_nearest(map->items[i]->key, keys->items, keys->count), key))
            return true;
    return false;
}

static void read_row(Fields *fields, const FieldRow *row, const Doc *doc, const char *name)
{
    void *member = field_member(fields->recipe, row);
    if (doc && doc->is_broken)
        return;
    if (doc && (doc->kind != DOC_NULL || field_is_required(row)))
        types[row->type].read(fields, row, doc, name, member);
    else if (field_has_default(row))
        types[row->type].read(fields, row, yaml_constant(fields->arena, row->standard), name, member);
    else if (row->type == FIELD_SECTION)
        fields_read(fields, field_section(row), -1, NULL, (Place){ 0 }, text_format(fields->arena, "%s.", name));
}

void fields_read(Fields *fields, Section section, int kind, const Doc *map, Place place, const char *title)
{
    TextArray keys = keys_of(fields->arena, section, kind);
    bool is_given = map || section == SECTION_DATASET;      /* `dataset: mnist` is there, and lacks its path */
    if (map)
        check_unknown(fields, section, &keys, map, title);
    for (const FieldRow *row = NULL; (row = field_next(section, kind, row));) {
        const Doc *doc = doc_find(map, row->key);
        const char *name = text_format(fields->arena, "%s%s", title, row->key);
        if (!doc && field_is_required(row) && is_given && !is_misspelt(&keys, map, row->key))
            complain(fields->diag, place, "%s is missing: %s", name, row->help);
        read_row(fields, row, doc, name);
    }
}
