/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the i915 kernel driver tells of the chip. */
#include "i915.h"

#include <errno.h>
#include <string.h>

static uint32_t mask_of(uint32_t count)
{
    return count >= 32 ? UINT32_MAX : (1u << count) - 1;
}

static uint32_t subslices_per_slice(const struct chip *chip)
{
    return chip->intel.subslices / chip->intel.slices;
}

/* What holds for all chips of the table. */
static const struct {
    int parameter, value;
} common_values[] = {
    {I915_PARAM_HAS_GEM, 1},
    {I915_PARAM_HAS_EXECBUF2, 1},
    {I915_PARAM_HAS_BSD, 1},
    {I915_PARAM_HAS_BLT, 1},
    {I915_PARAM_HAS_VEBOX, 1},
    {I915_PARAM_HAS_RELAXED_FENCING, 1},
    {I915_PARAM_HAS_COHERENT_RINGS, 1},
    {I915_PARAM_HAS_RELAXED_DELTA, 1},
    {I915_PARAM_HAS_GEN7_SOL_RESET, 1},
    {I915_PARAM_HAS_WAIT_TIMEOUT, 1},
    {I915_PARAM_HAS_SEMAPHORES, 1},
    {I915_PARAM_HAS_PRIME_VMAP_FLUSH, 1},
    {I915_PARAM_HAS_EXEC_NO_RELOC, 1},
    {I915_PARAM_HAS_EXEC_HANDLE_LUT, 1},
    {I915_PARAM_HAS_COHERENT_PHYS_GTT, 1},
    {I915_PARAM_HAS_EXEC_SOFTPIN, 1},
    {I915_PARAM_HAS_EXEC_ASYNC, 1},
    {I915_PARAM_HAS_EXEC_FENCE, 1},
    {I915_PARAM_HAS_EXEC_CAPTURE, 1},
    {I915_PARAM_HAS_EXEC_BATCH_FIRST, 1},
    {I915_PARAM_HAS_EXEC_FENCE_ARRAY, 1},
    {I915_PARAM_HAS_CONTEXT_ISOLATION, 1},
    {I915_PARAM_HAS_EXEC_SUBMIT_FENCE, 1},
    {I915_PARAM_HAS_USERPTR_PROBE, 1},
    {I915_PARAM_MMAP_GTT_COHERENT, 1},
    {I915_PARAM_HAS_ALIASING_PPGTT, 3}, /* full, 48 bits */
    {I915_PARAM_CMD_PARSER_VERSION, 10},
    {I915_PARAM_MMAP_VERSION, 1},
    {I915_PARAM_MMAP_GTT_VERSION, 4},   /* MMAP_OFFSET is there */
    {I915_PARAM_HAS_GPU_RESET, 2},      /* of single engines */
    {I915_PARAM_PERF_REVISION, 5},
    {I915_PARAM_HAS_SCHEDULER,
     I915_SCHEDULER_CAP_ENABLED | I915_SCHEDULER_CAP_PRIORITY | I915_SCHEDULER_CAP_PREEMPTION},
    {I915_PARAM_HAS_RESOURCE_STREAMER, 0},
    {I915_PARAM_HAS_POOLED_EU, 0},
    {I915_PARAM_MIN_EU_IN_POOL, 0},
    {I915_PARAM_HAS_OVERLAY, 0},
    {I915_PARAM_HAS_PAGEFLIPPING, 0},
    {I915_PARAM_HAS_WT, 0},
    {I915_PARAM_HAS_PINNED_BATCHES, 0},
    {I915_PARAM_HAS_SECURE_BATCHES, 0},
};

static int common_value(int parameter, int *value)
{
    for (size_t index = 0; index < sizeof common_values / sizeof common_values[0]; index++)
        if (common_values[index].parameter == parameter) {
            *value = common_values[index].value;
            return 0;
        }
    return EINVAL;
}

static int value_of(const struct drm_file *file, int parameter, int *value)
{
    const struct chip *chip = file->node->chip;
    const struct intel_traits *intel = &chip->intel;

    switch (parameter) {
    case I915_PARAM_CHIPSET_ID:
        *value = chip->device;
        return 0;
    case I915_PARAM_REVISION:
        *value = chip->revision;
        return 0;
    case I915_PARAM_SUBSLICE_TOTAL:
        *value = (int)intel->subslices;
        return 0;
    case I915_PARAM_EU_TOTAL:
        *value = (int)(intel->subslices * intel->units_per_subslice);
        return 0;
    case I915_PARAM_SLICE_MASK:
        *value = (int)mask_of(intel->slices);
        return 0;
    case I915_PARAM_SUBSLICE_MASK:
        *value = (int)mask_of(subslices_per_slice(chip));
        return 0;
    case I915_PARAM_HUC_STATUS:
        *value = file->node->huc_firmware;
        return 0;
    case I915_PARAM_HAS_LLC:
        *value = intel->local_memory == 0;
        return 0;
    case I915_PARAM_HAS_BSD2: /* more than one video engine */
        *value = (intel->video_engines & (intel->video_engines - 1)) != 0;
        return 0;
    case I915_PARAM_NUM_FENCES_AVAIL:
        *value = intel->local_memory == 0 ? 32 : 0;
        return 0;
    case I915_PARAM_CS_TIMESTAMP_FREQUENCY:
        *value = intel->graphics_version >= 11 ? 19200000 : 12000000;
        return 0;
    default:
        return common_value(parameter, value);
    }
}

int i915_get_parameter(struct drm_file *file, struct drm_i915_getparam *parameter)
{
    int value = 0;
    int error = value_of(file, parameter->param, &value);

    if (error == 0)
        *parameter->value = value;
    return error;
}

/* Answers a query item from `answer`: its length when none was given, else the bytes. */
static void give(struct drm_i915_query_item *item, const void *answer, size_t size)
{
    if (item->length == 0)
        item->length = (int32_t)size;
    else if (item->length < (int32_t)size)
        item->length = -EINVAL;
    else {
        memcpy((void *)(uintptr_t)item->data_ptr, answer, size);
        item->length = (int32_t)size;
    }
}

static void query_topology(const struct chip *chip, struct drm_i915_query_item *item)
{
    union {
        struct drm_i915_query_topology_info header;
        uint8_t bytes[sizeof(struct drm_i915_query_topology_info) + 512];
    } answer = {0};
    uint8_t *masks = answer.header.data;
    uint32_t slices = chip->intel.slices, subslices = subslices_per_slice(chip);
    uint32_t subslice_bytes = (subslices + 7) / 8, unit_bytes = (chip->intel.units_per_subslice + 7) / 8;
    uint32_t subslice_offset = (slices + 7) / 8, unit_offset = subslice_offset + slices * subslice_bytes;

    answer.header.max_slices = (uint16_t)slices;
    answer.header.max_subslices = (uint16_t)subslices;
    answer.header.max_eus_per_subslice = (uint16_t)chip->intel.units_per_subslice;
    answer.header.subslice_offset = (uint16_t)subslice_offset;
    answer.header.subslice_stride = (uint16_t)subslice_bytes;
    answer.header.eu_offset = (uint16_t)unit_offset;
    answer.header.eu_stride = (uint16_t)unit_bytes;
    for (uint32_t slice = 0; slice < slices; slice++) {
        masks[slice / 8] |= (uint8_t)(1 << slice % 8);
        for (uint32_t subslice = 0; subslice < subslices; subslice++) {
            uint8_t *units = masks + unit_offset + (slice * subslices + subslice) * unit_bytes;

            masks[subslice_offset + slice * subslice_bytes + subslice / 8] |= (uint8_t)(1 << subslice % 8);
            memset(units, 0xff, unit_bytes);
        }
    }
    give(item, &answer, sizeof answer.header + unit_offset + slices * subslices * unit_bytes);
}

union engine_list {
    struct drm_i915_query_engine_info header;
    uint8_t bytes[sizeof(struct drm_i915_query_engine_info) +
                  I915_MAXIMUM_ENGINES * sizeof(struct drm_i915_engine_info)];
};

static void add_engines(union engine_list *list, uint16_t class, uint32_t instances, uint64_t capabilities)
{
    for (uint16_t instance = 0; instance < 8; instance++)
        if (instances & 1u << instance)
            list->header.engines[list->header.num_engines++] = (struct drm_i915_engine_info){
                .engine = {.engine_class = class, .engine_instance = instance},
                .flags = I915_ENGINE_INFO_HAS_LOGICAL_INSTANCE,
                .capabilities = capabilities,
                .logical_instance = instance,
            };
}

static void query_engines(const struct chip *chip, struct drm_i915_query_item *item)
{
    union engine_list list = {0};

    add_engines(&list, I915_ENGINE_CLASS_RENDER, 1, 0);
    add_engines(&list, I915_ENGINE_CLASS_COPY, 1, 0);
    add_engines(&list, I915_ENGINE_CLASS_VIDEO, chip->intel.video_engines,
                I915_VIDEO_CLASS_CAPABILITY_HEVC | I915_VIDEO_AND_ENHANCE_CLASS_CAPABILITY_SFC);
    add_engines(&list, I915_ENGINE_CLASS_VIDEO_ENHANCE, chip->intel.enhancement_engines,
                I915_VIDEO_AND_ENHANCE_CLASS_CAPABILITY_SFC);
    if (chip->intel.local_memory > 0)
        add_engines(&list, I915_ENGINE_CLASS_COMPUTE, 0xf, 0);
    give(item, &list, sizeof list.header + list.header.num_engines * sizeof list.header.engines[0]);
}

unsigned i915_memory_regions(const struct chip *chip, struct drm_i915_memory_region_info regions[2])
{
    uint64_t local = chip->intel.local_memory;

    memset(regions, 0, 2 * sizeof *regions);
    regions[0].region.memory_class = I915_MEMORY_CLASS_SYSTEM;
    regions[0].probed_size = regions[0].unallocated_size = 16ull << 30;
    if (local == 0)
        return 1;
    regions[1].region.memory_class = I915_MEMORY_CLASS_DEVICE;
    regions[1].probed_size = regions[1].unallocated_size = local;
    regions[1].probed_cpu_visible_size = regions[1].unallocated_cpu_visible_size = local;
    return 2;
}

static void query_memory(const struct chip *chip, struct drm_i915_query_item *item)
{
    union {
        struct drm_i915_query_memory_regions header;
        uint8_t bytes[sizeof(struct drm_i915_query_memory_regions) + 2 * sizeof(struct drm_i915_memory_region_info)];
    } answer = {0};

    answer.header.num_regions = i915_memory_regions(chip, answer.header.regions);
    give(item, &answer, sizeof answer.header + answer.header.num_regions * sizeof answer.header.regions[0]);
}

int i915_query(struct drm_file *file, struct drm_i915_query *query)
{
    struct drm_i915_query_item *items = (void *)(uintptr_t)query->items_ptr;

    if (query->flags != 0)
        return EINVAL;
    for (uint32_t index = 0; index < query->num_items; index++) {
        struct drm_i915_query_item *item = &items[index];

        switch (item->query_id) {
        case DRM_I915_QUERY_TOPOLOGY_INFO:
        case DRM_I915_QUERY_GEOMETRY_SUBSLICES:
            query_topology(file->node->chip, item);
            break;
        case DRM_I915_QUERY_ENGINE_INFO:
            query_engines(file->node->chip, item);
            break;
        case DRM_I915_QUERY_MEMORY_REGIONS:
            query_memory(file->node->chip, item);
            break;
        case DRM_I915_QUERY_PERF_CONFIG:
        case DRM_I915_QUERY_HWCONFIG_BLOB:
            item->length = -ENODEV;
            break;
        default:
            item->length = -EINVAL;
        }
    }
    return 0;
}
