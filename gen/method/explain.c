/* explain.c -- the methods as --explain shows them: their order with reasons, hooks live and dead. */
#include "method/methods.h"

static void explain_method(Buffer *out, const Method *method)
{
    buffer_add(out, "  %s", method->name);
    for (int i = 0; i < method->parameters.count; i++)
        buffer_add(out, "%s%s: %s", i ? ", " : " {", method->parameters.items[i].name, method->parameters.items[i].shown);
    buffer_add(out, "%s%s\n", method->parameters.count ? "}" : "", method->is_neutral ? "  -- neutral: it leaves no trace" : "");
    for (int i = 0; i < method->reasons.count; i++)
        buffer_add(out, "      %s\n", method->reasons.items[i]);
    if (method->matches)
        buffer_add(out, "      replaced %d calls of the model\n", method->matches);
}

static const char *const points[][2] = {
    { "source_row", "no method chooses rows" }, { "source_column", "no method chooses columns" },
    { "pixel", "no method changes pixels" }, { "mixed_pixel", "no method mixes images" },
    { "partner_weight", "no method mixes targets" }, { "loss_target", "no method changes targets" },
    { "attention_score", "no method changes scores" }, { "rank_weight", "no method selects rows" },
};

static void explain_point(Buffer *out, const Methods *methods, const char *point, const char *why)
{
    int shown = 0;
    buffer_add(out, "  %-16s", point);
    for (int i = 0; i < methods->live.count; i++)
        if (text_equal(methods->live.items[i].point, point))
            buffer_add(out, "%s%s", shown++ ? ", " : "live: ", methods->live.items[i].method);
    for (int i = 0; i < methods->dead.count; i++)
        if (text_equal(methods->dead.items[i].point, point))
            buffer_add(out, "%s%s changes nothing here", shown++ ? "; " : "dead: ", methods->dead.items[i].method);
    if (!shown)
        buffer_add(out, "dead: %s", why);
    buffer_add(out, "\n");
}

void methods_explain(Buffer *out, const Methods *methods)
{
    buffer_add(out, "optimizer:\n");
    explain_method(out, methods->optimizer);
    buffer_add(out, "schedules:\n");
    for (int i = 0; i < methods->schedules.count; i++)
        explain_method(out, methods->schedules.items[i]);
    buffer_add(out, "methods, in order:%s\n", methods->list.count ? "" : " none");
    for (int i = 0; i < methods->list.count; i++)
        explain_method(out, methods->list.items[i]);
    buffer_add(out, "hooks:\n");
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        explain_point(out, methods, points[i][0], points[i][1]);
}
