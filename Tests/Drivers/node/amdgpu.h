/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the amdgpu kernel driver (AMD). */
#ifndef DRIVERS_NODE_AMDGPU_H
#define DRIVERS_NODE_AMDGPU_H

#include "nodes.h"

#include <libdrm/amdgpu_drm.h>

/* As drm_core_request; `command` is counted from DRM_COMMAND_BASE. */
int amdgpu_request(struct drm_file *file, unsigned command, void *argument);
void amdgpu_file_free(struct amdgpu_file *amdgpu);

#endif
