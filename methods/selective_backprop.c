/** selective_backprop -- score a batch, train on the rows it finds hard.
 *
 *      keep N of the N rows, without replacement; the row of rank r among rising losses with weight ((r + 1/2) / N)^(1/keep - 1)
 *
 *  Active from `start` to `end` of the run; with interrupt k every k-th batch of an epoch is trained whole. Scoring leaves
 *  running statistics alone.
 *  paper: Jiang et al. 2019, arXiv:1910.00762 */
#include "method.h"

SUMMARY("train on the rows that the model finds hard")
STAGE(BATCH)
AFTER(cutout, "what is scored is what is trained on")
PARAM(float, start, 0.5f, 0 <= start && start <= 1, "part of the run before pruning begins")
PARAM(float, end, 0.9f, 0 <= end && end <= 1, "part of the run when pruning ends")
PARAM(float, keep, 0.5f, 0 < keep, "part of a batch that is kept")
PARAM(float, scale_factor, 1, 0 < scale_factor && scale_factor <= 1, "scale of the images that are scored")
PARAM(int, interrupt, 2, interrupt >= 0, "every so many batches one is trained whole; 0: none")
PARAM(bool, update_statistics, false, true, "scoring moves running statistics, as in Composer")
NEUTRAL(keep >= 1 || interrupt == 1 || start >= end)
REQUIRE(data == DATA_IMAGES, "only batches of images can be pruned")
REQUIRE(scale_factor == 1, "scoring smaller images does not work yet: scale_factor must be 1")
REQUIRE(!update_statistics, "scoring leaves running statistics alone; update_statistics does not work yet")

geometry SCHEDULE(geometry)(const moment *now, geometry full)
{
    bool whole = interrupt > 0 && (now->batch_in_epoch + 1) % interrupt == 0;
    if (elapsed(now) < start || elapsed(now) >= end || whole)
        return full;
    int kept = keep * full.rows;
    require(kept >= 1, "selective_backprop keeps none of %d rows", full.rows);
    full.candidates = full.rows;
    full.rows = kept;
    return full;
}

float HOOK(rank_weight)(int rank, int rows)
{
    return pow((rank + 0.5f) / rows, 1 / keep - 1);
}
