/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameter sets and slice headers that the application leaves to the driver, made of the VA parameters. What is
 * made is read back: a field that is out of its range shows there, by its name in the specification. */
#include "h264_checks.h"

#include <string.h>

/* H.264 A.2: profile_idc and constraint_set_flags of a config's profile. */
static void set_profile(struct h264_sps *sps, VAProfile profile)
{
    switch (profile) {
    case VAProfileH264ConstrainedBaseline:
        sps->profile_idc = 66;
        sps->constraint_set_flags = 1u << 0 | 1u << 1;
        break;
    case VAProfileH264Main:
        sps->profile_idc = 77;
        break;
    default:
        sps->profile_idc = 100;
    }
}

static void set_vui(struct h264_sps *sps, const VAEncSequenceParameterBufferH264 *sequence)
{
    struct h264_vui *vui = &sps->vui;
    sps->vui_parameters_present_flag = sequence->vui_parameters_present_flag != 0;
    vui->picture.aspect_ratio_info_present_flag = sequence->vui_fields.bits.aspect_ratio_info_present_flag;
    vui->picture.aspect_ratio_idc = sequence->aspect_ratio_idc;
    vui->picture.sar_width = sequence->sar_width;
    vui->picture.sar_height = sequence->sar_height;
    vui->timing_info_present_flag = sequence->vui_fields.bits.timing_info_present_flag;
    vui->num_units_in_tick = sequence->num_units_in_tick;
    vui->time_scale = sequence->time_scale;
    vui->fixed_frame_rate_flag = sequence->vui_fields.bits.fixed_frame_rate_flag;
    vui->bitstream_restriction_flag = sequence->vui_fields.bits.bitstream_restriction_flag;
    vui->motion_vectors_over_pic_boundaries_flag = sequence->vui_fields.bits.motion_vectors_over_pic_boundaries_flag;
    vui->log2_max_mv_length_horizontal = sequence->vui_fields.bits.log2_max_mv_length_horizontal;
    vui->log2_max_mv_length_vertical = sequence->vui_fields.bits.log2_max_mv_length_vertical;
    /* VA-API does not say how deep pictures are reordered: as deep as the references allow. */
    vui->max_dec_frame_buffering = sps->max_num_ref_frames;
    vui->max_num_reorder_frames = sequence->ip_period > 1 ? sps->max_num_ref_frames : 0;
}

static void set_sps(struct h264_sps *sps, const VAEncSequenceParameterBufferH264 *sequence)
{
    sps->nal_ref_idc = 3;
    sps->level_idc = sequence->level_idc;
    sps->seq_parameter_set_id = sequence->seq_parameter_set_id;
    sps->chroma_format_idc = sequence->seq_fields.bits.chroma_format_idc;
    sps->bit_depth_luma_minus8 = sequence->bit_depth_luma_minus8;
    sps->bit_depth_chroma_minus8 = sequence->bit_depth_chroma_minus8;
    sps->log2_max_frame_num_minus4 = sequence->seq_fields.bits.log2_max_frame_num_minus4;
    sps->pic_order_cnt_type = sequence->seq_fields.bits.pic_order_cnt_type;
    sps->log2_max_pic_order_cnt_lsb_minus4 = sequence->seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4;
    sps->delta_pic_order_always_zero_flag = sequence->seq_fields.bits.delta_pic_order_always_zero_flag;
    sps->offset_for_non_ref_pic = sequence->offset_for_non_ref_pic;
    sps->offset_for_top_to_bottom_field = sequence->offset_for_top_to_bottom_field;
    sps->num_ref_frames_in_pic_order_cnt_cycle = sequence->num_ref_frames_in_pic_order_cnt_cycle;
    for (unsigned i = 0; i < 255; i++)
        sps->offset_for_ref_frame[i] = sequence->offset_for_ref_frame[i];
    sps->max_num_ref_frames = sequence->max_num_ref_frames;
    sps->pic_width_in_mbs_minus1 = sequence->picture_width_in_mbs - 1u;
    sps->frame_mbs_only_flag = sequence->seq_fields.bits.frame_mbs_only_flag;
    sps->mb_adaptive_frame_field_flag = sequence->seq_fields.bits.mb_adaptive_frame_field_flag;
    sps->pic_height_in_map_units_minus1 =
        (uint32_t)sequence->picture_height_in_mbs / (2 - sps->frame_mbs_only_flag) - 1u;
    sps->direct_8x8_inference_flag = sequence->seq_fields.bits.direct_8x8_inference_flag;
    sps->frame_cropping_flag = sequence->frame_cropping_flag != 0;
    sps->frame_crop_left_offset = sequence->frame_crop_left_offset;
    sps->frame_crop_right_offset = sequence->frame_crop_right_offset;
    sps->frame_crop_top_offset = sequence->frame_crop_top_offset;
    sps->frame_crop_bottom_offset = sequence->frame_crop_bottom_offset;
}

/* ue(v) cannot carry 2^32 - 1: such a field can only be a mistake, and is made one that the reader names. */
static uint32_t codable(uint32_t value)
{
    return value == UINT32_MAX ? UINT32_MAX - 1 : value;
}

bool h264_make_sps(struct checker *checker, void *sps)
{
    struct h264_sps made = {0};
    set_profile(&made, checker->config.profile);
    set_sps(&made, &checker->picture.sequence.h264);
    set_vui(&made, &checker->picture.sequence.h264);
    made.pic_width_in_mbs_minus1 = codable(made.pic_width_in_mbs_minus1);
    made.pic_height_in_map_units_minus1 = codable(made.pic_height_in_map_units_minus1);
    made.max_num_ref_frames = codable(made.max_num_ref_frames);
    made.frame_crop_left_offset = codable(made.frame_crop_left_offset);
    made.frame_crop_right_offset = codable(made.frame_crop_right_offset);
    made.frame_crop_top_offset = codable(made.frame_crop_top_offset);
    made.frame_crop_bottom_offset = codable(made.frame_crop_bottom_offset);
    return read_back_set(checker, SET_SPS, &made, sps);
}

bool h264_make_pps(struct checker *checker, void *pps)
{
    const VAEncPictureParameterBufferH264 *picture = &checker->picture.picture.h264;
    struct h264_pps made = {
        .nal_ref_idc = 3,
        .pic_parameter_set_id = picture->pic_parameter_set_id,
        .seq_parameter_set_id = picture->seq_parameter_set_id,
        .entropy_coding_mode_flag = picture->pic_fields.bits.entropy_coding_mode_flag,
        .bottom_field_pic_order_in_frame_present_flag = picture->pic_fields.bits.pic_order_present_flag,
        .num_ref_idx_l0_default_active_minus1 = picture->num_ref_idx_l0_active_minus1,
        .num_ref_idx_l1_default_active_minus1 = picture->num_ref_idx_l1_active_minus1,
        .weighted_pred_flag = picture->pic_fields.bits.weighted_pred_flag,
        .weighted_bipred_idc = picture->pic_fields.bits.weighted_bipred_idc,
        .pic_init_qp_minus26 = picture->pic_init_qp - 26,
        .chroma_qp_index_offset = picture->chroma_qp_index_offset,
        .deblocking_filter_control_present_flag = picture->pic_fields.bits.deblocking_filter_control_present_flag,
        .constrained_intra_pred_flag = picture->pic_fields.bits.constrained_intra_pred_flag,
        .redundant_pic_cnt_present_flag = picture->pic_fields.bits.redundant_pic_cnt_present_flag,
        .transform_8x8_mode_flag = picture->pic_fields.bits.transform_8x8_mode_flag,
        .second_chroma_qp_index_offset = picture->second_chroma_qp_index_offset,
    };
    made.extension_present =
        checker->picture.sps.h264.profile_idc >= 100 &&
        (made.transform_8x8_mode_flag || made.second_chroma_qp_index_offset != made.chroma_qp_index_offset);
    return read_back_set(checker, SET_PPS, &made, pps);
}

/* How many entries of a VA list, from the first on, name a picture. */
static uint32_t entries_given(const VAPictureH264 *list)
{
    uint32_t count = 0;
    while (count < 32 && list[count].picture_id != VA_INVALID_SURFACE &&
           !(list[count].flags & VA_PICTURE_H264_INVALID))
        count++;
    return count;
}

/* Number of active references: the slice's where it overrides, else the picture's, but no more than the list has. */
static void set_reference_counts(struct checker *checker, const VAEncSliceParameterBufferH264 *parameters,
                                 struct h264_slice_header *header)
{
    const VAEncPictureParameterBufferH264 *picture = &checker->picture.picture.h264;
    const struct h264_pps *pps = &checker->picture.pps.h264;
    const VAPictureH264 *lists[2] = {parameters->RefPicList0, parameters->RefPicList1};
    uint32_t defaults[2] = {pps->num_ref_idx_l0_default_active_minus1, pps->num_ref_idx_l1_default_active_minus1};
    uint32_t wanted[2] = {picture->num_ref_idx_l0_active_minus1, picture->num_ref_idx_l1_active_minus1};
    if (parameters->num_ref_idx_active_override_flag) {
        wanted[0] = parameters->num_ref_idx_l0_active_minus1;
        wanted[1] = parameters->num_ref_idx_l1_active_minus1;
    }
    unsigned used = header->slice_type % 5 == H264_SLICE_B ? 2 : header->slice_type % 5 == H264_SLICE_P ? 1 : 0;
    header->num_ref_idx_active_override_flag = used && parameters->num_ref_idx_active_override_flag;
    for (unsigned list = 0; list < used; list++) {
        uint32_t given = entries_given(lists[list]);
        header->num_ref_idx_active_minus1[list] = given && wanted[list] + 1 > given ? given - 1 : wanted[list];
        if (header->num_ref_idx_active_minus1[list] != defaults[list])
            header->num_ref_idx_active_override_flag = 1;
    }
}

static void set_weights(const VAEncSliceParameterBufferH264 *parameters, struct h264_slice_header *header)
{
    header->luma_log2_weight_denom = parameters->luma_log2_weight_denom;
    header->chroma_log2_weight_denom = parameters->chroma_log2_weight_denom;
    for (unsigned i = 0; i < 32; i++) {
        struct h264_weight *first = &header->weight[0][i], *second = &header->weight[1][i];
        first->luma_weight_flag = parameters->luma_weight_l0_flag != 0;
        first->luma_weight = parameters->luma_weight_l0[i];
        first->luma_offset = parameters->luma_offset_l0[i];
        first->chroma_weight_flag = parameters->chroma_weight_l0_flag != 0;
        second->luma_weight_flag = parameters->luma_weight_l1_flag != 0;
        second->luma_weight = parameters->luma_weight_l1[i];
        second->luma_offset = parameters->luma_offset_l1[i];
        second->chroma_weight_flag = parameters->chroma_weight_l1_flag != 0;
        for (unsigned plane = 0; plane < 2; plane++) {
            first->chroma_weight[plane] = parameters->chroma_weight_l0[i][plane];
            first->chroma_offset[plane] = parameters->chroma_offset_l0[i][plane];
            second->chroma_weight[plane] = parameters->chroma_weight_l1[i][plane];
            second->chroma_offset[plane] = parameters->chroma_offset_l1[i][plane];
        }
    }
}

/* The DPB's pictures that a VA list names, as far as the header's count goes. */
static struct h264_reference_list wanted_list(const struct checker *checker, const VAPictureH264 *list,
                                              uint32_t count)
{
    struct h264_reference_list wanted = {.count = count < 32 ? count : 32};
    for (uint32_t i = 0; i < wanted.count; i++) {
        wanted.entries[i] = -1;
        for (uint32_t k = 0; k < checker->dpb.h264.count; k++)
            if (checker->dpb.h264.pictures[k].surface == list[i].picture_id)
                wanted.entries[i] = (int)k;
    }
    return wanted;
}

/* Modifications where the application's lists are not the initial ones (8.2.4.3). A list with a picture that is not
 * in the DPB cannot be stated: the references' check finds it. */
static void set_modifications(struct checker *checker, const VAEncSliceParameterBufferH264 *parameters,
                              struct h264_slice_header *header)
{
    const VAPictureH264 *lists[2] = {parameters->RefPicList0, parameters->RefPicList1};
    const struct h264_sps *sps = &checker->picture.sps.h264;
    struct h264_order_count count = h264_dpb_order_count(&checker->dpb.h264, sps, header);
    unsigned used = header->slice_type % 5 == H264_SLICE_B ? 2 : header->slice_type % 5 == H264_SLICE_P ? 1 : 0;
    for (unsigned list = 0; list < used; list++) {
        struct h264_reference_list wanted =
            wanted_list(checker, lists[list], header->num_ref_idx_active_minus1[list] + 1);
        struct h264_reference_list initial = h264_dpb_initial_list(
            &checker->dpb.h264, sps, header, h264_frame_order_count(count.top, count.bottom), list);
        h264_dpb_express_list(&checker->dpb.h264, sps, header, &initial, &wanted, list);
    }
}

bool h264_make_slice_header(struct checker *checker, uint32_t slice, struct h264_slice_header *header)
{
    const VAEncSliceParameterBufferH264 *parameters = &checker->picture.slices[slice].parameters.h264;
    const VAEncPictureParameterBufferH264 *picture = &checker->picture.picture.h264;
    struct bits *nal = &checker->picture.slices[slice].nal;
    bool idr = picture->pic_fields.bits.idr_pic_flag;
    uint32_t reference = picture->pic_fields.bits.reference_pic_flag;
    struct syntax_error error;
    struct h264_slice_header made = {
        .nal_ref_idc = idr ? 3 : reference,
        .nal_unit_type = idr ? H264_NAL_IDR_SLICE : H264_NAL_SLICE,
        .first_mb_in_slice = codable(parameters->macroblock_address),
        .slice_type = parameters->slice_type,
        .pic_parameter_set_id = checker->picture.pps.h264.pic_parameter_set_id,
        .frame_num = picture->frame_num,
        .idr_pic_id = parameters->idr_pic_id,
        .pic_order_cnt_lsb = parameters->pic_order_cnt_lsb,
        .delta_pic_order_cnt_bottom = parameters->delta_pic_order_cnt_bottom,
        .delta_pic_order_cnt = {parameters->delta_pic_order_cnt[0], parameters->delta_pic_order_cnt[1]},
        .direct_spatial_mv_pred_flag = parameters->direct_spatial_mv_pred_flag != 0,
        .cabac_init_idc = parameters->cabac_init_idc,
        .slice_qp_delta = parameters->slice_qp_delta,
        .disable_deblocking_filter_idc = parameters->disable_deblocking_filter_idc,
        .slice_alpha_c0_offset_div2 = parameters->slice_alpha_c0_offset_div2,
        .slice_beta_offset_div2 = parameters->slice_beta_offset_div2,
    };
    set_reference_counts(checker, parameters, &made);
    set_weights(parameters, &made);
    set_modifications(checker, parameters, &made);
    nal->count = 0;
    h264_write_slice_header(nal, &made, &checker->picture.sps.h264, &checker->picture.pps.h264);
    if (nal->failed) {
        refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
        return false;
    }
    if (!h264_read_slice_header(header, &checker->picture.sps.h264, &checker->picture.pps.h264, nal->bytes,
                                nal->count, NULL, NULL, &error)) {
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the parameters of slice %u make no header: %s %s",
                       slice, error.element, error.reason);
        return false;
    }
    return true;
}
