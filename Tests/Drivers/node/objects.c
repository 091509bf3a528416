/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffer objects and synchronisation objects, and the handles by which an open file knows them. */
#define _GNU_SOURCE
#include "nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGE_SIZE = 4096,
    FIRST_CAPACITY = 64,
    MAXIMUM_HANDLES = 1 << 20,
    /* The descriptors of buffer objects, which a kernel would keep to itself, start behind those that a program may
     * have by default. */
    LOWEST_OBJECT_DESCRIPTOR = 1024,
    DESCRIPTOR_LIMIT = 16384,
};

/* All objects of this process, so that an import finds what it has already. */
static struct object **all_objects;
static uint32_t all_capacity;

/* The first free place of a table from `first` on, which grows when there is none; UINT32_MAX without memory. */
static uint32_t free_place(struct object ***table, uint32_t *capacity, uint32_t first)
{
    for (uint32_t place = first; place < *capacity; place++)
        if ((*table)[place] == NULL)
            return place;
    uint32_t grown = *capacity == 0 ? FIRST_CAPACITY : 2 * *capacity, place = *capacity;
    struct object **larger = grown <= MAXIMUM_HANDLES ? realloc(*table, grown * sizeof *larger) : NULL;
    if (larger == NULL)
        return UINT32_MAX;
    memset(larger + *capacity, 0, (grown - *capacity) * sizeof *larger);
    *table = larger;
    *capacity = grown;
    return place < first ? first : place;
}

static void allow_more_descriptors(void)
{
    static bool is_done;
    struct rlimit limit;

    if (is_done || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    is_done = true;
    if (limit.rlim_cur < DESCRIPTOR_LIMIT && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < DESCRIPTOR_LIMIT ? limit.rlim_max : DESCRIPTOR_LIMIT;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A duplicate of the descriptor out of the program's way, closed on exec. */
static int hidden_duplicate(int descriptor)
{
    allow_more_descriptors();
    int hidden = fcntl(descriptor, F_DUPFD_CLOEXEC, LOWEST_OBJECT_DESCRIPTOR);
    return hidden >= 0 ? hidden : fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
}

/* A new object for a memfd, which it owns from then on. */
static struct object *add_object(int descriptor, const struct stat *status)
{
    struct object *object = calloc(1, sizeof *object);
    uint32_t place = object == NULL ? UINT32_MAX : free_place(&all_objects, &all_capacity, 0);

    if (place == UINT32_MAX) {
        free(object);
        return NULL;
    }
    object->descriptor = descriptor;
    object->device = status->st_dev;
    object->inode = status->st_ino;
    object->size = (uint64_t)status->st_size;
    all_objects[place] = object;
    return object;
}

void object_retain(struct object *object)
{
    object->references++;
}

void object_release(struct object *object)
{
    if (--object->references > 0)
        return;
    for (uint32_t place = 0; place < all_capacity; place++)
        if (all_objects[place] == object)
            all_objects[place] = NULL;
    if (object->bytes != NULL && object->descriptor >= 0)
        munmap(object->bytes, object->size);
    if (object->descriptor >= 0)
        syscall(SYS_close, object->descriptor);
    free(object);
}

static int add_handle(struct drm_file *file, struct object *object, uint32_t *handle)
{
    uint32_t place = free_place(&file->objects, &file->object_capacity, 1);

    if (place == UINT32_MAX)
        return ENOMEM;
    object_retain(object);
    file->objects[place] = object;
    *handle = place;
    return 0;
}

/* Makes an object of a memfd, which belongs to it, or is closed when that fails. */
static int add_memfd(struct drm_file *file, int descriptor, uint32_t *handle)
{
    struct stat status;
    struct object *object = NULL;

    if (descriptor < 0)
        return errno == EMFILE || errno == ENFILE ? errno : ENOMEM;
    if (syscall(SYS_fstat, descriptor, &status) == 0)
        object = add_object(descriptor, &status);
    if (object == NULL) {
        syscall(SYS_close, descriptor);
        return ENOMEM;
    }
    object_retain(object);
    int error = add_handle(file, object, handle);
    object_release(object);
    return error;
}

int object_create(struct drm_file *file, uint64_t size, uint32_t *handle)
{
    if (size == 0 || size > (1ull << 40))
        return EINVAL;
    int descriptor = memfd_create("render-node-object", MFD_CLOEXEC), hidden = -1;
    if (descriptor >= 0) {
        if (ftruncate(descriptor, (off_t)((size + PAGE_SIZE - 1) & -(uint64_t)PAGE_SIZE)) == 0)
            hidden = hidden_duplicate(descriptor);
        int error = errno;
        syscall(SYS_close, descriptor);
        errno = error;
    }
    return add_memfd(file, hidden, handle);
}

int object_create_from_memory(struct drm_file *file, void *memory, uint64_t size, uint32_t *handle)
{
    struct stat status = {.st_size = (off_t)size};
    struct object *object = add_object(-1, &status);

    if (object == NULL)
        return ENOMEM;
    object->bytes = memory;
    object_retain(object);
    int error = add_handle(file, object, handle);
    object_release(object);
    return error;
}

static struct object *object_of_memfd(const struct stat *status)
{
    for (uint32_t place = 0; place < all_capacity; place++) {
        struct object *object = all_objects[place];

        if (object != NULL && object->descriptor >= 0 && object->inode == status->st_ino &&
            object->device == status->st_dev)
            return object;
    }
    return NULL;
}

enum completion object_completion_of_descriptor(int descriptor)
{
    enum completion completion = COMPLETION_DONE;
    struct stat status;

    nodes_lock();
    if (syscall(SYS_fstat, descriptor, &status) == 0) {
        struct object *object = object_of_memfd(&status);

        if (object != NULL)
            completion = object->completion;
    }
    nodes_unlock();
    return completion;
}

int object_import(struct drm_file *file, int descriptor, uint32_t *handle)
{
    struct stat status;

    if (syscall(SYS_fstat, descriptor, &status) != 0)
        return EBADF;
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return EINVAL;
    struct object *object = object_of_memfd(&status);
    if (object == NULL)
        return add_memfd(file, hidden_duplicate(descriptor), handle);
    for (uint32_t place = 1; place < file->object_capacity; place++)
        if (file->objects[place] == object) {
            *handle = place;
            return 0;
        }
    return add_handle(file, object, handle);
}

int object_export(struct drm_file *file, uint32_t handle, int flags, int *descriptor)
{
    struct object *object = object_of_handle(file, handle);

    if (object == NULL)
        return ENOENT;
    if (object->descriptor < 0)
        return ENODEV;
    *descriptor = fcntl(object->descriptor, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
    return *descriptor < 0 ? errno : 0;
}

struct object *object_of_handle(struct drm_file *file, uint32_t handle)
{
    return handle < file->object_capacity ? file->objects[handle] : NULL;
}

int object_close(struct drm_file *file, uint32_t handle)
{
    struct object *object = object_of_handle(file, handle);

    if (object == NULL)
        return EINVAL;
    file->objects[handle] = NULL;
    object_release(object);
    return 0;
}

uint8_t *object_bytes(struct object *object)
{
    if (object->bytes == NULL) {
        void *bytes = mmap(NULL, object->size, PROT_READ | PROT_WRITE, MAP_SHARED, object->descriptor, 0);

        object->bytes = bytes == MAP_FAILED ? NULL : bytes;
    }
    return object->bytes;
}

void *object_map(int descriptor, void *address, size_t length, int protection, int flags, uint64_t offset)
{
    void *mapped = MAP_FAILED;

    nodes_lock();
    struct drm_file *file = file_of_descriptor(descriptor);
    uint64_t handle = (offset - OBJECT_OFFSET) / OBJECT_OFFSET_STEP;
    struct object *object =
        file != NULL && handle < MAXIMUM_HANDLES ? object_of_handle(file, (uint32_t)handle) : NULL;
    if (object == NULL || object->descriptor < 0)
        errno = EINVAL;
    else
        mapped = (void *)syscall(SYS_mmap, address, length, protection, flags, object->descriptor, 0L);
    nodes_unlock();
    return mapped;
}

uint32_t syncobj_create(struct drm_file *file)
{
    for (uint32_t handle = 1; handle < file->syncobj_capacity; handle++)
        if (!file->syncobjs[handle].used) {
            file->syncobjs[handle] = (struct syncobj){.used = true};
            return handle;
        }
    uint32_t first = file->syncobj_capacity, grown = first == 0 ? FIRST_CAPACITY : 2 * first;
    struct syncobj *larger = grown <= MAXIMUM_HANDLES ? realloc(file->syncobjs, grown * sizeof *larger) : NULL;
    if (larger == NULL)
        return 0;
    memset(larger + first, 0, (grown - first) * sizeof *larger);
    file->syncobjs = larger;
    file->syncobj_capacity = grown;
    return syncobj_create(file);
}

struct syncobj *syncobj_of_handle(struct drm_file *file, uint32_t handle)
{
    return handle < file->syncobj_capacity && file->syncobjs[handle].used ? &file->syncobjs[handle] : NULL;
}

void file_release_objects(struct drm_file *file)
{
    for (uint32_t handle = 1; handle < file->object_capacity; handle++)
        if (file->objects[handle] != NULL)
            object_release(file->objects[handle]);
    free(file->objects);
    free(file->syncobjs);
    file->objects = NULL;
    file->syncobjs = NULL;
    file->object_capacity = file->syncobj_capacity = 0;
}
