/* settings.h -- the command line of a program: key=value for what may change at run time, a reason for what may not. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

//% part settings
enum setting_kind {
    SETTING_TEXT,                       /* const char * */
    SETTING_WHOLE,                      /* int64_t, from 0 */
    SETTING_NUMBER,                     /* double */
    SETTING_TRUTH,                      /* bool: true, false, yes, no, on, off, 1, 0 */
    SETTING_BATCHES,                    /* int64_t: a time in the run as batches: 100ba, 2ep, 0.5dur */
    SETTING_FLAG                        /* bool: the word alone, like --describe */
};
struct setting {
    const char *key;
    enum setting_kind kind;
    void *value;                        /* holds the default */
    const char *help;
};
struct settings_table {
    const char *about;                  /* first line of --help */
    const struct setting *rows;
    int count;
    const char *const *fixed;           /* keys of the recipe that only the generator can change */
    int fixed_count;
    const char *command;                /* how the program was generated: "composer-gen recipe.yaml -o train.c" */
    int64_t batches, batches_per_epoch; /* of the whole run, for times */
};
/* Sets what the command line says. --help prints and ends with 0; wrong arguments, all of them, end with exit 2. */
static void settings_read(const struct settings_table *table, int count, char **arguments);
