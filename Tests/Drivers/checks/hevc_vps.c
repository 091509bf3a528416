/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VPS against the SPS that refers to it (H.265 7.4.3.1, 7.4.3.2). */
#include "hevc_checks.h"

#include <string.h>

/* E.3.1: where both state the times, they are the same. */
static void check_times(struct checker *checker)
{
    const struct hevc_vps *vps = &checker->picture.vps;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_vui *vui = &sps->vui;
    if (!vps->vps_timing_info_present_flag || !sps->vui_parameters_present_flag || !vui->vui_timing_info_present_flag)
        return;
    expect(checker, "vps-num-units-in-tick", "H.265 E.3.1 vui_num_units_in_tick", vps->vps_num_units_in_tick,
           vui->vui_num_units_in_tick);
    expect(checker, "vps-time-scale", "H.265 E.3.1 vui_time_scale", vps->vps_time_scale, vui->vui_time_scale);
    expect(checker, "vps-poc-proportional", "H.265 E.3.1 vui_poc_proportional_to_timing_flag",
           vps->vps_poc_proportional_to_timing_flag, vui->vui_poc_proportional_to_timing_flag);
    if (vps->vps_poc_proportional_to_timing_flag && vui->vui_poc_proportional_to_timing_flag)
        expect(checker, "vps-ticks-poc-diff", "H.265 E.3.1 vui_num_ticks_poc_diff_one_minus1",
               vps->vps_num_ticks_poc_diff_one_minus1, vui->vui_num_ticks_poc_diff_one_minus1);
}

void hevc_check_vps(struct checker *checker)
{
    const struct hevc_vps *vps = &checker->picture.vps;
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const char *clause = "H.265 7.4.3.2.1";
    if (!set_sent(checker, SET_VPS, vps->vps_video_parameter_set_id) && !hevc_sps_sent(checker))
        return;
    expect(checker, "sps-vps-id", clause, sps->sps_video_parameter_set_id, vps->vps_video_parameter_set_id);
    expect(checker, "vps-base-layer", "H.265 7.4.3.1 vps_base_layer_internal_flag",
           vps->vps_base_layer_internal_flag && vps->vps_base_layer_available_flag, 1);
    expect(checker, "vps-max-layers", "H.265 7.4.3.1 vps_max_layers_minus1", vps->vps_max_layers_minus1, 0);
    expect(checker, "vps-max-layer-id", "H.265 7.4.3.1 vps_max_layer_id", vps->vps_max_layer_id, 0);
    check_times(checker);
    if (sps->sps_max_sub_layers_minus1 > vps->vps_max_sub_layers_minus1)
        finding(checker, "sps-max-sub-layers", clause, "%u, the VPS has %u", sps->sps_max_sub_layers_minus1,
                vps->vps_max_sub_layers_minus1);
    if (vps->vps_temporal_id_nesting_flag && !sps->sps_temporal_id_nesting_flag)
        finding(checker, "sps-temporal-nesting", clause, "is 0, vps_temporal_id_nesting_flag is 1");
    if (memcmp(&vps->profile_tier_level.general, &sps->profile_tier_level.general, sizeof(struct hevc_profile)) != 0)
        finding(checker, "vps-profile-tier-level", "H.265 7.4.4", "general profile, tier and level are not the SPS's");
    for (uint32_t i = 0; i <= sps->sps_max_sub_layers_minus1 && i <= vps->vps_max_sub_layers_minus1; i++) {
        const struct hevc_sub_layer_ordering *given = &vps->ordering[i], *coded = &sps->ordering[i];
        expect(checker, "vps-max-dec-pic-buffering", "H.265 7.4.3.1", given->max_dec_pic_buffering_minus1,
               coded->max_dec_pic_buffering_minus1);
        expect(checker, "vps-max-num-reorder", "H.265 7.4.3.1", given->max_num_reorder_pics,
               coded->max_num_reorder_pics);
        expect(checker, "vps-max-latency", "H.265 7.4.3.1", given->max_latency_increase_plus1,
               coded->max_latency_increase_plus1);
    }
    if (vps->vps_timing_info_present_flag && vps->vps_num_units_in_tick == 0)
        finding(checker, "vps-units-zero", "H.265 7.4.3.1 vps_num_units_in_tick", "is 0");
}
