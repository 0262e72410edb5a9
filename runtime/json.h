/* json.h -- a small strict reader of JSON (RFC 8259): bounded, no duplicate keys, valid UTF-8 only. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//% part json needs error_text
enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
struct json_node {
    enum json_kind kind;
    bool is_whole;                      /* a number without fraction and exponent that fits `whole` */
    int next, child, count;             /* indices of the next sibling and the first child, -1: none; number of children */
    const char *key, *text;             /* of a member; of a string */
    double number;
    int64_t whole;
};
struct json {
    struct json_node *nodes;            /* nodes[0] is the whole */
    int count, capacity;
    char *start, *at, *end, *error;
};
/* Reads `length` bytes, which it changes and keeps pointing to; a zero byte must stand behind them. False: `error` (room for
 * ERROR_LENGTH characters) says what is wrong, and the nodes are freed. */
static bool json_parse(struct json *json, char *text, size_t length, char *error);
static void json_free(struct json *json);

//% part json_member needs json
/* NULL when there is none, or `object` is no object. */
static const struct json_node *json_member(const struct json *json, const struct json_node *object, const char *key);
