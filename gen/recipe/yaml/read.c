/* read.c -- one YAML document to located values, from libyaml's events.
 *
 * Values are stacked by hand, so depth is a number and not the C stack; every alias is copied and counted. */
#include "recipe/yaml/yaml.h"

#include <yaml.h>

typedef struct Anchor { const char *name; Doc *doc; bool is_open; } Anchor;

/* A list or map being filled. */
typedef struct Frame {
    Doc *doc;
    DocArray items;
    const char *key;                    /* of the value to come; NULL: a key comes next (maps) */
    Place key_place;
    const char *anchor;
} Frame;

typedef struct Reader {
    Arena *arena;
    Diagnostics *diag;
    const Source *source;
    size_t from;
    bool is_override, failed, done;
    Frame frames[YAML_DEEPEST];
    int depth;
    Array(Anchor) anchors;
    int written, nodes;                 /* nodes of the text; with aliases expanded */
    Doc *root;
    /* libyaml counts characters; this follows it in bytes and lines, forwards as long as it can. */
    size_t character, byte;
    Place here;
} Reader;

/* ---- places ---- */

Place place_at(const Source *source, size_t offset)
{
    Place place = { source, 1, 1 };
    if (offset > source->length)
        offset = source->length;
    for (size_t i = 0; i < offset; i++) {
        place.column++;
        if (source->bytes[i] == '\n')
            place.line++, place.column = 1;
    }
    return place;
}

/* Lines end at '\n' alone, as diagnostics count them; libyaml also ends them at other characters. */
static Place place_of_mark(Reader *reader, yaml_mark_t mark)
{
    const Source *source = reader->source;
    if (mark.index < reader->character) {
        reader->character = 0, reader->byte = reader->from;
        reader->here = place_at(source, reader->from);
    }
    while (reader->character < mark.index && reader->byte < source->length) {
        bool is_line_end = source->bytes[reader->byte] == '\n';
        do
            reader->byte++, reader->here.column++;
        while (reader->byte < source->length && ((unsigned char)source->bytes[reader->byte] & 0xc0) == 0x80);
        if (is_line_end)
            reader->here.line++, reader->here.column = 1;
        reader->character++;
    }
    return reader->here;
}

/* ---- the text ---- */

/* Length of the UTF-8 sequence at `at`, 0 when it is none. */
static int utf8_length(const unsigned char *at, size_t left)
{
    int length = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
               : at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : 0;
    if (!length || (size_t)length > left)
        return 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] >= 0xa0, beyond = at[0] == 0xf4 && at[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

bool yaml_check_bytes(Diagnostics *diag, const Source *source)
{
    if (source->length > YAML_MOST_BYTES) {
        complain(diag, (Place){ source, 0, 0 }, "has %zu bytes; a recipe has at most %d", source->length,
                 YAML_MOST_BYTES);
        return false;
    }
    const unsigned char *bytes = (const unsigned char *)source->bytes;
    for (size_t i = 0; i < source->length;) {
        int length = utf8_length(bytes + i, source->length - i);
        if (!length) {
            complain(diag, place_at(source, i), "byte 0x%02x at offset %zu is not UTF-8, which recipes are written in",
                     bytes[i], i);
            return false;
        }
        if ((bytes[i] < ' ' && !strchr("\t\n\r", bytes[i])) || bytes[i] == 0x7f || !bytes[i]) {
            complain(diag, place_at(source, i), "control character 0x%02x at offset %zu can't stand in a recipe",
                     bytes[i], i);
            return false;
        }
        i += (size_t)length;
    }
    return true;
}

/* ---- complaints ---- */

static void fail(Reader *reader, Place place, const char *message)
{
    complain(reader->diag, place, "%s", message);
    reader->failed = true;
}

/* A mistake that leaves the rest readable. */
static void complain_on(Reader *reader, Place place, const char *message)
{
    complain(reader->diag, place, "%s", message);
    if (reader->diag->errors >= YAML_MOST_COMPLAINTS)
        reader->failed = true;
}

static void fail_as_parser(Reader *reader, const yaml_parser_t *parser)
{
    if (parser->error == YAML_READER_ERROR) {
        size_t offset = reader->from + parser->problem_offset;
        fail(reader, place_at(reader->source, offset),
             text_format(reader->arena, "%s (at offset %zu)", parser->problem, offset));
        return;
    }
    if (parser->error == YAML_MEMORY_ERROR) {
        fail(reader, (Place){ reader->source, 0, 0 }, "memory ran out while reading");
        return;
    }
    Place place = place_of_mark(reader, parser->problem_mark);
    const char *at = reader->source->bytes + reader->byte;
    bool inside = reader->byte < reader->source->length;
    bool is_reference = inside && reader->byte > reader->from && at[0] == '{' && at[-1] == '$';
    fail(reader, place, text_format(reader->arena, "%s%s%s%s", parser->context ? parser->context : "",
                                    parser->context ? ": " : "", parser->problem ? parser->problem : "is not YAML",
                                    inside && *at == '\t' ? "; a tab can't indent YAML, blanks do"
                                    : is_reference         ? "; inside { } or [ ] a reference needs quotes: \"${a}\"" : ""));
    if (parser->context && parser->context_mark.index < parser->problem_mark.index)
        note(reader->diag, place_of_mark(reader, parser->context_mark), "it began here");
}

/* ---- building ---- */

static bool count_nodes(Reader *reader, int more, Place place)
{
    enum { FREE = 1000, RATIO = 100 };
    reader->nodes += more;
    bool many = reader->nodes > YAML_MOST_NODES;
    bool swollen = reader->nodes > FREE && reader->nodes / RATIO > reader->written;
    if (many || swollen)
        fail(reader, place,
             many ? text_format(reader->arena, "more than %d values, aliases expanded; a recipe never needs so many",
                                YAML_MOST_NODES)
                  : text_format(reader->arena, "aliases expand %d values to %d; this is no recipe", reader->written,
                                reader->nodes));
    return !many && !swollen;
}

static Doc *new_doc(Reader *reader, DocKind kind, Place place)
{
    Doc *doc = arena_new(reader->arena, Doc);
    doc->kind = kind;
    doc->place = doc->key_place = place;
    doc->is_override = reader->is_override;
    reader->written++;
    count_nodes(reader, 1, place);
    return doc;
}

static const Doc *find_key(const Frame *frame, const char *key)
{
    for (int i = 0; i < frame->items.count; i++)
        if (text_equal(frame->items.items[i]->key, key))
            return frame->items.items[i];
    return NULL;
}

static void take_key(Reader *reader, Frame *frame, const Doc *doc)
{
    if (doc->kind == DOC_LIST || doc->kind == DOC_MAP || !doc->text || !*doc->text)
        fail(reader, doc->place, text_format(reader->arena, "a key is a word, not %s",
                                             doc->text && !*doc->text ? "nothing" : doc_kind_name(doc)));
    frame->key = doc->text;
    frame->key_place = doc->place;
    const Doc *before = find_key(frame, doc->text ? doc->text : "");
    if (before && !reader->failed) {
        complain_on(reader, doc->place, text_format(reader->arena, "key '%s' is given twice", doc->text));
        note(reader->diag, before->key_place, "the first time is here");
    }
}

/* Puts a finished value where it belongs: into the open list or map, as a key or value, or at the root. */
static void put(Reader *reader, Doc *doc)
{
    if (!reader->depth) {
        reader->root = doc;
        return;
    }
    Frame *frame = &reader->frames[reader->depth - 1];
    if (frame->doc->kind == DOC_MAP && !frame->key) {
        take_key(reader, frame, doc);
        return;
    }
    if (frame->key) {
        doc->key = frame->key;
        doc->key_place = frame->key_place;
        frame->key = NULL;
    }
    array_push(reader->arena, &frame->items, doc);
}

static void set_anchor(Reader *reader, const yaml_char_t *name, Doc *doc, bool is_open)
{
    if (name)
        array_push(reader->arena, &reader->anchors,
                   (Anchor){ text_format(reader->arena, "%s", (const char *)name), doc, is_open });
}

/* ---- merge keys: `<<: *base` takes over what the map does not say itself ---- */

static void merge_from(Reader *reader, DocArray *items, const Doc *from)
{
    if (from->kind != DOC_MAP) {
        complain_on(reader, from->place, "<< takes a map, or a list of maps, by alias");
        return;
    }
    for (int i = 0; i < from->count; i++) {
        Frame seen = { .items = { items->items, items->count, items->capacity } };
        if (!find_key(&seen, from->items[i]->key))
            array_push(reader->arena, items, from->items[i]);
    }
}

static void merge_keys(Reader *reader, Frame *frame)
{
    DocArray items = { 0 };
    for (int i = 0; i < frame->items.count; i++)
        if (!text_equal(frame->items.items[i]->key, "<<"))
            array_push(reader->arena, &items, frame->items.items[i]);
    if (items.count == frame->items.count)
        return;
    for (int i = 0; i < frame->items.count; i++) {
        const Doc *base = frame->items.items[i];
        if (!text_equal(base->key, "<<"))
            continue;
        if (base->kind != DOC_LIST)
            merge_from(reader, &items, base);
        for (int k = 0; base->kind == DOC_LIST && k < base->count; k++)
            merge_from(reader, &items, base->items[k]);
    }
    frame->items = items;
}

/* ---- events ---- */

static void check_tag(Reader *reader, Doc *doc, const yaml_char_t *tag, const char *allowed)
{
    if (!tag || text_equal((const char *)tag, "!") || text_equal((const char *)tag, allowed))
        return;
    doc->is_broken = true;
    complain_on(reader, doc->place,
                text_format(reader->arena, "tag '%s' means nothing here; values have no tags in a recipe", (const char *)tag));
}

static void on_scalar(Reader *reader, const yaml_event_t *event)
{
    Place place = place_of_mark(reader, event->start_mark);
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (memchr(value, 0, length)) {
        fail(reader, place, "a text can't hold a NUL character");
        return;
    }
    Doc *doc = new_doc(reader, DOC_TEXT, place);
    doc->text = text_slice(reader->arena, value, length);
    check_tag(reader, doc, event->data.scalar.tag, YAML_STR_TAG);
    const Frame *frame = reader->depth ? &reader->frames[reader->depth - 1] : NULL;
    bool is_key = frame && frame->doc->kind == DOC_MAP && !frame->key;
    if (event->data.scalar.plain_implicit && !is_key)
        scalar_resolve(reader->arena, reader->diag, doc);
    set_anchor(reader, event->data.scalar.anchor, doc, false);
    put(reader, doc);
}

static void on_start(Reader *reader, const yaml_event_t *event, DocKind kind)
{
    Place place = place_of_mark(reader, event->start_mark);
    if (reader->depth == YAML_DEEPEST) {
        fail(reader, place, text_format(reader->arena, "nested more than %d deep", YAML_DEEPEST));
        return;
    }
    bool is_map = kind == DOC_MAP;
    const yaml_char_t *anchor = is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    Doc *doc = new_doc(reader, kind, place);
    check_tag(reader, doc, is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag,
              is_map ? YAML_MAP_TAG : YAML_SEQ_TAG);
    set_anchor(reader, anchor, doc, true);
    reader->frames[reader->depth++] = (Frame){ .doc = doc };
}

static void on_end(Reader *reader)
{
    Frame *frame = &reader->frames[reader->depth - 1];
    merge_keys(reader, frame);
    doc_set_items(frame->doc, &frame->items);
    for (int i = 0; i < reader->anchors.count; i++)
        if (reader->anchors.items[i].doc == frame->doc)
            reader->anchors.items[i].is_open = false;
    Doc *doc = frame->doc;
    reader->depth--;
    put(reader, doc);
}

static void on_alias(Reader *reader, const yaml_event_t *event)
{
    Place place = place_of_mark(reader, event->start_mark);
    const char *name = (const char *)event->data.alias.anchor;
    const Anchor *found = NULL;
    for (int i = 0; i < reader->anchors.count; i++)     /* the last of a name counts */
        if (text_equal(reader->anchors.items[i].name, name))
            found = &reader->anchors.items[i];
    if (!found || found->is_open) {
        fail(reader, place, text_format(reader->arena, found ? "alias *%s stands inside what it names"
                                                             : "alias *%s: no anchor &%s before it", name, name));
        return;
    }
    reader->written++;
    if (!count_nodes(reader, doc_size(found->doc), place))
        return;
    Doc *copy = doc_copy(reader->arena, found->doc, found->doc->place);
    copy->place = copy->key_place = place;
    put(reader, copy);
}

static void on_event(Reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:         on_scalar(reader, event); break;
    case YAML_ALIAS_EVENT:          on_alias(reader, event); break;
    case YAML_SEQUENCE_START_EVENT: on_start(reader, event, DOC_LIST); break;
    case YAML_MAPPING_START_EVENT:  on_start(reader, event, DOC_MAP); break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:    on_end(reader); break;
    case YAML_STREAM_END_EVENT:     reader->done = true; break;
    case YAML_DOCUMENT_START_EVENT:
        if (reader->root)
            fail(reader, place_of_mark(reader, event->start_mark),
                 "a second document begins here; a recipe is one document");
        break;
    default: break;
    }
}

static void read_events(Reader *reader)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        fail(reader, (Place){ reader->source, 0, 0 }, "memory ran out while reading");
        return;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)reader->source->bytes + reader->from,
                                 reader->source->length - reader->from);
    while (!reader->done && !reader->failed) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            fail_as_parser(reader, &parser);
            break;
        }
        on_event(reader, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
}

Doc *yaml_read(Arena *arena, Diagnostics *diag, const Source *source, size_t from, bool is_override)
{
    Reader *reader = arena_new(arena, Reader);
    reader->arena = arena;
    reader->diag = diag;
    reader->source = source;
    reader->from = reader->byte = from;
    reader->here = place_at(source, from);
    reader->is_override = is_override;
    int errors = diag->errors;
    read_events(reader);
    if (diag->errors > errors)
        return reader->failed ? NULL : reader->root;
    if (!reader->root)
        reader->root = new_doc(reader, DOC_NULL, place_at(source, from));
    return reader->root;
}

Doc *yaml_constant(Arena *arena, const char *text)
{
    Source *source = arena_new(arena, Source);
    *source = (Source){ "default", text, strlen(text) };
    Diagnostics diag = { .arena = arena };
    Doc *doc = yaml_read(arena, &diag, source, 0, false);
    if (!doc || diag.errors)
        bug("the constant '%s' does not read", text);
    return doc;
}
