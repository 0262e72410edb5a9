/* explain.c -- see explain.h. */
#include "report/explain.h"

/* ---- FLOPs ---- */

typedef double FlopRule(const Node *node);

static double elements(const Node *node)
{
    return (double)shape_elements(node->shape);
}

static double flops_matmul(const Node *node)
{
    const Node *a = node->inputs[0];
    return 2 * elements(node) * (double)a->shape.dim[a->shape.rank - (node->at.matmul.transpose_a ? 2 : 1)];
}

/* Every output element of conv2d meets channels/groups * kernel weights; the gradients move as many products. */
static double flops_conv(const Node *output, const Node *weight)
{
    return 2 * elements(output) * (double)(weight->shape.dim[1] * weight->shape.dim[2] * weight->shape.dim[3]);
}

static double flops_conv2d(const Node *node)
{
    return flops_conv(node, node->inputs[1]);
}

static double flops_conv2d_grad_input(const Node *node)
{
    return flops_conv(node->inputs[0], node->inputs[1]);
}

static double flops_conv2d_grad_weight(const Node *node)
{
    return flops_conv(node->inputs[0], node);
}

static double attention_products(const Node *q, const Node *k, bool causal)
{
    return elements(q) * (double)k->shape.dim[2] * 2 / (causal ? 2 : 1);
}

static double flops_attention(const Node *node)
{
    return 2 * attention_products(node->inputs[0], node->inputs[1], node->at.attention.causal);
}

static double flops_attention_grad(const Node *node)
{
    return 5 * attention_products(node->inputs[1], node->inputs[2], node->at.attention.causal);
}

static FlopRule *const flop_rules[OP_COUNT] = {
    [OP_matmul] = flops_matmul,
    [OP_conv2d] = flops_conv2d,
    [OP_conv2d_grad_input] = flops_conv2d_grad_input,
    [OP_conv2d_grad_weight] = flops_conv2d_grad_weight,
    [OP_attention] = flops_attention,
    [OP_attention_grad] = flops_attention_grad,
};

double report_flops(const Graph *graph)
{
    double flops = 0;
    for (int i = 0; i < graph->nodes.count; i++) {
        const Node *node = graph->nodes.items[i];
        if (flop_rules[node->op])
            flops += flop_rules[node->op](node);
    }
    return flops;
}

/* ---- text ---- */

static void explain_run(Buffer *out, const Program *program)
{
    const RunFacts *facts = &program->methods->facts;
    buffer_add(out, "run: %lld steps, %lld an epoch of %lld samples; evaluation of %lld samples\n", (long long)facts->steps,
               (long long)facts->batches_per_epoch, (long long)facts->train_samples, (long long)program->evaluation_samples);
    int64_t step = 0;
    for (int i = 0; i < program->run.count && i < 24; i++) {
        const Stretch *stretch = &program->run.items[i];
        const BatchKind *kind = &program->kinds.items[stretch->kind];
        const Geometry *g = &kind->geometry;
        buffer_add(out, "  step %lld, %lld batches: %s, ", (long long)step, (long long)stretch->batches,
                   program->topologies.items[kind->topology]->name);
        if (facts->is_text)
            buffer_add(out, "%lld x %lld tokens", (long long)g->rows, (long long)g->length);
        else
            buffer_add(out, "%lld images of %lld x %lld", (long long)g->rows, (long long)g->height, (long long)g->width);
        if (g->candidates)
            buffer_add(out, " kept of %lld", (long long)g->candidates);
        buffer_add(out, "\n");
        step += stretch->batches;
    }
    if (program->run.count > 24)
        buffer_add(out, "  ... %d more stretches\n", program->run.count - 24);
}

static void explain_topology(Buffer *out, const Topology *topology)
{
    buffer_add(out, "%s: %d nodes, %d phase%s\n", topology->name, topology->graphs[0]->nodes.count, topology->phases.count,
               topology->phases.count == 1 ? "" : "s");
    for (int i = 0; i < topology->phases.count; i++) {
        const Phase *phase = &topology->phases.items[i];
        buffer_add(out, "  phase %d: %lld rows, %.4g GFLOP\n", i, (long long)phase->rows, report_flops(phase->graph) / 1e9);
    }
    buffer_add(out, "  arena %.2f MiB of %.2f without sharing\n", (double)topology->plan->arena * 4 / 1048576,
               (double)topology->plan->unplanned * 4 / 1048576);
}

void report_explain(Buffer *out, const Program *program)
{
    buffer_add(out, "model: %s, %lld trained parameters in %d tensors, %lld buffers, %lld layers\n", program->recipe->model.name,
               (long long)program->trainable, program->parameters.count, (long long)program->buffers, (long long)program->leaves);
    methods_explain(out, program->methods);
    explain_run(out, program);
    for (int i = 0; i < program->topologies.count; i++)
        explain_topology(out, program->topologies.items[i]);
}
