/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of surfaces that the driver allocates itself: a memfd, pitch larger than the width, rows below the picture. */
#define _GNU_SOURCE /* memfd_create */
#include "driver.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PITCH_ALIGNMENT 64
#define ROW_PADDING 16

static uint32_t aligned(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* Rows that the plane has, those of the padding included. */
static uint32_t allocated_rows(const struct surface_memory *memory, unsigned plane)
{
    return pixel_rows(&memory->format->planes[plane], memory->rows + ROW_PADDING);
}

static void lay_out(struct surface_memory *memory)
{
    size_t end = 0;
    for (unsigned i = 0; i < memory->format->plane_count; i++) {
        uint32_t bytes = pixel_bytes(&memory->format->planes[i], memory->columns);
        memory->plane_pitch[i] = aligned(bytes, PITCH_ALIGNMENT) + PITCH_PADDING;
        memory->plane_offset[i] = (uint32_t)end;
        end += (size_t)memory->plane_pitch[i] * allocated_rows(memory, i);
    }
    memory->sizes[0] = (end + 4095) / 4096 * 4096;
}

bool memory_back(struct surface_memory *memory, const char *name)
{
    memory->files[0] = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory->files[0] < 0)
        return false;
    void *map = MAP_FAILED;
    if (ftruncate(memory->files[0], (off_t)memory->sizes[0]) == 0 &&
        fcntl(memory->files[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) /* as with DMA-BUFs */
        map = mmap(NULL, memory->sizes[0], PROT_READ | PROT_WRITE, MAP_SHARED, memory->files[0], 0);
    if (map == MAP_FAILED) {
        close(memory->files[0]);
        return false;
    }
    memory->maps[0] = map;
    return true;
}

bool memory_allocate(struct surface_memory *memory, const struct pixel_format *format, uint32_t width,
                     uint32_t height)
{
    *memory = (struct surface_memory){
        .owner = MEMORY_DRIVER,
        .format = format,
        .object_count = 1,
        .files = {-1, -1},
        .columns = aligned(width, 16),
        .rows = aligned(height, 16),
        .writable = true,
    };
    lay_out(memory);
    if (!memory_back(memory, "reference-surface"))
        return false;
    memory_poison_border(memory, 0, 0);
    return true;
}

void memory_release(struct surface_memory *memory)
{
    for (uint32_t i = 0; i < memory->object_count; i++) {
        if (memory->owner != MEMORY_USER_POINTER && memory->maps[i])
            munmap(memory->maps[i], memory->sizes[i]);
        if (memory->files[i] >= 0)
            close(memory->files[i]);
    }
    memory->object_count = 0;
}

static void poison_plane(struct surface_memory *memory, unsigned plane, uint32_t width, uint32_t height)
{
    const struct pixel_plane *samples = &memory->format->planes[plane];
    uint32_t pitch = memory->plane_pitch[plane], all_rows = allocated_rows(memory, plane);
    uint32_t bytes = pixel_bytes(samples, width), rows = pixel_rows(samples, height);
    uint8_t *first = memory_plane(memory, plane);
    for (uint32_t row = 0; row < rows; row++)
        pixel_poison(samples, first + (size_t)row * pitch + bytes, pitch - bytes);
    pixel_poison(samples, first + (size_t)rows * pitch, (all_rows - rows) * pitch);
}

void memory_poison_border(struct surface_memory *memory, uint32_t width, uint32_t height)
{
    if (memory->owner != MEMORY_DRIVER)
        return;
    for (unsigned plane = 0; plane < memory->format->plane_count; plane++)
        poison_plane(memory, plane, width, height);
}
