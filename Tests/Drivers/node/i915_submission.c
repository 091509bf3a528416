/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Submission of work to the i915 kernel driver: where objects are bound, relocations, and fences. */
#include "i915.h"

#include "drm_core.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096ull

/* One submission while it is looked at. */
struct submission {
    struct drm_file *file;
    struct drm_i915_gem_execbuffer2 *request;
    struct drm_i915_gem_exec_object2 *entries;
    struct object **objects; /* in the order of the entries */
    uint32_t count;
};

static bool find_objects(struct submission *submission)
{
    for (uint32_t index = 0; index < submission->count; index++) {
        submission->objects[index] = object_of_handle(submission->file, submission->entries[index].handle);
        if (submission->objects[index] == NULL)
            return false;
    }
    return true;
}

/* Gives every object its address: the one that the client chose, or one that no other object has. */
static void bind_objects(struct submission *submission)
{
    struct i915_file *i915 = submission->file->i915;

    for (uint32_t index = 0; index < submission->count; index++) {
        struct drm_i915_gem_exec_object2 *entry = &submission->entries[index];
        struct object *object = submission->objects[index];

        if (entry->flags & EXEC_OBJECT_PINNED)
            object->address = entry->offset & ((1ull << 48) - 1);
        else if (object->address == 0) {
            uint64_t alignment = entry->alignment > PAGE ? entry->alignment : PAGE;

            object->address = (i915->next_address + alignment - 1) / alignment * alignment;
            i915->next_address = object->address + object->size + PAGE;
        }
        if (!(entry->flags & EXEC_OBJECT_PINNED))
            entry->offset = object->address;
    }
}

static struct object *relocation_target(const struct submission *submission, uint32_t target)
{
    if (submission->request->flags & I915_EXEC_HANDLE_LUT)
        return target < submission->count ? submission->objects[target] : NULL;
    return object_of_handle(submission->file, target);
}

static int relocate_object(const struct submission *submission, uint32_t index)
{
    const struct drm_i915_gem_exec_object2 *entry = &submission->entries[index];
    struct drm_i915_gem_relocation_entry *relocations = (void *)(uintptr_t)entry->relocs_ptr;
    struct object *object = submission->objects[index];

    for (uint32_t place = 0; place < entry->relocation_count; place++) {
        struct drm_i915_gem_relocation_entry *relocation = &relocations[place];
        struct object *target = relocation_target(submission, relocation->target_handle);

        if (target == NULL)
            return ENOENT;
        if (relocation->offset % 4 != 0 || relocation->offset > object->size - 8 || object_bytes(object) == NULL)
            return EINVAL;
        uint64_t value = target->address + relocation->delta;
        memcpy(object->bytes + relocation->offset, &value, sizeof value);
        relocation->presumed_offset = target->address;
    }
    return 0;
}

static int relocate(const struct submission *submission)
{
    int error = 0;

    for (uint32_t index = 0; index < submission->count && error == 0; index++)
        error = relocate_object(submission, index);
    return error;
}

static int compare_bindings(const void *left, const void *right)
{
    uint64_t first = ((const struct i915_binding *)left)->address;
    uint64_t second = ((const struct i915_binding *)right)->address;

    return (first > second) - (first < second);
}

static int run(const struct submission *submission)
{
    struct i915_binding *bindings = calloc(submission->count, sizeof *bindings);
    bool batch_first = submission->request->flags & I915_EXEC_BATCH_FIRST;

    if (bindings == NULL)
        return ENOMEM;
    for (uint32_t index = 0; index < submission->count; index++)
        bindings[index] = (struct i915_binding){
            .address = submission->objects[index]->address, .size = submission->objects[index]->size,
            .object = submission->objects[index],
        };
    struct i915_batch batch = {
        .node = submission->file->node,
        .engine = &submission->file->i915->engine,
        .bindings = bindings,
        .binding_count = submission->count,
        .start = submission->objects[batch_first ? 0 : submission->count - 1]->address +
                 submission->request->batch_start_offset,
    };
    qsort(bindings, submission->count, sizeof *bindings, compare_bindings);
    i915_run_batch(&batch);
    free(bindings);
    return 0;
}

static void signal_fences(const struct submission *submission, bool hangs)
{
    const struct drm_i915_gem_exec_fence *fences = (const void *)(uintptr_t)submission->request->cliprects_ptr;

    if (!(submission->request->flags & I915_EXEC_FENCE_ARRAY))
        return;
    for (uint32_t index = 0; index < submission->request->num_cliprects; index++) {
        struct syncobj *syncobj = syncobj_of_handle(submission->file, fences[index].handle);

        if (syncobj != NULL && (fences[index].flags & I915_EXEC_FENCE_SIGNAL)) {
            syncobj->signalled = !hangs;
            syncobj->hangs = hangs;
        }
    }
}

static int give_fence(const struct submission *submission, bool hangs)
{
    int descriptor;

    if (!(submission->request->flags & I915_EXEC_FENCE_OUT))
        return 0;
    descriptor = drm_fence_descriptor(hangs);
    if (descriptor < 0)
        return errno;
    submission->request->rsvd2 = (submission->request->rsvd2 & UINT32_MAX) | (uint64_t)descriptor << 32;
    return 0;
}

static int perform(struct submission *submission)
{
    const struct node_settings *node = submission->file->node;
    uint64_t number = node_count_submission(node);
    bool hangs = number >= node->hang_at, is_lost = number >= node->reset_at;

    if (!find_objects(submission))
        return ENOENT;
    if (number >= node->refuse_at)
        return node->refusal_error;
    if (hangs || is_lost)
        trace("renderD%u submission %llu %s", node->number, (unsigned long long)number, hangs ? "hangs" : "is lost");
    bind_objects(submission);
    int error = relocate(submission);
    if (error == 0 && is_lost)
        submission->file->i915->resets++;
    else if (error == 0 && !hangs)
        error = run(submission);
    if (error != 0)
        return error;
    for (uint32_t index = 0; index < submission->count; index++)
        submission->objects[index]->completion = hangs ? COMPLETION_NEVER : COMPLETION_DONE;
    signal_fences(submission, hangs);
    return give_fence(submission, hangs);
}

int i915_submit(struct drm_file *file, struct drm_i915_gem_execbuffer2 *request)
{
    struct submission submission = {
        .file = file, .request = request, .entries = (void *)(uintptr_t)request->buffers_ptr,
        .count = request->buffer_count,
    };
    uint32_t context = (uint32_t)request->rsvd1;

    if (request->buffer_count == 0)
        return EINVAL;
    if (context != 0 && i915_context_of(file, context) == NULL)
        return ENOENT;
    submission.objects = calloc(submission.count, sizeof *submission.objects);
    if (submission.objects == NULL)
        return ENOMEM;
    int error = perform(&submission);
    free(submission.objects);
    return error;
}
