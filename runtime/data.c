/* data.c -- see data.h. */
#include "data.h"
#include "fail.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

//% part error_text
static bool error_text(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, ERROR_LENGTH, format, arguments);
    va_end(arguments);
    return false;
}

//% part image_set_check
static void image_set_check(const struct image_set *set, const char *path, int64_t rows, int channels, int height, int width)
{
    if (set->channels != channels || set->height != height || set->width != width)
        fail(EXIT_DATA, "%s: images are %d x %d x %d, this program was made for %d x %d x %d; generate it again for them", path,
             set->channels, set->height, set->width, channels, height, width);
    if (set->rows != rows)
        fail(EXIT_DATA, "%s: %lld images, this program was made for %lld; generate it again for them", path,
             (long long)set->rows, (long long)rows);
}

//% part token_set
static int token_at(const struct token_set *set, int64_t at)
{
    const unsigned char *byte = set->bytes + at * set->bytes_each;
    if (set->bytes_each == 1)
        return *byte;
    const int low = byte[0] | byte[1] << 8;
    return set->bytes_each == 2 ? low : (int)((unsigned)low | (unsigned)byte[2] << 16 | (unsigned)byte[3] << 24);
}

//% part token_set_check
static void token_set_check(const struct token_set *set, const char *path, int64_t rows)
{
    if (set->rows != rows)
        fail(EXIT_DATA, "%s: %lld rows of tokens, this program was made for %lld; generate it again for them", path,
             (long long)set->rows, (long long)rows);
}

//% part cifar_count
static bool cifar_count(const char *path, int record_bytes, int64_t *rows, char *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return error_text(error, "can't read %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_text(error, "%s is no regular file", path);
    *rows = (int64_t)status.st_size / record_bytes;
    if (status.st_size == 0 || status.st_size % record_bytes)
        return error_text(error, "%s: %lld bytes are %lld records of %d bytes and %lld bytes of another; it is truncated or no "
                          "such file", path, (long long)status.st_size, (long long)*rows, record_bytes,
                          (long long)(status.st_size % record_bytes));
    return true;
}

//% part cifar_read
enum { CIFAR_PIXELS = 3072 };

static void cifar_read_file(const char *path, int label_bytes, int classes, int64_t rows, unsigned char *pixels, int *labels)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(EXIT_DATA, "can't read %s: %s", path, strerror(errno));
    for (int64_t row = 0; row < rows; row++) {
        unsigned char label[2];
        if (fread(label, 1, (size_t)label_bytes, file) != (size_t)label_bytes
            || fread(pixels + row * CIFAR_PIXELS, 1, CIFAR_PIXELS, file) != CIFAR_PIXELS)
            fail(EXIT_DATA, "%s: image %lld at byte %lld: the file ends inside it", path, (long long)row,
                 (long long)row * (label_bytes + CIFAR_PIXELS));
        labels[row] = label[label_bytes - 1];
        if (labels[row] >= classes)
            fail(EXIT_DATA, "%s: image %lld at byte %lld: label %d, there are %d classes", path, (long long)row,
                 (long long)row * (label_bytes + CIFAR_PIXELS) + label_bytes - 1, labels[row], classes);
    }
    fclose(file);
}

static struct image_set cifar_read(const char *folder, const char *const *names, int files, int label_bytes, int classes)
{
    enum { MOST_FILES = 5 };
    char path[MOST_FILES][4096], error[ERROR_LENGTH];
    int64_t rows[MOST_FILES], at = 0;
    struct image_set set = { 0, 3, 32, 32, NULL, NULL };
    for (int i = 0; i < files; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
        if (!cifar_count(path[i], label_bytes + CIFAR_PIXELS, &rows[i], error))
            fail(EXIT_DATA, "%s", error);
        set.rows += rows[i];
    }
    unsigned char *pixels = (unsigned char *)memory_get((size_t)set.rows * CIFAR_PIXELS, folder);
    int *labels = (int *)memory_get((size_t)set.rows * sizeof *labels, folder);
    for (int i = 0; i < files; at += rows[i++])
        cifar_read_file(path[i], label_bytes, classes, rows[i], pixels + at * CIFAR_PIXELS, labels + at);
    set.pixels = pixels;
    set.labels = labels;
    return set;
}

//% part cifar10_read
static struct image_set cifar10_read(const char *folder, bool train)
{
    static const char *const names[] = { "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                                         "data_batch_5.bin", "test_batch.bin" };
    return train ? cifar_read(folder, names, 5, 1, 10) : cifar_read(folder, names + 5, 1, 1, 10);
}

//% part cifar100_read
static struct image_set cifar100_read(const char *folder, bool train)
{
    static const char *const names[] = { "train.bin", "test.bin" };
    return cifar_read(folder, train ? names : names + 1, 1, 2, 100);
}

//% part file_map
static const unsigned char *file_map(const char *path, int64_t *bytes)
{
    struct stat status;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0)
        fail(EXIT_DATA, "can't read %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        fail(EXIT_DATA, "%s is %s", path, S_ISREG(status.st_mode) ? "empty" : "no regular file");
    void *map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (map == MAP_FAILED)
        fail(EXIT_DATA, "can't map %s: %s", path, strerror(errno));
    close(file);
    *bytes = (int64_t)status.st_size;
    return (const unsigned char *)map;
}

//% part tokens_check
static void tokens_check(const struct token_set *set, const char *path, int64_t header, int64_t vocabulary)
{
    if (set->rows < 1)
        fail(EXIT_DATA, "%s: %lld tokens are less than a row", path, (long long)set->count);
    if (set->bytes_each < 4 && vocabulary >= (int64_t)1 << 8 * set->bytes_each)
        return;
    for (int64_t i = 0; i < set->count; i++)
        if (token_at(set, i) < 0 || token_at(set, i) >= vocabulary)
            fail(EXIT_DATA, "%s: token %lld at byte %lld is %u, the vocabulary has %lld", path, (long long)i,
                 (long long)(header + i * set->bytes_each), (unsigned)token_at(set, i), (long long)vocabulary);
}

//% part tokens_count
enum { TOKENS_HEADER = 1024, TOKENS_16 = 20240520, TOKENS_32 = 20240801 };

static int64_t little_word(const unsigned char *byte)
{
    return (int64_t)byte[0] | (int64_t)byte[1] << 8 | (int64_t)byte[2] << 16 | (int64_t)byte[3] << 24;
}

static bool tokens_count(const char *path, int64_t *count, int *bytes_each, char *error)
{
    struct stat status;
    unsigned char header[12];
    FILE *file = fopen(path, "rb");
    if (!file)
        return error_text(error, "can't read %s: %s", path, strerror(errno));
    const bool whole = fread(header, 1, sizeof header, file) == sizeof header && fstat(fileno(file), &status) == 0;
    fclose(file);
    if (!whole || status.st_size < TOKENS_HEADER)
        return error_text(error, "%s is shorter than the header of a token file, %d bytes", path, TOKENS_HEADER);
    const int64_t magic = little_word(header), version = little_word(header + 4);
    if ((magic != TOKENS_16 || version != 1) && (magic != TOKENS_32 || version != 7))
        return error_text(error, "%s: no token file: it begins with %lld, %lld; expected are %d, 1 (16 bits a token) or %d, 7 "
                          "(32 bits)", path, (long long)magic, (long long)version, TOKENS_16, TOKENS_32);
    *bytes_each = magic == TOKENS_16 ? 2 : 4;
    *count = little_word(header + 8);
    const int64_t promised = TOKENS_HEADER + *count * *bytes_each;
    if (promised != (int64_t)status.st_size)
        return error_text(error, "%s: the header promises %lld tokens, which are %lld bytes; the file has %lld", path,
                          (long long)*count, (long long)promised, (long long)status.st_size);
    return true;
}

//% part tokens_read
static struct token_set tokens_read(const char *folder, const char *name, int64_t length, int64_t vocabulary)
{
    char path[4096], error[ERROR_LENGTH];
    int64_t bytes;
    struct token_set set = { 0, 0, 0, NULL };
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!tokens_count(path, &set.count, &set.bytes_each, error))
        fail(EXIT_DATA, "%s", error);
    set.bytes = file_map(path, &bytes) + TOKENS_HEADER;
    if (bytes != TOKENS_HEADER + set.count * set.bytes_each)
        fail(EXIT_DATA, "%s changes while it is read", path);
    set.rows = set.count > 0 ? (set.count - 1) / length : 0;
    tokens_check(&set, path, TOKENS_HEADER, vocabulary);
    return set;
}

//% part text_read
static struct token_set text_read(const char *path, int from, int to, int64_t length, int64_t vocabulary)
{
    int64_t bytes;
    const unsigned char *text = file_map(path, &bytes);
    const int64_t begin = bytes / 10 * from, end = to == 10 ? bytes : bytes / 10 * to;
    struct token_set set = { end > begin ? (end - begin - 1) / length : 0, end - begin, 1, text + begin };
    tokens_check(&set, path, begin, vocabulary);
    return set;
}
