/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests about synchronisation objects. */
#include "drm_core.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>

#include <libdrm/drm.h>

static int create(struct drm_file *file, struct drm_syncobj_create *creation)
{
    creation->handle = syncobj_create(file);
    if (creation->handle == 0)
        return ENOMEM;
    syncobj_of_handle(file, creation->handle)->signalled = creation->flags & DRM_SYNCOBJ_CREATE_SIGNALED;
    return 0;
}

static int destroy(struct drm_file *file, const struct drm_syncobj_destroy *destruction)
{
    struct syncobj *syncobj = syncobj_of_handle(file, destruction->handle);

    if (syncobj == NULL)
        return EINVAL;
    syncobj->used = false;
    return 0;
}

/* Only as sync files: objects that several files share are not needed by the VA drivers. */
static int give_descriptor(struct drm_file *file, struct drm_syncobj_handle *transfer)
{
    struct syncobj *syncobj = syncobj_of_handle(file, transfer->handle);

    if (syncobj == NULL)
        return ENOENT;
    if (!(transfer->flags & DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE))
        return EOPNOTSUPP;
    transfer->fd = drm_fence_descriptor(syncobj->hangs);
    return transfer->fd < 0 ? errno : 0;
}

static int take_descriptor(struct drm_file *file, const struct drm_syncobj_handle *transfer)
{
    struct syncobj *syncobj = syncobj_of_handle(file, transfer->handle);
    struct pollfd fence = {.fd = transfer->fd, .events = POLLIN};

    if (!(transfer->flags & DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE))
        return EOPNOTSUPP;
    if (syncobj == NULL)
        return ENOENT;
    syncobj->signalled = poll(&fence, 1, 0) > 0;
    syncobj->hangs = !syncobj->signalled;
    return 0;
}

static int change_all(struct drm_file *file, const struct drm_syncobj_array *array, bool signalled)
{
    const uint32_t *handles = (const void *)(uintptr_t)array->handles;

    for (uint32_t index = 0; index < array->count_handles; index++) {
        struct syncobj *syncobj = syncobj_of_handle(file, handles[index]);

        if (syncobj == NULL)
            return ENOENT;
        syncobj->signalled = signalled;
        syncobj->hangs = false;
        if (!signalled)
            syncobj->point = 0;
    }
    return 0;
}

static int signal_points(struct drm_file *file, const struct drm_syncobj_timeline_array *array)
{
    const uint32_t *handles = (const void *)(uintptr_t)array->handles;
    const uint64_t *points = (const void *)(uintptr_t)array->points;

    for (uint32_t index = 0; index < array->count_handles; index++) {
        struct syncobj *syncobj = syncobj_of_handle(file, handles[index]);

        if (syncobj == NULL)
            return ENOENT;
        syncobj->signalled = true;
        syncobj->point = points[index];
    }
    return 0;
}

static int query_points(struct drm_file *file, const struct drm_syncobj_timeline_array *array)
{
    const uint32_t *handles = (const void *)(uintptr_t)array->handles;
    uint64_t *points = (void *)(uintptr_t)array->points;

    for (uint32_t index = 0; index < array->count_handles; index++) {
        struct syncobj *syncobj = syncobj_of_handle(file, handles[index]);

        if (syncobj == NULL)
            return ENOENT;
        points[index] = syncobj->point;
    }
    return 0;
}

static int transfer_point(struct drm_file *file, const struct drm_syncobj_transfer *transfer)
{
    struct syncobj *source = syncobj_of_handle(file, transfer->src_handle);
    struct syncobj *destination = syncobj_of_handle(file, transfer->dst_handle);

    if (source == NULL || destination == NULL)
        return ENOENT;
    destination->signalled = source->signalled;
    destination->hangs = source->hangs;
    destination->point = transfer->dst_point;
    return 0;
}

/* Both kinds of waiting; `points` is NULL without timelines. */
struct waiting {
    const uint32_t *handles;
    const uint64_t *points;
    uint32_t count, flags;
    int64_t deadline;
};

/* Whether the wait is over: 0 with the first object that is signalled, EAGAIN, or the error that ends it. */
static int look(struct drm_file *file, const struct waiting *waiting, uint32_t *first)
{
    uint32_t signalled = 0;

    for (uint32_t index = waiting->count; index-- > 0;) {
        struct syncobj *syncobj = syncobj_of_handle(file, waiting->handles[index]);

        if (syncobj == NULL)
            return ENOENT;
        if (syncobj->signalled && (waiting->points == NULL || syncobj->point >= waiting->points[index])) {
            signalled++;
            *first = index;
        } else if (!syncobj->hangs && !(waiting->flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT))
            return EINVAL; /* nothing was submitted */
    }
    bool waits_for_all = waiting->flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
    return (waits_for_all ? signalled == waiting->count : signalled > 0) ? 0 : EAGAIN;
}

static int wait_for(struct drm_file *file, const struct waiting *waiting, uint32_t *first)
{
    const struct timespec step = {.tv_nsec = 2000000};
    const struct node_settings *node = file->node;
    int error = look(file, waiting, first);

    if (error == EAGAIN)
        drm_trace_wait(file, waiting->deadline);
    for (; error == EAGAIN; error = look(file, waiting, first)) {
        if (monotonic_nanoseconds() >= waiting->deadline)
            return ETIME;
        nodes_unlock();
        nanosleep(&step, NULL);
        nodes_lock();
        if (node_is_gone(node))
            return ENODEV;
    }
    return error;
}

static int wait_plain(struct drm_file *file, struct drm_syncobj_wait *wait)
{
    struct waiting waiting = {
        (const void *)(uintptr_t)wait->handles, NULL, wait->count_handles, wait->flags, wait->timeout_nsec,
    };

    return wait_for(file, &waiting, &wait->first_signaled);
}

static int wait_timeline(struct drm_file *file, struct drm_syncobj_timeline_wait *wait)
{
    struct waiting waiting = {
        (const void *)(uintptr_t)wait->handles, (const void *)(uintptr_t)wait->points, wait->count_handles,
        wait->flags, wait->timeout_nsec,
    };

    return wait_for(file, &waiting, &wait->first_signaled);
}

int drm_syncobj_request(struct drm_file *file, unsigned command, void *argument)
{
    switch (command) {
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE):
        return create(file, argument);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY):
        return destroy(file, argument);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD):
        return give_descriptor(file, argument);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE):
        return take_descriptor(file, argument);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT):
        return wait_plain(file, argument);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT):
        return wait_timeline(file, argument);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_RESET):
        return change_all(file, argument, false);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
        return change_all(file, argument, true);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL):
        return signal_points(file, argument);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY):
        return query_points(file, argument);
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER):
        return transfer_point(file, argument);
    default:
        return ENOTTY;
    }
}
