/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parameter sets and headers use against what the driver advertises: VAConfigAttribEncHEVCFeatures and
 * VAConfigAttribEncHEVCBlockSizes. */
#include "hevc_checks.h"

#include <stdio.h>

#define CLAUSE "va.h VAConfigAttribEncHEVCFeatures"
#define SIZES "va.h VAConfigAttribEncHEVCBlockSizes"

/* A tool: what the attribute says of it, and whether it is in use. */
static void check_tool(struct checker *checker, const char *word, uint32_t advertised, bool used)
{
    char name[64];
    if (used && advertised == VA_FEATURE_NOT_SUPPORTED) {
        snprintf(name, sizeof name, "feature-%s-not-advertised", word);
        finding(checker, name, CLAUSE, "is used, but not supported");
    } else if (!used && advertised == VA_FEATURE_REQUIRED) {
        snprintf(name, sizeof name, "feature-%s-required", word);
        finding(checker, name, CLAUSE, "is not used, but required");
    }
}

static void check_slice_tools(struct checker *checker)
{
    bool sao = false, filter_disabled = false, temporal = false, dependent = false;
    for (uint32_t i = 0; checker->have_headers && i < checker->picture.slice_count; i++) {
        const struct hevc_slice_header *header = &checker->picture.slices[i].header.hevc;
        sao = sao || header->slice_sao_luma_flag || header->slice_sao_chroma_flag;
        filter_disabled = filter_disabled || header->slice_deblocking_filter_disabled_flag;
        temporal = temporal || header->slice_temporal_mvp_enabled_flag;
        dependent = dependent || header->dependent_slice_segment_flag;
    }
    const VAConfigAttribValEncHEVCFeatures *features = &checker->config.limits.hevc_features;
    check_tool(checker, "deblocking-disable", features->bits.deblocking_filter_disable, filter_disabled);
    if (features->bits.sao != VA_FEATURE_REQUIRED)
        check_tool(checker, "sao", features->bits.sao, sao);
    if (features->bits.temporal_mvp != VA_FEATURE_REQUIRED)
        check_tool(checker, "temporal-mvp", features->bits.temporal_mvp, temporal);
    if (features->bits.dependent_slices != VA_FEATURE_REQUIRED)
        check_tool(checker, "dependent-slices", features->bits.dependent_slices, dependent);
}

static void check_tools(struct checker *checker)
{
    const VAConfigAttribValEncHEVCFeatures *features = &checker->config.limits.hevc_features;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    check_tool(checker, "separate-planes", features->bits.separate_colour_planes, sps->separate_colour_plane_flag);
    check_tool(checker, "scaling-lists", features->bits.scaling_lists,
               sps->scaling_list_enabled_flag || pps->pps_scaling_list_data_present_flag);
    check_tool(checker, "amp", features->bits.amp, sps->amp_enabled_flag);
    check_tool(checker, "pcm", features->bits.pcm, sps->pcm_enabled_flag);
    check_tool(checker, "strong-intra", features->bits.strong_intra_smoothing,
               sps->strong_intra_smoothing_enabled_flag);
    check_tool(checker, "sign-hiding", features->bits.sign_data_hiding, pps->sign_data_hiding_enabled_flag);
    check_tool(checker, "constrained-intra", features->bits.constrained_intra_pred, pps->constrained_intra_pred_flag);
    check_tool(checker, "transform-skip", features->bits.transform_skip, pps->transform_skip_enabled_flag);
    check_tool(checker, "cu-qp-delta", features->bits.cu_qp_delta, pps->cu_qp_delta_enabled_flag);
    check_tool(checker, "weighted-prediction", features->bits.weighted_prediction,
               pps->weighted_pred_flag || pps->weighted_bipred_flag);
    check_tool(checker, "transquant-bypass", features->bits.transquant_bypass, pps->transquant_bypass_enabled_flag);
    check_slice_tools(checker);
    if (pps->tiles_enabled_flag)
        finding(checker, "feature-tiles-not-advertised", "va.h VAConfigAttribEncTileSupport",
                "%u x %u tiles", pps->num_tile_columns_minus1 + 1, pps->num_tile_rows_minus1 + 1);
    if (pps->entropy_coding_sync_enabled_flag)
        finding(checker, "feature-wavefronts-not-advertised", CLAUSE, "entropy_coding_sync_enabled_flag is 1");
    if (checker->config.rate_control & ~(uint32_t)(VA_RC_CQP | VA_RC_NONE) && !pps->cu_qp_delta_enabled_flag)
        finding(checker, "rate-without-cu-qp-delta", "H.265 7.4.3.3.1 cu_qp_delta_enabled_flag",
                "is 0: the rate control 0x%x can change no QP below the slice's", checker->config.rate_control);
}

static void check_sizes(struct checker *checker)
{
    const VAConfigAttribValEncHEVCBlockSizes *sizes = &checker->config.limits.hevc_block_sizes;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    int64_t tree = hevc_ctb_log2(sps), least_transform = sps->log2_min_luma_transform_block_size_minus2 + 2;
    int64_t most_transform = least_transform + sps->log2_diff_max_min_luma_transform_block_size;
    expect_range(checker, "block-size-tree", SIZES, tree, sizes->bits.log2_min_coding_tree_block_size_minus3 + 3,
                 sizes->bits.log2_max_coding_tree_block_size_minus3 + 3);
    expect_range(checker, "block-size-coding", SIZES, hevc_min_cb_log2(sps),
                 sizes->bits.log2_min_luma_coding_block_size_minus3 + 3, tree);
    expect_range(checker, "block-size-transform-largest", SIZES, most_transform, least_transform,
                 sizes->bits.log2_max_luma_transform_block_size_minus2 + 2);
    expect_range(checker, "block-size-transform-smallest", SIZES, least_transform,
                 sizes->bits.log2_min_luma_transform_block_size_minus2 + 2, most_transform);
    expect_range(checker, "block-depth-inter", SIZES, sps->max_transform_hierarchy_depth_inter,
                 sizes->bits.min_max_transform_hierarchy_depth_inter,
                 sizes->bits.max_max_transform_hierarchy_depth_inter);
    expect_range(checker, "block-depth-intra", SIZES, sps->max_transform_hierarchy_depth_intra,
                 sizes->bits.min_max_transform_hierarchy_depth_intra,
                 sizes->bits.max_max_transform_hierarchy_depth_intra);
}

void hevc_check_features(struct checker *checker)
{
    check_tools(checker);
    check_sizes(checker);
}
