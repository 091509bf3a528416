/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intra prediction (8.3), inter prediction without motion and its weights (8.4.2). */
#include "coder_parts.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *luma_at(const struct h264_frame *frame, uint32_t column, uint32_t row)
{
    return frame->luma + (size_t)row * 16 * frame->luma_pitch + (size_t)column * 16;
}

static uint8_t *chroma_at(const struct h264_frame *frame, uint32_t column, uint32_t row)
{
    return frame->chroma + (size_t)row * 8 * frame->chroma_pitch + (size_t)column * 16;
}

void samples_load(struct samples *out, const struct h264_frame *frame, uint32_t column, uint32_t row)
{
    const uint8_t *luma = luma_at(frame, column, row), *chroma = chroma_at(frame, column, row);
    for (unsigned y = 0; y < 16; y++)
        memcpy(out->luma + 16 * y, luma + y * frame->luma_pitch, 16);
    for (unsigned y = 0; y < 8; y++)
        memcpy(out->chroma + 16 * y, chroma + y * frame->chroma_pitch, 16);
}

void samples_store(const struct samples *samples, struct h264_frame *frame, uint32_t column, uint32_t row)
{
    uint8_t *luma = luma_at(frame, column, row), *chroma = chroma_at(frame, column, row);
    for (unsigned y = 0; y < 16; y++)
        memcpy(luma + y * frame->luma_pitch, samples->luma + 16 * y, 16);
    for (unsigned y = 0; y < 8; y++)
        memcpy(chroma + y * frame->chroma_pitch, samples->chroma + 16 * y, 16);
}

/* 8.3.3.3: Intra_16x16_DC. */
static int predict_luma_dc(const uint8_t *luma, ptrdiff_t pitch, bool left, bool above)
{
    int sum = 0;
    for (ptrdiff_t index = 0; index < 16 && above; index++)
        sum += luma[index - pitch];
    for (ptrdiff_t index = 0; index < 16 && left; index++)
        sum += luma[index * pitch - 1];
    if (left && above)
        return (sum + 16) >> 5;
    return left || above ? (sum + 8) >> 4 : 128;
}

/* 8.3.4.1 to 8.3.4.3: Intra_Chroma_DC of one component's 4x4 block, x and y of which are 0 or 4. */
static int predict_chroma_dc(const uint8_t *chroma, ptrdiff_t pitch, int x, int y, bool left, bool above)
{
    if (left && above && x != y) {
        left = x == 0;
        above = y == 0;
    }
    int sum = 0;
    for (ptrdiff_t index = 0; index < 4 && above; index++)
        sum += chroma[2 * (x + index) - pitch];
    for (ptrdiff_t index = 0; index < 4 && left; index++)
        sum += chroma[(y + index) * pitch - 2];
    if (left && above)
        return (sum + 4) >> 3;
    return left || above ? (sum + 2) >> 2 : 128;
}

/* 8.3.3 and 8.3.4 in their DC modes, from the frame's samples before deblocking. `left` and `above` say whether the
 * neighbouring macroblocks may be used. */
void predict_intra(const struct h264_frame *frame, uint32_t column, uint32_t row, bool left, bool above,
                   struct samples *out)
{
    const uint8_t *luma = luma_at(frame, column, row), *chroma = chroma_at(frame, column, row);
    memset(out->luma, predict_luma_dc(luma, (ptrdiff_t)frame->luma_pitch, left, above), sizeof out->luma);
    for (int block = 0; block < 8; block++) {
        int component = block / 4, x = block % 2 * 4, y = block / 2 % 2 * 4;
        int value = predict_chroma_dc(chroma + component, (ptrdiff_t)frame->chroma_pitch, x, y, left, above);
        for (int index = 0; index < 16; index++)
            out->chroma[(y + index / 4) * 16 + (x + index % 4) * 2 + component] = (uint8_t)value;
    }
}

/* 8.4.3, implicit mode: w1 of two references, w0 being 64 - w1. */
static int implicit_weight(int32_t current, const struct h264_frame *first, const struct h264_frame *second)
{
    int64_t difference = (int64_t)second->picture_order_count - first->picture_order_count;
    if (difference == 0 || first->long_term || second->long_term)
        return 32;
    int tb = (int)(current - (int64_t)first->picture_order_count < -128  ? -128
                   : current - (int64_t)first->picture_order_count > 127 ? 127
                                                                         : current - first->picture_order_count);
    int td = difference < -128 ? -128 : difference > 127 ? 127 : (int)difference;
    int tx = (16384 + abs(td / 2)) / td;
    int dist_scale_factor = clip3(-1024, 1023, (tb * tx + 32) >> 6);
    int weight = dist_scale_factor >> 2;
    return weight < -64 || weight > 128 ? 32 : weight;
}

/* Which mode of weighted prediction the slice uses (8.4.2.3), and the implicit weights of all pairs of references. */
void predict_prepare_weights(const struct h264_coder *coder, struct slice *slice)
{
    const struct h264_slice_request *request = slice->request;
    bool b = slice->type == H264_SLICE_B;
    slice->explicit_weights = b ? coder->pps.weighted_bipred_idc == 1 : coder->pps.weighted_pred_flag != 0;
    slice->implicit_weights = b && coder->pps.weighted_bipred_idc == 2;
    if (!slice->implicit_weights)
        return;
    for (unsigned first = 0; first < slice->active[0]; first++)
        for (unsigned second = 0; second < slice->active[1]; second++)
            slice->implicit_weight[first][second] =
                (int16_t)implicit_weight(coder->reconstruction->picture_order_count, request->references[0][first],
                                         request->references[1][second]);
}

/* Weights and offsets of one component in both lists (8.4.3): logWDC, w0C and w1C, o0C and o1C. */
struct weighting {
    int log_wd, weight[2], offset[2];
};

/* 8.4.3, explicit mode; component 0 luma, 1 Cb, 2 Cr. A list that is not used keeps 0. */
static struct weighting explicit_weighting(const struct h264_slice_header *header, const int8_t ref_idx[2],
                                           unsigned component)
{
    struct weighting weighting = {0};
    weighting.log_wd = (int)(component == 0 ? header->luma_log2_weight_denom : header->chroma_log2_weight_denom);
    for (unsigned list = 0; list < 2; list++) {
        if (ref_idx[list] < 0)
            continue;
        const struct h264_weight *weight = &header->weight[list][ref_idx[list]];
        bool coded = component == 0 ? weight->luma_weight_flag : weight->chroma_weight_flag;
        weighting.weight[list] = 1 << weighting.log_wd;
        if (!coded)
            continue;
        weighting.weight[list] = component == 0 ? weight->luma_weight : weight->chroma_weight[component - 1];
        weighting.offset[list] = component == 0 ? weight->luma_offset : weight->chroma_offset[component - 1];
    }
    return weighting;
}

/* 8.4.2.3.2 with one reference; in place, every `step`th sample. */
static void weigh_one(uint8_t *samples, unsigned count, unsigned step, const struct weighting *weighting, unsigned list)
{
    int weight = weighting->weight[list], offset = weighting->offset[list], log_wd = weighting->log_wd;
    int rounding = log_wd >= 1 ? 1 << (log_wd - 1) : 0;
    for (unsigned index = 0; index < count; index += step)
        samples[index] = clip_sample(((samples[index] * weight + rounding) >> log_wd) + offset);
}

/* 8.4.2.3.2 with two references; into `first`. */
static void weigh_two(uint8_t *first, const uint8_t *second, unsigned count, unsigned step,
                      const struct weighting *weighting)
{
    int offset = (weighting->offset[0] + weighting->offset[1] + 1) >> 1, log_wd = weighting->log_wd;
    for (unsigned index = 0; index < count; index += step) {
        int sum = first[index] * weighting->weight[0] + second[index] * weighting->weight[1];
        first[index] = clip_sample(((sum + (1 << log_wd)) >> (log_wd + 1)) + offset);
    }
}

/* 8.4.2.3.1: the default, rounded average. */
static void average(struct samples *first, const struct samples *second)
{
    for (unsigned index = 0; index < sizeof first->luma; index++)
        first->luma[index] = (uint8_t)((first->luma[index] + second->luma[index] + 1) >> 1);
    for (unsigned index = 0; index < sizeof first->chroma; index++)
        first->chroma[index] = (uint8_t)((first->chroma[index] + second->chroma[index] + 1) >> 1);
}

/* 8.4.2.3.2 with explicit weights, of `out` and, where both lists are used, `second`; into `out`. */
static void predict_explicit(const struct slice *slice, const int8_t ref_idx[2], struct samples *out,
                             const struct samples *second)
{
    for (unsigned component = 0; component < 3; component++) {
        struct weighting weighting = explicit_weighting(slice->header, ref_idx, component);
        uint8_t *plane = component == 0 ? out->luma : out->chroma + component - 1;
        const uint8_t *other = component == 0 ? second->luma : second->chroma + component - 1;
        unsigned count = component == 0 ? sizeof out->luma : sizeof out->chroma - component + 1;
        unsigned step = component == 0 ? 1 : 2;
        if (ref_idx[0] >= 0 && ref_idx[1] >= 0)
            weigh_two(plane, other, count, step, &weighting);
        else
            weigh_one(plane, count, step, &weighting, ref_idx[0] >= 0 ? 0 : 1);
    }
}

/* 8.4.2 with motion vectors of zero: the references' samples in place, weighted as 8.4.2.3 says. At least one list
 * is used. */
void predict_inter(const struct slice *slice, uint32_t column, uint32_t row, const int8_t ref_idx[2],
                   struct samples *out)
{
    const struct h264_slice_request *request = slice->request;
    struct samples second;
    bool both = ref_idx[0] >= 0 && ref_idx[1] >= 0;
    unsigned list = ref_idx[0] >= 0 ? 0 : 1;
    samples_load(out, request->references[list][ref_idx[list]], column, row);
    if (both)
        samples_load(&second, request->references[1][ref_idx[1]], column, row);
    if (slice->explicit_weights) {
        predict_explicit(slice, ref_idx, out, &second);
    } else if (both && slice->implicit_weights) {
        int weight = slice->implicit_weight[ref_idx[0]][ref_idx[1]];
        struct weighting weighting = {.log_wd = 5, .weight = {64 - weight, weight}};
        weigh_two(out->luma, second.luma, sizeof out->luma, 1, &weighting);
        weigh_two(out->chroma, second.chroma, sizeof out->chroma, 1, &weighting);
    } else if (both) {
        average(out, &second);
    }
}
