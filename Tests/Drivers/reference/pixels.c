/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pixels.h"

#include <string.h>

/* drm_fourcc.h, which is not libva's. */
#define CODE(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define LAYER_R8 CODE('R', '8', ' ', ' ')
#define LAYER_GR88 CODE('G', 'R', '8', '8')
#define LAYER_R16 CODE('R', '1', '6', ' ')
#define LAYER_GR1616 CODE('G', 'R', '3', '2')
#define LAYER_ARGB8888 CODE('A', 'R', '2', '4') /* B, G, R, A in memory: a little-endian word */
#define LAYER_XRGB8888 CODE('X', 'R', '2', '4')
#define LAYER_ABGR8888 CODE('A', 'B', '2', '4')
#define LAYER_XBGR8888 CODE('X', 'B', '2', '4')
#define LAYER_YUYV CODE('Y', 'U', 'Y', 'V')
#define LAYER_P010 CODE('P', '0', '1', '0')
#define LAYER_P012 CODE('P', '0', '1', '2')
#define LAYER_Y210 CODE('Y', '2', '1', '0')
#define LAYER_Y212 CODE('Y', '2', '1', '2')
#define LAYER_AYUV CODE('A', 'Y', 'U', 'V')
#define LAYER_XYUV CODE('X', 'Y', 'U', 'V')
#define LAYER_Y410 CODE('Y', '4', '1', '0')
#define LAYER_Y412 CODE('Y', '4', '1', '2')

#define LUMA 0xc9
#define CHROMA 0x35
#define LOW_BITS 0x40 /* of 10 bits in the upper ones of 16; the six below them are zero */

/* Words of 8 bits, of two bytes whose upper bits count, and of four bytes that hold all components. */
#define BYTE(plane, first, step) {plane, first, step, 1, 0}
#define WORD(plane, first, step, depth) {plane, first, step, 2, 16 - (depth)}
#define PART(shift) {0, 0, 4, 4, shift}

#define FORMAT(code, bits) .image = {.fourcc = VA_FOURCC_##code, .byte_order = VA_LSB_FIRST, .bits_per_pixel = (bits)}

#define PACKED_RGB(lower, code, layer_format, has_alpha, red, blue) \
    { \
        .name = lower, .rt_format = VA_RT_FORMAT_RGB32, .composed = layer_format, .plane_count = 1, \
        .image = {.fourcc = VA_FOURCC_##code, .byte_order = VA_LSB_FIRST, .bits_per_pixel = 32, \
                  .depth = has_alpha ? 32 : 24, .red_mask = red, .green_mask = 0xff00, .blue_mask = blue, \
                  .alpha_mask = has_alpha ? 0xff000000 : 0}, \
        .planes = {{layer_format, 4, 0, 0, {CHROMA, LUMA, CHROMA, LUMA}}}, \
    }

const struct pixel_format pixel_formats[PIXEL_KINDS] = {
    [PIXEL_NV12] = {
        .name = "nv12", .rt_format = VA_RT_FORMAT_YUV420, .composed = VA_FOURCC_NV12, FORMAT(NV12, 12),
        .chroma = 1, .depth = 8, .components = {BYTE(0, 0, 1), BYTE(1, 0, 2), BYTE(1, 1, 2)}, .plane_count = 2,
        .planes = {{LAYER_R8, 1, 0, 0, {LUMA}}, {LAYER_GR88, 2, 1, 1, {CHROMA, CHROMA}}},
    },
    [PIXEL_P010] = {
        .name = "p010", .rt_format = VA_RT_FORMAT_YUV420_10, .composed = LAYER_P010, FORMAT(P010, 24),
        .chroma = 1, .depth = 10, .components = {WORD(0, 0, 2, 10), WORD(1, 0, 4, 10), WORD(1, 2, 4, 10)},
        .plane_count = 2,
        .planes = {{LAYER_R16, 2, 0, 0, {LOW_BITS, LUMA}},
                   {LAYER_GR1616, 4, 1, 1, {LOW_BITS, CHROMA, LOW_BITS, CHROMA}}},
    },
    [PIXEL_BGRA] = PACKED_RGB("bgra", BGRA, LAYER_ARGB8888, 1, 0xff0000, 0xff),
    [PIXEL_BGRX] = PACKED_RGB("bgrx", BGRX, LAYER_XRGB8888, 0, 0xff0000, 0xff),
    [PIXEL_RGBA] = PACKED_RGB("rgba", RGBA, LAYER_ABGR8888, 1, 0xff, 0xff0000),
    [PIXEL_RGBX] = PACKED_RGB("rgbx", RGBX, LAYER_XBGR8888, 0, 0xff, 0xff0000),
    [PIXEL_YUY2] = {
        .name = "yuy2", .rt_format = VA_RT_FORMAT_YUV422, .composed = LAYER_YUYV, FORMAT(YUY2, 16),
        .chroma = 2, .depth = 8, .components = {BYTE(0, 0, 2), BYTE(0, 1, 4), BYTE(0, 3, 4)}, .plane_count = 1,
        .planes = {{LAYER_YUYV, 4, 1, 0, {LUMA, CHROMA, LUMA, CHROMA}}},
    },
    [PIXEL_P012] = {
        .name = "p012", .rt_format = VA_RT_FORMAT_YUV420_12, .composed = LAYER_P012, FORMAT(P012, 24),
        .chroma = 1, .depth = 12, .components = {WORD(0, 0, 2, 12), WORD(1, 0, 4, 12), WORD(1, 2, 4, 12)},
        .plane_count = 2,
        .planes = {{LAYER_R16, 2, 0, 0, {LOW_BITS, LUMA}},
                   {LAYER_GR1616, 4, 1, 1, {LOW_BITS, CHROMA, LOW_BITS, CHROMA}}},
    },
    [PIXEL_Y210] = {
        .name = "y210", .rt_format = VA_RT_FORMAT_YUV422_10, .composed = LAYER_Y210, FORMAT(Y210, 32),
        .chroma = 2, .depth = 10, .components = {WORD(0, 0, 4, 10), WORD(0, 2, 8, 10), WORD(0, 6, 8, 10)},
        .plane_count = 1,
        .planes = {{LAYER_Y210, 8, 1, 0, {LOW_BITS, LUMA, LOW_BITS, CHROMA, LOW_BITS, LUMA, LOW_BITS, CHROMA}}},
    },
    [PIXEL_Y212] = {
        .name = "y212", .rt_format = VA_RT_FORMAT_YUV422_12, .composed = LAYER_Y212, FORMAT(Y212, 32),
        .chroma = 2, .depth = 12, .components = {WORD(0, 0, 4, 12), WORD(0, 2, 8, 12), WORD(0, 6, 8, 12)},
        .plane_count = 1,
        .planes = {{LAYER_Y212, 8, 1, 0, {LOW_BITS, LUMA, LOW_BITS, CHROMA, LOW_BITS, LUMA, LOW_BITS, CHROMA}}},
    },
    [PIXEL_AYUV] = {
        .name = "ayuv", .rt_format = VA_RT_FORMAT_YUV444, .composed = LAYER_AYUV, FORMAT(AYUV, 32),
        .chroma = 3, .depth = 8, .components = {BYTE(0, 2, 4), BYTE(0, 1, 4), BYTE(0, 0, 4)}, .plane_count = 1,
        .planes = {{LAYER_AYUV, 4, 0, 0, {CHROMA, CHROMA, LUMA, LUMA}}},
    },
    [PIXEL_XYUV] = {
        .name = "xyuv", .rt_format = VA_RT_FORMAT_YUV444, .composed = LAYER_XYUV, FORMAT(XYUV, 32),
        .chroma = 3, .depth = 8, .components = {BYTE(0, 2, 4), BYTE(0, 1, 4), BYTE(0, 0, 4)}, .plane_count = 1,
        .planes = {{LAYER_XYUV, 4, 0, 0, {CHROMA, CHROMA, LUMA, LUMA}}},
    },
    [PIXEL_Y410] = {
        .name = "y410", .rt_format = VA_RT_FORMAT_YUV444_10, .composed = LAYER_Y410, FORMAT(Y410, 32),
        .chroma = 3, .depth = 10, .components = {PART(10), PART(0), PART(20)}, .plane_count = 1,
        .planes = {{LAYER_Y410, 4, 0, 0, {CHROMA, LUMA, LUMA, CHROMA}}},
    },
    [PIXEL_Y412] = {
        .name = "y412", .rt_format = VA_RT_FORMAT_YUV444_12, .composed = LAYER_Y412, FORMAT(Y412, 64),
        .chroma = 3, .depth = 12, .components = {WORD(0, 2, 8, 12), WORD(0, 0, 8, 12), WORD(0, 4, 8, 12)},
        .plane_count = 1,
        .planes = {{LAYER_Y412, 8, 0, 0, {LOW_BITS, CHROMA, LOW_BITS, LUMA, LOW_BITS, CHROMA, LOW_BITS, LUMA}}},
    },
    [PIXEL_I420] = {
        .name = "i420", FORMAT(I420, 12), .plane_count = 3,
        .planes = {{.unit = 1}, {.unit = 1, .column_shift = 1, .row_shift = 1},
                   {.unit = 1, .column_shift = 1, .row_shift = 1}},
    },
    [PIXEL_YV12] = {
        .name = "yv12", FORMAT(YV12, 12), .plane_count = 3,
        .planes = {{.unit = 1}, {.unit = 1, .column_shift = 1, .row_shift = 1},
                   {.unit = 1, .column_shift = 1, .row_shift = 1}},
    },
};

const struct pixel_format *pixel_format(uint32_t fourcc)
{
    for (unsigned i = 0; i < PIXEL_KINDS; i++)
        if (pixel_formats[i].image.fourcc == fourcc)
            return &pixel_formats[i];
    return NULL;
}

void pixel_poison(const struct pixel_plane *plane, uint8_t *first, uint32_t bytes)
{
    if (plane->unit == 1) {
        memset(first, plane->poison[0], bytes);
        return;
    }
    for (uint32_t i = 0; i < bytes; i++)
        first[i] = plane->poison[i % plane->unit];
}
