/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "field_macros.h"

#include <va/va.h>

#define STRUCTURE VAEncSequenceParameterBufferH264
#define SEQUENCE_FIELDS(X)                                                                                             \
    SCALAR(X, seq_parameter_set_id)                                                                                    \
    SCALAR(X, level_idc)                                                                                               \
    SCALAR(X, intra_period)                                                                                            \
    SCALAR(X, intra_idr_period)                                                                                        \
    SCALAR(X, ip_period)                                                                                               \
    SCALAR(X, bits_per_second)                                                                                         \
    SCALAR(X, max_num_ref_frames)                                                                                      \
    SCALAR(X, picture_width_in_mbs)                                                                                    \
    SCALAR(X, picture_height_in_mbs)                                                                                   \
    BITS(X, seq_fields, chroma_format_idc)                                                                             \
    BITS(X, seq_fields, frame_mbs_only_flag)                                                                           \
    BITS(X, seq_fields, mb_adaptive_frame_field_flag)                                                                  \
    BITS(X, seq_fields, seq_scaling_matrix_present_flag)                                                               \
    BITS(X, seq_fields, direct_8x8_inference_flag)                                                                     \
    BITS(X, seq_fields, log2_max_frame_num_minus4)                                                                     \
    BITS(X, seq_fields, pic_order_cnt_type)                                                                            \
    BITS(X, seq_fields, log2_max_pic_order_cnt_lsb_minus4)                                                             \
    BITS(X, seq_fields, delta_pic_order_always_zero_flag)                                                              \
    X(seq_fields_unused, "seq_fields.unused", seq_fields.value, 1, FIELD_UNUSED_BITS, USE_ONE)                         \
    SCALAR(X, bit_depth_luma_minus8)                                                                                   \
    SCALAR(X, bit_depth_chroma_minus8)                                                                                 \
    SCALAR(X, num_ref_frames_in_pic_order_cnt_cycle)                                                                   \
    SCALAR(X, offset_for_non_ref_pic)                                                                                  \
    SCALAR(X, offset_for_top_to_bottom_field)                                                                          \
    ARRAY(X, offset_for_ref_frame, 256, USE_CYCLE)                                                                     \
    SCALAR(X, frame_cropping_flag)                                                                                     \
    SCALAR(X, frame_crop_left_offset)                                                                                  \
    SCALAR(X, frame_crop_right_offset)                                                                                 \
    SCALAR(X, frame_crop_top_offset)                                                                                   \
    SCALAR(X, frame_crop_bottom_offset)                                                                                \
    SCALAR(X, vui_parameters_present_flag)                                                                             \
    BITS(X, vui_fields, aspect_ratio_info_present_flag)                                                                \
    BITS(X, vui_fields, timing_info_present_flag)                                                                      \
    BITS(X, vui_fields, bitstream_restriction_flag)                                                                    \
    BITS(X, vui_fields, log2_max_mv_length_horizontal)                                                                 \
    BITS(X, vui_fields, log2_max_mv_length_vertical)                                                                   \
    BITS(X, vui_fields, fixed_frame_rate_flag)                                                                         \
    BITS(X, vui_fields, low_delay_hrd_flag)                                                                            \
    BITS(X, vui_fields, motion_vectors_over_pic_boundaries_flag)                                                       \
    BITS(X, vui_fields, reserved)                                                                                      \
    SCALAR(X, aspect_ratio_idc)                                                                                        \
    SCALAR(X, sar_width)                                                                                               \
    SCALAR(X, sar_height)                                                                                              \
    SCALAR(X, num_units_in_tick)                                                                                       \
    SCALAR(X, time_scale)                                                                                              \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
SEQUENCE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_sequence, "sequence", SEQUENCE_FIELDS)
