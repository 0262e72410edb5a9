/* json.c -- see json.h. */
#include "tests/ops/json.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_DEPTH = 64 };

typedef Array(Json) JsonArray;

typedef struct Reader {
    Arena *arena;
    const char *at, *end;
    int depth;
} Reader;

static bool read_value(Reader *reader, Json *value);

static void pass_blanks(Reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at))
        reader->at++;
}

static bool accept(Reader *reader, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* ---- texts ---- */

static bool read_unicode(Reader *reader, Buffer *out)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++, reader->at++) {
        if (reader->at == reader->end || !isxdigit((unsigned char)*reader->at))
            return false;
        int letter = tolower((unsigned char)*reader->at);
        code = code << 4 | (unsigned)(isdigit(letter) ? letter - '0' : letter - 'a' + 10);
    }
    if (code == 0 || code > 0x7F)       /* the references are plain ASCII */
        return false;
    buffer_bytes(out, &(char){ (char)code }, 1);
    return true;
}

static bool read_escape(Reader *reader, Buffer *out)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end)
        return false;
    char letter = *reader->at++;
    if (letter == 'u')
        return read_unicode(reader, out);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found)
        buffer_bytes(out, &meant[found - letters], 1);
    return found != NULL;
}

static bool read_text(Reader *reader, const char **text)
{
    Buffer out = { .arena = reader->arena };
    if (!accept(reader, "\""))
        return false;
    while (reader->at < reader->end && *reader->at != '"') {
        char letter = *reader->at++;
        if ((unsigned char)letter < 0x20 || (letter == '\\' && !read_escape(reader, &out)))
            return false;
        if (letter != '\\')
            buffer_bytes(&out, &letter, 1);
    }
    *text = buffer_text(&out);
    return accept(reader, "\"");
}

/* ---- numbers ---- */

static bool pass_digits(Reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && isdigit((unsigned char)*reader->at))
        reader->at++;
    return reader->at > start;
}

static bool read_number(Reader *reader, double *number)
{
    const char *start = reader->at;
    accept(reader, "-");
    if (!accept(reader, "0") && !pass_digits(reader))
        return false;
    if (accept(reader, ".") && !pass_digits(reader))
        return false;
    if (accept(reader, "e") || accept(reader, "E")) {
        if (!accept(reader, "+"))
            accept(reader, "-");
        if (!pass_digits(reader))
            return false;
    }
    *number = strtod(text_slice(reader->arena, start, (size_t)(reader->at - start)), NULL);
    return true;
}

/* ---- lists and maps ---- */

static bool read_item(Reader *reader, bool is_map, JsonArray *items)
{
    Json item = { 0 };
    const char *key = NULL;
    pass_blanks(reader);
    if (is_map) {
        if (!read_text(reader, &key))
            return false;
        pass_blanks(reader);
        if (!accept(reader, ":"))
            return false;
    }
    if (!read_value(reader, &item))
        return false;
    item.key = key;
    array_push(reader->arena, items, item);
    return true;
}

static bool read_items(Reader *reader, Json *value, bool is_map)
{
    const char *close = is_map ? "}" : "]";
    JsonArray items = { 0 };
    *value = (Json){ .kind = is_map ? JSON_MAP : JSON_LIST };
    pass_blanks(reader);
    if (accept(reader, close))
        return true;
    do {
        if (!read_item(reader, is_map, &items))
            return false;
        pass_blanks(reader);
    } while (accept(reader, ","));
    value->items = items.items;
    value->count = items.count;
    return accept(reader, close);
}

static bool read_bare(Reader *reader, Json *value)
{
    pass_blanks(reader);
    if (accept(reader, "{"))
        return read_items(reader, value, true);
    if (accept(reader, "["))
        return read_items(reader, value, false);
    if (accept(reader, "null"))
        return *value = (Json){ .kind = JSON_NULL }, true;
    if (accept(reader, "true"))
        return *value = (Json){ .kind = JSON_TRUTH, .number = 1 }, true;
    if (accept(reader, "false"))
        return *value = (Json){ .kind = JSON_TRUTH }, true;
    if (reader->at < reader->end && *reader->at == '"')
        return *value = (Json){ .kind = JSON_TEXT }, read_text(reader, &value->text);
    return *value = (Json){ .kind = JSON_NUMBER }, read_number(reader, &value->number);
}

static bool read_value(Reader *reader, Json *value)
{
    bool ok = ++reader->depth <= MOST_DEPTH && read_bare(reader, value);
    reader->depth--;
    return ok;
}

const Json *json_parse(Arena *arena, const char *bytes, size_t length)
{
    Reader reader = { arena, bytes, bytes + length, 0 };
    Json *value = arena_new(arena, Json);
    if (!read_value(&reader, value))
        return NULL;
    pass_blanks(&reader);
    return reader.at == reader.end ? value : NULL;
}

/* ---- looking up ---- */

const Json *json_get(const Json *map, const char *key)
{
    for (int i = 0; i < map->count; i++)
        if (text_equal(map->items[i].key, key))
            return &map->items[i];
    return NULL;
}

double json_number(const Json *map, const char *key, double otherwise)
{
    const Json *item = json_get(map, key);
    return item ? item->number : otherwise;
}

const char *json_text(const Json *map, const char *key, const char *otherwise)
{
    const Json *item = json_get(map, key);
    return item ? item->text : otherwise;
}
