/** cutout -- squares of the image become zero, that is the mean of the data.
 *
 *  Centres are uniform over the image; a square of `length` of the shorter side is clipped at the edges. The same for all
 *  rows and channels of a batch.
 *  paper: DeVries, Taylor 2017, arXiv:1708.04552 */
#include "method.h"

enum { MOST_HOLES = 8 };

SUMMARY("squares of the image set to zero")
STAGE(BATCH)
PARAM(int, num_holes, 1, 0 <= num_holes && num_holes <= MOST_HOLES, "squares in an image, at most 8")
PARAM(float, length, 0.5f, 0 <= length && length <= 1, "side of a square, as a part of the image's shorter side")
PARAM(bool, uniform_sampling, false, true, "centres may lie outside, so that every pixel is covered equally often")
NEUTRAL(num_holes == 0 || length == 0)
REQUIRE(data == DATA_IMAGES, "only images can be cut")

struct hole {
    int center_row, center_column;
};

struct holes {
    int length;
    struct hole at[MOST_HOLES];
};

static int centre(int extent, int side)
{
    return uniform_sampling ? draw_integer(extent + side / 2 + (side + 1) / 2) - (side + 1) / 2 : draw_integer(extent);
}

DRAW(batch, struct holes, holes)
{
    struct holes drawn = { .length = imin(image_height, image_width) * length };
    for (int i = 0; i < num_holes; i++) {
        drawn.at[i].center_row = centre(image_height, drawn.length);
        drawn.at[i].center_column = centre(image_width, drawn.length);
    }
    return drawn;
}

float HOOK(pixel)(float value, int channel, int y, int x)
{
    int half = holes.length / 2;
    for (int i = 0; i < num_holes; i++) {
        struct hole at = holes.at[i];
        bool inside = at.center_row - half <= y && y < at.center_row + half && at.center_column - half <= x
                   && x < at.center_column + half;
        value = inside ? 0 : value;
    }
    return value;
}
