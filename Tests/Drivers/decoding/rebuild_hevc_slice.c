/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slice segment headers of the rebuilt HEVC stream, and the reference picture set that all of a picture have. */
#include "rebuild_hevc.h"

#include <string.h>

#define ORDER_MASK ((1 << HEVC_ORDER_BITS) - 1)

const void *hevc_peek_buffer(const struct rebuild_picture *picture, VABufferType type, size_t size)
{
    for (uint32_t i = picture->buffer_count; i-- > 0;)
        if (picture->buffers[i].type == type && picture->buffers[i].size >= size && picture->buffers[i].count > 0)
            return picture->buffers[i].data;
    return NULL;
}

uint32_t hevc_list_length(const VASliceParameterBufferHEVC *slice, unsigned list)
{
    uint32_t type = slice->LongSliceFlags.fields.slice_type;
    if (type == HEVC_SLICE_I || type > HEVC_SLICE_I || (type == HEVC_SLICE_P && list == 1))
        return 0;
    uint32_t length = (list ? slice->num_ref_idx_l1_active_minus1 : slice->num_ref_idx_l0_active_minus1) + 1u;
    return length < HEVC_FRAMES ? length : HEVC_FRAMES;
}

void hevc_find_current(const struct rebuild_picture *picture, const VAPictureParameterBufferHEVC *parameters,
                       bool current[HEVC_FRAMES])
{
    const bool none =
        parameters->slice_parsing_fields.bits.RapPicFlag || parameters->slice_parsing_fields.bits.IdrPicFlag;
    for (unsigned i = 0; i < HEVC_FRAMES; i++)
        current[i] = !none && hevc_frame_is_used(&parameters->ReferenceFrames[i]) &&
                     parameters->ReferenceFrames[i].flags & HEVC_SUBSETS;
    if (none)
        return;
    struct rebuild_cursor cursor = {0};
    struct rebuild_slice found;
    while (rebuild_next_slice(picture, sizeof(VASliceParameterBufferHEVC), &cursor, &found)) {
        VASliceParameterBufferHEVC slice;
        memcpy(&slice, found.parameters, sizeof(slice));
        for (unsigned list = 0; list < 2; list++)
            for (uint32_t i = 0; i < hevc_list_length(&slice, list); i++) {
                uint8_t entry = slice.RefPicList[list][i];
                if (entry < HEVC_FRAMES && hevc_frame_is_used(&parameters->ReferenceFrames[entry]))
                    current[entry] = true;
            }
    }
}

/* Inserts an entry so that keys ascend. */
static void insert(uint8_t *entries, int64_t *keys, uint32_t *count, unsigned entry, int64_t key)
{
    uint32_t at = (*count)++;
    for (; at > 0 && keys[at - 1] > key; at--) {
        entries[at] = entries[at - 1];
        keys[at] = keys[at - 1];
    }
    entries[at] = (uint8_t)entry;
    keys[at] = key;
}

static void begin_list(struct hevc_rebuilt_set *set, unsigned list)
{
    const uint8_t *parts[3] = {list ? set->after : set->before, list ? set->before : set->after, set->long_term};
    uint32_t counts[3] = {list ? set->after_count : set->before_count, list ? set->before_count : set->after_count,
                          set->long_term_count};
    set->initial_count = 0;
    for (unsigned part = 0; part < 3; part++)
        for (uint32_t i = 0; i < counts[part]; i++)
            if (set->references[parts[part][i]].current)
                set->initial[list][set->initial_count++] = parts[part][i];
}

void hevc_order_set(struct hevc_rebuilt_set *set)
{
    int64_t before[HEVC_FRAMES], after[HEVC_FRAMES], long_term[HEVC_FRAMES];
    set->before_count = set->after_count = set->long_term_count = 0;
    for (unsigned i = 0; i < HEVC_FRAMES; i++) {
        const struct hevc_rebuilt_reference *reference = &set->references[i];
        int64_t distance = (int64_t)reference->order_count - set->order_count;
        if (!reference->kept)
            continue;
        /* Cycles of long-term pictures are coded as differences that cannot be negative (7-52). */
        if (reference->long_term)
            insert(set->long_term, long_term, &set->long_term_count, i, -(int64_t)reference->order_count);
        else if (distance < 0)
            insert(set->before, before, &set->before_count, i, -distance);
        else
            insert(set->after, after, &set->after_count, i, distance);
    }
    begin_list(set, 0);
    begin_list(set, 1);
}

static bool write_short_term(struct hevc_short_term_rps *v, const struct hevc_rebuilt_set *set)
{
    int64_t last = 0;
    v->num_negative_pics = set->before_count;
    for (uint32_t i = 0; i < set->before_count; i++) {
        const struct hevc_rebuilt_reference *reference = &set->references[set->before[i]];
        int64_t distance = (int64_t)set->order_count - reference->order_count;
        if (distance - last < 1 || distance - last > 32768)
            return false;
        v->delta_poc_s0_minus1[i] = (uint32_t)(distance - last - 1);
        v->used_by_curr_pic_s0_flag[i] = reference->current;
        last = distance;
    }
    last = 0;
    v->num_positive_pics = set->after_count;
    for (uint32_t i = 0; i < set->after_count; i++) {
        const struct hevc_rebuilt_reference *reference = &set->references[set->after[i]];
        int64_t distance = (int64_t)reference->order_count - set->order_count;
        if (distance - last < 1 || distance - last > 32768)
            return false;
        v->delta_poc_s1_minus1[i] = (uint32_t)(distance - last - 1);
        v->used_by_curr_pic_s1_flag[i] = reference->current;
        last = distance;
    }
    return true;
}

static bool write_long_term(struct hevc_slice_header *header, const struct hevc_rebuilt_set *set)
{
    int64_t last = 0;
    header->num_long_term_pics = set->long_term_count;
    for (uint32_t i = 0; i < set->long_term_count; i++) {
        const struct hevc_rebuilt_reference *reference = &set->references[set->long_term[i]];
        int64_t cycle = ((int64_t)(set->order_count & ~ORDER_MASK) - (reference->order_count & ~ORDER_MASK)) /
                        (1 << HEVC_ORDER_BITS);
        if (cycle < last)
            return false;
        header->long_term[i] = (struct hevc_long_term){
            .poc_lsb_lt = (uint32_t)(reference->order_count & ORDER_MASK),
            .used_by_curr_pic_lt_flag = reference->current,
            .delta_poc_msb_present_flag = 1,
            .delta_poc_msb_cycle_lt = (uint32_t)(cycle - last),
        };
        last = cycle;
    }
    return true;
}

bool hevc_rebuild_references(struct hevc_slice_header *header, const struct hevc_rebuilt_set *set)
{
    header->slice_pic_order_cnt_lsb = (uint32_t)(set->order_count & ORDER_MASK);
    return write_short_term(&header->short_term_ref_pic_set, set) && write_long_term(header, set);
}

/* list_entry_lX from the client's list; false: an entry is no picture that may be predicted from. */
static bool write_list(struct hevc_slice_header *header, const struct hevc_rebuilt_set *set,
                       const VASliceParameterBufferHEVC *slice, unsigned list)
{
    uint32_t length = hevc_list_length(slice, list);
    for (uint32_t i = 0; i < length; i++) {
        uint8_t entry = slice->RefPicList[list][i];
        uint32_t place = 0;
        while (place < set->initial_count && set->initial[list][place] != entry)
            place++;
        if (place == set->initial_count)
            return false;
        header->list_entry[list][i] = place;
        if (place != i % set->initial_count)
            header->ref_pic_list_modification_flag[list] = 1;
    }
    header->num_ref_idx_active_override_flag = 1;
    header->num_ref_idx_active_minus1[list] = length ? length - 1 : 0;
    return true;
}

/* delta_chroma_offset_lX from ChromaOffsetLX (7-56). False: none gives that. */
static bool write_chroma_offset(int32_t *delta, int32_t offset, int32_t weight, int32_t log2_denominator)
{
    int32_t scaled = (128 * weight) >> log2_denominator;
    int32_t value = offset - 128 + scaled;
    *delta = value < -512 ? -512 : value > 511 ? 511 : value;
    int32_t back = 128 + *delta - scaled;
    return offset == (back < -128 ? -128 : back > 127 ? 127 : back);
}

static bool write_weights(struct hevc_slice_header *header, const VASliceParameterBufferHEVC *slice, unsigned list)
{
    const int8_t *luma = list ? slice->delta_luma_weight_l1 : slice->delta_luma_weight_l0;
    const int8_t *luma_offset = list ? slice->luma_offset_l1 : slice->luma_offset_l0;
    const int8_t (*chroma)[2] = list ? slice->delta_chroma_weight_l1 : slice->delta_chroma_weight_l0;
    const int8_t (*chroma_offset)[2] = list ? slice->ChromaOffsetL1 : slice->ChromaOffsetL0;
    int32_t denominator = slice->luma_log2_weight_denom + slice->delta_chroma_log2_weight_denom;
    if (denominator < 0 || denominator > 7)
        return false;
    for (uint32_t i = 0; i < hevc_list_length(slice, list); i++) {
        struct hevc_weight *weight = &header->weight[list][i];
        weight->luma_weight_flag = luma[i] || luma_offset[i];
        weight->delta_luma_weight = luma[i];
        weight->luma_offset = luma_offset[i];
        weight->chroma_weight_flag = chroma[i][0] || chroma[i][1] || chroma_offset[i][0] || chroma_offset[i][1];
        for (unsigned plane = 0; plane < 2; plane++) {
            weight->delta_chroma_weight[plane] = chroma[i][plane];
            if (!write_chroma_offset(&weight->delta_chroma_offset[plane], chroma_offset[i][plane],
                                     (1 << denominator) + chroma[i][plane], denominator))
                return false;
        }
    }
    return true;
}

static bool write_prediction(struct hevc_slice_header *header, const struct hevc_rebuilt_sets *sets,
                             const struct hevc_rebuilt_set *set, const VASliceParameterBufferHEVC *slice,
                             const char **problem)
{
    bool b = header->slice_type == HEVC_SLICE_B;
    *problem = "a reference list names what is not in the reference picture set";
    for (unsigned list = 0; list < (b ? 2 : 1); list++)
        if (!write_list(header, set, slice, list))
            return false;
    header->mvd_l1_zero_flag = b && slice->LongSliceFlags.fields.mvd_l1_zero_flag;
    header->cabac_init_flag = slice->LongSliceFlags.fields.cabac_init_flag;
    if (header->slice_temporal_mvp_enabled_flag) {
        header->collocated_from_l0_flag = b ? slice->LongSliceFlags.fields.collocated_from_l0_flag : 1;
        header->collocated_ref_idx = slice->collocated_ref_idx;
        *problem = "the collocated picture is none of its list";
        if (header->collocated_ref_idx >= hevc_list_length(slice, b && !header->collocated_from_l0_flag))
            return false;
    }
    if (b ? sets->pps.weighted_bipred_flag : sets->pps.weighted_pred_flag) {
        header->luma_log2_weight_denom = slice->luma_log2_weight_denom;
        header->delta_chroma_log2_weight_denom = slice->delta_chroma_log2_weight_denom;
        *problem = "no table of weights gives the weights and offsets";
        for (unsigned list = 0; list < (b ? 2 : 1); list++)
            if (!write_weights(header, slice, list))
                return false;
    }
    header->five_minus_max_num_merge_cand = slice->five_minus_max_num_merge_cand;
    return true;
}

bool hevc_rebuild_header(struct hevc_slice_header *header, const struct hevc_rebuilt_sets *sets,
                         const struct hevc_rebuilt_set *set, uint32_t nal_unit_type,
                         const VASliceParameterBufferHEVC *slice, const char **problem)
{
    memset(header, 0, sizeof(*header));
    header->nal.nal_unit_type = nal_unit_type;
    header->first_slice_segment_in_pic_flag = slice->slice_segment_address == 0;
    header->dependent_slice_segment_flag = slice->LongSliceFlags.fields.dependent_slice_segment_flag;
    header->slice_segment_address = slice->slice_segment_address;
    header->slice_type = slice->LongSliceFlags.fields.slice_type;
    header->pic_output_flag = 1;
    *problem = "the reference picture set repeats an order count, or its pictures are too far away";
    if (!hevc_rebuild_references(header, set))
        return false;
    header->slice_temporal_mvp_enabled_flag = sets->sps.sps_temporal_mvp_enabled_flag && !hevc_is_idr(nal_unit_type) &&
                                              slice->LongSliceFlags.fields.slice_temporal_mvp_enabled_flag;
    header->slice_sao_luma_flag = slice->LongSliceFlags.fields.slice_sao_luma_flag;
    header->slice_sao_chroma_flag = slice->LongSliceFlags.fields.slice_sao_chroma_flag;
    if (header->slice_type != HEVC_SLICE_I && !write_prediction(header, sets, set, slice, problem))
        return false;
    header->slice_qp_delta = slice->slice_qp_delta;
    header->slice_cb_qp_offset = slice->slice_cb_qp_offset;
    header->slice_cr_qp_offset = slice->slice_cr_qp_offset;
    header->deblocking_filter_override_flag = 1;
    header->slice_deblocking_filter_disabled_flag = slice->LongSliceFlags.fields.slice_deblocking_filter_disabled_flag;
    header->slice_beta_offset_div2 = slice->slice_beta_offset_div2;
    header->slice_tc_offset_div2 = slice->slice_tc_offset_div2;
    header->slice_loop_filter_across_slices_enabled_flag =
        slice->LongSliceFlags.fields.slice_loop_filter_across_slices_enabled_flag;
    *problem = NULL;
    return true;
}
