/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the entry points of the C library that the shim puts itself before have in common. */
#ifndef DRIVERS_NODE_REAL_H
#define DRIVERS_NODE_REAL_H

#include <dlfcn.h>
#include <stddef.h>

/* Marks a function that takes the place of the C library's. */
#define HOOK __attribute__((visibility("default")))

/* The function that a hook stands before. `type` is a pointer to a function. */
#define REAL(type, name)                                                                                              \
    ({                                                                                                                \
        static __typeof__(type) next_function;                                                                        \
        __typeof__(type) found = __atomic_load_n(&next_function, __ATOMIC_RELAXED);                                   \
        if (found == NULL) {                                                                                          \
            *(void **)&found = dlsym(RTLD_NEXT, name);                                                                \
            __atomic_store_n(&next_function, found, __ATOMIC_RELAXED);                                                \
        }                                                                                                             \
        found;                                                                                                        \
    })

#endif
