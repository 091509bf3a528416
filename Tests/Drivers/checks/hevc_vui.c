/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VUI fields of the sequence parameter buffer against the VUI of the SPS (H.265 Annex E). */
#include "hevc_checks.h"

#define CLAUSE "va_enc_hevc.h VAEncSequenceParameterBufferHEVC"

static void check_aspect_ratio(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_vui *vui = &checker->picture.sps.hevc.vui;
    expect(checker, "sequence-aspect-ratio-present", CLAUSE ".aspect_ratio_info_present_flag",
           sequence->vui_fields.bits.aspect_ratio_info_present_flag, vui->picture.aspect_ratio_info_present_flag);
    if (!vui->picture.aspect_ratio_info_present_flag)
        return;
    expect(checker, "sequence-aspect-ratio-idc", CLAUSE ".aspect_ratio_idc", sequence->aspect_ratio_idc,
           vui->picture.aspect_ratio_idc);
    if (vui->picture.aspect_ratio_idc != 255)
        return;
    expect(checker, "sequence-sar-width", CLAUSE ".sar_width", sequence->sar_width, vui->picture.sar_width);
    expect(checker, "sequence-sar-height", CLAUSE ".sar_height", sequence->sar_height, vui->picture.sar_height);
}

static void check_times(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_vui *vui = &checker->picture.sps.hevc.vui;
    expect(checker, "sequence-timing-present", CLAUSE ".vui_timing_info_present_flag",
           sequence->vui_fields.bits.vui_timing_info_present_flag, vui->vui_timing_info_present_flag);
    if (!vui->vui_timing_info_present_flag)
        return;
    expect(checker, "sequence-num-units-in-tick", CLAUSE ".vui_num_units_in_tick", sequence->vui_num_units_in_tick,
           vui->vui_num_units_in_tick);
    expect(checker, "sequence-time-scale", CLAUSE ".vui_time_scale", sequence->vui_time_scale, vui->vui_time_scale);
}

static void check_restriction(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_vui *vui = &checker->picture.sps.hevc.vui;
    expect(checker, "sequence-bitstream-restriction", CLAUSE ".bitstream_restriction_flag",
           sequence->vui_fields.bits.bitstream_restriction_flag, vui->bitstream_restriction_flag);
    if (!vui->bitstream_restriction_flag)
        return;
    expect(checker, "sequence-tiles-fixed", CLAUSE ".tiles_fixed_structure_flag",
           sequence->vui_fields.bits.tiles_fixed_structure_flag, vui->tiles_fixed_structure_flag);
    expect(checker, "sequence-mv-over-boundaries", CLAUSE ".motion_vectors_over_pic_boundaries_flag",
           sequence->vui_fields.bits.motion_vectors_over_pic_boundaries_flag,
           vui->motion_vectors_over_pic_boundaries_flag);
    expect(checker, "sequence-restricted-lists", CLAUSE ".restricted_ref_pic_lists_flag",
           sequence->vui_fields.bits.restricted_ref_pic_lists_flag, vui->restricted_ref_pic_lists_flag);
    expect(checker, "sequence-min-spatial-segmentation", CLAUSE ".min_spatial_segmentation_idc",
           sequence->min_spatial_segmentation_idc, vui->min_spatial_segmentation_idc);
    expect(checker, "sequence-max-bytes-per-pic", CLAUSE ".max_bytes_per_pic_denom",
           sequence->max_bytes_per_pic_denom, vui->max_bytes_per_pic_denom);
    expect(checker, "sequence-max-bits-per-cu", CLAUSE ".max_bits_per_min_cu_denom",
           sequence->max_bits_per_min_cu_denom, vui->max_bits_per_min_cu_denom);
    expect(checker, "sequence-log2-max-mv-horizontal", CLAUSE ".log2_max_mv_length_horizontal",
           sequence->vui_fields.bits.log2_max_mv_length_horizontal, vui->log2_max_mv_length_horizontal);
    expect(checker, "sequence-log2-max-mv-vertical", CLAUSE ".log2_max_mv_length_vertical",
           sequence->vui_fields.bits.log2_max_mv_length_vertical, vui->log2_max_mv_length_vertical);
}

void hevc_check_sequence_vui(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_vui *vui = &checker->picture.sps.hevc.vui;
    check_aspect_ratio(checker);
    expect(checker, "sequence-neutral-chroma", CLAUSE ".neutral_chroma_indication_flag",
           sequence->vui_fields.bits.neutral_chroma_indication_flag, vui->neutral_chroma_indication_flag);
    expect(checker, "sequence-field-seq", CLAUSE ".field_seq_flag", sequence->vui_fields.bits.field_seq_flag,
           vui->field_seq_flag);
    check_times(checker);
    check_restriction(checker);
}
