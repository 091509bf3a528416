/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include "../../h264/coder_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *exercise_allocate_frame(const struct h264_sps *sps, struct h264_frame *frame, uint8_t value,
                                 size_t extra_pitch)
{
    size_t width = (sps->pic_width_in_mbs_minus1 + 1) * (size_t)16;
    size_t height = (sps->pic_height_in_map_units_minus1 + 1) * (size_t)16;
    memset(frame, 0, sizeof *frame);
    frame->luma_pitch = width + extra_pitch;
    frame->chroma_pitch = width + extra_pitch / 2;
    size_t size = frame->luma_pitch * height + frame->chroma_pitch * height / 2;
    uint8_t *samples = malloc(size);
    if (!samples)
        abort();
    memset(samples, value, size);
    frame->luma = samples;
    frame->chroma = samples + frame->luma_pitch * height;
    return samples;
}

static void draw_sps(struct exercise *exercise, uint32_t profile)
{
    struct random *random = &exercise->random;
    static const uint32_t profiles[] = {66, 77, 100};
    struct h264_sps *sps = &exercise->sps;
    sps->nal_ref_idc = 3;
    sps->profile_idc = profile ? profile : profiles[random_below(random, 3)];
    sps->constraint_set_flags = sps->profile_idc == 66 ? 3 : 0;
    sps->level_idc = 40;
    sps->chroma_format_idc = 1;
    sps->log2_max_frame_num_minus4 = random_below(random, 3);
    sps->pic_order_cnt_type = exercise->b_pictures == 0 && random_chance(random, 50) ? 2 : 0;
    sps->log2_max_pic_order_cnt_lsb_minus4 = 2 + random_below(random, 3);
    sps->max_num_ref_frames = 1 + random_below(random, exercise->b_pictures > 0 ? 6 : 4);
    sps->pic_width_in_mbs_minus1 = random_below(random, 8);
    sps->pic_height_in_map_units_minus1 = random_below(random, 7);
    sps->frame_mbs_only_flag = 1;
    sps->direct_8x8_inference_flag = random_below(random, 2);
    sps->frame_cropping_flag = random_chance(random, 50);
    if (sps->frame_cropping_flag) {
        sps->frame_crop_right_offset = random_below(random, 8);
        sps->frame_crop_bottom_offset = random_below(random, 8);
    }
    sps->vui_parameters_present_flag = 1;
    sps->vui.bitstream_restriction_flag = 1;
    sps->vui.motion_vectors_over_pic_boundaries_flag = 1;
    sps->vui.log2_max_mv_length_horizontal = sps->vui.log2_max_mv_length_vertical = 10;
    sps->vui.max_num_reorder_frames = exercise->b_pictures > 0 ? 4 : 0;
    sps->vui.max_dec_frame_buffering = exercise->b_pictures > 0 ? 16 : sps->max_num_ref_frames;
}

static void draw_pps(struct exercise *exercise)
{
    struct random *random = &exercise->random;
    struct h264_pps *pps = &exercise->pps;
    uint32_t profile = exercise->sps.profile_idc;
    memset(pps, 0, sizeof *pps);
    pps->nal_ref_idc = 3;
    pps->entropy_coding_mode_flag = profile != 66 && random_chance(random, 70);
    pps->num_ref_idx_l0_default_active_minus1 = random_below(random, 3);
    pps->num_ref_idx_l1_default_active_minus1 = random_below(random, 3);
    pps->weighted_pred_flag = profile != 66 && random_chance(random, 40);
    pps->weighted_bipred_idc = profile != 66 ? random_below(random, 3) : 0;
    pps->pic_init_qp_minus26 = random_between(random, -10, 10);
    pps->chroma_qp_index_offset = random_chance(random, 50) ? random_between(random, -12, 12) : 0;
    pps->deblocking_filter_control_present_flag = random_chance(random, 70);
    pps->constrained_intra_pred_flag = random_chance(random, 30);
    pps->extension_present = profile == 100 && random_chance(random, 70);
    if (exercise->plain && pps->chroma_qp_index_offset > 0)
        pps->chroma_qp_index_offset = 0; /* openh264 deblocks I_PCM with chroma QP 0 whatever the offset */
    pps->second_chroma_qp_index_offset = pps->chroma_qp_index_offset;
    if (pps->extension_present) {
        pps->transform_8x8_mode_flag = random_below(random, 2);
        pps->second_chroma_qp_index_offset = random_between(random, -12, exercise->plain ? 0 : 12);
    }
    exercise->qp = random_between(random, 0, 51);
    exercise->qp_spread = random_chance(random, 50) ? random_between(random, 0, 40) : 0;
}

static void write_parameter_sets(struct exercise *exercise)
{
    struct bits sps = {0}, pps = {0};
    h264_write_sps(&sps, &exercise->sps);
    bits_trail(&sps);
    bits_frame_nal_unit(&exercise->stream, &sps);
    h264_write_pps(&pps, &exercise->pps);
    bits_trail(&pps);
    bits_frame_nal_unit(&exercise->stream, &pps);
    bits_release(&sps);
    bits_release(&pps);
}

void exercise_begin(struct exercise *exercise, uint64_t seed, uint32_t profile, unsigned pictures, bool plain)
{
    memset(exercise, 0, sizeof *exercise);
    exercise->random.state = seed * 0x2545f4914f6cdd1d;
    struct random *random = &exercise->random;
    bool b = profile != 66 && random_chance(random, 67);
    exercise->b_pictures = b ? random_below(random, 4) : 0;
    exercise->plain = plain;
    exercise->shared_lists = plain || random_chance(random, 50);
    draw_sps(exercise, b && !profile ? (random_chance(random, 50) ? 77 : 100) : profile);
    exercise->wish_percent = random_chance(random, 50) ? random_below(random, 100) : 0;
    exercise->skip_percent = random_chance(random, 50) ? random_below(random, 50) : 0;
    exercise->references.maximum = exercise->sps.max_num_ref_frames;
    exercise->references.maximum_frame_num = 16U << exercise->sps.log2_max_frame_num_minus4;
    exercise->picture_limit = pictures;
    exercise->pictures = calloc(pictures + 8, sizeof *exercise->pictures);
    exercise->coder = h264_coder_create();
    if (!exercise->pictures || !exercise->coder)
        abort();
}

void exercise_end(struct exercise *exercise)
{
    for (unsigned index = 0; index < exercise->picture_count; index++) {
        h264_frame_release(&exercise->pictures[index]->frame);
        free(exercise->pictures[index]->samples);
        free(exercise->pictures[index]);
    }
    free(exercise->pictures);
    h264_coder_destroy(exercise->coder);
    bits_release(&exercise->stream);
}

/* Weights near 1; such that those of two references add up to no more than the standard allows (8.4.2.3.1). */
static void draw_weight(struct random *random, struct h264_weight *weight, int luma_denominator,
                        int chroma_denominator)
{
    weight->luma_weight_flag = random_below(random, 2);
    weight->luma_weight = clip3(-64, 63, (1 << luma_denominator) + random_between(random, -8, 8));
    weight->luma_offset = random_between(random, -20, 20);
    weight->chroma_weight_flag = random_below(random, 2);
    for (unsigned component = 0; component < 2; component++) {
        weight->chroma_weight[component] = clip3(-64, 63, (1 << chroma_denominator) + random_between(random, -8, 8));
        weight->chroma_offset[component] = random_between(random, -20, 20);
        if (random_chance(random, 5))
            weight->chroma_weight[component] = random_between(random, -64, 63);
    }
    if (random_chance(random, 5)) {
        weight->luma_weight = random_between(random, -64, 63);
        weight->luma_offset = random_between(random, -128, 127);
    }
}

static void draw_weights(struct random *random, struct h264_slice_header *header)
{
    unsigned highest = header->slice_type % 5 == H264_SLICE_P ? 7 : 6;
    header->luma_log2_weight_denom = random_below(random, highest + 1);
    header->chroma_log2_weight_denom = random_below(random, highest + 1);
    for (unsigned list = 0; list < 2; list++)
        for (unsigned index = 0; index <= header->num_ref_idx_active_minus1[list]; index++)
            draw_weight(random, &header->weight[list][index], (int)header->luma_log2_weight_denom,
                        (int)header->chroma_log2_weight_denom);
}

/* The lists' lengths, operations and resulting entries. */
static void draw_lists(struct exercise *exercise, const struct picture *current, struct h264_slice_header *header,
                       struct h264_slice_request *request)
{
    const struct references *references = &exercise->references;
    bool b = header->slice_type % 5 == H264_SLICE_B;
    uint32_t defaults[2] = {exercise->pps.num_ref_idx_l0_default_active_minus1,
                            exercise->pps.num_ref_idx_l1_default_active_minus1};
    for (unsigned list = 0; list < (b ? 2U : 1U); list++) {
        bool extend = !exercise->plain && random_chance(&exercise->random, 25);
        uint32_t extra = extend ? random_below(&exercise->random, 4) : 0;
        uint32_t active = extra > 0 ? references->count + extra
                                    : 1 + random_below(&exercise->random, references->count);
        header->num_ref_idx_active_minus1[list] = active - 1;
        header->num_ref_idx_active_override_flag |= active - 1 != defaults[list];
        struct picture *pictures[EXERCISE_MAXIMUM_REFERENCES * 2];
        unsigned count = references_initial_list(references, current, b, list, pictures);
        if (!exercise->plain)
            references_modify_list(references, current, &exercise->random, header, list, pictures, count);
        for (unsigned index = 0; index < active; index++)
            request->references[list][index] = &pictures[index]->frame;
    }
}

/* What slices of one picture need not share; header and request come with what the slice before had. */
static void draw_slice(struct exercise *exercise, const struct picture *current, enum h264_slice_type type,
                       struct h264_slice_header *header, struct h264_slice_request *request)
{
    struct random *random = &exercise->random;
    const struct h264_pps *pps = &exercise->pps;
    int qp = clip3(0, 51, exercise->qp + random_between(random, -exercise->qp_spread, exercise->qp_spread));
    request->qp = random_chance(random, 70) ? qp : random_between(random, 0, 51);
    header->slice_qp_delta = qp - 26 - pps->pic_init_qp_minus26;
    header->slice_type = type;
    header->direct_spatial_mv_pred_flag = !exercise->shared_lists || random_chance(random, 30);
    header->cabac_init_idc = random_below(random, 3);
    if (pps->deblocking_filter_control_present_flag) {
        header->disable_deblocking_filter_idc = random_below(random, 3);
        header->slice_alpha_c0_offset_div2 = random_between(random, -6, 6);
        header->slice_beta_offset_div2 = random_between(random, -6, 6);
    }
    if (header->disable_deblocking_filter_idc == 1)
        header->slice_alpha_c0_offset_div2 = header->slice_beta_offset_div2 = 0;
    if (type == H264_SLICE_I)
        return;
    if (!exercise->shared_lists || header->first_mb_in_slice == 0)
        draw_lists(exercise, current, header, request);
    if (type == H264_SLICE_P ? pps->weighted_pred_flag : pps->weighted_bipred_idc == 1)
        draw_weights(random, header);
}

/* Wishes for all macroblocks of a picture, or NULL; the caller's to free. */
static struct wish *draw_wishes(struct exercise *exercise, uint32_t count, struct h264_slice_request *request)
{
    struct random *random = &exercise->random;
    if (!random_chance(random, exercise->wish_percent))
        return NULL;
    struct wish *wishes = calloc(count, sizeof *wishes);
    if (!wishes)
        abort();
    unsigned intra = random_below(random, 100), offset = random_below(random, 100);
    for (uint32_t address = 0; address < count; address++) {
        wishes[address].intra = random_chance(random, intra);
        wishes[address].qp_offset = (int8_t)(random_chance(random, offset) ? random_between(random, -60, 60) : 0);
    }
    if (random_chance(random, 50)) {
        request->least_qp = random_between(random, 0, 20);
        request->most_qp = random_between(random, 30, 51);
    }
    request->wishes = wishes;
    return wishes;
}

/* Whether the macroblock is as it was wished. */
static bool is_as_wished(const struct exercise *exercise, const struct h264_slice_request *request, uint32_t address)
{
    const struct macroblock *macroblock = &exercise->coder->macroblocks[address];
    if (!request->wishes || exercise->coder->effort == H264_EFFORT_SKIP)
        return true;
    const struct wish *wish = &request->wishes[address];
    int most = request->most_qp ? request->most_qp : 51;
    int qp = wish->qp_offset ? clip3(request->least_qp, most, request->qp + wish->qp_offset) : request->qp;
    bool obeyed = (!wish->intra || macroblock_is_intra(macroblock)) &&
                  (macroblock->kind != MACROBLOCK_INTRA || macroblock->qp == qp);
    if (!obeyed)
        fprintf(stderr, "macroblock %u: kind %d, QP %d; wished: intra %d, QP %d\n", address, macroblock->kind,
                macroblock->qp, wish->intra, qp);
    return obeyed;
}

/* Codes one slice; header and request come with what the slice before had. `mixed`: a P slice among B slices. */
static bool code_slice(struct exercise *exercise, const struct picture *current, enum h264_slice_type type,
                       struct h264_slice_header *header, struct h264_slice_request *request, bool mixed)
{
    draw_slice(exercise, current, type, header, request);
    if (mixed && header->disable_deblocking_filter_idc == 0)
        header->disable_deblocking_filter_idc = 2;
    h264_write_slice_header(&request->nal, header, &exercise->sps, &exercise->pps);
    while (exercise->pps.entropy_coding_mode_flag && current->frame_num % 2 && request->nal.count % 8 != 0)
        bits_put(&request->nal, 1, 1); /* some applications align */
    bool coded = h264_coder_slice(exercise->coder, request, &exercise->stream);
    bits_release(&request->nal);
    if (!coded)
        fprintf(stderr, "slice: %s\n", h264_coder_failure(exercise->coder));
    uint32_t count = request->macroblock_count;
    for (uint32_t address = header->first_mb_in_slice; coded && address < header->first_mb_in_slice + count; address++) {
        exercise->kinds[type][exercise->coder->macroblocks[address].kind]++;
        coded = is_as_wished(exercise, request, address);
    }
    return coded;
}

/* Slices of a picture need not be of one type. P slices among B slices are not deblocked across their boundaries:
 * libavcodec forgets list 1 of the neighbours then. */
static enum h264_slice_type draw_slice_type(struct random *random, enum h264_slice_type picture_type)
{
    if (picture_type == H264_SLICE_I || random_chance(random, 10))
        return H264_SLICE_I;
    return picture_type == H264_SLICE_B && random_chance(random, 80) ? H264_SLICE_B : H264_SLICE_P;
}

static bool code_slices(struct exercise *exercise, const struct picture *current, enum h264_slice_type type,
                        const struct h264_slice_header *shared)
{
    struct random *random = &exercise->random;
    uint32_t total = (exercise->sps.pic_width_in_mbs_minus1 + 1) * (exercise->sps.pic_height_in_map_units_minus1 + 1);
    uint32_t slices = random_chance(random, 50) ? 1 : 1 + random_below(random, 5);
    struct h264_slice_header *header = malloc(sizeof *header);
    struct h264_slice_request request = {.header = header};
    if (!header)
        abort();
    *header = *shared;
    struct wish *wishes = draw_wishes(exercise, total, &request);
    bool coded = true;
    while (header->first_mb_in_slice < total && coded) {
        uint32_t left = total - header->first_mb_in_slice;
        request.macroblock_count = slices <= 1 ? left : 1 + random_below(random, left);
        slices -= slices > 1;
        enum h264_slice_type slice_type = exercise->shared_lists ? type : draw_slice_type(random, type);
        if (slice_type != type && !exercise->pps.deblocking_filter_control_present_flag)
            slice_type = H264_SLICE_I;
        bool mixed = type == H264_SLICE_B && slice_type == H264_SLICE_P;
        coded = code_slice(exercise, current, slice_type, header, &request, mixed);
        uint32_t next = header->first_mb_in_slice + request.macroblock_count;
        if (!exercise->shared_lists)
            *header = *shared;
        header->first_mb_in_slice = next;
    }
    free(header);
    free(wishes);
    return coded;
}

/* frame_num (7.4.3), and picture order count type 2 (8.2.1.3). */
static void number_picture(struct exercise *exercise, struct picture *picture, struct h264_slice_header *header)
{
    bool idr = header->nal_unit_type == H264_NAL_IDR_SLICE;
    uint32_t maximum = exercise->references.maximum_frame_num;
    picture->frame_num = idr ? 0 : (exercise->previous_reference_frame_num + 1) % maximum;
    header->frame_num = picture->frame_num;
    if (exercise->sps.pic_order_cnt_type == 2) {
        int32_t step = !exercise->previous_is_reference || header->nal_ref_idc == 0 ? 1 : 2;
        picture->frame.picture_order_count = idr ? 0 : exercise->next_picture_order_count + step;
        exercise->next_picture_order_count = picture->frame.picture_order_count;
    }
    header->pic_order_cnt_lsb = (uint32_t)picture->frame.picture_order_count &
                                ((16U << exercise->sps.log2_max_pic_order_cnt_lsb_minus4) - 1);
    exercise->previous_is_reference = header->nal_ref_idc != 0;
    if (header->nal_ref_idc != 0)
        exercise->previous_reference_frame_num = picture->frame_num;
}

/* One picture: IDR or not, reference or not. */
static bool code_picture(struct exercise *exercise, enum h264_slice_type type, bool idr, bool reference,
                         int32_t picture_order_count)
{
    struct random *random = &exercise->random;
    struct picture *picture = calloc(1, sizeof *picture);
    struct h264_slice_header *shared = calloc(1, sizeof *shared);
    struct h264_frame source;
    if (!picture || !shared)
        abort();
    uint8_t *samples = exercise_allocate_frame(&exercise->sps, &source, 0, random_below(random, 64));
    picture->samples = exercise_allocate_frame(&exercise->sps, &picture->frame, 99, random_below(random, 64));
    picture->sequence = exercise->sequence;
    picture->frame.picture_order_count = picture_order_count;
    shared->nal_unit_type = idr ? H264_NAL_IDR_SLICE : H264_NAL_SLICE;
    shared->nal_ref_idc = reference ? 1 + random_below(random, 3) : 0;
    number_picture(exercise, picture, shared);
    exercise->pictures[exercise->picture_count++] = picture;
    exercise_draw_source(exercise, &source);
    if (idr) {
        shared->idr_pic_id = exercise->idr_pic_id++ % 16;
        shared->long_term_reference_flag = !exercise->plain && random_chance(random, 20);
    } else if (reference && !exercise->plain) {
        references_draw_marking(&exercise->references, picture, random, shared);
    }
    enum h264_effort effort =
        random_chance(random, exercise->skip_percent) ? H264_EFFORT_SKIP : H264_EFFORT_TRUTHFUL;
    bool coded = h264_coder_begin(exercise->coder, &exercise->sps, &exercise->pps, &source, &picture->frame, effort) &&
                 code_slices(exercise, picture, type, shared) && h264_coder_end(exercise->coder);
    if (!coded)
        fprintf(stderr, "picture %u: %s\n", exercise->picture_count, h264_coder_failure(exercise->coder));
    references_mark(&exercise->references, picture, shared);
    free(samples);
    free(shared);
    return coded;
}

static bool code_idr(struct exercise *exercise)
{
    draw_pps(exercise);
    write_parameter_sets(exercise);
    exercise->sequence++;
    exercise->next_picture_order_count = 0;
    return code_picture(exercise, H264_SLICE_I, true, true, 0);
}

/* A picture and the B pictures that are output before it, in any order. */
static bool code_group(struct exercise *exercise)
{
    struct random *random = &exercise->random;
    int32_t first = exercise->next_picture_order_count;
    unsigned b_count = random_below(random, exercise->b_pictures + 1);
    bool reference = b_count > 0 || !exercise->previous_is_reference || random_chance(random, 80);
    enum h264_slice_type type = exercise->b_pictures > 0 && random_chance(random, 40) ? H264_SLICE_B
                                : random_chance(random, 10)                           ? H264_SLICE_I
                                                                                      : H264_SLICE_P;
    int32_t order[4] = {1, 2, 3, 4};
    if (exercise->sps.pic_order_cnt_type == 0)
        exercise->next_picture_order_count = first + 2 * (int32_t)(b_count + 1);
    if (!code_picture(exercise, type, false, reference, first + 2 * (int32_t)(b_count + 1)))
        return false;
    for (unsigned index = 0; index < b_count; index++) {
        unsigned chosen = index + random_below(random, b_count - index);
        int32_t picture_order_count = first + 2 * order[chosen];
        order[chosen] = order[index];
        if (!code_picture(exercise, H264_SLICE_B, false, random_chance(random, 40), picture_order_count))
            return false;
    }
    return true;
}

bool exercise_run(struct exercise *exercise)
{
    if (!code_idr(exercise))
        return false;
    while (exercise->picture_count < exercise->picture_limit)
        if (!(random_chance(&exercise->random, 6) ? code_idr(exercise) : code_group(exercise)))
            return false;
    return true;
}
