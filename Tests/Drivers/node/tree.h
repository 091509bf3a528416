/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folders that stand for /dev/dri and for the part of sysfs that tells of graphics chips.
 *
 * Processes of one user with the same nodes share one tree, below TMPDIR or /tmp. Each holds a lock on it; whoever
 * is the last to end removes it, and whoever starts removes trees that killed processes have left. */
#ifndef DRIVERS_NODE_TREE_H
#define DRIVERS_NODE_TREE_H

#include "settings.h"

#include <sys/types.h>

/* Makes the tree or joins in its use. Ends the process with status 2 when that fails. */
void tree_acquire(const struct settings *settings);

/* Renews the hold on the tree in a forked child, which must not depend on its parent's. */
void tree_acquire_after_fork(const struct settings *settings);

/* Ends this process's use of the tree. */
void tree_release(void);

/* The folder below which "/dev/dri" and "/sys" of the tree lie. */
const char *tree_root(void);

/* Removes a folder and all below it; links are not followed. False: something of it cannot be removed. */
bool tree_remove(const char *path);

/* Writes the tree's files below an existing folder; false when that fails. */
bool tree_write(const char *root, const struct settings *settings);

#endif
