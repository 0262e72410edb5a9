/* losses.c -- what is minimised: each LOSS gives the loss of each row, of the model's output and the targets.
 * The loss of a batch is the mean over the rows that are not ignored. */
#include "model.h"

/* -log of the probability of the target class. Dense targets: -sum t log p. */
tensor LOSS(cross_entropy)(tensor logits, tensor targets)
{
    return cross_entropy(logits, targets);
}

/* As cross_entropy, divided by the mean sum of a row of dense targets, so that rows that sum to less count in full. */
tensor LOSS(soft_cross_entropy)(tensor logits, tensor targets)
{
    if (rank_of(targets) < rank_of(logits))
        return cross_entropy(logits, targets);
    tensor rows = cross_entropy_dense(logits, targets);
    int class_axis = rank_of(logits) == 3 ? 2 : 1;
    tensor share = sum(targets, class_axis);
    for (int axis = 0; axis < rank_of(share); axis++)
        share = mean(share, axis);
    return mul(rows, reciprocal(reshape(share, 1)));
}

/* Every class is its own yes or no: the sum over classes of log(1 + exp(z)) - t z. */
tensor LOSS(bce)(tensor logits, tensor targets)
{
    tensor losses = sub(softplus(logits), mul(class_weights(logits, targets), logits));
    int class_axis = rank_of(logits) == 3 ? 2 : 1;
    tensor rows = sum(losses, class_axis);
    if (rank_of(logits) == 2)
        return reshape(rows, rows_of(rows));
    if (rank_of(logits) == 3)
        return reshape(rows, rows_of(rows), length_of(rows));
    return reshape(rows, rows_of(rows), height_of(rows), width_of(rows));
}

/* Mean of the squared differences to dense targets; to classes, of the differences to their weights. */
tensor LOSS(mse)(tensor output, tensor targets)
{
    tensor wanted = rank_of(targets) < rank_of(output) ? class_weights(output, targets) : targets;
    tensor difference = sub(output, wanted);
    tensor rows = mean(flatten(mul(difference, difference)), 1);
    return reshape(rows, rows_of(rows));
}
