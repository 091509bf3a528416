/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

enum content { CONTENT_COPY, CONTENT_BLEND, CONTENT_LIGHTER, CONTENT_FLAT, CONTENT_GRADIENT, CONTENT_TEXTURE,
               CONTENT_NOISE, CONTENTS };

uint16_t exercise_get(const struct hevc_sps *sps, const struct hevc_frame *frame, unsigned component, uint32_t x,
                      uint32_t y)
{
    const struct hevc_samples *samples = &frame->samples[component];
    return (uint16_t)hevc_sample_get(samples, 8 + sps->bit_depth_luma_minus8, hevc_sample_at(samples, x, y));
}

void exercise_put(const struct hevc_sps *sps, struct hevc_frame *frame, unsigned component, uint32_t x, uint32_t y,
                  unsigned value)
{
    const struct hevc_samples *samples = &frame->samples[component];
    hevc_sample_put(samples, 8 + sps->bit_depth_luma_minus8, hevc_sample_at(samples, x, y), value);
}

uint32_t exercise_width(const struct hevc_sps *sps, unsigned component, uint32_t luma)
{
    return component > 0 && sps->chroma_format_idc < 3 ? luma / 2 : luma;
}

uint32_t exercise_height(const struct hevc_sps *sps, unsigned component, uint32_t luma)
{
    return component > 0 && sps->chroma_format_idc < 2 ? luma / 2 : luma;
}

/* One block of one component: its place in it, its size, and pictures that it may be made of. */
struct block {
    unsigned component;
    uint32_t x, y, width, height;
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
    uint32_t right = exercise_width(sps, block->component, sps->pic_width_in_luma_samples);
    uint32_t bottom = exercise_height(sps, block->component, sps->pic_height_in_luma_samples);
    for (uint32_t y = block->y; y < block->y + block->height && y < bottom; y++)
        for (uint32_t x = block->x; x < block->x + block->width && x < right; x++) {
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
    const struct hevc_sps *sps = &exercise->sps;
    /* Large blocks of one kind make large coding units worthwhile. */
    uint32_t size = 8u << random_below(random, 4);
    unsigned changed = random_chance(random, 30) ? 100 : random_below(random, 60);
    for (uint32_t y = 0; y < sps->pic_height_in_luma_samples; y += size)
        for (uint32_t x = 0; x < sps->pic_width_in_luma_samples; x += size) {
            enum content content = random_chance(random, changed) ? (enum content)random_below(random, CONTENTS)
                                                                  : CONTENT_COPY;
            struct block block = {.x = x, .y = y, .width = size, .height = size};
            if (dpb->count > 0) {
                block.first = &exercise->pictures[dpb->pictures[random_below(random, dpb->count)].surface].frame;
                block.second = &exercise->pictures[dpb->pictures[random_below(random, dpb->count)].surface].frame;
            } else if (content <= CONTENT_LIGHTER) {
                content = CONTENT_FLAT;
            }
            draw_block(exercise, source, content, &block);
            for (unsigned component = 1; component <= 2; component++) {
                struct block chroma = {.component = component,
                                       .x = exercise_width(sps, component, x),
                                       .y = exercise_height(sps, component, y),
                                       .width = exercise_width(sps, component, size),
                                       .height = exercise_height(sps, component, size),
                                       .first = block.first, .second = block.second};
                draw_block(exercise, source, content, &chroma);
            }
        }
}
