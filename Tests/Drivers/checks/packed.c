/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packed headers: from the application's bytes to NAL units and parameter sets. */
#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKED_SEI 0x80000001u /* VAEncPackedHeaderH264_SEI and ..HEVC_SEI, deprecated */

/* The kinds of packed headers: the bit that advertises and configures each, and the units that it shall hold. */
struct packed_kind {
    uint32_t type, bit;
    const char *word; /* in names of findings */
    uint32_t classes; /* bit n: units of the class n, each at most once */
    bool repeats;     /* any number of units */
};

static const struct packed_kind kinds[] = {
    {VAEncPackedHeaderSequence, VA_ENC_PACKED_HEADER_SEQUENCE, "sequence", 1 << UNIT_VPS | 1 << UNIT_SPS, false},
    {VAEncPackedHeaderPicture, VA_ENC_PACKED_HEADER_PICTURE, "picture", 1 << UNIT_PPS, false},
    {VAEncPackedHeaderSlice, VA_ENC_PACKED_HEADER_SLICE, "slice", 1 << UNIT_SLICE, false},
    {VAEncPackedHeaderRawData, VA_ENC_PACKED_HEADER_RAW_DATA, "raw",
     1 << UNIT_SEI | 1 << UNIT_AUD | 1 << UNIT_VPS | 1 << UNIT_SPS | 1 << UNIT_PPS | 1 << UNIT_FILLER, true},
    {PACKED_SEI, VA_ENC_PACKED_HEADER_MISC, "misc", 1 << UNIT_SEI, false},
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

/* Bytes that are there but should be escaped, or escapes that stand before a byte that needs none. */
static void check_escapes(struct checker *checker, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        if (bytes[i] != 0 || bytes[i + 1] != 0)
            continue;
        if (bytes[i + 2] < 3) {
            finding(checker, "packed-escapes-missing", "va.h VAEncPackedHeaderParameterBuffer.has_emulation_bytes",
                    "is 1, but the unit contains 00 00 %02x at byte %zu (%s)", bytes[i + 2], i,
                    checker->codec->escapes);
            return;
        }
        if (bytes[i + 2] == 3 && i + 3 < size && bytes[i + 3] > 3) {
            finding(checker, "packed-escape-unneeded", checker->codec->escapes, "00 00 03 %02x at byte %zu",
                    bytes[i + 3], i);
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
    bool headed = unit->bit_count >= checker->codec->unit_header_bits;
    unit->type = headed ? checker->codec->unit_type(bytes) : UINT32_MAX;
    unit->class = unit->type == UINT32_MAX ? UNIT_OTHER : checker->codec->unit_class(unit->type);
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
        finding(checker, "packed-start-code-missing", checker->codec->packed_types,
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

static const char *unit_word(enum unit_class class)
{
    static const char *const words[] = {
        [UNIT_VPS] = "vps", [UNIT_SPS] = "sps", [UNIT_PPS] = "pps",       [UNIT_SLICE] = "slice",
        [UNIT_SEI] = "sei", [UNIT_AUD] = "aud", [UNIT_FILLER] = "filler", [UNIT_OTHER] = "other",
    };
    return words[class];
}

/* Whether the units are those that the kind of packed header stands for. */
static void check_units(struct checker *checker, const struct packed_header *header, const struct packed_kind *kind)
{
    uint32_t found = 0;
    char name[64];
    for (uint32_t i = 0; i < header->unit_count; i++) {
        const struct packed_unit *unit = &checker->collected.units[header->first_unit + i];
        uint32_t bit = 1u << unit->class;
        if (kind->classes & bit && (kind->repeats || !(found & bit))) {
            found |= bit;
            continue;
        }
        snprintf(name, sizeof name, "packed-%s-holds-%s", kind->word, unit_word(unit->class));
        finding(checker, name, checker->codec->packed_types, "unit %u of %u has nal_unit_type %d", i,
                header->unit_count, (int)unit->type);
    }
    if (!kind->repeats && !found) {
        snprintf(name, sizeof name, "packed-%s-unit-missing", kind->word);
        finding(checker, name, checker->codec->packed_types, "no unit of the kind in %u units", header->unit_count);
    }
}

/* A parameter set that is being read. */
struct reading {
    enum set_kind kind;
    void *set;
    struct syntax_error error;
    size_t end; /* the bit after the last element */
    bool read, whole; /* whole: trailing bits follow, and nothing else */
};

static void read_set(const struct checker *checker, struct reading *reading, const uint8_t *bytes, size_t bit_count)
{
    reading->read =
        checker->codec->sets[reading->kind].read(reading->set, bytes, bit_count, &reading->end, &reading->error);
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
        read_set(checker, &other, copy, unit->bit_count - removed);
    if (removed && other.whole) {
        finding(checker, "packed-escapes-present", "va.h VAEncPackedHeaderParameterBuffer.has_emulation_bytes",
                "is 0, but the data make a parameter set only when emulation prevention bytes are removed");
        *reading = other;
    } else {
        read_set(checker, reading, unit->bytes, unit->bit_count);
    }
    free(copy);
}

/* Reads the unit into the parameter set that `reading` names; says what is wrong with it. */
static bool take_set(struct checker *checker, struct packed_unit *unit, struct reading *reading)
{
    const struct codec_sets *sets = &checker->codec->sets[reading->kind];
    char name[64];
    read_set(checker, reading, unit->bytes, unit->bit_count);
    if (!reading->whole && !checker->collected.headers[unit->header].parameters.has_emulation_bytes)
        read_without_escapes(checker, unit, reading);
    snprintf(name, sizeof name, "packed-%s-%s", sets->word, reading->read ? "trailing-bits" : "unreadable");
    if (!reading->read)
        finding(checker, name, sets->clause, "%s at bit %zu %s", reading->error.element, reading->error.bit,
                reading->error.reason);
    else if (!reading->whole)
        finding(checker, name, checker->codec->trailing_bits, "elements end at bit %zu, the unit has %zu bits",
                reading->end, unit->bit_count);
    return reading->read;
}

static void take_unit(struct checker *checker, struct packed_unit *unit, enum set_kind kind)
{
    const struct codec_sets *sets = &checker->codec->sets[kind];
    struct reading reading = {.kind = kind, .set = malloc(sets->size)};
    if (!reading.set) {
        checker->collected.out_of_memory = true;
    } else if (!take_set(checker, unit, &reading)) {
        free(reading.set);
    } else {
        uint32_t id = sets->id(reading.set);
        replace_set(checker, kind, id, reading.set);
        checker->set_sent_now[kind][id] = true;
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
            if (unit->class <= UNIT_PPS)
                take_unit(checker, unit, (enum set_kind)unit->class);
        }
    }
}
