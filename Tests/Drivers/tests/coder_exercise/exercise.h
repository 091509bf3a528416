/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random but conforming H.264 streams for the macroblock coder; see ../coder_exercise.c.
 *
 * stream.c      settings, parameter sets, pictures, slice headers
 * references.c  decoded picture buffer, marking, reference lists (8.2.4, 8.2.5)
 * content.c     source pictures that make every kind of macroblock worthwhile
 * rate.c        bits and error by QP
 * memory.c      allocations that fail
 * hostile.c     requests that no application should make */
#ifndef DRIVERS_TESTS_EXERCISE_H
#define DRIVERS_TESTS_EXERCISE_H

#include "../../h264/coder.h"
#include "../support/random.h"

#define EXERCISE_MAXIMUM_REFERENCES 16

/* A coded picture; kept until the end of the exercise. */
struct picture {
    struct h264_frame frame;
    uint8_t *samples;    /* owned; what frame points into */
    unsigned sequence;   /* how many IDR pictures came before its own sequence's */
    uint32_t frame_num;
    bool reference;
    uint32_t long_term_frame_idx; /* where frame.long_term */
};

/* Reference pictures, as the standard's decoding process marks them. */
struct references {
    struct picture *pictures[EXERCISE_MAXIMUM_REFERENCES];
    unsigned count, maximum;      /* max_num_ref_frames */
    uint32_t maximum_frame_num;   /* MaxFrameNum */
    uint32_t long_term_limit;     /* MaxLongTermFrameIdx + 1; 0: no long-term frame indices */
};

/* The initial list, in `list`; returns its length (8.2.4.2). */
unsigned references_initial_list(const struct references *references, const struct picture *current, bool b,
                                 unsigned which, struct picture **list);
/* Draws modification operations for list `which` of the header, whose lengths are set, and applies them
 * (8.2.4.3). `list` has the initial list of `count` entries and receives the final one. */
void references_modify_list(const struct references *references, const struct picture *current,
                            struct random *random, struct h264_slice_header *header, unsigned which,
                            struct picture **list, unsigned count);
/* Draws memory management operations for a reference picture that is no IDR picture, or leaves it to the sliding
 * window; into the header. */
void references_draw_marking(const struct references *references, const struct picture *current,
                             struct random *random, struct h264_slice_header *header);
/* Marks as the header says once the picture is decoded (8.2.5). */
void references_mark(struct references *references, struct picture *current, const struct h264_slice_header *header);

/* One stream. */
struct exercise {
    struct random random;
    struct h264_sps sps;
    struct h264_pps pps;
    struct h264_coder *coder;
    struct references references;
    struct picture **pictures; /* in coding order */
    unsigned picture_count, picture_limit;
    bool shared_lists;         /* Slices of a picture share type and lists. Only then is temporal prediction used:
                                  libavcodec keeps only the last slice's lists for co-located macroblocks. */
    bool plain;                /* Shared lists, in their initial order, and sliding windows: decoders that are not
                                  complete can take part. */
    unsigned b_pictures;       /* most B pictures between two others; 0: no B pictures */
    int qp, qp_spread;         /* of slices */
    unsigned wish_percent;     /* pictures with wishes for macroblocks */
    unsigned skip_percent;     /* pictures coded without looking at the source */
    unsigned sequence;
    int32_t next_picture_order_count;
    uint32_t previous_reference_frame_num;
    bool previous_is_reference;
    uint32_t idr_pic_id;
    struct bits stream;
    unsigned kinds[3][5]; /* macroblocks by slice type and enum macroblock_kind */
};

/* Chooses all settings; `profile` is a profile_idc or 0 for any. */
void exercise_begin(struct exercise *exercise, uint64_t seed, uint32_t profile, unsigned pictures, bool plain);
/* Codes the whole stream. False with a message on standard error where the coder fails. */
bool exercise_run(struct exercise *exercise);
void exercise_end(struct exercise *exercise);

/* Draws the source of a picture from those coded before and from chance. */
void exercise_draw_source(struct exercise *exercise, struct h264_frame *source);

/* Calls the coder `count` times with damaged requests; it must not do more than fail. Returns how many it took. */
unsigned exercise_hostile(uint64_t seed, unsigned count);

/* Codes a picture again and again, with the first, second, third allocation failing, until none does. Exits with a
 * message where that does more than make the coder fail. Returns how many failed. */
unsigned exercise_memory(void);

/* What an I picture of 128x96 costs, its macroblocks flat or textured, without deblocking. */
struct exercise_rate {
    uint64_t bytes, squared_error; /* over 18432 samples */
};

struct exercise_rate exercise_measure_rate(bool flat, int qp);

/* A frame of the exercise's size with samples of its own, all `value`. Exits when out of memory. */
uint8_t *exercise_allocate_frame(const struct h264_sps *sps, struct h264_frame *frame, uint8_t value,
                                 size_t extra_pitch);

#endif
