/* settings.c -- see settings.h. */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//% part settings
static void print_default(const struct setting *row)
{
    const char *text = row->kind == SETTING_TEXT ? *(const char *const *)row->value : NULL;
    if (text && *text)
        printf(" (%s)", text);
    if (row->kind == SETTING_WHOLE || (row->kind == SETTING_BATCHES && *(const int64_t *)row->value))
        printf(" (%lld%s)", (long long)*(const int64_t *)row->value, row->kind == SETTING_BATCHES ? "ba" : "");
    if (row->kind == SETTING_NUMBER)
        printf(" (%g)", *(const double *)row->value);
    if (row->kind == SETTING_TRUTH)
        printf(" (%s)", *(const bool *)row->value ? "true" : "false");
}

static void print_help(const struct settings_table *table)
{
    static const char *const kinds[] = { "TEXT", "NUMBER", "NUMBER", "true|false", "TIME", "" };
    printf("%s\n\nusage: train [key=value ...]\n\n", table->about);
    for (int i = 0; i < table->count; i++) {
        const struct setting *row = &table->rows[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", row->key, row->kind == SETTING_FLAG ? "" : "=", kinds[row->kind]);
        printf("  %-28s %s", left, row->help);
        print_default(row);
        putchar('\n');
    }
    printf("  %-28s %s\n\nTimes: 100ba (batches), 2ep (epochs), 0.5dur (a part of the run).\n", "--help", "this list");
    printf("Everything else is fixed at generation time: %s\n", table->command);
}

/* ---- names ---- */

static int smallest(int a, int b, int c)
{
    const int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance */
static int word_distance(const char *a, const char *b)
{
    enum { LONGEST = 48 };
    int row[LONGEST + 1];
    const int width = (int)strlen(b);
    if (width > LONGEST)
        return LONGEST;
    for (int j = 0; j <= width; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= width; j++) {
            const int above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1]));
            corner = above;
        }
    }
    return row[width];
}

static const char *nearest_key(const struct settings_table *table, const char *key)
{
    const char *nearest = NULL;
    int least = 3;
    for (int i = 0; i < table->count; i++) {
        const int distance = word_distance(key, table->rows[i].key);
        if (distance < least || (distance == least && !nearest)) {
            least = distance;
            nearest = table->rows[i].key;
        }
    }
    return nearest;
}

/* "optimizer.adamw.lr" belongs to "optimizer". */
static bool is_fixed(const struct settings_table *table, const char *key)
{
    for (int i = 0; i < table->fixed_count; i++) {
        const size_t length = strlen(table->fixed[i]);
        if (strncmp(key, table->fixed[i], length) == 0 && (key[length] == 0 || key[length] == '.'))
            return true;
    }
    return false;
}

static bool unknown_setting(const struct settings_table *table, const char *key, const char *argument)
{
    const char *nearest = nearest_key(table, key);
    if (is_fixed(table, key))
        fprintf(stderr, "train: %s is fixed at generation time; regenerate with: %s %s\n", key, table->command, argument);
    else if (nearest)
        fprintf(stderr, "train: there is no setting '%s'; did you mean '%s'?\n", key, nearest);
    else
        fprintf(stderr, "train: there is no setting '%s'; --help lists them\n", key);
    return false;
}

/* ---- values ---- */

static bool read_whole(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return isdigit((unsigned char)*text) && *end == 0 && errno == 0;
}

/* `end` is behind the number. */
static bool read_number(const char *text, double *value, char **end)
{
    errno = 0;
    *value = strtod(text, end);
    return *end > text && !isspace((unsigned char)*text) && errno == 0 && isfinite(*value);
}

static bool read_truth(const char *text, bool *value)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };
    for (int i = 0; i < 8; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = i % 2;
            return true;
        }
    return false;
}

static bool read_batches(const struct settings_table *table, const char *text, int64_t *value)
{
    char *unit;
    double number;
    if (!read_number(text, &number, &unit) || number < 0)
        return false;
    if (number == 0 && *unit == 0)
        *value = 0;
    else if (strcmp(unit, "ba") == 0 && number == floor(number) && number < 9e15)
        *value = (int64_t)number;
    else if (strcmp(unit, "ep") == 0 && number * (double)table->batches_per_epoch < 9e15)
        *value = (int64_t)ceil(number * (double)table->batches_per_epoch);
    else if (strcmp(unit, "dur") == 0 && number <= 1)
        *value = (int64_t)ceil(number * (double)table->batches);
    else
        return false;
    return true;
}

static bool read_value(const struct settings_table *table, const struct setting *row, const char *text)
{
    char *end;
    double number;
    switch (row->kind) {
    case SETTING_TEXT:
        *(const char **)row->value = text;
        return true;
    case SETTING_WHOLE:
        return read_whole(text, (int64_t *)row->value);
    case SETTING_NUMBER:
        if (!read_number(text, &number, &end) || *end)
            return false;
        *(double *)row->value = number;
        return true;
    case SETTING_TRUTH:
        return read_truth(text, (bool *)row->value);
    case SETTING_BATCHES:
        return read_batches(table, text, (int64_t *)row->value);
    case SETTING_FLAG:
        break;
    }
    return false;
}

/* One argument; false after a message. */
static bool read_setting(const struct settings_table *table, const char *argument)
{
    static const char *const expected[] = { "a text", "a whole number from 0", "a number", "true or false",
                                            "a time like 100ba, 2ep or 0.5dur", "nothing" };
    const char *equals = strchr(argument, '=');
    char key[256];
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].kind == SETTING_FLAG && strcmp(argument, table->rows[i].key) == 0) {
            *(bool *)table->rows[i].value = true;
            return true;
        }
    const char *start = strncmp(argument, "--", 2) == 0 && equals ? argument + 2 : argument;
    snprintf(key, sizeof key, "%.*s", equals ? (int)(equals - start) : (int)strlen(start), start);
    for (int i = 0; i < table->count; i++) {
        const struct setting *row = &table->rows[i];
        if (strcmp(key, row->key) != 0)
            continue;
        if (equals && read_value(table, row, equals + 1))
            return true;
        fprintf(stderr, "train: %s needs %s%s%s%s\n", key, expected[row->kind], equals ? ", not '" : "", equals ? equals + 1 : "",
                equals ? "'" : "");
        return false;
    }
    return unknown_setting(table, key, argument);
}

static void settings_read(const struct settings_table *table, int count, char **arguments)
{
    int wrong = 0;
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            print_help(table);
            exit(0);
        }
    for (int i = 1; i < count; i++)
        wrong += !read_setting(table, arguments[i]);
    if (wrong)
        exit(2);
}
