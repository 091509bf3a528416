/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture parameter buffer: by itself, against the PPS, and against the slice headers. */
#include "h264_checks.h"

#define CLAUSE "va_enc_h264.h VAEncPictureParameterBufferH264"
#define KNOWN_FIELD_BITS 0x3fffu /* pic_fields.bits */
#define KNOWN_PICTURE_FLAGS 0x1fu /* VA_PICTURE_H264_* */

static void check_current_picture(struct checker *checker)
{
    const VAPictureH264 *current = &checker->picture.picture.h264.CurrPic;
    bool reference = checker->picture.picture.h264.pic_fields.bits.reference_pic_flag ||
                     (checker->have_headers && checker->picture.reference);
    if (current->flags & VA_PICTURE_H264_INVALID)
        finding(checker, "picture-curr-invalid", CLAUSE ".CurrPic.flags", "0x%x has the invalid bit", current->flags);
    if (current->flags & (VA_PICTURE_H264_TOP_FIELD | VA_PICTURE_H264_BOTTOM_FIELD))
        finding(checker, "picture-curr-field", CLAUSE ".CurrPic.flags", "0x%x names a field, the picture is a frame",
                current->flags);
    if (!reference && current->flags & (VA_PICTURE_H264_SHORT_TERM_REFERENCE | VA_PICTURE_H264_LONG_TERM_REFERENCE))
        finding(checker, "picture-curr-reference-flag", CLAUSE ".CurrPic.flags",
                "0x%x names a reference, the picture is none", current->flags);
    if (checker->have_headers && reference && current->flags & VA_PICTURE_H264_LONG_TERM_REFERENCE &&
        !checker->picture.long_term)
        finding(checker, "picture-curr-long-term-flag", CLAUSE ".CurrPic.flags",
                "0x%x names a long-term reference, the headers make it none", current->flags);
    expect(checker, "picture-curr-flags-unknown", CLAUSE ".CurrPic.flags", current->flags & ~KNOWN_PICTURE_FLAGS, 0);
    expect_reserved(checker, "picture-curr-reserved", CLAUSE ".CurrPic.va_reserved", current->va_reserved,
                    VA_PADDING_LOW);
}

void h264_check_picture(struct checker *checker)
{
    const VAEncPictureParameterBufferH264 *picture = &checker->picture.picture.h264;
    check_current_picture(checker);
    expect_range(checker, "picture-sps-id-range", CLAUSE ".seq_parameter_set_id", picture->seq_parameter_set_id, 0, 31);
    expect_range(checker, "picture-init-qp-range", CLAUSE ".pic_init_qp", picture->pic_init_qp, 0, 51);
    expect(checker, "picture-last-picture-unknown", CLAUSE ".last_picture",
           picture->last_picture & ~(H264_LAST_PICTURE_EOSEQ | H264_LAST_PICTURE_EOSTREAM), 0);
    expect(checker, "picture-fields-unknown-bits", CLAUSE ".pic_fields", picture->pic_fields.value & ~KNOWN_FIELD_BITS,
           0);
    expect_reserved(checker, "picture-reserved", CLAUSE ".va_reserved", picture->va_reserved, VA_PADDING_LOW);
    if (checker->history.end_of_sequence && !picture->pic_fields.bits.idr_pic_flag)
        finding(checker, "picture-after-end-of-sequence", "H.264 7.4.1.2.2",
                "the picture before said that it ends the sequence or stream, this one is no IDR picture");
}

void h264_check_picture_pps(struct checker *checker)
{
    const VAEncPictureParameterBufferH264 *picture = &checker->picture.picture.h264;
    const struct h264_pps *pps = &checker->picture.pps.h264;
    expect(checker, "picture-pps-id", CLAUSE ".pic_parameter_set_id", picture->pic_parameter_set_id,
           pps->pic_parameter_set_id);
    expect(checker, "picture-sps-id", CLAUSE ".seq_parameter_set_id", picture->seq_parameter_set_id,
           pps->seq_parameter_set_id);
    expect(checker, "picture-entropy-coding-mode", CLAUSE ".entropy_coding_mode_flag",
           picture->pic_fields.bits.entropy_coding_mode_flag, pps->entropy_coding_mode_flag);
    expect(checker, "picture-pic-order-present", CLAUSE ".pic_order_present_flag",
           picture->pic_fields.bits.pic_order_present_flag, pps->bottom_field_pic_order_in_frame_present_flag);
    expect(checker, "picture-num-ref-idx-l0", CLAUSE ".num_ref_idx_l0_active_minus1",
           picture->num_ref_idx_l0_active_minus1, pps->num_ref_idx_l0_default_active_minus1);
    expect(checker, "picture-num-ref-idx-l1", CLAUSE ".num_ref_idx_l1_active_minus1",
           picture->num_ref_idx_l1_active_minus1, pps->num_ref_idx_l1_default_active_minus1);
    expect(checker, "picture-weighted-pred", CLAUSE ".weighted_pred_flag", picture->pic_fields.bits.weighted_pred_flag,
           pps->weighted_pred_flag);
    expect(checker, "picture-weighted-bipred", CLAUSE ".weighted_bipred_idc",
           picture->pic_fields.bits.weighted_bipred_idc, pps->weighted_bipred_idc);
    expect(checker, "picture-init-qp", CLAUSE ".pic_init_qp", picture->pic_init_qp, pps->pic_init_qp_minus26 + 26);
    expect(checker, "picture-chroma-qp-offset", CLAUSE ".chroma_qp_index_offset", picture->chroma_qp_index_offset,
           pps->chroma_qp_index_offset);
    expect(checker, "picture-second-chroma-qp-offset", CLAUSE ".second_chroma_qp_index_offset",
           picture->second_chroma_qp_index_offset, pps->second_chroma_qp_index_offset);
    expect(checker, "picture-deblocking-control", CLAUSE ".deblocking_filter_control_present_flag",
           picture->pic_fields.bits.deblocking_filter_control_present_flag,
           pps->deblocking_filter_control_present_flag);
    expect(checker, "picture-constrained-intra", CLAUSE ".constrained_intra_pred_flag",
           picture->pic_fields.bits.constrained_intra_pred_flag, pps->constrained_intra_pred_flag);
    expect(checker, "picture-redundant-pic-cnt", CLAUSE ".redundant_pic_cnt_present_flag",
           picture->pic_fields.bits.redundant_pic_cnt_present_flag, pps->redundant_pic_cnt_present_flag);
    expect(checker, "picture-transform-8x8", CLAUSE ".transform_8x8_mode_flag",
           picture->pic_fields.bits.transform_8x8_mode_flag, pps->transform_8x8_mode_flag);
    expect(checker, "picture-scaling-matrix", CLAUSE ".pic_scaling_matrix_present_flag",
           picture->pic_fields.bits.pic_scaling_matrix_present_flag, pps->pic_scaling_matrix_present_flag);
    expect(checker, "pps-sps-id", "H.264 7.4.2.2", pps->seq_parameter_set_id,
           checker->picture.sps.h264.seq_parameter_set_id);
    if (set_sent(checker, SET_PPS, pps->pic_parameter_set_id) && pps->nal_ref_idc == 0)
        finding(checker, "pps-nal-ref-idc", "H.264 7.4.1", "nal_ref_idc of the PPS is 0");
}

void h264_check_picture_header(struct checker *checker)
{
    const struct understood_picture *understood = &checker->picture;
    const VAEncPictureParameterBufferH264 *picture = &understood->picture.h264;
    const struct h264_slice_header *header = &understood->slices[0].header.h264;
    expect(checker, "picture-frame-num", CLAUSE ".frame_num", picture->frame_num, header->frame_num);
    expect(checker, "picture-curr-frame-idx", CLAUSE ".CurrPic.frame_idx", picture->CurrPic.frame_idx,
           header->frame_num);
    expect(checker, "picture-curr-top-poc", CLAUSE ".CurrPic.TopFieldOrderCnt", picture->CurrPic.TopFieldOrderCnt,
           checker->h264_order_count.top);
    expect(checker, "picture-curr-bottom-poc", CLAUSE ".CurrPic.BottomFieldOrderCnt",
           picture->CurrPic.BottomFieldOrderCnt, checker->h264_order_count.bottom);
    expect(checker, "picture-idr-flag", CLAUSE ".idr_pic_flag", picture->pic_fields.bits.idr_pic_flag,
           understood->idr);
    bool said = picture->pic_fields.bits.reference_pic_flag != 0, is_b = header->slice_type % 5 == H264_SLICE_B;
    if (said != understood->reference)
        finding(checker, is_b && !said ? "picture-reference-flag-clear-for-b" : "picture-reference-flag",
                CLAUSE ".reference_pic_flag", "given %u, nal_ref_idc is %u",
                picture->pic_fields.bits.reference_pic_flag, header->nal_ref_idc);
    if (understood->idr && header->nal_ref_idc == 0)
        finding(checker, "idr-nal-ref-idc", "H.264 7.4.1", "nal_ref_idc of an IDR picture is 0");
    for (uint32_t i = 0; i < checker->dpb.h264.count && !understood->idr; i++)
        if (checker->dpb.h264.pictures[i].surface == picture->CurrPic.picture_id)
            finding(checker, "picture-curr-is-reference", CLAUSE ".CurrPic.picture_id",
                    "surface 0x%x still holds a reference picture", picture->CurrPic.picture_id);
}
