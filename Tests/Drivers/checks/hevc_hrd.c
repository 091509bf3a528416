/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Schedules and times of the SPS (H.265 Annex E) against rate control. */
#include "hevc_checks.h"

struct schedule hevc_schedule(const struct hevc_sps *sps, bool nal, uint32_t index)
{
    const struct hevc_hrd *hrd = &sps->vui.hrd;
    uint32_t highest = sps->sps_max_sub_layers_minus1;
    const struct hevc_sub_layer_hrd *values = nal ? &hrd->sub_layers[highest].nal : &hrd->sub_layers[highest].vcl;
    struct schedule schedule = {
        .bit_rate_unit = 1ull << (6 + hrd->bit_rate_scale),
        .size_unit = 1ull << (4 + hrd->cpb_size_scale),
        .constant = values->cbr_flag[index],
    };
    schedule.bit_rate = ((uint64_t)values->bit_rate_value_minus1[index] + 1) * schedule.bit_rate_unit;
    schedule.size = ((uint64_t)values->cpb_size_value_minus1[index] + 1) * schedule.size_unit;
    return schedule;
}

void hevc_check_hrd(struct checker *checker)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_vui *vui = &sps->vui;
    const struct hevc_hrd *hrd = &vui->hrd;
    if ((!hevc_sps_sent(checker) && !checker->rate.changed) || !sps->vui_parameters_present_flag ||
        !vui->vui_timing_info_present_flag || !vui->vui_hrd_parameters_present_flag)
        return;
    uint32_t highest = sps->sps_max_sub_layers_minus1;
    /* E.3.2: pictures are that time apart only where it is fixed; else the VUI states a clock. */
    if (hrd->sub_layers[highest].fixed_pic_rate_within_cvs_flag)
        check_frame_rate(checker, vui->vui_time_scale,
                         (uint64_t)vui->vui_num_units_in_tick *
                             (hrd->sub_layers[highest].elemental_duration_in_tc_minus1 + 1));
    if (!hrd->nal_hrd_parameters_present_flag && !hrd->vcl_hrd_parameters_present_flag)
        return;
    if (!aims_at_bit_rate(checker)) {
        finding(checker, "hrd-without-bit-rate", "H.265 E.3.2 nal_hrd_parameters_present_flag",
                "the SPS has HRD parameters, the config's rate control is 0x%x", checker->config.rate_control);
        return;
    }
    for (unsigned nal = 0; nal < 2; nal++) {
        if (!(nal ? hrd->nal_hrd_parameters_present_flag : hrd->vcl_hrd_parameters_present_flag))
            continue;
        struct schedule schedule = hevc_schedule(sps, nal, 0);
        check_schedule(checker, &schedule, "H.265 E.3.3 bit_rate_value_minus1", "H.265 E.3.3 cbr_flag");
    }
}
