/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small, truthful H.264 macroblock coder: progressive 4:2:0 frames of 8 bits. What it writes is what it
 * reconstructs, bit for bit, as any conforming decoder does (clauses 8 and 9), the deblocking filter included.
 *
 * Per macroblock it picks the first that fits: skip (P or B) where the prediction that skip stands for equals the
 * source closely enough for the QP; whole-macroblock prediction without motion (list 0, list 1 or both) without
 * residual where that beats intra; intra 16x16 with DC prediction and quantised DC and AC coefficients; I_PCM at QP low
 * enough that it is worth its bits, or where nothing else is representable. coder_macroblock.c states the rule. */
#ifndef DRIVERS_H264_CODER_H
#define DRIVERS_H264_CODER_H

#include "../common/wish.h"
#include "syntax.h"

/* A frame in memory, NV12, whole macroblocks in both directions, with what later pictures need of it. The samples
 * belong to the caller, `motion` to the coder (see h264_frame_release). */
struct h264_frame {
    uint8_t *luma;   /* width_in_mbs * 16 columns, height_in_mbs * 16 rows */
    uint8_t *chroma; /* interleaved Cb and Cr, half as many rows */
    size_t luma_pitch, chroma_pitch; /* bytes */
    int32_t picture_order_count;
    bool long_term;
    struct h264_motion *motion; /* modes and references per macroblock, for direct prediction; NULL: none yet */
};

enum h264_effort {
    H264_EFFORT_TRUTHFUL, /* as above */
    H264_EFFORT_SKIP,     /* P and B slices are all skip, I slices are grey DC: the source is not read at all */
};

struct h264_slice_request {
    const struct h264_slice_header *header;
    struct bits nal; /* NAL unit header and slice header, unescaped: the application's own bits or the driver's.
                        Borrowed. Slice data start at nal.count. */
    uint32_t macroblock_count; /* from header->first_mb_in_slice on, raster order */
    const struct h264_frame *references[2][H264_MAXIMUM_REFERENCES]; /* after modification; NULL beyond the count */
    int qp; /* QP_Y wanted for the slice's macroblocks, 0 to 51. Reached by mb_qp_delta when it is not the header's. */
    const struct wish *wishes; /* by macroblock address, for the whole picture; borrowed. NULL: none. Not looked at with
                                  H264_EFFORT_SKIP. */
    int least_qp, most_qp; /* what a QP with an offset is clipped to, within 0 to 51; most_qp 0: 51 */
};

/* What became of a picture's macroblocks. */
struct h264_figures {
    uint32_t intra_macroblocks; /* I_16x16 and I_PCM */
    int least_qp, most_qp;      /* the lowest and highest QP that a macroblock was decided and coded with */
};

struct h264_coder; /* one picture at a time */

struct h264_coder *h264_coder_create(void); /* NULL: out of memory */
void h264_coder_destroy(struct h264_coder *coder);

/* Starts a picture. `source` is read, `reconstruction` is written; both stay valid until the end; they may have
 * any pitch. The parameter sets are copied. False: out of memory, or a feature that is not coded here (fields, 4:2:2,
 * slice groups, scaling lists, lossless), named by h264_coder_failure. */
bool h264_coder_begin(struct h264_coder *coder, const struct h264_sps *sps, const struct h264_pps *pps,
                      const struct h264_frame *source, struct h264_frame *reconstruction, enum h264_effort effort);

/* Codes one slice and appends its NAL unit with start code and emulation prevention to `out`. Slices come in
 * raster order. Slice headers are obeyed: QP, deblocking, weights (explicit and implicit), direct mode, entropy
 * tables. */
bool h264_coder_slice(struct h264_coder *coder, const struct h264_slice_request *request, struct bits *out);

/* Deblocks (8.7) across the picture and keeps the motion for direct prediction in the reconstruction. */
bool h264_coder_end(struct h264_coder *coder);

/* Of the picture begun last, as far as it is coded. Without any macroblock least_qp is above most_qp. */
struct h264_figures h264_coder_figures(const struct h264_coder *coder);

const char *h264_coder_failure(const struct h264_coder *coder);

/* Frees what the coder keeps in the frame, not the samples. */
void h264_frame_release(struct h264_frame *frame);

#endif
