/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether what a client submits for one HEVC picture is consistent in itself and with the standard. */
#include "rebuild_hevc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PICTURE "va_dec_hevc.h VAPictureParameterBufferHEVC"
#define CLAUSE(field) PICTURE "." field
#define SLICE "va_dec_hevc.h VASliceParameterBufferHEVC"
#define SLICE_CLAUSE(field) SLICE "." field

/* A picture while it is judged. */
struct judged {
    struct rebuild_picture *picture;
    const struct rebuild_scene *scene;
    const VAPictureParameterBufferHEVC *parameters;
    struct hevc_rebuilt_sets sets, read; /* as they are to be written, and scratch to read them back */
    struct hevc_rebuilt_set set;
    struct hevc_slice_header header, read_header; /* likewise */
    VASliceParameterBufferHEVC slice, independent; /* the current one; the latest that is not dependent */
    uint32_t number;                               /* of the current slice */
    uint32_t address;                              /* of the slice before, in tile scan */
    bool decodable;
};

/* A finding for the picture, or for the slice that is judged. */
#define note(judged, ...) rebuild_finding((judged)->picture, (judged)->number, __VA_ARGS__)

/* One that keeps the picture from being decoded. */
__attribute__((format(printf, 4, 5)))
static void fail(struct judged *judged, const char *name, const char *clause, const char *format, ...)
{
    char detail[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    rebuild_finding(judged->picture, judged->number, name, clause, "%s", detail);
    judged->decodable = false;
}

static void judge_target(struct judged *judged)
{
    const VAPictureParameterBufferHEVC *parameters = judged->parameters;
    const struct rebuild_picture *picture = judged->picture;
    const struct submitted_surface *target = &picture->target.surface;
    uint32_t width = parameters->pic_width_in_luma_samples, height = parameters->pic_height_in_luma_samples;
    uint32_t format = parameters->bit_depth_luma_minus8 ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420;
    if (!hevc_frame_is_used(&parameters->CurrPic) || parameters->CurrPic.picture_id != target->id)
        note(judged, "picture-not-target", CLAUSE("CurrPic"), "0x%08x, but vaBeginPicture named 0x%08x",
              parameters->CurrPic.picture_id, target->id);
    if (!target->in_context)
        note(judged, "target-outside-context", "va.h vaCreateContext render_targets",
              "surface 0x%08x is not among the context's", target->id);
    if (width > picture->context_width || height > picture->context_height)
        note(judged, "picture-size-beyond-context", CLAUSE("pic_width_in_luma_samples"),
              "%u x %u, the context is %u x %u", width, height, picture->context_width, picture->context_height);
    if (width > target->width || height > target->height)
        fail(judged, "picture-size-beyond-target", CLAUSE("pic_width_in_luma_samples"),
             "%u x %u, the target is %u x %u", width, height, target->width, target->height);
    if (target->rt_format != format)
        fail(judged, "target-format", CLAUSE("bit_depth_luma_minus8"),
             "%u bits, the target's render target format is 0x%x", parameters->bit_depth_luma_minus8 + 8u,
             target->rt_format);
}

static void judge_profile(struct judged *judged)
{
    const VAPictureParameterBufferHEVC *parameters = judged->parameters;
    uint32_t most = judged->picture->profile == VAProfileHEVCMain ? 0 : 2;
    if (parameters->pic_fields.bits.chroma_format_idc != 1 || parameters->pic_fields.bits.separate_colour_plane_flag)
        fail(judged, "profile-chroma-format", "H.265 A.3.2", "chroma_format_idc is %u, separate_colour_plane_flag %u",
             parameters->pic_fields.bits.chroma_format_idc, parameters->pic_fields.bits.separate_colour_plane_flag);
    if (parameters->bit_depth_luma_minus8 > most || parameters->bit_depth_chroma_minus8 > most)
        fail(judged, "profile-bit-depth", "H.265 A.3.3", "%u and %u bits, the profile allows %u",
             parameters->bit_depth_luma_minus8 + 8u, parameters->bit_depth_chroma_minus8 + 8u, most + 8);
    else if (parameters->bit_depth_luma_minus8 != parameters->bit_depth_chroma_minus8 ||
             parameters->bit_depth_luma_minus8 == 1)
        fail(judged, "bit-depth-unsupported", CLAUSE("bit_depth_chroma_minus8"), "%u and %u bits",
             parameters->bit_depth_luma_minus8 + 8u, parameters->bit_depth_chroma_minus8 + 8u);
}

/* Values that cannot even be written. */
static void judge_ranges(struct judged *judged)
{
    const VAPictureParameterBufferHEVC *parameters = judged->parameters;
    const uint32_t least = parameters->log2_min_luma_coding_block_size_minus3;
    if (least > 3 || parameters->log2_diff_max_min_luma_coding_block_size > 3 - least ||
        parameters->log2_min_transform_block_size_minus2 > least)
        fail(judged, "block-size", "H.265 7.4.3.2.1", "log2: coding blocks from %u to %u more, transforms from %u",
             least + 3, parameters->log2_diff_max_min_luma_coding_block_size,
             parameters->log2_min_transform_block_size_minus2 + 2u);
    if (parameters->pic_fields.bits.pcm_enabled_flag &&
        (parameters->pcm_sample_bit_depth_luma_minus1 > parameters->bit_depth_luma_minus8 + 7 ||
         parameters->pcm_sample_bit_depth_chroma_minus1 > parameters->bit_depth_chroma_minus8 + 7))
        fail(judged, "pcm-bit-depth", CLAUSE("pcm_sample_bit_depth_luma_minus1"), "%u and %u of %u bits",
             parameters->pcm_sample_bit_depth_luma_minus1 + 1u, parameters->pcm_sample_bit_depth_chroma_minus1 + 1u,
             parameters->bit_depth_luma_minus8 + 8u);
}

/* Whether the parameter sets can be read as they were written. */
static void judge_sets(struct judged *judged)
{
    struct bits bits = {.bytes = NULL};
    struct syntax_error error = {.bit = 0};
    struct hevc_rebuilt_sets *read = &judged->read;
    hevc_write_sps(&bits, &judged->sets.sps);
    if (!bits.failed && !hevc_read_sps(&read->sps, bits.bytes, bits.count, NULL, NULL, &error))
        fail(judged, "picture-parameters-invalid", PICTURE, "%s: %s", error.element, error.reason);
    bits.count = 0;
    hevc_write_pps(&bits, &judged->sets.pps);
    if (!bits.failed && !hevc_read_pps(&read->pps, bits.bytes, bits.count, NULL, NULL, &error))
        fail(judged, "picture-parameters-invalid", PICTURE, "%s: %s", error.element, error.reason);
    if (bits.failed)
        judged->decodable = false;
    bits_release(&bits);
}

/* Values whose ranges depend on both parameter sets. */
static void judge_blocks(struct judged *judged)
{
    const struct hevc_sps *sps = &judged->sets.sps;
    const struct hevc_pps *pps = &judged->sets.pps;
    uint32_t ctb = hevc_ctb_log2(sps);
    int32_t least_qp = -26 - 6 * (int32_t)sps->bit_depth_luma_minus8;
    if (ctb < 4)
        fail(judged, "block-size", "H.265 A.3.2", "coding tree blocks have %u samples, at least 16 are needed",
             1u << ctb);
    if (pps->diff_cu_qp_delta_depth > sps->log2_diff_max_min_luma_coding_block_size)
        fail(judged, "qp-delta-depth", CLAUSE("diff_cu_qp_delta_depth"), "%u, at most %u", pps->diff_cu_qp_delta_depth,
             sps->log2_diff_max_min_luma_coding_block_size);
    if (pps->log2_parallel_merge_level_minus2 + 2 > ctb)
        fail(judged, "parallel-merge-level", CLAUSE("log2_parallel_merge_level_minus2"), "%u, at most %u",
             pps->log2_parallel_merge_level_minus2, ctb - 2);
    if (pps->init_qp_minus26 < least_qp)
        fail(judged, "initial-qp", CLAUSE("init_qp_minus26"), "%d, at least %d", pps->init_qp_minus26, least_qp);
    uint32_t least_pcm = sps->log2_min_pcm_luma_coding_block_size_minus3 + 3;
    uint32_t most_pcm = least_pcm + sps->log2_diff_max_min_pcm_luma_coding_block_size;
    if (sps->pcm_enabled_flag && (least_pcm < hevc_min_cb_log2(sps) || most_pcm > ctb || most_pcm > 5))
        fail(judged, "pcm-block-size", CLAUSE("log2_min_pcm_luma_coding_block_size_minus3"), "%u to %u",
             1u << least_pcm, 1u << most_pcm);
}

/* Tiles but the last must leave room for it. */
static bool tiles_fit(const uint32_t *sizes_minus1, uint32_t last, uint32_t length)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < last; i++)
        sum += sizes_minus1[i] + 1;
    return sum < length;
}

static void judge_tiles(struct judged *judged)
{
    const struct hevc_pps *pps = &judged->sets.pps;
    uint32_t width = hevc_width_in_ctbs(&judged->sets.sps), height = hevc_height_in_ctbs(&judged->sets.sps);
    if (!pps->tiles_enabled_flag)
        return;
    if (pps->entropy_coding_sync_enabled_flag)
        fail(judged, "profile-tiles-and-wavefronts", "H.265 A.3.2",
             "tiles_enabled_flag and entropy_coding_sync_enabled_flag are both 1");
    if (pps->num_tile_columns_minus1 == 0 && pps->num_tile_rows_minus1 == 0)
        fail(judged, "tiles-count", CLAUSE("num_tile_columns_minus1"), "tiles are enabled, but there is one");
    if (!tiles_fit(pps->column_width_minus1, pps->num_tile_columns_minus1, width))
        fail(judged, "tiles-outside", CLAUSE("column_width_minus1"), "the columns are wider than %u blocks", width);
    if (!tiles_fit(pps->row_height_minus1, pps->num_tile_rows_minus1, height))
        fail(judged, "tiles-outside", CLAUSE("row_height_minus1"), "the rows are higher than %u blocks", height);
}

static bool has_zero(const void *bytes, size_t size)
{
    return memchr(bytes, 0, size) != NULL;
}

static void judge_matrix(struct judged *judged)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < judged->picture->buffer_count; i++)
        count += judged->picture->buffers[i].type == VAIQMatrixBufferType;
    if (!judged->parameters->pic_fields.bits.scaling_list_enabled_flag) {
        if (count)
            note(judged, "iq-matrix-unused", "va_dec_hevc.h VAIQMatrixBufferHEVC",
                  "scaling_list_enabled_flag is 0, and no matrices are expected");
        return;
    }
    const VAIQMatrixBufferHEVC *matrix =
        rebuild_find_buffer(judged->picture, VAIQMatrixBufferType, sizeof(*matrix), "the IQ matrix");
    judged->decodable = judged->decodable && matrix;
    if (matrix && has_zero(matrix, offsetof(VAIQMatrixBufferHEVC, va_reserved)))
        fail(judged, "scaling-list-zero", "H.265 7.4.5", "an entry of ScalingList is 0");
}

static void judge_kind(struct judged *judged)
{
    const VAPictureParameterBufferHEVC *parameters = judged->parameters;
    bool idr = parameters->slice_parsing_fields.bits.IdrPicFlag, rap = parameters->slice_parsing_fields.bits.RapPicFlag;
    if (idr && !rap)
        note(judged, "idr-not-rap", CLAUSE("slice_parsing_fields"), "IdrPicFlag is 1, RapPicFlag is 0");
    if (idr && parameters->CurrPic.pic_order_cnt != 0)
        note(judged, "idr-order-count", "H.265 8.3.1", "an IDR picture has the order count %d",
              parameters->CurrPic.pic_order_cnt);
}

/* 8.3.2: whether the entry's flags are consistent. */
static void judge_flags(struct judged *judged, unsigned i)
{
    const VAPictureHEVC *frame = &judged->parameters->ReferenceFrames[i];
    bool before = frame->flags & VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE;
    bool after = frame->flags & VA_PICTURE_HEVC_RPS_ST_CURR_AFTER;
    bool long_term = frame->flags & VA_PICTURE_HEVC_RPS_LT_CURR;
    bool marked = frame->flags & VA_PICTURE_HEVC_LONG_TERM_REFERENCE;
    int32_t order_count = judged->parameters->CurrPic.pic_order_cnt;
    if (before + after + long_term > 1)
        note(judged, "reference-subsets", CLAUSE("ReferenceFrames"),
              "entry %u is in more than one subset, its flags are 0x%x", i, frame->flags);
    if ((long_term && !marked) || (marked && (before || after)))
        note(judged, "reference-long-term", CLAUSE("ReferenceFrames"),
              "flags 0x%x of entry %u contradict each other", frame->flags, i);
    if ((before && frame->pic_order_cnt >= order_count) || (after && frame->pic_order_cnt <= order_count))
        note(judged, "reference-side", "H.265 8.3.2", "entry %u, order count %d, is listed as %s %d", i,
              frame->pic_order_cnt, before ? "before" : "after", order_count);
}

/* Looks the entry up; true when it is usable. */
static bool judge_surface(struct judged *judged, unsigned i, bool current)
{
    const VAPictureParameterBufferHEVC *parameters = judged->parameters;
    const VAPictureHEVC *frame = &parameters->ReferenceFrames[i];
    struct rebuild_surface *reference = &judged->picture->references[i];
    *reference = judged->scene->surface(judged->scene->token, frame->picture_id);
    if (!reference->surface.valid) {
        fail(judged, "reference-invalid", CLAUSE("ReferenceFrames"), "entry %u: 0x%08x is no surface", i,
             frame->picture_id);
        return false;
    }
    if (frame->picture_id == judged->picture->target.surface.id) {
        fail(judged, "reference-is-current-picture", CLAUSE("ReferenceFrames"), "entry %u is the target 0x%08x", i,
             frame->picture_id);
        return false;
    }
    if (current && reference->number == 0)
        note(judged, "reference-without-picture", CLAUSE("ReferenceFrames"),
              "entry %u, order count %d: %s surface 0x%08x", i, frame->pic_order_cnt,
              reference->filled ? "no picture of this context is in" : "nothing was decoded into", frame->picture_id);
    for (unsigned k = 0; k < i; k++)
        if (hevc_frame_is_used(&parameters->ReferenceFrames[k]) &&
            (parameters->ReferenceFrames[k].picture_id == frame->picture_id ||
             parameters->ReferenceFrames[k].pic_order_cnt == frame->pic_order_cnt))
            fail(judged, "reference-frames-repeated", CLAUSE("ReferenceFrames"),
                 "entries %u and %u have the same surface or order count", k, i);
    return true;
}

static void judge_references(struct judged *judged)
{
    const VAPictureParameterBufferHEVC *parameters = judged->parameters;
    bool current[HEVC_FRAMES];
    uint32_t count = 0;
    hevc_find_current(judged->picture, parameters, current);
    judged->set.order_count = parameters->CurrPic.pic_order_cnt;
    for (unsigned i = 0; i < HEVC_FRAMES; i++) {
        const VAPictureHEVC *frame = &parameters->ReferenceFrames[i];
        if (!hevc_frame_is_used(frame) || !judge_surface(judged, i, current[i]))
            continue;
        count++;
        judge_flags(judged, i);
        if (frame->pic_order_cnt == parameters->CurrPic.pic_order_cnt)
            fail(judged, "reference-order-count", CLAUSE("ReferenceFrames"),
                 "entry %u has the current picture's order count %d", i, frame->pic_order_cnt);
        judged->set.references[i] = (struct hevc_rebuilt_reference){
            .kept = true, .current = current[i], .order_count = frame->pic_order_cnt,
            .long_term = frame->flags & (VA_PICTURE_HEVC_LONG_TERM_REFERENCE | VA_PICTURE_HEVC_RPS_LT_CURR)};
        if (frame->flags & HEVC_SUBSETS && parameters->slice_parsing_fields.bits.IdrPicFlag)
            note(judged, "idr-references", "H.265 8.3.2", "an IDR picture refers to entry %u", i);
    }
    if (count > parameters->sps_max_dec_pic_buffering_minus1)
        note(judged, "reference-frames-many", CLAUSE("sps_max_dec_pic_buffering_minus1"), "%u, but %u are listed",
              parameters->sps_max_dec_pic_buffering_minus1, count);
    hevc_order_set(&judged->set);
}

static void judge_list(struct judged *judged, unsigned list)
{
    static const char *const names[2] = {"reference-list-0-entry", "reference-list-1-entry"};
    const VASliceParameterBufferHEVC *slice = &judged->slice;
    uint32_t length = hevc_list_length(slice, list);
    for (uint32_t i = 0; i < HEVC_FRAMES; i++) {
        uint8_t entry = slice->RefPicList[list][i];
        const VAPictureHEVC *frame = &judged->parameters->ReferenceFrames[entry < HEVC_FRAMES ? entry : 0];
        if (i >= length) {
            if (entry != 0xff)
                note(judged, names[list], SLICE_CLAUSE("RefPicList"),
                               "entry %u is %u, the list has %u entries", i, entry, length);
        } else if (entry >= HEVC_FRAMES || !hevc_frame_is_used(frame)) {
            fail(judged, names[list], SLICE_CLAUSE("RefPicList"), "entry %u is %u, which is no reference", i, entry);
        } else if (!(frame->flags & HEVC_SUBSETS)) {
            note(judged, names[list], SLICE_CLAUSE("RefPicList"),
                           "entry %u is %u, which is in no subset that the picture may refer to", i, entry);
        }
    }
}

/* What the picture parameters exclude. */
static void judge_flags_of_slice(struct judged *judged)
{
    const VAPictureParameterBufferHEVC *parameters = judged->parameters;
    const VASliceParameterBufferHEVC *slice = &judged->slice;
    const bool predicts = slice->LongSliceFlags.fields.slice_type != HEVC_SLICE_I;
    const struct {
        bool used, allowed;
        const char *what;
    } features[] = {
        {slice->LongSliceFlags.fields.dependent_slice_segment_flag,
         parameters->slice_parsing_fields.bits.dependent_slice_segments_enabled_flag, "dependent_slice_segment_flag"},
        {slice->LongSliceFlags.fields.slice_sao_luma_flag || slice->LongSliceFlags.fields.slice_sao_chroma_flag,
         parameters->slice_parsing_fields.bits.sample_adaptive_offset_enabled_flag, "slice_sao_luma_flag"},
        {predicts && slice->LongSliceFlags.fields.cabac_init_flag,
         parameters->slice_parsing_fields.bits.cabac_init_present_flag, "cabac_init_flag"},
        {predicts && slice->LongSliceFlags.fields.slice_temporal_mvp_enabled_flag, /* of no use to I slices */
         parameters->slice_parsing_fields.bits.sps_temporal_mvp_enabled_flag &&
             !parameters->slice_parsing_fields.bits.IdrPicFlag, "slice_temporal_mvp_enabled_flag"},
        {slice->LongSliceFlags.fields.slice_loop_filter_across_slices_enabled_flag,
         parameters->pic_fields.bits.pps_loop_filter_across_slices_enabled_flag,
         "slice_loop_filter_across_slices_enabled_flag"},
        {slice->slice_cb_qp_offset || slice->slice_cr_qp_offset,
         parameters->slice_parsing_fields.bits.pps_slice_chroma_qp_offsets_present_flag, "slice_cb_qp_offset"},
        {slice->LongSliceFlags.fields.color_plane_id, false, "color_plane_id"},
    };
    for (unsigned i = 0; i < sizeof(features) / sizeof(features[0]); i++)
        if (features[i].used && !features[i].allowed)
            note(judged, "slice-flag-not-enabled", SLICE_CLAUSE("LongSliceFlags"),
                           "%s is set, and the picture parameters exclude it", features[i].what);
    bool differs = slice->LongSliceFlags.fields.slice_deblocking_filter_disabled_flag !=
                   parameters->slice_parsing_fields.bits.pps_disable_deblocking_filter_flag;
    if (!slice->LongSliceFlags.fields.slice_deblocking_filter_disabled_flag && !differs)
        differs = slice->slice_beta_offset_div2 != parameters->pps_beta_offset_div2 ||
                  slice->slice_tc_offset_div2 != parameters->pps_tc_offset_div2;
    if (differs && !parameters->slice_parsing_fields.bits.deblocking_filter_override_enabled_flag)
        note(judged, "slice-deblocking", SLICE_CLAUSE("slice_beta_offset_div2"),
                       "deblocking differs from the picture's, which may not be overridden");
}

static void judge_place(struct judged *judged)
{
    const VASliceParameterBufferHEVC *slice = &judged->slice;
    uint32_t count = hevc_width_in_ctbs(&judged->sets.sps) * hevc_height_in_ctbs(&judged->sets.sps);
    if (slice->slice_segment_address >= count) {
        fail(judged, "slice-address", SLICE_CLAUSE("slice_segment_address"), "%u of %u blocks",
             slice->slice_segment_address, count);
        return;
    }
    uint32_t address = hevc_tile_scan_address(&judged->sets, slice->slice_segment_address);
    if (judged->number == 0 ? address != 0 : address <= judged->address)
        fail(judged, "slice-address", SLICE_CLAUSE("slice_segment_address"), "%u comes out of order",
             slice->slice_segment_address);
    if (judged->number == 0 && slice->LongSliceFlags.fields.dependent_slice_segment_flag)
        fail(judged, "slice-dependent", SLICE_CLAUSE("LongSliceFlags"), "the first slice segment is dependent");
    judged->address = address;
}

/* A dependent slice segment has the values of the one that it depends on. */
static void judge_dependent(struct judged *judged)
{
    VASliceParameterBufferHEVC own = judged->slice;
    const VASliceParameterBufferHEVC *other = &judged->independent;
    if (!own.LongSliceFlags.fields.dependent_slice_segment_flag) {
        judged->independent = own;
        return;
    }
    own.slice_data_size = other->slice_data_size;
    own.slice_data_offset = other->slice_data_offset;
    own.slice_data_byte_offset = other->slice_data_byte_offset;
    own.slice_segment_address = other->slice_segment_address;
    own.LongSliceFlags.fields.LastSliceOfPic = other->LongSliceFlags.fields.LastSliceOfPic;
    own.LongSliceFlags.fields.dependent_slice_segment_flag = 0;
    own.num_entry_point_offsets = other->num_entry_point_offsets;
    own.entry_offset_to_subset_array = other->entry_offset_to_subset_array;
    own.slice_data_num_emu_prevn_bytes = other->slice_data_num_emu_prevn_bytes;
    if (memcmp(&own, other, sizeof(own)) != 0)
        note(judged, "slice-dependent", "H.265 7.4.7.1",
                       "a dependent slice segment differs from the one that it depends on");
}

static void judge_prediction(struct judged *judged)
{
    const VASliceParameterBufferHEVC *slice = &judged->slice;
    uint32_t type = slice->LongSliceFlags.fields.slice_type;
    if (type > HEVC_SLICE_I) {
        fail(judged, "slice-type", SLICE_CLAUSE("LongSliceFlags"), "slice_type is %u", type);
        return;
    }
    if (type != HEVC_SLICE_I && judged->parameters->slice_parsing_fields.bits.IntraPicFlag)
        note(judged, "slice-type", CLAUSE("slice_parsing_fields"),
                       "slice_type is %u, but IntraPicFlag is set", type);
    if (type == HEVC_SLICE_B && judged->parameters->pic_fields.bits.NoBiPredFlag)
        note(judged, "slice-type", CLAUSE("pic_fields"), "a B slice, but NoBiPredFlag is set");
    if (type != HEVC_SLICE_I && (slice->num_ref_idx_l0_active_minus1 >= HEVC_FRAMES ||
                                 (type == HEVC_SLICE_B && slice->num_ref_idx_l1_active_minus1 >= HEVC_FRAMES)))
        fail(judged, "reference-list-length", SLICE_CLAUSE("num_ref_idx_l0_active_minus1"), "%u and %u",
             slice->num_ref_idx_l0_active_minus1, slice->num_ref_idx_l1_active_minus1);
    judge_list(judged, 0);
    judge_list(judged, 1);
    if (type != HEVC_SLICE_I && !slice->LongSliceFlags.fields.slice_temporal_mvp_enabled_flag &&
        slice->collocated_ref_idx != 0xff)
        note(judged, "collocated-unused", SLICE_CLAUSE("collocated_ref_idx"),
                       "%u without slice_temporal_mvp_enabled_flag, expected 255", slice->collocated_ref_idx);
}

/* Whether a header can state the values. */
static void judge_header(struct judged *judged)
{
    uint32_t type = judged->parameters->slice_parsing_fields.bits.IdrPicFlag   ? HEVC_NAL_IDR_W_RADL
                    : judged->parameters->slice_parsing_fields.bits.RapPicFlag ? HEVC_NAL_CRA
                                                                               : HEVC_NAL_TRAIL_R;
    const char *problem = NULL;
    if (!hevc_rebuild_header(&judged->header, &judged->sets, &judged->set, type, &judged->slice, &problem)) {
        fail(judged, "slice-parameters-invalid", SLICE, "%s", problem);
        return;
    }
    struct bits bits = {.bytes = NULL};
    struct syntax_error error = {.bit = 0};
    hevc_write_slice_header(&bits, &judged->header, &judged->sets.sps, &judged->sets.pps);
    if (bits.failed)
        judged->decodable = false;
    else if (!hevc_read_slice_header(&judged->read_header, &judged->sets.sps, &judged->sets.pps, &judged->header,
                                     bits.bytes, bits.count, NULL, NULL, &error))
        fail(judged, "slice-parameters-invalid", SLICE, "%s: %s", error.element, error.reason);
    bits_release(&bits);
}

static void judge_slice(struct judged *judged, size_t size)
{
    if (judged->slice.slice_data_byte_offset < 3 || judged->slice.slice_data_byte_offset >= size)
        fail(judged, "slice-data-byte-offset", SLICE_CLAUSE("slice_data_byte_offset"),
             "%u of %zu bytes, the NAL unit header and at least one byte counted", judged->slice.slice_data_byte_offset,
             size);
    judge_place(judged);
    judge_dependent(judged);
    judge_flags_of_slice(judged);
    judge_prediction(judged);
    if (judged->decodable)
        judge_header(judged);
}

static void judge_last(struct judged *judged, bool last)
{
    if (judged->slice.LongSliceFlags.fields.LastSliceOfPic != last)
        note(judged, "slice-last", SLICE_CLAUSE("LongSliceFlags"), "LastSliceOfPic is %u, expected %d",
                       judged->slice.LongSliceFlags.fields.LastSliceOfPic, last);
}

static void judge_slices(struct judged *judged)
{
    struct rebuild_cursor cursor = {0};
    struct rebuild_slice found;
    size_t size = 0;
    while (rebuild_next_slice(judged->picture, sizeof(judged->slice), &cursor, &found)) {
        if (cursor.count > 1)
            judge_last(judged, false);
        judged->number = cursor.count - 1;
        memcpy(&judged->slice, found.parameters, sizeof(judged->slice));
        size = found.size;
        judge_slice(judged, size);
    }
    if (cursor.count && !cursor.broken)
        judge_last(judged, true);
    judged->number = UINT32_MAX;
}

/* Whether all slices can be found; they are walked over again afterwards. */
static bool has_slices(struct judged *judged)
{
    struct rebuild_cursor cursor = {0};
    struct rebuild_slice found;
    while (rebuild_next_slice(judged->picture, sizeof(judged->slice), &cursor, &found))
        continue;
    if (cursor.count == 0 && !cursor.broken)
        note(judged, "slices-missing", "va.h vaRenderPicture", "there is no slice");
    return cursor.count > 0 && !cursor.broken;
}

VAStatus hevc_judge(struct rebuild_picture *picture, const struct rebuild_scene *scene)
{
    static _Thread_local struct judged storage; /* too large for the stacks of some clients' threads */
    struct judged *judged = &storage;
    *judged = (struct judged){.picture = picture, .scene = scene, .number = UINT32_MAX, .decodable = true};
    for (unsigned i = 0; i < REBUILD_MAXIMUM_REFERENCES; i++)
        picture->references[i].surface.id = VA_INVALID_SURFACE;
    judged->parameters =
        rebuild_find_buffer(picture, VAPictureParameterBufferType, sizeof(*judged->parameters), "the picture");
    if (!judged->parameters || !has_slices(judged))
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    picture->fields = REBUILD_FRAME;
    picture->order_count = judged->parameters->CurrPic.pic_order_cnt;
    hevc_rebuild_sets(&judged->sets, judged->parameters, NULL);
    judge_target(judged);
    judge_profile(judged);
    judge_matrix(judged);
    judge_kind(judged);
    judge_references(judged);
    judge_ranges(judged);
    if (judged->decodable)
        judge_sets(judged);
    if (judged->decodable)
        judge_blocks(judged);
    if (judged->decodable)
        judge_tiles(judged);
    if (judged->decodable)
        judge_slices(judged);
    return judged->decodable ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_PARAMETER;
}
