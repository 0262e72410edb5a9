/* memory.c -- see memory.h. */
#include "fail.h"
#include "memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

//% part bytes_text
static const char *bytes_text(char *text, double bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
    int unit = 0;
    for (; bytes >= 1024 && unit < 5; unit++)
        bytes /= 1024;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

//% part arena_map
/* The number behind `key` in a file of the kernel ("" for the first), -1 when there is none. */
static double kernel_number(const char *path, const char *key)
{
    char line[256];
    double value = -1;
    FILE *file = fopen(path, "r");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%lf", &value) != 1)
            value = -1;
    if (file)
        fclose(file);
    return value;
}

/* What the machine, or the container we are in, can still give. */
static double memory_available(void)
{
    double available = kernel_number("/proc/meminfo", "MemAvailable:") * 1024;
    double limit = kernel_number("/sys/fs/cgroup/memory.max", "");
    if (limit >= 0 && (available < 0 || limit < available))
        available = limit;
    return available;
}

static char *arena_map(size_t bytes)
{
    const size_t page = (size_t)2 << 20;
    const double available = memory_available();
    char wanted[32], there[32];
    if (available >= 0 && (double)bytes > available)
        fail(EXIT_MEMORY, "the plan needs %s (%zu bytes), %s are available", bytes_text(wanted, (double)bytes), bytes,
             bytes_text(there, available));
    void *memory = bytes > SIZE_MAX - page ? MAP_FAILED
                 : mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail(EXIT_MEMORY, "the plan needs %s (%zu bytes), which the system refuses: %s", bytes_text(wanted, (double)bytes),
             bytes, strerror(bytes > SIZE_MAX - page ? ENOMEM : errno));
    char *aligned = (char *)(((uintptr_t)memory + page - 1) / page * page);
    madvise(aligned, bytes, MADV_HUGEPAGE);     /* a wish: without it everything works, slower */
    return aligned;
}

//% part touch
static void touch(char *memory, size_t bytes)
{
#pragma omp parallel for schedule(static)
    for (long page = 0; page < (long)((bytes + 4095) / 4096); page++)
        memory[page * 4096] = 0;
}

//% part memory_get
static void *memory_get(size_t bytes, const char *what)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        fail(EXIT_MEMORY, "no memory for %s: %zu bytes", what, bytes);
    return memory;
}
