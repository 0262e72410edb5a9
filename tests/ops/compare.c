/* compare.c -- see compare.h. */
#include "tests/ops/compare.h"

#include <math.h>

static void compare(Report *report, const char *name, const double *got, const Tensor *want, double factor,
                    double tolerance)
{
    if (!got || !want) {
        buffer_add(&report->wrong, "%s: %s %s\n", report->file, got ? "the reference has no" : "there is no",
                   name);
        return;
    }
    for (int64_t i = 0; i < shape_elements(want->shape); i++) {
        double value = want->values[i];
        if (fabs(got[i] / factor - value) <= tolerance * (1 + fabs(value)) || got[i] / factor == value)
            continue;
        buffer_add(&report->wrong, "%s: %s%s, element %lld, is %.15g and not %.15g\n", report->file, name,
                   shape_text(report->arena, want->shape), (long long)i, got[i] / factor, value);
        return;
    }
}

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static void compare_gradients(Report *report, OpCase *c, const Interp *interp, double tolerance)
{
    Trial *trial = c->trial;
    for (int i = 0; i < trial->parameters.count; i++) {
        const Parameter *parameter = trial->parameters.items[i];
        if (parameter->is_buffer)
            continue;
        const char *name = text_format(report->arena, "grad_%s", last_part(parameter->name));
        compare(report, name, interp_output(interp, OUTPUT_GRADIENT, parameter, NULL),
                tensor_named(&c->tensors, name), trial_seed, tolerance);
    }
}

static void compare_outputs(Report *report, OpCase *c, const Interp *interp, const Node *output,
                            double tolerance)
{
    const Graph *graph = c->trial->graph;
    compare(report, "output", interp_value(interp, output), tensor_named(&c->tensors, "output"), 1, tolerance);
    for (int i = 0; i < c->extras.count; i++)
        compare(report, c->extra_names.items[i], interp_value(interp, c->extras.items[i]),
                tensor_named(&c->tensors, c->extra_names.items[i]), 1, tolerance);
    for (int i = 0; i < graph->outputs.count; i++)
        if (graph->outputs.items[i].kind == OUTPUT_BUFFER) {
            const char *name =
                text_format(report->arena, "new_%s", last_part(graph->outputs.items[i].parameter->name));
            compare(report, name, interp_value(interp, graph->outputs.items[i].node),
                    tensor_named(&c->tensors, name), 1, tolerance);
        }
}

void compare_case(Report *report, OpCase *c, Node *output, double tolerance)
{
    Trial *trial = c->trial;
    const Tensor *want = tensor_named(&c->tensors, "output");
    if (!shape_equal(output->shape, want->shape)) {
        buffer_add(&report->wrong, "%s: shape %s and not %s\n", report->file,
                   shape_text(report->arena, output->shape), shape_text(report->arena, want->shape));
        return;
    }
    trial_differentiate(trial, output, tensor_named(&c->tensors, "grad_output")->values);
    const char *broken = graph_verify(trial->graph, report->arena);
    if (broken)
        buffer_add(&report->wrong, "%s: %s\n", report->file, broken);
    Interp *interp = trial_interp(trial);
    interp_run(interp);
    compare_outputs(report, c, interp, output, tolerance);
    compare_gradients(report, c, interp, tolerance);
}

void compare_counts(Report *report, const OpCase *c, const Json *entry)
{
    int gradients = 0;
    for (int i = 0; i < c->trial->parameters.count; i++)
        gradients += !c->trial->parameters.items[i]->is_buffer;
    if (gradients != json_get(entry, "gradients")->count
        || c->extras.count + 1 != json_get(entry, "outputs")->count)
        buffer_add(&report->wrong, "%s: %d gradients and %d outputs are compared, not all\n", report->file,
                   gradients, c->extras.count + 1);
}
