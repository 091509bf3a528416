/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Picture order counts and reference marking. Reference lists are in dpb_lists.c. */
#include "dpb.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int32_t h264_frame_order_count(int32_t top, int32_t bottom)
{
    return top < bottom ? top : bottom;
}

/* Damaged headers may lead out of the range that 8.2.1 allows; the wrapped value is as wrong as any other. */
static int32_t wrapped(int64_t value)
{
    return (int32_t)(uint32_t)(uint64_t)value;
}

/* H.264 8.2.1.1 */
static struct h264_order_count order_count_type_0(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                                  const struct h264_slice_header *header)
{
    bool idr = header->nal_unit_type == H264_NAL_IDR_SLICE;
    int64_t previous_msb = idr ? 0 : dpb->previous_order_count_msb;
    int64_t previous_lsb = idr ? 0 : dpb->previous_order_count_lsb;
    int64_t maximum_lsb = (int64_t)1 << (sps->log2_max_pic_order_cnt_lsb_minus4 + 4);
    int64_t lsb = header->pic_order_cnt_lsb, msb = previous_msb;
    if (lsb < previous_lsb && previous_lsb - lsb >= maximum_lsb / 2)
        msb = previous_msb + maximum_lsb;
    else if (lsb > previous_lsb && lsb - previous_lsb > maximum_lsb / 2)
        msb = previous_msb - maximum_lsb;
    return (struct h264_order_count){
        .top = wrapped(msb + lsb),
        .bottom = wrapped(msb + lsb + header->delta_pic_order_cnt_bottom),
        .msb = wrapped(msb),
    };
}

static int64_t frame_num_offset(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                const struct h264_slice_header *header)
{
    if (header->nal_unit_type == H264_NAL_IDR_SLICE)
        return 0;
    if (dpb->previous_frame_num > header->frame_num)
        return dpb->previous_frame_num_offset + ((int64_t)1 << (sps->log2_max_frame_num_minus4 + 4));
    return dpb->previous_frame_num_offset;
}

/* H.264 8.2.1.2 */
static struct h264_order_count order_count_type_1(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                                  const struct h264_slice_header *header)
{
    int64_t offset = frame_num_offset(dpb, sps, header), expected = 0;
    uint32_t cycle_length = sps->num_ref_frames_in_pic_order_cnt_cycle;
    int64_t absolute_frame_num = cycle_length ? offset + header->frame_num : 0;
    if (header->nal_ref_idc == 0 && absolute_frame_num > 0)
        absolute_frame_num--;
    if (absolute_frame_num > 0) {
        int64_t cycles = (absolute_frame_num - 1) / cycle_length, within = (absolute_frame_num - 1) % cycle_length;
        int64_t cycle_sum = 0;
        for (uint32_t i = 0; i < cycle_length; i++)
            cycle_sum += sps->offset_for_ref_frame[i];
        /* Wraps where it would overflow. */
        expected = (int64_t)((uint64_t)cycles * (uint64_t)cycle_sum);
        for (int64_t i = 0; i <= within; i++)
            expected = (int64_t)((uint64_t)expected + (uint64_t)(int64_t)sps->offset_for_ref_frame[i]);
    }
    if (header->nal_ref_idc == 0)
        expected = (int64_t)((uint64_t)expected + (uint64_t)(int64_t)sps->offset_for_non_ref_pic);
    int32_t top = wrapped((int64_t)((uint64_t)expected + (uint64_t)(int64_t)header->delta_pic_order_cnt[0]));
    return (struct h264_order_count){
        .top = top,
        .bottom = wrapped((int64_t)top + sps->offset_for_top_to_bottom_field + header->delta_pic_order_cnt[1]),
        .frame_num_offset = offset,
    };
}

/* H.264 8.2.1.3 */
static struct h264_order_count order_count_type_2(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                                  const struct h264_slice_header *header)
{
    int64_t offset = frame_num_offset(dpb, sps, header), order_count = 0;
    if (header->nal_unit_type != H264_NAL_IDR_SLICE)
        order_count = 2 * (offset + header->frame_num) - (header->nal_ref_idc == 0);
    return (struct h264_order_count){
        .top = wrapped(order_count),
        .bottom = wrapped(order_count),
        .frame_num_offset = offset,
    };
}

struct h264_order_count h264_dpb_order_count(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                             const struct h264_slice_header *header)
{
    if (sps->pic_order_cnt_type == 0)
        return order_count_type_0(dpb, sps, header);
    if (sps->pic_order_cnt_type == 1)
        return order_count_type_1(dpb, sps, header);
    return order_count_type_2(dpb, sps, header);
}

uint32_t h264_dpb_expected_frame_num(const struct h264_dpb *dpb, const struct h264_sps *sps, bool idr)
{
    uint32_t maximum = 1u << (sps->log2_max_frame_num_minus4 + 4);
    return idr ? 0 : (dpb->previous_reference_frame_num + 1) % maximum;
}

/* One marking process: what it works on, and the first thing that was wrong. */
struct marking {
    struct h264_dpb *dpb;
    const struct h264_sps *sps;
    const struct h264_slice_header *header;
    struct h264_dpb_picture current;
    bool all_unused; /* memory_management_control_operation 5 came */
    char *reason;
    size_t size;
    bool failed;
};

static void fail(struct marking *marking, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct marking *marking, const char *format, ...)
{
    if (marking->failed)
        return;
    marking->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(marking->reason, marking->size, format, arguments);
    va_end(arguments);
}

static void remove_picture(struct h264_dpb *dpb, uint32_t index)
{
    dpb->count--;
    memmove(&dpb->pictures[index], &dpb->pictures[index + 1], (dpb->count - index) * sizeof(dpb->pictures[0]));
}

/* FrameNumWrap of 8.2.4.1, which is PicNum for frames. */
static int64_t picture_number(const struct marking *marking, const struct h264_dpb_picture *picture)
{
    int64_t maximum = (int64_t)1 << (marking->sps->log2_max_frame_num_minus4 + 4);
    return picture->frame_num > marking->header->frame_num ? picture->frame_num - maximum : picture->frame_num;
}

/* The short-term picture that a difference names; -1 and a failure when there is none. */
static int find_short_term(struct marking *marking, uint32_t difference_minus1, unsigned operation)
{
    int64_t wanted = (int64_t)marking->header->frame_num - ((int64_t)difference_minus1 + 1);
    for (uint32_t i = 0; i < marking->dpb->count; i++)
        if (!marking->dpb->pictures[i].long_term && picture_number(marking, &marking->dpb->pictures[i]) == wanted)
            return (int)i;
    fail(marking, "operation %u names the short-term picture with PicNum %lld, which is not in the DPB", operation,
         (long long)wanted);
    return -1;
}

static int find_long_term(const struct h264_dpb *dpb, uint32_t long_term_frame_idx)
{
    for (uint32_t i = 0; i < dpb->count; i++)
        if (dpb->pictures[i].long_term && dpb->pictures[i].long_term_frame_idx == long_term_frame_idx)
            return (int)i;
    return -1;
}

/* H.264 8.2.5.3 */
static void slide_window(struct marking *marking)
{
    struct h264_dpb *dpb = marking->dpb;
    uint32_t maximum = marking->sps->max_num_ref_frames ? marking->sps->max_num_ref_frames : 1;
    while (dpb->count >= maximum) {
        int oldest = -1;
        for (uint32_t i = 0; i < dpb->count; i++)
            if (!dpb->pictures[i].long_term &&
                (oldest < 0 ||
                 picture_number(marking, &dpb->pictures[i]) < picture_number(marking, &dpb->pictures[oldest])))
                oldest = (int)i;
        if (oldest < 0) {
            fail(marking, "%u long-term pictures fill the DPB of %u", dpb->count, maximum);
            return;
        }
        remove_picture(dpb, (uint32_t)oldest);
    }
}

/* H.264 8.2.5.4.4 */
static void limit_long_term(struct h264_dpb *dpb, uint32_t maximum_plus1)
{
    for (uint32_t i = dpb->count; i-- > 0;)
        if (dpb->pictures[i].long_term && dpb->pictures[i].long_term_frame_idx >= maximum_plus1)
            remove_picture(dpb, i);
    dpb->maximum_long_term_frame_idx_plus1 = maximum_plus1;
}

/* Frees a long-term frame index for another picture, 8.2.5.4.3 and 8.2.5.4.6. */
static void free_long_term_frame_idx(struct marking *marking, uint32_t index, unsigned operation)
{
    if (index >= marking->dpb->maximum_long_term_frame_idx_plus1)
        fail(marking, "operation %u assigns long_term_frame_idx %u, allowed are fewer than %u", operation, index,
             marking->dpb->maximum_long_term_frame_idx_plus1);
    int holder = find_long_term(marking->dpb, index);
    if (holder >= 0)
        remove_picture(marking->dpb, (uint32_t)holder);
}

/* H.264 8.2.5.4.3 */
static void make_long_term(struct marking *marking, const struct h264_memory_management *operation)
{
    int found = find_short_term(marking, operation->difference_of_pic_nums_minus1, 3);
    if (found < 0)
        return;
    uint32_t surface = marking->dpb->pictures[found].surface;
    free_long_term_frame_idx(marking, operation->long_term_frame_idx, 3);
    for (uint32_t i = 0; i < marking->dpb->count; i++)
        if (marking->dpb->pictures[i].surface == surface && !marking->dpb->pictures[i].long_term) {
            marking->dpb->pictures[i].long_term = true;
            marking->dpb->pictures[i].long_term_frame_idx = operation->long_term_frame_idx;
            return;
        }
}

/* H.264 8.2.5.4, one operation */
static void manage(struct marking *marking, const struct h264_memory_management *operation)
{
    struct h264_dpb *dpb = marking->dpb;
    int found;
    switch (operation->memory_management_control_operation) {
    case 1:
        found = find_short_term(marking, operation->difference_of_pic_nums_minus1, 1);
        if (found >= 0)
            remove_picture(dpb, (uint32_t)found);
        break;
    case 2:
        found = find_long_term(dpb, operation->long_term_pic_num);
        if (found >= 0)
            remove_picture(dpb, (uint32_t)found);
        else
            fail(marking, "operation 2 names LongTermPicNum %u, which is not in the DPB", operation->long_term_pic_num);
        break;
    case 3:
        make_long_term(marking, operation);
        break;
    case 4:
        limit_long_term(dpb, operation->max_long_term_frame_idx_plus1);
        break;
    case 5:
        dpb->count = 0;
        dpb->maximum_long_term_frame_idx_plus1 = 0;
        marking->all_unused = true;
        break;
    case 6:
        free_long_term_frame_idx(marking, operation->long_term_frame_idx, 6);
        marking->current.long_term = true;
        marking->current.long_term_frame_idx = operation->long_term_frame_idx;
        break;
    }
}

/* H.264 8.2.5.1 */
static void mark(struct marking *marking)
{
    struct h264_dpb *dpb = marking->dpb;
    const struct h264_slice_header *header = marking->header;
    if (header->nal_unit_type == H264_NAL_IDR_SLICE) {
        dpb->count = 0;
        dpb->maximum_long_term_frame_idx_plus1 = header->long_term_reference_flag;
        marking->current.long_term = header->long_term_reference_flag;
    } else if (!header->adaptive_ref_pic_marking_mode_flag) {
        slide_window(marking);
    } else {
        for (unsigned i = 0; i < H264_MAXIMUM_OPERATIONS; i++) {
            if (header->marking[i].memory_management_control_operation == 0)
                break;
            manage(marking, &header->marking[i]);
        }
    }
    uint32_t maximum = marking->sps->max_num_ref_frames ? marking->sps->max_num_ref_frames : 1;
    if (dpb->count >= maximum) {
        fail(marking, "%u pictures stay marked as references beside the current one, max_num_ref_frames is %u",
             dpb->count, marking->sps->max_num_ref_frames);
        while (dpb->count >= maximum || dpb->count >= H264_DPB_CAPACITY)
            remove_picture(dpb, 0);
    }
}

bool h264_dpb_commit(struct h264_dpb *dpb, const struct h264_sps *sps, const struct h264_slice_header *header,
                     const struct h264_order_count *order_count, uint32_t surface, char *reason, size_t size)
{
    struct marking marking = {
        .dpb = dpb, .sps = sps, .header = header, .reason = reason, .size = size,
        .current = {.surface = surface, .frame_num = header->frame_num,
                    .top_field_order_count = order_count->top, .bottom_field_order_count = order_count->bottom},
    };
    dpb->started |= header->nal_unit_type == H264_NAL_IDR_SLICE;
    dpb->previous_frame_num = header->frame_num;
    dpb->previous_frame_num_offset = order_count->frame_num_offset;
    if (header->nal_ref_idc == 0)
        return true;
    mark(&marking);
    dpb->previous_order_count_msb = order_count->msb;
    dpb->previous_order_count_lsb = header->pic_order_cnt_lsb;
    dpb->previous_reference_frame_num = header->frame_num;
    if (marking.all_unused) {
        /* 7.4.3 and 8.2.1: the picture counts as an IDR picture for those that follow. */
        int32_t least = h264_frame_order_count(order_count->top, order_count->bottom);
        marking.current.frame_num = 0;
        marking.current.top_field_order_count = wrapped((int64_t)order_count->top - least);
        marking.current.bottom_field_order_count = wrapped((int64_t)order_count->bottom - least);
        dpb->previous_order_count_msb = 0;
        dpb->previous_order_count_lsb = (uint32_t)marking.current.top_field_order_count;
        dpb->previous_frame_num = 0;
        dpb->previous_frame_num_offset = 0;
        dpb->previous_reference_frame_num = 0;
    }
    dpb->pictures[dpb->count++] = marking.current;
    return !marking.failed;
}
