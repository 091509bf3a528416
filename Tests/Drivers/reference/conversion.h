/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arithmetic of VideoProc, on memory alone. All of it is in integers and written down here, so that whoever
 * repeats it gets the same samples.
 *
 * 1. Source. Components are on a scale of 16 bits: samples of 8 bits times 256, those of 10 bits times 64. Chroma that
 *    the source has for several pixels belongs to each of them. Where the format has alpha, red, green and blue become
 *    round((alpha * component + (255 - alpha) * background) / 255).
 * 2. Size, columns and rows alike. Where the region becomes smaller or keeps its size, a pixel is the mean of the
 *    source pixels that it covers, in parts where it covers parts. Where it becomes larger, it is the mean of the two
 *    source pixels whose centres lie around its own, weighed by nearness; at the edges the last one counts for both. Both
 *    directions are weighed with exact fractions and rounded once: round(sum of weight * component / sum of weights).
 * 3. Colour. With Kr, Kg, Kb in ten-thousandths (BT.601 2990, 5870, 1140; BT.709 2126, 7152, 722; BT.2020 2627, 6780,
 *    593) and W = 65280: of limited range luma starts at 4096 and spans 56064, chroma spans 57344; of full range luma
 *    starts at 0, and both span 65280 (65472 with 10 bits). The centre of chroma is 32768.
 *      from YCbCr: Y' = round((Y - start) * W / span)
 *                  R = Y' + round(2 * (10000 - Kr) * (Cr - centre) * W / (10000 * chroma span))
 *                  B = Y' + round(2 * (10000 - Kb) * (Cb - centre) * W / (10000 * chroma span))
 *                  G = round((10000 * Y' - Kr * R - Kb * B) / Kg)
 *      to YCbCr:   L = Kr * R + Kg * G + Kb * B
 *                  Y = start + round(L * span / (10000 * W))
 *                  Cb = centre + round((10000 * B - L) * chroma span / (2 * (10000 - Kb) * W)), Cr with R and Kr
 *    Nothing is clipped on the way. Where matrix, starts and spans are equal on both sides, components stay
 *    as they are.
 * 4. Target. Pixels outside the region are the background, 0xAARRGGBB without its alpha. A chroma sample is
 *    round(sum / count) of the pixels that it belongs to. Samples become round(component / 256), or / 64 with 10 bits,
 *    clipped to what 8 or 10 bits hold.
 *
 * round(x) is the integer next to x, the greater one of two. */
#ifndef DRIVERS_REFERENCE_CONVERSION_H
#define DRIVERS_REFERENCE_CONVERSION_H

#include "pixels.h"

struct conversion_picture {
    const struct pixel_format *format;
    uint8_t *planes[2];
    uint32_t pitches[2];
    uint32_t width, height;
};

struct conversion_region {
    uint32_t x, y, width, height;
};

enum conversion_matrix { MATRIX_RGB, MATRIX_BT601, MATRIX_BT709, MATRIX_BT2020 };

struct conversion_colour {
    enum conversion_matrix matrix; /* MATRIX_RGB for the formats of RGB, and for no other */
    bool full_range;
};

struct conversion {
    struct conversion_picture source, target; /* the target is NV12 or P010 */
    struct conversion_region from, to;        /* within the pictures, not empty */
    struct conversion_colour source_colour, target_colour;
    uint32_t background;
};

/* Whether the format has red, green and blue. */
bool conversion_is_rgb(const struct pixel_format *format);

/* Writes the whole target. False: out of memory, and the target is as it was in part. */
bool conversion_run(const struct conversion *conversion);

#endif
