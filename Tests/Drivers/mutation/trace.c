/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const function_names[TRACE_FUNCTION_COUNT] = {
    [TRACE_CREATE_CONFIG] = "vaCreateConfig",
    [TRACE_DESTROY_CONFIG] = "vaDestroyConfig",
    [TRACE_CREATE_SURFACES2] = "vaCreateSurfaces2",
    [TRACE_CREATE_SURFACES] = "vaCreateSurfaces",
    [TRACE_DESTROY_SURFACES] = "vaDestroySurfaces",
    [TRACE_CREATE_CONTEXT] = "vaCreateContext",
    [TRACE_DESTROY_CONTEXT] = "vaDestroyContext",
    [TRACE_CREATE_BUFFER] = "vaCreateBuffer",
    [TRACE_MAP_BUFFER] = "vaMapBuffer",
    [TRACE_UNMAP_BUFFER] = "vaUnmapBuffer",
    [TRACE_DESTROY_BUFFER] = "vaDestroyBuffer",
    [TRACE_BEGIN_PICTURE] = "vaBeginPicture",
    [TRACE_RENDER_PICTURE] = "vaRenderPicture",
    [TRACE_END_PICTURE] = "vaEndPicture",
    [TRACE_SYNC_SURFACE] = "vaSyncSurface",
    [TRACE_SYNC_BUFFER] = "vaSyncBuffer",
    [TRACE_QUERY_SURFACE_STATUS] = "vaQuerySurfaceStatus",
    [TRACE_DERIVE_IMAGE] = "vaDeriveImage",
    [TRACE_CREATE_IMAGE] = "vaCreateImage",
    [TRACE_DESTROY_IMAGE] = "vaDestroyImage",
    [TRACE_PUT_IMAGE] = "vaPutImage",
    [TRACE_GET_IMAGE] = "vaGetImage",
    [TRACE_EXPORT_SURFACE] = "vaExportSurfaceHandle",
    [TRACE_TERMINATE] = "vaTerminate",
};

const char *trace_function_name(enum trace_function function) { return function_names[function]; }

void *trace_resize(void *memory, size_t count, size_t size)
{
    void *result = reallocarray(memory, count ? count : 1, size ? size : 1);
    if (!result) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return result;
}

void *trace_allocate(size_t count, size_t size)
{
    void *result = trace_resize(NULL, count, size);
    memset(result, 0, (count ? count : 1) * (size ? size : 1));
    return result;
}

uint64_t trace_digest(uint64_t digest, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static void write_numbers(FILE *stream, const char *label, const uint64_t *numbers, size_t count)
{
    fprintf(stream, " %s ", label);
    if (!count) fputc('-', stream);
    for (size_t i = 0; i < count; i++) fprintf(stream, "%s%" PRIu64, i ? "," : "", numbers[i]);
}

bool trace_write(int descriptor, const char *display, const struct trace_call *call)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) return false;
    fprintf(stream, "%s %s %" PRIu32, display, function_names[call->function], call->status);
    write_numbers(stream, "in", call->in, call->in_count);
    write_numbers(stream, "out", call->out, call->out_count);
    fputs(call->data ? " data " : " data -", stream);
    for (size_t i = 0; call->data && i < call->size; i++) {
        fputc("0123456789abcdef"[call->data[i] >> 4], stream);
        fputc("0123456789abcdef"[call->data[i] & 15], stream);
    }
    fputc('\n', stream);
    bool written = fclose(stream) == 0 && write(descriptor, text, length) == (ssize_t)length;
    free(text);
    return written;
}

static bool read_numbers(char *text, uint64_t **numbers, size_t *count)
{
    *numbers = NULL;
    *count = 0;
    if (strcmp(text, "-") == 0) return true;
    for (char *cursor = text; *cursor;) {
        char *end;
        errno = 0;
        uint64_t number = strtoull(cursor, &end, 10);
        if (end == cursor || errno || (*end && *end != ',')) return false;
        *numbers = trace_resize(*numbers, *count + 1, sizeof **numbers);
        (*numbers)[(*count)++] = number;
        cursor = *end ? end + 1 : end;
    }
    return true;
}

static int digit(char character)
{
    const char *found = strchr("0123456789abcdef", character);
    return found && character ? (int)(found - "0123456789abcdef") : -1;
}

static bool read_data(const char *text, uint8_t **data, size_t *size)
{
    *data = NULL;
    *size = 0;
    if (strcmp(text, "-") == 0) return true;
    size_t length = strlen(text);
    if (length % 2) return false;
    *data = trace_allocate(length / 2, 1);
    for (size_t i = 0; i < length / 2; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        (*data)[i] = (uint8_t)(high << 4 | low);
    }
    *size = length / 2;
    return true;
}

/* Takes a line apart in place. `display` points into it afterwards. */
static bool read_call(char *line, struct trace_call *call, char **display)
{
    char *words[9], *rest = line;
    for (size_t i = 0; i < 9; i++) {
        words[i] = strsep(&rest, " ");
        if (!words[i]) return false;
    }
    *call = (struct trace_call){.function = TRACE_FUNCTION_COUNT, .status = (uint32_t)strtoul(words[2], NULL, 10)};
    for (size_t i = 0; i < TRACE_FUNCTION_COUNT; i++)
        if (strcmp(function_names[i], words[1]) == 0) call->function = (enum trace_function)i;
    *display = words[0];
    return call->function != TRACE_FUNCTION_COUNT && strcmp(words[3], "in") == 0 && strcmp(words[5], "out") == 0 &&
           strcmp(words[7], "data") == 0 && read_numbers(words[4], &call->in, &call->in_count) &&
           read_numbers(words[6], &call->out, &call->out_count) && read_data(words[8], &call->data, &call->size);
}

/* One pass over the file: counts pictures per display when `trace` is NULL, else keeps the calls of `wanted`. */
struct display_count {
    char name[64];
    size_t pictures;
};

static bool read_lines(FILE *stream, const char *path, struct trace *trace, const char *wanted,
                       struct display_count **counts, size_t *count_count)
{
    char *line = NULL;
    size_t capacity = 0, number = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&line, &capacity, stream)) > 0) {
        number++;
        if (line[length - 1] == '\n') line[length - 1] = 0;
        struct trace_call call;
        char *display;
        good = read_call(line, &call, &display);
        if (!good) {
            fprintf(stderr, "%s:%zu: not a line of a trace\n", path, number);
        } else if (!trace) {
            size_t i = 0;
            while (i < *count_count && strcmp((*counts)[i].name, display) != 0) i++;
            if (i == *count_count) {
                *counts = trace_resize(*counts, ++*count_count, sizeof **counts);
                (*counts)[i] = (struct display_count){.pictures = 0};
                snprintf((*counts)[i].name, sizeof (*counts)[i].name, "%s", display);
            }
            (*counts)[i].pictures += call.function == TRACE_END_PICTURE;
            trace_call_release(&call);
        } else if (strcmp(display, wanted) == 0) {
            trace->calls = trace_resize(trace->calls, trace->count + 1, sizeof *trace->calls);
            trace->calls[trace->count++] = call;
        } else {
            trace_call_release(&call);
        }
    }
    free(line);
    return good;
}

bool trace_read(struct trace *trace, const char *path)
{
    *trace = (struct trace){NULL, 0};
    FILE *stream = fopen(path, "r");
    if (!stream) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    struct display_count *counts = NULL, *best = NULL;
    size_t count = 0;
    bool good = read_lines(stream, path, NULL, NULL, &counts, &count);
    for (size_t i = 0; i < count; i++)
        if (!best || counts[i].pictures > best->pictures) best = &counts[i];
    if (good && (!best || !best->pictures)) {
        fprintf(stderr, "%s: no picture was coded in it\n", path);
        good = false;
    }
    rewind(stream);
    good = good && read_lines(stream, path, trace, best->name, NULL, NULL);
    fclose(stream);
    free(counts);
    return good;
}

static void *copy_bytes(const void *bytes, size_t size)
{
    return bytes ? memcpy(trace_allocate(size, 1), bytes, size) : NULL;
}

struct trace_call trace_call_copy(const struct trace_call *call)
{
    struct trace_call copy = *call;
    copy.in = copy_bytes(call->in, call->in_count * sizeof *call->in);
    copy.out = copy_bytes(call->out, call->out_count * sizeof *call->out);
    copy.data = copy_bytes(call->data, call->size);
    return copy;
}

void trace_call_release(struct trace_call *call)
{
    free(call->in);
    free(call->out);
    free(call->data);
    *call = (struct trace_call){0};
}

void trace_release(struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) trace_call_release(&trace->calls[i]);
    free(trace->calls);
    *trace = (struct trace){NULL, 0};
}
