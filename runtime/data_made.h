/* data_made.h -- data sets made of random numbers, with something in them to learn. */
#pragma once
#include <stdint.h>

//% part synthetic_images needs image_set random memory_get
/* Rows first .. first + rows - 1 of an endless set: each pixel lies half way between its class's pattern and noise. */
static struct image_set synthetic_images(int64_t first, int64_t rows, int channels, int height, int width, int classes);

//% part synthetic_tokens needs token_set random memory_get
/* `rows` rows of text: three tokens of four follow from the one before. Stream 0 trains, stream 1 evaluates. */
static struct token_set synthetic_tokens(int stream, int64_t rows, int64_t length, int64_t vocabulary);
