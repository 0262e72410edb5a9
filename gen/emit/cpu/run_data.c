/* run_data.c -- opening the data set, and the one reservation of memory. */
#include "emit/cpu/run.h"

/* ---- the data set ---- */

/* A kind of data set: the part that reads it, and how. */
typedef struct Reader {
    const char *kind, *part, *train, *test;     /* %s: the classes or "length, vocabulary" */
} Reader;

static const Reader readers[] = {
    { "cifar10", "cifar10_read", "cifar10_read(settings.data, true)", "cifar10_read(settings.data, false)" },
    { "cifar100", "cifar100_read", "cifar100_read(settings.data, true)", "cifar100_read(settings.data, false)" },
    { "mnist", "idx_read", "idx_read(settings.data, \"train\", %s)", "idx_read(settings.data, \"t10k\", %s)" },
    { "fashion_mnist", "idx_read", "idx_read(settings.data, \"train\", %s)", "idx_read(settings.data, \"t10k\", %s)" },
    { "idx", "idx_read", "idx_read(settings.data, \"train\", %s)", "idx_read(settings.data, \"t10k\", %s)" },
    { "tokens", "tokens_read", "tokens_read(settings.data, \"train.bin\", %s)", "tokens_read(settings.data, \"val.bin\", %s)" },
    { "text", "text_read", "text_read(settings.data, 0, 9, %s)", "text_read(settings.data, 9, 10, %s)" },
};

static void print_synthetic(Emit *emit, Writer *out)
{
    const Program *program = emit->program;
    const RunFacts *facts = &program->methods->facts;
    const Dataset *data = &program->recipe->data;
    long long train = facts->train_samples, test = program->evaluation_samples;
    if (facts->is_text) {
        emit_part(emit, "synthetic_tokens");
        writer_line(out, "train_set = synthetic_tokens(0, %lld, %lld, %lld);", train, (long long)facts->length, (long long)data->vocab_size);
        writer_line(out, "test_set = synthetic_tokens(1, %lld, %lld, %lld);", test, (long long)facts->length, (long long)data->vocab_size);
        return;
    }
    const char *size = text_format(emit->arena, "%lld, %lld, %lld, %lld", (long long)facts->channels, (long long)facts->height,
                                   (long long)facts->width, (long long)data->num_classes);
    emit_part(emit, "synthetic_images");
    writer_line(out, "train_set = synthetic_images(0, %lld, %s);", train, size);
    writer_line(out, "test_set = synthetic_images(%lld, %lld, %s);", train, test, size);
}

static void print_check(Emit *emit, Writer *out, const char *set, long long rows)
{
    const RunFacts *facts = &emit->program->methods->facts;
    emit_part(emit, facts->is_text ? "token_set_check" : "image_set_check");
    if (facts->is_text)
        writer_line(out, "token_set_check(&%s, settings.data, %lld);", set, rows);
    else
        writer_line(out, "image_set_check(&%s, settings.data, %lld, %lld, %lld, %lld);", set, rows, (long long)facts->channels,
                    (long long)facts->height, (long long)facts->width);
}

void emit_open_data(Emit *emit, Writer *out)
{
    const Program *program = emit->program;
    const RunFacts *facts = &program->methods->facts;
    const char *kind = program->recipe->dataset.name;
    const char *argument = facts->is_text
        ? text_format(emit->arena, "%lld, %lld", (long long)facts->length, (long long)facts->class_count)
        : text_format(emit->arena, "%lld", (long long)facts->class_count);
    writer_blank(out);
    writer_comment(out, "The data is checked against the sizes that this program was made for.");
    writer_line(out, "static void open_data(void)");
    writer_line(out, "{");
    if (text_equal(kind, "synthetic"))
        print_synthetic(emit, out);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (!text_equal(readers[i].kind, kind))
            continue;
        emit_part(emit, readers[i].part);
        writer_line(out, "train_set = %s;", text_replace(emit->arena, readers[i].train, "%s", argument));
        writer_line(out, "test_set = %s;", text_replace(emit->arena, readers[i].test, "%s", argument));
        print_check(emit, out, "train_set", facts->train_samples);
        print_check(emit, out, "test_set", program->evaluation_samples);
    }
    if (!facts->is_text)
        writer_line(out, "prepare_shades();");
    writer_line(out, "}");
}

/* ---- memory ---- */

typedef struct Reservation {
    Emit *emit;
    Writer *lines;
    int64_t at;                         /* in reals */
} Reservation;

static void reserve(Reservation *reservation, const char *name, const char *type, int64_t count)
{
    if (text_equal(type, "real"))
        writer_line(reservation->lines, "%s = memory + %lld;", name, (long long)reservation->at);
    else
        writer_line(reservation->lines, "%s = (%s *)(memory + %lld);", name, type, (long long)reservation->at);
    reservation->at += (count + PLAN_ALIGNMENT - 1) / PLAN_ALIGNMENT * PLAN_ALIGNMENT;
}

static void reserve_states(Reservation *reservation)
{
    Emit *emit = reservation->emit;
    const Program *program = emit->program;
    const Methods *methods = program->methods;
    for (int i = 0; i < methods->states.count; i++)
        if (methods->states.items[i]->scope == SCOPE_ELEMENT)
            reserve(reservation, emit->state_names[i], "real", program->trainable + program->buffers);
}

static void reserve_batch(Reservation *reservation)
{
    const Program *program = reservation->emit->program;
    const RunFacts *facts = &program->methods->facts;
    if (facts->is_text)
        reserve(reservation, "batch_tokens", "int", program->batch_targets);
    else
        reserve(reservation, "batch_images", "real", program->batch_reals);
    reserve(reservation, "batch_targets", "int", program->batch_targets);
    if (facts->has_mixing) {
        reserve(reservation, "mixed_images", "real", program->mixed_reals);
        reserve(reservation, "mixed_targets", "int", program->batch_targets);
        reserve(reservation, "permutation", "int", program->batch_targets);
    }
    if (program->score >= 0) {
        reserve(reservation, "chosen_images", "real", program->batch_reals);
        reserve(reservation, "chosen_targets", "int", program->batch_targets);
        reserve(reservation, "chosen_rows", "int", program->batch_targets);
        reserve(reservation, "loss_order", "int", program->batch_targets);
    }
}

/* States that start at a value other than 0 and need no weights for it. */
static void print_first_values(Emit *emit, Writer *out)
{
    const Methods *methods = emit->program->methods;
    for (int i = 0; i < methods->states.count; i++) {
        const State *state = methods->states.items[i];
        if (state->scope == SCOPE_RUN && state->scalar && state->initial && expr_value(state->initial) != 0)
            writer_line(out, "state.%s = %s;", emit_field(emit, state->scalar), text_number(emit->arena, expr_value(state->initial)));
        if (state->scope != SCOPE_ELEMENT || state->starts_from_parameter || expr_value(state->initial) == 0)
            continue;
        emit_part(emit, "fill");
        writer_line(out, "fill(%s, WEIGHTS, %s);", emit->state_names[i], emit_number(emit, expr_value(state->initial)));
    }
}

static void print_library_setup(Emit *emit, Writer *out)
{
    writer_blank(out);
    writer_line(out, "static void setup(void)");
    writer_line(out, "{");
    print_first_values(emit, out);
    for (int i = 0; i < emit->setups.count; i++)
        writer_line(out, "%s_setup();", emit->setups.items[i]);
    writer_line(out, "}");
}

void emit_memory(Emit *emit, Writer *plan, Writer *out)
{
    const Program *program = emit->program;
    Reservation reservation = { emit, writer_create(emit->arena), 0 };
    reservation.lines->depth = 1;
    reserve(&reservation, "weights", "real", program->trainable + program->buffers);
    reserve(&reservation, "gradients", "real", program->trainable);
    reserve_states(&reservation);
    reserve_batch(&reservation);
    reserve(&reservation, "arena", "real", program->arena_reals);
    writer_line(plan, "static real *arena; /* tensors of a step, at the offsets above */");
    writer_line(plan, "enum { ARENA = %lld, RESERVED = %lld }; /* reals */", (long long)program->arena_reals, (long long)reservation.at);
    emit_part(emit, "arena_map");
    emit_part(emit, "touch");
    writer_blank(out);
    writer_comment(out, "All the memory of the run, once.");
    writer_line(out, "static void reserve(void)");
    writer_line(out, "{");
    writer_line(out, "char *bytes = arena_map(sizeof(real) * (size_t)RESERVED);");
    writer_line(out, "touch(bytes, sizeof(real) * (size_t)RESERVED);");
    writer_line(out, "real *memory = (real *)bytes;");
    writer_text(out, writer_result(reservation.lines));
    writer_line(out, "}");
    print_library_setup(emit, out);
}
