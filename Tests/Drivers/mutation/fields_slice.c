/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "field_macros.h"

#include <va/va.h>

#define STRUCTURE VAEncSliceParameterBufferH264
#define SLICE_FIELDS(X)                                                                                                \
    SCALAR(X, macroblock_address)                                                                                      \
    SCALAR(X, num_macroblocks)                                                                                         \
    BUFFER_ID(X, macroblock_info)                                                                                      \
    SCALAR(X, slice_type)                                                                                              \
    SCALAR(X, pic_parameter_set_id)                                                                                    \
    SCALAR(X, idr_pic_id)                                                                                              \
    SCALAR(X, pic_order_cnt_lsb)                                                                                       \
    SCALAR(X, delta_pic_order_cnt_bottom)                                                                              \
    ARRAY(X, delta_pic_order_cnt, 2, USE_ALL)                                                                          \
    SCALAR(X, direct_spatial_mv_pred_flag)                                                                             \
    SCALAR(X, num_ref_idx_active_override_flag)                                                                        \
    SCALAR(X, num_ref_idx_l0_active_minus1)                                                                            \
    SCALAR(X, num_ref_idx_l1_active_minus1)                                                                            \
    PICTURE(X, list_0, "RefPicList0[#]", RefPicList0[i], 32, USE_LIST_0)                                               \
    PICTURE(X, list_1, "RefPicList1[#]", RefPicList1[i], 32, USE_LIST_1)                                               \
    SCALAR(X, luma_log2_weight_denom)                                                                                  \
    SCALAR(X, chroma_log2_weight_denom)                                                                                \
    SCALAR(X, luma_weight_l0_flag)                                                                                     \
    ARRAY(X, luma_weight_l0, 32, USE_WEIGHTS_0)                                                                        \
    ARRAY(X, luma_offset_l0, 32, USE_WEIGHTS_0)                                                                        \
    SCALAR(X, chroma_weight_l0_flag)                                                                                   \
    INNER(X, chroma_weight_l0, 0, 32, USE_CHROMA_WEIGHTS_0)                                                            \
    INNER(X, chroma_weight_l0, 1, 32, USE_CHROMA_WEIGHTS_0)                                                            \
    INNER(X, chroma_offset_l0, 0, 32, USE_CHROMA_WEIGHTS_0)                                                            \
    INNER(X, chroma_offset_l0, 1, 32, USE_CHROMA_WEIGHTS_0)                                                            \
    SCALAR(X, luma_weight_l1_flag)                                                                                     \
    ARRAY(X, luma_weight_l1, 32, USE_WEIGHTS_1)                                                                        \
    ARRAY(X, luma_offset_l1, 32, USE_WEIGHTS_1)                                                                        \
    SCALAR(X, chroma_weight_l1_flag)                                                                                   \
    INNER(X, chroma_weight_l1, 0, 32, USE_CHROMA_WEIGHTS_1)                                                            \
    INNER(X, chroma_weight_l1, 1, 32, USE_CHROMA_WEIGHTS_1)                                                            \
    INNER(X, chroma_offset_l1, 0, 32, USE_CHROMA_WEIGHTS_1)                                                            \
    INNER(X, chroma_offset_l1, 1, 32, USE_CHROMA_WEIGHTS_1)                                                            \
    SCALAR(X, cabac_init_idc)                                                                                          \
    SCALAR(X, slice_qp_delta)                                                                                          \
    SCALAR(X, disable_deblocking_filter_idc)                                                                           \
    SCALAR(X, slice_alpha_c0_offset_div2)                                                                              \
    SCALAR(X, slice_beta_offset_div2)                                                                                  \
    ARRAY(X, va_reserved, VA_PADDING_LOW, USE_ALL)
SLICE_FIELDS(FIELD_ACCESSORS)
FIELD_TABLE(fields_slice, "slice", SLICE_FIELDS)
