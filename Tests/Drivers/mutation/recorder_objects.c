/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder.h"

static VAStatus create_config(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                              VAConfigAttrib *attributes, int count, VAConfigID *config)
{
    recorder_lock();
    struct numbers in = NUMBERS((uint64_t)profile, (uint64_t)entrypoint);
    for (int i = 0; i < count; i++) {
        recorder_append(&in, (uint64_t)attributes[i].type);
        recorder_append(&in, attributes[i].value);
    }
    VAStatus status = recorder_inner.vaCreateConfig(context, profile, entrypoint, attributes, count, config);
    recorder_write(context, TRACE_CREATE_CONFIG, status, in, NUMBERS(*config), NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus destroy_config(VADriverContextP context, VAConfigID config)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaDestroyConfig(context, config);
    recorder_write(context, TRACE_DESTROY_CONFIG, status, NUMBERS(config), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static struct numbers surface_list(const VASurfaceID *surfaces, unsigned count)
{
    struct numbers list = NO_NUMBERS;
    for (unsigned i = 0; surfaces && i < count; i++) recorder_append(&list, surfaces[i]);
    return list;
}

static VAStatus create_surfaces(VADriverContextP context, int width, int height, int format, int count,
                                VASurfaceID *surfaces)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaCreateSurfaces(context, width, height, format, count, surfaces);
    recorder_write(context, TRACE_CREATE_SURFACES, status,
                   NUMBERS((uint64_t)width, (uint64_t)height, (uint64_t)format, (uint64_t)count),
                   surface_list(surfaces, (unsigned)count), NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus create_surfaces2(VADriverContextP context, unsigned format, unsigned width, unsigned height,
                                 VASurfaceID *surfaces, unsigned count, VASurfaceAttrib *attributes,
                                 unsigned attribute_count)
{
    recorder_lock();
    struct numbers in = NUMBERS(format, width, height, count);
    for (unsigned i = 0; i < attribute_count; i++) {
        const VAGenericValue *value = &attributes[i].value;
        recorder_append(&in, (uint64_t)attributes[i].type);
        recorder_append(&in, attributes[i].flags);
        recorder_append(&in, (uint64_t)value->type);
        recorder_append(&in, value->type == VAGenericValueTypeInteger ? (uint32_t)value->value.i : 0);
    }
    VAStatus status = recorder_inner.vaCreateSurfaces2(context, format, width, height, surfaces, count, attributes,
                                                       attribute_count);
    recorder_write(context, TRACE_CREATE_SURFACES2, status, in, surface_list(surfaces, count), NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus destroy_surfaces(VADriverContextP context, VASurfaceID *surfaces, int count)
{
    recorder_lock();
    struct numbers in = surface_list(surfaces, (unsigned)count);
    VAStatus status = recorder_inner.vaDestroySurfaces(context, surfaces, count);
    recorder_write(context, TRACE_DESTROY_SURFACES, status, in, NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus create_context(VADriverContextP driver, VAConfigID config, int width, int height, int flag,
                               VASurfaceID *targets, int count, VAContextID *context)
{
    recorder_lock();
    struct numbers in = NUMBERS(config, (uint64_t)width, (uint64_t)height, (uint64_t)flag);
    for (int i = 0; targets && i < count; i++) recorder_append(&in, targets[i]);
    VAStatus status = recorder_inner.vaCreateContext(driver, config, width, height, flag, targets, count, context);
    recorder_write(driver, TRACE_CREATE_CONTEXT, status, in, NUMBERS(*context), NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus destroy_context(VADriverContextP driver, VAContextID context)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaDestroyContext(driver, context);
    recorder_write(driver, TRACE_DESTROY_CONTEXT, status, NUMBERS(context), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static void add_image(VADriverContextP context, const VAImage *image)
{
    recorder_add_buffer(context, image->buf, image->data_size, false);
    recorder_buffer(context, image->buf)->image = image->image_id;
}

static VAStatus derive_image(VADriverContextP context, VASurfaceID surface, VAImage *image)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaDeriveImage(context, surface, image);
    if (status == VA_STATUS_SUCCESS) add_image(context, image);
    recorder_write(context, TRACE_DERIVE_IMAGE, status, NUMBERS(surface),
                   NUMBERS(image->image_id, image->buf, image->data_size), NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus create_image(VADriverContextP context, VAImageFormat *format, int width, int height, VAImage *image)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaCreateImage(context, format, width, height, image);
    if (status == VA_STATUS_SUCCESS) add_image(context, image);
    recorder_write(
        context, TRACE_CREATE_IMAGE, status,
        NUMBERS(format->fourcc, format->byte_order, format->bits_per_pixel, (uint64_t)width, (uint64_t)height),
        NUMBERS(image->image_id, image->buf, image->data_size), NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus destroy_image(VADriverContextP context, VAImageID image)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaDestroyImage(context, image);
    recorder_drop_image(context, image);
    recorder_write(context, TRACE_DESTROY_IMAGE, status, NUMBERS(image), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus get_image(VADriverContextP context, VASurfaceID surface, int x, int y, unsigned width, unsigned height,
                          VAImageID image)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaGetImage(context, surface, x, y, width, height, image);
    recorder_write(context, TRACE_GET_IMAGE, status,
                   NUMBERS(surface, (uint64_t)x, (uint64_t)y, width, height, image), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus put_image(VADriverContextP context, VASurfaceID surface, VAImageID image, int source_x, int source_y,
                          unsigned source_width, unsigned source_height, int x, int y, unsigned width,
                          unsigned height)
{
    recorder_lock();
    const struct recorded_buffer *buffer = recorder_image_buffer(context, image);
    if (buffer && !buffer->mapping) buffer = NULL;
    VAStatus status = recorder_inner.vaPutImage(context, surface, image, source_x, source_y, source_width,
                                                source_height, x, y, width, height);
    recorder_write(context, TRACE_PUT_IMAGE, status,
                   NUMBERS(surface, image, (uint64_t)source_x, (uint64_t)source_y, source_width, source_height,
                           (uint64_t)x, (uint64_t)y, width, height),
                   NO_NUMBERS, buffer ? buffer->mapping : NULL, buffer ? buffer->size : 0);
    recorder_unlock();
    return status;
}

static VAStatus export_surface(VADriverContextP context, VASurfaceID surface, uint32_t memory_type, uint32_t flags,
                               void *descriptor)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaExportSurfaceHandle(context, surface, memory_type, flags, descriptor);
    recorder_write(context, TRACE_EXPORT_SURFACE, status, NUMBERS(surface, memory_type, flags), NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

static VAStatus terminate(VADriverContextP context)
{
    recorder_lock();
    VAStatus status = recorder_inner.vaTerminate(context);
    recorder_write(context, TRACE_TERMINATE, status, NO_NUMBERS, NO_NUMBERS, NULL, 0);
    recorder_unlock();
    return status;
}

void recorder_wrap_objects(struct VADriverVTable *table)
{
    if (table->vaCreateConfig) table->vaCreateConfig = create_config;
    if (table->vaDestroyConfig) table->vaDestroyConfig = destroy_config;
    if (table->vaCreateSurfaces) table->vaCreateSurfaces = create_surfaces;
    if (table->vaCreateSurfaces2) table->vaCreateSurfaces2 = create_surfaces2;
    if (table->vaDestroySurfaces) table->vaDestroySurfaces = destroy_surfaces;
    if (table->vaCreateContext) table->vaCreateContext = create_context;
    if (table->vaDestroyContext) table->vaDestroyContext = destroy_context;
    if (table->vaDeriveImage) table->vaDeriveImage = derive_image;
    if (table->vaCreateImage) table->vaCreateImage = create_image;
    if (table->vaDestroyImage) table->vaDestroyImage = destroy_image;
    if (table->vaGetImage) table->vaGetImage = get_image;
    if (table->vaPutImage) table->vaPutImage = put_image;
    if (table->vaExportSurfaceHandle) table->vaExportSurfaceHandle = export_surface;
    if (table->vaTerminate) table->vaTerminate = terminate;
}
