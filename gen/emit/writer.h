/* writer.h -- emitted text, line by line. Indentation follows the braces, so nobody carries a depth. */
#pragma once
#include "base/text.h"

typedef struct Writer {
    Buffer out;
    int depth;
    int lines;
} Writer;

Writer *writer_create(Arena *arena);
/* One line. A line that ends in `{` opens a block, one that begins with `}` closes it. */
void writer_line(Writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void writer_vline(Writer *writer, const char *format, va_list arguments);
void writer_blank(Writer *writer);                      /* one empty line, never two */
void writer_comment(Writer *writer, const char *text);  /* a block comment, wrapped at 100 columns */
void writer_section(Writer *writer, const char *title); /* a dashed rule with a title */
void writer_text(Writer *writer, const char *text);     /* ready-made lines, as they are */
const char *writer_result(Writer *writer);
