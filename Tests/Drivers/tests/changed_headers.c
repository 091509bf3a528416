/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of packed headers, of misc parameters, and of which buffers come; see change_runner.h. */
#include "h264_changes.h"

static bool sps_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "sps-profile-idc sps-constraint-set-0 profile-pps-extension profile-transform-8x8",
           PIC(0)->sps.profile_idc = 100; PIC(0)->sps.constraint_set_flags = 1; PIC(0)->pps.extension_present = 1;
           PIC(0)->pps.transform_8x8_mode_flag = 1; PIC(0)->picture.pic_fields.bits.transform_8x8_mode_flag = 1; END(0))
    CHANGE(PACKED, "sps-constraint-set-0", PIC(0)->sps.constraint_set_flags = 1)
    CHANGE(PACKED, "", PIC(0)->sps.constraint_set_flags = 2)
    CHANGE(PACKED, "sps-constraint-set-2", PIC(0)->sps.constraint_set_flags = 4)
    CHANGE(PACKED, "sps-constraint-set-3", PIC(0)->sps.constraint_set_flags = 8)
    CHANGE(PACKED, "", PIC(0)->sps.constraint_set_flags = 16)
    CHANGE(PACKED, "sps-constraint-set-5", PIC(0)->sps.constraint_set_flags = 32)
    CHANGE(HIGH, "sps-constraint-set-3", PIC(0)->sps.constraint_set_flags = 8)
    CHANGE(HIGH, "sps-constraint-set-1", PIC(0)->sps.constraint_set_flags = 2)
    CHANGE(BASELINE, "sps-constrained-baseline-flag", PIC(0)->sps.constraint_set_flags = 1)
    CHANGE(BASELINE, "sps-constraint-set-4", PIC(0)->sps.constraint_set_flags |= 16)
    CHANGE(BASELINE, "sps-constraint-set-5", PIC(0)->sps.constraint_set_flags |= 32)
    CHANGE(BASELINE, "sps-profile-idc", PIC(0)->sps.profile_idc = 77)
    CHANGE(PACKED, "sps-reserved-zero-bits", PIC(0)->sps.reserved_zero_2bits = 1)
    CHANGE(PACKED, "sequence-level-idc level-unknown", PIC(0)->sps.level_idc = 33)
    CHANGE(PACKED, "sequence-level-idc level-hrd-bit-rate level-hrd-cpb-size level-bit-rate level-cpb-size",
           PIC(0)->sps.level_idc = 11)
    CHANGE(PACKED, "sps-id-not-sent sei-buffering-period-size sei-pic-timing-size "
           "sei-pic-timing-unexpected",
           PIC(0)->sps.seq_parameter_set_id = 1; END(0))
    CHANGE(HIGH, "profile-chroma-format sequence-chroma-format-idc sequence-cropping-flag", END(0);
           PIC(0)->sps.chroma_format_idc = 2; PIC(0)->sps.frame_cropping_flag = 0)
    CHANGE(HIGH, "profile-bit-depth-luma sequence-bit-depth-luma", PIC(0)->sps.bit_depth_luma_minus8 = 1)
    CHANGE(HIGH, "profile-bit-depth-chroma sequence-bit-depth-chroma", PIC(0)->sps.bit_depth_chroma_minus8 = 1)
    CHANGE(HIGH, "profile-lossless", PIC(0)->sps.qpprime_y_zero_transform_bypass_flag = 1)
    CHANGE(HIGH, "sequence-scaling-matrix", PIC(0)->sps.seq_scaling_matrix_present_flag = 1)
    CHANGE(PACKED, "sequence-log2-max-frame-num", PIC(0)->sps.log2_max_frame_num_minus4 = 1; END(0);
           PIC(0)->headers[0].frame_num = 0)
    CHANGE(PACKED, "sequence-poc-type", PIC(0)->sps.pic_order_cnt_type = 2; END(0))
    CHANGE(PACKED, "sequence-max-num-ref-frames vui-max-dec-frame-buffering",
           PIC(0)->sps.max_num_ref_frames = 3; END(0))
    CHANGE(PACKED, "sps-gaps-allowed", PIC(0)->sps.gaps_in_frame_num_value_allowed_flag = 1)
    CHANGE(PACKED, "sequence-width slice-macroblocks-total picture-not-codable slice-structure",
           PIC(0)->sps.pic_width_in_mbs_minus1 = 4; END(0))
    CHANGE(PACKED, "sequence-height slice-macroblocks-total picture-not-codable",
           PIC(0)->sps.pic_height_in_map_units_minus1 = 3; END(0))
    CHANGE(PACKED, "sequence-direct-8x8-inference level-direct-8x8-inference", END(0);
           PIC(0)->sps.direct_8x8_inference_flag = 0)
    CHANGE(PACKED, "sequence-crop-left cropping-beyond-macroblock", PIC(0)->sps.frame_crop_left_offset = 7)
    CHANGE(PACKED, "sequence-crop-right", PIC(0)->sps.frame_crop_right_offset = 2)
    CHANGE(PACKED, "sequence-crop-top", PIC(0)->sps.frame_crop_top_offset = 1)
    CHANGE(PACKED, "sequence-crop-bottom", PIC(0)->sps.frame_crop_bottom_offset = 3)
    CHANGE(PACKED, "cropping-empty sequence-crop-right sequence-crop-bottom",
           PIC(0)->sps.frame_crop_right_offset = PIC(0)->sps.frame_crop_bottom_offset = 0)
    CHANGE(PACKED, "sequence-vui-present sei-buffering-period-size sei-pic-timing-size "
           "sei-pic-timing-unexpected", END(0);
           PIC(0)->sps.vui_parameters_present_flag = 0)
    CHANGE(PACKED, "sequence-sar-width", PIC(0)->sps.vui.picture.sar_width = 3)
    CHANGE(PACKED, "sequence-time-scale frame-rate-differs-from-vui", PIC(0)->sps.vui.time_scale = 60)
    CHANGE(PACKED, "packed-sps-unreadable sei-buffering-period-size sei-pic-timing-size "
           "sei-pic-timing-unexpected",
           PIC(0)->sps.vui.num_units_in_tick = 0; END(0))
    CHANGE(PACKED, "hrd-bit-rate", PIC(0)->sps.vui.nal_hrd.bit_rate_value_minus1[0]++)
    CHANGE(PACKED, "hrd-bit-rate level-hrd-bit-rate sei-initial-cpb-removal-delay",
           PIC(0)->sps.vui.nal_hrd.bit_rate_scale = 5)
    CHANGE(PACKED, "hrd-cpb-size", PIC(0)->sps.vui.nal_hrd.cpb_size_value_minus1[0]++)
    CHANGE(PACKED, "hrd-cpb-size", PIC(0)->sps.vui.nal_hrd.cpb_size_scale = 1)
    CHANGE(PACKED, "hrd-cbr-flag-clear", PIC(0)->sps.vui.nal_hrd.cbr_flag[0] = 0)
    CHANGE(PACKED, "sequence-low-delay-hrd", PIC(0)->sps.vui.low_delay_hrd_flag = 1)
    CHANGE(PACKED, "sei-buffering-period-size sei-delay-differs-from-fullness", END(0);
           PIC(0)->sps.vui.nal_hrd.initial_cpb_removal_delay_length_minus1 = 15)
    CHANGE(PACKED, "sei-pic-timing-size", PIC(0)->sps.vui.nal_hrd.cpb_removal_delay_length_minus1 = 22; END(0))
    CHANGE(PACKED, "sei-pic-timing-size", PIC(0)->sps.vui.nal_hrd.dpb_output_delay_length_minus1 = 24; END(0))
    CHANGE(PACKED, "sei-pic-timing-size", PIC(0)->sps.vui.pic_struct_present_flag = 1; END(0))
    CHANGE(HIGH, "sei-pic-timing-missing", PIC(0)->sps.vui.pic_struct_present_flag = 1)
    CHANGE(HIGH, "hrd-without-bit-rate sei-pic-timing-missing sei-buffering-period-missing", END(0);
           PIC(0)->sps.vui.nal_hrd_parameters_present_flag = 1)
    CHANGE(PACKED, "sequence-log2-max-mv-vertical", PIC(0)->sps.vui.log2_max_mv_length_vertical = 12)
    CHANGE(PACKED, "poc-reorder-depth", PIC(0)->sps.vui.max_num_reorder_frames = 0)
    CHANGE(PACKED, "vui-max-num-reorder-frames", PIC(0)->sps.vui.max_num_reorder_frames = 3)
    CHANGE(PACKED, "vui-max-dec-frame-buffering", PIC(0)->sps.vui.max_dec_frame_buffering = 1)
    CHANGE(PACKED, "sps-nal-ref-idc", PIC(0)->sps.nal_ref_idc = 0)
    CHANGE(PACKED, "sps-changed-outside-idr", PIC(4)->send_sps = true;
           PIC(4)->sps.vui.picture.overscan_info_present_flag = 1)
    CHANGE(PACKED, "", PIC(4)->send_sps = true)
    return false;
}

static bool pps_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "pps-id-not-sent", PIC(0)->pps.pic_parameter_set_id = 1; END(0))
    CHANGE(HIGH, "pps-id-not-sent", PIC(1)->pps.pic_parameter_set_id = 1; PIC(1)->send_pps = true;
           PIC(1)->headers[0].pic_parameter_set_id = PIC(1)->slices[0].pic_parameter_set_id = 2;
           PIC(1)->picture.pic_parameter_set_id = 2; END(1))
    CHANGE(HIGH, "sps-id-not-sent", PIC(0)->pps.seq_parameter_set_id = PIC(0)->picture.seq_parameter_set_id = 1;
           PIC(0)->sequence.seq_parameter_set_id = 1; END(0))
    CHANGE(PACKED, "picture-sps-id sps-id-not-sent pps-sps-id sei-buffering-period-size sei-pic-timing-size "
           "sei-pic-timing-unexpected",
           PIC(0)->pps.seq_parameter_set_id = 1; END(0))
    CHANGE(BASELINE, "picture-entropy-coding-mode profile-cabac sps-constraint-set-0",
           PIC(0)->pps.entropy_coding_mode_flag = 1; END(0))
    CHANGE(BASELINE, "picture-weighted-pred profile-weighted-pred sps-constraint-set-0",
           PIC(0)->pps.weighted_pred_flag = 1; END(0))
    CHANGE(BASELINE, "picture-weighted-bipred profile-weighted-bipred sps-constraint-set-0",
           PIC(0)->pps.weighted_bipred_idc = 1; END(0))
    CHANGE(PACKED, "picture-num-ref-idx-l0", PIC(0)->pps.num_ref_idx_l0_default_active_minus1 = 2; END(0))
    CHANGE(PACKED, "picture-num-ref-idx-l1", PIC(0)->pps.num_ref_idx_l1_default_active_minus1 = 2; END(0))
    CHANGE(PACKED, "picture-init-qp", PIC(0)->pps.pic_init_qp_minus26 = 5; END(0))
    CHANGE(PACKED, "picture-chroma-qp-offset picture-second-chroma-qp-offset",
           PIC(0)->pps.chroma_qp_index_offset = 1; END(0))
    CHANGE(HIGH, "picture-second-chroma-qp-offset", PIC(0)->pps.second_chroma_qp_index_offset = 1)
    CHANGE(HIGH, "picture-transform-8x8", PIC(0)->pps.transform_8x8_mode_flag = 0)
    CHANGE(HIGH, "picture-scaling-matrix", PIC(0)->pps.pic_scaling_matrix_present_flag = 1)
    CHANGE(PACKED, "picture-constrained-intra", PIC(0)->pps.constrained_intra_pred_flag = 1)
    CHANGE(PACKED, "picture-redundant-pic-cnt profile-redundant-pictures",
           PIC(0)->pps.redundant_pic_cnt_present_flag = 1; END(0))
    CHANGE(PACKED, "pps-nal-ref-idc", PIC(0)->pps.nal_ref_idc = 0)
    return false;
}

/* A change of all slice headers of a picture. */
#define BOTH(k, field, value) PIC(k)->headers[0].field = PIC(k)->headers[1].field = value

static bool header_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(PACKED, "picture-frame-num picture-curr-frame-idx frame-num", BOTH(1, frame_num, 2); END(1))
    CHANGE(PACKED, "slices-differ-frame-num", PIC(1)->headers[1].frame_num = 2)
    CHANGE(PACKED, "slices-differ-poc-lsb slice-poc-lsb", PIC(1)->headers[1].pic_order_cnt_lsb = 4)
    CHANGE(PACKED, "picture-curr-top-poc picture-curr-bottom-poc slice-poc-lsb poc-repeated", END(3);
           BOTH(3, pic_order_cnt_lsb, 2))
    CHANGE(PACKED, "picture-curr-top-poc picture-curr-bottom-poc slice-poc-lsb poc-idr-not-zero",
           BOTH(0, pic_order_cnt_lsb, 2); END(0))
    CHANGE(PACKED, "slices-differ-idr-pic-id slice-idr-pic-id", PIC(0)->headers[1].idr_pic_id = 3)
    CHANGE(PACKED, "slice-idr-pic-id", BOTH(0, idr_pic_id, 3))
    CHANGE(PACKED, "slices-differ-nal-unit-type", PIC(8)->headers[1].nal_unit_type = 1; END(8))
    CHANGE(PACKED, "slices-differ-nal-ref-idc", PIC(1)->headers[1].nal_ref_idc = 0)
    CHANGE(PACKED, "picture-reference-flag picture-curr-top-poc", END(1); BOTH(1, nal_ref_idc, 0);
           PIC(1)->picture.CurrPic.TopFieldOrderCnt = 1)
    CHANGE(PACKED, "idr-nal-ref-idc picture-reference-flag", BOTH(0, nal_ref_idc, 0); END(0))
    CHANGE(PACKED, "picture-reference-flag-clear-for-b", BOTH(2, nal_ref_idc, 1); END(2))
    CHANGE(PACKED, "slice-first-mb picture-not-codable", PIC(1)->headers[1].first_mb_in_slice = 7; END(1))
    CHANGE(PACKED, "packed-slice-unreadable picture-not-codable", END(0); PIC(0)->headers[1].slice_type = 5)
    CHANGE(PACKED, "slice-type slices-differ-type reference-list-0-unused", PIC(1)->headers[1].slice_type = 7)
    CHANGE(PACKED, "slice-pps-id slices-differ-pps-id", PIC(1)->headers[1].pic_parameter_set_id = 1)
    CHANGE(PACKED, "slice-direct-spatial", PIC(2)->headers[1].direct_spatial_mv_pred_flag = 0)
    CHANGE(PACKED, "slice-num-ref-idx-override slice-num-ref-idx-l0 reference-list-0-surplus",
           PIC(2)->headers[1].num_ref_idx_active_override_flag = 1; PIC(2)->headers[1].num_ref_idx_active_minus1[0] = 0)
    CHANGE(PACKED, "reference-list-0-surface", PIC(4)->headers[1].ref_pic_list_modification_flag[0] = 1;
           PIC(4)->headers[1].modification[0][0] = (struct h264_reference_modification){0, 1};
           PIC(4)->headers[1].modification[0][1].modification_of_pic_nums_idc = 3)
    CHANGE(PACKED, "reference-modification-wrong", PIC(4)->headers[1].ref_pic_list_modification_flag[0] = 1;
           PIC(4)->headers[1].modification[0][0] = (struct h264_reference_modification){0, 5};
           PIC(4)->headers[1].modification[0][1].modification_of_pic_nums_idc = 3)
    CHANGE(PACKED, "slices-differ-marking", PIC(1)->headers[1].adaptive_ref_pic_marking_mode_flag = 1)
    CHANGE(PACKED, "reference-marking-wrong", BOTH(4, adaptive_ref_pic_marking_mode_flag, 1);
           BOTH(4, marking[0].memory_management_control_operation, 1);
           BOTH(4, marking[0].difference_of_pic_nums_minus1, 9); END(4))
    CHANGE(PACKED, "slice-cabac-init-idc", PIC(1)->headers[1].cabac_init_idc = 0)
    CHANGE(PACKED, "slice-qp-delta", PIC(1)->headers[1].slice_qp_delta = -2)
    CHANGE(PACKED, "packed-slice-unreadable picture-not-codable", PIC(1)->headers[1].slice_qp_delta = 22; END(1))
    CHANGE(PACKED, "slice-deblocking-idc", PIC(1)->headers[1].disable_deblocking_filter_idc = 2)
    CHANGE(PACKED, "slice-deblocking-alpha", PIC(1)->headers[1].slice_alpha_c0_offset_div2 = 2)
    CHANGE(PACKED, "slice-deblocking-beta", PIC(1)->headers[1].slice_beta_offset_div2 = 2)
    CHANGE(PACKED, "idr-pic-id-repeated", s->pictures[7] = s->pictures[8]; PIC(7)->picture.CurrPic.picture_id++; END(8))
    CHANGE(PACKED, "sei-sps-id", PIC(0)->sei.sps_id = 1)
    CHANGE(PACKED, "sei-delay-differs-from-fullness", PIC(0)->sei.initial_delay = 67490)
    CHANGE(PACKED, "sei-delay-differs-from-fullness sei-initial-cpb-removal-delay", PIC(0)->sei.initial_delay = 90001)
    CHANGE(PACKED, "sei-cpb-removal-delay", PIC(2)->sei.removal_delay = 2)
    CHANGE(PACKED, "sei-buffering-period-missing sei-type-reserved sei-cpb-removal-delay",
           PIC(0)->sei.buffering_type = 100)
    CHANGE(PACKED, "sei-pic-timing-missing", PIC(1)->sei.timing_type = 5)
    CHANGE(PACKED, "sei-pic-timing-missing", PIC(1)->sei.send = false)
    CHANGE(PACKED, "sei-pic-timing-missing sei-buffering-period-missing", PIC(8)->sei.send = false; END(8))
    return false;
}

int main(void)
{
    int failed = run_changes(sps_changes);
    failed |= run_changes(pps_changes);
    failed |= run_changes(header_changes);
    return failed;
}
