/* eval_calls.c -- calls of functions in the file, of mathematics, of the host; printf's formats for hosts. */
#include <stdio.h>

#include "front/eval.h"

/* The host may change what pointers lead to; in a branch that must be undone after it. */
static void log_leaves(Evaluator *ev, Value *cell)
{
    if (cell->kind == VALUE_STRUCT)
        for (int i = 0; i < cell->record.count; i++)
            log_leaves(ev, cell->record.fields[i].value);
    else if (cell->kind == VALUE_ARRAY)
        for (int i = 0; i < cell->array.count; i++)
            log_leaves(ev, &cell->array.items[i]);
    else
        eval_log(ev, cell);
}

static Value call_host(Evaluator *ev, Place place, const CFunction *function, Value *arguments, int count)
{
    CallSite site = { place, function->name, ev->frame ? ev->frame->function : NULL };
    if (!ev->host->call)
        eval_fail(ev, place, "'%s' can't be called here", function->name);
    for (int i = 0; i < count && ev->marks.count; i++)
        if (arguments[i].kind == VALUE_POINTER && arguments[i].target)
            log_leaves(ev, arguments[i].target);
    Value result = { .kind = VALUE_VOID };
    if (!ev->host->call(ev->host->context, ev, &site, arguments, count, &result)) {
        eval_note_callers(ev);
        eval_stop(ev);
    }
    if (function->result->kind == CTYPE_VOID)
        return (Value){ .kind = VALUE_VOID };
    return value_converted(ev, place, result, function->result);
}

static Value call_without_body(Evaluator *ev, const Tree *tree, const CFunction *function, Value *arguments,
                               int count)
{
    for (int i = 0; i < count; i++)
        arguments[i] = i < function->parameters.count
            ? value_converted(ev, tree->parts[i + 1]->place, arguments[i], function->parameters.items[i].type)
            : value_copied(ev, arguments[i]);
    if (eval_is_math(function))
        return value_scalar(eval_math(ev, function, arguments));
    return call_host(ev, tree->place, function, arguments, count);
}

Value eval_call(Evaluator *ev, const Tree *tree)
{
    Value callee = eval(ev, tree->parts[0]);
    if (callee.kind != VALUE_FUNCTION || !callee.function)
        eval_fail(ev, tree->place, "what is called here is no function");
    const CFunction *function = callee.function;
    int count = tree->part_count - 1;
    Value *arguments = arena_array(ev->arena, Value, count);
    for (int i = 0; i < count; i++)
        arguments[i] = eval(ev, tree->parts[i + 1]);
    Value result;
    if (!function->body)
        return call_without_body(ev, tree, function, arguments, count);
    if (eval_tabulated_call(ev, tree->place, function, arguments, count, &result))
        return result;
    return eval_call_function(ev, tree->place, function, arguments, count);
}

/* ---- printf's formats ---- */
typedef struct Formatting {
    Evaluator *ev;
    const CallSite *site;
    const Value *arguments;
    int count, next;
    Buffer out;
} Formatting;

static bool format_fails(Formatting *at, const char *problem)
{
    complain(at->ev->diag, at->site->place, "%s: %s", at->site->callee, problem);
    return false;
}

static bool format_number(Formatting *at, const char *spec, char letter, Value value)
{
    Arena *arena = at->ev->arena;
    if (value.kind != VALUE_SCALAR)
        return format_fails(at, text_format(arena, "%%%c needs a number, got %s", letter,
                                            value_describe(value)));
    if (!expr_is_constant(value.scalar))
        return format_fails(at, "a name can't depend on a number that is known only at run time");
    double number = expr_value(value.scalar);
    if (strchr("feg", letter)) {
        buffer_add(&at->out, text_format(arena, "%s%c", spec, letter), number);
        return true;
    }
    if (value.scalar->type == TYPE_FLOAT)
        return format_fails(at, text_format(arena, "%%%c needs an integer, got a real number", letter));
    if (letter == 'c')
        buffer_add(&at->out, "%c", (char)number);
    else
        buffer_add(&at->out, text_format(arena, "%sll%c", spec, letter), (long long)number);
    return true;
}

/* One conversion; `spec` is "%-5.2", without letters of length, `letter` what is converted. */
static bool format_one(Formatting *at, const char *spec, char letter)
{
    Arena *arena = at->ev->arena;
    if (!letter || !strchr("diuxcsfeg", letter))
        return format_fails(at, text_format(arena, "the format has '%s%c', which is not known", spec,
                                            letter ? letter : ' '));
    if (at->next >= at->count)
        return format_fails(at, "the format asks for more values than are given");
    Value value = at->arguments[at->next++];
    if (letter != 's')
        return format_number(at, spec, letter, value);
    if (value.kind != VALUE_TEXT || !value.text)
        return format_fails(at, text_format(arena, "%%s needs a text, got %s", value_describe(value)));
    buffer_add(&at->out, text_format(arena, "%ss", spec), value.text);
    return true;
}

static bool format_all(Formatting *at, const char *format)
{
    for (const char *letter = format; *letter; letter++) {
        if (at->out.count > LONGEST_TEXT)
            return format_fails(at, "the text is longer than 4096 bytes");
        if (*letter != '%' || letter[1] == '%') {
            letter += *letter == '%';
            buffer_bytes(&at->out, letter, 1);
            continue;
        }
        size_t width = 1 + strspn(letter + 1, "-+ #0123456789.");
        const char *spec = text_slice(at->ev->arena, letter, width);
        letter += width + strspn(letter + width, "hlzjt");
        if (width > 8)
            return format_fails(at, text_format(at->ev->arena, "'%s' in the format is too wide", spec));
        if (!format_one(at, spec, *letter))
            return false;
    }
    return at->next == at->count || format_fails(at, "more values are given than the format asks for");
}

const char *value_format(Evaluator *ev, const CallSite *site, const Value *arguments, int count)
{
    Formatting at = { ev, site, arguments, count, 1, { .arena = ev->arena } };
    if (count < 1 || arguments[0].kind != VALUE_TEXT || !arguments[0].text) {
        format_fails(&at, "the first argument must be a format, a text");
        return NULL;
    }
    return format_all(&at, arguments[0].text) ? buffer_text(&at.out) : NULL;
}
