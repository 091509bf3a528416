/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *tree_root;
static size_t tree_root_length;
static __thread bool is_suspended;

/* Folders on the way to what the shim owns. Those below /sys are listed from the tree, which links to everything
 * else in them; the others exist and are left alone. */
static const char *const way_folders[] = {
    "/dev", "/sys", "/sys/class", "/sys/bus", "/sys/devices", "/sys/dev", "/sys/dev/char",
};

/* What the shim owns, each with all that lies below. */
static const char *const owned_folders[] = {"/dev/dri", "/sys/class/drm", "/sys/bus/pci", "/sys/devices/pci0000:00"};

/* Devices of the DRM subsystem, by number. */
static const char owned_devices[] = "/sys/dev/char/226:";

enum standing { FOREIGN, ON_THE_WAY, OWNED };

static enum standing standing_of(const char *path)
{
    if (*path == '\0')
        return ON_THE_WAY;
    for (size_t index = 0; index < sizeof way_folders / sizeof way_folders[0]; index++)
        if (strcmp(path, way_folders[index]) == 0)
            return ON_THE_WAY;
    for (size_t index = 0; index < sizeof owned_folders / sizeof owned_folders[0]; index++)
        if (strcmp(path, owned_folders[index]) == 0)
            return OWNED;
    return strncmp(path, owned_devices, sizeof owned_devices - 1) == 0 ? OWNED : FOREIGN;
}

void paths_set_root(const char *root)
{
    tree_root_length = strlen(root);
    __atomic_store_n(&tree_root, root, __ATOMIC_RELEASE);
}

void shim_suspend(bool suspended)
{
    is_suspended = suspended;
}

bool shim_is_suspended(void)
{
    return is_suspended;
}

static const char *root_if_set(void)
{
    return __atomic_load_n(&tree_root, __ATOMIC_ACQUIRE);
}

bool path_restored(char *path)
{
    const char *root = root_if_set();

    if (root == NULL || strncmp(path, root, tree_root_length) != 0)
        return false;
    if (path[tree_root_length] == '\0')
        strcpy(path, "/");
    else if (path[tree_root_length] == '/')
        memmove(path, path + tree_root_length, strlen(path + tree_root_length) + 1);
    else
        return false;
    return true;
}

bool path_of_descriptor(int descriptor, char path[PATH_MAX])
{
    char link[32];
    int error = errno;

    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    errno = error;
    if (length <= 0 || path[0] != '/')
        return false;
    path[length] = '\0';
    return true;
}

static bool path_of_folder(int folder, char path[PATH_MAX])
{
    int error = errno;

    if (folder != AT_FDCWD)
        return path_of_descriptor(folder, path);
    long length = syscall(SYS_getcwd, path, PATH_MAX);
    errno = error;
    return length > 0 && path[0] == '/';
}

/* Takes the next component off a path: its start and length, "" at the end. */
static size_t next_component(const char **path)
{
    *path += strspn(*path, "/");
    return strcspn(*path, "/");
}

/* Walks an absolute path until it is clear whose it is. `walked` receives the part walked, without "." and "..";
 * returns what follows it. */
static const char *walk(const char *path, char walked[PATH_MAX], enum standing *standing)
{
    size_t end = 0, length;

    walked[0] = '\0';
    *standing = ON_THE_WAY;
    while (*standing == ON_THE_WAY && (length = next_component(&path)) > 0) {
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            char *parent = strrchr(walked, '/');

            end = parent ? (size_t)(parent - walked) : 0;
        } else if (!(length == 1 && path[0] == '.')) {
            if (end + 1 + length >= PATH_MAX)
                break;
            walked[end] = '/';
            memcpy(walked + end + 1, path, length);
            end += 1 + length;
        }
        walked[end] = '\0';
        path += length;
        *standing = standing_of(walked);
    }
    return path;
}

static bool is_listed_from_tree(const char *walked)
{
    return strncmp(walked, "/sys", 4) == 0;
}

/* The absolute path that a relative one stands for, as the client sees it. Tells whether the folder is the tree's. */
static bool absolute_path(int folder, const char *path, char absolute[PATH_MAX], bool *inside_tree)
{
    if (!path_of_folder(folder, absolute))
        return false;
    *inside_tree = path_restored(absolute);
    size_t length = strlen(absolute);
    int added = snprintf(absolute + length, PATH_MAX - length, "/%s", path);
    return added >= 0 && (size_t)added < PATH_MAX - length;
}

const char *path_rewritten(int folder, const char *path, char buffer[PATH_MAX])
{
    const char *root = root_if_set(), *given = path;
    char absolute[PATH_MAX], walked[PATH_MAX];
    enum standing standing;
    bool inside_tree = false;

    if (root == NULL || path == NULL || *path == '\0')
        return path;
    if (*path != '/') {
        if (!absolute_path(folder, path, absolute, &inside_tree))
            return given;
        path = absolute;
    }
    const char *rest = walk(path, walked, &standing);
    bool in_tree = standing == OWNED || (standing == ON_THE_WAY && is_listed_from_tree(walked));
    if (!in_tree && !inside_tree)
        return given;
    int length = snprintf(buffer, PATH_MAX, "%s%s%s", in_tree ? root : "", walked, rest);
    if (length <= 0 || length >= PATH_MAX)
        return given;
    return buffer;
}
