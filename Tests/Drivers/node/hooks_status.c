/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
/* Entry points that tell of files: the stat family, statx, access, statfs. */
#include "nodes.h"
#include "paths.h"
#include "real.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* On x86-64 and the other 64-bit machines `struct stat64` is `struct stat`. */
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "the 64-bit forms have structures of their own");

static bool is_of_descriptor(const char *path, int flags)
{
    return (flags & AT_EMPTY_PATH) && (path == NULL || *path == '\0');
}

/* The node behind what stat told; `descriptor` is -1 for a path. */
static const struct node_settings *node_of_status(const struct stat *status, int descriptor)
{
    const struct node_settings *node = node_of_tree_file(status);

    return node == NULL && descriptor >= 0 ? node_of_descriptor(descriptor) : node;
}

static int status_of(int folder, const char *path, struct stat *status, int flags)
{
    char buffer[PATH_MAX];
    bool of_descriptor = is_of_descriptor(path, flags), is_active = shim_is_active();

    if (is_active && !of_descriptor)
        path = path_rewritten(folder, path, buffer);
    int result = (int)syscall(SYS_newfstatat, folder, path, status, flags);
    if (result == 0 && is_active) {
        const struct node_settings *node = node_of_status(status, of_descriptor ? folder : -1);

        if (node != NULL)
            node_adjust_status(&status->st_mode, &status->st_uid, &status->st_gid, &status->st_rdev, node);
    }
    return result;
}

#define AS_STAT(status) ((struct stat *)(status))

HOOK int stat(const char *path, struct stat *status)
{
    return status_of(AT_FDCWD, path, status, 0);
}

HOOK int stat64(const char *path, struct stat64 *status)
{
    return status_of(AT_FDCWD, path, AS_STAT(status), 0);
}

HOOK int lstat(const char *path, struct stat *status)
{
    return status_of(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

HOOK int lstat64(const char *path, struct stat64 *status)
{
    return status_of(AT_FDCWD, path, AS_STAT(status), AT_SYMLINK_NOFOLLOW);
}

HOOK int fstat(int descriptor, struct stat *status)
{
    return status_of(descriptor, "", status, AT_EMPTY_PATH);
}

HOOK int fstat64(int descriptor, struct stat64 *status)
{
    return status_of(descriptor, "", AS_STAT(status), AT_EMPTY_PATH);
}

HOOK int fstatat(int folder, const char *path, struct stat *status, int flags)
{
    return status_of(folder, path, status, flags);
}

HOOK int fstatat64(int folder, const char *path, struct stat64 *status, int flags)
{
    return status_of(folder, path, AS_STAT(status), flags);
}

/* The forms of the C library before 2.33, whose first argument is the version of the structure. */
int __xstat(int version, const char *path, struct stat *status);
int __xstat64(int version, const char *path, struct stat64 *status);
int __lxstat(int version, const char *path, struct stat *status);
int __lxstat64(int version, const char *path, struct stat64 *status);
int __fxstat(int version, int descriptor, struct stat *status);
int __fxstat64(int version, int descriptor, struct stat64 *status);
int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags);
int __fxstatat64(int version, int folder, const char *path, struct stat64 *status, int flags);

HOOK int __xstat(int version, const char *path, struct stat *status)
{
    (void)version;
    return status_of(AT_FDCWD, path, status, 0);
}

HOOK int __xstat64(int version, const char *path, struct stat64 *status)
{
    (void)version;
    return status_of(AT_FDCWD, path, AS_STAT(status), 0);
}

HOOK int __lxstat(int version, const char *path, struct stat *status)
{
    (void)version;
    return status_of(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

HOOK int __lxstat64(int version, const char *path, struct stat64 *status)
{
    (void)version;
    return status_of(AT_FDCWD, path, AS_STAT(status), AT_SYMLINK_NOFOLLOW);
}

HOOK int __fxstat(int version, int descriptor, struct stat *status)
{
    (void)version;
    return status_of(descriptor, "", status, AT_EMPTY_PATH);
}

HOOK int __fxstat64(int version, int descriptor, struct stat64 *status)
{
    (void)version;
    return status_of(descriptor, "", AS_STAT(status), AT_EMPTY_PATH);
}

HOOK int __fxstatat(int version, int folder, const char *path, struct stat *status, int flags)
{
    (void)version;
    return status_of(folder, path, status, flags);
}

HOOK int __fxstatat64(int version, int folder, const char *path, struct stat64 *status, int flags)
{
    (void)version;
    return status_of(folder, path, AS_STAT(status), flags);
}

HOOK int statx(int folder, const char *path, int flags, unsigned mask, struct statx *status)
{
    char buffer[PATH_MAX];
    bool of_descriptor = is_of_descriptor(path, flags), is_active = shim_is_active();

    if (is_active && !of_descriptor)
        path = path_rewritten(folder, path, buffer);
    int result = (int)syscall(SYS_statx, folder, path, flags, mask | STATX_INO, status);
    if (result != 0 || !is_active)
        return result;
    struct stat plain = {
        .st_dev = makedev(status->stx_dev_major, status->stx_dev_minor), .st_ino = status->stx_ino,
    };
    const struct node_settings *node = node_of_status(&plain, of_descriptor ? folder : -1);
    if (node != NULL) {
        node_adjust_status(&plain.st_mode, &plain.st_uid, &plain.st_gid, &plain.st_rdev, node);
        status->stx_mode = (uint16_t)plain.st_mode;
        status->stx_uid = plain.st_uid;
        status->stx_gid = plain.st_gid;
        status->stx_rdev_major = major(plain.st_rdev);
        status->stx_rdev_minor = minor(plain.st_rdev);
    }
    return result;
}

/* Access by the real or effective user, as asked. The permission of a node is what opening it would say. */
static int access_of(int folder, const char *path, int mode, int flags)
{
    char buffer[PATH_MAX];
    struct stat status;

    if (shim_is_active()) {
        const char *rewritten = path_rewritten(folder, path, buffer);

        if (rewritten == buffer && syscall(SYS_newfstatat, AT_FDCWD, buffer, &status, 0) == 0) {
            const struct node_settings *node = node_of_tree_file(&status);

            /* Permission bits are not asked when only existence is; a device cgroup is asked always. */
            errno = node == NULL ? 0 : node_access_error(node);
            if (errno == EPERM || (errno != 0 && mode != F_OK))
                return -1;
            if (node != NULL && (mode & X_OK)) {
                errno = EACCES;
                return -1;
            }
        }
        path = rewritten;
    }
    return REAL(int (*)(int, const char *, int, int), "faccessat")(folder, path, mode, flags);
}

HOOK int access(const char *path, int mode)
{
    return access_of(AT_FDCWD, path, mode, 0);
}

HOOK int faccessat(int folder, const char *path, int mode, int flags)
{
    return access_of(folder, path, mode, flags);
}

HOOK int euidaccess(const char *path, int mode)
{
    return access_of(AT_FDCWD, path, mode, AT_EACCESS);
}

HOOK int eaccess(const char *path, int mode)
{
    return access_of(AT_FDCWD, path, mode, AT_EACCESS);
}

/* The kind of file system that a path of the tree pretends to be on; 0 for paths that are not of the tree. */
static long file_system_of(char *path)
{
    if (!path_restored(path))
        return 0;
    return strncmp(path, "/sys", 4) == 0 ? SYSFS_MAGIC : TMPFS_MAGIC;
}

static int adjust_file_system(int result, char *path, long *type)
{
    long pretended = result == 0 ? file_system_of(path) : 0;

    if (pretended != 0)
        *type = pretended;
    return result;
}

HOOK int statfs(const char *path, struct statfs *status)
{
    char buffer[PATH_MAX];

    if (!shim_is_active() || (path = path_rewritten(AT_FDCWD, path, buffer)) != buffer)
        return (int)syscall(SYS_statfs, path, status);
    return adjust_file_system((int)syscall(SYS_statfs, path, status), buffer, &status->f_type);
}

HOOK int fstatfs(int descriptor, struct statfs *status)
{
    char path[PATH_MAX];
    int result = (int)syscall(SYS_fstatfs, descriptor, status);

    if (result != 0 || !shim_is_active() || !path_of_descriptor(descriptor, path))
        return result;
    return adjust_file_system(result, path, &status->f_type);
}

HOOK int statfs64(const char *path, struct statfs64 *status)
{
    return statfs(path, (struct statfs *)status);
}

HOOK int fstatfs64(int descriptor, struct statfs64 *status)
{
    return fstatfs(descriptor, (struct statfs *)status);
}
