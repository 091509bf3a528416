/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory and address spaces of the xe kernel driver, and the choice of what answers a request. */
#include "xe.h"

#include <errno.h>
#include <stdlib.h>

void xe_file_free(struct xe_file *xe)
{
    if (xe == NULL)
        return;
    for (uint32_t index = 0; index < xe->mapping_count; index++)
        object_release(xe->mappings[index].binding.object);
    free(xe->mappings);
    free(xe->queues);
    free(xe);
}

#if __has_include(<drm/xe_drm.h>)

enum { SYSTEM_MEMORY = 1 << 0, CARD_MEMORY = 1 << 1 }; /* by instance, as in drm_xe_gt.near_mem_regions */

static int create(struct drm_file *file, struct drm_xe_gem_create *creation)
{
    uint32_t regions = SYSTEM_MEMORY | (file->node->chip->intel.local_memory > 0 ? CARD_MEMORY : 0);
    bool is_cached = creation->cpu_caching == DRM_XE_GEM_CPU_CACHING_WB;

    if (creation->placement == 0 || (creation->placement & ~regions) || creation->size % 4096 != 0)
        return EINVAL;
    /* Memory of the card is never cached by the processor. */
    if ((!is_cached && creation->cpu_caching != DRM_XE_GEM_CPU_CACHING_WC) ||
        (is_cached && (creation->placement & CARD_MEMORY)))
        return EINVAL;
    return object_create(file, creation->size, &creation->handle);
}

static int map_offset(struct drm_file *file, struct drm_xe_gem_mmap_offset *map)
{
    if (object_of_handle(file, map->handle) == NULL)
        return ENOENT;
    if (map->flags != 0)
        return EINVAL;
    map->offset = OBJECT_OFFSET + map->handle * OBJECT_OFFSET_STEP;
    return 0;
}

static int add_mapping(struct xe_file *xe, const struct xe_mapping *mapping)
{
    if (xe->mapping_count == xe->mapping_capacity) {
        uint32_t grown = xe->mapping_capacity == 0 ? 64 : 2 * xe->mapping_capacity;
        struct xe_mapping *larger = realloc(xe->mappings, grown * sizeof *larger);

        if (larger == NULL)
            return ENOMEM;
        xe->mappings = larger;
        xe->mapping_capacity = grown;
    }
    object_retain(mapping->binding.object);
    xe->mappings[xe->mapping_count++] = *mapping;
    return 0;
}

/* Removes what begins in a range. */
static void remove_mappings(struct xe_file *xe, uint32_t space, uint64_t address, uint64_t size)
{
    uint32_t kept = 0, count = xe->mapping_count;

    for (uint32_t index = 0; index < count; index++) {
        struct xe_mapping mapping = xe->mappings[index];

        if (mapping.space == space && mapping.binding.address >= address && mapping.binding.address - address < size)
            object_release(mapping.binding.object);
        else
            xe->mappings[kept++] = mapping;
    }
    xe->mapping_count = kept;
}

static int bind_memory(struct drm_file *file, struct xe_mapping *mapping, uint64_t address)
{
    uint32_t handle;
    int error = object_create_from_memory(file, (void *)(uintptr_t)address, mapping->binding.size, &handle);

    if (error != 0)
        return error;
    mapping->binding.object = object_of_handle(file, handle);
    error = add_mapping(file->xe, mapping);
    object_close(file, handle); /* the mapping keeps the object */
    return error;
}

static int bind_object(struct drm_file *file, struct xe_mapping *mapping, const struct drm_xe_vm_bind_op *operation)
{
    struct object *object = object_of_handle(file, operation->obj);

    if (object == NULL)
        return ENOENT;
    if (operation->obj_offset > object->size || operation->range > object->size - operation->obj_offset)
        return EINVAL;
    mapping->binding.object = object;
    mapping->binding.offset = operation->obj_offset;
    return add_mapping(file->xe, mapping);
}

static int perform(struct drm_file *file, uint32_t space, const struct drm_xe_vm_bind_op *operation)
{
    struct xe_mapping mapping = {
        .space = space, .binding = {.address = operation->addr, .size = operation->range},
    };

    if ((operation->addr | operation->range) % 4096 != 0)
        return EINVAL;
    switch (operation->op) {
    case DRM_XE_VM_BIND_OP_MAP:
        remove_mappings(file->xe, space, operation->addr, operation->range);
        return bind_object(file, &mapping, operation);
    case DRM_XE_VM_BIND_OP_MAP_USERPTR:
        remove_mappings(file->xe, space, operation->addr, operation->range);
        return operation->userptr % 4096 == 0 ? bind_memory(file, &mapping, operation->userptr) : EINVAL;
    case DRM_XE_VM_BIND_OP_UNMAP:
        remove_mappings(file->xe, space, operation->addr, operation->range);
        return 0;
    case DRM_XE_VM_BIND_OP_PREFETCH:
        return 0;
    default:
        return EINVAL;
    }
}

int xe_bind(struct drm_file *file, const struct drm_xe_vm_bind *request)
{
    const struct drm_xe_vm_bind_op *operations =
        request->num_binds == 1 ? &request->bind : (const void *)(uintptr_t)request->vector_of_binds;
    int error = 0;

    if (request->vm_id == 0 || request->vm_id > file->xe->last_space)
        return ENOENT;
    for (uint32_t index = 0; index < request->num_binds && error == 0; index++)
        error = perform(file, request->vm_id, &operations[index]);
    return error != 0 ? error : xe_signal(file, request->syncs, request->num_syncs, false);
}

static int destroy_space(struct drm_file *file, const struct drm_xe_vm_destroy *destruction)
{
    if (destruction->vm_id == 0 || destruction->vm_id > file->xe->last_space)
        return ENOENT;
    remove_mappings(file->xe, destruction->vm_id, 0, UINT64_MAX);
    return 0;
}

static bool prepare(struct drm_file *file)
{
    if (file->xe == NULL)
        file->xe = calloc(1, sizeof *file->xe);
    return file->xe != NULL;
}

int xe_request(struct drm_file *file, unsigned command, void *argument)
{
    if (!prepare(file))
        return ENOMEM;
    switch (command) {
    case DRM_XE_DEVICE_QUERY:
        return xe_query(file, argument);
    case DRM_XE_GEM_CREATE:
        return create(file, argument);
    case DRM_XE_GEM_MMAP_OFFSET:
        return map_offset(file, argument);
    case DRM_XE_VM_CREATE:
        ((struct drm_xe_vm_create *)argument)->vm_id = ++file->xe->last_space;
        return 0;
    case DRM_XE_VM_DESTROY:
        return destroy_space(file, argument);
    case DRM_XE_VM_BIND:
        return xe_bind(file, argument);
    case DRM_XE_EXEC_QUEUE_CREATE:
        return xe_queue_create(file, argument);
    case DRM_XE_EXEC_QUEUE_DESTROY:
        return xe_queue_destroy(file, argument);
    case DRM_XE_EXEC_QUEUE_GET_PROPERTY:
        return xe_queue_get_property(file, argument);
    case DRM_XE_EXEC:
        return xe_submit(file, argument);
    default:
        return ENOTTY;
    }
}

#else

int xe_request(struct drm_file *file, unsigned command, void *argument)
{
    (void)file, (void)command, (void)argument;
    return ENOTTY;
}

#endif
