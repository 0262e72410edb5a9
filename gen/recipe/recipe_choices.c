/* recipe_choices.c -- the parts of a recipe that name something with its parameters: model, data set, optimizer,
 * schedules, methods, loss, initializers. What the parameters mean, others know; only the data set's are ours. */
#include "recipe/fields.h"

/* ---- one ---- */

/* `name`, or an entry `name: {parameters}` of a map. */
static bool take_entry(Fields *fields, const Doc *entry, const char *name, Choice *choice)
{
    *choice = (Choice){ entry->key, entry->key_place, entry->kind == DOC_MAP ? entry : NULL };
    if (entry->is_broken || entry->kind == DOC_MAP || entry->kind == DOC_NULL)
        return !entry->is_broken;
    complain_expected(fields, entry, text_format(fields->arena, "%s.%s", name, entry->key), "a map of its parameters");
    return false;
}

static bool take_name(Fields *fields, const Doc *doc, const char *name, Choice *choice)
{
    *choice = (Choice){ doc->text, doc->place, NULL };
    if (doc->kind == DOC_TEXT && *doc->text)
        return true;
    complain_expected(fields, doc, name, "a name, or a map from a name to its parameters");
    return false;
}

static bool take_one(Fields *fields, const Doc *doc, const char *name, Choice *choice)
{
    if (doc->kind != DOC_MAP)
        return take_name(fields, doc, name, choice);
    if (doc->count == 1)
        return take_entry(fields, doc->items[0], name, choice);
    if (!doc->count)
        complain_expected(fields, doc, name, "one name with its parameters");
    else {
        complain(fields->diag, doc->items[1]->key_place, "%s: expected one name, found '%s' and '%s'", name,
                 doc->items[0]->key, doc->items[1]->key);
        note(fields->diag, doc->items[0]->key_place, "the first is here; %s=%s on the command line replaces it", name,
             doc->items[1]->key);
    }
    return false;
}

void read_choice(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    (void)row;
    take_one(fields, doc, name, member);
}

/* ---- several ---- */

static void add_choice(Fields *fields, ChoiceArray *choices, Choice choice, const char *name, bool may_repeat)
{
    for (int i = 0; !may_repeat && i < choices->count; i++)
        if (text_equal(choices->items[i].name, choice.name)) {
            complain(fields->diag, choice.place, "%s: '%s' is given twice", name, choice.name);
            note(fields->diag, choices->items[i].place, "the first time is here");
            return;
        }
    array_push(fields->arena, choices, choice);
}

/* A name, a map of several, or a list of names and maps of one. */
void read_choices(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    ChoiceArray *choices = member;
    bool may_repeat = text_equal(row->key, "schedule");
    bool is_many = doc->kind == DOC_MAP || doc->kind == DOC_LIST;
    for (int i = 0; i < (is_many ? doc->count : 1); i++) {
        Choice choice;
        const Doc *item = is_many ? doc->items[i] : doc;
        if (item->is_broken)
            continue;
        const char *item_name = doc->kind == DOC_LIST ? text_format(fields->arena, "%s[%d]", name, i) : name;
        if (doc->kind == DOC_MAP ? take_entry(fields, item, name, &choice) : take_one(fields, item, item_name, &choice))
            add_choice(fields, choices, choice, name, may_repeat);
    }
    if (may_repeat && is_many && !doc->count)
        complain_expected(fields, doc, name, "at least one schedule");
}

void read_names(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    (void)row;
    bool is_list = doc->kind == DOC_LIST;
    for (int i = 0; i < (is_list ? doc->count : 1); i++) {
        const Doc *item = is_list ? doc->items[i] : doc;
        Choice choice = { item->text, item->place, NULL };
        if (item->kind != DOC_TEXT || !*item->text)
            complain_expected(fields, item, name, is_list ? "a name" : "a list of names");
        else
            array_push(fields->arena, (ChoiceArray *)member, choice);
    }
}

/* ---- the model ---- */

static bool is_file_form(const Doc *doc)
{
    const Doc *file = doc_find(doc, "file"), *function = doc_find(doc, "function");
    return (file && file->kind != DOC_MAP) || (function && function->kind != DOC_MAP);
}

static const char *stem_of(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path, *dot = strrchr(start, '.');
    return text_slice(arena, start, dot && dot != start ? (size_t)(dot - start) : strlen(start));
}

void read_model(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    (void)row;
    Choice *model = member;
    if (!is_file_form(doc)) {
        take_one(fields, doc, name, model);
        return;
    }
    fields_read(fields, SECTION_MODEL, -1, doc, doc->key_place, "model.");
    const Doc *function = doc_find(doc, "function"), *file = doc_find(doc, "file");
    const Doc *parameters = doc_find(doc, "parameters");
    if (!model->name && fields->recipe->model_file)
        model->name = stem_of(fields->arena, fields->recipe->model_file);
    const Doc *where = function && function->kind != DOC_NULL ? function : file;
    model->place = where ? where->place : doc->place;
    model->parameters = parameters && parameters->kind == DOC_MAP ? parameters : NULL;
}

/* ---- the data set ---- */

/* Mean and deviation: as given, else the kind's; a list given must have a number a channel. */
static void complete_shades(Fields *fields, const Doc *parameters, const DataKind *kind, const char *name)
{
    Dataset *data = &fields->recipe->data;
    int channels = kind->channels ? kind->channels : (int)data->image[0];
    const struct { const char *key, *standard; double *numbers, plain; } shades[] = {
        { "mean", kind->mean, data->mean, 0 }, { "std", kind->std, data->std, 1 },
    };
    const Doc *normalize = doc_find(parameters, "normalize");
    for (int i = 0; i < 2; i++) {
        const Doc *given = doc_find(normalize, shades[i].key);
        bool is_given = given && given->kind == DOC_LIST;
        if (is_given && given->count != channels && channels)
            complain(fields->diag, given->place, "%s.normalize.%s: expected %d numbers, one a channel, found %d", name,
                     shades[i].key, channels, given->count);
        const Doc *standard = *shades[i].standard ? yaml_constant(fields->arena, shades[i].standard) : NULL;
        for (int c = is_given ? given->count : 0; c < MOST_CHANNELS; c++)
            if (!standard || c >= standard->count || !doc_number(standard->items[c], &shades[i].numbers[c]))
                shades[i].numbers[c] = shades[i].plain;
    }
}

void read_dataset(Fields *fields, const FieldRow *row, const Doc *doc, const char *name, void *member)
{
    (void)row;
    Choice *dataset = member;
    if (!take_one(fields, doc, name, dataset))
        return;
    int kind = data_kind_index(dataset->name);
    if (kind < 0) {
        TextArray names = { 0 };
        for (int i = 0; i < data_kind_count; i++)
            array_push(fields->arena, &names, data_kinds[i].name);
        complain_unknown(fields->diag, dataset->place, "there is no kind of data set", dataset->name, names.items,
                         names.count);
        return;
    }
    const char *title = text_format(fields->arena, "%s.%s", name, dataset->name);
    fields_read(fields, SECTION_DATASET, kind, dataset->parameters, dataset->place,
                text_format(fields->arena, "%s.", title));
    complete_shades(fields, dataset->parameters, &data_kinds[kind], title);
}
