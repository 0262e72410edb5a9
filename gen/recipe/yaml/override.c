/* override.c -- a.b[0]=value from the command line, merged into the recipe.
 *
 * Maps merge, everything else is replaced; what the path lacks is made. `\` before . [ ] = \ takes them as they are. */
#include "recipe/yaml/yaml.h"

#include <stdlib.h>

typedef struct Step {
    const char *key;                    /* NULL: an index */
    long index;
    Place place;
} Step;

typedef struct Override {
    Arena *arena;
    Diagnostics *diag;
    const Source *source;
    Array(Step) steps;
    Doc *value;
} Override;

/* ---- the word ---- */

static bool wrong_at(Override *override, size_t offset, const char *message)
{
    complain(override->diag, place_at(override->source, offset), "%s; an override is written key.sub=value", message);
    return false;
}

static bool read_key(Override *override, size_t *at)
{
    const char *word = override->source->bytes;
    size_t start = *at;
    Buffer key = { .arena = override->arena };
    while (word[*at] && !strchr(".[=", word[*at])) {
        bool escaped = word[*at] == '\\' && word[*at + 1] && strchr(".[]=\\", word[*at + 1]);
        *at += escaped;
        buffer_bytes(&key, word + *at, 1);
        ++*at;
    }
    if (!key.count)
        return wrong_at(override, start, "a key is missing here");
    array_push(override->arena, &override->steps,
               (Step){ .key = buffer_text(&key), .place = place_at(override->source, start) });
    return true;
}

static bool read_index(Override *override, size_t *at)
{
    const char *word = override->source->bytes;
    size_t start = *at, digits = strspn(word + *at + 1, "0123456789");
    if (!digits || digits > 6 || word[*at + 1 + digits] != ']')
        return wrong_at(override, start, "a position in a list is written [0]");
    array_push(override->arena, &override->steps,
               (Step){ .index = strtol(word + *at + 1, NULL, 10), .place = place_at(override->source, start) });
    *at += digits + 2;
    if (word[*at] && !strchr(".[=", word[*at]))
        return wrong_at(override, *at, "after a position comes . or [ or =");
    return true;
}

static bool read_path(Override *override, size_t *at)
{
    const char *word = override->source->bytes;
    if (!read_key(override, at))
        return false;
    while (word[*at] && word[*at] != '=') {
        bool is_index = word[*at] == '[';
        *at += !is_index;
        if (!(is_index ? read_index(override, at) : read_key(override, at)))
            return false;
        if (override->steps.count > YAML_DEEPEST / 2)
            return wrong_at(override, *at, "the path is too long");
    }
    return true;
}

static void mark_overridden(Doc *doc)
{
    doc->is_override = true;
    for (int i = 0; i < doc->count; i++)
        mark_overridden(doc->items[i]);
}

static bool read_override(Override *override)
{
    size_t at = 0;
    if (!yaml_check_bytes(override->diag, override->source) || !read_path(override, &at))
        return false;
    at += override->source->bytes[at] == '=';
    override->value = yaml_read(override->arena, override->diag, override->source, at, true);
    if (!override->value)
        return false;
    mark_overridden(override->value);
    override->value->key_place = override->steps.items[override->steps.count - 1].place;
    return true;
}

/* ---- merging ---- */

static bool is_mandatory(const Doc *doc)
{
    return doc->kind == DOC_TEXT && text_equal(doc->text, "\?\?\?");
}

static void append(Arena *arena, Doc *parent, Doc *item)
{
    DocArray items = { 0 };
    for (int i = 0; i < parent->count; i++)
        array_push(arena, &items, parent->items[i]);
    array_push(arena, &items, item);
    doc_set_items(parent, &items);
}

static void merge(Arena *arena, Doc *into, const Doc *value)
{
    if (is_mandatory(value))
        return;
    if (into->kind != DOC_MAP || value->kind != DOC_MAP) {
        Place key_place = value->key_place;
        doc_replace(into, value);
        into->key_place = key_place;
        return;
    }
    for (int i = 0; i < value->count; i++) {
        Doc *mine = doc_find(into, value->items[i]->key);
        if (mine)
            merge(arena, mine, value->items[i]);
        else
            append(arena, into, value->items[i]);
    }
}

/* The entry of a map, made when it is not there. */
static Doc *step_into_map(Override *override, Doc *doc, const Step *step)
{
    Doc *found = doc_find(doc, step->key);
    if (found)
        return found;
    if (doc->kind != DOC_MAP) {         /* null, or a name alone: its parameters begin here */
        doc->kind = DOC_MAP;
        doc->items = NULL, doc->count = 0;
        doc->place = step->place;
        doc->is_override = true;
    }
    Doc *made = arena_new(override->arena, Doc);
    *made = (Doc){ .kind = DOC_NULL, .key = step->key, .place = step->place, .key_place = step->place,
                   .is_override = true };
    append(override->arena, doc, made);
    return made;
}

static Doc *step_into_list(Override *override, Doc *doc, const Step *step, const char *name)
{
    bool is_digits = step->key && *step->key && strlen(step->key) < 7 && !step->key[strspn(step->key, "0123456789")];
    long index = is_digits ? strtol(step->key, NULL, 10) : step->index;
    if (doc->kind != DOC_LIST)
        complain(override->diag, step->place, "%s is %s here, not a list", name, doc_kind_name(doc));
    else if (step->key && !is_digits)
        complain(override->diag, step->place, "%s is a list here; its entries are %s[0] to %s[%d]", name, name, name,
                 doc->count ? doc->count - 1 : 0);
    else if (index >= doc->count)
        complain(override->diag, step->place, "%s has %d entries, so there is no [%ld]", name, doc->count, index);
    else
        return doc->items[index];
    return NULL;
}

static bool apply(Override *override, Doc *root, bool (*is_choice)(const char *key))
{
    Doc *doc = root;
    const char *name = "the recipe";
    for (int i = 0; i < override->steps.count; i++) {
        const Step *step = &override->steps.items[i];
        bool as_list = !step->key || doc->kind == DOC_LIST;
        doc = as_list ? step_into_list(override, doc, step, name) : step_into_map(override, doc, step);
        if (!doc)
            return false;
        name = step->key ? step->key : name;
    }
    const Doc *value = override->value;
    bool replaces = override->steps.count == 1 && is_choice(override->steps.items[0].key) && value->kind == DOC_MAP;
    for (int i = 0; replaces && i < value->count; i++)
        if (doc_find(doc, value->items[i]->key))
            replaces = false;
    if (replaces)
        doc_replace(doc, value);
    else
        merge(override->arena, doc, value);
    return true;
}

bool overrides_apply(Arena *arena, Diagnostics *diag, Doc *root, const char *const *words, int count,
                     bool (*is_choice)(const char *key))
{
    int errors = diag->errors;
    for (int i = 0; i < count; i++) {
        Source *source = arena_new(arena, Source);
        *source = (Source){ "command line", text_format(arena, "%s", words[i]), strlen(words[i]) };
        Override override = { .arena = arena, .diag = diag, .source = source };
        if (read_override(&override))
            apply(&override, root, is_choice);
    }
    return diag->errors == errors;
}
