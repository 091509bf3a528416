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

/* Nanoseconds of the clock that the kernel's absolute timeouts use. */
int64_t monotonic_nanoseconds(void);

#endif
