/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One slice: its header out of its parameters, its data out of the client's buffer. */
#include "rebuild_h264.h"

#include <stdlib.h>
#include <string.h>

void h264_mark(struct h264_marking *marking, struct h264_memory_management operation)
{
    if (marking->count + 1 >= H264_MAXIMUM_OPERATIONS)
        return;
    marking->header->adaptive_ref_pic_marking_mode_flag = 1;
    marking->header->marking[marking->count++] = operation;
    marking->header->marking[marking->count] = (struct h264_memory_management){0};
}

int32_t h264_picture_number(const struct h264_slice_header *header, const struct h264_held *held, bool bottom)
{
    int32_t number = (int32_t)held->frame_num;
    if (held->long_term)
        number = (int32_t)held->long_term_frame_idx;
    else if (held->frame_num > header->frame_num)
        number -= H264_FRAME_NUMBERS;
    if (!header->field_pic_flag)
        return number;
    return 2 * number + (bottom == (header->bottom_field_flag != 0));
}

/* What the software decoder has of the client's surface; NULL: nothing, or it is no reference of this picture. */
static const struct h264_held *listed_of(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                                         VASurfaceID surface)
{
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const struct rebuild_surface *reference = &picture->picture->references[i];
        if (reference->surface.id != surface || surface == VA_INVALID_SURFACE)
            continue;
        for (unsigned j = 0; j < rebuilder->listed_count; j++)
            if (rebuilder->listed[j].surface == surface && rebuilder->listed[j].number == reference->number)
                return &rebuilder->listed[j];
    }
    return NULL;
}

/* H.264 7.4.3.1 and 8.2.4.3: one operation for every entry. */
static void write_list(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                       struct h264_slice_header *header, unsigned list, const VAPictureH264 *entries)
{
    const int32_t most = H264_FRAME_NUMBERS << header->field_pic_flag;
    int32_t predicted = (int32_t)(header->field_pic_flag ? 2 * header->frame_num + 1 : header->frame_num);
    const unsigned count = header->num_ref_idx_active_minus1[list] + 1;
    header->ref_pic_list_modification_flag[list] = 1;
    for (unsigned i = 0; i < count; i++) {
        const struct h264_held *held = NULL;
        if (!(entries[i].flags & VA_PICTURE_H264_INVALID))
            held = listed_of(rebuilder, picture, entries[i].picture_id);
        if (!held)
            held = &rebuilder->listed[0];
        struct h264_reference_modification *operation = &header->modification[list][i];
        const int32_t number =
            h264_picture_number(header, held, (entries[i].flags & VA_PICTURE_H264_BOTTOM_FIELD) != 0);
        if (held->long_term) {
            *operation = (struct h264_reference_modification){2, (uint32_t)number};
            continue;
        }
        const int32_t wrapped = (number + most) % most;
        const int32_t difference = wrapped - predicted;
        *operation = difference > 0 ? (struct h264_reference_modification){1, (uint32_t)difference - 1}
                     : difference < 0 ? (struct h264_reference_modification){0, (uint32_t)-difference - 1}
                                      : (struct h264_reference_modification){0, (uint32_t)most - 1};
        predicted = wrapped;
    }
    header->modification[list][count] = (struct h264_reference_modification){3, 0};
}

/* H.264 7.4.3.2. Weights that are the default are not stated: 128 could not be. */
static void write_weights(struct h264_slice_header *header, const VASliceParameterBufferH264 *slice)
{
    const int16_t *luma[2][2] = {{slice->luma_weight_l0, slice->luma_offset_l0},
                                 {slice->luma_weight_l1, slice->luma_offset_l1}};
    const int16_t (*chroma[2][2])[2] = {{slice->chroma_weight_l0, slice->chroma_offset_l0},
                                        {slice->chroma_weight_l1, slice->chroma_offset_l1}};
    const bool has_luma[2] = {slice->luma_weight_l0_flag, slice->luma_weight_l1_flag};
    const bool has_chroma[2] = {slice->chroma_weight_l0_flag, slice->chroma_weight_l1_flag};
    if (slice->luma_log2_weight_denom > 7 || slice->chroma_log2_weight_denom > 7)
        return; /* of a slice without weights, or it would have been refused */
    header->luma_log2_weight_denom = slice->luma_log2_weight_denom;
    header->chroma_log2_weight_denom = slice->chroma_log2_weight_denom;
    const int32_t luma_default = 1 << slice->luma_log2_weight_denom;
    const int32_t chroma_default = 1 << slice->chroma_log2_weight_denom;
    for (unsigned list = 0; list < 2; list++)
        for (unsigned i = 0; i < H264_MAXIMUM_REFERENCES; i++) {
            struct h264_weight *weight = &header->weight[list][i];
            *weight = (struct h264_weight){.luma_weight = luma_default,
                                           .chroma_weight = {chroma_default, chroma_default}};
            if (has_luma[list]) {
                weight->luma_weight = luma[list][0][i];
                weight->luma_offset = luma[list][1][i];
            }
            for (unsigned plane = 0; has_chroma[list] && plane < 2; plane++) {
                weight->chroma_weight[plane] = chroma[list][0][i][plane];
                weight->chroma_offset[plane] = chroma[list][1][i][plane];
            }
            weight->luma_weight_flag = weight->luma_weight != luma_default || weight->luma_offset != 0;
            weight->chroma_weight_flag = weight->chroma_weight[0] != chroma_default ||
                                         weight->chroma_weight[1] != chroma_default || weight->chroma_offset[0] ||
                                         weight->chroma_offset[1];
        }
}

static void complete_header(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                            const VASliceParameterBufferH264 *slice, struct h264_slice_header *header)
{
    const unsigned kind = h264_slice_kind(slice->slice_type);
    header->first_mb_in_slice = slice->first_mb_in_slice;
    header->slice_type = kind;
    header->direct_spatial_mv_pred_flag = slice->direct_spatial_mv_pred_flag;
    header->num_ref_idx_active_override_flag = 1;
    header->num_ref_idx_active_minus1[0] = slice->num_ref_idx_l0_active_minus1;
    header->num_ref_idx_active_minus1[1] = slice->num_ref_idx_l1_active_minus1;
    if (kind != H264_SLICE_I)
        write_list(rebuilder, picture, header, 0, slice->RefPicList0);
    if (kind == H264_SLICE_B)
        write_list(rebuilder, picture, header, 1, slice->RefPicList1);
    write_weights(header, slice);
    header->cabac_init_idc = slice->cabac_init_idc;
    header->slice_qp_delta = slice->slice_qp_delta;
    header->disable_deblocking_filter_idc = slice->disable_deblocking_filter_idc;
    header->slice_alpha_c0_offset_div2 = slice->slice_alpha_c0_offset_div2;
    header->slice_beta_offset_div2 = slice->slice_beta_offset_div2;
}

/* Takes the slice data from their first bit to the last one of the RBSP (H.264 7.3.4). */
static bool append_data(const struct h264_picture *picture, uint32_t number, const uint8_t *rbsp, size_t size,
                        size_t first, bool arithmetic, struct bits *nal)
{
    while (size > 0 && rbsp[size - 1] == 0)
        size--; /* cabac_zero_words, or zero bytes after the NAL unit */
    if (first >= 8 * size) {
        rebuild_finding(picture->picture, number, "slice-data-bit-offset",
                        "va.h VASliceParameterBufferH264.slice_data_bit_offset",
                        "is %zu, the NAL unit ends before bit %zu", first, 8 * size);
        return false;
    }
    if (arithmetic) {
        for (; first % 8; first++)
            if (!(rbsp[first / 8] >> (7 - first % 8) & 1)) {
                rebuild_finding(picture->picture, number, "slice-data-bit-offset",
                                "H.264 7.3.4 cabac_alignment_one_bit", "bit %zu of the NAL unit is no one", first);
                return false;
            }
        while (nal->count % 8)
            bits_put(nal, 1, 1);
        bits_append(nal, rbsp, first, 8 * size - first);
        return true;
    }
    const size_t stop = 8 * size - 1 - (size_t)__builtin_ctz(rbsp[size - 1]);
    if (first > stop)
        return false;
    bits_append(nal, rbsp, first, stop - first);
    bits_trail(nal);
    return true;
}

bool h264_rebuild_slice(struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                        const struct h264_slice_header *common, const struct rebuild_slice *slice, uint32_t number,
                        struct bits *stream)
{
    const VASliceParameterBufferH264 *parameters = slice->parameters;
    struct h264_slice_header *header = malloc(sizeof(*header));
    uint8_t *rbsp = malloc(slice->size + 1);
    bool written = header && rbsp;
    if (written) {
        const size_t size = bits_remove_emulation(rbsp, slice->data, slice->size);
        *header = *common;
        complete_header(rebuilder, picture, parameters, header);
        struct bits *nal = &rebuilder->nal;
        nal->count = 0;
        h264_write_slice_header(nal, header, &rebuilder->sps, &rebuilder->pps[0]);
        written = append_data(picture, number, rbsp, size, parameters->slice_data_bit_offset,
                              rebuilder->pps[0].entropy_coding_mode_flag, nal);
        if (written)
            bits_frame_nal_unit(stream, nal);
    }
    free(header);
    free(rbsp);
    return written && !stream->failed;
}
