/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the xe kernel driver (Intel, from Lunar Lake and Battlemage on). */
#ifndef DRIVERS_NODE_XE_H
#define DRIVERS_NODE_XE_H

#include "i915.h"

/* A part of a buffer object in an address space. */
struct xe_mapping {
    uint32_t space;              /* of VM_CREATE */
    struct i915_binding binding; /* its object is retained */
};

/* Where submissions go to. */
struct xe_queue {
    bool exists, is_banned; /* banned: a submission of it was lost */
    uint32_t space;
};

struct xe_file {
    struct xe_mapping *mappings;
    uint32_t mapping_count, mapping_capacity;
    struct xe_queue *queues; /* by id; 0 is never used */
    uint32_t queue_capacity;
    uint32_t last_space;
    struct i915_engine engine; /* registers, as of i915 */
};

/* As drm_core_request; `command` is counted from DRM_COMMAND_BASE. Where the kernel's headers are older than xe, no
 * request is answered. */
int xe_request(struct drm_file *file, unsigned command, void *argument);
void xe_file_free(struct xe_file *xe);

#if __has_include(<drm/xe_drm.h>)
#include <drm/xe_drm.h>

/* Parts, each in a file of its own. */
int xe_query(struct drm_file *file, struct drm_xe_device_query *query);
int xe_bind(struct drm_file *file, const struct drm_xe_vm_bind *request);
int xe_queue_create(struct drm_file *file, struct drm_xe_exec_queue_create *creation);
int xe_queue_destroy(struct drm_file *file, const struct drm_xe_exec_queue_destroy *destruction);
int xe_queue_get_property(struct drm_file *file, struct drm_xe_exec_queue_get_property *property);
int xe_submit(struct drm_file *file, const struct drm_xe_exec *submission);

/* Whether the chip has an engine. */
bool xe_has_engine(const struct chip *chip, const struct drm_xe_engine_class_instance *engine);

/* Signals what a request has to signal when its work is done, or never will be. 0 or an errno. */
int xe_signal(struct drm_file *file, uint64_t syncs, uint32_t count, bool hangs);
#endif

#endif
