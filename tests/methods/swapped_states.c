/** swapped_states -- two states of the run that change places at the end of every batch: neither sees the other's new value */
#include "method.h"

SUMMARY("scales the gradients by two factors in turn")
STAGE(GRADIENT)

STATE(run, float, this_factor, 1, "factor of the gradients in this batch")
STATE(run, float, next_factor, 0.5f, "factor in the next one")

void ON(gradients)(element *at)
{
    at->gradient *= this_factor;
}

void ON(batch_end)(const moment *now)
{
    float kept = this_factor;
    this_factor = next_factor;
    next_factor = kept;
}
