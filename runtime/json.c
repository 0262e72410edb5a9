/* json.c -- see json.h. Numbers are read by strtod: programs never set a locale. */
#include "data.h"
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

//% part json
enum { JSON_DEEPEST = 64, JSON_MOST = 1 << 22 };

static bool json_wrong(struct json *json, const char *what)
{
    return error_text(json->error, "byte %lld: %s", (long long)(json->at - json->start), what);
}

static int json_add(struct json *json)
{
    if (json->count == JSON_MOST) {
        json_wrong(json, "too many values");
        return -1;
    }
    if (json->count == json->capacity) {
        const int capacity = json->capacity ? 2 * json->capacity : 64;
        void *grown = realloc(json->nodes, (size_t)capacity * sizeof *json->nodes);
        if (!grown) {
            json_wrong(json, "no memory");
            return -1;
        }
        json->nodes = (struct json_node *)grown;
        json->capacity = capacity;
    }
    struct json_node *node = &json->nodes[json->count];
    memset(node, 0, sizeof *node);
    node->next = node->child = -1;
    return json->count++;
}

static void json_blanks(struct json *json)
{
    while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at)
        json->at++;
}

/* ---- strings, decoded where they stand: what they become is never longer ---- */

/* Length of the well-formed UTF-8 sequence at `at` (Unicode 15, table 3-7); 0: none. */
static int json_utf8_length(const char *at, const char *end)
{
    const unsigned char *c = (const unsigned char *)at;
    const int length = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
    if (length > end - at)
        return 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    if ((*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f) || (*c == 0xf0 && c[1] < 0x90) || (*c == 0xf4 && c[1] > 0x8f))
        return 0;
    return length;
}

static int json_hex4(const char *at, const char *end)
{
    int value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = at[i] ? strchr(digits, at[i]) : NULL;
        if (!digit)
            return -1;
        const int place = (int)(digit - digits);
        value = value * 16 + (place < 16 ? place : place - 6);
    }
    return value;
}

static char *json_put_utf8(char *out, int code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        if (code < 0x10000) {
            *out++ = (char)(0xe0 | code >> 12);
        } else {
            *out++ = (char)(0xf0 | code >> 18);
            *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* Behind "\u": four digits, and for a surrogate its partner. -1: not a character we take (U+0000 would end the text). */
static int json_code_point(struct json *json)
{
    int code = json_hex4(json->at, json->end);
    if (code <= 0 || (code >= 0xdc00 && code < 0xe000))
        return -1;
    json->at += 4;
    if (code < 0xd800 || code >= 0xdc00)
        return code;
    if (json->end - json->at < 6 || json->at[0] != '\\' || json->at[1] != 'u')
        return -1;
    const int low = json_hex4(json->at + 2, json->end);
    if (low < 0xdc00 || low >= 0xe000)
        return -1;
    json->at += 6;
    return 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
}

static char *json_escape(struct json *json, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    json->at++;
    const char letter = json->at < json->end ? *json->at : 0;
    const char *name = letter ? strchr(names, letter) : NULL;
    json->at += letter != 0;
    if (name) {
        *out++ = values[name - names];
        return out;
    }
    const int code = letter == 'u' ? json_code_point(json) : -1;
    return code < 0 ? NULL : json_put_utf8(out, code);
}

static const char *json_string(struct json *json)
{
    char *start = ++json->at, *out = start;
    while (json->at < json->end && *json->at != '"') {
        const int length = json_utf8_length(json->at, json->end);
        if (length == 0 || (unsigned char)*json->at < 0x20) {
            json_wrong(json, length ? "a control character in a string" : "not UTF-8");
            return NULL;
        }
        if (*json->at == '\\') {
            out = json_escape(json, out);
            if (!out) {
                json_wrong(json, "no such escape");
                return NULL;
            }
        } else {
            memmove(out, json->at, (size_t)length);
            out += length;
            json->at += length;
        }
    }
    if (json->at == json->end) {
        json_wrong(json, "the string doesn't end");
        return NULL;
    }
    json->at++;
    *out = 0;
    return start;
}

/* ---- values ---- */

static bool json_digits(struct json *json)
{
    const char *start = json->at;
    while (json->at < json->end && *json->at >= '0' && *json->at <= '9')
        json->at++;
    return json->at > start;
}

/* -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)? */
static bool json_number(struct json *json, struct json_node *node)
{
    const char *start = json->at;
    json->at += *json->at == '-';
    const bool zero = json->at < json->end && *json->at == '0';
    bool fine = json_digits(json), whole = true;
    if (zero && json->at - start > 1 + (*start == '-'))
        fine = false;
    if (fine && json->at < json->end && *json->at == '.') {
        json->at++;
        whole = false;
        fine = json_digits(json);
    }
    if (fine && json->at < json->end && (*json->at == 'e' || *json->at == 'E')) {
        json->at++;
        whole = false;
        json->at += json->at < json->end && (*json->at == '+' || *json->at == '-');
        fine = json_digits(json);
    }
    if (!fine)
        return json_wrong(json, "not a number");
    node->kind = JSON_NUMBER;
    node->number = strtod(start, NULL);
    errno = 0;
    node->whole = whole ? strtoll(start, NULL, 10) : 0;
    node->is_whole = whole && errno == 0;
    return true;
}

static bool json_word(struct json *json, struct json_node *node)
{
    static const char *const words[] = { "null", "false", "true" };
    for (int i = 0; i < 3; i++) {
        const size_t length = strlen(words[i]);
        if ((size_t)(json->end - json->at) >= length && memcmp(json->at, words[i], length) == 0) {
            node->kind = (enum json_kind)i;
            json->at += length;
            return true;
        }
    }
    return json_wrong(json, "no value");
}

static int json_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool json_keys_differ(struct json *json, int object)
{
    const int count = json->nodes[object].count;
    const char **keys = (const char **)malloc((size_t)count * sizeof *keys + 1);
    if (!keys)
        return json_wrong(json, "no memory");
    int filled = 0;
    for (int i = json->nodes[object].child; i >= 0; i = json->nodes[i].next)
        keys[filled++] = json->nodes[i].key;
    qsort(keys, (size_t)filled, sizeof *keys, json_by_text);
    bool differ = true;
    for (int i = 1; i < filled && differ; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            differ = error_text(json->error, "byte %lld: key '%.100s' twice", (long long)(json->at - json->start), keys[i]);
    free(keys);
    return differ;
}

static int json_value(struct json *json, int depth);

/* Key and colon of an object's member. */
static const char *json_key(struct json *json)
{
    json_blanks(json);
    if (json->at == json->end || *json->at != '"') {
        json_wrong(json, "expected a key");
        return NULL;
    }
    const char *key = json_string(json);
    if (!key)
        return NULL;
    json_blanks(json);
    if (json->at == json->end || *json->at != ':') {
        json_wrong(json, "expected ':'");
        return NULL;
    }
    json->at++;
    return key;
}

/* What stands between brackets. */
static bool json_children(struct json *json, int parent, int depth)
{
    const bool object = *json->at == '{';
    const char close = object ? '}' : ']';
    int last = -1;
    json->nodes[parent].kind = object ? JSON_OBJECT : JSON_ARRAY;
    json->at++;
    json_blanks(json);
    bool ended = json->at < json->end && *json->at == close;
    while (!ended) {
        const char *key = object ? json_key(json) : NULL;
        const int child = object && !key ? -1 : json_value(json, depth + 1);
        if (child < 0)
            return false;
        json->nodes[child].key = key;
        if (last < 0)
            json->nodes[parent].child = child;
        else
            json->nodes[last].next = child;
        last = child;
        json->nodes[parent].count++;
        json_blanks(json);
        if (json->at == json->end || (*json->at != ',' && *json->at != close))
            return json_wrong(json, object ? "expected ',' or '}'" : "expected ',' or ']'");
        ended = *json->at == close;
        json->at += !ended;
    }
    json->at++;
    return !object || json_keys_differ(json, parent);
}

/* The index of the value's node, -1 when something is wrong. Nodes move as they grow: only indices stay. */
static int json_value(struct json *json, int depth)
{
    json_blanks(json);
    if (depth > JSON_DEEPEST) {
        json_wrong(json, "nested too deeply");
        return -1;
    }
    const int index = json_add(json);
    if (index < 0)
        return -1;
    struct json_node *node = &json->nodes[index];
    const char first = json->at < json->end ? *json->at : 0;
    bool fine;
    if (first == '{' || first == '[') {
        fine = json_children(json, index, depth);
    } else if (first == '"') {
        node->kind = JSON_STRING;
        node->text = json_string(json);
        fine = node->text != NULL;
    } else if (first == '-' || (first >= '0' && first <= '9')) {
        fine = json_number(json, node);
    } else {
        fine = json_word(json, node);
    }
    return fine ? index : -1;
}

static bool json_parse(struct json *json, char *text, size_t length, char *error)
{
    memset(json, 0, sizeof *json);
    json->start = json->at = text;
    json->end = text + length;
    json->error = error;
    bool fine = json_value(json, 0) >= 0;
    json_blanks(json);
    if (fine && json->at != json->end)
        fine = json_wrong(json, "something stands behind the value");
    if (!fine)
        json_free(json);
    return fine;
}

static void json_free(struct json *json)
{
    free(json->nodes);
    json->nodes = NULL;
    json->count = json->capacity = 0;
}

//% part json_member
static const struct json_node *json_member(const struct json *json, const struct json_node *object, const char *key)
{
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (int i = object->child; i >= 0; i = json->nodes[i].next)
        if (strcmp(json->nodes[i].key, key) == 0)
            return &json->nodes[i];
    return NULL;
}
