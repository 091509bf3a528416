/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations that fail on demand: the test programs' own malloc, calloc and realloc stand before those of glibc.
 * Sanitizers have theirs; with them no allocation fails here. */
#ifndef DRIVERS_TESTS_ALLOCATIONS_H
#define DRIVERS_TESTS_ALLOCATIONS_H

#include <stdbool.h>

/* The `number`th allocation from now on fails, once; 0: none does. */
void allocations_fail(unsigned number);

/* Whether one failed since then. */
bool allocations_failed(void);

#endif
