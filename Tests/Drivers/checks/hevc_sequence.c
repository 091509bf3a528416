/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sequence parameter buffer: by itself, against the context, and against the SPS in the stream. */
#include "hevc_checks.h"

#include <stdio.h>

#define CLAUSE "va_enc_hevc.h VAEncSequenceParameterBufferHEVC"

/* True when the two buffers describe different parameter sets: rate and periods may change at any time. */
static bool describes_another(const VAEncSequenceParameterBufferHEVC *one,
                              const VAEncSequenceParameterBufferHEVC *other)
{
    return one->general_profile_idc != other->general_profile_idc ||
           one->general_level_idc != other->general_level_idc || one->general_tier_flag != other->general_tier_flag ||
           one->pic_width_in_luma_samples != other->pic_width_in_luma_samples ||
           one->pic_height_in_luma_samples != other->pic_height_in_luma_samples ||
           one->seq_fields.value != other->seq_fields.value ||
           one->log2_min_luma_coding_block_size_minus3 != other->log2_min_luma_coding_block_size_minus3 ||
           one->log2_diff_max_min_luma_coding_block_size != other->log2_diff_max_min_luma_coding_block_size ||
           one->log2_min_transform_block_size_minus2 != other->log2_min_transform_block_size_minus2 ||
           one->log2_diff_max_min_transform_block_size != other->log2_diff_max_min_transform_block_size ||
           one->max_transform_hierarchy_depth_inter != other->max_transform_hierarchy_depth_inter ||
           one->max_transform_hierarchy_depth_intra != other->max_transform_hierarchy_depth_intra ||
           one->pcm_sample_bit_depth_luma_minus1 != other->pcm_sample_bit_depth_luma_minus1 ||
           one->pcm_sample_bit_depth_chroma_minus1 != other->pcm_sample_bit_depth_chroma_minus1 ||
           one->log2_min_pcm_luma_coding_block_size_minus3 != other->log2_min_pcm_luma_coding_block_size_minus3 ||
           one->log2_max_pcm_luma_coding_block_size_minus3 != other->log2_max_pcm_luma_coding_block_size_minus3 ||
           one->vui_parameters_present_flag != other->vui_parameters_present_flag ||
           one->vui_fields.value != other->vui_fields.value || one->aspect_ratio_idc != other->aspect_ratio_idc ||
           one->sar_width != other->sar_width || one->sar_height != other->sar_height ||
           one->vui_num_units_in_tick != other->vui_num_units_in_tick ||
           one->vui_time_scale != other->vui_time_scale ||
           one->min_spatial_segmentation_idc != other->min_spatial_segmentation_idc ||
           one->max_bytes_per_pic_denom != other->max_bytes_per_pic_denom ||
           one->max_bits_per_min_cu_denom != other->max_bits_per_min_cu_denom ||
           one->scc_fields.value != other->scc_fields.value;
}

static void check_periods_given(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    if (sequence->ip_period == 0)
        finding(checker, "sequence-ip-period-zero", CLAUSE ".ip_period", "given 0, expected 1 or more");
    if (sequence->intra_period && sequence->ip_period > sequence->intra_period)
        finding(checker, "sequence-periods", CLAUSE ".ip_period", "ip_period %u is longer than intra_period %u",
                sequence->ip_period, sequence->intra_period);
    if (sequence->intra_idr_period && sequence->intra_period && sequence->intra_idr_period < sequence->intra_period)
        finding(checker, "sequence-periods", CLAUSE ".intra_idr_period",
                "intra_idr_period %u is shorter than intra_period %u", sequence->intra_idr_period,
                sequence->intra_period);
}

/* The coded size is the context's, made a multiple of what the driver wants; the conformance window shows less. */
static void check_size(struct checker *checker, const char *name, const char *clause, uint32_t coded, uint32_t context,
                       uint32_t alignment)
{
    uint32_t smallest = 8u << (checker->picture.sequence.hevc.log2_min_luma_coding_block_size_minus3 & 3);
    uint32_t step = alignment > smallest ? alignment : smallest;
    if (alignment && coded % alignment) {
        char aligned[64];
        snprintf(aligned, sizeof aligned, "%s-alignment", name);
        finding(checker, aligned, clause, "%u samples are no multiple of %u, as this driver wants them", coded,
                alignment);
        return;
    }
    uint64_t longest = ((uint64_t)context + 15) / 16 * 16;
    if (longest < ((uint64_t)context + step - 1) / step * step)
        longest = ((uint64_t)context + step - 1) / step * step;
    if (coded < context || coded > longest) {
        char differs[64];
        snprintf(differs, sizeof differs, "%s-differs-from-context", name);
        finding(checker, differs, clause, "given %u, the context has %u: expected up to %llu", coded, context,
                (unsigned long long)longest);
    }
}

void hevc_check_sequence(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct submission *submission = checker->submission;
    const struct persona_limits *limits = &checker->config.limits;
    bool idr = checker->collected.picture && checker->picture.picture.hevc.pic_fields.bits.idr_pic_flag;
    if (!checker->collected.sequence) {
        if (idr || !checker->had_sequence)
            finding(checker, "sequence-buffer-missing", CLAUSE, "%s",
                    checker->had_sequence ? "an IDR picture begins a sequence" : "none came yet");
        return;
    }
    check_periods_given(checker);
    expect(checker, "sequence-fields-reserved", CLAUSE ".seq_fields.reserved_bits",
           sequence->seq_fields.bits.reserved_bits, 0);
    expect(checker, "sequence-vui-unknown-bits", CLAUSE ".vui_fields", sequence->vui_fields.value >> 18, 0);
    expect(checker, "sequence-palette-mode", CLAUSE ".scc_fields.palette_mode_enabled_flag",
           sequence->scc_fields.bits.palette_mode_enabled_flag, 0);
    expect(checker, "sequence-scc-reserved", CLAUSE ".scc_fields.reserved", sequence->scc_fields.bits.reserved, 0);
    expect_reserved(checker, "sequence-reserved", CLAUSE ".va_reserved", sequence->va_reserved, VA_PADDING_MEDIUM - 1);
    check_size(checker, "sequence-width", CLAUSE ".pic_width_in_luma_samples", sequence->pic_width_in_luma_samples,
               submission->context_width, limits->width_alignment);
    check_size(checker, "sequence-height", CLAUSE ".pic_height_in_luma_samples", sequence->pic_height_in_luma_samples,
               submission->context_height, limits->height_alignment);
    if (checker->had_sequence && !idr && describes_another(sequence, &checker->previous_sequence.hevc))
        finding(checker, "sequence-changed-outside-idr", "H.265 7.4.2.4.2",
                "sequence parameters change at a picture that is no IDR picture");
}

static void check_block_sizes(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    expect(checker, "sequence-log2-min-coding-block", CLAUSE ".log2_min_luma_coding_block_size_minus3",
           sequence->log2_min_luma_coding_block_size_minus3, sps->log2_min_luma_coding_block_size_minus3);
    expect(checker, "sequence-log2-diff-coding-block", CLAUSE ".log2_diff_max_min_luma_coding_block_size",
           sequence->log2_diff_max_min_luma_coding_block_size, sps->log2_diff_max_min_luma_coding_block_size);
    expect(checker, "sequence-log2-min-transform-block", CLAUSE ".log2_min_transform_block_size_minus2",
           sequence->log2_min_transform_block_size_minus2, sps->log2_min_luma_transform_block_size_minus2);
    expect(checker, "sequence-log2-diff-transform-block", CLAUSE ".log2_diff_max_min_transform_block_size",
           sequence->log2_diff_max_min_transform_block_size, sps->log2_diff_max_min_luma_transform_block_size);
    expect(checker, "sequence-transform-depth-inter", CLAUSE ".max_transform_hierarchy_depth_inter",
           sequence->max_transform_hierarchy_depth_inter, sps->max_transform_hierarchy_depth_inter);
    expect(checker, "sequence-transform-depth-intra", CLAUSE ".max_transform_hierarchy_depth_intra",
           sequence->max_transform_hierarchy_depth_intra, sps->max_transform_hierarchy_depth_intra);
}

static void check_pcm(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    expect(checker, "sequence-pcm", CLAUSE ".pcm_enabled_flag", sequence->seq_fields.bits.pcm_enabled_flag,
           sps->pcm_enabled_flag);
    if (!sps->pcm_enabled_flag)
        return;
    expect(checker, "sequence-pcm-loop-filter", CLAUSE ".pcm_loop_filter_disabled_flag",
           sequence->seq_fields.bits.pcm_loop_filter_disabled_flag, sps->pcm_loop_filter_disabled_flag);
    expect(checker, "sequence-pcm-bit-depth-luma", CLAUSE ".pcm_sample_bit_depth_luma_minus1",
           sequence->pcm_sample_bit_depth_luma_minus1, sps->pcm_sample_bit_depth_luma_minus1);
    expect(checker, "sequence-pcm-bit-depth-chroma", CLAUSE ".pcm_sample_bit_depth_chroma_minus1",
           sequence->pcm_sample_bit_depth_chroma_minus1, sps->pcm_sample_bit_depth_chroma_minus1);
    expect(checker, "sequence-pcm-log2-min", CLAUSE ".log2_min_pcm_luma_coding_block_size_minus3",
           sequence->log2_min_pcm_luma_coding_block_size_minus3, sps->log2_min_pcm_luma_coding_block_size_minus3);
    expect(checker, "sequence-pcm-log2-max", CLAUSE ".log2_max_pcm_luma_coding_block_size_minus3",
           sequence->log2_max_pcm_luma_coding_block_size_minus3,
           (int64_t)sps->log2_min_pcm_luma_coding_block_size_minus3 +
               sps->log2_diff_max_min_pcm_luma_coding_block_size);
}

static void check_tools(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    expect(checker, "sequence-scaling-list", CLAUSE ".scaling_list_enabled_flag",
           sequence->seq_fields.bits.scaling_list_enabled_flag, sps->scaling_list_enabled_flag);
    expect(checker, "sequence-strong-intra-smoothing", CLAUSE ".strong_intra_smoothing_enabled_flag",
           sequence->seq_fields.bits.strong_intra_smoothing_enabled_flag, sps->strong_intra_smoothing_enabled_flag);
    expect(checker, "sequence-amp", CLAUSE ".amp_enabled_flag", sequence->seq_fields.bits.amp_enabled_flag,
           sps->amp_enabled_flag);
    expect(checker, "sequence-sao", CLAUSE ".sample_adaptive_offset_enabled_flag",
           sequence->seq_fields.bits.sample_adaptive_offset_enabled_flag, sps->sample_adaptive_offset_enabled_flag);
    expect(checker, "sequence-temporal-mvp", CLAUSE ".sps_temporal_mvp_enabled_flag",
           sequence->seq_fields.bits.sps_temporal_mvp_enabled_flag, sps->sps_temporal_mvp_enabled_flag);
}

/* H.265 7.3.2.2 in the order of the syntax */
void hevc_check_sequence_sps(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_profile *general = &sps->profile_tier_level.general;
    if (!checker->collected.sequence && !hevc_sps_sent(checker))
        return;
    expect(checker, "sequence-profile-idc", CLAUSE ".general_profile_idc", sequence->general_profile_idc,
           general->profile_idc);
    expect(checker, "sequence-tier", CLAUSE ".general_tier_flag", sequence->general_tier_flag, general->tier_flag);
    expect(checker, "sequence-level-idc", CLAUSE ".general_level_idc", sequence->general_level_idc,
           general->level_idc);
    expect(checker, "sequence-chroma-format-idc", CLAUSE ".chroma_format_idc",
           sequence->seq_fields.bits.chroma_format_idc, sps->chroma_format_idc);
    expect(checker, "sequence-separate-colour-plane", CLAUSE ".separate_colour_plane_flag",
           sequence->seq_fields.bits.separate_colour_plane_flag, sps->separate_colour_plane_flag);
    expect(checker, "sequence-width", CLAUSE ".pic_width_in_luma_samples", sequence->pic_width_in_luma_samples,
           sps->pic_width_in_luma_samples);
    expect(checker, "sequence-height", CLAUSE ".pic_height_in_luma_samples", sequence->pic_height_in_luma_samples,
           sps->pic_height_in_luma_samples);
    expect(checker, "sequence-bit-depth-luma", CLAUSE ".bit_depth_luma_minus8",
           sequence->seq_fields.bits.bit_depth_luma_minus8, sps->bit_depth_luma_minus8);
    expect(checker, "sequence-bit-depth-chroma", CLAUSE ".bit_depth_chroma_minus8",
           sequence->seq_fields.bits.bit_depth_chroma_minus8, sps->bit_depth_chroma_minus8);
    check_block_sizes(checker);
    check_tools(checker);
    check_pcm(checker);
    expect(checker, "sequence-vui-present", CLAUSE ".vui_parameters_present_flag",
           sequence->vui_parameters_present_flag, sps->vui_parameters_present_flag);
    if (sps->vui_parameters_present_flag && sequence->vui_parameters_present_flag)
        hevc_check_sequence_vui(checker);
}

/* What decoders show is what the context asks for, within the smallest step that offsets and alignment allow. */
void hevc_check_window(struct checker *checker)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct submission *submission = checker->submission;
    const struct persona_limits *limits = &checker->config.limits;
    if (!hevc_sps_sent(checker))
        return;
    uint64_t columns = (uint64_t)sps->conf_win_left_offset + sps->conf_win_right_offset;
    uint64_t rows = (uint64_t)sps->conf_win_top_offset + sps->conf_win_bottom_offset;
    columns *= hevc_crop_width(sps);
    rows *= hevc_crop_height(sps);
    uint32_t smallest = 1u << hevc_min_cb_log2(sps);
    check_window(checker, "width", sps->pic_width_in_luma_samples, columns, submission->context_width, smallest,
                 limits->width_alignment > 16 ? limits->width_alignment : 16);
    check_window(checker, "height", sps->pic_height_in_luma_samples, rows, submission->context_height, smallest,
                 limits->height_alignment > 16 ? limits->height_alignment : 16);
    if (sps->conformance_window_flag && columns == 0 && rows == 0)
        finding(checker, "cropping-empty", "H.265 7.4.3.2.1 conformance_window_flag", "is 1, but nothing is cut off");
}
