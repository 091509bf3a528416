// SPDX-License-Identifier: GPL-2.0-or-later

#ifndef CLIBDRM_H
#define CLIBDRM_H

#include <errno.h>
#include <i915_drm.h>
#include <sys/sysmacros.h>
#include <xf86drm.h>

/* Asks the i915 driver behind an open node for the state of the HuC firmware: 1 it runs, 0 it does not, or minus the
 * errno with which the driver says why there is none. The request is a macro, which Swift does not import. */
static inline int clibdrm_i915_huc_status(int descriptor)
{
    int value = 0;
    struct drm_i915_getparam request = {.param = I915_PARAM_HUC_STATUS, .value = &value};
    return drmIoctl(descriptor, DRM_IOCTL_I915_GETPARAM, &request) == 0 ? value : -errno;
}

#endif
