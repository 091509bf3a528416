/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the xe kernel driver tells of the chip. */
#include "xe.h"

#if __has_include(<drm/xe_drm.h>)

#include <errno.h>
#include <string.h>

enum {
    GRAPHICS = 0, MEDIA = 1, /* ids of the GTs */
    ADDRESS_BITS = 48,
    CLOCK = 19200000, /* per second */
};

/* Answers a query from `answer`: its size when none was given, else the bytes. */
static int give(struct drm_xe_device_query *query, const void *answer, size_t size)
{
    if (query->size == 0) {
        query->size = (uint32_t)size;
        return 0;
    }
    if (query->size != size)
        return EINVAL;
    memcpy((void *)(uintptr_t)query->data, answer, size);
    return 0;
}

bool xe_has_engine(const struct chip *chip, const struct drm_xe_engine_class_instance *engine)
{
    uint32_t instances = 0;

    switch (engine->engine_class) {
    case DRM_XE_ENGINE_CLASS_RENDER:
    case DRM_XE_ENGINE_CLASS_COPY:
    case DRM_XE_ENGINE_CLASS_COMPUTE:
        instances = engine->gt_id == GRAPHICS;
        break;
    case DRM_XE_ENGINE_CLASS_VIDEO_DECODE:
        instances = engine->gt_id == MEDIA ? chip->intel.video_engines : 0;
        break;
    case DRM_XE_ENGINE_CLASS_VIDEO_ENHANCE:
        instances = engine->gt_id == MEDIA ? chip->intel.enhancement_engines : 0;
        break;
    }
    return engine->engine_instance < 8 && (instances & 1u << engine->engine_instance);
}

static int give_engines(const struct chip *chip, struct drm_xe_device_query *query)
{
    union {
        struct drm_xe_query_engines header;
        uint8_t bytes[sizeof(struct drm_xe_query_engines) + I915_MAXIMUM_ENGINES * sizeof(struct drm_xe_engine)];
    } answer = {0};

    for (uint16_t place = 0; place < 2 * 5 * 8; place++) {
        struct drm_xe_engine_class_instance engine = {
            .engine_class = place / 8 % 5, .engine_instance = place % 8, .gt_id = place / (5 * 8),
        };

        if (xe_has_engine(chip, &engine) && answer.header.num_engines < I915_MAXIMUM_ENGINES)
            answer.header.engines[answer.header.num_engines++].instance = engine;
    }
    return give(query, &answer, sizeof answer.header + answer.header.num_engines * sizeof answer.header.engines[0]);
}

static int give_memory(const struct chip *chip, struct drm_xe_device_query *query)
{
    union {
        struct drm_xe_query_mem_regions header;
        uint8_t bytes[sizeof(struct drm_xe_query_mem_regions) + 2 * sizeof(struct drm_xe_mem_region)];
    } answer = {0};
    struct drm_xe_mem_region *regions = answer.header.mem_regions;
    uint64_t local = chip->intel.local_memory;

    regions[0].mem_class = DRM_XE_MEM_REGION_CLASS_SYSMEM;
    regions[0].min_page_size = 4096;
    regions[0].total_size = 16ull << 30;
    regions[1].mem_class = DRM_XE_MEM_REGION_CLASS_VRAM;
    regions[1].instance = 1;
    regions[1].min_page_size = 65536;
    regions[1].total_size = regions[1].cpu_visible_size = local;
    answer.header.num_mem_regions = local > 0 ? 2 : 1;
    return give(query, &answer, sizeof answer.header + answer.header.num_mem_regions * sizeof regions[0]);
}

static int give_configuration(const struct chip *chip, struct drm_xe_device_query *query)
{
    bool has_local = chip->intel.local_memory > 0;
    uint64_t answer[] = {
        5, /* of the header: how many follow */
        [1 + DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID] = chip->device | (uint64_t)chip->revision << 16,
        [1 + DRM_XE_QUERY_CONFIG_FLAGS] = has_local ? DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM : 0,
        [1 + DRM_XE_QUERY_CONFIG_MIN_ALIGNMENT] = has_local ? 65536 : 4096,
        [1 + DRM_XE_QUERY_CONFIG_VA_BITS] = ADDRESS_BITS,
        [1 + DRM_XE_QUERY_CONFIG_MAX_EXEC_QUEUE_PRIORITY] = 1,
    };

    return give(query, answer, sizeof answer);
}

static int give_list(const struct chip *chip, struct drm_xe_device_query *query)
{
    union {
        struct drm_xe_query_gt_list header;
        uint8_t bytes[sizeof(struct drm_xe_query_gt_list) + 2 * sizeof(struct drm_xe_gt)];
    } answer = {.header.num_gt = 2};
    bool has_local = chip->intel.local_memory > 0;

    for (uint16_t id = GRAPHICS; id <= MEDIA; id++)
        answer.header.gt_list[id] = (struct drm_xe_gt){
            .type = id == MEDIA ? DRM_XE_QUERY_GT_TYPE_MEDIA : DRM_XE_QUERY_GT_TYPE_MAIN,
            .gt_id = id,
            .reference_clock = CLOCK,
            .near_mem_regions = has_local ? 2 : 1,
            .far_mem_regions = has_local ? 1 : 0,
            .ip_ver_major = (uint16_t)(id == MEDIA ? chip->intel.media_version : chip->intel.graphics_version),
            .ip_ver_minor = (uint16_t)(id == MEDIA ? chip->intel.media_release : chip->intel.graphics_release),
        };
    return give(query, &answer, sizeof answer.header + 2 * sizeof(struct drm_xe_gt));
}

/* The table of the GuC firmware: key, count of values, values. */
static int give_hardware(const struct chip *chip, struct drm_xe_device_query *query)
{
    enum { SLICES = 1, SUBSLICES = 2, UNITS_PER_SUBSLICE = 3, THREADS_PER_UNIT = 15, ENHANCEMENT_ENGINES = 26 };
    const struct intel_traits *intel = &chip->intel;
    uint32_t answer[] = {
        SLICES, 1, intel->slices, SUBSLICES, 1, intel->subslices, UNITS_PER_SUBSLICE, 1, intel->units_per_subslice,
        THREADS_PER_UNIT, 1, 8, ENHANCEMENT_ENGINES, 1, (uint32_t)__builtin_popcount(intel->enhancement_engines),
    };

    return give(query, answer, sizeof answer);
}

static int give_firmware(const struct node_settings *node, struct drm_xe_device_query *query)
{
    struct drm_xe_query_uc_fw_version *version = (void *)(uintptr_t)query->data;

    if (query->size == 0) {
        query->size = sizeof *version;
        return 0;
    }
    if (query->size != sizeof *version || version->uc_type > XE_QUERY_UC_TYPE_HUC)
        return EINVAL;
    if (version->uc_type == XE_QUERY_UC_TYPE_HUC && !node->huc_firmware)
        return ENODEV;
    version->major_ver = version->uc_type == XE_QUERY_UC_TYPE_HUC ? 9 : 1;
    version->minor_ver = version->uc_type == XE_QUERY_UC_TYPE_HUC ? 4 : 13;
    return 0;
}

int xe_query(struct drm_file *file, struct drm_xe_device_query *query)
{
    const struct chip *chip = file->node->chip;

    switch (query->query) {
    case DRM_XE_DEVICE_QUERY_ENGINES:
        return give_engines(chip, query);
    case DRM_XE_DEVICE_QUERY_MEM_REGIONS:
        return give_memory(chip, query);
    case DRM_XE_DEVICE_QUERY_CONFIG:
        return give_configuration(chip, query);
    case DRM_XE_DEVICE_QUERY_GT_LIST:
        return give_list(chip, query);
    case DRM_XE_DEVICE_QUERY_HWCONFIG:
        return give_hardware(chip, query);
    case DRM_XE_DEVICE_QUERY_UC_FW_VERSION:
        return give_firmware(file->node, query);
    default:
        return EINVAL;
    }
}

#endif
