/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "exports.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

#define TILE_BYTES 512
#define TILE_ROWS 8
#define PAGE 4096

/* At the end of tiled memory: what a kernel driver remembers of a buffer. */
static const char tiled_mark[] = "in tiles";

static uint32_t whole(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Copies a plane between rows and tiles. */
static void copy_plane(uint8_t *rows, uint32_t pitch, uint8_t *tiles, uint32_t tiled_pitch, uint32_t bytes,
                       uint32_t count, bool to_tiles)
{
    for (uint32_t row = 0; row < count; row++) {
        for (uint32_t column = 0; column < bytes; column += TILE_BYTES) {
            uint32_t length = bytes - column < TILE_BYTES ? bytes - column : TILE_BYTES;
            uint8_t *linear = rows + (size_t)row * pitch + column;
            uint8_t *tiled = tiles + (size_t)(row / TILE_ROWS) * tiled_pitch * TILE_ROWS +
                             (size_t)column * TILE_ROWS + (size_t)(row % TILE_ROWS) * TILE_BYTES;
            memcpy(to_tiles ? tiled : linear, to_tiles ? linear : tiled, length);
        }
    }
}

static void copy_planes(const struct surface_memory *linear, const struct surface_memory *tiled, bool to_tiles)
{
    for (unsigned i = 0; i < linear->format->plane_count; i++) {
        const struct pixel_plane *plane = &linear->format->planes[i];
        copy_plane(memory_plane(linear, i), linear->plane_pitch[i], memory_plane(tiled, i), tiled->plane_pitch[i],
                   pixel_bytes(plane, linear->columns), pixel_rows(plane, linear->rows), to_tiles);
    }
}

/* A copy of the memory, in tiles. */
static bool tile(struct surface_memory *tiles, const struct surface_memory *memory)
{
    *tiles = (struct surface_memory){
        .owner = MEMORY_DRIVER, .format = memory->format, .object_count = 1, .files = {-1, -1},
        .columns = memory->columns, .rows = memory->rows};
    size_t end = 0;
    for (unsigned i = 0; i < memory->format->plane_count; i++) {
        const struct pixel_plane *plane = &memory->format->planes[i];
        tiles->plane_pitch[i] = whole(pixel_bytes(plane, memory->columns), TILE_BYTES);
        tiles->plane_offset[i] = (uint32_t)end;
        end += (size_t)tiles->plane_pitch[i] * whole(pixel_rows(plane, memory->rows), TILE_ROWS);
    }
    tiles->sizes[0] = end + PAGE;
    if (!memory_back(tiles, "reference-tiles"))
        return false;
    copy_planes(memory, tiles, true);
    memcpy(tiles->maps[0] + tiles->sizes[0] - sizeof(tiled_mark), tiled_mark, sizeof(tiled_mark));
    return true;
}

/* A copy of the memory with other samples, as of a picture that is compressed. */
static bool compress(struct surface_memory *copy, const struct surface_memory *memory)
{
    *copy = *memory;
    if (!memory_back(copy, "reference-compressed"))
        return false;
    for (size_t i = 0; i < copy->sizes[0]; i++)
        copy->maps[0][i] = (uint8_t)~memory->maps[0][i];
    return true;
}

bool is_tiled(const struct surface_memory *memory, uint64_t modifier, enum persona_export exports)
{
    if (exports != EXPORT_REMEMBERED)
        return modifier == MODIFIER_TILED;
    const uint8_t *end = memory->maps[0] + memory->sizes[0];
    return memcmp(end - sizeof(tiled_mark), tiled_mark, sizeof(tiled_mark)) == 0;
}

VAStatus untile(struct surface_memory *memory)
{
    struct surface_memory linear, *tiled = memory;
    for (unsigned i = 0; i < tiled->format->plane_count; i++) {
        const struct pixel_plane *plane = &tiled->format->planes[i];
        size_t rows = whole(pixel_rows(plane, tiled->rows), TILE_ROWS);
        if (tiled->plane_pitch[i] % TILE_BYTES ||
            tiled->plane_offset[i] + rows * tiled->plane_pitch[i] > tiled->sizes[tiled->plane_object[i]]) {
            memory_release(memory);
            return VA_STATUS_ERROR_INVALID_PARAMETER;
        }
    }
    bool allocated = memory_allocate(&linear, tiled->format, tiled->columns, tiled->rows);
    if (allocated) {
        linear.columns = tiled->columns;
        linear.rows = tiled->rows;
        copy_planes(&linear, tiled, false);
    }
    memory_release(memory);
    *memory = linear;
    return allocated ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_ALLOCATION_FAILED;
}

static void describe_layers(VADRMPRIMESurfaceDescriptor *descriptor, const struct surface_memory *memory, bool composed)
{
    const struct pixel_format *format = memory->format;
    descriptor->num_layers = composed ? 1 : format->plane_count;
    for (unsigned plane = 0; plane < format->plane_count; plane++) {
        unsigned layer = composed ? 0 : plane, index = composed ? plane : 0;
        descriptor->layers[layer].drm_format = composed ? format->composed : format->planes[plane].layer;
        descriptor->layers[layer].num_planes = composed ? format->plane_count : 1;
        descriptor->layers[layer].object_index[index] = memory->plane_object[plane];
        descriptor->layers[layer].offset[index] = memory->plane_offset[plane];
        descriptor->layers[layer].pitch[index] = memory->plane_pitch[plane];
    }
}

/* An object for each plane, all of the same memory. */
static void divide(struct surface_memory *stated)
{
    for (unsigned plane = 1; plane < stated->format->plane_count && plane < MEMORY_OBJECTS; plane++) {
        stated->plane_object[plane] = plane;
        stated->files[plane] = stated->files[0];
        stated->sizes[plane] = stated->sizes[0];
        stated->object_count = plane + 1;
    }
}

/* Changes what is stated of the memory as the persona does; returns the modifier. */
static uint64_t state_memory(struct surface_memory *stated, enum persona_export exports, bool decoded)
{
    unsigned last = stated->format->plane_count - 1;
    switch (exports) {
    case EXPORT_TILED:
    case EXPORT_LINEAR_AS_TILED:
        return MODIFIER_TILED;
    case EXPORT_IMPLICIT:
        return MODIFIER_INVALID;
    case EXPORT_TWO_OBJECTS:
    case EXPORT_TWO_MODIFIERS:
        divide(stated);
        break;
    case EXPORT_WRONG_DECODED:
        if (!decoded)
            break;
        /* fall through */
    case EXPORT_WRONG_OFFSET:
        stated->plane_offset[last] += stated->plane_pitch[last];
        break;
    case EXPORT_WRONG_PITCH:
        for (unsigned plane = 0; plane <= last; plane++)
            stated->plane_pitch[plane] -= PITCH_PADDING;
        break;
    default:
        break;
    }
    return MODIFIER_LINEAR;
}

static VAStatus export_memory(const struct surface *surface, const struct surface_memory *memory,
                              enum persona_export exports, bool composed, VADRMPRIMESurfaceDescriptor *descriptor)
{
    struct surface_memory stated = *memory;
    uint64_t modifier = state_memory(&stated, exports, surface->decoded_by != 0);
    *descriptor = (VADRMPRIMESurfaceDescriptor){
        .fourcc = stated.format->image.fourcc,
        .width = surface->width,
        .height = surface->height,
        .num_objects = stated.object_count,
    };
    describe_layers(descriptor, &stated, composed);
    for (uint32_t i = 0; i < stated.object_count; i++) {
        int file = fcntl(stated.files[i], F_DUPFD_CLOEXEC, 0);
        if (file < 0) {
            while (i-- > 0)
                close(descriptor->objects[i].fd);
            return VA_STATUS_ERROR_OPERATION_FAILED;
        }
        descriptor->objects[i].fd = file;
        descriptor->objects[i].size = (uint32_t)stated.sizes[i];
        bool other = i > 0 && exports == EXPORT_TWO_MODIFIERS;
        descriptor->objects[i].drm_format_modifier = other ? MODIFIER_TILED : modifier;
    }
    return VA_STATUS_SUCCESS;
}

static VAStatus export_surface(const struct surface *surface, enum persona_export exports, bool composed,
                               VADRMPRIMESurfaceDescriptor *descriptor)
{
    struct surface_memory copy;
    bool copied = true;
    if (exports == EXPORT_COMPRESSED && surface->decoded_by)
        copied = compress(&copy, &surface->memory);
    else if (exports == EXPORT_TILED || exports == EXPORT_TILED_AS_LINEAR || exports == EXPORT_REMEMBERED)
        copied = tile(&copy, &surface->memory);
    else
        return export_memory(surface, &surface->memory, exports, composed, descriptor);
    if (!copied)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    VAStatus status = export_memory(surface, &copy, exports, composed, descriptor);
    memory_release(&copy);
    return status;
}

VAStatus entry_vaExportSurfaceHandle(VADriverContextP context, VASurfaceID surface_id, uint32_t mem_type,
                                     uint32_t flags, void *descriptor)
{
    struct driver *driver = driver_of(context);
    const uint32_t layers = VA_EXPORT_SURFACE_SEPARATE_LAYERS | VA_EXPORT_SURFACE_COMPOSED_LAYERS;
    if (mem_type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2)
        return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    struct surface *surface = object_find(driver, OBJECT_SURFACE, surface_id, "vaExportSurfaceHandle");
    if (!surface)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    VAStatus status = VA_STATUS_ERROR_INVALID_SURFACE;
    if ((flags & layers) == 0 || (flags & layers) == layers || !(flags & VA_EXPORT_SURFACE_READ_WRITE))
        journal_finding(JOURNAL_NOWHERE, "export-flags", "va.h vaExportSurfaceHandle",
                        "flags are 0x%x: one kind of layers and at least one kind of access are needed", flags);
    else if (surface->memory.owner != MEMORY_USER_POINTER)
        status = export_surface(surface, driver->persona.exports, flags & VA_EXPORT_SURFACE_COMPOSED_LAYERS,
                                descriptor);
    object_release(driver, surface);
    return status;
}
