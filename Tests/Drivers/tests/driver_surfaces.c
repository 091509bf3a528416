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

/* A format as va.h and drm_fourcc.h describe it: nothing is taken from the driver's own tables. */
struct format {
    uint32_t fourcc, rt_format;
    uint32_t composed, layers[2]; /* DRM formats of one layer, of one per plane */
    unsigned planes, components;
    unsigned sample_bytes;
    unsigned chroma_shift[2]; /* of columns and rows, for the components after the first */
};

#define CODE(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define RGB(code, layer) {VA_FOURCC_##code, VA_RT_FORMAT_RGB32, layer, {layer}, 1, 4, 1, {0, 0}}

static const struct format formats[] = {
    {VA_FOURCC_NV12, VA_RT_FORMAT_YUV420, CODE('N', 'V', '1', '2'),
     {CODE('R', '8', ' ', ' '), CODE('G', 'R', '8', '8')}, 2, 3, 1, {1, 1}},
    {VA_FOURCC_P010, VA_RT_FORMAT_YUV420_10, CODE('P', '0', '1', '0'),
     {CODE('R', '1', '6', ' '), CODE('G', 'R', '3', '2')}, 2, 3, 2, {1, 1}},
    RGB(BGRA, CODE('A', 'R', '2', '4')),
    RGB(BGRX, CODE('X', 'R', '2', '4')),
    RGB(RGBA, CODE('A', 'B', '2', '4')),
    RGB(RGBX, CODE('X', 'B', '2', '4')),
    {VA_FOURCC_YUY2, VA_RT_FORMAT_YUV422, CODE('Y', 'U', 'Y', 'V'), {CODE('Y', 'U', 'Y', 'V')}, 1, 3, 1, {1, 0}},
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static const struct format *format; /* of the surfaces in use */

/* Byte at x, y of a component: all components, rows and bytes differ. */
static uint8_t sample(unsigned seed, unsigned component, unsigned x, unsigned y, unsigned byte)
{
    return (uint8_t)(seed + 31 * component + 3 * x + 7 * y + 101 * byte);
}

/* Where a sample lies in an image. */
static uint8_t *locate(uint8_t *data, const VAImage *image, unsigned component, unsigned x, unsigned y)
{
    unsigned bytes = format->sample_bytes, plane = 0, column = x * bytes;
    switch (image->format.fourcc) {
    case VA_FOURCC_YUY2:
        column = component ? 4 * x + 2 * component - 1 : 2 * x;
        break;
    case VA_FOURCC_NV12:
    case VA_FOURCC_P010:
        plane = component ? 1 : 0;
        column = component ? (2 * x + component - 1) * bytes : column;
        break;
    case VA_FOURCC_I420:
    case VA_FOURCC_YV12:
        plane = component && image->format.fourcc == VA_FOURCC_YV12 ? 3 - component : component;
        break;
    default:
        column = 4 * x + component;
    }
    return data + image->offsets[plane] + y * image->pitches[plane] + column;
}

static unsigned rows_of(unsigned component)
{
    return component ? height >> format->chroma_shift[1] : height;
}

static unsigned columns_of(unsigned component)
{
    return component ? width >> format->chroma_shift[0] : width;
}

static void fill(uint8_t *data, const VAImage *image, unsigned seed)
{
    for (unsigned component = 0; component < format->components; component++)
        for (unsigned y = 0; y < rows_of(component); y++)
            for (unsigned x = 0; x < columns_of(component); x++)
                for (unsigned byte = 0; byte < format->sample_bytes; byte++)
                    locate(data, image, component, x, y)[byte] = sample(seed, component, x, y, byte);
}

static bool holds(uint8_t *data, const VAImage *image, unsigned seed)
{
    for (unsigned component = 0; component < format->components; component++)
        for (unsigned y = 0; y < rows_of(component); y++)
            for (unsigned x = 0; x < columns_of(component); x++)
                for (unsigned byte = 0; byte < format->sample_bytes; byte++)
                    if (locate(data, image, component, x, y)[byte] != sample(seed, component, x, y, byte))
                        return false;
    return true;
}

/* Uploads with one format, downloads with another. */
static void through_images(VASurfaceID surface, uint32_t put, uint32_t get, unsigned seed)
{
    VAImageFormat wanted[2] = {{.fourcc = put}, {.fourcc = get}};
    VAImage images[2];
    void *data;
    for (unsigned i = 0; i < 2; i++)
        MUST(vaCreateImage, client.display, &wanted[i], (int)width, (int)height, &images[i]);
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
        VAImageFormat wanted = {.fourcc = format->fourcc};
        MUST(vaCreateImage, client.display, &wanted, (int)width, (int)height, &image);
        MUST(vaGetImage, client.display, surface, 0, 0, width, height, image.image_id);
    } else {
        expect(status == VA_STATUS_SUCCESS, "vaDeriveImage");
        expect(image.format.fourcc == format->fourcc && image.num_planes == format->planes, "a derived image's format");
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

static void compare_exported(const VADRMPRIMESurfaceDescriptor *exported, uint32_t layers, unsigned seed)
{
    bool composed = layers & VA_EXPORT_SURFACE_COMPOSED_LAYERS;
    VAImage view = {.format = {.fourcc = format->fourcc}};
    expect(exported->fourcc == format->fourcc, "exported memory has another format");
    expect(exported->num_layers == (composed ? 1 : format->planes), "as many layers as planes");
    for (unsigned plane = 0; plane < format->planes; plane++) {
        unsigned layer = composed ? 0 : plane, index = composed ? plane : 0;
        expect(exported->layers[layer].drm_format == (composed ? format->composed : format->layers[plane]),
               "the layer's DRM format");
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
    MUST(vaCreateSurfaces, client.display, format->rt_format, width, height, &surface, 1, attributes, 2);
    return surface;
}

static void through_export(VASurfaceID surface, uint32_t layers, unsigned seed)
{
    VADRMPRIMESurfaceDescriptor exported;
    through_derived(surface, seed, true);
    MUST(vaExportSurfaceHandle, client.display, surface, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2,
         VA_EXPORT_SURFACE_READ_WRITE | layers, &exported);
    compare_exported(&exported, layers, seed);
    VASurfaceID imported = import(&exported);
    close(exported.objects[0].fd);
    through_derived(imported, seed, false);
    through_derived(imported, seed + 1, true);
    through_derived(surface, seed + 1, false);
    MUST(vaDestroySurfaces, client.display, &imported, 1);
}

static void through_pointer(unsigned seed)
{
    uint32_t pitch = width * 4 + 32, size = (pitch * height * format->planes + 4095) / 4096 * 4096;
    uint8_t *memory = aligned_alloc(4096, size);
    uintptr_t address = (uintptr_t)memory;
    VASurfaceID surface;
    VASurfaceAttribExternalBuffers buffers = {
        .pixel_format = format->fourcc, .width = width, .height = height, .data_size = size,
        .num_planes = format->planes, .pitches = {pitch, pitch}, .offsets = {0, pitch * height}, .buffers = &address,
        .num_buffers = 1,
    };
    VASurfaceAttrib attributes[2] = {
        {.type = VASurfaceAttribMemoryType, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypeInteger, .value.i = VA_SURFACE_ATTRIB_MEM_TYPE_USER_PTR}},
        {.type = VASurfaceAttribExternalBufferDescriptor, .flags = VA_SURFACE_ATTRIB_SETTABLE,
         .value = {.type = VAGenericValueTypePointer, .value.p = &buffers}},
    };
    VAImage view = {.format = {.fourcc = format->fourcc}, .offsets = {0, pitch * height}, .pitches = {pitch, pitch}};
    MUST(vaCreateSurfaces, client.display, format->rt_format, width, height, &surface, 1, attributes, 2);
    fill(memory, &view, seed);
    through_derived(surface, seed, false);
    through_derived(surface, seed + 1, true);
    expect(holds(memory, &view, seed + 1), "the caller's memory does not follow the surface");
    MUST(vaDestroySurfaces, client.display, &surface, 1);
    free(memory);
}

static VASurfaceID create(void)
{
    VASurfaceID surface = VA_INVALID_SURFACE;
    VASurfaceAttrib attribute = {.type = VASurfaceAttribPixelFormat, .flags = VA_SURFACE_ATTRIB_SETTABLE,
                                 .value = {.type = VAGenericValueTypeInteger, .value.i = (int32_t)format->fourcc}};
    MUST(vaCreateSurfaces, client.display, format->rt_format, width, height, &surface, 1, &attribute, 1);
    return surface;
}

static void through_everything(unsigned seed)
{
    VASurfaceID surface = create();
    if (surface == VA_INVALID_SURFACE)
        return;
    through_images(surface, format->fourcc, format->fourcc, seed);
    through_derived(surface, seed + 50, true);
    through_derived(surface, seed + 50, false);
    through_export(surface, VA_EXPORT_SURFACE_COMPOSED_LAYERS, seed + 60);
    through_export(surface, VA_EXPORT_SURFACE_SEPARATE_LAYERS, seed + 70);
    if (!strstr(vaQueryVendorString(client.display), "(amd"))
        through_pointer(seed + 80);
    MUST(vaDestroySurfaces, client.display, &surface, 1);
}

int main(int count, char **arguments)
{
    static const uint32_t chroma_orders[] = {VA_FOURCC_NV12, VA_FOURCC_I420, VA_FOURCC_YV12};
    if (count != 2 || sscanf(arguments[1], "%ux%u", &width, &height) != 2 || width % 2 || height % 2)
        return 2;
    if (client_open_display(&client) != VA_STATUS_SUCCESS)
        return 1;
    for (unsigned i = 0; i < FORMATS; i++) {
        format = &formats[i];
        through_everything(11 * i);
    }
    format = &formats[0];
    VASurfaceID surface = create();
    for (unsigned put = 0; put < 3; put++)
        for (unsigned get = 0; get < 3; get++)
            through_images(surface, chroma_orders[put], chroma_orders[get], 10 * put + get);
    MUST(vaDestroySurfaces, client.display, &surface, 1);
    MUST(client_close_display, &client);
    return failures ? 1 : 0;
}
