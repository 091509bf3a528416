/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "random.h"

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
