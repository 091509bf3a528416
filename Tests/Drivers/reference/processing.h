/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VideoProc: what a context of that entrypoint does at vaEndPicture, and the thread that does it. */
#ifndef DRIVERS_REFERENCE_PROCESSING_H
#define DRIVERS_REFERENCE_PROCESSING_H

#include "conversion.h"
#include "driver.h"

/* The queue and the thread of a context of VideoProc. */
struct processor;

/* Starts the thread. NULL: out of memory. */
struct processor *processor_create(struct driver *driver);

/* Ends the thread after the conversions that it has; without the lock. */
void processor_stop(struct driver *driver, struct processor *processor);
void processor_free(struct processor *processor);

/* Judges the picture that was begun and gives its conversion to the thread. */
VAStatus processing_end(struct driver *driver, struct context *context);

/* What is advertised: the value of an attribute of the config, and whether a colour standard is listed. */
uint32_t processing_attribute(const struct persona *persona, VAConfigAttribType type);
bool processing_has_standard(const struct persona *persona, VAProcColorStandardType standard);
bool processing_writes_format(const struct pixel_format *format);

/* How small surfaces may be. */
#define PROCESSING_MINIMUM_SIZE 16

/* processing_judge.c: what the pipeline buffer asks for; false with `status` when it cannot be done. The regions and
 * colours of the conversion are filled, and its pictures' formats and sizes are given. */
bool processing_read(const struct driver *driver, const struct context *context,
                     const VAProcPipelineParameterBuffer *pipeline, struct conversion *conversion, VAStatus *status);

#endif
