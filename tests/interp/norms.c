/* norms.c -- moments, normalisation, its gradients, running statistics.
 *
 * xhat = (x - mean) / sqrt(variance + epsilon) */
#include "tests/interp/inside.h"

/* Which mean and variance an element of x is normalised with. */
static int64_t group_of(const Norm *norm, Shape x, int64_t flat)
{
    int64_t place[MAX_RANK], piece;
    place_of(x, flat, place);
    switch (norm->kind) {
    case NORM_BATCH:
        piece = (x.dim[0] + norm->pieces - 1) / norm->pieces;
        return place[0] / piece * x.dim[1] + place[1];
    case NORM_GROUP:
        return place[0] * norm->groups + place[1] / (x.dim[1] / norm->groups);
    default:
        return flat / elements_between(x, x.rank - norm->axes, x.rank);
    }
}

/* Which weight and bias an element of x meets. */
static int64_t affine_of(const Norm *norm, Shape x, int64_t flat)
{
    int64_t place[MAX_RANK];
    place_of(x, flat, place);
    bool by_channel = norm->kind == NORM_BATCH || norm->kind == NORM_GROUP;
    return by_channel ? place[1] : flat % elements_between(x, x.rank - norm->axes, x.rank);
}

static void add_at(double *sums, const Norm *norm, Shape x, int64_t flat, double value)
{
    sums[group_of(norm, x, flat)] += value;
}

/* How many elements a group has; the last piece of a batch may be shorter, even empty. */
static double group_size(const Norm *norm, Shape x, int64_t group)
{
    int64_t pixels = elements_between(x, 2, x.rank), piece, first;
    switch (norm->kind) {
    case NORM_BATCH:
        piece = (x.dim[0] + norm->pieces - 1) / norm->pieces;
        first = group / x.dim[1] * piece;
        return (double)((first + piece < x.dim[0] ? piece : first < x.dim[0] ? x.dim[0] - first : 0) * pixels);
    case NORM_GROUP:
        return (double)(x.dim[1] / norm->groups * pixels);
    default:
        return (double)elements_between(x, x.rank - norm->axes, x.rank);
    }
}

/* Mean first, then the mean square of what is left; of RMS the mean is taken as zero. */
void eval_moments(const Work *work)
{
    const Norm *norm = &work->node->at.norm;
    Shape x = input_shape(work, 0);
    int64_t groups = work->node->shape.dim[1];
    double *mean = work->out[0], *variance = mean + groups;
    for (int64_t i = 0; norm->kind != NORM_RMS && i < elements_of(x); i++)
        add_at(mean, norm, x, i, work->in[0][i]);
    for (int64_t g = 0; g < groups; g++)
        mean[g] /= fmax(group_size(norm, x, g), 1);
    for (int64_t i = 0; i < elements_of(x); i++) {
        double rest = work->in[0][i] - mean[group_of(norm, x, i)];
        add_at(variance, norm, x, i, rest * rest);
    }
    for (int64_t g = 0; g < groups; g++)
        variance[g] /= fmax(group_size(norm, x, g), 1);
}

static double deviation(const Norm *norm, const double *moments, int64_t groups, int64_t group)
{
    return sqrt(moments[groups + group] + norm->epsilon);
}

void eval_normalize(const Work *work)
{
    const Norm *norm = &work->node->at.norm;
    Shape x = work->node->shape;
    int64_t groups = input_shape(work, 1).dim[1];
    for (int64_t i = 0; i < elements_of(x); i++) {
        int64_t group = group_of(norm, x, i), affine = affine_of(norm, x, i);
        double xhat = (work->in[0][i] - work->in[1][group]) / deviation(norm, work->in[1], groups, group);
        double weight = work->node->input_count > 2 ? work->in[2][affine] : 1;
        double bias = work->node->input_count > 3 ? work->in[3][affine] : 0;
        work->out[0][i] = xhat * weight + bias;
    }
}

/* ---- gradients: inputs dy, x, moments, ... ---- */

static double xhat_at(const Work *work, const Norm *norm, Shape x, int64_t i)
{
    int64_t group = group_of(norm, x, i), groups = input_shape(work, 2).dim[1];
    return (work->in[1][i] - work->in[2][group]) / deviation(norm, work->in[2], groups, group);
}

static double weight_at(const Work *work, int input, const Norm *norm, Shape x, int64_t i)
{
    return work->node->input_count > input ? work->in[input][affine_of(norm, x, i)] : 1;
}

/* g = dy in a batch norm, whose weight is the same in all of a group; dy * weight elsewhere */
void eval_normalize_grad_sums(const Work *work)
{
    const Norm *norm = &work->node->at.norm;
    Shape x = input_shape(work, 1);
    int64_t groups = work->node->shape.dim[1];
    for (int64_t i = 0; i < elements_of(x); i++) {
        double g = work->in[0][i] * (norm->kind == NORM_BATCH ? 1 : weight_at(work, 3, norm, x, i));
        add_at(work->out[0], norm, x, i, g);
        add_at(work->out[0] + groups, norm, x, i, g * xhat_at(work, norm, x, i));
    }
}

/* dx = (dy weight - mean of it - xhat * mean of dy weight xhat) / deviation over each group; of RMS without the
 * first mean. The sums of a batch norm are those of dy alone. */
void eval_normalize_grad(const Work *work)
{
    const Norm *norm = &work->node->at.norm;
    Shape x = work->node->shape;
    int64_t groups = input_shape(work, 2).dim[1];
    for (int64_t i = 0; i < elements_of(x); i++) {
        int64_t group = group_of(norm, x, i);
        double count = group_size(norm, x, group);
        double weight = weight_at(work, 4, norm, x, i), of_sums = norm->kind == NORM_BATCH ? weight : 1;
        double mean = norm->kind == NORM_RMS ? 0 : of_sums * work->in[3][group] / count;
        double slope = of_sums * work->in[3][groups + group] / count;
        work->out[0][i] = (work->in[0][i] * weight - mean - xhat_at(work, norm, x, i) * slope)
                        / deviation(norm, work->in[2], groups, group);
    }
}

void eval_normalize_grad_affine(const Work *work)
{
    const Norm *norm = &work->node->at.norm;
    Shape x = input_shape(work, 1);
    int64_t count = work->node->shape.dim[1];
    for (int64_t i = 0; i < elements_of(x); i++) {
        int64_t affine = affine_of(norm, x, i);
        work->out[0][affine] += work->in[0][i];
        work->out[0][count + affine] += work->in[0][i] * xhat_at(work, norm, x, i);
    }
}

/* ---- running statistics ---- */

/* new = (1 - momentum) old + momentum batch, piece after piece; the variance of n values times n / (n - 1) */
void eval_running_update(const Work *work)
{
    int64_t channels = work->node->shape.dim[0], pieces = work->node->at.running.pieces;
    double momentum = work->node->at.running.momentum;
    for (int64_t c = 0; c < channels; c++) {
        double value = work->in[0][c];
        for (int64_t piece = 0; piece < pieces; piece++) {
            double n = (double)(piece == pieces - 1 ? work->node->at.running.last_count
                                                    : work->node->at.running.count);
            double batch = work->in[1][(work->node->at.running.which * pieces + piece) * channels + c];
            if (work->node->at.running.which && n > 1)
                batch *= n / (n - 1);
            value = (1 - momentum) * value + momentum * batch;
        }
        work->out[0][c] = value;
    }
}
