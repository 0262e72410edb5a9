/* log.c -- see log.h. Programs never set a locale: decimal points are points. */
#include "log.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

//% part seconds_now
static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

//% part duration_text
static const char *duration_text(char *text, double seconds)
{
    const long long whole = seconds < 3e15 ? (long long)seconds : 0;
    if (seconds < 10)
        snprintf(text, 32, "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(text, 32, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(text, 32, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    return text;
}

//% part number_text
static const char *number_text(char *text, double value)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

//% part folder_make
static bool folder_make(const char *path)
{
    char part[4096];
    struct stat status;
    const size_t length = strlen(path);
    if (length >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (size_t i = 1; i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return false;
    }
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    errno = ENOTDIR;
    return false;
}

//% part metrics
static void metrics_fail(struct metrics *metrics)
{
    if (!metrics->failed)
        fprintf(stderr, "train: can't write %s: %s; the run goes on without it\n", metrics->path, strerror(errno));
    metrics->failed = true;
}

static void metrics_open(struct metrics *metrics, const char *path, bool append)
{
    metrics->path = path;
    metrics->length = 0;
    metrics->failed = false;
    metrics->file = fopen(path, append ? "a" : "w");
    if (!metrics->file)
        metrics_fail(metrics);
}

static void metrics_begin(struct metrics *metrics)
{
    metrics->length = 0;
}

/* One byte stays free for the brace, one for the line's end, one for the zero. */
static void metrics_put(struct metrics *metrics, const char *text)
{
    const int length = (int)strlen(text), room = (int)sizeof metrics->line - 3 - metrics->length;
    memcpy(metrics->line + metrics->length, text, (size_t)(length < room ? length : room));
    metrics->length += length < room ? length : room;
}

/* A text in quotes. */
static void metrics_quote(struct metrics *metrics, const char *text)
{
    char piece[8];
    metrics_put(metrics, "\"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        snprintf(piece, sizeof piece, c < 0x20 ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
        metrics_put(metrics, piece);
    }
    metrics_put(metrics, "\"");
}

static void metrics_name(struct metrics *metrics, const char *name)
{
    metrics_put(metrics, metrics->length ? ", " : "{");
    metrics_quote(metrics, name);
    metrics_put(metrics, ": ");
}

static void metrics_add(struct metrics *metrics, const char *name, double value)
{
    char text[32];
    metrics_name(metrics, name);
    metrics_put(metrics, isfinite(value) ? number_text(text, value) : "null");
}

static void metrics_end(struct metrics *metrics)
{
    if (!metrics->file || metrics->failed)
        return;
    if (metrics->length == 0)
        metrics_put(metrics, "{");
    metrics->line[metrics->length++] = '}';
    metrics->line[metrics->length++] = '\n';
    if (fwrite(metrics->line, 1, (size_t)metrics->length, metrics->file) != (size_t)metrics->length
        || fflush(metrics->file) != 0)
        metrics_fail(metrics);
}

//% part metrics_text
static void metrics_add_text(struct metrics *metrics, const char *name, const char *value)
{
    metrics_name(metrics, name);
    metrics_quote(metrics, value);
}

//% part progress
static void progress_start(struct progress *progress, int64_t first, int64_t total, double interval)
{
    progress->first = first;
    progress->total = total;
    progress->interval = interval;
    progress->start = seconds_now();
    progress->said = progress->start - interval;
    progress->bar = isatty(STDOUT_FILENO);
}

static bool progress_due(const struct progress *progress, int64_t done)
{
    const double quiet = seconds_now() - progress->said;
    return done >= progress->total || quiet >= (progress->bar ? 0.1 : progress->interval);
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/* "[####----]  12/40  0:31 left  TEXT", cut at the terminal's edge */
static void show_bar(int64_t done, int64_t total, const char *left, const char *text)
{
    enum { CELLS = 24 };
    char line[512];
    char bar[CELLS + 1];
    const int full = total > 0 ? (int)(done * CELLS / total) : CELLS;
    memset(bar, '-', CELLS);
    memset(bar, '#', (size_t)(full < CELLS ? full : CELLS));
    bar[CELLS] = 0;
    snprintf(line, sizeof line, "[%s] %lld/%lld  %s left  %s", bar, (long long)done, (long long)total, left, text);
    printf("\r\033[K%.*s%s", terminal_width() - 1, line, done >= total ? "\n" : "");
}

static void progress_show(struct progress *progress, int64_t done, const char *text)
{
    char left[32];
    const double now = seconds_now(), done_here = done > progress->first ? (double)(done - progress->first) : 1;
    const double each = (now - progress->start) / done_here;
    duration_text(left, each * (double)(progress->total - done));
    if (progress->bar)
        show_bar(done, progress->total, left, text);
    else
        printf("%lld/%lld  %s left  %s\n", (long long)done, (long long)progress->total, left, text);
    fflush(stdout);
    progress->said = now;
}

static void progress_line(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    if (progress->bar)
        fputs("\r\033[K", stdout);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

//% part table_row
static void table_row(const char *name, const char *format, ...)
{
    va_list arguments;
    printf("  %-24s", name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}
