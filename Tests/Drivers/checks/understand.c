/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the picture means: parameter sets, slice headers, order of the stream, references. */
#include "checker.h"

#include <stdlib.h>
#include <string.h>

/* Appends a packed unit as it shall stand in the stream. */
static void append_unit(struct checker *checker, struct bits *out, const struct packed_unit *unit)
{
    const struct packed_header *header = &checker->collected.headers[unit->header];
    static const uint8_t start_code[] = {0, 0, 1};
    if (header->parameters.has_emulation_bytes) {
        const uint8_t *bytes = header->data + unit->first;
        bool coded = false;
        for (size_t i = 0; i + 3 <= unit->size && !coded && !(i && bytes[i - 1]); i++)
            coded = memcmp(bytes + i, start_code, 3) == 0;
        if (!coded)
            bits_append(out, start_code, 0, 24);
        bits_append(out, bytes, 0, unit->size * 8);
    } else {
        struct bits nal = {.bytes = unit->bytes, .count = (unit->bit_count + 7) / 8 * 8};
        bits_frame_nal_unit(out, &nal);
    }
}

static void append_own(struct bits *out, const struct bits *own)
{
    bits_append(out, own->bytes, 0, own->count);
}

static void *copy_of(const void *value, size_t size)
{
    void *copy = malloc(size);
    if (copy)
        memcpy(copy, value, size);
    return copy;
}

/* Frames an own parameter set; true when it differs from the one sent last. */
static bool frame_own(struct bits *last, struct bits *nal)
{
    struct bits framed = {0};
    bits_trail(nal);
    bits_frame_nal_unit(&framed, nal);
    bool differs = framed.count != last->count || memcmp(framed.bytes, last->bytes, framed.count / 8) != 0;
    bits_release(nal);
    bits_release(last);
    *last = framed;
    return differs;
}

/* Decides on the SPS: the application's where it packed one, else made of the sequence parameters. `send` tells
 * whether an own one must go into the stream with this picture. */
static bool understand_sps(struct checker *checker, uint32_t id, bool *send)
{
    struct understood_picture *picture = &checker->picture;
    bool packed = packed_kind_configured(checker, VAEncPackedHeaderSequence);
    bool known = id < 32 && checker->sps[id];
    bool begins = picture->picture.pic_fields.bits.idr_pic_flag || !checker->dpb.started;
    *send = false;
    if (begins && any_sent(checker->sps_sent_now, 32) && !(id < 32 && checker->sps_sent_now[id]))
        finding(checker, "sps-id-not-sent", "H.264 7.4.2.2 seq_parameter_set_id",
                "an SPS was packed, but none with the id %u that is referred to", id);
    if (known && (checker->sps_sent_now[id] || packed || !begins)) {
        picture->sps = *checker->sps[id];
        *send = checker->lost_own_sps && !checker->sps_sent_now[id];
        return true;
    }
    if (!make_sps(checker, &picture->sps))
        return false;
    id = picture->sps.seq_parameter_set_id;
    struct bits nal = {0};
    h264_write_sps(&nal, &picture->sps);
    frame_own(&checker->own_sps, &nal);
    replace_sps(checker, id, copy_of(&picture->sps, sizeof picture->sps));
    checker->sps_sent_now[id] = true;
    *send = true;
    return checker->sps[id] != NULL;
}

/* As understand_sps. An own PPS follows the picture parameters whenever they change. */
static bool understand_pps(struct checker *checker, uint32_t id, bool *send)
{
    struct understood_picture *picture = &checker->picture;
    bool packed = packed_kind_configured(checker, VAEncPackedHeaderPicture);
    bool own = checker->own_pps.count != 0;
    bool begins = picture->picture.pic_fields.bits.idr_pic_flag || !checker->dpb.started;
    *send = false;
    if ((begins || !checker->pps[id]) && any_sent(checker->pps_sent_now, 256) && !checker->pps_sent_now[id])
        finding(checker, "pps-id-not-sent", "H.264 7.4.3 pic_parameter_set_id",
                "a PPS was packed, but none with the id %u that is referred to", id);
    if (checker->pps[id] && (checker->pps_sent_now[id] || packed || !own)) {
        picture->pps = *checker->pps[id];
        return true;
    }
    if (!make_pps(checker, &picture->sps, &picture->pps))
        return false;
    id = picture->pps.pic_parameter_set_id;
    struct bits nal = {0};
    h264_write_pps(&nal, &picture->pps);
    bool changed = frame_own(&checker->own_pps, &nal);
    replace_pps(checker, id, copy_of(&picture->pps, sizeof picture->pps));
    *send = changed || begins || checker->lost_own_pps;
    return checker->pps[id] != NULL;
}

/* The slice unit of the slice's packed header, or NULL. */
static const struct packed_unit *slice_unit(const struct checker *checker, uint32_t slice)
{
    const struct collected *collected = &checker->collected;
    uint32_t packed = collected->slices[slice].packed;
    if (packed == UINT32_MAX || !collected->headers[packed].taken)
        return NULL;
    const struct packed_header *header = &collected->headers[packed];
    for (uint32_t i = 0; i < header->unit_count; i++) {
        const struct packed_unit *unit = &collected->units[header->first_unit + i];
        if (unit->type == H264_NAL_SLICE || unit->type == H264_NAL_IDR_SLICE)
            return unit;
    }
    return NULL;
}

/* The PPS that the picture's first slice names, which may differ from the picture parameters' (a finding). */
static uint32_t pps_id(const struct checker *checker)
{
    uint32_t id = checker->picture.picture.pic_parameter_set_id, named;
    const struct packed_unit *unit = slice_unit(checker, 0);
    if (unit && h264_read_slice_pps_id(unit->bytes, unit->bit_count, &named) && checker->pps[named])
        return named;
    return id;
}

/* H.264 7.3.4: in CABAC, ones up to the next byte come before the slice data, not into the header. */
static void check_after_header(struct checker *checker, uint32_t slice, const struct packed_unit *unit, size_t end)
{
    if (unit->bit_count == end)
        return;
    bool ones = checker->picture.pps.entropy_coding_mode_flag && unit->bit_count == (end + 7) / 8 * 8;
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
static bool read_slice(struct checker *checker, uint32_t index, struct packed_unit *unit)
{
    struct understood_slice *slice = &checker->picture.slices[index];
    struct syntax_error error;
    size_t end = 0;
    if (!h264_read_slice_header(&slice->header, &checker->picture.sps, &checker->picture.pps, unit->bytes,
                                unit->bit_count, &end, NULL, &error)) {
        slice_finding(checker, index, "packed-slice-unreadable", "H.264 7.4.3", "%s at bit %zu %s", error.element,
                      error.bit, error.reason);
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the packed header of slice %u cannot be read",
                       index);
        return false;
    }
    check_after_header(checker, index, unit, end);
    bits_append(&slice->nal, unit->bytes, 0, end);
    return !slice->nal.failed;
}

static bool understand_slice(struct checker *checker, uint32_t index)
{
    struct understood_slice *slice = &checker->picture.slices[index];
    const struct packed_unit *unit = slice_unit(checker, index);
    slice->prefix = NULL;
    slice->reference_count[0] = slice->reference_count[1] = 0;
    slice->macroblock_count = slice->parameters.num_macroblocks;
    memset(&slice->header, 0, sizeof slice->header);
    if (unit)
        return read_slice(checker, index, (struct packed_unit *)(uintptr_t)unit);
    if (packed_kind_configured(checker, VAEncPackedHeaderSlice))
        slice_finding(checker, index, "packed-slice-missing", "va.h VA_ENC_PACKED_HEADER_SLICE",
                      "the config asks for packed slice headers, this slice has none");
    return make_slice_header(checker, index, &slice->header);
}

/* Slices must follow each other without gap and cover the picture, else the stream cannot be decoded. */
static void understand_coverage(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    const struct h264_sps *sps = &picture->sps;
    uint64_t next = 0, total = (uint64_t)(sps->pic_width_in_mbs_minus1 + 1) *
                               (sps->pic_height_in_map_units_minus1 + 1) * (2 - sps->frame_mbs_only_flag);
    for (uint32_t i = 0; i < picture->slice_count; i++) {
        const struct understood_slice *slice = &picture->slices[i];
        if (slice->header.first_mb_in_slice != next || slice->macroblock_count == 0 ||
            slice->macroblock_count > total - next) {
            refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER,
                           "slice %u has macroblocks from %u on, %u of them; expected from %llu on, up to %llu", i,
                           slice->header.first_mb_in_slice, slice->macroblock_count, (unsigned long long)next,
                           (unsigned long long)total);
            return;
        }
        next += slice->macroblock_count;
    }
    if (next != total)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the slices have %llu macroblocks, the picture %llu",
                       (unsigned long long)next, (unsigned long long)total);
}

/* The references that the application lists, with what the DPB knows of them. */
static void understand_references(struct checker *checker, uint32_t index)
{
    struct understood_slice *slice = &checker->picture.slices[index];
    const VAPictureH264 *lists[2] = {slice->parameters.RefPicList0, slice->parameters.RefPicList1};
    uint32_t type = slice->header.slice_type % 5, used = type == H264_SLICE_B ? 2 : type == H264_SLICE_P ? 1 : 0;
    for (uint32_t list = 0; list < used; list++) {
        slice->reference_count[list] = slice->header.num_ref_idx_active_minus1[list] + 1;
        for (uint32_t i = 0; i < slice->reference_count[list]; i++) {
            const VAPictureH264 *entry = &lists[list][i];
            struct understood_reference *reference = &slice->references[list][i];
            *reference = (struct understood_reference){entry->picture_id, entry->TopFieldOrderCnt,
                                                       (entry->flags & VA_PICTURE_H264_LONG_TERM_REFERENCE) != 0};
            for (uint32_t k = 0; k < checker->dpb.count; k++) {
                const struct h264_dpb_picture *picture = &checker->dpb.pictures[k];
                if (picture->surface != entry->picture_id)
                    continue;
                reference->picture_order_count =
                    h264_frame_order_count(picture->top_field_order_count, picture->bottom_field_order_count);
                reference->long_term = picture->long_term;
            }
            if (!checker->submission->surface(checker->submission->token, entry->picture_id).valid)
                refuse_picture(checker, VA_STATUS_ERROR_INVALID_SURFACE,
                               "entry %u of list %u of slice %u is surface 0x%x, which does not exist", i, list, index,
                               entry->picture_id);
        }
    }
}

/* What goes before the first slice: packed units in their order, own parameter sets behind a leading access unit
 * delimiter, an own PPS behind a packed SPS. What comes between later slices is their prefix. */
static void understand_stream(struct checker *checker, bool own_sps, bool own_pps)
{
    struct collected *collected = &checker->collected;
    struct bits *headers = &checker->picture.headers;
    bool pending = own_sps || own_pps;
    uint32_t slice = 0;
    struct bits *out = headers;
    /* An own PPS needs a packed SPS before it. */
    bool after_sps = own_pps && !own_sps && checker->sps_sent_now[checker->picture.sps.seq_parameter_set_id];
    for (uint32_t i = 0; i < collected->unit_count; i++) {
        const struct packed_unit *unit = &collected->units[i];
        const struct packed_header *header = &collected->headers[unit->header];
        if (!header->taken)
            continue;
        bool is_slice = unit->type == H264_NAL_SLICE || unit->type == H264_NAL_IDR_SLICE;
        if (pending && out == headers && !after_sps && unit->type != H264_NAL_AUD) {
            append_own(headers, own_sps ? &checker->own_sps : &(struct bits){0});
            append_own(headers, own_pps ? &checker->own_pps : &(struct bits){0});
            pending = false;
        }
        if (is_slice) {
            if (slice < collected->slice_count)
                slice++;
            out = slice < collected->slice_count ? &checker->prefixes[slice] : NULL;
        } else if (out) {
            append_unit(checker, out, unit);
        }
        if (unit->type == H264_NAL_SPS)
            after_sps = false;
    }
    if (pending) {
        append_own(headers, own_sps ? &checker->own_sps : &(struct bits){0});
        append_own(headers, own_pps ? &checker->own_pps : &(struct bits){0});
    }
    for (uint32_t i = 1; i < collected->slice_count; i++)
        checker->picture.slices[i].prefix = checker->prefixes[i].count ? &checker->prefixes[i] : NULL;
}

/* What the driver codes: the surfaces exist, and the picture fits in them. */
static void understand_surfaces(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    const struct understood_picture *picture = &checker->picture;
    uint32_t id = picture->picture.CurrPic.picture_id;
    struct submitted_surface reconstruction = submission->surface(submission->token, id);
    uint32_t width = (submission->context_width + 15) / 16, height = (submission->context_height + 15) / 16;
    if (!submission->input.valid)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_SURFACE, "input surface 0x%x does not exist",
                       submission->input.id);
    if (!reconstruction.valid)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_SURFACE, "CurrPic.picture_id 0x%x is no surface", id);
    if (reconstruction.valid && id == submission->input.id)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_SURFACE, "surface 0x%x is input and reconstruction", id);
    if (submission->coded_buffer_size(submission->token, picture->picture.coded_buf) == 0)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_BUFFER, "coded_buf 0x%x is no coded buffer",
                       picture->picture.coded_buf);
    if (picture->sps.pic_width_in_mbs_minus1 + 1 > width ||
        (picture->sps.pic_height_in_map_units_minus1 + 1) * (2 - picture->sps.frame_mbs_only_flag) > height)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER,
                       "the SPS has %u x %u macroblocks, the context %u x %u", picture->sps.pic_width_in_mbs_minus1 + 1,
                       (picture->sps.pic_height_in_map_units_minus1 + 1) * (2 - picture->sps.frame_mbs_only_flag),
                       width, height);
}

static void require_buffers(struct checker *checker)
{
    const struct collected *collected = &checker->collected;
    if (collected->out_of_memory)
        refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
    if (!checker->have_sequence)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "no sequence parameters came, now or before");
    if (!collected->picture)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "no picture parameters");
    if (collected->slice_count == 0)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "no slice parameters");
    if (collected->slices_ignored)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "more than %d slices", CHECKS_MAXIMUM_SLICES);
}

void understand_picture(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    bool send_sps = false, send_pps = false;
    require_buffers(checker);
    if (!picture->codable)
        return;
    uint32_t id = pps_id(checker);
    uint32_t sps_id = checker->pps[id] ? checker->pps[id]->seq_parameter_set_id
                                       : picture->picture.seq_parameter_set_id;
    if (!understand_sps(checker, sps_id, &send_sps) || !understand_pps(checker, id, &send_pps)) {
        refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
        return;
    }
    checker->have_sets = true;
    for (uint32_t i = 0; i < picture->slice_count; i++)
        if (!understand_slice(checker, i)) {
            refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
            return;
        }
    const struct h264_slice_header *header = &picture->slices[0].header;
    picture->idr = header->nal_unit_type == H264_NAL_IDR_SLICE;
    picture->reference = header->nal_ref_idc != 0;
    if (header->field_pic_flag)
        refuse_picture(checker, VA_STATUS_ERROR_UNIMPLEMENTED, "field pictures are not coded here");
    checker->order_count = h264_dpb_order_count(&checker->dpb, &picture->sps, header);
    picture->picture_order_count = h264_frame_order_count(checker->order_count.top, checker->order_count.bottom);
    picture->long_term = picture->idr && header->long_term_reference_flag;
    for (unsigned i = 0; header->adaptive_ref_pic_marking_mode_flag && i < H264_MAXIMUM_OPERATIONS; i++) {
        if (header->marking[i].memory_management_control_operation == 0)
            break;
        picture->long_term |= header->marking[i].memory_management_control_operation == 6;
    }
    checker->have_headers = true;
    understand_coverage(checker);
    for (uint32_t i = 0; i < picture->slice_count; i++)
        understand_references(checker, i);
    understand_surfaces(checker);
    understand_stream(checker, send_sps, send_pps);
    checker->sends_own_sps = send_sps;
    checker->sends_own_pps = send_pps;
    if (!picture->idr && !checker->dpb.started)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the first picture is no IDR picture");
}

void commit_picture(struct checker *checker)
{
    struct understood_picture *picture = &checker->picture;
    char reason[CHECKS_REASON_SIZE] = "";
    if (!picture->codable)
        return;
    if (!h264_dpb_commit(&checker->dpb, &picture->sps, &picture->slices[0].header, &checker->order_count,
                         picture->picture.CurrPic.picture_id, reason, sizeof reason))
        finding(checker, "reference-marking-wrong", "H.264 8.2.5", "%s", reason);
    checker->lost_own_sps = checker->lost_own_sps && !checker->sends_own_sps;
    checker->lost_own_pps = checker->lost_own_pps && !checker->sends_own_pps;
    remember_picture(checker);
    keep_past(checker);
}
