/* probe.c -- one row a kind of data set: how to count it. */
#include "recipe/probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

typedef struct Probe {
    Arena *run;
    const Recipe *recipe;
    const char *path;
    DataFacts *facts;
} Probe;

/* NULL, or what is wrong. `found` false: the data is not at hand. */
typedef const char *ProbeRule(Probe *probe, bool *found);

static int64_t file_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) ? (int64_t)status.st_size : -1;
}

static const char *joined(Probe *probe, const char *name)
{
    return text_format(probe->run, "%s/%s", probe->path, name);
}

/* ---- CIFAR: records of fixed size ---- */

static int64_t cifar_samples(Probe *probe, const char *const *names, int count, int64_t record, bool *found, const char **wrong)
{
    int64_t samples = 0;
    for (int i = 0; i < count; i++) {
        const char *path = joined(probe, names[i]);
        int64_t bytes = file_size(path);
        if (bytes < 0) {
            *found = false;
            return 0;
        }
        if (bytes % record || bytes == 0)
            *wrong = text_format(probe->run, "%s has %lld bytes, which is no whole number of records of %lld", path,
                                 (long long)bytes, (long long)record);
        samples += bytes / record;
    }
    return samples;
}

static const char *probe_cifar(Probe *probe, bool *found, int64_t record, int64_t classes, const char *const *train, int files,
                               const char *test)
{
    const char *wrong = NULL;
    DataFacts *facts = probe->facts;
    facts->channels = 3, facts->height = facts->width = 32;
    facts->classes = classes;
    facts->train_samples = cifar_samples(probe, train, files, record, found, &wrong);
    if (*found && !wrong)
        facts->eval_samples = cifar_samples(probe, &test, 1, record, found, &wrong);
    return wrong;
}

static const char *probe_cifar10(Probe *probe, bool *found)
{
    static const char *const train[] = { "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                                         "data_batch_5.bin" };
    return probe_cifar(probe, found, 3073, 10, train, 5, "test_batch.bin");
}

static const char *probe_cifar100(Probe *probe, bool *found)
{
    static const char *const train[] = { "train.bin" };
    return probe_cifar(probe, found, 3074, 100, train, 1, "test.bin");
}

/* ---- IDX: the header says it ---- */

static const char *idx_header(Probe *probe, const char *stem, int64_t dims[3], bool *found)
{
    static const char *const endings[] = { "-images-idx3-ubyte", "-images-idx3-ubyte.gz", "-images.idx3-ubyte",
                                           "-images.idx3-ubyte.gz" };
    unsigned char header[16];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *path = text_format(probe->run, "%s/%s%s", probe->path, stem, endings[i]);
        if (access(path, R_OK) != 0)
            continue;
        gzFile file = gzopen(path, "rb");
        int got = file ? gzread(file, header, sizeof header) : -1;
        if (file)
            gzclose(file);
        if (got != (int)sizeof header || header[0] || header[1] || header[2] != 8 || header[3] != 3)
            return text_format(probe->run, "%s is no IDX file of images (bytes 00 00 08 03 are expected at its start)", path);
        for (int k = 0; k < 3; k++)
            dims[k] = (int64_t)header[4 + 4 * k] << 24 | header[5 + 4 * k] << 16 | header[6 + 4 * k] << 8 | header[7 + 4 * k];
        return NULL;
    }
    *found = false;
    return NULL;
}

static const char *probe_idx(Probe *probe, bool *found)
{
    int64_t train[3] = { 0 }, test[3] = { 0 };
    DataFacts *facts = probe->facts;
    const char *wrong = idx_header(probe, "train", train, found);
    if (!wrong && *found)
        wrong = idx_header(probe, "t10k", test, found);
    if (wrong)
        return wrong;
    facts->channels = 1;
    facts->height = *found ? train[1] : 28;
    facts->width = *found ? train[2] : 28;
    facts->classes = probe->recipe->data.num_classes ? probe->recipe->data.num_classes : 10;
    facts->train_samples = train[0];
    facts->eval_samples = test[0];
    if (*found && (train[1] != test[1] || train[2] != test[2]))
        return text_format(probe->run, "training images are %lld x %lld, test images %lld x %lld", (long long)train[1],
                           (long long)train[2], (long long)test[1], (long long)test[2]);
    return NULL;
}

/* ---- text ---- */

enum { TOKEN_HEADER = 1024, MAGIC_GPT2 = 20240520, MAGIC_LLAMA3 = 20240801 };

static const char *count_tokens(Probe *probe, const char *path, int64_t *tokens, bool *found)
{
    FILE *file = fopen(path, "rb");
    int32_t header[3] = { 0 };
    if (!file) {
        *found = false;
        return NULL;
    }
    size_t got = fread(header, sizeof header, 1, file);
    fclose(file);
    int64_t width = header[0] == MAGIC_LLAMA3 ? 4 : 2, bytes = file_size(path);
    if (got != 1 || (header[0] != MAGIC_GPT2 && header[0] != MAGIC_LLAMA3))
        return text_format(probe->run, "%s has no header of token files (20240520 or 20240801)", path);
    if (bytes != TOKEN_HEADER + header[2] * width)
        return text_format(probe->run, "%s: the header promises %d tokens, %lld bytes; the file has %lld", path, header[2],
                           (long long)(TOKEN_HEADER + header[2] * width), (long long)bytes);
    *tokens = header[2];
    return NULL;
}

static void rows_of_tokens(Probe *probe, int64_t train, int64_t test)
{
    int64_t length = probe->facts->length;
    probe->facts->train_samples = train > 0 ? (train - 1) / length : 0;
    probe->facts->eval_samples = test > 0 ? (test - 1) / length : 0;
}

static const char *probe_tokens(Probe *probe, bool *found)
{
    int64_t train = 0, test = 0;
    const char *wrong = count_tokens(probe, joined(probe, "train.bin"), &train, found);
    if (!wrong && *found)
        wrong = count_tokens(probe, joined(probe, "val.bin"), &test, found);
    if (!wrong && *found)
        rows_of_tokens(probe, train, test);
    return wrong;
}

/* The first nine tenths train, the rest evaluates. */
static const char *probe_text(Probe *probe, bool *found)
{
    int64_t bytes = file_size(probe->path);
    *found = bytes >= 0;
    int64_t train = bytes / 10 * 9;
    if (*found)
        rows_of_tokens(probe, train, bytes - train);
    return NULL;
}

static const char *probe_synthetic(Probe *probe, bool *found)
{
    const Dataset *data = &probe->recipe->data;
    DataFacts *facts = probe->facts;
    *found = true;
    facts->is_text = data->sequence_length > 0;
    facts->channels = data->image[0], facts->height = data->image[1], facts->width = data->image[2];
    facts->classes = facts->is_text ? data->vocab_size : data->num_classes;
    facts->train_samples = data->samples;
    facts->eval_samples = data->samples / 4 ? data->samples / 4 : 1;
    return NULL;
}

static const struct { const char *name; ProbeRule *rule; bool is_text; } probes[] = {
    { "cifar10", probe_cifar10, false },   { "cifar100", probe_cifar100, false }, { "mnist", probe_idx, false },
    { "fashion_mnist", probe_idx, false }, { "idx", probe_idx, false },           { "tokens", probe_tokens, true },
    { "text", probe_text, true },          { "synthetic", probe_synthetic, false },
};

const char *dataset_path(Arena *run, const Recipe *recipe)
{
    const char *path = recipe->data.path;
    if (!path || path[0] == '/')
        return path ? path : ".";
    return text_equal(recipe->folder, ".") ? path : text_format(run, "%s/%s", recipe->folder, path);
}

static bool accept_counts(Diagnostics *diag, const Recipe *recipe, const char *path, bool found, DataFacts *facts)
{
    int64_t stated = recipe->data.samples;
    if (!found && !stated) {
        complain(diag, recipe->dataset.place, "no %s data at '%s'; where it is not at hand, `samples:` must give its size",
                 recipe->dataset.name, path);
        return false;
    }
    if (!found)
        facts->train_samples = facts->eval_samples = stated;
    if (facts->train_samples < 1 || facts->eval_samples < 1) {
        complain(diag, recipe->dataset.place, "the data at '%s' is too short: %lld samples to train on, %lld to evaluate", path,
                 (long long)facts->train_samples, (long long)facts->eval_samples);
        return false;
    }
    return true;
}

bool dataset_probe(Arena *run, Diagnostics *diag, const Recipe *recipe, DataFacts *facts)
{
    *facts = (DataFacts){ 0 };
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        if (!text_equal(probes[i].name, recipe->dataset.name))
            continue;
        facts->is_text = probes[i].is_text;
        facts->length = recipe->data.sequence_length;
        Probe probe = { run, recipe, dataset_path(run, recipe), facts };
        bool found = true;
        const char *wrong = probes[i].rule(&probe, &found);
        if (wrong) {
            complain(diag, recipe->dataset.place, "%s", wrong);
            return false;
        }
        return accept_counts(diag, recipe, probe.path, found, facts);
    }
    bug("no probe for data set '%s'", recipe->dataset.name);
}
