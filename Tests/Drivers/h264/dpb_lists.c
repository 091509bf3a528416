/* SPDX-License-Identifier: GPL-2.0-or-later */
/* H.264 8.2.4: reference picture lists of frames. */
#include "dpb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t maximum_frame_num(const struct h264_sps *sps)
{
    return (int64_t)1 << (sps->log2_max_frame_num_minus4 + 4);
}

/* H.264 8.2.4.1: PicNum of a short-term frame. */
static int64_t picture_number(const struct h264_dpb *dpb, const struct h264_sps *sps,
                              const struct h264_slice_header *header, int index)
{
    int64_t frame_num = dpb->pictures[index].frame_num;
    return frame_num > header->frame_num ? frame_num - maximum_frame_num(sps) : frame_num;
}

/* Indices of pictures with the key that they are sorted by. */
struct sorted {
    struct { int64_t key; int index; } entries[H264_DPB_CAPACITY];
    unsigned count;
};

/* Inserts in ascending order of the key. */
static void insert(struct sorted *sorted, int64_t key, int index)
{
    unsigned at = sorted->count++;
    for (; at > 0 && sorted->entries[at - 1].key > key; at--)
        sorted->entries[at] = sorted->entries[at - 1];
    sorted->entries[at].key = key;
    sorted->entries[at].index = index;
}

static void append(struct h264_reference_list *list, const struct sorted *sorted)
{
    for (unsigned i = 0; i < sorted->count && list->count < H264_MAXIMUM_REFERENCES; i++)
        list->entries[list->count++] = sorted->entries[i].index;
}

static void append_long_term(struct h264_reference_list *list, const struct h264_dpb *dpb)
{
    struct sorted sorted = {.count = 0};
    for (uint32_t i = 0; i < dpb->count; i++)
        if (dpb->pictures[i].long_term)
            insert(&sorted, dpb->pictures[i].long_term_frame_idx, (int)i);
    append(list, &sorted);
}

/* H.264 8.2.4.2.1 */
static struct h264_reference_list list_of_p(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                            const struct h264_slice_header *header)
{
    struct h264_reference_list list = {.count = 0};
    struct sorted sorted = {.count = 0};
    for (uint32_t i = 0; i < dpb->count; i++)
        if (!dpb->pictures[i].long_term)
            insert(&sorted, -picture_number(dpb, sps, header, (int)i), (int)i);
    append(&list, &sorted);
    append_long_term(&list, dpb);
    return list;
}

/* H.264 8.2.4.2.3, before the exchange of equal lists */
static struct h264_reference_list list_of_b(const struct h264_dpb *dpb, int64_t order_count, unsigned which)
{
    struct h264_reference_list list = {.count = 0};
    struct sorted before = {.count = 0}, after = {.count = 0};
    for (uint32_t i = 0; i < dpb->count; i++) {
        const struct h264_dpb_picture *picture = &dpb->pictures[i];
        int64_t other = h264_frame_order_count(picture->top_field_order_count, picture->bottom_field_order_count);
        if (picture->long_term)
            continue;
        if (other < order_count)
            insert(&before, -other, (int)i);
        else
            insert(&after, other, (int)i);
    }
    append(&list, which == 0 ? &before : &after);
    append(&list, which == 0 ? &after : &before);
    append_long_term(&list, dpb);
    return list;
}

struct h264_reference_list h264_dpb_initial_list(const struct h264_dpb *dpb, const struct h264_sps *sps,
                                                 const struct h264_slice_header *header, int32_t order_count,
                                                 unsigned list)
{
    struct h264_reference_list result;
    if (header->slice_type % 5 == H264_SLICE_P) {
        result = list_of_p(dpb, sps, header);
    } else {
        result = list_of_b(dpb, order_count, list);
        struct h264_reference_list list_0 = list_of_b(dpb, order_count, 0);
        if (list == 1 && result.count > 1 &&
            memcmp(list_0.entries, result.entries, result.count * sizeof(result.entries[0])) == 0) {
            result.entries[0] = list_0.entries[1];
            result.entries[1] = list_0.entries[0];
        }
    }
    uint32_t active = header->num_ref_idx_active_minus1[list] + 1;
    if (active > H264_MAXIMUM_REFERENCES)
        active = H264_MAXIMUM_REFERENCES;
    for (uint32_t i = result.count; i < H264_MAXIMUM_REFERENCES + 1; i++)
        result.entries[i] = -1;
    for (uint32_t i = active; i < H264_MAXIMUM_REFERENCES + 1; i++)
        result.entries[i] = -1;
    result.count = active;
    return result;
}

/* Puts a picture at a place and takes it out behind that: 8.2.4.3.1 and 8.2.4.3.2. */
static void move_to(struct h264_reference_list *list, uint32_t place, int index)
{
    for (uint32_t i = list->count; i > place; i--)
        list->entries[i] = list->entries[i - 1];
    list->entries[place] = index;
    uint32_t kept = place + 1;
    for (uint32_t i = place + 1; i <= list->count; i++)
        if (list->entries[i] != index)
            list->entries[kept++] = list->entries[i];
    list->entries[list->count] = -1;
}

static int find_short_term(const struct h264_dpb *dpb, const struct h264_sps *sps,
                           const struct h264_slice_header *header, int64_t number)
{
    for (uint32_t i = 0; i < dpb->count; i++)
        if (!dpb->pictures[i].long_term && picture_number(dpb, sps, header, (int)i) == number)
            return (int)i;
    return -1;
}

static int find_long_term(const struct h264_dpb *dpb, uint32_t number)
{
    for (uint32_t i = 0; i < dpb->count; i++)
        if (dpb->pictures[i].long_term && dpb->pictures[i].long_term_frame_idx == number)
            return (int)i;
    return -1;
}

bool h264_dpb_modify_list(const struct h264_dpb *dpb, const struct h264_sps *sps,
                          const struct h264_slice_header *header, unsigned list,
                          struct h264_reference_list *reference_list, char *reason, size_t size)
{
    if (!header->ref_pic_list_modification_flag[list])
        return true;
    int64_t maximum = maximum_frame_num(sps), predicted = header->frame_num;
    for (uint32_t i = 0; i < reference_list->count && i < H264_MAXIMUM_OPERATIONS; i++) {
        const struct h264_reference_modification *entry = &header->modification[list][i];
        int found;
        if (entry->modification_of_pic_nums_idc > 2)
            return true;
        if (entry->modification_of_pic_nums_idc == 2) {
            found = find_long_term(dpb, entry->value);
            if (found < 0)
                snprintf(reason, size, "LongTermPicNum %u is not in the DPB", entry->value);
        } else {
            int64_t difference = (int64_t)entry->value + 1;
            predicted += entry->modification_of_pic_nums_idc == 0 ? -difference : difference;
            predicted = ((predicted % maximum) + maximum) % maximum;
            int64_t number = predicted > header->frame_num ? predicted - maximum : predicted;
            found = find_short_term(dpb, sps, header, number);
            if (found < 0)
                snprintf(reason, size, "PicNum %lld is not in the DPB", (long long)number);
        }
        if (found < 0)
            return false;
        move_to(reference_list, i, found);
    }
    return true;
}

bool h264_dpb_express_list(const struct h264_dpb *dpb, const struct h264_sps *sps, struct h264_slice_header *header,
                           const struct h264_reference_list *initial, const struct h264_reference_list *wanted,
                           unsigned list)
{
    header->ref_pic_list_modification_flag[list] = 0;
    uint32_t count = wanted->count < H264_MAXIMUM_REFERENCES ? wanted->count : H264_MAXIMUM_REFERENCES;
    if (initial->count == count && memcmp(initial->entries, wanted->entries, count * sizeof(int)) == 0)
        return true;
    int64_t predicted = header->frame_num;
    for (uint32_t i = 0; i < count; i++) {
        int index = wanted->entries[i];
        if (index < 0 || (uint32_t)index >= dpb->count)
            return false;
        struct h264_reference_modification *entry = &header->modification[list][i];
        if (dpb->pictures[index].long_term) {
            *entry = (struct h264_reference_modification){2, dpb->pictures[index].long_term_frame_idx};
            continue;
        }
        int64_t number = picture_number(dpb, sps, header, index), difference = number - predicted;
        /* The same picture twice in a row: once around. */
        if (difference == 0)
            difference = -maximum_frame_num(sps);
        entry->modification_of_pic_nums_idc = difference > 0;
        entry->value = (uint32_t)(llabs(difference) - 1);
        predicted = number;
    }
    header->modification[list][count] = (struct h264_reference_modification){3, 0};
    header->ref_pic_list_modification_flag[list] = 1;
    return true;
}
