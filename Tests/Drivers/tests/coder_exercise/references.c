/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>

/* 8.2.4.1: FrameNumWrap, which is PicNum of frames. */
static int32_t pic_num(const struct references *references, const struct picture *current,
                       const struct picture *picture)
{
    int32_t number = (int32_t)picture->frame_num;
    return picture->frame_num > current->frame_num ? number - (int32_t)references->maximum_frame_num : number;
}

/* Where a picture stands in an initial list: the lower, the earlier (8.2.4.2.1, 8.2.4.2.3). */
static int64_t order_in_list(const struct references *references, const struct picture *current, bool b,
                             unsigned which, const struct picture *picture)
{
    int64_t distance = (int64_t)picture->frame.picture_order_count - current->frame.picture_order_count;
    if (picture->frame.long_term)
        return (INT64_C(1) << 40) + picture->long_term_frame_idx;
    if (!b)
        return -(int64_t)pic_num(references, current, picture);
    if (which == 1)
        distance = -distance;
    return distance < 0 ? -distance : (INT64_C(1) << 36) + distance;
}

unsigned references_initial_list(const struct references *references, const struct picture *current, bool b,
                                 unsigned which, struct picture **list)
{
    unsigned count = 0;
    for (unsigned from = 0; from < references->count; from++) {
        struct picture *picture = references->pictures[from];
        int64_t order = order_in_list(references, current, b, which, picture);
        unsigned at = count++;
        for (; at > 0 && order_in_list(references, current, b, which, list[at - 1]) > order; at--)
            list[at] = list[at - 1];
        list[at] = picture;
    }
    if (b && which == 1 && count > 1) {
        struct picture *other[EXERCISE_MAXIMUM_REFERENCES];
        references_initial_list(references, current, b, 0, other);
        if (memcmp(list, other, count * sizeof *list) == 0) {
            list[0] = other[1];
            list[1] = other[0];
        }
    }
    return count;
}

/* 8.2.4.3.1, 8.2.4.3.2: puts a picture at `index` and closes the gap it leaves behind. */
static void insert(struct picture **list, unsigned active, unsigned index, struct picture *picture)
{
    for (unsigned at = active; at > index; at--)
        list[at] = list[at - 1];
    list[index] = picture;
    unsigned to = index + 1;
    for (unsigned from = index + 1; from <= active; from++)
        if (list[from] != picture)
            list[to++] = list[from];
}

void references_modify_list(const struct references *references, const struct picture *current,
                            struct random *random, struct h264_slice_header *header, unsigned which,
                            struct picture **list, unsigned count)
{
    unsigned active = header->num_ref_idx_active_minus1[which] + 1;
    for (unsigned index = count; index <= active; index++)
        list[index] = NULL;
    unsigned operations = active > count ? active : random_chance(random, 30) ? random_below(random, active) + 1 : 0;
    header->ref_pic_list_modification_flag[which] = operations > 0;
    int32_t predicted = (int32_t)current->frame_num, maximum = (int32_t)references->maximum_frame_num;
    for (unsigned index = 0; index < operations; index++) {
        struct picture *picture = references->pictures[random_below(random, references->count)];
        struct h264_reference_modification *operation = &header->modification[which][index];
        if (picture->frame.long_term) {
            operation->modification_of_pic_nums_idc = 2;
            operation->value = picture->long_term_frame_idx;
        } else {
            int32_t number = pic_num(references, current, picture);
            number += number < 0 ? maximum : 0; /* picNumLXNoWrap */
            int32_t difference = number - predicted;
            bool add = difference > 0 || (difference == 0 && random_chance(random, 50));
            if (random_chance(random, 10) && difference != 0) { /* the other way around */
                add = !add;
                difference = maximum - abs(difference);
            }
            operation->modification_of_pic_nums_idc = add;
            operation->value = (uint32_t)(difference == 0 ? maximum : abs(difference)) - 1;
            predicted = number;
        }
        insert(list, active, index, picture);
    }
    header->modification[which][operations].modification_of_pic_nums_idc = 3;
}

static void remove_reference(struct references *references, unsigned index)
{
    references->pictures[index]->reference = false;
    references->pictures[index]->frame.long_term = false;
    references->count--;
    memmove(references->pictures + index, references->pictures + index + 1,
            (references->count - index) * sizeof references->pictures[0]);
}

static unsigned index_of(const struct references *references, const struct picture *picture)
{
    unsigned index = 0;
    while (references->pictures[index] != picture)
        index++;
    return index;
}

static void free_long_term_index(struct references *references, uint32_t long_term_frame_idx,
                                 const struct picture *keep)
{
    for (unsigned index = 0; index < references->count; index++) {
        struct picture *picture = references->pictures[index];
        if (picture != keep && picture->frame.long_term && picture->long_term_frame_idx == long_term_frame_idx)
            remove_reference(references, index--);
    }
}

/* The short-term picture that an operation names, NULL: none. */
static struct picture *named(const struct references *references, const struct picture *current,
                             const struct h264_memory_management *operation)
{
    int32_t number = (int32_t)current->frame_num - (int32_t)(operation->difference_of_pic_nums_minus1 + 1);
    for (unsigned index = 0; index < references->count; index++) {
        struct picture *picture = references->pictures[index];
        if (!picture->frame.long_term && pic_num(references, current, picture) == number)
            return picture;
    }
    return NULL;
}

/* 8.2.5.4 */
static void apply(struct references *references, struct picture *current,
                  const struct h264_memory_management *operation)
{
    struct picture *picture = named(references, current, operation);
    switch (operation->memory_management_control_operation) {
    case 1:
        remove_reference(references, index_of(references, picture));
        break;
    case 2:
        free_long_term_index(references, operation->long_term_pic_num, NULL);
        break;
    case 3:
        free_long_term_index(references, operation->long_term_frame_idx, NULL);
        picture->frame.long_term = true;
        picture->long_term_frame_idx = operation->long_term_frame_idx;
        break;
    case 4:
        for (uint32_t index = operation->max_long_term_frame_idx_plus1; index < 16; index++)
            free_long_term_index(references, index, NULL);
        references->long_term_limit = operation->max_long_term_frame_idx_plus1;
        break;
    default: /* 6 */
        free_long_term_index(references, operation->long_term_frame_idx, NULL);
        current->frame.long_term = true;
        current->long_term_frame_idx = operation->long_term_frame_idx;
        break;
    }
}

/* A random operation that is possible now; false: the one drawn is not. */
static bool draw_operation(const struct references *references, const struct picture *current, struct random *random,
                           struct h264_memory_management *operation)
{
    *operation = (struct h264_memory_management){.memory_management_control_operation = 1 + random_below(random, 4)};
    uint32_t kind = operation->memory_management_control_operation;
    if (kind == 4) {
        operation->max_long_term_frame_idx_plus1 = random_below(random, references->maximum + 1);
        return true;
    }
    if (references->count == 0)
        return false;
    const struct picture *picture = references->pictures[random_below(random, references->count)];
    if (picture->frame.long_term != (kind == 2) || (kind == 3 && references->long_term_limit == 0))
        return false;
    operation->long_term_pic_num = picture->long_term_frame_idx;
    if (kind != 2)
        operation->difference_of_pic_nums_minus1 =
            (uint32_t)((int32_t)current->frame_num - pic_num(references, current, picture) - 1);
    if (kind == 3)
        operation->long_term_frame_idx = random_below(random, references->long_term_limit);
    return true;
}

/* 8.2.5.3 */
static void slide(struct references *references, const struct picture *current)
{
    struct picture *oldest = NULL;
    for (unsigned index = 0; index < references->count; index++) {
        struct picture *picture = references->pictures[index];
        if (!picture->frame.long_term &&
            (!oldest || pic_num(references, current, picture) < pic_num(references, current, oldest)))
            oldest = picture;
    }
    if (references->count == references->maximum && oldest)
        remove_reference(references, index_of(references, oldest));
}

/* libavcodec numbers pictures for deblocking, but looks for long-term ones only among as many indices as there are
 * such pictures: those beyond are all the same to it. */
static bool told_apart(const struct references *references, const struct picture *current)
{
    unsigned count = current->frame.long_term, beyond = 0;
    for (unsigned index = 0; index < references->count; index++)
        count += references->pictures[index]->frame.long_term;
    for (unsigned index = 0; index < references->count; index++)
        beyond += references->pictures[index]->frame.long_term &&
                  references->pictures[index]->long_term_frame_idx >= count;
    beyond += current->frame.long_term && current->long_term_frame_idx >= count;
    return beyond <= 1;
}

/* Operations on copies of the references, so that one more picture has room; false: others are needed. */
static bool draw_operations(struct references *references, struct picture *current, struct random *random,
                            struct h264_memory_management *marking)
{
    unsigned count = 0, wanted = random_below(random, 4);
    bool limited = false; /* one operation 4 at most (7.4.3.3) */
    while (count < wanted || references->count == references->maximum) {
        struct h264_memory_management *operation = &marking[count];
        bool possible = draw_operation(references, current, random, operation);
        if (!possible || (limited && operation->memory_management_control_operation == 4)) {
            wanted -= wanted > 0;
            continue;
        }
        limited |= operation->memory_management_control_operation == 4;
        apply(references, current, operation);
        if (++count == H264_MAXIMUM_OPERATIONS - 2)
            return false;
    }
    if (references->long_term_limit > 0 && random_chance(random, 30)) {
        marking[count] = (struct h264_memory_management){
            .memory_management_control_operation = 6,
            .long_term_frame_idx = random_below(random, references->long_term_limit),
        };
        apply(references, current, &marking[count++]);
    }
    marking[count].memory_management_control_operation = 0;
    return told_apart(references, current);
}

void references_draw_marking(const struct references *references, const struct picture *current,
                             struct random *random, struct h264_slice_header *header)
{
    struct references after;
    struct picture copies[EXERCISE_MAXIMUM_REFERENCES], self;
    unsigned short_term = 0;
    for (unsigned index = 0; index < references->count; index++)
        short_term += !references->pictures[index]->frame.long_term;
    if ((short_term > 0 || references->count < references->maximum) && random_chance(random, 75))
        return; /* sliding window */
    header->adaptive_ref_pic_marking_mode_flag = 1;
    do {
        after = *references;
        self = *current;
        for (unsigned index = 0; index < after.count; index++) {
            copies[index] = *references->pictures[index];
            after.pictures[index] = &copies[index];
        }
    } while (!draw_operations(&after, &self, random, header->marking));
}

void references_mark(struct references *references, struct picture *current, const struct h264_slice_header *header)
{
    if (header->nal_ref_idc == 0)
        return;
    if (header->nal_unit_type == H264_NAL_IDR_SLICE) {
        while (references->count > 0)
            remove_reference(references, 0);
        current->frame.long_term = header->long_term_reference_flag;
        current->long_term_frame_idx = 0;
        references->long_term_limit = header->long_term_reference_flag;
    } else if (header->adaptive_ref_pic_marking_mode_flag) {
        for (unsigned index = 0; header->marking[index].memory_management_control_operation != 0; index++)
            apply(references, current, &header->marking[index]);
    } else {
        slide(references, current);
    }
    current->reference = true;
    references->pictures[references->count++] = current;
}
