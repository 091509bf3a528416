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

static bool read_identity(const struct checker *checker, struct picture_identity *identity)
{
    const struct submission *submission = checker->submission;
    const struct codec_checks *codec = checker->codec;
    union picture_parameters picture;
    union slice_parameters slice;
    const void *pictures = first_of_type(submission, VAEncPictureParameterBufferType, codec->picture_size);
    const void *slices = first_of_type(submission, VAEncSliceParameterBufferType, codec->slice_size);
    if (!pictures || !slices)
        return false;
    memcpy(&picture, pictures, codec->picture_size);
    memcpy(&slice, slices, codec->slice_size);
    *identity = (struct picture_identity){.input = submission->input.id};
    codec->identify(&picture, &slice, identity);
    return true;
}

static bool is_same(const struct picture_identity *one, const struct picture_identity *other)
{
    return one->input == other->input && one->order_count == other->order_count && one->idr == other->idr &&
           one->idr_pic_id == other->idr_pic_id;
}

/* Sets that came with discarded pictures give way to those before them. */
static void restore_sets(struct checker *checker, uint64_t serial)
{
    while (checker->replaced_count && checker->replaced[checker->replaced_count - 1].serial >= serial) {
        struct replaced_set *set = &checker->replaced[--checker->replaced_count];
        free(checker->sets[set->kind][set->id]);
        checker->sets[set->kind][set->id] = set->set;
    }
}

static void go_back(struct checker *checker, uint64_t number)
{
    const struct past_picture *past = past_at(checker, number);
    for (uint64_t k = number; k < checker->past_end; k++)
        for (unsigned kind = 0; kind < SET_KINDS; kind++)
            checker->lost_own[kind] = checker->lost_own[kind] || past_at(checker, k)->sent_own[kind];
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
    for (uint64_t k = number; k < checker->past_end; k++)
        checker->discarded[checker->discarded_count++] =
            (struct discarded_picture){past_at(checker, k)->number, past_at(checker, k)->reconstruction};
    checker->past_end = number;
}

void check_references_kept(struct checker *checker)
{
    for (uint32_t k = 0; k < checker->discarded_count; k++) {
        const struct discarded_picture *discarded = &checker->discarded[k];
        VASurfaceID surface;
        for (uint32_t i = 0; checker->codec->reference(checker, i, &surface); i++)
            if (surface == discarded->reconstruction)
                finding(checker, "reference-overwritten", checker->codec->current_picture,
                        "surface 0x%x is a reference again, but picture %u, which is discarded, was coded into it",
                        surface, discarded->number);
    }
}

void resume_picture(struct checker *checker)
{
    const struct submission *submission = checker->submission;
    struct picture_identity identity;
    checker->picture.resumes = false;
    checker->discarded_count = 0;
    if (!submission->overflowed || !read_identity(checker, &identity))
        return;
    for (uint64_t k = checker->past_end; k-- > checker->past_first;) {
        const struct past_picture *past = past_at(checker, k);
        if (is_same(&past->identity, &identity) && submission->overflowed(submission->token, past->number)) {
            go_back(checker, k);
            return;
        }
    }
}

void keep_past(struct checker *checker)
{
    struct past_picture *past = past_at(checker, checker->past_end++);
    read_identity(checker, &past->identity);
    past->number = checker->place.picture;
    past->serial = checker->serial;
    past->reconstruction = checker->picture.reconstruction;
    memcpy(past->sent_own, checker->sends_own, sizeof past->sent_own);
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
        free(set.set);
        return;
    }
    checker->replaced[checker->replaced_count++] = set;
}

void replace_set(struct checker *checker, enum set_kind kind, uint32_t id, void *set)
{
    keep_replaced(checker, (struct replaced_set){.kind = kind, .id = id, .set = checker->sets[kind][id]});
    checker->sets[kind][id] = set;
}

void forget_replaced(struct checker *checker, bool all)
{
    uint32_t gone = 0;
    bool any = !all && checker->past_end > checker->past_first;
    uint64_t oldest = any ? past_at(checker, checker->past_first)->serial : UINT64_MAX;
    while (gone < checker->replaced_count && checker->replaced[gone].serial < oldest)
        free(checker->replaced[gone++].set);
    if (!gone)
        return;
    checker->replaced_count -= gone;
    memmove(checker->replaced, checker->replaced + gone, checker->replaced_count * sizeof checker->replaced[0]);
}
