/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for pictures: by surface and by coded buffer. */
#include "driver.h"

#include <errno.h>
#include <time.h>

/* The moment `nanoseconds` from now, on the clock of driver->changed. */
static struct timespec deadline_after(uint64_t nanoseconds)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    uint64_t whole = (uint64_t)moment.tv_nsec + nanoseconds % 1000000000;
    moment.tv_sec += (time_t)(nanoseconds / 1000000000 + whole / 1000000000);
    moment.tv_nsec = (long)(whole % 1000000000);
    return moment;
}

/* Sleeps until something changes; false when the deadline has passed. */
static bool wait_for_change(struct driver *driver, const struct timespec *deadline, uint64_t nanoseconds)
{
    if (nanoseconds == 0)
        return false;
    if (nanoseconds == VA_TIMEOUT_INFINITE)
        return pthread_cond_wait(&driver->changed, &driver->lock) == 0;
    return pthread_cond_timedwait(&driver->changed, &driver->lock, deadline) != ETIMEDOUT;
}

bool wait_for_surface(struct driver *driver, struct surface *surface, uint64_t nanoseconds)
{
    struct timespec deadline = deadline_after(nanoseconds == VA_TIMEOUT_INFINITE ? 0 : nanoseconds);
    while (surface->reading || surface->coding)
        if (!wait_for_change(driver, &deadline, nanoseconds))
            return !surface->reading && !surface->coding;
    return true;
}

bool wait_for_buffer(struct driver *driver, struct buffer *buffer, uint64_t nanoseconds)
{
    struct timespec deadline = deadline_after(nanoseconds == VA_TIMEOUT_INFINITE ? 0 : nanoseconds);
    while (buffer->pending)
        if (!wait_for_change(driver, &deadline, nanoseconds))
            return !buffer->pending;
    return true;
}

bool was_synchronised(struct driver *driver, const struct buffer *buffer)
{
    const struct surface *surface = object_peek(driver, OBJECT_SURFACE, buffer->input);
    return buffer->waited || !surface || surface->synchronised >= buffer->submission;
}

bool could_not_wait(struct driver *driver, const struct buffer *buffer)
{
    const struct surface *surface = object_peek(driver, OBJECT_SURFACE, buffer->input);
    return buffer->object.unwaitable || (surface && surface->object.unwaitable);
}

struct surface_turn surface_begin_reading(struct surface *surface)
{
    surface->reads_begun++;
    return (struct surface_turn){.writes = surface->writes_begun};
}

struct surface_turn surface_begin_writing(struct surface *surface)
{
    struct surface_turn turn = {.writes = surface->writes_begun, .reads = surface->reads_begun};
    surface->writes_begun++;
    surface->filled = true;
    surface->decoded_by = 0;
    return turn;
}

void surface_end_reading(struct surface *surface)
{
    surface->reads_ended++;
}

void surface_end_writing(struct surface *surface)
{
    surface->writes_ended++;
}

bool surface_is_due(const struct surface *surface, const struct surface_turn *turn)
{
    return surface->writes_ended >= turn->writes && surface->reads_ended >= turn->reads;
}

VAStatus entry_vaSyncSurface2(VADriverContextP context, VASurfaceID id, uint64_t timeout_ns)
{
    struct driver *driver = driver_of(context);
    pthread_mutex_lock(&driver->lock);
    struct surface *surface = object_find_locked(driver, OBJECT_SURFACE, id, "vaSyncSurface");
    bool ready = false;
    VAStatus damage = VA_STATUS_SUCCESS;
    if (surface) {
        uint64_t submissions = driver->submissions;
        ready = wait_for_surface(driver, surface, timeout_ns);
        damage = surface->damage;
        if (ready && surface->synchronised < submissions)
            surface->synchronised = submissions;
        object_release_locked(driver, surface);
    }
    pthread_mutex_unlock(&driver->lock);
    if (!surface)
        return VA_STATUS_ERROR_INVALID_SURFACE;
    return ready ? damage : VA_STATUS_ERROR_TIMEDOUT;
}

VAStatus entry_vaSyncSurface(VADriverContextP context, VASurfaceID render_target)
{
    return entry_vaSyncSurface2(context, render_target, VA_TIMEOUT_INFINITE);
}

VAStatus entry_vaSyncBuffer(VADriverContextP context, VABufferID buf_id, uint64_t timeout_ns)
{
    struct driver *driver = driver_of(context);
    if (!driver->persona.syncs_buffers)
        return VA_STATUS_ERROR_UNIMPLEMENTED;
    if (buf_id == VA_INVALID_ID)
        return VA_STATUS_ERROR_INVALID_BUFFER; /* how clients ask whether the call is there */
    pthread_mutex_lock(&driver->lock);
    struct buffer *buffer = object_find_locked(driver, OBJECT_BUFFER, buf_id, "vaSyncBuffer");
    bool ready = false;
    if (buffer) {
        ready = wait_for_buffer(driver, buffer, timeout_ns);
        buffer->waited = buffer->waited || ready;
        object_release_locked(driver, buffer);
    }
    pthread_mutex_unlock(&driver->lock);
    if (!buffer)
        return VA_STATUS_ERROR_INVALID_BUFFER;
    return ready ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_TIMEDOUT;
}

VAStatus entry_vaQuerySurfaceStatus(VADriverContextP context, VASurfaceID render_target, VASurfaceStatus *status)
{
    struct driver *driver = driver_of(context);
    pthread_mutex_lock(&driver->lock);
    struct surface *surface = object_find_locked(driver, OBJECT_SURFACE, render_target, "vaQuerySurfaceStatus");
    if (surface) {
        bool busy = surface->reading || surface->coding;
        if (!busy)
            surface->synchronised = driver->submissions;
        *status = busy ? VASurfaceRendering : VASurfaceReady;
        object_release_locked(driver, surface);
    }
    pthread_mutex_unlock(&driver->lock);
    return surface ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}

/* The list is valid until the next call for the display. */
VAStatus entry_vaQuerySurfaceError(VADriverContextP context, VASurfaceID render_target, VAStatus error_status,
                                   void **error_info)
{
    struct driver *driver = driver_of(context);
    if (error_status != VA_STATUS_ERROR_DECODING_ERROR)
        return VA_STATUS_ERROR_UNIMPLEMENTED;
    pthread_mutex_lock(&driver->lock);
    struct surface *surface = object_find_locked(driver, OBJECT_SURFACE, render_target, "vaQuerySurfaceError");
    if (surface) {
        const bool damaged = surface->damage == VA_STATUS_ERROR_DECODING_ERROR;
        const uint32_t blocks = (surface->width + 15) / 16 * ((surface->height + 15) / 16);
        driver->decoding_errors[0] = (VASurfaceDecodeMBErrors){
            .status = damaged ? 1 : -1,
            .start_mb = surface->first_damaged,
            .end_mb = surface->last_damaged == UINT32_MAX ? blocks - 1 : surface->last_damaged,
            .decode_error_type = VADecodeMBError,
        };
        driver->decoding_errors[1] = (VASurfaceDecodeMBErrors){.status = -1};
        *error_info = driver->decoding_errors;
        object_release_locked(driver, surface);
    }
    pthread_mutex_unlock(&driver->lock);
    return surface ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_SURFACE;
}
