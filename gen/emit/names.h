/* names.h -- C identifiers for the names of a model: "layer1.0.conv1" becomes layer1_0_conv1.
 * The same name given twice gets _2, _3, ...; words of C and of the program's own are never handed out. */
#pragma once
#include "base/text.h"

typedef struct Names Names;

Names *names_create(Arena *arena);
void names_reserve(Names *names, const char *word);
const char *names_make(Names *names, const char *wanted);       /* a fresh identifier near `wanted` */
const char *names_identifier(Arena *arena, const char *wanted); /* only the spelling: letters, digits, _ */
