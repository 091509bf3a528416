/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
/* Entry points that open files. The C library's headers are kept out where they would rename or inline them. */
#include "nodes.h"
#include "paths.h"
#include "real.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The node that a rewritten path leads to, NULL for any other file. */
static const struct node_settings *node_of_path(const char *path, int flags)
{
    struct stat status;
    int error = errno;
    long result = syscall(SYS_newfstatat, AT_FDCWD, path, &status, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);

    errno = error;
    return result == 0 ? node_of_tree_file(&status) : NULL;
}

static int open_through(int folder, const char *path, int flags, mode_t mode)
{
    char buffer[PATH_MAX];

    if (shim_is_active()) {
        path = path_rewritten(folder, path, buffer);
        const struct node_settings *node = path == buffer ? node_of_path(path, flags) : NULL;
        if (node != NULL && !(flags & O_PATH))
            return node_open(node, flags);
    }
    return REAL(int (*)(int, const char *, int, ...), "openat64")(folder, path, flags, mode);
}

#define MODE_AFTER(last)                                                                                              \
    mode_t mode = 0;                                                                                                  \
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {                                                      \
        va_list arguments;                                                                                            \
        va_start(arguments, last);                                                                                    \
        mode = va_arg(arguments, mode_t);                                                                             \
        va_end(arguments);                                                                                            \
    }

HOOK int open(const char *path, int flags, ...)
{
    MODE_AFTER(flags)
    return open_through(AT_FDCWD, path, flags, mode);
}

HOOK int open64(const char *path, int flags, ...)
{
    MODE_AFTER(flags)
    return open_through(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

HOOK int openat(int folder, const char *path, int flags, ...)
{
    MODE_AFTER(flags)
    return open_through(folder, path, flags, mode);
}

HOOK int openat64(int folder, const char *path, int flags, ...)
{
    MODE_AFTER(flags)
    return open_through(folder, path, flags | O_LARGEFILE, mode);
}

/* The fortified forms, for calls without a mode. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);

HOOK int __open_2(const char *path, int flags)
{
    return open_through(AT_FDCWD, path, flags, 0);
}

HOOK int __open64_2(const char *path, int flags)
{
    return open_through(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

HOOK int __openat_2(int folder, const char *path, int flags)
{
    return open_through(folder, path, flags, 0);
}

HOOK int __openat64_2(int folder, const char *path, int flags)
{
    return open_through(folder, path, flags | O_LARGEFILE, 0);
}

/* Opens a stream on a node or on a rewritten path. */
static FILE *open_stream(const char *path, const char *mode)
{
    char buffer[PATH_MAX];

    if (shim_is_active()) {
        path = path_rewritten(AT_FDCWD, path, buffer);
        const struct node_settings *node = path == buffer ? node_of_path(path, 0) : NULL;
        if (node != NULL) {
            int descriptor = node_open(node, O_RDWR);

            return descriptor < 0 ? NULL : fdopen(descriptor, mode);
        }
    }
    return REAL(FILE * (*)(const char *, const char *), "fopen64")(path, mode);
}

HOOK FILE *fopen(const char *path, const char *mode)
{
    return open_stream(path, mode);
}

HOOK FILE *fopen64(const char *path, const char *mode)
{
    return open_stream(path, mode);
}

HOOK int close(int descriptor)
{
    if (shim_is_active())
        node_descriptor_closes(descriptor);
    return REAL(int (*)(int), "close")(descriptor);
}
