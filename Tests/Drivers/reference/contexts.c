/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "codecs.h"
#include "decoding.h"
#include "processing.h"
#include "rate_control.h"
#include "skipping.h"

#include <signal.h>
#include <stdlib.h>

static VAStatus check_size(const struct persona_limits *limits, int width, int height)
{
    if (width > 0 && height > 0 && (uint32_t)width >= limits->minimum_width &&
        (uint32_t)height >= limits->minimum_height && (uint32_t)width <= limits->maximum_width &&
        (uint32_t)height <= limits->maximum_height)
        return VA_STATUS_SUCCESS;
    journal_finding(JOURNAL_NOWHERE, "context-size", "va.h VAConfigAttribMaxPictureWidth",
                    "%dx%d; from %ux%u to %ux%u", width, height, limits->minimum_width, limits->minimum_height,
                    limits->maximum_width, limits->maximum_height);
    return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
}

/* Takes references to the render targets. */
static VAStatus hold_targets(struct driver *driver, struct context *context, const VASurfaceID *ids, int count)
{
    if (count <= 0)
        return VA_STATUS_SUCCESS;
    context->targets = calloc((size_t)count, sizeof(context->targets[0]));
    if (!context->targets)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    VAStatus status = VA_STATUS_SUCCESS;
    pthread_mutex_lock(&driver->lock);
    for (int i = 0; i < count; i++) {
        struct surface *surface = object_find_locked(driver, OBJECT_SURFACE, ids[i], "vaCreateContext");
        if (!surface) {
            status = VA_STATUS_ERROR_INVALID_SURFACE;
            break;
        }
        surface->contexts++;
        context->targets[context->target_count++] = surface;
    }
    pthread_mutex_unlock(&driver->lock);
    return status;
}

/* Signals are the client's: the worker handles none. */
static bool start_worker(struct driver *driver, struct context *context)
{
    struct worker_start *start = malloc(sizeof(*start));
    if (!start)
        return false;
    *start = (struct worker_start){driver, context};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&context->worker, NULL, context_work, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure)
        free(start);
    return failure == 0;
}

static VAStatus equip(struct driver *driver, struct context *context, const VASurfaceID *targets, int count)
{
    VAStatus status = hold_targets(driver, context, targets, count);
    if (status != VA_STATUS_SUCCESS)
        return status;
    if (context->config.entrypoint == VAEntrypointVideoProc) {
        context->processor = processor_create(driver);
        return context->processor ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    if (context->config.entrypoint == VAEntrypointVLD) {
        context->decoder = decoder_create(driver, context);
        return context->decoder ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_ALLOCATION_FAILED;
    }
    struct journal_place place = JOURNAL_NOWHERE;
    place.context = context->object.id;
    context->checker = checker_create(&context->config, place);
    context->coding = coding_of(codec_of(context->config.profile));
    context->coder = context->coding->create();
    context->rate_control = rate_control_create();
    context->rate_history = rate_history_create();
    bool skipping = driver->effort == EFFORT_SKIP && codec_of(context->config.profile) == CODEC_H264;
    context->skipped = skipping ? calloc(1, sizeof(*context->skipped)) : NULL;
    bool equipped = context->checker && context->coder && context->rate_control && context->rate_history &&
                    (context->skipped || !skipping);
    if (equipped && start_worker(driver, context))
        return VA_STATUS_SUCCESS;
    return VA_STATUS_ERROR_ALLOCATION_FAILED;
}

static void withdraw_context(struct driver *driver, struct context *context)
{
    pthread_mutex_lock(&driver->lock);
    object_withdraw(driver, &context->object);
    pthread_mutex_unlock(&driver->lock);
}

VAStatus entry_vaCreateContext(VADriverContextP driver_context, VAConfigID config_id, int picture_width,
                               int picture_height, int flag, VASurfaceID *render_targets, int num_render_targets,
                               VAContextID *context_id)
{
    struct driver *driver = driver_of(driver_context);
    struct config *config = object_find(driver, OBJECT_CONFIG, config_id, "vaCreateContext");
    if (!config)
        return VA_STATUS_ERROR_INVALID_CONFIG;
    struct submitted_config submitted = config->submitted;
    object_release(driver, config);
    VAStatus status = VA_STATUS_SUCCESS;
    if (submitted.entrypoint != VAEntrypointVideoProc) /* its pictures have sizes of their own */
        status = check_size(&submitted.limits, picture_width, picture_height);
    if (status != VA_STATUS_SUCCESS)
        return status;
    if (flag & ~VA_PROGRESSIVE)
        journal_finding(JOURNAL_NOWHERE, "context-flag", "va.h vaCreateContext",
                        "flag is 0x%x, known is VA_PROGRESSIVE", (unsigned)flag);
    struct context *context = object_create(driver, OBJECT_CONTEXT, sizeof(*context));
    if (!context)
        return VA_STATUS_ERROR_ALLOCATION_FAILED;
    context->config_id = config_id;
    context->config = submitted;
    context->width = (uint32_t)picture_width;
    context->height = (uint32_t)picture_height;
    status = equip(driver, context, render_targets, num_render_targets);
    if (status != VA_STATUS_SUCCESS) {
        withdraw_context(driver, context);
        return status;
    }
    *context_id = context->object.id;
    journal_event("context", "\"context\":%u,\"config\":%u,\"width\":%d,\"height\":%d,\"flag\":%d,\"targets\":%d",
                  *context_id, config_id, picture_width, picture_height, flag, num_render_targets);
    return VA_STATUS_SUCCESS;
}

void context_stop(struct driver *driver, struct context *context)
{
    if (context->processor) {
        processor_stop(driver, context->processor);
        return;
    }
    if (context->decoder) {
        decoder_stop(driver, context->decoder);
        return;
    }
    pthread_mutex_lock(&driver->lock);
    context->stopping = true;
    pthread_cond_broadcast(&driver->changed);
    pthread_mutex_unlock(&driver->lock);
    pthread_join(context->worker, NULL);
}

void context_free(struct driver *driver, struct context *context)
{
    for (uint32_t i = 0; i < context->target_count; i++) {
        context->targets[i]->contexts--;
        object_release_locked(driver, context->targets[i]);
    }
    free(context->targets);
    picture_clear_locked(driver, context);
    free(context->rendered);
    if (context->processor)
        processor_free(context->processor);
    if (context->decoder)
        decoder_free(context->decoder);
    if (context->checker)
        checker_destroy(context->checker);
    if (context->coder)
        context->coding->destroy(context->coder);
    rate_control_destroy(context->rate_control);
    free(context->rate_history);
    if (context->skipped)
        skipped_release(context->skipped);
    free(context->skipped);
    free(context);
}

VAStatus entry_vaDestroyContext(VADriverContextP driver_context, VAContextID id)
{
    struct driver *driver = driver_of(driver_context);
    pthread_mutex_lock(&driver->lock);
    struct context *context = object_find_locked(driver, OBJECT_CONTEXT, id, "vaDestroyContext");
    if (context) {
        struct journal_place place = {id, context->pictures - 1, UINT32_MAX};
        if (context->occupied)
            journal_finding(place, "context-destroyed-while-used", "vaDestroyContext",
                            "another thread is in vaBeginPicture, vaRenderPicture or vaEndPicture of the context");
        else if (context->begun)
            journal_finding(place, "context-destroyed-inside-picture", "vaDestroyContext",
                            "vaEndPicture was not called for the last picture");
        object_withdraw(driver, &context->object);
    }
    pthread_mutex_unlock(&driver->lock);
    if (!context)
        return VA_STATUS_ERROR_INVALID_CONTEXT;
    context_stop(driver, context);
    object_release(driver, context);
    return VA_STATUS_SUCCESS;
}
