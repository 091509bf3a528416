/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameter sets and slices against the config's profile (H.264 A.2) and against the constraint flags. */
#include "h264_checks.h"

static bool any_b_slice(const struct checker *checker)
{
    for (uint32_t i = 0; checker->have_headers && i < checker->picture.slice_count; i++)
        if (checker->picture.slices[i].header.h264.slice_type % 5 == H264_SLICE_B)
            return true;
    return false;
}

static bool any_inter_slice(const struct checker *checker)
{
    for (uint32_t i = 0; checker->have_headers && i < checker->picture.slice_count; i++)
        if (checker->picture.slices[i].header.h264.slice_type % 5 != H264_SLICE_I)
            return true;
    return false;
}

/* What 8-bit 4:2:0 profiles have in common: A.2.1, A.2.2, A.2.4. */
static void check_every_profile(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    const char *clause = "H.264 A.2.4";
    expect(checker, "profile-chroma-format", clause, sps->chroma_format_idc, 1);
    expect(checker, "profile-bit-depth-luma", clause, sps->bit_depth_luma_minus8, 0);
    expect(checker, "profile-bit-depth-chroma", clause, sps->bit_depth_chroma_minus8, 0);
    expect(checker, "profile-lossless", clause, sps->qpprime_y_zero_transform_bypass_flag, 0);
    expect(checker, "profile-redundant-pictures", clause, checker->picture.pps.h264.redundant_pic_cnt_present_flag, 0);
    expect(checker, "sps-interlaced-not-advertised", "va.h VAConfigAttribEncInterlaced", sps->frame_mbs_only_flag, 1);
    if (sps->max_num_ref_frames == 0 && any_inter_slice(checker))
        finding(checker, "sps-max-num-ref-frames-zero", "H.264 7.4.2.1.1 max_num_ref_frames",
                "is 0, but the picture refers to others");
}

/* H.264 A.2.1.1 over A.2.1, and what A.2.2 shares with it */
static void check_baseline(struct checker *checker, const char *clause)
{
    const struct h264_pps *pps = &checker->picture.pps.h264;
    expect(checker, "profile-cabac", clause, pps->entropy_coding_mode_flag, 0);
    expect(checker, "profile-weighted-pred", clause, pps->weighted_pred_flag, 0);
    expect(checker, "profile-weighted-bipred", clause, pps->weighted_bipred_idc, 0);
    if (any_b_slice(checker))
        finding(checker, "profile-b-slice", clause, "the picture has B slices");
}

static void check_not_high(struct checker *checker, const char *clause)
{
    const struct h264_pps *pps = &checker->picture.pps.h264;
    expect(checker, "profile-transform-8x8", clause, pps->transform_8x8_mode_flag, 0);
    expect(checker, "profile-scaling-matrix", clause, pps->pic_scaling_matrix_present_flag, 0);
    if (pps->extension_present)
        finding(checker, "profile-pps-extension", clause, "the PPS goes on behind redundant_pic_cnt_present_flag");
}

/* H.264 7.4.2.1.1: what the flags promise. */
static void check_constraint_sets(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    const struct h264_pps *pps = &checker->picture.pps.h264;
    uint32_t flags = sps->constraint_set_flags, profile = sps->profile_idc;
    const char *clause = "H.264 7.4.2.1.1 constraint_setX_flag";
    if (flags & 1u << 0 && (pps->entropy_coding_mode_flag || pps->weighted_pred_flag || pps->weighted_bipred_idc ||
                            pps->transform_8x8_mode_flag || !sps->frame_mbs_only_flag || any_b_slice(checker)))
        finding(checker, "sps-constraint-set-0", clause, "promises Baseline, but its limits are not kept");
    if (flags & 1u << 1 && (pps->transform_8x8_mode_flag || pps->pic_scaling_matrix_present_flag ||
                            sps->seq_scaling_matrix_present_flag || pps->extension_present))
        finding(checker, "sps-constraint-set-1", clause, "promises Main, but its limits are not kept");
    if (flags & 1u << 2 && (pps->entropy_coding_mode_flag || pps->transform_8x8_mode_flag ||
                            !sps->direct_8x8_inference_flag))
        finding(checker, "sps-constraint-set-2", clause, "promises Extended, but its limits are not kept");
    if (flags & 1u << 3 && profile == 100 && any_inter_slice(checker))
        finding(checker, "sps-constraint-set-3", clause, "promises intra only, but the picture refers to others");
    if (flags & 1u << 3 && profile != 100 && sps->level_idc != 11)
        finding(checker, "sps-constraint-set-3", clause, "is reserved for level_idc %u", sps->level_idc);
    if (flags & 1u << 4 && (profile == 66 || !sps->frame_mbs_only_flag))
        finding(checker, "sps-constraint-set-4", clause, "is reserved here or promises frames only");
    if (flags & 1u << 5 && (profile == 66 || any_b_slice(checker)))
        finding(checker, "sps-constraint-set-5", clause, "is reserved here or promises no B slices");
    if (checker->config.profile == VAProfileH264ConstrainedBaseline && !(flags & 1u << 1))
        finding(checker, "sps-constrained-baseline-flag", "H.264 A.2.1.1",
                "Constrained Baseline has constraint_set1_flag 1");
}

void h264_check_profile(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    check_every_profile(checker);
    switch (checker->config.profile) {
    case VAProfileH264ConstrainedBaseline:
        expect(checker, "sps-profile-idc", "H.264 A.2.1.1", sps->profile_idc, 66);
        check_baseline(checker, "H.264 A.2.1.1");
        check_not_high(checker, "H.264 A.2.1.1");
        break;
    case VAProfileH264Main:
        expect(checker, "sps-profile-idc", "H.264 A.2.2", sps->profile_idc, 77);
        check_not_high(checker, "H.264 A.2.2");
        break;
    default:
        expect(checker, "sps-profile-idc", "H.264 A.2.4", sps->profile_idc, 100);
    }
    check_constraint_sets(checker);
    if (!h264_sps_sent(checker))
        return;
    expect(checker, "sps-reserved-zero-bits", "H.264 7.4.2.1.1 reserved_zero_2bits", sps->reserved_zero_2bits, 0);
    if (sps->nal_ref_idc == 0)
        finding(checker, "sps-nal-ref-idc", "H.264 7.4.1", "nal_ref_idc of the SPS is 0");
    if (sps->gaps_in_frame_num_value_allowed_flag)
        finding(checker, "sps-gaps-allowed", "H.264 7.4.2.1.1 gaps_in_frame_num_value_allowed_flag",
                "is 1, but no VA-API parameter tells a driver of gaps");
}
