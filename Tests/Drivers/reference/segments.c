/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "segments.h"

#include "../common/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PIECES 16u

/* Between pieces: the start code of a unit, for clients that read on. */
static const uint8_t trap[] = {0xff, 0, 0, 0, 1, 0x65, 0xff, 0xff};

bool segments_read(enum segmentation *segmentation, uint64_t *seed, char *problem, size_t size)
{
    static const char *const names[] = {"one", "units", "bare-units", "random", "mixed"};
    const char *text = environment_text("REFERENCE_DRIVER_SEGMENTS"), *number = environment_text("REFERENCE_DRIVER_SEED");
    *segmentation = SEGMENTS_ONE;
    *seed = 0;
    if (number)
        environment_number(number, UINT32_MAX, seed); /* faults.c says what is wrong with it */
    if (!text)
        return true;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(text, names[i]) == 0) {
            *segmentation = (enum segmentation)i;
            return true;
        }
    snprintf(problem, size, "REFERENCE_DRIVER_SEGMENTS is \"%s\"; known are one, units, bare-units, random, mixed", text);
    return false;
}

/* SplitMix64. */
static uint64_t next_number(uint64_t *state)
{
    uint64_t value = *state += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

struct piece {
    uint32_t start, end; /* in the whole picture */
    bool single;
};

struct pieces {
    struct piece *all;
    uint32_t count, capacity;
    bool failed; /* for want of memory */
};

static void add_piece(struct pieces *pieces, uint32_t start, uint32_t end, bool single)
{
    if (pieces->count == pieces->capacity) {
        uint32_t capacity = pieces->capacity ? 2 * pieces->capacity : 64;
        struct piece *all = realloc(pieces->all, capacity * sizeof(*all));
        if (!all) {
            pieces->failed = true;
            return;
        }
        pieces->all = all;
        pieces->capacity = capacity;
    }
    pieces->all[pieces->count++] = (struct piece){start, end, single};
}

/* Where the start code at or after `from` begins, its zero_byte included (H.264 B.1.1), or `size`; and where its unit
 * begins. */
static uint32_t find_start_code(const uint8_t *bytes, uint32_t from, uint32_t size, uint32_t *unit)
{
    for (uint32_t i = from; i + 3 <= size; i++)
        if (bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1) {
            *unit = i + 3;
            return i > from && bytes[i - 1] == 0 ? i - 1 : i;
        }
    *unit = size;
    return size;
}

static int ascending(const void *first, const void *second)
{
    uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;
    return a < b ? -1 : a > b;
}

/* Pieces of a part of the picture that may end anywhere: half of the ends are in the first bytes of the part or the
 * neighbourhood of a start code, where parsers err. */
static void add_random(struct pieces *pieces, const uint8_t *bytes, uint32_t start, uint32_t end, uint64_t *random)
{
    uint32_t cuts[MOST_PIECES], count = (uint32_t)(next_number(random) % MOST_PIECES);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = start + (uint32_t)(next_number(random) % (end - start + 1));
        if (next_number(random) % 2) {
            uint32_t unit, code = find_start_code(bytes, i % 2 ? at : start, end, &unit);
            at = code + (uint32_t)(next_number(random) % 7);
        }
        cuts[i] = at < end ? at : end;
    }
    qsort(cuts, count, sizeof(cuts[0]), ascending);
    for (uint32_t i = 0; i < count; i++) {
        add_piece(pieces, start, cuts[i], false);
        start = cuts[i];
    }
    add_piece(pieces, start, end, false);
}

static void divide_at_units(struct pieces *pieces, enum segmentation segmentation, const uint8_t *bytes, uint32_t size,
                            uint64_t *random)
{
    uint32_t unit, code = find_start_code(bytes, 0, size, &unit), stream = 0;
    if (code > 0) { /* zeros before the first start code, or no unit at all */
        add_piece(pieces, 0, code, false);
        stream = code;
    }
    while (code < size) {
        uint32_t following, end = find_start_code(bytes, unit, size, &following);
        bool single = segmentation != SEGMENTS_MIXED || next_number(random) % 3 == 0;
        bool bare = segmentation == SEGMENTS_BARE_UNITS || (segmentation == SEGMENTS_MIXED && next_number(random) % 2);
        if (single) {
            if (stream < code)
                add_random(pieces, bytes, stream, code, random);
            add_piece(pieces, bare ? unit : code, end, true);
            stream = end;
        }
        code = end;
        unit = following;
    }
    if (stream < size)
        add_random(pieces, bytes, stream, size, random);
}

/* One block of memory: the list, then the bytes of the pieces, last piece first. */
static VACodedBufferSegment *lay_out(const struct pieces *pieces, const VACodedBufferSegment *whole)
{
    size_t list = pieces->count * sizeof(VACodedBufferSegment), bytes = 0;
    for (uint32_t i = 0; i < pieces->count; i++)
        bytes += pieces->all[i].end - pieces->all[i].start + sizeof(trap);
    VACodedBufferSegment *segments = malloc(list + bytes);
    if (!segments)
        return NULL;
    uint8_t *place = (uint8_t *)segments + list;
    for (uint32_t i = pieces->count; i-- > 0;) {
        const struct piece *piece = &pieces->all[i];
        uint32_t size = piece->end - piece->start;
        memcpy(place, (const uint8_t *)whole->buf + piece->start, size);
        memcpy(place + size, trap, sizeof(trap));
        segments[i] = (VACodedBufferSegment){
            .size = size,
            .status = (i == 0 ? whole->status : 0) | (piece->single ? VA_CODED_BUF_STATUS_SINGLE_NALU : 0),
            .buf = place,
            .next = i + 1 < pieces->count ? &segments[i + 1] : NULL,
        };
        place += size + sizeof(trap);
    }
    return segments;
}

VACodedBufferSegment *segments_make(enum segmentation segmentation, uint64_t seed, struct journal_place place,
                                    const VACodedBufferSegment *whole)
{
    struct pieces pieces = {0};
    uint64_t random = seed << 32 ^ (uint64_t)place.context << 16 ^ place.picture;
    if (segmentation == SEGMENTS_ONE || whole->size == 0)
        return NULL;
    if (segmentation == SEGMENTS_RANDOM)
        add_random(&pieces, whole->buf, 0, whole->size, &random);
    else
        divide_at_units(&pieces, segmentation, whole->buf, whole->size, &random);
    VACodedBufferSegment *segments = pieces.failed ? NULL : lay_out(&pieces, whole);
    if (segments)
        journal_event("segments", "\"context\":%u,\"picture\":%u,\"count\":%u", place.context, place.picture,
                      pieces.count);
    free(pieces.all);
    return segments;
}
