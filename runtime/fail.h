/* fail.h -- how a program ends when it can't go on. */
#pragma once

//% part fail
enum {                                  /* exit codes */
    EXIT_USAGE = 2, EXIT_DATA = 3, EXIT_CHECKPOINT = 4, EXIT_DEVICE = 5, EXIT_MEMORY = 6, EXIT_NUMBERS = 7,
    EXIT_SAVE = 8, EXIT_PEER = 9, EXIT_PREEMPTED = 75
};
static void fail(int code, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
