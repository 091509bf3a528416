/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds what an application submits: a scene of pictures whose headers and VA buffers agree. Tests change one thing
 * and submit the scene to a checker. The reference lists here come from rules of thumb for the scene's own group of
 * pictures, not from the model under test. */
#ifndef DRIVERS_TESTS_SUBMISSIONS_H
#define DRIVERS_TESTS_SUBMISSIONS_H

#include "scene_buffers.h"

#define SCENE_PICTURES 12
#define SCENE_SLICES 4
#define WIDTH_IN_MBS 4u
#define HEIGHT_IN_MBS 3u

/* Buffering period and picture timing. */
struct planned_sei {
    bool send, buffering;
    uint32_t sps_id, initial_delay, removal_delay, buffering_type, timing_type;
};

struct planned_picture {
    char type; /* 'i' IDR, 'P', 'B', 'b' B that is a reference */
    bool send_sequence, send_sps, send_pps, send_aud, emulation;
    struct planned_sei sei;
    struct h264_sps sps;
    struct h264_pps pps;
    struct h264_slice_header headers[SCENE_SLICES];
    VAEncSequenceParameterBufferH264 sequence;
    VAEncPictureParameterBufferH264 picture;
    VAEncSliceParameterBufferH264 slices[SCENE_SLICES];
    uint32_t slice_count;
    struct planned_miscs miscs;
    uint32_t input, input_width, input_height, input_format;
    bool input_outside;
};

struct scene {
    struct submitted_config config;
    bool packed;
    uint32_t context_width, context_height, coded_buffer_size, surface_format;
    struct planned_picture pictures[SCENE_PICTURES];
    uint32_t count;
    /* Called with each picture's buffers before they are submitted. */
    void (*change_buffers)(struct scene *scene, uint32_t picture, struct submitted_buffer *buffers, uint32_t *count);
    uint32_t changed_picture; /* for that function's use */
    uint32_t overflowed; /* bit n: picture n came out cut short */
};

struct scene_options {
    VAProfile profile;
    uint32_t rate_control;
    bool packed, emulation, aud;
    uint32_t slices;
    const char *order; /* types in decoding order: "iPBBPiP" */
    bool cabac;
};

static inline VAPictureH264 invalid_picture(void)
{
    return (VAPictureH264){.picture_id = VA_INVALID_SURFACE, .flags = VA_PICTURE_H264_INVALID};
}

static inline void plan_sps(struct scene *scene, const struct scene_options *options, struct h264_sps *sps)
{
    (void)scene;
    *sps = (struct h264_sps){
        .nal_ref_idc = 3, .level_idc = 30, .chroma_format_idc = 1, .log2_max_frame_num_minus4 = 0,
        .log2_max_pic_order_cnt_lsb_minus4 = 2, .max_num_ref_frames = 2,
        .pic_width_in_mbs_minus1 = WIDTH_IN_MBS - 1, .pic_height_in_map_units_minus1 = HEIGHT_IN_MBS - 1,
        .frame_mbs_only_flag = 1, .direct_8x8_inference_flag = 1, .frame_cropping_flag = 1,
        .frame_crop_right_offset = 1, .frame_crop_bottom_offset = 2, .vui_parameters_present_flag = 1,
    };
    sps->profile_idc = options->profile == VAProfileH264High ? 100 : options->profile == VAProfileH264Main ? 77 : 66;
    sps->constraint_set_flags = sps->profile_idc == 66 ? 3 : 0;
    sps->vui = (struct h264_vui){
        .picture = {.aspect_ratio_info_present_flag = 1, .aspect_ratio_idc = 255, .sar_width = 4, .sar_height = 3},
        .timing_info_present_flag = 1, .num_units_in_tick = 1, .time_scale = 50, .fixed_frame_rate_flag = 1,
        .bitstream_restriction_flag = 1, .motion_vectors_over_pic_boundaries_flag = 1,
        .log2_max_mv_length_horizontal = 10, .log2_max_mv_length_vertical = 9,
        .max_num_reorder_frames = sps->profile_idc == 66 ? 0 : 1, .max_dec_frame_buffering = 2,
    };
    if (options->rate_control & (VA_RC_CBR | VA_RC_VBR)) {
        struct h264_hrd *hrd = &sps->vui.nal_hrd;
        sps->vui.nal_hrd_parameters_present_flag = 1;
        hrd->bit_rate_value_minus1[0] = 1000000 / 64 - 1;
        hrd->cpb_size_value_minus1[0] = 1000000 / 16 - 1;
        hrd->cbr_flag[0] = options->rate_control == VA_RC_CBR;
        hrd->initial_cpb_removal_delay_length_minus1 = hrd->cpb_removal_delay_length_minus1 =
            hrd->dpb_output_delay_length_minus1 = 23;
    }
}

static inline void plan_sequence(const struct h264_sps *sps, VAEncSequenceParameterBufferH264 *sequence,
                                 uint32_t bits_per_second)
{
    *sequence = (VAEncSequenceParameterBufferH264){
        .seq_parameter_set_id = (uint8_t)sps->seq_parameter_set_id, .level_idc = (uint8_t)sps->level_idc,
        .intra_period = 8, .intra_idr_period = 8, .ip_period = 3, .bits_per_second = bits_per_second,
        .max_num_ref_frames = sps->max_num_ref_frames, .picture_width_in_mbs = WIDTH_IN_MBS,
        .picture_height_in_mbs = HEIGHT_IN_MBS, .frame_cropping_flag = 1,
        .frame_crop_right_offset = sps->frame_crop_right_offset,
        .frame_crop_bottom_offset = sps->frame_crop_bottom_offset, .vui_parameters_present_flag = 1,
        .aspect_ratio_idc = 255, .sar_width = 4, .sar_height = 3, .num_units_in_tick = 1, .time_scale = 50,
    };
    sequence->seq_fields.bits.chroma_format_idc = 1;
    sequence->seq_fields.bits.frame_mbs_only_flag = 1;
    sequence->seq_fields.bits.direct_8x8_inference_flag = 1;
    sequence->seq_fields.bits.log2_max_frame_num_minus4 = sps->log2_max_frame_num_minus4 & 15;
    sequence->seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4 = sps->log2_max_pic_order_cnt_lsb_minus4 & 15;
    sequence->vui_fields.bits.aspect_ratio_info_present_flag = 1;
    sequence->vui_fields.bits.timing_info_present_flag = 1;
    sequence->vui_fields.bits.bitstream_restriction_flag = 1;
    sequence->vui_fields.bits.log2_max_mv_length_horizontal = 10;
    sequence->vui_fields.bits.log2_max_mv_length_vertical = 9;
    sequence->vui_fields.bits.fixed_frame_rate_flag = 1;
    sequence->vui_fields.bits.motion_vectors_over_pic_boundaries_flag = 1;
}

/* The references while the scene is planned, in decoding order. */
struct planned_references {
    VAPictureH264 entries[2];
    uint32_t count;
};

static inline void plan_lists(struct planned_picture *picture, const struct planned_references *references,
                              int32_t order_count, VAEncSliceParameterBufferH264 *slice)
{
    for (unsigned i = 0; i < 32; i++)
        slice->RefPicList0[i] = slice->RefPicList1[i] = invalid_picture();
    if (picture->type == 'P') {
        for (uint32_t i = 0; i < references->count; i++)
            slice->RefPicList0[i] = references->entries[references->count - 1 - i];
    } else if (picture->type != 'i') {
        /* One before and one after, and each list begins with its own. */
        uint32_t before = references->entries[0].TopFieldOrderCnt < order_count ? 0 : 1;
        slice->RefPicList0[0] = references->entries[before];
        slice->RefPicList0[1] = references->entries[1 - before];
        slice->RefPicList1[0] = references->entries[1 - before];
    }
}

static inline void plan_slices(struct planned_picture *picture, const struct planned_references *references,
                               const struct scene_options *options, uint32_t idr_pic_id)
{
    static const uint32_t rows[4][4] = {{3}, {2, 1}, {1, 1, 1}};
    uint32_t first = 0, type = picture->type == 'i' ? 2 : picture->type == 'P' ? 0 : 1;
    int32_t order_count = picture->picture.CurrPic.TopFieldOrderCnt;
    picture->slice_count = options->slices;
    for (uint32_t i = 0; i < options->slices; i++) {
        VAEncSliceParameterBufferH264 *slice = &picture->slices[i];
        struct h264_slice_header *header = &picture->headers[i];
        *slice = (VAEncSliceParameterBufferH264){
            .macroblock_address = first, .num_macroblocks = rows[options->slices - 1][i] * WIDTH_IN_MBS,
            .macroblock_info = VA_INVALID_ID, .slice_type = (uint8_t)(type + 5), .idr_pic_id = (uint16_t)idr_pic_id,
            .pic_order_cnt_lsb = (uint16_t)(order_count & 63), .direct_spatial_mv_pred_flag = 1,
            .cabac_init_idc = options->cabac ? 1 : 0, .slice_qp_delta = 2, .slice_alpha_c0_offset_div2 = 1,
            .slice_beta_offset_div2 = -1,
        };
        plan_lists(picture, references, order_count, slice);
        *header = (struct h264_slice_header){
            .nal_ref_idc = picture->picture.pic_fields.bits.reference_pic_flag ? (type == 1 ? 1 : 3) : 0,
            .nal_unit_type = picture->type == 'i' ? 5 : 1, .first_mb_in_slice = first, .slice_type = type + 5,
            .frame_num = picture->picture.frame_num, .idr_pic_id = idr_pic_id,
            .pic_order_cnt_lsb = order_count & 63, .direct_spatial_mv_pred_flag = 1,
            .num_ref_idx_active_minus1 = {1, 0}, .cabac_init_idc = options->cabac ? 1 : 0, .slice_qp_delta = 2,
            .slice_alpha_c0_offset_div2 = 1, .slice_beta_offset_div2 = -1,
        };
        if (picture->type == 'P' && references->count == 1) {
            header->num_ref_idx_active_override_flag = 1;
            header->num_ref_idx_active_minus1[0] = 0;
        }
        slice->num_ref_idx_active_override_flag = (uint8_t)header->num_ref_idx_active_override_flag;
        slice->num_ref_idx_l0_active_minus1 = (uint8_t)header->num_ref_idx_active_minus1[0];
        first += slice->num_macroblocks;
    }
}

static inline void plan_pps(struct planned_picture *picture, const struct scene_options *options)
{
    bool high = options->profile == VAProfileH264High;
    picture->pps = (struct h264_pps){
        .nal_ref_idc = 3, .entropy_coding_mode_flag = options->cabac, .num_ref_idx_l0_default_active_minus1 = 1,
        .pic_init_qp_minus26 = 4, .chroma_qp_index_offset = -2, .deblocking_filter_control_present_flag = 1,
        .extension_present = high, .transform_8x8_mode_flag = high,
        .second_chroma_qp_index_offset = high ? -3 : -2,
    };
    VAEncPictureParameterBufferH264 *va = &picture->picture;
    va->pic_init_qp = 30;
    va->num_ref_idx_l0_active_minus1 = 1;
    va->chroma_qp_index_offset = -2;
    va->second_chroma_qp_index_offset = high ? -3 : -2;
    va->pic_fields.bits.entropy_coding_mode_flag = options->cabac;
    va->pic_fields.bits.transform_8x8_mode_flag = high;
    va->pic_fields.bits.deblocking_filter_control_present_flag = 1;
}

/* Order counts of a group "iPBBPBB": anchors come three apart, B pictures before the latest anchor. */
static inline void plan_orders(const char *order, int32_t *order_counts)
{
    int32_t anchor = 0, next_b = 0;
    for (uint32_t i = 0; order[i]; i++) {
        bool followed = order[i + 1] == 'B' || order[i + 1] == 'b';
        if (order[i] == 'i') {
            anchor = order_counts[i] = 0;
        } else if (order[i] == 'P') {
            next_b = anchor + 2;
            anchor += followed ? 6 : 2;
            order_counts[i] = anchor;
        } else {
            order_counts[i] = next_b;
            next_b += 2;
        }
    }
}

static inline void plan_scene(struct scene *scene, const struct scene_options *options)
{
    struct planned_references references = {.count = 0};
    int32_t order_counts[SCENE_PICTURES];
    uint32_t frame_num = 0, idr_pic_id = 0, since_idr = 0;
    memset(scene, 0, sizeof *scene);
    plan_orders(options->order, order_counts);
    scene->packed = options->packed;
    scene->context_width = WIDTH_IN_MBS * 16;
    scene->context_height = HEIGHT_IN_MBS * 16;
    scene->coded_buffer_size = 65536;
    scene->surface_format = VA_RT_FORMAT_YUV420;
    scene->count = (uint32_t)strlen(options->order);
    scene->config = (struct submitted_config){
        .profile = options->profile, .entrypoint = VAEntrypointEncSlice, .rate_control = options->rate_control,
        .packed_headers = options->packed ? 0x1f : 0,
        .limits = {.rate_controls = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR, .packed_headers = options->packed ? 0x1f : 0,
                   .maximum_references = {2, 1}, .maximum_slices = 8,
                   .slice_structures = VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS, .maximum_quality_level = 7,
                   .minimum_width = 32, .minimum_height = 32, .maximum_width = 4096, .maximum_height = 4096},
    };
    for (uint32_t i = 0; i < scene->count; i++) {
        struct planned_picture *picture = &scene->pictures[i];
        char type = picture->type = options->order[i];
        bool rated = options->rate_control & (VA_RC_CBR | VA_RC_VBR);
        if (type == 'i') {
            references.count = 0;
            frame_num = 0;
            idr_pic_id ^= 1;
            picture->send_sequence = picture->send_sps = picture->send_pps = true;
            if (rated)
                plan_rate(&picture->miscs);
            since_idr = 0;
        }
        picture->send_aud = options->aud;
        picture->sei = (struct planned_sei){.send = rated, .buffering = type == 'i', .initial_delay = 67500,
                                            .removal_delay = 2 * since_idr++, .timing_type = 1};
        picture->emulation = options->emulation;
        picture->input = INPUT_SURFACE + i;
        picture->input_width = scene->context_width;
        picture->input_height = scene->context_height;
        picture->input_format = VA_RT_FORMAT_YUV420;
        plan_sps(scene, options, &picture->sps);
        plan_sequence(&picture->sps, &picture->sequence, rated ? 1000000 : 0);
        picture->picture.CurrPic = (VAPictureH264){
            .picture_id = RECONSTRUCTION + i, .frame_idx = frame_num & 15, .TopFieldOrderCnt = order_counts[i],
            .BottomFieldOrderCnt = order_counts[i],
        };
        for (uint32_t k = 0; k < 16; k++)
            picture->picture.ReferenceFrames[k] = k < references.count ? references.entries[k] : invalid_picture();
        picture->picture.coded_buf = CODED_BUFFER;
        picture->picture.frame_num = frame_num & 15;
        picture->picture.pic_fields.bits.idr_pic_flag = type == 'i';
        picture->picture.pic_fields.bits.reference_pic_flag = type != 'B';
        plan_pps(picture, options);
        plan_slices(picture, &references, options, idr_pic_id);
        if (type != 'B') {
            frame_num++;
            picture->picture.CurrPic.flags = VA_PICTURE_H264_SHORT_TERM_REFERENCE;
            if (references.count == 2)
                references.entries[0] = references.entries[--references.count];
            references.entries[references.count++] = picture->picture.CurrPic;
        }
    }
}

static inline void add_packed_sei(const struct planned_picture *picture, struct buffer_list *list)
{
    struct bits nal = {0}, payload = {0};
    const struct planned_sei *sei = &picture->sei;
    bits_put(&nal, H264_NAL_SEI, 8);
    if (sei->buffering) { /* H.264 D.1.2, lengths as plan_sps has them */
        bits_put_ue(&payload, sei->sps_id);
        bits_put(&payload, sei->initial_delay, 24);
        bits_put(&payload, 90000 - sei->initial_delay, 24);
        add_message(&nal, sei->buffering_type, &payload);
    }
    bits_put(&payload, sei->removal_delay, 24); /* H.264 D.1.3 */
    bits_put(&payload, 2, 24);
    add_message(&nal, sei->timing_type, &payload);
    bits_trail(&nal);
    add_packed(list, 0x80000001u, &nal, picture->emulation);
}

static inline void add_packed_sets(const struct planned_picture *picture, struct buffer_list *list)
{
    struct bits nal = {0};
    if (picture->send_aud) {
        bits_put(&nal, H264_NAL_AUD, 8);
        bits_put(&nal, 7, 3); /* primary_pic_type: any */
        bits_trail(&nal);
        add_packed(list, VAEncPackedHeaderRawData, &nal, picture->emulation);
    }
    if (picture->send_sps) {
        h264_write_sps(&nal, &picture->sps);
        bits_trail(&nal);
        add_packed(list, VAEncPackedHeaderSequence, &nal, picture->emulation);
    }
    if (picture->send_pps) {
        h264_write_pps(&nal, &picture->pps);
        bits_trail(&nal);
        add_packed(list, VAEncPackedHeaderPicture, &nal, picture->emulation);
    }
    if (picture->sei.send)
        add_packed_sei(picture, list);
}

#define write_slice_header h264_write_slice_header
#include "scene_submission.h"

#endif
