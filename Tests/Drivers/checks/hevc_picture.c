/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture parameter buffer: by itself, against the PPS, and against the slice segment headers. */
#include "hevc_checks.h"

#define CLAUSE "va_enc_hevc.h VAEncPictureParameterBufferHEVC"

/* coding_type */
enum { CODING_TYPE_I = 1, CODING_TYPE_P, CODING_TYPE_B, CODING_TYPE_B1, CODING_TYPE_B2 };

static void check_current_picture(struct checker *checker)
{
    const VAPictureHEVC *current = &checker->picture.picture.hevc.decoded_curr_pic;
    if (current->flags & VA_PICTURE_HEVC_INVALID)
        finding(checker, "picture-curr-invalid", CLAUSE ".decoded_curr_pic.flags", "0x%x has the invalid bit",
                current->flags);
    if (current->flags & (VA_PICTURE_HEVC_FIELD_PIC | VA_PICTURE_HEVC_BOTTOM_FIELD))
        finding(checker, "picture-curr-field", CLAUSE ".decoded_curr_pic.flags",
                "0x%x names a field, the picture is a frame", current->flags);
    /* "Long term reference and RPS related fields should be set to 0" */
    expect(checker, "picture-curr-reference-flags", CLAUSE ".decoded_curr_pic.flags",
           current->flags & ~(uint32_t)(VA_PICTURE_HEVC_INVALID | VA_PICTURE_HEVC_FIELD_PIC |
                                        VA_PICTURE_HEVC_BOTTOM_FIELD), 0);
    expect_reserved(checker, "picture-curr-reserved", CLAUSE ".decoded_curr_pic.va_reserved", current->va_reserved,
                    VA_PADDING_LOW);
}

void hevc_check_picture(struct checker *checker)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    check_current_picture(checker);
    expect_range(checker, "picture-pps-id-range", CLAUSE ".slice_pic_parameter_set_id",
                 picture->slice_pic_parameter_set_id, 0, 63);
    expect_range(checker, "picture-init-qp-range", CLAUSE ".pic_init_qp", picture->pic_init_qp, 0, 51);
    expect(checker, "picture-last-picture-unknown", CLAUSE ".last_picture",
           picture->last_picture & ~(HEVC_LAST_PICTURE_EOSEQ | HEVC_LAST_PICTURE_EOSTREAM), 0);
    expect(checker, "picture-fields-reserved", CLAUSE ".pic_fields.reserved", picture->pic_fields.bits.reserved, 0);
    expect_range(checker, "picture-coding-type", CLAUSE ".coding_type", picture->pic_fields.bits.coding_type,
                 CODING_TYPE_I, CODING_TYPE_B2);
    expect(checker, "picture-weights-by-driver", CLAUSE ".enable_gpu_weighted_prediction",
           picture->pic_fields.bits.enable_gpu_weighted_prediction, 0);
    expect(checker, "picture-current-reference", CLAUSE ".scc_fields.pps_curr_pic_ref_enabled_flag",
           picture->scc_fields.bits.pps_curr_pic_ref_enabled_flag, 0);
    expect(checker, "picture-scc-reserved", CLAUSE ".scc_fields.reserved", picture->scc_fields.bits.reserved, 0);
    expect(checker, "picture-byte-reserved", CLAUSE ".va_byte_reserved", picture->va_byte_reserved, 0);
    expect_range(checker, "picture-hierarchical-level", CLAUSE ".hierarchical_level_plus1",
                 picture->hierarchical_level_plus1, 0, 7);
    expect_reserved(checker, "picture-reserved", CLAUSE ".va_reserved", picture->va_reserved, VA_PADDING_HIGH - 1);
    if (checker->history.end_of_sequence && !picture->pic_fields.bits.idr_pic_flag)
        finding(checker, "picture-after-end-of-sequence", "H.265 7.4.2.4.2",
                "the picture before said that it ends the sequence or stream, this one is no IDR picture");
}

static void check_quantisation(struct checker *checker)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    expect(checker, "picture-init-qp", CLAUSE ".pic_init_qp", picture->pic_init_qp, pps->init_qp_minus26 + 26);
    expect(checker, "picture-cu-qp-delta", CLAUSE ".cu_qp_delta_enabled_flag",
           picture->pic_fields.bits.cu_qp_delta_enabled_flag, pps->cu_qp_delta_enabled_flag);
    if (pps->cu_qp_delta_enabled_flag)
        expect(checker, "picture-cu-qp-delta-depth", CLAUSE ".diff_cu_qp_delta_depth", picture->diff_cu_qp_delta_depth,
               pps->diff_cu_qp_delta_depth);
    expect(checker, "picture-cb-qp-offset", CLAUSE ".pps_cb_qp_offset", picture->pps_cb_qp_offset,
           pps->pps_cb_qp_offset);
    expect(checker, "picture-cr-qp-offset", CLAUSE ".pps_cr_qp_offset", picture->pps_cr_qp_offset,
           pps->pps_cr_qp_offset);
    expect(checker, "picture-scaling-list", CLAUSE ".scaling_list_data_present_flag",
           picture->pic_fields.bits.scaling_list_data_present_flag,
           pps->pps_scaling_list_data_present_flag || checker->picture.sps.hevc.sps_scaling_list_data_present_flag);
}

static void check_tiles(struct checker *checker)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    expect(checker, "picture-tiles", CLAUSE ".tiles_enabled_flag", picture->pic_fields.bits.tiles_enabled_flag,
           pps->tiles_enabled_flag);
    expect(checker, "picture-tile-columns", CLAUSE ".num_tile_columns_minus1", picture->num_tile_columns_minus1,
           pps->tiles_enabled_flag ? pps->num_tile_columns_minus1 : 0);
    expect(checker, "picture-tile-rows", CLAUSE ".num_tile_rows_minus1", picture->num_tile_rows_minus1,
           pps->tiles_enabled_flag ? pps->num_tile_rows_minus1 : 0);
    if (pps->tiles_enabled_flag)
        expect(checker, "picture-loop-filter-across-tiles", CLAUSE ".loop_filter_across_tiles_enabled_flag",
               picture->pic_fields.bits.loop_filter_across_tiles_enabled_flag,
               pps->loop_filter_across_tiles_enabled_flag);
    expect(checker, "picture-entropy-sync", CLAUSE ".entropy_coding_sync_enabled_flag",
           picture->pic_fields.bits.entropy_coding_sync_enabled_flag, pps->entropy_coding_sync_enabled_flag);
}

void hevc_check_picture_pps(struct checker *checker)
{
    const VAEncPictureParameterBufferHEVC *picture = &checker->picture.picture.hevc;
    const struct hevc_pps *pps = &checker->picture.pps.hevc;
    expect(checker, "picture-pps-id", CLAUSE ".slice_pic_parameter_set_id", picture->slice_pic_parameter_set_id,
           pps->pps_pic_parameter_set_id);
    expect(checker, "picture-dependent-slices", CLAUSE ".dependent_slice_segments_enabled_flag",
           picture->pic_fields.bits.dependent_slice_segments_enabled_flag,
           pps->dependent_slice_segments_enabled_flag);
    expect(checker, "picture-sign-data-hiding", CLAUSE ".sign_data_hiding_enabled_flag",
           picture->pic_fields.bits.sign_data_hiding_enabled_flag, pps->sign_data_hiding_enabled_flag);
    expect(checker, "picture-num-ref-idx-l0", CLAUSE ".num_ref_idx_l0_default_active_minus1",
           picture->num_ref_idx_l0_default_active_minus1, pps->num_ref_idx_l0_default_active_minus1);
    expect(checker, "picture-num-ref-idx-l1", CLAUSE ".num_ref_idx_l1_default_active_minus1",
           picture->num_ref_idx_l1_default_active_minus1, pps->num_ref_idx_l1_default_active_minus1);
    expect(checker, "picture-constrained-intra", CLAUSE ".constrained_intra_pred_flag",
           picture->pic_fields.bits.constrained_intra_pred_flag, pps->constrained_intra_pred_flag);
    expect(checker, "picture-transform-skip", CLAUSE ".transform_skip_enabled_flag",
           picture->pic_fields.bits.transform_skip_enabled_flag, pps->transform_skip_enabled_flag);
    check_quantisation(checker);
    expect(checker, "picture-weighted-pred", CLAUSE ".weighted_pred_flag", picture->pic_fields.bits.weighted_pred_flag,
           pps->weighted_pred_flag);
    expect(checker, "picture-weighted-bipred", CLAUSE ".weighted_bipred_flag",
           picture->pic_fields.bits.weighted_bipred_flag, pps->weighted_bipred_flag);
    expect(checker, "picture-transquant-bypass", CLAUSE ".transquant_bypass_enabled_flag",
           picture->pic_fields.bits.transquant_bypass_enabled_flag, pps->transquant_bypass_enabled_flag);
    check_tiles(checker);
    expect(checker, "picture-loop-filter-across-slices", CLAUSE ".pps_loop_filter_across_slices_enabled_flag",
           picture->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag,
           pps->pps_loop_filter_across_slices_enabled_flag);
    expect(checker, "picture-parallel-merge-level", CLAUSE ".log2_parallel_merge_level_minus2",
           picture->log2_parallel_merge_level_minus2, pps->log2_parallel_merge_level_minus2);
    expect(checker, "pps-sps-id", "H.265 7.4.3.3.1", pps->pps_seq_parameter_set_id,
           checker->picture.sps.hevc.sps_seq_parameter_set_id);
}

/* The type that coding_type says, against those of the slices. */
static void check_coding_type(struct checker *checker)
{
    static const uint32_t usual[CODED_TYPES] = {
        [CODED_I] = CODING_TYPE_I, [CODED_P] = CODING_TYPE_P, [CODED_B] = CODING_TYPE_B};
    uint32_t said = checker->picture.picture.hevc.pic_fields.bits.coding_type;
    if (said == CODING_TYPE_B1 || said == CODING_TYPE_B2)
        said = CODING_TYPE_B;
    /* A P picture whose slices are B slices of the past is still an anchor. */
    bool anchor = said == CODING_TYPE_P && picture_type(checker) == CODED_B;
    for (uint32_t i = 0; anchor && i < checker->picture.slice_count; i++)
        for (uint32_t list = 0; list < 2; list++)
            for (uint32_t k = 0; k < checker->picture.slices[i].reference_count[list]; k++)
                anchor = anchor && checker->picture.slices[i].references[list][k].picture_order_count <
                                       checker->picture.picture_order_count;
    if (!anchor && said != usual[picture_type(checker)])
        finding(checker, "picture-coding-type-differs", CLAUSE ".coding_type", "given %u, the slices make it %u",
                checker->picture.picture.hevc.pic_fields.bits.coding_type, usual[picture_type(checker)]);
}

void hevc_check_picture_header(struct checker *checker)
{
    const struct understood_picture *understood = &checker->picture;
    const VAEncPictureParameterBufferHEVC *picture = &understood->picture.hevc;
    const struct hevc_slice_header *header = &understood->slices[0].header.hevc;
    expect(checker, "picture-nal-unit-type", CLAUSE ".nal_unit_type", picture->nal_unit_type,
           header->nal.nal_unit_type);
    expect(checker, "picture-curr-poc", CLAUSE ".decoded_curr_pic.pic_order_cnt",
           picture->decoded_curr_pic.pic_order_cnt, understood->picture_order_count);
    expect(checker, "picture-idr-flag", CLAUSE ".idr_pic_flag", picture->pic_fields.bits.idr_pic_flag,
           understood->idr);
    expect(checker, "picture-reference-flag", CLAUSE ".reference_pic_flag",
           picture->pic_fields.bits.reference_pic_flag, understood->reference);
    if (hevc_is_irap(header->nal.nal_unit_type))
        expect(checker, "picture-no-output-of-prior", CLAUSE ".no_output_of_prior_pics_flag",
               picture->pic_fields.bits.no_output_of_prior_pics_flag, header->no_output_of_prior_pics_flag);
    if (header->nal.nuh_temporal_id_plus1 > checker->picture.sps.hevc.sps_max_sub_layers_minus1 + 1)
        finding(checker, "slice-temporal-id", "H.265 7.4.2.2 nuh_temporal_id_plus1", "%u, the SPS has %u sub-layers",
                header->nal.nuh_temporal_id_plus1, checker->picture.sps.hevc.sps_max_sub_layers_minus1 + 1);
    if (checker->picture.pps.hevc.nal.nuh_temporal_id_plus1 > header->nal.nuh_temporal_id_plus1)
        finding(checker, "pps-temporal-id", "H.265 7.4.2.2 nuh_temporal_id_plus1", "%u, the picture has %u",
                checker->picture.pps.hevc.nal.nuh_temporal_id_plus1, header->nal.nuh_temporal_id_plus1);
    check_coding_type(checker);
    VASurfaceID surface;
    for (uint32_t i = 0; checker->codec->reference(checker, i, &surface); i++)
        if (surface == picture->decoded_curr_pic.picture_id)
            finding(checker, "picture-curr-is-reference", CLAUSE ".decoded_curr_pic.picture_id",
                    "surface 0x%x still holds a reference picture", surface);
}
