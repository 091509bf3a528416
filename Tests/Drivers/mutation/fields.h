/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every field of the VA buffers of an H.264 or HEVC encode, by name, so that it can be read and changed alone. */
#ifndef DRIVERS_MUTATION_FIELDS_H
#define DRIVERS_MUTATION_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
    FIELD_NUMBER,
    FIELD_FLAGS,       /* a set of bits that mean something one by one */
    FIELD_SURFACE,     /* VASurfaceID */
    FIELD_BUFFER,      /* VABufferID */
    FIELD_UNUSED_BITS, /* the whole of a union whose upper bits have no name; only the highest is changed */
};

/* How many elements of an array the application said it uses. */
enum field_use {
    USE_ONE, /* no array */
    USE_REFERENCE_FRAMES,
    USE_LIST_0,
    USE_LIST_1,
    USE_WEIGHTS_0, /* luma of list 0 */
    USE_WEIGHTS_1,
    USE_CHROMA_WEIGHTS_0,
    USE_CHROMA_WEIGHTS_1,
    USE_CYCLE, /* num_ref_frames_in_pic_order_cnt_cycle */
    USE_HEVC_REFERENCE_FRAMES,
    USE_HEVC_LIST_0,
    USE_HEVC_LIST_1,
    USE_NONE, /* tiles, which no client has */
    USE_ALL,   /* reserved words */
};

struct field {
    const char *name; /* as in the VA header; '#' stands for the index of an array's element */
    unsigned count;   /* elements declared */
    enum field_kind kind;
    enum field_use use;
    uint64_t (*get)(const void *structure, unsigned index); /* sign-extended where signed */
    void (*set)(void *structure, unsigned index, uint64_t value);
};

struct field_table {
    const char *name; /* "sequence", "picture", "slice", "misc.rate-control", … */
    size_t size;      /* bytes of the structure */
    const struct field *fields;
    size_t field_count;
};

extern const struct field_table fields_misc_header, fields_sequence, fields_picture, fields_slice, fields_packed;
extern const struct field_table fields_hevc_sequence, fields_hevc_picture, fields_hevc_slice;
extern const struct field_table fields_rate_control, fields_frame_rate, fields_hrd, fields_maximum_frame_size,
    fields_quality_level, fields_quantization, fields_maximum_slice_size, fields_intra_refresh, fields_skip_frame;

/* Whether a buffer of sequence, picture or slice parameters with elements of that size, or one near it, is HEVC's. */
bool is_hevc_buffer(uint32_t type, size_t size);

/* The table of a buffer: `type` is its VABufferType, `size` that of its elements, `misc_type` its
 * VAEncMiscParameterType when that is VAEncMiscParameterBufferType. Fields of a misc parameter start after
 * VAEncMiscParameterBuffer.type, which has a table of its own (fields_misc_header). NULL when none is known. */
const struct field_table *fields_of_buffer(uint32_t type, size_t size, uint32_t misc_type);

/* Bits that each of the field's elements has. */
unsigned field_width(const struct field *field, size_t structure_size);

/* Elements of the field that are in use in this structure (see field_use), at most field->count. */
unsigned field_used(const struct field *field, const void *structure);

/* Proves that the tables reach every bit of their structures but the compiler's padding, and no bit twice.
 * Says on stdout how many fields there are; false, with the numbers, when some bit is left out. */
bool fields_check(void);

#endif
