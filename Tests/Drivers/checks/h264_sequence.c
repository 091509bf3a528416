/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sequence parameter buffer: by itself, against the context, and against the SPS in the stream. */
#include "h264_checks.h"

#include <string.h>

#define CLAUSE "va_enc_h264.h VAEncSequenceParameterBufferH264"
#define KNOWN_FIELD_BITS 0x1ffffu /* seq_fields.bits */

/* True when the two buffers describe different parameter sets: rate and periods may change at any time. */
static bool describes_another(VAEncSequenceParameterBufferH264 one, VAEncSequenceParameterBufferH264 other)
{
    one.bits_per_second = other.bits_per_second = 0;
    one.intra_period = other.intra_period = one.intra_idr_period = other.intra_idr_period = 0;
    one.ip_period = other.ip_period = 0;
    return one.level_idc != other.level_idc || one.seq_parameter_set_id != other.seq_parameter_set_id ||
           one.max_num_ref_frames != other.max_num_ref_frames ||
           one.picture_width_in_mbs != other.picture_width_in_mbs ||
           one.picture_height_in_mbs != other.picture_height_in_mbs ||
           one.seq_fields.value != other.seq_fields.value ||
           one.bit_depth_luma_minus8 != other.bit_depth_luma_minus8 ||
           one.bit_depth_chroma_minus8 != other.bit_depth_chroma_minus8 ||
           one.frame_cropping_flag != other.frame_cropping_flag ||
           one.frame_crop_left_offset != other.frame_crop_left_offset ||
           one.frame_crop_right_offset != other.frame_crop_right_offset ||
           one.frame_crop_top_offset != other.frame_crop_top_offset ||
           one.frame_crop_bottom_offset != other.frame_crop_bottom_offset ||
           one.vui_parameters_present_flag != other.vui_parameters_present_flag ||
           one.vui_fields.value != other.vui_fields.value || one.aspect_ratio_idc != other.aspect_ratio_idc ||
           one.sar_width != other.sar_width || one.sar_height != other.sar_height ||
           one.num_units_in_tick != other.num_units_in_tick || one.time_scale != other.time_scale;
}

void h264_check_sequence(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    const struct submission *submission = checker->submission;
    bool idr = checker->collected.picture && checker->picture.picture.h264.pic_fields.bits.idr_pic_flag;
    if (!checker->collected.sequence) {
        if (idr || !checker->had_sequence)
            finding(checker, "sequence-buffer-missing", CLAUSE, "%s",
                    checker->had_sequence ? "an IDR picture begins a sequence" : "none came yet");
        return;
    }
    expect_range(checker, "sequence-id-range", CLAUSE ".seq_parameter_set_id", sequence->seq_parameter_set_id, 0, 31);
    if (sequence->ip_period == 0)
        finding(checker, "sequence-ip-period-zero", CLAUSE ".ip_period", "given 0, expected 1 or more");
    if (sequence->intra_period && sequence->ip_period > sequence->intra_period)
        finding(checker, "sequence-periods", CLAUSE ".ip_period", "ip_period %u is longer than intra_period %u",
                sequence->ip_period, sequence->intra_period);
    if (sequence->intra_idr_period && sequence->intra_period && sequence->intra_idr_period < sequence->intra_period)
        finding(checker, "sequence-periods", CLAUSE ".intra_idr_period",
                "intra_idr_period %u is shorter than intra_period %u", sequence->intra_idr_period,
                sequence->intra_period);
    expect(checker, "sequence-fields-unknown-bits", CLAUSE ".seq_fields",
           sequence->seq_fields.value & ~KNOWN_FIELD_BITS, 0);
    expect(checker, "sequence-vui-reserved", CLAUSE ".vui_fields.reserved", sequence->vui_fields.bits.reserved, 0);
    expect_reserved(checker, "sequence-reserved", CLAUSE ".va_reserved", sequence->va_reserved, VA_PADDING_LOW);
    expect(checker, "sequence-width-differs-from-context", CLAUSE ".picture_width_in_mbs",
           sequence->picture_width_in_mbs, (submission->context_width + 15) / 16);
    expect(checker, "sequence-height-differs-from-context", CLAUSE ".picture_height_in_mbs",
           sequence->picture_height_in_mbs, (submission->context_height + 15) / 16);
    if (checker->had_sequence && !idr && describes_another(*sequence, checker->previous_sequence.h264))
        finding(checker, "sequence-changed-outside-idr", "H.264 7.4.1.2.1",
                "sequence parameters change at a picture that is no IDR picture");
}

/* H.264 7.3.2.1.1 in the order of the syntax */
static void check_size_and_counts(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    const struct h264_sps *sps = &checker->picture.sps.h264;
    expect(checker, "sequence-id", CLAUSE ".seq_parameter_set_id", sequence->seq_parameter_set_id,
           sps->seq_parameter_set_id);
    expect(checker, "sequence-level-idc", CLAUSE ".level_idc", sequence->level_idc, sps->level_idc);
    expect(checker, "sequence-chroma-format-idc", CLAUSE ".chroma_format_idc",
           sequence->seq_fields.bits.chroma_format_idc, sps->chroma_format_idc);
    expect(checker, "sequence-bit-depth-luma", CLAUSE ".bit_depth_luma_minus8", sequence->bit_depth_luma_minus8,
           sps->bit_depth_luma_minus8);
    expect(checker, "sequence-bit-depth-chroma", CLAUSE ".bit_depth_chroma_minus8",
           sequence->bit_depth_chroma_minus8, sps->bit_depth_chroma_minus8);
    expect(checker, "sequence-scaling-matrix", CLAUSE ".seq_scaling_matrix_present_flag",
           sequence->seq_fields.bits.seq_scaling_matrix_present_flag, sps->seq_scaling_matrix_present_flag);
    expect(checker, "sequence-log2-max-frame-num", CLAUSE ".log2_max_frame_num_minus4",
           sequence->seq_fields.bits.log2_max_frame_num_minus4, sps->log2_max_frame_num_minus4);
    expect(checker, "sequence-max-num-ref-frames", CLAUSE ".max_num_ref_frames", sequence->max_num_ref_frames,
           sps->max_num_ref_frames);
    expect(checker, "sequence-width", CLAUSE ".picture_width_in_mbs", sequence->picture_width_in_mbs,
           sps->pic_width_in_mbs_minus1 + 1);
    expect(checker, "sequence-height", CLAUSE ".picture_height_in_mbs", sequence->picture_height_in_mbs,
           (sps->pic_height_in_map_units_minus1 + 1) * (2 - sps->frame_mbs_only_flag));
    expect(checker, "sequence-frame-mbs-only", CLAUSE ".frame_mbs_only_flag",
           sequence->seq_fields.bits.frame_mbs_only_flag, sps->frame_mbs_only_flag);
    expect(checker, "sequence-mb-adaptive", CLAUSE ".mb_adaptive_frame_field_flag",
           sequence->seq_fields.bits.mb_adaptive_frame_field_flag, sps->mb_adaptive_frame_field_flag);
    expect(checker, "sequence-direct-8x8-inference", CLAUSE ".direct_8x8_inference_flag",
           sequence->seq_fields.bits.direct_8x8_inference_flag, sps->direct_8x8_inference_flag);
}

static void check_order_counts(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    const struct h264_sps *sps = &checker->picture.sps.h264;
    expect(checker, "sequence-poc-type", CLAUSE ".pic_order_cnt_type", sequence->seq_fields.bits.pic_order_cnt_type,
           sps->pic_order_cnt_type);
    if (sps->pic_order_cnt_type == 0)
        expect(checker, "sequence-log2-max-poc-lsb", CLAUSE ".log2_max_pic_order_cnt_lsb_minus4",
               sequence->seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4, sps->log2_max_pic_order_cnt_lsb_minus4);
    if (sps->pic_order_cnt_type != 1)
        return;
    expect(checker, "sequence-delta-poc-always-zero", CLAUSE ".delta_pic_order_always_zero_flag",
           sequence->seq_fields.bits.delta_pic_order_always_zero_flag, sps->delta_pic_order_always_zero_flag);
    expect(checker, "sequence-offset-for-non-ref-pic", CLAUSE ".offset_for_non_ref_pic",
           sequence->offset_for_non_ref_pic, sps->offset_for_non_ref_pic);
    expect(checker, "sequence-offset-for-top-to-bottom", CLAUSE ".offset_for_top_to_bottom_field",
           sequence->offset_for_top_to_bottom_field, sps->offset_for_top_to_bottom_field);
    expect(checker, "sequence-poc-cycle-length", CLAUSE ".num_ref_frames_in_pic_order_cnt_cycle",
           sequence->num_ref_frames_in_pic_order_cnt_cycle, sps->num_ref_frames_in_pic_order_cnt_cycle);
    for (uint32_t i = 0; i < sps->num_ref_frames_in_pic_order_cnt_cycle; i++)
        if (sequence->offset_for_ref_frame[i] != sps->offset_for_ref_frame[i]) {
            finding(checker, "sequence-offset-for-ref-frame", CLAUSE ".offset_for_ref_frame",
                    "entry %u: given %d, expected %d", i, sequence->offset_for_ref_frame[i],
                    sps->offset_for_ref_frame[i]);
            return;
        }
}

static void check_crop(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    const struct h264_sps *sps = &checker->picture.sps.h264;
    expect(checker, "sequence-cropping-flag", CLAUSE ".frame_cropping_flag", sequence->frame_cropping_flag,
           sps->frame_cropping_flag);
    if (!sps->frame_cropping_flag)
        return;
    expect(checker, "sequence-crop-left", CLAUSE ".frame_crop_left_offset", sequence->frame_crop_left_offset,
           sps->frame_crop_left_offset);
    expect(checker, "sequence-crop-right", CLAUSE ".frame_crop_right_offset", sequence->frame_crop_right_offset,
           sps->frame_crop_right_offset);
    expect(checker, "sequence-crop-top", CLAUSE ".frame_crop_top_offset", sequence->frame_crop_top_offset,
           sps->frame_crop_top_offset);
    expect(checker, "sequence-crop-bottom", CLAUSE ".frame_crop_bottom_offset", sequence->frame_crop_bottom_offset,
           sps->frame_crop_bottom_offset);
}

static void check_vui_aspect_and_timing(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    const struct h264_vui *vui = &checker->picture.sps.h264.vui;
    expect(checker, "sequence-aspect-ratio-present", CLAUSE ".aspect_ratio_info_present_flag",
           sequence->vui_fields.bits.aspect_ratio_info_present_flag, vui->picture.aspect_ratio_info_present_flag);
    if (vui->picture.aspect_ratio_info_present_flag) {
        expect(checker, "sequence-aspect-ratio-idc", CLAUSE ".aspect_ratio_idc", sequence->aspect_ratio_idc,
               vui->picture.aspect_ratio_idc);
        if (vui->picture.aspect_ratio_idc == 255) {
            expect(checker, "sequence-sar-width", CLAUSE ".sar_width", sequence->sar_width, vui->picture.sar_width);
            expect(checker, "sequence-sar-height", CLAUSE ".sar_height", sequence->sar_height, vui->picture.sar_height);
        }
    }
    expect(checker, "sequence-timing-present", CLAUSE ".timing_info_present_flag",
           sequence->vui_fields.bits.timing_info_present_flag, vui->timing_info_present_flag);
    if (!vui->timing_info_present_flag)
        return;
    expect(checker, "sequence-num-units-in-tick", CLAUSE ".num_units_in_tick", sequence->num_units_in_tick,
           vui->num_units_in_tick);
    expect(checker, "sequence-time-scale", CLAUSE ".time_scale", sequence->time_scale, vui->time_scale);
    expect(checker, "sequence-fixed-frame-rate", CLAUSE ".fixed_frame_rate_flag",
           sequence->vui_fields.bits.fixed_frame_rate_flag, vui->fixed_frame_rate_flag);
}

static void check_vui_restriction(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    const struct h264_vui *vui = &checker->picture.sps.h264.vui;
    if (vui->nal_hrd_parameters_present_flag || vui->vcl_hrd_parameters_present_flag)
        expect(checker, "sequence-low-delay-hrd", CLAUSE ".low_delay_hrd_flag",
               sequence->vui_fields.bits.low_delay_hrd_flag, vui->low_delay_hrd_flag);
    expect(checker, "sequence-bitstream-restriction", CLAUSE ".bitstream_restriction_flag",
           sequence->vui_fields.bits.bitstream_restriction_flag, vui->bitstream_restriction_flag);
    if (!vui->bitstream_restriction_flag)
        return;
    expect(checker, "sequence-log2-max-mv-horizontal", CLAUSE ".log2_max_mv_length_horizontal",
           sequence->vui_fields.bits.log2_max_mv_length_horizontal, vui->log2_max_mv_length_horizontal);
    expect(checker, "sequence-log2-max-mv-vertical", CLAUSE ".log2_max_mv_length_vertical",
           sequence->vui_fields.bits.log2_max_mv_length_vertical, vui->log2_max_mv_length_vertical);
    expect(checker, "sequence-mv-over-boundaries", CLAUSE ".motion_vectors_over_pic_boundaries_flag",
           sequence->vui_fields.bits.motion_vectors_over_pic_boundaries_flag,
           vui->motion_vectors_over_pic_boundaries_flag);
}

void h264_check_sequence_sps(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    bool sent = h264_sps_sent(checker);
    if (!checker->collected.sequence && !sent)
        return;
    check_size_and_counts(checker);
    check_order_counts(checker);
    check_crop(checker);
    expect(checker, "sequence-vui-present", CLAUSE ".vui_parameters_present_flag",
           checker->picture.sequence.h264.vui_parameters_present_flag, sps->vui_parameters_present_flag);
    if (!sps->vui_parameters_present_flag)
        return;
    check_vui_aspect_and_timing(checker);
    check_vui_restriction(checker);
}

void h264_check_cropping(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    const struct submission *submission = checker->submission;
    if (!h264_sps_sent(checker) || sps->chroma_format_idc != 1)
        return;
    uint32_t fields = 2 - sps->frame_mbs_only_flag;
    uint64_t columns = 2ull * ((uint64_t)sps->frame_crop_left_offset + sps->frame_crop_right_offset);
    uint64_t rows = 2ull * fields * ((uint64_t)sps->frame_crop_top_offset + sps->frame_crop_bottom_offset);
    check_window(checker, "width", (sps->pic_width_in_mbs_minus1 + 1) * 16, columns, submission->context_width, 16, 16);
    check_window(checker, "height", (sps->pic_height_in_map_units_minus1 + 1) * 16 * fields, rows,
                 submission->context_height, 16, 16);
    if (sps->frame_cropping_flag && columns == 0 && rows == 0)
        finding(checker, "cropping-empty", "H.264 7.4.2.1.1 frame_cropping_flag", "is 1, but nothing is cut off");
}
