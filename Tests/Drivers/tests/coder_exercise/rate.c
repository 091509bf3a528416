/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>

/* 8 by 6 macroblocks, each flat with a value of its own. */
static void draw_flat(struct random *random, struct h264_frame *frame)
{
    for (unsigned block = 0; block < 48; block++) {
        int luma = (int)random_below(random, 256), chroma = (int)random_below(random, 256);
        for (size_t y = 0; y < 16; y++)
            memset(frame->luma + (block / 8 * 16 + y) * frame->luma_pitch + block % 8 * 16, luma, 16);
        for (size_t y = 0; y < 8; y++)
            memset(frame->chroma + (block / 8 * 8 + y) * frame->chroma_pitch + block % 8 * 16, chroma, 16);
    }
}

/* Texture everywhere. */
static void draw_textured(struct random *random, struct h264_frame *frame)
{
    for (size_t y = 0; y < 96; y++)
        for (size_t x = 0; x < 128; x++)
            frame->luma[y * frame->luma_pitch + x] = (uint8_t)(x + y + random_below(random, 48));
    for (size_t y = 0; y < 48; y++)
        for (size_t x = 0; x < 128; x++)
            frame->chroma[y * frame->chroma_pitch + x] = (uint8_t)(100 + y / 2 + random_below(random, 12));
}

static uint64_t squared_error(const struct h264_frame *a, const struct h264_frame *b)
{
    uint64_t sum = 0;
    for (size_t y = 0; y < 144; y++)
        for (size_t x = 0; x < 128; x++) {
            int one = y < 96 ? a->luma[y * a->luma_pitch + x] : a->chroma[(y - 96) * a->chroma_pitch + x];
            int other = y < 96 ? b->luma[y * b->luma_pitch + x] : b->chroma[(y - 96) * b->chroma_pitch + x];
            sum += (uint64_t)((one - other) * (one - other));
        }
    return sum;
}

struct exercise_rate exercise_measure_rate(bool flat, int qp)
{
    struct random random = {.state = 5};
    struct h264_sps sps = {.profile_idc = 100, .chroma_format_idc = 1, .frame_mbs_only_flag = 1};
    struct h264_pps pps = {.entropy_coding_mode_flag = 1};
    struct h264_frame source, reconstruction;
    struct bits out = {0};
    sps.pic_width_in_mbs_minus1 = 7;
    sps.pic_height_in_map_units_minus1 = 5;
    uint8_t *samples[2] = {exercise_allocate_frame(&sps, &source, 0, 0),
                           exercise_allocate_frame(&sps, &reconstruction, 0, 0)};
    (flat ? draw_flat : draw_textured)(&random, &source);
    struct h264_slice_header *header = calloc(1, sizeof *header);
    struct h264_coder *coder = h264_coder_create();
    if (!header || !coder)
        abort();
    header->nal_unit_type = H264_NAL_IDR_SLICE;
    header->nal_ref_idc = 1;
    header->slice_type = H264_SLICE_I;
    header->disable_deblocking_filter_idc = 1;
    struct h264_slice_request request = {.header = header, .macroblock_count = 48, .qp = qp};
    h264_write_slice_header(&request.nal, header, &sps, &pps);
    if (!h264_coder_begin(coder, &sps, &pps, &source, &reconstruction, H264_EFFORT_TRUTHFUL) ||
        !h264_coder_slice(coder, &request, &out) || !h264_coder_end(coder))
        abort();
    struct exercise_rate rate = {.bytes = out.count / 8, .squared_error = squared_error(&source, &reconstruction)};
    bits_release(&request.nal);
    bits_release(&out);
    h264_frame_release(&reconstruction);
    h264_coder_destroy(coder);
    free(header);
    free(samples[0]);
    free(samples[1]);
    return rate;
}
