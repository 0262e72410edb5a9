/* duration.c -- time strings: "2ep", "100ba", "1_000 sp", "0.5dur". */
#include "recipe/recipe.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static const char *const units[] = {
    [TIME_EPOCH] = "ep", [TIME_BATCH] = "ba", [TIME_SAMPLE] = "sp", [TIME_TOKEN] = "tok", [TIME_DURATION] = "dur",
};
enum { UNIT_COUNT = sizeof units / sizeof *units };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* Length of [+-]digits[.digits][e[+-]digits], with single _ between digits; 0 when it is no number. */
static size_t number_length(const char *text)
{
    const char *at = text + (*text == '+' || *text == '-');
    bool digits = false, dot = false;
    for (char before = 0; is_digit(*at) || (*at == '.' && !dot) || (*at == '_' && is_digit(before)); before = *at++) {
        if (*at == '_' && !is_digit(at[1]))
            return 0;
        dot |= *at == '.';
        digits |= is_digit(*at);
    }
    if (!digits)
        return 0;
    const char *exponent = at + 1;
    if (*at != 'e' && *at != 'E')
        return (size_t)(at - text);
    exponent += *exponent == '+' || *exponent == '-';
    if (!is_digit(*exponent))
        return (size_t)(at - text);         /* the e of "ep" */
    while (is_digit(*exponent))
        exponent++;
    return (size_t)(exponent - text);
}

static double number_of(Arena *arena, const char *text, size_t length)
{
    char *bare = arena_alloc(arena, length + 1), *to = bare;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '_')
            *to++ = text[i];
    return strtod(bare, NULL);
}

static bool same_unit(const char *text, size_t length, const char *unit)
{
    if (length != strlen(unit))
        return false;
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char)text[i]) != unit[i])
            return false;
    return true;
}

/* The unit's index, or -1. */
static int find_unit(const char *text, size_t length)
{
    for (int i = 0; i < UNIT_COUNT; i++)
        if (same_unit(text, length, units[i]))
            return i;
    return -1;
}

static const char *wrong_unit(Arena *arena, const char *text, size_t length)
{
    static const char *const clocks[] = { "sec", "s", "m", "h", "min", "hr" };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
        if (same_unit(text, length, clocks[i]))
            return "a time on the clock would make every run another one; give ep, ba, sp, tok or dur";
    return text_format(arena, "'%.*s' is no unit of time; those are ep, ba, sp, tok and dur", (int)length, text);
}

static const char *parse(Arena *arena, const char *text, bool may_lack_unit, Duration *duration)
{
    static const char shape[] = "a time is a number and a unit, like 2ep, 100ba, 51200sp, 1e9tok or 0.5dur";
    const char *start = skip_blanks(text);
    size_t length = number_length(start);
    if (!length)
        return shape;
    double amount = number_of(arena, start, length);
    const char *unit = skip_blanks(start + length);
    size_t unit_length = strlen(unit);
    while (unit_length && (unit[unit_length - 1] == ' ' || unit[unit_length - 1] == '\t'))
        unit_length--;
    if (!unit_length && !may_lack_unit)
        return shape;
    int found = unit_length ? find_unit(unit, unit_length) : (int)TIME_EPOCH;
    if (found < 0)
        return wrong_unit(arena, unit, unit_length);
    if (!isfinite(amount) || fabs(amount) > 0x1p53)
        return "the time is too long to be counted";
    if (found != TIME_DURATION && amount != floor(amount))
        return text_format(arena, "%s counts whole ones; a fraction of the run is given in dur", units[found]);
    *duration = (Duration){ amount, (TimeUnit)found };
    return NULL;
}

const char *duration_parse(Arena *arena, const char *text, Duration *duration)
{
    return parse(arena, text, true, duration);
}

const char *doc_duration(Arena *arena, const Doc *doc, Duration *duration)
{
    if (doc->kind == DOC_TEXT)
        return parse(arena, doc->text, false, duration);
    if (doc->kind != DOC_INT)
        return "a time is a number and a unit, like 2ep, 100ba, 1e9tok or 0.5dur, or a whole number of epochs";
    return parse(arena, text_format(arena, "%lld", (long long)doc->integer), true, duration);
}

const char *duration_text(Arena *arena, Duration duration)
{
    if (duration.unit == TIME_DURATION)
        return text_format(arena, "%s%s", text_number(arena, duration.amount), units[duration.unit]);
    return text_format(arena, "%lld%s", (long long)duration.amount, units[duration.unit]);
}
