/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slice segment headers. */
#include "visitor.h"

/* A slice segment header with the parameter sets that it is coded by. */
struct segment {
    struct hevc_slice_header *header;
    const struct hevc_sps *sps;
    const struct hevc_pps *pps;
};

/* ChromaArrayType is not 0 (7.4.3.2.1). */
static bool has_chroma(const struct hevc_sps *sps)
{
    return sps->chroma_format_idc != 0 && !sps->separate_colour_plane_flag;
}

/* 7.3.6.1, one long-term picture */
static void long_term_picture(struct syntax *s, const struct segment *segment, unsigned i)
{
    const struct hevc_sps *sps = segment->sps;
    struct hevc_long_term *v = &segment->header->long_term[i];
    if (i < segment->header->num_long_term_sps) {
        if (sps->num_long_term_ref_pics_sps > 1)
            u_in(s, indexed(s, "lt_idx_sps[%u]", i), &v->lt_idx_sps, bits_for(sps->num_long_term_ref_pics_sps), 0,
                 sps->num_long_term_ref_pics_sps - 1);
    } else {
        u(s, indexed(s, "poc_lsb_lt[%u]", i), &v->poc_lsb_lt, sps->log2_max_pic_order_cnt_lsb_minus4 + 4);
        u(s, indexed(s, "used_by_curr_pic_lt_flag[%u]", i), &v->used_by_curr_pic_lt_flag, 1);
    }
    u(s, indexed(s, "delta_poc_msb_present_flag[%u]", i), &v->delta_poc_msb_present_flag, 1);
    if (v->delta_poc_msb_present_flag)
        ue(s, indexed(s, "delta_poc_msb_cycle_lt[%u]", i), &v->delta_poc_msb_cycle_lt, UINT32_MAX - 1);
}

/* 7.3.6.1, order count and reference picture set of a picture that is not IDR */
static void references(struct syntax *s, const struct segment *segment)
{
    struct hevc_slice_header *v = segment->header;
    const struct hevc_sps *sps = segment->sps;
    u(s, "slice_pic_order_cnt_lsb", &v->slice_pic_order_cnt_lsb, sps->log2_max_pic_order_cnt_lsb_minus4 + 4);
    u(s, "short_term_ref_pic_set_sps_flag", &v->short_term_ref_pic_set_sps_flag, 1);
    if (!v->short_term_ref_pic_set_sps_flag) {
        s->scope = "short_term_ref_pic_set.";
        hevc_short_term_ref_pic_set(s, sps, &v->short_term_ref_pic_set, sps->num_short_term_ref_pic_sets);
        s->scope = "";
    } else if (sps->num_short_term_ref_pic_sets == 0) {
        refuse(s, "short_term_ref_pic_set_sps_flag", "is 1, but the SPS has no sets");
    } else if (sps->num_short_term_ref_pic_sets > 1) {
        u_in(s, "short_term_ref_pic_set_idx", &v->short_term_ref_pic_set_idx,
             bits_for(sps->num_short_term_ref_pic_sets), 0, sps->num_short_term_ref_pic_sets - 1);
    }
    if (sps->long_term_ref_pics_present_flag) {
        if (sps->num_long_term_ref_pics_sps > 0)
            ue(s, "num_long_term_sps", &v->num_long_term_sps, sps->num_long_term_ref_pics_sps);
        ue(s, "num_long_term_pics", &v->num_long_term_pics, HEVC_MAXIMUM_LONG_TERM - v->num_long_term_sps);
        for (unsigned i = 0; i < v->num_long_term_sps + v->num_long_term_pics && !s->failed; i++)
            long_term_picture(s, segment, i);
    }
    if (sps->sps_temporal_mvp_enabled_flag)
        u(s, "slice_temporal_mvp_enabled_flag", &v->slice_temporal_mvp_enabled_flag, 1);
}

/* 7.3.6.2, one list */
static void list_modification(struct syntax *s, struct hevc_slice_header *v, unsigned list, uint32_t total)
{
    u(s, indexed(s, "ref_pic_list_modification_flag_l%u", list), &v->ref_pic_list_modification_flag[list], 1);
    if (!v->ref_pic_list_modification_flag[list])
        return;
    for (unsigned i = 0; i <= v->num_ref_idx_active_minus1[list] && i < HEVC_MAXIMUM_REFERENCES && !s->failed; i++)
        u_in(s, indexed(s, "list_entry_l%u[%u]", list, i), &v->list_entry[list][i], bits_for(total), 0, total - 1);
}

/* 7.3.6.3, one list */
static void list_weights(struct syntax *s, const struct segment *segment, unsigned list)
{
    struct hevc_slice_header *v = segment->header;
    unsigned count = v->num_ref_idx_active_minus1[list] + 1;
    int32_t half_range = 128; /* WpOffsetHalfRangeC, without high_precision_offsets_enabled_flag */
    for (unsigned i = 0; i < count && !s->failed; i++)
        u(s, indexed(s, "luma_weight_l%u_flag[%u]", list, i), &v->weight[list][i].luma_weight_flag, 1);
    for (unsigned i = 0; i < count && has_chroma(segment->sps) && !s->failed; i++)
        u(s, indexed(s, "chroma_weight_l%u_flag[%u]", list, i), &v->weight[list][i].chroma_weight_flag, 1);
    for (unsigned i = 0; i < count && !s->failed; i++) {
        struct hevc_weight *weight = &v->weight[list][i];
        if (weight->luma_weight_flag) {
            se(s, indexed(s, "delta_luma_weight_l%u[%u]", list, i), &weight->delta_luma_weight, -128, 127);
            se(s, indexed(s, "luma_offset_l%u[%u]", list, i), &weight->luma_offset, -128, 127);
        }
        for (unsigned plane = 0; plane < 2 && weight->chroma_weight_flag; plane++) {
            se(s, indexed(s, "delta_chroma_weight_l%u[%u][%u]", list, i, plane), &weight->delta_chroma_weight[plane],
               -128, 127);
            se(s, indexed(s, "delta_chroma_offset_l%u[%u][%u]", list, i, plane), &weight->delta_chroma_offset[plane],
               -4 * half_range, 4 * half_range - 1);
        }
    }
}

/* 7.3.6.3 */
static void weight_table(struct syntax *s, const struct segment *segment)
{
    struct hevc_slice_header *v = segment->header;
    ue(s, "luma_log2_weight_denom", &v->luma_log2_weight_denom, 7);
    if (has_chroma(segment->sps))
        se(s, "delta_chroma_log2_weight_denom", &v->delta_chroma_log2_weight_denom, -(int32_t)v->luma_log2_weight_denom,
           7 - (int32_t)v->luma_log2_weight_denom);
    list_weights(s, segment, 0);
    if (v->slice_type == HEVC_SLICE_B)
        list_weights(s, segment, 1);
}

/* 7.3.6.1, where the co-located picture is */
static void collocated(struct syntax *s, struct hevc_slice_header *v)
{
    if (v->slice_type == HEVC_SLICE_B)
        u(s, "collocated_from_l0_flag", &v->collocated_from_l0_flag, 1);
    uint32_t last = v->num_ref_idx_active_minus1[v->slice_type == HEVC_SLICE_B && !v->collocated_from_l0_flag];
    if (last > 0)
        ue(s, "collocated_ref_idx", &v->collocated_ref_idx, last);
}

/* 7.3.6.1, what P and B slices state */
static void prediction(struct syntax *s, const struct segment *segment)
{
    struct hevc_slice_header *v = segment->header;
    const struct hevc_pps *pps = segment->pps;
    bool b = v->slice_type == HEVC_SLICE_B;
    u(s, "num_ref_idx_active_override_flag", &v->num_ref_idx_active_override_flag, 1);
    if (v->num_ref_idx_active_override_flag) {
        ue(s, "num_ref_idx_l0_active_minus1", &v->num_ref_idx_active_minus1[0], 14);
        if (b)
            ue(s, "num_ref_idx_l1_active_minus1", &v->num_ref_idx_active_minus1[1], 14);
    }
    uint32_t total = hevc_total_references(segment->sps, v);
    if (!s->out && total == 0)
        refuse(s, "slice_type", "is %u, but the reference picture set has nothing to refer to", v->slice_type);
    if (pps->lists_modification_present_flag && total > 1) {
        list_modification(s, v, 0, total);
        if (b)
            list_modification(s, v, 1, total);
    }
    if (b)
        u(s, "mvd_l1_zero_flag", &v->mvd_l1_zero_flag, 1);
    if (pps->cabac_init_present_flag)
        u(s, "cabac_init_flag", &v->cabac_init_flag, 1);
    if (v->slice_temporal_mvp_enabled_flag)
        collocated(s, v);
    if ((pps->weighted_pred_flag && !b) || (pps->weighted_bipred_flag && b))
        weight_table(s, segment);
    ue(s, "five_minus_max_num_merge_cand", &v->five_minus_max_num_merge_cand, 4);
}

/* 7.3.6.1, quantisation and loop filters */
static void quantisation_and_filters(struct syntax *s, const struct segment *segment)
{
    struct hevc_slice_header *v = segment->header;
    const struct hevc_pps *pps = segment->pps;
    /* SliceQpY is within -QpBdOffsetY to 51. */
    int32_t least = -6 * (int32_t)segment->sps->bit_depth_luma_minus8;
    se(s, "slice_qp_delta", &v->slice_qp_delta, least - 26 - pps->init_qp_minus26, 25 - pps->init_qp_minus26);
    if (pps->pps_slice_chroma_qp_offsets_present_flag) {
        se(s, "slice_cb_qp_offset", &v->slice_cb_qp_offset, -12, 12);
        se(s, "slice_cr_qp_offset", &v->slice_cr_qp_offset, -12, 12);
    }
    if (pps->deblocking_filter_override_enabled_flag)
        u(s, "deblocking_filter_override_flag", &v->deblocking_filter_override_flag, 1);
    if (!pps->deblocking_filter_override_enabled_flag || !v->deblocking_filter_override_flag) {
        v->slice_deblocking_filter_disabled_flag = pps->pps_deblocking_filter_disabled_flag;
        v->slice_beta_offset_div2 = pps->pps_beta_offset_div2;
        v->slice_tc_offset_div2 = pps->pps_tc_offset_div2;
    } else {
        u(s, "slice_deblocking_filter_disabled_flag", &v->slice_deblocking_filter_disabled_flag, 1);
        if (!v->slice_deblocking_filter_disabled_flag) {
            se(s, "slice_beta_offset_div2", &v->slice_beta_offset_div2, -6, 6);
            se(s, "slice_tc_offset_div2", &v->slice_tc_offset_div2, -6, 6);
        }
    }
    bool filtered = v->slice_sao_luma_flag || v->slice_sao_chroma_flag || !v->slice_deblocking_filter_disabled_flag;
    if (!s->out && !(pps->pps_loop_filter_across_slices_enabled_flag && filtered))
        v->slice_loop_filter_across_slices_enabled_flag = pps->pps_loop_filter_across_slices_enabled_flag;
    if (pps->pps_loop_filter_across_slices_enabled_flag && filtered)
        u(s, "slice_loop_filter_across_slices_enabled_flag", &v->slice_loop_filter_across_slices_enabled_flag, 1);
}

/* 7.3.6.1, what dependent slice segments take from the one before */
static void independent(struct syntax *s, const struct segment *segment)
{
    struct hevc_slice_header *v = segment->header;
    const struct hevc_sps *sps = segment->sps;
    const struct hevc_pps *pps = segment->pps;
    bool irap = hevc_is_irap(v->nal.nal_unit_type);
    if (!s->out) {
        v->pic_output_flag = 1;
        v->collocated_from_l0_flag = 1;
        v->num_ref_idx_active_minus1[0] = pps->num_ref_idx_l0_default_active_minus1;
        v->num_ref_idx_active_minus1[1] = pps->num_ref_idx_l1_default_active_minus1;
    }
    if (pps->num_extra_slice_header_bits)
        u(s, "slice_reserved_flags", &v->slice_reserved_flags, pps->num_extra_slice_header_bits);
    /* 7.4.7.1: the pictures of the base layer that start anew have I slices only. */
    ue_in(s, "slice_type", &v->slice_type, irap ? HEVC_SLICE_I : HEVC_SLICE_B, HEVC_SLICE_I);
    if (pps->output_flag_present_flag)
        u(s, "pic_output_flag", &v->pic_output_flag, 1);
    if (sps->separate_colour_plane_flag)
        u_in(s, "colour_plane_id", &v->colour_plane_id, 2, 0, 2);
    if (!hevc_is_idr(v->nal.nal_unit_type))
        references(s, segment);
    if (sps->sample_adaptive_offset_enabled_flag) {
        u(s, "slice_sao_luma_flag", &v->slice_sao_luma_flag, 1);
        if (has_chroma(sps))
            u(s, "slice_sao_chroma_flag", &v->slice_sao_chroma_flag, 1);
    }
    if (!s->failed && v->slice_type != HEVC_SLICE_I)
        prediction(s, segment);
    quantisation_and_filters(s, segment);
}

/* 7.3.6.1, where the segment's tiles or rows begin, and the extension */
static void entry_points(struct syntax *s, const struct segment *segment)
{
    struct hevc_slice_header *v = segment->header;
    const struct hevc_pps *pps = segment->pps;
    if (pps->tiles_enabled_flag || pps->entropy_coding_sync_enabled_flag) {
        ue(s, "num_entry_point_offsets", &v->num_entry_point_offsets, HEVC_MAXIMUM_ENTRY_POINTS);
        if (v->num_entry_point_offsets > 0)
            ue(s, "offset_len_minus1", &v->offset_len_minus1, 31);
        for (unsigned i = 0; i < v->num_entry_point_offsets && i < HEVC_MAXIMUM_ENTRY_POINTS && !s->failed; i++)
            u(s, indexed(s, "entry_point_offset_minus1[%u]", i), &v->entry_point_offset_minus1[i],
              v->offset_len_minus1 + 1);
    }
    if (!pps->slice_segment_header_extension_present_flag)
        return;
    uint32_t byte = 0;
    ue(s, "slice_segment_header_extension_length", &v->slice_segment_header_extension_length, 256);
    for (unsigned i = 0; i < v->slice_segment_header_extension_length && !s->failed; i++)
        u(s, indexed(s, "slice_segment_header_extension_data_byte[%u]", i), &byte, 8);
}

/* What a dependent slice segment states itself stays; all else comes from the segment before. */
static void inherit(struct hevc_slice_header *v, const struct hevc_slice_header *previous)
{
    struct hevc_slice_header own = *v;
    *v = *previous;
    v->nal = own.nal;
    v->first_slice_segment_in_pic_flag = own.first_slice_segment_in_pic_flag;
    v->no_output_of_prior_pics_flag = own.no_output_of_prior_pics_flag;
    v->slice_pic_parameter_set_id = own.slice_pic_parameter_set_id;
    v->dependent_slice_segment_flag = own.dependent_slice_segment_flag;
    v->slice_segment_address = own.slice_segment_address;
    v->num_entry_point_offsets = 0;
    v->slice_segment_header_extension_length = 0;
}

/* 7.3.6.1 with the NAL unit header */
static void slice_segment(struct syntax *s, const struct segment *segment, const struct hevc_slice_header *previous)
{
    struct hevc_slice_header *v = segment->header;
    uint32_t ctbs = hevc_width_in_ctbs(segment->sps) * hevc_height_in_ctbs(segment->sps);
    hevc_nal_unit_header(s, &v->nal);
    if (!hevc_is_slice(v->nal.nal_unit_type))
        refuse(s, "nal_unit_type", "is %u, which is no slice segment's", v->nal.nal_unit_type);
    u(s, "first_slice_segment_in_pic_flag", &v->first_slice_segment_in_pic_flag, 1);
    if (hevc_is_irap(v->nal.nal_unit_type))
        u(s, "no_output_of_prior_pics_flag", &v->no_output_of_prior_pics_flag, 1);
    ue(s, "slice_pic_parameter_set_id", &v->slice_pic_parameter_set_id, 63);
    if (!v->first_slice_segment_in_pic_flag) {
        if (segment->pps->dependent_slice_segments_enabled_flag)
            u(s, "dependent_slice_segment_flag", &v->dependent_slice_segment_flag, 1);
        if (ctbs < 2)
            refuse(s, "first_slice_segment_in_pic_flag", "is 0, but the picture has one coding tree block");
        else
            u_in(s, "slice_segment_address", &v->slice_segment_address, bits_for(ctbs), 1, ctbs - 1);
    }
    if (!v->dependent_slice_segment_flag)
        independent(s, segment);
    else if (!s->out && !s->failed && previous)
        inherit(v, previous);
    else if (!s->out && !previous)
        refuse(s, "dependent_slice_segment_flag", "is 1, but no slice segment came before");
    entry_points(s, segment);
}

bool hevc_read_slice_header(struct hevc_slice_header *header, const struct hevc_sps *sps, const struct hevc_pps *pps,
                            const struct hevc_slice_header *previous, const uint8_t *nal, size_t bit_count,
                            size_t *end, const struct syntax_options *options, struct syntax_error *error)
{
    struct syntax s = syntax_reader(nal, bit_count, options, error);
    struct hevc_slice_header value = {0}; /* `header` may be `previous` */
    slice_segment(&s, &(struct segment){.header = &value, .sps = sps, .pps = pps}, previous);
    *header = value;
    if (end)
        *end = s.position;
    return !s.failed;
}

bool hevc_read_slice_pps_id(const uint8_t *nal, size_t bit_count, uint32_t *slice_pic_parameter_set_id)
{
    struct syntax s = syntax_reader(nal, bit_count, NULL, NULL);
    struct hevc_nal_header header;
    uint32_t flag;
    hevc_nal_unit_header(&s, &header);
    u(&s, "first_slice_segment_in_pic_flag", &flag, 1);
    if (!s.failed && hevc_is_irap(header.nal_unit_type))
        u(&s, "no_output_of_prior_pics_flag", &flag, 1);
    ue(&s, "slice_pic_parameter_set_id", slice_pic_parameter_set_id, 63);
    return !s.failed;
}

void hevc_write_slice_header(struct bits *bits, const struct hevc_slice_header *header, const struct hevc_sps *sps,
                             const struct hevc_pps *pps)
{
    struct syntax s = syntax_writer(bits);
    struct hevc_slice_header copy = *header;
    slice_segment(&s, &(struct segment){.header = &copy, .sps = sps, .pps = pps}, NULL);
}
