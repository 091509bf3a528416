/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The decoded picture buffer as a decoder keeps it: picture order counts (8.3.1), reference picture sets (8.3.2),
 * reference lists (8.3.4), and output by bumping (C.5.2). Plain values: copying a struct hevc_dpb saves it.
 *
 * For each picture, in decoding order:
 *
 *     order_count = hevc_dpb_order_count(&dpb, &sps, &header);
 *     hevc_dpb_begin(&dpb, &sps, &header, order_count, &set, &outputs, ...);   first slice: marks, puts out, removes
 *     hevc_dpb_list(&dpb, &header, &set, list, &entries, ...);                 every slice
 *     hevc_dpb_end(&dpb, &sps, &header, order_count, surface, &outputs, ...);  the picture is stored, more are put out
 *
 * Indices into `pictures` hold from hevc_dpb_begin to hevc_dpb_end. */
#ifndef DRIVERS_HEVC_DPB_H
#define DRIVERS_HEVC_DPB_H

#include "syntax.h"

/* sps_max_dec_pic_buffering is at most 16 (A.4.2); one more for a buffer that wrong streams overfill. */
#define HEVC_DPB_CAPACITY 17

enum hevc_marking { HEVC_UNUSED, HEVC_SHORT_TERM, HEVC_LONG_TERM };

struct hevc_dpb_picture {
    uint32_t surface; /* the caller's name for it */
    int32_t order_count;
    uint32_t temporal_id;
    enum hevc_marking marking;
    bool needed_for_output;
    uint32_t latency_count; /* PicLatencyCount */
};

struct hevc_dpb {
    struct hevc_dpb_picture pictures[HEVC_DPB_CAPACITY]; /* those kept for reference or output, in decoding order */
    uint32_t count;
    int32_t previous_tid0_order_count; /* PicOrderCntVal of prevTid0Pic */
    bool started;                      /* a picture came */
    bool no_rasl_output;               /* NoRaslOutputFlag of the last IRAP picture */
    bool ended;                        /* an end of sequence NAL unit came since: the caller sets it */
};

/* 8.3.2: indices into hevc_dpb.pictures, -1 where no picture is ("no reference picture"). */
struct hevc_reference_set {
    uint32_t before_count, after_count, following_count; /* PocStCurrBefore, PocStCurrAfter, PocStFoll */
    int32_t before[HEVC_MAXIMUM_REFERENCES], after[HEVC_MAXIMUM_REFERENCES], following[HEVC_MAXIMUM_REFERENCES];
    uint32_t long_term_count, long_term_following_count; /* PocLtCurr, PocLtFoll */
    int32_t long_term[HEVC_MAXIMUM_REFERENCES], long_term_following[HEVC_MAXIMUM_REFERENCES];
};

/* A reference list: indices into hevc_dpb.pictures, or -1 where there is no picture. */
struct hevc_reference_list {
    int32_t entries[HEVC_MAXIMUM_REFERENCES];
    uint32_t count;
};

/* Pictures that are put out, in output order; what came before is kept, up to the capacity. */
struct hevc_outputs {
    struct hevc_dpb_picture pictures[2 * HEVC_DPB_CAPACITY];
    uint32_t count;
};

/* 8.3.1: PicOrderCntVal of the picture that `header` begins. */
int32_t hevc_dpb_order_count(const struct hevc_dpb *dpb, const struct hevc_sps *sps,
                             const struct hevc_slice_header *header);

/* 8.3.2 and C.5.2.2: derives the reference picture set, marks pictures as it says, and puts out and removes pictures
 * before the current one is decoded. `outputs` may be NULL. False when the set breaks a rule: a picture to be referred
 * to is missing, two entries name one picture, or more pictures stay than the SPS allows; `reason`, of `size` bytes,
 * says which first. What could be carried out was. */
bool hevc_dpb_begin(struct hevc_dpb *dpb, const struct hevc_sps *sps, const struct hevc_slice_header *header,
                    int32_t order_count, struct hevc_reference_set *set, struct hevc_outputs *outputs, char *reason,
                    size_t size);

/* 8.3.4: list 0 or 1 of a slice, of num_ref_idx_active_minus1 + 1 entries, modified as the header says. Empty when the
 * slice has no such list. False when there is nothing to refer to. */
bool hevc_dpb_list(const struct hevc_slice_header *header, const struct hevc_reference_set *set, unsigned list,
                   struct hevc_reference_list *reference_list);

/* The ref_pic_list_modification_flag and list_entry that give the `wanted` list, written to the header, whose
 * num_ref_idx_active_minus1 is set already; none when it is the initial one. False when an entry of `wanted` is not in
 * the set, or when `modifications_allowed` is false and would be needed. */
bool hevc_dpb_express_list(struct hevc_slice_header *header, const struct hevc_reference_set *set,
                           const struct hevc_reference_list *wanted, unsigned list, bool modifications_allowed);

/* C.5.2.3: the picture is decoded and stored; more may be put out. False when the DPB holds more than
 * sps_max_dec_pic_buffering_minus1 + 1 pictures then: `reason` says so; and one is dropped. */
bool hevc_dpb_end(struct hevc_dpb *dpb, const struct hevc_sps *sps, const struct hevc_slice_header *header,
                  int32_t order_count, uint32_t surface, struct hevc_outputs *outputs, char *reason, size_t size);

/* Puts out all that is left, as at the end of the stream. */
void hevc_dpb_flush(struct hevc_dpb *dpb, struct hevc_outputs *outputs);

#endif
