/* json.h -- a small strict JSON parser for the tests. */
#pragma once
#include "base/text.h"

typedef enum JsonKind { JSON_NULL, JSON_TRUTH, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_MAP } JsonKind;

typedef struct Json {
    JsonKind kind;
    double number;                      /* of a truth too: 0 or 1 */
    const char *text;
    const char *key;                    /* of an item of a map */
    struct Json *items;
    int count;
} Json;

/* NULL when it is not exactly one JSON value. */
const Json *json_parse(Arena *arena, const char *bytes, size_t length);

const Json *json_get(const Json *map, const char *key);                 /* NULL if absent */
double json_number(const Json *map, const char *key, double otherwise);
const char *json_text(const Json *map, const char *key, const char *otherwise);
