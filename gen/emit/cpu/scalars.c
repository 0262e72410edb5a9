/* scalars.c -- the structs now, draw, fold, state: a field for each scalar that something reads. */
#include "emit/cpu/state.h"

#include <string.h>

bool emit_uses_time(const Emit *emit, const char *name)
{
    for (int i = 0; i < emit->scalars.count; i++)
        if (emit->scalars.items[i]->kind == SCALAR_TIME && text_equal(emit->scalars.items[i]->name, name))
            return true;
    return false;
}

static void print_struct(Emit *emit, Writer *plan, const char *name, const char *comment, const char *fixed,
                         const ScalarKind *kinds, int kind_count)
{
    Writer *fields = writer_create(emit->arena);
    fields->depth = 1;
    for (int i = 0; i < emit->scalars.count; i++) {
        const Scalar *scalar = emit->scalars.items[i];
        bool mine = false;
        for (int k = 0; k < kind_count; k++)
            mine |= scalar->kind == kinds[k];
        const char *field = emit_field(emit, scalar), *line = text_format(emit->arena, " %s;", field);
        if (mine && !(fixed && strstr(fixed, line)) && !strstr(writer_result(fields), line))
            writer_line(fields, "%s%s", scalar->type == TYPE_FLOAT ? "double" : "long", line);
    }
    if (!fixed && !fields->lines)
        return;
    writer_blank(plan);
    writer_comment(plan, comment);
    writer_line(plan, "static struct {");
    if (fixed)
        writer_text(plan, fixed);
    writer_text(plan, writer_result(fields));
    writer_line(plan, "} %s;", name);
}

void emit_scalars(Emit *emit, Writer *plan)
{
    static const ScalarKind now[] = { SCALAR_TIME, SCALAR_RATE, SCALAR_SIZE }, draw[] = { SCALAR_DRAW }, fold[] = { SCALAR_FOLD },
                            state[] = { SCALAR_STATE };
    print_struct(emit, plan, "now", "Where the run is.",
                 "    long step;\n    long key; /* of random values: the step, its complement when drawn again */\n    long epoch;\n    long batch_in_epoch;\n    long first_trained;\n"
                 "    long first_tensor;\n    double rate;\n", now, 3);
    print_struct(emit, plan, "draw", "Random values of this batch or micro-batch.", NULL, draw, 1);
    print_struct(emit, plan, "fold", "Sums and maxima over gradients and weights.", NULL, fold, 1);
    print_struct(emit, plan, "state", "What methods remember between steps.", NULL, state, 1);
}
