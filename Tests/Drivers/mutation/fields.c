/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fields.h"

#include "trace.h"

#include <va/va.h>
#include <va/va_enc_hevc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    VAEncMiscParameterType type;
    const struct field_table *table;
} misc_tables[] = {
    {VAEncMiscParameterTypeRateControl, &fields_rate_control},
    {VAEncMiscParameterTypeFrameRate, &fields_frame_rate},
    {VAEncMiscParameterTypeHRD, &fields_hrd},
    {VAEncMiscParameterTypeMaxFrameSize, &fields_maximum_frame_size},
    {VAEncMiscParameterTypeQualityLevel, &fields_quality_level},
    {VAEncMiscParameterTypeQuantization, &fields_quantization},
    {VAEncMiscParameterTypeMaxSliceSize, &fields_maximum_slice_size},
    {VAEncMiscParameterTypeRIR, &fields_intra_refresh},
    {VAEncMiscParameterTypeSkipFrame, &fields_skip_frame},
};

#define MISC_TABLE_COUNT (sizeof(misc_tables) / sizeof(*misc_tables))

bool is_hevc_buffer(uint32_t type, size_t size)
{
    const struct field_table *h264, *hevc;
    switch (type) {
    case VAEncSequenceParameterBufferType: h264 = &fields_sequence, hevc = &fields_hevc_sequence; break;
    case VAEncPictureParameterBufferType: h264 = &fields_picture, hevc = &fields_hevc_picture; break;
    case VAEncSliceParameterBufferType: h264 = &fields_slice, hevc = &fields_hevc_slice; break;
    default: return false;
    }
    return size < (h264->size + hevc->size) / 2; /* HEVC's are the smaller ones */
}

const struct field_table *fields_of_buffer(uint32_t type, size_t size, uint32_t misc_type)
{
    bool hevc = is_hevc_buffer(type, size);
    switch (type) {
    case VAEncSequenceParameterBufferType: return hevc ? &fields_hevc_sequence : &fields_sequence;
    case VAEncPictureParameterBufferType: return hevc ? &fields_hevc_picture : &fields_picture;
    case VAEncSliceParameterBufferType: return hevc ? &fields_hevc_slice : &fields_slice;
    case VAEncPackedHeaderParameterBufferType: return &fields_packed;
    case VAEncMiscParameterBufferType: break;
    default: return NULL;
    }
    for (size_t i = 0; i < MISC_TABLE_COUNT; i++)
        if ((uint32_t)misc_tables[i].type == misc_type) return misc_tables[i].table;
    return NULL;
}

unsigned field_width(const struct field *field, size_t structure_size)
{
    void *structure = trace_allocate(structure_size, 1);
    unsigned width = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        field->set(structure, 0, UINT64_C(1) << bit);
        width += field->get(structure, 0) != 0;
    }
    free(structure);
    return width;
}

static unsigned in_list(const VAEncSliceParameterBufferH264 *slice, unsigned list)
{
    unsigned type = slice->slice_type % 5;
    if (type == 2 || (type == 0 && list == 1)) return 0;
    return (list ? slice->num_ref_idx_l1_active_minus1 : slice->num_ref_idx_l0_active_minus1) + 1u;
}

static unsigned reference_frames(const VAEncPictureParameterBufferH264 *picture)
{
    unsigned count = 0;
    for (unsigned i = 0; i < 16; i++)
        if (picture->ReferenceFrames[i].picture_id != VA_INVALID_SURFACE) count = i + 1;
    return count;
}

static unsigned in_hevc_list(const VAEncSliceParameterBufferHEVC *slice, unsigned list)
{
    if (slice->slice_type == 2 || (slice->slice_type == 1 && list == 1)) return 0;
    return (list ? slice->num_ref_idx_l1_active_minus1 : slice->num_ref_idx_l0_active_minus1) + 1u;
}

static unsigned hevc_reference_frames(const VAEncPictureParameterBufferHEVC *picture)
{
    unsigned count = 0;
    for (unsigned i = 0; i < 15; i++)
        if (picture->reference_frames[i].picture_id != VA_INVALID_SURFACE) count = i + 1;
    return count;
}

unsigned field_used(const struct field *field, const void *structure)
{
    const VAEncSliceParameterBufferH264 *slice = structure;
    unsigned used = field->count;
    switch (field->use) {
    case USE_REFERENCE_FRAMES: used = reference_frames(structure); break;
    case USE_LIST_0: used = in_list(slice, 0); break;
    case USE_LIST_1: used = in_list(slice, 1); break;
    case USE_WEIGHTS_0: used = slice->luma_weight_l0_flag ? in_list(slice, 0) : 0; break;
    case USE_WEIGHTS_1: used = slice->luma_weight_l1_flag ? in_list(slice, 1) : 0; break;
    case USE_CHROMA_WEIGHTS_0: used = slice->chroma_weight_l0_flag ? in_list(slice, 0) : 0; break;
    case USE_CHROMA_WEIGHTS_1: used = slice->chroma_weight_l1_flag ? in_list(slice, 1) : 0; break;
    case USE_CYCLE:
        used = ((const VAEncSequenceParameterBufferH264 *)structure)->num_ref_frames_in_pic_order_cnt_cycle;
        break;
    case USE_HEVC_REFERENCE_FRAMES: used = hevc_reference_frames(structure); break;
    case USE_HEVC_LIST_0: used = in_hevc_list(structure, 0); break;
    case USE_HEVC_LIST_1: used = in_hevc_list(structure, 1); break;
    case USE_NONE: used = 0; break;
    case USE_ONE:
    case USE_ALL: break;
    }
    return used < field->count ? used : field->count;
}

/* Bits between the members, by structure, that the compiler put there: found by the x86-64 and AArch64 ABIs alike. */
static unsigned padding_bits(const struct field_table *table)
{
    static const struct {
        const struct field_table *table;
        unsigned bytes;
    } paddings[] = {
        {&fields_sequence, 2 + 1 + 3 + 3 + 3},
        {&fields_picture, 1 + 1},
        {&fields_slice, 2 + 4 + 1},
        {&fields_packed, 3},
        {&fields_hevc_sequence, 1 + 2 + 3 + 3},
        {&fields_hevc_picture, 2},
        {&fields_hevc_slice, 0},
        {&fields_intra_refresh, 3},
        {&fields_skip_frame, 2},
    };
    for (size_t i = 0; i < sizeof(paddings) / sizeof(*paddings); i++)
        if (paddings[i].table == table) return 8 * paddings[i].bytes;
    return 0;
}

static unsigned ones(const uint8_t *bytes, size_t size)
{
    unsigned count = 0;
    for (size_t i = 0; i < size; i++) count += (unsigned)__builtin_popcount(bytes[i]);
    return count;
}

/* Sets each element of each field to ones in a cleared structure: the bits of all must add up to the structure's. */
static bool check_table(const struct field_table *table, size_t *field_count)
{
    uint8_t *all = trace_allocate(table->size, 1), *one = trace_allocate(table->size, 1);
    unsigned sum = 0;
    for (size_t f = 0; f < table->field_count; f++) {
        const struct field *field = &table->fields[f];
        for (unsigned i = 0; i < field->count; i++) {
            memset(one, 0, table->size);
            field->set(one, i, ~UINT64_C(0));
            if (field->kind != FIELD_UNUSED_BITS) sum += ones(one, table->size);
            field->set(all, i, ~UINT64_C(0));
            ++*field_count;
        }
    }
    unsigned reached = ones(all, table->size), unnamed = 0;
    for (size_t f = 0; f < table->field_count; f++)
        if (table->fields[f].kind == FIELD_UNUSED_BITS) unnamed += 32;
    bool complete = reached + padding_bits(table) == 8 * table->size && sum <= reached && sum + unnamed >= reached;
    if (!complete)
        printf("%s: %u of %zu bits reached, %u of them padding, %u by name\n", table->name, reached, 8 * table->size,
               padding_bits(table), sum);
    free(all);
    free(one);
    return complete;
}

bool fields_check(void)
{
    const struct field_table *fixed[] = {&fields_misc_header, &fields_sequence, &fields_picture, &fields_slice,
                                         &fields_packed, &fields_hevc_sequence, &fields_hevc_picture,
                                         &fields_hevc_slice};
    size_t count = 0;
    bool complete = true;
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) complete = check_table(fixed[i], &count) && complete;
    for (size_t i = 0; i < MISC_TABLE_COUNT; i++) complete = check_table(misc_tables[i].table, &count) && complete;
    printf("%zu fields\n", count);
    return complete;
}
