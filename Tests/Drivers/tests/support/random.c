/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "random.h"

#include <stddef.h>
#include <string.h>

/* SplitMix64. */
static uint64_t random_next(struct random *random)
{
    uint64_t value = random->state += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

uint32_t random_below(struct random *random, uint32_t bound)
{
    return (uint32_t)((random_next(random) >> 32) * bound >> 32);
}

int random_between(struct random *random, int lowest, int highest)
{
    return lowest + (int)random_below(random, (uint32_t)(highest - lowest + 1));
}

bool random_chance(struct random *random, unsigned percent)
{
    return random_below(random, 100) < percent;
}

uint32_t random_edge(struct random *random)
{
    static const uint32_t edges[] = {0,    1,    2,     3,          4,          7,          8,          15, 16, 31, 32,
                                     51,   52,   127,   128,        255,        0x7fffffff, 0x80000000, ~0U,
                                     ~1U,  ~11U, ~12U,  ~127U,      ~128U};
    if (random_chance(random, 80))
        return edges[random_below(random, sizeof edges / sizeof edges[0])];
    return random_below(random, UINT32_MAX);
}

void random_damage(struct random *random, void *words, size_t size)
{
    uint32_t value = random_edge(random), count = (uint32_t)(size / sizeof value);
    /* Most of the values are arrays; the first and last ones are not. */
    uint32_t index = random_chance(random, 40)   ? random_below(random, count)
                     : random_chance(random, 50) ? random_below(random, 32)
                                                 : count - 1 - random_below(random, 16);
    memcpy((uint8_t *)words + index * sizeof value, &value, sizeof value);
}
