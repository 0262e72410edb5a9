/* draws.c -- see draws.h. */
#include "data.h"
#include "draws.h"
#include "fail.h"
#include "json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//% part draws
struct draws_file {
    const char *path;
    char *text;
    struct json json;
    const struct json_node **steps;
    int64_t step_count;
};

static char *draws_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    long bytes = -1;
    if (!file || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        fail(EXIT_DATA, "can't read %s: %s", path, strerror(errno));
    char *text = (char *)malloc((size_t)bytes + 1);
    if (!text || fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
        fail(EXIT_DATA, "can't read %s: %s", path, text ? strerror(errno) : "no memory");
    fclose(file);
    text[bytes] = 0;
    *length = (size_t)bytes;
    return text;
}

static struct draws_file *draws_open(const char *path)
{
    char error[ERROR_LENGTH];
    size_t length;
    struct draws_file *draws = (struct draws_file *)calloc(1, sizeof *draws);
    if (!draws)
        fail(EXIT_MEMORY, "no memory for %s", path);
    draws->path = path;
    draws->text = draws_text(path, &length);
    if (!json_parse(&draws->json, draws->text, length, error))
        fail(EXIT_DATA, "%s: %s", path, error);
    const struct json_node *root = draws->json.nodes, *steps = json_member(&draws->json, root, "steps");
    if (root->kind != JSON_OBJECT || (steps && steps->kind != JSON_ARRAY))
        fail(EXIT_DATA, "%s: expected is {\"steps\": [...]} or {\"NAME\": {\"STEP\": ...}}", path);
    draws->step_count = steps ? steps->count : 0;
    draws->steps = (const struct json_node **)calloc((size_t)draws->step_count + 1, sizeof *draws->steps);
    if (!draws->steps)
        fail(EXIT_MEMORY, "no memory for %s", path);
    int at = steps ? steps->child : -1;
    for (int64_t i = 0; at >= 0; i++, at = draws->json.nodes[at].next)
        draws->steps[i] = &draws->json.nodes[at];
    return draws;
}

//% part draws_find
static const struct json_node *draws_find(const struct draws_file *draws, int64_t step, const char *name)
{
    char number[24];
    const struct json_node *found = NULL;
    if (step >= 0 && step < draws->step_count)
        found = json_member(&draws->json, draws->steps[step], name);
    if (found)
        return found;
    snprintf(number, sizeof number, "%lld", (long long)step);
    return json_member(&draws->json, json_member(&draws->json, draws->json.nodes, name), number);
}

//% part draws_number
static bool draws_number(const struct draws_file *draws, int64_t step, const char *name, int index, double *value)
{
    const struct json_node *found = draws_find(draws, step, name), *whole = found;
    if (!found)
        return false;
    if (found->kind == JSON_ARRAY) {
        int at = found->child;
        for (int i = 0; i < index && at >= 0; i++)
            at = draws->json.nodes[at].next;
        found = at >= 0 ? &draws->json.nodes[at] : NULL;
    }
    if (!found || found->kind != JSON_NUMBER || (whole == found && index != 0))
        fail(EXIT_DATA, "%s: step %lld: '%s' has no number %d", draws->path, (long long)step, name, index);
    *value = found->number;
    return true;
}

//% part draws_list
static bool draws_list(const struct draws_file *draws, int64_t step, const char *name, int *out, int64_t count)
{
    const struct json_node *found = draws_find(draws, step, name);
    if (!found)
        return false;
    if (found->kind != JSON_ARRAY || found->count != count)
        fail(EXIT_DATA, "%s: step %lld: '%s' has %d entries, this program needs %lld", draws->path, (long long)step, name,
             found->count, (long long)count);
    int at = found->child;
    for (int64_t i = 0; i < count; i++, at = draws->json.nodes[at].next) {
        const struct json_node *entry = &draws->json.nodes[at];
        if (entry->kind != JSON_NUMBER || !entry->is_whole || entry->whole < 0 || entry->whole > INT_MAX)
            fail(EXIT_DATA, "%s: step %lld: '%s': entry %lld is no whole number from 0", draws->path, (long long)step, name,
                 (long long)i);
        out[i] = (int)entry->whole;
    }
    return true;
}
