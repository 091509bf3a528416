/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry points that take a path but tell little: working folder, extended attributes, watches; and the ends of a
 * process that run no destructors. */
#define _GNU_SOURCE
#include "nodes.h"
#include "paths.h"
#include "real.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *rewritten(const char *path, char buffer[PATH_MAX])
{
    return shim_is_active() ? path_rewritten(AT_FDCWD, path, buffer) : path;
}

HOOK int chdir(const char *path)
{
    char buffer[PATH_MAX];

    return (int)syscall(SYS_chdir, rewritten(path, buffer));
}

/* The working folder may be one of the tree's. */
HOOK char *getcwd(char *text, size_t size)
{
    char *result = REAL(char *(*)(char *, size_t), "getcwd")(text, size);

    if (result != NULL && shim_is_active())
        path_restored(result);
    return result;
}

char *__getcwd_chk(char *text, size_t size, size_t room);

HOOK char *__getcwd_chk(char *text, size_t size, size_t room)
{
    return getcwd(text, size < room ? size : room);
}

HOOK ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
    char buffer[PATH_MAX];

    return syscall(SYS_getxattr, rewritten(path, buffer), name, value, size);
}

HOOK ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
    char buffer[PATH_MAX];

    return syscall(SYS_lgetxattr, rewritten(path, buffer), name, value, size);
}

HOOK ssize_t listxattr(const char *path, char *list, size_t size)
{
    char buffer[PATH_MAX];

    return syscall(SYS_listxattr, rewritten(path, buffer), list, size);
}

HOOK ssize_t llistxattr(const char *path, char *list, size_t size)
{
    char buffer[PATH_MAX];

    return syscall(SYS_llistxattr, rewritten(path, buffer), list, size);
}

HOOK int inotify_add_watch(int descriptor, const char *path, uint32_t mask)
{
    char buffer[PATH_MAX];

    return (int)syscall(SYS_inotify_add_watch, descriptor, rewritten(path, buffer), mask);
}

HOOK _Noreturn void _exit(int status)
{
    tree_release();
    for (;;)
        syscall(SYS_exit_group, status);
}

HOOK _Noreturn void _Exit(int status)
{
    _exit(status);
}
