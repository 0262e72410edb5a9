/* doc.c -- located values: look up, copy, describe, print. */
#include "recipe/yaml/yaml.h"

#include <math.h>

Doc *doc_find(const Doc *map, const char *key)
{
    if (!map || map->kind != DOC_MAP)
        return NULL;
    for (int i = 0; i < map->count; i++)
        if (text_equal(map->items[i]->key, key))
            return map->items[i];
    return NULL;
}

bool doc_number(const Doc *doc, double *number)
{
    if (doc->kind == DOC_INT)
        *number = (double)doc->integer;
    else if (doc->kind == DOC_FLOAT)
        *number = doc->number;
    return doc->kind == DOC_INT || doc->kind == DOC_FLOAT;
}

const char *doc_kind_name(const Doc *doc)
{
    static const char *const names[] = {
        [DOC_NULL] = "nothing", [DOC_BOOL] = "a boolean", [DOC_INT] = "a whole number", [DOC_FLOAT] = "a number",
        [DOC_TEXT] = "a text",  [DOC_LIST] = "a list",    [DOC_MAP] = "a map",
    };
    return names[doc->kind];
}

/* A long text is cut before a whole character. */
static const char *shortened(Arena *arena, const char *text)
{
    enum { LONGEST = 40 };
    size_t length = strlen(text);
    if (length <= LONGEST)
        return text;
    length = LONGEST - 3;
    while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return text_format(arena, "%.*s...", (int)length, text);
}

const char *doc_found(Arena *arena, const Doc *doc)
{
    switch (doc->kind) {
    case DOC_TEXT:  return text_format(arena, "the text '%s'", shortened(arena, doc->text));
    case DOC_INT:
    case DOC_FLOAT: return text_format(arena, "the number %s", shortened(arena, doc->text));
    case DOC_BOOL:  return doc->truth ? "true" : "false";
    case DOC_LIST:  return doc->count ? text_format(arena, "a list of %d", doc->count) : "an empty list";
    case DOC_MAP:   return doc->count ? "a map" : "an empty map";
    default:        return doc_kind_name(doc);
    }
}

Doc *doc_copy(Arena *arena, const Doc *doc, Place origin)
{
    Doc *copy = arena_copy(arena, doc, sizeof *doc);
    if (!copy->origin.source)
        copy->origin = origin;
    if (doc->count)
        copy->items = arena_array(arena, Doc *, doc->count);
    for (int i = 0; i < doc->count; i++)
        copy->items[i] = doc_copy(arena, doc->items[i], (Place){ 0 });
    return copy;
}

int doc_size(const Doc *doc)
{
    int size = 1;
    for (int i = 0; i < doc->count; i++)
        size += doc_size(doc->items[i]);
    return size;
}

void doc_set_items(Doc *doc, const DocArray *items)
{
    doc->items = items->items;
    doc->count = items->count;
}

void doc_replace(Doc *doc, const Doc *value)
{
    Place key_place = doc->key_place;
    const char *key = doc->key;
    *doc = *value;
    doc->key = key;
    doc->key_place = key_place;
}

/* ---- printing ---- */

/* May stand without quotes: a word or path that no reader takes for a number, a boolean or a reference. */
static bool is_plain_word(Arena *arena, const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    bool has_letter = strpbrk(text, letters) != NULL;
    for (const char *c = text; *c; c++)
        if (!strchr(letters, *c) && !(*c == '/' || *c == '.' || ((*c == '-' || *c == '+') && c > text)))
            return false;
    Doc doc = { .text = text };
    scalar_resolve(arena, NULL, &doc);
    return has_letter && doc.kind == DOC_TEXT;
}

/* One character of valid UTF-8. */
static uint32_t take_character(const unsigned char **at)
{
    const unsigned char *c = *at;
    int more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc0 ? 1 : 0;
    uint32_t code = more ? *c & (0x3fu >> more) : *c;
    for (int i = 1; i <= more; i++)
        code = code << 6 | (c[i] & 0x3f);
    *at = c + more + 1;
    return code;
}

static bool needs_escape(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0x2028 || code == 0x2029 || code == 0xfeff
        || code == 0xfffe || code == 0xffff;
}

/* In double quotes. `${` that is meant as it stands needs one more backslash, and so do the backslashes before it:
 * the reader of references takes them away. */
static void print_quoted(Buffer *out, const char *text, bool may_refer)
{
    buffer_add(out, "\"");
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t slashes = strspn((const char *)at, "\\");
        bool reference = may_refer && at[slashes] == '$' && at[slashes + 1] == '{';
        for (size_t i = 0; i < (reference ? 2 * slashes + 1 : slashes); i++)
            buffer_add(out, "\\\\");
        at += slashes;
        if (!*at)
            break;
        const unsigned char *start = at;
        uint32_t code = take_character(&at);
        if (code == '"')
            buffer_add(out, "\\\"");
        else if (needs_escape(code))
            buffer_add(out, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
        else
            buffer_bytes(out, (const char *)start, (int)(at - start));
    }
    buffer_add(out, "\"");
}

void text_print_yaml(Buffer *out, const char *text)
{
    if (is_plain_word(out->arena, text))
        buffer_add(out, "%s", text);
    else
        print_quoted(out, text, true);
}

/* References are not looked for in keys. */
void key_print_yaml(Buffer *out, const char *key)
{
    if (is_plain_word(out->arena, key))
        buffer_add(out, "%s", key);
    else
        print_quoted(out, key, false);
}

static void print_number(Buffer *out, double number)
{
    const char *text = text_number(out->arena, number);
    if (isnan(number))
        text = ".nan";
    else if (isinf(number))
        text = number < 0 ? "-.inf" : ".inf";
    buffer_add(out, strpbrk(text, ".en") ? "%s" : "%s.0", text);
}

static void print_scalar(Buffer *out, const Doc *doc)
{
    switch (doc->kind) {
    case DOC_BOOL:  buffer_add(out, doc->truth ? "true" : "false"); break;
    case DOC_INT:   buffer_add(out, "%lld", (long long)doc->integer); break;
    case DOC_FLOAT: print_number(out, doc->number); break;
    case DOC_TEXT:  text_print_yaml(out, doc->text); break;
    default:        buffer_add(out, "null");
    }
}

void doc_print(Buffer *out, const Doc *doc)
{
    if (doc->kind != DOC_LIST && doc->kind != DOC_MAP) {
        print_scalar(out, doc);
        return;
    }
    bool is_map = doc->kind == DOC_MAP;
    buffer_add(out, is_map ? "{" : "[");
    for (int i = 0; i < doc->count; i++) {
        if (i)
            buffer_add(out, ", ");
        if (is_map) {
            key_print_yaml(out, doc->items[i]->key);
            buffer_add(out, ": ");
        }
        doc_print(out, doc->items[i]);
    }
    buffer_add(out, is_map ? "}" : "]");
}
