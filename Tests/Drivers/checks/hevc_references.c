/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reference_frames and ref_pic_list0/1 against the reference picture set and the headers' lists (H.265 8.3.2 and
 * 8.3.4). */
#include "hevc_checks.h"

#include <stdio.h>

#define PICTURE_CLAUSE "va_enc_hevc.h VAEncPictureParameterBufferHEVC.reference_frames"
#define SLICE_CLAUSE "va_enc_hevc.h VAEncSliceParameterBufferHEVC.ref_pic_listX"
#define SET_FLAGS \
    (VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE | VA_PICTURE_HEVC_RPS_ST_CURR_AFTER | VA_PICTURE_HEVC_RPS_LT_CURR)

/* Where an entry stands, for the journal. */
struct entry_place {
    const char *prefix; /* of names: "reference-frames" or "reference-list-0" */
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

static void check_empty(struct checker *checker, const struct entry_place *place, const VAPictureHEVC *entry)
{
    if (!(entry->flags & VA_PICTURE_HEVC_INVALID))
        entry_finding(checker, place, "invalid-flag-missing", entry->flags, VA_PICTURE_HEVC_INVALID);
    else if (entry->flags != VA_PICTURE_HEVC_INVALID)
        entry_finding(checker, place, "invalid-with-flags", entry->flags, VA_PICTURE_HEVC_INVALID);
    if (entry->picture_id != VA_INVALID_SURFACE)
        entry_finding(checker, place, "invalid-with-surface", entry->picture_id, VA_INVALID_SURFACE);
}

static void check_reserved(struct checker *checker, const struct entry_place *place, const VAPictureHEVC *entry)
{
    for (unsigned i = 0; i < VA_PADDING_LOW; i++)
        if (entry->va_reserved[i]) {
            entry_finding(checker, place, "reserved", entry->va_reserved[i], 0);
            return;
        }
}

/* Index of the reference picture in the surface, in the DPB while the picture is decoded; -1: there is none. */
static int32_t find(const struct checker *checker, VASurfaceID surface)
{
    const struct hevc_dpb *dpb = &checker->hevc.dpb;
    for (uint32_t i = 0; i < dpb->count; i++)
        if (dpb->pictures[i].marking != HEVC_UNUSED && dpb->pictures[i].surface == surface)
            return (int32_t)i;
    return -1;
}

static bool is_among(const int32_t *entries, uint32_t count, int32_t index)
{
    for (uint32_t i = 0; i < count; i++)
        if (entries[i] == index)
            return true;
    return false;
}

/* Which subset of the reference picture set that the picture may refer to has the picture of the DPB. */
static uint32_t set_flag(const struct checker *checker, int32_t index)
{
    const struct hevc_reference_set *set = &checker->hevc.set;
    if (is_among(set->before, set->before_count, index))
        return VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE;
    if (is_among(set->after, set->after_count, index))
        return VA_PICTURE_HEVC_RPS_ST_CURR_AFTER;
    return is_among(set->long_term, set->long_term_count, index) ? VA_PICTURE_HEVC_RPS_LT_CURR : 0;
}

static bool is_reference_frame(const struct checker *checker, VASurfaceID surface)
{
    const VAPictureHEVC *frames = checker->picture.picture.hevc.reference_frames;
    for (uint32_t i = 0; i < 15; i++)
        if (!hevc_is_empty(&frames[i]) && frames[i].picture_id == surface)
            return true;
    return false;
}

/* The entry's fields against what the DPB knows of its picture. In lists the set may be left out. */
static void check_entry(struct checker *checker, const struct entry_place *place, const VAPictureHEVC *entry,
                        int32_t index)
{
    const struct hevc_dpb_picture *picture = &checker->hevc.dpb.pictures[index];
    uint32_t term = picture->marking == HEVC_LONG_TERM ? VA_PICTURE_HEVC_LONG_TERM_REFERENCE : 0;
    bool in_list = place->slice != UINT32_MAX;
    entry_expect(checker, place, "poc", entry->pic_order_cnt, picture->order_count);
    entry_expect(checker, place, "term-flag", entry->flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE, term);
    if (!in_list || entry->flags & SET_FLAGS)
        entry_expect(checker, place, "set-flag", entry->flags & SET_FLAGS, set_flag(checker, index));
    entry_expect(checker, place, "other-flags",
                 entry->flags & ~(uint32_t)(SET_FLAGS | VA_PICTURE_HEVC_LONG_TERM_REFERENCE), 0);
}

static void check_frame(struct checker *checker, const struct entry_place *place, const VAPictureHEVC *frames)
{
    const VAPictureHEVC *entry = &frames[place->index];
    int32_t index = find(checker, entry->picture_id);
    for (uint32_t k = 0; k < place->index; k++)
        if (!hevc_is_empty(&frames[k]) && frames[k].picture_id == entry->picture_id) {
            entry_finding(checker, place, "duplicate", entry->picture_id, VA_INVALID_SURFACE);
            break;
        }
    if (index < 0)
        entry_finding(checker, place, "not-in-dpb", entry->picture_id, VA_INVALID_SURFACE);
    else
        check_entry(checker, place, entry, index);
}

/* What the reference picture set keeps, whether or not the picture refers to it. */
static void check_reference_frames(struct checker *checker)
{
    const VAPictureHEVC *frames = checker->picture.picture.hevc.reference_frames;
    const struct hevc_dpb *dpb = &checker->hevc.dpb;
    uint32_t given = 0, listed = 0, kept = 0, lacking = 0;
    bool ended = false;
    for (uint32_t i = 0; i < 15; i++) {
        struct entry_place place = {"reference-frames", PICTURE_CLAUSE, UINT32_MAX, i};
        check_reserved(checker, &place, &frames[i]);
        if (hevc_is_empty(&frames[i])) {
            check_empty(checker, &place, &frames[i]);
            ended = true;
            continue;
        }
        if (ended)
            entry_finding(checker, &place, "gap", frames[i].picture_id, VA_INVALID_SURFACE);
        given++;
        if (!checker->picture.idr)
            check_frame(checker, &place, frames);
    }
    for (uint32_t i = 0; i < dpb->count; i++) {
        if (dpb->pictures[i].marking == HEVC_UNUSED)
            continue;
        bool is_listed = is_reference_frame(checker, dpb->pictures[i].surface);
        kept++;
        listed += is_listed;
        lacking += !is_listed && set_flag(checker, (int32_t)i);
    }
    if (checker->picture.idr && given)
        finding(checker, "reference-frames-at-idr", PICTURE_CLAUSE, "%u reference frames at an IDR picture", given);
    else if (listed < kept)
        finding(checker, "reference-frames-incomplete", PICTURE_CLAUSE,
                "%u of the %u pictures that the reference picture set keeps are listed", listed, kept);
    if (lacking && !checker->picture.idr)
        finding(checker, "reference-frames-current-missing", PICTURE_CLAUSE,
                "%u pictures that the current one may refer to by the reference picture set are not listed", lacking);
}

static void check_used_entry(struct checker *checker, const struct entry_place *place, const VAPictureHEVC *entry,
                             int32_t expected)
{
    check_reserved(checker, place, entry);
    if (expected < 0) {
        entry_finding(checker, place, "no-picture", entry->picture_id, VA_INVALID_SURFACE);
        return;
    }
    VASurfaceID surface = checker->hevc.dpb.pictures[expected].surface;
    if (hevc_is_empty(entry)) {
        entry_finding(checker, place, "entry-missing", entry->picture_id, surface);
        return;
    }
    entry_expect(checker, place, "surface", entry->picture_id, surface);
    if (!is_reference_frame(checker, entry->picture_id))
        entry_finding(checker, place, "not-in-frames", entry->picture_id, surface);
    int32_t named = find(checker, entry->picture_id);
    if (named >= 0)
        check_entry(checker, place, entry, named);
}

static void check_list(struct checker *checker, uint32_t slice, uint32_t list)
{
    const struct understood_slice *understood = &checker->picture.slices[slice];
    const VAEncSliceParameterBufferHEVC *parameters = &understood->parameters.hevc;
    const VAPictureHEVC *entries = list ? parameters->ref_pic_list1 : parameters->ref_pic_list0;
    bool used = understood->type == CODED_B || (understood->type == CODED_P && list == 0);
    struct hevc_reference_list expected = {.count = 0};
    if (used && !hevc_dpb_list(&understood->header.hevc, &checker->hevc.set, list, &expected))
        slice_finding(checker, slice, "reference-list-empty", "H.265 8.3.4",
                      "list %u: the reference picture set has nothing to refer to", list);
    for (uint32_t i = 0; i < 15; i++) {
        struct entry_place place = {list ? "reference-list-1" : "reference-list-0", SLICE_CLAUSE, slice, i};
        if (i < expected.count) {
            check_used_entry(checker, &place, &entries[i], expected.entries[i]);
            continue;
        }
        check_reserved(checker, &place, &entries[i]);
        if (hevc_is_empty(&entries[i]))
            check_empty(checker, &place, &entries[i]);
        else
            entry_finding(checker, &place, used ? "surplus" : "unused", entries[i].picture_id, VA_INVALID_SURFACE);
    }
}

void hevc_check_references(struct checker *checker)
{
    if (!checker->hevc.set_right)
        finding(checker, "reference-set-wrong", "H.265 8.3.2", "%s", checker->hevc.reason);
    check_reference_frames(checker);
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        check_list(checker, i, 0);
        check_list(checker, i, 1);
    }
}
