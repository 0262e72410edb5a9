/* draws.h -- random draws recorded by another program, by step and name: they take the place of this program's own.
 *
 * The file is JSON: {"steps": [{"lambda": 0.3, "permutation": [2, 0, 1]}, ...]}, where entry i belongs to step i, or
 * {"ranks": {"6": [3, 1], ...}}, where each step that has draws is named. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

//% part draws needs json_member fail
struct draws_file;
/* Exit 3 when the file can't be read. */
static struct draws_file *draws_open(const char *path);
//% part draws_find needs draws
/* What is recorded for a step under this name, NULL. */
static const struct json_node *draws_find(const struct draws_file *draws, int64_t step, const char *name);

//% part draws_number needs draws_find
/* Number `index` of the array `name`, or the plain number with index 0. False when nothing is recorded. */
static bool draws_number(const struct draws_file *draws, int64_t step, const char *name, int index, double *value);

//% part draws_list needs draws_find
/* The whole array; exit 3 when it has not `count` entries, or one is no whole number from 0. */
static bool draws_list(const struct draws_file *draws, int64_t step, const char *name, int *out, int64_t count);
