/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture among those before it: nal_unit_type (H.265 7.4.2.2), order counts, periods. */
#include "hevc_checks.h"

static bool is_leading_type(uint32_t type)
{
    return type >= HEVC_NAL_RADL_N && type <= HEVC_NAL_RASL_R;
}

static bool is_rasl(uint32_t type)
{
    return type == HEVC_NAL_RASL_N || type == HEVC_NAL_RASL_R;
}

static bool is_radl(uint32_t type)
{
    return type == HEVC_NAL_RADL_N || type == HEVC_NAL_RADL_R;
}

/* What was coded into the surface last; NULL: not known any more. */
static const struct kept_kind *kind_of_surface(const struct checker *checker, VASurfaceID surface)
{
    const struct history *history = &checker->history;
    uint32_t kept = history->kind_count < HEVC_DPB_CAPACITY ? history->kind_count : HEVC_DPB_CAPACITY;
    for (uint32_t i = 0; i < kept; i++)
        if (history->kinds[i].surface == surface)
            return &history->kinds[i];
    return NULL;
}

/* Random access points are intra, and end the output of what came before them. */
static void check_random_access(struct checker *checker)
{
    const struct hevc_slice_header *header = &checker->picture.slices[0].header.hevc;
    const char *clause = "H.265 7.4.2.2 nal_unit_type";
    expect(checker, "nal-type-irap-temporal-id", clause, header->nal.nuh_temporal_id_plus1, 1);
    for (uint32_t i = 0; i < checker->history.order_count_count && i < CHECKS_ORDER_COUNTS; i++)
        if (!checker->hevc.dpb.no_rasl_output &&
            checker->history.order_counts[i] > checker->picture.picture_order_count) {
            finding(checker, "nal-type-irap-order", "H.265 8.3.1",
                    "a picture that was coded before the random access point is shown after it");
            return;
        }
}

/* Pictures that are shown before the random access point that they follow, and only those, are leading ones. */
static void check_leading(struct checker *checker, uint32_t type)
{
    const struct history *history = &checker->history;
    bool before = checker->picture.picture_order_count < history->irap_order_count;
    const char *clause = "H.265 7.4.2.2 nal_unit_type";
    if (before && !is_leading_type(type))
        finding(checker, "nal-type-leading", clause, "%u, but the picture is shown before its random access point",
                type);
    if (!before && is_leading_type(type))
        finding(checker, "nal-type-trailing", clause, "%u, but the picture is shown after its random access point",
                type);
    if (is_rasl(type) && hevc_is_idr(history->irap_type))
        finding(checker, "nal-type-rasl-after-idr", clause, "%u follows an IDR picture", type);
    if (is_radl(type) && history->irap_type == HEVC_NAL_IDR_N_LP)
        finding(checker, "nal-type-radl-after-idr", clause, "%u follows an IDR picture that has no leading pictures",
                type);
    if (is_leading_type(type) && history->had_trailing)
        finding(checker, "nal-type-leading-late", clause, "%u comes after a trailing picture", type);
}

/* What the picture's kind lets it refer to: 7.4.2.2 and 8.3.2. */
static void check_referred(struct checker *checker, uint32_t type, uint32_t temporal_id)
{
    const struct hevc_dpb *dpb = &checker->hevc.dpb;
    const struct hevc_reference_set *set = &checker->hevc.set;
    const int32_t *sets[3] = {set->before, set->after, set->long_term};
    const uint32_t counts[3] = {set->before_count, set->after_count, set->long_term_count};
    for (unsigned k = 0; k < 3; k++)
        for (uint32_t i = 0; i < counts[k]; i++) {
            if (sets[k][i] < 0)
                continue;
            const struct hevc_dpb_picture *picture = &dpb->pictures[sets[k][i]];
            const struct kept_kind *kind = kind_of_surface(checker, picture->surface);
            if (picture->temporal_id > temporal_id)
                finding(checker, "reference-temporal-id", "H.265 8.3.2",
                        "surface 0x%x has TemporalId %u, the picture %u", picture->surface,
                        picture->temporal_id, temporal_id);
            if (!kind)
                continue;
            if (hevc_is_sub_layer_non_reference(kind->type) && picture->temporal_id == temporal_id)
                finding(checker, "reference-non-reference", "H.265 8.3.2",
                        "surface 0x%x has nal_unit_type %u, which nothing of its sub-layer refers to", picture->surface,
                        kind->type);
            if (is_radl(type) && !is_radl(kind->type) && !hevc_is_irap(kind->type))
                finding(checker, "reference-not-decodable", "H.265 8.3.2", "a RADL picture refers to nal_unit_type %u",
                        kind->type);
        }
}

/* A trailing picture's set has nothing from before the random access point, not even kept for later. */
static void check_kept(struct checker *checker, uint32_t type)
{
    if (is_leading_type(type))
        return;
    for (uint32_t i = 0; i < checker->hevc.dpb.count; i++) {
        const struct hevc_dpb_picture *picture = &checker->hevc.dpb.pictures[i];
        if (picture->marking != HEVC_UNUSED && picture->order_count < checker->history.irap_order_count) {
            finding(checker, "reference-before-irap", "H.265 8.3.2",
                    "the set of a trailing picture has surface 0x%x from before the random access point",
                    picture->surface);
            return;
        }
    }
}

static void check_counts(struct checker *checker)
{
    const struct hevc_sps *sps = &checker->picture.sps.hevc;
    const struct hevc_sub_layer_ordering *ordering = &sps->ordering[sps->sps_max_sub_layers_minus1];
    const struct history *history = &checker->history;
    int32_t order_count = checker->picture.picture_order_count;
    uint32_t later = check_order_count(checker, "H.265 8.3.1");
    if (later > ordering->max_num_reorder_pics)
        finding(checker, "poc-reorder-depth", "H.265 7.4.3.2.1 sps_max_num_reorder_pics",
                "%u pictures before this one are shown after it, the SPS allows %u", later,
                ordering->max_num_reorder_pics);
    if (!ordering->max_latency_increase_plus1)
        return;
    uint64_t most = (uint64_t)ordering->max_num_reorder_pics + ordering->max_latency_increase_plus1 - 1;
    uint32_t kept = history->order_count_count, oldest = kept > CHECKS_ORDER_COUNTS ? kept - CHECKS_ORDER_COUNTS : 0;
    for (uint32_t i = oldest; i < kept; i++) {
        int32_t waiting = history->order_counts[i % CHECKS_ORDER_COUNTS];
        uint64_t latency = 1;
        for (uint32_t k = i + 1; k < kept; k++)
            latency += history->order_counts[k % CHECKS_ORDER_COUNTS] < waiting;
        if (waiting > order_count && latency > most) {
            finding(checker, "poc-latency", "H.265 7.4.3.2.1 sps_max_latency_increase_plus1",
                    "%llu pictures come between a picture and its output, the SPS allows %llu",
                    (unsigned long long)latency, (unsigned long long)most);
            return;
        }
    }
}

void hevc_check_order(struct checker *checker)
{
    const VAEncSequenceParameterBufferHEVC *sequence = &checker->picture.sequence.hevc;
    const struct hevc_slice_header *header = &checker->picture.slices[0].header.hevc;
    uint32_t type = header->nal.nal_unit_type, temporal_id = header->nal.nuh_temporal_id_plus1 - 1;
    if (!hevc_is_irap(type) && !checker->dpb.hevc.started) {
        finding(checker, "stream-starts-without-irap", "H.265 7.4.2.4.2", "nal_unit_type of the first picture is %u",
                type);
        return;
    }
    if (hevc_is_irap(type)) {
        check_random_access(checker);
    } else {
        check_leading(checker, type);
        check_kept(checker, type);
    }
    check_referred(checker, type, temporal_id);
    if (!hevc_is_irap(type) || !checker->hevc.dpb.no_rasl_output)
        check_counts(checker);
    check_periods(checker, sequence->intra_period, sequence->intra_idr_period, sequence->ip_period);
}

static void remember_kind(struct history *history, VASurfaceID surface, uint32_t type)
{
    uint32_t kept = history->kind_count < HEVC_DPB_CAPACITY ? history->kind_count : HEVC_DPB_CAPACITY;
    for (uint32_t i = 0; i < kept; i++)
        if (history->kinds[i].surface == surface)
            history->kinds[i].surface = VA_INVALID_SURFACE;
    history->kinds[history->kind_count++ % HEVC_DPB_CAPACITY] = (struct kept_kind){surface, type};
}

void hevc_remember_kind(struct checker *checker)
{
    struct history *history = &checker->history;
    uint32_t type = checker->picture.slices[0].header.hevc.nal.nal_unit_type;
    if (hevc_is_irap(type)) {
        history->irap_order_count = checker->picture.picture_order_count;
        history->irap_type = type;
        history->had_trailing = false;
    } else if (!is_leading_type(type)) {
        history->had_trailing = true;
    }
    remember_kind(history, checker->picture.reconstruction, type);
}
