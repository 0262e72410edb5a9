/* data_idx.c -- see data_idx.h. */
#include "data.h"
#include "data_idx.h"
#include "fail.h"
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

//% part idx_path
static bool idx_path(const char *folder, const char *split, bool labels, char *path)
{
    static const char *const between[] = { "-", "." }, *const ending[] = { "", ".gz" };
    for (int i = 0; i < 4; i++) {
        snprintf(path, 4096, "%s/%s-%s%s%s-ubyte%s", folder, split, labels ? "labels" : "images", between[i / 2],
                 labels ? "idx1" : "idx3", ending[i % 2]);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

//% part idx_count
/* Numbers are big-endian. */
static int64_t big_word(const unsigned char *byte)
{
    return (int64_t)byte[0] << 24 | (int64_t)byte[1] << 16 | (int64_t)byte[2] << 8 | (int64_t)byte[3];
}

/* The header's promise against the size on disk: a plain file must have it exactly, deflate shrinks 1032 times at most. */
static bool idx_size_fits(const char *path, bool plain, int64_t header, const int64_t *sizes, int rank, char *error)
{
    struct stat status;
    int64_t bytes = 1;
    for (int axis = 0; axis < rank; axis++)
        if (__builtin_mul_overflow(bytes, sizes[axis], &bytes) || bytes > (int64_t)1 << 48)
            return error_text(error, "%s: the sizes in its header are impossible", path);
    if (stat(path, &status) != 0)
        return error_text(error, "can't read %s: %s", path, strerror(errno));
    if (plain && bytes + header != (int64_t)status.st_size)
        return error_text(error, "%s: the header promises %lld bytes, the file has %lld", path, (long long)(bytes + header),
                          (long long)status.st_size);
    if (!plain && (bytes + header) / 1032 > (int64_t)status.st_size)
        return error_text(error, "%s: the header promises %lld bytes, which its %lld compressed ones can't hold", path,
                          (long long)(bytes + header), (long long)status.st_size);
    return true;
}

static bool idx_count(const char *path, int rank, int64_t *sizes, char *error)
{
    unsigned char header[4 + 4 * 3] = { 0 };
    const int length = 4 + 4 * rank;
    gzFile file = gzopen(path, "rb");
    if (!file)
        return error_text(error, "can't read %s: %s", path, errno ? strerror(errno) : "no memory");
    const int got = gzread(file, header, (unsigned)length);
    const bool plain = gzdirect(file);
    gzclose(file);
    if (got < 0)
        return error_text(error, "%s can't be decompressed: it is damaged or truncated", path);
    if (got >= 4 && (header[0] || header[1] || header[2] != 8 || header[3] != rank))
        return error_text(error, "%s: no IDX file of %s: it begins with %02x %02x %02x %02x, expected is 00 00 08 %02x", path,
                          rank == 3 ? "images" : "labels", header[0], header[1], header[2], header[3], (unsigned)rank);
    if (got < length)
        return error_text(error, "%s is shorter than the header of an IDX file, %d bytes", path, length);
    for (int axis = 0; axis < rank; axis++)
        if ((sizes[axis] = big_word(header + 4 + 4 * axis)) < 1 || (axis > 0 && sizes[axis] > 65536))
            return error_text(error, "%s: axis %d has size %lld", path, axis, (long long)sizes[axis]);
    return idx_size_fits(path, plain, length, sizes, rank, error);
}

//% part idx_files
/* What follows the header: all of it and nothing more. `each`: bytes a sample. */
static unsigned char *idx_bytes(const char *path, int rank, int64_t rows, int64_t each)
{
    int64_t at = 0, bytes = rows * each;
    const int64_t header = 4 + 4 * rank;
    unsigned char *data = (unsigned char *)memory_get((size_t)bytes, path), extra;
    gzFile file = gzopen(path, "rb");
    if (!file || gzseek(file, header, SEEK_SET) != header)
        fail(EXIT_DATA, "can't read %s: %s", path, strerror(errno));
    while (at < bytes) {
        const unsigned chunk = bytes - at < 1 << 26 ? (unsigned)(bytes - at) : 1u << 26;
        const int got = gzread(file, data + at, chunk);
        if (got <= 0) {
            int code;
            const char *why = got < 0 ? gzerror(file, &code) : "the file ends inside it";
            fail(EXIT_DATA, "%s: sample %lld of %lld at byte %lld: %s", path, (long long)(at / each), (long long)rows,
                 (long long)(header + at), why);
        }
        at += got;
    }
    const int more = gzread(file, &extra, 1);   /* also where a compressed file's checksum is compared */
    if (more != 0)
        fail(EXIT_DATA, "%s: %s", path, more > 0 ? "there is more in it than its header promises" : "its checksum is wrong");
    gzclose(file);
    return data;
}

static struct image_set idx_read_files(const char *images, const char *labels, int classes)
{
    char error[ERROR_LENGTH];
    int64_t image[3], label[1];
    if (!idx_count(images, 3, image, error) || !idx_count(labels, 1, label, error))
        fail(EXIT_DATA, "%s", error);
    if (image[0] != label[0])
        fail(EXIT_DATA, "%s has %lld images, %s has %lld labels", images, (long long)image[0], labels, (long long)label[0]);
    unsigned char *bytes = idx_bytes(labels, 1, label[0], 1);
    int *numbers = (int *)memory_get((size_t)label[0] * sizeof *numbers, labels);
    for (int64_t row = 0; row < label[0]; row++) {
        numbers[row] = bytes[row];
        if (numbers[row] >= classes)
            fail(EXIT_DATA, "%s: sample %lld at byte %lld: label %d, there are %d classes", labels, (long long)row,
                 (long long)row + 8, numbers[row], classes);
    }
    free(bytes);
    const unsigned char *pixels = idx_bytes(images, 3, image[0], image[1] * image[2]);
    struct image_set set = { image[0], 1, (int)image[1], (int)image[2], pixels, numbers };
    return set;
}

//% part idx_read
static struct image_set idx_read(const char *folder, const char *split, int classes)
{
    char images[4096], labels[4096];
    if (!idx_path(folder, split, false, images) || !idx_path(folder, split, true, labels))
        fail(EXIT_DATA, "no %s-images-idx3-ubyte and %s-labels-idx1-ubyte, with or without .gz, in %s", split, split, folder);
    return idx_read_files(images, labels, classes);
}
