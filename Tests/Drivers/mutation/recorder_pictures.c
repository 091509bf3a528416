/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

static VAStatus create_buffer(VADriverContextP driver, VAContextID context, VABufferType type, unsigned size,
                              unsigned elements, void *data, VABufferID *buffer)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaCreateBuffer(driver, context, type, size, elements, data, buffer);
    size_t bytes = (size_t)size * elements;
    if (status == VA_STATUS_SUCCESS) recorder_add_buffer(driver, *buffer, bytes, type == VAEncCodedBufferType);
    recorder_write(driver, TRACE_CREATE_BUFFER, status, NUMBERS(context, (uint64_t)type, size, elements),
                   NUMBERS(*buffer), data, data ? bytes : 0);
    recorder_unlock();
    return status;
}

/* All segments of a coded buffer: their bytes together and a digest of them. */
static struct numbers digest_of_coded(const VACodedBufferSegment *segment)
{
    uint64_t digest = TRACE_DIGEST_START, size = 0;
    for (; segment; segment = segment->next) {
        digest = trace_digest(digest, segment->buf, segment->size);
        size += segment->size;
    }
    return NUMBERS(size, digest);
}

static VAStatus map_buffer(VADriverContextP context, VABufferID id, void **data)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaMapBuffer(context, id, data);
    struct recorded_buffer *buffer = recorder_buffer(context, id);
    struct numbers out = NO_NUMBERS;
    if (status == VA_STATUS_SUCCESS && buffer) {
        buffer->mapping = *data;
        if (buffer->coded) out = digest_of_coded(*data);
    }
    recorder_write(context, TRACE_MAP_BUFFER, status, NUMBERS(id), out, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus unmap_buffer(VADriverContextP context, VABufferID id)
{
    recorder_lock();
    struct recorded_buffer *buffer = recorder_buffer(context, id);
    uint8_t *copy = NULL;
    size_t size = 0;
    if (buffer && buffer->mapping && !buffer->coded) {
        size = buffer->size;
        copy = trace_allocate(size, 1);
        memcpy(copy, buffer->mapping, size);
        buffer->mapping = NULL;
    }
    VAStatus status = recorder_inner.vaUnmapBuffer(context, id);
    recorder_write(context, TRACE_UNMAP_BUFFER, status, NUMBERS(id), NO_NUMBERS, copy, size);
    free(copy);
    recorder_unlock();
    return status;
}

static VAStatus destroy_buffer(VADriverContextP context, VABufferID id)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaDestroyBuffer(context, id);
    recorder_drop_buffer(context, id);
    recorder_write(context, TRACE_DESTROY_BUFFER, status, NUMBERS(id), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus begin_picture(VADriverContextP driver, VAContextID context, VASurfaceID surface)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaBeginPicture(driver, context, surface);
    recorder_write(driver, TRACE_BEGIN_PICTURE, status, NUMBERS(context, surface), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus render_picture(VADriverContextP driver, VAContextID context, VABufferID *ids, int count)
{
    recorder_lock();
    struct numbers in = NUMBERS(context);
    for (int i = 0; i < count; i++) recorder_append(&in, ids[i]);
    VAStatus status = recorder_inner.vaRenderPicture(driver, context, ids, count);
    recorder_write(driver, TRACE_RENDER_PICTURE, status, in, NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus end_picture(VADriverContextP driver, VAContextID context)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaEndPicture(driver, context);
    recorder_write(driver, TRACE_END_PICTURE, status, NUMBERS(context), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus sync_surface(VADriverContextP context, VASurfaceID surface)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaSyncSurface(context, surface);
    recorder_write(context, TRACE_SYNC_SURFACE, status, NUMBERS(surface), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus sync_buffer(VADriverContextP context, VABufferID id, uint64_t nanoseconds)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaSyncBuffer(context, id, nanoseconds);
    recorder_write(context, TRACE_SYNC_BUFFER, status, NUMBERS(id, nanoseconds), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus query_surface_status(VADriverContextP context, VASurfaceID surface, VASurfaceStatus *result)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaQuerySurfaceStatus(context, surface, result);
    recorder_write(context, TRACE_QUERY_SURFACE_STATUS, status, NUMBERS(surface), NUMBERS((uint64_t)*result), NULL, 0);
    recorder_unlock();
    return status;
}

void recorder_wrap_pictures(struct VADriverVTable *table)
{
    if (table->vaCreateBuffer) table->vaCreateBuffer = create_buffer;
    if (table->vaMapBuffer) table->vaMapBuffer = map_buffer;
    if (table->vaUnmapBuffer) table->vaUnmapBuffer = unmap_buffer;
    if (table->vaDestroyBuffer) table->vaDestroyBuffer = destroy_buffer;
    if (table->vaBeginPicture) table->vaBeginPicture = begin_picture;
    if (table->vaRenderPicture) table->vaRenderPicture = render_picture;
    if (table->vaEndPicture) table->vaEndPicture = end_picture;
    if (table->vaSyncSurface) table->vaSyncSurface = sync_surface;
    if (table->vaSyncBuffer) table->vaSyncBuffer = sync_buffer;
    if (table->vaQuerySurfaceStatus) table->vaQuerySurfaceStatus = query_surface_status;
}
