/** ghost_batchnorm -- batch norm whose statistics are of pieces of the batch, so that large batches keep their noise.
 *
 *  A batch of N rows is cut into ceil(N / ghost_batch_size) pieces of equal size, the last may be shorter; running
 *  statistics follow each piece with momentum / pieces. Evaluation uses the running statistics as always.
 *  paper: Hoffer et al. 2017, arXiv:1705.08741 */
#include "method.h"

SUMMARY("batch norm over pieces of the batch")
STAGE(SURGERY)
PARAM(int, ghost_batch_size, 32, ghost_batch_size >= 1, "rows that share a mean and variance")

tensor REWRITE(batch_norm)(tensor x, batch_norm_options norm)
{
    norm.group_size = ghost_batch_size;
    return batch_norm_layer(x, norm);
}
