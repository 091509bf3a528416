/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slices of frames that the client did not submit: grey ones, and copies of samples without loss (I_PCM). */
#include "rebuild_h264.h"

#define PCM 25 /* mb_type, H.264 table 7-11 */

static void put_samples(struct bits *nal, const struct rebuild_samples *samples, unsigned component, uint32_t left,
                        uint32_t top, uint32_t size)
{
    const struct hevc_samples *from = &samples->components[component];
    const uint32_t shift = component > 0;
    const uint32_t columns = samples->columns >> shift, rows = samples->rows >> shift;
    for (uint32_t y = top; y < top + size; y++)
        for (uint32_t x = left; x < left + size; x++) {
            const uint8_t *at = hevc_sample_at(from, x < columns ? x : columns - 1, y < rows ? y : rows - 1);
            bits_put(nal, hevc_sample_get(from, samples->depth, at), 8);
        }
}

static void put_macroblock(struct bits *nal, const struct rebuild_samples *samples, bool chroma, uint32_t column,
                           uint32_t row)
{
    if (!samples) {
        bits_put_ue(nal, 3); /* Intra_16x16, DC prediction, no coefficients but those of DC */
        if (chroma)
            bits_put_ue(nal, 0); /* DC prediction */
        bits_put_se(nal, 0);     /* mb_qp_delta */
        bits_put(nal, 1, 1);     /* coeff_token: none */
        return;
    }
    bits_put_ue(nal, PCM);
    bits_put(nal, 0, (8 - (nal->count & 7)) & 7);
    put_samples(nal, samples, 0, 16 * column, 16 * row, 16);
    for (unsigned component = 1; chroma && component < 3; component++)
        put_samples(nal, samples, component, 8 * column, 8 * row, 8);
}

/* The macroblocks of a frame in coded order: pairs of rows where they may be of fields. */
static void put_macroblocks(struct bits *nal, const struct h264_sps *sps, const struct rebuild_samples *samples)
{
    const uint32_t columns = sps->pic_width_in_mbs_minus1 + 1;
    const uint32_t rows = (sps->pic_height_in_map_units_minus1 + 1) * (2 - sps->frame_mbs_only_flag);
    const uint32_t together = !sps->frame_mbs_only_flag && sps->mb_adaptive_frame_field_flag ? 2 : 1;
    for (uint32_t row = 0; row + together <= rows; row += together)
        for (uint32_t column = 0; column < columns; column++)
            for (uint32_t below = 0; below < together; below++) {
                if (together == 2 && below == 0)
                    bits_put(nal, 0, 1); /* mb_field_decoding_flag */
                put_macroblock(nal, samples, sps->chroma_format_idc != 0, column, row + below);
            }
}

void h264_write_injected(struct h264_rebuilder *rebuilder, const struct h264_slice_header *header,
                         const struct rebuild_samples *samples, struct bits *stream)
{
    struct bits *nal = &rebuilder->nal;
    nal->count = 0;
    h264_write_slice_header(nal, header, &rebuilder->sps, &rebuilder->pps[1]);
    put_macroblocks(nal, &rebuilder->sps, samples);
    bits_trail(nal);
    bits_frame_nal_unit(stream, nal);
}
