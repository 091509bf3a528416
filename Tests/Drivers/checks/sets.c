/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameter sets: which one a picture has, the application's or one that the driver makes, and when that is sent. */
#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool set_sent(const struct checker *checker, enum set_kind kind, uint32_t id)
{
    return id < checker->codec->sets[kind].count && checker->set_sent_now[kind][id];
}

bool any_set_sent(const struct checker *checker, enum set_kind kind)
{
    for (uint32_t i = 0; i < CHECKS_MAXIMUM_SETS; i++)
        if (checker->set_sent_now[kind][i])
            return true;
    return false;
}

bool read_back_set(struct checker *checker, enum set_kind kind, const void *made, void *set)
{
    const struct codec_sets *sets = &checker->codec->sets[kind];
    struct bits bits = {0};
    struct syntax_error error;
    size_t end;
    sets->write(&bits, made);
    bits_trail(&bits); /* more_rbsp_data() looks for it */
    bool read = !bits.failed && sets->read(set, bits.bytes, bits.count, &end, &error);
    if (bits.failed)
        refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
    else if (!read)
        refuse_picture(checker, VA_STATUS_ERROR_INVALID_PARAMETER, "the VA parameters make no %s: %s %s", sets->word,
                       error.element, error.reason);
    bits_release(&bits);
    return read;
}

/* A set was packed, but not the one that is referred to. */
static void check_sent_id(struct checker *checker, enum set_kind kind, uint32_t id, bool wanted)
{
    const struct codec_sets *sets = &checker->codec->sets[kind];
    char name[64];
    if (!wanted || !any_set_sent(checker, kind) || set_sent(checker, kind, id))
        return;
    snprintf(name, sizeof name, "%s-id-not-sent", sets->word);
    finding(checker, name, sets->id_clause, "sets of the kind were packed, but none with the id %u that is referred to",
            id);
}

/* Makes an own set the latest one; `changed`: it differs from the own one that was sent last. */
static bool take_own(struct checker *checker, enum set_kind kind, make_set make, void *set, bool *changed)
{
    const struct codec_sets *sets = &checker->codec->sets[kind];
    struct bits nal = {0}, framed = {0}, *last = &checker->own[kind];
    if (!make(checker, set))
        return false;
    void *copy = malloc(sets->size);
    sets->write(&nal, set);
    bits_trail(&nal);
    bits_frame_nal_unit(&framed, &nal);
    bits_release(&nal);
    *changed = framed.count != last->count || memcmp(framed.bytes, last->bytes, framed.count / 8) != 0;
    bits_release(last);
    *last = framed;
    if (copy)
        memcpy(copy, set, sets->size);
    else
        refuse_picture(checker, VA_STATUS_ERROR_ALLOCATION_FAILED, "out of memory");
    replace_set(checker, kind, sets->id(set), copy);
    return copy != NULL;
}

bool settle_sequence_set(struct checker *checker, enum set_kind kind, uint32_t id, bool begins, make_set make,
                         void *set)
{
    const struct codec_sets *sets = &checker->codec->sets[kind];
    bool known = id < sets->count && checker->sets[kind][id], changed;
    check_sent_id(checker, kind, id, begins);
    if (known && (set_sent(checker, kind, id) || packed_kind_configured(checker, sets->packed_type) || !begins)) {
        memcpy(set, checker->sets[kind][id], sets->size);
        checker->sends_own[kind] = checker->lost_own[kind] && !set_sent(checker, kind, id);
        return true;
    }
    if (!take_own(checker, kind, make, set, &changed))
        return false;
    checker->set_sent_now[kind][sets->id(set)] = true;
    checker->sends_own[kind] = true;
    return true;
}

bool settle_picture_set(struct checker *checker, enum set_kind kind, uint32_t id, bool begins, make_set make,
                        void *set)
{
    const struct codec_sets *sets = &checker->codec->sets[kind];
    bool known = id < sets->count && checker->sets[kind][id], own = checker->own[kind].count != 0, changed;
    check_sent_id(checker, kind, id, begins || !known);
    if (known && (set_sent(checker, kind, id) || packed_kind_configured(checker, sets->packed_type) || !own)) {
        memcpy(set, checker->sets[kind][id], sets->size);
        return true;
    }
    if (!take_own(checker, kind, make, set, &changed))
        return false;
    checker->sends_own[kind] = changed || begins || checker->lost_own[kind];
    return true;
}
