/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HEVC parameter sets and slice segment headers: described once (parameter_sets.c, slice_header.c and others), read,
 * written and traced by visitors of that description. Values carry the specification's names (ITU-T H.265, 12/2016
 * numbering). Arrays hold what the syntax carries, not what is derived from it. */
#ifndef DRIVERS_HEVC_SYNTAX_H
#define DRIVERS_HEVC_SYNTAX_H

#include "../common/bits.h"
#include "../common/syntax_options.h"
#include "../common/vui.h"

enum hevc_nal_unit_type {
    HEVC_NAL_TRAIL_N = 0,
    HEVC_NAL_TRAIL_R = 1,
    HEVC_NAL_RADL_N = 6,
    HEVC_NAL_RADL_R = 7,
    HEVC_NAL_RASL_N = 8,
    HEVC_NAL_RASL_R = 9,
    HEVC_NAL_BLA_W_LP = 16,
    HEVC_NAL_BLA_N_LP = 18,
    HEVC_NAL_IDR_W_RADL = 19,
    HEVC_NAL_IDR_N_LP = 20,
    HEVC_NAL_CRA = 21,
    HEVC_NAL_VPS = 32,
    HEVC_NAL_SPS = 33,
    HEVC_NAL_PPS = 34,
    HEVC_NAL_AUD = 35,
    HEVC_NAL_EOS = 36,
    HEVC_NAL_EOB = 37,
    HEVC_NAL_FILLER = 38,
    HEVC_NAL_PREFIX_SEI = 39,
    HEVC_NAL_SUFFIX_SEI = 40,
};

enum hevc_slice_type { HEVC_SLICE_B = 0, HEVC_SLICE_P = 1, HEVC_SLICE_I = 2 };

#define HEVC_MAXIMUM_REFERENCES 16  /* entries of a reference list, and of either half of a reference picture set */
#define HEVC_MAXIMUM_RPS 64         /* num_short_term_ref_pic_sets */
#define HEVC_MAXIMUM_SUB_LAYERS 7
#define HEVC_MAXIMUM_LONG_TERM 32   /* num_long_term_ref_pics_sps; a slice has as many at most */
#define HEVC_MAXIMUM_TILE_COLUMNS 20
#define HEVC_MAXIMUM_TILE_ROWS 22
#define HEVC_MAXIMUM_ENTRY_POINTS 440

/* 7.3.1.2. nal_unit_type is that of the structure it belongs to, except in slice headers. */
struct hevc_nal_header {
    uint32_t nal_unit_type, nuh_layer_id, nuh_temporal_id_plus1;
};

/* 7.3.3, what is stated of the whole or of one sub-layer. */
struct hevc_profile {
    uint32_t profile_space, tier_flag, profile_idc;
    uint32_t profile_compatibility_flags; /* bit 31 - j is profile_compatibility_flag[j] */
    uint32_t progressive_source_flag, interlaced_source_flag, non_packed_constraint_flag, frame_only_constraint_flag;
    uint32_t constraint_bits[2]; /* the 43 bits whose meaning depends on the profile: first 11, then 32 */
    uint32_t inbld_flag;         /* or reserved_zero_bit */
    uint32_t level_idc;          /* 30 times the level */
};

struct hevc_profile_tier_level {
    struct hevc_profile general;
    uint32_t sub_layer_profile_present_flag[HEVC_MAXIMUM_SUB_LAYERS - 1];
    uint32_t sub_layer_level_present_flag[HEVC_MAXIMUM_SUB_LAYERS - 1];
    struct hevc_profile sub_layer[HEVC_MAXIMUM_SUB_LAYERS - 1];
};

/* sps_max_dec_pic_buffering_minus1 and its like, by sub-layer; of all sub-layers after reading, where only those of
 * the highest are coded. */
struct hevc_sub_layer_ordering {
    uint32_t max_dec_pic_buffering_minus1, max_num_reorder_pics, max_latency_increase_plus1;
};

/* E.2.3 */
struct hevc_sub_layer_hrd {
    uint32_t bit_rate_value_minus1[32], cpb_size_value_minus1[32];
    uint32_t cpb_size_du_value_minus1[32], bit_rate_du_value_minus1[32], cbr_flag[32];
};

/* E.2.2 */
struct hevc_hrd {
    uint32_t nal_hrd_parameters_present_flag, vcl_hrd_parameters_present_flag, sub_pic_hrd_params_present_flag;
    uint32_t tick_divisor_minus2, du_cpb_removal_delay_increment_length_minus1;
    uint32_t sub_pic_cpb_params_in_pic_timing_sei_flag, dpb_output_delay_du_length_minus1;
    uint32_t bit_rate_scale, cpb_size_scale, cpb_size_du_scale;
    uint32_t initial_cpb_removal_delay_length_minus1, au_cpb_removal_delay_length_minus1;
    uint32_t dpb_output_delay_length_minus1;
    struct {
        uint32_t fixed_pic_rate_general_flag, fixed_pic_rate_within_cvs_flag, elemental_duration_in_tc_minus1;
        uint32_t low_delay_hrd_flag, cpb_cnt_minus1;
        struct hevc_sub_layer_hrd nal, vcl;
    } sub_layers[HEVC_MAXIMUM_SUB_LAYERS];
};

/* E.2.1 */
struct hevc_vui {
    struct vui_picture picture;
    uint32_t neutral_chroma_indication_flag, field_seq_flag, frame_field_info_present_flag;
    uint32_t default_display_window_flag;
    uint32_t def_disp_win_left_offset, def_disp_win_right_offset, def_disp_win_top_offset, def_disp_win_bottom_offset;
    uint32_t vui_timing_info_present_flag, vui_num_units_in_tick, vui_time_scale;
    uint32_t vui_poc_proportional_to_timing_flag, vui_num_ticks_poc_diff_one_minus1;
    uint32_t vui_hrd_parameters_present_flag;
    struct hevc_hrd hrd;
    uint32_t bitstream_restriction_flag, tiles_fixed_structure_flag, motion_vectors_over_pic_boundaries_flag;
    uint32_t restricted_ref_pic_lists_flag, min_spatial_segmentation_idc, max_bytes_per_pic_denom;
    uint32_t max_bits_per_min_cu_denom, log2_max_mv_length_horizontal, log2_max_mv_length_vertical;
};

/* 7.3.2.1 */
struct hevc_vps {
    struct hevc_nal_header nal;
    uint32_t vps_video_parameter_set_id, vps_base_layer_internal_flag, vps_base_layer_available_flag;
    uint32_t vps_max_layers_minus1, vps_max_sub_layers_minus1, vps_temporal_id_nesting_flag;
    struct hevc_profile_tier_level profile_tier_level;
    uint32_t vps_sub_layer_ordering_info_present_flag;
    struct hevc_sub_layer_ordering ordering[HEVC_MAXIMUM_SUB_LAYERS];
    uint32_t vps_max_layer_id, vps_num_layer_sets_minus1; /* at most 0 is read: sets of layers are refused */
    uint32_t vps_timing_info_present_flag, vps_num_units_in_tick, vps_time_scale;
    uint32_t vps_poc_proportional_to_timing_flag, vps_num_ticks_poc_diff_one_minus1;
    uint32_t vps_num_hrd_parameters; /* at most 1 is read */
    uint32_t hrd_layer_set_idx;
    struct hevc_hrd hrd;
    uint32_t vps_extension_flag; /* 0, else refused */
};

/* 7.3.4 as coded. Size 0 is 4x4, 1 8x8, 2 16x16, 3 32x32; matrices of size 3 are 0 and 3. */
struct hevc_scaling_lists {
    uint32_t scaling_list_pred_mode_flag[4][6], scaling_list_pred_matrix_id_delta[4][6];
    int32_t scaling_list_dc_coef_minus8[2][6]; /* of sizes 2 and 3 */
    int32_t scaling_list_delta_coef[4][6][64];
};

/* 7.3.7 as coded */
struct hevc_short_term_rps {
    uint32_t inter_ref_pic_set_prediction_flag, delta_idx_minus1, delta_rps_sign, abs_delta_rps_minus1;
    uint32_t used_by_curr_pic_flag[HEVC_MAXIMUM_REFERENCES + 1], use_delta_flag[HEVC_MAXIMUM_REFERENCES + 1];
    uint32_t num_negative_pics, num_positive_pics; /* as coded; without prediction only */
    uint32_t delta_poc_s0_minus1[HEVC_MAXIMUM_REFERENCES], used_by_curr_pic_s0_flag[HEVC_MAXIMUM_REFERENCES];
    uint32_t delta_poc_s1_minus1[HEVC_MAXIMUM_REFERENCES], used_by_curr_pic_s1_flag[HEVC_MAXIMUM_REFERENCES];
};

/* 7.4.8: what a short-term reference picture set stands for: DeltaPocS0, UsedByCurrPicS0 and so on. */
struct hevc_rps {
    uint32_t negative_count, positive_count; /* NumNegativePics, NumPositivePics; both together at most 16 */
    int32_t delta_s0[HEVC_MAXIMUM_REFERENCES], delta_s1[HEVC_MAXIMUM_REFERENCES]; /* below 0; above 0; nearest first */
    bool used_s0[HEVC_MAXIMUM_REFERENCES], used_s1[HEVC_MAXIMUM_REFERENCES];
};

/* 7.3.2.2.2 */
struct hevc_sps_range_extension {
    uint32_t transform_skip_rotation_enabled_flag, transform_skip_context_enabled_flag, implicit_rdpcm_enabled_flag;
    uint32_t explicit_rdpcm_enabled_flag, extended_precision_processing_flag, intra_smoothing_disabled_flag;
    uint32_t high_precision_offsets_enabled_flag, persistent_rice_adaptation_enabled_flag;
    uint32_t cabac_bypass_alignment_enabled_flag;
};

/* 7.3.2.2 */
struct hevc_sps {
    struct hevc_nal_header nal;
    uint32_t sps_video_parameter_set_id, sps_max_sub_layers_minus1, sps_temporal_id_nesting_flag;
    struct hevc_profile_tier_level profile_tier_level;
    uint32_t sps_seq_parameter_set_id, chroma_format_idc, separate_colour_plane_flag;
    uint32_t pic_width_in_luma_samples, pic_height_in_luma_samples;
    uint32_t conformance_window_flag; /* offsets in units of chroma samples: hevc_crop_width, hevc_crop_height */
    uint32_t conf_win_left_offset, conf_win_right_offset, conf_win_top_offset, conf_win_bottom_offset;
    uint32_t bit_depth_luma_minus8, bit_depth_chroma_minus8, log2_max_pic_order_cnt_lsb_minus4;
    uint32_t sps_sub_layer_ordering_info_present_flag;
    struct hevc_sub_layer_ordering ordering[HEVC_MAXIMUM_SUB_LAYERS];
    uint32_t log2_min_luma_coding_block_size_minus3, log2_diff_max_min_luma_coding_block_size;
    uint32_t log2_min_luma_transform_block_size_minus2, log2_diff_max_min_luma_transform_block_size;
    uint32_t max_transform_hierarchy_depth_inter, max_transform_hierarchy_depth_intra;
    uint32_t scaling_list_enabled_flag, sps_scaling_list_data_present_flag;
    struct hevc_scaling_lists scaling_lists;
    uint32_t amp_enabled_flag, sample_adaptive_offset_enabled_flag, pcm_enabled_flag;
    uint32_t pcm_sample_bit_depth_luma_minus1, pcm_sample_bit_depth_chroma_minus1;
    uint32_t log2_min_pcm_luma_coding_block_size_minus3, log2_diff_max_min_pcm_luma_coding_block_size;
    uint32_t pcm_loop_filter_disabled_flag;
    uint32_t num_short_term_ref_pic_sets;
    struct hevc_short_term_rps short_term_ref_pic_set[HEVC_MAXIMUM_RPS];
    uint32_t long_term_ref_pics_present_flag, num_long_term_ref_pics_sps;
    uint32_t lt_ref_pic_poc_lsb_sps[HEVC_MAXIMUM_LONG_TERM], used_by_curr_pic_lt_sps_flag[HEVC_MAXIMUM_LONG_TERM];
    uint32_t sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag;
    uint32_t vui_parameters_present_flag;
    struct hevc_vui vui;
    uint32_t sps_extension_present_flag; /* with all extensions off but range extensions; others are refused */
    uint32_t sps_range_extension_flag;
    struct hevc_sps_range_extension range;
};

/* 7.3.2.3.2. Lists of chroma QP offsets are refused. */
struct hevc_pps_range_extension {
    uint32_t log2_max_transform_skip_block_size_minus2, cross_component_prediction_enabled_flag;
    uint32_t chroma_qp_offset_list_enabled_flag, log2_sao_offset_scale_luma, log2_sao_offset_scale_chroma;
};

/* 7.3.2.3 */
struct hevc_pps {
    struct hevc_nal_header nal;
    uint32_t pps_pic_parameter_set_id, pps_seq_parameter_set_id, dependent_slice_segments_enabled_flag;
    uint32_t output_flag_present_flag, num_extra_slice_header_bits, sign_data_hiding_enabled_flag;
    uint32_t cabac_init_present_flag, num_ref_idx_l0_default_active_minus1, num_ref_idx_l1_default_active_minus1;
    int32_t init_qp_minus26;
    uint32_t constrained_intra_pred_flag, transform_skip_enabled_flag, cu_qp_delta_enabled_flag;
    uint32_t diff_cu_qp_delta_depth;
    int32_t pps_cb_qp_offset, pps_cr_qp_offset;
    uint32_t pps_slice_chroma_qp_offsets_present_flag, weighted_pred_flag, weighted_bipred_flag;
    uint32_t transquant_bypass_enabled_flag, tiles_enabled_flag, entropy_coding_sync_enabled_flag;
    uint32_t num_tile_columns_minus1, num_tile_rows_minus1, uniform_spacing_flag; /* inferred: 0, 0, 1 */
    uint32_t column_width_minus1[HEVC_MAXIMUM_TILE_COLUMNS], row_height_minus1[HEVC_MAXIMUM_TILE_ROWS];
    uint32_t loop_filter_across_tiles_enabled_flag; /* inferred: 1 */
    uint32_t pps_loop_filter_across_slices_enabled_flag, deblocking_filter_control_present_flag;
    uint32_t deblocking_filter_override_enabled_flag, pps_deblocking_filter_disabled_flag;
    int32_t pps_beta_offset_div2, pps_tc_offset_div2;
    uint32_t pps_scaling_list_data_present_flag;
    struct hevc_scaling_lists scaling_lists;
    uint32_t lists_modification_present_flag, log2_parallel_merge_level_minus2;
    uint32_t slice_segment_header_extension_present_flag;
    uint32_t pps_extension_present_flag; /* with all extensions off but range extensions; others are refused */
    uint32_t pps_range_extension_flag;
    struct hevc_pps_range_extension range;
};

/* 7.3.6.1: a long-term picture: lt_idx_sps for those of the SPS, poc_lsb_lt and used_by_curr_pic_lt_flag for others. */
struct hevc_long_term {
    uint32_t lt_idx_sps, poc_lsb_lt, used_by_curr_pic_lt_flag, delta_poc_msb_present_flag, delta_poc_msb_cycle_lt;
};

/* 7.3.6.3, one entry of one list */
struct hevc_weight {
    uint32_t luma_weight_flag, chroma_weight_flag;
    int32_t delta_luma_weight, luma_offset, delta_chroma_weight[2], delta_chroma_offset[2];
};

/* 7.3.6.1 */
struct hevc_slice_header {
    struct hevc_nal_header nal;
    uint32_t first_slice_segment_in_pic_flag, no_output_of_prior_pics_flag, slice_pic_parameter_set_id;
    uint32_t dependent_slice_segment_flag, slice_segment_address;
    uint32_t slice_reserved_flags; /* num_extra_slice_header_bits of them */
    uint32_t slice_type;           /* enum hevc_slice_type */
    uint32_t pic_output_flag;      /* inferred: 1 */
    uint32_t colour_plane_id, slice_pic_order_cnt_lsb, short_term_ref_pic_set_sps_flag, short_term_ref_pic_set_idx;
    struct hevc_short_term_rps short_term_ref_pic_set; /* where it is not one of the SPS */
    uint32_t num_long_term_sps, num_long_term_pics;
    struct hevc_long_term long_term[HEVC_MAXIMUM_LONG_TERM + 1]; /* those of the SPS come first */
    uint32_t slice_temporal_mvp_enabled_flag, slice_sao_luma_flag, slice_sao_chroma_flag;
    uint32_t num_ref_idx_active_override_flag;
    uint32_t num_ref_idx_active_minus1[2]; /* as coded, else the PPS's defaults */
    uint32_t ref_pic_list_modification_flag[2], list_entry[2][HEVC_MAXIMUM_REFERENCES];
    uint32_t mvd_l1_zero_flag, cabac_init_flag;
    uint32_t collocated_from_l0_flag, collocated_ref_idx; /* inferred: 1, 0 */
    uint32_t luma_log2_weight_denom;
    int32_t delta_chroma_log2_weight_denom;
    struct hevc_weight weight[2][HEVC_MAXIMUM_REFERENCES];
    uint32_t five_minus_max_num_merge_cand;
    int32_t slice_qp_delta, slice_cb_qp_offset, slice_cr_qp_offset;
    uint32_t deblocking_filter_override_flag;
    uint32_t slice_deblocking_filter_disabled_flag;                 /* inferred: the PPS's */
    int32_t slice_beta_offset_div2, slice_tc_offset_div2;           /* inferred: the PPS's */
    uint32_t slice_loop_filter_across_slices_enabled_flag;          /* inferred: the PPS's */
    uint32_t num_entry_point_offsets, offset_len_minus1, entry_point_offset_minus1[HEVC_MAXIMUM_ENTRY_POINTS];
    uint32_t slice_segment_header_extension_length; /* bytes; their values are skipped, and written as 0 */
};

/* Readers take one NAL unit from its header on, emulation prevention already removed, `bit_count` bits long. They
 * return false and fill `error` when an element is cut off or out of its range (7.4). `end`, where given, receives the
 * bit after the last element: before the trailing bits, or, in slice headers, before byte_alignment(). Options, `end`
 * and `error` may be NULL. Refused are layers other than the base layer and all extensions of versions 2 and later. */
bool hevc_read_vps(struct hevc_vps *vps, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error);
bool hevc_read_sps(struct hevc_sps *sps, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error);
bool hevc_read_pps(struct hevc_pps *pps, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error);

/* `previous` is the header of the slice segment before in the picture, or NULL: what a dependent slice segment does
 * not state itself is taken from there (7.4.7.1), and without it such a segment is refused. */
bool hevc_read_slice_header(struct hevc_slice_header *header, const struct hevc_sps *sps, const struct hevc_pps *pps,
                            const struct hevc_slice_header *previous, const uint8_t *nal, size_t bit_count,
                            size_t *end, const struct syntax_options *options, struct syntax_error *error);

/* Which PPS a slice header names, so that it can be read; false when the header is cut off before. */
bool hevc_read_slice_pps_id(const uint8_t *nal, size_t bit_count, uint32_t *slice_pic_parameter_set_id);

/* Writers append the NAL unit's header and elements, without trailing bits, byte_alignment() (bits_trail gives both)
 * and emulation prevention. nuh_temporal_id_plus1 0 is written as 1. */
void hevc_write_vps(struct bits *bits, const struct hevc_vps *vps);
void hevc_write_sps(struct bits *bits, const struct hevc_sps *sps);
void hevc_write_pps(struct bits *bits, const struct hevc_pps *pps);
void hevc_write_slice_header(struct bits *bits, const struct hevc_slice_header *header, const struct hevc_sps *sps,
                             const struct hevc_pps *pps);

/* 7.4.8: what the short-term reference picture set `index` of the SPS stands for. False when it breaks a rule. */
bool hevc_sps_rps(const struct hevc_sps *sps, uint32_t index, struct hevc_rps *rps);
/* Likewise for the set that a slice uses, its own or one of the SPS. An IDR picture's is empty. */
bool hevc_slice_rps(const struct hevc_sps *sps, const struct hevc_slice_header *header, struct hevc_rps *rps);

/* NumPicTotalCurr (7-55): how many pictures may be referred to. */
uint32_t hevc_total_references(const struct hevc_sps *sps, const struct hevc_slice_header *header);

/* Kinds of NAL units (7.4.2.2). */
static inline bool hevc_is_slice(uint32_t nal_unit_type)
{
    return nal_unit_type <= HEVC_NAL_RASL_R || (nal_unit_type >= HEVC_NAL_BLA_W_LP && nal_unit_type <= HEVC_NAL_CRA);
}

static inline bool hevc_is_irap(uint32_t nal_unit_type) /* intra random access point */
{
    return nal_unit_type >= 16 && nal_unit_type <= 23;
}

static inline bool hevc_is_idr(uint32_t nal_unit_type)
{
    return nal_unit_type == HEVC_NAL_IDR_W_RADL || nal_unit_type == HEVC_NAL_IDR_N_LP;
}

static inline bool hevc_is_sub_layer_non_reference(uint32_t nal_unit_type)
{
    return nal_unit_type <= 14 && nal_unit_type % 2 == 0;
}

/* SubWidthC and SubHeightC (table 6-1), the units of cropping. */
static inline uint32_t hevc_crop_width(const struct hevc_sps *sps)
{
    return sps->chroma_format_idc == 1 || sps->chroma_format_idc == 2 ? 2 : 1;
}

static inline uint32_t hevc_crop_height(const struct hevc_sps *sps)
{
    return sps->chroma_format_idc == 1 ? 2 : 1;
}

/* Sizes that the SPS states, in luma samples (7.4.3.2.1). */
static inline uint32_t hevc_min_cb_log2(const struct hevc_sps *sps)
{
    return sps->log2_min_luma_coding_block_size_minus3 + 3;
}

static inline uint32_t hevc_ctb_log2(const struct hevc_sps *sps)
{
    return hevc_min_cb_log2(sps) + sps->log2_diff_max_min_luma_coding_block_size;
}

static inline uint32_t hevc_width_in_ctbs(const struct hevc_sps *sps)
{
    uint32_t log2 = hevc_ctb_log2(sps);
    return (sps->pic_width_in_luma_samples + (1u << log2) - 1) >> log2;
}

static inline uint32_t hevc_height_in_ctbs(const struct hevc_sps *sps)
{
    uint32_t log2 = hevc_ctb_log2(sps);
    return (sps->pic_height_in_luma_samples + (1u << log2) - 1) >> log2;
}

#endif
