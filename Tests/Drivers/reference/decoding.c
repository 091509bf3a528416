/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decoding.h"

#include "faults.h"
#include "jobs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct decoder {
    struct driver *driver;
    const struct codec_rebuilding *codec;
    void *rebuilder; /* of `codec`; the thread's own */
    struct software *software;
    const struct software_functions *functions; /* NULL with EFFORT_SKIP */
    pthread_t worker;
    bool stopping, hung;
    struct decode_job *first, *last;
    /* The client's side: */
    uint64_t number;               /* of the latest frame */
    VASurfaceID field_surface;     /* of the latest field, while its frame lacks the other one, or VA_INVALID_SURFACE */
    enum rebuild_fields field;
};

static const struct codec_rebuilding *rebuilding_of(VAProfile profile)
{
    return codec_of(profile) == CODEC_HEVC ? &hevc_rebuilding : &h264_rebuilding;
}

uint32_t decoding_attribute(const struct persona_limits *limits, VAConfigAttribType type)
{
    switch ((int)type) {
    case VAConfigAttribRTFormat:
        return limits->rt_formats;
    case VAConfigAttribMaxPictureWidth:
        return limits->maximum_width;
    case VAConfigAttribMaxPictureHeight:
        return limits->maximum_height;
    case VAConfigAttribDecSliceMode:
        return VA_DEC_SLICE_MODE_NORMAL;
    default:
        return VA_ATTRIB_NOT_SUPPORTED;
    }
}

/* Samples of a reference, when the software decoder does not have them. */
static bool reference_samples(void *token, VASurfaceID id, struct rebuild_samples *samples)
{
    const struct decode_job *job = token;
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const struct surface *surface = job->references[i];
        if (!surface || surface->object.id != id)
            continue;
        const struct surface_memory *memory = &surface->memory;
        if (!memory->format->chroma)
            return false;
        uint8_t *const planes[2] = {memory_plane(memory, 0),
                                    memory->format->plane_count > 1 ? memory_plane(memory, 1) : NULL};
        const size_t pitches[2] = {memory->plane_pitch[0], memory->plane_pitch[1]};
        pixel_lay_out(memory->format, planes, pitches, samples->components);
        samples->depth = memory->format->depth;
        samples->columns = memory->columns;
        samples->rows = memory->rows;
        return true;
    }
    return false;
}

/* One row of a component, of 8 bits or of words. */
static void copy_row(const struct hevc_samples *to, const uint8_t *from, uint32_t row, uint32_t columns, bool wide)
{
    uint8_t *at = hevc_sample_at(to, 0, row);
    if (!wide && to->step == 1) {
        memcpy(at, from, columns);
        return;
    }
    for (uint32_t x = 0; x < columns; x++, at += to->step) {
        if (wide) {
            const unsigned value = (unsigned)(from[2 * x] | from[2 * x + 1] << 8) << to->shift;
            at[0] = (uint8_t)value;
            at[1] = (uint8_t)(value >> 8);
        } else {
            at[0] = from[x];
        }
    }
}

static void copy_picture(const struct software_picture *from, const struct surface *surface,
                         enum rebuild_fields fields)
{
    const struct surface_memory *memory = &surface->memory;
    uint8_t *const planes[2] = {memory_plane(memory, 0), memory_plane(memory, 1)};
    const size_t pitches[2] = {memory->plane_pitch[0], memory->plane_pitch[1]};
    struct hevc_samples to[3];
    pixel_lay_out(memory->format, planes, pitches, to);
    const uint32_t columns = from->columns < memory->columns ? from->columns : memory->columns;
    const uint32_t rows = from->rows < memory->rows ? from->rows : memory->rows;
    const uint32_t first = fields == REBUILD_BOTTOM_FIELD, step = fields == REBUILD_FRAME ? 1 : 2;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned shift = i > 0;
        for (uint32_t row = first; row < rows >> shift; row += step)
            copy_row(&to[i], from->planes[i] + row * from->pitches[i], row, columns >> shift, from->depth > 8);
    }
}

static bool fits(const struct software_picture *picture, const struct surface *surface)
{
    const struct pixel_format *format = surface->memory.format;
    return picture->planes[0] && picture->chroma == format->chroma && picture->depth == format->depth;
}

/* Decodes what was rebuilt; the last unit that is the target's gives its samples. */
static void decode_units(struct decoder *decoder, const struct decode_job *job, struct rebuilt *rebuilt,
                         struct decode_result *result)
{
    if (rebuilt->restart)
        decoder->functions->restart(decoder->software);
    for (uint32_t i = 0; i < rebuilt->unit_count && !result->failed; i++) {
        const struct rebuilt_unit *unit = &rebuilt->units[i];
        const enum rebuild_fields fields = unit->target ? job->picture.fields : REBUILD_FRAME;
        struct software_picture picture;
        char problem[128];
        result->failed = !decoder->functions->decode(decoder->software, unit->stream.bytes, unit->stream.count / 8,
                                                     (enum software_fields)fields, &picture, problem, sizeof(problem));
        if (result->failed)
            snprintf(result->failure, sizeof(result->failure), "%s", problem);
        if (!unit->target)
            continue;
        result->missing = picture.missing;
        result->first_missing = picture.first_missing;
        result->last_missing = picture.last_missing;
        if (fits(&picture, job->target)) {
            copy_picture(&picture, job->target, fields);
        } else if (!result->failed) {
            result->failed = true;
            snprintf(result->failure, sizeof(result->failure), "the picture has another format than the surface");
        }
    }
}

static void decode_job(struct decoder *decoder, struct decode_job *job, struct decode_result *result)
{
    struct rebuilt *rebuilt = calloc(1, sizeof(*rebuilt));
    const struct rebuild_source source = {reference_samples, job};
    result->failed = !rebuilt || !decoder->codec->rebuild(decoder->rebuilder, &job->picture, &source, rebuilt);
    if (result->failed)
        snprintf(result->failure, sizeof(result->failure), "%s",
                 rebuilt && rebuilt->failure ? rebuilt->failure : "out of memory");
    else
        decode_units(decoder, job, rebuilt, result);
    if (result->failed) {
        decoder->codec->lost(decoder->rebuilder);
        rebuild_finding(&job->picture, UINT32_MAX, "picture-not-decodable",
                        "vaEndPicture, what the buffers say of the picture", "%s", result->failure);
    }
    for (uint32_t i = 0; rebuilt && i < rebuilt->unit_count; i++)
        bits_release(&rebuilt->units[i].stream);
    result->units = rebuilt ? rebuilt->unit_count : 0;
    free(rebuilt);
}

/* For a fault: what stands in the target is another picture. */
static void negate(const struct surface *surface)
{
    const struct surface_memory *memory = &surface->memory;
    const bool wide = memory->format->planes[0].unit == 2;
    for (uint32_t y = 0; y < memory->rows; y++) {
        uint8_t *row = memory_plane(memory, 0) + (size_t)y * memory->plane_pitch[0];
        for (uint32_t i = 0; i < pixel_bytes(&memory->format->planes[0], memory->columns); i++)
            row[i] ^= wide && i % 2 == 0 ? 0xc0 : 0xff;
    }
}

/* Without the lock. False: the picture never comes to an end. */
static bool work_on(struct decoder *decoder, struct decode_job *job, VAStatus *status,
                    struct decode_result *result)
{
    struct driver *driver = decoder->driver;
    struct coded_fault fault;
    *result = (struct decode_result){.started = microseconds_now()};
    *status = VA_STATUS_SUCCESS;
    faults_decoded(driver->faults, &fault);
    if (fault.hang)
        return false;
    const bool lost = faults_device_lost(driver->faults);
    /* Whoever waits for the surface already must not take it for the picture. */
    if (lost)
        *status = VA_STATUS_ERROR_OPERATION_FAILED;
    result->tried = decoder->functions && !lost;
    if (result->tried)
        decode_job(decoder, job, result);
    if (result->tried && fault.negative)
        negate(job->target);
    if (result->failed)
        *status = VA_STATUS_ERROR_DECODING_ERROR;
    if (fault.has_status)
        *status = (VAStatus)fault.status;
    result->ended = microseconds_now();
    decoding_report(driver, job, result);
    return true;
}

/* With the lock held. */
static void release_job(struct driver *driver, struct decode_job *job)
{
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++)
        if (job->references[i])
            object_release_locked(driver, job->references[i]);
    object_release_locked(driver, job->target);
    for (uint32_t i = 0; i < job->picture.buffer_count; i++)
        free((void *)job->picture.buffers[i].data);
    free((void *)job->picture.buffers);
    free(job);
}

/* With the lock held. */
static void end_job(struct decoder *decoder, struct decode_job *job)
{
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++)
        if (job->references[i])
            surface_end_reading(job->references[i]);
    surface_end_writing(job->target);
    job->target->coding--;
    pthread_cond_broadcast(&decoder->driver->changed);
}

/* With the lock held. */
static void finish_first(struct decoder *decoder)
{
    struct decode_job *job = decoder->first;
    decoder->first = job->next;
    end_job(decoder, job);
    release_job(decoder->driver, job);
}

/* With the lock held: other contexts may still use the surfaces. */
static bool is_due(const struct decode_job *job)
{
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++)
        if (job->references[i] && !surface_is_due(job->references[i], &job->reference_turns[i]))
            return false;
    return surface_is_due(job->target, &job->target_turn);
}

static void *work(void *token)
{
    struct decoder *decoder = token;
    struct driver *driver = decoder->driver;
    pthread_mutex_lock(&driver->lock);
    for (;;) {
        while ((!decoder->first || decoder->hung || !is_due(decoder->first)) && !decoder->stopping)
            pthread_cond_wait(&driver->changed, &driver->lock);
        if (!decoder->first || decoder->hung)
            break;
        struct decode_job *job = decoder->first;
        struct decode_result result;
        VAStatus status;
        pthread_mutex_unlock(&driver->lock);
        bool completed = work_on(decoder, job, &status, &result);
        pthread_mutex_lock(&driver->lock);
        if (!completed) {
            decoder->hung = true;
            continue;
        }
        if (status != VA_STATUS_SUCCESS || !job->picture.second_field) {
            job->target->damage = status;
            job->target->first_damaged = result.missing ? result.first_missing : 0;
            job->target->last_damaged = result.missing ? result.last_missing : UINT32_MAX;
        }
        finish_first(decoder);
    }
    while (decoder->first)
        finish_first(decoder);
    pthread_mutex_unlock(&driver->lock);
    return NULL;
}

static bool start_worker(struct decoder *decoder)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the client's */
    int failure = pthread_create(&decoder->worker, NULL, work, decoder);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure == 0;
}

static bool equip(struct decoder *decoder, const struct context *context)
{
    const VAProfile profile = context->config.profile;
    decoder->codec = rebuilding_of(profile);
    if (decoder->driver->effort == EFFORT_SKIP)
        return true;
    decoder->functions = software_functions_load();
    if (!decoder->functions)
        return false;
    decoder->rebuilder = decoder->codec->create(profile, context->width, context->height);
    decoder->software = decoder->functions->create(decoder->codec->software == SOFTWARE_HEVC);
    return decoder->rebuilder && decoder->software;
}

struct decoder *decoder_create(struct driver *driver, const struct context *context)
{
    struct decoder *decoder = calloc(1, sizeof(*decoder));
    if (!decoder)
        return NULL;
    decoder->driver = driver;
    decoder->field_surface = VA_INVALID_SURFACE;
    if (equip(decoder, context) && start_worker(decoder))
        return decoder;
    decoder_free(decoder);
    return NULL;
}

void decoder_stop(struct driver *driver, struct decoder *decoder)
{
    pthread_mutex_lock(&driver->lock);
    decoder->stopping = true;
    pthread_cond_broadcast(&driver->changed);
    pthread_mutex_unlock(&driver->lock);
    pthread_join(decoder->worker, NULL);
}

void decoder_free(struct decoder *decoder)
{
    if (decoder->rebuilder)
        decoder->codec->destroy(decoder->rebuilder);
    if (decoder->functions)
        decoder->functions->destroy(decoder->software);
    free(decoder);
}

/* What judging asks about. */
struct scene {
    struct driver *driver;
    const struct context *context;
};

/* With the lock held. */
static struct rebuild_surface describe(const struct context *context, VASurfaceID id, const struct surface *surface)
{
    struct rebuild_surface description = {.surface = {.id = id}};
    if (!surface)
        return description;
    bool in_context = context->target_count == 0;
    for (uint32_t i = 0; i < context->target_count; i++)
        in_context = in_context || context->targets[i] == surface;
    description.surface = (struct submitted_surface){
        .id = id,
        .width = surface->width,
        .height = surface->height,
        .rt_format = surface->memory.format->rt_format,
        .fourcc = surface->memory.format->image.fourcc,
        .valid = true,
        .in_context = in_context,
    };
    description.filled = surface->filled;
    description.number = surface->decoded_by == context->object.id ? surface->decoded_number : 0;
    return description;
}

static struct rebuild_surface look_up(void *token, VASurfaceID id)
{
    const struct scene *scene = token;
    pthread_mutex_lock(&scene->driver->lock);
    const struct surface *surface = object_peek(scene->driver, OBJECT_SURFACE, id);
    struct rebuild_surface description = describe(scene->context, id, surface);
    pthread_mutex_unlock(&scene->driver->lock);
    return description;
}

/* What does not depend on the codec. */
static VAStatus judge_target(const struct context *context, const struct decode_job *job)
{
    const struct surface *target = job->target;
    const struct rebuild_picture *picture = &job->picture;
    const struct pixel_format *format = target->memory.format;
    if (!picture->target.surface.in_context)
        rebuild_finding(picture, UINT32_MAX, "decoding-target-outside-context",
                        "va.h vaCreateContext render_targets", "surface 0x%08x is not among the context's",
                        target->object.id);
    if (!(format->rt_format & context->config.limits.rt_formats) || !format->chroma || !target->memory.writable) {
        rebuild_finding(picture, UINT32_MAX, "decoding-target-format", "va.h VAConfigAttribRTFormat",
                        "surface 0x%08x is %s%s", target->object.id, format->name,
                        target->memory.writable ? "" : ", which cannot be written to");
        return VA_STATUS_ERROR_INVALID_SURFACE;
    }
    return VA_STATUS_SUCCESS;
}

/* Whether the picture is the other field of the frame whose first field was the picture before. */
static bool is_second_field(const struct decoder *decoder, const struct rebuild_picture *picture)
{
    return picture->fields != REBUILD_FRAME && decoder->field_surface == picture->target.surface.id &&
           decoder->field != picture->fields;
}

static void number_picture(struct decoder *decoder, struct rebuild_picture *picture)
{
    picture->second_field = is_second_field(decoder, picture);
    if (!picture->second_field)
        decoder->number++;
    picture->number = decoder->number;
    const bool opens = picture->fields != REBUILD_FRAME && !picture->second_field;
    decoder->field_surface = opens ? picture->target.surface.id : VA_INVALID_SURFACE;
    decoder->field = picture->fields;
}

/* With the lock held. The references that were judged may have been destroyed since. */
static void hold_references(struct driver *driver, struct decode_job *job)
{
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const VASurfaceID id = job->picture.references[i].surface.id;
        struct surface *surface =
            id == VA_INVALID_SURFACE ? NULL : object_peek(driver, OBJECT_SURFACE, id);
        if (!surface || surface == job->target)
            continue;
        job->references[i] = object_hold_locked(surface);
        job->reference_turns[i] = surface_begin_reading(surface);
    }
}

/* With the lock held. Nothing is to be decoded and nothing to be waited for: the thread need not wake. */
static bool is_done_at_once(const struct decoder *decoder, const struct decode_job *job)
{
    return !decoder->functions && !decoder->first && is_due(job) && !faults_are_given();
}

static void submit(struct driver *driver, struct context *context, struct decode_job *job)
{
    struct decoder *decoder = context->decoder;
    struct surface *target = job->target;
    number_picture(decoder, &job->picture);
    pthread_mutex_lock(&driver->lock);
    if (target->reading > target->processing)
        rebuild_finding(&job->picture, UINT32_MAX, "surface-written-while-encoding", "vaEndPicture",
                        "surface 0x%08x is read by %u pictures that are not coded yet", target->object.id,
                        target->reading - target->processing);
    hold_references(driver, job);
    job->target_turn = surface_begin_writing(target);
    target->coding++;
    target->coding_context = context->object.id;
    target->decoded_by = context->object.id;
    target->decoded_number = job->picture.number;
    driver->submissions++;
    job->submitted = microseconds_now();
    if (is_done_at_once(decoder, job)) {
        end_job(decoder, job);
        pthread_mutex_unlock(&driver->lock);
        const struct decode_result nothing = {.started = job->submitted, .ended = job->submitted};
        decoding_report(driver, job, &nothing);
        pthread_mutex_lock(&driver->lock);
        release_job(driver, job);
    } else {
        if (decoder->first)
            decoder->last->next = job;
        else
            decoder->first = job;
        decoder->last = job;
    }
    pthread_mutex_unlock(&driver->lock);
    pthread_cond_broadcast(&driver->changed); /* who wakes takes the lock first */
}

static struct decode_job *make_job(struct driver *driver, struct context *context)
{
    struct decode_job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->picture = (struct rebuild_picture){
        .place = {context->object.id, context->pictures - 1, UINT32_MAX},
        .profile = context->config.profile,
        .context_width = context->width,
        .context_height = context->height,
        .buffers = context->rendered,
        .buffer_count = context->rendered_count,
    };
    context->rendered = NULL;
    context->rendered_count = context->rendered_capacity = 0;
    pthread_mutex_lock(&driver->lock);
    job->target = object_hold_locked(context->target);
    const bool living = object_peek(driver, OBJECT_SURFACE, context->target->object.id) != NULL;
    job->picture.target = describe(context, context->target->object.id, living ? context->target : NULL);
    pthread_mutex_unlock(&driver->lock);
    return job;
}

VAStatus decoding_end(struct driver *driver, struct context *context)
{
    struct decode_job *job = make_job(driver, context);
    if (!job)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    struct scene scene = {driver, context};
    const struct rebuild_scene asked = {look_up, &scene};
    VAStatus status = job->picture.target.surface.valid ? judge_target(context, job) : VA_STATUS_ERROR_INVALID_SURFACE;
    if (status == VA_STATUS_SUCCESS)
        status = context->decoder->codec->judge(&job->picture, &asked);
    if (status == VA_STATUS_SUCCESS) {
        submit(driver, context, job);
        return VA_STATUS_SUCCESS;
    }
    pthread_mutex_lock(&driver->lock);
    release_job(driver, job);
    pthread_mutex_unlock(&driver->lock);
    return status;
}
