/* shuffle.c -- see shuffle.h. */
#include "shuffle.h"

//% part shuffle
/* splitmix64's finaliser */
static uint64_t shuffle_mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

/* A Feistel network on 2 * half bits is a bijection of 0 .. 4^half - 1 (at least 256, so that short lists are shuffled
 * well too). Going on from numbers beyond the list until one is inside makes it a bijection of the list. */
static int64_t shuffle_index(uint64_t seed, int64_t epoch, int64_t place, int64_t count)
{
    const uint64_t key = shuffle_mix(shuffle_mix(seed + 0x9e3779b97f4a7c15u) + (uint64_t)epoch);
    int half = 4;
    while (half < 31 && (int64_t)1 << 2 * half < count)
        half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    uint64_t at = (uint64_t)place;
    do {
        uint64_t left = at >> half, right = at & mask;
        for (uint64_t round = 1; round <= 6; round++) {
            const uint64_t next = left ^ (shuffle_mix(key + (right << 8 | round) * 0x9e3779b97f4a7c15u) & mask);
            left = right;
            right = next;
        }
        at = left << half | right;
    } while (at >= (uint64_t)count);
    return (int64_t)at;
}
