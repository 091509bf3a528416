/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a codec does for VAEntrypointVLD: it judges what a client submits, and rebuilds from the VA-API buffers alone a
 * stream that a software decoder (software.h) decodes into the target's samples. What the client's own headers say
 * is never used: the slice data are taken from where the slice parameters say that they begin.
 *
 * The software decoder sees one continuous stream per context, whose order counts, frame numbers and marking are the
 * rebuilder's. Its decoded picture buffer is made to hold what the client's picture parameters list: pictures of this
 * context by their numbers, anything else as a picture that is made of the surface's samples without loss. */
#ifndef DRIVERS_DECODING_REBUILD_H
#define DRIVERS_DECODING_REBUILD_H

#include "../checks/checks.h"
#include "../common/bits.h"
#include "../hevc/samples.h"

#define REBUILD_MAXIMUM_REFERENCES 16

/* A surface that the client names. */
struct rebuild_surface {
    struct submitted_surface surface; /* with `valid` false when there is none with that id */
    /* What it holds when the picture is submitted: the number of the picture of this context that was decoded into it
     * (rebuild_picture.number), or 0 when that is none, or was overwritten since. Both fields of a frame that were
     * submitted one after the other into the same surface have the number of the first. */
    uint64_t number;
    /* Anything was ever written to it: a decoder, VideoProc, an image; so it may be worth showing. */
    bool filled;
};

enum rebuild_fields { REBUILD_FRAME, REBUILD_TOP_FIELD, REBUILD_BOTTOM_FIELD };

/* Everything that a client submitted for one picture (frame or field) between vaBeginPicture and vaEndPicture. */
struct rebuild_picture {
    struct journal_place place;
    VAProfile profile;
    uint32_t context_width, context_height;
    const struct submitted_buffer *buffers; /* in the order rendered, with copies of the data */
    uint32_t buffer_count;
    struct rebuild_surface target; /* as before this picture */
    /* What judge has found: which fields the picture has, and its references, entries as in ReferenceFrames of the
     * picture parameters; those that are not used have VA_INVALID_SURFACE as `surface.id`. */
    enum rebuild_fields fields;
    struct rebuild_surface references[REBUILD_MAXIMUM_REFERENCES];
    int32_t order_count;           /* for the journal */
    /* What the driver makes of it: */
    bool second_field; /* of the frame whose first field is the picture before in this context */
    uint64_t number;   /* of this picture, from 1, increasing; that of the first field for a second one */
};

/* What judge asks about. `token` is that of the call. */
struct rebuild_scene {
    struct rebuild_surface (*surface)(void *token, VASurfaceID id);
    void *token;
};

/* A part of the stream that gives one picture of the software decoder: an access unit, or one field of it. */
struct rebuilt_unit {
    struct bits stream; /* Annex B, whole bytes, owned */
    bool target;        /* gives the target's samples; else a picture that is only kept or serves marking */
};

#define REBUILT_UNITS (3 * REBUILD_MAXIMUM_REFERENCES + 4)

struct rebuilt {
    bool restart; /* the software decoder forgets everything before the first unit */
    struct rebuilt_unit units[REBUILT_UNITS];
    uint32_t unit_count;
    const char *failure; /* why it could not be rebuilt, when rebuild returned false */
};

/* Samples of a reference that is not a picture of this context, for rebuild. */
struct rebuild_samples {
    struct hevc_samples components[3]; /* Y, Cb, Cr */
    unsigned depth;
    uint32_t columns, rows; /* of the picture that may be read */
};

struct rebuild_source {
    /* False: there are none. Called by rebuild alone, when everything that writes to the surface is complete. */
    bool (*samples)(void *token, VASurfaceID id, struct rebuild_samples *samples);
    void *token;
};

enum software_codec { SOFTWARE_H264, SOFTWARE_HEVC };

struct codec_rebuilding {
    enum software_codec software;
    /* One per context; NULL: out of memory. */
    void *(*create)(VAProfile profile, uint32_t context_width, uint32_t context_height);
    void (*destroy)(void *rebuilder);
    /* In vaEndPicture, in the client's thread, without any state but what the picture and the scene say: makes
     * findings, fills `fields`, `references` and `order_count`, and returns VA_STATUS_SUCCESS, or why the picture cannot
     * be decoded at all. It must not cost more than a few microseconds; bytes of slice data are not read.
     * Buffers' bytes may be hostile: sizes are checked before every read. Findings go by journal_judging. */
    VAStatus (*judge)(struct rebuild_picture *picture, const struct rebuild_scene *scene);
    /* In the context's worker, in order. False: `failure` says why, and nothing is decoded. Units are released by the
     * caller in either case. May make findings of its own. */
    bool (*rebuild)(void *rebuilder, const struct rebuild_picture *picture, const struct rebuild_source *source,
                    struct rebuilt *rebuilt);
    /* The software decoder failed in a unit of the latest picture: nothing it holds can be relied on. The next picture
     * starts with `restart`. */
    void (*lost)(void *rebuilder);
};

extern const struct codec_rebuilding h264_rebuilding, hevc_rebuilding;

/* rebuild.c, for judging and rebuilding: */

/* The only buffer of the type among those of the picture, of at least `size` bytes, or NULL and a finding. */
const void *rebuild_find_buffer(const struct rebuild_picture *picture, VABufferType type, size_t size,
                                const char *what);

/* The same for rebuild: without findings. NULL: there is none. */
const void *rebuild_peek_buffer(const struct rebuild_picture *picture, VABufferType type);

/* One slice: its parameters, and the bytes that they name. */
struct rebuild_slice {
    const void *parameters; /* of the size that was asked for */
    const uint8_t *data;
    size_t size;
};

/* Walks over the slices of the picture in the order rendered: slice parameter buffers, with one element per slice, each
 * followed by the buffer with the data of its slices. Starts with a zeroed cursor; false: there are no more, or the
 * rest cannot be read, which is a finding and sets `broken`. Parameters begin as VASliceParameterBufferBase does. */
struct rebuild_cursor {
    uint32_t count; /* slices found so far */
    bool broken;
    uint32_t buffer, element; /* where the next one is looked for */
};
bool rebuild_next_slice(const struct rebuild_picture *picture, size_t parameter_size, struct rebuild_cursor *cursor,
                        struct rebuild_slice *slice);

/* A finding for the picture (or the slice with this number; UINT32_MAX: none), unless judging is off. */
void rebuild_finding(const struct rebuild_picture *picture, uint32_t slice, const char *name, const char *clause,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
