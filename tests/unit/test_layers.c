/* test_layers.c -- models become graphs: names, shapes, what users do wrong, initial values. */
#include "layers_bench.h"

/* ---- names ---- */

START_TEST(resnet_cifar_has_the_reference_names)
{
    World *world = world_new();
    start(world, true, shape_of(4, (int64_t)16, (int64_t)3, (int64_t)32, (int64_t)32));
    Node *logits = RUN(world, MODELS "/resnet_cifar.c", "resnet_cifar", { "depth", 8 }, { "num_classes", 10 });
    ck_assert_msg(logits, "%s", messages(world));
    ck_assert_str_eq(shape_text(world->arena, logits->shape), "[16,10]");
    ck_assert_int_eq(world->parameters.count, 47);
    check_shape(world, "conv1.weight", "[16,3,3,3]");
    check_shape(world, "bn1.running_var", "[16]");
    check_shape(world, "layer2.0.conv1.weight", "[32,16,3,3]");
    check_shape(world, "layer2.0.downsample.0.weight", "[32,16,1,1]");
    check_shape(world, "layer3.0.downsample.1.running_mean", "[64]");
    check_shape(world, "layer3.0.bn2.bias", "[64]");
    check_shape(world, "fc.weight", "[10,64]");
    ck_assert_int_eq(parameter_named(world, "bn1.bias")->leaf, 1);
    ck_assert_int_eq(parameter_named(world, "layer1.0.bn2.weight")->leaf, 5);
    ck_assert(parameter_named(world, "bn1.running_mean")->is_buffer);
    node_called(world->builder.graph, "layer1.0.relu");
    node_called(world->builder.graph, "layer1.0.relu_2");
    node_called(world->builder.graph, "layer3.0.conv2");
    ck_assert_int_eq(count_ops(world->builder.graph, OP_running_update), 18);
    arena_destroy(world->arena);
}
END_TEST

START_TEST(resnets_have_torchvision_sizes)
{
    static const struct { int depth, parameters; int64_t weights; } known[] = {
        { 18, 102, 11689512 }, { 34, 182, 21797672 }, { 50, 267, 25557032 }, { 101, 522, 44549160 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        World *world = world_new();
        start(world, false, shape_of(4, (int64_t)2, (int64_t)3, (int64_t)224, (int64_t)224));
        world->builder.initializers = parse(world, MODELS "/initializers.c");
        ck_assert(
            RUN(world, MODELS "/resnet.c", "resnet", { "depth", known[i].depth }, { "num_classes", 1000 }));
        int64_t weights = 0;
        for (int k = 0; k < world->parameters.count; k++)
            if (!world->parameters.items[k]->is_buffer)
                weights += shape_elements(world->parameters.items[k]->shape);
        ck_assert_int_eq(weights, known[i].weights);
        ck_assert_int_eq(world->parameters.count, known[i].parameters);
        check_shape(world, "layer1.0.conv1.weight", known[i].depth < 50 ? "[64,64,3,3]" : "[64,64,1,1]");
        parameter_named(world, "layer2.0.downsample.1.running_var");
        arena_destroy(world->arena);
    }
}
END_TEST

START_TEST(gpt2_has_hugging_face_names)
{
    World *world = world_new();
    Builder *builder = start(world, true, shape_of(2, (int64_t)8, (int64_t)64));
    builder->initializers = parse(world, MODELS "/initializers.c");
    Node *logits = RUN(world, MODELS "/gpt2.c", "gpt2", { "vocab_size", 256 }, { "context", 64 },
                       { "layers", 2 }, { "heads", 4 }, { "channels", 64 });
    ck_assert_msg(logits, "%s", messages(world));
    ck_assert_str_eq(shape_text(world->arena, logits->shape), "[8,64,256]");
    ck_assert_int_eq(world->parameters.count, 28);
    check_shape(world, "transformer.wte.weight", "[256,64]");
    check_shape(world, "transformer.wpe.weight", "[64,64]");
    check_shape(world, "transformer.h.0.attn.c_attn.weight", "[64,192]");
    check_shape(world, "transformer.h.1.mlp.c_proj.weight", "[256,64]");
    check_shape(world, "transformer.ln_f.bias", "[64]");
    ck_assert(expr_is_number(parameter_named(world, "transformer.h.0.mlp.c_fc.bias")->initial, 0));
    arena_destroy(world->arena);
}
END_TEST

START_TEST(evaluation_finds_the_same_parameters)
{
    World *world = world_new();
    const char *file = MODELS "/resnet_cifar.c";
    start(world, true, shape_of(4, (int64_t)16, (int64_t)3, (int64_t)16, (int64_t)16));
    RUN(world, file, "resnet_cifar", { "depth", 8 }, { "num_classes", 10 });
    start(world, false, shape_of(4, (int64_t)32, (int64_t)3, (int64_t)32, (int64_t)32));
    ck_assert(RUN(world, file, "resnet_cifar", { "depth", 8 }, { "num_classes", 10 }));
    ck_assert_int_eq(world->parameters.count, 47);
    ck_assert_int_eq(count_ops(world->builder.graph, OP_moments), 0);
    start(world, false, shape_of(4, (int64_t)32, (int64_t)1, (int64_t)32, (int64_t)32));
    ck_assert(!RUN(world, file, "resnet_cifar", { "depth", 8 }, { "num_classes", 10 }));
    ck_assert_ptr_nonnull(strstr(messages(world), "parameter 'conv1.weight' is [16,1,3,3] here"));
    ck_assert_ptr_nonnull(strstr(messages(world), "and [16,3,3,3] here"));
    arena_destroy(world->arena);
}
END_TEST

START_TEST(default_names_pass_over_given_ones)
{
    World *world = world_new();
    start(world, true, shape_of(4, (int64_t)2, (int64_t)3, (int64_t)8, (int64_t)8));
    ck_assert_msg(run_text(world,
        "tensor net(tensor x) { x = conv2d(x, 4, .name = \"conv2\"); x = conv2d(x, 5); x = conv2d(x, 6);\n"
        "    SCOPE(\"a.%d\", 3) { x = conv2d(x, 7); x = residual(x, relu(x)); x = residual(x, relu(x)); }\n"
        "    return linear(flatten(x), 2); }"), "%s", messages(world));
    check_shape(world, "conv2.weight", "[4,3,1,1]");
    check_shape(world, "conv1.weight", "[5,4,1,1]");
    check_shape(world, "conv3.weight", "[6,5,1,1]");
    check_shape(world, "a.3.conv1.weight", "[7,6,1,1]");
    check_shape(world, "fc1.weight", "[2,448]");
    node_called(world->builder.graph, "a.3.residual_2");
    arena_destroy(world->arena);
}
END_TEST

/* ---- shapes ---- */

/* x: images [2,4,8,6]; t: text [2,5,8]; m: [3,7] */
static const struct { const char *call, *shape;
} calls[] = {
    { "conv2d(x, 6, .kernel = 3, .stride = 2, .padding = 1)", "[2,6,4,3]" },
    { "conv2d(x, 6, .kernel = 3, .kernel_width = 1, .stride_width = 2, .groups = 2)", "[2,6,6,3]" },
    { "conv2d(x, 6, .kernel = 3, .padding_after = 2)", "[2,6,8,6]" },
    { "conv2d(x, 6, .kernel = 3, .dilation = 2, .bias = true)", "[2,6,4,2]" },
    { "conv_transpose2d(x, 6, .kernel = 3, .stride = 2, .padding = 1, .output_padding = 1)", "[2,6,16,12]" },
    { "conv_transpose2d(x, 6, .kernel = 2, .stride = 2, .groups = 2, .bias = true)", "[2,6,16,12]" },
    { "max_pool2d(x, .kernel = 3, .stride = 2, .padding = 1)", "[2,4,4,3]" },
    { "avg_pool2d(x, .kernel = 2)", "[2,4,4,3]" },
    { "global_avg_pool2d(x)", "[2,4]" },
    { "adaptive_avg_pool2d(x, 3, 2)", "[2,4,3,2]" },
    { "blur2d(x, .stride = 2)", "[2,4,4,3]" },
    { "resize2d(x, 16, 12, .bilinear = true)", "[2,4,16,12]" },
    { "group_norm(x, 2)", "[2,4,8,6]" },
    { "layer_norm(t)", "[2,5,8]" },
    { "layer_norm(x, .axes = 3, .no_bias = true)", "[2,4,8,6]" },
    { "rms_norm(t)", "[2,5,8]" },
    { "linear(t, 3, .no_bias = true)", "[2,5,3]" },
    { "position_embedding(t, 9)", "[2,5,8]" },
    { "matmul(t, transpose(t, 0, 2, 1))", "[2,5,5]" },
    { "matmul_transposed(t, t)", "[2,5,5]" },
    { "concat(x, relu(x), 1)", "[2,8,8,6]" },
    { "slice(t, -1, 2, 6)", "[2,5,4]" },
    { "pad(t, 1, 2, 3)", "[2,10,8]" },
    { "reshape(t, 2, -1, 4)", "[2,10,4]" },
    { "sum(t, 1)", "[2,1,8]" },
    { "mean(t, -1)", "[2,5,1]" },
    { "softmax(t, -1)", "[2,5,8]" },
    { "log_softmax(m, 1)", "[3,7]" },
    { "mul(t, sigmoid(sum(t, 2)))", "[2,5,8]" },
    { "less_than(uniform_rows(x), 0.5f)", "[2,1,1,1]" },
    { "uniform_batch(x)", "[1,1,1,1]" },
    { "gelu(silu(hardswish(softplus(elu(leaky_relu(shift(scale(t, 2), 1), 0.1f))))))", "[2,5,8]" },
    { "reciprocal(sqrt_of(exp_of(tanh_of(hardsigmoid(gelu_tanh(t))))))", "[2,5,8]" },
    { "conv2d_with(x, parameter(\"w\", \"ones\", 8, 4, 3, 3), parameter(\"b\", \"zeros\", 8), .padding = 1)",
      "[2,8,8,6]" },
};

START_TEST(calls_give_their_shapes)
{
    World *world = world_new();
    Builder *builder = start(world, true, shape_of(4, (int64_t)2, (int64_t)4, (int64_t)8, (int64_t)6));
    builder->initializers = parse(world, MODELS "/initializers.c");
    Node *y = run_text(world, text_format(world->arena,
                                          "tensor net(tensor x) { tensor t = parameter(\"t\", \"ones\", 2, "
                                          "5, 8), m = parameter(\"m\", \"ones\", 3, 7);\n"
                                          "    return %s; }",
                                          calls[_i].call));
    ck_assert_msg(y, "%s", messages(world));
    ck_assert_str_eq(shape_text(world->arena, y->shape), calls[_i].shape);
    arena_destroy(world->arena);
}
END_TEST

/* ---- what users do wrong ---- */

static const struct { const char *body, *message;
} mistakes[] = {
    { "tensor net(tensor x) { return conv2d(x, 8, .kernel = 9); }",
      "image smaller than the network's strides" },
    { "tensor net(tensor x) { return conv2d(x, 8, .groups = 2); }",
      "3 channels in and 8 out do not both divide into 2" },
    { "tensor net(tensor x) { return conv2d(x, -8); }", "the number of channels is -8" },
    { "tensor net(tensor x) { return conv2d(x, 8, .stride = 0); }", "stride is 0" },
    { "tensor net(tensor x) { return linear(x, 8); }", "flatten images first" },
    { "tensor net(tensor x) { return linear(flatten(x), 8, .weight_init = \"kaiming_norma\"); }",
      "there is no initializer 'kaiming_norma'; did you mean 'kaiming_normal'?" },
    { "tensor net(tensor x) { return linear(flatten(x), 8, .weight_init = \"normal\"); }", "'normal_0.02'" },
    { "tensor net(tensor x) { return add(x,\n conv2d(x, 4)); }",
      "[2,3,8,8] and [2,4,8,8] do not go together" },
    { "tensor net(tensor x) { return matmul(flatten(x), flatten(x)); }",
      "do not multiply: 192 columns meet 2 rows" },
    { "tensor net(tensor x) { return reshape(x, 2, 5, -1); }", "do not fill" },
    { "tensor net(tensor x) { return transpose(x, 0, 1, 1, 2); }", "must name each axis" },
    { "tensor net(tensor x) { return sum(x, 4); }", "has no axis 4" },
    { "tensor net(tensor x) { return relu(NONE); }", "argument 1 of relu is NONE" },
    { "tensor net(tensor x) { return group_norm(x, 2); }", "3 channels do not divide into 2 groups" },
    { "tensor net(tensor x) { return max_pool2d(x, .kernel = 2, .padding = 2); }",
      "at most half the kernel" },
    { "tensor net(tensor x) { return dropout(x, 1.5f); }", "the probability is 1.5" },
    { "tensor net(tensor x) { return embedding(x, 3, 4); }", "embedding takes whole numbers" },
    { "tensor net(tensor x) { require(rank_of(x) == 2, \"rank %d\", rank_of(x)); return x; }", "rank 4" },
    { "tensor net(tensor x) { SCOPE(\"\") x = relu(x); return x; }", "a scope needs a name" },
};

START_TEST(mistakes_are_explained)
{
    World *world = world_new();
    Builder *builder = start(world, true, shape_of(4, (int64_t)2, (int64_t)3, (int64_t)8, (int64_t)8));
    builder->initializers = parse(world, MODELS "/initializers.c");
    ck_assert(!run_text(world, mistakes[_i].body));
    ck_assert_msg(strstr(messages(world), mistakes[_i].message), "%s", messages(world));
    ck_assert_int_eq(world->diag.errors, 1);
    arena_destroy(world->arena);
}
END_TEST

START_TEST(parameters_of_the_recipe_are_checked)
{
    World *world = world_new();
    start(world, true, shape_of(4, (int64_t)2, (int64_t)3, (int64_t)8, (int64_t)8));
    ck_assert(!RUN(world, MODELS "/resnet_cifar.c", "resnet_cifar", { "dpeth", 8 }));
    const char *text = messages(world);
    ck_assert_ptr_nonnull(strstr(text, "did you mean 'depth'?"));
    ck_assert_ptr_nonnull(strstr(text, "resnet_cifar needs num_classes"));
    ck_assert_ptr_null(strstr(text, "needs width"));
    arena_destroy(world->arena);
}
END_TEST

/* ---- initial values ---- */

static double first_uniform(void *context, const Expr *expr, double a, double b)
{
    (void)context, (void)a, (void)b;
    return expr->op == EXPR_uniform ? 0.75 : 2;
}

static double initial_value(const World *world, const char *name)
{
    ExprPoint point = { .random = first_uniform };
    return expr_evaluate(parameter_named(world, name)->initial, &point);
}

START_TEST(initializers_follow_each_other)
{
    World *world = world_new();
    Builder *builder = start(world, true, shape_of(4, (int64_t)2, (int64_t)4, (int64_t)8, (int64_t)8));
    builder->initializers = parse(world, MODELS "/initializers.c");
    ck_assert(builder_add_initializer(builder, "kaiming_normal", (Place){ 0 }));
    ck_assert(builder_add_initializer(builder, "bn_uniform", (Place){ 0 }));
    ck_assert(builder_add_initializer(builder, "linear_log_constant_bias", (Place){ 0 }));
    ck_assert(run_text(world,
                       "tensor net(tensor x) { x = batch_norm(conv2d(x, 8, .kernel = 3, .bias = true));\n"
                       "    tensor t = parameter(\"t\", \"normal_0.5\", 3);\n"
                       "    x = linear(flatten(x), 16); return linear(x, 10, .weight_init = \"normal_0.02\", "
                       ".init_scale = 3); }"));
    ck_assert_double_eq_tol(initial_value(world, "conv1.weight"), sqrt(2.0 / 36) * 2, 1e-12);
    ck_assert_double_eq_tol(initial_value(world, "conv1.bias"), 0.5 / 6, 1e-12);
    ck_assert_double_eq_tol(initial_value(world, "bn1.weight"), 0.75, 1e-12);
    ck_assert_double_eq_tol(initial_value(world, "bn1.bias"), 0, 1e-12);
    ck_assert_double_eq_tol(initial_value(world, "bn1.running_var"), 1, 1e-12);
    ck_assert_double_eq_tol(initial_value(world, "fc1.bias"), -log(16), 1e-12);
    ck_assert_double_eq_tol(initial_value(world, "fc2.weight"), sqrt(2.0 / 16) * 2, 1e-12);
    ck_assert_double_eq_tol(initial_value(world, "t"), 1, 1e-12);
    ck_assert(!builder_add_initializer(builder, "bn_unifrom", (Place){ 0 }));
    ck_assert_ptr_nonnull(strstr(messages(world), "did you mean 'bn_uniform'?"));
    arena_destroy(world->arena);
}
END_TEST

/* ---- finding ---- */

START_TEST(models_are_found_by_name)
{
    Arena *arena = arena_create();
    ck_assert_str_eq(model_find(arena, MODELS, "resnet"), MODELS "/resnet.c");
    ck_assert_str_eq(model_find(arena, MODELS, "gpt2"), MODELS "/gpt2.c");
    ck_assert_ptr_null(model_find(arena, MODELS, "basic_block"));
    Buffer out = { .arena = arena };
    model_list(arena, &out, MODELS);
    ck_assert_ptr_nonnull(strstr(buffer_text(&out), "mlp(tensor images, int hidden, int num_classes)\n"));
    ck_assert_ptr_null(strstr(buffer_text(&out), "LOSS"));
    arena_destroy(arena);
}
END_TEST

Suite *layers_suite(void)
{
    Suite *suite = suite_create("layers");
    TCase *cases = tcase_create("models");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, resnet_cifar_has_the_reference_names);
    tcase_add_test(cases, resnets_have_torchvision_sizes);
    tcase_add_test(cases, gpt2_has_hugging_face_names);
    tcase_add_test(cases, evaluation_finds_the_same_parameters);
    tcase_add_test(cases, default_names_pass_over_given_ones);
    tcase_add_loop_test(cases, calls_give_their_shapes, 0, sizeof calls / sizeof *calls);
    tcase_add_loop_test(cases, mistakes_are_explained, 0, sizeof mistakes / sizeof *mistakes);
    tcase_add_test(cases, parameters_of_the_recipe_are_checked);
    tcase_add_test(cases, initializers_follow_each_other);
    tcase_add_test(cases, models_are_found_by_name);
    return suite;
}
