/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of sequence, picture and slice parameters; see change_runner.h. */
#include "h264_changes.h"

static bool sequence_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "")
    CHANGE(PACKED, "sequence-id", PIC(0)->sequence.seq_parameter_set_id = 1)
    CHANGE(PACKED, "sequence-id sequence-id-range", PIC(0)->sequence.seq_parameter_set_id = 40)
    CHANGE(PACKED, "sequence-level-idc", PIC(0)->sequence.level_idc = 31)
    CHANGE(PACKED, "sequence-intra-period-exceeded", PIC(0)->sequence.intra_period = 4)
    CHANGE(PACKED, "sequence-idr-period-exceeded sequence-periods", PIC(0)->sequence.intra_idr_period = 7)
    CHANGE(PACKED, "sequence-ip-period-exceeded", PIC(0)->sequence.ip_period = 2)
    CHANGE(PACKED, "sequence-ip-period-zero", PIC(0)->sequence.ip_period = 0)
    CHANGE(PACKED, "sequence-periods", PIC(0)->sequence.ip_period = 20)
    CHANGE(PACKED, "sequence-bits-per-second", PIC(0)->sequence.bits_per_second = 900000)
    CHANGE(PACKED, "sequence-bits-per-second", PIC(0)->sequence.bits_per_second = 1000001)
    CHANGE(PACKED, "sequence-bits-per-second-zero", PIC(0)->sequence.bits_per_second = 0)
    CHANGE(PACKED, "sequence-max-num-ref-frames", PIC(0)->sequence.max_num_ref_frames = 3)
    CHANGE(PACKED, "sequence-width sequence-width-differs-from-context", PIC(0)->sequence.picture_width_in_mbs = 5)
    CHANGE(PACKED, "sequence-height sequence-height-differs-from-context", PIC(0)->sequence.picture_height_in_mbs = 2)
    CHANGE(PACKED, "sequence-chroma-format-idc", PIC(0)->sequence.seq_fields.bits.chroma_format_idc = 2)
    CHANGE(PACKED, "sequence-frame-mbs-only", PIC(0)->sequence.seq_fields.bits.frame_mbs_only_flag = 0)
    CHANGE(PACKED, "sequence-mb-adaptive", PIC(0)->sequence.seq_fields.bits.mb_adaptive_frame_field_flag = 1)
    CHANGE(PACKED, "sequence-scaling-matrix", PIC(0)->sequence.seq_fields.bits.seq_scaling_matrix_present_flag = 1)
    CHANGE(PACKED, "sequence-direct-8x8-inference", PIC(0)->sequence.seq_fields.bits.direct_8x8_inference_flag = 0)
    CHANGE(PACKED, "sequence-log2-max-frame-num", PIC(0)->sequence.seq_fields.bits.log2_max_frame_num_minus4 = 1)
    CHANGE(PACKED, "sequence-poc-type", PIC(0)->sequence.seq_fields.bits.pic_order_cnt_type = 2)
    CHANGE(PACKED, "sequence-log2-max-poc-lsb", PIC(0)->sequence.seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4 = 3)
    CHANGE(PACKED, "sequence-fields-unknown-bits", PIC(0)->sequence.seq_fields.value |= 1u << 20)
    CHANGE(PACKED, "sequence-bit-depth-luma", PIC(0)->sequence.bit_depth_luma_minus8 = 2)
    CHANGE(PACKED, "sequence-bit-depth-chroma", PIC(0)->sequence.bit_depth_chroma_minus8 = 2)
    CHANGE(PACKED, "sequence-cropping-flag", PIC(0)->sequence.frame_cropping_flag = 0)
    CHANGE(PACKED, "sequence-crop-left", PIC(0)->sequence.frame_crop_left_offset = 1)
    CHANGE(PACKED, "sequence-crop-right", PIC(0)->sequence.frame_crop_right_offset = 0)
    CHANGE(PACKED, "sequence-crop-top", PIC(0)->sequence.frame_crop_top_offset = 1)
    CHANGE(PACKED, "sequence-crop-bottom", PIC(0)->sequence.frame_crop_bottom_offset = 1)
    CHANGE(PACKED, "sequence-vui-present", PIC(0)->sequence.vui_parameters_present_flag = 0)
    CHANGE(PACKED, "sequence-aspect-ratio-present",
           PIC(0)->sequence.vui_fields.bits.aspect_ratio_info_present_flag = 0)
    CHANGE(PACKED, "sequence-aspect-ratio-idc", PIC(0)->sequence.aspect_ratio_idc = 1)
    CHANGE(PACKED, "sequence-sar-width", PIC(0)->sequence.sar_width = 5)
    CHANGE(PACKED, "sequence-sar-height", PIC(0)->sequence.sar_height = 5)
    CHANGE(PACKED, "sequence-timing-present", PIC(0)->sequence.vui_fields.bits.timing_info_present_flag = 0)
    CHANGE(PACKED, "sequence-num-units-in-tick", PIC(0)->sequence.num_units_in_tick = 2)
    CHANGE(PACKED, "sequence-time-scale", PIC(0)->sequence.time_scale = 60)
    CHANGE(PACKED, "sequence-fixed-frame-rate", PIC(0)->sequence.vui_fields.bits.fixed_frame_rate_flag = 0)
    CHANGE(PACKED, "sequence-low-delay-hrd", PIC(0)->sequence.vui_fields.bits.low_delay_hrd_flag = 1)
    CHANGE(PACKED, "sequence-bitstream-restriction",
           PIC(0)->sequence.vui_fields.bits.bitstream_restriction_flag = 0)
    CHANGE(PACKED, "sequence-log2-max-mv-horizontal",
           PIC(0)->sequence.vui_fields.bits.log2_max_mv_length_horizontal = 11)
    CHANGE(PACKED, "sequence-log2-max-mv-vertical",
           PIC(0)->sequence.vui_fields.bits.log2_max_mv_length_vertical = 11)
    CHANGE(PACKED, "sequence-mv-over-boundaries",
           PIC(0)->sequence.vui_fields.bits.motion_vectors_over_pic_boundaries_flag = 0)
    CHANGE(PACKED, "sequence-vui-reserved", PIC(0)->sequence.vui_fields.bits.reserved = 1)
    CHANGE(PACKED, "sequence-reserved", PIC(0)->sequence.va_reserved[3] = 1)
    CHANGE(PACKED, "sequence-buffer-missing", PIC(8)->send_sequence = false)
    CHANGE(PACKED, "sequence-buffer-missing picture-not-codable", PIC(0)->send_sequence = false; END(0))
    CHANGE(PACKED, "sequence-level-idc sequence-changed-outside-idr", PIC(1)->send_sequence = true;
           PIC(1)->sequence.level_idc = 31)
    CHANGE(PACKED, "", PIC(1)->send_sequence = true)
    CHANGE(OWN, "sequence-cropping-flag", PIC(0)->sequence.frame_cropping_flag = 2)
    CHANGE(OWN, "sequence-width-differs-from-context picture-not-codable slice-macroblocks-total "
           "slice-structure", PIC(0)->sequence.picture_width_in_mbs = 5; END(0))
    CHANGE(OWN, "level-unknown", PIC(0)->sequence.level_idc = 33)
    CHANGE(OWN, "level-macroblock-rate", PIC(0)->sequence.level_idc = 10; PIC(0)->sequence.time_scale = 250; END(7))
    return false;
}

static bool picture_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "reconstruction-invalid picture-not-codable",
           PIC(1)->picture.CurrPic.picture_id = VA_INVALID_SURFACE;
           END(1))
    CHANGE(PACKED, "picture-curr-is-reference", PIC(2)->picture.CurrPic.picture_id = RECONSTRUCTION)
    CHANGE(PACKED, "reconstruction-is-input picture-not-codable",
           PIC(2)->picture.CurrPic.picture_id = INPUT_SURFACE + 2;
           END(2))
    CHANGE(PACKED, "picture-curr-frame-idx", PIC(1)->picture.CurrPic.frame_idx = 0)
    CHANGE(PACKED, "picture-curr-top-poc", PIC(1)->picture.CurrPic.TopFieldOrderCnt = 4)
    CHANGE(PACKED, "picture-curr-bottom-poc", PIC(1)->picture.CurrPic.BottomFieldOrderCnt = 0)
    CHANGE(PACKED, "picture-curr-invalid", PIC(1)->picture.CurrPic.flags |= VA_PICTURE_H264_INVALID)
    CHANGE(PACKED, "picture-curr-field", PIC(1)->picture.CurrPic.flags |= VA_PICTURE_H264_TOP_FIELD)
    CHANGE(PACKED, "picture-curr-reference-flag", PIC(2)->picture.CurrPic.flags |= VA_PICTURE_H264_SHORT_TERM_REFERENCE)
    CHANGE(PACKED, "picture-curr-long-term-flag", PIC(1)->picture.CurrPic.flags |= VA_PICTURE_H264_LONG_TERM_REFERENCE)
    CHANGE(PACKED, "picture-curr-flags-unknown", PIC(1)->picture.CurrPic.flags |= 0x100)
    CHANGE(PACKED, "picture-curr-reserved", PIC(1)->picture.CurrPic.va_reserved[0] = 1)
    CHANGE(PACKED, "reference-frames-not-in-dpb reference-frames-incomplete reference-list-0-not-in-frames",
           PIC(1)->picture.ReferenceFrames[0].picture_id = RECONSTRUCTION + 20)
    CHANGE(PACKED, "reference-frames-incomplete reference-list-0-not-in-frames",
           PIC(1)->picture.ReferenceFrames[0] = invalid_picture())
    CHANGE(PACKED, "reference-frames-duplicate reference-frames-incomplete reference-list-0-not-in-frames "
           "reference-list-1-not-in-frames reference-frames-frame-idx reference-frames-top-poc "
           "reference-frames-bottom-poc", PIC(2)->picture.ReferenceFrames[1].picture_id = RECONSTRUCTION)
    CHANGE(PACKED, "reference-frames-duplicate",
           PIC(2)->picture.ReferenceFrames[2] = PIC(2)->picture.ReferenceFrames[0])
    CHANGE(PACKED, "reference-frames-gap", PIC(1)->picture.ReferenceFrames[3] = PIC(1)->picture.ReferenceFrames[0];
           PIC(1)->picture.ReferenceFrames[0] = invalid_picture())
    CHANGE(PACKED, "reference-frames-at-idr",
           PIC(8)->picture.ReferenceFrames[0] = PIC(7)->picture.ReferenceFrames[0])
    CHANGE(PACKED, "reference-frames-invalid-flag-missing", PIC(1)->picture.ReferenceFrames[9].flags = 0)
    CHANGE(PACKED, "reference-frames-invalid-with-surface", PIC(1)->picture.ReferenceFrames[9].picture_id = 0)
    CHANGE(PACKED, "reference-frames-frame-idx", PIC(4)->picture.ReferenceFrames[1].frame_idx = 0)
    CHANGE(PACKED, "reference-frames-top-poc", PIC(4)->picture.ReferenceFrames[1].TopFieldOrderCnt = 1)
    CHANGE(PACKED, "reference-frames-bottom-poc", PIC(4)->picture.ReferenceFrames[1].BottomFieldOrderCnt = 1)
    CHANGE(PACKED, "reference-frames-term-flag", PIC(4)->picture.ReferenceFrames[1].flags = 0)
    CHANGE(PACKED, "reference-frames-term-flag", PIC(4)->picture.ReferenceFrames[1].flags = 0x10)
    CHANGE(PACKED, "reference-frames-other-flags", PIC(4)->picture.ReferenceFrames[1].flags |= 2)
    CHANGE(PACKED, "reference-frames-reserved", PIC(4)->picture.ReferenceFrames[15].va_reserved[1] = 2)
    CHANGE(PACKED, "coded-buffer-invalid picture-not-codable", PIC(4)->picture.coded_buf = 3; END(4))
    CHANGE(PACKED, "coded-buffer-small", s->coded_buffer_size = 12 * 400 - 1)
    CHANGE(PACKED, "picture-pps-id", PIC(1)->picture.pic_parameter_set_id = 1)
    CHANGE(PACKED, "picture-sps-id", PIC(1)->picture.seq_parameter_set_id = 1)
    CHANGE(PACKED, "picture-sps-id picture-sps-id-range", PIC(1)->picture.seq_parameter_set_id = 32)
    CHANGE(PACKED, "picture-last-picture-unknown", PIC(1)->picture.last_picture = 4)
    CHANGE(PACKED, "picture-after-end-of-sequence", PIC(1)->picture.last_picture = H264_LAST_PICTURE_EOSEQ)
    CHANGE(PACKED, "", PIC(7)->picture.last_picture = H264_LAST_PICTURE_EOSEQ)
    CHANGE(PACKED, "picture-frame-num", PIC(1)->picture.frame_num = 2)
    CHANGE(PACKED, "picture-init-qp", PIC(1)->picture.pic_init_qp = 31)
    CHANGE(PACKED, "picture-init-qp picture-init-qp-range", PIC(1)->picture.pic_init_qp = 52)
    CHANGE(PACKED, "picture-num-ref-idx-l0 slice-num-ref-idx-l0 slice-num-ref-idx-without-override",
           PIC(2)->picture.num_ref_idx_l0_active_minus1 = 0)
    CHANGE(PACKED, "picture-num-ref-idx-l1 slice-num-ref-idx-l1 slice-num-ref-idx-without-override",
           PIC(2)->picture.num_ref_idx_l1_active_minus1 = 1)
    CHANGE(PACKED, "slice-num-ref-idx-without-override", PIC(2)->slices[1].num_ref_idx_l0_active_minus1 = 0)
    CHANGE(PACKED, "picture-chroma-qp-offset", PIC(1)->picture.chroma_qp_index_offset = 0)
    CHANGE(PACKED, "picture-second-chroma-qp-offset", PIC(1)->picture.second_chroma_qp_index_offset = 0)
    CHANGE(PACKED, "picture-idr-flag sequence-buffer-missing packed-sequence-missing packed-picture-missing",
           PIC(1)->picture.pic_fields.bits.idr_pic_flag = 1)
    CHANGE(PACKED, "picture-idr-flag", PIC(8)->picture.pic_fields.bits.idr_pic_flag = 0)
    CHANGE(PACKED, "picture-reference-flag", PIC(1)->picture.pic_fields.bits.reference_pic_flag = 0)
    CHANGE(PACKED, "picture-reference-flag", PIC(2)->picture.pic_fields.bits.reference_pic_flag = 1)
    CHANGE(PACKED, "picture-entropy-coding-mode", PIC(1)->picture.pic_fields.bits.entropy_coding_mode_flag = 0)
    CHANGE(PACKED, "picture-weighted-pred", PIC(1)->picture.pic_fields.bits.weighted_pred_flag = 1)
    CHANGE(PACKED, "picture-weighted-bipred", PIC(1)->picture.pic_fields.bits.weighted_bipred_idc = 2)
    CHANGE(PACKED, "picture-constrained-intra", PIC(1)->picture.pic_fields.bits.constrained_intra_pred_flag = 1)
    CHANGE(PACKED, "picture-transform-8x8", PIC(1)->picture.pic_fields.bits.transform_8x8_mode_flag = 1)
    CHANGE(PACKED, "picture-deblocking-control",
           PIC(1)->picture.pic_fields.bits.deblocking_filter_control_present_flag = 0)
    CHANGE(PACKED, "picture-redundant-pic-cnt", PIC(1)->picture.pic_fields.bits.redundant_pic_cnt_present_flag = 1)
    CHANGE(PACKED, "picture-pic-order-present", PIC(1)->picture.pic_fields.bits.pic_order_present_flag = 1)
    CHANGE(PACKED, "picture-scaling-matrix", PIC(1)->picture.pic_fields.bits.pic_scaling_matrix_present_flag = 1)
    CHANGE(PACKED, "picture-fields-unknown-bits", PIC(1)->picture.pic_fields.value |= 1u << 31)
    CHANGE(PACKED, "picture-reserved", PIC(1)->picture.va_reserved[2] = 7)
    CHANGE(OWN, "picture-frame-num", PIC(1)->picture.frame_num = 17)
    CHANGE(OWN, "frame-num picture-curr-frame-idx", PIC(1)->picture.frame_num = 3; END(1))
    CHANGE(OWN, "picture-not-codable picture-init-qp-range", PIC(1)->picture.pic_init_qp = 80; END(1))
    return false;
}

static bool slice_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "slice-macroblock-address slice-first-mb slice-macroblocks-total",
           PIC(1)->slices[1].macroblock_address = 7)
    CHANGE(PACKED, "slice-macroblock-address picture-not-codable slice-structure",
           PIC(1)->slices[0].num_macroblocks = 9; END(1))
    CHANGE(PACKED, "slice-macroblock-address picture-not-codable slice-structure",
           PIC(1)->slices[0].num_macroblocks = 7; END(1))
    CHANGE(PACKED, "slice-macroblocks-total picture-not-codable slice-macroblocks-zero",
           PIC(1)->slices[1].num_macroblocks = 0; END(1))
    CHANGE(PACKED, "slice-macroblocks-total picture-not-codable slice-structure",
           PIC(1)->slices[1].num_macroblocks = 3; END(1))
    CHANGE(PACKED, "slice-macroblocks-total picture-not-codable slice-structure",
           PIC(1)->slices[1].num_macroblocks = UINT32_MAX; END(1))
    CHANGE(PACKED, "slice-macroblock-info", PIC(1)->slices[1].macroblock_info = 0)
    CHANGE(PACKED, "slice-type", PIC(1)->slices[1].slice_type = 2)
    CHANGE(PACKED, "slice-type slice-type-range", PIC(1)->slices[1].slice_type = 8)
    CHANGE(PACKED, "slice-pps-id", PIC(1)->slices[1].pic_parameter_set_id = 2)
    CHANGE(PACKED, "slice-idr-pic-id", PIC(0)->slices[1].idr_pic_id = 2)
    CHANGE(PACKED, "", PIC(1)->slices[1].idr_pic_id = 2)
    CHANGE(PACKED, "slice-poc-lsb", PIC(1)->slices[1].pic_order_cnt_lsb = 2)
    CHANGE(PACKED, "slice-direct-spatial", PIC(2)->slices[1].direct_spatial_mv_pred_flag = 0)
    CHANGE(PACKED, "slice-num-ref-idx-override slice-num-ref-idx-l0",
           PIC(2)->slices[1].num_ref_idx_active_override_flag = 1; PIC(2)->slices[1].num_ref_idx_l0_active_minus1 = 0)
    CHANGE(PACKED, "slice-num-ref-idx-l0", PIC(1)->slices[1].num_ref_idx_l0_active_minus1 = 1)
    CHANGE(PACKED, "reference-list-0-surface", PIC(4)->slices[1].RefPicList0[0] = PIC(4)->slices[1].RefPicList0[1])
    CHANGE(PACKED, "reference-list-0-entry-missing picture-not-codable",
           PIC(4)->slices[1].RefPicList0[1] = invalid_picture(); END(4))
    CHANGE(PACKED, "reference-list-0-surplus", PIC(1)->slices[1].RefPicList0[1] = PIC(1)->slices[1].RefPicList0[0])
    CHANGE(PACKED, "reference-list-1-unused", PIC(1)->slices[1].RefPicList1[0] = PIC(1)->slices[1].RefPicList0[0])
    CHANGE(PACKED, "reference-list-0-unused", PIC(0)->slices[1].RefPicList0[0] = PIC(1)->slices[1].RefPicList0[0])
    CHANGE(PACKED, "reference-list-1-surface", PIC(2)->slices[1].RefPicList1[0] = PIC(2)->slices[1].RefPicList0[0])
    CHANGE(PACKED, "reference-list-0-frame-idx", PIC(4)->slices[1].RefPicList0[0].frame_idx = 9)
    CHANGE(PACKED, "reference-list-0-top-poc", PIC(4)->slices[1].RefPicList0[0].TopFieldOrderCnt = 9)
    CHANGE(PACKED, "reference-list-0-bottom-poc", PIC(4)->slices[1].RefPicList0[0].BottomFieldOrderCnt = 9)
    CHANGE(PACKED, "reference-list-1-term-flag", PIC(2)->slices[1].RefPicList1[0].flags = 0)
    CHANGE(PACKED, "reference-list-1-other-flags", PIC(2)->slices[1].RefPicList1[0].flags |= 4)
    CHANGE(PACKED, "reference-list-1-reserved", PIC(2)->slices[1].RefPicList1[31].va_reserved[0] = 4)
    CHANGE(PACKED, "reference-list-1-invalid-flag-missing", PIC(2)->slices[1].RefPicList1[31].flags = 0)
    CHANGE(PACKED, "slice-weights-without-table", PIC(2)->slices[1].luma_weight_l0_flag = 1)
    CHANGE(PACKED, "slice-weights-without-table", PIC(2)->slices[1].chroma_weight_l1_flag = 1)
    CHANGE(PACKED, "slice-cabac-init-idc", PIC(2)->slices[0].cabac_init_idc = 2)
    CHANGE(PACKED, "slice-qp-delta", PIC(2)->slices[0].slice_qp_delta = 1)
    CHANGE(PACKED, "slice-deblocking-idc", PIC(2)->slices[0].disable_deblocking_filter_idc = 1)
    CHANGE(PACKED, "slice-deblocking-alpha", PIC(2)->slices[0].slice_alpha_c0_offset_div2 = 0)
    CHANGE(PACKED, "slice-deblocking-beta", PIC(2)->slices[0].slice_beta_offset_div2 = 0)
    CHANGE(PACKED, "slice-reserved", PIC(2)->slices[0].va_reserved[0] = 1)
    CHANGE(OWN, "slice-poc-lsb", PIC(1)->slices[0].pic_order_cnt_lsb += 64; PIC(1)->slices[1].pic_order_cnt_lsb += 64)
    CHANGE(OWN, "picture-not-codable", PIC(1)->slices[0].slice_qp_delta = 30; END(1))
    CHANGE(OWN, "slices-differ-poc-lsb", PIC(1)->slices[1].pic_order_cnt_lsb = 8)
    CHANGE(OWN, "slice-count-beyond-limit", s->config.limits.maximum_slices = 1)
    CHANGE(OWN, "slice-b-not-advertised", s->config.limits.maximum_references[1] = 0)
    CHANGE(OWN, "slice-references-l0-beyond-limit", s->config.limits.maximum_references[0] = 1)
    CHANGE(OWN, "slice-structure", s->config.limits.slice_structures = VA_ENC_SLICE_STRUCTURE_MAX_SLICE_SIZE)
    CHANGE(OWN, "", s->config.limits.slice_structures = VA_ENC_SLICE_STRUCTURE_EQUAL_MULTI_ROWS)
    CHANGE(OWN, "input-outside-context", PIC(1)->input_outside = true)
    CHANGE(OWN, "input-format", PIC(1)->input_format = VA_RT_FORMAT_YUV420_10)
    CHANGE(OWN, "input-smaller-than-context", PIC(1)->input_height = 47)
    CHANGE(OWN, "input-invalid picture-not-codable", PIC(1)->input = VA_INVALID_SURFACE; END(1))
    CHANGE(OWN, "input-is-reference", PIC(1)->input = RECONSTRUCTION)
    CHANGE(OWN, "context-size-beyond-limit", s->config.limits.minimum_width = 65)
    CHANGE(PACKED, "picture-not-codable reference-list-0-surface reference-list-0-not-in-frames",
           PIC(1)->slices[0].RefPicList0[0].picture_id = RECONSTRUCTION + 99; END(1))
    return false;
}

int main(void)
{
    int failed = run_changes(sequence_changes);
    failed |= run_changes(picture_changes);
    failed |= run_changes(slice_changes);
    return failed;
}
