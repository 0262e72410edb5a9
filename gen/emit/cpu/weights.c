/* weights.c -- the section on parameters: their places, their table, their initial values. */
#include "emit/cpu/state.h"

static const char *shape_list(Emit *emit, Shape shape, const char *between)
{
    Buffer out = { .arena = emit->arena };
    for (int i = 0; i < shape.rank; i++)
        buffer_add(&out, "%s%lld", i ? between : "", (long long)shape.dim[i]);
    return shape.rank ? buffer_text(&out) : "1";
}

static void print_places(Emit *emit, Writer *plan)
{
    const Program *program = emit->program;
    writer_comment(plan, "Weights: the trained ones, then the running statistics; each row-major as in its file.");
    writer_line(plan, "enum {");
    for (int buffers = 0; buffers < 2; buffers++)
        for (int i = 0; i < program->parameters.count; i++) {
            const Parameter *parameter = program->parameters.items[i];
            if (parameter->is_buffer != (buffers == 1))
                continue;
            emit->weight_names[i] = names_make(emit->names, parameter->name);
            writer_line(plan, "%s = %lld, /* (%s)%s%s */", emit->weight_names[i], (long long)program->offset[i],
                        shape_list(emit, parameter->shape, ", "), parameter->method ? " " : "",
                        parameter->method ? parameter->method : "");
        }
    int trained = 0;
    for (int i = 0; i < program->parameters.count; i++)
        trained += !program->parameters.items[i]->is_buffer;
    writer_line(plan, "TRAINED = %lld,", (long long)program->trainable);
    writer_line(plan, "WEIGHTS = %lld,", (long long)(program->trainable + program->buffers));
    writer_line(plan, "TRAINED_TENSORS = %d,", trained);
    writer_line(plan, "TENSORS = %d,", program->parameters.count);
    writer_line(plan, "};");
    writer_line(plan, "static real *weights, *gradients;");
}

static int64_t output_units(const Parameter *parameter)
{
    if (parameter->shape.rank <= 1)
        return 1;
    return parameter->shape.dim[0];
}

static void print_table(Emit *emit, Writer *plan)
{
    const Program *program = emit->program;
    writer_blank(plan);
    writer_comment(plan, "Their names in files. `units`: output units, the rows of axis 0 (1 for vectors).");
    writer_line(plan, "static const struct tensor {");
    writer_line(plan, "const char *name;");
    writer_line(plan, "long at, count, units;");
    writer_line(plan, "int rank;");
    writer_line(plan, "long shape[%d];", MAX_RANK);
    writer_line(plan, "} tensors[%d] = {", program->parameters.count);
    for (int buffers = 0; buffers < 2; buffers++)
        for (int i = 0; i < program->parameters.count; i++) {
            const Parameter *parameter = program->parameters.items[i];
            if (parameter->is_buffer == (buffers == 1))
                writer_line(plan, "{ \"%s\", %s, %lld, %lld, %d, { %s } },", parameter->name, emit->weight_names[i],
                            (long long)shape_elements(parameter->shape), (long long)output_units(parameter),
                            parameter->shape.rank, shape_list(emit, parameter->shape, ", "));
        }
    writer_line(plan, "};");
}

/* Initial values: equal expressions share a function; what is random differs by the parameter's site alone. */
typedef struct InitialPlace { Emit *emit; } InitialPlace;

static const char *initial_random(void *context, const Expr *expr, const char *a, const char *b)
{
    Emit *emit = ((InitialPlace *)context)->emit;
    const char *part = expr->op == EXPR_uniform ? "random_uniform" : expr->op == EXPR_normal ? "random_normal" : "random_beta";
    emit_part(emit, part);
    if (expr->op == EXPR_beta)
        return text_format(emit->arena, "(real)%s(%s, %s, site, 0, 0, i, %d)", part, a, b, expr->slot);
    return text_format(emit->arena, "(real)%s(site, 0, 0, i, %d)", part, expr->slot);
}

static uint64_t site_of(const Expr *expr)
{
    if (expr->op == EXPR_uniform || expr->op == EXPR_normal || expr->op == EXPR_beta)
        return expr->site;
    for (int i = 0; i < expr_info[expr->op].operands; i++) {
        uint64_t site = site_of(expr->operand[i]);
        if (site)
            return site;
    }
    return 0;
}

static void print_initial(Emit *emit, const Parameter *parameter, Writer *calls)
{
    InitialPlace place = { emit };
    Spelling spelling = emit_spelling(emit, NULL, NULL);
    spelling.context = &place;
    spelling.random = initial_random;
    const char *count = text_format(emit->arena, "%lld", (long long)shape_elements(parameter->shape));
    const char *at = emit->weight_names[parameter->id];
    if (expr_is_constant(parameter->initial)) {
        emit_part(emit, "fill");
        writer_line(calls, "fill(weights + %s, %s, %s);", at, count, emit_number(emit, expr_value(parameter->initial)));
        return;
    }
    (void)emit_expr(emit, parameter->initial, NULL, NULL);      /* brings the functions it uses */
    Writer *body = writer_create(emit->arena);
    writer_line(body, "{");
    writer_text(body, "#pragma omp parallel for\n");
    writer_line(body, "for (long i = 0; i < count; i++)");
    writer_line(body, "    w[i] = %s;", expr_text(emit->arena, parameter->initial, &spelling));
    writer_line(body, "}");
    const char *name = emit_kernel(emit, "initial", NULL, "real *w, long count, uint64_t site", writer_result(body));
    writer_line(calls, "%s(weights + %s, %s, 0x%016llxull);", name, at, count, (unsigned long long)site_of(parameter->initial));
}

enum { LONGEST = 50 };

void emit_weights(Emit *emit, Writer *plan, Writer *body)
{
    const Program *program = emit->program;
    emit->weight_names = arena_array(emit->arena, const char *, program->parameters.count);
    print_places(emit, plan);
    print_table(emit, plan);
    Writer *calls = writer_create(emit->arena), *all = writer_create(emit->arena);
    calls->depth = 1;
    int functions = 0;
    for (int i = 0; i < program->parameters.count; i++) {
        print_initial(emit, program->parameters.items[i], calls);
        if (calls->lines < LONGEST && i + 1 < program->parameters.count)
            continue;
        writer_blank(body);
        writer_line(body, "static void initialize_%d(void)", ++functions);
        writer_line(body, "{");
        writer_text(body, writer_result(calls));
        writer_line(body, "}");
        writer_line(all, "initialize_%d();", functions);
        calls = writer_create(emit->arena);
        calls->depth = 1;
    }
    writer_blank(body);
    writer_line(body, "static void initialize(void)");
    writer_line(body, "{");
    body->depth = 0;
    for (int i = 1; i <= functions; i++)
        writer_line(body, "    initialize_%d();", i);
    writer_line(body, "}");
}
