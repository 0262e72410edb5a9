/* skip.h -- a test that cannot run here says why and ends; the parent counts it apart.
 *
 * Tests run in processes of their own, so what was skipped goes through a file that the parent names in the
 * environment. Without it (a single suite run by hand) the reason goes to stderr. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

#define SKIPS_VARIABLE "COMPOSER_GEN_SKIPS"

static inline void skip(const char *why)
{
    const char *path = getenv(SKIPS_VARIABLE);
    FILE *file = path ? fopen(path, "a") : NULL;
    fprintf(file ? file : stderr, "%s\n", why);
    if (file)
        fclose(file);
}

/* In a START_TEST: skips the rest. */
#define SKIP(why) do { skip(why); return; } while (0)
