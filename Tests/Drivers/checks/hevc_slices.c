/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slice parameter buffers by themselves, and what the headers of one picture share. */
#include "hevc_checks.h"

#include <string.h>

#define CLAUSE "va_enc_hevc.h VAEncSliceParameterBufferHEVC"

static void check_alone(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferHEVC *slice = &checker->picture.slices[index].parameters.hevc;
    uint32_t last = slice->slice_fields.bits.last_slice_of_pic_flag;
    if (slice->slice_type > HEVC_SLICE_I)
        slice_finding(checker, index, "slice-type-range", CLAUSE ".slice_type", "given %u, allowed are 0 to 2",
                      slice->slice_type);
    slice_expect(checker, index, "slice-last-of-picture", CLAUSE ".last_slice_of_pic_flag", last,
                 index + 1 == checker->picture.slice_count);
    slice_expect(checker, index, "slice-colour-plane", CLAUSE ".colour_plane_id",
                 slice->slice_fields.bits.colour_plane_id, 0);
    slice_expect(checker, index, "slice-fields-unknown-bits", CLAUSE ".slice_fields", slice->slice_fields.value >> 14,
                 0);
    if (slice->max_num_merge_cand < 1 || slice->max_num_merge_cand > 5)
        slice_finding(checker, index, "slice-merge-candidates-range", CLAUSE ".max_num_merge_cand",
                      "given %u, allowed are 1 to 5", slice->max_num_merge_cand);
    slice_expect(checker, index, "slice-weight-table-offset", CLAUSE ".pred_weight_table_bit_offset",
                 slice->pred_weight_table_bit_offset, 0);
    slice_expect(checker, index, "slice-weight-table-length", CLAUSE ".pred_weight_table_bit_length",
                 slice->pred_weight_table_bit_length, 0);
    for (unsigned i = 0; i < VA_PADDING_MEDIUM - 2; i++)
        if (slice->va_reserved[i]) {
            slice_finding(checker, index, "slice-reserved", CLAUSE ".va_reserved", "word %u is 0x%x, must be zero", i,
                          slice->va_reserved[i]);
            break;
        }
}

/* Coding tree blocks in one direction, as the sequence parameters have them. */
static uint32_t blocks(const VAEncSequenceParameterBufferHEVC *sequence, uint32_t samples)
{
    uint32_t log2 =
        sequence->log2_min_luma_coding_block_size_minus3 + 3u + sequence->log2_diff_max_min_luma_coding_block_size;
    return log2 > 6 ? 0 : (samples + (1u << log2) - 1) >> log2;
}

void hevc_check_slice_parameters(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    uint32_t columns = blocks(sequence, sequence->pic_width_in_luma_samples);
    uint32_t rows = blocks(sequence, sequence->pic_height_in_luma_samples);
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

/* Long-term pictures as far as the header has them. */
static bool same_long_term(const struct hevc_slice_header *one, const struct hevc_slice_header *other)
{
    uint32_t count = one->num_long_term_sps + one->num_long_term_pics;
    return one->num_long_term_sps == other->num_long_term_sps && one->num_long_term_pics == other->num_long_term_pics &&
           (count > HEVC_MAXIMUM_LONG_TERM ||
            memcmp(one->long_term, other->long_term, count * sizeof one->long_term[0]) == 0);
}

/* H.265 7.4.7.1: what must be the same in all slice segment headers of a picture. */
static void check_shared(struct checker *checker, uint32_t index)
{
    const struct hevc_slice_header *first = &checker->picture.slices[0].header.hevc;
    const struct hevc_slice_header *header = &checker->picture.slices[index].header.hevc;
    const char *clause = "H.265 7.4.7.1";
    slice_expect(checker, index, "slices-differ-nal-unit-type", "H.265 7.4.2.2", header->nal.nal_unit_type,
                 first->nal.nal_unit_type);
    slice_expect(checker, index, "slices-differ-temporal-id", "H.265 7.4.2.2", header->nal.nuh_temporal_id_plus1,
                 first->nal.nuh_temporal_id_plus1);
    slice_expect(checker, index, "slices-differ-no-output-of-prior", clause, header->no_output_of_prior_pics_flag,
                 first->no_output_of_prior_pics_flag);
    slice_expect(checker, index, "slices-differ-pps-id", clause, header->slice_pic_parameter_set_id,
                 first->slice_pic_parameter_set_id);
    slice_expect(checker, index, "slices-differ-output-flag", clause, header->pic_output_flag,
                 first->pic_output_flag);
    slice_expect(checker, index, "slices-differ-poc-lsb", clause, header->slice_pic_order_cnt_lsb,
                 first->slice_pic_order_cnt_lsb);
    if (header->short_term_ref_pic_set_sps_flag != first->short_term_ref_pic_set_sps_flag ||
        header->short_term_ref_pic_set_idx != first->short_term_ref_pic_set_idx ||
        memcmp(&header->short_term_ref_pic_set, &first->short_term_ref_pic_set,
               sizeof header->short_term_ref_pic_set) != 0)
        slice_finding(checker, index, "slices-differ-short-term-set", clause,
                      "the short-term reference picture set is not that of the first slice");
    if (!same_long_term(header, first))
        slice_finding(checker, index, "slices-differ-long-term", clause,
                      "the long-term reference pictures are not those of the first slice");
    slice_expect(checker, index, "slices-differ-temporal-mvp", clause, header->slice_temporal_mvp_enabled_flag,
                 first->slice_temporal_mvp_enabled_flag);
}

/* 7.4.7.1: the picture that motion is taken from is the same for all slices. */
static void check_collocated(struct checker *checker)
{
    const struct understood_picture *picture = &checker->picture;
    VASurfaceID common = VA_INVALID_SURFACE;
    for (uint32_t i = 0; i < picture->slice_count; i++) {
        const struct hevc_slice_header *header = &picture->slices[i].header.hevc;
        uint32_t list = picture->slices[i].type == CODED_B && !header->collocated_from_l0_flag;
        if (picture->slices[i].type == CODED_I || !header->slice_temporal_mvp_enabled_flag ||
            header->collocated_ref_idx >= picture->slices[i].reference_count[list])
            continue;
        VASurfaceID surface = picture->slices[i].references[list][header->collocated_ref_idx].surface;
        if (common == VA_INVALID_SURFACE)
            common = surface;
        slice_expect(checker, i, "slices-differ-collocated", "H.265 7.4.7.1 collocated_ref_idx", surface, common);
    }
}

void hevc_check_common_fields(struct checker *checker)
{
    for (uint32_t i = 1; i < checker->picture.slice_count; i++)
        check_shared(checker, i);
    check_collocated(checker);
}
