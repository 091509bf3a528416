/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libpretended_proc.so: preloaded before a program that is to see how busy a machine is.
 *
 * Files in the folder that PRETENDED_PROC names take the place of the kernel's, as long as they are there: `stat` that of
 * /proc/stat, and `fdinfo` that of /proc/PID/fdinfo/N where N is an open render node of librender_node.so, and the caller
 * may read the kernel's file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether a path of /proc is about a descriptor that is an open render node. */
static int is_node(const char *path)
{
    int process, descriptor, end = 0;
    if (sscanf(path, "/proc/%d/fdinfo/%d%n", &process, &descriptor, &end) != 2 || path[end] != '\0')
        return 0;
    char link[64], target[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", process, descriptor);
    static const char node[] = "/memfd:renderD";
    /* librender_node.so has a readlink() of its own. */
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target);
    return length > (long)strlen(node) && memcmp(target, node, strlen(node)) == 0;
}

/* The name of the file that takes the place of another one; NULL if none does. */
static const char *pretended_name(const char *path)
{
    if (strncmp(path, "/proc/", 6) != 0)
        return NULL;
    if (strcmp(path, "/proc/stat") == 0)
        return "stat";
    return is_node(path) ? "fdinfo" : NULL;
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "open");
    mode_t mode = 0;
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    int file = next(path, flags, mode);
    const char *name = file < 0 ? NULL : pretended_name(path), *folder = getenv("PRETENDED_PROC");
    char other[PATH_MAX];
    if (!name || !folder || snprintf(other, sizeof other, "%s/%s", folder, name) >= (int)sizeof other ||
        access(other, R_OK) != 0)
        return file;
    close(file);
    return next(other, flags, mode);
}
