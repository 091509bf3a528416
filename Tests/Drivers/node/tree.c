/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tree.h"

#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOWEST_LOCK_DESCRIPTOR = 200, /* out of the way of programs that count on low numbers */
    ATTEMPTS = 100,
};

static char root[PATH_MAX];
static int lock_descriptor = -1;
static pid_t holder;

const char *tree_root(void)
{
    return root;
}

/* An entry as getdents64 gives it. */
struct folder_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t kind;
    char name[];
};

/* Removes what is in a folder; false when nothing of it could be removed. One pass may miss some. */
static bool remove_entries(int folder, const char *path)
{
    _Alignas(struct folder_entry) char entries[4096];
    char child[PATH_MAX];
    bool removed = false;
    long size;

    while ((size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
        for (long place = 0; place < size; place += ((struct folder_entry *)(entries + place))->length) {
            const char *name = ((struct folder_entry *)(entries + place))->name;

            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                snprintf(child, sizeof child, "%s/%s", path, name) >= (int)sizeof child)
                continue;
            if (unlink(child) == 0 || ((errno == EISDIR || errno == EPERM) && tree_remove(child)))
                removed = true;
        }
    return removed;
}

/* Calls nothing that a signal's handler may not, for it runs in _exit too. */
bool tree_remove(const char *path)
{
    while (rmdir(path) != 0) {
        int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool removed = folder >= 0 && remove_entries(folder, path);

        if (folder >= 0)
            close(folder);
        if (!removed)
            return false;
    }
    return true;
}

static _Noreturn void give_up(const char *what)
{
    dprintf(STDERR_FILENO, "render node shim: cannot %s %s: %s\n", what, root, strerror(errno));
    _exit(2);
}

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *text)
{
    uint64_t value = 0xcbf29ce484222325;

    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * 0x100000001b3;
    return value;
}

/* In memory where that can be had: a tree has nearly two hundred links, which cost half a second on a slow disk. The
 * name is the one that the kernel gives for what lies in it, for it is compared with such. */
static const char *temporary_folder(void)
{
    static char real[PATH_MAX];
    const char *folder = getenv("TMPDIR");

    if (folder == NULL || folder[0] != '/')
        folder = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    return realpath(folder, real) != NULL ? real : folder;
}

/* Whether the descriptor is that of what the path names now. */
static bool is_current(int descriptor, const char *path)
{
    struct stat named, opened;

    return stat(path, &named) == 0 && fstat(descriptor, &opened) == 0 && named.st_ino == opened.st_ino &&
           named.st_dev == opened.st_dev;
}

/* Removes a tree that nobody holds. The descriptor is open on it. */
static bool remove_unheld(int descriptor, const char *path)
{
    char doomed[PATH_MAX];

    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 || !is_current(descriptor, path))
        return false;
    if (snprintf(doomed, sizeof doomed, "%s.old-%d", path, (int)getpid()) >= (int)sizeof doomed ||
        rename(path, doomed) != 0)
        return false;
    tree_remove(doomed);
    return true;
}

/* Removes a tree unless a process holds it. */
static void remove_left_over(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (descriptor >= 0) {
        remove_unheld(descriptor, path);
        close(descriptor);
    }
}

/* Removes what killed processes have left behind. */
static void sweep(const char *folder)
{
    char prefix[64], path[PATH_MAX];
    struct dirent *entry;
    DIR *entries = opendir(folder);

    snprintf(prefix, sizeof prefix, "render-nodes-%u-", (unsigned)geteuid());
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        remove_left_over(path);
    }
    if (entries != NULL)
        closedir(entries);
}

/* Makes the tree under a name of its own and moves it into place, unless another process was faster. The new tree is
 * locked while it is made, lest it be swept away; when that happens in the moment before, or a killed process of the
 * same number has left the name behind, nothing is made and the caller tries again. */
static void make(const struct settings *settings)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s.new-%d", root, (int)getpid()) >= (int)sizeof path)
        return;
    if (mkdir(path, 0755) != 0) {
        if (errno == EEXIST)
            remove_left_over(path);
        return;
    }
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool made = descriptor >= 0 && flock(descriptor, LOCK_SH) == 0 && tree_write(path, settings) &&
                rename(path, root) == 0;
    if (!made)
        tree_remove(path);
    if (descriptor >= 0)
        close(descriptor);
}

static bool lock(void)
{
    int opened = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (opened < 0)
        return false;
    lock_descriptor = fcntl(opened, F_DUPFD_CLOEXEC, LOWEST_LOCK_DESCRIPTOR);
    if (lock_descriptor < 0)
        lock_descriptor = opened;
    else
        close(opened);
    if (flock(lock_descriptor, LOCK_SH) == 0 && is_current(lock_descriptor, root))
        return true;
    close(lock_descriptor);
    lock_descriptor = -1;
    return false;
}

void tree_acquire(const struct settings *settings)
{
    int error = errno;

    shim_suspend(true);
    holder = getpid();
    bool is_first = root[0] == '\0';
    if (is_first)
        snprintf(root, sizeof root, "%s/render-nodes-%u-%016llx", temporary_folder(), (unsigned)geteuid(),
                 (unsigned long long)hash(settings->tree_key));
    for (int attempt = 0; !lock(); attempt++) {
        if (attempt == ATTEMPTS)
            give_up("lock");
        if (access(root, F_OK) != 0)
            make(settings);
    }
    /* Only now, for the program before this one in the same process (exec) may have left its working folder in it. */
    if (is_first)
        sweep(temporary_folder());
    paths_set_root(root);
    shim_suspend(false);
    errno = error;
}

void tree_acquire_after_fork(const struct settings *settings)
{
    if (lock_descriptor >= 0)
        syscall(SYS_close, lock_descriptor);
    lock_descriptor = -1;
    tree_acquire(settings);
}

void tree_release(void)
{
    int error = errno;

    /* A child of vfork shares the variables, but the tree is its parent's. */
    if (lock_descriptor < 0 || holder != getpid())
        return;
    shim_suspend(true);
    remove_unheld(lock_descriptor, root);
    close(lock_descriptor);
    lock_descriptor = -1;
    shim_suspend(false);
    errno = error;
}
