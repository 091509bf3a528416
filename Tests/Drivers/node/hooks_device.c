/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
/* Entry points that reach a device behind its descriptor. */
#include "drm_core.h"
#include "nodes.h"
#include "real.h"

#include <errno.h>
#include <linux/dma-buf.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <libdrm/drm.h>

/* A DMA-BUF of a node, or of a driver that needs none, is a memfd: always coherent. Its fences are those of the last
 * submission that used it. Returns whether the request is one about a DMA-BUF; `result` is what ioctl returns. */
static bool answer_about_memory(int descriptor, unsigned long request, void *argument, int *result)
{
    if (_IOC_TYPE(request) != DMA_BUF_BASE || !shim_is_active() || !is_memfd(descriptor))
        return false;
    *result = 0;
    if (request == DMA_BUF_IOCTL_EXPORT_SYNC_FILE) {
        struct dma_buf_export_sync_file *fence = argument;

        fence->fd = drm_fence_descriptor(object_completion_of_descriptor(descriptor) == COMPLETION_NEVER);
        *result = fence->fd < 0 ? -1 : 0;
    }
    return request == DMA_BUF_IOCTL_SYNC || request == DMA_BUF_IOCTL_EXPORT_SYNC_FILE ||
           request == DMA_BUF_IOCTL_IMPORT_SYNC_FILE;
}

HOOK int ioctl(int descriptor, unsigned long request, ...)
{
    va_list arguments;

    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (_IOC_TYPE(request) == DRM_IOCTL_BASE && shim_is_active() && node_of_descriptor(descriptor) != NULL) {
        int error = drm_request(descriptor, request, argument);

        if (error == 0)
            return 0;
        errno = error;
        return -1;
    }
    int result;
    if (answer_about_memory(descriptor, request, argument, &result))
        return result;
    return REAL(int (*)(int, unsigned long, ...), "ioctl")(descriptor, request, argument);
}

static void *map(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset)
{
    if ((uint64_t)offset >= OBJECT_OFFSET && !(flags & MAP_ANONYMOUS) && shim_is_active() &&
        node_of_descriptor(descriptor) != NULL)
        return object_map(descriptor, address, length, protection, flags, (uint64_t)offset);
    return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}

HOOK void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    return map(address, length, protection, flags, descriptor, offset);
}

HOOK void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset)
{
    return map(address, length, protection, flags, descriptor, offset);
}
