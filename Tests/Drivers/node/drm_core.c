/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drm_core.h"

#include "amdgpu.h"
#include "i915.h"
#include "trace.h"
#include "xe.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include <libdrm/drm.h>

int64_t monotonic_nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* As the kernel does: as much as there is room for, without a terminator, and the whole length. */
static void copy_text(char *destination, __kernel_size_t *length, const char *text)
{
    size_t available = strlen(text), room = *length;

    if (destination != NULL && room > 0)
        memcpy(destination, text, room < available ? room : available);
    *length = available;
}

static int request_version(struct drm_file *file, struct drm_version *version)
{
    const struct chip *chip = file->node->chip;

    version->version_major = chip->version_major;
    version->version_minor = chip->version_minor;
    version->version_patchlevel = chip->version_patch;
    copy_text(version->name, &version->name_len, chip->kernel_driver);
    copy_text(version->date, &version->date_len, "20200101");
    copy_text(version->desc, &version->desc_len, chip->description);
    return 0;
}

static int request_capability(struct drm_file *file, struct drm_get_cap *capability)
{
    const struct chip *chip = file->node->chip;
    bool has_memory = chip->interface != INTERFACE_GENERIC;

    switch (capability->capability) {
    case DRM_CAP_PRIME:
        capability->value = has_memory ? DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT : 0;
        return 0;
    case DRM_CAP_SYNCOBJ:
    case DRM_CAP_SYNCOBJ_TIMELINE:
        capability->value = has_memory;
        return 0;
    case DRM_CAP_TIMESTAMP_MONOTONIC:
        capability->value = 1;
        return 0;
    case DRM_CAP_ADDFB2_MODIFIERS: /* asked for whether surfaces have format modifiers at all */
        capability->value = chip->interface != INTERFACE_AMDGPU || chip->amd.graphics_major >= 9;
        return has_memory ? 0 : EOPNOTSUPP;
    default: /* of displays */
        capability->value = 0;
        return has_memory ? 0 : EOPNOTSUPP;
    }
}

static int close_object(struct drm_file *file, const struct drm_gem_close *closing)
{
    return object_close(file, closing->handle);
}

static int export_object(struct drm_file *file, struct drm_prime_handle *prime)
{
    return object_export(file, prime->handle, (int)prime->flags, &prime->fd);
}

static int import_object(struct drm_file *file, struct drm_prime_handle *prime)
{
    return object_import(file, prime->fd, &prime->handle);
}

int drm_core_request(struct drm_file *file, unsigned command, void *argument)
{
    bool has_memory = file->node->chip->interface != INTERFACE_GENERIC;

    switch (command) {
    case _IOC_NR(DRM_IOCTL_VERSION):
        return request_version(file, argument);
    case _IOC_NR(DRM_IOCTL_GET_CAP):
        return request_capability(file, argument);
    case _IOC_NR(DRM_IOCTL_GET_MAGIC):
    case _IOC_NR(DRM_IOCTL_AUTH_MAGIC):
    case _IOC_NR(DRM_IOCTL_SET_MASTER):
    case _IOC_NR(DRM_IOCTL_DROP_MASTER):
    case _IOC_NR(DRM_IOCTL_GET_UNIQUE):
        return EACCES; /* not of a render node */
    case _IOC_NR(DRM_IOCTL_GEM_CLOSE):
        return has_memory ? close_object(file, argument) : EOPNOTSUPP;
    case _IOC_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD):
        return has_memory ? export_object(file, argument) : ENOSYS;
    case _IOC_NR(DRM_IOCTL_PRIME_FD_TO_HANDLE):
        return has_memory ? import_object(file, argument) : ENOSYS;
    default:
        return has_memory ? drm_syncobj_request(file, command, argument) : ENOTTY;
    }
}

static int answer(struct drm_file *file, unsigned command, void *argument)
{
    bool is_of_driver = command >= DRM_COMMAND_BASE && command < DRM_COMMAND_END;

    if (!is_of_driver)
        return drm_core_request(file, command, argument);
    switch (file->node->chip->interface) {
    case INTERFACE_I915:
        return i915_request(file, command - DRM_COMMAND_BASE, argument);
    case INTERFACE_XE:
        return xe_request(file, command - DRM_COMMAND_BASE, argument);
    case INTERFACE_AMDGPU:
        return amdgpu_request(file, command - DRM_COMMAND_BASE, argument);
    default:
        return ENOTTY;
    }
}

void drm_trace_wait(const struct drm_file *file, int64_t deadline)
{
    if (deadline == INT64_MAX)
        trace("renderD%u waits without end", file->node->number);
}

int drm_wait_until(struct drm_file *file, int64_t deadline)
{
    const struct node_settings *node = file->node;
    const struct timespec step = {.tv_nsec = 10000000};
    bool is_gone;

    drm_trace_wait(file, deadline);
    nodes_unlock();
    while (!(is_gone = node_is_gone(node)) && monotonic_nanoseconds() < deadline)
        nanosleep(&step, NULL);
    nodes_lock();
    return is_gone ? ENODEV : ETIME;
}

int drm_fence_descriptor(bool hangs)
{
    return eventfd(hangs ? 0 : 1, EFD_CLOEXEC);
}

int drm_request(int descriptor, unsigned long request, void *argument)
{
    int error = ENOTTY;

    nodes_lock();
    struct drm_file *file = file_of_descriptor(descriptor);
    if (file != NULL) {
        const struct node_settings *node = file->node;

        node_count_request(node);
        error = node_is_gone(node) ? ENODEV : answer(file, _IOC_NR(request), argument);
        trace("renderD%u request 0x%02x: %d", node->number, (unsigned)_IOC_NR(request), error);
    }
    nodes_unlock();
    return error;
}
