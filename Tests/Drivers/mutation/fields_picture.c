/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "field_macros.h"

#include <va/va.h>

#define STRUCTURE VAEncPictureParameterBufferH264
#define PICTURE_FIELDS(X)                                                                                              \
    PICTURE(X, current, "CurrPic", CurrPic, 1, USE_ONE)                                                                \
    PICTURE(X, reference, "ReferenceFrames[#]", ReferenceFrames[i], 16, USE_REFERENCE_FRAMES)                          \
    BUFFER_ID(X, coded_buf)                                                                                            \
    SCALAR(X, pic_parameter_set_id)                                                                                    \
    SCALAR(X, seq_parameter_set_id)                                                                                    \
    SCALAR(X, last_picture)                                                                                            \
    SCALAR(X, frame_num)                                                                                               \
    SCALAR(X, pic_init_qp)                                                                                             \
    SCALAR(X, num_ref_idx_l0_active_minus1)                                                                            \
    SCALAR(X, num_ref_idx_l1_active_minus1)                                                                            \
    SCALAR(X, chroma_qp_index_offset)                                                                                  \
    SCALAR(X, second_chroma_qp_index_offset)                                                                           \
    BITS(X, pic_fields, idr_pic_flag)                                                                                  \
    BITS(X, pic_fields, reference_pic_flag)                                                                            \
    BITS(X, pic_fields, entropy_coding_mode_flag)                                                                      \
    BITS(X, pic_fields, weighted_pred_flag)                                                                            \
    BITS(X, pic_fields, weighted_bipred_idc)                                                                           \
    BITS(X, pic_fields, constrained_intra_pred_flag)                                                                   \
    BITS(X, pic_fields, transform_8x8_mode_flag)                                                                       \
    BITS(X, pic_fields, deblocking_filter_control_present_flag)                                                        \
    BITS(X, pic_fields, redundant_pic_cnt_present_flag)                                                                \
    BITS(X, pic_fields, pic_order_present_flag)                                                                        \
    BITS(X, pic_fields, pic_scaling_matrix_present_flag)                                                               \
    X(pic_fields_unused, "pic_fields.unused", pic_fields.value, 1, FIELD_UNUSED_BITS, USE_ONE)                         \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
PICTURE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_picture, "picture", PICTURE_FIELDS)
