/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where each component begins, and how far its next sample is, in words. */
struct packing {
    uint8_t first[3], step[3];
};

static void pack(struct hevc_frame *frame, uint8_t *samples, size_t pitch, unsigned depth,
                 const struct packing *packing)
{
    const uint8_t bytes = depth > 8 ? 2 : 1;
    for (unsigned component = 0; component < 3; component++)
        frame->samples[component] = (struct hevc_samples){
            .first = samples + packing->first[component] * bytes, .pitch = pitch, .bytes = bytes,
            .step = (uint8_t)(packing->step[component] * bytes), .shift = depth > 8 ? (uint8_t)(16 - depth) : 0};
}

/* NV12, P010, P012: chroma in pairs below luma. */
static void lay_out_pairs(struct hevc_frame *frame, uint8_t *samples, size_t pitch, size_t height, unsigned depth)
{
    static const struct packing pairs = {.first = {0, 0, 1}, .step = {1, 2, 2}};
    pack(frame, samples, pitch, depth, &pairs);
    for (unsigned component = 1; component < 3; component++)
        frame->samples[component].first += pitch * height;
}

/* YUY2, Y210, Y212: Y, Cb, Y, Cr. AYUV: Cr, Cb, Y, unused. Y412: Cb, Y, Cr, unused. Y410: these in one word. */
static void lay_out_packed(struct hevc_frame *frame, uint8_t *samples, size_t pitch, unsigned chroma, unsigned depth)
{
    static const struct packing yuyv = {.first = {0, 1, 3}, .step = {2, 4, 4}};
    static const struct packing vuya = {.first = {2, 1, 0}, .step = {4, 4, 4}};
    static const struct packing uyva = {.first = {1, 0, 2}, .step = {4, 4, 4}};
    static const uint8_t shifts[3] = {10, 0, 20};
    pack(frame, samples, pitch, depth, chroma == 2 ? &yuyv : depth == 8 ? &vuya : &uyva);
    for (unsigned component = 0; component < 3 && chroma == 3 && depth == 10; component++)
        frame->samples[component] = (struct hevc_samples){
            .first = samples, .pitch = pitch, .step = 4, .bytes = 4, .shift = shifts[component]};
}

uint8_t *exercise_allocate_frame(const struct hevc_sps *sps, struct hevc_frame *frame, uint8_t value,
                                 size_t extra_pitch)
{
    unsigned depth = 8 + sps->bit_depth_luma_minus8;
    size_t bytes = depth > 8 ? 2 : 1, height = sps->pic_height_in_luma_samples;
    size_t words = sps->chroma_format_idc == 1 ? 1 : sps->chroma_format_idc == 2 ? 2 : 4;
    size_t pitch = (sps->pic_width_in_luma_samples + extra_pitch) * words * bytes;
    size_t size = pitch * (sps->chroma_format_idc == 1 ? height + height / 2 : height);
    memset(frame, 0, sizeof *frame);
    uint8_t *samples = malloc(size);
    if (!samples)
        abort();
    memset(samples, value, size);
    if (sps->chroma_format_idc == 1)
        lay_out_pairs(frame, samples, pitch, height, depth);
    else
        lay_out_packed(frame, samples, pitch, sps->chroma_format_idc, depth);
    return samples;
}

/* The highest QP that units are given. Plain streams of 12 bits keep even chroma, with offsets of up to 10, below 50. */
static int most_qp(const struct exercise *exercise)
{
    return exercise->plain && exercise->sps.bit_depth_luma_minus8 == 4 ? 49 - 10 : 51;
}

static int within_range(const struct exercise *exercise, int qp)
{
    int least = -6 * (int)exercise->sps.bit_depth_luma_minus8;
    return qp < least ? least : qp > most_qp(exercise) ? most_qp(exercise) : qp;
}

void exercise_begin(struct exercise *exercise, enum exercise_kind kind, uint64_t seed, struct exercise_format format,
                    unsigned pictures)
{
    memset(exercise, 0, sizeof *exercise);
    exercise->neutral = kind == EXERCISE_NEUTRAL;
    exercise->plain = kind == EXERCISE_PLAIN || exercise->neutral;
    exercise->skip = kind == EXERCISE_SKIP;
    struct random *random = &exercise->random;
    random->state = seed;
    exercise->b_pictures = random_chance(random, 50) ? 1 + random_below(random, 7) : 0;
    exercise->pyramid = random_chance(random, 60);
    exercise->low_delay = random_chance(random, 50);
    exercise->most_references = 2 + random_below(random, 4) + (exercise->pyramid ? 3 : 0);
    exercise->qp = random_between(random, format.depth >= 10 ? -6 : 4, 46);
    /* Slices of least effort are to repeat: the coder keeps their data. */
    exercise->qp_spread = random_chance(random, 50) && !exercise->skip ? random_below(random, 8) : 0;
    exercise->wish_percent = random_chance(random, 60) ? random_below(random, 101) : 0;
    exercise->order_step = random_between(random, 1, 3);
    exercise->picture_limit = pictures;
    if (format.depth == 0)
        format.depth = 8 + 2 * random_below(random, format.chroma == 1 ? 2 : 3);
    exercise_draw_parameter_sets(exercise, format);
    exercise->pictures = calloc(pictures + 1, sizeof *exercise->pictures);
    exercise->outputs = calloc(pictures + 1, sizeof *exercise->outputs);
    exercise->coder = hevc_coder_create();
    if (!exercise->pictures || !exercise->outputs || !exercise->coder)
        abort();
}

void exercise_end(struct exercise *exercise)
{
    for (unsigned index = 0; index < exercise->picture_count; index++) {
        hevc_frame_release(&exercise->pictures[index].frame);
        free(exercise->pictures[index].samples);
    }
    free(exercise->pictures);
    free(exercise->outputs);
    hevc_coder_destroy(exercise->coder);
    bits_release(&exercise->stream);
}

static void append_parameter_sets(struct exercise *exercise)
{
    struct bits nal[3] = {{0}, {0}, {0}};
    hevc_write_vps(&nal[0], &exercise->vps);
    hevc_write_sps(&nal[1], &exercise->sps);
    hevc_write_pps(&nal[2], &exercise->pps);
    for (unsigned index = 0; index < 3; index++) {
        bits_trail(&nal[index]);
        bits_frame_nal_unit(&exercise->stream, &nal[index]);
        bits_release(&nal[index]);
    }
}

/* One picture on its way. */
struct work {
    struct exercise *exercise;
    struct picture *picture;
    struct hevc_frame source;
    struct wish *wishes; /* or NULL */
    unsigned wish_log2_size;
    enum hevc_slice_type type; /* most that slices may be */
    int32_t order_count;
    struct hevc_slice_header header; /* what all slices share */
    struct hevc_reference_set set;
    uint32_t collocated; /* index in list 0 of the co-located picture */
    uint32_t next;       /* coding tree block */
};

static bool complain(const char *what, const char *reason)
{
    fprintf(stderr, "%s: %s\n", what, reason);
    return false;
}

/* Notes pictures that are put out; they come in order. */
static bool take_outputs(struct exercise *exercise, struct hevc_outputs *outputs)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        unsigned index = outputs->pictures[i].surface;
        if (exercise->output_count > 0) {
            const struct picture *last = &exercise->pictures[exercise->outputs[exercise->output_count - 1]];
            const struct picture *now = &exercise->pictures[index];
            if (now->sequence < last->sequence ||
                (now->sequence == last->sequence &&
                 now->frame.picture_order_count <= last->frame.picture_order_count))
                return complain("output", "pictures leave the DPB in a wrong order");
        }
        exercise->outputs[exercise->output_count++] = index;
    }
    outputs->count = 0;
    return true;
}

/* Lists of a slice: lengths, and modifications now and then. */
static void draw_lists(struct work *work, struct hevc_slice_header *header)
{
    struct exercise *exercise = work->exercise;
    struct random *random = &exercise->random;
    const struct hevc_pps *pps = &exercise->pps;
    uint32_t defaults[2] = {pps->num_ref_idx_l0_default_active_minus1, pps->num_ref_idx_l1_default_active_minus1};
    uint32_t total = hevc_total_references(&exercise->sps, header);
    header->num_ref_idx_active_override_flag = random_chance(random, 50);
    for (unsigned list = 0; list < 2; list++) {
        header->num_ref_idx_active_minus1[list] = defaults[list];
        if (header->num_ref_idx_active_override_flag)
            header->num_ref_idx_active_minus1[list] = random_below(random, total + 1);
        header->ref_pic_list_modification_flag[list] = 0;
        if (!pps->lists_modification_present_flag || total < 2 || random_chance(random, 50))
            continue;
        header->ref_pic_list_modification_flag[list] = 1;
        for (unsigned i = 0; i <= header->num_ref_idx_active_minus1[list]; i++)
            header->list_entry[list][i] = random_below(random, total);
    }
}

/* What slices of a picture may differ in. */
static void draw_slice(struct work *work, struct hevc_slice_header *header)
{
    struct exercise *exercise = work->exercise;
    struct random *random = &exercise->random;
    const struct hevc_pps *pps = &exercise->pps;
    int qp = exercise->qp + random_between(random, -exercise->qp_spread, exercise->qp_spread);
    header->slice_type = work->type;
    if (random_chance(random, 10))
        header->slice_type = HEVC_SLICE_I;
    else if (work->type == HEVC_SLICE_B && random_chance(random, 15))
        header->slice_type = HEVC_SLICE_P;
    header->slice_sao_luma_flag = exercise->sps.sample_adaptive_offset_enabled_flag && random_chance(random, 30);
    header->slice_sao_chroma_flag = exercise->sps.sample_adaptive_offset_enabled_flag && random_chance(random, 30);
    header->mvd_l1_zero_flag = random_below(random, 2);
    header->cabac_init_flag = pps->cabac_init_present_flag && random_chance(random, 50);
    header->five_minus_max_num_merge_cand = random_chance(random, 60) ? 0 : random_below(random, 5);
    header->slice_qp_delta = within_range(exercise, qp) - 26 - pps->init_qp_minus26;
    if (pps->pps_slice_chroma_qp_offsets_present_flag) {
        header->slice_cb_qp_offset = random_between(random, -4, 4);
        header->slice_cr_qp_offset = random_between(random, -4, 4);
    }
    header->slice_deblocking_filter_disabled_flag = pps->pps_deblocking_filter_disabled_flag;
    header->slice_beta_offset_div2 = pps->pps_beta_offset_div2;
    header->slice_tc_offset_div2 = pps->pps_tc_offset_div2;
    header->deblocking_filter_override_flag =
        pps->deblocking_filter_override_enabled_flag && !exercise->plain && random_chance(random, 50);
    if (header->deblocking_filter_override_flag) {
        header->slice_deblocking_filter_disabled_flag = random_chance(random, 30);
        header->slice_beta_offset_div2 = random_between(random, -6, 6);
        header->slice_tc_offset_div2 = random_between(random, -6, 6);
    }
    header->slice_loop_filter_across_slices_enabled_flag = pps->pps_loop_filter_across_slices_enabled_flag;
    if (pps->pps_loop_filter_across_slices_enabled_flag &&
        (header->slice_sao_luma_flag || header->slice_sao_chroma_flag ||
         !header->slice_deblocking_filter_disabled_flag))
        header->slice_loop_filter_across_slices_enabled_flag = random_below(random, 2);
}

/* All slices share one co-located picture: the picture's first list decides. */
static void choose_collocated(struct work *work, struct hevc_slice_header *header)
{
    struct hevc_reference_list lists[2];
    for (unsigned list = 0; list < 2; list++)
        hevc_dpb_list(header, &work->set, list, &lists[list]);
    header->collocated_from_l0_flag = 1;
    header->collocated_ref_idx = work->collocated;
    if (header->slice_type != HEVC_SLICE_B || random_chance(&work->exercise->random, 50))
        return;
    for (uint32_t index = 0; index < lists[1].count; index++)
        if (lists[1].entries[index] == lists[0].entries[work->collocated]) {
            header->collocated_from_l0_flag = 0;
            header->collocated_ref_idx = index;
            return;
        }
}

/* The references of a request, from the DPB: copies of their frames that are gone after the call. */
static bool fill_references(struct work *work, const struct hevc_slice_header *header,
                            struct hevc_slice_request *request,
                            struct hevc_frame copies[2][HEVC_MAXIMUM_REFERENCES])
{
    struct exercise *exercise = work->exercise;
    for (unsigned list = 0; list < 2; list++) {
        struct hevc_reference_list entries;
        if (!hevc_dpb_list(header, &work->set, list, &entries))
            return complain("list", "there is nothing to refer to");
        for (uint32_t index = 0; index < entries.count; index++) {
            if (entries.entries[index] < 0)
                return complain("list", "an entry has no picture");
            const struct hevc_dpb_picture *entry = &exercise->dpb.pictures[entries.entries[index]];
            copies[list][index] = exercise->pictures[entry->surface].frame;
            copies[list][index].long_term = entry->marking == HEVC_LONG_TERM;
            request->references[list][index] = &copies[list][index];
        }
    }
    return true;
}

static bool code_segment(struct work *work, struct hevc_slice_header *header, uint32_t count)
{
    struct exercise *exercise = work->exercise;
    struct hevc_slice_request request = {.header = header, .ctb_count = count, .wishes = work->wishes,
                                         .wish_log2_size = work->wish_log2_size};
    header->first_slice_segment_in_pic_flag = work->next == 0;
    header->slice_segment_address = work->next;
    request.qp = 26 + exercise->pps.init_qp_minus26 + header->slice_qp_delta;
    request.least_qp = -6 * (int)exercise->sps.bit_depth_luma_minus8;
    request.most_qp = most_qp(exercise);
    if (exercise->pps.cu_qp_delta_enabled_flag && random_chance(&exercise->random, 40))
        request.qp = within_range(exercise, request.qp + random_between(&exercise->random, -12, 12));
    struct hevc_frame copies[2][HEVC_MAXIMUM_REFERENCES];
    if (!fill_references(work, header, &request, copies))
        return false;
    hevc_write_slice_header(&request.nal, header, &exercise->sps, &exercise->pps);
    bool coded = hevc_coder_slice(exercise->coder, &request, &exercise->stream);
    memset(copies, 0xff, sizeof copies);
    bits_release(&request.nal);
    work->next += count;
    return coded || complain("hevc_coder_slice", hevc_coder_failure(exercise->coder));
}

/* A slice of one or more segments. */
static bool code_slice(struct work *work, uint32_t count)
{
    struct exercise *exercise = work->exercise;
    struct hevc_slice_header header = work->header;
    draw_slice(work, &header);
    exercise->types[header.slice_type]++;
    if (header.slice_type != HEVC_SLICE_I && header.slice_temporal_mvp_enabled_flag)
        choose_collocated(work, &header);
    header.slice_segment_header_extension_length =
        exercise->pps.slice_segment_header_extension_present_flag ? random_below(&exercise->random, 4) : 0;
    while (count > 0) {
        uint32_t part = count;
        if (exercise->pps.dependent_slice_segments_enabled_flag && count > 1 && random_chance(&exercise->random, 60))
            part = 1 + random_below(&exercise->random, count - 1);
        if (!code_segment(work, &header, part))
            return false;
        header.dependent_slice_segment_flag = 1;
        count -= part;
    }
    return true;
}

static void draw_wishes(struct work *work)
{
    struct exercise *exercise = work->exercise;
    struct random *random = &exercise->random;
    work->wish_log2_size = 3 + random_below(random, 4);
    uint32_t mask = (1u << work->wish_log2_size) - 1;
    uint32_t columns = (exercise->sps.pic_width_in_luma_samples + mask) >> work->wish_log2_size;
    uint32_t rows = (exercise->sps.pic_height_in_luma_samples + mask) >> work->wish_log2_size;
    work->wishes = calloc(columns * rows, sizeof *work->wishes);
    if (!work->wishes)
        abort();
    for (uint32_t i = 0; i < columns * rows; i++) {
        work->wishes[i].qp_offset = (int8_t)(random_chance(random, 50) ? random_between(random, -51, 51) / 3 : 0);
        work->wishes[i].intra = random_chance(random, 15);
    }
}

static bool code_slices(struct work *work)
{
    struct exercise *exercise = work->exercise;
    uint32_t ctbs = hevc_width_in_ctbs(&exercise->sps) * hevc_height_in_ctbs(&exercise->sps);
    enum hevc_effort effort = exercise->skip ? HEVC_EFFORT_SKIP : HEVC_EFFORT_TRUTHFUL;
    if (!hevc_coder_begin(exercise->coder, &exercise->sps, &exercise->pps, &work->source, &work->picture->frame,
                          effort))
        return complain("hevc_coder_begin", hevc_coder_failure(exercise->coder));
    unsigned parts = random_chance(&exercise->random, 50) ? 1 : 1 + random_below(&exercise->random, 6);
    while (work->next < ctbs) {
        uint32_t left = ctbs - work->next;
        uint32_t count = parts <= 1 || left == 1 ? left : 1 + random_below(&exercise->random, left);
        parts -= parts > 1;
        if (!code_slice(work, count))
            return false;
    }
    if (work->type != HEVC_SLICE_I) {
        exercise->samples += (uint64_t)exercise->sps.pic_width_in_luma_samples *
                             exercise->sps.pic_height_in_luma_samples;
        exercise->intra_samples += hevc_coder_figures(exercise->coder).intra_samples;
        exercise->skipped_samples += hevc_coder_figures(exercise->coder).skipped_samples;
    }
    return hevc_coder_end(exercise->coder) || complain("hevc_coder_end", hevc_coder_failure(exercise->coder));
}

/* Codes a picture; `reference`: whether later ones may refer to it. */
static bool code_picture(struct exercise *exercise, uint32_t nal_unit_type, enum hevc_slice_type type,
                         int32_t order_count)
{
    char reason[160] = "";
    struct hevc_outputs outputs = {.count = 0};
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        abort();
    bool idr = hevc_is_idr(nal_unit_type);
    work->exercise = exercise;
    work->type = type;
    work->header.nal.nal_unit_type = nal_unit_type;
    work->header.pic_output_flag = !exercise->pps.output_flag_present_flag || random_chance(&exercise->random, 90);
    work->header.slice_pic_order_cnt_lsb =
        idr ? 0 : (uint32_t)order_count & ((1u << (exercise->sps.log2_max_pic_order_cnt_lsb_minus4 + 4)) - 1);
    if (!hevc_is_irap(nal_unit_type))
        exercise_draw_reference_set(exercise, &work->header, order_count);
    exercise->sequence += idr;
    work->order_count = hevc_dpb_order_count(&exercise->dpb, &exercise->sps, &work->header);
    bool right = work->order_count == order_count || complain("order count", "differs from what is meant");
    right = right && (hevc_dpb_begin(&exercise->dpb, &exercise->sps, &work->header, work->order_count, &work->set,
                                     &outputs, reason, sizeof reason) ||
                      complain("hevc_dpb_begin", reason));
    right = right && take_outputs(exercise, &outputs);
    work->picture = &exercise->pictures[exercise->picture_count];
    work->picture->samples = exercise_allocate_frame(&exercise->sps, &work->picture->frame, 0xee, 16);
    work->picture->frame.picture_order_count = order_count;
    work->picture->sequence = exercise->sequence;
    uint8_t *source = exercise_allocate_frame(&exercise->sps, &work->source, 0x55, 8);
    exercise_draw_source(exercise, &work->source);
    if (random_chance(&exercise->random, exercise->wish_percent))
        draw_wishes(work);
    if (type != HEVC_SLICE_I) {
        work->header.slice_type = type;
        draw_lists(work, &work->header);
        work->collocated = random_below(&exercise->random, work->header.num_ref_idx_active_minus1[0] + 1);
        work->header.collocated_from_l0_flag = 1;
    }
    work->header.slice_temporal_mvp_enabled_flag =
        !idr && exercise->sps.sps_temporal_mvp_enabled_flag && random_chance(&exercise->random, 80);
    exercise->picture_count++;
    right = right && code_slices(work);
    right = right && (hevc_dpb_end(&exercise->dpb, &exercise->sps, &work->header, order_count,
                                   exercise->picture_count - 1, &outputs, reason, sizeof reason) ||
                      complain("hevc_dpb_end", reason));
    right = right && take_outputs(exercise, &outputs);
    free(source);
    free(work->wishes);
    free(work);
    return right;
}

/* The pictures between two that are coded, in halves or one after the other. */
static bool code_between(struct exercise *exercise, int32_t before, unsigned count)
{
    if (count == 0 || exercise->picture_count >= exercise->picture_limit)
        return true;
    unsigned first = exercise->pyramid ? count / 2 : 0;
    int32_t order_count = before + (int32_t)(first + 1) * exercise->order_step;
    enum hevc_slice_type type = random_chance(&exercise->random, 90) ? HEVC_SLICE_B : HEVC_SLICE_P;
    return code_picture(exercise, HEVC_NAL_TRAIL_R, type, order_count) && code_between(exercise, before, first) &&
           code_between(exercise, order_count, count - first - 1);
}

bool exercise_run(struct exercise *exercise)
{
    struct random *random = &exercise->random;
    while (exercise->picture_count < exercise->picture_limit) {
        bool first = exercise->picture_count == 0;
        if (first || random_chance(random, 5)) {
            append_parameter_sets(exercise);
            exercise->order_count = 0;
            if (!code_picture(exercise, random_chance(random, 50) ? HEVC_NAL_IDR_W_RADL : HEVC_NAL_IDR_N_LP,
                              HEVC_SLICE_I, 0))
                return false;
            continue;
        }
        int32_t before = exercise->order_count;
        exercise->order_count += exercise->order_step * (int32_t)(exercise->b_pictures + 1);
        bool cra = random_chance(random, 6);
        enum hevc_slice_type type = random_chance(random, 8)  ? HEVC_SLICE_I
                                    : exercise->low_delay ? HEVC_SLICE_B
                                                          : HEVC_SLICE_P;
        if (!code_picture(exercise, cra ? HEVC_NAL_CRA : HEVC_NAL_TRAIL_R, cra ? HEVC_SLICE_I : type,
                          exercise->order_count))
            return false;
        /* Pictures that come before an IRAP picture in output order would be its leading pictures. */
        if (!cra && !code_between(exercise, before, exercise->b_pictures))
            return false;
    }
    struct hevc_outputs outputs = {.count = 0};
    hevc_dpb_flush(&exercise->dpb, &outputs);
    return take_outputs(exercise, &outputs);
}
