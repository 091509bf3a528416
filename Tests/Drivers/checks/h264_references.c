/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ReferenceFrames and RefPicList0/1 against the model of the DPB and the headers' lists (H.264 8.2.4). */
#include "h264_checks.h"

#include <stdio.h>

#define PICTURE_CLAUSE "va_enc_h264.h VAEncPictureParameterBufferH264.ReferenceFrames"
#define SLICE_CLAUSE "va_enc_h264.h VAEncSliceParameterBufferH264.RefPicListX"
#define TERM_FLAGS (VA_PICTURE_H264_SHORT_TERM_REFERENCE | VA_PICTURE_H264_LONG_TERM_REFERENCE)

/* Where an entry stands, for the journal. */
struct entry_place {
    const char *prefix; /* of names: "reference-frames" or "reference-list" */
    const char *clause;
    uint32_t slice, index; /* slice: UINT32_MAX for the picture's array */
};

static void entry_finding(struct checker *checker, const struct entry_place *place, const char *what, int64_t given,
                          int64_t expected)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%s", place->prefix, what);
    slice_finding(checker, place->slice, name, place->clause, "entry %u: given %lld, expected %lld", place->index,
                  (long long)given, (long long)expected);
}

static void entry_expect(struct checker *checker, const struct entry_place *place, const char *what, int64_t given,
                         int64_t expected)
{
    if (given != expected)
        entry_finding(checker, place, what, given, expected);
}

/* An entry that stands for no picture. */
static bool is_empty(const VAPictureH264 *entry)
{
    return entry->picture_id == VA_INVALID_SURFACE || entry->flags & VA_PICTURE_H264_INVALID;
}

static void check_empty(struct checker *checker, const struct entry_place *place, const VAPictureH264 *entry)
{
    if (!(entry->flags & VA_PICTURE_H264_INVALID))
        entry_finding(checker, place, "invalid-flag-missing", entry->flags, VA_PICTURE_H264_INVALID);
    else if (entry->flags != VA_PICTURE_H264_INVALID)
        entry_finding(checker, place, "invalid-with-flags", entry->flags, VA_PICTURE_H264_INVALID);
    if (entry->picture_id != VA_INVALID_SURFACE)
        entry_finding(checker, place, "invalid-with-surface", entry->picture_id, VA_INVALID_SURFACE);
}

static void check_reserved(struct checker *checker, const struct entry_place *place, const VAPictureH264 *entry)
{
    for (unsigned i = 0; i < VA_PADDING_LOW; i++)
        if (entry->va_reserved[i]) {
            entry_finding(checker, place, "reserved", entry->va_reserved[i], 0);
            return;
        }
}

static const struct h264_dpb_picture *find(const struct checker *checker, uint32_t surface)
{
    for (uint32_t i = 0; i < checker->dpb.h264.count; i++)
        if (checker->dpb.h264.pictures[i].surface == surface)
            return &checker->dpb.h264.pictures[i];
    return NULL;
}

static bool is_reference_frame(const struct checker *checker, uint32_t surface)
{
    const VAPictureH264 *frames = checker->picture.picture.h264.ReferenceFrames;
    for (uint32_t i = 0; i < 16; i++)
        if (!is_empty(&frames[i]) && frames[i].picture_id == surface)
            return true;
    return false;
}

/* The entry's fields against what the DPB knows of its picture. */
static void check_entry(struct checker *checker, const struct entry_place *place, const VAPictureH264 *entry,
                        const struct h264_dpb_picture *picture)
{
    uint32_t term = picture->long_term ? VA_PICTURE_H264_LONG_TERM_REFERENCE : VA_PICTURE_H264_SHORT_TERM_REFERENCE;
    entry_expect(checker, place, "frame-idx", entry->frame_idx,
                 picture->long_term ? picture->long_term_frame_idx : picture->frame_num);
    entry_expect(checker, place, "top-poc", entry->TopFieldOrderCnt, picture->top_field_order_count);
    entry_expect(checker, place, "bottom-poc", entry->BottomFieldOrderCnt, picture->bottom_field_order_count);
    entry_expect(checker, place, "term-flag", entry->flags & TERM_FLAGS, term);
    entry_expect(checker, place, "other-flags", entry->flags & ~TERM_FLAGS, 0);
}

/* The DPB while the picture is decoded: an IDR picture empties it only afterwards, but refers to nothing. */
static void check_reference_frames(struct checker *checker)
{
    const VAPictureH264 *frames = checker->picture.picture.h264.ReferenceFrames;
    uint32_t given = 0, listed = 0;
    bool ended = false;
    for (uint32_t i = 0; i < 16; i++) {
        struct entry_place place = {"reference-frames", PICTURE_CLAUSE, UINT32_MAX, i};
        check_reserved(checker, &place, &frames[i]);
        if (is_empty(&frames[i])) {
            check_empty(checker, &place, &frames[i]);
            ended = true;
            continue;
        }
        if (ended)
            entry_finding(checker, &place, "gap", frames[i].picture_id, VA_INVALID_SURFACE);
        given++;
        for (uint32_t k = 0; k < i; k++)
            if (!is_empty(&frames[k]) && frames[k].picture_id == frames[i].picture_id) {
                entry_finding(checker, &place, "duplicate", frames[i].picture_id, VA_INVALID_SURFACE);
                break;
            }
        const struct h264_dpb_picture *picture = find(checker, frames[i].picture_id);
        if (!picture && !checker->picture.idr)
            entry_finding(checker, &place, "not-in-dpb", frames[i].picture_id, VA_INVALID_SURFACE);
        else if (picture && !checker->picture.idr)
            check_entry(checker, &place, &frames[i], picture);
    }
    for (uint32_t i = 0; i < checker->dpb.h264.count; i++)
        listed += is_reference_frame(checker, checker->dpb.h264.pictures[i].surface);
    if (checker->picture.idr && given)
        finding(checker, "reference-frames-at-idr", PICTURE_CLAUSE, "%u reference frames at an IDR picture", given);
    else if (!checker->picture.idr && listed < checker->dpb.h264.count)
        finding(checker, "reference-frames-incomplete", PICTURE_CLAUSE, "%u of the %u pictures in the DPB are listed",
                listed, checker->dpb.h264.count);
}

/* The list that a decoder derives from the header; entries of -1 have no picture. */
static struct h264_reference_list decoder_list(struct checker *checker, uint32_t slice, uint32_t list)
{
    const struct h264_slice_header *header = &checker->picture.slices[slice].header.h264;
    char reason[CHECKS_REASON_SIZE];
    struct h264_reference_list result = h264_dpb_initial_list(&checker->dpb.h264, &checker->picture.sps.h264, header,
                                                              checker->picture.picture_order_count, list);
    if (!h264_dpb_modify_list(&checker->dpb.h264, &checker->picture.sps.h264, header, list, &result, reason,
                              sizeof reason))
        slice_finding(checker, slice, "reference-modification-wrong", "H.264 8.2.4.3", "list %u: %s", list, reason);
    return result;
}

static void check_used_entry(struct checker *checker, const struct entry_place *place, const VAPictureH264 *entry,
                             int expected)
{
    const struct h264_dpb_picture *picture = expected < 0 ? NULL : &checker->dpb.h264.pictures[expected];
    check_reserved(checker, place, entry);
    if (!picture) {
        entry_finding(checker, place, "no-picture", entry->picture_id, VA_INVALID_SURFACE);
        return;
    }
    if (is_empty(entry)) {
        entry_finding(checker, place, "entry-missing", entry->picture_id, picture->surface);
        return;
    }
    entry_expect(checker, place, "surface", entry->picture_id, picture->surface);
    if (!is_reference_frame(checker, entry->picture_id))
        entry_finding(checker, place, "not-in-frames", entry->picture_id, picture->surface);
    const struct h264_dpb_picture *named = find(checker, entry->picture_id);
    if (named)
        check_entry(checker, place, entry, named);
}

static void check_list(struct checker *checker, uint32_t slice, uint32_t list, bool used)
{
    const struct understood_slice *understood = &checker->picture.slices[slice];
    const VAEncSliceParameterBufferH264 *parameters = &understood->parameters.h264;
    const VAPictureH264 *entries = list ? parameters->RefPicList1 : parameters->RefPicList0;
    struct h264_reference_list expected = {.count = 0};
    if (used)
        expected = decoder_list(checker, slice, list);
    for (uint32_t i = 0; i < 32; i++) {
        struct entry_place place = {list ? "reference-list-1" : "reference-list-0", SLICE_CLAUSE, slice, i};
        if (i < expected.count) {
            check_used_entry(checker, &place, &entries[i], expected.entries[i]);
            continue;
        }
        check_reserved(checker, &place, &entries[i]);
        if (is_empty(&entries[i]))
            check_empty(checker, &place, &entries[i]);
        else
            entry_finding(checker, &place, used ? "surplus" : "unused", entries[i].picture_id, VA_INVALID_SURFACE);
    }
}

void h264_check_references(struct checker *checker)
{
    check_reference_frames(checker);
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        uint32_t type = checker->picture.slices[i].header.h264.slice_type % 5;
        check_list(checker, i, 0, type != H264_SLICE_I);
        check_list(checker, i, 1, type == H264_SLICE_B);
    }
}
