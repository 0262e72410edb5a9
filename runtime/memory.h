/* memory.h -- the one arena of a program, and sizes in words. */
#pragma once
#include <stddef.h>

//% part bytes_text
/* "37.2 GiB"; `text` has room for 32 characters and is returned. */
static const char *bytes_text(char *text, double bytes);

//% part arena_map needs fail bytes_text
/* Zeroed memory on huge pages where the system has them; exit 6 when the machine can't give that much. Never freed. */
static char *arena_map(size_t bytes);

//% part touch
/* Each thread writes its share first, so that pages lie near the thread that works on them. */
static void touch(char *memory, size_t bytes);

//% part memory_get needs fail
/* malloc that ends the program with exit 6 when there is none; `what` says what for. */
static void *memory_get(size_t bytes, const char *what);
