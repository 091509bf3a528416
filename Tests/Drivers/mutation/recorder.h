/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the recorder: recorder.c loads and keeps, recorder_objects.c and recorder_pictures.c wrap calls. */
#ifndef DRIVERS_MUTATION_RECORDER_H
#define DRIVERS_MUTATION_RECORDER_H

#include "trace.h"

#include <va/va.h>
#include <va/va_backend.h>

/* The wrapped driver's own functions. */
extern struct VADriverVTable recorder_inner;

struct numbers {
    uint64_t *values; /* owned; freed by recorder_write */
    size_t count;
};

/* A buffer that is alive, an image's included. */
struct recorded_buffer {
    VADriverContextP context;
    VABufferID id;
    size_t size;     /* bytes */
    bool coded;      /* VAEncCodedBufferType */
    void *mapping;   /* NULL while not mapped */
    VAImageID image; /* the image that it belongs to, or 0 */
};

void recorder_lock(void);
void recorder_unlock(void);

/* All below are called with the lock held. recorder_write takes both lists; `out` is left out when the call failed. */
void recorder_write(VADriverContextP context, enum trace_function function, VAStatus status, struct numbers in,
                    struct numbers out, const void *data, size_t size);
struct numbers recorder_numbers(size_t count, const uint64_t *values);
void recorder_append(struct numbers *numbers, uint64_t value);

#define NUMBERS(...)                                                                                                   \
    recorder_numbers(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (const uint64_t[]){__VA_ARGS__})
#define NO_NUMBERS ((struct numbers){NULL, 0})

struct recorded_buffer *recorder_buffer(VADriverContextP context, VABufferID id);
void recorder_add_buffer(VADriverContextP context, VABufferID id, size_t size, bool coded);
void recorder_drop_buffer(VADriverContextP context, VABufferID id);
struct recorded_buffer *recorder_image_buffer(VADriverContextP context, VAImageID image); /* or NULL */
void recorder_drop_image(VADriverContextP context, VAImageID image);

/* Put the recording functions into the table. */
void recorder_wrap_objects(struct VADriverVTable *table);  /* configs, contexts, surfaces, images, terminate */
void recorder_wrap_pictures(struct VADriverVTable *table); /* buffers, pictures, synchronisation */

#endif
