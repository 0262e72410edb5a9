/* paths.h -- paths of a recipe: relative ones start in its folder. */
#pragma once

//% part path_under needs memory_get
/* `path`, behind `folder` when it is relative; lives as long as the program. */
static const char *path_under(const char *folder, const char *path);
