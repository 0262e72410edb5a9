/* reference.c -- ${a.b}, ${a[0].b}, ${.near}, ${a.${b}}: values that stand elsewhere in the recipe.
 *
 * A reference that is the whole value keeps the target's type (maps and lists too); otherwise its text is put in.
 * `\${` is `${` itself. A value is resolved when it is first needed; one that needs itself is an error. */
#include "recipe/yaml/yaml.h"

#include <stdlib.h>

enum { DEEPEST_CHAIN = 256, DEEPEST_NESTING = 16, LONGEST_TEXT = 1 << 16, MOST_TEXT = 1 << 20 };

/* A value and the way down to it. */
typedef struct Spot {
    Doc *doc;
    const struct Spot *above;           /* NULL: the root */
} Spot;

typedef struct Resolver {
    Arena *arena;
    Diagnostics *diag;
    Doc *root;
    const Doc *chain[DEEPEST_CHAIN];    /* values being resolved, each needed by or inside the one before */
    int depth;
    int nodes;
    size_t bytes;
    bool is_full;
} Resolver;

/* The text of one value, being read. */
typedef struct Text {
    Resolver *resolver;
    const Spot *spot;
    const char *start, *at;
    bool failed;
    int depth;
} Text;

static bool resolve(Resolver *resolver, const Spot *spot);

/* ---- complaints ---- */

static size_t offset_of(Place place)
{
    size_t at = 0;
    for (int line = 1; line < place.line && at < place.source->length; at++)
        line += place.source->bytes[at] == '\n';
    return at + (size_t)place.column - 1;
}

/* Where a reference in a scalar stands in the file: one byte further when the value is quoted; the value's own place
 * when escapes or line ends moved it. */
static Place place_inside(const Doc *doc, const char *part)
{
    const Source *source = doc->place.source;
    size_t at = offset_of(doc->place) + (size_t)(part - doc->text);
    for (int quote = 0; quote < 2; quote++, at++)
        if (at + 2 <= source->length && memcmp(source->bytes + at, "${", 2) == 0)
            return place_at(source, at);
    return doc->place;
}

static void fail(Text *text, const char *part, const char *message)
{
    if (!text->failed && text->resolver->diag->errors < YAML_MOST_COMPLAINTS)
        complain(text->resolver->diag, place_inside(text->spot->doc, part), "%s", message);
    text->failed = true;
}

static void fail_full(Resolver *resolver, const Doc *doc, const char *what)
{
    if (!resolver->is_full)
        complain(resolver->diag, doc->place, "references expand this recipe to more than %s", what);
    resolver->is_full = true;
}

/* ---- finding the target ---- */

static const Spot *below(Resolver *resolver, const Spot *above, Doc *doc)
{
    Spot *spot = arena_new(resolver->arena, Spot);
    *spot = (Spot){ doc, above };
    return spot;
}

static const char *message_no_key(Text *text, const char *path, const Doc *doc, const char *key)
{
    TextArray names = { 0 };
    for (int i = 0; doc->kind == DOC_MAP && i < doc->count; i++)
        array_push(text->resolver->arena, &names, doc->items[i]->key);
    const char *near = text_nearest(key, names.items, names.count);
    const char *where = doc->key ? text_format(text->resolver->arena, "%s has no '%s'", doc->key, key)
                                 : text_format(text->resolver->arena, "there is no '%s'", key);
    return text_format(text->resolver->arena, "${%s}: %s%s%s%s", path, where, near ? "; did you mean '" : "",
                       near ? near : "", near ? "'?" : "");
}

static bool in_chain(const Resolver *resolver, const Doc *doc)
{
    for (int i = 0; i < resolver->depth; i++)
        if (resolver->chain[i] == doc)
            return true;
    return false;
}

/* Resolves what a reference leads to. */
static bool resolve_target(Text *text, const Spot *spot, const char *path, const char *part)
{
    Resolver *resolver = text->resolver;
    if (in_chain(resolver, spot->doc))
        fail(text, part, text_format(resolver->arena, "${%s} leads back to itself", path));
    else if (resolver->depth == DEEPEST_CHAIN)
        fail(text, part, text_format(resolver->arena, "${%s}: references lead on to references too often", path));
    else if (!resolve(resolver, spot))
        text->failed = true;
    return !text->failed;
}

/* One step down. What is stepped into may itself be a reference. */
static const Spot *step(Text *text, const Spot *from, const char *path, const char *key, const char *part)
{
    Resolver *resolver = text->resolver;
    if (from->doc->kind == DOC_TEXT && !resolve_target(text, from, path, part))
        return NULL;
    Doc *doc = from->doc, *found = NULL;
    if (doc->kind == DOC_LIST && *key && strlen(key) < 7 && !key[strspn(key, "0123456789")]) {
        long index = strtol(key, NULL, 10);
        found = index < doc->count ? doc->items[index] : NULL;
    } else {
        found = doc_find(doc, key);
    }
    if (!found)
        fail(text, part, message_no_key(text, path, doc, key));
    return found ? below(resolver, from, found) : NULL;
}

/* The next key of a path: up to . [ or ]. Moves on; NULL when it is malformed. */
static const char *take_step(Arena *arena, const char **at)
{
    bool is_index = **at == '[';
    *at += is_index;
    size_t length = strcspn(*at, ".[]");
    const char *key = text_slice(arena, *at, length);
    *at += length;
    if (!length || (is_index && **at != ']'))
        return NULL;
    *at += is_index;
    if (**at == '.')
        return *++*at ? key : NULL;
    return !**at || **at == '[' ? key : NULL;
}

static const Spot *find(Text *text, const char *path, const char *part)
{
    Arena *arena = text->resolver->arena;
    const char *at = path;
    const Spot *spot = text->spot;
    size_t dots = strspn(at, ".");
    for (size_t i = 0; i < dots && spot; i++)
        spot = spot->above;
    while (!dots && spot->above)
        spot = spot->above;
    if (!spot) {
        fail(text, part, text_format(arena, "${%s} leads out of the recipe", path));
        return NULL;
    }
    for (at += dots; *at && spot;) {
        const char *key = take_step(arena, &at);
        if (!key) {
            fail(text, part, text_format(arena, "${%s} is no path; one is written ${a.b} or ${a[0].b}", path));
            return NULL;
        }
        spot = step(text, spot, path, key, part);
    }
    return spot;
}

/* The resolved target of a reference, or NULL. */
static Doc *target_of(Text *text, const char *path, const char *part)
{
    Arena *arena = text->resolver->arena;
    if (!*path || strchr(path, ':')) {
        fail(text, part, !*path ? "a reference names a value: ${a.b}"
             : text_format(arena, "${%s}: functions and the environment can't be used; a recipe alone decides the program",
                           path));
        return NULL;
    }
    const Spot *spot = find(text, path, part);
    if (!spot || text->failed)
        return NULL;
    if (spot->doc->kind == DOC_TEXT && text_equal(spot->doc->text, "\?\?\?")) {
        fail(text, part, text_format(arena, "${%s} must be given: it is \?\?\? in the recipe", path));
        return NULL;
    }
    return resolve_target(text, spot, path, part) ? spot->doc : NULL;
}

/* ---- reading a text ---- */

static Doc *read_reference(Text *text);

static const char *text_of(Text *text, const Doc *doc, const char *part)
{
    if (doc->kind != DOC_LIST && doc->kind != DOC_MAP)
        return doc->kind == DOC_NULL ? "null" : doc->text;
    fail(text, part, text_format(text->resolver->arena, "%s can't be put into a text", doc_kind_name(doc)));
    return "";
}

/* Adds what `at` begins with -- a reference, escaped or not, or one character -- and moves on. */
static void add_part(Text *text, Buffer *out, const char *stops)
{
    size_t slashes = strspn(text->at, "\\");
    const char *after = text->at + slashes;
    if (after[0] == '$' && after[1] == '{') {
        for (size_t i = 0; i < slashes / 2; i++)
            buffer_bytes(out, "\\", 1);
        text->at = after;
        if (slashes % 2) {
            buffer_bytes(out, "${", 2);
            text->at += 2;
            return;
        }
        const Doc *target = read_reference(text);
        const char *value = target ? text_of(text, target, after) : "";
        buffer_bytes(out, value, (int)strlen(value));
    } else {
        size_t plain = slashes ? slashes : 1 + strcspn(text->at + 1, stops);
        buffer_bytes(out, text->at, (int)plain);
        text->at += plain;
    }
    if (out->count > LONGEST_TEXT)
        fail(text, text->start,
             text_format(text->resolver->arena, "references make this text longer than %d bytes", LONGEST_TEXT));
}

/* At `${`: reads to its `}` and finds the target; NULL after a complaint. */
static Doc *read_reference(Text *text)
{
    const char *part = text->at;
    Buffer path = { .arena = text->resolver->arena };
    text->at += 2;
    if (++text->depth > DEEPEST_NESTING)
        fail(text, part, "references stand in each other too deep");
    while (*text->at && *text->at != '}' && !text->failed)
        add_part(text, &path, "\\$}");
    text->depth--;
    if (!text->failed && *text->at != '}')
        fail(text, part, "'${' has no '}'; text that is meant as it stands is written \\${");
    if (text->failed)
        return NULL;
    text->at++;
    const char *trimmed = buffer_text(&path);
    trimmed += strspn(trimmed, " ");
    size_t length = strlen(trimmed);
    while (length && trimmed[length - 1] == ' ')
        length--;
    return target_of(text, text_slice(text->resolver->arena, trimmed, length), part);
}

static void set_to_copy(Resolver *resolver, Doc *doc, const Doc *target)
{
    resolver->nodes += doc_size(target);
    if (resolver->nodes > YAML_MOST_NODES) {
        fail_full(resolver, doc, text_format(resolver->arena, "%d values", YAML_MOST_NODES));
        return;
    }
    Place place = doc->place;
    bool is_override = doc->is_override;
    doc_replace(doc, doc_copy(resolver->arena, target, target->place));
    doc->place = place;
    doc->is_override = is_override;
}

static bool resolve_text(Resolver *resolver, const Spot *spot)
{
    Doc *doc = spot->doc;
    if (!strstr(doc->text, "${"))
        return true;
    Text text = { .resolver = resolver, .spot = spot, .start = doc->text, .at = doc->text };
    if (text_starts(text.at, "${")) {           /* perhaps the whole value */
        const Doc *target = read_reference(&text);
        if (target && !*text.at) {
            set_to_copy(resolver, doc, target);
            return !resolver->is_full;
        }
    }
    text.at = text.start;
    Buffer out = { .arena = resolver->arena };
    while (*text.at && !text.failed)
        add_part(&text, &out, "\\$");
    resolver->bytes += (size_t)out.count;
    if (resolver->bytes > MOST_TEXT)
        fail_full(resolver, doc, "a megabyte");
    doc->text = buffer_text(&out);
    return !text.failed && !resolver->is_full;
}

/* ---- the walk ---- */

static bool resolve_items(Resolver *resolver, const Spot *spot)
{
    bool good = true;
    for (int i = 0; i < spot->doc->count && !resolver->is_full && resolver->diag->errors < YAML_MOST_COMPLAINTS; i++) {
        Spot item = { spot->doc->items[i], spot };
        good = resolve(resolver, &item) && good;
    }
    return good;
}

/* A list or map with a broken value is not itself broken: its other values are looked at further. */
static bool resolve(Resolver *resolver, const Spot *spot)
{
    Doc *doc = spot->doc;
    if (doc->is_final || doc->is_broken)
        return !doc->is_broken;
    if (resolver->depth == DEEPEST_CHAIN) {
        complain(resolver->diag, doc->place, "references lead on to references too often");
        doc->is_broken = true;
        return false;
    }
    resolver->chain[resolver->depth++] = doc;
    bool is_text = doc->kind == DOC_TEXT;
    bool good = is_text ? resolve_text(resolver, spot) : resolve_items(resolver, spot);
    resolver->depth--;
    doc->is_broken = is_text && !good;
    doc->is_final = !doc->is_broken;
    return good;
}

static void complain_mandatory(Resolver *resolver, Doc *doc, bool is_top)
{
    if (doc->kind == DOC_TEXT && text_equal(doc->text, "\?\?\?") && !doc->is_broken) {
        complain(resolver->diag, doc->place, "%s must be given (it is \?\?\?): %s=... on the command line, or here",
                 doc->key ? doc->key : "this value", doc->key ? doc->key : "its key");
        doc->is_broken = true;
    }
    for (int i = 0; i < doc->count && resolver->diag->errors < YAML_MOST_COMPLAINTS; i++)
        if (!is_top || !text_equal(doc->items[i]->key, "variables"))
            complain_mandatory(resolver, doc->items[i], false);
}

bool references_resolve(Arena *arena, Diagnostics *diag, Doc *root)
{
    int errors = diag->errors;
    Resolver *resolver = arena_new(arena, Resolver);
    resolver->arena = arena;
    resolver->diag = diag;
    resolver->root = root;
    Spot spot = { root, NULL };
    resolve(resolver, &spot);
    if (!resolver->is_full)
        complain_mandatory(resolver, root, true);
    return diag->errors == errors;
}
