/* text.c -- see text.h. */
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *text_vformat(Arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

const char *text_format(Arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = text_vformat(arena, format, arguments);
    va_end(arguments);
    return text;
}

const char *text_slice(Arena *arena, const char *start, size_t length)
{
    char *text = arena_alloc(arena, length + 1);
    if (length)
        memcpy(text, start, length);
    return text;
}

bool text_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

const char *text_replace(Arena *arena, const char *text, const char *old, const char *with)
{
    Buffer out = { .arena = arena };
    for (const char *found; (found = strstr(text, old)); text = found + strlen(old)) {
        buffer_bytes(&out, text, (int)(found - text));
        buffer_add(&out, "%s", with);
    }
    buffer_add(&out, "%s", text);
    return buffer_text(&out);
}

uint64_t text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static int least(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Damerau-Levenshtein distance, three rows at a time; words longer than the row are never near. */
static int edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    int rows[3][LONGEST + 1], length_a = (int)strlen(a), length_b = (int)strlen(b);
    if (length_a > LONGEST || length_b > LONGEST)
        return LONGEST;
    for (int j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1, row[j]);
        }
    }
    return rows[length_a % 3][length_b];
}

const char *text_nearest(const char *word, const char *const *candidates, int count)
{
    const char *nearest = NULL;
    int best = (int)strlen(word) / 3 + 1;       /* a third of the letters wrong is still a slip */
    for (int i = 0; i < count; i++) {
        int distance = edit_distance(word, candidates[i]);
        if (distance < best || (distance == best && !nearest)) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}

const char *text_number(Arena *arena, double number)
{
    char digits[40];
    bool whole = fabs(number) < 1e15 && number == (double)(int64_t)number;
    if (whole && number != 0)
        return text_format(arena, "%.0f", number);
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    return text_format(arena, "%s", digits);
}

char *text_read_file(Arena *arena, const char *path, size_t *length)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    struct stat status;
    if (fstat(file, &status) != 0 || S_ISDIR(status.st_mode)) {
        close(file);
        errno = EISDIR;
        return NULL;
    }
    size_t capacity = (size_t)status.st_size + 1, used = 0;
    char *bytes = arena_alloc(arena, capacity + 1);
    for (ssize_t got; (got = read(file, bytes + used, capacity - used)) != 0;) {
        if (got < 0) {
            close(file);
            return NULL;
        }
        used += (size_t)got;
        if (used == capacity) {         /* a pipe, or a file that grew: go on in a larger copy */
            char *larger = arena_alloc(arena, 2 * capacity + 1);
            memcpy(larger, bytes, used);
            bytes = larger;
            capacity *= 2;
        }
    }
    close(file);
    bytes[used] = 0;
    *length = used;
    return bytes;
}

static bool write_all(int file, const char *bytes, size_t length)
{
    while (length) {
        ssize_t wrote = write(file, bytes, length);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return false;
        bytes += wrote;
        length -= (size_t)wrote;
    }
    return true;
}

bool text_write_file(const char *path, const char *bytes, size_t length)
{
    size_t size = strlen(path) + 32;
    char temporary[size];
    snprintf(temporary, size, "%s.%ld.tmp", path, (long)getpid());
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    bool written = write_all(file, bytes, length);
    written = close(file) == 0 && written;
    if (written && rename(temporary, path) == 0)
        return true;
    int reason = errno;
    unlink(temporary);
    errno = reason;
    return false;
}

static void reserve(Buffer *buffer, int more)
{
    if (buffer->capacity - buffer->count > more)
        return;
    int capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity - buffer->count <= more)
        capacity *= 2;
    char *bytes = arena_alloc(buffer->arena, (size_t)capacity);
    if (buffer->count)
        memcpy(bytes, buffer->bytes, (size_t)buffer->count);
    buffer->bytes = bytes;
    buffer->capacity = capacity;
}

void buffer_bytes(Buffer *buffer, const char *bytes, int count)
{
    reserve(buffer, count);
    if (count)
        memcpy(buffer->bytes + buffer->count, bytes, (size_t)count);
    buffer->count += count;
}

void buffer_vadd(Buffer *buffer, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    reserve(buffer, length);
    vsnprintf(buffer->bytes + buffer->count, (size_t)length + 1, format, arguments);
    buffer->count += length;
}

void buffer_add(Buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    buffer_vadd(buffer, format, arguments);
    va_end(arguments);
}

const char *buffer_text(Buffer *buffer)
{
    reserve(buffer, 1);
    buffer->bytes[buffer->count] = 0;
    return buffer->bytes;
}
