/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VLD: what a context of that entrypoint does at vaEndPicture, and the thread that decodes. */
#ifndef DRIVERS_REFERENCE_DECODING_H
#define DRIVERS_REFERENCE_DECODING_H

#include "../decoding/rebuild.h"
#include "../decoding/software.h"
#include "driver.h"

/* The queue, the thread and the software decoder of a context of VLD. */
struct decoder;

/* Starts the thread. NULL: out of memory, or there is no software decoder. */
struct decoder *decoder_create(struct driver *driver, const struct context *context);

/* Ends the thread after the pictures that it has; without the lock. */
void decoder_stop(struct driver *driver, struct decoder *decoder);
void decoder_free(struct decoder *decoder);

/* Judges the picture that was begun and gives it to the thread. */
VAStatus decoding_end(struct driver *driver, struct context *context);

/* What is advertised for the entrypoint. */
uint32_t decoding_attribute(const struct persona_limits *limits, VAConfigAttribType type);

/* software_library.c: the functions of the library beside the driver, which is loaded when they are first asked for.
 * NULL: it cannot be loaded, which has been said on standard error. */
const struct software_functions *software_functions_load(void);

/* decoding_report.c */

/* A picture on its way from vaEndPicture to its surface. */
struct decode_job {
    struct decode_job *next;
    struct rebuild_picture picture;    /* with buffers that the job owns */
    struct surface *target;            /* references, and so on */
    struct surface *references[REBUILD_MAXIMUM_REFERENCES]; /* NULL where picture.references has none */
    struct surface_turn target_turn, reference_turns[REBUILD_MAXIMUM_REFERENCES];
    uint64_t submitted; /* microseconds, CLOCK_MONOTONIC */
};

/* What became of it. */
struct decode_result {
    bool tried;   /* the effort is not EFFORT_SKIP, and the device is there */
    bool failed;  /* wholly or in part */
    char failure[128];
    uint32_t units; /* that were made for it */
    uint32_t missing, first_missing, last_missing; /* macroblocks, in raster order */
    uint64_t started, ended;
};

/* Journals the picture, with its MD5, and dumps it where asked. */
void decoding_report(const struct driver *driver, const struct decode_job *job, const struct decode_result *result);

#endif
