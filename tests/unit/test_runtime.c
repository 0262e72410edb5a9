/* test_runtime.c -- each part of runtime/ compiles alone, with what it needs, in C11 and in C++17, and the suite. */
#include "test_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emit/parts_inside.h"
#include "tests/ops/reference.h"

static Parts *load(Arena *arena)
{
    Diagnostics diag = { .arena = arena };
    Parts *parts = parts_load(arena, &diag, "templates", "runtime");
    ck_assert_msg(parts != NULL, "the tests run in the project's folder");
    return parts;
}

static bool is_declared(const Parts *parts, int number)
{
    return parts->pieces.items[number]->file->kind == PIECE_DECLARATION;
}

/* Includes, declarations, a use of every function that is declared, bodies: as a program has them. */
static const char *program_text(Arena *arena, const Parts *parts, const PartSet *set)
{
    Buffer text = { .arena = arena };
    TextArray includes = { 0 }, names = { 0 };
    parts_includes(set, &includes);
    for (int i = 0; i < includes.count; i++)
        buffer_add(&text, "%s\n", includes.items[i]);
    for (int i = 0; i < parts->pieces.count; i++)
        if (is_declared(parts, i) && parts_used(set, parts->pieces.items[i]->part))
            piece_names(arena, parts->pieces.items[i]->text, &names);
    buffer_add(&text, "typedef REAL real;\n%svoid *const used[] = {\n", parts_declarations(set));
    for (int i = 0; i < names.count; i++)
        buffer_add(&text, "(void *)%s,\n", names.items[i]);
    buffer_add(&text, "0 };\n%s", parts_bodies(set));
    return buffer_text(&text);
}

static void compile(const char *command)
{
    Arena *arena = arena_create();
    Parts *parts = load(arena);
    PartSet *all = parts_set(arena, parts, false);
    char folder[] = P_tmpdir "/runtime_XXXXXX";
    ck_assert(mkdtemp(folder) != NULL);
    for (int i = 0; i < parts->pieces.count; i++) {
        if (!is_declared(parts, i))
            continue;
        PartSet *set = parts_set(arena, parts, false);
        parts_use(set, parts->pieces.items[i]->part);
        parts_use(all, parts->pieces.items[i]->part);
        const char *text = program_text(arena, parts, set);
        ck_assert(text_write_file(text_format(arena, "%s/%s.c", folder, parts->pieces.items[i]->part), text, strlen(text)));
    }
    const char *text = program_text(arena, parts, all);
    ck_assert(text_write_file(text_format(arena, "%s/all.cc", folder), text, strlen(text)));
    ck_assert_msg(system(text_format(arena, "cd %s && %s", folder, command)) == 0, "see %s", folder);
    ck_assert_int_eq(system(text_format(arena, "rm -r %s", folder)), 0);
    arena_destroy(arena);
}

/* Unused functions, missing needs and missing includes are errors here. */
START_TEST(each_part_compiles_alone)
{
    compile("for file in *.c; do gcc -c -O0 -fopenmp -std=gnu11 -Wall -Wextra -Werror -DREAL=float -o /dev/null $file || exit 1; done");
}
END_TEST

START_TEST(all_parts_are_common_to_c_and_cpp)
{
    compile("for real in float double; do "
            "g++ -c -O0 -fopenmp -std=c++17 -Wall -Wextra -Werror -DREAL=$real -o /dev/null all.cc && "
            "gcc -c -O2 -fopenmp -std=gnu11 -Wall -Wextra -Werror -DREAL=$real -o /dev/null -x c all.cc || exit 1; done");
}
END_TEST

/* ---- reference values, for files that can't see the tests' own readers ---- */

const char *runtime_reference(const char *name)
{
    Arena *arena = arena_create();      /* its text is needed until the test ends */
    const char *slash = strchr(name, '/'), *folder = reference_folder(arena, text_slice(arena, name, (size_t)(slash - name)));
    const char *path = folder ? text_format(arena, "%s%s", folder, slash) : NULL;
    return path && access(path, R_OK) == 0 ? path : NULL;
}

double runtime_reference_sum(const char *path, const char *name)
{
    Arena *arena = arena_create();
    Tensors tensors;
    double sum = 0;
    ck_assert(reference_tensors(arena, path, &tensors));
    const Tensor *tensor = tensor_named(&tensors, name);
    ck_assert_msg(tensor != NULL, "%s", name);
    for (int64_t i = 0; i < shape_elements(tensor->shape); i++)
        sum += (double)(i + 1) * tensor->values[i];
    arena_destroy(arena);
    return sum;
}

Suite *runtime_suite(void);
Suite *runtime_suite(void)
{
    Suite *suite = suite_create("runtime");
    TCase *parts = tcase_create("parts");
    tcase_set_timeout(parts, 120);
    tcase_add_test(parts, each_part_compiles_alone);
    tcase_add_test(parts, all_parts_are_common_to_c_and_cpp);
    suite_add_tcase(suite, parts);
    suite_add_tcase(suite, runtime_random_tests());
    suite_add_tcase(suite, runtime_data_tests());
    suite_add_tcase(suite, runtime_file_tests());
    suite_add_tcase(suite, runtime_log_tests());
    suite_add_tcase(suite, runtime_library_tests());
    return suite;
}
