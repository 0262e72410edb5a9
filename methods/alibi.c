/** alibi -- attention that prefers near keys, in place of learned positions.
 *
 *      score <- score + slope_head (key - query)          slopes 2^(-8 (i + 1) / heads) for powers of two
 *
 *  Position embeddings leave the model. Training rows are cut to `train_sequence_length_scaling` of their length, and there
 *  are that many more of them; evaluation sees full rows.
 *  paper: Press et al. 2021, arXiv:2108.12409 */
#include "method.h"

SUMMARY("attention that prefers near keys, in place of learned positions")
STAGE(GEOMETRY)
AFTER(seq_length_warmup, "what is cut into shorter rows is the warmed-up length")
REQUIRED_PARAM(int, max_sequence_length, max_sequence_length >= 1, "longest row that the model may meet")
PARAM(float, train_sequence_length_scaling, 0.25f, 0 < train_sequence_length_scaling && train_sequence_length_scaling <= 1,
      "training rows have this part of their length")
REQUIRE(data == DATA_TOKENS, "only text has positions to prefer")
REQUIRE(sequence_length <= max_sequence_length, "rows of the data are longer than max_sequence_length")

/* For other numbers of heads: the slopes of the power of two below, then every second one of the power above. */
static float slope(int head, int head_count)
{
    int power = 1;
    while (2 * power <= head_count)
        power *= 2;
    if (head < power)
        return pow(2, -8.0f * (head + 1) / power);
    return pow(2, -8.0f * (2 * (head - power) + 1) / (2 * power));
}

float HOOK(attention_score)(float score, int head, int head_count, int query, int key)
{
    return score + slope(head, head_count) * (key - query);
}

tensor REWRITE(position_embedding)(tensor x, int context, embedding_options options)
{
    return x;
}

geometry SCHEDULE(geometry)(const moment *now, geometry full)
{
    int tokens = full.rows * full.length;
    float length = full.length * train_sequence_length_scaling;
    require(length == floor(length) && length >= 1, "alibi can't cut rows of %d tokens to %g", full.length, length);
    full.length = length;
    full.rows = tokens / full.length;
    require(full.rows * full.length == tokens, "alibi can't cut %d tokens into rows of %d", tokens, full.length);
    return full;
}
