/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameter sets out of a picture's parameters and its inverse quantization matrices. */
#include "rebuild_h264.h"

#include <string.h>

/* H.264 table 8-2 and figure 8-8, frame scan: where in raster order each coefficient is. */
static const uint8_t zigzag_4x4[16] = {0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15};
static const uint8_t zigzag_8x8[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* H.264 7.3.2.1.1.1, all scales explicitly. */
static void write_list(struct h264_scaling_lists *lists, unsigned list, const uint8_t *scales, const uint8_t *scan,
                       unsigned count)
{
    int last = 8;
    lists->present_flag[list] = 1;
    for (unsigned i = 0; i < count; i++) {
        int scale = scales[scan[i]] ? scales[scan[i]] : 1; /* the judge has spoken about 0 */
        int delta = scale - last;
        lists->delta_scale[list][i] = delta > 127 ? delta - 256 : delta < -128 ? delta + 256 : delta;
        last = scale;
    }
}

static void write_scaling(struct h264_pps *pps, const VAIQMatrixBufferH264 *matrices)
{
    pps->pic_scaling_matrix_present_flag = matrices != NULL;
    if (!matrices)
        return;
    for (unsigned i = 0; i < 6; i++)
        write_list(&pps->scaling_lists, i, matrices->ScalingList4x4[i], zigzag_4x4, 16);
    for (unsigned i = 0; i < 2 && pps->transform_8x8_mode_flag; i++)
        write_list(&pps->scaling_lists, 6 + i, matrices->ScalingList8x8[i], zigzag_8x8, 64);
}

static void make_sps(const VAPictureParameterBufferH264 *parameters, struct h264_sps *sps)
{
    const uint32_t frames_only = parameters->seq_fields.bits.frame_mbs_only_flag;
    *sps = (struct h264_sps){
        .nal_ref_idc = 1,
        .profile_idc = 100,
        .level_idc = 62,
        .chroma_format_idc = parameters->seq_fields.bits.chroma_format_idc,
        .log2_max_frame_num_minus4 = 12,
        .log2_max_pic_order_cnt_lsb_minus4 = 12,
        .max_num_ref_frames = H264_HELD,
        .pic_width_in_mbs_minus1 = parameters->picture_width_in_mbs_minus1,
        .pic_height_in_map_units_minus1 = (parameters->picture_height_in_mbs_minus1 + 1u) / (2 - frames_only) - 1,
        .frame_mbs_only_flag = frames_only,
        .mb_adaptive_frame_field_flag = parameters->seq_fields.bits.mb_adaptive_frame_field_flag,
        .direct_8x8_inference_flag = parameters->seq_fields.bits.direct_8x8_inference_flag,
        /* Nothing waits to be output. */
        .vui_parameters_present_flag = 1,
        .vui = {.bitstream_restriction_flag = 1, .motion_vectors_over_pic_boundaries_flag = 1,
                .log2_max_mv_length_horizontal = 16, .log2_max_mv_length_vertical = 16,
                .max_dec_frame_buffering = H264_HELD},
    };
}

void h264_rebuild_sets(const struct h264_picture *picture, struct h264_sps *sps, struct h264_pps pps[2])
{
    const VAPictureParameterBufferH264 *parameters = picture->parameters;
    /* Sets are compared as bytes. */
    memset(sps, 0, sizeof(*sps));
    memset(pps, 0, 2 * sizeof(pps[0]));
    make_sps(parameters, sps);
    pps[0] = (struct h264_pps){
        .nal_ref_idc = 1,
        .entropy_coding_mode_flag = parameters->pic_fields.bits.entropy_coding_mode_flag,
        .bottom_field_pic_order_in_frame_present_flag = 1,
        .weighted_pred_flag = parameters->pic_fields.bits.weighted_pred_flag,
        .weighted_bipred_idc = parameters->pic_fields.bits.weighted_bipred_idc,
        .pic_init_qp_minus26 = parameters->pic_init_qp_minus26,
        .pic_init_qs_minus26 = parameters->pic_init_qs_minus26,
        .chroma_qp_index_offset = parameters->chroma_qp_index_offset,
        .deblocking_filter_control_present_flag = parameters->pic_fields.bits.deblocking_filter_control_present_flag,
        .constrained_intra_pred_flag = parameters->pic_fields.bits.constrained_intra_pred_flag,
        .redundant_pic_cnt_present_flag = parameters->pic_fields.bits.redundant_pic_cnt_present_flag,
        .extension_present = 1,
        .transform_8x8_mode_flag = parameters->pic_fields.bits.transform_8x8_mode_flag,
        .second_chroma_qp_index_offset = parameters->second_chroma_qp_index_offset,
    };
    write_scaling(&pps[0], rebuild_peek_buffer(picture->picture, VAIQMatrixBufferType));
    pps[1] = (struct h264_pps){
        .nal_ref_idc = 1,
        .pic_parameter_set_id = 1,
        .bottom_field_pic_order_in_frame_present_flag = 1,
        .deblocking_filter_control_present_flag = 1,
    };
}
