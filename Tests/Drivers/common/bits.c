/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of bits, Exp-Golomb codes, and the framing of NAL units. */
#include "bits.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for `count` more bits and keeps what lies beyond the end zero. */
static bool reserve(struct bits *bits, size_t count)
{
    if (bits->failed)
        return false;
    if (count > SIZE_MAX / 2 - bits->count) {
        bits->failed = true;
        return false;
    }
    size_t needed = (bits->count + count + 7) / 8;
    if (needed <= bits->capacity)
        return true;
    size_t capacity = bits->capacity ? bits->capacity * 2 : 256;
    if (capacity < needed)
        capacity = needed;
    uint8_t *bytes = realloc(bits->bytes, capacity);
    if (!bytes) {
        bits->failed = true;
        return false;
    }
    memset(bytes + bits->capacity, 0, capacity - bits->capacity);
    bits->bytes = bytes;
    bits->capacity = capacity;
    return true;
}

/* As bits_put, where room was made already. */
static void put_reserved(struct bits *bits, uint32_t value, unsigned count)
{
    while (count > 0) {
        unsigned used = bits->count & 7;
        unsigned now = 8 - used < count ? 8 - used : count;
        uint32_t part = (value >> (count - now)) & ((1u << now) - 1);
        uint8_t *byte = &bits->bytes[bits->count >> 3];
        /* A buffer emptied by setting its count to 0 may hold old bits behind its end. */
        if (used == 0)
            *byte = 0;
        *byte |= (uint8_t)(part << (8 - used - now));
        bits->count += now;
        count -= now;
    }
}

void bits_put(struct bits *bits, uint32_t value, unsigned count)
{
    if (reserve(bits, count))
        put_reserved(bits, value, count);
}

void bits_put_ue(struct bits *bits, uint32_t value)
{
    uint32_t code = value + 1;
    unsigned length = 32 - (unsigned)__builtin_clz(code | 1);
    bits_put(bits, 0, length - 1);
    bits_put(bits, code, length);
}

void bits_put_se(struct bits *bits, int32_t value)
{
    int64_t wide = value;
    bits_put_ue(bits, (uint32_t)(wide > 0 ? 2 * wide - 1 : -2 * wide));
}

void bits_append(struct bits *bits, const uint8_t *bytes, size_t first_bit, size_t bit_count)
{
    if (!reserve(bits, bit_count))
        return;
    if (bits->count % 8 == 0 && first_bit % 8 == 0) {
        size_t whole = bit_count / 8;
        if (whole)
            memcpy(bits->bytes + bits->count / 8, bytes + first_bit / 8, whole);
        bits->count += whole * 8;
        first_bit += whole * 8;
        bit_count -= whole * 8;
    }
    while (bit_count > 0) {
        unsigned available = 8 - (first_bit & 7);
        unsigned now = available < bit_count ? available : (unsigned)bit_count;
        uint32_t part = bytes[first_bit >> 3] >> (available - now) & ((1u << now) - 1);
        put_reserved(bits, part, now);
        first_bit += now;
        bit_count -= now;
    }
}

void bits_trail(struct bits *bits)
{
    bits_put(bits, 1, 1);
    bits_put(bits, 0, (8 - (bits->count & 7)) & 7);
}

void bits_release(struct bits *bits)
{
    free(bits->bytes);
    *bits = (struct bits){0};
}

/* H.264 Annex B and 7.4.1. */
void bits_frame_nal_unit(struct bits *out, const struct bits *nal)
{
    size_t size = nal->count / 8, zeros = 0;
    if (nal->failed)
        out->failed = true;
    /* At most one byte in two is an escape. */
    if (!reserve(out, (4 + size + size / 2 + 1) * 8))
        return;
    put_reserved(out, 1, 32);
    for (size_t index = 0; index < size; index++) {
        uint8_t byte = nal->bytes[index];
        if (zeros == 2 && byte <= 3) {
            put_reserved(out, 3, 8);
            zeros = 0;
        }
        put_reserved(out, byte, 8);
        zeros = byte ? 0 : zeros + 1;
    }
    if (size && nal->bytes[size - 1] == 0)
        put_reserved(out, 3, 8);
}

size_t bits_remove_emulation(uint8_t *out, const uint8_t *bytes, size_t size)
{
    size_t written = 0, zeros = 0;
    for (size_t index = 0; index < size; index++) {
        uint8_t byte = bytes[index];
        if (zeros >= 2 && byte == 3) {
            zeros = 0;
            continue;
        }
        out[written++] = byte;
        zeros = byte ? 0 : zeros + 1;
    }
    return written;
}
