/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Picture order counts, reference picture sets and output. Reference lists are in dpb_lists.c. */
#include "dpb.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One picture's way through the model: what it works on, and the first thing that was wrong. */
struct step {
    struct hevc_dpb *dpb;
    const struct hevc_sps *sps;
    const struct hevc_slice_header *header;
    int32_t order_count;
    struct hevc_outputs *outputs; /* or NULL */
    char *reason;
    size_t size;
    bool failed;
};

static void fail(struct step *step, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct step *step, const char *format, ...)
{
    if (step->failed)
        return;
    step->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(step->reason, step->size, format, arguments);
    va_end(arguments);
}

/* Damaged headers may lead out of the range that 8.3.1 allows; the wrapped value is as wrong as any other. */
static int32_t wrapped(int64_t value)
{
    return (int32_t)(uint32_t)(uint64_t)value;
}

/* NoRaslOutputFlag of an IRAP picture (8.1.3). */
static bool starts_anew(const struct hevc_dpb *dpb, const struct hevc_slice_header *header)
{
    uint32_t type = header->nal.nal_unit_type;
    return hevc_is_irap(type) && (type != HEVC_NAL_CRA || !dpb->started || dpb->ended);
}

/* H.265 8.3.1 */
int32_t hevc_dpb_order_count(const struct hevc_dpb *dpb, const struct hevc_sps *sps,
                             const struct hevc_slice_header *header)
{
    int64_t maximum_lsb = (int64_t)1 << (sps->log2_max_pic_order_cnt_lsb_minus4 + 4);
    int64_t lsb = hevc_is_idr(header->nal.nal_unit_type) ? 0 : header->slice_pic_order_cnt_lsb;
    if (starts_anew(dpb, header))
        return wrapped(lsb);
    int64_t previous_lsb = (int64_t)((uint64_t)(int64_t)dpb->previous_tid0_order_count & (uint64_t)(maximum_lsb - 1));
    int64_t msb = (int64_t)dpb->previous_tid0_order_count - previous_lsb;
    if (lsb < previous_lsb && previous_lsb - lsb >= maximum_lsb / 2)
        msb += maximum_lsb;
    else if (lsb > previous_lsb && lsb - previous_lsb > maximum_lsb / 2)
        msb -= maximum_lsb;
    return wrapped(msb + lsb);
}

static void remove_picture(struct hevc_dpb *dpb, uint32_t index)
{
    dpb->count--;
    memmove(&dpb->pictures[index], &dpb->pictures[index + 1], (dpb->count - index) * sizeof(dpb->pictures[0]));
}

/* Removes what is neither a reference nor waits for its output. */
static void remove_unused(struct hevc_dpb *dpb)
{
    for (uint32_t i = dpb->count; i-- > 0;)
        if (dpb->pictures[i].marking == HEVC_UNUSED && !dpb->pictures[i].needed_for_output)
            remove_picture(dpb, i);
}

static uint32_t waiting(const struct hevc_dpb *dpb)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < dpb->count; i++)
        count += dpb->pictures[i].needed_for_output;
    return count;
}

/* H.265 C.5.2.4, without the removal: pictures keep their places until the end of the step. */
static void put_out_first(struct hevc_dpb *dpb, struct hevc_outputs *outputs)
{
    struct hevc_dpb_picture *first = NULL;
    for (uint32_t i = 0; i < dpb->count; i++)
        if (dpb->pictures[i].needed_for_output && (!first || dpb->pictures[i].order_count < first->order_count))
            first = &dpb->pictures[i];
    if (!first)
        return;
    first->needed_for_output = false;
    if (outputs && outputs->count < sizeof(outputs->pictures) / sizeof(outputs->pictures[0]))
        outputs->pictures[outputs->count++] = *first;
}

/* The conditions of C.5.2.2 and C.5.2.3 on reordering and latency. */
static bool must_put_out(const struct hevc_dpb *dpb, const struct hevc_sub_layer_ordering *ordering)
{
    if (waiting(dpb) > ordering->max_num_reorder_pics)
        return true;
    uint64_t limit = (uint64_t)ordering->max_num_reorder_pics + ordering->max_latency_increase_plus1 - 1;
    for (uint32_t i = 0; ordering->max_latency_increase_plus1 && i < dpb->count; i++)
        if (dpb->pictures[i].needed_for_output && dpb->pictures[i].latency_count >= limit)
            return true;
    return false;
}

static const struct hevc_sub_layer_ordering *ordering_of(const struct hevc_sps *sps)
{
    uint32_t highest = sps->sps_max_sub_layers_minus1;
    return &sps->ordering[highest < HEVC_MAXIMUM_SUB_LAYERS ? highest : 0];
}

/* H.265 C.5.2.2, after the reference picture set is carried out */
static void make_room(struct step *step, bool anew)
{
    struct hevc_dpb *dpb = step->dpb;
    const struct hevc_sub_layer_ordering *ordering = ordering_of(step->sps);
    if (anew && dpb->started) {
        bool discarded = step->header->nal.nal_unit_type == HEVC_NAL_CRA || step->header->no_output_of_prior_pics_flag;
        while (!discarded && waiting(dpb) > 0)
            put_out_first(dpb, step->outputs);
        dpb->count = 0;
        return;
    }
    remove_unused(dpb);
    while (waiting(dpb) > 0 &&
           (must_put_out(dpb, ordering) || dpb->count >= ordering->max_dec_pic_buffering_minus1 + 1)) {
        put_out_first(dpb, step->outputs);
        remove_unused(dpb);
    }
}

/* The picture with an order count: of short-term pictures or of all references, by all bits or those of `mask`. */
static int32_t find(const struct hevc_dpb *dpb, int32_t order_count, bool short_term, uint32_t mask)
{
    for (uint32_t i = 0; i < dpb->count; i++) {
        const struct hevc_dpb_picture *picture = &dpb->pictures[i];
        bool marked = short_term ? picture->marking == HEVC_SHORT_TERM : picture->marking != HEVC_UNUSED;
        if (marked && (((uint32_t)picture->order_count ^ (uint32_t)order_count) & mask) == 0)
            return (int32_t)i;
    }
    return -1;
}

/* Adds an entry to one of the set's five lists; a picture that is to be referred to must be there. */
static void add(struct step *step, int32_t *list, uint32_t *count, int32_t found, int32_t order_count, const char *kind,
                bool needed)
{
    if (*count == HEVC_MAXIMUM_REFERENCES) {
        fail(step, "the reference picture set has more than %d %s pictures", HEVC_MAXIMUM_REFERENCES, kind);
        return;
    }
    if (found < 0 && needed)
        fail(step, "the %s picture with order count %d is not in the DPB", kind, order_count);
    list[(*count)++] = found;
}

/* H.265 8.3.2, long-term pictures: 7-52 and 8-5 */
static void add_long_term(struct step *step, struct hevc_reference_set *set)
{
    const struct hevc_slice_header *header = step->header;
    const struct hevc_sps *sps = step->sps;
    uint32_t maximum_lsb = 1u << (sps->log2_max_pic_order_cnt_lsb_minus4 + 4), cycle = 0;
    for (uint32_t i = 0; i < header->num_long_term_sps + header->num_long_term_pics && i <= HEVC_MAXIMUM_LONG_TERM;
         i++) {
        const struct hevc_long_term *entry = &header->long_term[i];
        bool from_sps = i < header->num_long_term_sps;
        uint32_t in_sps = entry->lt_idx_sps < HEVC_MAXIMUM_LONG_TERM ? entry->lt_idx_sps : 0;
        uint32_t lsb = from_sps ? sps->lt_ref_pic_poc_lsb_sps[in_sps] : entry->poc_lsb_lt;
        bool used = from_sps ? sps->used_by_curr_pic_lt_sps_flag[in_sps] : entry->used_by_curr_pic_lt_flag;
        cycle = entry->delta_poc_msb_cycle_lt + (i == 0 || i == header->num_long_term_sps ? 0 : cycle);
        uint32_t wanted = lsb;
        if (entry->delta_poc_msb_present_flag)
            wanted += ((uint32_t)step->order_count & ~(maximum_lsb - 1)) - cycle * maximum_lsb;
        int32_t found = find(step->dpb, (int32_t)wanted, false,
                             entry->delta_poc_msb_present_flag ? UINT32_MAX : maximum_lsb - 1);
        if (used)
            add(step, set->long_term, &set->long_term_count, found, (int32_t)wanted, "long-term", true);
        else
            add(step, set->long_term_following, &set->long_term_following_count, found, (int32_t)wanted, "long-term",
                false);
    }
}

/* H.265 8.3.2, one half of the short-term pictures */
static void add_short_term(struct step *step, struct hevc_reference_set *set, const struct hevc_rps *rps, bool negative)
{
    uint32_t count = negative ? rps->negative_count : rps->positive_count;
    for (uint32_t i = 0; i < count; i++) {
        int32_t delta = negative ? rps->delta_s0[i] : rps->delta_s1[i];
        int32_t wanted = wrapped((int64_t)step->order_count + delta);
        int32_t found = find(step->dpb, wanted, true, UINT32_MAX);
        if (!(negative ? rps->used_s0[i] : rps->used_s1[i]))
            add(step, set->following, &set->following_count, found, wanted, "short-term", false);
        else if (negative)
            add(step, set->before, &set->before_count, found, wanted, "short-term", true);
        else
            add(step, set->after, &set->after_count, found, wanted, "short-term", true);
    }
}

static void mark(struct step *step, const int32_t *list, uint32_t count, enum hevc_marking marking, bool marked[])
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0)
            continue;
        if (marked[list[i]])
            fail(step, "two entries of the reference picture set name the picture with order count %d",
                 step->dpb->pictures[list[i]].order_count);
        marked[list[i]] = true;
        step->dpb->pictures[list[i]].marking = marking;
    }
}

/* H.265 8.3.2 */
static void carry_out_set(struct step *step, struct hevc_reference_set *set)
{
    struct hevc_dpb *dpb = step->dpb;
    struct hevc_rps rps;
    bool marked[HEVC_DPB_CAPACITY] = {false};
    if (!hevc_slice_rps(step->sps, step->header, &rps))
        fail(step, "the short-term reference picture set breaks a rule of 7.4.8");
    if (!hevc_is_idr(step->header->nal.nal_unit_type))
        add_long_term(step, set);
    /* Long-term pictures are taken out before short-term ones are looked for. */
    mark(step, set->long_term, set->long_term_count, HEVC_LONG_TERM, marked);
    mark(step, set->long_term_following, set->long_term_following_count, HEVC_LONG_TERM, marked);
    add_short_term(step, set, &rps, true);
    add_short_term(step, set, &rps, false);
    mark(step, set->before, set->before_count, HEVC_SHORT_TERM, marked);
    mark(step, set->after, set->after_count, HEVC_SHORT_TERM, marked);
    mark(step, set->following, set->following_count, HEVC_SHORT_TERM, marked);
    for (uint32_t i = 0; i < dpb->count; i++)
        if (!marked[i])
            dpb->pictures[i].marking = HEVC_UNUSED;
    uint32_t total = set->before_count + set->after_count + set->following_count + set->long_term_count +
                     set->long_term_following_count;
    uint32_t most = ordering_of(step->sps)->max_dec_pic_buffering_minus1;
    if (total > most)
        fail(step, "the reference picture set has %u pictures, sps_max_dec_pic_buffering_minus1 is %u", total, most);
}

/* Pictures may have moved to other places: entries are found again by what they name. */
static void follow(const struct hevc_dpb *before, const struct hevc_dpb *after, int32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct hevc_dpb_picture *wanted = list[i] < 0 ? NULL : &before->pictures[list[i]];
        list[i] = -1;
        for (uint32_t k = 0; wanted && k < after->count && list[i] < 0; k++)
            if (after->pictures[k].marking == wanted->marking && after->pictures[k].surface == wanted->surface &&
                after->pictures[k].order_count == wanted->order_count)
                list[i] = (int32_t)k;
    }
}

bool hevc_dpb_begin(struct hevc_dpb *dpb, const struct hevc_sps *sps, const struct hevc_slice_header *header,
                    int32_t order_count, struct hevc_reference_set *set, struct hevc_outputs *outputs, char *reason,
                    size_t size)
{
    struct step step = {.dpb = dpb, .sps = sps, .header = header, .order_count = order_count, .outputs = outputs,
                        .reason = reason, .size = size};
    bool anew = starts_anew(dpb, header);
    *set = (struct hevc_reference_set){0};
    if (hevc_is_irap(header->nal.nal_unit_type))
        dpb->no_rasl_output = anew;
    for (uint32_t i = 0; anew && i < dpb->count; i++)
        dpb->pictures[i].marking = HEVC_UNUSED;
    carry_out_set(&step, set);
    struct hevc_dpb marked = *dpb;
    make_room(&step, anew);
    follow(&marked, dpb, set->before, set->before_count);
    follow(&marked, dpb, set->after, set->after_count);
    follow(&marked, dpb, set->following, set->following_count);
    follow(&marked, dpb, set->long_term, set->long_term_count);
    follow(&marked, dpb, set->long_term_following, set->long_term_following_count);
    return !step.failed;
}

/* PicOutputFlag (8.1.3) */
static bool is_put_out(const struct hevc_dpb *dpb, const struct hevc_slice_header *header)
{
    uint32_t type = header->nal.nal_unit_type;
    bool rasl = type == HEVC_NAL_RASL_N || type == HEVC_NAL_RASL_R;
    return header->pic_output_flag && !(rasl && dpb->no_rasl_output);
}

/* 8.3.1: whether the picture can be prevTid0Pic. */
static bool anchors_order_count(const struct hevc_slice_header *header)
{
    uint32_t type = header->nal.nal_unit_type;
    return header->nal.nuh_temporal_id_plus1 <= 1 && !hevc_is_sub_layer_non_reference(type) &&
           !(type >= HEVC_NAL_RADL_N && type <= HEVC_NAL_RASL_R);
}

bool hevc_dpb_end(struct hevc_dpb *dpb, const struct hevc_sps *sps, const struct hevc_slice_header *header,
                  int32_t order_count, uint32_t surface, struct hevc_outputs *outputs, char *reason, size_t size)
{
    struct step step = {.dpb = dpb, .reason = reason, .size = size};
    const struct hevc_sub_layer_ordering *ordering = ordering_of(sps);
    bool output = is_put_out(dpb, header);
    if (anchors_order_count(header))
        dpb->previous_tid0_order_count = order_count;
    dpb->started = true;
    dpb->ended = false;
    for (uint32_t i = 0; output && i < dpb->count; i++)
        dpb->pictures[i].latency_count += dpb->pictures[i].needed_for_output &&
                                          dpb->pictures[i].order_count > order_count;
    if (dpb->count > ordering->max_dec_pic_buffering_minus1 || dpb->count == HEVC_DPB_CAPACITY) {
        fail(&step, "the DPB holds %u pictures beside the current one, sps_max_dec_pic_buffering_minus1 is %u",
             dpb->count, ordering->max_dec_pic_buffering_minus1);
        remove_picture(dpb, 0);
    }
    dpb->pictures[dpb->count++] = (struct hevc_dpb_picture){
        .surface = surface,
        .order_count = order_count,
        .temporal_id = header->nal.nuh_temporal_id_plus1 ? header->nal.nuh_temporal_id_plus1 - 1 : 0,
        .marking = HEVC_SHORT_TERM,
        .needed_for_output = output,
    };
    while (waiting(dpb) > 0 && must_put_out(dpb, ordering))
        put_out_first(dpb, outputs);
    return !step.failed;
}

void hevc_dpb_flush(struct hevc_dpb *dpb, struct hevc_outputs *outputs)
{
    while (waiting(dpb) > 0)
        put_out_first(dpb, outputs);
    dpb->count = 0;
}
