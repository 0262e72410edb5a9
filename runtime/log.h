/* log.h -- what a run says: metrics.jsonl, a progress bar or plain lines, a table of settings. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

//% part seconds_now
/* Of a clock that nobody sets. */
static double seconds_now(void);

//% part duration_text
/* "1:02:03", "4:05", "0.3 s"; `text` has room for 32 characters and is returned. */
static const char *duration_text(char *text, double seconds);

//% part number_text
/* The shortest decimal number that reads back equal; `text` has room for 32 characters and is returned. */
static const char *number_text(char *text, double value);

//% part folder_make
/* The folder and all above it; false with errno. */
static bool folder_make(const char *path);

//% part metrics needs number_text
/* One JSON object a line. A line is written whole or not at all; an error is said once and the run goes on. */
struct metrics {
    FILE *file;
    const char *path;
    char line[8192];
    int length;
    bool failed;
};
static void metrics_open(struct metrics *metrics, const char *path, bool append);
static void metrics_begin(struct metrics *metrics);
static void metrics_add(struct metrics *metrics, const char *name, double value);       /* null when not finite */
static void metrics_end(struct metrics *metrics);

//% part metrics_text needs metrics
static void metrics_add_text(struct metrics *metrics, const char *name, const char *value);

//% part progress needs seconds_now duration_text
struct progress {
    int64_t total, first;
    double start, said, interval;       /* seconds; lines of a log come at least `interval` apart */
    bool bar;
};
/* `first` batches are done already. A bar where standard output is a terminal. */
static void progress_start(struct progress *progress, int64_t first, int64_t total, double interval);
/* Is it time for progress_show? Ask before making its text. */
static bool progress_due(const struct progress *progress, int64_t done);
/* `text` says how things are ("loss 0.31, 912 images/s"). */
static void progress_show(struct progress *progress, int64_t done, const char *text);
/* A line that stays: an evaluation, a saved file. */
static void progress_line(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

//% part table_row
/* "  batch size            128" */
static void table_row(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
