/* test_parts.c -- files cut into parts, what they need, their slots. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emit/cpu/emit.h"
#include "emit/parts.h"

typedef struct World {
    Arena *arena;
    Diagnostics diag;
    const char *root;
    TextArray files;
} World;

static void add_file(World *world, const char *path, const char *text)
{
    const char *whole = text_format(world->arena, "%s/%s", world->root, path);
    ck_assert(text_write_file(whole, text, strlen(text)));
    array_push(world->arena, &world->files, whole);
}

static World *world_new(void)
{
    char root[] = P_tmpdir "/parts_XXXXXX";
    Arena *arena = arena_create();
    World *world = arena_new(arena, World);
    ck_assert(mkdtemp(root) != NULL);
    *world = (World){ .arena = arena, .diag = { .arena = arena }, .root = text_slice(arena, root, strlen(root)) };
    ck_assert_int_eq(system(text_format(arena, "mkdir -p %s/templates/cpu %s/runtime", root, root)), 0);
    return world;
}

static Parts *load(World *world)
{
    Parts *parts = parts_load(world->arena, &world->diag, text_format(world->arena, "%s/templates", world->root),
                              text_format(world->arena, "%s/runtime", world->root));
    for (int i = 0; i < world->files.count; i++)
        unlink(world->files.items[i]);
    ck_assert_int_eq(system(text_format(world->arena, "rmdir -p %s/templates/cpu %s/runtime 2>/dev/null || true", world->root,
                                        world->root)), 0);
    return parts;
}

START_TEST(what_is_needed_comes_first)
{
    World *world = world_new();
    add_file(world, "templates/cpu/a.c", "/* a */\n#include <math.h>\n#include <errno.h>\n\n"
             "//% part first needs last log\nfirst\n\n//% part unused\nunused\n");
    add_file(world, "templates/cpu/b.c", "#include <string.h>\n//% part last\nlast\n");
    add_file(world, "runtime/log.h", "#pragma once\n#include <stdio.h>\n//% part log\nlog declared\n");
    add_file(world, "runtime/log.c", "#include \"log.h\"\n#include <math.h>\n//% part log needs other\nlog\n//% part other\nother\n");
    Parts *parts = load(world);
    PartSet *set = parts_set(world->arena, parts, false);
    parts_use(set, "first");
    ck_assert_str_eq(parts_kernels(set), "last\n\nfirst\n");
    ck_assert_str_eq(parts_declarations(set), "log declared\n");
    ck_assert_str_eq(parts_bodies(set), "other\n\nlog\n");
    TextArray includes = { 0 };
    parts_includes(set, &includes);
    ck_assert_int_eq(includes.count, 4);
    ck_assert_str_eq(includes.items[0], "#include <errno.h>");
    ck_assert_str_eq(includes.items[3], "#include <string.h>");
    ck_assert(parts_used(set, "last") && !parts_used(set, "unused"));
}
END_TEST

START_TEST(variants_follow_the_precision)
{
    World *world = world_new();
    add_file(world, "templates/cpu/a.c", "//% part f for float needs bits\nfloat\n//% part bits for float\nbits\n"
             "//% part f for double\ndouble\n//% part both needs f\nboth\n");
    Parts *parts = load(world);
    PartSet *single = parts_set(world->arena, parts, false), *twice = parts_set(world->arena, parts, true);
    parts_use(single, "both");
    parts_use(twice, "both");
    ck_assert_str_eq(parts_kernels(single), "bits\n\nfloat\n\nboth\n");
    ck_assert_str_eq(parts_kernels(twice), "double\n\nboth\n");
}
END_TEST

static const char slotted[] =
    "//% default\nstatic real slot_hook(real x) { return x; }\n"
    "//% part loop needs tool\n"
    "static real loop_step(real x,\n"
    "                      int key, //% if key\n"
    "                      int rest)\n"
    "{\n"
    "    x = slot_hook(x, f(key)); //% if hook\n"
    "    return 2 * slot_hook(x) + rest; //% if hook\n"
    "    //% unless hook key\n"
    "    return rest;\n"
    "    //% end\n"
    "}\n"
    "static void loop(real *x) { loop_step(*x, 1); tool(loop_steps); }\n"
    "//% part tool\n"
    "static void tool(int x);\n";

START_TEST(slots_live_and_die)
{
    World *world = world_new();
    add_file(world, "templates/cpu/a.c", slotted);
    Parts *parts = load(world);
    const Slot slots[] = { { "hook", "x + 1" }, { "key", NULL } };
    ck_assert_str_eq(parts_instance_text(world->arena, parts, "loop", slots, 2, "_2"),
                     "static real loop_step_2(real x,\n                      int rest)\n{\n    x = x + 1;\n"
                     "    return 2 * (x + 1) + rest;\n}\n"
                     "static void loop_2(real *x) { loop_step_2(*x, 1); tool(loop_steps); }\n");
    const Slot key = { "key", "live" };
    ck_assert_str_eq(parts_instance_text(world->arena, parts, "loop", &key, 1, ""),
                     "static real loop_step(real x,\n                      int key,\n                      int rest)\n{\n}\n"
                     "static void loop(real *x) { loop_step(*x, 1); tool(loop_steps); }\n");
    ck_assert_ptr_nonnull(strstr(parts_instance_text(world->arena, parts, "loop", NULL, 0, ""), "{\n    return rest;\n}\n"));
    PartSet *set = parts_set(world->arena, parts, false);
    parts_use_needs(set, "loop");
    ck_assert_str_eq(parts_kernels(set), "static void tool(int x);\n");
    TextArray words = { 0 };
    parts_words(world->arena, parts, &words);
    ck_assert_int_eq(words.count, 1);
    ck_assert_str_eq(words.items[0], "tool");
}
END_TEST

START_TEST(a_missing_folder_is_complained_about)
{
    World *world = world_new();
    ck_assert(!parts_load(world->arena, &world->diag, "nowhere", "nowhere"));
    ck_assert_int_eq(world->diag.errors, 1);
    load(world);
}
END_TEST

START_TEST(an_unknown_part_is_a_bug)
{
    World *world = world_new();
    parts_use(parts_set(world->arena, load(world), false), "nothing");
}
END_TEST

START_TEST(every_need_of_the_templates_is_met)
{
    World *world = world_new();
    Parts *parts = parts_load(world->arena, &world->diag, "templates", "runtime");
    ck_assert(parts != NULL);
    ck_assert(parts_known(parts, "conv2d") && parts_known(parts, "attention") && !parts_known(parts, "conv"));
    load(world);
}
END_TEST

Suite *parts_suite(void)
{
    Suite *suite = suite_create("parts");
    TCase *parts = tcase_create("parts");
    tcase_add_test(parts, what_is_needed_comes_first);
    tcase_add_test(parts, variants_follow_the_precision);
    tcase_add_test(parts, slots_live_and_die);
    tcase_add_test(parts, a_missing_folder_is_complained_about);
    tcase_add_test_raise_signal(parts, an_unknown_part_is_a_bug, 6);
    tcase_add_test(parts, every_need_of_the_templates_is_met);
    suite_add_tcase(suite, parts);
    return suite;
}
