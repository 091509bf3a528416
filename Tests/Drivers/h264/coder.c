/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures and slices of the coder: what is accepted, and in which order macroblocks are coded. */
#include "coder_parts.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* h264_motion.picture of the picture begun last, in the whole process: frames may move between coders. */
static atomic_uint_fast64_t last_picture;

static bool fail(struct h264_coder *coder, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct h264_coder *coder, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(coder->failure, sizeof coder->failure, format, arguments);
    va_end(arguments);
    return false;
}

struct h264_coder *h264_coder_create(void)
{
    return calloc(1, sizeof(struct h264_coder));
}

void h264_coder_destroy(struct h264_coder *coder)
{
    if (!coder)
        return;
    free(coder->macroblocks);
    free(coder->filters);
    free(coder);
}

struct h264_figures h264_coder_figures(const struct h264_coder *coder)
{
    return coder->figures;
}

const char *h264_coder_failure(const struct h264_coder *coder)
{
    return coder->failure;
}

void h264_frame_release(struct h264_frame *frame)
{
    free(frame->motion);
    frame->motion = NULL;
}

/* Features of parameter sets that are not coded here. */
static bool accept_parameter_sets(struct h264_coder *coder, const struct h264_sps *sps, const struct h264_pps *pps)
{
    if (!sps->frame_mbs_only_flag)
        return fail(coder, "fields are not coded (frame_mbs_only_flag 0)");
    if (sps->chroma_format_idc != 1)
        return fail(coder, "only 4:2:0 is coded (chroma_format_idc %u)", sps->chroma_format_idc);
    if (sps->bit_depth_luma_minus8 != 0 || sps->bit_depth_chroma_minus8 != 0)
        return fail(coder, "only 8 bits are coded (bit depths %u and %u)", 8 + sps->bit_depth_luma_minus8,
                    8 + sps->bit_depth_chroma_minus8);
    if (sps->qpprime_y_zero_transform_bypass_flag)
        return fail(coder, "lossless coding is not coded (qpprime_y_zero_transform_bypass_flag 1)");
    if (sps->seq_scaling_matrix_present_flag || (pps->extension_present && pps->pic_scaling_matrix_present_flag))
        return fail(coder, "scaling lists are not coded");
    if (pps->num_slice_groups_minus1 != 0)
        return fail(coder, "slice groups are not coded (num_slice_groups_minus1 %u)", pps->num_slice_groups_minus1);
    if (sps->pic_width_in_mbs_minus1 >= 1024 || sps->pic_height_in_map_units_minus1 >= 1024)
        return fail(coder, "%u by %u macroblocks are too many", sps->pic_width_in_mbs_minus1 + 1,
                    sps->pic_height_in_map_units_minus1 + 1);
    if (pps->weighted_bipred_idc > 2)
        return fail(coder, "weighted_bipred_idc %u is above 2", pps->weighted_bipred_idc);
    return true;
}

static bool accept_chroma_offsets(struct h264_coder *coder, const struct h264_pps *pps)
{
    coder->chroma_offset[0] = pps->chroma_qp_index_offset;
    coder->chroma_offset[1] = pps->extension_present ? pps->second_chroma_qp_index_offset : pps->chroma_qp_index_offset;
    for (unsigned component = 0; component < 2; component++)
        if (coder->chroma_offset[component] < -12 || coder->chroma_offset[component] > 12)
            return fail(coder, "chroma QP offset %d is not within -12 to 12", coder->chroma_offset[component]);
    return true;
}

/* Room for the records of a picture's macroblocks, all of them missing so far. */
static bool prepare_macroblocks(struct h264_coder *coder, uint32_t count)
{
    if (coder->macroblock_count != count || !coder->macroblocks) {
        free(coder->macroblocks);
        coder->macroblock_count = 0;
        coder->macroblocks = malloc(count * sizeof *coder->macroblocks);
        if (!coder->macroblocks)
            return fail(coder, "out of memory");
        coder->macroblock_count = count;
    }
    memset(coder->macroblocks, 0, count * sizeof *coder->macroblocks);
    return true;
}

/* A new number for the picture, and room for its references. */
static bool prepare_motion(struct h264_coder *coder, struct h264_frame *frame)
{
    uint32_t count = coder->macroblock_count;
    size_t size = count * sizeof frame->motion->references[0];
    if (!frame->motion || frame->motion->macroblock_count != count) {
        h264_frame_release(frame);
        frame->motion = malloc(sizeof *frame->motion + size);
        if (!frame->motion)
            return fail(coder, "out of memory");
        frame->motion->macroblock_count = count;
    }
    frame->motion->picture = atomic_fetch_add(&last_picture, 1) + 1;
    memset(frame->motion->references, 0, size);
    return true;
}

bool h264_coder_begin(struct h264_coder *coder, const struct h264_sps *sps, const struct h264_pps *pps,
                      const struct h264_frame *source, struct h264_frame *reconstruction, enum h264_effort effort)
{
    coder->begun = false;
    coder->failure[0] = 0;
    if (!accept_parameter_sets(coder, sps, pps) || !accept_chroma_offsets(coder, pps))
        return false;
    coder->sps = *sps;
    coder->pps = *pps;
    coder->source = source;
    coder->reconstruction = reconstruction;
    coder->effort = effort;
    coder->width = sps->pic_width_in_mbs_minus1 + 1;
    coder->height = sps->pic_height_in_map_units_minus1 + 1;
    coder->next = 0;
    coder->slice_count = 0;
    coder->figures = (struct h264_figures){.least_qp = 52, .most_qp = -1};
    if (!prepare_macroblocks(coder, coder->width * coder->height) || !prepare_motion(coder, reconstruction))
        return false;
    coder->begun = true;
    return true;
}

/* Which macroblocks the slice covers, and the bits it starts with. */
static bool accept_coverage(struct h264_coder *coder, const struct h264_slice_request *request)
{
    uint32_t first = request->header->first_mb_in_slice;
    if (!coder->begun)
        return fail(coder, "a slice without a picture");
    if (first != coder->next)
        return fail(coder, "first_mb_in_slice is %u where macroblock %u is next", first, coder->next);
    if (request->macroblock_count == 0 || request->macroblock_count > coder->macroblock_count - first)
        return fail(coder, "%u macroblocks from %u on are not within the picture's %u", request->macroblock_count,
                    first, coder->macroblock_count);
    if (!request->nal.bytes || request->nal.count < 16)
        return fail(coder, "%zu bits are too few for a slice header", request->nal.count);
    return true;
}

/* SliceQPY (7.4.3). */
static int64_t slice_qp_of(const struct h264_coder *coder, const struct h264_slice_header *header)
{
    return (int64_t)26 + coder->pps.pic_init_qp_minus26 + header->slice_qp_delta;
}

/* Values of the slice header that the coder reckons with (7.4.3). */
static bool accept_header(struct h264_coder *coder, const struct h264_slice_request *request)
{
    const struct h264_slice_header *header = request->header;
    int64_t slice_qp = slice_qp_of(coder, header);
    if (header->slice_type > 9 || header->slice_type % 5 > 2)
        return fail(coder, "slice_type %u is not coded", header->slice_type);
    if (header->field_pic_flag)
        return fail(coder, "fields are not coded (field_pic_flag 1)");
    if (slice_qp < 0 || slice_qp > 51)
        return fail(coder, "SliceQPY %lld is not within 0 to 51", (long long)slice_qp);
    if (request->qp < 0 || request->qp > 51)
        return fail(coder, "QP %d is not within 0 to 51", request->qp);
    if (request->least_qp < 0 || request->most_qp > 51 || (request->most_qp && request->least_qp > request->most_qp))
        return fail(coder, "QPs of %d to %d are not within 0 to 51", request->least_qp, request->most_qp);
    if (header->cabac_init_idc > 2)
        return fail(coder, "cabac_init_idc %u is above 2", header->cabac_init_idc);
    if (header->disable_deblocking_filter_idc > 2)
        return fail(coder, "disable_deblocking_filter_idc %u is above 2", header->disable_deblocking_filter_idc);
    if (header->slice_alpha_c0_offset_div2 < -6 || header->slice_alpha_c0_offset_div2 > 6 ||
        header->slice_beta_offset_div2 < -6 || header->slice_beta_offset_div2 > 6)
        return fail(coder, "deblocking offsets %d and %d are not within -6 to 6", header->slice_alpha_c0_offset_div2,
                    header->slice_beta_offset_div2);
    return true;
}

static bool accept_reference(struct h264_coder *coder, const struct h264_frame *reference, unsigned list,
                             unsigned index)
{
    if (!reference)
        return fail(coder, "reference %u of list %u is missing", index, list);
    if (reference == coder->reconstruction)
        return fail(coder, "reference %u of list %u is the picture itself", index, list);
    if (!reference->motion || reference->motion->macroblock_count != coder->macroblock_count)
        return fail(coder, "reference %u of list %u was never coded at this size", index, list);
    return true;
}

/* Lengths and entries of the reference lists. */
static bool accept_references(struct h264_coder *coder, struct slice *slice)
{
    unsigned lists = slice->type == H264_SLICE_I ? 0 : slice->type == H264_SLICE_P ? 1 : 2;
    for (unsigned list = 0; list < lists; list++) {
        if (slice->header->num_ref_idx_active_minus1[list] >= H264_MAXIMUM_REFERENCES)
            return fail(coder, "num_ref_idx_l%u_active_minus1 %u is above 31", list,
                        slice->header->num_ref_idx_active_minus1[list]);
        slice->active[list] = slice->header->num_ref_idx_active_minus1[list] + 1;
        for (unsigned index = 0; index < slice->active[list]; index++) {
            const struct h264_frame *reference = slice->request->references[list][index];
            if (!accept_reference(coder, reference, list, index))
                return false;
            slice->pictures[list][index] = reference->motion->picture;
        }
    }
    return true;
}

static bool within_byte(int32_t value)
{
    return value >= -128 && value <= 127;
}

/* 7.4.3.2, where weights are explicit. */
static bool accept_weights(struct h264_coder *coder, const struct slice *slice)
{
    const struct h264_slice_header *header = slice->header;
    if (!slice->explicit_weights)
        return true;
    if (header->luma_log2_weight_denom > 7 || header->chroma_log2_weight_denom > 7)
        return fail(coder, "weight denominators %u and %u are not within 0 to 7", header->luma_log2_weight_denom,
                    header->chroma_log2_weight_denom);
    for (unsigned list = 0; list < 2; list++)
        for (unsigned index = 0; index < slice->active[list]; index++) {
            const struct h264_weight *weight = &header->weight[list][index];
            if (!within_byte(weight->luma_weight) || !within_byte(weight->luma_offset) ||
                !within_byte(weight->chroma_weight[0]) || !within_byte(weight->chroma_offset[0]) ||
                !within_byte(weight->chroma_weight[1]) || !within_byte(weight->chroma_offset[1]))
                return fail(coder, "weights of reference %u of list %u are not within -128 to 127", index, list);
        }
    return true;
}

/* Remembers for the end of the picture how the slice is deblocked, and gives it its number. */
static bool number_slice(struct h264_coder *coder, struct slice *slice)
{
    if (coder->slice_count == coder->filter_capacity) {
        uint32_t capacity = coder->filter_capacity * 2 + 8;
        struct slice_filter *filters = realloc(coder->filters, capacity * sizeof *filters);
        if (!filters)
            return fail(coder, "out of memory");
        coder->filters = filters;
        coder->filter_capacity = capacity;
    }
    coder->filters[coder->slice_count++] = (struct slice_filter){
        .disable_deblocking_filter_idc = (uint8_t)slice->header->disable_deblocking_filter_idc,
        .offset_a = (int8_t)(slice->header->slice_alpha_c0_offset_div2 * 2),
        .offset_b = (int8_t)(slice->header->slice_beta_offset_div2 * 2),
    };
    slice->number = coder->slice_count;
    return true;
}

/* 7.3.4: slice_data after the header's bits. */
static void code_slice_data(struct h264_coder *coder, struct slice *slice)
{
    const struct h264_slice_request *request = slice->request;
    bool cabac = coder->pps.entropy_coding_mode_flag;
    uint32_t end = coder->next + request->macroblock_count;
    bits_append(&slice->bits, request->nal.bytes, 0, request->nal.count);
    if (cabac)
        cabac_begin_slice(slice, slice->qp_predicted);
    for (; coder->next < end; coder->next++) {
        coder_code_macroblock(coder, slice, coder->next);
        if (cabac)
            cabac_write_end_of_slice_flag(slice, coder->next + 1 == end);
    }
    if (!cabac)
        cavlc_end_slice(slice);
}

bool h264_coder_slice(struct h264_coder *coder, const struct h264_slice_request *request, struct bits *out)
{
    coder->failure[0] = 0;
    if (!accept_coverage(coder, request) || !accept_header(coder, request))
        return false;
    struct slice slice = {
        .request = request,
        .header = request->header,
        .type = (enum h264_slice_type)(request->header->slice_type % 5),
        .qp_predicted = (int)slice_qp_of(coder, request->header),
    };
    if (!accept_references(coder, &slice))
        return false;
    predict_prepare_weights(coder, &slice);
    if (!accept_weights(coder, &slice) || !number_slice(coder, &slice))
        return false;
    code_slice_data(coder, &slice);
    if (!slice.bits.failed)
        bits_frame_nal_unit(out, &slice.bits);
    bool complete = !slice.bits.failed && !out->failed;
    bits_release(&slice.bits);
    return complete || fail(coder, "out of memory");
}

bool h264_coder_end(struct h264_coder *coder)
{
    coder->failure[0] = 0;
    if (!coder->begun)
        return fail(coder, "the end of a picture that was not begun");
    coder->begun = false;
    if (coder->next != coder->macroblock_count)
        return fail(coder, "no slice has the macroblocks from %u on", coder->next);
    deblock_picture(coder);
    return true;
}
