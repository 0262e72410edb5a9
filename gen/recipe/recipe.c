/* recipe.c -- a file and overrides to a Recipe. */
#include "recipe/fields.h"

#include <errno.h>

/* ---- the text ---- */

static const char *folder_of(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return slash == path ? "/" : text_slice(arena, path, (size_t)(slash - path));
}

static const char *name_of(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path;
    size_t length = strlen(start);
    static const char *const endings[] = { ".yaml", ".yml" };
    for (int i = 0; i < 2; i++)
        if (text_ends(start, endings[i]) && length > strlen(endings[i]))
            return text_slice(arena, start, length - strlen(endings[i]));
    return start;
}

static Doc *read_root(Arena *run, Diagnostics *diag, const Source *source)
{
    if (!yaml_check_bytes(diag, source))
        return NULL;
    int errors = diag->errors;
    Doc *root = yaml_read(run, diag, source, 0, false);
    if (!root || root->kind == DOC_MAP)
        return root;
    if (root->kind == DOC_NULL)
        complain(diag, (Place){ source, 0, 0 }, "the recipe is empty; it is a map of settings, like `batch_size: 128`");
    else if (diag->errors == errors)
        complain(diag, root->place, "a recipe is a map of settings, like `batch_size: 128`, not %s",
                 doc_found(run, root));
    return NULL;
}

/* ---- places ---- */

Place recipe_place(const Recipe *recipe, const char *key)
{
    const Doc *doc = recipe->root;
    Place place = doc->place;
    while (doc && *key) {
        size_t length = strcspn(key, ".");
        char part[64];
        if (length >= sizeof part)
            break;
        memcpy(part, key, length);
        part[length] = 0;
        doc = doc_find(doc, part);
        if (!doc)
            break;
        bool is_dataset = text_equal(part, "dataset") && recipe->dataset.parameters;
        doc = is_dataset ? recipe->dataset.parameters : doc;
        place = is_dataset ? recipe->dataset.place : doc->place;
        key += length + (key[length] == '.');
    }
    return place;
}

/* ---- what the table does not say ---- */

static void complete(Fields *fields)
{
    Recipe *recipe = fields->recipe;
    const Doc *optimizer = doc_find(recipe->root, "optimizer");
    if (!optimizer || optimizer->kind == DOC_NULL)
        warn(fields->diag, recipe->root->place, "-Wdefault-optimizer",
             "no optimizer is given: it will be decoupled_sgdw with lr 0.1");
    if (!recipe->eval_batch_size)
        recipe->eval_batch_size = recipe->batch_size;
    if (!recipe->sample_prompt)
        recipe->sample_length = 0;
    if (recipe->max_duration.amount && recipe->max_duration.unit == TIME_DURATION)
        complain(fields->diag, recipe_place(recipe, "max_duration"),
                 "max_duration can't be a fraction of itself; give it in ep, ba, sp or tok");
    recipe->max_duration_place = recipe_place(recipe, "max_duration");
    recipe->batch_size_place = recipe_place(recipe, "batch_size");
    recipe->weights_place = recipe_place(recipe, "weights");
    recipe->draws_place = recipe_place(recipe, "draws");
}

Recipe *recipe_read_bytes(Arena *run, Diagnostics *diag, const char *path, const char *bytes, size_t length,
                          const char *const *overrides, int count)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t skip = length >= 3 && memcmp(bytes, mark, 3) == 0 ? 3 : 0;
    Source *source = arena_new(run, Source);
    *source = (Source){ path, bytes + skip, length - skip };
    int errors = diag->errors;
    Doc *root = read_root(run, diag, source);
    if (!root)
        return NULL;
    overrides_apply(run, diag, root, overrides, count, field_is_choice);
    references_resolve(run, diag, root);
    Recipe *recipe = arena_new(run, Recipe);
    recipe->source = source;
    recipe->path = path;
    recipe->folder = folder_of(run, path);
    recipe->name = name_of(run, path);
    recipe->root = root;
    Fields fields = { run, diag, recipe };
    fields_read(&fields, SECTION_RECIPE, -1, root, root->place, "");
    complete(&fields);
    return diag->errors == errors ? recipe : NULL;
}

Recipe *recipe_read(Arena *run, Diagnostics *diag, const char *path, const char *const *overrides, int count)
{
    size_t length = 0;
    char *bytes = text_read_file(run, path, &length);
    if (bytes)
        return recipe_read_bytes(run, diag, path, bytes, length, overrides, count);
    Source *source = arena_new(run, Source);
    *source = (Source){ .path = path };
    const char *wrong = errno == EISDIR ? "is a folder; a recipe is a file"
                                        : text_format(run, "can't be read: %s", strerror(errno));
    complain(diag, (Place){ source, 0, 0 }, "%s", wrong);
    return NULL;
}
