/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of frames, and what blocks are predicted from. */
#include "coder_parts.h"

#include <string.h>

void frame_load(const struct hevc_coder *coder, const struct hevc_frame *frame, unsigned component, struct area area,
                uint16_t *out, unsigned out_pitch)
{
    const struct hevc_samples *samples = &frame->samples[component];
    const uint8_t *row = hevc_sample_at(samples, area.x, area.y);
    for (unsigned j = 0; j < area.height; j++, row += samples->pitch, out += out_pitch)
        for (unsigned i = 0; i < area.width; i++)
            out[i] = (uint16_t)hevc_sample_get(samples, coder->depth_bits, row + i * samples->step);
}

void frame_store(const struct hevc_coder *coder, struct hevc_frame *frame, unsigned component, struct area area,
                 const uint16_t *samples)
{
    const struct hevc_samples *to = &frame->samples[component];
    uint8_t *row = hevc_sample_at(to, area.x, area.y);
    for (unsigned j = 0; j < area.height; j++, row += to->pitch, samples += area.width)
        for (unsigned i = 0; i < area.width; i++)
            hevc_sample_put(to, coder->depth_bits, row + i * to->step, samples[i]);
}

void mark_reconstructed(struct hevc_coder *coder, uint32_t x, uint32_t y, unsigned size, uint32_t slice)
{
    uint32_t columns = coder->unit_columns * 2;
    for (uint32_t row = y / 4; row < (y + size) / 4; row++)
        for (uint32_t column = x / 4; column < (x + size) / 4; column++)
            coder->reconstructed[row * columns + column] = slice;
}

/* 8.4.4.2.2: whether the luma sample at a place may be predicted from. */
static bool usable(const struct hevc_coder *coder, const struct slice *slice, int64_t x, int64_t y)
{
    if (x < 0 || y < 0 || x >= coder->width || y >= coder->height)
        return false;
    if (coder->reconstructed[(y / 4) * coder->unit_columns * 2 + x / 4] != slice->number)
        return false;
    return !coder->pps.constrained_intra_pred_flag || unit_at(coder, (uint32_t)x, (uint32_t)y)->kind == UNIT_INTRA;
}

/* The samples around a block: 2 * size on its left from the lowest up, the corner, 2 * size above, left to right. */
struct border {
    uint16_t samples[4 * 32 + 1];
    bool usable[4 * 32 + 1];
};

/* 8.4.4.2.2: loads those samples that are there, in runs that share their 4x4 luma block. True when there is one. */
static bool load_border(const struct hevc_coder *coder, const struct slice *slice, unsigned component, uint32_t x,
                        uint32_t y, unsigned size, struct border *border)
{
    unsigned right = component == LUMA ? 0 : coder->chroma_right, down = component == LUMA ? 0 : coder->chroma_down;
    unsigned count = 4 * size + 1;
    bool any = false;
    for (unsigned index = 0; index < count;) {
        bool left = index < 2 * size, corner = index == 2 * size;
        int64_t column = left || corner ? (int64_t)x - 1 : (int64_t)x + index - 2 * size - 1;
        int64_t row = left ? (int64_t)y + 2 * size - 1 - index : (int64_t)y - 1;
        unsigned length = corner ? 1 : left ? 4 >> down : 4 >> right;
        bool there = usable(coder, slice, column * (1 << right), row * (1 << down));
        for (unsigned i = 0; i < length; i++, index++) {
            border->usable[index] = there;
            if (there)
                frame_load(coder, coder->reconstruction, component,
                           (struct area){(uint32_t)(left || corner ? column : column + i),
                                         (uint32_t)(left ? row - i : row), 1, 1},
                           &border->samples[index], 1);
        }
        any |= there;
    }
    return any;
}

/* 8.4.4.2.2: what is missing is taken from what comes before on the way round. */
static void substitute(struct border *border, unsigned count)
{
    unsigned first = 0;
    while (!border->usable[first])
        first++;
    for (unsigned index = first; index-- > 0;)
        border->samples[index] = border->samples[first];
    for (unsigned index = first + 1; index < count; index++)
        if (!border->usable[index])
            border->samples[index] = border->samples[index - 1];
}

/* 8.4.4.2.5 */
void hevc_predict_intra(const struct hevc_coder *coder, const struct slice *slice, unsigned component, uint32_t x,
                        uint32_t y, unsigned size, uint16_t *out)
{
    struct border border;
    if (load_border(coder, slice, component, x, y, size, &border)) {
        substitute(&border, 4 * size + 1);
    } else {
        for (unsigned index = 0; index < 4 * size + 1; index++)
            border.samples[index] = (uint16_t)(1 << (coder->depth_bits - 1));
    }
    const uint16_t *above = border.samples + 2 * size + 1, *left = border.samples + 2 * size - 1;
    unsigned sum = size;
    for (unsigned i = 0; i < size; i++)
        sum += above[i] + *(left - i);
    unsigned dc = sum / (2 * size);
    for (unsigned i = 0; i < size * size; i++)
        out[i] = (uint16_t)dc;
    if (component != LUMA || size == 32)
        return;
    out[0] = (uint16_t)((left[0] + 2 * dc + above[0] + 2) >> 2);
    for (unsigned i = 1; i < size; i++) {
        out[i] = (uint16_t)((above[i] + 3 * dc + 2) >> 2);
        out[i * size] = (uint16_t)((*(left - i) + 3 * dc + 2) >> 2);
    }
}

/* 8.5.3.3 with zero vectors and default weights */
void hevc_predict_inter(const struct hevc_coder *coder, const struct slice *slice, struct motion motion,
                        unsigned component, struct area area, uint16_t *out)
{
    uint16_t other[MOST_CTB * MOST_CTB];
    unsigned first = motion.ref_idx[0] >= 0 ? 0 : 1;
    frame_load(coder, slice->request->references[first][motion.ref_idx[first]], component, area, out, area.width);
    if (first == 1 || motion.ref_idx[1] < 0)
        return;
    frame_load(coder, slice->request->references[1][motion.ref_idx[1]], component, area, other, area.width);
    for (unsigned i = 0; i < area.width * area.height; i++)
        out[i] = (uint16_t)((out[i] + other[i] + 1) >> 1);
}
