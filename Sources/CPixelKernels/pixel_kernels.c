// SPDX-License-Identifier: GPL-2.0-or-later

#include "CPixelKernels.h"
#include "multiversion.h"

/// The storage of one sample. Always a compile-time constant where it is used.
enum sample { SAMPLE_8, SAMPLE_LOW_10, SAMPLE_HIGH_10 };

/// Returns the 10-bit value of a sample.
INLINE int32_t load(const void *row, ptrdiff_t index, enum sample sample) {
    switch (sample) {
    case SAMPLE_8: return ((const uint8_t *)row)[index] << 2;
    case SAMPLE_LOW_10: return ((const uint16_t *)row)[index] & 0x3ff;
    case SAMPLE_HIGH_10: return ((const uint16_t *)row)[index] >> 6;
    }
    __builtin_unreachable();
}

INLINE int32_t clamp(int32_t value, int32_t maximum) {
    return value < 0 ? 0 : value > maximum ? maximum : value;
}

/// Rounds a sum (10-bit value, 18 fractional bits) to a code and stores it.
INLINE void store(void *row, ptrdiff_t index, int32_t sum, enum sample sample) {
    int32_t code10 = (sum + (1 << 17)) >> 18;
    switch (sample) {
    case SAMPLE_8: ((uint8_t *)row)[index] = (uint8_t)clamp((sum + (1 << 19)) >> 20, 255); return;
    case SAMPLE_LOW_10: ((uint16_t *)row)[index] = (uint16_t)clamp(code10, 1023); return;
    case SAMPLE_HIGH_10: ((uint16_t *)row)[index] = (uint16_t)(clamp(code10, 1023) << 6); return;
    }
}

INLINE void *row_of(const void *plane, ptrdiff_t stride, ptrdiff_t row) {
    return (uint8_t *)plane + stride * row;
}

/// Returns the row in which index `step * x + step - 1` is a Cr sample. Interleaved samples are accessed through Cb's
/// pointer, so that the compiler sees pairs.
INLINE void *cr_row_of(const struct pixel_kernel_picture *picture, ptrdiff_t step, ptrdiff_t row) {
    return step == 1 ? row_of(picture->cr, picture->cr_stride, row) : row_of(picture->cb, picture->cb_stride, row);
}

// MARK: - YCbCr to YCbCr

// Widths and coefficients are copied to locals: a store of bytes may alias anything that is read through a pointer,
// which would prevent vectorisation of the loops.

INLINE void convert_luma(
    const struct pixel_kernel_picture *from, const struct pixel_kernel_picture *to,
    const struct pixel_kernel_transform *transform,
    enum sample in, enum sample out, ptrdiff_t in_step) {
    const int32_t gain = transform->luma_from_luma, bias = transform->luma_bias;
    const int32_t from_cb = transform->luma_from_cb, from_cr = transform->luma_from_cr;
    const ptrdiff_t width = from->width;
    for (ptrdiff_t y = 0; y < from->height; y++) {
        const void *luma = row_of(from->luma, from->luma_stride, y);
        void *result = row_of(to->luma, to->luma_stride, y);
        if (from_cb == 0 && from_cr == 0) {
            for (ptrdiff_t x = 0; x < width; x++) {
                store(result, x, gain * load(luma, x, in) + bias, out);
            }
            continue;
        }
        const void *cb = row_of(from->cb, from->cb_stride, y / 2);
        const void *cr = cr_row_of(from, in_step, y / 2);
        for (ptrdiff_t x = 0; x < width / 2; x++) {
            int32_t cb_value = load(cb, x * in_step, in), cr_value = load(cr, x * in_step + in_step - 1, in);
            int32_t base = from_cb * cb_value + from_cr * cr_value + bias;
            store(result, 2 * x, gain * load(luma, 2 * x, in) + base, out);
            store(result, 2 * x + 1, gain * load(luma, 2 * x + 1, in) + base, out);
        }
    }
}

INLINE void convert_chroma(
    const struct pixel_kernel_picture *from, const struct pixel_kernel_picture *to,
    const struct pixel_kernel_transform *transform,
    enum sample in, enum sample out, ptrdiff_t in_step, ptrdiff_t out_step) {
    const int32_t cb_from_cb = transform->cb_from_cb, cb_from_cr = transform->cb_from_cr;
    const int32_t cr_from_cb = transform->cr_from_cb, cr_from_cr = transform->cr_from_cr;
    const int32_t cb_bias = transform->cb_bias, cr_bias = transform->cr_bias;
    const ptrdiff_t width = from->width;
    for (ptrdiff_t y = 0; y < from->height / 2; y++) {
        const void *cb = row_of(from->cb, from->cb_stride, y);
        const void *cr = cr_row_of(from, in_step, y);
        void *cb_result = row_of(to->cb, to->cb_stride, y);
        void *cr_result = cr_row_of(to, out_step, y);
        for (ptrdiff_t x = 0; x < width / 2; x++) {
            int32_t cb_value = load(cb, x * in_step, in), cr_value = load(cr, x * in_step + in_step - 1, in);
            store(cb_result, x * out_step, cb_from_cb * cb_value + cb_from_cr * cr_value + cb_bias, out);
            store(cr_result, x * out_step + out_step - 1, cr_from_cb * cb_value + cr_from_cr * cr_value + cr_bias, out);
        }
    }
}

/// One conversion for each pair of layouts, so that sample formats and steps are constants in the loops.
#define CONVERSION(name, in, in_step, out, out_step)                                                    \
    MULTIVERSION static void name(                                                                      \
        const struct pixel_kernel_picture *from, const struct pixel_kernel_picture *to,                 \
        const struct pixel_kernel_transform *transform) {                                               \
        convert_luma(from, to, transform, in, out, in_step);                                            \
        convert_chroma(from, to, transform, in, out, in_step, out_step);                                \
    }

#define CONVERSIONS_FROM(name, in, in_step)                         \
    CONVERSION(name##_to_i420, in, in_step, SAMPLE_8, 1)            \
    CONVERSION(name##_to_nv12, in, in_step, SAMPLE_8, 2)            \
    CONVERSION(name##_to_i010, in, in_step, SAMPLE_LOW_10, 1)       \
    CONVERSION(name##_to_p010, in, in_step, SAMPLE_HIGH_10, 2)

CONVERSIONS_FROM(i420, SAMPLE_8, 1)
CONVERSIONS_FROM(nv12, SAMPLE_8, 2)
CONVERSIONS_FROM(i010, SAMPLE_LOW_10, 1)
CONVERSIONS_FROM(p010, SAMPLE_HIGH_10, 2)

typedef void conversion(
    const struct pixel_kernel_picture *, const struct pixel_kernel_picture *, const struct pixel_kernel_transform *);

/// Indexed by the layouts of source and destination.
static conversion *const conversions[4][4] = {
    [PIXEL_KERNEL_I420] = {i420_to_i420, i420_to_nv12, i420_to_i010, i420_to_p010},
    [PIXEL_KERNEL_NV12] = {nv12_to_i420, nv12_to_nv12, nv12_to_i010, nv12_to_p010},
    [PIXEL_KERNEL_I010] = {i010_to_i420, i010_to_nv12, i010_to_i010, i010_to_p010},
    [PIXEL_KERNEL_P010] = {p010_to_i420, p010_to_nv12, p010_to_i010, p010_to_p010},
};

void pixel_kernel_convert(
    const struct pixel_kernel_picture *source, const struct pixel_kernel_picture *destination,
    const struct pixel_kernel_transform *transform) {
    conversions[source->layout][destination->layout](source, destination, transform);
}

// MARK: - BGRA to YCbCr

INLINE void bgra_luma(
    const uint8_t *source, ptrdiff_t stride, const struct pixel_kernel_picture *to,
    const struct pixel_kernel_bgr_transform *transform, enum sample out) {
    // Two bits of the coefficient convert an 8-bit code to a 10-bit value.
    const int32_t blue = transform->luma[0] * 4, green = transform->luma[1] * 4, red = transform->luma[2] * 4;
    const int32_t bias = transform->luma_bias;
    const ptrdiff_t width = to->width;
    for (ptrdiff_t y = 0; y < to->height; y++) {
        const uint8_t *pixel = source + stride * y;
        void *result = row_of(to->luma, to->luma_stride, y);
        for (ptrdiff_t x = 0; x < width; x++) {
            store(result, x, blue * pixel[4 * x] + green * pixel[4 * x + 1] + red * pixel[4 * x + 2] + bias, out);
        }
    }
}

INLINE void bgra_chroma(
    const uint8_t *source, ptrdiff_t stride, const struct pixel_kernel_picture *to,
    const struct pixel_kernel_bgr_transform *transform, enum sample out, ptrdiff_t step) {
    // The sum of four 8-bit codes is their mean as a 10-bit value.
    const int32_t cb_gain[3] = {transform->cb[0], transform->cb[1], transform->cb[2]};
    const int32_t cr_gain[3] = {transform->cr[0], transform->cr[1], transform->cr[2]};
    const int32_t cb_bias = transform->cb_bias, cr_bias = transform->cr_bias;
    const ptrdiff_t width = to->width;
    for (ptrdiff_t y = 0; y < (to->height + 1) / 2; y++) {
        const uint8_t *upper = source + stride * (2 * y);
        const uint8_t *lower = 2 * y + 1 < to->height ? upper + stride : upper;
        void *cb = row_of(to->cb, to->cb_stride, y);
        void *cr = cr_row_of(to, step, y);
        for (ptrdiff_t x = 0; x < width / 2; x++) {
            int32_t blue = upper[8 * x] + upper[8 * x + 4] + lower[8 * x] + lower[8 * x + 4];
            int32_t green = upper[8 * x + 1] + upper[8 * x + 5] + lower[8 * x + 1] + lower[8 * x + 5];
            int32_t red = upper[8 * x + 2] + upper[8 * x + 6] + lower[8 * x + 2] + lower[8 * x + 6];
            store(cb, x * step, cb_gain[0] * blue + cb_gain[1] * green + cb_gain[2] * red + cb_bias, out);
            store(cr, x * step + step - 1, cr_gain[0] * blue + cr_gain[1] * green + cr_gain[2] * red + cr_bias, out);
        }
        if (width % 2 != 0) {
            ptrdiff_t x = width / 2;
            int32_t blue = 2 * (upper[8 * x] + lower[8 * x]);
            int32_t green = 2 * (upper[8 * x + 1] + lower[8 * x + 1]);
            int32_t red = 2 * (upper[8 * x + 2] + lower[8 * x + 2]);
            store(cb, x * step, cb_gain[0] * blue + cb_gain[1] * green + cb_gain[2] * red + cb_bias, out);
            store(cr, x * step + step - 1, cr_gain[0] * blue + cr_gain[1] * green + cr_gain[2] * red + cr_bias, out);
        }
    }
}

#define BGRA_CONVERSION(name, out, step)                                                                        \
    MULTIVERSION static void name(                                                                              \
        const uint8_t *source, ptrdiff_t stride, const struct pixel_kernel_picture *to,                         \
        const struct pixel_kernel_bgr_transform *transform) {                                                   \
        bgra_luma(source, stride, to, transform, out);                                                          \
        bgra_chroma(source, stride, to, transform, out, step);                                                  \
    }

BGRA_CONVERSION(bgra_to_i420, SAMPLE_8, 1)
BGRA_CONVERSION(bgra_to_nv12, SAMPLE_8, 2)
BGRA_CONVERSION(bgra_to_i010, SAMPLE_LOW_10, 1)
BGRA_CONVERSION(bgra_to_p010, SAMPLE_HIGH_10, 2)

void pixel_kernel_convert_bgra(
    const uint8_t *source, ptrdiff_t source_stride, const struct pixel_kernel_picture *destination,
    const struct pixel_kernel_bgr_transform *transform) {
    switch (destination->layout) {
    case PIXEL_KERNEL_I420: bgra_to_i420(source, source_stride, destination, transform); return;
    case PIXEL_KERNEL_NV12: bgra_to_nv12(source, source_stride, destination, transform); return;
    case PIXEL_KERNEL_I010: bgra_to_i010(source, source_stride, destination, transform); return;
    case PIXEL_KERNEL_P010: bgra_to_p010(source, source_stride, destination, transform); return;
    }
}
