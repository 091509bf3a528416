// SPDX-License-Identifier: GPL-2.0-or-later
//
// Structural similarity, after Wang, Bovik, Sheikh and Simoncelli (IEEE Trans. Image Processing 13, 2004), over windows
// of 8x8 samples at a distance of 4 samples, with equal weights: the variant that x264 and FFmpeg use.
//
// The sums over blocks of 4x4 samples are computed once and used by the four windows that share a block.

#include "CPixelKernels.h"
#include "multiversion.h"

#include <stdlib.h>

enum { BLOCK = 4, WINDOW_SAMPLES = 64 };

/// The sums of a block of 4x4 samples. With 10 bits, no sum of four blocks exceeds 32 bits.
struct block_sums {
    uint32_t first, second;
    /// The sum of the squares of both samples.
    uint32_t squares;
    uint32_t products;
};

INLINE uint32_t sample_at(const void *row, ptrdiff_t index, int is_wide) {
    return is_wide ? ((const uint16_t *)row)[index] : ((const uint8_t *)row)[index];
}

INLINE const void *row_of(const void *plane, ptrdiff_t stride, ptrdiff_t row) {
    return (const uint8_t *)plane + stride * row;
}

INLINE void sum_blocks(const struct pixel_kernel_plane_pair *pair, ptrdiff_t y, ptrdiff_t count,
                       struct block_sums *restrict sums, int is_wide) {
    for (ptrdiff_t block = 0; block < count; block++) sums[block] = (struct block_sums){0, 0, 0, 0};
    for (ptrdiff_t line = y; line < y + BLOCK; line++) {
        const void *first = row_of(pair->first, pair->first_stride, line);
        const void *second = row_of(pair->second, pair->second_stride, line);
        for (ptrdiff_t block = 0; block < count; block++) {
            struct block_sums sum = sums[block];
            for (ptrdiff_t x = block * BLOCK; x < (block + 1) * BLOCK; x++) {
                uint32_t a = sample_at(first, x, is_wide), b = sample_at(second, x, is_wide);
                sum.first += a;
                sum.second += b;
                sum.squares += a * a + b * b;
                sum.products += a * b;
            }
            sums[block] = sum;
        }
    }
}

INLINE double window(const struct block_sums *above, const struct block_sums *below, double c1, double c2) {
    double first = (double)above[0].first + above[1].first + below[0].first + below[1].first;
    double second = (double)above[0].second + above[1].second + below[0].second + below[1].second;
    double squares = (double)above[0].squares + above[1].squares + below[0].squares + below[1].squares;
    double products = (double)above[0].products + above[1].products + below[0].products + below[1].products;
    double means = first * second, mean_squares = first * first + second * second;
    double variances = squares * WINDOW_SAMPLES - mean_squares;
    double covariance = products * WINDOW_SAMPLES - means;
    return (2 * means + c1) * (2 * covariance + c2) / ((mean_squares + c1) * (variances + c2));
}

INLINE double similarity(const struct pixel_kernel_plane_pair *pair, struct block_sums *sums, int is_wide) {
    ptrdiff_t columns = pair->width / BLOCK, rows = pair->height / BLOCK;
    double peak = pair->peak;
    // All terms are sums over the samples: c1 is K1 * peak squared, times 64, and c2 also has the factor 63 of an
    // unbiased variance. FFmpeg rounds both to integers.
    double c1 = (double)(int64_t)(.01 * .01 * peak * peak * WINDOW_SAMPLES + .5);
    double c2 = (double)(int64_t)(.03 * .03 * peak * peak * WINDOW_SAMPLES * (WINDOW_SAMPLES - 1) + .5);
    struct block_sums *above = sums, *below = sums + columns;
    double total = 0;
    sum_blocks(pair, 0, columns, above, is_wide);
    for (ptrdiff_t row = 1; row < rows; row++) {
        sum_blocks(pair, row * BLOCK, columns, below, is_wide);
        for (ptrdiff_t column = 0; column + 1 < columns; column++) {
            total += window(above + column, below + column, c1, c2);
        }
        struct block_sums *previous = above;
        above = below;
        below = previous;
    }
    return total / ((double)(columns - 1) * (double)(rows - 1));
}

MULTIVERSION static double similarity8(const struct pixel_kernel_plane_pair *pair, struct block_sums *sums) {
    return similarity(pair, sums, 0);
}

MULTIVERSION static double similarity16(const struct pixel_kernel_plane_pair *pair, struct block_sums *sums) {
    return similarity(pair, sums, 1);
}

double pixel_kernel_similarity(const struct pixel_kernel_plane_pair *pair) {
    ptrdiff_t columns = pair->width / BLOCK;
    if (columns < 2 || pair->height / BLOCK < 2) return PIXEL_KERNEL_NO_WINDOW;
    struct block_sums *sums = malloc(2 * (size_t)columns * sizeof *sums);
    if (!sums) return PIXEL_KERNEL_NO_MEMORY;
    double result = pair->peak > 255 ? similarity16(pair, sums) : similarity8(pair, sums);
    free(sums);
    return result;
}

MULTIVERSION uint64_t pixel_kernel_squared_error_16(const struct pixel_kernel_plane_pair *pair) {
    // The sum of this number of squared 10-bit differences fits 32 bits.
    enum { CHUNK = 4096 };
    uint64_t total = 0;
    for (ptrdiff_t y = 0; y < pair->height; y++) {
        const uint16_t *first = row_of(pair->first, pair->first_stride, y);
        const uint16_t *second = row_of(pair->second, pair->second_stride, y);
        for (ptrdiff_t start = 0; start < pair->width; start += CHUNK) {
            ptrdiff_t end = start + CHUNK < pair->width ? start + CHUNK : pair->width;
            uint32_t sum = 0;
            for (ptrdiff_t x = start; x < end; x++) {
                int32_t difference = (int32_t)first[x] - (int32_t)second[x];
                sum += (uint32_t)(difference * difference);
            }
            total += sum;
        }
    }
    return total;
}
