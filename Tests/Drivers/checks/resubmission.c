/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures that are submitted again. A coded buffer that is too small cuts its picture short, which the application
 * learns when others have been submitted that refer to it. It then discards them all and submits them again in the same
 * context: the stream goes on from before the picture, and so does what is known here. */
#include "checker.h"

#include <stdlib.h>
#include <string.h>

static struct past_picture *past_at(struct checker *checker, uint64_t number)
{
    return &checker->past[number % CHECKS_PAST_PICTURES];
}

static const void *first_of_type(const struct submission *submission, VABufferType type, size_t size)
{
    for (uint32_t i = 0; i < submission->buffer_count; i++) {
        const struct submitted_buffer *buffer = &submission->buffers[i];
        if (buffer->type == type && buffer->data && buffer->count > 0 && buffer->size >= size)
            return buffer->data;
    }
    return NULL;
}

/* What tells one picture from another, by the VA parameters. */
static bool read_identity(const struct submission *submission, struct past_picture *identity)
{
    VAEncPictureParameterBufferH264 picture;
    VAEncSliceParameterBufferH264 slice;
    const void *pictures = first_of_type(submission, VAEncPictureParameterBufferType, sizeof picture);
    const void *slices = first_of_type(submission, VAEncSliceParameterBufferType, sizeof slice);
    if (!pictures || !slices)
        return false;
    memcpy(&picture, pictures, sizeof picture);
    memcpy(&slice, slices, sizeof slice);
    identity->input = submission->input.id;
    identity->order_count = picture.CurrPic.TopFieldOrderCnt;
    identity->idr = picture.pic_fields.bits.idr_pic_flag;
    identity->idr_pic_id = identity->idr ? slice.idr_pic_id : 0;
    return true;
}

static bool is_same(const struct past_picture *one, const struct past_picture *other)
{
    return one->input == other->input && one->order_count == other->order_count && one->idr == other->idr &&
           one->idr_pic_id == other->idr_pic_id;
}

/* Sets that came with discarded pictures give way to those before them. */
static void restore_sets(struct checker *checker, uint64_t serial)
{
    while (checker->replaced_count && checker->replaced[checker->replaced_count - 1].serial >= serial) {
        struct replaced_set *set = &checker->replaced[--checker->replaced_count];
        if (set->is_sps) {
            free(checker->sps[set->id]);
            checker->sps[set->id] = set->sps;
        } else {
            free(checker->pps[set->id]);
            checker->pps[set->id] = set->pps;
        }
    }
}

/* The references of then must not have been overwritten by pictures that are discarded now. */
static void check_references_kept(struct checker *checker, uint64_t number)
{
    for (uint64_t k = number; k < checker->past_end; k++) {
        const struct past_picture *discarded = past_at(checker, k);
        for (uint32_t i = 0; i < checker->dpb.count; i++)
            if (checker->dpb.pictures[i].surface == discarded->reconstruction)
                finding(checker, "reference-overwritten", "H.264 8.2.5",
                        "surface 0x%x is a reference again, but picture %u, which is discarded, was coded into it",
                        discarded->reconstruction, discarded->number);
    }
}

static void go_back(struct checker *checker, uint64_t number)
{
    const struct past_picture *past = past_at(checker, number);
    for (uint64_t k = number; k < checker->past_end; k++) {
        checker->lost_own_sps = checker->lost_own_sps || past_at(checker, k)->sent_own_sps;
        checker->lost_own_pps = checker->lost_own_pps || past_at(checker, k)->sent_own_pps;
    }
    checker->dpb = past->dpb;
    checker->history = past->history;
    checker->rate = past->rate;
    checker->rate_control_given = past->rate_control_given;
    checker->frame_rate_given = past->frame_rate_given;
    checker->have_sequence = past->had_sequence;
    checker->picture.sequence = past->sequence;
    checker->picture.resumes = true;
    checker->picture.resumed_picture = past->number;
    restore_sets(checker, past->serial);
    check_references_kept(checker, number);
    checker->past_end = number;
}

void resume_picture(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    struct past_picture identity;
    checker->picture.resumes = false;
    if (!submission->overflowed || !read_identity(submission, &identity))
        return;
    for (uint64_t k = checker->past_end; k-- > checker->past_first;) {
        const struct past_picture *past = past_at(checker, k);
        if (is_same(past, &identity) && submission->overflowed(submission->token, past->number)) {
            go_back(checker, k);
            return;
        }
    }
}

void keep_past(struct checker *checker)
{
    struct past_picture *past = past_at(checker, checker->past_end++);
    read_identity(checker->submission, past);
    past->number = checker->place.picture;
    past->serial = checker->serial;
    past->reconstruction = checker->picture.picture.CurrPic.picture_id;
    past->sent_own_sps = checker->sends_own_sps;
    past->sent_own_pps = checker->sends_own_pps;
    past->dpb = checker->dpb_before;
    past->history = checker->history_before;
    past->rate = checker->rate_before;
    past->rate_control_given = checker->rate_control_given_before;
    past->frame_rate_given = checker->frame_rate_given_before;
    past->had_sequence = checker->had_sequence;
    past->sequence = checker->previous_sequence;
    if (checker->past_end - checker->past_first > CHECKS_PAST_PICTURES)
        checker->past_first = checker->past_end - CHECKS_PAST_PICTURES;
}

void forget_latest(struct checker *checker)
{
    if (checker->past_end > checker->past_first)
        checker->past_end--;
}

static void keep_replaced(struct checker *checker, struct replaced_set set)
{
    set.serial = checker->serial;
    if (!grow((void **)&checker->replaced, &checker->replaced_capacity, checker->replaced_count, sizeof set)) {
        free(set.sps);
        free(set.pps);
        return;
    }
    checker->replaced[checker->replaced_count++] = set;
}

void replace_sps(struct checker *checker, uint32_t id, struct h264_sps *sps)
{
    keep_replaced(checker, (struct replaced_set){.id = id, .sps = checker->sps[id], .is_sps = true});
    checker->sps[id] = sps;
}

void replace_pps(struct checker *checker, uint32_t id, struct h264_pps *pps)
{
    keep_replaced(checker, (struct replaced_set){.id = id, .pps = checker->pps[id]});
    checker->pps[id] = pps;
}

void forget_replaced(struct checker *checker, bool all)
{
    uint32_t gone = 0;
    bool any = !all && checker->past_end > checker->past_first;
    uint64_t oldest = any ? past_at(checker, checker->past_first)->serial : UINT64_MAX;
    while (gone < checker->replaced_count && checker->replaced[gone].serial < oldest) {
        free(checker->replaced[gone].sps);
        free(checker->replaced[gone++].pps);
    }
    if (!gone)
        return;
    checker->replaced_count -= gone;
    memmove(checker->replaced, checker->replaced + gone, checker->replaced_count * sizeof checker->replaced[0]);
}
