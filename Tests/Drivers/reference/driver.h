/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the reference VA-API driver share: objects, their lifetimes and locks.
 *
 * Locking: `driver->lock` protects the table of objects, reference counts and every field of an object that can
 * change after its creation, unless said otherwise. Bytes of surfaces and buffers are not protected: as on hardware,
 * synchronising is the client's duty, and what it gets wrong is a finding, never a crash of the driver. */
#ifndef DRIVERS_REFERENCE_DRIVER_H
#define DRIVERS_REFERENCE_DRIVER_H

#include "../checks/checks.h"
#include "../h264/coder.h"
#include "../hevc/coder.h"
#include "entry_points.h"
#include "personas.h"
#include "pixels.h"
#include "segments.h"

#include <pthread.h>
#include <va/va_backend.h>
#include <va/va_backend_vpp.h>

enum object_kind { OBJECT_CONFIG = 1, OBJECT_CONTEXT, OBJECT_SURFACE, OBJECT_BUFFER, OBJECT_IMAGE, OBJECT_KINDS };

/* The first member of everything that has an id. Ids carry the kind in their upper four bits and are never given out
 * twice in a process. */
struct object {
    enum object_kind kind;
    uint32_t id;
    uint32_t references; /* the table's own, and one per user */
    bool excused;        /* a fault kept the client from destroying or unmapping it: no leak, and it may be mapped */
    bool unwaitable;     /* a fault kept the client from waiting for it */
    struct object *next; /* in its bucket of the table */
};

#define OBJECT_BUCKETS 1024

/* REFERENCE_DRIVER_EFFORT */
enum effort { EFFORT_TRUTHFUL, EFFORT_SKIP };

struct fault_display;

struct driver {
    struct fault_display *faults;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a picture was completed, or a context's queue has changed */
    struct persona persona;
    enum effort effort;
    enum segmentation segmentation;
    uint64_t segment_seed;
    const char *dump_folder; /* or NULL */
    uint64_t submissions; /* pictures given to workers so far */
    VASurfaceDecodeMBErrors decoding_errors[2]; /* what vaQuerySurfaceError gave last, with the end of the list */
    struct object *objects[OBJECT_BUCKETS];
    uint32_t living[OBJECT_KINDS], most_living[OBJECT_KINDS]; /* now, and at any time */
};

struct config {
    struct object object;
    struct submitted_config submitted;
};

enum memory_owner { MEMORY_DRIVER, MEMORY_PRIME, MEMORY_USER_POINTER };

#define MEMORY_OBJECTS 2
#define PITCH_PADDING 64 /* bytes of a row, at least, that nobody needs */

/* Samples of a surface. */
struct surface_memory {
    enum memory_owner owner;
    const struct pixel_format *format;
    uint32_t object_count;
    int files[MEMORY_OBJECTS]; /* memfd or DMA-BUF; -1 for user pointers */
    uint8_t *maps[MEMORY_OBJECTS];
    size_t sizes[MEMORY_OBJECTS];
    uint32_t plane_object[2], plane_offset[2], plane_pitch[2];
    uint32_t columns, rows; /* of the picture, that may be read and written: at least the surface's own size */
    bool writable;
};

/* Components of samples in memory, for the coder of HEVC; only of formats with `chroma`. */
static inline void pixel_lay_out(const struct pixel_format *format, uint8_t *const planes[2], const size_t pitches[2],
                                 struct hevc_samples samples[3])
{
    for (unsigned i = 0; i < 3; i++) {
        const struct pixel_component *component = &format->components[i];
        samples[i] = (struct hevc_samples){
            .first = planes[component->plane] ? planes[component->plane] + component->first : NULL,
             .pitch = pitches[component->plane],
            .step = component->step, .bytes = component->bytes, .shift = component->shift};
    }
}

struct surface {
    struct object object;
    uint32_t width, height;
    struct surface_memory memory;
    /* Of the reconstruction, by codec; its motion belongs to the context that codes into it. */
    struct h264_frame h264_frame;
    struct hevc_frame hevc_frame;
    uint32_t coded_width, coded_height; /* of the picture reconstructed in it, luma samples; 0: none so far */
    uint32_t picture; /* number of that picture in its context (journal_place) */
    uint32_t reading;        /* pictures in flight that this is the input of */
    uint32_t coding;         /* pictures in flight that write to or predict from it */
    uint32_t coding_context; /* whose pictures those are */
    uint32_t processing;     /* conversions in flight that read it, counted in `reading` as well */
    /* How often it was submitted to be written by decoders and VideoProc, and to be read by encoders, VideoProc and, as
     * a reference, decoders; and how often that came to its end. Encoders' own writing is not counted. */
    uint64_t writes_begun, writes_ended, reads_begun, reads_ended;
    VAContextID decoded_by;  /* the context whose picture was decoded into it last, when nothing else has written since */
    uint64_t decoded_number; /* of that picture there (rebuild_picture) */
    bool filled;             /* anything was ever written to it, mapping it aside */
    VAStatus damage;         /* of what was decoded into it last, for vaSyncSurface */
    uint32_t first_damaged, last_damaged; /* macroblocks; UINT32_MAX: to the last one */
    uint32_t contexts;       /* living contexts that named it as render target */
    uint32_t mapped;         /* mappings of derived images */
    uint64_t synchronised;   /* the client has waited for pictures up to this submission */
};

/* When a use of a surface may begin: after those that were submitted before. */
struct surface_turn {
    uint64_t writes, reads;
};

/* What a fault on a coded picture does to its coded buffer. */
struct coded_fault {
    bool hang, overflow, negative, has_size, has_status;
    uint32_t size, status;
};

struct buffer {
    struct object object;
    VABufferType type;
    VAContextID context;
    uint32_t size, count; /* bytes per element, elements */
    uint32_t count_limit; /* as created */
    uint8_t *data;        /* owned, unless `surface` is given */
    struct surface *surface; /* the one whose memory a derived image shows (a reference), or NULL */
    VAImageID image;         /* the image it belongs to, or VA_INVALID_ID */
    uint32_t mapped;
    /* Coded buffers only: */
    VACodedBufferSegment segment;   /* the whole picture */
    VACodedBufferSegment *segments; /* its list, owned; NULL: it is one segment */
    bool pending; /* a picture is to be coded into it */
    bool filled;  /* holds a picture */
    bool waited;  /* vaSyncBuffer was called since the picture was submitted */
    uint64_t submission; /* of that picture */
    VASurfaceID input;   /* of that picture */
};

struct image {
    struct object object;
    VAImage description;
    bool derived;
};

struct job;
struct codec_coding;
struct processor;
struct decoder;
struct rate_control;
struct rate_history;
struct skipped_slices;

#define OVERFLOWED_KEPT 16

struct context {
    struct object object;
    VAConfigID config_id;
    struct submitted_config config;
    uint32_t width, height;
    struct surface **targets; /* references */
    uint32_t target_count;

    /* A call of the client is inside begin, render or end; the fields up to the next blank line belong to it. */
    bool occupied;
    bool begun, spoiled; /* spoiled: a fault refused part of the picture, which is no fault of the client's */
    uint32_t pictures;   /* begun so far, the current one included */
    struct surface *target; /* a reference, while begun */
    struct submitted_buffer *rendered; /* each with a copy of the data */
    uint32_t rendered_count, rendered_capacity;
    struct processor *processor; /* of VideoProc, else NULL */
    struct decoder *decoder;     /* of VLD, else NULL; without either, what follows is an encoder's */
    struct checker *checker;

    pthread_t worker;
    bool stopping, hung;
    struct job *first_job, *last_job;
    /* Numbers of pictures that came out cut short (journal_place), a ring. */
    uint32_t overflowed[OVERFLOWED_KEPT];
    uint32_t overflowed_count;

    /* The worker's own. */
    const struct codec_coding *coding;
    void *coder; /* of `coding` */
    struct rate_control *rate_control;
    struct rate_history *rate_history; /* for pictures that are submitted again */
    struct skipped_slices *skipped; /* NULL unless the effort is EFFORT_SKIP and the codec is H.264 */
};

static inline struct driver *driver_of(VADriverContextP context)
{
    return context->pDriverData;
}

/* The entry points' work, behind the wrappers: entry_vaCreateConfig and so on. */
#define DECLARE_ENTRY(name, parameters, arguments, refused) VAStatus entry_##name parameters;
DRIVER_ENTRY_POINTS(DECLARE_ENTRY)
PROCESSING_ENTRY_POINTS(DECLARE_ENTRY)
#undef DECLARE_ENTRY


/* objects.c */

/* Makes a zeroed object of `size` bytes and enters it in the table. NULL: out of memory. Takes the lock. */
void *object_create(struct driver *driver, enum object_kind kind, size_t size);

/* The living object with the id, with a reference more (object_release), else NULL and a finding that names the
 * call. The second form is used with the lock held. */
void *object_find(struct driver *driver, enum object_kind kind, uint32_t id, const char *call);
void *object_find_locked(struct driver *driver, enum object_kind kind, uint32_t id, const char *call);

/* The same without a finding and without another reference; with the lock held. */
void *object_peek(struct driver *driver, enum object_kind kind, uint32_t id);

/* Takes the object out of the table: its id is dead. The caller's reference stays. With the lock held. */
void object_withdraw(struct driver *driver, struct object *object);

void object_release(struct driver *driver, void *object);
void object_release_locked(struct driver *driver, void *object);
void *object_hold_locked(void *object);

/* Destroys what is left and reports it. */
void objects_terminate(struct driver *driver);

/* After faults: a call that destroys the objects, or waits for them, was refused. */
void objects_excuse(VADriverContextP context, const uint32_t *ids, int count);
void objects_unwaitable(VADriverContextP context, const uint32_t *ids, int count);

/* What the kinds do when their last reference goes; with the lock held. */
void surface_free(struct driver *driver, struct surface *surface);
void surface_report_access(const struct surface *surface, const char *call); /* by the client's CPU */
void buffer_free(struct driver *driver, struct buffer *buffer);
void context_free(struct driver *driver, struct context *context);

/* surface_memory.c */

bool memory_allocate(struct surface_memory *memory, const struct pixel_format *format, uint32_t width,
                     uint32_t height);
/* Allocates and maps its only object, whose size is set. */
bool memory_back(struct surface_memory *memory, const char *name);
void memory_release(struct surface_memory *memory);
static inline uint8_t *memory_plane(const struct surface_memory *memory, unsigned plane)
{
    return memory->maps[memory->plane_object[plane]] + memory->plane_offset[plane];
}
/* Writes the pattern that stands for undefined samples right of and below width x height; only into memory that the
 * driver allocated. */
void memory_poison_border(struct surface_memory *memory, uint32_t width, uint32_t height);

/* sharing.c: fills the memory from the client's descriptors. */
VAStatus memory_import_prime(struct surface_memory *memory, const struct pixel_format *format, const void *descriptor,
                             uint32_t width, uint32_t height, enum persona_export exports);
VAStatus memory_import_pointer(struct surface_memory *memory, const struct pixel_format *format,
                               const void *descriptor, uint32_t index, uint32_t width, uint32_t height);

/* buffers.c */

/* With a NULL context id for images. The data are uninitialised when NULL. */
struct buffer *buffer_create(struct driver *driver, VAContextID context, VABufferType type, uint32_t size,
                             uint32_t count, const void *data);

/* synchronisation.c; all with the lock held, which waiting gives up. False: the time is over. */
bool wait_for_surface(struct driver *driver, struct surface *surface, uint64_t nanoseconds);
bool wait_for_buffer(struct driver *driver, struct buffer *buffer, uint64_t nanoseconds);
/* Whether the client has waited for the picture in the coded buffer, by it or by the picture's input. */
bool was_synchronised(struct driver *driver, const struct buffer *buffer);
/* Whether a fault has refused the client's attempt to wait for the picture. */
bool could_not_wait(struct driver *driver, const struct buffer *buffer);

/* The kernel's implicit synchronisation: uses of a surface in the order of their submission. Reading waits for what
 * writes, writing for everything. With the lock held. */
struct surface_turn surface_begin_reading(struct surface *surface);
struct surface_turn surface_begin_writing(struct surface *surface); /* what was decoded into it is gone */
void surface_end_reading(struct surface *surface);
void surface_end_writing(struct surface *surface);
bool surface_is_due(const struct surface *surface, const struct surface_turn *turn);

/* pictures.c: after faults. */
void picture_refused(VADriverContextP driver_context, VAContextID id);
void picture_spoiled(VADriverContextP driver_context, VAContextID id);
/* Forgets the picture that was begun. */
void picture_clear_locked(struct driver *driver, struct context *context);

/* contexts.c: ends the worker after the pictures that it has; without the lock. */
void context_stop(struct driver *driver, struct context *context);

/* jobs.c and coding.c */

/* Copies what the checker understood and holds the surfaces and the coded buffer. `status` says why when NULL is
 * returned. Without the lock. */
struct job *job_create(struct driver *driver, struct context *context, const struct understood_picture *understood,
                       VAStatus *status);
/* Gives the job to the context's worker; fails, and destroys it, when its coded buffer or surfaces are taken. */
VAStatus job_submit(struct driver *driver, struct context *context, struct job *job);
void job_destroy_locked(struct driver *driver, struct job *job);
void *context_work(void *context_and_driver);

struct worker_start {
    struct driver *driver;
    struct context *context;
};

#endif
