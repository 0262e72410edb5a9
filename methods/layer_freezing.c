/** layer_freezing -- the first layers stop learning, more of them from epoch to epoch.
 *
 *      part = freeze_level (e - freeze_start) / (1 - freeze_start)       e: elapsed at the end of the last epoch
 *      frozen = floor(part (layers - 1)), in order of definition; the last layer always learns
 *
 *  Running statistics of frozen layers go on moving.
 *  paper: Raghu et al. 2017, arXiv:1706.05806; Brock et al. 2017, arXiv:1706.04983 */
#include "method.h"

SUMMARY("the first layers stop learning, more from epoch to epoch")
STAGE(EPOCH)
PARAM(float, freeze_start, 0.5f, 0 <= freeze_start && freeze_start <= 1, "part of the run without freezing")
PARAM(float, freeze_level, 1, 0 <= freeze_level && freeze_level <= 1, "part of the layers that is frozen at the end")
NEUTRAL(freeze_level == 0 || freeze_start == 1)

int SCHEDULE(frozen_layers)(const moment *now, int layers)
{
    float e = (float)(now->step - now->batch_in_epoch) / now->steps;
    if (e <= freeze_start)
        return 0;
    return freeze_level * (e - freeze_start) / (1 - freeze_start) * (layers - 1);
}
