/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the picture means: parameter sets, slice segment headers, references. */
#include "hevc_checks.h"

#include <string.h>

bool hevc_sps_sent(const struct checker *checker)
{
    return set_sent(checker, SET_SPS, checker->picture.sps.hevc.sps_seq_parameter_set_id);
}

bool hevc_is_empty(const VAPictureHEVC *entry)
{
    return entry->picture_id == VA_INVALID_SURFACE || entry->flags & VA_PICTURE_HEVC_INVALID;
}

/* FNV-1a, 64 bits. */
uint64_t hevc_sps_digest(const struct hevc_sps *sps)
{
    uint64_t digest = 0xcbf29ce484222325u;
    const uint8_t *bytes = (const uint8_t *)sps;
    for (size_t i = 0; i < sizeof *sps; i++)
        digest = (digest ^ bytes[i]) * 0x100000001b3u;
    return digest;
}

/* The PPS that the picture's first slice names, which may differ from the picture parameters' (a finding). */
static uint32_t pps_id(const struct checker *checker)
{
    uint32_t id = checker->picture.picture.hevc.slice_pic_parameter_set_id, named;
    const struct packed_unit *unit = slice_unit(checker, 0);
    if (unit && hevc_read_slice_pps_id(unit->bytes, unit->bit_count, &named) && named < 64 &&
        checker->sets[SET_PPS][named])
        return named;
    return id;
}

/* 7.3.6.1: byte_alignment(), a one and zeros, is the end of a slice segment header. Applications pack it (Intel's own,
 * ffmpeg); one that does not leaves it to the driver. */
static void check_after_header(struct checker *checker, uint32_t slice, const struct packed_unit *unit, size_t end)
{
    if (unit->bit_count == end)
        return;
    bool aligned = unit->bit_count == (end + 8) / 8 * 8 && unit->bytes[end / 8] >> (7 - end % 8) & 1;
    for (size_t bit = end + 1; aligned && bit < unit->bit_count; bit++)
        aligned = !(unit->bytes[bit / 8] >> (7 - bit % 8) & 1);
    if (!aligned)
        slice_finding(checker, slice, "packed-slice-bits-after-header", checker->codec->packed_slice,
                      "slice_segment_header() ends at bit %zu, the unit has %zu bits", end, unit->bit_count);
}

/* Reads the application's slice segment header. */
static bool read_slice(struct checker *checker, uint32_t index, const struct packed_unit *unit)
{
    struct understood_picture *picture = &checker->picture;
    struct syntax_error error;
    size_t end = 0;
    const struct hevc_slice_header *previous = index ? &picture->slices[index - 1].header.hevc : NULL;
    if (!hevc_read_slice_header(&picture->slices[index].header.hevc, &picture->sps.hevc, &picture->pps.hevc, previous,
                                unit->bytes, unit->bit_count, &end, NULL, &error)) {
        slice_finding(checker, index, "packed-slice-unreadable", "H.265 7.4.7", "%s at bit %zu %s", error.element,
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
        [HEVC_SLICE_P] = CODED_P, [HEVC_SLICE_B] = CODED_B, [HEVC_SLICE_I] = CODED_I};
    struct understood_slice *slice = &checker->picture.slices[index];
    const struct packed_unit *unit = slice_unit(checker, index);
    slice->prefix = NULL;
    slice->reference_count[0] = slice->reference_count[1] = 0;
    memset(&slice->header.hevc, 0, sizeof slice->header.hevc);
    if (!unit && packed_kind_configured(checker, VAEncPackedHeaderSlice))
        slice_finding(checker, index, "packed-slice-missing", "va.h VA_ENC_PACKED_HEADER_SLICE",
                      "the config asks for packed slice headers, this slice has none");
    bool understood = unit ? read_slice(checker, index, unit)
                           : hevc_make_slice_header(checker, index, &slice->header.hevc);
    slice->type = types[slice->header.hevc.slice_type % 3];
    slice->first_block = slice->header.hevc.slice_segment_address;
    slice->block_count = slice->parameters.hevc.num_ctu_in_slice;
    return understood;
}

/* The references that the application lists, with what the DPB knows of them. */
static void understand_references(struct checker *checker, uint32_t index)
{
    struct understood_slice *slice = &checker->picture.slices[index];
    const VAPictureHEVC *lists[2] = {slice->parameters.hevc.ref_pic_list0, slice->parameters.hevc.ref_pic_list1};
    uint32_t used = slice->type == CODED_B ? 2 : slice->type == CODED_P ? 1 : 0;
    for (uint32_t list = 0; list < used; list++) {
        slice->reference_count[list] = slice->header.hevc.num_ref_idx_active_minus1[list] + 1;
        for (uint32_t i = 0; i < slice->reference_count[list]; i++) {
            const VAPictureHEVC *entry = &lists[list][i];
            struct understood_reference *reference = &slice->references[list][i];
            *reference = (struct understood_reference){entry->picture_id, entry->pic_order_cnt,
                                                       (entry->flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE) != 0};
            for (uint32_t k = 0; k < checker->hevc.dpb.count; k++) {
                const struct hevc_dpb_picture *picture = &checker->hevc.dpb.pictures[k];
                if (picture->surface != entry->picture_id || picture->marking == HEVC_UNUSED)
                    continue;
                reference->picture_order_count = picture->order_count;
                reference->long_term = picture->marking == HEVC_LONG_TERM;
            }
        }
    }
}

/* H.265 7.4.3.2.1: size and conformance window. */
static void understand_size(struct understood_picture *picture)
{
    const struct hevc_sps *sps = &picture->sps.hevc;
    picture->chroma_format = sps->chroma_format_idc;
    picture->bit_depth = sps->bit_depth_luma_minus8 + 8;
    picture->block_size = 1u << hevc_ctb_log2(sps);
    picture->columns = hevc_width_in_ctbs(sps);
    picture->rows = hevc_height_in_ctbs(sps);
    picture->width = sps->pic_width_in_luma_samples;
    picture->height = sps->pic_height_in_luma_samples;
    const uint64_t across = hevc_crop_width(sps), down = hevc_crop_height(sps);
    uint64_t left = across * sps->conf_win_left_offset, right = across * sps->conf_win_right_offset;
    uint64_t top = down * sps->conf_win_top_offset, bottom = down * sps->conf_win_bottom_offset;
    bool cropped = sps->conformance_window_flag && left + right < picture->width && top + bottom < picture->height;
    picture->left = cropped ? (uint32_t)left : 0;
    picture->top = cropped ? (uint32_t)top : 0;
    picture->shown_width = picture->width - (cropped ? (uint32_t)(left + right) : 0);
    picture->shown_height = picture->height - (cropped ? (uint32_t)(top + bottom) : 0);
}

/* The parameter sets that the slices name. */
static bool understand_sets(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    bool begins = picture->picture.hevc.pic_fields.bits.idr_pic_flag || !checker->dpb.hevc.started;
    uint32_t id = pps_id(checker);
    const struct hevc_pps *pps = id < 64 ? checker->sets[SET_PPS][id] : NULL;
    uint32_t sps_id = pps ? pps->pps_seq_parameter_set_id : 0;
    const struct hevc_sps *sps = sps_id < 16 ? checker->sets[SET_SPS][sps_id] : NULL;
    uint32_t vps_id = sps ? sps->sps_video_parameter_set_id : 0;
    return settle_sequence_set(checker, SET_VPS, vps_id, begins, hevc_make_vps, &picture->vps) &&
           settle_sequence_set(checker, SET_SPS, sps_id, begins, hevc_make_sps, &picture->sps.hevc) &&
           settle_picture_set(checker, SET_PPS, id, begins, hevc_make_pps, &picture->pps.hevc);
}

/* What the coder does not do, and what no coded buffer could hold. */
static void require_coded_here(struct checker *checker)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    bool depth_coded = sps->bit_depth_luma_minus8 == 0 || sps->bit_depth_luma_minus8 == 2 ||
                       sps->bit_depth_luma_minus8 == 4;
    if (sps->chroma_format_idc < 1 || sps->chroma_format_idc > 3 || sps->separate_colour_plane_flag || !depth_coded ||
        sps->bit_depth_luma_minus8 != sps->bit_depth_chroma_minus8)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "chroma format %u of %u and %u bits is not coded",
                       sps->chroma_format_idc, sps->bit_depth_luma_minus8 + 8, sps->bit_depth_chroma_minus8 + 8);
}

/* The picture among those before it, by its first slice segment. */
static void understand_order(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    struct hevc_decoding *decoding = &checker->hevc;
    const struct hevc_slice_header *header = &picture->slices[0].header.hevc;
    decoding->dpb = checker->dpb.hevc;
    decoding->dpb.ended = checker->history.end_of_sequence;
    picture->picture_order_count = hevc_dpb_order_count(&decoding->dpb, &picture->sps.hevc, header);
    decoding->reason[0] = 0;
    decoding->set_right = hevc_dpb_begin(&decoding->dpb, &picture->sps.hevc, header, picture->picture_order_count,
                                         &decoding->set, NULL, decoding->reason, sizeof decoding->reason);
    decoding->skipped_leading = decoding->dpb.no_rasl_output && (header->nal.nal_unit_type == HEVC_NAL_RASL_N ||
                                                                 header->nal.nal_unit_type == HEVC_NAL_RASL_R);
}

void hevc_understand(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    if (!understand_sets(checker))
        return;
    checker->have_sets = true;
    understand_size(picture);
    require_coded_here(checker);
    for (uint32_t i = 0; i < picture->slice_count; i++) {
        if (!understand_slice(checker, i)) {
            refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
            return;
        }
    }
    const struct hevc_slice_header *header = &picture->slices[0].header.hevc;
    uint32_t type = header->nal.nal_unit_type;
    picture->idr = hevc_is_idr(type);
    picture->reference = !hevc_is_sub_layer_non_reference(type);
    understand_order(checker);
    checker->have_headers = true;
    for (uint32_t i = 0; i < picture->slice_count; i++)
        understand_references(checker, i);
    bool without_p = checker->config.limits.prediction_directions & VA_PREDICTION_DIRECTION_BI_NOT_EMPTY;
    for (uint32_t i = 0; without_p && i < picture->slice_count; i++)
        if (picture->slices[i].type == CODED_P)
            refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "slice %u is a P slice", i);
    if (!hevc_is_irap(type) && !checker->dpb.hevc.started)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the first picture is no random access point");
}

void hevc_commit(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    struct history *history = &checker->history;
    const struct hevc_slice_header *header = &picture->slices[0].header.hevc;
    char reason[CHECKS_REASON_SIZE] = "";
    checker->dpb.hevc = checker->hevc.dpb;
    if (!hevc_dpb_end(&checker->dpb.hevc, &picture->sps.hevc, header, picture->picture_order_count,
                      picture->reconstruction, NULL, reason, sizeof reason))
        finding(checker, "dpb-overfull", "H.265 C.5.2.3", "%s", reason);
    history->end_of_sequence =
        (picture->picture.hevc.last_picture & (HEVC_LAST_PICTURE_EOSEQ | HEVC_LAST_PICTURE_EOSTREAM)) != 0;
    bool begins = hevc_is_irap(header->nal.nal_unit_type) && checker->dpb.hevc.no_rasl_output;
    if (begins) {
        history->active.hevc = hevc_sps_digest(&picture->sps.hevc);
        history->has_active_sps = true;
    }
    hevc_remember_kind(checker);
    remember_picture(checker, begins, picture->picture_order_count);
}
