/* diag.h -- two kinds of failure, never mixed.
 *
 * complain(): the user's input is wrong. It is collected, printed with file, line, column, the line
 * itself and a caret, and the compiler goes on to find more; main ends with exit code 2.
 * bug(): the compiler is wrong. It prints and aborts. */
#pragma once
#include <stdarg.h>
#include <stdbool.h>

#include "base/text.h"

/* A text that places point into: a file, or an override given on the command line. */
typedef struct Source {
    const char *path;           /* as the user typed it; "command line" for overrides */
    const char *bytes;          /* may be NULL when the text is not at hand: no line is shown */
    size_t length;
} Source;

typedef struct Place {
    const Source *source;       /* NULL: nowhere in particular */
    int line, column;           /* from 1; column in bytes; 0 = the whole file */
} Place;

typedef struct Diagnostic {
    Place place;
    const char *kind;           /* "error", "warning", "note" */
    const char *flag;           /* warnings: "-Wname", else NULL */
    const char *message;
} Diagnostic;

typedef struct Diagnostics {
    Arena *arena;
    Array(Diagnostic) list;
    int errors, warnings;
} Diagnostics;

void complain(Diagnostics *diag, Place place, const char *format, ...) __attribute__((format(printf, 3, 4)));
void warn(Diagnostics *diag, Place place, const char *flag, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds to the message before it: "note: the other call is here". */
void note(Diagnostics *diag, Place place, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints all of them in order of arrival:
 *     recipe.yaml:3:14: error: alibi has no parameter 'max_lenght'; did you mean 'max_length'?
 *         - alibi: { max_lenght: 512 }
 *                    ^ */
void diagnostics_print(const Diagnostics *diag, Buffer *out);

_Noreturn void bug(const char *format, ...) __attribute__((format(printf, 1, 2)));
