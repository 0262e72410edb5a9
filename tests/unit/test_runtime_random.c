/* test_runtime_random.c -- memory, random numbers against published values and their distributions, shuffles. */
#include "test_runtime.h"

#include <math.h>
#include <stdbool.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
typedef float real;
#include "runtime/fail.c"
#include "runtime/memory.c"
#include "runtime/random.c"
#include "runtime/shuffle.c"

/* ---- memory ---- */

START_TEST(arena_is_zeroed_and_aligned)
{
    const size_t bytes = 5000000;
    char *memory = arena_map(bytes), text[32];
    ck_assert((uintptr_t)memory % 4096 == 0);
    ck_assert(memory[0] == 0 && memory[bytes - 1] == 0);
    touch(memory, bytes);
    memory[bytes - 1] = 1;
    ck_assert_str_eq(bytes_text(text, 1023), "1023 bytes");
    ck_assert_str_eq(bytes_text(text, 1536), "1.5 KiB");
    ck_assert_str_eq(bytes_text(text, 37.25 * 1073741824), "37.2 GiB");
}
END_TEST

START_TEST(arena_beyond_the_machine)
{
    arena_map((size_t)1 << 50);
}
END_TEST

START_TEST(arena_beyond_counting)
{
    arena_map(SIZE_MAX - 5);
}
END_TEST

START_TEST(fail_exits_with_its_code)
{
    fail(EXIT_PREEMPTED, "saved %d", 1);
}
END_TEST

/* ---- Philox ---- */

static void check_words(struct random_words words, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    ck_assert_uint_eq(words.word[0], a);
    ck_assert_uint_eq(words.word[1], b);
    ck_assert_uint_eq(words.word[2], c);
    ck_assert_uint_eq(words.word[3], d);
}

/* Known answers that came with the paper (Random123, kat_vectors). */
START_TEST(philox_known_answers)
{
    const uint32_t ones = 0xffffffffu;
    check_words(philox(0, 0, 0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
    check_words(philox(~(uint64_t)0, ones, ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
    check_words(philox(0x299f31d0a4093822u, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), 0xd16cfe09, 0x94fdcceb, 0x5001e420,
                0x24126ea1);
}
END_TEST

START_TEST(places_do_not_meet)
{
    enum { COUNT = 6 };
    const struct random_words at[COUNT] = {
        random_at(7, 0, 0, 0, RANDOM_UNIFORM, 0), random_at(8, 0, 0, 0, RANDOM_UNIFORM, 0), random_at(7, ~(int64_t)0, 0, 0, RANDOM_UNIFORM, 0),
        random_at(7, 0, 0, (int64_t)1 << 32, RANDOM_UNIFORM, 0), random_at(7, 0, 0, 0, RANDOM_NORMAL, 0), random_at(7, 0, 1, 0, RANDOM_UNIFORM, 0),
    };
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < i; j++)
            ck_assert(at[i].word[0] != at[j].word[0] && at[i].word[3] != at[j].word[3]);
    const float one = random_uniform(7, 0, 0, 0, 0);
    random_seed(18);
    ck_assert(random_uniform(7, 0, 0, 0, 0) != one);
}
END_TEST

/* ---- distributions ---- */

enum { DRAWS = 100000 };

START_TEST(uniform_fills_the_interval)
{
    int bins[16] = { 0 };
    double least = 1, chi = 0;
    for (int i = 0; i < DRAWS; i++) {
        const float u = random_uniform(99, 3, i / 1000, i % 1000, i % 7);
        ck_assert(u >= 0 && u < 1 && u * 16777216 == floorf(u * 16777216));
        bins[(int)(u * 16)]++;
        least = u < least ? u : least;
    }
    for (int b = 0; b < 16; b++)
        chi += pow(bins[b] - DRAWS / 16.0, 2) / (DRAWS / 16.0);
    ck_assert_msg(chi < 40, "chi square %g with 15 degrees of freedom", chi);
    ck_assert(least < 1e-3);
}
END_TEST

START_TEST(normal_has_its_moments)
{
    double sum[5] = { 0 };
    for (int i = 0; i < DRAWS; i++) {
        const double x = random_normal(5, 0, 0, i, 0);
        for (int power = 1; power <= 4; power++)
            sum[power] += pow(x, power) / DRAWS;
    }
    ck_assert(fabs(sum[1]) < 0.015 && fabs(sum[2] - 1) < 0.02 && fabs(sum[3]) < 0.04 && fabs(sum[4] - 3) < 0.12);
}
END_TEST

/* mean a / (a + b), variance ab / ((a + b)^2 (a + b + 1)) */
START_TEST(beta_has_its_moments)
{
    static const double shapes[][2] = { { 0.2, 0.2 }, { 1, 1 }, { 2, 5 }, { 0.01, 0.01 }, { 0.5, 3 }, { 40, 40 } };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const double a = shapes[s][0], b = shapes[s][1];
        const double mean = a / (a + b), variance = a * b / ((a + b) * (a + b) * (a + b + 1));
        double first = 0, second = 0;
        for (int i = 0; i < DRAWS / 4; i++) {
            const double x = random_beta(a, b, 31, i, 0, 0, (int)s);
            ck_assert(x >= 0 && x <= 1);
            first += x / (DRAWS / 4);
            second += x * x / (DRAWS / 4);
        }
        ck_assert_msg(fabs(first - mean) < 0.015 && fabs(second - first * first - variance) < 0.01,
                      "Beta(%g, %g): mean %g for %g, variance %g for %g", a, b, first, mean, second - first * first, variance);
    }
}
END_TEST

START_TEST(beta_of_tiny_shapes_is_a_number)
{
    for (int i = 0; i < 1000; i++) {
        const double x = random_beta(1e-4, 1e-4, 1, i, 0, 0, 0);
        ck_assert(x >= 0 && x <= 1);
    }
}
END_TEST

START_TEST(integers_are_even)
{
    int bins[5] = { 0 };
    for (int i = 0; i < DRAWS; i++)
        bins[random_integer(5, 2, 0, 0, i, 0)]++;
    for (int b = 0; b < 5; b++)
        ck_assert(abs(bins[b] - DRAWS / 5) < 700);
    const int64_t large = random_integer((int64_t)1 << 60, 2, 0, 0, 0, 0);
    ck_assert(large >= 0 && large < (int64_t)1 << 60 && random_integer(1, 2, 0, 0, 0, 0) == 0);
}
END_TEST

/* All 24 orders of four appear about equally often. */
START_TEST(permutations_are_even)
{
    int seen[256] = { 0 }, kinds = 0;
    for (int i = 0; i < 24000; i++) {
        int p[4];
        random_permutation(11, i, 0, 4, p);
        ck_assert_int_eq(1 << p[0] | 1 << p[1] | 1 << p[2] | 1 << p[3], 15);
        seen[p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6]++;
    }
    for (int i = 0; i < 256; i++) {
        kinds += seen[i] > 0;
        ck_assert(seen[i] == 0 || abs(seen[i] - 1000) < 150);
    }
    ck_assert_int_eq(kinds, 24);
}
END_TEST

START_TEST(subsets_increase_and_are_even)
{
    int taken[10] = { 0 };
    for (int i = 0; i < 10000; i++) {
        int s[3];
        random_subset(12, i, 0, 3, 10, s);
        ck_assert(0 <= s[0] && s[0] < s[1] && s[1] < s[2] && s[2] < 10);
        for (int k = 0; k < 3; k++)
            taken[s[k]]++;
    }
    for (int k = 0; k < 10; k++)
        ck_assert(abs(taken[k] - 3000) < 200);
    int all[4];
    random_subset(12, 0, 0, 4, 4, all);
    ck_assert(all[0] == 0 && all[3] == 3);
}
END_TEST

/* The first drawn has probability w / sum; the second follows from what is left. */
START_TEST(choices_follow_their_weights)
{
    static const double weight[4] = { 1, 2, 0, 5 };
    int first[4] = { 0 }, pair = 0;
    for (int i = 0; i < 20000; i++) {
        int out[2];
        random_choice(13, i, weight, 4, 2, out);
        ck_assert(out[0] != out[1] && out[0] != 2 && out[1] != 2);
        first[out[0]]++;
        pair += out[0] == 3 && out[1] == 1;
    }
    ck_assert(abs(first[0] - 2500) < 200 && abs(first[1] - 5000) < 250 && abs(first[3] - 12500) < 300);
    ck_assert(abs(pair - (int)(20000 * 5.0 / 8 * 2 / 3)) < 300);
}
END_TEST

START_TEST(order_is_stable_and_nan_is_last)
{
    const real value[6] = { 2, NAN, 1, 2, -3, 1 };
    static const int expected[6] = { 4, 2, 5, 0, 3, 1 };
    int order[6];
    order_by_value(value, 6, order);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(order[i], expected[i]);
}
END_TEST

/* ---- shuffles ---- */

START_TEST(shuffle_is_a_bijection)
{
    static bool seen[70000];
    static const int64_t sizes[] = { 1, 2, 3, 7, 16, 255, 256, 257, 1000, 65536, 65537 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            memset(seen, 0, sizeof seen);
            for (int64_t i = 0; i < sizes[s]; i++) {
                const int64_t at = shuffle_index(17, epoch, i, sizes[s]);
                ck_assert(at >= 0 && at < sizes[s] && !seen[at]);
                seen[at] = true;
            }
        }
    const int64_t huge = (int64_t)1 << 61, at = shuffle_index(17, 0, huge - 1, huge);
    ck_assert(at >= 0 && at < huge);
}
END_TEST

/* Over many epochs every row comes first equally often, and epochs and seeds do not repeat. */
START_TEST(shuffle_is_even)
{
    int first[12] = { 0 }, same_epoch = 0, same_seed = 0, follows = 0;
    for (int64_t epoch = 0; epoch < 12000; epoch++)
        first[shuffle_index(17, epoch, 0, 12)]++;
    for (int k = 0; k < 12; k++)
        ck_assert(abs(first[k] - 1000) < 150);
    for (int64_t i = 0; i < 1000; i++) {
        same_epoch += shuffle_index(17, 0, i, 1000) == shuffle_index(17, 1, i, 1000);
        same_seed += shuffle_index(17, 0, i, 1000) == shuffle_index(18, 0, i, 1000);
        follows += shuffle_index(17, 0, i, 1000) + 1 == shuffle_index(17, 0, (i + 1) % 1000, 1000);
    }
    ck_assert(same_epoch < 10 && same_seed < 10 && follows < 10);
}
END_TEST

TCase *runtime_random_tests(void)
{
    TCase *tests = tcase_create("random");
    random_seed(17);
    tcase_add_test(tests, arena_is_zeroed_and_aligned);
    tcase_add_exit_test(tests, arena_beyond_the_machine, EXIT_MEMORY);
    tcase_add_exit_test(tests, arena_beyond_counting, EXIT_MEMORY);
    tcase_add_exit_test(tests, fail_exits_with_its_code, EXIT_PREEMPTED);
    tcase_add_test(tests, philox_known_answers);
    tcase_add_test(tests, places_do_not_meet);
    tcase_add_test(tests, uniform_fills_the_interval);
    tcase_add_test(tests, normal_has_its_moments);
    tcase_add_test(tests, beta_has_its_moments);
    tcase_add_test(tests, beta_of_tiny_shapes_is_a_number);
    tcase_add_test(tests, integers_are_even);
    tcase_add_test(tests, permutations_are_even);
    tcase_add_test(tests, subsets_increase_and_are_even);
    tcase_add_test(tests, choices_follow_their_weights);
    tcase_add_test(tests, order_is_stable_and_nan_is_last);
    tcase_add_test(tests, shuffle_is_a_bijection);
    tcase_add_test(tests, shuffle_is_even);
    return tests;
}
