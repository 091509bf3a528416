/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Video, sequence and picture parameter sets. */
#include "visitor.h"

#include <stdio.h>

/* A.4.1 at level 6.2, the largest: Sqrt(8 * MaxLumaPs) */
#define MAXIMUM_SIDE 16888

/* 7.4.9.11: one matrix */
static void scaling_list(struct syntax *s, struct hevc_scaling_lists *v, unsigned size, unsigned matrix)
{
    unsigned step = size == 3 ? 3 : 1, count = size == 0 ? 16 : 64;
    u(s, indexed(s, "scaling_list_pred_mode_flag[%u][%u]", size, matrix), &v->scaling_list_pred_mode_flag[size][matrix],
      1);
    if (!v->scaling_list_pred_mode_flag[size][matrix]) {
        ue(s, indexed(s, "scaling_list_pred_matrix_id_delta[%u][%u]", size, matrix),
           &v->scaling_list_pred_matrix_id_delta[size][matrix], matrix / step);
        return;
    }
    if (size > 1)
        se(s, indexed(s, "scaling_list_dc_coef_minus8[%u][%u]", size - 2, matrix),
           &v->scaling_list_dc_coef_minus8[size - 2][matrix], -7, 247);
    for (unsigned i = 0; i < count && !s->failed; i++)
        se(s, indexed(s, "scaling_list_delta_coef[%u][%u][%u]", size, matrix, i),
           &v->scaling_list_delta_coef[size][matrix][i], -128, 127);
}

void hevc_scaling_list_data(struct syntax *s, struct hevc_scaling_lists *v)
{
    for (unsigned size = 0; size < 4; size++)
        for (unsigned matrix = 0; matrix < 6 && !s->failed; matrix += size == 3 ? 3 : 1)
            scaling_list(s, v, size, matrix);
}

/* 7.3.2.1 and 7.3.2.2.1: the loop over sub-layers; what is not coded is inferred from the highest. */
static void ordering(struct syntax *s, struct hevc_sub_layer_ordering *v, uint32_t all, uint32_t highest,
                     const char *prefix)
{
    s->scope = prefix;
    for (uint32_t i = all ? 0 : highest; i <= highest && i < HEVC_MAXIMUM_SUB_LAYERS && !s->failed; i++) {
        ue(s, indexed(s, "max_dec_pic_buffering_minus1[%u]", i), &v[i].max_dec_pic_buffering_minus1, 15);
        ue(s, indexed(s, "max_num_reorder_pics[%u]", i), &v[i].max_num_reorder_pics, v[i].max_dec_pic_buffering_minus1);
        ue(s, indexed(s, "max_latency_increase_plus1[%u]", i), &v[i].max_latency_increase_plus1, UINT32_MAX - 1);
    }
    s->scope = "";
    for (uint32_t i = 0; !s->out && !all && i < highest; i++)
        v[i] = v[highest];
}

/* 7.3.2.1 */
static void vps(struct syntax *s, struct hevc_vps *v)
{
    uint32_t vps_reserved_0xffff_16bits = 0xffff;
    u(s, "vps_video_parameter_set_id", &v->vps_video_parameter_set_id, 4);
    u(s, "vps_base_layer_internal_flag", &v->vps_base_layer_internal_flag, 1);
    u(s, "vps_base_layer_available_flag", &v->vps_base_layer_available_flag, 1);
    u_in(s, "vps_max_layers_minus1", &v->vps_max_layers_minus1, 6, 0, 62);
    u_in(s, "vps_max_sub_layers_minus1", &v->vps_max_sub_layers_minus1, 3, 0, 6);
    u_in(s, "vps_temporal_id_nesting_flag", &v->vps_temporal_id_nesting_flag, 1, v->vps_max_sub_layers_minus1 == 0, 1);
    u_in(s, "vps_reserved_0xffff_16bits", &vps_reserved_0xffff_16bits, 16, 0xffff, 0xffff);
    hevc_profile_tier_level(s, &v->profile_tier_level, v->vps_max_sub_layers_minus1);
    u(s, "vps_sub_layer_ordering_info_present_flag", &v->vps_sub_layer_ordering_info_present_flag, 1);
    ordering(s, v->ordering, v->vps_sub_layer_ordering_info_present_flag, v->vps_max_sub_layers_minus1, "vps_");
    u(s, "vps_max_layer_id", &v->vps_max_layer_id, 6);
    ue(s, "vps_num_layer_sets_minus1", &v->vps_num_layer_sets_minus1, 0);
    u(s, "vps_timing_info_present_flag", &v->vps_timing_info_present_flag, 1);
    if (v->vps_timing_info_present_flag) {
        u_in(s, "vps_num_units_in_tick", &v->vps_num_units_in_tick, 32, 1, UINT32_MAX);
        u_in(s, "vps_time_scale", &v->vps_time_scale, 32, 1, UINT32_MAX);
        u(s, "vps_poc_proportional_to_timing_flag", &v->vps_poc_proportional_to_timing_flag, 1);
        if (v->vps_poc_proportional_to_timing_flag)
            ue(s, "vps_num_ticks_poc_diff_one_minus1", &v->vps_num_ticks_poc_diff_one_minus1, UINT32_MAX - 1);
        ue(s, "vps_num_hrd_parameters", &v->vps_num_hrd_parameters, 1);
        if (v->vps_num_hrd_parameters) {
            ue(s, "hrd_layer_set_idx[0]", &v->hrd_layer_set_idx, 0);
            hevc_hrd_parameters(s, &v->hrd, v->vps_max_sub_layers_minus1);
        }
    }
    u_in(s, "vps_extension_flag", &v->vps_extension_flag, 1, 0, 0);
}

/* 7.3.2.2.1, pic_width_in_luma_samples to bit_depth_chroma_minus8; 7.4.3.2.1 for what the offsets may be */
static void sps_picture(struct syntax *s, struct hevc_sps *v)
{
    ue(s, "chroma_format_idc", &v->chroma_format_idc, 3);
    if (v->chroma_format_idc == 3)
        u(s, "separate_colour_plane_flag", &v->separate_colour_plane_flag, 1);
    ue_in(s, "pic_width_in_luma_samples", &v->pic_width_in_luma_samples, 1, MAXIMUM_SIDE);
    ue_in(s, "pic_height_in_luma_samples", &v->pic_height_in_luma_samples, 1, MAXIMUM_SIDE);
    u(s, "conformance_window_flag", &v->conformance_window_flag, 1);
    if (v->conformance_window_flag && !s->failed) {
        uint32_t columns = (v->pic_width_in_luma_samples - 1) / hevc_crop_width(v);
        uint32_t rows = (v->pic_height_in_luma_samples - 1) / hevc_crop_height(v);
        ue(s, "conf_win_left_offset", &v->conf_win_left_offset, columns);
        ue(s, "conf_win_right_offset", &v->conf_win_right_offset, columns - v->conf_win_left_offset);
        ue(s, "conf_win_top_offset", &v->conf_win_top_offset, rows);
        ue(s, "conf_win_bottom_offset", &v->conf_win_bottom_offset, rows - v->conf_win_top_offset);
    }
    ue(s, "bit_depth_luma_minus8", &v->bit_depth_luma_minus8, 8);
    ue(s, "bit_depth_chroma_minus8", &v->bit_depth_chroma_minus8, 8);
}

/* 7.3.2.2.1, sizes of blocks */
static void sps_blocks(struct syntax *s, struct hevc_sps *v)
{
    ue(s, "log2_min_luma_coding_block_size_minus3", &v->log2_min_luma_coding_block_size_minus3, 3);
    ue(s, "log2_diff_max_min_luma_coding_block_size", &v->log2_diff_max_min_luma_coding_block_size,
       3 - v->log2_min_luma_coding_block_size_minus3);
    ue(s, "log2_min_luma_transform_block_size_minus2", &v->log2_min_luma_transform_block_size_minus2,
       v->log2_min_luma_coding_block_size_minus3);
    if (s->failed)
        return;
    uint32_t ctb = hevc_ctb_log2(v), min_tb = v->log2_min_luma_transform_block_size_minus2 + 2;
    uint32_t mask = (1u << hevc_min_cb_log2(v)) - 1, depth = ctb - min_tb;
    if (v->pic_width_in_luma_samples & mask)
        refuse(s, "pic_width_in_luma_samples", "is %u, no multiple of %u", v->pic_width_in_luma_samples, mask + 1);
    if (v->pic_height_in_luma_samples & mask)
        refuse(s, "pic_height_in_luma_samples", "is %u, no multiple of %u", v->pic_height_in_luma_samples, mask + 1);
    ue(s, "log2_diff_max_min_luma_transform_block_size", &v->log2_diff_max_min_luma_transform_block_size,
       (ctb < 5 ? ctb : 5) < min_tb ? 0 : (ctb < 5 ? ctb : 5) - min_tb);
    ue(s, "max_transform_hierarchy_depth_inter", &v->max_transform_hierarchy_depth_inter, depth);
    ue(s, "max_transform_hierarchy_depth_intra", &v->max_transform_hierarchy_depth_intra, depth);
}

/* 7.3.2.2.1, what may be coded in blocks */
static void sps_tools(struct syntax *s, struct hevc_sps *v)
{
    u(s, "scaling_list_enabled_flag", &v->scaling_list_enabled_flag, 1);
    if (v->scaling_list_enabled_flag) {
        u(s, "sps_scaling_list_data_present_flag", &v->sps_scaling_list_data_present_flag, 1);
        if (v->sps_scaling_list_data_present_flag)
            hevc_scaling_list_data(s, &v->scaling_lists);
    }
    u(s, "amp_enabled_flag", &v->amp_enabled_flag, 1);
    u(s, "sample_adaptive_offset_enabled_flag", &v->sample_adaptive_offset_enabled_flag, 1);
    u(s, "pcm_enabled_flag", &v->pcm_enabled_flag, 1);
    if (!v->pcm_enabled_flag)
        return;
    u_in(s, "pcm_sample_bit_depth_luma_minus1", &v->pcm_sample_bit_depth_luma_minus1, 4, 0,
         v->bit_depth_luma_minus8 + 7);
    u_in(s, "pcm_sample_bit_depth_chroma_minus1", &v->pcm_sample_bit_depth_chroma_minus1, 4, 0,
         v->bit_depth_chroma_minus8 + 7);
    ue(s, "log2_min_pcm_luma_coding_block_size_minus3", &v->log2_min_pcm_luma_coding_block_size_minus3, 2);
    ue(s, "log2_diff_max_min_pcm_luma_coding_block_size", &v->log2_diff_max_min_pcm_luma_coding_block_size,
       2 - v->log2_min_pcm_luma_coding_block_size_minus3);
    u(s, "pcm_loop_filter_disabled_flag", &v->pcm_loop_filter_disabled_flag, 1);
}

/* 7.3.2.2.1, reference pictures */
static void sps_references(struct syntax *s, struct hevc_sps *v)
{
    char scope[48];
    ue(s, "num_short_term_ref_pic_sets", &v->num_short_term_ref_pic_sets, HEVC_MAXIMUM_RPS);
    for (uint32_t i = 0; i < v->num_short_term_ref_pic_sets && i < HEVC_MAXIMUM_RPS && !s->failed; i++) {
        snprintf(scope, sizeof scope, "short_term_ref_pic_set[%u].", i);
        s->scope = scope;
        hevc_short_term_ref_pic_set(s, v, &v->short_term_ref_pic_set[i], i);
        s->scope = "";
    }
    u(s, "long_term_ref_pics_present_flag", &v->long_term_ref_pics_present_flag, 1);
    if (!v->long_term_ref_pics_present_flag)
        return;
    ue(s, "num_long_term_ref_pics_sps", &v->num_long_term_ref_pics_sps, HEVC_MAXIMUM_LONG_TERM);
    for (uint32_t i = 0; i < v->num_long_term_ref_pics_sps && i < HEVC_MAXIMUM_LONG_TERM && !s->failed; i++) {
        u(s, indexed(s, "lt_ref_pic_poc_lsb_sps[%u]", i), &v->lt_ref_pic_poc_lsb_sps[i],
          v->log2_max_pic_order_cnt_lsb_minus4 + 4);
        u(s, indexed(s, "used_by_curr_pic_lt_sps_flag[%u]", i), &v->used_by_curr_pic_lt_sps_flag[i], 1);
    }
}

/* Flags of extensions, which all must be off but range extensions. */
static void extensions(struct syntax *s, uint32_t *present, uint32_t *range, const char *prefix)
{
    uint32_t off = 0;
    s->scope = prefix;
    u(s, "extension_present_flag", present, 1);
    if (*present) {
        u(s, "range_extension_flag", range, 1);
        u_in(s, "multilayer_extension_flag", &off, 1, 0, 0);
        u_in(s, "3d_extension_flag", &off, 1, 0, 0);
        u_in(s, "scc_extension_flag", &off, 1, 0, 0);
        u_in(s, "extension_4bits", &off, 4, 0, 0);
    }
    s->scope = "";
}

/* 7.3.2.2.2 */
static void sps_range_extension(struct syntax *s, struct hevc_sps_range_extension *v)
{
    u(s, "transform_skip_rotation_enabled_flag", &v->transform_skip_rotation_enabled_flag, 1);
    u(s, "transform_skip_context_enabled_flag", &v->transform_skip_context_enabled_flag, 1);
    u(s, "implicit_rdpcm_enabled_flag", &v->implicit_rdpcm_enabled_flag, 1);
    u(s, "explicit_rdpcm_enabled_flag", &v->explicit_rdpcm_enabled_flag, 1);
    u(s, "extended_precision_processing_flag", &v->extended_precision_processing_flag, 1);
    u(s, "intra_smoothing_disabled_flag", &v->intra_smoothing_disabled_flag, 1);
    u(s, "high_precision_offsets_enabled_flag", &v->high_precision_offsets_enabled_flag, 1);
    u(s, "persistent_rice_adaptation_enabled_flag", &v->persistent_rice_adaptation_enabled_flag, 1);
    u(s, "cabac_bypass_alignment_enabled_flag", &v->cabac_bypass_alignment_enabled_flag, 1);
}

/* 7.3.2.3.2 */
static void pps_range_extension(struct syntax *s, const struct hevc_pps *pps, struct hevc_pps_range_extension *v)
{
    if (pps->transform_skip_enabled_flag)
        ue(s, "log2_max_transform_skip_block_size_minus2", &v->log2_max_transform_skip_block_size_minus2, 3);
    u(s, "cross_component_prediction_enabled_flag", &v->cross_component_prediction_enabled_flag, 1);
    u_in(s, "chroma_qp_offset_list_enabled_flag", &v->chroma_qp_offset_list_enabled_flag, 1, 0, 0);
    ue(s, "log2_sao_offset_scale_luma", &v->log2_sao_offset_scale_luma, 6);
    ue(s, "log2_sao_offset_scale_chroma", &v->log2_sao_offset_scale_chroma, 6);
}

/* 7.3.2.2.1 */
static void sps(struct syntax *s, struct hevc_sps *v)
{
    u(s, "sps_video_parameter_set_id", &v->sps_video_parameter_set_id, 4);
    u_in(s, "sps_max_sub_layers_minus1", &v->sps_max_sub_layers_minus1, 3, 0, 6);
    u_in(s, "sps_temporal_id_nesting_flag", &v->sps_temporal_id_nesting_flag, 1, v->sps_max_sub_layers_minus1 == 0, 1);
    hevc_profile_tier_level(s, &v->profile_tier_level, v->sps_max_sub_layers_minus1);
    ue(s, "sps_seq_parameter_set_id", &v->sps_seq_parameter_set_id, 15);
    sps_picture(s, v);
    ue(s, "log2_max_pic_order_cnt_lsb_minus4", &v->log2_max_pic_order_cnt_lsb_minus4, 12);
    u(s, "sps_sub_layer_ordering_info_present_flag", &v->sps_sub_layer_ordering_info_present_flag, 1);
    ordering(s, v->ordering, v->sps_sub_layer_ordering_info_present_flag, v->sps_max_sub_layers_minus1, "sps_");
    sps_blocks(s, v);
    sps_tools(s, v);
    sps_references(s, v);
    u(s, "sps_temporal_mvp_enabled_flag", &v->sps_temporal_mvp_enabled_flag, 1);
    u(s, "strong_intra_smoothing_enabled_flag", &v->strong_intra_smoothing_enabled_flag, 1);
    u(s, "vui_parameters_present_flag", &v->vui_parameters_present_flag, 1);
    if (v->vui_parameters_present_flag)
        hevc_vui_parameters(s, &v->vui, v->sps_max_sub_layers_minus1);
    extensions(s, &v->sps_extension_present_flag, &v->sps_range_extension_flag, "sps_");
    if (v->sps_range_extension_flag)
        sps_range_extension(s, &v->range);
}

/* 7.3.2.3.1, tiles */
static void pps_tiles(struct syntax *s, struct hevc_pps *v)
{
    if (!s->out)
        v->uniform_spacing_flag = v->loop_filter_across_tiles_enabled_flag = 1;
    if (!v->tiles_enabled_flag)
        return;
    ue(s, "num_tile_columns_minus1", &v->num_tile_columns_minus1, HEVC_MAXIMUM_TILE_COLUMNS - 1);
    ue(s, "num_tile_rows_minus1", &v->num_tile_rows_minus1, HEVC_MAXIMUM_TILE_ROWS - 1);
    u(s, "uniform_spacing_flag", &v->uniform_spacing_flag, 1);
    if (!v->uniform_spacing_flag) {
        for (uint32_t i = 0; i < v->num_tile_columns_minus1 && i < HEVC_MAXIMUM_TILE_COLUMNS && !s->failed; i++)
            ue(s, indexed(s, "column_width_minus1[%u]", i), &v->column_width_minus1[i], MAXIMUM_SIDE / 16);
        for (uint32_t i = 0; i < v->num_tile_rows_minus1 && i < HEVC_MAXIMUM_TILE_ROWS && !s->failed; i++)
            ue(s, indexed(s, "row_height_minus1[%u]", i), &v->row_height_minus1[i], MAXIMUM_SIDE / 16);
    }
    u(s, "loop_filter_across_tiles_enabled_flag", &v->loop_filter_across_tiles_enabled_flag, 1);
}

/* 7.3.2.3.1, deblocking */
static void pps_deblocking(struct syntax *s, struct hevc_pps *v)
{
    u(s, "pps_loop_filter_across_slices_enabled_flag", &v->pps_loop_filter_across_slices_enabled_flag, 1);
    u(s, "deblocking_filter_control_present_flag", &v->deblocking_filter_control_present_flag, 1);
    if (!v->deblocking_filter_control_present_flag)
        return;
    u(s, "deblocking_filter_override_enabled_flag", &v->deblocking_filter_override_enabled_flag, 1);
    u(s, "pps_deblocking_filter_disabled_flag", &v->pps_deblocking_filter_disabled_flag, 1);
    if (!v->pps_deblocking_filter_disabled_flag) {
        se(s, "pps_beta_offset_div2", &v->pps_beta_offset_div2, -6, 6);
        se(s, "pps_tc_offset_div2", &v->pps_tc_offset_div2, -6, 6);
    }
}

/* 7.3.2.3.1 */
static void pps(struct syntax *s, struct hevc_pps *v)
{
    ue(s, "pps_pic_parameter_set_id", &v->pps_pic_parameter_set_id, 63);
    ue(s, "pps_seq_parameter_set_id", &v->pps_seq_parameter_set_id, 15);
    u(s, "dependent_slice_segments_enabled_flag", &v->dependent_slice_segments_enabled_flag, 1);
    u(s, "output_flag_present_flag", &v->output_flag_present_flag, 1);
    u_in(s, "num_extra_slice_header_bits", &v->num_extra_slice_header_bits, 3, 0, 2);
    u(s, "sign_data_hiding_enabled_flag", &v->sign_data_hiding_enabled_flag, 1);
    u(s, "cabac_init_present_flag", &v->cabac_init_present_flag, 1);
    ue(s, "num_ref_idx_l0_default_active_minus1", &v->num_ref_idx_l0_default_active_minus1, 14);
    ue(s, "num_ref_idx_l1_default_active_minus1", &v->num_ref_idx_l1_default_active_minus1, 14);
    /* The least is -(26 + QpBdOffsetY), with up to 16 bits. */
    se(s, "init_qp_minus26", &v->init_qp_minus26, -74, 25);
    u(s, "constrained_intra_pred_flag", &v->constrained_intra_pred_flag, 1);
    u(s, "transform_skip_enabled_flag", &v->transform_skip_enabled_flag, 1);
    u(s, "cu_qp_delta_enabled_flag", &v->cu_qp_delta_enabled_flag, 1);
    if (v->cu_qp_delta_enabled_flag)
        ue(s, "diff_cu_qp_delta_depth", &v->diff_cu_qp_delta_depth, 3);
    se(s, "pps_cb_qp_offset", &v->pps_cb_qp_offset, -12, 12);
    se(s, "pps_cr_qp_offset", &v->pps_cr_qp_offset, -12, 12);
    u(s, "pps_slice_chroma_qp_offsets_present_flag", &v->pps_slice_chroma_qp_offsets_present_flag, 1);
    u(s, "weighted_pred_flag", &v->weighted_pred_flag, 1);
    u(s, "weighted_bipred_flag", &v->weighted_bipred_flag, 1);
    u(s, "transquant_bypass_enabled_flag", &v->transquant_bypass_enabled_flag, 1);
    u(s, "tiles_enabled_flag", &v->tiles_enabled_flag, 1);
    u(s, "entropy_coding_sync_enabled_flag", &v->entropy_coding_sync_enabled_flag, 1);
    pps_tiles(s, v);
    pps_deblocking(s, v);
    u(s, "pps_scaling_list_data_present_flag", &v->pps_scaling_list_data_present_flag, 1);
    if (v->pps_scaling_list_data_present_flag)
        hevc_scaling_list_data(s, &v->scaling_lists);
    u(s, "lists_modification_present_flag", &v->lists_modification_present_flag, 1);
    ue(s, "log2_parallel_merge_level_minus2", &v->log2_parallel_merge_level_minus2, 4);
    u(s, "slice_segment_header_extension_present_flag", &v->slice_segment_header_extension_present_flag, 1);
    extensions(s, &v->pps_extension_present_flag, &v->pps_range_extension_flag, "pps_");
    if (v->pps_range_extension_flag)
        pps_range_extension(s, v, &v->range);
}

/* Reads or writes the NAL unit header of a parameter set, whose type is given. */
static void parameter_set_header(struct syntax *s, struct hevc_nal_header *nal, uint32_t expected_type)
{
    if (s->out)
        nal->nal_unit_type = expected_type;
    hevc_nal_unit_header(s, nal);
    if (nal->nal_unit_type != expected_type)
        refuse(s, "nal_unit_type", "is %u, expected %u", nal->nal_unit_type, expected_type);
}

bool hevc_read_vps(struct hevc_vps *value, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error)
{
    struct syntax s = syntax_reader(nal, bit_count, options, error);
    *value = (struct hevc_vps){0};
    parameter_set_header(&s, &value->nal, HEVC_NAL_VPS);
    vps(&s, value);
    if (end)
        *end = s.position;
    return !s.failed;
}

bool hevc_read_sps(struct hevc_sps *value, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error)
{
    struct syntax s = syntax_reader(nal, bit_count, options, error);
    *value = (struct hevc_sps){0};
    parameter_set_header(&s, &value->nal, HEVC_NAL_SPS);
    sps(&s, value);
    if (end)
        *end = s.position;
    return !s.failed;
}

bool hevc_read_pps(struct hevc_pps *value, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error)
{
    struct syntax s = syntax_reader(nal, bit_count, options, error);
    *value = (struct hevc_pps){0};
    parameter_set_header(&s, &value->nal, HEVC_NAL_PPS);
    pps(&s, value);
    if (end)
        *end = s.position;
    return !s.failed;
}

void hevc_write_vps(struct bits *bits, const struct hevc_vps *value)
{
    struct syntax s = syntax_writer(bits);
    struct hevc_vps copy = *value;
    parameter_set_header(&s, &copy.nal, HEVC_NAL_VPS);
    vps(&s, &copy);
}

void hevc_write_sps(struct bits *bits, const struct hevc_sps *value)
{
    struct syntax s = syntax_writer(bits);
    struct hevc_sps copy = *value;
    parameter_set_header(&s, &copy.nal, HEVC_NAL_SPS);
    sps(&s, &copy);
}

void hevc_write_pps(struct bits *bits, const struct hevc_pps *value)
{
    struct syntax s = syntax_writer(bits);
    struct hevc_pps copy = *value;
    parameter_set_header(&s, &copy.nal, HEVC_NAL_PPS);
    pps(&s, &copy);
}
