/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture as it goes into the stream: what stands before its slices; and whether it can be coded at all. */
#include "checker.h"

#include <string.h>

/* Appends a packed unit as it shall stand in the stream. */
static void append_unit(struct checker *checker, struct bits *out, const struct packed_unit *unit)
{
    const struct packed_header *header = &checker->collected.headers[unit->header];
    static const uint8_t start_code[] = {0, 0, 1};
    if (header->parameters.has_emulation_bytes) {
        const uint8_t *bytes = header->data + unit->first;
        bool coded = false;
        for (size_t i = 0; i + 3 <= unit->size && !coded && !(i && bytes[i - 1]); i++)
            coded = memcmp(bytes + i, start_code, 3) == 0;
        if (!coded)
            bits_append(out, start_code, 0, 24);
        bits_append(out, bytes, 0, unit->size * 8);
    } else {
        struct bits nal = {.bytes = unit->bytes, .count = (unit->bit_count + 7) / 8 * 8};
        bits_frame_nal_unit(out, &nal);
    }
}

const struct packed_unit *slice_unit(const struct checker *checker, uint32_t slice)
{
    const struct collected *collected = &checker->collected;
    uint32_t packed = collected->slices[slice].packed;
    if (packed == UINT32_MAX || !collected->headers[packed].taken)
        return NULL;
    const struct packed_header *header = &collected->headers[packed];
    for (uint32_t i = 0; i < header->unit_count; i++) {
        const struct packed_unit *unit = &collected->units[header->first_unit + i];
        if (unit->class == UNIT_SLICE)
            return unit;
    }
    return NULL;
}

bool take_slice_header(struct checker *checker, uint32_t slice, const struct packed_unit *unit, size_t end)
{
    struct bits *nal = &checker->picture.slices[slice].nal;
    bits_append(nal, unit->bytes, 0, end);
    return !nal->failed;
}

void require_buffers(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    if (collected->out_of_memory)
        refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
    if (!checker->have_sequence)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "no sequence parameters came, now or before");
    if (!collected->picture)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "no picture parameters");
    if (collected->slice_count == 0)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "no slice parameters");
    if (collected->slices_ignored)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "more than %d slices", CHECKS_MAXIMUM_SLICES);
}

void require_coverage(struct checker *checker)
{
    const struct understood_picture *picture = &checker->picture;
    uint64_t next = 0, total = (uint64_t)picture->columns * picture->rows;
    for (uint32_t i = 0; i < picture->slice_count; i++) {
        const struct understood_slice *slice = &picture->slices[i];
        if (slice->first_block != next || slice->block_count == 0 || slice->block_count > total - next) {
            refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER,
                           "slice %u has blocks from %u on, %u of them; expected from %llu on, up to %llu", i,
                           slice->first_block, slice->block_count, (unsigned long long)next,
                           (unsigned long long)total);
            return;
        }
        next += slice->block_count;
    }
    if (next != total)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the slices have %llu blocks, the picture %llu",
                       (unsigned long long)next, (unsigned long long)total);
}

void require_reference(struct checker *checker, uint32_t slice, uint32_t list, uint32_t entry)
{
    VASurfaceID id = checker->picture.slices[slice].references[list][entry].surface;
    if (!checker->submission->surface(checker->submission->token, id).valid)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_SURFACE,
                       "entry %u of list %u of slice %u is surface 0x%x, which does not exist", entry, list, slice, id);
}

void require_surfaces(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    const struct understood_picture *picture = &checker->picture;
    uint32_t id = picture->reconstruction;
    struct submitted_surface reconstruction = submission->surface(submission->token, id);
    const struct persona_limits *limits = &checker->config.limits;
    uint32_t columns = limits->width_alignment > 16 ? limits->width_alignment : 16;
    uint32_t rows = limits->height_alignment > 16 ? limits->height_alignment : 16;
    uint32_t width = (submission->context_width + columns - 1) / columns * columns;
    uint32_t height = (submission->context_height + rows - 1) / rows * rows;
    if (!submission->input.valid)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_SURFACE, "input surface 0x%x does not exist",
                       submission->input.id);
    if (!reconstruction.valid)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_SURFACE, "the reconstruction 0x%x is no surface", id);
    if (reconstruction.valid && id == submission->input.id)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_SURFACE, "surface 0x%x is input and reconstruction", id);
    if (submission->coded_buffer_size(submission->token, picture->coded_buffer) == 0)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_BUFFER, "coded_buf 0x%x is no coded buffer",
                       picture->coded_buffer);
    if (picture->width > width || picture->height > height)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the SPS has %u x %u samples, the context %u x %u",
                       picture->width, picture->height, submission->context_width, submission->context_height);
}

/* Whether a packed set of a kind before `kind` comes among the units from the one with the index on. */
static bool earlier_set_follows(const struct checker *checker, uint32_t from, enum set_kind kind)
{
    const struct collected *collected = &checker->collected;
    for (uint32_t i = from; i < collected->unit_count; i++)
        if ((unsigned)collected->units[i].class < (unsigned)kind &&
            collected->headers[collected->units[i].header].taken)
            return true;
    return false;
}

/* Own parameter sets stand behind a leading access unit delimiter, and behind packed ones that they refer to. */
void assemble_stream(struct checker *checker)
{
    struct collected *collected = &checker->collected;
    struct bits *headers = &checker->picture.headers, *out = headers;
    bool pending[SET_KINDS];
    uint32_t slice = 0;
    memcpy(pending, checker->sends_own, sizeof pending);
    for (uint32_t i = 0; i <= collected->unit_count; i++) {
        const struct packed_unit *unit = i < collected->unit_count ? &collected->units[i] : NULL;
        if (unit && !collected->headers[unit->header].taken)
            continue;
        for (unsigned kind = 0; kind < SET_KINDS && (!unit || unit->class != UNIT_AUD); kind++) {
            if (!pending[kind] || (out == headers && earlier_set_follows(checker, i, (enum set_kind)kind)))
                continue;
            bits_append(headers, checker->own[kind].bytes, 0, checker->own[kind].count);
            pending[kind] = false;
        }
        if (unit && unit->class == UNIT_SLICE) {
            if (slice < collected->slice_count)
                slice++;
            out = slice < collected->slice_count ? &checker->prefixes[slice] : NULL;
        } else if (unit && out) {
            append_unit(checker, out, unit);
        }
    }
    for (uint32_t i = 1; i < collected->slice_count; i++)
        checker->picture.slices[i].prefix = checker->prefixes[i].count ? &checker->prefixes[i] : NULL;
}
