/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the amdgpu kernel driver, and the choice of what answers a request. */
#include "amdgpu.h"

#include "drm_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int create(struct drm_file *file, union drm_amdgpu_gem_create *creation)
{
    struct drm_amdgpu_gem_create_in wanted = creation->in;
    uint32_t handle;
    int error = object_create(file, wanted.bo_size, &handle);

    if (error != 0)
        return error;
    struct object *object = object_of_handle(file, handle);
    object->amdgpu_domains = wanted.domains;
    object->amdgpu_flags = wanted.domain_flags;
    memset(creation, 0, sizeof *creation);
    creation->out.handle = handle;
    return 0;
}

static int use_memory(struct drm_file *file, struct drm_amdgpu_gem_userptr *userptr)
{
    if (userptr->addr % 4096 != 0 || userptr->size % 4096 != 0 || userptr->size == 0)
        return EINVAL;
    return object_create_from_memory(file, (void *)(uintptr_t)userptr->addr, userptr->size, &userptr->handle);
}

static int map_offset(struct drm_file *file, union drm_amdgpu_gem_mmap *map)
{
    uint32_t handle = map->in.handle;
    struct object *object = object_of_handle(file, handle);

    if (object == NULL)
        return ENOENT;
    if (object->descriptor < 0 || (object->amdgpu_flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS))
        return EPERM;
    map->out.addr_ptr = OBJECT_OFFSET + handle * OBJECT_OFFSET_STEP;
    return 0;
}

static int set_or_get_metadata(struct drm_file *file, struct drm_amdgpu_gem_metadata *metadata)
{
    struct object *object = object_of_handle(file, metadata->handle);

    if (object == NULL)
        return ENOENT;
    if (metadata->op == AMDGPU_GEM_METADATA_OP_GET_METADATA) {
        metadata->data.flags = object->amdgpu_metadata_flags;
        metadata->data.tiling_info = object->amdgpu_tiling;
        metadata->data.data_size_bytes = object->amdgpu_metadata_size;
        memcpy(metadata->data.data, object->amdgpu_metadata, sizeof metadata->data.data);
        return 0;
    }
    if (metadata->op != AMDGPU_GEM_METADATA_OP_SET_METADATA ||
        metadata->data.data_size_bytes > sizeof metadata->data.data)
        return EINVAL;
    object->amdgpu_metadata_flags = metadata->data.flags;
    object->amdgpu_tiling = metadata->data.tiling_info;
    object->amdgpu_metadata_size = metadata->data.data_size_bytes;
    memcpy(object->amdgpu_metadata, metadata->data.data, sizeof metadata->data.data);
    return 0;
}

static int operate(struct drm_file *file, const struct drm_amdgpu_gem_op *operation)
{
    struct object *object = object_of_handle(file, operation->handle);

    if (object == NULL)
        return ENOENT;
    if (operation->op == AMDGPU_GEM_OP_SET_PLACEMENT) {
        object->amdgpu_domains = operation->value;
        return 0;
    }
    if (operation->op != AMDGPU_GEM_OP_GET_GEM_CREATE_INFO)
        return EINVAL;
    struct drm_amdgpu_gem_create_in *creation = (void *)(uintptr_t)operation->value;
    *creation = (struct drm_amdgpu_gem_create_in){
        .bo_size = object->size, .alignment = 4096, .domains = object->amdgpu_domains,
        .domain_flags = object->amdgpu_flags,
    };
    return 0;
}

static int wait_until_idle(struct drm_file *file, union drm_amdgpu_gem_wait_idle *wait)
{
    struct object *object = object_of_handle(file, wait->in.handle);
    uint64_t timeout = wait->in.timeout;

    if (object == NULL)
        return ENOENT;
    bool is_busy = object->completion != COMPLETION_DONE;
    int error = 0;
    if (is_busy)
        error = drm_wait_until(file, timeout > INT64_MAX ? INT64_MAX : (int64_t)timeout);
    memset(wait, 0, sizeof *wait);
    wait->out.status = is_busy;
    return error == ETIME ? 0 : error;
}

static int context_request(struct drm_file *file, union drm_amdgpu_ctx *context)
{
    struct drm_amdgpu_ctx_in wanted = context->in;
    struct amdgpu_file *amdgpu = file->amdgpu;

    memset(context, 0, sizeof *context);
    switch (wanted.op) {
    case AMDGPU_CTX_OP_ALLOC_CTX:
        context->out.alloc.ctx_id = ++amdgpu->last_context;
        return 0;
    case AMDGPU_CTX_OP_FREE_CTX:
        return wanted.ctx_id > 0 && wanted.ctx_id <= amdgpu->last_context ? 0 : EINVAL;
    case AMDGPU_CTX_OP_QUERY_STATE:
        context->out.state.hangs = (uint32_t)amdgpu->resets;
        context->out.state.reset_status = amdgpu->resets > 0 ? AMDGPU_CTX_GUILTY_RESET : AMDGPU_CTX_NO_RESET;
        return 0;
    case AMDGPU_CTX_OP_QUERY_STATE2:
        context->out.state.flags =
            amdgpu->resets > 0 ? AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY : 0;
        return 0;
    case AMDGPU_CTX_OP_GET_STABLE_PSTATE:
    case AMDGPU_CTX_OP_SET_STABLE_PSTATE:
        return 0;
    default:
        return EINVAL;
    }
}

static int list_request(struct drm_file *file, union drm_amdgpu_bo_list *list)
{
    struct drm_amdgpu_bo_list_in wanted = list->in;
    const struct drm_amdgpu_bo_list_entry *entries = (const void *)(uintptr_t)wanted.bo_info_ptr;

    if (wanted.operation != AMDGPU_BO_LIST_OP_DESTROY)
        for (uint32_t index = 0; index < wanted.bo_number; index++)
            if (object_of_handle(file, entries[index].bo_handle) == NULL)
                return ENOENT;
    memset(list, 0, sizeof *list);
    if (wanted.operation == AMDGPU_BO_LIST_OP_CREATE)
        list->out.list_handle = ++file->amdgpu->last_list;
    return 0;
}

static bool prepare(struct drm_file *file)
{
    if (file->amdgpu == NULL) {
        file->amdgpu = calloc(1, sizeof *file->amdgpu);
        if (file->amdgpu != NULL)
            file->amdgpu->first_hung_fence = UINT64_MAX;
    }
    return file->amdgpu != NULL;
}

int amdgpu_request(struct drm_file *file, unsigned command, void *argument)
{
    if (!prepare(file))
        return ENOMEM;
    switch (command) {
    case DRM_AMDGPU_INFO:
        return amdgpu_information(file, argument);
    case DRM_AMDGPU_GEM_CREATE:
        return create(file, argument);
    case DRM_AMDGPU_GEM_MMAP:
        return map_offset(file, argument);
    case DRM_AMDGPU_GEM_METADATA:
        return set_or_get_metadata(file, argument);
    case DRM_AMDGPU_GEM_OP:
        return operate(file, argument);
    case DRM_AMDGPU_GEM_USERPTR:
        return use_memory(file, argument);
    case DRM_AMDGPU_GEM_WAIT_IDLE:
        return wait_until_idle(file, argument);
    case DRM_AMDGPU_GEM_VA:
        return amdgpu_change_mapping(file, argument);
    case DRM_AMDGPU_CTX:
        return context_request(file, argument);
    case DRM_AMDGPU_BO_LIST:
        return list_request(file, argument);
    case DRM_AMDGPU_CS:
        return amdgpu_submit(file, argument);
    case DRM_AMDGPU_WAIT_CS:
        return amdgpu_wait_for_submission(file, argument);
    case DRM_AMDGPU_WAIT_FENCES:
        return amdgpu_wait_for_fences(file, argument);
    case DRM_AMDGPU_FENCE_TO_HANDLE:
        return amdgpu_fence_to_handle(file, argument);
    case DRM_AMDGPU_VM: /* reserves a number for debugging */
        return 0;
    case DRM_AMDGPU_SCHED:
        return EACCES; /* for the display's master */
    default:
        return ENOTTY;
    }
}

void amdgpu_file_free(struct amdgpu_file *amdgpu)
{
    if (amdgpu == NULL)
        return;
    for (uint32_t index = 0; index < amdgpu->mapping_count; index++)
        object_release(amdgpu->mappings[index].object);
    free(amdgpu->mappings);
    free(amdgpu);
}
