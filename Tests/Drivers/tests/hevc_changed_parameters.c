/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of HEVC sequence and picture parameters; see change_runner.h. */
#include "hevc_changes.h"

static bool right_scenes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "")
    CHANGE(OWN, "")
    CHANGE(LOW_DELAY, "")
    CHANGE(TEN, "")
    CHANGE(OPEN, "")
    return false;
}

#define SEQUENCE PIC(0)->sequence

static bool sequence_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "sequence-profile-idc", SEQUENCE.general_profile_idc = 2)
    CHANGE(PACKED, "sequence-level-idc", SEQUENCE.general_level_idc = 93)
    CHANGE(PACKED, "sequence-tier", SEQUENCE.general_tier_flag = 1)
    CHANGE(PACKED, "sequence-intra-period-exceeded", SEQUENCE.intra_period = 4)
    CHANGE(PACKED, "sequence-idr-period-exceeded sequence-periods", SEQUENCE.intra_idr_period = 7)
    CHANGE(PACKED, "sequence-ip-period-exceeded", SEQUENCE.ip_period = 2)
    CHANGE(PACKED, "sequence-ip-period-zero", SEQUENCE.ip_period = 0)
    CHANGE(PACKED, "sequence-periods", SEQUENCE.ip_period = 20)
    CHANGE(LOW_DELAY, "", SEQUENCE.ip_period = 2)
    CHANGE(PACKED, "sequence-bits-per-second", SEQUENCE.bits_per_second = 900000)
    CHANGE(PACKED, "sequence-bits-per-second-zero", SEQUENCE.bits_per_second = 0)
    CHANGE(PACKED, "sequence-width sequence-width-differs-from-context", SEQUENCE.pic_width_in_luma_samples = 128)
    CHANGE(PACKED, "sequence-height sequence-height-differs-from-context", SEQUENCE.pic_height_in_luma_samples = 40)
    CHANGE(PACKED, "sequence-width-alignment", s->config.limits.width_alignment = 48)
    CHANGE(PACKED, "sequence-height-alignment", s->config.limits.height_alignment = 32)
    CHANGE(PACKED, "sequence-chroma-format-idc", SEQUENCE.seq_fields.bits.chroma_format_idc = 2)
    CHANGE(PACKED, "sequence-separate-colour-plane", SEQUENCE.seq_fields.bits.separate_colour_plane_flag = 1)
    CHANGE(PACKED, "sequence-bit-depth-luma", SEQUENCE.seq_fields.bits.bit_depth_luma_minus8 = 2)
    CHANGE(PACKED, "sequence-bit-depth-chroma", SEQUENCE.seq_fields.bits.bit_depth_chroma_minus8 = 2)
    CHANGE(PACKED, "sequence-scaling-list", SEQUENCE.seq_fields.bits.scaling_list_enabled_flag = 1)
    CHANGE(PACKED, "sequence-strong-intra-smoothing",
           SEQUENCE.seq_fields.bits.strong_intra_smoothing_enabled_flag = 0)
    CHANGE(PACKED, "sequence-amp", SEQUENCE.seq_fields.bits.amp_enabled_flag = 0)
    CHANGE(PACKED, "sequence-sao", SEQUENCE.seq_fields.bits.sample_adaptive_offset_enabled_flag = 1)
    CHANGE(PACKED, "sequence-pcm", SEQUENCE.seq_fields.bits.pcm_enabled_flag = 1)
    CHANGE(PACKED, "sequence-temporal-mvp", SEQUENCE.seq_fields.bits.sps_temporal_mvp_enabled_flag = 0)
    CHANGE(PACKED, "sequence-fields-reserved", SEQUENCE.seq_fields.bits.reserved_bits = 1)
    CHANGE(PACKED, "sequence-log2-min-coding-block", SEQUENCE.log2_min_luma_coding_block_size_minus3 = 1)
    CHANGE(PACKED, "sequence-log2-diff-coding-block", SEQUENCE.log2_diff_max_min_luma_coding_block_size = 2)
    CHANGE(PACKED, "sequence-log2-min-transform-block", SEQUENCE.log2_min_transform_block_size_minus2 = 1)
    CHANGE(PACKED, "sequence-log2-diff-transform-block", SEQUENCE.log2_diff_max_min_transform_block_size = 1)
    CHANGE(PACKED, "sequence-transform-depth-inter", SEQUENCE.max_transform_hierarchy_depth_inter = 2)
    CHANGE(PACKED, "sequence-transform-depth-intra", SEQUENCE.max_transform_hierarchy_depth_intra = 0)
    CHANGE(PACKED, "sequence-palette-mode", SEQUENCE.scc_fields.bits.palette_mode_enabled_flag = 1)
    CHANGE(PACKED, "sequence-scc-reserved", SEQUENCE.scc_fields.bits.reserved = 1)
    CHANGE(PACKED, "sequence-reserved", SEQUENCE.va_reserved[3] = 1)
    CHANGE(PACKED, "sequence-buffer-missing", PIC(8)->send_sequence = false)
    CHANGE(PACKED, "sequence-buffer-missing picture-not-codable", PIC(0)->send_sequence = false; END(0))
    CHANGE(PACKED, "sequence-level-idc sequence-changed-outside-idr", PIC(1)->send_sequence = true;
           PIC(1)->sequence.general_level_idc = 93)
    CHANGE(PACKED, "", PIC(1)->send_sequence = true)
    CHANGE(OWN, "level-unknown", SEQUENCE.general_level_idc = 33)
    CHANGE(OWN, "level-without-high-tier", SEQUENCE.general_tier_flag = 1)
    CHANGE(OWN, "level-luma-rate", SEQUENCE.general_level_idc = 30; SEQUENCE.vui_time_scale = 250; END(7))
    CHANGE(OWN, "block-size-tree slice-ctus-total picture-not-codable",
           SEQUENCE.log2_diff_max_min_luma_coding_block_size = 3; END(0))
    CHANGE(OWN, "feature-pcm-not-advertised", SEQUENCE.seq_fields.bits.pcm_enabled_flag = 1;
           SEQUENCE.pcm_sample_bit_depth_luma_minus1 = SEQUENCE.pcm_sample_bit_depth_chroma_minus1 = 7; END(7))
    CHANGE(OWN, "picture-not-codable slice-ctus-total slice-structure",
           SEQUENCE.log2_min_luma_coding_block_size_minus3 = 4; END(0))
    return false;
}

static bool vui_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "sequence-vui-present", SEQUENCE.vui_parameters_present_flag = 0)
    CHANGE(PACKED, "sequence-aspect-ratio-present", SEQUENCE.vui_fields.bits.aspect_ratio_info_present_flag = 0)
    CHANGE(PACKED, "sequence-aspect-ratio-idc", SEQUENCE.aspect_ratio_idc = 1)
    CHANGE(PACKED, "sequence-sar-width", SEQUENCE.sar_width = 5)
    CHANGE(PACKED, "sequence-sar-height", SEQUENCE.sar_height = 5)
    CHANGE(PACKED, "sequence-neutral-chroma", SEQUENCE.vui_fields.bits.neutral_chroma_indication_flag = 1)
    CHANGE(PACKED, "sequence-field-seq", SEQUENCE.vui_fields.bits.field_seq_flag = 1)
    CHANGE(PACKED, "sequence-timing-present", SEQUENCE.vui_fields.bits.vui_timing_info_present_flag = 0)
    CHANGE(PACKED, "sequence-num-units-in-tick", SEQUENCE.vui_num_units_in_tick = 2)
    CHANGE(PACKED, "sequence-time-scale", SEQUENCE.vui_time_scale = 60)
    CHANGE(PACKED, "sequence-bitstream-restriction", SEQUENCE.vui_fields.bits.bitstream_restriction_flag = 0)
    CHANGE(PACKED, "sequence-tiles-fixed", SEQUENCE.vui_fields.bits.tiles_fixed_structure_flag = 1)
    CHANGE(PACKED, "sequence-mv-over-boundaries",
           SEQUENCE.vui_fields.bits.motion_vectors_over_pic_boundaries_flag = 0)
    CHANGE(PACKED, "sequence-restricted-lists", SEQUENCE.vui_fields.bits.restricted_ref_pic_lists_flag = 1)
    CHANGE(PACKED, "sequence-log2-max-mv-horizontal", SEQUENCE.vui_fields.bits.log2_max_mv_length_horizontal = 11)
    CHANGE(PACKED, "sequence-log2-max-mv-vertical", SEQUENCE.vui_fields.bits.log2_max_mv_length_vertical = 11)
    CHANGE(PACKED, "sequence-min-spatial-segmentation", SEQUENCE.min_spatial_segmentation_idc = 1)
    CHANGE(PACKED, "sequence-max-bytes-per-pic", SEQUENCE.max_bytes_per_pic_denom = 1)
    CHANGE(PACKED, "sequence-max-bits-per-cu", SEQUENCE.max_bits_per_min_cu_denom = 1)
    CHANGE(PACKED, "sequence-vui-unknown-bits", SEQUENCE.vui_fields.value |= 1u << 20)
    return false;
}

#define PICTURE(k) PIC(k)->picture

static bool picture_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "reconstruction-invalid picture-not-codable",
           PICTURE(1).decoded_curr_pic.picture_id = VA_INVALID_SURFACE; END(1))
    CHANGE(PACKED, "picture-curr-is-reference", PICTURE(2).decoded_curr_pic.picture_id = RECONSTRUCTION; END(2))
    CHANGE(PACKED, "reconstruction-is-input picture-not-codable",
           PICTURE(2).decoded_curr_pic.picture_id = INPUT_SURFACE + 2; END(2))
    CHANGE(PACKED, "picture-curr-poc", PICTURE(1).decoded_curr_pic.pic_order_cnt = 4)
    CHANGE(PACKED, "picture-curr-invalid", PICTURE(1).decoded_curr_pic.flags |= VA_PICTURE_HEVC_INVALID)
    CHANGE(PACKED, "picture-curr-field", PICTURE(1).decoded_curr_pic.flags |= VA_PICTURE_HEVC_FIELD_PIC)
    CHANGE(PACKED, "picture-curr-reference-flags",
           PICTURE(2).decoded_curr_pic.flags |= VA_PICTURE_HEVC_LONG_TERM_REFERENCE)
    CHANGE(PACKED, "picture-curr-reserved", PICTURE(1).decoded_curr_pic.va_reserved[0] = 1)
    CHANGE(PACKED, "coded-buffer-invalid picture-not-codable", PICTURE(4).coded_buf = 3; END(4))
    CHANGE(PACKED, "coded-buffer-small", s->coded_buffer_size = 12 * 400 - 1)
    CHANGE(PACKED, "picture-collocated", PICTURE(4).collocated_ref_pic_index = 0)
    CHANGE(PACKED, "picture-collocated-range", PICTURE(4).collocated_ref_pic_index = 0xff)
    CHANGE(PACKED, "picture-collocated-unused", PICTURE(0).collocated_ref_pic_index = 0)
    CHANGE(PACKED, "picture-last-picture-unknown", PICTURE(1).last_picture = 4)
    CHANGE(PACKED, "picture-after-end-of-sequence", PICTURE(1).last_picture = HEVC_LAST_PICTURE_EOSEQ; END(2))
    CHANGE(PACKED, "", PICTURE(7).last_picture = HEVC_LAST_PICTURE_EOSEQ)
    CHANGE(PACKED, "picture-init-qp", PICTURE(1).pic_init_qp = 31)
    CHANGE(PACKED, "picture-init-qp picture-init-qp-range", PICTURE(1).pic_init_qp = 52)
    CHANGE(PACKED, "picture-cu-qp-delta-depth", PICTURE(1).diff_cu_qp_delta_depth = 0)
    CHANGE(PACKED, "picture-cb-qp-offset", PICTURE(1).pps_cb_qp_offset = 0)
    CHANGE(PACKED, "picture-cr-qp-offset", PICTURE(1).pps_cr_qp_offset = 0)
    CHANGE(PACKED, "picture-tile-columns", PICTURE(1).num_tile_columns_minus1 = 1)
    CHANGE(PACKED, "picture-tile-rows", PICTURE(1).num_tile_rows_minus1 = 1)
    CHANGE(PACKED, "picture-parallel-merge-level", PICTURE(1).log2_parallel_merge_level_minus2 = 1)
    CHANGE(PACKED, "picture-num-ref-idx-l0 slice-num-ref-idx-l0 slice-num-ref-idx-without-override",
           PICTURE(4).num_ref_idx_l0_default_active_minus1 = 2)
    CHANGE(PACKED, "picture-num-ref-idx-l1 slice-num-ref-idx-l1 slice-num-ref-idx-without-override",
           PICTURE(2).num_ref_idx_l1_default_active_minus1 = 1)
    CHANGE(PACKED, "picture-pps-id", PICTURE(1).slice_pic_parameter_set_id = 1)
    CHANGE(PACKED, "picture-pps-id picture-pps-id-range", PICTURE(1).slice_pic_parameter_set_id = 64)
    CHANGE(PACKED, "picture-nal-unit-type", PICTURE(1).nal_unit_type = 0)
    CHANGE(PACKED, "picture-idr-flag", PICTURE(8).pic_fields.bits.idr_pic_flag = 0)
    CHANGE(PACKED, "picture-coding-type-differs", PICTURE(1).pic_fields.bits.coding_type = 3)
    CHANGE(PACKED, "picture-coding-type-differs", PICTURE(2).pic_fields.bits.coding_type = 2)
    CHANGE(PACKED, "", PICTURE(2).pic_fields.bits.coding_type = 5)
    CHANGE(PACKED, "picture-coding-type picture-coding-type-differs", PICTURE(2).pic_fields.bits.coding_type = 6)
    CHANGE(LOW_DELAY, "", PICTURE(2).pic_fields.bits.coding_type = 3)
    CHANGE(PACKED, "picture-reference-flag", PICTURE(1).pic_fields.bits.reference_pic_flag = 0)
    CHANGE(PACKED, "picture-reference-flag", PICTURE(2).pic_fields.bits.reference_pic_flag = 1)
    CHANGE(PACKED, "picture-dependent-slices", PICTURE(1).pic_fields.bits.dependent_slice_segments_enabled_flag = 1)
    CHANGE(PACKED, "picture-sign-data-hiding", PICTURE(1).pic_fields.bits.sign_data_hiding_enabled_flag = 1)
    CHANGE(PACKED, "picture-constrained-intra", PICTURE(1).pic_fields.bits.constrained_intra_pred_flag = 1)
    CHANGE(PACKED, "picture-transform-skip", PICTURE(1).pic_fields.bits.transform_skip_enabled_flag = 1)
    CHANGE(PACKED, "picture-cu-qp-delta", PICTURE(1).pic_fields.bits.cu_qp_delta_enabled_flag = 0)
    CHANGE(PACKED, "picture-weighted-pred", PICTURE(1).pic_fields.bits.weighted_pred_flag = 1)
    CHANGE(PACKED, "picture-weighted-bipred", PICTURE(1).pic_fields.bits.weighted_bipred_flag = 1)
    CHANGE(PACKED, "picture-transquant-bypass", PICTURE(1).pic_fields.bits.transquant_bypass_enabled_flag = 1)
    CHANGE(PACKED, "picture-tiles", PICTURE(1).pic_fields.bits.tiles_enabled_flag = 1)
    CHANGE(PACKED, "picture-entropy-sync", PICTURE(1).pic_fields.bits.entropy_coding_sync_enabled_flag = 1)
    CHANGE(PACKED, "picture-loop-filter-across-slices",
           PICTURE(1).pic_fields.bits.pps_loop_filter_across_slices_enabled_flag = 0)
    CHANGE(PACKED, "picture-scaling-list", PICTURE(1).pic_fields.bits.scaling_list_data_present_flag = 1)
    CHANGE(PACKED, "picture-weights-by-driver", PICTURE(1).pic_fields.bits.enable_gpu_weighted_prediction = 1)
    CHANGE(PACKED, "picture-no-output-of-prior", PICTURE(8).pic_fields.bits.no_output_of_prior_pics_flag = 1)
    CHANGE(PACKED, "", PICTURE(1).pic_fields.bits.screen_content_flag = 1)
    CHANGE(PACKED, "picture-fields-reserved", PICTURE(1).pic_fields.bits.reserved = 1)
    CHANGE(PACKED, "picture-hierarchical-level", PICTURE(1).hierarchical_level_plus1 = 9)
    CHANGE(PACKED, "picture-byte-reserved", PICTURE(1).va_byte_reserved = 1)
    CHANGE(PACKED, "picture-current-reference", PICTURE(1).scc_fields.bits.pps_curr_pic_ref_enabled_flag = 1)
    CHANGE(PACKED, "picture-scc-reserved", PICTURE(1).scc_fields.bits.reserved = 1)
    CHANGE(PACKED, "picture-reserved", PICTURE(1).va_reserved[2] = 1)
    return false;
}

static bool reference_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "reference-frames-not-in-dpb reference-frames-incomplete reference-frames-current-missing "
           "reference-list-0-not-in-frames picture-collocated",
           PICTURE(1).reference_frames[0].picture_id = RECONSTRUCTION + 20)
    CHANGE(PACKED, "reference-frames-duplicate", PICTURE(2).reference_frames[2] = PICTURE(2).reference_frames[0])
    CHANGE(PACKED, "reference-frames-gap", PICTURE(1).reference_frames[3] = PICTURE(1).reference_frames[0];
           PICTURE(1).reference_frames[0] = invalid_picture(); PICTURE(1).collocated_ref_pic_index = 3)
    CHANGE(PACKED, "reference-frames-at-idr", PICTURE(8).reference_frames[0] = PICTURE(7).reference_frames[0])
    CHANGE(PACKED, "reference-frames-invalid-flag-missing", PICTURE(1).reference_frames[9].flags = 0)
    CHANGE(PACKED, "reference-frames-invalid-with-flags", PICTURE(1).reference_frames[9].flags |= 0x10)
    CHANGE(PACKED, "reference-frames-invalid-with-surface", PICTURE(1).reference_frames[9].picture_id = 0)
    CHANGE(PACKED, "reference-frames-poc", PICTURE(4).reference_frames[1].pic_order_cnt = 1)
    CHANGE(PACKED, "reference-frames-term-flag",
           PICTURE(4).reference_frames[1].flags |= VA_PICTURE_HEVC_LONG_TERM_REFERENCE)
    CHANGE(PACKED, "reference-frames-set-flag", PICTURE(4).reference_frames[1].flags = 0)
    CHANGE(PACKED, "reference-frames-set-flag",
           PICTURE(2).reference_frames[0].flags = VA_PICTURE_HEVC_RPS_ST_CURR_AFTER)
    CHANGE(PACKED, "reference-frames-set-flag", PICTURE(2).reference_frames[0].flags |= VA_PICTURE_HEVC_RPS_LT_CURR)
    CHANGE(PACKED, "reference-frames-other-flags", PICTURE(4).reference_frames[1].flags |= 2)
    CHANGE(PACKED, "reference-frames-reserved", PICTURE(4).reference_frames[14].va_reserved[1] = 2)
    CHANGE(PACKED, "reference-list-0-surface picture-collocated slices-differ-collocated",
           PIC(4)->slices[0].ref_pic_list0[0] = PIC(4)->slices[0].ref_pic_list0[1])
    CHANGE(PACKED, "reference-list-0-entry-missing picture-not-codable picture-collocated",
           PIC(4)->slices[0].ref_pic_list0[0] = invalid_picture(); END(4))
    CHANGE(PACKED, "reference-list-0-surplus",
           PIC(4)->slices[0].ref_pic_list0[2] = PIC(4)->slices[0].ref_pic_list0[1])
    CHANGE(PACKED, "reference-list-1-unused",
           PIC(4)->slices[0].ref_pic_list1[0] = PIC(4)->slices[0].ref_pic_list0[1])
    CHANGE(PACKED, "reference-list-0-poc", PIC(4)->slices[0].ref_pic_list0[0].pic_order_cnt++)
    CHANGE(PACKED, "reference-list-0-term-flag", PIC(4)->slices[0].ref_pic_list0[0].flags |= 8)
    CHANGE(PACKED, "", PIC(4)->slices[0].ref_pic_list0[0].flags = 0)
    CHANGE(PACKED, "reference-list-0-set-flag", PIC(4)->slices[0].ref_pic_list0[0].flags = 0x20)
    CHANGE(PACKED, "reference-list-1-surface", PIC(2)->slices[0].ref_pic_list1[0] = PIC(2)->slices[0].ref_pic_list0[0])
    CHANGE(PACKED, "reference-list-0-reserved", PIC(4)->slices[0].ref_pic_list0[14].va_reserved[0] = 1)
    CHANGE(PACKED, "reference-list-0-invalid-flag-missing", PIC(4)->slices[0].ref_pic_list0[14].flags = 0)
    return false;
}

int main(void)
{
    return run_changes(right_scenes) | run_changes(sequence_changes) | run_changes(vui_changes) |
           run_changes(picture_changes) | run_changes(reference_changes);
}
