/* SPDX-License-Identifier: GPL-2.0-or-later */
/* H.264 parameter sets and slice headers: described once in syntax.c, read, written and traced by visitors of that
 * description. Values carry the specification's names (ITU-T H.264, 08/2021 numbering). */
#ifndef DRIVERS_H264_SYNTAX_H
#define DRIVERS_H264_SYNTAX_H

#include "../common/bits.h"
#include "../common/syntax_options.h"
#include "../common/vui.h"

enum h264_nal_unit_type {
    H264_NAL_SLICE = 1,
    H264_NAL_IDR_SLICE = 5,
    H264_NAL_SEI = 6,
    H264_NAL_SPS = 7,
    H264_NAL_PPS = 8,
    H264_NAL_AUD = 9,
    H264_NAL_FILLER = 12,
    H264_NAL_PREFIX = 14,
};

enum h264_slice_type { H264_SLICE_P = 0, H264_SLICE_B = 1, H264_SLICE_I = 2 }; /* slice_type modulo 5 */

struct h264_hrd {
    uint32_t cpb_cnt_minus1, bit_rate_scale, cpb_size_scale;
    uint32_t bit_rate_value_minus1[32], cpb_size_value_minus1[32], cbr_flag[32];
    uint32_t initial_cpb_removal_delay_length_minus1, cpb_removal_delay_length_minus1, dpb_output_delay_length_minus1;
    uint32_t time_offset_length;
};

struct h264_vui {
    struct vui_picture picture;
    uint32_t timing_info_present_flag, num_units_in_tick, time_scale, fixed_frame_rate_flag;
    uint32_t nal_hrd_parameters_present_flag, vcl_hrd_parameters_present_flag, low_delay_hrd_flag;
    struct h264_hrd nal_hrd, vcl_hrd;
    uint32_t pic_struct_present_flag, bitstream_restriction_flag, motion_vectors_over_pic_boundaries_flag;
    uint32_t max_bytes_per_pic_denom, max_bits_per_mb_denom;
    uint32_t log2_max_mv_length_horizontal, log2_max_mv_length_vertical;
    uint32_t max_num_reorder_frames, max_dec_frame_buffering;
};

/* Scaling lists as coded, so that they can be written again: 7.3.2.1.1.1. Lists 0 to 5 are 4x4, the others 8x8. */
struct h264_scaling_lists {
    uint32_t present_flag[12];
    int32_t delta_scale[12][64];
};

struct h264_sps {
    uint32_t nal_ref_idc;
    uint32_t profile_idc;
    uint32_t constraint_set_flags; /* bit n is constraint_setn_flag, n from 0 to 5 */
    uint32_t reserved_zero_2bits;
    uint32_t level_idc, seq_parameter_set_id;
    uint32_t chroma_format_idc, separate_colour_plane_flag, bit_depth_luma_minus8, bit_depth_chroma_minus8;
    uint32_t qpprime_y_zero_transform_bypass_flag, seq_scaling_matrix_present_flag;
    struct h264_scaling_lists scaling_lists;
    uint32_t log2_max_frame_num_minus4, pic_order_cnt_type, log2_max_pic_order_cnt_lsb_minus4;
    uint32_t delta_pic_order_always_zero_flag;
    int32_t offset_for_non_ref_pic, offset_for_top_to_bottom_field;
    uint32_t num_ref_frames_in_pic_order_cnt_cycle;
    int32_t offset_for_ref_frame[255];
    uint32_t max_num_ref_frames, gaps_in_frame_num_value_allowed_flag;
    uint32_t pic_width_in_mbs_minus1, pic_height_in_map_units_minus1;
    uint32_t frame_mbs_only_flag, mb_adaptive_frame_field_flag, direct_8x8_inference_flag;
    uint32_t frame_cropping_flag;
    uint32_t frame_crop_left_offset, frame_crop_right_offset, frame_crop_top_offset, frame_crop_bottom_offset;
    uint32_t vui_parameters_present_flag;
    struct h264_vui vui;
};

struct h264_pps {
    uint32_t nal_ref_idc;
    uint32_t pic_parameter_set_id, seq_parameter_set_id, entropy_coding_mode_flag;
    uint32_t bottom_field_pic_order_in_frame_present_flag, num_slice_groups_minus1;
    uint32_t num_ref_idx_l0_default_active_minus1, num_ref_idx_l1_default_active_minus1;
    uint32_t weighted_pred_flag, weighted_bipred_idc;
    int32_t pic_init_qp_minus26, pic_init_qs_minus26, chroma_qp_index_offset;
    uint32_t deblocking_filter_control_present_flag, constrained_intra_pred_flag, redundant_pic_cnt_present_flag;
    uint32_t extension_present; /* transform_8x8_mode_flag and what follows are in the bits (more_rbsp_data) */
    uint32_t transform_8x8_mode_flag, pic_scaling_matrix_present_flag;
    struct h264_scaling_lists scaling_lists;
    int32_t second_chroma_qp_index_offset; /* inferred: chroma_qp_index_offset */
};

struct h264_reference_modification {
    uint32_t modification_of_pic_nums_idc; /* 0, 1, 2; 3 ends the list */
    uint32_t value;                        /* abs_diff_pic_num_minus1 or long_term_pic_num */
};

struct h264_memory_management {
    uint32_t memory_management_control_operation; /* 1 to 6; 0 ends the list */
    uint32_t difference_of_pic_nums_minus1, long_term_pic_num, long_term_frame_idx, max_long_term_frame_idx_plus1;
};

struct h264_weight {
    uint32_t luma_weight_flag, chroma_weight_flag;
    int32_t luma_weight, luma_offset, chroma_weight[2], chroma_offset[2];
};

#define H264_MAXIMUM_REFERENCES 32
#define H264_MAXIMUM_OPERATIONS 66

struct h264_slice_header {
    uint32_t nal_ref_idc, nal_unit_type;
    uint32_t first_mb_in_slice, slice_type; /* slice_type as coded, 0 to 9 */
    uint32_t pic_parameter_set_id, colour_plane_id, frame_num, field_pic_flag, bottom_field_flag;
    uint32_t idr_pic_id, pic_order_cnt_lsb;
    int32_t delta_pic_order_cnt_bottom, delta_pic_order_cnt[2];
    uint32_t redundant_pic_cnt, direct_spatial_mv_pred_flag, num_ref_idx_active_override_flag;
    uint32_t num_ref_idx_active_minus1[2]; /* as coded, else the PPS's defaults */
    uint32_t ref_pic_list_modification_flag[2];
    struct h264_reference_modification modification[2][H264_MAXIMUM_OPERATIONS]; /* includes the ending 3 */
    uint32_t luma_log2_weight_denom, chroma_log2_weight_denom;
    struct h264_weight weight[2][H264_MAXIMUM_REFERENCES];
    uint32_t no_output_of_prior_pics_flag, long_term_reference_flag, adaptive_ref_pic_marking_mode_flag;
    struct h264_memory_management marking[H264_MAXIMUM_OPERATIONS]; /* includes the ending 0 */
    uint32_t cabac_init_idc;
    int32_t slice_qp_delta;
    uint32_t disable_deblocking_filter_idc; /* inferred: 0 */
    int32_t slice_alpha_c0_offset_div2, slice_beta_offset_div2;
};

/* Readers take one NAL unit from its header byte on, emulation prevention already removed, `bit_count` bits long.
 * They return false and fill `error` when an element is cut off or out of its range (7.4). `end`, where given,
 * receives the bit after the last element (before the trailing bits, or the slice data). Options, `end` and `error`
 * may be NULL. Slice groups, SP and SI slices and the header extensions of scalable and multiview coding are refused:
 * Constrained Baseline, Main and High have none. 8x8 scaling lists of a PPS are read as for chroma formats other than
 * 4:4:4. */
bool h264_read_sps(struct h264_sps *sps, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error);
bool h264_read_pps(struct h264_pps *pps, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error);
bool h264_read_slice_header(struct h264_slice_header *header, const struct h264_sps *sps, const struct h264_pps *pps,
                            const uint8_t *nal, size_t bit_count, size_t *end, const struct syntax_options *options,
                            struct syntax_error *error);

/* Which PPS a slice header names, so that it can be read; false when the header is cut off before. */
bool h264_read_slice_pps_id(const uint8_t *nal, size_t bit_count, uint32_t *pic_parameter_set_id);

/* Writers append the NAL unit's header byte and elements, without trailing bits and emulation prevention. */
void h264_write_sps(struct bits *bits, const struct h264_sps *sps);
void h264_write_pps(struct bits *bits, const struct h264_pps *pps);
void h264_write_slice_header(struct bits *bits, const struct h264_slice_header *header, const struct h264_sps *sps,
                             const struct h264_pps *pps);

#endif
