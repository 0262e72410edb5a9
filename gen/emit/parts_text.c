/* parts_text.c -- the marks inside a part: conditional lines, slots, and the names that an instance changes. */
#include "emit/parts_inside.h"

#include <ctype.h>
#include <string.h>

/* ---- conditional lines ---- */

static bool is_live(const Slot *slots, int count, const char *name, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(slots[i].name) == length && memcmp(slots[i].name, name, length) == 0)
            return slots[i].text != NULL;
    return false;
}

/* "//% if A B unless C": does a line with this mark stay? All of A and B must be live, and none of C. */
static bool keeps(const char *mark, const Slot *slots, int count)
{
    bool wanted = true, stays = true, first = true;
    for (const char *c = mark + strlen("//% "); *c && *c != '\n'; first = false) {
        size_t length = strcspn(c, " \t\r\n");
        if (length == 2 && text_starts(c, "if"))
            wanted = true;
        else if (length == 6 && text_starts(c, "unless"))
            wanted = false;
        else if (first)
            bug("unknown mark '%.*s'; there are: part, default, if, unless, end", (int)strcspn(mark, "\n"), mark);
        else
            stays &= is_live(slots, count, c, length) == wanted;
        c += length;
        c += strspn(c, " \t\r");
    }
    return stays;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Just behind the parenthesis that closes the one at `open`. */
static const char *behind_parenthesis(const char *open)
{
    int depth = 0;
    for (const char *c = open; *c && *c != '\n'; c++) {
        depth += (*c == '(') - (*c == ')');
        if (depth == 0)
            return c + 1;
    }
    bug("a slot's call is not closed in its line: %.*s", (int)strcspn(open, "\n"), open);
}

static const Slot *slot_called(const char *name, size_t length, const Slot *slots, int count)
{
    for (int i = 0; i < count; i++)
        if (slots[i].text && strlen(slots[i].name) == length && memcmp(slots[i].name, name, length) == 0)
            return &slots[i];
    bug("slot '%.*s' is called where it is dead", (int)length, name);
}

/* A line whose calls slot_NAME(...) become the slot's text; the whole right side of `=` or `return` needs no parentheses. */
static void add_line(Buffer *out, const char *line, size_t length, const Slot *slots, int count)
{
    static const char prefix[] = "slot_";
    const char *end = line + length;
    for (const char *c = line; c < end; ) {
        bool starts = (c == line || !is_word(c[-1])) && text_starts(c, prefix);
        const char *name = c + strlen(prefix), *behind = name;
        while (starts && is_word(*behind))
            behind++;
        if (!starts || *behind != '(') {
            buffer_bytes(out, c++, 1);
            continue;
        }
        const Slot *slot = slot_called(name, (size_t)(behind - name), slots, count);
        const char *rest = behind_parenthesis(behind);
        bool whole = *rest == ';' && c - line >= 2
                  && (memcmp(c - 2, "= ", 2) == 0 || (c - line >= 7 && memcmp(c - 7, "return ", 7) == 0));
        buffer_add(out, whole ? "%s" : "(%s)", slot->text);
        c = rest;
    }
}

const char *piece_resolved(Arena *arena, const char *text, const Slot *slots, int count)
{
    Buffer out = { .arena = arena };
    bool in_block = false, block_stays = true;
    for (size_t width; *text; text += width + (text[width] == '\n')) {
        width = strcspn(text, "\n");
        const char *mark = strstr(text, "//% ");
        mark = mark && mark < text + width ? mark : NULL;
        size_t code = mark ? (size_t)(mark - text) : width;
        while (mark && code > 0 && text[code - 1] == ' ')
            code--;
        if (mark && text_starts(mark, "//% end")) {
            in_block = false;
            continue;
        }
        if (mark && code == 0) {        /* a mark alone opens a block */
            block_stays = keeps(mark, slots, count);
            in_block = true;
            continue;
        }
        if ((in_block && !block_stays) || (mark && !keeps(mark, slots, count)))
            continue;
        add_line(&out, text, code, slots, count);
        buffer_add(&out, "\n");
    }
    return buffer_text(&out);
}

/* ---- names ---- */

/* At the left margin: "static ... name(" and "typedef struct name {". */
void piece_names(Arena *arena, const char *text, TextArray *names)
{
    static const char type[] = "typedef struct ";
    for (size_t width; *text; text += width + (text[width] == '\n')) {
        width = strcspn(text, "\n");
        const char *open = text_starts(text, "static ") ? memchr(text, '(', width) : NULL;
        if (text_starts(text, type))
            open = text + strlen(type) + strcspn(text + strlen(type), " \n");
        if (!open || memchr(text, '=', (size_t)(open - text)))
            continue;
        const char *start = open;
        while (start > text && is_word(start[-1]))
            start--;
        if (start < open)
            array_push(arena, names, text_slice(arena, start, (size_t)(open - start)));
    }
}

static bool is_named(const TextArray *names, const char *word, size_t length)
{
    for (int i = 0; i < names->count; i++)
        if (strlen(names->items[i]) == length && memcmp(names->items[i], word, length) == 0)
            return true;
    return false;
}

const char *piece_suffixed(Arena *arena, const char *text, const TextArray *names, const char *suffix)
{
    Buffer out = { .arena = arena };
    while (*text) {
        size_t length = 0;
        while (is_word(text[length]))
            length++;
        size_t step = length ? length : 1;
        buffer_bytes(&out, text, (int)step);
        if (length && is_named(names, text, length))
            buffer_add(&out, "%s", suffix);
        text += step;
    }
    return buffer_text(&out);
}
