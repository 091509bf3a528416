/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a codec's coder does for the worker (coding.c). */
#ifndef DRIVERS_REFERENCE_CODECS_H
#define DRIVERS_REFERENCE_CODECS_H

#include "jobs.h"

/* The input: the surface itself, or a copy where its memory ends before the coded picture. */
struct coding_source {
    const struct pixel_format *format;
    uint8_t *planes[2];
    size_t pitches[2]; /* bytes */
    uint8_t *copy; /* owned, or NULL */
};

struct codec_coding {
    struct bits filler; /* start code and header of a filler data NAL unit */
    void *(*create)(void); /* NULL: out of memory */
    void (*destroy)(void *coder);
    /* The QP that the headers give the slice. */
    int (*header_qp)(const struct job *job, const struct job_slice *slice);
    /* Starts the picture, codes a slice of it (with `qp`, or with its header's when that is below any), and ends it. */
    bool (*begin)(void *coder, const struct job *job, const struct coding_source *source, enum effort effort);
    bool (*slice)(void *coder, const struct job *job, const struct job_slice *slice, int qp, struct bits *stream);
    bool (*end)(void *coder);
    struct coding_figures (*figures)(const void *coder);
    const char *(*failure)(const void *coder);
};

/* What codes pictures of the codec. */
const struct codec_coding *coding_of(enum codec codec);

extern const struct codec_coding h264_coding, hevc_coding;

#endif
