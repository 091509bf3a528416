/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Short-term reference picture sets: their syntax, and what they stand for. */
#include "visitor.h"

/* DeltaPocS0 or DeltaPocS1 as it grows, nearest pictures first. */
struct half {
    int32_t *deltas;
    bool *used;
    uint32_t count;
    bool failed; /* out of room, or out of order */
};

static void append(struct half *half, int64_t delta, bool used)
{
    bool first = half->count == 0;
    if (half->count == HEVC_MAXIMUM_REFERENCES || delta < -(1 << 15) * 17 || delta > (1 << 15) * 17 || delta == 0 ||
        (!first && (delta < 0 ? delta >= half->deltas[half->count - 1] : delta <= half->deltas[half->count - 1]))) {
        half->failed = true;
        return;
    }
    half->deltas[half->count] = (int32_t)delta;
    half->used[half->count++] = used;
}

/* One picture of the set that another is predicted from, or that set's own picture: 7-61 and 7-62. */
static void predict(struct half *half, bool negative, int64_t delta, const struct hevc_short_term_rps *v, uint32_t j)
{
    if ((negative ? delta < 0 : delta > 0) && (v->used_by_curr_pic_flag[j] || v->use_delta_flag[j]))
        append(half, delta, v->used_by_curr_pic_flag[j]);
}

/* H.265 7-61 and 7-62 */
static bool predicted(const struct hevc_short_term_rps *v, const struct hevc_rps *from, struct hevc_rps *rps)
{
    int64_t delta_rps = ((int64_t)v->abs_delta_rps_minus1 + 1) * (v->delta_rps_sign ? -1 : 1);
    uint32_t negatives = from->negative_count, positives = from->positive_count, all = negatives + positives;
    struct half s0 = {.deltas = rps->delta_s0, .used = rps->used_s0};
    struct half s1 = {.deltas = rps->delta_s1, .used = rps->used_s1};
    for (uint32_t j = positives; j-- > 0;)
        predict(&s0, true, from->delta_s1[j] + delta_rps, v, negatives + j);
    predict(&s0, true, delta_rps, v, all);
    for (uint32_t j = 0; j < negatives; j++)
        predict(&s0, true, from->delta_s0[j] + delta_rps, v, j);
    for (uint32_t j = negatives; j-- > 0;)
        predict(&s1, false, from->delta_s0[j] + delta_rps, v, j);
    predict(&s1, false, delta_rps, v, all);
    for (uint32_t j = 0; j < positives; j++)
        predict(&s1, false, from->delta_s1[j] + delta_rps, v, negatives + j);
    rps->negative_count = s0.count;
    rps->positive_count = s1.count;
    return !s0.failed && !s1.failed && s0.count + s1.count <= HEVC_MAXIMUM_REFERENCES;
}

/* H.265 7-63 to 7-66 */
static bool stated(const struct hevc_short_term_rps *v, struct hevc_rps *rps)
{
    struct half s0 = {.deltas = rps->delta_s0, .used = rps->used_s0};
    struct half s1 = {.deltas = rps->delta_s1, .used = rps->used_s1};
    int64_t delta = 0;
    if (v->num_negative_pics > HEVC_MAXIMUM_REFERENCES ||
        v->num_positive_pics > HEVC_MAXIMUM_REFERENCES - v->num_negative_pics)
        return false;
    for (uint32_t i = 0; i < v->num_negative_pics; i++) {
        delta -= (int64_t)v->delta_poc_s0_minus1[i] + 1;
        append(&s0, delta, v->used_by_curr_pic_s0_flag[i]);
    }
    delta = 0;
    for (uint32_t i = 0; i < v->num_positive_pics; i++) {
        delta += (int64_t)v->delta_poc_s1_minus1[i] + 1;
        append(&s1, delta, v->used_by_curr_pic_s1_flag[i]);
    }
    rps->negative_count = s0.count;
    rps->positive_count = s1.count;
    return !s0.failed && !s1.failed;
}

/* RefRpsIdx (7-59); false when there is no such set. */
static bool reference_index(const struct hevc_sps *sps, const struct hevc_short_term_rps *v, uint32_t index,
                            uint32_t *reference)
{
    uint32_t back = index == sps->num_short_term_ref_pic_sets ? v->delta_idx_minus1 : 0;
    if (index == 0 || back >= index)
        return false;
    *reference = index - 1 - back;
    return true;
}

/* H.265 7.4.8 for set `index`, which is `v`. */
static bool derive(const struct hevc_sps *sps, const struct hevc_short_term_rps *v, uint32_t index,
                   struct hevc_rps *rps)
{
    *rps = (struct hevc_rps){0};
    if (!v->inter_ref_pic_set_prediction_flag)
        return stated(v, rps);
    uint32_t reference;
    struct hevc_rps from;
    return reference_index(sps, v, index, &reference) && hevc_sps_rps(sps, reference, &from) &&
           predicted(v, &from, rps);
}

bool hevc_sps_rps(const struct hevc_sps *sps, uint32_t index, struct hevc_rps *rps)
{
    *rps = (struct hevc_rps){0};
    return index < sps->num_short_term_ref_pic_sets && index < HEVC_MAXIMUM_RPS &&
           derive(sps, &sps->short_term_ref_pic_set[index], index, rps);
}

bool hevc_slice_rps(const struct hevc_sps *sps, const struct hevc_slice_header *header, struct hevc_rps *rps)
{
    *rps = (struct hevc_rps){0};
    if (hevc_is_idr(header->nal.nal_unit_type))
        return true;
    if (header->short_term_ref_pic_set_sps_flag)
        return hevc_sps_rps(sps, header->short_term_ref_pic_set_idx, rps);
    return derive(sps, &header->short_term_ref_pic_set, sps->num_short_term_ref_pic_sets, rps);
}

uint32_t hevc_total_references(const struct hevc_sps *sps, const struct hevc_slice_header *header)
{
    struct hevc_rps rps;
    uint32_t total = 0;
    if (hevc_is_idr(header->nal.nal_unit_type) || !hevc_slice_rps(sps, header, &rps))
        return 0;
    for (uint32_t i = 0; i < rps.negative_count; i++)
        total += rps.used_s0[i];
    for (uint32_t i = 0; i < rps.positive_count; i++)
        total += rps.used_s1[i];
    for (uint32_t i = 0; i < header->num_long_term_sps + header->num_long_term_pics && i <= HEVC_MAXIMUM_LONG_TERM;
         i++) {
        const struct hevc_long_term *entry = &header->long_term[i];
        uint32_t in_sps = entry->lt_idx_sps < HEVC_MAXIMUM_LONG_TERM ? entry->lt_idx_sps : 0;
        total += (i < header->num_long_term_sps ? sps->used_by_curr_pic_lt_sps_flag[in_sps]
                                                : entry->used_by_curr_pic_lt_flag) != 0;
    }
    return total;
}

/* 7.3.7, a set that is predicted from another */
static void predicted_set(struct syntax *s, const struct hevc_sps *sps, struct hevc_short_term_rps *v, uint32_t index)
{
    uint32_t reference;
    struct hevc_rps from;
    if (index == sps->num_short_term_ref_pic_sets)
        ue(s, "delta_idx_minus1", &v->delta_idx_minus1, index - 1);
    u(s, "delta_rps_sign", &v->delta_rps_sign, 1);
    ue(s, "abs_delta_rps_minus1", &v->abs_delta_rps_minus1, 32767);
    if (s->failed)
        return;
    if (!reference_index(sps, v, index, &reference) || !hevc_sps_rps(sps, reference, &from)) {
        refuse(s, "delta_idx_minus1", "is %u: there is no such set before set %u", v->delta_idx_minus1, index);
        return;
    }
    for (uint32_t j = 0; j <= from.negative_count + from.positive_count && !s->failed; j++) {
        u(s, indexed(s, "used_by_curr_pic_flag[%u]", j), &v->used_by_curr_pic_flag[j], 1);
        if (!v->used_by_curr_pic_flag[j])
            u(s, indexed(s, "use_delta_flag[%u]", j), &v->use_delta_flag[j], 1);
        else if (!s->out)
            v->use_delta_flag[j] = 1;
    }
}

/* 7.3.7, a set that is stated by itself */
static void stated_set(struct syntax *s, struct hevc_short_term_rps *v)
{
    ue(s, "num_negative_pics", &v->num_negative_pics, HEVC_MAXIMUM_REFERENCES);
    ue(s, "num_positive_pics", &v->num_positive_pics, HEVC_MAXIMUM_REFERENCES - v->num_negative_pics);
    for (uint32_t i = 0; i < v->num_negative_pics && !s->failed; i++) {
        ue(s, indexed(s, "delta_poc_s0_minus1[%u]", i), &v->delta_poc_s0_minus1[i], 32767);
        u(s, indexed(s, "used_by_curr_pic_s0_flag[%u]", i), &v->used_by_curr_pic_s0_flag[i], 1);
    }
    for (uint32_t i = 0; i < v->num_positive_pics && !s->failed; i++) {
        ue(s, indexed(s, "delta_poc_s1_minus1[%u]", i), &v->delta_poc_s1_minus1[i], 32767);
        u(s, indexed(s, "used_by_curr_pic_s1_flag[%u]", i), &v->used_by_curr_pic_s1_flag[i], 1);
    }
}

void hevc_short_term_ref_pic_set(struct syntax *s, const struct hevc_sps *sps, struct hevc_short_term_rps *v,
                                 uint32_t index)
{
    if (index != 0)
        u(s, "inter_ref_pic_set_prediction_flag", &v->inter_ref_pic_set_prediction_flag, 1);
    if (index != 0 && v->inter_ref_pic_set_prediction_flag)
        predicted_set(s, sps, v, index);
    else
        stated_set(s, v);
    struct hevc_rps rps;
    if (!s->out && !s->failed && !derive(sps, v, index, &rps))
        refuse(s, "short_term_ref_pic_set", "set %u has more than 16 pictures, or none that differ", index);
}
