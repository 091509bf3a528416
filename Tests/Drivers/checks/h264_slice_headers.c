/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slice parameters against the slice header in the stream, element by element. */
#include "h264_checks.h"

#define CLAUSE "va_enc_h264.h VAEncSliceParameterBufferH264"

static void check_place(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferH264 *slice = &checker->picture.slices[index].parameters.h264;
    const struct h264_slice_header *header = &checker->picture.slices[index].header.h264;
    slice_expect(checker, index, "slice-first-mb", CLAUSE ".macroblock_address", slice->macroblock_address,
                 header->first_mb_in_slice);
    slice_expect(checker, index, "slice-type", CLAUSE ".slice_type", slice->slice_type % 5, header->slice_type % 5);
    slice_expect(checker, index, "slice-pps-id", CLAUSE ".pic_parameter_set_id", slice->pic_parameter_set_id,
                 header->pic_parameter_set_id);
    if (checker->picture.idr)
        slice_expect(checker, index, "slice-idr-pic-id", CLAUSE ".idr_pic_id", slice->idr_pic_id, header->idr_pic_id);
    slice_expect(checker, index, "slice-redundant-pic-cnt", "H.264 7.4.3 redundant_pic_cnt", header->redundant_pic_cnt,
                 0);
    if (checker->picture.sps.h264.pic_order_cnt_type == 0) {
        slice_expect(checker, index, "slice-poc-lsb", CLAUSE ".pic_order_cnt_lsb", slice->pic_order_cnt_lsb,
                     header->pic_order_cnt_lsb);
        if (checker->picture.pps.h264.bottom_field_pic_order_in_frame_present_flag)
            slice_expect(checker, index, "slice-delta-poc-bottom", CLAUSE ".delta_pic_order_cnt_bottom",
                         slice->delta_pic_order_cnt_bottom, header->delta_pic_order_cnt_bottom);
    } else if (checker->picture.sps.h264.pic_order_cnt_type == 1 &&
               !checker->picture.sps.h264.delta_pic_order_always_zero_flag) {
        slice_expect(checker, index, "slice-delta-poc-0", CLAUSE ".delta_pic_order_cnt[0]",
                     slice->delta_pic_order_cnt[0], header->delta_pic_order_cnt[0]);
        if (checker->picture.pps.h264.bottom_field_pic_order_in_frame_present_flag)
            slice_expect(checker, index, "slice-delta-poc-1", CLAUSE ".delta_pic_order_cnt[1]",
                         slice->delta_pic_order_cnt[1], header->delta_pic_order_cnt[1]);
    }
}

/* How many references each list has: what the VA parameters say, the header says, and the driver advertises. */
static void check_reference_counts(struct checker *checker, uint32_t index)
{
    const VAEncPictureParameterBufferH264 *picture = &checker->picture.picture.h264;
    const VAEncSliceParameterBufferH264 *slice = &checker->picture.slices[index].parameters.h264;
    const struct h264_slice_header *header = &checker->picture.slices[index].header.h264;
    uint32_t type = header->slice_type % 5, lists = type == H264_SLICE_B ? 2 : type == H264_SLICE_P ? 1 : 0;
    const char *names[2] = {"slice-num-ref-idx-l0", "slice-num-ref-idx-l1"};
    const char *limits[2] = {"slice-references-l0-beyond-limit", "slice-references-l1-beyond-limit"};
    uint32_t overriding[2] = {slice->num_ref_idx_l0_active_minus1, slice->num_ref_idx_l1_active_minus1};
    uint32_t defaults[2] = {picture->num_ref_idx_l0_active_minus1, picture->num_ref_idx_l1_active_minus1};
    if (lists)
        slice_expect(checker, index, "slice-num-ref-idx-override", CLAUSE ".num_ref_idx_active_override_flag",
                     slice->num_ref_idx_active_override_flag, header->num_ref_idx_active_override_flag);
    if (type == H264_SLICE_B && checker->config.limits.maximum_references[1] == 0)
        slice_finding(checker, index, "slice-b-not-advertised", "va.h VAConfigAttribEncMaxRefFrames",
                      "list 1 has no references here");
    for (uint32_t list = 0; list < lists; list++) {
        uint32_t said = slice->num_ref_idx_active_override_flag ? overriding[list] : defaults[list];
        uint32_t active = header->num_ref_idx_active_minus1[list];
        uint32_t most = checker->config.limits.maximum_references[list];
        slice_expect(checker, index, names[list], CLAUSE ".num_ref_idx_lX_active_minus1", said, active);
        /* iHD has its hardware code for the slice's number (num_ref_idx_lX_active_minus1_from_DDI), whatever the flag says. */
        if (!slice->num_ref_idx_active_override_flag && overriding[list] != defaults[list])
            slice_finding(checker, index, "slice-num-ref-idx-without-override",
                          CLAUSE ".num_ref_idx_active_override_flag", "list %u: given %u, the picture has %u", list,
                          overriding[list], defaults[list]);
        if (most && active + 1 > most)
            slice_finding(checker, index, limits[list], "va.h VAConfigAttribEncMaxRefFrames",
                          "%u references, allowed are %u", active + 1, most);
    }
}

static void check_coding(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferH264 *slice = &checker->picture.slices[index].parameters.h264;
    const struct h264_slice_header *header = &checker->picture.slices[index].header.h264;
    uint32_t type = header->slice_type % 5;
    if (type == H264_SLICE_B)
        slice_expect(checker, index, "slice-direct-spatial", CLAUSE ".direct_spatial_mv_pred_flag",
                     slice->direct_spatial_mv_pred_flag, header->direct_spatial_mv_pred_flag);
    if (type != H264_SLICE_I && checker->picture.pps.h264.entropy_coding_mode_flag)
        slice_expect(checker, index, "slice-cabac-init-idc", CLAUSE ".cabac_init_idc", slice->cabac_init_idc,
                     header->cabac_init_idc);
    slice_expect(checker, index, "slice-qp-delta", CLAUSE ".slice_qp_delta", slice->slice_qp_delta,
                 header->slice_qp_delta);
    slice_expect(checker, index, "slice-deblocking-idc", CLAUSE ".disable_deblocking_filter_idc",
                 slice->disable_deblocking_filter_idc, header->disable_deblocking_filter_idc);
    if (header->disable_deblocking_filter_idc == 1)
        return;
    slice_expect(checker, index, "slice-deblocking-alpha", CLAUSE ".slice_alpha_c0_offset_div2",
                 slice->slice_alpha_c0_offset_div2, header->slice_alpha_c0_offset_div2);
    slice_expect(checker, index, "slice-deblocking-beta", CLAUSE ".slice_beta_offset_div2",
                 slice->slice_beta_offset_div2, header->slice_beta_offset_div2);
}

void h264_check_slice_headers(struct checker *checker)
{
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        check_place(checker, i);
        check_reference_counts(checker, i);
        check_coding(checker, i);
    }
}
