/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the personas have of HEVC. Everything else is as for H.264. */
#include "personas.h"

#include <string.h>

/* Block sizes of the persona `intel` beside its low-power entrypoint: any coding tree block but 8x8. */
static const VAConfigAttribValEncHEVCBlockSizes all_sizes = {.bits = {
    .log2_max_coding_tree_block_size_minus3 = 3,
    .log2_min_coding_tree_block_size_minus3 = 1,
    .log2_min_luma_coding_block_size_minus3 = 0,
    .log2_max_luma_transform_block_size_minus2 = 3,
    .log2_min_luma_transform_block_size_minus2 = 0,
    .max_max_transform_hierarchy_depth_inter = 3,
    .max_max_transform_hierarchy_depth_intra = 3,
}};

/* Fixed-function encoders have coding tree blocks of 64x64 only. These are what Intel's iHD lists. */
static const VAConfigAttribValEncHEVCBlockSizes fixed_sizes = {.bits = {
    .log2_max_coding_tree_block_size_minus3 = 3,
    .log2_min_coding_tree_block_size_minus3 = 3,
    .log2_min_luma_coding_block_size_minus3 = 0,
    .log2_max_luma_transform_block_size_minus2 = 3,
    .log2_min_luma_transform_block_size_minus2 = 0,
    .max_max_transform_hierarchy_depth_inter = 2,
    .max_max_transform_hierarchy_depth_intra = 2,
}};

static const VAConfigAttribValEncHEVCBlockSizes amd_sizes = {.bits = {
    .log2_max_coding_tree_block_size_minus3 = 3,
    .log2_min_coding_tree_block_size_minus3 = 3,
    .log2_min_luma_coding_block_size_minus3 = 0,
    .log2_max_luma_transform_block_size_minus2 = 3,
    .log2_min_luma_transform_block_size_minus2 = 0,
}};

static const VAConfigAttribValEncHEVCFeatures all_features = {.bits = {
    .amp = VA_FEATURE_SUPPORTED,
    .sao = VA_FEATURE_SUPPORTED,
    .temporal_mvp = VA_FEATURE_SUPPORTED,
    .strong_intra_smoothing = VA_FEATURE_SUPPORTED,
    .dependent_slices = VA_FEATURE_SUPPORTED,
    .sign_data_hiding = VA_FEATURE_SUPPORTED,
    .constrained_intra_pred = VA_FEATURE_SUPPORTED,
    .transform_skip = VA_FEATURE_SUPPORTED,
    .cu_qp_delta = VA_FEATURE_SUPPORTED,
    .deblocking_filter_disable = VA_FEATURE_SUPPORTED,
}};

/* What iHD lists (../node/vendor-drivers.txt), but scaling lists and weighted prediction, which are not coded here. */
static const VAConfigAttribValEncHEVCFeatures low_power_features = {.bits = {
    .amp = VA_FEATURE_REQUIRED,
    .sao = VA_FEATURE_SUPPORTED,
    .temporal_mvp = VA_FEATURE_SUPPORTED,
    .transform_skip = VA_FEATURE_SUPPORTED,
    .cu_qp_delta = VA_FEATURE_REQUIRED,
}};

/* What radeonsi lists, and cu_qp_delta, without which the rate control here can do nothing. */
static const VAConfigAttribValEncHEVCFeatures amd_features = {.bits = {
    .amp = VA_FEATURE_SUPPORTED,
    .sao = VA_FEATURE_SUPPORTED,
    .strong_intra_smoothing = VA_FEATURE_SUPPORTED,
    .constrained_intra_pred = VA_FEATURE_SUPPORTED,
    .cu_qp_delta = VA_FEATURE_SUPPORTED,
    .deblocking_filter_disable = VA_FEATURE_SUPPORTED,
}};

static void set_references(struct persona_limits *limits, uint32_t first, uint32_t second)
{
    limits->maximum_references[0] = first;
    limits->maximum_references[1] = second;
}

/* No P slices: what would be one is a B slice whose lists both have pictures of the past. */
static void make_low_delay(struct persona_limits *limits)
{
    set_references(limits, 3, 3);
    limits->prediction_directions = VA_PREDICTION_DIRECTION_PREVIOUS | VA_PREDICTION_DIRECTION_BI_NOT_EMPTY;
    limits->hevc_features = low_power_features;
    limits->hevc_block_sizes = fixed_sizes;
}

/* No B slices of any generation so far; the second one takes all headers, and skips transforms. */
static void make_amd(struct persona *persona)
{
    struct persona_limits *limits = &persona->hevc_full;
    bool takes_headers = limits->packed_headers != VA_ENC_PACKED_HEADER_NONE;
    set_references(limits, 1, 0);
    limits->hevc_features = amd_features;
    limits->hevc_block_sizes = amd_sizes;
    limits->width_alignment = 64;
    limits->height_alignment = 16;
    limits->minimum_width = limits->minimum_height = 64;
    if (takes_headers)
        limits->hevc_features.bits.transform_skip = VA_FEATURE_SUPPORTED;
    else
        limits->packed_headers = VA_ENC_PACKED_HEADER_SEQUENCE;
    persona->hevc_low_power = *limits;
}

void persona_add_hevc(struct persona *persona)
{
    persona->hevc_full = persona->full;
    persona->hevc_low_power = persona->low_power;
    persona->hevc_full.trellis = persona->hevc_low_power.trellis = false;
    if (strncmp(persona->name, "amd", 3) == 0) {
        make_amd(persona);
        return;
    }
    set_references(&persona->hevc_full, 4, 4);
    persona->hevc_full.hevc_features = all_features;
    persona->hevc_full.hevc_block_sizes = all_sizes;
    make_low_delay(&persona->hevc_low_power);
    if (!persona->full_entrypoint)
        persona->hevc_full = persona->hevc_low_power;
}

/* What the limits must name at least for a profile of range extensions. */
static enum persona_hevc least_for(VAProfile profile)
{
    switch (profile) {
    case VAProfileHEVCMain422_10:
        return HEVC_MAIN_422;
    case VAProfileHEVCMain444:
    case VAProfileHEVCMain444_10:
        return HEVC_MAIN_444;
    default:
        return HEVC_ALL;
    }
}

uint32_t profile_rt_formats(VAProfile profile)
{
    switch (profile) {
    case VAProfileHEVCMain10:
        return VA_RT_FORMAT_YUV420_10;
    case VAProfileHEVCMain12:
        return VA_RT_FORMAT_YUV420_12;
    case VAProfileHEVCMain422_10:
        return VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_YUV422_10;
    case VAProfileHEVCMain422_12:
        return VA_RT_FORMAT_YUV422_12;
    case VAProfileHEVCMain444:
        return VA_RT_FORMAT_YUV444;
    case VAProfileHEVCMain444_10:
        return VA_RT_FORMAT_YUV444_10;
    case VAProfileHEVCMain444_12:
        return VA_RT_FORMAT_YUV444_12;
    default:
        return VA_RT_FORMAT_YUV420;
    }
}

bool persona_encodes_extension(const struct persona *persona, VAProfile profile)
{
    bool known = profile == VAProfileHEVCMain12 || profile == VAProfileHEVCMain422_10 ||
                 profile == VAProfileHEVCMain422_12 || profile == VAProfileHEVCMain444 ||
                 profile == VAProfileHEVCMain444_10 || profile == VAProfileHEVCMain444_12;
    bool entered = persona->full_entrypoint || persona_has_low_power_extension(profile);
    return known && entered && persona->hevc >= least_for(profile) &&
           persona_rt_formats(persona) & profile_rt_formats(profile);
}

/* As iHD has it from Tiger Lake on: 4:2:2 and 4:4:4 of up to 10 bits. */
bool persona_has_low_power_extension(VAProfile profile)
{
    return profile != VAProfileHEVCMain12 && profile != VAProfileHEVCMain422_12 && profile != VAProfileHEVCMain444_12;
}
