/* emit.c -- what printing one operation needs: names of tensors, sizes that may vary, kernels, library plans. */
#include "emit/cpu/state.h"

#include <string.h>

Arena *emit_arena(Emit *emit)
{
    return emit->arena;
}

bool emit_double(const Emit *emit)
{
    return emit->is_double;
}

bool emit_library(const Emit *emit)
{
    return !emit->is_double;
}

bool emit_is_image(const Node *node)
{
    return node->shape.rank == 4 && node->layout == LAYOUT_IMAGES;
}

void emit_part(Emit *emit, const char *part)
{
    parts_use(emit->used, part);
}

void emit_line(Emit *emit, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    writer_vline(emit->line_target, format, arguments);
    va_end(arguments);
}

/* ---- numbers ---- */

const char *emit_vector(Emit *emit, const int64_t *values, const char *hint)
{
    TopologyText *text = emit->current;
    int count = text->topology->phases.count;
    bool varies = false;
    for (int i = 1; i < count; i++)
        varies |= values[i] != values[0];
    if (!varies)
        return text_format(emit->arena, "%lld", (long long)values[0]);
    for (int i = 0; i < text->fields.count; i++)
        if (memcmp(text->fields.items[i].values, values, sizeof *values * (size_t)count) == 0)
            return text_format(emit->arena, "p->%s", text->fields.items[i].name);
    PhaseField field = { names_make(text->field_names, hint), arena_copy(emit->arena, values, sizeof *values * (size_t)count) };
    array_push(emit->arena, &text->fields, field);
    return text_format(emit->arena, "p->%s", field.name);
}

const char *emit_size(Emit *emit, const Node *node, SizeOf *of, int detail, const char *hint)
{
    const Topology *topology = emit->current->topology;
    int64_t *values = arena_array(emit->arena, int64_t, topology->phases.count);
    for (int i = 0; i < topology->phases.count; i++)
        values[i] = of(topology->graphs[i]->nodes.items[node->id], detail);
    return emit_vector(emit, values, hint);
}

static int64_t dim_of(const Node *node, int axis)
{
    return node->shape.dim[axis];
}

const char *emit_dim(Emit *emit, const Node *node, int axis)
{
    static const char *const image_axes[] = { "rows", "channels", "height", "width" };
    static const char *const axes[] = { "rows", "length", "columns", "depth", "extent", "extent" };
    return emit_size(emit, node, dim_of, axis, emit_is_image(node) ? image_axes[axis] : axes[axis]);
}

/* The product of axes from..to-1; `detail` packs both. */
static int64_t product_of(const Node *node, int detail)
{
    int64_t product = 1;
    for (int i = detail / MAX_RANK; i < node->shape.rank && i <= detail % MAX_RANK; i++)
        product *= node->shape.dim[i];
    return product;
}

const char *emit_elements(Emit *emit, const Node *node, int from, int to)
{
    if (from >= to)
        return "1";
    return emit_size(emit, node, product_of, from * MAX_RANK + to - 1, from == 0 && to == node->shape.rank ? "elements" : "block");
}

const char *emit_number(Emit *emit, double number)
{
    return real_text(emit->arena, number, emit->is_double);
}

/* ---- expressions ---- */

const char *emit_field(Emit *emit, const Scalar *scalar)
{
    const char *name = scalar->method ? text_format(emit->arena, "%s_%s", scalar->method, scalar->name) : scalar->name;
    Buffer out = { .arena = emit->arena };
    for (const char *c = name; *c; c++)
        if (*c != ']')
            buffer_add(&out, "%c", *c == '[' || *c == '.' ? '_' : *c);
    return buffer_text(&out);
}

static void note_scalar(Emit *emit, const Scalar *scalar)
{
    for (int i = 0; i < emit->scalars.count; i++)
        if (emit->scalars.items[i] == scalar)
            return;
    array_push(emit->arena, &emit->scalars, scalar);
}

/* Its value as it is stored, doubles as doubles. */
static const char *stored_scalar(Emit *emit, const Scalar *scalar)
{
    static const char *const homes[] = {
        [SCALAR_TIME] = "now.", [SCALAR_RATE] = "now.", [SCALAR_DRAW] = "draw.", [SCALAR_FOLD] = "fold.",
        [SCALAR_STATE] = "state.", [SCALAR_SIZE] = "now.", [SCALAR_FACT] = "",
    };
    note_scalar(emit, scalar);
    return text_format(emit->arena, "%s%s", homes[scalar->kind], emit_field(emit, scalar));
}

const char *emit_scalar(Emit *emit, const Scalar *scalar)
{
    const char *text = stored_scalar(emit, scalar);
    bool narrow = scalar->type == TYPE_FLOAT && !emit->is_double && scalar->kind != SCALAR_FACT;
    return narrow ? text_format(emit->arena, "(real)%s", text) : text;
}

const char *emit_random(Emit *emit, const Expr *expr, const char *a, const char *b, const char *row, const char *element)
{
    static const struct { ExprOp op; const char *part; } kinds[] = {
        { EXPR_uniform, "random_uniform" }, { EXPR_normal, "random_normal" }, { EXPR_beta, "random_beta" },
    };
    const char *part = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].op == expr->op)
            part = kinds[i].part;
    if (!part)
        bug("%s is no random leaf", expr_info[expr->op].name);
    emit_part(emit, part);
    const char *place = text_format(emit->arena, "0x%016llxull, %s, %s, %d", (unsigned long long)expr->site, row, element, expr->slot);
    return expr->op == EXPR_beta ? text_format(emit->arena, "(real)%s(%s, %s, %s)", part, a, b, place)
                                 : text_format(emit->arena, "(real)%s(%s)", part, place);
}

static const char *spell_table(void *context, const Table *table);

static const char *host_scalar(void *context, const Scalar *scalar)
{
    return stored_scalar(((HostPlace *)context)->emit, scalar);
}

static const char *host_random(void *context, const Expr *expr, const char *a, const char *b)
{
    const HostPlace *place = context;
    const char *text = emit_random(place->emit, expr, a, b, place->row, "0");
    return text + strlen("(real)");
}

static const char *host_table(void *context, const Table *table)
{
    return spell_table(((HostPlace *)context)->emit, table);
}

Spelling emit_host_spelling(const HostPlace *place)
{
    return (Spelling){ .is_host = true, .context = (void *)place, .scalar = host_scalar, .random = host_random, .table = host_table };
}

void emit_host_functions(Emit *emit, const Expr *expr)
{
    if (expr_uses_op(expr, EXPR_min) || expr_uses_op(expr, EXPR_max))
        emit_part(emit, "choose");
}

const char *emit_host_expr(Emit *emit, const Expr *expr)
{
    HostPlace place = { emit, "now.key, 0" };
    Spelling spelling = emit_host_spelling(&place);
    emit_host_functions(emit, expr);
    return expr_text(emit->arena, expr, &spelling);
}

static const char *spell_scalar(void *context, const Scalar *scalar)
{
    return emit_scalar(context, scalar);
}

static const char *spell_random(void *context, const Expr *expr, const char *a, const char *b)
{
    return emit_random(context, expr, a, b, "now.step, 0", "0");
}

static const char *spell_table(void *context, const Table *table)
{
    Emit *emit = context;
    const char *name = text_format(emit->arena, "%s_%s", table->method ? table->method : "table", table->name);
    name = names_identifier(emit->arena, name);
    if (!table->values)
        return name;                    /* a subset: declared with the draws */
    name = text_format(emit->arena, "%s_%d", name, table->count);
    for (int i = 0; i < emit->tables.count; i++)
        if (text_equal(emit->tables.items[i], name))
            return name;
    array_push(emit->arena, &emit->tables, name);
    Buffer values = { .arena = emit->arena };
    for (int i = 0; i < table->count; i++)
        buffer_add(&values, "%s%s", i == 0 ? "" : i % 8 ? ", " : ",\n    ", emit_number(emit, table->values[i]));
    writer_line(emit->plan_text, "static const real %s[%d] = {", name, table->count);
    writer_line(emit->plan_text, "%s", buffer_text(&values));
    writer_line(emit->plan_text, "};");
    return name;
}

Spelling emit_spelling(Emit *emit, const char *const *inputs, const char *const *indices)
{
    return (Spelling){ emit->is_double, false, emit, spell_scalar, spell_random, spell_table, inputs, indices };
}

/* Functions of expressions that are parts of the program. */
void emit_functions_of(Emit *emit, const Expr *expr)
{
    static const ExprOp own[] = { EXPR_exp, EXPR_log, EXPR_tanh, EXPR_erf };
    static const char *const parts[] = { "real_exp", "real_log", "real_tanh", "real_erf" };
    for (int i = 0; i < 4; i++)
        if (expr_uses_op(expr, own[i]))
            emit_part(emit, parts[i]);
    if (expr_uses_op(expr, EXPR_min) || expr_uses_op(expr, EXPR_max))
        emit_part(emit, "choose");
}

const char *emit_expr(Emit *emit, const Expr *expr, const char *const *inputs, const char *const *indices)
{
    Spelling spelling = emit_spelling(emit, inputs, indices);
    emit_functions_of(emit, expr);
    return expr_text(emit->arena, expr, &spelling);
}

/* ---- tensors ---- */

const PlanSlot *emit_slot(Emit *emit, const Node *node)
{
    const Plan *plan = emit->current->topology->plan;
    const PlanSlot *slot = &plan->slots[node->id];
    while (slot->storage == STORE_ALIAS)
        slot = &plan->slots[slot->of->id];
    return slot;
}

static const char *input_name(const Node *node)
{
    static const char *const names[] = {
        [INPUT_IMAGES] = "batch.images", [INPUT_TOKENS] = "batch.tokens", [INPUT_TARGETS] = "batch.targets",
        [INPUT_PARTNER_TARGETS] = "batch.partner_targets", [INPUT_DENSE_TARGETS] = "batch.dense_targets",
        [INPUT_GRADIENT_SEED] = "&batch.share",
    };
    return names[node->at.input.kind];
}

const char *emit_tensor(Emit *emit, const Node *node)
{
    const Plan *plan = emit->current->topology->plan;
    while (plan->slots[node->id].storage == STORE_ALIAS)
        node = plan->slots[node->id].of;
    const PlanSlot *slot = &plan->slots[node->id];
    if (slot->storage == STORE_INPUT)
        return input_name(node);
    if (slot->storage == STORE_WEIGHT)
        return text_format(emit->arena, "weights + %s", emit->weight_names[slot->parameter->id]);
    if (slot->storage == STORE_GRADIENT)
        return text_format(emit->arena, "gradients + %s", emit->weight_names[slot->parameter->id]);
    const char *name = emit->current->names[node->id];
    return node->dtype == DTYPE_INT32 ? text_format(emit->arena, "(int *)(arena + %s)", name)
                                      : text_format(emit->arena, "arena + %s", name);
}

const char *emit_result(Emit *emit, const Node *producer, int index)
{
    const Graph *graph = topology_graph(emit->current->topology);
    if (index == 0)
        return emit_tensor(emit, producer);
    for (int i = producer->id + 1; i < graph->nodes.count; i++) {
        const Node *node = graph->nodes.items[i];
        if (node->op == OP_result && node->inputs[0] == producer && node->at.result.index == index)
            return emit_tensor(emit, node);
    }
    return "NULL";
}

/* ---- kernels ---- */

const char *emit_kernel(Emit *emit, const char *hint, const char *comment, const char *parameters, const char *body)
{
    const char *key = text_format(emit->arena, "(%s)\n%s", parameters, body);
    for (int i = 0; i < emit->kernels.count; i++)
        if (text_equal(emit->kernels.items[i].key, key))
            return emit->kernels.items[i].name;
    Kernel kernel = { key, names_make(emit->names, hint) };
    array_push(emit->arena, &emit->kernels, kernel);
    Writer *text = emit->kernel_text;
    writer_blank(text);
    if (comment)
        writer_comment(text, comment);
    writer_line(text, "static void %s(%s)", kernel.name, parameters);
    writer_text(text, body);
    return kernel.name;
}

const char *emit_instance(Emit *emit, const char *part, const Slot *slots, int count, const char *hint)
{
    Buffer key = { .arena = emit->arena };
    buffer_add(&key, "%s\n", part);
    for (int i = 0; i < count; i++)
        buffer_add(&key, "%s = %s\n", slots[i].name, slots[i].text ? slots[i].text : "");
    for (int i = 0; i < emit->kernels.count; i++)
        if (text_equal(emit->kernels.items[i].key, buffer_text(&key)))
            return emit->kernels.items[i].name;
    const char *wanted = text_format(emit->arena, "%s%s%s", part, hint && *hint ? "_" : "", hint ? hint : "");
    const char *name = names_make(emit->names, wanted);
    Kernel kernel = { buffer_text(&key), name };
    array_push(emit->arena, &emit->kernels, kernel);
    const char *suffix = text_starts(name, part) ? name + strlen(part) : name;
    parts_use_needs(emit->used, part);
    writer_blank(emit->kernel_text);
    writer_text(emit->kernel_text, parts_instance_text(emit->arena, emit->parts, part, slots, count, suffix));
    return name;
}

/* ---- library plans ---- */

const char *emit_plan(Emit *emit, const char *type, const char *hint, const char *setup_format,
                      const Node *node, SizeOf *const *sizes, const int *details, int count)
{
    TopologyText *text = emit->current;
    Buffer key = { .arena = emit->arena };
    Buffer setup = { .arena = emit->arena };
    buffer_add(&key, "%s %s", type, setup_format);
    int next = -1;                      /* the first %s is the plan itself */
    const char *name = NULL;
    const char **values = arena_array(emit->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        values[i] = emit_size(emit, node, sizes[i], details ? details[i] : 0, hint);
        buffer_add(&key, " %s", values[i]);
    }
    for (int i = 0; i < text->library.count; i++)
        if (text_equal(text->library.items[i].key, buffer_text(&key)))
            return text->library.items[i].reference;
    bool many = text->topology->phases.count > 1;
    name = names_make(emit->names, text_format(emit->arena, "%s_plan", hint));
    writer_line(emit->plan_text, many ? "static struct %s %s[%d];" : "static struct %s %s;", type, name, text->topology->phases.count);
    const char *reference = text_format(emit->arena, many ? "&%s[p->phase]" : "&%s", name);
    for (const char *c = setup_format; *c; c++) {
        if (c[0] == '%' && c[1] == 's') {
            buffer_add(&setup, "%s", next < 0 ? reference : values[next]);
            next++, c++;
        } else {
            buffer_bytes(&setup, c, 1);
        }
    }
    writer_line(emit->setup_text, "%s", buffer_text(&setup));
    LibraryPlan plan = { buffer_text(&key), reference };
    array_push(emit->arena, &text->library, plan);
    return reference;
}
