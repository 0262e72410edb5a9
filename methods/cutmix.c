/** cutmix -- paste a box of another image, and weigh the targets by area.
 *
 *      kept ~ Beta(alpha, alpha)       a box of sides sqrt(1 - kept) of the image's, clipped at its edges
 *      target <- (1 - area) own + area partner's              area: the clipped box's share of the image
 *
 *  The box is the same for all rows of a micro-batch.
 *  paper: Yun et al. 2019, arXiv:1905.04899 */
#include "method.h"

SUMMARY("a box of another image pasted in, targets weighed by area")
STAGE(MIX)
PARAM(float, alpha, 1, alpha >= 0, "shape of the distribution of the kept area; 0: the box is as large as the image")
PARAM(bool, interpolate_loss, false, true, "mix losses instead of targets; the result is the same here")
PARAM(bool, uniform_sampling, false, true, "centres may lie outside, so that every pixel is covered equally often")
EXCLUDES(mixup, "an image has one partner")
REQUIRE(data == DATA_IMAGES, "only images can be mixed")

struct cut {
    int bbox[4];                        /* first row, first column, row behind the last, column behind the last */
};

static int centre(int extent, int side)
{
    return uniform_sampling ? draw_integer(extent + side / 2 + (side + 1) / 2) - (side + 1) / 2 : draw_integer(extent);
}

DRAW(micro_batch, struct cut, cut)
{
    float kept = alpha > 0 ? draw_beta(alpha, alpha) : 0;
    int height = image_height * sqrt(1 - kept), width = image_width * sqrt(1 - kept);
    int row = centre(image_height, height), column = centre(image_width, width);
    return (struct cut){ { imax(row - height / 2, 0), imax(column - width / 2, 0),
                           imin(row + height / 2, image_height), imin(column + width / 2, image_width) } };
}

float HOOK(mixed_pixel)(float own, float partner, int channel, int y, int x)
{
    bool inside = cut.bbox[0] <= y && y < cut.bbox[2] && cut.bbox[1] <= x && x < cut.bbox[3];
    return inside ? partner : own;
}

float HOOK(partner_weight)(void)
{
    float area = (cut.bbox[2] - cut.bbox[0]) * (cut.bbox[3] - cut.bbox[1]);
    return area / (image_height * image_width);
}
