/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameter sets against the config's profile (H.265 A.3), and what profile_tier_level() says (7.4.4). */
#include "hevc_checks.h"

/* general_profile_compatibility_flag[idc] */
static bool compatible(const struct hevc_profile *profile, uint32_t idc)
{
    return profile->profile_compatibility_flags >> (31 - idc) & 1;
}

/* What a config's profile stands for. */
struct stated_profile {
    VAProfile profile;
    const char *clause;
    uint32_t idc, chroma_format;
    uint32_t least_depth, most_depth; /* minus 8; of the surfaces that the driver codes */
    uint32_t constraints; /* Table A.2: the nine flags from general_max_12bit_constraint_flag on, and two zero bits */
};

#define FLAGS(ten, eight, chroma_422, chroma_420) \
    (1u << 10 | (ten) << 9 | (eight) << 8 | (chroma_422) << 7 | (chroma_420) << 6 | 1u << 2)

static const struct stated_profile profiles[] = {
    {VAProfileHEVCMain, "H.265 A.3.2", 1, 1, 0, 0, 0},
    /* Main 10 may have 8 bits, but surfaces of the config have 10. */
    {VAProfileHEVCMain10, "H.265 A.3.3", 2, 1, 2, 2, 0},
    {VAProfileHEVCMain12, "H.265 A.3.5", 4, 1, 4, 4, FLAGS(0u, 0u, 1u, 1u)},
    {VAProfileHEVCMain422_10, "H.265 A.3.5", 4, 2, 0, 2, FLAGS(1u, 0u, 1u, 0u)},
    {VAProfileHEVCMain422_12, "H.265 A.3.5", 4, 2, 4, 4, FLAGS(0u, 0u, 1u, 0u)},
    {VAProfileHEVCMain444, "H.265 A.3.5", 4, 3, 0, 0, FLAGS(1u, 1u, 0u, 0u)},
    {VAProfileHEVCMain444_10, "H.265 A.3.5", 4, 3, 2, 2, FLAGS(1u, 0u, 0u, 0u)},
    {VAProfileHEVCMain444_12, "H.265 A.3.5", 4, 3, 4, 4, FLAGS(0u, 0u, 0u, 0u)},
};

static const struct stated_profile *stated_profile(VAProfile profile)
{
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++)
        if (profiles[i].profile == profile)
            return &profiles[i];
    return &profiles[0];
}

uint32_t hevc_profile_constraints(VAProfile profile)
{
    return stated_profile(profile)->constraints;
}

/* A stricter profile is stated by more flags: none of the config's profile may be missing. */
static void check_constraints(struct checker *checker, const struct stated_profile *stated)
{
    const struct hevc_profile *general = &checker->picture.sps.hevc.profile_tier_level.general;
    uint32_t missing = stated->constraints & ~general->constraint_bits[0];
    if (stated->idc < 4 && (general->constraint_bits[0] || general->constraint_bits[1] || general->inbld_flag))
        finding(checker, "sps-reserved-constraints", "H.265 7.4.4", "general_reserved_zero_43bits are not zero");
    if (stated->idc == 4 && missing)
        finding(checker, "sps-profile-constraints", "H.265 A.3.5 Table A.2",
                "flags 0x%x from general_max_12bit_constraint_flag on, 0x%x are missing for the profile",
                general->constraint_bits[0], missing);
}

/* Range extensions may be sent, but none of their tools are coded. */
static void check_extensions(struct checker *checker, const struct stated_profile *stated)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    bool allowed = stated->idc == 4;
    if (!allowed || !sps->sps_range_extension_flag)
        expect(checker, "sps-extension", stated->clause, sps->sps_extension_present_flag, 0);
    if (!allowed || !pps->pps_range_extension_flag)
        expect(checker, "pps-extension", stated->clause, pps->pps_extension_present_flag, 0);
}

static void check_general(struct checker *checker, const struct stated_profile *stated)
{
    const uint32_t expected = stated->idc;
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
    if (expected >= 2 && compatible(general, 1))
        finding(checker, "sps-profile-compatibility-main", "H.265 A.3.3",
                "general_profile_compatibility_flag[1] is 1, the bit depth is not 8");
    if (general->interlaced_source_flag || !general->progressive_source_flag)
        finding(checker, "sps-source-flags", clause,
                "general_progressive_source_flag %u, general_interlaced_source_flag %u: the source is progressive",
                general->progressive_source_flag, general->interlaced_source_flag);
    if (!general->frame_only_constraint_flag)
        finding(checker, "sps-frame-only", clause, "general_frame_only_constraint_flag is 0, all pictures are frames");
    check_constraints(checker, stated);
    check_extensions(checker, stated);
}

void hevc_check_profile(struct checker *checker)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    const struct stated_profile *stated = stated_profile(checker->config.profile);
    const char *clause = stated->clause;
    expect(checker, "profile-chroma-format", clause, sps->chroma_format_idc, stated->chroma_format);
    expect_range(checker, "profile-bit-depth-luma", clause, sps->bit_depth_luma_minus8, stated->least_depth,
                 stated->most_depth);
    expect_range(checker, "profile-bit-depth-chroma", clause, sps->bit_depth_chroma_minus8, stated->least_depth,
                 stated->most_depth);
    expect_range(checker, "profile-tree-block", clause, hevc_ctb_log2(sps), 4, 6);
    expect(checker, "vui-fields-not-advertised", "va.h VAConfigAttribEncInterlaced",
           sps->vui_parameters_present_flag && sps->vui.field_seq_flag, 0);
    if (pps->tiles_enabled_flag && pps->entropy_coding_sync_enabled_flag)
        finding(checker, "profile-tiles-and-wavefronts", clause, "both are enabled");
    if (hevc_sps_sent(checker))
        check_general(checker, stated);
}
