/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prediction weights of the slice parameters against pred_weight_table() of the slice header. VA-API has one flag for
 * all entries of a list where the table has one per entry: it stands for "any". */
#include "h264_checks.h"

#define CLAUSE "va_enc_h264.h VAEncSliceParameterBufferH264"

/* One list of the slice parameters. */
struct given_weights {
    uint32_t luma_flag, chroma_flag;
    const int16_t *luma_weight, *luma_offset;
    const int16_t (*chroma_weight)[2], (*chroma_offset)[2];
};

static struct given_weights given_weights(const VAEncSliceParameterBufferH264 *slice, uint32_t list)
{
    if (list == 0)
        return (struct given_weights){slice->luma_weight_l0_flag, slice->chroma_weight_l0_flag, slice->luma_weight_l0,
                                      slice->luma_offset_l0, slice->chroma_weight_l0, slice->chroma_offset_l0};
    return (struct given_weights){slice->luma_weight_l1_flag, slice->chroma_weight_l1_flag, slice->luma_weight_l1,
                                  slice->luma_offset_l1, slice->chroma_weight_l1, slice->chroma_offset_l1};
}

static void check_entry(struct checker *checker, uint32_t index, const struct given_weights *given,
                        const struct h264_weight *weight, uint32_t entry)
{
    if (weight->luma_weight_flag && (given->luma_weight[entry] != weight->luma_weight ||
                                     given->luma_offset[entry] != weight->luma_offset))
        slice_finding(checker, index, "slice-luma-weight", CLAUSE ".luma_weight_lX",
                      "entry %u: given %d and %d, expected %d and %d", entry, given->luma_weight[entry],
                      given->luma_offset[entry], weight->luma_weight, weight->luma_offset);
    for (unsigned plane = 0; weight->chroma_weight_flag && plane < 2; plane++)
        if (given->chroma_weight[entry][plane] != weight->chroma_weight[plane] ||
            given->chroma_offset[entry][plane] != weight->chroma_offset[plane])
            slice_finding(checker, index, "slice-chroma-weight", CLAUSE ".chroma_weight_lX",
                          "entry %u, plane %u: given %d and %d, expected %d and %d", entry, plane,
                          given->chroma_weight[entry][plane], given->chroma_offset[entry][plane],
                          weight->chroma_weight[plane], weight->chroma_offset[plane]);
}

static void check_list(struct checker *checker, uint32_t index, uint32_t list)
{
    const struct h264_slice_header *header = &checker->picture.slices[index].header.h264;
    struct given_weights given = given_weights(&checker->picture.slices[index].parameters.h264, list);
    uint32_t luma = 0, chroma = 0, active = header->num_ref_idx_active_minus1[list];
    for (uint32_t i = 0; i <= active && i < 32; i++) {
        luma |= header->weight[list][i].luma_weight_flag;
        chroma |= header->weight[list][i].chroma_weight_flag;
        check_entry(checker, index, &given, &header->weight[list][i], i);
    }
    slice_expect(checker, index, "slice-luma-weight-flag", CLAUSE ".luma_weight_lX_flag", given.luma_flag, luma);
    slice_expect(checker, index, "slice-chroma-weight-flag", CLAUSE ".chroma_weight_lX_flag", given.chroma_flag,
                 chroma);
}

/* H.264 8.4.2.3, 8-299: the sum of explicit weights of a pair of references. */
static void check_sums(struct checker *checker, uint32_t index)
{
    const struct h264_slice_header *header = &checker->picture.slices[index].header.h264;
    int32_t most = header->luma_log2_weight_denom == 7 ? 127 : 128;
    for (uint32_t i = 0; i <= header->num_ref_idx_active_minus1[0] && i < 32; i++)
        for (uint32_t k = 0; k <= header->num_ref_idx_active_minus1[1] && k < 32; k++) {
            int32_t sum = header->weight[0][i].luma_weight + header->weight[1][k].luma_weight;
            if (sum < -128 || sum > most) {
                slice_finding(checker, index, "slice-weight-sum", "H.264 7.4.3.2",
                              "entries %u and %u: %d, allowed are -128 to %d", i, k, sum, most);
                return;
            }
        }
}

static void check_slice(struct checker *checker, uint32_t index)
{
    const VAEncSliceParameterBufferH264 *slice = &checker->picture.slices[index].parameters.h264;
    const struct h264_slice_header *header = &checker->picture.slices[index].header.h264;
    const struct h264_pps *pps = &checker->picture.pps.h264;
    uint32_t type = header->slice_type % 5;
    bool table = (type == H264_SLICE_P && pps->weighted_pred_flag) ||
                 (type == H264_SLICE_B && pps->weighted_bipred_idc == 1);
    uint32_t lists = type == H264_SLICE_B ? 2 : 1;
    for (uint32_t list = 0; list < 2; list++) {
        struct given_weights given = given_weights(slice, list);
        if (table && list < lists)
            check_list(checker, index, list);
        else if (given.luma_flag || given.chroma_flag)
            slice_finding(checker, index, "slice-weights-without-table", CLAUSE ".luma_weight_lX_flag",
                          "list %u has weights, but the slice has no pred_weight_table() for it", list);
    }
    if (!table)
        return;
    slice_expect(checker, index, "slice-luma-weight-denominator", CLAUSE ".luma_log2_weight_denom",
                 slice->luma_log2_weight_denom, header->luma_log2_weight_denom);
    slice_expect(checker, index, "slice-chroma-weight-denominator", CLAUSE ".chroma_log2_weight_denom",
                 slice->chroma_log2_weight_denom, header->chroma_log2_weight_denom);
    if (type == H264_SLICE_B)
        check_sums(checker, index);
}

void h264_check_weights(struct checker *checker)
{
    for (uint32_t i = 0; i < checker->picture.slice_count; i++)
        check_slice(checker, i);
}
