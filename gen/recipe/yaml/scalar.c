/* scalar.c -- what a plain scalar means: YAML 1.1 as PyYAML and OmegaConf read it.
 *
 * The two departures of OmegaConf are ours: 1e-3 without a dot is a number, and dates stay texts. Forms that surprise
 * (yes, 010, 1:30) are read as everyone else reads them, with a warning. */
#include "recipe/yaml/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

typedef struct Word { const char *text; DocKind kind; double value; bool surprises; } Word;

static const Word words[] = {
    { "", DOC_NULL, 0, false },      { "~", DOC_NULL, 0, false },     { "null", DOC_NULL, 0, false },
    { "Null", DOC_NULL, 0, false },  { "NULL", DOC_NULL, 0, false },
    { "true", DOC_BOOL, 1, false },  { "True", DOC_BOOL, 1, false },  { "TRUE", DOC_BOOL, 1, false },
    { "false", DOC_BOOL, 0, false }, { "False", DOC_BOOL, 0, false }, { "FALSE", DOC_BOOL, 0, false },
    { "yes", DOC_BOOL, 1, true },    { "Yes", DOC_BOOL, 1, true },    { "YES", DOC_BOOL, 1, true },
    { "no", DOC_BOOL, 0, true },     { "No", DOC_BOOL, 0, true },     { "NO", DOC_BOOL, 0, true },
    { "on", DOC_BOOL, 1, true },     { "On", DOC_BOOL, 1, true },     { "ON", DOC_BOOL, 1, true },
    { "off", DOC_BOOL, 0, true },    { "Off", DOC_BOOL, 0, true },    { "OFF", DOC_BOOL, 0, true },
    { ".inf", DOC_FLOAT, INFINITY, false },   { ".Inf", DOC_FLOAT, INFINITY, false },
    { ".INF", DOC_FLOAT, INFINITY, false },   { "+.inf", DOC_FLOAT, INFINITY, false },
    { "+.Inf", DOC_FLOAT, INFINITY, false },  { "+.INF", DOC_FLOAT, INFINITY, false },
    { "-.inf", DOC_FLOAT, -INFINITY, false }, { "-.Inf", DOC_FLOAT, -INFINITY, false },
    { "-.INF", DOC_FLOAT, -INFINITY, false }, { ".nan", DOC_FLOAT, NAN, false },
    { ".NaN", DOC_FLOAT, NAN, false },        { ".NAN", DOC_FLOAT, NAN, false },
};

static void surprise(Diagnostics *diag, const Doc *doc, const char *flag, const char *read_as, const char *instead)
{
    if (diag && diag->warnings < YAML_MOST_COMPLAINTS)
        warn(diag, doc->place, flag, "'%s' is read as %s, as YAML 1.1 says; write %s, or quote it if a text is meant",
             doc->text, read_as, instead);
}

static bool resolve_word(Diagnostics *diag, Doc *doc)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!text_equal(words[i].text, doc->text))
            continue;
        doc->kind = words[i].kind;
        if (doc->kind == DOC_BOOL)
            doc->truth = words[i].value != 0;
        if (doc->kind == DOC_FLOAT)
            doc->number = words[i].value;
        if (words[i].surprises) {
            const char *truth = doc->truth ? "true" : "false";
            surprise(diag, doc, "-Wyaml-bool", truth, truth);
        }
        return true;
    }
    return false;
}

/* ---- numbers ---- */

static bool all_of(const char *text, const char *allowed)
{
    return *text && !text[strspn(text, allowed)];
}

static const char *after_sign(const char *text)
{
    return text + (*text == '-' || *text == '+');
}

static const char *without_underscores(Arena *arena, const char *text)
{
    char *bare = arena_alloc(arena, strlen(text) + 1), *to = bare;
    for (; *text; text++)
        if (*text != '_')
            *to++ = *text;
    return bare;
}

/* 0b101, 017, 0x1f, 42: the base, or 0 when it is no whole number. *digits: where the digits start. */
static int whole_base(const char *text, const char **digits)
{
    *digits = text;
    if (text_starts(text, "0b") && all_of(text + 2, "01_"))
        return *digits = text + 2, 2;
    if (text_starts(text, "0x") && all_of(text + 2, "0123456789abcdefABCDEF_"))
        return *digits = text + 2, 16;
    if (text[0] == '0' && text[1] && all_of(text, "01234567_"))
        return 8;
    if (text[0] >= '0' && text[0] <= '9' && all_of(text, "0123456789_") && (text[0] != '0' || !text[1]))
        return 10;
    return 0;
}

/* A number beyond 64 bits is kept as a float: whoever wants a whole number refuses it with its range. */
static bool resolve_whole(Arena *arena, Diagnostics *diag, Doc *doc)
{
    const char *digits;
    bool negative = doc->text[0] == '-';
    int base = whole_base(after_sign(doc->text), &digits);
    const char *bare = base ? without_underscores(arena, digits) : "";
    if (!*bare)
        return false;
    errno = 0;
    unsigned long long magnitude = strtoull(bare, NULL, base);
    if (errno == ERANGE || magnitude > INT64_MAX) {
        doc->kind = DOC_FLOAT;
        double far = base == 10 ? strtod(bare, NULL) : 0x1p63;
        doc->number = negative ? -far : far;
        return true;
    }
    doc->kind = DOC_INT;
    doc->integer = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    if (base == 8) {
        const char *decimal = text_format(arena, "%lld", (long long)doc->integer);
        surprise(diag, doc, "-Wyaml-octal", decimal, decimal);
    }
    return true;
}

/* 1:30 is 90, 1:30:00 is 5400. */
static bool resolve_sexagesimal(Arena *arena, Diagnostics *diag, Doc *doc)
{
    const char *at = after_sign(doc->text);
    if (*at < '1' || *at > '9' || !strchr(at, ':') || strlen(at) > 16 || !all_of(at, "0123456789:"))
        return false;
    int64_t total = 0;
    for (bool first = true; *at; first = false) {
        int length = (int)strspn(at, "0123456789");
        long part = strtol(at, NULL, 10);
        if (!length || (!first && (length > 2 || part > 59)))
            return false;
        total = total * 60 + part;
        at += length;
        if (*at == ':' && !*++at)
            return false;
    }
    doc->kind = DOC_INT;
    doc->integer = doc->text[0] == '-' ? -total : total;
    const char *decimal = text_format(arena, "%lld", (long long)doc->integer);
    surprise(diag, doc, "-Wyaml-sexagesimal", decimal, decimal);
    return true;
}

/* 1.5, 1., .5, 1e3, 1_000.5e-3: digits, then a dot or an exponent. */
static bool is_float(const char *text)
{
    const char *at = after_sign(text);
    bool digits_before = *at >= '0' && *at <= '9', marked = false;
    at += digits_before ? strspn(at, "0123456789_") : 0;
    if (*at == '.') {
        bool digits_after = at[1] >= '0' && at[1] <= '9';
        if (!digits_before && !digits_after)
            return false;
        at += 1 + (digits_after ? strspn(at + 1, "0123456789_") : 0);
        marked = true;
    } else if (!digits_before) {
        return false;
    }
    if (*at == 'e' || *at == 'E') {
        at = after_sign(at + 1);
        if (!all_of(at, "0123456789"))
            return false;
        return true;
    }
    return marked && !*at;
}

void scalar_resolve(Arena *arena, Diagnostics *diag, Doc *doc)
{
    doc->kind = DOC_TEXT;
    if (resolve_word(diag, doc) || resolve_whole(arena, diag, doc) || resolve_sexagesimal(arena, diag, doc))
        return;
    if (is_float(doc->text)) {
        doc->kind = DOC_FLOAT;
        doc->number = strtod(without_underscores(arena, doc->text), NULL);
    }
}
