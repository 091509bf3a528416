/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of surfaces that the driver allocates itself: a memfd, pitch larger than the width, rows below the picture. */
#define _GNU_SOURCE /* memfd_create */
#include "driver.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PITCH_ALIGNMENT 64
#define PITCH_PADDING 64
#define ROW_PADDING 16

static uint32_t aligned(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

bool memory_allocate(struct surface_memory *memory, uint32_t width, uint32_t height)
{
    uint32_t pitch = aligned(width, PITCH_ALIGNMENT) + PITCH_PADDING;
    uint32_t rows = aligned(height, 16) + ROW_PADDING;
    *memory = (struct surface_memory){
        .owner = MEMORY_DRIVER,
        .object_count = 1,
        .files = {-1, -1},
        .sizes = {aligned(pitch * rows * 3 / 2, 4096)},
        .plane_offset = {0, pitch * rows},
        .plane_pitch = {pitch, pitch},
        .columns = aligned(width, 16),
        .rows = aligned(height, 16),
        .writable = true,
    };
    memory->files[0] = memfd_create("reference-surface", MFD_CLOEXEC);
    if (memory->files[0] < 0)
        return false;
    void *map = MAP_FAILED;
    if (ftruncate(memory->files[0], (off_t)memory->sizes[0]) == 0)
        map = mmap(NULL, memory->sizes[0], PROT_READ | PROT_WRITE, MAP_SHARED, memory->files[0], 0);
    if (map == MAP_FAILED) {
        close(memory->files[0]);
        return false;
    }
    memory->maps[0] = map;
    memset(map, POISON_LUMA, (size_t)pitch * rows);
    memset((uint8_t *)map + (size_t)pitch * rows, POISON_CHROMA, memory->sizes[0] - (size_t)pitch * rows);
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

static void poison_plane(struct surface_memory *memory, unsigned plane, uint32_t bytes, uint32_t rows,
                         uint32_t all_rows, uint8_t value)
{
    uint32_t pitch = memory->plane_pitch[plane];
    uint8_t *first = memory_plane(memory, plane);
    for (uint32_t row = 0; row < rows; row++)
        memset(first + (size_t)row * pitch + bytes, value, pitch - bytes);
    memset(first + (size_t)rows * pitch, value, (size_t)(all_rows - rows) * pitch);
}

void memory_poison_border(struct surface_memory *memory, uint32_t width, uint32_t height)
{
    if (memory->owner != MEMORY_DRIVER)
        return;
    uint32_t rows = memory->rows + ROW_PADDING;
    poison_plane(memory, 0, width, height, rows, POISON_LUMA);
    poison_plane(memory, 1, aligned(width, 2), (height + 1) / 2, rows / 2, POISON_CHROMA);
}
