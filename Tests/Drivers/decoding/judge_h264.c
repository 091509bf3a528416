/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a picture of H.264 may say, apart from its bits and from the pictures before it. */
#include "rebuild_h264.h"

#include <stdlib.h>
#include <string.h>

#define BOTH_FIELDS (VA_PICTURE_H264_TOP_FIELD | VA_PICTURE_H264_BOTTOM_FIELD)
#define KNOWN_FLAGS 0x1f

static bool is_in(int value, int minimum, int maximum)
{
    return value >= minimum && value <= maximum;
}

static bool judge_field(const struct rebuild_picture *picture, const char *name, int value, int minimum, int maximum)
{
    if (is_in(value, minimum, maximum))
        return true;
    rebuild_finding(picture, UINT32_MAX, "picture-parameter-range", "va.h VAPictureParameterBufferH264",
                    "%s is %d, allowed are %d to %d", name, value, minimum, maximum);
    return false;
}

static bool judge_sequence(const struct rebuild_picture *picture, const VAPictureParameterBufferH264 *parameters)
{
    const bool frames_only = parameters->seq_fields.bits.frame_mbs_only_flag;
    const uint32_t columns = parameters->picture_width_in_mbs_minus1 + 1u;
    const uint32_t rows = parameters->picture_height_in_mbs_minus1 + 1u;
    bool good = judge_field(picture, "chroma_format_idc", parameters->seq_fields.bits.chroma_format_idc, 0, 1) &&
                judge_field(picture, "bit_depth_luma_minus8", parameters->bit_depth_luma_minus8, 0, 0) &&
                judge_field(picture, "bit_depth_chroma_minus8", parameters->bit_depth_chroma_minus8, 0, 0) &&
                judge_field(picture, "residual_colour_transform_flag",
                            parameters->seq_fields.bits.residual_colour_transform_flag, 0, 0) &&
                judge_field(picture, "num_ref_frames", parameters->num_ref_frames, 0, REBUILD_MAXIMUM_REFERENCES) &&
                judge_field(picture, "direct_8x8_inference_flag",
                            parameters->seq_fields.bits.direct_8x8_inference_flag, !frames_only, 1) &&
                judge_field(picture, "field_pic_flag", parameters->pic_fields.bits.field_pic_flag, 0, !frames_only) &&
                judge_field(picture, "mb_adaptive_frame_field_flag",
                            parameters->seq_fields.bits.mb_adaptive_frame_field_flag, 0, !frames_only);
    if (good && (columns != (picture->context_width + 15) / 16 ||
                 rows > (picture->context_height + 31) / 32 * 2 || rows < (picture->context_height + 15) / 16))
        rebuild_finding(picture, UINT32_MAX, "picture-size",
                        "va.h VAPictureParameterBufferH264.picture_width_in_mbs_minus1",
                        "%ux%u macroblocks, the context was created for %ux%u samples", columns, rows,
                        picture->context_width, picture->context_height);
    if (good && !frames_only && rows % 2) {
        judge_field(picture, "picture_height_in_mbs_minus1 with fields", (int)rows - 1, (int)rows, (int)rows);
        good = false;
    }
    if (good && 16 * columns > (picture->target.surface.width + 15) / 16 * 16) {
        rebuild_finding(picture, UINT32_MAX, "decoding-target-too-small", "vaBeginPicture",
                        "surface 0x%08x has %ux%u samples, the picture %ux%u macroblocks", picture->target.surface.id,
                        picture->target.surface.width, picture->target.surface.height, columns, rows);
        good = false;
    }
    return good;
}

static bool judge_picture(const struct rebuild_picture *picture, const VAPictureParameterBufferH264 *parameters)
{
    return judge_field(picture, "pic_init_qp_minus26", parameters->pic_init_qp_minus26, -26, 25) &&
           judge_field(picture, "pic_init_qs_minus26", parameters->pic_init_qs_minus26, -26, 25) &&
           judge_field(picture, "chroma_qp_index_offset", parameters->chroma_qp_index_offset, -12, 12) &&
           judge_field(picture, "second_chroma_qp_index_offset", parameters->second_chroma_qp_index_offset, -12, 12) &&
           judge_field(picture, "weighted_bipred_idc", parameters->pic_fields.bits.weighted_bipred_idc, 0, 2);
}

static VAStatus judge_current(struct rebuild_picture *picture, const VAPictureParameterBufferH264 *parameters)
{
    const VAPictureH264 *current = &parameters->CurrPic;
    const uint32_t fields = current->flags & BOTH_FIELDS;
    picture->fields = REBUILD_FRAME;
    if (parameters->pic_fields.bits.field_pic_flag)
        picture->fields = fields == VA_PICTURE_H264_TOP_FIELD ? REBUILD_TOP_FIELD : REBUILD_BOTTOM_FIELD;
    picture->order_count = picture->fields == REBUILD_BOTTOM_FIELD ? current->BottomFieldOrderCnt
                                                                   : current->TopFieldOrderCnt;
    if (picture->fields == REBUILD_FRAME && current->BottomFieldOrderCnt < picture->order_count)
        picture->order_count = current->BottomFieldOrderCnt;
    const bool one = fields == VA_PICTURE_H264_TOP_FIELD || fields == VA_PICTURE_H264_BOTTOM_FIELD;
    if (one != (picture->fields != REBUILD_FRAME) || current->flags & VA_PICTURE_H264_INVALID)
        rebuild_finding(picture, UINT32_MAX, "current-picture-flags", "va.h VAPictureParameterBufferH264.CurrPic",
                        "flags are 0x%x with field_pic_flag %d", current->flags, picture->fields != REBUILD_FRAME);
    if (current->picture_id == picture->target.surface.id)
        return VA_STATUS_SUCCESS;
    rebuild_finding(picture, UINT32_MAX, "current-picture-surface", "va.h VAPictureParameterBufferH264.CurrPic",
                    "is 0x%08x, vaBeginPicture was called with 0x%08x", current->picture_id,
                    picture->target.surface.id);
    return VA_STATUS_ERROR_INVALID_PARAMETER;
}

/* An entry of ReferenceFrames that is used. */
static bool judge_reference(const struct rebuild_picture *picture, const VAPictureH264 *entry, unsigned index,
                            const struct rebuild_surface *reference)
{
    static const char clause[] = "va.h VAPictureParameterBufferH264.ReferenceFrames";
    const uint32_t kinds = VA_PICTURE_H264_SHORT_TERM_REFERENCE | VA_PICTURE_H264_LONG_TERM_REFERENCE;
    const uint32_t kind = entry->flags & kinds;
    if (!reference->surface.valid) {
        rebuild_finding(picture, UINT32_MAX, "reference-invalid", clause, "entry %u: 0x%08x is no surface", index,
                        entry->picture_id);
        return false;
    }
    if (kind == 0 || kind == kinds || entry->flags & ~KNOWN_FLAGS)
        rebuild_finding(picture, UINT32_MAX, "reference-flags", clause, "entry %u: flags are 0x%x", index,
                        entry->flags);
    const uint32_t other =
        picture->fields == REBUILD_TOP_FIELD ? VA_PICTURE_H264_BOTTOM_FIELD : VA_PICTURE_H264_TOP_FIELD;
    if (entry->picture_id == picture->target.surface.id &&
        (picture->fields == REBUILD_FRAME || (entry->flags & BOTH_FIELDS) != other)) {
        rebuild_finding(picture, UINT32_MAX, "reference-is-current-picture", clause,
                        "entry %u: 0x%08x is to receive this picture", index, entry->picture_id);
        return false;
    }
    if (!reference->filled)
        rebuild_finding(picture, UINT32_MAX, "reference-without-picture", clause,
                        "entry %u: nothing was ever decoded into 0x%08x", index, entry->picture_id);
    return true;
}

static bool judge_references(struct rebuild_picture *picture, const VAPictureParameterBufferH264 *parameters,
                             const struct rebuild_scene *scene)
{
    unsigned count = 0;
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const VAPictureH264 *entry = &parameters->ReferenceFrames[i];
        struct rebuild_surface *reference = &picture->references[i];
        *reference = (struct rebuild_surface){.surface = {.id = VA_INVALID_SURFACE}};
        if (entry->flags & VA_PICTURE_H264_INVALID || entry->picture_id == VA_INVALID_SURFACE)
            continue;
        for (unsigned j = 0; j < i; j++)
            if (picture->references[j].surface.id == entry->picture_id) {
                rebuild_finding(picture, UINT32_MAX, "reference-repeated",
                                "va.h VAPictureParameterBufferH264.ReferenceFrames", "entries %u and %u are 0x%08x", j,
                                i, entry->picture_id);
                return false;
            }
        *reference = scene->surface(scene->token, entry->picture_id);
        if (!judge_reference(picture, entry, i, reference))
            return false;
        count += entry->picture_id != picture->target.surface.id;
    }
    if (count > parameters->num_ref_frames)
        rebuild_finding(picture, UINT32_MAX, "reference-count", "H.264 7.4.2.1.1 max_num_ref_frames",
                        "%u references are listed, num_ref_frames is %u", count, parameters->num_ref_frames);
    return true;
}

static void judge_matrices(const struct rebuild_picture *picture, const VAPictureParameterBufferH264 *parameters)
{
    const VAIQMatrixBufferH264 *matrices = rebuild_find_buffer(picture, VAIQMatrixBufferType, sizeof(*matrices),
                                                               "VAIQMatrixBufferH264");
    if (!matrices || !journal_judging())
        return;
    bool zero = memchr(matrices->ScalingList4x4, 0, sizeof(matrices->ScalingList4x4)) != NULL;
    if (parameters->pic_fields.bits.transform_8x8_mode_flag)
        zero = zero || memchr(matrices->ScalingList8x8, 0, sizeof(matrices->ScalingList8x8)) != NULL;
    if (zero)
        rebuild_finding(picture, UINT32_MAX, "iq-matrix-zero", "H.264 7.4.2.1.1.1", "a scale is 0");
}

static bool is_listed(const struct rebuild_picture *picture, VASurfaceID surface)
{
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++)
        if (picture->references[i].surface.id == surface)
            return surface != VA_INVALID_SURFACE;
    return false;
}

static void judge_list(const struct rebuild_picture *picture, uint32_t number, const char *name,
                       const VAPictureH264 entries[32], unsigned count)
{
    static const char clause[] = "va.h VASliceParameterBufferH264.RefPicList0, RefPicList1";
    for (unsigned i = 0; i < 32; i++) {
        const bool invalid =
            entries[i].flags & VA_PICTURE_H264_INVALID || entries[i].picture_id == VA_INVALID_SURFACE;
        if (i >= count) {
            if (!invalid)
                rebuild_finding(picture, number, "reference-list-excess", clause,
                                "%s[%u] is 0x%08x, beyond the %u entries of the list", name, i, entries[i].picture_id,
                                count);
            continue;
        }
        const uint32_t fields = entries[i].flags & BOTH_FIELDS;
        const bool one = fields == VA_PICTURE_H264_TOP_FIELD || fields == VA_PICTURE_H264_BOTTOM_FIELD;
        if (invalid || !is_listed(picture, entries[i].picture_id))
            rebuild_finding(picture, number, "reference-list-entry", clause,
                            "%s[%u] is 0x%08x with flags 0x%x, which ReferenceFrames do not list", name, i,
                            entries[i].picture_id, entries[i].flags);
        else if (one != (picture->fields != REBUILD_FRAME))
            rebuild_finding(picture, number, "reference-list-fields", clause, "%s[%u] has the flags 0x%x in a %s", name,
                            i, entries[i].flags, picture->fields == REBUILD_FRAME ? "frame" : "field");
    }
}

static bool judge_slice_field(const struct rebuild_picture *picture, uint32_t number, const char *name, int value,
                              int minimum, int maximum)
{
    if (is_in(value, minimum, maximum))
        return true;
    rebuild_finding(picture, number, "slice-parameter-range", "va.h VASliceParameterBufferH264",
                    "%s is %d, allowed are %d to %d", name, value, minimum, maximum);
    return false;
}

static bool judge_weights(const struct rebuild_picture *picture, uint32_t number,
                          const VAPictureParameterBufferH264 *parameters, const VASliceParameterBufferH264 *slice)
{
    const unsigned kind = h264_slice_kind(slice->slice_type);
    if (!(kind == H264_SLICE_P && parameters->pic_fields.bits.weighted_pred_flag) &&
        !(kind == H264_SLICE_B && parameters->pic_fields.bits.weighted_bipred_idc == 1))
        return true;
    bool good = judge_slice_field(picture, number, "luma_log2_weight_denom", slice->luma_log2_weight_denom, 0, 7) &&
                judge_slice_field(picture, number, "chroma_log2_weight_denom", slice->chroma_log2_weight_denom, 0, 7);
    const int luma = good ? 1 << slice->luma_log2_weight_denom : 0;
    const int chroma = good ? 1 << slice->chroma_log2_weight_denom : 0;
    for (unsigned i = 0; good && i <= slice->num_ref_idx_l0_active_minus1; i++) {
        good = !slice->luma_weight_l0_flag || slice->luma_weight_l0[i] == luma ||
               judge_slice_field(picture, number, "luma_weight_l0", slice->luma_weight_l0[i], -128, 127);
        for (unsigned plane = 0; good && slice->chroma_weight_l0_flag && plane < 2; plane++)
            good = slice->chroma_weight_l0[i][plane] == chroma ||
                   judge_slice_field(picture, number, "chroma_weight_l0", slice->chroma_weight_l0[i][plane], -128, 127);
    }
    for (unsigned i = 0; good && kind == H264_SLICE_B && i <= slice->num_ref_idx_l1_active_minus1; i++) {
        good = !slice->luma_weight_l1_flag || slice->luma_weight_l1[i] == luma ||
               judge_slice_field(picture, number, "luma_weight_l1", slice->luma_weight_l1[i], -128, 127);
        for (unsigned plane = 0; good && slice->chroma_weight_l1_flag && plane < 2; plane++)
            good = slice->chroma_weight_l1[i][plane] == chroma ||
                   judge_slice_field(picture, number, "chroma_weight_l1", slice->chroma_weight_l1[i][plane], -128, 127);
    }
    return good;
}

static bool judge_slice(const struct rebuild_picture *picture, uint32_t number,
                        const VAPictureParameterBufferH264 *parameters, const struct rebuild_slice *slice)
{
    const VASliceParameterBufferH264 *values = slice->parameters;
    const unsigned kind = h264_slice_kind(values->slice_type);
    const int most = picture->fields == REBUILD_FRAME ? 15 : 31;
    const int offset = parameters->pic_init_qp_minus26;
    const uint32_t macroblocks = (parameters->picture_width_in_mbs_minus1 + 1u) *
                                 (parameters->picture_height_in_mbs_minus1 + 1u) /
                                 (parameters->seq_fields.bits.mb_adaptive_frame_field_flag ||
                                  picture->fields != REBUILD_FRAME ? 2 : 1);
    bool good =
        judge_slice_field(picture, number, "slice_type", values->slice_type, 0, 9) &&
        judge_slice_field(picture, number, "slice_type modulo 5", (int)kind, 0, 2) &&
        judge_slice_field(picture, number, "first_mb_in_slice", values->first_mb_in_slice, 0, (int)macroblocks - 1) &&
        judge_slice_field(picture, number, "slice_qp_delta", values->slice_qp_delta, -26 - offset, 25 - offset) &&
        judge_slice_field(picture, number, "cabac_init_idc", values->cabac_init_idc, 0, 2) &&
        judge_slice_field(picture, number, "disable_deblocking_filter_idc", values->disable_deblocking_filter_idc, 0,
                          2) &&
        judge_slice_field(picture, number, "slice_alpha_c0_offset_div2", values->slice_alpha_c0_offset_div2, -6, 6) &&
        judge_slice_field(picture, number, "slice_beta_offset_div2", values->slice_beta_offset_div2, -6, 6);
    if (good && kind != H264_SLICE_I)
        good = judge_slice_field(picture, number, "num_ref_idx_l0_active_minus1",
                                 values->num_ref_idx_l0_active_minus1, 0, most);
    if (good && kind == H264_SLICE_B)
        good = judge_slice_field(picture, number, "num_ref_idx_l1_active_minus1",
                                 values->num_ref_idx_l1_active_minus1, 0, most);
    if (good && values->slice_data_bit_offset >= 8 * slice->size) {
        rebuild_finding(picture, number, "slice-data-bit-offset",
                        "va.h VASliceParameterBufferH264.slice_data_bit_offset", "is %u, the slice has %zu bytes",
                        values->slice_data_bit_offset, slice->size);
        good = false;
    }
    if (!good || !judge_weights(picture, number, parameters, values))
        return false;
    if (!journal_judging())
        return true;
    judge_list(picture, number, "RefPicList0", values->RefPicList0,
               kind == H264_SLICE_I ? 0 : values->num_ref_idx_l0_active_minus1 + 1u);
    judge_list(picture, number, "RefPicList1", values->RefPicList1,
               kind != H264_SLICE_B ? 0 : values->num_ref_idx_l1_active_minus1 + 1u);
    return true;
}

static bool judge_slices(const struct rebuild_picture *picture, const VAPictureParameterBufferH264 *parameters)
{
    struct rebuild_cursor cursor = {0};
    struct rebuild_slice slice;
    uint32_t next = 0;
    while (rebuild_next_slice(picture, sizeof(VASliceParameterBufferH264), &cursor, &slice)) {
        const uint32_t number = cursor.count - 1;
        const VASliceParameterBufferH264 *values = slice.parameters;
        if (!judge_slice(picture, number, parameters, &slice))
            return false;
        if (number == 0 ? values->first_mb_in_slice != 0 : values->first_mb_in_slice < next)
            rebuild_finding(picture, number, "slice-order", "H.264 7.4.3 first_mb_in_slice",
                            "is %u, expected %s %u", values->first_mb_in_slice, number ? "at least" : "the first,",
                            next);
        next = values->first_mb_in_slice + 1u;
    }
    if (cursor.count == 0 && !cursor.broken)
        rebuild_finding(picture, UINT32_MAX, "slice-missing", "va.h VASliceParameterBufferH264", "there is no slice");
    return cursor.count > 0 && !cursor.broken;
}

VAStatus h264_judge(struct rebuild_picture *picture, const struct rebuild_scene *scene)
{
    const VAPictureParameterBufferH264 *parameters = rebuild_find_buffer(
        picture, VAPictureParameterBufferType, sizeof(*parameters), "VAPictureParameterBufferH264");
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++)
        picture->references[i] = (struct rebuild_surface){.surface = {.id = VA_INVALID_SURFACE}};
    if (!parameters)
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    VAStatus status = judge_current(picture, parameters);
    if (status != VA_STATUS_SUCCESS)
        return status;
    if (!judge_sequence(picture, parameters) || !judge_picture(picture, parameters))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (!judge_references(picture, parameters, scene))
        return VA_STATUS_ERROR_INVALID_SURFACE;
    judge_matrices(picture, parameters);
    return judge_slices(picture, parameters) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_PARAMETER;
}
