/* test_graph_text.c -- the text form of graphs, and what the verifier finds: nodes that are wrong, as text. */
#include "graph_bench.h"

const char graph_every_op[] =
    "%0 = input real[5,4,6,6] images \"images\" kind=images\n"
    "%1 = input int[5] rows \"targets\" kind=targets\n"
    "%2 = input int[5,7] rows \"tokens\" kind=tokens\n"
    "%3 = parameter real[8,2,3,3] rows \"\" \"conv.weight\" leaf=0 buffer=0 fan_in_first=0 initial: mul(0.1, normal(0x000000000000ab12, 0))\n"
    "%4 = parameter real[4] rows \"\" \"bn.weight\" leaf=1 buffer=0 fan_in_first=0 initial: 1.0\n"
    "%5 = parameter real[4] rows \"\" \"bn.running_var\" leaf=1 buffer=1 fan_in_first=0\n"
    "%6 = constant real[] rows \"half\" value=0.5\n"
    "%7 = conv2d %0 %3 real[5,8,3,3] images \"conv\"" CONV
    "%8 = conv2d_grad_input %7 %3 real[5,4,6,6] images \"d images\"" CONV
    "%9 = conv2d_grad_weight %7 %0 real[8,2,3,3] rows \"d conv.weight\"" CONV
    "%10 = max_pool2d %0 real[5,4,3,3] images \"pool\"" POOL
    "%11 = result %10 int[5,4,3,3] images \"pool.where\" index=1\n"
    "%12 = max_pool2d_grad %10 %11 real[5,4,6,6] images \"\"" POOL
    "%13 = avg_pool2d %0 real[5,4,2,3] rows \"\"" ADAPTIVE
    "%14 = avg_pool2d_grad %13 real[5,4,6,6] rows \"\"" ADAPTIVE
    "%15 = resize2d %0 real[5,4,9,12] rows \"\"" RESIZE
    "%16 = resize2d_grad %15 real[5,4,6,6] rows \"\"" RESIZE
    "%17 = blur2d %0 real[5,4,3,6] rows \"\" stride=2,1\n"
    "%18 = blur2d_grad %17 real[5,4,6,6] rows \"\" stride=2,1\n"
    "%19 = moments %0 real[2,12] rows \"bn.moments\"" GHOST
    "%20 = normalize %0 %19 %4 %4 real[5,4,6,6] rows \"bn\"" GHOST
    "%21 = normalize_grad_sums %20 %0 %19 %4 real[2,12] rows \"\"" GHOST
    "%22 = normalize_grad %20 %0 %19 %21 %4 real[5,4,6,6] rows \"\"" GHOST
    "%23 = normalize_grad_affine %20 %0 %19 real[2,4] rows \"\"" GHOST
    "%24 = running_update %5 %19 real[4] rows \"\" which=1 momentum=0.1 count=72 pieces=3 last_count=36\n"
    "%25 = moments %0 real[2,20] rows \"\" norm=row epsilon=0 pieces=0 is_cut=0 axes=2 groups=0\n"
    "%26 = moments %0 real[2,10] rows \"\" norm=group epsilon=0 pieces=0 is_cut=0 axes=0 groups=2\n"
    "%27 = moments %0 real[2,5] rows \"\" norm=rms epsilon=0 pieces=0 is_cut=0 axes=3 groups=0\n"
    "%28 = reshape %0 real[5,4,36] rows \"\"\n"
    "%29 = transpose %28 real[5,36,4] rows \"\" order=0,2,1\n"
    "%30 = matmul %28 %29 real[5,4,4] rows \"\" transpose_a=0 transpose_b=0\n"
    "%31 = slice %2 int[5,3] rows \"\" axis=1 begin=1 end=7 stride=2\n"
    "%32 = pad %31 int[5,4] rows \"\" before=0,2 after=0,-1 value=-1\n"
    "%33 = concat %31 %32 int[5,7] rows \"\" axis=1\n"
    "%34 = parameter real[11,6] rows \"\" \"wte\" leaf=2 buffer=0 fan_in_first=1\n"
    "%35 = gather %34 %33 real[5,7,6] rows \"\" padding_row=-1\n"
    "%36 = gather_grad %35 %33 real[11,6] rows \"d wte\" padding_row=3\n"
    "%37 = reshape %35 real[5,7,2,3] rows \"\"\n"
    "%38 = transpose %37 real[5,2,7,3] rows \"heads\" order=0,2,1,3\n"
    "%39 = attention %38 %38 %38 real[5,2,7,3] rows \"\" causal=1 scale=0.5 expr: add(in0, to_float(sub(at2, at1)))\n"
    "%40 = result %39 real[5,2,7] rows \"\" index=1\n"
    "%41 = attention_grad %39 %38 %38 %38 %39 %40 real[5,2,7,3] rows \"\" causal=1 scale=0.5\n"
    "%42 = result %41 real[5,2,7,3] rows \"\" index=2\n"
    "%43 = reduce %35 real[5,1,6] rows \"\" kind=mean axes=2\n"
    "%44 = reshape %43 real[5,6] rows \"logits\"\n"
    "%45 = softmax %44 real[5,6] rows \"\" axis=1\n"
    "%46 = log_softmax %44 real[5,6] rows \"\" axis=0\n"
    "%47 = cross_entropy %44 %1 %1 real[5] rows \"\"" LOSS " expr: add(0.1, mul(0.9, in0)) share: $mixup:lambda\n"
    "%48 = cross_entropy_grad %44 %1 %1 %47 real[5,6] rows \"\"" LOSS " share: $mixup:lambda\n"
    "%49 = dense_cross_entropy %44 %45 real[5] rows \"\"" LOSS "\n"
    "%50 = target_rank %44 %1 int[5] rows \"\"" LOSS "\n"
    "%51 = confusion %44 %1 real[3,6] rows \"\"" LOSS "\n"
    "%52 = map %50 int[5] rows \"\" expr: add(1, in0i)\n"
    "%53 = map %47 %6 bf16[5] rows \"\" expr: mul(in0, in1)\n"
    "%54 = reduce %47 real[1] rows \"loss\" kind=sum axes=1\n"
    "output loss %54 \"loss\"\n"
    "output row_loss %47 \"\"\n"
    "output logits %44 \"logits\"\n"
    "output gradient %9 \"conv.weight\"\n"
    "output gradient %36 \"wte\"\n"
    "output buffer %24 \"bn.running_var\"\n"
    "output metric %51 \"confusion\"\n";

/* ---- reading ---- */

Arena *graph_arena;
Diagnostics graph_diag;

void graph_setup(void)
{
    graph_arena = arena_create();
    graph_diag = (Diagnostics){ .arena = graph_arena };
}

void graph_teardown(void)
{
    arena_destroy(graph_arena);
}

Graph *graph_of_text(const char *text)
{
    Source *source = arena_new(graph_arena, Source);
    *source = (Source){ "graph", text, strlen(text) };
    return graph_read(graph_arena, expr_pool(graph_arena), source, &graph_diag);
}

static Graph *read_well(const char *text)
{
    Graph *graph = graph_of_text(text);
    ck_assert_msg(graph, "line %d: %s", graph_diag.list.items[0].place.line, graph_diag.list.items[0].message);
    return graph;
}

Graph *graph_of_every_op(void)
{
    return read_well(graph_every_op);
}

const char *graph_as_text(const Graph *graph)
{
    Buffer out = { .arena = graph_arena };
    graph_print(&out, graph);
    return buffer_text(&out);
}

void check_same_text(const char *a, const char *b)
{
    for (int line = 1; *a || *b; line++) {
        size_t length = strcspn(a, "\n"), other = strcspn(b, "\n");
        ck_assert_msg(length == other && strncmp(a, b, length) == 0, "line %d is\n%.*s\nand not\n%.*s", line,
                      (int)length, a, (int)other, b);
        a += length + (a[length] == '\n');
        b += other + (b[other] == '\n');
    }
}

START_TEST(text_of_every_op_reads_back)
{
    Graph *graph = graph_of_every_op();
    bool seen[OP_COUNT] = { false };
    for (int i = 0; i < graph->nodes.count; i++)
        seen[graph->nodes.items[i]->op] = true;
    for (Op op = 0; op < OP_COUNT; op++)
        ck_assert_msg(seen[op], "%s is not in the text", op_info[op].name);
    check_same_text(graph_as_text(graph), graph_every_op);
    ck_assert_ptr_null(graph_verify(graph, graph_arena));
}
END_TEST

START_TEST(reading_shares_parameters_and_skips_comments)
{
    Graph *graph = read_well("# a comment\n\n"
                             "%0 = parameter real[2] rows \"a\" \"w\" leaf=4 buffer=0 fan_in_first=0\n"
                             "%1 = parameter real[2] rows \"b\" \"w\" leaf=4 buffer=0 fan_in_first=0");
    const Parameter *parameter = graph->nodes.items[0]->at.parameter.is;
    ck_assert_ptr_eq(parameter, graph->nodes.items[1]->at.parameter.is);
    ck_assert_int_eq(parameter->leaf, 4);
    ck_assert_str_eq(parameter->name, "w");
    ck_assert_str_eq(graph->nodes.items[1]->name, "b");
}
END_TEST

START_TEST(names_that_would_end_a_name_still_read_back)
{
    Graph *graph = graph_create(graph_arena, expr_pool(graph_arena));
    node_named(node_add_shaped(graph, OP_constant, NULL, 0, NULL, shape_of(0), DTYPE_REAL), "say \"x\"\nand go");
    const char *once = graph_as_text(graph);
    check_same_text(graph_as_text(read_well(once)), once);
}
END_TEST

/* ---- the verifier, on nodes as text ---- */

typedef struct Broken { const char *line, *message; } Broken;

static const Broken broken[] = {
    { "matmul %28 %28 real[5,4,4] rows \"\" transpose_a=0 transpose_b=0", "the extents that are summed over differ" },
    { "matmul %28 real[5,4,4] rows \"\" transpose_a=0 transpose_b=0", "too few or too many inputs" },
    { "matmul %28 %29 real[5,4,5] rows \"\" transpose_a=0 transpose_b=0", "its shape is not that of its rule" },
    { "matmul %28 %29 int[5,4,4] rows \"\" transpose_a=0 transpose_b=0", "its dtype is not that of its rule" },
    { "matmul %28 %29 real[5,4,4] images \"\" transpose_a=0 transpose_b=0", "its layout is not one of its rank" },
    { "matmul %1 %29 real[5,4,4] rows \"\" transpose_a=0 transpose_b=0", "its operands are not matrices" },
    { "constant real[99999999,99999999] rows \"\" value=0", "too many elements" },
    { "reshape %28 real[5,144,2] rows \"\"", "the number of elements changes" },
    { "transpose %28 real[5,36,4] rows \"\" order=0,2,2", "no permutation" },
    { "slice %2 int[5,3] rows \"\" axis=1 begin=1 end=8 stride=2", "does not lie in the axis" },
    { "slice %2 int[5,3] rows \"\" axis=2 begin=1 end=7 stride=2", "an axis that is not there" },
    { "pad %31 int[5,4] rows \"\" before=0,-4 after=0,-1 value=0", "nothing is left" },
    { "concat %31 %28 int[5,4] rows \"\" axis=1", "differ in another axis" },
    { "reduce %35 real[5,1,6] rows \"\" kind=mean axes=8", "an axis that is not there" },
    { "gather %34 %44 real[5,6,6] rows \"\" padding_row=-1", "its ids are not integers" },
    { "gather %34 %33 real[5,7,6] rows \"\" padding_row=11", "no such padding row" },
    { "gather_grad %35 %33 real[11,7] rows \"\" padding_row=-1", "does not make the shape of dy" },
    { "conv2d %0 %3 real[5,8,3,3] rows \"\" stride=2,2 before=1,1 after=1,1 dilation=1,1 groups=1", "channels, weights and groups" },
    { "conv2d %0 %3 real[5,8,3,3] rows \"\" stride=0,2 before=1,1 after=1,1 dilation=1,1 groups=2", "make no sense" },
    { "conv2d %0 %3 real[5,8,3,3] rows \"\" stride=2,2 before=1,1 after=1,1 dilation=5,5 groups=2", "smaller than the kernel" },
    { "conv2d_grad_input %7 %3 real[5,4,8,6] rows \"\"" CONV, "does not make the shape of dy" },
    { "conv2d_grad_weight %7 %0 real[8,2,5,3] rows \"\"" CONV, "does not make the shape of dy" },
    { "max_pool2d %0 real[5,4,2,3] rows \"\"" ADAPTIVE, "only averages are adaptive" },
    { "max_pool2d_grad %10 %10 real[5,4,6,6] rows \"\"" POOL, "where the largest elements are" },
    { "avg_pool2d_grad %10 real[5,4,6,6] rows \"\"" ADAPTIVE, "does not make the shape of dy" },
    { "resize2d %0 real[5,3,9,12] rows \"\"" RESIZE, "only height and width" },
    { "blur2d_grad %17 real[5,4,8,6] rows \"\" stride=2,1", "does not make the shape of dy" },
    { "moments %0 real[2,16] rows \"\"" GHOST, "its shape is not that of its rule" },
    { "moments %0 real[2,20] rows \"\" norm=row epsilon=0 pieces=0 is_cut=0 axes=-9 groups=0", "does not fit the tensor" },
    { "moments %0 real[2,20] rows \"\" norm=group epsilon=0 pieces=0 is_cut=0 axes=0 groups=3", "does not fit the tensor" },
    { "normalize %0 %25 real[5,4,6,6] rows \"\"" GHOST, "not those of its groups" },
    { "normalize %0 %19 %1 real[5,4,6,6] rows \"\"" GHOST, "weight or bias does not fit" },
    { "normalize_grad %20 %0 %19 %26 real[5,4,6,6] rows \"\"" GHOST, "its moments and sums differ" },
    { "normalize_grad_affine %7 %0 %19 real[2,4] rows \"\"" GHOST, "dy and x differ" },
    { "running_update %5 %19 real[4] rows \"\" which=1 momentum=0.1 count=72 pieces=4 last_count=36", "channels and pieces" },
    { "softmax %44 real[5,6] rows \"\" axis=2", "its axis is not there" },
    { "attention %38 %38 %38 %44 real[5,2,7,3] rows \"\" causal=0 scale=1", "its mask" },
    { "attention_grad %39 %38 %38 %38 %39 %39 real[5,2,7,3] rows \"\" causal=0 scale=1", "its log-sum-exp" },
    { "attention %38 %38 %38 real[5,2,7,3] rows \"\" causal=0 scale=1 expr: in1", "an input that is not there" },
    { "attention %38 %38 %38 real[5,2,7,3] rows \"\" causal=0 scale=1 expr: to_float(at3)", "a coordinate that is not there" },
    { "cross_entropy %44 %2 real[5] rows \"\"" LOSS, "logits and classes don't fit" },
    { "cross_entropy %44 %1 %47 real[5] rows \"\"" LOSS, "its classes are not integers" },
    { "cross_entropy_grad %44 %1 %45 real[5,6] rows \"\"" LOSS, "gradient of its rows" },
    { "dense_cross_entropy %44 %47 real[5] rows \"\"" LOSS, "dense targets differ" },
    { "target_rank %44 %1 real[5] rows \"\"" LOSS, "its dtype is not that of its rule" },
    { "confusion %44 %1 real[3,5] rows \"\"" LOSS, "its shape is not that of its rule" },
    { "result %10 real[5,4,3,3] rows \"\" index=1", "its dtype is not that of its rule" },
    { "result %10 int[5,4,3,3] rows \"\" index=2", "no such result" },
    { "map %47 real[5] rows \"\"", "it has no expression" },
    { "map %47 real[5] rows \"\" expr: in1", "an input that is not there" },
    { "map %47 real[5] rows \"\" expr: to_float(at1)", "a coordinate that is not there" },
    { "map %47 int[5] rows \"\" expr: in0", "its dtype is not that of its expression" },
    { "map %50 real[5] rows \"\" expr: in0", "integers as reals" },
    { "map %47 real[4] rows \"\" expr: in0", "don't broadcast to its shape" },
    { "map %47 %44 real[5,6] rows \"\" expr: in0", "its inputs don't broadcast" },
    { "softmax %44 real[5,6] rows \"\" axis=1 expr: in0", "an expression, which its op does not read" },
    { "parameter real[5] rows \"\" \"bn.weight\" leaf=1 buffer=0 fan_in_first=0 initial: 1.0", "different before" },
    { "map %55 real[5] rows \"\" expr: in0", "no node before this one" },
    { "sofmax %44 real[5,6] rows \"\" axis=1", "there is no op 'sofmax'; did you mean 'softmax'?" },
    { "softmax %44 reel[5,6] rows \"\" axis=1", "there is no dtype 'reel'; did you mean 'real'?" },
    { "softmax %44 real[5,6] rows \"\" axis=\n1", "a whole number is expected" },
    { "softmax %44 real[5,6] rows \"\" axis=9999999999", "a number from" },
    { "softmax %44 real[1,1,1,1,1,1,1] rows \"\" axis=1", "at most six axes" },
    { "softmax %44 real[5,0] rows \"\" axis=1", "extents are at least 1" },
    { "softmax %44 real[5,6] rows \"\" axis=1 more", "the line should end here" },
    { "softmax %44 real[5,6] rows \"\"", "'axis=' is expected" },
};

enum { BROKEN = sizeof broken / sizeof *broken };

/* The text of every op up to its outputs, and another node. */
static const char *with_line(const char *line)
{
    size_t length = (size_t)(strstr(graph_every_op, "output") - graph_every_op);
    return text_format(graph_arena, "%s%%55 = %s\n", text_slice(graph_arena, graph_every_op, length), line);
}

START_TEST(what_is_wrong_with_a_node_is_found)
{
    ck_assert_ptr_null(graph_of_text(with_line(broken[_i].line)));
    ck_assert_int_eq(graph_diag.list.count, 1);
    const Diagnostic *said = &graph_diag.list.items[0];
    ck_assert_msg(strstr(said->message, broken[_i].message), "'%s' says: %s", broken[_i].line, said->message);
    ck_assert_int_ge(said->place.line, 56);
    ck_assert_int_le(said->place.line, 57);
}
END_TEST

START_TEST(messages_name_the_node_its_inputs_and_its_numbers)
{
    graph_of_text(with_line("slice %2 int[5,3] rows \"cut\" axis=1 begin=1 end=8 stride=2"));
    ck_assert_str_eq(graph_diag.list.items[0].message, "node 55, slice 'cut' [5,3] of %2 [5,7], axis=1 begin=1 end=8 stride=2: "
                                                 "its range does not lie in the axis");
}
END_TEST

/* ---- the verifier, on what text can't say ---- */

static const char *damage(Graph *graph, int how)
{
    Graph *other = graph_of_every_op();
    Node *node = graph->nodes.items[45];
    switch (how) {
    case 0: node->inputs[0] = NULL; return "an input is not a node of the graph";
    case 1: node->inputs[0] = other->nodes.items[44]; return "an input is not a node of the graph";
    case 2: node->inputs[0] = node; return "an input comes after it";
    case 3: node->id = 3; return "its place is 45";
    case 4: node->op = OP_COUNT; return "no such op";
    case 5: node->shape.rank = 7; return "its rank";
    case 6: node->dtype = (DType)9; return "no such dtype";
    case 7: node->layout = LAYOUT_IMAGES; return "its layout";
    case 8: graph->nodes.items[0]->at.input.kind = (InputKind)77; return "no such input";
    case 9: graph->nodes.items[3]->at.parameter.is = NULL; return "belongs to no parameter";
    case 10: graph->nodes.items[4]->at.parameter.is = graph->nodes.items[3]->at.parameter.is; return "that of its parameter";
    case 11: graph->nodes.items[19]->at.norm.kind = (NormKind)9; return "does not fit";
    case 12: graph->nodes.items[54]->at.reduce.kind = (ReduceKind)-1; return "in no known way";
    case 13: graph->outputs.items[0].node = other->nodes.items[54]; return "output 0 is not a node";
    case 14: graph->outputs.items[0].node = node; return "a loss is one value";
    case 15: graph->outputs.items[3].node = node; return "not that of its parameter";
    case 16: graph->outputs.items[3].parameter = NULL; return "belongs to no parameter";
    case 17: graph->outputs.items[4] = graph->outputs.items[3]; return "has that output already";
    case 18: graph->outputs.items[2].kind = (OutputKind)8; return "no such output";
    default: node->input_count = 0; return "too few or too many inputs";
    }
}

enum { DAMAGES = 20 };

START_TEST(what_is_wrong_with_a_graph_is_found)
{
    Graph *graph = graph_of_every_op();
    const char *wanted = damage(graph, _i), *said = graph_verify(graph, graph_arena);
    ck_assert_msg(said && strstr(said, wanted), "damage %d says: %s", _i, said ? said : "nothing");
}
END_TEST

/* ---- malformed text ---- */

/* It either reads, and then prints and reads back, or there is exactly one complaint. */
static void check_any_text(const char *text)
{
    graph_setup();
    Graph *graph = graph_of_text(text);
    if (graph) {
        const char *once = graph_as_text(graph);
        check_same_text(graph_as_text(read_well(once)), once);
    } else {
        ck_assert_int_eq(graph_diag.list.count, 1);
    }
    graph_teardown();
}

START_TEST(text_that_breaks_off_is_no_crash)
{
    char text[sizeof graph_every_op];
    for (size_t length = (size_t)_i; length < sizeof graph_every_op; length += 61) {
        memcpy(text, graph_every_op, length);
        text[length] = '\0';
        check_any_text(text);
    }
}
END_TEST

START_TEST(text_with_wrong_characters_is_no_crash)
{
    static const char wrong[] = "0123456789-%,[]=\" \nabi.";
    char text[sizeof graph_every_op];
    unsigned state = (unsigned)_i + 1;
    for (int trial = 0; trial < 100; trial++) {
        memcpy(text, graph_every_op, sizeof text);
        for (int i = 0; i <= trial % 3; i++) {
            state = state * 1664525u + 1013904223u;
            text[(state >> 8) % (sizeof text - 1)] = wrong[(state >> 3) % (sizeof wrong - 1)];
        }
        check_any_text(text);
    }
}
END_TEST

/* ---- the groups ---- */

TCase *graph_group(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, graph_setup, graph_teardown);
    suite_add_tcase(suite, tcase);
    return tcase;
}

void add_graph_texts(Suite *suite)
{
    TCase *tcase = graph_group(suite, "verify");
    tcase_add_loop_test(tcase, what_is_wrong_with_a_node_is_found, 0, BROKEN);
    tcase_add_test(tcase, messages_name_the_node_its_inputs_and_its_numbers);
    tcase_add_loop_test(tcase, what_is_wrong_with_a_graph_is_found, 0, DAMAGES);
    tcase = graph_group(suite, "text");
    tcase_add_test(tcase, text_of_every_op_reads_back);
    tcase_add_test(tcase, reading_shares_parameters_and_skips_comments);
    tcase_add_test(tcase, names_that_would_end_a_name_still_read_back);
    tcase = tcase_create("malformed");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, text_that_breaks_off_is_no_crash, 0, 61);
    tcase_add_loop_test(tcase, text_with_wrong_characters_is_no_crash, 0, 10);
}
