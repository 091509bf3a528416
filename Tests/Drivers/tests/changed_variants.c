/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenes of rarer kinds, right and wrong: weighted prediction, long-term references, modified lists, the other types of
 * order counts; see change_runner.h. */
#include "h264_changes.h"

/* Explicit weights in all P and B pictures of a scene: the first entry of each list has some. */
static void use_weights(struct scene *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        struct h264_slice_header *header = &PIC(i)->headers[0];
        VAEncSliceParameterBufferH264 *slice = &PIC(i)->slices[0];
        PIC(i)->pps.weighted_pred_flag = PIC(i)->pps.weighted_bipred_idc = 1;
        PIC(i)->picture.pic_fields.bits.weighted_pred_flag = PIC(i)->picture.pic_fields.bits.weighted_bipred_idc = 1;
        if (PIC(i)->type == 'i')
            continue;
        header->luma_log2_weight_denom = slice->luma_log2_weight_denom = 5;
        header->chroma_log2_weight_denom = slice->chroma_log2_weight_denom = 4;
        header->weight[0][0] = (struct h264_weight){1, 1, 40, -3, {17, 15}, {2, -2}};
        slice->luma_weight_l0_flag = slice->chroma_weight_l0_flag = 1;
        slice->luma_weight_l0[0] = 40;
        slice->luma_offset_l0[0] = -3;
        slice->chroma_weight_l0[0][0] = 17;
        slice->chroma_weight_l0[0][1] = 15;
        slice->chroma_offset_l0[0][0] = 2;
        slice->chroma_offset_l0[0][1] = -2;
        if (PIC(i)->type != 'B')
            continue;
        header->weight[1][0] = (struct h264_weight){1, 0, 20, 0, {0, 0}, {0, 0}};
        slice->luma_weight_l1_flag = 1;
        slice->luma_weight_l1[0] = 20;
    }
}

/* The IDR picture becomes long-term reference 0 and stays; the scene "iPPPP" has two references. */
static void use_long_term(struct scene *s)
{
    PIC(0)->headers[0].long_term_reference_flag = 1;
    PIC(0)->picture.CurrPic.flags = VA_PICTURE_H264_LONG_TERM_REFERENCE;
    VAPictureH264 kept = PIC(0)->picture.CurrPic;
    for (uint32_t i = 1; i < s->count; i++) {
        VAPictureH264 *frames = PIC(i)->picture.ReferenceFrames, *list = PIC(i)->slices[0].RefPicList0;
        frames[0] = kept;
        if (i > 1)
            frames[1] = list[0] = PIC(i - 1)->picture.CurrPic;
        list[i > 1] = kept;
    }
}

/* As above, but by operations of the first P picture: 4 allows an index, 3 gives it to the IDR picture. */
static void use_operations(struct scene *s)
{
    use_long_term(s);
    PIC(0)->headers[0].long_term_reference_flag = 0;
    PIC(0)->picture.CurrPic.flags = VA_PICTURE_H264_SHORT_TERM_REFERENCE;
    PIC(1)->picture.ReferenceFrames[0].flags = VA_PICTURE_H264_SHORT_TERM_REFERENCE;
    PIC(1)->slices[0].RefPicList0[0].flags = VA_PICTURE_H264_SHORT_TERM_REFERENCE;
    PIC(1)->headers[0].adaptive_ref_pic_marking_mode_flag = 1;
    PIC(1)->headers[0].marking[0] = (struct h264_memory_management){4, 0, 0, 0, 1};
    PIC(1)->headers[0].marking[1] = (struct h264_memory_management){3, 0, 0, 0, 0};
}

/* The P pictures of "iPPPP" take the older reference first. */
static void modify_lists(struct scene *s, bool state)
{
    for (uint32_t i = 2; i < s->count; i++) {
        VAPictureH264 *list = PIC(i)->slices[0].RefPicList0, first = list[0];
        struct h264_slice_header *header = &PIC(i)->headers[0];
        list[0] = list[1];
        list[1] = first;
        header->ref_pic_list_modification_flag[0] = state;
        header->modification[0][0] = (struct h264_reference_modification){0, 1};
        header->modification[0][1].modification_of_pic_nums_idc = 3;
    }
}

/* Order counts of type 1 or 2 that equal those planned: two per picture. */
static void use_order_type(struct scene *s, uint32_t type)
{
    for (uint32_t i = 0; i < s->count; i++) {
        PIC(i)->sps.pic_order_cnt_type = type;
        PIC(i)->sequence.seq_fields.bits.pic_order_cnt_type = type & 3;
        PIC(i)->sps.num_ref_frames_in_pic_order_cnt_cycle = PIC(i)->sequence.num_ref_frames_in_pic_order_cnt_cycle = 1;
        PIC(i)->sps.offset_for_ref_frame[0] = PIC(i)->sequence.offset_for_ref_frame[0] = 2;
    }
}

static bool weight_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(HIGH, "", use_weights(s))
    CHANGE(HIGH, "slice-luma-weight", use_weights(s); PIC(1)->slices[0].luma_weight_l0[0] = 41)
    CHANGE(HIGH, "slice-luma-weight", use_weights(s); PIC(1)->slices[0].luma_offset_l0[0] = 0)
    CHANGE(HIGH, "slice-chroma-weight", use_weights(s); PIC(1)->slices[0].chroma_weight_l0[0][1] = 0)
    CHANGE(HIGH, "slice-chroma-weight", use_weights(s); PIC(1)->slices[0].chroma_offset_l0[0][0] = 0)
    CHANGE(HIGH, "slice-luma-weight", use_weights(s); PIC(2)->slices[0].luma_weight_l1[0] = 41)
    CHANGE(HIGH, "slice-luma-weight-flag", use_weights(s); PIC(2)->slices[0].luma_weight_l1_flag = 0)
    CHANGE(HIGH, "slice-chroma-weight-flag", use_weights(s); PIC(2)->slices[0].chroma_weight_l1_flag = 1)
    CHANGE(HIGH, "slice-weights-without-table", use_weights(s); PIC(1)->slices[0].chroma_weight_l1_flag = 1)
    CHANGE(HIGH, "slice-luma-weight-denominator", use_weights(s); PIC(1)->slices[0].luma_log2_weight_denom = 4)
    CHANGE(HIGH, "slice-chroma-weight-denominator", use_weights(s); PIC(1)->slices[0].chroma_log2_weight_denom = 5)
    CHANGE(HIGH, "slice-weight-sum", use_weights(s);
           PIC(2)->headers[0].weight[1][0].luma_weight = PIC(2)->slices[0].luma_weight_l1[0] = 100)
    return false;
}

static bool reference_changes(unsigned n, struct scene *s, enum base *base, const char **expected, const char **what)
{
    CHANGE(BASELINE, "", use_long_term(s))
    CHANGE(BASELINE, "reference-frames-term-flag reference-list-0-term-flag", use_long_term(s);
           PIC(0)->headers[0].long_term_reference_flag = 0; PIC(0)->picture.CurrPic.flags = 0; END(1))
    CHANGE(BASELINE, "picture-curr-long-term-flag", PIC(0)->picture.CurrPic.flags = 0x10)
    CHANGE(BASELINE, "reference-frames-frame-idx", use_long_term(s); PIC(3)->picture.ReferenceFrames[0].frame_idx = 1)
    CHANGE(BASELINE, "", use_operations(s))
    CHANGE(BASELINE, "reference-marking-wrong", use_operations(s); END(1);
           PIC(1)->headers[0].marking[1].long_term_frame_idx = 1)
    CHANGE(BASELINE, "reference-marking-wrong", use_operations(s); END(1);
           PIC(1)->headers[0].marking[0] = (struct h264_memory_management){2, 0, 0, 0, 0})
    CHANGE(BASELINE, "", modify_lists(s, true))
    CHANGE(BASELINE, "reference-list-0-surface", modify_lists(s, false))
    CHANGE(BASELINE, "", s->packed = false; s->config.packed_headers = s->config.limits.packed_headers = 0;
           modify_lists(s, true))
    CHANGE(BASELINE, "reference-list-0-surface reference-list-0-not-in-frames", modify_lists(s, true);
           PIC(2)->slices[0].RefPicList0[0].picture_id = INPUT_SURFACE + 40; END(2))
    CHANGE(BASELINE, "", use_order_type(s, 1))
    CHANGE(BASELINE, "", use_order_type(s, 2))
    CHANGE(BASELINE, "sequence-offset-for-ref-frame", use_order_type(s, 1);
           PIC(0)->sequence.offset_for_ref_frame[0] = 4)
    CHANGE(BASELINE, "sequence-poc-cycle-length", use_order_type(s, 1);
           PIC(0)->sequence.num_ref_frames_in_pic_order_cnt_cycle = 2)
    CHANGE(BASELINE, "sequence-offset-for-non-ref-pic", use_order_type(s, 1);
           PIC(0)->sequence.offset_for_non_ref_pic = 2)
    CHANGE(BASELINE, "sequence-offset-for-top-to-bottom", use_order_type(s, 1);
           PIC(0)->sequence.offset_for_top_to_bottom_field = 2)
    CHANGE(BASELINE, "sequence-delta-poc-always-zero", use_order_type(s, 1);
           PIC(0)->sequence.seq_fields.bits.delta_pic_order_always_zero_flag = 1)
    CHANGE(BASELINE, "slice-delta-poc-0", use_order_type(s, 1); PIC(1)->slices[0].delta_pic_order_cnt[0] = 2)
    CHANGE(BASELINE, "slice-delta-poc-0 picture-curr-top-poc picture-curr-bottom-poc", use_order_type(s, 1);
           PIC(1)->headers[0].delta_pic_order_cnt[0] = 5; END(1))
    CHANGE(BASELINE, "", s->packed = false; s->config.packed_headers = s->config.limits.packed_headers = 0;
           use_order_type(s, 1))
    return false;
}

int main(void)
{
    int failed = run_changes(weight_changes);
    failed |= run_changes(reference_changes);
    return failed;
}
