/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
/* Entry points that list folders and follow links. */
#include "nodes.h"
#include "paths.h"
#include "real.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "the 64-bit forms have structures of their own");

HOOK DIR *opendir(const char *path)
{
    char buffer[PATH_MAX];

    if (shim_is_active())
        path = path_rewritten(AT_FDCWD, path, buffer);
    return REAL(DIR *(*)(const char *), "opendir")(path);
}

/* Files that stand for nodes are listed as devices. */
static struct dirent *adjust_entry(struct dirent *entry, int folder)
{
    struct stat status;
    int error = errno;

    if (entry == NULL || entry->d_type != DT_REG || strncmp(entry->d_name, "renderD", 7) != 0 || !shim_is_active())
        return entry;
    if (syscall(SYS_newfstatat, folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        node_of_tree_file(&status) != NULL)
        entry->d_type = DT_CHR;
    errno = error;
    return entry;
}

HOOK struct dirent *readdir(DIR *folder)
{
    return adjust_entry(REAL(struct dirent * (*)(DIR *), "readdir")(folder), dirfd(folder));
}

HOOK struct dirent64 *readdir64(DIR *folder)
{
    return (struct dirent64 *)readdir(folder);
}

HOOK int readdir_r(DIR *folder, struct dirent *entry, struct dirent **result)
{
    typedef int (*reader)(DIR *, struct dirent *, struct dirent **);
    int error = REAL(reader, "readdir_r")(folder, entry, result);

    if (error == 0)
        adjust_entry(*result, dirfd(folder));
    return error;
}

typedef int (*entry_filter)(const struct dirent *);
typedef int (*entry_order)(const struct dirent **, const struct dirent **);
typedef int (*folder_scanner)(int, const char *, struct dirent ***, entry_filter, entry_order);

static int scan(int folder, const char *path, struct dirent ***entries, entry_filter filter, entry_order order)
{
    char buffer[PATH_MAX];

    if (shim_is_active())
        path = path_rewritten(folder, path, buffer);
    return REAL(folder_scanner, "scandirat")(folder, path, entries, filter, order);
}

HOOK int scandir(const char *path, struct dirent ***entries, entry_filter filter, entry_order order)
{
    return scan(AT_FDCWD, path, entries, filter, order);
}

HOOK int scandirat(int folder, const char *path, struct dirent ***entries, entry_filter filter, entry_order order)
{
    return scan(folder, path, entries, filter, order);
}

HOOK int scandir64(const char *path, struct dirent64 ***entries, int (*filter)(const struct dirent64 *),
                   int (*order)(const struct dirent64 **, const struct dirent64 **))
{
    return scan(AT_FDCWD, path, (struct dirent ***)entries, (entry_filter)filter, (entry_order)order);
}

HOOK int scandirat64(int folder, const char *path, struct dirent64 ***entries,
                     int (*filter)(const struct dirent64 *),
                     int (*order)(const struct dirent64 **, const struct dirent64 **))
{
    return scan(folder, path, (struct dirent ***)entries, (entry_filter)filter, (entry_order)order);
}

/* Puts what a link's text stands for in its place: a path of the tree, or the memfd of a node. Returns its length. */
static size_t restore_link(char text[PATH_MAX])
{
    unsigned number;

    if (sscanf(text, "/memfd:renderD%u (deleted)", &number) == 1)
        snprintf(text, PATH_MAX, "/dev/dri/renderD%u", number);
    else
        path_restored(text);
    return strlen(text);
}

static ssize_t read_link(int folder, const char *path, char *text, size_t size)
{
    char buffer[PATH_MAX], whole[PATH_MAX];

    if (!shim_is_active())
        return syscall(SYS_readlinkat, folder, path, text, size);
    path = path_rewritten(folder, path, buffer);
    long length = syscall(SYS_readlinkat, folder, path, whole, sizeof whole - 1);
    if (length < 0)
        return length;
    if (size == 0) {
        errno = EINVAL;
        return -1;
    }
    whole[length] = '\0';
    size_t restored = restore_link(whole);
    if (restored > size)
        restored = size;
    memcpy(text, whole, restored);
    return (ssize_t)restored;
}

HOOK ssize_t readlink(const char *path, char *text, size_t size)
{
    return read_link(AT_FDCWD, path, text, size);
}

HOOK ssize_t readlinkat(int folder, const char *path, char *text, size_t size)
{
    return read_link(folder, path, text, size);
}

ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t room);
ssize_t __readlinkat_chk(int folder, const char *path, char *text, size_t size, size_t room);

HOOK ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t room)
{
    return read_link(AT_FDCWD, path, text, size < room ? size : room);
}

HOOK ssize_t __readlinkat_chk(int folder, const char *path, char *text, size_t size, size_t room)
{
    return read_link(folder, path, text, size < room ? size : room);
}

HOOK char *realpath(const char *path, char *resolved)
{
    char buffer[PATH_MAX];

    if (shim_is_active())
        path = path_rewritten(AT_FDCWD, path, buffer);
    char *result = REAL(char *(*)(const char *, char *), "realpath")(path, resolved);
    if (result != NULL)
        path_restored(result);
    return result;
}

char *__realpath_chk(const char *path, char *resolved, size_t room);

HOOK char *__realpath_chk(const char *path, char *resolved, size_t room)
{
    (void)room;
    return realpath(path, resolved);
}

HOOK char *canonicalize_file_name(const char *path)
{
    return realpath(path, NULL);
}
