/* data.h -- data sets in memory: images and tokens, and the readers of CIFAR's, llm.c's and plain text files.
 *
 * A `..._count` looks at a file without reading its data: true and the number of rows or tokens, or false and what is
 * wrong in `error`, which has room for ERROR_LENGTH characters. Readers end the program with exit 3 instead. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//% part error_text
enum { ERROR_LENGTH = 600 };
/* Writes the text and returns false. */
static bool error_text(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

//% part image_set
struct image_set {
    int64_t rows;
    int channels, height, width;
    const unsigned char *pixels;        /* (rows, channels, height, width) */
    const int *labels;
};

//% part image_set_check needs image_set fail
/* Exit 3 when the data is not what the program was made for. */
static void image_set_check(const struct image_set *set, const char *path, int64_t rows, int channels, int height, int width);

//% part token_set
struct token_set {
    int64_t rows, count;                /* row r reads tokens r * length .. r * length + length */
    int bytes_each;                     /* 1, 2 or 4 */
    const unsigned char *bytes;
};
static int token_at(const struct token_set *set, int64_t at);

//% part token_set_check needs token_set fail
/* Exit 3 unless the set has the rows that the program was made for. */
static void token_set_check(const struct token_set *set, const char *path, int64_t rows);

//% part cifar_count needs error_text
static bool cifar_count(const char *path, int record_bytes, int64_t *rows, char *error);

//% part cifar_read needs cifar_count image_set memory_get fail
/* Files of records one after another: `label_bytes` bytes, of which the last is the label, then 3 x 32 x 32 pixels. */
static struct image_set cifar_read(const char *folder, const char *const *names, int files, int label_bytes, int classes);

//% part cifar10_read needs cifar_read
static struct image_set cifar10_read(const char *folder, bool train);

//% part cifar100_read needs cifar_read
static struct image_set cifar100_read(const char *folder, bool train);

//% part file_map needs fail
/* A file's bytes; exit 3 when it can't be read or is empty. */
static const unsigned char *file_map(const char *path, int64_t *bytes);

//% part tokens_check needs token_set fail
/* Exit 3 when a token is no number of the vocabulary; `header` bytes stand before the first. */
static void tokens_check(const struct token_set *set, const char *path, int64_t header, int64_t vocabulary);

//% part tokens_count needs error_text
static bool tokens_count(const char *path, int64_t *count, int *bytes_each, char *error);

//% part tokens_read needs tokens_count tokens_check file_map
/* llm.c's format: a header of 1,024 bytes, then 16-bit (or 32-bit) tokens. */
static struct token_set tokens_read(const char *folder, const char *name, int64_t length, int64_t vocabulary);

//% part text_read needs tokens_check file_map
/* Bytes as tokens, from tenth `from` to tenth `to` of the file: 0, 9 and 9, 10 are training and evaluation of one file. */
static struct token_set text_read(const char *path, int from, int to, int64_t length, int64_t vocabulary);
