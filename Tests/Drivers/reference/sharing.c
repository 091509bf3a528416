/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Surfaces' memory from others: DRM PRIME descriptors and user pointers. */
#include "driver.h"
#include "exports.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <va/va_drmcommon.h>

static const char import_clause[] = "va_drmcommon.h VADRMPRIMESurfaceDescriptor";

static VAStatus refuse_import(const char *name, VAStatus status, const char *field, uint64_t given, uint64_t wanted)
{
    journal_finding(JOURNAL_NOWHERE, name, import_clause, "%s is %llu, expected %llu", field,
                    (unsigned long long)given, (unsigned long long)wanted);
    return status;
}

/* Finds the planes, whether one layer holds all or each has its own. */
static VAStatus read_layers(struct surface_memory *memory, const VADRMPRIMESurfaceDescriptor *descriptor)
{
    const uint32_t invalid = VA_STATUS_ERROR_INVALID_PARAMETER;
    const struct pixel_format *format = memory->format;
    bool composed = descriptor->num_layers == 1;
    if (descriptor->num_layers != 1 && descriptor->num_layers != format->plane_count)
        return refuse_import("import-layers", (VAStatus)invalid, "num_layers", descriptor->num_layers,
                             format->plane_count);
    for (uint32_t i = 0; i < descriptor->num_layers; i++) {
        uint32_t given = descriptor->layers[i].drm_format, planes = descriptor->layers[i].num_planes;
        uint32_t expected = composed ? format->composed : format->planes[i].layer;
        if (given != expected)
            return refuse_import("import-layers", (VAStatus)invalid, "drm_format", given, expected);
        if (planes != (composed ? format->plane_count : 1))
            return refuse_import("import-layers", (VAStatus)invalid, "num_planes", planes,
                                 composed ? format->plane_count : 1);
    }
    for (unsigned plane = 0; plane < format->plane_count; plane++) {
        unsigned layer = composed ? 0 : plane, index = composed ? plane : 0;
        memory->plane_object[plane] = descriptor->layers[layer].object_index[index];
        memory->plane_offset[plane] = descriptor->layers[layer].offset[index];
        memory->plane_pitch[plane] = descriptor->layers[layer].pitch[index];
        if (memory->plane_object[plane] >= descriptor->num_objects)
            return refuse_import("import-layers", (VAStatus)invalid, "object_index", memory->plane_object[plane],
                                 descriptor->num_objects - 1);
    }
    return VA_STATUS_SUCCESS;
}

/* The planes must lie inside their objects. */
static VAStatus check_extents(const struct surface_memory *memory, uint32_t width, uint32_t height)
{
    for (unsigned plane = 0; plane < memory->format->plane_count; plane++) {
        const struct pixel_plane *samples = &memory->format->planes[plane];
        uint64_t bytes = pixel_bytes(samples, width), rows = pixel_rows(samples, height);
        uint64_t pitch = memory->plane_pitch[plane];
        if (pitch < bytes)
            return refuse_import("import-pitch", VA_STATUS_ERROR_INVALID_PARAMETER, "pitch", pitch, bytes);
        uint64_t end = memory->plane_offset[plane] + pitch * (rows - 1) + bytes;
        uint64_t size = memory->sizes[memory->plane_object[plane]];
        if (end > size)
            return refuse_import("import-size", VA_STATUS_ERROR_INVALID_PARAMETER, "object size", size, end);
    }
    return VA_STATUS_SUCCESS;
}

static bool map_object(struct surface_memory *memory, uint32_t index, int file)
{
    struct stat information;
    int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return false;
    memory->files[index] = copy;
    memory->object_count = index + 1;
    off_t end = lseek(copy, 0, SEEK_END); /* DMA-BUFs tell their size this way only */
    if (end <= 0 && fstat(copy, &information) == 0)
        end = information.st_size;
    if (end <= 0)
        return false;
    memory->sizes[index] = (size_t)end;
    void *map = mmap(NULL, memory->sizes[index], PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
    if (map == MAP_FAILED) {
        memory->writable = false;
        map = mmap(NULL, memory->sizes[index], PROT_READ, MAP_SHARED, copy, 0);
    }
    memory->maps[index] = map == MAP_FAILED ? NULL : map;
    return memory->maps[index] != NULL;
}

static VAStatus import_objects(struct surface_memory *memory, const VADRMPRIMESurfaceDescriptor *descriptor)
{
    if (descriptor->num_objects < 1 || descriptor->num_objects > MEMORY_OBJECTS)
        return refuse_import("import-objects", VA_STATUS_ERROR_INVALID_PARAMETER, "num_objects",
                             descriptor->num_objects, 1);
    for (uint32_t i = 0; i < descriptor->num_objects; i++) {
        uint64_t modifier = descriptor->objects[i].drm_format_modifier;
        if (modifier != MODIFIER_LINEAR && modifier != MODIFIER_INVALID && modifier != MODIFIER_TILED)
            return refuse_import("import-modifier", VA_STATUS_ERROR_INVALID_PARAMETER, "drm_format_modifier",
                                 modifier, MODIFIER_LINEAR);
        if (!map_object(memory, i, descriptor->objects[i].fd)) {
            journal_finding(JOURNAL_NOWHERE, "import-descriptor", import_clause,
                            "objects[%u].fd is %d, which cannot be mapped: %m", i, descriptor->objects[i].fd);
            return VA_STATUS_ERROR_INVALID_PARAMETER;
        }
        if (descriptor->objects[i].size > memory->sizes[i])
            return refuse_import("import-size", VA_STATUS_ERROR_INVALID_PARAMETER, "objects[].size",
                                 descriptor->objects[i].size, memory->sizes[i]);
    }
    return VA_STATUS_SUCCESS;
}

VAStatus memory_import_prime(struct surface_memory *memory, const struct pixel_format *format, const void *given,
                             uint32_t width, uint32_t height, enum persona_export exports)
{
    const VADRMPRIMESurfaceDescriptor *descriptor = given;
    *memory = (struct surface_memory){
        .owner = MEMORY_PRIME, .format = format, .files = {-1, -1}, .columns = width, .rows = height, .writable = true};
    if (descriptor->fourcc != format->image.fourcc)
        return refuse_import("import-format", VA_STATUS_ERROR_INVALID_PARAMETER, "fourcc", descriptor->fourcc,
                             format->image.fourcc);
    if (descriptor->width < width || descriptor->height < height)
        return refuse_import("import-size", VA_STATUS_ERROR_INVALID_PARAMETER, "width or height",
                             descriptor->width < width ? descriptor->width : descriptor->height,
                             descriptor->width < width ? width : height);
    VAStatus status = import_objects(memory, descriptor);
    if (status == VA_STATUS_SUCCESS)
        status = read_layers(memory, descriptor);
    if (status == VA_STATUS_SUCCESS)
        status = check_extents(memory, width, height);
    if (status == VA_STATUS_SUCCESS && is_tiled(memory, descriptor->objects[0].drm_format_modifier, exports))
        return untile(memory);
    if (status != VA_STATUS_SUCCESS)
        memory_release(memory);
    return status;
}

/* Kernels pin a client's pages for writing, unless a driver says that its device only reads: memory that the client may
 * not write to is refused then. Where nobody can tell, it counts as writable. */
static bool can_be_pinned(void *start, size_t size)
{
    static _Alignas(4096) char own[4096];
    return madvise(own, sizeof(own), MADV_POPULATE_WRITE) != 0 || madvise(start, size, MADV_POPULATE_WRITE) == 0;
}

/* As kernels have it: whole pages (i915_gem_userptr_ioctl). */
static VAStatus check_pages(uintptr_t start, uint64_t size)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (start % page)
        return refuse_import("import-pages", VA_STATUS_ERROR_INVALID_PARAMETER, "the address", start, start / page * page);
    if (size == 0 || size % page)
        return refuse_import("import-pages", VA_STATUS_ERROR_INVALID_PARAMETER, "data_size", size,
                             (size / page + 1) * page);
    if (!can_be_pinned((void *)start, size))
        return refuse_import("import-pages", VA_STATUS_ERROR_INVALID_PARAMETER, "access", PROT_READ,
                             PROT_READ | PROT_WRITE);
    return VA_STATUS_SUCCESS;
}

VAStatus memory_import_pointer(struct surface_memory *memory, const struct pixel_format *format, const void *given,
                               uint32_t index, uint32_t width, uint32_t height)
{
    const VASurfaceAttribExternalBuffers *buffers = given;
    *memory = (struct surface_memory){
        .owner = MEMORY_USER_POINTER, .format = format, .files = {-1, -1}, .columns = width, .rows = height,
        .writable = true};
    if (buffers->pixel_format != format->image.fourcc || buffers->num_planes != format->plane_count)
        return refuse_import("import-format", VA_STATUS_ERROR_INVALID_PARAMETER, "pixel_format",
                             buffers->pixel_format, format->image.fourcc);
    if (index >= buffers->num_buffers || !buffers->buffers[index])
        return refuse_import("import-objects", VA_STATUS_ERROR_INVALID_PARAMETER, "num_buffers",
                             buffers->num_buffers, index + 1);
    VAStatus status = check_pages(buffers->buffers[index], buffers->data_size);
    if (status != VA_STATUS_SUCCESS)
        return status;
    memory->object_count = 1;
    memory->maps[0] = (uint8_t *)buffers->buffers[index];
    memory->sizes[0] = buffers->data_size;
    for (unsigned plane = 0; plane < format->plane_count; plane++) {
        memory->plane_offset[plane] = buffers->offsets[plane];
        memory->plane_pitch[plane] = buffers->pitches[plane];
    }
    return check_extents(memory, width, height);
}
