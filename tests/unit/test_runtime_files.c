/* test_runtime_files.c -- JSON, recorded draws, safetensors: what they read, and what they must refuse. */
#include "test_runtime.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "skip.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
typedef float real;
#include "runtime/fail.c"
#include "runtime/memory.c"
#include "runtime/data.c"
#include "runtime/json.c"
#include "runtime/draws.c"
#include "runtime/safetensors.c"

/* ---- JSON ---- */

static char said[ERROR_LENGTH];

static bool reads(struct json *json, const char *text)
{
    static char copy[1 << 20];
    strcpy(copy, text);
    return json_parse(json, copy, strlen(text), said);
}

START_TEST(json_values)
{
    struct json json;
    ck_assert(reads(&json, " {\"a\": [1, -2.5e3, true, null, \"x\\u00e9\\ud83d\\ude00\\n\"], \"b\": {}, \"\": 9007199254740993} "));
    const struct json_node *a = json_member(&json, json.nodes, "a"), *big = json_member(&json, json.nodes, "");
    ck_assert(a && a->kind == JSON_ARRAY && a->count == 5);
    const struct json_node *one = &json.nodes[a->child], *two = &json.nodes[one->next], *three = &json.nodes[two->next];
    ck_assert(one->is_whole && one->whole == 1 && !two->is_whole && two->number == -2500 && three->kind == JSON_TRUE);
    const struct json_node *four = &json.nodes[three->next], *five = &json.nodes[four->next];
    ck_assert(four->kind == JSON_NULL && five->next == -1);
    ck_assert_str_eq(five->text, "x\xc3\xa9\xf0\x9f\x98\x80\n");
    ck_assert(big && big->is_whole && big->whole == 9007199254740993);
    ck_assert(!json_member(&json, json.nodes, "c") && !json_member(&json, a, "c"));
    json_free(&json);
}
END_TEST

START_TEST(json_refuses)
{
    static const char *const wrong[] = {
        "", " ", "{", "[", "[1,]", "{\"a\":1,}", "{,}", "{\"a\" 1}", "{a:1}", "[1 2]", "01", "-", "1.", ".5", "1e", "+1", "NaN", "nul",
        "\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\u0000\"", "\"\t\"", "\"\x80\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"",
        "\"\xf5\x80\x80\x80\"", "\"\xe2\x82\"", "1 1", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "'a'", "[1]x", "// a",
    };
    struct json json;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!reads(&json, wrong[i]) && strstr(said, "byte "), "%s", wrong[i]);
}
END_TEST

START_TEST(json_has_a_depth)
{
    char deep[201];
    struct json json;
    memset(deep, '[', 60);
    memset(deep + 60, ']', 60);
    deep[120] = 0;
    ck_assert(reads(&json, deep));
    json_free(&json);
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = 0;
    ck_assert(!reads(&json, deep) && strstr(said, "deeply"));
}
END_TEST

/* ---- files ---- */

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

/* Goes when the test's process ends. */
static void write_bytes(const void *bytes, size_t length)
{
    strcpy(path, P_tmpdir "/files_XXXXXX");
    const int handle = mkstemp(path);
    atexit(remove_file);
    ck_assert(handle >= 0 && write(handle, bytes, length) == (ssize_t)length && close(handle) == 0);
}

static const struct draws_file *draws_of(const char *text)
{
    write_bytes(text, strlen(text));
    return draws_open(path);
}

START_TEST(draws_of_both_forms)
{
    double value = 0;
    int list[3] = { 0 };
    const struct draws_file *draws = draws_of("{\"steps\": [{\"lambda\": 0.25, \"bbox\": [1, 2, 3, 4]}, {}, {\"rows\": [2, 0, 1]}],"
                                              " \"ranks\": {\"6\": [7, 8, 9]}}");
    ck_assert(draws_number(draws, 0, "lambda", 0, &value) && value == 0.25);
    ck_assert(draws_number(draws, 0, "bbox", 3, &value) && value == 4);
    ck_assert(!draws_number(draws, 1, "lambda", 0, &value) && !draws_number(draws, 3, "lambda", 0, &value));
    ck_assert(draws_list(draws, 2, "rows", list, 3) && list[0] == 2 && list[1] == 0 && list[2] == 1);
    ck_assert(!draws_list(draws, 5, "ranks", list, 3) && draws_list(draws, 6, "ranks", list, 3) && list[2] == 9);
}
END_TEST

START_TEST(draws_list_of_another_length)
{
    int list[4];
    (void)draws_list(draws_of("{\"steps\": [{\"rows\": [2, 0, 1]}]}"), 0, "rows", list, 4);
}
END_TEST

START_TEST(draws_list_of_fractions)
{
    int list[1];
    (void)draws_list(draws_of("{\"steps\": [{\"rows\": [0.5]}]}"), 0, "rows", list, 1);
}
END_TEST

START_TEST(draws_number_that_is_missing)
{
    double value;
    (void)draws_number(draws_of("{\"steps\": [{\"bbox\": [1, 2]}]}"), 0, "bbox", 2, &value);
}
END_TEST

START_TEST(draws_of_no_json)
{
    (void)draws_of("{\"steps\": 3}");
}
END_TEST

START_TEST(draws_of_the_references)
{
    double value;
    int list[32];
    const char *mix = runtime_reference("train/mlp_cutmix/draws.json");
    const char *select = runtime_reference("train/resnet8_selective_backprop/draws.json");
    if (!mix || !select)
        SKIP("draws_of_the_references: there are no reference values here");
    const struct draws_file *draws = draws_open(mix);
    ck_assert(draws_number(draws, 0, "bbox", 2, &value) && value == 28);
    ck_assert(draws_number(draws, 1, "lambda", 0, &value) && value == 0.9540816326530612);
    ck_assert(draws_list(draws, 0, "permutation", list, 32) && list[0] == 15 && list[31] == 14);
    draws = draws_open(select);
    ck_assert(!draws_list(draws, 5, "ranks", list, 8) && draws_list(draws, 9, "ranks", list, 8) && list[7] == 15);
}
END_TEST

/* ---- safetensors: reading ---- */

static unsigned char image[4096];

/* The file with this header and `length` bytes 0, 1, 2, ... behind it. */
static int64_t image_of(const char *header, int64_t length)
{
    const size_t size = strlen(header);
    memset(image, 0, 8);
    image[0] = (unsigned char)size;
    image[1] = (unsigned char)(size >> 8);
    memcpy(image + 8, header, size);
    for (int64_t i = 0; i < length; i++)
        image[8 + size + (size_t)i] = (unsigned char)i;
    return 8 + (int64_t)size + length;
}

static bool accepts(const char *header, int64_t length)
{
    struct safetensors file;
    unsigned char *exact = malloc((size_t)image_of(header, length));    /* so that a sanitizer sees a byte too far */
    memcpy(exact, image, (size_t)image_of(header, length));
    const bool fine = safetensors_parse(&file, exact, image_of(header, length), said);
    if (fine) {
        json_free(&file.json);
        free(file.tensors);
        free(file.header);
    }
    free(exact);
    return fine;
}

START_TEST(safetensors_rules)
{
    static const struct { const char *header; int64_t length; } good[] = {
        { "{}", 0 }, { "{\"__metadata__\":{\"a\":\"b\"}}  ", 0 },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4 },
        { "{\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]},"
          "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 7 },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[0,0]},"
          "\"b\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2 },
        { "{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2]}}", 2 },
    };
    static const struct { const char *header; int64_t length; const char *words; } bad[] = {
        { "[]", 0, "begin with" }, { " {}", 0, "begin with" }, { "{}x", 0, "behind the value" },
        { "{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown type" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4, "whole number" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "whole number" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,1e0]}}", 4, "data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "data_offsets" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "say 8 bytes" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "say 4 bytes" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "begins at byte 4" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, "end at byte 4 of 5" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3, "end at byte 4 of 3" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4, "begins at byte 0" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
          "\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}", 8, "twice" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, "beyond counting" },
        { "{\"a\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0, "no whole number of bytes" },
        { "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, "no whole number of bytes" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, "expected are" },
        { "{\"a\":7}", 0, "expected are" }, { "{\"__metadata__\":{\"a\":1}}", 0, "than texts" },
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(accepts(good[i].header, good[i].length), "%s: %s", good[i].header, said);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!accepts(bad[i].header, bad[i].length) && strstr(said, bad[i].words), "%s: %s", bad[i].header, said);
}
END_TEST

START_TEST(safetensors_lengths)
{
    struct safetensors file;
    static const unsigned char huge[16] = { 255, 255, 255, 255, 255, 255, 255, 255, '{', '}' }, none[9] = { 0 };
    static const unsigned char long_header[10] = { 3, 0, 0, 0, 0, 0, 0, 0, '{', '}' };
    ck_assert(!safetensors_parse(&file, huge, 16, said) && !safetensors_parse(&file, none, 9, said));
    ck_assert(!safetensors_parse(&file, long_header, 10, said) && !safetensors_parse(&file, none, 7, said));
}
END_TEST

static float first_of(const char *type, int bytes, uint64_t bits)
{
    char header[200];
    struct safetensors file;
    float value = NAN;
    snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[1],\"data_offsets\":[0,%d]}}", type, bytes);
    const int64_t length = image_of(header, bytes);
    for (int i = 0; i < bytes; i++)
        image[length - bytes + i] = (unsigned char)(bits >> 8 * i);
    ck_assert(safetensors_parse(&file, image, length, said));
    if (!safetensors_convert(&file, safetensors_find(&file, "a"), &value))
        value = -12345;
    return value;
}

START_TEST(safetensors_types)
{
    ck_assert(first_of("F64", 8, 0x3ff8000000000000) == 1.5f && first_of("F32", 4, 0xc0200000) == -2.5f);
    ck_assert(first_of("BF16", 2, 0x3fc0) == 1.5f && first_of("F16", 2, 0x3e00) == 1.5f && first_of("F16", 2, 0x8001) == -ldexpf(1, -24));
    ck_assert(isinf(first_of("F16", 2, 0x7c00)) && isnan(first_of("F16", 2, 0x7c01)) && first_of("F16", 2, 0x7bff) == 65504);
    ck_assert(first_of("I64", 8, (uint64_t)-7) == -7 && first_of("I32", 4, 0xfffffffe) == -2 && first_of("I16", 2, 0x8000) == -32768);
    ck_assert(first_of("I8", 1, 0xff) == -1 && first_of("U8", 1, 0xff) == 255 && first_of("U16", 2, 0xffff) == 65535);
    ck_assert(first_of("U32", 4, 0x80000000) == 2147483648.0f && first_of("U64", 8, 1ull << 63) == 9223372036854775808.0f);
    ck_assert(first_of("BOOL", 1, 1) == 1 && first_of("F8_E4M3", 1, 1) == -12345);
}
END_TEST

/* ---- safetensors: writing and reading again ---- */

static void write_two(real *a, real *b)
{
    static const long shape[2] = { 2, 3 };
    struct tensor_to_write list[2] = { { "layer.weight", 2, shape, a }, { "a \"name\"", 0, shape, b } };
    strcpy(path, P_tmpdir "/tensors_XXXXXX");
    ck_assert(close(mkstemp(path)) == 0 && atexit(remove_file) == 0);
    ck_assert_msg(safetensors_write(path, list, 2, said), "%s", said);
}

START_TEST(safetensors_round_trip)
{
    static const long shape[2] = { 2, 3 };
    real a[6] = { 1, -2, 0.1f, INFINITY, 1e-40f, 6 }, b[1] = { 42 }, back[6];
    char beside[128];
    write_two(a, b);
    const struct safetensors file = safetensors_open(path);
    safetensors_load(&file, "layer.weight", 2, shape, back);
    ck_assert(memcmp(a, back, sizeof a) == 0);
    safetensors_load(&file, "a \"name\"", 0, shape, back);
    ck_assert(back[0] == 42 && file.count == 2 && (uintptr_t)file.buffer % 8 == 0);
    snprintf(beside, sizeof beside, "%s.tmp", path);
    ck_assert(access(beside, F_OK) != 0);
}
END_TEST

START_TEST(safetensors_of_another_shape)
{
    static const long shape[2] = { 3, 2 };
    real a[6] = { 0 }, b[1] = { 0 };
    write_two(a, b);
    const struct safetensors file = safetensors_open(path);
    safetensors_load(&file, "layer.weight", 2, shape, a);
}
END_TEST

START_TEST(safetensors_without_the_tensor)
{
    real a[6] = { 0 }, b[1] = { 0 };
    write_two(a, b);
    const struct safetensors file = safetensors_open(path);
    safetensors_load(&file, "other", 0, NULL, a);
}
END_TEST

START_TEST(safetensors_that_cannot_be_written)
{
    struct tensor_to_write list[1] = { { "a", 0, NULL, NULL } };
    ck_assert(!safetensors_write("/nowhere/file", list, 0, said) && strstr(said, "/nowhere/file"));
}
END_TEST

START_TEST(safetensors_of_the_references)
{
    const char *weights = runtime_reference("train/init/resnet8.safetensors");
    if (!weights)
        SKIP("safetensors_of_the_references: there are no reference values here");
    const struct safetensors file = safetensors_open(weights);
    ck_assert_int_gt(file.count, 40);
    for (int i = 0; i < file.count; i++) {
        double sum = 0;
        real *values = malloc((size_t)file.tensors[i].count * sizeof *values);
        ck_assert(safetensors_convert(&file, &file.tensors[i], values));
        for (int64_t k = 0; k < file.tensors[i].count; k++)
            sum += (double)(k + 1) * values[k];
        ck_assert(sum == runtime_reference_sum(weights, file.tensors[i].name));
        free(values);
    }
}
END_TEST

TCase *runtime_file_tests(void)
{
    TCase *tests = tcase_create("files");
    tcase_add_test(tests, json_values);
    tcase_add_test(tests, json_refuses);
    tcase_add_test(tests, json_has_a_depth);
    tcase_add_test(tests, draws_of_both_forms);
    tcase_add_exit_test(tests, draws_list_of_another_length, EXIT_DATA);
    tcase_add_exit_test(tests, draws_list_of_fractions, EXIT_DATA);
    tcase_add_exit_test(tests, draws_number_that_is_missing, EXIT_DATA);
    tcase_add_exit_test(tests, draws_of_no_json, EXIT_DATA);
    tcase_add_test(tests, draws_of_the_references);
    tcase_add_test(tests, safetensors_rules);
    tcase_add_test(tests, safetensors_lengths);
    tcase_add_test(tests, safetensors_types);
    tcase_add_test(tests, safetensors_round_trip);
    tcase_add_exit_test(tests, safetensors_of_another_shape, EXIT_CHECKPOINT);
    tcase_add_exit_test(tests, safetensors_without_the_tensor, EXIT_CHECKPOINT);
    tcase_add_test(tests, safetensors_that_cannot_be_written);
    tcase_add_test(tests, safetensors_of_the_references);
    return tests;
}
