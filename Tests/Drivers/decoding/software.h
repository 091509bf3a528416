/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A decoder that is independent of the coders here: libavcodec, in a library of its own, so that only programs that
 * decode load it. It gives each picture at once, whatever the order of output is. */
#ifndef DRIVERS_DECODING_SOFTWARE_H
#define DRIVERS_DECODING_SOFTWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct software;

/* What a unit has of its frame. */
enum software_fields { SOFTWARE_FRAME, SOFTWARE_TOP_FIELD, SOFTWARE_BOTTOM_FIELD };

/* The picture of a unit, until the next call: planes Y, Cb, Cr with samples of 8 bits, or in 16-bit words. */
struct software_picture {
    const uint8_t *planes[3];
    size_t pitches[3]; /* bytes */
    uint32_t columns, rows; /* of luma; cropping does not count */
    unsigned chroma, depth; /* chroma_format_idc, bits of a sample */
    /* Blocks of 16x16 luma samples that nothing was decoded into, in raster order. */
    uint32_t missing, first_missing, last_missing;
};

struct software_functions {
    /* `hevc`: else H.264. NULL: out of memory, or libavcodec lacks the decoder. */
    struct software *(*create)(bool hevc);
    void (*destroy)(struct software *software);
    /* Forgets all pictures. */
    bool (*restart)(struct software *software);
    /* Decodes a unit (Annex B). False: it could not, wholly or in part; `problem` then says why. The picture is given
     * in either case, with no planes when there is none. */
    bool (*decode)(struct software *software, const uint8_t *bytes, size_t size, enum software_fields fields,
                   struct software_picture *picture, char *problem, size_t problem_size);
};

/* What the library exports, to be found by dlsym. */
#define SOFTWARE_LIBRARY "libref_decoding.so"
#define SOFTWARE_SYMBOL "reference_decoding_functions"

#endif
