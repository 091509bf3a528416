/* SPDX-License-Identifier: GPL-2.0-or-later */
/* H.264 A.3: what the level allows. */
#include "h264_checks.h"

#include <stdlib.h>

/* Tables. Rates in units of cpbBrVclFactor or cpbBrNalFactor bits. */
struct level {
    uint32_t level_idc; /* 9: level 1b */
    uint32_t macroblocks_per_second, frame_size, dpb_size, bit_rate, cpb_size;
    uint32_t least_compression; /* MinCR */
    uint32_t slice_rate;        /* macroblocks that each slice stands for, above Baseline; 0: no limit */
};

static const struct level levels[] = {
    {9, 1485, 99, 396, 128, 350, 2, 0},
    {10, 1485, 99, 396, 64, 175, 2, 0},
    {11, 3000, 396, 900, 192, 500, 2, 0},
    {12, 6000, 396, 2376, 384, 1000, 2, 0},
    {13, 11880, 396, 2376, 768, 2000, 2, 0},
    {20, 11880, 396, 2376, 2000, 2000, 2, 0},
    {21, 19800, 792, 4752, 4000, 4000, 2, 0},
    {22, 20250, 1620, 8100, 4000, 4000, 2, 0},
    {30, 40500, 1620, 8100, 10000, 10000, 2, 22},
    {31, 108000, 3600, 18000, 14000, 14000, 4, 60},
    {32, 216000, 5120, 20480, 20000, 20000, 4, 60},
    {40, 245760, 8192, 32768, 20000, 25000, 4, 60},
    {41, 245760, 8192, 32768, 50000, 62500, 2, 24},
    {42, 522240, 8704, 34816, 50000, 62500, 2, 24},
    {50, 589824, 22080, 110400, 135000, 135000, 2, 24},
    {51, 983040, 36864, 184320, 240000, 240000, 2, 24},
    {52, 2073600, 36864, 184320, 240000, 240000, 2, 24},
    {60, 4177920, 139264, 696320, 240000, 240000, 2, 24},
    {61, 8355840, 139264, 696320, 480000, 480000, 2, 24},
    {62, 16711680, 139264, 696320, 800000, 800000, 2, 24},
};

/* Level 1b is level_idc 11 with constraint_set3_flag below High (7.4.2.1.1). */
static const struct level *level_of(const struct h264_sps *sps)
{
    uint32_t idc = sps->level_idc;
    if (idc == 11 && sps->profile_idc != 100 && sps->constraint_set_flags & 1u << 3)
        idc = 9;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (levels[i].level_idc == idc)
            return &levels[i];
    return NULL;
}

static void check_size(struct checker *checker, const struct level *level)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    uint64_t columns = sps->pic_width_in_mbs_minus1 + 1;
    uint64_t rows = (uint64_t)(sps->pic_height_in_map_units_minus1 + 1) * (2 - sps->frame_mbs_only_flag);
    uint64_t frame = columns * rows, frames = level->dpb_size / frame;
    frames = frames > 16 ? 16 : frames;
    if (frame > level->frame_size)
        finding(checker, "level-frame-size", "H.264 A.3.1 MaxFS", "%llu macroblocks, level_idc %u allows %u",
                (unsigned long long)frame, sps->level_idc, level->frame_size);
    if (columns * columns > 8ull * level->frame_size || rows * rows > 8ull * level->frame_size)
        finding(checker, "level-frame-side", "H.264 A.3.1", "%llu x %llu macroblocks, level_idc %u allows sides of "
                "Sqrt(8 * %u)", (unsigned long long)columns, (unsigned long long)rows, sps->level_idc,
                level->frame_size);
    if (sps->max_num_ref_frames > frames)
        finding(checker, "level-max-num-ref-frames", "H.264 A.3.1 MaxDpbMbs", "%u, level_idc %u allows %llu",
                sps->max_num_ref_frames, sps->level_idc, (unsigned long long)frames);
    if (!sps->vui_parameters_present_flag || !sps->vui.bitstream_restriction_flag)
        return;
    if (sps->vui.max_dec_frame_buffering > frames)
        finding(checker, "level-max-dec-frame-buffering", "H.264 E.2.1", "%u, level_idc %u allows %llu",
                sps->vui.max_dec_frame_buffering, sps->level_idc, (unsigned long long)frames);
    if (sps->vui.max_dec_frame_buffering < sps->max_num_ref_frames)
        finding(checker, "vui-max-dec-frame-buffering", "H.264 E.2.1", "%u is below max_num_ref_frames %u",
                sps->vui.max_dec_frame_buffering, sps->max_num_ref_frames);
    if (sps->vui.max_num_reorder_frames > sps->vui.max_dec_frame_buffering)
        finding(checker, "vui-max-num-reorder-frames", "H.264 E.2.1", "%u is above max_dec_frame_buffering %u",
                sps->vui.max_num_reorder_frames, sps->vui.max_dec_frame_buffering);
}

static uint64_t macroblocks(const struct h264_sps *sps)
{
    return (uint64_t)(sps->pic_width_in_mbs_minus1 + 1) * (sps->pic_height_in_map_units_minus1 + 1) *
           (2 - sps->frame_mbs_only_flag);
}

/* Of the VUI or else of the VA parameters. */
static struct picture_rate picture_rate(const struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    if (sps->vui_parameters_present_flag && sps->vui.timing_info_present_flag)
        return (struct picture_rate){sps->vui.time_scale, (uint64_t)sps->vui.num_units_in_tick * 2};
    return (struct picture_rate){checker->rate.frame_rate_numerator, checker->rate.frame_rate_denominator};
}

static void check_macroblock_rate(struct checker *checker, const struct level *level)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    uint64_t frame = macroblocks(sps);
    struct picture_rate rate = picture_rate(checker);
    if (rate.denominator &&
        (double)frame * (double)rate.numerator > (double)level->macroblocks_per_second * (double)rate.denominator)
        finding(checker, "level-macroblock-rate", "H.264 A.3.1 MaxMBPS",
                "%llu macroblocks at %llu/%llu Hz, level_idc %u allows %u in a second", (unsigned long long)frame,
                (unsigned long long)rate.numerator, (unsigned long long)rate.denominator, sps->level_idc,
                level->macroblocks_per_second);
}

/* A.3.1 and A.3.3: what the level's decoder does in its time with a picture bounds its bytes, by MinCR, and above
 * Baseline its slices, by SliceRate. */
static void check_picture_work(struct checker *checker, const struct level *level)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    double work = decoders_work(checker, picture_rate(checker), (double)macroblocks(sps),
                                (double)level->macroblocks_per_second, level->level_idc < 60 ? 172 : 300);
    double slices = level->slice_rate && sps->profile_idc != 66 ? work / level->slice_rate : 0;
    checker->picture.largest_access_unit = whole_bytes(384 * work / level->least_compression);
    if (slices > 0 && checker->picture.slice_count > slices)
        finding(checker, "level-slice-rate", "H.264 A.3.3 SliceRate", "%u slices, level_idc %u allows %u",
                checker->picture.slice_count, sps->level_idc, (uint32_t)slices);
}

/* Table A-2: cpbBrVclFactor and cpbBrNalFactor. */
static uint64_t factor(const struct h264_sps *sps, bool nal)
{
    if (sps->profile_idc == 100)
        return nal ? 1500 : 1250;
    return nal ? 1200 : 1000;
}

static void check_hrd_limits(struct checker *checker, const struct level *level, const struct h264_hrd *hrd, bool nal)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    uint64_t most_rate = level->bit_rate * factor(sps, nal), most_size = level->cpb_size * factor(sps, nal);
    for (uint32_t i = 0; i <= hrd->cpb_cnt_minus1 && i < 32; i++) {
        uint64_t rate = ((uint64_t)hrd->bit_rate_value_minus1[i] + 1) << (6 + hrd->bit_rate_scale);
        uint64_t size = ((uint64_t)hrd->cpb_size_value_minus1[i] + 1) << (4 + hrd->cpb_size_scale);
        if (rate > most_rate)
            finding(checker, "level-hrd-bit-rate", "H.264 A.3.1 MaxBR", "%llu bit/s, level_idc %u allows %llu",
                    (unsigned long long)rate, sps->level_idc, (unsigned long long)most_rate);
        if (size > most_size)
            finding(checker, "level-hrd-cpb-size", "H.264 A.3.1 MaxCPB", "%llu bits, level_idc %u allows %llu",
                    (unsigned long long)size, sps->level_idc, (unsigned long long)most_size);
        if (i && hrd->bit_rate_value_minus1[i] <= hrd->bit_rate_value_minus1[i - 1])
            finding(checker, "hrd-bit-rate-order", "H.264 E.2.2 bit_rate_value_minus1", "entry %u is not larger", i);
    }
}

/* H.264 A.3.3, Table A-4: levels from 3 on. Only B slices infer. */
static void check_inference(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    if (sps->profile_idc != 66 && sps->level_idc >= 30 && !sps->direct_8x8_inference_flag)
        finding(checker, "level-direct-8x8-inference", "H.264 A.3.3 Table A-4",
                "direct_8x8_inference_flag is 0 at level_idc %u", sps->level_idc);
}

void h264_check_levels(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    const struct level *level = level_of(sps);
    bool bit_rate = checker->config.rate_control & ~(uint32_t)(VA_RC_CQP | VA_RC_NONE | VA_RC_ICQ);
    if (level)
        check_picture_work(checker, level);
    if (!h264_sps_sent(checker) && !checker->rate.changed)
        return;
    if (!level) {
        finding(checker, "level-unknown", "H.264 A.3", "level_idc %u", sps->level_idc);
        return;
    }
    check_size(checker, level);
    check_macroblock_rate(checker, level);
    check_inference(checker);
    if (bit_rate && checker->rate.bits_per_second > level->bit_rate * factor(sps, true))
        finding(checker, "level-bit-rate", "H.264 A.3.1 MaxBR", "%u bit/s asked, level_idc %u allows %llu",
                checker->rate.bits_per_second, sps->level_idc,
                (unsigned long long)(level->bit_rate * factor(sps, true)));
    if (bit_rate && checker->rate.hrd_buffer_size > level->cpb_size * factor(sps, true))
        finding(checker, "level-cpb-size", "H.264 A.3.1 MaxCPB", "%u bits asked, level_idc %u allows %llu",
                checker->rate.hrd_buffer_size, sps->level_idc,
                (unsigned long long)(level->cpb_size * factor(sps, true)));
    if (sps->vui_parameters_present_flag && sps->vui.nal_hrd_parameters_present_flag)
        check_hrd_limits(checker, level, &sps->vui.nal_hrd, true);
    if (sps->vui_parameters_present_flag && sps->vui.vcl_hrd_parameters_present_flag)
        check_hrd_limits(checker, level, &sps->vui.vcl_hrd, false);
}
