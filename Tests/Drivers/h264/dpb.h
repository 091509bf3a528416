/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoded picture buffer as a decoder keeps it, for progressive frames: picture order counts (8.2.1), reference
 * lists (8.2.4) and reference marking (8.2.5). Plain values: copying a struct h264_dpb saves it. */
#ifndef DRIVERS_H264_DPB_H
#define DRIVERS_H264_DPB_H

#include "syntax.h"

/* 16 reference frames and the current one. */
#define H264_DPB_CAPACITY 17

struct h264_dpb_picture {
    uint32_t surface; /* the caller's name for it */
    uint32_t frame_num;
    int32_t top_field_order_count, bottom_field_order_count;
    bool long_term;
    uint32_t long_term_frame_idx; /* where long_term */
};

struct h264_dpb {
    struct h264_dpb_picture pictures[H264_DPB_CAPACITY]; /* the reference frames, in decoding order */
    uint32_t count;
    uint32_t maximum_long_term_frame_idx_plus1; /* 0: no long-term frame indices */
    /* 8.2.1.1: of the previous reference picture. */
    int32_t previous_order_count_msb;
    uint32_t previous_order_count_lsb;
    /* 8.2.1.2: of the previous picture. */
    uint32_t previous_frame_num;
    int64_t previous_frame_num_offset;
    /* 7.4.3: of the previous reference picture. */
    uint32_t previous_reference_frame_num;
    bool started; /* an IDR picture came */
};

struct h264_order_count {
    int32_t top, bottom;
    int32_t msb;                /* PicOrderCntMsb, type 0 */
    int64_t frame_num_offset;   /* FrameNumOffset, types 1 and 2 */
};

/* PicOrderCnt of a frame, 8-1. */
int32_t h264_frame_order_count(int32_t top, int32_t bottom);

/* H.264 8.2.1 for the picture that `header` begins. */
struct h264_order_count h264_dpb_order_count(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                             const struct h264_slice_header *header);

/* The frame_num that a picture must have (7.4.3; gaps are not allowed). */
uint32_t h264_dpb_expected_frame_num(const struct h264_dpb *dpb, const struct h264_sps *sps, bool idr);

/* A reference list: indices into h264_dpb.pictures, or -1 where there is no picture. */
struct h264_reference_list {
    int entries[H264_MAXIMUM_REFERENCES + 1]; /* one more: 8.2.4.3 uses it */
    uint32_t count;
};

/* H.264 8.2.4.2: the initial list 0 or 1, cut or filled up (with -1) to num_ref_idx_active. `order_count` is the
 * current frame's. */
struct h264_reference_list h264_dpb_initial_list(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                                 const struct h264_slice_header *header, int32_t order_count,
                                                 unsigned list);

/* H.264 8.2.4.3: carries out the header's modifications. False when one names no picture: `reason`, of `size` bytes,
 * then says which; the list stays as it was before that modification. */
bool h264_dpb_modify_list(const struct h264_dpb *dpb, const struct h264_sps *sps,
                          const struct h264_slice_header *header, unsigned list,
                          struct h264_reference_list *reference_list, char *reason, size_t size);

/* The modifications that turn the initial list into `wanted` (indices into h264_dpb.pictures), written to the header
 * with the ending 3; none when they are equal already. False when an entry of `wanted` is no picture of the DPB. */
bool h264_dpb_express_list(const struct h264_dpb *dpb, const struct h264_sps *sps, struct h264_slice_header *header,
                           const struct h264_reference_list *initial, const struct h264_reference_list *wanted,
                           unsigned list);

/* H.264 8.2.5 and the bookkeeping of 8.2.1: the picture is complete. False when its marking is wrong: `reason` says
 * what; what could be carried out was, and the DPB holds no more than max_num_ref_frames pictures. */
bool h264_dpb_commit(struct h264_dpb *dpb, const struct h264_sps *sps, const struct h264_slice_header *header,
                     const struct h264_order_count *order_count, uint32_t surface, char *reason, size_t size);

#endif
