// SPDX-License-Identifier: GPL-2.0-or-later
//
// Conversion of samples of any chroma format, component by component.

#include "CPixelKernels.h"
#include "multiversion.h"

INLINE uint8_t *row_of(const void *plane, ptrdiff_t stride, ptrdiff_t row) {
    return (uint8_t *)plane + stride * row;
}

// MARK: - Arrangement

INLINE uint32_t load_word(const uint8_t *place, ptrdiff_t size) {
    switch (size) {
    case 1: return *place;
    case 2: return *(const uint16_t *)place;
    default: return *(const uint32_t *)place;
    }
}

/// Sizes and steps are compile-time constants where rows have to be vectorised.
INLINE void move_samples(
    const struct pixel_kernel_samples *source, const struct pixel_kernel_samples *target, ptrdiff_t width,
    ptrdiff_t height, uint32_t mask, ptrdiff_t in_size, ptrdiff_t in_step, ptrdiff_t out_size, ptrdiff_t out_step) {
    const uint32_t in_shift = source->shift, out_shift = target->shift, kept = ~(mask << out_shift);
    for (ptrdiff_t y = 0; y < height; y++) {
        const uint8_t *from = row_of(source->base, source->stride, y);
        uint8_t *to = row_of(target->base, target->stride, y);
        for (ptrdiff_t x = 0; x < width; x++) {
            uint32_t sample = (load_word(from + x * in_step, in_size) >> in_shift & mask) << out_shift;
            uint8_t *place = to + x * out_step;
            switch (out_size) {
            case 1: *place = (uint8_t)sample; break;
            case 2: *(uint16_t *)place = (uint16_t)sample; break;
            default: *(uint32_t *)place = (*(uint32_t *)place & kept) | sample; break;
            }
        }
    }
}

#define MOVE(name, in_size, in_step, out_size, out_step)                                                          \
    MULTIVERSION static void name(                                                                                \
        const struct pixel_kernel_samples *source, const struct pixel_kernel_samples *target, ptrdiff_t width,    \
        ptrdiff_t height, uint32_t mask) {                                                                        \
        move_samples(source, target, width, height, mask, in_size, in_step, out_size, out_step);                  \
    }

MOVE(bytes_to_bytes, 1, 1, 1, 1)
MOVE(bytes_to_pairs, 1, 1, 1, 2)
MOVE(bytes_to_fours, 1, 1, 1, 4)
MOVE(pairs_to_bytes, 1, 2, 1, 1)
MOVE(words_to_words, 2, 2, 2, 2)
MOVE(words_to_pairs, 2, 2, 2, 4)
MOVE(words_to_fours, 2, 2, 2, 8)
MOVE(pairs_to_words, 2, 4, 2, 2)
MOVE(words_to_bits, 2, 2, 4, 4)
MOVE(any_to_any, source->word_size, source->step, target->word_size, target->step)

void pixel_kernel_move_samples(
    const struct pixel_kernel_samples *source, const struct pixel_kernel_samples *target, ptrdiff_t width,
    ptrdiff_t height, uint32_t mask) {
    static const struct {
        ptrdiff_t in_size, in_step, out_size, out_step;
        void (*move)(
            const struct pixel_kernel_samples *, const struct pixel_kernel_samples *, ptrdiff_t, ptrdiff_t, uint32_t);
    } moves[] = {
        {1, 1, 1, 1, bytes_to_bytes}, {1, 1, 1, 2, bytes_to_pairs}, {1, 1, 1, 4, bytes_to_fours},
        {1, 2, 1, 1, pairs_to_bytes}, {2, 2, 2, 2, words_to_words}, {2, 2, 2, 4, words_to_pairs},
        {2, 2, 2, 8, words_to_fours}, {2, 4, 2, 2, pairs_to_words}, {2, 2, 4, 4, words_to_bits},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        if (source->word_size == moves[i].in_size && source->step == moves[i].in_step &&
            target->word_size == moves[i].out_size && target->step == moves[i].out_step) {
            moves[i].move(source, target, width, height, mask);
            return;
        }
    }
    any_to_any(source, target, width, height, mask);
}

// MARK: - Codes

/// Returns the 12-bit value of a sample. `is_wide` is a compile-time constant.
INLINE int32_t load(const void *row, ptrdiff_t index, int is_wide, int32_t lift) {
    int32_t code = is_wide ? ((const uint16_t *)row)[index] & (0xfff >> lift) : ((const uint8_t *)row)[index];
    return code << lift;
}

/// Rounds a sum (12-bit value, 16 fractional bits) to a code, with halves rounded up, and stores it.
INLINE void store(void *row, ptrdiff_t index, int32_t sum, int is_wide, int32_t lift) {
    int32_t code = (sum + (1 << (15 + lift))) >> (16 + lift), most = 0xfff >> lift;
    code = code < 0 ? 0 : code > most ? most : code;
    if (is_wide) {
        ((uint16_t *)row)[index] = (uint16_t)code;
    } else {
        ((uint8_t *)row)[index] = (uint8_t)code;
    }
}

INLINE void convert_luma(
    const struct pixel_kernel_planes *from, const struct pixel_kernel_planes *to,
    const struct pixel_kernel_transform *transform, int in_wide, int out_wide) {
    const int32_t gain = transform->luma_from_luma, bias = transform->luma_bias;
    const int32_t from_cb = transform->luma_from_cb, from_cr = transform->luma_from_cr;
    const int32_t in = 12 - from->depth, out = 12 - to->depth;
    const ptrdiff_t width = from->width, across = from->across - 1;
    for (ptrdiff_t y = 0; y < from->height; y++) {
        const void *luma = row_of(from->base[0], from->stride[0], y);
        void *result = row_of(to->base[0], to->stride[0], y);
        if (from_cb == 0 && from_cr == 0) {
            for (ptrdiff_t x = 0; x < width; x++) store(result, x, gain * load(luma, x, in_wide, in) + bias, out_wide, out);
            continue;
        }
        const void *cb = row_of(from->base[1], from->stride[1], y / from->down);
        const void *cr = row_of(from->base[2], from->stride[2], y / from->down);
        for (ptrdiff_t x = 0; x < width; x++) {
            int32_t chroma = from_cb * load(cb, x >> across, in_wide, in) + from_cr * load(cr, x >> across, in_wide, in);
            store(result, x, gain * load(luma, x, in_wide, in) + chroma + bias, out_wide, out);
        }
    }
}

INLINE void convert_chroma(
    const struct pixel_kernel_planes *from, const struct pixel_kernel_planes *to,
    const struct pixel_kernel_transform *transform, int in_wide, int out_wide) {
    const int32_t cb_from_cb = transform->cb_from_cb, cb_from_cr = transform->cb_from_cr;
    const int32_t cr_from_cb = transform->cr_from_cb, cr_from_cr = transform->cr_from_cr;
    const int32_t cb_bias = transform->cb_bias, cr_bias = transform->cr_bias;
    const int32_t in = 12 - from->depth, out = 12 - to->depth;
    const ptrdiff_t width = (from->width + from->across - 1) / from->across;
    const ptrdiff_t height = (from->height + from->down - 1) / from->down;
    for (ptrdiff_t y = 0; y < height; y++) {
        const void *cb = row_of(from->base[1], from->stride[1], y), *cr = row_of(from->base[2], from->stride[2], y);
        void *cb_result = row_of(to->base[1], to->stride[1], y), *cr_result = row_of(to->base[2], to->stride[2], y);
        for (ptrdiff_t x = 0; x < width; x++) {
            int32_t cb_value = load(cb, x, in_wide, in), cr_value = load(cr, x, in_wide, in);
            store(cb_result, x, cb_from_cb * cb_value + cb_from_cr * cr_value + cb_bias, out_wide, out);
            store(cr_result, x, cr_from_cb * cb_value + cr_from_cr * cr_value + cr_bias, out_wide, out);
        }
    }
}

#define CONVERT(name, in_wide, out_wide)                                                        \
    MULTIVERSION static void name(                                                              \
        const struct pixel_kernel_planes *source, const struct pixel_kernel_planes *target,     \
        const struct pixel_kernel_transform *transform) {                                       \
        convert_luma(source, target, transform, in_wide, out_wide);                             \
        convert_chroma(source, target, transform, in_wide, out_wide);                           \
    }

CONVERT(convert_bytes_to_bytes, 0, 0)
CONVERT(convert_bytes_to_words, 0, 1)
CONVERT(convert_words_to_bytes, 1, 0)
CONVERT(convert_words_to_words, 1, 1)

void pixel_kernel_convert_planes(
    const struct pixel_kernel_planes *source, const struct pixel_kernel_planes *target,
    const struct pixel_kernel_transform *transform) {
    if (source->depth == 8) {
        (target->depth == 8 ? convert_bytes_to_bytes : convert_bytes_to_words)(source, target, transform);
    } else {
        (target->depth == 8 ? convert_words_to_bytes : convert_words_to_words)(source, target, transform);
    }
}

INLINE void convert_rgb(
    const struct pixel_kernel_planes *from, const struct pixel_kernel_planes *to,
    const struct pixel_kernel_bgr_transform *transform, int out_wide) {
    const int32_t *const rows[3] = {transform->luma, transform->cb, transform->cr};
    const int32_t biases[3] = {transform->luma_bias, transform->cb_bias, transform->cr_bias};
    const int32_t out = 12 - to->depth;
    const ptrdiff_t width = from->width;
    for (int component = 0; component < 3; component++) {
        const int32_t blue = rows[component][0] * 16, green = rows[component][1] * 16, red = rows[component][2] * 16;
        const int32_t bias = biases[component];
        for (ptrdiff_t y = 0; y < from->height; y++) {
            const uint8_t *g = row_of(from->base[0], from->stride[0], y);
            const uint8_t *b = row_of(from->base[1], from->stride[1], y);
            const uint8_t *r = row_of(from->base[2], from->stride[2], y);
            void *result = row_of(to->base[component], to->stride[component], y);
            for (ptrdiff_t x = 0; x < width; x++) {
                store(result, x, blue * b[x] + green * g[x] + red * r[x] + bias, out_wide, out);
            }
        }
    }
}

MULTIVERSION static void rgb_to_bytes(
    const struct pixel_kernel_planes *source, const struct pixel_kernel_planes *target,
    const struct pixel_kernel_bgr_transform *transform) {
    convert_rgb(source, target, transform, 0);
}

MULTIVERSION static void rgb_to_words(
    const struct pixel_kernel_planes *source, const struct pixel_kernel_planes *target,
    const struct pixel_kernel_bgr_transform *transform) {
    convert_rgb(source, target, transform, 1);
}

void pixel_kernel_convert_rgb_planes(
    const struct pixel_kernel_planes *source, const struct pixel_kernel_planes *target,
    const struct pixel_kernel_bgr_transform *transform) {
    (target->depth == 8 ? rgb_to_bytes : rgb_to_words)(source, target, transform);
}
