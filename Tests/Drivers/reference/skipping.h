/* SPDX-License-Identifier: GPL-2.0-or-later */
/* P and B slices of H.264 under EFFORT_SKIP, coded once: the data of a slice that skips all its macroblocks depend on
 * little, so that later pictures only join them to their own headers. Reconstructions are not written then. */
#ifndef DRIVERS_REFERENCE_SKIPPING_H
#define DRIVERS_REFERENCE_SKIPPING_H

#include "jobs.h"

#define SKIPPED_KEPT 32

/* What the data of a skipping slice depend on. */
struct skipped_key {
    uint32_t type, direct_spatial_mv_pred_flag, entropy_coding_mode_flag, cabac_init_idc, width_in_mbs;
    uint32_t first_mb_in_slice, macroblock_count;
    int32_t slice_qp;
};

struct skipped_slices {
    struct {
        struct skipped_key key;
        struct bits data; /* after the header; with CABAC after the alignment, without it up to the trailing bits */
    } kept[SKIPPED_KEPT];
    unsigned count, next; /* `next` is replaced next once all are in use */
};

/* Appends the picture's slices to the stream, all or none of them. False: one of them is not known yet. */
bool skipped_append(const struct skipped_slices *slices, const struct job *job, struct bits *stream);

/* Learns from the NAL unit that the coder has appended for the slice at `start` (bytes) of the stream. */
void skipped_learn(struct skipped_slices *slices, const struct job *job, const struct job_slice *slice,
                   const struct bits *stream, size_t start);

void skipped_release(struct skipped_slices *slices);

#endif
