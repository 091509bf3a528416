/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rebuilds pictures of H.264: the order of units, what the software decoder holds, and its marking. */
#include "rebuild_h264.h"

#include <stdlib.h>
#include <string.h>

static void *create(VAProfile profile, uint32_t context_width, uint32_t context_height)
{
    (void)profile, (void)context_width, (void)context_height;
    return calloc(1, sizeof(struct h264_rebuilder));
}

static void destroy(void *token)
{
    struct h264_rebuilder *rebuilder = token;
    bits_release(&rebuilder->nal);
    free(rebuilder);
}

static void lost(void *token)
{
    struct h264_rebuilder *rebuilder = token;
    rebuilder->started = rebuilder->sets_sent = rebuilder->longs_allowed = false;
    rebuilder->held_count = 0;
    rebuilder->unheld_until = rebuilder->latest;
}

static bool fail(struct rebuilt *rebuilt, const char *reason)
{
    rebuilt->failure = reason;
    return false;
}

static struct rebuilt_unit *new_unit(struct rebuilt *rebuilt)
{
    if (rebuilt->unit_count == REBUILT_UNITS)
        return NULL;
    struct rebuilt_unit *unit = &rebuilt->units[rebuilt->unit_count++];
    *unit = (struct rebuilt_unit){.target = false};
    return unit;
}

static struct h264_held *held_by(struct h264_rebuilder *rebuilder, const struct rebuild_surface *reference)
{
    for (unsigned i = 0; i < rebuilder->held_count; i++)
        if (rebuilder->held[i].surface == reference->surface.id && rebuilder->held[i].number == reference->number)
            return &rebuilder->held[i];
    return NULL;
}

static bool is_used(const struct rebuild_surface *reference)
{
    return reference->surface.id != VA_INVALID_SURFACE;
}

static bool is_reference(const struct h264_picture *picture, const struct h264_held *held)
{
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const struct rebuild_surface *reference = &picture->picture->references[i];
        if (is_used(reference) && reference->surface.id == held->surface && reference->number == held->number)
            return true;
    }
    return false;
}

static void forget(struct h264_rebuilder *rebuilder, unsigned index)
{
    rebuilder->held_count--;
    memmove(&rebuilder->held[index], &rebuilder->held[index + 1],
            (rebuilder->held_count - index) * sizeof(rebuilder->held[0]));
}

/* Marks a frame that is held as unused, both fields of it (H.264 8.2.5.4.1, 8.2.5.4.2). */
static void unmark(struct h264_rebuilder *rebuilder, struct h264_marking *marking, unsigned index)
{
    const struct h264_slice_header *header = marking->header;
    const struct h264_held *held = &rebuilder->held[index];
    const int32_t current = (int32_t)(header->field_pic_flag ? 2 * header->frame_num + 1 : header->frame_num);
    for (unsigned field = 0; field < 1 + header->field_pic_flag; field++) {
        if (header->field_pic_flag && !held->exists[field])
            continue;
        const int32_t number = h264_picture_number(header, held, field == 1);
        h264_mark(marking, held->long_term
                               ? (struct h264_memory_management){.memory_management_control_operation = 2,
                                                                 .long_term_pic_num = (uint32_t)number}
                               : (struct h264_memory_management){
                                     .memory_management_control_operation = 1,
                                     .difference_of_pic_nums_minus1 = (uint32_t)(current - number - 1)});
    }
    forget(rebuilder, index);
}

/* Removes what the client no longer has. */
static void unmark_unlisted(struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                            struct h264_marking *marking)
{
    for (unsigned i = rebuilder->held_count; i-- > 0;)
        if (!is_reference(picture, &rebuilder->held[i]))
            unmark(rebuilder, marking, i);
}

/* Makes room for one more; what the sliding window would remove (H.264 8.2.5.3) goes first. */
static void make_room(struct h264_rebuilder *rebuilder, struct h264_marking *marking)
{
    if (rebuilder->held_count < H264_HELD)
        return;
    unsigned oldest = 0;
    for (unsigned i = 0; i < rebuilder->held_count; i++) {
        const struct h264_held *held = &rebuilder->held[i], *best = &rebuilder->held[oldest];
        const uint32_t age = (marking->header->frame_num - held->frame_num) & (H264_FRAME_NUMBERS - 1);
        const uint32_t most = (marking->header->frame_num - best->frame_num) & (H264_FRAME_NUMBERS - 1);
        if (!held->long_term && (best->long_term || age > most))
            oldest = i;
    }
    rebuilder->guessed[rebuilder->guessed_count++ % H264_HELD] = rebuilder->held[oldest].number;
    unmark(rebuilder, marking, oldest);
}

static uint32_t free_long_term_index(const struct h264_rebuilder *rebuilder)
{
    for (uint32_t index = 0;; index++) {
        bool taken = false;
        for (unsigned i = 0; i < rebuilder->held_count; i++)
            taken = taken || (rebuilder->held[i].long_term && rebuilder->held[i].long_term_frame_idx == index);
        if (!taken)
            return index;
    }
}

static void allow_longs(struct h264_rebuilder *rebuilder, struct h264_marking *marking)
{
    if (!rebuilder->longs_allowed)
        h264_mark(marking, (struct h264_memory_management){.memory_management_control_operation = 4,
                                                           .max_long_term_frame_idx_plus1 = H264_HELD});
    rebuilder->longs_allowed = true;
}

/* H.264 8.2.1.1, with 16 bits. */
static void state_order(struct h264_slice_header *header, int64_t top, int64_t bottom)
{
    header->pic_order_cnt_lsb = (uint32_t)(header->bottom_field_flag ? bottom : top) & 0xffff;
    header->delta_pic_order_cnt_bottom = header->field_pic_flag ? 0 : (int32_t)(bottom - top);
}

static void start_header(struct h264_rebuilder *rebuilder, bool idr, bool reference, struct h264_slice_header *header)
{
    memset(header, 0, sizeof(*header));
    header->nal_ref_idc = reference;
    header->nal_unit_type = idr ? H264_NAL_IDR_SLICE : H264_NAL_SLICE;
    if (idr) {
        rebuilder->started = true;
        rebuilder->longs_allowed = false;
        rebuilder->held_count = 0;
        rebuilder->next_frame_num = 0;
        header->idr_pic_id = rebuilder->idr_pic_id ^= 1;
    }
    header->frame_num = rebuilder->next_frame_num;
}

static void hold(struct h264_rebuilder *rebuilder, const struct h264_held *held)
{
    rebuilder->held[rebuilder->held_count++] = *held;
    rebuilder->next_frame_num = (held->frame_num + 1) % H264_FRAME_NUMBERS;
}

/* Writes the parameter sets that are not as they were written last. */
static void write_sets(struct h264_rebuilder *rebuilder, const struct h264_picture *picture, struct bits *stream)
{
    struct h264_sps sps;
    struct h264_pps pps[2];
    h264_rebuild_sets(picture, &sps, pps);
    struct bits *nal = &rebuilder->nal;
    if (!rebuilder->sets_sent || memcmp(&sps, &rebuilder->sps, sizeof(sps)) != 0) {
        rebuilder->sps = sps;
        nal->count = 0;
        h264_write_sps(nal, &sps);
        bits_trail(nal);
        bits_frame_nal_unit(stream, nal);
        rebuilder->pps_sent[0] = rebuilder->pps_sent[1] = false;
        rebuilder->sets_sent = true;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (rebuilder->pps_sent[i] && memcmp(&pps[i], &rebuilder->pps[i], sizeof(pps[i])) == 0)
            continue;
        rebuilder->pps[i] = pps[i];
        rebuilder->pps_sent[i] = true;
        nal->count = 0;
        h264_write_pps(nal, &pps[i]);
        bits_trail(nal);
        bits_frame_nal_unit(stream, nal);
    }
}

static bool sequence_changes(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture)
{
    struct h264_sps sps;
    struct h264_pps pps[2];
    h264_rebuild_sets(picture, &sps, pps);
    return rebuilder->sets_sent && memcmp(&sps, &rebuilder->sps, sizeof(sps)) != 0;
}

static bool all_intra(const struct h264_picture *picture)
{
    struct rebuild_cursor cursor = {0};
    struct rebuild_slice slice;
    while (rebuild_next_slice(picture->picture, sizeof(VASliceParameterBufferH264), &cursor, &slice)) {
        const VASliceParameterBufferH264 *values = slice.parameters;
        if (h264_slice_kind(values->slice_type) != H264_SLICE_I)
            return false;
    }
    return true;
}

static unsigned count_references(const struct h264_picture *picture)
{
    unsigned count = 0;
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++)
        count += is_used(&picture->picture->references[i]);
    return count;
}

/* Order counts of both fields of a picture; where the client gives only one, the other is the same. */
static void client_order(const VAPictureH264 *entry, int32_t order[2], bool has_field[2])
{
    const uint32_t fields = entry->flags & (VA_PICTURE_H264_TOP_FIELD | VA_PICTURE_H264_BOTTOM_FIELD);
    has_field[0] = fields != VA_PICTURE_H264_BOTTOM_FIELD;
    has_field[1] = fields != VA_PICTURE_H264_TOP_FIELD;
    order[0] = has_field[0] ? entry->TopFieldOrderCnt : entry->BottomFieldOrderCnt;
    order[1] = has_field[1] ? entry->BottomFieldOrderCnt : entry->TopFieldOrderCnt;
}

static int64_t smaller(const int32_t order[2])
{
    return order[0] < order[1] ? order[0] : order[1];
}

/* A unit with a frame that the client did not submit, to be a reference: one of its surfaces, or grey. */
static bool inject(struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                   const struct rebuild_surface *reference, const VAPictureH264 *entry, struct h264_slice_header *header,
                   struct h264_marking *marking)
{
    struct rebuilt_unit *unit = new_unit(picture->rebuilt);
    struct rebuild_samples samples;
    if (!unit)
        return fail(picture->rebuilt, "too many pictures must be made up");
    const bool idr = header->nal_unit_type == H264_NAL_IDR_SLICE;
    struct h264_held held = {.surface = VA_INVALID_SURFACE, .frame_num = header->frame_num,
                             .exists = {true, true}, .injected = true};
    client_order(entry, held.client_order, held.has_field);
    if (idr)
        rebuilder->order_shift = -smaller(held.client_order);
    for (unsigned i = 0; i < 2; i++)
        held.order[i] = held.client_order[i] + rebuilder->order_shift;
    held.client_frame_num = entry->frame_idx;
    bool shown = false;
    if (reference) {
        held.surface = reference->surface.id;
        held.number = reference->number;
        held.long_term = (entry->flags & VA_PICTURE_H264_LONG_TERM_REFERENCE) != 0;
        shown = picture->source->samples(picture->source->token, held.surface, &samples);
    }
    if (held.long_term && idr) {
        header->long_term_reference_flag = 1;
    } else if (held.long_term) {
        held.long_term_frame_idx = free_long_term_index(rebuilder);
        allow_longs(rebuilder, marking);
        h264_mark(marking, (struct h264_memory_management){.memory_management_control_operation = 6,
                                                           .long_term_frame_idx = held.long_term_frame_idx});
    }
    header->pic_parameter_set_id = 1;
    header->slice_type = H264_SLICE_I;
    header->disable_deblocking_filter_idc = 1;
    state_order(header, held.order[0], held.order[1]);
    write_sets(rebuilder, picture, &unit->stream);
    h264_write_injected(rebuilder, header, shown ? &samples : NULL, &unit->stream);
    hold(rebuilder, &held);
    if (reference)
        journal_event("injection", "\"context\":%u,\"picture\":%u,\"surface\":%u,\"number\":%llu",
                      picture->picture->place.context, picture->picture->place.picture, held.surface,
                      (unsigned long long)held.number);
    return !unit->stream.failed;
}

/* What the client has as long-term references and the software decoder as short-term ones. */
static bool has_become_long(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture, unsigned index)
{
    const struct h264_held *held = &rebuilder->held[index];
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const struct rebuild_surface *reference = &picture->picture->references[i];
        if (is_used(reference) && reference->surface.id == held->surface && reference->number == held->number)
            return !held->long_term &&
                   picture->parameters->ReferenceFrames[i].flags & VA_PICTURE_H264_LONG_TERM_REFERENCE;
    }
    return false;
}

static void mark_longs(struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                       struct h264_marking *marking)
{
    for (unsigned i = 0; i < rebuilder->held_count; i++) {
        if (!has_become_long(rebuilder, picture, i))
            continue;
        struct h264_held *held = &rebuilder->held[i];
        allow_longs(rebuilder, marking);
        const uint32_t index = free_long_term_index(rebuilder);
        h264_mark(marking, (struct h264_memory_management){
                               .memory_management_control_operation = 3,
                               .difference_of_pic_nums_minus1 =
                                   ((marking->header->frame_num - held->frame_num) & (H264_FRAME_NUMBERS - 1)) - 1,
                               .long_term_frame_idx = index});
        held->long_term = true;
        held->long_term_frame_idx = index;
    }
}

/* Whether there is no room for a picture that carries the marking of what has become a long-term reference. */
static bool is_full(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rebuilder->held_count; i++)
        count += is_reference(picture, &rebuilder->held[i]);
    return count >= H264_HELD;
}

/* A picture of the context is missing that was no reference, or had been left out of ReferenceFrames since. */
static void judge_missing(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                          const struct rebuild_surface *reference)
{
    bool known = reference->number <= rebuilder->unheld_until;
    for (unsigned i = 0; i < H264_HELD; i++)
        known = known || rebuilder->guessed[i] == reference->number;
    if (!known)
        rebuild_finding(picture->picture, UINT32_MAX, "reference-not-kept", "H.264 8.2.5",
                        "0x%08x is listed, but it was decoded as no reference, or not listed meanwhile",
                        reference->surface.id);
}

/* Pictures before the client's that make the software decoder hold what the client has. */
static bool write_missing(struct h264_rebuilder *rebuilder, const struct h264_picture *picture)
{
    struct h264_slice_header *header = malloc(sizeof(*header));
    bool written = header != NULL;
    for (unsigned i = 0; written && i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const struct rebuild_surface *reference = &picture->picture->references[i];
        const struct h264_held *held = is_used(reference) ? held_by(rebuilder, reference) : NULL;
        const unsigned index = held ? (unsigned)(held - rebuilder->held) : 0;
        const bool again = held && has_become_long(rebuilder, picture, index) && is_full(rebuilder, picture);
        if (!is_used(reference) || (held && !again))
            continue;
        const bool idr = !rebuilder->started;
        start_header(rebuilder, idr, true, header);
        struct h264_marking marking = {header, 0};
        if (again)
            unmark(rebuilder, &marking, index);
        else
            judge_missing(rebuilder, picture, reference);
        if (!idr) {
            unmark_unlisted(rebuilder, picture, &marking);
            mark_longs(rebuilder, picture, &marking);
            make_room(rebuilder, &marking);
        }
        written = inject(rebuilder, picture, reference, &picture->parameters->ReferenceFrames[i], header, &marking);
    }
    free(header);
    return written || fail(picture->rebuilt, picture->rebuilt->failure ? picture->rebuilt->failure : "out of memory");
}

/* A picture that only carries marking: for long-term references, or for the first picture of a stream, when that has
 * none of the references that its slices use. */
static bool write_carrier(struct h264_rebuilder *rebuilder, const struct h264_picture *picture)
{
    struct h264_slice_header *header = malloc(sizeof(*header));
    if (!header)
        return fail(picture->rebuilt, "out of memory");
    const bool idr = !rebuilder->started;
    start_header(rebuilder, idr, true, header);
    struct h264_marking marking = {header, 0};
    if (!idr) {
        unmark_unlisted(rebuilder, picture, &marking);
        mark_longs(rebuilder, picture, &marking);
        make_room(rebuilder, &marking);
    }
    const bool written = inject(rebuilder, picture, NULL, &picture->parameters->CurrPic, header, &marking);
    free(header);
    return written;
}

static bool any_has_become_long(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture)
{
    for (unsigned i = 0; i < rebuilder->held_count; i++)
        if (has_become_long(rebuilder, picture, i))
            return true;
    return false;
}

/* Whether the order counts of a reference are those that were said when it was decoded. */
static bool has_order(const struct h264_held *held, const VAPictureH264 *entry)
{
    int32_t order[2];
    bool has_field[2];
    client_order(entry, order, has_field);
    for (unsigned i = 0; i < 2; i++)
        if (has_field[i] && held->has_field[i] && order[i] != held->client_order[i])
            return false;
    return true;
}

/* An operation 5 of the client's marking makes its order counts and frame_num start anew: the picture that had it is
 * then the only reference, its frame_num is 0, and the earlier of its fields has the order count 0 (H.264 8.2.1, 7.4.3).
 * libavcodec leaves its order counts as they were. */
static bool starts_anew(const struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                        const struct h264_held *held, const VAPictureH264 *entry)
{
    int32_t order[2];
    bool has_field[2];
    client_order(entry, order, has_field);
    return count_references(picture) == 1 && held == &rebuilder->held[rebuilder->held_count - 1] &&
           entry->frame_idx == 0 && (smaller(order) == 0 || has_order(held, entry));
}

static void compare_reference(struct h264_rebuilder *rebuilder, const struct h264_picture *picture, unsigned index)
{
    const VAPictureH264 *entry = &picture->parameters->ReferenceFrames[index];
    struct h264_held *held = held_by(rebuilder, &picture->picture->references[index]);
    if (!held || held->injected)
        return;
    static const char clause[] = "va.h VAPictureParameterBufferH264.ReferenceFrames";
    if (starts_anew(rebuilder, picture, held, entry)) {
        client_order(entry, held->client_order, held->has_field);
        held->client_frame_num = 0;
        const unsigned field = held->has_field[0] ? 0 : 1;
        rebuilder->order_shift = held->order[field] - held->client_order[field];
        return;
    }
    if (!has_order(held, entry))
        rebuild_finding(picture->picture, UINT32_MAX, "reference-order-count", clause,
                        "entry %u has the order counts %d and %d, when it was decoded they were %d and %d", index,
                        entry->TopFieldOrderCnt, entry->BottomFieldOrderCnt, held->client_order[0],
                        held->client_order[1]);
    if (held->long_term && !(entry->flags & VA_PICTURE_H264_LONG_TERM_REFERENCE))
        rebuild_finding(picture->picture, UINT32_MAX, "reference-long-term", clause,
                        "entry %u is a short-term reference, it was a long-term one before", index);
    else if (!(entry->flags & VA_PICTURE_H264_LONG_TERM_REFERENCE) && entry->frame_idx != held->client_frame_num)
        rebuild_finding(picture->picture, UINT32_MAX, "reference-frame-num", clause,
                        "entry %u has the frame_idx %u, its frame_num was %u", index, entry->frame_idx,
                        held->client_frame_num);
}

/* The unit of the client's picture. */
static bool write_picture(struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                          struct h264_slice_header *header)
{
    struct rebuilt_unit *unit = new_unit(picture->rebuilt);
    if (!unit)
        return fail(picture->rebuilt, "too many pictures must be made up");
    unit->target = true;
    write_sets(rebuilder, picture, &unit->stream);
    struct rebuild_cursor cursor = {0};
    struct rebuild_slice slice;
    while (rebuild_next_slice(picture->picture, sizeof(VASliceParameterBufferH264), &cursor, &slice))
        if (!h264_rebuild_slice(rebuilder, picture, header, &slice, cursor.count - 1, &unit->stream))
            return fail(picture->rebuilt, "slice data cannot be read");
    return !unit->stream.failed || fail(picture->rebuilt, "out of memory");
}

/* The header's fields that all slices of the client's picture have in common, its marking excepted. */
static void start_picture(struct h264_rebuilder *rebuilder, const struct h264_picture *picture, bool idr,
                          struct h264_slice_header *header)
{
    const VAPictureParameterBufferH264 *parameters = picture->parameters;
    const VAPictureH264 *current = &parameters->CurrPic;
    const bool reference = idr || parameters->pic_fields.bits.reference_pic_flag;
    start_header(rebuilder, idr, reference, header);
    header->field_pic_flag = picture->picture->fields != REBUILD_FRAME;
    header->bottom_field_flag = picture->picture->fields == REBUILD_BOTTOM_FIELD;
    if (picture->picture->second_field)
        header->frame_num = rebuilder->field_frame_num;
    rebuilder->field_frame_num = header->frame_num;
    int32_t order[2];
    bool has_field[2];
    client_order(current, order, has_field);
    if (idr)
        rebuilder->order_shift = -smaller(order);
    state_order(header, order[0] + rebuilder->order_shift, order[1] + rebuilder->order_shift);
}

/* What the software decoder holds of the client's picture from now on. */
static void hold_picture(struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                         const struct h264_slice_header *header)
{
    const struct rebuild_surface self = {.surface = picture->picture->target.surface,
                                         .number = picture->picture->number};
    struct h264_held *first = picture->picture->second_field ? held_by(rebuilder, &self) : NULL;
    struct h264_held held = {.surface = self.surface.id, .number = self.number, .frame_num = header->frame_num,
                             .exists = {!header->bottom_field_flag, !header->field_pic_flag || header->bottom_field_flag},
                             .client_frame_num = picture->parameters->frame_num};
    client_order(&picture->parameters->CurrPic, held.client_order, held.has_field);
    if (first) {
        const unsigned field = header->bottom_field_flag;
        first->client_order[field] = held.client_order[field];
        first->order[field] = held.client_order[field] + rebuilder->order_shift;
        first->has_field[field] = first->exists[field] = true;
        return;
    }
    for (unsigned i = 0; i < 2; i++)
        held.order[i] = held.client_order[i] + rebuilder->order_shift;
    hold(rebuilder, &held);
}

static bool has_all(struct h264_rebuilder *rebuilder, const struct h264_picture *picture)
{
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++) {
        const struct rebuild_surface *reference = &picture->picture->references[i];
        if (is_used(reference) && !held_by(rebuilder, reference))
            return false;
    }
    return true;
}

/* Second fields change nothing in what is held: the first one's marking has. */
static bool prepare_references(struct h264_rebuilder *rebuilder, const struct h264_picture *picture, bool *idr)
{
    const unsigned count = count_references(picture);
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++)
        if (is_used(&picture->picture->references[i]))
            compare_reference(rebuilder, picture, i);
    if (picture->picture->second_field && any_has_become_long(rebuilder, picture))
        journal_event("decoding-note", "\"context\":%u,\"picture\":%u,\"reason\":\"%s\"",
                      picture->picture->place.context, picture->picture->place.picture,
                      "a reference has become a long-term one between two fields; that counts from the next frame on");
    if (picture->picture->second_field)
        return (rebuilder->started && has_all(rebuilder, picture)) ||
               fail(picture->rebuilt, "the first field, or a reference of the second one, is not there");
    *idr = count == 0 && all_intra(picture);
    if (!*idr && rebuilder->started && sequence_changes(rebuilder, picture)) {
        rebuild_finding(picture->picture, UINT32_MAX, "sequence-changed", "H.264 7.4.1.2.1",
                        "what the sequence parameter set states has changed, and the picture has references");
        lost(rebuilder);
    }
    if (!*idr && !rebuilder->started)
        picture->rebuilt->restart = true;
    if (*idr)
        return true;
    if (!write_missing(rebuilder, picture))
        return false;
    if (rebuilder->held_count == 0 || any_has_become_long(rebuilder, picture))
        return write_carrier(rebuilder, picture);
    return true;
}

static bool rebuild_with(struct h264_rebuilder *rebuilder, const struct h264_picture *picture,
                         struct h264_slice_header *header)
{
    bool idr = false;
    picture->rebuilt->restart = !rebuilder->started;
    if (!prepare_references(rebuilder, picture, &idr))
        return false;
    start_picture(rebuilder, picture, idr, header);
    memcpy(rebuilder->listed, rebuilder->held, sizeof(rebuilder->held));
    rebuilder->listed_count = rebuilder->held_count;
    struct h264_marking marking = {header, 0};
    if (header->nal_ref_idc && !idr && !picture->picture->second_field) {
        unmark_unlisted(rebuilder, picture, &marking);
        make_room(rebuilder, &marking);
    }
    if (!write_picture(rebuilder, picture, header))
        return false;
    if (header->nal_ref_idc)
        hold_picture(rebuilder, picture, header);
    return true;
}

static bool rebuild(void *token, const struct rebuild_picture *picture, const struct rebuild_source *source,
                    struct rebuilt *rebuilt)
{
    struct h264_rebuilder *rebuilder = token;
    struct h264_slice_header *header = malloc(sizeof(*header));
    const struct h264_picture parts = {picture, rebuild_peek_buffer(picture, VAPictureParameterBufferType), source,
                                       rebuilt};
    if (!picture->second_field)
        rebuilder->latest = picture->number;
    const bool done = header ? rebuild_with(rebuilder, &parts, header) : fail(rebuilt, "out of memory");
    free(header);
    if (!done)
        lost(rebuilder);
    return done;
}

const struct codec_rebuilding h264_rebuilding = {
    .software = SOFTWARE_H264,
    .create = create,
    .destroy = destroy,
    .judge = h264_judge,
    .rebuild = rebuild,
    .lost = lost,
};
