/* compile.c -- the parts of a compilation that know recipe, data, methods and model together. */
#include "compile.h"

#include <string.h>

#include "front/layers.h"
#include "front/model.h"
#include "recipe/probe.h"

/* ---- the beginning: recipe, data, methods, model ---- */

static int64_t whole_batches(double amount)
{
    int64_t whole = (int64_t)amount;
    return (double)whole < amount ? whole + 1 : whole;
}

/* max_duration in batches; a batch that crosses a limit in samples or tokens still runs. */
static bool count_steps(Compile *compile)
{
    const Recipe *recipe = compile->recipe;
    RunFacts *facts = &compile->facts;
    double amount = recipe->max_duration.amount;
    if (recipe->scale_schedule_ratio != 1)
        amount = (double)(int64_t)(amount * recipe->scale_schedule_ratio);      /* in its own unit, cut as Composer's */
    switch (recipe->max_duration.unit) {
    case TIME_EPOCH:    amount *= (double)facts->batches_per_epoch; break;
    case TIME_BATCH:    break;
    case TIME_SAMPLE:   amount /= (double)facts->batch_rows; break;
    case TIME_TOKEN:    amount /= (double)(facts->batch_rows * (facts->length ? facts->length : 1)); break;
    case TIME_DURATION:
        complain(compile->diag, recipe->max_duration_place,
                 "max_duration can't be a fraction of itself; give it in ep, ba, sp or tok");
        return false;
    }
    if (recipe->max_duration.unit == TIME_TOKEN && !facts->is_text) {
        complain(compile->diag, recipe->max_duration_place, "max_duration in tokens needs a data set of text");
        return false;
    }
    facts->steps = whole_batches(amount);
    facts->epochs = (facts->steps + facts->batches_per_epoch - 1) / facts->batches_per_epoch;
    if (facts->steps < 1)
        complain(compile->diag, recipe->max_duration_place, "max_duration is less than one batch");
    return facts->steps >= 1;
}

static bool gather_facts(Compile *compile)
{
    const Recipe *recipe = compile->recipe;
    DataFacts data;
    if (!dataset_probe(compile->arena, compile->diag, recipe, &data))
        return false;
    compile->eval_samples = data.eval_samples;
    compile->facts = (RunFacts){
        .is_text = data.is_text, .train_samples = data.train_samples, .batch_rows = recipe->batch_size,
        .channels = data.channels, .height = data.height, .width = data.width, .length = data.length,
        .class_count = data.classes, .micro_batches = recipe->grad_accum, .drop_last = recipe->data.drop_last,
        .compat_epoch = recipe->compat_epoch, .scale_schedule_ratio = recipe->scale_schedule_ratio,
    };
    RunFacts *facts = &compile->facts;
    if (facts->batch_rows > facts->train_samples) {
        complain(compile->diag, recipe->batch_size_place, "batch_size %lld is larger than the data set, which has %lld samples",
                 (long long)facts->batch_rows, (long long)facts->train_samples);
        return false;
    }
    if (recipe->grad_accum > recipe->batch_size)
        complain(compile->diag, recipe->batch_size_place, "grad_accum %lld is larger than batch_size %lld",
                 (long long)recipe->grad_accum, (long long)recipe->batch_size);
    facts->batches_per_epoch = facts->train_samples / facts->batch_rows;
    if (!facts->drop_last && facts->train_samples % facts->batch_rows)
        facts->batches_per_epoch++;
    return count_steps(compile) && !compile->diag->errors;
}

static const char *home_path(Compile *compile, const char *relative)
{
    return text_format(compile->arena, "%s/%s", compile->options->home, relative);
}

static const CFile *parse_language(Compile *compile, const char *path)
{
    const char *dirs[] = { home_path(compile, "recipes/models"), home_path(compile, "methods") };
    return front_parse(compile->arena, compile->diag, path, dirs, 2);
}

static bool load_model(Compile *compile)
{
    const Recipe *recipe = compile->recipe;
    const char *models = home_path(compile, "recipes/models"), *path = recipe->model_file;
    if (path)
        path = path[0] == '/' ? path : text_format(compile->arena, "%s/%s", recipe->folder, path);
    else
        path = model_find(compile->arena, models, recipe->model.name);
    if (!path) {
        TextArray names = model_names(compile->arena, models);
        complain_unknown(compile->diag, recipe->model.place, "unknown model", recipe->model.name, names.items, names.count);
        return false;
    }
    compile->model = parse_language(compile, path);
    compile->losses = parse_language(compile, home_path(compile, "recipes/models/losses.c"));
    compile->initializers = parse_language(compile, home_path(compile, "recipes/models/initializers.c"));
    if (!compile->model || !compile->losses || !compile->initializers)
        return false;
    compile->model_function = cfile_find_function(compile->model, recipe->model.name);
    if (!compile->model_function)
        complain(compile->diag, recipe->model.place, "%s has no function '%s'", path, recipe->model.name);
    return compile->model_function != NULL;
}

/* What a recipe may say and this compiler does not do yet is refused: silence would be a wrong program. */
static bool check_promises(Compile *compile)
{
    const Recipe *recipe = compile->recipe;
    bool mixed = recipe->precision == PRECISION_AMP_BF16 || recipe->precision == PRECISION_AMP_FP16;
    if (mixed)
        complain(compile->diag, recipe_place(recipe, "precision"), "mixed precision can't be used yet: fp32 and fp64 can");
    if (recipe->winograd)
        complain(compile->diag, recipe_place(recipe, "convolution.winograd"), "Winograd's transform can't be used yet");
    if (recipe->memory)
        complain(compile->diag, recipe_place(recipe, "memory"), "a bound on memory can't be kept yet: leave it out");
    return !mixed && !recipe->winograd && !recipe->memory;
}

Compile *compile_begin(Arena *run, Diagnostics *diag, const Options *options, Buffer *dump)
{
    Compile *compile = arena_new(run, Compile);
    *compile = (Compile){ .arena = run, .diag = diag, .options = options, .dump = dump };
    compile->recipe = recipe_read(run, diag, options->recipe, options->overrides, options->override_count);
    if (!compile->recipe)
        return NULL;
    Program *program = compile->program = arena_new(run, Program);
    *program = (Program){ .arena = run, .exprs = expr_pool(run), .recipe = compile->recipe, .score = -1,
                          .command = options->command, .generator = "composer-gen 0.1" };
    program->methods = methods_load(run, program->exprs, diag, compile->recipe, options->method_dirs.items,
                                    options->method_dirs.count, home_path(compile, "recipes/models"));
    bool model = load_model(compile), facts = gather_facts(compile), kept = check_promises(compile);
    if (!kept || !program->methods || !model || !facts || diag->errors || !methods_bind(program->methods, &compile->facts))
        return NULL;
    Methods *methods = program->methods;
    compile->method_names = arena_array(run, const char *, methods->list.count + 1);
    for (int i = 0; i < methods->list.count; i++)
        compile->method_names[i] = methods->list.items[i]->name;
    return compile;
}

/* ---- geometry ---- */

Geometry compile_full_geometry(const Compile *compile, int64_t rows)
{
    const RunFacts *facts = &compile->facts;
    return (Geometry){ .rows = rows, .length = facts->length, .columns = facts->length, .height = facts->height,
                       .width = facts->width };
}

int64_t compile_rows_of_batch(const Compile *compile, int64_t batch_in_epoch)
{
    const RunFacts *facts = &compile->facts;
    int64_t left = facts->train_samples - batch_in_epoch * facts->batch_rows;
    return left < facts->batch_rows ? left : facts->batch_rows;
}

/* ---- graphs ---- */

/* Asks the one method at `from` about a call. */
static bool rewrite(void *context, Builder *builder, int from, const char *layer, const CallSite *site, Value *arguments,
                    int count, Value *result, bool *replaced)
{
    Compile *compile = context;
    Methods *methods = compile->program->methods;
    const CFunction *function = method_rewrite(methods, from, layer);
    *replaced = false;
    if (!function)
        return true;
    (void)site;
    Host layers = builder_host(builder), host = methods_rewrite_host(methods, from, &layers);
    Evaluator *evaluator = evaluator_create(compile->arena, compile->program->exprs, compile->diag,
                                            methods->list.items[from]->file, &host);
    if (!evaluate_call(evaluator, function, arguments, count, result))
        return false;
    *replaced = result->kind == VALUE_TENSOR && result->tensor;
    if (*replaced)
        methods->list.items[from]->matches++;
    return true;
}

static const Expr *loss_target(void *context, int64_t class_count)
{
    return methods_loss_target(((Compile *)context)->program->methods, class_count);
}

static const Expr *attention_score(void *context, int64_t head_count)
{
    return methods_attention_score(((Compile *)context)->program->methods, head_count);
}

static Node *make_input(const Compile *compile, Graph *graph, int64_t rows, const Geometry *geometry)
{
    bool text = compile->facts.is_text;
    Shape shape = text ? shape_of(2, rows, geometry->length)
                       : shape_of(4, rows, compile->facts.channels, geometry->height, geometry->width);
    Attributes at = { .input = { text ? INPUT_TOKENS : INPUT_IMAGES } };
    return node_named(node_add_shaped(graph, OP_input, NULL, 0, &at, shape, text ? DTYPE_INT32 : DTYPE_REAL),
                      text ? "tokens" : "images");
}

static Builder *make_builder(Compile *compile, TopologyKind kind, int64_t rows, const Geometry *geometry)
{
    Program *program = compile->program;
    Builder *builder = arena_new(compile->arena, Builder);
    *builder = (Builder){
        .graph = graph_create(compile->arena, program->exprs), .parameters = &program->parameters, .diag = compile->diag,
        .arena = compile->arena, .training = kind != TOPOLOGY_EVALUATE, .initializers = compile->initializers,
        .rewriter = compile, .rewrite = rewrite, .methods = compile->method_names,
        .method_count = program->methods->list.count, .match_count = compile->matches, .hooks = compile,
        .loss_target = kind == TOPOLOGY_TRAIN ? loss_target : NULL, .attention_score = attention_score,
        .partner_weight = kind == TOPOLOGY_TRAIN ? program->methods->partner_weight : NULL,
    };
    builder->input = make_input(compile, builder->graph, rows, geometry);
    for (int i = 0; i < compile->recipe->initializers.count; i++)
        builder_add_initializer(builder, compile->recipe->initializers.items[i].name, compile->recipe->initializers.items[i].place);
    return builder;
}

/* Scoring looks at the batch without learning from it: running statistics stay as they are. */
static void drop_buffer_updates(Graph *graph)
{
    int kept = 0;
    for (int i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.items[i].kind != OUTPUT_BUFFER)
            graph->outputs.items[kept++] = graph->outputs.items[i];
    graph->outputs.count = kept;
}

static Builder *evaluate_model(Compile *compile, TopologyKind kind, int64_t rows, const Geometry *geometry)
{
    Builder *builder = make_builder(compile, kind, rows, geometry);
    const Recipe *recipe = compile->recipe;
    Node *logits;
    if (!model_run(builder, compile->model, compile->model_function, recipe->model.parameters, recipe->model.place, &logits))
        return NULL;
    Node *losses = builder_loss(builder, compile->losses, recipe->loss.name, recipe->loss.place, logits);
    if (!losses)
        return NULL;
    if (kind == TOPOLOGY_TRAIN)
        builder_mean_loss(builder, losses);
    if (kind == TOPOLOGY_EVALUATE)
        builder_metrics(builder, losses, logits);
    if (kind == TOPOLOGY_SCORE) {
        graph_output(builder->graph, (Output){ .kind = OUTPUT_ROW_LOSS, .node = losses });
        drop_buffer_updates(builder->graph);
    }
    return builder;
}

Graph *compile_graph(Compile *compile, TopologyKind kind, int64_t rows, const Geometry *geometry)
{
    Builder *builder = evaluate_model(compile, kind, rows, geometry);
    return builder ? builder->graph : NULL;
}

/* ---- the first look at the model ---- */

bool compile_discover(Compile *compile)
{
    Program *program = compile->program;
    Geometry geometry = compile_full_geometry(compile, compile_rows_of_batch(compile, 0));
    Builder *builder = evaluate_model(compile, TOPOLOGY_TRAIN, geometry.rows, &geometry);
    if (!builder)
        return false;
    compile->matches = builder->matches;
    for (int i = 0; i < program->methods->list.count; i++)
        program->methods->list.items[i]->matches = 0;
    RunFacts *facts = &compile->facts;
    for (int i = 0; i < program->parameters.count; i++) {
        const Parameter *parameter = program->parameters.items[i];
        facts->has_batch_norm |= parameter->is_buffer;
        program->leaves = parameter->leaf + 1 > program->leaves ? parameter->leaf + 1 : program->leaves;
    }
    for (int i = 0; i < builder->graph->outputs.count; i++) {
        const Output *output = &builder->graph->outputs.items[i];
        if (output->kind == OUTPUT_LOGITS)
            facts->class_count = output->node->shape.rank == 4 ? output->node->shape.dim[1]
                                                               : output->node->shape.dim[output->node->shape.rank - 1];
    }
    facts->has_mixing = program->methods->mixed_pixel || program->methods->partner_weight;
    return methods_bind(program->methods, facts);
}

bool compile_check_effects(Compile *compile)
{
    Methods *methods = compile->program->methods;
    for (int i = 0; i < methods->list.count; i++) {
        const Method *method = methods->list.items[i];
        if (!method->has_rewrites || method->is_neutral || method->matches)
            continue;
        if (method->allow_no_effect)
            warn(compile->diag, method->choice.place, "-Wno-effect", "%s matched nothing in the model", method->name);
        else
            complain(compile->diag, method->choice.place,
                     "%s matched nothing in the model; allow_no_effect: true makes this a warning", method->name);
    }
    return !compile->diag->errors;
}
