/** chosen_rows -- shows six of eight rows of the image, chosen for every batch, and dims them */
#include "method.h"

SUMMARY("stretches a random choice of rows")
STAGE(BATCH)

struct light { float level; };
DRAW(micro_batch, struct light, light) { return (struct light){ .level = 0.5f + draw_uniform() }; }
DRAW_SUBSET(batch, chosen, 6, 8)

int HOOK(source_row)(int y)
{
    return chosen[y * 6 / 8];
}

float HOOK(mixed_pixel)(float own, float partner, int channel, int y, int x)
{
    return light.level * own + 0.1f * channel * partner;
}
