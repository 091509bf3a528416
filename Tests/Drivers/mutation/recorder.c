/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libmutate_drv_video.so: a VA driver that is another one (MUTATION_DRIVER, the file of its library) with a recorder
 * before it. What the client asks of it goes to the file MUTATION_TRACE, in the form of trace.h; the client notices
 * nothing. One lock is held over each recorded call, so that the trace has one order. */
#include "recorder.h"

#include <va/va_drmcommon.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct VADriverVTable recorder_inner;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int descriptor = -1;

/* Displays of this process, told apart by the driver's own data. */
static struct {
    VADriverContextP context;
    char name[32];
} displays[64];
static unsigned display_count;

void recorder_lock(void) { pthread_mutex_lock(&lock); }
void recorder_unlock(void) { pthread_mutex_unlock(&lock); }

static const char *display_name(VADriverContextP context)
{
    for (unsigned i = display_count; i > 0; i--)
        if (displays[i - 1].context == context) return displays[i - 1].name;
    return "unknown";
}

static void add_display(VADriverContextP context)
{
    if (display_count == sizeof displays / sizeof *displays) return;
    displays[display_count].context = context;
    snprintf(displays[display_count].name, sizeof displays[0].name, "%d.%u", (int)getpid(), display_count);
    display_count++;
}

void recorder_write(VADriverContextP context, enum trace_function function, VAStatus status, struct numbers in,
                    struct numbers out, const void *data, size_t size)
{
    struct trace_call call = {
        .function = function,
        .status = (uint32_t)status,
        .in = in.values,
        .in_count = in.count,
        .out = out.values,
        .out_count = status == VA_STATUS_SUCCESS ? out.count : 0,
        .data = (uint8_t *)(uintptr_t)data,
        .size = size,
    };
    if (descriptor >= 0 && !trace_write(descriptor, display_name(context), &call)) {
        fputs("libmutate: the trace cannot be written\n", stderr);
        abort();
    }
    free(in.values);
    free(out.values);
}

struct numbers recorder_numbers(size_t count, const uint64_t *values)
{
    struct numbers numbers = {trace_allocate(count, sizeof *values), count};
    if (count) memcpy(numbers.values, values, count * sizeof *values);
    return numbers;
}

void recorder_append(struct numbers *numbers, uint64_t value)
{
    numbers->values = trace_resize(numbers->values, numbers->count + 1, sizeof value);
    numbers->values[numbers->count++] = value;
}

/* Buffers that are alive, to know how many bytes of a mapping are the client's. */
static struct recorded_buffer *buffers;
static size_t buffer_count;

struct recorded_buffer *recorder_buffer(VADriverContextP context, VABufferID id)
{
    for (size_t i = 0; i < buffer_count; i++)
        if (buffers[i].context == context && buffers[i].id == id) return &buffers[i];
    return NULL;
}

void recorder_add_buffer(VADriverContextP context, VABufferID id, size_t size, bool coded)
{
    recorder_drop_buffer(context, id);
    buffers = trace_resize(buffers, buffer_count + 1, sizeof *buffers);
    buffers[buffer_count++] = (struct recorded_buffer){context, id, size, coded, NULL, 0};
}

void recorder_drop_buffer(VADriverContextP context, VABufferID id)
{
    struct recorded_buffer *buffer = recorder_buffer(context, id);
    if (buffer) *buffer = buffers[--buffer_count];
}

struct recorded_buffer *recorder_image_buffer(VADriverContextP context, VAImageID image)
{
    for (size_t i = 0; i < buffer_count; i++)
        if (buffers[i].context == context && buffers[i].image == image && image) return &buffers[i];
    return NULL;
}

/* Forgets the buffer of an image, which dies with it. */
void recorder_drop_image(VADriverContextP context, VAImageID image)
{
    struct recorded_buffer *buffer = recorder_image_buffer(context, image);
    if (buffer) *buffer = buffers[--buffer_count];
}

static bool load_inner(VADriverContextP context, VAStatus *status)
{
    const char *path = getenv("MUTATION_DRIVER");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "libmutate: MUTATION_DRIVER: %s\n", path ? dlerror() : "not set");
        return false;
    }
    char name[32];
    VADriverInit init = NULL;
    for (int minor = VA_MINOR_VERSION; minor >= 0 && !init; minor--) {
        snprintf(name, sizeof name, "__vaDriverInit_%d_%d", VA_MAJOR_VERSION, minor);
        *(void **)&init = dlsym(library, name);
    }
    if (!init) {
        fprintf(stderr, "libmutate: %s is no VA driver for libva 1.%d\n", path, VA_MINOR_VERSION);
        return false;
    }
    *status = init(context);
    return true;
}

/* __vaDriverInit_1_17, for the version of libva's headers. */
#define INIT_PASTE(major, minor) __vaDriverInit_##major##_##minor
#define INIT_SYMBOL(major, minor) INIT_PASTE(major, minor)
__attribute__((visibility("default"))) VAStatus INIT_SYMBOL(VA_MAJOR_VERSION, VA_MINOR_VERSION)(VADriverContextP);

VAStatus INIT_SYMBOL(VA_MAJOR_VERSION, VA_MINOR_VERSION)(VADriverContextP context)
{
    VAStatus status = VA_STATUS_ERROR_UNKNOWN;
    recorder_lock();
    const char *path = getenv("MUTATION_TRACE");
    if (descriptor < 0 && path) descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (load_inner(context, &status) && status == VA_STATUS_SUCCESS) {
        recorder_inner = *context->vtable;
        add_display(context);
        recorder_wrap_objects(context->vtable);
        recorder_wrap_pictures(context->vtable);
    }
    recorder_unlock();
    return status;
}
