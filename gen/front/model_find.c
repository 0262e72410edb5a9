/* model_find.c -- which file of a folder defines a model: a fast look at its text, before anything is parsed.
 */
#include "front/model.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

typedef struct Definition {
    const char *file;                   /* path */
    const char *name;
    const char *signature; /* "resnet_cifar(tensor images, int depth, int num_classes)" on one line */
    const char *summary;                /* first line of the comment before it, or "" */
} Definition;

typedef Array(Definition) DefinitionArray;

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static TextArray c_files(Arena *arena, const char *dir)
{
    TextArray files = { 0 };
    DIR *folder = opendir(dir);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (text_ends(entry->d_name, ".c"))
            array_push(arena, &files, text_format(arena, "%s/%s", dir, entry->d_name));
    if (folder)
        closedir(folder);
    if (files.count)
        qsort(files.items, (size_t)files.count, sizeof *files.items, compare_text);
    return files;
}

/* From after "tensor " at the start of a line to its body; NULL when it is a declaration or no function.
 * LOSS(name)(...) has something else than a body after its first parentheses. */
static const char *end_of_signature(const char *text)
{
    const char *end = text + strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (end == text || *end != '(')
        return NULL;
    const char *close = strchr(end, ')');
    return close && close[1 + strspn(close + 1, " \t\r\n")] == '{' ? close + 1 : NULL;
}

/* Runs of blanks become one. */
static const char *on_one_line(Arena *arena, const char *text, const char *end)
{
    Buffer line = { .arena = arena };
    for (; text < end; text++)
        if (!isspace((unsigned char)*text))
            buffer_bytes(&line, text, 1);
        else if (!isspace((unsigned char)text[-1]))
            buffer_bytes(&line, " ", 1);
    return buffer_text(&line);
}

/* The first line of the comment that ends right before `line`. */
static const char *summary_before(Arena *arena, const char *text, const char *line)
{
    const char *end = line;
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    if (end - text < 4 || end[-1] != '/' || end[-2] != '*')
        return "";
    const char *start = end - 2;
    while (start > text && !(start[0] == '/' && start[1] == '*'))
        start--;
    start += 2 + strspn(start + 2, "* ");
    size_t length = strcspn(start, "\n");
    if (start + length > end - 2)
        length = (size_t)(end - 2 - start);
    while (length && isspace((unsigned char)start[length - 1]))
        length--;
    return text_slice(arena, start, length);
}

static void scan_file(Arena *arena, const char *path, DefinitionArray *found)
{
    static const char word[] = "tensor ";
    char *text = text_read_file(arena, path, &(size_t){ 0 });
    for (const char *line = text; line && *line;) {
        const char *name = line + strlen(word), *end;
        if (text_starts(line, word) && (end = end_of_signature(name)))
            array_push(arena, found, (Definition){
                path, text_slice(arena, name, strcspn(name, "(")), on_one_line(arena, name, end),
                summary_before(arena, text, line),
            });
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
}

static DefinitionArray scan(Arena *arena, const char *dir)
{
    DefinitionArray found = { 0 };
    TextArray files = c_files(arena, dir);
    for (int i = 0; i < files.count; i++)
        scan_file(arena, files.items[i], &found);
    return found;
}

const char *model_find(Arena *arena, const char *dir, const char *function)
{
    DefinitionArray found = scan(arena, dir);
    for (int i = 0; i < found.count; i++)
        if (text_equal(found.items[i].name, function))
            return found.items[i].file;
    return NULL;
}

TextArray model_names(Arena *arena, const char *dir)
{
    DefinitionArray found = scan(arena, dir);
    TextArray names = { 0 };
    for (int i = 0; i < found.count; i++)
        array_push(arena, &names, found.items[i].name);
    return names;
}

void model_list(Arena *arena, Buffer *out, const char *dir)
{
    DefinitionArray found = scan(arena, dir);
    for (int i = 0; i < found.count; i++)
        buffer_add(out, "%s\n    %s\n", found.items[i].signature, found.items[i].summary);
}
