/** colout -- images without some of their rows and columns.
 *
 *      height <- floor((1 - p_row) height), width <- floor((1 - p_col) width)
 *
 *  Which ones stay is drawn for every batch; they keep their order.
 *  source: Composer, "ColOut" */
#include "method.h"

SUMMARY("images without some of their rows and columns")
STAGE(GEOMETRY)
AFTER(progressive_resizing, "rows are dropped from the image as the batch will show it")
PARAM(float, p_row, 0.15f, 0 <= p_row && p_row < 1, "part of the rows that is dropped")
PARAM(float, p_col, 0.15f, 0 <= p_col && p_col < 1, "part of the columns that is dropped")
PARAM(bool, batch, true, true, "the same rows and columns for all images of a batch")
CHOICE(resize_target, AUTO, "drop them from targets too; auto: where targets are images", AUTO, TRUE, FALSE)

static int kept(int extent, float dropped)
{
    return (1 - dropped) * extent;
}

NEUTRAL(p_row == 0 && p_col == 0)
REQUIRE(data == DATA_IMAGES, "only images have rows and columns to drop")
REQUIRE(batch, "rows and columns are dropped for a whole batch: batch must be true")
REQUIRE(resize_target != TRUE, "targets that are images can't be cropped")
REQUIRE(kept(image_height, p_row) >= 1 && kept(image_width, p_col) >= 1, "p_row or p_col leave nothing of the image")
UNAVAILABLE("the rows it keeps are those of a larger image, and a geometry has one size of the image")

DRAW_SUBSET(batch, rows, kept(image_height, p_row), image_height)
DRAW_SUBSET(batch, columns, kept(image_width, p_col), image_width)

int HOOK(source_row)(int y)
{
    return rows[y];
}

int HOOK(source_column)(int x)
{
    return columns[x];
}

geometry SCHEDULE(geometry)(const moment *now, geometry full)
{
    full.height = kept(full.height, p_row);
    full.width = kept(full.width, p_col);
    return full;
}
