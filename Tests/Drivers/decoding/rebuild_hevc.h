/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that rebuild HEVC share: from VA-API buffers to parameter sets and slice segment headers. The stream
 * states as little in parameter sets and as much in slice headers as it can, so that the parameters of one picture
 * never depend on those of another: the reference picture set is written in full in each header, lists always by
 * override and modification, loop filters by override, scaling lists in the PPS. */
#ifndef DRIVERS_DECODING_REBUILD_HEVC_H
#define DRIVERS_DECODING_REBUILD_HEVC_H

#include "../hevc/coder.h"
#include "rebuild.h"

#include <va/va_dec_hevc.h>

#define HEVC_FRAMES 15 /* entries of ReferenceFrames */
#define HEVC_ORDER_BITS 16 /* of slice_pic_order_cnt_lsb in the rebuilt stream */
/* Flags of entries that the picture may predict from. */
#define HEVC_SUBSETS \
    (VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE | VA_PICTURE_HEVC_RPS_ST_CURR_AFTER | VA_PICTURE_HEVC_RPS_LT_CURR)

struct hevc_rebuilt_sets {
    struct hevc_vps vps;
    struct hevc_sps sps;
    struct hevc_pps pps;
};

/* A picture of the reference picture set; entries stand where they stand in ReferenceFrames. */
struct hevc_rebuilt_reference {
    bool kept;      /* in the set at all */
    bool current;   /* the picture may predict from it, else it is only kept for others */
    bool long_term;
    int32_t order_count;
};

struct hevc_rebuilt_set {
    int32_t order_count; /* of the current picture */
    struct hevc_rebuilt_reference references[HEVC_FRAMES];
    /* Derived by hevc_order_set, entries as in ReferenceFrames: those before the current picture and those after it,
     * nearest first, those for long; and what a list 0 or 1 begins with unless it is modified (8-8, 8-10). */
    uint8_t before[HEVC_FRAMES], after[HEVC_FRAMES], long_term[HEVC_FRAMES], initial[2][HEVC_FRAMES];
    uint32_t before_count, after_count, long_term_count, initial_count;
};

/* rebuild_hevc_sets.c */

/* Parameter sets with the client's values, in or out of their ranges. `matrix` may be NULL: then scaling lists are not
 * written, although the SPS may enable them. */
void hevc_rebuild_sets(struct hevc_rebuilt_sets *sets, const VAPictureParameterBufferHEVC *picture,
                       const VAIQMatrixBufferHEVC *matrix);

/* The address of a coding tree block in tile scan (6.5.1). `sets` are in their ranges, tiles within the picture. */
uint32_t hevc_tile_scan_address(const struct hevc_rebuilt_sets *sets, uint32_t raster_address);

/* rebuild_hevc_slice.c */

static inline bool hevc_frame_is_used(const VAPictureHEVC *frame)
{
    return frame->picture_id != VA_INVALID_SURFACE && !(frame->flags & VA_PICTURE_HEVC_INVALID);
}

/* How many entries of the list the slice uses, 15 at most. */
uint32_t hevc_list_length(const VASliceParameterBufferHEVC *slice, unsigned list);

/* Which entries of ReferenceFrames the picture may predict from: by their flags, or because a slice lists them. None of
 * a random access point. */
void hevc_find_current(const struct rebuild_picture *picture, const VAPictureParameterBufferHEVC *parameters,
                       bool current[HEVC_FRAMES]);

/* Fills what is derived. */
void hevc_order_set(struct hevc_rebuilt_set *set);

/* Order count and reference picture set of any slice header. False: an order count is repeated, or too far away. */
bool hevc_rebuild_references(struct hevc_slice_header *header, const struct hevc_rebuilt_set *set);

/* The header of a slice segment. False: the lists or weights name what no header can say; `problem` tells which. */
bool hevc_rebuild_header(struct hevc_slice_header *header, const struct hevc_rebuilt_sets *sets,
                         const struct hevc_rebuilt_set *set, uint32_t nal_unit_type,
                         const VASliceParameterBufferHEVC *slice, const char **problem);

/* The latest buffer of the type of at least `size` bytes, without a finding; NULL: there is none. */
const void *hevc_peek_buffer(const struct rebuild_picture *picture, VABufferType type, size_t size);

/* rebuild_hevc_grey.c */

/* The PPS of grey pictures; its SPS is that of all. */
struct hevc_pps hevc_grey_pps(void);

/* Appends a grey picture with the order count of `set`, which keeps what the set lists and refers to nothing. */
bool hevc_write_grey(struct hevc_coder *coder, const struct hevc_rebuilt_sets *sets,
                     const struct hevc_rebuilt_set *set, struct bits *stream);

/* rebuild_hevc_judge.c */
VAStatus hevc_judge(struct rebuild_picture *picture, const struct rebuild_scene *scene);

#endif
