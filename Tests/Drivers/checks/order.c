/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture among those before it, whatever the codec: order counts and periods. */
#include "checker.h"

enum coded_type picture_type(const struct checker *checker)
{
    enum coded_type type = CODED_I;
    for (uint32_t i = 0; i < checker->picture.slice_count; i++) {
        if (checker->picture.slices[i].type == CODED_B)
            return CODED_B;
        if (checker->picture.slices[i].type == CODED_P)
            type = CODED_P;
    }
    return type;
}

/* A B picture of HEVC that refers to the past only stands for a P picture. */
static bool is_anchor(const struct checker *checker)
{
    const struct understood_picture *picture = &checker->picture;
    if (picture_type(checker) != CODED_B)
        return true;
    for (uint32_t i = 0; i < picture->slice_count; i++)
        for (uint32_t list = 0; list < 2; list++)
            for (uint32_t k = 0; k < picture->slices[i].reference_count[list]; k++)
                if (picture->slices[i].references[list][k].picture_order_count > picture->picture_order_count)
                    return false;
    return picture->codec == CODEC_HEVC;
}

uint32_t check_order_count(struct checker *checker, const char *clause)
{
    const struct history *history = &checker->history;
    int32_t order_count = checker->picture.picture_order_count;
    uint32_t later = 0, kept = history->order_count_count;
    for (uint32_t i = 0; i < kept && i < CHECKS_ORDER_COUNTS; i++) {
        later += history->order_counts[i] > order_count;
        if (history->order_counts[i] == order_count)
            finding(checker, "poc-repeated", clause, "PicOrderCnt %d came before in this sequence", order_count);
    }
    return later;
}

void check_periods(struct checker *checker, uint32_t intra_period, uint32_t intra_idr_period, uint32_t ip_period)
{
    const struct history *history = &checker->history;
    const char *clause = checker->codec->sequence_buffer;
    enum coded_type type = picture_type(checker);
    /* An I picture is coded before the B pictures that are shown before it, an IDR picture after them. */
    uint32_t longest = intra_period + (ip_period ? ip_period - 1 : 0);
    if (!checker->picture.idr && intra_idr_period && history->since_idr + 1 >= intra_idr_period)
        finding(checker, "sequence-idr-period-exceeded", clause, "%u pictures since the last IDR picture, period %u",
                history->since_idr + 1, intra_idr_period);
    if (type != CODED_I && intra_period && history->since_intra + 1 >= longest)
        finding(checker, "sequence-intra-period-exceeded", clause, "%u pictures since the last I picture, period %u",
                history->since_intra + 1, intra_period);
    if (!is_anchor(checker) && ip_period && history->since_anchor + 1 > ip_period - 1)
        finding(checker, "sequence-ip-period-exceeded", clause, "%u B pictures in a row, ip_period is %u",
                history->since_anchor + 1, ip_period);
}

void remember_picture(struct checker *checker, bool forgets_order_counts, int32_t order_count)
{
    struct history *history = &checker->history;
    const struct understood_picture *picture = &checker->picture;
    enum coded_type type = picture_type(checker);
    history->since_idr = picture->idr ? 0 : history->since_idr + 1;
    history->since_intra = type == CODED_I ? 0 : history->since_intra + 1;
    history->since_anchor = is_anchor(checker) ? 0 : history->since_anchor + 1;
    history->previous_was_idr = picture->idr;
    history->previous_was_unused = !picture->reference;
    if (forgets_order_counts)
        history->order_count_count = 0;
    history->order_counts[history->order_count_count++ % CHECKS_ORDER_COUNTS] = order_count;
    remember_intra_refresh(checker);
}
