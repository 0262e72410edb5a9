/* program_data.c -- what a run has from the runtime: random numbers, order of rows, synthetic data. */
#include "tests/interp/program_inside.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
typedef double real;
#include "runtime/data.c"
#include "runtime/data_made.c"
#include "runtime/fail.c"
#include "runtime/memory.c"
#include "runtime/random.c"
#include "runtime/shuffle.c"

/* ---- random numbers ---- */

void chance_seed(uint64_t seed)
{
    random_seed(seed);
}

double chance(const Expr *expr, int64_t key, int64_t row, int64_t element, double a, double b)
{
    switch (expr->op) {
    case EXPR_uniform: return random_uniform(expr->site, key, row, element, expr->slot);
    case EXPR_normal:  return random_normal(expr->site, key, row, element, expr->slot);
    case EXPR_beta:    return random_beta(a, b, expr->site, key, row, element, expr->slot);
    default:           bug("%s is not random", expr_info[expr->op].name);
    }
}

double chance_uniform(const char *site, int64_t key, int64_t row)
{
    return random_uniform(text_hash(site), key, row, 0, 0);
}

int64_t chance_integer(int64_t below, const char *site, int64_t key, int64_t row, int ordinal)
{
    return random_integer(below, text_hash(site), key, row, 0, ordinal);
}

void chance_permutation(const char *site, int64_t key, int64_t row, int64_t count, int *out)
{
    random_permutation(text_hash(site), key, row, count, out);
}

void chance_subset(const char *site, int64_t key, int64_t row, int64_t count, int64_t below, int *out)
{
    random_subset(text_hash(site), key, row, count, below, out);
}

void chance_ranks(const char *site, int64_t key, const double *weight, int64_t candidates, int64_t count, int *out)
{
    random_choice(text_hash(site), key, weight, candidates, count, out);
}

/* ---- data ---- */

static Stored stored_images(const RunFacts *facts, const Dataset *data, int64_t first, int64_t rows)
{
    struct image_set set = synthetic_images(first, rows, (int)facts->channels, (int)facts->height, (int)facts->width,
                                            (int)data->num_classes);
    return (Stored){ .pixels = set.pixels, .labels = set.labels };
}

static Stored stored_tokens(const RunFacts *facts, const Dataset *data, int stream, int64_t rows)
{
    struct token_set set = synthetic_tokens(stream, rows, facts->length, data->vocab_size);
    int *tokens = memory_get((size_t)set.count * sizeof *tokens, "tokens");
    for (int64_t i = 0; i < set.count; i++)
        tokens[i] = token_at(&set, i);
    free((void *)set.bytes);
    return (Stored){ .tokens = tokens };
}

Stored stored_set(const Program *program, bool train)
{
    const RunFacts *facts = &program->methods->facts;
    const Dataset *data = &program->recipe->data;
    int64_t rows = train ? facts->train_samples : program->evaluation_samples;
    if (!text_equal(program->recipe->dataset.name, "synthetic"))
        bug("a run is computed on synthetic data, not on %s", program->recipe->dataset.name);
    return facts->is_text ? stored_tokens(facts, data, train ? 0 : 1, rows)
                          : stored_images(facts, data, train ? 0 : facts->train_samples, rows);
}

void stored_free(Stored *stored)
{
    free((void *)stored->pixels);
    free((void *)stored->labels);
    free(stored->tokens);
}

int64_t stored_row(const Program *program, int64_t epoch, int64_t place)
{
    return program->recipe->data.shuffle
         ? shuffle_index((uint64_t)program->recipe->seed, epoch, place, program->methods->facts.train_samples) : place;
}
