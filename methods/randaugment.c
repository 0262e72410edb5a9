/** randaugment -- each image goes through some operations drawn at random.
 *
 *      depth times: an operation of the set, all equally likely, at a level u ~ U(0.1, severity)
 *
 *  On 8-bit images, before normalisation. safe: without the enhancements; original: enhancements go by the level too.
 *  paper: Cubuk et al. 2019, arXiv:1909.13719 */
#include "augment.h"

SUMMARY("some random operations on each image")
STAGE(LOADER)
PARAM(float, severity, 9, 0 <= severity && severity <= 10, "highest level")
PARAM(int, depth, 2, depth >= 0, "operations on an image")
CHOICE(augmentation_set, ALL, "which operations", ALL, SAFE, ORIGINAL)
NEUTRAL(depth == 0)
EXCLUDES(augmix, "both fill the place of random operations")
REQUIRE(data == DATA_IMAGES, "only images can be augmented")
UNAVAILABLE("no hook sees a whole image, and draws are of a batch, not of a row")

static struct deed next_deed(void)
{
    return drawn_deed(severity, augmentation_set == SAFE ? SAFE_OPERATIONS : OPERATIONS, augmentation_set == ORIGINAL);
}
