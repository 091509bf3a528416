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

/* Macroblocks follow each other from slice to slice, up to the picture's last. */
static void check_coverage(struct checker *checker, uint32_t columns, uint32_t rows)
{
    uint64_t next = 0, total = (uint64_t)columns * rows;
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        const VAEncSliceParameterBufferH264 *slice = &checker->picture.slices[i].parameters.h264;
        if (slice->macroblock_address != next)
            slice_finding(checker, i, "slice-macroblock-address", CLAUSE ".macroblock_address",
                          "given %u, the slices before end at %llu", slice->macroblock_address,
                          (unsigned long long)next);
        if (slice->num_macroblocks == 0)
            slice_finding(checker, i, "slice-macroblocks-zero", CLAUSE ".num_macroblocks", "given 0");
        next = (uint64_t)slice->macroblock_address + slice->num_macroblocks;
    }
    if (checker->picture.slice_count && next != total)
        finding(checker, "slice-macroblocks-total", CLAUSE ".num_macroblocks",
                "the last slice ends at macroblock %llu, the picture at %llu", (unsigned long long)next,
                (unsigned long long)total);
}

/* Whether the slices are whole rows in one of the ways that the driver advertises. */
static bool structure_allowed(const struct checker *checker, uint32_t columns)
{
    uint32_t allowed = checker->config.limits.slice_structures, count = checker->picture.slice_count;
    uint32_t first = checker->picture.slices[0].parameters.h264.num_macroblocks;
    bool equal = true;
    if (count <= 1 || allowed & VA_ENC_SLICE_STRUCTURE_ARBITRARY_MACROBLOCKS)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t macroblocks = checker->picture.slices[i].parameters.h264.num_macroblocks;
        if (columns == 0 || macroblocks % columns != 0)
            return false;
        equal = equal && (macroblocks == first || (i == count - 1 && macroblocks < first));
    }
    uint32_t rows = first / columns;
    return allowed & VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS ||
           (allowed & VA_ENC_SLICE_STRUCTURE_EQUAL_MULTI_ROWS && equal) ||
           (allowed & VA_ENC_SLICE_STRUCTURE_EQUAL_ROWS && equal) ||
           (allowed & VA_ENC_SLICE_STRUCTURE_POWER_OF_TWO_ROWS && equal && (rows & (rows - 1)) == 0);
}

void h264_check_slice_parameters(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    uint32_t columns = sequence->picture_width_in_mbs, rows = sequence->picture_height_in_mbs;
    uint32_t count = checker->picture.slice_count;
    if (checker->have_sets) {
        const struct h264_sps *sps = &checker->picture.sps.h264;
        columns = sps->pic_width_in_mbs_minus1 + 1;
        rows = (sps->pic_height_in_map_units_minus1 + 1) * (2 - sps->frame_mbs_only_flag);
    }
    if (!checker->collected.picture)
        finding(checker, "picture-buffer-missing", "va_enc_h264.h VAEncPictureParameterBufferH264", "none came");
    if (count == 0) {
        finding(checker, "slice-buffer-missing", CLAUSE, "none came");
        return;
    }
    if (count > checker->config.limits.maximum_slices || checker->collected.slices_ignored)
        finding(checker, "slice-count-beyond-limit", "va.h VAConfigAttribEncMaxSlices", "%u slices, allowed are %u",
                count, checker->config.limits.maximum_slices);
    for (uint32_t i = 0; i < count; i++)
        check_alone(checker, i);
    if (!checker->have_sequence)
        return;
    check_coverage(checker, columns, rows);
    if (!structure_allowed(checker, columns))
        finding(checker, "slice-structure", "va.h VAConfigAttribEncSliceStructure",
                "the slices are none of the structures 0x%x", checker->config.limits.slice_structures);
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
