/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reference picture sets: which pictures stay, and how that is said. */
#include "exercise.h"

#include <string.h>

/* What the set is to stand for. */
static void draw_short_term(struct exercise *exercise, const bool *kept, const bool *used, int32_t order_count,
                            struct hevc_rps *rps)
{
    const struct hevc_dpb *dpb = &exercise->dpb;
    *rps = (struct hevc_rps){0};
    for (int32_t distance = 1; distance < 4096; distance++)
        for (unsigned i = 0; i < dpb->count; i++) {
            int64_t delta = (int64_t)dpb->pictures[i].order_count - order_count;
            if (!kept[i] || dpb->pictures[i].marking != HEVC_SHORT_TERM)
                continue;
            if (delta == -distance) {
                rps->delta_s0[rps->negative_count] = -distance;
                rps->used_s0[rps->negative_count++] = used[i];
            } else if (delta == distance) {
                rps->delta_s1[rps->positive_count] = distance;
                rps->used_s1[rps->positive_count++] = used[i];
            }
        }
}

static bool same_rps(const struct hevc_rps *one, const struct hevc_rps *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

/* States the set by itself. */
static void state(const struct hevc_rps *rps, struct hevc_short_term_rps *v)
{
    *v = (struct hevc_short_term_rps){.num_negative_pics = rps->negative_count,
                                      .num_positive_pics = rps->positive_count};
    for (unsigned i = 0; i < rps->negative_count; i++) {
        v->delta_poc_s0_minus1[i] = (uint32_t)((i ? rps->delta_s0[i - 1] : 0) - rps->delta_s0[i] - 1);
        v->used_by_curr_pic_s0_flag[i] = rps->used_s0[i];
    }
    for (unsigned i = 0; i < rps->positive_count; i++) {
        v->delta_poc_s1_minus1[i] = (uint32_t)(rps->delta_s1[i] - (i ? rps->delta_s1[i - 1] : 0) - 1);
        v->used_by_curr_pic_s1_flag[i] = rps->used_s1[i];
    }
}

/* Whether a delta is wanted, and whether it is used. */
static bool wants(const struct hevc_rps *rps, int32_t delta, uint32_t *used)
{
    for (unsigned i = 0; i < rps->negative_count; i++)
        if (rps->delta_s0[i] == delta) {
            *used = rps->used_s0[i];
            return true;
        }
    for (unsigned i = 0; i < rps->positive_count; i++)
        if (rps->delta_s1[i] == delta) {
            *used = rps->used_s1[i];
            return true;
        }
    *used = 0;
    return false;
}

/* Predicts the set from one of the SPS, with any difference that does; false: there is none. */
static bool predict(const struct exercise *exercise, struct hevc_slice_header *header, const struct hevc_rps *rps)
{
    const struct hevc_sps *sps = &exercise->sps;
    for (uint32_t back = 0; back < sps->num_short_term_ref_pic_sets; back++) {
        struct hevc_rps from, result;
        if (!hevc_sps_rps(sps, sps->num_short_term_ref_pic_sets - 1 - back, &from))
            continue;
        for (int32_t delta = -12; delta <= 12; delta++) {
            if (delta == 0)
                continue;
            struct hevc_short_term_rps v = {.inter_ref_pic_set_prediction_flag = 1, .delta_idx_minus1 = back,
                                            .delta_rps_sign = delta < 0,
                                            .abs_delta_rps_minus1 = (uint32_t)(delta < 0 ? -delta : delta) - 1};
            uint32_t count = from.negative_count + from.positive_count;
            for (uint32_t j = 0; j <= count; j++) {
                int32_t base = j == count ? 0
                               : j < from.negative_count ? from.delta_s0[j] : from.delta_s1[j - from.negative_count];
                v.use_delta_flag[j] = wants(rps, base + delta, &v.used_by_curr_pic_flag[j]);
            }
            header->short_term_ref_pic_set_sps_flag = 0;
            header->short_term_ref_pic_set = v;
            if (hevc_slice_rps(sps, header, &result) && same_rps(&result, rps))
                return true;
        }
    }
    return false;
}

/* Says the set in one of the ways there are. */
static void express(struct exercise *exercise, struct hevc_slice_header *header, const struct hevc_rps *rps)
{
    struct hevc_rps other;
    for (uint32_t index = 0; index < exercise->sps.num_short_term_ref_pic_sets; index++)
        if (hevc_sps_rps(&exercise->sps, index, &other) && same_rps(rps, &other) &&
            random_chance(&exercise->random, 70)) {
            header->short_term_ref_pic_set_sps_flag = 1;
            header->short_term_ref_pic_set_idx = index;
            return;
        }
    if (random_chance(&exercise->random, 50) && predict(exercise, header, rps))
        return;
    header->short_term_ref_pic_set_sps_flag = 0;
    state(rps, &header->short_term_ref_pic_set);
}

/* Adds a long-term picture to the header, with all of its order count: other pictures may share its lower bits. Those
 * furthest away come last, as differences of cycles are coded. */
static void add_long_term(const struct exercise *exercise, struct hevc_slice_header *header, int32_t order_count,
                          int32_t current, bool used, uint32_t *cycle)
{
    uint32_t maximum_lsb = 1u << (exercise->sps.log2_max_pic_order_cnt_lsb_minus4 + 4);
    struct hevc_long_term *entry = &header->long_term[header->num_long_term_pics++];
    uint32_t cycles = (((uint32_t)current & ~(maximum_lsb - 1)) - ((uint32_t)order_count & ~(maximum_lsb - 1))) /
                      maximum_lsb;
    entry->poc_lsb_lt = (uint32_t)order_count & (maximum_lsb - 1);
    entry->used_by_curr_pic_lt_flag = used;
    entry->delta_poc_msb_present_flag = 1;
    entry->delta_poc_msb_cycle_lt = cycles - *cycle;
    *cycle = cycles;
}

void exercise_draw_reference_set(struct exercise *exercise, struct hevc_slice_header *header, int32_t order_count)
{
    const struct hevc_dpb *dpb = &exercise->dpb;
    bool kept[HEVC_DPB_CAPACITY] = {false}, used[HEVC_DPB_CAPACITY] = {false}, any = false;
    unsigned references = 0;
    for (unsigned i = 0; i < dpb->count; i++)
        references += dpb->pictures[i].marking != HEVC_UNUSED;
    for (unsigned i = 0; i < dpb->count; i++) {
        /* The oldest go first; B pictures need what comes after them, which is the newest. */
        bool room = references <= exercise->most_references;
        references -= dpb->pictures[i].marking != HEVC_UNUSED && !room;
        kept[i] = dpb->pictures[i].marking != HEVC_UNUSED && room;
        used[i] = kept[i] && random_chance(&exercise->random, 80);
        any |= used[i];
    }
    for (unsigned i = dpb->count; i-- > 0 && !any;)
        any = used[i] = kept[i];
    /* A picture in output order before all others may become a long-term one; so it stays. */
    bool long_term[HEVC_DPB_CAPACITY] = {false};
    for (unsigned i = 0; i < dpb->count; i++)
        long_term[i] = kept[i] && (dpb->pictures[i].marking == HEVC_LONG_TERM ||
                                   (exercise->sps.long_term_ref_pics_present_flag &&
                                    dpb->pictures[i].order_count < order_count && random_chance(&exercise->random, 8)));
    struct hevc_rps rps;
    bool short_term[HEVC_DPB_CAPACITY];
    for (unsigned i = 0; i < dpb->count; i++)
        short_term[i] = kept[i] && !long_term[i];
    draw_short_term(exercise, short_term, used, order_count, &rps);
    express(exercise, header, &rps);
    /* From the latest to the earliest. */
    uint32_t cycle = 0;
    int64_t below = INT64_MAX;
    for (unsigned round = 0; round < dpb->count; round++) {
        int latest = -1;
        for (unsigned i = 0; i < dpb->count; i++)
            if (long_term[i] && dpb->pictures[i].order_count < below &&
                (latest < 0 || dpb->pictures[i].order_count > dpb->pictures[latest].order_count))
                latest = (int)i;
        if (latest < 0)
            break;
        below = dpb->pictures[latest].order_count;
        add_long_term(exercise, header, dpb->pictures[latest].order_count, order_count, used[latest], &cycle);
    }
}
