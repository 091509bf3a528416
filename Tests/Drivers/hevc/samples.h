/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One component's samples in memory, planar or packed with others. */
#ifndef DRIVERS_HEVC_SAMPLES_H
#define DRIVERS_HEVC_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* Each sample lies in a little-endian word of 1, 2 or 4 bytes, `shift` bits from its lowest end. What else a word of
 * 4 bytes holds belongs to other components; the lower bits of a word of 2 bytes are padding, written as zeros. */
struct hevc_samples {
    uint8_t *first; /* the word of the sample at 0,0 */
    size_t pitch;   /* bytes from one row to the next */
    uint8_t step;   /* bytes from one sample of a row to the next */
    uint8_t bytes;
    uint8_t shift;
};

static inline uint8_t *hevc_sample_at(const struct hevc_samples *samples, uint32_t x, uint32_t y)
{
    return samples->first + y * samples->pitch + (size_t)x * samples->step;
}

static inline unsigned hevc_sample_get(const struct hevc_samples *samples, unsigned depth, const uint8_t *at)
{
    if (samples->bytes == 1)
        return at[0];
    if (samples->bytes == 2)
        return (unsigned)(at[0] | at[1] << 8) >> samples->shift;
    uint32_t word = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return word >> samples->shift & ((1u << depth) - 1);
}

static inline void hevc_sample_put(const struct hevc_samples *samples, unsigned depth, uint8_t *at, unsigned value)
{
    if (samples->bytes == 1) {
        at[0] = (uint8_t)value;
    } else if (samples->bytes == 2) {
        at[0] = (uint8_t)(value << samples->shift);
        at[1] = (uint8_t)(value << samples->shift >> 8);
    } else {
        uint32_t word = value << samples->shift, mask = ((1u << depth) - 1) << samples->shift;
        for (unsigned byte = 0; byte < 4; byte++, word >>= 8, mask >>= 8)
            at[byte] = (uint8_t)((at[byte] & ~mask) | (word & 0xff));
    }
}

#endif
