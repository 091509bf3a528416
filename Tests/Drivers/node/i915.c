/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the i915 kernel driver, and the choice of what answers a request. */
#define _GNU_SOURCE
#include "i915.h"

#include "drm_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where objects without an address of their own are bound first; low enough for 32 bits, and out of the way of
 * clients that choose addresses from the bottom. */
#define FIRST_ADDRESS 0x40000000ull

static int create_sized(struct drm_file *file, __u64 *size, __u32 *handle)
{
    int error = object_create(file, *size, handle);

    if (error == 0)
        *size = object_of_handle(file, *handle)->size;
    return error;
}

static int create_extended(struct drm_file *file, struct drm_i915_gem_create_ext *create)
{
    struct drm_i915_memory_region_info regions[2];
    unsigned region_count = i915_memory_regions(file->node->chip, regions);
    const struct i915_user_extension *extension = (const void *)(uintptr_t)create->extensions;

    for (; extension != NULL; extension = (const void *)(uintptr_t)extension->next_extension) {
        const struct drm_i915_gem_create_ext_memory_regions *wanted = (const void *)extension;

        if (extension->name != I915_GEM_CREATE_EXT_MEMORY_REGIONS)
            return extension->name == I915_GEM_CREATE_EXT_PROTECTED_CONTENT ? ENODEV : EINVAL;
        const struct drm_i915_gem_memory_class_instance *wanted_regions = (const void *)(uintptr_t)wanted->regions;
        for (uint32_t index = 0; index < wanted->num_regions; index++)
            if (wanted_regions[index].memory_class >= region_count || wanted_regions[index].memory_instance != 0)
                return EINVAL;
    }
    return create_sized(file, &create->size, &create->handle);
}

static int map_now(struct drm_file *file, struct drm_i915_gem_mmap *map)
{
    struct object *object = object_of_handle(file, map->handle);

    if (object == NULL)
        return ENOENT;
    if (object->descriptor < 0 || map->offset + map->size > object->size)
        return EINVAL;
    long address = syscall(SYS_mmap, NULL, map->size, PROT_READ | PROT_WRITE, MAP_SHARED, object->descriptor,
                           map->offset);
    if (address == -1)
        return errno;
    map->addr_ptr = (uint64_t)address;
    return 0;
}

static int map_offset(struct drm_file *file, uint32_t handle, __u64 *offset)
{
    if (object_of_handle(file, handle) == NULL)
        return ENOENT;
    *offset = OBJECT_OFFSET + handle * OBJECT_OFFSET_STEP;
    return 0;
}

static int read_or_write(struct drm_file *file, const struct drm_i915_gem_pwrite *transfer, bool writes)
{
    struct object *object = object_of_handle(file, transfer->handle);
    void *memory = (void *)(uintptr_t)transfer->data_ptr;

    if (object == NULL)
        return ENOENT;
    if (transfer->offset > object->size || transfer->size > object->size - transfer->offset ||
        object_bytes(object) == NULL)
        return EINVAL;
    if (writes)
        memcpy(object->bytes + transfer->offset, memory, transfer->size);
    else
        memcpy(memory, object->bytes + transfer->offset, transfer->size);
    return 0;
}

static int set_tiling(struct drm_file *file, struct drm_i915_gem_set_tiling *tiling)
{
    struct object *object = object_of_handle(file, tiling->handle);

    if (object == NULL)
        return ENOENT;
    if (file->node->chip->intel.local_memory > 0)
        return EOPNOTSUPP; /* no fences that would detile */
    object->tiling = tiling->tiling_mode;
    object->stride = tiling->stride;
    tiling->swizzle_mode = I915_BIT_6_SWIZZLE_NONE;
    return 0;
}

static int get_tiling(struct drm_file *file, struct drm_i915_gem_get_tiling *tiling)
{
    struct object *object = object_of_handle(file, tiling->handle);

    if (object == NULL)
        return ENOENT;
    if (file->node->chip->intel.local_memory > 0)
        return EOPNOTSUPP;
    tiling->tiling_mode = object->tiling;
    tiling->swizzle_mode = tiling->phys_swizzle_mode = I915_BIT_6_SWIZZLE_NONE;
    return 0;
}

static int wait_for_object(struct drm_file *file, struct drm_i915_gem_wait *wait)
{
    struct object *object = object_of_handle(file, wait->bo_handle);

    if (object == NULL)
        return ENOENT;
    if (object->completion == COMPLETION_DONE)
        return 0;
    if (wait->timeout_ns < 0)
        return drm_wait_until(file, INT64_MAX);
    int64_t timeout = wait->timeout_ns;
    wait->timeout_ns = 0;
    return drm_wait_until(file, monotonic_nanoseconds() + timeout);
}

static int set_domain(struct drm_file *file, uint32_t handle)
{
    struct object *object = object_of_handle(file, handle);

    if (object == NULL)
        return ENOENT;
    return object->completion == COMPLETION_DONE ? 0 : drm_wait_until(file, INT64_MAX);
}

static int is_busy(struct drm_file *file, struct drm_i915_gem_busy *busy)
{
    struct object *object = object_of_handle(file, busy->handle);

    if (object == NULL)
        return ENOENT;
    busy->busy = object->completion == COMPLETION_DONE ? 0 : 0x00010000 << I915_ENGINE_CLASS_VIDEO;
    return 0;
}

static int use_memory(struct drm_file *file, struct drm_i915_gem_userptr *userptr)
{
    if (userptr->user_ptr % 4096 != 0 || userptr->user_size % 4096 != 0 || userptr->user_size == 0)
        return EINVAL;
    return object_create_from_memory(file, (void *)(uintptr_t)userptr->user_ptr, userptr->user_size,
                                     &userptr->handle);
}

static int get_aperture(struct drm_i915_gem_get_aperture *aperture)
{
    aperture->aper_size = aperture->aper_available_size = 4ull << 30;
    return 0;
}

static int answer_memory(struct drm_file *file, unsigned command, void *argument)
{
    switch (command) {
    case DRM_I915_GEM_CREATE: {
        struct drm_i915_gem_create *create = argument;

        return create_sized(file, &create->size, &create->handle);
    }
    case DRM_I915_GEM_CREATE_EXT:
        return create_extended(file, argument);
    case DRM_I915_GEM_MMAP:
        return map_now(file, argument);
    case DRM_I915_GEM_MMAP_GTT: { /* MMAP_OFFSET too, which has more fields */
        struct drm_i915_gem_mmap_gtt *map = argument;

        return map_offset(file, map->handle, &map->offset);
    }
    case DRM_I915_GEM_PREAD:
        return read_or_write(file, argument, false);
    case DRM_I915_GEM_PWRITE:
        return read_or_write(file, argument, true);
    case DRM_I915_GEM_SET_DOMAIN:
        return set_domain(file, ((struct drm_i915_gem_set_domain *)argument)->handle);
    case DRM_I915_GEM_SET_TILING:
        return set_tiling(file, argument);
    case DRM_I915_GEM_GET_TILING:
        return get_tiling(file, argument);
    case DRM_I915_GEM_WAIT:
        return wait_for_object(file, argument);
    case DRM_I915_GEM_BUSY:
        return is_busy(file, argument);
    case DRM_I915_GEM_USERPTR:
        return use_memory(file, argument);
    case DRM_I915_GEM_GET_APERTURE:
        return get_aperture(argument);
    case DRM_I915_GEM_MADVISE:
        ((struct drm_i915_gem_madvise *)argument)->retained = 1;
        return 0;
    case DRM_I915_GEM_GET_CACHING:
        ((struct drm_i915_gem_caching *)argument)->caching = I915_CACHING_CACHED;
        return 0;
    case DRM_I915_GEM_SET_CACHING:
    case DRM_I915_GEM_SW_FINISH:
    case DRM_I915_GEM_THROTTLE:
        return 0;
    default:
        return ENOTTY;
    }
}

static int get_reset_statistics(struct drm_file *file, struct drm_i915_reset_stats *statistics)
{
    statistics->reset_count = 0; /* for the privileged only */
    statistics->batch_active = file->i915->resets;
    statistics->batch_pending = 0;
    return 0;
}

static int read_register(struct drm_i915_reg_read *reading)
{
    /* The only register that may be read: the time stamp, in microseconds here. */
    reading->val = (uint64_t)(monotonic_nanoseconds() / 1000);
    return 0;
}

static bool prepare(struct drm_file *file)
{
    if (file->i915 == NULL) {
        file->i915 = calloc(1, sizeof *file->i915);
        if (file->i915 != NULL)
            file->i915->next_address = FIRST_ADDRESS;
    }
    return file->i915 != NULL;
}

int i915_request(struct drm_file *file, unsigned command, void *argument)
{
    if (!prepare(file))
        return ENOMEM;
    switch (command) {
    case DRM_I915_GETPARAM:
        return i915_get_parameter(file, argument);
    case DRM_I915_QUERY:
        return i915_query(file, argument);
    case DRM_I915_GEM_CONTEXT_CREATE:
        return i915_context_create(file, argument);
    case DRM_I915_GEM_CONTEXT_DESTROY:
        return i915_context_destroy(file, argument);
    case DRM_I915_GEM_CONTEXT_GETPARAM:
        return i915_context_get_parameter(file, argument);
    case DRM_I915_GEM_CONTEXT_SETPARAM:
        return i915_context_set_parameter(file, argument);
    case DRM_I915_GEM_VM_CREATE:
        ((struct drm_i915_gem_vm_control *)argument)->vm_id = ++file->i915->last_address_space;
        return 0;
    case DRM_I915_GEM_VM_DESTROY:
        return 0;
    case DRM_I915_GEM_EXECBUFFER2:
        return i915_submit(file, argument);
    case DRM_I915_GET_RESET_STATS:
        return get_reset_statistics(file, argument);
    case DRM_I915_REG_READ:
        return read_register(argument);
    default:
        return answer_memory(file, command, argument);
    }
}

void i915_file_free(struct i915_file *i915)
{
    if (i915 != NULL)
        free(i915->contexts);
    free(i915);
}
