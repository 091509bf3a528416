/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameter sets and slice segment headers that the application leaves to the driver, made of the VA parameters. What
 * VA-API does not say is chosen here: order counts of 8 bits, one short-term reference picture set per slice, of what
 * reference_frames lists, and a conformance window that leaves what the context shows. */
#include "hevc_checks.h"

#include <string.h>

#define ORDER_COUNT_BITS 8

/* A.3.2, A.3.3, A.3.5 */
static void set_profile(const struct checker *checker, struct hevc_profile_tier_level *profile,
                        const VAEncSequenceParameterBufferHEVC *sequence)
{
    uint32_t idc = sequence->general_profile_idc;
    profile->general = (struct hevc_profile){
        .tier_flag = sequence->general_tier_flag != 0,
        .profile_idc = idc,
        .profile_compatibility_flags = (idc < 32 ? 1u << (31 - idc) : 0) | (idc == 1 ? 1u << 29 : 0),
        .progressive_source_flag = 1,
        .non_packed_constraint_flag = 1,
        .frame_only_constraint_flag = 1,
        .constraint_bits = {hevc_profile_constraints(checker->config.profile), 0},
        .level_idc = sequence->general_level_idc,
    };
}

/* VA-API does not say how deep pictures are reordered: as deep as the references allow. */
static struct hevc_sub_layer_ordering ordering(const struct checker *checker)
{
    const uint32_t *references = checker->config.limits.maximum_references;
    uint32_t kept = references[0] + references[1] < 5 ? references[0] + references[1] : 5;
    return (struct hevc_sub_layer_ordering){
        .max_dec_pic_buffering_minus1 = kept,
        .max_num_reorder_pics = checker->picture.sequence.hevc.ip_period > 1 ? kept : 0,
    };
}

bool hevc_make_vps(struct checker *checker, void *vps)
{
    struct hevc_vps made = {
        .nal = {HEVC_NAL_VPS, 0, 1},
        .vps_base_layer_internal_flag = 1,
        .vps_base_layer_available_flag = 1,
        .vps_temporal_id_nesting_flag = 1,
        .vps_sub_layer_ordering_info_present_flag = 1,
    };
    set_profile(checker, &made.profile_tier_level, &checker->picture.sequence.hevc);
    made.ordering[0] = ordering(checker);
    return read_back_set(checker, SET_VPS, &made, vps);
}

static void set_vui(struct hevc_sps *sps, const VAEncSequenceParameterBufferHEVC *sequence)
{
    sps->vui_parameters_present_flag = sequence->vui_parameters_present_flag != 0;
    sps->vui = (struct hevc_vui){
        .picture.aspect_ratio_info_present_flag = sequence->vui_fields.bits.aspect_ratio_info_present_flag,
        .picture.aspect_ratio_idc = sequence->aspect_ratio_idc,
        .picture.sar_width = sequence->sar_width,
        .picture.sar_height = sequence->sar_height,
        .neutral_chroma_indication_flag = sequence->vui_fields.bits.neutral_chroma_indication_flag,
        .field_seq_flag = sequence->vui_fields.bits.field_seq_flag,
        .vui_timing_info_present_flag = sequence->vui_fields.bits.vui_timing_info_present_flag,
        .vui_num_units_in_tick = sequence->vui_num_units_in_tick,
        .vui_time_scale = sequence->vui_time_scale,
        .bitstream_restriction_flag = sequence->vui_fields.bits.bitstream_restriction_flag,
        .tiles_fixed_structure_flag = sequence->vui_fields.bits.tiles_fixed_structure_flag,
        .motion_vectors_over_pic_boundaries_flag = sequence->vui_fields.bits.motion_vectors_over_pic_boundaries_flag,
        .restricted_ref_pic_lists_flag = sequence->vui_fields.bits.restricted_ref_pic_lists_flag,
        .min_spatial_segmentation_idc = sequence->min_spatial_segmentation_idc,
        .max_bytes_per_pic_denom = sequence->max_bytes_per_pic_denom,
        .max_bits_per_min_cu_denom = sequence->max_bits_per_min_cu_denom,
        .log2_max_mv_length_horizontal = sequence->vui_fields.bits.log2_max_mv_length_horizontal,
        .log2_max_mv_length_vertical = sequence->vui_fields.bits.log2_max_mv_length_vertical,
    };
}

static void set_window(struct hevc_sps *sps, const struct submission *submission)
{
    uint32_t columns = sps->pic_width_in_luma_samples, rows = sps->pic_height_in_luma_samples;
    if (columns > submission->context_width)
        sps->conf_win_right_offset = (columns - submission->context_width) / hevc_crop_width(sps);
    if (rows > submission->context_height)
        sps->conf_win_bottom_offset = (rows - submission->context_height) / hevc_crop_height(sps);
    sps->conformance_window_flag = sps->conf_win_right_offset || sps->conf_win_bottom_offset;
}

/* ue(v) cannot carry 2^32 - 1: such a field can only be a mistake, and is made one that the reader names. */
static uint32_t codable(uint32_t value)
{
    return value == UINT32_MAX ? UINT32_MAX - 1 : value;
}

/* Logarithms of sizes are shifted by: one beyond 15 is a mistake, and stays one. */
static uint32_t shiftable(uint32_t value)
{
    return value > 15 ? 15 : value;
}

bool hevc_make_sps(struct checker *checker, void *sps)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    struct hevc_sps made = {
        .nal = {HEVC_NAL_SPS, 0, 1},
        .sps_temporal_id_nesting_flag = 1,
        .chroma_format_idc = sequence->seq_fields.bits.chroma_format_idc,
        .separate_colour_plane_flag = sequence->seq_fields.bits.separate_colour_plane_flag,
        .pic_width_in_luma_samples = sequence->pic_width_in_luma_samples,
        .pic_height_in_luma_samples = sequence->pic_height_in_luma_samples,
        .bit_depth_luma_minus8 = sequence->seq_fields.bits.bit_depth_luma_minus8,
        .bit_depth_chroma_minus8 = sequence->seq_fields.bits.bit_depth_chroma_minus8,
        .log2_max_pic_order_cnt_lsb_minus4 = ORDER_COUNT_BITS - 4,
        .sps_sub_layer_ordering_info_present_flag = 1,
        .log2_min_luma_coding_block_size_minus3 = shiftable(sequence->log2_min_luma_coding_block_size_minus3),
        .log2_diff_max_min_luma_coding_block_size = shiftable(sequence->log2_diff_max_min_luma_coding_block_size),
        .log2_min_luma_transform_block_size_minus2 = shiftable(sequence->log2_min_transform_block_size_minus2),
        .log2_diff_max_min_luma_transform_block_size =
            shiftable(sequence->log2_diff_max_min_transform_block_size),
        .max_transform_hierarchy_depth_inter = sequence->max_transform_hierarchy_depth_inter,
        .max_transform_hierarchy_depth_intra = sequence->max_transform_hierarchy_depth_intra,
        .scaling_list_enabled_flag = sequence->seq_fields.bits.scaling_list_enabled_flag,
        .amp_enabled_flag = sequence->seq_fields.bits.amp_enabled_flag,
        .sample_adaptive_offset_enabled_flag = sequence->seq_fields.bits.sample_adaptive_offset_enabled_flag,
        .pcm_enabled_flag = sequence->seq_fields.bits.pcm_enabled_flag,
        .pcm_sample_bit_depth_luma_minus1 = sequence->pcm_sample_bit_depth_luma_minus1 & 15,
        .pcm_sample_bit_depth_chroma_minus1 = sequence->pcm_sample_bit_depth_chroma_minus1 & 15,
        .log2_min_pcm_luma_coding_block_size_minus3 = codable(sequence->log2_min_pcm_luma_coding_block_size_minus3),
        .log2_diff_max_min_pcm_luma_coding_block_size =
            codable(sequence->log2_max_pcm_luma_coding_block_size_minus3 -
                    sequence->log2_min_pcm_luma_coding_block_size_minus3),
        .pcm_loop_filter_disabled_flag = sequence->seq_fields.bits.pcm_loop_filter_disabled_flag,
        .long_term_ref_pics_present_flag = 1,
        .sps_temporal_mvp_enabled_flag = sequence->seq_fields.bits.sps_temporal_mvp_enabled_flag,
        .strong_intra_smoothing_enabled_flag = sequence->seq_fields.bits.strong_intra_smoothing_enabled_flag,
    };
    set_profile(checker, &made.profile_tier_level, sequence);
    made.ordering[0] = ordering(checker);
    set_vui(&made, sequence);
    set_window(&made, checker->submission);
    return read_back_set(checker, SET_SPS, &made, sps);
}

static bool any_chroma_offset(const struct checker *checker)
{
    for (uint32_t i = 0; i < checker->picture.slice_count; i++)
        if (checker->picture.slices[i].parameters.hevc.slice_cb_qp_offset ||
            checker->picture.slices[i].parameters.hevc.slice_cr_qp_offset)
            return true;
    return false;
}

bool hevc_make_pps(struct checker *checker, void *pps)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    struct hevc_pps made = {
        .nal = {HEVC_NAL_PPS, 0, 1},
        .pps_pic_parameter_set_id = picture->slice_pic_parameter_set_id,
        .pps_seq_parameter_set_id = checker->picture.sps.hevc.sps_seq_parameter_set_id,
        .dependent_slice_segments_enabled_flag = picture->pic_fields.bits.dependent_slice_segments_enabled_flag,
        .sign_data_hiding_enabled_flag = picture->pic_fields.bits.sign_data_hiding_enabled_flag,
        .cabac_init_present_flag = 1,
        .num_ref_idx_l0_default_active_minus1 = picture->num_ref_idx_l0_default_active_minus1,
        .num_ref_idx_l1_default_active_minus1 = picture->num_ref_idx_l1_default_active_minus1,
        .init_qp_minus26 = picture->pic_init_qp - 26,
        .constrained_intra_pred_flag = picture->pic_fields.bits.constrained_intra_pred_flag,
        .transform_skip_enabled_flag = picture->pic_fields.bits.transform_skip_enabled_flag,
        .cu_qp_delta_enabled_flag = picture->pic_fields.bits.cu_qp_delta_enabled_flag,
        .diff_cu_qp_delta_depth = picture->diff_cu_qp_delta_depth,
        .pps_cb_qp_offset = picture->pps_cb_qp_offset,
        .pps_cr_qp_offset = picture->pps_cr_qp_offset,
        .pps_slice_chroma_qp_offsets_present_flag = any_chroma_offset(checker),
        .weighted_pred_flag = picture->pic_fields.bits.weighted_pred_flag,
        .weighted_bipred_flag = picture->pic_fields.bits.weighted_bipred_flag,
        .transquant_bypass_enabled_flag = picture->pic_fields.bits.transquant_bypass_enabled_flag,
        .tiles_enabled_flag = picture->pic_fields.bits.tiles_enabled_flag,
        .entropy_coding_sync_enabled_flag = picture->pic_fields.bits.entropy_coding_sync_enabled_flag,
        .num_tile_columns_minus1 = picture->num_tile_columns_minus1,
        .num_tile_rows_minus1 = picture->num_tile_rows_minus1,
        .loop_filter_across_tiles_enabled_flag = picture->pic_fields.bits.loop_filter_across_tiles_enabled_flag,
        .pps_loop_filter_across_slices_enabled_flag =
            picture->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag,
        .deblocking_filter_control_present_flag = 1,
        .deblocking_filter_override_enabled_flag = 1,
        .lists_modification_present_flag = 1,
        .log2_parallel_merge_level_minus2 = picture->log2_parallel_merge_level_minus2,
    };
    for (uint32_t i = 0; i < 19; i++)
        made.column_width_minus1[i] = picture->column_width_minus1[i];
    for (uint32_t i = 0; i < 21; i++)
        made.row_height_minus1[i] = picture->row_height_minus1[i];
    return read_back_set(checker, SET_PPS, &made, pps);
}

/* Whether the picture may refer to the entry: its flags say so, or a list of a slice has it. */
static bool is_used(const struct checker *checker, const VAPictureHEVC *entry, uint32_t flags)
{
    if (entry->flags & flags)
        return true;
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        const VAEncSliceParameterBufferHEVC *slice = &checker->picture.slices[i].parameters.hevc;
        for (unsigned k = 0; k < 15; k++)
            if ((!hevc_is_empty(&slice->ref_pic_list0[k]) &&
                 slice->ref_pic_list0[k].picture_id == entry->picture_id) ||
                (!hevc_is_empty(&slice->ref_pic_list1[k]) && slice->ref_pic_list1[k].picture_id == entry->picture_id))
                return true;
    }
    return false;
}

/* 7.3.7: the set of the short-term pictures that reference_frames lists, nearest first; those that are not listed
 * are gone. Pictures of the same distance, or too many, make a header that cannot be read. */
static void set_short_term(const struct checker *checker, struct hevc_short_term_rps *set)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    int64_t current = picture->decoded_curr_pic.pic_order_cnt;
    for (unsigned after = 0; after < 2; after++) {
        uint32_t *count = after ? &set->num_positive_pics : &set->num_negative_pics;
        uint32_t *deltas = after ? set->delta_poc_s1_minus1 : set->delta_poc_s0_minus1;
        uint32_t *used = after ? set->used_by_curr_pic_s1_flag : set->used_by_curr_pic_s0_flag;
        for (int64_t last = 0, next; *count < HEVC_MAXIMUM_REFERENCES; last = next) {
            const VAPictureHEVC *nearest = NULL;
            next = INT64_MAX;
            for (unsigned i = 0; i < 15; i++) {
                const VAPictureHEVC *entry = &picture->reference_frames[i];
                int64_t distance = after ? entry->pic_order_cnt - current : current - entry->pic_order_cnt;
                if (hevc_is_empty(entry) || entry->flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE || distance <= last ||
                    distance >= next)
                    continue;
                nearest = entry;
                next = distance;
            }
            if (!nearest)
                break;
            deltas[*count] = (uint32_t)(next - last - 1);
            used[(*count)++] =
                is_used(checker, nearest, VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE | VA_PICTURE_HEVC_RPS_ST_CURR_AFTER);
        }
    }
}

static void set_long_term(const struct checker *checker, struct hevc_slice_header *header)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    uint32_t bits = checker->picture.sps.hevc.log2_max_pic_order_cnt_lsb_minus4 + 4;
    for (unsigned i = 0; i < 15; i++) {
        const VAPictureHEVC *entry = &picture->reference_frames[i];
        if (hevc_is_empty(entry) || !(entry->flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE))
            continue;
        header->long_term[header->num_long_term_pics++] = (struct hevc_long_term){
            .poc_lsb_lt = (uint32_t)entry->pic_order_cnt & ((1u << bits) - 1),
            .used_by_curr_pic_lt_flag = is_used(checker, entry, VA_PICTURE_HEVC_RPS_LT_CURR),
        };
    }
}

/* Number of active references, by the slice where it overrides, else by the picture. */
static void set_reference_counts(const struct checker *checker, const VAEncSliceParameterBufferHEVC *slice,
                                 struct hevc_slice_header *header)
{
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    uint32_t lists = slice->slice_type == HEVC_SLICE_B ? 2 : slice->slice_type == HEVC_SLICE_P ? 1 : 0;
    bool overrides = slice->slice_fields.bits.num_ref_idx_active_override_flag;
    uint32_t defaults[2] = {pps->num_ref_idx_l0_default_active_minus1, pps->num_ref_idx_l1_default_active_minus1};
    uint32_t given[2] = {slice->num_ref_idx_l0_active_minus1, slice->num_ref_idx_l1_active_minus1};
    header->num_ref_idx_active_override_flag = lists && overrides;
    for (uint32_t list = 0; list < lists; list++)
        header->num_ref_idx_active_minus1[list] = overrides ? given[list] : defaults[list];
}

/* list_entry where the application's lists are not the initial ones. A list with a picture that is not in the DPB
 * cannot be stated: the references' check finds it. */
static void set_modifications(const struct checker *checker, const VAEncSliceParameterBufferHEVC *slice,
                              struct hevc_slice_header *header)
{
    const VAPictureHEVC *lists[2] = {slice->ref_pic_list0, slice->ref_pic_list1};
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    struct hevc_dpb dpb = checker->dpb.hevc;
    struct hevc_reference_set set;
    char reason[CHECKS_REASON_SIZE];
    hevc_dpb_begin(&dpb, sps, header, hevc_dpb_order_count(&dpb, sps, header), &set, NULL, reason, sizeof reason);
    uint32_t used = header->slice_type == HEVC_SLICE_B ? 2 : header->slice_type == HEVC_SLICE_P ? 1 : 0;
    for (uint32_t list = 0; list < used; list++) {
        struct hevc_reference_list wanted = {.count = header->num_ref_idx_active_minus1[list] + 1};
        for (uint32_t i = 0; i < wanted.count && i < 15; i++) {
            wanted.entries[i] = -1;
            for (uint32_t k = 0; k < dpb.count; k++)
                if (dpb.pictures[k].surface == lists[list][i].picture_id && dpb.pictures[k].marking != HEVC_UNUSED)
                    wanted.entries[i] = (int32_t)k;
        }
        if (wanted.count <= 15)
            hevc_dpb_express_list(header, &set, &wanted, list,
                                  checker->picture.pps.hevc.lists_modification_present_flag);
    }
}

/* collocated_ref_idx: where the picture that collocated_ref_pic_index names is in the list. */
static void set_collocated(const struct checker *checker, const VAEncSliceParameterBufferHEVC *slice,
                           struct hevc_slice_header *header)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    bool first = header->slice_type == HEVC_SLICE_P || slice->slice_fields.bits.collocated_from_l0_flag;
    const VAPictureHEVC *list = first ? slice->ref_pic_list0 : slice->ref_pic_list1;
    header->collocated_from_l0_flag = first;
    if (picture->collocated_ref_pic_index >= 15)
        return;
    VASurfaceID wanted = picture->reference_frames[picture->collocated_ref_pic_index].picture_id;
    for (uint32_t i = header->num_ref_idx_active_minus1[first ? 0 : 1] + 1; i-- > 0;)
        if (i < 15 && list[i].picture_id == wanted)
            header->collocated_ref_idx = i;
}

static void set_weights(const VAEncSliceParameterBufferHEVC *slice, struct hevc_slice_header *header)
{
    header->luma_log2_weight_denom = slice->luma_log2_weight_denom;
    header->delta_chroma_log2_weight_denom = slice->delta_chroma_log2_weight_denom;
    for (unsigned i = 0; i < 15; i++) {
        header->weight[0][i].delta_luma_weight = slice->delta_luma_weight_l0[i];
        header->weight[0][i].luma_offset = slice->luma_offset_l0[i];
        header->weight[0][i].luma_weight_flag = slice->delta_luma_weight_l0[i] || slice->luma_offset_l0[i];
        header->weight[1][i].delta_luma_weight = slice->delta_luma_weight_l1[i];
        header->weight[1][i].luma_offset = slice->luma_offset_l1[i];
        header->weight[1][i].luma_weight_flag = slice->delta_luma_weight_l1[i] || slice->luma_offset_l1[i];
    }
}

bool hevc_make_slice_header(struct checker *checker, uint32_t index, struct hevc_slice_header *header)
{
    struct understood_picture *understood = &checker->picture;
    const VAEncSliceParameterBufferHEVC *slice = &understood->slices[index].parameters.hevc;
    const VAEncPictureParameterBufferHEVC *picture = &understood->picture.hevc;
    const struct hevc_slice_header *previous = index ? &understood->slices[index - 1].header.hevc : NULL;
    struct bits *nal = &understood->slices[index].nal;
    uint32_t bits = understood->sps.hevc.log2_max_pic_order_cnt_lsb_minus4 + 4;
    struct syntax_error error;
    struct hevc_slice_header made = {
        .nal = {picture->nal_unit_type & 63u, 0, 1},
        .first_slice_segment_in_pic_flag = slice->slice_segment_address == 0,
        .no_output_of_prior_pics_flag = picture->pic_fields.bits.no_output_of_prior_pics_flag,
        .slice_pic_parameter_set_id = understood->pps.hevc.pps_pic_parameter_set_id,
        .dependent_slice_segment_flag = slice->slice_fields.bits.dependent_slice_segment_flag,
        .slice_segment_address = codable(slice->slice_segment_address),
        .slice_type = slice->slice_type,
        .pic_output_flag = 1,
        .slice_pic_order_cnt_lsb = (uint32_t)picture->decoded_curr_pic.pic_order_cnt & ((1u << bits) - 1),
        .slice_temporal_mvp_enabled_flag = slice->slice_fields.bits.slice_temporal_mvp_enabled_flag,
        .slice_sao_luma_flag = slice->slice_fields.bits.slice_sao_luma_flag,
        .slice_sao_chroma_flag = slice->slice_fields.bits.slice_sao_chroma_flag,
        .mvd_l1_zero_flag = slice->slice_fields.bits.mvd_l1_zero_flag,
        .cabac_init_flag = slice->slice_fields.bits.cabac_init_flag,
        .collocated_from_l0_flag = 1,
        .five_minus_max_num_merge_cand = 5u - slice->max_num_merge_cand,
        .slice_qp_delta = slice->slice_qp_delta,
        .slice_cb_qp_offset = slice->slice_cb_qp_offset,
        .slice_cr_qp_offset = slice->slice_cr_qp_offset,
        .slice_deblocking_filter_disabled_flag = slice->slice_fields.bits.slice_deblocking_filter_disabled_flag & 1,
        .slice_beta_offset_div2 = slice->slice_beta_offset_div2,
        .slice_tc_offset_div2 = slice->slice_tc_offset_div2,
        .slice_loop_filter_across_slices_enabled_flag =
            slice->slice_fields.bits.slice_loop_filter_across_slices_enabled_flag,
    };
    made.deblocking_filter_override_flag = made.slice_deblocking_filter_disabled_flag ||
                                           made.slice_beta_offset_div2 || made.slice_tc_offset_div2;
    set_short_term(checker, &made.short_term_ref_pic_set);
    set_long_term(checker, &made);
    set_reference_counts(checker, slice, &made);
    set_weights(slice, &made);
    set_collocated(checker, slice, &made);
    if (made.slice_type <= HEVC_SLICE_I && !made.dependent_slice_segment_flag)
        set_modifications(checker, slice, &made);
    nal->count = 0;
    hevc_write_slice_header(nal, &made, &understood->sps.hevc, &understood->pps.hevc);
    if (nal->failed) {
        refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
        return false;
    }
    if (!hevc_read_slice_header(header, &understood->sps.hevc, &understood->pps.hevc, previous, nal->bytes, nal->count,
                                NULL, NULL, &error)) {
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the parameters of slice %u make no header: %s %s",
                       index, error.element, error.reason);
        return false;
    }
    return true;
}
