/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vaBeginPicture, vaRenderPicture, vaEndPicture: gathers a picture's buffers, has them judged, gives them to the
 * context's worker. */
#include "driver.h"
#include "decoding.h"
#include "processing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct journal_place place_of(const struct context *context)
{
    uint32_t picture = context->pictures ? context->pictures - 1 : UINT32_MAX;
    return (struct journal_place){context->object.id, picture, UINT32_MAX};
}

/* The context, for one call at a time. NULL: `status` says why. */
static struct context *context_occupy(struct driver *driver, VAContextID id, const char *call, VAStatus *status)
{
    pthread_mutex_lock(&driver->lock);
    struct context *context = object_find_locked(driver, OBJECT_CONTEXT, id, call);
    *status = context ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_CONTEXT;
    if (context && context->occupied) {
        journal_finding(place_of(context), "context-used-concurrently", call,
                        "another thread is inside vaBeginPicture, vaRenderPicture or vaEndPicture");
        object_release_locked(driver, context);
        context = NULL;
        *status = VA_STATUS_ERROR_OPERATION_FAILED;
    }
    if (context)
        context->occupied = true;
    pthread_mutex_unlock(&driver->lock);
    return context;
}

static void context_vacate(struct driver *driver, struct context *context)
{
    pthread_mutex_lock(&driver->lock);
    context->occupied = false;
    object_release_locked(driver, context);
    pthread_mutex_unlock(&driver->lock);
}

void picture_clear_locked(struct driver *driver, struct context *context)
{
    for (uint32_t i = 0; i < context->rendered_count; i++)
        free((void *)context->rendered[i].data);
    context->rendered_count = 0;
    if (context->target)
        object_release_locked(driver, context->target);
    context->target = NULL;
    context->begun = context->spoiled = false;
}

static void picture_clear(struct driver *driver, struct context *context)
{
    pthread_mutex_lock(&driver->lock);
    picture_clear_locked(driver, context);
    pthread_mutex_unlock(&driver->lock);
}

VAStatus entry_vaBeginPicture(VADriverContextP driver_context, VAContextID id, VASurfaceID render_target)
{
    struct driver *driver = driver_of(driver_context);
    VAStatus status;
    struct context *context = context_occupy(driver, id, "vaBeginPicture", &status);
    if (!context)
        return status;
    if (context->begun) {
        journal_finding(place_of(context), "begin-inside-picture", "vaBeginPicture",
                        "vaEndPicture was not called for the picture before");
        context_vacate(driver, context);
        return VA_STATUS_ERROR_OPERATION_FAILED;
    }
    struct surface *target = object_find(driver, OBJECT_SURFACE, render_target, "vaBeginPicture");
    if (target) {
        context->begun = true;
        context->target = target;
        context->pictures++;
    }
    context_vacate(driver, context);
    return target ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}

static bool make_room(struct context *context)
{
    if (context->rendered_count < context->rendered_capacity)
        return true;
    uint32_t capacity = context->rendered_capacity ? context->rendered_capacity * 2 : 16;
    struct submitted_buffer *larger = realloc(context->rendered, capacity * sizeof(larger[0]));
    if (!larger)
        return false;
    context->rendered = larger;
    context->rendered_capacity = capacity;
    return true;
}

/* With the lock held. */
static void judge_rendered(const struct context *context, const struct buffer *buffer)
{
    uint32_t id = buffer->object.id;
    if (buffer->mapped)
        journal_finding(place_of(context), "buffer-rendered-while-mapped", "vaRenderPicture",
                        "buffer 0x%08x of type %d is still mapped", id, buffer->type);
    if (buffer->context != context->object.id)
        journal_finding(place_of(context), "buffer-of-other-context", "vaRenderPicture",
                        "buffer 0x%08x of type %d was created for context 0x%08x", id, buffer->type, buffer->context);
}

/* Copies the buffer as it is now: it may be changed or destroyed before vaEndPicture. */
static VAStatus render_buffer(struct driver *driver, struct context *context, VABufferID id)
{
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = object_find_locked(driver, OBJECT_BUFFER, id, "vaRenderPicture");
    uint32_t count = buffer ? buffer->count : 0;
    if (buffer)
        judge_rendered(context, buffer);
    pthread_mutex_unlock(&driver->lock);
    if (!buffer)
        return VA_STATUS_ERROR_INVALID_BUFFER;
    VAStatus status = VA_STATUS_ERROR_ALLOCATION_FAILED;
    if (buffer->type == VAEncCodedBufferType || buffer->type == VAImageBufferType)
        count = 0; /* their bytes are no parameters */
    size_t size = (size_t)buffer->size * count;
    uint8_t *copy = malloc(size + 1);
    if (copy && make_room(context)) {
        if (size)
            memcpy(copy, buffer->data, size);
        context->rendered[context->rendered_count++] = (struct submitted_buffer){
            .id = id, .type = buffer->type, .size = buffer->size, .count = count, .data = copy};
        status = VA_STATUS_SUCCESS;
    } else {
        free(copy);
    }
    object_release(driver, buffer);
    return status;
}

VAStatus entry_vaRenderPicture(VADriverContextP driver_context, VAContextID id, VABufferID *buffers, int num_buffers)
{
    struct driver *driver = driver_of(driver_context);
    VAStatus status;
    struct context *context = context_occupy(driver, id, "vaRenderPicture", &status);
    if (!context)
        return status;
    if (!context->begun) {
        journal_finding(place_of(context), "render-outside-picture", "vaRenderPicture",
                        "vaBeginPicture was not called");
        status = VA_STATUS_ERROR_OPERATION_FAILED;
    }
    for (int i = 0; status == VA_STATUS_SUCCESS && i < num_buffers; i++)
        status = render_buffer(driver, context, buffers[i]);
    context_vacate(driver, context);
    return status;
}

/* What the checker asks about: a driver and the context of the picture. */
struct scene {
    struct driver *driver;
    struct context *context;
};

static bool is_target(const struct context *context, const struct surface *surface)
{
    for (uint32_t i = 0; i < context->target_count; i++)
        if (context->targets[i] == surface)
            return true;
    return context->target_count == 0;
}

static struct submitted_surface describe_surface(const struct context *context, VASurfaceID id,
                                                 const struct surface *surface)
{
    if (!surface)
        return (struct submitted_surface){.id = id};
    return (struct submitted_surface){
        .id = id,
        .width = surface->width,
        .height = surface->height,
        .rt_format = surface->memory.format->rt_format,
        .fourcc = surface->memory.format->image.fourcc,
        .valid = true,
        .in_context = is_target(context, surface),
    };
}

static struct submitted_surface look_up_surface(void *token, VASurfaceID id)
{
    const struct scene *scene = token;
    pthread_mutex_lock(&scene->driver->lock);
    const struct surface *surface = object_peek(scene->driver, OBJECT_SURFACE, id);
    struct submitted_surface description = describe_surface(scene->context, id, surface);
    pthread_mutex_unlock(&scene->driver->lock);
    return description;
}

static uint32_t look_up_coded_buffer(void *token, VABufferID id)
{
    const struct scene *scene = token;
    pthread_mutex_lock(&scene->driver->lock);
    const struct buffer *buffer = object_peek(scene->driver, OBJECT_BUFFER, id);
    uint32_t size = buffer && buffer->type == VAEncCodedBufferType ? buffer->size : 0;
    pthread_mutex_unlock(&scene->driver->lock);
    return size;
}

static bool look_up_overflow(void *token, uint32_t picture)
{
    const struct scene *scene = token;
    const struct context *context = scene->context;
    bool found = false;
    pthread_mutex_lock(&scene->driver->lock);
    for (uint32_t i = 0; i < context->overflowed_count && i < OVERFLOWED_KEPT; i++)
        found = found || context->overflowed[i] == picture;
    pthread_mutex_unlock(&scene->driver->lock);
    return found;
}

static VAStatus submit(struct driver *driver, struct context *context, const struct understood_picture *understood)
{
    VAStatus status;
    if (understood->resumes)
        journal_event("resubmission", "\"process\":%d,\"context\":%u,\"picture\":%u,\"resumed\":%u",
                      (int)getpid(), context->object.id, context->pictures - 1, understood->resumed_picture);
    struct job *job = job_create(driver, context, understood, &status);
    if (job)
        status = job_submit(driver, context, job);
    if (status == VA_STATUS_SUCCESS)
        return status;
    checker_picture_failed(context->checker);
    return status;
}

static VAStatus end_picture(struct driver *driver, struct context *context)
{
    if (context->spoiled)
        return VA_STATUS_ERROR_OPERATION_FAILED;
    pthread_mutex_lock(&driver->lock);
    bool mapped = context->target->mapped > 0;
    pthread_mutex_unlock(&driver->lock);
    if (mapped)
        journal_finding(place_of(context), "surface-mapped-while-encoding", "vaEndPicture",
                        "the input surface 0x%08x is still mapped", context->target->object.id);
    if (context->processor)
        return processing_end(driver, context);
    if (context->decoder)
        return decoding_end(driver, context);
    struct scene scene = {driver, context};
    struct submission submission = {
        .place = place_of(context),
        .context = context->object.id,
        .context_width = context->width,
        .context_height = context->height,
        .input = describe_surface(context, context->target->object.id, context->target),
        .buffers = context->rendered,
        .buffer_count = context->rendered_count,
        .surface = look_up_surface,
        .coded_buffer_size = look_up_coded_buffer,
        .overflowed = look_up_overflow,
        .token = &scene,
    };
    submission.input.valid = look_up_surface(&scene, context->target->object.id).valid;
    const struct understood_picture *understood = checker_picture(context->checker, &submission);
    return understood->codable ? submit(driver, context, understood) : understood->refusal;
}

VAStatus entry_vaEndPicture(VADriverContextP driver_context, VAContextID id)
{
    struct driver *driver = driver_of(driver_context);
    VAStatus status;
    struct context *context = context_occupy(driver, id, "vaEndPicture", &status);
    if (!context)
        return status;
    if (context->begun) {
        status = end_picture(driver, context);
        picture_clear(driver, context);
    } else {
        journal_finding(place_of(context), "end-without-begin", "vaEndPicture", "vaBeginPicture was not called");
        status = VA_STATUS_ERROR_OPERATION_FAILED;
    }
    context_vacate(driver, context);
    return status;
}

void picture_refused(VADriverContextP driver_context, VAContextID id)
{
    struct driver *driver = driver_of(driver_context);
    pthread_mutex_lock(&driver->lock);
    struct context *context = object_peek(driver, OBJECT_CONTEXT, id);
    if (context && !context->occupied)
        picture_clear_locked(driver, context);
    pthread_mutex_unlock(&driver->lock);
}

void picture_spoiled(VADriverContextP driver_context, VAContextID id)
{
    struct driver *driver = driver_of(driver_context);
    pthread_mutex_lock(&driver->lock);
    struct context *context = object_peek(driver, OBJECT_CONTEXT, id);
    if (context && context->begun)
        context->spoiled = true;
    pthread_mutex_unlock(&driver->lock);
}
