/* test_runtime_data.c -- readers of data sets: good files, the references' files, and every way a file can be wrong. */
#include "test_runtime.h"

#include <stdlib.h>
#include <unistd.h>

#include "skip.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
typedef float real;
#include "runtime/fail.c"
#include "runtime/memory.c"
#include "runtime/random.c"
#include "runtime/data.c"
#include "runtime/data_idx.c"
#include "runtime/data_made.c"

/* ---- files ---- */

static char folder[64];

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (*folder && system(command) == 0)
        *folder = 0;
}

/* Goes when the test's process ends, which readers do by themselves. */
static void make_folder(void)
{
    strcpy(folder, P_tmpdir "/data_XXXXXX");
    ck_assert(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
}

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t length)
{
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

static void compress_file(const char *name)
{
    char command[256];
    snprintf(command, sizeof command, "gzip -f %s/%s", folder, name);
    ck_assert_int_eq(system(command), 0);
}

/* ---- IDX ---- */

static unsigned char idx_images[16 + 3 * 2 * 4] = { 0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 4 };
static unsigned char idx_labels[8 + 3] = { 0, 0, 8, 1, 0, 0, 0, 3, 9, 0, 4 };

static void write_idx(const char *images, size_t image_bytes, const char *labels, size_t label_bytes)
{
    for (int i = 0; i < 24; i++)
        idx_images[16 + i] = (unsigned char)(10 * i);
    write_file(images, idx_images, image_bytes);
    write_file(labels, idx_labels, label_bytes);
}

static void check_idx(const char *split)
{
    const struct image_set set = idx_read(folder, split, 10);
    image_set_check(&set, folder, 3, 1, 2, 4);
    ck_assert(set.pixels[0] == 0 && set.pixels[23] == 230);
    ck_assert(set.labels[0] == 9 && set.labels[1] == 0 && set.labels[2] == 4);
}

START_TEST(idx_under_all_its_names)
{
    int64_t sizes[3];
    char error[ERROR_LENGTH];
    make_folder();
    write_idx("train-images-idx3-ubyte", sizeof idx_images, "train-labels-idx1-ubyte", sizeof idx_labels);
    check_idx("train");
    ck_assert(idx_count(in_folder("train-images-idx3-ubyte"), 3, sizes, error));
    ck_assert(sizes[0] == 3 && sizes[1] == 2 && sizes[2] == 4);
    compress_file("train-images-idx3-ubyte");
    check_idx("train");
    compress_file("train-labels-idx1-ubyte");
    check_idx("train");
    write_idx("t10k-images.idx3-ubyte", sizeof idx_images, "t10k-labels.idx1-ubyte", sizeof idx_labels);
    check_idx("t10k");
}
END_TEST

static bool count_says(const char *name, int rank, const char *words)
{
    int64_t sizes[3];
    char error[ERROR_LENGTH] = "";
    return !idx_count(in_folder(name), rank, sizes, error) && strstr(error, words) && strstr(error, name);
}

START_TEST(idx_headers_that_lie)
{
    static const unsigned char huge[16] = { 0, 0, 8, 3, 255, 255, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255 };
    make_folder();
    write_idx("images", sizeof idx_images, "labels", sizeof idx_labels);
    ck_assert(count_says("labels", 3, "no IDX file of images"));
    ck_assert(count_says("images", 1, "no IDX file of labels"));
    ck_assert(count_says("nothing", 1, "can't read"));
    write_file("short", idx_images, 15);
    ck_assert(count_says("short", 3, "shorter than the header"));
    write_file("cut", idx_images, sizeof idx_images - 1);
    ck_assert(count_says("cut", 3, "promises 40 bytes, the file has 39"));
    write_file("huge", huge, sizeof huge);
    ck_assert(count_says("huge", 3, "promises") || count_says("huge", 3, "impossible"));
    compress_file("huge");
    ck_assert(count_says("huge.gz", 3, "can't hold") || count_says("huge.gz", 3, "impossible"));
}
END_TEST

/* Compressed files show their truncation only when they are read. */
START_TEST(idx_truncated_inside)
{
    make_folder();
    write_idx("train-images-idx3-ubyte", sizeof idx_images - 3, "train-labels-idx1-ubyte", sizeof idx_labels);
    compress_file("train-images-idx3-ubyte");
    (void)idx_read(folder, "train", 10);
}
END_TEST

START_TEST(idx_with_a_broken_checksum)
{
    make_folder();
    write_idx("train-images-idx3-ubyte", sizeof idx_images, "train-labels-idx1-ubyte", sizeof idx_labels);
    compress_file("train-images-idx3-ubyte");
    FILE *file = fopen(in_folder("train-images-idx3-ubyte.gz"), "r+b");
    ck_assert(file && fseek(file, -6, SEEK_END) == 0 && putc(0x55, file) >= 0 && fclose(file) == 0);
    (void)idx_read(folder, "train", 10);
}
END_TEST

START_TEST(idx_label_out_of_range)
{
    make_folder();
    write_idx("train-images-idx3-ubyte", sizeof idx_images, "train-labels-idx1-ubyte", sizeof idx_labels);
    (void)idx_read(folder, "train", 9);
}
END_TEST

START_TEST(idx_absent)
{
    (void)idx_read("/nowhere", "train", 10);
}
END_TEST

START_TEST(images_of_another_size)
{
    const struct image_set set = { 3, 1, 28, 28, NULL, NULL };
    image_set_check(&set, "set", 3, 1, 32, 32);
}
END_TEST

START_TEST(fashion_mnist_is_whole)
{
    const char *path = "/usr/share/datasets/fashion-mnist";
    if (access(path, R_OK) != 0)
        SKIP("fashion_mnist_is_whole: Debian's package dataset-fashion-mnist is not installed");
    const struct image_set set = idx_read(path, "t10k", 10);
    int counts[10] = { 0 };
    image_set_check(&set, path, 10000, 1, 28, 28);
    for (int i = 0; i < 10000; i++)
        counts[set.labels[i]]++;
    for (int c = 0; c < 10; c++)
        ck_assert_int_eq(counts[c], 1000);
}
END_TEST

/* ---- CIFAR ---- */

static void write_records(const char *name, int label_bytes, int records, int first, size_t cut)
{
    static unsigned char bytes[8 * 3074];
    const int each = label_bytes + 3072;
    for (int r = 0; r < records; r++) {
        memset(bytes + r * each, first + r, (size_t)each);
        bytes[r * each + label_bytes - 1] = (unsigned char)((first + r) % 10);
    }
    write_file(name, bytes, (size_t)(records * each) - cut);
}

START_TEST(cifar_files_in_order)
{
    static const char *const names[] = { "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                                         "data_batch_5.bin" };
    make_folder();
    for (int i = 0; i < 5; i++)
        write_records(names[i], 1, 2, 2 * i, 0);
    write_records("test_batch.bin", 1, 3, 7, 0);
    write_records("train.bin", 2, 3, 20, 0);
    const struct image_set train = cifar10_read(folder, true), test = cifar10_read(folder, false);
    const struct image_set many = cifar100_read(folder, true);
    image_set_check(&train, folder, 10, 3, 32, 32);
    image_set_check(&test, folder, 3, 3, 32, 32);
    image_set_check(&many, folder, 3, 3, 32, 32);
    for (int i = 0; i < 10; i++)
        ck_assert(train.labels[i] == i && train.pixels[i * 3072] == i && train.pixels[i * 3072 + 3071] == i);
    ck_assert(test.labels[0] == 7 && many.labels[2] == 2 && many.pixels[2 * 3072 + 1] == 22);
}
END_TEST

START_TEST(cifar_truncated)
{
    make_folder();
    write_records("test_batch.bin", 1, 2, 0, 5);
    (void)cifar10_read(folder, false);
}
END_TEST

START_TEST(cifar_label_out_of_range)
{
    make_folder();
    static const unsigned char record[3073] = { 10 };
    write_file("test_batch.bin", record, sizeof record);
    (void)cifar10_read(folder, false);
}
END_TEST

START_TEST(cifar_absent)
{
    (void)cifar100_read("/nowhere", true);
}
END_TEST

/* ---- tokens ---- */

static void write_tokens(const char *name, int magic, int version, int promised, int bytes_each, int count)
{
    unsigned char bytes[1024 + 400] = { 0 };
    const int header[3] = { magic, version, promised };
    memcpy(bytes, header, sizeof header);
    for (int i = 0; i < count; i++)
        bytes[1024 + i * bytes_each] = (unsigned char)i, bytes[1024 + i * bytes_each + 1] = 1;
    write_file(name, bytes, (size_t)(1024 + count * bytes_each));
}

START_TEST(tokens_of_both_widths)
{
    make_folder();
    write_tokens("train.bin", 20240520, 1, 50, 2, 50);
    write_tokens("val.bin", 20240801, 7, 21, 4, 21);
    const struct token_set train = tokens_read(folder, "train.bin", 8, 50257), test = tokens_read(folder, "val.bin", 10, 306);
    ck_assert(train.rows == 6 && train.count == 50 && token_at(&train, 0) == 256 && token_at(&train, 49) == 256 + 49);
    ck_assert(test.rows == 2 && token_at(&test, 20) == 256 + 20);
    token_set_check(&train, folder, 6);
}
END_TEST

static bool tokens_say(const char *words)
{
    int64_t count;
    int each;
    char error[ERROR_LENGTH] = "";
    return !tokens_count(in_folder("train.bin"), &count, &each, error) && strstr(error, words);
}

START_TEST(token_headers_that_lie)
{
    make_folder();
    write_tokens("train.bin", 20240520, 1, 51, 2, 50);
    ck_assert(tokens_say("promises 51 tokens, which are 1126 bytes; the file has 1124"));
    write_tokens("train.bin", 20240520, 7, 50, 2, 50);
    ck_assert(tokens_say("no token file"));
    write_tokens("train.bin", 20240801, 7, -1, 4, 5);
    ck_assert(tokens_say("promises 4294967295 tokens"));
    write_file("train.bin", "short", 5);
    ck_assert(tokens_say("shorter than the header"));
    unlink(in_folder("train.bin"));
    ck_assert(tokens_say("can't read"));
}
END_TEST

START_TEST(token_beyond_the_vocabulary)
{
    make_folder();
    write_tokens("train.bin", 20240520, 1, 50, 2, 50);
    (void)tokens_read(folder, "train.bin", 8, 256 + 49);
}
END_TEST

START_TEST(tokens_less_than_a_row)
{
    make_folder();
    write_tokens("train.bin", 20240520, 1, 8, 2, 8);
    (void)tokens_read(folder, "train.bin", 8, 50257);
}
END_TEST

START_TEST(text_in_tenths)
{
    make_folder();
    write_file("text", "abcdefghijklmnopqrstuvwxyz", 26);
    const struct token_set train = text_read(in_folder("text"), 0, 9, 4, 256), test = text_read(in_folder("text"), 9, 10, 4, 256);
    const struct token_set all = text_read(in_folder("text"), 0, 10, 5, 128);
    ck_assert(train.count == 18 && train.rows == 4 && token_at(&train, 17) == 'r');
    ck_assert(test.count == 8 && test.rows == 1 && token_at(&test, 0) == 's' && token_at(&test, 7) == 'z');
    ck_assert(all.count == 26 && all.rows == 5);
}
END_TEST

START_TEST(text_that_is_empty)
{
    make_folder();
    write_file("text", "", 0);
    (void)text_read(in_folder("text"), 0, 9, 4, 256);
}
END_TEST

START_TEST(text_of_a_row_and_of_another_count)
{
    const struct token_set set = { 3, 40, 1, NULL };
    token_set_check(&set, "text", 4);
}
END_TEST

START_TEST(sets_of_the_references)
{
    const char *cifar = runtime_reference("train/data/cifar-10-batches-bin"), *mnist = runtime_reference("train/data/mnist");
    const char *tokens = runtime_reference("train/data/tokens");
    if (!cifar || !mnist || !tokens)
        SKIP("sets_of_the_references: there are no reference values here");
    struct image_set set = cifar10_read(cifar, true);
    image_set_check(&set, cifar, 320, 3, 32, 32);
    set = cifar10_read(cifar, false);
    image_set_check(&set, cifar, 128, 3, 32, 32);
    set = idx_read(mnist, "train", 10);
    image_set_check(&set, mnist, 320, 1, 28, 28);
    set = idx_read(mnist, "t10k", 10);
    image_set_check(&set, mnist, 128, 1, 28, 28);
    const struct token_set train = tokens_read(tokens, "train.bin", 64, 256);
    ck_assert(train.count == 10241 && train.rows == 160);
}
END_TEST

/* ---- synthetic ---- */

/* A nearest-mean classifier made from one part of the set knows the other. */
START_TEST(synthetic_images_can_be_learnt)
{
    enum { SIZE = 48, CLASSES = 4, TRAIN = 400, TEST = 100 };
    const struct image_set train = synthetic_images(0, TRAIN, 3, 4, 4, CLASSES);
    const struct image_set test = synthetic_images(TRAIN, TEST, 3, 4, 4, CLASSES);
    double mean[CLASSES][SIZE] = { { 0 } };
    int count[CLASSES] = { 0 }, right = 0;
    for (int r = 0; r < TRAIN; r++, count[train.labels[r - 1]]++)
        for (int i = 0; i < SIZE; i++)
            mean[train.labels[r]][i] += train.pixels[r * SIZE + i];
    for (int c = 0; c < CLASSES; c++)
        for (int i = 0; i < SIZE; i++)
            mean[c][i] /= count[c];
    for (int r = 0; r < TEST; r++) {
        double distance[CLASSES] = { 0 };
        int guess = 0;
        for (int c = 0; c < CLASSES; c++) {
            for (int i = 0; i < SIZE; i++)
                distance[c] += (test.pixels[r * SIZE + i] - mean[c][i]) * (test.pixels[r * SIZE + i] - mean[c][i]);
            guess = distance[c] < distance[guess] ? c : guess;
        }
        right += guess == test.labels[r];
    }
    ck_assert_msg(right > 95, "%d of %d", right, TEST);
    ck_assert(memcmp(train.pixels, test.pixels, SIZE) != 0);
}
END_TEST

START_TEST(synthetic_tokens_can_be_learnt)
{
    const struct token_set set = synthetic_tokens(0, 10, 100, 50);
    int follows = 0;
    ck_assert(set.rows == 10 && set.count == 1001);
    for (int i = 1; i < 1001; i++) {
        ck_assert(token_at(&set, i) >= 0 && token_at(&set, i) < 50);
        follows += token_at(&set, i) == (token_at(&set, i - 1) * 7 + 3) % 50;
    }
    ck_assert(follows > 700 && follows < 820);
    const struct token_set other = synthetic_tokens(1, 10, 100, 50);
    ck_assert(memcmp(set.bytes, other.bytes, 400) != 0);
}
END_TEST

TCase *runtime_data_tests(void)
{
    TCase *tests = tcase_create("data");
    tcase_add_test(tests, idx_under_all_its_names);
    tcase_add_test(tests, idx_headers_that_lie);
    tcase_add_exit_test(tests, idx_truncated_inside, EXIT_DATA);
    tcase_add_exit_test(tests, idx_with_a_broken_checksum, EXIT_DATA);
    tcase_add_exit_test(tests, idx_label_out_of_range, EXIT_DATA);
    tcase_add_exit_test(tests, idx_absent, EXIT_DATA);
    tcase_add_exit_test(tests, images_of_another_size, EXIT_DATA);
    tcase_add_test(tests, fashion_mnist_is_whole);
    tcase_add_test(tests, cifar_files_in_order);
    tcase_add_exit_test(tests, cifar_truncated, EXIT_DATA);
    tcase_add_exit_test(tests, cifar_label_out_of_range, EXIT_DATA);
    tcase_add_exit_test(tests, cifar_absent, EXIT_DATA);
    tcase_add_test(tests, tokens_of_both_widths);
    tcase_add_test(tests, token_headers_that_lie);
    tcase_add_exit_test(tests, token_beyond_the_vocabulary, EXIT_DATA);
    tcase_add_exit_test(tests, tokens_less_than_a_row, EXIT_DATA);
    tcase_add_test(tests, text_in_tenths);
    tcase_add_exit_test(tests, text_that_is_empty, EXIT_DATA);
    tcase_add_exit_test(tests, text_of_a_row_and_of_another_count, EXIT_DATA);
    tcase_add_test(tests, sets_of_the_references);
    tcase_add_test(tests, synthetic_images_can_be_learnt);
    tcase_add_test(tests, synthetic_tokens_can_be_learnt);
    return tests;
}
