/* SPDX-License-Identifier: GPL-2.0-or-later */
/* H.265 A.4: what the level and the tier allow. */
#include "hevc_checks.h"

/* Tables A.8 and A.9. Sizes and rates in units of CpbVclFactor or CpbNalFactor bits; 0: the High tier does not exist at
 * the level. */
struct level {
    uint32_t level_idc, luma_samples;
    uint32_t cpb_size[2]; /* Main, High tier */
    uint32_t slice_segments;
    uint64_t luma_rate;
    uint32_t bit_rate[2];
    uint32_t least_compression[2]; /* MinCrBase */
};

static const struct level levels[] = {
    {30, 36864, {350, 0}, 16, 552960, {128, 0}, {2, 2}},
    {60, 122880, {1500, 0}, 16, 3686400, {1500, 0}, {2, 2}},
    {63, 245760, {3000, 0}, 20, 7372800, {3000, 0}, {2, 2}},
    {90, 552960, {6000, 0}, 30, 16588800, {6000, 0}, {2, 2}},
    {93, 983040, {10000, 0}, 40, 33177600, {10000, 0}, {2, 2}},
    {120, 2228224, {12000, 30000}, 75, 66846720, {12000, 30000}, {4, 4}},
    {123, 2228224, {20000, 50000}, 75, 133693440, {20000, 50000}, {4, 4}},
    {150, 8912896, {25000, 100000}, 200, 267386880, {25000, 100000}, {6, 4}},
    {153, 8912896, {40000, 160000}, 200, 534773760, {40000, 160000}, {8, 4}},
    {156, 8912896, {60000, 240000}, 200, 1069547520, {60000, 240000}, {8, 4}},
    {180, 35651584, {60000, 240000}, 600, 1069547520, {60000, 240000}, {8, 4}},
    {183, 35651584, {120000, 480000}, 600, 2139095040, {120000, 480000}, {8, 4}},
    {186, 35651584, {240000, 800000}, 600, 4278190080, {240000, 800000}, {6, 4}},
};

/* CpbVclFactor and CpbNalFactor (Table A.10), by the config's profile. */
struct factors {
    uint64_t vcl, nal;
};

static struct factors factors_of(const struct checker *checker)
{
    switch (checker->config.profile) {
    case VAProfileHEVCMain12:
        return (struct factors){1500, 1650};
    case VAProfileHEVCMain422_10:
        return (struct factors){1667, 1833};
    case VAProfileHEVCMain422_12:
    case VAProfileHEVCMain444:
        return (struct factors){2000, 2200};
    case VAProfileHEVCMain444_10:
        return (struct factors){2500, 2750};
    case VAProfileHEVCMain444_12:
        return (struct factors){3000, 3300};
    default:
        return (struct factors){1000, 1100};
    }
}

static const struct level *level_of(const struct hevc_sps *sps)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (levels[i].level_idc == sps->profile_tier_level.general.level_idc)
            return &levels[i];
    return NULL;
}

/* MaxDpbSize, A-2 */
static uint32_t largest_dpb(const struct level *level, uint64_t samples)
{
    if (samples <= level->luma_samples / 4)
        return 16;
    if (samples <= level->luma_samples / 2)
        return 12;
    return samples <= 3 * (uint64_t)level->luma_samples / 4 ? 8 : 6;
}

static void check_buffering(struct checker *checker, const struct level *level, uint64_t samples)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    for (uint32_t i = 0; i <= sps->sps_max_sub_layers_minus1; i++) {
        const struct hevc_sub_layer_ordering *ordering = &sps->ordering[i];
        if (ordering->max_dec_pic_buffering_minus1 + 1 > largest_dpb(level, samples))
            finding(checker, "level-max-dec-pic-buffering", "H.265 A.4.2 MaxDpbSize", "%u, level_idc %u allows %u",
                    ordering->max_dec_pic_buffering_minus1 + 1, level->level_idc, largest_dpb(level, samples));
        if (i && (ordering->max_dec_pic_buffering_minus1 < ordering[-1].max_dec_pic_buffering_minus1 ||
                  ordering->max_num_reorder_pics < ordering[-1].max_num_reorder_pics))
            finding(checker, "sps-sub-layer-order", "H.265 7.4.3.2.1", "sub-layer %u needs less than the one below", i);
    }
}

static void check_size(struct checker *checker, const struct level *level)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    uint64_t width = sps->pic_width_in_luma_samples, height = sps->pic_height_in_luma_samples;
    if (width * height > level->luma_samples)
        finding(checker, "level-picture-size", "H.265 A.4.1 MaxLumaPs", "%llu samples, level_idc %u allows %u",
                (unsigned long long)(width * height), level->level_idc, level->luma_samples);
    if (width * width > 8ull * level->luma_samples || height * height > 8ull * level->luma_samples)
        finding(checker, "level-picture-side", "H.265 A.4.1", "%llu x %llu samples, level_idc %u allows sides of "
                "Sqrt(8 * %u)", (unsigned long long)width, (unsigned long long)height, level->level_idc,
                level->luma_samples);
    if (level->level_idc >= 150 && hevc_ctb_log2(sps) < 5)
        finding(checker, "level-tree-block", "H.265 A.4.1", "coding tree blocks of 16x16 at level_idc %u",
                level->level_idc);
    check_buffering(checker, level, width * height);
}

/* Of the VUI or else of the VA parameters. */
static struct picture_rate picture_rate(const struct checker *checker)
{
    const struct hevc_vui *vui = &checker->picture.sps.hevc.vui;
    if (checker->picture.sps.hevc.vui_parameters_present_flag && vui->vui_timing_info_present_flag)
        return (struct picture_rate){vui->vui_time_scale, vui->vui_num_units_in_tick};
    return (struct picture_rate){checker->rate.frame_rate_numerator, checker->rate.frame_rate_denominator};
}

static uint64_t luma_samples(const struct hevc_sps *sps)
{
    return (uint64_t)sps->pic_width_in_luma_samples * sps->pic_height_in_luma_samples;
}

/* A.4.2: what the NAL units of the picture may take, by the luma samples that the level's decoder does in its time. */
static uint64_t largest_access_unit(const struct checker *checker, const struct level *level, uint32_t tier)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    double samples = decoders_work(checker, picture_rate(checker), (double)luma_samples(sps),
                                   (double)level->luma_rate, 300);
    /* FormatCapabilityFactor, Table A.10: bytes of a sample and its chroma, of Main 10 and of Main. */
    double bytes = samples * (sps->profile_tier_level.general.profile_idc == 2 ? 1.875 : 1.5);
    return whole_bytes(bytes / level->least_compression[tier]);
}

static void check_luma_rate(struct checker *checker, const struct level *level)
{
    uint64_t samples = luma_samples(&checker->picture.sps.hevc);
    struct picture_rate rate = picture_rate(checker);
    if (rate.denominator &&
        (double)samples * (double)rate.numerator > (double)level->luma_rate * (double)rate.denominator)
        finding(checker, "level-luma-rate", "H.265 A.4.2 MaxLumaSr",
                "%llu samples at %llu/%llu Hz, level_idc %u allows %llu in a second", (unsigned long long)samples,
                (unsigned long long)rate.numerator, (unsigned long long)rate.denominator, level->level_idc,
                (unsigned long long)level->luma_rate);
}

/* A.4.2: the schedules of the SPS. */
static void check_schedules(struct checker *checker, const struct level *level, bool nal)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_hrd *hrd = &sps->vui.hrd;
    uint32_t tier = sps->profile_tier_level.general.tier_flag, highest = sps->sps_max_sub_layers_minus1;
    const struct factors factors = factors_of(checker);
    uint64_t factor = nal ? factors.nal : factors.vcl, before = 0;
    if (!(nal ? hrd->nal_hrd_parameters_present_flag : hrd->vcl_hrd_parameters_present_flag))
        return;
    for (uint32_t i = 0; i <= hrd->sub_layers[highest].cpb_cnt_minus1 && i < 32; i++) {
        struct schedule schedule = hevc_schedule(sps, nal, i);
        if (schedule.bit_rate > level->bit_rate[tier] * factor)
            finding(checker, "level-hrd-bit-rate", "H.265 A.4.2 MaxBR", "%llu bit/s, level_idc %u allows %llu",
                    (unsigned long long)schedule.bit_rate, level->level_idc,
                    (unsigned long long)(level->bit_rate[tier] * factor));
        if (schedule.size > level->cpb_size[tier] * factor)
            finding(checker, "level-hrd-cpb-size", "H.265 A.4.2 MaxCPB", "%llu bits, level_idc %u allows %llu",
                    (unsigned long long)schedule.size, level->level_idc,
                    (unsigned long long)(level->cpb_size[tier] * factor));
        if (i && schedule.bit_rate <= before)
            finding(checker, "hrd-bit-rate-order", "H.265 E.3.3 bit_rate_value_minus1", "entry %u is not larger", i);
        before = schedule.bit_rate;
    }
}

static void check_rate_control(struct checker *checker, const struct level *level, uint32_t tier)
{
    const uint64_t factor = factors_of(checker).nal;
    uint64_t rate = level->bit_rate[tier] * factor, size = level->cpb_size[tier] * factor;
    if (!aims_at_bit_rate(checker))
        return;
    if (checker->rate.bits_per_second > rate)
        finding(checker, "level-bit-rate", "H.265 A.4.2 MaxBR", "%u bit/s asked, level_idc %u allows %llu",
                checker->rate.bits_per_second, level->level_idc, (unsigned long long)rate);
    if (checker->rate.hrd_buffer_size > size)
        finding(checker, "level-cpb-size", "H.265 A.4.2 MaxCPB", "%u bits asked, level_idc %u allows %llu",
                checker->rate.hrd_buffer_size, level->level_idc, (unsigned long long)size);
}

void hevc_check_levels(struct checker *checker)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct level *level = level_of(sps);
    uint32_t tier = sps->profile_tier_level.general.tier_flag;
    if (level && checker->picture.slice_count > level->slice_segments)
        finding(checker, "level-slice-segments", "H.265 A.4.1 MaxSliceSegmentsPerPicture",
                "%u slice segments, level_idc %u allows %u", checker->picture.slice_count, level->level_idc,
                level->slice_segments);
    /* MinCr of range extensions profiles is scaled, and not judged here. */
    bool scaled = sps->profile_tier_level.general.profile_idc == 4;
    checker->picture.largest_access_unit = level && !scaled ? largest_access_unit(checker, level, tier) : 0;
    if (!hevc_sps_sent(checker) && !checker->rate.changed)
        return;
    if (!level) {
        finding(checker, "level-unknown", "H.265 A.4", "general_level_idc %u",
                sps->profile_tier_level.general.level_idc);
        return;
    }
    if (tier && !level->bit_rate[1]) {
        finding(checker, "level-without-high-tier", "H.265 A.4.1", "general_tier_flag is 1 at level_idc %u",
                level->level_idc);
        tier = 0;
    }
    check_size(checker, level);
    check_luma_rate(checker, level);
    check_rate_control(checker, level, tier);
    if (sps->vui_parameters_present_flag && sps->vui.vui_hrd_parameters_present_flag) {
        check_schedules(checker, level, true);
        check_schedules(checker, level, false);
    }
}
