/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "nodes.h"

#include "amdgpu.h"
#include "i915.h"
#include "paths.h"
#include "trace.h"
#include "tree.h"
#include "xe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MAXIMUM_OPEN_FILES = 256, DRM_MAJOR = 226 };

static struct settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct drm_file files[MAXIMUM_OPEN_FILES];

/* Per node, in the order of the settings. */
static uint64_t requests[MAXIMUM_NODES], submissions[MAXIMUM_NODES];

/* The inodes of the nodes' files in the tree, and the device that they are on. Read anew after a fork. */
static dev_t tree_device;
static ino_t tree_inodes[MAXIMUM_NODES];

/* The device that all memfds are on. */
static dev_t memfd_device;

/* Whose variables these are: a child of vfork shares them, but has descriptors of its own. */
static pid_t process;

static int real_fstat(int descriptor, struct stat *status)
{
    return (int)syscall(SYS_fstat, descriptor, status);
}

static void note_tree_inodes(void)
{
    char path[PATH_MAX];
    struct stat status;

    for (unsigned index = 0; index < settings.node_count; index++) {
        snprintf(path, sizeof path, "%s/dev/dri/renderD%u", tree_root(), settings.nodes[index].number);
        if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        tree_device = status.st_dev;
        tree_inodes[index] = status.st_ino;
    }
}

static void after_fork_in_child(void)
{
    process = getpid();
    tree_acquire_after_fork(&settings);
    note_tree_inodes();
    pthread_mutex_unlock(&mutex);
}

static void start(void)
{
    struct stat status;

    shim_suspend(true);
    settings_read(&settings);
    if (settings.node_count > 0) {
        int descriptor = memfd_create("render-node-shim", MFD_CLOEXEC);

        if (descriptor >= 0 && real_fstat(descriptor, &status) == 0)
            memfd_device = status.st_dev;
        if (descriptor >= 0)
            syscall(SYS_close, descriptor);
        process = getpid();
        tree_acquire(&settings);
        note_tree_inodes();
        pthread_atfork(nodes_lock, nodes_unlock, after_fork_in_child);
    }
    shim_suspend(false);
}

bool shim_is_active(void)
{
    if (shim_is_suspended())
        return false;
    pthread_once(&once, start);
    return settings.node_count > 0;
}

const struct settings *shim_settings(void)
{
    return &settings;
}

static __attribute__((constructor)) void load(void)
{
    shim_is_active();
}

static __attribute__((destructor)) void unload(void)
{
    tree_release();
}

void nodes_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void nodes_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

static unsigned place_of(const struct node_settings *node)
{
    return (unsigned)(node - settings.nodes);
}

uint64_t node_count_request(const struct node_settings *node)
{
    return __atomic_add_fetch(&requests[place_of(node)], 1, __ATOMIC_RELAXED);
}

uint64_t node_count_submission(const struct node_settings *node)
{
    uint64_t number = __atomic_add_fetch(&submissions[place_of(node)], 1, __ATOMIC_RELAXED);

    trace("renderD%u submission %llu", node->number, (unsigned long long)number);
    return number;
}

const struct node_settings *node_of_tree_file(const struct stat *status)
{
    if (status->st_dev != tree_device)
        return NULL;
    for (unsigned index = 0; index < settings.node_count; index++)
        if (status->st_ino == tree_inodes[index])
            return &settings.nodes[index];
    return NULL;
}

static const struct node_settings *node_numbered(unsigned number)
{
    for (unsigned index = 0; index < settings.node_count; index++)
        if (settings.nodes[index].number == number)
            return &settings.nodes[index];
    return NULL;
}

bool node_is_gone(const struct node_settings *node)
{
    if (__atomic_load_n(&requests[place_of(node)], __ATOMIC_RELAXED) >= node->vanish_at)
        return true;
    int error = errno;
    bool is_gone = node->vanish_file[0] != '\0' && syscall(SYS_faccessat, AT_FDCWD, node->vanish_file, F_OK) == 0;
    errno = error;
    return is_gone;
}

int node_access_error(const struct node_settings *node)
{
    return node->open_error;
}

void node_adjust_status(mode_t *mode, uid_t *owner, gid_t *group, dev_t *number, const struct node_settings *node)
{
    *mode = S_IFCHR | node->mode;
    *owner = node->owner;
    *group = node->group;
    *number = makedev(DRM_MAJOR, node->number);
}

/* How many descriptors of this process are of that inode. */
static unsigned descriptors_of(const struct drm_file *file)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    struct stat status;
    unsigned count = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.' && real_fstat(atoi(entry->d_name), &status) == 0 &&
            status.st_ino == file->inode && status.st_dev == file->device)
            count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Lock held. */
static void free_file(struct drm_file *file)
{
    file_release_objects(file);
    i915_file_free(file->i915);
    xe_file_free(file->xe);
    amdgpu_file_free(file->amdgpu);
    *file = (struct drm_file){0};
}

/* Lock held. Frees the files whose descriptors were closed where no hook sees it, as by fclose. */
static void free_closed_files(void)
{
    for (size_t index = 0; index < MAXIMUM_OPEN_FILES; index++)
        if (files[index].used && descriptors_of(&files[index]) == 0)
            free_file(&files[index]);
}

/* Lock held. NULL when too many are open. */
static struct drm_file *add_file(const struct stat *status, const struct node_settings *node)
{
    if (files[MAXIMUM_OPEN_FILES - 1].used)
        free_closed_files();
    for (size_t index = 0; index < MAXIMUM_OPEN_FILES; index++)
        if (!files[index].used) {
            files[index] = (struct drm_file){
                .used = true, .device = status->st_dev, .inode = status->st_ino, .node = node,
            };
            return &files[index];
        }
    return NULL;
}

/* Lock held. */
static struct drm_file *known_file(const struct stat *status)
{
    for (size_t index = 0; index < MAXIMUM_OPEN_FILES; index++)
        if (files[index].used && files[index].inode == status->st_ino && files[index].device == status->st_dev)
            return &files[index];
    return NULL;
}

/* The node that a memfd of another process's opening stands for. */
static const struct node_settings *node_by_name(int descriptor)
{
    char path[PATH_MAX];
    unsigned number;

    if (!path_of_descriptor(descriptor, path) || sscanf(path, "/memfd:renderD%u ", &number) != 1)
        return NULL;
    return node_numbered(number);
}

struct drm_file *file_of_descriptor(int descriptor)
{
    int error = errno;
    struct stat status;
    struct drm_file *file = NULL;

    if (real_fstat(descriptor, &status) == 0 && status.st_dev == memfd_device) {
        file = known_file(&status);
        const struct node_settings *node = file == NULL ? node_by_name(descriptor) : NULL;
        if (node != NULL)
            file = add_file(&status, node);
    }
    errno = error;
    return file;
}

bool is_memfd(int descriptor)
{
    struct stat status;

    return real_fstat(descriptor, &status) == 0 && status.st_dev == memfd_device && S_ISREG(status.st_mode);
}

const struct node_settings *node_of_descriptor(int descriptor)
{
    nodes_lock();
    struct drm_file *file = file_of_descriptor(descriptor);
    const struct node_settings *node = file != NULL ? file->node : NULL;
    nodes_unlock();
    return node;
}

int node_open(const struct node_settings *node, int flags)
{
    char name[32];
    struct stat status;

    errno = node_access_error(node);
    if (errno == 0 && node_is_gone(node))
        errno = ENODEV;
    if (errno != 0)
        return -1;
    snprintf(name, sizeof name, "renderD%u", node->number);
    int descriptor = memfd_create(name, flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    if (descriptor < 0)
        return -1;
    nodes_lock();
    bool added = real_fstat(descriptor, &status) == 0 && add_file(&status, node) != NULL;
    nodes_unlock();
    if (!added) {
        syscall(SYS_close, descriptor);
        errno = ENFILE;
        return -1;
    }
    return descriptor;
}

void node_descriptor_closes(int descriptor)
{
    int error = errno;
    struct stat status;

    if (real_fstat(descriptor, &status) == 0 && status.st_dev == memfd_device && process == getpid()) {
        nodes_lock();
        struct drm_file *file = known_file(&status);
        if (file != NULL && descriptors_of(file) == 1)
            free_file(file);
        nodes_unlock();
    }
    errno = error;
}
