/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes the buffers of vaRenderPicture apart; judges their kinds, sizes, counts and order. */
#include "checker.h"

#include <stdlib.h>
#include <string.h>

/* Kinds of parameter buffers that are one structure per element. */
struct kind {
    const char *size_name, *count_name, *clause;
    size_t structure_size;
};

static struct kind sequence_kind(const struct checker *checker)
{
    return (struct kind){"sequence-buffer-size", "sequence-buffer-count", checker->codec->sequence_buffer,
                         checker->codec->sequence_size};
}

static struct kind picture_kind(const struct checker *checker)
{
    return (struct kind){"picture-buffer-size", "picture-buffer-count", checker->codec->picture_buffer,
                         checker->codec->picture_size};
}

static struct kind slice_kind(const struct checker *checker)
{
    return (struct kind){"slice-buffer-size", "slice-buffer-count", checker->codec->slice_buffer,
                         checker->codec->slice_size};
}

static const struct kind packed_kind = {"packed-parameter-buffer-size", "packed-parameter-buffer-count",
    "va.h VAEncPackedHeaderParameterBuffer", sizeof(VAEncPackedHeaderParameterBuffer)};

/* True when the buffer holds at least one whole structure. */
static bool usable(struct checker *checker, const struct submitted_buffer *buffer, const struct kind *kind)
{
    expect(checker, kind->size_name, kind->clause, buffer->size, kind->structure_size);
    if (buffer->count == 0)
        finding(checker, kind->count_name, "va.h vaCreateBuffer num_elements", "the buffer has no element");
    return buffer->data && buffer->count > 0 && buffer->size >= kind->structure_size;
}

static void expect_one(struct checker *checker, const struct submitted_buffer *buffer, const struct kind *kind)
{
    if (buffer->count > 1)
        finding(checker, kind->count_name, kind->clause, "the buffer has %u elements, expected 1", buffer->count);
}

static void collect_sequence(struct checker *checker, const struct submitted_buffer *buffer)
{
    const struct kind kind = sequence_kind(checker);
    if (checker->collected.sequence_count++ > 0)
        finding(checker, "sequence-buffer-duplicate", kind.clause, "a second one for the same picture");
    if (!usable(checker, buffer, &kind))
        return;
    expect_one(checker, buffer, &kind);
    memcpy(&checker->picture.sequence, buffer->data, kind.structure_size);
    checker->collected.sequence = true;
    checker->have_sequence = true;
}

static void collect_picture(struct checker *checker, const struct submitted_buffer *buffer)
{
    const struct kind kind = picture_kind(checker);
    if (checker->collected.picture_count++ > 0)
        finding(checker, "picture-buffer-duplicate", kind.clause, "a second one for the same picture");
    if (checker->collected.slice_count > 0)
        finding(checker, "picture-buffer-after-slice", kind.clause,
                "slice parameters came before the picture's");
    if (!usable(checker, buffer, &kind))
        return;
    expect_one(checker, buffer, &kind);
    memcpy(&checker->picture.picture, buffer->data, kind.structure_size);
    checker->collected.picture = true;
}

/* Makes room for one more slice; new elements are zero. */
static bool grow_slices(struct checker *checker)
{
    uint32_t before = checker->slice_capacity;
    if (!grow((void **)&checker->picture.slices, &checker->slice_capacity, checker->collected.slice_count,
              sizeof *checker->picture.slices))
        return false;
    memset(checker->picture.slices + before, 0, (checker->slice_capacity - before) * sizeof *checker->picture.slices);
    return true;
}

static void collect_slices(struct checker *checker, const struct submitted_buffer *buffer)
{
    struct collected *collected = &checker->collected;
    const struct kind kind = slice_kind(checker);
    collected->slice_buffer_count++;
    if (!usable(checker, buffer, &kind))
        return;
    for (uint32_t i = 0; i < buffer->count; i++) {
        if (collected->slice_count == CHECKS_MAXIMUM_SLICES) {
            collected->slices_ignored = true;
            return;
        }
        if (!grow_slices(checker)) {
            collected->out_of_memory = true;
            return;
        }
        const uint8_t *element = (const uint8_t *)buffer->data + (size_t)i * buffer->size;
        memcpy(&checker->picture.slices[collected->slice_count].parameters, element, kind.structure_size);
        collected->slices[collected->slice_count++].packed = UINT32_MAX;
    }
}

static void collect_packed_parameter(struct checker *checker, const struct submitted_buffer *buffer, bool *waiting)
{
    struct collected *collected = &checker->collected;
    if (*waiting) {
        finding(checker, "packed-parameter-without-data", packed_kind.clause,
                "another packed header parameter buffer follows it");
        collected->header_count--;
    }
    *waiting = false;
    if (!usable(checker, buffer, &packed_kind))
        return;
    expect_one(checker, buffer, &packed_kind);
    if (!grow((void **)&collected->headers, &collected->header_capacity, collected->header_count,
              sizeof *collected->headers)) {
        collected->out_of_memory = true;
        return;
    }
    struct packed_header *header = &collected->headers[collected->header_count++];
    *header = (struct packed_header){.before_slices = collected->slice_count == 0};
    memcpy(&header->parameters, buffer->data, sizeof header->parameters);
    expect_reserved(checker, "packed-parameter-reserved", "va.h VAEncPackedHeaderParameterBuffer.va_reserved",
                    header->parameters.va_reserved, VA_PADDING_LOW);
    *waiting = true;
}

static void collect_packed_data(struct checker *checker, const struct submitted_buffer *buffer, bool *waiting)
{
    struct collected *collected = &checker->collected;
    if (!*waiting) {
        finding(checker, "packed-data-without-parameter", "va.h VAEncPackedHeaderDataBufferType",
                "no packed header parameter buffer came before it");
        return;
    }
    *waiting = false;
    struct packed_header *header = &collected->headers[collected->header_count - 1];
    uint64_t size = (uint64_t)buffer->size * buffer->count, bits = header->parameters.bit_length;
    const char *clause = "va.h VAEncPackedHeaderParameterBuffer.bit_length";
    if (bits == 0)
        finding(checker, "packed-bit-length-zero", clause, "is 0");
    if (bits > size * 8)
        finding(checker, "packed-bit-length-beyond-data", clause, "is %llu, the data have %llu bits",
                (unsigned long long)bits, (unsigned long long)size * 8);
    else if ((bits + 7) / 8 != size)
        finding(checker, "packed-data-beyond-bit-length", clause, "is %llu, the data have %llu bytes",
                (unsigned long long)bits, (unsigned long long)size);
    header->data = buffer->data;
    header->bit_count = buffer->data ? (size_t)(bits < size * 8 ? bits : size * 8) : 0;
    header->size = (header->bit_count + 7) / 8;
}

static void collect_buffer(struct checker *checker, const struct submitted_buffer *buffer, bool *waiting)
{
    switch (buffer->type) {
    case VAEncSequenceParameterBufferType:
        collect_sequence(checker, buffer);
        break;
    case VAEncPictureParameterBufferType:
        collect_picture(checker, buffer);
        break;
    case VAEncSliceParameterBufferType:
        collect_slices(checker, buffer);
        break;
    case VAEncPackedHeaderParameterBufferType:
        collect_packed_parameter(checker, buffer, waiting);
        break;
    case VAEncPackedHeaderDataBufferType:
        collect_packed_data(checker, buffer, waiting);
        break;
    case VAEncMiscParameterBufferType:
        understand_rate(checker, buffer);
        break;
    default:
        finding(checker, "buffer-kind-unexpected", "va.h VABufferType",
                "buffer 0x%x has type %d, which encoding here does not take", buffer->id, (int)buffer->type);
    }
    if (*waiting && buffer->type != VAEncPackedHeaderParameterBufferType) {
        finding(checker, "packed-parameter-without-data", packed_kind.clause,
                "a buffer of type %d follows instead", (int)buffer->type);
        checker->collected.header_count--;
        *waiting = false;
    }
}

/* Gives each slice its packed header: one that came since the slice before, else one that came after all. */
static void match_slices(struct checker *checker)
{
    struct collected *collected = &checker->collected;
    uint32_t slice = 0;
    for (uint32_t i = 0; i < collected->header_count; i++) {
        if (collected->headers[i].parameters.type != VAEncPackedHeaderSlice)
            continue;
        while (slice < collected->slice_count && collected->slices[slice].packed != UINT32_MAX)
            slice++;
        if (slice == collected->slice_count) {
            finding(checker, "packed-slice-surplus", checker->codec->packed_slice,
                    "more packed slice headers than slices (%u)", collected->slice_count);
            return;
        }
        collected->slices[slice].packed = i;
    }
}

void collect_buffers(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    struct understood_rate before = checker->rate;
    bool waiting = false;
    before.changed = before.reset = false;
    checker->rate.changed = checker->rate.reset = false;
    for (uint32_t i = 0; i < submission->buffer_count; i++)
        if (submission->buffers[i].type == VAEncSequenceParameterBufferType)
            collect_buffer(checker, &submission->buffers[i], &waiting);
    if (checker->collected.sequence)
        understand_sequence_rate(checker);
    for (uint32_t i = 0; i < submission->buffer_count; i++)
        if (submission->buffers[i].type != VAEncSequenceParameterBufferType)
            collect_buffer(checker, &submission->buffers[i], &waiting);
    if (waiting) {
        finding(checker, "packed-parameter-without-data", packed_kind.clause, "nothing follows it");
        checker->collected.header_count--;
    }
    match_slices(checker);
    checker->rate.changed = checker->rate.changed || memcmp(&before, &checker->rate, sizeof before) != 0;
    checker->picture.slice_count = checker->collected.slice_count;
}

void forget_collected(struct checker *checker)
{
    struct collected *collected = &checker->collected;
    for (uint32_t i = 0; i < collected->unit_count; i++)
        free(collected->units[i].bytes);
    struct collected kept = {.headers = collected->headers, .header_capacity = collected->header_capacity,
                             .units = collected->units, .unit_capacity = collected->unit_capacity};
    memset(collected, 0, sizeof *collected);
    collected->headers = kept.headers;
    collected->header_capacity = kept.header_capacity;
    collected->units = kept.units;
    collected->unit_capacity = kept.unit_capacity;
}
