/* order.c -- one total order of the methods: by stage, then by the edges AFTER and BEFORE, then by name. */
#include "method/inside.h"

#include <string.h>

static const char *const stage_names[METHOD_STAGES] = { "surgery", "loader", "geometry", "batch", "mix", "target", "gradient", "step",
                                                        "update", "average", "epoch" };

typedef struct Sorting {
    Methods *methods;
    int count;
    bool *before;                       /* [i * count + k]: i stands before k */
    bool contradicts;                   /* an edge that no stage allows */
} Sorting;

static void add_edge(Sorting *sorting, int first, int second, const char *reason)
{
    Methods *methods = sorting->methods;
    Method *a = methods->list.items[first], *b = methods->list.items[second];
    if (a->stage > b->stage) {
        complain(methods->diag, b->choice.place, "%s can't stand after %s (%s): its stage, %s, comes before %s", b->name, a->name, reason,
                 stage_names[b->stage], stage_names[a->stage]);
        sorting->contradicts = true;
        return;
    }
    sorting->before[first * sorting->count + second] = true;
    array_push(methods->arena, &b->reasons, text_format(methods->arena, "after %s: %s", a->name, reason));
}

static void read_edges(Sorting *sorting)
{
    for (int i = 0; i < sorting->count; i++)
        for (int k = 0; k < sorting->count; k++) {
            const Method *method = sorting->methods->list.items[i];
            const char *other = sorting->methods->list.items[k]->name;
            const char *after = method_text(method, "after_", other), *before = method_text(method, "before_", other);
            if (i != k && after)
                add_edge(sorting, k, i, after);
            if (i != k && before)
                add_edge(sorting, i, k, before);
        }
}

/* A method not placed yet that must stand before k; -1 when there is none. */
static int waits_for(const Sorting *sorting, const bool *placed, int k)
{
    for (int i = 0; i < sorting->count; i++)
        if (!placed[i] && sorting->before[i * sorting->count + k])
            return i;
    return -1;
}

static bool comes_first(const Method *a, const Method *b)
{
    return a->stage != b->stage ? a->stage < b->stage : strcmp(a->name, b->name) < 0;
}

static int next_method(const Sorting *sorting, const bool *placed)
{
    int best = -1;
    Method *const *list = sorting->methods->list.items;
    for (int i = 0; i < sorting->count; i++)
        if (!placed[i] && waits_for(sorting, placed, i) < 0 && (best < 0 || comes_first(list[i], list[best])))
            best = i;
    return best;
}

/* Every method that is left waits for another one that is left. */
static void complain_circle(const Sorting *sorting, const bool *placed)
{
    Methods *methods = sorting->methods;
    bool *seen = arena_array(methods->arena, bool, sorting->count);
    int at = 0;
    while (placed[at])
        at++;
    while (!seen[at]) {
        seen[at] = true;
        at = waits_for(sorting, placed, at);
    }
    Buffer names = { .arena = methods->arena };
    int from = at;
    do {
        buffer_add(&names, "%s after ", methods->list.items[at]->name);
        at = waits_for(sorting, placed, at);
    } while (at != from);
    complain(methods->diag, methods->list.items[from]->choice.place, "the methods' order is a circle: %s%s", buffer_text(&names),
             methods->list.items[from]->name);
}

static bool sort(Sorting *sorting)
{
    Methods *methods = sorting->methods;
    bool *placed = arena_array(methods->arena, bool, sorting->count + 1);
    Method **sorted = arena_array(methods->arena, Method *, sorting->count + 1);
    for (int i = 0; i < sorting->count; i++) {
        int next = next_method(sorting, placed);
        if (next < 0) {
            complain_circle(sorting, placed);
            return false;
        }
        placed[next] = true;
        sorted[i] = methods->list.items[next];
    }
    memcpy(methods->list.items, sorted, sizeof *sorted * (size_t)sorting->count);
    return true;
}

static bool check_exclusions(Methods *methods)
{
    bool fine = true;
    for (int i = 0; i < methods->list.count; i++)
        for (int k = i + 1; k < methods->list.count; k++) {
            const Method *a = methods->list.items[i], *b = methods->list.items[k];
            const char *reason = method_text(a, "excludes_", b->name);
            reason = reason ? reason : method_text(b, "excludes_", a->name);
            if (!reason)
                continue;
            complain(methods->diag, a->choice.place, "%s and %s can't be used together: %s", a->name, b->name, reason);
            note(methods->diag, b->choice.place, "%s is here", b->name);
            fine = false;
        }
    return fine;
}

bool methods_order(Methods *methods)
{
    int count = methods->list.count;
    Sorting sorting = { .methods = methods, .count = count, .before = arena_array(methods->arena, bool, count * count + 1) };
    bool fine = check_exclusions(methods);
    for (int i = 0; i < count; i++) {
        Method *method = methods->list.items[i];
        array_push(methods->arena, &method->reasons, text_format(methods->arena, "stage %s", stage_names[method->stage]));
    }
    read_edges(&sorting);
    return count == 0 || (sort(&sorting) && fine && !sorting.contradicts);
}
