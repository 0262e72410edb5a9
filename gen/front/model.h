/* model.h -- finding a model's function and running it with the recipe's parameters. */
#pragma once
#include "front/layers.h"
#include "recipe/recipe.h"

/* Calls `function` with builder->input and the recipe's parameters, bound by name. A parameter that the recipe leaves out
 * takes the file's `static const int default_<parameter> = 16;`, and is an error without one. False after complaints;
 * else *logits is what the model returned, also an OUTPUT_LOGITS of the graph. */
bool model_run(Builder *builder, const CFile *file, const CFunction *function, const Doc *parameters, Place place,
               Node **logits);

/* The file of `dir` that defines `tensor function(...)`, by its text; NULL when none does. */
const char *model_find(Arena *arena, const char *dir, const char *function);

/* Names of all models of `dir`, in order of file and line. */
TextArray model_names(Arena *arena, const char *dir);

/* --list models: a line a model: its call, and the first line of the comment before it. */
void model_list(Arena *arena, Buffer *out, const char *dir);
