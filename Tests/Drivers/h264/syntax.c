/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sequence and picture parameter sets. */
#include "visitor.h"

#include <string.h>

/* H.264 A.3.1 g and A.3.2 g at level 6.2, the largest. */
#define MAXIMUM_FRAME_SIZE_IN_MBS 139264
#define MAXIMUM_SIDE_IN_MBS 1055

/* H.264 7.3.2.1.1.1 */
static void scaling_list(struct syntax *s, struct h264_scaling_lists *v, unsigned list)
{
    int last_scale = 8, next_scale = 8;
    for (unsigned j = 0; j < (list < 6 ? 16u : 64u) && !s->failed; j++) {
        if (next_scale != 0) {
            se(s, indexed(s, "delta_scale[%u][%u]", list, j), &v->delta_scale[list][j], -128, 127);
            next_scale = (last_scale + v->delta_scale[list][j] + 256) % 256;
        }
        last_scale = next_scale == 0 ? last_scale : next_scale;
    }
}

/* H.264 7.3.2.1.1 and 7.3.2.2, from the flags of the lists on. */
static void scaling_lists(struct syntax *s, struct h264_scaling_lists *v, unsigned count, const char *flag_format)
{
    for (unsigned list = 0; list < count && !s->failed; list++) {
        char flag[64];
        strncpy(flag, flag_format, sizeof flag - 8);
        flag[sizeof flag - 8] = 0;
        u(s, indexed(s, "%s[%u]", flag, list), &v->present_flag[list], 1);
        if (v->present_flag[list])
            scaling_list(s, v, list);
    }
}

/* H.264 E.1.2 */
static void hrd_parameters(struct syntax *s, struct h264_hrd *v)
{
    ue(s, "cpb_cnt_minus1", &v->cpb_cnt_minus1, 31);
    u(s, "bit_rate_scale", &v->bit_rate_scale, 4);
    u(s, "cpb_size_scale", &v->cpb_size_scale, 4);
    for (unsigned i = 0; i <= v->cpb_cnt_minus1 && !s->failed; i++) {
        ue(s, indexed(s, "bit_rate_value_minus1[%u]", i), &v->bit_rate_value_minus1[i], UINT32_MAX - 1);
        ue(s, indexed(s, "cpb_size_value_minus1[%u]", i), &v->cpb_size_value_minus1[i], UINT32_MAX - 1);
        u(s, indexed(s, "cbr_flag[%u]", i), &v->cbr_flag[i], 1);
    }
    u(s, "initial_cpb_removal_delay_length_minus1", &v->initial_cpb_removal_delay_length_minus1, 5);
    u(s, "cpb_removal_delay_length_minus1", &v->cpb_removal_delay_length_minus1, 5);
    u(s, "dpb_output_delay_length_minus1", &v->dpb_output_delay_length_minus1, 5);
    u(s, "time_offset_length", &v->time_offset_length, 5);
}

/* H.264 E.1.1 */
static void vui_parameters(struct syntax *s, struct h264_vui *v)
{
    vui_picture(s, &v->picture, "matrix_coefficients");
    u(s, "timing_info_present_flag", &v->timing_info_present_flag, 1);
    if (v->timing_info_present_flag) {
        u_in(s, "num_units_in_tick", &v->num_units_in_tick, 32, 1, UINT32_MAX);
        u_in(s, "time_scale", &v->time_scale, 32, 1, UINT32_MAX);
        u(s, "fixed_frame_rate_flag", &v->fixed_frame_rate_flag, 1);
    }
    u(s, "nal_hrd_parameters_present_flag", &v->nal_hrd_parameters_present_flag, 1);
    if (v->nal_hrd_parameters_present_flag) {
        s->scope = "nal_hrd.";
        hrd_parameters(s, &v->nal_hrd);
        s->scope = "";
    }
    u(s, "vcl_hrd_parameters_present_flag", &v->vcl_hrd_parameters_present_flag, 1);
    if (v->vcl_hrd_parameters_present_flag) {
        s->scope = "vcl_hrd.";
        hrd_parameters(s, &v->vcl_hrd);
        s->scope = "";
    }
    if (v->nal_hrd_parameters_present_flag || v->vcl_hrd_parameters_present_flag)
        u(s, "low_delay_hrd_flag", &v->low_delay_hrd_flag, 1);
    u(s, "pic_struct_present_flag", &v->pic_struct_present_flag, 1);
    u(s, "bitstream_restriction_flag", &v->bitstream_restriction_flag, 1);
    if (v->bitstream_restriction_flag) {
        u(s, "motion_vectors_over_pic_boundaries_flag", &v->motion_vectors_over_pic_boundaries_flag, 1);
        ue(s, "max_bytes_per_pic_denom", &v->max_bytes_per_pic_denom, 16);
        ue(s, "max_bits_per_mb_denom", &v->max_bits_per_mb_denom, 16);
        ue(s, "log2_max_mv_length_horizontal", &v->log2_max_mv_length_horizontal, 16);
        ue(s, "log2_max_mv_length_vertical", &v->log2_max_mv_length_vertical, 16);
        ue(s, "max_num_reorder_frames", &v->max_num_reorder_frames, 16);
        ue(s, "max_dec_frame_buffering", &v->max_dec_frame_buffering, 16);
    }
}

/* H.264 7.3.2.1.1: the profiles whose parameter sets state a chroma format. */
static bool states_chroma_format(uint32_t profile_idc)
{
    static const uint8_t profiles[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
    return profile_idc <= 255 && memchr(profiles, (int)profile_idc, sizeof profiles) != NULL;
}

/* H.264 7.3.2.1.1, what profiles from High on state */
static void sps_chroma_format(struct syntax *s, struct h264_sps *v)
{
    ue(s, "chroma_format_idc", &v->chroma_format_idc, 3);
    if (v->chroma_format_idc == 3)
        u(s, "separate_colour_plane_flag", &v->separate_colour_plane_flag, 1);
    ue(s, "bit_depth_luma_minus8", &v->bit_depth_luma_minus8, 6);
    ue(s, "bit_depth_chroma_minus8", &v->bit_depth_chroma_minus8, 6);
    u(s, "qpprime_y_zero_transform_bypass_flag", &v->qpprime_y_zero_transform_bypass_flag, 1);
    u(s, "seq_scaling_matrix_present_flag", &v->seq_scaling_matrix_present_flag, 1);
    if (v->seq_scaling_matrix_present_flag)
        scaling_lists(s, &v->scaling_lists, v->chroma_format_idc != 3 ? 8 : 12, "seq_scaling_list_present_flag");
}

/* H.264 7.3.2.1.1, picture order count */
static void sps_picture_order_count(struct syntax *s, struct h264_sps *v)
{
    ue(s, "pic_order_cnt_type", &v->pic_order_cnt_type, 2);
    if (v->pic_order_cnt_type == 0) {
        ue(s, "log2_max_pic_order_cnt_lsb_minus4", &v->log2_max_pic_order_cnt_lsb_minus4, 12);
    } else if (v->pic_order_cnt_type == 1) {
        u(s, "delta_pic_order_always_zero_flag", &v->delta_pic_order_always_zero_flag, 1);
        se(s, "offset_for_non_ref_pic", &v->offset_for_non_ref_pic, -INT32_MAX, INT32_MAX);
        se(s, "offset_for_top_to_bottom_field", &v->offset_for_top_to_bottom_field, -INT32_MAX, INT32_MAX);
        ue(s, "num_ref_frames_in_pic_order_cnt_cycle", &v->num_ref_frames_in_pic_order_cnt_cycle, 255);
        for (unsigned i = 0; i < v->num_ref_frames_in_pic_order_cnt_cycle && !s->failed; i++)
            se(s, indexed(s, "offset_for_ref_frame[%u]", i), &v->offset_for_ref_frame[i], -INT32_MAX, INT32_MAX);
    }
}

/* H.264 7.3.2.1.1, frame_cropping_flag on; 7.4.2.1.1 for what the offsets may be */
static void sps_cropping(struct syntax *s, struct h264_sps *v)
{
    u(s, "frame_cropping_flag", &v->frame_cropping_flag, 1);
    if (!v->frame_cropping_flag)
        return;
    bool planes = v->separate_colour_plane_flag;
    uint32_t unit_x = !planes && (v->chroma_format_idc == 1 || v->chroma_format_idc == 2) ? 2 : 1;
    uint32_t unit_y = (!planes && v->chroma_format_idc == 1 ? 2 : 1) * (2 - v->frame_mbs_only_flag);
    uint32_t columns = (v->pic_width_in_mbs_minus1 + 1) * 16 / unit_x;
    uint32_t rows = (v->pic_height_in_map_units_minus1 + 1) * 16 * (2 - v->frame_mbs_only_flag) / unit_y;
    ue(s, "frame_crop_left_offset", &v->frame_crop_left_offset, columns - 1);
    ue(s, "frame_crop_right_offset", &v->frame_crop_right_offset, columns - 1 - v->frame_crop_left_offset);
    ue(s, "frame_crop_top_offset", &v->frame_crop_top_offset, rows - 1);
    ue(s, "frame_crop_bottom_offset", &v->frame_crop_bottom_offset, rows - 1 - v->frame_crop_top_offset);
}

/* H.264 7.3.2.1.1 */
static void sps(struct syntax *s, struct h264_sps *v)
{
    u(s, "profile_idc", &v->profile_idc, 8);
    for (unsigned n = 0; n < 6; n++) {
        uint32_t flag = v->constraint_set_flags >> n & 1;
        u(s, indexed(s, "constraint_set%u_flag", n), &flag, 1);
        v->constraint_set_flags = (v->constraint_set_flags & ~(1u << n)) | flag << n;
    }
    u(s, "reserved_zero_2bits", &v->reserved_zero_2bits, 2);
    u(s, "level_idc", &v->level_idc, 8);
    ue(s, "seq_parameter_set_id", &v->seq_parameter_set_id, 31);
    if (states_chroma_format(v->profile_idc))
        sps_chroma_format(s, v);
    ue(s, "log2_max_frame_num_minus4", &v->log2_max_frame_num_minus4, 12);
    sps_picture_order_count(s, v);
    ue(s, "max_num_ref_frames", &v->max_num_ref_frames, 16);
    u(s, "gaps_in_frame_num_value_allowed_flag", &v->gaps_in_frame_num_value_allowed_flag, 1);
    ue(s, "pic_width_in_mbs_minus1", &v->pic_width_in_mbs_minus1, MAXIMUM_SIDE_IN_MBS - 1);
    ue(s, "pic_height_in_map_units_minus1", &v->pic_height_in_map_units_minus1,
       MAXIMUM_FRAME_SIZE_IN_MBS / (v->pic_width_in_mbs_minus1 + 1) - 1);
    u(s, "frame_mbs_only_flag", &v->frame_mbs_only_flag, 1);
    if (!v->frame_mbs_only_flag)
        u(s, "mb_adaptive_frame_field_flag", &v->mb_adaptive_frame_field_flag, 1);
    u_in(s, "direct_8x8_inference_flag", &v->direct_8x8_inference_flag, 1, !v->frame_mbs_only_flag, 1);
    sps_cropping(s, v);
    u(s, "vui_parameters_present_flag", &v->vui_parameters_present_flag, 1);
    if (v->vui_parameters_present_flag)
        vui_parameters(s, &v->vui);
}

/* H.264 7.3.2.2 */
static void pps(struct syntax *s, struct h264_pps *v)
{
    ue(s, "pic_parameter_set_id", &v->pic_parameter_set_id, 255);
    ue(s, "seq_parameter_set_id", &v->seq_parameter_set_id, 31);
    u(s, "entropy_coding_mode_flag", &v->entropy_coding_mode_flag, 1);
    u(s, "bottom_field_pic_order_in_frame_present_flag", &v->bottom_field_pic_order_in_frame_present_flag, 1);
    ue(s, "num_slice_groups_minus1", &v->num_slice_groups_minus1, 0);
    ue(s, "num_ref_idx_l0_default_active_minus1", &v->num_ref_idx_l0_default_active_minus1, 31);
    ue(s, "num_ref_idx_l1_default_active_minus1", &v->num_ref_idx_l1_default_active_minus1, 31);
    u(s, "weighted_pred_flag", &v->weighted_pred_flag, 1);
    u_in(s, "weighted_bipred_idc", &v->weighted_bipred_idc, 2, 0, 2);
    se(s, "pic_init_qp_minus26", &v->pic_init_qp_minus26, -26, 25);
    se(s, "pic_init_qs_minus26", &v->pic_init_qs_minus26, -26, 25);
    se(s, "chroma_qp_index_offset", &v->chroma_qp_index_offset, -12, 12);
    u(s, "deblocking_filter_control_present_flag", &v->deblocking_filter_control_present_flag, 1);
    u(s, "constrained_intra_pred_flag", &v->constrained_intra_pred_flag, 1);
    u(s, "redundant_pic_cnt_present_flag", &v->redundant_pic_cnt_present_flag, 1);
    if (!s->out) {
        v->extension_present = !s->failed && more_rbsp_data(s);
        v->second_chroma_qp_index_offset = v->chroma_qp_index_offset;
    }
    if (!v->extension_present)
        return;
    u(s, "transform_8x8_mode_flag", &v->transform_8x8_mode_flag, 1);
    u(s, "pic_scaling_matrix_present_flag", &v->pic_scaling_matrix_present_flag, 1);
    if (v->pic_scaling_matrix_present_flag)
        scaling_lists(s, &v->scaling_lists, 6 + 2 * v->transform_8x8_mode_flag, "pic_scaling_list_present_flag");
    se(s, "second_chroma_qp_index_offset", &v->second_chroma_qp_index_offset, -12, 12);
}

void h264_nal_unit_header(struct syntax *s, uint32_t *nal_ref_idc, uint32_t *nal_unit_type)
{
    uint32_t forbidden_zero_bit = 0;
    u_in(s, "forbidden_zero_bit", &forbidden_zero_bit, 1, 0, 0);
    u(s, "nal_ref_idc", nal_ref_idc, 2);
    u(s, "nal_unit_type", nal_unit_type, 5);
}

/* Reads or writes the NAL unit header of a parameter set, whose type is given. */
static void parameter_set_header(struct syntax *s, uint32_t *nal_ref_idc, uint32_t expected_type)
{
    uint32_t nal_unit_type = expected_type;
    h264_nal_unit_header(s, nal_ref_idc, &nal_unit_type);
    if (nal_unit_type != expected_type)
        refuse(s, "nal_unit_type", "is %u, expected %u", nal_unit_type, expected_type);
}

bool h264_read_sps(struct h264_sps *value, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error)
{
    struct syntax s = syntax_reader(nal, bit_count, options, error);
    *value = (struct h264_sps){.chroma_format_idc = 1};
    parameter_set_header(&s, &value->nal_ref_idc, H264_NAL_SPS);
    sps(&s, value);
    if (end)
        *end = s.position;
    return !s.failed;
}

bool h264_read_pps(struct h264_pps *value, const uint8_t *nal, size_t bit_count, size_t *end,
                   const struct syntax_options *options, struct syntax_error *error)
{
    struct syntax s = syntax_reader(nal, bit_count, options, error);
    *value = (struct h264_pps){0};
    parameter_set_header(&s, &value->nal_ref_idc, H264_NAL_PPS);
    pps(&s, value);
    if (end)
        *end = s.position;
    return !s.failed;
}

void h264_write_sps(struct bits *bits, const struct h264_sps *value)
{
    struct syntax s = syntax_writer(bits);
    struct h264_sps copy = *value;
    parameter_set_header(&s, &copy.nal_ref_idc, H264_NAL_SPS);
    sps(&s, &copy);
}

void h264_write_pps(struct bits *bits, const struct h264_pps *value)
{
    struct syntax s = syntax_writer(bits);
    struct h264_pps copy = *value;
    parameter_set_header(&s, &copy.nal_ref_idc, H264_NAL_PPS);
    pps(&s, &copy);
}
