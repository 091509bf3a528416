/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HEVC for VAEntrypointVLD: the rebuilt stream, picture by picture. */
#include "rebuild_hevc.h"

#include <stdlib.h>
#include <string.h>

/* A picture that the software decoder holds. */
struct held_picture {
    uint64_t number;   /* 0: a grey one, for a surface without a picture */
    int32_t submitted; /* its order count as the client stated it */
    int32_t rebuilt;   /* and in the rebuilt stream */
};

struct hevc_rebuilder {
    struct held_picture held[HEVC_FRAMES + 1];
    uint32_t held_count;
    int32_t last_order_count; /* of the picture before, in the rebuilt stream */
    uint64_t forgotten;       /* pictures up to this number went with the software decoder's loss */
    bool lost;                /* the software decoder has to start anew */
    struct bits sequence, picture; /* the NAL units of the parameter sets that are in force: VPS, SPS and the PPS of
                                      grey pictures; the PPS of all others */
    struct hevc_coder *grey; /* NULL until it is needed */
    /* Scratch: */
    struct hevc_rebuilt_sets sets;
    struct hevc_rebuilt_set set, grey_set;
    struct hevc_slice_header header;
};

static void *create(VAProfile profile, uint32_t context_width, uint32_t context_height)
{
    (void)profile, (void)context_width, (void)context_height;
    return calloc(1, sizeof(struct hevc_rebuilder));
}

static void destroy(void *token)
{
    struct hevc_rebuilder *rebuilder = token;
    bits_release(&rebuilder->sequence);
    bits_release(&rebuilder->picture);
    if (rebuilder->grey)
        hevc_coder_destroy(rebuilder->grey);
    free(rebuilder);
}

static void lost(void *token)
{
    ((struct hevc_rebuilder *)token)->lost = true;
}

static void forget(struct hevc_rebuilder *rebuilder, uint64_t number)
{
    rebuilder->forgotten = number - 1;
    rebuilder->held_count = 0;
    rebuilder->last_order_count = 0;
    rebuilder->sequence.count = rebuilder->picture.count = 0;
    rebuilder->lost = false;
}

/* The picture that stands for entry `i` of ReferenceFrames; NULL: none. */
static const struct held_picture *find_held(const struct hevc_rebuilder *rebuilder,
                                            const struct rebuild_picture *picture,
                                            const VAPictureParameterBufferHEVC *parameters, unsigned i)
{
    const uint64_t number = picture->references[i].number;
    if (!hevc_frame_is_used(&parameters->ReferenceFrames[i]))
        return NULL;
    for (uint32_t k = 0; k < rebuilder->held_count; k++) {
        const struct held_picture *held = &rebuilder->held[k];
        if (held->number == number && (number || held->submitted == parameters->ReferenceFrames[i].pic_order_cnt))
            return held;
    }
    return NULL;
}

static bool keeps_pictures(const struct hevc_rebuilder *rebuilder, const struct rebuild_picture *picture,
                           const VAPictureParameterBufferHEVC *parameters)
{
    for (unsigned i = 0; i < HEVC_FRAMES; i++)
        if (find_held(rebuilder, picture, parameters, i))
            return true;
    return false;
}

/* Keeps `new`; true when it differs from what is in force. */
static bool replace(struct bits *in_force, struct bits *new)
{
    size_t size = new->count / 8;
    if (in_force->count == new->count && memcmp(in_force->bytes, new->bytes, size) == 0) {
        bits_release(new);
        return false;
    }
    bits_release(in_force);
    *in_force = *new;
    return true;
}

static void frame(struct bits *out, struct bits *unit)
{
    bits_trail(unit);
    bits_frame_nal_unit(out, unit);
    out->failed = out->failed || unit->failed;
    bits_release(unit);
}

/* Appends the parameter sets that have changed. `changed`: the SPS has. */
static bool write_sets(struct hevc_rebuilder *rebuilder, struct bits *stream, bool *changed)
{
    struct bits sequence = {.bytes = NULL}, picture = {.bytes = NULL}, unit = {.bytes = NULL};
    hevc_write_vps(&unit, &rebuilder->sets.vps);
    frame(&sequence, &unit);
    unit = (struct bits){.bytes = NULL};
    hevc_write_sps(&unit, &rebuilder->sets.sps);
    frame(&sequence, &unit);
    unit = (struct bits){.bytes = NULL};
    const struct hevc_pps grey = hevc_grey_pps();
    hevc_write_pps(&unit, &grey);
    frame(&sequence, &unit);
    unit = (struct bits){.bytes = NULL};
    hevc_write_pps(&unit, &rebuilder->sets.pps);
    frame(&picture, &unit);
    if (sequence.failed || picture.failed) {
        bits_release(&sequence);
        bits_release(&picture);
        return false;
    }
    *changed = replace(&rebuilder->sequence, &sequence);
    bool picture_changed = replace(&rebuilder->picture, &picture);
    if (*changed)
        bits_append(stream, rebuilder->sequence.bytes, 0, rebuilder->sequence.count);
    if (*changed || picture_changed)
        bits_append(stream, rebuilder->picture.bytes, 0, rebuilder->picture.count);
    return !stream->failed;
}

/* A random access point that keeps nothing begins a new sequence, as its order counts may. One that keeps pictures, for
 * leading pictures, is a CRA picture. */
static uint32_t choose_type(struct hevc_rebuilder *rebuilder, const struct rebuild_picture *picture,
                            const VAPictureParameterBufferHEVC *parameters, bool sequence_changed, bool first)
{
    const bool random_access = parameters->slice_parsing_fields.bits.RapPicFlag;
    if (sequence_changed) { /* the software decoder drops all references */
        rebuilder->held_count = 0;
        rebuilder->forgotten = picture->number - 1;
        if (!first && !random_access)
            rebuild_finding(picture, UINT32_MAX, "sequence-changed-inside", "H.265 7.4.2.4.2",
                            "what the SPS states differs from the picture before, and this is no random access point");
    }
    if (parameters->slice_parsing_fields.bits.IdrPicFlag) {
        rebuilder->held_count = 0;
        return HEVC_NAL_IDR_W_RADL;
    }
    if (!random_access)
        return HEVC_NAL_TRAIL_R;
    if (keeps_pictures(rebuilder, picture, parameters))
        return HEVC_NAL_CRA;
    rebuilder->held_count = 0;
    return HEVC_NAL_BLA_N_LP;
}

/* PicOrderCntVal in the rebuilt stream (8.3.1): congruent to the client's. */
static int32_t rebuild_order_count(const struct hevc_rebuilder *rebuilder, uint32_t type, int32_t submitted)
{
    const int32_t range = 1 << HEVC_ORDER_BITS;
    int32_t low = submitted & (range - 1), last_low = rebuilder->last_order_count & (range - 1);
    int32_t high = rebuilder->last_order_count - last_low;
    if (hevc_is_idr(type))
        return 0;
    if (type == HEVC_NAL_BLA_N_LP)
        return low;
    if (low < last_low && last_low - low >= range / 2)
        high += range;
    else if (low > last_low && low - last_low > range / 2)
        high -= range;
    return high + low;
}

static void rebuild_set(struct hevc_rebuilder *rebuilder, const struct rebuild_picture *picture,
                        const VAPictureParameterBufferHEVC *parameters)
{
    struct hevc_rebuilt_set *set = &rebuilder->set;
    bool current[HEVC_FRAMES];
    hevc_find_current(picture, parameters, current);
    for (unsigned i = 0; i < HEVC_FRAMES; i++) {
        const VAPictureHEVC *frame = &parameters->ReferenceFrames[i];
        struct hevc_rebuilt_reference *reference = &set->references[i];
        *reference = (struct hevc_rebuilt_reference){.current = current[i]};
        if (!hevc_frame_is_used(frame) || parameters->slice_parsing_fields.bits.IdrPicFlag)
            continue;
        const struct held_picture *held = find_held(rebuilder, picture, parameters, i);
        int64_t distance = (int64_t)frame->pic_order_cnt - parameters->CurrPic.pic_order_cnt;
        int64_t order_count = set->order_count + distance;
        if (held)
            order_count = held->rebuilt;
        /* What is only kept for later, and is not there, need not be kept. */
        reference->kept = held || current[i];
        reference->long_term = frame->flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE ||
                               frame->flags & VA_PICTURE_HEVC_RPS_LT_CURR;
        reference->order_count = (int32_t)order_count;
        if (held && held->submitted != frame->pic_order_cnt)
            rebuild_finding(picture, UINT32_MAX, "reference-order-count", "va_dec_hevc.h ReferenceFrames pic_order_cnt",
                            "ReferenceFrames[%u] has the order count %d, its picture was decoded with %d", i,
                            frame->pic_order_cnt, held->submitted);
        if (!held && current[i] && picture->references[i].number > rebuilder->forgotten)
            rebuild_finding(picture, UINT32_MAX, "reference-dropped", "H.265 8.3.2",
                            "ReferenceFrames[%u], order count %d, was missing from the set of an earlier picture", i,
                            frame->pic_order_cnt);
    }
    hevc_order_set(set);
}

/* After the picture, the software decoder holds it and what its set keeps. */
static void hold(struct hevc_rebuilder *rebuilder, const struct rebuild_picture *picture,
                 const VAPictureParameterBufferHEVC *parameters)
{
    struct held_picture held[HEVC_FRAMES + 1];
    uint32_t count = 0;
    for (unsigned i = 0; i < HEVC_FRAMES; i++) {
        if (rebuilder->set.references[i].kept)
            held[count++] = (struct held_picture){picture->references[i].number,
                                                  parameters->ReferenceFrames[i].pic_order_cnt,
                                                  rebuilder->set.references[i].order_count};
    }
    held[count++] = (struct held_picture){picture->number, parameters->CurrPic.pic_order_cnt,
                                          rebuilder->set.order_count};
    memcpy(rebuilder->held, held, count * sizeof(held[0]));
    rebuilder->held_count = count;
    rebuilder->last_order_count = rebuilder->set.order_count;
}

/* One slice segment: a header of our own, then the client's slice_segment_data(). */
static bool write_slice(struct hevc_rebuilder *rebuilder, uint32_t type, const struct rebuild_slice *found,
                        struct bits *stream, const char **failure)
{
    VASliceParameterBufferHEVC slice;
    memcpy(&slice, found->parameters, sizeof(slice));
    if (!hevc_rebuild_header(&rebuilder->header, &rebuilder->sets, &rebuilder->set, type, &slice, failure))
        return false;
    *failure = "out of memory";
    uint8_t *bytes = malloc(found->size + 1);
    if (!bytes)
        return false;
    size_t size = bits_remove_emulation(bytes, found->data, found->size);
    struct bits unit = {.bytes = NULL};
    hevc_write_slice_header(&unit, &rebuilder->header, &rebuilder->sets.sps, &rebuilder->sets.pps);
    bits_trail(&unit);
    bool inside = slice.slice_data_byte_offset < size;
    if (inside)
        bits_append(&unit, bytes, (size_t)slice.slice_data_byte_offset * 8, (size - slice.slice_data_byte_offset) * 8);
    else
        *failure = "slice_data_byte_offset is behind the slice data";
    bits_frame_nal_unit(stream, &unit);
    bool written = inside && !unit.failed && !stream->failed;
    bits_release(&unit);
    free(bytes);
    return written;
}

/* Adds a grey picture in place of each reference that the software decoder does not hold, after `stream`, which goes
 * into the first of them. */
static bool make_up_references(struct hevc_rebuilder *rebuilder, const struct rebuild_picture *picture,
                               const VAPictureParameterBufferHEVC *parameters, struct rebuilt *rebuilt,
                               struct bits *stream)
{
    struct hevc_rebuilt_set *set = &rebuilder->grey_set;
    *set = rebuilder->set;
    for (unsigned i = 0; i < HEVC_FRAMES; i++) {
        set->references[i].current = false;
        set->references[i].kept = set->references[i].kept && find_held(rebuilder, picture, parameters, i);
    }
    for (unsigned i = 0; i < HEVC_FRAMES; i++) {
        if (!rebuilder->set.references[i].kept || set->references[i].kept)
            continue;
        if (!rebuilder->grey)
            rebuilder->grey = hevc_coder_create();
        struct rebuilt_unit *unit = &rebuilt->units[rebuilt->unit_count++];
        *unit = (struct rebuilt_unit){.stream = *stream};
        *stream = (struct bits){.bytes = NULL};
        set->order_count = set->references[i].order_count;
        hevc_order_set(set);
        if (!rebuilder->grey || !hevc_write_grey(rebuilder->grey, &rebuilder->sets, set, &unit->stream))
            return false;
        set->references[i].kept = true;
        journal_event("injection", "\"context\":%u,\"picture\":%u,\"surface\":%u,\"number\":%llu",
                      picture->place.context, picture->place.picture, parameters->ReferenceFrames[i].picture_id,
                      (unsigned long long)picture->references[i].number);
    }
    return true;
}

static bool write_slices(struct hevc_rebuilder *rebuilder, const struct rebuild_picture *picture, uint32_t type,
                         struct bits *stream, const char **failure)
{
    struct rebuild_cursor cursor = {0};
    struct rebuild_slice slice;
    while (rebuild_next_slice(picture, sizeof(VASliceParameterBufferHEVC), &cursor, &slice))
        if (!write_slice(rebuilder, type, &slice, stream, failure))
            return false;
    return true;
}

static bool rebuild(void *token, const struct rebuild_picture *picture, const struct rebuild_source *source,
                    struct rebuilt *rebuilt)
{
    (void)source;
    struct hevc_rebuilder *rebuilder = token;
    const VAPictureParameterBufferHEVC *parameters =
        hevc_peek_buffer(picture, VAPictureParameterBufferType, sizeof(*parameters));
    const VAIQMatrixBufferHEVC *matrix = hevc_peek_buffer(picture, VAIQMatrixBufferType, sizeof(*matrix));
    rebuilt->failure = "picture parameters are missing";
    if (!parameters)
        return false;
    rebuilt->restart = rebuilder->lost;
    if (rebuilder->lost)
        forget(rebuilder, picture->number);
    bool first = rebuilder->sequence.count == 0, changed = false;
    struct bits stream = {.bytes = NULL};
    hevc_rebuild_sets(&rebuilder->sets, parameters, matrix);
    rebuilt->failure = "out of memory";
    if (!write_sets(rebuilder, &stream, &changed)) {
        bits_release(&stream);
        return false;
    }
    uint32_t type = choose_type(rebuilder, picture, parameters, changed, first);
    rebuilder->set.order_count = rebuild_order_count(rebuilder, type, parameters->CurrPic.pic_order_cnt);
    rebuild_set(rebuilder, picture, parameters);
    rebuilt->failure = "the references that are missing cannot be made up";
    bool written = make_up_references(rebuilder, picture, parameters, rebuilt, &stream);
    struct rebuilt_unit *unit = &rebuilt->units[rebuilt->unit_count++];
    *unit = (struct rebuilt_unit){.stream = stream, .target = true};
    if (!written || !write_slices(rebuilder, picture, type, &unit->stream, &rebuilt->failure)) {
        rebuilder->lost = true; /* parameter sets that were to be in force may be in units that are not decoded */
        return false;
    }
    hold(rebuilder, picture, parameters);
    rebuilt->failure = NULL;
    return true;
}

const struct codec_rebuilding hevc_rebuilding = {
    .software = SOFTWARE_HEVC,
    .create = create,
    .destroy = destroy,
    .judge = hevc_judge,
    .rebuild = rebuild,
    .lost = lost,
};
