/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Submission of work to the amdgpu kernel driver, and waiting for it. */
#include "amdgpu.h"

#include "drm_core.h"
#include "trace.h"

#include <errno.h>
#include <string.h>

#include <libdrm/drm.h>

/* The pieces of one submission. */
struct submission {
    struct drm_file *file;
    const uint64_t *chunks; /* addresses of the chunks */
    uint32_t count;
    uint64_t fence;         /* its number */
    bool hangs, is_lost;
};

static const struct drm_amdgpu_cs_chunk *chunk_at(const struct submission *submission, uint32_t index)
{
    return (const void *)(uintptr_t)submission->chunks[index];
}

static void run_commands(const struct submission *submission, const struct drm_amdgpu_cs_chunk_ib *commands)
{
    if (!submission->hangs && !submission->is_lost)
        amdgpu_run_video(submission->file, commands->ip_type, commands->va_start, commands->ib_bytes);
}

/* Writes the number of the submission where the client looks for it. */
static int write_fence(const struct submission *submission, const struct drm_amdgpu_cs_chunk_fence *fence)
{
    struct object *object = object_of_handle(submission->file, fence->handle);

    if (object == NULL)
        return ENOENT;
    if (object_bytes(object) == NULL || fence->offset > object->size - sizeof submission->fence)
        return EINVAL;
    if (!submission->hangs)
        memcpy(object->bytes + fence->offset, &submission->fence, sizeof submission->fence);
    return 0;
}

static int signal_syncobj(const struct submission *submission, uint32_t handle, uint64_t point)
{
    struct syncobj *syncobj = syncobj_of_handle(submission->file, handle);

    if (syncobj == NULL)
        return ENOENT;
    syncobj->signalled = !submission->hangs;
    syncobj->hangs = submission->hangs;
    if (!submission->hangs && point > syncobj->point)
        syncobj->point = point;
    return 0;
}

static int signal_syncobjs(const struct submission *submission, const struct drm_amdgpu_cs_chunk *chunk)
{
    const struct drm_amdgpu_cs_chunk_sem *entries = (const void *)(uintptr_t)chunk->chunk_data;
    size_t count = chunk->length_dw * 4 / sizeof *entries;
    int error = 0;

    for (size_t index = 0; index < count && error == 0; index++)
        error = signal_syncobj(submission, entries[index].handle, 0);
    return error;
}

static int signal_points(const struct submission *submission, const struct drm_amdgpu_cs_chunk *chunk)
{
    const struct drm_amdgpu_cs_chunk_syncobj *entries = (const void *)(uintptr_t)chunk->chunk_data;
    size_t count = chunk->length_dw * 4 / sizeof *entries;
    int error = 0;

    for (size_t index = 0; index < count && error == 0; index++)
        error = signal_syncobj(submission, entries[index].handle, entries[index].point);
    return error;
}

static int mark_objects(const struct submission *submission, const struct drm_amdgpu_cs_chunk *chunk)
{
    const struct drm_amdgpu_bo_list_in *list = (const void *)(uintptr_t)chunk->chunk_data;
    const struct drm_amdgpu_bo_list_entry *entries = (const void *)(uintptr_t)list->bo_info_ptr;

    for (uint32_t index = 0; index < list->bo_number; index++) {
        struct object *object = object_of_handle(submission->file, entries[index].bo_handle);

        if (object == NULL)
            return ENOENT;
        object->completion = submission->hangs ? COMPLETION_NEVER : COMPLETION_DONE;
    }
    return 0;
}

static int perform_chunk(const struct submission *submission, const struct drm_amdgpu_cs_chunk *chunk)
{
    const void *data = (const void *)(uintptr_t)chunk->chunk_data;

    switch (chunk->chunk_id) {
    case AMDGPU_CHUNK_ID_IB:
        run_commands(submission, data);
        return 0;
    case AMDGPU_CHUNK_ID_FENCE:
        return write_fence(submission, data);
    case AMDGPU_CHUNK_ID_SYNCOBJ_OUT:
        return signal_syncobjs(submission, chunk);
    case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL:
        return signal_points(submission, chunk);
    case AMDGPU_CHUNK_ID_BO_HANDLES:
        return mark_objects(submission, chunk);
    case AMDGPU_CHUNK_ID_DEPENDENCIES: /* work runs in the order of submission */
    case AMDGPU_CHUNK_ID_SCHEDULED_DEPENDENCIES:
    case AMDGPU_CHUNK_ID_SYNCOBJ_IN:
    case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT:
        return 0;
    default:
        return EINVAL;
    }
}

/* Faults are counted in submissions to the video blocks: what the graphics block gets depends on the driver's mood
 * (clearing of surfaces, colour conversion). */
static bool is_for_video(const struct submission *submission)
{
    for (uint32_t index = 0; index < submission->count; index++) {
        const struct drm_amdgpu_cs_chunk *chunk = chunk_at(submission, index);
        const struct drm_amdgpu_cs_chunk_ib *commands = (const void *)(uintptr_t)chunk->chunk_data;

        if (chunk->chunk_id == AMDGPU_CHUNK_ID_IB && commands->ip_type >= AMDGPU_HW_IP_UVD)
            return true;
    }
    return false;
}

int amdgpu_submit(struct drm_file *file, union drm_amdgpu_cs *request)
{
    const struct node_settings *node = file->node;
    struct amdgpu_file *amdgpu = file->amdgpu;
    struct submission submission = {
        .file = file, .chunks = (const void *)(uintptr_t)request->in.chunks, .count = request->in.num_chunks,
    };
    int error = 0;

    if (request->in.ctx_id == 0 || request->in.ctx_id > amdgpu->last_context || submission.count == 0)
        return EINVAL;
    if (is_for_video(&submission)) {
        uint64_t number = node_count_submission(node);

        if (number >= node->refuse_at)
            return node->refusal_error;
        submission.hangs = number >= node->hang_at;
        submission.is_lost = number >= node->reset_at;
        if (submission.hangs || submission.is_lost)
            trace("renderD%u submission %llu %s", node->number, (unsigned long long)number,
                  submission.hangs ? "hangs" : "is lost");
    }
    submission.fence = ++amdgpu->last_fence;
    amdgpu->resets += submission.is_lost;
    if (submission.hangs && amdgpu->first_hung_fence == UINT64_MAX)
        amdgpu->first_hung_fence = submission.fence;
    for (uint32_t index = 0; index < submission.count && error == 0; index++)
        error = perform_chunk(&submission, chunk_at(&submission, index));
    if (error == 0) {
        memset(request, 0, sizeof *request);
        request->out.handle = submission.fence;
    }
    return error;
}

static int64_t deadline_of(uint64_t timeout)
{
    return timeout > INT64_MAX ? INT64_MAX : (int64_t)timeout;
}

int amdgpu_wait_for_submission(struct drm_file *file, union drm_amdgpu_wait_cs *wait)
{
    bool hangs = wait->in.handle >= file->amdgpu->first_hung_fence;
    int error = hangs ? drm_wait_until(file, deadline_of(wait->in.timeout)) : 0;

    memset(wait, 0, sizeof *wait);
    wait->out.status = hangs;
    return error == ETIME ? 0 : error;
}

int amdgpu_wait_for_fences(struct drm_file *file, union drm_amdgpu_wait_fences *wait)
{
    const struct drm_amdgpu_fence *fences = (const void *)(uintptr_t)wait->in.fences;
    uint32_t signalled = 0, first = 0, count = wait->in.fence_count;

    for (uint32_t index = count; index-- > 0;)
        if (fences[index].seq_no < file->amdgpu->first_hung_fence) {
            signalled++;
            first = index;
        }
    bool is_over = wait->in.wait_all ? signalled == count : signalled > 0;
    int error = is_over ? 0 : drm_wait_until(file, deadline_of(wait->in.timeout_ns));
    memset(wait, 0, sizeof *wait);
    wait->out.status = is_over;
    wait->out.first_signaled = first;
    return error == ETIME ? 0 : error;
}

int amdgpu_fence_to_handle(struct drm_file *file, union drm_amdgpu_fence_to_handle *request)
{
    bool hangs = request->in.fence.seq_no >= file->amdgpu->first_hung_fence;
    uint32_t what = request->in.what, handle;

    if (what == AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ) {
        handle = syncobj_create(file);
        if (handle == 0)
            return ENOMEM;
        struct syncobj *syncobj = syncobj_of_handle(file, handle);
        syncobj->signalled = !hangs;
        syncobj->hangs = hangs;
    } else if (what == AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD) {
        int descriptor = drm_fence_descriptor(hangs);

        if (descriptor < 0)
            return errno;
        handle = (uint32_t)descriptor;
    } else
        return EINVAL;
    memset(request, 0, sizeof *request);
    request->out.handle = handle;
    return 0;
}
