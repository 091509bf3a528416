/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queues of the xe kernel driver, submission of work to them, and what they signal. */
#include "xe.h"

#if __has_include(<drm/xe_drm.h>)

#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_QUEUES = 16, MAXIMUM_QUEUES = 4096 };

static struct xe_queue *queue_of(const struct xe_file *xe, uint32_t id)
{
    return id < xe->queue_capacity && xe->queues[id].exists ? &xe->queues[id] : NULL;
}

/* A free id; 0 without memory. */
static uint32_t free_id(struct xe_file *xe)
{
    for (uint32_t id = 1; id < xe->queue_capacity; id++)
        if (!xe->queues[id].exists)
            return id;
    uint32_t first = xe->queue_capacity, grown = first == 0 ? FIRST_QUEUES : 2 * first;
    struct xe_queue *larger = grown <= MAXIMUM_QUEUES ? realloc(xe->queues, grown * sizeof *larger) : NULL;

    if (larger == NULL)
        return 0;
    memset(larger + first, 0, (grown - first) * sizeof *larger);
    xe->queues = larger;
    xe->queue_capacity = grown;
    return first == 0 ? 1 : first;
}

int xe_queue_create(struct drm_file *file, struct drm_xe_exec_queue_create *creation)
{
    const struct drm_xe_engine_class_instance *engines = (const void *)(uintptr_t)creation->instances;
    uint32_t count = (uint32_t)creation->width * creation->num_placements;

    if (count == 0 || creation->flags != 0)
        return EINVAL;
    if (creation->vm_id == 0 || creation->vm_id > file->xe->last_space)
        return ENOENT;
    for (uint32_t index = 0; index < count; index++)
        if (!xe_has_engine(file->node->chip, &engines[index]))
            return EINVAL;
    uint32_t id = free_id(file->xe);
    if (id == 0)
        return ENOMEM;
    file->xe->queues[id] = (struct xe_queue){.exists = true, .space = creation->vm_id};
    creation->exec_queue_id = id;
    return 0;
}

int xe_queue_destroy(struct drm_file *file, const struct drm_xe_exec_queue_destroy *destruction)
{
    struct xe_queue *queue = queue_of(file->xe, destruction->exec_queue_id);

    if (queue == NULL)
        return ENOENT;
    queue->exists = false;
    return 0;
}

int xe_queue_get_property(struct drm_file *file, struct drm_xe_exec_queue_get_property *property)
{
    const struct xe_queue *queue = queue_of(file->xe, property->exec_queue_id);

    if (queue == NULL)
        return ENOENT;
    if (property->property != DRM_XE_EXEC_QUEUE_GET_PROPERTY_BAN)
        return EINVAL;
    property->value = queue->is_banned;
    return 0;
}

int xe_signal(struct drm_file *file, uint64_t syncs, uint32_t count, bool hangs)
{
    const struct drm_xe_sync *entries = (const void *)(uintptr_t)syncs;

    for (uint32_t index = 0; index < count; index++) {
        const struct drm_xe_sync *entry = &entries[index];
        struct syncobj *syncobj = syncobj_of_handle(file, entry->handle);

        if (entry->type != DRM_XE_SYNC_TYPE_SYNCOBJ && entry->type != DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ)
            return EINVAL; /* user fences are for clients that let work run for ever */
        if (syncobj == NULL)
            return ENOENT;
        if (!(entry->flags & DRM_XE_SYNC_FLAG_SIGNAL))
            continue; /* work runs in the order of submission */
        syncobj->hangs = hangs;
        if (hangs)
            continue;
        syncobj->signalled = true;
        if (entry->type == DRM_XE_SYNC_TYPE_TIMELINE_SYNCOBJ && entry->timeline_value > syncobj->point)
            syncobj->point = entry->timeline_value;
    }
    return 0;
}

static int compare_bindings(const void *left, const void *right)
{
    uint64_t first = ((const struct i915_binding *)left)->address;
    uint64_t second = ((const struct i915_binding *)right)->address;

    return (first > second) - (first < second);
}

/* What is mapped in an address space, in rising order of address; NULL without memory. */
static struct i915_binding *bindings_in(const struct xe_file *xe, uint32_t space, unsigned *count)
{
    struct i915_binding *bindings = calloc(xe->mapping_count + 1, sizeof *bindings);

    *count = 0;
    for (uint32_t index = 0; index < xe->mapping_count && bindings != NULL; index++)
        if (xe->mappings[index].space == space)
            bindings[(*count)++] = xe->mappings[index].binding;
    if (bindings != NULL)
        qsort(bindings, *count, sizeof *bindings, compare_bindings);
    return bindings;
}

static void run(struct drm_file *file, const struct drm_xe_exec *request, struct i915_binding *bindings, unsigned count)
{
    const __u64 *addresses =
        request->num_batch_buffer == 1 ? &request->address : (const __u64 *)(uintptr_t)request->address;

    for (uint16_t index = 0; index < request->num_batch_buffer; index++) {
        struct i915_batch batch = {
            .node = file->node, .engine = &file->xe->engine, .bindings = bindings, .binding_count = count,
            .start = addresses[index],
        };

        i915_run_batch(&batch);
    }
}

static int perform(struct drm_file *file, struct xe_queue *queue, const struct drm_xe_exec *request)
{
    const struct node_settings *node = file->node;
    uint64_t number = node_count_submission(node);
    bool hangs = number >= node->hang_at, is_lost = number >= node->reset_at;
    unsigned count;

    if (number >= node->refuse_at)
        return node->refusal_error;
    if (hangs || is_lost)
        trace("renderD%u submission %llu %s", node->number, (unsigned long long)number, hangs ? "hangs" : "is lost");
    struct i915_binding *bindings = bindings_in(file->xe, queue->space, &count);
    if (bindings == NULL)
        return ENOMEM;
    for (unsigned index = 0; index < count; index++)
        bindings[index].object->completion = hangs ? COMPLETION_NEVER : COMPLETION_DONE;
    if (!hangs && !is_lost)
        run(file, request, bindings, count);
    free(bindings);
    queue->is_banned = is_lost;
    return xe_signal(file, request->syncs, request->num_syncs, hangs);
}

int xe_submit(struct drm_file *file, const struct drm_xe_exec *request)
{
    struct xe_queue *queue = queue_of(file->xe, request->exec_queue_id);

    if (queue == NULL)
        return ENOENT;
    if (queue->is_banned)
        return ECANCELED;
    return request->num_batch_buffer > 0 ? perform(file, queue, request)
                                         : xe_signal(file, request->syncs, request->num_syncs, false);
}

#endif
