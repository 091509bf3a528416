/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Macroblocks in context-based adaptive binary arithmetic coding (7.3.5, 9.3). */
#include "coder_parts.h"

#include <stdlib.h>

/* First ctxIdx of each syntax element (table 9-34). */
enum {
    CTX_MB_TYPE_I = 3,
    CTX_MB_SKIP_FLAG_P = 11,
    CTX_MB_TYPE_P = 14,
    CTX_MB_TYPE_P_INTRA = 17,
    CTX_MB_SKIP_FLAG_B = 24,
    CTX_MB_TYPE_B = 27,
    CTX_MB_TYPE_B_INTRA = 32,
    CTX_MVD_X = 40,
    CTX_MVD_Y = 47,
    CTX_REF_IDX = 54,
    CTX_MB_QP_DELTA = 60,
    CTX_INTRA_CHROMA_PRED_MODE = 64,
    CTX_CBP_LUMA = 73,
    CTX_CBP_CHROMA = 77,
    CTX_CODED_BLOCK_FLAG = 85,
    CTX_SIGNIFICANT_COEFF_FLAG = 105,
    CTX_LAST_SIGNIFICANT_COEFF_FLAG = 166,
    CTX_COEFF_ABS_LEVEL_MINUS1 = 227,
};

/* ctxBlockCat (table 9-42). */
enum block_category { LUMA_DC = 0, LUMA_AC = 1, CHROMA_DC = 3, CHROMA_AC = 4 };

static void encode(struct slice *slice, unsigned ctx_idx, unsigned bin)
{
    arithmetic_encode(&slice->cabac.engine, &slice->cabac.states[ctx_idx], bin, &slice->bits);
}

static void encode_bypass(struct slice *slice, unsigned bin)
{
    arithmetic_encode_bypass(&slice->cabac.engine, bin, &slice->bits);
}

static void encode_terminate(struct slice *slice, unsigned bin)
{
    arithmetic_encode_terminate(&slice->cabac.engine, bin, &slice->bits);
}

/* 7.3.4 cabac_alignment_one_bit, 9.3.1.1 context variables, 9.3.1.2 engine. */
void cabac_begin_slice(struct slice *slice, int qp)
{
    struct cabac *cabac = &slice->cabac;
    unsigned padding = (unsigned)(-slice->bits.count & 7);
    bits_put(&slice->bits, (1U << padding) - 1, padding);
    unsigned column = slice->type == H264_SLICE_I ? 0 : 1 + slice->header->cabac_init_idc;
    for (unsigned ctx_idx = 0; ctx_idx < H264_CONTEXTS; ctx_idx++) {
        const int8_t *parameters = h264_context_initialisation[ctx_idx][column];
        cabac->states[ctx_idx] = arithmetic_state(((parameters[0] * clip3(0, 51, qp)) >> 4) + parameters[1]);
    }
    arithmetic_start(&cabac->engine);
    cabac->previous_qp_delta_coded = false;
}

/* ctxIdxInc of mb_skip_flag (9.3.3.1.1.1) and of the first bin of mb_type in B slices (9.3.3.1.1.3): how many
 * neighbours are not skipped. */
static unsigned skip_increment(const struct neighbours *near)
{
    bool a = near->a && near->a->kind != MACROBLOCK_SKIP, b = near->b && near->b->kind != MACROBLOCK_SKIP;
    return (unsigned)a + (unsigned)b;
}

/* 9.3.3.1.1.1. */
static void write_mb_skip_flag(struct slice *slice, const struct neighbours *near, unsigned flag)
{
    unsigned increment = skip_increment(near);
    encode(slice, (slice->type == H264_SLICE_P ? CTX_MB_SKIP_FLAG_P : CTX_MB_SKIP_FLAG_B) + increment, flag);
}

/* The bins of I_16x16 and I_PCM (table 9-36) after the first, which differs between slice types. `contexts` are those
 * of AC luma, chroma, AC chroma and the two bins of the prediction mode (9.3.3.1.2, table 9-39). */
static void write_intra_type(struct slice *slice, const struct decision *decision, const uint8_t contexts[5])
{
    encode_terminate(slice, decision->kind == MACROBLOCK_PCM);
    if (decision->kind == MACROBLOCK_PCM)
        return;
    encode(slice, contexts[0], decision->cbp_luma != 0);
    encode(slice, contexts[1], decision->cbp_chroma != 0);
    if (decision->cbp_chroma != 0)
        encode(slice, contexts[2], decision->cbp_chroma == 2);
    encode(slice, contexts[3], 1); /* Intra16x16PredMode 2 */
    encode(slice, contexts[4], 0);
}

/* 9.3.2.5 and 9.3.3.1.1.3: mb_type of intra macroblocks. No macroblock is I_NxN. */
static void write_intra_mb_type(struct slice *slice, const struct neighbours *near, const struct decision *decision)
{
    static const uint8_t contexts[3][5] = {
        [H264_SLICE_I] = {CTX_MB_TYPE_I + 3, CTX_MB_TYPE_I + 4, CTX_MB_TYPE_I + 5, CTX_MB_TYPE_I + 6,
                          CTX_MB_TYPE_I + 7},
        [H264_SLICE_P] = {CTX_MB_TYPE_P_INTRA + 1, CTX_MB_TYPE_P_INTRA + 2, CTX_MB_TYPE_P_INTRA + 2,
                          CTX_MB_TYPE_P_INTRA + 3, CTX_MB_TYPE_P_INTRA + 3},
        [H264_SLICE_B] = {CTX_MB_TYPE_B_INTRA + 1, CTX_MB_TYPE_B_INTRA + 2, CTX_MB_TYPE_B_INTRA + 2,
                          CTX_MB_TYPE_B_INTRA + 3, CTX_MB_TYPE_B_INTRA + 3},
    };
    if (slice->type == H264_SLICE_I) {
        encode(slice, CTX_MB_TYPE_I + (near->a != NULL) + (near->b != NULL), 1);
    } else if (slice->type == H264_SLICE_P) {
        encode(slice, CTX_MB_TYPE_P, 1);
        encode(slice, CTX_MB_TYPE_P_INTRA, 1);
    } else {
        encode(slice, CTX_MB_TYPE_B + skip_increment(near), 1);
        encode(slice, CTX_MB_TYPE_B + 3, 1);
        encode(slice, CTX_MB_TYPE_B + 4, 1);
        encode(slice, CTX_MB_TYPE_B + 5, 1);
        encode(slice, CTX_MB_TYPE_B + 5, 0);
        encode(slice, CTX_MB_TYPE_B + 5, 1);
        encode(slice, CTX_MB_TYPE_B_INTRA, 1);
    }
    write_intra_type(slice, decision, contexts[slice->type]);
}

/* 9.3.2.5 (table 9-37) and 9.3.3.1.1.3: mb_type of 16x16 inter macroblocks. */
static void write_inter_mb_type(struct slice *slice, const struct neighbours *near, const struct decision *decision)
{
    if (slice->type == H264_SLICE_P) {
        encode(slice, CTX_MB_TYPE_P, 0);
        encode(slice, CTX_MB_TYPE_P + 1, 0);
        encode(slice, CTX_MB_TYPE_P + 2, 0);
        return;
    }
    bool both = decision->ref_idx[0] >= 0 && decision->ref_idx[1] >= 0;
    encode(slice, CTX_MB_TYPE_B + skip_increment(near), 1);
    encode(slice, CTX_MB_TYPE_B + 3, both);
    if (!both) {
        encode(slice, CTX_MB_TYPE_B + 5, decision->ref_idx[1] >= 0);
        return;
    }
    encode(slice, CTX_MB_TYPE_B + 4, 0);
    for (unsigned bin = 0; bin < 3; bin++)
        encode(slice, CTX_MB_TYPE_B + 5, 0);
}

/* 9.3.3.1.1.6; unary. References of B_Skip count as 0. */
static void write_ref_idx(struct slice *slice, const struct neighbours *near, unsigned list, int ref_idx)
{
    bool a = near->a && near->a->kind == MACROBLOCK_INTER && near->a->ref_idx[list] > 0;
    bool b = near->b && near->b->kind == MACROBLOCK_INTER && near->b->ref_idx[list] > 0;
    unsigned increment = (unsigned)a + 2 * (unsigned)b;
    for (int bin = 0; bin < ref_idx; bin++) {
        encode(slice, CTX_REF_IDX + increment, 1);
        increment = bin == 0 ? 4 : 5;
    }
    encode(slice, CTX_REF_IDX + increment, 0);
}

/* 9.3.3.1.1.4: a coded_block_pattern of 0. */
static void write_zero_coded_block_pattern(struct slice *slice, const struct neighbours *near)
{
    bool a_zero = near->a && near->a->kind != MACROBLOCK_PCM && near->a->cbp_luma == 0;
    bool b_zero = near->b && near->b->kind != MACROBLOCK_PCM && near->b->cbp_luma == 0;
    encode(slice, CTX_CBP_LUMA + (unsigned)a_zero + 2 * (unsigned)b_zero, 0);
    encode(slice, CTX_CBP_LUMA + 1 + 2 * (unsigned)b_zero, 0);
    encode(slice, CTX_CBP_LUMA + (unsigned)a_zero + 2, 0);
    encode(slice, CTX_CBP_LUMA + 1 + 2, 0);
    bool a_chroma = near->a && (near->a->kind == MACROBLOCK_PCM || near->a->cbp_chroma != 0);
    bool b_chroma = near->b && (near->b->kind == MACROBLOCK_PCM || near->b->cbp_chroma != 0);
    encode(slice, CTX_CBP_CHROMA + (unsigned)a_chroma + 2 * (unsigned)b_chroma, 0);
}

/* 7.3.5.1 for 16x16 partitions. Differences of motion vectors are 0 here and around (9.3.3.1.1.7). */
static void write_inter(struct slice *slice, const struct neighbours *near, const struct decision *decision)
{
    write_inter_mb_type(slice, near, decision);
    for (unsigned list = 0; list < 2; list++)
        if (decision->ref_idx[list] >= 0 && slice->active[list] > 1)
            write_ref_idx(slice, near, list, decision->ref_idx[list]);
    for (unsigned list = 0; list < 2; list++) {
        if (decision->ref_idx[list] < 0)
            continue;
        encode(slice, CTX_MVD_X, 0);
        encode(slice, CTX_MVD_Y, 0);
    }
    write_zero_coded_block_pattern(slice, near);
}

/* 9.3.2.7 and 9.3.3.1.1.5. */
static void write_mb_qp_delta(struct slice *slice, int mb_qp_delta)
{
    unsigned mapped = mb_qp_delta > 0 ? 2 * (unsigned)mb_qp_delta - 1 : 2 * (unsigned)-mb_qp_delta;
    unsigned increment = slice->cabac.previous_qp_delta_coded;
    for (unsigned bin = 0; bin < mapped; bin++) {
        encode(slice, CTX_MB_QP_DELTA + increment, 1);
        increment = bin == 0 ? 2 : 3;
    }
    encode(slice, CTX_MB_QP_DELTA + increment, 0);
}

/* coeff_abs_level_minus1: prefix TU with cMax 14 in contexts, suffix Exp-Golomb of order 0 in bypass (9.3.2.3). */
static void write_magnitude(struct slice *slice, unsigned first_context, unsigned next_context, unsigned minus1)
{
    for (unsigned bin = 0; bin < minus1 && bin < 14; bin++)
        encode(slice, bin == 0 ? first_context : next_context, 1);
    if (minus1 < 14) {
        encode(slice, minus1 == 0 ? first_context : next_context, 0);
        return;
    }
    unsigned rest = minus1 - 14, order = 0;
    for (; rest >= 1U << order; order++) {
        encode_bypass(slice, 1);
        rest -= 1U << order;
    }
    encode_bypass(slice, 0);
    while (order-- > 0)
        encode_bypass(slice, rest >> order & 1);
}

/* 9.3.3.1.3: levels with their signs, highest frequency first. */
static void write_magnitudes(struct slice *slice, enum block_category category, const int16_t *levels, unsigned count)
{
    static const uint8_t offsets[] = {[LUMA_DC] = 0, [LUMA_AC] = 10, [CHROMA_DC] = 30, [CHROMA_AC] = 39};
    unsigned base = CTX_COEFF_ABS_LEVEL_MINUS1 + offsets[category];
    unsigned ones = 0, greater = 0, most_greater = category == CHROMA_DC ? 3 : 4;
    for (unsigned index = count; index-- > 0;) {
        if (levels[index] == 0)
            continue;
        unsigned minus1 = (unsigned)abs(levels[index]) - 1;
        unsigned first = greater > 0 ? 0 : ones < 3 ? 1 + ones : 4;
        unsigned next = 5 + (greater < most_greater ? greater : most_greater);
        write_magnitude(slice, base + first, base + next, minus1);
        encode_bypass(slice, levels[index] < 0);
        if (minus1 == 0)
            ones++;
        else
            greater++;
    }
}

/* 7.3.5.3.3: residual_block_cabac of `maximum` coefficients, with the increment of coded_block_flag given. */
static void write_block(struct slice *slice, enum block_category category, const int16_t *levels, unsigned maximum,
                        unsigned increment)
{
    static const uint8_t flag_offsets[] = {[LUMA_DC] = 0, [LUMA_AC] = 15, [CHROMA_DC] = 44, [CHROMA_AC] = 47};
    unsigned count = maximum;
    while (count > 0 && levels[count - 1] == 0)
        count--;
    encode(slice, CTX_CODED_BLOCK_FLAG + 4 * (unsigned)category + increment, count > 0);
    if (count == 0)
        return;
    for (unsigned index = 0; index < maximum - 1 && index < count; index++) {
        unsigned context = flag_offsets[category] + (category == CHROMA_DC && index > 2 ? 2 : index);
        encode(slice, CTX_SIGNIFICANT_COEFF_FLAG + context, levels[index] != 0);
        if (levels[index] != 0)
            encode(slice, CTX_LAST_SIGNIFICANT_COEFF_FLAG + context, index + 1 == count);
    }
    write_magnitudes(slice, category, levels, count);
}

/* 9.3.3.1.1.9 for a block in a neighbouring macroblock of a current intra macroblock. Records of macroblocks without
 * such a block hold 0. */
static unsigned coded_beyond(const struct macroblock *neighbour, unsigned coded)
{
    return !neighbour || neighbour->kind == MACROBLOCK_PCM || coded;
}

/* 9.3.3.1.1.9: increment of coded_block_flag of a DC block, component 0 luma, 1 Cb, 2 Cr. */
static unsigned dc_increment(const struct neighbours *near, unsigned component)
{
    return coded_beyond(near->a, near->a && near->a->dc_coded[component]) +
           2 * coded_beyond(near->b, near->b && near->b->dc_coded[component]);
}

/* 9.3.3.1.1.9: increment of coded_block_flag of an AC block at a raster position in its plane of `size` by `size`
 * blocks, whose counts begin at `first`. */
static unsigned ac_increment(const struct neighbours *near, const struct macroblock *macroblock, unsigned first,
                             unsigned size, unsigned position)
{
    const uint8_t *counts = macroblock->total_coeff + first;
    unsigned left = position % size != 0
                        ? counts[position - 1] != 0
                        : coded_beyond(near->a, near->a && near->a->total_coeff[first + position + size - 1]);
    unsigned above = position >= size
                         ? counts[position - size] != 0
                         : coded_beyond(near->b, near->b && near->b->total_coeff[first + position + size * (size - 1)]);
    return left + 2 * above;
}

/* 7.3.5.3 for I_16x16. */
static void write_residual(struct slice *slice, const struct neighbours *near, const struct macroblock *macroblock,
                           const struct decision *decision)
{
    const struct levels *levels = &decision->levels;
    write_block(slice, LUMA_DC, levels->luma_dc, 16, dc_increment(near, 0));
    for (unsigned index = 0; index < 16 && decision->cbp_luma != 0; index++) {
        unsigned increment = ac_increment(near, macroblock, 0, 4, h264_block_position[index]);
        write_block(slice, LUMA_AC, levels->luma_ac[index], 15, increment);
    }
    for (unsigned component = 0; component < 2 && decision->cbp_chroma != 0; component++)
        write_block(slice, CHROMA_DC, levels->chroma_dc[component], 4, dc_increment(near, 1 + component));
    for (unsigned index = 0; index < 8 && decision->cbp_chroma == 2; index++) {
        unsigned increment = ac_increment(near, macroblock, 16 + index / 4 * 4, 2, index % 4);
        write_block(slice, CHROMA_AC, levels->chroma_ac[index / 4][index % 4], 15, increment);
    }
}

/* 7.3.5: the samples follow the terminated arithmetic code, which starts anew after them (9.3.1.2). */
static void write_pcm(struct slice *slice, const struct samples *samples)
{
    bits_put(&slice->bits, 0, (unsigned)(-slice->bits.count & 7)); /* pcm_alignment_zero_bit */
    pcm_write_samples(&slice->bits, samples);
    arithmetic_start(&slice->cabac.engine);
}

/* 7.3.4 and 7.3.5: mb_skip_flag, then macroblock_layer. */
void cabac_write_macroblock(struct slice *slice, const struct neighbours *near, const struct macroblock *macroblock,
                            const struct decision *decision)
{
    if (slice->type != H264_SLICE_I)
        write_mb_skip_flag(slice, near, decision->kind == MACROBLOCK_SKIP);
    if (decision->kind == MACROBLOCK_INTER)
        write_inter(slice, near, decision);
    if (decision->kind == MACROBLOCK_INTRA || decision->kind == MACROBLOCK_PCM)
        write_intra_mb_type(slice, near, decision);
    if (decision->kind == MACROBLOCK_PCM)
        write_pcm(slice, &decision->samples);
    if (decision->kind == MACROBLOCK_INTRA) {
        encode(slice, CTX_INTRA_CHROMA_PRED_MODE, 0); /* DC, as all around are (9.3.3.1.1.8) */
        write_mb_qp_delta(slice, decision->mb_qp_delta);
        write_residual(slice, near, macroblock, decision);
    }
    slice->cabac.previous_qp_delta_coded = decision->kind == MACROBLOCK_INTRA && decision->mb_qp_delta != 0;
}

/* 7.3.4. After the slice's last macroblock only zero bits to the byte's end are missing. */
void cabac_write_end_of_slice_flag(struct slice *slice, bool end)
{
    encode_terminate(slice, end);
    if (end)
        bits_put(&slice->bits, 0, (unsigned)(-slice->bits.count & 7));
}
