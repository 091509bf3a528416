/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "driver.h"
#include "faults.h"

#include <stdlib.h>
#include <string.h>

#define BUFFER_POISON 0xc9

#define LARGEST_BUFFER (256u << 20)

struct buffer *buffer_create(struct driver *driver, VAContextID context, VABufferType type, uint32_t size,
                             uint32_t count, const void *data)
{
    uint8_t *bytes = malloc((size_t)size * count + 1);
    struct buffer *buffer = bytes ? object_create(driver, OBJECT_BUFFER, sizeof(*buffer)) : NULL;
    if (!buffer) {
        free(bytes);
        return NULL;
    }
    if (data)
        memcpy(bytes, data, (size_t)size * count);
    else if (type != VAEncCodedBufferType)
        memset(bytes, BUFFER_POISON, (size_t)size * count);
    buffer->context = context;
    buffer->type = type;
    buffer->size = size;
    buffer->count = buffer->count_limit = count;
    buffer->data = bytes;
    buffer->image = VA_INVALID_ID;
    return buffer;
}

void buffer_free(struct driver *driver, struct buffer *buffer)
{
    if (buffer->surface)
        object_release_locked(driver, buffer->surface);
    else
        free(buffer->data);
    free(buffer->segments);
    free(buffer);
}

static bool is_encoder_type(VABufferType type)
{
    switch (type) {
    case VAEncCodedBufferType:
    case VAEncSequenceParameterBufferType:
    case VAEncPictureParameterBufferType:
    case VAEncSliceParameterBufferType:
    case VAEncPackedHeaderParameterBufferType:
    case VAEncPackedHeaderDataBufferType:
    case VAEncMiscParameterBufferType:
    case VAIQMatrixBufferType:
    case VAQMatrixBufferType:
        return true;
    default:
        return false;
    }
}

static bool is_decoder_type(VABufferType type)
{
    return type == VAPictureParameterBufferType || type == VAIQMatrixBufferType ||
           type == VASliceParameterBufferType || type == VASliceDataBufferType;
}

/* What the context takes. */
static bool is_taken(const struct context *context, VABufferType type)
{
    if (context->processor)
        return type == VAProcPipelineParameterBufferType;
    return context->decoder ? is_decoder_type(type) : is_encoder_type(type);
}

static VAStatus check_buffer(const struct context *context, VABufferType type, unsigned size, unsigned count,
                             const void *data)
{
    if (!is_taken(context, type)) {
        journal_finding(JOURNAL_NOWHERE, "buffer-type", "va.h vaCreateBuffer", "type %d has no use in %s", type,
                        context->processor ? "VideoProc without filters"
                        : context->decoder ? "a decoder"
                                           : "an encoder");
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    }
    if (context->processor && size < sizeof(VAProcPipelineParameterBuffer)) {
        journal_finding(JOURNAL_NOWHERE, "buffer-size", "va_vpp.h VAProcPipelineParameterBuffer",
                        "%u bytes, the structure has %zu", size, sizeof(VAProcPipelineParameterBuffer));
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    if (size == 0 || count == 0 || (uint64_t)size * count > LARGEST_BUFFER) {
        journal_finding(JOURNAL_NOWHERE, "buffer-size", "va.h vaCreateBuffer",
                        "%u elements of %u bytes for a buffer of type %d", count, size, type);
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    if (type == VAEncCodedBufferType && (count != 1 || data)) {
        journal_finding(JOURNAL_NOWHERE, "coded-buffer-creation", "va.h vaCreateBuffer",
                        "a coded buffer is one element without data, not %u%s", count, data ? " with data" : "");
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    return VA_STATUS_SUCCESS;
}

VAStatus entry_vaCreateBuffer(VADriverContextP driver_context, VAContextID context, VABufferType type,
                              unsigned int size, unsigned int num_elements, void *data, VABufferID *buf_id)
{
    struct driver *driver = driver_of(driver_context);
    struct context *owner = object_find(driver, OBJECT_CONTEXT, context, "vaCreateBuffer");
    if (!owner)
        return VA_STATUS_ERROR_INVALID_CONTEXT;
    VAStatus status = check_buffer(owner, type, size, num_elements, data);
    object_release(driver, owner);
    if (status != VA_STATUS_SUCCESS)
        return status;
    struct buffer *buffer = buffer_create(driver, context, type, size, num_elements, data);
    if (!buffer)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    *buf_id = buffer->object.id;
    return VA_STATUS_SUCCESS;
}

VAStatus entry_vaCreateBuffer2(VADriverContextP driver, VAContextID context, VABufferType type, unsigned int width,
                               unsigned int height, unsigned int *unit_size, unsigned int *pitch, VABufferID *buf_id)
{
    (void)driver, (void)context, (void)type, (void)width, (void)height, (void)unit_size, (void)pitch, (void)buf_id;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}

VAStatus entry_vaBufferSetNumElements(VADriverContextP context, VABufferID buf_id, unsigned int num_elements)
{
    struct driver *driver = driver_of(context);
    VAStatus status = VA_STATUS_ERROR_INVALID_BUFFER;
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = object_find_locked(driver, OBJECT_BUFFER, buf_id, "vaBufferSetNumElements");
    if (buffer) {
        status = VA_STATUS_ERROR_INVALID_PARAMETER;
        if (num_elements > 0 && num_elements <= buffer->count_limit) {
            buffer->count = num_elements;
            status = VA_STATUS_SUCCESS;
        } else {
            journal_finding(JOURNAL_NOWHERE, "buffer-elements", "va.h vaBufferSetNumElements",
                            "%u elements in buffer 0x%08x, which was created for %u", num_elements, buf_id,
                            buffer->count_limit);
        }
        object_release_locked(driver, buffer);
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

/* With the lock held, which is given up while the picture is coded: drivers let the mapping wait for it, VA-API
 * names vaSyncBuffer and vaSyncSurface for that. */
static void map_coded(struct driver *driver, struct buffer *buffer, void **pointer)
{
    uint32_t id = buffer->object.id;
    if (!buffer->pending && !buffer->filled)
        journal_finding(JOURNAL_NOWHERE, "coded-buffer-unused", "vaMapBuffer",
                        "coded buffer 0x%08x is mapped, no picture was coded into it", id);
    else if (!was_synchronised(driver, buffer) && !could_not_wait(driver, buffer))
        journal_finding(JOURNAL_NOWHERE, "map-without-sync", "va.h Notes about synchronization interfaces",
                        "coded buffer 0x%08x is mapped before vaSyncBuffer or vaSyncSurface", id);
    wait_for_buffer(driver, buffer, VA_TIMEOUT_INFINITE);
    *pointer = buffer->segments ? buffer->segments : &buffer->segment;
}

/* With the lock held. A derived image of a surface that a picture is coded from. */
static void map_surface(struct driver *driver, struct buffer *buffer, void **pointer)
{
    struct surface *surface = buffer->surface;
    if (surface->reading || surface->coding)
        journal_finding(JOURNAL_NOWHERE, "surface-mapped-while-encoding", "va.h vaSyncSurface",
                        "surface 0x%08x is mapped while %u pictures that use it are not coded yet",
                        surface->object.id, surface->reading + surface->coding);
    wait_for_surface(driver, surface, VA_TIMEOUT_INFINITE);
    surface->mapped++;
    surface_report_access(surface, "vaMapBuffer");
    *pointer = buffer->data;
}

VAStatus entry_vaMapBuffer(VADriverContextP context, VABufferID buf_id, void **pbuf)
{
    struct driver *driver = driver_of(context);
    VAStatus status = VA_STATUS_ERROR_INVALID_BUFFER;
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = object_find_locked(driver, OBJECT_BUFFER, buf_id, "vaMapBuffer");
    if (buffer && buffer->mapped) {
        journal_finding(JOURNAL_NOWHERE, "buffer-mapped-twice", "vaMapBuffer",
                        "buffer 0x%08x of type %d is mapped already", buf_id, buffer->type);
        status = VA_STATUS_ERROR_OPERATION_FAILED;
    } else if (buffer) {
        buffer->mapped = 1;
        if (buffer->type == VAEncCodedBufferType)
            map_coded(driver, buffer, pbuf);
        else if (buffer->surface)
            map_surface(driver, buffer, pbuf);
        else
            *pbuf = buffer->data;
        status = VA_STATUS_SUCCESS;
    }
    if (buffer)
        object_release_locked(driver, buffer);
    pthread_mutex_unlock(&driver->lock);
    return status;
}

VAStatus entry_vaUnmapBuffer(VADriverContextP context, VABufferID buf_id)
{
    struct driver *driver = driver_of(context);
    VAStatus status = VA_STATUS_ERROR_INVALID_BUFFER;
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = object_find_locked(driver, OBJECT_BUFFER, buf_id, "vaUnmapBuffer");
    if (buffer && !buffer->mapped) {
        journal_finding(JOURNAL_NOWHERE, "buffer-not-mapped", "vaUnmapBuffer", "buffer 0x%08x of type %d is not mapped",
                        buf_id, buffer->type);
        status = VA_STATUS_ERROR_OPERATION_FAILED;
    } else if (buffer) {
        buffer->mapped = 0;
        if (buffer->surface)
            buffer->surface->mapped--;
        status = VA_STATUS_SUCCESS;
    }
    if (buffer)
        object_release_locked(driver, buffer);
    pthread_mutex_unlock(&driver->lock);
    return status;
}

/* With the lock held. */
static void judge_buffer_destruction(struct driver *driver, const struct buffer *buffer)
{
    uint32_t id = buffer->object.id;
    if (buffer->pending && !could_not_wait(driver, buffer) && !faults_device_lost(driver->faults))
        journal_finding(JOURNAL_NOWHERE, "coded-buffer-destroyed-in-use", "vaDestroyBuffer",
                        "coded buffer 0x%08x is destroyed before its picture is coded", id);
    if (buffer->mapped && !buffer->object.excused)
        journal_finding(JOURNAL_NOWHERE, "buffer-destroyed-while-mapped", "vaDestroyBuffer",
                        "buffer 0x%08x of type %d is still mapped", id, buffer->type);
}

VAStatus entry_vaDestroyBuffer(VADriverContextP context, VABufferID buffer_id)
{
    struct driver *driver = driver_of(context);
    VAStatus status = VA_STATUS_ERROR_INVALID_BUFFER;
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = object_find_locked(driver, OBJECT_BUFFER, buffer_id, "vaDestroyBuffer");
    if (buffer && buffer->image != VA_INVALID_ID) {
        journal_finding(JOURNAL_NOWHERE, "image-buffer-destroyed", "va.h vaDestroyImage",
                        "buffer 0x%08x belongs to image 0x%08x and goes with it", buffer_id, buffer->image);
    } else if (buffer) {
        judge_buffer_destruction(driver, buffer);
        object_withdraw(driver, &buffer->object);
        status = VA_STATUS_SUCCESS;
    }
    if (buffer)
        object_release_locked(driver, buffer);
    pthread_mutex_unlock(&driver->lock);
    return status;
}

VAStatus entry_vaBufferInfo(VADriverContextP context, VABufferID buf_id, VABufferType *type, unsigned int *size,
                            unsigned int *num_elements)
{
    struct driver *driver = driver_of(context);
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = object_find_locked(driver, OBJECT_BUFFER, buf_id, "vaBufferInfo");
    if (buffer) {
        *type = buffer->type;
        *size = buffer->size;
        *num_elements = buffer->count;
        object_release_locked(driver, buffer);
    }
    pthread_mutex_unlock(&driver->lock);
    return buffer ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
}
