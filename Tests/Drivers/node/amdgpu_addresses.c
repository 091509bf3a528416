/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address space of an AMD GPU. */
#include "amdgpu.h"

#include <errno.h>
#include <stdlib.h>

static bool is_within(const struct amdgpu_mapping *mapping, uint64_t address, uint64_t size)
{
    return address >= mapping->address && address - mapping->address < mapping->size &&
           size <= mapping->size - (address - mapping->address);
}

uint8_t *amdgpu_memory(struct amdgpu_file *amdgpu, uint64_t address, uint64_t size)
{
    for (uint32_t index = 0; index < amdgpu->mapping_count; index++) {
        const struct amdgpu_mapping *mapping = &amdgpu->mappings[index];

        if (!is_within(mapping, address, size))
            continue;
        uint64_t offset = mapping->offset + (address - mapping->address);
        uint8_t *bytes = object_bytes(mapping->object);
        return bytes != NULL && size <= mapping->object->size && offset <= mapping->object->size - size
                   ? bytes + offset
                   : NULL;
    }
    return NULL;
}

/* Removes all that begins in a range. */
static bool remove_range(struct amdgpu_file *amdgpu, uint64_t address, uint64_t size)
{
    uint32_t kept = 0, count = amdgpu->mapping_count;

    for (uint32_t index = 0; index < count; index++) {
        struct amdgpu_mapping mapping = amdgpu->mappings[index];

        if (mapping.address >= address && mapping.address - address < size)
            object_release(mapping.object);
        else
            amdgpu->mappings[kept++] = mapping;
    }
    amdgpu->mapping_count = kept;
    return kept < count;
}

static int add(struct amdgpu_file *amdgpu, struct object *object, const struct drm_amdgpu_gem_va *change)
{
    if (amdgpu->mapping_count == amdgpu->mapping_capacity) {
        uint32_t grown = amdgpu->mapping_capacity == 0 ? 64 : 2 * amdgpu->mapping_capacity;
        struct amdgpu_mapping *larger = realloc(amdgpu->mappings, grown * sizeof *larger);

        if (larger == NULL)
            return ENOMEM;
        amdgpu->mappings = larger;
        amdgpu->mapping_capacity = grown;
    }
    object_retain(object);
    amdgpu->mappings[amdgpu->mapping_count++] = (struct amdgpu_mapping){
        .object = object, .address = change->va_address, .size = change->map_size, .offset = change->offset_in_bo,
    };
    return 0;
}

int amdgpu_change_mapping(struct drm_file *file, const struct drm_amdgpu_gem_va *change)
{
    bool is_partly_resident = change->flags & AMDGPU_VM_PAGE_PRT;
    struct object *object = object_of_handle(file, change->handle);

    if (is_partly_resident || change->operation == AMDGPU_VA_OP_CLEAR) {
        remove_range(file->amdgpu, change->va_address, change->map_size);
        return 0;
    }
    if (object == NULL)
        return ENOENT;
    switch (change->operation) {
    case AMDGPU_VA_OP_UNMAP:
        return remove_range(file->amdgpu, change->va_address, 1) ? 0 : ENOENT;
    case AMDGPU_VA_OP_REPLACE:
        remove_range(file->amdgpu, change->va_address, change->map_size);
        return add(file->amdgpu, object, change);
    case AMDGPU_VA_OP_MAP:
        return add(file->amdgpu, object, change);
    default:
        return EINVAL;
    }
}
