/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include <string.h>

enum content { CONTENT_COPY, CONTENT_BLEND, CONTENT_FLAT, CONTENT_GRADIENT, CONTENT_TEXTURE, CONTENT_NOISE };

/* Where one macroblock's samples of one plane are. */
struct block {
    uint8_t *samples;
    const uint8_t *first, *second; /* the same place in two pictures coded before, or NULL */
    size_t pitch, first_pitch, second_pitch;
    unsigned rows;
};

static void draw_block(struct random *random, enum content content, const struct block *block)
{
    int base = (int)random_below(random, 256), across = random_between(random, -3, 3);
    int down = random_between(random, -3, 3), amplitude = random_between(random, 2, 40);
    int noise = content == CONTENT_COPY && random_chance(random, 30) ? 3 : 0;
    for (unsigned y = 0; y < block->rows; y++) {
        for (unsigned x = 0; x < 16; x++) {
            int value = base;
            if (content == CONTENT_COPY)
                value = block->first[y * block->first_pitch + x];
            else if (content == CONTENT_BLEND)
                value = (block->first[y * block->first_pitch + x] + block->second[y * block->second_pitch + x] + 1) / 2;
            else if (content == CONTENT_GRADIENT)
                value += across * (int)x + down * (int)y;
            else if (content == CONTENT_TEXTURE)
                value += random_between(random, -amplitude, amplitude);
            else if (content == CONTENT_NOISE)
                value = random_chance(random, 50) ? (int)random_below(random, 256) : random_chance(random, 50) * 255;
            if (noise)
                value += random_between(random, -noise, noise);
            block->samples[y * block->pitch + x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
}

static void draw_macroblock(struct exercise *exercise, struct h264_frame *source, enum content content, uint32_t column,
                            uint32_t row)
{
    const struct h264_frame *first = NULL, *second = NULL;
    if (exercise->references.count > 0) {
        const struct references *references = &exercise->references;
        first = &references->pictures[random_below(&exercise->random, references->count)]->frame;
        second = &references->pictures[random_below(&exercise->random, references->count)]->frame;
    } else if (content <= CONTENT_BLEND) {
        content = CONTENT_FLAT;
    }
    size_t x = (size_t)column * 16, luma_y = (size_t)row * 16, chroma_y = (size_t)row * 8;
    struct block luma = {.samples = source->luma + luma_y * source->luma_pitch + x, .pitch = source->luma_pitch,
                         .rows = 16};
    struct block chroma = {.samples = source->chroma + chroma_y * source->chroma_pitch + x,
                           .pitch = source->chroma_pitch, .rows = 8};
    if (first) {
        luma.first = first->luma + luma_y * first->luma_pitch + x;
        luma.second = second->luma + luma_y * second->luma_pitch + x;
        chroma.first = first->chroma + chroma_y * first->chroma_pitch + x;
        chroma.second = second->chroma + chroma_y * second->chroma_pitch + x;
        luma.first_pitch = first->luma_pitch;
        luma.second_pitch = second->luma_pitch;
        chroma.first_pitch = first->chroma_pitch;
        chroma.second_pitch = second->chroma_pitch;
    }
    draw_block(&exercise->random, content, &luma);
    draw_block(&exercise->random, content, &chroma);
}

void exercise_draw_source(struct exercise *exercise, struct h264_frame *source)
{
    uint32_t width = exercise->sps.pic_width_in_mbs_minus1 + 1;
    uint32_t height = exercise->sps.pic_height_in_map_units_minus1 + 1;
    /* Some pictures are of one kind. */
    int all = random_chance(&exercise->random, 70) ? -1 : (int)random_below(&exercise->random, CONTENT_NOISE + 1);
    for (uint32_t row = 0; row < height; row++)
        for (uint32_t column = 0; column < width; column++) {
            unsigned chance = random_below(&exercise->random, 100);
            enum content content = chance < 40   ? CONTENT_COPY
                                   : chance < 55 ? CONTENT_BLEND
                                   : chance < 65 ? CONTENT_FLAT
                                   : chance < 80 ? CONTENT_GRADIENT
                                   : chance < 90 ? CONTENT_TEXTURE
                                                 : CONTENT_NOISE;
            draw_macroblock(exercise, source, all < 0 ? content : (enum content)all, column, row);
        }
}
