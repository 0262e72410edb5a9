/* writer.c -- see writer.h. */
#include "emit/writer.h"

#include <string.h>

enum { WIDTH = 100, INDENT = 4 };

Writer *writer_create(Arena *arena)
{
    Writer *writer = arena_new(arena, Writer);
    writer->out.arena = arena;
    return writer;
}

void writer_vline(Writer *writer, const char *format, va_list arguments)
{
    const char *line = text_vformat(writer->out.arena, format, arguments);
    size_t length = strlen(line);
    if (line[0] == '}' && writer->depth > 0)
        writer->depth--;
    if (length)
        buffer_add(&writer->out, "%*s%s\n", INDENT * writer->depth, "", line);
    else
        buffer_add(&writer->out, "\n");
    if (length && line[length - 1] == '{')
        writer->depth++;
    writer->lines++;
}

void writer_line(Writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    writer_vline(writer, format, arguments);
    va_end(arguments);
}

void writer_blank(Writer *writer)
{
    const Buffer *out = &writer->out;
    if (out->count >= 2 && out->bytes[out->count - 1] == '\n' && out->bytes[out->count - 2] == '\n')
        return;
    writer_line(writer, "%s", "");
}

/* Breaks `text` at blanks so that no line passes the width; newlines in it stay. */
void writer_comment(Writer *writer, const char *text)
{
    const char *prefix = "/* ";
    int room = WIDTH - INDENT * writer->depth - 6;
    while (*text) {
        int length = (int)strcspn(text, "\n");
        int cut = length;
        if (cut > room) {
            for (cut = room; cut > 0 && text[cut] != ' '; cut--)
                ;
            cut = cut ? cut : room;
        }
        const char *rest = text + cut;
        while (*rest == ' ')
            rest++;
        if (*rest == '\n')
            rest++;
        writer_line(writer, "%s%.*s%s", prefix, cut, text, *rest ? "" : " */");
        prefix = " * ";
        text = rest;
    }
}

void writer_section(Writer *writer, const char *title)
{
    writer_blank(writer);
    int dashes = WIDTH - 10 - (int)strlen(title);
    buffer_add(&writer->out, "/* ---- %s ", title);
    for (int i = 0; i < dashes; i++)
        buffer_bytes(&writer->out, "-", 1);
    buffer_add(&writer->out, " */\n\n");
    writer->lines += 2;
}

void writer_text(Writer *writer, const char *text)
{
    buffer_bytes(&writer->out, text, (int)strlen(text));
    for (; *text; text++)
        writer->lines += *text == '\n';
}

const char *writer_result(Writer *writer)
{
    return buffer_text(&writer->out);
}
