/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slice parameters against the slice segment header in the stream, element by element, and against what the driver
 * advertises. */
#include "hevc_checks.h"

#define CLAUSE "va_enc_hevc.h VAEncSliceParameterBufferHEVC"

static void check_place(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferHEVC *slice = &checker->picture.slices[index].parameters.hevc;
    const struct hevc_slice_header *header = &checker->picture.slices[index].header.hevc;
    slice_expect(checker, index, "slice-address", CLAUSE ".slice_segment_address", slice->slice_segment_address,
                 header->slice_segment_address);
    slice_expect(checker, index, "slice-first-segment", "H.265 7.4.7.1 first_slice_segment_in_pic_flag",
                 header->first_slice_segment_in_pic_flag, index == 0);
    slice_expect(checker, index, "slice-pps-id", CLAUSE ".slice_pic_parameter_set_id",
                 slice->slice_pic_parameter_set_id, header->slice_pic_parameter_set_id);
    slice_expect(checker, index, "slice-dependent", CLAUSE ".dependent_slice_segment_flag",
                 slice->slice_fields.bits.dependent_slice_segment_flag, header->dependent_slice_segment_flag);
    slice_expect(checker, index, "slice-type", CLAUSE ".slice_type", slice->slice_type, header->slice_type);
    slice_expect(checker, index, "slice-output-flag", "H.265 7.4.7.1 pic_output_flag", header->pic_output_flag, 1);
}

/* How many references each list has: what the VA parameters say, the header says, and the driver advertises. */
static void check_reference_counts(struct checker *checker, uint32_t index)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    const VAEncSliceParameterBufferHEVC *slice = &checker->picture.slices[index].parameters.hevc;
    const struct hevc_slice_header *header = &checker->picture.slices[index].header.hevc;
    enum coded_type type = checker->picture.slices[index].type;
    const char *names[2] = {"slice-num-ref-idx-l0", "slice-num-ref-idx-l1"};
    const char *limits[2] = {"slice-references-l0-beyond-limit", "slice-references-l1-beyond-limit"};
    bool overrides = slice->slice_fields.bits.num_ref_idx_active_override_flag;
    uint32_t overriding[2] = {slice->num_ref_idx_l0_active_minus1, slice->num_ref_idx_l1_active_minus1};
    uint32_t defaults[2] = {picture->num_ref_idx_l0_default_active_minus1,
                            picture->num_ref_idx_l1_default_active_minus1};
    uint32_t lists = type == CODED_B ? 2 : type == CODED_P ? 1 : 0;
    if (lists)
        slice_expect(checker, index, "slice-num-ref-idx-override", CLAUSE ".num_ref_idx_active_override_flag",
                     overrides, header->num_ref_idx_active_override_flag);
    for (uint32_t list = 0; list < lists; list++) {
        uint32_t active = header->num_ref_idx_active_minus1[list];
        uint32_t most = checker->config.limits.maximum_references[list];
        slice_expect(checker, index, names[list], CLAUSE ".num_ref_idx_lX_active_minus1",
                     overrides ? overriding[list] : defaults[list], active);
        /* "if this flag is set to 0, num_ref_idx_l0_active_minus1 should be equal to ..._default_active_minus1" */
        if (!overrides && overriding[list] != defaults[list])
            slice_finding(checker, index, "slice-num-ref-idx-without-override",
                          CLAUSE ".num_ref_idx_active_override_flag", "list %u: given %u, the picture has %u", list,
                          overriding[list], defaults[list]);
        if (most && active + 1 > most)
            slice_finding(checker, index, limits[list], "va.h VAConfigAttribEncMaxRefFrames",
                          "%u references, allowed are %u", active + 1, most);
    }
}

/* Directions of prediction. Where both lists must have pictures, there are no P slices: such a driver codes B slices
 * whose lists have pictures of the past only. */
static void check_directions(struct checker *checker, uint32_t index)
{
    const struct understood_slice *slice = &checker->picture.slices[index];
    const struct persona_limits *limits = &checker->config.limits;
    const char *clause = "va.h VAConfigAttribPredictionDirection";
    if (slice->type == CODED_P && limits->prediction_directions & VA_PREDICTION_DIRECTION_BI_NOT_EMPTY)
        slice_finding(checker, index, "slice-p-not-advertised", clause, "neither list may be empty here");
    if (slice->type == CODED_B && limits->maximum_references[1] == 0)
        slice_finding(checker, index, "slice-b-not-advertised", "va.h VAConfigAttribEncMaxRefFrames",
                      "list 1 has no references here");
    if (limits->prediction_directions & VA_PREDICTION_DIRECTION_FUTURE)
        return;
    for (uint32_t list = 0; list < 2; list++)
        for (uint32_t i = 0; i < slice->reference_count[list]; i++)
            if (slice->references[list][i].picture_order_count > checker->picture.picture_order_count) {
                slice_finding(checker, index, "slice-future-not-advertised", clause,
                              "entry %u of list %u is shown after the picture", i, list);
                return;
            }
}

/* reference_frames[collocated_ref_pic_index] is the picture that collocated_ref_idx names. */
static void check_collocated(struct checker *checker, uint32_t index)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    const VAEncSliceParameterBufferHEVC *slice = &checker->picture.slices[index].parameters.hevc;
    const struct understood_slice *understood = &checker->picture.slices[index];
    const struct hevc_slice_header *header = &understood->header.hevc;
    const char *clause = "va_enc_hevc.h VAEncPictureParameterBufferHEVC.collocated_ref_pic_index";
    slice_expect(checker, index, "slice-temporal-mvp", CLAUSE ".slice_temporal_mvp_enabled_flag",
                 slice->slice_fields.bits.slice_temporal_mvp_enabled_flag, header->slice_temporal_mvp_enabled_flag);
    if (!header->slice_temporal_mvp_enabled_flag || understood->type == CODED_I) {
        if (!header->slice_temporal_mvp_enabled_flag && picture->collocated_ref_pic_index != 0xff)
            slice_finding(checker, index, "picture-collocated-unused", clause, "given %u, expected 0xff",
                          picture->collocated_ref_pic_index);
        return;
    }
    if (understood->type == CODED_B)
        slice_expect(checker, index, "slice-collocated-from-l0", CLAUSE ".collocated_from_l0_flag",
                     slice->slice_fields.bits.collocated_from_l0_flag, header->collocated_from_l0_flag);
    uint32_t list = understood->type == CODED_B && !header->collocated_from_l0_flag;
    if (picture->collocated_ref_pic_index >= 15)
        slice_finding(checker, index, "picture-collocated-range", clause, "given %u, allowed are 0 to 14",
                      picture->collocated_ref_pic_index);
    else if (header->collocated_ref_idx < understood->reference_count[list])
        slice_expect(checker, index, "picture-collocated", clause,
                     picture->reference_frames[picture->collocated_ref_pic_index].picture_id,
                     understood->references[list][header->collocated_ref_idx].surface);
}

static void check_motion(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferHEVC *slice = &checker->picture.slices[index].parameters.hevc;
    const struct hevc_slice_header *header = &checker->picture.slices[index].header.hevc;
    enum coded_type type = checker->picture.slices[index].type;
    if (type == CODED_I)
        return;
    if (type == CODED_B)
        slice_expect(checker, index, "slice-mvd-l1-zero", CLAUSE ".mvd_l1_zero_flag",
                     slice->slice_fields.bits.mvd_l1_zero_flag, header->mvd_l1_zero_flag);
    slice_expect(checker, index, "slice-cabac-init", CLAUSE ".cabac_init_flag",
                 slice->slice_fields.bits.cabac_init_flag, header->cabac_init_flag);
    slice_expect(checker, index, "slice-merge-candidates", CLAUSE ".max_num_merge_cand", slice->max_num_merge_cand,
                 5 - (int64_t)header->five_minus_max_num_merge_cand);
}

static void check_filters(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferHEVC *slice = &checker->picture.slices[index].parameters.hevc;
    const struct hevc_slice_header *header = &checker->picture.slices[index].header.hevc;
    slice_expect(checker, index, "slice-sao-luma", CLAUSE ".slice_sao_luma_flag",
                 slice->slice_fields.bits.slice_sao_luma_flag, header->slice_sao_luma_flag);
    slice_expect(checker, index, "slice-sao-chroma", CLAUSE ".slice_sao_chroma_flag",
                 slice->slice_fields.bits.slice_sao_chroma_flag, header->slice_sao_chroma_flag);
    slice_expect(checker, index, "slice-qp-delta", CLAUSE ".slice_qp_delta", slice->slice_qp_delta,
                 header->slice_qp_delta);
    slice_expect(checker, index, "slice-cb-qp-offset", CLAUSE ".slice_cb_qp_offset", slice->slice_cb_qp_offset,
                 header->slice_cb_qp_offset);
    slice_expect(checker, index, "slice-cr-qp-offset", CLAUSE ".slice_cr_qp_offset", slice->slice_cr_qp_offset,
                 header->slice_cr_qp_offset);
    slice_expect(checker, index, "slice-deblocking-disabled", CLAUSE ".slice_deblocking_filter_disabled_flag",
                 slice->slice_fields.bits.slice_deblocking_filter_disabled_flag,
                 header->slice_deblocking_filter_disabled_flag);
    if (!header->slice_deblocking_filter_disabled_flag) {
        slice_expect(checker, index, "slice-deblocking-beta", CLAUSE ".slice_beta_offset_div2",
                     slice->slice_beta_offset_div2, header->slice_beta_offset_div2);
        slice_expect(checker, index, "slice-deblocking-tc", CLAUSE ".slice_tc_offset_div2",
                     slice->slice_tc_offset_div2, header->slice_tc_offset_div2);
    }
    slice_expect(checker, index, "slice-loop-filter-across", CLAUSE ".slice_loop_filter_across_slices_enabled_flag",
                 slice->slice_fields.bits.slice_loop_filter_across_slices_enabled_flag,
                 header->slice_loop_filter_across_slices_enabled_flag);
}

/* What the chroma makes of the slice's QP. */
static void check_ranges(struct checker *checker, uint32_t index)
{
    const struct hevc_slice_header *header = &checker->picture.slices[index].header.hevc;
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    int32_t offsets[2] = {pps->pps_cb_qp_offset + header->slice_cb_qp_offset,
                          pps->pps_cr_qp_offset + header->slice_cr_qp_offset};
    for (unsigned i = 0; i < 2; i++)
        if (offsets[i] < -12 || offsets[i] > 12)
            slice_finding(checker, index, "slice-chroma-qp-offset-range", "H.265 7.4.7.1 slice_cb_qp_offset",
                          "%s: %d together with the PPS's, allowed are -12 to 12", i ? "Cr" : "Cb", offsets[i]);
}

/* Weighted prediction is advertised nowhere: nothing may be set. */
static void check_weights(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferHEVC *slice = &checker->picture.slices[index].parameters.hevc;
    bool any = slice->luma_log2_weight_denom || slice->delta_chroma_log2_weight_denom;
    for (unsigned i = 0; i < 15; i++) {
        any = any || slice->delta_luma_weight_l0[i] || slice->luma_offset_l0[i] || slice->delta_luma_weight_l1[i] ||
              slice->luma_offset_l1[i];
        for (unsigned plane = 0; plane < 2; plane++)
            any = any || slice->delta_chroma_weight_l0[i][plane] || slice->chroma_offset_l0[i][plane] ||
                  slice->delta_chroma_weight_l1[i][plane] || slice->chroma_offset_l1[i][plane];
    }
    if (any)
        slice_finding(checker, index, "slice-weights-without-table", CLAUSE ".delta_luma_weight_l0",
                      "weights are given, but the slice has no pred_weight_table()");
}

void hevc_check_slice_headers(struct checker *checker)
{
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        check_place(checker, i);
        check_reference_counts(checker, i);
        check_directions(checker, i);
        check_collocated(checker, i);
        check_motion(checker, i);
        check_filters(checker, i);
        check_ranges(checker, i);
        check_weights(checker, i);
    }
}
