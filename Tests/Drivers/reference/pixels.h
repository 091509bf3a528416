/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How samples of each format lie in memory. Everything that allocates, shares, copies, compares or poisons samples
 * goes by these tables; nothing else knows a format's layout. */
#ifndef DRIVERS_REFERENCE_PIXELS_H
#define DRIVERS_REFERENCE_PIXELS_H

#include <stdbool.h>
#include <stdint.h>
#include <va/va.h>

#define PIXEL_PLANES 3

/* Surfaces have the formats before PIXEL_SURFACES, images have all. */
enum pixel_kind {
    PIXEL_NV12,
    PIXEL_P010,
    PIXEL_BGRA,
    PIXEL_BGRX,
    PIXEL_RGBA,
    PIXEL_RGBX,
    PIXEL_YUY2,
    PIXEL_P012,
    PIXEL_Y210,
    PIXEL_Y212,
    PIXEL_AYUV,
    PIXEL_XYUV,
    PIXEL_Y410,
    PIXEL_Y412,
    PIXEL_SURFACES,
    PIXEL_I420 = PIXEL_SURFACES,
    PIXEL_YV12,
    PIXEL_KINDS
};

/* A plane is made of units of equal size: a sample, a pair of chroma samples, four components. */
struct pixel_plane {
    uint32_t layer;        /* drm_fourcc.h: the plane as a layer of its own */
    uint8_t unit;          /* bytes, at most 8 */
    uint8_t column_shift;  /* a unit covers 1 << column_shift columns of the picture */
    uint8_t row_shift;     /* and 1 << row_shift rows */
    uint8_t poison[8];     /* a unit that stands for undefined samples */
};

/* Where the words of a component of YCbCr lie; see hevc/samples.h for `step`, `bytes` and `shift`. */
struct pixel_component {
    uint8_t plane, first; /* bytes from the plane's beginning */
    uint8_t step, bytes, shift;
};

struct pixel_format {
    const char *name;   /* in lower case, as in REFERENCE_DRIVER_LIMITS and in the names of dumps */
    uint32_t rt_format; /* VA_RT_FORMAT_*, of surfaces */
    uint32_t composed;  /* drm_fourcc.h: all planes in one layer */
    VAImageFormat image;
    uint8_t chroma, depth; /* of surfaces that are coded: chroma_format_idc, and bits of a sample; 0: of no such ones */
    struct pixel_component components[3]; /* of these: Y, Cb, Cr */
    uint32_t plane_count;
    struct pixel_plane planes[PIXEL_PLANES];
};

extern const struct pixel_format pixel_formats[PIXEL_KINDS];

/* The format of that VA_FOURCC, or NULL. */
const struct pixel_format *pixel_format(uint32_t fourcc);

static inline enum pixel_kind pixel_kind(const struct pixel_format *format)
{
    return (enum pixel_kind)(format - pixel_formats);
}

/* Whether VideoProc knows the format. */
static inline bool pixel_is_convertible(const struct pixel_format *format)
{
    return pixel_kind(format) < PIXEL_P012;
}

/* Bytes of `columns` columns of the picture, and rows of the plane under `rows` of its rows, rounded up. */
static inline uint32_t pixel_bytes(const struct pixel_plane *plane, uint32_t columns)
{
    return ((columns + (1u << plane->column_shift) - 1) >> plane->column_shift) * plane->unit;
}

static inline uint32_t pixel_rows(const struct pixel_plane *plane, uint32_t rows)
{
    return (rows + (1u << plane->row_shift) - 1) >> plane->row_shift;
}

/* Fills `bytes` bytes, which begin with a unit, with poison. */
void pixel_poison(const struct pixel_plane *plane, uint8_t *first, uint32_t bytes);

#endif
