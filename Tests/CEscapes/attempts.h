// SPDX-License-Identifier: GPL-2.0-or-later

#ifndef ATTEMPTS_H
#define ATTEMPTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CEscapes.h"

#include <errno.h>

/// One attempt: 0 if it worked, else errno.
struct attempt {
    const char *name;
    int (*run)(const struct escape_targets *targets);
};

/// Lists end with a name that is NULL.
extern const struct attempt file_attempts[], process_attempts[], kernel_attempts[], needed_attempts[],
    shared_attempts[];

/// The outcome of a call that returns -1 on error.
static inline int outcome(long result) {
    return result < 0 ? errno : 0;
}

#endif
