/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the i915 kernel driver (Intel). */
#ifndef DRIVERS_NODE_I915_H
#define DRIVERS_NODE_I915_H

#include "nodes.h"

#include <libdrm/i915_drm.h>

enum {
    I915_MAXIMUM_ENGINES = 16, /* in one context's map */
    I915_REGISTERS = 64,       /* that one engine remembers */
};

/* The memory-mapped registers of one engine, as far as batches have written them. */
struct i915_engine {
    unsigned count;
    struct i915_register {
        uint32_t address, value;
    } registers[I915_REGISTERS];
};

struct i915_context {
    bool exists;
    uint32_t engine_count; /* of the map; 0 for the legacy numbering */
    struct i915_engine_class_instance engines[I915_MAXIMUM_ENGINES];
};

struct i915_file {
    struct i915_context *contexts; /* by id; 0 is the default */
    uint32_t context_capacity;
    uint32_t last_address_space;   /* of VM_CREATE */
    uint64_t next_address;         /* where the next object without an address of its own is bound */
    uint32_t resets;               /* submissions that were lost */
    struct i915_engine engine;     /* registers; one set is enough, for batches run one after another */
};

/* As drm_core_request; `command` is counted from DRM_COMMAND_BASE. */
int i915_request(struct drm_file *file, unsigned command, void *argument);
void i915_file_free(struct i915_file *i915);

/* Parts, each in a file of its own. */
int i915_get_parameter(struct drm_file *file, struct drm_i915_getparam *parameter);
int i915_query(struct drm_file *file, struct drm_i915_query *query);
int i915_context_create(struct drm_file *file, struct drm_i915_gem_context_create_ext *create);
int i915_context_destroy(struct drm_file *file, const struct drm_i915_gem_context_destroy *destroy);
int i915_context_get_parameter(struct drm_file *file, struct drm_i915_gem_context_param *parameter);
int i915_context_set_parameter(struct drm_file *file, const struct drm_i915_gem_context_param *parameter);
struct i915_context *i915_context_of(struct drm_file *file, uint32_t id);
int i915_submit(struct drm_file *file, struct drm_i915_gem_execbuffer2 *submission);

/* Memory regions: those of the system, then those of the card. */
unsigned i915_memory_regions(const struct chip *chip, struct drm_i915_memory_region_info regions[2]);

/* A batch and the memory that it can reach. */
struct i915_binding {
    uint64_t address, size;
    struct object *object;
    uint64_t offset; /* in the object */
};

struct i915_batch {
    const struct node_settings *node;
    struct i915_engine *engine;
    const struct i915_binding *bindings; /* in rising order of address */
    unsigned binding_count;
    uint64_t start;                      /* address of the first command */
};

/* Obeys the memory interface commands of a batch, as the command streamer would, and skips what only the video
 * engines would obey; registers that count coded bytes read as the size that the settings ask for. */
void i915_run_batch(const struct i915_batch *batch);

#endif
