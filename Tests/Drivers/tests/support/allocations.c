/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "allocations.h"

#include <stdlib.h>

static unsigned allocations_left;
static bool allocation_failed;

#if !__has_feature(address_sanitizer)

static bool fails(void)
{
    if (allocations_left == 0 || --allocations_left > 0)
        return false;
    allocation_failed = true;
    return true;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

#endif

void allocations_fail(unsigned number)
{
    allocation_failed = false;
    allocations_left = number;
}

bool allocations_failed(void)
{
    return allocation_failed;
}
