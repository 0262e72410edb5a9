/* print.c -- a recipe written back, all defaults filled in: YAML that reads to the same Recipe. */
#include "recipe/fields.h"

typedef struct Printer {
    Buffer *out;
    const Recipe *recipe;
    int kind;                           /* of the data set */
} Printer;

/* Writes the member's value. False: there is nothing to write, the key stays away. */
typedef bool FieldPrinter(Printer *printer, const FieldRow *row, const void *member);

/* ---- plain types ---- */

static bool print_whole(Printer *printer, const FieldRow *row, const void *member)
{
    (void)row;
    buffer_add(printer->out, "%lld", (long long)*(const int64_t *)member);
    return true;
}

static bool print_number(Printer *printer, const FieldRow *row, const void *member)
{
    (void)row;
    doc_print(printer->out, &(Doc){ .kind = DOC_FLOAT, .number = *(const double *)member });
    return true;
}

static bool print_truth(Printer *printer, const FieldRow *row, const void *member)
{
    (void)row;
    buffer_add(printer->out, *(const bool *)member ? "true" : "false");
    return true;
}

static bool print_word(Printer *printer, const FieldRow *row, const void *member)
{
    TextArray words = field_words(printer->out->arena, row);
    unsigned index = row->size == sizeof(bool) ? *(const bool *)member : *(const unsigned *)member;
    buffer_add(printer->out, "%s", words.items[index]);
    return true;
}

static bool print_text(Printer *printer, const FieldRow *row, const void *member)
{
    (void)row;
    const char *text = *(const char *const *)member;
    if (text)
        text_print_yaml(printer->out, text);
    return text != NULL;
}

static bool print_time(Printer *printer, const FieldRow *row, const void *member)
{
    (void)row;
    text_print_yaml(printer->out, duration_text(printer->out->arena, *(const Duration *)member));
    return true;
}

static bool print_shape(Printer *printer, const FieldRow *row, const void *member)
{
    (void)row;
    const int64_t *shape = member;
    buffer_add(printer->out, "[%lld, %lld, %lld]", (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    return true;
}

static bool print_numbers(Printer *printer, const FieldRow *row, const void *member)
{
    int stated = data_kinds[printer->kind].channels;
    int channels = stated ? stated : (int)printer->recipe->data.image[0];
    buffer_add(printer->out, "[");
    for (int c = 0; c < channels; c++) {
        buffer_add(printer->out, c ? ", " : "");
        print_number(printer, row, (const double *)member + c);
    }
    buffer_add(printer->out, "]");
    return true;
}

/* ---- choices ---- */

static void print_parameters(Printer *printer, const Choice *choice)
{
    key_print_yaml(printer->out, choice->name);
    buffer_add(printer->out, choice->parameters ? ": " : ":");
    if (choice->parameters)
        doc_print(printer->out, choice->parameters);
}

static bool print_choice(Printer *printer, const FieldRow *row, const void *member)
{
    (void)row;
    const Choice *choice = member;
    if (!choice->parameters) {
        text_print_yaml(printer->out, choice->name);
        return true;
    }
    buffer_add(printer->out, "{");
    print_parameters(printer, choice);
    buffer_add(printer->out, "}");
    return true;
}

/* Methods as a map; schedules, which may come twice, as a list when there are several. */
static bool print_choices(Printer *printer, const FieldRow *row, const void *member)
{
    const ChoiceArray *choices = member;
    bool is_list = text_equal(row->key, "schedule");
    if (is_list && choices->count == 1)
        return print_choice(printer, row, &choices->items[0]);
    for (int i = 0; i < choices->count; i++) {
        buffer_add(printer->out, is_list ? "\n  - " : "\n  ");
        if (is_list)
            print_choice(printer, row, &choices->items[i]);
        else
            print_parameters(printer, &choices->items[i]);
    }
    return choices->count > 0;
}

static bool print_names(Printer *printer, const FieldRow *row, const void *member)
{
    const ChoiceArray *names = member;
    buffer_add(printer->out, "[");
    for (int i = 0; i < names->count; i++) {
        buffer_add(printer->out, i ? ", " : "");
        print_choice(printer, row, &names->items[i]);
    }
    buffer_add(printer->out, "]");
    return names->count > 0;
}

static bool print_model(Printer *printer, const FieldRow *row, const void *member)
{
    const Choice *model = member;
    if (!printer->recipe->model_file)
        return print_choice(printer, row, member);
    buffer_add(printer->out, "{file: ");
    text_print_yaml(printer->out, printer->recipe->model_file);
    buffer_add(printer->out, ", function: ");
    text_print_yaml(printer->out, model->name);
    if (model->parameters) {
        buffer_add(printer->out, ", parameters: ");
        doc_print(printer->out, model->parameters);
    }
    buffer_add(printer->out, "}");
    return true;
}

/* ---- sections ---- */

static bool print_row(Printer *printer, const FieldRow *row);

/* `{key: value, ...}` of a section's rows. */
static bool print_rows(Printer *printer, Section section)
{
    bool any = false;
    buffer_add(printer->out, "{");
    for (const FieldRow *row = NULL; (row = field_next(section, printer->kind, row));) {
        Buffer value = { .arena = printer->out->arena };
        Printer inner = *printer;
        inner.out = &value;
        if (!print_row(&inner, row))
            continue;
        buffer_add(printer->out, "%s%s: ", any ? ", " : "", row->key);
        buffer_bytes(printer->out, value.bytes, value.count);
        any = true;
    }
    buffer_add(printer->out, "}");
    return any;
}

static bool print_dataset(Printer *printer, const FieldRow *row, const void *member)
{
    (void)row, (void)member;
    buffer_add(printer->out, "\n  %s: ", data_kinds[printer->kind].name);
    return print_rows(printer, SECTION_DATASET);
}

static bool print_section(Printer *printer, const FieldRow *row, const void *member)
{
    (void)member;
    Section section = field_section(row);
    bool has_text = section != SECTION_SAMPLE || printer->recipe->sample_prompt;
    return has_text && print_rows(printer, section);
}

/* ---- the table ---- */

static FieldPrinter *const printers[FIELD_TYPES] = {
    [FIELD_WHOLE] = print_whole,     [FIELD_NUMBER] = print_number,   [FIELD_TRUTH] = print_truth,
    [FIELD_WORD] = print_word,       [FIELD_TEXT] = print_text,       [FIELD_PATH] = print_text,
    [FIELD_SIZE] = print_text,       [FIELD_TIME] = print_time,       [FIELD_SHAPE] = print_shape,
    [FIELD_NUMBERS] = print_numbers, [FIELD_NAMES] = print_names,     [FIELD_CHOICE] = print_choice,
    [FIELD_CHOICES] = print_choices, [FIELD_MODEL] = print_model,     [FIELD_DATASET] = print_dataset,
    [FIELD_SECTION] = print_section, [FIELD_FREE] = NULL,             /* variables: put in where they are used */
};

static bool print_row(Printer *printer, const FieldRow *row)
{
    FieldPrinter *print = printers[row->type];
    return print && print(printer, row, (const char *)printer->recipe + row->offset);
}

void recipe_print(Buffer *out, const Recipe *recipe)
{
    for (const FieldRow *row = NULL; (row = field_next(SECTION_RECIPE, -1, row));) {
        Buffer value = { .arena = out->arena };
        Printer printer = { &value, recipe, data_kind_index(recipe->dataset.name) };
        if (print_row(&printer, row))
            buffer_add(out, "%s:%s%s\n", row->key, buffer_text(&value)[0] == '\n' ? "" : " ", buffer_text(&value));
    }
}
