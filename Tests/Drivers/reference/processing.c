/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processing.h"

#include "faults.h"
#include "jobs.h"

#include "../common/md5.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A conversion on its way from vaEndPicture to the target. */
struct task {
    struct task *next;
    struct journal_place place;
    struct surface *source, *target; /* references */
    struct surface_turn source_turn, target_turn;
    struct conversion conversion;
};

struct processor {
    struct driver *driver;
    pthread_t worker;
    bool stopping, hung;
    bool tried; /* a picture was converted */
    struct task *first, *last;
};

static struct conversion_picture picture_of(const struct surface *surface)
{
    const struct surface_memory *memory = &surface->memory;
    struct conversion_picture picture = {memory->format, {NULL, NULL}, {0, 0}, surface->width, surface->height};
    for (unsigned i = 0; i < memory->format->plane_count; i++) {
        picture.planes[i] = memory_plane(memory, i);
        picture.pitches[i] = memory->plane_pitch[i];
    }
    return picture;
}

static void for_rows(const struct conversion_picture *picture, void (*use)(void *token, const void *, size_t),
                     void *token)
{
    for (unsigned plane = 0; plane < picture->format->plane_count; plane++) {
        const struct pixel_plane *samples = &picture->format->planes[plane];
        for (uint32_t row = 0; row < pixel_rows(samples, picture->height); row++)
            use(token, picture->planes[plane] + (size_t)row * picture->pitches[plane],
                pixel_bytes(samples, picture->width));
    }
}

static void add_to_md5(void *token, const void *bytes, size_t size)
{
    md5_add(token, bytes, size);
}

static void picture_md5(const struct conversion_picture *picture, char text[MD5_TEXT_SIZE])
{
    struct md5 md5;
    md5_begin(&md5);
    for_rows(picture, add_to_md5, &md5);
    md5_end(&md5, text);
}

static void write_to_file(void *token, const void *bytes, size_t size)
{
    fwrite(bytes, 1, size, token);
}

static void dump(const struct driver *driver, const struct task *task, const struct conversion_picture *picture,
                 const char *what)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%08x-%06u-%s-%ux%u.%s", driver->dump_folder, task->place.context,
             task->place.picture, what, picture->width, picture->height, picture->format->name);
    FILE *file = fopen(path, "wbe");
    if (!file) {
        fprintf(stderr, "reference driver: %s: %m\n", path);
        return;
    }
    for_rows(picture, write_to_file, file);
    fclose(file);
}

static void report(const struct driver *driver, const struct task *task, bool truthful)
{
    static const char *const matrices[] = {"rgb", "bt601", "bt709", "bt2020"};
    const struct conversion *conversion = &task->conversion;
    const struct conversion_region *from = &conversion->from, *to = &conversion->to;
    char hashes[160] = "";
    if (truthful && driver->dump_folder) {
        dump(driver, task, &conversion->source, "unconverted");
        dump(driver, task, &conversion->target, "converted");
    }
    if (!journal_is_kept())
        return;
    if (truthful) {
        char source[MD5_TEXT_SIZE], target[MD5_TEXT_SIZE];
        picture_md5(&conversion->source, source);
        picture_md5(&conversion->target, target);
        snprintf(hashes, sizeof(hashes), ",\"source_md5\":\"%s\",\"target_md5\":\"%s\"", source, target);
    }
    journal_event("conversion",
                  "\"process\":%d,\"context\":%u,\"picture\":%u,\"source\":%u,\"target\":%u,"
                  "\"source_format\":\"%s\",\"target_format\":\"%s\",\"source_size\":[%u,%u],\"target_size\":[%u,%u],"
                  "\"from\":[%u,%u,%u,%u],\"to\":[%u,%u,%u,%u],\"source_matrix\":\"%s\",\"target_matrix\":\"%s\","
                  "\"source_full_range\":%s,\"target_full_range\":%s,\"background\":%u,\"imported\":%s%s",
                  (int)getpid(), task->place.context, task->place.picture, task->source->object.id,
                  task->target->object.id, conversion->source.format->name, conversion->target.format->name,
                  conversion->source.width, conversion->source.height, conversion->target.width,
                  conversion->target.height, from->x, from->y, from->width, from->height, to->x, to->y, to->width,
                  to->height, matrices[conversion->source_colour.matrix], matrices[conversion->target_colour.matrix],
                  conversion->source_colour.full_range ? "true" : "false",
                  conversion->target_colour.full_range ? "true" : "false", conversion->background,
                  task->source->memory.owner == MEMORY_DRIVER ? "false" : "true", hashes);
}

/* For a fault: what stands in the target is another picture. */
static void negate(const struct conversion_picture *picture)
{
    const bool wide = picture->format->planes[0].unit == 2;
    for (uint32_t y = 0; y < picture->height; y++) {
        uint8_t *row = picture->planes[0] + (size_t)y * picture->pitches[0];
        for (uint32_t i = 0; i < pixel_bytes(&picture->format->planes[0], picture->width); i++)
            row[i] ^= wide && i % 2 == 0 ? 0xc0 : 0xff;
    }
}

/* Without the lock. False: the conversion never comes to an end. */
static bool work_on(struct processor *processor, struct task *task)
{
    struct driver *driver = processor->driver;
    struct coded_fault fault;
    faults_processed(driver->faults, &fault);
    if (fault.hang)
        return false;
    bool wanted = driver->effort != EFFORT_SKIP || !processor->tried; /* clients try it out first */
    bool truthful = wanted && !faults_device_lost(driver->faults);
    if (truthful) {
        truthful = conversion_run(&task->conversion);
        memory_poison_border(&task->target->memory, task->target->width, task->target->height);
        if (fault.negative)
            negate(&task->conversion.target);
    }
    processor->tried = true;
    report(driver, task, truthful);
    return true;
}

/* With the lock held. */
static void finish_first(struct processor *processor)
{
    struct task *task = processor->first;
    processor->first = task->next;
    if (!processor->first)
        processor->last = NULL;
    task->source->reading--;
    task->source->processing--;
    surface_end_reading(task->source);
    task->target->coding--;
    surface_end_writing(task->target);
    task->target->damage = VA_STATUS_SUCCESS;
    object_release_locked(processor->driver, task->source);
    object_release_locked(processor->driver, task->target);
    free(task);
    pthread_cond_broadcast(&processor->driver->changed);
}

/* With the lock held. Other contexts may still use the surfaces. */
static bool is_due(const struct task *task)
{
    return surface_is_due(task->source, &task->source_turn) && surface_is_due(task->target, &task->target_turn);
}

static void *work(void *token)
{
    struct processor *processor = token;
    struct driver *driver = processor->driver;
    pthread_mutex_lock(&driver->lock);
    for (;;) {
        while ((!processor->first || processor->hung || !is_due(processor->first)) && !processor->stopping)
            pthread_cond_wait(&driver->changed, &driver->lock);
        if (!processor->first || processor->hung)
            break;
        pthread_mutex_unlock(&driver->lock);
        bool completed = work_on(processor, processor->first);
        pthread_mutex_lock(&driver->lock);
        if (completed)
            finish_first(processor);
        else
            processor->hung = true;
    }
    while (processor->first)
        finish_first(processor);
    pthread_mutex_unlock(&driver->lock);
    return NULL;
}

struct processor *processor_create(struct driver *driver)
{
    struct processor *processor = calloc(1, sizeof(*processor));
    if (!processor)
        return NULL;
    processor->driver = driver;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the client's */
    int failure = pthread_create(&processor->worker, NULL, work, processor);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure) {
        free(processor);
        return NULL;
    }
    return processor;
}

void processor_stop(struct driver *driver, struct processor *processor)
{
    pthread_mutex_lock(&driver->lock);
    processor->stopping = true;
    pthread_cond_broadcast(&driver->changed);
    pthread_mutex_unlock(&driver->lock);
    pthread_join(processor->worker, NULL);
}

void processor_free(struct processor *processor)
{
    free(processor);
}

/* The one pipeline buffer of the picture. */
static const VAProcPipelineParameterBuffer *find_pipeline(const struct context *context, struct journal_place place)
{
    const VAProcPipelineParameterBuffer *found = NULL;
    for (uint32_t i = 0; i < context->rendered_count; i++) {
        const struct submitted_buffer *buffer = &context->rendered[i];
        if (buffer->type != VAProcPipelineParameterBufferType)
            continue;
        if (found || buffer->count != 1) {
            journal_finding(place, "processing-layers", "va_vpp.h Video processing pipeline",
                            "more than one source is given: this driver does not compose");
            return NULL;
        }
        found = buffer->data;
    }
    if (!found)
        journal_finding(place, "processing-buffer-missing", "va_vpp.h VAProcPipelineParameterBuffer",
                        "no pipeline buffer was rendered");
    return found;
}

/* With the lock held. */
static void judge_surfaces(const struct context *context, struct journal_place place, const struct surface *source,
                           const struct surface *target)
{
    if (target->reading)
        journal_finding(place, "surface-written-while-encoding", "vaEndPicture",
                        "surface 0x%08x is read by %u pictures that are not coded yet", target->object.id,
                        target->reading);
    if (source->mapped)
        journal_finding(place, "surface-mapped-while-processing", "vaEndPicture",
                        "the source surface 0x%08x is still mapped", source->object.id);
    for (uint32_t i = 0; i < context->target_count; i++)
        if (context->targets[i] == target)
            return;
    if (context->target_count)
        journal_finding(place, "processing-target-outside-context", "va.h vaCreateContext render_targets",
                        "surface 0x%08x is not among the context's", target->object.id);
}

static void submit(struct driver *driver, struct context *context, struct task *task)
{
    struct processor *processor = context->processor;
    pthread_mutex_lock(&driver->lock);
    judge_surfaces(context, task->place, task->source, task->target);
    object_hold_locked(task->target);
    task->source->reading++;
    task->source->processing++;
    task->source_turn = surface_begin_reading(task->source);
    task->target->coding++;
    task->target->coding_context = context->object.id;
    task->target_turn = surface_begin_writing(task->target);
    driver->submissions++;
    if (processor->last)
        processor->last->next = task;
    else
        processor->first = task;
    processor->last = task;
    pthread_mutex_unlock(&driver->lock);
    pthread_cond_broadcast(&driver->changed); /* who wakes takes the lock first */
}

static VAStatus convert(struct driver *driver, struct context *context, const VAProcPipelineParameterBuffer *pipeline,
                        struct surface *source)
{
    VAStatus status = VA_STATUS_ERROR_INVALID_SURFACE;
    struct task *task = calloc(1, sizeof(*task));
    if (!task)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    task->place = (struct journal_place){context->object.id, context->pictures - 1, UINT32_MAX};
    task->source = source;
    task->target = context->target;
    task->conversion = (struct conversion){.source = picture_of(source), .target = picture_of(context->target)};
    if (source == context->target)
        journal_finding(task->place, "processing-source-is-target", "va_vpp.h VAProcPipelineParameterBuffer.surface",
                        "0x%08x is both", source->object.id);
    else if (processing_read(driver, context, pipeline, &task->conversion, &status)) {
        if (context->target->memory.writable) {
            submit(driver, context, task);
            return VA_STATUS_SUCCESS;
        }
        status = VA_STATUS_ERROR_INVALID_SURFACE;
    }
    free(task);
    return status;
}

VAStatus processing_end(struct driver *driver, struct context *context)
{
    struct journal_place place = {context->object.id, context->pictures - 1, UINT32_MAX};
    const VAProcPipelineParameterBuffer *pipeline = find_pipeline(context, place);
    if (!pipeline)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    struct surface *source = object_find(driver, OBJECT_SURFACE, pipeline->surface, "vaEndPicture");
    if (!source)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    VAStatus status = convert(driver, context, pipeline, source);
    if (status != VA_STATUS_SUCCESS)
        object_release(driver, source); /* else the task's */
    return status;
}
