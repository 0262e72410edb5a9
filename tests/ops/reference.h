/* reference.h -- the reference values: where they lie, and their tensors as doubles. */
#pragma once
#include "ir/ir.h"
#include "tests/ops/json.h"

typedef struct Tensor {
    const char *name;
    Shape shape;
    bool is_whole;                      /* stored as integers */
    double *values;
} Tensor;

typedef struct Tensors {
    Tensor *items;
    int count;
} Tensors;

/* The folder `name` of the references: in COMPOSER_GEN_SHARED, else in ../shared beside the project. NULL if
 * there is none. */
const char *reference_folder(Arena *arena, const char *name);
/* Reads a JSON file; NULL when it can't. */
const Json *reference_json(Arena *arena, const char *path);
/* Reads a safetensors file (F64, F32, I64, I32, U8); false when it can't. */
bool reference_tensors(Arena *arena, const char *path, Tensors *tensors);
const Tensor *tensor_named(const Tensors *tensors, const char *name);           /* NULL if absent */
