/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

enum content { CONTENT_COPY, CONTENT_BLEND, CONTENT_LIGHTER, CONTENT_FLAT, CONTENT_GRADIENT, CONTENT_TEXTURE,
               CONTENT_NOISE, CONTENTS };

uint16_t exercise_get(const struct hevc_sps *sps, const struct hevc_frame *frame, unsigned component, uint32_t x,
                      uint32_t y)
{
    bool wide = sps->bit_depth_luma_minus8 > 0;
    const uint8_t *row = component == 0 ? frame->luma + y * frame->luma_pitch : frame->chroma + y * frame->chroma_pitch;
    size_t at = component == 0 ? x : 2 * (size_t)x + component - 1;
    return wide ? (uint16_t)((row[2 * at] | row[2 * at + 1] << 8) >> 6) : row[at];
}

void exercise_put(const struct hevc_sps *sps, struct hevc_frame *frame, unsigned component, uint32_t x, uint32_t y,
                  unsigned value)
{
    bool wide = sps->bit_depth_luma_minus8 > 0;
    uint8_t *row = component == 0 ? frame->luma + y * frame->luma_pitch : frame->chroma + y * frame->chroma_pitch;
    size_t at = component == 0 ? x : 2 * (size_t)x + component - 1;
    if (wide) {
        row[2 * at] = (uint8_t)(value << 6);
        row[2 * at + 1] = (uint8_t)(value >> 2);
    } else {
        row[at] = (uint8_t)value;
    }
}

/* One block of one component: its place in it, its size, and pictures that it may be made of. */
struct block {
    unsigned component;
    uint32_t x, y, size;
    const struct hevc_frame *first, *second; /* or NULL */
};

static void draw_block(struct exercise *exercise, struct hevc_frame *source, enum content content,
                       const struct block *block)
{
    struct random *random = &exercise->random;
    const struct hevc_sps *sps = &exercise->sps;
    int most = (256 << sps->bit_depth_luma_minus8) - 1, unit = 1 << sps->bit_depth_luma_minus8;
    int base = random_between(random, 0, most), across = random_between(random, -3 * unit, 3 * unit);
    int down = random_between(random, -3 * unit, 3 * unit), amplitude = unit * random_between(random, 2, 40);
    int noise = content == CONTENT_COPY && random_chance(random, 30) ? 3 * unit : 0;
    uint32_t scale = block->component == 0 ? 1 : 2;
    for (uint32_t y = block->y; y < block->y + block->size && y < sps->pic_height_in_luma_samples / scale; y++)
        for (uint32_t x = block->x; x < block->x + block->size && x < sps->pic_width_in_luma_samples / scale; x++) {
            int value = base, first = 0, second = 0;
            if (block->first) {
                first = exercise_get(sps, block->first, block->component, x, y);
                second = exercise_get(sps, block->second, block->component, x, y);
            }
            if (content == CONTENT_COPY)
                value = first;
            else if (content == CONTENT_BLEND)
                value = (first + second + 1) / 2;
            else if (content == CONTENT_LIGHTER)
                value = first + across * 4;
            else if (content == CONTENT_GRADIENT)
                value += across * (int)(x - block->x) + down * (int)(y - block->y);
            else if (content == CONTENT_TEXTURE)
                value += random_between(random, -amplitude, amplitude);
            else if (content == CONTENT_NOISE)
                value = random_chance(random, 50) ? random_between(random, 0, most) : random_chance(random, 50) * most;
            if (noise)
                value += random_between(random, -noise, noise);
            exercise_put(sps, source, block->component, x, y, (unsigned)(value < 0 ? 0 : value > most ? most : value));
        }
}

void exercise_draw_source(struct exercise *exercise, struct hevc_frame *source)
{
    struct random *random = &exercise->random;
    const struct hevc_dpb *dpb = &exercise->dpb;
    /* Large blocks of one kind make large coding units worthwhile. */
    uint32_t size = 8u << random_below(random, 4);
    unsigned changed = random_chance(random, 30) ? 100 : random_below(random, 60);
    for (uint32_t y = 0; y < exercise->sps.pic_height_in_luma_samples; y += size)
        for (uint32_t x = 0; x < exercise->sps.pic_width_in_luma_samples; x += size) {
            enum content content = random_chance(random, changed) ? (enum content)random_below(random, CONTENTS)
                                                                  : CONTENT_COPY;
            struct block block = {.x = x, .y = y, .size = size};
            if (dpb->count > 0) {
                block.first = &exercise->pictures[dpb->pictures[random_below(random, dpb->count)].surface].frame;
                block.second = &exercise->pictures[dpb->pictures[random_below(random, dpb->count)].surface].frame;
            } else if (content <= CONTENT_LIGHTER) {
                content = CONTENT_FLAT;
            }
            draw_block(exercise, source, content, &block);
            for (unsigned component = 1; component <= 2; component++) {
                struct block chroma = {.component = component, .x = x / 2, .y = y / 2, .size = size / 2,
                                       .first = block.first, .second = block.second};
                draw_block(exercise, source, content, &chroma);
            }
        }
}
