/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Macroblocks in Exp-Golomb codes and context-adaptive variable length codes (7.3.5, 9.1, 9.2). */
#include "coder_parts.h"

#include <stdlib.h>

static void write_code(struct bits *bits, struct h264_code code)
{
    bits_put(bits, code.value, code.length);
}

/* 9.2.1: nC from the numbers of levels in the blocks to the left and above, -1 where not available. */
static int predict_total_coeff(int left, int above)
{
    if (left >= 0 && above >= 0)
        return (left + above + 1) >> 1;
    return left >= 0 ? left : above >= 0 ? above : 0;
}

/* 9.2.1 for the luma block at a raster position of 4x4 blocks. */
static int luma_context(const struct neighbours *near, const struct macroblock *macroblock, unsigned position)
{
    const uint8_t *counts = macroblock->total_coeff;
    int left = position % 4 != 0 ? counts[position - 1] : near->a ? near->a->total_coeff[position + 3] : -1;
    int above = position >= 4 ? counts[position - 4] : near->b ? near->b->total_coeff[position + 12] : -1;
    return predict_total_coeff(left, above);
}

/* 9.2.1 for the block of a chroma component at chroma4x4BlkIdx. */
static int chroma_context(const struct neighbours *near, const struct macroblock *macroblock, unsigned component,
                          unsigned index)
{
    unsigned first = 16 + 4 * component;
    unsigned position = first + index;
    const uint8_t *counts = macroblock->total_coeff;
    int left = index % 2 != 0 ? counts[position - 1] : near->a ? near->a->total_coeff[position + 1] : -1;
    int above = index >= 2 ? counts[position - 2] : near->b ? near->b->total_coeff[position + 2] : -1;
    return predict_total_coeff(left, above);
}

/* 9.2.1, table 9-5. nC is -1 for chroma DC. */
static void write_coeff_token(struct bits *bits, unsigned total_coeff, unsigned trailing_ones, int nc)
{
    if (nc >= 8)
        bits_put(bits, total_coeff == 0 ? 3 : (total_coeff - 1) << 2 | trailing_ones, 6);
    else
        write_code(bits, h264_coeff_token[nc < 0 ? 3 : nc < 2 ? 0 : nc < 4 ? 1 : 2][trailing_ones][total_coeff]);
}

/* 9.2.2.1: level_prefix and level_suffix for levelCode. */
static void write_level(struct bits *bits, unsigned level_code, unsigned suffix_length)
{
    if (suffix_length == 0 && level_code >= 14 && level_code < 30) {
        bits_put(bits, 1, 15);
        bits_put(bits, level_code - 14, 4);
        return;
    }
    unsigned escape = suffix_length == 0 ? 30 : 15U << suffix_length;
    if (level_code >= escape) {
        bits_put(bits, 1, 16);
        bits_put(bits, level_code - escape, 12);
        return;
    }
    bits_put(bits, 1, (level_code >> suffix_length) + 1);
    bits_put(bits, level_code & ((1U << suffix_length) - 1), suffix_length);
}

/* 9.2.2: signs of the trailing ones, then the other levels, highest frequency first. */
static void write_levels(struct bits *bits, const int *levels, unsigned total_coeff, unsigned trailing_ones)
{
    for (unsigned index = 0; index < trailing_ones; index++)
        bits_put(bits, levels[index] < 0, 1);
    unsigned suffix_length = total_coeff > 10 && trailing_ones < 3 ? 1 : 0;
    for (unsigned index = trailing_ones; index < total_coeff; index++) {
        unsigned magnitude = (unsigned)abs(levels[index]);
        unsigned level_code = 2 * magnitude - (levels[index] > 0 ? 2 : 1);
        if (index == trailing_ones && trailing_ones < 3)
            level_code -= 2;
        write_level(bits, level_code, suffix_length);
        if (suffix_length == 0)
            suffix_length = 1;
        if (magnitude > 3U << (suffix_length - 1) && suffix_length < 6)
            suffix_length++;
    }
}

/* 9.2.3: total_zeros and run_before; `runs[i]` zeros precede level i. */
static void write_runs(struct bits *bits, const unsigned *runs, unsigned total_coeff, unsigned maximum)
{
    unsigned zeros_left = 0;
    for (unsigned index = 0; index < total_coeff; index++)
        zeros_left += runs[index];
    if (total_coeff < maximum && maximum == 4)
        write_code(bits, h264_total_zeros_chroma_dc[total_coeff - 1][zeros_left]);
    else if (total_coeff < maximum)
        write_code(bits, h264_total_zeros[total_coeff - 1][zeros_left]);
    for (unsigned index = 0; index + 1 < total_coeff && zeros_left > 0; index++) {
        write_code(bits, h264_run_before[(zeros_left < 7 ? zeros_left : 7) - 1][runs[index]]);
        zeros_left -= runs[index];
    }
}

/* 7.3.5.3.2: residual_block_cavlc of `maximum` coefficients. */
static void write_block(struct bits *bits, const int16_t *coefficients, unsigned maximum, int nc)
{
    int levels[16];
    unsigned runs[16] = {0};
    unsigned total_coeff = 0, trailing_ones = 0;
    for (unsigned index = maximum; index-- > 0;) {
        if (coefficients[index] != 0)
            levels[total_coeff++] = coefficients[index];
        else if (total_coeff > 0)
            runs[total_coeff - 1]++;
    }
    while (trailing_ones < total_coeff && trailing_ones < 3 && abs(levels[trailing_ones]) == 1)
        trailing_ones++;
    write_coeff_token(bits, total_coeff, trailing_ones, nc);
    if (total_coeff == 0)
        return;
    write_levels(bits, levels, total_coeff, trailing_ones);
    write_runs(bits, runs, total_coeff, maximum);
}

/* 7.3.5.3 for I_16x16. */
static void write_residual(struct bits *bits, const struct neighbours *near, const struct macroblock *macroblock,
                           const struct decision *decision)
{
    const struct levels *levels = &decision->levels;
    write_block(bits, levels->luma_dc, 16, luma_context(near, macroblock, 0));
    for (unsigned index = 0; index < 16 && decision->cbp_luma != 0; index++) {
        int nc = luma_context(near, macroblock, h264_block_position[index]);
        write_block(bits, levels->luma_ac[index], 15, nc);
    }
    for (unsigned component = 0; component < 2 && decision->cbp_chroma != 0; component++)
        write_block(bits, levels->chroma_dc[component], 4, -1);
    for (unsigned index = 0; index < 8 && decision->cbp_chroma == 2; index++) {
        int nc = chroma_context(near, macroblock, index / 4, index % 4);
        write_block(bits, levels->chroma_ac[index / 4][index % 4], 15, nc);
    }
}

/* 9.1: te(v). */
static void write_truncated(struct bits *bits, unsigned value, unsigned maximum)
{
    if (maximum > 1)
        bits_put_ue(bits, value);
    else
        bits_put(bits, !value, 1);
}

/* 7.3.5.1 for 16x16 partitions, and a coded_block_pattern of 0. */
static void write_inter(struct slice *slice, const struct decision *decision)
{
    struct bits *bits = &slice->bits;
    const int8_t *ref_idx = decision->ref_idx;
    bool both = ref_idx[0] >= 0 && ref_idx[1] >= 0;
    bits_put_ue(bits, slice->type == H264_SLICE_P ? 0 : both ? 3 : ref_idx[0] >= 0 ? 1 : 2);
    for (unsigned list = 0; list < 2; list++)
        if (ref_idx[list] >= 0 && slice->active[list] > 1)
            write_truncated(bits, (unsigned)ref_idx[list], slice->active[list] - 1);
    for (unsigned list = 0; list < 2; list++)
        if (ref_idx[list] >= 0)
            bits_put(bits, 3, 2); /* mvd_lX 0, 0 */
    bits_put_ue(bits, 0);         /* coded_block_pattern 0, by table 9-4 */
}

/* 7.3.5 for I_PCM. */
static void write_pcm(struct bits *bits, const struct samples *samples)
{
    bits_put(bits, 0, (unsigned)(-bits->count & 7)); /* pcm_alignment_zero_bit */
    pcm_write_samples(bits, samples);
}

/* mb_type of an intra macroblock in an I slice (table 7-11): Intra16x16PredMode is 2. */
static unsigned intra_mb_type(const struct decision *decision)
{
    if (decision->kind == MACROBLOCK_PCM)
        return 25;
    return 1 + 2 + 4U * decision->cbp_chroma + (decision->cbp_luma != 0 ? 12 : 0);
}

/* 7.3.4 and 7.3.5: mb_skip_run where a run ends, then macroblock_layer. */
void cavlc_write_macroblock(struct slice *slice, const struct neighbours *near, const struct macroblock *macroblock,
                            const struct decision *decision)
{
    static const unsigned first_intra_type[] = {[H264_SLICE_P] = 5, [H264_SLICE_B] = 23, [H264_SLICE_I] = 0};
    struct bits *bits = &slice->bits;
    if (decision->kind == MACROBLOCK_SKIP) {
        slice->skip_run++;
        return;
    }
    if (slice->type != H264_SLICE_I)
        bits_put_ue(bits, slice->skip_run);
    slice->skip_run = 0;
    if (decision->kind == MACROBLOCK_INTER) {
        write_inter(slice, decision);
        return;
    }
    bits_put_ue(bits, first_intra_type[slice->type] + intra_mb_type(decision));
    if (decision->kind == MACROBLOCK_PCM) {
        write_pcm(bits, &decision->samples);
        return;
    }
    bits_put_ue(bits, 0); /* intra_chroma_pred_mode: DC */
    bits_put_se(bits, decision->mb_qp_delta);
    write_residual(bits, near, macroblock, decision);
}

/* 7.3.4: the last run, then rbsp_slice_trailing_bits. */
void cavlc_end_slice(struct slice *slice)
{
    if (slice->skip_run > 0)
        bits_put_ue(&slice->bits, slice->skip_run);
    bits_trail(&slice->bits);
}
