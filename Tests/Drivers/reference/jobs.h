/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A picture on its way from vaEndPicture to the coded buffer. */
#ifndef DRIVERS_REFERENCE_JOBS_H
#define DRIVERS_REFERENCE_JOBS_H

#include "../common/wish.h"
#include "driver.h"
#include "rate_control.h"

struct job_reference {
    struct surface *surface; /* held by the job; NULL beyond the list's length */
    int32_t order_count;
    bool long_term;
    uint32_t picture; /* its number in the context (journal_place) */
};

struct job_slice {
    enum coded_type type;
    union slice_header header;
    struct bits nal, prefix; /* owned; an empty prefix: none */
    uint32_t first_block, block_count; /* macroblocks or coding tree blocks */
    struct job_reference references[2][CHECKS_MAXIMUM_REFERENCES];
};

struct job {
    struct job *next;
    struct journal_place place;
    enum codec codec;
    uint32_t chroma_format, bit_depth; /* chroma_format_idc, bits of a sample */
    uint32_t coded_width, coded_height; /* luma samples */
    uint32_t width_in_mbs, height_in_mbs; /* likewise, in 16x16 luma samples, those cut by the border included */
    uint32_t left, top, width, height; /* what a decoder shows of the picture (cropping) */
    union sequence_set sps;
    union picture_set pps;
    bool idr, reference, long_term;
    int32_t order_count;
    bool resumes; /* goes back to the picture with this number: pictures from that on are discarded */
    uint32_t resumed_picture;
    struct understood_rate rate;
    uint64_t largest_access_unit; /* bytes that the level allows; 0: it is not known */
    struct bits headers; /* owned */
    struct job_slice *slices;
    uint32_t slice_count;
    struct wish *wishes; /* of 16x16 luma samples, for the whole picture in raster order, owned; NULL: none */

    struct surface *input, *reconstruction;
    struct surface_turn input_turn;
    struct surface **held; /* references to surfaces, each once; input and reconstruction among them */
    uint32_t held_count, held_capacity;
    struct buffer *coded; /* a reference */
    bool counted;         /* the surfaces' and the buffer's counters include this job */
    uint64_t submitted;   /* microseconds, CLOCK_MONOTONIC */
};

/* What became of a picture's blocks. */
struct coding_figures {
    uint32_t intra_macroblocks; /* how many 16x16 luma samples are intra */
    int least_qp, most_qp;      /* the lowest and highest QP that a block was decided and coded with */
};

/* What coding a picture gave. */
struct job_result {
    struct bits stream;
    bool failed;
    const char *failure;
    int qp;             /* of the picture, or of its first slice */
    uint32_t passes;
    struct coding_figures figures;
    uint32_t filler;    /* bytes of filler data in the stream */
    uint32_t status;    /* for VACodedBufferSegment.status */
    uint64_t started, ended; /* microseconds, CLOCK_MONOTONIC */
};

uint64_t microseconds_now(void);

enum coded_type job_type(const struct job *job);

/* output.c: journals the coded picture, with MD5s when it is truthful, and dumps frames where asked. `stored` bytes of
 * the stream went into the coded buffer. */
void job_report(const struct driver *driver, const struct job *job, const struct job_result *result, uint32_t stored);

#endif
