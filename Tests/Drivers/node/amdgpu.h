/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the amdgpu kernel driver (AMD). */
#ifndef DRIVERS_NODE_AMDGPU_H
#define DRIVERS_NODE_AMDGPU_H

#include "nodes.h"

#include <libdrm/amdgpu_drm.h>

/* A part of a buffer object in the GPU's address space. */
struct amdgpu_mapping {
    struct object *object; /* retained */
    uint64_t address, size, offset;
};

struct amdgpu_file {
    struct amdgpu_mapping *mappings;
    uint32_t mapping_count, mapping_capacity;
    uint32_t last_context, last_list;
    uint64_t last_fence;       /* number of the last submission */
    uint64_t first_hung_fence; /* submissions from this one on do not complete; UINT64_MAX for none */
    uint64_t resets;           /* submissions that were lost */
};

/* As drm_core_request; `command` is counted from DRM_COMMAND_BASE. */
int amdgpu_request(struct drm_file *file, unsigned command, void *argument);
void amdgpu_file_free(struct amdgpu_file *amdgpu);

/* Parts, each in a file of its own. */
int amdgpu_information(struct drm_file *file, const struct drm_amdgpu_info *query);
int amdgpu_read_registers(const struct chip *chip, uint32_t first, uint32_t count, uint32_t *values);
int amdgpu_submit(struct drm_file *file, union drm_amdgpu_cs *submission);
int amdgpu_wait_for_submission(struct drm_file *file, union drm_amdgpu_wait_cs *wait);
int amdgpu_wait_for_fences(struct drm_file *file, union drm_amdgpu_wait_fences *wait);
int amdgpu_fence_to_handle(struct drm_file *file, union drm_amdgpu_fence_to_handle *request);
int amdgpu_change_mapping(struct drm_file *file, const struct drm_amdgpu_gem_va *change);

/* The bytes at an address of the GPU; NULL when they are not all mapped. */
uint8_t *amdgpu_memory(struct amdgpu_file *amdgpu, uint64_t address, uint64_t size);

/* Does what an encoder block would tell of a picture, for the commands at an address: writes the feedback that says
 * how many bytes were coded. `block` is AMDGPU_HW_IP_... */
void amdgpu_run_video(struct drm_file *file, uint32_t block, uint64_t address, uint32_t size);

#endif
