// SPDX-License-Identifier: GPL-2.0-or-later
//
// Colour conversions that libyuv does not support (any matrix, any range, 8 and 10 bits), comparison, and copies for
// devices.
//
// All arithmetic is fixed point and rounded once, to the nearest code (halves up). Samples are converted to 10 bits (an
// 8-bit code times 4), multiplied by coefficients with 18 fractional bits, summed in 32 bits with a bias, and rounded
// and clamped to the codes of the destination. The kernels are written in C rather than Swift so that the loops are
// fast enough in builds without optimisation, and can have an AVX2 version without compiler flags.

#ifndef CPIXELKERNELS_H
#define CPIXELKERNELS_H

#include <stddef.h>
#include <stdint.h>

/// The memory layout of the samples of a 4:2:0 picture.
enum pixel_kernel_layout {
    /// 8 bits; planes Y, Cb, Cr.
    PIXEL_KERNEL_I420,
    /// 8 bits; planes Y and CbCr interleaved.
    PIXEL_KERNEL_NV12,
    /// 10 bits in the lower bits of 16-bit words; planes Y, Cb, Cr.
    PIXEL_KERNEL_I010,
    /// 10 bits in the upper bits of 16-bit words; planes Y and CbCr interleaved.
    PIXEL_KERNEL_P010,
};

/// A 4:2:0 picture. Chroma planes have (width + 1) / 2 samples in (height + 1) / 2 rows.
struct pixel_kernel_picture {
    enum pixel_kernel_layout layout;
    /// The number of luma samples in a row, and the number of rows; both are positive.
    int32_t width, height;
    /// The addresses of the first samples, aligned to the size of a sample. `cr` is not used with interleaved chroma.
    void *_Nonnull luma;
    void *_Nonnull cb;
    void *_Nullable cr;
    /// The row strides in bytes, multiples of the size of a sample.
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

/// Converts a 4:2:0 picture to another layout, bit depth, matrix or range.
///
/// `source` and `destination` have the same even width and height and do not overlap. A chroma sample is used for its
/// four luma samples.
void pixel_kernel_convert(
    const struct pixel_kernel_picture *_Nonnull source,
    const struct pixel_kernel_picture *_Nonnull destination,
    const struct pixel_kernel_transform *_Nonnull transform);

/// Converts blue, green, red and alpha bytes to a 4:2:0 picture of the destination's size, which may be odd.
///
/// Chroma is the mean of 2x2 pixels; at an odd edge, the last column or row counts twice. Alpha is ignored.
void pixel_kernel_convert_bgra(
    const uint8_t *_Nonnull source, ptrdiff_t source_stride,
    const struct pixel_kernel_picture *_Nonnull destination,
    const struct pixel_kernel_bgr_transform *_Nonnull transform);

/// Copies rows of bytes to memory that does not overlap the source.
///
/// @param for_device Whether a device reads the copy next. The copy then bypasses the CPU caches, which avoids reading
///     the overwritten memory. This is slower for small pictures, and if the CPU reads the copy.
void pixel_kernel_copy_rows(
    void *_Nonnull target, ptrdiff_t target_stride, const void *_Nonnull source, ptrdiff_t source_stride,
    size_t bytes_per_row, size_t rows, _Bool for_device);

/// The samples of one component of a picture.
struct pixel_kernel_samples {
    /// The address of the little-endian word with the first sample, aligned to its size.
    void *_Nonnull base;
    /// The distances between rows and between adjacent samples of a row, in bytes.
    ptrdiff_t stride, step;
    /// The size in bytes of the word that holds a sample: 1, 2 or 4.
    ptrdiff_t word_size;
    /// The number of bits of the word below the sample.
    uint32_t shift;
};

/// Copies samples unchanged from one arrangement in memory to another that does not overlap it.
///
/// In words of 4 bytes, the bits besides the sample are preserved; in smaller words they are set to zero.
///
/// @param mask The largest code: all bits of a sample set.
void pixel_kernel_move_samples(
    const struct pixel_kernel_samples *_Nonnull source, const struct pixel_kernel_samples *_Nonnull target,
    ptrdiff_t width, ptrdiff_t height, uint32_t mask);

/// Three planes with contiguous samples, each in one byte or in the lower bits of a 16-bit word.
struct pixel_kernel_planes {
    /// The addresses of the first samples of luma, Cb and Cr, or of green, blue and red.
    void *_Nonnull base[3];
    /// The row strides in bytes.
    ptrdiff_t stride[3];
    /// The number of luma samples in a row, and the number of rows.
    ptrdiff_t width, height;
    /// The number of luma samples per chroma sample in a row and in a column: 1 or 2.
    ptrdiff_t across, down;
    /// The bit depth: 8, 10 or 12; 8-bit samples are bytes.
    int32_t depth;
};

/// Converts planes to another bit depth, matrix or range. Like `pixel_kernel_convert`, but for any chroma format, and
/// with 12-bit values and 16 fractional bits in the transform.
///
/// `source` and `target` have the same size and chroma format, and do not overlap.
void pixel_kernel_convert_planes(
    const struct pixel_kernel_planes *_Nonnull source, const struct pixel_kernel_planes *_Nonnull target,
    const struct pixel_kernel_transform *_Nonnull transform);

/// Converts planes of 8-bit green, blue and red to 4:4:4 luma and chroma. Coefficients are in the order blue, green,
/// red, for 12-bit values and with 16 fractional bits.
void pixel_kernel_convert_rgb_planes(
    const struct pixel_kernel_planes *_Nonnull source, const struct pixel_kernel_planes *_Nonnull target,
    const struct pixel_kernel_bgr_transform *_Nonnull transform);

/// Two planes of the same size with contiguous samples.
struct pixel_kernel_plane_pair {
    const void *_Nonnull first;
    const void *_Nonnull second;
    /// The row strides in bytes.
    ptrdiff_t first_stride, second_stride;
    /// The size in samples.
    ptrdiff_t width, height;
    /// The largest code: 255 for 8-bit samples, 1023 for 10-bit samples in the lower bits of 16-bit words.
    int peak;
};

/// The result of `pixel_kernel_similarity` for planes smaller than 8x8 samples, and if there is no memory. No
/// similarity is below -1.
#define PIXEL_KERNEL_NO_WINDOW -2.0
#define PIXEL_KERNEL_NO_MEMORY -3.0

/// Returns the mean structural similarity of two planes, -1...1, over windows of 8x8 samples at every fourth column and
/// row.
double pixel_kernel_similarity(const struct pixel_kernel_plane_pair *_Nonnull pair);

/// Returns the sum of squared differences of two 10-bit planes.
uint64_t pixel_kernel_squared_error_16(const struct pixel_kernel_plane_pair *_Nonnull pair);

#endif
