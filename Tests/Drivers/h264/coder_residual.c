/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Residual of I_16x16 macroblocks: forward transform and quantisation, which are the coder's own choice, and the
 * decoder's scaling and inverse transform (8.5.2, 8.5.4, 8.5.10 to 8.5.12, 8.5.14), with flat scaling matrices. */
#include "coder_parts.h"

#include <stdlib.h>
#include <string.h>

/* 8.5.9: which of normAdjust4x4's three values a raster position has. */
static unsigned position_class(unsigned position)
{
    bool odd_column = position & 1, odd_row = position >> 2 & 1;
    return odd_column && odd_row ? 1 : odd_column || odd_row ? 2 : 0;
}

/* 8.5.9: LevelScale4x4 with Flat_4x4_16. */
static int level_scale(int qp, unsigned position)
{
    return 16 * h264_norm_adjust[qp % 6][position_class(position)];
}

int residual_chroma_qp(int qp, int offset)
{
    return h264_chroma_qp[clip3(0, 51, qp + offset)];
}

/* The transform that 8.5.12.2 inverts, without its scaling: rows, then columns; in place. */
static void forward_transform(int block[16])
{
    for (unsigned pass = 0; pass < 2; pass++) {
        unsigned step = pass == 0 ? 1 : 4, next = pass == 0 ? 4 : 1;
        for (unsigned line = 0; line < 4; line++) {
            int *x = block + line * next;
            int sum03 = x[0] + x[3 * step], difference03 = x[0] - x[3 * step];
            int sum12 = x[step] + x[2 * step], difference12 = x[step] - x[2 * step];
            x[0] = sum03 + sum12;
            x[step] = 2 * difference03 + difference12;
            x[2 * step] = sum03 - sum12;
            x[3 * step] = difference03 - 2 * difference12;
        }
    }
}

/* 8.5.12.2, up to the rounding: rows, then columns; in place. */
static void inverse_transform(int block[16])
{
    for (unsigned pass = 0; pass < 2; pass++) {
        unsigned step = pass == 0 ? 1 : 4, next = pass == 0 ? 4 : 1;
        for (unsigned line = 0; line < 4; line++) {
            int *x = block + line * next;
            int e0 = x[0] + x[2 * step], e1 = x[0] - x[2 * step];
            int e2 = (x[step] >> 1) - x[3 * step], e3 = x[step] + (x[3 * step] >> 1);
            x[0] = e0 + e3;
            x[step] = e1 + e2;
            x[2 * step] = e1 - e2;
            x[3 * step] = e0 - e3;
        }
    }
}

/* 8.5.10: the 4x4 Hadamard transform, its own inverse but for scale; in place. */
static void hadamard_transform(int block[16])
{
    for (unsigned pass = 0; pass < 2; pass++) {
        unsigned step = pass == 0 ? 1 : 4, next = pass == 0 ? 4 : 1;
        for (unsigned line = 0; line < 4; line++) {
            int *x = block + line * next;
            int sum01 = x[0] + x[step], difference01 = x[0] - x[step];
            int sum23 = x[2 * step] + x[3 * step], difference23 = x[2 * step] - x[3 * step];
            x[0] = sum01 + sum23;
            x[step] = sum01 - sum23;
            x[2 * step] = difference01 - difference23;
            x[3 * step] = difference01 + difference23;
        }
    }
}

/* The magnitude of value / step, rounded down after `rounding` is added, with the sign; within the levels that any
 * profile allows. */
static int16_t quantise(int value, int step, int rounding)
{
    int level = (abs(value) + rounding) / step;
    if (level > H264_MAXIMUM_LEVEL)
        level = H264_MAXIMUM_LEVEL;
    return (int16_t)(value < 0 ? -level : level);
}

/* AC coefficients of a transformed block; returns how many levels are not 0. Scaling and inverse transform multiply a
 * level by normAdjust << qP / 6 and by a factor of its position: a forward coefficient is 64 / 16, 64 / 25 or 64 / 20
 * of that. From two thirds of a step on, a level rounds up. */
static unsigned quantise_ac(int16_t levels[15], const int block[16], int qp)
{
    static const uint8_t factors[3] = {16, 25, 20};
    unsigned count = 0;
    for (unsigned index = 1; index < 16; index++) {
        unsigned position = h264_zigzag[index];
        unsigned class = position_class(position);
        int step = h264_norm_adjust[qp % 6][class] * factors[class] << (qp / 6);
        levels[index - 1] = quantise(block[position] * 64, step, step / 3);
        count += levels[index - 1] != 0;
    }
    return count;
}

/* 8.5.12.1: scaling of AC levels into a block; its DC is left alone. */
static void scale_ac(int block[16], const int16_t levels[15], int qp)
{
    for (unsigned index = 1; index < 16; index++) {
        unsigned position = h264_zigzag[index];
        int scaled = levels[index - 1] * level_scale(qp, position);
        block[position] = qp >= 24 ? scaled * (1 << (qp / 6 - 4)) : (scaled + (1 << (3 - qp / 6))) >> (4 - qp / 6);
    }
}

/* A plane of a macroblock: where its samples are in struct samples. */
struct plane {
    size_t offset;  /* of the first sample */
    unsigned step;  /* from a sample to the next in its row; rows are 16 bytes long */
    unsigned blocks; /* 4x4 blocks in a row of them */
};

static const struct plane planes[3] = {
    {offsetof(struct samples, luma), 1, 4},
    {offsetof(struct samples, chroma), 2, 2},
    {offsetof(struct samples, chroma) + 1, 2, 2},
};

/* Offset of sample `index` (raster order) of the 4x4 block at a raster position of blocks. */
static size_t sample_offset(const struct plane *plane, unsigned position, unsigned index)
{
    unsigned x = position % plane->blocks * 4 + index % 4, y = position / plane->blocks * 4 + index / 4;
    return plane->offset + y * 16 + x * plane->step;
}

/* The transformed difference of source and prediction in one block. */
static void transform_difference(int block[16], const struct plane *plane, unsigned position,
                                 const struct samples *source, const struct samples *prediction)
{
    const uint8_t *from = (const uint8_t *)source, *minus = (const uint8_t *)prediction;
    for (unsigned index = 0; index < 16; index++) {
        size_t offset = sample_offset(plane, position, index);
        block[index] = from[offset] - minus[offset];
    }
    forward_transform(block);
}

/* 8.5.14, with the rounding of 8.5.12.2: prediction plus residual. */
static void reconstruct(struct samples *out, const struct plane *plane, unsigned position, int block[16],
                        const struct samples *prediction)
{
    uint8_t *to = (uint8_t *)out;
    const uint8_t *base = (const uint8_t *)prediction;
    inverse_transform(block);
    for (unsigned index = 0; index < 16; index++) {
        size_t offset = sample_offset(plane, position, index);
        to[offset] = clip_sample(base[offset] + ((block[index] + 32) >> 6));
    }
}

/* Quantises the luma DC coefficients (raster order of blocks) and leaves dcY of 8.5.10 in their place. */
static void code_luma_dc(int16_t levels[16], int dc[16], int qp)
{
    int step = h264_norm_adjust[qp % 6][0] << (qp / 6), scale = level_scale(qp, 0);
    int coefficients[16];
    hadamard_transform(dc);
    for (unsigned index = 0; index < 16; index++) {
        levels[index] = quantise(dc[h264_zigzag[index]], step, step / 2);
        coefficients[h264_zigzag[index]] = levels[index];
    }
    hadamard_transform(coefficients);
    for (unsigned position = 0; position < 16; position++) {
        int scaled = coefficients[position] * scale;
        dc[position] = qp >= 36 ? scaled * (1 << (qp / 6 - 6)) : (scaled + (1 << (5 - qp / 6))) >> (6 - qp / 6);
    }
}

/* 8.5.11.1: the 2x2 transform of chroma DC, its own inverse but for scale; in place. */
static void transform_chroma_dc(int dc[4])
{
    int a = dc[0] + dc[1], b = dc[0] - dc[1], c = dc[2] + dc[3], d = dc[2] - dc[3];
    dc[0] = a + c;
    dc[1] = b + d;
    dc[2] = a - c;
    dc[3] = b - d;
}

/* Quantises the DC coefficients of a chroma component and leaves dcC of 8.5.11.2 in their place. */
static unsigned code_chroma_dc(int16_t levels[4], int dc[4], int qp)
{
    int step = h264_norm_adjust[qp % 6][0] << (qp / 6), scale = level_scale(qp, 0);
    unsigned count = 0;
    transform_chroma_dc(dc);
    for (unsigned index = 0; index < 4; index++) {
        levels[index] = quantise(2 * dc[index], step, step / 2);
        dc[index] = levels[index];
        count += levels[index] != 0;
    }
    transform_chroma_dc(dc);
    for (unsigned index = 0; index < 4; index++)
        dc[index] = dc[index] * scale * (1 << (qp / 6)) >> 5;
    return count;
}

/* 8.5.2: luma of I_16x16. */
static void code_luma(struct decision *decision, const struct samples *source, const struct samples *prediction,
                      int qp)
{
    struct levels *levels = &decision->levels;
    int blocks[16][16], dc[16];
    unsigned count = 0;
    for (unsigned index = 0; index < 16; index++) {
        unsigned position = h264_block_position[index];
        transform_difference(blocks[index], &planes[0], position, source, prediction);
        dc[position] = blocks[index][0];
        count += quantise_ac(levels->luma_ac[index], blocks[index], qp);
    }
    decision->cbp_luma = count > 0 ? 15 : 0;
    code_luma_dc(levels->luma_dc, dc, qp);
    for (unsigned index = 0; index < 16; index++) {
        unsigned position = h264_block_position[index];
        scale_ac(blocks[index], levels->luma_ac[index], qp);
        blocks[index][0] = dc[position];
        reconstruct(&decision->samples, &planes[0], position, blocks[index], prediction);
    }
}

/* 8.5.4: one chroma component; returns which blocks have levels, as CodedBlockPatternChroma does. */
static uint8_t code_chroma(struct decision *decision, const struct samples *source, const struct samples *prediction,
                           unsigned component, int qp)
{
    struct levels *levels = &decision->levels;
    const struct plane *plane = &planes[1 + component];
    int blocks[4][16], dc[4];
    unsigned ac_count = 0;
    for (unsigned index = 0; index < 4; index++) {
        transform_difference(blocks[index], plane, index, source, prediction);
        dc[index] = blocks[index][0];
        ac_count += quantise_ac(levels->chroma_ac[component][index], blocks[index], qp);
    }
    unsigned dc_count = code_chroma_dc(levels->chroma_dc[component], dc, qp);
    for (unsigned index = 0; index < 4; index++) {
        scale_ac(blocks[index], levels->chroma_ac[component][index], qp);
        blocks[index][0] = dc[index];
        reconstruct(&decision->samples, plane, index, blocks[index], prediction);
    }
    return ac_count > 0 ? 2 : dc_count > 0 ? 1 : 0;
}

void residual_code(struct decision *decision, const struct samples *source, const struct samples *prediction, int qp,
                   const int qp_chroma[2])
{
    code_luma(decision, source, prediction, qp);
    uint8_t cb = code_chroma(decision, source, prediction, 0, qp_chroma[0]);
    uint8_t cr = code_chroma(decision, source, prediction, 1, qp_chroma[1]);
    decision->cbp_chroma = cb > cr ? cb : cr;
}

/* An Exp-Golomb code's length and a little for the place of each level. */
static uint32_t estimate_block(const int16_t *levels, unsigned count)
{
    uint32_t bits = 1;
    for (unsigned index = 0; index < count; index++)
        for (unsigned magnitude = (unsigned)abs(levels[index]); magnitude > 0; magnitude >>= 1)
            bits += magnitude == 1 ? 3 : 2;
    return bits;
}

uint32_t residual_estimate_bits(const struct decision *decision)
{
    const struct levels *levels = &decision->levels;
    uint32_t bits = estimate_block(levels->luma_dc, 16);
    for (unsigned index = 0; index < 16 && decision->cbp_luma != 0; index++)
        bits += estimate_block(levels->luma_ac[index], 15);
    for (unsigned component = 0; component < 2 && decision->cbp_chroma != 0; component++)
        bits += estimate_block(levels->chroma_dc[component], 4);
    for (unsigned index = 0; index < 8 && decision->cbp_chroma == 2; index++)
        bits += estimate_block(levels->chroma_ac[index / 4][index % 4], 15);
    return bits;
}
