/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves known samples through surfaces, images, exports and imports, and compares: driver_surfaces WIDTHxHEIGHT.
 * Prints what differs; exits 0 when nothing does. */
#include "support/client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct client client;
static unsigned width, height;
static unsigned failures;

#define REPORT(name, ...) client_report(#name, name(__VA_ARGS__))
#define MUST(name, ...) \
    do { \
        if (REPORT(name, __VA_ARGS__) != VA_STATUS_SUCCESS) \
            failures++; \
    } while (0)

static void expect(bool condition, const char *what)
{
    if (!condition) {
        printf("wrong: %s\n", what);
        failures++;
    }
}

/* Sample at x, y of luma (0), Cb (1) and Cr (2): all planes and rows differ. */
static uint8_t sample(unsigned seed, unsigned plane, unsigned x, unsigned y)
{
    return (uint8_t)(seed + 31 * plane + 3 * x + 7 * y);
}

/* Where a sample lies in an image of any of the three formats. */
static uint8_t *locate(uint8_t *data, const VAImage *image, unsigned plane, unsigned x, unsigned y)
{
    if (plane == 0)
        return data + image->offsets[0] + y * image->pitches[0] + x;
    if (image->format.fourcc == VA_FOURCC_NV12)
        return data + image->offsets[1] + y * image->pitches[1] + 2 * x + (plane - 1);
    unsigned place = image->format.fourcc == VA_FOURCC_YV12 ? 3 - plane : plane;
    return data + image->offsets[place] + y * image->pitches[place] + x;
}

static void fill(uint8_t *data, const VAImage *image, unsigned seed)
{
    for (unsigned plane = 0; plane < 3; plane++)
        for (unsigned y = 0; y < (plane ? height / 2 : height); y++)
            for (unsigned x = 0; x < (plane ? width / 2 : width); x++)
                *locate(data, image, plane, x, y) = sample(seed, plane, x, y);
}

static bool holds(uint8_t *data, const VAImage *image, unsigned seed)
{
    for (unsigned plane = 0; plane < 3; plane++)
        for (unsigned y = 0; y < (plane ? height / 2 : height); y++)
            for (unsigned x = 0; x < (plane ? width / 2 : width); x++)
                if (*locate(data, image, plane, x, y) != sample(seed, plane, x, y))
                    return false;
    return true;
}

/* Uploads with one format, downloads with another. */
static void through_images(VASurfaceID surface, uint32_t put, uint32_t get, unsigned seed)
{
    VAImageFormat formats[2] = {{.fourcc = put}, {.fourcc = get}};
    VAImage images[2];
    void *data;
    for (unsigned i = 0; i < 2; i++)
        MUST(vaCreateImage, client.display, &formats[i], (int)width, (int)height, &images[i]);
    expect(images[0].pitches[0] > width, "an image's pitch is no larger than its width");
    MUST(vaMapBuffer, client.display, images[0].buf, &data);
    fill(data, &images[0], seed);
    MUST(vaUnmapBuffer, client.display, images[0].buf);
    MUST(vaPutImage, client.display, surface, images[0].image_id, 0, 0, width, height, 0, 0, width, height);
    MUST(vaGetImage, client.display, surface, 0, 0, width, height, images[1].image_id);
    MUST(vaMapBuffer, client.display, images[1].buf, &data);
    expect(holds(data, &images[1], seed), "vaGetImage returns other samples than vaPutImage put");
    MUST(vaUnmapBuffer, client.display, images[1].buf);
    for (unsigned i = 0; i < 2; i++)
        MUST(vaDestroyImage, client.display, images[i].image_id);
}

/* Writes into (or compares) the surface's own memory. */
static void through_derived(VASurfaceID surface, unsigned seed, bool write)
{
    VAImage image;
    void *data;
    VAStatus status = vaDeriveImage(client.display, surface, &image);
    if (status == VA_STATUS_ERROR_OPERATION_FAILED) { /* refused by the persona: a copy instead */
        VAImageFormat format = {.fourcc = VA_FOURCC_NV12};
        MUST(vaCreateImage, client.display, &format, (int)width, (int)height, &image);
        MUST(vaGetImage, client.display, surface, 0, 0, width, height, image.image_id);
    } else {
        expect(status == VA_STATUS_SUCCESS, "vaDeriveImage");
        expect(image.pitches[0] > width, "a surface's pitch is no larger than its width");
    }
    MUST(vaMapBuffer, client.display, image.buf, &data);
    if (write)
        fill(data, &image, seed);
    else
        expect(holds(data, &image, seed), "the surface holds other samples than were written");
    MUST(vaUnmapBuffer, client.display, image.buf);
    if (write && status != VA_STATUS_SUCCESS)
        MUST(vaPutImage, client.display, surface, image.image_id, 0, 0, width, height, 0, 0, width, height);
    MUST(vaDestroyImage, client.display, image.image_id);
}

static void compare_exported(const VADRMPRIMESurfaceDescriptor *exported, unsigned seed)
{
    bool composed = exported->num_layers == 1;
    VAImage view = {.format = {.fourcc = VA_FOURCC_NV12}};
    for (unsigned plane = 0; plane < 2; plane++) {
        unsigned layer = composed ? 0 : plane, index = composed ? plane : 0;
        view.offsets[plane] = exported->layers[layer].offset[index];
        view.pitches[plane] = exported->layers[layer].pitch[index];
    }
    expect(exported->objects[0].drm_format_modifier == 0, "the modifier is not linear");
    void *map = mmap(NULL, exported->objects[0].size, PROT_READ, MAP_SHARED, exported->objects[0].fd, 0);
    expect(map != MAP_FAILED && holds(map, &view, seed), "exported memory holds other samples than the surface");
    munmap(map, exported->objects[0].size);
}

static VASurfaceID import(VADRMPRIMESurfaceDescriptor *descriptor)
{
    VASurfaceID surface = VA_INVALID_SURFACE;
    VASurfaceAttrib attributes[2] = {
        {.type = VASurfaceAttribMemoryType, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypeInteger, .value.i = VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2}},
        {.type = VASurfaceAttribExternalBufferDescriptor, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypePointer, .value.p = descriptor}},
    };
    MUST(vaCreateSurfaces, client.display, VA_RT_FORMAT_YUV420, width, height, &surface, 1, attributes, 2);
    return surface;
}

static void through_export(VASurfaceID surface, uint32_t layers, unsigned seed)
{
    VADRMPRIMESurfaceDescriptor exported;
    through_derived(surface, seed, true);
    MUST(vaExportSurfaceHandle, client.display, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
         VA_EXPORT_SURFACE_READ_WRITE | layers, &exported);
    compare_exported(&exported, seed);
    VASurfaceID imported = import(&exported);
    close(exported.objects[0].fd);
    through_derived(imported, seed, false);
    through_derived(imported, seed + 1, true);
    through_derived(surface, seed + 1, false);
    MUST(vaDestroySurfaces, client.display, &imported, 1);
}

static void through_pointer(unsigned seed)
{
    uint32_t pitch = width + 32, size = (pitch * height * 3 / 2 + 4095) / 4096 * 4096;
    uint8_t *memory = aligned_alloc(4096, size);
    uintptr_t address = (uintptr_t)memory;
    VASurfaceID surface;
    VASurfaceAttribExternalBuffers buffers = {
        .pixel_format = VA_FOURCC_NV12, .width = width, .height = height, .data_size = size,
        .num_planes = 2, .pitches = {pitch, pitch}, .offsets = {0, pitch * height}, .buffers = &address,
        .num_buffers = 1,
    };
    VASurfaceAttrib attributes[2] = {
        {.type = VASurfaceAttribMemoryType, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypeInteger, .value.i = VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR}},
        {.type = VASurfaceAttribExternalBufferDescriptor, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypePointer, .value.p = &buffers}},
    };
    VAImage view = {.format = {.fourcc = VA_FOURCC_NV12}, .offsets = {0, pitch * height}, .pitches = {pitch, pitch}};
    MUST(vaCreateSurfaces, client.display, VA_RT_FORMAT_YUV420, width, height, &surface, 1, attributes, 2);
    fill(memory, &view, seed);
    through_derived(surface, seed, false);
    through_derived(surface, seed + 1, true);
    expect(holds(memory, &view, seed + 1), "the caller's memory does not follow the surface");
    MUST(vaDestroySurfaces, client.display, &surface, 1);
    free(memory);
}

int main(int count, char **arguments)
{
    static const uint32_t formats[] = {VA_FOURCC_NV12, VA_FOURCC_I420, VA_FOURCC_YV12};
    if (count != 2 || sscanf(arguments[1], "%ux%u", &width, &height) != 2 || width % 2 || height % 2)
        return 2;
    if (client_open_display(&client) != VA_STATUS_SUCCESS)
        return 1;
    VASurfaceID surface;
    MUST(vaCreateSurfaces, client.display, VA_RT_FORMAT_YUV420, width, height, &surface, 1, NULL, 0);
    for (unsigned put = 0; put < 3; put++)
        for (unsigned get = 0; get < 3; get++)
            through_images(surface, formats[put], formats[get], 10 * put + get);
    through_derived(surface, 50, true);
    through_derived(surface, 50, false);
    through_export(surface, VA_EXPORT_SURFACE_COMPOSED_LAYERS, 60);
    through_export(surface, VA_EXPORT_SURFACE_SEPARATE_LAYERS, 70);
    if (!strstr(vaQueryVendorString(client.display), "(amd)"))
        through_pointer(80);
    MUST(vaDestroySurfaces, client.display, &surface, 1);
    MUST(client_close_display, &client);
    return failures ? 1 : 0;
}
