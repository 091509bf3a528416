/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rebuild.h"

#include <stdarg.h>
#include <stdio.h>

void rebuild_finding(const struct rebuild_picture *picture, uint32_t slice, const char *name, const char *clause,
                     const char *format, ...)
{
    if (!journal_judging())
        return;
    char detail[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    struct journal_place place = picture->place;
    place.slice = slice;
    journal_finding(place, name, clause, "%s", detail);
}

const void *rebuild_find_buffer(const struct rebuild_picture *picture, VABufferType type, size_t size,
                                const char *what)
{
    const struct submitted_buffer *found = NULL;
    for (uint32_t i = 0; i < picture->buffer_count; i++) {
        const struct submitted_buffer *buffer = &picture->buffers[i];
        if (buffer->type != type)
            continue;
        if (found)
            rebuild_finding(picture, UINT32_MAX, "decoding-buffer-repeated", "va.h vaRenderPicture",
                            "%s is given more than once", what);
        found = buffer;
    }
    if (!found) {
        rebuild_finding(picture, UINT32_MAX, "decoding-buffer-missing", "va.h vaRenderPicture", "%s is not given",
                        what);
        return NULL;
    }
    if (found->size < size || found->count != 1) {
        rebuild_finding(picture, UINT32_MAX, "decoding-buffer-size", "va.h vaCreateBuffer",
                        "%s has %u elements of %u bytes, expected one of %zu", what, found->count, found->size, size);
        return NULL;
    }
    return found->data;
}

const void *rebuild_peek_buffer(const struct rebuild_picture *picture, VABufferType type)
{
    const void *data = NULL;
    for (uint32_t i = 0; i < picture->buffer_count; i++)
        if (picture->buffers[i].type == type)
            data = picture->buffers[i].data;
    return data;
}

static bool break_off(const struct rebuild_picture *picture, struct rebuild_cursor *cursor, const char *name,
                      const char *reason)
{
    cursor->broken = true;
    rebuild_finding(picture, cursor->count, name, "va.h VASliceParameterBufferBase", "%s", reason);
    return false;
}

/* The slice data that follow the parameters. */
static const struct submitted_buffer *data_behind(const struct rebuild_picture *picture, uint32_t parameters)
{
    for (uint32_t i = parameters + 1; i < picture->buffer_count; i++) {
        if (picture->buffers[i].type == VASliceDataBufferType)
            return &picture->buffers[i];
        if (picture->buffers[i].type == VASliceParameterBufferType)
            return NULL;
    }
    return NULL;
}

bool rebuild_next_slice(const struct rebuild_picture *picture, size_t parameter_size, struct rebuild_cursor *cursor,
                        struct rebuild_slice *slice)
{
    if (cursor->broken)
        return false;
    for (; cursor->buffer < picture->buffer_count; cursor->buffer++, cursor->element = 0) {
        const struct submitted_buffer *buffer = &picture->buffers[cursor->buffer];
        if (buffer->type != VASliceParameterBufferType || cursor->element >= buffer->count)
            continue;
        if (buffer->size < parameter_size || (buffer->count > 1 && buffer->size % sizeof(uint64_t)))
            return break_off(picture, cursor, "decoding-buffer-size",
                             "the slice parameters do not have the size of the structure");
        const struct submitted_buffer *data = data_behind(picture, cursor->buffer);
        if (!data)
            return break_off(picture, cursor, "slice-data-missing", "no slice data follow the slice parameters");
        slice->parameters = (const uint8_t *)buffer->data + (size_t)cursor->element * buffer->size;
        const VASliceParameterBufferBase *base = slice->parameters;
        const size_t available = (size_t)data->size * data->count;
        if (base->slice_data_flag != VA_SLICE_DATA_FLAG_ALL)
            return break_off(picture, cursor, "slice-data-flag", "slices in parts are not supported");
        if (base->slice_data_offset > available || base->slice_data_size > available - base->slice_data_offset)
            return break_off(picture, cursor, "slice-data-outside", "the slice reaches beyond its data buffer");
        slice->data = (const uint8_t *)data->data + base->slice_data_offset;
        slice->size = base->slice_data_size;
        cursor->element++;
        cursor->count++;
        return true;
    }
    return false;
}
