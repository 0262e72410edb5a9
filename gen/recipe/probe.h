/* probe.h -- what a data set is, learned at generation: sizes from its files where they are at hand, else
 * from `samples:` of the recipe. Bytes are read by the emitted program; here only counts. */
#pragma once
#include "recipe/recipe.h"

typedef struct DataFacts {
    bool is_text;
    int64_t train_samples, eval_samples;
    int64_t channels, height, width;    /* images */
    int64_t length;                     /* text: tokens a row */
    int64_t classes;                    /* 0: not known from the data */
} DataFacts;

/* False after a complaint at the data set's place. */
bool dataset_probe(Arena *run, Diagnostics *diag, const Recipe *recipe, DataFacts *facts);

/* The data set's path as the program will open it: joined to the recipe's folder unless absolute. */
const char *dataset_path(Arena *run, const Recipe *recipe);
