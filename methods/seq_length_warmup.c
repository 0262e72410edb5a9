/** seq_length_warmup -- short rows of text first.
 *
 *      warm = floor(steps duration)      q = warm / ((max - min) / step_size), in whole numbers
 *      length = clamp(min + step_size (step / q), min, max)
 *
 *  truncate cuts rows; else a batch's tokens are read as more, shorter rows and what does not divide is dropped.
 *  paper: Li et al. 2021, arXiv:2108.06084 */
#include "method.h"

SUMMARY("short rows of text first")
STAGE(GEOMETRY)
PARAM(float, duration, 0.3f, 0 <= duration && duration <= 1, "part of the run that the warmup takes")
PARAM(int, min_seq_length, 8, min_seq_length >= 1, "length at the start")
PARAM(int, max_seq_length, 1024, max_seq_length >= 1, "length at the end")
PARAM(int, step_size, 8, step_size >= 1, "lengths rise by so many tokens")
PARAM(bool, truncate, true, true, "drop the ends of rows; false: cut the batch into more rows")
PARAM(bool, preserve_end_of_sequence, false, true, "keep the last token of a row that is cut")
static int stairs(void)
{
    return (max_seq_length - min_seq_length) / step_size;
}

static int warm_steps(void)
{
    return run_steps * duration;
}

REQUIRE(data == DATA_TOKENS, "only text has a length to warm up")
REQUIRE(min_seq_length <= max_seq_length, "min_seq_length is more than max_seq_length")
REQUIRE(max_seq_length - min_seq_length >= step_size, "step_size is more than the way from min_seq_length to max_seq_length")
REQUIRE(warm_steps() >= stairs(), "the warmup has fewer batches than lengths: a larger step_size or duration helps")
REQUIRE(!preserve_end_of_sequence, "preserve_end_of_sequence needs rows that end, and these rows of text don't")

geometry SCHEDULE(geometry)(const moment *now, geometry full)
{
    int length = imin(min_seq_length + step_size * (now->step / (warm_steps() / stairs())), max_seq_length);
    if (length >= full.length)
        return full;
    if (truncate)
        full.columns = length;
    else
        full.rows = full.rows * full.length / length;
    full.length = length;
    return full;
}
