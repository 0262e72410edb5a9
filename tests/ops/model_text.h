/* model_text.h -- a reference case as a call of the model language. */
#pragma once
#include "tests/ops/cases.h"

/* "conv2d(x, 6, .kernel = 3, .padding = 1)"; NULL when the language has no such layer. */
const char *model_call(OpCase *c, const char *op);
/* Name of its first tensor, which the model is given: "x", "q", "ids", "logits". */
const char *model_input(const OpCase *c);
