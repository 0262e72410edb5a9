/* load.c -- method files by name, and what stands in them. */
#include "method/inside.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names that the macros of method.h make ---- */

enum { LONGEST_NAME = 256 };

const char *method_text(const Method *method, const char *prefix, const char *name)
{
    char full[LONGEST_NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const CVariable *variable = cfile_find_variable(method->file, full);
    return variable && variable->initializer && variable->initializer->kind == TREE_TEXT ? variable->initializer->text : NULL;
}

const CFunction *method_function(const Method *method, const char *prefix, const char *name)
{
    char full[LONGEST_NAME];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return cfile_find_function(method->file, full);
}

const CFunction *method_next_function(const Method *method, const char *prefix, int *at)
{
    while (*at < cfile_function_count(method->file)) {
        const CFunction *function = cfile_function(method->file, (*at)++);
        if (text_starts(cfunction_name(function), prefix))
            return function;
    }
    return NULL;
}

/* ---- files ---- */

typedef struct Loader {
    Methods *methods;
    const char *const *dirs;
    int dir_count;
    const char *model_dir;
} Loader;

static const char *find_file(const Loader *loader, const char *folder, const char *name)
{
    for (int i = 0; i < loader->dir_count && !strchr(name, '/'); i++) {
        const char *path = text_format(loader->methods->arena, "%s%s/%s.c", loader->dirs[i], folder, name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All methods of these folders by name, each once. */
static TextArray names_in(Arena *arena, const char *const *dirs, int dir_count, const char *folder)
{
    TextArray names = { 0 };
    for (int i = 0; i < dir_count; i++) {
        DIR *dir = opendir(text_format(arena, "%s%s", dirs[i], folder));
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            if (text_ends(entry->d_name, ".c"))
                array_push(arena, &names, text_slice(arena, entry->d_name, strlen(entry->d_name) - 2));
        if (dir)
            closedir(dir);
    }
    if (names.count)
        qsort(names.items, (size_t)names.count, sizeof *names.items, by_text);
    int kept = 0;
    for (int i = 0; i < names.count; i++)
        if (!kept || !text_equal(names.items[kept - 1], names.items[i]))
            names.items[kept++] = names.items[i];
    names.count = kept;
    return names;
}

static const CFile *parse(const Loader *loader, const char *path)
{
    const char **dirs = arena_array(loader->methods->arena, const char *, loader->dir_count + 1);
    dirs[0] = loader->model_dir;
    for (int i = 0; i < loader->dir_count; i++)
        dirs[i + 1] = loader->dirs[i];
    return front_parse(loader->methods->arena, loader->methods->diag, path, dirs, loader->dir_count + 1);
}

static const struct { const char *folder, *unknown; } kinds[METHOD_KINDS] = {
    [KIND_METHOD] = { "", "unknown method" },
    [KIND_OPTIMIZER] = { "/optimizers", "unknown optimizer" },
    [KIND_SCHEDULE] = { "/schedules", "unknown schedule" },
};

static Method *load(const Loader *loader, const Choice *choice, MethodKind kind)
{
    const char *folder = kinds[kind].folder;
    Methods *methods = loader->methods;
    const char *path = find_file(loader, folder, choice->name);
    if (!path) {
        TextArray names = names_in(methods->arena, loader->dirs, loader->dir_count, folder);
        complain_unknown(methods->diag, choice->place, kinds[kind].unknown, choice->name, names.items, names.count);
        return NULL;
    }
    Method *method = arena_new(methods->arena, Method);
    *method = (Method){ .name = choice->name, .choice = *choice, .file = parse(loader, path) };
    if (!method->file)
        return NULL;
    const char *unavailable = method_text(method, "unavailable", "");
    if (unavailable) {
        complain(methods->diag, choice->place, "%s can't be used yet: %s", method->name, unavailable);
        return NULL;
    }
    method->summary = method_text(method, "summary", "");
    int at = 0;
    method->has_rewrites = method_next_function(method, "rewrite_", &at) != NULL;
    bool fine = method_check(methods, method, kind);
    fine &= parameters_bind(methods, method);
    return fine ? method : NULL;
}

static void read_stage(Method *method, Arena *arena, ExprPool *exprs, Diagnostics *diag)
{
    Evaluator *evaluator = evaluator_create(arena, exprs, diag, method->file, &(Host){ 0 });
    Value stage;
    bool known = evaluator_read(evaluator, "method_stage", &stage) && stage.kind == VALUE_SCALAR && expr_is_constant(stage.scalar);
    if (known && expr_value(stage.scalar) >= 0 && expr_value(stage.scalar) < METHOD_STAGES)
        method->stage = (int)expr_value(stage.scalar);
    else
        complain(diag, method->choice.place, "%s has no STAGE: nothing says where in a step it acts", method->name);
}

static bool load_list(const Loader *loader)
{
    Methods *methods = loader->methods;
    const ChoiceArray *choices = &methods->recipe->methods;
    bool fine = true;
    for (int i = 0; i < choices->count; i++) {
        Method *method = load(loader, &choices->items[i], KIND_METHOD);
        fine &= method != NULL;
        if (!method)
            continue;
        read_stage(method, methods->arena, methods->exprs, methods->diag);
        array_push(methods->arena, &methods->list, method);
    }
    return fine;
}

static bool load_schedules(const Loader *loader)
{
    Methods *methods = loader->methods;
    const ChoiceArray *choices = &methods->recipe->schedules;
    bool fine = true;
    for (int i = 0; i < choices->count; i++) {
        Method *schedule = load(loader, &choices->items[i], KIND_SCHEDULE);
        if (schedule && !method_function(schedule, "schedule_", "rate")) {
            complain(methods->diag, choices->items[i].place, "%s is no schedule: it has no SCHEDULE(rate)", schedule->name);
            schedule = NULL;
        }
        fine &= schedule != NULL;
        if (schedule)
            array_push(methods->arena, &methods->schedules, schedule);
    }
    return fine;
}

static bool load_optimizer(const Loader *loader)
{
    Methods *methods = loader->methods;
    methods->optimizer = load(loader, &methods->recipe->optimizer, KIND_OPTIMIZER);
    if (!methods->optimizer)
        return false;
    for (int i = 0; i < methods->optimizer->parameters.count; i++) {
        const MethodParameter *parameter = &methods->optimizer->parameters.items[i];
        if (text_equal(parameter->name, "lr") && parameter->value.kind == VALUE_SCALAR)
            methods->base_rate = expr_value(parameter->value.scalar);
    }
    if (method_function(methods->optimizer, "on_", "update"))
        return true;
    complain(methods->diag, methods->recipe->optimizer.place, "%s is no optimizer: it has no ON(update)", methods->optimizer->name);
    return false;
}

Methods *methods_load(Arena *run, ExprPool *exprs, Diagnostics *diag, const Recipe *recipe,
                      const char *const *dirs, int dir_count, const char *model_dir)
{
    Methods *methods = arena_new(run, Methods);
    *methods = (Methods){ .arena = run, .exprs = exprs, .diag = diag, .recipe = recipe };
    Loader loader = { methods, dirs, dir_count, model_dir };
    bool fine = load_list(&loader);
    fine &= load_schedules(&loader);
    fine &= load_optimizer(&loader);
    return fine && methods_order(methods) && !diag->errors ? methods : NULL;
}

/* ---- --list methods ---- */

static void list_one(const Loader *loader, Buffer *out, const char *folder, const char *name)
{
    Method method = { .name = name, .file = parse(loader, find_file(loader, folder, name)) };
    if (!method.file)
        return;
    const char *summary = method_text(&method, "summary", ""), *unavailable = method_text(&method, "unavailable", "");
    buffer_add(out, "  %-28s %s%s\n", name, unavailable ? "(not yet) " : "", summary ? summary : "");
    for (int i = 0; i < cfile_variable_count(method.file); i++) {
        const CVariable *variable = cfile_variable(method.file, i);
        const char *help = method_text(&method, "help_", variable->name);
        if (help)
            buffer_add(out, "      %-24s %s\n", variable->name, help);
    }
}

void methods_list(Arena *arena, Buffer *out, const char *const *dirs, int dir_count)
{
    static const char *const titles[METHOD_KINDS] = { "methods", "optimizers", "schedules" };
    if (dir_count < 1)
        return;
    Diagnostics diag = { .arena = arena };
    Methods methods = { .arena = arena, .diag = &diag };
    Loader loader = { &methods, dirs, dir_count, text_format(arena, "%s/../recipes/models", dirs[dir_count - 1]) };
    for (int k = 0; k < METHOD_KINDS; k++) {
        TextArray names = names_in(arena, dirs, dir_count, kinds[k].folder);
        buffer_add(out, "%s:\n", titles[k]);
        for (int i = 0; i < names.count; i++)
            list_one(&loader, out, kinds[k].folder, names.items[i]);
    }
    diagnostics_print(&diag, out);
}
