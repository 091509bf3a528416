/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random but conforming HEVC streams for the coder; see ../hevc_exercise.c.
 *
 * settings.c    parameter sets
 * references.c  reference picture sets and lists, as syntax
 * stream.c      order of pictures, slice headers, coding
 * content.c     source pictures that make every kind of coding unit worthwhile
 * rate.c        bits and error by QP
 * hostile.c     requests that no application should make, and allocations that fail */
#ifndef DRIVERS_TESTS_HEVC_EXERCISE_H
#define DRIVERS_TESTS_HEVC_EXERCISE_H

#include "../../hevc/coder.h"
#include "../../hevc/dpb.h"
#include "../support/random.h"

/* A coded picture, whose index in exercise.pictures is its surface; kept until the end of the exercise. */
struct picture {
    struct hevc_frame frame;
    uint8_t *samples; /* owned; what frame points into */
    unsigned sequence; /* how many pictures that start anew came before */
};

struct exercise {
    struct random random;
    struct hevc_vps vps;
    struct hevc_sps sps;
    struct hevc_pps pps;
    struct hevc_coder *coder;
    struct hevc_dpb dpb;
    struct picture *pictures; /* owned, in coding order */
    unsigned picture_count, picture_limit;
    unsigned *outputs;        /* owned: indices of pictures in output order */
    unsigned output_count;
    unsigned b_pictures;      /* between two others; 0: none */
    bool pyramid;             /* B pictures refer to each other */
    bool low_delay;           /* B slices where others would have P slices */
    unsigned most_references; /* that a reference picture set keeps */
    int qp, qp_spread;        /* of slices */
    unsigned wish_percent;    /* pictures with wishes */
    bool plain;               /* without what libavcodec gets wrong: constrained intra prediction, slices of a picture
                                 that differ in how they are deblocked, deblocking of chroma with a QP above 57, and
                                 QPs of 50 and 51 with 12 bits, for which its tables of QP / 6 and QP % 6 have no value */
    bool neutral;             /* plain, and without what libde265 gets wrong with 4:2:2 and 4:4:4 */
    bool skip;                /* coded without looking at the source: streams of which only the syntax is right */
    unsigned sequence;
    int32_t order_count, order_step; /* of the latest picture in output order; between neighbours */
    struct bits stream;
    uint64_t samples, intra_samples, skipped_samples; /* of luma, in P and B pictures */
    unsigned types[3];        /* slices by type */
};

enum exercise_kind { EXERCISE_STREAM, EXERCISE_PLAIN, EXERCISE_SKIP, EXERCISE_NEUTRAL };

/* chroma_format_idc from 1 to 3; bits of a sample: 8, 10, 12, or 0 for any of these. */
struct exercise_format {
    unsigned chroma, depth;
};

/* Chooses all settings. */
void exercise_begin(struct exercise *exercise, enum exercise_kind kind, uint64_t seed, struct exercise_format format,
                    unsigned pictures);
void exercise_end(struct exercise *exercise);

/* Draws the parameter sets. */
void exercise_draw_parameter_sets(struct exercise *exercise, struct exercise_format format);

/* Codes the whole stream. False with a message on standard error where the coder fails, or the model of the DPB finds
 * the stream wrong. */
bool exercise_run(struct exercise *exercise);

/* Writes into the header, whose type and order count are set, a reference picture set of pictures in the DPB. */
void exercise_draw_reference_set(struct exercise *exercise, struct hevc_slice_header *header, int32_t order_count);

/* Draws the source of a picture from those coded before and from chance. */
void exercise_draw_source(struct exercise *exercise, struct hevc_frame *source);

/* How many samples of a component lie beside, or below, each other where luma has `luma`. */
uint32_t exercise_width(const struct hevc_sps *sps, unsigned component, uint32_t luma);
uint32_t exercise_height(const struct hevc_sps *sps, unsigned component, uint32_t luma);

/* A frame of the exercise's size, laid out as the reference driver's surfaces of the format are, with samples
 * of its own, all of the byte `value`. Exits when out of memory. */
uint8_t *exercise_allocate_frame(const struct hevc_sps *sps, struct hevc_frame *frame, uint8_t value,
                                 size_t extra_pitch);

/* One sample; component 0 is luma, 1 Cb, 2 Cr. */
uint16_t exercise_get(const struct hevc_sps *sps, const struct hevc_frame *frame, unsigned component, uint32_t x,
                      uint32_t y);
void exercise_put(const struct hevc_sps *sps, struct hevc_frame *frame, unsigned component, uint32_t x, uint32_t y,
                  unsigned value);

/* Calls the coder `count` times with damaged requests; it must not do more than fail. Returns how many it took. */
unsigned exercise_hostile(uint64_t seed, unsigned count);

/* Codes a picture again and again, with the first, second, third allocation failing, until none does. Exits with a
 * message where that does more than make the coder fail. Returns how many failed. */
unsigned exercise_memory(void);

/* What an I picture of 128x96 costs, its blocks flat or textured, without deblocking. */
struct exercise_rate {
    uint64_t bytes, squared_error; /* over 18432 samples */
};

struct exercise_rate exercise_measure_rate(bool flat, int qp);

/* What wishes make of the textured picture. */
struct exercise_wishes {
    unsigned same;          /* of 30 QPs: those that come to the same when they are reached by wishes for all blocks */
    bool clipped;           /* a QP beyond the most that is allowed comes to that */
    int least_qp, most_qp;  /* of QP 30 with an offset of -9 on the left */
    int last_qp;            /* the highest of QP 20, the lower right 16x16 of the last 32x32 having an offset of 5 */
    uint32_t skipped_samples;             /* of 12288 in a P picture of the same source */
    uint32_t intra_ctbs, intra_samples;   /* there, when one block of 32x32 is to be intra */
};

struct exercise_wishes exercise_measure_wishes(void);

#endif
