/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "driver.h"
#include "faults.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

/* What the attributes of vaCreateSurfaces ask for. */
struct request {
    const struct pixel_format *format;
    bool format_given; /* by VASurfaceAttribPixelFormat; else memory of the client says its own */
    uint32_t memory_type; /* one VA_SURFACE_ATTRIB_MEM_TYPE_* */
    const void *descriptor; /* VADRMPRIMESurfaceDescriptor[] or VASurfaceAttribExternalBuffers */
};

static VAStatus refuse_attribute(const VASurfaceAttrib *attribute, VAStatus status)
{
    journal_finding(JOURNAL_NOWHERE, "surface-attribute-not-advertised", "va.h vaCreateSurfaces",
                    "attribute %d with the value 0x%x (type %d) was not listed by vaQuerySurfaceAttributes",
                    attribute->type, (unsigned)attribute->value.value.i, attribute->value.type);
    return status;
}

static VAStatus check_modifiers(const VASurfaceAttrib *attribute)
{
    const VADRMFormatModifierList *list = attribute->value.value.p;
    for (uint32_t i = 0; list && i < list->num_modifiers; i++)
        if (list->modifiers[i] == 0)
            return VA_STATUS_SUCCESS;
    return refuse_attribute(attribute, VA_STATUS_ERROR_INVALID_PARAMETER);
}

/* Must be one of the render target format's. */
static VAStatus read_format(const struct persona *persona, struct request *request, const VASurfaceAttrib *attribute)
{
    const struct pixel_format *format = pixel_format((uint32_t)attribute->value.value.i);
    if (!format || !persona_has_format(persona, format) || format->rt_format != request->format->rt_format)
        return refuse_attribute(attribute, VA_STATUS_ERROR_INVALID_IMAGE_FORMAT);
    request->format = format;
    request->format_given = true;
    return VA_STATUS_SUCCESS;
}

static VAStatus read_attribute(const struct persona *persona, struct request *request,
                               const VASurfaceAttrib *attribute)
{
    uint32_t value = (uint32_t)attribute->value.value.i;
    if (attribute->type != VASurfaceAttribNone && !(attribute->flags & VA_SURFACE_ATTRIB_SETTABLE))
        journal_finding(JOURNAL_NOWHERE, "surface-attribute-flags", "va.h VA_SURFACE_ATTRIB_SETTABLE",
                        "attribute %d is given with the flags 0x%x", attribute->type, attribute->flags);
    switch (attribute->type) {
    case VASurfaceAttribPixelFormat:
        return read_format(persona, request, attribute);
    case VASurfaceAttribMemoryType:
        request->memory_type = value;
        if (value == VA_SURFACE_ATTRIB_MEM_TYPE_VA || value == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2 ||
            (value == VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR && persona->takes_pointers))
            return VA_STATUS_SUCCESS;
        return refuse_attribute(attribute, VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE);
    case VASurfaceAttribExternalBufferDescriptor:
        request->descriptor = attribute->value.value.p;
        return VA_STATUS_SUCCESS;
    case VASurfaceAttribUsageHint:
    case VASurfaceAttribNone:
        return VA_STATUS_SUCCESS;
    case VASurfaceAttribDRMFormatModifiers:
        return check_modifiers(attribute);
    default:
        return refuse_attribute(attribute, VA_STATUS_ERROR_ATTR_NOT_SUPPORTED);
    }
}

/* The client's memory says its format, unless the client did, within the render target format. */
static const struct pixel_format *imported_format(const struct persona *persona, const struct request *request,
                                                  uint32_t fourcc)
{
    const struct pixel_format *format = pixel_format(fourcc);
    bool fits = format && persona_has_format(persona, format) && format->rt_format == request->format->rt_format;
    return fits && !request->format_given ? format : request->format;
}

static VAStatus provide_memory(struct surface_memory *memory, const struct persona *persona,
                               const struct request *request, uint32_t index, uint32_t width, uint32_t height)
{
    if (request->memory_type == VA_SURFACE_ATTRIB_MEM_TYPE_VA)
        return memory_allocate(memory, request->format, width, height) ? VA_STATUS_SUCCESS
                                                                       : VA_STATUS_ERROR_ALLOCATION_FAILED;
    if (!request->descriptor) {
        journal_finding(JOURNAL_NOWHERE, "import-descriptor", "va.h VASurfaceAttribExternalBufferDescriptor",
                        "memory type 0x%x without a descriptor", request->memory_type);
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    if (request->memory_type == VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR) {
        const VASurfaceAttribExternalBuffers *buffers = request->descriptor;
        const struct pixel_format *format = imported_format(persona, request, buffers->pixel_format);
        return memory_import_pointer(memory, format, buffers, index, width, height);
    }
    const VADRMPRIMESurfaceDescriptor *descriptor = (const VADRMPRIMESurfaceDescriptor *)request->descriptor + index;
    const struct pixel_format *format = imported_format(persona, request, descriptor->fourcc);
    return memory_import_prime(memory, format, descriptor, width, height, persona->exports);
}

static VAStatus create_surface(struct driver *driver, const struct request *request, uint32_t index,
                               const struct surface *properties, VASurfaceID *id)
{
    struct surface_memory memory;
    VAStatus status = provide_memory(&memory, &driver->persona, request, index, properties->width,
                                     properties->height);
    if (status != VA_STATUS_SUCCESS)
        return status;
    struct surface *surface = object_create(driver, OBJECT_SURFACE, sizeof(*surface));
    if (!surface) {
        memory_release(&memory);
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    surface->width = properties->width;
    surface->height = properties->height;
    surface->memory = memory;
    surface->h264_frame = (struct h264_frame){
        .luma = memory_plane(&memory, 0),
        .chroma = memory.format->plane_count > 1 ? memory_plane(&memory, 1) : NULL,
        .luma_pitch = memory.plane_pitch[0],
        .chroma_pitch = memory.plane_pitch[1],
    };
    if (memory.format->chroma) {
        uint8_t *const planes[2] = {surface->h264_frame.luma, surface->h264_frame.chroma};
        const size_t pitches[2] = {memory.plane_pitch[0], memory.plane_pitch[1]};
        pixel_lay_out(memory.format, planes, pitches, surface->hevc_frame.samples);
    }
    *id = surface->object.id;
    return VA_STATUS_SUCCESS;
}

void surface_report_access(const struct surface *surface, const char *call)
{
    journal_event("access", "\"process\":%d,\"call\":\"%s\",\"surface\":%u,\"imported\":%s", (int)getpid(), call,
                  surface->object.id, surface->memory.owner == MEMORY_DRIVER ? "false" : "true");
}

void surface_free(struct driver *driver, struct surface *surface)
{
    (void)driver;
    h264_frame_release(&surface->h264_frame);
    hevc_frame_release(&surface->hevc_frame);
    memory_release(&surface->memory);
    free(surface);
}

static VAStatus check_surface_size(const struct driver *driver, unsigned width, unsigned height)
{
    uint32_t most_columns, most_rows;
    persona_largest(&driver->persona, &most_columns, &most_rows);
    if (width > 0 && height > 0 && width <= most_columns && height <= most_rows)
        return VA_STATUS_SUCCESS;
    journal_finding(JOURNAL_NOWHERE, "surface-size", "va.h VASurfaceAttribMaxWidth, VASurfaceAttribMaxHeight",
                    "%ux%u; at most %ux%u", width, height, most_columns, most_rows);
    return width && height ? VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED : VA_STATUS_ERROR_INVALID_PARAMETER;
}

static void withdraw_surface(struct driver *driver, VASurfaceID id)
{
    pthread_mutex_lock(&driver->lock);
    struct surface *surface = object_peek(driver, OBJECT_SURFACE, id);
    if (surface)
        object_withdraw(driver, &surface->object);
    pthread_mutex_unlock(&driver->lock);
}

VAStatus entry_vaCreateSurfaces2(VADriverContextP context, unsigned int format, unsigned int width,
                                 unsigned int height, VASurfaceID *surfaces, unsigned int num_surfaces,
                                 VASurfaceAttrib *attrib_list, unsigned int num_attribs)
{
    struct driver *driver = driver_of(context);
    const struct pixel_format *first = persona_format_for(&driver->persona, format);
    if (!first) {
        journal_finding(JOURNAL_NOWHERE, "surface-format", "va.h vaCreateSurfaces",
                        "render target format is 0x%x; advertised are 0x%x", format,
                        persona_rt_formats(&driver->persona));
        return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    }
    VAStatus status = check_surface_size(driver, width, height);
    struct request request = {.format = first, .memory_type = VA_SURFACE_ATTRIB_MEM_TYPE_VA};
    for (unsigned i = 0; status == VA_STATUS_SUCCESS && i < num_attribs; i++)
        status = read_attribute(&driver->persona, &request, &attrib_list[i]);
    const struct surface properties = {.width = width, .height = height};
    unsigned count = 0;
    while (status == VA_STATUS_SUCCESS && count < num_surfaces) {
        status = create_surface(driver, &request, count, &properties, &surfaces[count]);
        count += status == VA_STATUS_SUCCESS;
    }
    if (status != VA_STATUS_SUCCESS)
        while (count > 0)
            withdraw_surface(driver, surfaces[--count]);
    return status;
}

VAStatus entry_vaCreateSurfaces(VADriverContextP context, int width, int height, int format, int num_surfaces,
                                VASurfaceID *surfaces)
{
    if (width < 0 || height < 0 || num_surfaces < 0)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    return entry_vaCreateSurfaces2(context, (unsigned)format, (unsigned)width, (unsigned)height, surfaces,
                                   (unsigned)num_surfaces, NULL, 0);
}

/* With the lock held. */
static void judge_surface_destruction(const struct driver *driver, const struct surface *surface)
{
    uint32_t id = surface->object.id;
    bool can_wait = !surface->object.unwaitable && !faults_device_lost(driver->faults);
    if ((surface->reading || surface->coding) && can_wait)
        journal_finding(JOURNAL_NOWHERE, "surface-destroyed-in-use", "vaDestroySurfaces",
                        "surface 0x%08x is used by %u pictures that are not coded yet", id,
                        surface->reading + surface->coding);
    else if (surface->contexts)
        journal_finding(JOURNAL_NOWHERE, "surface-destroyed-before-context", "va.h vaDestroySurfaces",
                        "surface 0x%08x is a render target of %u contexts that still live", id, surface->contexts);
    if (surface->mapped)
        journal_finding(JOURNAL_NOWHERE, "surface-destroyed-while-mapped", "vaDestroySurfaces",
                        "surface 0x%08x is mapped by a derived image", id);
}

VAStatus entry_vaDestroySurfaces(VADriverContextP context, VASurfaceID *surface_list, int num_surfaces)
{
    struct driver *driver = driver_of(context);
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    for (int i = 0; i < num_surfaces; i++) {
        struct surface *surface = object_find_locked(driver, OBJECT_SURFACE, surface_list[i], "vaDestroySurfaces");
        if (!surface) {
            status = VA_STATUS_ERROR_INVALID_SURFACE;
            continue;
        }
        judge_surface_destruction(driver, surface);
        object_withdraw(driver, &surface->object);
        object_release_locked(driver, surface);
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}
