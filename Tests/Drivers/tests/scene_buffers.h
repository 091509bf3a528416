/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What scenes of every codec are made of: buffers of one picture, packed headers, misc parameters. */
#ifndef DRIVERS_TESTS_SCENE_BUFFERS_H
#define DRIVERS_TESTS_SCENE_BUFFERS_H

#include "../checks/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCENE_BUFFERS 96
#define INPUT_SURFACE 0x10u
#define RECONSTRUCTION 0x100u
#define CODED_BUFFER 0x500u

/* A misc parameter buffer with its type. */
struct planned_misc {
    uint32_t type;
    size_t size;
    uint8_t bytes[256];
};

struct planned_miscs {
    struct planned_misc misc[8];
    uint32_t count;
};

static inline void plan_misc(struct planned_miscs *miscs, uint32_t type, const void *bytes, size_t size)
{
    struct planned_misc *misc = &miscs->misc[miscs->count++];
    misc->type = type;
    misc->size = size;
    memcpy(misc->bytes, bytes, size);
}

static inline void plan_rate(struct planned_miscs *miscs)
{
    VAEncMiscParameterRateControl rate = {.bits_per_second = 1000000, .target_percentage = 100, .window_size = 1000,
                                          .initial_qp = 26, .min_qp = 10, .max_qp = 51};
    VAEncMiscParameterHRD hrd = {.initial_buffer_fullness = 750000, .buffer_size = 1000000};
    VAEncMiscParameterFrameRate frame_rate = {.framerate = 1u << 16 | 25};
    VAEncMiscParameterBufferQualityLevel quality = {.quality_level = 4};
    plan_misc(miscs, VAEncMiscParameterTypeRateControl, &rate, sizeof rate);
    plan_misc(miscs, VAEncMiscParameterTypeHRD, &hrd, sizeof hrd);
    plan_misc(miscs, VAEncMiscParameterTypeFrameRate, &frame_rate, sizeof frame_rate);
    plan_misc(miscs, VAEncMiscParameterTypeQualityLevel, &quality, sizeof quality);
}

/* The buffers of one picture; memory belongs to them until release_buffers. */
struct buffer_list {
    struct submitted_buffer buffers[SCENE_BUFFERS];
    uint32_t count;
};

static inline void add_buffer(struct buffer_list *list, VABufferType type, const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    list->buffers[list->count] = (struct submitted_buffer){0x900u + list->count, type, (uint32_t)size, 1, copy};
    list->count++;
}

/* Adds a packed header of whole units (trailing bits there already) or a slice header (any number of bits). */
static inline void add_packed(struct buffer_list *list, uint32_t type, struct bits *nal, bool emulation)
{
    struct bits data = {0};
    size_t bits = nal->count % 8;
    if (emulation) {
        struct bits whole = {.bytes = nal->bytes, .count = (nal->count + 7) / 8 * 8};
        bits_frame_nal_unit(&data, &whole);
    } else {
        bits_put(&data, 1, 32);
        bits_append(&data, nal->bytes, 0, (nal->count + 7) / 8 * 8);
    }
    VAEncPackedHeaderParameterBuffer parameters = {
        .type = type, .bit_length = (uint32_t)(data.count - (bits ? 8 - bits : 0)), .has_emulation_bytes = emulation};
    add_buffer(list, VAEncPackedHeaderParameterBufferType, &parameters, sizeof parameters);
    add_buffer(list, VAEncPackedHeaderDataBufferType, data.bytes, data.count / 8);
    bits_release(&data);
    bits_release(nal);
}

/* Adds the misc parameter buffers. */
static inline void add_miscs(struct buffer_list *list, const struct planned_miscs *miscs)
{
    for (uint32_t i = 0; i < miscs->count; i++) {
        uint8_t bytes[260];
        memcpy(bytes, &miscs->misc[i].type, 4);
        memcpy(bytes + 4, miscs->misc[i].bytes, miscs->misc[i].size);
        add_buffer(list, VAEncMiscParameterBufferType, bytes, miscs->misc[i].size + 4);
    }
}

/* Appends one SEI message and ends its payload. */
static inline void add_message(struct bits *nal, uint32_t type, struct bits *payload)
{
    if (payload->count % 8)
        bits_trail(payload);
    bits_put(nal, type, 8);
    bits_put(nal, (uint32_t)(payload->count / 8), 8);
    bits_append(nal, payload->bytes, 0, payload->count);
    bits_release(payload);
}

static inline void release_buffers(struct buffer_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        free((void *)(uintptr_t)list->buffers[i].data);
    list->count = 0;
}

#endif
