/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of ITU-T H.264; see tables.c. */
#ifndef DRIVERS_H264_TABLES_H
#define DRIVERS_H264_TABLES_H

#include <stdint.h>

#define H264_CONTEXTS 276 /* ctxIdx 0 to 275: all that frames without 8x8 transform use; 276 has no state */

/* A variable length code: `value` in the lowest `length` bits. Length 0: no such code. */
struct h264_code {
    uint8_t length, value;
};

extern const int8_t h264_context_initialisation[H264_CONTEXTS][4][2];

extern const struct h264_code h264_coeff_token[4][4][17];
extern const struct h264_code h264_total_zeros[15][16];
extern const struct h264_code h264_total_zeros_chroma_dc[3][4];
extern const struct h264_code h264_run_before[7][15];

extern const uint8_t h264_alpha[52];
extern const uint8_t h264_beta[52];
extern const uint8_t h264_tc0[52][3];
extern const uint8_t h264_chroma_qp[52];
extern const uint8_t h264_norm_adjust[6][3];
extern const uint8_t h264_zigzag[16];
extern const uint8_t h264_block_position[16];

#endif
