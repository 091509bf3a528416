/* SPDX-License-Identifier: GPL-2.0-or-later */
/* As submissions.h, for HEVC: a scene of pictures whose headers and VA buffers agree. Tests change one thing and submit
 * the scene to a checker. Reference picture sets and lists come from rules of thumb for the scene's own group of
 * pictures, not from the model under test. */
#ifndef DRIVERS_TESTS_HEVC_SUBMISSIONS_H
#define DRIVERS_TESTS_HEVC_SUBMISSIONS_H

#include "scene_buffers.h"

#define SCENE_PICTURES 12
#define SCENE_SLICES 4
#define WIDTH 64u
#define HEIGHT 48u
#define CTB 16u

struct planned_sei {
    bool send, buffering, colour; /* colour: mastering display and content light */
    uint32_t sps_id, initial_delay, removal_delay, buffering_type, timing_type;
    uint32_t primaries[8], most_luminance, least_luminance, content_light, average_light;
};

struct planned_picture {
    char type; /* 'i' IDR, 'c' CRA, 'P', 'B', 'b' B that is a reference, 'r' B before a CRA picture (RASL),
                'L' B of the past only */
    bool send_sequence, send_vps, send_sps, send_pps, send_aud, emulation;
    uint32_t aud_type;
    struct planned_sei sei;
    struct hevc_vps vps;
    struct hevc_sps sps;
    struct hevc_pps pps;
    struct hevc_slice_header headers[SCENE_SLICES];
    VAEncSequenceParameterBufferHEVC sequence;
    VAEncPictureParameterBufferHEVC picture;
    VAEncSliceParameterBufferHEVC slices[SCENE_SLICES];
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
    uint32_t overflowed; /* bit n: picture n came out cut short */
};

struct scene_options {
    VAProfile profile;
    uint32_t rate_control;
    bool packed, emulation, aud;
    uint32_t slices;
    const char *order; /* types in decoding order: "iPBBPiP" */
    bool low_delay;    /* neither list may be empty */
};

static inline VAPictureHEVC invalid_picture(void)
{
    return (VAPictureHEVC){.picture_id = VA_INVALID_SURFACE, .flags = VA_PICTURE_HEVC_INVALID};
}

/* Bits of a sample beyond 8. */
static inline uint32_t depth_of(const struct scene_options *options)
{
    switch (options->profile) {
    case VAProfileHEVCMain10: return 2;
    case VAProfileHEVCMain12: return 4;
    default: return 0;
    }
}

/* Flags of H.265 Table A.2 for Main 12, from general_max_12bit_constraint_flag on: 12 bits, 4:2:2, 4:2:0, lower rates. */
enum { MAIN_12_CONSTRAINTS = 0x4c4 };

static inline void plan_profile(const struct scene_options *options, struct hevc_profile_tier_level *profile)
{
    uint32_t depth = depth_of(options);
    *profile = (struct hevc_profile_tier_level){.general = {
        .profile_idc = depth == 4 ? 4 : depth == 2 ? 2 : 1,
        .profile_compatibility_flags = depth == 4 ? 1u << 27 : depth == 2 ? 1u << 29 : 3u << 29,
        .constraint_bits = {depth == 4 ? MAIN_12_CONSTRAINTS : 0},
        .progressive_source_flag = 1, .non_packed_constraint_flag = 1, .frame_only_constraint_flag = 1,
        .level_idc = 90}};
}

static inline struct hevc_sub_layer_ordering plan_ordering(const struct scene_options *options)
{
    return (struct hevc_sub_layer_ordering){2, strpbrk(options->order, "Bbr") ? 1 : 0, 0};
}

static inline void plan_vui(const struct scene_options *options, struct hevc_vui *vui)
{
    *vui = (struct hevc_vui){
        .picture = {
            .aspect_ratio_info_present_flag = 1, .aspect_ratio_idc = 255, .sar_width = 4, .sar_height = 3,
            .video_signal_type_present_flag = 1, .video_format = 5, .colour_description_present_flag = 1,
            .colour_primaries = 9, .transfer_characteristics = 16, .matrix_coefficients = 9,
        },
        .vui_timing_info_present_flag = 1, .vui_num_units_in_tick = 1, .vui_time_scale = 25,
        .bitstream_restriction_flag = 1, .motion_vectors_over_pic_boundaries_flag = 1,
        .log2_max_mv_length_horizontal = 10, .log2_max_mv_length_vertical = 9,
    };
    if (!(options->rate_control & (VA_RC_CBR | VA_RC_VBR)))
        return;
    struct hevc_hrd *hrd = &vui->hrd;
    vui->vui_hrd_parameters_present_flag = hrd->nal_hrd_parameters_present_flag = 1;
    hrd->initial_cpb_removal_delay_length_minus1 = hrd->au_cpb_removal_delay_length_minus1 =
        hrd->dpb_output_delay_length_minus1 = 23;
    hrd->sub_layers[0].fixed_pic_rate_general_flag = hrd->sub_layers[0].fixed_pic_rate_within_cvs_flag = 1;
    hrd->sub_layers[0].nal.bit_rate_value_minus1[0] = 1000000 / 64 - 1;
    hrd->sub_layers[0].nal.cpb_size_value_minus1[0] = 1000000 / 16 - 1;
    hrd->sub_layers[0].nal.cbr_flag[0] = options->rate_control == VA_RC_CBR;
}

static inline void plan_sets(const struct scene_options *options, struct planned_picture *picture)
{
    uint32_t depth = depth_of(options);
    picture->vps = (struct hevc_vps){
        .nal = {HEVC_NAL_VPS, 0, 1}, .vps_base_layer_internal_flag = 1, .vps_base_layer_available_flag = 1,
        .vps_temporal_id_nesting_flag = 1, .vps_sub_layer_ordering_info_present_flag = 1,
        .ordering = {plan_ordering(options)}, .vps_timing_info_present_flag = 1, .vps_num_units_in_tick = 1,
        .vps_time_scale = 25,
    };
    picture->sps = (struct hevc_sps){
        .nal = {HEVC_NAL_SPS, 0, 1}, .sps_temporal_id_nesting_flag = 1, .chroma_format_idc = 1,
        .pic_width_in_luma_samples = WIDTH, .pic_height_in_luma_samples = HEIGHT, .conformance_window_flag = 1,
        .conf_win_right_offset = 1, .conf_win_bottom_offset = 2, .bit_depth_luma_minus8 = depth,
        .bit_depth_chroma_minus8 = depth, .log2_max_pic_order_cnt_lsb_minus4 = 2,
        .sps_sub_layer_ordering_info_present_flag = 1, .ordering = {plan_ordering(options)},
        .log2_diff_max_min_luma_coding_block_size = 1, .log2_diff_max_min_luma_transform_block_size = 2,
        .max_transform_hierarchy_depth_inter = 1, .max_transform_hierarchy_depth_intra = 1, .amp_enabled_flag = 1,
        .sps_temporal_mvp_enabled_flag = 1, .strong_intra_smoothing_enabled_flag = 1,
        .vui_parameters_present_flag = 1,
    };
    plan_profile(options, &picture->vps.profile_tier_level);
    plan_profile(options, &picture->sps.profile_tier_level);
    plan_vui(options, &picture->sps.vui);
    picture->pps = (struct hevc_pps){
        .nal = {HEVC_NAL_PPS, 0, 1}, .cabac_init_present_flag = 1, .num_ref_idx_l0_default_active_minus1 = 1,
        .init_qp_minus26 = 4, .cu_qp_delta_enabled_flag = 1, .diff_cu_qp_delta_depth = 1, .pps_cb_qp_offset = -2,
        .pps_cr_qp_offset = 3, .pps_slice_chroma_qp_offsets_present_flag = 1,
        .loop_filter_across_tiles_enabled_flag = 1, .uniform_spacing_flag = 1,
        .pps_loop_filter_across_slices_enabled_flag = 1, .deblocking_filter_control_present_flag = 1,
        .deblocking_filter_override_enabled_flag = 1, .lists_modification_present_flag = 1,
    };
    if (options->low_delay)
        picture->pps.num_ref_idx_l1_default_active_minus1 = 1;
}

static inline void plan_sequence(const struct scene_options *options, VAEncSequenceParameterBufferHEVC *sequence)
{
    uint32_t depth = depth_of(options);
    *sequence = (VAEncSequenceParameterBufferHEVC){
        .general_profile_idc = depth == 4 ? 4 : depth == 2 ? 2 : 1, .general_level_idc = 90, .intra_period = 8, .intra_idr_period = 8,
        .ip_period = options->low_delay ? 1 : 3,
        .bits_per_second = options->rate_control & (VA_RC_CBR | VA_RC_VBR) ? 1000000 : 0,
        .pic_width_in_luma_samples = WIDTH, .pic_height_in_luma_samples = HEIGHT,
        .log2_diff_max_min_luma_coding_block_size = 1, .log2_diff_max_min_transform_block_size = 2,
        .max_transform_hierarchy_depth_inter = 1, .max_transform_hierarchy_depth_intra = 1,
        .vui_parameters_present_flag = 1, .aspect_ratio_idc = 255, .sar_width = 4, .sar_height = 3,
        .vui_num_units_in_tick = 1, .vui_time_scale = 25,
    };
    sequence->seq_fields.bits.chroma_format_idc = 1;
    sequence->seq_fields.bits.bit_depth_luma_minus8 = depth & 7;
    sequence->seq_fields.bits.bit_depth_chroma_minus8 = depth & 7;
    sequence->seq_fields.bits.amp_enabled_flag = 1;
    sequence->seq_fields.bits.strong_intra_smoothing_enabled_flag = 1;
    sequence->seq_fields.bits.sps_temporal_mvp_enabled_flag = 1;
    sequence->vui_fields.bits.aspect_ratio_info_present_flag = 1;
    sequence->vui_fields.bits.vui_timing_info_present_flag = 1;
    sequence->vui_fields.bits.bitstream_restriction_flag = 1;
    sequence->vui_fields.bits.motion_vectors_over_pic_boundaries_flag = 1;
    sequence->vui_fields.bits.log2_max_mv_length_horizontal = 10;
    sequence->vui_fields.bits.log2_max_mv_length_vertical = 9;
}

/* The references while the scene is planned, in decoding order. */
struct planned_references {
    VAPictureHEVC entries[2];
    uint32_t count;
};

/* Every reference that is kept is in the set, and the picture may refer to it. */
static inline void plan_set(const struct planned_references *references, int32_t order_count,
                            struct hevc_short_term_rps *set)
{
    int32_t last[2] = {0, 0};
    for (uint32_t k = 0; k < references->count; k++) {
        /* The nearest first: the later of two before. */
        int32_t distance = references->entries[references->count - 1 - k].pic_order_cnt - order_count;
        if (distance < 0) {
            set->delta_poc_s0_minus1[set->num_negative_pics] = (uint32_t)(last[0] - distance - 1);
            set->used_by_curr_pic_s0_flag[set->num_negative_pics++] = 1;
            last[0] = distance;
        } else {
            set->delta_poc_s1_minus1[set->num_positive_pics] = (uint32_t)(distance - last[1] - 1);
            set->used_by_curr_pic_s1_flag[set->num_positive_pics++] = 1;
            last[1] = distance;
        }
    }
}

static inline void plan_lists(struct planned_picture *picture, const struct planned_references *references,
                              int32_t order_count, VAEncSliceParameterBufferHEVC *slice)
{
    for (unsigned i = 0; i < 15; i++)
        slice->ref_pic_list0[i] = slice->ref_pic_list1[i] = invalid_picture();
    if (picture->type == 'P' || picture->type == 'L') {
        for (uint32_t i = 0; i < references->count; i++) {
            slice->ref_pic_list0[i] = picture->picture.reference_frames[references->count - 1 - i];
            if (picture->type == 'L')
                slice->ref_pic_list1[i] = slice->ref_pic_list0[i];
        }
    } else if (strchr("Bbr", picture->type)) {
        /* One before and one after, and each list begins with its own. */
        uint32_t before = references->entries[0].pic_order_cnt < order_count ? 0 : 1;
        slice->ref_pic_list0[0] = picture->picture.reference_frames[before];
        slice->ref_pic_list0[1] = picture->picture.reference_frames[1 - before];
        slice->ref_pic_list1[0] = picture->picture.reference_frames[1 - before];
    }
}

static inline void plan_slices(struct planned_picture *picture, const struct planned_references *references,
                               const struct scene_options *options, const struct hevc_nal_header *nal)
{
    static const uint32_t rows[4][4] = {{3}, {2, 1}, {1, 1, 1}};
    bool intra = picture->type == 'i' || picture->type == 'c';
    uint32_t first = 0, type = intra ? HEVC_SLICE_I : picture->type == 'P' ? HEVC_SLICE_P : HEVC_SLICE_B;
    int32_t order_count = picture->picture.decoded_curr_pic.pic_order_cnt;
    uint32_t active[2] = {references->count - 1, picture->type == 'L' ? references->count - 1 : 0};
    picture->slice_count = options->slices;
    for (uint32_t i = 0; i < options->slices; i++) {
        VAEncSliceParameterBufferHEVC *slice = &picture->slices[i];
        struct hevc_slice_header *header = &picture->headers[i];
        *slice = (VAEncSliceParameterBufferHEVC){
            .slice_segment_address = first, .num_ctu_in_slice = rows[options->slices - 1][i] * (WIDTH / CTB),
            .slice_type = (uint8_t)type, .max_num_merge_cand = 4, .slice_qp_delta = 2, .slice_cb_qp_offset = 1,
            .slice_cr_qp_offset = -1, .slice_beta_offset_div2 = 1, .slice_tc_offset_div2 = -1,
        };
        slice->slice_fields.bits.last_slice_of_pic_flag = i + 1 == options->slices;
        slice->slice_fields.bits.slice_loop_filter_across_slices_enabled_flag = 1;
        slice->slice_fields.bits.collocated_from_l0_flag = 1;
        plan_lists(picture, references, order_count, slice);
        *header = (struct hevc_slice_header){
            .nal = *nal, .first_slice_segment_in_pic_flag = i == 0, .slice_segment_address = first,
            .slice_type = type, .pic_output_flag = 1, .slice_pic_order_cnt_lsb = order_count & 63,
            .collocated_from_l0_flag = 1, .five_minus_max_num_merge_cand = 1, .slice_qp_delta = 2,
            .slice_cb_qp_offset = 1, .slice_cr_qp_offset = -1, .deblocking_filter_override_flag = 1,
            .slice_beta_offset_div2 = 1, .slice_tc_offset_div2 = -1,
            .slice_loop_filter_across_slices_enabled_flag = 1,
        };
        first += slice->num_ctu_in_slice;
        if (!intra || picture->type == 'c')
            plan_set(references, order_count, &header->short_term_ref_pic_set);
        if (intra)
            continue;
        header->slice_temporal_mvp_enabled_flag = 1;
        header->num_ref_idx_active_minus1[0] = active[0];
        header->num_ref_idx_active_minus1[1] = type == HEVC_SLICE_B ? active[1] : 0;
        header->num_ref_idx_active_override_flag =
            active[0] != picture->pps.num_ref_idx_l0_default_active_minus1 ||
            (type == HEVC_SLICE_B && active[1] != picture->pps.num_ref_idx_l1_default_active_minus1);
        slice->slice_fields.bits.slice_temporal_mvp_enabled_flag = 1;
        slice->slice_fields.bits.num_ref_idx_active_override_flag = header->num_ref_idx_active_override_flag & 1;
        slice->num_ref_idx_l0_active_minus1 = (uint8_t)active[0];
        slice->num_ref_idx_l1_active_minus1 = (uint8_t)header->num_ref_idx_active_minus1[1];
        for (uint8_t k = 0; k < references->count; k++)
            if (picture->picture.reference_frames[k].picture_id == slice->ref_pic_list0[0].picture_id)
                picture->picture.collocated_ref_pic_index = k;
    }
}

static inline void plan_picture(const struct scene_options *options, const struct planned_references *references,
                                struct planned_picture *picture, uint32_t nal_unit_type)
{
    VAEncPictureParameterBufferHEVC *va = &picture->picture;
    int32_t order_count = va->decoded_curr_pic.pic_order_cnt;
    bool intra = picture->type == 'i' || picture->type == 'c';
    for (uint32_t k = 0; k < 15; k++) {
        va->reference_frames[k] = k < references->count ? references->entries[k] : invalid_picture();
        if (k < references->count)
            va->reference_frames[k].flags = references->entries[k].pic_order_cnt < order_count
                                                ? VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE
                                                : VA_PICTURE_HEVC_RPS_ST_CURR_AFTER;
    }
    va->coded_buf = CODED_BUFFER;
    va->collocated_ref_pic_index = 0xff;
    va->pic_init_qp = 30;
    va->diff_cu_qp_delta_depth = 1;
    va->pps_cb_qp_offset = -2;
    va->pps_cr_qp_offset = 3;
    va->num_ref_idx_l0_default_active_minus1 = 1;
    va->num_ref_idx_l1_default_active_minus1 = options->low_delay;
    va->nal_unit_type = (uint8_t)nal_unit_type;
    va->pic_fields.bits.idr_pic_flag = picture->type == 'i';
    va->pic_fields.bits.coding_type = intra ? 1 : picture->type == 'P' || picture->type == 'L' ? 2 : 3;
    va->pic_fields.bits.reference_pic_flag = !strchr("Br", picture->type);
    va->pic_fields.bits.cu_qp_delta_enabled_flag = 1;
    va->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag = 1;
}

/* Order counts of a group "iPBBPBB": anchors come three apart, B pictures before the latest anchor. */
static inline void plan_orders(const char *order, int32_t *order_counts)
{
    int32_t anchor = 0, next_b = 0;
    for (uint32_t i = 0; order[i]; i++) {
        bool followed = order[i + 1] && strchr("Bbr", order[i + 1]);
        if (order[i] == 'i') {
            anchor = order_counts[i] = 0;
        } else if (!strchr("Bbr", order[i])) {
            next_b = anchor + 1;
            anchor += followed ? 3 : 1;
            order_counts[i] = anchor;
        } else {
            order_counts[i] = next_b;
            next_b += 1;
        }
    }
}

static inline void plan_config(struct scene *scene, const struct scene_options *options)
{
    struct persona_limits *limits = &scene->config.limits;
    scene->config = (struct submitted_config){
        .profile = options->profile, .entrypoint = VAEntrypointEncSlice, .rate_control = options->rate_control,
        .packed_headers = options->packed ? 0x1f : 0,
        .limits = {.rate_controls = VA_RC_CQP | VA_RC_CBR | VA_RC_VBR, .packed_headers = options->packed ? 0x1f : 0,
                   .maximum_references = {2, options->low_delay ? 2 : 1}, .maximum_slices = 8,
                   .slice_structures = VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS, .maximum_quality_level = 7,
                   .minimum_width = 32, .minimum_height = 32, .maximum_width = 4096, .maximum_height = 4096,
                   .prediction_directions = VA_PREDICTION_DIRECTION_PREVIOUS |
                                            (options->low_delay ? VA_PREDICTION_DIRECTION_BI_NOT_EMPTY
                                                                : VA_PREDICTION_DIRECTION_FUTURE),
                   .rt_formats = scene->surface_format},
    };
    limits->hevc_features.bits.amp = limits->hevc_features.bits.temporal_mvp =
        limits->hevc_features.bits.strong_intra_smoothing = limits->hevc_features.bits.cu_qp_delta =
            limits->hevc_features.bits.deblocking_filter_disable = VA_FEATURE_SUPPORTED;
    limits->hevc_block_sizes.bits.log2_max_coding_tree_block_size_minus3 = 2;
    limits->hevc_block_sizes.bits.log2_min_coding_tree_block_size_minus3 = 1;
    limits->hevc_block_sizes.bits.log2_max_luma_transform_block_size_minus2 = 2;
    limits->hevc_block_sizes.bits.max_max_transform_hierarchy_depth_inter = 2;
    limits->hevc_block_sizes.bits.max_max_transform_hierarchy_depth_intra = 2;
}

static inline struct planned_sei plan_sei(const struct scene_options *options, bool begins, uint32_t since)
{
    bool rated = options->rate_control & (VA_RC_CBR | VA_RC_VBR);
    return (struct planned_sei){
        .send = rated, .buffering = begins, .colour = begins, .initial_delay = 67500, .removal_delay = since,
        .buffering_type = 0, .timing_type = 1, .primaries = {8500, 39850, 6550, 2300, 35400, 14600, 15635, 16450},
        .most_luminance = 10000000, .least_luminance = 50, .content_light = 1000, .average_light = 400};
}

static inline void plan_scene(struct scene *scene, const struct scene_options *options)
{
    static const struct { char type; uint32_t unit; } units[] = {{'i', HEVC_NAL_IDR_W_RADL}, {'c', HEVC_NAL_CRA},
        {'P', HEVC_NAL_TRAIL_R}, {'L', HEVC_NAL_TRAIL_R}, {'b', HEVC_NAL_TRAIL_R}, {'B', HEVC_NAL_TRAIL_N},
        {'r', HEVC_NAL_RASL_N}};
    struct planned_references references = {.count = 0};
    int32_t order_counts[SCENE_PICTURES];
    uint32_t since = 0;
    memset(scene, 0, sizeof *scene);
    plan_orders(options->order, order_counts);
    scene->packed = options->packed;
    scene->context_width = WIDTH;
    scene->context_height = HEIGHT;
    scene->coded_buffer_size = 65536;
    scene->surface_format = depth_of(options) == 4 ? VA_RT_FORMAT_YUV420_12
        : depth_of(options) == 2 ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420;
    scene->count = (uint32_t)strlen(options->order);
    plan_config(scene, options);
    for (uint32_t i = 0; i < scene->count; i++) {
        struct planned_picture *picture = &scene->pictures[i];
        char type = picture->type = options->order[i];
        struct hevc_nal_header nal = {.nuh_temporal_id_plus1 = 1};
        for (uint32_t k = 0; k < sizeof units / sizeof units[0]; k++)
            if (units[k].type == type)
                nal.nal_unit_type = units[k].unit;
        if (type == 'i') {
            references.count = 0;
            picture->send_sequence = picture->send_vps = picture->send_sps = picture->send_pps = true;
            if (options->rate_control & (VA_RC_CBR | VA_RC_VBR))
                plan_rate(&picture->miscs);
            since = 0;
        }
        /* What came before a CRA picture is for its leading pictures only. */
        if (type == 'P' && references.count == 2 &&
            scene->pictures[references.entries[1].picture_id - RECONSTRUCTION].type == 'c')
            references.entries[0] = references.entries[--references.count];
        if (type == 'c')
            since = 0;
        picture->send_aud = options->aud;
        picture->aud_type = 2;
        picture->sei = plan_sei(options, type == 'i' || type == 'c', since++);
        picture->emulation = options->emulation;
        picture->input = INPUT_SURFACE + i;
        picture->input_width = scene->context_width;
        picture->input_height = scene->context_height;
        picture->input_format = scene->surface_format;
        plan_sets(options, picture);
        plan_sequence(options, &picture->sequence);
        picture->picture.decoded_curr_pic =
            (VAPictureHEVC){.picture_id = RECONSTRUCTION + i, .pic_order_cnt = order_counts[i]};
        plan_picture(options, &references, picture, nal.nal_unit_type);
        plan_slices(picture, &references, options, &nal);
        if (!strchr("Br", type)) {
            if (references.count == 2)
                references.entries[0] = references.entries[--references.count];
            references.entries[references.count++] = picture->picture.decoded_curr_pic;
        }
    }
}

static inline void add_packed_sei(const struct planned_picture *picture, struct buffer_list *list)
{
    struct bits nal = {0}, payload = {0};
    const struct planned_sei *sei = &picture->sei;
    bits_put(&nal, HEVC_NAL_PREFIX_SEI << 9 | 1, 16);
    if (sei->buffering) { /* H.265 D.2.2, lengths as plan_vui has them */
        bits_put_ue(&payload, sei->sps_id);
        bits_put(&payload, 0, 2); /* irap_cpb_params_present_flag, concatenation_flag */
        bits_put(&payload, 0, 24);
        bits_put(&payload, sei->initial_delay, 24);
        bits_put(&payload, 90000 - sei->initial_delay, 24);
        add_message(&nal, sei->buffering_type, &payload);
    }
    bits_put(&payload, sei->removal_delay ? sei->removal_delay - 1 : 0, 24); /* H.265 D.2.3 */
    bits_put(&payload, 2, 24);
    add_message(&nal, sei->timing_type, &payload);
    if (sei->colour) { /* H.265 D.2.28, D.2.35 */
        for (unsigned i = 0; i < 8; i++)
            bits_put(&payload, sei->primaries[i], 16);
        bits_put(&payload, sei->most_luminance, 32);
        bits_put(&payload, sei->least_luminance, 32);
        add_message(&nal, 137, &payload);
        bits_put(&payload, sei->content_light, 16);
        bits_put(&payload, sei->average_light, 16);
        add_message(&nal, 144, &payload);
    }
    bits_trail(&nal);
    add_packed(list, VAEncPackedHeaderRawData, &nal, picture->emulation);
}

static inline void add_packed_sets(const struct planned_picture *picture, struct buffer_list *list)
{
    struct bits nal = {0};
    if (picture->send_aud) {
        bits_put(&nal, HEVC_NAL_AUD << 9 | 1, 16);
        bits_put(&nal, picture->aud_type, 3);
        bits_trail(&nal);
        add_packed(list, VAEncPackedHeaderRawData, &nal, picture->emulation);
    }
    if (picture->send_vps) {
        hevc_write_vps(&nal, &picture->vps);
        bits_trail(&nal);
        add_packed(list, VAEncPackedHeaderSequence, &nal, picture->emulation);
    }
    if (picture->send_sps) {
        hevc_write_sps(&nal, &picture->sps);
        bits_trail(&nal);
        add_packed(list, VAEncPackedHeaderSequence, &nal, picture->emulation);
    }
    if (picture->send_pps) {
        hevc_write_pps(&nal, &picture->pps);
        bits_trail(&nal);
        add_packed(list, VAEncPackedHeaderPicture, &nal, picture->emulation);
    }
    if (picture->sei.send)
        add_packed_sei(picture, list);
}

#define write_slice_header hevc_write_slice_header
#include "scene_submission.h"

#endif
