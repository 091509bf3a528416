/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packed headers: from the application's bytes to NAL units and parameter sets. */
#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKED_SEI 0x80000001u /* VAEncPackedHeaderH264_SEI, deprecated */

/* The kinds of packed headers: the bit that advertises and configures each, and the unit that it shall hold. */
struct packed_kind {
    uint32_t type, bit;
    const char *word; /* in names of findings */
    uint32_t unit_type;
};

static const struct packed_kind kinds[] = {
    {VAEncPackedHeaderSequence, VA_ENC_PACKED_HEADER_SEQUENCE, "sequence", H264_NAL_SPS},
    {VAEncPackedHeaderPicture, VA_ENC_PACKED_HEADER_PICTURE, "picture", H264_NAL_PPS},
    {VAEncPackedHeaderSlice, VA_ENC_PACKED_HEADER_SLICE, "slice", H264_NAL_SLICE},
    {VAEncPackedHeaderRawData, VA_ENC_PACKED_HEADER_RAW_DATA, "raw", 0},
    {PACKED_SEI, VA_ENC_PACKED_HEADER_MISC, "misc", H264_NAL_SEI},
};

static const struct packed_kind *kind_of(uint32_t type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}

bool packed_kind_taken(const struct checker *checker, uint32_t type)
{
    const struct packed_kind *kind = kind_of(type);
    return kind && (checker->config.limits.packed_headers & kind->bit);
}

bool packed_kind_configured(const struct checker *checker, uint32_t type)
{
    const struct packed_kind *kind = kind_of(type);
    return kind && (checker->config.packed_headers & checker->config.limits.packed_headers & kind->bit);
}

/* Where the next start code (00 00 01) begins, or `size`. */
static size_t next_start_code(const uint8_t *bytes, size_t from, size_t size)
{
    for (size_t i = from; i + 3 <= size; i++)
        if (bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1)
            return i;
    return size;
}

/* Bytes that are there but should be escaped, or escapes that stand before a byte that needs none (7.4.1). */
static void check_escapes(struct checker *checker, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        if (bytes[i] != 0 || bytes[i + 1] != 0)
            continue;
        if (bytes[i + 2] < 3) {
            finding(checker, "packed-escapes-missing", "va.h VAEncPackedHeaderParameterBuffer.has_emulation_bytes",
                    "is 1, but the unit contains 00 00 %02x at byte %zu (H.264 7.4.1)", bytes[i + 2], i);
            return;
        }
        if (bytes[i + 2] == 3 && i + 3 < size && bytes[i + 3] > 3) {
            finding(checker, "packed-escape-unneeded", "H.264 7.4.1", "00 00 03 %02x at byte %zu", bytes[i + 3], i);
            return;
        }
    }
}

/* Adds the unit whose start code begins at `first` and whose header byte is at `nal`, up to `end`. */
static void add_unit(struct checker *checker, uint32_t header_index, size_t first, size_t nal, size_t end)
{
    struct collected *collected = &checker->collected;
    const struct packed_header *header = &collected->headers[header_index];
    bool escaped = header->parameters.has_emulation_bytes;
    uint8_t *bytes = malloc(end - nal + 1);
    if (!bytes || !grow((void **)&collected->units, &collected->unit_capacity, collected->unit_count,
                        sizeof *collected->units)) {
        free(bytes);
        collected->out_of_memory = true;
        return;
    }
    struct packed_unit *unit = &collected->units[collected->unit_count++];
    size_t size = end - nal, kept = size, bits_beyond = end * 8 > header->bit_count ? end * 8 - header->bit_count : 0;
    if (escaped) {
        check_escapes(checker, header->data + nal, size);
        kept = bits_remove_emulation(bytes, header->data + nal, size);
    } else {
        memcpy(bytes, header->data + nal, size);
    }
    *unit = (struct packed_unit){.header = header_index, .first = first, .size = end - first, .bytes = bytes};
    unit->bit_count = kept * 8 > bits_beyond ? kept * 8 - bits_beyond : 0;
    unit->type = unit->bit_count >= 8 ? bytes[0] & 31u : UINT32_MAX;
}

/* Splits a packed header into its NAL units. Without emulation prevention a start code cannot be told from payload:
 * there is one unit then. */
static void split(struct checker *checker, uint32_t index)
{
    struct packed_header *header = &checker->collected.headers[index];
    header->first_unit = checker->collected.unit_count;
    size_t size = header->size, first = 0, code = next_start_code(header->data, 0, size);
    bool zeros = true;
    for (size_t i = 0; i < code; i++)
        zeros = zeros && header->data[i] == 0;
    if (code == size || !zeros) {
        finding(checker, "packed-start-code-missing", "va_enc_h264.h VAEncPackedHeaderTypeH264",
                "the data do not begin with zeros and 00 00 01");
        if (size > 0)
            add_unit(checker, index, 0, 0, size);
    } else if (!header->parameters.has_emulation_bytes) {
        add_unit(checker, index, 0, code + 3, size);
    } else {
        while (code < size) {
            size_t next = next_start_code(header->data, code + 3, size), end = next;
            while (next < size && end > code + 3 && header->data[end - 1] == 0)
                end--;
            add_unit(checker, index, first, code + 3, end);
            first = end;
            code = next;
        }
    }
    header->unit_count = checker->collected.unit_count - header->first_unit;
}

static const char *unit_word(uint32_t type)
{
    switch (type) {
    case H264_NAL_SLICE:
    case H264_NAL_IDR_SLICE: return "slice";
    case H264_NAL_SEI: return "sei";
    case H264_NAL_SPS: return "sps";
    case H264_NAL_PPS: return "pps";
    case H264_NAL_AUD: return "aud";
    default: return "other";
    }
}

/* Whether the units are those that the kind of packed header stands for. */
static void check_units(struct checker *checker, const struct packed_header *header, const struct packed_kind *kind)
{
    uint32_t expected = 0;
    for (uint32_t i = 0; i < header->unit_count; i++) {
        const struct packed_unit *unit = &checker->collected.units[header->first_unit + i];
        uint32_t type = unit->type == H264_NAL_IDR_SLICE ? H264_NAL_SLICE : unit->type;
        if (type == kind->unit_type && ++expected == 1)
            continue;
        if (kind->type == VAEncPackedHeaderRawData && (type == H264_NAL_SEI || type == H264_NAL_AUD ||
                                                       type == H264_NAL_SPS || type == H264_NAL_PPS ||
                                                       type == H264_NAL_FILLER))
            continue;
        char name[64];
        snprintf(name, sizeof name, "packed-%s-holds-%s", kind->word, unit_word(type));
        finding(checker, name, "va_enc_h264.h VAEncPackedHeaderTypeH264", "unit %u of %u has nal_unit_type %d", i,
                header->unit_count, (int)unit->type);
    }
    if (kind->unit_type && !expected) {
        char name[64];
        snprintf(name, sizeof name, "packed-%s-unit-missing", kind->word);
        finding(checker, name, "va_enc_h264.h VAEncPackedHeaderTypeH264", "no unit of nal_unit_type %u in %u units",
                kind->unit_type, header->unit_count);
    }
}

/* A parameter set that is being read: one of the two. */
struct reading {
    struct h264_sps *sps;
    struct h264_pps *pps;
    struct syntax_error error;
    size_t end; /* the bit after the last element */
    bool read, whole; /* whole: trailing bits follow, and nothing else (7.3.2.11) */
};

static void read_set(struct reading *reading, const uint8_t *bytes, size_t bit_count)
{
    reading->read = reading->sps
        ? h264_read_sps(reading->sps, bytes, bit_count, &reading->end, NULL, &reading->error)
        : h264_read_pps(reading->pps, bytes, bit_count, &reading->end, NULL, &reading->error);
    size_t end = reading->end;
    reading->whole = reading->read && bit_count == (end + 8) / 8 * 8 &&
                     (bytes[end / 8] & (0xff >> (end % 8))) == 0x80 >> (end % 8);
}

/* The bytes carry escapes although has_emulation_bytes is 0, when only so they make a whole parameter set. */
static void read_without_escapes(struct checker *checker, struct packed_unit *unit, struct reading *reading)
{
    size_t size = (unit->bit_count + 7) / 8;
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        return;
    size_t removed = (size - bits_remove_emulation(copy, unit->bytes, size)) * 8;
    struct reading other = *reading;
    if (removed && removed <= unit->bit_count)
        read_set(&other, copy, unit->bit_count - removed);
    if (removed && other.whole) {
        finding(checker, "packed-escapes-present", "va.h VAEncPackedHeaderParameterBuffer.has_emulation_bytes",
                "is 0, but the data make a parameter set only when emulation prevention bytes are removed");
        *reading = other;
    } else {
        read_set(reading, unit->bytes, unit->bit_count);
    }
    free(copy);
}

/* Reads the unit into the parameter set that `reading` names; says what is wrong with it. */
static bool take_set(struct checker *checker, struct packed_unit *unit, struct reading *reading)
{
    bool sps = reading->sps != NULL;
    read_set(reading, unit->bytes, unit->bit_count);
    if (!reading->whole && !checker->collected.headers[unit->header].parameters.has_emulation_bytes)
        read_without_escapes(checker, unit, reading);
    if (!reading->read)
        finding(checker, sps ? "packed-sps-unreadable" : "packed-pps-unreadable",
                sps ? "H.264 7.4.2.1.1" : "H.264 7.4.2.2", "%s at bit %zu %s", reading->error.element,
                reading->error.bit, reading->error.reason);
    else if (!reading->whole)
        finding(checker, sps ? "packed-sps-trailing-bits" : "packed-pps-trailing-bits", "H.264 7.3.2.11",
                "elements end at bit %zu, the unit has %zu bits", reading->end, unit->bit_count);
    return reading->read;
}

static void take_sps(struct checker *checker, struct packed_unit *unit)
{
    struct reading reading = {.sps = malloc(sizeof *reading.sps)};
    if (!reading.sps) {
        checker->collected.out_of_memory = true;
    } else if (!take_set(checker, unit, &reading)) {
        free(reading.sps);
    } else {
        uint32_t id = reading.sps->seq_parameter_set_id;
        replace_sps(checker, id, reading.sps);
        checker->sps_sent_now[id] = true;
    }
}

static void take_pps(struct checker *checker, struct packed_unit *unit)
{
    struct reading reading = {.pps = malloc(sizeof *reading.pps)};
    if (!reading.pps) {
        checker->collected.out_of_memory = true;
    } else if (!take_set(checker, unit, &reading)) {
        free(reading.pps);
    } else {
        uint32_t id = reading.pps->pic_parameter_set_id;
        replace_pps(checker, id, reading.pps);
        checker->pps_sent_now[id] = true;
    }
}

/* Whether the driver takes this kind at all, and whether the config asked for it. */
static void check_kind(struct checker *checker, struct packed_header *header, const struct packed_kind *kind)
{
    char name[64];
    if (!packed_kind_taken(checker, kind->type)) {
        snprintf(name, sizeof name, "packed-%s-not-advertised", kind->word);
        finding(checker, name, "va.h VAConfigAttribEncPackedHeaders", "the driver advertises 0x%x",
                checker->config.limits.packed_headers);
    } else if (!packed_kind_configured(checker, kind->type)) {
        snprintf(name, sizeof name, "packed-%s-not-configured", kind->word);
        finding(checker, name, "va.h VAConfigAttribEncPackedHeaders", "the config asked for 0x%x",
                checker->config.packed_headers);
    }
    if (header->parameters.has_emulation_bytes > 1)
        finding(checker, "packed-emulation-flag", "va.h VAEncPackedHeaderParameterBuffer.has_emulation_bytes",
                "given %u, allowed are 0 and 1", header->parameters.has_emulation_bytes);
    if (kind->type != VAEncPackedHeaderSlice && header->bit_count % 8)
        finding(checker, "packed-bit-length-fraction", "va.h VAEncPackedHeaderParameterBuffer.bit_length",
                "is %zu, but whole NAL units have whole bytes", header->bit_count);
}

void read_packed_headers(struct checker *checker)
{
    struct collected *collected = &checker->collected;
    for (uint32_t i = 0; i < collected->header_count; i++) {
        struct packed_header *header = &collected->headers[i];
        const struct packed_kind *kind = kind_of(header->parameters.type);
        if (!kind) {
            finding(checker, "packed-type-unknown", "va.h VAEncPackedHeaderType", "type 0x%x",
                    header->parameters.type);
            continue;
        }
        header->taken = packed_kind_taken(checker, kind->type);
        check_kind(checker, header, kind);
        split(checker, i);
        check_units(checker, header, kind);
        for (uint32_t k = 0; header->taken && k < header->unit_count; k++) {
            struct packed_unit *unit = &collected->units[header->first_unit + k];
            if (unit->type == H264_NAL_SPS)
                take_sps(checker, unit);
            else if (unit->type == H264_NAL_PPS)
                take_pps(checker, unit);
        }
    }
}
