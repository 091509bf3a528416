/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "driver.h"
#include "faults.h"

#include <string.h>

static bool lists_format(const struct driver *driver, const struct pixel_format *format)
{
    return pixel_kind(format) >= PIXEL_SURFACES || persona_has_format(&driver->persona, format);
}

VAStatus entry_vaQueryImageFormats(VADriverContextP context, VAImageFormat *format_list, int *num_formats)
{
    *num_formats = 0;
    for (unsigned i = 0; i < PIXEL_KINDS; i++)
        if (lists_format(driver_of(context), &pixel_formats[i]))
            format_list[(*num_formats)++] = pixel_formats[i].image;
    return VA_STATUS_SUCCESS;
}

/* Pitches are larger than the rows, and gaps lie between the planes, so that a client that guesses them fails. */
static void lay_out(VAImage *image, const struct pixel_format *format, uint32_t width, uint32_t height)
{
    *image = (VAImage){
        .format = format->image,
        .width = (uint16_t)width,
        .height = (uint16_t)height,
        .num_planes = format->plane_count,
    };
    for (unsigned i = 0; i < format->plane_count; i++) {
        const struct pixel_plane *plane = &format->planes[i];
        image->pitches[i] = pixel_bytes(plane, (width + 31) / 32 * 32 + 32);
        image->offsets[i] = image->data_size;
        image->data_size += image->pitches[i] * pixel_rows(plane, (height + 1) / 2 * 2 + 2);
    }
}

/* Makes the image object for a buffer, whose reference in the table goes to it. */
static VAStatus enter_image(struct driver *driver, struct buffer *buffer, VAImage *description, bool derived)
{
    struct image *image = object_create(driver, OBJECT_IMAGE, sizeof(*image));
    pthread_mutex_lock(&driver->lock);
    if (image) {
        description->image_id = image->object.id;
        description->buf = buffer->object.id;
        image->description = *description;
        image->derived = derived;
        buffer->image = image->object.id;
    } else {
        object_withdraw(driver, &buffer->object);
    }
    pthread_mutex_unlock(&driver->lock);
    return image ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_ALLOCATION_FAILED;
}

VAStatus entry_vaCreateImage(VADriverContextP context, VAImageFormat *format, int width, int height, VAImage *image)
{
    struct driver *driver = driver_of(context);
    const struct pixel_format *known = pixel_format(format->fourcc);
    image->image_id = image->buf = VA_INVALID_ID;
    if (!known || !lists_format(driver, known)) {
        journal_finding(JOURNAL_NOWHERE, "image-format", "va.h vaCreateImage",
                        "fourcc 0x%08x was not listed by vaQueryImageFormats", format->fourcc);
        return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    }
    if (width <= 0 || height <= 0 || width > 16384 || height > 16384)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    lay_out(image, known, (uint32_t)width, (uint32_t)height);
    struct buffer *buffer = buffer_create(driver, VA_INVALID_ID, VAImageBufferType, image->data_size, 1, NULL);
    if (!buffer)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    return enter_image(driver, buffer, image, false);
}

/* A buffer that shows the memory of the surface, whose reference it takes over. */
static struct buffer *surface_buffer(struct driver *driver, struct surface *surface)
{
    struct buffer *buffer = object_create(driver, OBJECT_BUFFER, sizeof(*buffer));
    if (!buffer)
        return NULL;
    buffer->context = VA_INVALID_ID;
    buffer->type = VAImageBufferType;
    buffer->size = (uint32_t)surface->memory.sizes[0];
    buffer->count = buffer->count_limit = 1;
    buffer->data = surface->memory.maps[0];
    buffer->surface = surface;
    return buffer;
}

VAStatus entry_vaDeriveImage(VADriverContextP context, VASurfaceID surface_id, VAImage *image)
{
    struct driver *driver = driver_of(context);
    image->image_id = image->buf = VA_INVALID_ID;
    struct surface *surface = object_find(driver, OBJECT_SURFACE, surface_id, "vaDeriveImage");
    if (!surface)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    const struct surface_memory *memory = &surface->memory;
    bool derivable = driver->persona.derives_images && memory->object_count == 1 && memory->writable;
    struct buffer *buffer = derivable ? surface_buffer(driver, surface) : NULL;
    if (!buffer) {
        object_release(driver, surface);
        return derivable ? VA_STATUS_ERROR_ALLOCATION_FAILED : VA_STATUS_ERROR_OPERATION_FAILED;
    }
    *image = (VAImage){
        .format = memory->format->image,
        .width = (uint16_t)surface->width,
        .height = (uint16_t)surface->height,
        .data_size = buffer->size,
        .num_planes = memory->format->plane_count,
        .pitches = {memory->plane_pitch[0], memory->plane_pitch[1]},
        .offsets = {memory->plane_offset[0], memory->plane_offset[1]},
    };
    return enter_image(driver, buffer, image, true);
}

VAStatus entry_vaDestroyImage(VADriverContextP context, VAImageID image_id)
{
    struct driver *driver = driver_of(context);
    pthread_mutex_lock(&driver->lock);
    struct image *image = object_find_locked(driver, OBJECT_IMAGE, image_id, "vaDestroyImage");
    if (image) {
        struct buffer *buffer = object_peek(driver, OBJECT_BUFFER, image->description.buf);
        if (buffer && buffer->mapped) {
            if (!buffer->object.excused)
                journal_finding(JOURNAL_NOWHERE, "image-destroyed-while-mapped", "vaDestroyImage",
                                "buffer 0x%08x of image 0x%08x is still mapped", buffer->object.id, image_id);
            if (buffer->surface)
                buffer->surface->mapped--;
        }
        if (buffer)
            object_withdraw(driver, &buffer->object);
        object_withdraw(driver, &image->object);
        object_release_locked(driver, image);
    }
    pthread_mutex_unlock(&driver->lock);
    return image ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_IMAGE;
}

/* A rectangle to copy between a surface and an image of equal size. */
struct transfer {
    struct surface *surface;
    const VAImage *image;
    uint8_t *image_data;
    uint32_t surface_x, surface_y, image_x, image_y, width, height;
    bool to_surface;
};

static void copy_rows(uint8_t *to, size_t to_pitch, const uint8_t *from, size_t from_pitch, size_t bytes, size_t rows)
{
    for (size_t row = 0; row < rows; row++)
        memcpy(to + row * to_pitch, from + row * from_pitch, bytes);
}

static void transfer_plane(const struct transfer *transfer, unsigned plane)
{
    const struct surface_memory *memory = &transfer->surface->memory;
    const struct pixel_plane *samples = &memory->format->planes[plane];
    size_t surface_pitch = memory->plane_pitch[plane], image_pitch = transfer->image->pitches[plane];
    uint8_t *in_surface = memory_plane(memory, plane) + pixel_rows(samples, transfer->surface_y) * surface_pitch +
                          pixel_bytes(samples, transfer->surface_x);
    uint8_t *in_image = transfer->image_data + transfer->image->offsets[plane] +
                        pixel_rows(samples, transfer->image_y) * image_pitch +
                        pixel_bytes(samples, transfer->image_x);
    size_t bytes = pixel_bytes(samples, transfer->width), rows = pixel_rows(samples, transfer->height);
    if (transfer->to_surface)
        copy_rows(in_surface, surface_pitch, in_image, image_pitch, bytes, rows);
    else
        copy_rows(in_image, image_pitch, in_surface, surface_pitch, bytes, rows);
}

/* Chroma of I420 and YV12, component 0 (Cb) or 1 (Cr). */
static void transfer_component(const struct transfer *transfer, unsigned component)
{
    const struct surface_memory *memory = &transfer->surface->memory;
    unsigned plane = (transfer->image->format.fourcc == VA_FOURCC_YV12 ? 1 - component : component) + 1;
    size_t columns = (transfer->width + 1) / 2, rows = (transfer->height + 1) / 2;
    for (size_t row = 0; row < rows; row++) {
        uint8_t *pairs = memory_plane(memory, 1) + (transfer->surface_y / 2 + row) * memory->plane_pitch[1] +
                         transfer->surface_x / 2 * 2 + component;
        uint8_t *samples = transfer->image_data + transfer->image->offsets[plane] +
                           (transfer->image_y / 2 + row) * transfer->image->pitches[plane] + transfer->image_x / 2;
        for (size_t column = 0; column < columns; column++) {
            if (transfer->to_surface)
                pairs[2 * column] = samples[column];
            else
                samples[column] = pairs[2 * column];
        }
    }
}

static void transfer_samples(const struct transfer *transfer)
{
    if (transfer->image->format.fourcc == transfer->surface->memory.format->image.fourcc) {
        for (unsigned plane = 0; plane < transfer->image->num_planes; plane++)
            transfer_plane(transfer, plane);
        return;
    }
    transfer_plane(transfer, 0);
    transfer_component(transfer, 0);
    transfer_component(transfer, 1);
}

/* Only the order of chroma samples may differ: this driver does not convert. */
static bool formats_agree(const struct transfer *transfer)
{
    const struct pixel_format *surface = transfer->surface->memory.format;
    uint32_t fourcc = transfer->image->format.fourcc;
    bool planar = fourcc == VA_FOURCC_I420 || fourcc == VA_FOURCC_YV12;
    return fourcc == surface->image.fourcc || (planar && pixel_kind(surface) == PIXEL_NV12);
}

static bool transfer_fits(const struct transfer *transfer)
{
    const struct surface *surface = transfer->surface;
    const VAImage *image = transfer->image;
    bool even = !((transfer->surface_x | transfer->surface_y | transfer->image_x | transfer->image_y) & 1);
    return even && transfer->width > 0 && transfer->height > 0 &&
           (uint64_t)transfer->surface_x + transfer->width <= surface->width &&
           (uint64_t)transfer->surface_y + transfer->height <= surface->height &&
           (uint64_t)transfer->image_x + transfer->width <= image->width &&
           (uint64_t)transfer->image_y + transfer->height <= image->height;
}

/* Judges, waits for the surface and copies. With the lock held; it is given up while samples are copied. */
static VAStatus transfer_locked(struct driver *driver, struct transfer *transfer, struct buffer *buffer,
                                const char *call)
{
    if (!formats_agree(transfer)) {
        journal_finding(JOURNAL_NOWHERE, "image-format-of-surface", call,
                        "the surface is %s, the image 0x%08x: this driver does not convert",
                        transfer->surface->memory.format->name, transfer->image->format.fourcc);
        return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
    }
    if (!transfer_fits(transfer)) {
        journal_finding(JOURNAL_NOWHERE, "image-rectangle", call,
                        "%ux%u at %u,%u of the surface (%ux%u) and %u,%u of the image (%ux%u)", transfer->width,
                        transfer->height, transfer->surface_x, transfer->surface_y, transfer->surface->width,
                        transfer->surface->height, transfer->image_x, transfer->image_y, transfer->image->width,
                        transfer->image->height);
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    if (buffer->mapped)
        journal_finding(JOURNAL_NOWHERE, "image-used-while-mapped", call, "buffer 0x%08x of image 0x%08x is mapped",
                        buffer->object.id, transfer->image->image_id);
    if (transfer->to_surface && (transfer->surface->reading || transfer->surface->coding))
        journal_finding(JOURNAL_NOWHERE, "surface-written-while-encoding", call,
                        "surface 0x%08x is used by %u pictures that are not coded yet", transfer->surface->object.id,
                        transfer->surface->reading + transfer->surface->coding);
    wait_for_surface(driver, transfer->surface, VA_TIMEOUT_INFINITE);
    if (transfer->to_surface) {
        transfer->surface->filled = true;
        transfer->surface->decoded_by = 0;
        transfer->surface->damage = VA_STATUS_SUCCESS;
    }
    if (faults_device_lost(driver->faults)) /* meanwhile */
        return VA_STATUS_ERROR_OPERATION_FAILED;
    surface_report_access(transfer->surface, call);
    pthread_mutex_unlock(&driver->lock);
    transfer_samples(transfer);
    pthread_mutex_lock(&driver->lock);
    return VA_STATUS_SUCCESS;
}

static VAStatus transfer_image(struct driver *driver, struct transfer *transfer, VASurfaceID surface_id,
                               VAImageID image_id, const char *call)
{
    VAStatus status = VA_STATUS_ERROR_INVALID_SURFACE;
    pthread_mutex_lock(&driver->lock);
    struct surface *surface = object_find_locked(driver, OBJECT_SURFACE, surface_id, call);
    struct image *image = surface ? object_find_locked(driver, OBJECT_IMAGE, image_id, call) : NULL;
    if (image) {
        struct buffer *buffer = object_find_locked(driver, OBJECT_BUFFER, image->description.buf, call);
        transfer->surface = surface;
        transfer->image = &image->description;
        transfer->image_data = buffer->data;
        status = surface->memory.writable || !transfer->to_surface ? transfer_locked(driver, transfer, buffer, call)
                                                                   : VA_STATUS_ERROR_OPERATION_FAILED;
        object_release_locked(driver, buffer);
        object_release_locked(driver, image);
    } else if (surface) {
        status = VA_STATUS_ERROR_INVALID_IMAGE;
    }
    if (surface)
        object_release_locked(driver, surface);
    pthread_mutex_unlock(&driver->lock);
    return status;
}

VAStatus entry_vaGetImage(VADriverContextP context, VASurfaceID surface, int x, int y, unsigned int width,
                          unsigned int height, VAImageID image)
{
    struct transfer transfer = {
        .surface_x = (uint32_t)x, .surface_y = (uint32_t)y, .width = width, .height = height};
    return transfer_image(driver_of(context), &transfer, surface, image, "vaGetImage");
}

VAStatus entry_vaPutImage(VADriverContextP context, VASurfaceID surface, VAImageID image, int src_x, int src_y,
                          unsigned int src_width, unsigned int src_height, int dest_x, int dest_y,
                          unsigned int dest_width, unsigned int dest_height)
{
    struct transfer transfer = {
        .surface_x = (uint32_t)dest_x, .surface_y = (uint32_t)dest_y, .image_x = (uint32_t)src_x,
        .image_y = (uint32_t)src_y, .width = src_width, .height = src_height, .to_surface = true};
    if (src_width != dest_width || src_height != dest_height) {
        journal_finding(JOURNAL_NOWHERE, "image-scaled", "vaPutImage", "%ux%u to %ux%u: this driver does not scale",
                        src_width, src_height, dest_width, dest_height);
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
    return transfer_image(driver_of(context), &transfer, surface, image, "vaPutImage");
}

VAStatus entry_vaSetImagePalette(VADriverContextP context, VAImageID image, unsigned char *palette)
{
    (void)context, (void)image, (void)palette;
    return VA_STATUS_ERROR_UNIMPLEMENTED;
}
