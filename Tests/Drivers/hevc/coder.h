/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small, truthful HEVC coder: 4:2:0, 4:2:2 and 4:4:4 of 8, 10 or 12 bits, without tools of range extensions. What
 * What it writes is what it reconstructs, bit for bit, as any conforming decoder does (clauses 8 and 9), the deblocking
 * filter included.
 *
 * Block sizes are those that the SPS allows. A coding unit is the first that fits of: merge skip; prediction without
 * motion (list 0, list 1 or both), with or without residual; intra DC. Of a transform unit the 16 coefficients of
 * lowest frequency at most are coded. All vectors are zero. decide.c states the rule. */
#ifndef DRIVERS_HEVC_CODER_H
#define DRIVERS_HEVC_CODER_H

#include "../common/wish.h"
#include "samples.h"
#include "syntax.h"

/* A frame in memory with what later pictures need of it. Luma has pic_width_in_luma_samples columns and
 * pic_height_in_luma_samples rows, chroma what chroma_format_idc makes of them. The samples belong to the caller,
 * `motion` to the coder (hevc_frame_release). */
struct hevc_frame {
    struct hevc_samples samples[3];  /* Y, Cb, Cr; words of one byte for 8 bits, else larger ones */
    int32_t picture_order_count;     /* set by the caller before hevc_coder_begin */
    bool long_term;                  /* marked as such for the picture being coded, when it is a reference */
    struct hevc_motion *motion;      /* for temporal motion prediction; NULL: none yet */
};

enum hevc_effort {
    HEVC_EFFORT_TRUTHFUL, /* as above */
    HEVC_EFFORT_SKIP, /* P and B slices are all merge skip in the largest coding units, I slices are grey: the source is
                         not read, the reconstruction not written */
};

struct hevc_slice_request {
    const struct hevc_slice_header *header; /* of a dependent slice segment: with the fields it takes from before */
    struct bits nal; /* NAL unit header and slice segment header, unescaped, without byte_alignment(): the application's
                        own bits or the driver's. Borrowed. */
    uint32_t ctb_count; /* coding tree blocks from header->slice_segment_address on, raster order */
    const struct hevc_frame *references[2][HEVC_MAXIMUM_REFERENCES]; /* final lists; NULL beyond the count. Needed
                                                                        during the call; copies of one frame are one
                                                                        picture, as they share its motion */
    int qp; /* QpY wanted for the segment, -6 * (bit depth - 8) to 51. Where it is not the header's it is reached by
               cu_qp_delta; with cu_qp_delta_enabled_flag 0 it gives way to the header's. */
    const struct wish *wishes; /* for the whole picture in raster order, by blocks of 1 << wish_log2_size luma
                                  samples, those cut by the border included. Borrowed; NULL: none. A quantization
                                  group takes the first offset in it that is not 0; a coding unit is intra where
                                  one of its blocks is to be. Not looked at with HEVC_EFFORT_SKIP; offsets not with
                                  cu_qp_delta_enabled_flag 0. */
    unsigned wish_log2_size;        /* 3 to 6 */
    int least_qp, most_qp; /* what a QP with an offset is clipped to, within the range of qp; both 0: the whole range */
};

/* What became of a picture's coding units. */
struct hevc_figures {
    uint32_t intra_samples;   /* luma samples in intra coding units */
    uint32_t skipped_samples; /* in those that are skipped; the others are predicted from references */
    uint32_t intra_ctbs;      /* coding tree blocks that are intra throughout */
    int least_qp, most_qp;    /* the lowest and highest QP that a coding unit was decided and coded with */
};

struct hevc_coder; /* one picture at a time */

struct hevc_coder *hevc_coder_create(void); /* NULL: out of memory */
void hevc_coder_destroy(struct hevc_coder *coder);

/* Starts a picture. `source` is read, `reconstruction` is written; both stay valid until the end; they may have any
 * pitch. The parameter sets are copied. False: out of memory, or a feature that is not coded here, named by
 * hevc_coder_failure: 4:0:0 and separate colour planes, bit depths other than 8, 10 and 12, or of chroma than of luma,
 * scaling lists, tiles, wavefronts (entropy_coding_sync_enabled_flag), tools of range extensions. SAO, PCM, transform
 * skip and lossless coding units are coded as not used where parameter sets and headers allow them. */
bool hevc_coder_begin(struct hevc_coder *coder, const struct hevc_sps *sps, const struct hevc_pps *pps,
                      const struct hevc_frame *source, struct hevc_frame *reconstruction, enum hevc_effort effort);

/* Codes one slice segment and appends its NAL unit with start code and emulation prevention to `out`. Segments come in
 * raster order, dependent ones too. Headers are obeyed: QP, chroma offsets, deblocking, merge candidates, temporal
 * motion prediction, sign data hiding. Weighted prediction is refused. */
bool hevc_coder_slice(struct hevc_coder *coder, const struct hevc_slice_request *request, struct bits *out);

/* Deblocks (8.7.2) across the picture and keeps the motion in the reconstruction. */
bool hevc_coder_end(struct hevc_coder *coder);

/* Of the picture begun last, as far as it is coded. Without any coding unit least_qp is above most_qp. */
struct hevc_figures hevc_coder_figures(const struct hevc_coder *coder);

const char *hevc_coder_failure(const struct hevc_coder *coder);

/* Frees what the coder keeps in the frame, not the samples. */
void hevc_frame_release(struct hevc_frame *frame);

#endif
