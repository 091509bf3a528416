/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests (ioctl) of the DRM subsystem. */
#ifndef DRIVERS_NODE_DRM_CORE_H
#define DRIVERS_NODE_DRM_CORE_H

#include "nodes.h"

#include <time.h>

/* Answers one request to an open node: 0, or an errno. Takes the lock. */
int drm_request(int descriptor, unsigned long request, void *argument);

/* The requests that all drivers share, and those of each. Lock held. Return 0 or an errno, ENOTTY for a request that
 * the kernel driver does not have. `command` is DRM_IOCTL_NR of the request. */
int drm_core_request(struct drm_file *file, unsigned command, void *argument);
int drm_syncobj_request(struct drm_file *file, unsigned command, void *argument);

/* Lock held, and left while waiting. Waits for work that never completes: returns ETIME at the deadline, which is of
 * monotonic_nanoseconds, or ENODEV when the node vanishes. */
int drm_wait_until(struct drm_file *file, int64_t deadline);

/* Notes a wait in the trace if its deadline never comes. */
void drm_trace_wait(const struct drm_file *file, int64_t deadline);

/* A descriptor that stands for a fence (sync file), readable when it is signalled; -1 and errno. */
int drm_fence_descriptor(bool hangs);

/* Nanoseconds of the clock that the kernel's absolute timeouts use. */
int64_t monotonic_nanoseconds(void);

#endif
