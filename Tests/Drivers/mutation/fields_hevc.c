/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "field_macros.h"

#include <va/va.h>
#include <va/va_enc_hevc.h>

/* A VAPictureHEVC, or an array of them when `label` and `member` carry the index. */
#define HEVC_PICTURE(X, prefix, label, member, count, use)                                                             \
    X(prefix##_picture_id, label ".picture_id", member.picture_id, count, FIELD_SURFACE, use)                          \
    X(prefix##_order, label ".pic_order_cnt", member.pic_order_cnt, count, FIELD_NUMBER, use)                          \
    X(prefix##_flags, label ".flags", member.flags, count, FIELD_FLAGS, use)                                           \
    X(prefix##_reserved_0, label ".va_reserved[0]", member.va_reserved[0], count, FIELD_NUMBER, use)                   \
    X(prefix##_reserved_1, label ".va_reserved[1]", member.va_reserved[1], count, FIELD_NUMBER, use)                   \
    X(prefix##_reserved_2, label ".va_reserved[2]", member.va_reserved[2], count, FIELD_NUMBER, use)                   \
    X(prefix##_reserved_3, label ".va_reserved[3]", member.va_reserved[3], count, FIELD_NUMBER, use)

#define STRUCTURE VAEncSequenceParameterBufferHEVC
#define SEQUENCE_FIELDS(X)                                                                                             \
    SCALAR(X, general_profile_idc)                                                                                     \
    SCALAR(X, general_level_idc)                                                                                       \
    SCALAR(X, general_tier_flag)                                                                                       \
    SCALAR(X, intra_period)                                                                                            \
    SCALAR(X, intra_idr_period)                                                                                        \
    SCALAR(X, ip_period)                                                                                               \
    SCALAR(X, bits_per_second)                                                                                         \
    SCALAR(X, pic_width_in_luma_samples)                                                                               \
    SCALAR(X, pic_height_in_luma_samples)                                                                              \
    BITS(X, seq_fields, chroma_format_idc)                                                                             \
    BITS(X, seq_fields, separate_colour_plane_flag)                                                                    \
    BITS(X, seq_fields, bit_depth_luma_minus8)                                                                         \
    BITS(X, seq_fields, bit_depth_chroma_minus8)                                                                       \
    BITS(X, seq_fields, scaling_list_enabled_flag)                                                                     \
    BITS(X, seq_fields, strong_intra_smoothing_enabled_flag)                                                           \
    BITS(X, seq_fields, amp_enabled_flag)                                                                              \
    BITS(X, seq_fields, sample_adaptive_offset_enabled_flag)                                                           \
    BITS(X, seq_fields, pcm_enabled_flag)                                                                              \
    BITS(X, seq_fields, pcm_loop_filter_disabled_flag)                                                                 \
    BITS(X, seq_fields, sps_temporal_mvp_enabled_flag)                                                                 \
    BITS(X, seq_fields, low_delay_seq)                                                                                 \
    BITS(X, seq_fields, hierachical_flag)                                                                              \
    BITS(X, seq_fields, reserved_bits)                                                                                 \
    SCALAR(X, log2_min_luma_coding_block_size_minus3)                                                                  \
    SCALAR(X, log2_diff_max_min_luma_coding_block_size)                                                                \
    SCALAR(X, log2_min_transform_block_size_minus2)                                                                    \
    SCALAR(X, log2_diff_max_min_transform_block_size)                                                                  \
    SCALAR(X, max_transform_hierarchy_depth_inter)                                                                     \
    SCALAR(X, max_transform_hierarchy_depth_intra)                                                                     \
    SCALAR(X, pcm_sample_bit_depth_luma_minus1)                                                                        \
    SCALAR(X, pcm_sample_bit_depth_chroma_minus1)                                                                      \
    SCALAR(X, log2_min_pcm_luma_coding_block_size_minus3)                                                              \
    SCALAR(X, log2_max_pcm_luma_coding_block_size_minus3)                                                              \
    SCALAR(X, vui_parameters_present_flag)                                                                             \
    BITS(X, vui_fields, aspect_ratio_info_present_flag)                                                                \
    BITS(X, vui_fields, neutral_chroma_indication_flag)                                                                \
    BITS(X, vui_fields, field_seq_flag)                                                                                \
    BITS(X, vui_fields, vui_timing_info_present_flag)                                                                  \
    BITS(X, vui_fields, bitstream_restriction_flag)                                                                    \
    BITS(X, vui_fields, tiles_fixed_structure_flag)                                                                    \
    BITS(X, vui_fields, motion_vectors_over_pic_boundaries_flag)                                                       \
    BITS(X, vui_fields, restricted_ref_pic_lists_flag)                                                                 \
    BITS(X, vui_fields, log2_max_mv_length_horizontal)                                                                 \
    BITS(X, vui_fields, log2_max_mv_length_vertical)                                                                   \
    X(vui_fields_unused, "vui_fields.unused", vui_fields.value, 1, FIELD_UNUSED_BITS, USE_ONE)                         \
    SCALAR(X, aspect_ratio_idc)                                                                                        \
    SCALAR(X, sar_width)                                                                                               \
    SCALAR(X, sar_height)                                                                                              \
    SCALAR(X, vui_num_units_in_tick)                                                                                   \
    SCALAR(X, vui_time_scale)                                                                                          \
    SCALAR(X, min_spatial_segmentation_idc)                                                                            \
    SCALAR(X, max_bytes_per_pic_denom)                                                                                 \
    SCALAR(X, max_bits_per_min_cu_denom)                                                                               \
    BITS(X, scc_fields, palette_mode_enabled_flag)                                                                     \
    X(scc_reserved, "scc_fields.reserved", scc_fields.bits.reserved, 1, FIELD_NUMBER, USE_ONE)                         \
    ARRAY(X, va_reserved, VA_PADDING_MEDIUM - 1, USE_ALL)
SEQUENCE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_hevc_sequence, "hevc.sequence", SEQUENCE_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncPictureParameterBufferHEVC
#define PICTURE_FIELDS(X)                                                                                              \
    HEVC_PICTURE(X, current, "decoded_curr_pic", decoded_curr_pic, 1, USE_ONE)                                         \
    HEVC_PICTURE(X, reference, "reference_frames[#]", reference_frames[i], 15, USE_HEVC_REFERENCE_FRAMES)              \
    BUFFER_ID(X, coded_buf)                                                                                            \
    SCALAR(X, collocated_ref_pic_index)                                                                                \
    SCALAR(X, last_picture)                                                                                            \
    SCALAR(X, pic_init_qp)                                                                                             \
    SCALAR(X, diff_cu_qp_delta_depth)                                                                                  \
    SCALAR(X, pps_cb_qp_offset)                                                                                        \
    SCALAR(X, pps_cr_qp_offset)                                                                                        \
    SCALAR(X, num_tile_columns_minus1)                                                                                 \
    SCALAR(X, num_tile_rows_minus1)                                                                                    \
    ARRAY(X, column_width_minus1, 19, USE_NONE)                                                                        \
    ARRAY(X, row_height_minus1, 21, USE_NONE)                                                                          \
    SCALAR(X, log2_parallel_merge_level_minus2)                                                                        \
    SCALAR(X, ctu_max_bitsize_allowed)                                                                                 \
    SCALAR(X, num_ref_idx_l0_default_active_minus1)                                                                    \
    SCALAR(X, num_ref_idx_l1_default_active_minus1)                                                                    \
    SCALAR(X, slice_pic_parameter_set_id)                                                                              \
    SCALAR(X, nal_unit_type)                                                                                           \
    BITS(X, pic_fields, idr_pic_flag)                                                                                  \
    BITS(X, pic_fields, coding_type)                                                                                   \
    BITS(X, pic_fields, reference_pic_flag)                                                                            \
    BITS(X, pic_fields, dependent_slice_segments_enabled_flag)                                                         \
    BITS(X, pic_fields, sign_data_hiding_enabled_flag)                                                                 \
    BITS(X, pic_fields, constrained_intra_pred_flag)                                                                   \
    BITS(X, pic_fields, transform_skip_enabled_flag)                                                                   \
    BITS(X, pic_fields, cu_qp_delta_enabled_flag)                                                                      \
    BITS(X, pic_fields, weighted_pred_flag)                                                                            \
    BITS(X, pic_fields, weighted_bipred_flag)                                                                          \
    BITS(X, pic_fields, transquant_bypass_enabled_flag)                                                                \
    BITS(X, pic_fields, tiles_enabled_flag)                                                                            \
    BITS(X, pic_fields, entropy_coding_sync_enabled_flag)                                                              \
    BITS(X, pic_fields, loop_filter_across_tiles_enabled_flag)                                                         \
    BITS(X, pic_fields, pps_loop_filter_across_slices_enabled_flag)                                                    \
    BITS(X, pic_fields, scaling_list_data_present_flag)                                                                \
    BITS(X, pic_fields, screen_content_flag)                                                                           \
    BITS(X, pic_fields, enable_gpu_weighted_prediction)                                                                \
    BITS(X, pic_fields, no_output_of_prior_pics_flag)                                                                  \
    BITS(X, pic_fields, reserved)                                                                                      \
    SCALAR(X, hierarchical_level_plus1)                                                                                \
    SCALAR(X, va_byte_reserved)                                                                                        \
    BITS(X, scc_fields, pps_curr_pic_ref_enabled_flag)                                                                 \
    X(scc_reserved, "scc_fields.reserved", scc_fields.bits.reserved, 1, FIELD_NUMBER, USE_ONE)                         \
    ARRAY(X, va_reserved, VA_PADDING_HIGH - 1, USE_ALL)
PICTURE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_hevc_picture, "hevc.picture", PICTURE_FIELDS)
#undef STRUCTURE

#define STRUCTURE VAEncSliceParameterBufferHEVC
#define SLICE_FIELDS(X)                                                                                                \
    SCALAR(X, slice_segment_address)                                                                                   \
    SCALAR(X, num_ctu_in_slice)                                                                                        \
    SCALAR(X, slice_type)                                                                                              \
    SCALAR(X, slice_pic_parameter_set_id)                                                                              \
    SCALAR(X, num_ref_idx_l0_active_minus1)                                                                            \
    SCALAR(X, num_ref_idx_l1_active_minus1)                                                                            \
    HEVC_PICTURE(X, list_0, "ref_pic_list0[#]", ref_pic_list0[i], 15, USE_HEVC_LIST_0)                                 \
    HEVC_PICTURE(X, list_1, "ref_pic_list1[#]", ref_pic_list1[i], 15, USE_HEVC_LIST_1)                                 \
    SCALAR(X, luma_log2_weight_denom)                                                                                  \
    SCALAR(X, delta_chroma_log2_weight_denom)                                                                          \
    ARRAY(X, delta_luma_weight_l0, 15, USE_HEVC_LIST_0)                                                                \
    ARRAY(X, luma_offset_l0, 15, USE_HEVC_LIST_0)                                                                      \
    INNER(X, delta_chroma_weight_l0, 0, 15, USE_HEVC_LIST_0)                                                           \
    INNER(X, chroma_offset_l0, 0, 15, USE_HEVC_LIST_0)                                                                 \
    INNER(X, delta_chroma_weight_l0, 1, 15, USE_HEVC_LIST_0)                                                           \
    INNER(X, chroma_offset_l0, 1, 15, USE_HEVC_LIST_0)                                                                 \
    ARRAY(X, delta_luma_weight_l1, 15, USE_HEVC_LIST_1)                                                                \
    ARRAY(X, luma_offset_l1, 15, USE_HEVC_LIST_1)                                                                      \
    INNER(X, delta_chroma_weight_l1, 0, 15, USE_HEVC_LIST_1)                                                           \
    INNER(X, chroma_offset_l1, 0, 15, USE_HEVC_LIST_1)                                                                 \
    INNER(X, delta_chroma_weight_l1, 1, 15, USE_HEVC_LIST_1)                                                           \
    INNER(X, chroma_offset_l1, 1, 15, USE_HEVC_LIST_1)                                                                 \
    SCALAR(X, max_num_merge_cand)                                                                                      \
    SCALAR(X, slice_qp_delta)                                                                                          \
    SCALAR(X, slice_cb_qp_offset)                                                                                      \
    SCALAR(X, slice_cr_qp_offset)                                                                                      \
    SCALAR(X, slice_beta_offset_div2)                                                                                  \
    SCALAR(X, slice_tc_offset_div2)                                                                                    \
    BITS(X, slice_fields, last_slice_of_pic_flag)                                                                      \
    BITS(X, slice_fields, dependent_slice_segment_flag)                                                                \
    BITS(X, slice_fields, colour_plane_id)                                                                             \
    BITS(X, slice_fields, slice_temporal_mvp_enabled_flag)                                                             \
    BITS(X, slice_fields, slice_sao_luma_flag)                                                                         \
    BITS(X, slice_fields, slice_sao_chroma_flag)                                                                       \
    BITS(X, slice_fields, num_ref_idx_active_override_flag)                                                            \
    BITS(X, slice_fields, mvd_l1_zero_flag)                                                                            \
    BITS(X, slice_fields, cabac_init_flag)                                                                             \
    BITS(X, slice_fields, slice_deblocking_filter_disabled_flag)                                                       \
    BITS(X, slice_fields, slice_loop_filter_across_slices_enabled_flag)                                                \
    BITS(X, slice_fields, collocated_from_l0_flag)                                                                     \
    X(slice_fields_unused, "slice_fields.unused", slice_fields.value, 1, FIELD_UNUSED_BITS, USE_ONE)                   \
    SCALAR(X, pred_weight_table_bit_offset)                                                                            \
    SCALAR(X, pred_weight_table_bit_length)                                                                            \
    ARRAY(X, va_reserved, VA_PADDING_MEDIUM - 2, USE_ALL)
SLICE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_hevc_slice, "hevc.slice", SLICE_FIELDS)
#undef STRUCTURE
