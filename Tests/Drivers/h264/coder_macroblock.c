/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One macroblock: its mode, its samples, its record and its bits.
 *
 * The choice is one of rate and distortion. With Qstep, the quantiser's step (0.625 at QP 0, doubling every 6):
 * - Skip is taken without looking further where its squared error is at most Qstep^2 / 12 per sample, what the
 *   quantiser would leave anyway.
 * - Else the candidate with the least error + bits * Qstep^2 / 7 is taken: skip, prediction from each reference of
 *   either list, from the best of both together, I_16x16, and I_PCM. The bits of I_16x16 are estimated. With this,
 *   I_PCM is seldom worth its 3072 bits above QP 12, and noise is transmitted exactly at the lowest QPs.
 * - I_16x16 that turns out larger than a macroblock may be gives way to I_PCM.
 * A macroblock that must be intra has the last two candidates only; its own QP takes the place of the slice's. */
#include "coder_parts.h"

#include <string.h>

/* A macroblock on its way. */
struct position {
    struct h264_coder *coder;
    struct slice *slice;
    uint32_t address, column, row;
    struct neighbours near;
    bool direct_known; /* skip is possible; its references are: */
    int8_t direct[2];
    int qp;          /* QP_Y wanted */
    bool must_be_intra;
    struct samples source;
};

/* 6.4.8: the macroblock at `address` where it is in the slice and coded already. */
static const struct macroblock *available(const struct position *position, bool inside, uint32_t address)
{
    if (!inside || position->coder->macroblocks[address].slice != position->slice->number)
        return NULL;
    return &position->coder->macroblocks[address];
}

/* 6.4.9 */
static void find_neighbours(struct position *position)
{
    uint32_t width = position->coder->width, address = position->address;
    bool left = position->column > 0, above = position->row > 0, right = position->column + 1 < width;
    position->near.a = available(position, left, address - 1);
    position->near.b = available(position, above, address - width);
    position->near.c = available(position, above && right, address - width + 1);
    position->near.d = available(position, above && left, address - width - 1);
}

/* The references of P_Skip (8.4.1.1) or B_Skip. */
static void find_skip_references(struct position *position)
{
    position->direct[0] = 0;
    position->direct[1] = -1;
    position->direct_known = position->slice->type == H264_SLICE_P;
    if (position->slice->type == H264_SLICE_B)
        position->direct_known =
            direct_references(position->slice, &position->near, position->address, position->direct);
}

static uint32_t squared_error(const struct samples *a, const struct samples *b)
{
    uint32_t sum = 0;
    for (unsigned index = 0; index < sizeof a->luma; index++)
        sum += (uint32_t)((a->luma[index] - b->luma[index]) * (a->luma[index] - b->luma[index]));
    for (unsigned index = 0; index < sizeof a->chroma; index++)
        sum += (uint32_t)((a->chroma[index] - b->chroma[index]) * (a->chroma[index] - b->chroma[index]));
    return sum;
}

/* 256 * Qstep^2. */
static uint64_t squared_step(int qp)
{
    static const uint8_t sixteenths[6] = {10, 11, 13, 14, 16, 18};
    uint64_t step = (uint64_t)sixteenths[qp % 6] << (qp / 6);
    return step * step;
}

static uint64_t cost_of(uint32_t error, uint32_t bits, int qp)
{
    return error + bits * squared_step(qp) / (256 * 7);
}

static bool skip_suffices(uint32_t error, int qp)
{
    return error <= 384 * squared_step(qp) / (256 * 12);
}

/* The best so far. */
struct search {
    struct decision *best;
    uint64_t cost;
};

/* Takes prediction from the references given in place of the best so far, where it costs less. Returns the error. */
static uint32_t try_inter(const struct position *position, struct search *search, enum macroblock_kind kind,
                          const int8_t ref_idx[2])
{
    struct samples prediction;
    predict_inter(position->slice, position->column, position->row, ref_idx, &prediction);
    uint32_t error = squared_error(&position->source, &prediction);
    uint32_t bits = kind == MACROBLOCK_SKIP ? 1 : 5;
    for (unsigned list = 0; list < 2 && kind != MACROBLOCK_SKIP; list++)
        for (int rest = ref_idx[list]; rest > 0; rest >>= 1)
            bits += 2;
    uint64_t cost = cost_of(error, bits, position->qp);
    if (cost >= search->cost)
        return error;
    search->cost = cost;
    search->best->kind = kind;
    memcpy(search->best->ref_idx, ref_idx, sizeof search->best->ref_idx);
    search->best->samples = prediction;
    return error;
}

/* Every reference of each list alone, then the best of list 0 with the best of list 1. */
static void try_references(const struct position *position, struct search *search)
{
    int8_t both[2] = {-1, -1};
    for (unsigned list = 0; list < 2; list++) {
        uint32_t least = UINT32_MAX;
        for (unsigned index = 0; index < position->slice->active[list]; index++) {
            int8_t ref_idx[2] = {-1, -1};
            ref_idx[list] = (int8_t)index;
            uint32_t error = try_inter(position, search, MACROBLOCK_INTER, ref_idx);
            if (error < least) {
                least = error;
                both[list] = (int8_t)index;
            }
        }
    }
    if (both[0] >= 0 && both[1] >= 0)
        try_inter(position, search, MACROBLOCK_INTER, both);
}

/* 8.3.3 and 8.3.4: whether intra prediction may use a neighbour. */
static bool usable_for_intra(const struct position *position, const struct macroblock *neighbour)
{
    return neighbour && (!position->coder->pps.constrained_intra_pred_flag || macroblock_is_intra(neighbour));
}

static void predict_from_neighbours(const struct position *position, struct samples *prediction)
{
    predict_intra(position->coder->reconstruction, position->column, position->row,
                  usable_for_intra(position, position->near.a), usable_for_intra(position, position->near.b),
                  prediction);
}

static void try_intra(const struct position *position, struct search *search)
{
    const struct h264_coder *coder = position->coder;
    int qp = position->qp;
    int qp_chroma[2] = {residual_chroma_qp(qp, coder->chroma_offset[0]),
                        residual_chroma_qp(qp, coder->chroma_offset[1])};
    struct samples prediction;
    struct decision intra;
    intra.kind = MACROBLOCK_INTRA;
    intra.ref_idx[0] = intra.ref_idx[1] = -1;
    predict_from_neighbours(position, &prediction);
    residual_code(&intra, &position->source, &prediction, qp, qp_chroma);
    uint32_t bits = 8 + residual_estimate_bits(&intra);
    uint64_t cost = cost_of(squared_error(&position->source, &intra.samples), bits, qp);
    if (cost >= search->cost)
        return;
    search->cost = cost;
    *search->best = intra;
}

static void try_pcm(const struct position *position, struct search *search)
{
    uint64_t cost = cost_of(0, 384 * 8 + 16, position->qp);
    if (cost >= search->cost)
        return;
    search->cost = cost;
    search->best->kind = MACROBLOCK_PCM;
    search->best->ref_idx[0] = search->best->ref_idx[1] = -1;
    search->best->samples = position->source;
}

static void decide_truthfully(struct position *position, struct decision *decision)
{
    struct search search = {.best = decision, .cost = UINT64_MAX};
    samples_load(&position->source, position->coder->source, position->column, position->row);
    if (position->direct_known && !position->must_be_intra) {
        uint32_t error = try_inter(position, &search, MACROBLOCK_SKIP, position->direct);
        if (skip_suffices(error, position->qp))
            return;
    }
    if (!position->must_be_intra)
        try_references(position, &search);
    try_intra(position, &search);
    try_pcm(position, &search);
}

/* H264_EFFORT_SKIP. Where temporal direct prediction cannot be used, prediction from the first entry of list 0. */
static void decide_without_source(const struct position *position, struct decision *decision)
{
    if (position->slice->type == H264_SLICE_I) {
        decision->kind = MACROBLOCK_INTRA;
        decision->ref_idx[0] = decision->ref_idx[1] = -1;
        decision->cbp_luma = decision->cbp_chroma = 0;
        memset(&decision->levels, 0, sizeof decision->levels);
        predict_from_neighbours(position, &decision->samples);
        return;
    }
    static const int8_t first[2] = {0, -1};
    decision->kind = position->direct_known ? MACROBLOCK_SKIP : MACROBLOCK_INTER;
    memcpy(decision->ref_idx, position->direct_known ? position->direct : first, sizeof decision->ref_idx);
    predict_inter(position->slice, position->column, position->row, decision->ref_idx, &decision->samples);
}

/* 7.4.5: mb_qp_delta wraps around, so that any QP_Y is one step away. */
static int qp_delta(int from, int to)
{
    return (to - from + 26 + 52) % 52 - 26;
}

static uint8_t count_levels(const int16_t *levels, unsigned count)
{
    uint8_t total = 0;
    for (unsigned index = 0; index < count; index++)
        total += levels[index] != 0;
    return total;
}

/* What neighbours will see of the residual: 0 for blocks that are not transmitted, 16 levels for I_PCM (9.2.1). */
static void record_residual(struct macroblock *macroblock, const struct decision *decision)
{
    const struct levels *levels = &decision->levels;
    macroblock->cbp_luma = decision->cbp_luma;
    macroblock->cbp_chroma = decision->cbp_chroma;
    macroblock->dc_coded[0] = count_levels(levels->luma_dc, 16) > 0;
    for (unsigned index = 0; index < 16 && decision->cbp_luma != 0; index++)
        macroblock->total_coeff[h264_block_position[index]] = count_levels(levels->luma_ac[index], 15);
    for (unsigned component = 0; component < 2 && decision->cbp_chroma != 0; component++)
        macroblock->dc_coded[1 + component] = count_levels(levels->chroma_dc[component], 4) > 0;
    for (unsigned index = 0; index < 8 && decision->cbp_chroma == 2; index++)
        macroblock->total_coeff[16 + index] = count_levels(levels->chroma_ac[index / 4][index % 4], 15);
}

/* Settles QP_Y (7.4.5) and what neighbours, deblocking and later pictures need. */
static struct macroblock *record(const struct position *position, struct decision *decision)
{
    struct slice *slice = position->slice;
    struct macroblock *macroblock = &position->coder->macroblocks[position->address];
    uint64_t *references = position->coder->reconstruction->motion->references[position->address];
    memset(macroblock, 0, sizeof *macroblock);
    macroblock->slice = slice->number;
    macroblock->kind = (uint8_t)decision->kind;
    memcpy(macroblock->ref_idx, decision->ref_idx, sizeof macroblock->ref_idx);
    for (unsigned list = 0; list < 2; list++)
        references[list] = decision->ref_idx[list] >= 0 ? slice->pictures[list][decision->ref_idx[list]] : 0;
    if (decision->kind == MACROBLOCK_INTRA) {
        decision->mb_qp_delta = qp_delta(slice->qp_predicted, position->qp);
        slice->qp_predicted = position->qp;
        record_residual(macroblock, decision);
    }
    macroblock->qp = (uint8_t)slice->qp_predicted;
    if (decision->kind == MACROBLOCK_PCM) {
        macroblock->qp = 0;
        memset(macroblock->total_coeff, 16, sizeof macroblock->total_coeff);
    }
    return macroblock;
}

void pcm_write_samples(struct bits *bits, const struct samples *samples)
{
    bits_append(bits, samples->luma, 0, sizeof samples->luma * 8);
    for (unsigned component = 0; component < 2; component++)
        for (unsigned index = component; index < sizeof samples->chroma; index += 2)
            bits_put(bits, samples->chroma[index], 8);
}

/* Samples, record and bits of a macroblock as decided. */
static void commit(const struct position *position, struct decision *decision)
{
    struct h264_coder *coder = position->coder;
    samples_store(&decision->samples, coder->reconstruction, position->column, position->row);
    const struct macroblock *macroblock = record(position, decision);
    if (coder->pps.entropy_coding_mode_flag)
        cabac_write_macroblock(position->slice, &position->near, macroblock, decision);
    else
        cavlc_write_macroblock(position->slice, &position->near, macroblock, decision);
}

/* What a slice goes back to when a macroblock is coded again. */
struct checkpoint {
    size_t bit_count;
    int qp_predicted;
    uint32_t skip_run;
    struct cabac cabac;
};

static struct checkpoint take_checkpoint(const struct slice *slice)
{
    return (struct checkpoint){slice->bits.count, slice->qp_predicted, slice->skip_run, slice->cabac};
}

static void return_to(struct slice *slice, const struct checkpoint *checkpoint)
{
    slice->bits.count = checkpoint->bit_count;
    if (slice->bits.count % 8 != 0)
        slice->bits.bytes[slice->bits.count / 8] &= (uint8_t)(0xff00 >> slice->bits.count % 8);
    slice->qp_predicted = checkpoint->qp_predicted;
    slice->skip_run = checkpoint->skip_run;
    slice->cabac = checkpoint->cabac;
}

/* Noise may take more bits than a macroblock is allowed, I_PCM does not. */
static void commit_within_limit(const struct position *position, struct decision *decision)
{
    struct slice *slice = position->slice;
    struct checkpoint checkpoint = take_checkpoint(slice);
    commit(position, decision);
    if (slice->bits.count - checkpoint.bit_count <= H264_MAXIMUM_MACROBLOCK_BITS || slice->bits.failed)
        return;
    return_to(slice, &checkpoint);
    decision->kind = MACROBLOCK_PCM;
    decision->samples = position->source;
    commit(position, decision);
}

/* What is wanted of this macroblock. */
static void find_wish(struct position *position)
{
    const struct h264_slice_request *request = position->slice->request;
    position->qp = request->qp;
    if (!request->wishes || position->coder->effort == H264_EFFORT_SKIP)
        return;
    const struct wish *wish = &request->wishes[position->address];
    position->must_be_intra = wish->intra;
    if (wish->qp_offset)
        position->qp = clip3(request->least_qp, request->most_qp ? request->most_qp : 51,
                             request->qp + wish->qp_offset);
}

static void count_macroblock(const struct position *position)
{
    struct h264_figures *figures = &position->coder->figures;
    figures->intra_macroblocks += macroblock_is_intra(&position->coder->macroblocks[position->address]);
    figures->least_qp = position->qp < figures->least_qp ? position->qp : figures->least_qp;
    figures->most_qp = position->qp > figures->most_qp ? position->qp : figures->most_qp;
}

void coder_code_macroblock(struct h264_coder *coder, struct slice *slice, uint32_t address)
{
    struct position position = {
        .coder = coder,
        .slice = slice,
        .address = address,
        .column = address % coder->width,
        .row = address / coder->width,
    };
    struct decision decision;
    find_neighbours(&position);
    find_skip_references(&position);
    find_wish(&position);
    if (coder->effort == H264_EFFORT_SKIP)
        decide_without_source(&position, &decision);
    else
        decide_truthfully(&position, &decision);
    if (decision.kind == MACROBLOCK_INTRA && coder->effort == H264_EFFORT_TRUTHFUL)
        commit_within_limit(&position, &decision);
    else
        commit(&position, &decision);
    count_macroblock(&position);
}
