/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chance that is the same in every run. */
#ifndef DRIVERS_TESTS_RANDOM_H
#define DRIVERS_TESTS_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Everything follows from the seed. */
struct random {
    uint64_t state;
};

uint32_t random_below(struct random *random, uint32_t bound);             /* 0 to bound - 1 */
int random_between(struct random *random, int lowest, int highest);       /* both included */
bool random_chance(struct random *random, unsigned percent);

/* Values at which ranges end, and any other. */
uint32_t random_edge(struct random *random);

/* Replaces one word by such a value, in a structure of 32-bit values only. */
void random_damage(struct random *random, void *words, size_t size);

#endif
