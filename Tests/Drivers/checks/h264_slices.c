/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slice parameter buffers by themselves: coverage, count, structure; and what the headers of one picture share. */
#include "h264_checks.h"

#include <string.h>

#define CLAUSE "va_enc_h264.h VAEncSliceParameterBufferH264"

static void check_alone(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferH264 *slice = &checker->picture.slices[index].parameters.h264;
    if (slice->slice_type > 7 || slice->slice_type % 5 > H264_SLICE_I)
        slice_finding(checker, index, "slice-type-range", CLAUSE ".slice_type", "given %u, allowed are 0 to 2, 5 to 7",
                      slice->slice_type);
    if (slice->macroblock_info != VA_INVALID_ID)
        slice_finding(checker, index, "slice-macroblock-info", CLAUSE ".macroblock_info",
                      "given 0x%x, expected VA_INVALID_ID: per-macroblock parameters are not advertised",
                      slice->macroblock_info);
    for (unsigned i = 0; i < VA_PADDING_LOW; i++)
        if (slice->va_reserved[i]) {
            slice_finding(checker, index, "slice-reserved", CLAUSE ".va_reserved", "word %u is 0x%x, must be zero", i,
                          slice->va_reserved[i]);
            break;
        }
}

void h264_check_slice_parameters(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    uint32_t columns = sequence->picture_width_in_mbs, rows = sequence->picture_height_in_mbs;
    if (checker->have_sets) {
        columns = checker->picture.columns;
        rows = checker->picture.rows;
    }
    if (!check_slice_buffers(checker))
        return;
    for (uint32_t i = 0; i < checker->picture.slice_count; i++)
        check_alone(checker, i);
    if (checker->have_sequence)
        check_slice_layout(checker, columns, rows);
}

/* H.264 7.4.1.2.4 and 7.4.3: what tells pictures apart must be the same in all slices of one. */
static void check_shared(struct checker *checker, uint32_t index)
{
    const struct h264_slice_header *first = &checker->picture.slices[0].header.h264;
    const struct h264_slice_header *header = &checker->picture.slices[index].header.h264;
    const char *clause = "H.264 7.4.1.2.4";
    slice_expect(checker, index, "slices-differ-pps-id", clause, header->pic_parameter_set_id,
                 first->pic_parameter_set_id);
    slice_expect(checker, index, "slices-differ-frame-num", clause, header->frame_num, first->frame_num);
    slice_expect(checker, index, "slices-differ-nal-unit-type", clause, header->nal_unit_type, first->nal_unit_type);
    if ((header->nal_ref_idc == 0) != (first->nal_ref_idc == 0))
        slice_finding(checker, index, "slices-differ-nal-ref-idc", clause, "given %u, the first slice has %u",
                      header->nal_ref_idc, first->nal_ref_idc);
    if (checker->picture.idr)
        slice_expect(checker, index, "slices-differ-idr-pic-id", clause, header->idr_pic_id, first->idr_pic_id);
    slice_expect(checker, index, "slices-differ-poc-lsb", clause, header->pic_order_cnt_lsb, first->pic_order_cnt_lsb);
    slice_expect(checker, index, "slices-differ-delta-poc-bottom", clause, header->delta_pic_order_cnt_bottom,
                 first->delta_pic_order_cnt_bottom);
    for (unsigned i = 0; i < 2; i++)
        slice_expect(checker, index, "slices-differ-delta-poc", clause, header->delta_pic_order_cnt[i],
                     first->delta_pic_order_cnt[i]);
    if (header->no_output_of_prior_pics_flag != first->no_output_of_prior_pics_flag ||
        header->long_term_reference_flag != first->long_term_reference_flag ||
        header->adaptive_ref_pic_marking_mode_flag != first->adaptive_ref_pic_marking_mode_flag ||
        memcmp(header->marking, first->marking, sizeof header->marking) != 0)
        slice_finding(checker, index, "slices-differ-marking", "H.264 7.4.3.3",
                      "dec_ref_pic_marking() is not that of the first slice");
    if (first->slice_type >= 5 && header->slice_type % 5 != first->slice_type % 5)
        slice_finding(checker, index, "slices-differ-type", "H.264 7.4.3",
                      "slice_type %u, but the first slice's %u says that all are alike", header->slice_type,
                      first->slice_type);
}

void h264_check_common_fields(struct checker *checker)
{
    for (uint32_t i = 1; i < checker->picture.slice_count; i++)
        check_shared(checker, i);
}
