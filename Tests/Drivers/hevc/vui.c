/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profile, tier and level; video usability information; hypothetical reference decoder. */
#include "visitor.h"

void hevc_nal_unit_header(struct syntax *s, struct hevc_nal_header *v)
{
    uint32_t forbidden_zero_bit = 0;
    if (s->out && v->nuh_temporal_id_plus1 == 0)
        v->nuh_temporal_id_plus1 = 1;
    u_in(s, "forbidden_zero_bit", &forbidden_zero_bit, 1, 0, 0);
    u(s, "nal_unit_type", &v->nal_unit_type, 6);
    u_in(s, "nuh_layer_id", &v->nuh_layer_id, 6, 0, 0);
    u_in(s, "nuh_temporal_id_plus1", &v->nuh_temporal_id_plus1, 3, 1, 7);
}

/* H.265 7.3.3, 88 bits */
static void profile(struct syntax *s, struct hevc_profile *v)
{
    u(s, "profile_space", &v->profile_space, 2);
    u(s, "tier_flag", &v->tier_flag, 1);
    u(s, "profile_idc", &v->profile_idc, 5);
    u(s, "profile_compatibility_flags", &v->profile_compatibility_flags, 32);
    u(s, "progressive_source_flag", &v->progressive_source_flag, 1);
    u(s, "interlaced_source_flag", &v->interlaced_source_flag, 1);
    u(s, "non_packed_constraint_flag", &v->non_packed_constraint_flag, 1);
    u(s, "frame_only_constraint_flag", &v->frame_only_constraint_flag, 1);
    u(s, "constraint_bits[0]", &v->constraint_bits[0], 11);
    u(s, "constraint_bits[1]", &v->constraint_bits[1], 32);
    u(s, "inbld_flag", &v->inbld_flag, 1);
}

void hevc_profile_tier_level(struct syntax *s, struct hevc_profile_tier_level *v, uint32_t max_sub_layers_minus1)
{
    static const char *const scopes[] = {"sub_layer[0].", "sub_layer[1].", "sub_layer[2].",
                                         "sub_layer[3].", "sub_layer[4].", "sub_layer[5]."};
    uint32_t reserved_zero_2bits = 0;
    s->scope = "general_";
    profile(s, &v->general);
    u(s, "level_idc", &v->general.level_idc, 8);
    s->scope = "";
    for (unsigned i = 0; i < max_sub_layers_minus1 && !s->failed; i++) {
        u(s, indexed(s, "sub_layer_profile_present_flag[%u]", i), &v->sub_layer_profile_present_flag[i], 1);
        u(s, indexed(s, "sub_layer_level_present_flag[%u]", i), &v->sub_layer_level_present_flag[i], 1);
    }
    for (unsigned i = max_sub_layers_minus1; i > 0 && i < 8 && !s->failed; i++)
        u(s, indexed(s, "reserved_zero_2bits[%u]", i), &reserved_zero_2bits, 2);
    for (unsigned i = 0; i < max_sub_layers_minus1 && !s->failed; i++) {
        s->scope = scopes[i];
        if (v->sub_layer_profile_present_flag[i])
            profile(s, &v->sub_layer[i]);
        if (v->sub_layer_level_present_flag[i])
            u(s, "level_idc", &v->sub_layer[i].level_idc, 8);
        s->scope = "";
    }
}

/* H.265 E.2.3 */
static void sub_layer_hrd(struct syntax *s, struct hevc_sub_layer_hrd *v, uint32_t cpb_cnt_minus1, bool sub_pictures)
{
    for (unsigned i = 0; i <= cpb_cnt_minus1 && !s->failed; i++) {
        ue(s, indexed(s, "bit_rate_value_minus1[%u]", i), &v->bit_rate_value_minus1[i], UINT32_MAX - 1);
        ue(s, indexed(s, "cpb_size_value_minus1[%u]", i), &v->cpb_size_value_minus1[i], UINT32_MAX - 1);
        if (sub_pictures) {
            ue(s, indexed(s, "cpb_size_du_value_minus1[%u]", i), &v->cpb_size_du_value_minus1[i], UINT32_MAX - 1);
            ue(s, indexed(s, "bit_rate_du_value_minus1[%u]", i), &v->bit_rate_du_value_minus1[i], UINT32_MAX - 1);
        }
        u(s, indexed(s, "cbr_flag[%u]", i), &v->cbr_flag[i], 1);
    }
}

/* H.265 E.2.2, what all sub-layers share */
static void common_hrd(struct syntax *s, struct hevc_hrd *v)
{
    u(s, "nal_hrd_parameters_present_flag", &v->nal_hrd_parameters_present_flag, 1);
    u(s, "vcl_hrd_parameters_present_flag", &v->vcl_hrd_parameters_present_flag, 1);
    if (!v->nal_hrd_parameters_present_flag && !v->vcl_hrd_parameters_present_flag)
        return;
    u(s, "sub_pic_hrd_params_present_flag", &v->sub_pic_hrd_params_present_flag, 1);
    if (v->sub_pic_hrd_params_present_flag) {
        u(s, "tick_divisor_minus2", &v->tick_divisor_minus2, 8);
        u(s, "du_cpb_removal_delay_increment_length_minus1", &v->du_cpb_removal_delay_increment_length_minus1, 5);
        u(s, "sub_pic_cpb_params_in_pic_timing_sei_flag", &v->sub_pic_cpb_params_in_pic_timing_sei_flag, 1);
        u(s, "dpb_output_delay_du_length_minus1", &v->dpb_output_delay_du_length_minus1, 5);
    }
    u(s, "bit_rate_scale", &v->bit_rate_scale, 4);
    u(s, "cpb_size_scale", &v->cpb_size_scale, 4);
    if (v->sub_pic_hrd_params_present_flag)
        u(s, "cpb_size_du_scale", &v->cpb_size_du_scale, 4);
    u(s, "initial_cpb_removal_delay_length_minus1", &v->initial_cpb_removal_delay_length_minus1, 5);
    u(s, "au_cpb_removal_delay_length_minus1", &v->au_cpb_removal_delay_length_minus1, 5);
    u(s, "dpb_output_delay_length_minus1", &v->dpb_output_delay_length_minus1, 5);
}

void hevc_hrd_parameters(struct syntax *s, struct hevc_hrd *v, uint32_t max_sub_layers_minus1)
{
    common_hrd(s, v);
    for (unsigned i = 0; i <= max_sub_layers_minus1 && i < HEVC_MAXIMUM_SUB_LAYERS && !s->failed; i++) {
        __auto_type layer = &v->sub_layers[i];
        u(s, indexed(s, "fixed_pic_rate_general_flag[%u]", i), &layer->fixed_pic_rate_general_flag, 1);
        if (!layer->fixed_pic_rate_general_flag)
            u(s, indexed(s, "fixed_pic_rate_within_cvs_flag[%u]", i), &layer->fixed_pic_rate_within_cvs_flag, 1);
        else
            layer->fixed_pic_rate_within_cvs_flag = 1;
        if (layer->fixed_pic_rate_within_cvs_flag)
            ue(s, indexed(s, "elemental_duration_in_tc_minus1[%u]", i), &layer->elemental_duration_in_tc_minus1, 2047);
        else
            u(s, indexed(s, "low_delay_hrd_flag[%u]", i), &layer->low_delay_hrd_flag, 1);
        if (!layer->low_delay_hrd_flag || layer->fixed_pic_rate_within_cvs_flag)
            ue(s, indexed(s, "cpb_cnt_minus1[%u]", i), &layer->cpb_cnt_minus1, 31);
        if (v->nal_hrd_parameters_present_flag)
            sub_layer_hrd(s, &layer->nal, layer->cpb_cnt_minus1, v->sub_pic_hrd_params_present_flag);
        if (v->vcl_hrd_parameters_present_flag)
            sub_layer_hrd(s, &layer->vcl, layer->cpb_cnt_minus1, v->sub_pic_hrd_params_present_flag);
    }
}

/* H.265 E.2.1, fields, window and timing */
static void vui_display(struct syntax *s, struct hevc_vui *v, uint32_t max_sub_layers_minus1)
{
    u(s, "neutral_chroma_indication_flag", &v->neutral_chroma_indication_flag, 1);
    u(s, "field_seq_flag", &v->field_seq_flag, 1);
    u(s, "frame_field_info_present_flag", &v->frame_field_info_present_flag, 1);
    u(s, "default_display_window_flag", &v->default_display_window_flag, 1);
    if (v->default_display_window_flag) {
        ue(s, "def_disp_win_left_offset", &v->def_disp_win_left_offset, 65535);
        ue(s, "def_disp_win_right_offset", &v->def_disp_win_right_offset, 65535);
        ue(s, "def_disp_win_top_offset", &v->def_disp_win_top_offset, 65535);
        ue(s, "def_disp_win_bottom_offset", &v->def_disp_win_bottom_offset, 65535);
    }
    u(s, "vui_timing_info_present_flag", &v->vui_timing_info_present_flag, 1);
    if (!v->vui_timing_info_present_flag)
        return;
    u_in(s, "vui_num_units_in_tick", &v->vui_num_units_in_tick, 32, 1, UINT32_MAX);
    u_in(s, "vui_time_scale", &v->vui_time_scale, 32, 1, UINT32_MAX);
    u(s, "vui_poc_proportional_to_timing_flag", &v->vui_poc_proportional_to_timing_flag, 1);
    if (v->vui_poc_proportional_to_timing_flag)
        ue(s, "vui_num_ticks_poc_diff_one_minus1", &v->vui_num_ticks_poc_diff_one_minus1, UINT32_MAX - 1);
    u(s, "vui_hrd_parameters_present_flag", &v->vui_hrd_parameters_present_flag, 1);
    if (v->vui_hrd_parameters_present_flag)
        hevc_hrd_parameters(s, &v->hrd, max_sub_layers_minus1);
}

void hevc_vui_parameters(struct syntax *s, struct hevc_vui *v, uint32_t max_sub_layers_minus1)
{
    vui_picture(s, &v->picture, "matrix_coeffs");
    vui_display(s, v, max_sub_layers_minus1);
    u(s, "bitstream_restriction_flag", &v->bitstream_restriction_flag, 1);
    if (!v->bitstream_restriction_flag)
        return;
    u(s, "tiles_fixed_structure_flag", &v->tiles_fixed_structure_flag, 1);
    u(s, "motion_vectors_over_pic_boundaries_flag", &v->motion_vectors_over_pic_boundaries_flag, 1);
    u(s, "restricted_ref_pic_lists_flag", &v->restricted_ref_pic_lists_flag, 1);
    ue(s, "min_spatial_segmentation_idc", &v->min_spatial_segmentation_idc, 4095);
    ue(s, "max_bytes_per_pic_denom", &v->max_bytes_per_pic_denom, 16);
    ue(s, "max_bits_per_min_cu_denom", &v->max_bits_per_min_cu_denom, 16);
    ue(s, "log2_max_mv_length_horizontal", &v->log2_max_mv_length_horizontal, 16);
    ue(s, "log2_max_mv_length_vertical", &v->log2_max_mv_length_vertical, 15);
}
