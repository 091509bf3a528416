/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wishes.h"

#include <stdlib.h>
#include <time.h>

uint64_t microseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A picture has the type of its slice that may predict most. */
enum coded_type job_type(const struct job *job)
{
    enum coded_type type = CODED_I;
    for (uint32_t i = 0; i < job->slice_count; i++) {
        if (job->slices[i].type == CODED_B)
            return CODED_B;
        if (job->slices[i].type == CODED_P)
            type = CODED_P;
    }
    return type;
}

static bool copy_bits(struct bits *to, const struct bits *from)
{
    *to = (struct bits){.bytes = NULL};
    if (from && from->count)
        bits_append(to, from->bytes, 0, from->count);
    return !to->failed;
}

/* Sets of HEVC are large: only those of the codec are copied. */
static void copy_sets(struct job *job, const struct understood_picture *understood)
{
    if (understood->codec == CODEC_H264) {
        job->sps.h264 = understood->sps.h264;
        job->pps.h264 = understood->pps.h264;
    } else {
        job->sps.hevc = understood->sps.hevc;
        job->pps.hevc = understood->pps.hevc;
    }
}

static bool copy_slices(struct job *job, const struct understood_picture *understood)
{
    job->slices = calloc(understood->slice_count, sizeof(job->slices[0]));
    if (!job->slices)
        return false;
    job->slice_count = understood->slice_count;
    for (uint32_t i = 0; i < job->slice_count; i++) {
        const struct understood_slice *from = &understood->slices[i];
        struct job_slice *to = &job->slices[i];
        to->type = from->type;
        to->header = from->header;
        to->first_block = from->first_block;
        to->block_count = from->block_count;
        if (!copy_bits(&to->nal, &from->nal) || !copy_bits(&to->prefix, from->prefix))
            return false;
    }
    return true;
}

/* The surface, held once however often it is named; NULL: not there, or out of memory. With the lock held. */
static struct surface *hold_surface(struct driver *driver, struct job *job, VASurfaceID id)
{
    struct surface *surface = object_peek(driver, OBJECT_SURFACE, id);
    for (uint32_t i = 0; i < job->held_count; i++)
        if (job->held[i] == surface)
            return surface;
    if (!surface)
        return NULL;
    if (job->held_count == job->held_capacity) {
        uint32_t capacity = job->held_capacity ? 2 * job->held_capacity : 8;
        struct surface **larger = realloc(job->held, capacity * sizeof(larger[0]));
        if (!larger)
            return NULL;
        job->held = larger;
        job->held_capacity = capacity;
    }
    job->held[job->held_count++] = object_hold_locked(surface);
    return surface;
}

static bool can_hold_picture(const struct job *job, const struct surface *surface)
{
    return surface->memory.columns >= job->coded_width && surface->memory.rows >= job->coded_height;
}

static bool can_be_coded(const struct job *job, const struct surface *surface)
{
    const struct pixel_format *format = surface->memory.format;
    return format->chroma == job->chroma_format && format->depth == job->bit_depth;
}

static VAStatus refuse(const struct job *job, const char *name, const char *clause, uint32_t id, const char *reason,
                       VAStatus status)
{
    journal_finding(job->place, name, clause, "0x%08x %s", id, reason);
    return status;
}

/* With the lock held. */
static VAStatus hold_reference(struct driver *driver, struct job *job, const struct understood_reference *named,
                               struct job_reference *reference)
{
    static const char clause[] = "vaEndPicture, reference lists of the slice parameters";
    struct surface *surface = hold_surface(driver, job, named->surface);
    if (!surface)
        return refuse(job, "reference-invalid", clause, named->surface, "is no surface",
                      VA_STATUS_ERROR_INVALID_SURFACE);
    if (surface == job->reconstruction)
        return refuse(job, "reference-is-current-picture", clause, named->surface,
                      "is to receive the reconstruction of this picture", VA_STATUS_ERROR_INVALID_SURFACE);
    if (surface->coded_width != job->coded_width || surface->coded_height != job->coded_height)
        return refuse(job, "reference-without-picture", clause, named->surface,
                      "holds no reconstruction of this size", VA_STATUS_ERROR_INVALID_SURFACE);
    *reference = (struct job_reference){surface, named->picture_order_count, named->long_term, surface->picture};
    return VA_STATUS_SUCCESS;
}

/* With the lock held. */
static VAStatus hold_references(struct driver *driver, struct job *job, const struct understood_picture *understood)
{
    VAStatus status = VA_STATUS_SUCCESS;
    for (uint32_t i = 0; i < job->slice_count; i++) {
        const struct understood_slice *slice = &understood->slices[i];
        for (unsigned list = 0; list < 2; list++)
            for (uint32_t n = 0; status == VA_STATUS_SUCCESS && n < slice->reference_count[list]; n++)
                status = hold_reference(driver, job, &slice->references[list][n], &job->slices[i].references[list][n]);
    }
    return status;
}

/* With the lock held. */
static VAStatus hold_objects(struct driver *driver, struct context *context, struct job *job,
                             const struct understood_picture *understood)
{
    VASurfaceID id = understood->reconstruction;
    VABufferID coded = understood->coded_buffer;
    job->input = object_hold_locked(context->target);
    job->reconstruction = hold_surface(driver, job, id);
    if (!job->reconstruction)
        return refuse(job, "reconstruction-invalid", "vaEndPicture, picture to be reconstructed", id,
                      "is no surface", VA_STATUS_ERROR_INVALID_SURFACE);
    if (!can_be_coded(job, job->input) || !can_be_coded(job, job->reconstruction)) /* found by the judge */
        return VA_STATUS_ERROR_INVALID_SURFACE;
    if (!can_hold_picture(job, job->reconstruction) || !job->reconstruction->memory.writable)
        return refuse(job, "reconstruction-too-small", "vaEndPicture, picture to be reconstructed", id,
                      "does not hold a picture of this size", VA_STATUS_ERROR_INVALID_SURFACE);
    job->coded = object_peek(driver, OBJECT_BUFFER, coded);
    if (!job->coded || job->coded->type != VAEncCodedBufferType) {
        job->coded = NULL;
        return refuse(job, "coded-buffer-invalid", "vaEndPicture, coded_buf", coded,
                      "is no coded buffer", VA_STATUS_ERROR_INVALID_BUFFER);
    }
    object_hold_locked(job->coded);
    return hold_references(driver, job, understood);
}

struct job *job_create(struct driver *driver, struct context *context, const struct understood_picture *understood,
                       VAStatus *status)
{
    struct job *job = calloc(1, sizeof(*job));
    *status = VA_STATUS_ERROR_ALLOCATION_FAILED;
    if (!job)
        return NULL;
    job->place = (struct journal_place){context->object.id, context->pictures - 1, UINT32_MAX};
    job->codec = understood->codec;
    job->chroma_format = understood->chroma_format;
    job->bit_depth = understood->bit_depth;
    copy_sets(job, understood);
    job->idr = understood->idr;
    job->reference = understood->reference;
    job->resumes = understood->resumes;
    job->resumed_picture = understood->resumed_picture;
    job->rate = understood->rate;
    job->largest_access_unit = understood->largest_access_unit;
    job->coded_width = understood->width;
    job->coded_height = understood->height;
    job->width_in_mbs = (understood->width + 15) / 16;
    job->height_in_mbs = (understood->height + 15) / 16;
    job->left = understood->left;
    job->top = understood->top;
    job->width = understood->shown_width;
    job->height = understood->shown_height;
    job->order_count = understood->picture_order_count;
    job->long_term = understood->long_term;
    bool copied = copy_bits(&job->headers, &understood->headers) && copy_slices(job, understood) &&
                  wishes_gather(job, context->rendered, context->rendered_count);
    pthread_mutex_lock(&driver->lock);
    if (copied)
        *status = hold_objects(driver, context, job, understood);
    if (*status != VA_STATUS_SUCCESS)
        job_destroy_locked(driver, job);
    pthread_mutex_unlock(&driver->lock);
    return *status == VA_STATUS_SUCCESS ? job : NULL;
}

static void count_uses(struct job *job, int change)
{
    job->input->reading += (uint32_t)change;
    if (change > 0)
        job->input_turn = surface_begin_reading(job->input);
    else
        surface_end_reading(job->input);
    for (uint32_t i = 0; i < job->held_count; i++)
        job->held[i]->coding += (uint32_t)change;
    job->coded->pending = change > 0;
    job->counted = change > 0;
}

void job_destroy_locked(struct driver *driver, struct job *job)
{
    if (job->counted)
        count_uses(job, -1);
    for (uint32_t i = 0; i < job->held_count; i++)
        object_release_locked(driver, job->held[i]);
    free(job->held);
    if (job->input)
        object_release_locked(driver, job->input);
    if (job->coded)
        object_release_locked(driver, job->coded);
    for (uint32_t i = 0; i < job->slice_count; i++) {
        bits_release(&job->slices[i].nal);
        bits_release(&job->slices[i].prefix);
    }
    free(job->slices);
    bits_release(&job->headers);
    free(job->wishes);
    free(job);
}

/* With the lock held. */
static VAStatus check_free(const struct context *context, const struct job *job)
{
    for (uint32_t i = 0; i < job->held_count; i++) {
        const struct surface *surface = job->held[i];
        if (surface->coding && surface->coding_context != context->object.id)
            return refuse(job, "surface-used-by-two-contexts", "vaEndPicture", surface->object.id,
                          "is reconstruction or reference of a picture of another context",
                          VA_STATUS_ERROR_SURFACE_BUSY);
    }
    if (job->coded->pending)
        return refuse(job, "coded-buffer-pending", "vaEndPicture", job->coded->object.id,
                      "is to receive another picture that is not coded yet", VA_STATUS_ERROR_OPERATION_FAILED);
    if (job->coded->mapped)
        return refuse(job, "coded-buffer-mapped", "vaEndPicture", job->coded->object.id, "is still mapped",
                      VA_STATUS_ERROR_OPERATION_FAILED);
    return context->stopping ? VA_STATUS_ERROR_INVALID_CONTEXT : VA_STATUS_SUCCESS;
}

static void take_objects(struct driver *driver, const struct context *context, struct job *job)
{
    count_uses(job, 1);
    for (uint32_t i = 0; i < job->held_count; i++)
        job->held[i]->coding_context = context->object.id;
    job->reconstruction->coded_width = job->coded_width;
    job->reconstruction->coded_height = job->coded_height;
    job->reconstruction->picture = job->place.picture;
    job->reconstruction->filled = true;
    job->reconstruction->decoded_by = 0;
    job->coded->filled = job->coded->waited = false;
    job->coded->submission = ++driver->submissions;
    job->coded->input = job->input->object.id;
    job->submitted = microseconds_now();
}

VAStatus job_submit(struct driver *driver, struct context *context, struct job *job)
{
    pthread_mutex_lock(&driver->lock);
    VAStatus status = check_free(context, job);
    if (status == VA_STATUS_SUCCESS) {
        take_objects(driver, context, job);
        if (context->last_job)
            context->last_job->next = job;
        else
            context->first_job = job;
        context->last_job = job;
    } else {
        job_destroy_locked(driver, job);
    }
    pthread_mutex_unlock(&driver->lock);
    if (status == VA_STATUS_SUCCESS)
        pthread_cond_broadcast(&driver->changed); /* who wakes takes the lock first */
    return status;
}
