/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vui.h"

#include "visitor.h"

void vui_picture(struct syntax *s, struct vui_picture *v, const char *matrix_name)
{
    u(s, "aspect_ratio_info_present_flag", &v->aspect_ratio_info_present_flag, 1);
    if (v->aspect_ratio_info_present_flag) {
        u(s, "aspect_ratio_idc", &v->aspect_ratio_idc, 8);
        if (v->aspect_ratio_idc == 255) {
            u(s, "sar_width", &v->sar_width, 16);
            u(s, "sar_height", &v->sar_height, 16);
        }
    }
    u(s, "overscan_info_present_flag", &v->overscan_info_present_flag, 1);
    if (v->overscan_info_present_flag)
        u(s, "overscan_appropriate_flag", &v->overscan_appropriate_flag, 1);
    u(s, "video_signal_type_present_flag", &v->video_signal_type_present_flag, 1);
    if (v->video_signal_type_present_flag) {
        u(s, "video_format", &v->video_format, 3);
        u(s, "video_full_range_flag", &v->video_full_range_flag, 1);
        u(s, "colour_description_present_flag", &v->colour_description_present_flag, 1);
        if (v->colour_description_present_flag) {
            u(s, "colour_primaries", &v->colour_primaries, 8);
            u(s, "transfer_characteristics", &v->transfer_characteristics, 8);
            u(s, matrix_name, &v->matrix_coefficients, 8);
        }
    }
    u(s, "chroma_loc_info_present_flag", &v->chroma_loc_info_present_flag, 1);
    if (v->chroma_loc_info_present_flag) {
        ue(s, "chroma_sample_loc_type_top_field", &v->chroma_sample_loc_type_top_field, 5);
        ue(s, "chroma_sample_loc_type_bottom_field", &v->chroma_sample_loc_type_bottom_field, 5);
    }
}
