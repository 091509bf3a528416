// SPDX-License-Identifier: GPL-2.0-or-later
//
// Colour conversions that libyuv does not have: any matrix, any range, 8 and 10 bits; comparison; and copies for devices.
//
// All arithmetic is fixed point and rounded once, to the nearest code (halves up). Samples are brought to 10 bits (an
// 8-bit code times 4), multiplied by coefficients with 18 fractional bits, summed in 32 bits with a bias, and rounded
// and clamped to the codes of the destination. C and not Swift, because the loops have to be bearable in builds without
// optimisation as well, and to have a version for AVX2 without compiler flags.

#ifndef CPIXELKERNELS_H
#define CPIXELKERNELS_H

#include <stddef.h>
#include <stdint.h>

/// How the samples of a 4:2:0 picture lie in memory.
enum pixel_kernel_layout {
    /// 8 bits; planes Y, Cb, Cr.
    PIXEL_KERNEL_I420,
    /// 8 bits; planes Y and CbCr interleaved.
    PIXEL_KERNEL_NV12,
    /// 10 bits in the lower bits of 16; planes Y, Cb, Cr.
    PIXEL_KERNEL_I010,
    /// 10 bits in the upper bits of 16; planes Y and CbCr interleaved.
    PIXEL_KERNEL_P010,
};

/// A 4:2:0 picture. Chroma planes have (width + 1) / 2 samples in (height + 1) / 2 rows.
struct pixel_kernel_picture {
    enum pixel_kernel_layout layout;
    /// Luma samples in a row and rows, above zero.
    int32_t width, height;
    /// The first samples. Aligned to the size of a sample. `cr` is not used with interleaved chroma.
    void *_Nonnull luma;
    void *_Nonnull cb;
    void *_Nullable cr;
    /// Bytes from a row to the next one, multiples of the size of a sample.
    ptrdiff_t luma_stride, cb_stride, cr_stride;
};

/// Luma' = luma_from_luma * luma + luma_from_cb * cb + luma_from_cr * cr + luma_bias, and so on. Chroma does not depend
/// on luma: grey stays grey under every matrix.
struct pixel_kernel_transform {
    /// Coefficients with 18 fractional bits, magnitudes below 2.
    int32_t luma_from_luma, luma_from_cb, luma_from_cr;
    int32_t cb_from_cb, cb_from_cr, cr_from_cb, cr_from_cr;
    /// Biases in 10-bit codes with 18 fractional bits.
    int32_t luma_bias, cb_bias, cr_bias;
};

/// Luma = luma[0] * blue + luma[1] * green + luma[2] * red + luma_bias, and so on.
struct pixel_kernel_bgr_transform {
    /// Coefficients with 18 fractional bits, magnitudes below 2, in the order blue, green, red.
    int32_t luma[3], cb[3], cr[3];
    /// Biases in 10-bit codes with 18 fractional bits.
    int32_t luma_bias, cb_bias, cr_bias;
};

/// Converts a 4:2:0 picture to another layout, depth, matrix or range.
///
/// `source` and `destination` have the same even width and height and do not overlap. A chroma sample serves the four
/// luma samples that it belongs to.
void pixel_kernel_convert(
    const struct pixel_kernel_picture *_Nonnull source,
    const struct pixel_kernel_picture *_Nonnull destination,
    const struct pixel_kernel_transform *_Nonnull transform);

/// Converts blue, green, red, alpha bytes to a 4:2:0 picture of the destination's size, which may be odd.
///
/// Chroma comes from the mean of 2x2 pixels; at an odd edge the last column or row counts twice. Alpha is ignored.
void pixel_kernel_convert_bgra(
    const uint8_t *_Nonnull source, ptrdiff_t source_stride,
    const struct pixel_kernel_picture *_Nonnull destination,
    const struct pixel_kernel_bgr_transform *_Nonnull transform);

/// Copies rows of bytes from one place to another that does not overlap it.
///
/// @param for_device Whether a device reads the copy next: then it goes past the processor's caches, which spares reading
///     what is overwritten. For small pictures, or where a processor reads the copy, that is slower.
void pixel_kernel_copy_rows(
    void *_Nonnull target, ptrdiff_t target_stride, const void *_Nonnull source, ptrdiff_t source_stride,
    size_t bytes_per_row, size_t rows, _Bool for_device);

/// The samples of one component of a picture.
struct pixel_kernel_samples {
    /// The little-endian word of the first sample, aligned to its size.
    void *_Nonnull base;
    /// Bytes from a row to the next one, and from a sample to the next one.
    ptrdiff_t stride, step;
    /// Bytes of the word that holds a sample: 1, 2 or 4.
    ptrdiff_t word_size;
    /// Bits of the word below the sample.
    uint32_t shift;
};

/// Copies samples, bit by bit, from one arrangement in memory to another that does not overlap it.
///
/// What else is in a word of 4 bytes stays; smaller words are zero beside the sample.
///
/// @param mask The largest code: all bits of a sample.
void pixel_kernel_move_samples(
    const struct pixel_kernel_samples *_Nonnull source, const struct pixel_kernel_samples *_Nonnull target,
    ptrdiff_t width, ptrdiff_t height, uint32_t mask);

/// Three planes with one sample after the other, of one byte each or in the lower bits of 16-bit words.
struct pixel_kernel_planes {
    /// The first samples of luma, Cb and Cr; or of green, blue and red.
    void *_Nonnull base[3];
    /// Bytes from a row to the next one.
    ptrdiff_t stride[3];
    /// Luma samples in a row and rows.
    ptrdiff_t width, height;
    /// Luma samples for each chroma sample in a row and in a column: 1 or 2.
    ptrdiff_t across, down;
    /// 8, 10 or 12; samples of 8 bits are bytes.
    int32_t depth;
};

/// Converts planes to another depth, matrix or range. As `pixel_kernel_convert`, but for any chroma format and with values of
/// 12 bits and 16 fractional bits in the transform.
///
/// `source` and `target` have the same size and chroma format, and do not overlap.
void pixel_kernel_convert_planes(
    const struct pixel_kernel_planes *_Nonnull source, const struct pixel_kernel_planes *_Nonnull target,
    const struct pixel_kernel_transform *_Nonnull transform);

/// Converts planes of green, blue and red of 8 bits to luma and chroma of 4:4:4. Coefficients are in the order blue, green,
/// red, for values of 12 bits and with 16 fractional bits.
void pixel_kernel_convert_rgb_planes(
    const struct pixel_kernel_planes *_Nonnull source, const struct pixel_kernel_planes *_Nonnull target,
    const struct pixel_kernel_bgr_transform *_Nonnull transform);

/// Two planes of the same size with one sample after the other.
struct pixel_kernel_plane_pair {
    const void *_Nonnull first;
    const void *_Nonnull second;
    /// Bytes from a row to the next one.
    ptrdiff_t first_stride, second_stride;
    /// In samples.
    ptrdiff_t width, height;
    /// The largest code: 255 for samples of one byte, 1023 for ten bits in the lower part of 16-bit words.
    int peak;
};

/// What `pixel_kernel_similarity` returns for planes below 8x8 samples, and without memory. No similarity is below -1.
#define PIXEL_KERNEL_NO_WINDOW -2.0
#define PIXEL_KERNEL_NO_MEMORY -3.0

/// The mean structural similarity of two planes, -1...1, over windows of 8x8 samples at every fourth column and row.
double pixel_kernel_similarity(const struct pixel_kernel_plane_pair *_Nonnull pair);

/// The sum of squared differences of two planes of ten bits.
uint64_t pixel_kernel_squared_error_16(const struct pixel_kernel_plane_pair *_Nonnull pair);

#endif
