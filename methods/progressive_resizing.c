/** progressive_resizing -- small images first, whole ones at the end.
 *
 *      p = 0 before delay_fraction, then rises to 1 at 1 - finetune_fraction
 *      width = (initial_scale + (1 - initial_scale) p) W, rounded to a multiple of size_increment; height in proportion
 *
 *  resize takes the nearest pixel, crop one random window for the batch.
 *  papers: Howard, fast.ai 2018; Touvron et al. 2019, arXiv:1906.06423 */
#include "method.h"

SUMMARY("small images first, whole ones at the end")
STAGE(GEOMETRY)
CHOICE(mode, RESIZE, "shrink the image or cut a window out", RESIZE, CROP)
PARAM(float, initial_scale, 0.5f, 0 < initial_scale && initial_scale <= 1, "scale at the start")
PARAM(float, finetune_fraction, 0.2f, 0 <= finetune_fraction && finetune_fraction <= 1, "part of the run at full size, at the end")
PARAM(float, delay_fraction, 0.5f, 0 <= delay_fraction && delay_fraction <= 1, "part of the run at the initial size")
PARAM(int, size_increment, 4, size_increment >= 1, "widths are multiples of it")
PARAM(bool, resize_targets, false, true, "resize targets that are images too")
NEUTRAL(initial_scale == 1)
REQUIRE(data == DATA_IMAGES, "only images can be resized")
REQUIRE(delay_fraction + finetune_fraction <= 1, "delay_fraction and finetune_fraction are more than the run")
REQUIRE(!resize_targets, "targets that are images can't be resized")

static float progress(float e)
{
    if (e < delay_fraction)
        return 0;
    float span = 1 - finetune_fraction - delay_fraction;
    return span > 0 ? fmin(1, (e - delay_fraction) / span) : 1;
}

geometry SCHEDULE(geometry)(const moment *now, geometry full)
{
    float scale = initial_scale + (1 - initial_scale) * progress(elapsed(now));
    int width = rint(full.width * scale / size_increment) * size_increment;
    if (width >= full.width)
        return full;
    full.height = full.height * width / full.width;
    full.width = width;
    full.resample = mode == CROP ? RESAMPLE_CROP : RESAMPLE_NEAREST;
    return full;
}
