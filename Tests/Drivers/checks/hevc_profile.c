/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameter sets against the config's profile (H.265 A.3), and what profile_tier_level() says (7.4.4). */
#include "hevc_checks.h"

/* general_profile_compatibility_flag[idc] */
static bool compatible(const struct hevc_profile *profile, uint32_t idc)
{
    return profile->profile_compatibility_flags >> (31 - idc) & 1;
}

static void check_general(struct checker *checker, uint32_t expected)
{
    const struct hevc_profile *general = &checker->picture.sps.hevc.profile_tier_level.general;
    const char *clause = "H.265 7.4.4";
    expect(checker, "sps-profile-idc", "H.265 A.3", general->profile_idc, expected);
    expect(checker, "sps-profile-space", clause, general->profile_space, 0);
    if (general->profile_idc < 32 && !compatible(general, general->profile_idc))
        finding(checker, "sps-profile-compatibility", clause,
                "general_profile_compatibility_flag[%u] is 0, general_profile_idc is %u", general->profile_idc,
                general->profile_idc);
    if (compatible(general, 1) && !compatible(general, 2))
        finding(checker, "sps-profile-compatibility-main-10", "H.265 A.3.2",
                "a stream of Main has general_profile_compatibility_flag[2] 1");
    if (expected == 2 && compatible(general, 1))
        finding(checker, "sps-profile-compatibility-main", "H.265 A.3.3",
                "general_profile_compatibility_flag[1] is 1, the bit depth is not 8");
    if (general->interlaced_source_flag || !general->progressive_source_flag)
        finding(checker, "sps-source-flags", clause,
                "general_progressive_source_flag %u, general_interlaced_source_flag %u: the source is progressive",
                general->progressive_source_flag, general->interlaced_source_flag);
    if (!general->frame_only_constraint_flag)
        finding(checker, "sps-frame-only", clause, "general_frame_only_constraint_flag is 0, all pictures are frames");
    if (general->constraint_bits[0] || general->constraint_bits[1] || general->inbld_flag)
        finding(checker, "sps-reserved-constraints", clause, "general_reserved_zero_43bits are not zero");
    expect(checker, "sps-extension", "H.265 A.3.2", checker->picture.sps.hevc.sps_extension_present_flag, 0);
    expect(checker, "pps-extension", "H.265 A.3.2", checker->picture.pps.hevc.pps_extension_present_flag, 0);
}

void hevc_check_profile(struct checker *checker)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    bool main_10 = checker->config.profile == VAProfileHEVCMain10;
    const char *clause = main_10 ? "H.265 A.3.3" : "H.265 A.3.2";
    expect(checker, "profile-chroma-format", clause, sps->chroma_format_idc, 1);
    /* Main 10 may have 8 bits, but surfaces of the config have 10. */
    expect(checker, "profile-bit-depth-luma", clause, sps->bit_depth_luma_minus8, main_10 ? 2 : 0);
    expect(checker, "profile-bit-depth-chroma", clause, sps->bit_depth_chroma_minus8, main_10 ? 2 : 0);
    expect_range(checker, "profile-tree-block", clause, hevc_ctb_log2(sps), 4, 6);
    expect(checker, "vui-fields-not-advertised", "va.h VAConfigAttribEncInterlaced",
           sps->vui_parameters_present_flag && sps->vui.field_seq_flag, 0);
    if (pps->tiles_enabled_flag && pps->entropy_coding_sync_enabled_flag)
        finding(checker, "profile-tiles-and-wavefronts", clause, "both are enabled");
    if (hevc_sps_sent(checker))
        check_general(checker, main_10 ? 2 : 1);
}
