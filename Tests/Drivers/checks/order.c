/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture among those before it: frame_num, idr_pic_id, order counts, periods. */
#include "checker.h"

#include <string.h>

static bool has_operation_5(const struct h264_slice_header *header)
{
    for (unsigned i = 0; header->adaptive_ref_pic_marking_mode_flag && i < H264_MAXIMUM_OPERATIONS; i++) {
        if (header->marking[i].memory_management_control_operation == 0)
            return false;
        if (header->marking[i].memory_management_control_operation == 5)
            return true;
    }
    return false;
}

/* 8.2.1: no two frames of a coded video sequence have the same order count; E.2.1: how many may come earlier although
 * they are shown later. */
static void check_order_count(struct checker *checker)
{
    const struct history *history = &checker->history;
    const struct h264_sps *sps = &checker->picture.sps;
    int32_t order_count = checker->picture.picture_order_count;
    uint32_t later = 0, kept = history->order_count_count;
    if (checker->picture.idr) {
        if (order_count != 0)
            finding(checker, "poc-idr-not-zero", "H.264 8.2.1", "PicOrderCnt of an IDR picture is %d", order_count);
        return;
    }
    for (uint32_t i = 0; i < kept && i < CHECKS_ORDER_COUNTS; i++) {
        later += history->order_counts[i] > order_count;
        if (history->order_counts[i] == order_count)
            finding(checker, "poc-repeated", "H.264 8.2.1", "PicOrderCnt %d came before in this sequence", order_count);
    }
    bool restricted = sps->vui_parameters_present_flag && sps->vui.bitstream_restriction_flag;
    if (restricted && later > sps->vui.max_num_reorder_frames)
        finding(checker, "poc-reorder-depth", "H.264 E.2.1 max_num_reorder_frames",
                "%u pictures before this one are shown after it, the SPS allows %u", later,
                sps->vui.max_num_reorder_frames);
    if (sps->pic_order_cnt_type == 2 && !checker->picture.reference && history->previous_was_unused)
        finding(checker, "poc-type-2-non-reference", "H.264 7.4.2.1.1 pic_order_cnt_type",
                "two non-reference pictures follow each other");
}

/* The periods of the sequence parameters are promises about picture types. */
static void check_periods(struct checker *checker)
{
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence;
    const struct history *history = &checker->history;
    const char *clause = "va_enc_h264.h VAEncSequenceParameterBufferH264";
    uint32_t type = checker->picture.slices[0].header.slice_type % 5;
    /* An I picture is coded before the B pictures that are shown before it, an IDR picture after them. */
    uint32_t intra_period = sequence->intra_period + (sequence->ip_period ? sequence->ip_period - 1 : 0);
    if (!checker->picture.idr && sequence->intra_idr_period && history->since_idr + 1 >= sequence->intra_idr_period)
        finding(checker, "sequence-idr-period-exceeded", clause, "%u pictures since the last IDR picture, period %u",
                history->since_idr + 1, sequence->intra_idr_period);
    if (type != H264_SLICE_I && sequence->intra_period && history->since_intra + 1 >= intra_period)
        finding(checker, "sequence-intra-period-exceeded", clause, "%u pictures since the last I picture, period %u",
                history->since_intra + 1, sequence->intra_period);
    if (type == H264_SLICE_B && sequence->ip_period && history->since_anchor + 1 > sequence->ip_period - 1)
        finding(checker, "sequence-ip-period-exceeded", clause, "%u B pictures in a row, ip_period is %u",
                history->since_anchor + 1, sequence->ip_period);
}

void check_order(struct checker *checker)
{
    const struct h264_slice_header *header = &checker->picture.slices[0].header;
    struct history *history = &checker->history;
    bool idr = checker->picture.idr;
    if (!idr && !checker->dpb.started)
        finding(checker, "stream-starts-without-idr", "H.264 7.4.1.2.1", "nal_unit_type of the first picture is %u",
                header->nal_unit_type);
    else
        expect(checker, "frame-num", "H.264 7.4.3 frame_num", header->frame_num,
               h264_dpb_expected_frame_num(&checker->dpb, &checker->picture.sps, idr));
    if (idr && history->previous_was_idr && history->previous_idr_pic_id == header->idr_pic_id)
        finding(checker, "idr-pic-id-repeated", "H.264 7.4.3 idr_pic_id", "%u, as the IDR picture before",
                header->idr_pic_id);
    check_order_count(checker);
    check_periods(checker);
}

void remember_picture(struct checker *checker)
{
    struct history *history = &checker->history;
    const struct understood_picture *picture = &checker->picture;
    const struct h264_slice_header *header = &picture->slices[0].header;
    uint32_t type = header->slice_type % 5;
    history->since_idr = picture->idr ? 0 : history->since_idr + 1;
    history->since_intra = type == H264_SLICE_I ? 0 : history->since_intra + 1;
    history->since_anchor = type != H264_SLICE_B ? 0 : history->since_anchor + 1;
    history->previous_was_idr = picture->idr;
    history->previous_was_unused = !picture->reference;
    history->end_of_sequence = (picture->picture.last_picture &
                                (H264_LAST_PICTURE_EOSEQ | H264_LAST_PICTURE_EOSTREAM)) != 0;
    if (picture->idr) {
        history->previous_idr_pic_id = header->idr_pic_id;
        history->active = picture->sps;
        history->has_active_sps = true;
    }
    if (picture->idr || has_operation_5(header))
        history->order_count_count = 0;
    int32_t order_count = has_operation_5(header) ? 0 : picture->picture_order_count;
    history->order_counts[history->order_count_count++ % CHECKS_ORDER_COUNTS] = order_count;
    remember_intra_refresh(checker);
}
