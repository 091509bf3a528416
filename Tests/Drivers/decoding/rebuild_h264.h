/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the rebuilder of H.264 share.
 *
 * The rebuilt stream has one sequence parameter set of High profile, whose order counts and frame numbers have 16 bits.
 * Its reference pictures are numbered one after the other, every slice states its reference lists whole, and each
 * reference picture's marking removes what the client's ReferenceFrames no longer list; VA-API does not carry the
 * client's own marking. Pictures without references whose slices are all I are IDR pictures. */
#ifndef DRIVERS_DECODING_REBUILD_H264_H
#define DRIVERS_DECODING_REBUILD_H264_H

#include "rebuild.h"

#define H264_FRAME_NUMBERS 65536 /* MaxFrameNum */
#define H264_HELD 16             /* max_num_ref_frames */

/* A frame that is a reference in the software decoder. */
struct h264_held {
    /* What the client knows it as; VA_INVALID_SURFACE: a picture that only carries marking. */
    VASurfaceID surface;
    uint64_t number;
    uint32_t frame_num; /* in the rebuilt stream, and so on */
    bool long_term;
    uint32_t long_term_frame_idx;
    int64_t order[2];         /* of the top and the bottom field */
    bool exists[2];           /* which of its fields were coded */
    bool injected;
    int32_t client_order[2];  /* as the client said when it was decoded */
    bool has_field[2];        /* which of them it said anything about */
    uint32_t client_frame_num;
};

struct h264_rebuilder {
    bool started; /* the software decoder has had an IDR picture and was not lost since */
    struct h264_held held[H264_HELD + 1];
    unsigned held_count;
    /* What was held when the client's picture began, for its lists: its marking goes before them in the headers. */
    struct h264_held listed[H264_HELD + 1];
    unsigned listed_count;
    uint64_t latest, unheld_until; /* number of the latest picture, and that up to which none is held */
    uint64_t guessed[H264_HELD];   /* numbers of pictures that went to make room, a ring */
    unsigned guessed_count;
    uint32_t next_frame_num;  /* of the next frame */
    uint32_t field_frame_num; /* of the frame whose second field may come */
    bool longs_allowed;       /* long-term indices have been made available since the last IDR picture */
    uint32_t idr_pic_id;
    int64_t order_shift; /* what is added to the client's order counts */
    bool sets_sent;
    struct h264_sps sps;
    /* The client's pictures are coded by the first one, injected ones by the second. */
    struct h264_pps pps[2];
    bool pps_sent[2];
    struct bits nal; /* scratch */
};

/* The picture that is being rebuilt. */
struct h264_picture {
    const struct rebuild_picture *picture;
    const VAPictureParameterBufferH264 *parameters;
    const struct rebuild_source *source;
    struct rebuilt *rebuilt;
};

/* The operations of a header's dec_ref_pic_marking. */
struct h264_marking {
    struct h264_slice_header *header;
    unsigned count;
};
void h264_mark(struct h264_marking *marking, struct h264_memory_management operation);

/* rebuild_h264_slice.c */

/* The picture number of a held frame, or of one of its fields, for a slice with the header (8.2.4.1). */
int32_t h264_picture_number(const struct h264_slice_header *header, const struct h264_held *held, bool bottom);

/* Completes the header with what one slice states, and writes the slice as a NAL unit. Entries of the lists that name
 * nothing listed stand for the first one that is. False: the slice's data cannot be read. */
bool h264_rebuild_slice(struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                        const struct h264_slice_header *common, const struct rebuild_slice *slice, uint32_t number,
                        struct bits *stream);

/* rebuild_h264_inject.c: slices of pictures that the client did not submit. */

/* All macroblocks of a frame are grey; or show the samples, without loss, when they are given. */
void h264_write_injected(struct h264_rebuilder *rebuilder, const struct h264_slice_header *header,
                         const struct rebuild_samples *samples, struct bits *stream);

/* rebuild_h264_sets.c */

/* The parameter sets that the picture is coded by, and the one of injected pictures. */
void h264_rebuild_sets(const struct h264_picture *picture, struct h264_sps *sps, struct h264_pps pps[2]);

/* Slices in this order are P, B, I: slice_type modulo 5. */
static inline unsigned h264_slice_kind(uint32_t slice_type)
{
    return slice_type % 5;
}

/* judge_h264.c */
VAStatus h264_judge(struct rebuild_picture *picture, const struct rebuild_scene *scene);

#endif
