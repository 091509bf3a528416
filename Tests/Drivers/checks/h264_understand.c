/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the picture means: parameter sets, slice headers, references. */
#include "h264_checks.h"

#include <stdlib.h>
#include <string.h>

bool h264_sps_sent(const struct checker *checker)
{
    return set_sent(checker, SET_SPS, checker->picture.sps.h264.seq_parameter_set_id);
}

/* The PPS that the picture's first slice names, which may differ from the picture parameters' (a finding). */
static uint32_t pps_id(const struct checker *checker)
{
    uint32_t id = checker->picture.picture.h264.pic_parameter_set_id, named;
    const struct packed_unit *unit = slice_unit(checker, 0);
    if (unit && h264_read_slice_pps_id(unit->bytes, unit->bit_count, &named) && checker->sets[SET_PPS][named])
        return named;
    return id;
}

/* H.264 7.3.4: in CABAC, ones up to the next byte come before the slice data, not into the header. */
static void check_after_header(struct checker *checker, uint32_t slice, const struct packed_unit *unit, size_t end)
{
    if (unit->bit_count == end)
        return;
    bool ones = checker->picture.pps.h264.entropy_coding_mode_flag && unit->bit_count == (end + 7) / 8 * 8;
    for (size_t bit = end; ones && bit < unit->bit_count; bit++)
        ones = unit->bytes[bit / 8] >> (7 - bit % 8) & 1;
    if (ones)
        slice_finding(checker, slice, "packed-slice-alignment-bits", "va_enc_h264.h VAEncPackedHeaderH264_Slice",
                      "%zu bits of cabac_alignment_one_bit follow slice_header()", unit->bit_count - end);
    else
        slice_finding(checker, slice, "packed-slice-bits-after-header", "va_enc_h264.h VAEncPackedHeaderH264_Slice",
                      "slice_header() ends at bit %zu, the unit has %zu bits", end, unit->bit_count);
}

/* Reads the application's slice header. */
static bool read_slice(struct checker *checker, uint32_t index, const struct packed_unit *unit)
{
    struct understood_slice *slice = &checker->picture.slices[index];
    struct syntax_error error;
    size_t end = 0;
    if (!h264_read_slice_header(&slice->header.h264, &checker->picture.sps.h264, &checker->picture.pps.h264,
                                unit->bytes, unit->bit_count, &end, NULL, &error)) {
        slice_finding(checker, index, "packed-slice-unreadable", "H.264 7.4.3", "%s at bit %zu %s", error.element,
                      error.bit, error.reason);
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the packed header of slice %u cannot be read",
                       index);
        return false;
    }
    check_after_header(checker, index, unit, end);
    return take_slice_header(checker, index, unit, end);
}

static bool understand_slice(struct checker *checker, uint32_t index)
{
    static const enum coded_type types[] = {
        [H264_SLICE_P] = CODED_P, [H264_SLICE_B] = CODED_B, [H264_SLICE_I] = CODED_I};
    struct understood_slice *slice = &checker->picture.slices[index];
    const struct packed_unit *unit = slice_unit(checker, index);
    slice->prefix = NULL;
    slice->reference_count[0] = slice->reference_count[1] = 0;
    memset(&slice->header.h264, 0, sizeof slice->header.h264);
    if (!unit && packed_kind_configured(checker, VAEncPackedHeaderSlice))
        slice_finding(checker, index, "packed-slice-missing", "va.h VA_ENC_PACKED_HEADER_SLICE",
                      "the config asks for packed slice headers, this slice has none");
    bool understood = unit ? read_slice(checker, index, unit)
                           : h264_make_slice_header(checker, index, &slice->header.h264);
    slice->type = types[slice->header.h264.slice_type % 5 % 3];
    slice->first_block = slice->header.h264.first_mb_in_slice;
    slice->block_count = slice->parameters.h264.num_macroblocks;
    return understood;
}

/* The references that the application lists, with what the DPB knows of them. */
static void understand_references(struct checker *checker, uint32_t index)
{
    struct understood_slice *slice = &checker->picture.slices[index];
    const VAPictureH264 *lists[2] = {slice->parameters.h264.RefPicList0, slice->parameters.h264.RefPicList1};
    uint32_t used = slice->type == CODED_B ? 2 : slice->type == CODED_P ? 1 : 0;
    for (uint32_t list = 0; list < used; list++) {
        slice->reference_count[list] = slice->header.h264.num_ref_idx_active_minus1[list] + 1;
        for (uint32_t i = 0; i < slice->reference_count[list]; i++) {
            const VAPictureH264 *entry = &lists[list][i];
            struct understood_reference *reference = &slice->references[list][i];
            *reference = (struct understood_reference){entry->picture_id, entry->TopFieldOrderCnt,
                                                       (entry->flags & VA_PICTURE_H264_LONG_TERM_REFERENCE) != 0};
            for (uint32_t k = 0; k < checker->dpb.h264.count; k++) {
                const struct h264_dpb_picture *picture = &checker->dpb.h264.pictures[k];
                if (picture->surface != entry->picture_id)
                    continue;
                reference->picture_order_count =
                    h264_frame_order_count(picture->top_field_order_count, picture->bottom_field_order_count);
                reference->long_term = picture->long_term;
            }
        }
    }
}

/* H.264 7.4.2.1.1: size and cropping of 4:2:0. */
static void understand_size(struct understood_picture *picture)
{
    const struct h264_sps *sps = &picture->sps.h264;
    uint32_t fields = 2 - sps->frame_mbs_only_flag;
    picture->chroma_format = 1;
    picture->bit_depth = 8;
    picture->block_size = 16;
    picture->columns = sps->pic_width_in_mbs_minus1 + 1;
    picture->rows = (sps->pic_height_in_map_units_minus1 + 1) * fields;
    picture->width = picture->columns * 16;
    picture->height = picture->rows * 16;
    uint64_t left = 2 * (uint64_t)sps->frame_crop_left_offset, right = 2 * (uint64_t)sps->frame_crop_right_offset;
    uint64_t top = 2 * (uint64_t)sps->frame_crop_top_offset, bottom = 2 * (uint64_t)sps->frame_crop_bottom_offset;
    bool cropped = sps->frame_cropping_flag && left + right < picture->width && top + bottom < picture->height;
    picture->left = cropped ? (uint32_t)left : 0;
    picture->top = cropped ? (uint32_t)top : 0;
    picture->shown_width = picture->width - (cropped ? (uint32_t)(left + right) : 0);
    picture->shown_height = picture->height - (cropped ? (uint32_t)(top + bottom) : 0);
}

/* The parameter sets that the slices name. */
static bool understand_sets(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    bool begins = picture->picture.h264.pic_fields.bits.idr_pic_flag || !checker->dpb.h264.started;
    uint32_t id = pps_id(checker);
    const struct h264_pps *named = checker->sets[SET_PPS][id];
    uint32_t sps_id = named ? named->seq_parameter_set_id : picture->picture.h264.seq_parameter_set_id;
    return settle_sequence_set(checker, SET_SPS, sps_id, begins, h264_make_sps, &picture->sps.h264) &&
           settle_picture_set(checker, SET_PPS, id, begins, h264_make_pps, &picture->pps.h264);
}

void h264_understand(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    if (!understand_sets(checker))
        return;
    checker->have_sets = true;
    understand_size(picture);
    for (uint32_t i = 0; i < picture->slice_count; i++)
        if (!understand_slice(checker, i)) {
            refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
            return;
        }
    const struct h264_slice_header *header = &picture->slices[0].header.h264;
    picture->idr = header->nal_unit_type == H264_NAL_IDR_SLICE;
    picture->reference = header->nal_ref_idc != 0;
    if (header->field_pic_flag)
        refuse_picture(checker, VA_STATUS_ERROR_UNIMPLEMENTED, "field pictures are not coded here");
    checker->h264_order_count = h264_dpb_order_count(&checker->dpb.h264, &picture->sps.h264, header);
    picture->picture_order_count =
        h264_frame_order_count(checker->h264_order_count.top, checker->h264_order_count.bottom);
    picture->long_term = picture->idr && header->long_term_reference_flag;
    for (unsigned i = 0; header->adaptive_ref_pic_marking_mode_flag && i < H264_MAXIMUM_OPERATIONS; i++) {
        if (header->marking[i].memory_management_control_operation == 0)
            break;
        picture->long_term |= header->marking[i].memory_management_control_operation == 6;
    }
    checker->have_headers = true;
    for (uint32_t i = 0; i < picture->slice_count; i++)
        understand_references(checker, i);
    if (!picture->idr && !checker->dpb.h264.started)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the first picture is no IDR picture");
}

/* H.264 8.2.5.4.5 */
static bool has_operation_5(const struct h264_slice_header *header)
{
    for (unsigned i = 0; header->adaptive_ref_pic_marking_mode_flag && i < H264_MAXIMUM_OPERATIONS; i++) {
        if (header->marking[i].memory_management_control_operation == 0)
            return false;
        if (header->marking[i].memory_management_control_operation == 5)
            return true;
    }
    return false;
}

void h264_commit(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    struct history *history = &checker->history;
    const struct h264_slice_header *header = &picture->slices[0].header.h264;
    char reason[CHECKS_REASON_SIZE] = "";
    if (!h264_dpb_commit(&checker->dpb.h264, &picture->sps.h264, header, &checker->h264_order_count,
                         picture->reconstruction, reason, sizeof reason))
        finding(checker, "reference-marking-wrong", "H.264 8.2.5", "%s", reason);
    history->end_of_sequence = (picture->picture.h264.last_picture &
                                (H264_LAST_PICTURE_EOSEQ | H264_LAST_PICTURE_EOSTREAM)) != 0;
    if (picture->idr) {
        history->previous_idr_pic_id = header->idr_pic_id;
        history->active.h264 = picture->sps.h264;
        history->has_active_sps = true;
    }
    bool anew = has_operation_5(header);
    remember_picture(checker, picture->idr || anew, anew ? 0 : picture->picture_order_count);
}
