/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drm_core.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
    bool has_memory = file->node->chip->interface != INTERFACE_GENERIC;

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
    default:
        capability->value = 0;
        return EOPNOTSUPP; /* for what needs a display */
    }
}

int drm_core_request(struct drm_file *file, unsigned command, void *argument)
{
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
    default:
        return ENOTTY;
    }
}

int drm_request(int descriptor, unsigned long request, void *argument)
{
    nodes_lock();
    struct drm_file *file = file_of_descriptor(descriptor);
    int error = ENOTTY;

    if (file != NULL) {
        node_count_request(file->node);
        error = node_is_gone(file->node) ? ENODEV : drm_core_request(file, _IOC_NR(request), argument);
    }
    nodes_unlock();
    return error;
}
