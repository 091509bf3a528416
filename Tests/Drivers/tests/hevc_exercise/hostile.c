/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exercise.h"

#include "../support/allocations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE_FRAMES 4
#define WISHES 64 /* 8x8 blocks of a picture */

/* What every request starts from: pictures of 64x64 that are coded already, with room for every format. */
struct victim {
    struct random random;
    struct hevc_coder *coder;
    struct hevc_sps sps;
    struct hevc_pps pps;
    struct hevc_slice_header header;
    struct hevc_slice_request request;
    struct hevc_frame frames[HOSTILE_FRAMES]; /* the last is the picture to be coded */
    struct hevc_frame source, uncoded;
    struct wish wishes[WISHES];
    uint8_t *samples[HOSTILE_FRAMES + 2];
    struct bits out;
};

static void damage_sps(struct victim *victim)
{
    struct hevc_sps *sps = &victim->sps;
    random_damage(&victim->random, sps, sizeof *sps);
    /* What picture_width and the like say is at the front, where damage seldom goes. */
    if (random_chance(&victim->random, 60)) {
        uint32_t *const words[] = {
            &sps->chroma_format_idc, &sps->bit_depth_luma_minus8, &sps->bit_depth_chroma_minus8,
            &sps->log2_min_luma_coding_block_size_minus3, &sps->log2_diff_max_min_luma_coding_block_size,
            &sps->log2_min_luma_transform_block_size_minus2, &sps->log2_diff_max_min_luma_transform_block_size,
            &sps->max_transform_hierarchy_depth_inter, &sps->max_transform_hierarchy_depth_intra,
            &sps->scaling_list_enabled_flag, &sps->pcm_enabled_flag, &sps->log2_min_pcm_luma_coding_block_size_minus3,
            &sps->pic_width_in_luma_samples, &sps->pic_height_in_luma_samples,
        };
        uint32_t value = random_chance(&victim->random, 50) ? random_below(&victim->random, 5)
                                                            : random_edge(&victim->random);
        *words[random_below(&victim->random, sizeof words / sizeof words[0])] = value;
    }
    /* A size that fits the coder but not the frames would be the caller's fault. */
    if (sps->pic_width_in_luma_samples > 64 && sps->pic_width_in_luma_samples <= 16384)
        sps->pic_width_in_luma_samples = 64;
    if (sps->pic_height_in_luma_samples > 64 && sps->pic_height_in_luma_samples <= 16384)
        sps->pic_height_in_luma_samples = 64;
}

static void damage(struct victim *victim)
{
    struct random *random = &victim->random;
    struct hevc_slice_request *request = &victim->request;
    const struct hevc_frame *choices[] = {NULL, &victim->uncoded, &victim->frames[HOSTILE_FRAMES - 1]};
    switch (random_below(random, 8)) {
    case 0:
        damage_sps(victim);
        break;
    case 1:
    case 2:
        random_damage(random, &victim->pps, sizeof victim->pps);
        break;
    case 3:
        request->ctb_count = random_edge(random);
        break;
    case 4:
        *(random_chance(random, 50)   ? &request->qp
          : random_chance(random, 50) ? &request->least_qp
                                      : &request->most_qp) = (int)random_edge(random);
        break;
    case 5:
        request->references[random_below(random, 2)][random_below(random, 4)] = choices[random_below(random, 3)];
        victim->frames[random_below(random, HOSTILE_FRAMES)].picture_order_count = (int32_t)random_edge(random);
        break;
    case 6:
        request->wishes = victim->wishes;
        request->wish_log2_size = random_chance(random, 70) ? 3 + random_below(random, 4) : random_edge(random);
        for (unsigned i = 0; i < WISHES; i++)
            victim->wishes[i] = (struct wish){.qp_offset = (int8_t)random_edge(random),
                                                   .intra = random_chance(random, 30)};
        break;
    default:
        /* The fields that the coder reckons with are the last ones, but for the address and the type. */
        random_damage(random, &victim->header, offsetof(struct hevc_slice_header, entry_point_offset_minus1));
        break;
    }
}

/* A false result must come with a reason. */
static bool explained(const struct victim *victim, bool result)
{
    if (!result && hevc_coder_failure(victim->coder)[0] == 0) {
        fprintf(stderr, "a failure without a reason\n");
        exit(1);
    }
    return result;
}

static bool code_picture(struct victim *victim, struct hevc_frame *picture)
{
    victim->out.count = 0;
    enum hevc_effort effort = random_chance(&victim->random, 30) ? HEVC_EFFORT_SKIP : HEVC_EFFORT_TRUTHFUL;
    return explained(victim, hevc_coder_begin(victim->coder, &victim->sps, &victim->pps, &victim->source, picture,
                                              effort)) &&
           explained(victim, hevc_coder_slice(victim->coder, &victim->request, &victim->out)) &&
           explained(victim, hevc_coder_end(victim->coder));
}

/* A frame of three planes of 64x64 words of two bytes: whatever the chroma format and the bit depth. */
static uint8_t *allocate_spacious(struct hevc_frame *frame, uint8_t value)
{
    const size_t pitch = 64 * 2 + 16;
    uint8_t *samples = malloc(3 * 64 * pitch);
    if (!samples)
        abort();
    memset(samples, value, 3 * 64 * pitch);
    for (unsigned component = 0; component < 3; component++)
        frame->samples[component] = (struct hevc_samples){
            .first = samples + component * 64 * pitch, .pitch = pitch, .step = 2, .bytes = 2, .shift = 8};
    return samples;
}

/* Sane parameter sets, header and request: an I slice, or P or B slices with the frames given as references. */
static void make_sane(struct victim *victim, enum hevc_slice_type type)
{
    struct random *random = &victim->random;
    memset(&victim->sps, 0, sizeof victim->sps);
    memset(&victim->pps, 0, sizeof victim->pps);
    memset(&victim->header, 0, sizeof victim->header);
    victim->sps.chroma_format_idc = 1 + random_below(random, 3);
    victim->sps.log2_diff_max_min_luma_coding_block_size = 1 + random_below(random, 3);
    victim->sps.log2_diff_max_min_luma_transform_block_size = random_below(random, 3);
    victim->sps.max_transform_hierarchy_depth_inter = random_below(random, 3);
    victim->sps.max_transform_hierarchy_depth_intra = random_below(random, 3);
    victim->sps.pic_width_in_luma_samples = 64;
    victim->sps.pic_height_in_luma_samples = 64;
    victim->pps.cu_qp_delta_enabled_flag = random_below(random, 2);
    victim->pps.sign_data_hiding_enabled_flag = random_below(random, 2);
    victim->header.nal.nal_unit_type = HEVC_NAL_TRAIL_R;
    victim->header.slice_type = type;
    victim->header.slice_temporal_mvp_enabled_flag = random_below(random, 2);
    victim->header.five_minus_max_num_merge_cand = random_below(random, 5);
    struct bits nal = victim->request.nal;
    uint32_t ctbs = hevc_width_in_ctbs(&victim->sps) * hevc_height_in_ctbs(&victim->sps);
    victim->request = (struct hevc_slice_request){.header = &victim->header, .nal = nal, .ctb_count = ctbs,
                                                  .qp = random_between(random, 0, 51)};
    for (unsigned list = 0; list < 2; list++) {
        victim->header.num_ref_idx_active_minus1[list] = random_below(random, 4);
        for (unsigned index = 0; index < 4; index++)
            victim->request.references[list][index] = &victim->frames[random_below(random, HOSTILE_FRAMES - 1)];
    }
}

static void prepare(struct victim *victim, uint64_t seed)
{
    memset(victim, 0, sizeof *victim);
    victim->random.state = seed;
    victim->coder = hevc_coder_create();
    if (!victim->coder)
        abort();
    bits_put(&victim->request.nal, 0x0201, 16);
    bits_put(&victim->request.nal, 0x12345, 19);
    make_sane(victim, HEVC_SLICE_I);
    victim->samples[0] = allocate_spacious(&victim->source, 50);
    victim->samples[1] = allocate_spacious(&victim->uncoded, 60);
    for (unsigned index = 0; index < HOSTILE_FRAMES; index++)
        victim->samples[2 + index] = allocate_spacious(&victim->frames[index], 70);
    for (size_t i = 0; i < victim->source.samples[0].pitch * 64; i++)
        victim->samples[0][i] = (uint8_t)(i * i >> 5);
    for (unsigned index = 0; index < HOSTILE_FRAMES; index++) {
        victim->frames[index].picture_order_count = 2 * (int32_t)index;
        if (!code_picture(victim, &victim->frames[index]))
            exit(1);
    }
}

static void finish(struct victim *victim)
{
    for (unsigned index = 0; index < HOSTILE_FRAMES; index++)
        hevc_frame_release(&victim->frames[index]);
    for (unsigned index = 0; index < HOSTILE_FRAMES + 2; index++)
        free(victim->samples[index]);
    bits_release(&victim->request.nal);
    bits_release(&victim->out);
    hevc_coder_destroy(victim->coder);
}

unsigned exercise_hostile(uint64_t seed, unsigned count)
{
    struct victim *victim = malloc(sizeof *victim);
    if (!victim)
        abort();
    prepare(victim, seed);
    unsigned taken = 0;
    for (unsigned index = 0; index < count; index++) {
        make_sane(victim, (enum hevc_slice_type)random_below(&victim->random, 3));
        for (unsigned damages = random_below(&victim->random, 3); damages > 0; damages--)
            damage(victim);
        taken += code_picture(victim, &victim->frames[HOSTILE_FRAMES - 1]);
    }
    finish(victim);
    free(victim);
    return taken;
}

/* One picture of 64x32 in two slices, from creating the coder on. */
static bool code_slices(const struct hevc_frame *source, struct hevc_frame *reconstruction, const struct hevc_sps *sps,
                        const struct bits *nal, struct bits *out, char *failure, size_t size)
{
    struct hevc_pps pps = {.pps_pic_parameter_set_id = 0};
    struct hevc_slice_header header = {.slice_type = HEVC_SLICE_I};
    struct hevc_slice_request request = {.header = &header, .nal = *nal, .ctb_count = 1, .qp = 20};
    struct hevc_coder *coder = hevc_coder_create();
    if (!coder)
        return false;
    bool coded = hevc_coder_begin(coder, sps, &pps, source, reconstruction, HEVC_EFFORT_TRUTHFUL);
    for (; coded && header.slice_segment_address < 2; header.slice_segment_address++)
        coded = hevc_coder_slice(coder, &request, out);
    coded = coded && hevc_coder_end(coder);
    snprintf(failure, size, "%s", hevc_coder_failure(coder));
    hevc_coder_destroy(coder);
    return coded;
}

unsigned exercise_memory(void)
{
    struct hevc_sps *sps = calloc(1, sizeof *sps);
    if (!sps)
        abort();
    sps->chroma_format_idc = 1;
    sps->log2_diff_max_min_luma_coding_block_size = 2;
    sps->log2_diff_max_min_luma_transform_block_size = 3;
    sps->pic_width_in_luma_samples = 64;
    sps->pic_height_in_luma_samples = 32;
    struct hevc_frame source, reconstruction;
    struct bits nal = {0};
    uint8_t *samples[2] = {exercise_allocate_frame(sps, &source, 0, 0),
                           exercise_allocate_frame(sps, &reconstruction, 0, 0)};
    for (size_t index = 0; index < source.samples[0].pitch * 32; index++)
        samples[0][index] = (uint8_t)(index * index >> 3);
    bits_put(&nal, 0x651234, 24);
    unsigned failures = 0;
    for (bool coded = false; !coded; failures += !coded) {
        struct bits out = {0};
        char failure[100] = "out of memory";
        allocations_fail(failures + 1);
        coded = code_slices(&source, &reconstruction, sps, &nal, &out, failure, sizeof failure);
        bool failed = allocations_failed();
        allocations_fail(0);
        if (coded == failed || strcmp(failure, coded ? "" : "out of memory") != 0) {
            fprintf(stderr, "allocation %u: \"%s\"\n", failures + 1, failure);
            exit(1);
        }
        bits_release(&out);
        hevc_frame_release(&reconstruction);
    }
    bits_release(&nal);
    free(sps);
    free(samples[0]);
    free(samples[1]);
    return failures;
}
