/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of bits, Exp-Golomb codes, and the framing of NAL units, which H.264 and HEVC share. */
#ifndef DRIVERS_COMMON_BITS_H
#define DRIVERS_COMMON_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing string of bits, most significant first. Zero-initialised is empty. */
struct bits {
    uint8_t *bytes; /* owned; released by bits_release */
    size_t count;   /* in bits; the rest of the last byte is zero */
    size_t capacity;
    bool failed; /* memory ran out; later writes are ignored */
};

void bits_put(struct bits *bits, uint32_t value, unsigned count); /* count 0 to 32 */
void bits_put_ue(struct bits *bits, uint32_t value);              /* H.264 9.1, H.265 9.2; value below 2^32 - 1 */
void bits_put_se(struct bits *bits, int32_t value);
void bits_append(struct bits *bits, const uint8_t *bytes, size_t first_bit, size_t bit_count);
void bits_trail(struct bits *bits); /* a one, then zeros to the byte's end */
void bits_release(struct bits *bits);

/* Appends one NAL unit to `out` (byte-aligned): a 4-byte start code, then `nal` (NAL unit header and RBSP, whole
 * bytes) with emulation prevention (H.264 7.4.1, H.265 7.4.2). */
void bits_frame_nal_unit(struct bits *out, const struct bits *nal);

/* Copies bytes without emulation prevention bytes; returns how many were written. `out` may be `bytes`. */
size_t bits_remove_emulation(uint8_t *out, const uint8_t *bytes, size_t size);

#endif
