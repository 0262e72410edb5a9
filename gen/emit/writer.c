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

enum { LONGEST_LINE = 120 };

/* Where a line that is too long may break: at the last blank outside of texts that follows a comma, or, when that leaves less
 * than half a line, an operator; 0: nowhere. */
static int breaking_point(const char *line, int room)
{
    bool quoted = line[0] == '"';
    int comma = 0, operator = 0;
    for (int i = 1; line[i] && i < room; i++) {
        quoted ^= line[i] == '"' && line[i - 1] != '\\';
        if (quoted || line[i] != ' ' || !line[i + 1] || line[i + 1] == '/')
            continue;
        if (line[i - 1] == ',' || line[i - 1] == ';')
            comma = i;
        else if (strchr("&|?:+-*/=<>", line[i - 1]))
            operator = i;
    }
    return comma > room / 2 ? comma : operator > comma ? operator : comma;
}

/* The line, and what does not fit on lines below it, further in. */
static void put_line(Writer *writer, const char *line)
{
    int indent = INDENT * writer->depth, own = (int)strspn(line, " ");
    for (int more = 0;; more = own + INDENT) {
        int room = LONGEST_LINE - indent - more, cut = (int)strlen(line) > room ? breaking_point(line, room) : 0;
        if (!cut) {
            buffer_add(&writer->out, "%*s%s\n", indent + more, "", line);
            return;
        }
        buffer_add(&writer->out, "%*s%.*s\n", indent + more, "", cut, line);
        line += cut + 1;
        writer->lines++;
    }
}

void writer_vline(Writer *writer, const char *format, va_list arguments)
{
    const char *line = text_vformat(writer->out.arena, format, arguments);
    size_t length = strlen(line);
    if (line[0] == '}' && writer->depth > 0)
        writer->depth--;
    if (length)
        put_line(writer, line);
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
