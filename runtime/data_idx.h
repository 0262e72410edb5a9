/* data_idx.h -- images and labels in IDX files (MNIST, Fashion-MNIST), plain or compressed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

//% part idx_path
/* The file of a part of the set under the names it goes by, in `path`, which has room for 4096 characters:
 * FOLDER/{train,t10k}{-images-idx3,-images.idx3,...}-ubyte[.gz]. False when there is none. */
static bool idx_path(const char *folder, const char *split, bool labels, char *path);

//% part idx_count needs error_text
/* The sizes in the header of a file of `rank` axes (3: images, 1: labels), checked against the file's size where it tells. */
static bool idx_count(const char *path, int rank, int64_t *sizes, char *error);

//% part idx_files needs idx_count image_set memory_get fail
static struct image_set idx_read_files(const char *images, const char *labels, int classes);

//% part idx_read needs idx_path idx_files
/* `split` is "train" or "t10k". */
static struct image_set idx_read(const char *folder, const char *split, int classes);
