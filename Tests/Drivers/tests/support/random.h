/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chance that is the same in every run. */
#ifndef DRIVERS_TESTS_RANDOM_H
#define DRIVERS_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* Everything follows from the seed. */
struct random {
    uint64_t state;
};

uint32_t random_below(struct random *random, uint32_t bound);             /* 0 to bound - 1 */
int random_between(struct random *random, int lowest, int highest);       /* both included */
bool random_chance(struct random *random, unsigned percent);

#endif
