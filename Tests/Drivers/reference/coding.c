/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A context's worker: codes its pictures in the order of vaEndPicture and fills their coded buffers. */
#include "codecs.h"
#include "faults.h"
#include "skipping.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PASSES 6

const struct codec_coding *coding_of(enum codec codec)
{
    return codec == CODEC_HEVC ? &hevc_coding : &h264_coding;
}

static void copy_plane(uint8_t *to, size_t to_pitch, size_t to_rows, const struct surface *surface, unsigned plane)
{
    const struct surface_memory *memory = &surface->memory;
    const struct pixel_plane *samples = &memory->format->planes[plane];
    size_t bytes = pixel_bytes(samples, memory->columns), rows = pixel_rows(samples, memory->rows);
    if (bytes > to_pitch)
        bytes = to_pitch;
    pixel_poison(samples, to, (uint32_t)(to_pitch * to_rows));
    for (size_t row = 0; row < rows && row < to_rows; row++)
        memcpy(to + row * to_pitch, memory_plane(memory, plane) + row * memory->plane_pitch[plane], bytes);
}

static bool open_source(const struct driver *driver, const struct job *job, struct coding_source *source)
{
    struct surface *surface = job->input;
    const struct pixel_format *format = surface->memory.format;
    *source = (struct coding_source){.format = format};
    for (unsigned plane = 0; plane < format->plane_count; plane++) {
        source->planes[plane] = memory_plane(&surface->memory, plane);
        source->pitches[plane] = surface->memory.plane_pitch[plane];
    }
    if (driver->effort == EFFORT_SKIP)
        return true;
    memory_poison_border(&surface->memory, surface->width, surface->height);
    uint32_t columns = job->coded_width, rows = job->coded_height;
    if (surface->memory.columns >= columns && surface->memory.rows >= rows)
        return true;
    size_t size = 0;
    for (unsigned plane = 0; plane < format->plane_count; plane++)
        size += (size_t)pixel_bytes(&format->planes[plane], columns) * pixel_rows(&format->planes[plane], rows);
    uint8_t *next = source->copy = malloc(size);
    for (unsigned plane = 0; next && plane < format->plane_count; plane++) {
        size_t pitch = pixel_bytes(&format->planes[plane], columns), count = pixel_rows(&format->planes[plane], rows);
        copy_plane(next, pitch, count, surface, plane);
        source->planes[plane] = next;
        source->pitches[plane] = pitch;
        next += pitch * count;
    }
    return source->copy;
}

static bool code_slice(struct context *context, const struct job *job, const struct job_slice *slice, int qp,
                       struct bits *stream)
{
    if (slice->prefix.count)
        bits_append(stream, slice->prefix.bytes, 0, slice->prefix.count);
    size_t start = stream->count / 8;
    bool coded = context->coding->slice(context->coder, job, slice, qp, stream);
    if (coded && context->skipped)
        skipped_learn(context->skipped, job, slice, stream, start);
    return coded;
}

/* One pass over the picture; qp below 0: each slice's own. */
static bool code_pass(const struct driver *driver, struct context *context, const struct job *job,
                      const struct coding_source *source, int qp, struct job_result *result)
{
    const struct codec_coding *coding = context->coding;
    result->stream.count = 0;
    bits_append(&result->stream, job->headers.bytes, 0, job->headers.count);
    if (!coding->begin(context->coder, job, source, driver->effort))
        return false;
    if (context->skipped && skipped_append(context->skipped, job, &result->stream))
        return !result->stream.failed;
    bool coded = true;
    for (uint32_t i = 0; coded && i < job->slice_count; i++)
        coded = code_slice(context, job, &job->slices[i], qp, &result->stream);
    return coding->end(context->coder) && coded && !result->stream.failed;
}

/* H.264 7.3.2.7, H.265 7.3.2.8 */
static void append_filler(struct bits *stream, const struct bits *start, uint32_t bytes)
{
    uint8_t ones[4096];
    memset(ones, 0xff, sizeof(ones));
    bits_append(stream, start->bytes, 0, start->count);
    for (uint32_t left = bytes - (uint32_t)(start->count / 8) - 1; left > 0;) {
        uint32_t part = left < sizeof(ones) ? left : sizeof(ones);
        bits_append(stream, ones, 0, 8 * (size_t)part);
        left -= part;
    }
    bits_put(stream, 0x80, 8);
}

static void code_passes(const struct driver *driver, struct context *context, const struct job *job,
                        const struct coding_source *source, struct job_result *result)
{
    const struct rate_picture picture = {
        .type = job_type(job),
        .header_qp = context->coding->header_qp(job, &job->slices[0]),
        .macroblocks = job->width_in_mbs * job->height_in_mbs,
    };
    if (job->resumes)
        rate_history_restore(context->rate_history, job->resumed_picture, context->rate_control);
    rate_history_keep(context->rate_history, job->place.picture, context->rate_control);
    int qp = rate_control_qp(context->rate_control, &job->rate, &picture);
    for (;;) {
        result->failed = !code_pass(driver, context, job, source, qp, result);
        result->passes++;
        int smaller = rate_control_smaller(context->rate_control, qp, result->stream.count);
        if (result->failed || smaller < 0 || result->passes == MOST_PASSES)
            break;
        qp = smaller;
    }
    result->qp = qp >= 0 ? qp : picture.header_qp;
    result->figures = context->coding->figures(context->coder);
    if (result->figures.least_qp > result->figures.most_qp) /* slices that were coded before (skipping.h) */
        result->figures.least_qp = result->figures.most_qp = result->qp;
    size_t bytes = result->stream.count / 8;
    uint32_t room = bytes < job->coded->size ? job->coded->size - (uint32_t)bytes : 0;
    result->filler = rate_control_coded(context->rate_control, qp, result->stream.count, room);
    if (result->filler && !result->failed)
        append_filler(&result->stream, &context->coding->filler, result->filler);
}

static void code_picture(const struct driver *driver, struct context *context, const struct job *job,
                         struct job_result *result)
{
    struct coding_source source;
    *result = (struct job_result){.started = microseconds_now(), .failure = "out of memory"};
    result->failed = !open_source(driver, job, &source);
    if (!result->failed) {
        code_passes(driver, context, job, &source, result);
        if (result->failed)
            result->failure = context->coding->failure(context->coder);
        free(source.copy);
    }
    result->ended = microseconds_now();
}

static uint32_t segment_status(const struct driver *driver, const struct job *job, const struct job_result *result)
{
    if (result->failed)
        return VA_CODED_BUF_STATUS_BAD_BITSTREAM;
    uint32_t status = 0;
    if (driver->persona.reports_qp)
        status = ((uint32_t)result->qp & VA_CODED_BUF_STATUS_PICTURE_AVE_QP_MASK) | result->passes << 24;
    uint32_t largest = job->rate.maximum_frame_size;
    if (largest && result->stream.count / 8 > largest)
        status |= VA_CODED_BUF_STATUS_FRAME_SIZE_OVERFLOW;
    return status;
}

/* Fills the coded buffer, which nobody else touches while the job is pending. */
static void store(const struct driver *driver, const struct job *job, struct job_result *result,
                  const struct coded_fault *fault)
{
    struct buffer *coded = job->coded;
    size_t whole = result->failed ? 0 : result->stream.count / 8;
    size_t size = fault->overflow ? whole / 2 : whole;
    if (job->largest_access_unit && whole > job->largest_access_unit)
        journal_finding(job->place, "level-access-unit-size",
                        job->codec == CODEC_HEVC ? "H.265 A.4.2 MinCr" : "H.264 A.3.1 MinCR",
                        "%zu bytes, the level allows %llu", whole, (unsigned long long)job->largest_access_unit);
    if (size > coded->size) {
        journal_finding(job->place, "coded-buffer-too-small", "vaCreateBuffer",
                        "coded buffer 0x%08x has %u bytes, the picture takes %zu", coded->object.id, coded->size,
                        whole);
        size = coded->size;
    }
    if (size < whole)
        result->status |= VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK;
    if (size)
        memcpy(coded->data, result->stream.bytes, size);
    coded->segment = (VACodedBufferSegment){
        .size = fault->has_size ? fault->size : (uint32_t)size,
        .status = fault->has_status ? fault->status : result->status,
        .buf = coded->data,
    };
    free(coded->segments);
    /* A size that is a fault is not to be read. */
    coded->segments = fault->has_size ? NULL
                                      : segments_make(driver->segmentation, driver->segment_seed, job->place,
                                                      &coded->segment);
}

/* Codes the negative of the picture, for a fault; the application's memory stays as it is. */
static void code_negative(const struct driver *driver, struct context *context, const struct job *job,
                          struct job_result *result)
{
    struct surface negative = *job->input;
    struct surface_memory *memory = &negative.memory;
    struct job changed = *job;
    uint32_t object = memory->plane_object[0];
    uint8_t *copy = malloc(memory->sizes[object]);
    if (!copy) {
        *result = (struct job_result){.failed = true, .failure = "no memory", .started = microseconds_now()};
        return;
    }
    memcpy(copy, memory->maps[object], memory->sizes[object]);
    memory->maps[object] = copy;
    const unsigned depth = memory->format->depth;
    uint8_t *const planes[2] = {memory_plane(memory, 0), NULL};
    const size_t pitches[2] = {memory->plane_pitch[0], 0};
    struct hevc_samples luma[3];
    pixel_lay_out(memory->format, planes, pitches, luma);
    for (uint32_t row = 0; row < memory->rows; row++)
        for (uint32_t column = 0; column < memory->columns; column++) {
            uint8_t *at = hevc_sample_at(luma, column, row);
            hevc_sample_put(luma, depth, at, ((1u << depth) - 1) - hevc_sample_get(luma, depth, at));
        }
    changed.input = &negative;
    code_picture(driver, context, &changed, result);
    free(copy);
}

/* As kernels have it: a picture is read when what is being written to its input has been. False: the context ends
 * first. Without the lock. */
static bool await_input(struct driver *driver, const struct context *context, const struct job *job)
{
    pthread_mutex_lock(&driver->lock);
    while (!surface_is_due(job->input, &job->input_turn) && !context->stopping)
        pthread_cond_wait(&driver->changed, &driver->lock);
    bool over = surface_is_due(job->input, &job->input_turn);
    pthread_mutex_unlock(&driver->lock);
    return over;
}

/* Without the lock. False: the picture is never to be completed. */
static bool work_on(struct driver *driver, struct context *context, const struct job *job)
{
    struct coded_fault fault;
    struct job_result result;
    if (!await_input(driver, context, job))
        return false;
    faults_coded(driver->faults, &fault);
    if (fault.hang)
        return false;
    if (faults_device_lost(driver->faults)) {
        result = (struct job_result){.failed = true, .failure = "device lost", .started = microseconds_now()};
        result.ended = result.started;
    } else if (fault.negative) {
        code_negative(driver, context, job, &result);
    } else {
        code_picture(driver, context, job, &result);
    }
    result.status = segment_status(driver, job, &result);
    store(driver, job, &result, &fault);
    job_report(driver, job, &result, job->coded->segment.size);
    bits_release(&result.stream);
    return true;
}

/* With the lock held. Pictures that are left when a hung context is destroyed come to nothing. */
static void drop_jobs(struct driver *driver, struct context *context)
{
    while (context->first_job) {
        struct job *job = context->first_job;
        context->first_job = job->next;
        job_destroy_locked(driver, job);
    }
    context->last_job = NULL;
    pthread_cond_broadcast(&driver->changed);
}

/* With the lock held. */
static void complete_first(struct driver *driver, struct context *context)
{
    struct job *job = context->first_job;
    context->first_job = job->next;
    if (!context->first_job)
        context->last_job = NULL;
    job->coded->filled = true;
    if (job->coded->segment.status & VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK)
        context->overflowed[context->overflowed_count++ % OVERFLOWED_KEPT] = job->place.picture;
    job_destroy_locked(driver, job);
    pthread_cond_broadcast(&driver->changed);
}

void *context_work(void *start)
{
    struct driver *driver = ((struct worker_start *)start)->driver;
    struct context *context = ((struct worker_start *)start)->context;
    free(start);
    pthread_mutex_lock(&driver->lock);
    for (;;) {
        while ((!context->first_job || context->hung) && !context->stopping)
            pthread_cond_wait(&driver->changed, &driver->lock);
        if (!context->first_job || context->hung)
            break;
        pthread_mutex_unlock(&driver->lock);
        bool completed = work_on(driver, context, context->first_job);
        pthread_mutex_lock(&driver->lock);
        if (completed)
            complete_first(driver, context);
        else
            context->hung = true;
    }
    drop_jobs(driver, context);
    pthread_mutex_unlock(&driver->lock);
    return NULL;
}
