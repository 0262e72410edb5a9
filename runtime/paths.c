/* paths.c -- see paths.h. */
#include "memory.h"
#include "paths.h"

#include <stdio.h>
#include <string.h>

//% part path_under
static const char *path_under(const char *folder, const char *path)
{
    if (path[0] == '/' || strcmp(folder, ".") == 0)
        return path;
    const size_t length = strlen(folder) + strlen(path) + 2;
    char *joined = (char *)memory_get(length, "a path");
    snprintf(joined, length, "%s/%s", folder, path);
    return joined;
}
