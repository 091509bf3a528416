/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which paths belong to the shim, and where in its tree they lie. */
#ifndef DRIVERS_NODE_PATHS_H
#define DRIVERS_NODE_PATHS_H

#include <limits.h>
#include <stdbool.h>

/* Sets the folder below which the tree lies, an absolute path that stays valid; until then nothing is rewritten. */
void paths_set_root(const char *root);

/* While suspended, this thread passes every hook and sees the real files: for what the shim itself does. */
void shim_suspend(bool suspended);
bool shim_is_suspended(void);

/* The path to use in place of `path`, which is relative to the folder `folder` (AT_FDCWD for the working folder).
 *
 * Returns `path` itself when it is none of the shim's, otherwise `buffer`, which then holds an absolute path. Links
 * within the tree are followed by the kernel, as usual. Keeps errno. */
const char *path_rewritten(int folder, const char *path, char buffer[PATH_MAX]);

/* Turns a path within the tree into the one that it stands for, in place; false when it is not within the tree. */
bool path_restored(char *path);

/* The absolute path behind a descriptor; false when there is none. Keeps errno. */
bool path_of_descriptor(int descriptor, char path[PATH_MAX]);

#endif
