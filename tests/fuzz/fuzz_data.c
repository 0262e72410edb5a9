/* fuzz_data.c -- any bytes as files of data: a reader takes them or refuses them with exit 3, and never anything else.
 *
 * The first byte chooses the reader, the rest is its file: 'i' IDX images, 'l' IDX labels, 'c' CIFAR-10, 'h' CIFAR-100,
 * 't' tokens, 'x' text; see fuzz_main.h for how to run it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- what a reader holds when it gives up is given back, so that many inputs run in one process ---- */

typedef enum Holding { NOTHING, MEMORY, MAPPED, OPEN_FILE, OPEN_COMPRESSED } Holding;

static struct { Holding kind; void *thing; size_t bytes; } held[64];

static void *hold(Holding kind, void *thing, size_t bytes)
{
    for (int i = 0; i < 64; i++)
        if (held[i].kind == NOTHING && thing) {
            held[i].kind = kind, held[i].thing = thing, held[i].bytes = bytes;
            return thing;
        }
    if (thing)
        abort();
    return thing;
}

static void release(void *thing)
{
    for (int i = 0; i < 64; i++)
        if (held[i].kind != NOTHING && held[i].thing == thing)
            held[i].kind = NOTHING;
}

static void release_all(void)
{
    for (int i = 0; i < 64; i++) {
        switch (held[i].kind) {
        case NOTHING:         break;
        case MEMORY:          free(held[i].thing); break;
        case MAPPED:          munmap(held[i].thing, held[i].bytes); break;
        case OPEN_FILE:       fclose(held[i].thing); break;
        case OPEN_COMPRESSED: gzclose(held[i].thing); break;
        }
        held[i].kind = NOTHING;
    }
}

static void *held_map(size_t bytes, int file)
{
    void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    return map == MAP_FAILED ? map : hold(MAPPED, map, bytes);
}

#define free(memory) (release(memory), free(memory))
#define fopen(path, mode) ((FILE *)hold(OPEN_FILE, fopen(path, mode), 0))
#define fclose(file) (release(file), fclose(file))
#define gzopen(path, mode) ((gzFile)hold(OPEN_COMPRESSED, gzopen(path, mode), 0))
#define gzclose(file) (release(file), gzclose(file))
#define mmap(where, bytes, access, kind, file, from) held_map(bytes, file)

#pragma GCC diagnostic ignored "-Wunused-function"
#include "runtime/data.c"
#include "runtime/data_idx.c"

static jmp_buf refused;

static void fail(int code, const char *format, ...)
{
    char text[2 * ERROR_LENGTH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (code != EXIT_DATA)
        abort();
    longjmp(refused, 1);
}

/* Files are small here: a reader that wants much believes a header. */
static void *memory_get(size_t bytes, const char *what)
{
    (void)what;
    if (bytes > (size_t)1 << 28)
        abort();
    return hold(MEMORY, malloc(bytes ? bytes : 1), 0);
}

static const char *bytes_text(char *text, double bytes)
{
    (void)bytes;
    return text;
}

static char *arena_map(size_t bytes)
{
    (void)bytes;
    return NULL;
}

static void touch(char *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}

/* ---- one input ---- */

/* A file in memory; its name in /proc/self/fd. */
static const char *file_of(int which, const void *bytes, size_t length)
{
    static int handles[2];
    static char paths[2][32];
    if (!handles[which])
        handles[which] = memfd_create("input", 0);
    if (ftruncate(handles[which], 0) != 0 || pwrite(handles[which], bytes, length, 0) != (ssize_t)length)
        abort();
    snprintf(paths[which], sizeof paths[which], "/proc/self/fd/%d", handles[which]);
    return paths[which];
}

static void use_images(struct image_set set, int classes)
{
    volatile unsigned char last = set.pixels[set.rows * set.channels * set.height * set.width - 1];
    (void)last;
    for (int64_t i = 0; i < set.rows; i++)
        if (set.labels[i] < 0 || set.labels[i] >= classes)
            abort();
}

static void use_tokens(struct token_set set, int64_t length, int64_t vocabulary)
{
    if (set.rows < 1 || set.rows * length + 1 > set.count)
        abort();
    for (int64_t i = 0; i < set.count; i++)
        if (token_at(&set, i) < 0 || token_at(&set, i) >= vocabulary)
            abort();
}

static void read_as(unsigned char kind, const void *bytes, size_t length)
{
    static const unsigned char images[16 + 3] = { 0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1 };
    static const unsigned char labels[8 + 3] = { 0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3 };
    const char *path = file_of(0, bytes, length), *name = strrchr(path, '/') + 1;
    switch (kind) {
    case 'i': use_images(idx_read_files(path, file_of(1, labels, sizeof labels), 10), 10); break;
    case 'l': use_images(idx_read_files(file_of(1, images, sizeof images), path, 10), 10); break;
    case 'c': use_images(cifar_read("/proc/self/fd", &name, 1, 1, 10), 10); break;
    case 'h': use_images(cifar_read("/proc/self/fd", &name, 1, 2, 100), 100); break;
    case 't': use_tokens(tokens_read("/proc/self/fd", name, 8, 300), 8, 300); break;
    case 'x': use_tokens(text_read(path, 0, 9, 8, 128), 8, 128); break;
    default:  fail(EXIT_DATA, "no reader");
    }
}

static int fuzz_one(const unsigned char *bytes, size_t length)
{
    volatile int taken = 0;
    if (length > 0 && setjmp(refused) == 0) {
        read_as(bytes[0], bytes + 1, length - 1);
        taken = 1;
    }
    release_all();
    return taken;
}

#undef fopen
#undef fclose
#define PIECE(text) { text, sizeof text - 1 }

static const struct FuzzPiece { const char *bytes; size_t length; } pieces[] = {
    PIECE("i"), PIECE("l"), PIECE("c"), PIECE("h"), PIECE("t"), PIECE("x"), PIECE("\0\0\x08\x03"), PIECE("\0\0\x08\x01"),
    PIECE("\0\0\0\x03"), PIECE("\xff\xff\xff\xff"), PIECE("\x80\0\0\0"), PIECE("\x7f\xff\xff\xff"), PIECE("\0\x01\0\0"),
    PIECE("\x1f\x8b\x08\0\0\0\0\0\0\x03"), PIECE("\xd8\xf8\x34\x01"), PIECE("\xf1\xf9\x34\x01"),
};

#include "tests/fuzz/fuzz_main.h"
