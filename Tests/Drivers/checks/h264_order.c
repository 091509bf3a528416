/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture among those before it: frame_num, idr_pic_id, order counts, periods. */
#include "h264_checks.h"

/* 8.2.1: no two frames of a coded video sequence have the same order count; E.2.1: how many may come earlier although
 * they are shown later. */
static void check_counts(struct checker *checker)
{
    const struct h264_sps *sps = &checker->picture.sps.h264;
    int32_t order_count = checker->picture.picture_order_count;
    if (checker->picture.idr) {
        if (order_count != 0)
            finding(checker, "poc-idr-not-zero", "H.264 8.2.1", "PicOrderCnt of an IDR picture is %d", order_count);
        return;
    }
    uint32_t later = check_order_count(checker, "H.264 8.2.1");
    bool restricted = sps->vui_parameters_present_flag && sps->vui.bitstream_restriction_flag;
    if (restricted && later > sps->vui.max_num_reorder_frames)
        finding(checker, "poc-reorder-depth", "H.264 E.2.1 max_num_reorder_frames",
                "%u pictures before this one are shown after it, the SPS allows %u", later,
                sps->vui.max_num_reorder_frames);
    if (sps->pic_order_cnt_type == 2 && !checker->picture.reference && checker->history.previous_was_unused)
        finding(checker, "poc-type-2-non-reference", "H.264 7.4.2.1.1 pic_order_cnt_type",
                "two non-reference pictures follow each other");
}

void h264_check_order(struct checker *checker)
{
    const struct h264_slice_header *header = &checker->picture.slices[0].header.h264;
    struct history *history = &checker->history;
    bool idr = checker->picture.idr;
    if (!idr && !checker->dpb.h264.started)
        finding(checker, "stream-starts-without-idr", "H.264 7.4.1.2.1", "nal_unit_type of the first picture is %u",
                header->nal_unit_type);
    else
        expect(checker, "frame-num", "H.264 7.4.3 frame_num", header->frame_num,
               h264_dpb_expected_frame_num(&checker->dpb.h264, &checker->picture.sps.h264, idr));
    if (idr && history->previous_was_idr && history->previous_idr_pic_id == header->idr_pic_id)
        finding(checker, "idr-pic-id-repeated", "H.264 7.4.3 idr_pic_id", "%u, as the IDR picture before",
                header->idr_pic_id);
    const VAEncSequenceParameterBufferH264 *sequence = &checker->picture.sequence.h264;
    check_counts(checker);
    check_periods(checker, sequence->intra_period, sequence->intra_idr_period, sequence->ip_period);
}
