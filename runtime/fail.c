/* fail.c -- see fail.h. */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

//% part fail
static void fail(int code, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fputs("train: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(code);
}
