/* test_layers_methods.c -- layers under methods: rewrites, losses with hooks, ghost batch norm, dropout. */
#include "layers_bench.h"

/* ---- rewrites ---- */

/* Method 0 puts a relu before each convolution that it issues again; method 1 only counts. */
typedef struct Rewriter { int seen[2], index[2]; } Rewriter;

static bool call_host(Builder *builder, const char *callee, Value *arguments, int count, Value *result)
{
    Host host = builder_host(builder);
    CallSite site = { .callee = callee };
    return host.call(host.context, NULL, &site, arguments, count, result);
}

static bool rewrite(void *context, Builder *builder, int method, const char *layer, const CallSite *site,
                    Value *arguments, int count, Value *result, bool *replaced)
{
    (void)site;
    Rewriter *rewriter = context;
    if (!text_equal(layer, "conv2d"))
        return true;
    rewriter->seen[method]++;
    Value index;
    ck_assert(call_host(builder, "match_index", NULL, 0, &index));
    rewriter->index[method] = (int)expr_value(index.scalar);
    *replaced = method == 0;
    if (!*replaced)
        return true;
    Value x;
    return call_host(builder, "relu", arguments, 1, &x)
        && call_host(builder, "conv2d_layer", (Value[]){ x, arguments[1], arguments[2] }, count, result);
}

START_TEST(rewrites_keep_names_and_see_only_calls_of_others)
{
    static const char *const names[] = { "first", "second" };
    Rewriter rewriter = { 0 };
    World *world = world_new();
    Builder *builder = start(world, true, shape_of(4, (int64_t)2, (int64_t)3, (int64_t)8, (int64_t)8));
    builder->rewriter = &rewriter;
    builder->rewrite = rewrite;
    builder->methods = names;
    builder->method_count = 2;
    ck_assert(run_text(
        world,
        "tensor net(tensor x) { SCOPE(\"a\") x = conv2d(conv2d(x, 4, .name = \"c\"), 5); return x; }"));
    ck_assert_int_eq(world->parameters.count, 2);
    check_shape(world, "a.c.weight", "[4,3,1,1]");
    check_shape(world, "a.conv1.weight", "[5,4,1,1]");
    ck_assert_str_eq(node_called(builder->graph, "a.c.relu")->method, "first");
    ck_assert_str_eq(node_called(builder->graph, "a.conv1")->method, "first");
    ck_assert_int_eq(rewriter.seen[0], 2);
    ck_assert_int_eq(rewriter.seen[1], 2);
    ck_assert_int_eq(rewriter.index[1], 1);
    ck_assert_int_eq(builder->matches[1 * LAYER_KINDS + LAYER_conv2d], 2);
    ck_assert_int_eq(builder->chain, 0);
    arena_destroy(world->arena);
}
END_TEST

/* A rewrite in C, as a method has it. */
static bool rewrite_in_c(void *context, Builder *builder, int method, const char *layer, const CallSite *site,
                         Value *arguments, int count, Value *result, bool *replaced)
{
    (void)method, (void)site;
    const char *name = text_format(builder->arena, "rewrite_%s", layer);
    const CFunction *function = cfile_find_function(context, name);
    if (!function)
        return true;
    Host host = builder_host(builder);
    Evaluator *evaluator = evaluator_create(builder->arena, builder->graph->exprs, builder->diag, context, &host);
    bool ok = evaluate_call(evaluator, function, arguments, count, result);
    *replaced = ok && result->tensor;
    return ok;
}

static CFile *parse_method(World *world, const char *body)
{
    const char *dirs[] = { MODELS, "methods" };
    const char *path = model_file(world, body);
    CFile *file = front_parse(world->arena, &world->diag, path, dirs, 2);
    unlink(path);
    ck_assert_msg(file, "%s", messages(world));
    return file;
}

static const char *const one_method[] = { "method" };

/* Runs a convolution named c in a scope, another in none, under a method of this text. */
static Node *run_rewritten(World *world, const char *method)
{
    Builder *builder = start(world, true, shape_of(4, (int64_t)2, (int64_t)4, (int64_t)8, (int64_t)8));
    builder->rewriter = parse_method(world, method);
    builder->rewrite = rewrite_in_c;
    builder->methods = one_method;
    builder->method_count = 1;
    return run_text(world, "tensor net(tensor x) { SCOPE(\"a\") x = conv2d(x, 4, .name = \"c\"); return conv2d(x, 4); }");
}

START_TEST(new_layers_of_a_rewrite_are_below_the_matched_name)
{
    World *world = world_new();
    ck_assert_msg(run_rewritten(world,
        "#include \"method.h\"\n"
        "tensor REWRITE(conv2d)(tensor x, int channels, conv2d_options options) {\n"
        "    if (match_index() == 1) return KEEP;\n"
        "    tensor y = conv2d_layer(x, channels, options), g = global_avg_pool2d(y);\n"
        "    SCOPE(\"se.pool_and_mlp\") {\n"
        "        g = relu(linear(g, 2, .name = \"2\", .no_bias = true));\n"
        "        g = sigmoid(linear(g, channels, .name = \"4\", .no_bias = true)); }\n"
        "    return mul(y, reshape(g, rows_of(y), channels, 1, 1)); }"), "%s", messages(world));
    ck_assert_int_eq(world->parameters.count, 4);
    check_shape(world, "a.c.weight", "[4,4,1,1]");
    check_shape(world, "a.c.se.pool_and_mlp.2.weight", "[2,4]");
    check_shape(world, "a.c.se.pool_and_mlp.4.weight", "[4,2]");
    check_shape(world, "conv1.weight", "[4,4,1,1]");
    node_called(world->builder.graph, "a.c.se.pool_and_mlp.sigmoid");
    arena_destroy(world->arena);
}
END_TEST

START_TEST(rewrites_can_work_on_the_weight)
{
    World *world = world_new();
    ck_assert_msg(run_rewritten(world,
        "#include \"method.h\"\n"
        "tensor REWRITE(conv2d)(tensor x, int channels, conv2d_options options) {\n"
        "    tensor w = conv2d_weight(x, channels, options);\n"
        "    w = sub(w, reshape(mean(flatten(w), 1), channels, 1, 1, 1));\n"
        "    return conv2d_operation(x, w, conv2d_bias(x, channels, options), options); }"), "%s", messages(world));
    ck_assert_int_eq(world->parameters.count, 2);
    check_shape(world, "a.c.weight", "[4,4,1,1]");
    ck_assert_int_eq(node_called(world->builder.graph, "a.c")->op, OP_conv2d);
    ck_assert_int_eq(node_called(world->builder.graph, "conv1")->op, OP_conv2d);
    arena_destroy(world->arena);
}
END_TEST

START_TEST(a_rewrite_does_not_share_weights_unasked)
{
    World *world = world_new();
    ck_assert(!run_rewritten(world,
        "#include \"method.h\"\n"
        "tensor REWRITE(conv2d)(tensor x, int channels, conv2d_options options) {\n"
        "    return conv2d(conv2d(x, channels), channels); }"));
    ck_assert_msg(strstr(messages(world), "would be 'a.c' too"), "%s", messages(world));
    arena_destroy(world->arena);
}
END_TEST

/* ---- losses ---- */

static const Expr *smoothed(void *hooks, int64_t classes)
{
    World *world = hooks;
    const Expr *target = expr_input(world->exprs, 0, TYPE_FLOAT);
    const Expr *kept = expr_binary(world->exprs, EXPR_mul, expr_number(world->exprs, 0.9), target);
    return expr_binary(world->exprs, EXPR_add, kept, expr_number(world->exprs, 0.1 / (double)classes));
}

static Node *loss_of(World *world, const char *name)
{
    Node *logits = run_text(world, "tensor net(tensor x) { return linear(flatten(x), 10); }");
    ck_assert(logits);
    Node *rows = builder_loss(&world->builder, parse(world, MODELS "/losses.c"), name, (Place){ 0 }, logits);
    if (!rows)
        return NULL;
    builder_mean_loss(&world->builder, rows);
    builder_metrics(&world->builder, rows, logits);
    const char *broken = graph_verify(world->builder.graph, world->arena);
    ck_assert_msg(!broken, "%s", broken);
    return rows;
}

START_TEST(losses_give_a_value_a_row)
{
    static const char *const names[] = { "cross_entropy", "bce", "mse", "soft_cross_entropy" };
    for (int mixed = 0; mixed < 2; mixed++) {
        World *world = world_new();
        Builder *builder = start(world, true, shape_of(4, (int64_t)6, (int64_t)3, (int64_t)8, (int64_t)8));
        builder->hooks = world;
        builder->loss_target = smoothed;
        builder->partner_weight = mixed ? expr_number(world->exprs, 0.25) : NULL;
        Node *rows = loss_of(world, names[_i]);
        ck_assert_msg(rows, "%s", messages(world));
        ck_assert_str_eq(shape_text(world->arena, rows->shape), "[6]");
        ck_assert_int_eq(builder->partner_targets != NULL, mixed);
        ck_assert_int_eq(builder->graph->outputs.count, 6);     /* logits, loss, four metrics */
        ck_assert_str_eq(builder->graph->outputs.items[5].name, "top5");
        arena_destroy(world->arena);
    }
}
END_TEST

START_TEST(cross_entropy_carries_the_hooks)
{
    World *world = world_new();
    Builder *builder = start(world, true, shape_of(4, (int64_t)6, (int64_t)3, (int64_t)8, (int64_t)8));
    builder->hooks = world;
    builder->loss_target = smoothed;
    Node *rows = loss_of(world, "cross_entropy");
    ck_assert_int_eq(rows->op, OP_cross_entropy);
    ck_assert_ptr_eq(rows->expr, smoothed(world, 10));
    ck_assert_ptr_null(rows->at.loss.share);
    start(world, false, shape_of(4, (int64_t)6, (int64_t)3, (int64_t)8, (int64_t)8))->loss_target = smoothed;
    ck_assert_ptr_null(loss_of(world, "cross_entropy")->expr);
    ck_assert(!loss_of(world, "cros_entropy"));
    ck_assert_ptr_nonnull(strstr(messages(world), "did you mean 'cross_entropy'?"));
    arena_destroy(world->arena);
}
END_TEST

/* ---- ghost batch norm and dropout ---- */

START_TEST(ghost_batch_norm_counts_its_pieces)
{
    World *world = world_new();
    start(world, true, shape_of(4, (int64_t)10, (int64_t)3, (int64_t)2, (int64_t)2));
    ck_assert(
        run_text(world, "tensor net(tensor x) { return batch_norm(x, .group_size = 4, .momentum = 0.3f); }"));
    const Node *update = node_called(world->builder.graph, "bn1.new_running_var");
    ck_assert_int_eq(update->at.running.pieces, 3);
    ck_assert_int_eq(update->at.running.count, 16);
    ck_assert_int_eq(update->at.running.last_count, 8);
    ck_assert_double_eq_tol(update->at.running.momentum, 0.1, 1e-15);
    arena_destroy(world->arena);
}
END_TEST

START_TEST(dropout_is_nothing_in_evaluation)
{
    for (int training = 0; training < 2; training++) {
        World *world = world_new();
        start(world, training, shape_of(4, (int64_t)2, (int64_t)3, (int64_t)8, (int64_t)8));
        Node *y = run_text(world, "tensor net(tensor x) { return dropout(dropout(x, 0.5f), 0.25f); }");
        ck_assert(y);
        ck_assert_int_eq(y == world->builder.input, !training);
        if (training)
            ck_assert_ptr_ne(y->expr, y->inputs[0]->expr);
        arena_destroy(world->arena);
    }
}
END_TEST

Suite *layers_methods_suite(void)
{
    Suite *suite = suite_create("layers under methods");
    TCase *cases = tcase_create("methods");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, rewrites_keep_names_and_see_only_calls_of_others);
    tcase_add_test(cases, new_layers_of_a_rewrite_are_below_the_matched_name);
    tcase_add_test(cases, rewrites_can_work_on_the_weight);
    tcase_add_test(cases, a_rewrite_does_not_share_weights_unasked);
    tcase_add_loop_test(cases, losses_give_a_value_a_row, 0, 4);
    tcase_add_test(cases, cross_entropy_carries_the_hooks);
    tcase_add_test(cases, ghost_batch_norm_counts_its_pieces);
    tcase_add_test(cases, dropout_is_nothing_in_evaluation);
    return suite;
}
