/* diag.c -- see diag.h. */
#include "base/diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(Diagnostics *diag, Place place, const char *kind, const char *flag,
                const char *format, va_list arguments)
{
    Diagnostic entry = { place, kind, flag, text_vformat(diag->arena, format, arguments) };
    array_push(diag->arena, &diag->list, entry);
}

void complain(Diagnostics *diag, Place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(diag, place, "error", NULL, format, arguments);
    va_end(arguments);
    diag->errors++;
}

void warn(Diagnostics *diag, Place place, const char *flag, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(diag, place, "warning", flag, format, arguments);
    va_end(arguments);
    diag->warnings++;
}

void note(Diagnostics *diag, Place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(diag, place, "note", NULL, format, arguments);
    va_end(arguments);
}

/* The line that a place points into, without its end; NULL when there is none. */
static const char *line_at(Place place, int *length)
{
    const Source *source = place.source;
    if (!source || !source->bytes || place.line <= 0)
        return NULL;
    const char *line = source->bytes, *end = source->bytes + source->length;
    for (int number = 1; number < place.line; number++) {
        line = memchr(line, '\n', (size_t)(end - line));
        if (!line)
            return NULL;
        line++;
    }
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    *length = (int)((stop ? stop : end) - line);
    return line;
}

enum { WIDEST_LINE = 160, INDENT = 4 };

/* The line and a caret below the column. Tabs and control bytes print as one blank, so that the
 * caret stands right; a long line is cut around the column. */
static void print_line(Buffer *out, Place place)
{
    int length;
    const char *line = line_at(place, &length);
    if (!line || place.column <= 0)
        return;
    int caret = place.column - 1 < length ? place.column - 1 : length, from = 0;
    if (length > WIDEST_LINE && caret > WIDEST_LINE / 2)
        from = caret - WIDEST_LINE / 2;
    int shown = length - from < WIDEST_LINE ? length - from : WIDEST_LINE;
    buffer_add(out, "%*s", INDENT, "");
    for (int i = 0; i < shown; i++)
        buffer_add(out, "%c", (unsigned char)line[from + i] < ' ' ? ' ' : line[from + i]);
    int columns = 0;            /* UTF-8 continuation bytes take no column of their own */
    for (int i = from; i < caret; i++)
        columns += ((unsigned char)line[i] & 0xc0) != 0x80;
    buffer_add(out, "\n%*s^\n", INDENT + columns, "");
}

static void print_place(Buffer *out, Place place)
{
    if (!place.source)
        return;
    buffer_add(out, "%s:", place.source->path);
    if (place.line > 0)
        buffer_add(out, "%d:", place.line);
    if (place.line > 0 && place.column > 0)
        buffer_add(out, "%d:", place.column);
    buffer_add(out, " ");
}

void diagnostics_print(const Diagnostics *diag, Buffer *out)
{
    for (int i = 0; i < diag->list.count; i++) {
        const Diagnostic *entry = &diag->list.items[i];
        print_place(out, entry->place);
        buffer_add(out, "%s: %s", entry->kind, entry->message);
        if (entry->flag)
            buffer_add(out, " [%s]", entry->flag);
        buffer_add(out, "\n");
        print_line(out, entry->place);
    }
}

_Noreturn void bug(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("composer-gen: bug: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}
