/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What video usability information begins with in both codecs, aspect ratio to chroma location: H.264 E.1.1,
 * H.265 E.2.1. */
#ifndef DRIVERS_COMMON_VUI_H
#define DRIVERS_COMMON_VUI_H

#include <stdint.h>

struct syntax;

struct vui_picture {
    uint32_t aspect_ratio_info_present_flag, aspect_ratio_idc, sar_width, sar_height;
    uint32_t overscan_info_present_flag, overscan_appropriate_flag;
    uint32_t video_signal_type_present_flag, video_format, video_full_range_flag;
    uint32_t colour_description_present_flag, colour_primaries, transfer_characteristics, matrix_coefficients;
    uint32_t chroma_loc_info_present_flag, chroma_sample_loc_type_top_field, chroma_sample_loc_type_bottom_field;
};

/* `matrix_name`: the codec's name of matrix_coefficients. */
void vui_picture(struct syntax *s, struct vui_picture *v, const char *matrix_name);

#endif
