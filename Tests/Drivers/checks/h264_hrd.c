/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Schedules and times of the SPS (H.264 Annex E) against rate control. */
#include "h264_checks.h"

struct schedule h264_schedule(const struct h264_hrd *hrd, uint32_t index)
{
    struct schedule schedule = {
        .bit_rate_unit = 1ull << (6 + hrd->bit_rate_scale),
        .size_unit = 1ull << (4 + hrd->cpb_size_scale),
        .constant = hrd->cbr_flag[index],
    };
    schedule.bit_rate = ((uint64_t)hrd->bit_rate_value_minus1[index] + 1) * schedule.bit_rate_unit;
    schedule.size = ((uint64_t)hrd->cpb_size_value_minus1[index] + 1) * schedule.size_unit;
    return schedule;
}

/* E.2.2 against the misc parameters: the schedule that decoders assume is the one that the driver keeps. */
static void check_first(struct checker *checker, const struct h264_hrd *hrd)
{
    struct schedule schedule = h264_schedule(hrd, 0);
    check_schedule(checker, &schedule, "H.264 E.2.2 bit_rate_value_minus1", "H.264 E.2.2 cbr_flag");
}

void h264_check_hrd(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    const struct h264_vui *vui = &sps->vui;
    if ((!h264_sps_sent(checker) && !checker->rate.changed) || !sps->vui_parameters_present_flag)
        return;
    /* E.2.1: pictures are a frame's time apart only then; else the VUI states a clock, and the rate may change. */
    if (vui->timing_info_present_flag && vui->fixed_frame_rate_flag)
        check_frame_rate(checker, vui->time_scale, 2ull * vui->num_units_in_tick);
    if (!vui->nal_hrd_parameters_present_flag && !vui->vcl_hrd_parameters_present_flag)
        return;
    if (!aims_at_bit_rate(checker)) {
        finding(checker, "hrd-without-bit-rate", "H.264 E.1.1 nal_hrd_parameters_present_flag",
                "the SPS has HRD parameters, the config's rate control is 0x%x", checker->config.rate_control);
        return;
    }
    if (vui->nal_hrd_parameters_present_flag)
        check_first(checker, &vui->nal_hrd);
    if (vui->vcl_hrd_parameters_present_flag)
        check_first(checker, &vui->vcl_hrd);
}
