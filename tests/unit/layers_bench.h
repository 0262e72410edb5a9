/* layers_bench.h -- what the tests of layers share: a builder over a small program, models from files and from text.
 * Run from the project's folder. */
#pragma once
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "front/model.h"

#define MODELS "recipes/models"

typedef struct World {
    Arena *arena;
    Diagnostics diag;
    ExprPool *exprs;
    ParameterArray parameters;
    Builder builder;
} World;

static inline World *world_new(void)
{
    Arena *arena = arena_create();
    World *world = arena_new(arena, World);
    world->arena = arena;
    world->diag.arena = arena;
    world->exprs = expr_pool(arena);
    return world;
}

/* A builder for one evaluation, with an input of this shape. */
static inline Builder *start(World *world, bool training, Shape shape)
{
    Builder *builder = &world->builder;
    *builder = (Builder){ .parameters = &world->parameters, .diag = &world->diag, .arena = world->arena,
                          .training = training };
    builder->graph = graph_create(world->arena, world->exprs);
    bool text = shape.rank == 2;
    builder->graph->name = text ? "tokens" : "images";
    Attributes at = { .input = { text ? INPUT_TOKENS : INPUT_IMAGES } };
    builder->input = node_add_shaped(builder->graph, OP_input, NULL, 0, &at, shape,
                                     text ? DTYPE_INT32 : DTYPE_REAL);
    return builder;
}

static inline CFile *parse(World *world, const char *path)
{
    const char *dirs[] = { MODELS };
    CFile *file = front_parse(world->arena, &world->diag, path, dirs, 1);
    if (!file) {
        Buffer out = { .arena = world->arena };
        diagnostics_print(&world->diag, &out);
        ck_abort_msg("%s", buffer_text(&out));
    }
    return file;
}

typedef struct Setting { const char *name; int value; } Setting;

static inline Doc *settings_doc(World *world, const Setting *settings, int count)
{
    Doc *map = arena_new(world->arena, Doc);
    *map = (Doc){ .kind = DOC_MAP, .items = arena_array(world->arena, Doc *, count), .count = count };
    for (int i = 0; i < count; i++) {
        map->items[i] = arena_new(world->arena, Doc);
        *map->items[i] = (Doc){ .kind = DOC_INT, .key = settings[i].name, .integer = settings[i].value,
                                .text = text_format(world->arena, "%d", settings[i].value) };
    }
    return map;
}

static inline Node *run_file(World *world, const char *path, const char *name, const Setting *settings, int count)
{
    CFile *file = parse(world, path);
    const CFunction *function = cfile_find_function(file, name);
    ck_assert_ptr_nonnull(function);
    Node *logits = NULL;
    if (!model_run(&world->builder, file, function, settings_doc(world, settings, count), (Place){ 0 },
                   &logits))
        return NULL;
    ck_assert_ptr_nonnull(logits);
    const char *broken = graph_verify(world->builder.graph, world->arena);
    ck_assert_msg(!broken, "%s", broken);
    return logits;
}

#define RUN(world, file, function, ...)                                                                      \
    run_file(world, file, function, (const Setting[]){ __VA_ARGS__ },                                        \
             sizeof((const Setting[]){ __VA_ARGS__ }) / sizeof(Setting))

static inline const char *messages(World *world)
{
    Buffer out = { .arena = world->arena };
    diagnostics_print(&world->diag, &out);
    return buffer_text(&out);
}

static inline const Parameter *parameter_named(const World *world, const char *name)
{
    for (int i = 0; i < world->parameters.count; i++)
        if (text_equal(world->parameters.items[i]->name, name))
            return world->parameters.items[i];
    ck_abort_msg("no parameter '%s'", name);
}

static inline void check_shape(const World *world, const char *name, const char *shape)
{
    ck_assert_str_eq(shape_text(world->arena, parameter_named(world, name)->shape), shape);
}

static inline int count_ops(const Graph *graph, Op op)
{
    int count = 0;
    for (int i = 0; i < graph->nodes.count; i++)
        count += graph->nodes.items[i]->op == op;
    return count;
}

static inline const Node *node_called(const Graph *graph, const char *name)
{
    for (int i = 0; i < graph->nodes.count; i++)
        if (text_equal(graph->nodes.items[i]->name, name))
            return graph->nodes.items[i];
    ck_abort_msg("no node '%s'", name);
}

/* A model written to a temporary file; its function is `net`. */
static inline const char *model_file(World *world, const char *body)
{
    char path[] = P_tmpdir "/model_XXXXXX.c";
    int handle = mkstemps(path, 2);
    ck_assert_int_ge(handle, 0);
    const char *text = text_format(world->arena, "#include \"model.h\"\n%s\n", body);
    ck_assert_int_eq(write(handle, text, strlen(text)), (ssize_t)strlen(text));
    close(handle);
    return text_slice(world->arena, path, strlen(path));
}

static inline Node *run_text(World *world, const char *body)
{
    const char *path = model_file(world, body);
    Node *logits = run_file(world, path, "net", NULL, 0);
    unlink(path);
    return logits;
}
