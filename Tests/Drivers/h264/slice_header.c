/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slice headers of NAL unit types 1 and 5. */
#include "visitor.h"

/* A slice header with the parameter sets that it is coded by. */
struct slice {
    struct h264_slice_header *header;
    const struct h264_sps *sps;
    const struct h264_pps *pps;
    uint32_t type; /* slice_type modulo 5 */
    bool idr;
};

/* H.264 7.4.3: as the slice's macroblocks are counted, frames or fields. */
static uint32_t first_mb_maximum(const struct h264_sps *sps)
{
    return (sps->pic_width_in_mbs_minus1 + 1) * (sps->pic_height_in_map_units_minus1 + 1) *
               (2 - sps->frame_mbs_only_flag) - 1;
}

/* H.264 7.3.3, picture order count */
static void picture_order_count(struct syntax *s, const struct slice *slice)
{
    struct h264_slice_header *v = slice->header;
    bool both_fields = slice->pps->bottom_field_pic_order_in_frame_present_flag && !v->field_pic_flag;
    if (slice->sps->pic_order_cnt_type == 0) {
        u(s, "pic_order_cnt_lsb", &v->pic_order_cnt_lsb, slice->sps->log2_max_pic_order_cnt_lsb_minus4 + 4);
        if (both_fields)
            se(s, "delta_pic_order_cnt_bottom", &v->delta_pic_order_cnt_bottom, -INT32_MAX, INT32_MAX);
    } else if (slice->sps->pic_order_cnt_type == 1 && !slice->sps->delta_pic_order_always_zero_flag) {
        se(s, "delta_pic_order_cnt[0]", &v->delta_pic_order_cnt[0], -INT32_MAX, INT32_MAX);
        if (both_fields)
            se(s, "delta_pic_order_cnt[1]", &v->delta_pic_order_cnt[1], -INT32_MAX, INT32_MAX);
    }
}

/* H.264 7.3.3, num_ref_idx_active_override_flag and what depends on it */
static void reference_counts(struct syntax *s, const struct slice *slice)
{
    struct h264_slice_header *v = slice->header;
    uint32_t maximum = v->field_pic_flag ? 31 : 15;
    if (!s->out) {
        v->num_ref_idx_active_minus1[0] = slice->pps->num_ref_idx_l0_default_active_minus1;
        v->num_ref_idx_active_minus1[1] = slice->pps->num_ref_idx_l1_default_active_minus1;
    }
    if (slice->type == H264_SLICE_I)
        return;
    u(s, "num_ref_idx_active_override_flag", &v->num_ref_idx_active_override_flag, 1);
    if (v->num_ref_idx_active_override_flag) {
        ue(s, "num_ref_idx_l0_active_minus1", &v->num_ref_idx_active_minus1[0], maximum);
        if (slice->type == H264_SLICE_B)
            ue(s, "num_ref_idx_l1_active_minus1", &v->num_ref_idx_active_minus1[1], maximum);
    }
    for (unsigned list = 0; list < (slice->type == H264_SLICE_B ? 2u : 1u); list++)
        if (!s->out && v->num_ref_idx_active_minus1[list] > maximum)
            refuse(s, "num_ref_idx_active_override_flag", "is 0, but the PPS's default for list %u is %u, above %u",
                   list, v->num_ref_idx_active_minus1[list], maximum);
}

/* H.264 7.3.3.1, one list; 7.4.3.1 for how many operations there may be */
static void list_modification(struct syntax *s, const struct slice *slice, unsigned list)
{
    struct h264_slice_header *v = slice->header;
    uint32_t maximum_picture = (2u << (slice->sps->log2_max_frame_num_minus4 + 4)) - 1;
    u(s, indexed(s, "ref_pic_list_modification_flag_l%u", list), &v->ref_pic_list_modification_flag[list], 1);
    if (!v->ref_pic_list_modification_flag[list])
        return;
    for (unsigned i = 0; i < H264_MAXIMUM_OPERATIONS && !s->failed; i++) {
        struct h264_reference_modification *entry = &v->modification[list][i];
        bool full = i > v->num_ref_idx_active_minus1[list];
        ue_in(s, indexed(s, "modification[%u][%u].modification_of_pic_nums_idc", list, i),
              &entry->modification_of_pic_nums_idc, full ? 3 : 0, i == 0 ? 2 : 3);
        if (entry->modification_of_pic_nums_idc == 3)
            return;
        if (entry->modification_of_pic_nums_idc == 2)
            ue(s, indexed(s, "modification[%u][%u].long_term_pic_num", list, i), &entry->value, 31);
        else
            ue(s, indexed(s, "modification[%u][%u].abs_diff_pic_num_minus1", list, i), &entry->value,
               v->field_pic_flag ? maximum_picture : maximum_picture / 2);
    }
}

/* H.264 7.3.3.2, one entry of one list */
static void weight(struct syntax *s, const struct slice *slice, unsigned list, unsigned i)
{
    const struct h264_slice_header *header = slice->header;
    struct h264_weight *v = &slice->header->weight[list][i];
    u(s, indexed(s, "weight[%u][%u].luma_weight_flag", list, i), &v->luma_weight_flag, 1);
    if (v->luma_weight_flag) {
        se(s, indexed(s, "weight[%u][%u].luma_weight", list, i), &v->luma_weight, -128, 127);
        se(s, indexed(s, "weight[%u][%u].luma_offset", list, i), &v->luma_offset, -128, 127);
    } else if (!s->out) {
        v->luma_weight = 1 << header->luma_log2_weight_denom;
    }
    if (slice->sps->chroma_format_idc != 0 && !slice->sps->separate_colour_plane_flag)
        u(s, indexed(s, "weight[%u][%u].chroma_weight_flag", list, i), &v->chroma_weight_flag, 1);
    for (unsigned plane = 0; plane < 2; plane++) {
        if (v->chroma_weight_flag) {
            se(s, indexed(s, "weight[%u][%u].chroma_weight[%u]", list, i, plane), &v->chroma_weight[plane], -128, 127);
            se(s, indexed(s, "weight[%u][%u].chroma_offset[%u]", list, i, plane), &v->chroma_offset[plane], -128, 127);
        } else if (!s->out) {
            v->chroma_weight[plane] = 1 << header->chroma_log2_weight_denom;
        }
    }
}

/* H.264 7.3.3.2 */
static void weight_table(struct syntax *s, const struct slice *slice)
{
    struct h264_slice_header *v = slice->header;
    ue(s, "luma_log2_weight_denom", &v->luma_log2_weight_denom, 7);
    if (slice->sps->chroma_format_idc != 0 && !slice->sps->separate_colour_plane_flag)
        ue(s, "chroma_log2_weight_denom", &v->chroma_log2_weight_denom, 7);
    for (unsigned list = 0; list < (slice->type == H264_SLICE_B ? 2u : 1u); list++)
        for (unsigned i = 0; i <= v->num_ref_idx_active_minus1[list] && !s->failed; i++)
            weight(s, slice, list, i);
}

/* H.264 7.3.3.3, one operation */
static void memory_management(struct syntax *s, struct h264_memory_management *v, unsigned i)
{
    uint32_t operation = v->memory_management_control_operation;
    if (operation == 1 || operation == 3)
        ue(s, indexed(s, "marking[%u].difference_of_pic_nums_minus1", i), &v->difference_of_pic_nums_minus1, 131071);
    if (operation == 2)
        ue(s, indexed(s, "marking[%u].long_term_pic_num", i), &v->long_term_pic_num, 31);
    if (operation == 3 || operation == 6)
        ue(s, indexed(s, "marking[%u].long_term_frame_idx", i), &v->long_term_frame_idx, 15);
    if (operation == 4)
        ue(s, indexed(s, "marking[%u].max_long_term_frame_idx_plus1", i), &v->max_long_term_frame_idx_plus1, 16);
}

/* H.264 7.3.3.3 */
static void reference_marking(struct syntax *s, const struct slice *slice)
{
    struct h264_slice_header *v = slice->header;
    if (slice->idr) {
        u(s, "no_output_of_prior_pics_flag", &v->no_output_of_prior_pics_flag, 1);
        u(s, "long_term_reference_flag", &v->long_term_reference_flag, 1);
        return;
    }
    u(s, "adaptive_ref_pic_marking_mode_flag", &v->adaptive_ref_pic_marking_mode_flag, 1);
    if (!v->adaptive_ref_pic_marking_mode_flag)
        return;
    for (unsigned i = 0; i < H264_MAXIMUM_OPERATIONS && !s->failed; i++) {
        bool full = i == H264_MAXIMUM_OPERATIONS - 1;
        ue(s, indexed(s, "marking[%u].memory_management_control_operation", i),
           &v->marking[i].memory_management_control_operation, full ? 0 : 6);
        if (v->marking[i].memory_management_control_operation == 0)
            return;
        memory_management(s, &v->marking[i], i);
    }
}

/* H.264 7.3.3, first_mb_in_slice to redundant_pic_cnt */
static void slice_place(struct syntax *s, struct slice *slice)
{
    struct h264_slice_header *v = slice->header;
    ue(s, "first_mb_in_slice", &v->first_mb_in_slice, first_mb_maximum(slice->sps));
    ue(s, "slice_type", &v->slice_type, 9);
    slice->type = v->slice_type % 5;
    if (slice->type > H264_SLICE_I)
        refuse(s, "slice_type", "is %u, but SP and SI slices belong to Extended profile", v->slice_type);
    if (slice->idr && slice->type != H264_SLICE_I)
        refuse(s, "slice_type", "is %u, but an IDR picture has I slices only (7.4.3)", v->slice_type);
    ue(s, "pic_parameter_set_id", &v->pic_parameter_set_id, 255);
    if (slice->sps->separate_colour_plane_flag)
        u_in(s, "colour_plane_id", &v->colour_plane_id, 2, 0, 2);
    u(s, "frame_num", &v->frame_num, slice->sps->log2_max_frame_num_minus4 + 4);
    if (!slice->sps->frame_mbs_only_flag) {
        u(s, "field_pic_flag", &v->field_pic_flag, 1);
        if (v->field_pic_flag)
            u(s, "bottom_field_flag", &v->bottom_field_flag, 1);
    }
    if (slice->idr)
        ue(s, "idr_pic_id", &v->idr_pic_id, 65535);
    picture_order_count(s, slice);
    if (slice->pps->redundant_pic_cnt_present_flag)
        ue(s, "redundant_pic_cnt", &v->redundant_pic_cnt, 127);
}

/* H.264 7.3.3 */
static void slice_header(struct syntax *s, struct slice *slice)
{
    struct h264_slice_header *v = slice->header;
    slice_place(s, slice);
    if (slice->type == H264_SLICE_B)
        u(s, "direct_spatial_mv_pred_flag", &v->direct_spatial_mv_pred_flag, 1);
    reference_counts(s, slice);
    if (slice->type != H264_SLICE_I)
        list_modification(s, slice, 0);
    if (slice->type == H264_SLICE_B)
        list_modification(s, slice, 1);
    if ((slice->pps->weighted_pred_flag && slice->type == H264_SLICE_P) ||
        (slice->pps->weighted_bipred_idc == 1 && slice->type == H264_SLICE_B))
        weight_table(s, slice);
    if (v->nal_ref_idc != 0)
        reference_marking(s, slice);
    if (slice->pps->entropy_coding_mode_flag && slice->type != H264_SLICE_I)
        ue(s, "cabac_init_idc", &v->cabac_init_idc, 2);
    se(s, "slice_qp_delta", &v->slice_qp_delta, -26 - slice->pps->pic_init_qp_minus26,
       25 - slice->pps->pic_init_qp_minus26);
    if (slice->pps->deblocking_filter_control_present_flag) {
        ue(s, "disable_deblocking_filter_idc", &v->disable_deblocking_filter_idc, 2);
        if (v->disable_deblocking_filter_idc != 1) {
            se(s, "slice_alpha_c0_offset_div2", &v->slice_alpha_c0_offset_div2, -6, 6);
            se(s, "slice_beta_offset_div2", &v->slice_beta_offset_div2, -6, 6);
        }
    }
}

/* The NAL unit header, then the slice header. */
static void slice_nal_unit(struct syntax *s, struct h264_slice_header *header, const struct h264_sps *sps,
                           const struct h264_pps *pps)
{
    struct slice slice = {.header = header, .sps = sps, .pps = pps};
    h264_nal_unit_header(s, &header->nal_ref_idc, &header->nal_unit_type);
    if (header->nal_unit_type != H264_NAL_SLICE && header->nal_unit_type != H264_NAL_IDR_SLICE)
        refuse(s, "nal_unit_type", "is %u, expected 1 or 5", header->nal_unit_type);
    slice.idr = header->nal_unit_type == H264_NAL_IDR_SLICE;
    slice_header(s, &slice);
}

bool h264_read_slice_header(struct h264_slice_header *header, const struct h264_sps *sps, const struct h264_pps *pps,
                            const uint8_t *nal, size_t bit_count, size_t *end, const struct syntax_options *options,
                            struct syntax_error *error)
{
    struct syntax s = syntax_reader(nal, bit_count, options, error);
    *header = (struct h264_slice_header){0};
    slice_nal_unit(&s, header, sps, pps);
    if (end)
        *end = s.position;
    return !s.failed;
}

bool h264_read_slice_pps_id(const uint8_t *nal, size_t bit_count, uint32_t *pic_parameter_set_id)
{
    struct syntax s = syntax_reader(nal, bit_count, NULL, NULL);
    uint32_t nal_ref_idc, nal_unit_type, first_mb_in_slice, slice_type;
    h264_nal_unit_header(&s, &nal_ref_idc, &nal_unit_type);
    ue(&s, "first_mb_in_slice", &first_mb_in_slice, UINT32_MAX);
    ue(&s, "slice_type", &slice_type, 9);
    ue(&s, "pic_parameter_set_id", pic_parameter_set_id, 255);
    return !s.failed;
}

void h264_write_slice_header(struct bits *bits, const struct h264_slice_header *header, const struct h264_sps *sps,
                             const struct h264_pps *pps)
{
    struct syntax s = syntax_writer(bits);
    struct h264_slice_header copy = *header;
    slice_nal_unit(&s, &copy, sps, pps);
}
