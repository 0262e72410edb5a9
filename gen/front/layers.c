/* layers.c -- the evaluator's host of models: finds the handler of a call and offers layers to the rewrites.
 */
#include "front/layers/call.h"

typedef struct Row {
    const char *name, *word;
    int arguments;
    Handler *handler;
    LayerKind kind;
    const Expr *(*element)(ExprPool *pool, const Expr *x, const Expr *y);
} Row;

static const Row rows[] = {
#define CALL(name, arguments, handler) { #name, NULL, arguments, handler, LAYER_NONE, NULL },
#define LAYER_CALL(name, arguments, handler, kind) { #name, #kind, arguments, handler, LAYER_##kind, NULL },
#define ELEMENT(name, arguments, expression) { #name, NULL, arguments, make_element, LAYER_NONE, expression },
#include "front/layers.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct KindInfo { const char *name, *prefix; } KindInfo;
static const KindInfo kinds[LAYER_KINDS] = {
#define LAYER(name, prefix) [LAYER_##name] = { #name, prefix },
#include "front/layers.def"
};

static const Row *find_row(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (text_equal(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* "conv2d_operation" -> "conv2d", "tanh_of" -> "tanh": what a node is called after. */
static const char *word_of(Arena *arena, const Row *row)
{
    static const char *const endings[] = { "_operation", "_layer", "_to", "_of", "_tensor" };
    if (row->word)
        return row->word;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends(row->name, endings[i]))
            return text_slice(arena, row->name, strlen(row->name) - strlen(endings[i]));
    return row->name;
}

/* ---- names of layers ---- */

static bool layer_exists(const Builder *builder, const char *name)
{
    for (int i = 0; i < builder->layers.count; i++)
        if (text_equal(builder->layers.items[i], name))
            return true;
    return false;
}

/* How often `key` was counted, this time included. */
static int next_ordinal(Builder *builder, const char *key)
{
    for (int i = 0; i < builder->ordinals.count; i++)
        if (text_equal(builder->ordinals.items[i].name, key))
            return ++builder->ordinals.items[i].count;
    array_push(builder->arena, &builder->ordinals, (NameCount){ key, 1 });
    return 1;
}

/* Kind and ordinal in the scope, passing over names that were given to others: conv2, ln_1; residual,
 * residual_2. */
static const char *default_layer_name(Builder *builder, LayerKind kind)
{
    const KindInfo *info = &kinds[kind];
    const char *key = builder_path(builder, *info->prefix ? info->prefix : info->name);
    for (;;) {
        int ordinal = next_ordinal(builder, key);
        const char *name = *info->prefix ? text_format(builder->arena, "%s%d", key, ordinal)
                         : ordinal == 1 ? key : text_format(builder->arena, "%s_%d", key, ordinal);
        if (!layer_exists(builder, name))
            return name;
    }
}

struct ScopeFrame {
    ScopeFrame *outer;
    const char *path;               /* "" at the top */
    LayerKind matched;              /* the frame of a rewrite: the kind of the call it replaces */
    bool reissued;                  /* the rewrite has called that kind again, without .name */
};

const char *builder_matched(const Builder *builder, LayerKind kind)
{
    const ScopeFrame *frame = builder->scope;
    return frame && kind && frame->matched == kind ? frame->path : NULL;
}

/* Two layers with the matched name would share their weights unasked. */
static bool check_reissued(Builder *builder, const CallSite *site, const char *name)
{
    if (!builder->scope->reissued) {
        builder->scope->reissued = true;
        return true;
    }
    complain(builder->diag, site->place, "a second %s in this rewrite would be '%s' too; give it a .name",
             site->callee, name);
    return false;
}

/* NULL after a complaint. */
static const char *layer_name(Builder *builder, const CallSite *site, LayerKind kind, const char *given)
{
    const char *matched = given ? NULL : builder_matched(builder, kind);
    const char *name = given ? builder_path(builder, given)
                     : matched ? matched : default_layer_name(builder, kind);
    if (matched && *kinds[kind].prefix && !check_reissued(builder, site, name))
        return NULL;
    array_push(builder->arena, &builder->layers, name);
    return name;
}

const char *builder_path(Builder *builder, const char *word)
{
    const char *path = builder->scope ? builder->scope->path : "";
    return *path ? text_format(builder->arena, "%s.%s", path, word) : word;
}

void builder_open(Builder *builder, const char *path, LayerKind matched)
{
    ScopeFrame *frame = arena_new(builder->arena, ScopeFrame);
    *frame = (ScopeFrame){ builder->scope, path, matched, false };
    builder->scope = frame;
}

void builder_close(Builder *builder)
{
    if (!builder->scope)
        bug("layers: a scope is closed that was not opened");
    builder->scope = builder->scope->outer;
}

/* The name that a node of this call has: a layer's full name, the matched one's for an operation that stands
 * in for it (conv2d_operation), else the word below the scope. */
const char *call_name(Call *call)
{
    Builder *builder = call->builder;
    if (!call->name) {
        const ScopeFrame *frame = builder->scope;
        bool stands_in = frame && frame->matched && text_equal(kinds[frame->matched].name, call->word);
        call->name = stands_in ? frame->path : builder_path(builder, call->word);
    }
    return builder->graph->name = builder_node_name(builder, call->name);
}

/* ---- rewrites ---- */

/* The arguments as a rewrite sees them: without the name, which the matched call has already taken. */
static Value *arguments_without_name(const Call *call)
{
    Arena *arena = call->builder->arena;
    Value *arguments = arena_copy(arena, call->arguments, sizeof *arguments * (size_t)call->count);
    Value *options = &arguments[call->count - 1];
    if (options->kind != VALUE_STRUCT)
        return arguments;
    int fields = options->record.count;
    options->record.fields = arena_copy(arena, options->record.fields, sizeof(Field) * (size_t)fields);
    for (int i = 0; i < fields; i++)
        if (text_equal(options->record.fields[i].name, "name")) {
            options->record.fields[i].value = arena_new(arena, Value);
            *options->record.fields[i].value = value_text(NULL);
        }
    return arguments;
}

static int match_slot(const Builder *builder)
{
    return builder->match_method * LAYER_KINDS + (int)builder->match_kind;
}

static bool offer_to_method(Call *call, int method, bool *replaced)
{
    Builder *builder = call->builder;
    ScopeFrame *scope = builder->scope;
    int chain = builder->chain, match_method = builder->match_method;
    LayerKind match_kind = builder->match_kind;
    const char *name_of_method = builder->graph->method;

    builder_open(builder, call->name, call->kind);
    builder->chain = method + 1;
    builder->match_method = method;
    builder->match_kind = call->kind;
    builder->graph->method = builder->methods[method];
    builder->matches[match_slot(builder)]++;
    bool ok = builder->rewrite(builder->rewriter, builder, method, kinds[call->kind].name, call->site,
                               arguments_without_name(call), call->count, call->result, replaced);
    builder->scope = scope;
    builder->chain = chain;
    builder->match_method = match_method;
    builder->match_kind = match_kind;
    builder->graph->method = name_of_method;
    builder->graph->place = call->site->place;
    return ok;
}

static bool offer(Call *call, bool *replaced)
{
    Builder *builder = call->builder;
    if (!builder->rewrite)
        return true;
    if (!builder->matches)
        builder->matches = arena_array(builder->arena, int, builder->method_count * LAYER_KINDS);
    for (int method = builder->chain; method < builder->method_count && !*replaced; method++)
        if (!offer_to_method(call, method, replaced))
            return false;
    return true;
}

bool ask_match_index(Call *call)
{
    const Builder *builder = call->builder;
    if (!builder->match_kind)
        return call_error(call, "match_index() has a meaning only in a REWRITE");
    return call_return_integer(call, builder->matches[match_slot(builder)] - 1);
}

bool ask_match_count(Call *call)
{
    const Builder *builder = call->builder;
    if (!builder->match_kind)
        return call_error(call, "match_count() has a meaning only in a REWRITE");
    const int *known = builder->match_count;
    return call_return_integer(call, known ? known[match_slot(builder)] : MATCHES_UNKNOWN);
}

/* ---- the host ---- */

static void complain_unknown_function(Builder *builder, const CallSite *site)
{
    const char *names[ROWS];
    for (int i = 0; i < ROWS; i++)
        names[i] = rows[i].name;
    const char *near = text_nearest(site->callee, names, ROWS);
    complain(builder->diag, site->place, "'%s' can't be called in a model%s%s%s", site->callee,
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool host_call(void *context, Evaluator *evaluator, const CallSite *site, Value *arguments, int count,
                      Value *result)
{
    Builder *builder = context;
    const Row *row = find_row(site->callee);
    if (!row || count < row->arguments) {
        complain_unknown_function(builder, site);
        return false;
    }
    Call call = {
        .builder = builder, .evaluator = evaluator, .site = site,
        .word = word_of(builder->arena, row), .kind = row->kind, .element = row->element,
        .arguments = arguments, .count = count, .result = result,
    };
    builder->graph->place = site->place;
    builder->graph->name = NULL;
    bool replaced = false;
    if (row->kind) {
        call.name = layer_name(builder, site, row->kind, option_text(call_options(&call), "name"));
        if (!call.name || !offer(&call, &replaced))
            return false;
    }
    if (!replaced && !row->handler(&call))
        return false;
    if (builder->log)
        layers_log(&call);
    return true;
}

static bool host_variable(void *context, Evaluator *evaluator, const CFile *file, const char *name,
                          Value *value)
{
    (void)context, (void)evaluator, (void)file, (void)name, (void)value;
    return false;
}

Host builder_host(Builder *builder)
{
    return (Host){ .context = builder, .call = host_call, .variable = host_variable };
}
