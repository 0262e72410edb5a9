/* parts.c -- loads parts, closes over their needs, gives their text. See parts.h. */
#include "emit/parts_inside.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

typedef struct Reader {                 /* one file being cut */
    Parts *parts;
    PartFile *file;
    Piece *piece;                       /* NULL before the first part */
    bool in_default;
    Buffer text;
} Reader;

static void close_piece(Reader *reader)
{
    if (!reader->piece)
        return;
    const char *text = buffer_text(&reader->text);
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n')
        length--;
    reader->piece->text = text_format(reader->parts->arena, "%.*s\n", (int)length, text);
    reader->piece->has_slots = strstr(reader->piece->text, "//% if ") || strstr(reader->piece->text, "//% unless ");
}

static Precision precision_named(const Reader *reader, const char *word)
{
    if (text_equal(word, "float"))
        return PRECISION_FLOAT;
    if (text_equal(word, "double"))
        return PRECISION_DOUBLE;
    bug("%s: a part is 'for float' or 'for double', not for '%s'", reader->file->path, word);
}

static void words_of(Arena *arena, const char *line, TextArray *words)
{
    while (*(line += strspn(line, " \t\r"))) {
        size_t length = strcspn(line, " \t\r");
        array_push(arena, words, text_slice(arena, line, length));
        line += length;
    }
}

/* "NAME [for float|double] [needs A B ...]" */
static void open_piece(Reader *reader, const char *line)
{
    Arena *arena = reader->parts->arena;
    TextArray words = { 0 };
    words_of(arena, line, &words);
    if (!words.count)
        bug("%s: a part without a name", reader->file->path);
    Piece *piece = reader->piece = arena_new(arena, Piece);
    piece->file = reader->file;
    piece->part = words.items[0];
    int at = 1;
    if (at + 1 < words.count && text_equal(words.items[at], "for")) {
        piece->precision = precision_named(reader, words.items[at + 1]);
        at += 2;
    }
    if (at < words.count && !text_equal(words.items[at++], "needs"))
        bug("%s: part %s: '%s' is neither 'for' nor 'needs'", reader->file->path, piece->part, words.items[at - 1]);
    while (at < words.count)
        array_push(arena, &piece->needs, words.items[at++]);
    array_push(arena, &reader->parts->pieces, piece);
    reader->text = (Buffer){ .arena = arena };
    reader->in_default = false;
}

static void read_line(Reader *reader, const char *line)
{
    if (text_starts(line, "//% part")) {
        close_piece(reader);
        open_piece(reader, line + strlen("//% part"));
    } else if (text_starts(line, "//% default")) {
        reader->in_default = true;
    } else if (!reader->piece && text_starts(line, "#include <")) {
        array_push(reader->parts->arena, &reader->file->includes, line);
    } else if (reader->piece && !reader->in_default) {
        buffer_add(&reader->text, "%s\n", line);
    }
}

static bool read_file(Parts *parts, Diagnostics *diag, const char *path, PieceKind kind)
{
    size_t length;
    const char *bytes = text_read_file(parts->arena, path, &length);
    if (!bytes) {
        complain(diag, (Place){ 0 }, "can't read %s: %s", path, strerror(errno));
        return false;
    }
    Reader reader = { .parts = parts, .file = arena_new(parts->arena, PartFile) };
    *reader.file = (PartFile){ .path = path, .kind = kind };
    array_push(parts->arena, &parts->files, reader.file);
    while (*bytes) {
        size_t width = strcspn(bytes, "\n");
        read_line(&reader, text_slice(parts->arena, bytes, width));
        bytes += width + (bytes[width] == '\n');
    }
    close_piece(&reader);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool read_folder(Parts *parts, Diagnostics *diag, const char *dir, const char *ending, PieceKind kind)
{
    TextArray paths = { 0 };
    DIR *folder = opendir(dir);
    if (!folder) {
        complain(diag, (Place){ 0 }, "can't read the folder %s: %s", dir, strerror(errno));
        return false;
    }
    for (struct dirent *entry; (entry = readdir(folder)); )
        if (text_ends(entry->d_name, ending) && entry->d_name[0] != '.')
            array_push(parts->arena, &paths, text_format(parts->arena, "%s/%s", dir, entry->d_name));
    closedir(folder);
    if (paths.count)
        qsort(paths.items, (size_t)paths.count, sizeof *paths.items, by_name);
    for (int i = 0; i < paths.count; i++)
        if (!read_file(parts, diag, paths.items[i], kind))
            return false;
    return true;
}

/* ---- finding ---- */

bool parts_known(const Parts *parts, const char *name)
{
    for (int i = 0; i < parts->pieces.count; i++)
        if (text_equal(parts->pieces.items[i]->part, name))
            return true;
    return false;
}

_Noreturn static void unknown_part(const Parts *parts, const char *name, const char *who)
{
    Buffer known = { .arena = parts->arena };
    for (int i = 0; i < parts->pieces.count; i++)
        buffer_add(&known, " %s", parts->pieces.items[i]->part);
    bug("%s: there is no part '%s'; there are%s", who, name, known.count ? buffer_text(&known) : " none");
}

Parts *parts_load(Arena *arena, Diagnostics *diag, const char *templates_dir, const char *runtime_dir)
{
    Parts *parts = arena_new(arena, Parts);
    parts->arena = arena;
    const char *kernels = text_format(arena, "%s/cpu", templates_dir);
    if (!read_folder(parts, diag, kernels, ".c", PIECE_KERNEL)
        || !read_folder(parts, diag, runtime_dir, ".h", PIECE_DECLARATION)
        || !read_folder(parts, diag, runtime_dir, ".c", PIECE_BODY))
        return NULL;
    for (int i = 0; i < parts->pieces.count; i++) {
        const Piece *piece = parts->pieces.items[i];
        for (int k = 0; k < piece->needs.count; k++)
            if (!parts_known(parts, piece->needs.items[k]))
                unknown_part(parts, piece->needs.items[k], text_format(arena, "part %s", piece->part));
    }
    return parts;
}

void parts_words(Arena *arena, const Parts *parts, TextArray *words)
{
    for (int i = 0; i < parts->pieces.count; i++)
        if (!parts->pieces.items[i]->has_slots)
            piece_names(arena, parts->pieces.items[i]->text, words);
}

/* ---- sets ---- */

struct PartSet {
    Arena *arena;
    const Parts *parts;
    Precision precision;
    bool *used;                         /* by index in parts->pieces */
};

PartSet *parts_set(Arena *arena, const Parts *parts, bool is_double)
{
    PartSet *set = arena_new(arena, PartSet);
    *set = (PartSet){ arena, parts, is_double ? PRECISION_DOUBLE : PRECISION_FLOAT, NULL };
    set->used = arena_array(arena, bool, parts->pieces.count);
    return set;
}

static bool fits(const PartSet *set, const Piece *piece, const char *name)
{
    return text_equal(piece->part, name) && (!piece->precision || piece->precision == set->precision);
}

static void use(PartSet *set, const char *name, bool itself)
{
    bool known = false;
    for (int i = 0; i < set->parts->pieces.count; i++) {
        const Piece *piece = set->parts->pieces.items[i];
        if (!fits(set, piece, name))
            continue;
        known = true;
        if (set->used[i])
            continue;
        if (itself && piece->has_slots)
            bug("part %s has slots: it comes as instances only", name);
        set->used[i] = itself;
        for (int k = 0; k < piece->needs.count; k++)
            use(set, piece->needs.items[k], true);
    }
    if (!known)
        unknown_part(set->parts, name, set->precision == PRECISION_DOUBLE ? "double precision" : "single precision");
}

void parts_use(PartSet *set, const char *name)
{
    use(set, name, true);
}

/* The part's file counts as used through this piece, for its includes; its text is left out. */
void parts_use_needs(PartSet *set, const char *name)
{
    use(set, name, false);
    for (int i = 0; i < set->parts->pieces.count; i++) {
        const Piece *piece = set->parts->pieces.items[i];
        if (fits(set, piece, name) && piece->has_slots)
            set->used[i] = true;
    }
}

bool parts_used(const PartSet *set, const char *name)
{
    for (int i = 0; i < set->parts->pieces.count; i++)
        if (set->used[i] && fits(set, set->parts->pieces.items[i], name))
            return true;
    return false;
}

/* ---- text ---- */

static void print_piece(const PartSet *set, PieceKind kind, int index, bool *done, Buffer *out)
{
    const Parts *parts = set->parts;
    const Piece *piece = parts->pieces.items[index];
    if (done[index] || !set->used[index] || piece->file->kind != kind)
        return;
    done[index] = true;
    for (int k = 0; k < piece->needs.count; k++)
        for (int i = 0; i < parts->pieces.count; i++)
            if (fits(set, parts->pieces.items[i], piece->needs.items[k]))
                print_piece(set, kind, i, done, out);
    if (piece->has_slots)
        return;                         /* comes as instances */
    buffer_add(out, "%s%s", out->count ? "\n" : "", piece->text);
}

static const char *text_of(const PartSet *set, PieceKind kind)
{
    Buffer out = { .arena = set->arena };
    bool *done = arena_array(set->arena, bool, set->parts->pieces.count);
    for (int i = 0; i < set->parts->pieces.count; i++)
        print_piece(set, kind, i, done, &out);
    return buffer_text(&out);
}

const char *parts_kernels(const PartSet *set)
{
    return text_of(set, PIECE_KERNEL);
}

const char *parts_declarations(const PartSet *set)
{
    return text_of(set, PIECE_DECLARATION);
}

const char *parts_bodies(const PartSet *set)
{
    return text_of(set, PIECE_BODY);
}

static bool has_line(const TextArray *lines, const char *line)
{
    for (int i = 0; i < lines->count; i++)
        if (text_equal(lines->items[i], line))
            return true;
    return false;
}

void parts_includes(const PartSet *set, TextArray *lines)
{
    for (int i = 0; i < set->parts->pieces.count; i++) {
        const TextArray *includes = &set->parts->pieces.items[i]->file->includes;
        for (int k = 0; k < includes->count && set->used[i]; k++)
            if (!has_line(lines, includes->items[k]))
                array_push(set->arena, lines, includes->items[k]);
    }
    if (lines->count)
        qsort(lines->items, (size_t)lines->count, sizeof *lines->items, by_name);
}

const char *parts_instance_text(Arena *arena, const Parts *parts, const char *part, const Slot *slots, int count,
                                const char *suffix)
{
    const Piece *piece = NULL;
    for (int i = 0; i < parts->pieces.count; i++)
        if (text_equal(parts->pieces.items[i]->part, part) && parts->pieces.items[i]->file->kind == PIECE_KERNEL)
            piece = parts->pieces.items[i];
    if (!piece)
        unknown_part(parts, part, "instance");
    if (!piece->has_slots)
        bug("part %s has no slots: it has no instances", part);
    const char *text = piece_resolved(arena, piece->text, slots, count);
    TextArray names = { 0 };
    piece_names(arena, text, &names);
    return piece_suffixed(arena, text, &names, suffix);
}
