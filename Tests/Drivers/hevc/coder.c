/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures and slice segments of the coder: what is accepted, and in which order coding tree blocks are coded. */
#include "coder_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the driver's surfaces are limited; sums of errors stay far within their types. */
#define MOST_SIDE 16384

static bool fail(struct hevc_coder *coder, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct hevc_coder *coder, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(coder->failure, sizeof coder->failure, format, arguments);
    va_end(arguments);
    return false;
}

struct hevc_coder *hevc_coder_create(void)
{
    return calloc(1, sizeof(struct hevc_coder));
}

static void release_picture(struct hevc_coder *coder)
{
    free(coder->units);
    free(coder->reconstructed);
    free(coder->depth_above);
    free(coder->skip_above);
    coder->units = NULL;
    coder->reconstructed = NULL;
    coder->depth_above = coder->skip_above = NULL;
    coder->unit_columns = coder->unit_count = 0;
}

void hevc_coder_destroy(struct hevc_coder *coder)
{
    if (!coder)
        return;
    release_picture(coder);
    skip_release(coder);
    free(coder->slices);
    free(coder);
}

struct hevc_figures hevc_coder_figures(const struct hevc_coder *coder)
{
    return coder->figures;
}

const char *hevc_coder_failure(const struct hevc_coder *coder)
{
    return coder->failure;
}

void hevc_frame_release(struct hevc_frame *frame)
{
    free(frame->motion);
    frame->motion = NULL;
}

/* Sizes of pictures and blocks (7.4.3.2.1, A.3). */
static bool accept_sizes(struct hevc_coder *coder, const struct hevc_sps *sps)
{
    uint32_t min_cb = sps->log2_min_luma_coding_block_size_minus3;
    uint32_t min_tb = sps->log2_min_luma_transform_block_size_minus2;
    if (min_cb > 3 || sps->log2_diff_max_min_luma_coding_block_size > 3 - min_cb || hevc_ctb_log2(sps) < 4)
        return fail(coder, "coding blocks of 2^(3 + %u) and 2^%u times that are not within 8 and 16 to 64", min_cb,
                    sps->log2_diff_max_min_luma_coding_block_size);
    uint32_t ctb = hevc_ctb_log2(sps), most = ctb < 5 ? ctb : 5;
    if (min_tb > min_cb || sps->log2_diff_max_min_luma_transform_block_size > 3 ||
        min_tb + 2 + sps->log2_diff_max_min_luma_transform_block_size > most)
        return fail(coder, "transform blocks of 2^(2 + %u) and 2^%u times that do not fit", min_tb,
                    sps->log2_diff_max_min_luma_transform_block_size);
    if (sps->max_transform_hierarchy_depth_inter > ctb - min_tb - 2 ||
        sps->max_transform_hierarchy_depth_intra > ctb - min_tb - 2)
        return fail(coder, "transform hierarchy depths %u and %u are above %u",
                    sps->max_transform_hierarchy_depth_inter, sps->max_transform_hierarchy_depth_intra,
                    ctb - min_tb - 2);
    uint32_t width = sps->pic_width_in_luma_samples, height = sps->pic_height_in_luma_samples;
    uint32_t mask = (8u << min_cb) - 1;
    if (width == 0 || height == 0 || width > MOST_SIDE || height > MOST_SIDE || (width & mask) || (height & mask))
        return fail(coder, "%ux%u is not a size of whole coding blocks of %u", width, height, mask + 1);
    if (sps->pcm_enabled_flag && (sps->log2_min_pcm_luma_coding_block_size_minus3 > 2 ||
                                  sps->log2_diff_max_min_pcm_luma_coding_block_size > 2))
        return fail(coder, "PCM blocks of 2^(3 + %u) and 2^%u times that are not within 8 to 32",
                    sps->log2_min_pcm_luma_coding_block_size_minus3,
                    sps->log2_diff_max_min_pcm_luma_coding_block_size);
    return true;
}

/* Features of parameter sets that are not coded here. */
static bool accept_features(struct hevc_coder *coder, const struct hevc_sps *sps, const struct hevc_pps *pps)
{
    uint32_t depth = sps->bit_depth_luma_minus8;
    if (sps->chroma_format_idc < 1 || sps->chroma_format_idc > 3 || sps->separate_colour_plane_flag)
        return fail(coder, "only 4:2:0, 4:2:2 and 4:4:4 are coded (chroma_format_idc %u)", sps->chroma_format_idc);
    if ((depth != 0 && depth != 2 && depth != 4) || sps->bit_depth_chroma_minus8 != depth)
        return fail(coder, "only 8, 10 and 12 bits are coded (bit depths %u and %u)", 8 + depth,
                    8 + sps->bit_depth_chroma_minus8);
    static const struct hevc_sps_range_extension none;
    const struct hevc_pps_range_extension *range = &pps->range;
    if (memcmp(&sps->range, &none, sizeof none) != 0 || range->log2_max_transform_skip_block_size_minus2 ||
        range->cross_component_prediction_enabled_flag || range->chroma_qp_offset_list_enabled_flag)
        return fail(coder, "tools of range extensions are not coded");
    if (sps->scaling_list_enabled_flag)
        return fail(coder, "scaling lists are not coded (scaling_list_enabled_flag 1)");
    if (pps->tiles_enabled_flag)
        return fail(coder, "tiles are not coded (tiles_enabled_flag 1)");
    if (pps->entropy_coding_sync_enabled_flag)
        return fail(coder, "wavefronts are not coded (entropy_coding_sync_enabled_flag 1)");
    if (pps->pps_cb_qp_offset < -12 || pps->pps_cb_qp_offset > 12 || pps->pps_cr_qp_offset < -12 ||
        pps->pps_cr_qp_offset > 12)
        return fail(coder, "chroma QP offsets %d and %d are not within -12 to 12", pps->pps_cb_qp_offset,
                    pps->pps_cr_qp_offset);
    if (pps->cu_qp_delta_enabled_flag &&
        pps->diff_cu_qp_delta_depth > sps->log2_diff_max_min_luma_coding_block_size)
        return fail(coder, "diff_cu_qp_delta_depth %u is above %u", pps->diff_cu_qp_delta_depth,
                    sps->log2_diff_max_min_luma_coding_block_size);
    if (pps->log2_parallel_merge_level_minus2 + 2 > hevc_ctb_log2(sps) || pps->log2_parallel_merge_level_minus2 > 4)
        return fail(coder, "log2_parallel_merge_level_minus2 %u is above the coding tree block's size",
                    pps->log2_parallel_merge_level_minus2);
    return true;
}

/* What follows from the parameter sets. */
static void derive_sizes(struct hevc_coder *coder)
{
    const struct hevc_sps *sps = &coder->sps;
    coder->depth_bits = 8 + sps->bit_depth_luma_minus8;
    coder->qp_offset = 6 * (int)sps->bit_depth_luma_minus8;
    coder->chroma_format = sps->chroma_format_idc;
    coder->chroma_right = sps->chroma_format_idc < 3;
    coder->chroma_down = sps->chroma_format_idc < 2;
    coder->ctb_log2 = hevc_ctb_log2(sps);
    coder->min_cb_log2 = hevc_min_cb_log2(sps);
    coder->min_tb_log2 = sps->log2_min_luma_transform_block_size_minus2 + 2;
    coder->max_tb_log2 = coder->min_tb_log2 + sps->log2_diff_max_min_luma_transform_block_size;
    coder->group_log2 = coder->ctb_log2;
    if (coder->pps.cu_qp_delta_enabled_flag)
        coder->group_log2 -= coder->pps.diff_cu_qp_delta_depth;
    coder->width = sps->pic_width_in_luma_samples;
    coder->height = sps->pic_height_in_luma_samples;
    coder->ctb_columns = hevc_width_in_ctbs(sps);
    coder->ctb_count = coder->ctb_columns * hevc_height_in_ctbs(sps);
}

/* Room for the records of a picture, all of them missing so far. */
static bool prepare_records(struct hevc_coder *coder)
{
    uint32_t columns = coder->width / 8, count = columns * (coder->height / 8);
    if (coder->unit_columns != columns || coder->unit_count != count) {
        release_picture(coder);
        coder->units = malloc(count * sizeof *coder->units);
        coder->reconstructed = malloc(count * 4 * sizeof *coder->reconstructed);
        coder->depth_above = malloc(columns);
        coder->skip_above = malloc(columns);
        if (!coder->units || !coder->reconstructed || !coder->depth_above || !coder->skip_above) {
            release_picture(coder);
            return fail(coder, "out of memory");
        }
        coder->unit_columns = columns;
        coder->unit_count = count;
    }
    if (coder->effort == HEVC_EFFORT_TRUTHFUL) {
        memset(coder->units, 0, count * sizeof *coder->units);
        memset(coder->reconstructed, 0, count * 4 * sizeof *coder->reconstructed);
    }
    return true;
}

/* Room for the picture's motion. */
static bool prepare_motion(struct hevc_coder *coder, struct hevc_frame *frame)
{
    uint32_t columns = (coder->width + 15) / 16, rows = (coder->height + 15) / 16;
    if (frame->motion && frame->motion->columns == columns && frame->motion->rows == rows)
        return true;
    hevc_frame_release(frame);
    frame->motion = calloc(1, sizeof *frame->motion + (size_t)columns * rows);
    if (!frame->motion)
        return fail(coder, "out of memory");
    frame->motion->columns = columns;
    frame->motion->rows = rows;
    return true;
}

bool hevc_coder_begin(struct hevc_coder *coder, const struct hevc_sps *sps, const struct hevc_pps *pps,
                      const struct hevc_frame *source, struct hevc_frame *reconstruction, enum hevc_effort effort)
{
    coder->begun = false;
    coder->failure[0] = 0;
    if (!accept_sizes(coder, sps) || !accept_features(coder, sps, pps))
        return false;
    coder->sps = *sps;
    coder->pps = *pps;
    coder->source = source;
    coder->reconstruction = reconstruction;
    coder->effort = effort;
    derive_sizes(coder);
    coder->next = 0;
    coder->slice_count = 0;
    coder->figures = (struct hevc_figures){.least_qp = 52, .most_qp = -1 - coder->qp_offset};
    if (!prepare_records(coder) || !prepare_motion(coder, reconstruction))
        return false;
    coder->begun = true;
    return true;
}

/* Which blocks the segment covers, and the bits it starts with. */
static bool accept_coverage(struct hevc_coder *coder, const struct hevc_slice_request *request)
{
    const struct hevc_slice_header *header = request->header;
    uint32_t first = header->slice_segment_address;
    if (!coder->begun)
        return fail(coder, "a slice segment without a picture");
    if (first != coder->next)
        return fail(coder, "slice_segment_address is %u where block %u is next", first, coder->next);
    if (request->ctb_count == 0 || request->ctb_count > coder->ctb_count - first)
        return fail(coder, "%u coding tree blocks from %u on are not within the picture's %u", request->ctb_count,
                    first, coder->ctb_count);
    if (header->dependent_slice_segment_flag && coder->slice_count == 0)
        return fail(coder, "a dependent slice segment without one before it");
    if (!request->nal.bytes || request->nal.count < 18)
        return fail(coder, "%zu bits are too few for a slice segment header", request->nal.count);
    return true;
}

/* Values of the slice header that the coder reckons with (7.4.7.1). */
static bool accept_header(struct hevc_coder *coder, struct slice *slice)
{
    const struct hevc_slice_header *header = slice->header;
    const struct hevc_pps *pps = &coder->pps;
    int64_t qp = (int64_t)26 + pps->init_qp_minus26 + header->slice_qp_delta;
    int64_t cb = (int64_t)pps->pps_cb_qp_offset + header->slice_cb_qp_offset;
    int64_t cr = (int64_t)pps->pps_cr_qp_offset + header->slice_cr_qp_offset;
    if (header->slice_type > HEVC_SLICE_I)
        return fail(coder, "slice_type %u is above 2", header->slice_type);
    if (qp < -coder->qp_offset || qp > 51)
        return fail(coder, "SliceQpY %lld is not within %d to 51", (long long)qp, -coder->qp_offset);
    if (cb < -12 || cb > 12 || cr < -12 || cr > 12)
        return fail(coder, "chroma QP offsets %lld and %lld are not within -12 to 12", (long long)cb, (long long)cr);
    if (header->slice_beta_offset_div2 < -6 || header->slice_beta_offset_div2 > 6 ||
        header->slice_tc_offset_div2 < -6 || header->slice_tc_offset_div2 > 6)
        return fail(coder, "deblocking offsets %d and %d are not within -6 to 6", header->slice_beta_offset_div2,
                    header->slice_tc_offset_div2);
    if (header->five_minus_max_num_merge_cand > 4)
        return fail(coder, "five_minus_max_num_merge_cand %u is above 4", header->five_minus_max_num_merge_cand);
    if ((header->slice_type == HEVC_SLICE_P && pps->weighted_pred_flag) ||
        (header->slice_type == HEVC_SLICE_B && pps->weighted_bipred_flag))
        return fail(coder, "weighted prediction is not coded");
    slice->slice_qp = (int)qp;
    slice->chroma_offset[0] = (int)cb;
    slice->chroma_offset[1] = (int)cr;
    slice->candidate_count = 5 - header->five_minus_max_num_merge_cand;
    return true;
}

/* What the request itself wants. */
static bool accept_wishes(struct hevc_coder *coder, struct slice *slice)
{
    const struct hevc_slice_request *request = slice->request;
    int least = -coder->qp_offset;
    bool whole_range = request->least_qp == 0 && request->most_qp == 0;
    slice->least_qp = whole_range ? least : request->least_qp;
    slice->most_qp = whole_range ? 51 : request->most_qp;
    if (request->qp < least || request->qp > 51)
        return fail(coder, "QP %d is not within %d to 51", request->qp, least);
    if (slice->least_qp < least || slice->most_qp > 51 || slice->least_qp > slice->most_qp)
        return fail(coder, "QPs of %d to %d are not within %d to 51", slice->least_qp, slice->most_qp, least);
    if (request->wishes && (request->wish_log2_size < 3 || request->wish_log2_size > 6))
        return fail(coder, "wishes for blocks of 2^%u are not within 8 to 64", request->wish_log2_size);
    return true;
}

static bool accept_reference(struct hevc_coder *coder, const struct hevc_frame *reference, unsigned list,
                             unsigned index)
{
    if (!reference)
        return fail(coder, "reference %u of list %u is missing", index, list);
    if (reference == coder->reconstruction ||
        (reference->motion && reference->motion == coder->reconstruction->motion))
        return fail(coder, "reference %u of list %u is the picture itself", index, list);
    if (!reference->motion || reference->motion->columns != (coder->width + 15) / 16 ||
        reference->motion->rows != (coder->height + 15) / 16)
        return fail(coder, "reference %u of list %u was never coded at this size", index, list);
    return true;
}

/* Lengths and entries of the reference lists, and the co-located picture. */
static bool accept_references(struct hevc_coder *coder, struct slice *slice)
{
    const struct hevc_slice_header *header = slice->header;
    unsigned lists = header->slice_type == HEVC_SLICE_I ? 0 : header->slice_type == HEVC_SLICE_P ? 1 : 2;
    slice->no_backward_prediction = true;
    for (unsigned list = 0; list < lists; list++) {
        if (header->num_ref_idx_active_minus1[list] >= HEVC_MAXIMUM_REFERENCES)
            return fail(coder, "num_ref_idx_l%u_active_minus1 %u is above 15", list,
                        header->num_ref_idx_active_minus1[list]);
        slice->active[list] = header->num_ref_idx_active_minus1[list] + 1;
        for (unsigned index = 0; index < slice->active[list]; index++) {
            const struct hevc_frame *reference = slice->request->references[list][index];
            if (!accept_reference(coder, reference, list, index))
                return false;
            if (reference->picture_order_count > coder->reconstruction->picture_order_count)
                slice->no_backward_prediction = false;
        }
    }
    unsigned from = header->slice_type == HEVC_SLICE_B && !header->collocated_from_l0_flag;
    if (lists > 0 && header->slice_temporal_mvp_enabled_flag && header->collocated_ref_idx >= slice->active[from])
        return fail(coder, "collocated_ref_idx %u is not in list %u of %u", header->collocated_ref_idx, from,
                    slice->active[from]);
    return true;
}

/* Requests and their frames are gone when the picture ends. */
static void keep_reference(struct slice_record *record, unsigned list, unsigned index,
                           const struct hevc_frame *reference)
{
    record->pictures[list][index] = reference->motion;
    record->long_term[list] |= (uint16_t)(reference->long_term << index);
}

/* Gives the segment its slice's number, and remembers a new slice for the end of the picture. */
static bool number_slice(struct hevc_coder *coder, struct slice *slice)
{
    const struct hevc_slice_header *header = slice->header;
    slice->number = coder->slice_count;
    if (header->dependent_slice_segment_flag)
        return true;
    if (coder->slice_count == coder->slice_capacity) {
        uint32_t capacity = coder->slice_capacity * 2 + 8;
        struct slice_record *slices = realloc(coder->slices, capacity * sizeof *slices);
        if (!slices)
            return fail(coder, "out of memory");
        coder->slices = slices;
        coder->slice_capacity = capacity;
    }
    struct slice_record *record = &coder->slices[coder->slice_count++];
    *record = (struct slice_record){
        .address = header->slice_segment_address,
        .deblocking_disabled = header->slice_deblocking_filter_disabled_flag,
        .across_slices = header->slice_loop_filter_across_slices_enabled_flag,
        .beta_offset = (int8_t)(header->slice_beta_offset_div2 * 2),
        .tc_offset = (int8_t)(header->slice_tc_offset_div2 * 2),
    };
    for (unsigned list = 0; list < 2; list++)
        for (unsigned index = 0; index < slice->active[list]; index++)
            keep_reference(record, list, index, slice->request->references[list][index]);
    slice->number = coder->slice_count;
    coder->quantization.previous = slice->slice_qp;
    return true;
}

/* 7.3.8.1: slice_segment_data after the header's bits. */
static void code_segment_data(struct hevc_coder *coder, struct slice *slice)
{
    const struct hevc_slice_request *request = slice->request;
    uint32_t end = coder->next + request->ctb_count;
    bits_append(&slice->bits, request->nal.bytes, 0, request->nal.count);
    if (coder->effort == HEVC_EFFORT_SKIP && skip_recall(coder, slice)) {
        coder->next = end;
        return;
    }
    write_begin_segment(coder, slice);
    size_t start = slice->bits.count;
    for (; coder->next < end; coder->next++) {
        if (coder->effort == HEVC_EFFORT_SKIP)
            skip_ctb(coder, slice, coder->next);
        else
            code_ctb(coder, slice, coder->next);
        write_end_of_segment_flag(coder, slice, coder->next + 1 == end);
    }
    if (coder->effort == HEVC_EFFORT_SKIP)
        skip_learn(coder, slice, start);
}

bool hevc_coder_slice(struct hevc_coder *coder, const struct hevc_slice_request *request, struct bits *out)
{
    coder->failure[0] = 0;
    if (!accept_coverage(coder, request))
        return false;
    struct slice slice = {.request = request, .header = request->header};
    if (!accept_header(coder, &slice) || !accept_wishes(coder, &slice) || !accept_references(coder, &slice) ||
        !number_slice(coder, &slice))
        return false;
    code_segment_data(coder, &slice);
    if (!slice.bits.failed)
        bits_frame_nal_unit(out, &slice.bits);
    bool complete = !slice.bits.failed && !out->failed;
    bits_release(&slice.bits);
    return complete || fail(coder, "out of memory");
}

/* Keeps what temporal motion prediction in later pictures asks for. */
static void keep_motion(const struct hevc_coder *coder)
{
    struct hevc_motion *motion = coder->reconstruction->motion;
    for (uint32_t row = 0; row < motion->rows; row++)
        for (uint32_t column = 0; column < motion->columns; column++) {
            const struct unit *unit = unit_at(coder, column * 16, row * 16);
            const struct slice_record *slice = &coder->slices[unit->slice - 1];
            unsigned block = 0;
            for (unsigned list = 0; list < 2 && unit->kind == UNIT_INTER; list++)
                if (unit->motion.ref_idx[list] >= 0)
                    block |= (1u | (slice->long_term[list] >> unit->motion.ref_idx[list] & 1) << 2) << list;
            motion->blocks[row * motion->columns + column] = (uint8_t)block;
        }
}

bool hevc_coder_end(struct hevc_coder *coder)
{
    coder->failure[0] = 0;
    if (!coder->begun)
        return fail(coder, "the end of a picture that was not begun");
    coder->begun = false;
    if (coder->next != coder->ctb_count)
        return fail(coder, "no slice segment has the coding tree blocks from %u on", coder->next);
    if (coder->effort == HEVC_EFFORT_SKIP)
        return true;
    keep_motion(coder);
    hevc_deblock_picture(coder);
    return true;
}
