/** many_states -- ten states beside the gradient in one element program: each passes its value on to the next */
#include "method.h"

SUMMARY("gradients that arrive ten steps late, weakened")
STAGE(GRADIENT)

STATE(element, float, s0, 0, "one step ago")
STATE(element, float, s1, 0, "two steps ago")
STATE(element, float, s2, 0, "three steps ago")
STATE(element, float, s3, 0, "four steps ago")
STATE(element, float, s4, 0, "five steps ago")
STATE(element, float, s5, 0, "six steps ago")
STATE(element, float, s6, 0, "seven steps ago")
STATE(element, float, s7, 0, "eight steps ago")
STATE(element, float, s8, 0, "nine steps ago")
STATE(element, float, s9, 1, "begins at one, so that the first step shows it")

void ON(gradients)(element *at)
{
    float now = at->gradient;
    at->gradient = now + 0.1f * s9;
    s9 = 0.5f * s9 + s8 + 0.1f * now;
    s8 = s7 + 0.1f * now;
    s7 = s6;
    s6 = s5;
    s5 = s4;
    s4 = s3;
    s3 = s2;
    s2 = s1;
    s1 = s0;
    s0 = now;
}
